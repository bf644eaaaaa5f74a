//! Ends of slow start before loss: HyStart (Ha and Rhee, "Hybrid Slow Start for High-Bandwidth and Long-Distance
//! Networks", PFLDnet 2008, in the form of Linux `tcp_cubic`) and HyStart++ (RFC 9406).
//!
//! Both watch the RTT of each round of slow start. A rise by η = 1/8 of the smallest, between 4 and 16 ms, among the
//! first 8 samples of a round ends it. HyStart ends it also when closely spaced ACKs last longer than half of the
//! smallest RTT, the forward delay. HyStart++ first grows at a quarter of the speed for 5 rounds (CSS) and returns to
//! slow start when the RTT falls again.
//!
//! Known limits: a link layer with jitter above 16 ms, or a handover, ends slow start early.

use crate::{AckSample, Segments};
use skyhop_base::{Duration, Time};

/// HyStart acts from this window on, segments (`tcp_cubic` hystart_low_window).
const LOW_WINDOW: Segments = 16.0;
/// ACKs at most this far apart are a train (`tcp_cubic` hystart_ack_delta: 2 ms).
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// Samples of a round that are looked at (RFC 9406 §4.2 N_RTT_SAMPLE).
const SAMPLES: u32 = 8;
/// Bounds and divisor of η, seconds (RFC 9406 §4.2 MIN_RTT_THRESH, MAX_RTT_THRESH, MIN_RTT_DIVISOR).
const MIN_RTT_THRESH: f64 = 0.004;
const MAX_RTT_THRESH: f64 = 0.016;
const MIN_RTT_DIVISOR: f64 = 8.0;
/// RFC 9406 §4.2 CSS_GROWTH_DIVISOR, CSS_ROUNDS.
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;

/// η: the rise of the RTT that ends slow start, for the smallest RTT; seconds.
pub fn hystart_delay_threshold(min_rtt: f64) -> f64 {
    (min_rtt / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

/// Length of a train of ACKs that ends slow start, for the smallest RTT; seconds (paper, unpaced Linux).
pub fn hystart_train_threshold(min_rtt: f64) -> f64 {
    min_rtt / 2.0
}

/// Growth in CSS for what slow start would add (RFC 9406 §4.2).
pub fn css_growth(slow_start: Segments) -> Segments {
    slow_start / CSS_GROWTH_DIVISOR
}

/// What an ACK means for slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SlowStartStep {
    /// It adds this many segments.
    Grow(Segments),
    /// It is over.
    Exit,
}

/// The smallest RTT among the first samples of a round, seconds.
#[derive(Clone, Copy, Debug, Default)]
struct RoundMin {
    min: Option<f64>,
    samples: u32,
}

impl RoundMin {
    fn sample(&mut self, rtt: Option<f64>) {
        if let Some(rtt) = rtt {
            self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
            self.samples += 1;
        }
    }

    fn settled(self) -> Option<f64> {
        self.min.filter(|_| self.samples >= SAMPLES)
    }
}

/// HyStart of 2008.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hystart {
    round_start: Option<Time>,
    last_ack: Time,
    round: RoundMin,
}

impl Hystart {
    pub(crate) fn on_ack(&mut self, sample: &AckSample, cwnd: Segments) -> SlowStartStep {
        if sample.round.is_some() || self.round_start.is_none() {
            *self = Hystart { round_start: Some(sample.now), last_ack: sample.now, round: RoundMin::default() };
        }
        if self.round.samples < SAMPLES {
            self.round.sample(sample.latest_rtt.map(Duration::as_secs_f64));
        }
        if cwnd >= LOW_WINDOW && (self.long_train(sample) || self.delay_rose(sample)) {
            return SlowStartStep::Exit;
        }
        SlowStartStep::Grow(sample.growth.slow_start)
    }

    fn long_train(&mut self, sample: &AckSample) -> bool {
        let (Some(start), Some(min)) = (self.round_start, sample.min_rtt) else { return false };
        if sample.now.since(self.last_ack) > TRAIN_GAP {
            return false;
        }
        self.last_ack = sample.now;
        sample.now.since(start).as_secs_f64() > hystart_train_threshold(min.as_secs_f64())
    }

    fn delay_rose(&self, sample: &AckSample) -> bool {
        let (Some(now), Some(min)) = (self.round.settled(), sample.min_rtt) else { return false };
        now > min.as_secs_f64() + hystart_delay_threshold(min.as_secs_f64())
    }
}

/// Conservative slow start of HyStart++.
#[derive(Clone, Copy, Debug)]
struct Css {
    /// RTT that brought it about, seconds.
    baseline: f64,
    rounds: u32,
}

/// HyStart++.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HystartPlusPlus {
    last_min: Option<f64>,
    round: RoundMin,
    css: Option<Css>,
}

impl HystartPlusPlus {
    pub(crate) fn on_ack(&mut self, sample: &AckSample) -> SlowStartStep {
        if sample.round.is_some() {
            self.last_min = self.round.min;
            self.round = RoundMin::default();
            if let Some(css) = &mut self.css {
                css.rounds += 1;
                if css.rounds >= CSS_ROUNDS {
                    return SlowStartStep::Exit;
                }
            }
        }
        self.round.sample(sample.latest_rtt.map(Duration::as_secs_f64));
        if let Some(now) = self.round.settled() {
            match (self.css, self.last_min) {
                (Some(css), _) if now < css.baseline => self.css = None,
                (None, Some(last)) if now >= last + hystart_delay_threshold(last) => {
                    self.css = Some(Css { baseline: now, rounds: 0 });
                }
                _ => {}
            }
        }
        let growth = sample.growth.slow_start;
        SlowStartStep::Grow(if self.css.is_some() { css_growth(growth) } else { growth })
    }
}
