//! Packets that arrive later than their link alone would have them.

use crate::packet::Packet;
use skyhop_base::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A packet that arrives later than its link alone would have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DelayedPacket {
    pub at: Time,
    /// Packets of one instant keep their order.
    pub number: u64,
    pub link: u32,
    /// When its transmission began.
    pub start: Time,
    pub packet: Packet,
}

impl PartialOrd for DelayedPacket {
    fn partial_cmp(&self, other: &DelayedPacket) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DelayedPacket {
    fn cmp(&self, other: &DelayedPacket) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// All packets that are late, of all links.
#[derive(Debug, Default)]
pub(crate) struct LatePackets {
    pub waiting: BinaryHeap<Reverse<DelayedPacket>>,
    /// Packets that were late so far.
    pub number: u64,
}

impl LatePackets {
    /// Packets that are in the network.
    pub fn count(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Takes over those of another part of the run.
    pub fn absorb(&mut self, other: LatePackets) {
        self.waiting.extend(other.waiting);
    }

    pub fn memory_bytes(&self) -> u64 {
        (self.waiting.capacity() * size_of::<DelayedPacket>()) as u64
    }
}
