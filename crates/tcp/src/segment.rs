//! What crosses the network: the fields of the TCP and IP headers that either side reads.

use std::fmt::{self, Debug, Formatter};
use std::ops::Range;

/// The ECN field of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    #[default]
    NotEct,
    /// ECT(1): the sender is scalable (RFC 9331).
    Ect1,
    /// ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

/// The count of marked packets with which Accurate ECN begins, which no other ECN answers with (RFC 9768 §3.2.1).
pub const FIRST_COUNT: u32 = 5;

/// A sequence number. The SYN has 0, the first byte of data 1; numbers do not wrap.
pub type Seq = u64;

/// The blocks of a SACK option (RFC 2018), in the order of the option; a DSACK (RFC 2883) is the first.
#[derive(Clone, Copy, Default)]
pub struct SackBlocks {
    /// Those behind the first `count` may hold what stood there before.
    blocks: [(Seq, Seq); SackBlocks::MOST],
    count: u8,
}

impl PartialEq for SackBlocks {
    fn eq(&self, other: &SackBlocks) -> bool {
        self.known() == other.known()
    }
}

impl Eq for SackBlocks {}

impl Debug for SackBlocks {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl SackBlocks {
    /// An option of 40 bytes holds four blocks; beside timestamps it holds three.
    pub const MOST: usize = 4;

    /// Adds a block behind the others. Without effect where the option is full.
    pub fn push(&mut self, block: Range<Seq>) {
        if usize::from(self.count) < SackBlocks::MOST {
            self.blocks[usize::from(self.count)] = (block.start, block.end);
            self.count += 1;
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Range<Seq>> + '_ {
        self.known().iter().map(|&(start, end)| start..end)
    }

    fn known(&self) -> &[(Seq, Seq)] {
        &self.blocks[..usize::from(self.count)]
    }

    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The timestamps option (RFC 7323 §3), in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    pub value: u32,
    pub echo: u32,
}

/// A TCP segment with the part of its IP header that TCP reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    pub syn: bool,
    pub fin: bool,
    /// `None` in a first SYN only.
    pub ack: Option<Seq>,
    pub psh: bool,
    /// ECN echo (RFC 3168 §6.1).
    pub ece: bool,
    /// Congestion window reduced.
    pub cwr: bool,
    /// Accurate ECN: with CWR and ECE a number of three bits, ACE (RFC 9768 §3.1).
    pub ae: bool,
    pub seq: Seq,
    /// Bytes of data.
    pub len: u32,
    /// The receive window, in bytes.
    pub window: u64,
    pub sack: SackBlocks,
    pub timestamps: Option<Timestamps>,
    pub ecn: Ecn,
}

/// The flags of a [`Brief`], and above them its ECN field with the values of the IP header.
pub(crate) mod flags {
    pub const SYN: u32 = 1;
    pub const FIN: u32 = 1 << 1;
    pub const PSH: u32 = 1 << 2;
    /// This one and the next two stand together, for they are a count in Accurate ECN.
    pub const ECE: u32 = 1 << 3;
    pub const CWR: u32 = 1 << 4;
    pub const AE: u32 = 1 << 5;
    /// It acknowledges something.
    pub const ACK: u32 = 1 << 6;
    /// It has timestamps.
    pub const STAMPS: u32 = 1 << 7;
    pub const ECN_SHIFT: u32 = 8;
    pub const ECN: u32 = 3 << ECN_SHIFT;

    /// A count of marked packets modulo 8 (RFC 9768 §3.2.2).
    pub fn of_ace(count: u32) -> u32 {
        (count & 7) * ECE
    }
}

/// A segment without SACK blocks, as nearly all are, in a third of the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Brief {
    pub seq: Seq,
    /// Without meaning where the segment acknowledges nothing.
    pub ack: Seq,
    /// Bytes of data, and the receive window in bytes.
    pub len: u32,
    pub window: u32,
    /// Without meaning where the segment has none.
    pub timestamps: Timestamps,
    pub(crate) flags: u32,
}

