//! Data written and not yet sent, in the buffers in which the kernel gathers writes. Its rules for bursts look at the
//! buffer at the head, and a buffer carries the PSH flag of the write that it ends.

use std::collections::VecDeque;

use crate::segment::Seq;

#[derive(Clone, Debug)]
pub(super) struct Buffers {
    /// The number after the last byte written.
    pub written: Seq,
    /// Ends and PSH flags of all buffers but the last, which is open and ends at `written`.
    closed: VecDeque<(Seq, bool)>,
    open_pushed: bool,
}

impl Default for Buffers {
    fn default() -> Buffers {
        Buffers { written: 1, closed: VecDeque::new(), open_pushed: false }
    }
}

impl Buffers {
    /// Memory beside the structure itself.
    pub fn memory_bytes(&self) -> u64 {
        (self.closed.capacity() * size_of::<(Seq, bool)>()) as u64
    }

    /// End and PSH flag of the buffer at the head.
    pub fn head(&self) -> (Seq, bool) {
        self.closed.front().copied().unwrap_or((self.written, self.open_pushed))
    }

    pub fn head_end(&self) -> Seq {
        self.head().0
    }

    /// The head is the last buffer: more data may be appended to it.
    pub fn head_is_open(&self) -> bool {
        self.closed.is_empty()
    }

    /// Where the open buffer begins, given the next number to be sent.
    pub fn open_start(&self, next: Seq) -> Seq {
        self.closed.back().map_or(next, |&(end, _)| end.max(next))
    }

    /// Begins a new buffer; `next` is the next number to be sent.
    pub fn begin(&mut self, next: Seq) {
        if self.written > self.open_start(next) {
            self.closed.push_back((self.written, self.open_pushed));
        }
        self.open_pushed = false;
    }

    /// Sets the PSH flag of the open buffer.
    pub fn mark_push(&mut self) {
        self.open_pushed = true;
    }

    /// Splits the head at `end`, if it reaches beyond, and sets the PSH flag of the first part.
    pub fn mark_head_push(&mut self, end: Seq) {
        if end < self.head_end() {
            self.closed.push_front((end, true));
            return;
        }
        match self.closed.front_mut() {
            Some(head) => head.1 = true,
            None => self.open_pushed = true,
        }
    }

    /// Moves data from the next buffer to the head until it reaches `wanted`.
    pub fn fill_head(&mut self, wanted: Seq) {
        let Some(&(head, pushed)) = self.closed.front() else { return };
        if wanted <= head {
            return;
        }
        let (next_end, next_pushed) = self.closed.get(1).copied().unwrap_or((self.written, self.open_pushed));
        if wanted < next_end {
            self.closed[0].0 = wanted;
            return;
        }
        self.closed.pop_front();
        match self.closed.front_mut() {
            Some(next) => next.1 = pushed | next_pushed,
            None => self.open_pushed = pushed | next_pushed,
        }
    }

    /// Everything below `next` was sent.
    #[inline(always)]
    pub fn sent(&mut self, next: Seq) {
        while self.closed.front().is_some_and(|&(end, _)| end <= next) {
            self.closed.pop_front();
        }
        if next >= self.written {
            self.open_pushed = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_filled_from_the_next_buffer_takes_its_flag_only_with_all_of_it() {
        let mut buffers = Buffers { written: 101, ..Buffers::default() };
        buffers.begin(1);
        buffers.written = 201;
        buffers.mark_push();
        buffers.fill_head(151);
        assert_eq!(buffers.head(), (151, false));
        buffers.fill_head(201);
        assert_eq!((buffers.head(), buffers.head_is_open()), ((201, true), true));
        buffers.sent(201);
        assert_eq!(buffers.head(), (201, false));
    }
}
