//! Forward acknowledgement: Mathis and Mahdavi, "Forward Acknowledgement: Refining TCP Congestion Control", SIGCOMM
//! 1996, with rate halving (Mathis, Semke and Mahdavi 1999) as an option, and ns-2's Fack.
//!
//! - `forward` is one past the highest segment that the receiver holds; in flight is what was sent beyond it and what
//!   was sent again: awnd = next − forward + sent again.
//! - Recovery starts when more than three segments lie between the cumulative acknowledgement and `forward`, or with the third
//!   duplicate ACK, and ends when everything outstanding then is acknowledged.
//! - A segment leaves while awnd + 1 <= window: the lowest hole below `forward`, each once, else new data.
//! - Rate halving: the window shrinks by half of what each ACK newly covers, from the old one to the threshold.

use super::{NO_LIMIT, Phase, Sender};
use crate::config::{FackRules, Switch, TimerRestart};
use crate::{Ack, Segment};
use skyhop_base::{Segments, Time};
use skyhop_cc::{CongestionControl, Lost};
use std::collections::BTreeMap;

/// What forward acknowledgement remembers.
#[derive(Clone, Debug, Default)]
pub(super) struct Forward {
    /// One past the highest segment known to have arrived.
    end: u32,
    /// Holes sent again and not known to have arrived, each with the next new segment at that time. Each enters and
    /// leaves once: the cost of an ACK does not grow with the window.
    again: BTreeMap<u32, u32>,
    /// ns-2: a retransmission was lost, only the timer helps.
    stalled: bool,
    /// ns-2: recovery ends with the ACK of more than this.
    recover: u32,
    /// Rate halving: the window on its way down, segments.
    allowance: f64,
}

impl Forward {
    /// A retransmission was lost when data first sent after it arrived. Holes are sent again in ascending order, so the
    /// lowest one left sooner than the others.
    fn lost_again(&self) -> bool {
        self.again.first_key_value().is_some_and(|(_, &next)| next < self.end)
    }

    /// What was sent again has arrived, from `start` to before `end`.
    fn arrived(&mut self, start: u32, end: u32) {
        while let Some(seq) = self.again.range(start..end).next().map(|(&seq, _)| seq) {
            self.again.remove(&seq);
        }
    }
}

impl Sender {
    pub(super) fn fack_ack(&mut self, now: Time, ack: &Ack) {
        let covered = self.take_reports(ack);
        match (self.phase, self.options.fack_rules) {
            (Phase::Recovery, FackRules::Ns2) => self.ns2_fack_recovery(now, ack),
            (Phase::Recovery, FackRules::Paper) => self.fack_recovery(now, ack, covered),
            _ => self.fack_open(now, ack, covered),
        }
    }

    /// Brings scoreboard and `forward` up to date; returns how many segments the ACK newly covers.
    fn take_reports(&mut self, ack: &Ack) -> u32 {
        let reported = self.record_blocks(ack.next.max(self.una), ack);
        let end = ack.blocks.as_slice().iter().map(|block| block.1).max().unwrap_or(0);
        let una = ack.next.max(self.una);
        let forward = &mut self.forward;
        forward.end = forward.end.max(end).max(ack.next);
        if !forward.again.is_empty() {
            forward.arrived(0, una);
            // What earlier ACKs reported left the list then.
            for &(start, end) in ack.blocks.as_slice().iter().filter(|block| block.0.max(una) < block.1) {
                forward.arrived(start.max(una), end);
            }
        }
        reported + ack.next.saturating_sub(self.una)
    }

    fn fack_open(&mut self, now: Time, ack: &Ack, covered: u32) {
        if self.options.fack_rules == FackRules::Ns2 && !ack.blocks.is_empty() && ack.next >= self.una {
            // Whatever it acknowledges, it neither grows the window nor releases new data.
            let acked = self.advance_quietly(ack).acked;
            self.ns2_fack_timing(now, ack);
            self.counters.duplicate_acks += u64::from(acked == 0);
            self.tell(now, acked);
        } else if ack.next > self.una {
            let advance = self.advance(now, ack);
            self.leave_loss();
            self.grow(now, advance);
            self.open_initial_window(advance);
            if self.options.fack_rules == FackRules::Ns2 {
                self.scoreboard.clear();
                self.forward = Forward { end: self.una, ..Forward::default() };
            }
            self.plan.burst = NO_LIMIT;
        } else if ack.next == self.una {
            self.counters.duplicate_acks += 1;
            self.duplicates += u32::from(covered > 0);
            if self.options.timer_restart == TimerRestart::EveryAck {
                self.rearm_timer(now);
            }
            self.tell(now, 0);
        }
        let threshold = self.options.duplicate_threshold;
        let beyond = self.forward.end.saturating_sub(self.una + 1);
        let lost = match self.options.fack_rules {
            FackRules::Paper => self.duplicates >= threshold || beyond >= threshold,
            FackRules::Ns2 => beyond >= threshold,
        };
        let may_start = self.phase == Phase::Open && self.una >= self.recover;
        let may_start = may_start || self.options.fack_rules == FackRules::Ns2;
        if ack.next == self.una && lost && may_start && self.una < self.high {
            self.fack_enter(now);
        } else if self.options.fack_rules == FackRules::Paper {
            self.plan.burst = NO_LIMIT;
        }
    }

