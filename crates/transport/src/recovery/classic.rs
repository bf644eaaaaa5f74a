//! Tahoe, Reno and NewReno: loss by duplicate ACKs, without selective acknowledgements.

use super::contract::LossRecovery;
use crate::config::{PartialAckTimer, RecoveryExit, Switch};
use crate::core::Core;
use crate::record::Phase;
use crate::segment::Ack;
use crate::window::NO_LIMIT;
use skyhop_base::Time;
use skyhop_cc::{CongestionControl, Lost};

/// The reaction to a fast retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Slow start from the lost segment on (Jacobson 1988).
    SlowStart,
    /// Fast recovery that ends with the first new ACK (RFC 5681 §3.2).
    FirstAck,
    /// Fast recovery that repairs a hole per partial ACK (RFC 6582).
    PartialAcks,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Classic {
    after: After,
    /// A partial ACK was seen in this episode.
    partial_seen: bool,
}

impl Classic {
    pub(crate) fn new(after: After) -> Classic {
        Classic { after, partial_seen: false }
    }

    /// A partial ACK repairs the next hole.
    fn repairs_holes(&self) -> bool {
        self.after == After::PartialAcks
    }

    fn new_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        let repairing = core.phase() == Phase::Recovery;
        let uncut = core.repairs.is_uncut();
        let until = if uncut { core.repairs.until(ack.next) } else { core.episode.recover };
        if repairing && self.repairs_holes() && ack.next < until {
            self.partial_ack(core, now, ack);
            core.window.allowed.burst = self.burst(core);
            return;
        }
        core.window.inflation = 0;
        let advance = core.advance(now, ack);
        if repairing {
            core.leave_recovery();
            self.partial_seen = false;
        }
        if repairing && !uncut {
            core.control.on_recovered();
            match core.options.recovery_exit {
                RecoveryExit::BaseWindow => core.grow(now, advance),
                RecoveryExit::Threshold | RecoveryExit::Flight => {
                    self.exit_at_threshold(core);
                    core.tell(now, advance.acked);
                }
            }
        } else {
            if core.phase() == Phase::Loss {
                core.leave_loss();
                self.partial_seen &= core.phase() == Phase::Loss;
            }
            core.grow(now, advance);
        }
        core.open_initial_window(advance);
        core.release();
    }

    /// RFC 5681 §3.2 step 6; NewReno avoids a burst (RFC 6582 §3.2 step 3, option 1).
    fn exit_at_threshold(&self, core: &mut Core) {
        let ssthresh = core.control.state().ssthresh;
        let avoids_burst = self.repairs_holes() && core.options.recovery_exit == RecoveryExit::Flight;
        let flight = f64::from(core.outstanding().max(1));
        let window = if avoids_burst { ssthresh.min(flight + 1.0) } else { ssthresh };
        if window.is_finite() {
            core.set_cwnd(window);
        }
    }

    /// RFC 6582 §3.2 step 3: the ACK ends before `recover`; the next hole is sent again.
    fn partial_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        let restart = !self.partial_seen || core.options.partial_ack_timer == PartialAckTimer::Every;
        self.partial_seen = true;
        let silent = core.repairs.silent(core.una, ack.next);
        let acked = ack.next - core.una;
        if core.repairs.is_uncut() {
            core.window.inflation = (core.window.inflation + 1).saturating_sub(acked);
        } else {
            core.deflate(acked);
        }
        core.advance_quietly(ack);
        core.tell(now, acked);
        if restart {
            core.rearm_timer(now);
        }
        core.end_timing(ack.next);
        if silent || core.repairs.has(core.una) {
            return;
        }
        core.tell_lost(now, 1);
        if core.repairs.is_uncut() {
            core.cut_after_all(now);
        }
        core.force(core.una);
    }

    /// During NewReno's recovery a limited number of segments per ACK (ns-2 send_much(…, 2)).
    fn burst(&self, core: &Core) -> u32 {
        let limited = self.repairs_holes() && core.episode.duplicates >= core.options.duplicate_threshold;
        match core.options.ns2.recovery_burst {
            0 => NO_LIMIT,
            burst if limited => burst,
            _ => NO_LIMIT,
        }
    }

    fn duplicate(&mut self, core: &mut Core, now: Time) {
        core.counters.duplicate_acks += 1;
        core.episode.duplicates += 1;
        let threshold = core.options.duplicate_threshold;
        let duplicates = core.episode.duplicates;
        if duplicates == threshold {
            if core.repairs.has(core.una) {
                if core.phase() == Phase::Open {
                    core.recover_uncut();
                }
            } else if core.fast_retransmit_allowed() {
                self.fast_retransmit(core, now);
            }
        } else if duplicates > threshold {
            if core.phase() == Phase::Recovery {
                core.window.inflation += 1;
            }
        } else if core.options.limited_transmit == Switch::On {
            core.window.allowed.limited = true;
        }
        // fast_retransmit leaves the count as it is.
        if duplicates >= threshold || self.after == After::SlowStart {
            core.window.allowed.burst = self.burst(core);
        }
        core.tell(now, 0);
    }

    fn fast_retransmit(&mut self, core: &mut Core, now: Time) {
        core.tell_lost(now, 1);
        core.enter_recovery(now, Lost::First);
        if self.after == After::SlowStart {
            core.set_cwnd(1.0);
            core.next = core.una;
        } else {
            core.episode.phase = Phase::Recovery;
            core.window.inflation = core.options.duplicate_threshold;
            core.force(core.una);
        }
    }
}

impl LossRecovery for Classic {
    fn on_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        if ack.next > core.una {
            self.new_ack(core, now, ack);
        } else if ack.next == core.una && core.repairs.take_mark() {
            core.marked_duplicate();
        } else if ack.next == core.una {
            self.duplicate(core, now);
        } else {
            // The segment that a mark on an old ACK meant has arrived.
            core.repairs.take_mark();
            if self.repairs_holes() || core.episode.duplicates == 0 {
                core.window.allowed.burst = self.burst(core);
            }
        }
    }
}
