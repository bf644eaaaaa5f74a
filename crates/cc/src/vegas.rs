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
//! Where the paper is silent, this is ns-2 2.35's Agent/TCP/Vegas seen from outside: diff is rounded to the
//! nearest segment; the +1 is spread over the ACKs of the round as 1/W, fixed at its start; slow start ends
//! with W − W/8; increases need W − in flight <= 2; B is overwritten by a round that sent one segment only.
//!
//! Known limits: when the path becomes longer (LEO), B is too small for ever and W falls to about α; a flow
//! that starts late measures B with the others' queue in it.

use crate::{AckSample, CcState, ConfigError, CongestionControl, CongestionEvent, CongestionKind, Lost};
use crate::{Round, Segments, Start};
use skyhop_base::Time;

crate::options! {
    /// Parameters of Vegas.
    pub struct VegasConfig, VegasSpec {
        /// Segments in the queue below which the window grows (paper §3.2: 1).
        alpha: f64 = 1.0,
        /// Segments in the queue above which the window falls (paper §3.2: 3).
        beta: f64 = 3.0,
        /// Segments in the queue at which slow start ends (paper §3.3: 1).
        gamma: f64 = 1.0,
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
    cwnd: Segments,
    ssthresh: Segments,
    /// Added to the window by every ACK of the present round.
    increment: Segments,
    /// Smallest RTT of the connection, seconds; `None` before the first ACK.
    base_rtt: Option<f64>,
    /// Sum in seconds and number of the RTT samples of the present round.
    round_sum: f64,
    round_samples: u32,
    slow_start_round: SlowStartRound,
    /// The first transmission; RTTs before there is a sample count from it.
    started: Option<Time>,
}

impl Vegas {
    pub fn new(config: VegasConfig, start: Start) -> Vegas {
        Vegas {
            config,
            cwnd: start.cwnd,
            ssthresh: start.ssthresh,
            increment: 0.0,
            base_rtt: None,
            round_sum: 0.0,
            round_samples: 0,
            slow_start_round: SlowStartRound::Grow,
            started: None,
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
        let diff = (diff + 0.5).trunc();
        if self.cwnd < self.ssthresh {
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
                self.ssthresh = 2.0;
                self.cwnd = (self.cwnd - self.cwnd / 8.0).max(2.0);
            } else {
                self.increment = 1.0;
            }
        }
    }

    fn decide_avoidance(&mut self, diff: Segments) {
        self.increment = 0.0;
        if diff > self.config.beta {
            self.cwnd = (self.cwnd - 1.0).max(2.0);
        } else if diff < self.config.alpha {
            self.increment = 1.0 / self.cwnd;
        }
    }
}

impl CongestionControl for Vegas {
    fn on_ack(&mut self, sample: &AckSample) {
        if self.base_rtt.is_none() {
            // ns-2 takes the time since the first transmission for the first base RTT, sample or not.
            let began = self.started.or(sample.round.map(|round| round.began));
            self.base_rtt = began.map(|began| sample.now.since(began).as_secs_f64());
        }
        if let Some(round) = sample.round {
            self.decide(sample, round);
        }
        if self.increment > 0.0 && self.cwnd - (sample.in_flight + 1.0) <= 2.0 {
            self.cwnd += self.increment;
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

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let window = event.window.trunc();
        match event.kind {
            CongestionKind::Timeout(_) => {
                self.ssthresh = (event.window / 2.0).trunc().max(2.0);
                self.cwnd = 2.0;
            }
            _ if window <= 3.0 => self.cwnd = 2.0,
            CongestionKind::Loss(Lost::Again) => self.cwnd = (window / 2.0).trunc(),
            CongestionKind::Loss(Lost::First) | CongestionKind::Ecn => self.cwnd = window - (window / 4.0).trunc(),
        }
    }

    fn on_recovered(&mut self) {
        // ns-2: the threshold is used in the first slow start only.
        self.ssthresh = 2.0;
    }

    fn set_cwnd(&mut self, cwnd: Segments) {
        self.cwnd = cwnd.max(1.0);
    }

    #[inline]
    fn cwnd(&self) -> Segments {
        self.cwnd
    }

    fn state(&self) -> CcState {
        CcState::of(self.cwnd, self.ssthresh)
    }
}
