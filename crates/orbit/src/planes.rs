//! Orbital planes in a catalogue: which of its satellites fly one behind the other, which planes are neighbours, and
//! which satellites belong to none.
//!
//! Published elements name no plane. Satellites of one shell share inclination and altitude, and therefore the drift of
//! their nodes; satellites of one plane share the node besides. Everything is compared at one instant, the start of the
//! simulation, so that different epochs of the elements do not matter. The answer does not depend on the order of the
//! satellites.

use crate::{MeanElements, Orbit, Propagator, Satellite, Utc};
use skyhop_base::Time;
use std::f64::consts::{PI, TAU};
use std::fmt;

/// WGS 72, to which elements are fitted (AIAA 2006-6753, appendix C).
const MU_KM3_S2: f64 = 398_600.8;
const RADIUS_KM: f64 = 6378.135;
const J2: f64 = 0.001_082_616;

/// Above this the phase of a satellite runs up to 6° ahead of a uniform motion and as much behind (2e).
const MOST_ECCENTRIC: f64 = 0.05;
/// Satellites of a shell are so close to its median. In the catalogues of October 2025, 98 of 100 satellites of the
/// large shells of Starlink are within 0.015° and 0.6 km.
const SHELL_INCLINATION_DEG: f64 = 0.05;
const SHELL_ALTITUDE_KM: f64 = 1.5;
/// Planes of one shell may differ by so much. OneWeb's are 4 km apart in altitude, so that its satellites cannot meet
/// over the poles. The drift of a node against its neighbour then decides: 0.002° a day is less than 1° in a year.
const JOINED_INCLINATION_DEG: f64 = 0.1;
const JOINED_DRIFT_DEG_PER_DAY: f64 = 0.002;
/// Nodes of one plane have no larger gap. Starlink's planes spread over up to 0.9°, and the closest are 2.6° apart.
const PLANE_GAP_DEG: f64 = 1.0;
/// A wider group of nodes is more than one plane: the gap is halved, down to the least.
const PLANE_SPREAD_DEG: f64 = 4.0;
const LEAST_PLANE_GAP_DEG: f64 = 0.03;
/// Two satellites make no ring.
const LEAST_IN_PLANE: usize = 3;
/// A plane with a smaller share of what planes of its shell usually have would be a gap in the grid.
const THIN_PLANE: f64 = 1.0 / 3.0;
/// Satellites of so few planes this close in inclination to a larger shell are on their way to it or from it.
const FEW_PLANES: usize = 2;
const SAME_FAMILY_DEG: f64 = 1.5;
/// Below this inclination the node has no meaning.
const EQUATORIAL_DEG: f64 = 0.1;

/// How a satellite from elements flies at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Mean altitude above the equatorial radius.
    pub altitude_km: f64,
    pub inclination_deg: f64,
    /// Right ascension of the ascending node, 0 to 360°; 0 for equatorial orbits.
    pub node_deg: f64,
    /// Angle from the ascending node to the satellite in the direction of flight, 0 to 360°; for equatorial orbits its
    /// right ascension.
    pub phase_deg: f64,
    /// Drift of the node by the oblateness.
    pub drift_deg_per_day: f64,
}

/// Satellites that fly one behind the other.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundPlane {
    /// Their median node.
    pub node_deg: f64,
    /// Their median altitude.
    pub altitude_km: f64,
    /// Indices into the list that was searched, in the order of flight: each is ahead of the one before.
    pub members: Vec<usize>,
}

/// Planes with one inclination whose nodes drift together.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundShell {
    /// Inclination and altitude: `53.2-540`. Shells that would share a name are told apart by `-2`, `-3`.
    pub name: String,
    pub inclination_deg: f64,
    pub altitude_km: f64,
    /// By ascending node; the last is a neighbour of the first.
    pub planes: Vec<FoundPlane>,
}

