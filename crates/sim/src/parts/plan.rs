//! Where a network is cut, and whether it can be and is worth it.
//!
//! Ends that know of each other faster than light, or share a state, stay in one part; so do nodes whose link is
//! shorter than the window. The rest is divided so that each part has the same number of packet-hops to handle, by an
//! estimate: each flow sends what its application writes, or its equal share of the narrowest link of its path.

use super::partition::{Graph, Groups};
use crate::application::Application;
use crate::applications::{FlowOfSource, Source};
use crate::ground::Delay;
use crate::link_state::LinkState;
use crate::simulation::Simulation;
use crate::spec::{FlowConfig, RunClock, SimulationSpec, SourceConfig, TransportConfig};
use skyhop_base::{Duration, Index, Time};
use skyhop_orbit::Orbit;
use skyhop_topology::{Forwarding, LinkId, LinkKind, NodeId, NodeKind, Topology};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Typical costs on one core, ns: to offer a packet to a link whose delay is fixed, and what it takes more if the delay
/// follows the sky, or if the packet waits for the transmitter; an arrival, and what it takes more over a link with
/// errors or a recording; a data packet at the sink; an ACK at the source, and the packets that it lets go.
const OFFER_NS: f64 = 12.0;
const MOVING_NS: f64 = 17.0;
const WAIT_NS: f64 = 50.0;
const ARRIVAL_NS: f64 = 13.0;
const SPECIAL_NS: f64 = 70.0;
const SINK_NS: f64 = 24.0;
const SOURCE_NS: f64 = 66.0;
/// What the last two take more if there are so many flows that none is found in the processor's cache, and the number
/// of flows at which it is half of that.
const COLD_SINK_NS: f64 = 78.0;
const COLD_SOURCE_NS: f64 = 198.0;
const FLOWS_HALF_COLD: f64 = 300.0;
/// What a packet that crosses takes in both parts together, what it takes in addition if it is the only one of its
/// link since a part told the others how far it is, and what telling takes. Parts do so
/// [`super::TOLD_IN_LOOKAHEAD`] times in a lookahead. Only the choice of a cut depends on all of these:
/// `docs/performance.md` has the runs that they come from.
const CROSSING_NS: f64 = 50.0;
const ALONE_NS: f64 = 100.0;
const STEP_NS: f64 = 150.0;
/// A cut that promises less is not made.
const LEAST_GAIN: f64 = 1.2;

/// Nodes that are nearer to each other are never divided.
const SHORTEST: Duration = Duration::from_nanos(1000);
/// Lengths of windows that are tried, each this much shorter than the one before at least.
const MOST_WINDOWS: usize = 16;
const NEXT_WINDOW: f64 = 0.8;

/// Simulated time between two looks at the sky for the estimate, and how many there are at most.
const BETWEEN_SAMPLES: Duration = Duration::from_secs(100);
const MOST_SAMPLES: u64 = 8;

/// Gaps between portions whose mean an estimate takes.
const GAPS_OF_ESTIMATE: u32 = 256;

/// Packets of an estimate have so many bits, …
const PACKET_BITS: f64 = 8.0 * 1040.0;
/// … and every second one is acknowledged.
const ACKS_PER_PACKET: f64 = 0.5;

/// SGP4's elements are means: the least distance may be so much less, km.
const OSCULATION_KM: f64 = 40.0;

/// How the network is to be divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub threads: usize,
    pub parts: usize,
    /// Divide it whether that pays or not.
    pub always: bool,
}

/// A division of a network.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The part of each node.
    pub owners: Arc<[u32]>,
    pub parts: usize,
    /// The shortest delay between parts over wires and to the ground.
    pub fixed_lookahead: Duration,
}

/// The facts of a network that bear on its division.
struct Survey {
    groups: Groups,
    /// The weight of a node is the time that its packets take each second, ns; what passes between two is in packets.
    graph: Graph,
    /// Packet-hops per second.
    hops: f64,
    /// Ends and least delay of each link that leads somewhere, stations and satellites apart.
    links: Vec<(u32, u32, Duration)>,
    /// The least delay between any station and any satellite; the nodes.
    ground: Option<Duration>,
    stations: Vec<u32>,
    satellites: Vec<u32>,
}

