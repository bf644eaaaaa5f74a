//! A run whose network is cut has the records of one that is whole.

use super::judge::simulation_of;
use super::mend;
use serde_json::Value as Json;
use skyhop::records::Records;
use skyhop::records_hash;
use skyhop_scenario::Scenario;
use skyhop_sim::{Division, Execution, Simulation};
use std::collections::BTreeMap;
use std::ops::Range;

/// Threads and parts of the runs that are compared with that of one thread.
pub const CUTS: [(usize, usize); 3] = [(1, 2), (2, 3), (1, 5)];

/// The outcome of the runs of one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It cannot be cut, for this reason.
    Whole(String),
    /// Runs in up to so many parts had the same records. With two parts, the heavier one of each window had so many
    /// events per thousand.
    Same { parts: usize, critical: u64 },
    /// The first difference.
    Differs(String),
    /// It is not a scenario, or has too many packets for a test.
    NotTried,
}

/// Runs of more packet-hops are not compared.
pub const MOST_HOPS: u64 = 3_000_000;

/// Compares the runs of a scenario, mended if it has to be.
pub fn compare(value: Json, seed: u64) -> Outcome {
    let Ok(mended) = mend::mend(value) else { return Outcome::NotTried };
    let Ok(scenario) = simulation_of(&mended.value) else { return Outcome::NotTried };
    compare_scenario(&scenario, seed, MOST_HOPS)
}

/// Compares the runs of a scenario.
pub fn compare_scenario(scenario: &Scenario, seed: u64, most_hops: u64) -> Outcome {
    let spec = scenario.simulation_spec();
    let cut = |(threads, parts)| Execution::with_parts(&spec, seed, threads, parts).expect("it was checked");
    let instant = |share: u64, of: u64| skyhop::Time::from_nanos(spec.duration.as_nanos() / of * share);
    let mut whole = Simulation::new(&spec, seed).expect("it was checked");
    for step in 1..=100 {
        whole.run_until(instant(step, 100));
        if whole.packet_hops() > most_hops {
            return Outcome::NotTried;
        }
    }
    whole.run_until(skyhop::Time::MAX);
    let whole = Run::of(whole.finish());
    let in_pieces = |execution| whole.difference(&Run::of(in_pieces(execution, |step| instant(step, PIECES))));
    if let Some(difference) = in_pieces(cut((1, 1))) {
        return Outcome::Differs(format!("one thread, rows taken in pieces: {difference}"));
    }
    let Division { reason, .. } = cut(CUTS[0]).division().clone();
    if let Some(reason) = reason {
        return Outcome::Whole(reason);
    }
    let (mut most, mut critical) = (0, 0);
    for cut_as in CUTS {
        let mut execution = cut(cut_as);
        // In steps, as a run that tells its progress.
        for step in 1..=7 {
            execution.run_until(instant(step, 7));
        }
        execution.run_until(skyhop::Time::MAX);
        let division = execution.division().clone();
        if let Some(reason) = division.reason {
            return Outcome::Differs(format!("{cut_as:?}: {reason}"));
        }
        most = most.max(division.parts);
        if cut_as == CUTS[0] {
            critical = division.critical_events * 1000 / whole.records.events.max(1);
        }
        if let Some(difference) = whole.difference(&Run::of(execution.finish())) {
            return Outcome::Differs(format!("{cut_as:?}, {} parts: {difference}", division.parts));
        }
        if let Some(difference) = in_pieces(cut(cut_as)) {
            return Outcome::Differs(format!("{cut_as:?}, rows taken in pieces: {difference}"));
        }
    }
    Outcome::Same { parts: most, critical }
}

/// So often rows are taken out of a run.
const PIECES: u64 = 23;

