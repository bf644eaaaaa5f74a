//! CUBIC: Xu, Ha, Rhee, Goel and Eggert, "CUBIC for Fast and Long-Distance Networks", RFC 9438.
//!
//! W the window in segments, W_max the window before the last cut, t the time since congestion avoidance began:
//!
//! - W_cubic(t) = C (t − K)³ + W_max, K = cbrt((W_max − W_epoch) / C), W_epoch the window at t = 0;
//! - each ACK of N segments: W_est += α N / W, α = 3 (1 − β) / (1 + β) and 1 once W_est is where the cut was;
//!   W_cubic(t) < W_est: W = W_est (Reno-friendly); else W += N (target − W) / W, target = W_cubic(t + RTT) between W
//!   and 1.5 W;
//! - loss: W_max = W, or W (1 + β) / 2 when W < W_max (fast convergence); ssthresh = W = β · flight, at least 2;
//! - timeout: the same ssthresh, W = 1, and the next epoch starts with K = 0, W_max = W;
//! - slow start is HyStart++ (RFC 9406), or HyStart, or ends with loss.
//!
//! Deviation: growth counts acknowledged segments and not ACKs (§4.4), as Linux does, so delayed ACKs do not halve it.
//! Deviation: the Reno-friendly window never lowers W.
//!
//! Deviation (`form = "ns-2"`, `tcp_cubic` 2.1): β = 819/1024, C = 410/1024, whole numbers, time in 1/1024 s;
//! the step comes with the (cnt + 1)-th ACK, cnt divided by the filter of segments per ACK, which stays at 31/16;
//! cnt = 50 before the first loss; no HyStart; slow start while W <= ssthresh; the RTT is not added to t, because
//! without timestamps it is not known; a timeout forgets everything.
//!
//! Known limits: below about 100 segments per second of RTT CUBIC is Reno; after a path became longer nothing is wrong
//! but K, which counts seconds and not round trips.

use crate::bic::FastConvergence;
use crate::hystart::{Hystart, HystartPlusPlus, SlowStartStep};
use crate::window::{Form, JIFFIES_PER_SECOND, SegmentsPerAck, Window, jiffies};
use crate::{AckSample, CcState, ConfigError, CongestionControl, CongestionEvent, CongestionKind};
use crate::{Segments, SentSample, Start};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Duration, Time};

/// How slow start ends before a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SlowStartExit {
    /// It does not.
    #[serde(rename = "loss")]
    Loss,
    /// Ha and Rhee 2008, as in Linux.
    #[serde(rename = "hystart")]
    Hystart,
    /// RFC 9406.
    #[serde(rename = "hystart++")]
    HystartPlusPlus,
}

/// Whether CUBIC is at least as fast as Reno.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RenoFriendly {
    On,
    Off,
}

crate::options! {
    /// Parameters of CUBIC.
    pub struct CubicConfig, CubicSpec {
        /// Segments per s³ (RFC 9438 §5: 0.4; tcp_cubic: 410/1024).
        c: f64 = 0.4; linux = 410.0 / 1024.0,
        /// Share of the window that a loss leaves (RFC 9438 §4.6: 0.7; module in ns-2: 819/1024).
        beta: f64 = 0.7; linux = 819.0 / 1024.0,
        /// Share of the window that an ECN mark leaves (RFC 9438 §4.6: as a loss; RFC 8511: 0.85).
        ecn_beta: f64 = 0.7; linux = 819.0 / 1024.0,
        /// Whether a second cut below the last maximum gives way to others (RFC 9438 §4.7).
        fast_convergence: FastConvergence = FastConvergence::On,
        /// Whether it is at least as fast as Reno (RFC 9438 §4.3).
        reno_friendly: RenoFriendly = RenoFriendly::On,
        /// How slow start ends before a loss (RFC 9438 §4.10).
        slow_start_exit: SlowStartExit = SlowStartExit::HystartPlusPlus; ns2 = SlowStartExit::Loss,
        /// Whose description is followed.
        form: Form = Form::Paper; linux = Form::Ns2,
    }
}

/// Bound of the target in windows (RFC 9438 §4.2).
const TARGET_BOUND: f64 = 1.5;

