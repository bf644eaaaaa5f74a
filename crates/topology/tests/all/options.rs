//! What `SkyOptions` and the newer rules add, each on the smallest network that shows it.

use crate::common::*;
use skyhop_base::{Duration, Index, Length, Time};
use skyhop_orbit::{Earth, GroundPoint, Orbit, Pattern, Phasing, Track, Utc, Walker, visibility};
use skyhop_topology::{
    Change, CheckTimes, GatewayRule, GslOptions, GslRules, HandoverPolicy, IslChecks, IslLayout, IslOptions, LinkKind,
    Metric, NodeId, NodeKind, NodeSpec, Obstruction, SkyOptions, StationOptions, Switching, Topology, TopologyError,
    TopologySpec, Why, slot_phase,
};

fn delta(planes: u32, per_plane: u32, km: f64, phasing: u32) -> Walker {
    Walker {
        name: "w".to_owned(),
        pattern: Pattern::Delta,
        planes,
        per_plane,
        altitude: Length::from_km(km),
        inclination: degrees(53.0),
        phasing: Phasing::Factor(phasing),
        raan_spacing: None,
    }
}

/// Cities between the tropics and 55°, more than the index needs to be used.
fn cities(count: u32) -> Vec<NodeSpec> {
    let place = |n: u32| {
        let (latitude, longitude) = (f64::from(n * 37 % 100) - 50.0, f64::from(n * 71 % 360) - 180.0);
        station(&format!("city-{n:02}"), latitude, longitude)
    };
    (0..count).map(place).collect()
}

fn low_shell(stations: Vec<NodeSpec>, policy: HandoverPolicy, check_times: CheckTimes) -> TopologySpec {
    let mut nodes = shell(&delta(24, 22, 550.0, 3), 0);
    nodes.extend(stations);
    let every = Duration::from_secs(15);
    let gsl = GslRules { elevation_mask: degrees(15.0), policy, every, check_times };
    TopologySpec { earth: Earth::WGS84, isl: None, gsl: Some(gsl), ..network(nodes) }
}

fn stations(topology: &Topology) -> Vec<NodeId> {
    topology.nodes().ids().filter(|&node| topology.is_station(node)).collect()
}

fn satellites(topology: &Topology) -> Vec<NodeId> {
    topology.nodes().ids().filter(|&node| matches!(topology.nodes()[node].kind, NodeKind::Satellite { .. })).collect()
}

fn elevation(topology: &Topology, station: NodeId, satellite: NodeId, t: Time) -> f64 {
    topology.look(station, satellite, t).unwrap().elevation.degrees()
}

#[test]
fn many_stations_choose_what_looking_at_all_satellites_would_choose() {
    let spec = low_shell(cities(20), HandoverPolicy::HighestElevation, CheckTimes::Regular);
    let mut topology = Topology::new(spec).unwrap();
    let (cities, satellites) = (stations(&topology), satellites(&topology));
    assert!(satellites.len() >= 256 && cities.len() >= 4, "else no index is used");
    let mut served = 0;
    for step in 0..40 {
        let now = at(15 * step);
        run_to(&mut topology, now);
        for &city in &cities {
            let best = satellites.iter().map(|&s| (elevation(&topology, city, s, now), s));
            let best = best.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(height, _)| *height > 15.0);
            assert_eq!(topology.serving(city), best.map(|(_, s)| s));
            served += usize::from(best.is_some());
        }
    }
    assert!(served > 400, "{served}");
}

#[test]
fn slots_follow_the_clock() {
    // Starlink's slots begin at :12, :27, :42 and :57.
    let phase = |text: &str| {
        let start: Utc = text.parse().unwrap();
        slot_phase(start, Duration::from_secs(12), Duration::from_secs(15)).as_secs_f64()
    };
    assert_eq!(phase("2025-10-07T12:00:00"), 12.0);
    assert_eq!(phase("2025-10-07T12:00:12"), 0.0);
    assert_eq!(phase("2025-10-07T12:00:13.5"), 13.5);
    assert_eq!(phase("2025-10-07T12:00:59"), 13.0);
    let slots = CheckTimes::Slots { phase: Duration::from_secs(4) };
    let spec = low_shell(cities(1), HandoverPolicy::HighestElevation, slots);
    let mut topology = Topology::new(spec).unwrap();
    let mut times = Vec::new();
    while times.len() < 5 {
        let now = topology.next_change();
        topology.advance(now, &mut Vec::new());
        times.push(now.as_secs_f64());
    }
    assert_eq!(times, [0.0, 4.0, 19.0, 34.0, 49.0]);
}

