//! Ground stations from a file: CSV, or points of GeoJSON.

use super::content::Content;
use super::station_classes::{Classes, StationClass};
use super::stations::NOT_TOLD;
use super::{Kind, MOST_COMPONENTS, RESERVED_NAMES, Resolver};
use crate::format::ContentFile;
use crate::names::{name_problem, shorten};
use crate::scenario::Station;
use crate::tree::Path;
use serde_json::Value;
use skyhop_base::{Angle, Length};
use skyhop_orbit::{GroundPoint, GroundStation};
use std::collections::BTreeMap;

/// So many antennas are possible, as for a station that is written in the scenario.
const MOST_ANTENNAS: u32 = 64;

/// A station of the file, or what is wrong with it, and where it stands.
type Entry = (String, Result<(String, GroundPoint, Option<u32>), String>);

impl Resolver<'_, '_, '_> {
    /// The stations of files besides those that are written.
    pub(super) fn stations_of_files(&mut self, stations: &mut BTreeMap<String, Station>, classes: &mut Classes) {
        let path = Path::root().key("stations_file");
        if self.tree.find(&path).is_some() {
            let file: Option<ContentFile> = self.take(&path);
            self.stations_of_file(file, stations, None, &path);
        }
        for (name, class) in classes {
            if class.file.file.is_some() {
                let path = Path::root().key("station_classes").key(name).key("file");
                self.stations_of_file(class.file.file.clone(), stations, Some(class), &path);
            }
        }
    }

    fn stations_of_file(
        &mut self,
        file: Option<ContentFile>,
        stations: &mut BTreeMap<String, Station>,
        mut class: Option<&mut StationClass>,
        path: &Path,
    ) {
        let before = self.problems.count();
        if let Some(Content { name: file, text, .. }) = file.and_then(|file| self.content(&file, path)) {
            let entries = if text.trim_start().starts_with('{') { of_geojson(&text) } else { of_csv(&text) };
            if entries.len() > MOST_COMPONENTS {
                let message = format!("{file} has {} stations, at most {MOST_COMPONENTS} are possible", entries.len());
                self.add(path, message, None);
                return;
            }
            for (place, entry) in entries {
                match entry.and_then(|entry| checked(entry, stations)) {
                    Ok((name, mut station)) => {
                        self.declare(&name, Kind::Station, path);
                        if let Some(class) = class.as_deref_mut() {
                            class.file.give(&mut station);
                            class.members.push(name.clone());
                        }
                        stations.insert(name, station);
                    }
                    Err(message) => self.add(path, format!("{file}, {place}: {message}"), None),
                }
            }
        }
        if self.problems.count() > before {
            self.nodes.incomplete = true;
        }
    }
}

fn checked(
    (name, point, antennas): (String, GroundPoint, Option<u32>),
    others: &BTreeMap<String, Station>,
) -> Result<(String, Station), String> {
    if let Some(problem) = name_problem(&name) {
        return Err(problem);
    }
    if RESERVED_NAMES.contains(&name.as_str()) {
        return Err(format!("{name:?} is reserved: it stands for the changing end of a satellite link"));
    }
    if others.contains_key(&name) {
        return Err(format!("there is already a station {name:?}"));
    }
    GroundStation::new(point).map_err(|error| error.to_string())?;
    if point.longitude.degrees().abs() > 360.0 {
        return Err(format!("a longitude of {} does not exist: use -180 to 180 deg", point.longitude));
    }
    if let Some(antennas) = antennas.filter(|antennas| !(1..=MOST_ANTENNAS).contains(antennas)) {
        return Err(format!("{antennas} antennas are not possible: use 1 to {MOST_ANTENNAS}"));
    }
    let GroundPoint { latitude, longitude, altitude } = point;
    Ok((
        name,
        Station {
            latitude,
            longitude,
            altitude,
            track: None,
            antennas: antennas.unwrap_or(NOT_TOLD),
            elevation_mask: None,
            obstructions: Vec::new(),
            handover: None,
            terrestrial: None,
        },
    ))
}

const COLUMNS: [&str; 5] = ["name", "latitude_deg", "longitude_deg", "altitude_km", "antennas"];

