//! Where the flows of a scenario go at one moment, without running it.

use crate::Error;
use serde_json::{Value, json};
use skyhop_base::{Duration, Time};
use skyhop_scenario::Scenario;
use skyhop_topology::{NodeId, Path, PathHop, Topology};

/// Instants of all flows: some hundred megabytes of text.
const MOST_INSTANTS: f64 = 1e7;

/// The path of each flow from its source to its destination at `at_s` seconds of a run with this seed, over the routes
/// that are in force then and with the delays of that moment: hops with their propagation delay, range (null between
/// wired nodes) and elevation (null but between ground and satellite). A flow without a path has no hops and no delay.
///
/// # Errors
/// [`Error::OutsideRun`] for a moment before the start or after the end; [`Error::Simulation`].
pub fn paths_at(scenario: &Scenario, at_s: f64, seed: u64) -> Result<Value, Error> {
    let spec = scenario.simulation_spec();
    let mut network = Network::at(scenario, at_s, seed)?;
    let mut flows = Vec::new();
    for flow in &spec.flows {
        let path = network.path(flow.from, flow.to);
        let topology = &network.topology;
        flows.push(json!({
            "flow": flow.name,
            "from": topology.nodes()[flow.from].name,
            "to": topology.nodes()[flow.to].name,
            "delay_s": path.as_ref().map(|path| path.delay.as_secs_f64()),
            "hops": path.map_or_else(Vec::new, |path| hops(topology, &path)),
        }));
    }
    Ok(json!({ "at_s": at_s, "flows": flows }))
}

/// The path of each flow at t = 0 and every `step_s` seconds until the end, as [`paths_at`] has it in a run with seed
/// 1: `[{"flow", "from", "to", "paths", "delays_ns"}]`. `delays_ns` has one value for each instant, in one direction,
/// null without a path; `paths` lists `[n, [node, …]]` for each instant n at which the path is another than before
/// (without a path: no nodes).
///
/// # Errors
/// [`Error::Step`] for a step that is not a time or makes too many instants; [`Error::Simulation`].
pub fn paths_over(scenario: &Scenario, step_s: f64) -> Result<Value, Error> {
    let flows = scenario.simulation_spec().flows;
    let end = Time::ZERO + scenario.duration;
    let duration_s = scenario.duration.as_secs_f64();
    let least_s = (duration_s * flows.len() as f64 / MOST_INSTANTS * 1e3).ceil().max(1.0) / 1e3;
    if !(step_s.is_finite() && step_s >= least_s) {
        return Err(Error::Step { step_s, least_s });
    }
    let step = Duration::from_secs_f64(step_s);
    let mut network = Network::new(scenario, 1)?;
    let mut delays_ns: Vec<Vec<Option<u64>>> = flows.iter().map(|_| Vec::new()).collect();
    let mut paths: Vec<Vec<(usize, Vec<NodeId>)>> = flows.iter().map(|_| Vec::new()).collect();
    let mut at = Time::ZERO;
    while at <= end {
        network.advance(at);
        for (f, flow) in flows.iter().enumerate() {
            let path = network.path(flow.from, flow.to);
            let nodes = path.as_ref().map_or_else(Vec::new, |path| {
                path.hops.iter().map(|hop| hop.from).chain(std::iter::once(flow.to)).collect()
            });
            if paths[f].last().is_none_or(|(_, before)| *before != nodes) {
                paths[f].push((delays_ns[f].len(), nodes));
            }
            delays_ns[f].push(path.map(|path| path.delay.as_nanos()));
        }
        at += step;
    }
    let name = |node: NodeId| network.topology.nodes()[node].name.as_str();
    let named = |nodes: &[NodeId]| nodes.iter().map(|&node| name(node)).collect::<Vec<_>>();
    let mut rows = Vec::new();
    for (flow, (paths, delays_ns)) in flows.iter().zip(paths.iter().zip(&delays_ns)) {
        let paths: Vec<Value> = paths.iter().map(|(n, nodes)| json!([n, named(nodes)])).collect();
        let [from, to] = [flow.from, flow.to].map(name);
        rows.push(json!({ "flow": flow.name, "from": from, "to": to, "paths": paths, "delays_ns": delays_ns }));
    }
    Ok(Value::Array(rows))
}

/// The network at a moment that moves on.
pub(crate) struct Network {
    pub topology: Topology,
    pub at: Time,
    /// When routes were renewed: their delays are those of then.
    renewed: Time,
}

impl Network {
    fn new(scenario: &Scenario, seed: u64) -> Result<Network, Error> {
        let topology = scenario.topology(seed).map_err(skyhop_sim::SimulationError::from)?;
        Ok(Network { topology, at: Time::ZERO, renewed: Time::ZERO })
    }

