//! Copa (Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018).
//!
//! The rate aims at 1/(δ d_q) with d_q the queueing delay: the smallest RTT of half a smoothed RTT less the smallest of
//! ten seconds. Section numbers are the paper's.
//!
//! Known limit, of the paper's rule: a path that slows down to less than half needs more than five round trips to drain
//! its queue. The flow then takes the queue for that of a competitor, and in a deep queue without loss it stays that
//! way.

use super::parameters::parameters;
use super::{About, Control, Event};
use crate::flow::{CaState, Flow};
use crate::rate::RateSample;
use crate::segment::Seq;
use crate::switch::Switch;

const NAME: &str = "copa";

const ABOUT: About = About {
    title: "Copa",
    source: "Arun and Balakrishnan, NSDI 2018",
    year: 2018,
    kind: "delay",
    advice: "Short queues over fixed paths, also with random loss. A longer path after a handover looks like a queue \
             for 10 s.",
};

parameters! {
    /// Parameters of Copa.
    pub struct CopaOptions, ABOUT, |options, _| Copa::new(options) => {
        /// Weight of delay against rate: one flow keeps 1/delta segments in the queue.
        delta: f64 = 0.5, in 0.001..=10.0, unit "1/segments"; "§2.2: 0.5"
        /// Time over which the smallest RTT is taken.
        min_rtt_window: f64 = 10.0, in 0.1..=1000.0, unit "s"; "§2.2: 10 s"
        /// Whether a queue that never empties makes the flow compete: delta then follows losses as AIMD.
        competitive: Switch = Switch::On; "§2.2"
        /// Share of the largest queueing delay below which the queue counts as nearly empty.
        empty_share: f64 = 0.1, in 0.0..=1.0; "§2.2: 10 %"
    }
}

const MIN_CWND: f64 = 2.0;
/// A queue that is not nearly empty for so many RTTs is kept by others (§2.2).
const RTTS_TO_EMPTY: u64 = 5;
/// RTTs over which the largest RTT is taken (§2.2).
const RTTS_OF_MAX: u64 = 4;
/// A direction holds for so many RTTs before the velocity doubles (§2.1).
const ROUNDS_TO_DOUBLE: u32 = 3;

/// The smallest or largest value of a time window, exactly.
#[derive(Clone, Debug, Default)]
struct Extreme {
    values: std::collections::VecDeque<(u64, u64)>,
}

impl Extreme {
    /// `better`: whether the first value makes the second needless.
    fn update(&mut self, now: u64, window: u64, value: u64, better: fn(u64, u64) -> bool) {
        while self.values.back().is_some_and(|&(_, last)| better(value, last)) {
            self.values.pop_back();
        }
        self.values.push_back((now, value));
        while self.values.front().is_some_and(|&(at, _)| at + window < now) {
            self.values.pop_front();
        }
    }

    fn get(&self) -> Option<u64> {
        self.values.front().map(|&(_, value)| value)
    }
}

/// The rate in segments per second that is aimed at (§2.1, equation 1), and the present one.
fn rates(delta: f64, cwnd: f64, standing: f64, smallest: f64) -> (f64, f64) {
    let queueing = standing - smallest;
    let target = if queueing > 0.0 { 1.0 / (delta * queueing) } else { f64::INFINITY };
    (target, cwnd / standing)
}

/// The change of the window by one acknowledged segment (§2.1).
fn step(velocity: f64, delta: f64, cwnd: f64) -> f64 {
    velocity / (delta * cwnd)
}

#[derive(Clone, Debug)]
pub struct Copa {
    options: CopaOptions,
    cwnd: f64,
    smallest: Extreme,
    standing: Extreme,
    largest: Extreme,
    slow_start: bool,
    velocity: f64,
    up: bool,
    /// Once per RTT: where the RTT ends, the window when it began, the direction and for how many it holds.
    round_end: Seq,
    round_cwnd: f64,
    round_up: bool,
    rounds: u32,
    /// When the queue was nearly empty last.
    empty_us: u64,
    competes: bool,
    /// 1/delta in the competitive mode; whether the round saw a loss.
    inverse: f64,
    lost: bool,
}

impl Copa {
    pub fn new(options: CopaOptions) -> Copa {
        Copa {
            options,
            cwnd: 0.0,
            smallest: Extreme::default(),
            standing: Extreme::default(),
            largest: Extreme::default(),
            slow_start: true,
            velocity: 1.0,
            up: true,
            round_end: 0,
            round_cwnd: 0.0,
            round_up: true,
            rounds: 0,
            empty_us: 0,
            competes: false,
            inverse: 1.0 / options.delta,
            lost: false,
        }
    }

    fn delta(&self) -> f64 {
        if self.competes { 1.0 / self.inverse } else { self.options.delta }
    }

    fn measure(&mut self, flow: &Flow, rtt: u64) {
        let now = flow.now_us;
        let srtt = flow.srtt8_us >> 3;
        self.smallest.update(now, (self.options.min_rtt_window * 1e6) as u64, rtt, |new, old| new <= old);
        self.standing.update(now, srtt / 2, rtt, |new, old| new <= old);
        self.largest.update(now, RTTS_OF_MAX * srtt, rtt, |new, old| new >= old);
        let (Some(smallest), Some(standing), Some(largest)) =
            (self.smallest.get(), self.standing.get(), self.largest.get())
        else {
            return;
        };
        let queueing = (standing - smallest.min(standing)) as f64;
        if queueing <= self.options.empty_share * (largest - smallest.min(largest)) as f64 {
            self.empty_us = now;
        }
        let competes = self.options.competitive.is_on() && now > self.empty_us + RTTS_TO_EMPTY * srtt;
        if competes != self.competes {
            self.competes = competes;
            self.inverse = 1.0 / self.options.delta;
        }
    }