/// A division of a network that has begun to be simulated, or why it stays whole.
pub(crate) fn plan(simulation: &Simulation, spec: &SimulationSpec, wish: Wish) -> Result<Plan, String> {
    obstacle(simulation, spec).map_or(Ok(()), Err)?;
    let mut survey = Survey::of(simulation, spec);
    let alone_ns: f64 = survey.graph.weights.iter().sum();
    // Who asks for parts wants those that would suit as many cores.
    let threads = if wish.always { wish.parts } else { wish.threads };
    let mut best: Option<(f64, Plan, Duration)> = None;
    for window in survey.windows() {
        let Some((plan, lookahead)) = survey.divided(window, wish.parts) else { continue };
        let loads = survey.graph.loads(&plan.owners, plan.parts);
        let of_thread = loads.chunks(plan.parts.div_ceil(threads)).map(|parts| parts.iter().sum::<f64>());
        let step_s = lookahead.as_secs_f64() / super::TOLD_IN_LOOKAHEAD as f64;
        let crossing_ns: f64 = survey
            .graph
            .cut(&plan.owners)
            .map(|packets| packets * CROSSING_NS + packets.min(2.0 / step_s) * ALONE_NS)
            .sum();
        let cost = of_thread.fold(0.0, f64::max) + crossing_ns / threads as f64 + STEP_NS / step_s;
        if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
            best = Some((cost, plan, lookahead));
        }
    }
    let Some((cost, plan, lookahead)) = best else {
        return Err("its nodes belong together: no link between them is long enough to be cut".to_owned());
    };
    if !wish.always && alone_ns < LEAST_GAIN * cost {
        let (ms, hops) = (lookahead.as_secs_f64() * 1e3, survey.hops * lookahead.as_secs_f64());
        let (parts, gain) = (plan.parts, alone_ns / cost);
        return Err(format!(
            "a division would not pay: {parts} parts are estimated to run {gain:.2} times as fast as one thread, with \
             {hops:.0} packet-hops in a lookahead of {ms:.3} ms, and Skyhop divides from {LEAST_GAIN} times on"
        ));
    }
    Ok(plan)
}

/// What it takes to offer a packet to a link, ns, if it need not wait.
fn offer_ns(state: &LinkState) -> f64 {
    match state.link.path.get() {
        Delay::Fixed(_) => OFFER_NS,
        Delay::Moving | Delay::Ground => OFFER_NS + MOVING_NS,
    }
}

/// What an arrival over a link takes, ns.
fn arrival_ns(state: &LinkState) -> f64 {
    if state.errors.is_empty() && state.link.settled { ARRIVAL_NS } else { ARRIVAL_NS + SPECIAL_NS }
}

/// The reason against any division, if there is one.
fn obstacle(simulation: &Simulation, spec: &SimulationSpec) -> Option<String> {
    if spec.clock == RunClock::Ns2 {
        return Some("ns-2's clock is one for all events".to_owned());
    }
    if !simulation.agents.is_empty() {
        return Some("agents share state between nodes".to_owned());
    }
    let outside =
        |transport: &TransportConfig| matches!(transport, TransportConfig::Tcp(tcp) if tcp.control.is_outside());
    let transports = spec.flows.iter().map(|flow| &flow.transport);
    if transports.chain(spec.workloads.iter().map(|workload| &workload.transport)).any(outside) {
        return Some("a congestion control from outside of Skyhop runs in one thread".to_owned());
    }
    let roams = |link: usize| {
        let link = &simulation.topology.links()[LinkId::from_usize(link)];
        link.to.is_none().then(|| link.name.clone())
    };
    simulation.links.iter().enumerate().find_map(|(id, state)| {
        let what = match (state.recorded, state.listed.is_some(), state.link.repairs_errors()) {
            (true, ..) => "records its packets",
            (_, true, _) => "has a list of packets",
            (.., true) => "repeats what was lost",
            _ => return None,
        };
        roams(id).map(|name| format!("link {name:?}, whose far end changes, {what}"))
    })
}

