//! The network of a random scenario: which nodes there are, which of them are joined, who sends to whom. Values of keys
//! come from [`super::values`].

use super::chance::Chance;
use super::content;
use super::defaults::Defaults;
use super::schema::{Schema, names_of, properties};
use super::values::{Draw, World};
use serde_json::{Map, Value as Json, json};

/// Nodes of wires; names with every sign that names may have, of which some are prefixes of others.
const WIRED: &[&str] = &["left", "right", "m", "m-1", "m-10", "m-2", "n_0", "Z.z"];
const STATIONS: &[&str] = &["palermo", "Houston", "s-1", "s-2", "s-10"];

/// Constellations of more satellites than a run of some ms can have: such a share of those with a preset.
const LARGE_PRESET: f64 = 0.25;
const SMALL_PRESETS: &[&str] = &["iridium", "iridium-next", "globalstar", "o3b", "telesat-1", "geo"];

/// A scenario that should be valid.
pub fn draw(schema: &Schema, defaults: &Defaults, seed: u64) -> Json {
    let mut chance = Chance::new(seed, "scenario");
    let richness = *chance.pick(&[0.0, 0.02, 0.05, 0.1, 0.2]);
    let has_sky = chance.happens(0.45);
    let duration_s = if has_sky { chance.magnitude(1.0, 900.0) } else { chance.magnitude(0.3, 60.0) };
    // So many packets of 1500 B, each over some links, take some ms to 100 ms.
    let packets = chance.magnitude(100.0, 2500.0);
    let world = World { duration_s, rate_bps: packets * 12_000.0 / duration_s, ..World::default() };
    let mut draw = Draw { schema, defaults, chance, world, richness };
    let mut scenario = Map::new();
    let run = super::values::duration(&mut draw.chance, duration_s);
    scenario.insert("duration".to_owned(), run.into());
    let profile = *draw.chance.pick(&[None, Some("linux"), Some("rfc"), Some("ns-2")]);
    let format = *draw.chance.pick(&[None, None, None, None, Some(1), Some(2)]);
    scenario.extend(profile.map(|profile| ("profile".to_owned(), profile.into())));
    scenario.extend(format.map(|format| ("format".to_owned(), format.into())));
    draw.world.is_linux = profile.unwrap_or(if format == Some(1) { "rfc" } else { "linux" }) == "linux";
    let mut nodes = Vec::new();
    let is_mixed = has_sky && draw.chance.happens(0.4);
    if has_sky {
        nodes = sky(&mut draw, &mut scenario);
    }
    if !has_sky || is_mixed {
        nodes = wires(&mut draw, &mut scenario, &nodes);
    }
    flows(&mut draw, &mut scenario, &nodes);
    if draw.chance.happens(0.15) {
        super::workloads::insert(&mut draw, &mut scenario, &nodes);
    }
    terrestrial(&mut draw, &mut scenario);
    classes(&mut draw, &mut scenario);
    agents(&mut draw, &mut scenario);
    let root = schema.root();
    let mut scenario = draw.table(root, scenario);
    name_flows(&mut draw, &mut scenario);
    let text = scenario.to_string();
    let at_departure = draw.schema.ways(draw.schema.definition("QueueSpec"));
    let at_departure = at_departure.iter().filter_map(|way| properties(way.json)?.keys().next());
    let is_steady = ["repair", "trace", "profile", "drop_front", "constellation"]
        .into_iter()
        .chain(at_departure.map(String::as_str))
        .all(|word| !text.contains(&format!("\"{word}\"")));
    if let Some(root) = scenario.as_object_mut().filter(|_| !is_steady && draw.chance.happens(0.9)) {
        root.remove("clock");
    }
    scenario
}

/// Errors that name a flow take one that there is, now that all are known.
fn name_flows(draw: &mut Draw<'_>, value: &mut Json) {
    let flows = value["flows"].as_array().into_iter().flatten();
    let names: Vec<String> = flows
        .filter_map(|flow| {
            let name = flow["name"].as_str()?;
            Some(if flow.get("count").is_some() { format!("{name}-0") } else { name.to_owned() })
        })
        .collect();
    fn walk(value: &mut Json, names: &[String], chance: &mut Chance) {
        if let Some(flow) = value.pointer_mut("/segments/flow") {
            *flow = chance.pick(names).as_str().into();
        }
        match value {
            Json::Object(table) => table.values_mut().for_each(|inner| walk(inner, names, chance)),
            Json::Array(items) => items.iter_mut().for_each(|inner| walk(inner, names, chance)),
            _ => {}
        }
    }
    walk(value, &names, &mut draw.chance);
}

