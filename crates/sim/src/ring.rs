//! First in, first out, in memory that it keeps: what most packets of a run stand in.
//!
//! As `VecDeque`, whose first and last place every access works out anew: here both are kept, and a step from one place
//! to the next is one comparison. A packet-hop is spared a dozen instructions.

/// A queue of values in a ring of places.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    /// Those that hold no value hold a copy of some other.
    places: Box<[T]>,
    /// The place of the oldest value.
    first: u32,
    /// The place of the next value.
    end: u32,
    len: u32,
    /// For the owner, on the cache line of the others: so many of the oldest values are over with. The ring does not
    /// change it.
    pub over: u32,
}

/// A ring of so many places is not made smaller.
const FEW_PLACES: usize = 16;

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring { places: Box::default(), first: 0, end: 0, len: 0, over: 0 }
    }
}

impl<T: Copy> Ring<T> {
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// How many values it holds without more memory.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.places.len()
    }

    #[inline]
    pub fn is_full(&self) -> bool {
        self.len as usize == self.places.len()
    }

    /// The oldest value.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.places.get(self.first as usize) }
    }

    /// The place of the oldest value. An empty ring may hold an old copy there.
    #[inline]
    pub fn front_place(&self) -> Option<&T> {
        self.places.get(self.first as usize)
    }

    /// The newest value.
    #[inline]
    pub fn back(&self) -> Option<&T> {
        self.len.checked_sub(1).and_then(|last| self.get(last as usize))
    }

    /// The value that `at` older ones precede.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&T> {
        self.place(at).and_then(|place| self.places.get(place))
    }

    #[inline]
    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.place(at).and_then(|place| self.places.get_mut(place))
    }

    /// The place of the value that `at` older ones precede.
    #[inline(always)]
    fn place(&self, at: usize) -> Option<usize> {
        (at < self.len as usize).then(|| self.wrapped(self.first as usize + at))
    }

    /// A place, counted on from the first one around the end of the ring at most once.
    #[inline(always)]
    fn wrapped(&self, place: usize) -> usize {
        let places = self.places.len();
        if place >= places { place - places } else { place }
    }

    #[inline]
    fn after(&self, place: u32) -> u32 {
        if place as usize + 1 == self.places.len() { 0 } else { place + 1 }
    }

    /// Adds a value. A full ring [grows](Ring::grow).
    #[inline(always)]
    pub fn push_back(&mut self, value: T) {
        if self.is_full() {
            self.grow(value);
        }
        self.put_back(value);
    }

    /// Adds a value to a ring that is not full.
    #[inline(always)]
    pub fn put_back(&mut self, value: T) {
        debug_assert!(!self.is_full(), "no place is free");
        if let Some(place) = self.places.get_mut(self.end as usize) {
            *place = value;
        }
        self.end = self.after(self.end);
        self.len += 1;
    }

    /// Makes room for a half more. Each resize copies all values: with a quarter more, one of fourteen cache misses
    /// over Starlink came from it. New places hold `filler`.
    #[cold]
    #[inline(never)]
    pub fn grow(&mut self, filler: T) {
        self.resize(self.len() + self.len() / 2 + 4, filler);
    }

    /// An empty ring starts again at its first place: one that went on would touch all of its memory in turn.
    #[inline(always)]
    fn restart_if_empty(&mut self) {
        if self.len == 0 {
            (self.first, self.end) = (0, 0);
        }
    }

    /// Takes the oldest value of a ring that has one away. Gives the next one.
    #[inline(always)]
    pub fn forget_front(&mut self) -> Option<&T> {
        debug_assert!(self.len > 0, "nothing to forget");
        self.len -= 1;
        if self.len == 0 {
            // As `restart_if_empty`.
            (self.first, self.end) = (0, 0);
            return None;
        }
        self.first = self.after(self.first);
        self.places.get(self.first as usize)
    }

    /// Whether about three quarters of many places are free. Few values in a long ring go round all of it, and every
    /// place has left the caches until they come back to it: [`Ring::shrink`].
    #[inline(always)]
    pub fn is_sparse(&self) -> bool {
        4 * self.len() + FEW_PLACES < self.places.len()
    }

    /// Takes so many of the oldest values, or all, away. Gives the newest of them.
    #[inline(always)]
    pub fn take_front(&mut self, count: usize) -> Option<T> {
        let count = count.min(self.len());
        let last = *self.get(count.checked_sub(1)?)?;
        self.len -= count as u32;
        self.first = self.wrapped(self.first as usize + count) as u32;
        self.restart_if_empty();
        Some(last)
    }

    /// Keeps so many of the oldest values.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len() {
            return;
        }
        self.len = len as u32;
        self.end = self.wrapped(self.first as usize + len) as u32;
        self.restart_if_empty();
    }

    /// Gives half of the places back, or more: twice as many as there are values stay, and four.
    #[cold]
    #[inline(never)]
    pub fn shrink(&mut self) {
        let places = 2 * self.len() + 4;
        if let Some(&filler) = self.front()
            && places < self.capacity()
        {
            self.resize(places, filler);
        }
    }

    /// The same values in so many places, at least one more than none.
    fn resize(&mut self, places: usize, filler: T) {
        let mut resized = Vec::with_capacity(places);
        resized.extend(self.iter());
        resized.resize(places, filler);
        self.places = resized.into_boxed_slice();
        (self.first, self.end) = (0, if self.len() == places { 0 } else { self.len });
    }

    /// The values from the place `from` on, the oldest first.
    pub fn range_from(&self, from: usize) -> impl DoubleEndedIterator<Item = &T> {
        let (first, len) = (self.first as usize, self.len());
        let before = (self.places.len() - first).min(len);
        let (head, tail) = (&self.places[first..first + before], &self.places[..len - before]);
        let head = head.get(from.min(before)..).unwrap_or_default();
        let tail = tail.get(from.saturating_sub(before)..).unwrap_or_default();
        head.iter().chain(tail)
    }

    /// The oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.range_from(0)
    }

    /// How many of the oldest values `is_before` holds for, if none holds after one that does not.
    pub fn partition_point(&self, mut is_before: impl FnMut(&T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.get(middle) {
                Some(value) if is_before(value) => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::Stream;
    use std::collections::VecDeque;

    #[test]
    fn random_use_gives_what_a_deque_gives() {
        let mut stream = Stream::new(1, "ring", "test");
        let mut below = |n: usize| (stream.uniform() * n as f64) as usize;
        let (mut ring, mut model) = (Ring::default(), VecDeque::new());
        let (mut fullest, mut smallest) = (0, usize::MAX);
        for step in 0..100_000_u32 {
            // Fills for a while, then empties.
            match below(10) + if step / 1_000 % 2 == 0 { 2 } else { 0 } {
                0..=3 => {
                    assert_eq!(ring.front(), model.front());
                    if model.pop_front().is_some() {
                        ring.forget_front();
                    }
                }
                4 => {
                    let count = below(4);
                    let last = (0..count).map_while(|_| model.pop_front()).last();
                    assert_eq!(ring.take_front(count), last);
                }
                5 if below(300) == 0 => {
                    let len = below(model.len() + 2);
                    ring.truncate(len);
                    model.truncate(len);
                }
                5 if below(30) == 0 => {
                    ring.shrink();
                    assert!(ring.len() == 0 || ring.capacity() <= 2 * ring.len() + 4);
                    smallest = smallest.min(ring.capacity());
                }
                _ => {
                    ring.push_back(2 * step);
                    model.push_back(2 * step);
                }
            }
            fullest = fullest.max(ring.len());
            assert_eq!(ring.len(), model.len());
            assert_eq!((ring.front(), ring.back()), (model.front(), model.back()));
            let at = below(model.len() + 2);
            assert_eq!(ring.get(at), model.get(at));
            if let (Some(ours), Some(its)) = (ring.get_mut(at), model.get_mut(at)) {
                (*ours, *its) = (*ours ^ 1, *its ^ 1);
            }
            if step % 50 == 0 {
                assert!(ring.iter().eq(model.iter()) && ring.iter().rev().eq(model.iter().rev()));
                assert!(ring.range_from(at).eq(model.iter().skip(at)));
                let edge = (2 * step).saturating_sub(below(400) as u32);
                assert_eq!(ring.partition_point(|&v| v < edge), model.partition_point(|&v| v < edge));
            }
            assert!(ring.capacity() <= fullest + fullest / 2 + 4);
        }
        assert!(fullest > 100 && smallest < fullest, "{fullest}, {smallest}");
    }
}
