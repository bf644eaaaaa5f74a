//! Outcomes of listed packets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Duration;

/// What happens to single packets behind a link. Each class counts its own packets from 1, in the order in which they
/// come over the link; a packet that its queue has dropped does not count.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListFile {
    /// Packets of a source with user data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<ListedFile>,
    /// Packets of a sink that open nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acks: Vec<ListedFile>,
    /// Packets that ask for a connection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub syns: Vec<ListedFile>,
    /// Answers to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub syn_acks: Vec<ListedFile>,
    /// Everything that arrives from the first to before the second moment of a pair is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lose: Option<Vec<[Duration; 2]>>,
    /// The link stands still from the first to the second moment of a pair: packets wait, also the one that is being
    /// sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Vec<[Duration; 2]>>,
}

/// Packets of one class, and what happens to them.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListedFile {
    /// The number of a packet from 1, or the first and the last of several.
    pub packets: OrdinalsFile,
    /// The step between the numbers of these packets, from the first on. Without it: each.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub every: Option<u32>,
    /// Without it: "drop".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeFile>,
}

/// One number, or the first and the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum OrdinalsFile {
    One(#[schemars(range(min = 1))] u32),
    Several([u32; 2]),
}

/// What happens to a packet, by its name alone or with a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeFile {
    /// It is lost; it has used the link.
    Drop,
    /// It is marked "congestion experienced" if its transport is capable of ECN; others pass as they are.
    Mark,
    /// It arrives so much later; others overtake it.
    Delay(Duration),
    /// A copy arrives so much after it.
    Duplicate(Duration),
}
