//! Round-robin lists of queue numbers. A number is in at most one list at a time.

const NONE: u32 = u32::MAX;

/// The links of all numbers 0 to n − 1.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    next: Vec<u32>,
    previous: Vec<u32>,
}

/// A list over [`Links`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: u32,
    tail: u32,
}

impl Default for List {
    fn default() -> List {
        List { head: NONE, tail: NONE }
    }
}

impl List {
    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    pub fn first(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }
}

impl Links {
    pub fn new(numbers: u32) -> Links {
        Links { next: vec![NONE; numbers as usize], previous: vec![NONE; numbers as usize] }
    }

    /// Room for numbers below `numbers`.
    pub fn grow(&mut self, numbers: u32) {
        if self.next.len() < numbers as usize {
            self.next.resize(numbers as usize, NONE);
            self.previous.resize(numbers as usize, NONE);
        }
    }

    pub fn push_back(&mut self, list: &mut List, number: u32) {
        self.next[number as usize] = NONE;
        self.previous[number as usize] = list.tail;
        match list.tail {
            NONE => list.head = number,
            tail => self.next[tail as usize] = number,
        }
        list.tail = number;
    }

    pub fn push_front(&mut self, list: &mut List, number: u32) {
        self.previous[number as usize] = NONE;
        self.next[number as usize] = list.head;
        match list.head {
            NONE => list.tail = number,
            head => self.previous[head as usize] = number,
        }
        list.head = number;
    }

    /// Takes `number` out of `list`, in which it must be.
    pub fn remove(&mut self, list: &mut List, number: u32) {
        let (next, previous) = (self.next[number as usize], self.previous[number as usize]);
        match previous {
            NONE => list.head = next,
            _ => self.next[previous as usize] = next,
        }
        match next {
            NONE => list.tail = previous,
            _ => self.previous[next as usize] = previous,
        }
    }
}
