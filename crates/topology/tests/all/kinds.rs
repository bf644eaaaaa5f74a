//! Handovers between spot beams, and between satellites and a terrestrial network.

use crate::common::*;
use skyhop_base::{Duration, Index, Length, Time};
use skyhop_orbit::{Earth, GroundPoint, Walker};
use skyhop_topology::{
    BeamOptions, Change, CheckTimes, GslOptions, GslRules, Handover, HandoverKind, HandoverPolicy, LinkKind, NodeId,
    NodeSpec, SkyOptions, Switching, TerrestrialOptions, TerrestrialRule, Topology, TopologyError, TopologySpec, Why,
    WiredLink,
};

/// Iridium without links between satellites, and these besides.
fn sky(others: Vec<NodeSpec>) -> (TopologySpec, Vec<NodeId>) {
    let mut nodes = shell(&Walker::iridium(), 0);
    let first = nodes.len();
    let ids = (first..first + others.len()).map(NodeId::from_usize).collect();
    nodes.extend(others);
    let policy = HandoverPolicy::UntilBelowMask;
    let gsl = GslRules {
        elevation_mask: degrees(8.2),
        policy,
        every: Duration::from_secs(10),
        check_times: CheckTimes::Regular,
    };
    (TopologySpec { earth: Earth::NS2, isl: None, gsl: Some(gsl), ..network(nodes) }, ids)
}

fn beams(every_s: u64, outage_ms: u64) -> BeamOptions {
    let (every, outage) = (Duration::from_secs(every_s), Duration::from_millis(outage_ms));
    BeamOptions { rings: BeamOptions::IRIDIUM_RINGS.to_vec(), every, outage }
}

/// All handovers of a time.
fn handovers(topology: &mut Topology, until: Time) -> Vec<Handover> {
    let mut found = Vec::new();
    let mut changes = Vec::new();
    while topology.next_change() <= until {
        let now = topology.next_change();
        changes.clear();
        topology.advance(now, &mut changes);
        found.extend(changes.iter().filter_map(|change| match change {
            Change::Handover(handover) => Some(*handover),
            _ => None,
        }));
    }
    found
}

#[test]
fn beams_are_where_the_geometry_puts_them() {
    // Eight rings across 4100 km at 6.6 km/s over ground make 78 s each on a path through the middle; sectors make it
    // less.
    let seconds = seconds_of_beams(8.2, 8.2);
    assert!((30.0..78.0).contains(&seconds), "a beam lasts {seconds} s");
}

/// A station on the ground sees nothing below its horizon, so beams that lit more would leave the outer rings unused.
#[test]
fn beams_of_a_mask_below_the_horizon_end_at_the_horizon() {
    // Eight rings across 6000 km.
    let seconds = seconds_of_beams(-5.0, 0.0);
    assert!((30.0..114.0).contains(&seconds), "a beam lasts {seconds} s");
}

/// How long a beam lasts on average, after checking that each is in the ring that the elevation gives; `edge` is the
/// elevation at the edge of the footprint. Both angles are in degrees.
fn seconds_of_beams(mask: f64, edge: f64) -> f64 {
    let places = vec![station("equator", 0.0, 10.0), station("palermo", 38.1, 13.4), station("oslo", 59.9, 10.7)];
    let (mut spec, _) = sky(places);
    spec.gsl = spec.gsl.map(|gsl| GslRules { elevation_mask: degrees(mask), ..gsl });
    let options = SkyOptions { beams: Some(beams(1, 0)), ..SkyOptions::default() };
    let mut topology = Topology::with_options(spec, options).unwrap();
    let hours = 12.0;
    let found = handovers(&mut topology, Time::ZERO + Duration::from_secs((hours * 3600.0) as u64));
    let (of_beams, of_satellites): (Vec<Handover>, Vec<Handover>) =
        found.into_iter().partition(|h| h.kind == HandoverKind::Beam);
    assert!(of_satellites.iter().all(|h| h.to.is_none() || h.beams[1].is_some()));
    for handover in &of_beams {
        assert_eq!((handover.from, handover.why), (handover.to, Why::NextBeam));
        let beam = handover.beams[1].unwrap();
        assert!(handover.beams[0].is_some_and(|before| before != beam) && beam < 48);
        // The ring that spherical geometry gives to the elevation: λ = acos(R cos ε / r) − ε, beams by 1 − cos λ.
        let lambda = |elevation: f64| (6378.0 * elevation.cos() / 7158.0).acos() - elevation;
        let share = (1.0 - lambda(handover.elevation.radians()).cos()) / (1.0 - lambda(edge.to_radians()).cos());
        let ring = [3, 12, 27, 48].iter().position(|&end| beam < end).unwrap();
        let bounds = [0.0, 3.0 / 48.0, 12.0 / 48.0, 27.0 / 48.0, 1.0];
        let inside = share > bounds[ring] - 1e-9 && (share < bounds[ring + 1] + 1e-9 || ring == 3);
        assert!(inside, "beam {beam} at share {share}");
    }
    3.0 * hours * 3600.0 / of_beams.len() as f64
}

