//! Classes of stations: what gateways have in common, or terminals of one kind.

use super::Resolver;
use super::stations::NOT_TOLD;
use crate::format::{ClassOfStationsFile, ClassWireFile, LinkFile, StationFile};
use crate::names::{natural_order, there_are};
use crate::scenario::{Constellation, Station, WiredLink};
use crate::tree::{Node, Path};
use skyhop_base::Angle;
use std::collections::BTreeMap;

/// The classes of a scenario, each with its members so far.
pub(super) type Classes = BTreeMap<String, StationClass>;

pub(super) struct StationClass {
    pub file: ClassOfStationsFile,
    pub members: Vec<String>,
}

fn root() -> Path {
    Path::root().key("station_classes")
}

impl Resolver<'_, '_, '_> {
    pub(super) fn station_classes(&mut self) -> Classes {
        let Some(table) = self.tree.find(&root()).and_then(Node::table) else { return Classes::new() };
        let mut classes = Classes::new();
        for name in table.keys() {
            let path = root().key(name);
            self.check_name(name, &path);
            match self.take::<ClassOfStationsFile>(&path) {
                Some(file) => {
                    self.check_mask(file.elevation_mask, &path);
                    classes.insert(name.clone(), StationClass { file, members: Vec::new() });
                }
                None => self.nodes.incomplete = true,
            }
        }
        classes
    }

    /// The class that a station names; the station becomes its member.
    pub(super) fn class_of<'c>(
        &mut self,
        name: &str,
        station: &StationFile,
        classes: &'c mut Classes,
        path: &Path,
    ) -> Option<&'c ClassOfStationsFile> {
        let wanted = station.class.as_ref()?;
        if !classes.contains_key(wanted) && !self.nodes.incomplete {
            let help = match classes.is_empty() {
                true => format!("write [station_classes.{wanted}]"),
                false => there_are(classes.keys().map(String::as_str)),
            };
            self.add(&path.key("class"), format!("no class of stations is called {wanted:?}"), Some(help));
        }
        let class = classes.get_mut(wanted)?;
        class.members.push(name.to_owned());
        Some(&class.file)
    }

    pub(super) fn check_mask(&mut self, mask: Option<Angle>, path: &Path) {
        if let Some(mask) = mask.filter(|mask| !(-90.0..90.0).contains(&mask.degrees())) {
            let message = format!("{mask} is not an elevation mask: use 0 deg to less than 90 deg");
            self.add(&path.key("elevation_mask"), message, None);
        }
    }

    /// Adds the wires of the classes' members to the links.
    pub(super) fn class_wires(&mut self, classes: &Classes, links: &mut Vec<(WiredLink, Path)>) {
        let sorted = |between: &[String; 2]| {
            let mut ends = between.clone();
            ends.sort();
            ends
        };
        let mut taken: BTreeMap<[String; 2], Path> =
            links.iter().map(|(link, path)| (sorted(&link.between), path.clone())).collect();
        for (name, class) in classes {
            let Some(wire) = &class.file.wire else { continue };
            let path = root().key(name).key("wire");
            let file = link_file(wire);
            let forward = self.direction(&file, None, "forward", &path);
            let backward = self.direction(&file, None, "backward", &path);
            let (Some(forward), Some(backward)) = (forward, backward) else { continue };
            for member in &class.members {
                let between = [member.clone(), wire.to.clone()];
                if self.link_ends(&between, &mut taken, &path, &path.key("to"), |_| path.key("to")) {
                    links.push((super::wires::in_order(between, forward.clone(), backward.clone()), path.clone()));
                }
            }
        }
        links.sort_by(|(a, _), (b, _)| {
            natural_order(&a.between[0], &b.between[0]).then_with(|| natural_order(&a.between[1], &b.between[1]))
        });
    }

    /// Says what has no effect: classes without members, and rules about satellites where there are none.
    pub(super) fn check_station_rules(
        &mut self,
        stations: &BTreeMap<String, Station>,
        classes: &Classes,
        sky: Option<&Constellation>,
    ) {
        if self.nodes.incomplete {
            return;
        }
        for (name, _) in classes.iter().filter(|(_, class)| class.members.is_empty()) {
            self.warn(&root().key(name), "has no effect: no station is of this class");
        }
        let has_rule = |station: &Station| station.elevation_mask.is_some() || station.handover.is_some();
        for (name, _) in stations.iter().filter(|(_, station)| sky.is_none() && has_rule(station)) {
            let path = Path::root().key("stations").key(name);
            self.warn(&path, "elevation_mask and handover have no effect: there is no constellation");
        }
    }
}

impl ClassOfStationsFile {
    /// Gives a station what it does not say itself.
    pub(super) fn give(&self, station: &mut Station) {
        if station.antennas == NOT_TOLD {
            station.antennas = self.antennas.unwrap_or(NOT_TOLD);
        }
        station.elevation_mask = station.elevation_mask.or(self.elevation_mask);
        station.handover = station.handover.or(self.handover);
    }
}

fn link_file(wire: &ClassWireFile) -> LinkFile {
    LinkFile {
        name: None,
        between: [String::new(), wire.to.clone()],
        rate: Some(wire.rate),
        delay: Some(wire.delay),
        queue: wire.queue.clone(),
        framing: None,
        errors: None,
        repair: None,
        trace: None,
        profile: None,
        forward: None,
        backward: None,
    }
}
