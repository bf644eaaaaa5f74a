//! From a [`SimulationSpec`] to the components of a simulation.

use crate::error::SimulationError;
use crate::errors::{ErrorModel, Listed, Losses, LossyLink, SlotLosses, VaryingLosses};
use crate::flow::{Flow, tick_phases};
use crate::ground::Path;
use crate::link::{Link, Repaired, Repairs, ServedQueue};
use crate::link_state::LinkState;
use crate::ns2_clock::Ns2Clock;
use crate::pace::Pacemaker;
use crate::records::DropCounts;
use crate::spec::{Discipline, LinkConfig, LinkVariation, RunClock, SimulationSpec, TransportConfig};
use skyhop_base::{Duration, Stream};
use skyhop_topology::{CheckTimes, HandoverPolicy, IslChecks, LinkKind, NodeId, SkyOptions, Topology, TopologySpec};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A network whose check times and choices by chance hang on the run's seed.
pub fn seeded(mut spec: TopologySpec, mut sky: SkyOptions, seed: u64) -> (TopologySpec, SkyOptions) {
    if let Some(gsl) = &mut spec.gsl {
        if let CheckTimes::Randomised { seed: of_checks } = &mut gsl.check_times {
            *of_checks = seed;
        }
        if let HandoverPolicy::Random { seed: of_choices } = &mut gsl.policy {
            *of_choices = seed;
        }
        let own = sky.stations.iter_mut().map(|station| &mut station.policy);
        for policy in own.chain([&mut sky.gsl.gateway_policy]) {
            if let Some(HandoverPolicy::Random { seed: of_choices }) = policy {
                *of_choices = seed;
            }
        }
    }
    if let IslChecks::Randomised { seed: of_checks } = &mut sky.isl.checks {
        *of_checks = seed;
    }
    (spec, sky)
}

pub(crate) fn build_flows(spec: &SimulationSpec, seed: u64) -> Vec<Flow> {
    let phases = tick_phases(&spec.flows, seed).into_iter().zip(&spec.flows);
    let mut flows: Vec<Flow> = phases.map(|(phase, flow)| Flow::new(flow, &spec.records, phase, seed)).collect();
    for (flow, leg) in flows.iter_mut().zip(crate::legs::legs(&spec.flows)) {
        flow.acks_say_more |= leg.is_some();
        flow.leg = leg;
    }
    flows
}

/// ns-2's clock, if the run is to go by it.
pub(crate) fn build_ns2_clock(spec: &SimulationSpec) -> Option<Box<Ns2Clock>> {
    let units = spec.flows.iter().map(|flow| match &flow.transport {
        TransportConfig::Tcp(tcp) => [tcp.options.tick, tcp.options.ack_delay],
        TransportConfig::Udp { .. } | TransportConfig::Hosts(_) => [Duration::ZERO; 2],
    });
    (spec.clock == RunClock::Ns2).then(|| Box::new(Ns2Clock::new(units)))
}

