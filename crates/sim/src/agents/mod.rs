//! Helpers at nodes of the network, and the notices that some of them send. A run without them pays for one comparison
//! per hop.

pub mod config;
mod eln;
pub(crate) mod estimator;
mod report;
mod snoop;
mod survival;

use crate::error::SimulationError;
use crate::packet::{Flags, Packet};
use crate::records::{DropCause, DropCounts};
use crate::simulation::{Destination, Simulation};
use crate::spec::SimulationSpec;
use config::AgentTask;
use eln::Markers;
use report::{Gateway, Notice, Watch};
use skyhop_base::{Stream, Time};
use skyhop_topology::{NodeId, Topology};
use snoop::Snoop;
pub(crate) use snoop::{COPIES, SnoopOutcome, is_copy};
use survival::Survival;

/// No watch of a link.
const NOBODY: u32 = u32::MAX;

/// Hops of a notice: as many as a packet can have.
const TTL: u8 = u8::MAX;

/// Notices to one node. In packets and records a channel is a flow behind the last one.
struct Channel {
    node: u32,
    /// Tells it apart in random streams.
    key: u64,
    /// Notices sent so far.
    number: u32,
}

/// All helpers of a network.
#[derive(Default)]
pub(crate) struct Agents {
    gateways: Vec<Gateway>,
    watches: Vec<Watch>,
    /// By link the place in `watches`, or [`NOBODY`].
    watch_of: Vec<u32>,
    channels: Vec<Channel>,
    notices: Vec<Notice>,
    free: Vec<u32>,
    /// There is a helper: one look per hop.
    present: bool,
    snoops: Vec<Snoop>,
    survival: Survival,
    markers: Markers,
    pub(crate) totals: NoticeTotals,
}

/// Where the notices went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NoticeTotals {
    pub sent: u64,
    pub delivered: u64,
    pub dropped: DropCounts,
}

/// Gives a link to the helper at a place; the link's name when another helper has it.
fn claim(place_of: &mut [u32], link: usize, place: usize, topology: &Topology) -> Result<(), String> {
    if place_of[link] != NOBODY {
        return Err(topology.links().iter().nth(link).map_or(String::new(), |link| link.name.clone()));
    }
    place_of[link] = place as u32;
    Ok(())
}

impl Agents {
    pub(crate) fn new(spec: &SimulationSpec, topology: &Topology) -> Result<Agents, SimulationError> {
        let mut agents = Agents::default();
        agents.present = !spec.agents.is_empty();
        for agent in &spec.agents {
            if topology.nodes().get(agent.node).is_none() {
                return Err(SimulationError::UnknownAgentNode { node: agent.node.as_u32() });
            }
            let config = match &agent.task {
                AgentTask::ErrorReport(config) => config,
                AgentTask::Snoop(config) => {
                    agents.snoops.push(Snoop::new(agent.node, config));
                    continue;
                }
                AgentTask::Survival(config) => {
                    agents.survival.mark(config, topology)?;
                    continue;
                }
                AgentTask::Eln(config) => {
                    agents.markers.add(agent.node, config, topology)?;
                    continue;
                }
            };
            agents.watch_of.resize(topology.links().len(), NOBODY);
            let gateway = agents.gateways.len();
            let links = report::watched(config.links.as_deref(), topology)?;
            for &link in &links {
                claim(&mut agents.watch_of, link, agents.watches.len(), topology)
                    .map_err(|name| SimulationError::WatchedTwice { name })?;
                agents.watches.push(Watch::new(gateway, config));
            }
            agents.gateways.push(Gateway::new(agent.node, config, &links, topology));
        }
        if !agents.gateways.is_empty() {
            agents.open_channels(spec, topology);
        }
        Ok(agents)
    }

    /// A channel to each gateway and to each source.
    fn open_channels(&mut self, spec: &SimulationSpec, topology: &Topology) {
        let gateways = self.gateways.iter().map(|gateway| gateway.node);
        let mut nodes: Vec<u32> = gateways.chain(spec.flows.iter().map(|flow| flow.from.as_u32())).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let key = |node: u32| Stream::new(0, &topology.nodes()[NodeId::new(node)].name, "notices").bits_at(0);
        self.channels = nodes.into_iter().map(|node| Channel { node, key: key(node), number: 0 }).collect();
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        !self.present
    }

