//! Where the flows of a scenario go at one moment, without running it.

use crate::Error;
use serde_json::{Value, json};
use skyhop_base::Time;
use skyhop_scenario::Scenario;
use skyhop_topology::{Path, PathHop, Topology};

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
