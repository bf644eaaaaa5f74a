//! The bounds of the comparison, and one figure held to its bound.

use super::cases::Case;
use crate::Application;

/// One figure of ours against the reference's range.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    pub name: String,
    /// The median of our runs; `None`: none of them has the figure.
    pub ours: Option<f64>,
    /// The reference's repeats, widened by the bound.
    pub low: f64,
    pub high: f64,
    /// The reference's repeats as they are.
    pub seen: (f64, f64),
    pub ok: bool,
}

/// Counts below this are compared by difference: a share of a handful says nothing.
const HANDFUL: f64 = 20.0;
/// The difference that a handful may have.
const HANDFUL_SLACK: f64 = 3.0;

impl Check {
    /// Within `bound` (a share) of the range of `reference`.
    pub fn within(name: String, ours: Option<f64>, reference: &[f64], bound: f64) -> Check {
        let low = reference.iter().copied().fold(f64::INFINITY, f64::min);
        let high = reference.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let slack = if name.starts_with("tail drops") && high <= HANDFUL { HANDFUL_SLACK } else { 0.0 };
        Check::range(name, ours, (low, high), (low * (1.0 - bound) - slack, high * (1.0 + bound) + slack))
    }

    /// Within `slack` of `reference`.
    pub fn near(name: impl Into<String>, ours: Option<f64>, reference: f64, slack: f64) -> Check {
        Check::range(name.into(), ours, (reference, reference), (reference - slack, reference + slack))
    }

    pub fn equal(name: impl Into<String>, ours: f64, reference: f64) -> Check {
        Check::near(name, Some(ours), reference, 0.0)
    }

    fn range(name: String, ours: Option<f64>, seen: (f64, f64), (low, high): (f64, f64)) -> Check {
        Check { name, ours, low, high, seen, ok: ours.is_some_and(|ours| low <= ours && ours <= high) }
    }

    /// How far ours is from the reference's range, as a share; zero inside of it.
    pub fn distance(&self) -> Option<f64> {
        let ours = self.ours?;
        let off = (self.seen.0 - ours).max(ours - self.seen.1).max(0.0);
        Some(if off == 0.0 { 0.0 } else { off / self.seen.0.abs().max(f64::MIN_POSITIVE) })
    }
}

/// The bounds for a case, as shares.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// A control of the case draws random numbers.
    pub random: bool,
    /// A run has a few dozen packets. Which packet number a stack skips at random decides there whether
    /// acknowledgements go one by one or in pairs until the end, so the reference's runs are compared with the nearest
    /// of ours, not with the median.
    pub few: bool,
    pub completion: f64,
    pub goodput: f64,
    pub packets: f64,
    pub rtt: f64,
    /// `None`: no bound on the drops.
    pub drops: Option<f64>,
    pub death: f64,
}

/// The largest difference between the reference's repeats, in percent, from the table of its README: mechanism, random
/// control, then completion, goodput, packets sent, tail drops, mean RTT. Only rows whose repeats met the same path.
const SPREADS: [(&str, bool, [f64; 5]); 16] = [
    ("gaps", true, [4.8, 4.8, 0.042, 0.022, 3.4]),
    ("gaps", false, [0.027, 2.0, 5.1, 0.027, 2.0]),
    ("geo", true, [5.9, 5.9, 0.1, 3.7, 0.24]),
    ("geo", false, [0.2, 0.2, 0.081, 0.0, 0.11]),
    ("handover", true, [0.0, 11.0, 29.0, 190.0, 1.1]),
    ("handover", false, [0.0, 0.028, 0.031, 0.55, 0.0]),
    ("latency", false, [0.039, 0.0, 16.0, 0.0, 0.068]),
    ("medium", true, [7.6, 7.5, 9.7, 120.0, 5.0]),
    ("medium", false, [0.21, 0.21, 0.014, 7.8, 0.54]),
    ("sharing", true, [0.0, 17.0, 18.0, 37.0, 3.8]),
    ("sharing", false, [0.0, 11.0, 11.0, 13.0, 0.93]),
    ("short", true, [1.8, 1.7, 58.0, 210.0, 1.3]),
    ("short", false, [0.14, 0.14, 0.068, 2.0, 0.57]),
    ("upload", false, [0.45, 0.45, 0.18, 0.92, 0.14]),
    ("window", true, [5.5, 5.5, 0.038, 0.0, 1.6]),
    ("window", false, [0.18, 0.25, 0.48, 1.9, 0.16]),
];

/// The bounds of the comparison for `case`: those of the reference's README, or the spread between its own repeats
/// where that is larger.
pub fn bounds(case: &Case) -> Bounds {
    let flows = || case.runs.iter().flat_map(|run| &run.flows);
    let has = |name: &str| flows().any(|flow| flow.control == name);
    let random = has("bbr") || has("bbr3");
    let row = SPREADS.iter().find(|(mechanism, kind, _)| *mechanism == case.mechanism && *kind == random);
    // With replayed losses the spread of other losses says nothing.
    let spread = row.filter(|_| case.loss == 0.0).map_or([0.0; 5], |row| row.2);
    let larger = |percent: f64, index: usize| percent.max(spread[index]) / 100.0;
    if random {
        // The README gives no bound on the packets that a random control sends, and none on the drops of quinn's bbr.
        // Each lost packet is sent again, so the packets may differ as the drops do.
        // Its row of spreads mixes quinn's bbr with bbr3, so the README's own bound for bbr3 holds.
        let drops = (!has("bbr")).then_some(0.25);
        return Bounds {
            random,
            few: false,
            completion: larger(10.0, 0),
            goodput: larger(10.0, 1),
            packets: f64::INFINITY,
            rtt: larger(5.0, 4),
            drops,
            death: 0.05,
        };
    }
    // One loss more or less at the end moves a run with random losses by more.
    let loss = if case.loss > 0.0 { 3.0 } else { 1.0 };
    let few = flows().any(|flow| matches!(flow.application, Application::Requests { .. }));
    // The reference's own spread where a run has few packets, which also holds with replayed losses.
    let requests = if few { 16.0 } else { 0.5 };
    Bounds {
        random,
        few,
        completion: larger(loss, 0),
        goodput: larger(loss, 1),
        packets: larger(if case.loss > 0.0 { loss.max(requests) } else { requests }, 2),
        rtt: larger(2.0, 4),
        drops: Some(larger(2.0, 3)),
        death: 0.05,
    }
}
