//! Workloads as the engine has them.

use super::{at, packet_bytes};
use crate::format::ConnectionsFile;
use crate::scenario::Workload;
use skyhop_base::Duration;
use skyhop_quic::StreamUse;
use skyhop_sim::workload::{ConnectionUse, WorkloadConfig};
use skyhop_topology::NodeId;
use std::collections::BTreeMap;

impl Workload {
    /// The workload between these nodes.
    pub(crate) fn config(&self, from: Vec<NodeId>, to: Vec<NodeId>) -> WorkloadConfig {
        WorkloadConfig {
            name: self.name.clone(),
            from,
            to,
            transport: self.transport.config(match self.pages {
                // A server answers the requests of a page side by side.
                Some(_) => StreamUse::AtOnce,
                None => StreamUse::InTurn,
            }),
            arrivals: self.arrival_config.clone(),
            sizes: self.distribution.clone(),
            connections: match self.connections {
                Some(ConnectionsFile::New) | None => ConnectionUse::New,
                Some(ConnectionsFile::Persistent(count)) => ConnectionUse::Persistent(count),
            },
            burst: self.burst.as_ref().map(|burst| (burst.rate, packet_bytes(burst.payload))),
            pages: self.page_config.clone(),
            start: at(self.start),
            stop: self.stop.map(at),
            count: self.count.map(u64::from),
            ttl: self.ttl,
            class: self.class,
            jitter: self.jitter.unwrap_or(Duration::ZERO),
        }
    }
}

/// All workloads, in the order of their names.
pub(super) fn workloads(workloads: &[Workload], ids: &BTreeMap<&str, NodeId>) -> Vec<WorkloadConfig> {
    let nodes = |names: &[String]| names.iter().map(|name| ids[name.as_str()]).collect();
    workloads.iter().map(|workload| workload.config(nodes(&workload.from), nodes(&workload.to))).collect()
}
