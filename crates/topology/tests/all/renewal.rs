//! Routes that are renewed from those before equal routes that are searched anew, on skies drawn at random.

use crate::common::{at, both_ways, degrees, network, shell, station, wired};
use skyhop_base::{Duration, Length, Stream, Time};
use skyhop_orbit::{Earth, Pattern, Phasing, Walker};
use skyhop_topology::{
    CrossSeam, Forwarding, GslOptions, GslRules, HandoverPolicy, IslLayout, IslOptions, Metric, NodeId, SkyOptions,
    StationOptions, Switching, Topology, TopologySpec,
};

/// Stations in the sky, the last two of them gateways that a wire joins.
const STATIONS: u32 = 8;

fn sky(seed: u64) -> Topology {
    let mut stream = Stream::new(seed, "renewal", "sky");
    let mut below = |limit: u32| (stream.uniform() * f64::from(limit)) as u32;
    let polar = seed.is_multiple_of(2);
    let walker = Walker {
        name: "shell".to_owned(),
        pattern: if polar { Pattern::Star } else { Pattern::Delta },
        planes: 6 + below(6),
        per_plane: 8 + below(8),
        altitude: Length::from_km(f64::from(600 + 100 * below(8))),
        inclination: degrees(if polar { 86.4 } else { 53.0 }),
        // Without phasing satellites stand side by side, and paths are equally long.
        phasing: Phasing::Factor(below(2)),
        raan_spacing: None,
    };
    let mut nodes = shell(&walker, 0);
    let first = nodes.len() as u32;
    for n in 0..STATIONS {
        let (latitude, longitude) = (f64::from(below(110)) - 55.0, f64::from(below(360)) - 180.0);
        nodes.push(station(&format!("station-{n}"), latitude, longitude));
    }
    nodes.push(wired("wired"));
    let mut spec = TopologySpec { earth: Earth::WGS84, ..network(nodes) };
    let router = first + STATIONS;
    spec.wired = [first + STATIONS - 2, first + STATIONS - 1]
        .into_iter()
        .flat_map(|gateway| both_ways(gateway, router, Duration::from_millis(u64::from(5 + below(10)))))
        .collect();
    let isl = spec.isl.as_mut().unwrap();
    isl.every = Duration::from_secs(5);
    isl.cross_seam = if polar { CrossSeam::Nearest } else { CrossSeam::Open };
    let policy = if seed.is_multiple_of(3) { HandoverPolicy::UntilBelowMask } else { HandoverPolicy::HighestElevation };
    spec.gsl = Some(GslRules { elevation_mask: degrees(10.0), policy, ..GslRules::iridium() });
    spec.routing.every = Some(Duration::from_secs(2));
    let nearest = IslLayout::Nearest { links: 3 };
    let isl = match seed % 5 {
        4 => IslOptions { layout: nearest, longest: Some(Length::from_km(5000.0)), ..IslOptions::default() },
        _ => IslOptions::default(),
    };
    let outage = Switching::BreakBeforeMake { outage: Duration::from_millis(700) };
    let gsl =
        GslOptions { switching: if seed % 4 == 1 { outage } else { Switching::default() }, ..GslOptions::default() };
    let antennas = |n: u32| StationOptions { antennas: 2 + n, ..StationOptions::new(NodeId::new(first + n)) };
    let metric = if seed % 7 == 6 { Metric::Hops } else { Metric::Delay };
    let options = SkyOptions { isl, gsl, metric, stations: vec![antennas(0), antennas(1)], ..SkyOptions::default() };
    Topology::with_options(spec, options).unwrap()
}

#[test]
fn renewed_routes_equal_new_ones_on_random_skies() {
    let (mut changed, mut most) = (0, 0);
    for seed in 0..14 {
        let mut topology = sky(seed);
        topology.use_threads_always(1 + seed as usize % 3);
        let count = topology.nodes().len() as u32;
        let all: Vec<NodeId> = (0..count).map(NodeId::new).collect();
        // With satellites there are several groups, which threads share.
        let satellites = (0..count - 1 - STATIONS).step_by(2);
        let ends: Vec<NodeId> = satellites.chain(count - 1 - STATIONS..count).map(NodeId::new).collect();
        let (mut kept, mut before) = (Forwarding::default(), Vec::new());
        let mut changes = Vec::new();
        while topology.next_change() < at(60) {
            let now: Time = topology.next_change();
            topology.advance(now, &mut changes);
            topology.routes(&ends, now, &mut kept);
            let mut new = Forwarding::default();
            topology.routes(&ends, now, &mut new);
            let hops = |table: &Forwarding| {
                let row = |to: usize| all.iter().map(move |&from| (to, from));
                (0..ends.len()).flat_map(row).map(|(to, from)| table.next_hop(to, from)).collect::<Vec<_>>()
            };
            let (renewed, new) = (hops(&kept), hops(&new));
            assert!(renewed == new, "sky {seed} at {now:?}");
            changed += renewed.iter().zip(&before).filter(|(a, b)| a != b).count();
            before = renewed;
        }
        most = most.max(topology.route_threads());
    }
    assert_eq!(most, 3, "threads that found routes together");
    assert!(changed > 1000, "{changed} hops changed");
}
