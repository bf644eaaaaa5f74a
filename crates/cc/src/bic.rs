//! BIC: Xu, Harfoush and Rhee, "Binary Increase Congestion Control for Fast Long-Distance Networks", INFOCOM
//! 2004, in the integer arithmetic of Linux `tcp_bic`.
//!
//! W the window, M the window before the last cut (`last_max`), per ACK W += 1 / cnt, where cnt is
//!
//! - W <= low_window: W (Reno);
//! - W < M, d = (M − W) / B: W / Smax when d > Smax, W · smooth / B when d <= 1, else W / d (binary search);
//! - W >= M (max probing): W · smooth / B below M + B; W (B − 1) / (W − M) below M + Smax (B − 1); else W / Smax;
//! - before the first loss at most 20 (5 % per RTT);
//! - divided by the mean number of segments per ACK where ACKs are delayed, at least 1.
//!
//! Loss: M = W, or W (1 + β) / 2 when W < M (fast convergence); ssthresh = β · W, or W/2 when W <= low_window,
//! at least 2. Timeout: the same ssthresh, W = 1, M forgotten.
//!
//! Deviation (`ack_ratio = "ns-2"`, ns-2): the filter that estimates segments per ACK starts at 32/16
//! and its integer division stops at 31/16 even when every segment is acknowledged; the step comes with the
//! (cnt + 1)-th ACK; slow start lasts while W <= ssthresh.
//!
//! Known limits: cnt is an integer, so growth near M is quantised; nothing bounds growth against Reno.

use crate::{AckSample, CcState, ConfigError, CongestionControl, CongestionEvent, CongestionKind, Segments, Start};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Time;

/// How the number of segments per ACK is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AckRatio {
    /// Every acknowledged segment counts.
    #[serde(rename = "exact")]
    Exact,
    /// The integer filter of the module in ns-2, which counts ACKs.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// Whether a cut below the last maximum remembers less than the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FastConvergence {
    On,
    Off,
}

crate::options! {
    /// Parameters of BIC.
    pub struct BicConfig, BicSpec {
        /// Share of the window that a loss leaves, used in 1024ths (`tcp_bic`: 819/1024).
        beta: f64 = 819.0 / 1024.0,
        /// Largest step of the binary search, segments per RTT (paper §IV: Smax).
        max_increment: u32 = 16,
        /// Window in segments up to which BIC is Reno (`tcp_bic`: 14).
        low_window: u32 = 14,
        /// Divisor of the binary search (`BICTCP_B`: 4).
        divisor: u32 = 4,
        /// RTTs that the last step to the maximum takes (`tcp_bic`: 20).
        smooth_part: u32 = 20,
        /// Whether a second cut below the last maximum gives way to others (paper §IV).
        fast_convergence: FastConvergence = FastConvergence::On,
        /// How the number of segments per ACK is found.
        ack_ratio: AckRatio = AckRatio::Exact; ns2 = AckRatio::Ns2,
    }
}

/// `BICTCP_BETA_SCALE`.
const BETA_SCALE: u32 = 1024;
/// The delayed-ACK filter counts in 16ths and forgets 1/16 per ACK (`ACK_RATIO_SHIFT`).
const ACK_RATIO_SHIFT: u32 = 4;
/// Before the first loss the window grows by at least 1/20 per RTT (`tcp_bic`).
const STARTUP_COUNT: u32 = 20;
/// The kernel's clock: HZ = 1000.
const NANOS_PER_JIFFY: u64 = 1_000_000;
/// For one window cnt is computed again after more than this many jiffies: HZ/32 in `tcp_bic`.
const UPDATE_INTERVAL: u64 = 1000 / 32;

impl BicConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("beta", self.beta, 0.01..=1.0, "a share from 0.01 to 1")?;
        ConfigError::within("max_increment", self.max_increment.into(), 1.0..=1e6, "1 to 1e6 segments")?;
        ConfigError::within("low_window", self.low_window.into(), 0.0..=1e6, "0 to 1e6 segments")?;
        ConfigError::within("divisor", self.divisor.into(), 2.0..=1024.0, "2 to 1024")?;
        ConfigError::within("smooth_part", self.smooth_part.into(), 1.0..=1024.0, "1 to 1024 RTTs")
    }

    fn beta_scaled(&self) -> u32 {
        (self.beta * f64::from(BETA_SCALE) + 0.5) as u32
    }

    /// ACKs per step of one segment, for ACKs of one segment each (`bictcp_update` before its last line).
    pub fn ack_count(&self, cwnd: u32, last_max: u32) -> u32 {
        let (smax, b) = (self.max_increment, self.divisor);
        if cwnd <= self.low_window {
            return cwnd;
        }
        let near = || scaled(cwnd, self.smooth_part, b);
        let count = if cwnd < last_max {
            let distance = (last_max - cwnd) / b;
            if distance > smax {
                cwnd / smax
            } else if distance <= 1 {
                near()
            } else {
                cwnd / distance
            }
        } else if cwnd < last_max.saturating_add(b) {
            near()
        } else if cwnd < last_max.saturating_add(smax * (b - 1)) {
            scaled(cwnd, b - 1, cwnd - last_max)
        } else {
            cwnd / smax
        };
        if last_max == 0 { count.min(STARTUP_COUNT) } else { count }
    }

    /// Slow-start threshold and remembered maximum after a loss (`bictcp_recalc_ssthresh`).
    pub fn after_loss(&self, cwnd: u32, last_max: u32) -> (u32, u32) {
        let beta = self.beta_scaled();
        let converging = cwnd < last_max && self.fast_convergence == FastConvergence::On;
        let new_max = if converging { scaled(cwnd, BETA_SCALE + beta, 2 * BETA_SCALE) } else { cwnd };
        let kept = if cwnd <= self.low_window { cwnd / 2 } else { scaled(cwnd, beta, BETA_SCALE) };
        (kept.max(2), new_max)
    }
}

