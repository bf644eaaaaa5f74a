//! The recovery of ns-2's TCP/Linux: loss marked by forward acknowledgement, rate halving on the way down.
//!
//! - A segment is lost when one at least four above it was reported. A retransmission is lost again when data first
//!   sent after it was reported, or a retransmission sent at least five later has arrived.
//! - Recovery starts with the first segment marked lost and ends at the highest segment sent at its start.
//! - In flight is what is outstanding, not reported and not marked lost. During recovery a segment leaves while that is
//!   below max(floor of the control, allowance). The allowance starts at the old window, is cut to flight + 1 before a
//!   segment may leave and to flight − 1 after each transmission, which halves the rate.

use crate::config::TimerRestart;
use crate::core::{ControlSample, Core};
use crate::ledger::{Retransmission, Retransmissions};
use crate::record::Phase;
use crate::recovery::LossRecovery;
use crate::segment::{Ack, SackBlocks, Segment};
use skyhop_base::{Segments, Time};
use skyhop_cc::{CongestionControl, Lost};
use std::num::NonZeroU32;

/// A segment with one reported this far above it is lost.
const LOST_DISTANCE: u32 = 4;
/// A retransmission is lost again when one sent this much later has arrived.
const LATER_RETRANSMISSIONS: u32 = 5;
/// Segments that may leave at once when recovery ends below the threshold (Linux tcp_moderate_cwnd).
const EXIT_BURST: u32 = 3;

/// Marks beside the scoreboard, and the allowance of rate halving.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateHalving {
    /// Segments that were sent again and neither acknowledged nor reported since.
    sent_again: Retransmissions,
    /// Every segment below this one that is not reported and was not sent again is lost.
    below: u32,
    /// The retransmission that arrived last (of one ACK: the highest segment), one past its order.
    arrived: u32,
    /// One past the highest segment reported.
    end: u32,
    /// Segments marked lost.
    lost: u32,
    /// Segments marked lost may be sent again.
    repairs: bool,
    /// Segments that rate halving allows in flight.
    allowance: u32,
    /// The limit when the last ACK came.
    limit: f64,
    /// The limit before the segments that leave now were released late.
    before_release: Option<NonZeroU32>,
}

impl RateHalving {
    /// Outstanding, neither reported nor lost.
    fn flight(&self, core: &Core) -> u32 {
        core.outstanding().saturating_sub(core.scoreboard.sacked() + self.lost)
    }

    /// Whether this ACK covers or reports a retransmission that counts as in flight; its time stamp is then of no use.
    fn answers_retransmission(&self, core: &Core, next: u32) -> bool {
        let arrived = |seq: u32| seq < next || core.scoreboard.first_missing(seq) != seq;
        self.sent_again.iter().any(|(seq, again)| !again.lost && arrived(seq))
    }

    /// Brings the marks up to date; whether a segment was newly found lost.
    ///
    /// As in ns-2's scoreboard, all marks are looked at when the highest report rises or a retransmission arrived, else
    /// those up to the first hole above the ACK's blocks; without blocks none are. Lost segments may be sent again only
    /// when the last look came upon one.
    fn mark_losses(&mut self, core: &Core, blocks: &SackBlocks) -> bool {
        if core.scoreboard.is_empty() && self.sent_again.is_empty() && self.below <= core.una {
            (self.lost, self.end) = (0, 0);
            return false;
        }
        let top = blocks.as_slice().iter().map(|block| block.1).max().unwrap_or(0);
        let all = self.note_arrivals(core);
        if !all && top <= core.una {
            self.count_lost(core);
            return false;
        }
        let reach = if all { u32::MAX } else { core.scoreboard.first_missing(top) };
        let mut found = self.mark_retransmissions(core, reach);
        let before = self.below.max(core.una);
        self.below = self.below.max(self.end.saturating_sub(LOST_DISTANCE));
        found |= missing(core, before, self.below) > 0;
        self.count_lost(core);
        self.repairs = self.lowest_marked(core).is_some_and(|seq| seq <= reach);
        found
    }

    /// Notes what the ACK says of retransmissions and of the highest report; whether there is news of them.
    fn note_arrivals(&mut self, core: &Core) -> bool {
        let (una, scoreboard) = (core.una, &core.scoreboard);
        let end = scoreboard.end().unwrap_or(0).max(self.end);
        let before = self.arrived;
        let arrived = &mut self.arrived;
        self.sent_again.retain(|seq, again| {
            if seq < una && !again.lost {
                *arrived = (*arrived).max(again.order + 1);
            }
            seq >= una
        });
        let reported = |(seq, again): (u32, &Retransmission)| !again.lost && scoreboard.first_missing(seq) != seq;
        let news = end > self.end || self.arrived > before || self.sent_again.iter().any(reported);
        self.end = end;
        news
    }

