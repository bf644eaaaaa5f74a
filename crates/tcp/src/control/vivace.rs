//! PCC Vivace (Dong et al., "PCC Vivace: Online-Learning Congestion Control", NSDI 2018): the flow tries rates in short
//! intervals and follows the slope of a utility of rate, growth of the RTT and loss.
//!
//! A flow measures in intervals of one smoothed RTT and at least ten segments. The utility of an interval at x Mbit/s
//! is x^0.9 − 900 x max(0, dRTT/dt) − 11.35 x loss; it is known when a segment sent after the interval is acknowledged.
//!
//! - Starting: the rate doubles with each utility that is above the one before, and goes back to the best one.
//! - Probing: two pairs of intervals 5 % above and below the rate, each pair in random order. If both pairs agree, the
//!   rate moves.
//! - Moving: the step is the slope of the utility, times a factor that grows while the direction stays, and bounded in
//!   parts of the rate by 0.05 and 0.1 more for each step in a row that met its bound. When the slope turns, it probes
//!   again.
//!
//! Boundaries of a step follow the authors' code as ported to WebRTC, where the paper names only their form. Known
//! limits: a loss counts for the interval whose segments the ACK that reveals it acknowledges; intervals in which the
//! application had nothing to send are not judged; a timeout changes no rate. The window is twice what the rate fills
//! in a smoothed RTT.

use std::collections::VecDeque;

use super::parameters::parameters;
use super::random::Random;
use super::{About, Burst, Control};
use crate::flow::Flow;
use crate::rate::RateSample;

const NAME: &str = "vivace";

const ABOUT: About = About {
    title: "PCC Vivace",
    source: "Dong et al., NSDI 2018",
    year: 2018,
    kind: "rate",
    advice: "Bears random loss of some percent; it needs tens of round trips to follow a path that changes.",
};

parameters! {
    /// Parameters of PCC Vivace.
    pub struct VivaceOptions, ABOUT, |options, seed| Vivace::new(options, seed) => {
        /// Exponent of the rate in the utility.
        exponent: f64 = 0.9, in 0.1..=0.99; "§4: 0.9"
        /// Weight of the growth of the RTT.
        latency_weight: f64 = 900.0, in 0.0..=10000.0; "§4: 900"
        /// Weight of the share of losses.
        loss_weight: f64 = 11.35, in 0.0..=100.0; "§4: 11.35, for 5 % of random loss"
        /// Share by which probes leave the rate.
        probe: f64 = 0.05, in 0.01..=0.2; "§5.1: 0.05"
        /// Slopes of the RTT below this count as none.
        least_slope: f64 = 0.01, in 0.0..=0.1; "§5.2: 0.01"
        /// Step per slope of the utility at first.
        conversion: f64 = 1.0, in 0.01..=10.0; "§5.1, in Mbit/s"
    }
}

/// Bounds of a step in parts of the rate: at first, and more for each step in a row that met its bound (§5.1).
const BOUNDARY: f64 = 0.05;
const BOUNDARY_STEP: f64 = 0.1;
/// The least step in parts of the rate (the authors' code).
const LEAST_STEP: f64 = 0.01;
/// Segments that an interval has at least, so that its share of losses means something (the authors' code: 10).
const LEAST_SEGMENTS: u32 = 10;
/// The window over what the rate fills in a smoothed RTT, so that the rate alone limits; and the smallest window.
const WINDOW_FACTOR: f64 = 2.0;
const LEAST_WINDOW: u32 = 4;
/// Mbit/s that no flow exceeds.
const LARGEST_RATE: f64 = 1e6;
/// The RTT before the first sample.
const FIRST_RTT_US: u64 = 100_000;
/// Pairs of probes that have to agree (§5.1).
const PAIRS: usize = 2;

/// The utility at a rate in Mbit/s (§3, equation 2).
fn utility(options: &VivaceOptions, rate: f64, rtt_slope: f64, loss: f64) -> f64 {
    libm::pow(rate, options.exponent)
        - options.latency_weight * rate * rtt_slope.max(0.0)
        - options.loss_weight * rate * loss
}

