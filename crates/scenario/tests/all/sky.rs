//! Constellations from files, users on the move, recordings of links: what reaches the engine, and that the content of
//! files is part of the scenario.

use serde_json::json;
use skyhop_base::Duration;
use skyhop_orbit::Orbit;
use skyhop_scenario::Scenario;
use skyhop_sim::Simulation;
use skyhop_sim::spec::{LinkVariation, Service};
use skyhop_topology::{
    CheckTimes, GatewayRule, HandoverPolicy, IslChecks, IslLayout, Metric, NodeKind, StationOptions, Switching,
};
use std::path::{Path, PathBuf};

/// The elements of the ISS in the description of the format on CelesTrak, twice; the second has a wrong checksum.
const ISS: &str = "ISS (ZARYA)
1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927
2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537
BROKEN
1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2926
2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537
";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("skyhop-sky-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn read(path: &Path) -> Scenario {
    Scenario::from_file(path, &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn json(value: &serde_json::Value) -> Scenario {
    Scenario::from_json(value, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn elements_come_from_a_file_beside_the_scenario() {
    let folder = Folder::new("elements");
    folder.file("iss.tle", ISS);
    let text = |epoch: &str| {
        format!(
            "duration = \"60 s\"\nprofile = \"rfc\"\n\
             [constellation]\nelements = \"iss.tle\"\n{epoch}\ngsl = {{ rate = \"1 Mbit/s\" }}\n\
             [stations]\npalermo = {{ city = \"Palermo\" }}\n"
        )
    };
    let scenario = read(&folder.file("scenario.toml", &text("")));
    assert_eq!(scenario.warnings.len(), 1, "{:?}", scenario.warnings);
    assert!(scenario.warnings[0].starts_with("iss.tle: line 5: "), "{:?}", scenario.warnings);
    let spec = scenario.simulation_spec();
    assert_eq!(spec.topology.earth, skyhop_orbit::Earth::WGS84);
    let iss = spec.topology.nodes.iter().find(|node| node.name == "iss-zarya").unwrap();
    let NodeKind::Satellite { orbit: Orbit::Elements { start, .. }, .. } = iss.kind else { panic!("{iss:?}") };
    // Day 264.51782528 of 2008.
    assert!(start.to_string().starts_with("2008-09-20T12:25:40.1"), "{start}");

    // The canonical form holds the file: it needs no other, and the hash follows the content.
    let again = json(&scenario.canonical());
    assert_eq!(again.canonical_json(), scenario.canonical_json());
    folder.file("iss.tle", &ISS.replace("15.72125391563537", "15.72125392563538"));
    assert_ne!(read(&folder.0.join("scenario.toml")).hash(), scenario.hash());

    // Ten days later the elements are old, which is allowed but causes a warning.
    folder.file("iss.tle", ISS);
    let later = read(&folder.file("later.toml", &text("epoch = \"2008-09-30T12:25:40Z\"")));
    assert!(later.warnings.iter().any(|warning| warning.contains("10.0 days old")), "{:?}", later.warnings);
}

/// A geostationary satellite behind the Earth is refused, whatever the mask.
#[test]
fn a_negative_mask_does_not_join_the_antipodes() {
    let value = |mask: &str| {
        json!({
            "duration": "10 s",
            "constellation": {
                "satellites": [{ "name": "geo", "geostationary": "-34.5 deg" }],
                "gsl": { "rate": "2 Mbit/s", "elevation_mask": mask },
            },
            "stations": {
                "palermo": { "city": "Palermo" },
                "sydney": { "latitude": "-33.87 deg", "longitude": "151.21 deg" },
            },
            "flows": [{ "name": "a", "from": "palermo", "to": "sydney", "tcp": "reno" }],
        })
    };
    for mask in ["0 deg", "-89 deg"] {
        let problems = Scenario::from_json(&value(mask), "test", &[]).unwrap_err().to_string();
        assert!(problems.contains("no satellite ever rises"), "{mask}: {problems}");
    }
}

#[test]
fn satellites_that_come_down_during_the_run_are_left_out() {
    // On the second day of this orbit SGP4 brings it down; from the eleventh day on it has it thousands of km high.
    let low = "LOW\n\
               1 26483U 00049A   25279.50000000  .00900000  00000-0  50000-2 0  9992\n\
               2 26483  63.4000 120.0000 0010000 270.0000  20.0000 16.10000000 12341\n";
    let high = "HIGH\n\
                1 26484U 00049A   25279.50000000  .00900000  00000-0  00000-0 0  9996\n\
                2 26484  63.4000 120.0000 0010000 270.0000  20.0000 15.50000000 12345\n";
    let value = |text: &str, duration: &str| {
        json!({
            "duration": duration, "profile": "rfc",
            "constellation": { "elements": { "text": text }, "gsl": { "rate": "1 Mbit/s" } },
            "stations": { "palermo": { "city": "Palermo" } },
        })
    };
    let both = format!("{low}{high}");
    let names = |scenario: &Scenario| -> Vec<String> {
        let nodes = scenario.simulation_spec().topology.nodes;
        nodes.into_iter().filter(|n| matches!(n.kind, NodeKind::Satellite { .. })).map(|n| n.name).collect()
    };
    let long = json(&value(&both, "12 d"));
    assert_eq!(names(&long), ["high"]);
    let expected = "low (object 26483): left out, it comes down during the run (below 100 km after 1.98 days)";
    let of_age = "high (object 26484): its elements will be 12.0 days old at the end of the run";
    let [one, other] = &long.warnings[..] else { panic!("{:?}", long.warnings) };
    assert!(one.ends_with(expected) && other.ends_with(of_age), "{:?}", long.warnings);
    let short = json(&value(&both, "1 d"));
    assert_eq!(names(&short), ["high", "low"]);
    assert!(short.warnings.is_empty(), "{:?}", short.warnings);
    let problems = Scenario::from_json(&value(low, "12 d"), "test", &[]).unwrap_err().to_string();
    assert!(problems.contains("none of the 1 satellites"), "{problems}");
}

/// London and New York over all shells of Starlink have no route most of the time.
#[test]
fn shells_of_a_preset_that_no_link_joins_are_told() {
    let told = |preset: &str, gateways: &str| {
        let scenario = json(&json!({
            "duration": "1 s",
            "constellation": {
                "preset": preset, "isl": { "rate": "1 Gbit/s" }, "gsl": { "rate": "100 Mbit/s", "gateways": gateways },
            },
            "stations": { "a": { "city": "London" }, "b": { "city": "New York City" } },
            "links": [{ "between": ["b", "server"], "rate": "1 Gbit/s", "delay": "1 ms" }],
        }));
        scenario.warnings.iter().filter(|told| told.contains("of one shell only")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(
        told("telesat", "any"),
        ["constellation: a grid joins satellites of one shell only, and stations use those of all 2 (telesat-1, \
             telesat-2). Two stations have no route over it while their satellites are of different shells; preset = \
             \"telesat-1\" has one shell"]
    );
    assert!(told("telesat-2", "any").is_empty());
    assert!(told("telesat", "bent-pipe").is_empty());
}

#[test]
fn the_rules_of_the_sky_reach_the_engine() {
    let scenario = json(&json!({
        "duration": "600 s", "profile": "rfc",
        "routing": { "metric": "hops" },
        "constellation": {
            "preset": "iridium-next",
            "epoch": "2025-10-07T12:00:05Z",
            "isl": {
                "rate": "1 Gbit/s",
                "layout": { "nearest": { "links": 3 } }, "longest": "5000 km", "checks": "randomised"
            },
            "gsl": {
                "rate": "1 Mbit/s",
                "handover": { "policy": "random", "every": "15 s", "checks": { "slots": { "at": "12 s" } } },
                "switching": { "break_before_make": { "outage": "90 ms" } },
                "users_per_satellite": 2,
                "gateways": "bent-pipe",
            },
        },
        "stations": {
            "ship": { "antennas": 2, "track": [
                { "at": "0 s", "latitude": "66 deg", "longitude": "0 deg" },
                { "at": "30 s", "latitude": "66.1 deg", "longitude": "0 deg" },
            ] },
            "teleport": { "city": "Paris" },
        },
        "links": [{ "between": ["teleport", "server"], "rate": "1 Gbit/s", "delay": "1 ms" }],
        "flows": [{ "name": "a", "from": "ship", "to": "server", "tcp": "reno" }],
    }));
    let spec = scenario.simulation_spec();
    assert_eq!(spec.topology.gsl.unwrap().elevation_mask.degrees(), 8.2);
    // Slots at :12, :27, :42 and :57, the run starts at :05.
    assert_eq!(spec.topology.gsl.unwrap().check_times, CheckTimes::Slots { phase: Duration::from_secs(7) });
    let sky = &spec.sky;
    assert_eq!(sky.isl.layout, IslLayout::Nearest { links: 3 });
    assert_eq!(sky.isl.longest.unwrap().km(), 5000.0);
    assert!(matches!(sky.isl.checks, IslChecks::Randomised { .. }));
    assert_eq!(sky.gsl.switching, Switching::BreakBeforeMake { outage: Duration::from_millis(90) });
    assert_eq!((sky.gsl.users_per_satellite, sky.gsl.gateways), (Some(2), GatewayRule::BentPipe));
    assert_eq!(sky.metric, Metric::Hops);
    // A gateway of bent pipes has several dishes, and does not leave its satellites by chance.
    let [StationOptions { antennas: 2, track: Some(_), .. }, StationOptions { antennas: 8, track: None, .. }] =
        sky.stations[..]
    else {
        panic!("{:?}", sky.stations)
    };
    assert_eq!(sky.gsl.gateway_policy, Some(HandoverPolicy::UntilBelowMask));
    let hash = |seed| {
        let records = Simulation::new(&spec, seed).unwrap().run();
        records.handovers.iter().map(|row| format!("{row:?}")).collect::<String>()
    };
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2), "the draws of handovers hang on the seed");
    assert_eq!(json(&scenario.canonical()).hash(), scenario.hash());
}

#[test]
fn stations_come_from_files() {
    let with = |stations: &str| {
        json(&json!({
            "duration": "60 s", "profile": "rfc",
            "constellation": { "preset": "iridium" },
            "stations": { "palermo": { "city": "Palermo" } },
            "stations_file": { "text": stations },
            "flows": [{ "name": "a", "from": "rome", "to": "palermo", "udp": {}, "application":
                { "constant_rate": { "rate": "1 Mbit/s", "payload": "1000 B" } } }],
        }))
    };
    let csv = with(
        "# two\nname,longitude_deg,latitude_deg,altitude_km,antennas\n\"rome\",12.5,41.9,0.05,2\nkiruna,20.2,67.9,,\n",
    );
    let rome = &csv.stations["rome"];
    let degrees = (rome.latitude.degrees(), rome.longitude.degrees(), rome.altitude.km());
    assert_eq!((degrees, rome.antennas, csv.stations.len()), ((41.9, 12.5, 0.05), 2, 3));
    assert_eq!((csv.stations["kiruna"].altitude.km(), csv.stations["kiruna"].antennas), (0.0, 1));
    let point = |name: &str, at: serde_json::Value, antennas: u32| {
        json!({ "type": "Feature", "properties": { "name": name, "antennas": antennas },
            "geometry": { "type": "Point", "coordinates": at } })
    };
    let features = [point("rome", json!([12.5, 41.9, 50.0]), 2), point("kiruna", json!([20.2, 67.9]), 1)];
    let geojson = with(&json!({ "type": "FeatureCollection", "features": features }).to_string());
    assert_eq!(geojson.hash(), csv.hash(), "where stations come from is not part of a scenario");
    assert_eq!(json(&geojson.canonical()).hash(), geojson.hash());
}

/// Gateways from a file, with dishes, mask, handover and a wire each, beside terminals of another class. Written out
/// station by station it is the same scenario.
#[test]
fn classes_of_stations() {
    let with = |rest: serde_json::Value| {
        let mut scenario = json!({
            "duration": "60 s", "profile": "rfc",
            "constellation": {
                "preset": "iridium", "gsl": { "handover": { "policy": "nearest" }, "gateways": "bent-pipe" },
            },
            "flows": [{ "name": "a", "from": "ship", "to": "exchange", "udp": {}, "application":
                { "constant_rate": { "rate": "1 Mbit/s", "payload": "1000 B" } } }],
        });
        scenario.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        scenario
    };
    let classes = with(json!({
        "station_classes": {
            "gateway": {
                "file": { "text":
                    "name,latitude_deg,longitude_deg,antennas\nfucino,41.98,13.60,4\nsvalbard,78.23,15.39,\n" },
                "antennas": 2,
                "elevation_mask": "5 deg",
                "handover": "highest-elevation",
                "wire": { "to": "exchange", "rate": "1 Gbit/s", "delay": "3 ms", "queue": "codel" },
            },
            "ship": { "elevation_mask": "25 deg", "handover": "longest-visibility" },
        },
        "stations": { "ship": { "city": "Palermo", "class": "ship", "elevation_mask": "20 deg" } },
    }));
    let place = |latitude: f64, longitude: f64, antennas: u32| {
        json!({ "latitude": format!("{latitude} deg"), "longitude": format!("{longitude} deg"), "antennas": antennas,
            "elevation_mask": "5 deg", "handover": "highest-elevation" })
    };
    let wire = |gateway: &str| {
        json!({
            "between": [gateway, "exchange"], "rate": "1 Gbit/s", "delay": "3 ms", "queue": "codel",
        })
    };
    let one_by_one = with(json!({
        "stations": {
            "ship": { "city": "Palermo", "elevation_mask": "20 deg", "handover": "longest-visibility" },
            "fucino": place(41.98, 13.60, 4), "svalbard": place(78.23, 15.39, 2),
        },
        "links": [wire("fucino"), wire("svalbard")],
    }));
    let scenario = json(&classes);
    assert_eq!(scenario.hash(), json(&one_by_one).hash());
    assert_eq!(json(&scenario.canonical()).hash(), scenario.hash());
    let spec = scenario.simulation_spec();
    let found: Vec<_> = spec
        .sky
        .stations
        .iter()
        .map(|own| (own.antennas, own.elevation_mask.map(|mask| mask.degrees()), own.policy))
        .collect();
    let (highest, longest) = (HandoverPolicy::HighestElevation, HandoverPolicy::LongestVisibility);
    let gateway = |antennas| (antennas, Some(5.0), Some(highest));
    assert_eq!(found, [gateway(4), (1, Some(20.0), Some(longest)), gateway(2)]);
    assert_eq!(spec.topology.wired.len(), 4);
    // Packets arrive through the gateways.
    let records = Simulation::new(&spec, 1).unwrap().run();
    assert!(records.flows[0].packets_received > 1000, "{}", records.flows[0].packets_received);

    for (change, said) in [
        (
            json!({ "stations": { "ship": { "city": "Palermo", "class": "shpi" } } }),
            "no class of stations is called \"shpi\"",
        ),
        (json!({ "station_classes": { "ship": { "elevation_mask": "95 deg" } } }), "95 deg is not an elevation mask"),
        (
            json!({ "station_classes": { "ship": { "wire": { "to": "ship", "rate": "1 Mbit/s", "delay": "1 ms" } } } }),
            "cannot join \"ship\" to itself",
        ),
        (json!({ "station_classes": { "ship": { "file": { "text": "name\nx" } } } }), "a header is needed"),
        (json!({ "links": [wire("fucino")] }), "already joined"),
    ] {
        let mut wrong = classes.clone();
        let all = wrong.as_object_mut().unwrap();
        for (key, value) in change.as_object().unwrap() {
            match all.get_mut(key).and_then(serde_json::Value::as_object_mut) {
                Some(table) => table.extend(value.as_object().unwrap().clone()),
                None => drop(all.insert(key.clone(), value.clone())),
            }
        }
        let message = Scenario::from_json(&wrong, "test", &[]).unwrap_err().to_string();
        assert!(message.contains(said), "{said}\n{message}");
    }
    let mut unused = classes;
    unused["station_classes"]["plane"] = json!({ "antennas": 2 });
    let warnings = json(&unused).warnings.clone();
    assert!(warnings.iter().any(|told| told.contains("station_classes.plane: has no effect")), "{warnings:?}");
}

#[test]
fn geostationary_satellites_and_lists_of_links() {
    let scenario = json(&json!({
        "duration": "60 s", "profile": "rfc",
        "constellation": {
            "preset": "geo",
            "longitudes": ["10 deg", "-30 deg"],
            "isl": { "rate": "1 Gbit/s", "layout": { "list": [["geo-1", "geo-0"]] } },
        },
        "flows": [{ "name": "a", "from": "geo-0", "to": "geo-1", "udp": {}, "application":
            { "constant_rate": { "rate": "1 Mbit/s", "payload": "1000 B" } } }],
    }));
    let records = Simulation::new(&scenario.simulation_spec(), 1).unwrap().run();
    // The chord of 40° at 42164 km.
    let delay = 2.0 * 42_164.17 * libm::sin(20_f64.to_radians()) / 299_792.458;
    let found = records.flows[0].delay.mean_s - 1028.0 * 8.0 / 1e9;
    assert!((found - delay).abs() < 2e-6, "{found} {delay}");
}

#[test]
fn links_follow_recordings() {
    let link = |trace: serde_json::Value| {
        json(&json!({
            "duration": "20 s", "profile": "rfc",
            "links": [{ "between": ["a", "b"], "delay": "1 ms", "queue": "unlimited",
                "forward": { "trace": trace }, "backward": { "rate": "1 Gbit/s" } }],
            "flows": [{ "name": "f", "from": "a", "to": "b", "udp": { "header": "0 B" }, "application":
                { "constant_rate": { "rate": "2 Mbit/s", "payload": "1000 B" } } }],
        }))
    };
    // One opportunity in 10 ms carries 1504 B: 1.2032 Mbit/s of 2 offered, nothing is lost between packets.
    let list: String = (1..=100).map(|n| format!("{}\n", n * 10)).collect();
    let scenario = link(json!({ "opportunities": { "text": list } }));
    let spec = scenario.simulation_spec();
    let LinkVariation::Trace(trace) = &spec.links.wired[0].pace else { panic!("no recording") };
    assert!(matches!(&trace.service, Service::Opportunities(times) if times.len() == 100));
    assert_eq!(spec.links.wired[0].rate.bps(), 1_203_200);
    let records = Simulation::new(&spec, 1).unwrap().run();
    assert!((records.flows[0].goodput_bps / 1_203_200.0 - 1.0).abs() < 0.002, "{}", records.flows[0].goodput_bps);
    assert!(records.links[0].utilisation > 0.998 && records.links[0].utilisation < 1.0005);
    assert_eq!(json(&scenario.canonical()).hash(), scenario.hash());

    // 1 s at 4 Mbit/s, 1 s without service: the mean, 2 Mbit/s, is what is offered.
    let table = "time_s,rate_bps,delay_s,loss\n0,4e6,0.01,0\n1,0,0.05,0.5\n";
    let scenario = link(json!({ "table": { "text": table } }));
    let spec = scenario.simulation_spec();
    assert_eq!(spec.links.wired[0].rate.bps(), 2_000_000);
    assert!(matches!(&spec.links.wired[0].pace, LinkVariation::Trace(trace) if trace.losses.len() == 2));
    let records = Simulation::new(&spec, 1).unwrap().run();
    let flow = &records.flows[0];
    // Packets wait up to 1 s for the service; what arrives in the first 60 ms of a pause may be lost.
    assert!(flow.goodput_bps > 1.75e6 && flow.goodput_bps < 2e6, "{}", flow.goodput_bps);
    let delay = flow.delay.mean_s;
    assert!(delay > 0.2 && delay < 0.6, "{delay}");
}

#[test]
fn beams_gateways_and_terrestrial_networks_have_handovers() {
    let scenario = json(&json!({
        "duration": "1800 s", "profile": "rfc",
        "constellation": { "preset": "iridium", "isl": { "layout": "none" }, "gsl": {
            "gateways": "bent-pipe", "handover": { "policy": "highest-elevation" },
            "beams": { "rings": [1, 6, 12], "outage": "20 ms" } } },
        "stations": {
            "palermo": { "city": "Palermo",
                "terrestrial": { "to": "internet", "when": { "during": [["600 s", "700 s"]] } } },
            "rome": { "city": "Rome" }, "tunis": { "city": "Tunis" },
        },
        "links": [
            { "between": ["rome", "internet"], "rate": "1 Gbit/s", "delay": "5 ms" },
            { "between": ["tunis", "internet"], "rate": "1 Gbit/s", "delay": "5 ms" },
            { "between": ["palermo", "internet"], "rate": "1 Gbit/s", "delay": "9 ms" },
        ],
        "flows": [{ "name": "a", "from": "internet", "to": "palermo", "udp": {}, "application":
            { "constant_rate": { "rate": "100 kbit/s", "payload": "1000 B" } } }],
    }));
    assert_eq!(json(&scenario.canonical()).hash(), scenario.hash());
    let records = Simulation::new(&scenario.simulation_spec(), 1).unwrap().run();
    assert!(records.conservation.holds(), "{:?}", records.conservation);
    let spec = scenario.simulation_spec();
    let name = |node: u32| spec.topology.nodes[node as usize].name.as_str();
    let of = |kind: &str| records.handovers.iter().filter(|row| row.kind == kind).collect::<Vec<_>>();
    let palermo = |kind: &str| of(kind).into_iter().filter(|row| name(row.terminal) == "palermo").collect::<Vec<_>>();
    assert!(palermo("satellite").len() >= 3);
    assert!(
        palermo("beam").iter().all(|row| row.from == row.to && row.from_beam != row.to_beam) && of("beam").len() > 10
    );
    let [out, back] = palermo("terrestrial")[..] else { panic!("{:?}", of("terrestrial")) };
    let at = |row: &skyhop_sim::records::HandoverRow| row.time.since(skyhop_base::Time::ZERO).as_secs_f64();
    assert_eq!((at(out), out.to, at(back), back.from), (600.0, None, 700.0, None));
    // On the ground a packet takes 9 ms, in the sky at least twice 780 km and a wire of 5 ms.
    let delay = records.flows[0].delay;
    assert!(delay.min_s > 0.009 && delay.min_s < 0.00902 && delay.median_s > 0.0102, "{delay:?}");
    // Rome and Tunis: whichever is nearer to the satellite.
    assert!(!palermo("gateway").is_empty() && of("gateway").len() == palermo("gateway").len());
    assert!(
        palermo("gateway")
            .iter()
            .all(|row| [row.from, row.to].iter().all(|node| ["rome", "tunis"].contains(&name(node.unwrap()))))
    );
}

/// A station with a host of its own flow stays a user, with one antenna and the rate of the uplink.
#[test]
fn an_access_link_makes_no_gateway() {
    let with = |access: &str| {
        let text = format!(
            r#"
            duration = "20 s"
            profile = "rfc"
            links = [{{ between = ["gate", "server"], rate = "1 Gbit/s", delay = "1 ms" }}]
            flows = [{{ name = "f", from = "home", to = "server", tcp = "cubic"{access} }}]
            [stations]
            home = {{ latitude = "40 deg", longitude = "10 deg" }}
            gate = {{ latitude = "42 deg", longitude = "12 deg" }}
            [constellation]
            preset = "geo"
            longitudes = ["10 deg"]
            [constellation.gsl]
            gateways = "bent-pipe"
            uplink = {{ rate = "100 kbit/s" }}
            downlink = {{ rate = "10 Mbit/s" }}
            "#
        );
        let records = crate::support::run(&text, 1);
        let links: Vec<_> = records.link_names.iter().filter(|name| name.starts_with("home->sky")).cloned().collect();
        (links, records.flows[0].goodput_bps)
    };
    let access = ", access = { rate = \"1 Gbit/s\", delay = \"1 ms\" }";
    for (links, goodput_bps) in [with(""), with(access)] {
        assert_eq!(links, ["home->sky"]);
        assert!((50e3..=100e3).contains(&goodput_bps), "{goodput_bps}");
    }
}

#[test]
fn a_wire_by_distance_is_as_long_as_light_takes_in_fibre() {
    let scenario = json(&json!({
        "duration": "10 s", "profile": "rfc",
        "constellation": { "preset": "starlink-1", "gsl": { "rate": "10 Mbit/s" } },
        "stations": {
            "dish": { "city": "London" },
            "cornwall": { "latitude": "51.5074 deg", "longitude": "-0.1278 deg", "class": "gateway" },
            "pole": { "latitude": "90 deg", "longitude": "12 deg", "class": "gateway" },
        },
        "station_classes": { "gateway": {
            "wire": {
                "to": "pop", "rate": "1 Gbit/s",
                "delay": { "fibre": { "to": "New York City", "stretch": 1.25 } },
            },
        } },
        "flows": [{ "name": "a", "from": "pop", "to": "dish", "tcp": "reno" }],
    }));
    let km_of_ms = |ms: f64| ms / 1e3 * 299_792.458 / 1.468 / 1.25;
    let delay = |name: &str| {
        let link = scenario.links.iter().find(|link| link.between.contains(&name.to_owned())).unwrap();
        assert_eq!(link.forward.delay, link.backward.delay);
        link.forward.delay.as_secs_f64() * 1e3
    };
    // London to New York is 5570 km along the great circle (5554 km between the airports, which lie 24 km west and
    // 19 km east of the centres), and the pole is 90 deg less the latitude of 40.71 deg away.
    assert!((km_of_ms(delay("cornwall")) - 5570.0).abs() < 6.0, "{}", km_of_ms(delay("cornwall")));
    assert!((km_of_ms(delay("pole")) - (90.0 - 40.714) * 111.195).abs() < 2.0, "{}", km_of_ms(delay("pole")));
}
