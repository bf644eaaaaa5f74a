//! Answers questions about the sky, one JSON object per line in and out, so that independent libraries can be asked the
//! same: `python/tests/test_sky_oracle.py` does.
#![allow(clippy::print_stdout, reason = "a program for a pipe")]

use serde_json::{Value, json};
use skyhop_base::{Angle, Duration, Index, Length, Time};
use skyhop_orbit::{
    Catalogue, Earth, GroundPoint, GroundStation, Orbit, Pattern, Phasing, Satellite, Utc, Walker, passes,
    read_elements,
};
use skyhop_topology::{
    CheckTimes, CrossSeam, GslRules, HandoverPolicy, IslLayout, IslOptions, IslRules, Metric, NodeId, NodeKind,
    NodeSpec, RoutingRules, SkyOptions, StationOptions, Topology, TopologySpec,
};
use std::error::Error;

type Answer = Result<Value, Box<dyn Error>>;

fn main() {
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let answer = serde_json::from_str::<Value>(&line).map_err(Into::into).and_then(|ask| answer(&ask));
        println!("{}", answer.unwrap_or_else(|error| json!({ "error": error.to_string() })));
    }
}

fn answer(ask: &Value) -> Answer {
    match ask["op"].as_str() {
        Some("positions") => positions(ask),
        Some("passes") => all_passes(ask),
        Some("routes") => routes(ask),
        Some("delays") => delays(ask),
        other => Err(format!("unknown operation {other:?}").into()),
    }
}

fn number(ask: &Value, key: &str) -> Result<f64, String> {
    ask[key].as_f64().ok_or_else(|| format!("{key} must be a number"))
}

fn seconds(value: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(value)
}

fn catalogue(ask: &Value) -> Result<Catalogue, Box<dyn Error>> {
    let path = ask["elements"].as_str().ok_or("elements must be a path")?;
    let start: Utc = ask["start"].as_str().ok_or("start must be an instant")?.parse()?;
    let file = read_elements(&std::fs::read(path)?);
    Ok(Catalogue::new(&file.sets, start, Catalogue::OLDEST))
}

fn catalogue_number(satellite: &Satellite) -> u32 {
    match satellite.orbit {
        Orbit::Elements { elements, .. } => elements.catalogue_number,
        _ => 0,
    }
}

/// Of every `stride`-th satellite at `times_s` after the start, in TEME and Earth-fixed.
fn positions(ask: &Value) -> Answer {
    let times: Vec<f64> = serde_json::from_value(ask["times_s"].clone())?;
    let stride = ask["stride"].as_u64().unwrap_or(1).max(1) as usize;
    let mut found = Vec::new();
    for satellite in catalogue(ask)?.satellites.iter().step_by(stride) {
        let Orbit::Elements { elements, start } = satellite.orbit else { continue };
        let propagator = elements.propagator()?;
        let motion = satellite.orbit.motion(&Earth::WGS84);
        let (mut teme, mut fixed) = (Vec::new(), Vec::new());
        for t in times.iter().map(|&t| seconds(t)) {
            let (position, _) = propagator.teme(start.after(t)).ok_or("decayed")?;
            teme.push([position.x, position.y, position.z]);
            let position = motion.earth_fixed_km(&Earth::WGS84, t);
            fixed.push([position.x, position.y, position.z]);
        }
        found.push(json!({ "number": elements.catalogue_number, "teme_km": teme, "fixed_km": fixed }));
    }
    Ok(json!({ "satellites": found }))
}

fn all_passes(ask: &Value) -> Answer {
    let site = station(number(ask, "latitude_deg")?, number(ask, "longitude_deg")?)?.site(&Earth::WGS84);
    let (until, mask) = (seconds(number(ask, "until_s")?), Angle::from_degrees(number(ask, "mask_deg")?));
    let mut found = Vec::new();
    for satellite in catalogue(ask)?.satellites {
        let motion = satellite.orbit.motion(&Earth::WGS84);
        for pass in passes(&Earth::WGS84, &site, &motion, Time::ZERO, until, mask) {
            let highest = pass.highest.degrees();
            let times = [pass.rise, pass.culmination, pass.set].map(Time::as_secs_f64);
            found.push(json!({ "number": catalogue_number(&satellite), "times_s": times, "highest_deg": highest }));
        }
    }
    Ok(json!({ "passes": found }))
}

fn station(latitude: f64, longitude: f64) -> Result<GroundStation, Box<dyn Error>> {
    let point = GroundPoint {
        latitude: Angle::from_degrees(latitude),
        longitude: Angle::from_degrees(longitude),
        altitude: Length::from_km(0.0),
    };
    Ok(GroundStation::new(point)?)
}

