//! The longest of many queues, as cake finds it.
//!
//! A binary tree of queue numbers in an array. The kernel's `cake_heapify` compares, after a first exchange, with what
//! it has moved up; so it sinks an entry by one place only, and the top is not always the longest queue. The
//! packets dropped when the memory is full follow from that, so this tree sinks entries the same way.

/// The tree; numbers 0 to n − 1 lie in it for ever.
#[derive(Clone, Debug)]
pub(crate) struct Longest {
    tree: Vec<u32>,
    place: Vec<u32>,
}

impl Longest {
    /// All numbers in the order of their places.
    pub fn new(numbers: u32) -> Longest {
        Longest { tree: (0..numbers).collect(), place: (0..numbers).collect() }
    }

    pub fn top(&self) -> u32 {
        self.tree[0]
    }

    /// Orders the whole tree.
    pub fn build(&mut self, length: impl Fn(u32) -> u64) {
        for place in (0..=self.tree.len() / 2).rev() {
            self.sink_from(place, &length);
        }
    }

    /// `number` became shorter.
    pub fn sink(&mut self, number: u32, length: impl Fn(u32) -> u64) {
        self.sink_from(self.place[number as usize] as usize, &length);
    }

    /// `number` became longer.
    pub fn rise(&mut self, number: u32, length: impl Fn(u32) -> u64) {
        let mut place = self.place[number as usize] as usize;
        while place > 0 {
            let above = (place - 1) / 2;
            if length(self.tree[place]) <= length(self.tree[above]) {
                break;
            }
            self.exchange(place, above);
            place = above;
        }
    }

    fn sink_from(&mut self, from: usize, length: &impl Fn(u32) -> u64) {
        let Some(&number) = self.tree.get(from) else { return };
        // The longest seen so far, which the kernel does not reset when it goes down.
        let mut longest = length(number);
        let mut place = from;
        loop {
            let mut next = place;
            for child in [2 * place + 1, 2 * place + 2] {
                let long = self.tree.get(child).map_or(0, |&number| length(number));
                if long > longest {
                    (next, longest) = (child, long);
                }
            }
            if next == place {
                return;
            }
            self.exchange(place, next);
            place = next;
        }
    }

    fn exchange(&mut self, a: usize, b: usize) {
        self.tree.swap(a, b);
        self.place[self.tree[a] as usize] = a as u32;
        self.place[self.tree[b] as usize] = b as u32;
    }
}
