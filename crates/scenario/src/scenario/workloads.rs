//! Workloads that were found right.

use super::Transport;
use crate::format::{ArrivalsFile, BurstFile, ConnectionsFile, PagesFile, SizesFile};
use crate::tree::Path;
use serde::Serialize;
use skyhop_base::Duration;
use skyhop_sim::distribution::Distribution;
use skyhop_sim::pages::PagesConfig;
use skyhop_sim::workload::ArrivalConfig;
use std::sync::Arc;

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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<BurstFile>,
    pub arrivals: ArrivalsFile,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<SizesFile>,
    /// None with pages, which have connections of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<ConnectionsFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<PagesFile>,
    pub start: Duration,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    pub ttl: u8,
    pub class: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Duration>,
    /// What `arrivals` means.
    #[serde(skip)]
    pub arrival_config: ArrivalConfig,
    /// What `sizes` means, in bytes.
    #[serde(skip)]
    pub distribution: Distribution,
    /// What `pages` means.
    #[serde(skip)]
    pub page_config: Option<Arc<PagesConfig>>,
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
