//! Each rule of the model on the smallest network that shows it.

use crate::common::*;
use skyhop_base::{Angle, Duration, Index, Length, Time};
use skyhop_orbit::{Earth, GroundPoint, GroundStation, Orbit, Pattern, Phasing, Walker, visibility};
use skyhop_topology::{
    Change, CheckTimes, CrossSeam, Forwarding, GslRules, HandoverPolicy, LinkKind, NodeId, NodeKind, NodeSpec,
    RoutingRules, Topology, TopologyError, TopologySpec, Why,
};

fn names(topology: &Topology) -> Vec<&str> {
    topology.links().iter().map(|link| link.name.as_str()).collect()
}

fn walker(pattern: Pattern, planes: u32, per_plane: u32, phasing: u32) -> Walker {
    Walker {
        name: "w".to_owned(),
        pattern,
        planes,
        per_plane,
        altitude: Length::from_km(1200.0),
        inclination: degrees(if pattern == Pattern::Star { 87.0 } else { 53.0 }),
        phasing: Phasing::Factor(phasing),
        raan_spacing: None,
    }
}

fn geo(name: &str, longitude: f64, shell: u32) -> NodeSpec {
    let orbit = Orbit::Geostationary { longitude: degrees(longitude) };
    NodeSpec { name: name.to_owned(), kind: NodeKind::Satellite { orbit, plane: 0, slot: 0, shell } }
}

#[test]
fn a_wired_dumbbell_never_changes() {
    //   a ── left ══ right ── b        1 ms, 50 ms, 2 ms
    let mut spec = TopologySpec { isl: None, gsl: None, ..network(["a", "b", "left", "right"].map(wired).to_vec()) };
    let ms = Duration::from_millis;
    for (a, b, delay) in [(0, 2, ms(1)), (2, 3, ms(50)), (3, 1, ms(2))] {
        spec.wired.extend(both_ways(a, b, delay));
    }
    spec.routing.every = Some(Duration::from_secs(1));
    let mut topology = Topology::new(spec).unwrap();
    assert_eq!(topology.next_change(), Time::MAX);
    assert_eq!(names(&topology), ["a->left", "left->a", "left->right", "right->left", "right->b", "b->right"]);
    assert!(topology.links().ids().all(|link| topology.is_up(link)));
    let path = topology.path(NodeId::new(0), NodeId::new(1), at(5)).unwrap();
    assert_eq!(path.delay, ms(53));
    assert!(path.hops.iter().all(|hop| hop.range.is_none() && hop.elevation.is_none()));
    let mut forwarding = Forwarding::default();
    topology.routes(&[NodeId::new(1), NodeId::new(0)], at(5), &mut forwarding);
    let hop = forwarding.next_hop(1, NodeId::new(3)).unwrap();
    assert_eq!((topology.links()[hop.link].name.as_str(), hop.to), ("right->left", NodeId::new(2)));
    assert_eq!(topology.wired_delay(hop.link), ms(50));
    assert_eq!(forwarding.next_hop(0, NodeId::new(1)), None);
}

#[test]
fn a_star_has_a_seam_and_a_delta_has_none() {
    //   plane   0    1    2          one slot each drawn; rings along the planes not drawn
    //           o────o────o  ┄┄ star: seam; delta: back to plane 0, shifted by the F = 2 slots of the phasing
    let star = Topology::new(TopologySpec { gsl: None, ..network(shell(&walker(Pattern::Star, 3, 5, 2), 0)) }).unwrap();
    assert_eq!(star.links().len(), 2 * (3 * 5 + 2 * 5));
    assert_eq!(names(&star)[..4], ["w-0-0->w-0-1", "w-0-1->w-0-0", "w-0-1->w-0-2", "w-0-2->w-0-1"]);
    let delta = Topology::new(TopologySpec { gsl: None, ..network(shell(&walker(Pattern::Delta, 3, 5, 2), 0)) });
    let delta = delta.unwrap();
    assert_eq!(delta.links().len(), 2 * (3 * 5 + 3 * 5));
    for joined in ["w-0-4->w-0-0", "w-0-0->w-1-0", "w-1-4->w-2-4", "w-2-0->w-0-2", "w-2-4->w-0-1"] {
        link(&delta, joined);
    }
    for node in delta.nodes().ids() {
        assert_eq!(delta.links().iter().filter(|link| link.from == node).count(), 4, "+Grid");
    }
}

