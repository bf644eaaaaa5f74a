//! A packet in flight: small, `Copy`, ids instead of pointers.

use crate::headers::Codepoint;
use skyhop_base::Time;

/// Data or ACK. Half a cache line: the other half of its place on a link has times (`crate::pool`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Data: the time at which it was handed to the network. ACK: the stamp of the packet that it answers.
    pub stamp: Time,
    pub flow: u32,
    /// Data: the segment number. ACK: the next segment that the receiver expects.
    pub seq: u32,
    /// Per-endpoint packet counter; keys the loss draw of random errors.
    pub number: u32,
    /// With a payload: its handle with [`Packet::PAYLOAD`]. Otherwise, data: bytes of user data; ACK: the index of its
    /// details, or [`Packet::NO_DETAIL`].
    pub detail: u32,
    /// The node at the other end of the link that it is on.
    pub to: u32,
    /// Bytes on the wire.
    pub size: u16,
    /// Hops that are left.
    pub ttl: u8,
    pub flags: Flags,
}

const _: () = assert!(size_of::<Packet>() == 32);

impl Packet {
    pub const NO_DETAIL: u32 = u32::MAX;

    /// In `detail`: the rest is the handle of a payload.
    pub const PAYLOAD: u32 = 1 << 31;

    /// The handle of the payload, of a packet that has one.
    pub const fn payload(&self) -> Option<u32> {
        if self.detail & Packet::PAYLOAD != 0 && self.detail != Packet::NO_DETAIL {
            Some(self.detail & !Packet::PAYLOAD)
        } else {
            None
        }
    }

    pub const fn is_ack(&self) -> bool {
        self.flags.has(Flags::ACK)
    }

    /// Whether a queue may drop it before others. An ACK only says that it answers such a segment.
    pub const fn is_low(&self) -> bool {
        self.flags.0 & (Flags::LOW.0 | Flags::ACK.0) == Flags::LOW.0
    }
}

/// Bits of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    pub const ACK: Flags = Flags(1);
    /// Data: a retransmission. ACK: answers a retransmission.
    pub const RETRANSMISSION: Flags = Flags(2);
    /// Sent to a peer that does not listen any more: takes the link's time and is lost at its end.
    pub const UNREACHABLE: Flags = Flags(4);

    /// A request, in the direction of ACKs, for the answer with the number `seq`.
    pub const REQUEST: Flags = Flags(8);

    /// Data: low priority. ACK: answers a segment of low priority.
    pub const LOW: Flags = Flags(16);
    /// ECN-capable (RFC 3168 §5): a queue may mark it.
    pub const ECT: Flags = Flags(32);
    /// Marked by a queue.
    pub const CE: Flags = Flags(64);
    /// Data: the sender has reacted to an echoed mark.
    pub const CWR: Flags = Flags(128);
    /// ACK: echoes a mark. The bit of [`Flags::CWR`], which only data have.
    pub const ECE: Flags = Flags::CWR;

    /// With [`Flags::ECT`], the codepoint is ECT(1) (RFC 9331 §5). Only packets that carry a [`Packet::payload`] have
    /// it; it shares its bit with [`Flags::CWR`], which only packets without a payload have.
    pub const ECT1: Flags = Flags::CWR;

    pub const NONE: Flags = Flags(0);

    pub const fn has(self, bits: Flags) -> bool {
        self.0 & bits.0 == bits.0
    }

    /// The ECN field of a packet with a payload.
    #[inline(always)]
    pub(crate) fn codepoint(self) -> Codepoint {
        match (self.has(Flags::CE), self.has(Flags::ECT)) {
            (true, _) => Codepoint::Ce,
            (false, true) if self.has(Flags::ECT1) => Codepoint::Ect1,
            (false, true) => Codepoint::Ect0,
            (false, false) => Codepoint::NotEct,
        }
    }

    #[must_use]
    pub const fn with(self, bits: Flags) -> Flags {
        Flags(self.0 | bits.0)
    }
}
