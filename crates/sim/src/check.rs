//! What a simulation cannot be made of.

use crate::events::{LONGEST_RUN, MOST_SLOTS};
use crate::simulation::SimulationError;
use crate::spec::{SimulationSpec, TransportConfig};
use skyhop_topology::Topology;

/// What the event queue can tell apart.
pub fn check_size(spec: &SimulationSpec, topology: &Topology) -> Result<(), SimulationError> {
    if spec.duration > LONGEST_RUN {
        return Err(SimulationError::TooLong { days: spec.duration.as_secs_f64() / 86_400.0 });
    }
    // Topology, grid, positions and agents have a slot each, a flow has three.
    let components = topology.links().len() + 3 * spec.flows.len() + 4;
    if components > MOST_SLOTS {
        return Err(SimulationError::TooLarge { components });
    }
    Ok(())
}

pub fn check_flows(spec: &SimulationSpec, topology: &Topology) -> Result<(), SimulationError> {
    for flow in &spec.flows {
        let name = || flow.name.clone();
        for node in [flow.from, flow.to] {
            if topology.nodes().get(node).is_none() {
                return Err(SimulationError::UnknownNode { flow: name(), node: node.as_u32() });
            }
        }
        if flow.from == flow.to {
            return Err(SimulationError::SelfFlow { flow: name() });
        }
        let datagrams = matches!(flow.transport, TransportConfig::Udp { .. });
        if datagrams && flow.application.needs_tcp() {
            return Err(SimulationError::TransferOverDatagrams { flow: name() });
        }
    }
    for name in &spec.records.packets {
        if !topology.links().iter().any(|link| link.name == *name) {
            return Err(SimulationError::UnknownRecordedLink { name: name.clone() });
        }
    }
    Ok(())
}