    fn fack_enter(&mut self, now: Time) {
        self.forward.allowance = self.control.cwnd();
        let reported = self.scoreboard.sacked();
        self.tell_lost(now, self.forward.end.saturating_sub(self.una + reported).max(1));
        self.enter_recovery(now, Lost::First);
        self.phase = Phase::Recovery;
        self.scoreboard.forget_retransmissions();
        self.forward.again.clear();
        if self.options.fack_rules == FackRules::Ns2 {
            self.set_window(1.0);
            // After a timeout less than what was sent, and no timeout changes it.
            self.forward.recover = self.next;
        }
        self.remember_again(self.una);
        self.plan.forced = Some(self.una);
        self.plan.burst = NO_LIMIT;
    }

    fn remember_again(&mut self, seq: u32) {
        self.scoreboard.mark_retransmitted(seq);
        self.forward.again.insert(seq, self.next);
    }

    fn fack_recovery(&mut self, now: Time, ack: &Ack, covered: u32) {
        self.forward.allowance -= f64::from(covered) / 2.0;
        let mut acked = 0;
        if ack.next > self.una {
            acked = self.advance(now, ack).acked;
            if self.una >= self.recover {
                self.leave_recovery();
                self.control.on_recovered();
            }
        } else if ack.next == self.una {
            self.counters.duplicate_acks += 1;
        }
        self.tell(now, acked);
        self.plan.burst = NO_LIMIT;
    }

    /// Every ACK grows the window, measures the RTT and restarts the timer. It ends with an ACK without reports of a
    /// segment that was not yet sent when it began.
    fn ns2_fack_recovery(&mut self, now: Time, ack: &Ack) {
        self.forward.stalled |= self.forward.lost_again();
        if ack.next < self.una {
            return;
        }
        if ack.next == self.una {
            self.counters.duplicate_acks += 1;
        }
        let advance = self.advance_quietly(ack);
        self.ns2_fack_timing(now, ack);
        self.grow(now, advance);
        if ack.blocks.is_empty() && self.una > self.forward.recover {
            self.leave_recovery();
            self.control.on_recovered();
            self.scoreboard.clear();
            self.forward = Forward { end: self.una, ..Forward::default() };
        }
        self.next = self.next.max(self.forward.end);
        self.plan.burst = NO_LIMIT;
    }

    /// Every ACK but one of new data outside recovery restarts the timer, with the old timeout, and then measures the RTT.
    fn ns2_fack_timing(&mut self, now: Time, ack: &Ack) {
        self.rearm_timer(now);
        if self.timed.is_some_and(|timed| ack.next > timed.seq) {
            self.timed = None;
            self.rtt.clear_backoff();
        }
        self.rtt.sample(ack.echo, now);
    }

    /// A timeout: what was reported is forgotten or kept as the option says; ns-2 stays in recovery.
    pub(super) fn fack_timeout(&mut self) {
        self.forward.again.clear();
        self.forward.stalled = false;
        if self.options.fack_rules == FackRules::Ns2 {
            self.forward.end = self.una;
        } else {
            self.phase = Phase::Loss;
        }
    }

    /// The window, under rate halving on its way down (`algorithms.md` §1.9): what each ACK covers takes a half off.
    #[inline]
    pub(super) fn fack_window(&self) -> Segments {
        let halving = self.phase == Phase::Recovery && self.options.rate_halving == Switch::On;
        if halving { self.control.cwnd().max(self.forward.allowance) } else { self.control.cwnd() }
    }

    /// What recovery or the window releases.
    pub(super) fn poll_fack(&mut self, now: Time) -> Option<Segment> {
        if self.forward.stalled {
            return None;
        }
        if self.phase != Phase::Recovery {
            if self.options.fack_rules == FackRules::Ns2 {
                return self.window_allows(self.next).then(|| self.transmit_next(now));
            }
            return self.poll_skipping_held(now);
        }
        if !self.fack_is_open() {
            return None;
        }
        if let Some(seq) = self.scoreboard.next_hole(self.una) {
            self.remember_again(seq);
            return Some(self.transmit(now, seq));
        }
        self.has_room().then(|| self.transmit_next(now))
    }

    /// Whether recovery has room for a segment.
    fn fack_is_open(&self) -> bool {
        let again = self.forward.again.len() as u32;
        let in_flight = f64::from(self.next.saturating_sub(self.forward.end) + again);
        in_flight + 1.0 <= (self.fack_window() as u32).min(self.options.send_window()).into()
    }

    /// Whether [`poll_fack`](Sender::poll_fack) would give a segment in recovery or by RFC rules.
    pub(super) fn fack_releases(&mut self) -> bool {
        if self.forward.stalled {
            return false;
        }
        if self.phase != Phase::Recovery {
            return self.next_is_open();
        }
        self.fack_is_open() && (self.has_room() || self.scoreboard.next_hole(self.una).is_some())
    }
}
