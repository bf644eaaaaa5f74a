//! The record of every segment in flight, in order of sequence, and threaded through it the order of sending.

use std::collections::VecDeque;

use crate::segment::Seq;

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// Retransmitted, and the retransmission has neither arrived nor been given up.
const REPEATED: u8 = 4;
const EVER_REPEATED: u8 = 8;
const APP_LIMITED: u8 = 16;
/// It ends a write.
const PUSH: u8 = 64;
/// Joined to the segment before it.
const MERGED: u8 = 32;

/// Where a list ends.
const NIL: u64 = u64::MAX;

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub start: Seq,
    len: u32,
    flags: u8,
    linked: bool,
    /// It was sent in one burst with the segment before it, and is retransmitted with it.
    pub follows: bool,
    /// When it was sent last.
    pub sent_us: u64,
    /// For samples of the delivery rate, as it stood when the segment was sent: when the first packet of the sample was
    /// sent, when the last delivery was known ([`Record::TAKEN`] once the sample is taken), how much was delivered.
    pub first_sent_us: u64,
    pub delivered_us: u64,
    pub delivered: u64,
    /// When it was sent: segments in flight with it, and segments lost so far.
    pub in_flight: u32,
    pub lost: u64,
    earlier: u64,
    later: u64,
}

impl Record {
    pub const TAKEN: u64 = u64::MAX;

    pub fn new(start: Seq, len: u32, sent_us: u64) -> Record {
        Record {
            start,
            len,
            flags: 0,
            linked: false,
            follows: false,
            sent_us,
            first_sent_us: 0,
            delivered_us: Record::TAKEN,
            delivered: 0,
            in_flight: 0,
            lost: 0,
            earlier: NIL,
            later: NIL,
        }
    }

    /// The numbers that it takes: bytes, or one for a SYN.
    pub fn len(&self) -> u32 {
        self.len
    }

    pub fn end(&self) -> Seq {
        self.start + u64::from(self.len)
    }

    pub fn set_len(&mut self, len: u32) {
        self.len = len;
    }

    /// Becomes the next one of its burst, of the same length.
    pub fn follow(&mut self) {
        self.start = self.end();
        self.follows = true;
        self.in_flight += 1;
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn set(&mut self, flag: u8, on: bool) {
        if on { self.flags |= flag } else { self.flags &= !flag }
    }

    pub fn is_sacked(&self) -> bool {
        self.has(SACKED)
    }

    pub fn set_sacked(&mut self, on: bool) {
        self.set(SACKED, on);
    }

    pub fn is_lost(&self) -> bool {
        self.has(LOST)
    }

    pub fn set_lost(&mut self, on: bool) {
        self.set(LOST, on);
    }

    pub fn is_repeated(&self) -> bool {
        self.has(REPEATED)
    }

    pub fn set_repeated(&mut self, on: bool) {
        self.set(REPEATED, on);
    }

    pub fn was_repeated(&self) -> bool {
        self.has(EVER_REPEATED)
    }

    pub fn set_ever_repeated(&mut self) {
        self.set(EVER_REPEATED, true);
    }

    /// Sent more than once.
    pub fn is_retransmitted(&self) -> bool {
        self.has(REPEATED | EVER_REPEATED)
    }

    /// Sent once, and neither reported nor taken for lost.
    pub fn is_usual(&self) -> bool {
        self.flags & (SACKED | LOST | REPEATED | EVER_REPEATED | MERGED) == 0
    }

    pub fn is_app_limited(&self) -> bool {
        self.has(APP_LIMITED)
    }

    pub fn set_app_limited(&mut self, on: bool) {
        self.set(APP_LIMITED, on);
    }

    pub fn is_push(&self) -> bool {
        self.has(PUSH)
    }

    pub fn set_push(&mut self, on: bool) {
        self.set(PUSH, on);
    }

    pub fn is_merged(&self) -> bool {
        self.has(MERGED)
    }
}

/// Names a record as long as it is in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(u64);

/// All segments in flight.
#[derive(Clone, Debug)]
pub struct Ledger {
    records: VecDeque<Record>,
    /// The id of the first record.
    base: u64,
    /// Where the list by time of sending may differ from the order of sequence: up to the record before this id. Where
    /// all records lie behind it, the list is that order, and neither its ends nor its links are kept.
    scattered_to: u64,
    /// The ends of the list by time of sending. SACKed segments and those given up are not on it.
    earliest: u64,
    latest: u64,
}

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger { records: VecDeque::new(), base: 0, scattered_to: 0, earliest: NIL, latest: NIL }
    }
}