/// A tree of wires, some of them doubled by a path around; `joined` are stations that some of them end at.
fn wires(draw: &mut Draw<'_>, scenario: &mut Map<String, Json>, joined: &[String]) -> Vec<String> {
    let count = 2 + draw.chance.below(4);
    let mut names: Vec<&str> = WIRED.to_vec();
    draw.chance.shuffle(&mut names);
    let mut nodes: Vec<String> = joined.to_vec();
    let mut links = Vec::new();
    for name in names.into_iter().take(if joined.is_empty() { count } else { count - 1 }) {
        if !nodes.is_empty() {
            let other = draw.chance.pick(&nodes).clone();
            links.push([other, name.to_owned()]);
        }
        nodes.push(name.to_owned());
        draw.world.wired.push(name.to_owned());
    }
    if nodes.len() > 2 && draw.chance.happens(0.3) {
        let (a, b) = (draw.chance.below(nodes.len()), draw.chance.below(nodes.len()));
        let pair = [nodes[a].clone(), nodes[b].clone()];
        let known = links.iter().any(|link| link.contains(&pair[0]) && link.contains(&pair[1]));
        if a != b && !known {
            links.push(pair);
        }
    }
    for [a, b] in &links {
        draw.world.links.extend([format!("{a}->{b}"), format!("{b}->{a}")]);
    }
    let flows = planned_flows(draw);
    draw.world.flows = flows;
    let shape = draw.schema.definition("LinkFile");
    let links: Vec<Json> = links
        .into_iter()
        .map(|mut between| {
            draw.chance.shuffle(&mut between);
            let mut link = Map::new();
            link.insert("between".to_owned(), json!(between));
            for key in ["rate", "delay"] {
                let inner = draw.schema.shape(shape.name, &shape.json["properties"][key]);
                let value = draw.value(inner, &format!("LinkFile.{key}"));
                link.insert(key.to_owned(), value);
            }
            draw.table(shape, link)
        })
        .collect();
    scenario.insert("links".to_owned(), links.into());
    nodes
}

/// Names that errors of links may name before the flows are drawn.
fn planned_flows(draw: &mut Draw<'_>) -> Vec<String> {
    if draw.world.flows.is_empty() {
        let count = 1 + draw.chance.below(4);
        return ["a", "b-1", "c", "flow.x"][..count].iter().map(|name| (*name).to_owned()).collect();
    }
    draw.world.flows.clone()
}

fn sky(draw: &mut Draw<'_>, scenario: &mut Map<String, Json>) -> Vec<String> {
    draw.world.flows = planned_flows(draw);
    let count = 2 + draw.chance.below(3);
    draw.world.stations = STATIONS[..count].iter().map(|name| (*name).to_owned()).collect();
    let ups = draw.world.stations.iter().map(|name| format!("{name}->sky"));
    draw.world.links.extend(ups);
    let mut sky = Map::new();
    let what = draw.chance.below(100);
    let is_geo = what < 25;
    let mut has_grid = true;
    match what {
        0..25 => {
            let longitudes = [-30.0, 10.0, 40.0].map(|at| format!("{at} deg"));
            let longitudes = &longitudes[..1 + draw.chance.below(3)];
            if draw.chance.happens(0.5) {
                sky.insert("preset".to_owned(), "geo".into());
                sky.insert("longitudes".to_owned(), json!(longitudes));
                draw.world.satellites = (0..longitudes.len()).map(|n| format!("geo-{n}")).collect();
            } else {
                let named = |(n, at): (usize, &String)| json!({ "name": format!("g{n}"), "geostationary": at });
                let all: Vec<Json> = longitudes.iter().enumerate().map(named).collect();
                draw.world.satellites = (0..all.len()).map(|n| format!("g{n}")).collect();
                sky.insert("satellites".to_owned(), all.into());
            }
            has_grid = false;
        }
        25..40 => {
            let elements = content::file(&mut draw.chance, &draw.world, "elements").unwrap_or_default();
            sky.insert("elements".to_owned(), elements);
            draw.world.satellites = (0..6).map(|n| format!("sat-{n}")).collect();
            has_grid = false;
        }
        40..60 => {
            let all = names_of(draw.schema.definition("PresetName").json);
            let names = if draw.chance.happens(LARGE_PRESET) { &all[..] } else { SMALL_PRESETS };
            let name = *draw.chance.pick(names);
            sky.insert("preset".to_owned(), name.into());
            if name == "geo" {
                sky.insert("longitudes".to_owned(), json!(["5 deg"]));
            }
        }
        _ => shells(draw, &mut sky),
    }
    if draw.chance.happens(0.2) {
        sky.insert("epoch".to_owned(), content::instant(&mut draw.chance).into());
    }
    let nodes = stations(draw, scenario, is_geo);
    let gsl = draw.schema.definition("GslFile");
    let mut table = Map::new();
    table.insert("rate".to_owned(), rate(draw));
    let gsl = draw.table(gsl, table);
    sky.insert("gsl".to_owned(), gsl);
    if draw.chance.happens(0.8) {
        let isl = draw.schema.definition("IslFile");
        let mut table = Map::new();
        table.insert("rate".to_owned(), rate(draw));
        if !has_grid {
            let pairs = draw.world.satellites.windows(2).map(|pair| json!(pair)).collect::<Vec<_>>();
            if pairs.is_empty() || draw.chance.happens(0.5) {
                table.insert("layout".to_owned(), json!({ "nearest": { "links": 1 + draw.chance.below(4) } }));
                table.insert("longest".to_owned(), "90000 km".into());
            } else {
                table.insert("layout".to_owned(), json!({ "list": pairs }));
            }
        }
        let isl = draw.table(isl, table);
        sky.insert("isl".to_owned(), isl);
    }
    let shape = draw.schema.definition("ConstellationFile");
    let sky = draw.table(shape, sky);
    scenario.insert("constellation".to_owned(), sky);
    nodes
}

