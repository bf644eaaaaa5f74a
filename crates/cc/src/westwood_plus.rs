//! Westwood+: Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP
//! congestion control", ACM CCR 34(2), 2004.
//!
//! Westwood with one sample of the bandwidth per round trip, so that compressed ACKs do no harm:
//!
//! - sample b = bits delivered in the round / its length; B = 0.9 B + 0.1 b;
//! - loss: ssthresh = B · RTTmin / segment, at least 2, W = min(W, ssthresh); timeout: the same ssthresh, W = 1;
//! - else Reno (RFC 5681).
//!
//! Option `filter = "tustin"` (ns-3): B = 0.9 B + 0.1 (b + b_last) / 2.
//!
//! Known limits: a loss that ends slow start finds B far below the bandwidth, for B then is a mean over rounds that
//! were each half as fast as the next (long paths: W falls to a fifth); RTTmin is wrong for ever when the path became
//! longer (LEO). Linux' `westwood` is this algorithm; its form of 2.6.22 is an option of `westwood`.

use crate::bandwidth::{DeliveryClock, cut_to_bandwidth};
use crate::window::{Form, Window, pass_to_window};
use crate::{AckSample, ConfigError, CongestionControl, CongestionEvent, Segments, Start, tustin};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How samples of the bandwidth are smoothed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoundFilter {
    /// With the sample (paper).
    Ewma,
    /// With the mean of this and the last sample (ns-3).
    Tustin,
}

crate::options! {
    /// Parameters of Westwood+.
    pub struct WestwoodPlusConfig, WestwoodPlusSpec {
        /// How samples of the bandwidth are smoothed.
        filter: RoundFilter = RoundFilter::Ewma,
        /// Share of the old estimate (paper §2: 0.9).
        keep: f64 = 0.9,
    }
}

impl WestwoodPlusConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("keep", self.keep, 0.0..=1.0, "a share from 0 to 1")
    }

    /// The bandwidth after a sample; all rates in one unit.
    pub fn next(&self, bandwidth: f64, last_sample: f64, sample: f64) -> f64 {
        match self.filter {
            RoundFilter::Ewma => tustin(self.keep, bandwidth, sample, sample),
            RoundFilter::Tustin => tustin(self.keep, bandwidth, last_sample, sample),
        }
    }
}

/// The window of Westwood+.
#[derive(Clone, Debug)]
pub struct WestwoodPlus {
    config: WestwoodPlusConfig,
    window: Window,
    clock: DeliveryClock,
    /// Bandwidth and last sample, bit/s.
    estimate: Option<(f64, f64)>,
}

impl WestwoodPlus {
    pub fn new(config: WestwoodPlusConfig, start: Start) -> WestwoodPlus {
        WestwoodPlus {
            window: Window::new(start, Form::Paper),
            clock: DeliveryClock::default(),
            estimate: None,
            config,
        }
    }

    fn measure(&mut self, sample: &AckSample) {
        if sample.round.is_none() {
            return;
        }
        if let Some(delivery) = self.clock.observe(sample) {
            let rate = delivery.bits / delivery.span;
            let (bandwidth, last) = self.estimate.unwrap_or((rate, rate));
            self.estimate = Some((self.config.next(bandwidth, last, rate), rate));
        }
    }
}

impl CongestionControl for WestwoodPlus {
    fn on_ack(&mut self, sample: &AckSample) {
        self.measure(sample);
        self.window.reno(sample.growth);
    }

    fn on_measured(&mut self, sample: &AckSample) {
        self.measure(sample);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        cut_to_bandwidth(&mut self.window, self.estimate.map(|(bandwidth, _)| bandwidth), event);
    }

    fn recovery_floor(&self) -> Segments {
        self.window.ssthresh
    }

    pass_to_window!();
}