impl Survey {
    fn of(simulation: &Simulation, spec: &SimulationSpec) -> Survey {
        let topology = &simulation.topology;
        let nodes = topology.nodes();
        let of_kind = |wanted: fn(&NodeKind) -> bool| -> Vec<u32> {
            nodes.enumerated().filter(|(_, node)| wanted(&node.kind)).map(|(id, _)| id.as_u32()).collect()
        };
        let stations = of_kind(|kind| matches!(kind, NodeKind::Station(_)));
        let satellites = of_kind(|kind| matches!(kind, NodeKind::Satellite { .. }));
        let has_ground = topology.links().iter().any(|link| link.kind == LinkKind::Uplink);
        let mut survey = Survey {
            groups: Groups::new(nodes.len()),
            graph: Graph::new(nodes.len()),
            hops: 0.0,
            links: Vec::new(),
            ground: has_ground.then(|| least_to_ground(topology, spec)),
            stations,
            satellites,
        };
        survey.join_coupled(simulation);
        survey.look(simulation, spec);
        survey
    }

    /// Joins the nodes that share a state.
    fn join_coupled(&mut self, simulation: &Simulation) {
        for (id, flow) in simulation.flows.iter().enumerate() {
            if flow.leg.is_some() || flow.application.couples_ends() || flow.ends.has_messages() {
                let [to, from] = simulation.to[id];
                self.groups.join(to.node, from.node);
            }
        }
        let mut with_list = None;
        for (id, state) in simulation.links.iter().enumerate() {
            let Some(to) = simulation.topology.links()[LinkId::from_usize(id)].to else { continue };
            if state.recorded || state.listed.is_some() || state.link.repairs_errors() {
                self.groups.join(state.from, to.as_u32());
            }
            if state.listed.is_some() {
                // Packets that are late stand in one list.
                self.groups.join(state.from, *with_list.get_or_insert(state.from));
            }
        }
    }

    /// Looks at the network at several instants of the run.
    fn look(&mut self, simulation: &Simulation, spec: &SimulationSpec) {
        let demands = demands(simulation, spec);
        let mut least: BTreeMap<(u32, u32), Duration> = BTreeMap::new();
        for (link, state) in simulation.links.iter().enumerate() {
            if let (Delay::Fixed(delay), Some(to)) =
                (state.link.path.get(), simulation.topology.links()[LinkId::from_usize(link)].to)
            {
                let kept = least.entry((state.from, to.as_u32())).or_insert(delay);
                *kept = (*kept).min(delay);
            }
        }
        let moves = simulation.topology.next_change() != Time::MAX;
        let wanted = 1 + spec.duration.as_nanos() / BETWEEN_SAMPLES.as_nanos();
        let samples = if moves { wanted.min(MOST_SAMPLES) } else { 1 };
        for sample in 0..samples {
            let at = Time::from_nanos(spec.duration.as_nanos() / samples * sample);
            if !moves {
                self.add_load(simulation, &simulation.forwarding, &demands, 1.0);
                break;
            }
            // Before the first check, at t = 0, no link of the sky is up.
            let mut topology = simulation.topology.clone();
            topology.advance(at, &mut Vec::new());
            let mut forwarding = Forwarding::default();
            topology.routes(&simulation.destinations, at, &mut forwarding);
            self.add_load(simulation, &forwarding, &demands, 1.0 / samples as f64);
            note_delays(&topology, at, &mut least);
        }
        self.links = least.into_iter().map(|((from, to), delay)| (from, to, delay)).collect();
    }