/// The path between two stations over a Walker constellation at one instant, with the links that are up. Each station
/// has the highest satellite.
fn routes(ask: &Value) -> Answer {
    let count = |key: &str| number(ask, key).map(|value| value as u32);
    let star = ask["pattern"] == "star";
    let walker = Walker {
        name: "w".to_owned(),
        pattern: if star { Pattern::Star } else { Pattern::Delta },
        planes: count("planes")?,
        per_plane: count("per_plane")?,
        altitude: Length::from_km(number(ask, "altitude_km")?),
        inclination: Angle::from_degrees(number(ask, "inclination_deg")?),
        phasing: Phasing::Factor(count("phasing")?),
        raan_spacing: None,
    };
    let satellite = |s: Satellite| NodeSpec {
        name: s.name,
        kind: NodeKind::Satellite { orbit: s.orbit, plane: s.plane, slot: s.slot, shell: 0 },
    };
    let mut nodes: Vec<NodeSpec> = walker.satellites()?.into_iter().map(satellite).collect();
    let stations: Vec<[f64; 2]> = serde_json::from_value(ask["stations_deg"].clone())?;
    let first = nodes.len();
    for (n, &[latitude, longitude]) in stations.iter().enumerate() {
        nodes.push(NodeSpec { name: format!("g{n}"), kind: NodeKind::Station(station(latitude, longitude)?) });
    }
    let isl = IslRules {
        cross_seam: CrossSeam::Open,
        latitude_limit: ask["latitude_limit_deg"].as_f64().map(Angle::from_degrees),
        grazing_altitude: Length::from_km(80.0),
        every: Duration::from_secs(10),
    };
    let gsl = GslRules {
        elevation_mask: Angle::from_degrees(number(ask, "mask_deg")?),
        policy: HandoverPolicy::HighestElevation,
        every: Duration::from_secs(10),
        check_times: CheckTimes::Regular,
    };
    let spec = TopologySpec {
        earth: Earth::WGS84,
        nodes,
        wired: Vec::new(),
        isl: Some(isl),
        gsl: Some(gsl),
        routing: RoutingRules::default(),
    };
    let layout = match ask["nearest"].as_u64() {
        Some(links) => IslLayout::Nearest { links: links as u32 },
        None => IslLayout::Grid,
    };
    let longest = ask["longest_km"].as_f64().map(Length::from_km);
    let metric = if ask["metric"] == "hops" { Metric::Hops } else { Metric::Delay };
    let options =
        SkyOptions { isl: IslOptions { layout, longest, ..IslOptions::default() }, metric, ..SkyOptions::default() };
    let mut topology = Topology::with_options(spec, options)?;
    let now = seconds(number(ask, "at_s")?);
    topology.advance(now, &mut Vec::new());
    let isls: Vec<[u32; 2]> = topology
        .links()
        .enumerated()
        .filter(|(_, link)| link.kind == skyhop_topology::LinkKind::Isl)
        .filter_map(|(id, link)| Some([link.from.as_u32(), topology.peer(id)?.as_u32()]))
        .collect();
    let ends: Vec<NodeId> = (first..first + stations.len()).map(NodeId::from_usize).collect();
    let serving: Vec<Option<u32>> = ends.iter().map(|&end| topology.serving(end).map(|s| s.as_u32())).collect();
    let path = topology.path(ends[0], ends[1], now).map(|path| {
        let hops: Vec<Value> =
            path.hops.iter().map(|hop| json!([hop.from.as_u32(), hop.to.as_u32(), hop.delay.as_nanos()])).collect();
        json!({ "hops": hops, "delay_ns": path.delay.as_nanos() })
    });
    Ok(json!({ "isls": isls, "serving": serving, "path": path }))
}

/// The delay between two stations over a preset over time, with slots of 15 s and the highest satellites in each, one
/// for every antenna.
fn delays(ask: &Value) -> Answer {
    let name = ask["preset"].as_str().ok_or("preset must be a name")?;
    let walkers = skyhop_orbit::preset(name).ok_or("no such preset")?;
    let mut nodes = Vec::new();
    for (shell, walker) in (0..).zip(walkers) {
        nodes.extend(walker.satellites()?.into_iter().map(|s| NodeSpec {
            name: s.name,
            kind: NodeKind::Satellite { orbit: s.orbit, plane: s.plane, slot: s.slot, shell },
        }));
    }
    let stations: Vec<[f64; 2]> = serde_json::from_value(ask["stations_deg"].clone())?;
    let first = nodes.len();
    for (n, &[latitude, longitude]) in stations.iter().enumerate() {
        nodes.push(NodeSpec { name: format!("g{n}"), kind: NodeKind::Station(station(latitude, longitude)?) });
    }
    let isl = IslRules {
        cross_seam: CrossSeam::Open,
        latitude_limit: None,
        grazing_altitude: Length::from_km(80.0),
        every: Duration::from_secs(10),
    };
    let gsl = GslRules {
        elevation_mask: Angle::from_degrees(number(ask, "mask_deg")?),
        policy: HandoverPolicy::HighestElevation,
        every: Duration::from_secs(15),
        check_times: CheckTimes::Slots { phase: Duration::from_secs(12) },
    };
    let routing = RoutingRules::default();
    let spec = TopologySpec { earth: Earth::WGS84, nodes, wired: Vec::new(), isl: Some(isl), gsl: Some(gsl), routing };
    let antennas = ask["antennas"].as_u64().unwrap_or(1) as u32;
    let options = |n| StationOptions { antennas, ..StationOptions::new(NodeId::from_usize(first + n)) };
    let stations = (0..stations.len()).map(options).collect();
    let mut topology = Topology::with_options(spec, SkyOptions { stations, ..SkyOptions::default() })?;
    let [from, to] = [first, first + 1].map(NodeId::from_usize);
    let (step, until) = (Duration::from_secs_f64(number(ask, "step_s")?), seconds(number(ask, "until_s")?));
    let (mut now, mut found, mut changes) = (Time::ZERO, Vec::new(), Vec::new());
    while now < until {
        while topology.next_change() <= now {
            topology.advance(topology.next_change(), &mut changes);
        }
        let path = topology.path(from, to, now);
        let hops = path.as_ref().map(|path| path.hops.iter().map(|hop| hop.to.as_u32()).collect::<Vec<_>>());
        found.push(json!([now.as_secs_f64(), path.map(|path| path.delay.as_secs_f64()), hops]));
        now += step;
    }
    Ok(json!({ "delays": found }))
}
