//! Updates: the portions that an application writes by the clock, each from the moment when it is written until the
//! receiver's application can read it, which in TCP is when everything before it has arrived, too.

use crate::records::TransferRow;
use skyhop_base::Time;
use std::collections::VecDeque;

/// An update that the receiver does not have yet.
#[derive(Clone, Copy, Debug)]
struct Written {
    number: u32,
    bytes: u32,
    at: Time,
    /// User bytes up to its end.
    end: u64,
}

/// The updates of a flow; empty where they are not recorded.
#[derive(Clone, Debug, Default)]
pub struct Updates(Option<Box<Followed>>);

/// Segments are those of TCP: their numbers ascend, their payload never changes.
#[derive(Clone, Debug, Default)]
struct Followed {
    count: u32,
    written: u64,
    waiting: VecDeque<Written>,
    /// Payloads of the segments from `first` on that have arrived; 0 for the others.
    payloads: VecDeque<u32>,
    first: u32,
    /// User bytes that the receiver has without a gap.
    in_order: u64,
}

impl Updates {
    pub fn followed() -> Updates {
        Updates(Some(Box::default()))
    }

    pub fn memory_bytes(&self) -> u64 {
        let of = |followed: &Followed| {
            followed.waiting.capacity() * size_of::<Written>() + followed.payloads.capacity() * size_of::<u32>()
        };
        self.0.as_deref().map_or(0, of) as u64
    }

    #[inline]
    pub fn written(&mut self, now: Time, bytes: u32) {
        if let Some(followed) = &mut self.0 {
            followed.written(now, bytes);
        }
    }

    /// Whether they are recorded.
    #[inline]
    pub fn are_followed(&self) -> bool {
        self.0.is_some()
    }

    #[inline]
    pub fn segment_arrived(&mut self, seq: u32, payload: u32) {
        if let Some(followed) = &mut self.0 {
            followed.segment_arrived(seq, payload);
        }
    }

    /// The receiver has all segments before `next`; rows for the updates that are complete with that.
    #[inline]
    pub fn received_before(&mut self, now: Time, next: u32, flow: u32, rows: &mut Vec<TransferRow>) {
        if let Some(followed) = &mut self.0 {
            followed.received_before(now, next, flow, rows);
        }
    }

    /// The receiver has so many user bytes without a gap; rows for the updates that are complete with that.
    pub fn received_bytes(&mut self, now: Time, in_order: u64, flow: u32, rows: &mut Vec<TransferRow>) {
        if let Some(followed) = &mut self.0 {
            followed.in_order = in_order;
            followed.complete(now, flow, rows);
        }
    }

    /// The datagram arrives that was sent, and so written, at `at`.
    #[inline]
    pub fn datagram_received(&mut self, now: Time, at: Time, flow: u32, rows: &mut Vec<TransferRow>) {
        if let Some(followed) = &mut self.0 {
            followed.datagram_received(now, at, flow, rows);
        }
    }

    /// The run is over: rows for what has not arrived.
    pub fn end(&self, now: Time, flow: u32, rows: &mut Vec<TransferRow>) {
        let waiting = self.0.iter().flat_map(|followed| &followed.waiting);
        rows.extend(waiting.map(|update| update.row(now, flow, false)));
    }
}

impl Followed {
    fn written(&mut self, now: Time, bytes: u32) {
        self.written += u64::from(bytes);
        self.waiting.push_back(Written { number: self.count, bytes, at: now, end: self.written });
        self.count += 1;
    }

    fn segment_arrived(&mut self, seq: u32, payload: u32) {
        let Some(index) = seq.checked_sub(self.first).map(|index| index as usize) else { return };
        if index >= self.payloads.len() {
            self.payloads.resize(index + 1, 0);
        }
        self.payloads[index] = payload;
    }

    fn received_before(&mut self, now: Time, next: u32, flow: u32, rows: &mut Vec<TransferRow>) {
        while self.first < next
            && let Some(payload) = self.payloads.pop_front()
        {
            self.first += 1;
            self.in_order += u64::from(payload);
        }
        self.complete(now, flow, rows);
    }

    fn complete(&mut self, now: Time, flow: u32, rows: &mut Vec<TransferRow>) {
        while let Some(update) = self.waiting.front().filter(|update| update.end <= self.in_order) {
            rows.push(update.row(now, flow, true));
            self.waiting.pop_front();
        }
    }

    fn datagram_received(&mut self, now: Time, at: Time, flow: u32, rows: &mut Vec<TransferRow>) {
        let index = self.waiting.partition_point(|update| update.at < at);
        if self.waiting.get(index).is_some_and(|update| update.at == at)
            && let Some(update) = self.waiting.remove(index)
        {
            rows.push(update.row(now, flow, true));
        }
    }
}

impl Written {
    fn row(&self, time: Time, flow: u32, arrived: bool) -> TransferRow {
        TransferRow { time, flow, number: self.number, bytes: u64::from(self.bytes), begin: self.at, arrived }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ages(rows: &[TransferRow]) -> Vec<(u32, u64, bool)> {
        rows.iter().map(|row| (row.number, row.time.since(row.begin).as_nanos(), row.arrived)).collect()
    }

    #[test]
    fn an_update_is_there_when_everything_before_it_is() {
        let at = Time::from_nanos;
        let (mut updates, mut rows) = (Updates::followed(), Vec::new());
        for (number, time) in [10, 20, 30].into_iter().enumerate() {
            updates.written(at(time), 80);
            // The opening segment is empty; the third update goes out in two segments.
            match number {
                0 => updates.segment_arrived(0, 0),
                1 => updates.segment_arrived(2, 80),
                _ => updates.segment_arrived(3, 50),
            }
        }
        // Segment 1 is lost and comes later: until then nothing can be read.
        updates.received_before(at(40), 1, 7, &mut rows);
        assert!(rows.is_empty());
        updates.segment_arrived(1, 80);
        updates.received_before(at(50), 4, 7, &mut rows);
        assert_eq!(ages(&rows), [(0, 40, true), (1, 30, true)]);
        updates.end(at(60), 7, &mut rows);
        assert_eq!(ages(&rows)[2], (2, 30, false), "half of it is missing");
    }

    #[test]
    fn datagrams_come_by_themselves() {
        let at = Time::from_nanos;
        let (mut updates, mut rows) = (Updates::followed(), Vec::new());
        [10, 20, 30].into_iter().for_each(|time| updates.written(at(time), 80));
        updates.datagram_received(at(45), at(30), 0, &mut rows);
        updates.datagram_received(at(46), at(10), 0, &mut rows);
        updates.datagram_received(at(47), at(10), 0, &mut rows);
        updates.end(at(50), 0, &mut rows);
        assert_eq!(ages(&rows), [(2, 15, true), (0, 36, true), (1, 30, false)]);
    }
}
