//! The sky of a scenario without running it: who is where, who sees whom, and when.

use crate::Error;
use crate::paths::{Network, hops};
use serde_json::{Value, json};
use skyhop_base::{Duration, Index, Time};
use skyhop_orbit::{Earth, GroundPoint, Motion, Phasing, Preset, Track, Vec3, Walker, passes_over};
use skyhop_scenario::Scenario;
use skyhop_topology::{LinkKind, NodeId, NodeKind, Topology, TopologySpec};

/// Largest number of positions of an ephemeris: a gigabyte of text.
const MOST_POSITIONS: f64 = 2e7;

/// Everything at `at_s` seconds of a run with this seed: satellites with their place on the globe, stations with the
/// satellites that serve them, links between satellites that are up, paths of the flows. `antennas` of a station has
/// for each antenna the satellite at which it points (null without one), where that stands, and whether the link is up,
/// which it is not while the satellite is acquired. `satellite` and its angles are those of the first antenna that has
/// one.
///
/// # Errors
/// [`Error::OutsideRun`] for a moment before the start or after the end; [`Error::Simulation`].
pub fn sky_at(scenario: &Scenario, at_s: f64, seed: u64) -> Result<Value, Error> {
    let spec = scenario.simulation_spec();
    let mut network = Network::at(scenario, at_s, seed)?;
    let (topology, at) = (&network.topology, network.at);
    let (mut satellites, mut stations) = (Vec::new(), Vec::new());
    for index in 0..topology.nodes().len() {
        let node = NodeId::from_usize(index);
        let Some(position) = topology.position(node, at) else { continue };
        let below = GroundPoint::below(&spec.topology.earth, position);
        let name = &topology.nodes()[node].name;
        let place = json!({
            "name": name,
            "latitude_deg": below.latitude.degrees(),
            "longitude_deg": below.longitude.degrees(),
            "altitude_km": below.altitude.km(),
        });
        if !topology.is_station(node) {
            satellites.push(place);
            continue;
        }
        let antennas: Vec<Value> = topology
            .antennas(node)
            .map(|(uplink, satellite)| {
                let look = satellite.and_then(|satellite| topology.look(node, satellite, at));
                json!({
                    "satellite": satellite.map(|satellite| topology.nodes()[satellite].name.as_str()),
                    "elevation_deg": look.map(|look| look.elevation.degrees()),
                    "azimuth_deg": look.map(|look| look.azimuth.degrees()),
                    "range_km": look.map(|look| look.slant_range.km()),
                    "up": topology.is_up(uplink),
                })
            })
            .collect();
        let first = antennas.iter().find(|antenna| !antenna["satellite"].is_null());
        let mut place = place;
        for key in ["satellite", "elevation_deg", "azimuth_deg", "range_km"] {
            place[key] = first.map_or(Value::Null, |antenna| antenna[key].clone());
        }
        place["antennas"] = antennas.into();
        stations.push(place);
    }
    let up = topology.links().enumerated().filter(|(id, link)| link.kind == LinkKind::Isl && topology.is_up(*id));
    let isls: Vec<[&str; 2]> = up
        .filter_map(|(id, link)| {
            let to = topology.peer(id)?;
            (link.from < to).then(|| [link.from, to].map(|node| topology.nodes()[node].name.as_str()))
        })
        .collect();
    let isls = json!(isls);
    let mut flows = Vec::new();
    for flow in &spec.flows {
        let path = network.path(flow.from, flow.to);
        let hops = path.map_or_else(Vec::new, |path| hops(&network.topology, &path));
        flows.push(json!({ "flow": flow.name, "hops": hops }));
    }
    let mask_deg = spec.topology.gsl.map(|gsl| gsl.elevation_mask.degrees());
    Ok(json!({
        "at_s": at_s,
        "utc": epoch(scenario).map(|start| start.after(at).to_string()),
        "elevation_mask_deg": mask_deg,
        "satellites": satellites,
        "stations": stations,
        "isls": isls,
        "flows": flows,
    }))
}

