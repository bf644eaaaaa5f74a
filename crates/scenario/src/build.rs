//! From a [`Scenario`] to what the engine runs: names become ids, which are ranks of names.

use crate::format::{ApplicationOptions, CountsName, EarthName, ErrorFile, HandoverPolicyName, OnDownName, SourceFile};
use crate::names::natural_order;
use crate::resolve::{SINK, SOURCE, walker};
use crate::scenario::{Constellation, Gsl, Isl, Queue, Room, Scenario, Transmitter, Transport};
use skyhop_base::{Bytes, Duration, Index, Time};
use skyhop_orbit::{Earth, GroundPoint, GroundStation, Orbit};
use skyhop_sim::spec::{
    ApplicationConfig, ErrorConfig, ErrorUnit, FlowConfig, LinkConfig, LinkConfigs, OnDown, QueueConfig, QueueLimit,
    RecordConfig, SimulationSpec, TransportConfig,
};
use skyhop_topology::{
    CheckTimes, CrossSeam, GslRules, HandoverPolicy, IslRules, NodeId, NodeKind, NodeSpec, RoutingRules, TopologySpec,
    WiredLink,
};
use std::collections::BTreeMap;

/// One direction of a wire, with the names of its ends.
struct Wire<'s> {
    from: String,
    to: String,
    delay: Duration,
    transmitter: Transmitted<'s>,
}

