//! What positions, visibility, handovers and routes cost on one core, in CPU time, and routes on two.
//!
//! `cargo run --release -p skyhop-topology --example sky_speed [elements.tle]`: with a file of elements also what
//! 8,451 satellites of Starlink cost. The CPU and the load of the machine stand beside the figures.
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use cpu_time::ProcessTime;
use skyhop_base::{Angle, Duration, Index, Length, Stream, Time};
use skyhop_orbit::{
    Catalogue, Earth, GroundPoint, GroundStation, Motion, Pattern, Phasing, Site, SkyIndex, Vec3, Walker,
    earth_fixed_positions, read_elements,
};
use skyhop_topology::{
    CheckTimes, CrossSeam, Forwarding, GslRules, HandoverPolicy, IslLayout, IslOptions, IslRules, NodeId, NodeKind,
    NodeSpec, RoutingRules, SkyOptions, Topology, TopologySpec,
};
use std::time::Instant;

fn main() {
    println!("{}", machine());
    if let Some(path) = std::env::args().nth(1) {
        match std::fs::read(&path) {
            Ok(bytes) => from_elements(&bytes),
            Err(error) => println!("{path}: {error}"),
        }
    }
    for threads in [1, 2] {
        first_shell(threads);
    }
}

/// CPU model and load, as Linux tells them.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown CPU", |(_, name)| name);
    let load = read("/proc/loadavg");
    format!("{model}, load {}", load.split(' ').next().unwrap_or("unknown"))
}

/// Milliseconds of CPU for one of `times` runs.
fn cost_ms(times: u32, run: impl FnMut(u32)) -> f64 {
    costs_ms(times, run).1
}

/// Milliseconds that one of `times` runs takes, and those of CPU of all threads.
fn costs_ms(times: u32, mut run: impl FnMut(u32)) -> (f64, f64) {
    let (begin, cpu) = (Instant::now(), ProcessTime::now());
    (0..times).for_each(&mut run);
    let each = |seconds: f64| seconds * 1e3 / f64::from(times);
    (each(begin.elapsed().as_secs_f64()), each(cpu.elapsed().as_secs_f64()))
}

fn stations(count: usize) -> Vec<GroundStation> {
    let mut stream = Stream::new(1, "stations", "place");
    let mut place = || GroundPoint {
        // Between 60° south and 60° north, evenly by area.
        latitude: Angle::from_degrees(libm::asin(1.732 * (stream.uniform() - 0.5)).to_degrees()),
        longitude: Angle::from_degrees(360.0 * stream.uniform() - 180.0),
        altitude: Length::from_km(0.0),
    };
    (0..count).filter_map(|_| GroundStation::new(place()).ok()).collect()
}

fn from_elements(bytes: &[u8]) {
    let mut file = read_elements(&[]);
    let reading = cost_ms(1, |_| file = read_elements(bytes));
    let start = file.sets.iter().map(|set| set.elements.epoch).max();
    let Some(start) = start else { return println!("no elements") };
    let earth = Earth::WGS84;
    let catalogue = Catalogue::new(&file.sets, start, Catalogue::OLDEST);
    println!(
        "{} sets read in {reading:.1} ms, {} problems, {} satellites at {start}, {} notes",
        file.sets.len(),
        file.problems.len(),
        catalogue.satellites.len(),
        catalogue.notes.len(),
    );
    let motions: Vec<Motion> = catalogue.satellites.iter().map(|satellite| satellite.orbit.motion(&earth)).collect();
    let at = |n: u32| Time::ZERO + Duration::from_secs(u64::from(n) * 60);
    let mut positions: Vec<Vec3> = Vec::new();
    let cost = cost_ms(50, |n| {
        positions.clear();
        positions.extend(earth_fixed_positions(&earth, motions.iter(), at(n)));
    });
    println!("positions of {} satellites at one instant: {cost:.2} ms", motions.len());
    let sites: Vec<Site> = stations(1000).iter().map(|station| station.site(&earth)).collect();
    let sin_mask = libm::sin(Angle::from_degrees(25.0).radians());
    let (mut index, mut found, mut seen) = (SkyIndex::default(), Vec::new(), 0);
    let cost = cost_ms(50, |_| {
        index.renew(&positions, 0..positions.len() as u32);
        seen = 0;
        for site in &sites {
            index.visible(site, sin_mask, &positions, &mut found);
            seen += found.len();
        }
    });
    println!("visibility for {} stations (index included): {cost:.2} ms, {seen} pairs", sites.len());
    let mut all = 0;
    let cost = cost_ms(3, |_| {
        let sees = |site: &Site| positions.iter().filter(|&&place| site.sin_elevation(place) > sin_mask).count();
        all = sites.iter().map(sees).sum();
    });
    println!("  by looking at all pairs: {cost:.2} ms, {all} pairs");

    let satellite = |satellite: &skyhop_orbit::Satellite| NodeSpec {
        name: satellite.name.clone(),
        kind: NodeKind::Satellite { orbit: satellite.orbit, plane: 0, slot: satellite.slot, shell: 0 },
    };
    let nodes: Vec<NodeSpec> = catalogue.satellites.iter().map(satellite).collect();
    let gsl = GslRules { check_times: CheckTimes::Slots { phase: Duration::from_secs(12) }, ..gsl() };
    let Some(mut topology) = network(nodes.clone(), 1000, None, GslRules { every: Duration::from_secs(15), ..gsl })
    else {
        return;
    };
    let mut changes = Vec::new();
    let cost = cost_ms(40, |_| {
        changes.clear();
        topology.advance(topology.next_change(), &mut changes);
    });
    println!("one slot of 1000 terminals, each takes the highest satellite: {cost:.2} ms, {} changes", changes.len());
    joined_up(nodes);
}