fn rate(draw: &mut Draw<'_>) -> Json {
    let bps = draw.chance.magnitude(draw.world.rate_bps / 3.0, draw.world.rate_bps * 2.0);
    super::values::rate(&mut draw.chance, bps).into()
}

fn shells(draw: &mut Draw<'_>, sky: &mut Map<String, Json>) {
    let count = if draw.chance.happens(0.8) { 1 } else { 2 };
    let shape = draw.schema.definition("ShellFile");
    let mut all = Vec::new();
    for n in 0..count {
        let (planes, per_plane) = (1 + draw.chance.below(8), 1 + draw.chance.below(9));
        let mut shell = Map::new();
        let mut name = if count == 1 { "shell".to_owned() } else { format!("shell-{n}") };
        if draw.chance.happens(0.4) {
            name = format!("leo{n}");
            shell.insert("name".to_owned(), name.clone().into());
        }
        shell.insert("planes".to_owned(), planes.into());
        shell.insert("per_plane".to_owned(), per_plane.into());
        if draw.chance.happens(0.5) {
            let odd = json!("odd-planes-half-spacing");
            let phasing = if draw.chance.happens(0.2) { odd } else { json!(draw.chance.below(planes)) };
            shell.insert("phasing".to_owned(), phasing);
        }
        let shell = draw.table(shape, shell);
        draw.world.satellites.extend((0..planes).flat_map(|p| {
            let name = name.clone();
            (0..per_plane).map(move |slot| format!("{name}-{p}-{slot}"))
        }));
        all.push(shell);
    }
    draw.world.links.extend(draw.world.satellites.iter().take(2).map(|name| format!("{name}->ground")));
    sky.insert("shells".to_owned(), all.into());
}