#[test]
fn a_change_of_beams_may_cost_an_outage() {
    let (spec, ids) = sky(vec![station("palermo", 38.1, 13.4)]);
    let options = SkyOptions { beams: Some(beams(1, 20)), ..SkyOptions::default() };
    let mut topology = Topology::with_options(spec, options).unwrap();
    let uplink = topology.uplink(ids[0]).unwrap();
    let mut changes = Vec::new();
    let handover = loop {
        changes.clear();
        topology.advance(topology.next_change(), &mut changes);
        match changes.first() {
            Some(Change::Handover(handover)) if handover.kind == HandoverKind::Beam => break *handover,
            _ => {}
        }
    };
    let satellite = handover.to.unwrap();
    let downlink = topology.downlink(satellite).unwrap();
    let down = [
        Change::LinkDown { link: downlink, why: Why::ServesNone },
        Change::LinkDown { link: uplink, why: Why::NextBeam },
        Change::Routes,
    ];
    assert_eq!(changes[1..], down);
    assert_eq!(topology.path(ids[0], satellite, handover.at), None);
    assert_eq!(topology.next_change(), handover.at + Duration::from_millis(20));
    topology.advance(topology.next_change(), &mut changes);
    assert!(topology.is_up(uplink) && topology.is_up(downlink));
    assert_eq!(topology.serving(ids[0]), Some(satellite));
}

/// A station and a node of the terrestrial network, with wires of 5 ms.
fn with_fallback(place: NodeSpec, rule: TerrestrialRule) -> (TopologySpec, SkyOptions, [NodeId; 2]) {
    let (mut spec, ids) = sky(vec![place, wired("town")]);
    let (user, town) = (ids[0], ids[1]);
    let delay = Duration::from_millis(5);
    spec.wired = vec![WiredLink { from: user, to: town, delay }, WiredLink { from: town, to: user, delay }];
    let terrestrial = vec![TerrestrialOptions { station: user, to: town, rule }];
    (spec, SkyOptions { terrestrial, ..SkyOptions::default() }, [user, town])
}

fn is_connected(topology: &mut Topology, [user, town]: [NodeId; 2], now: Time) -> bool {
    let wire = topology.links().enumerated().find(|(_, link)| link.kind == LinkKind::Wired).unwrap().0;
    let up = topology.is_up(wire);
    assert_eq!(topology.path(user, town, now).is_some(), up);
    assert!(!(up && topology.serving(user).is_some()), "either a satellite or the terrestrial network");
    up
}

#[test]
fn the_terrestrial_network_is_used_by_the_clock() {
    let times = vec![(at(100), at(200)), (at(301), at(312))];
    let (spec, options, ends) = with_fallback(station("palermo", 38.1, 13.4), TerrestrialRule::During(times));
    let mut topology = Topology::with_options(spec, options).unwrap();
    assert!(!topology.is_gateway(ends[0]), "who falls back on a wire forwards nothing");
    let found: Vec<Handover> = handovers(&mut topology, at(1000))
        .into_iter()
        .filter(|handover| handover.kind == HandoverKind::Terrestrial)
        .collect();
    // Checks are every 10 s.
    assert_eq!(found.iter().map(|h| h.at).collect::<Vec<_>>(), [at(100), at(200), at(310), at(320)]);
    for pair in found.chunks(2) {
        assert!(pair[0].from.is_some() && pair[0].to.is_none() && pair[0].why == Why::TerrestrialTime);
        assert!(pair[1].from.is_none() && pair[1].to.is_some() && pair[1].why == Why::BackToSatellite);
    }
}

