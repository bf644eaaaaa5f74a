//! The scoreboard: SACK blocks (RFC 2018), DSACK (RFC 2883), and what they say about reordering.

use super::super::Sender;
use super::super::ack::Ack;
use crate::ledger::{Id, Record};
use crate::segment::{SackBlocks, Segment, Seq};

impl Sender {
    pub(in super::super) fn take_sacks(&mut self, segment: &Segment, prior_una: Seq, ack: &mut Ack) {
        ack.lowest_late = self.flow.nxt;
        if self.flow.sacked_out == 0 {
            self.highest_sacked = self.flow.una;
        }
        let dsack = self.take_dsack(segment, prior_una, ack);
        // A very old ACK says nothing about what is in flight.
        if ack.number + self.max_window < prior_una || self.flow.packets_out == 0 {
            return;
        }
        let mut valid = [(0, 0, false); SackBlocks::MOST];
        let mut count = 0;
        for (i, block) in segment.sack.iter().enumerate() {
            let duplicate = i == 0 && dsack;
            if self.is_valid(block.start, block.end, duplicate) && block.end > prior_una {
                valid[count] = (block.start, block.end, duplicate);
                count += 1;
            }
        }
        let blocks = &mut valid[..count];
        blocks.sort_unstable();
        for &(start, end, duplicate) in &*blocks {
            self.take_block(start, end, duplicate, ack);
        }
        let mut cache = SackBlocks::default();
        for &(start, end, _) in &*blocks {
            cache.push(start..end);
        }
        self.sack_cache = cache;
        if self.flow.state != crate::flow::CaState::Loss || self.undo.marker.is_some() {
            self.note_reordering(ack.lowest_late);
        }
    }

    fn is_valid(&self, start: Seq, end: Seq, duplicate: bool) -> bool {
        let flow = &self.flow;
        if end > flow.nxt || start >= end || start >= flow.nxt {
            return false;
        }
        if start > flow.una {
            return true;
        }
        let Some(marker) = self.undo.marker else { return false };
        duplicate && end <= flow.una && (start >= marker || (end > marker && start + self.max_window >= end))
    }

    /// Marks the segments of one block. Ranges that the ACK before this one had SACKed are passed over.
    fn take_block(&mut self, start: Seq, end: Seq, duplicate: bool, ack: &mut Ack) {
        if duplicate {
            return self.walk(start, end, true, ack);
        }
        let mut from = start;
        let known = self.sack_cache;
        for block in known.iter() {
            if block.start <= from && from < block.end {
                from = block.end;
            } else if block.start > from && block.start < end {
                self.walk(from, block.start, false, ack);
                from = block.end;
            }
        }
        if from < end {
            self.walk(from, end, false, ack);
        }
    }

    fn walk(&mut self, start: Seq, end: Seq, duplicate: bool, ack: &mut Ack) {
        let mut next = self.ledger.find(start);
        while let Some(id) = next {
            let record = self.ledger.get(id);
            if record.start >= end {
                break;
            }
            if record.start >= start && record.end() <= end {
                self.sack(id, duplicate, ack);
            }
            next = self.ledger.next(id);
        }
    }

