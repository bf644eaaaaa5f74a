//! Wired links, and what every transmitter has.

use super::queue::{Queue, QueueFile};
use super::repair::RepairFile;
use super::starlink::{LinkProfile, LinkProfileFile};
use super::trace::{Trace, TraceFile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Rate};
use skyhop_sim::errors::ErrorConfig;

/// A wired link. `forward` (from the first to the second node) and `backward` say where the directions differ.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkFile {
    /// Overrides (`links.NAME.rate`) and tables call the link so. Without it: by its ends.
    pub name: Option<String>,
    /// The nodes at the ends.
    pub between: [String; 2],
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    pub delay: Option<Duration>,
    pub queue: Option<QueueFile>,
    /// Bytes added to each packet while it is sent.
    pub framing: Option<Bytes>,
    pub errors: Option<Vec<ErrorConfig>>,
    /// What the link does about its errors.
    pub repair: Option<RepairFile>,
    /// A recording that both directions follow.
    pub trace: Option<TraceFile>,
    /// How links of an operator behave; `forward` is the uplink, from the terminal. Not with a recording.
    pub profile: Option<LinkProfileFile>,
    pub forward: Option<DirectionFile>,
    pub backward: Option<DirectionFile>,
}

/// What one direction of a link has of its own.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectionFile {
    pub rate: Option<Rate>,
    pub delay: Option<Duration>,
    pub queue: Option<QueueFile>,
    pub framing: Option<Bytes>,
    pub errors: Option<Vec<ErrorConfig>>,
    /// What the link does about its errors.
    pub repair: Option<RepairFile>,
    /// A recording that the direction follows.
    pub trace: Option<TraceFile>,
    /// How links of an operator behave.
    pub profile: Option<LinkProfileFile>,
}

/// What one direction of a ground-satellite link has of its own.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransmitterFile {
    pub rate: Option<Rate>,
    pub queue: Option<QueueFile>,
    pub framing: Option<Bytes>,
    pub errors: Option<Vec<ErrorConfig>>,
    /// What the link does about its errors.
    pub repair: Option<RepairFile>,
    /// A recording that the transmitters follow, each for itself.
    pub trace: Option<TraceFile>,
    /// How links of an operator behave; concerns stations without a wired link.
    pub profile: Option<LinkProfileFile>,
}

/// A wired link with both its directions.
#[derive(Clone, Debug, Serialize)]
pub struct WiredLink {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The end whose name comes first stands first.
    pub between: [String; 2],
    pub forward: Direction,
    pub backward: Direction,
}

/// One direction of a wired link.
#[derive(Clone, Debug, Serialize)]
pub struct Direction {
    pub delay: Duration,
    #[serde(flatten)]
    pub transmitter: Transmitter,
}

/// What sends packets into a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transmitter {
    pub rate: Rate,
    pub queue: Queue,
    pub framing: Bytes,
    pub errors: Vec<ErrorConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<RepairFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<LinkProfile>,
}
