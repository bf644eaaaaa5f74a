//! FAST: Jin, Wei and Low, "FAST TCP: Motivation, Architecture, Algorithms, Performance", INFOCOM 2004.
//!
//! W the window in segments, R the mean RTT of the last round, B the smallest RTT of the connection:
//!
//! - every update: W = min(2 W, (1 − γ) W + γ (B / R · W + α)), so that α segments of the flow stay queued;
//! - slow start until the queueing delay exceeds a threshold (the paper's κ = a·w while there is no delay) and half
//!   of α is queued: the RTT of the segment without data alone is shorter than that of the others. From then on the
//!   equation alone moves the window; the threshold follows it down, so that a decrease never enters slow start again;
//! - loss: ssthresh = W = W/2; timeout: the same ssthresh, W = 1.
//!
//! Where the paper leaves it open: an update per round (`update = "every-other-round"`: ns-2's add-on agent);
//! decreases at once, increases spread over the ACKs of the next round, so that they cause no burst.
//!
//! Known limits: a queue shorter than α per flow always overflows; when the path becomes longer (LEO), B is too small
//! for ever and W falls towards α R / (R − B).

use crate::window::{Form, Rtts, Window, pass_to_window};
use crate::{AckSample, ConfigError, CongestionControl, CongestionEvent, Segments, Start};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often the window is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FastUpdate {
    EveryRound,
    EveryOtherRound,
}

crate::options! {
    /// Parameters of FAST.
    pub struct FastConfig, FastSpec {
        /// Segments that the flow keeps queued (paper §III: a constant of the protocol; ns-2 add-on: 100).
        alpha: f64 = 20.0; ns2 = 100.0,
        /// Gain of an update (paper §III: above 0, at most 1).
        gamma: f64 = 0.5,
        /// Queueing delay that ends slow start, in seconds (ns-2 add-on mi_threshold_: 0.75 ms).
        slow_start_delay: f64 = 0.000_75,
        /// How often the window is computed.
        update: FastUpdate = FastUpdate::EveryRound; ns2 = FastUpdate::EveryOtherRound,
    }
}

impl FastConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("alpha", self.alpha, 0.1..=1e6, "0.1 to 1e6 segments")?;
        ConfigError::within("gamma", self.gamma, 0.001..=1.0, "0.001 to 1")?;
        ConfigError::within("slow_start_delay", self.slow_start_delay, 0.0..=10.0, "0 to 10 s")
    }

    /// The window after an update. Times in seconds.
    pub fn next(&self, window: Segments, base_rtt: f64, rtt: f64) -> Segments {
        let target = base_rtt / rtt * window + self.alpha;
        (2.0 * window).min((1.0 - self.gamma) * window + self.gamma * target)
    }
}

/// The window of FAST.
#[derive(Clone, Debug)]
pub struct Fast {
    config: FastConfig,
    window: Window,
    rtts: Rtts,
    /// Segments still to be added, and added per acknowledged segment.
    owed: Segments,
    per_segment: Segments,
    rounds: u64,
}

impl Fast {
    pub fn new(config: FastConfig, start: Start) -> Fast {
        Fast {
            window: Window::new(start, Form::Paper),
            rtts: Rtts::default(),
            owed: 0.0,
            per_segment: 0.0,
            rounds: 0,
            config,
        }
    }

    /// Slow start ends with the first round that shows a queue: of some delay and of half of α.
    fn watch_delay(&mut self) {
        if let (Some((base, rtt)), true) = (self.rtts.base_and_min(), self.window.in_slow_start()) {
            let queued = self.window.cwnd * (1.0 - base / rtt);
            if rtt - base > self.config.slow_start_delay && queued > self.config.alpha / 2.0 {
                self.window.ssthresh = self.window.cwnd;
            }
        }
    }

    fn end_round(&mut self) {
        self.watch_delay();
        self.rounds += 1;
        let due = self.config.update == FastUpdate::EveryRound || self.rounds.is_multiple_of(2);
        if let (Some((base, rtt)), true) = (self.rtts.base_and_mean(), due && !self.window.in_slow_start()) {
            let window = self.window.cwnd;
            let next = self.config.next(window, base, rtt);
            self.owed = (next - window).max(0.0);
            self.per_segment = self.owed / window;
            self.window.decrease_to(next.max(2.0));
        }
        self.rtts.next_round();
    }
}

impl CongestionControl for Fast {
    fn on_ack(&mut self, sample: &AckSample) {
        self.rtts.sample(sample.latest_rtt);
        self.window.acknowledge(sample);
        if sample.round.is_some() {
            self.end_round();
        }
        if self.window.in_slow_start() {
            self.window.grow(sample.growth.slow_start);
        } else {
            let step = (self.per_segment * sample.growth.avoidance).min(self.owed);
            self.owed -= step;
            self.window.grow(step);
        }
    }

    fn on_measured(&mut self, sample: &AckSample) {
        self.rtts.sample(sample.latest_rtt);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.window.congestion(event.kind, event.window / 2.0);
        self.owed = 0.0;
    }

    fn recovery_floor(&self) -> Segments {
        self.window.ssthresh
    }

    pass_to_window!();
}
