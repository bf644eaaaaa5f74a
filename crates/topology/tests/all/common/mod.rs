//! Networks that the tests share.
#![allow(dead_code, reason = "each test file uses a part")]

use skyhop_base::{Angle, Duration, Length, Time};
use skyhop_orbit::{CircularOrbit, Earth, GroundPoint, GroundStation, Orbit, Walker};
use skyhop_topology::{
    Change, GslRules, Handover, IslRules, NodeId, NodeKind, NodeSpec, RoutingRules, Topology, TopologySpec, WiredLink,
};

pub fn degrees(value: f64) -> Angle {
    Angle::from_degrees(value)
}

pub fn at(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

pub fn station(name: &str, latitude: f64, longitude: f64) -> NodeSpec {
    let point =
        GroundPoint { latitude: degrees(latitude), longitude: degrees(longitude), altitude: Length::from_km(0.0) };
    NodeSpec { name: name.to_owned(), kind: NodeKind::Station(GroundStation::new(point).unwrap()) }
}

pub fn wired(name: &str) -> NodeSpec {
    NodeSpec { name: name.to_owned(), kind: NodeKind::Wired }
}

/// A satellite at 780 km, of shell 0.
pub fn satellite(plane: u32, slot: u32, inclination: f64, raan: f64, argument: f64) -> NodeSpec {
    let orbit = Orbit::Circular(CircularOrbit {
        altitude: Length::from_km(780.0),
        inclination: degrees(inclination),
        raan: degrees(raan),
        argument_of_latitude: degrees(argument),
    });
    NodeSpec { name: format!("s-{plane}-{slot}"), kind: NodeKind::Satellite { orbit, plane, slot, shell: 0 } }
}

pub fn shell(walker: &Walker, shell: u32) -> Vec<NodeSpec> {
    let satellites = walker.satellites().unwrap().into_iter();
    satellites
        .map(|s| NodeSpec {
            name: s.name,
            kind: NodeKind::Satellite { orbit: s.orbit, plane: s.plane, slot: s.slot, shell },
        })
        .collect()
}

pub fn both_ways(a: u32, b: u32, delay: Duration) -> [WiredLink; 2] {
    let (a, b) = (NodeId::new(a), NodeId::new(b));
    [WiredLink { from: a, to: b, delay }, WiredLink { from: b, to: a, delay }]
}

pub fn network(nodes: Vec<NodeSpec>) -> TopologySpec {
    TopologySpec {
        earth: Earth::NS2,
        nodes,
        wired: Vec::new(),
        isl: Some(IslRules::iridium()),
        gsl: Some(GslRules::iridium()),
        routing: RoutingRules::default(),
    }
}

/// Iridium with the Iridium rules and these stations, which follow the 66 satellites.
pub fn iridium(stations: &[NodeSpec]) -> TopologySpec {
    let mut nodes = shell(&Walker::iridium(), 0);
    nodes.extend_from_slice(stations);
    network(nodes)
}

/// Runs all checks up to and including `until`; returns what changed.
pub fn run_to(topology: &mut Topology, until: Time) -> Vec<Change> {
    let mut changes = Vec::new();
    while topology.next_change() <= until {
        let now = topology.next_change();
        topology.advance(now, &mut changes);
        assert!(topology.next_change() > now);
    }
    changes
}

pub fn handovers(changes: &[Change]) -> Vec<Handover> {
    changes.iter().filter_map(|c| if let Change::Handover(h) = c { Some(*h) } else { None }).collect()
}

pub fn node(topology: &Topology, name: &str) -> NodeId {
    let found = topology.nodes().enumerated().find(|(_, node)| node.name == name);
    found.unwrap_or_else(|| panic!("no node {name}")).0
}

pub fn link(topology: &Topology, name: &str) -> skyhop_topology::LinkId {
    let found = topology.links().enumerated().find(|(_, link)| link.name == name);
    found.unwrap_or_else(|| panic!("no link {name}")).0
}
