//! The events of the near future in buckets of time: a calendar queue (R. Brown, "Calendar Queues", Communications of
//! the ACM 31(10), 1988).
//!
//! To add an event and to take the next one costs the same however many there are. Only events that nobody moves or
//! cancels stand here: arrivals over links whose packets keep their times once they are accepted. The bucket that is
//! being emptied is kept sorted, the others are lists. How wide a bucket is follows what the run needs; the order of
//! events does not depend on it.

use super::key::{Key, TIME_BITS, sooner};
use skyhop_base::Time;

/// Buckets of a run with few events: the heads of their lists stay in a first-level cache.
const FEWEST: usize = 1 << 12;
/// Buckets of a run with many events. Four times as many would halve what is sorted, and cost more in second-level
/// misses than that saves.
const MOST: usize = 1 << 14;
/// Where the cursor stands in an empty wheel: events of any bucket are sorted at once.
const NO_CURSOR: u64 = u64::MAX;
const NOWHERE: u32 = u32::MAX;
/// 8 µs.
const FIRST_WIDTH_BITS: u32 = 13;
/// Such a bucket reaches beyond the longest run.
const MOST_WIDTH_BITS: u32 = TIME_BITS - 1;
/// Buckets that are emptied between two looks at their width, at first and at most.
const BETWEEN_LOOKS: u32 = 1 << 12;
const BETWEEN_IDLE_LOOKS: u32 = 1 << 22;
/// Events that are sorted per emptied bucket above which there are to be more buckets.
const CROWD: u32 = 2;
/// Links that wait for an arrival whose data, a dozen cache lines each, leave a second-level cache no room.
const MANY: u32 = 256;
/// Events of the sorted part above which those of later buckets go back to their lists.
const LONG: usize = 16;

/// The links whose arrivals stand in the wheel. An event in a list has no memory of its own: its times are those of the
/// oldest packet of its link, and the next one of the list stands in the link, so that a packet-hop touches no other
/// cache lines than those of link and packet.
pub(crate) trait Waiting {
    /// Arrival and scheduling time of a link's event, and the link behind it in its list.
    fn event(&self, link: u32) -> (Time, Time, u32);
    fn set_next(&mut self, link: u32, next: u32);
}

#[derive(Debug)]
pub(super) struct Wheel {
    /// The next event, [`Key::NONE`] without any.
    pub first: Key,
    /// The bucket of the event that was taken last, from this queue or another. No event is before it.
    base: u64,
    /// Events up to this bucket are sorted, [`NO_CURSOR`] without events.
    cursor: u64,
    /// The sorted events but the first one, the latest in front.
    sorted: Vec<Key>,
    /// Width of a bucket: 2 to the power of this, in ns.
    width_bits: u32,
    /// The number of buckets less one.
    mask: u64,
    /// The slot of link 0.
    first_link: u32,
    /// The list of each bucket after `cursor`, by the bucket's number modulo their count. The arrays have one size,
    /// whatever the count, so that a place is known to be inside without a comparison.
    heads: Box<[u32; MOST]>,
    /// Lists with events, a bit for each.
    occupied: Box<[u64; MOST / 64]>,
    /// Events in lists.
    listed: u32,
    /// Buckets to empty until the next look.
    until_look: u32,
    /// Since the last look: events that were sorted, events that were too far ahead.
    crowded: u32,
    refused: u32,
    /// Buckets to empty from one look to the next: twice as many after a look that changed nothing.
    patience: u32,
}

/// Made on the heap: an array that is made on the stack is copied.
fn array_of<T: Clone, const N: usize>(value: T) -> Box<[T; N]> {
    let Ok(array) = vec![value; N].into_boxed_slice().try_into() else { unreachable!("of N values") };
    array
}