#[test]
fn the_terrestrial_network_is_used_where_satellites_are_low_or_it_covers() {
    let place = || station("palermo", 38.1, 13.4);
    let (spec, options, ends) = with_fallback(place(), TerrestrialRule::Below(degrees(20.0)));
    let mut topology = Topology::with_options(spec, options).unwrap();
    let mut grounded = 0;
    for step in 0..400 {
        run_to(&mut topology, at(10 * step));
        if is_connected(&mut topology, ends, at(10 * step)) {
            grounded += 1;
        } else {
            let serving = topology.serving(ends[0]).unwrap();
            assert!(topology.look(ends[0], serving, at(10 * step)).unwrap().elevation.degrees() > 20.0);
        }
    }
    assert!((20..380).contains(&grounded), "{grounded}");
    let near = |degrees_off: f64| {
        let centre = GroundPoint {
            latitude: degrees(38.1 + degrees_off),
            longitude: degrees(13.4),
            altitude: Length::from_km(0.0),
        };
        let rule = TerrestrialRule::Within { centre, radius: Length::from_km(50.0) };
        let (spec, options, ends) = with_fallback(place(), rule);
        let mut topology = Topology::with_options(spec, options).unwrap();
        run_to(&mut topology, at(0));
        is_connected(&mut topology, ends, at(0))
    };
    // A degree of latitude is 111 km.
    assert!(near(0.4) && !near(0.5));
}

#[test]
fn without_a_satellite_the_terrestrial_network_takes_over_after_the_outage() {
    let (mut spec, options, ends) = with_fallback(station("palermo", 38.1, 13.4), TerrestrialRule::NoSatellite);
    // One satellite: most of the time there is none in sight.
    let [user, town] = ends;
    spec.nodes =
        spec.nodes.drain(..).enumerate().filter(|(n, _)| *n == 0 || *n >= user.index()).map(|(_, n)| n).collect();
    let ends = [NodeId::new(1), NodeId::new(2)];
    let renamed = |node: NodeId| if node == user { ends[0] } else { ends[1] };
    spec.wired.iter_mut().for_each(|wire| (wire.from, wire.to) = (renamed(wire.from), renamed(wire.to)));
    let outage = Duration::from_millis(300);
    let gsl = GslOptions { switching: Switching::BreakBeforeMake { outage }, ..GslOptions::default() };
    let terrestrial =
        vec![TerrestrialOptions { station: ends[0], to: renamed(town), ..options.terrestrial[0].clone() }];
    let mut topology = Topology::with_options(spec, SkyOptions { gsl, terrestrial, ..SkyOptions::default() }).unwrap();
    let mut changes = Vec::new();
    let (mut away, mut back) = (0, 0);
    while topology.next_change() < at(86_400) {
        changes.clear();
        let now = topology.next_change();
        topology.advance(now, &mut changes);
        let Some(Change::Handover(handover)) = changes.first().copied().filter(|_| now > Time::ZERO) else { continue };
        assert_eq!(handover.kind, HandoverKind::Terrestrial);
        assert!(!is_connected(&mut topology, ends, now) && topology.next_change() == now + outage);
        topology.advance(now + outage, &mut changes);
        let connected = is_connected(&mut topology, ends, now + outage);
        assert_eq!((connected, handover.to.is_none()), (handover.why == Why::OnlyTerrestrial, connected));
        if connected { away += 1 } else { back += 1 }
    }
    assert!(away >= 4 && back >= 4, "{away} {back}");
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |options: SkyOptions| {
        let (mut spec, ids) = sky(vec![station("palermo", 38.1, 13.4), wired("town")]);
        spec.wired = vec![WiredLink { from: ids[0], to: ids[1], delay: Duration::ZERO }];
        Topology::with_options(spec, options).unwrap_err()
    };
    let one_way =
        TerrestrialOptions { station: NodeId::new(66), to: NodeId::new(67), rule: TerrestrialRule::NoSatellite };
    let options = SkyOptions { terrestrial: vec![one_way], ..SkyOptions::default() };
    assert_eq!(refused(options), TopologyError::Terrestrial { index: 0 });
    for rings in [vec![], vec![3, 0], vec![u32::MAX, 2]] {
        let beams = Some(BeamOptions { rings, ..beams(1, 0) });
        assert_eq!(refused(SkyOptions { beams, ..SkyOptions::default() }), TopologyError::Beams { most: 10_000 });
    }
}
