//! LEDBAT (RFC 6817): a background transfer that keeps the queueing delay at a target and yields to others.
//!
//! The delay is that of the round trip less its smallest value: one-way delays need clocks that agree, and RFC 6817
//! §3.4.1 allows other measures. A queue of ACKs therefore counts too.

use std::collections::VecDeque;

use super::parameters::parameters;
use super::{About, AckSample, Control, Event};
use crate::flow::Flow;
use crate::switch::Switch;

const NAME: &str = "ledbat";

const ABOUT: About = About {
    title: "LEDBAT",
    source: "RFC 6817",
    year: 2012,
    kind: "delay",
    advice: "Background transfers over a fixed path with a deep queue. A handover to a longer path looks like a queue \
             until the base delay has aged, after minutes.",
};

parameters! {
    /// Parameters of LEDBAT.
    pub struct LedbatOptions, ABOUT, |options, _| Ledbat::new(options) => {
        /// The queueing delay that the flow aims at.
        target: f64 = 0.1, in 0.001..=0.1, unit "s"; "RFC 6817 §2.5: at most 100 ms"
        /// Segments of growth per round trip without a queue.
        gain: f64 = 1.0, in 0.01..=1.0, unit "segments"; "RFC 6817 §2.5: at most 1"
        /// Segments by which the window may exceed the flight.
        allowed_increase: f64 = 1.0, in 0.0..=100.0, unit "segments"; "RFC 6817 §2.5"
        /// Minutes over which the base delay is remembered.
        base_history: u32 = 10u32, in 1..=120, unit "min"; "RFC 6817 §2.5: 10"
        /// Latest delays of which the smallest counts.
        current_filter: u32 = 4u32, in 1..=64; "RFC 6817 §2.5: at least 4"
        /// Whether the flow begins with slow start.
        slow_start: Switch = Switch::On; "RFC 6817 §2.4.2 leaves it open"
    }
}

/// The base delay: the smallest of the last minutes, and the current one: the smallest of the last samples (RFC 6817
/// §2.4.2). Microseconds.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    /// The smallest delay of each minute, the present one last.
    minutes: VecDeque<u64>,
    minute: u64,
    recent: VecDeque<u64>,
    most_minutes: usize,
    most_recent: usize,
}

const MINUTE_US: u64 = 60_000_000;

impl Delays {
    pub fn new(minutes: u32, recent: u32) -> Delays {
        Delays {
            minutes: VecDeque::new(),
            minute: 0,
            recent: VecDeque::new(),
            most_minutes: minutes as usize,
            most_recent: recent as usize,
        }
    }

    pub fn sample(&mut self, now_us: u64, delay_us: u64) {
        let minute = now_us / MINUTE_US;
        if self.minutes.is_empty() || minute > self.minute {
            self.minute = minute;
            self.minutes.push_back(delay_us);
            if self.minutes.len() > self.most_minutes {
                self.minutes.pop_front();
            }
        } else if let Some(last) = self.minutes.back_mut() {
            *last = (*last).min(delay_us);
        }
        self.recent.push_back(delay_us);
        if self.recent.len() > self.most_recent {
            self.recent.pop_front();
        }
    }

    pub fn base(&self) -> u64 {
        self.minutes.iter().copied().min().unwrap_or(0)
    }

    /// The queueing delay.
    pub fn queueing(&self) -> u64 {
        self.recent.iter().copied().min().unwrap_or(0).saturating_sub(self.base())
    }
}

/// Growth of the window for `acked` segments at a queueing delay, in segments (RFC 6817 §2.4.2).
fn growth(gain: f64, target: f64, queueing: f64, acked: f64, cwnd: f64) -> f64 {
    gain * (target - queueing) / target * acked / cwnd
}

const MIN_CWND: f64 = 2.0;

#[derive(Clone, Debug)]
pub struct Ledbat {
    options: LedbatOptions,
    delays: Delays,
    /// The window with its fraction.
    cwnd: f64,
}

impl Ledbat {
    pub fn new(options: LedbatOptions) -> Ledbat {
        Ledbat { options, delays: Delays::new(options.base_history, options.current_filter), cwnd: 0.0 }
    }
}

impl Control for Ledbat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn init(&mut self, flow: &mut Flow) {
        self.cwnd = flow.cwnd.into();
        if !self.options.slow_start.is_on() {
            flow.ssthresh = flow.cwnd;
        }
    }

    fn acked(&mut self, flow: &mut Flow, sample: AckSample) {
        if let Some(rtt_us) = sample.rtt_us {
            self.delays.sample(flow.now_us, rtt_us);
        }
    }

    fn grow(&mut self, flow: &mut Flow, acked: u32) {
        // Reductions and restarts set the window elsewhere.
        if (self.cwnd as u32) != flow.cwnd {
            self.cwnd = flow.cwnd.into();
        }
        let target = self.options.target;
        let queueing = self.delays.queueing() as f64 / 1e6;
        if flow.in_slow_start() && queueing < target / 2.0 {
            flow.grow_as_reno(acked);
            self.cwnd = flow.cwnd.into();
            return;
        }
        flow.ssthresh = flow.ssthresh.min(flow.cwnd);
        let acked = f64::from(acked);
        let mut cwnd = self.cwnd + growth(self.options.gain, target, queueing, acked, self.cwnd);
        // The flight before the ACK: an application that sends little does not earn a window.
        let flight = f64::from(flow.in_flight()) + acked;
        cwnd = cwnd.min((flight + self.options.allowed_increase).max(self.cwnd.min(cwnd)));
        self.cwnd = cwnd.max(MIN_CWND);
        flow.cwnd = (self.cwnd as u32).min(flow.cwnd_clamp);
    }

    /// Halved by a loss, once per round trip (RFC 6817 §2.4.2).
    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        (flow.cwnd / 2).max(2)
    }

    fn event(&mut self, flow: &mut Flow, event: Event) {
        if event == Event::ReductionComplete {
            self.cwnd = flow.cwnd.into();
        }
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        vec![("base_delay", self.delays.base() as f64), ("queueing_delay", self.delays.queueing() as f64)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example() {
        // algorithms_vectors.json, "ledbat": 25 and 150 ms of queue, 20 segments, one acknowledged.
        assert!((growth(1.0, 0.1, 0.025, 1.0, 20.0) - 0.0375).abs() < 1e-12);
        assert!((growth(1.0, 0.1, 0.15, 1.0, 20.0) + 0.025).abs() < 1e-12);
    }

    #[test]
    fn the_base_delay_ages_after_the_minutes_of_its_history() {
        let mut delays = Delays::new(2, 1);
        delays.sample(0, 50_000);
        delays.sample(MINUTE_US, 90_000);
        assert_eq!((delays.base(), delays.queueing()), (50_000, 40_000));
        delays.sample(2 * MINUTE_US, 90_000);
        assert_eq!((delays.base(), delays.queueing()), (90_000, 0));
    }
}