    /// Once per RTT: the velocity, and delta in the competitive mode.
    fn end_round(&mut self, flow: &Flow) {
        let up = self.cwnd > self.round_cwnd;
        if up == self.round_up {
            self.rounds += 1;
            if self.rounds >= ROUNDS_TO_DOUBLE {
                self.velocity *= 2.0;
            }
        } else {
            self.rounds = 0;
            self.velocity = 1.0;
        }
        self.round_up = up;
        self.round_cwnd = self.cwnd;
        self.round_end = flow.nxt;
        if self.competes {
            self.inverse = if self.lost { (self.inverse / 2.0).max(2.0) } else { self.inverse + 1.0 };
        }
        self.lost = false;
    }

    fn move_window(&mut self, acked: f64, smallest: u64, standing: u64, round_ended: bool) {
        let (target, present) = rates(self.delta(), self.cwnd, standing as f64 / 1e6, smallest as f64 / 1e6);
        let up = present <= target;
        if self.slow_start {
            if up {
                self.cwnd += acked;
                return;
            }
            self.slow_start = false;
        }
        if up != self.up && round_ended {
            self.velocity = 1.0;
        }
        self.up = up;
        // One ACK moves the window by no more than what it acknowledges, so that a large velocity cannot double it in
        // less than a round trip.
        let change = (step(self.velocity, self.delta(), self.cwnd) * acked).min(acked);
        self.cwnd = (self.cwnd + if up { change } else { -change }).max(MIN_CWND);
    }
}

impl Control for Copa {
    fn name(&self) -> &'static str {
        NAME
    }

    fn init(&mut self, flow: &mut Flow) {
        self.cwnd = flow.cwnd.into();
        self.round_cwnd = self.cwnd;
        self.round_end = flow.nxt;
        self.empty_us = flow.now_us;
        flow.pacing_rate = u64::MAX;
    }

    fn owns_window(&self) -> bool {
        true
    }

    /// Its rate follows from window and RTT.
    fn reads_limits(&self) -> bool {
        false
    }

    fn control(&mut self, flow: &mut Flow, sample: &RateSample) {
        if let Some(rtt) = sample.rtt_us {
            self.measure(flow, rtt);
        }
        self.lost |= sample.losses > 0;
        let round_ended = flow.una >= self.round_end;
        if round_ended {
            self.end_round(flow);
        }
        let (Some(smallest), Some(standing)) = (self.smallest.get(), self.standing.get()) else { return };
        let limited = flow.cwnd_limited || flow.in_flight() + sample.acked >= flow.cwnd;
        if sample.acked > 0 && flow.state != CaState::Loss && limited {
            self.move_window(sample.acked.into(), smallest, standing, round_ended);
        } else if flow.state == CaState::Loss {
            // The sender has set the window to what the timeout leaves; it grows back by what arrives.
            self.cwnd = (f64::from(flow.cwnd) + f64::from(sample.acked)).max(MIN_CWND);
        }
        flow.cwnd = (self.cwnd as u32).min(flow.cwnd_clamp);
        flow.ssthresh = if self.slow_start { crate::flow::SSTHRESH_UNSET } else { flow.cwnd.min(flow.ssthresh).max(2) };
        // Twice the window per standing RTT (§2.1).
        flow.pacing_rate = (2.0 * self.cwnd * f64::from(flow.mss) * 1e6 / standing as f64) as u64;
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        self.lost = true;
        flow.ssthresh
    }

    fn undo(&mut self, _flow: &mut Flow) -> u32 {
        self.cwnd as u32
    }

    fn event(&mut self, _flow: &mut Flow, event: Event) {
        if event == Event::Loss {
            // A timeout (§2.2 leaves it to TCP): from the least window, at the least velocity.
            self.cwnd = MIN_CWND;
            self.velocity = 1.0;
        }
    }

    fn paces(&self) -> bool {
        true
    }

    fn phase(&self) -> Option<&'static str> {
        Some(match (self.slow_start, self.competes) {
            (true, _) => "slow-start",
            (_, true) => "competitive",
            _ => "default",
        })
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        vec![("velocity", self.velocity), ("delta", self.delta())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example() {
        // algorithms_vectors.json, "copa": 20 ms of queue over 100 ms, 20 segments.
        let (target, present) = rates(0.5, 20.0, 0.12, 0.1);
        assert!((target - 100.0).abs() < 1e-9 && (present - 166.666_666_666_666_7).abs() < 1e-9);
        assert!((20.0 - step(1.0, 0.5, 20.0) - 19.9).abs() < 1e-12);
    }

    #[test]
    fn an_extreme_is_that_of_its_window() {
        let mut smallest = Extreme::default();
        for (now, value, right) in [(0, 5, 5), (1, 7, 5), (2, 6, 5), (11, 9, 6), (13, 8, 8)] {
            smallest.update(now, 10, value, |new, old| new <= old);
            assert_eq!(smallest.get(), Some(right), "{now}");
        }
    }
}
