//! How the first slow start ends: HyStart++ (RFC 9406), a slow start that gives way to a slower one when the RTT grows
//! and ends if it keeps growing, or SEARCH.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::search::Search;
use crate::flow::Flow;
use crate::segment::Seq;

/// How the first slow start may end before a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SlowStart {
    /// As the control does it: Reno by loss, CUBIC by HyStart as `hystart` says.
    #[default]
    #[serde(rename = "standard")]
    Standard,
    /// By HyStart++ (RFC 9406).
    #[serde(rename = "hystart++")]
    HystartPlusPlus,
    /// By SEARCH (draft-chung-ccwg-search): when deliveries no longer double per round trip.
    #[serde(rename = "search")]
    Search,
}

/// RFC 9406 §4.3: bounds of the growth of the RTT in microseconds, its divisor, samples of a round, divisor of the
/// growth in conservative slow start and its rounds, and segments that one ACK counts without pacing.
const THRESH_US: (u64, u64) = (4_000, 16_000);
const RTT_DIVISOR: u64 = 8;
const SAMPLES: u32 = 8;
const CSS_DIVISOR: u32 = 4;
const CSS_ROUNDS: u32 = 5;
const LIMIT: u32 = 8;

/// How much the RTT may grow in a round, in microseconds.
fn threshold(last_us: u64) -> u64 {
    (last_us / RTT_DIVISOR).clamp(THRESH_US.0, THRESH_US.1)
}

/// The first slow start of a control, however it ends.
#[derive(Clone, Debug)]
pub(super) struct FirstSlowStart {
    plus: HystartPlusPlus,
    search: Option<Box<Search>>,
}

impl FirstSlowStart {
    pub fn new(kind: SlowStart) -> FirstSlowStart {
        let search = (kind == SlowStart::Search).then(Box::default);
        FirstSlowStart { plus: HystartPlusPlus::new(kind), search }
    }

    pub fn begin(&mut self, flow: &Flow) {
        self.plus.begin(flow);
    }

    /// The first slow start is over: a loss or a mark ended it.
    pub fn stop(&mut self) {
        self.plus.stop();
        self.search = None;
    }

    /// The window fell after an idle time.
    pub fn restart(&mut self) {
        if let Some(search) = &mut self.search {
            search.reset();
        }
    }

    #[inline]
    pub fn sample(&mut self, flow: &mut Flow, rtt_us: u64) {
        if self.plus.on {
            self.plus.sample(flow, rtt_us);
        }
        if let Some(search) = self.search.as_mut().filter(|_| flow.in_slow_start()) {
            search.sample(flow, rtt_us);
        }
    }

    /// The segments that slow start counts for `acked`.
    pub fn counts(&mut self, flow: &Flow, acked: u32) -> u32 {
        self.plus.counts(flow, acked)
    }

    pub fn is_conservative(&self) -> bool {
        self.plus.is_conservative()
    }
}

#[derive(Clone, Copy, Debug)]
struct HystartPlusPlus {
    on: bool,
    round_end: Seq,
    last_us: u64,
    current_us: u64,
    samples: u32,
    /// The RTT with which conservative slow start began, and its rounds; `None` in slow start.
    conservative: Option<(u64, u32)>,
    /// Segments that conservative slow start has not counted yet.
    rest: u32,
}

impl HystartPlusPlus {
    pub fn new(kind: SlowStart) -> HystartPlusPlus {
        HystartPlusPlus {
            on: kind == SlowStart::HystartPlusPlus,
            round_end: 0,
            last_us: u64::MAX,
            current_us: u64::MAX,
            samples: 0,
            conservative: None,
            rest: 0,
        }
    }

    pub fn begin(&mut self, flow: &Flow) {
        self.round_end = flow.nxt;
    }

    /// The first slow start is over: a loss or a mark ended it.
    pub fn stop(&mut self) {
        self.on = false;
    }

    pub fn sample(&mut self, flow: &mut Flow, rtt_us: u64) {
        if !flow.in_slow_start() {
            self.on = false;
            return;
        }
        if flow.una >= self.round_end {
            self.round_end = flow.nxt;
            self.last_us = self.current_us;
            self.current_us = u64::MAX;
            self.samples = 0;
            if let Some((_, rounds)) = self.conservative.as_mut() {
                *rounds += 1;
                if *rounds >= CSS_ROUNDS {
                    flow.ssthresh = flow.cwnd;
                    self.on = false;
                    return;
                }
            }
        }
        self.current_us = self.current_us.min(rtt_us);
        self.samples += 1;
        if self.samples < SAMPLES {
            return;
        }
        match self.conservative {
            None if self.last_us != u64::MAX && self.current_us >= self.last_us + threshold(self.last_us) => {
                self.conservative = Some((self.current_us, 0));
            }
            // The RTT fell again: the growth was a false alarm.
            Some((baseline, _)) if self.current_us < baseline => self.conservative = None,
            _ => {}
        }
    }

    /// The segments that slow start counts for `acked`.
    pub fn counts(&mut self, flow: &Flow, acked: u32) -> u32 {
        if !self.on || !flow.in_slow_start() {
            return acked;
        }
        let acked = if flow.paced { acked } else { acked.min(LIMIT) };
        if self.conservative.is_none() {
            return acked;
        }
        self.rest += acked;
        let whole = self.rest / CSS_DIVISOR;
        self.rest %= CSS_DIVISOR;
        whole
    }

    pub fn is_conservative(&self) -> bool {
        self.on && self.conservative.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_examples() {
        // algorithms_vectors.json, "hystart_delay_threshold" and "hystartpp_css_growth" (two segments of 1460 bytes).
        assert_eq!([20_000, 60_000, 540_000].map(threshold), [4_000, 7_500, 16_000]);
        let mut flow = Flow::new(1460);
        flow.paced = true;
        let mut plus = HystartPlusPlus::new(SlowStart::HystartPlusPlus);
        assert_eq!(plus.counts(&flow, 2), 2);
        plus.conservative = Some((0, 0));
        let quarter: u32 = (0..4).map(|_| plus.counts(&flow, 2)).sum();
        assert_eq!(quarter * 1460, 4 * 730);
    }
}
