//! Segments that wait to be fetched, without the fields that are the same in all of them: what crosses the network has
//! room for SACK blocks, which a sender never reports, and is several times as large.

use crate::segment::{Ecn, Segment, Seq, Timestamps};

/// The window that the sending host offers in its segments, in bytes: nobody sends it data.
const OFFERED: u64 = 65_535;

/// A segment of the sending host.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ready {
    pub seq: Seq,
    /// Bytes of data.
    pub len: u32,
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
    /// Makes `segment` this one, whatever it was.
    pub fn write(&self, segment: &mut Segment) {
        let Segment { syn, fin, ack, psh, ece, cwr, ae, seq, len, window, sack, timestamps, ecn } = segment;
        (*syn, *fin, *psh, *ece, *cwr, *ae) = (self.syn, false, self.psh, self.ece, self.cwr, self.ae);
        *ack = (!self.syn).then_some(1);
        (*seq, *len, *window) = (self.seq, self.len, OFFERED);
        sack.clear();
        (*timestamps, *ecn) = (self.timestamps, self.ecn);
    }
}