impl CubicConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("c", self.c, 1e-6..=1e3, "1e-6 to 1000 segments per s³")?;
        ConfigError::within("beta", self.beta, 0.01..=0.99, "a share from 0.01 to 0.99")?;
        ConfigError::within("ecn_beta", self.ecn_beta, 0.01..=0.99, "a share from 0.01 to 0.99")
    }

    /// K in seconds (RFC 9438 §4.2 eq. 2).
    pub fn k(&self, w_max: Segments, cwnd_epoch: Segments) -> f64 {
        libm::cbrt((w_max - cwnd_epoch).max(0.0) / self.c)
    }

    /// W_cubic(t), t in seconds (RFC 9438 §4.2 eq. 1).
    pub fn w_cubic(&self, t: f64, k: f64, w_max: Segments) -> Segments {
        let offset = t - k;
        self.c * offset * offset * offset + w_max
    }

    /// The target for the next round trip (RFC 9438 §4.2).
    pub fn target(&self, cwnd: Segments, w_cubic: Segments) -> Segments {
        w_cubic.max(cwnd).min(TARGET_BOUND * cwnd)
    }

    /// α: Reno's additive increase with CUBIC's β (RFC 9438 §4.3).
    pub fn alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }

    /// W_max after a cut at `cwnd` (RFC 9438 §4.7).
    pub fn w_max_after(&self, cwnd: Segments, w_max: Segments) -> Segments {
        let converging = cwnd < w_max && self.fast_convergence == FastConvergence::On;
        if converging { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd }
    }
}

/// A stretch of congestion avoidance (RFC 9438 §4.1.2).
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    k: f64,
    /// W at its plateau.
    w_max: Segments,
    w_est: Segments,
}

/// The window of CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    config: CubicConfig,
    window: Window,
    epoch: Option<Epoch>,
    /// Window before the last cut; `None` before there was one and after a timeout.
    w_max: Option<Segments>,
    cwnd_prior: Segments,
    /// Time of the last ACK.
    last_ack: Time,
    hystart: Hystart,
    hystart_plus_plus: HystartPlusPlus,
    /// RFC 9406 is for the first slow start only.
    first_slow_start: bool,
    ns2: Ns2Cubic,
}

impl Cubic {
    pub fn new(config: CubicConfig, start: Start) -> Cubic {
        Cubic {
            window: Window::new(start, config.form),
            epoch: None,
            w_max: None,
            cwnd_prior: 0.0,
            last_ack: Time::ZERO,
            hystart: Hystart::default(),
            hystart_plus_plus: HystartPlusPlus::default(),
            first_slow_start: true,
            ns2: Ns2Cubic::new(),
            config,
        }
    }

    fn grow(&mut self, sample: &AckSample) {
        if self.window.in_slow_start() {
            self.slow_start(sample);
        } else {
            self.first_slow_start = false;
            self.avoid(sample);
        }
    }

    fn slow_start(&mut self, sample: &AckSample) {
        let verdict = match self.config.slow_start_exit {
            SlowStartExit::Hystart => self.hystart.on_ack(sample, self.window.cwnd),
            SlowStartExit::HystartPlusPlus if self.first_slow_start => self.hystart_plus_plus.on_ack(sample),
            _ => SlowStartStep::Grow(sample.growth.slow_start),
        };
        match verdict {
            SlowStartStep::Grow(segments) => self.window.grow(segments),
            SlowStartStep::Exit => self.window.ssthresh = self.window.cwnd,
        }
    }

    /// The present epoch, or a new one.
    fn epoch(&mut self, now: Time) -> Epoch {
        let cwnd = self.window.cwnd;
        self.epoch.unwrap_or_else(|| match self.w_max.filter(|&w_max| cwnd < w_max) {
            Some(w_max) => Epoch { start: now, k: self.config.k(w_max, cwnd), w_max, w_est: cwnd },
            None => Epoch { start: now, k: 0.0, w_max: cwnd, w_est: cwnd },
        })
    }

    fn avoid(&mut self, sample: &AckSample) {
        let mut epoch = self.epoch(sample.now);
        let cwnd = self.window.cwnd;
        if sample.growth.avoidance == 0.0 {
            // The window was not used: the clock of the epoch stands still (RFC 9438 §5.8).
            epoch.start = epoch.start.saturating_add(sample.now.since(self.last_ack)).min(sample.now);
            self.epoch = Some(epoch);
            return;
        }
        let t = sample.now.since(epoch.start).as_secs_f64();
        let rtt = sample.smoothed_rtt.or(sample.latest_rtt).map_or(0.0, Duration::as_secs_f64);
        let alpha = if epoch.w_est >= self.cwnd_prior { 1.0 } else { self.config.alpha() };
        epoch.w_est += alpha * sample.growth.avoidance / cwnd;
        let friendly = self.config.reno_friendly == RenoFriendly::On;
        if friendly && self.config.w_cubic(t, epoch.k, epoch.w_max) < epoch.w_est {
            self.window.grow((epoch.w_est - cwnd).max(0.0));
        } else {
            let target = self.config.target(cwnd, self.config.w_cubic(t + rtt, epoch.k, epoch.w_max));
            self.window.grow((target - cwnd) * sample.growth.avoidance / cwnd);
        }
        self.epoch = Some(epoch);
    }

