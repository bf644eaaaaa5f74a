//! Satellites of October 2025 from their published elements. The files are not part of the project; without them the
//! tests are skipped.

use crate::common::*;
use skyhop_base::{Duration, Length, Stream, Time};
use skyhop_orbit::{Catalogue, Earth, SkyIndex, Utc, Vec3, earth_fixed_positions, read_elements};
use skyhop_topology::{
    CheckTimes, GslRules, HandoverPolicy, IslLayout, IslOptions, IslRules, NodeId, NodeKind, NodeSpec, SkyOptions,
    Topology, TopologySpec,
};
use std::io::Write;

fn catalogue(name: &str) -> Option<Catalogue> {
    let path = format!("{}/../../../shared/data/tle/{name}", env!("CARGO_MANIFEST_DIR"));
    let Ok(bytes) = std::fs::read(&path) else {
        // Not by a macro: the harness holds back what those write, and nobody would count this test as skipped.
        let _ = writeln!(std::io::stderr(), "\nskipped: {name} is not here");
        return None;
    };
    let file = read_elements(&bytes);
    assert_eq!(file.problems, []);
    let start: Utc = "2025-10-07T12:00:00".parse().unwrap();
    Some(Catalogue::new(&file.sets, start, Catalogue::OLDEST))
}

fn nodes(catalogue: &Catalogue) -> Vec<NodeSpec> {
    let node = |s: &skyhop_orbit::Satellite| NodeSpec {
        name: s.name.clone(),
        kind: NodeKind::Satellite { orbit: s.orbit, plane: s.plane, slot: s.slot, shell: 0 },
    };
    catalogue.satellites.iter().map(node).collect()
}

fn gsl(mask: f64, policy: HandoverPolicy, check_times: CheckTimes) -> Option<GslRules> {
    Some(GslRules { elevation_mask: degrees(mask), policy, every: Duration::from_secs(15), check_times })
}

#[test]
fn catalogues_are_read_in_full() {
    for (name, count) in [("starlink", 8451), ("oneweb", 651), ("iridium_next", 80)] {
        let Some(catalogue) = catalogue(&format!("{name}-2025-10.tle")) else { return };
        // The README beside the files counts them; all were in orbit on that day, and their elements fresh.
        assert_eq!((catalogue.satellites.len(), catalogue.notes.len()), (count, 0), "{name}");
    }
}

#[test]
fn thousands_of_satellites_are_found_by_index_as_by_looking_at_all() {
    let Some(catalogue) = catalogue("starlink-2025-10.tle") else { return };
    let earth = Earth::WGS84;
    let motions: Vec<_> = catalogue.satellites.iter().map(|s| s.orbit.motion(&earth)).collect();
    let mut stream = Stream::new(2, "stations", "test");
    let (mut index, mut found, mut seen) = (SkyIndex::default(), Vec::new(), 0);
    for round in 0..4 {
        let positions: Vec<Vec3> = earth_fixed_positions(&earth, motions.iter(), at(round * 1000)).collect();
        index.renew(&positions, 0..positions.len() as u32);
        for n in 0..250 {
            let place = station("x", 180.0 * stream.uniform() - 90.0, 360.0 * stream.uniform());
            let NodeKind::Station(place) = place.kind else { unreachable!("a station") };
            let site = place.site(&earth);
            let sin_mask = libm::sin([25.0_f64, 5.0, 0.0, 40.0][n % 4].to_radians());
            index.visible(&site, sin_mask, &positions, &mut found);
            let sees = |n: &u32| site.sin_elevation(positions[*n as usize]) > sin_mask;
            assert_eq!(found, (0..positions.len() as u32).filter(sees).collect::<Vec<_>>());
            seen += found.len();
        }
    }
    assert!(seen > 50_000, "{seen}");
}

#[test]
fn delays_to_real_satellites_stay_within_half_a_nanosecond() {
    let Some(catalogue) = catalogue("iridium_next-2025-10.tle") else { return };
    let mut nodes = nodes(&catalogue);
    nodes.truncate(12);
    nodes.push(station("palermo", 38.12, 13.36));
    let policy = HandoverPolicy::HighestElevation;
    let spec =
        TopologySpec { earth: Earth::WGS84, isl: None, gsl: gsl(8.2, policy, CheckTimes::Regular), ..network(nodes) };
    let topology = Topology::new(spec).unwrap();
    let station = NodeId::new(12);
    let mut worst: f64 = 0.0;
    for satellite in (0..12).map(NodeId::new) {
        for other in [station, NodeId::new((satellite.as_u32() + 5) % 12)] {
            let (mut t, end) = (at(3000), at(3120));
            let mut last = None;
            while t < end {
                let segment = topology.delay_segment(satellite, other, t);
                assert!(last.is_none_or(|last| last == segment.from), "segments join");
                let length = segment.until.since(segment.from).as_nanos();
                for fifth in 0..5 {
                    let t = segment.from + Duration::from_nanos(length * fifth / 5);
                    let [a, b] = [satellite, other].map(|node| topology.position(node, t).unwrap());
                    let exact = Earth::WGS84.light_time_ns((a - b).norm());
                    worst = worst.max((segment.at(t).as_nanos() as f64 - exact).abs());
                }
                (t, last) = (segment.until, Some(segment.until));
            }
        }
    }
    assert!(worst > 0.0 && worst <= 1.0, "half a nanosecond of error and half of rounding: {worst}");
}

#[test]
fn iridium_next_carries_packets_around_the_world() {
    let Some(catalogue) = catalogue("iridium_next-2025-10.tle") else { return };
    let mut nodes = nodes(&catalogue);
    let satellites = nodes.len() as u32;
    nodes.extend([station("berkeley", 37.9, -122.3), station("chennai", 13.04, 80.17)]);
    let [berkeley, chennai] = [satellites, satellites + 1].map(NodeId::new);
    let spec = TopologySpec {
        earth: Earth::WGS84,
        isl: Some(IslRules { latitude_limit: None, ..IslRules::iridium() }),
        gsl: gsl(8.2, HandoverPolicy::LongestVisibility, CheckTimes::Exact),
        ..network(nodes)
    };
    let isl = IslOptions {
        layout: IslLayout::Nearest { links: 4 },
        longest: Some(Length::from_km(4500.0)),
        ..IslOptions::default()
    };
    let mut topology = Topology::with_options(spec, SkyOptions { isl, ..SkyOptions::default() }).unwrap();
    let (mut paths, mut steps) = (Vec::new(), 0);
    let mut changes = Vec::new();
    while topology.next_change() < at(6000) {
        let now = topology.next_change();
        topology.advance(now, &mut changes);
        steps += 1;
        paths.extend(topology.path(berkeley, chennai, now).map(|path| path.delay.as_secs_f64() * 1e3));
    }
    // The constellation covers the Earth at 8.2°, spares and all; nearest neighbours nearly always join it up. No way
    // above the ground is shorter than the great circle's 46.37 ms (algorithms.md §5.7).
    assert!(paths.len() * 10 > steps * 9, "{} of {steps}", paths.len());
    assert!(paths.iter().all(|ms| (46.37..160.0).contains(ms)), "{paths:?}");
    for handover in handovers(&changes).iter().filter(|handover| handover.from.is_some()) {
        let elevation = |t| topology.look(handover.terminal, handover.from.unwrap(), t).unwrap().elevation.degrees();
        let before = Time::from_nanos(handover.at.as_nanos() - 2_000);
        assert!(elevation(handover.at) <= 8.2 && elevation(before) > 8.2, "{handover:?}");
    }
    assert!(handovers(&changes).len() > 12);
}
