//! Loss recovery with selective acknowledgements: RFC 6675, and ns-2's Sack1 as an option.

use super::{LastCut, NO_LIMIT, Phase, Sender};
use crate::config::{SackRules, Switch};
use crate::{Ack, Segment};
use skyhop_base::Time;
use skyhop_cc::{CongestionControl, Lost};

impl Sender {
    pub(super) fn sack_ack(&mut self, now: Time, ack: &Ack) {
        match self.options.sack_rules {
            SackRules::Rfc6675 => self.rfc6675_ack(now, ack),
            SackRules::Ns2Sack1 => self.sack1_ack(now, ack),
            SackRules::Ns2Linux => self.forward_ack(now, ack),
            SackRules::Nak => self.nak_ack(now, ack),
        }
    }

    /// RFC 6675 §5.
    fn rfc6675_ack(&mut self, now: Time, ack: &Ack) {
        let reported = self.record_blocks(self.una, ack);
        if ack.next > self.una {
            let advance = self.advance(now, ack);
            match self.phase {
                Phase::Recovery => {
                    if self.una >= self.recover {
                        self.leave_recovery();
                        self.control.on_recovered();
                    }
                    self.tell(now, advance.acked);
                }
                Phase::Loss | Phase::Open => {
                    self.leave_loss();
                    self.grow(now, advance);
                }
            }
            self.open_initial_window(advance);
        } else if ack.next == self.una && reported > 0 {
            self.counters.duplicate_acks += 1;
            self.duplicates += 1;
            self.tell(now, 0);
        }
        // An episode starts only when what was outstanding at the last one was acknowledged.
        let may_start = self.phase == Phase::Open && self.una >= self.recover;
        let threshold = self.options.duplicate_threshold;
        let lost = self.duplicates >= threshold || self.scoreboard.lost_below(threshold) > self.una;
        if may_start && lost && self.repairs.has(self.una) {
            // Reported and on its way again. What was reported does not count in flight, so new data may leave.
        } else if may_start && lost {
            let below = self.scoreboard.lost_below(threshold).max(self.una + 1);
            let held = self.scoreboard.sacked() - self.scoreboard.sacked_from(below);
            self.tell_lost(now, (below - self.una) - held);
            self.enter_recovery(now, Lost::First);
            self.phase = Phase::Recovery;
            self.scoreboard.forget_retransmissions();
            self.scoreboard.mark_retransmitted(self.una);
            self.rescued = self.una;
            self.plan.forced = Some(self.una);
        } else if self.duplicates > 0 && self.phase == Phase::Open && self.options.limited_transmit == Switch::On {
            self.plan.limited = true;
        }
        self.plan.burst = NO_LIMIT;
    }

    /// The next segment that recovery or the window releases.
    #[inline]
    pub(super) fn poll_sack(&mut self, now: Time) -> Option<Segment> {
        if self.options.sack_rules == SackRules::Ns2Linux {
            return self.next_of_forward(now);
        }
        if self.options.sack_rules == SackRules::Nak {
            return self.next_of_naks(now);
        }
        if self.phase != Phase::Recovery && self.scoreboard.is_empty() {
            return self.window_allows(self.next).then(|| self.transmit_next(now));
        }
        self.poll_with_holes(now)
    }

    fn poll_with_holes(&mut self, now: Time) -> Option<Segment> {
        if self.phase == Phase::Recovery {
            return match self.options.sack_rules {
                SackRules::Rfc6675 => self.next_of_rfc6675(now),
                SackRules::Ns2Sack1 => self.next_of_sack1(now),
                SackRules::Ns2Linux => self.next_of_forward(now),
                SackRules::Nak => self.next_of_naks(now),
            };
        }
        self.poll_skipping_held(now)
    }

    pub(super) fn poll_skipping_held(&mut self, now: Time) -> Option<Segment> {
        self.next_is_open().then(|| self.transmit_next(now))
    }

    /// Whether `next` may be sent outside of recovery. What the receiver holds is skipped and does not count in flight.
    pub(super) fn next_is_open(&mut self) -> bool {
        self.next = self.scoreboard.first_missing(self.next);
        let held = self.scoreboard.sacked() - self.scoreboard.sacked_from(self.next);
        let flight = self.next - self.una - held;
        f64::from(flight) + 1.0 <= self.control.cwnd() && self.has_room()
    }

    /// RFC 6675 §4: cwnd − pipe >= 1.
    pub(super) fn pipe_is_open(&self) -> bool {
        let pipe = self.scoreboard.pipe(self.una, self.high, self.options.duplicate_threshold);
        f64::from(pipe) + 1.0 <= self.control.cwnd()
    }