/// Why a satellite belongs to no plane.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LeftOut {
    /// Its orbit is far from a circle.
    Eccentric { eccentricity: f64 },
    /// It flies at another altitude than the shell with the nearest inclination and altitude: it is being raised or
    /// lowered, or drifts to another plane. Positive: above the shell.
    OffAltitude { shell: String, km: f64 },
    /// No shell has its inclination.
    OtherInclination { inclination_deg: f64 },
    /// It flies in a shell, but too few others share its node: fewer than three, or than a third of what planes of the
    /// shell have.
    Alone { shell: String, together: usize },
    /// The nodes around its own are spread so evenly that no plane can be told from the next.
    NoGap { shell: String },
    /// The elements describe no motion at the instant.
    NoPosition,
}

impl FoundShell {
    /// Works out inclination, altitudes and nodes from the members, which are indices into `satellites`.
    pub fn measure(&mut self, satellites: &[Satellite]) {
        let mut all: Vec<Place> = Vec::new();
        for plane in &mut self.planes {
            let places: Vec<Place> =
                plane.members.iter().filter_map(|&n| Place::of(&satellites.get(n)?.orbit)).collect();
            plane.node_deg = median_node(places.iter().map(|place| place.node_deg));
            plane.altitude_km = median(places.iter().map(|place| place.altitude_km).collect());
            all.extend(places);
        }
        self.inclination_deg = median(all.iter().map(|place| place.inclination_deg).collect());
        self.altitude_km = median(all.iter().map(|place| place.altitude_km).collect());
    }
}

impl LeftOut {
    /// The reason without the satellite's own values, the same for all of a kind.
    pub fn kind(&self) -> &'static str {
        match self {
            LeftOut::Eccentric { .. } => "eccentric orbit",
            LeftOut::OffAltitude { .. } => "at another altitude than its shell (being raised or lowered, or drifting)",
            LeftOut::OtherInclination { .. } => "no shell of its inclination",
            LeftOut::Alone { .. } => "too few others with its node",
            LeftOut::NoGap { .. } => "no gap between planes around its node",
            LeftOut::NoPosition => "no position at the start",
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftOut::Eccentric { eccentricity } => write!(f, "eccentricity {eccentricity:.3}"),
            LeftOut::OffAltitude { shell, km } if *km < 0.0 => write!(f, "{:.1} km below shell {shell}", -km),
            LeftOut::OffAltitude { shell, km } => write!(f, "{km:.1} km above shell {shell}"),
            LeftOut::OtherInclination { inclination_deg } => write!(f, "no shell at {inclination_deg:.2} deg"),
            LeftOut::Alone { shell, together: 1 } => write!(f, "alone at its node in shell {shell}"),
            LeftOut::Alone { shell, together } => write!(f, "{together} together at a node of shell {shell}"),
            LeftOut::NoGap { shell } => write!(f, "no gap between planes of shell {shell}"),
            LeftOut::NoPosition => write!(f, "no position at the start"),
        }
    }
}

/// The planes of a catalogue, and the satellites that are in none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planes {
    /// The largest first.
    pub shells: Vec<FoundShell>,
    /// Indices into the list that was searched, ascending.
    pub left_out: Vec<(usize, LeftOut)>,
}

impl Place {
    /// `None` for other orbits than elements, and where those describe no motion at `t = 0`.
    pub fn of(orbit: &Orbit) -> Option<Place> {
        let Orbit::Elements { elements, start } = orbit else { return None };
        let axis_km = semi_major_axis_km(elements);
        let inclination_deg = elements.inclination.degrees();
        let drift_deg_per_day = drift_deg_per_day(axis_km, inclination_deg, elements.eccentricity);
        let phase_deg = phase_deg(elements, *start)?;
        let days = start.seconds_since(elements.epoch) / 86_400.0;
        let node_deg = match is_equatorial(inclination_deg) {
            true => 0.0,
            false => turn(elements.raan.degrees() + drift_deg_per_day * days),
        };
        let altitude_km = axis_km - RADIUS_KM;
        Some(Place { altitude_km, inclination_deg, node_deg, phase_deg, drift_deg_per_day })
    }
}

/// The phase of a satellite from elements over time, as [`Place::phase_deg`] has it at the start.
#[derive(Clone, Debug)]
pub struct PhaseInFlight {
    propagator: Propagator,
    inclination_deg: f64,
    start: Utc,
}

