//! Event lists at the bottleneck: the same packets in the same order at the same time.

use super::table::Table;
use super::{Case, Cell, ValidateError};
use crate::records::Records;
use std::collections::BTreeMap;
use std::path::Path;

/// The resolution of ns-2's wired traces. Times agree when they differ by no more, and events of the reference that
/// are at most this far apart may stand in either order.
const RESOLUTION_S: f64 = 1e-6;
/// A reference time is rounded, ours is exact.
const ROUNDING_S: f64 = 1e-9;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Event {
    time_s: f64,
    flow: u32,
    /// -1: an ACK for nothing.
    seq: i64,
}

pub fn compare(
    folder: &Path,
    case: &Case,
    agent: &str,
    records: &Records,
    cells: &mut Vec<Cell>,
) -> Result<(), ValidateError> {
    let table = Table::read(&folder.join(format!("events_{}_{agent}.csv.gz", case.name)))?;
    // Near the end of the list a packet may stand on either side of the edge by rounding alone.
    let until = case.events_until_s - 10.0 * RESOLUTION_S;
    let mut reference: BTreeMap<&str, Vec<Event>> = BTreeMap::new();
    for row in table.rows() {
        let event =
            Event { time_s: row.number("time")?, flow: row.number("flow")? as u32, seq: row.number("seq")? as i64 };
        if event.time_s < until {
            reference.entry(row.text("event")).or_default().push(event);
        }
    }
    for kind in &case.events_kinds {
        let ours: Vec<Event> = records
            .packets
            .iter()
            .filter(|row| row.event.name() == kind && row.time.as_secs_f64() < until)
            .map(|row| Event { time_s: row.time.as_secs_f64(), flow: row.flow, seq: row.seq.map_or(-1, i64::from) })
            .collect();
        let reference = reference.remove(kind.as_str()).unwrap_or_default();
        let (difference, detail) = match first_difference(&reference, &ours) {
            Ok(worst_s) => (worst_s / RESOLUTION_S, None),
            Err(detail) => (f64::INFINITY, Some(detail)),
        };
        cells.push(Cell {
            case: case.name.clone(),
            agent: agent.to_owned(),
            measure: measure_of(kind),
            reference: reference.len() as f64,
            ours: ours.len() as f64,
            difference,
            bound: 1.0,
            ok: detail.is_none(),
            detail,
        });
    }
    Ok(())
}

fn measure_of(kind: &str) -> &'static str {
    match kind {
        "enq" => "events: enq",
        "deq" => "events: deq",
        "drop" => "events: drop",
        "loss" => "events: loss",
        "rcv" => "events: rcv",
        "ack" => "events: ack",
        _ => "events: other",
    }
}

/// The largest difference in time, s, or the first place where the lists part, in words.
fn first_difference(reference: &[Event], ours: &[Event]) -> Result<f64, String> {
    let mut worst = 0.0f64;
    let mut start = 0;
    while start < reference.len() {
        let mut end = start + 1;
        while end < reference.len() && reference[end].time_s - reference[end - 1].time_s <= RESOLUTION_S + ROUNDING_S {
            end += 1;
        }
        let Some(group) = ours.get(start..end) else {
            let next = reference[ours.len().max(start).min(reference.len() - 1)];
            return Err(format!(
                "ours ends before event {}: flow {} seq {} at {:.6} s",
                start + 1,
                next.flow,
                next.seq,
                next.time_s
            ));
        };
        let mut theirs: Vec<Event> = reference[start..end].to_vec();
        let mut group: Vec<Event> = group.to_vec();
        if theirs.len() > 1 {
            let key = |event: &Event| (event.flow, event.seq);
            theirs.sort_by_key(key);
            group.sort_by_key(key);
        }
        for (theirs, mine) in theirs.iter().zip(&group) {
            let apart = (theirs.time_s - mine.time_s).abs();
            if (theirs.flow, theirs.seq) != (mine.flow, mine.seq) || apart > RESOLUTION_S + ROUNDING_S {
                return Err(format!(
                    "event {}: theirs flow {} seq {} at {:.6} s, ours flow {} seq {} at {:.9} s",
                    start + 1,
                    theirs.flow,
                    theirs.seq,
                    theirs.time_s,
                    mine.flow,
                    mine.seq,
                    mine.time_s
                ));
            }
            worst = worst.max(apart);
        }
        start = end;
    }
    match ours.get(reference.len()) {
        None => Ok(worst),
        Some(extra) => Err(format!(
            "theirs ends after {} events; ours goes on with flow {} seq {} at {:.9} s",
            reference.len(),
            extra.flow,
            extra.seq,
            extra.time_s
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(list: &[(f64, i64)]) -> Vec<Event> {
        list.iter().map(|&(time_s, seq)| Event { time_s, flow: 0, seq }).collect()
    }

    #[test]
    fn only_events_closer_than_the_resolution_may_change_places() {
        let reference = events(&[(1.0, 1), (2.0, 2), (2.000001, 3), (3.0, 4)]);
        assert!(first_difference(&reference, &reference).is_ok());
        let swapped = events(&[(1.0, 1), (2.0, 3), (2.000001, 2), (3.0, 4)]);
        assert!(first_difference(&reference, &swapped).is_ok());
        let wrong = events(&[(1.0, 2), (2.0, 1), (2.000001, 3), (3.0, 4)]);
        assert!(first_difference(&reference, &wrong).unwrap_err().starts_with("event 1:"));
    }

    #[test]
    fn a_late_a_missing_and_an_extra_event_are_differences() {
        let reference = events(&[(1.0, 1), (2.0, 2)]);
        assert!(first_difference(&reference, &events(&[(1.0, 1), (2.000002, 2)])).is_err());
        assert!(first_difference(&reference, &events(&[(1.0, 1)])).is_err());
        assert!(first_difference(&reference, &events(&[(1.0, 1), (2.0, 2), (3.0, 3)])).is_err());
        assert!(first_difference(&reference, &events(&[])).is_err());
    }
}