#[test]
fn what_a_station_draws_is_its_own() {
    let draws = |count: u32, seed: u64| {
        let policy = HandoverPolicy::Random { seed };
        let mut topology = Topology::new(low_shell(cities(count), policy, CheckTimes::Regular)).unwrap();
        let city = stations(&topology)[0];
        let mut chosen = Vec::new();
        for step in 0..60 {
            run_to(&mut topology, at(15 * step));
            if let Some(serving) = topology.serving(city) {
                assert!(elevation(&topology, city, serving, at(15 * step)) > 15.0);
                chosen.push(serving);
            }
        }
        chosen
    };
    let alone = draws(1, 7);
    assert_eq!(alone, draws(12, 7), "other stations change nothing");
    assert_ne!(alone, draws(1, 8));
    let distinct: std::collections::BTreeSet<_> = alone.iter().collect();
    assert!(alone.len() == 60 && distinct.len() > 10, "{}", distinct.len());
}

#[test]
fn a_break_before_make_takes_the_link_down_for_the_outage() {
    let outage = Duration::from_millis(250);
    let switching = Switching::BreakBeforeMake { outage };
    let options = SkyOptions { gsl: GslOptions { switching, ..GslOptions::default() }, ..SkyOptions::default() };
    let spec = low_shell(cities(1), HandoverPolicy::HighestElevation, CheckTimes::Regular);
    let mut topology = Topology::with_options(spec, options).unwrap();
    let city = stations(&topology)[0];
    let uplink = topology.uplink(city).unwrap();
    run_to(&mut topology, Time::ZERO);
    assert!(topology.is_up(uplink), "the first contact is there at once");
    let (mut handovers, mut changes) = (0, Vec::new());
    while handovers < 10 {
        let now = topology.next_change();
        changes.clear();
        topology.advance(now, &mut changes);
        let Some(Change::Handover(handover)) = changes.first().copied() else { continue };
        handovers += 1;
        let (old, new) = (handover.from.unwrap(), handover.to.unwrap());
        let [from, to] = [old, new].map(|node| topology.downlink(node).unwrap());
        assert_eq!(
            changes[1..],
            [
                Change::LinkDown { link: uplink, why: Why::Acquiring },
                Change::LinkDown { link: from, why: Why::ServesNone },
                Change::Routes
            ]
        );
        assert!(!topology.is_up(uplink) && topology.serving(city) == Some(new));
        assert_eq!(topology.path(city, new, now), None);
        assert_eq!(topology.next_change(), now + outage);
        changes.clear();
        topology.advance(now + outage, &mut changes);
        assert_eq!(
            changes,
            [
                Change::LinkUp { link: uplink, why: Why::Acquired },
                Change::LinkUp { link: to, why: Why::ServesStation },
                Change::Routes
            ]
        );
        assert_eq!(topology.peer(uplink), Some(new));
    }
}

#[test]
fn a_satellite_serves_no_more_users_than_it_can() {
    for most in [1, 2, 5] {
        let crowd: Vec<NodeSpec> =
            (0..12).map(|n| station(&format!("u{n:02}"), 40.0 + 0.1 * f64::from(n), 10.0)).collect();
        let gsl = GslOptions { users_per_satellite: Some(most), ..GslOptions::default() };
        let options = SkyOptions { gsl, ..SkyOptions::default() };
        let spec = low_shell(crowd, HandoverPolicy::HighestElevation, CheckTimes::Regular);
        let mut topology = Topology::with_options(spec, options).unwrap();
        let (users, satellites) = (stations(&topology), satellites(&topology));
        let mut turned_away = 0;
        for step in 0..40 {
            let now = at(15 * step);
            run_to(&mut topology, now);
            let mut count = vec![0; satellites.len()];
            users.iter().filter_map(|&user| topology.serving(user)).for_each(|s| count[s.index()] += 1);
            assert!(count.iter().all(|&users| users <= most));
            for &user in users.iter().filter(|&&user| topology.serving(user).is_none()) {
                turned_away += 1;
                let free = |&&s: &&NodeId| elevation(&topology, user, s, now) > 15.0 && count[s.index()] < most;
                // Those who came later may have made room since; nobody did when nobody left.
                assert!(satellites.iter().filter(free).count() <= 1);
            }
        }
        assert_eq!(turned_away > 0, most == 1, "{turned_away} of {most}");
    }
}

/// A gateway with a wire to a server, two users near it and one too far from it.
fn bent_pipe(antennas: u32) -> (TopologySpec, SkyOptions) {
    let places = vec![
        station("gateway", 45.0, 5.0),
        station("near-1", 46.0, 9.0),
        station("near-2", 43.0, 1.0),
        station("far", -30.0, 120.0),
        wired("server"),
    ];
    let mut spec = low_shell(places, HandoverPolicy::HighestElevation, CheckTimes::Regular);
    let gateway = spec.nodes.len() as u32 - 5;
    spec.wired = both_ways(gateway, gateway + 4, Duration::from_millis(5)).to_vec();
    let gsl = GslOptions { gateways: GatewayRule::BentPipe, ..GslOptions::default() };
    let antennas = StationOptions { antennas, ..StationOptions::new(NodeId::new(gateway)) };
    (spec, SkyOptions { gsl, stations: vec![antennas], ..SkyOptions::default() })
}