    /// At `at_s` seconds of a run with this seed.
    ///
    /// # Errors
    /// [`Error::OutsideRun`]; [`Error::Simulation`].
    pub fn at(scenario: &Scenario, at_s: f64, seed: u64) -> Result<Network, Error> {
        let duration_s = scenario.duration.as_secs_f64();
        if !(0.0..=duration_s).contains(&at_s) {
            return Err(Error::OutsideRun { at_s, duration_s });
        }
        let mut network = Network::new(scenario, seed)?;
        network.advance(Time::from_secs_f64(at_s));
        Ok(network)
    }

    fn advance(&mut self, at: Time) {
        let mut changes = Vec::new();
        while self.topology.next_change() <= at {
            let next = self.topology.next_change();
            self.topology.advance(next, &mut changes);
            // As the engine does it: each change of a link, and each renewal that is due, gives new routes.
            if !changes.is_empty() {
                self.renewed = next;
            }
            changes.clear();
        }
        self.at = at;
    }

    /// The path that packets take now.
    pub fn path(&mut self, from: NodeId, to: NodeId) -> Option<Path> {
        self.topology.path_by_routes_of(self.renewed, from, to, self.at)
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Progress, RunOptions, run, sky_at};
    use skyhop_base::Duration;

    /// Routes that are renewed only where links change, and stations that choose by chance.
    #[test]
    fn a_moment_is_that_of_the_run() {
        let scenario = json!({
            "duration": "900 s", "profile": "rfc",
            "constellation": {
                "preset": "iridium-next",
                "isl": { "rate": "1 Gbit/s" },
                "gsl": { "rate": "1 Mbit/s", "handover": { "policy": "random", "every": "100 s" } },
            },
            "stations": { "a": { "city": "Palermo" }, "b": { "city": "Houston" } },
            "flows": [{ "name": "f", "from": "a", "to": "b", "tcp": "reno", "start": "899 s" }],
        });
        let scenario = Scenario::from_json(&scenario, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let seed = 7;
        let records = run(&scenario, &RunOptions::with_seed(seed), &Progress::new()).unwrap().records;
        let name = |&node: &u32| records.node_names[node as usize].clone();
        assert!(records.paths.len() > 5, "{}", records.paths.len());
        let text = |value: &Value| value.as_str().unwrap_or("nobody").to_owned();
        for step in 0..60 {
            let at_s = 15.0 * f64::from(step) + 7.5;
            let at = Time::from_secs_f64(at_s);
            let row = records.paths.iter().rfind(|row| row.time <= at).unwrap();
            let expected: Vec<String> = row.nodes.iter().map(name).collect();
            let moment = paths_at(&scenario, at_s, seed).unwrap();
            let hops = moment["flows"][0]["hops"].as_array().unwrap();
            let mut found: Vec<String> = hops.iter().map(|hop| text(&hop["from"])).collect();
            found.extend(hops.last().map(|hop| text(&hop["to"])));
            assert_eq!(found, expected, "{at_s} s");
            let sky = sky_at(&scenario, at_s, seed).unwrap();
            assert_eq!(sky["flows"][0]["hops"], moment["flows"][0]["hops"], "{at_s} s");
            for station in sky["stations"].as_array().unwrap() {
                let of_station = |row: &&skyhop_sim::records::HandoverRow| {
                    row.kind == "satellite" && name(&row.terminal) == text(&station["name"]) && row.time <= at
                };
                let serving = records.handovers.iter().rfind(of_station).and_then(|row| row.to);
                let serving = serving.map_or("nobody".to_owned(), |node| name(&node));
                assert_eq!(text(&station["satellite"]), serving, "{at_s} s");
            }
        }
        // The delay is that of the moment, not that of the routes.
        let delay = |at_s: f64| paths_at(&scenario, at_s, seed).unwrap()["flows"][0]["delay_s"].clone();
        assert_ne!(delay(1.0), delay(1.5));
        // The same over time, with seed 1.
        let paths = paths_over(&scenario, 15.0).unwrap();
        let first = paths_at(&scenario, 0.0, 1).unwrap()["flows"][0]["hops"].as_array().unwrap().len();
        assert_eq!(paths[0]["paths"][0][0], 0);
        assert_eq!(paths[0]["paths"][0][1].as_array().unwrap().len(), first + 1, "one node more than hops");
        for (n, found) in paths[0]["delays_ns"].as_array().unwrap().iter().enumerate() {
            let at = paths_at(&scenario, 15.0 * n as f64, 1).unwrap();
            let seconds = Duration::from_nanos(found.as_u64().unwrap()).as_secs_f64();
            assert_eq!(at["flows"][0]["delay_s"].as_f64(), Some(seconds), "{n}");
        }
    }
}
