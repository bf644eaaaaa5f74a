//! Segments that wait to be fetched, without the fields that are the same in all of them: what crosses the network has
//! room for SACK blocks, which a sender never reports, and is several times as large.

use crate::segment::{Ecn, Segment, Seq, Timestamps};

/// The window that the sending host offers in its segments, in bytes: nobody sends it data.
const OFFERED: u64 = 65_535;

/// A segment of the sending host, or a burst of them: all are full but the last, which has the PSH flag, and the first
/// has CWR.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ready {
    pub seq: Seq,
    /// Bytes of data in all segments, and in each but the last.
    pub len: u32,
    pub full: u32,
    pub timestamps: Option<Timestamps>,
    /// The first segment, which acknowledges nothing.
    pub syn: bool,
    pub psh: bool,
    pub ece: bool,
    pub cwr: bool,
    pub ae: bool,
    pub ecn: Ecn,
}

impl Ready {
    /// Makes `segment` the first one, whatever it was, and takes it away. Returns whether it was the last.
    #[inline]
    pub fn take(&mut self, segment: &mut Segment) -> bool {
        let taken = self.len.min(self.full);
        let is_last = taken == self.len;
        let Segment { syn, fin, ack, psh, ece, cwr, ae, seq, len, window, sack, timestamps, ecn } = segment;
        (*syn, *fin, *psh, *ece, *cwr, *ae) = (self.syn, false, self.psh && is_last, self.ece, self.cwr, self.ae);
        *ack = (!self.syn).then_some(1);
        (*seq, *len, *window) = (self.seq, taken, OFFERED);
        sack.clear();
        (*timestamps, *ecn) = (self.timestamps, self.ecn);
        self.seq += u64::from(taken);
        self.len -= taken;
        self.cwr = false;
        is_last
    }
}