    /// Adds what flows send to the weights, with a share of time.
    fn add_load(&mut self, simulation: &Simulation, forwarding: &Forwarding, demands: &Demands, share: f64) {
        let flows: f64 = demands.values().map(|demand| demand.flows).sum();
        let cold = flows / (flows + FLOWS_HALF_COLD);
        let (source_ns, sink_ns) = (SOURCE_NS + cold * COLD_SOURCE_NS, SINK_NS + cold * COLD_SINK_NS);
        let limit = simulation.topology.nodes().len();
        let mut paths: Vec<Vec<(u32, u32, u32)>> = Vec::new();
        let mut greedy = vec![0.0; simulation.links.len()];
        let mut written_bps = vec![0.0; simulation.links.len()];
        for (&(from, index, to), demand) in demands {
            let mut path = Vec::new();
            let mut node = from;
            while node != to && path.len() <= limit {
                let Some(hop) = forwarding.next_hop(index as usize, NodeId::new(node)) else { break };
                path.push((node, hop.link.as_u32(), hop.to.as_u32()));
                node = hop.to.as_u32();
            }
            if node != to {
                path.clear();
            }
            for &(_, link, _) in &path {
                greedy[link as usize] += demand.greedy;
                written_bps[link as usize] += demand.written_bps;
            }
            paths.push(path);
        }
        for (path, (&(from, _, to), demand)) in paths.iter().zip(demands) {
            let fair = path.iter().map(|&(_, link, _)| {
                let rate = simulation.links[link as usize].link.rate().bps_f64();
                (rate - written_bps[link as usize]).max(0.05 * rate) / greedy[link as usize].max(1.0)
            });
            let narrowest_bps = fair.clone().fold(f64::INFINITY, f64::min);
            let bps = demand.written_bps + demand.greedy * narrowest_bps;
            if path.is_empty() || !bps.is_finite() {
                continue;
            }
            let packets = share * bps / PACKET_BITS;
            let narrowest = fair.clone().position(|bps| demand.greedy > 0.0 && bps == narrowest_bps);
            for (place, &(near, link, far)) in path.iter().enumerate() {
                // ACKs come back over a link of the same kind.
                let state = &simulation.links[link as usize];
                let (offer_ns, arrival_ns) = (offer_ns(state), arrival_ns(state));
                let wait_ns = if Some(place) == narrowest { WAIT_NS } else { 0.0 };
                self.graph.weights[near as usize] += packets * (offer_ns + wait_ns + ACKS_PER_PACKET * arrival_ns);
                self.graph.weights[far as usize] += packets * (arrival_ns + ACKS_PER_PACKET * offer_ns);
                self.graph.connect(near, far, packets * (1.0 + ACKS_PER_PACKET));
                self.hops += packets * (1.0 + ACKS_PER_PACKET);
            }
            self.graph.weights[from as usize] += packets * ACKS_PER_PACKET * source_ns;
            self.graph.weights[to as usize] += packets * sink_ns;
        }
    }

    /// Lengths of windows to try, the longest first.
    fn windows(&self) -> Vec<Duration> {
        let mut delays: Vec<Duration> = self.links.iter().map(|&(_, _, delay)| delay).chain(self.ground).collect();
        delays.retain(|&delay| delay >= SHORTEST);
        delays.sort_unstable();
        let mut windows: Vec<Duration> = Vec::new();
        for &delay in delays.iter().rev() {
            let is_new = windows.last().is_none_or(|last| delay.as_secs_f64() < NEXT_WINDOW * last.as_secs_f64());
            if is_new && windows.len() < MOST_WINDOWS {
                windows.push(delay);
            }
        }
        // No longer than the path to the ground, or all stations and satellites are one; and no link too short.
        windows.extend(self.ground.filter(|&ground| ground >= SHORTEST));
        windows.extend(delays.first());
        windows.sort_unstable_by(|a, b| b.cmp(a));
        windows.dedup();
        windows
    }

