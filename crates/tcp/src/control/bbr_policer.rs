//! BBR's estimate of the long-term rate behind a policer: two intervals of much loss and equal throughput.

use super::bbr::{BW_UNIT, UNIT, bytes_per_second};
use crate::flow::Flow;

const MIN_ROUNDS: u32 = 4;
/// Lost over delivered, times 256, from which an interval counts.
const LOSS_THRESHOLD: u64 = 50;
/// Two intervals agree within an eighth, or within 4000 bit/s.
const RATIO: u64 = UNIT / 8;
const DIFFERENCE: u64 = 4000 / 8;
const MOST_ROUNDS: u32 = 48;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    in_use: bool,
    sampling: bool,
    rate: u64,
    rounds: u32,
    since_ms: u64,
    delivered: u64,
    lost: u64,
}

/// The effect of a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Step {
    pub restart: bool,
    pub found: bool,
}

impl Policer {
    /// The rate to be used instead of the maximum.
    pub fn rate(&self) -> Option<u64> {
        self.in_use.then_some(self.rate)
    }

    pub fn reset(&mut self, flow: &Flow) {
        *self = Policer::default();
        self.begin(flow);
    }

    fn begin(&mut self, flow: &Flow) {
        self.since_ms = flow.delivered_us / 1000;
        self.delivered = flow.delivered;
        self.lost = flow.lost;
        self.rounds = 0;
    }

    pub fn sample(&mut self, flow: &Flow, losses: u32, app_limited: bool, round_start: bool, probing: bool) -> Step {
        if self.in_use {
            if probing && round_start {
                self.rounds += 1;
                if self.rounds >= MOST_ROUNDS {
                    self.reset(flow);
                    return Step { restart: true, found: false };
                }
            }
            return Step::default();
        }
        if !self.sampling {
            // The bucket of the policer is empty only after a loss.
            if losses == 0 {
                return Step::default();
            }
            self.begin(flow);
            self.sampling = true;
        }
        if app_limited {
            self.reset(flow);
            return Step::default();
        }
        if round_start {
            self.rounds += 1;
        }
        if self.rounds < MIN_ROUNDS {
            return Step::default();
        }
        if self.rounds > 4 * MIN_ROUNDS {
            self.reset(flow);
            return Step::default();
        }
        let (lost, delivered) = (flow.lost - self.lost, flow.delivered - self.delivered);
        let elapsed_ms = (flow.delivered_us / 1000).saturating_sub(self.since_ms);
        if losses == 0 || delivered == 0 || (lost << 8) < LOSS_THRESHOLD * delivered || elapsed_ms == 0 {
            return Step::default();
        }
        self.interval_done(flow, delivered * BW_UNIT / (elapsed_ms * 1000))
    }

    fn interval_done(&mut self, flow: &Flow, rate: u64) -> Step {
        if self.rate != 0 {
            let difference = rate.abs_diff(self.rate);
            if difference * UNIT <= RATIO * self.rate || bytes_per_second(flow, difference, UNIT) <= DIFFERENCE {
                self.rate = (rate + self.rate) >> 1;
                self.in_use = true;
                self.rounds = 0;
                return Step { restart: false, found: true };
            }
        }
        self.rate = rate;
        self.begin(flow);
        Step::default()
    }
}
