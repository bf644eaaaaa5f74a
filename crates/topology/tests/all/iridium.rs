//! Iridium against the worked examples of `tests/vectors/algorithms_vectors.json`, and against ns-2.

use crate::common::{at, handovers, iridium, node, run_to, station};
use serde_json::Value;
use skyhop_base::{Duration, Time};
use skyhop_topology::{Change, LinkKind, NodeId, NodeKind, Topology, Why};

/// A day in steps of 10 s.
const STEPS: u64 = 8640;

fn vector(name: &str) -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/algorithms_vectors.json");
    let text = std::fs::read_to_string(path).expect("the worked examples are part of the project");
    let all: Value = serde_json::from_str(&text).expect("valid JSON");
    let found = all["vectors"].as_array().unwrap().iter().find(|v| v["name"] == name);
    found.unwrap_or_else(|| panic!("no worked example {name}")).clone()
}

fn between(v: &Value, a: &str, b: &str) -> Topology {
    let place = |name: &str| {
        let degrees = |n: usize| v["inputs"][name][n].as_f64().unwrap();
        station(name, degrees(0), degrees(1))
    };
    let mut spec = iridium(&[place(a), place(b)]);
    spec.gsl.as_mut().unwrap().elevation_mask = crate::common::degrees(v["inputs"]["mask_deg"].as_f64().unwrap());
    let limit = v["inputs"]["isl_lat_threshold_deg"].as_f64().unwrap();
    spec.isl.as_mut().unwrap().latitude_limit = Some(crate::common::degrees(limit));
    Topology::new(spec).unwrap()
}

/// Holds minimum, median, mean and maximum to the example; in ms, relative tolerance.
fn compare(mut delays: Vec<f64>, expected: &Value, tolerance: &Value) {
    assert_eq!(delays.len(), STEPS as usize, "no outage");
    delays.sort_by(f64::total_cmp);
    let middle = delays.len() / 2;
    let ours = [
        ("min_ms", delays[0]),
        ("median_ms", (delays[middle - 1] + delays[middle]) / 2.0),
        ("mean_ms", delays.iter().sum::<f64>() / delays.len() as f64),
        ("max_ms", delays[delays.len() - 1]),
    ];
    for (key, ours) in ours {
        let expected = expected[key].as_f64().unwrap();
        assert!((ours / expected - 1.0).abs() <= tolerance.as_f64().unwrap(), "{key}: {ours}, expected {expected}");
    }
}

/// Shortest path in ms when both ends may use any satellite in sight.
fn any_visible(topology: &mut Topology, a: NodeId, b: NodeId, mask: f64, t: Time) -> Option<f64> {
    let light = |km: f64| km / skyhop_orbit::Earth::NS2.light_km_s * 1e3;
    let seen = |topology: &Topology, station: NodeId| -> Vec<(NodeId, f64)> {
        let satellites = topology.nodes().enumerated().filter(|(_, n)| matches!(n.kind, NodeKind::Satellite { .. }));
        satellites
            .filter_map(|(satellite, _)| Some((satellite, topology.look(station, satellite, t)?)))
            .filter(|(_, look)| look.elevation.degrees() > mask)
            .map(|(satellite, look)| (satellite, light(look.slant_range.km())))
            .collect()
    };
    let (over_a, over_b) = (seen(topology, a), seen(topology, b));
    let mut best: Option<f64> = None;
    for &(first, up) in &over_a {
        for &(last, down) in &over_b {
            if let Some(path) = topology.path(first, last, t) {
                let total = up + path.delay.as_secs_f64() * 1e3 + down;
                best = Some(best.map_or(total, |best| best.min(total)));
            }
        }
    }
    best
}

#[test]
fn any_satellite_over_berkeley_and_chennai() {
    let v = vector("iridium_berkeley_chennai");
    let mut topology = between(&v, "berkeley", "chennai");
    day_of_any_visible(&mut topology, "chennai", &v, &v["expected"]["any_visible_satellite"]);
}

#[test]
fn any_satellite_over_berkeley_and_boston() {
    let v = vector("iridium_berkeley_boston");
    let mut topology = between(&v, "berkeley", "boston");
    day_of_any_visible(&mut topology, "boston", &v, &v["expected"]);
}

fn day_of_any_visible(topology: &mut Topology, other: &str, v: &Value, expected: &Value) {
    let (a, b) = (node(topology, "berkeley"), node(topology, other));
    let mask = v["inputs"]["mask_deg"].as_f64().unwrap();
    let mut delays = Vec::new();
    for step in 0..STEPS {
        let now = at(10 * step);
        run_to(topology, now);
        delays.extend(any_visible(topology, a, b, mask, now));
    }
    compare(delays, expected, &v["tolerance"]);
}

