//! Data cut into segments whose size changes: the length of each outstanding one, and the data that is left.
//!
//! A segment gets its length when it is first sent. One that was reported corrupted gets a new one when it is sent
//! again, if all its copies are known to be lost; what it no longer carries goes back to the data that is left.
//! Segments count amounts, not offsets, so amounts are kept: what is handed over arrives, and once.

use std::collections::VecDeque;

/// A segment that was sent and is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Cut {
    payload: u32,
    /// Copies that were sent and not reported lost.
    copies: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Cuts {
    /// The segment at the front of `cuts`.
    first: u32,
    cuts: VecDeque<Cut>,
    /// User bytes of the next new segment.
    size: u32,
    /// User bytes that were not sent yet, [`Cuts::ENDLESS`] without end.
    left: u64,
}

impl Cuts {
    pub(super) const ENDLESS: u64 = u64::MAX;

    pub(super) fn new(first: u32, size: u32) -> Cuts {
        Cuts { first, cuts: VecDeque::new(), size, left: 0 }
    }

    pub(super) fn size(&self) -> u32 {
        self.size
    }

    pub(super) fn set_size(&mut self, size: u32) {
        self.size = size.max(1);
    }

    pub(super) fn supply(&mut self, bytes: u64) {
        self.left = self.left.saturating_add(bytes);
    }

    /// Nothing new is sent any more.
    pub(super) fn close(&mut self) {
        self.left = 0;
    }

    /// One past the last segment with data, if those to come keep the present size.
    pub(super) fn end(&self) -> u32 {
        if self.left == Cuts::ENDLESS {
            return u32::MAX;
        }
        let to_come = self.left.div_ceil(u64::from(self.size)).min(u32::MAX.into()) as u32;
        self.first.saturating_add(self.cuts.len() as u32).saturating_add(to_come)
    }

    /// User bytes of a segment that is sent now.
    pub(super) fn send(&mut self, seq: u32) -> u32 {
        let Some(index) = seq.checked_sub(self.first) else { return 0 };
        if let Some(cut) = self.cuts.get_mut(index as usize) {
            if cut.copies == 0 && cut.payload > self.size {
                if self.left != Cuts::ENDLESS {
                    self.left += u64::from(cut.payload - self.size);
                }
                cut.payload = self.size;
            }
            cut.copies += 1;
            return cut.payload;
        }
        debug_assert!(index as usize == self.cuts.len(), "new segments follow one another");
        let payload = self.left.min(self.size.into()) as u32;
        if self.left != Cuts::ENDLESS {
            self.left -= u64::from(payload);
        }
        self.cuts.push_back(Cut { payload, copies: 1 });
        payload
    }

    /// User bytes that are outstanding or were not sent yet.
    pub(super) fn backlog(&self) -> u64 {
        let outstanding: u64 = self.cuts.iter().map(|cut| u64::from(cut.payload)).sum();
        if self.left == Cuts::ENDLESS { 0 } else { outstanding + self.left }
    }

    /// A copy of `seq` is known to be lost.
    pub(super) fn lost(&mut self, seq: u32) {
        if let Some(cut) = seq.checked_sub(self.first).and_then(|index| self.cuts.get_mut(index as usize)) {
            cut.copies = cut.copies.saturating_sub(1);
        }
    }

    /// All before `next` has arrived.
    pub(super) fn acknowledged(&mut self, next: u32) {
        while self.first < next && self.cuts.pop_front().is_some() {
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_keeps_its_length_until_all_its_copies_are_lost() {
        let mut cuts = Cuts::new(1, 1500);
        cuts.supply(3100);
        assert_eq!(cuts.end(), 4);
        assert_eq!([1, 2].map(|seq| cuts.send(seq)), [1500, 1500]);
        cuts.set_size(40);
        assert_eq!(cuts.end(), 3 + 3, "100 B are left");
        assert_eq!(cuts.send(1), 1500, "the first copy may arrive");
        cuts.lost(1);
        assert_eq!(cuts.send(1), 1500, "the second copy may arrive");
        cuts.lost(1);
        cuts.lost(1);
        assert_eq!(cuts.send(1), 40);
        assert_eq!(cuts.end(), 3 + 39, "1560 B are left");
    }

    #[test]
    fn every_byte_is_sent_once() {
        let mut cuts = Cuts::new(1, 1000);
        cuts.supply(10_000);
        let mut arrived = 0;
        let mut seq = 1;
        while seq < cuts.end() {
            let mut payload = cuts.send(seq);
            if seq % 3 == 0 {
                cuts.set_size(70 * seq);
                cuts.lost(seq);
                payload = cuts.send(seq);
            }
            arrived += payload;
            seq += 1;
            cuts.acknowledged(seq);
        }
        assert_eq!(arrived, 10_000);
    }
}
