//! H-TCP: Leith and Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004.
//!
//! Δ the time since the last cut in seconds, RTTs of the connection, W the window in segments:
//!
//! - f = 1 for Δ <= 1, else 1 + 10 (Δ − 1) + ((Δ − 1) / 2)²; α = 2 (1 − β) f; each ACK of N segments: W += α N / W;
//! - loss: β = RTTmin / RTTmax, between 0.5 and 0.8, or 0.5 when the rate of the last two epochs differs by more
//!   than 20 %; ssthresh = W = β W; timeout: the same ssthresh, W = 1;
//! - RTT scaling (option): f · RTTmin / 0.1 s, the ratio between 0.1 and 2.
//!
//! Deviation: RTTmax moves 5 % towards RTTmin with each cut, so that a change of route is forgotten (`tcp_htcp`).
//!
//! Deviation (`form = "ns-2"`, `tcp_htcp`): RTTs are the smoothed one in ms, learnt in congestion avoidance
//! only; RTTmax grows by at most 20 ms at once; f is an integer, at least 1 after scaling; α and β are 128ths and α
//! is renewed with each step; Δ starts again when recovery ends; the first cut halves.
//!
//! Known limits: changes of the path's RTT (LEO) lower β though no queue is there.

use crate::window::{Form, JIFFIES_PER_SECOND, Window, jiffies, jiffies_in, pass_to_window};
use crate::{AckSample, ConfigError, CongestionControl, CongestionEvent, CongestionKind, Segments, Start};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Time;

/// Whether growth is scaled so that it is the same per second at every RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RttScaling {
    On,
    Off,
}

/// Whether a change of the rate between two cuts resets β.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BandwidthSwitch {
    On,
    Off,
}

crate::options! {
    /// Parameters of H-TCP.
    pub struct HtcpConfig, HtcpSpec {
        /// Time after a cut during which it is Reno, in seconds (paper §3 Δ_L: 1).
        low_speed_time: f64 = 1.0,
        /// Smallest share of the window that a loss leaves (paper §3: 0.5).
        beta_min: f64 = 0.5,
        /// Largest share of the window that a loss leaves (paper §3: 0.8).
        beta_max: f64 = 0.8,
        /// Whether growth is scaled with the RTT (paper §4).
        rtt_scaling: RttScaling = RttScaling::Off; linux = RttScaling::On,
        /// Whether a change of the rate by more than 20 % between cuts resets beta (paper §3).
        bandwidth_switch: BandwidthSwitch = BandwidthSwitch::On,
        /// Whose description is followed.
        form: Form = Form::Paper; linux = Form::Ns2,
    }
}

/// RTT at which scaling changes nothing, seconds, and the bounds of its ratio (paper §4; `tcp_htcp`).
const SCALING_RTT: f64 = 0.1;
const SCALING_MIN: f64 = 0.1;
const SCALING_MAX: f64 = 2.0;
/// Change of the rate that counts as another bandwidth (paper §3).
const SWITCH: f64 = 0.2;
/// What a cut keeps of RTTmax − RTTmin.
const FADE: f64 = 0.95;

impl HtcpConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("low_speed_time", self.low_speed_time, 0.0..=1e3, "0 to 1000 s")?;
        ConfigError::within("beta_min", self.beta_min, 0.01..=0.99, "a share from 0.01 to 0.99")?;
        ConfigError::within("beta_max", self.beta_max, self.beta_min..=0.99, "a share from beta_min to 0.99")
    }

    /// f(Δ), Δ in seconds.
    pub fn f(&self, delta: f64) -> f64 {
        let fast = delta - self.low_speed_time;
        if fast <= 0.0 { 1.0 } else { 1.0 + 10.0 * fast + (fast / 2.0) * (fast / 2.0) }
    }

    /// β for the RTTs of the connection, in seconds.
    pub fn beta(&self, rtt_min: f64, rtt_max: f64) -> f64 {
        (rtt_min / rtt_max).clamp(self.beta_min, self.beta_max)
    }

    /// α: segments per round trip, for Δ and the smallest RTT in seconds.
    pub fn alpha(&self, delta: f64, beta: f64, rtt_min: f64) -> f64 {
        let scale = match self.rtt_scaling {
            RttScaling::On => (rtt_min / SCALING_RTT).clamp(SCALING_MIN, SCALING_MAX),
            RttScaling::Off => 1.0,
        };
        2.0 * (1.0 - beta) * self.f(delta) * scale
    }
}

/// The paper's measurements of an epoch, the time between two cuts.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    /// RTTs of the connection, seconds.
    rtt_min: Option<f64>,
    rtt_max: f64,
    /// Start of the present round and what had been delivered then.
    round: Option<(Time, u64)>,
    /// Highest rate of a round, segments per second: in this epoch and the one before.
    rate: f64,
    last_rate: f64,
}