#[test]
fn ns2s_sticky_handover_between_berkeley_and_chennai() {
    let v = vector("iridium_berkeley_chennai");
    let expected = &v["expected"]["sticky_ns2_handoff"];
    let mut topology = between(&v, "berkeley", "chennai");
    let ends = ["berkeley", "chennai"].map(|name| node(&topology, name));
    let (mut delays, mut counts, mut trailing) = (Vec::new(), [0, 0], 0);
    for step in 0..STEPS {
        let now = at(10 * step);
        for handover in handovers(&run_to(&mut topology, now)) {
            let end = ends.iter().position(|&end| end == handover.terminal).unwrap();
            // The example counts the first contact too.
            counts[end] += 1;
            trailing += usize::from(handover.why == Why::TrailingSatellite);
            assert!(handover.to.is_some(), "full coverage at this mask");
            assert!(handover.elevation.degrees() > 8.2);
            // Lowest and edge of the coverage: algorithms.md 5.4.
            assert!((780.0 - 1e-6..2465.0).contains(&handover.slant_range.km()));
        }
        delays.extend(topology.path(ends[0], ends[1], now).map(|path| path.delay.as_secs_f64() * 1e3));
    }
    compare(delays, expected, &v["tolerance"]);
    let expected: Vec<i64> =
        expected["terminal_handoffs_per_day"].as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect();
    assert_eq!(counts[..], expected[..]);
    assert!(trailing > 200, "most handovers go to the satellite that follows: {trailing}");
}

#[test]
fn the_first_path_is_ns2s() {
    // reference/ns2/README.md, "The Iridium paper": uplink, 5 ISLs, downlink; one way 78.4 ms with transmission times.
    let v = vector("iridium_berkeley_chennai");
    let mut topology = between(&v, "berkeley", "chennai");
    let (a, b) = (node(&topology, "berkeley"), node(&topology, "chennai"));
    assert_eq!(topology.path(a, b, Time::ZERO), None, "nothing is up before the first check");
    run_to(&mut topology, Time::ZERO);
    let path = topology.path(a, b, Time::ZERO).unwrap();
    let kinds: Vec<LinkKind> = path.hops.iter().map(|hop| topology.links()[hop.link].kind).collect();
    let isls = [LinkKind::Isl; 5];
    assert_eq!(kinds[0], LinkKind::Uplink);
    assert_eq!(kinds[1..6], isls);
    assert_eq!(kinds[6..], [LinkKind::Downlink]);
    // The SYN leaves at 1 s; 40 B, and 16 B more on the air, twice at 1.5 Mbit/s and five times at 25 Mbit/s.
    let later = topology.path(a, b, at(1)).unwrap();
    let serialisation_ms = 56.0 * 8.0 * (2.0 / 1.5e6 + 5.0 / 25e6) * 1e3;
    let syn_ms = later.delay.as_secs_f64() * 1e3 + serialisation_ms;
    assert!((78.35..78.45).contains(&syn_ms), "{syn_ms} ms");
    assert_eq!(path.delay, path.hops.iter().fold(Duration::ZERO, |sum, hop| sum + hop.delay));
    assert!(path.hops[0].elevation.unwrap().degrees() > 8.2 && path.hops[6].elevation.unwrap().degrees() > 8.2);
    assert!(path.hops[1].elevation.is_none());
    for hop in &path.hops {
        assert!((780.0..5872.8).contains(&hop.range.unwrap().km()), "longest ISL: algorithms.md 5.3");
    }
}

#[test]
fn routes_are_the_path() {
    let v = vector("iridium_berkeley_chennai");
    let mut topology = between(&v, "berkeley", "chennai");
    let ends = [node(&topology, "chennai"), node(&topology, "berkeley")];
    let mut forwarding = skyhop_topology::Forwarding::default();
    for step in 0..100 {
        let now = at(37 * step);
        run_to(&mut topology, now);
        topology.routes(&ends, now, &mut forwarding);
        for (index, (to, from)) in [(ends[0], ends[1]), (ends[1], ends[0])].into_iter().enumerate() {
            let path = topology.path(from, to, now).unwrap();
            let mut at = from;
            for hop in &path.hops {
                let next = forwarding.next_hop(index, at).unwrap();
                assert_eq!((next.link, next.to), (hop.link, hop.to));
                at = next.to;
                // What the simulator uses for this hop agrees to the rounding.
                let segment = topology.delay_segment(hop.from, hop.to, now).at(now);
                assert!(segment.as_nanos().abs_diff(hop.delay.as_nanos()) <= 1);
            }
            assert_eq!(at, to);
            assert_eq!(forwarding.next_hop(index, to), None);
        }
    }
}

#[test]
fn an_orbit_of_changes() {
    let v = vector("iridium_berkeley_chennai");
    let mut topology = between(&v, "berkeley", "chennai");
    let count = |topology: &Topology, kind| {
        topology.links().enumerated().filter(|(id, link)| link.kind == kind && topology.is_up(*id)).count()
    };
    let first = run_to(&mut topology, Time::ZERO);
    assert_eq!(first.last(), Some(&Change::Routes));
    // Two directions along each of 6 rings of 11; between 5 pairs of planes those of 11 that are below 60°, which is
    // two thirds of a ring: |u| < asin(sin 60° / sin 86.4°) = 60.2° of 90°.
    assert_eq!(topology.links().iter().filter(|link| link.kind == LinkKind::Isl).count(), 2 * (66 + 55));
    let mut between_planes = 0;
    for step in 0..603 {
        run_to(&mut topology, at(10 * step));
        between_planes += count(&topology, LinkKind::Isl) - 2 * 66;
        assert_eq!(count(&topology, LinkKind::Uplink), 2);
        assert!((1..=2).contains(&count(&topology, LinkKind::Downlink)));
    }
    // An end half a spacing (16.4°) ahead is beyond the limit while the other is not yet: both are below it for
    // 4 · 60.2° − 2 · 16.4° of 360°, which is 57.8 % of 110.
    let share = between_planes as f64 / 603.0 / 110.0;
    assert!((0.56..0.60).contains(&share), "{share}");
}
