//! From a [`Scenario`] to what the engine runs: names become ids, which are ranks of names.

use crate::format::{
    ClockName, CountsName, EarthName, GatewaysName, LayoutFile, LayoutOptions, ObstructedAtName, OnDownName,
    PriorityName, RedCountingName, RedSpacingName,
};
use crate::instant::Instant;
use crate::resolve::{SINK, SOURCE};
use crate::scenario::{
    Constellation, Fifo, Gsl, LinkProfile, Queue, Red, RedRoom, Room, Scenario, Starlink, Transmitter, Transport,
};
use skyhop_base::{Bytes, Duration, Index, Time, natural_order};
use skyhop_orbit::{GroundPoint, GroundStation};
use skyhop_queue::QueueSpec;
use skyhop_quic::StreamUse;
use skyhop_sim::spec::{
    AdaptiveRed, Allowance, Discipline, Fades, FlowConfig, FullQueue, Grants, LinkConfig, LinkConfigs, LinkVariation,
    ObstructedAt, OnDown, QueueConfig, QueueLimit, RecordConfig, RedConfig, RedCounting, RedSpacing, RedUnit,
    RepairConfig, RunClock, SimulationSpec, SlotConfig, TransportConfig,
};
use skyhop_topology::{
    NeighbourPlanes, NodeId, NodeKind, NodeSpec, RoutingRules, Topology, TopologyError, TopologySpec, Unpaired,
    WiredLink, slot_phase,
};
use std::collections::BTreeMap;
use std::sync::Arc;

mod agents;
mod linux;
mod list;
mod repair;
mod sky;
mod workloads;

pub(crate) use sky::earth;
use sky::{gsl_rules, isl_rules, satellites};

/// One direction of a wire, with the names of its ends.
struct Wire<'s> {
    from: String,
    to: String,
    delay: Duration,
    transmitter: Transmitted<'s>,
}