#[test]
fn shells_do_not_mix() {
    let mut nodes = shell(&Walker::iridium(), 0);
    nodes.extend(shell(&walker(Pattern::Delta, 4, 6, 1), 7));
    let topology = Topology::new(TopologySpec { gsl: None, ..network(nodes) }).unwrap();
    for link in topology.links().iter() {
        let prefix = |name: &str| name.split('-').next().unwrap().to_owned();
        let ends = [link.from, link.to.unwrap()].map(|node| prefix(&topology.nodes()[node].name));
        assert_eq!(ends[0], ends[1]);
    }
    assert_eq!(topology.links().len(), 2 * (66 + 55) + 2 * (24 + 24));
}

#[test]
fn links_between_planes_follow_the_latitude_limit() {
    let mut topology = Topology::new(TopologySpec { gsl: None, ..iridium(&[]) }).unwrap();
    let limit = 60.0_f64.to_radians().sin();
    for step in 0..603 {
        let now = at(10 * step);
        let changes = run_to(&mut topology, now);
        let beyond = |node: NodeId| {
            let position = topology.position(node, now).unwrap();
            (position.z / position.norm()).abs() > limit
        };
        let plane = |node: NodeId| node.index() / 11;
        for (id, link) in topology.links().enumerated() {
            let (a, b) = (link.from, link.to.unwrap());
            assert_eq!(topology.is_up(id), plane(a) == plane(b) || !(beyond(a) || beyond(b)), "{}", link.name);
        }
        for change in changes.iter().filter(|_| step > 0) {
            match change {
                Change::LinkUp { link, why: Why::InSight } | Change::LinkDown { link, why: Why::BeyondLatitude } => {
                    assert_eq!(topology.is_up(*link), matches!(change, Change::LinkUp { .. }));
                }
                Change::Routes => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(changes.contains(&Change::Routes), !changes.is_empty(), "routes follow changes");
    }
}

#[test]
fn rays_must_clear_the_atmosphere() {
    // Two satellites 2·asin(5872.7/2/7158) = 48.44° apart graze 150 km (algorithms.md 5.3).
    // In a plane that is for good.
    let limit = 48.44;
    for (apart, up) in [(limit - 0.05, true), (limit + 0.05, false)] {
        let nodes = vec![satellite(0, 0, 86.4, 0.0, 0.0), satellite(0, 1, 86.4, 0.0, apart)];
        let mut topology = Topology::new(TopologySpec { gsl: None, ..network(nodes) }).unwrap();
        assert_eq!(topology.links().len(), 2, "two satellites do not make a ring");
        run_to(&mut topology, at(3000));
        assert_eq!(topology.is_up(link(&topology, "s-0-0->s-0-1")), up);
    }
}

#[test]
fn across_the_seam_the_nearest_are_linked() {
    let mut spec = TopologySpec { gsl: None, ..iridium(&[]) };
    spec.isl.as_mut().unwrap().cross_seam = CrossSeam::Nearest;
    let mut topology = Topology::new(spec).unwrap();
    let seam: Vec<_> = topology.links().enumerated().filter(|(_, l)| l.to.is_none()).map(|(id, _)| id).collect();
    assert_eq!(seam.len(), 22);
    assert_eq!(topology.links()[seam[3]].name, "iridium-0-3->seam");
    let (mut linked, mut swaps) = (0, 0);
    for step in 0..603 {
        let now = at(10 * step);
        let mut up: Vec<bool> = seam.iter().map(|&link| topology.is_up(link)).collect();
        for change in run_to(&mut topology, now) {
            // Never up without having been down, also when the peer changes within one check.
            let mut flip = |link, to: bool| {
                if let Some(n) = seam.iter().position(|&other| other == link) {
                    assert_ne!(std::mem::replace(&mut up[n], to), to);
                }
            };
            match change {
                Change::LinkUp { link, .. } => flip(link, true),
                Change::LinkDown { link, why } => {
                    flip(link, false);
                    swaps += usize::from(why == Why::SeamNeighbour);
                }
                _ => {}
            }
        }
        let km = |a, b| (topology.position(a, now).unwrap() - topology.position(b, now).unwrap()).norm();
        for (n, &link) in seam.iter().enumerate() {
            let (from, Some(peer)) = (topology.links()[link].from, topology.peer(link)) else { continue };
            linked += 1;
            let others = if n < 11 { 55..66 } else { 0..11 };
            assert!(others.clone().contains(&peer.as_u32()));
            assert!(others.map(NodeId::new).all(|other| km(from, peer) <= km(from, other) + 1e-9));
            let back = seam.iter().find(|&&link| topology.links()[link].from == peer).unwrap();
            assert_eq!(topology.peer(*back), Some(from), "linked both ways");
        }
    }
    assert!(linked > 22 * 603 / 3, "most satellites below 60 degrees have a partner: {linked}");
    // Planes fly against each other at twice the speed: a new neighbour each half spacing, 22 times an orbit.
    assert!(swaps > 22 * 11, "{swaps}");
}

#[test]
fn a_station_keeps_its_satellite_until_below_the_mask_and_then_takes_the_trailing_one() {
    //   flight →     s3   s2   s1   s0          equatorial ring of 11, station below on the equator;
    //   ______________________x_____________    it is passed by slot after slot, in falling order
    let mut nodes: Vec<NodeSpec> = (0..11).map(|k| satellite(0, k, 0.0, 0.0, f64::from(k) * 360.0 / 11.0)).collect();
    nodes.push(station("x", 0.0, 0.0));
    let mut topology = Topology::new(network(nodes)).unwrap();
    let x = node(&topology, "x");
    let found = handovers(&run_to(&mut topology, at(20_000)));
    assert_eq!((found[0].from, found[0].to, found[0].why), (None, Some(NodeId::new(0)), Why::FirstContact));
    assert!((found[0].elevation.degrees() - 90.0).abs() < 1e-5 && (found[0].slant_range.km() - 780.0).abs() < 1e-6);
    assert!(found.len() > 20);
    for (before, after) in found.iter().zip(&found[1..]) {
        let (old, new) = (before.to.unwrap().as_u32(), after.to.unwrap().as_u32());
        assert_eq!((after.from, new), (before.to, (old + 10) % 11));
        assert_eq!(after.why, Why::TrailingSatellite);
        assert_eq!(after.why.words(), "below the mask, trailing satellite of the plane");
        // Below the mask now, above it one check ago.
        let mut last_check = after.at.as_nanos() - 10_000_000_000;
        last_check = last_check.max(before.at.as_nanos());
        let elevation = |t: Time| topology.look(x, before.to.unwrap(), t).unwrap().elevation.degrees();
        assert!(elevation(after.at) <= 8.2 && elevation(Time::from_nanos(last_check)) > 8.2);
        // One spacing of 32.7° at the satellite's speed over the turning Earth, checked every 10 s.
        let spacing = 1.0 / 11.0 / (1.0 / 6026.957 - 1.0 / 86_164.0);
        let gap = after.at.since(before.at).as_secs_f64();
        assert!(before.from.is_none() || (gap - spacing).abs() <= 10.0, "{gap} {spacing}");
    }
}

#[test]
fn without_a_trailing_satellite_in_sight_the_highest_serves_and_without_any_none() {
    // Plane 0 has one satellite, so none trails it; plane 1 crosses later; then the sky is empty for a while.
    let nodes = vec![satellite(0, 0, 0.0, 0.0, 0.0), satellite(1, 0, 0.0, 0.0, 340.0), station("x", 0.0, 0.0)];
    let mut topology = Topology::new(TopologySpec { isl: None, ..network(nodes) }).unwrap();
    let x = NodeId::new(2);
    let changes = run_to(&mut topology, at(6000));
    let found = handovers(&changes);
    let seen: Vec<_> = found.iter().map(|h| (h.from.map(NodeId::as_u32), h.to.map(NodeId::as_u32), h.why)).collect();
    assert_eq!(
        seen[..3],
        [
            (None, Some(0), Why::FirstContact),
            (Some(0), Some(1), Why::HighestAfterLoss),
            (Some(1), None, Why::NoneInSight),
        ]
    );
    assert!(found[2].elevation.degrees() <= 8.2, "of the satellite that was lost");
    assert_eq!(topology.serving(x), None);
    let (uplink, downlink) = (topology.uplink(x).unwrap(), topology.downlink(NodeId::new(1)).unwrap());
    assert!(!topology.is_up(uplink) && !topology.is_up(downlink));
    let lost = changes.iter().position(|c| *c == Change::Handover(found[2])).unwrap();
    assert_eq!(
        changes[lost + 1..lost + 4],
        [
            Change::LinkDown { link: uplink, why: Why::NoneInSight },
            Change::LinkDown { link: downlink, why: Why::ServesNone },
            Change::Routes
        ]
    );
    assert_eq!(topology.path(x, NodeId::new(0), at(6000)), None);
    let again = handovers(&run_to(&mut topology, at(7000)));
    assert_eq!((again[0].to, again[0].why), (Some(NodeId::new(0)), Why::FirstContact), "tried again at each check");
}

#[test]
fn nobody_looks_through_the_earth() {
    // A ground station, a user at 12 km and the same with checks of few stations, whatever the mask asks for.
    let lowest = |mask: f64, km: f64, stations: usize| {
        let mut nodes: Vec<NodeSpec> = (0..stations)
            .map(|n| {
                let place =
                    GroundPoint { latitude: degrees(38.0), longitude: degrees(13.0), altitude: Length::from_km(km) };
                NodeSpec { name: format!("s{n}"), kind: NodeKind::Station(GroundStation::new(place).unwrap()) }
            })
            .collect();
        nodes.extend(shell(&walker(Pattern::Delta, 20, 20, 1), 0));
        let mut spec = TopologySpec { isl: None, ..network(nodes) };
        let policy = HandoverPolicy::Random { seed: 3 };
        spec.gsl = spec.gsl.map(|gsl| GslRules { elevation_mask: degrees(mask), policy, ..gsl });
        let mut topology = Topology::new(spec).unwrap();
        let changes = run_to(&mut topology, at(6000));
        let found = handovers(&changes);
        assert!(found.len() > 500, "{}", found.len());
        found.iter().filter(|h| h.to.is_some()).map(|h| h.elevation.degrees()).fold(90.0, f64::min)
    };
    // With four stations and 256 satellites an index finds those in sight.
    for stations in [1, 5] {
        assert!((0.0..0.5).contains(&lowest(-30.0, 0.0, stations)));
        assert!((-3.52..-3.0).contains(&lowest(-30.0, 12.0, stations)));
        assert!((-1.0..-0.8).contains(&lowest(-1.0, 12.0, stations)));
    }
}

#[test]
fn a_downlink_is_up_while_any_station_is_served() {
    let nodes = vec![satellite(0, 0, 0.0, 0.0, 0.0), station("east", 0.0, 15.0), station("west", 0.0, 0.0)];
    let mut topology = Topology::new(TopologySpec { isl: None, ..network(nodes) }).unwrap();
    let changes = run_to(&mut topology, at(2000));
    let downlink = topology.downlink(NodeId::new(0)).unwrap();
    assert_eq!(topology.links()[downlink].name, "s-0-0->ground");
    let of_downlink: Vec<_> = changes
        .iter()
        .filter(|c| matches!(c, Change::LinkUp { link, .. } | Change::LinkDown { link, .. } if *link == downlink))
        .collect();
    assert_eq!(
        of_downlink,
        [
            &Change::LinkUp { link: downlink, why: Why::ServesStation },
            &Change::LinkDown { link: downlink, why: Why::ServesNone }
        ],
        "up with the first, down with the last"
    );
    assert_eq!(handovers(&changes).len(), 4);
}

/// Handovers of three stations under Iridium in 12 hours; at each check the serving satellite passes `holds`.
fn policy(policy: HandoverPolicy, holds: impl Fn(&Topology, NodeId, NodeId, Time)) -> usize {
    let stations = [station("oslo", 59.9, 10.7), station("quito", -0.2, -78.5), station("perth", -31.9, 115.9)];
    let mut spec = TopologySpec { isl: None, ..iridium(&stations) };
    spec.gsl.as_mut().unwrap().policy = policy;
    let mut topology = Topology::new(spec).unwrap();
    let mut count = 0;
    for step in 0..4320 {
        let now = at(10 * step);
        count += handovers(&run_to(&mut topology, now)).len();
        for station in [66, 67, 68].map(NodeId::new) {
            holds(&topology, station, topology.serving(station).unwrap(), now);
        }
    }
    count
}

#[test]
fn policies_choose_what_they_say() {
    let satellites = || (0..66).map(NodeId::new);
    let look = |topology: &Topology, station, satellite, t| topology.look(station, satellite, t).unwrap();
    let highest = policy(HandoverPolicy::HighestElevation, |topology, station, serving, t| {
        let elevation = |s| look(topology, station, s, t).elevation.degrees();
        assert!(satellites().all(|s| elevation(s) <= elevation(serving) + 1e-9));
    });
    let nearest = policy(HandoverPolicy::Nearest, |topology, station, serving, t| {
        let range = |s| look(topology, station, s, t).slant_range.km();
        assert!(satellites().all(|s| range(s) >= range(serving) - 1e-9));
    });
    assert_eq!(highest, nearest, "at one altitude the highest is the nearest");
    let above = |topology: &Topology, station, serving, t| {
        assert!(look(topology, station, serving, t).elevation.degrees() > 8.2);
    };
    let sticky = policy(HandoverPolicy::UntilBelowMask, above);
    let longest = policy(HandoverPolicy::LongestVisibility, above);
    assert!(longest < sticky && sticky < nearest, "{longest} {sticky} {nearest}");
    // No pass is longer than 11.12 min (algorithms.md 5.4), a little more with the turning Earth: one handover in 12
    // min.
    assert!(longest >= 3 * 12 * 60 / 12, "{longest}");
}

#[test]
fn the_longest_visibility_is_the_longest() {
    let mut spec = TopologySpec { isl: None, ..iridium(&[station("oslo", 59.9, 10.7)]) };
    spec.gsl.as_mut().unwrap().policy = HandoverPolicy::LongestVisibility;
    let mut topology = Topology::new(spec).unwrap();
    let oslo = NodeId::new(66);
    for handover in handovers(&run_to(&mut topology, at(20_000))) {
        let sets = |satellite: NodeId| {
            let above = |s: &u64| {
                let t = handover.at + Duration::from_secs(*s);
                topology.look(oslo, satellite, t).unwrap().elevation.degrees() > 8.2
            };
            (0..2000).take_while(above).count()
        };
        let chosen = sets(handover.to.unwrap());
        assert!((0..66).all(|n| sets(NodeId::new(n)) <= chosen + 1));
    }
}

#[test]
fn random_check_times_belong_to_seed_and_station() {
    let times = |seed: u64, others: &[NodeSpec]| {
        let stations = [&[station("oslo", 59.9, 10.7)], others].concat();
        let mut spec = TopologySpec { isl: None, ..iridium(&stations) };
        spec.gsl.as_mut().unwrap().check_times = CheckTimes::Randomised { seed };
        let mut topology = Topology::new(spec).unwrap();
        let oslo = NodeId::new(66);
        let found = handovers(&run_to(&mut topology, at(10_000)));
        found.iter().filter(|h| h.terminal == oslo).map(|h| h.at).collect::<Vec<_>>()
    };
    let first = times(1, &[]);
    assert_eq!(first[0], Time::ZERO);
    assert!(first[1..].iter().any(|t| t.as_nanos() % 10_000_000_000 != 0));
    assert_eq!(first, times(1, &[station("bergen", 60.4, 5.3)]), "another station changes nothing");
    assert_ne!(first, times(2, &[]));

    // The checks themselves lie half an interval to one and a half apart.
    let mut spec = TopologySpec { isl: None, ..iridium(&[station("oslo", 59.9, 10.7)]) };
    spec.gsl.as_mut().unwrap().check_times = CheckTimes::Randomised { seed: 3 };
    let mut topology = Topology::new(spec).unwrap();
    let (mut last, mut sum, mut changes) = (Time::ZERO, 0.0, Vec::new());
    for n in 0..1000 {
        let now = topology.next_change();
        let gap = now.since(last).as_secs_f64();
        assert!(n == 0 || (5.0..15.0).contains(&gap), "{gap}");
        (last, sum) = (now, sum + gap);
        topology.advance(now, &mut changes);
    }
    // Mean 10 s, standard deviation of the mean 10/√12/√1000 = 0.09 s; four of them.
    assert!((sum / 999.0 - 10.0).abs() < 0.37, "{}", sum / 999.0);
}

#[test]
fn only_stations_with_a_wire_pass_packets_on() {
    //       west                 east         geostationary, no links between them
    //      /    \               /    \
    //     a     gate-w ═════ gate-e    b      gates are stations; the wire makes them pass packets on
    let nodes = || {
        vec![
            geo("west", -60.0, 0),
            geo("east", 60.0, 1),
            station("a", 0.0, -70.0),
            station("gate-w", 10.0, -50.0),
            station("gate-e", 10.0, 50.0),
            station("b", 0.0, 70.0),
        ]
    };
    let [a, b] = [2, 5].map(NodeId::new);
    let mut cut = Topology::new(network(nodes())).unwrap();
    run_to(&mut cut, Time::ZERO);
    assert_eq!(cut.next_change(), Time::MAX, "nothing moves, one check was enough");
    assert_eq!(cut.path(a, b, at(1)), None);
    assert!(cut.path(a, NodeId::new(3), at(1)).is_some(), "up and down over one satellite");

    let wire = both_ways(3, 4, Duration::from_millis(40)).to_vec();
    let mut joined = Topology::new(TopologySpec { wired: wire, ..network(nodes()) }).unwrap();
    run_to(&mut joined, Time::ZERO);
    let path = joined.path(a, b, at(1)).unwrap();
    let way: Vec<&str> = path.hops.iter().map(|hop| joined.links()[hop.link].name.as_str()).collect();
    assert_eq!(way, ["a->sky", "west->ground", "gate-w->gate-e", "gate-e->sky", "east->ground"]);
    // Four times 36000 to 37000 km and the wire.
    assert!((519.0..536.0).contains(&(path.delay.as_secs_f64() * 1e3)), "{:?}", path.delay);
}

#[test]
fn geo_between_palermo_and_houston() {
    // algorithms.md 5.6: 263.727 ms one way.
    let nodes = vec![geo("geo", -34.5, 0), station("houston", 29.76, -95.37), station("palermo", 38.12, 13.36)];
    let mut topology = Topology::new(network(nodes)).unwrap();
    run_to(&mut topology, Time::ZERO);
    let path = topology.path(NodeId::new(2), NodeId::new(1), at(1000)).unwrap();
    assert!((path.delay.as_secs_f64() * 1e3 - 263.727).abs() < 0.001, "{:?}", path.delay);
    assert!((path.hops[0].elevation.unwrap().degrees() - 23.91).abs() < 0.01);
    assert!((path.hops[1].elevation.unwrap().degrees() - 16.67).abs() < 0.01);
    let segment = topology.delay_segment(NodeId::new(0), NodeId::new(2), at(7));
    assert_eq!(segment.until, Time::MAX);
}

#[test]
fn routes_are_renewed_at_changes_and_at_the_interval() {
    let every = Some(Duration::from_secs(4));
    let mut topology = Topology::new(TopologySpec { routing: RoutingRules { every }, ..iridium(&[]) }).unwrap();
    let (mut times, mut changes) = (Vec::new(), Vec::new());
    while topology.next_change() <= at(24) {
        let now = topology.next_change();
        changes.clear();
        topology.advance(now, &mut changes);
        let renewals = changes.iter().filter(|c| **c == Change::Routes).count();
        assert_eq!(renewals, usize::from(now.as_nanos().is_multiple_of(4_000_000_000) || changes.len() > renewals));
        assert!(renewals == 0 || changes.last() == Some(&Change::Routes));
        times.push(now.as_nanos() / 1_000_000_000);
    }
    assert_eq!(times, [0, 4, 8, 10, 12, 16, 20, 24]);
}

#[test]
fn a_late_call_checks_once_and_keeps_the_grid() {
    let mut topology = Topology::new(iridium(&[station("x", 0.0, 0.0)])).unwrap();
    let mut changes = Vec::new();
    topology.advance(at(37), &mut changes);
    assert_eq!(topology.next_change(), at(40));
    let count = changes.len();
    topology.advance(at(38), &mut changes);
    assert_eq!(changes.len(), count, "nothing is due");
}

#[test]
fn coverage_of_an_arc_of_stations_is_that_of_the_geometry() {
    // Stations along the equator under one satellite: those within 19.92° (algorithms.md 5.4) are served.
    let mut nodes = vec![satellite(0, 0, 0.0, 0.0, 0.0)];
    nodes.extend((-30..=30).map(|lon| station(&format!("lon{lon}"), 0.0, f64::from(lon))));
    let mut topology = Topology::new(TopologySpec { isl: None, ..network(nodes) }).unwrap();
    run_to(&mut topology, Time::ZERO);
    let edge = visibility::coverage(&Earth::NS2, Length::from_km(780.0), degrees(8.2)).central_angle;
    assert!((edge.degrees() - 19.92).abs() < 0.01);
    for lon in -30i32..=30 {
        let served = topology.serving(node(&topology, &format!("lon{lon}"))).is_some();
        assert_eq!(served, f64::from(lon.abs()) < edge.degrees());
    }
}

#[test]
fn callers_mistakes_are_named() {
    let fails = |change: &dyn Fn(&mut TopologySpec)| {
        let mut spec = iridium(&[station("x", 0.0, 0.0), wired("y")]);
        change(&mut spec);
        Topology::new(spec).unwrap_err().to_string()
    };
    let wire = |a, b| both_ways(a, b, Duration::from_millis(1));
    type Case<'a> = (&'a str, &'a dyn Fn(&mut TopologySpec));
    let cases: [Case<'_>; 15] = [
        ("a wired link names node 99, but the network has 68", &|s| s.wired.extend(wire(67, 99))),
        ("a wired link joins \"y\" to itself", &|s| s.wired.extend(wire(67, 67))),
        ("a wired link ends at the satellite \"iridium-0-5\"", &|s| s.wired.extend(wire(5, 67))),
        ("two links are called \"x->y\"", &|s| s.wired.extend([wire(66, 67), wire(66, 67)].concat())),
        ("a wired link of 4000 s is longer than 3600 s", &|s| {
            s.wired.extend(both_ways(66, 67, Duration::from_secs(4000)));
        }),
        ("two nodes are called \"x\"", &|s| s.nodes[67].name = "x".to_owned()),
        ("satellites \"iridium-0-0\" and \"s-0-0\" share one slot of a plane", &|s| {
            s.nodes.push(satellite(0, 0, 0.0, 0.0, 0.0));
        }),
        ("planes 0 and 1 of shell 0 hold 10 and 11 satellites: +Grid links need equal planes", &|s| {
            s.nodes.remove(0);
        }),
        ("satellite \"s-9-9\": an inclination of -1 deg does not exist: use 0 to 180 deg", &|s| {
            s.nodes.push(satellite(9, 9, -1.0, 0.0, 0.0));
        }),
        (
            "station \"x\" has no satellite to talk to: the network has no satellites or no rules for ground links",
            &|s| s.gsl = None,
        ),
        ("the interval of handover checks must be longer than zero", &|s| {
            s.gsl.as_mut().unwrap().every = Duration::ZERO;
        }),
        ("the interval of route renewal must be longer than zero", &|s| s.routing.every = Some(Duration::ZERO)),
        ("an elevation mask of 90 deg does not exist: use -90 to less than 90 deg", &|s| {
            s.gsl.as_mut().unwrap().elevation_mask = degrees(90.0);
        }),
        ("a latitude limit of -3 deg does not exist: use 0 to 90 deg", &|s| {
            s.isl.as_mut().unwrap().latitude_limit = Some(Angle::from_degrees(-3.0));
        }),
        ("a grazing altitude of NaN km is not an altitude", &|s| {
            s.isl.as_mut().unwrap().grazing_altitude = Length::from_km(f64::NAN);
        }),
    ];
    for (expected, change) in cases {
        assert_eq!(fails(change), expected);
    }
    let lonely = network(vec![station("x", 0.0, 0.0)]);
    assert!(matches!(Topology::new(lonely), Err(TopologyError::NoConstellation { .. })));
    let nothing = Topology::new(TopologySpec { nodes: vec![], ..iridium(&[]) }).unwrap();
    assert!(nothing.links().is_empty() && nothing.links().iter().all(|link| link.kind == LinkKind::Wired));
}