impl Wheel {
    /// `first_link` is the slot of the first link.
    pub fn new(first_link: u32) -> Wheel {
        Wheel {
            first: Key::NONE,
            base: 0,
            cursor: NO_CURSOR,
            sorted: Vec::new(),
            width_bits: FIRST_WIDTH_BITS,
            first_link,
            mask: FEWEST as u64 - 1,
            heads: array_of(NOWHERE),
            occupied: array_of(0),
            listed: 0,
            until_look: BETWEEN_LOOKS,
            crowded: 0,
            refused: 0,
            patience: BETWEEN_LOOKS,
        }
    }

    /// Whether more than [`MANY`] links wait for an arrival.
    pub fn is_full(&self) -> bool {
        self.listed >= MANY
    }

    /// Adds the event of a link by its times, in ns. It is not before the last one that was taken. False if it is too
    /// far ahead for the buckets: [`Wheel::note_refusal`].
    #[inline(always)]
    pub fn add(&mut self, [arrival, scheduled]: [u64; 2], link: u32, links: &mut impl Waiting) -> bool {
        let bucket = arrival >> self.width_bits;
        if bucket.wrapping_sub(self.base) > self.mask {
            return false;
        }
        if bucket > self.cursor {
            self.list(link, bucket, links)
        } else {
            self.sort_in(Key::of(arrival, scheduled, self.first_link + link), bucket, links)
        }
        true
    }

    /// The link whose event is likely to come after the next one, if nothing has been read of it yet; [`NOWHERE`] where
    /// that takes a longer search.
    #[inline(always)]
    pub fn after_next(&self) -> u32 {
        let from = self.place(self.cursor.wrapping_add(1));
        let ahead = self.occupied[from / 64] >> (from % 64);
        if ahead == 0 || !self.sorted.is_empty() {
            return NOWHERE;
        }
        self.heads[(from + ahead.trailing_zeros() as usize) % MOST]
    }

    /// Takes the next event away.
    #[inline]
    pub fn pop(&mut self, links: &mut impl Waiting) {
        match self.sorted.pop() {
            Some(next) => self.first = next,
            None => self.turn(links),
        }
    }

    /// An event of this queue or another is the present: events before it will not come.
    #[inline]
    pub fn pass(&mut self, key: Key) {
        self.base = self.bucket(key);
    }

    /// Takes the event of a slot away, which may not be the next one; false if it is not here. The link's oldest packet
    /// may be another one already.
    #[cold]
    pub fn remove(&mut self, slot: u32, links: &mut impl Waiting) -> bool {
        let mut all = self.drain(links);
        let before = all.len();
        all.retain(|&other| other.slot() != slot);
        let found = all.len() < before;
        self.distribute(all, self.base, links);
        found
    }

    #[inline]
    fn bucket(&self, key: Key) -> u64 {
        key.time().as_nanos() >> self.width_bits
    }

    /// The place of a bucket's list.
    #[inline(always)]
    fn place(&self, bucket: u64) -> usize {
        (bucket & self.mask) as usize % MOST
    }

    /// Puts the event of a link in front of its bucket's list.
    #[inline(always)]
    fn list(&mut self, link: u32, bucket: u64, links: &mut impl Waiting) {
        let place = self.place(bucket);
        links.set_next(link, std::mem::replace(&mut self.heads[place], link));
        self.occupied[place / 64] |= 1 << (place % 64);
        self.listed += 1;
    }

    /// An event of the bucket of the cursor, or before it.
    #[inline(never)]
    fn sort_in(&mut self, key: Key, bucket: u64, links: &mut impl Waiting) {
        if self.cursor == NO_CURSOR {
            (self.first, self.cursor) = (key, bucket);
            return;
        }
        self.crowded += 1;
        if self.sorted.len() >= LONG && bucket < self.cursor {
            self.turn_back(bucket, links);
        }
        let later = std::cmp::max(key, self.first);
        self.first = std::cmp::min(key, self.first);
        self.insert(later);
        self.note_crowd(links);
    }