/// One interval in which the flow sends at one rate. Its segments come back an RTT later.
#[derive(Clone, Copy, Debug)]
struct Interval {
    /// Mbit/s.
    rate: f64,
    /// What it asks: 0 the rate itself, 1 above and -1 below it.
    side: i8,
    from_us: u64,
    /// `u64::MAX` while it lasts.
    to_us: u64,
    acked: u32,
    lost: u64,
    /// Whether the application had too little to send.
    is_limited: bool,
    /// Sums for the regression of RTTs over time: number, times, RTTs, products, squares; in s since its start.
    sums: [f64; 5],
}

impl Interval {
    fn new(rate: f64, side: i8, now_us: u64) -> Interval {
        Interval { rate, side, from_us: now_us, to_us: u64::MAX, acked: 0, lost: 0, is_limited: false, sums: [0.0; 5] }
    }

    fn take(&mut self, sent_us: u64, sample: &RateSample, lost: u64) {
        self.acked += sample.acked;
        self.lost += lost;
        self.is_limited |= sample.app_limited;
        if let Some(rtt) = sample.rtt_us {
            let (at, rtt) = ((sent_us - self.from_us) as f64 * 1e-6, rtt as f64 * 1e-6);
            for (sum, value) in self.sums.iter_mut().zip([1.0, at, rtt, at * rtt, at * at]) {
                *sum += value;
            }
        }
    }

    /// The growth of the RTT per time, by least squares.
    fn rtt_slope(&self) -> f64 {
        let [n, t, r, tr, tt] = self.sums;
        let spread = n * tt - t * t;
        if n < 2.0 || spread <= 1e-12 { 0.0 } else { (n * tr - t * r) / spread }
    }

    fn utility(&self, options: &VivaceOptions) -> f64 {
        let slope = self.rtt_slope();
        let slope = if slope.abs() < options.least_slope { 0.0 } else { slope };
        let all = f64::from(self.acked) + self.lost as f64;
        utility(options, self.rate, slope, if all > 0.0 { self.lost as f64 / all } else { 0.0 })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The rate doubles per interval until the utility falls.
    Starting,
    /// Pairs of probes around the rate.
    Probing,
    /// The rate moves along the slope.
    Moving,
}

/// The step in Mbit/s from a rate, for a slope of the utility; `bounded`: how many steps in a row met their bound
/// (§5.1). And whether this one did.
fn bounded_step(conversion: f64, amplifier: f64, slope: f64, rate: f64, bounded: f64) -> (f64, bool) {
    let wanted = conversion * amplifier * slope.abs();
    let bound = (BOUNDARY + BOUNDARY_STEP * bounded) * rate;
    (wanted.min(bound), wanted > bound)
}

/// Steps in a row in one direction, and those of them in a row that met their bound.
#[derive(Clone, Copy, Debug)]
struct Stride {
    direction: f64,
    repeats: f64,
    bounded: f64,
}

impl Stride {
    const NONE: Stride = Stride { direction: 0.0, repeats: 0.0, bounded: 0.0 };

    /// The step in Mbit/s from a rate for a slope of the utility. Steps in one direction grow (§5.1).
    fn step(&mut self, options: &VivaceOptions, rate: f64, slope: f64) -> f64 {
        let direction = if slope < 0.0 { -1.0 } else { 1.0 };
        if direction != self.direction {
            *self = Stride { direction, ..Stride::NONE };
        }
        self.repeats += 1.0;
        let (step, is_bounded) = bounded_step(options.conversion, self.repeats, slope, rate, self.bounded);
        self.bounded = if is_bounded { self.bounded + 1.0 } else { 0.0 };
        direction * step.max(LEAST_STEP * rate)
    }
}

#[derive(Clone, Debug)]
pub struct Vivace {
    options: VivaceOptions,
    random: Random,
    phase: Phase,
    /// Mbit/s.
    rate: f64,
    /// The intervals whose segments are still under way, and last the present one.
    intervals: VecDeque<Interval>,
    /// Probes that are to be sent, and those that came back: rate and utility.
    planned: Vec<i8>,
    answers: Vec<(i8, f64, f64)>,
    /// Rate and utility of the interval before.
    former: Option<(f64, f64)>,
    stride: Stride,
    lost: u64,
}

impl Vivace {
    pub fn new(options: VivaceOptions, seed: u64) -> Vivace {
        Vivace {
            options,
            random: Random::new(seed),
            phase: Phase::Starting,
            rate: 0.0,
            intervals: VecDeque::new(),
            planned: Vec::new(),
            answers: Vec::new(),
            former: None,
            stride: Stride::NONE,
            lost: 0,
        }
    }

