//! Our Linux TCP beside the kernel's, packet by packet, where listed packets were lost, marked, delayed or doubled.
//!
//! `cases.csv` defines each case; `<case>.packets.csv.gz`, `.cwnd.csv.gz` and, where they lie there, `.state.csv.gz`
//! are the recording. `skyhop_tcp::reference` builds, runs and compares; nothing here or there knows a case by name.

use super::ValidateError;
use serde::Serialize;
use skyhop_tcp::path::PathDirection;
use skyhop_tcp::reference::{Half, Judged, Point, Row, judge, overlay, read_rows};
use std::path::Path;

/// A case as one half of the connection, or both, did it.
#[derive(Clone, Debug, Serialize)]
pub struct ReactionCase {
    pub case: String,
    pub mechanism: String,
    /// The line of `cases.csv`, from 1.
    pub line: usize,
    /// "sender", "receiver" or "both".
    pub half: &'static str,
    /// Recorded packets of the half.
    pub packets: usize,
    pub equal: bool,
    /// Packets that a timer of the recording sent a jiffy (4 ms) later; they count as equal.
    pub late_timers: usize,
    /// The largest difference of times up to the first packet that differs, in seconds.
    pub worst_s: f64,
    /// Each respect in which the two differ, and the first place, in words; the earliest in time first.
    pub differences: Vec<(String, String)>,
    /// The sender's state at the earliest: ours, and the kernel's.
    pub states: [Option<String>; 2],
    /// Why the case could not be built or run; it is not equal then.
    pub problem: Option<String>,
}

fn name(half: Half) -> &'static str {
    match half {
        Half::Sender => "sender",
        Half::Receiver => "receiver",
        Half::Both => "both",
    }
}

fn rows(folder: &Path, only: &[String]) -> Result<Vec<Row>, ValidateError> {
    let path = folder.join("cases.csv").display().to_string();
    let read = |reason: String| ValidateError::Read { path: path.clone(), reason };
    // The reader's own words name the file.
    let rows = read_rows(folder).map_err(|error| ValidateError::Reference { reason: error.to_string() })?;
    if let Some(name) = only.iter().find(|name| !rows.iter().any(|row| row.name == **name)) {
        return Err(read(format!("it has no case \"{name}\"")));
    }
    if rows.is_empty() {
        return Err(read("it has no cases".to_owned()));
    }
    Ok(rows.into_iter().filter(|row| only.is_empty() || only.contains(&row.name)).collect())
}

/// Runs the cases of a folder, or those named, each as every half of `halves`; in the order of `cases.csv`.
///
/// A row that cannot be built stands in the answer as a case that is not equal.
pub fn reactions(folder: &Path, only: &[String], halves: &[Half]) -> Result<Vec<ReactionCase>, ValidateError> {
    let mut found = Vec::new();
    for row in rows(folder, only)? {
        for &half in halves {
            let Judged { packets, equal, late_timers, worst, differences, states, problem } = judge(folder, &row, half);
            found.push(ReactionCase {
                case: row.name.clone(),
                mechanism: row.mechanism.clone(),
                line: row.line,
                half: name(half),
                packets,
                equal,
                late_timers,
                worst_s: worst.as_secs_f64(),
                differences: differences.into_iter().map(|(what, first)| (what.to_owned(), first.words)).collect(),
                states: states.map(|state| state.map(|state| state.to_string())),
                problem,
            });
        }
    }
    Ok(found)
}

/// One side's packets of a case, for a time-sequence diagram.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Part {
    /// Data: time in s, first byte, bytes, whether it starts below the highest byte sent before.
    pub data: Vec<(f64, i64, u32, bool)>,
    /// ACKs: time in s, number.
    pub acks: Vec<(f64, i64)>,
}

impl Part {
    fn of(points: &[Point]) -> Part {
        let at = |point: &Point| point.at.as_secs_f64();
        let data = points.iter().filter(|p| p.direction == PathDirection::Data).map(|p| (at(p), p.seq, p.len, p.again));
        let acks = points.iter().filter(|p| p.direction == PathDirection::Ack).filter_map(|p| Some((at(p), p.ack?)));
        Part { data: data.collect(), acks: acks.collect() }
    }
}

/// The packets of a case: ours, and the recorded ones.
pub fn reaction_points(folder: &Path, case: &str, half: Half) -> Result<[Part; 2], ValidateError> {
    let rows = rows(folder, &[case.to_owned()])?;
    let both =
        overlay(folder, &rows[0], half).map_err(|reason| ValidateError::Case { case: case.to_owned(), reason })?;
    Ok([Part::of(&both.ours), Part::of(&both.recorded)])
}
