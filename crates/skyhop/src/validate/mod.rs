//! Runs the cases of a reference folder and compares, measure by measure, with what another simulator did there.
//!
//! A folder holds `cases.csv`, which describes each case by machine, `summary_<case>.csv`, and for some cases
//! `cwnd_<case>.csv.gz` and `events_<case>_<agent>.csv.gz`. Nothing here knows a case by name: any folder of the
//! kind can be read.

mod cases;
mod events;
mod flows;
mod queues;
mod quic;
mod reactions;
mod summary;
mod table;
mod windows;

pub use cases::Case;
pub use flows::{FlowCase, FlowMeasure, flows};
pub use queues::{Difference, Mean, Outcome, QueueCase, Totals, queues};
pub use quic::{QUIC_AIM, QuicCase, QuicFigure, quic, quic_stacks};
pub use reactions::{Part, ReactionCase, reaction_points, reactions};
pub use skyhop_queue::Variant;
pub use skyhop_tcp::reference::Half;

use crate::{Error, Progress, Run, RunOptions};
use serde::Serialize;
use skyhop_scenario::Scenario;
use std::path::Path;

/// One measure of one agent in one case.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    pub case: String,
    pub agent: String,
    pub measure: &'static str,
    pub reference: f64,
    pub ours: f64,
    /// In the measure's own terms (a share, a count, an index, microseconds), to be held against `bound`.
    pub difference: f64,
    pub bound: f64,
    pub ok: bool,
    /// Where the two part, when they do.
    pub detail: Option<String>,
}

/// How far a measure is from the reference, and how far it may be.
struct Limits {
    difference: f64,
    bound: f64,
}

impl Cell {
    /// A measure that is a number: within its bound when `difference` is not above it.
    fn of(case: &Case, agent: &str, measure: &'static str, [reference, ours]: [f64; 2], limits: Limits) -> Cell {
        let Limits { difference, bound } = limits;
        let ok = difference <= bound;
        let (case, agent) = (case.name.clone(), agent.to_owned());
        Cell { case, agent, measure, reference, ours, difference, bound, ok, detail: None }
    }

    /// How near to its bound the cell is; above 1 it is broken.
    pub fn strain(&self) -> f64 {
        if self.ok {
            (self.difference / self.bound).clamp(0.0, 1.0)
        } else if self.bound > 0.0 && self.difference.is_finite() {
            (self.difference / self.bound).max(1.0 + f64::EPSILON)
        } else {
            f64::INFINITY
        }
    }
}

/// Why a reference folder cannot be compared with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ValidateError {
    #[error("{path}: {reason}")]
    Read { path: String, reason: String },
    /// A folder of recordings, in the words of the crate that reads it.
    #[error("{reason}")]
    Reference { reason: String },
    #[error("{path}, row {row}, column {column}: {reason}")]
    Value { path: String, row: usize, column: String, reason: String },
    #[error("case {case}, agent {agent}: {reason}")]
    Scenario { case: String, agent: String, reason: String },
    #[error("case {case}: {reason}")]
    Case { case: String, reason: String },
    #[error("case {case}, agent {agent}: {source}")]
    Run { case: String, agent: String, source: Error },
}

/// Which of the cases to run.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Empty: all.
    pub cases: Vec<String>,
    /// Empty: all.
    pub agents: Vec<String>,
}

impl Selection {
    fn takes(&self, case: &str, agent: &str) -> bool {
        let among = |list: &[String], name: &str| list.is_empty() || list.iter().any(|entry| entry == name);
        among(&self.cases, case) && among(&self.agents, agent)
    }
}

/// The cases of a reference folder.
pub fn cases(folder: &Path) -> Result<Vec<Case>, ValidateError> {
    cases::read(&folder.join("cases.csv"))
}

/// Runs every selected case of an ns-2 reference folder and gives all cells, worst first.
pub fn ns2(folder: &Path, selection: &Selection) -> Result<Vec<Cell>, ValidateError> {
    let mut cells = Vec::new();
    for case in cases(folder)? {
        for agent in case.agents.iter().filter(|agent| selection.takes(&case.name, agent)) {
            cells.extend(compare(folder, &case, agent)?);
        }
    }
    cells.sort_by(|a, b| b.strain().total_cmp(&a.strain()));
    Ok(cells)
}

fn compare(folder: &Path, case: &Case, agent: &str) -> Result<Vec<Cell>, ValidateError> {
    let mut cells = Vec::new();
    let runs = case.seeds.iter().map(|&seed| run(case, agent, seed)).collect::<Result<Vec<_>, _>>()?;
    summary::compare(folder, case, agent, &runs, &mut cells)?;
    if let Some(first) = runs.first() {
        if case.has_events(agent) {
            events::compare(folder, case, agent, &first.records, &mut cells)?;
        }
        if case.has_windows {
            windows::compare(folder, case, agent, &first.records, &mut cells)?;
        }
    }
    Ok(cells)
}

fn run(case: &Case, agent: &str, seed: u64) -> Result<Run, ValidateError> {
    let (name, agent_name) = (case.name.clone(), agent.to_owned());
    let scenario = Scenario::from_json(&case.scenario(agent, seed), "reference", &[]).map_err(|diagnostics| {
        ValidateError::Scenario { case: name.clone(), agent: agent_name.clone(), reason: diagnostics.to_string() }
    })?;
    crate::run(&scenario, &RunOptions::with_seed(seed), &Progress::new()).map_err(|source| ValidateError::Run {
        case: name,
        agent: agent_name,
        source,
    })
}