    /// RFC 6675 §4 NextSeg, as long as cwnd − pipe >= 1.
    fn next_of_rfc6675(&mut self, now: Time) -> Option<Segment> {
        if !self.pipe_is_open() {
            return None;
        }
        let threshold = self.options.duplicate_threshold;
        while let Some(seq) = self.scoreboard.next_hole(self.una).filter(|&seq| self.repairs.has(seq)) {
            self.scoreboard.mark_retransmitted(seq);
        }
        let hole = self.scoreboard.next_hole(self.una);
        let lost_below = self.scoreboard.lost_below(threshold);
        // (1) the lowest hole that is lost, (2) new data, (3) any hole
        if let Some(seq) = hole.filter(|&seq| seq < lost_below) {
            return Some(self.retransmit_hole(now, seq));
        }
        self.next = self.next.max(self.high);
        if self.has_room() {
            return Some(self.transmit_next(now));
        }
        if let Some(seq) = hole {
            return Some(self.retransmit_hole(now, seq));
        }
        // (4) once per episode the last segment outstanding, so that a lost tail does not wait for the timer
        let last = self.high - 1;
        if self.rescued <= self.una && self.scoreboard.first_missing(last) == last && last >= self.una {
            self.rescued = self.high;
            return Some(self.transmit(now, last));
        }
        None
    }

    fn retransmit_hole(&mut self, now: Time, seq: u32) -> Segment {
        self.scoreboard.mark_retransmitted(seq);
        self.transmit(now, seq)
    }

    /// ns-2's Sack1: one counter for the pipe, recovery only through three duplicate ACKs that report something.
    fn sack1_ack(&mut self, now: Time, ack: &Ack) {
        if self.phase == Phase::Recovery {
            self.sack1_recovery(now, ack);
            return;
        }
        if ack.next > self.una {
            let advance = self.advance(now, ack);
            self.leave_loss();
            self.grow(now, advance);
            self.scoreboard.clear();
            self.open_initial_window(advance);
            self.ignores_duplicates = false;
        } else if ack.next == self.una && !self.ignores_duplicates {
            self.counters.duplicate_acks += 1;
            if self.record_blocks(self.una, ack) > 0 {
                self.sack1_duplicate(now);
                self.tell(now, 0);
            }
        }
        if self.duplicates == 0 {
            self.plan.burst = NO_LIMIT;
        }
    }

    fn sack1_duplicate(&mut self, now: Time) {
        self.duplicates += 1;
        let threshold = self.options.duplicate_threshold;
        if self.duplicates == threshold {
            if self.fast_retransmit_allowed() {
                self.tell_lost(now, 1);
                self.enter_recovery(now, Lost::First);
                self.phase = Phase::Recovery;
                self.pipe = (self.high - self.una) as i32 - threshold as i32;
                self.scoreboard.mark_retransmitted(self.una);
                self.plan.forced = Some(self.una);
            }
        } else if self.duplicates < threshold && self.options.limited_transmit == Switch::On {
            self.plan.limited = true;
        }
    }

    fn sack1_recovery(&mut self, now: Time, ack: &Ack) {
        self.pipe -= 1;
        let mut acked = 0;
        if ack.next >= self.recover {
            acked = self.advance(now, ack).acked;
            self.leave_recovery();
            self.control.on_recovered();
            self.recover = 0;
            self.ignores_duplicates = false;
            self.scoreboard.clear();
        } else if ack.next > self.una {
            self.pipe -= 1;
            acked = self.advance_quietly(ack).acked;
            self.record_blocks(self.una, ack);
            self.rtt.clear_backoff();
            self.rearm_timer(now);
        } else if ack.next == self.una {
            self.counters.duplicate_acks += 1;
            self.record_blocks(self.una, ack);
        }
        self.tell(now, acked);
        self.plan.burst = NO_LIMIT;
    }

    fn sack1_is_open(&self) -> bool {
        self.pipe < self.control.cwnd() as i32 && self.next < self.data.limit()
    }

    pub(super) fn sack1_releases(&self) -> bool {
        self.sack1_is_open() && (self.has_room() || self.scoreboard.next_hole(self.una).is_some())
    }

    /// Holes first, lowest first, each once, then new data, as long as the counter is below the window.
    fn next_of_sack1(&mut self, now: Time) -> Option<Segment> {
        debug_assert!(self.last_cut == LastCut::FastRetransmit);
        if !self.sack1_is_open() {
            return None;
        }
        if let Some(seq) = self.scoreboard.next_hole(self.una) {
            self.pipe += 1;
            return Some(self.retransmit_hole(now, seq));
        }
        if self.has_room() {
            self.pipe += 1;
            return Some(self.transmit_next(now));
        }
        None
    }
}
