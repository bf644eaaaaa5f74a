//! Proportional rate reduction (RFC 9937), as Linux 6.18 computes it, and the reduction at once that it replaces.

use super::super::Sender;
use crate::flow::{CaState, SSTHRESH_UNSET};

/// Segments delivered and sent since the reduction began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    pub delivered: u32,
    pub out: u32,
}

impl Sender {
    /// Begins a reduction to the control's threshold.
    pub(in super::super) fn begin_reduction(&mut self) {
        self.counts.reductions += 1;
        self.high_seq = self.flow.nxt;
        self.tlp_end = None;
        self.flow.cwnd_count = 0;
        self.flow.prior_cwnd = self.flow.cwnd;
        self.prr = Prr::default();
        let ssthresh = self.control.ssthresh(&mut self.flow);
        self.flow.ssthresh = ssthresh;
        self.reduce_unvalidated();
        self.queue_cwr |= self.ecn;
    }

    /// Sets the window after an ACK in a reduction: above the threshold in proportion, below it back up to it.
    pub(in super::super) fn reduce(&mut self, delivered: u32, lost: u32, una_advanced: bool) {
        if delivered == 0 || self.flow.prior_cwnd == 0 {
            return;
        }
        self.prr.delivered += delivered;
        let in_flight = self.flow.in_flight();
        if !self.config.prr {
            // RFC 6675 §5: the window is the threshold, and the fast retransmission leaves whatever it says. An undo
            // restores the threshold, which then may lie above the window before.
            let forced = self.flow.state == CaState::Recovery && self.prr.out == 0;
            let window = self.flow.ssthresh.min(self.flow.prior_cwnd);
            self.flow.cwnd = window.max(if forced { in_flight + 1 } else { 0 });
            return;
        }
        let out = i64::from(self.prr.out);
        let room = i64::from(self.flow.ssthresh) - i64::from(in_flight);
        let send = if room < 0 {
            let share = u64::from(self.flow.ssthresh) * u64::from(self.prr.delivered);
            share.div_ceil(u64::from(self.flow.prior_cwnd)) as i64 - out
        } else {
            let mut send = (i64::from(self.prr.delivered) - out).max(i64::from(delivered));
            // Progress without new loss allows slow start.
            if una_advanced && lost == 0 {
                send += 1;
            }
            send.min(room)
        };
        // The fast retransmission leaves at once.
        let send = send.max(i64::from(self.prr.out == 0));
        self.flow.cwnd = (i64::from(in_flight) + send).max(0) as u32;
    }

    /// Ends a reduction: the window is the threshold, unless the reduction was undone.
    pub(in super::super) fn end_reduction(&mut self) {
        if self.owns_window {
            return;
        }
        self.end_unvalidated_reduction();
        if self.flow.ssthresh < SSTHRESH_UNSET && (self.flow.state == CaState::Cwr || self.undo.marker.is_some()) {
            self.flow.cwnd = self.flow.ssthresh;
            self.used_jiffy = self.flow.jiffy;
        }
        self.event(crate::control::Event::ReductionComplete);
    }
}