impl PhaseInFlight {
    /// `None` for other orbits than elements, and where those describe no orbit.
    pub fn of(orbit: &Orbit) -> Option<PhaseInFlight> {
        let Orbit::Elements { elements, start } = orbit else { return None };
        let propagator = elements.propagator().ok()?;
        Some(PhaseInFlight { propagator, inclination_deg: elements.inclination.degrees(), start: *start })
    }

    /// In degrees, 0 to 360; `None` when the orbit has ended by then.
    pub fn at(&self, t: Time) -> Option<f64> {
        phase_in_flight(&self.propagator, self.inclination_deg, self.start.after(t))
    }
}

fn is_equatorial(inclination_deg: f64) -> bool {
    !(EQUATORIAL_DEG..=180.0 - EQUATORIAL_DEG).contains(&inclination_deg)
}

/// Into 0 to 360°.
fn turn(degrees: f64) -> f64 {
    let turned = degrees.rem_euclid(360.0);
    if turned < 360.0 { turned } else { 0.0 }
}

/// Brouwer's semi-major axis from Kozai's mean motion (Spacetrack Report No. 3, section 6).
fn semi_major_axis_km(elements: &MeanElements) -> f64 {
    let cos_i = libm::cos(elements.inclination.radians());
    let beta2 = 1.0 - elements.eccentricity * elements.eccentricity;
    let kozai = elements.mean_motion * TAU / 86_400.0;
    let k = 0.75 * J2 * (3.0 * cos_i * cos_i - 1.0) / (beta2 * beta2.sqrt());
    let axis = |motion: f64| libm::cbrt(MU_KM3_S2 / (motion * motion)) / RADIUS_KM;
    let a1 = axis(kozai);
    let d = k / (a1 * a1);
    let a2 = a1 * (1.0 - d * (1.0 / 3.0 + d * (1.0 + 134.0 * d / 81.0)));
    axis(kozai / (1.0 + k / (a2 * a2))) * RADIUS_KM
}

/// Secular drift of the node, first order in J2 (Vallado, "Fundamentals of Astrodynamics and Applications", 9.6.1).
fn drift_deg_per_day(axis_km: f64, inclination_deg: f64, eccentricity: f64) -> f64 {
    let p = axis_km * (1.0 - eccentricity * eccentricity) / RADIUS_KM;
    let motion = (MU_KM3_S2 / (axis_km * axis_km * axis_km)).sqrt();
    -1.5 * J2 / (p * p) * motion * libm::cos(inclination_deg.to_radians()) * (180.0 / PI) * 86_400.0
}

fn phase_deg(elements: &MeanElements, start: Utc) -> Option<f64> {
    phase_in_flight(&elements.propagator().ok()?, elements.inclination.degrees(), start)
}

fn phase_in_flight(propagator: &Propagator, inclination_deg: f64, at: Utc) -> Option<f64> {
    let (r, v) = propagator.teme(at)?;
    if is_equatorial(inclination_deg) {
        return Some(turn(libm::atan2(r.y, r.x).to_degrees()));
    }
    let pole = r.cross(v);
    let node = crate::Vec3::new(-pole.y, pole.x, 0.0);
    let ahead = pole.cross(node) * (1.0 / pole.norm());
    Some(turn(libm::atan2(r.dot(ahead), r.dot(node)).to_degrees()))
}

/// The middle one; of an even number the lower.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

/// From one angle to the other, −180 to 180°.
pub fn turn_between(from_deg: f64, to_deg: f64) -> f64 {
    (to_deg - from_deg + 180.0).rem_euclid(360.0) - 180.0
}

/// The median of angles that are close together; also of some on either side of 360°.
fn median_node(mut nodes: impl Iterator<Item = f64>) -> f64 {
    let Some(first) = nodes.next() else { return 0.0 };
    let offs = nodes.map(|node| turn_between(first, node));
    turn(first + median(std::iter::once(0.0).chain(offs).collect()))
}

/// One satellite while planes are looked for.
#[derive(Clone, Copy)]
struct Body {
    index: usize,
    number: u32,
    place: Place,
}

/// Satellites of one inclination and altitude.
struct Cluster {
    bodies: Vec<Body>,
    inclination_deg: f64,
    altitude_km: f64,
}

