//! ns-2's TCP/Linux recovery: loss marked by forward acknowledgement, rate halving on the way down.
//!
//! - A segment is lost when one at least four above it was reported; a retransmission is lost again when data
//!   first sent after it was reported, or a retransmission sent at least five later has arrived.
//! - Recovery starts with the first segment marked lost and ends at the highest segment sent at its start.
//! - In flight is what is outstanding, not reported and not marked lost. During recovery a segment leaves while
//!   that is below max(floor of the control, allowance); the allowance starts at the old window, is cut to flight + 1
//!   before a segment may leave and to flight − 1 after each transmission, which halves the rate.

use super::{NO_LIMIT, Phase, Sender};
use crate::{Ack, SackBlocks, Segment, TimerRestart, Transmission};
use skyhop_base::Time;
use skyhop_cc::{CongestionControl, Lost};
use std::num::NonZeroU32;

/// A segment with one reported this far above it is lost.
const LOST_DISTANCE: u32 = 4;
/// A retransmission is lost again when one sent this much later has arrived.
const LATER_RETRANSMISSIONS: u32 = 5;
/// Segments that may leave at once when recovery ends below the threshold (Linux tcp_moderate_cwnd).
const EXIT_BURST: u32 = 3;

/// A segment that was sent again.
#[derive(Clone, Copy, Debug)]
struct Again {
    seq: u32,
    /// The next new segment at that time.
    next: u32,
    /// Counts retransmissions of the connection.
    order: u32,
    lost: bool,
}

/// Marks beside the scoreboard.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    /// Segments that were sent again and neither acknowledged nor reported since, ascending.
    again: Vec<Again>,
    /// Everything below that is not reported and was not sent again is lost.
    below: u32,
    /// Retransmissions so far.
    order: u32,
    /// The retransmission that arrived last (of one ACK: the highest segment), one past its order.
    arrived: u32,
    /// One past the highest segment reported.
    end: u32,
    /// Segments marked lost.
    lost: u32,
    /// What is marked lost may be sent again.
    repairs: bool,
    /// The ACK at hand answers a retransmission.
    answers_again: bool,
    /// Segments that rate halving allows in flight.
    allowance: u32,
    /// The limit when the last ACK came.
    limit: f64,
    /// The limit before what is leaving now was released late.
    before_release: Option<NonZeroU32>,
}

impl Marks {
    fn clear(&mut self) {
        self.again.clear();
        (self.below, self.lost, self.end) = (0, 0, 0);
    }
}

impl Sender {
    /// Outstanding, neither reported nor lost.
    fn forward_flight(&self) -> u32 {
        (self.high - self.una).saturating_sub(self.scoreboard.sacked() + self.marks.lost)
    }

    pub(super) fn forward_ack(&mut self, now: Time, ack: &Ack) {
        let flight_before = self.forward_flight();
        self.marks.limit = self.control.cwnd();
        if self.phase == Phase::Recovery {
            self.marks.limit = self.marks.limit.max(self.marks.allowance.into());
        }
        self.record_blocks(self.una, ack);
        self.marks.answers_again = self.answers_retransmission(ack.next);
        let advance = if ack.next > self.una {
            let mut advance = self.advance(now, ack);
            advance.flight_before = flight_before;
            Some(advance)
        } else {
            self.counters.duplicate_acks += 1;
            if self.options.timer_restart == TimerRestart::EveryAck {
                self.rearm_timer(now);
            }
            None
        };
        let found = self.mark_losses(&ack.blocks);
        let acked = advance.map_or(0, |advance| advance.acked);
        // Linux tcp_ack: the window grows first, in the state that the ACK finds.
        match (self.phase, advance) {
            (Phase::Open | Phase::Loss, Some(advance)) => self.grow(now, advance),
            _ => self.tell(now, acked),
        }
        match self.phase {
            Phase::Recovery | Phase::Loss if self.una >= self.recover => self.leave_forward(),
            Phase::Open | Phase::Loss if found => self.enter_forward(now),
            _ => {}
        }
        if let Some(advance) = advance {
            self.open_initial_window(advance);
        }
        self.plan.burst = NO_LIMIT;
    }

    /// Whether this ACK covers or reports a retransmission that counts as in flight; its time stamp is then of no use.
    fn answers_retransmission(&self, next: u32) -> bool {
        let arrived = |seq: u32| seq < next || self.scoreboard.first_missing(seq) != seq;
        self.marks.again.iter().any(|again| !again.lost && arrived(again.seq))
    }

