//! Backward explicit error notification (BEEN, Govindarajan and Kousalya 2016, §4): the far ends of the watched links
//! check what arrives and keep a record of each packet; the gateway learns the records, estimates the error rate, tells
//! the source of a corrupted packet, and writes the rate into the ACKs that pass it.
//!
//! - A record of a corrupted packet leaves at once: as a probe packet if nothing waits for the path to the gateway,
//!   else as an option of what waits. Deviation: it goes behind what waits, with the bytes of an option, not on the
//!   first packet.
//! - Records of sound packets travel with whatever leaves for the gateway next. Deviation: all of them, not one per
//!   packet, and without bytes; those of links further away are known as if they came from the gateway's own link.
//! - A report holds the estimate from before its packet is counted (algorithm 1). The rates of several
//!   watched links on a path combine to 1 - Π (1 - rate).

use super::config::{CountUnit, ErrorReportOptions, ISLS};
use super::estimator::{Estimator, Integrity};
use super::{Agents, NOBODY};
use crate::applications::packet_bytes;
use crate::error::SimulationError;
use crate::packet::Packet;
use crate::simulation::Simulation;
use skyhop_base::{Index, Time};
use skyhop_topology::{LinkId, LinkKind, NodeId, Topology};
use skyhop_transport::ErrorReport;
use std::collections::VecDeque;

/// Records that wait at most: where nothing comes back, the oldest are learned without.
const MOST_RECORDS: usize = 4096;

pub(super) struct Gateway {
    pub(super) node: u32,
    pub(super) config: ErrorReportOptions,
    /// By link whether what comes over it may come from where a watched link ends: a satellite, the far end of a wire.
    brings: Vec<bool>,
}

impl Gateway {
    pub(super) fn new(node: NodeId, config: &ErrorReportOptions, watched: &[usize], topology: &Topology) -> Gateway {
        let links = topology.links();
        let ends: Vec<NodeId> = watched.iter().filter_map(|&link| links.get(LinkId::from_usize(link))?.to).collect();
        let brings = |link: &skyhop_topology::NetworkLink| {
            link.kind == LinkKind::Downlink || link.to == Some(node) && ends.contains(&link.from)
        };
        Gateway { node: node.as_u32(), config: config.clone(), brings: links.iter().map(brings).collect() }
    }
}

/// A link whose far end checks what arrives.
pub(super) struct Watch {
    gateway: usize,
    estimator: Estimator,
    /// Checks that the gateway does not know of yet.
    records: VecDeque<Record>,
    /// Records that the gateway has learned.
    learned: u64,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    time: Time,
    bytes: u16,
    integrity: Integrity,
}

/// What a packet that belongs to no flow says.
#[derive(Clone, Copy, Debug)]
pub(super) enum Notice {
    /// To the gateway: the record of this number of a watched link is that of a corrupted segment.
    Corrupted { watch: u32, record: u64, flow: u32, seq: u32 },
    /// To the source.
    Report { flow: u32, report: ErrorReport },
}

impl Watch {
    pub(super) fn new(gateway: usize, config: &ErrorReportOptions) -> Watch {
        Watch {
            gateway,
            estimator: Estimator::new(config.window, config.weight, config.unit.unwrap_or(CountUnit::Bit)),
            records: VecDeque::new(),
            learned: 0,
        }
    }

    fn learn_one(&mut self) {
        if let Some(record) = self.records.pop_front() {
            self.estimator.add(record.bytes, record.integrity);
            self.learned += 1;
        }
    }

    /// Learns all records before that of the given number.
    fn learn_before(&mut self, number: u64) {
        while self.learned < number && !self.records.is_empty() {
            self.learn_one();
        }
    }
}

/// The links of these names; none without any.
pub(super) fn watched(links: Option<&[String]>, topology: &Topology) -> Result<Vec<usize>, SimulationError> {
    let mut found = Vec::new();
    for wanted in links.unwrap_or_default() {
        let before = found.len();
        let is_wanted = |link: &skyhop_topology::NetworkLink| match wanted.as_str() {
            ISLS => link.kind == LinkKind::Isl,
            name => link.name == name,
        };
        found.extend(topology.links().enumerated().filter(|(_, link)| is_wanted(link)).map(|(id, _)| id.index()));
        if wanted != ISLS && found.len() == before {
            return Err(SimulationError::UnknownWatchedLink { name: wanted.clone() });
        }
    }
    Ok(found)
}

impl Agents {
    /// Whether what arrives over a link is checked for a gateway.
    #[inline]
    pub(crate) fn watches(&self, link: u32) -> bool {
        self.reports(link) || self.survival.marks(link)
    }