/// `struct htcp` of Linux: RTTs and times in ms, α and β in 128ths.
#[derive(Clone, Copy, Debug)]
struct Whole {
    alpha: u64,
    beta: u64,
    /// Set once a cut has been made without reset.
    switched: bool,
    acked: u64,
    packets: u64,
    packets_since: u64,
    rtt_min: u64,
    rtt_max: u64,
    last_cut: u64,
    rate_min: u64,
    rate_max: u64,
    last_rate_max: u64,
    rate: u64,
}

/// The window of H-TCP.
#[derive(Clone, Debug)]
pub struct Htcp {
    config: HtcpConfig,
    window: Window,
    beta: f64,
    last_cut: Time,
    epoch: Epoch,
    whole: Whole,
    /// Time of the last ACK.
    now: Time,
}

impl Htcp {
    pub fn new(config: HtcpConfig, start: Start) -> Htcp {
        Htcp {
            window: Window::new(start, config.form),
            beta: config.beta_min,
            last_cut: Time::ZERO,
            epoch: Epoch::default(),
            whole: Whole::new(),
            now: Time::ZERO,
            config,
        }
    }

    fn measure(&mut self, sample: &AckSample) {
        if self.now == Time::ZERO {
            // The clock of growth starts with the connection.
            self.last_cut = sample.now;
            self.whole.last_cut = jiffies(sample.now);
        }
        self.now = sample.now;
        if let Some(rtt) = sample.latest_rtt.map(|rtt| rtt.as_secs_f64()).filter(|&rtt| rtt > 0.0) {
            self.epoch.rtt_min = Some(self.epoch.rtt_min.map_or(rtt, |min| min.min(rtt)));
            self.epoch.rtt_max = self.epoch.rtt_max.max(rtt);
        }
    }

    fn grow(&mut self, sample: &AckSample) {
        if sample.round.is_some() {
            self.end_round(sample);
        }
        let delta = sample.now.since(self.last_cut).as_secs_f64();
        let alpha = self.config.alpha(delta, self.beta, self.epoch.rtt_min.unwrap_or(SCALING_RTT));
        self.window.additive(sample.growth, alpha);
    }

    fn end_round(&mut self, sample: &AckSample) {
        if let Some((began, delivered)) = self.epoch.round {
            let span = sample.now.since(began).as_secs_f64();
            if span > 0.0 {
                let rate = sample.delivered.saturating_sub(delivered) as f64 / span;
                self.epoch.rate = self.epoch.rate.max(rate);
            }
        }
        self.epoch.round = Some((sample.now, sample.delivered));
    }

    /// β at a cut, and the start of the next epoch.
    fn end_epoch(&mut self) {
        let epoch = &mut self.epoch;
        let (rate, last) = (epoch.rate, epoch.last_rate);
        let switched = self.config.bandwidth_switch == BandwidthSwitch::On && (rate - last).abs() > SWITCH * last;
        self.beta = match epoch.rtt_min {
            Some(min) if !switched => self.config.beta(min, epoch.rtt_max),
            _ => self.config.beta_min,
        };
        if let Some(min) = epoch.rtt_min {
            epoch.rtt_max = min + FADE * (epoch.rtt_max - min);
        }
        (epoch.last_rate, epoch.rate) = (rate, 0.0);
        epoch.round = None;
    }

    fn grow_whole(&mut self, sample: &AckSample) {
        if self.window.whole_in_slow_start() {
            return self.window.whole_slow_start();
        }
        let now = jiffies(sample.now);
        let ready = self.window.is_open() && self.window.ssthresh < 65_535.0;
        if let Some(srtt) = sample.smoothed_rtt {
            self.whole.measure_rtt(jiffies_in(srtt), now, ready);
        }
        let (window, whole) = (&mut self.window, &mut self.whole);
        if ((window.count as u64).saturating_mul(whole.alpha) >> 7) as f64 >= window.cwnd {
            window.step();
            window.count = 0.0;
            whole.alpha_update(&self.config, now);
        } else {
            window.count += whole.acked as f64;
        }
        whole.acked = 1;
    }
}

/// 1, 0.5 and 0.8 in 128ths.
const ALPHA_BASE: u64 = 128;
const BETA_MIN: u64 = 64;
const BETA_MAX: u64 = 102;
/// RTTmax grows by at most 20 ms at once.
const RTT_MAX_STEP: u64 = 20;
/// β from RTTs is used above 10 ms.
const BETA_RTT: u64 = 10;
/// Rounds after a cut during which measurements start again.
const SETTLING_ROUNDS: u64 = 3;

impl Whole {
    fn new() -> Whole {
        Whole {
            alpha: ALPHA_BASE,
            beta: BETA_MIN,
            switched: false,
            acked: 1,
            packets: 0,
            packets_since: 0,
            rtt_min: 0,
            rtt_max: 0,
            last_cut: 0,
            rate_min: 0,
            rate_max: 0,
            last_rate_max: 0,
            rate: 0,
        }
    }

    fn rounds_since_cut(&self, now: u64) -> u64 {
        now.saturating_sub(self.last_cut) / self.rtt_min.max(1)
    }

