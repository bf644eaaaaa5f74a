//! Recordings that links follow.

use super::content::{ContentFile, InlineFile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Duration;
use skyhop_sim::spec::TraceConfig;

/// A recording of a link; what it does not tell is the link's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceFile {
    /// When the link can deliver a packet, in ms since the start, one instant per line: mahimahi's format.
    pub opportunities: Option<ContentFile>,
    /// CSV with a column time_s and any of rate_bps, delay_s and loss. Each row holds until the next. Its rate takes
    /// the place of the link's own; its delay is added to the link's own, as that of `delays`.
    pub table: Option<ContentFile>,
    /// One-way delays in ms, one per line, added to the link's own.
    pub delays: Option<ContentFile>,
    /// Between two lines of `delays`. Without it: 10 ms.
    pub delays_every: Option<Duration>,
    /// Everything begins anew after so long. Without it: when the recording ends.
    pub period: Option<Duration>,
}

/// A recording, with the content of its files: so it enters the hash.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trace {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opportunities: Option<InlineFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<InlineFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delays: Option<InlineFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delays_every: Option<Duration>,
    pub period: Duration,
    /// What they say about service, delay and losses.
    #[serde(skip)]
    pub config: TraceConfig,
}