    /// One pass upwards over the retransmissions up to `reach`: one that has arrived leaves the list and counts for
    /// those above it. (For those below it counts from the next look on, as in ns-2's scoreboard.)
    fn mark_retransmissions(&mut self, core: &Core, reach: u32) -> bool {
        let (mut arrived, end) = (self.arrived, self.end);
        let mut found = false;
        self.sent_again.retain(|seq, again| {
            if core.scoreboard.first_missing(seq) != seq {
                if !again.lost {
                    arrived = again.order + 1;
                }
                return false;
            }
            let lost = again.edge < end || again.order + 1 + LATER_RETRANSMISSIONS <= arrived;
            if lost && !again.lost && seq <= reach {
                (again.lost, found) = (true, true);
            }
            true
        });
        self.arrived = arrived;
        found
    }

    fn count_lost(&mut self, core: &Core) {
        let missing = missing(core, core.una, self.below);
        let in_flight = self.sent_again.iter().filter(|(seq, again)| !again.lost && *seq < self.below).count();
        let lost_again = self.sent_again.iter().filter(|(seq, again)| again.lost && *seq >= self.below).count();
        self.lost = missing.saturating_sub(in_flight as u32) + lost_again as u32;
    }

    fn enter(&mut self, core: &mut Core, now: Time) {
        self.allowance = core.control.cwnd() as u32;
        core.tell_lost(now, self.lost);
        core.enter_recovery(now, Lost::First);
        core.set_cwnd(core.control.recovery_floor());
        self.limit = self.limit.max(core.control.cwnd());
        core.episode.phase = Phase::Recovery;
    }

    fn leave(&mut self, core: &mut Core) {
        core.scoreboard.clear();
        self.sent_again.clear();
        (self.below, self.lost, self.end) = (0, 0, 0);
        core.leave_recovery();
        core.control.on_recovered();
        let ssthresh = core.control.state().ssthresh;
        if core.control.cwnd() < ssthresh {
            let burst = f64::from(self.flight(core) + EXIT_BURST);
            core.set_cwnd(ssthresh.min(burst));
        }
    }

    /// The lowest segment that is lost and was not sent again since, if it may be sent now.
    fn lowest_lost(&self, core: &Core) -> Option<u32> {
        if self.repairs { self.lowest_marked(core) } else { None }
    }

    fn lowest_marked(&self, core: &Core) -> Option<u32> {
        if self.lost == 0 {
            return None;
        }
        let lost_again = self.sent_again.iter().find(|(_, again)| again.lost).map(|(seq, _)| seq);
        let mut first = core.scoreboard.first_missing(core.una);
        for (seq, _) in self.sent_again.iter() {
            if seq > first {
                break;
            }
            if seq == first {
                first = core.scoreboard.first_missing(first + 1);
            }
        }
        let first = Some(first).filter(|&seq| seq < self.below.min(core.high));
        match (first, lost_again) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Whether rate halving or the window have room for a segment; to ask cuts the allowance.
    fn is_open(&mut self, core: &Core) -> bool {
        let flight = self.flight(core);
        if core.phase() == Phase::Recovery {
            self.allowance = self.allowance.min(flight + 1);
        }
        flight < self.limit(core)
    }

    /// Segments that may be in flight.
    fn limit(&self, core: &Core) -> u32 {
        let window = core.control.cwnd() as u32;
        if core.phase() == Phase::Recovery { window.max(self.allowance) } else { window }
    }

    /// The late segments have left. ns-2's timer of `overhead_` saves the limit as its cwnd_ before and loads that
    /// afterwards: the allowance is as it was, or the window has become what the allowance was.
    #[cold]
    fn after_release(&mut self, core: &mut Core, before: u32) {
        let window = core.control.cwnd() as u32;
        if self.allowance > window {
            self.allowance = before;
        } else if before > window {
            core.set_cwnd(before.into());
        }
    }

    #[inline]
    fn next_segment(&mut self, core: &mut Core, now: Time) -> Option<Segment> {
        if !self.is_open(core) {
            return None;
        }
        let segment = match self.lowest_lost(core) {
            Some(seq) => self.send_lost(core, now, seq),
            None if core.next < core.data.limit() => core.transmit_next(now),
            None => return None,
        };
        if core.phase() == Phase::Recovery {
            self.allowance = self.flight(core).saturating_sub(1);
        }
        Some(segment)
    }

    fn send_lost(&mut self, core: &mut Core, now: Time, seq: u32) -> Segment {
        self.lost -= 1;
        self.sent_again.record(seq, core.next);
        if seq == core.una {
            // Linux tcp_xmit_retransmit_queue: the head of the queue restarts the timer.
            core.restart_timer(now);
        }
        core.transmit(now, seq)
    }
}

/// Segments from `from` to before `to` that were not reported.
fn missing(core: &Core, from: u32, to: u32) -> u32 {
    if to <= from {
        return 0;
    }
    (to - from) - (core.scoreboard.sacked_from(from) - core.scoreboard.sacked_from(to))
}

impl LossRecovery for RateHalving {
    fn on_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        let flight_before = self.flight(core);
        self.limit = core.control.cwnd();
        if core.phase() == Phase::Recovery {
            self.limit = self.limit.max(self.allowance.into());
        }
        core.record_blocks(core.una, ack);
        let advance = if ack.next > core.una {
            // ns-2 looks at its scoreboard: segments that were sent again and then reported, marked lost or forgotten
            // do not disturb the measurement.
            let usable = !self.answers_retransmission(core, ack.next);
            let mut advance = core.advance_sampling(now, ack, ControlSample::Decided(usable));
            advance.flight_before = flight_before;
            Some(advance)
        } else {
            core.counters.duplicate_acks += 1;
            if core.options.ns2.timer_restart == TimerRestart::EveryAck {
                core.rearm_timer(now);
            }
            None
        };
        let found = self.mark_losses(core, &ack.blocks);
        let acked = advance.map_or(0, |advance| advance.acked);
        // Linux tcp_ack: the window grows first, in the state that the ACK finds.
        match (core.phase(), advance) {
            (Phase::Open | Phase::Loss, Some(advance)) => core.grow(now, advance),
            _ => core.tell(now, acked),
        }
        match core.phase() {
            Phase::Recovery | Phase::Loss if core.una >= core.episode.recover => self.leave(core),
            Phase::Open | Phase::Loss if found => self.enter(core, now),
            _ => {}
        }
        if let Some(advance) = advance {
            core.open_initial_window(advance);
        }
        core.release();
    }

