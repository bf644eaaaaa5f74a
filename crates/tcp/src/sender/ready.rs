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
        let stamped = if timestamps.is_some() { flags::STAMPS } else { 0 };
        let timestamps = timestamps.unwrap_or_default();
        let flags = set | stamped | flags::ACK;
        Ready { next: Brief { seq, ack: 1, len: 0, window: OFFERED, timestamps, flags }, left: bytes, full, last: 0 }
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
