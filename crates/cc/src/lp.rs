//! TCP-LP: Kuzmanovic and Knightly, "TCP-LP: A Distributed Algorithm for Low Priority Data Transfer", INFOCOM
//! 2003.
//!
//! Each ACK, d the smoothed delay (gain 1/8), d_min and d_max the extremes of the connection:
//!
//! - early congestion: d > d_min + δ (d_max − d_min), δ = 0.15;
//! - the first one halves W and starts the inference phase of 3 RTT, in which W does not grow; another one in
//!   that phase, two round trips or more later, sets W = 1 and starts it again;
//! - else, and for losses, Reno with byte counting.
//!
//! Deviation: the paper takes one-way delays from timestamps; a control here sees RTTs, so a queue on the way
//! back counts too.
//!
//! Where the paper is silent: slow start does not react, so that it finds d_max.
//!
//! Deviation: a delay is the smaller of two successive RTTs. One ACK waits for the receiver's timer whenever a burst
//! ends with an odd segment, and 200 ms are more than δ of the range: two LPs would hold each other at one segment on
//! an empty path.
//!
//! Deviation: delays are smoothed afresh after a reaction, and are not taken at W < 2, where a delayed ACK adds the
//! receiver's timer; else a reaction to W = 1 would be the last one.
//!
//! Deviation (`form = "ns-2"`, `tcp_lp`): in ns-2's TCP/Linux without timestamps there is never a valid
//! delay, so early congestion is never found and LP is Reno of Linux 2.6.22.
//!
//! Known limits: one spike of delay widens [d_min, d_max] for ever; d_min is too small after a path became longer
//! (LEO), and LP then stays at one segment.

use crate::window::{Form, Window, pass_to_window};
use crate::{AckSample, ConfigError, CongestionControl, CongestionEvent, Segments, Start};
use skyhop_base::{Duration, Time};

crate::options! {
    /// Parameters of TCP-LP.
    pub struct LpConfig, LpSpec {
        /// Share of the range of delays that stands for early congestion (paper §III-B δ: 0.15).
        threshold: f64 = 0.15,
        /// Length of the inference phase in RTTs (paper §III-D: 3).
        inference_rtts: u32 = 3,
        /// Gain of the smoothed delay (paper §III-B γ: 1/8).
        gain: f64 = 0.125,
        /// Whose description is followed.
        form: Form = Form::Paper; linux = Form::Ns2,
    }
}

impl LpConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("threshold", self.threshold, 0.0..=1.0, "a share from 0 to 1")?;
        ConfigError::within("inference_rtts", self.inference_rtts.into(), 0.0..=1e6, "0 to 1e6 RTTs")?;
        ConfigError::within("gain", self.gain, 0.0..=1.0, "0 to 1")
    }
}

/// Segments that left just before a reaction met the queue at its longest and return more than one RTT later.
const DEAF_RTTS: u64 = 2;

/// An ACK of a lone segment may have been delayed by the receiver's timer (RFC 1122 §4.2.3.2).
const SMALLEST_MEASURED: Segments = 2.0;

/// Delays of the connection in seconds.
#[derive(Clone, Copy, Debug)]
struct Delays {
    /// The last RTT since the last reaction.
    last: Option<f64>,
    /// Since the last reaction.
    smoothed: Option<f64>,
    least: f64,
    most: f64,
}

/// The window of TCP-LP.
#[derive(Clone, Debug)]
pub struct Lp {
    config: LpConfig,
    window: Window,
    delays: Option<Delays>,
    /// End of the inference phase.
    inference_until: Time,
    /// Until then delays still show the queue before the last reaction.
    deaf_until: Time,
}

impl Lp {
    pub fn new(config: LpConfig, start: Start) -> Lp {
        Lp {
            window: Window::new(start, config.form),
            delays: None,
            inference_until: Time::ZERO,
            deaf_until: Time::ZERO,
            config,
        }
    }

    /// Takes one RTT; whether it shows early congestion.
    fn early_congestion(&mut self, rtt: Duration) -> bool {
        let rtt = rtt.as_secs_f64();
        let delays = self.delays.get_or_insert(Delays { last: None, smoothed: None, least: rtt, most: rtt });
        let Some(last) = delays.last.replace(rtt) else { return false };
        let delay = rtt.min(last);
        let smoothed = delays.smoothed.map_or(delay, |smoothed| smoothed + self.config.gain * (delay - smoothed));
        delays.smoothed = Some(smoothed);
        (delays.least, delays.most) = (delays.least.min(delay), delays.most.max(delay));
        smoothed > delays.least + self.config.threshold * (delays.most - delays.least)
    }

    fn react(&mut self, now: Time, rtt: Duration) {
        let inferring = now < self.inference_until;
        let window = if inferring { 1.0 } else { self.window.cwnd / 2.0 };
        self.window.set(window);
        self.window.ssthresh = self.window.ssthresh.min(window.max(2.0));
        if let Some(delays) = &mut self.delays {
            (delays.last, delays.smoothed) = (None, None);
        }
        self.deaf_until = now.saturating_add(rtt.saturating_mul(DEAF_RTTS));
        self.inference_until = now.saturating_add(rtt.saturating_mul(self.config.inference_rtts.into()));
    }
}

impl CongestionControl for Lp {
    fn on_ack(&mut self, sample: &AckSample) {
        let used = self.window.acknowledge(sample);
        if self.config.form == Form::Ns2 {
            if used {
                self.window.whole_reno();
            }
            return;
        }
        if let Some(rtt) = sample.latest_rtt
            && sample.now >= self.deaf_until
            && self.window.cwnd >= SMALLEST_MEASURED
            && self.early_congestion(rtt)
            && !self.window.in_slow_start()
        {
            return self.react(sample.now, rtt);
        }
        if sample.now >= self.inference_until {
            self.window.reno(sample.growth);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let ssthresh = match self.config.form {
            Form::Paper => event.window / 2.0,
            Form::Ns2 => self.window.whole_half(),
        };
        self.window.congestion(event.kind, ssthresh);
    }

    fn recovery_floor(&self) -> Segments {
        self.window.half_threshold()
    }

    pass_to_window!();
}
