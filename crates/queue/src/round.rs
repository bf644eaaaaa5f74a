//! Deficit round robin over new and old queues (RFC 8290 §4.2), for disciplines with one queue per flow.

use crate::list::{Links, List};

/// What a queue may still send in its turn.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// Bytes.
    deficit: i64,
    /// In the round; a queue that was just emptied still is.
    listed: bool,
}

/// The order in which queues 0 to n − 1 are served.
#[derive(Debug)]
pub(crate) struct Round {
    /// Bytes per turn.
    quantum: i64,
    turns: Vec<Turn>,
    links: Links,
    new: List,
    old: List,
}

impl Round {
    pub fn new(queues: u32, quantum_bytes: u32) -> Round {
        Round {
            quantum: i64::from(quantum_bytes),
            turns: vec![Turn::default(); queues as usize],
            links: Links::new(queues),
            new: List::default(),
            old: List::default(),
        }
    }

    /// A packet has come to a queue, which becomes a new one unless it is in the round.
    pub fn join(&mut self, number: u32) {
        let turn = &mut self.turns[number as usize];
        if !turn.listed {
            *turn = Turn { deficit: self.quantum, listed: true };
            self.links.push_back(&mut self.new, number);
        }
    }

    /// The queue whose turn it is. One that has used up its deficit gets a quantum and goes behind the old ones.
    pub fn next(&mut self) -> Option<u32> {
        loop {
            let (list, number) = match (self.new.first(), self.old.first()) {
                (Some(number), _) => (&mut self.new, number),
                (None, Some(number)) => (&mut self.old, number),
                (None, None) => return None,
            };
            let turn = &mut self.turns[number as usize];
            if turn.deficit > 0 {
                return Some(number);
            }
            turn.deficit += self.quantum;
            self.links.remove(list, number);
            self.links.push_back(&mut self.old, number);
        }
    }

    /// The queue has sent a packet.
    pub fn charge(&mut self, number: u32, bytes: u32) {
        self.turns[number as usize].deficit -= i64::from(bytes);
    }

    /// The queue whose turn it is has nothing to send. A new one stays for one more round if old ones are there, so
    /// that a flow cannot stay new by sending one packet at a time.
    pub fn emptied(&mut self, number: u32) {
        let is_new = self.new.first() == Some(number);
        self.links.remove(if is_new { &mut self.new } else { &mut self.old }, number);
        if is_new && !self.old.is_empty() {
            self.links.push_back(&mut self.old, number);
        } else {
            self.turns[number as usize].listed = false;
        }
    }

    pub fn memory_bytes(&self) -> u64 {
        (self.turns.len() * (size_of::<Turn>() + 2 * size_of::<u32>())) as u64
    }
}
