//! Whole flows of our Linux TCP beside those of the kernel: each measure against its bound.

use super::ValidateError;
use serde::Serialize;
use skyhop_tcp::reference::{JudgedFlow, judge_flow, read_flow_rows};
use std::path::Path;

/// A run beside its recording.
#[derive(Clone, Debug, Serialize)]
pub struct FlowCase {
    pub run: String,
    /// The line of `cases.csv`, from 1.
    pub line: usize,
    pub measures: Vec<FlowMeasure>,
    /// Files of the recording that are not there; the measures that need them are not taken.
    pub missing: Vec<String>,
    /// Why the run could not be built. It keeps no bound then.
    pub problem: Option<String>,
    pub ok: bool,
}

/// One measure of a run.
#[derive(Clone, Debug, Serialize)]
pub struct FlowMeasure {
    /// With the flow in front where several share the path.
    pub measure: String,
    /// Least and largest over the recorded runs.
    pub reference: (f64, f64),
    /// Not finite where the measure could not be taken; JSON writes null then.
    pub ours: f64,
    /// Distance of ours from the recorded range, and how far it may be, in the measure's unit.
    pub difference: f64,
    pub bound: f64,
    pub ok: bool,
}

/// Runs the rows of a folder's `cases.csv`, or those named, in its order.
///
/// A row that cannot be built stands in the answer with its problem.
pub fn flows(folder: &Path, only: &[String]) -> Result<Vec<FlowCase>, ValidateError> {
    let rows = read_flow_rows(folder).map_err(|error| ValidateError::Reference { reason: error.to_string() })?;
    let path = folder.join("cases.csv").display().to_string();
    if let Some(name) = only.iter().find(|name| !rows.iter().any(|row| row.name == **name)) {
        return Err(ValidateError::Read { path, reason: format!("it has no run \"{name}\"") });
    }
    if rows.is_empty() {
        return Err(ValidateError::Read { path, reason: "it has no runs".to_owned() });
    }
    let chosen = rows.iter().filter(|row| only.is_empty() || only.contains(&row.name));
    let found = chosen.map(|row| {
        let (judged, problem) = match judge_flow(folder, row) {
            Ok(judged) if judged.measures.is_empty() => {
                (judged, Some(format!("targets.csv has no measure of \"{}\" that has a bound", row.group)))
            }
            Ok(judged) => (judged, None),
            Err(problem) => (JudgedFlow::default(), Some(problem)),
        };
        let measures: Vec<FlowMeasure> = judged
            .measures
            .into_iter()
            .map(|one| FlowMeasure {
                ok: one.ok(),
                measure: one.name,
                reference: one.reference,
                ours: one.ours,
                difference: one.difference,
                bound: one.bound,
            })
            .collect();
        let ok = problem.is_none() && measures.iter().all(|measure| measure.ok);
        FlowCase { run: row.name.clone(), line: row.line, measures, missing: judged.missing, problem, ok }
    });
    Ok(found.collect())
}
