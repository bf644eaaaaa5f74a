//! What a control reads, found by trying: an option of the transport that decides only what a control does not read has
//! no effect.

use crate::{
    AckSample, CongestionControl, CongestionEvent, CongestionKind, ControlConfig, Growth, LossSample, Lost, Round,
    SentSample, Start,
};
use skyhop_base::{Duration, Segments, Time};

/// Something that an option of the transport decides and a control may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Samples of the RTT and the smallest of them.
    Rtt,
    /// By how much an ACK may grow the window.
    Growth,
    /// Whether an ACK may grow the window at all.
    MayGrow,
    /// The amount that a cut is taken from.
    CutBase,
    /// The slow-start threshold before the first loss.
    FirstThreshold,
}

impl Input {
    /// Each of them once.
    pub const ALL: [Input; 5] = [Input::Rtt, Input::Growth, Input::MayGrow, Input::CutBase, Input::FirstThreshold];
}

/// Windows, in segments, in which a control is tried: below and above what switches rules on (16 for HyStart, 38 for
/// HighSpeed, 41 for Compound).
const WINDOWS: [Segments; 5] = [4.0, 20.0, 90.0, 700.0, 9000.0];

/// Rounds of ACKs in each window before and after a cut, with more delay from round to round.
const ROUNDS: u32 = 12;

impl ControlConfig {
    /// The inputs on which the windows of this control do not depend, in a script of slow start, avoidance, losses,
    /// marks and timeouts in small and large windows. A control from outside may read everything.
    pub fn unread(&self) -> Vec<Input> {
        if self.is_outside() {
            return Vec::new();
        }
        let usual = self.windows(None);
        Input::ALL.into_iter().filter(|input| self.windows(Some(*input)) == usual).collect()
    }

    /// The windows and thresholds in the script, as bits, with another value of one input.
    fn windows(&self, other: Option<Input>) -> Vec<[u64; 2]> {
        let is_other = |input| other == Some(input);
        let kinds = [
            CongestionKind::Loss(Lost::First),
            CongestionKind::Ecn,
            CongestionKind::Loss(Lost::Again),
            CongestionKind::Timeout(Lost::First),
            CongestionKind::Timeout(Lost::Again),
        ];
        let mut seen = Vec::new();
        for (window, first_threshold) in WINDOWS.iter().flat_map(|window| [(*window, f64::INFINITY), (*window, 8.0)]) {
            let ssthresh = if is_other(Input::FirstThreshold) { 3.0 } else { first_threshold };
            let mut control = self.start(Start { cwnd: 2.0, ssthresh, clamp: f64::INFINITY, mss: 1460 });
            let mut script = Script {
                now: Time::ZERO,
                acknowledged: 0,
                other_rtt: is_other(Input::Rtt),
                other_growth: is_other(Input::Growth),
                stops_growth: is_other(Input::MayGrow),
            };
            for kind in kinds {
                script.rounds(&mut control, &mut seen);
                control.set_cwnd(window);
                script.rounds(&mut control, &mut seen);
                let in_flight = control.cwnd();
                control.on_lost(&LossSample { now: script.now, lost: 1.0, in_flight });
                control.on_congestion(&CongestionEvent {
                    now: script.now,
                    kind,
                    window: in_flight * if is_other(Input::CutBase) { 0.6 } else { 0.9 },
                    in_flight,
                    smoothed_rtt: Some(Duration::from_millis(70)),
                    min_rtt: Some(script.min_rtt()),
                    mss: 1460,
                });
                note(&control, &mut seen);
                control.on_recovered();
                note(&control, &mut seen);
            }
        }
        seen
    }
}

fn note(control: &impl CongestionControl, seen: &mut Vec<[u64; 2]>) {
    seen.push([control.cwnd().to_bits(), control.state().ssthresh.to_bits()]);
}

/// The smallest RTT of the script, ms.
const LEAST_RTT_MS: u64 = 300;

/// The course of a script.
struct Script {
    now: Time,
    acknowledged: u64,
    other_rtt: bool,
    other_growth: bool,
    /// Every fourth ACK finds the window unused.
    stops_growth: bool,
}

impl Script {
    /// An RTT that grows with `queueing`, ms. In the other course it falls, because some controls read signs alone, and
    /// by another share, which H-TCP reads where it is between 0.5 and 0.8.
    fn rtt(&self, queueing: u64) -> Duration {
        Duration::from_millis(if self.other_rtt { 550 - 2 * queueing } else { LEAST_RTT_MS + queueing })
    }

    fn min_rtt(&self) -> Duration {
        Duration::from_millis(if self.other_rtt { LEAST_RTT_MS + 30 } else { LEAST_RTT_MS })
    }

    /// Rounds of eight ACKs of two segments.
    fn rounds(&mut self, control: &mut impl CongestionControl, seen: &mut Vec<[u64; 2]>) {
        for round in 0..ROUNDS {
            let began = self.now;
            for ack in 0..8 {
                self.now = self.now.saturating_add(Duration::from_millis(9));
                self.acknowledged += 2;
                let in_flight = control.cwnd();
                control.on_sent(&SentSample { now: self.now, in_flight });
                let growth = match ack % 4 {
                    0 if self.stops_growth => 0.0,
                    _ if self.other_growth => 1.0,
                    _ => 2.0,
                };
                let sample = AckSample {
                    now: self.now,
                    newly_acked: 2.0,
                    newly_reported: 0.0,
                    growth: Growth { slow_start: growth, avoidance: growth },
                    latest_rtt: Some(self.rtt(u64::from(round) * 8 + ack)),
                    smoothed_rtt: Some(Duration::from_millis(70)),
                    min_rtt: Some(self.min_rtt()),
                    in_flight,
                    round: (ack == 7).then_some(Round { began, sent: 16 }),
                    acknowledged: self.acknowledged,
                    delivered: self.acknowledged,
                    ecn_marked: 0.0,
                    repairing: false,
                    mss: 1460,
                };
                control.on_ack(&sample);
                control.on_measured(&AckSample { growth: Growth { slow_start: 0.0, avoidance: 0.0 }, ..sample });
                note(control, seen);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Input::{CutBase, FirstThreshold, Growth, MayGrow, Rtt};
    use crate::{Bundle, ControlSpec};

    /// What each control reads, by its paper's formulas.
    #[test]
    fn a_control_reads_what_its_formulas_name() {
        for (name, unread) in [
            ("reno", vec![Rtt]),
            ("bic", vec![Rtt, CutBase]),
            ("highspeed", vec![Rtt]),
            ("scalable", vec![Rtt]),
            ("naive_reno", vec![Rtt, Growth]),
            ("vegas", vec![Growth, MayGrow]),
            ("yam", vec![CutBase, FirstThreshold]),
            ("westwood", vec![CutBase]),
            ("westwood+", vec![CutBase]),
            ("tibet", vec![CutBase]),
            ("cubic", vec![]),
            ("compound", vec![]),
            ("illinois", vec![]),
            ("yeah", vec![]),
            ("veno", vec![]),
            ("htcp", vec![]),
            ("hybla", vec![]),
            ("fast", vec![]),
            ("lp", vec![]),
        ] {
            let config = ControlSpec::named(name).unwrap().resolve(Bundle::Rfc).unwrap();
            assert_eq!(config.unread(), unread, "{name}");
        }
    }
}
