//! Illinois: Liu, Başar and Srikant, "TCP-Illinois: A Loss and Delay-Based Congestion Control Algorithm for
//! High-Speed Networks", VALUETOOLS 2006.
//!
//! Once per round, d_a the mean queueing delay of the round (mean RTT less the smallest of the connection), d_m
//! the largest of the connection, d1 = 0.01 d_m, d2 = 0.1 d_m, d3 = 0.8 d_m, W the window in segments:
//!
//! - α = 10 for d_a <= d1, else κ1 / (κ2 + d_a), through (d1, 10) and (d_m, 0.3); after it was above d1 once, α
//!   waits for 5 rounds below d1 before it is 10 again;
//! - β = 1/8 for d_a <= d2, 1/2 for d_a >= d3, linear between; W < 15: α = 1, β = 1/2;
//! - each ACK of N segments: W += α N / W; loss: W −= β W; timeout: the same ssthresh, W = 1, α = 1, β = 1/2.
//!
//! Deviation (`form = "ns-2"`, `tcp_illinois`): α in 128ths, β in 64ths, all truncated; the
//! round is the module's own and also covers recovery; growth is counted in whole segments.
//!
//! Deviation (`cut = "inverted"`, the same): ssthresh = β W instead of (1 − β) W, an error of that version.
//!
//! Known limits: d_m never ages, so one spike of delay (a LEO handover) holds α large and β small for ever.

use crate::window::{Form, OwnRound, Rtts, WholeRtts, Window, ns2_rtt, pass_to_window};
use crate::{AckSample, ConfigError, CongestionControl, CongestionEvent, CongestionKind, Segments, Start};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a cut does with β.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IllinoisCut {
    /// It takes β of the window (paper).
    TakeBeta,
    /// It leaves β of the window (Linux 2.6.22).
    Inverted,
}

crate::options! {
    /// Parameters of Illinois.
    pub struct IllinoisConfig, IllinoisSpec {
        /// Most segments added per round trip (paper §3: 10).
        alpha_max: f64 = 10.0,
        /// Fewest segments added per round trip (paper §3: 0.3).
        alpha_min: f64 = 0.3,
        /// Smallest share that a loss takes (paper §3: 1/8).
        beta_min: f64 = 0.125,
        /// Largest share that a loss takes (paper §3: 1/2).
        beta_max: f64 = 0.5,
        /// Window in segments below which it is Reno (paper §3: 15).
        window_threshold: f64 = 15.0,
        /// Rounds of low delay before alpha is largest again (paper §3: 5).
        theta: u32 = 5,
        /// What a cut does with beta.
        cut: IllinoisCut = IllinoisCut::TakeBeta; linux = IllinoisCut::Inverted,
        /// Whose description is followed.
        form: Form = Form::Paper; linux = Form::Ns2,
    }
}

/// Thresholds of delay as shares of the largest (paper §3).
const D1: f64 = 0.01;
const D2: f64 = 0.1;
const D3: f64 = 0.8;
/// Scales of α and β in `tcp_illinois`.
const ALPHA_SCALE: f64 = 128.0;
const BETA_SCALE: f64 = 64.0;

impl IllinoisConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("alpha_min", self.alpha_min, 0.01..=1000.0, "0.01 to 1000 segments")?;
        let above = self.alpha_min + 0.01..=1e4;
        ConfigError::within("alpha_max", self.alpha_max, above, "above alpha_min, at most 1e4 segments")?;
        ConfigError::within("beta_min", self.beta_min, 0.0..=1.0, "a share from 0 to 1")?;
        ConfigError::within("beta_max", self.beta_max, self.beta_min..=1.0, "a share from beta_min to 1")?;
        ConfigError::within("window_threshold", self.window_threshold, 0.0..=1e6, "0 to 1e6 segments")?;
        ConfigError::within("theta", self.theta.into(), 0.0..=1e6, "0 to 1e6 rounds")
    }

    /// α above d1: segments per round trip for the mean and the largest queueing delay, in seconds.
    pub fn alpha(&self, mean: f64, largest: f64) -> f64 {
        let d1 = D1 * largest;
        if mean <= d1 {
            return self.alpha_max;
        }
        let span = self.alpha_max - self.alpha_min;
        let kappa1 = (largest - d1) * self.alpha_min * self.alpha_max / span;
        let kappa2 = (largest - d1) * self.alpha_min / span - d1;
        kappa1 / (kappa2 + mean)
    }

    /// β for the mean and the largest queueing delay, in seconds.
    pub fn beta(&self, mean: f64, largest: f64) -> f64 {
        let (d2, d3) = (D2 * largest, D3 * largest);
        if mean <= d2 {
            self.beta_min
        } else if mean >= d3 {
            self.beta_max
        } else {
            self.beta_min + (self.beta_max - self.beta_min) * (mean - d2) / (d3 - d2)
        }
    }

    /// α in 128ths for delays in above d1.
    fn whole_alpha(&self, mean: u64, largest: u64) -> u64 {
        let d1 = largest / 100;
        let alpha_max = (self.alpha_max * ALPHA_SCALE) as u64;
        let alpha_min = ((self.alpha_min * ALPHA_SCALE) as u64).max(1);
        let span = alpha_max.saturating_sub(alpha_min);
        let (largest, mean) = (largest - d1, mean - d1);
        largest * alpha_max / (largest + mean * span / alpha_min)
    }

    /// β in 64ths for delays in microseconds.
    fn whole_beta(&self, mean: u64, largest: u64) -> u64 {
        let (beta_min, beta_max) = ((self.beta_min * BETA_SCALE) as u64, (self.beta_max * BETA_SCALE) as u64);
        let (d2, d3) = (largest / 10, 8 * largest / 10);
        if mean <= d2 {
            beta_min
        } else if mean >= d3 || d3 <= d2 {
            beta_max
        } else {
            (beta_min * d3 + (beta_max - beta_min) * mean).saturating_sub(beta_max * d2) / (d3 - d2)
        }
    }
}

