//! Reno: slow start and congestion avoidance of RFC 5681.
//!
//! Each ACK of N segments, W the window in segments:
//!
//! - slow start (W < ssthresh): W += min(N, L), L by byte counting (RFC 3465 §2.2);
//! - congestion avoidance: W += a · N / W, a = 1 (RFC 5681 §3.1 eq. 3 with the byte counting of RFC 3465 §2.1), or W +=
//!   a once W segments are acknowledged (`counting = "by-window"`: what RFC 5681 §3.1 recommends);
//! - loss: ssthresh = W = max(b · flight, 2), b = 1/2 (RFC 5681 eq. 4); timeout: the same ssthresh, W = 1;
//! - ECN mark: as loss (RFC 3168 §6.1.2), or with the factor of RFC 8511.
//!
//! Deviation (`rounding = "truncate"`, ns-2): ssthresh is the integer part of the half, at least 2, while the
//! window keeps the half unrounded. Deviation (`counting = "whole"`, Linux 2.6.22 in ns-2): the window is a
//! whole number, raised by one for each window of acknowledged segments, and slow start lasts while
//! W <= ssthresh. Both are `tcp_slow_start`/`tcp_reno_cong_avoid` and `slowdown` seen from outside.
//!
//! Known limits: recovering a window W after a loss takes W/2 round trips.

use crate::{
    AckSample, CcState, ConfigError, CongestionControl, CongestionEvent, CongestionKind, Growth, Segments, Start,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a halved window becomes a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// Threshold and window are the real number.
    Exact,
    /// The threshold is the integer part; the window stays real (ns-2).
    Truncate,
}

/// In which numbers the window is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
    /// The window is a real number; each ACK adds its share of a segment (RFC 5681 §3.1 eq. 3).
    Real,
    /// The window is a real number; a segment is added once a window of data is acknowledged (RFC 5681 §3.1,
    /// recommended).
    ByWindow,
    /// The window is a whole number with a counter beside it (Linux 2.6.22).
    Whole,
}

crate::options! {
    /// Parameters of Reno.
    pub struct RenoConfig, RenoSpec {
        /// Segments added per window of acknowledged data (RFC 5681 §3.1).
        increase: f64 = 1.0,
        /// Share of the window that a loss leaves (RFC 5681 eq. 4).
        decrease: f64 = 0.5,
        /// Share of the window that an ECN mark leaves; 0.8 is RFC 8511 §3.
        ecn_decrease: f64 = 0.5,
        /// Window in segments above which slow start is limited (RFC 3742); 0 turns that off.
        max_ssthresh: f64 = 0.0,
        /// How the halved window becomes the slow-start threshold.
        rounding: Rounding = Rounding::Exact; ns2 = Rounding::Truncate,
        /// Whether the window is a real or a whole number, and in which steps it grows.
        counting: Counting = Counting::Real; linux = Counting::Whole,
    }
}

impl RenoConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("increase", self.increase, 0.0..=1000.0, "0 to 1000 segments per window")?;
        ConfigError::within("decrease", self.decrease, 0.0..=1.0, "a share from 0 to 1")?;
        ConfigError::within("ecn_decrease", self.ecn_decrease, 0.0..=1.0, "a share from 0 to 1")?;
        ConfigError::within("max_ssthresh", self.max_ssthresh, 0.0..=1e9, "0 (off) to 1e9 segments")
    }
}

/// Increment per ACK of limited slow start (RFC 3742 §2), in segments, for a window of `cwnd` segments.
pub fn limited_slow_start(cwnd: Segments, max_ssthresh: Segments) -> Segments {
    if cwnd <= max_ssthresh {
        return 1.0;
    }
    // K = int(cwnd / (0.5 max_ssthresh)), cwnd += MSS / K
    1.0 / (cwnd / (0.5 * max_ssthresh)).trunc()
}

/// The window of Reno.
#[derive(Clone, Debug)]
pub struct Reno {
    config: RenoConfig,
    cwnd: Segments,
    ssthresh: Segments,
    /// The window does not grow above this one.
    clamp: Segments,
    /// Not with `Counting::Real`: segments acknowledged since the last step.
    acked: Segments,
}

impl Reno {
    pub fn new(config: RenoConfig, start: Start) -> Reno {
        Reno { config, cwnd: start.cwnd, ssthresh: start.ssthresh, clamp: start.clamp, acked: 0.0 }
    }

    /// All that an ACK means to Reno.
    #[inline]
    pub(crate) fn on_growth(&mut self, newly_acked: Segments, growth: Growth) {
        match self.config.counting {
            Counting::Real | Counting::ByWindow => self.grow(growth),
            Counting::Whole => self.grow_whole(newly_acked, growth),
        }
    }

    /// One ACK in real numbers.
    #[inline]
    fn grow(&mut self, growth: Growth) {
        if self.cwnd < self.ssthresh {
            let limited = self.config.max_ssthresh > 0.0;
            let step = if limited { limited_slow_start(self.cwnd, self.config.max_ssthresh) } else { 1.0 };
            self.cwnd += step * growth.slow_start;
        } else if self.config.counting == Counting::ByWindow {
            self.grow_by_window(growth.avoidance);
        } else {
            self.cwnd += self.config.increase * growth.avoidance / self.cwnd;
        }
        self.cwnd = self.cwnd.min(self.clamp);
    }

    fn grow_by_window(&mut self, acked: Segments) {
        self.acked += acked;
        if self.acked >= self.cwnd {
            self.acked -= self.cwnd;
            self.cwnd += self.config.increase;
        }
    }

    /// One ACK in whole numbers: acknowledged segments are counted whether the window was used or not, a step
    /// is taken only when it was.
    fn grow_whole(&mut self, newly_acked: Segments, growth: Growth) {
        self.acked += newly_acked;
        if growth.slow_start == 0.0 {
            return;
        }
        if self.cwnd <= self.ssthresh {
            self.acked = 0.0;
            self.step();
        } else if self.acked >= self.cwnd {
            self.acked -= self.cwnd;
            self.step();
        }
    }

    fn step(&mut self) {
        if self.cwnd < self.clamp {
            self.cwnd += 1.0;
        }
    }

    /// `window` after a cut to `share` of it.
    fn cut(&mut self, window: Segments, share: f64) {
        match (self.config.counting, self.config.rounding) {
            (Counting::Whole, _) => {
                self.ssthresh = (self.cwnd * share).trunc().max(2.0);
                self.cwnd = self.ssthresh;
            }
            (_, Rounding::Exact) => {
                self.ssthresh = (window * share).max(2.0);
                self.cwnd = self.ssthresh;
            }
            (_, Rounding::Truncate) => {
                self.cwnd = (window * share).max(1.0);
                self.ssthresh = (window * share).trunc().max(2.0);
            }
        }
        self.acked = 0.0;
    }
}

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, sample: &AckSample) {
        self.on_growth(sample.newly_acked, sample.growth);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        match event.kind {
            CongestionKind::Loss(_) => self.cut(event.window, self.config.decrease),
            CongestionKind::Ecn => self.cut(event.window, self.config.ecn_decrease),
            CongestionKind::Timeout(_) => {
                self.cut(event.window, self.config.decrease);
                self.cwnd = 1.0;
            }
        }
    }

    fn set_cwnd(&mut self, cwnd: Segments) {
        self.cwnd = cwnd.max(1.0);
    }

    #[inline]
    fn cwnd(&self) -> Segments {
        self.cwnd
    }

    #[inline]
    fn state(&self) -> CcState {
        CcState::of(self.cwnd, self.ssthresh)
    }
}