/// A [`Brief`] in words.
pub type BriefWords = [u32; 10];

impl Brief {
    /// `None` for a segment with SACK blocks, or with a window of more than 32 bits.
    pub fn of(segment: &Segment) -> Option<Brief> {
        let Segment { syn, fin, ack, psh, ece, cwr, ae, seq, len, window, sack, timestamps, ecn } = *segment;
        let window = u32::try_from(window).ok().filter(|_| sack.is_empty())?;
        let flag = |is_set: bool, flag| if is_set { flag } else { 0 };
        let flags = flag(syn, flags::SYN)
            | flag(fin, flags::FIN)
            | flag(psh, flags::PSH)
            | flag(ece, flags::ECE)
            | flag(cwr, flags::CWR)
            | flag(ae, flags::AE)
            | flag(ack.is_some(), flags::ACK)
            | ecn.bits() << flags::ECN_SHIFT;
        let brief = Brief { seq, ack: ack.unwrap_or(0), len, window, flags, ..Brief::default() };
        Some(brief.stamped(timestamps))
    }

    /// The same with timestamps, if there are any.
    #[inline(always)]
    pub(crate) fn stamped(mut self, timestamps: Option<Timestamps>) -> Brief {
        if let Some(timestamps) = timestamps {
            self.timestamps = timestamps;
            self.flags |= flags::STAMPS;
        }
        self
    }

    /// The whole segment.
    pub fn segment(&self) -> Segment {
        Segment {
            syn: self.has(flags::SYN),
            fin: self.has(flags::FIN),
            ack: self.has(flags::ACK).then_some(self.ack),
            psh: self.has(flags::PSH),
            ece: self.has(flags::ECE),
            cwr: self.has(flags::CWR),
            ae: self.has(flags::AE),
            seq: self.seq,
            len: self.len,
            window: self.window.into(),
            sack: SackBlocks::default(),
            timestamps: self.stamps(),
            ecn: self.ecn(),
        }
    }

    #[inline(always)]
    pub fn words(&self) -> BriefWords {
        let Brief { seq, ack, len, window, timestamps: Timestamps { value, echo }, flags } = *self;
        let (seq, ack) = ([seq as u32, (seq >> 32) as u32], [ack as u32, (ack >> 32) as u32]);
        [seq[0], seq[1], ack[0], ack[1], len, window, value, echo, flags, 0]
    }

    #[inline(always)]
    pub fn of_words(words: &BriefWords) -> Brief {
        let &[seq_low, seq_high, ack_low, ack_high, len, window, value, echo, flags, _] = words;
        let joined = |low, high| u64::from(low) | u64::from(high) << 32;
        let (seq, ack) = (joined(seq_low, seq_high), joined(ack_low, ack_high));
        Brief { seq, ack, len, window, timestamps: Timestamps { value, echo }, flags }
    }

    /// Whether it has no flags. Each segment that a host sends has at least one.
    #[inline(always)]
    pub(crate) fn is_blank(&self) -> bool {
        self.flags == 0
    }

    /// Takes the flags away.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.flags = 0;
    }

    #[inline(always)]
    pub(crate) fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    #[inline(always)]
    pub fn is_syn(&self) -> bool {
        self.has(flags::SYN)
    }

    #[inline(always)]
    pub(crate) fn stamps(&self) -> Option<Timestamps> {
        self.has(flags::STAMPS).then_some(self.timestamps)
    }

    #[inline(always)]
    pub fn ecn(&self) -> Ecn {
        Ecn::of_bits(self.flags >> flags::ECN_SHIFT)
    }

    /// The network has marked it.
    pub fn mark(&mut self) {
        self.flags |= flags::ECN;
    }

    /// The number after the last that the segment takes.
    #[inline(always)]
    pub fn end(&self) -> Seq {
        self.seq + u64::from(self.len) + u64::from(self.has(flags::SYN)) + u64::from(self.has(flags::FIN))
    }
}

