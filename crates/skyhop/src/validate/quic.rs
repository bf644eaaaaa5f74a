//! QUIC stacks in virtual time beside the same stacks in real time, case by case.
//!
//! `skyhop_quic::lab` builds each case from its row of `cases.csv` and judges it; this module runs the cases and makes
//! rows of the verdicts. A build without a stack skips the cases of that stack and says so.

use super::ValidateError;
use serde::Serialize;
use skyhop_quic::StackKind;
use skyhop_quic::lab::cases::{self, Case};
use skyhop_quic::lab::compare::{CaseResult, Seeds, compare};
use skyhop_quic::lab::judge::Check;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Share of the compared cases that should lie within all bounds.
pub const QUIC_AIM: f64 = 0.9;

/// One case beside the reference.
#[derive(Clone, Debug, Serialize)]
pub struct QuicCase {
    pub case: String,
    pub mechanism: String,
    pub stack: String,
    pub figures: Vec<QuicFigure>,
    /// Our runs, over all seeds.
    pub runs: u32,
    /// Those of our runs in which a connection died.
    pub deaths: u32,
    /// The reference's connection died.
    pub died: bool,
    /// Each of our runs lives or dies as the reference's.
    pub survival_right: bool,
    /// This build has not the stack.
    pub skipped: Option<String>,
    /// Why the case could not be run; such a case is not within its bounds.
    pub problem: Option<String>,
    /// Every figure is within its bound.
    pub ok: bool,
}

/// One figure of a case.
#[derive(Clone, Debug, Serialize)]
pub struct QuicFigure {
    pub name: String,
    /// The median over our seeds; absent when no run has the figure.
    pub ours: Option<f64>,
    /// The smallest and the largest value among the reference's repeats.
    pub seen: [f64; 2],
    /// What the bound allows. Absent: no bound.
    pub allowed: Option<[f64; 2]>,
    pub ok: bool,
}

impl From<&Check> for QuicFigure {
    fn from(check: &Check) -> QuicFigure {
        let bounded = check.low.is_finite() && check.high.is_finite();
        QuicFigure {
            name: check.name.clone(),
            ours: check.ours,
            seen: [check.seen.0, check.seen.1],
            allowed: bounded.then_some([check.low, check.high]),
            ok: check.ok,
        }
    }
}

impl QuicCase {
    fn of(case: &Case, found: Result<CaseResult, String>) -> QuicCase {
        let flows = case.runs.iter().flat_map(|run| &run.flows);
        let stack = flows.map(|flow| flow.stack.as_str()).next().unwrap_or_default().to_owned();
        let mut row = QuicCase {
            case: case.name.clone(),
            mechanism: case.mechanism.clone(),
            stack,
            figures: Vec::new(),
            runs: 0,
            deaths: 0,
            died: false,
            survival_right: false,
            skipped: None,
            problem: None,
            ok: false,
        };
        match found {
            Err(problem) => row.problem = Some(problem),
            Ok(verdict) => {
                row.ok = verdict.within();
                row.survival_right = verdict.skipped.is_none() && verdict.survival_right();
                row.figures = verdict.checks.iter().map(QuicFigure::from).collect();
                (row.runs, row.deaths, row.died) = (verdict.runs, verdict.deaths, verdict.died);
                row.skipped = verdict.skipped;
            }
        }
        row
    }
}

/// The QUIC stacks of this build, by name.
pub fn quic_stacks() -> Vec<&'static str> {
    StackKind::ALL.into_iter().filter(|stack| stack.is_built()).map(StackKind::name).collect()
}

/// Runs the cases of a QUIC reference folder, or those named, in the order of its `cases.csv`. `seeds`: runs for each
/// case; without it ten where the congestion control draws random numbers and five elsewhere.
///
/// # Errors
/// A folder that cannot be read; a name that is not among its cases. A case that cannot be run is a row with its
/// problem.
pub fn quic(folder: &Path, only: &[String], seeds: Option<u32>) -> Result<Vec<QuicCase>, ValidateError> {
    let path = folder.join("cases.csv").display().to_string();
    let list = cases::read(folder).map_err(|error| ValidateError::Reference { reason: error.to_string() })?;
    if let Some(name) = only.iter().find(|name| !list.iter().any(|case| case.name == **name)) {
        return Err(ValidateError::Read { path, reason: format!("it has no case \"{name}\"") });
    }
    let wanted: Vec<&Case> = list.iter().filter(|case| only.is_empty() || only.contains(&case.name)).collect();
    let seeds = seeds.map_or_else(Seeds::default, |count| Seeds { random: count, others: count });
    // Cases take from a tenth of a second to half a minute, so each thread takes the next one when it is done.
    let next = AtomicUsize::new(0);
    let work = || {
        let mut rows = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = wanted.get(index) else { return rows };
            let found = compare(folder, case, seeds).map_err(|error| error.to_string());
            rows.push((index, QuicCase::of(case, found)));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(wanted.len());
    let mut rows: Vec<(usize, QuicCase)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.flatten().collect()
    });
    rows.sort_by_key(|(index, _)| *index);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}
