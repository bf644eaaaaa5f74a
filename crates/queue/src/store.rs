//! Waiting packets of any number of queues in one slab: once it has grown to the longest backlog, nothing is
//! allocated any more.

use crate::{Affected, Backlog, Packet};
use skyhop_base::Time;

const NONE: u32 = u32::MAX;

/// A waiting packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub packet: Packet,
    pub since: Time,
    /// A note of the discipline's.
    pub flag: bool,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    waiting: Waiting,
    next: u32,
    previous: u32,
}

/// The slab. Each [`Queue`] belongs to the store that it is used with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    nodes: Vec<Node>,
    free: Option<u32>,
    backlog: Backlog,
}

/// A first-in, first-out queue in a [`Store`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    head: u32,
    tail: u32,
    packets: u32,
    bytes: u64,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue { head: NONE, tail: NONE, packets: 0, bytes: 0 }
    }
}

impl Queue {
    pub fn packets(&self) -> u32 {
        self.packets
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }
}

impl Store {
    /// Backlog of all queues together.
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    pub fn push(&mut self, queue: &mut Queue, packet: Packet, since: Time) {
        self.push_flagged(queue, Waiting { packet, since, flag: false });
    }

    pub fn push_flagged(&mut self, queue: &mut Queue, waiting: Waiting) {
        let node = Node { waiting, next: NONE, previous: queue.tail };
        let index = match self.free {
            Some(index) => {
                let next = self.nodes[index as usize].next;
                self.free = (next != NONE).then_some(next);
                self.nodes[index as usize] = node;
                index
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        };
        if queue.tail == NONE {
            queue.head = index;
        } else {
            self.nodes[queue.tail as usize].next = index;
        }
        queue.tail = index;
        queue.packets += 1;
        queue.bytes += u64::from(waiting.packet.bytes);
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(waiting.packet.bytes);
    }

    pub fn front(&self, queue: &Queue) -> Option<&Waiting> {
        self.nodes.get(queue.head as usize).map(|node| &node.waiting)
    }

    pub fn front_mut(&mut self, queue: &Queue) -> Option<&mut Waiting> {
        self.nodes.get_mut(queue.head as usize).map(|node| &mut node.waiting)
    }

    pub fn pop_front(&mut self, queue: &mut Queue) -> Option<Waiting> {
        self.remove(queue, queue.head)
    }

    pub fn pop_back(&mut self, queue: &mut Queue) -> Option<Waiting> {
        self.remove(queue, queue.tail)
    }

    /// Takes out one packet of a queue.
    fn remove(&mut self, queue: &mut Queue, index: u32) -> Option<Waiting> {
        let Node { waiting, next, previous } = *self.nodes.get(index as usize)?;
        match previous {
            NONE => queue.head = next,
            _ => self.nodes[previous as usize].next = next,
        }
        match next {
            NONE => queue.tail = previous,
            _ => self.nodes[next as usize].previous = previous,
        }
        self.nodes[index as usize].next = self.free.unwrap_or(NONE);
        self.free = Some(index);
        queue.packets -= 1;
        queue.bytes -= u64::from(waiting.packet.bytes);
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(waiting.packet.bytes);
        Some(waiting)
    }

    /// Moves the packets of a queue that `affected` names to `out`, the oldest first.
    pub fn withdraw(&mut self, queue: &mut Queue, affected: Affected<'_>, out: &mut Vec<Packet>) {
        let mut at = queue.head;
        while let Some(&Node { waiting, next, .. }) = self.nodes.get(at as usize) {
            if affected(&waiting.packet) {
                self.remove(queue, at);
                out.push(waiting.packet);
            }
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_share_the_slab_and_keep_their_order() {
        let packet = |handle, bytes| Packet { handle, bytes, ..Packet::default() };
        let (mut store, mut a, mut b) = (Store::default(), Queue::default(), Queue::default());
        for i in 0..4 {
            store.push(&mut a, packet(i, 10), Time::ZERO);
            store.push(&mut b, packet(100 + i, 1), Time::ZERO);
        }
        assert_eq!(store.pop_back(&mut a).unwrap().packet.handle, 3);
        assert_eq!(store.pop_front(&mut a).unwrap().packet.handle, 0);
        assert_eq!((a.packets(), a.bytes(), b.bytes()), (2, 20, 4));
        store.push(&mut b, packet(7, 5), Time::ZERO);
        store.push(&mut b, packet(8, 5), Time::ZERO);
        assert_eq!(store.nodes.len(), 8, "places of packets that left are used again");
        let mut out = Vec::new();
        store.withdraw(&mut b, &mut |packet| packet.bytes == 1, &mut out);
        assert_eq!((out.len(), b.packets(), b.bytes()), (4, 2, 10), "queues lose packets anywhere");
        store.push(&mut b, packet(9, 5), Time::ZERO);
        store.withdraw(&mut b, &mut |_| true, &mut out);
        assert_eq!(out.iter().map(|p| p.handle).collect::<Vec<_>>(), [100, 101, 102, 103, 7, 8, 9]);
        assert_eq!(store.backlog(), Backlog { packets: 2, bytes: 20 });
        assert!(b.is_empty() && store.pop_front(&mut b).is_none() && store.front(&b).is_none());
    }
}
