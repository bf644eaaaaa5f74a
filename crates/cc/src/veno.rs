//! Veno: Fu and Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", IEEE JSAC
//! 21(2), 2003.
//!
//! W the window in segments, R the smallest RTT of the last round, B the smallest RTT of the connection:
//!
//! - N = W (1 − B / R): segments in the queue (the diff of Vegas);
//! - congestion avoidance: N < β: W += 1 per round; else W += 1 every second round; slow start as RFC 5681;
//! - loss: N < β: ssthresh = W = 4/5 W (loss is taken for random), else W/2; timeout: ssthresh = W/2, W = 1.
//!
//! Deviation (`form = "ns-2"`, `tcp_veno`): R is the newest RTT, N is in halves of a segment, W is a
//! whole number and the step comes with the (W + 1)-th ACK; before three RTTs and after a timeout it is Reno.
//!
//! Known limits: when the path becomes longer (LEO), B is too small for ever, and every loss is taken for
//! congestion.

use crate::window::{Form, Rtts, WholeRtts, Window, ns2_rtt, pass_to_window};
use crate::{AckSample, ConfigError, CongestionControl, CongestionEvent, CongestionKind, Segments, Start};

crate::options! {
    /// Parameters of Veno.
    pub struct VenoConfig, VenoSpec {
        /// Segments in the queue from which on the path counts as congested (paper §III: 3).
        beta: f64 = 3.0,
        /// Share of the window that a loss leaves when the path is not congested (paper §III: 4/5).
        random_decrease: f64 = 0.8,
        /// Share of the window that a loss leaves when it is (RFC 5681 eq. 4).
        decrease: f64 = 0.5,
        /// Whose description is followed.
        form: Form = Form::Paper; linux = Form::Ns2,
    }
}

/// RTTs that the decision needs (`tcp_veno`).
const MIN_SAMPLES: u64 = 3;

impl VenoConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("beta", self.beta, 0.0..=1e6, "0 to 1e6 segments")?;
        ConfigError::within("random_decrease", self.random_decrease, 0.0..=1.0, "a share from 0 to 1")?;
        ConfigError::within("decrease", self.decrease, 0.0..=1.0, "a share from 0 to 1")
    }

    /// The window that a loss leaves with `backlog` segments in the queue.
    pub fn after_loss(&self, window: Segments, backlog: Segments) -> Segments {
        window * if backlog < self.beta { self.random_decrease } else { self.decrease }
    }
}

/// N: segments in the queue. Times in seconds.
pub fn veno_backlog(window: Segments, base_rtt: f64, rtt: f64) -> Segments {
    window * (1.0 - base_rtt / rtt)
}

/// The window of Veno.
#[derive(Clone, Debug)]
pub struct Veno {
    config: VenoConfig,
    window: Window,
    rtts: Rtts,
    whole_rtts: WholeRtts,
    /// N, segments.
    backlog: Segments,
    /// Linux: whether the next full count of ACKs grows a congested window.
    turn: Turn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Grow,
    Wait,
}

impl Veno {
    pub fn new(config: VenoConfig, start: Start) -> Veno {
        Veno {
            window: Window::new(start, config.form),
            rtts: Rtts::default(),
            whole_rtts: WholeRtts::new(),
            backlog: 0.0,
            turn: Turn::Grow,
            config,
        }
    }

    fn measure(&mut self, sample: &AckSample) {
        self.rtts.sample(sample.latest_rtt);
        if let Some(rtt) = ns2_rtt(sample) {
            self.whole_rtts.sample(rtt + 1);
        }
        if sample.round.is_some() {
            if let Some((base, rtt)) = self.rtts.base_and_min() {
                self.backlog = veno_backlog(self.window.cwnd, base, rtt);
            }
            self.rtts.next_round();
        }
    }

    fn grow_whole(&mut self, used: bool) {
        if !self.window.is_open() {
            if used {
                self.window.whole_reno();
            }
            return;
        }
        if !used {
            return;
        }
        if self.whole_rtts.count < MIN_SAMPLES {
            self.window.whole_reno();
        } else {
            self.decide_whole();
            // The module looks at the clamp only where the window is at least 2.
            let most = self.window.clamp.max(1.0);
            self.window.cwnd = if self.window.cwnd < 2.0 { 2.0 } else { self.window.cwnd.min(most) };
        }
        self.whole_rtts.min = WholeRtts::NONE;
    }

    /// One ACK with enough RTTs.
    fn decide_whole(&mut self) {
        let window = &mut self.window;
        if self.whole_rtts.min != WholeRtts::NONE {
            // In halves of a segment; the truncation is that of the module.
            let twice = 2 * window.cwnd as u64;
            let target = twice * self.whole_rtts.base / self.whole_rtts.min;
            self.backlog = twice.saturating_sub(target) as f64 / 2.0;
        }
        if window.whole_in_slow_start() {
            window.whole_slow_start();
        } else if self.backlog < self.config.beta || window.count < window.cwnd {
            window.step_after(window.cwnd);
        } else {
            window.count = 0.0;
            let grows = self.turn == Turn::Grow && window.cwnd < window.clamp;
            if grows {
                window.step();
            }
            self.turn = if grows { Turn::Wait } else { Turn::Grow };
        }
    }
}

impl CongestionControl for Veno {
    fn on_ack(&mut self, sample: &AckSample) {
        self.measure(sample);
        let used = self.window.acknowledge(sample);
        match self.config.form {
            Form::Paper => {
                let increase = if self.backlog < self.config.beta { 1.0 } else { 0.5 };
                self.window.additive(sample.growth, increase);
            }
            Form::Ns2 => self.grow_whole(used),
        }
    }

    fn on_measured(&mut self, sample: &AckSample) {
        self.measure(sample);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let ssthresh = match (self.config.form, event.kind) {
            (Form::Ns2, _) => self.config.after_loss(self.window.cwnd, self.backlog).trunc(),
            (Form::Paper, CongestionKind::Timeout(_)) => event.window * self.config.decrease,
            (Form::Paper, _) => self.config.after_loss(event.window, self.backlog),
        };
        self.window.congestion(event.kind, ssthresh);
    }

    fn on_recovered(&mut self) {
        self.window.recovered();
        self.whole_rtts.min = WholeRtts::NONE;
    }

    fn recovery_floor(&self) -> Segments {
        self.window.ssthresh
    }

    pass_to_window!(but on_recovered);
}