    #[inline]
    fn note_crowd(&mut self, links: &mut impl Waiting) {
        if self.crowded >= 4 * self.patience {
            self.look(links);
        }
    }

    #[inline]
    fn insert(&mut self, key: Key) {
        let mut at = self.sorted.len();
        self.sorted.push(key);
        while at > 0 && self.sorted[at - 1] < key {
            self.sorted[at] = self.sorted[at - 1];
            at -= 1;
        }
        self.sorted[at] = key;
    }

    /// After a pause the cursor stands far ahead, and what comes before it would have to be sorted: it goes back.
    #[cold]
    fn turn_back(&mut self, bucket: u64, links: &mut impl Waiting) {
        let mut all = std::mem::take(&mut self.sorted);
        all.push(self.first);
        self.distribute(all, bucket, links);
    }

    /// Lists the events after the bucket `cursor`, and sorts the others. Only lists have events before it.
    fn distribute(&mut self, all: Vec<Key>, cursor: u64, links: &mut impl Waiting) {
        (self.first, self.cursor) = (Key::NONE, cursor);
        for key in all {
            match self.bucket(key) {
                later if later > cursor => self.list(key.slot() - self.first_link, later, links),
                _ => self.insert(key),
            }
        }
        match self.sorted.pop() {
            Some(first) => self.first = first,
            None => self.turn(links),
        }
    }

    /// Goes on to the next bucket with events. The sorted part is empty.
    #[inline]
    fn turn(&mut self, links: &mut impl Waiting) {
        // Without events in between, the present may have gone past the cursor.
        let after = self.base.max(self.cursor.wrapping_add(1));
        let from = self.place(after);
        let word = &mut self.occupied[from / 64];
        let ahead = *word >> (from % 64);
        if ahead == 0 {
            return self.turn_far(after, from, links);
        }
        let step = ahead.trailing_zeros();
        *word &= !(1 << ((from as u32 + step) % 64));
        self.cursor = after + u64::from(step);
        self.empty((from + step as usize) % MOST, links);
    }

    /// The same where the rest of a word has no bucket with events.
    #[inline(never)]
    fn turn_far(&mut self, after: u64, from: usize, links: &mut impl Waiting) {
        let Some(place) = self.occupied_after(from / 64) else {
            (self.first, self.cursor) = (Key::NONE, NO_CURSOR);
            return;
        };
        self.cursor = after + ((place as u64).wrapping_sub(after) & self.mask);
        self.occupied[place / 64] &= !(1 << (place % 64));
        self.empty(place, links);
    }

    /// Empties the bucket of the cursor.
    #[inline(always)]
    fn empty(&mut self, place: usize, links: &mut impl Waiting) {
        let at = std::mem::replace(&mut self.heads[place], NOWHERE);
        let (first, next) = self.take(at, links);
        debug_assert!(self.bucket(first) == self.cursor, "the oldest packet of a link is not the one that was added");
        self.until_look -= 1;
        if next != NOWHERE {
            // The last call of this function, which needs no registers kept then.
            return self.sort_list(first, next, links);
        }
        self.first = first;
        if self.until_look == 0 {
            self.look(links);
        }
    }

    /// Takes the first link off its list. Gives its event and the link behind it.
    #[inline(always)]
    fn take(&mut self, link: u32, links: &impl Waiting) -> (Key, u32) {
        self.listed -= 1;
        self.key_and_next(link, links)
    }

    #[inline(always)]
    fn key_and_next(&self, link: u32, links: &impl Waiting) -> (Key, u32) {
        let (arrival, scheduled, next) = links.event(link);
        (Key::of(arrival.as_nanos(), scheduled.as_nanos(), self.first_link + link), next)
    }

    /// Sorts `first` and the events from a link on; nothing is sorted yet. Most such lists have two events, hence apart
    /// from the loop.
    #[inline(never)]
    fn sort_list(&mut self, first: Key, at: u32, links: &mut impl Waiting) {
        let (key, next) = self.take(at, links);
        self.crowded += 1;
        self.sorted.push(std::cmp::max(key, first));
        let first = sooner(key, first);
        if next != NOWHERE {
            return self.sort_rest(first, next, links);
        }
        self.end_sorting(first, links);
    }