impl Ecn {
    /// As in the IP header.
    #[inline(always)]
    pub(crate) fn bits(self) -> u32 {
        match self {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        }
    }

    #[inline(always)]
    fn of_bits(bits: u32) -> Ecn {
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
}

impl Segment {
    /// The three flags as a count of marked packets modulo 8 (RFC 9768 §3.2.2).
    pub fn ace(&self) -> u32 {
        u32::from(self.ae) << 2 | u32::from(self.cwr) << 1 | u32::from(self.ece)
    }

    /// The number after the last that the segment takes.
    pub fn end(&self) -> Seq {
        self.seq + u64::from(self.len) + u64::from(self.syn) + u64::from(self.fin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::ip_bytes;
    use skyhop_base::Stream;

    /// A number of up to so many bits, as often a small or the largest one as any other.
    fn number(random: &mut Stream, bits: u32) -> u64 {
        let any = random.bits() >> (64 - bits);
        match random.bits() % 4 {
            0 => any % 3,
            1 => (u64::MAX >> (64 - bits)) - any % 3,
            _ => any,
        }
    }

    /// A segment with any flags and numbers, some with SACK blocks or a window of more than 32 bits.
    fn any_segment(random: &mut Stream) -> Segment {
        let flags = random.bits();
        let is_set = |bit: u32| flags >> bit & 1 == 1;
        let mut sack = SackBlocks::default();
        if is_set(0) && is_set(1) {
            for _ in 0..1 + random.bits() % 4 {
                let start = number(random, 62);
                sack.push(start..start + 1 + number(random, 40));
            }
        }
        let stamps = Timestamps { value: number(random, 32) as u32, echo: number(random, 32) as u32 };
        Segment {
            syn: is_set(2),
            fin: is_set(3),
            ack: is_set(4).then(|| number(random, 64)),
            psh: is_set(5),
            ece: is_set(6),
            cwr: is_set(7),
            ae: is_set(8),
            // The number of the segment's end has to fit, too.
            seq: number(random, 63),
            len: number(random, 31) as u32,
            window: number(random, if is_set(9) && is_set(10) { 34 } else { 32 }),
            sack,
            timestamps: is_set(11).then_some(stamps),
            ecn: Ecn::of_bits(random.bits() as u32),
        }
    }

    #[test]
    fn a_segment_comes_back_from_words_or_is_refused() {
        let mut random = Stream::new(1, "segment", "brief");
        let mut refused = [0, 0];
        for _ in 0..50_000 {
            let segment = any_segment(&mut random);
            let is_wide = segment.window > u32::MAX.into();
            let Some(brief) = Brief::of(&segment) else {
                assert!(!segment.sack.is_empty() || is_wide, "{segment:?}");
                refused[usize::from(is_wide)] += 1;
                continue;
            };
            assert!(segment.sack.is_empty() && !is_wide, "{segment:?}");
            let mut back = Brief::of_words(&brief.words());
            assert_eq!((back, back.segment()), (brief, segment));
            assert_eq!((back.end(), back.ip_bytes()), (segment.end(), ip_bytes(&segment)));
            assert_eq!((back.is_syn(), back.ecn(), back.stamps()), (segment.syn, segment.ecn, segment.timestamps));
            back.mark();
            assert_eq!(back.segment(), Segment { ecn: Ecn::Ce, ..segment });
        }
        assert!(refused.iter().all(|&count| count > 1000), "{refused:?}");
    }

    #[test]
    fn three_flags_are_a_count() {
        for count in (0..20).chain(u32::MAX - 20..=u32::MAX) {
            let segment = Brief { flags: flags::ACK | flags::of_ace(count), ..Brief::default() }.segment();
            assert_eq!(segment.ace(), count % 8);
            let Segment { ack, syn, fin, psh, timestamps, ecn, .. } = segment;
            assert_eq!((ack, syn, fin, psh, timestamps, ecn), (Some(0), false, false, false, None, Ecn::NotEct));
        }
    }
}