    fn cut(&mut self, event: &CongestionEvent) {
        let cwnd = self.window.cwnd;
        self.cwnd_prior = cwnd;
        self.epoch = None;
        let (share, w_max) = match event.kind {
            CongestionKind::Loss(_) => (self.config.beta, Some(self.w_max)),
            CongestionKind::Ecn => (self.config.ecn_beta, Some(self.w_max)),
            CongestionKind::Timeout(_) => (self.config.beta, None),
        };
        self.w_max = w_max.map(|w_max| self.config.w_max_after(cwnd, w_max.unwrap_or(0.0)));
        self.window.congestion(event.kind, event.window * share);
    }
}

/// `struct bictcp` of Linux 2.6.22: windows in segments, times in ms unless said.
#[derive(Clone, Debug)]
struct Ns2Cubic {
    /// ACKs per step.
    count: u64,
    last_max: u64,
    /// Whether there was a loss.
    lost: bool,
    /// Window and time of the last update.
    last_update: (u64, u64),
    origin: u64,
    /// 1/1024 s.
    k: u64,
    epoch_start: Option<u64>,
    acks: u64,
    /// W_est.
    friendly: u64,
    segments_per_ack: SegmentsPerAck,
}

/// 1/1024 s in a second.
const BICTCP_HZ: u32 = 10;
/// `cnt` before the first loss.
const STARTUP_COUNT: u64 = 50;
/// `cnt` per segment of window when the target has been reached.
const SLOWEST: u64 = 100;
/// An unchanged window is looked at again after HZ/32.
const UPDATE_INTERVAL: u64 = JIFFIES_PER_SECOND / 32;

impl CubicConfig {
    fn scaled(share: f64) -> u64 {
        (share * 1024.0 + 0.5) as u64
    }

    /// 2^40 · 1024 / C, the factor of K³ in (1/1024 s)³ per segment.
    pub fn ns2_cube_factor(&self) -> u64 {
        (1u64 << (10 + 3 * BICTCP_HZ)) / Self::scaled(self.c).max(1)
    }

    /// K in 1/1024 s.
    pub fn ns2_k(&self, distance: u64) -> u64 {
        whole_cube_root(self.ns2_cube_factor().saturating_mul(distance))
    }

    /// ACKs per window of Reno's growth with this β, in 8ths.
    fn ns2_beta_scale(&self) -> u64 {
        let beta = Self::scaled(self.beta).min(1023);
        8 * (1024 + beta) / 3 / (1024 - beta)
    }
}

/// First estimates of the cube root of 0 to 63, in 64ths (`tcp_cubic` of Linux 2.6.22; from 8 on a little below the
/// root).
const ROOTS: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173, 176, 179,
    181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227,
    229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

/// The cube root as Linux 2.6.22 finds it, some 0.2 % off: an estimate from the leading bits, then one step of Newton's
/// iteration, x = (2 x + a / (x (x − 1))) · 341 / 1024.
fn whole_cube_root(a: u64) -> u64 {
    let bits = u64::BITS - a.leading_zeros();
    if bits < 7 {
        return (u64::from(ROOTS[a as usize]) + 35) >> 6;
    }
    let thirds = ((bits * 84) >> 8) - 1;
    let x = ((u64::from(ROOTS[(a >> (3 * thirds)) as usize]) + 10) << thirds) >> 6;
    ((2 * x + a / (x * (x - 1))) * 341) >> 10
}

impl Ns2Cubic {
    fn new() -> Ns2Cubic {
        Ns2Cubic {
            count: 0,
            last_max: 0,
            lost: false,
            last_update: (0, 0),
            origin: 0,
            k: 0,
            epoch_start: None,
            acks: 0,
            friendly: 0,
            segments_per_ack: SegmentsPerAck::new(),
        }
    }