/// Every pass of every satellite over every station during the scenario, in the order of their beginning. Elevations
/// are counted from the station's mask; obstructions and ranges do not count. A pass under way at the start or at the
/// end of the scenario is cut there.
///
/// # Errors
/// [`Error::Simulation`].
pub fn passes_of(scenario: &Scenario) -> Result<Value, Error> {
    let spec = scenario.simulation_spec();
    let (options, TopologySpec { earth, nodes, gsl, .. }) = (spec.sky, spec.topology);
    let mask = gsl.map(|gsl| gsl.elevation_mask).unwrap_or(skyhop_base::Angle::from_degrees(0.0));
    let end = Time::ZERO + scenario.duration;
    let satellites: Vec<(&str, Motion)> = nodes
        .iter()
        .filter_map(|node| match node.kind {
            NodeKind::Satellite { orbit, .. } => Some((node.name.as_str(), orbit.motion(&earth))),
            _ => None,
        })
        .collect();
    let mut found = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let NodeKind::Station(station) = node.kind else { continue };
        let own = options.stations.iter().find(|options| options.station == NodeId::from_usize(index));
        let mask = own.and_then(|own| own.elevation_mask).unwrap_or(mask);
        let (still, track) = (station.site(&earth), own.and_then(|own| own.track.as_ref()));
        let site = |t: Time| track.map_or(still, |track| track.site(&earth, t));
        for (satellite, motion) in &satellites {
            for pass in passes_over(&earth, site, motion, Time::ZERO, end, mask) {
                let at_rise = site(pass.rise).look(motion.earth_fixed_km(&earth, pass.rise));
                found.push((pass, node.name.as_str(), *satellite, at_rise));
            }
        }
    }
    found.sort_by(|a, b| (a.0.rise, a.1, a.2).cmp(&(b.0.rise, b.1, b.2)));
    let start = epoch(scenario);
    let rows: Vec<Value> = found
        .iter()
        .map(|(pass, station, satellite, at_rise)| {
            json!({
                "station": station,
                "satellite": satellite,
                "rise_s": pass.rise.as_secs_f64(),
                "culmination_s": pass.culmination.as_secs_f64(),
                "set_s": pass.set.as_secs_f64(),
                "highest_deg": pass.highest.degrees(),
                "azimuth_at_rise_deg": at_rise.azimuth.degrees(),
                "rise_utc": start.map(|start| start.after(pass.rise).to_string()),
                "set_utc": start.map(|start| start.after(pass.set).to_string()),
            })
        })
        .collect();
    Ok(json!(rows))
}

/// Earth-fixed positions in metres of all satellites and stations, every `step_s` seconds from the start to the end
/// and once behind it, so that interpolation needs no end: `{"step_s", "epoch", "nodes": [{"name", "kind", "times_s",
/// "xyz_m"}]}`. A station on a track has positions at its waypoints, too, and is on a nearly straight line between
/// neighbouring ones: `times_s` says when, and is null for all others. A satellite that comes down after the end, but
/// before the last position, stays where it is at the end.
///
/// # Errors
/// [`Error::Step`] for a step that is not a time or makes too many positions; [`Error::Simulation`].
pub fn ephemeris(scenario: &Scenario, step_s: f64) -> Result<Value, Error> {
    let duration_s = scenario.duration.as_secs_f64();
    let topology = scenario.topology(1).map_err(skyhop_sim::SimulationError::from)?;
    // Rounded up to milliseconds, so that it can be typed.
    let least_s = (duration_s * topology.nodes().len() as f64 / MOST_POSITIONS * 1e3).ceil().max(1.0) / 1e3;
    if !(step_s.is_finite() && step_s >= least_s) {
        return Err(Error::Step { step_s, least_s });
    }
    let steps = (duration_s / step_s).ceil() as u32 + 1;
    let moments: Vec<Time> =
        (0..=steps).map(|step| Time::ZERO + Duration::from_secs_f64(f64::from(step) * step_s)).collect();
    let nodes: Vec<Value> = (0..topology.nodes().len())
        .map(NodeId::from_usize)
        .filter(|&node| topology.position(node, Time::ZERO).is_some())
        .map(|node| node_ephemeris(&topology, node, &moments, Time::ZERO + scenario.duration))
        .collect();
    Ok(json!({ "step_s": step_s, "epoch": epoch(scenario).map(|start| start.to_string()), "nodes": nodes }))
}

