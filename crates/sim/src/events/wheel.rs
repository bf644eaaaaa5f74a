//! The events of the near future in buckets of time: a calendar queue (R. Brown, "Calendar Queues", Communications of
//! the ACM 31(10), 1988).
//!
//! To add an event and to take the next one costs the same however many there are. Only events that nobody moves or
//! cancels stand here: arrivals over links whose packets keep their times once they are accepted. The bucket that is
//! being emptied is kept sorted, the others are lists. How wide a bucket is follows what the run needs; the order of
//! events does not depend on it.

use super::key::{Key, SLOT_BITS, TIME_BITS, sooner};

/// Buckets of a run with few events: the heads of their lists stay in a first-level cache.
const FEWEST: usize = 1 << 12;
/// Buckets of a run with many events. Four times as many would halve what is sorted, and cost more in second-level
/// misses than that saves.
const MOST: usize = 1 << 14;
/// Where the cursor stands in an empty wheel: events of any bucket are sorted at once.
const NO_CURSOR: u64 = u64::MAX;
const NOWHERE: u32 = u32::MAX;
/// Bits of a key's upper half that are not time.
const BELOW_TIME: u32 = TIME_BITS + SLOT_BITS - 64;
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

/// Two on a cache line: without the alignment it depends on the allocator whether each second one stands on two.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Node {
    key: Key,
    next: u32,
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
    /// Width of a bucket: 2 to the power of this, in units of a key's upper half.
    shift: u32,
    /// Nodes without an event, a list.
    free: u32,
    /// The number of buckets less one.
    mask: u64,
    /// The list of each bucket after `cursor`, by the bucket's number modulo their count. The arrays have one size,
    /// whatever the count, so that a place is known to be inside without a comparison.
    heads: Box<[u32; MOST]>,
    /// Lists with events, a bit for each.
    occupied: Box<[u64; MOST / 64]>,
    /// Events in lists.
    listed: u32,
    nodes: Vec<Node>,
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

impl Default for Wheel {
    fn default() -> Wheel {
        Wheel {
            first: Key::NONE,
            base: 0,
            cursor: NO_CURSOR,
            sorted: Vec::new(),
            shift: BELOW_TIME + FIRST_WIDTH_BITS,
            free: NOWHERE,
            mask: FEWEST as u64 - 1,
            heads: array_of(NOWHERE),
            occupied: array_of(0),
            listed: 0,
            nodes: Vec::new(),
            until_look: BETWEEN_LOOKS,
            crowded: 0,
            refused: 0,
            patience: BETWEEN_LOOKS,
        }
    }
}

impl Wheel {
    /// Whether more than [`MANY`] links wait for an arrival.
    pub fn is_full(&self) -> bool {
        self.listed >= MANY
    }

    /// Adds an event, which is not before the last one that was taken; false if it is too far ahead for the buckets:
    /// [`Wheel::note_refusal`].
    #[inline(always)]
    pub fn add(&mut self, key: Key) -> bool {
        let bucket = self.bucket(key);
        if bucket.wrapping_sub(self.base) > self.mask {
            return false;
        }
        if bucket > self.cursor {
            self.list(key, bucket)
        } else {
            self.sort_in(key, bucket)
        }
        true
    }

    /// Takes the next event away.
    #[inline]
    pub fn pop(&mut self) {
        match self.sorted.pop() {
            Some(next) => self.first = next,
            None => self.turn(),
        }
    }

    /// An event of this queue or another is the present: events before it will not come.
    #[inline]
    pub fn pass(&mut self, key: Key) {
        self.base = self.bucket(key);
    }

    /// Takes an event away that may not be the next one; false if it is not here.
    #[cold]
    pub fn remove(&mut self, key: Key) -> bool {
        let mut all = self.drain();
        let before = all.len();
        all.retain(|&other| other != key);
        let found = all.len() < before;
        self.distribute(all, self.base);
        found
    }

    #[inline]
    fn bucket(&self, key: Key) -> u64 {
        (key.0 >> 64) as u64 >> self.shift
    }

    /// The place of a bucket's list.
    #[inline(always)]
    fn place(&self, bucket: u64) -> usize {
        (bucket & self.mask) as usize % MOST
    }

    #[inline]
    fn list(&mut self, key: Key, bucket: u64) {
        let (at, place) = (self.free, self.place(bucket));
        let Some(node) = self.nodes.get_mut(at as usize) else { return self.list_in_new(key, bucket) };
        let head = &mut self.heads[place];
        self.free = node.next;
        *node = Node { key, next: *head };
        *head = at;
        self.occupied[place / 64] |= 1 << (place % 64);
        self.listed += 1;
    }

    /// [`Wheel::list`] where no node is free. The last call of its caller, which needs no registers kept then.
    #[cold]
    #[inline(never)]
    fn list_in_new(&mut self, key: Key, bucket: u64) {
        self.free = self.nodes.len() as u32;
        self.nodes.push(Node { key: Key::NONE, next: NOWHERE });
        self.list(key, bucket);
    }

    /// An event of the bucket of the cursor, or before it.
    #[inline(never)]
    fn sort_in(&mut self, key: Key, bucket: u64) {
        if self.cursor == NO_CURSOR {
            (self.first, self.cursor) = (key, bucket);
            return;
        }
        self.crowded += 1;
        if self.sorted.len() >= LONG && bucket < self.cursor {
            self.turn_back(bucket);
        }
        let later = std::cmp::max(key, self.first);
        self.first = std::cmp::min(key, self.first);
        self.insert(later);
        self.note_crowd();
    }