#[test]
fn users_of_bent_pipes_share_a_satellite_with_a_gateway() {
    let (spec, options) = bent_pipe(8);
    let mut topology = Topology::with_options(spec, options).unwrap();
    let [gateway, near, other, far, server] =
        ["gateway", "near-1", "near-2", "far", "server"].map(|name| node(&topology, name));
    let antennas: Vec<_> =
        (0..8).map(|n| if n == 0 { "gateway->sky".into() } else { format!("gateway->sky-{n}") }).collect();
    let uplinks: Vec<_> = antennas.iter().map(|name| link(&topology, name)).collect();
    let mut paths = 0;
    for step in 0..40 {
        let now = at(15 * step);
        run_to(&mut topology, now);
        let mut pointed: Vec<NodeId> = uplinks.iter().filter_map(|&link| topology.peer(link)).collect();
        let count = pointed.len();
        pointed.sort_unstable();
        pointed.dedup();
        assert_eq!(pointed.len(), count, "each antenna has a satellite of its own");
        assert_eq!(topology.serving(far), None, "no satellite sees the gateway from there");
        for user in [near, other] {
            let Some(satellite) = topology.serving(user) else { continue };
            assert!(pointed.contains(&satellite));
            let path = topology.path(user, server, now).unwrap();
            let way: Vec<NodeId> = path.hops.iter().map(|hop| hop.to).collect();
            assert_eq!(way, [satellite, gateway, server]);
            let back = topology.path(server, user, now).unwrap();
            assert_eq!(back.delay, path.delay);
            assert_eq!(topology.peer(back.hops[1].link), Some(satellite), "the antenna that points there");
            paths += 1;
        }
    }
    assert!(paths > 60, "{paths}");
}

#[test]
fn a_user_who_loses_the_gateway_moves_on() {
    let (spec, options) = bent_pipe(1);
    let mut topology = Topology::with_options(spec, options).unwrap();
    let near = node(&topology, "near-1");
    let mut found = handovers(&run_to(&mut topology, at(3000)));
    found.retain(|handover| handover.terminal == near);
    assert!(found.iter().any(|handover| handover.why == Why::NoGateway), "{found:?}");
    assert!(found.len() > 5);
}

/// Beside stations that go by the rules of all, one with a mask and one with a policy of its own, at the same place:
/// each does what it would do in a network where these were the rules of all.
#[test]
fn stations_have_masks_and_policies_of_their_own() {
    let names = ["plain", "narrow", "faithful"];
    for check_times in [CheckTimes::Regular, CheckTimes::Exact] {
        // With more stations the index of satellites answers.
        for others in [0, 12] {
            let places =
                || names.iter().map(|name| station(name, 48.0, 11.0)).chain(cities(others)).collect::<Vec<_>>();
            let spec = |policy, mask| {
                let mut spec = low_shell(places(), policy, check_times);
                if let Some(gsl) = &mut spec.gsl {
                    gsl.elevation_mask = degrees(mask);
                }
                spec
            };
            let serving = |spec: TopologySpec, stations: Vec<StationOptions>| -> Vec<[Option<NodeId>; 3]> {
                let options = SkyOptions { stations, ..SkyOptions::default() };
                let mut topology = Topology::with_options(spec, options).unwrap();
                let nodes = names.map(|name| node(&topology, name));
                let moments = (0..40).map(|step| {
                    run_to(&mut topology, at(15 * step));
                    nodes.map(|node| topology.serving(node))
                });
                moments.collect()
            };
            let highest = HandoverPolicy::HighestElevation;
            let own = spec(highest, 15.0);
            let first = (own.nodes.len() - names.len()) as u32 - others;
            let narrow =
                StationOptions { elevation_mask: Some(degrees(50.0)), ..StationOptions::new(NodeId::new(first + 1)) };
            let faithful = StationOptions {
                policy: Some(HandoverPolicy::UntilBelowMask),
                ..StationOptions::new(NodeId::new(first + 2))
            };
            let mixed = serving(own, vec![narrow, faithful]);
            let alone = [
                serving(spec(highest, 15.0), vec![]),
                serving(spec(highest, 50.0), vec![]),
                serving(spec(HandoverPolicy::UntilBelowMask, 15.0), vec![]),
            ];
            for (n, alone) in alone.iter().enumerate() {
                let (found, right): (Vec<_>, Vec<_>) = mixed.iter().zip(alone).map(|(a, b)| (a[n], b[n])).unzip();
                assert_eq!(found, right, "{} {check_times:?} {others}", names[n]);
            }
            let unlike = |n: usize| mixed.iter().filter(|all| all[n] != all[0]).count();
            assert!(unlike(1) > 5 && unlike(2) > 5, "{} {}", unlike(1), unlike(2));
        }
    }
    let spec = low_shell(vec![station("x", 0.0, 0.0)], HandoverPolicy::Nearest, CheckTimes::Regular);
    let node = NodeId::new(spec.nodes.len() as u32 - 1);
    let wrong = StationOptions { elevation_mask: Some(degrees(90.0)), ..StationOptions::new(node) };
    let options = SkyOptions { stations: vec![wrong], ..SkyOptions::default() };
    assert!(matches!(Topology::with_options(spec, options).unwrap_err(), TopologyError::ElevationMask { .. }));
}

