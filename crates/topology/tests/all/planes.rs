//! The +Grid over satellites from elements: it is that of the shell from which the elements are made, whatever the
//! order, the epochs and the strays of the catalogue.

use crate::common::*;
use skyhop_base::{Angle, Duration, Length, Stream};
use skyhop_orbit::{
    Catalogue, Earth, LeftOut, MeanElements, Orbit, Pattern, Phasing, Place, Planes, Satellite, Utc, Walker,
};
use skyhop_topology::{
    CrossSeam, IslLayout, IslOptions, IslRules, LinkKind, NodeId, NodeKind, NodeSpec, PlaneNeighbours, SkyOptions,
    Topology, TopologyError, TopologySpec,
};
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::TAU;

pub fn start() -> Utc {
    "2025-10-07T12:00:00".parse().unwrap()
}

fn delta(planes: u32, per_plane: u32, km: f64, inclination: f64, phasing: u32) -> Walker {
    Walker {
        name: "s".to_owned(),
        pattern: Pattern::Delta,
        planes,
        per_plane,
        altitude: Length::from_km(km),
        inclination: degrees(inclination),
        phasing: Phasing::Factor(phasing),
        raan_spacing: None,
    }
}

/// Kozai's mean motion for this mean altitude, by the first correction (Spacetrack Report No. 3).
fn mean_motion(km: f64, inclination: f64) -> f64 {
    let axis = 1.0 + km / 6378.135;
    let motion = (398_600.8_f64 / (axis * 6378.135).powi(3)).sqrt();
    let cos = inclination.to_radians().cos();
    let kozai = motion * (1.0 + 0.75 * 0.001_082_616 * (3.0 * cos * cos - 1.0) / (axis * axis));
    kozai * 86_400.0 / TAU
}

/// Elements of a circular orbit whose node and phase are these at the start, and which were published `days` before.
/// The rates are Vallado's first-order ones (Fundamentals of Astrodynamics and Applications, 9.6).
pub fn element(number: u32, km: f64, inclination: f64, raan: f64, phase: f64, days: f64) -> MeanElements {
    let axis = 1.0 + km / 6378.135;
    let per_day = (398_600.8_f64 / (axis * 6378.135).powi(3)).sqrt() * 86_400.0 * 360.0 / TAU;
    let (sin, cos) = inclination.to_radians().sin_cos();
    let oblate = 0.75 * 0.001_082_616 * per_day / (axis * axis);
    let node_rate = -2.0 * oblate * cos;
    let phase_rate = per_day + oblate * (4.0 - 5.0 * sin * sin) + oblate * (2.0 - 3.0 * sin * sin);
    let earlier: Utc = "2025-09-27T12:00:00".parse().unwrap();
    let later = Duration::from_secs_f64((10.0 - days) * 86_400.0);
    MeanElements {
        catalogue_number: number,
        epoch: earlier.after(at(0) + later),
        mean_motion: mean_motion(km, inclination),
        eccentricity: 0.000_1,
        inclination: degrees(inclination),
        raan: degrees((raan - node_rate * days).rem_euclid(360.0)),
        argument_of_perigee: degrees(0.0),
        mean_anomaly: degrees((phase - phase_rate * days).rem_euclid(360.0)),
        drag: 0.0,
    }
}

pub fn satellite(name: &str, elements: MeanElements) -> Satellite {
    Satellite { name: name.to_owned(), plane: 0, slot: 0, orbit: Orbit::Elements { elements, start: start() } }
}

/// A shell as a catalogue would have it: epochs within two days, in an order of chance.
fn published(walker: &Walker, stream: &mut Stream) -> Vec<Satellite> {
    let mut satellites = Vec::new();
    for (number, one) in (40_000..).zip(walker.satellites().unwrap()) {
        let Orbit::Circular(orbit) = one.orbit else { unreachable!("Walker") };
        let [raan, phase] = [orbit.raan, orbit.argument_of_latitude].map(Angle::degrees);
        // Published nodes count from the equinox, so all may be turned.
        let raan = raan + 77.0;
        let days = 2.0 * stream.uniform();
        let elements = element(number, orbit.altitude.km(), orbit.inclination.degrees(), raan, phase, days);
        satellites.push(satellite(&one.name, elements));
    }
    shuffle(&mut satellites, stream);
    satellites
}

/// A shell of one altitude, as a catalogue would have it.
pub fn published_delta(planes: u32, per_plane: u32, stream: &mut Stream) -> Vec<Satellite> {
    published(&delta(planes, per_plane, 550.0, 53.0, 4), stream)
}

