//! A rate that somebody assigns: the satellite leg of a split connection, whose proxy knows the rate of its link and
//! how many share it (SaTPEP: Velenis, Kalogeras and Maglaris 2002; `algorithms.md` §3.1, where its window law is
//! replaced).
//!
//! With rate C and round-trip time R, once C is known:
//!
//! - W = C · R / (8 MSS) segments, sent spaced at C;
//! - losses, timeouts included, change nothing: on such a leg they are errors.
//!
//! Before that, slow start from the initial window (RFC 5681).
//!
//! Not in the list of controls: it is nothing without the proxy that tells it C.
//!
//! Known limits: without an assignment it never slows down; R is the smallest round trip, so a path that grows longer
//! by far is not filled.

use crate::{AckSample, CcPhase, CcState, CongestionControl, CongestionEvent, PathHint, Segments, Start};
use skyhop_base::{Duration, Rate};

/// The window of an assigned rate.
#[derive(Clone, Debug)]
pub struct Assigned {
    cwnd: Segments,
    clamp: Segments,
    mss: u32,
    rate: Option<Rate>,
}

impl Assigned {
    pub fn new(start: Start) -> Assigned {
        Assigned { cwnd: start.cwnd, clamp: start.clamp, mss: start.mss, rate: None }
    }

    fn follow(&mut self, min_rtt: Option<Duration>) {
        if let (Some(rate), Some(rtt)) = (self.rate, min_rtt) {
            let window = rate.bps_f64() * rtt.as_secs_f64() / (8.0 * f64::from(self.mss));
            self.set_cwnd(window.min(self.clamp));
        }
    }
}

impl CongestionControl for Assigned {
    fn on_ack(&mut self, sample: &AckSample) {
        if self.rate.is_none() {
            let cwnd = self.cwnd + sample.growth.slow_start;
            self.set_cwnd(cwnd.min(self.clamp.max(self.cwnd)));
        }
        self.follow(sample.min_rtt);
    }

    fn on_measured(&mut self, sample: &AckSample) {
        self.follow(sample.min_rtt);
    }

    fn on_congestion(&mut self, _event: &CongestionEvent) {}

    fn on_path_hint(&mut self, hint: &PathHint) {
        if let PathHint::Assigned { rate } = hint {
            self.rate = Some(*rate);
        }
    }

    fn set_cwnd(&mut self, cwnd: Segments) {
        self.cwnd = cwnd.clamp(1.0, crate::window::LARGEST_WINDOW);
    }

    fn cwnd(&self) -> Segments {
        self.cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rate
    }

    fn state(&self) -> CcState {
        let phase = if self.rate.is_some() { CcPhase::Avoidance } else { CcPhase::SlowStart };
        CcState { ssthresh: f64::INFINITY, phase }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CongestionKind, Growth, Lost};
    use skyhop_base::Time;

    /// `algorithms.md` §3.1: 20 Mbit/s and 0.5275 s shared by four give each 329659 B.
    #[test]
    fn the_window_is_the_share_of_the_worked_example() {
        let text = include_str!("../../../tests/vectors/algorithms_vectors.json");
        let all: serde_json::Value = serde_json::from_str(text).unwrap();
        let example = all["vectors"].as_array().unwrap().iter().find(|v| v["name"] == "split_pep_window").unwrap();
        let number = |part: &str, key: &str| example[part][key].as_f64().unwrap();
        let start = Start { cwnd: 2.0, ssthresh: f64::INFINITY, clamp: f64::INFINITY, mss: 1000 };
        let mut control = Assigned::new(start);
        let share = number("inputs", "sat_capacity_bps") / number("inputs", "active_flows");
        control.on_path_hint(&PathHint::Assigned { rate: Rate::from_bps(share as u64).unwrap() });
        let rtt = Duration::from_secs_f64(number("inputs", "sat_rtt_s"));
        let sample = AckSample {
            now: Time::ZERO,
            newly_acked: 1.0,
            newly_reported: 0.0,
            growth: Growth { slow_start: 1.0, avoidance: 1.0 },
            latest_rtt: Some(rtt),
            smoothed_rtt: Some(rtt),
            min_rtt: Some(rtt),
            in_flight: 1.0,
            round: None,
            acknowledged: 1,
            delivered: 1,
            ecn_marked: 0.0,
            repairing: false,
            mss: 1000,
        };
        control.on_ack(&sample);
        let want = number("expected", "window_per_flow_bytes");
        assert!((control.cwnd() * 1000.0 - want).abs() < 0.01, "{} {want}", control.cwnd() * 1000.0);
        let event = CongestionEvent {
            now: Time::ZERO,
            kind: CongestionKind::Timeout(Lost::First),
            window: 10.0,
            in_flight: 10.0,
            smoothed_rtt: Some(rtt),
            min_rtt: Some(rtt),
            mss: 1000,
        };
        let before = control.cwnd();
        control.on_congestion(&event);
        assert_eq!(control.cwnd(), before, "a loss changes nothing");
    }
}