/// A station takes no satellite behind an obstruction, and the best of the others; without any it has an outage.
#[test]
fn a_station_sees_nothing_behind_an_obstruction() {
    let hides = |azimuth: [f64; 2], elevation: [f64; 2]| Obstruction {
        azimuth: azimuth.map(degrees),
        elevation: elevation.map(degrees),
    };
    // From south over west to north-east, and a low one in the rest, over north.
    let walls = vec![hides([180.0, 45.0], [0.0, 90.0]), hides([45.0, 180.0], [0.0, 40.0])];
    for others in [0, 12] {
        let names = ["free", "walled", "buried"];
        let places = names.iter().map(|name| station(name, 48.0, 11.0)).chain(cities(others)).collect();
        let spec = low_shell(places, HandoverPolicy::HighestElevation, CheckTimes::Regular);
        let first = (spec.nodes.len() - names.len()) as u32 - others;
        let own = |n: u32, obstructions: Vec<Obstruction>| StationOptions {
            obstructions,
            ..StationOptions::new(NodeId::new(first + n))
        };
        let stations = vec![own(1, walls.clone()), own(2, vec![hides([0.0, 360.0], [-90.0, 90.0])])];
        let options = SkyOptions { stations, ..SkyOptions::default() };
        let mut topology = Topology::with_options(spec, options).unwrap();
        let [free, walled, buried] = names.map(|name| node(&topology, name));
        let (mut outages, mut forced) = (0, 0);
        for step in 0..200 {
            let t = at(15 * step);
            run_to(&mut topology, t);
            assert_eq!(topology.serving(buried), None);
            // The satellites that are left, by looking at all.
            let left = satellites(&topology).into_iter().filter(|&satellite| {
                let look = topology.look(walled, satellite, t).unwrap();
                look.elevation.degrees() > 40.0 && (45.0..180.0).contains(&look.azimuth.degrees())
            });
            let height = |satellite: &NodeId| elevation(&topology, walled, *satellite, t);
            let best = left.max_by(|a, b| height(a).total_cmp(&height(b)));
            assert_eq!(topology.serving(walled), best, "{t:?}");
            outages += u32::from(best.is_none());
            forced += u32::from(best.is_some() && best != topology.serving(free));
        }
        assert!(outages > 5 && forced > 5, "{outages} {forced}");
    }
}

/// A wall on the left of a vehicle hides the north while it goes east, and the south while it goes back.
#[test]
fn obstructions_of_a_user_on_the_move_turn_with_it() {
    let point = |longitude: f64| GroundPoint {
        latitude: degrees(0.0),
        longitude: degrees(longitude),
        altitude: Length::from_km(0.0),
    };
    let track = Track::new(&[(at(0), point(0.0)), (at(1000), point(0.2)), (at(2000), point(0.0))]).unwrap();
    let spec = low_shell(vec![station("car", 0.0, 0.0)], HandoverPolicy::HighestElevation, CheckTimes::Regular);
    let car = NodeId::new(spec.nodes.len() as u32 - 1);
    let left = Obstruction { azimuth: [degrees(200.0), degrees(340.0)], elevation: [degrees(0.0), degrees(90.0)] };
    let own = StationOptions { track: Some(track), obstructions: vec![left], ..StationOptions::new(car) };
    let options = SkyOptions { stations: vec![own], ..SkyOptions::default() };
    let mut topology = Topology::with_options(spec, options).unwrap();
    let mut seen = [0, 0];
    for step in 0..130 {
        let t = at(15 * step);
        run_to(&mut topology, t);
        let Some(satellite) = topology.serving(car) else { continue };
        let azimuth = topology.look(car, satellite, t).unwrap().azimuth.degrees();
        let leg = usize::from(15 * step >= 1000);
        // Its front is east first, then west; it sees from 20° left of its front over the right to 20° behind it.
        let front = [90.0, 270.0][leg];
        let bearing = (azimuth - front + 360.0) % 360.0;
        assert!(!(200.5..339.5).contains(&bearing), "{t:?}: {azimuth}");
        seen[leg] += 1;
    }
    assert!(seen[0] > 30 && seen[1] > 30, "{seen:?}");
}