    /// The least event stays in registers: what was just stored in two halves cannot be loaded whole before it is in
    /// the cache.
    #[inline(never)]
    fn sort_rest(&mut self, mut first: Key, mut at: u32, links: &mut impl Waiting) {
        while at != NOWHERE {
            let (key, next) = self.take(at, links);
            self.crowded += 1;
            let later = std::cmp::max(key, first);
            first = sooner(key, first);
            self.insert(later);
            at = next;
        }
        self.end_sorting(first, links);
    }

    #[inline(always)]
    fn end_sorting(&mut self, first: Key, links: &mut impl Waiting) {
        self.first = first;
        if self.until_look == 0 {
            return self.look(links);
        }
        self.note_crowd(links);
    }

    /// The first list with events in the words after one, around the end and up to that one.
    #[inline]
    fn occupied_after(&self, mut word: usize) -> Option<usize> {
        if self.listed == 0 {
            return None;
        }
        loop {
            word = ((word + 1) & (self.mask as usize / 64)) % (MOST / 64);
            if self.occupied[word] != 0 {
                return Some(64 * word + self.occupied[word].trailing_zeros() as usize);
            }
        }
    }

    /// An event was too far ahead.
    #[cold]
    pub fn note_refusal(&mut self, links: &mut impl Waiting) {
        self.refused += 1;
        if self.refused == BETWEEN_LOOKS {
            self.look(links);
        }
    }

    /// Wider buckets where many events are too far ahead. Narrower ones where many stand in one, and more of them if
    /// all are in use.
    #[cold]
    fn look(&mut self, links: &mut impl Waiting) {
        let (crowded, emptied) = (self.crowded, self.patience - self.until_look);
        let is_short = self.refused > emptied / 8 && self.width_bits < MOST_WIDTH_BITS;
        (self.crowded, self.refused) = (0, 0);
        // Where most buckets have one event, nothing is sorted, and branches are predicted.
        let is_crowded = crowded > emptied / 2 && self.width_bits > 0;
        if !is_short && !is_crowded {
            self.until_look = self.patience;
            return;
        }
        self.patience = BETWEEN_IDLE_LOOKS.min(2 * self.patience);
        let all = self.drain(links);
        let reach = all.iter().map(|&key| self.bucket(key).saturating_sub(self.base)).max().unwrap_or(0);
        let is_half_empty = reach < self.mask / 3;
        if is_short {
            self.patience = BETWEEN_LOOKS;
            self.width_bits += 1;
            self.base >>= 1;
        } else if is_half_empty || self.mask < MOST as u64 - 1 && crowded > CROWD * emptied {
            if !is_half_empty {
                self.mask = MOST as u64 - 1;
            }
            self.patience = BETWEEN_LOOKS;
            self.width_bits -= 1;
            self.base <<= 1;
        }
        self.until_look = self.patience;
        self.distribute(all, self.base, links);
    }

    /// All events, in no order; none is left.
    fn drain(&mut self, links: &impl Waiting) -> Vec<Key> {
        let mut all = std::mem::take(&mut self.sorted);
        all.push(self.first);
        for place in 0..=self.mask as usize {
            let mut at = std::mem::replace(&mut self.heads[place], NOWHERE);
            while at != NOWHERE {
                let (key, next) = self.key_and_next(at, links);
                all.push(key);
                at = next;
            }
        }
        self.occupied.fill(0);
        self.listed = 0;
        all.retain(|&key| key != Key::NONE);
        all
    }

    /// How many buckets there are, and how wide they are.
    #[cfg(test)]
    pub fn size(&self) -> (usize, u32) {
        (self.mask as usize + 1, self.width_bits)
    }
}
