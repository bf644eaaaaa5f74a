//! What travels between the endpoints.

use skyhop_base::Time;

/// Whether a segment was on the wire before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmission {
    First,
    Again,
}

/// A segment that the sender puts on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Counts segments; 0 opens the connection.
    pub seq: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// User bytes.
    pub payload: u32,
    pub transmission: Transmission,
}

/// What the receiver answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The next segment expected: all before it have arrived.
    pub next: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// When the segment that triggered this ACK was sent.
    pub echo: Time,
    /// Which transmission of that segment it was.
    pub trigger: Transmission,
    pub blocks: SackBlocks,
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
