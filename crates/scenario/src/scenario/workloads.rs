//! Workloads that were found right.

use super::{Transport, is_usual};
use crate::format::{ArrivalsFile, ConnectionsFile, SizesFile};
use crate::tree::Path;
use serde::Serialize;
use skyhop_base::Duration;
use skyhop_sim::distribution::Distribution;
use skyhop_sim::workload::ArrivalConfig;

/// Transfers of one kind, as [`WorkloadFile`](crate::format::WorkloadFile) has them.
#[derive(Clone, Debug, Serialize)]
pub struct Workload {
    pub name: String,
    /// In the order of their names.
    pub from: Vec<String>,
    /// In the order of their names.
    pub to: Vec<String>,
    #[serde(flatten)]
    pub transport: Transport,
    pub arrivals: ArrivalsFile,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<SizesFile>,
    pub connections: ConnectionsFile,
    pub start: Duration,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    pub ttl: u8,
    #[serde(skip_serializing_if = "is_usual")]
    pub class: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Duration>,
    /// What `arrivals` means.
    #[serde(skip)]
    pub arrival_config: ArrivalConfig,
    /// What `sizes` means, in bytes.
    #[serde(skip)]
    pub distribution: Distribution,
}

impl Workload {
    /// Between which nodes its transfers go: a way for each node that it names, with the key that names the receiver.
    pub(crate) fn ways(&self, path: &Path) -> Vec<(&str, &str, Path)> {
        let mut ways = Vec::new();
        for from in &self.from {
            if let Some(to) = self.to.iter().find(|to| *to != from) {
                ways.push((from.as_str(), to.as_str(), path.key("to")));
            }
        }
        for to in &self.to {
            if let Some(from) = self.from.iter().find(|from| *from != to) {
                ways.push((from.as_str(), to.as_str(), path.key("to")));
            }
        }
        ways
    }

    /// So many transfers begin in a run of this length, on average.
    pub fn expected_transfers(&self, duration: Duration) -> f64 {
        self.config(Vec::new(), Vec::new()).expected_transfers(duration)
    }
}
