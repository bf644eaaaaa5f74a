//! Recordings that links follow.

use crate::format::InlineFile;
use serde::Serialize;
use skyhop_base::Duration;
use skyhop_sim::spec::TraceConfig;

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