    fn measure_rtt(&mut self, srtt: u64, now: u64, ready: bool) {
        if self.rtt_min > srtt || self.rtt_min == 0 {
            self.rtt_min = srtt;
        }
        if ready && self.rounds_since_cut(now) > SETTLING_ROUNDS {
            self.rtt_max = self.rtt_max.max(self.rtt_min);
            if self.rtt_max < srtt && srtt <= self.rtt_max + RTT_MAX_STEP {
                self.rtt_max = srtt;
            }
        }
    }

    /// The rate, in segments per second, each time a window has been acknowledged.
    fn measure_rate(&mut self, acked: u64, cwnd: u64, now: u64) {
        self.acked = acked;
        self.packets += acked;
        let span = now.saturating_sub(self.packets_since);
        let enough = cwnd.checked_sub((self.alpha >> 7).max(1)).is_some_and(|enough| self.packets >= enough);
        if !enough || self.rtt_min == 0 || span < self.rtt_min {
            return;
        }
        let rate = self.packets * JIFFIES_PER_SECOND / span;
        if self.rounds_since_cut(now) <= SETTLING_ROUNDS {
            (self.rate_min, self.rate_max, self.rate) = (rate, rate, rate);
        } else {
            self.rate = (3 * self.rate + rate) / 4;
            self.rate_max = self.rate_max.max(self.rate);
            self.rate_min = self.rate_min.min(self.rate_max);
        }
        (self.packets, self.packets_since) = (0, now);
    }

    /// An ACK during recovery or after a timeout: rates are measured afresh.
    fn restart_rate(&mut self, now: u64) {
        (self.packets, self.packets_since) = (0, now);
    }

    fn beta_update(&mut self, bandwidth_switch: BandwidthSwitch) {
        if bandwidth_switch == BandwidthSwitch::On {
            let (rate, last) = (5 * self.rate_max, self.last_rate_max);
            self.last_rate_max = self.rate_max;
            if rate < 4 * last || rate > 6 * last {
                (self.beta, self.switched) = (BETA_MIN, false);
                return;
            }
        }
        if self.switched && self.rtt_min > BETA_RTT && self.rtt_max > 0 {
            self.beta = ((self.rtt_min << 7) / self.rtt_max).clamp(BETA_MIN, BETA_MAX);
        } else {
            (self.beta, self.switched) = (BETA_MIN, true);
        }
    }

    fn alpha_update(&mut self, config: &HtcpConfig, now: u64) {
        const HZ: u64 = JIFFIES_PER_SECOND;
        let mut factor = 1;
        let delta = now.saturating_sub(self.last_cut);
        if delta > HZ {
            let fast = delta - HZ;
            factor = 1 + (10 * fast + (fast / 2) * (fast / 2) / HZ) / HZ;
        }
        if config.rtt_scaling == RttScaling::On && self.rtt_min > 0 {
            let scale = ((HZ << 3) / (10 * self.rtt_min)).clamp(1 << 2, 10 << 3);
            factor = ((factor << 3) / scale).max(1);
        }
        self.alpha = match 2 * factor * (128 - self.beta) {
            0 => ALPHA_BASE,
            alpha => alpha,
        };
    }

    /// α and β at a cut.
    fn param_update(&mut self, config: &HtcpConfig, now: u64) {
        let (min, max) = (self.rtt_min, self.rtt_max);
        self.beta_update(config.bandwidth_switch);
        self.alpha_update(config, now);
        if min > 0 && max > min {
            self.rtt_max = min + (max - min) * 95 / 100;
        }
        self.last_cut = now;
    }
}

impl CongestionControl for Htcp {
    fn on_ack(&mut self, sample: &AckSample) {
        self.measure(sample);
        let used = self.window.acknowledge(sample);
        match self.config.form {
            Form::Paper => self.grow(sample),
            Form::Ns2 => {
                let now = jiffies(sample.now);
                if self.window.is_open() {
                    self.whole.measure_rate(sample.newly_acked as u64, self.window.cwnd as u64, now);
                } else {
                    self.whole.restart_rate(now);
                }
                if used {
                    self.grow_whole(sample);
                }
            }
        }
    }

    fn on_measured(&mut self, sample: &AckSample) {
        self.measure(sample);
        if sample.newly_acked > 0.0 {
            self.whole.restart_rate(jiffies(sample.now));
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let ssthresh = match self.config.form {
            Form::Paper => {
                self.end_epoch();
                event.window * self.beta
            }
            Form::Ns2 => {
                // TCP/Linux sets the clock of its modules when an ACK comes: a timeout finds it standing there.
                let now = if let CongestionKind::Timeout(_) = event.kind { self.now } else { event.now };
                self.whole.param_update(&self.config, jiffies(now));
                (self.window.cwnd * self.whole.beta as f64 / 128.0).trunc()
            }
        };
        self.last_cut = event.now;
        self.window.congestion(event.kind, ssthresh);
    }

    fn on_recovered(&mut self) {
        self.window.recovered();
        self.whole.last_cut = jiffies(self.now);
    }

    fn recovery_floor(&self) -> Segments {
        self.window.ssthresh
    }

    pass_to_window!(but on_recovered);
}
