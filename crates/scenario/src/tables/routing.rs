//! How routes follow the network.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Duration;

/// How routes follow the network.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutingFile {
    /// Routes are renewed when a link comes or goes, and also after so much time.
    pub every: Option<Duration>,
    /// What makes a route short. Without it: "delay".
    pub metric: Option<MetricName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MetricName {
    /// Propagation delay.
    Delay,
    /// Links passed; of equal numbers the shorter delay.
    Hops,
}

#[derive(Clone, Debug, Serialize)]
pub struct Routing {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
    pub metric: MetricName,
}
