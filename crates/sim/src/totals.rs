//! Counts of packets and bytes of each flow.

use crate::records::DropCounts;

/// Running totals of a flow.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct FlowTotals {
    pub received: u64,
    pub duplicate: u64,
    pub wire_bytes: u64,
    pub bytes_delivered: u64,
    pub acks_sent: u64,
    pub acks_received: u64,
    pub sent: u64,
    /// Bytes of the packets sent, …
    pub sent_bytes: u64,
    /// … user bytes in them, …
    pub sent_payload_bytes: u64,
    /// … and bytes of the packets sent again.
    pub resent_bytes: u64,
    /// Received packets that a helper on the path had sent again.
    pub copies: u64,
    pub drops: DropCounts,
    pub ack_drops: DropCounts,
}
