//! Segments of the sending host that wait to be fetched.

use crate::segment::{Brief, Ecn, Seq, Timestamps, flags};

/// The window that the sending host offers in its segments, in bytes: nobody sends it data.
const OFFERED: u32 = 65_535;

/// A segment of the sending host, or a burst of them: all are full but the last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ready {
    /// The first segment, but for its length and what the last one of the burst has.
    next: Brief,
    /// Bytes of data in all segments, and in each but the last.
    left: u32,
    full: u32,
    /// The flags that the last one has.
    last: u32,
}

impl Ready {
    /// A burst of `bytes` of data in segments of `full`, from `seq` on. `set`: flags of all of them.
    #[inline(always)]
    pub fn new(seq: Seq, bytes: u32, full: u32, set: u32, timestamps: Option<Timestamps>) -> Ready {
        let next = Brief { seq, ack: 1, window: OFFERED, flags: set | flags::ACK, ..Brief::default() };
        Ready { next: next.stamped(timestamps), left: bytes, full, last: 0 }
    }

    /// The same of the first segment of the connection, which acknowledges nothing.
    pub fn syn(set: u32, timestamps: Option<Timestamps>) -> Ready {
        let mut ready = Ready::new(0, 0, 0, set | flags::SYN, timestamps);
        ready.next.ack = 0;
        ready.next.flags &= !flags::ACK;
        ready
    }

    /// The same of segments with data. The first has CWR, and the last PSH, where that is said.
    #[inline(always)]
    pub fn with(mut self, ecn: Ecn, cwr: bool, psh: bool) -> Ready {
        self.next.flags |= ecn.bits() << flags::ECN_SHIFT | if cwr { flags::CWR } else { 0 };
        self.last = if psh { flags::PSH } else { 0 };
        self
    }

    /// Takes the first segment away. Returns it, and whether it was the last.
    #[inline(always)]
    pub fn take(&mut self) -> (Brief, bool) {
        let mut brief = self.next;
        brief.len = self.left.min(self.full);
        self.left -= brief.len;
        let is_last = self.left == 0;
        if is_last {
            brief.flags |= self.last;
        }
        self.next.seq += u64::from(brief.len);
        self.next.flags &= !flags::CWR;
        (brief, is_last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Segment;
    use skyhop_base::Stream;

    #[test]
    fn a_burst_leaves_in_full_segments_and_a_last_one() {
        let mut random = Stream::new(1, "ready", "burst");
        let mut count = 0;
        for _ in 0..2000 {
            let mut below = |most: u64| random.bits() % most;
            let (seq, full, bytes) = (below(1 << 40), 1 + below(9000), 1 + below(64 << 10));
            let (cwr, psh) = (below(2) == 1, below(2) == 1);
            let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][below(3) as usize];
            let stamps = Timestamps { value: below(1 << 32) as u32, echo: below(1 << 32) as u32 };
            let timestamps = (below(2) == 1).then_some(stamps);
            let mut ready = Ready::new(seq, bytes as u32, full as u32, 0, timestamps).with(ecn, cwr, psh);
            let (mut at, end) = (seq, seq + bytes);
            while at < end {
                let len = full.min(end - at);
                let (brief, is_last) = ready.take();
                assert_eq!(is_last, at + len == end);
                let expected = Segment {
                    ack: Some(1),
                    psh: psh && is_last,
                    cwr: cwr && at == seq,
                    seq: at,
                    len: len as u32,
                    window: 65_535,
                    timestamps,
                    ecn,
                    ..Segment::default()
                };
                assert_eq!(brief.segment(), expected);
                at += len;
                count += 1;
            }
        }
        assert!(count > 20_000, "{count} segments");
    }

    #[test]
    fn a_syn_acknowledges_nothing() {
        let (brief, is_last) = Ready::syn(flags::ECE | flags::CWR, None).take();
        let expected = Segment { syn: true, ece: true, cwr: true, window: 65_535, ..Segment::default() };
        assert_eq!((brief.segment(), is_last), (expected, true));
    }
}
