//! ns-2's Fack: after a loss slow start from 1 to the threshold, fed by every ACK. Nothing is sent once a
//! retransmission was lost.

use crate::config::TimerRestart;
use crate::core::Core;
use crate::record::Phase;
use crate::recovery::{Forward, LossRecovery};
use crate::segment::{Ack, Segment};
use skyhop_base::{Segments, Time};
use skyhop_cc::CongestionControl;

#[derive(Clone, Debug, Default)]
pub(crate) struct Ns2Fack {
    forward: Forward,
    /// A retransmission was lost; only the timer helps.
    stalled: bool,
    /// Recovery ends with the ACK of more than this.
    recover: u32,
}

impl Ns2Fack {
    /// Everything that was reported or sent again is forgotten.
    fn forget(&mut self, core: &mut Core) {
        core.scoreboard.clear();
        *self = Ns2Fack { forward: Forward { end: core.una, ..Forward::default() }, ..Ns2Fack::default() };
    }

    /// A retransmission was lost when data first sent after it arrived. Holes are sent again in ascending order, so the
    /// lowest one left sooner than the others.
    fn lost_again(&self) -> bool {
        self.forward.sent_again.lowest().is_some_and(|lowest| lowest.edge < self.forward.end)
    }

    fn open(&mut self, core: &mut Core, now: Time, ack: &Ack, covered: u32) {
        if !ack.blocks.is_empty() && ack.next >= core.una {
            // Whatever it acknowledges, it neither grows the window nor releases new data.
            let acked = core.advance_quietly(ack).acked;
            self.measure(core, now, ack);
            core.counters.duplicate_acks += u64::from(acked == 0);
            core.tell(now, acked);
        } else if ack.next > core.una {
            let advance = core.advance(now, ack);
            core.leave_loss();
            core.grow(now, advance);
            core.open_initial_window(advance);
            self.forget(core);
            core.release();
        } else if ack.next == core.una {
            core.counters.duplicate_acks += 1;
            core.episode.duplicates += u32::from(covered > 0);
            if core.options.ns2.timer_restart == TimerRestart::EveryAck {
                core.rearm_timer(now);
            }
            core.tell(now, 0);
        }
        let lost = self.forward.beyond(core) >= core.options.duplicate_threshold;
        if ack.next == core.una && lost && core.una < core.high {
            self.forward.enter(core, now);
            core.set_cwnd(1.0);
            // After a timeout less than what was sent, and no timeout changes it.
            self.recover = core.next;
        }
    }

    /// Every ACK grows the window, measures the RTT and restarts the timer. Recovery ends with an ACK without reports
    /// of a segment that was not yet sent when it began.
    fn recovery(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        self.stalled |= self.lost_again();
        if ack.next < core.una {
            return;
        }
        if ack.next == core.una {
            core.counters.duplicate_acks += 1;
        }
        let advance = core.advance_quietly(ack);
        self.measure(core, now, ack);
        core.grow(now, advance);
        if ack.blocks.is_empty() && core.una > self.recover {
            core.leave_recovery();
            core.control.on_recovered();
            self.forget(core);
        }
        core.next = core.next.max(self.forward.end);
        core.release();
    }

    /// Every ACK but one of new data outside recovery restarts the timer, with the old timeout, and then measures the
    /// RTT.
    fn measure(&self, core: &mut Core, now: Time, ack: &Ack) {
        core.rearm_timer(now);
        core.end_timing(ack.next);
        core.rtt.sample(ack.echo, now);
    }
}

impl LossRecovery for Ns2Fack {
    fn on_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        let covered = self.forward.take_reports(core, ack);
        match core.phase() {
            Phase::Recovery => self.recovery(core, now, ack),
            Phase::Open | Phase::Loss => self.open(core, now, ack, covered),
        }
    }

    /// The sender stays in recovery.
    fn on_timeout(&mut self, core: &mut Core, _now: Time) {
        self.forward.sent_again.clear();
        self.forward.end = core.una;
        self.stalled = false;
        core.next = core.una;
    }

    fn poll(&mut self, core: &mut Core, now: Time) -> Option<Segment> {
        match core.phase() {
            _ if self.stalled => None,
            Phase::Recovery => self.forward.next_segment(core, now),
            Phase::Open | Phase::Loss => core.send_in_order(now),
        }
    }

    fn releases(&mut self, core: &mut Core) -> bool {
        match core.phase() {
            Phase::Open | Phase::Loss => core.is_open(),
            Phase::Recovery => !self.stalled && self.forward.releases(core),
        }
    }

    fn window(&self, core: &Core) -> Segments {
        self.forward.window(core)
    }
}
