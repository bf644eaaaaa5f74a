//! TIBET: Capone, Fratta and Martignon, "Bandwidth Estimation Schemes for TCP over Wireless Networks", IEEE
//! Transactions on Mobile Computing 3(2), 2004.
//!
//! Each observation of l bits, T seconds after the last one:
//!
//! - L = a L + (1 − a) l; I = a I + (1 − a) T; rate L / I: dividing the means last removes the bias of a mean of
//!   ratios;
//! - γ = exp(−T / T0); B = γ B + (1 − γ) L / I;
//! - loss: ssthresh = B · RTTmin / segment, at least 2, W = min(W, ssthresh); timeout: the same ssthresh, W = 1;
//! - else Reno (RFC 5681).
//!
//! Reconstruction: the text leaves a and T0 open; a = 0.8 and T0 = 1 s are chosen here. Observations are ACKs with
//! what they deliver; `stream = "send"` takes the departures of segments, free of ACK compression.
//!
//! Known limits: RTTmin is wrong for ever when the path became longer (LEO); with `stream = "send"` the estimate is
//! what was sent, not what arrived.

use crate::bandwidth::{Delivery, DeliveryClock, cut_to_bandwidth};
use crate::window::{Form, Window, pass_to_window};
use crate::{AckSample, ConfigError, CongestionControl, CongestionEvent, Segments, SentSample, Start};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Duration, Time};

/// Which packets are observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    /// ACKs, with what they deliver.
    Ack,
    /// Segments that leave.
    Send,
}

crate::options! {
    /// Parameters of TIBET.
    pub struct TibetConfig, TibetSpec {
        /// Share of the old means of length and interval (a; chosen: 0.8).
        keep: f64 = 0.8,
        /// Time constant of the second filter (T0; chosen: 1 s).
        t0: Duration = Duration::from_secs(1),
        /// Which packets are observed.
        stream: Stream = Stream::Ack,
    }
}

impl TibetConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("keep", self.keep, 0.0..=1.0, "a share from 0 to 1")?;
        ConfigError::within("t0", self.t0.as_secs_f64(), 1e-3..=1e3, "1 ms to 1000 s")
    }
}

/// The estimate of TIBET.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TibetEstimate {
    /// L, bits.
    pub length: f64,
    /// I, seconds.
    pub interval: f64,
    /// B, bit/s.
    pub bandwidth: f64,
}

impl TibetEstimate {
    /// After an observation of `bits`, `span` seconds after the last one; the first one gives all three.
    pub fn observe(old: Option<TibetEstimate>, config: &TibetConfig, bits: f64, span: f64) -> TibetEstimate {
        let Some(old) = old else {
            return TibetEstimate { length: bits, interval: span, bandwidth: bits / span };
        };
        let a = config.keep;
        let length = a * old.length + (1.0 - a) * bits;
        let interval = a * old.interval + (1.0 - a) * span;
        let gamma = libm::exp(-span / config.t0.as_secs_f64());
        let bandwidth = gamma * old.bandwidth + (1.0 - gamma) * length / interval;
        TibetEstimate { length, interval, bandwidth }
    }
}

/// The window of TIBET.
#[derive(Clone, Debug)]
pub struct Tibet {
    config: TibetConfig,
    window: Window,
    clock: DeliveryClock,
    /// The last departure, and bits that left since then at the same instant.
    departure: Option<(Time, f64)>,
    estimate: Option<TibetEstimate>,
    mss: u32,
}

impl Tibet {
    pub fn new(config: TibetConfig, start: Start) -> Tibet {
        Tibet {
            window: Window::new(start, Form::Paper),
            clock: DeliveryClock::default(),
            departure: None,
            estimate: None,
            mss: start.mss,
            config,
        }
    }

    fn observe(&mut self, delivery: Delivery) {
        self.estimate = Some(TibetEstimate::observe(self.estimate, &self.config, delivery.bits, delivery.span));
    }

    fn measure(&mut self, sample: &AckSample) {
        if self.config.stream == Stream::Ack
            && let Some(delivery) = self.clock.observe(sample)
        {
            self.observe(delivery);
        }
    }
}

impl CongestionControl for Tibet {
    fn on_sent(&mut self, sample: &SentSample) {
        if self.config.stream == Stream::Ack {
            return;
        }
        let bits = 8.0 * f64::from(self.mss);
        let (last, waiting) = self.departure.unwrap_or((sample.now, 0.0));
        let span = sample.now.since(last).as_secs_f64();
        if span > 0.0 {
            self.observe(Delivery { bits: waiting, span });
            self.departure = Some((sample.now, bits));
        } else {
            self.departure = Some((last, waiting + bits));
        }
    }

    fn on_ack(&mut self, sample: &AckSample) {
        self.measure(sample);
        self.window.reno(sample.growth);
    }

    fn on_measured(&mut self, sample: &AckSample) {
        self.measure(sample);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        cut_to_bandwidth(&mut self.window, self.estimate.map(|estimate| estimate.bandwidth), event);
    }

    fn recovery_floor(&self) -> Segments {
        self.window.ssthresh
    }

    pass_to_window!();
}
