//! What a transport's header says, for the records of packets.

/// The ECN field of the IP header (RFC 3168 §5, RFC 9331 §5), in the order of the field's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codepoint {
    #[default]
    NotEct,
    /// The host reacts to marks as a scalable transport does.
    Ect1,
    Ect0,
    Ce,
}

impl Codepoint {
    pub const fn name(self) -> &'static str {
        match self {
            Codepoint::NotEct => "not-ect",
            Codepoint::Ect0 => "ect0",
            Codepoint::Ect1 => "ect1",
            Codepoint::Ce => "ce",
        }
    }
}

/// The transport protocol of a packet, as far as records tell them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    Tcp,
    Udp,
    /// A request of an application, or a message of a helper on the path: it stands for no protocol of its own.
    #[default]
    Other,
}

impl Protocol {
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
            Protocol::Other => "other",
        }
    }
}

/// Bits of a TCP header (RFC 9293 §3.1, RFC 3168 §6.1, RFC 9768 §3.1 for AE).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags(u16);

impl TcpFlags {
    pub const FIN: TcpFlags = TcpFlags(1);
    pub const SYN: TcpFlags = TcpFlags(2);
    pub const PSH: TcpFlags = TcpFlags(8);
    pub const ACK: TcpFlags = TcpFlags(16);
    pub const ECE: TcpFlags = TcpFlags(64);
    pub const CWR: TcpFlags = TcpFlags(128);
    pub const AE: TcpFlags = TcpFlags(256);

    const NAMES: [(TcpFlags, &str); 7] = [
        (TcpFlags::FIN, "FIN"),
        (TcpFlags::SYN, "SYN"),
        (TcpFlags::PSH, "PSH"),
        (TcpFlags::ACK, "ACK"),
        (TcpFlags::ECE, "ECE"),
        (TcpFlags::CWR, "CWR"),
        (TcpFlags::AE, "AE"),
    ];

    /// The flags with `more` added where `is_set`.
    #[must_use]
    pub const fn and(self, more: TcpFlags, is_set: bool) -> TcpFlags {
        if is_set { TcpFlags(self.0 | more.0) } else { self }
    }

    /// "SYN ACK": the flags that are set.
    pub fn words(self) -> String {
        let set = TcpFlags::NAMES.iter().filter(|(flag, _)| self.0 & flag.0 != 0);
        set.map(|&(_, name)| name).collect::<Vec<_>>().join(" ")
    }
}

/// A SACK block: the number of its first byte, and that after its last.
pub type SackRange = (u64, u64);

/// A piece of a stream of QUIC: the stream, the number of its first byte there, and its bytes.
pub type StreamPiece = (u64, u64, u64);

/// What a transport's header says. Numbers do not wrap: the field on the wire is the number modulo 2^32.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    pub protocol: Protocol,
    pub flags: TcpFlags,
    /// Number of the first byte; the SYN has 0.
    pub seq: Option<u64>,
    /// The next byte expected.
    pub ack: Option<u64>,
    /// Receive window in bytes.
    pub window: Option<u64>,
    /// Value and echo of the timestamps option.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks in the order of the option. QUIC: packet numbers that the packet acknowledges, ranges that include
    /// both ends, the highest first.
    pub blocks: Vec<SackRange>,
    /// QUIC: the type of the packet; empty for other protocols.
    pub quic: &'static str,
    /// QUIC: pieces of streams.
    pub pieces: Vec<StreamPiece>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_named_in_the_order_of_their_bits() {
        assert_eq!(TcpFlags::ACK.and(TcpFlags::SYN, true).and(TcpFlags::ECE, true).words(), "SYN ACK ECE");
        assert_eq!(TcpFlags::default().words(), "");
    }
}
