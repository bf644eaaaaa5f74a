//! First in, first out, in memory that it keeps: the instants at which a sender's segments left.
//!
//! As `VecDeque`, which computes its first and last place for each access: here both are kept, and a step from one
//! place to the next is one comparison.

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
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring { places: Box::default(), first: 0, end: 0, len: 0 }
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

    /// The value that `at` older ones precede.
    #[inline]
    fn get(&self, at: usize) -> Option<&T> {
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

    /// Adds a value.
    #[inline(always)]
    pub fn push_back(&mut self, value: T) {
        if self.len as usize == self.places.len() {
            self.grow(value);
        }
        if let Some(place) = self.places.get_mut(self.end as usize) {
            *place = value;
        }
        self.end = self.after(self.end);
        self.len += 1;
    }

    /// Makes room for a half more. Each resize copies all values. New places hold `filler`.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: T) {
        let places = self.len() + self.len() / 2 + 4;
        let mut grown = Vec::with_capacity(places);
        grown.extend(self.iter());
        grown.resize(places, filler);
        self.places = grown.into_boxed_slice();
        (self.first, self.end) = (0, self.len);
    }

    /// An empty ring starts again at its first place: one that went on would touch all of its memory in turn.
    #[inline(always)]
    fn restart_if_empty(&mut self) {
        if self.len == 0 {
            (self.first, self.end) = (0, 0);
        }
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

    /// The oldest first.
    fn iter(&self) -> impl Iterator<Item = &T> {
        let (first, len) = (self.first as usize, self.len());
        let before = (self.places.len() - first).min(len);
        self.places[first..first + before].iter().chain(&self.places[..len - before])
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
        let mut fullest = 0;
        for step in 0..100_000_u32 {
            // Fills for a while, then empties.
            if below(10) < if step / 1_000 % 2 == 0 { 3 } else { 6 } {
                let count = below(4);
                let last = (0..count).map_while(|_| model.pop_front()).last();
                assert_eq!(ring.take_front(count), last);
            } else {
                ring.push_back(2 * step);
                model.push_back(2 * step);
            }
            fullest = fullest.max(ring.len());
            assert_eq!(ring.len(), model.len());
            let at = below(model.len() + 2);
            assert_eq!(ring.get(at), model.get(at));
            if let (Some(ours), Some(its)) = (ring.get_mut(at), model.get_mut(at)) {
                (*ours, *its) = (*ours ^ 1, *its ^ 1);
            }
            if step % 50 == 0 {
                assert!(ring.iter().eq(model.iter()));
            }
            assert!(ring.capacity() <= fullest + fullest / 2 + 4);
        }
        assert!(fullest > 100, "{fullest}");
    }
}
