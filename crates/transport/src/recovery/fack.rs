//! Forward acknowledgement: Mathis and Mahdavi, "Forward Acknowledgement: Refining TCP Congestion Control", SIGCOMM
//! 1996, with rate halving (Mathis, Semke and Mahdavi 1999) as an option.
//!
//! - `forward` is one past the highest segment that the receiver holds. In flight are the segments sent beyond it and
//!   those sent again: awnd = next − forward + sent again.
//! - Recovery starts when more than three segments lie between the cumulative acknowledgement and `forward`, or with
//!   the third duplicate ACK. It ends when everything outstanding then is acknowledged.
//! - A segment leaves while awnd + 1 <= window: the lowest hole below `forward`, each once, else new data.
//! - Rate halving: the window shrinks by half of what each ACK newly covers, from the old one to the threshold.

use super::contract::LossRecovery;
use crate::config::{Switch, TimerRestart};
use crate::core::Core;
use crate::ledger::Retransmissions;
use crate::record::Phase;
use crate::segment::{Ack, Segment};
use skyhop_base::{Segments, Time};
use skyhop_cc::{CongestionControl, Lost};

/// What forward acknowledgement remembers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forward {
    /// One past the highest segment known to have arrived.
    pub(crate) end: u32,
    /// Holes sent again and not known to have arrived.
    pub(crate) sent_again: Retransmissions,
    /// Rate halving: the window on its way down, segments.
    pub(crate) allowance: f64,
}

impl Forward {
    /// Brings scoreboard and `forward` up to date; returns how many segments the ACK newly covers.
    pub(crate) fn take_reports(&mut self, core: &mut Core, ack: &Ack) -> u32 {
        let una = ack.next.max(core.una);
        let reported = core.record_blocks(una, ack);
        let end = ack.blocks.as_slice().iter().map(|block| block.1).max().unwrap_or(0);
        self.end = self.end.max(end).max(ack.next);
        if !self.sent_again.is_empty() {
            self.sent_again.remove(0, una);
            // Segments that earlier ACKs reported left the list then.
            for &(start, end) in ack.blocks.as_slice().iter().filter(|block| block.0.max(una) < block.1) {
                self.sent_again.remove(start.max(una), end);
            }
        }
        reported + ack.next.saturating_sub(core.una)
    }

    /// Segments between the cumulative acknowledgement and `forward`, besides the first one.
    pub(crate) fn beyond(&self, core: &Core) -> u32 {
        self.end.saturating_sub(core.una + 1)
    }

    /// The first outstanding segment is lost: the window is cut and the segment leaves again.
    pub(crate) fn enter(&mut self, core: &mut Core, now: Time) {
        self.allowance = core.control.cwnd();
        let reported = core.scoreboard.sacked();
        core.tell_lost(now, self.end.saturating_sub(core.una + reported).max(1));
        core.enter_recovery(now, Lost::First);
        core.episode.phase = Phase::Recovery;
        core.scoreboard.forget_retransmissions();
        self.sent_again.clear();
        let una = core.una;
        self.repair(core, una);
        core.force(una);
        core.release();
    }

    /// A hole leaves again.
    pub(crate) fn repair(&mut self, core: &mut Core, seq: u32) {
        core.scoreboard.mark_retransmitted(seq);
        self.sent_again.record(seq, core.next);
    }

    /// The window, under rate halving on its way down (`algorithms.md` §1.9): each ACK takes off half of what it
    /// covers.
    #[inline]
    pub(crate) fn window(&self, core: &Core) -> Segments {
        let halving = core.phase() == Phase::Recovery && core.options.rate_halving == Switch::On;
        if halving { core.control.cwnd().max(self.allowance) } else { core.control.cwnd() }
    }

    /// Whether recovery has room for a segment.
    fn is_open(&self, core: &Core) -> bool {
        let sent_again = self.sent_again.len() as u32;
        let in_flight = f64::from(core.next.saturating_sub(self.end) + sent_again);
        in_flight + 1.0 <= (self.window(core) as u32).min(core.options.send_window()).into()
    }

    /// What recovery lets out: the lowest hole, else new data.
    pub(crate) fn next_segment(&mut self, core: &mut Core, now: Time) -> Option<Segment> {
        if !self.is_open(core) {
            return None;
        }
        if let Some(seq) = core.scoreboard.next_hole(core.una) {
            self.repair(core, seq);
            return Some(core.transmit(now, seq));
        }
        core.has_room().then(|| core.transmit_next(now))
    }

    /// Whether [`Forward::next_segment`] would give one.
    pub(crate) fn releases(&self, core: &Core) -> bool {
        self.is_open(core) && (core.has_room() || core.scoreboard.next_hole(core.una).is_some())
    }
}

/// Forward acknowledgement as in the paper.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fack {
    forward: Forward,
}

impl Fack {
    fn open(&mut self, core: &mut Core, now: Time, ack: &Ack, covered: u32) {
        if ack.next > core.una {
            let advance = core.advance(now, ack);
            core.leave_loss();
            core.grow(now, advance);
            core.open_initial_window(advance);
        } else if ack.next == core.una {
            core.counters.duplicate_acks += 1;
            core.episode.duplicates += u32::from(covered > 0);
            if core.options.ns2.timer_restart == TimerRestart::EveryAck {
                core.rearm_timer(now);
            }
            core.tell(now, 0);
        }
        let threshold = core.options.duplicate_threshold;
        let lost = core.episode.duplicates >= threshold || self.forward.beyond(core) >= threshold;
        let may_start = core.phase() == Phase::Open && core.una >= core.episode.recover;
        if ack.next == core.una && lost && may_start && core.una < core.high {
            self.forward.enter(core, now);
        }
        core.release();
    }

    fn recovery(&mut self, core: &mut Core, now: Time, ack: &Ack, covered: u32) {
        self.forward.allowance -= f64::from(covered) / 2.0;
        let mut acked = 0;
        if ack.next > core.una {
            acked = core.advance(now, ack).acked;
            if core.una >= core.episode.recover {
                core.leave_recovery();
                core.control.on_recovered();
            }
        } else if ack.next == core.una {
            core.counters.duplicate_acks += 1;
        }
        core.tell(now, acked);
        core.release();
    }
}

impl LossRecovery for Fack {
    fn on_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        let covered = self.forward.take_reports(core, ack);
        match core.phase() {
            Phase::Recovery => self.recovery(core, now, ack, covered),
            Phase::Open | Phase::Loss => self.open(core, now, ack, covered),
        }
    }

    fn on_timeout(&mut self, core: &mut Core, _now: Time) {
        self.forward.sent_again.clear();
        core.go_back();
    }

    fn poll(&mut self, core: &mut Core, now: Time) -> Option<Segment> {
        match core.phase() {
            Phase::Recovery => self.forward.next_segment(core, now),
            Phase::Open | Phase::Loss => core.send_skipping_held(now),
        }
    }

    fn releases(&mut self, core: &mut Core) -> bool {
        match core.phase() {
            Phase::Recovery => self.forward.releases(core),
            Phase::Open | Phase::Loss => core.is_open_skipping_held(),
        }
    }

    fn window(&self, core: &Core) -> Segments {
        self.forward.window(core)
    }
}