/// The nodes at the far ends of a flow's access links.
fn access_hosts(flow: &str) -> [String; 2] {
    [format!("{flow}{SOURCE}"), format!("{flow}{SINK}")]
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
        let (topology, wires) = self.network();
        let sky = self.sky_options(&topology);
        let epoch = self.sky(|sky| sky.epoch);
        let gsl = self.sky(|sky| sky.gsl.as_ref());
        let setting = Setting { epoch, on_down: gsl.map_or(OnDown::Drop, |gsl| on_down(gsl.on_down)) };
        let [uplink, feeder, downlink] = gsl.map(|gsl| ground_configs(gsl, &setting)).unwrap_or_default();
        let links = LinkConfigs {
            wired: wires.iter().map(|of| wire_config(of, &setting)).collect(),
            isl: self
                .sky(|sky| sky.isl.as_ref())
                .map(|isl| link_config(&isl.transmitter, on_down(isl.on_down), &setting)),
            uplink,
            feeder,
            downlink,
        };
        let ids = ids(&topology);
        let flows = self.flow_configs(&ids);
        let workloads = workloads::workloads(&self.workloads, &ids);
        let agents = self.agents.iter().filter_map(|agent| agents::agent(agent, &ids)).collect();
        drop(ids);
        SimulationSpec {
            duration: self.duration,
            clock: match self.clock {
                ClockName::Nanoseconds => RunClock::Nanoseconds,
                ClockName::Ns2 => RunClock::Ns2,
            },
            topology,
            sky,
            links,
            labels: self.link_labels(),
            flows,
            workloads,
            agents,
            records: RecordConfig {
                grid: self.records.grid,
                positions: self.records.positions,
                packets: self.records.packets.clone(),
                updates: self.records.updates,
            },
        }
    }

    /// The network without its traffic, for questions about paths. What a run draws by chance is drawn with `seed`.
    ///
    /// # Errors
    /// A network that cannot be.
    pub fn topology(&self, seed: u64) -> Result<Topology, TopologyError> {
        let topology = self.network().0;
        let sky = self.sky_options(&topology);
        let (topology, sky) = skyhop_sim::seeded(topology, sky, seed);
        Topology::with_options(topology, sky)
    }

    /// The warning where satellites without a partner in a neighbouring plane could take second links, and none does
    /// at any time of the run.
    pub(crate) fn second_links_without_effect(&self) -> Option<String> {
        let LayoutFile::Options(LayoutOptions::Grid(grid)) = self.sky(|sky| Some(&sky.isl.as_ref()?.layout))? else {
            return None;
        };
        let Unpaired::Nearest { terminals } = grid.unpaired() else { return None };
        let (spec, _) = self.network();
        let mut options = self.sky_options(&spec);
        // Most runs tell at their start, without a look at phases every few minutes.
        options.isl.pairing = None;
        let at_start = Topology::with_options(spec, options).ok()?;
        if at_start.has_second_links() || self.topology(1).ok()?.has_second_links() {
            return None;
        }
        let alone = |planes: &NeighbourPlanes| planes.here.len() + planes.there.len() - 2 * planes.pairs.len();
        let why = match at_start.neighbour_planes().iter().map(alone).sum::<usize>() {
            0 => "every satellite has a partner in the neighbouring planes".to_owned(),
            alone => format!(
                "satellites lack a partner {alone} times, and no neighbour in reach has one of its {terminals} \
                 terminals free"
            ),
        };
        Some(format!("constellation.isl.layout.grid.unpaired: has no effect: {why}"))
    }

    /// The directions of links that have a name, and the names under which tables show them.
    fn link_labels(&self) -> BTreeMap<String, String> {
        let named = self.links.iter().filter_map(|link| Some((link.name.as_ref()?, &link.between)));
        let directions =
            named.flat_map(|(name, [a, b])| [(a, b), (b, a)].map(|(from, to)| (name, format!("{from}->{to}"))));
        directions.map(|(name, direction)| (direction.clone(), format!("{name} {direction}"))).collect()
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
            gsl: self.constellation.as_ref().and_then(gsl_rules),
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
                let [source, sink] = access_hosts(&name);
                let ends = [(&source, &flow.from), (&flow.from, &source), (&flow.to, &sink), (&sink, &flow.to)];
                wires.extend(ends.map(|(from, to)| Wire {
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

    fn flow_configs(&self, ids: &BTreeMap<&str, NodeId>) -> Vec<FlowConfig> {
        let mut configs = Vec::new();
        for flow in &self.flows {
            let streams = if flow.application.has_end() { StreamUse::InTurn } else { StreamUse::Shared };
            let transport = flow.transport.config(streams);
            for (index, name) in flow.names().enumerate() {
                let (from, to) = match &flow.access {
                    Some(_) => (ids[format!("{name}{SOURCE}").as_str()], ids[format!("{name}{SINK}").as_str()]),
                    None => (ids[flow.from.as_str()], ids[flow.to.as_str()]),
                };
                let whole = FlowConfig {
                    name,
                    from,
                    to,
                    transport: transport.clone(),
                    application: flow.application.clone().into(),
                    start: at(flow.start_of(index as u64)),
                    stop: flow.stop.map(at),
                    ttl: flow.ttl,
                    class: flow.class,
                    jitter: flow.jitter.unwrap_or(Duration::ZERO),
                };
                configs.extend(self.legs(flow, whole, ids));
            }
        }
        configs.sort_by(|a, b| natural_order(&a.name, &b.name));
        configs
    }
}

impl Transport {
    /// The engine's transport. `streams`: of QUIC.
    fn config(&self, streams: StreamUse) -> TransportConfig {
        match self {
            Transport::Tcp(config) => TransportConfig::Tcp(config.clone()),
            Transport::Linux(linux) => TransportConfig::Hosts(linux::hosts(linux)),
            Transport::Udp { header } => TransportConfig::Udp { header_bytes: packet_bytes(*header) },
            Transport::Quic(quic) => {
                let hosts = quic.hosts(streams).expect("reading the scenario made these hosts once");
                TransportConfig::Hosts(Arc::new(hosts))
            }
        }
    }
}

fn at(since_start: Duration) -> Time {
    Time::from_nanos(since_start.as_nanos())
}

fn ids(topology: &TopologySpec) -> BTreeMap<&str, NodeId> {
    topology.nodes.iter().enumerate().map(|(index, node)| (node.name.as_str(), NodeId::from_usize(index))).collect()
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

/// What a transmitter has to know besides its own values.
struct Setting {
    /// Of t = 0, if it has an instant of the calendar.
    epoch: Option<Instant>,
    /// What happens to waiting packets of links to satellites.
    on_down: OnDown,
}

/// The transmitters of stations, of gateways if they differ, and of satellites. Through a bent pipe the uplink to the
/// network begins at terminals and the downlink at gateways: these have the pace of the downlink, and the satellites,
/// whose transmitters serve both, have none.
fn ground_configs(gsl: &Gsl, setting: &Setting) -> [Option<LinkConfig>; 3] {
    let on_down = on_down(gsl.on_down);
    let up = link_config(&gsl.uplink, on_down, setting);
    let down = link_config(&gsl.downlink, on_down, setting);
    let steady = up.pace == LinkVariation::Steady && down.pace == LinkVariation::Steady;
    if steady || gsl.gateways == GatewaysName::Any {
        return [Some(up), None, Some(down)];
    }
    let satellite = steady_config(&gsl.downlink, on_down);
    let feeder = LinkConfig { queue: down.queue, ..steady_config(&gsl.uplink, on_down) };
    [Some(up), Some(with_pace(feeder, &gsl.downlink, setting)), Some(satellite)]
}

fn wire_config(wire: &Wire<'_>, setting: &Setting) -> LinkConfig {
    match wire.transmitter {
        // Those of terrestrial networks go down like links to satellites, others never.
        Transmitted::Link(transmitter) => link_config(transmitter, setting.on_down, setting),
        Transmitted::Access(access) => LinkConfig {
            rate: access.rate,
            queue: queue(&access.queue),
            framing_bytes: 0,
            on_down: OnDown::Drop,
            errors: Vec::new(),
            pace: LinkVariation::Steady,
            repair: RepairConfig::default(),
        },
    }
}

/// Packets this close share a grant: the recorder of SpaceNetLab/LeoCC sends a ping every 5 ms beside a flood.
const BUSY_WITHIN: Duration = Duration::from_millis(5);

fn slots(starlink: &Starlink, setting: &Setting) -> SlotConfig {
    let every = starlink.every;
    let phase = match setting.epoch {
        Some(epoch) => slot_phase(epoch.0, starlink.at, every),
        None => Duration::from_nanos(starlink.at.as_nanos() % every.as_nanos().max(1)),
    };
    // The share of a second's packets, as a probability while the edge is felt.
    let edge_s = (starlink.before + starlink.after).as_secs_f64();
    let at_edge = |share: f64| if edge_s > 0.0 { (share / edge_s).min(1.0) } else { 0.0 };
    SlotConfig {
        every,
        phase,
        rates: starlink.rates.iter().map(|rate| rate.bps()).collect(),
        step: starlink.step.quantiles(),
        jitter: starlink.jitter.quantiles(),
        spread: if starlink.spread.is_empty() { vec![1.0] } else { starlink.spread.clone() },
        jitter_every: starlink.jitter_every,
        busy_jitter: starlink.busy_jitter.as_ref().map(|jitter| jitter.quantiles()).unwrap_or_default(),
        busy_within: BUSY_WITHIN,
        ripple: starlink.ripple.clone(),
        correlation: starlink.correlation,
        rate_correlation: starlink.rate_correlation,
        hours: starlink.hours.clone(),
        time_of_day: setting.epoch.map_or(Duration::ZERO, |epoch| epoch.0.time_of_day()),
        spike: starlink.spike.clone(),
        before: starlink.before,
        after: starlink.after,
        pause: starlink.pause.quantiles(),
        edge_loss: starlink.edge_loss.map(at_edge),
        loss: starlink.loss.quantiles(),
        obstructed: starlink.obstructed.clone(),
        obstructed_at: match starlink.obstructed_at {
            ObstructedAtName::Anywhere => ObstructedAt::Anywhere,
            ObstructedAtName::Edge => ObstructedAt::Edge,
        },
        outage: starlink.outage.clone(),
        reroute: starlink.reroute,
        reroute_at: starlink.reroute_at.clone(),
        stay: starlink.stay,
        in_flight_loss: starlink.in_flight_loss,
        fades: starlink.fades.as_ref().map(|fades| Fades {
            every: fades.every,
            length: fades.length.quantiles(),
            loss: fades.loss.quantiles(),
        }),
        grants: starlink.grants.as_ref().map(|grants| Grants {
            every: grants.every,
            length: grants.length,
            shift: grants.shift.clone(),
        }),
        allowance: starlink.allowance.as_ref().map(|allowance| Allowance {
            rate: allowance.rate.bps(),
            bytes: allowance.volume.0,
            filled: allowance.filled,
            restored: allowance.restored.as_ref().map(|times| times.quantiles()).unwrap_or_default(),
            restored_at: allowance.restored_at,
        }),
    }
}

fn link_config(transmitter: &Transmitter, on_down: OnDown, setting: &Setting) -> LinkConfig {
    with_pace(steady_config(transmitter, on_down), transmitter, setting)
}

/// The same following the recording or the profile of the transmitter.
fn with_pace(mut config: LinkConfig, transmitter: &Transmitter, setting: &Setting) -> LinkConfig {
    match (&transmitter.trace, &transmitter.profile) {
        (Some(trace), _) => config.pace = LinkVariation::Trace(trace.config.clone()),
        (None, Some(LinkProfile::Starlink(starlink))) => {
            config.pace = LinkVariation::Slots(Box::new(slots(starlink, setting)));
        }
        (None, None) => {
            if let Some(trace) = list::holds(transmitter) {
                config.pace = LinkVariation::Trace(trace);
            }
        }
    }
    config
}

fn steady_config(transmitter: &Transmitter, on_down: OnDown) -> LinkConfig {
    LinkConfig {
        rate: transmitter.rate,
        queue: queue(&transmitter.queue),
        framing_bytes: packet_bytes(transmitter.framing),
        on_down,
        errors: transmitter.errors.clone(),
        pace: LinkVariation::Steady,
        repair: transmitter.repair.as_ref().map(repair::repair).unwrap_or_default(),
    }
}

fn queue(queue: &Queue) -> QueueConfig {
    match queue {
        Queue::Unlimited => QueueConfig::drop_tail(QueueLimit::Unlimited),
        Queue::DropTail(fifo) => fifo_queue(fifo, Discipline::DropTail { mark_above: fifo.mark_above }),
        Queue::DropFront(fifo) => fifo_queue(fifo, Discipline::DropFront { mark_above: fifo.mark_above }),
        Queue::Red(red) => red_queue(red),
        Queue::Discipline(spec) => QueueConfig::served(QueueSpec::clone(spec)),
    }
}

fn fifo_queue(fifo: &Fifo, discipline: Discipline) -> QueueConfig {
    QueueConfig { limit: limit(fifo.room), discipline, full: full_queue(fifo.priority.unwrap_or_default()) }
}

fn limit(room: Room) -> QueueLimit {
    match room {
        Room::Bytes { bytes } => QueueLimit::Bytes(bytes.0),
        Room::Packets { packets, counts: CountsName::Waiting } => QueueLimit::Packets(packets),
        // The engine does not count the packet in service.
        Room::Packets { packets, counts: CountsName::WithService } => QueueLimit::Packets(packets.saturating_sub(1)),
    }
}

fn full_queue(priority: PriorityName) -> FullQueue {
    match priority {
        PriorityName::LowFirst => FullQueue::LowFirst,
        PriorityName::Ignored => FullQueue::Arrival,
    }
}

fn red_queue(red: &Red) -> QueueConfig {
    let counting = match red.counting {
        RedCountingName::Floyd => RedCounting::Floyd,
        RedCountingName::Ns2 => RedCounting::Ns2,
    };
    let (limit, unit, scale) = match red.room {
        RedRoom::Packets(packets) => (QueueLimit::Packets(packets), RedUnit::Packets, 1.0),
        RedRoom::Bytes(bytes) if counting == RedCounting::Ns2 => {
            (QueueLimit::Backlog(bytes.0), RedUnit::Bytes, red.mean_packet.0 as f64)
        }
        RedRoom::Bytes(bytes) => (QueueLimit::Bytes(bytes.0), RedUnit::Bytes, red.mean_packet.0 as f64),
    };
    let config = RedConfig {
        unit,
        min_threshold: red.min * scale,
        max_threshold: red.max * scale,
        weight: red.weight,
        max_p: red.max_p,
        gentle: red.gentle,
        spacing: match red.spacing {
            RedSpacingName::Uniform => RedSpacing::Uniform,
            RedSpacingName::Wait => RedSpacing::Wait,
        },
        counting,
        mean_packet_bytes: packet_bytes(red.mean_packet),
        adaptive: red.adaptive.then(AdaptiveRed::default),
        mark_up_to: red.mark_p,
    };
    QueueConfig {
        limit,
        discipline: Discipline::Red(Box::new(config)),
        full: full_queue(red.priority.unwrap_or_default()),
    }
}

/// Sizes of packets were found to fit.
fn packet_bytes(bytes: Bytes) -> u32 {
    u32::try_from(bytes.0).unwrap_or(u32::MAX)
}
