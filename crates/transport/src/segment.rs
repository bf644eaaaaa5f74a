//! What travels between the endpoints.

use skyhop_base::{Segments, Time};

/// Whether a segment was on the wire before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmission {
    First,
    Again,
}

/// How queues that know priorities treat a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    #[default]
    Normal,
    /// A probe (TCP Peach's dummy segment): at a full queue it is dropped, or gives way to a normal one that arrives.
    Low,
}

/// The ECN codepoint in the IP header (RFC 3168 §5). The network turns `Capable` into `Experienced`, nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not-ECT: a queue that would mark this packet drops it.
    #[default]
    NotCapable,
    /// ECT(0).
    Capable,
    /// CE.
    Experienced,
}

/// A segment that the sender puts on the wire. The network carries every field to the receiver, and may change `ecn`
/// only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Counts segments; 0 opens the connection.
    pub seq: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// User bytes.
    pub payload: u32,
    pub transmission: Transmission,
    pub priority: Priority,
    pub ecn: Ecn,
    /// CWR: the sender has reacted to the ECN echo (RFC 3168 §6.1.2).
    pub window_reduced: bool,
}

/// What the receiver answers. The network carries every field; ACKs are not ECN-capable (RFC 3168 §6.1.4) and of
/// normal priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The next segment expected: all before it have arrived.
    pub next: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// When the segment was sent whose time stamp this ACK echoes: the last one that arrived in order, of those that
    /// one ACK covers the earliest (RFC 7323 §4.3).
    pub echo: Time,
    /// Which transmission of that segment it was.
    pub trigger: Transmission,
    /// Low: this ACK answers a probe and stands for no other segment.
    pub answers: Priority,
    /// ECE: a mark arrived and no CWR since (RFC 3168 §6.1.3).
    pub ecn_echo: bool,
    pub blocks: SackBlocks,
}

/// Segments in order that leave together: alike, sent for the first time, of normal priority and without ECN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    pub first: u32,
    pub count: u32,
    /// Bytes on the wire of each.
    pub size: u32,
    /// User bytes of each.
    pub payload: u32,
    /// Whether other segments may leave after it: those that [`crate::Sender::poll_transmit`] gives.
    pub more: bool,
    /// [`crate::Sender::cwnd`] after the ACK.
    pub cwnd: Segments,
    /// [`crate::Sender::next_timeout`] after the burst.
    pub timeout: Time,
}

/// An ACK without blocks and without ECN echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainAck {
    /// The next segment expected.
    pub next: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// As in [`Ack`].
    pub echo: Time,
    pub trigger: Transmission,
}

/// What the next segment of an undisturbed stream leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undisturbed {
    /// Its ACK waits for another segment, or for [`crate::Receiver::next_timeout`].
    Waits,
    Acks(PlainAck),
}

/// Up to four ranges `[start, end)` of segments held beyond the cumulative acknowledgement (RFC 2018), the one
/// with the newest segment first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    count: u8,
    blocks: [(u32, u32); SackBlocks::CAPACITY],
}

impl SackBlocks {
    /// As many as fit into the options of a TCP header (RFC 2018 §3).
    pub const CAPACITY: usize = 4;

    pub const EMPTY: SackBlocks = SackBlocks { count: 0, blocks: [(0, 0); Self::CAPACITY] };

    /// Appends a range; one too many is left out.
    pub fn push(&mut self, start: u32, end: u32) {
        debug_assert!(start < end);
        if let Some(slot) = self.blocks.get_mut(usize::from(self.count)) {
            *slot = (start, end);
            self.count += 1;
        }
    }

    #[inline]
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn len(&self) -> usize {
        usize::from(self.count)
    }
}
