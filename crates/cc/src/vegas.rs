//! Vegas: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC
//! 13(8), 1995.
//!
//! Once per round, W the amount in flight, R the mean RTT of the round, B the smallest RTT of the connection:
//!
//! - expected = W / B, actual = (sent during the round) / R, diff = (expected − actual) · B, in segments;
//! - congestion avoidance: diff < α: W grows by 1 during the next round; diff > β: W falls by 1; else W stays;
//! - slow start: W doubles every other round; diff > γ after a round of growth ends it;
//! - loss: W falls to 3/4 when a first transmission was lost, to 1/2 when a retransmission was; timeout: W = 2.
//!
//! How the paper finds losses early (the fine-grained timeout) is the transport's `recovery = "vegas"`.
//!
//! Where the paper is silent, this is ns-2 2.35's Agent/TCP/Vegas seen from outside: the +1 is spread over the ACKs of
//! the round as 1/W, fixed at its start; slow start ends with W − W/8; increases need W − in flight <= 2; B is
//! overwritten by a round that sent one segment only.
//!
//! Deviation (`rounding = "nearest"`, ns-2): diff is rounded to the nearest segment, so a flow whose B is the RTT of a
//! SYN, a packet's time shorter than that of data, stops at half of what the path holds.
//!
//! Deviation (`form = "ns-2"`, `tcp_vegas`): R is the smallest RTT of the round; with fewer than three it is Reno;
//! slow start doubles every round and ends with W = min(W, W B / R + 1); W moves by at most one per round, towards the
//! window at its start ± 1; diff is truncated to halves of a segment; loss and timeout are Reno's, and after them it
//! is Reno until nothing is repaired any more.
//!
//! Known limits: when the path becomes longer (LEO), B is too small for ever and W falls to about α; a flow
//! that starts late measures B with the others' queue in it.

use crate::window::{Form, LARGEST_WINDOW, OwnRound, WholeRtts, Window, ns2_rtt};
use crate::{AckSample, CcState, ConfigError, CongestionControl, CongestionEvent, CongestionKind, Lost};
use crate::{Round, Segments, Start};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Time;

/// In which steps the queue is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiffRounding {
    /// In real numbers (the paper's text).
    Exact,
    /// To the nearest segment (ns-2).
    Nearest,
}

crate::options! {
    /// Parameters of Vegas.
    pub struct VegasConfig, VegasSpec {
        /// Segments in the queue below which the window grows (paper §3.2: 1, module in ns-2: 2).
        alpha: f64 = 1.0; linux = 2.0,
        /// Segments in the queue above which the window falls (paper §3.2: 3, module in ns-2: 4).
        beta: f64 = 3.0; linux = 4.0,
        /// Segments in the queue at which slow start ends (paper §3.3: 1).
        gamma: f64 = 1.0,
        /// In which steps the queue is estimated; the module in ns-2 has its own.
        rounding: DiffRounding = DiffRounding::Exact; ns2 = DiffRounding::Nearest,
        /// Whose description is followed.
        form: Form = Form::Paper; linux = Form::Ns2,
    }
}

impl VegasConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("alpha", self.alpha, 0.0..=1e6, "0 to 1e6 segments")?;
        ConfigError::within("beta", self.beta, 0.0..=1e6, "0 to 1e6 segments")?;
        ConfigError::within("gamma", self.gamma, 0.0..=1e6, "0 to 1e6 segments")?;
        ConfigError::within("beta", self.beta, self.alpha..=1e6, "beta must not be below alpha")
    }
}

/// The paper's diff in segments: what is in flight (`window` segments, sent in `sent` segments per `rtt`)
/// above what the path holds without a queue. Times in seconds.
pub fn vegas_diff(window: Segments, sent: Segments, base_rtt: f64, rtt: f64) -> Segments {
    let expected = window / base_rtt;
    let actual = sent / rtt;
    (expected - actual) * base_rtt
}

/// Every other round of slow start grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlowStartRound {
    Grow,
    Freeze,
}