    /// Brings the marks up to date; whether a segment was newly found lost.
    ///
    /// As in ns-2's scoreboard, all marks are looked at when the highest report rises or a retransmission arrived, else
    /// those up to the first hole above the ACK's blocks; without blocks none are. What is lost may be sent again only
    /// when the last look came upon something lost.
    fn mark_losses(&mut self, blocks: &SackBlocks) -> bool {
        if self.scoreboard.is_empty() && self.marks.again.is_empty() && self.marks.below <= self.una {
            (self.marks.lost, self.marks.end) = (0, 0);
            return false;
        }
        let top = blocks.as_slice().iter().map(|block| block.1).max().unwrap_or(0);
        let all = self.note_arrivals();
        if !all && top <= self.una {
            self.count_lost();
            return false;
        }
        let reach = if all { u32::MAX } else { self.scoreboard.first_missing(top) };
        let mut found = self.mark_retransmissions(reach);
        let before = self.marks.below.max(self.una);
        self.marks.below = self.marks.below.max(self.marks.end.saturating_sub(LOST_DISTANCE));
        found |= self.missing(before, self.marks.below) > 0;
        self.count_lost();
        self.marks.repairs = self.lowest_marked().is_some_and(|seq| seq <= reach);
        found
    }

    /// Takes note of what the ACK says of retransmissions and of the highest report; whether there is news of them.
    fn note_arrivals(&mut self) -> bool {
        let (una, scoreboard, marks) = (self.una, &self.scoreboard, &mut self.marks);
        let end = scoreboard.end().unwrap_or(0).max(marks.end);
        let arrived = marks.arrived;
        marks.again.retain(|again| {
            if again.seq < una && !again.lost {
                marks.arrived = marks.arrived.max(again.order + 1);
            }
            again.seq >= una
        });
        let reported = |again: &Again| !again.lost && scoreboard.first_missing(again.seq) != again.seq;
        let news = end > marks.end || marks.arrived > arrived || marks.again.iter().any(reported);
        marks.end = end;
        news
    }

    /// One pass upwards over the retransmissions up to `reach`: what has arrived leaves the list and counts for what
    /// stands above it. (For what stands below it counts from the next look on, as in ns-2's scoreboard.)
    fn mark_retransmissions(&mut self, reach: u32) -> bool {
        let (scoreboard, marks) = (&self.scoreboard, &mut self.marks);
        let (mut arrived, end) = (marks.arrived, marks.end);
        let mut found = false;
        marks.again.retain_mut(|again| {
            if scoreboard.first_missing(again.seq) != again.seq {
                if !again.lost {
                    arrived = again.order + 1;
                }
                return false;
            }
            let lost = again.next < end || again.order + 1 + LATER_RETRANSMISSIONS <= arrived;
            if lost && !again.lost && again.seq <= reach {
                (again.lost, found) = (true, true);
            }
            true
        });
        marks.arrived = arrived;
        found
    }

    /// Segments from `from` to before `to` that were not reported.
    fn missing(&self, from: u32, to: u32) -> u32 {
        if to <= from {
            return 0;
        }
        (to - from) - (self.scoreboard.sacked_from(from) - self.scoreboard.sacked_from(to))
    }

    fn count_lost(&mut self) {
        let missing = self.missing(self.una, self.marks.below);
        let marks = &mut self.marks;
        let in_flight_again = marks.again.iter().filter(|again| !again.lost && again.seq < marks.below).count();
        let lost_again = marks.again.iter().filter(|again| again.lost && again.seq >= marks.below).count();
        marks.lost = missing.saturating_sub(in_flight_again as u32) + lost_again as u32;
    }

    fn enter_forward(&mut self, now: Time) {
        self.marks.allowance = self.control.cwnd() as u32;
        self.tell_lost(now, self.marks.lost);
        self.enter_recovery(now, Lost::First);
        self.set_window(self.control.recovery_floor());
        self.marks.limit = self.marks.limit.max(self.control.cwnd());
        self.phase = Phase::Recovery;
    }

    fn leave_forward(&mut self) {
        self.scoreboard.clear();
        self.marks.clear();
        self.leave_recovery();
        self.control.on_recovered();
        let ssthresh = self.control.state().ssthresh;
        if self.control.cwnd() < ssthresh {
            let burst = f64::from(self.forward_flight() + EXIT_BURST);
            self.set_window(ssthresh.min(burst));
        }
    }

    /// A timeout: everything that was not reported is lost.
    pub(super) fn forward_timeout(&mut self) {
        self.marks.again.clear();
        self.marks.below = self.high;
        self.marks.lost = (self.high - self.una) - self.scoreboard.sacked();
        self.marks.repairs = true;
    }

    /// The lowest segment that is lost and was not sent again since, if it may be sent now.
    fn lowest_lost(&self) -> Option<u32> {
        if self.marks.repairs { self.lowest_marked() } else { None }
    }