/// Runs to the end, takes every row as soon as it can be had, and puts them together again.
fn in_pieces(mut execution: Execution, instant: impl Fn(u64) -> skyhop::Time) -> Records {
    let mut taken = Records::default();
    for step in 1..=PIECES {
        execution.run_until(instant(step));
        execution.take_rows(1, |rows| append(&mut taken, rows));
    }
    execution.run_until(skyhop::Time::MAX);
    let rest = execution.finish();
    append(&mut taken, &rest);
    macro_rules! with_all_rows {
        ($($table:ident),*) => { Records { $($table: taken.$table,)* ..rest } };
    }
    with_all_rows!(
        drops,
        flow_series,
        link_series,
        flow_events,
        handovers,
        link_changes,
        paths,
        positions,
        transfers,
        pages,
        packets,
        sack_ranges,
        stream_pieces
    )
}

/// Appends the rows of a piece of a run.
fn append(all: &mut Records, piece: &Records) {
    macro_rules! extend {
        ($($table:ident),*) => { $(all.$table.extend(piece.$table.iter().cloned());)* };
    }
    extend!(drops, flow_series, link_series, flow_events, handovers, link_changes, paths, positions, transfers, pages);
    for row in &piece.packets {
        let mut row = row.clone();
        row.blocks = moved(&row.blocks, &piece.sack_ranges, &mut all.sack_ranges);
        row.pieces = moved(&row.pieces, &piece.stream_pieces, &mut all.stream_pieces);
        all.packets.push(row);
    }
}

/// Appends the values of a range to another list, and gives their range there.
fn moved<T: Clone>(range: &Range<u32>, from: &[T], to: &mut Vec<T>) -> Range<u32> {
    let begin = to.len() as u32;
    to.extend_from_slice(&from[range.start as usize..range.end as usize]);
    begin..to.len() as u32
}

/// The compared content of a run.
struct Run {
    records: Records,
    summary: Json,
}

impl Run {
    fn of(mut records: Records) -> Run {
        let summary = skyhop::summary(&records);
        // What packets refer to in the order of their rows, however it was written.
        let mut ordered = Records::default();
        append(&mut ordered, &records);
        (records.packets, records.sack_ranges, records.stream_pieces) =
            (ordered.packets, ordered.sack_ranges, ordered.stream_pieces);
        Run { records, summary }
    }

    fn difference(&self, other: &Run) -> Option<String> {
        let (a, b) = (&self.records, &other.records);
        macro_rules! compare {
            ($($field:ident),*) => {$(
                let (x, y) = (format!("{:?}", a.$field), format!("{:?}", b.$field));
                if x != y {
                    let at = x.bytes().zip(y.bytes()).position(|(x, y)| x != y).unwrap_or(x.len().min(y.len()));
                    let around = |text: &str| {
                        String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(250)..text.len().min(at + 150)])
                            .into_owned()
                    };
                    return Some(format!("{}:\n  {}\n  {}", stringify!($field), around(&x), around(&y)));
                }
            )*};
        }
        compare!(
            flows,
            links,
            drops,
            drops_left_out,
            flow_events,
            transfers,
            handovers,
            link_changes,
            paths,
            positions,
            packets,
            sack_ranges,
            stream_pieces,
            calls,
            messages,
            videos,
            workload_transfers,
            workloads,
            pages,
            jain,
            conservation,
            flow_series,
            link_series,
            warnings,
            total,
            packet_hops,
            events,
            end
        );
        if self.summary != other.summary {
            return Some("the summary".to_owned());
        }
        (records_hash(a) != records_hash(b)).then(|| "the hash of the records".to_owned())
    }
}

/// How many scenarios came to each end; reasons without numbers and names.
#[derive(Debug, Default)]
pub struct Tally(pub BTreeMap<String, u64>);

impl Tally {
    pub fn add(&mut self, outcome: &Outcome) {
        let what = match outcome {
            Outcome::Whole(reason) => {
                let quoted = reason.split('"').enumerate().filter(|(at, _)| at % 2 == 0).map(|(_, text)| text);
                format!("whole: {}", quoted.collect::<String>())
            }
            Outcome::Same { parts, .. } => format!("same, up to {parts} parts"),
            Outcome::Differs(_) => "DIFFERENT".to_owned(),
            Outcome::NotTried => "not tried".to_owned(),
        };
        *self.0.entry(what).or_default() += 1;
    }
}