    /// A division that cuts only links at least as long as the window, with the delay of the shortest one. `None` if
    /// everything falls into one part.
    fn divided(&mut self, window: Duration, parts: usize) -> Option<(Plan, Duration)> {
        let mut groups = self.groups.clone();
        for &(from, to, _) in self.links.iter().filter(|&&(_, _, delay)| delay < window) {
            groups.join(from, to);
        }
        if self.ground.is_some_and(|ground| ground < window) {
            let all = self.stations.iter().chain(&self.satellites);
            all.clone().zip(all.skip(1)).for_each(|(&a, &b)| groups.join(a, b));
        }
        let (of_node, count) = groups.numbered();
        let small = self.graph.contracted(&of_node, count);
        // Only groups with traffic are divided; the others go with a neighbour.
        let busy: Vec<usize> = (0..count).filter(|&group| small.weights[group] > 0.0).collect();
        let mut place = vec![u32::MAX; count];
        busy.iter().enumerate().for_each(|(at, &group)| place[group] = at as u32);
        let mut graph = Graph::new(busy.len());
        for (at, &group) in busy.iter().enumerate() {
            graph.weights[at] = small.weights[group];
            let edges = small.edges[group].iter().map(|(&other, &weight)| (place[other as usize], weight));
            graph.edges[at] = edges.filter(|&(other, _)| other != u32::MAX).collect();
        }
        let found = graph.divided(parts, (CROSSING_NS + ALONE_NS) / 2.0);
        let mut part_of = vec![u32::MAX; count];
        busy.iter().zip(&found).for_each(|(&group, &part)| part_of[group] = part);
        self.spread(&of_node, &mut part_of);
        // Numbers without gaps.
        let mut numbers = BTreeMap::new();
        part_of.iter().for_each(|&part| _ = numbers.insert(part, 0));
        numbers.values_mut().enumerate().for_each(|(at, number)| *number = at as u32);
        let owners: Arc<[u32]> = of_node.iter().map(|&group| numbers[&part_of[group as usize]]).collect();
        if numbers.len() < 2 {
            return None;
        }
        let fixed_lookahead = self.fixed_lookahead(&owners);
        let crosses = |&&(from, to, _): &&(u32, u32, Duration)| owners[from as usize] != owners[to as usize];
        let lookahead = self.links.iter().filter(crosses).map(|&(_, _, delay)| delay).fold(fixed_lookahead, Ord::min);
        let plan = Plan { owners, parts: numbers.len(), fixed_lookahead };
        Some((plan, lookahead))
    }

    /// Gives groups without traffic the part of a neighbour.
    fn spread(&self, of_node: &[u32], part_of: &mut [u32]) {
        let mut changed = true;
        while changed {
            changed = false;
            for &(from, to, _) in &self.links {
                let (a, b) = (of_node[from as usize] as usize, of_node[to as usize] as usize);
                match (part_of[a], part_of[b]) {
                    (u32::MAX, u32::MAX) => {}
                    (u32::MAX, part) => (part_of[a], changed) = (part, true),
                    (part, u32::MAX) => (part_of[b], changed) = (part, true),
                    _ => {}
                }
            }
        }
        part_of.iter_mut().filter(|part| **part == u32::MAX).for_each(|part| *part = 0);
    }

    /// The shortest cut link whose delay does not follow the sky, and the path to the ground if it is cut.
    fn fixed_lookahead(&self, owners: &[u32]) -> Duration {
        let of = |nodes: &[u32]| nodes.first().map(|&node| owners[node as usize]);
        let all_in = |nodes: &[u32], part: Option<u32>| nodes.iter().all(|&node| Some(owners[node as usize]) == part);
        let one = of(&self.stations);
        let ground_is_cut = !(all_in(&self.stations, one) && all_in(&self.satellites, one));
        let is_satellite = |node: u32| self.satellites.binary_search(&node).is_ok();
        let wires = self.links.iter().filter(|&&(from, to, _)| {
            owners[from as usize] != owners[to as usize] && !(is_satellite(from) && is_satellite(to))
        });
        let ground = self.ground.filter(|_| ground_is_cut);
        wires.map(|&(_, _, delay)| delay).chain(ground).min().unwrap_or(Duration::MAX)
    }
}

/// What flows between two nodes ask of the network.
#[derive(Clone, Copy, Debug, Default)]
struct Demand {
    /// Flows that send as fast as they can, with the share of the run in which they do.
    greedy: f64,
    written_bps: f64,
    /// All of them, with the same share.
    flows: f64,
}

