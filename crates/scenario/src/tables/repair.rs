//! What a link does about its own errors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration};

/// Repair of a link's errors: a code within each packet, and either repetition of packets or packets of parity.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepairFile {
    /// A block code over bytes; needs errors per byte or bit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeFile>,
    /// Failed packets are sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arq: Option<ArqFile>,
    /// Packets of parity follow some of data. Not with `arq`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub erasure: Option<ErasureFile>,
    /// When the far end passes a packet on. Without it: "kept".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<OrderName>,
}

/// Blocks of `n` bytes, `k` of them data, of which up to `t` may be wrong: Reed-Solomon (255, 223) has a t of 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeFile {
    #[schemars(range(min = 1, max = 65535))]
    pub n: u32,
    #[schemars(range(min = 1, max = 65535))]
    pub k: u32,
    /// Without it: (n - k) / 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArqFile {
    /// Transmissions of a packet at most.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub tries: u32,
    /// The packets that are sent again. Without it: "selective".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<RepeatsName>,
    /// From the end of a transmission to when its failure is known. Without it: twice the propagation delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Duration>,
    /// What the far end sends back for each transmission, which takes the time of the link back: a failure is known
    /// when it is there. Without it answers take no bytes. Not with `round_trip`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Bytes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RepeatsName {
    /// The failed packet.
    Selective,
    /// The failed packet and all that followed it.
    GoBackN,
}

/// After `k` packets `n` - `k` of parity: any `k` of the `n` tell all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErasureFile {
    #[schemars(range(min = 2, max = 65535))]
    pub n: u32,
    #[schemars(range(min = 1, max = 65535))]
    pub k: u32,
    /// A block is closed so long after its first packet, even if it has fewer. Without it: what `k` packets of 1500 B
    /// take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OrderName {
    /// When all packets before it have come or are given up.
    Kept,
    /// At once.
    AsItComes,
}