    /// Every segment that was not reported is lost.
    fn on_timeout(&mut self, core: &mut Core, _now: Time) {
        core.episode.phase = Phase::Loss;
        self.sent_again.clear();
        self.below = core.high;
        self.lost = core.outstanding() - core.scoreboard.sacked();
        self.repairs = true;
    }

    fn poll(&mut self, core: &mut Core, now: Time) -> Option<Segment> {
        let segment = self.next_segment(core, now);
        if segment.is_none()
            && let Some(before) = self.before_release.take()
        {
            self.after_release(core, before.get());
        }
        segment
    }

    fn releases(&mut self, core: &mut Core) -> bool {
        self.is_open(core) && (core.next < core.data.limit() || self.lowest_lost(core).is_some())
    }

    fn on_release(&mut self, core: &Core) {
        if core.phase() == Phase::Recovery {
            self.before_release = NonZeroU32::new(self.limit(core));
        }
    }

    /// The window, during recovery the limit that held when the last ACK came (ns-2's cwnd_).
    fn window(&self, core: &Core) -> Segments {
        match core.phase() {
            Phase::Recovery => self.limit,
            Phase::Open | Phase::Loss => core.control.cwnd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::recovery::Machine;
    use crate::sender::Sender;
    use crate::sender::tests::{ack, drain, sender};
    use serde_json::json;

    /// Allowance and flight.
    fn state(sender: &Sender) -> (u32, u32) {
        let Machine::RateHalving(halving) = &sender.recovery else { panic!("TCP/Linux has this recovery") };
        (halving.allowance, halving.flight(&sender.core))
    }

    /// ns-2's TCP/Linux forgets, when `overhead_` held something back, what rate halving took off meanwhile.
    #[test]
    fn a_late_release_gives_the_allowance_back() {
        let mut sender =
            sender(Profile::Ns2, json!({ "recovery": "sack", "control": "reno", "ns2": { "agent": "linux" } }));
        let now = Time::from_secs_f64(0.1);
        drain(&mut sender, Time::ZERO);
        sender.on_ack(now, &ack(1));
        sender.core.control.set_cwnd(16.0);
        drain(&mut sender, now);
        let reported = |end: u32| {
            let mut blocks = SackBlocks::EMPTY;
            blocks.push(2, end);
            Ack { blocks, ..ack(1) }
        };
        for end in 3..=7 {
            sender.on_ack(now, &reported(end));
        }
        assert_eq!((sender.core.phase(), sender.core.control.cwnd()), (Phase::Recovery, 4.0));
        assert!(sender.has_released(now), "the first segment may leave again");
        assert_eq!(state(&sender), (11, 10));
        for end in 8..=9 {
            sender.on_ack(now, &reported(end));
        }
        sender.release();
        assert_eq!(drain(&mut sender, now).len(), 1);
        assert_eq!(state(&sender), (11, 9), "cut to 9 and 8, loaded as 11");
    }
}