    fn reports(&self, link: u32) -> bool {
        self.watch_of.get(link as usize).is_some_and(|&watch| watch != NOBODY)
    }
}

impl Simulation {
    /// A packet has arrived over a watched link and was checked.
    #[cold]
    pub(crate) fn checked(&mut self, link: u32, packet: &Packet, corrupted: bool) {
        let integrity = if corrupted { Integrity::Corrupted } else { Integrity::Sound };
        self.agents.survival.checked(link, packet, integrity);
        if !self.agents.reports(link) {
            return;
        }
        let index = self.agents.watch_of[link as usize];
        let watch = &mut self.agents.watches[index as usize];
        if watch.records.len() == MOST_RECORDS {
            watch.learn_one();
        }
        watch.records.push_back(Record { time: self.now, bytes: packet.size, integrity });
        let is_segment =
            self.flows.get(packet.flow as usize).is_some_and(|flow| !packet.is_ack() && flow.ends.is_legible());
        if corrupted && is_segment {
            let record = watch.learned + watch.records.len() as u64 - 1;
            let gateway = &self.agents.gateways[watch.gateway];
            let (node, to) = (packet.to, gateway.node);
            let (probe, option) = (packet_bytes(gateway.config.probe), packet_bytes(gateway.config.option));
            let size = if self.waits_towards(node, to) { option } else { probe };
            let notice = Notice::Corrupted { watch: index, record, flow: packet.flow, seq: packet.seq };
            self.send_notice(node, to, size, notice);
        }
    }

    /// Whether packets wait at a node for the first link of the path to another.
    fn waits_towards(&mut self, node: u32, to: u32) -> bool {
        let destination = NodeId::new(to);
        let index = self.destinations.partition_point(|&other| other < destination);
        match self.forwarding.next_hop(index, NodeId::new(node)) {
            Some(hop) => self.links[hop.link.index()].link.queue_packets(&self.pool, self.now) > 0,
            None => false,
        }
    }

    pub(super) fn on_notice(&mut self, node: u32, notice: Notice) {
        match notice {
            Notice::Corrupted { watch, record, flow, seq } => {
                self.agents.watches[watch as usize].learn_before(record);
                let report = ErrorReport { seq, error_rate: Some(self.error_rate(flow)) };
                let gateway = self.agents.watches[watch as usize].gateway;
                let size = packet_bytes(self.agents.gateways[gateway].config.report);
                self.agents.watches[watch as usize].learn_before(record + 1);
                let source = self.data_ends(flow as usize).0;
                self.send_notice(node, source, size, Notice::Report { flow, report });
            }
            Notice::Report { flow, report } => {
                let now = self.now;
                self.flows[flow as usize].ends.on_error_report(now, &report);
                self.after_source_input(flow);
            }
        }
    }

    /// A packet that reaches a gateway from the far end of one of its links brings the records made before it left
    /// there.
    pub(super) fn learn(&mut self, link: u32, begun: Time, packet: &Packet) {
        let now = self.now;
        let is_notice = packet.flow as usize >= self.flows.len();
        let agents = &mut self.agents;
        for (index, gateway) in agents.gateways.iter().enumerate() {
            let at_gateway = gateway.node == packet.to;
            // A notice to the gateway is counted when it is read: its report comes first.
            if !at_gateway || is_notice || !gateway.brings[link as usize] {
                continue;
            }
            for watch in agents.watches.iter_mut().filter(|watch| watch.gateway == index) {
                while watch.records.front().is_some_and(|record| record.time <= begun.min(now)) {
                    watch.learn_one();
                }
            }
        }
    }

    /// An ACK that passes a gateway says how many errors the path of its flow makes.
    pub(super) fn write_rate(&mut self, packet: &mut Packet) {
        let listens = packet.is_ack() && packet.payload().is_none() && (packet.flow as usize) < self.flows.len();
        if listens && self.agents.gateways.iter().any(|gateway| gateway.node == packet.to) {
            let rate = self.error_rate(packet.flow);
            self.write_on_ack(packet, rate);
        }
    }

    /// The error rate of the watched links on the present path of a flow's data.
    fn error_rate(&self, flow: u32) -> f64 {
        let (mut node, to) = self.data_ends(flow as usize);
        let mut survival = 1.0;
        let mut hops = 0;
        while node != to.node && hops < self.topology.nodes().len() {
            let Some(hop) = self.forwarding.next_hop(to.index as usize, NodeId::new(node)) else { break };
            let watch = self.agents.watch_of[hop.link.index()];
            if watch != NOBODY {
                survival *= 1.0 - self.agents.watches[watch as usize].estimator.rate();
            }
            node = hop.to.as_u32();
            hops += 1;
        }
        1.0 - survival
    }
}
