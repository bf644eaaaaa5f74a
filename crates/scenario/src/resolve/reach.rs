//! Whether packets of a flow can ever arrive: a flow between parts of the network that nothing joins is a mistake.

use super::{Kind, Resolver};
use crate::build;
use crate::format::{LayoutFile, LayoutOptions};
use crate::scenario::{Constellation, Flow, Station, WiredLink};
use crate::tree::Path;
use skyhop_base::{Angle, Length, Time};
use skyhop_orbit::{Earth, GroundPoint, GroundStation, Orbit, visibility};
use std::collections::{BTreeMap, BTreeSet};

/// Satellites that belong together: a shell, or one that was given by itself.
#[derive(Clone, Debug)]
pub(super) enum Group {
    Shell {
        altitude: Length,
        inclination: Angle,
    },
    Geostationary {
        longitude: Angle,
    },
    /// Whatever a file of elements holds.
    Elements,
}

/// What the equations below, for a sphere and a station at sea level, may be wrong by.
const SLACK_DEG: f64 = 1.0;

impl Resolver<'_, '_, '_> {
    /// A flow needs a path from its sender to its receiver, if only for a moment of the run: `pairs` are the senders
    /// and receivers of all traffic, with the keys at which problems stand.
    pub(super) fn check_reach(
        &mut self,
        constellation: Option<&Constellation>,
        stations: &BTreeMap<String, Station>,
        links: &[(WiredLink, Path)],
        flows: &[(Flow, Path)],
        pairs: &[(&str, &str, Path)],
    ) {
        // Whatever is wrong with nodes and links has been said; what follows from it need not be.
        if self.nodes.incomplete || !self.problems.is_empty() {
            return;
        }
        // A satellite is its group.
        let names = self.nodes.outside_shells().filter(|(_, kind, _)| !matches!(kind, Kind::Satellite(_)));
        let mut network = Network::new(names.map(|(name, ..)| name.to_owned()), self.nodes.groups.len());
        for (link, _) in links {
            network.join(&link.between[0], &link.between[1]);
        }
        self.join_by_isls(constellation, &mut network);
        let with_access = flows.iter().filter(|(flow, _)| flow.access.is_some());
        let relays: BTreeSet<&str> = links
            .iter()
            .flat_map(|(link, _)| link.between.iter())
            .chain(with_access.flat_map(|(flow, _)| [&flow.from, &flow.to]))
            .map(String::as_str)
            .collect();
        let mut seen: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (name, station) in stations {
            let groups = constellation.map(|sky| self.visible(sky, station)).unwrap_or_default();
            if relays.contains(name.as_str()) {
                groups.iter().for_each(|&group| network.join_group(name, group));
            }
            seen.insert(name, groups);
        }
        for (sender, receiver, path) in pairs {
            let [from, to] = [sender, receiver].map(|&name| match self.nodes.kind(name) {
                Some(Kind::Satellite(group)) => vec![network.root_of_group(group)],
                // A station without wires passes nothing on: it reaches what it sees, and joins nothing.
                Some(Kind::Station) if !relays.contains(name) => {
                    seen[name].iter().map(|&group| network.root_of_group(group)).collect()
                }
                _ => vec![network.root_of(name)],
            });
            if from.iter().any(|root| to.contains(root)) {
                continue;
            }
            let sees_nothing = |name: &&str| seen.get(*name).is_some_and(Vec::is_empty);
            let help = match [*sender, *receiver].into_iter().find(sees_nothing) {
                Some(name) if constellation.is_some() => {
                    let range = constellation.and_then(|sky| sky.gsl.as_ref()).and_then(|gsl| gsl.longest);
                    let within = range.map(|longest| format!(" within {longest}")).unwrap_or_default();
                    format!("no satellite ever rises above the elevation mask of {name:?}{within}")
                }
                _ => "join them with [[links]] or satellites".to_owned(),
            };
            let message = format!("there is no path from {sender:?} to {receiver:?}");
            self.add(path, message, Some(help));
        }
    }

    /// Links between satellites of several groups.
    fn join_by_isls(&self, constellation: Option<&Constellation>, network: &mut Network) {
        match constellation.and_then(|sky| sky.isl.as_ref()).map(|isl| &isl.layout) {
            Some(LayoutFile::Options(LayoutOptions::List(pairs))) => {
                for pair in pairs {
                    let group = |name: &String| match self.nodes.kind(name) {
                        Some(Kind::Satellite(group)) => Some(group),
                        _ => None,
                    };
                    if let (Some(a), Some(b)) = (group(&pair[0]), group(&pair[1])) {
                        network.join_groups(a, b);
                    }
                }
            }
            Some(LayoutFile::Options(LayoutOptions::Nearest(_))) => {
                (1..self.nodes.groups.len()).for_each(|group| network.join_groups(0, group));
            }
            _ => {}
        }
    }

    /// The groups of which a satellite can ever rise above the station's mask.
    fn visible(&self, constellation: &Constellation, station: &Station) -> Vec<usize> {
        let Some(gsl) = &constellation.gsl else { return Vec::new() };
        let earth = build::earth(constellation.earth);
        let point =
            GroundPoint { latitude: station.latitude, longitude: station.longitude, altitude: station.altitude };
        let Ok(ground) = GroundStation::new(point) else { return Vec::new() };
        let site = ground.site(&earth);
        let mask = station.elevation_mask.unwrap_or(gsl.elevation_mask);
        let is_visible = |group: &Group| match *group {
            Group::Elements => true,
            // Where a moving user gets to is not looked at.
            _ if station.track.is_some() => true,
            Group::Geostationary { longitude } => {
                let position = Orbit::Geostationary { longitude }.earth_fixed_km(&earth, Time::ZERO);
                let look = site.look(position);
                let near = gsl.longest.is_none_or(|longest| look.slant_range.km() <= longest.km());
                let is_hidden = visibility::is_below_horizon(&earth, site.position(), position);
                near && !is_hidden && look.elevation.degrees() > mask.degrees()
            }
            Group::Shell { altitude, inclination } => {
                let highest = inclination.degrees().min(180.0 - inclination.degrees());
                // A mask below the horizon of who stands high.
                let height_km = station.altitude.km().max(0.0);
                let dip = libm::acos(earth.radius_km / (earth.radius_km + height_km)).to_degrees();
                let mask = Angle::from_degrees(mask.degrees().max(-dip));
                let by_mask = visibility::coverage(&earth, altitude, mask).central_angle.degrees();
                let by_range = gsl.longest.map_or(180.0, |longest| central_angle_deg(&earth, altitude, longest));
                let reach = by_mask.min(by_range);
                station.latitude.degrees().abs() <= highest + reach + SLACK_DEG
            }
        };
        (0..self.nodes.groups.len()).filter(|&group| is_visible(&self.nodes.groups[group])).collect()
    }
}