/// All satellites as one shell of planes in the order of the list.
pub fn one_shell(satellites: &[Satellite], per_plane: u32) -> Vec<NodeSpec> {
    let spec = |(n, one): (u32, &Satellite)| {
        let (plane, slot) = (n / per_plane, n % per_plane);
        let kind = NodeKind::Satellite { orbit: one.orbit, plane, slot, shell: 0 };
        NodeSpec { name: one.name.clone(), kind }
    };
    (0..).zip(satellites).map(spec).collect()
}

fn shuffle<T>(list: &mut [T], stream: &mut Stream) {
    for n in (1..list.len()).rev() {
        list.swap(n, (stream.uniform() * (n + 1) as f64) as usize);
    }
}

pub fn nodes_of(satellites: &[Satellite], planes: &Planes) -> Vec<NodeSpec> {
    let mut nodes = Vec::new();
    for (shell, found) in (0..).zip(&planes.shells) {
        for (plane, members) in (0..).zip(&found.planes) {
            for (slot, &n) in (0..).zip(&members.members) {
                let kind = NodeKind::Satellite { orbit: satellites[n].orbit, plane, slot, shell };
                nodes.push(NodeSpec { name: satellites[n].name.clone(), kind });
            }
        }
    }
    nodes
}

pub fn rules(cross_seam: CrossSeam) -> IslRules {
    let grazing_altitude = Length::from_km(0.0);
    IslRules { cross_seam, latitude_limit: None, grazing_altitude, every: Duration::from_secs(10) }
}

fn topology(nodes: Vec<NodeSpec>, layout: IslLayout, cross_seam: CrossSeam) -> Result<Topology, TopologyError> {
    let spec = TopologySpec { earth: Earth::WGS84, isl: Some(rules(cross_seam)), gsl: None, ..network(nodes) };
    let isl = IslOptions { layout, ..IslOptions::default() };
    Topology::with_options(spec, SkyOptions { isl, ..SkyOptions::default() })
}

/// Linked satellites by name.
fn pairs(topology: &Topology) -> BTreeSet<[String; 2]> {
    let name = |node: NodeId| topology.nodes()[node].name.clone();
    let isls = topology.links().iter().filter(|link| link.kind == LinkKind::Isl);
    isls.map(|link| {
        let mut pair = [name(link.from), link.to.map_or("seam".to_owned(), name)];
        pair.sort();
        pair
    })
    .collect()
}

fn found_grid(satellites: &[Satellite], cross_seam: CrossSeam) -> BTreeSet<[String; 2]> {
    let planes = Planes::find(satellites);
    let layout = IslLayout::Planes(PlaneNeighbours::ByPhase);
    pairs(&topology(nodes_of(satellites, &planes), layout, cross_seam).unwrap())
}

fn shell_grid(walker: &Walker, cross_seam: CrossSeam) -> BTreeSet<[String; 2]> {
    pairs(&topology(shell(walker, 0), IslLayout::Grid, cross_seam).unwrap())
}

#[test]
fn the_grid_of_published_elements_is_that_of_their_shell() {
    let mut stream = Stream::new(4, "catalogues", "test");
    let iridium = Walker { name: "s".to_owned(), ..Walker::iridium() };
    let shells = [
        delta(72, 22, 550.0, 53.0, 3),
        delta(34, 34, 630.0, 51.9, 7),
        delta(24, 5, 1200.0, 70.0, 0),
        delta(12, 9, 1400.0, 52.0, 5),
        delta(3, 4, 8000.0, 55.0, 1),
        iridium,
    ];
    for walker in shells {
        let satellites = published(&walker, &mut stream);
        let planes = Planes::find(&satellites);
        assert_eq!(planes.left_out, []);
        assert_eq!(planes.shells.len(), 1, "{walker:?}");
        assert_eq!(planes.shells[0].planes.len() as u32, walker.planes);
        for cross_seam in [CrossSeam::Open, CrossSeam::Nearest] {
            let (found, wanted) = (found_grid(&satellites, cross_seam), shell_grid(&walker, cross_seam));
            let missing: Vec<_> = wanted.difference(&found).take(5).collect();
            let other: Vec<_> = found.difference(&wanted).take(5).collect();
            assert!(found == wanted, "{walker:?}: missing {missing:?}, instead {other:?}");
        }
    }
}

#[test]
fn the_order_of_the_file_changes_nothing() {
    let mut stream = Stream::new(5, "catalogues", "test");
    let mut satellites = published(&delta(20, 11, 550.0, 53.0, 4), &mut stream);
    // Holes, so that the planes are uneven, and strays.
    satellites.retain(|_| stream.uniform() < 0.85);
    for number in 0..40 {
        let (km, raan, phase) = (350.0 + 5.0 * f64::from(number), 360.0 * stream.uniform(), 360.0 * stream.uniform());
        satellites.push(satellite(&format!("stray-{number}"), element(50_000 + number, km, 53.0, raan, phase, 1.0)));
    }
    let (grid, names) = (found_grid(&satellites, CrossSeam::Open), left_out(&satellites));
    for _ in 0..5 {
        shuffle(&mut satellites, &mut stream);
        assert_eq!(found_grid(&satellites, CrossSeam::Open), grid);
        assert_eq!(left_out(&satellites), names);
    }
}

