//! Data that came out of order, and what the receiver tells of it: SACK blocks (RFC 2018) and duplicates (RFC 2883).

use super::memory::{Buffer, Tail};
use crate::segment::{SackBlocks, Seq};
use std::ops::Range;

/// The blocks that a receiver remembers; how many of them fit depends on the other options.
const REMEMBERED: usize = 4;

/// A stretch of data without a hole, above the next byte expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Island {
    start: Seq,
    end: Seq,
    /// Bytes of host memory behind it.
    memory: u64,
    tail: Tail,
}

/// Islands in order of sequence: one for each hole, however many segments there are.
#[derive(Clone, Debug, Default)]
pub(super) struct Reorder {
    islands: Vec<Island>,
    memory: u64,
}

/// What [`Reorder::insert`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Inserted {
    /// Whether any of it was new and is kept.
    pub(super) kept: bool,
    /// Data that was there already, as the DSACK tells it.
    pub(super) duplicate: Option<Range<Seq>>,
}

impl Reorder {
    pub(super) fn is_empty(&self) -> bool {
        self.islands.is_empty()
    }

    pub(super) fn memory(&self) -> u64 {
        self.memory
    }

    pub(super) fn holes(&self) -> usize {
        self.islands.len()
    }

    /// Whether an island has all of these bytes.
    pub(super) fn holds(&self, range: &Range<Seq>) -> bool {
        let at = self.islands.partition_point(|island| island.end < range.end);
        self.islands.get(at).is_some_and(|island| island.start <= range.start)
    }

    /// Memory beside the structure itself, in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        (self.islands.capacity() * size_of::<Island>()) as u64
    }

    /// The number after the highest byte received.
    pub(super) fn end(&self) -> Option<Seq> {
        self.islands.last().map(|island| island.end)
    }

    /// Adds a segment that begins above the next byte expected.
    pub(super) fn insert(&mut self, new: Range<Seq>, buffer: Buffer) -> Inserted {
        let mut result = Inserted { kept: true, duplicate: None };
        // The first island that reaches the segment or lies beyond it.
        let first = self.islands.partition_point(|island| island.end < new.start);
        let tail = Tail { room: buffer.room };
        let mut merged = Island { start: new.start, end: new.end, memory: buffer.memory, tail };
        let mut last = first;
        while let Some(island) = self.islands.get(last).filter(|island| island.start <= new.end) {
            if island.start <= new.start && new.end <= island.end {
                return Inserted { kept: false, duplicate: Some(new) };
            }
            let overlap = island.start.max(new.start)..island.end.min(new.end);
            if !overlap.is_empty() {
                extend(&mut result.duplicate, overlap);
            }
            if island.end == new.start {
                let mut tail = island.tail;
                merged.memory = tail.append(new.end - new.start, buffer);
                merged.tail = tail;
            }
            merged.start = merged.start.min(island.start);
            if island.end > merged.end {
                merged.end = island.end;
                merged.tail = island.tail;
            }
            // Segments that the new one covers are dropped with their memory.
            let covered = new.start <= island.start && island.end <= new.end;
            if !covered {
                merged.memory += island.memory;
            }
            last += 1;
        }
        self.islands.splice(first..last, [merged]);
        self.memory = self.islands.iter().map(|island| island.memory).sum();
        result
    }

    /// Takes what continues the data up to `next`. Returns the next byte expected then and the memory that moved to the
    /// queue that `tail` ends; `duplicate` collects what lies below `next` already.
    pub(super) fn take(&mut self, mut next: Seq, tail: &mut Tail, duplicate: &mut Option<Range<Seq>>) -> (Seq, u64) {
        let from = next;
        let mut moved = 0;
        let mut taken = 0;
        for island in &self.islands {
            if island.start > next {
                break;
            }
            if island.start < from {
                extend(duplicate, island.start..island.end.min(from));
            }
            if island.end > next {
                next = island.end;
                moved += island.memory;
                *tail = island.tail;
            }
            self.memory -= island.memory;
            taken += 1;
        }
        self.islands.drain(..taken);
        if self.islands.is_empty() {
            // An idle connection keeps no memory of a burst of holes.
            self.islands = Vec::new();
        }
        (next, moved)
    }

    /// Drops islands from the highest until `fits` says that the memory left is little enough, but none below `seq`.
    /// Returns whether it dropped any.
    pub(super) fn prune(&mut self, seq: Seq, fits: impl Fn(u64) -> bool) -> bool {
        let before = self.islands.len();
        while !fits(self.memory) {
            let Some(island) = self.islands.pop_if(|island| island.start >= seq) else { break };
            self.memory -= island.memory;
        }
        self.islands.len() < before
    }
}

