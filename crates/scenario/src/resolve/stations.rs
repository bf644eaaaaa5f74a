//! Ground stations: by coordinates, by the name of a city, on a track.

use super::station_classes::Classes;
use super::{Kind, MOST_COMPONENTS, Resolver};
use crate::format::{
    GatewaysName, ObstructionFile, StationFile, TerrestrialFile, TerrestrialRuleFile, TerrestrialRuleName,
    TerrestrialRuleOptions, WaypointFile,
};
use crate::places;
use crate::scenario::{Constellation, Station, WiredLink};
use crate::tree::Path;
use skyhop_base::{Angle, Length, Time};
use skyhop_orbit::{GroundPoint, GroundStation, OrbitError, Track};
use std::collections::{BTreeMap, BTreeSet};

/// Antennas of a station whose number is settled later.
pub(super) const NOT_TOLD: u32 = 0;

/// Dishes of a gateway of bent pipes. Our choice: users nearby find a satellite among those that it serves, whichever
/// of them they take.
const GATEWAY_DISHES: u32 = 8;

impl Resolver<'_, '_, '_> {
    pub(super) fn stations(&mut self, classes: &mut Classes) -> BTreeMap<String, Station> {
        let path = Path::root().key("stations");
        let Some(node) = self.tree.find(&path) else { return BTreeMap::new() };
        let Some(table) = node.table() else {
            self.nodes.incomplete = true;
            return BTreeMap::new();
        };
        if table.len() > MOST_COMPONENTS {
            self.add(&path, format!("has {} stations, at most {MOST_COMPONENTS} are possible", table.len()), None);
            return BTreeMap::new();
        }
        let mut stations = BTreeMap::new();
        for name in table.keys() {
            let path = path.key(name);
            self.declare(name, Kind::Station, &path);
            let Some(file) = self.take::<StationFile>(&path) else { continue };
            let Some(place) = self.place(&file, &path) else { continue };
            self.check_mask(file.elevation_mask, &path);
            self.check_obstructions(file.obstructions.as_deref().unwrap_or_default(), &path.key("obstructions"));
            let class = self.class_of(name, &file, classes, &path);
            let track = self.track(file.track.as_deref().unwrap_or_default(), &path.key("track"));
            let mut station = Station {
                latitude: place.latitude,
                longitude: place.longitude,
                altitude: place.altitude,
                track,
                antennas: file.antennas.unwrap_or(NOT_TOLD),
                elevation_mask: file.elevation_mask,
                handover: file.handover,
                terrestrial: file.terrestrial.map(with_rule),
                obstructions: file.obstructions.unwrap_or_default(),
            };
            if let Some(class) = class {
                class.give(&mut station);
            }
            stations.insert(name.clone(), station);
        }
        stations
    }

    /// Where a station is, or begins to move.
    fn place(&mut self, file: &StationFile, path: &Path) -> Option<GroundPoint> {
        let altitude = file.altitude.unwrap_or(Length::from_km(0.0));
        let start = file.track.as_ref().and_then(|track| track.first());
        if let Some(city) = &file.city {
            let given = [
                ("latitude", file.latitude.is_some()),
                ("longitude", file.longitude.is_some()),
                ("track", file.track.is_some()),
            ];
            for (key, _) in given.iter().filter(|(_, given)| *given) {
                self.add(&path.key(key), "excludes \"city\"", Some("keep one of them".to_owned()));
            }
            let Some(place) = places::find_place(city) else {
                let help = places::nearest_place(city).map(|near| format!("did you mean {near:?}?"));
                let help = help.unwrap_or_else(|| "give latitude and longitude".to_owned());
                self.add(&path.key("city"), format!("no city is called {city:?}"), Some(help));
                return None;
            };
            let others = places::namesakes(city);
            if !others.is_empty() {
                let others: Vec<String> = others.iter().map(|p| format!("\"{}, {}\"", p.name, p.country)).collect();
                let (name, country, others) = (place.name, place.country, others.join(", "));
                let message = format!("{path}.city: {city:?} is \"{name}, {country}\"; there is also {others}");
                self.warnings.push(message);
            }
            return Some(GroundPoint { latitude: place.latitude, longitude: place.longitude, altitude });
        }
        let mut angle = |key: &str, given: Option<Angle>, of_track: Option<Angle>| match (given, of_track) {
            (Some(given), Some(first)) if given != first => {
                let message = format!("{given} is not that of the first point of the track, {first}");
                self.add(&path.key(key), message, None);
                None
            }
            (None, None) => {
                let help = "expected an angle such as \"37.9 deg\", or a city".to_owned();
                self.add(&path.key(key), "is missing", Some(help));
                None
            }
            (given, first) => given.or(first),
        };
        let latitude = angle("latitude", file.latitude, start.map(|point| point.latitude));
        let longitude = angle("longitude", file.longitude, start.map(|point| point.longitude));
        let altitude = start.and_then(|point| point.altitude).unwrap_or(altitude);
        let point = GroundPoint { latitude: latitude?, longitude: longitude?, altitude };
        self.check_point(point, path);
        Some(point)
    }

    /// Stations of which nothing is told have one antenna, gateways of bent pipes several dishes.
    pub(super) fn settle_antennas(
        stations: &mut BTreeMap<String, Station>,
        sky: Option<&Constellation>,
        links: &[(WiredLink, Path)],
    ) {
        let bent = sky.and_then(|sky| sky.gsl.as_ref()).is_some_and(|gsl| gsl.gateways == GatewaysName::BentPipe);
        let wired: BTreeSet<&str> =
            links.iter().flat_map(|(link, _)| link.between.iter()).map(String::as_str).collect();
        for (name, station) in stations.iter_mut().filter(|(_, station)| station.antennas == NOT_TOLD) {
            let is_gateway = bent && wired.contains(name.as_str()) && station.terrestrial.is_none();
            station.antennas = if is_gateway { GATEWAY_DISHES } else { 1 };
        }
    }

    /// Stations that fall back on wires have them, and one antenna.
    pub(super) fn check_terrestrial(&mut self, stations: &BTreeMap<String, Station>, links: &[(WiredLink, Path)]) {
        for (name, station) in stations {
            let Some(terrestrial) = &station.terrestrial else { continue };
            let path = Path::root().key("stations").key(name).key("terrestrial");
            let joins = |link: &WiredLink| link.between.contains(name) && link.between.contains(&terrestrial.to);
            if !self.nodes.incomplete && (*name == terrestrial.to || !links.iter().any(|(link, _)| joins(link))) {
                let help = format!("write [[links]] with between = [{name:?}, {:?}]", terrestrial.to);
                self.add(&path.key("to"), format!("no wired link leads there from {name:?}"), Some(help));
            }
            if station.antennas > 1 {
                let path = Path::root().key("stations").key(name).key("antennas");
                self.add(&path, "a station with a terrestrial network has one antenna", None);
            }
            let when = path.key("when");
            match &terrestrial.when {
                Some(TerrestrialRuleFile::Options(TerrestrialRuleOptions::Below(limit)))
                    if !(-90.0..=90.0).contains(&limit.degrees()) =>
                {
                    self.add(&when.key("below"), format!("{limit} is not an elevation: use 0 to 90 deg"), None);
                }
                Some(TerrestrialRuleFile::Options(TerrestrialRuleOptions::During(times))) => {
                    for (i, [from, until]) in times.iter().enumerate().filter(|(_, [from, until])| from >= until) {
                        self.add(&when.key("during").index(i), format!("{until} is not after {from}"), None);
                    }
                }
                Some(TerrestrialRuleFile::Options(TerrestrialRuleOptions::Within(coverage))) => {
                    let altitude = Length::from_km(0.0);
                    let (latitude, longitude) = (coverage.latitude, coverage.longitude);
                    self.check_point(GroundPoint { latitude, longitude, altitude }, &when.key("within"));
                    if coverage.radius.km() <= 0.0 {
                        self.add(&when.key("within").key("radius"), "must be longer than 0 km", None);
                    }
                }
                _ => {}
            }
        }
    }

    fn check_point(&mut self, point: GroundPoint, path: &Path) {
        if let Err(error) = GroundStation::new(point) {
            let key = match error {
                OrbitError::Latitude { .. } => "latitude",
                OrbitError::StationAltitude { .. } => "altitude",
                _ => "longitude",
            };
            self.add(&path.key(key), error.to_string(), None);
        }
        if point.longitude.degrees().abs() > 360.0 {
            let message = format!("a longitude of {} does not exist: use -180 to 180 deg", point.longitude);
            self.add(&path.key("longitude"), message, None);
        }
    }

    fn check_obstructions(&mut self, obstructions: &[ObstructionFile], path: &Path) {
        for (i, obstruction) in obstructions.iter().enumerate() {
            let path = path.index(i);
            let [from, to] = obstruction.azimuth.map(Angle::degrees);
            if !(-360.0..=360.0).contains(&from) || !(-360.0..=360.0).contains(&to) || from == to {
                let message = "must be two different azimuths from 0 to 360 deg, clockwise";
                self.add(&path.key("azimuth"), message, None);
            }
            let [low, high] = obstruction.elevation.map(Angle::degrees);
            if !(-90.0..=90.0).contains(&low) || !(low..=90.0).contains(&high) || low == high {
                self.add(&path.key("elevation"), "must be two elevations up to 90 deg, the lower one first", None);
            }
        }
    }

    fn track(&mut self, points: &[WaypointFile], path: &Path) -> Option<Vec<WaypointFile>> {
        if points.is_empty() {
            return None;
        }
        let before = self.problems.count();
        for (i, point) in points.iter().enumerate() {
            self.check_point(ground_point(point), &path.index(i));
        }
        if self.problems.count() == before
            && let Err(error) = track(points)
        {
            let place = match error {
                OrbitError::TrackOrder { index } => path.index(index).key("at"),
                OrbitError::TrackAntipodes { index } => path.index(index),
                _ => path.clone(),
            };
            self.add(&place, error.to_string(), None);
        }
        // The height is always written out.
        let point =
            |point: &WaypointFile| WaypointFile { altitude: Some(ground_point(point).altitude), ..point.clone() };
        Some(points.iter().map(point).collect())
    }
}

/// The condition is always written out.
fn with_rule(TerrestrialFile { to, when }: TerrestrialFile) -> TerrestrialFile {
    TerrestrialFile { to, when: when.or(Some(TerrestrialRuleFile::Named(TerrestrialRuleName::NoSatellite))) }
}

fn ground_point(point: &WaypointFile) -> GroundPoint {
    let altitude = point.altitude.unwrap_or(Length::from_km(0.0));
    GroundPoint { latitude: point.latitude, longitude: point.longitude, altitude }
}

/// The track through the points.
///
/// # Errors
/// Points that make no track.
pub(crate) fn track(points: &[WaypointFile]) -> Result<Track, OrbitError> {
    let points: Vec<_> = points.iter().map(|p| (Time::from_nanos(p.at.as_nanos()), ground_point(p))).collect();
    Track::new(&points)
}