    /// Two segments per RTT.
    fn least_rate(flow: &Flow) -> f64 {
        2.0 * f64::from(flow.mss) * 8.0 / (flow.srtt8_us >> 3).max(1) as f64
    }

    /// Ends the present interval, and begins one with the next rate.
    fn next_interval(&mut self, flow: &Flow) {
        if let Some(present) = self.intervals.back_mut() {
            present.to_us = flow.now_us;
        }
        if self.phase == Phase::Probing
            && self.planned.is_empty()
            && self.answers.is_empty()
            && !self.probing_under_way()
        {
            for _ in 0..PAIRS {
                let first = if self.random.share() < 0.5 { 1 } else { -1 };
                self.planned.extend([first, -first]);
            }
        }
        let side = if self.phase == Phase::Probing { self.planned.pop().unwrap_or(0) } else { 0 };
        let rate = self.rate * (1.0 + f64::from(side) * self.options.probe);
        self.intervals.push_back(Interval::new(rate, side, flow.now_us));
    }

    /// An interval lasts a smoothed RTT, and at least as long as its fewest segments need at its rate.
    fn length_us(&self, flow: &Flow, interval: &Interval) -> u64 {
        let segments_us = f64::from(LEAST_SEGMENTS * flow.mss) * 8.0 / interval.rate;
        (flow.srtt8_us >> 3).max(segments_us as u64)
    }

    /// The rate of the present interval, as pacing rate and window.
    fn apply(&self, flow: &mut Flow) {
        let rate = self.intervals.back().map_or(self.rate, |interval| interval.rate);
        flow.pacing_rate = (rate * 1e6 / 8.0) as u64;
        let rtt_us = if flow.srtt8_us == 0 { FIRST_RTT_US } else { flow.srtt8_us >> 3 };
        let window = WINDOW_FACTOR * rate * rtt_us as f64 / 8.0 / f64::from(flow.mss);
        flow.cwnd = (window as u32).max(LEAST_WINDOW).min(flow.cwnd_clamp);
    }

    fn probing_under_way(&self) -> bool {
        self.intervals.iter().any(|interval| interval.side != 0)
    }

    /// All segments of an interval came back.
    fn judge(&mut self, interval: Interval) {
        if interval.is_limited || interval.acked == 0 {
            return;
        }
        let utility = interval.utility(&self.options);
        match self.phase {
            Phase::Starting => match self.former {
                // Intervals of one rate come back one after the other; the first of them decides.
                Some((rate, _)) if interval.rate <= rate => {}
                Some((rate, former)) if utility < former => {
                    self.rate = rate;
                    self.probe_anew();
                }
                _ => {
                    self.former = Some((interval.rate, utility));
                    self.rate = 2.0 * interval.rate;
                }
            },
            Phase::Probing if interval.side != 0 => {
                self.answers.push((interval.side, interval.rate, utility));
                if self.answers.len() == 2 * PAIRS {
                    self.decide();
                }
            }
            Phase::Moving => {
                let Some((rate, former)) = self.former else { return };
                if (interval.rate - rate).abs() < 1e-9 {
                    return;
                }
                let slope = (utility - former) / (interval.rate - rate);
                self.former = Some((interval.rate, utility));
                if slope * self.stride.direction < 0.0 {
                    self.rate = rate;
                    self.probe_anew();
                } else {
                    self.rate += self.stride.step(&self.options, self.rate, slope);
                }
            }
            Phase::Probing => {}
        }
    }

    fn probe_anew(&mut self) {
        self.phase = Phase::Probing;
        self.planned.clear();
        self.answers.clear();
        self.stride = Stride::NONE;
        // Intervals under way answer questions that no one asks any more.
        self.intervals.iter_mut().for_each(|interval| interval.side = 0);
    }