/// A transmitter as the file has it, or that of an access link.
enum Transmitted<'s> {
    Link(&'s Transmitter),
    Access(&'s crate::scenario::Access),
}

impl Scenario {
    /// What the engine runs. Nodes, links and flows are in the order of their names, so that the order of the text
    /// decides nothing.
    pub fn simulation_spec(&self) -> SimulationSpec {
        let flows = self.flow_index();
        let (topology, wires) = self.network();
        let links = LinkConfigs {
            wired: wires.iter().map(|wire| wire_config(wire, &flows)).collect(),
            isl: self
                .sky(|sky| sky.isl.as_ref())
                .map(|isl| link_config(&isl.transmitter, on_down(isl.on_down), &flows)),
            uplink: self.sky(|sky| sky.gsl.as_ref()).map(|gsl| link_config(&gsl.uplink, on_down(gsl.on_down), &flows)),
            downlink: self
                .sky(|sky| sky.gsl.as_ref())
                .map(|gsl| link_config(&gsl.downlink, on_down(gsl.on_down), &flows)),
        };
        let ids = ids(&topology);
        let flows = self.flow_configs(&ids);
        SimulationSpec {
            duration: self.duration,
            topology,
            links,
            flows,
            records: RecordConfig {
                grid: self.records.grid,
                positions: self.records.positions,
                packets: self.records.packets.clone(),
            },
        }
    }

    /// The network without its traffic, for questions about paths.
    pub fn topology_spec(&self) -> TopologySpec {
        self.network().0
    }

    fn sky<'s, T>(&'s self, part: impl FnOnce(&'s Constellation) -> Option<T>) -> Option<T> {
        self.constellation.as_ref().and_then(part)
    }

    fn network(&self) -> (TopologySpec, Vec<Wire<'_>>) {
        let mut wires = self.wires();
        let nodes = self.nodes(&wires);
        let mut topology = TopologySpec {
            earth: earth(self.constellation.as_ref().map_or(EarthName::Wgs84, |sky| sky.earth)),
            nodes,
            wired: Vec::new(),
            isl: self.sky(|sky| sky.isl.as_ref()).map(isl_rules),
            gsl: self.sky(|sky| sky.gsl.as_ref()).map(gsl_rules),
            routing: RoutingRules { every: self.routing.every },
        };
        let ids = ids(&topology);
        // The order of the ends' ids is that of their names.
        wires.sort_by_cached_key(|wire| (ids[wire.from.as_str()], ids[wire.to.as_str()]));
        let wired = wires.iter().map(|wire| WiredLink {
            from: ids[wire.from.as_str()],
            to: ids[wire.to.as_str()],
            delay: wire.delay,
        });
        let wired: Vec<WiredLink> = wired.collect();
        drop(ids);
        topology.wired = wired;
        (topology, wires)
    }

    /// Both directions of every wired link, those of access links included.
    fn wires(&self) -> Vec<Wire<'_>> {
        let mut wires = Vec::new();
        for link in &self.links {
            let [a, b] = &link.between;
            for (from, to, direction) in [(a, b, &link.forward), (b, a, &link.backward)] {
                wires.push(Wire {
                    from: from.clone(),
                    to: to.clone(),
                    delay: direction.delay,
                    transmitter: Transmitted::Link(&direction.transmitter),
                });
            }
        }
        for flow in &self.flows {
            let Some(access) = &flow.access else { continue };
            for name in flow.names() {
                let (source, sink) = (format!("{name}{SOURCE}"), format!("{name}{SINK}"));
                let ways = [(&source, &flow.from), (&flow.from, &source), (&flow.to, &sink), (&sink, &flow.to)];
                wires.extend(ways.map(|(from, to)| Wire {
                    from: from.clone(),
                    to: to.clone(),
                    delay: access.delay,
                    transmitter: Transmitted::Access(access),
                }));
            }
        }
        wires
    }

    /// All nodes in the order of their names.
    fn nodes(&self, wires: &[Wire<'_>]) -> Vec<NodeSpec> {
        let mut kinds: BTreeMap<String, NodeKind> =
            wires.iter().map(|wire| (wire.from.clone(), NodeKind::Wired)).collect();
        let has_gsl = self.sky(|sky| sky.gsl.as_ref()).is_some();
        for (name, station) in &self.stations {
            let point =
                GroundPoint { latitude: station.latitude, longitude: station.longitude, altitude: station.altitude };
            // Without satellites a station is a node like any other.
            let kind = match GroundStation::new(point) {
                Ok(ground) if has_gsl => NodeKind::Station(ground),
                _ => NodeKind::Wired,
            };
            kinds.insert(name.clone(), kind);
        }
        if let Some(sky) = &self.constellation {
            kinds.extend(satellites(sky));
        }
        let mut nodes: Vec<NodeSpec> = kinds.into_iter().map(|(name, kind)| NodeSpec { name, kind }).collect();
        nodes.sort_by(|a, b| natural_order(&a.name, &b.name));
        nodes
    }

    /// The index of each flow: its rank among the names.
    fn flow_index(&self) -> BTreeMap<String, usize> {
        let mut names: Vec<String> = self.flows.iter().flat_map(|flow| flow.names()).collect();
        names.sort_by(|a, b| natural_order(a, b));
        names.into_iter().enumerate().map(|(index, name)| (name, index)).collect()
    }

    fn flow_configs(&self, ids: &BTreeMap<&str, NodeId>) -> Vec<FlowConfig> {
        let mut configs = Vec::new();
        for flow in &self.flows {
            for name in flow.names() {
                let (from, to) = match &flow.access {
                    Some(_) => (ids[format!("{name}{SOURCE}").as_str()], ids[format!("{name}{SINK}").as_str()]),
                    None => (ids[flow.from.as_str()], ids[flow.to.as_str()]),
                };
                configs.push(FlowConfig {
                    name,
                    from,
                    to,
                    transport: match &flow.transport {
                        Transport::Tcp(config) => TransportConfig::Tcp(config.clone()),
                        Transport::Udp { header } => TransportConfig::Udp { header_bytes: packet_bytes(*header) },
                    },
                    application: application(&flow.application),
                    start: at(flow.start),
                    stop: flow.stop.map(at),
                    ttl: flow.ttl,
                });
            }
        }
        configs.sort_by(|a, b| natural_order(&a.name, &b.name));
        configs
    }
}

fn at(since_start: Duration) -> Time {
    Time::from_nanos(since_start.as_nanos())
}

fn ids(topology: &TopologySpec) -> BTreeMap<&str, NodeId> {
    topology.nodes.iter().enumerate().map(|(index, node)| (node.name.as_str(), NodeId::from_usize(index))).collect()
}

/// The satellites of all shells, and behind them as shells of their own those that were given one by one.
fn satellites(sky: &Constellation) -> Vec<(String, NodeKind)> {
    let mut satellites = Vec::new();
    for (shell, description) in (0..).zip(&sky.shells) {
        // The scenario was found right, so there are satellites.
        let members = walker(description).satellites().unwrap_or_default();
        satellites.extend(members.into_iter().map(|satellite| {
            let kind =
                NodeKind::Satellite { orbit: satellite.orbit, plane: satellite.plane, slot: satellite.slot, shell };
            (satellite.name, kind)
        }));
    }
    for (shell, satellite) in (sky.shells.len() as u32..).zip(&sky.satellites) {
        let orbit = Orbit::Geostationary { longitude: satellite.geostationary };
        satellites.push((satellite.name.clone(), NodeKind::Satellite { orbit, plane: 0, slot: 0, shell }));
    }
    satellites
}

pub(crate) fn earth(name: EarthName) -> Earth {
    match name {
        EarthName::Wgs84 => Earth::WGS84,
        EarthName::Ns2 => Earth::NS2,
    }
}

fn isl_rules(isl: &Isl) -> IslRules {
    IslRules {
        cross_seam: if isl.cross_seam { CrossSeam::Nearest } else { CrossSeam::Open },
        latitude_limit: (isl.latitude_cut.degrees() < 90.0).then_some(isl.latitude_cut),
        grazing_altitude: isl.grazing_altitude,
        every: isl.every,
    }
}

fn gsl_rules(gsl: &Gsl) -> GslRules {
    GslRules {
        elevation_mask: gsl.elevation_mask,
        policy: match gsl.handover.policy {
            HandoverPolicyName::UntilBelowMask => HandoverPolicy::UntilBelowMask,
            HandoverPolicyName::Nearest => HandoverPolicy::Nearest,
            HandoverPolicyName::HighestElevation => HandoverPolicy::HighestElevation,
            HandoverPolicyName::LongestVisibility => HandoverPolicy::LongestVisibility,
        },
        every: gsl.handover.every,
        // The run puts its own seed here: a scenario has none.
        check_times: if gsl.handover.randomise { CheckTimes::Randomised { seed: 0 } } else { CheckTimes::Regular },
    }
}

fn on_down(name: OnDownName) -> OnDown {
    match name {
        OnDownName::Drop => OnDown::Drop,
        OnDownName::SendInVain => OnDown::SendInVain,
        OnDownName::Hold => OnDown::Hold,
        OnDownName::Reroute => OnDown::Reroute,
        OnDownName::Drain => OnDown::Drain,
    }
}

fn wire_config(wire: &Wire<'_>, flows: &BTreeMap<String, usize>) -> LinkConfig {
    match wire.transmitter {
        // Wires do not go down.
        Transmitted::Link(transmitter) => link_config(transmitter, OnDown::Drop, flows),
        Transmitted::Access(access) => LinkConfig {
            rate: access.rate,
            queue: queue(&access.queue),
            framing_bytes: 0,
            on_down: OnDown::Drop,
            errors: Vec::new(),
        },
    }
}

fn link_config(transmitter: &Transmitter, on_down: OnDown, flows: &BTreeMap<String, usize>) -> LinkConfig {
    let errors = transmitter.errors.iter().filter_map(|error| match error {
        ErrorFile::Packet(probability) => {
            Some(ErrorConfig::Independent { unit: ErrorUnit::Packet, probability: *probability })
        }
        ErrorFile::Segments(lost) => {
            flows.get(&lost.flow).map(|&flow| ErrorConfig::Segments { flow, segments: lost.segments.clone() })
        }
    });
    LinkConfig {
        rate: transmitter.rate,
        queue: queue(&transmitter.queue),
        framing_bytes: packet_bytes(transmitter.framing),
        on_down,
        errors: errors.collect(),
    }
}

fn queue(queue: &Queue) -> QueueConfig {
    let limit = match queue {
        Queue::Unlimited => QueueLimit::Unlimited,
        Queue::DropTail(Room::Bytes { bytes }) => QueueLimit::Bytes(bytes.0),
        Queue::DropTail(Room::Packets { packets, counts: CountsName::Waiting }) => QueueLimit::Packets(*packets),
        // The engine does not count the packet in service.
        Queue::DropTail(Room::Packets { packets, counts: CountsName::WithService }) => {
            QueueLimit::Packets(packets.saturating_sub(1))
        }
    };
    QueueConfig::DropTail { limit }
}

/// Sizes of packets were found to fit.
fn packet_bytes(bytes: Bytes) -> u32 {
    u32::try_from(bytes.0).unwrap_or(u32::MAX)
}

fn application(options: &ApplicationOptions) -> ApplicationConfig {
    match options {
        ApplicationOptions::Ftp(ftp) => ApplicationConfig::Ftp { bytes: ftp.bytes.map(|bytes| bytes.0) },
        ApplicationOptions::ConstantRate(SourceFile { rate, payload }) => {
            ApplicationConfig::ConstantRate { rate: *rate, payload_bytes: packet_bytes(*payload) }
        }
        ApplicationOptions::Poisson(SourceFile { rate, payload }) => {
            ApplicationConfig::Poisson { rate: *rate, payload_bytes: packet_bytes(*payload) }
        }
    }
}
