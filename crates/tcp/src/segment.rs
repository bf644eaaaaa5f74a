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

    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Becomes equal to `other`. Most segments carry no blocks, and then none is copied.
    fn copy_from(&mut self, other: &SackBlocks) {
        self.count = other.count;
        if other.count > 0 {
            self.blocks = other.blocks;
        }
    }

    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The timestamps option (RFC 7323 §3), in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Segment {
    /// Becomes equal to `other`. Cheaper than an assignment, which copies room for SACK blocks, too.
    #[inline]
    pub fn copy_from(&mut self, other: &Segment) {
        let Segment { syn, fin, ack, psh, ece, cwr, ae, seq, len, window, sack, timestamps, ecn } = self;
        (*syn, *fin, *psh, *ece, *cwr, *ae) = (other.syn, other.fin, other.psh, other.ece, other.cwr, other.ae);
        (*ack, *seq, *len, *window) = (other.ack, other.seq, other.len, other.window);
        (*timestamps, *ecn) = (other.timestamps, other.ecn);
        sack.copy_from(&other.sack);
    }

    /// Becomes a segment without data, flags and SACK blocks. Cheaper than an assignment, as above.
    #[inline]
    pub fn write_ack(&mut self, number: Seq, acknowledged: Seq, offered: u64, stamps: Option<Timestamps>) {
        let Segment { syn, fin, ack, psh, ece, cwr, ae, seq, len, window, sack, timestamps, ecn } = self;
        (*syn, *fin, *psh, *ece, *cwr, *ae) = (false, false, false, false, false, false);
        (*ack, *seq, *len, *window) = (Some(acknowledged), number, 0, offered);
        (*timestamps, *ecn) = (stamps, Ecn::NotEct);
        sack.clear();
    }

    /// The three flags as a count of marked packets modulo 8 (RFC 9768 §3.2.2).
    pub fn ace(&self) -> u32 {
        u32::from(self.ae) << 2 | u32::from(self.cwr) << 1 | u32::from(self.ece)
    }

    /// Sets the three flags to a count of marked packets modulo 8.
    pub fn set_ace(&mut self, count: u32) {
        (self.ae, self.cwr, self.ece) = (count & 4 != 0, count & 2 != 0, count & 1 != 0);
    }

    /// The number after the last that the segment takes.
    pub fn end(&self) -> Seq {
        self.seq + u64::from(self.len) + u64::from(self.syn) + u64::from(self.fin)
    }
}
