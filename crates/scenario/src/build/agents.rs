//! Helpers at nodes, as the engine takes them.

use super::packet_bytes;
use crate::format::{ShareName, UnitName};
use crate::resolve::ISLS;
use crate::scenario::{Agent, Flow, Pep, Scenario, Task};
use skyhop_sim::spec::{
    AgentConfig, AgentTask, CountUnit, ElnConfig, ErrorReportConfig, FlowConfig, RelayShare, SnoopConfig, SourceConfig,
    SurvivalConfig, TransportConfig, WatchedLinks,
};
use skyhop_topology::NodeId;
use std::collections::BTreeMap;

/// What an agent does in the engine; those that split connections are legs of flows.
pub(super) fn agent(agent: &Agent, ids: &BTreeMap<&str, NodeId>) -> Option<AgentConfig> {
    let link = |name: &String| if name == ISLS { WatchedLinks::Isls } else { WatchedLinks::Named(name.clone()) };
    let links = |names: &[String]| names.iter().map(link).collect();
    let unit = |unit| match unit {
        UnitName::Byte => CountUnit::Byte,
        UnitName::Bit => CountUnit::Bit,
    };
    let task = match &agent.task {
        Task::Pep(_) => return None,
        Task::ErrorReport(report) => AgentTask::ErrorReport(ErrorReportConfig {
            links: links(&report.links),
            window: report.window,
            weight: report.weight,
            unit: unit(report.unit),
            probe_bytes: packet_bytes(report.probe),
            option_bytes: packet_bytes(report.option),
            report_bytes: packet_bytes(report.report),
        }),
        Task::Snoop(snoop) => {
            AgentTask::Snoop(SnoopConfig { packets: snoop.packets, repeats: snoop.repeats, least_timer: snoop.timer })
        }
        Task::Eln(eln) => AgentTask::Eln(ElnConfig { links: links(&eln.links) }),
        Task::Survival(survival) => AgentTask::Survival(SurvivalConfig {
            links: links(&survival.links),
            window: survival.window,
            weight: survival.weight,
            unit: unit(survival.unit),
        }),
    };
    Some(AgentConfig { node: ids[agent.at.as_str()], task })
}

impl Scenario {
    fn pep_at(&self, node: &str) -> Option<&Pep> {
        self.agents.iter().filter(|agent| agent.at == node).find_map(|agent| match &agent.task {
            Task::Pep(pep) => Some(&**pep),
            Task::ErrorReport(_) | Task::Snoop(_) | Task::Survival(_) | Task::Eln(_) => None,
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
