//! Careful Resume (RFC 9959): a new connection jumps to half the window of a former one over the same path, and takes
//! it back at the first sign of congestion.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_cc::ConfigError;

use crate::flow::Flow;
use crate::segment::Seq;

/// The capacity of a former connection over the path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    /// Its window, in segments.
    pub cwnd: u32,
    /// Its smallest RTT, in seconds.
    pub rtt: f64,
}

impl Saved {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("cwnd", self.cwnd.into(), 1.0..=1e6, "1 to 1e6 segments")?;
        ConfigError::within("rtt", self.rtt, 1e-4..=100.0, "0.0001 to 100 s")
    }

    /// Whether the present RTT may be that of the saved path (RFC 9959 §4.2): from half of it to ten times.
    fn fits(&self, rtt: f64) -> bool {
        rtt > self.rtt / 2.0 && rtt <= 10.0 * self.rtt
    }

    /// The window to which the connection jumps.
    fn jump(&self) -> u32 {
        self.cwnd / 2
    }
}

const INITIAL_WINDOW: u64 = 10;

/// RFC 9959 §3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Reconnaissance,
    /// Segments from this number on are unvalidated.
    Unvalidated {
        from: Seq,
    },
    /// Until this number is acknowledged.
    Validating {
        until: Seq,
    },
    Retreat,
    Normal,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Resume {
    saved: Option<Saved>,
    phase: Phase,
    /// What the path has carried so far, in segments.
    pipe: u32,
    paced_before: bool,
    began_us: u64,
}

impl Resume {
    pub fn new(saved: Option<Saved>) -> Resume {
        let phase = if saved.is_some() { Phase::Reconnaissance } else { Phase::Normal };
        Resume { saved, phase, pipe: 0, paced_before: false, began_us: 0 }
    }

    /// After the growth of the window for `acked` segments.
    #[inline]
    pub fn acked(&mut self, flow: &mut Flow, acked: u32) {
        match self.phase {
            Phase::Reconnaissance => self.jump(flow),
            Phase::Unvalidated { from } => {
                self.pipe += acked;
                let late = flow.now_us > self.began_us + (flow.srtt8_us >> 3);
                if flow.una > from || late {
                    self.validate(flow);
                }
            }
            Phase::Validating { until } => {
                self.pipe += acked;
                if flow.una >= until {
                    self.phase = Phase::Normal;
                }
            }
            Phase::Retreat | Phase::Normal => {}
        }
    }

    fn jump(&mut self, flow: &mut Flow) {
        let Some(saved) = self.saved else { return };
        if flow.delivered < INITIAL_WINDOW || flow.srtt8_us == 0 {
            return;
        }
        let rtt = flow.min_rtt_us as f64 / 1e6;
        if !saved.fits(rtt) || saved.jump() <= flow.cwnd || !flow.in_slow_start() {
            self.phase = Phase::Normal;
            return;
        }
        self.pipe = flow.in_flight().max(flow.cwnd.min(flow.packets_out + 1));
        self.phase = Phase::Unvalidated { from: flow.nxt };
        self.began_us = flow.now_us;
        flow.cwnd = saved.jump().min(flow.cwnd_clamp);
        // The jump is spread over a round trip (RFC 9959 §4.3).
        self.paced_before = flow.paced;
        flow.paced = true;
    }

    fn validate(&mut self, flow: &mut Flow) {
        flow.paced = self.paced_before;
        let flight = flow.in_flight();
        if flight <= self.pipe {
            flow.cwnd = self.pipe.max(1);
            self.phase = Phase::Normal;
        } else {
            flow.cwnd = flight;
            self.phase = Phase::Validating { until: flow.nxt };
        }
    }

    /// Congestion: the window to which it falls instead of the control's, if the jump is not validated.
    pub fn retreat(&mut self, flow: &mut Flow) -> Option<u32> {
        match self.phase {
            Phase::Unvalidated { .. } | Phase::Validating { .. } => {
                flow.paced = self.paced_before;
                self.phase = Phase::Retreat;
                Some((self.pipe / 2).max(INITIAL_WINDOW as u32))
            }
            Phase::Reconnaissance => {
                self.phase = Phase::Normal;
                None
            }
            _ => None,
        }
    }

    /// The repairs of the retreat are complete: slow start goes on up to what the path has carried (RFC 9959 §4.5).
    pub fn repaired(&mut self, flow: &mut Flow) {
        if self.phase == Phase::Retreat {
            self.phase = Phase::Normal;
            flow.ssthresh = self.pipe.max(2);
        }
    }

    /// In percent; the jump is paced at its rate.
    #[inline]
    pub fn pacing_percent(&self) -> Option<u64> {
        matches!(self.phase, Phase::Unvalidated { .. }).then_some(100)
    }

    /// Whether the window may grow by ACKs.
    #[inline]
    pub fn may_grow(&self) -> bool {
        matches!(self.phase, Phase::Reconnaissance | Phase::Normal)
    }

    pub fn phase(&self) -> Option<&'static str> {
        match self.phase {
            Phase::Unvalidated { .. } => Some("unvalidated"),
            Phase::Validating { .. } => Some("validating"),
            Phase::Retreat => Some("safe-retreat"),
            Phase::Reconnaissance | Phase::Normal => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example() {
        // algorithms_vectors.json, "careful_resume": 200 kB saved, in segments of 1000 bytes, at 600 ms.
        let saved = Saved { cwnd: 200, rtt: 0.6 };
        assert_eq!(saved.jump(), 100);
        assert_eq!([0.25, 0.4, 6.1].map(|rtt| saved.fits(rtt)), [false, true, false]);
    }
}