    /// The nodes that notices go to.
    pub(crate) fn destinations(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.channels.iter().map(|channel| NodeId::new(channel.node))
    }

    /// What tells a packet's sender apart in random streams, for packets that belong to no flow.
    pub(crate) fn key(&self, channel: usize) -> u64 {
        self.channels.get(channel).map_or(0, |channel| channel.key)
    }

    /// Names under which records keep the notices.
    pub(crate) fn names(&self, topology: &Topology) -> Vec<String> {
        let name = |channel: &Channel| format!("{}.notices", topology.nodes()[NodeId::new(channel.node)].name);
        self.channels.iter().map(name).collect()
    }

    fn keep(&mut self, notice: Notice) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.notices[slot as usize] = notice;
                slot
            }
            None => {
                self.notices.push(notice);
                self.notices.len() as u32 - 1
            }
        }
    }

    fn take(&mut self, slot: u32) -> Notice {
        self.free.push(slot);
        self.notices[slot as usize]
    }

    /// A notice was dropped.
    pub(crate) fn drop_notice(&mut self, packet: &Packet, cause: DropCause) {
        self.take(packet.seq);
        self.totals.dropped[cause as usize] += 1;
    }
}

impl Simulation {
    /// Sends a notice from a node to another.
    fn send_notice(&mut self, from: u32, to: u32, size: u32, notice: Notice) {
        if from == to {
            return self.on_notice(to, notice);
        }
        let Ok(index) = self.agents.channels.binary_search_by_key(&to, |channel| channel.node) else { return };
        let seq = self.agents.keep(notice);
        let channel = &mut self.agents.channels[index];
        let number = channel.number;
        channel.number += 1;
        self.agents.totals.sent += 1;
        let flow = (self.flows.len() + index) as u32;
        let packet = Packet {
            stamp: self.now,
            flow,
            seq,
            number,
            detail: Packet::NO_DETAIL,
            to: from,
            size: size as u16,
            ttl: TTL,
            flags: Flags::ACK,
        };
        self.forward_from(from, packet);
    }

    /// A notice is where it was sent to.
    #[cold]
    pub(crate) fn deliver_notice(&mut self, packet: &Packet) {
        self.agents.totals.delivered += 1;
        let notice = self.agents.take(packet.seq);
        self.on_notice(packet.to, notice);
    }

    /// Where each channel leads, in the form that packets of flows have: the same path in both directions.
    pub(crate) fn channel_ends(agents: &Agents, destination: impl Fn(NodeId) -> Destination) -> Vec<[Destination; 2]> {
        agents.destinations().map(|node| [destination(node); 2]).collect()
    }

    /// Whether a packet is data of a TCP, or an ACK that answers some.
    fn is_of_connection(&self, packet: &Packet) -> bool {
        let is_tcp = self.flows.get(packet.flow as usize).is_some_and(|flow| flow.ends.is_legible());
        let is_news = !packet.is_ack() || self.ack_details.is_news(packet.detail);
        // A probe does not count as data, nor a request as an ACK.
        is_tcp && is_news && !packet.is_low() && !(packet.is_ack() && packet.flags.has(Flags::REQUEST))
    }

    /// A packet has come over a link to a node.
    #[cold]
    pub(crate) fn pass_agents(&mut self, link: u32, begun: Time, packet: &mut Packet) -> SnoopOutcome {
        if !self.agents.gateways.is_empty() {
            self.learn(link, begun, packet);
            self.write_rate(packet);
        }
        if !self.agents.survival.is_empty()
            && !packet.is_ack()
            && packet.to == self.data_ends(packet.flow as usize).1.node
        {
            self.agents.survival.arrived(packet);
        }
        if self.agents.marks_losses() && self.is_of_connection(packet) {
            self.mark_losses(link, packet);
        }
        if self.agents.snoops.is_empty() { SnoopOutcome::On } else { self.snoop(packet) }
    }
}
