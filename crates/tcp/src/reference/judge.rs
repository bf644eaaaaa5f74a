//! A case of recorded reactions from its row alone, and the verdict on a half or on both together.

use super::trace::Packet;
use super::{
    Difference, ReferenceError, Row, State, compare_both, compare_receiver, compare_sender, read_packets, read_states,
    read_windows,
};
use crate::path::PathDirection;
use crate::segment::Segment;
use skyhop_base::{Duration, Time};
use std::path::Path;

/// Which half of the connection is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Our sender is fed with the recorded ACKs.
    Sender,
    /// Our receiver is fed with the recorded data.
    Receiver,
    /// Both are ours, over the case's path.
    Both,
}

/// A packet on a time-sequence diagram. Numbers count from the first byte of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    pub at: Time,
    pub direction: PathDirection,
    pub seq: i64,
    pub len: u32,
    /// Starts below the highest byte sent before.
    pub again: bool,
    pub ack: Option<i64>,
}

impl Point {
    pub(super) fn of_data(at: Time, seq: u64, len: u32, again: bool) -> Point {
        Point { at, direction: PathDirection::Data, seq: seq as i64 - 1, len, again, ack: None }
    }

    pub(super) fn of_ack(at: Time, segment: &Segment) -> Point {
        let ack = segment.ack.map(|ack| ack as i64 - 1);
        Point { at, direction: PathDirection::Ack, seq: segment.seq as i64 - 1, len: segment.len, again: false, ack }
    }
}

/// The verdict on a case.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// Recorded packets of the half that was judged.
    pub packets: usize,
    pub equal: bool,
    /// Packets that a timer of the recording sent a jiffy later; they count as equal.
    pub late_timers: usize,
    /// The largest difference of times up to the first packet that differs.
    pub worst: Duration,
    /// What differs first in each respect, the earliest in time first.
    pub differences: Vec<(&'static str, Difference)>,
    /// The sender's state at the first difference: ours, and the recorded one.
    pub states: [Option<State>; 2],
    /// Why the case could not be built or run. Such a case is not equal.
    pub problem: Option<String>,
}

/// Builds the case of a row, runs it and compares. What cannot be built has a `problem`.
pub fn judge(folder: &Path, row: &Row, half: Half) -> Judged {
    try_judge(folder, row, half).unwrap_or_else(|problem| Judged { problem: Some(problem), ..Judged::default() })
}

fn try_judge(folder: &Path, row: &Row, half: Half) -> Result<Judged, String> {
    let case = row.case.as_ref().map_err(ToString::to_string)?;
    let words = |error: ReferenceError| error.to_string();
    let packets = read_packets(folder, &case.name).map_err(words)?;
    if packets.is_empty() {
        return Err(format!("{}.packets.csv.gz has no packets", case.name));
    }
    if half == Half::Receiver {
        let result = compare_receiver(case, &packets).map_err(words)?;
        let differences = sorted(&result.differences());
        return Ok(Judged {
            packets: result.packets,
            equal: differences.is_empty(),
            late_timers: result.late_timers,
            worst: result.largest,
            differences,
            ..Judged::default()
        });
    }
    let recorded = read_windows(folder, &case.name).map_err(words)?;
    let told = read_states(folder, &case.name).map_err(words)?;
    let (result, acks) = if half == Half::Sender {
        (compare_sender(case, &packets, &recorded, &told).map_err(words)?, None)
    } else {
        let both = compare_both(case, &packets, &recorded, &told).map_err(words)?;
        (both.sender, both.acks)
    };
    let mut all = result.differences().to_vec();
    all.push(("ACKs", &acks));
    let differences = sorted(&all);
    let states = differences.first().map_or([None, None], |(_, first)| {
        // Where one list has ended the other's time tells the moment.
        let at = |side: usize| first.at[side].or(first.at[1 - side]).unwrap_or(Time::MAX);
        [State::at(&result.seen, at(0)).copied(), State::at(&told, at(1)).copied()]
    });
    let acks_recorded = packets.iter().filter(|packet| packet.direction == PathDirection::Ack).count();
    Ok(Judged {
        packets: result.packets + if half == Half::Both { acks_recorded } else { 0 },
        equal: differences.is_empty(),
        late_timers: result.late_timers,
        worst: result.worst,
        differences,
        states,
        problem: None,
    })
}

fn sorted(all: &[(&'static str, &Option<Difference>)]) -> Vec<(&'static str, Difference)> {
    let mut differences: Vec<_> =
        all.iter().filter_map(|(name, difference)| Some((*name, (*difference).clone()?))).collect();
    differences.sort_by_key(|(_, difference)| difference.at.iter().flatten().min().copied());
    differences
}

/// Both sides' packets, for a diagram.
#[derive(Clone, Debug)]
pub struct Overlay {
    pub ours: Vec<Point>,
    pub recorded: Vec<Point>,
}

/// The packets of a case as ours sent them and as they were recorded.
pub fn overlay(folder: &Path, row: &Row, half: Half) -> Result<Overlay, String> {
    let case = row.case.as_ref().map_err(ToString::to_string)?;
    let words = |error: ReferenceError| error.to_string();
    let packets = read_packets(folder, &case.name).map_err(words)?;
    let ours = match half {
        Half::Receiver => compare_receiver(case, &packets).map_err(words)?.points,
        Half::Sender => {
            let recorded = read_windows(folder, &case.name).map_err(words)?;
            compare_sender(case, &packets, &recorded, &[]).map_err(words)?.points
        }
        Half::Both => {
            let recorded = read_windows(folder, &case.name).map_err(words)?;
            compare_both(case, &packets, &recorded, &[]).map_err(words)?.points
        }
    };
    let wanted = |packet: &&Packet| match half {
        Half::Sender => packet.direction == PathDirection::Data,
        Half::Receiver => packet.direction == PathDirection::Ack,
        Half::Both => true,
    };
    let recorded =
        packets.iter().filter(wanted).filter(|packet| packet.direction == PathDirection::Ack || packet.segment.len > 0);
    let recorded = recorded.map(|packet| match packet.direction {
        PathDirection::Data => Point::of_data(packet.entered, packet.segment.seq, packet.segment.len, packet.again),
        PathDirection::Ack => Point::of_ack(packet.entered, &packet.segment),
    });
    Ok(Overlay { ours, recorded: recorded.collect() })
}