/// By source, place of the destination among the destinations, and destination.
type Demands = BTreeMap<(u32, u32, u32), Demand>;

fn demands(simulation: &Simulation, spec: &SimulationSpec) -> Demands {
    let duration = spec.duration;
    let mut demands = Demands::new();
    for (id, flow) in simulation.flows.iter().enumerate() {
        let (from, to) = simulation.data_ends(id);
        let demand = demands.entry((from, to.index, to.node)).or_default();
        let application = &flow.application;
        let end = application.stop.unwrap_or(Time::MAX).min(Time::ZERO + duration);
        let run_s = duration.as_secs_f64().max(1e-9);
        let active = end.since(application.start.min(end)).as_secs_f64() / run_s;
        demand.flows += active;
        match written_bps(application, spec.flows.get(id), run_s) {
            Some(bps) => demand.written_bps += bps * active,
            None => demand.greedy += active,
        }
    }
    demands
}

/// The rate that an application writes on average, if that limits it. `config` is none for a connection of a workload.
fn written_bps(application: &Application, config: Option<&FlowConfig>, run_s: f64) -> Option<f64> {
    if let Some(bytes) = application.scheduled_bytes() {
        return Some(bytes as f64 * 8.0 / run_s);
    }
    let config = config?;
    let SourceConfig::Application(options) = &config.application else { return None };
    // Other draws than those of the run: this is an estimate, which must take none of them.
    let flow = FlowOfSource { seed: 0, name: &config.name, stop: None };
    let Source::Clock { payload_bytes, mut gaps, .. } = options.source(&flow) else { return None };
    let sum_s: f64 = (0..GAPS_OF_ESTIMATE).map(|_| gaps.next_gap().as_secs_f64()).sum();
    Some(f64::from(payload_bytes) * 8.0 * f64::from(GAPS_OF_ESTIMATE) / sum_s.max(1e-6))
}

/// The delays of the links between satellites at an instant, where they are less than before.
fn note_delays(topology: &Topology, at: Time, least: &mut BTreeMap<(u32, u32), Duration>) {
    for (id, link) in topology.links().enumerated().filter(|(_, link)| link.kind == LinkKind::Isl) {
        let Some(peer) = topology.peer(id) else { continue };
        let delay = topology.delay_segment(link.from, peer, at).at(at);
        let kept = least.entry((link.from.as_u32(), peer.as_u32())).or_insert(delay);
        *kept = (*kept).min(delay);
    }
}

/// The least delay between any station and any satellite at any time: the difference of the radii.
fn least_to_ground(topology: &Topology, spec: &SimulationSpec) -> Duration {
    let earth = &spec.topology.earth;
    let (mut lowest_km, mut highest_km) = (f64::INFINITY, 0.0_f64);
    for (id, node) in topology.nodes().enumerated() {
        match node.kind {
            NodeKind::Satellite { orbit: Orbit::Elements { elements, .. }, .. } => {
                let rate_rad_s = elements.mean_motion * std::f64::consts::TAU / 86_400.0;
                let axis_km = libm::cbrt(earth.mu_km3_s2 / (rate_rad_s * rate_rad_s));
                lowest_km = lowest_km.min(axis_km * (1.0 - elements.eccentricity) - OSCULATION_KM);
            }
            NodeKind::Satellite { orbit, .. } => lowest_km = lowest_km.min(orbit.radius_km(earth)),
            NodeKind::Station(_) => {
                let radius = topology.position(id, Time::ZERO).map_or(0.0, |position| position.norm());
                highest_km = highest_km.max(radius);
            }
            NodeKind::Wired => {}
        }
    }
    for track in spec.sky.stations.iter().filter_map(|options| options.track.as_ref()) {
        highest_km = highest_km.max(earth.radius_km + track.highest_km());
    }
    // A kilometre for the rounding of the delay's curve.
    Duration::from_nanos(earth.light_time_ns((lowest_km - highest_km - 1.0).max(0.0)) as u64)
}