/// A DSACK block grows by what touches it; anything else is not reported (one DSACK per ACK).
pub(super) fn extend(duplicate: &mut Option<Range<Seq>>, by: Range<Seq>) {
    match duplicate {
        None => *duplicate = Some(by),
        Some(block) if by.start <= block.end && block.start <= by.end => {
            *block = block.start.min(by.start)..block.end.max(by.end);
        }
        Some(_) => {}
    }
}

/// The blocks in the order of the option: the one that changed last comes first (RFC 2018 §4).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SackList {
    blocks: [(Seq, Seq); REMEMBERED],
    count: usize,
}

impl SackList {
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Where a segment belongs: the place of the block that it touches, which grows, or the number of blocks.
    pub(super) fn locate(&mut self, new: &Range<Seq>) -> usize {
        let touches = |&(start, end): &(Seq, Seq)| new.start <= end && start <= new.end;
        let place = self.blocks[..self.count].iter().position(touches);
        if let Some(place) = place {
            let (start, end) = self.blocks[place];
            self.blocks[place] = (start.min(new.start), end.max(new.end));
        }
        place.unwrap_or(self.count)
    }

    /// Puts a segment's block first; `place` is what [`SackList::locate`] gave.
    pub(super) fn promote(&mut self, place: usize, new: &Range<Seq>) {
        if place < self.count {
            self.blocks[..=place].rotate_right(1);
            self.coalesce();
        } else {
            self.count = (place + 1).min(REMEMBERED);
            self.blocks[..self.count].rotate_right(1);
            self.blocks[0] = (new.start, new.end);
        }
    }

    /// The first block takes over the others that it touches now.
    fn coalesce(&mut self) {
        let mut place = 1;
        while place < self.count {
            let (start, end) = self.blocks[place];
            let head = &mut self.blocks[0];
            if start <= head.1 && head.0 <= end {
                *head = (head.0.min(start), head.1.max(end));
                self.remove(place);
            } else {
                place += 1;
            }
        }
    }

    fn remove(&mut self, place: usize) {
        self.blocks[place..self.count].rotate_left(1);
        self.count -= 1;
    }

    /// Forgets what the cumulative acknowledgement covers.
    pub(super) fn acknowledge(&mut self, next: Seq) {
        let mut place = 0;
        while place < self.count {
            if self.blocks[place].0 <= next {
                self.remove(place);
            } else {
                place += 1;
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The option: the duplicate first, then as many blocks as there is room for.
    pub(super) fn option(&self, duplicate: Option<&Range<Seq>>, room: usize) -> SackBlocks {
        let mut option = SackBlocks::default();
        let known = self.blocks[..self.count].iter().map(|&(start, end)| start..end);
        duplicate.cloned().into_iter().chain(known).take(room).for_each(|block| option.push(block));
        option
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn islands_merge_and_tell_what_they_had() {
        let mut reorder = Reorder::default();
        let one = Buffer { memory: 1, room: 0 };
        assert_eq!(reorder.insert(10..20, one), Inserted { kept: true, duplicate: None });
        assert_eq!(reorder.insert(30..40, one), Inserted { kept: true, duplicate: None });
        assert_eq!(reorder.insert(12..18, one), Inserted { kept: false, duplicate: Some(12..18) });
        assert_eq!(reorder.insert(15..35, one), Inserted { kept: true, duplicate: Some(15..20) });
        assert_eq!((reorder.holes(), reorder.end(), reorder.memory()), (1, Some(40), 3));
        let mut duplicate = None;
        // Bytes 10 to 12 come both in order and out of order.
        assert_eq!(reorder.take(12, &mut Tail::default(), &mut duplicate), (40, 3));
        assert_eq!(duplicate, Some(10..12));
        assert!(reorder.is_empty());
    }

    #[test]
    fn the_latest_block_comes_first_and_four_are_remembered() {
        let mut list = SackList::default();
        let add = |list: &mut SackList, new: Range<Seq>| {
            let place = list.locate(&new);
            list.promote(place, &new);
            place
        };
        for start in [10, 30, 50, 70, 90] {
            add(&mut list, start..start + 10);
        }
        let blocks = |list: &SackList, room| list.option(None, room).iter().map(|b| b.start).collect::<Vec<_>>();
        assert_eq!(blocks(&list, 4), [90, 70, 50, 30]);
        assert_eq!(blocks(&list, 3), [90, 70, 50]);
        assert_eq!(add(&mut list, 60..70), 1);
        assert_eq!(list.option(Some(&(1..2)), 3).iter().collect::<Vec<_>>(), [1..2, 50..80, 90..100]);
        list.acknowledge(80);
        assert_eq!(blocks(&list, 4), [90]);
    }
}
