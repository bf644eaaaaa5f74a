//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): LEDBAT over round-trip times, with a gain that yields to other flows,
//! a decrease in proportion, and slowdowns in which the base delay is measured.

use super::ledbat::Delays;
use super::parameters::parameters;
use super::{About, AckSample, Control, Event};
use crate::flow::{Flow, SSTHRESH_UNSET};
use crate::segment::Seq;
use crate::switch::Switch;

const NAME: &str = "ledbat++";

const ABOUT: About = About {
    title: "LEDBAT++",
    source: "draft-irtf-iccrg-ledbat-plus-plus",
    year: 2024,
    kind: "delay",
    advice: "Background transfers such as updates: yields to everything else. Its slowdowns measure the base delay \
             again, so that it follows a handover within some ten slowdowns' time.",
};

parameters! {
    /// Parameters of LEDBAT++.
    pub struct LedbatPlusPlusOptions, ABOUT, |options, _| LedbatPlusPlus::new(options) => {
        /// The queueing delay that the flow aims at.
        target: f64 = 0.06, in 0.001..=0.1, unit "s"; "draft §4.2: 60 ms"
        /// Factor of the decrease in proportion to the excess of delay.
        constant: f64 = 1.0, in 0.1..=10.0; "draft §4.2: 1"
        /// The largest divisor of the gain.
        most_divisor: u32 = 16u32, in 1..=64; "draft §4.2: 16"
        /// Share of the target at which the first slow start ends.
        slow_start_exit: f64 = 0.75, in 0.1..=1.0; "draft §4.3: 3/4"
        /// Whether the flow slows down now and then to measure the base delay.
        slowdowns: Switch = Switch::On; "draft §4.4"
        /// Time between slowdowns over the duration of the last.
        interval: f64 = 9.0, in 1.0..=100.0; "draft §4.4: 9"
        /// Minutes over which the base delay is remembered.
        base_history: u32 = 10u32, in 1..=120, unit "min"; "RFC 6817 §2.5: 10"
        /// Latest delays of which the smallest counts.
        current_filter: u32 = 4u32, in 1..=64; "RFC 6817 §2.5: at least 4"
    }
}

const MIN_CWND: f64 = 2.0;

/// The share of Reno's growth for a base delay, both in seconds (draft §4.2).
fn gain(target: f64, base: f64, most_divisor: u32) -> f64 {
    let divisor = if base > 0.0 { (2.0 * target / base).ceil() } else { f64::from(most_divisor) };
    1.0 / divisor.clamp(1.0, most_divisor.into())
}

/// Growth of a window per round trip, in segments, below and above the target (draft §4.2).
fn growth(cwnd: f64, gain: f64, constant: f64, queueing: f64, target: f64) -> f64 {
    if queueing < target {
        return gain;
    }
    (gain - constant * cwnd * (queueing / target - 1.0)).max(-cwnd / 2.0)
}

/// The parts of a slowdown (draft §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slowdown {
    /// None runs; the time at which the next begins, once it is known.
    Next(Option<u64>),
    /// The window is at its least until a number is acknowledged, twice.
    Frozen { rounds: u32, until: Seq, began: u64 },
    /// Slow start back to the window before.
    Growing { began: u64 },
}

#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    options: LedbatPlusPlusOptions,
    delays: Delays,
    cwnd: f64,
    slowdown: Slowdown,
    /// The first slow start is over.
    steady: bool,
    /// Rounds for the decrease: at most once per round trip.
    round_end: Seq,
}

impl LedbatPlusPlus {
    pub fn new(options: LedbatPlusPlusOptions) -> LedbatPlusPlus {
        LedbatPlusPlus {
            options,
            delays: Delays::new(options.base_history, options.current_filter),
            cwnd: 0.0,
            slowdown: Slowdown::Next(None),
            steady: false,
            round_end: 0,
        }
    }

    fn gain(&self) -> f64 {
        gain(self.options.target, self.delays.base() as f64 / 1e6, self.options.most_divisor)
    }

    fn set(&mut self, flow: &mut Flow, cwnd: f64) {
        self.cwnd = cwnd.max(MIN_CWND);
        flow.cwnd = (self.cwnd as u32).min(flow.cwnd_clamp);
    }

    /// The first slow start ends: a slowdown follows two round trips later.
    fn settle(&mut self, flow: &mut Flow) {
        if !self.steady {
            self.steady = true;
            flow.ssthresh = flow.ssthresh.min(flow.cwnd.max(2));
            self.slowdown = Slowdown::Next(Some(flow.now_us + 2 * (flow.srtt8_us >> 3)));
        }
    }

