//! Yam: Tsai, Wang and Wang, "A Transmission Control Protocol with High Throughput of Using Low Earth-Orbit Satellite
//! to Collect Data from the Floats on Sea Surface", 2014.
//!
//! W the window in segments, R the RTT that an ACK measures, A (awnd) the mean of the last three values of W:
//!
//! - slow start as RFC 5681 until a loss, ssthresh infinite;
//! - congestion avoidance (§3.3), each ACK, against the RTT before: R did not fall: W −= 1/W, or −= 1 when W < A;
//!   R fell: W += 1/W, or += 1 when W < A;
//! - loss (§3.2): ssthresh = χ W, χ = 3/4; until all that was outstanding has arrived W = min(W, ssthresh + missing
//!   segments), then W = ssthresh;
//! - a further loss meanwhile does the same again; the third restarts slow start towards ssthresh with W = 1; so does
//!   ssthresh <= 2, with no threshold.
//!
//! The text is ambiguous. Chosen: equal RTTs count as not falling; A includes the present W; the first RTT after a loss
//! is only remembered; W stays at least 1; a timeout is a loss like any other; an ECN mark is one, but nothing is
//! missing. `update = "every-round"` acts once per round trip instead of with every ACK, `"every-change"` only when the
//! RTT is another than before: the list of §3.3 has "≥", the paragraph behind it "greater than" and "less than", which
//! leaves equal RTTs without effect.
//!
//! Known limits: while the RTT rises every ACK takes 1/W; with RTTs in coarse ticks most are equal and W falls to 1.

use crate::{AckSample, CcState, CongestionControl, CongestionEvent, CongestionKind, LossSample};
use crate::{ConfigError, Segments, Start};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often congestion avoidance acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum YamUpdate {
    EveryAck,
    EveryRound,
    /// With each ACK whose RTT is another than that of the ACK before.
    EveryChange,
}

crate::options! {
    /// Parameters of Yam.
    pub struct YamConfig, YamSpec {
        /// Share of the window that becomes the threshold after a loss (paper §3.2 χ: 3/4).
        chi: f64 = 0.75,
        /// How often congestion avoidance acts.
        update: YamUpdate = YamUpdate::EveryAck,
    }
}

/// At a threshold that is not above this, slow start begins again (paper §3.2 step 1).
const LEAST_THRESHOLD: Segments = 2.0;
/// So many losses in a row restart slow start (paper §3.2 step 2).
const MOST_LOSSES: u32 = 3;
/// awnd is the mean of so many windows (paper §3.3).
const AVERAGED: usize = 3;

impl YamConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("chi", self.chi, 0.01..=0.99, "a share from 0.01 to 0.99")
    }
}

/// The window after an ACK in congestion avoidance; RTTs in seconds (paper §3.3 step 2).
pub fn yam_avoidance(cwnd: Segments, awnd: Segments, rtt: f64, last_rtt: f64) -> Segments {
    let step = if cwnd >= awnd { 1.0 / cwnd } else { 1.0 };
    if rtt >= last_rtt { cwnd - step } else { cwnd + step }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    SlowStart,
    Avoidance,
    Recovery,
}

/// The window of Yam.
#[derive(Clone, Debug)]
pub struct Yam {
    config: YamConfig,
    cwnd: Segments,
    ssthresh: Segments,
    clamp: Segments,
    stage: Stage,
    /// The latest windows, oldest first.
    history: Vec<Segments>,
    /// Seconds.
    last_rtt: Option<f64>,
    /// Losses since the last recovery that succeeded.
    losses: u32,
    /// Segments known to be missing.
    missing: Segments,
}

impl Yam {
    pub fn new(config: YamConfig, start: Start) -> Yam {
        Yam {
            config,
            cwnd: start.cwnd,
            // Paper §3.2: slow start ends with a loss, not at a threshold.
            ssthresh: f64::INFINITY,
            clamp: start.clamp,
            stage: Stage::SlowStart,
            history: Vec::with_capacity(AVERAGED + 1),
            last_rtt: None,
            losses: 0,
            missing: 0.0,
        }
    }

    fn enter_avoidance(&mut self) {
        self.stage = Stage::Avoidance;
        self.history.clear();
        self.last_rtt = None;
    }

    /// awnd, with the present window in it.
    fn average(&mut self) -> Segments {
        self.history.push(self.cwnd);
        if self.history.len() > AVERAGED {
            self.history.remove(0);
        }
        self.history.iter().sum::<f64>() / self.history.len() as f64
    }

    fn avoid(&mut self, sample: &AckSample) {
        if self.config.update == YamUpdate::EveryRound && sample.round.is_none() {
            return;
        }
        let Some(rtt) = sample.latest_rtt.map(|rtt| rtt.as_secs_f64()) else { return };
        let awnd = self.average();
        let acts = self.config.update != YamUpdate::EveryChange || self.last_rtt != Some(rtt);
        if let Some(last_rtt) = self.last_rtt.filter(|_| acts) {
            let cwnd = yam_avoidance(self.cwnd, awnd, rtt, last_rtt);
            if cwnd < self.cwnd || sample.growth.avoidance > 0.0 {
                self.cwnd = cwnd.clamp(1.0, self.clamp.max(1.0));
            }
        }
        self.last_rtt = Some(rtt);
    }

    fn restart(&mut self, ssthresh: Segments) {
        (self.cwnd, self.ssthresh, self.losses) = (1.0, ssthresh, 0);
        self.stage = Stage::SlowStart;
    }
}

impl CongestionControl for Yam {
    fn on_ack(&mut self, sample: &AckSample) {
        if self.stage == Stage::Recovery && !sample.repairing {
            self.on_recovered();
        }
        match self.stage {
            Stage::SlowStart if self.cwnd < self.ssthresh => {
                self.cwnd = (self.cwnd + sample.growth.slow_start).min(self.clamp.max(self.cwnd));
            }
            Stage::SlowStart => self.enter_avoidance(),
            Stage::Avoidance => self.avoid(sample),
            Stage::Recovery => {}
        }
    }

    fn on_lost(&mut self, sample: &LossSample) {
        self.missing = sample.lost;
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let before = self.cwnd;
        let ssthresh = self.config.chi * before;
        self.losses += 1;
        if ssthresh <= LEAST_THRESHOLD {
            self.restart(f64::INFINITY);
        } else if self.losses == MOST_LOSSES {
            self.restart(ssthresh);
        } else if event.kind == CongestionKind::Ecn {
            (self.cwnd, self.ssthresh) = (ssthresh, ssthresh);
            self.on_recovered();
        } else {
            self.ssthresh = ssthresh;
            self.cwnd = before.min(ssthresh + self.missing);
            self.stage = Stage::Recovery;
        }
    }

    fn on_recovered(&mut self) {
        if self.stage == Stage::SlowStart {
            return;
        }
        self.cwnd = self.ssthresh;
        self.losses = 0;
        self.enter_avoidance();
    }

    fn set_cwnd(&mut self, cwnd: Segments) {
        self.cwnd = cwnd.max(1.0);
        self.history.clear();
        self.last_rtt = None;
    }

    fn cwnd(&self) -> Segments {
        self.cwnd
    }

    fn recovery_floor(&self) -> Segments {
        self.cwnd
    }

    fn state(&self) -> CcState {
        CcState::of(self.cwnd, self.ssthresh)
    }
}