impl Ledger {
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub fn get(&self, id: Id) -> &Record {
        &self.records[(id.0 - self.base) as usize]
    }

    pub fn get_mut(&mut self, id: Id) -> &mut Record {
        &mut self.records[(id.0 - self.base) as usize]
    }

    /// The id of the next record.
    fn end(&self) -> u64 {
        self.base + self.records.len() as u64
    }

    /// Adds the segment sent last.
    #[inline(always)]
    pub fn push(&mut self, record: Record) -> Id {
        let id = Id(self.end());
        self.records.push_back(record);
        if self.is_scattered() {
            self.append(id);
        }
        id
    }

    pub fn first(&self) -> Option<Id> {
        (!self.records.is_empty()).then_some(Id(self.base))
    }

    /// The record of the lowest sequence.
    pub fn front(&self) -> Option<&Record> {
        self.records.front()
    }

    fn is_scattered(&self) -> bool {
        self.base < self.scattered_to
    }

    /// The list is about to leave the order of sequence.
    fn scatter(&mut self) {
        let (base, end) = (self.base, self.end());
        if !self.is_scattered() {
            // From here on the links are kept.
            for (record, id) in self.records.iter_mut().zip(base..) {
                record.linked = true;
                record.earlier = if id == base { NIL } else { id - 1 };
                record.later = if id + 1 == end { NIL } else { id + 1 };
            }
            (self.earliest, self.latest) = if base == end { (NIL, NIL) } else { (base, end - 1) };
        }
        self.scattered_to = end;
    }