fn node_ephemeris(topology: &Topology, node: NodeId, moments: &[Time], end: Time) -> Value {
    // To the decimetre, which no globe shows.
    let metres = |km: f64| (km * 1e4).round() / 10.0;
    // Whose orbit has ended is at the Earth's centre, through which nobody may be drawn.
    let flies = |position: &Vec3| *position != Vec3::ZERO;
    let position = |t: Time| topology.position(node, t).filter(flies).or_else(|| topology.position(node, t.min(end)));
    let at = |&t: &Time| position(t).map(|p| [metres(p.x), metres(p.y), metres(p.z)]);
    let on_track = topology.track(node).map(|track| with_turns(moments, track));
    let xyz_m: Vec<f64> = on_track.as_deref().unwrap_or(moments).iter().filter_map(at).flatten().collect();
    let times_s = on_track.map(|times| times.iter().map(|time| time.as_secs_f64()).collect::<Vec<_>>());
    let kind = if topology.is_station(node) { "station" } else { "satellite" };
    json!({ "name": topology.nodes()[node].name, "kind": kind, "times_s": times_s, "xyz_m": xyz_m })
}

/// The moments and the waypoints of a track among them, in order.
fn with_turns(moments: &[Time], track: &Track) -> Vec<Time> {
    let last = moments.last().copied().unwrap_or(Time::ZERO);
    let mut times: Vec<Time> = moments.iter().copied().chain(track.turns().filter(|&turn| turn < last)).collect();
    times.sort_unstable();
    times.dedup();
    times
}

/// The constellations that have a name, the geostationary ones excepted: `[{"name", "aliases", "satellites", "source",
/// "besides", "shells": [{"name", "planes", "per_plane", "altitude_km", "inclination_deg", "spread_deg", "phasing",
/// "period_min"}]}]`. The spread is that of the planes' nodes, first to beyond the last.
pub fn presets() -> Value {
    let shell = |walker: &Walker| {
        let phasing = match walker.phasing {
            Phasing::Factor(factor) => json!(factor),
            Phasing::OddPlanesHalfSpacing => json!("odd-planes-half-spacing"),
        };
        json!({
            "name": walker.name,
            "planes": walker.planes,
            "per_plane": walker.per_plane,
            "altitude_km": walker.altitude.km(),
            "inclination_deg": walker.inclination.degrees(),
            "spread_deg": walker.raan_spacing().degrees() * f64::from(walker.planes),
            "phasing": phasing,
            "period_min": walker.period_s(&Earth::WGS84) / 60.0,
        })
    };
    let preset = |preset: &Preset| {
        json!({
            "name": preset.name,
            "aliases": preset.aliases,
            "satellites": preset.satellites,
            "source": preset.source,
            "besides": preset.besides,
            "shells": preset.walkers().iter().map(shell).collect::<Vec<_>>(),
        })
    };
    skyhop_orbit::presets().iter().map(preset).collect()
}

