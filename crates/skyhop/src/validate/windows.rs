//! The congestion window over time, both sides sampled every 10 ms with the last value held.
//!
//! The reference keeps some 2000 instants of a run and every reduction, so between two of them its held value lags
//! behind a growing window. Ours is taken at the same instants and held in the same way: what differs is then the
//! window and not the thinning.

use super::table::Table;
use super::{Case, Cell, Limits, ValidateError};
use crate::records::{FlowSeriesRow, Records};
use std::path::Path;

const STEP_S: f64 = 0.01;
/// Step of our records: fine enough to find the window at an instant of the reference.
pub const RECORDED_STEP_S: f64 = 0.001;
/// Instants of the reference have five decimals.
const ROUNDING_S: f64 = 1e-5;
/// The first seconds, in which errors have had no time to grow.
const BEGINNING_S: f64 = 20.0;
const BEGINNING_RMS: f64 = 0.03;
const MEAN: f64 = 0.02;
const CUTS: f64 = 0.05;
const WHOLE_RMS: f64 = 0.10;

pub fn compare(
    folder: &Path,
    case: &Case,
    agent: &str,
    records: &Records,
    cells: &mut Vec<Cell>,
) -> Result<(), ValidateError> {
    let table = Table::read(&folder.join(format!("cwnd_{}.csv.gz", case.name)))?;
    let mut changes = Vec::new();
    for row in table.rows().filter(|row| row.text("agent") == agent && row.text("flow") == "0") {
        if row.text("seed") == case.seeds.first().map_or(String::new(), u64::to_string) {
            changes.push((row.number("time")?, row.number("cwnd")?));
        }
    }
    if changes.is_empty() {
        return Ok(());
    }
    let samples = (case.duration_s / STEP_S).round() as usize;
    let series = records.flow_series.iter().filter(|row| row.flow == 0);
    // ns-2's Vegas inflates its window itself, the other agents keep the inflation apart.
    let inflates = agent == "vegas";
    let window = |row: &FlowSeriesRow| Some(row.cwnd? + if inflates { f64::from(row.inflation?) } else { 0.0 });
    let recorded: Vec<(f64, f64)> = series.filter_map(|row| Some((row.time.as_secs_f64(), window(row)?))).collect();
    let theirs = hold(&changes, samples);
    let ours = hold(&at_instants_of(&changes, &recorded), samples);

    let mut push = |measure, reference, ours, difference, bound| {
        cells.push(Cell::of(case, agent, measure, [reference, ours], Limits { difference, bound }));
    };
    let begin = samples.min((BEGINNING_S / STEP_S) as usize);
    let mean_of = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let relative_rms = |a: &[f64], b: &[f64]| rms(a, b) / mean_of(a);
    let beginning = relative_rms(&theirs[..begin], &ours[..begin]);
    push("cwnd, first 20 s: rms", mean_of(&theirs[..begin]), mean_of(&ours[..begin]), beginning, BEGINNING_RMS);
    let (mean, mine) = (mean_of(&theirs), mean_of(&ours));
    push("cwnd: mean", mean, mine, (mine - mean).abs() / mean, MEAN);
    let (cuts, my_cuts) = (reductions(&theirs), reductions(&ours));
    push("cwnd: cuts", cuts, my_cuts, (my_cuts - cuts).abs(), (CUTS * cuts).max(1.0));
    let rtt_s = records.flows.first().map_or(0.0, |flow| flow.rtt.mean_s);
    let longest = ((rtt_s / STEP_S).ceil() as usize).min(samples / 2);
    let shifted = (0..=longest).flat_map(|by| {
        [relative_rms(&theirs[by..], &ours[..samples - by]), relative_rms(&theirs[..samples - by], &ours[by..])]
    });
    push("cwnd: rms, best shift", mean, mine, shifted.fold(f64::INFINITY, f64::min), WHOLE_RMS);
    Ok(())
}

/// Of a fine record, the value just after each instant of `changes`, which are rounded to [`ROUNDING_S`].
fn at_instants_of(changes: &[(f64, f64)], recorded: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let next = |time: f64| recorded.partition_point(|&(at, _)| at < time + ROUNDING_S).min(recorded.len() - 1);
    let value_after = |time: f64| recorded[next(time)].1;
    match recorded {
        [] => Vec::new(),
        _ => changes.iter().map(|&(time, _)| (time, value_after(time))).collect(),
    }
}

/// Values at 0, 10 ms, 20 ms, … from changes in order of time; before the first change the first value.
fn hold(changes: &[(f64, f64)], samples: usize) -> Vec<f64> {
    let mut next = 0;
    let mut value = changes.first().map_or(0.0, |&(_, value)| value);
    (0..samples)
        .map(|i| {
            let now = i as f64 * STEP_S + 1e-9;
            while let Some(&(time, new)) = changes.get(next).filter(|(time, _)| *time <= now) {
                debug_assert!(time <= now);
                value = new;
                next += 1;
            }
            value
        })
        .collect()
}

fn rms(a: &[f64], b: &[f64]) -> f64 {
    (a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / a.len().max(1) as f64).sqrt()
}

/// How often the sampled window went down by a cut rather than by a step: by more than one segment.
fn reductions(values: &[f64]) -> f64 {
    values.windows(2).filter(|pair| pair[1] < pair[0] - 1.0).count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_is_held() {
        assert_eq!(hold(&[(0.0, 1.0), (0.015, 3.0), (0.016, 4.0), (0.03, 2.0)], 5), [1.0, 1.0, 4.0, 2.0, 2.0]);
    }

    #[test]
    fn cuts_are_told_from_steps() {
        assert_eq!(reductions(&[5.0, 6.0, 3.0, 2.5, 4.0, 1.0]), 2.0);
    }
}