#[test]
fn a_user_on_the_move_takes_what_it_sees_from_where_it_is() {
    // An aeroplane at 250 m/s along the equator to the east, below a ring of equatorial satellites.
    let nodes = || -> Vec<NodeSpec> {
        let mut nodes: Vec<NodeSpec> =
            (0..11).map(|k| satellite(0, k, 0.0, 0.0, f64::from(k) * 360.0 / 11.0)).collect();
        nodes.push(station("plane", 0.0, 0.0));
        nodes
    };
    let point = |longitude: f64| GroundPoint {
        latitude: degrees(0.0),
        longitude: degrees(longitude),
        altitude: Length::from_km(10.0),
    };
    let track = Track::new(&[(at(0), point(0.0)), (at(16_000), point(36.0))]).unwrap();
    let plane = NodeId::new(11);
    let options = SkyOptions {
        stations: vec![StationOptions { track: Some(track.clone()), ..StationOptions::new(plane) }],
        ..SkyOptions::default()
    };
    let mut topology = Topology::with_options(network(nodes()), options).unwrap();
    let found = handovers(&run_to(&mut topology, at(15_000)));
    for handover in &found {
        let site = track.site(&Earth::NS2, handover.at);
        let look = site.look(topology.position(handover.to.unwrap(), handover.at).unwrap());
        assert!((look.elevation.degrees() - handover.elevation.degrees()).abs() < 1e-9);
        let place = topology.position(plane, handover.at).unwrap();
        assert!((place - site.position()).norm() < 1e-9);
        let segment = topology.delay_segment(handover.to.unwrap(), plane, handover.at);
        let exact = Earth::NS2.light_time_ns(look.slant_range.km());
        assert!((segment.at(handover.at).as_nanos() as f64 - exact).abs() <= 1.0);
    }
    // It flies after the satellites: one spacing lasts longer than for a station at rest.
    let gap = |found: &[skyhop_topology::Handover]| {
        found[found.len() - 1].at.since(found[1].at).as_secs_f64() / (found.len() - 2) as f64
    };
    let mut still = Topology::new(network(nodes())).unwrap();
    let at_rest = gap(&handovers(&run_to(&mut still, at(15_000))));
    let expected = 1.0 / 11.0 / (1.0 / 6026.957 - 1.0 / 86_164.0 - 0.1 / 16_000.0);
    assert!((gap(&found) - expected).abs() < 10.0 && gap(&found) > at_rest + 10.0, "{} {at_rest}", gap(&found));
}

fn with_isl(isl: IslOptions) -> SkyOptions {
    SkyOptions { isl, ..SkyOptions::default() }
}

#[test]
fn listed_links_and_no_others() {
    let spec = || TopologySpec { gsl: None, ..iridium(&[]) };
    let pairs = [[3, 4], [20, 9], [0, 60]].map(|pair| pair.map(NodeId::new));
    let layout = IslLayout::List(pairs.to_vec());
    let isl = IslOptions { layout, longest: Some(Length::from_km(4500.0)), ..IslOptions::default() };
    let mut topology = Topology::with_options(spec(), with_isl(isl.clone())).unwrap();
    let names: Vec<&str> = topology.links().iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names[..3], ["iridium-0-3->iridium-0-4", "iridium-0-4->iridium-0-3", "iridium-1-9->iridium-0-9"]);
    assert_eq!(names.len(), 6);
    let (mut far, mut ups) = (0, 0);
    for step in 0..600 {
        let now = at(10 * step);
        let changes = run_to(&mut topology, now);
        for (n, pair) in pairs.iter().enumerate() {
            let [a, b] = pair.map(|node| topology.position(node, now).unwrap());
            let beyond = [a, b].iter().any(|p| (p.z / p.norm()).abs() > 60.0_f64.to_radians().sin());
            let clear = visibility::grazing_altitude_km(&Earth::NS2, a, b) >= 150.0;
            let expected = (n == 0 || !beyond) && clear && (a - b).norm() <= 4500.0;
            assert_eq!(topology.is_up(topology.links().ids().nth(2 * n).unwrap()), expected);
            ups += usize::from(expected);
        }
        far += changes.iter().filter(|c| matches!(c, Change::LinkDown { why: Why::TooFar, .. })).count();
    }
    assert!(far > 0 && ups > 600, "{far} {ups}");
    let refused = |pairs: Vec<[NodeId; 2]>| {
        let isl = IslOptions { layout: IslLayout::List(pairs), ..isl.clone() };
        Topology::with_options(spec(), with_isl(isl)).unwrap_err()
    };
    assert_eq!(
        refused(vec![pairs[0], [pairs[0][1], pairs[0][0]]]).to_string(),
        "the link between \"iridium-0-3\" and \"iridium-0-4\" is listed twice"
    );
    assert_eq!(refused(vec![pairs[0], [NodeId::new(5); 2]]), TopologyError::ListedLink { index: 1 });
    assert_eq!(refused(vec![[NodeId::new(5), NodeId::new(66)]]), TopologyError::ListedLink { index: 0 });
}

