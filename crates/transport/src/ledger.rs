//! What a sender remembers of segments in flight.
//!
//! - [`Ledger`]: one record per segment in flight. Few senders need it (Vegas, and controls that measure the RTT by the
//!   last acknowledged segment), so the others do not keep one: it would cost every segment of every flow.
//! - [`Retransmissions`]: one record per segment that was sent again and is not known to have arrived. Its size is that
//!   of the losses, not that of the window.
//! - The [`Scoreboard`](crate::Scoreboard) has what the receiver reported, as ranges.

use crate::segment::Transmission;
use skyhop_base::Time;
use std::collections::{BTreeMap, VecDeque};

/// A segment in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// When it was sent last.
    pub(crate) sent: Time,
    /// How often it was sent.
    pub(crate) times: u32,
}

/// One record for every segment from the first unacknowledged one to the highest one sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    records: VecDeque<Record>,
    /// The segment of the first record.
    first: u32,
}

impl Ledger {
    /// A segment leaves.
    pub(crate) fn record(&mut self, now: Time, seq: u32) {
        if self.records.is_empty() {
            self.first = seq;
        }
        let Some(index) = seq.checked_sub(self.first) else { return };
        match self.records.get_mut(index as usize) {
            Some(record) => *record = Record { sent: now, times: record.times + 1 },
            None => self.records.push_back(Record { sent: now, times: 1 }),
        }
    }

    pub(crate) fn get(&self, seq: u32) -> Option<Record> {
        self.records.get(seq.checked_sub(self.first)? as usize).copied()
    }

    pub(crate) fn get_mut(&mut self, seq: u32) -> Option<&mut Record> {
        self.records.get_mut(seq.checked_sub(self.first)? as usize)
    }

    /// The records of all segments before `una`, ascending.
    pub(crate) fn before(&self, una: u32) -> impl Iterator<Item = (u32, Record)> {
        let count = (una.saturating_sub(self.first) as usize).min(self.records.len());
        (self.first..).zip(self.records.range(..count).copied())
    }

    /// Removes every segment before `una`. Returns when the last of them was sent, and whether any of them was a
    /// retransmission.
    pub(crate) fn acknowledge(&mut self, una: u32) -> Option<(Time, Transmission)> {
        let count = (una.saturating_sub(self.first) as usize).min(self.records.len());
        self.first = una;
        let mut last = None;
        let mut transmission = Transmission::First;
        for record in self.records.drain(..count) {
            if record.times > 1 {
                transmission = Transmission::Again;
            }
            last = Some(record.sent);
        }
        last.map(|sent| (sent, transmission))
    }
}

/// A segment that was sent again and is not known to have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Retransmission {
    /// One past the highest segment sent before it. A report of that segment or a later one means that the
    /// retransmission was lost, because the later one overtook it.
    pub(crate) edge: u32,
    /// Counts the retransmissions of the connection.
    pub(crate) order: u32,
    /// It was lost again and does not count in flight.
    pub(crate) lost: bool,
}

/// Retransmissions by segment. Each enters and leaves once, so the cost of an ACK does not grow with the window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Retransmissions {
    segments: BTreeMap<u32, Retransmission>,
    /// Retransmissions since the connection opened.
    sent: u32,
}

impl Retransmissions {
    /// A segment leaves again; `edge` is one past the highest segment sent before.
    pub(crate) fn record(&mut self, seq: u32, edge: u32) {
        self.segments.insert(seq, Retransmission { edge, order: self.sent, lost: false });
        self.sent += 1;
    }

    pub(crate) fn get(&self, seq: u32) -> Option<&Retransmission> {
        self.segments.get(&seq)
    }

    pub(crate) fn lowest(&self) -> Option<&Retransmission> {
        self.segments.first_key_value().map(|(_, retransmission)| retransmission)
    }

    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Ascending by segment.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Retransmission)> {
        self.segments.iter().map(|(&seq, retransmission)| (seq, retransmission))
    }

    /// Keeps those for which `keeps` says so; asks in ascending order.
    pub(crate) fn retain(&mut self, mut keeps: impl FnMut(u32, &mut Retransmission) -> bool) {
        self.segments.retain(|&seq, retransmission| keeps(seq, retransmission));
    }

    /// All segments from `start` to before `end` have arrived.
    pub(crate) fn remove(&mut self, start: u32, end: u32) {
        while let Some(seq) = self.segments.range(start..end).next().map(|(&seq, _)| seq) {
            self.segments.remove(&seq);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.segments.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_secs_f64(millis as f64 / 1e3)
    }

    #[test]
    fn a_record_counts_transmissions_until_it_is_acknowledged() {
        let mut ledger = Ledger::default();
        for seq in 5..8 {
            ledger.record(at(u64::from(seq)), seq);
        }
        ledger.record(at(20), 6);
        assert_eq!(ledger.get(6), Some(Record { sent: at(20), times: 2 }));
        assert_eq!(ledger.before(7).map(|(seq, record)| (seq, record.times)).collect::<Vec<_>>(), [(5, 1), (6, 2)]);
        assert_eq!(ledger.acknowledge(6), Some((at(5), Transmission::First)));
        assert_eq!(ledger.acknowledge(8), Some((at(7), Transmission::Again)), "6 was sent twice");
        assert_eq!((ledger.acknowledge(8), ledger.get(7)), (None, None));
        ledger.record(at(30), 8);
        assert_eq!(ledger.get(8), Some(Record { sent: at(30), times: 1 }));
    }

    #[test]
    fn a_second_retransmission_replaces_the_first() {
        let mut sent_again = Retransmissions::default();
        sent_again.record(3, 10);
        sent_again.record(7, 10);
        sent_again.record(3, 12);
        assert_eq!(sent_again.get(3), Some(&Retransmission { edge: 12, order: 2, lost: false }));
        assert_eq!(sent_again.lowest().map(|lowest| lowest.order), Some(2));
        sent_again.remove(0, 7);
        assert_eq!(sent_again.iter().map(|(seq, _)| seq).collect::<Vec<_>>(), [7]);
    }
}