pub(crate) fn epoch(scenario: &Scenario) -> Option<skyhop_orbit::Utc> {
    Some(scenario.constellation.as_ref()?.epoch?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(value: &Value) -> Scenario {
        Scenario::from_json(value, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"))
    }

    #[test]
    fn every_antenna_of_a_station_has_its_satellite() {
        let scenario = scenario(&json!({
            "duration": "60 s", "profile": "rfc",
            "constellation": {
                "preset": "starlink-1",
                "gsl": {
                    "rate": "1 Mbit/s",
                    "handover": { "policy": "random", "every": "15 s" },
                    "switching": { "break_before_make": { "outage": "1 s" } },
                },
            },
            "stations": { "hub": { "city": "Palermo", "antennas": 3 }, "user": { "city": "Rome" } },
        }));
        let at = |at_s: f64| {
            let sky = sky_at(&scenario, at_s, 1).unwrap();
            let [hub, user] = &sky["stations"].as_array().unwrap()[..] else { panic!("{sky}") };
            (hub.clone(), user.clone())
        };
        let satellites = |station: &Value| -> Vec<String> {
            let antennas = station["antennas"].as_array().unwrap();
            antennas.iter().map(|antenna| antenna["satellite"].as_str().unwrap().to_owned()).collect()
        };
        let all = |station: &Value, is_up: bool| {
            let antennas = station["antennas"].as_array().unwrap();
            antennas.iter().all(|antenna| antenna["up"] == is_up && antenna["elevation_deg"].as_f64().unwrap() > 25.0)
        };
        let (hub, user) = at(10.0);
        let mut three = satellites(&hub);
        assert_eq!((three.len(), three[0].as_str()), (3, hub["satellite"].as_str().unwrap()));
        three.sort();
        three.dedup();
        assert_eq!(three.len(), 3, "no two antennas point at one satellite");
        assert_eq!(satellites(&user), [user["satellite"].as_str().unwrap()]);
        assert!(all(&hub, true) && all(&user, true), "{hub} {user}");
        // The outage after a handover.
        let (hub, _) = at(45.5);
        assert!(all(&hub, false), "{hub}");
    }

    #[test]
    fn passes_over_a_station_on_a_track_are_those_over_where_it_is() {
        let at = |at: &str, latitude: &str| json!({ "at": at, "latitude": latitude, "longitude": "10 deg" });
        let scenario = scenario(&json!({
            "duration": "2 h", "profile": "rfc",
            "constellation": { "preset": "iridium", "gsl": { "rate": "1 Mbit/s", "elevation_mask": "20 deg" } },
            "stations": { "plane": { "track": [at("0 s", "50 deg"), at("2 h", "30 deg")] } },
        }));
        let found = passes_of(&scenario).unwrap();
        let inside = |pass: &&Value| pass["rise_s"].as_f64() > Some(3600.0) && pass["set_s"].as_f64() < Some(7200.0);
        let late: Vec<&Value> = found.as_array().unwrap().iter().filter(inside).collect();
        assert!(late.len() > 5, "{found}");
        for pass in late {
            let t = Time::from_secs_f64(pass["rise_s"].as_f64().unwrap());
            let topology = scenario.topology(1).unwrap();
            let node = |name: &Value| {
                (0..topology.nodes().len())
                    .map(NodeId::from_usize)
                    .find(|&node| *name == topology.nodes()[node].name)
                    .unwrap()
            };
            let look = topology.look(node(&pass["station"]), node(&pass["satellite"]), t).unwrap();
            assert!((look.elevation.degrees() - 20.0).abs() < 1e-3, "{pass}");
        }
    }

    #[test]
    fn nobody_is_drawn_inside_the_earth_behind_the_end() {
        // 26483 with a B* of 0.005 comes down 1.98 days after its epoch.
        let low = "LOW\n\
                   1 26483U 00049A   25279.50000000  .00900000  00000-0  50000-2 0  9992\n\
                   2 26483  63.4000 120.0000 0010000 270.0000  20.0000 16.10000000 12341\n";
        let scenario = scenario(&json!({
            "duration": "46 h", "profile": "rfc",
            "constellation": { "elements": { "text": low }, "gsl": { "rate": "1 Mbit/s" } },
            "stations": { "palermo": { "city": "Palermo" } },
        }));
        // The last positions are of 60 h and of 80 h.
        let found = ephemeris(&scenario, 20.0 * 3600.0).unwrap();
        let low = found["nodes"].as_array().unwrap().iter().find(|node| node["name"] == "low").unwrap();
        let xyz: Vec<f64> = low["xyz_m"].as_array().unwrap().iter().map(|m| m.as_f64().unwrap()).collect();
        let heights: Vec<f64> = xyz.chunks(3).map(|p| (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt()).collect();
        assert_eq!(heights.len(), 5);
        assert!(heights.iter().all(|&m| m > 6_478_137.0), "{heights:?}");
    }
}