/// The window of Illinois.
#[derive(Clone, Debug)]
pub struct Illinois {
    config: IllinoisConfig,
    window: Window,
    /// Segments per round trip.
    alpha: f64,
    /// Share of the window.
    beta: f64,
    rtts: Rtts,
    whole_rtts: WholeRtts,
    round: OwnRound,
    /// Rounds below d1 since the delay was above; `None` while it never was.
    low_rounds: Option<u32>,
    /// Linux: segments that the next ACK in congestion avoidance counts.
    acked: Segments,
}

impl Illinois {
    pub fn new(config: IllinoisConfig, start: Start) -> Illinois {
        Illinois {
            window: Window::new(start, config.form),
            alpha: config.alpha_max,
            beta: config.beta_max,
            rtts: Rtts::default(),
            whole_rtts: WholeRtts::new(),
            round: OwnRound::default(),
            low_rounds: None,
            acked: 0.0,
            config,
        }
    }

    fn measure(&mut self, sample: &AckSample) {
        self.round.observe(sample);
        match self.config.form {
            Form::Paper => self.rtts.sample(sample.latest_rtt),
            Form::Ns2 => {
                if sample.newly_acked > 0.0 {
                    self.acked = sample.newly_acked;
                }
                if let Some(rtt) = ns2_rtt(sample) {
                    // RTT_MAX of the module, against overflow: 2^32 / 1280 µs.
                    self.whole_rtts.sample(rtt.min(u64::from(u32::MAX) / 1280));
                }
            }
        }
    }

    /// Whether α may be largest in a round below d1; else it is kept.
    fn low_delay_is_trusted(&mut self) -> bool {
        match &mut self.low_rounds {
            None => true,
            Some(rounds) => {
                *rounds += 1;
                let trusted = *rounds >= self.config.theta;
                if trusted {
                    self.low_rounds = None;
                }
                trusted
            }
        }
    }

    /// Notes a round above d1; rounds below it that were counted stay counted.
    fn high_delay(&mut self) {
        self.low_rounds.get_or_insert(0);
    }

    /// α and β at the end of a round.
    fn update_params(&mut self) {
        let Some((base, mean)) = self.rtts.base_and_mean() else { return };
        let largest = self.rtts.max - base;
        // Rounding must not put the mean above the largest.
        let mean = (mean - base).min(largest);
        self.rtts.next_round();
        if self.window.cwnd < self.config.window_threshold {
            self.forget();
            return;
        }
        if mean > D1 * largest {
            self.high_delay();
            self.alpha = self.config.alpha(mean, largest);
        } else if self.low_delay_is_trusted() {
            self.alpha = self.config.alpha_max;
        }
        self.beta = self.config.beta(mean, largest);
    }

    fn update_params_whole(&mut self) {
        if self.window.cwnd < self.config.window_threshold {
            self.forget();
        } else if self.whole_rtts.count > 0 {
            let rtts = &self.whole_rtts;
            let (mean, largest) = (rtts.sum / rtts.count - rtts.base, rtts.max - rtts.base);
            if mean > largest / 100 {
                self.high_delay();
                self.alpha = self.config.whole_alpha(mean, largest) as f64 / ALPHA_SCALE;
            } else if self.low_delay_is_trusted() {
                self.alpha = self.config.alpha_max;
            }
            self.beta = self.config.whole_beta(mean, largest) as f64 / BETA_SCALE;
        }
        self.whole_rtts.next_round();
        self.round.restart();
    }

    fn forget(&mut self) {
        (self.alpha, self.beta) = (1.0, self.config.beta_max);
    }

    fn grow_whole(&mut self) {
        let window = &mut self.window;
        if window.whole_in_slow_start() {
            return window.whole_slow_start();
        }
        window.count += self.acked;
        self.acked = 1.0;
        let delta = (window.count * self.alpha).trunc();
        if delta >= window.cwnd {
            // Unlike a step, this one also brings a window above the clamp down to it.
            window.cwnd = (window.cwnd + (delta / window.cwnd).trunc()).min(window.clamp);
            window.count = 0.0;
        }
    }
}

impl CongestionControl for Illinois {
    fn on_ack(&mut self, sample: &AckSample) {
        self.measure(sample);
        let used = self.window.acknowledge(sample);
        match self.config.form {
            Form::Paper => {
                if sample.round.is_some() {
                    self.update_params();
                }
                self.window.additive(sample.growth, self.alpha);
            }
            Form::Ns2 => {
                if self.round.ended(sample) {
                    self.update_params_whole();
                }
                if used {
                    self.grow_whole();
                }
            }
        }
    }

    fn on_measured(&mut self, sample: &AckSample) {
        self.measure(sample);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let share = match self.config.cut {
            IllinoisCut::TakeBeta => 1.0 - self.beta,
            IllinoisCut::Inverted => self.beta,
        };
        let ssthresh = match self.config.form {
            Form::Paper => event.window * share,
            Form::Ns2 => (self.window.cwnd * share).trunc(),
        };
        self.window.congestion(event.kind, ssthresh);
        if let CongestionKind::Timeout(_) = event.kind {
            self.forget();
            self.low_rounds = None;
            self.rtts.next_round();
            self.whole_rtts.next_round();
            self.round.restart_after(event);
        }
    }

    fn recovery_floor(&self) -> Segments {
        self.window.half_threshold()
    }

    pass_to_window!();
}
