//! Contents of files that scenarios name: recordings of links, elements of satellites, lists of stations.

use super::chance::Chance;
use super::values::World;
use serde_json::{Value as Json, json};
use std::fmt::Write;

/// Days from 1 January 2025 to the epochs of elements.
const EPOCH_DAY: f64 = 100.5;

/// The content of a file for `key`, or the path of a file that has such a content. `None` for a key that is unknown.
pub fn file(chance: &mut Chance, world: &World, key: &str) -> Option<Json> {
    let (name, text) = match key {
        "opportunities" => ("opportunities.txt", opportunities(chance, world)),
        "table" => ("table.csv", table(chance, world)),
        "delays" => ("delays.txt", delays(chance)),
        "elements" => ("elements.tle", elements(chance, 6)),
        "stations_file" => ("stations.csv", stations(chance, &["file-a", "file-b"])),
        _ => return None,
    };
    if chance.happens(0.15) {
        let path = crate::root().join("tests/random/files").join(name);
        return Some(path.display().to_string().into());
    }
    Some(json!({ "text": text }))
}

fn opportunities(chance: &mut Chance, world: &World) -> String {
    let mean_ms = 1500.0 * 8.0 / world.rate_bps * 1e3;
    let count = 5 + chance.below(60);
    let mut at_ms = 0.0;
    let mut text = String::new();
    for _ in 0..count {
        at_ms += mean_ms * chance.real(0.0, 2.0);
        let _ = writeln!(text, "{at_ms:.0}");
    }
    let _ = writeln!(text, "{:.0}", at_ms + 1.0);
    text
}

fn table(chance: &mut Chance, world: &World) -> String {
    let columns: Vec<&str> = ["rate_bps", "delay_s", "loss"].into_iter().filter(|_| chance.happens(0.6)).collect();
    let columns = if columns.is_empty() { vec!["rate_bps"] } else { columns };
    let mut text = format!("# recorded\ntime_s,{}\n", columns.join(","));
    let rows = 2 + chance.below(12);
    let mut at_s = if chance.happens(0.8) { 0.0 } else { world.duration_s / 50.0 };
    for row in 0..rows {
        let _ = write!(text, "{at_s:.4}");
        for column in &columns {
            let value = match *column {
                // A rate of zero is an outage; the first row has one that is not.
                "rate_bps" if row > 0 && chance.happens(0.15) => 0.0,
                "rate_bps" => chance.magnitude(world.rate_bps / 4.0, world.rate_bps * 1.5).round(),
                "delay_s" => chance.magnitude(1e-4, 0.2),
                _ => chance.magnitude(1e-5, 0.2),
            };
            let _ = write!(text, ",{value}");
        }
        text.push('\n');
        at_s += world.duration_s / 10.0 * chance.real(0.05, 1.5) + 1e-4;
    }
    text
}

fn delays(chance: &mut Chance) -> String {
    (0..2 + chance.below(30)).map(|_| format!("{:.3}\n", chance.magnitude(0.1, 200.0))).collect()
}

/// A list of stations: CSV or GeoJSON.
pub fn stations(chance: &mut Chance, names: &[&str]) -> String {
    let points: Vec<(&str, f64, f64)> =
        names.iter().map(|name| (*name, chance.real(-60.0, 60.0), chance.real(-180.0, 180.0))).collect();
    if chance.happens(0.4) {
        let feature = |(name, latitude, longitude): &(&str, f64, f64)| {
            json!({
                "type": "Feature", "properties": { "name": name },
                "geometry": { "type": "Point", "coordinates": [longitude, latitude] },
            })
        };
        let features: Vec<Json> = points.iter().map(feature).collect();
        return json!({ "type": "FeatureCollection", "features": features }).to_string();
    }
    let mut text = "name,latitude_deg,longitude_deg,altitude_km\n# two of them\n".to_owned();
    for (name, latitude, longitude) in points {
        let _ = writeln!(text, "{name},{latitude:.3},{longitude:.3},0.1");
    }
    text
}

/// Near the epochs of the elements, now and then far from them.
pub fn instant(chance: &mut Chance) -> String {
    let day = 1 + chance.below(28);
    let month = if chance.happens(0.8) { 4 } else { 1 + chance.below(12) };
    let clock = format!("{:02}:{:02}:{:02}", chance.below(24), chance.below(60), chance.below(60));
    match chance.below(4) {
        0 => format!("2025-{month:02}-{day:02}"),
        1 => format!("2025-{month:02}-{day:02}T{clock}.250Z"),
        _ => format!("2025-{month:02}-{day:02}T{clock}Z"),
    }
}

/// Names and elements of `count` satellites on near-circular low orbits, as 3LE or as OMM in CSV.
pub fn elements(chance: &mut Chance, count: usize) -> String {
    let omm = chance.happens(0.3);
    let mut text = String::new();
    if omm {
        text += "OBJECT_NAME,OBJECT_ID,EPOCH,MEAN_MOTION,ECCENTRICITY,INCLINATION,RA_OF_ASC_NODE,ARG_OF_PERICENTER,\
                 MEAN_ANOMALY,EPHEMERIS_TYPE,CLASSIFICATION_TYPE,NORAD_CAT_ID,ELEMENT_SET_NO,REV_AT_EPOCH,BSTAR,\
                 MEAN_MOTION_DOT,MEAN_MOTION_DDOT\n";
    }
    for n in 0..count {
        let number = 40_000 + n;
        let inclination = chance.real(40.0, 98.0);
        let mut angle = || chance.real(0.0, 359.9);
        let (node, perigee, anomaly) = (angle(), angle(), angle());
        let motion = chance.real(10.0, 14.6);
        let eccentricity = chance.below(20_000);
        if omm {
            let _ = writeln!(
                text,
                "SAT {n},2020-001A,2025-04-10T12:00:00.000000,{motion:.8},.{eccentricity:07},{inclination:.4},\
                 {node:.4},{perigee:.4},{anomaly:.4},0,U,{number},999,100,.00001,0,0"
            );
            continue;
        }
        let first = format!("1 {number:05}U 20001A   25{EPOCH_DAY:012.8}  .00000000  00000-0  10000-4 0  999");
        let second = format!(
            "2 {number:05} {inclination:8.4} {node:8.4} {eccentricity:07} {perigee:8.4} {anomaly:8.4} {motion:11.8}\
             {:>5}",
            100
        );
        let _ = writeln!(text, "SAT {n}\n{first}{}\n{second}{}", checksum(&first), checksum(&second));
    }
    text
}

/// Of a line of two-line elements: digits count themselves, minus signs one.
fn checksum(line: &str) -> u32 {
    let value = |c: char| if c == '-' { 1 } else { c.to_digit(10).unwrap_or(0) };
    line.chars().map(value).sum::<u32>() % 10
}