impl Planes {
    /// Looks for planes among satellites from elements; satellites of other orbits are not looked at.
    pub fn find(satellites: &[Satellite]) -> Planes {
        let mut left_out = Vec::new();
        let mut bodies = Vec::new();
        for (index, satellite) in satellites.iter().enumerate() {
            let Orbit::Elements { elements, .. } = satellite.orbit else { continue };
            match Place::of(&satellite.orbit) {
                _ if elements.eccentricity > MOST_ECCENTRIC => {
                    left_out.push((index, LeftOut::Eccentric { eccentricity: elements.eccentricity }));
                }
                Some(place) => bodies.push(Body { index, number: elements.catalogue_number, place }),
                None => left_out.push((index, LeftOut::NoPosition)),
            }
        }
        let (clusters, strays) = clusters(bodies);
        let mut shells: Vec<(FoundShell, Vec<Body>)> = Vec::new();
        let mut alone: Vec<Vec<(Body, LeftOut)>> = Vec::new();
        for group in joined(clusters) {
            let (shell, members, others) = shell(group);
            alone.push(others);
            shells.push((shell, members));
        }
        // The largest first; of equal ones the lower, so that the order of the file does not matter.
        let size = |shell: &FoundShell| shell.planes.iter().map(|plane| plane.members.len()).sum::<usize>();
        let mut order: Vec<usize> = (0..shells.len()).collect();
        order.sort_by(|&a, &b| {
            let [a, b] = [&shells[a].0, &shells[b].0];
            size(b)
                .cmp(&size(a))
                .then(a.altitude_km.total_cmp(&b.altitude_km))
                .then(a.inclination_deg.total_cmp(&b.inclination_deg))
        });
        let mut kept: Vec<FoundShell> = Vec::new();
        let mut homeless: Vec<Body> = strays;
        for at in order {
            let (shell, members) = &shells[at];
            let near = |kept: &&FoundShell| (kept.inclination_deg - shell.inclination_deg).abs() <= SAME_FAMILY_DEG;
            let on_the_way = shell.planes.len() <= FEW_PLANES && kept.iter().any(|kept| near(&kept));
            if shell.planes.is_empty() || on_the_way {
                homeless.extend(members);
                // The satellites that are too few at a node tell more about themselves where there is another plane.
                homeless.extend(alone[at].iter().map(|(body, _)| *body));
                continue;
            }
            let mut shell = shell.clone();
            let same = kept.iter().filter(|other| other.name == shell.name || is_numbered(&other.name, &shell.name));
            if let count @ 1.. = same.count() {
                shell.name = format!("{}-{}", shell.name, count + 1);
            }
            let renamed = |reason: &LeftOut| match reason {
                LeftOut::Alone { together, .. } => LeftOut::Alone { shell: shell.name.clone(), together: *together },
                LeftOut::NoGap { .. } => LeftOut::NoGap { shell: shell.name.clone() },
                LeftOut::OffAltitude { km, .. } => LeftOut::OffAltitude { shell: shell.name.clone(), km: *km },
                other => other.clone(),
            };
            left_out.extend(alone[at].iter().map(|(body, reason)| (body.index, renamed(reason))));
            kept.push(shell);
        }
        left_out.extend(homeless.into_iter().map(|body| (body.index, why_homeless(&body.place, &kept))));
        left_out.sort_by_key(|(index, _)| *index);
        Planes { shells: kept, left_out }
    }

    /// How many satellites are left out for each kind of reason, the most frequent first.
    pub fn counts(&self) -> Vec<(&'static str, usize)> {
        let mut counts: std::collections::BTreeMap<&'static str, usize> = Default::default();
        for (_, reason) in &self.left_out {
            *counts.entry(reason.kind()).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        counts
    }
}

fn is_numbered(name: &str, stem: &str) -> bool {
    let rest = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('-'));
    rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
}

