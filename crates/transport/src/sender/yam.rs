//! Recovery of TCP Yam (Tsai, Wang and Wang 2014 §3.2): only missing segments are sent until everything outstanding has
//! arrived; losses that are found meanwhile are told to the control like the first.
//!
//! Missing is what lies three reported segments below another, without reports the first outstanding segment. When the control leaves one
//! segment, slow start begins again at the first outstanding one.

use super::{NO_LIMIT, Phase, Sender};
use crate::{Ack, Segment};
use skyhop_base::Time;
use skyhop_cc::{CongestionControl, Lost};

/// The control restarts slow start: its window is below two segments.
const RESTARTED: f64 = 2.0;

impl Sender {
    pub(super) fn yam_ack(&mut self, now: Time, ack: &Ack) {
        let reported = self.record_blocks(ack.next.max(self.una), ack);
        if ack.next > self.una {
            let advance = self.advance(now, ack);
            if self.phase == Phase::Recovery {
                if self.una >= self.recover {
                    self.leave_recovery();
                    self.control.on_recovered();
                }
                self.tell(now, advance.acked);
            } else {
                self.leave_loss();
                self.grow(now, advance);
            }
            self.open_initial_window(advance);
        } else if ack.next == self.una && self.una < self.high && (reported > 0 || ack.blocks.is_empty()) {
            self.counters.duplicate_acks += 1;
            self.duplicates += 1;
            self.tell(now, 0);
        }
        let threshold = self.options.duplicate_threshold;
        let lost_below = self.scoreboard.lost_below(threshold);
        match self.phase {
            Phase::Open if self.una >= self.recover && (self.duplicates >= threshold || lost_below > self.una) => {
                self.yam_loss(now, Lost::First);
            }
            Phase::Recovery if self.scoreboard.first_missing(self.missing_below) < lost_below => {
                self.yam_loss(now, Lost::Again);
            }
            _ => {}
        }
        self.plan.burst = NO_LIMIT;
    }

    fn yam_loss(&mut self, now: Time, lost: Lost) {
        let below = self.scoreboard.lost_below(self.options.duplicate_threshold).max(self.una + 1);
        let held = self.scoreboard.sacked() - self.scoreboard.sacked_from(below);
        self.tell_lost(now, (below - self.una) - held);
        self.enter_recovery(now, lost);
        if lost == Lost::First {
            self.scoreboard.forget_retransmissions();
        }
        self.missing_below = below;
        self.yam_continue();
    }

    /// A timeout: everything that was not reported is missing.
    pub(super) fn yam_timeout(&mut self) {
        self.missing_below = self.high;
        self.yam_continue();
    }

    fn yam_continue(&mut self) {
        if self.control.cwnd() < RESTARTED {
            self.phase = Phase::Loss;
            self.next = self.una;
            self.duplicates = 0;
        } else {
            self.phase = Phase::Recovery;
        }
    }

    pub(super) fn yam_missing(&self) -> Option<u32> {
        self.scoreboard.next_missing(self.una, self.missing_below.min(self.high))
    }

    /// What is missing, each segment once, and no new data; outside of recovery what the window allows.
    pub(super) fn poll_yam(&mut self, now: Time) -> Option<Segment> {
        if self.phase != Phase::Recovery {
            return self.poll_skipping_held(now);
        }
        self.next = self.next.max(self.high);
        let seq = self.yam_missing()?;
        self.scoreboard.mark_retransmitted(seq);
        Some(self.transmit(now, seq))
    }
}
