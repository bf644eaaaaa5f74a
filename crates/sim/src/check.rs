//! What a simulation cannot be made of.

use crate::agents::config::AgentTask;
use crate::applications::Carrier;
use crate::error::SimulationError;
use crate::events::{LONGEST_RUN, MOST_SLOTS};
use crate::spec::{FlowConfig, RunClock, SimulationSpec, SourceConfig, TransportConfig};
use skyhop_topology::Topology;
use skyhop_transport::Switch;
use std::collections::BTreeSet;

/// What the event queue can tell apart.
pub fn check_size(spec: &SimulationSpec, topology: &Topology) -> Result<(), SimulationError> {
    if spec.duration > LONGEST_RUN {
        return Err(SimulationError::TooLong { days: spec.duration.as_secs_f64() / 86_400.0 });
    }
    // Topology, grid, positions, agents, late packets and handovers to come have a slot each, a flow has three.
    let components = topology.links().len() + 3 * spec.flows.len() + 6;
    if components > MOST_SLOTS {
        return Err(SimulationError::TooLarge { components });
    }
    Ok(())
}

/// Most bytes of a packet on the wire: `Packet::size` is a `u16`.
const LARGEST_PACKET: u64 = u16::MAX as u64;

/// The largest packets that a flow sends, in bytes on the wire: what they are, and their size with all headers.
fn largest_packets(flow: &FlowConfig) -> Vec<(&'static str, u64)> {
    match &flow.transport {
        TransportConfig::Tcp(config) => {
            let options = &config.options;
            let blocks = if options.sack == Switch::On { u64::from(options.max_sack_blocks) } else { 0 };
            let sack =
                if blocks > 0 { options.ns2.sack_option_size.0 + blocks * options.ns2.sack_block_size.0 } else { 0 };
            let mut sizes = vec![
                ("a segment (mss + header)", options.mss.0 + options.header.0),
                ("segment 0 (syn_size)", options.syn_size.0),
                ("an ACK (ack_size + sack_option_size + SACK blocks)", options.ack_size.0 + sack),
            ];
            if let Some(request_bytes) = flow.application.request_bytes() {
                sizes.push(("a request", u64::from(request_bytes)));
            }
            sizes
        }
        TransportConfig::Udp { header_bytes } => {
            let payload = flow.application.payload_bytes().unwrap_or(0);
            vec![("a datagram (payload + header)", u64::from(payload) + u64::from(*header_bytes))]
        }
        // The size of their packets is a `u16`.
        TransportConfig::Hosts(_) => {
            flow.application.request_bytes().map(|bytes| ("a request", u64::from(bytes))).into_iter().collect()
        }
    }
}

/// Sizes must fit into the packets that carry them: a sum that wraps would make a large packet small.
fn check_packets(spec: &SimulationSpec) -> Result<(), SimulationError> {
    for flow in &spec.flows {
        if let Some((what, size)) = largest_packets(flow).into_iter().find(|(_, size)| *size > LARGEST_PACKET) {
            return Err(SimulationError::PacketTooLarge { flow: flow.name.clone(), what, size });
        }
    }
    for agent in &spec.agents {
        let AgentTask::ErrorReport(report) = &agent.task else { continue };
        for (what, size) in [("a probe", report.probe.0), ("a report", report.report.0)] {
            if size > LARGEST_PACKET {
                let flow = "of the agent".to_owned();
                return Err(SimulationError::PacketTooLarge { flow, what, size });
            }
        }
    }
    Ok(())
}

/// What of a flow with hosts of another kind only Skyhop's own TCP can do. `feeding` are the flows before a relay.
fn needs_own_tcp(flow: &FlowConfig, spec: &SimulationSpec, feeding: &BTreeSet<&str>) -> Option<&'static str> {
    if !matches!(flow.transport, TransportConfig::Hosts(_)) {
        return None;
    }
    if flow.application.fed_by().is_some() || feeding.contains(flow.name.as_str()) {
        return Some("a split connection");
    }
    if !flow.jitter.is_zero() {
        return Some("a random time before sending (jitter)");
    }
    (spec.clock == RunClock::Ns2).then_some("ns-2's clock")
}

pub fn check_flows(spec: &SimulationSpec, topology: &Topology) -> Result<(), SimulationError> {
    check_packets(spec)?;
    let feeding: BTreeSet<&str> = spec.flows.iter().filter_map(|flow| flow.application.fed_by()).collect();
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
        let reliable = match &flow.transport {
            TransportConfig::Tcp(_) => true,
            TransportConfig::Udp { .. } => false,
            TransportConfig::Hosts(transport) => transport.is_reliable(),
        };
        let needs_datagrams = matches!(&flow.application,
            SourceConfig::Application(application) if matches!(application.carrier(), Carrier::Datagrams(_)));
        let message_bytes = match &flow.transport {
            TransportConfig::Hosts(transport) => transport.message_bytes(),
            TransportConfig::Tcp(_) | TransportConfig::Udp { .. } => None,
        };
        let is_udp = matches!(flow.transport, TransportConfig::Udp { .. });
        if needs_datagrams && !is_udp && message_bytes.is_none() {
            return Err(SimulationError::CallNeedsDatagrams { flow: name() });
        }
        if !reliable && flow.application.needs_tcp() {
            return Err(SimulationError::TransferOverDatagrams { flow: name() });
        }
        if let Some([least, most]) = message_bytes {
            let bytes = flow.application.payload_bytes().unwrap_or(0);
            if !(least..=most).contains(&bytes) {
                return Err(SimulationError::MessageSize { flow: name(), bytes, least, most });
            }
        }
        if let Some(what) = needs_own_tcp(flow, spec, &feeding) {
            return Err(SimulationError::NeedsTcp { flow: name(), what });
        }
    }
    let recorded = &spec.records.packets;
    let known: BTreeSet<&str> = match recorded.is_empty() {
        true => BTreeSet::new(),
        false => topology.links().iter().map(|link| link.name.as_str()).collect(),
    };
    for name in recorded {
        if !known.contains(name.as_str()) {
            return Err(SimulationError::UnknownRecordedLink { name: name.clone() });
        }
    }
    Ok(())
}