fn left_out(satellites: &[Satellite]) -> BTreeMap<String, String> {
    let planes = Planes::find(satellites);
    planes.left_out.iter().map(|(n, why)| (satellites[*n].name.clone(), why.to_string())).collect()
}

#[test]
fn satellites_that_belong_to_no_plane_are_left_out_with_the_reason() {
    let mut stream = Stream::new(6, "catalogues", "test");
    let mut satellites = published(&delta(18, 12, 550.0, 53.0, 1), &mut stream);
    let mut add = |name: &str, km: f64, inclination: f64, raan: f64, eccentricity: f64| {
        let number = 60_000 + satellites.len() as u32;
        let elements = MeanElements { eccentricity, ..element(number, km, inclination, raan, 100.0, 0.5) };
        satellites.push(satellite(name, elements));
    };
    add("raising", 480.0, 53.0, 97.0, 0.0001);
    add("molniya", 550.0, 53.0, 97.0, 0.7);
    add("polar", 550.0, 90.0, 97.0, 0.0001);
    // Half-way between two planes, which are 20° apart.
    add("between", 550.0, 53.0, 87.0, 0.0001);
    // A batch of a launch, in one plane and much too low.
    for n in 0..20 {
        add(&format!("batch-{n}"), 330.0, 53.0, 140.0, 0.0001);
    }
    let planes = Planes::find(&satellites);
    assert_eq!(planes.shells.len(), 1);
    assert!(planes.shells[0].planes.iter().all(|plane| plane.members.len() == 12));
    let reasons = left_out(&satellites);
    assert_eq!(reasons.len(), 24);
    assert_eq!(reasons["raising"], "70.0 km below shell 53.0-550");
    assert_eq!(reasons["batch-7"], "220.0 km below shell 53.0-550");
    assert_eq!(reasons["molniya"], "eccentricity 0.700");
    assert_eq!(reasons["polar"], "no shell at 90.00 deg");
    assert_eq!(reasons["between"], "alone at its node in shell 53.0-550");
    let counts = planes.counts();
    assert_eq!(counts[0].1, 21, "{counts:?}");
    assert_eq!(counts.iter().map(|(_, count)| count).sum::<usize>(), 24);
}

#[test]
fn uneven_planes_link_nearly_all_of_the_smaller_one_to_neighbours_in_phase() {
    let mut stream = Stream::new(7, "catalogues", "test");
    let mut satellites = published(&delta(24, 15, 550.0, 53.0, 5), &mut stream);
    satellites.retain(|_| stream.uniform() < 0.7);
    let planes = Planes::find(&satellites);
    let nodes = nodes_of(&satellites, &planes);
    let home: BTreeMap<String, (u32, f64)> = nodes
        .iter()
        .map(|node| match node.kind {
            NodeKind::Satellite { orbit, plane, .. } => {
                (node.name.clone(), (plane, Place::of(&orbit).unwrap().phase_deg))
            }
            _ => unreachable!("satellites"),
        })
        .collect();
    let grid = found_grid(&satellites, CrossSeam::Open);
    let mut between: BTreeMap<[u32; 2], Vec<[f64; 2]>> = BTreeMap::new();
    for pair in &grid {
        let [a, b] = [0, 1].map(|end| home[&pair[end]]);
        if a.0 != b.0 {
            let (low, high) = if a.0 < b.0 { (a, b) } else { (b, a) };
            between.entry([low.0, high.0]).or_default().push([low.1, high.1]);
        }
    }
    let sizes: Vec<usize> = planes.shells[0].planes.iter().map(|plane| plane.members.len()).collect();
    assert_eq!(between.len(), 24, "each plane and the next, and the last and the first");
    let (mut linked, mut possible) = (0, 0);
    for (ends, links) in &between {
        let few = ends.map(|plane| sizes[plane as usize]).into_iter().min().unwrap();
        linked += links.len();
        possible += few;
        assert!(links.len() <= few);
        let apart = links.iter().map(|[a, b]| ((b - a + 180.0).rem_euclid(360.0) - 180.0).abs());
        assert!(apart.fold(0.0, f64::max) <= 360.0 / few as f64, "{ends:?} {links:?}");
    }
    assert!(linked * 10 > possible * 9, "{linked} of {possible}");
}