    /// Memory beside the ledger itself, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        (self.records.capacity() * size_of::<Record>()) as u64
    }

    pub fn last(&self) -> Option<Id> {
        let index = self.records.iter().rposition(|record| !record.is_merged())?;
        Some(Id(self.base + index as u64))
    }

    /// Where the SACKed record begins above which `count - 1` others are SACKed; `None` if there are fewer.
    pub fn start_of_sacked(&self, count: u32) -> Option<Seq> {
        let sacked = self.records.iter().rev().filter(|record| record.is_sacked() && !record.is_merged());
        sacked.map(|record| record.start).nth(count.saturating_sub(1) as usize)
    }

    /// The record after `id` in order of sequence, joined ones left out.
    pub fn next(&self, id: Id) -> Option<Id> {
        let mut index = (id.0 - self.base) as usize + 1;
        while self.records.get(index)?.is_merged() {
            index += 1;
        }
        Some(Id(self.base + index as u64))
    }

    /// The usual records from the first on that lie below `una`, perhaps not all: as far as they stand side by side in
    /// memory. Empty where the list by time is not that of the sequence.
    #[inline]
    pub fn usual_below(&self, una: Seq) -> &[Record] {
        let (side_by_side, _) = self.records.as_slices();
        let most = if self.is_scattered() { 0 } else { side_by_side.len() };
        let is_other = |record: &Record| !record.is_usual() || record.end() > una;
        let count = side_by_side[..most].iter().position(is_other).unwrap_or(most);
        &side_by_side[..count]
    }

    /// Takes the first `count` records away, which [`Ledger::usual_below`] gave.
    #[inline]
    pub fn drop_usual(&mut self, count: u32) {
        self.base += u64::from(count);
        for _ in 0..count {
            self.records.pop_front();
        }
    }

    /// Takes the first record away if all of it lies below `una`.
    #[inline]
    pub fn pop_acknowledged(&mut self, una: Seq) -> Option<(Id, Record)> {
        if self.records.front()?.end() > una {
            return None;
        }
        let id = Id(self.base);
        let scattered = self.is_scattered();
        if scattered {
            self.take_off(id);
        }
        self.base += 1;
        let record = self.records.pop_front()?;
        // Records joined to this one go with it; joining scatters.
        while scattered && self.records.front().is_some_and(Record::is_merged) {
            self.base += 1;
            self.records.pop_front();
        }
        Some((id, record))
    }

    /// The first record that ends after `seq`.
    pub fn find(&self, seq: Seq) -> Option<Id> {
        let mut index = self.records.partition_point(|record| record.end() <= seq);
        while self.records.get(index)?.is_merged() {
            index += 1;
        }
        Some(Id(self.base + index as u64))
    }

    /// Joins the record `next` to `id`, which stands right before it.
    pub fn merge(&mut self, id: Id, next: Id) {
        self.unlink(next);
        let gone = self.get_mut(next);
        let (len, end) = (gone.len, gone.end());
        let (repeated, push) = (gone.was_repeated(), gone.is_push());
        gone.start = end;
        gone.len = 0;
        gone.flags = MERGED;
        let kept = self.get_mut(id);
        kept.len += len;
        kept.set_push(push);
        if repeated {
            kept.set_ever_repeated();
        }
    }

    /// Still named by an id that was kept.
    pub fn holds(&self, id: Id) -> bool {
        id.0 >= self.base && id.0 - self.base < self.records.len() as u64
    }

    /// The segment that was sent the longest ago, of those neither SACKed nor given up.
    pub fn earliest(&self) -> Option<Id> {
        if !self.is_scattered() {
            return self.first();
        }
        (self.earliest != NIL).then_some(Id(self.earliest))
    }

    /// The one sent after `id`.
    pub fn later(&self, id: Id) -> Option<Id> {
        if !self.is_scattered() {
            return (id.0 + 1 < self.end()).then_some(Id(id.0 + 1));
        }
        let later = self.get(id).later;
        (later != NIL).then_some(Id(later))
    }

    /// Takes a segment off the list by time.
    pub fn unlink(&mut self, id: Id) {
        self.scatter();
        self.take_off(id);
    }

    fn take_off(&mut self, id: Id) {
        let record = self.get_mut(id);
        if !record.linked {
            return;
        }
        record.linked = false;
        let (earlier, later) = (record.earlier, record.later);
        match earlier {
            NIL => self.earliest = later,
            earlier => self.get_mut(Id(earlier)).later = later,
        }
        match later {
            NIL => self.latest = earlier,
            later => self.get_mut(Id(later)).earlier = earlier,
        }
    }

    /// Puts a segment at the end of the list by time: it was sent just now.
    pub fn link_last(&mut self, id: Id) {
        self.unlink(id);
        self.append(id);
    }

    /// The same of a segment that is not in the list.
    fn append(&mut self, id: Id) {
        let latest = self.latest;
        let record = self.get_mut(id);
        record.linked = true;
        record.earlier = latest;
        record.later = NIL;
        match latest {
            NIL => self.earliest = id.0,
            latest => self.get_mut(Id(latest)).later = id.0,
        }
        self.latest = id.0;
    }

    pub fn ids(&self) -> impl Iterator<Item = Id> + use<'_> {
        let base = self.base;
        self.records.iter().enumerate().filter(|(_, r)| !r.is_merged()).map(move |(i, _)| Id(base + i as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(count: u64) -> Ledger {
        let mut ledger = Ledger::default();
        for i in 0..count {
            ledger.push(Record::new(1 + i * 100, 100, i));
        }
        ledger
    }

    fn by_time(ledger: &Ledger) -> Vec<u64> {
        std::iter::successors(ledger.earliest(), |&id| ledger.later(id)).map(|id| ledger.get(id).start).collect()
    }

    #[test]
    fn the_list_by_time_follows_repetitions() {
        let mut ledger = filled(4);
        let second = ledger.find(101).unwrap();
        ledger.link_last(second);
        assert_eq!(by_time(&ledger), [1, 201, 301, 101]);
        ledger.unlink(ledger.find(250).unwrap());
        ledger.pop_acknowledged(101);
        assert_eq!(by_time(&ledger), [301, 101]);
        // Segments after the last repetition are in order again once all before them are acknowledged.
        ledger.push(Record::new(401, 100, 4));
        assert_eq!(by_time(&ledger), [301, 101, 401]);
        while ledger.pop_acknowledged(401).is_some() {}
        ledger.push(Record::new(501, 100, 5));
        assert_eq!(by_time(&ledger), [401, 501]);
        ledger.link_last(ledger.first().unwrap());
        assert_eq!(by_time(&ledger), [501, 401]);
    }

    #[test]
    fn a_joined_segment_is_passed_over() {
        let mut ledger = filled(3);
        let first = ledger.first().unwrap();
        ledger.merge(first, ledger.next(first).unwrap());
        assert_eq!(ledger.get(first).end(), 201);
        assert_eq!(ledger.get(ledger.next(first).unwrap()).start, 201);
        assert_eq!(ledger.find(150), Some(first));
        ledger.pop_acknowledged(201);
        assert_eq!(ledger.get(ledger.first().unwrap()).start, 201);
    }
}