/// value · times / divisor without overflow.
fn scaled(value: u32, times: u32, divisor: u32) -> u32 {
    (u64::from(value) * u64::from(times) / u64::from(divisor)).min(u32::MAX.into()) as u32
}

/// The window of BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    config: BicConfig,
    /// A whole number of segments.
    cwnd: u32,
    ssthresh: Segments,
    clamp: Segments,
    /// Window before the last cut; 0 before there was one.
    last_max: u32,
    /// Segments per ACK in 16ths.
    ack_ratio: u32,
    /// ACKs, or acknowledged segments, since the last step.
    counted: f64,
    /// cnt, and the window and the jiffy that it was computed for.
    count: u32,
    count_window: u32,
    count_time: u64,
}

impl Bic {
    pub fn new(config: BicConfig, start: Start) -> Bic {
        Bic {
            config,
            cwnd: whole(start.cwnd),
            ssthresh: start.ssthresh,
            clamp: start.clamp,
            last_max: 0,
            ack_ratio: 2 << ACK_RATIO_SHIFT,
            counted: 0.0,
            count: 0,
            count_window: 0,
            count_time: 0,
        }
    }

    fn forget(&mut self) {
        (self.last_max, self.count, self.count_window) = (0, 0, 0);
        self.count_time = 0;
        self.ack_ratio = 2 << ACK_RATIO_SHIFT;
    }

    /// `bictcp_update`.
    fn update(&mut self, now: Time) {
        let now = now.as_nanos() / NANOS_PER_JIFFY;
        if self.count_window == self.cwnd && now.saturating_sub(self.count_time) <= UPDATE_INTERVAL {
            return;
        }
        (self.count_window, self.count_time) = (self.cwnd, now);
        let count = self.config.ack_count(self.cwnd, self.last_max);
        self.count = match self.config.ack_ratio {
            AckRatio::Exact => count.max(1),
            // The module returns before its correction when it behaves as Reno.
            AckRatio::Ns2 if self.cwnd <= self.config.low_window => count,
            AckRatio::Ns2 => bic_with_ack_ratio(count, self.ack_ratio),
        };
    }

    fn step(&mut self) {
        if f64::from(self.cwnd) < self.clamp {
            self.cwnd += 1;
        }
    }

    /// `bictcp_acked`: the filter moves by the difference of whole numbers.
    fn filter_ack_ratio(&mut self, acked: Segments) {
        let acked = acked.min(f64::from(u16::MAX)) as u32;
        self.ack_ratio = (self.ack_ratio + acked).saturating_sub(self.ack_ratio >> ACK_RATIO_SHIFT).max(1);
    }

    fn avoid(&mut self, sample: &AckSample) {
        self.update(sample.now);
        let count = f64::from(self.count);
        match self.config.ack_ratio {
            AckRatio::Exact => {
                self.counted += sample.growth.avoidance;
                while self.counted >= count {
                    self.counted -= count;
                    self.step();
                }
            }
            AckRatio::Ns2 if self.counted >= count => {
                self.step();
                self.counted = 0.0;
            }
            AckRatio::Ns2 => self.counted += 1.0,
        }
    }
}

/// cnt for a mean number of segments per ACK in 16ths, at least 1.
pub fn bic_with_ack_ratio(count: u32, ack_ratio: u32) -> u32 {
    scaled(count, 1 << ACK_RATIO_SHIFT, ack_ratio).max(1)
}

/// A whole window of at least 1.
fn whole(cwnd: Segments) -> u32 {
    (cwnd.max(1.0) as u32).max(1)
}

impl CongestionControl for Bic {
    fn on_ack(&mut self, sample: &AckSample) {
        if self.config.ack_ratio == AckRatio::Ns2 && !sample.repairing {
            self.filter_ack_ratio(sample.newly_acked);
        }
        if sample.growth.slow_start > 0.0 {
            let cwnd = f64::from(self.cwnd);
            let slow_start = match self.config.ack_ratio {
                AckRatio::Exact => cwnd < self.ssthresh,
                AckRatio::Ns2 => cwnd <= self.ssthresh,
            };
            if slow_start {
                self.cwnd = whole((cwnd + sample.growth.slow_start).min(self.clamp));
            } else {
                self.avoid(sample);
            }
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let (ssthresh, last_max) = self.config.after_loss(self.cwnd, self.last_max);
        self.ssthresh = ssthresh.into();
        (self.last_max, self.count, self.count_window) = (last_max, 0, 0);
        self.counted = 0.0;
        match event.kind {
            CongestionKind::Timeout(_) => {
                self.forget();
                self.cwnd = 1;
            }
            _ => self.cwnd = ssthresh,
        }
    }

    fn set_cwnd(&mut self, cwnd: Segments) {
        self.cwnd = whole(cwnd);
    }

    #[inline]
    fn cwnd(&self) -> Segments {
        self.cwnd.into()
    }

    fn recovery_floor(&self) -> Segments {
        self.ssthresh
    }

    fn state(&self) -> CcState {
        CcState::of(self.cwnd.into(), self.ssthresh)
    }
}
