//! Binomial congestion control: Bansal and Balakrishnan, "Binomial Congestion Control Algorithms", INFOCOM 2001.
//!
//! W the window in segments, per round trip without loss and per loss:
//!
//! - increase: W += α / Wᵏ, so per acknowledged segment W += α / Wᵏ⁺¹;
//! - decrease: W −= β · Wˡ.
//!
//! k + l = 1 shares a bottleneck fairly with Reno (k = 0, l = 1); k = l = 1/2 is "SQRT", for streams that cannot
//! bear a halving. Slow start and timeouts are Reno's (RFC 5681); the paper is silent on them.
//!
//! Known limits: the smaller l, the longer a flow takes to give way to a new one.

use skyhop_cc::{AckSample, CcState, CongestionControl, CongestionEvent, CongestionKind};
use skyhop_cc::{ConfigError, Segments, Start};

skyhop_cc::options! {
    /// Parameters of binomial congestion control.
    pub struct BinomialConfig, BinomialSpec {
        /// Segments added per round trip at a window of one (paper §2: α).
        alpha: f64 = 1.0,
        /// Share of Wˡ that a loss takes (paper §2: β).
        beta: f64 = 0.5,
        /// Exponent of the increase (paper §2: k).
        k: f64 = 0.5,
        /// Exponent of the decrease (paper §2: l).
        l: f64 = 0.5,
    }
}

impl BinomialConfig {
    /// What `ControlSpec::resolve` asks every configuration.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("alpha", self.alpha, 0.0..=100.0, "0 to 100 segments")?;
        ConfigError::within("beta", self.beta, 0.0..=1.0, "a share from 0 to 1")?;
        ConfigError::within("k", self.k, 0.0..=4.0, "0 to 4")?;
        ConfigError::within("l", self.l, 0.0..=1.0, "0 to 1")
    }

    /// What one acknowledged segment adds to a window, in segments.
    pub fn increase(&self, window: Segments) -> Segments {
        self.alpha / libm::pow(window, self.k + 1.0)
    }

    /// What a loss leaves of a window, in segments.
    pub fn decrease(&self, window: Segments) -> Segments {
        (window - self.beta * libm::pow(window, self.l)).max(1.0)
    }
}

/// The window of binomial congestion control.
#[derive(Clone, Debug)]
pub struct Binomial {
    config: BinomialConfig,
    cwnd: Segments,
    ssthresh: Segments,
}

impl Binomial {
    pub fn new(config: BinomialConfig, start: Start) -> Binomial {
        Binomial { config, cwnd: start.cwnd, ssthresh: start.ssthresh }
    }
}

impl CongestionControl for Binomial {
    fn on_ack(&mut self, sample: &AckSample) {
        if self.cwnd < self.ssthresh {
            self.cwnd += sample.growth.slow_start;
        } else {
            self.cwnd += self.config.increase(self.cwnd) * sample.growth.avoidance;
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.ssthresh = self.config.decrease(event.window).max(2.0);
        self.cwnd = match event.kind {
            CongestionKind::Timeout(_) => 1.0,
            CongestionKind::Loss(_) | CongestionKind::Ecn => self.ssthresh,
        };
    }

    fn set_cwnd(&mut self, cwnd: Segments) {
        self.cwnd = cwnd.max(1.0);
    }

    fn cwnd(&self) -> Segments {
        self.cwnd
    }

    fn state(&self) -> CcState {
        CcState::of(self.cwnd, self.ssthresh)
    }
}