/// The window of Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    config: VegasConfig,
    window: Window,
    /// Added to the window by every ACK of the present round.
    increment: Segments,
    /// Smallest RTT of the connection, seconds; `None` before the first ACK.
    base_rtt: Option<f64>,
    /// Sum in seconds and number of the RTT samples of the present round.
    round_sum: f64,
    round_samples: u32,
    slow_start_round: SlowStartRound,
    /// Linux.
    ns2: Ns2Vegas,
    whole_rtts: WholeRtts,
    round: OwnRound,
    /// The first transmission; RTTs before there is a sample count from it.
    started: Option<Time>,
}

/// What `struct vegas` of Linux 2.6.22 keeps besides RTTs and the round.
#[derive(Clone, Copy, Debug, Default)]
struct Ns2Vegas {
    /// The first segment of the round.
    begin: u64,
    /// The window when it began.
    begin_cwnd: Segments,
}

/// RTTs that a decision needs in Linux.
const MIN_SAMPLES: u64 = 3;
/// Halves of a segment (V_PARAM_SHIFT).
const NS2_SCALE: f64 = 2.0;

impl Vegas {
    pub fn new(config: VegasConfig, start: Start) -> Vegas {
        Vegas {
            window: Window::new(start, config.form),
            ns2: Ns2Vegas::default(),
            whole_rtts: WholeRtts::new(),
            round: OwnRound::default(),
            increment: 0.0,
            base_rtt: None,
            round_sum: 0.0,
            round_samples: 0,
            slow_start_round: SlowStartRound::Grow,
            started: None,
            config,
        }
    }

    /// The decision at the end of a round.
    fn decide(&mut self, sample: &AckSample, round: Round) {
        let rtt = if self.round_samples > 0 {
            self.round_sum / f64::from(self.round_samples)
        } else {
            sample.now.since(round.began).as_secs_f64()
        };
        (self.round_sum, self.round_samples) = (0.0, 0);
        if rtt <= 0.0 {
            return;
        }
        let base = match self.base_rtt {
            Some(base) if rtt >= base && round.sent > 1 => base,
            _ => rtt,
        };
        self.base_rtt = Some(base);
        // The ACK that ends the round has just taken one segment out of flight.
        let diff = vegas_diff(sample.in_flight + 1.0, f64::from(round.sent), base, rtt);
        let diff = match self.config.rounding {
            DiffRounding::Exact => diff,
            DiffRounding::Nearest => (diff + 0.5).trunc(),
        };
        if self.window.cwnd < self.window.ssthresh {
            self.decide_slow_start(diff);
        } else {
            self.decide_avoidance(diff);
        }
    }

    fn decide_slow_start(&mut self, diff: Segments) {
        self.slow_start_round = match self.slow_start_round {
            SlowStartRound::Grow => SlowStartRound::Freeze,
            SlowStartRound::Freeze => SlowStartRound::Grow,
        };
        self.increment = 0.0;
        if self.slow_start_round == SlowStartRound::Grow {
            if diff > self.config.gamma {
                self.window.ssthresh = 2.0;
                self.window.cwnd = (self.window.cwnd - self.window.cwnd / 8.0).max(2.0);
            } else {
                self.increment = 1.0;
            }
        }
    }

    fn decide_avoidance(&mut self, diff: Segments) {
        self.increment = 0.0;
        if diff > self.config.beta {
            self.window.cwnd = (self.window.cwnd - 1.0).max(2.0);
        } else if diff < self.config.alpha {
            self.increment = 1.0 / self.window.cwnd;
        }
    }
}

impl Vegas {
    fn measure_ns2(&mut self, sample: &AckSample) {
        self.round.observe(sample);
        if let Some(rtt) = ns2_rtt(sample) {
            self.whole_rtts.sample(rtt + 1);
        }
    }

    fn grow_ns2(&mut self, sample: &AckSample) {
        let used = self.window.acknowledge(sample);
        if !self.window.is_open() {
            if used {
                self.window.whole_reno();
            }
        } else if self.round.ended(sample) {
            let sent = self.round.end() - self.ns2.begin.min(self.round.end());
            let before = self.ns2.begin_cwnd;
            self.ns2 = Ns2Vegas { begin: self.round.end(), begin_cwnd: self.window.cwnd };
            self.round.restart();
            if self.whole_rtts.count >= MIN_SAMPLES {
                self.decide_ns2(sent, before);
            } else if used {
                self.window.whole_reno();
            }
            self.whole_rtts.next_round();
        } else if self.window.whole_in_slow_start() {
            self.window.whole_slow_start();
        }
    }