/// The same satellites, each linked to its four nearest neighbours, with routes to 1000 stations.
fn joined_up(mut nodes: Vec<NodeSpec>) {
    let first = nodes.len();
    let station = |(n, station)| NodeSpec { name: format!("station-{n}"), kind: NodeKind::Station(station) };
    nodes.extend(stations(1000).into_iter().enumerate().map(station));
    let isl = IslRules { latitude_limit: None, ..IslRules::iridium() };
    let (wired, routing) = (Vec::new(), RoutingRules::default());
    let spec = TopologySpec { earth: Earth::WGS84, nodes, wired, isl: Some(isl), gsl: Some(gsl()), routing };
    let layout = IslLayout::Nearest { links: 4 };
    let isl = IslOptions { layout, longest: Some(Length::from_km(1000.0)), ..IslOptions::default() };
    let Ok(mut topology) = Topology::with_options(spec, SkyOptions { isl, ..SkyOptions::default() }) else { return };
    let mut changes = Vec::new();
    let cost = cost_ms(30, |_| {
        changes.clear();
        topology.advance(topology.next_change(), &mut changes);
    });
    println!("nearest neighbours every 10 s, 1000 terminals every second: {cost:.2} ms for a second");
    let destinations: Vec<NodeId> = (first..first + 1000).map(NodeId::from_usize).collect();
    let at = |n: u32| Time::ZERO + Duration::from_millis(30_000 + u64::from(n) * 100);
    for threads in [1, 2] {
        topology.use_threads(threads);
        let mut forwarding = Forwarding::default();
        let (first, cpu) = costs_ms(1, |n| topology.routes(&destinations, at(n), &mut forwarding));
        println!("routes from everywhere to 1000 stations, threads: {threads}");
        println!("  the first time: {first:.2} ms, of CPU {cpu:.2} ms");
        let (cost, cpu) = costs_ms(40, |n| topology.routes(&destinations, at(n + 1), &mut forwarding));
        println!("  renewed every 100 ms: {cost:.2} ms, of CPU {cpu:.2} ms, positions included");
    }
}

fn gsl() -> GslRules {
    GslRules {
        elevation_mask: Angle::from_degrees(25.0),
        policy: HandoverPolicy::HighestElevation,
        every: Duration::from_secs(1),
        check_times: CheckTimes::Regular,
    }
}

fn network(mut nodes: Vec<NodeSpec>, count: usize, isl: Option<IslRules>, gsl: GslRules) -> Option<Topology> {
    let station = |(n, station)| NodeSpec { name: format!("station-{n}"), kind: NodeKind::Station(station) };
    nodes.extend(stations(count).into_iter().enumerate().map(station));
    let routing = RoutingRules { every: Some(Duration::from_millis(100)) };
    let routing = if isl.is_some() { routing } else { RoutingRules::default() };
    let spec = TopologySpec { earth: Earth::WGS84, nodes, wired: Vec::new(), isl, gsl: Some(gsl), routing };
    match Topology::new(spec) {
        Ok(topology) => Some(topology),
        Err(error) => {
            println!("{error}");
            None
        }
    }
}

/// Starlink's first shell, 72 × 22 with +Grid, 100 stations, routes to all of them every 100 ms for 100 s.
fn first_shell(threads: usize) {
    let walker = Walker {
        name: "shell".to_owned(),
        pattern: Pattern::Delta,
        planes: 72,
        per_plane: 22,
        altitude: Length::from_km(550.0),
        inclination: Angle::from_degrees(53.0),
        phasing: Phasing::Factor(39),
        raan_spacing: None,
    };
    let Ok(satellites) = walker.satellites() else { return };
    let node = |s: skyhop_orbit::Satellite| NodeSpec {
        name: s.name,
        kind: NodeKind::Satellite { orbit: s.orbit, plane: s.plane, slot: s.slot, shell: 0 },
    };
    let isl = IslRules {
        cross_seam: CrossSeam::Open,
        latitude_limit: None,
        grazing_altitude: Length::from_km(80.0),
        every: Duration::from_secs(10),
    };
    let Some(mut topology) = network(satellites.into_iter().map(node).collect(), 100, Some(isl), gsl()) else {
        return;
    };
    topology.use_threads(threads);
    let destinations: Vec<NodeId> = (0..100).map(|n| NodeId::from_usize(72 * 22 + n)).collect();
    let (mut forwarding, mut changes) = (Forwarding::default(), Vec::new());
    let (mut renewals, mut handovers, mut memory) = (0, 0, Vec::new());
    let end = Time::ZERO + Duration::from_secs(100);
    let (cost, cpu) = costs_ms(1, |_| {
        while topology.next_change() < end {
            let now = topology.next_change();
            changes.clear();
            topology.advance(now, &mut changes);
            handovers += changes.iter().filter(|c| matches!(c, skyhop_topology::Change::Handover(_))).count();
            topology.routes(&destinations, now, &mut forwarding);
            renewals += 1;
            if renewals % 300 == 100 {
                memory.push(resident_mib());
            }
        }
    });
    println!(
        "72 x 22, 100 stations, 100 s, threads: {threads}: {:.2} ms for each of {renewals} renewals, of CPU {:.2} ms, \
         {handovers} handovers",
        cost / f64::from(renewals),
        cpu / f64::from(renewals)
    );
    println!("  resident memory at 10, 40, 70 s: {memory:?} MiB");
}

fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}
