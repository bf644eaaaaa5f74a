//! The worked examples of `tests/vectors/algorithms_vectors.json` that concern orbits.

use serde_json::Value;
use skyhop_base::{Angle, Duration, Length, Time};
use skyhop_orbit::visibility::{coverage, longest_isl_km};
use skyhop_orbit::{CircularOrbit, Earth, GroundPoint, GroundStation, Orbit, Vec3, Walker, distance_km};

fn vector(name: &str) -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/algorithms_vectors.json");
    let text = std::fs::read_to_string(path).expect("the worked examples are part of the project");
    let all: Value = serde_json::from_str(&text).expect("valid JSON");
    let found = all["vectors"].as_array().unwrap().iter().find(|v| v["name"] == name);
    found.unwrap_or_else(|| panic!("no worked example {name}")).clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

#[track_caller]
fn close(ours: f64, expected: f64, tolerance: &Value) {
    let tolerance = tolerance.as_f64().unwrap() * expected.abs().max(1.0);
    assert!((ours - expected).abs() <= tolerance, "{ours} is not {expected} within {tolerance}");
}

#[test]
fn orbit_period() {
    let v = vector("orbit_period");
    for (altitude, period) in numbers(&v["inputs"]["altitude_km"]).iter().zip(numbers(&v["expected"]["period_s"])) {
        close(Earth::NS2.period_s(6378.0 + altitude), period, &v["tolerance"]);
        // The same orbit flown: back at its start after that time, and not before.
        let orbit = Orbit::Circular(CircularOrbit {
            altitude: Length::from_km(*altitude),
            inclination: Angle::from_degrees(70.0),
            raan: Angle::from_degrees(10.0),
            argument_of_latitude: Angle::from_degrees(20.0),
        });
        let start = orbit.inertial_km(&Earth::NS2, Time::ZERO);
        let away = |share: f64| (orbit.inertial_km(&Earth::NS2, Time::from_secs_f64(period * share)) - start).norm();
        assert!(away(1.0) < 1e-4 && away(0.999) > 10.0 && away(1.001) > 10.0);
    }
    close(Earth::NS2.period_s(7158.0) / 60.0, v["expected"]["minutes_780_R6378"].as_f64().unwrap(), &v["tolerance"]);
    let mean = Earth { mu_km3_s2: Earth::WGS84.mu_km3_s2, ..Earth::NS2 }.period_s(6371.0 + 780.0) / 60.0;
    close(mean, v["expected"]["minutes_780_R6371"].as_f64().unwrap(), &v["tolerance"]);
}

#[test]
fn polar_position() {
    let v = vector("polar_position");
    let input = |key: &str| v["inputs"][key].as_f64().unwrap();
    let orbit = Orbit::Circular(CircularOrbit {
        altitude: Length::from_km(input("alt_km")),
        inclination: Angle::from_degrees(input("inc_deg")),
        raan: Angle::from_degrees(input("raan_deg")),
        argument_of_latitude: Angle::from_degrees(input("alpha_deg")),
    });
    for (n, t) in numbers(&v["inputs"]["t_s"]).into_iter().enumerate() {
        let t = Time::from_secs_f64(t);
        let position = orbit.inertial_km(&Earth::NS2, t);
        let expected = numbers(&v["expected"]["xyz_km"][n]);
        close(position.x, expected[0], &v["tolerance"]);
        close(position.y, expected[1], &v["tolerance"]);
        close(position.z, expected[2], &v["tolerance"]);
        let below = GroundPoint::below(&Earth::NS2, orbit.earth_fixed_km(&Earth::NS2, t));
        close(below.latitude.degrees(), numbers(&v["expected"]["lat_deg"])[n], &v["tolerance"]);
        close(below.altitude.km(), 780.0, &v["tolerance"]);
    }
}

#[test]
fn geo_palermo_houston() {
    let v = vector("geo_palermo_houston");
    let longitude = Angle::from_degrees(v["inputs"]["sat_lon"].as_f64().unwrap());
    let satellite = Orbit::Geostationary { longitude }.earth_fixed_km(&Earth::NS2, Time::from_secs_f64(777.0));
    let mut one_way = 0.0;
    for (n, place) in ["palermo", "houston"].into_iter().enumerate() {
        let place = numbers(&v["inputs"][place]);
        let point = GroundPoint {
            latitude: Angle::from_degrees(place[0]),
            longitude: Angle::from_degrees(place[1]),
            altitude: Length::from_km(0.0),
        };
        let look = GroundStation::new(point).unwrap().site(&Earth::NS2).look(satellite);
        let delay = Earth::NS2.light_time_ns(look.slant_range.km()) / 1e6;
        close(look.slant_range.km(), numbers(&v["expected"]["slant_km"])[n], &v["tolerance"]);
        close(look.elevation.degrees(), numbers(&v["expected"]["elevation_deg"])[n], &v["tolerance"]);
        close(delay, numbers(&v["expected"]["delay_ms"])[n], &v["tolerance"]);
        one_way += delay;
    }
    close(one_way, v["expected"]["one_way_ms"].as_f64().unwrap(), &v["tolerance"]);
}

#[test]
fn coverage_geometry() {
    let v = vector("coverage_geometry");
    let altitude = Length::from_km(v["inputs"]["alt_km"].as_f64().unwrap());
    for (mask, expected) in numbers(&v["inputs"]["mask_deg"]).into_iter().zip(v["expected"].as_array().unwrap()) {
        let covered = coverage(&Earth::NS2, altitude, Angle::from_degrees(mask));
        let expected = |key: &str| expected[key].as_f64().unwrap();
        close(covered.central_angle.degrees(), expected("central_angle_deg"), &v["tolerance"]);
        close(covered.slant_range.km(), expected("slant_km"), &v["tolerance"]);
        close(Earth::NS2.light_time_ns(covered.slant_range.km()) / 1e6, expected("delay_ms"), &v["tolerance"]);
        close(covered.longest_pass.as_secs_f64() / 60.0, expected("max_pass_min"), &v["tolerance"]);

        // A station at the edge sees the satellite at the mask.
        let edge = GroundPoint {
            latitude: covered.central_angle,
            longitude: Angle::from_degrees(0.0),
            altitude: Length::from_km(0.0),
        };
        let look = GroundStation::new(edge).unwrap().site(&Earth::NS2).look(Vec3::new(7158.0, 0.0, 0.0));
        assert!((look.elevation.degrees() - mask).abs() < 1e-9);
    }
}

#[test]
fn isl_geometry() {
    let v = vector("isl_geometry");
    let expected = |key: &str| v["expected"][key].as_f64().unwrap();
    let iridium = Walker::iridium();
    let motions: Vec<_> = iridium.satellites().unwrap().iter().map(|s| s.orbit.motion(&Earth::NS2)).collect();
    for second in [0, 1234, 80_000] {
        let chord = distance_km(&motions[0], &motions[1], Time::ZERO + Duration::from_secs(second));
        close(chord, expected("intraplane_km"), &v["tolerance"]);
        close(Earth::NS2.light_time_ns(chord) / 1e6, expected("intraplane_ms"), &v["tolerance"]);
    }
    let margin = v["inputs"]["atmos_margin_km"].as_f64().unwrap();
    close(longest_isl_km(&Earth::NS2, 7158.0, margin), expected("max_isl_km"), &v["tolerance"]);
    close(iridium.closing_gap().degrees(), expected("seam_deg"), &v["tolerance"]);
}