#[test]
fn nearest_neighbours_are_linked_both_ways_and_as_often_as_they_can() {
    let mut spec = TopologySpec { gsl: None, ..iridium(&[]) };
    spec.isl.as_mut().unwrap().latitude_limit = None;
    let longest = 4000.0;
    let isl = IslOptions {
        layout: IslLayout::Nearest { links: 3 },
        longest: Some(Length::from_km(longest)),
        ..IslOptions::default()
    };
    let mut topology = Topology::with_options(spec.clone(), with_isl(isl)).unwrap();
    assert_eq!(topology.links()[skyhop_topology::LinkId::new(4)].name, "iridium-0-1->neighbour-1");
    let mut changes_of_peer = 0;
    let mut up = vec![false; topology.links().len()];
    for step in 0..300 {
        let now = at(10 * step);
        for change in run_to(&mut topology, now) {
            let (link, to) = match change {
                Change::LinkUp { link, why } => {
                    assert_eq!(why, Why::Nearest);
                    (link, true)
                }
                Change::LinkDown { link, .. } => (link, false),
                _ => continue,
            };
            assert_ne!(std::mem::replace(&mut up[link.index()], to), to, "never up without having been down");
            changes_of_peer += usize::from(step > 0 && !to);
        }
        let mut pairs: Vec<(NodeId, NodeId)> =
            topology.links().enumerated().filter_map(|(id, link)| Some((link.from, topology.peer(id)?))).collect();
        let count = pairs.len();
        assert!(pairs.iter().all(|&(a, b)| pairs.contains(&(b, a))), "both ways");
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs.len(), count, "no pair twice");
        let km = |a, b| (topology.position(a, now).unwrap() - topology.position(b, now).unwrap()).norm();
        assert!(pairs.iter().all(|&(a, b)| km(a, b) <= longest));
        let degree = |node| pairs.iter().filter(|pair| pair.0 == node).count();
        // Two that are near and have a transmitter free would have been linked.
        for a in topology.nodes().ids().filter(|&node| degree(node) < 3) {
            let free = topology.nodes().ids().filter(|&b| b != a && degree(b) < 3 && km(a, b) < longest);
            assert!(free.into_iter().all(|b| pairs.contains(&(a, b))));
        }
    }
    assert!(changes_of_peer > 20, "{changes_of_peer}");
    let refused = |isl| Topology::with_options(spec.clone(), with_isl(isl)).unwrap_err();
    let layout = IslLayout::Nearest { links: 3 };
    assert_eq!(refused(IslOptions { layout, ..IslOptions::default() }), TopologyError::NoLongestIsl);
}

