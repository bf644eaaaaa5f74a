//! Scalable TCP: Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", ACM CCR 33(2),
//! 2003.
//!
//! Each ACK, W the window in segments:
//!
//! - slow start as RFC 5681; congestion avoidance: W += a, a = 0.01 per acknowledged segment;
//! - loss: W −= b W, b = 1/8; W at most `legacy_window`: both as Reno (paper §3.1, legacy window);
//! - timeout: ssthresh as after a loss, W = 1.
//!
//! Deviation (`form = "ns-2"`, `tcp_scalable`): W is a whole number and gains one with the
//! (min(W, 50) + 1)-th ACK, so that small windows grow as Reno's; there is no legacy window for the cut.
//!
//! Known limits: two flows with different windows do not converge to equal shares.

use crate::window::{Form, Window, pass_to_window};
use crate::{AckSample, ConfigError, CongestionControl, CongestionEvent, Segments, Start};

crate::options! {
    /// Parameters of Scalable TCP.
    pub struct ScalableConfig, ScalableSpec {
        /// Segments added per acknowledged segment (paper §3: 0.01).
        increase: f64 = 0.01,
        /// Share of the window that a loss takes (paper §3: 0.125).
        decrease: f64 = 0.125,
        /// Window in segments up to which it is Reno (paper §3.1: 16).
        legacy_window: f64 = 16.0; linux = 0.0,
        /// ACKs per step at large windows, in the form of ns-2 (`tcp_scalable`: 50, for delayed ACKs).
        ack_count: u32 = 50,
        /// Whose description is followed.
        form: Form = Form::Paper; linux = Form::Ns2,
    }
}

impl ScalableConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("increase", self.increase, 0.0..=1.0, "0 to 1 segment per segment")?;
        ConfigError::within("decrease", self.decrease, 0.0..=1.0, "a share from 0 to 1")?;
        ConfigError::within("legacy_window", self.legacy_window, 0.0..=1e9, "0 to 1e9 segments")?;
        ConfigError::within("ack_count", self.ack_count.into(), 1.0..=1e6, "1 to 1e6 ACKs")
    }

    /// Segments added per acknowledged segment in congestion avoidance.
    pub fn increase_at(&self, cwnd: Segments) -> Segments {
        if cwnd <= self.legacy_window { 1.0 / cwnd } else { self.increase }
    }

    /// The window that a loss leaves.
    pub fn after_loss(&self, cwnd: Segments) -> Segments {
        match self.form {
            Form::Paper if cwnd <= self.legacy_window => cwnd / 2.0,
            Form::Paper => cwnd * (1.0 - self.decrease),
            Form::Ns2 => cwnd - (cwnd * self.decrease).trunc(),
        }
    }
}

/// The window of Scalable TCP.
#[derive(Clone, Debug)]
pub struct Scalable {
    config: ScalableConfig,
    window: Window,
}

impl Scalable {
    pub fn new(config: ScalableConfig, start: Start) -> Scalable {
        Scalable { window: Window::new(start, config.form), config }
    }

    fn grow_whole(&mut self) {
        let window = &mut self.window;
        if window.whole_in_slow_start() {
            window.whole_slow_start();
        } else {
            window.step_after(window.cwnd.min(self.config.ack_count.into()));
        }
    }
}

impl CongestionControl for Scalable {
    fn on_ack(&mut self, sample: &AckSample) {
        if !self.window.acknowledge(sample) {
            return;
        }
        match self.config.form {
            Form::Paper => {
                let per_window = self.config.increase_at(self.window.cwnd) * self.window.cwnd;
                self.window.additive(sample.growth, per_window);
            }
            Form::Ns2 => self.grow_whole(),
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let base = match self.config.form {
            Form::Paper => event.window,
            Form::Ns2 => self.window.cwnd,
        };
        self.window.congestion(event.kind, self.config.after_loss(base));
    }

    fn recovery_floor(&self) -> Segments {
        self.window.half_threshold()
    }

    pass_to_window!();
}
