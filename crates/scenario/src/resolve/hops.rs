//! Whether packets of a flow may cross as many links as their path has: in a network of wires that is known before the
//! run.

use super::Resolver;
use crate::scenario::{Flow, Scenario};
use crate::tree::Path;
use skyhop_base::Time;

impl Resolver<'_, '_, '_> {
    /// A hop limit that is shorter than the only path loses every packet. `places` are those of the flows.
    pub(super) fn check_hop_limits(&mut self, scenario: &Scenario, places: &[Path]) {
        // A path visits no node twice; an access link adds one hop at either end.
        let longest = self.nodes.count() + 1;
        let short = |flow: &Flow| usize::from(flow.ttl) < longest;
        if scenario.constellation.is_some() || !self.problems.is_empty() || !scenario.flows.iter().any(short) {
            return;
        }
        let Ok(mut topology) = scenario.topology(1) else { return };
        let spec = scenario.simulation_spec();
        for (flow, place) in scenario.flows.iter().zip(places).filter(|(flow, _)| short(flow)) {
            // All flows of a count take the same path.
            let legs = flow.names().next().map(|name| flow.legs(&name)).unwrap_or_default();
            let ends = spec.flows.iter().filter(|leg| legs.contains(&leg.name)).map(|leg| (leg.from, leg.to));
            let pairs = ends.flat_map(|(from, to)| [(from, to), (to, from)]);
            let hops = pairs.filter_map(|(from, to)| Some(topology.path(from, to, Time::ZERO)?.hops.len())).max();
            let Some(hops) = hops.filter(|&hops| hops > usize::from(flow.ttl)) else { continue };
            let message = format!(
                "the path between {:?} and {:?} has {hops} hops, more than a packet may take: {}",
                flow.from, flow.to, flow.ttl
            );
            let help = match u8::try_from(hops) {
                Ok(hops) => format!("use ttl = {hops} or more"),
                Err(_) => format!("no packet can take more than {} hops", u8::MAX),
            };
            let key = place.key("ttl");
            let at = if self.tree.find(&key).is_some() { key } else { place.key("to") };
            self.add(&at, message, Some(help));
        }
    }
}
