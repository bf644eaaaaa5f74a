//! Totals of whole runs.

use super::table::{Row, Table};
use super::{Case, Cell, Limits, ValidateError};
use crate::Run;
use skyhop_sim::records::DropCause;
use std::path::Path;

/// Bounds of the comparison: shares of the reference, but for Jain's index.
const GOODPUT: f64 = 0.01;
const DROPS: f64 = 0.05;
/// So many drops more or fewer are within bounds however few there are.
const FEW_DROPS: f64 = 3.0;
const RTT: f64 = 0.02;
const JAIN: f64 = 0.03;

/// What both sides are reduced to: sums and means over flows, means over seeds.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    goodput_kbps: f64,
    drops: f64,
    rtt_mean_ms: f64,
    jain: f64,
}

pub fn compare(
    folder: &Path,
    case: &Case,
    agent: &str,
    runs: &[Run],
    cells: &mut Vec<Cell>,
) -> Result<(), ValidateError> {
    let table = Table::read(&folder.join(format!("summary_{}.csv", case.summary)))?;
    let mut theirs = Vec::new();
    for &seed in &case.seeds {
        let rows: Vec<Row> = table
            .rows()
            .filter(|row| is_of(row, agent) && row.text("seed") == seed.to_string())
            .filter(|row| row.text("type").is_empty() || row.text("type") == "tcp")
            .collect();
        if !rows.is_empty() {
            theirs.push(of_reference(&rows)?);
        }
    }
    if theirs.is_empty() {
        return Err(ValidateError::Scenario {
            case: case.name.clone(),
            agent: agent.to_owned(),
            reason: format!("summary_{}.csv has no row of this agent and these seeds", case.summary),
        });
    }
    let theirs = mean(&theirs);
    let ours = mean(&runs.iter().map(|run| of_run(run, case.duration_s)).collect::<Vec<_>>());
    let relative = |a: f64, b: f64| if a == b { 0.0 } else { (b - a).abs() / a.abs() };
    let mut push = |measure, reference, ours, difference, bound| {
        cells.push(Cell::of(case, agent, measure, [reference, ours], Limits { difference, bound }));
    };
    push(
        "goodput kbit/s",
        theirs.goodput_kbps,
        ours.goodput_kbps,
        relative(theirs.goodput_kbps, ours.goodput_kbps),
        GOODPUT,
    );
    let drops_bound = (DROPS * theirs.drops).max(FEW_DROPS);
    push("drops", theirs.drops, ours.drops, (ours.drops - theirs.drops).abs(), drops_bound);
    push("mean RTT ms", theirs.rtt_mean_ms, ours.rtt_mean_ms, relative(theirs.rtt_mean_ms, ours.rtt_mean_ms), RTT);
    if case.flows > 1 {
        push("Jain's index", theirs.jain, ours.jain, (ours.jain - theirs.jain).abs(), JAIN);
    }
    Ok(())
}

/// Whether a row belongs to the runs of an agent or a pair, which stands in a column of its own where the column of the
/// agent names that of the flow.
fn is_of(row: &Row, agent: &str) -> bool {
    match row.text("mix") {
        "" => row.text("agent") == agent,
        pair => pair == agent || row.text("agent") == agent && agent.contains('+'),
    }
}

fn of_reference(rows: &[Row]) -> Result<Totals, ValidateError> {
    let column = |name: &str| rows.iter().map(|row| row.number(name)).collect::<Result<Vec<f64>, _>>();
    let goodputs = column("goodput_kbps")?;
    let rtts: Vec<f64> = rows
        .iter()
        .map(|row| row.optional("rtt_mean_ms"))
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .flatten()
        .collect();
    Ok(Totals {
        goodput_kbps: goodputs.iter().sum(),
        drops: column("queue_drops")?.iter().sum(),
        rtt_mean_ms: rtts.iter().sum::<f64>() / (rtts.len().max(1) as f64),
        jain: skyhop_sim::jain(&goodputs).unwrap_or(1.0),
    })
}

fn of_run(run: &Run, duration_s: f64) -> Totals {
    let flows = &run.records.flows;
    // The reference divides by the run time, not by the flow's own.
    let goodputs: Vec<f64> = flows.iter().map(|f| f.bytes_delivered as f64 * 8.0 / duration_s / 1e3).collect();
    let measured: Vec<f64> = flows.iter().filter(|f| f.rtt.count > 0).map(|f| f.rtt.mean_s * 1e3).collect();
    Totals {
        goodput_kbps: goodputs.iter().sum(),
        drops: flows.iter().map(|f| f.drops[DropCause::Queue as usize] as f64).sum(),
        rtt_mean_ms: measured.iter().sum::<f64>() / (measured.len().max(1) as f64),
        jain: skyhop_sim::jain(&goodputs).unwrap_or(1.0),
    }
}

fn mean(all: &[Totals]) -> Totals {
    let n = all.len().max(1) as f64;
    let of = |field: fn(&Totals) -> f64| all.iter().map(field).sum::<f64>() / n;
    Totals {
        goodput_kbps: of(|t| t.goodput_kbps),
        drops: of(|t| t.drops),
        rtt_mean_ms: of(|t| t.rtt_mean_ms),
        jain: of(|t| t.jain),
    }
}
