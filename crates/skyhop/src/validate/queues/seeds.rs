//! Means over seeds beside the reference's (`seeds_summary.csv`).

use super::super::table::Table;
use super::{Mean, ValidateError};
use skyhop_queue::Ecn;
use skyhop_queue::replay::{End, OfferedPacket, ReplayOutcome};
use std::path::Path;

/// Distance of two means in standard errors that is still equal.
const ERRORS: f64 = 3.0;
/// Or so much of the reference's mean, where that is more: some spreads are 0.
const SHARE: f64 = 0.01;

/// The reference's mean of one measure of one case.
pub struct Summary {
    case: String,
    metric: String,
    seeds: f64,
    mean: f64,
    deviation: f64,
}

impl Summary {
    pub fn is_of(&self, case: &str) -> bool {
        self.case == case
    }
}

/// A folder without the file has no random case to compare.
pub fn read(folder: &Path) -> Result<Vec<Summary>, ValidateError> {
    let path = folder.join("seeds_summary.csv");
    if !path.exists() {
        return Ok(Vec::new());
    }
    Table::read(&path)?
        .rows()
        .map(|row| {
            Ok(Summary {
                case: row.text("case").to_owned(),
                metric: row.text("metric").to_owned(),
                seeds: row.number("seeds")?,
                mean: row.number("mean")?,
                deviation: row.number("sd")?,
            })
        })
        .collect()
}

/// Each measure of one case over the runs. A measure that we do not know, or cannot take, is not within its bound.
pub fn compare(arrivals: &[OfferedPacket], runs: &[Vec<ReplayOutcome>], summaries: &[&Summary]) -> Vec<Mean> {
    summaries
        .iter()
        .map(|summary| {
            let values: Vec<f64> =
                runs.iter().filter_map(|outcomes| measure(&summary.metric, arrivals, outcomes)).collect();
            let ours = values.iter().sum::<f64>() / values.len() as f64;
            let spread = summary.deviation * (1.0 / summary.seeds + 1.0 / values.len() as f64).sqrt();
            let bound = (ERRORS * spread).max(SHARE * summary.mean.abs());
            let ok = (ours - summary.mean).abs() <= bound;
            Mean { metric: summary.metric.clone(), reference: summary.mean, ours, bound, ok }
        })
        .collect()
}

/// A measure by the reference's name; `None` for a name that is not known.
fn measure(metric: &str, arrivals: &[OfferedPacket], outcomes: &[ReplayOutcome]) -> Option<f64> {
    let count =
        |wanted: &dyn Fn(&ReplayOutcome) -> bool| outcomes.iter().filter(|outcome| wanted(outcome)).count() as f64;
    match metric {
        "drop_enqueue" => return Some(count(&|outcome| matches!(outcome.end, End::DroppedAtEnqueue(_)))),
        "drop_dequeue" => return Some(count(&|outcome| matches!(outcome.end, End::DroppedAtDequeue(_)))),
        _ => {}
    }
    let (part, what) = metric.split_once('_')?;
    let flow = part.strip_prefix("flow").and_then(|number| number.parse::<u32>().ok());
    let takes = |arrival: &OfferedPacket| match part {
        "all" => true,
        "c" => matches!(arrival.packet.ecn, Ecn::NotEct | Ecn::Ect0),
        "l" => matches!(arrival.packet.ecn, Ecn::Ect1 | Ecn::Ce),
        _ => flow == Some(arrival.packet.flow),
    };
    let chosen = || arrivals.iter().zip(outcomes).filter(|(arrival, _)| takes(arrival));
    let delivered = || chosen().filter(|(_, outcome)| outcome.end == End::Delivered);
    let sojourns = || {
        let mut sojourns: Vec<u64> = delivered().map(|(a, outcome)| outcome.at.since(a.at).as_nanos()).collect();
        sojourns.sort_unstable();
        sojourns
    };
    Some(match what {
        "n" => chosen().count() as f64,
        "drops" => chosen().filter(|(_, outcome)| !matches!(outcome.end, End::Delivered | End::Waiting)).count() as f64,
        // A packet that was marked and dropped after all brings nobody its mark.
        "marks" => delivered().filter(|(_, outcome)| outcome.marked).count() as f64,
        "delivered" => delivered().count() as f64,
        "bytes" => delivered().map(|(arrival, _)| f64::from(arrival.packet.bytes)).sum(),
        "p50" => percentile(&sojourns(), 0.50)?,
        "p95" => percentile(&sojourns(), 0.95)?,
        "p99" => percentile(&sojourns(), 0.99)?,
        "max" => percentile(&sojourns(), 1.00)?,
        _ => return None,
    })
}

/// The nearest rank of (n − 1) p, halves up.
pub fn percentile(sorted: &[u64], p: f64) -> Option<f64> {
    let rank = ((sorted.len() as f64 - 1.0) * p + 0.5).max(0.0) as usize;
    sorted.get(rank).map(|&value| value as f64)
}
