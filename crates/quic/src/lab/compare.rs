//! Runs a case with several seeds and judges it against the reference's repeats.

use super::cases::{self, Case, Flow, Measured, Run};
use super::judge::{Bounds, Check, bounds};
use super::run::{FlowOutcome, Habits, Outcome, Packet, run, run_start};
use super::{LabError, cases::StartPacket};
use crate::StackKind;
use std::path::Path;

/// How many seeds a comparison takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// For congestion controls that draw random numbers.
    pub random: u32,
    /// For the others: only the phases of timers and the latencies of processes differ.
    pub others: u32,
}

impl Default for Seeds {
    /// The reference asks for at least ten where the control is random.
    fn default() -> Self {
        Seeds { random: 10, others: 5 }
    }
}

/// The verdict on a case.
#[derive(Clone, Debug)]
pub struct CaseResult {
    pub case: String,
    pub mechanism: String,
    /// Empty: skipped, because this build has not the stack.
    pub checks: Vec<Check>,
    /// Why the case was skipped.
    pub skipped: Option<String>,
    /// A connection of the reference died in one of its runs.
    pub died: bool,
    /// Our runs, and those in which a connection died.
    pub deaths: u32,
    pub runs: u32,
    /// Our runs that died where all of the reference's lived, or lived where all of them died.
    pub wrong_survivals: u32,
}

impl CaseResult {
    pub fn within(&self) -> bool {
        self.skipped.is_none() && self.checks.iter().all(|check| check.ok)
    }

    /// Whether every run lives or dies as the reference's.
    pub fn survival_right(&self) -> bool {
        self.skipped.is_none() && self.wrong_survivals == 0
    }
}

/// Compares the case of `folder` under the habits of the reference's runtime.
pub fn compare(folder: &Path, case: &Case, seeds: Seeds) -> Result<CaseResult, LabError> {
    if let Some(problem) = &case.problem {
        return Err(LabError::Unbuilt(problem.clone()));
    }
    let flows = &case.runs[0].flows;
    let mut verdict = CaseResult {
        case: case.name.clone(),
        mechanism: case.mechanism.clone(),
        checks: Vec::new(),
        skipped: None,
        died: case.runs.iter().any(lost),
        deaths: 0,
        runs: 0,
        wrong_survivals: 0,
    };
    let bounds = bounds(case);
    let count = if bounds.random { seeds.random } else { seeds.others };
    let replays = groups(case);
    for group in &replays {
        let mut outcomes = Vec::new();
        for seed in 1..=u64::from(count.max(1)) {
            match run(case, group[0], Habits::Tokio, seed) {
                None => {
                    let built = |flow: &&Flow| flow.stack.parse::<StackKind>().is_ok_and(StackKind::is_built);
                    let absent = flows.iter().find(|flow| !built(flow)).unwrap_or(&flows[0]);
                    verdict.skipped = Some(format!("this build has not the stack {}", absent.stack));
                    return Ok(verdict);
                }
                Some(outcome) => outcomes.push(outcome?),
            }
        }
        verdict.runs += outcomes.len() as u32;
        let deaths = outcomes.iter().filter(|outcome| outcome.flows.iter().any(died)).count() as u32;
        verdict.deaths += deaths;
        // Repeats of the reference with both ends say that chance decides.
        verdict.wrong_survivals += match group.iter().filter(|run| lost(run)).count() {
            0 => deaths,
            all if all == group.len() => outcomes.len() as u32 - deaths,
            _ => 0,
        };
        for flow in 0..flows.len() {
            let ours: Vec<&FlowOutcome> = outcomes.iter().map(|outcome| &outcome.flows[flow]).collect();
            let measured: Vec<&Measured> = group.iter().map(|run| &run.flows[flow].measured).collect();
            let label = label(case, group[0], flow, replays.len());
            judge_flow(&mut verdict.checks, &label, &bounds, &ours, &measured);
            let first = group[0].number == case.runs[0].number;
            if first && flow == 0 {
                first_drop(folder, case, &bounds, &outcomes, &mut verdict.checks)?;
            }
        }
    }
    verdict.checks.push(Check::equal("runs that live or die wrongly", f64::from(verdict.wrong_survivals), 0.0));
    if let Some(reference) = cases::start(folder, &case.name)? {
        verdict.checks.push(start(case, &reference)?);
    }
    Ok(verdict)
}

/// A connection of the reference's run died.
fn lost(run: &Run) -> bool {
    run.flows.iter().any(|flow| !flow.measured.error.is_empty())
}

fn died(flow: &FlowOutcome) -> bool {
    flow.death.is_some()
}