    fn begin_slowdown(&mut self, flow: &mut Flow) {
        flow.ssthresh = flow.cwnd.max(2);
        self.set(flow, MIN_CWND);
        self.slowdown = Slowdown::Frozen { rounds: 0, until: flow.nxt, began: flow.now_us };
    }

    /// Returns whether the window stays frozen.
    fn slow_down(&mut self, flow: &mut Flow) -> bool {
        match self.slowdown {
            Slowdown::Next(Some(at)) if self.options.slowdowns.is_on() && flow.now_us >= at => {
                self.begin_slowdown(flow);
                true
            }
            Slowdown::Frozen { rounds, until, began } if flow.una >= until => {
                // Two round trips at the least window, after the one in which the flight falls.
                self.slowdown = if rounds < 2 {
                    Slowdown::Frozen { rounds: rounds + 1, until: flow.nxt, began }
                } else {
                    Slowdown::Growing { began }
                };
                true
            }
            Slowdown::Frozen { .. } => true,
            Slowdown::Growing { began } if !flow.in_slow_start() => {
                let took = (flow.now_us - began) as f64;
                self.slowdown = Slowdown::Next(Some(flow.now_us + (took * self.options.interval) as u64));
                false
            }
            _ => false,
        }
    }
}

impl Control for LedbatPlusPlus {
    fn name(&self) -> &'static str {
        NAME
    }

    fn init(&mut self, flow: &mut Flow) {
        // Two segments (draft §4.3).
        self.cwnd = MIN_CWND;
        flow.cwnd = 2;
        flow.ssthresh = SSTHRESH_UNSET;
    }

    fn acked(&mut self, flow: &mut Flow, sample: AckSample) {
        if let Some(rtt_us) = sample.rtt_us {
            self.delays.sample(flow.now_us, rtt_us);
        }
    }

    fn grow(&mut self, flow: &mut Flow, acked: u32) {
        if (self.cwnd as u32) != flow.cwnd {
            self.cwnd = flow.cwnd.into();
        }
        if self.slow_down(flow) {
            return;
        }
        let queueing = self.delays.queueing() as f64 / 1e6;
        let (target, gain, acked) = (self.options.target, self.gain(), f64::from(acked));
        if flow.in_slow_start() {
            let exit = !self.steady && queueing > self.options.slow_start_exit * target;
            if !exit && queueing < target {
                if flow.is_cwnd_limited() {
                    let cwnd = (self.cwnd + acked * gain).min(flow.ssthresh.into());
                    self.set(flow, cwnd);
                }
                return;
            }
            flow.ssthresh = flow.cwnd.max(2);
        }
        self.settle(flow);
        let change = growth(self.cwnd, gain, self.options.constant, queueing, target);
        if change < 0.0 {
            // Once per round trip: the delay of the next shows what this one did.
            if flow.una >= self.round_end {
                self.round_end = flow.nxt;
                let cwnd = self.cwnd + change;
                self.set(flow, cwnd);
                flow.ssthresh = flow.cwnd.max(2);
            }
        } else if flow.is_cwnd_limited() {
            let cwnd = self.cwnd + change * acked / self.cwnd;
            self.set(flow, cwnd);
        }
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        self.settle(flow);
        (flow.cwnd / 2).max(2)
    }

    fn event(&mut self, flow: &mut Flow, event: Event) {
        if event == Event::ReductionComplete {
            self.cwnd = flow.cwnd.into();
        }
    }

    fn phase(&self) -> Option<&'static str> {
        Some(match self.slowdown {
            Slowdown::Frozen { .. } => "slowdown",
            Slowdown::Growing { .. } => "regrowth",
            Slowdown::Next(_) if self.steady => "steady",
            Slowdown::Next(_) => "start",
        })
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("base_delay", self.delays.base() as f64),
            ("queueing_delay", self.delays.queueing() as f64),
            ("gain", self.gain()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_examples() {
        // algorithms_vectors.json, "ledbatpp_gain" and "ledbatpp_decrease".
        for (base, right) in [(0.6, 1.0), (0.06, 0.5), (0.02, 1.0 / 6.0), (0.001, 0.0625)] {
            assert!((gain(0.06, base, 16) - right).abs() < 1e-12, "{base}");
        }
        for (queueing, right) in [(0.03, 1.0), (0.09, -9.0), (0.3, -10.0)] {
            assert!((growth(20.0, 1.0, 1.0, queueing, 0.06) - right).abs() < 1e-9, "{queueing}");
        }
    }
}
