//! What a host has ready and the network has not fetched yet. There is mostly one, which stands where the last one
//! stood.

use std::collections::VecDeque;

/// A queue whose first place is kept for the next entry.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<T> {
    /// Boxed, because an idle connection has to be small.
    first: Option<Box<T>>,
    has_first: bool,
    more: VecDeque<T>,
}

impl<T> Default for Waiting<T> {
    fn default() -> Waiting<T> {
        Waiting { first: None, has_first: false, more: VecDeque::new() }
    }
}

impl<T: Default> Waiting<T> {
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.has_first
    }

    /// The place of a new entry behind the others. It holds an earlier one.
    #[inline]
    fn place(&mut self) -> &mut T {
        if !self.has_first {
            self.has_first = true;
            return self.first.get_or_insert_default();
        }
        self.more.push_back(T::default());
        match self.more.back_mut() {
            Some(last) => last,
            None => self.first.get_or_insert_default(),
        }
    }

    #[inline]
    pub fn push_back(&mut self, entry: T) {
        *self.place() = entry;
    }

    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.first.as_deref_mut().filter(|_| self.has_first)
    }

    /// Takes the first one away. Its place keeps what it held until there is another.
    #[inline]
    pub fn pop_front(&mut self) {
        self.has_first = !self.more.is_empty();
        if self.has_first {
            self.advance();
        }
    }

    #[cold]
    fn advance(&mut self) {
        if let (Some(first), Some(next)) = (self.first.as_deref_mut(), self.more.pop_front()) {
            *first = next;
        }
        if self.more.is_empty() {
            self.more = VecDeque::new();
        }
    }

    /// Memory beside the structure itself, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let places = self.more.capacity() + usize::from(self.first.is_some());
        (places * size_of::<T>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_leave_in_the_order_in_which_they_came() {
        let mut waiting = Waiting::default();
        let mut left = Vec::new();
        let mut take = |waiting: &mut Waiting<u32>| {
            left.extend(waiting.front_mut().copied());
            waiting.pop_front();
        };
        take(&mut waiting);
        for round in 0..3 {
            (0..=round).for_each(|n| waiting.push_back(10 * round + n));
            take(&mut waiting);
            *waiting.place() = 10 * round + 9;
            (0..=round).for_each(|_| take(&mut waiting));
            assert!(waiting.is_empty() && waiting.front_mut().is_none());
        }
        assert_eq!(left, [0, 9, 10, 11, 19, 20, 21, 22, 29]);
        assert_eq!(waiting.memory_bytes(), 4, "the first place alone is kept");
    }
}
