//! Helpers at nodes, as the engine takes them.

use crate::scenario::{Agent, Flow, Pep, Scenario, Task};
use skyhop_sim::agents::config::ShareName;
use skyhop_sim::spec::{AgentConfig, FlowConfig, RelayShare, SourceConfig, TransportConfig};
use skyhop_topology::NodeId;
use std::collections::BTreeMap;

/// What an agent does in the engine; those that split connections are legs of flows.
pub(super) fn agent(agent: &Agent, ids: &BTreeMap<&str, NodeId>) -> Option<AgentConfig> {
    match &agent.task {
        Task::Pep(_) => None,
        Task::Engine(task) => Some(AgentConfig { node: ids[agent.at.as_str()], task: task.clone() }),
    }
}

impl Scenario {
    fn pep_at(&self, node: &str) -> Option<&Pep> {
        self.agents.iter().filter(|agent| agent.at == node).find_map(|agent| match &agent.task {
            Task::Pep(pep) => Some(&**pep),
            Task::Engine(_) => None,
        })
    }

    /// The legs of a flow that is split, or the flow itself.
    pub(super) fn legs(&self, flow: &Flow, whole: FlowConfig, ids: &BTreeMap<&str, NodeId>) -> Vec<FlowConfig> {
        let mut legs: Vec<FlowConfig> = Vec::new();
        let names = flow.legs(&whole.name);
        for (i, name) in names.into_iter().enumerate() {
            let mut leg = whole.clone();
            leg.name = name;
            if let Some(node) = flow.via.get(i) {
                leg.to = ids[node.as_str()];
            }
            if let Some((before, pep)) = legs.last().zip(i.checked_sub(1).and_then(|i| self.pep_at(&flow.via[i]))) {
                leg.from = before.to;
                leg.transport = TransportConfig::Tcp(Box::new(pep.tcp.clone()));
                leg.application = SourceConfig::Relay {
                    before: before.name.clone(),
                    buffer_bytes: pep.buffer.0,
                    share: match pep.share {
                        ShareName::Tcp => RelayShare::OfTcp,
                        ShareName::Link => RelayShare::OfLink,
                    },
                };
            }
            legs.push(leg);
        }
        legs
    }
}