pub(crate) fn build_links(
    spec: &SimulationSpec,
    topology: &Topology,
    seed: u64,
) -> Result<Vec<LinkState>, SimulationError> {
    let (count, configs) = (spec.topology.wired.len(), spec.links.wired.len());
    if count != configs {
        return Err(SimulationError::WiredConfigs { count, configs });
    }
    let needed = |config: &'_ Option<LinkConfig>, kind| config.clone().ok_or(SimulationError::MissingConfig { kind });
    let mut wired = spec.links.wired.iter();
    let classes: Arc<[u8]> = spec.flows.iter().map(|flow| flow.class).collect();
    let flows: Vec<&str> = spec.flows.iter().map(|flow| flow.name.as_str()).collect();
    let recorded: BTreeSet<&str> = spec.records.packets.iter().map(String::as_str).collect();
    topology
        .links()
        .enumerated()
        .map(|(id, link)| {
            let config = match link.kind {
                LinkKind::Wired => wired.next().cloned().ok_or(SimulationError::WiredConfigs { count, configs })?,
                LinkKind::Isl => needed(&spec.links.isl, "inter-satellite")?,
                LinkKind::Uplink if spec.links.feeder.is_some() && topology.is_gateway(link.from) => {
                    needed(&spec.links.feeder, "gateway-to-satellite")?
                }
                LinkKind::Uplink => needed(&spec.links.uplink, "station-to-satellite")?,
                LinkKind::Downlink => needed(&spec.links.downlink, "satellite-to-ground")?,
            };
            let goes_down = link.kind != LinkKind::Wired;
            let stream = Stream::new(seed, &link.name, "queue");
            let pace = Pacemaker::new(&config, seed, &link.name);
            // What a code makes of sizes is not worked out again when packets leave the queue.
            let deferred = pace.is_some() && (goes_down || config.repair.code.is_some());
            let lossy = LossyLink { seed, name: &link.name, code: config.repair.code, flows: &flows };
            let (repairs, errors) = match config.repair.frames {
                Some(scheme) => {
                    let repairs = Repairs::new(&config.repair, scheme, losses(&config, &lossy));
                    (Some(repairs), vec![Box::new(Repaired) as Box<dyn Losses>])
                }
                None => (None, losses(&config, &lossy)),
            };
            let listed: Vec<_> = config.errors.iter().flat_map(ErrorModel::listed).collect();
            let built =
                Link::new(config.rate, config.framing_bytes, &config.queue, config.on_down, stream).with_pace(pace);
            let built = if deferred { built.with_deferred_departures() } else { built.with_repairs(repairs) };
            let built = match &config.queue.discipline {
                Discipline::Served(queue) => {
                    let (name, framing) = (&link.name, config.framing_bytes);
                    let queue = ServedQueue::new(queue, framing, classes.clone(), Stream::new(seed, name, "queue"));
                    built.with_discipline(
                        queue.map_err(|error| SimulationError::Queue { link: name.clone(), error: Box::new(error) })?,
                    )
                }
                _ => built,
            };
            let by_ns2_clock = spec.clock == RunClock::Ns2;
            let built = if by_ns2_clock { built.with_ns2_clock() } else { Some(built) };
            let built = built.ok_or_else(|| SimulationError::NotByNs2Clock { link: link.name.clone() })?;
            let recorded = recorded.contains(link.name.as_str());
            let settled = !by_ns2_clock && !built.defers_departures();
            let (from, to) = (link.from.as_u32(), link.to.map_or(u32::MAX, NodeId::as_u32));
            let mut state = LinkState {
                from,
                recorded,
                link: built,
                errors,
                drops: DropCounts::default(),
                held: Vec::new(),
                listed: Listed::new(listed),
            };
            state.link.path = match link.kind {
                LinkKind::Wired => Path::fixed(topology.wired_delay(id), to),
                LinkKind::Isl => Path::moving(to),
                LinkKind::Uplink => Path::up(from),
                LinkKind::Downlink => Path::down(from),
            };
            state.link.settled = settled;
            if recorded || by_ns2_clock {
                state.link.watch();
            }
            state.link.plain = state.can_be_plain();
            Ok(state)
        })
        .collect()
}

/// The errors of a link: its own, then those that a recording or slots bring with them.
fn losses(config: &LinkConfig, link: &LossyLink<'_>) -> Vec<Box<dyn Losses>> {
    let own = config.errors.iter().filter_map(|errors| errors.build(link));
    let of_pace: Option<Box<dyn Losses>> = match &config.pace {
        LinkVariation::Trace(trace) if !trace.losses.is_empty() => {
            Some(Box::new(VaryingLosses::new(&trace.losses, trace.period, link)))
        }
        LinkVariation::Slots(slots) => Some(Box::new(SlotLosses::new(slots, link))),
        LinkVariation::Steady | LinkVariation::Trace(_) => None,
    };
    own.chain(of_pace).collect()
}