    /// Both pairs of probes came back: the rate moves if they agree.
    fn decide(&mut self) {
        let slopes: Vec<f64> =
            self.answers.chunks(2).map(|pair| (pair[0].2 - pair[1].2) / (pair[0].1 - pair[1].1)).collect();
        let between = self.answers.iter().map(|answer| answer.2).sum::<f64>() / self.answers.len() as f64;
        self.answers.clear();
        if slopes.iter().all(|slope| *slope > 0.0) || slopes.iter().all(|slope| *slope < 0.0) {
            self.phase = Phase::Moving;
            // The utility between both probes stands for that of the rate itself.
            self.former = Some((self.rate, between));
            let slope = slopes.iter().sum::<f64>() / slopes.len() as f64;
            self.rate += self.stride.step(&self.options, self.rate, slope);
        }
    }
}

impl Control for Vivace {
    fn name(&self) -> &'static str {
        NAME
    }

    fn init(&mut self, flow: &mut Flow) {
        let rtt_us = if flow.srtt8_us == 0 { FIRST_RTT_US } else { flow.srtt8_us >> 3 };
        self.rate = f64::from(flow.cwnd) * f64::from(flow.mss) * 8.0 / rtt_us as f64;
        self.lost = flow.lost;
        self.next_interval(flow);
        self.apply(flow);
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        flow.ssthresh
    }

    fn undo(&mut self, flow: &mut Flow) -> u32 {
        flow.cwnd
    }

    fn owns_window(&self) -> bool {
        true
    }

    fn control(&mut self, flow: &mut Flow, sample: &RateSample) {
        let lost = flow.lost.saturating_sub(self.lost);
        self.lost = flow.lost;
        if let Some(rtt_us) = sample.rtt_us {
            let sent_us = flow.now_us.saturating_sub(rtt_us);
            let within = |interval: &Interval| interval.from_us <= sent_us && sent_us < interval.to_us;
            if let Some(interval) = self.intervals.iter_mut().find(|interval| within(interval)) {
                interval.take(sent_us, sample, lost);
            }
            while self.intervals.front().is_some_and(|interval| interval.to_us <= sent_us) {
                let interval = self.intervals.pop_front().expect("it is there");
                self.judge(interval);
            }
        }
        self.rate = self.rate.clamp(Vivace::least_rate(flow), LARGEST_RATE);
        if self.intervals.back().is_none_or(|present| flow.now_us >= present.from_us + self.length_us(flow, present)) {
            self.next_interval(flow);
        }
        self.apply(flow);
    }

    fn burst(&self, _flow: &Flow) -> Burst {
        Burst::AtLeast(1)
    }

    fn paces(&self) -> bool {
        true
    }

    fn phase(&self) -> Option<&'static str> {
        Some(match self.phase {
            Phase::Starting => "starting",
            Phase::Probing => "probing",
            Phase::Moving => "moving",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// algorithms_vectors.json, "vivace_utility".
    #[test]
    fn the_utility_has_the_worked_values() {
        let options = VivaceOptions::default();
        for (slope, right) in [(0.0, 6.808_282_347_242_816), (0.01, -83.191_717_652_757_19)] {
            assert!((utility(&options, 10.0, slope, 0.01) - right).abs() < 1e-9);
        }
    }

    /// algorithms_vectors.json, "vivace_step": the first step meets its bound of 5 %, the second has one of 15 %.
    #[test]
    fn a_step_has_the_worked_length() {
        let slope = (10.5 - 9.5) / (2.0 * 0.05 * 10.0);
        assert_eq!(bounded_step(1.0, 1.0, slope, 10.0, 0.0), (0.5, true));
        assert_eq!(bounded_step(1.0, 1.0, slope, 10.0, 1.0), (1.0, false));
    }

    #[test]
    fn the_slope_of_the_rtt_is_that_of_a_line() {
        let mut interval = Interval::new(10.0, 0, 1_000_000);
        for k in 0..20 {
            let mut sample = RateSample::default();
            (sample.acked, sample.rtt_us) = (1, Some(50_000 + k * 200));
            interval.take(1_000_000 + k * 10_000, &sample, 0);
        }
        assert!((interval.rtt_slope() - 0.02).abs() < 1e-9);
    }
}
