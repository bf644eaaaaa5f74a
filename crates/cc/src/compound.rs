//! Compound TCP: Tan, Song, Zhang and Sridharan, "A Compound TCP Approach for High-Speed and Long Distance
//! Networks", INFOCOM 2006.
//!
//! The window is win = cwnd + dwnd: one part of loss, one of delay. R the smallest RTT of a round, B of the
//! connection:
//!
//! - each ACK of N segments: cwnd += N / win in congestion avoidance; slow start as RFC 5681 with dwnd = 0;
//! - each round with at least three RTTs and win >= 38: diff = win (1 − B / R); diff < γ:
//!   dwnd += max(α win^k − 1, 0); else dwnd = max(dwnd − ζ diff, 0);
//! - loss: win falls to (1 − β) win: cwnd to cwnd/2, dwnd = win (1 − β) − cwnd/2, at least 0; timeout: ssthresh =
//!   win/2, cwnd = 1, dwnd = 0.
//!
//! Deviation (`form = "ns-2"`, the module `tcp_compound` in ns-2): with TCP/Linux one RTT per round reaches
//! the module, fewer than the three it wants, so dwnd stays 0 and the control behaves as Reno that counts ACKs.
//!
//! Known limits: γ = 30 segments is more than many satellite queues hold, and then the delay part never gives way.

use crate::window::{Form, Rtts, Window, pass_to_window};
use crate::{AckSample, ConfigError, CongestionControl, CongestionEvent, CongestionKind, Segments, Start};

crate::options! {
    /// Parameters of Compound TCP.
    pub struct CompoundConfig, CompoundSpec {
        /// Factor of the growth by delay (paper §IV: 1/8).
        alpha: f64 = 0.125,
        /// Share of the window that a loss takes (paper §IV: 1/2).
        beta: f64 = 0.5,
        /// Exponent of the growth by delay (paper §IV: 3/4).
        k: f64 = 0.75,
        /// Segments in the queue from which on the delay part gives way (paper §IV: 30).
        gamma: f64 = 30.0,
        /// Segments that it gives way per segment in the queue (paper §IV: 1).
        zeta: f64 = 1.0,
        /// Window in segments from which on the delay part acts (paper §IV: 38).
        low_window: f64 = 38.0,
        /// Whose description is followed.
        form: Form = Form::Paper; linux = Form::Ns2,
    }
}

/// RTTs that the decision of a round needs (`tcp_compound`).
const MIN_SAMPLES: u32 = 3;

impl CompoundConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("alpha", self.alpha, 0.0..=10.0, "0 to 10")?;
        ConfigError::within("beta", self.beta, 0.0..=1.0, "a share from 0 to 1")?;
        ConfigError::within("k", self.k, 0.0..=1.0, "0 to 1")?;
        ConfigError::within("gamma", self.gamma, 0.0..=1e6, "0 to 1e6 segments")?;
        ConfigError::within("zeta", self.zeta, 0.0..=1e3, "0 to 1000")?;
        ConfigError::within("low_window", self.low_window, 1.0..=1e6, "1 to 1e6 segments")
    }

    /// α win^k − 1, at least 0: growth of dwnd per round.
    pub fn gain(&self, win: Segments) -> Segments {
        (self.alpha * libm::pow(win, self.k) - 1.0).max(0.0)
    }

    /// dwnd after a round that left `diff` segments in the queue.
    pub fn dwnd_next(&self, win: Segments, dwnd: Segments, diff: Segments) -> Segments {
        if diff < self.gamma { dwnd + self.gain(win) } else { (dwnd - self.zeta * diff).max(0.0) }
    }
}

/// The windows of Compound TCP.
#[derive(Clone, Debug)]
pub struct Compound {
    config: CompoundConfig,
    /// win.
    window: Window,
    /// The part of win that delay controls; the rest is the paper's cwnd.
    dwnd: Segments,
    rtts: Rtts,
}

impl Compound {
    pub fn new(config: CompoundConfig, start: Start) -> Compound {
        Compound { window: Window::new(start, config.form), dwnd: 0.0, rtts: Rtts::default(), config }
    }

    fn end_round(&mut self) {
        let win = self.window.cwnd;
        let acts = self.rtts.count >= MIN_SAMPLES && win >= self.config.low_window && !self.window.in_slow_start();
        if let (Some((base, rtt)), true) = (self.rtts.base_and_min(), acts) {
            let dwnd = self.config.dwnd_next(win, self.dwnd, win * (1.0 - base / rtt));
            let cwnd = (win - self.dwnd).max(1.0);
            if dwnd < self.dwnd {
                self.window.decrease_to(cwnd + dwnd);
            } else {
                self.window.grow(cwnd + dwnd - win);
            }
            self.dwnd = (self.window.cwnd - cwnd).max(0.0);
        }
        self.rtts.next_round();
    }

    fn grow_whole(&mut self) {
        let window = &mut self.window;
        if window.whole_in_slow_start() {
            return window.step();
        }
        window.count = (window.count + 1.0).min(window.cwnd);
        if window.count >= window.cwnd {
            window.step();
            window.count = 0.0;
        }
    }
}

impl CongestionControl for Compound {
    fn on_ack(&mut self, sample: &AckSample) {
        self.rtts.sample(sample.latest_rtt);
        let used = self.window.acknowledge(sample);
        match self.config.form {
            Form::Paper => {
                self.window.reno(sample.growth);
                if sample.round.is_some() && used {
                    self.end_round();
                }
            }
            Form::Ns2 if used => self.grow_whole(),
            Form::Ns2 => {}
        }
    }

    fn on_measured(&mut self, sample: &AckSample) {
        self.rtts.sample(sample.latest_rtt);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let cwnd = (self.window.cwnd - self.dwnd).max(0.0);
        let ssthresh = match (self.config.form, event.kind) {
            (Form::Ns2, _) => self.window.whole_half(),
            (Form::Paper, CongestionKind::Timeout(_)) => event.window / 2.0,
            (Form::Paper, _) => (event.window * (1.0 - self.config.beta)).max(cwnd.min(event.window) / 2.0),
        };
        self.window.congestion(event.kind, ssthresh);
        self.dwnd = match event.kind {
            CongestionKind::Timeout(_) => 0.0,
            _ => (self.window.cwnd - cwnd / 2.0).clamp(0.0, self.dwnd),
        };
    }

    fn recovery_floor(&self) -> Segments {
        self.window.half_threshold()
    }

    pass_to_window!();
}
