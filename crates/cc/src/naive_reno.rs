//! Naive Reno: congestion avoidance of Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988, that counts
//! ACKs and not what they acknowledge; Wei and Cao, "NS-2 TCP-Linux: an NS-2 TCP implementation with congestion
//! control algorithms from Linux", WNS2 2006, ship it as their example `naive_reno`.
//!
//! Each ACK, W the window in segments:
//!
//! - slow start (W < ssthresh): W += 1; congestion avoidance: W += 1 / W;
//! - loss: ssthresh = W = W/2, at least 2; timeout: the same ssthresh, W = 1.
//!
//! Deviation (`form = "ns-2"`): W is a whole number, the step comes with the (W + 1)-th ACK, the half is
//! rounded up, W grows whether it is used or not, and recovery starts from ssthresh instead of ssthresh/2.
//!
//! Known limits: delayed ACKs halve its growth; recovering a window W after a loss takes W/2 round trips.

use crate::window::{Form, Window, pass_to_window};
use crate::{AckSample, ConfigError, CongestionControl, CongestionEvent, Segments, Start};

crate::options! {
    /// Parameters of naive Reno.
    pub struct NaiveRenoConfig, NaiveRenoSpec {
        /// Segments added per window of ACKs (Jacobson 1988 §3).
        increase: f64 = 1.0,
        /// Share of the window that a loss leaves (Jacobson 1988 §3).
        decrease: f64 = 0.5,
        /// Whose description is followed.
        form: Form = Form::Paper; linux = Form::Ns2,
    }
}

impl NaiveRenoConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("increase", self.increase, 0.0..=1000.0, "0 to 1000 segments per window")?;
        ConfigError::within("decrease", self.decrease, 0.0..=1.0, "a share from 0 to 1")
    }
}

/// The window of naive Reno.
#[derive(Clone, Debug)]
pub struct NaiveReno {
    config: NaiveRenoConfig,
    window: Window,
}

impl NaiveReno {
    pub fn new(config: NaiveRenoConfig, start: Start) -> NaiveReno {
        NaiveReno { window: Window::new(start, config.form), config }
    }

    fn grow(&mut self) {
        let step = if self.window.in_slow_start() { 1.0 } else { self.config.increase / self.window.cwnd };
        self.window.grow(step);
    }

    fn grow_whole(&mut self) {
        let window = &mut self.window;
        if window.in_slow_start() {
            window.cwnd += 1.0;
        } else if window.count >= window.cwnd {
            window.count = 0.0;
            window.cwnd = (window.cwnd + self.config.increase.trunc()).min(window.clamp);
        } else {
            window.count += 1.0;
        }
    }
}

impl CongestionControl for NaiveReno {
    fn on_ack(&mut self, sample: &AckSample) {
        let used = self.window.acknowledge(sample);
        match self.config.form {
            Form::Paper if used => self.grow(),
            Form::Paper => {}
            Form::Ns2 => self.grow_whole(),
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let ssthresh = match self.config.form {
            Form::Paper => event.window * self.config.decrease,
            Form::Ns2 => (self.window.cwnd * self.config.decrease).ceil(),
        };
        self.window.congestion(event.kind, ssthresh);
    }

    fn recovery_floor(&self) -> Segments {
        self.window.ssthresh
    }

    pass_to_window!();
}