    fn lowest_marked(&self) -> Option<u32> {
        if self.marks.lost == 0 {
            return None;
        }
        let again_lost = self.marks.again.iter().find(|again| again.lost).map(|again| again.seq);
        let mut first = self.scoreboard.first_missing(self.una);
        for again in &self.marks.again {
            if again.seq > first {
                break;
            }
            if again.seq == first {
                first = self.scoreboard.first_missing(first + 1);
            }
        }
        let first = Some(first).filter(|&seq| seq < self.marks.below.min(self.high));
        match (first, again_lost) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Whether rate halving or the window have room for a segment; to ask cuts the allowance.
    fn forward_is_open(&mut self) -> bool {
        let flight = self.forward_flight();
        if self.phase == Phase::Recovery {
            self.marks.allowance = self.marks.allowance.min(flight + 1);
        }
        flight < self.forward_limit()
    }

    /// What may be in flight.
    fn forward_limit(&self) -> u32 {
        let window = self.control.cwnd() as u32;
        if self.phase == Phase::Recovery { window.max(self.marks.allowance) } else { window }
    }

    pub(super) fn forward_releases(&mut self) -> bool {
        self.forward_is_open() && (self.next < self.data.limit() || self.lowest_lost().is_some())
    }

    /// What was held back is about to leave.
    pub(super) fn release_forward(&mut self) {
        if self.phase == Phase::Recovery {
            self.marks.before_release = NonZeroU32::new(self.forward_limit());
        }
    }

    /// It has left. ns-2's timer of `overhead_` saves the limit as its cwnd_ before and loads that afterwards: the allowance is
    /// as it was, or the window has become what the allowance was.
    #[cold]
    fn released_forward(&mut self, before: u32) {
        let window = self.control.cwnd() as u32;
        if self.marks.allowance > window {
            self.marks.allowance = before;
        } else if before > window {
            self.set_window(before.into());
        }
    }

    /// What rate halving or the window releases.
    pub(super) fn next_of_forward(&mut self, now: Time) -> Option<Segment> {
        let segment = self.forward_segment(now);
        if segment.is_none()
            && let Some(before) = self.marks.before_release.take()
        {
            self.released_forward(before.get());
        }
        segment
    }

    #[inline]
    fn forward_segment(&mut self, now: Time) -> Option<Segment> {
        if !self.forward_is_open() {
            return None;
        }
        let segment = match self.lowest_lost() {
            Some(seq) => self.send_lost(now, seq),
            None if self.next < self.data.limit() => self.transmit_next(now),
            None => return None,
        };
        if self.phase == Phase::Recovery {
            self.marks.allowance = self.forward_flight().saturating_sub(1);
        }
        Some(segment)
    }

    fn send_lost(&mut self, now: Time, seq: u32) -> Segment {
        let marks = &mut self.marks;
        let again = Again { seq, next: self.next, order: marks.order, lost: false };
        marks.order += 1;
        marks.lost -= 1;
        match marks.again.binary_search_by_key(&seq, |again| again.seq) {
            Ok(at) => marks.again[at] = again,
            Err(at) => marks.again.insert(at, again),
        }
        if seq == self.una {
            // Linux tcp_xmit_retransmit_queue: the head of the queue restarts the timer.
            self.restart_timer(now);
        }
        self.transmit(now, seq)
    }

    /// Whether an ACK that covers `once`, only segments sent once, has a time stamp that the control may use. ns-2 looks
    /// at its scoreboard: what was sent again and then reported, marked lost or forgotten does not disturb.
    pub(super) fn times_control(&self, once: Transmission) -> bool {
        if self.halves_rate() { !self.marks.answers_again } else { once == Transmission::First }
    }

    /// For records: the window, during recovery the limit that held when the last ACK came (ns-2's cwnd_).
    pub(super) fn forward_window(&self) -> f64 {
        match self.phase {
            Phase::Recovery => self.marks.limit,
            Phase::Open | Phase::Loss => self.control.cwnd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, drain, sender};
    use super::*;
    use crate::Profile;
    use serde_json::json;

    /// ns-2's TCP/Linux forgets, when `overhead_` held something back, what rate halving took off meanwhile.
    #[test]
    fn a_late_release_gives_the_allowance_back() {
        let mut sender = sender(Profile::Ns2, json!({ "recovery": "sack", "control": "reno", "agent": "linux" }));
        let now = Time::from_secs_f64(0.1);
        drain(&mut sender, Time::ZERO);
        sender.on_ack(now, &ack(1));
        sender.control.set_cwnd(16.0);
        drain(&mut sender, now);
        let reported = |end: u32| {
            let mut blocks = SackBlocks::EMPTY;
            blocks.push(2, end);
            Ack { blocks, ..ack(1) }
        };
        for end in 3..=7 {
            sender.on_ack(now, &reported(end));
        }
        assert_eq!((sender.phase, sender.control.cwnd()), (Phase::Recovery, 4.0));
        assert!(sender.has_released(now), "the first segment may leave again");
        let (allowance, flight) = (sender.marks.allowance, sender.forward_flight());
        assert_eq!((allowance, flight), (11, 10));
        for end in 8..=9 {
            sender.on_ack(now, &reported(end));
        }
        sender.release();
        assert_eq!(drain(&mut sender, now).len(), 1);
        assert_eq!((sender.marks.allowance, sender.forward_flight()), (11, 9), "cut to 9 and 8, loaded as 11");
    }
}
