//! RACK (RFC 8985): a segment is lost when one sent later was delivered and a reordering window has passed.

use super::super::Sender;
use crate::control::LostPacket;
use crate::flow::CaState;
use crate::ledger::{Id, Record};
use crate::segment::Seq;

/// Recoveries for which a wider reordering window stays.
pub(super) const PERSISTENCE: u32 = 16;

/// The segment sent last of those delivered, and the reordering window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    sent_us: u64,
    end: Seq,
    rtt_us: u64,
    /// There is something to examine.
    pub advanced: bool,
    /// Quarters of the smallest RTT in the window; for how many recoveries they stay.
    steps: u32,
    pub persist: u32,
    pub dsack_seen: bool,
    last_delivered: u64,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            sent_us: 0,
            end: 0,
            rtt_us: 0,
            advanced: false,
            steps: 1,
            persist: 0,
            dsack_seen: false,
            last_delivered: 0,
        }
    }
}

impl Rack {
    /// A segment was delivered by the transmission that the record tells of.
    pub fn delivered(&mut self, record: &Record, rtt_us: u64) {
        self.advanced = true;
        self.rtt_us = rtt_us;
        if (record.sent_us, record.end()) > (self.sent_us, self.end) {
            self.sent_us = record.sent_us;
            self.end = record.end();
        }
    }
}

impl Sender {
    /// A segment was delivered.
    pub(in super::super) fn advance_rack(&mut self, record: &Record) {
        // Pacing stamps a repetition with the instant at which it will leave; the original may be acknowledged before.
        let rtt_us = self.flow.now_us.saturating_sub(record.sent_us);
        // Sooner than the smallest RTT after its repetition: the original arrived.
        if rtt_us < self.flow.min_rtt_us && self.flow.min_rtt_us != u64::MAX && record.is_retransmitted() {
            return;
        }
        self.rack.delivered(record, rtt_us);
    }

    /// The reordering window in microseconds.
    pub(in super::super) fn reordering_window_us(&self) -> u64 {
        let at_threshold = self.config.rack_duplicate_threshold && self.flow.sacked_out >= self.reordering;
        if !self.reordering_seen && (self.flow.state >= CaState::Recovery || at_threshold) {
            return 0;
        }
        let min = if self.flow.min_rtt_us == u64::MAX { 0 } else { self.flow.min_rtt_us };
        ((min >> 2) * u64::from(self.rack.steps)).min(self.flow.srtt8_us >> 3)
    }

    #[cfg(test)]
    pub(in super::super) fn set_reordering_steps(&mut self, steps: u32) {
        self.rack.steps = steps;
    }

    /// How long a segment still has before it counts as lost, in microseconds; none left at or below zero.
    pub(super) fn time_left_us(&self, record: &Record, window_us: u64) -> i64 {
        (self.rack.rtt_us + window_us) as i64 - (self.flow.now_us - record.sent_us.min(self.flow.now_us)) as i64
    }

    /// Marks lost segments; returns the longest wait of the others in microseconds.
    fn detect_losses(&mut self) -> Option<u64> {
        let window_us = self.reordering_window_us();
        let mut wait: Option<u64> = None;
        let mut next = self.ledger.earliest();
        while let Some(id) = next {
            next = self.ledger.later(id);
            let record = *self.ledger.get(id);
            if record.is_lost() && !record.is_repeated() {
                continue;
            }
            if (self.rack.sent_us, self.rack.end) <= (record.sent_us, record.end()) {
                break;
            }
            let left = self.time_left_us(&record, window_us);
            if left <= 0 {
                self.mark_lost(id);
                self.ledger.unlink(id);
            } else {
                wait = wait.max(Some(left as u64));
            }
        }
        wait
    }

    /// Examines the flight after an ACK. Returns whether the timer now waits for reordered segments.
    pub(super) fn mark_lost_by_time(&mut self) -> bool {
        if !self.rack.advanced {
            return false;
        }
        self.rack.advanced = false;
        let wait = self.detect_losses();
        if let Some(wait_us) = wait {
            self.set_reordering_timer(wait_us);
        }
        wait.is_some()
    }

    /// The wait for reordered segments is over.
    pub(in super::super) fn reordering_timeout(&mut self) {
        let (prior_in_flight, prior_lost) = (self.flow.in_flight(), self.flow.lost);
        self.detect_losses();
        if self.flow.in_flight() != prior_in_flight {
            if self.flow.state != CaState::Recovery {
                self.enter_recovery(false);
                if !self.owns_window {
                    self.reduce(1, (self.flow.lost - prior_lost) as u32, false);
                }
            }
            self.retransmit_lost();
        }
        if !matches!(self.timer, Some((super::super::TimerKind::Retransmission, _))) {
            self.rearm_rto();
        }
    }

    /// A round with DSACKs widens the window by a quarter of the smallest RTT.
    ///
    /// `prior_delivered`: the count of deliveries when the newest segment acknowledged was sent; zero: no such segment.
    #[inline(always)]
    pub(in super::super) fn widen_reordering_window(&mut self, prior_delivered: u64) {
        if prior_delivered == 0 || !self.config.rack_adapts {
            return;
        }
        let rack = &mut self.rack;
        // Not twice in a round trip.
        if prior_delivered < rack.last_delivered {
            rack.dsack_seen = false;
        }
        if rack.dsack_seen {
            rack.steps = (rack.steps + 1).min(0xff);
            rack.dsack_seen = false;
            rack.last_delivered = self.flow.delivered;
            rack.persist = PERSISTENCE;
        } else if rack.persist == 0 {
            rack.steps = 1;
        }
    }

    /// Marks a segment lost, or its repetition.
    pub(super) fn mark_lost(&mut self, id: Id) {
        if self.ledger.get(id).is_sacked() {
            return;
        }
        // Where repetitions begin: here, if this lies before the place known, or if all that was lost before is
        // repeated.
        let first = match self.retransmit_hint {
            Some(hint) => id < hint,
            None => self.flow.retrans_out >= self.flow.lost_out,
        };
        if first {
            self.retransmit_hint = Some(id);
        }
        let record = self.ledger.get_mut(id);
        let (lost, repeated) = (record.is_lost(), record.is_repeated());
        let packet = LostPacket {
            start: record.start,
            end: record.end(),
            in_flight: record.in_flight,
            lost: record.lost,
            delivered: record.delivered,
            app_limited: record.is_app_limited(),
        };
        if !lost {
            record.set_lost(true);
            self.flow.lost_out += 1;
            self.flow.lost += 1;
        } else if repeated {
            record.set_repeated(false);
            self.flow.retrans_out -= 1;
            self.flow.lost += 1;
        } else {
            return;
        }
        self.control.lost(&mut self.flow, &packet);
    }
}
