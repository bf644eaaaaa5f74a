//! Tahoe, Reno and NewReno: loss by duplicate ACKs, without selective acknowledgements.

use super::{NO_LIMIT, Phase, Sender};
use crate::config::{PartialAckTimer, RecoveryExit, Retransmit, Switch};
use crate::{Ack, Recovery};
use skyhop_base::Time;
use skyhop_cc::{CongestionControl, Lost};

impl Sender {
    pub(super) fn classic_ack(&mut self, now: Time, ack: &Ack) {
        if ack.next > self.una {
            self.classic_new(now, ack);
        } else if ack.next == self.una && self.repairs.take_mark() {
            self.marked_duplicate();
        } else if ack.next == self.una {
            self.classic_duplicate(now);
        } else {
            // What an old ACK was marked for has arrived.
            self.repairs.take_mark();
            if self.repairs_holes() || self.duplicates == 0 {
                self.plan.burst = self.classic_burst();
            }
        }
    }

    fn classic_new(&mut self, now: Time, ack: &Ack) {
        let repairing = self.phase == Phase::Recovery;
        let until = if self.repairs.is_uncut() { self.repairs.until(ack.next) } else { self.recover };
        if repairing && self.repairs_holes() && ack.next < until {
            self.partial_ack(now, ack);
            self.plan.burst = self.classic_burst();
            return;
        }
        self.inflation = 0;
        let uncut = self.repairs.is_uncut();
        let advance = self.advance(now, ack);
        if repairing && uncut {
            self.leave_recovery();
            self.grow(now, advance);
        } else if repairing {
            self.leave_recovery();
            self.control.on_recovered();
            match self.options.recovery_exit {
                RecoveryExit::BaseWindow => self.grow(now, advance),
                RecoveryExit::Threshold | RecoveryExit::Flight => {
                    self.exit_at_threshold();
                    self.tell(now, advance.acked);
                }
            }
        } else {
            self.leave_loss();
            self.grow(now, advance);
        }
        self.open_initial_window(advance);
        self.plan.burst = NO_LIMIT;
    }

    /// RFC 5681 §3.2 step 6; NewReno avoids a burst (RFC 6582 §3.2 step 3, option 1).
    fn exit_at_threshold(&mut self) {
        let ssthresh = self.control.state().ssthresh;
        let avoids_burst = self.repairs_holes() && self.options.recovery_exit == RecoveryExit::Flight;
        let flight = f64::from((self.high - self.una).max(1));
        let window = if avoids_burst { ssthresh.min(flight + 1.0) } else { ssthresh };
        if window.is_finite() {
            self.set_window(window);
        }
    }

    /// RFC 6582 §3.2 step 3: the ACK ends before `recover`; the next hole is sent again.
    fn partial_ack(&mut self, now: Time, ack: &Ack) {
        let restart = !self.partial_seen || self.options.partial_ack_timer == PartialAckTimer::Every;
        self.partial_seen = true;
        let silent = self.repairs.silent(self.una, ack.next);
        let acked = ack.next - self.una;
        if self.repairs.is_uncut() {
            self.inflation = (self.inflation + 1).saturating_sub(acked);
        } else {
            self.deflate(acked);
        }
        self.advance_quietly(ack);
        self.tell(now, acked);
        if restart {
            self.rearm_timer(now);
        }
        if self.timed.is_some_and(|timed| ack.next > timed.seq) {
            self.timed = None;
            self.rtt.clear_backoff();
        }
        if silent || self.repairs.has(self.una) {
            return;
        }
        self.tell_lost(now, 1);
        if self.repairs.is_uncut() {
            self.cut_after_all(now);
        }
        self.plan.forced = Some(self.una);
    }

    /// Window and inflation together shrink by what left the network, less one for the retransmission. What
    /// the inflation cannot give is taken from the window (ns-2 partial_window_deflation_).
    pub(super) fn deflate(&mut self, acked: u32) {
        if self.inflation > acked {
            self.inflation -= acked - 1;
        } else {
            let rest = f64::from(acked - self.inflation);
            self.inflation = 1;
            self.set_window(self.control.cwnd() - rest);
        }
    }

    /// During NewReno's recovery a limited number of segments per ACK (ns-2 send_much(…, 2)).
    fn classic_burst(&self) -> u32 {
        let limited = self.repairs_holes() && self.duplicates >= self.options.duplicate_threshold;
        match self.options.recovery_burst {
            0 => NO_LIMIT,
            burst if limited => burst,
            _ => NO_LIMIT,
        }
    }

    fn classic_duplicate(&mut self, now: Time) {
        self.counters.duplicate_acks += 1;
        self.duplicates += 1;
        let threshold = self.options.duplicate_threshold;
        if self.duplicates == threshold {
            if self.repairs.has(self.una) {
                if self.phase == Phase::Open {
                    self.recover_uncut();
                }
            } else if self.fast_retransmit_allowed() {
                self.fast_retransmit(now);
            }
        } else if self.duplicates > threshold {
            if self.phase == Phase::Recovery {
                self.inflation += 1;
            }
        } else if self.options.limited_transmit == Switch::On {
            self.plan.limited = true;
        }
        if self.duplicates >= threshold || self.recovery == Recovery::Tahoe {
            self.plan.burst = self.classic_burst();
        }
        self.tell(now, 0);
    }

    /// A partial ACK repairs the next hole.
    fn repairs_holes(&self) -> bool {
        matches!(self.recovery, Recovery::NewReno | Recovery::Peach)
    }

    /// RFC 6582 §3.2 step 2: not again for losses of a window that was cut already.
    pub(super) fn fast_retransmit_allowed(&self) -> bool {
        let first = self.options.retransmit == Retransmit::PastRecoverOrFirst && self.una == 1;
        self.una > self.recover || first
    }

    fn fast_retransmit(&mut self, now: Time) {
        self.tell_lost(now, 1);
        self.enter_recovery(now, Lost::First);
        if self.recovery == Recovery::Tahoe {
            // Jacobson 1988: slow start from the lost segment on.
            self.set_window(1.0);
            self.next = self.una;
        } else {
            self.phase = Phase::Recovery;
            self.inflation = self.options.duplicate_threshold;
            self.plan.forced = Some(self.una);
        }
    }
}