    #[inline]
    fn note_crowd(&mut self) {
        if self.crowded >= 4 * self.patience {
            self.look();
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
    fn turn_back(&mut self, bucket: u64) {
        let mut all = std::mem::take(&mut self.sorted);
        all.push(self.first);
        self.distribute(all, bucket);
    }

    /// Lists the events after the bucket `cursor`, and sorts the others. Only lists have events before it.
    fn distribute(&mut self, all: Vec<Key>, cursor: u64) {
        (self.first, self.cursor) = (Key::NONE, cursor);
        for key in all {
            match self.bucket(key) {
                later if later > cursor => self.list(key, later),
                _ => self.insert(key),
            }
        }
        match self.sorted.pop() {
            Some(first) => self.first = first,
            None => self.turn(),
        }
    }

    /// Goes on to the next bucket with events. The sorted part is empty.
    #[inline]
    fn turn(&mut self) {
        // Without events in between, the present may have gone past the cursor.
        let after = self.base.max(self.cursor.wrapping_add(1));
        let from = self.place(after);
        let word = &mut self.occupied[from / 64];
        let ahead = *word >> (from % 64);
        if ahead == 0 {
            return self.turn_far(after, from);
        }
        let step = ahead.trailing_zeros();
        *word &= !(1 << ((from as u32 + step) % 64));
        self.cursor = after + u64::from(step);
        self.empty((from + step as usize) % MOST);
    }

    /// The same where the rest of a word has no bucket with events.
    #[inline(never)]
    fn turn_far(&mut self, after: u64, from: usize) {
        let Some(place) = self.occupied_after(from / 64) else {
            (self.first, self.cursor) = (Key::NONE, NO_CURSOR);
            return;
        };
        self.cursor = after + ((place as u64).wrapping_sub(after) & self.mask);
        self.occupied[place / 64] &= !(1 << (place % 64));
        self.empty(place);
    }

    /// Empties the bucket of the cursor.
    #[inline(always)]
    fn empty(&mut self, place: usize) {
        let at = std::mem::replace(&mut self.heads[place], NOWHERE);
        let (first, next) = self.take_node(at);
        if next == NOWHERE {
            self.first = first;
        } else {
            self.sort_list(first, next);
        }
        self.until_look -= 1;
        if self.until_look == 0 {
            self.look();
        }
    }

    /// Frees a node. Gives its event and the node behind it.
    #[inline]
    fn take_node(&mut self, at: u32) -> (Key, u32) {
        let node = &mut self.nodes[at as usize];
        self.listed -= 1;
        let free = std::mem::replace(&mut self.free, at);
        (node.key, std::mem::replace(&mut node.next, free))
    }

    /// Sorts `first` and the events from a node on. The least one stays in registers: what was just stored in two
    /// halves cannot be loaded whole before it is in the cache.
    #[inline(never)]
    fn sort_list(&mut self, mut first: Key, mut at: u32) {
        while at != NOWHERE {
            let (key, next) = self.take_node(at);
            self.crowded += 1;
            let later = std::cmp::max(key, first);
            first = sooner(key, first);
            self.insert(later);
            at = next;
        }
        self.first = first;
        self.note_crowd();
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
    pub fn note_refusal(&mut self) {
        self.refused += 1;
        if self.refused == BETWEEN_LOOKS {
            self.look();
        }
    }

    /// Wider buckets where many events are too far ahead. Narrower ones where many stand in one, and more of them if
    /// all are in use.
    #[cold]
    fn look(&mut self) {
        let (crowded, emptied) = (self.crowded, self.patience - self.until_look);
        let is_short = self.refused > emptied / 8 && self.shift < BELOW_TIME + MOST_WIDTH_BITS;
        (self.crowded, self.refused) = (0, 0);
        // Where most buckets have one event, nothing is sorted, and branches are predicted.
        let is_crowded = crowded > emptied / 2 && self.shift > BELOW_TIME;
        if !is_short && !is_crowded {
            self.until_look = self.patience;
            return;
        }
        self.patience = BETWEEN_IDLE_LOOKS.min(2 * self.patience);
        let all = self.drain();
        let reach = all.iter().map(|&key| self.bucket(key).saturating_sub(self.base)).max().unwrap_or(0);
        let is_half_empty = reach < self.mask / 3;
        if is_short {
            self.patience = BETWEEN_LOOKS;
            self.shift += 1;
            self.base >>= 1;
        } else if is_half_empty || self.mask < MOST as u64 - 1 && crowded > CROWD * emptied {
            if !is_half_empty {
                self.mask = MOST as u64 - 1;
            }
            self.patience = BETWEEN_LOOKS;
            self.shift -= 1;
            self.base <<= 1;
        }
        self.until_look = self.patience;
        self.distribute(all, self.base);
    }

    /// All events, in no order; none is left.
    fn drain(&mut self) -> Vec<Key> {
        let mut all = std::mem::take(&mut self.sorted);
        all.push(self.first);
        for head in &mut self.heads[..=self.mask as usize] {
            let mut at = std::mem::replace(head, NOWHERE);
            while at != NOWHERE {
                let Node { key, next } = self.nodes[at as usize];
                all.push(key);
                at = next;
            }
        }
        self.occupied.fill(0);
        self.nodes.clear();
        (self.listed, self.free) = (0, NOWHERE);
        all.retain(|&key| key != Key::NONE);
        all
    }

    /// How many buckets there are, and how wide they are.
    #[cfg(test)]
    pub fn size(&self) -> (usize, u32) {
        (self.mask as usize + 1, self.shift - BELOW_TIME)
    }
}
