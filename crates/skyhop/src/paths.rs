//! Where the flows of a scenario go at one moment, without running it.

use crate::Error;
use serde_json::{Value, json};
use skyhop_base::{Duration, Time};
use skyhop_scenario::Scenario;
use skyhop_topology::{NodeId, Path, PathHop, Topology};

/// Instants of all flows: some hundred megabytes of text.
const MOST_WAYS: f64 = 1e7;

/// The way of each flow from its source to its destination at `at_s` seconds: hops with their propagation delay,
/// range (null between wired nodes) and elevation (null but between ground and satellite). A flow that has no way
/// has no hops and no delay.
///
/// # Errors
/// [`Error::OutsideRun`] for a moment before the start or after the end; [`Error::Simulation`].
pub fn paths_at(scenario: &Scenario, at_s: f64) -> Result<Value, Error> {
    let spec = scenario.simulation_spec();
    let (mut topology, at) = advance(scenario, at_s)?;
    let mut flows = Vec::new();
    for flow in &spec.flows {
        let path = topology.path(flow.from, flow.to, at);
        flows.push(json!({
            "flow": flow.name,
            "from": topology.nodes()[flow.from].name,
            "to": topology.nodes()[flow.to].name,
            "delay_s": path.as_ref().map(|path| path.delay.as_secs_f64()),
            "hops": path.map_or_else(Vec::new, |path| hops(&topology, &path)),
        }));
    }
    Ok(json!({ "at_s": at_s, "flows": flows }))
}

/// The way of each flow at t = 0 and every `step_s` seconds until the end:
/// `[{"flow", "from", "to", "ways", "delays_ns"}]`. `delays_ns` has one value for each instant, in one direction, null
/// without a path; `ways` lists `[n, [node, …]]` for each instant n at which the path is another than before (without a
/// path: no nodes).
///
/// # Errors
/// [`Error::Step`] for a step that is not a time or makes too many instants; [`Error::Simulation`].
pub fn ways_over(scenario: &Scenario, step_s: f64) -> Result<Value, Error> {
    let flows = scenario.simulation_spec().flows;
    let end = Time::ZERO + scenario.duration;
    let duration_s = scenario.duration.as_secs_f64();
    let least_s = (duration_s * flows.len() as f64 / MOST_WAYS * 1e3).ceil().max(1.0) / 1e3;
    if !(step_s.is_finite() && step_s >= least_s) {
        return Err(Error::Step { step_s, least_s });
    }
    let step = Duration::from_secs_f64(step_s);
    let mut topology = scenario.topology(1).map_err(skyhop_sim::SimulationError::from)?;
    let mut changes = Vec::new();
    let mut delays_ns: Vec<Vec<Option<u64>>> = flows.iter().map(|_| Vec::new()).collect();
    let mut ways: Vec<Vec<(usize, Vec<NodeId>)>> = flows.iter().map(|_| Vec::new()).collect();
    let mut at = Time::ZERO;
    while at <= end {
        while topology.next_change() <= at {
            topology.advance(topology.next_change(), &mut changes);
            changes.clear();
        }
        for (f, flow) in flows.iter().enumerate() {
            let path = topology.path(flow.from, flow.to, at);
            let nodes = path.as_ref().map_or_else(Vec::new, |path| {
                path.hops.iter().map(|hop| hop.from).chain(std::iter::once(flow.to)).collect()
            });
            if ways[f].last().is_none_or(|(_, before)| *before != nodes) {
                ways[f].push((delays_ns[f].len(), nodes));
            }
            delays_ns[f].push(path.map(|path| path.delay.as_nanos()));
        }
        at += step;
    }
    let name = |node: NodeId| topology.nodes()[node].name.as_str();
    let named = |way: &[NodeId]| way.iter().map(|&node| name(node)).collect::<Vec<_>>();
    let mut rows = Vec::new();
    for (flow, (ways, delays_ns)) in flows.iter().zip(ways.iter().zip(&delays_ns)) {
        let ways: Vec<Value> = ways.iter().map(|(n, way)| json!([n, named(way)])).collect();
        let [from, to] = [flow.from, flow.to].map(name);
        rows.push(json!({ "flow": flow.name, "from": from, "to": to, "ways": ways, "delays_ns": delays_ns }));
    }
    Ok(Value::Array(rows))
}

/// The network at `at_s` seconds.
pub(crate) fn advance(scenario: &Scenario, at_s: f64) -> Result<(Topology, Time), Error> {
    let duration_s = scenario.duration.as_secs_f64();
    if !(0.0..=duration_s).contains(&at_s) {
        return Err(Error::OutsideRun { at_s, duration_s });
    }
    let at = Time::from_secs_f64(at_s);
    let mut topology = scenario.topology(1).map_err(skyhop_sim::SimulationError::from)?;
    let mut changes = Vec::new();
    while topology.next_change() <= at {
        topology.advance(topology.next_change(), &mut changes);
        changes.clear();
    }
    Ok((topology, at))
}

pub(crate) fn hops(topology: &Topology, path: &Path) -> Vec<Value> {
    let hop = |hop: &PathHop| {
        let link = &topology.links()[hop.link];
        json!({
            "from": topology.nodes()[hop.from].name,
            "to": topology.nodes()[hop.to].name,
            "link": link.name,
            "kind": link.kind.name(),
            "delay_s": hop.delay.as_secs_f64(),
            "range_km": hop.range.map(|range| range.km()),
            "elevation_deg": hop.elevation.map(|elevation| elevation.degrees()),
        })
    };
    path.hops.iter().map(hop).collect()
}
