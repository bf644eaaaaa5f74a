//! What a discipline sees of a packet, and why it drops one.

use serde::{Deserialize, Serialize};

/// The ECN field of the IP header (RFC 3168 §5), by its codepoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Ecn {
    #[default]
    NotEct = 0,
    /// ECT(1): the sender reacts as L4S asks (RFC 9331).
    Ect1 = 1,
    Ect0 = 2,
    Ce = 3,
}

impl Ecn {
    /// The codepoint's number, 0 to 3; `None` for others.
    pub const fn from_codepoint(codepoint: u8) -> Option<Ecn> {
        match codepoint {
            0 => Some(Ecn::NotEct),
            1 => Some(Ecn::Ect1),
            2 => Some(Ecn::Ect0),
            3 => Some(Ecn::Ce),
            _ => None,
        }
    }
}

/// What a discipline sees of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// The caller's name for the packet; disciplines only pass it on.
    pub handle: u32,
    /// The flow it belongs to. Disciplines with queues by flow take it modulo their number of queues.
    pub flow: u32,
    /// Size with all headers that the link sends.
    pub bytes: u32,
    pub ecn: Ecn,
    /// The DSCP (cake, CoDel's selector) or the priority 0 to 15 (prio, fq).
    pub class: u8,
    /// Whether this discipline set CE.
    pub marked: bool,
}

impl Packet {
    /// Tells the receiver of congestion without a drop. False when the packet cannot carry that.
    /// A packet that is CE already counts as marked.
    pub fn mark(&mut self) -> bool {
        match self.ecn {
            Ecn::NotEct => return false,
            Ecn::Ce => {}
            Ecn::Ect0 | Ecn::Ect1 => {
                self.ecn = Ecn::Ce;
                self.marked = true;
            }
        }
        true
    }
}

/// Why a discipline dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The queue was full.
    Limit,
    /// The queue's memory was full.
    Memory,
    /// The flow's or the band's part was full.
    FlowLimit,
    /// The discipline's control of the delay.
    Control,
    /// Too large for a shaper's bucket.
    TooLarge,
    /// No class or no free queue for it.
    NoClass,
}

/// A packet that a discipline dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    pub packet: Packet,
    pub cause: Cause,
}

/// Memory that a waiting packet takes besides its bytes, where a limit is one of memory. The kernel counts the true
/// size of its buffers, about 256 B to 768 B more than the packet; 256 B is the reference's figure.
pub(crate) const MEMORY_OVERHEAD_BYTES: u64 = 256;