/// Angle at the Earth's centre between a station at sea level and a satellite at `altitude` that is `range` away.
fn central_angle_deg(earth: &Earth, altitude: Length, range: Length) -> f64 {
    let (station, satellite) = (earth.radius_km, earth.radius_km + altitude.km());
    let squares = station * station + satellite * satellite - range.km() * range.km();
    libm::acos((squares / (2.0 * station * satellite)).clamp(-1.0, 1.0)).to_degrees()
}

/// Which parts of the network hang together: union-find over nodes and groups of satellites.
struct Network {
    index: BTreeMap<String, usize>,
    /// Parent of each; the groups stand behind the nodes.
    parent: Vec<usize>,
}

impl Network {
    fn new(names: impl Iterator<Item = String>, groups: usize) -> Network {
        let index: BTreeMap<String, usize> = names.enumerate().map(|(i, name)| (name, i)).collect();
        let parent = (0..index.len() + groups).collect();
        Network { index, parent }
    }

    fn find(&mut self, mut at: usize) -> usize {
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }

    fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b)] = a.min(b);
    }

    fn join(&mut self, a: &str, b: &str) {
        if let (Some(&a), Some(&b)) = (self.index.get(a), self.index.get(b)) {
            self.unite(a, b);
        }
    }

    fn join_groups(&mut self, a: usize, b: usize) {
        let nodes = self.index.len();
        self.unite(nodes + a, nodes + b);
    }

    fn join_group(&mut self, name: &str, group: usize) {
        if let Some(&node) = self.index.get(name) {
            self.unite(node, self.index.len() + group);
        }
    }

    /// A name that stands for what `name` hangs together with.
    fn root_of(&mut self, name: &str) -> usize {
        match self.index.get(name) {
            Some(&node) => self.find(node),
            None => usize::MAX,
        }
    }

    fn root_of_group(&mut self, group: usize) -> usize {
        self.find(self.index.len() + group)
    }
}