fn stations(draw: &mut Draw<'_>, scenario: &mut Map<String, Json>, is_geo: bool) -> Vec<String> {
    let shape = draw.schema.definition("StationFile");
    let names = draw.world.stations.clone();
    let mut stations = Map::new();
    let mut of_file = Vec::new();
    for name in &names {
        let mut station = Map::new();
        let (low, high) = if is_geo { (-40.0, 60.0) } else { (-180.0, 180.0) };
        match draw.chance.below(10) {
            0 if of_file.is_empty() && names.len() > 2 => {
                of_file.push(name.as_str());
                continue;
            }
            1 => {
                station.insert("city".to_owned(), (*draw.chance.pick(&["Palermo", "Madrid, ES", "Nairobi"])).into());
            }
            2 => {
                let mut at_s = 0.0;
                let points: Vec<Json> = (0..1 + draw.chance.below(4))
                    .map(|_| {
                        let at = format!("{at_s:.2} s");
                        at_s += draw.world.duration_s * draw.chance.real(0.1, 0.6) + 0.01;
                        json!({
                            "at": at, "latitude": super::values::angle(&mut draw.chance, -50.0, 50.0),
                            "longitude": super::values::angle(&mut draw.chance, low, high), "altitude": "10 km",
                        })
                    })
                    .collect();
                station.insert("track".to_owned(), points.into());
            }
            _ => {
                let latitude = super::values::angle(&mut draw.chance, -55.0, 55.0);
                station.insert("latitude".to_owned(), latitude.into());
                let longitude = super::values::angle(&mut draw.chance, low, high);
                station.insert("longitude".to_owned(), longitude.into());
            }
        }
        let station = draw.table(shape, station);
        stations.insert(name.clone(), station);
    }
    if !of_file.is_empty() {
        let text = content::stations(&mut draw.chance, &of_file);
        scenario.insert("stations_file".to_owned(), json!({ "text": text }));
    }
    scenario.insert("stations".to_owned(), stations.into());
    names
}

fn flows(draw: &mut Draw<'_>, scenario: &mut Map<String, Json>, nodes: &[String]) {
    let shape = draw.schema.definition("FlowFile");
    let mut flows = Vec::new();
    let splitters: Vec<String> = draw.world.wired.clone();
    for name in draw.world.flows.clone() {
        let from = draw.chance.pick(nodes).clone();
        let mut to = draw.chance.pick(nodes).clone();
        if draw.chance.happens(0.02) && !draw.world.satellites.is_empty() {
            to = draw.chance.pick(&draw.world.satellites).clone();
        }
        let mut flow = Map::new();
        flow.insert("name".to_owned(), name.into());
        let value = |draw: &mut Draw<'_>, key: &str| {
            let shape = draw.schema.definition("FlowFile");
            let inner = draw.schema.shape(shape.name, &shape.json["properties"][key]);
            draw.value(inner, &format!("FlowFile.{key}"))
        };
        if from == to || draw.chance.happens(0.15) {
            flow.insert("access".to_owned(), value(draw, "access"));
        }
        let is_quic = draw.defaults.quic > 0.0 && draw.chance.happens(draw.defaults.quic);
        // QUIC takes the applications of TCP.
        let is_tcp = is_quic || draw.chance.happens(0.75);
        let key = match (is_quic, is_tcp) {
            (true, _) => "quic",
            (false, true) => "tcp",
            (false, false) => "udp",
        };
        let mut transport = value(draw, key);
        if key == "tcp" {
            transport = draw.with_profile(transport);
        }
        if let Some(options) = transport.as_object_mut().filter(|_| key == "quic") {
            // Messages need applications of UDP whose portions fit a packet; `crates/scenario/tests/quic` has them.
            options.remove("datagrams");
        }
        flow.insert(key.to_owned(), transport);
        let application = loop {
            let application = value(draw, "application");
            let needs_tcp = application.is_string()
                || ["ftp", "files", "requests"].iter().any(|name| application.get(*name).is_some());
            let needs_udp = application.get("call").is_some();
            if (is_tcp && !needs_udp) || (!is_tcp && !needs_tcp) {
                break application;
            }
        };
        let requests = application.get("requests").is_some();
        if !is_tcp || draw.chance.happens(0.6) {
            flow.insert("application".to_owned(), application);
        }
        let via: Vec<&String> = splitters.iter().filter(|node| **node != from && **node != to).collect();
        if is_tcp && !is_quic && !requests && !via.is_empty() && draw.chance.happens(0.06) {
            let node = draw.chance.pick(&via).as_str();
            flow.insert("via".to_owned(), json!([node]));
        }
        flow.insert("from".to_owned(), from.into());
        flow.insert("to".to_owned(), to.into());
        let flow = draw.table(shape, flow);
        flows.push(flow);
    }
    scenario.insert("flows".to_owned(), flows.into());
}