#[test]
fn exact_checks_find_the_instant_of_every_change() {
    let stations = [station("oslo", 59.9, 10.7), station("quito", -0.2, -78.5)];
    let (oslo, quito) = (NodeId::new(66), NodeId::new(67));
    for policy in [HandoverPolicy::UntilBelowMask, HandoverPolicy::LongestVisibility, HandoverPolicy::Nearest] {
        let mut spec = iridium(&stations);
        spec.gsl = Some(GslRules { policy, check_times: CheckTimes::Exact, ..spec.gsl.unwrap() });
        let isl = IslOptions { checks: IslChecks::Exact, ..IslOptions::default() };
        let mut topology = Topology::with_options(spec, with_isl(isl)).unwrap();
        let changes = run_to(&mut topology, at(6000));
        let found = handovers(&changes);
        assert!(found.len() > 20, "{}", found.len());
        for handover in found.iter().filter(|handover| handover.from.is_some()) {
            let before = Time::from_nanos(handover.at.as_nanos() - 2_000);
            let (old, new) = (handover.from.unwrap(), handover.to.unwrap());
            let look = |satellite, t| topology.look(handover.terminal, satellite, t).unwrap();
            if policy == HandoverPolicy::Nearest {
                let nearer = |t| look(new, t).slant_range.km() < look(old, t).slant_range.km();
                assert!(nearer(handover.at) && !nearer(before), "{handover:?}");
            } else {
                let above = |t| look(old, t).elevation.degrees() > 8.2;
                assert!(above(before) && !above(handover.at), "{handover:?}");
            }
        }
        // In the same way every link between planes crosses the 60th parallel at the instant of its change.
        let mut crossings = 0;
        let mut topology = Topology::with_options(
            TopologySpec { gsl: None, ..iridium(&[]) },
            with_isl(IslOptions { checks: IslChecks::Exact, ..IslOptions::default() }),
        )
        .unwrap();
        let mut changes = Vec::new();
        while topology.next_change() < at(700) {
            let now = topology.next_change();
            changes.clear();
            topology.advance(now, &mut changes);
            for change in changes.iter().filter(|_| now > Time::ZERO) {
                let (Change::LinkUp { link, .. } | Change::LinkDown { link, .. }) = change else { continue };
                let latitude = |node| {
                    let p = topology.position(node, now).unwrap();
                    libm::asin(p.z / p.norm()).to_degrees().abs()
                };
                let ends = &topology.links()[*link];
                let off = (latitude(ends.from) - 60.0).abs().min((latitude(ends.to.unwrap()) - 60.0).abs());
                // 0.06 degrees per second.
                assert!(off < 1e-6, "{off}");
                crossings += 1;
            }
        }
        // 66 satellites cross four times in 6027 s: 31 crossings in 700 s, each for up to two links of two directions.
        assert!((30..=124).contains(&crossings), "{crossings}");
        assert!(topology.serving(oslo).is_none() && topology.serving(quito).is_none(), "no ground links here");
    }
}

#[test]
fn satellites_check_their_links_at_random_times_of_their_own() {
    let times = |seed: u64| {
        let isl = IslOptions { checks: IslChecks::Randomised { seed }, ..IslOptions::default() };
        let mut topology = Topology::with_options(TopologySpec { gsl: None, ..iridium(&[]) }, with_isl(isl)).unwrap();
        let (mut times, mut changes) = (Vec::new(), Vec::new());
        while topology.next_change() < at(100) {
            times.push(topology.next_change());
            topology.advance(topology.next_change(), &mut changes);
        }
        let late = |link: &skyhop_topology::LinkId| topology.is_up(*link);
        (times, topology.links().ids().filter(late).count(), changes.len())
    };
    let (first, up, changes) = times(1);
    // 66 satellites, intervals of 10 s ± 2.9 s: 66 · (10 − (1 − 1/12)/2) = 630 checks within 100 s and one instant at
    // t = 0 for all; standard deviation of the sum 7.4, four of them.
    assert!((601..=661).contains(&first.len()), "{}", first.len());
    assert_eq!(first, times(1).0);
    assert_ne!(first, times(2).0);
    // No more than 15 s late, so nearly all links are as regular checks have them.
    let mut regular = Topology::new(TopologySpec { gsl: None, ..iridium(&[]) }).unwrap();
    run_to(&mut regular, at(99));
    let expected = regular.links().ids().filter(|&link| regular.is_up(link)).count();
    assert!(up.abs_diff(expected) <= 12 && changes > 0, "{up} {expected}");
}

#[test]
fn fewest_hops_and_shortest_delay_differ_where_they_should() {
    //   a ─1 ms─ b ─1 ms─ c ─1 ms─ d        and a ───── 10 ms ───── d
    let mut spec = TopologySpec { isl: None, gsl: None, ..network(["a", "b", "c", "d"].map(wired).to_vec()) };
    for (a, b, ms) in [(0, 1, 1), (1, 2, 1), (2, 3, 1), (0, 3, 10)] {
        spec.wired.extend(both_ways(a, b, Duration::from_millis(ms)));
    }
    let hops = |metric| {
        let mut topology =
            Topology::with_options(spec.clone(), SkyOptions { metric, ..SkyOptions::default() }).unwrap();
        let path = topology.path(NodeId::new(0), NodeId::new(3), Time::ZERO).unwrap();
        (path.hops.len(), path.delay)
    };
    assert_eq!(hops(Metric::Delay), (3, Duration::from_millis(3)));
    assert_eq!(hops(Metric::Hops), (1, Duration::from_millis(10)));
}