    /// The decision of Linux at the end of a round in which `sent` segments left, `before` its first window.
    fn decide_ns2(&mut self, sent: u64, before: Segments) {
        let (base, rtt) = (self.whole_rtts.base, self.whole_rtts.min);
        let target = (sent * base * NS2_SCALE as u64 / rtt) as f64;
        let diff = sent as f64 * NS2_SCALE - target;
        let window = &mut self.window;
        if window.whole_in_slow_start() && diff <= self.config.gamma * NS2_SCALE {
            window.whole_slow_start();
        } else {
            if window.whole_in_slow_start() {
                window.ssthresh = 2.0;
                window.cwnd = window.cwnd.min((target / NS2_SCALE).trunc() + 1.0);
            }
            let wanted = if diff > self.config.beta * NS2_SCALE {
                before - 1.0
            } else if diff < self.config.alpha * NS2_SCALE {
                before + 1.0
            } else {
                before
            };
            window.cwnd += (wanted - window.cwnd).clamp(-1.0, 1.0);
        }
        window.cwnd = window.cwnd.clamp(2.0, window.clamp.max(2.0));
    }
}

impl CongestionControl for Vegas {
    fn on_ack(&mut self, sample: &AckSample) {
        if self.config.form == Form::Ns2 {
            self.measure_ns2(sample);
            self.grow_ns2(sample);
            return;
        }
        if self.base_rtt.is_none() {
            // ns-2 takes the time since the first transmission for the first base RTT, sample or not.
            let began = self.started.or(sample.round.map(|round| round.began));
            self.base_rtt = began.map(|began| sample.now.since(began).as_secs_f64());
        }
        if let Some(round) = sample.round {
            self.decide(sample, round);
        }
        // A window that has reached the threshold waits for the next decision (ns-2).
        let at_threshold = self.increment == 1.0 && !self.window.in_slow_start();
        if !at_threshold && self.window.cwnd - (sample.in_flight + 1.0) <= 2.0 {
            self.window.cwnd += self.increment;
        }
        if let Some(rtt) = sample.latest_rtt {
            let rtt = rtt.as_secs_f64();
            self.round_sum += rtt;
            self.round_samples += 1;
            if rtt > 0.0 && self.base_rtt.is_none_or(|base| rtt < base) {
                self.base_rtt = Some(rtt);
            }
        }
    }

    fn on_measured(&mut self, sample: &AckSample) {
        if self.config.form == Form::Ns2 {
            self.measure_ns2(sample);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        if self.config.form == Form::Ns2 {
            self.window.congestion(event.kind, self.window.whole_half());
            return;
        }
        let window = event.window.trunc();
        match event.kind {
            CongestionKind::Timeout(_) => {
                self.window.ssthresh = (event.window / 2.0).trunc().max(2.0);
                self.window.cwnd = 2.0;
            }
            _ if window <= 3.0 => self.window.cwnd = 2.0,
            CongestionKind::Loss(Lost::Again) => self.window.cwnd = (window / 2.0).trunc(),
            CongestionKind::Loss(Lost::First) | CongestionKind::Ecn => {
                self.window.cwnd = window - (window / 4.0).trunc()
            }
        }
    }

    fn on_recovered(&mut self) {
        self.window.recovered();
        if self.config.form == Form::Ns2 {
            self.whole_rtts.next_round();
            self.round.restart();
            return;
        }
        // ns-2: the threshold is used in the first slow start only.
        self.window.ssthresh = 2.0;
    }

    fn set_cwnd(&mut self, cwnd: Segments) {
        match self.config.form {
            // ns-2's may be without a window until its timer expires.
            Form::Paper => self.window.cwnd = cwnd.clamp(0.0, LARGEST_WINDOW),
            Form::Ns2 => self.window.set(cwnd),
        }
    }

    #[inline]
    fn cwnd(&self) -> Segments {
        self.window.cwnd
    }

    fn recovery_floor(&self) -> Segments {
        self.window.half_threshold()
    }

    fn state(&self) -> CcState {
        self.window.state()
    }
}
