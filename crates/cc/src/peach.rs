//! Peach: Akyildiz, Morabito and Palazzo, "TCP-Peach: A New Congestion Control Scheme for Satellite IP Networks",
//! IEEE/ACM Transactions on Networking 9(3), 2001; and Peach+, IEEE Communications Letters 6(7), 2002.
//!
//! W the window in segments. Reno (RFC 5681), and dummy segments, which the network drops before any other:
//!
//! - sudden start: dummies fill the first round trip; each one acknowledged: W += 1;
//! - loss: W = ssthresh = W/2, and W dummies may be sent (the transport does); the first W/2 acknowledged tell nothing
//!   that is not known and are ignored, each further one gives W += 1. A loss by a transmission error so costs one
//!   round trip; after congestion the dummies are dropped and W stays halved;
//! - timeout: ssthresh = W/2, W = 1, and acknowledged dummies are ignored until the next loss.
//!
//! The sending of dummies is the transport's `peach` recovery; with another recovery this is Reno.
//!
//! Known limits: without queues that drop low priorities first Peach is only more aggressive than Reno.

use crate::window::{Form, Window};
use crate::{AckSample, CcState, ConfigError, CongestionControl, CongestionEvent, CongestionKind, Segments, Start};

crate::options! {
    /// Parameters of Peach.
    pub struct PeachConfig, PeachSpec {
        /// Share of the window that a loss leaves (RFC 5681 eq. 4).
        decrease: f64 = 0.5,
    }
}

impl PeachConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("decrease", self.decrease, 0.01..=0.99, "a share from 0.01 to 0.99")
    }
}

/// The window of Peach.
#[derive(Clone, Debug)]
pub struct Peach {
    config: PeachConfig,
    window: Window,
    /// Acknowledged dummies to ignore (paper: wdsn).
    ignored: Segments,
}

impl Peach {
    pub fn new(config: PeachConfig, start: Start) -> Peach {
        Peach { config, window: Window::new(start, Form::Paper), ignored: 0.0 }
    }
}

impl CongestionControl for Peach {
    fn on_ack(&mut self, sample: &AckSample) {
        self.window.reno(sample.growth);
    }

    fn on_probe_acked(&mut self) {
        if self.ignored >= 1.0 {
            self.ignored -= 1.0;
        } else {
            self.window.grow(1.0);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let left = event.window * self.config.decrease;
        self.window.congestion(event.kind, left);
        self.ignored = match event.kind {
            CongestionKind::Timeout(_) => f64::INFINITY,
            CongestionKind::Loss(_) | CongestionKind::Ecn => left.trunc(),
        };
    }

    fn on_recovered(&mut self) {
        self.window.recovered();
    }

    fn set_cwnd(&mut self, cwnd: Segments) {
        self.window.set(cwnd);
    }

    fn cwnd(&self) -> Segments {
        self.window.cwnd
    }

    fn state(&self) -> CcState {
        self.window.state()
    }
}