/// The reference's repeats that met the same path: all of them without random loss, else those of one seed.
fn groups(case: &Case) -> Vec<Vec<&Run>> {
    let mut groups: Vec<Vec<&Run>> = Vec::new();
    for run in &case.runs {
        let same = |group: &&mut Vec<&Run>| case.loss == 0.0 || group[0].seed == run.seed;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    groups
}

fn label(case: &Case, run: &Run, flow: usize, groups: usize) -> String {
    let mut label = String::new();
    if groups > 1 {
        label = format!(" (losses of seed {})", run.seed);
    }
    if case.runs[0].flows.len() > 1 {
        label += &format!(" of flow {flow} ({})", run.flows[flow].control);
    }
    label
}

/// The middle of our runs; an even number of them gives the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

/// The one of our runs that comes nearest to the reference's.
fn nearest(values: Vec<f64>, reference: &[f64]) -> Option<f64> {
    let distance = |value: f64| reference.iter().map(|seen| (value - seen).abs()).fold(f64::INFINITY, f64::min);
    values.into_iter().min_by(|a, b| distance(*a).total_cmp(&distance(*b)))
}

fn judge_flow(checks: &mut Vec<Check>, label: &str, bounds: &Bounds, ours: &[&FlowOutcome], measured: &[&Measured]) {
    let dead = measured.iter().all(|measured| !measured.error.is_empty());
    let mut add =
        |name: &str, bound: f64, value: &dyn Fn(&FlowOutcome) -> Option<f64>, of: &dyn Fn(&Measured) -> Option<f64>| {
            let reference: Vec<f64> = measured.iter().filter_map(|measured| of(measured)).collect();
            if reference.is_empty() {
                return;
            }
            let values: Vec<f64> = ours.iter().filter_map(|flow| value(flow)).collect();
            let figure = if bounds.few { nearest(values, &reference) } else { median(values) };
            checks.push(Check::within(format!("{name}{label}"), figure, &reference, bound));
        };
    if !dead {
        add("completion", bounds.completion, &|flow| flow.completion_s, &|measured| measured.completion_s);
        add("goodput", bounds.goodput, &|flow| flow.goodput_bps, &|measured| measured.goodput_bps);
    } else {
        add("time of death", bounds.death, &|flow| Some(flow.death.as_ref()?.0), &|measured| time_of(&measured.error));
    }
    add("packets", bounds.packets, &|flow| Some(flow.sent_packets), &|measured| measured.sent_packets);
    add("mean RTT", bounds.rtt, &|flow| flow.mean_rtt_ms, &|measured| measured.mean_rtt_ms);
    if let Some(bound) = bounds.drops {
        add("tail drops", bound, &|flow| Some(flow.tail_drops), &|measured| measured.tail_drops);
    }
    if dead {
        let words = reason(&measured[0].error);
        let right =
            ours.iter().filter(|flow| flow.death.as_ref().is_some_and(|(_, text)| reason(text) == words)).count();
        checks.push(Check::equal(format!("words of death{label}"), right as f64, ours.len() as f64));
    }
}

/// The time in the reference's text of an error: `client close_reason at 8.758: …`.
fn time_of(error: &str) -> Option<f64> {
    let rest = error.split(" at ").nth(1)?;
    rest.split(':').next()?.trim().parse().ok()
}

/// The text between quotes after `reason:`, in the stack's words.
fn reason(text: &str) -> Option<&str> {
    text.split("reason: \"").nth(1)?.split('"').next()
}

fn first_drop(
    folder: &Path,
    case: &Case,
    bounds: &Bounds,
    outcomes: &[Outcome],
    checks: &mut Vec<Check>,
) -> Result<(), LabError> {
    // Where the control is random, the first drop is, too; with several flows the ordinal counts all of them.
    if bounds.random {
        return Ok(());
    }
    let Some((time, ordinal)) = cases::first_tail_drop(folder, &case.name)? else { return Ok(()) };
    let shift = case.runs[0].flows[0].measured.first_packet_s;
    let ours = |what: fn(&(f64, f64), f64) -> f64| {
        let first = |outcome: &Outcome| {
            let start = outcome.start.first().map_or(0.0, |packet| packet.at.as_secs_f64());
            outcome.flows[0].first_tail_drop.as_ref().map(|drop| what(drop, start))
        };
        median(outcomes.iter().filter_map(first).collect())
    };
    checks.push(Check::near("first tail drop (s)", ours(|drop, start| drop.0 - start), time - shift, 0.020));
    checks.push(Check::near("first tail drop (packet)", ours(|drop, _| drop.1), ordinal, 20.0));
    Ok(())
}

/// A few bytes of the handshake's packets depend on the certificate and on the signature.
const HANDSHAKE_SLACK: u64 = 4;

/// Beginnings to try: which of two events within some 100 µs comes first is chance, here as there.
const BEGINNINGS: u64 = 40;

/// How many packets at the start agree in order, direction and length: all up to the first one that a timer released,
/// with one of the seeds.
fn start(case: &Case, reference: &[StartPacket]) -> Result<Check, LabError> {
    let first = reference.first().map_or(0.0, |packet| packet.t_in_s);
    let same = |(ours, theirs): &(&Packet, &StartPacket)| {
        // The handshake's packets are those of the first second; full ones have their fixed length.
        let handshake = theirs.t_in_s < first + 1.0 && theirs.length < 1228;
        let slack = if handshake { HANDSHAKE_SLACK } else { 0 };
        ours.data == theirs.data && ours.flow == theirs.flow && ours.length.abs_diff(theirs.length) <= slack
    };
    let mut best = (0, 1);
    for seed in 1..=BEGINNINGS {
        let Some(ours) = run_start(case, &case.runs[0], seed) else { break };
        let ours = ours?;
        let until = ours.iter().position(|packet| packet.by_timer).unwrap_or(ours.len()).min(reference.len());
        let equal = ours.iter().zip(reference).take_while(same).count().min(until);
        if equal == until {
            best = (equal, until);
            break;
        }
        if equal > best.0 {
            best = (equal, until);
        }
    }
    Ok(Check::equal("packets at the start", best.0 as f64, best.1 as f64))
}
