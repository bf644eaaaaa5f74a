//! Classes of stations: what gateways have in common, or terminals of one kind.

use super::Resolver;
use super::stations::NOT_TOLD;
use crate::format::{ByDistanceFile, ClassOfStationsFile, ClassWireFile, LinkFile, StationFile, WireDelayFile};
use crate::names::there_are;
use crate::places::{self, Place};
use crate::scenario::{Constellation, Station, WiredLink};
use crate::tree::{Node, Path};
use skyhop_base::{Angle, Duration, natural_order};
use std::collections::BTreeMap;

/// km/s in G.652 fibre at 1550 nm, whose refractive index is 1.468.
const FIBRE_KM_S: f64 = 299_792.458 / 1.468;
/// Mean radius of the Earth (IUGG).
const MEAN_RADIUS_KM: f64 = 6_371.008_8;
/// Longer paths are a mistake of the file.
const MOST_STRETCH: f64 = 10.0;

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
            let message = format!("{mask} is not an elevation mask: use -90 deg to less than 90 deg");
            self.add(&path.key("elevation_mask"), message, None);
        }
    }

    /// Adds the wires of the classes' members to the links.
    pub(super) fn class_wires(
        &mut self,
        classes: &Classes,
        stations: &BTreeMap<String, Station>,
        links: &mut Vec<(WiredLink, Path)>,
    ) {
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
            let Some(far_end) = self.far_end(&wire.delay, &path) else { continue };
            let file = link_file(wire);
            let forward = self.direction(&file, None, "forward", &path);
            let backward = self.direction(&file, None, "backward", &path);
            let (Some(mut forward), Some(mut backward)) = (forward, backward) else { continue };
            for member in &class.members {
                let between = [member.clone(), wire.to.clone()];
                if let (Some((city, stretch)), Some(station)) = (&far_end, stations.get(member)) {
                    let delay = fibre_delay(station, city, *stretch);
                    self.check_wire_delay(delay, &path.key("delay"));
                    (forward.delay, backward.delay) = (delay, delay);
                }
                if self.link_ends(&between, &mut taken, &path, &path.key("to"), |_| path.key("to")) {
                    links.push((super::wires::in_order(between, forward.clone(), backward.clone()), path.clone()));
                }
            }
        }
        links.sort_by(|(a, _), (b, _)| {
            natural_order(&a.between[0], &b.between[0]).then_with(|| natural_order(&a.between[1], &b.between[1]))
        });
    }

    /// The place to which a delay is counted, and the stretch; `Some(None)` for a delay that is the same for all,
    /// `None` with problems.
    fn far_end(&mut self, delay: &WireDelayFile, path: &Path) -> Option<Option<(Place, f64)>> {
        let WireDelayFile::ByDistance(ByDistanceFile::Fibre(fibre)) = delay else { return Some(None) };
        let path = path.key("delay").key("fibre");
        let mut is_sound = true;
        if !(1.0..=MOST_STRETCH).contains(&fibre.stretch) {
            let message = format!("a stretch of {} is not one of a fibre: use 1 to {MOST_STRETCH}", fibre.stretch);
            self.add(&path.key("stretch"), message, None);
            is_sound = false;
        }
        let Some(place) = places::find_place(&fibre.to) else {
            let help = places::nearest_place(&fibre.to).map(|near| format!("did you mean {near:?}?"));
            self.add(&path.key("to"), format!("no city is called {:?}", fibre.to), help);
            return None;
        };
        is_sound.then_some(Some((place, fibre.stretch)))
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
        let has_rule = |station: &Station| {
            station.elevation_mask.is_some() || station.handover.is_some() || !station.obstructions.is_empty()
        };
        for (name, _) in stations.iter().filter(|(_, station)| sky.is_none() && has_rule(station)) {
            let path = Path::root().key("stations").key(name);
            self.warn(&path, "elevation_mask, handover and obstructions have no effect: there is no constellation");
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
        between: [String::new(), wire.to.clone()],
        rate: Some(wire.rate),
        delay: Some(match wire.delay {
            WireDelayFile::Same(delay) => delay,
            WireDelayFile::ByDistance(_) => Duration::ZERO,
        }),
        queue: wire.queue.clone(),
        ..LinkFile::default()
    }
}

/// From a station to a city through fibre along the great circle; a user on the move is taken where it begins.
fn fibre_delay(station: &Station, city: &Place, stretch: f64) -> Duration {
    let [a, b] = [station.latitude, city.latitude].map(Angle::radians);
    let half_turn = (city.longitude.radians() - station.longitude.radians()) / 2.0;
    let (lat, lon) = (libm::sin((b - a) / 2.0), libm::sin(half_turn));
    let haversine = lat * lat + libm::cos(a) * libm::cos(b) * lon * lon;
    let km = 2.0 * MEAN_RADIUS_KM * libm::asin(haversine.sqrt().min(1.0));
    Duration::from_secs_f64(km * stretch / FIBRE_KM_S)
}