    /// `bictcp_update`.
    fn update(&mut self, config: &CubicConfig, cwnd: u64, now: u64) {
        self.acks += 1;
        let (last_cwnd, last_time) = self.last_update;
        if last_cwnd == cwnd && now.saturating_sub(last_time) <= UPDATE_INTERVAL {
            return;
        }
        self.last_update = (cwnd, now);
        let start = match self.epoch_start {
            Some(start) => start,
            None => self.start_epoch(config, cwnd, now),
        };
        let t = (now.saturating_sub(start) << BICTCP_HZ) / JIFFIES_PER_SECOND;
        let target = self.target(config, t);
        let mut count = if target > cwnd { cwnd / (target - cwnd) } else { SLOWEST * cwnd };
        if !self.lost {
            count = STARTUP_COUNT;
        }
        if config.reno_friendly == RenoFriendly::On {
            count = count.min(self.friendly_count(config, cwnd));
        }
        self.count = self.segments_per_ack.acks_for(count);
    }

    fn start_epoch(&mut self, config: &CubicConfig, cwnd: u64, now: u64) -> u64 {
        self.epoch_start = Some(now);
        (self.acks, self.friendly) = (1, cwnd);
        self.k = config.ns2_k(self.last_max.saturating_sub(cwnd));
        self.origin = self.last_max.max(cwnd);
        now
    }

    fn target(&self, config: &CubicConfig, t: u64) -> u64 {
        let offset = u128::from(t.abs_diff(self.k));
        let cubed = u128::from(CubicConfig::scaled(config.c)) * offset * offset * offset;
        let delta = u64::try_from(cubed >> (10 + 3 * BICTCP_HZ)).unwrap_or(u64::MAX);
        if t < self.k { self.origin.saturating_sub(delta) } else { self.origin.saturating_add(delta) }
    }

    /// ACKs per step with which Reno would be where it is.
    fn friendly_count(&mut self, config: &CubicConfig, cwnd: u64) -> u64 {
        let per_step = ((cwnd * config.ns2_beta_scale()) >> 3).max(1);
        let steps = self.acks.saturating_sub(1) / per_step;
        self.acks -= steps * per_step;
        self.friendly += steps;
        if self.friendly > cwnd { cwnd / (self.friendly - cwnd) } else { u64::MAX >> 8 }
    }

    /// Threshold after a loss.
    fn after_loss(&mut self, config: &CubicConfig, cwnd: u64, share: f64) -> Segments {
        let beta = CubicConfig::scaled(config.beta);
        let converging = cwnd < self.last_max && config.fast_convergence == FastConvergence::On;
        self.last_max = if converging { cwnd * (1024 + beta) / 2048 } else { cwnd };
        (self.epoch_start, self.lost) = (None, true);
        (cwnd * CubicConfig::scaled(share) / 1024) as f64
    }
}

impl Cubic {
    fn grow_ns2(&mut self, sample: &AckSample) {
        if self.window.whole_in_slow_start() {
            return self.window.whole_slow_start();
        }
        self.ns2.update(&self.config, self.window.cwnd as u64, jiffies(sample.now));
        self.window.step_after(self.ns2.count as f64);
    }

    fn cut_ns2(&mut self, event: &CongestionEvent) {
        let share = if event.kind == CongestionKind::Ecn { self.config.ecn_beta } else { self.config.beta };
        let ssthresh = self.ns2.after_loss(&self.config, self.window.cwnd as u64, share);
        self.window.congestion(event.kind, ssthresh);
        if let CongestionKind::Timeout(_) = event.kind {
            self.ns2 = Ns2Cubic::new();
        }
    }
}

impl CongestionControl for Cubic {
    fn on_sent(&mut self, sample: &SentSample) {
        // Idle time does not count (RFC 9438 §4.2: t is the time of congestion avoidance).
        if let (Some(epoch), true) = (&mut self.epoch, sample.in_flight <= 1.0) {
            epoch.start = epoch.start.saturating_add(sample.now.since(self.last_ack)).min(sample.now);
            self.last_ack = sample.now;
        }
    }

    fn on_ack(&mut self, sample: &AckSample) {
        let used = self.window.acknowledge(sample);
        match self.config.form {
            Form::Paper => self.grow(sample),
            Form::Ns2 => {
                if self.window.is_open() {
                    self.ns2.segments_per_ack.update(sample.newly_acked);
                }
                if used {
                    self.grow_ns2(sample);
                }
            }
        }
        self.last_ack = sample.now;
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        match self.config.form {
            Form::Paper => self.cut(event),
            Form::Ns2 => self.cut_ns2(event),
        }
    }

    fn on_recovered(&mut self) {
        self.window.recovered();
    }

    fn set_cwnd(&mut self, cwnd: Segments) {
        self.window.set(cwnd);
    }

    #[inline]
    fn cwnd(&self) -> Segments {
        self.window.cwnd
    }

    fn recovery_floor(&self) -> Segments {
        self.window.ssthresh
    }

    fn state(&self) -> CcState {
        self.window.state()
    }
}