/// Stations with a wire may fall back on it.
fn terrestrial(draw: &mut Draw<'_>, scenario: &mut Map<String, Json>) {
    let links = scenario.get("links").and_then(Json::as_array).cloned().unwrap_or_default();
    let Some(stations) = scenario.get_mut("stations").and_then(Json::as_object_mut) else { return };
    for (name, station) in stations {
        let other = links.iter().find_map(|link| match [link["between"][0].as_str()?, link["between"][1].as_str()?] {
            [a, b] if a == name => Some(b),
            [a, b] if b == name => Some(a),
            _ => None,
        });
        let Some(other) = other.filter(|_| draw.chance.happens(0.3)) else { continue };
        let shape = draw.schema.definition("TerrestrialFile");
        let mut table = Map::new();
        table.insert("to".to_owned(), other.into());
        let terrestrial = draw.table(shape, table);
        if let Some(station) = station.as_object_mut() {
            station.insert("terrestrial".to_owned(), terrestrial);
            station.remove("antennas");
        }
    }
}

/// Sometimes a class of which some stations are, with a file of its own, or wires to a node.
fn classes(draw: &mut Draw<'_>, scenario: &mut Map<String, Json>) {
    let has_stations = scenario.get("stations").and_then(Json::as_object).is_some_and(|all| !all.is_empty());
    if !has_stations || !draw.chance.happens(0.15) {
        return;
    }
    let mut class = Map::new();
    if draw.chance.happens(0.5)
        && let Some(file) = scenario.remove("stations_file")
    {
        class.insert("file".to_owned(), file);
    }
    if !draw.world.wired.is_empty() && draw.chance.happens(0.3) {
        let to = draw.chance.pick(&draw.world.wired).clone();
        let wire = Map::from_iter([("to".to_owned(), to.into()), ("rate".to_owned(), rate(draw))]);
        let shape = draw.schema.definition("ClassWireFile");
        class.insert("wire".to_owned(), draw.table(shape, wire));
    }
    let shape = draw.schema.definition("ClassOfStationsFile");
    let class = draw.table(shape, class);
    for station in scenario.get_mut("stations").and_then(Json::as_object_mut).into_iter().flat_map(Map::values_mut) {
        if let Some(station) = station.as_object_mut().filter(|_| draw.chance.happens(0.6)) {
            station.insert("class".to_owned(), "some".into());
        }
    }
    scenario.insert("station_classes".to_owned(), json!({ "some": class }));
}

/// Agents that flows ask for, and others.
fn agents(draw: &mut Draw<'_>, scenario: &mut Map<String, Json>) {
    let mut agents: Vec<Json> = Vec::new();
    let mut add = |agent: Json| {
        if !agents.contains(&agent) {
            agents.push(agent);
        }
    };
    for flow in scenario.get("flows").and_then(Json::as_array).into_iter().flatten() {
        let notification = &flow["tcp"]["notification"];
        let kind = notification.as_str().or_else(|| notification.as_object()?.keys().next().map(String::as_str));
        let task = match kind {
            Some("ceten") => Some("survival"),
            Some("eln") => Some("eln"),
            Some(_) => Some("error_report"),
            None => None,
        };
        if let Some(task) = task {
            add(json!({ "at": flow["from"], task: {} }));
        }
        for node in flow["via"].as_array().into_iter().flatten() {
            add(json!({ "at": node, "pep": {} }));
        }
    }
    let shape = draw.schema.definition("AgentFile");
    let nodes: Vec<String> = draw.world.stations.iter().chain(&draw.world.wired).cloned().collect();
    for agent in &mut agents {
        // The task's own values.
        let Some(table) = agent.as_object().cloned() else { continue };
        let mut full = Map::new();
        full.insert("at".to_owned(), table["at"].clone());
        for (key, inner) in table.iter().filter(|(key, _)| *key != "at") {
            let of_task = draw.schema.shape(shape.name, &shape.json["properties"][key]);
            let mut drawn = draw.table(of_task, inner.as_object().cloned().unwrap_or_default());
            if let Some(drawn) = drawn.as_object_mut() {
                drawn.remove("links");
            }
            full.insert(key.clone(), drawn);
        }
        // A split needs Skyhop's own TCP.
        if draw.world.is_linux && full.contains_key("pep") && full["pep"].get("tcp").is_none_or(Json::is_string) {
            full["pep"]["tcp"] = json!({ "profile": "rfc" });
        }
        *agent = full.into();
    }
    for _ in 0..draw.chance.below(2 + usize::from(draw.richness > 0.05)) {
        if draw.chance.happens(0.3) {
            let mut agent = Map::new();
            agent.insert("at".to_owned(), draw.chance.pick(&nodes).clone().into());
            let agent = draw.table(shape, agent);
            agents.push(agent);
        }
    }
    if !agents.is_empty() {
        scenario.insert("agents".to_owned(), agents.into());
    }
}