    fn sack(&mut self, id: Id, duplicate: bool, ack: &mut Ack) {
        let record = *self.ledger.get(id);
        if duplicate && record.is_retransmitted() {
            self.count_needless(record.end(), 1);
            if record.is_sacked() {
                ack.lowest_late = ack.lowest_late.min(record.start);
            }
        }
        if record.end() <= self.flow.una {
            return;
        }
        if !record.is_sacked() {
            self.advance_rack(&record);
            if record.is_repeated() {
                // A repetition whose segment is not marked lost any more is still in flight.
                if record.is_lost() {
                    self.ledger.get_mut(id).set_repeated(false);
                    self.flow.retrans_out -= 1;
                }
            } else if !record.was_repeated() {
                if record.start < self.highest_sacked() {
                    ack.lowest_late = ack.lowest_late.min(record.start);
                }
                ack.original_delivered |= record.end() <= self.high_seq;
                let first = ack.sacked_sent_us.map_or(record.sent_us, |(first, _)| first);
                ack.sacked_sent_us = Some((first, record.sent_us));
            }
            if record.is_lost() {
                self.flow.lost_out -= 1;
            }
            let kept = self.ledger.get_mut(id);
            kept.set_lost(false);
            kept.set_sacked(true);
            ack.data_sacked = true;
            self.flow.sacked_out += 1;
            ack.sack_delivered += 1;
        }
        if duplicate && self.ledger.get(id).is_repeated() {
            self.ledger.get_mut(id).set_repeated(false);
            self.flow.retrans_out -= 1;
        }
        let kept = self.ledger.get_mut(id);
        self.sampler.delivered(kept, &mut ack.sample);
        if kept.is_sacked() {
            kept.delivered_us = Record::TAKEN;
        }
        self.ledger.unlink(id);
        self.highest_sacked = self.highest_sacked().max(record.end());
    }

    /// Looks for a DSACK; returns whether the first block is one.
    fn take_dsack(&mut self, segment: &Segment, prior_una: Seq, ack: &mut Ack) -> bool {
        let mut blocks = segment.sack.iter();
        let Some(first) = blocks.next() else { return false };
        let below = first.start < ack.number;
        let inside = blocks.next().is_some_and(|second| first.start >= second.start && first.end <= second.end);
        if !self.config.dsack || !(below || inside) {
            return false;
        }
        let Some(segments) = self.believe_dsack(first.start, first.end, ack) else { return false };
        if first.end <= prior_una {
            self.count_needless(first.end, segments);
        }
        true
    }

    /// The number of segments that a DSACK reports, if we repeated that many.
    fn believe_dsack(&mut self, start: Seq, end: Seq, ack: &mut Ack) -> Option<u32> {
        if start >= end || end - start > self.max_window {
            return None;
        }
        let mss = u64::from(self.flow.mss);
        let segments = (end - start).div_ceil(mss) as u32;
        if end - start <= mss && self.tlp_end == Some(end) {
            ack.dsack_for_probe = true;
        }
        self.dsack_dups += u64::from(segments);
        // More than was repeated: the network doubles packets.
        if self.dsack_dups > self.total_retrans {
            return None;
        }
        if self.reordering_seen && !ack.dsack_for_probe {
            self.rack.dsack_seen = true;
        }
        ack.dsack = true;
        ack.sack_delivered += segments;
        Some(segments)
    }

    /// A repetition that ends at `end` proved needless.
    fn count_needless(&mut self, end: Seq, segments: u32) {
        if let (Some(marker), Some(left)) = (self.undo.marker, self.undo.repetitions)
            && end > marker
        {
            self.undo.repetitions = Some(left.saturating_sub(segments));
        }
    }

    /// Loss detection without RACK: a segment is lost when as many above it are SACKed as prove a loss (RFC 6675 §4,
    /// IsLost). A lost repetition waits for the timeout.
    pub(super) fn mark_lost_by_sacks(&mut self) {
        if self.flow.sacked_out < self.reordering {
            return;
        }
        let Some(limit) = self.ledger.start_of_sacked(self.reordering) else { return };
        let mut next = self.ledger.earliest();
        while let Some(id) = next {
            next = self.ledger.later(id);
            let record = self.ledger.get(id);
            if record.was_repeated() {
                continue;
            }
            // Those sent once stand in the order of their numbers.
            if record.start >= limit {
                break;
            }
            self.mark_lost(id);
        }
    }

    /// A segment at `low` was delivered after the highest that is SACKed.
    pub(in super::super) fn note_reordering(&mut self, low: Seq) {
        let highest = self.highest_sacked();
        if low >= highest {
            return;
        }
        let distance = (highest - low).div_ceil(u64::from(self.flow.mss)) as u32;
        if distance > self.reordering {
            self.reordering = distance.min(self.config.max_reordering);
        }
        self.reordering_seen = true;
    }
}