#[test]
fn what_cannot_be_is_refused() {
    let elements = skyhop_orbit::read_elements(
        b"1 25544U 98067A   20194.88612269 -.00002218  00000-0 -31515-4 0  9992
2 25544  51.6461 221.2784 0001413  89.1723 280.4612 15.49507896236008",
    );
    let orbit = Orbit::Elements { elements: elements.sets[0].elements, start: Utc::J2000 };
    let iss = NodeSpec { name: "iss".into(), kind: NodeKind::Satellite { orbit, plane: 0, slot: 0, shell: 0 } };
    let alone = network(vec![iss.clone(), NodeSpec { name: "copy".into(), ..iss }]);
    assert_eq!(
        Topology::new(alone.clone()).unwrap_err().to_string(),
        "satellite \"iss\" comes from elements and has no plane: use nearest neighbours or a list of links"
    );
    let nearest = IslOptions {
        layout: IslLayout::Nearest { links: 2 },
        longest: Some(Length::from_km(100.0)),
        ..IslOptions::default()
    };
    assert!(Topology::with_options(alone, with_isl(nearest)).is_ok());

    let spec = || iridium(&[station("x", 0.0, 0.0)]);
    let refused = |options: SkyOptions| Topology::with_options(spec(), options).unwrap_err();
    let mount = |node: u32, antennas| StationOptions { antennas, ..StationOptions::new(NodeId::new(node)) };
    let of = |stations| SkyOptions { stations, ..SkyOptions::default() };
    assert_eq!(refused(of(vec![mount(0, 1)])), TopologyError::StationOptions { index: 0 });
    assert_eq!(refused(of(vec![mount(66, 1), mount(66, 1)])), TopologyError::StationOptions { index: 1 });
    assert!(matches!(refused(of(vec![mount(66, 0)])), TopologyError::Antennas { antennas: 0, .. }));
    let gsl = GslOptions { users_per_satellite: Some(0), ..GslOptions::default() };
    assert_eq!(refused(SkyOptions { gsl, ..SkyOptions::default() }), TopologyError::UsersPerSatellite);
    for km in [0.0, f64::NAN] {
        let isl = IslOptions { longest: Some(Length::from_km(km)), ..IslOptions::default() };
        assert!(matches!(refused(with_isl(isl)), TopologyError::LongestIsl { .. }));
    }
    let isl = IslOptions {
        layout: IslLayout::Nearest { links: 17 },
        longest: Some(Length::from_km(9.0)),
        ..IslOptions::default()
    };
    assert_eq!(refused(with_isl(isl)), TopologyError::NearestLinks { links: 17 });
    let plain = Topology::new(spec()).unwrap();
    assert!(plain.links().iter().any(|link| link.kind == LinkKind::Isl));
}

#[test]
fn paris_to_moscow_steps_at_path_changes_and_is_continuous_between() {
    // The shape that the literature knows (Kassing et al., "Exploring the Internet from space with Hypatia", IMC 2020,
    // section 4): the RTT drifts with the satellites and jumps when the path changes.
    let walker = skyhop_orbit::preset("starlink-1").unwrap().remove(0);
    let mut nodes = shell(&walker, 0);
    nodes.extend([station("moscow", 55.7558, 37.6173), station("paris", 48.8566, 2.3522)]);
    let [moscow, paris] = [1584, 1585].map(NodeId::new);
    let mut spec = TopologySpec { earth: Earth::WGS84, ..network(nodes) };
    spec.isl.as_mut().unwrap().latitude_limit = None;
    spec.gsl = Some(GslRules {
        elevation_mask: degrees(25.0),
        policy: HandoverPolicy::HighestElevation,
        every: Duration::from_secs(15),
        check_times: CheckTimes::Slots { phase: Duration::from_secs(12) },
    });
    let mut topology = Topology::new(spec).unwrap();
    let (mut jumps, mut changes, mut before) = (Vec::new(), 0, None);
    for tenth in 0..2000 {
        let now = Time::ZERO + Duration::from_millis(100 * tenth);
        run_to(&mut topology, now);
        let path = topology.path(paris, moscow, now).unwrap();
        let (way, ms): (Vec<NodeId>, f64) =
            (path.hops.iter().map(|hop| hop.to).collect(), path.delay.as_secs_f64() * 1e3);
        // The great circle of 2487 km takes 8.3 ms; up, across and down adds at least 2 · 550 km when overhead.
        assert!((8.3..40.0).contains(&ms), "{ms}");
        if let Some((old_way, old_ms)) = before.replace((way.clone(), ms)) {
            let step: f64 = ms - old_ms;
            if old_way == way {
                // Two ground links that change by at most 7.6 km/s each, and links between planes by 1 km/s each.
                assert!(step.abs() < 25.0 * 0.1 / 299.792458, "{step} ms in 100 ms on one path");
            } else {
                changes += 1;
                jumps.push(step.abs());
            }
        }
    }
    // Slots of 15 s, 14 of them: most bring another satellite to one of two ends.
    assert!((5..=40).contains(&changes), "{changes}");
    assert!(jumps.iter().any(|&jump| jump > 0.5), "{jumps:?}");
}