fn of_csv(text: &str) -> Vec<Entry> {
    let numbered = text.lines().enumerate().map(|(i, line)| (format!("line {}", i + 1), line.trim()));
    let mut lines = numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let needs = "a header is needed: name,latitude_deg,longitude_deg and, if wanted, altitude_km,antennas";
    let Some((place, head)) = lines.next() else { return vec![("line 1".to_owned(), Err(needs.to_owned()))] };
    let columns: Vec<&str> = head.trim_start_matches('\u{feff}').split(',').map(unquoted).collect();
    let known = columns.iter().all(|column| COLUMNS.contains(column));
    let full = COLUMNS[..3].iter().all(|column| columns.iter().filter(|c| *c == column).count() == 1);
    if !known || !full {
        return vec![(place, Err(format!("{needs}; this is {:?}", shorten(head))))];
    }
    let row = |(place, line): (String, &str)| (place, of_line(&columns, line));
    lines.map(row).collect()
}

fn unquoted(field: &str) -> &str {
    let field = field.trim();
    field.strip_prefix('"').and_then(|field| field.strip_suffix('"')).unwrap_or(field)
}

fn of_line(columns: &[&str], line: &str) -> Result<(String, GroundPoint, Option<u32>), String> {
    let fields: Vec<&str> = line.split(',').map(unquoted).collect();
    if fields.len() != columns.len() {
        return Err(format!("has {} fields, the header {}", fields.len(), columns.len()));
    }
    let of =
        |column: &str| columns.iter().position(|c| *c == column).map(|i| fields[i]).filter(|field| !field.is_empty());
    let number = |column: &str| match of(column).map(str::parse::<f64>) {
        Some(Ok(value)) if value.is_finite() => Ok(Some(value)),
        Some(_) => Err(format!("{:?} is not a {column}", shorten(of(column).unwrap_or_default()))),
        None => Ok(None),
    };
    let needed = |column: &str| number(column)?.ok_or_else(|| format!("{column} is missing"));
    let name = of("name").ok_or("name is missing")?.to_owned();
    let antennas = match of("antennas") {
        Some(field) => Some(field.parse().map_err(|_| format!("{:?} is not a number of antennas", shorten(field)))?),
        None => None,
    };
    let point = GroundPoint {
        latitude: Angle::from_degrees(needed("latitude_deg")?),
        longitude: Angle::from_degrees(needed("longitude_deg")?),
        altitude: Length::from_km(number("altitude_km")?.unwrap_or(0.0)),
    };
    Ok((name, point, antennas))
}

/// RFC 7946: longitude first, heights in metres.
fn of_geojson(text: &str) -> Vec<Entry> {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return vec![(format!("line {}", error.line()), Err(format!("is not JSON: {error}")))],
    };
    let features: Vec<&Value> = match (value["type"].as_str(), value["features"].as_array()) {
        (Some("FeatureCollection"), Some(features)) => features.iter().collect(),
        (Some("Feature"), _) => vec![&value],
        _ => return vec![("line 1".to_owned(), Err("is not a FeatureCollection of GeoJSON".to_owned()))],
    };
    let entry = |(i, feature): (usize, &Value)| (format!("feature {i}"), of_feature(feature));
    features.into_iter().enumerate().map(entry).collect()
}

fn of_feature(feature: &Value) -> Result<(String, GroundPoint, Option<u32>), String> {
    let properties = &feature["properties"];
    let name = properties["name"].as_str().ok_or("properties.name is missing")?.to_owned();
    let geometry = &feature["geometry"];
    if geometry["type"] != "Point" {
        return Err(format!("{name:?} is not a Point"));
    }
    let numbers: Option<Vec<f64>> =
        geometry["coordinates"].as_array().and_then(|list| list.iter().map(Value::as_f64).collect());
    let (longitude, latitude, metres) = match numbers.as_deref() {
        Some(&[longitude, latitude]) => (longitude, latitude, 0.0),
        Some(&[longitude, latitude, metres]) => (longitude, latitude, metres),
        _ => return Err(format!("the coordinates of {name:?} are not [longitude, latitude]")),
    };
    let antennas = match &properties["antennas"] {
        Value::Null => None,
        given => Some(given.as_u64().and_then(|n| u32::try_from(n).ok()).ok_or("antennas is not a whole number")?),
    };
    let point = GroundPoint {
        latitude: Angle::from_degrees(latitude),
        longitude: Angle::from_degrees(longitude),
        altitude: Length::from_km(metres / 1e3),
    };
    Ok((name, point, antennas))
}