fn why_homeless(place: &Place, shells: &[FoundShell]) -> LeftOut {
    let off = |shell: &FoundShell| (shell.inclination_deg - place.inclination_deg).abs();
    let near = shells.iter().filter(|shell| off(shell) <= SAME_FAMILY_DEG);
    // Nearest in inclination to a tenth of a degree, then in altitude.
    let key = |shell: &&FoundShell| {
        ((off(shell) * 10.0) as u32, ((shell.altitude_km - place.altitude_km).abs() * 1e3) as u64)
    };
    match near.min_by_key(key) {
        Some(shell) => LeftOut::OffAltitude {
            shell: shell.name.clone(),
            km: shell
                .planes
                .iter()
                .map(|plane| place.altitude_km - plane.altitude_km)
                .min_by(|a, b| a.abs().total_cmp(&b.abs()))
                .unwrap_or(0.0),
        },
        None => LeftOut::OtherInclination { inclination_deg: place.inclination_deg },
    }
}

/// Groups of satellites with one inclination and altitude, from the densest; and those that are in none.
fn clusters(mut bodies: Vec<Body>) -> (Vec<Cluster>, Vec<Body>) {
    let order = |a: &Body, b: &Body| a.place.altitude_km.total_cmp(&b.place.altitude_km).then(a.number.cmp(&b.number));
    bodies.sort_by(order);
    let around = |inclination_deg: f64, altitude_km: f64| {
        let from = bodies.partition_point(|body| body.place.altitude_km < altitude_km - SHELL_ALTITUDE_KM);
        let near = move |body: &Body| (body.place.inclination_deg - inclination_deg).abs() <= SHELL_INCLINATION_DEG;
        let within = bodies[from..].iter().take_while(move |b| b.place.altitude_km <= altitude_km + SHELL_ALTITUDE_KM);
        within.enumerate().filter(move |(_, body)| near(body)).map(move |(n, _)| from + n)
    };
    let counts: Vec<usize> =
        bodies.iter().map(|body| around(body.place.inclination_deg, body.place.altitude_km).count()).collect();
    let mut densest: Vec<usize> = (0..bodies.len()).collect();
    densest.sort_by(|&a, &b| counts[b].cmp(&counts[a]).then(a.cmp(&b)));
    let mut taken = vec![false; bodies.len()];
    let (mut clusters, mut strays) = (Vec::new(), Vec::new());
    for seed in densest {
        if taken[seed] {
            continue;
        }
        let mut centre = (bodies[seed].place.inclination_deg, bodies[seed].place.altitude_km);
        let mut members: Vec<usize> = Vec::new();
        // Around the seed first, then around the median of what is there.
        for _ in 0..2 {
            members = around(centre.0, centre.1).filter(|&n| !taken[n]).collect();
            let of = |value: fn(&Place) -> f64| median(members.iter().map(|&n| value(&bodies[n].place)).collect());
            centre = (of(|place| place.inclination_deg), of(|place| place.altitude_km));
        }
        if members.len() < LEAST_IN_PLANE || !members.contains(&seed) {
            taken[seed] = true;
            strays.push(bodies[seed]);
            continue;
        }
        members.iter().for_each(|&n| taken[n] = true);
        let bodies = members.iter().map(|&n| bodies[n]).collect();
        clusters.push(Cluster { bodies, inclination_deg: centre.0, altitude_km: centre.1 });
    }
    (clusters, strays)
}

/// Groups whose planes stay neighbours, because their nodes drift together, made one.
fn joined(mut clusters: Vec<Cluster>) -> Vec<Vec<Cluster>> {
    clusters
        .sort_by(|a, b| a.altitude_km.total_cmp(&b.altitude_km).then(a.inclination_deg.total_cmp(&b.inclination_deg)));
    let drift = |cluster: &Cluster| drift_deg_per_day(cluster.altitude_km + RADIUS_KM, cluster.inclination_deg, 0.0);
    let belong = |a: &Cluster, b: &Cluster| {
        (a.inclination_deg - b.inclination_deg).abs() <= JOINED_INCLINATION_DEG
            && (drift(a) - drift(b)).abs() <= JOINED_DRIFT_DEG_PER_DAY
    };
    let mut groups: Vec<Vec<Cluster>> = Vec::new();
    for cluster in clusters {
        let (mine, mut others): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| group.iter().any(|other| belong(other, &cluster)));
        let mut group: Vec<Cluster> = mine.into_iter().flatten().collect();
        group.push(cluster);
        others.push(group);
        groups = others;
    }
    groups
}