#[test]
fn slots_of_a_file_join_satellites_of_the_same_number() {
    let mut stream = Stream::new(8, "catalogues", "test");
    let walker = delta(6, 7, 1000.0, 60.0, 1);
    let mut satellites = published(&walker, &mut stream);
    satellites.sort_by(|a, b| a.name.cmp(&b.name));
    let part = |name: &str, n: usize| name.split('-').nth(n).unwrap().parse::<u32>().unwrap();
    // Numbers with gaps: only their order and their equality count.
    let kind = |s: &Satellite| NodeKind::Satellite {
        orbit: s.orbit,
        plane: 10 * part(&s.name, 1),
        slot: 3 * part(&s.name, 2),
        shell: 0,
    };
    let nodes = satellites.iter().map(|s| NodeSpec { name: s.name.clone(), kind: kind(s) }).collect();
    let found = topology(nodes, IslLayout::Planes(PlaneNeighbours::BySlot), CrossSeam::Open).unwrap();
    assert_eq!(pairs(&found), shell_grid(&walker, CrossSeam::Open));
}

#[test]
fn slots_in_any_order_close_the_shell_by_phase() {
    let mut stream = Stream::new(9, "catalogues", "test");
    let mut satellites = published(&delta(6, 7, 1000.0, 60.0, 1), &mut stream);
    satellites.sort_by(|a, b| a.name.cmp(&b.name));
    let part = |name: &str, n: usize| name.split('-').nth(n).unwrap().parse::<u32>().unwrap();
    // Links between the last plane and the first, with the slots of a file that come in this order of flight.
    let closing = |slots: [u32; 7]| -> BTreeSet<[String; 2]> {
        let kind = |s: &Satellite| NodeKind::Satellite {
            orbit: s.orbit,
            plane: part(&s.name, 1),
            slot: slots[part(&s.name, 2) as usize],
            shell: 0,
        };
        let nodes = satellites.iter().map(|s| NodeSpec { name: s.name.clone(), kind: kind(s) }).collect();
        let found = topology(nodes, IslLayout::Planes(PlaneNeighbours::BySlot), CrossSeam::Open).unwrap();
        pairs(&found).into_iter().filter(|[a, b]| part(a, 1) == 0 && part(b, 1) == 5).collect()
    };
    let in_order = closing([0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(in_order.len(), 7);
    assert_eq!(closing([6, 5, 4, 3, 2, 1, 0]), in_order);
    assert_eq!(closing([3, 0, 5, 1, 6, 2, 4]), in_order);
}

#[test]
fn real_catalogues_fall_into_their_planes() {
    let read = |name: &str| {
        let path = format!("{}/../../../shared/data/tle/{name}-2025-10.tle", env!("CARGO_MANIFEST_DIR"));
        let Ok(bytes) = std::fs::read(&path) else {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "\nskipped: {name}-2025-10.tle is not here");
            return None;
        };
        Some(Catalogue::new(&skyhop_orbit::read_elements(&bytes).sets, start(), Catalogue::OLDEST).satellites)
    };
    let shells = |satellites: &[Satellite]| -> Vec<(String, usize, usize)> {
        let size = |shell: &skyhop_orbit::FoundShell| shell.planes.iter().map(|plane| plane.members.len()).sum();
        let found = Planes::find(satellites);
        found.shells.iter().map(|shell| (shell.name.clone(), shell.planes.len(), size(shell))).collect()
    };
    // 6 planes of 11 with one spare among them; 12 planes; 72 planes at 540 km and at 550 km (FCC 21-48).
    let Some(iridium) = read("iridium_next") else { return };
    assert_eq!(shells(&iridium), [("86.4-775".to_owned(), 6, 67)]);
    let Some(oneweb) = read("oneweb") else { return };
    let found = shells(&oneweb);
    assert_eq!((found.len(), found[0].1), (1, 12), "{found:?}");
    let Some(starlink) = read("starlink") else { return };
    let found = shells(&starlink);
    // The largest shell is whole; the first of all has lost some of its planes by now.
    assert_eq!((found[0].0.as_str(), found[0].1), ("53.2-540", 72), "{found:?}");
    let first = found.iter().find(|shell| shell.0 == "53.1-547").unwrap();
    assert!((60..=72).contains(&first.1), "{found:?}");
    let within: usize = found.iter().map(|shell| shell.2).sum();
    assert!(within * 10 > starlink.len() * 9, "{within} of {}", starlink.len());
    let left_out = Planes::find(&starlink).left_out;
    assert_eq!(within + left_out.len(), starlink.len());
    assert!(left_out.iter().any(|(_, why)| matches!(why, LeftOut::OffAltitude { .. })));
}