/// The planes of a shell and their members; and its satellites that are in none.
fn shell(clusters: Vec<Cluster>) -> (FoundShell, Vec<Body>, Vec<(Body, LeftOut)>) {
    let mut bodies: Vec<Body> = clusters.into_iter().flat_map(|cluster| cluster.bodies).collect();
    let inclination_deg = median(bodies.iter().map(|body| body.place.inclination_deg).collect());
    let altitude_km = median(bodies.iter().map(|body| body.place.altitude_km).collect());
    let name = format!("{inclination_deg:.1}-{altitude_km:.0}");
    bodies.sort_by(|a, b| a.place.node_deg.total_cmp(&b.place.node_deg).then(a.number.cmp(&b.number)));
    let (mut groups, mut left_out) = (Vec::new(), Vec::new());
    for (group, is_plane) in by_node(bodies, PLANE_GAP_DEG) {
        match is_plane {
            true => groups.push(group),
            false => left_out.extend(group.into_iter().map(|body| (body, LeftOut::NoGap { shell: name.clone() }))),
        }
    }
    // How many share a node with a satellite, usually: lone satellites do not count much.
    let usual = median(groups.iter().flat_map(|group| vec![group.len() as f64; group.len()]).collect());
    let least = LEAST_IN_PLANE.max((THIN_PLANE * usual).ceil() as usize);
    let (mut planes, mut members) = (Vec::new(), Vec::new());
    for mut group in groups {
        let node_deg = median_node(group.iter().map(|body| body.place.node_deg));
        let altitude_km = median(group.iter().map(|body| body.place.altitude_km).collect());
        // Joined shells have planes of several altitudes, but in one plane a lower satellite overtakes the others.
        let level = |body: &Body| (body.place.altitude_km - altitude_km).abs() <= SHELL_ALTITUDE_KM;
        if group.len() >= least {
            for body in group.extract_if(.., |body| !level(body)) {
                let km = body.place.altitude_km - altitude_km;
                left_out.push((body, LeftOut::OffAltitude { shell: name.clone(), km }));
            }
        }
        if group.len() < least {
            let together = group.len();
            left_out.extend(group.into_iter().map(|body| (body, LeftOut::Alone { shell: name.clone(), together })));
            continue;
        }
        group.sort_by(|a, b| a.place.phase_deg.total_cmp(&b.place.phase_deg).then(a.number.cmp(&b.number)));
        members.extend(&group);
        planes.push(FoundPlane { node_deg, altitude_km, members: group.iter().map(|body| body.index).collect() });
    }
    planes.sort_by(|a, b| a.node_deg.total_cmp(&b.node_deg));
    (FoundShell { name, inclination_deg, altitude_km, planes }, members, left_out)
}

/// Satellites in the order of their nodes, cut at gaps around the circle; `false` with those that cannot be told apart.
fn by_node(mut bodies: Vec<Body>, gap_deg: f64) -> Vec<(Vec<Body>, bool)> {
    let ahead = |a: &Body, b: &Body| turn(b.place.node_deg - a.place.node_deg);
    let count = bodies.len();
    // Begin behind the widest gap, so that no group lies across the start.
    let gap_before = |n: usize| match count {
        1 => 360.0,
        _ => ahead(&bodies[(n + count - 1) % count], &bodies[n]),
    };
    let widest = (0..count).max_by(|&a, &b| gap_before(a).total_cmp(&gap_before(b)).then(b.cmp(&a)));
    bodies.rotate_left(widest.unwrap_or(0));
    let mut groups = Vec::new();
    for group in bodies.chunk_by(|a, b| ahead(a, b) <= gap_deg) {
        let spread = group.windows(2).map(|pair| ahead(&pair[0], &pair[1])).sum::<f64>();
        if spread <= PLANE_SPREAD_DEG {
            groups.push((group.to_vec(), true));
        } else if gap_deg / 2.0 < LEAST_PLANE_GAP_DEG {
            groups.push((group.to_vec(), false));
        } else {
            groups.extend(by_node(group.to_vec(), gap_deg / 2.0));
        }
    }
    groups
}
