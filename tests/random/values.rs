//! Values of single keys. The schema says their type and range; the tables here say what it cannot: which sizes are
//! those of packets, which times lie inside the run, which texts are names of what. A key that no table knows takes a
//! value of its type, and [`super::mend`] takes out what the format refuses.

use super::chance::Chance;
use super::content;
use super::defaults::Defaults;
use super::ranges::{ANGLES, DECIDED, DURATIONS, EXCLUSIVE, FAVOURED, LENGTHS, NEEDS_ONE, RICH, SIZES, WHOLE};
use super::schema::{Schema, Shape, names_of, properties, required};
use serde_json::{Map, Number, Value as Json, json};

/// What the scenario consists of so far: what later values refer to.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub duration_s: f64,
    /// Rate in bit/s at which the run has about the number of packets that it should.
    pub rate_bps: f64,
    pub stations: Vec<String>,
    /// Nodes at the ends of wires that are not stations.
    pub wired: Vec<String>,
    pub satellites: Vec<String>,
    /// Names of links, as records and agents want them.
    pub links: Vec<String>,
    /// Names of flows, counted ones one by one.
    pub flows: Vec<String>,
    /// A TCP without a profile of its own is that of Linux.
    pub is_linux: bool,
}

pub struct Draw<'s> {
    pub schema: &'s Schema,
    pub defaults: &'s Defaults,
    pub chance: Chance,
    pub world: World,
    /// Probability that a key is given that need not be.
    pub richness: f64,
}

impl<'s> Draw<'s> {
    /// Mostly a TCP that the scenario's profile does not have names its own.
    pub fn with_profile(&mut self, tcp: Json) -> Json {
        let Some(name) = tcp.as_str() else { return tcp };
        let other = match (self.world.is_linux, skyhop_transport::TcpSpec::names().contains(&name)) {
            (true, true) if !skyhop_tcp::control::ControlKind::NAMES.contains(&name) => {
                *self.chance.pick(&["rfc", "rfc", "ns-2"])
            }
            (false, false) => "linux",
            _ => return tcp,
        };
        if self.chance.happens(0.9) { json!({ "profile": other, "name": name }) } else { tcp }
    }

    /// A value of `shape` for `key`.
    pub fn value(&mut self, shape: Shape<'s>, key: &str) -> Json {
        if let Some(value) = self.known(shape, key) {
            return value;
        }
        let ways = self.schema.ways(shape);
        // Names and tables alike, however many there are of each.
        let wants_table = self.chance.happens(0.5);
        let (tables, names): (Vec<_>, Vec<_>) = ways.iter().partition(|way| way.json["type"] == "object");
        let some = match (tables.is_empty(), names.is_empty()) {
            (false, false) => {
                if wants_table {
                    tables
                } else {
                    names
                }
            }
            _ => ways,
        };
        let way = *self.chance.pick(&some);
        let names = names_of(way.json);
        if !names.is_empty() {
            return (*self.chance.pick(&names)).into();
        }
        match way.json["type"].as_str() {
            Some("object") => self.table(way, Map::new()),
            Some("array") => self.list(way, key),
            Some("integer") => self.integer(way, key),
            Some("number") => self.number(way, key),
            Some("boolean") => self.chance.happens(0.5).into(),
            Some("string") => self.text(way, key),
            other => panic!("{}.{key}: the generator knows no {other:?}", shape.name),
        }
    }

    /// Fills a table: what is required, and some of what can be left out.
    pub fn table(&mut self, shape: Shape<'s>, mut table: Map<String, Json>) -> Json {
        let Some(properties) = properties(shape.json) else { return Json::Object(table) };
        let required = required(shape.json);
        let excluded = self.choose(shape.name, &mut table);
        let is_rich = shape.name.ends_with("Spec") || self.chance.happens(RICH.0);
        let richness = if is_rich { RICH.1 } else { self.richness };
        let decided = DECIDED.iter().find(|(name, _)| *name == shape.name).map_or(&[][..], |(_, keys)| keys);
        for (key, inner) in properties {
            let is_needed = required.contains(&key.as_str());
            let place = format!("{}.{key}", shape.name);
            let often = find(FAVOURED, &place, |row| row.0).map_or(0.0, |row| row.1);
            let is_wanted = is_needed || self.chance.happens(richness.max(often));
            let stays = table.contains_key(key) || excluded.contains(&key.as_str());
            if stays || !is_wanted || (decided.contains(&key.as_str()) && !is_needed) {
                continue;
            }
            let inner = self.schema.shape(shape.name, inner);
            let value = self.value(inner, &place);
            table.insert(key.clone(), value);
        }
        self.tidy(shape.name, &mut table);
        Json::Object(table)
    }

    /// The keys that the chosen group excludes; a group that must be there is begun.
    fn choose(&mut self, name: &str, table: &mut Map<String, Json>) -> Vec<&'static str> {
        let Some((_, groups)) = EXCLUSIVE.iter().find(|(of, _)| *of == name) else { return Vec::new() };
        let given = groups.iter().position(|group| group.iter().any(|key| table.contains_key(*key)));
        let chosen = groups[given.unwrap_or_else(|| self.chance.below(groups.len()))];
        if given.is_none() && NEEDS_ONE.contains(&name) {
            let shape = self.schema.definition(name);
            for key in chosen.iter().filter(|key| **key != "delays_every") {
                let inner = self.schema.shape(shape.name, &shape.json["properties"][*key]);
                let value = self.value(inner, &format!("{name}.{key}"));
                table.insert((*key).to_owned(), value);
            }
        }
        let keys = groups.iter().flat_map(|group| group.iter().copied());
        keys.filter(|key| !chosen.contains(key)).collect()
    }

    /// What holds between keys of one table.
    fn tidy(&mut self, name: &str, table: &mut Map<String, Json>) {
        // Options of Skyhop's own TCP go with its profiles.
        if name == "TcpTable" && self.world.is_linux && self.chance.happens(0.95) {
            let profile = *self.chance.pick(&["rfc", "ns-2"]);
            table.entry("profile").or_insert_with(|| profile.into());
        }
        let number = |table: &Map<String, Json>, key: &str| table.get(key).and_then(Json::as_u64);
        match name {
            "CodeFile" | "ErasureFile" => {
                let least = u64::from(name == "ErasureFile");
                if let Some(n) = number(table, "n") {
                    let k = 1 + self.chance.below((n - least).max(1) as usize) as u64;
                    table.insert("k".to_owned(), k.into());
                    if let Some(t) = number(table, "t") {
                        table.insert("t".to_owned(), t.min((n - k) / 2).into());
                    }
                }
            }
            "RedFile" => {
                if let (Some(min), Some(max)) = (table.get("min").and_then(Json::as_f64), table.get_mut("max")) {
                    *max = round(min * self.chance.real(1.1, 5.0)).into();
                }
                if table.get("ecn") != Some(&Json::Bool(true)) {
                    table.remove("mark_p");
                }
            }
            "DropTailFile" => {
                if let (Some(packets), Some(above)) = (number(table, "packets"), number(table, "mark_above")) {
                    table.insert("mark_above".to_owned(), above.min(packets - 1).into());
                }
            }
            "LinkFile" | "DirectionFile" | "GslFile" | "IslFile" | "TransmitterFile" => self.fit_repairs(table),
            "FlowFile" => {
                if !table.contains_key("count") {
                    table.remove("start_spread");
                }
                let is_linux = table.get("tcp").is_some_and(|tcp| tcp.get("profile") == Some(&"linux".into()));
                if table.contains_key("udp") || is_linux {
                    table.remove("jitter");
                }
            }
            // Options of Linux go with its profile.
            "LinuxTable" => {
                if self.chance.happens(0.95) {
                    table.insert("profile".to_owned(), "linux".into());
                }
                if table.contains_key("control") {
                    table.remove("name");
                }
                if table.contains_key("receive_buffer") {
                    table.remove("receive_memory");
                    table.remove("autotuning");
                }
            }
            // Helpers are for Reno's kin.
            "TcpTable" if table.contains_key("notification") && self.chance.happens(0.8) => {
                table.remove("name");
                table.remove("sack_rules");
                table.insert("recovery".to_owned(), (*self.chance.pick(&["reno", "newreno"])).into());
                table.insert("control".to_owned(), "reno".into());
            }
            "AllowanceFile" if table.contains_key("restored_at") => {
                table.entry("restored").or_insert_with(|| "2 s".into());
            }
            "RepairFile" if !table.contains_key("arq") && !table.contains_key("erasure") => {
                table.remove("order");
            }
            _ => {}
        }
    }

    /// What repairs errors on a link goes with some errors, and with no recording; in directions of the link, too.
    fn fit_repairs(&mut self, table: &mut Map<String, Json>) {
        const WAYS: [&str; 4] = ["forward", "backward", "uplink", "downlink"];
        let text = |table: &Map<String, Json>| Json::Object(table.clone()).to_string();
        let all = text(table);
        let (is_paced, is_recorded) =
            (all.contains("\"profile\""), all.contains("\"trace\":{\"o") || all.contains("\"table\""));
        let is_recorded = is_recorded || all.contains("\"delays\"");
        let drop_of_both = if self.chance.happens(0.5) { "trace" } else { "profile" };
        let (has_repair, has_code) = (all.contains("\"repair\""), all.contains("\"code\""));
        let fit = |table: &mut Map<String, Json>| {
            if is_paced && is_recorded {
                table.remove(drop_of_both);
            }
            if is_paced || is_recorded {
                table.remove("repair");
            } else if has_repair && let Some(errors) = table.get_mut("errors").and_then(Json::as_array_mut) {
                errors.retain(|error| error.get("segments").is_none() && error.pointer("/trace/packets").is_none());
                if has_code {
                    errors.retain(|error| error.get("byte").is_some() || error.get("bit").is_some());
                }
            }
        };
        for way in WAYS {
            if let Some(own) = table.get_mut(way).and_then(Json::as_object_mut) {
                fit(own);
            }
        }
        fit(table);
    }

    /// Values that come from what the scenario has, and content of files.
    fn known(&mut self, shape: Shape<'s>, place: &str) -> Option<Json> {
        let key = key_of(place);
        Some(match (shape.name, key) {
            ("ContentFile", _) => content::file(&mut self.chance, &self.world, key)?,
            (_, "city") | ("FibreFile", "to") => {
                (*self.chance.pick(&["Palermo", "Houston", "Tokyo", "Nairobi", "Lima"])).into()
            }
            ("SegmentErrors", "flow") | (_, "flow") => self.chance.pick(&self.world.flows).as_str().into(),
            (_, "ladder") => {
                let mut ladder = vec![0.1 * self.world.rate_bps];
                (0..self.chance.below(4)).for_each(|i| ladder.push(ladder[i] * self.chance.real(1.3, 2.5)));
                json!(ladder.iter().map(|&bps| rate(&mut self.chance, bps)).collect::<Vec<_>>())
            }
            (_, "text") => content::elements(&mut self.chance, 6).into(),
            ("AgentFile" | "TerrestrialFile", "at" | "to") if shape.json["type"] == "string" => {
                let nodes: Vec<&String> = self.world.stations.iter().chain(&self.world.wired).collect();
                self.chance.pick(&nodes).as_str().into()
            }
            (_, "links" | "packets") if shape.json["items"]["type"] == "string" => {
                if self.world.links.is_empty() {
                    return Some(json!([]));
                }
                let count = 1 + self.chance.below(3);
                let mut some: Vec<String> = (0..count).map(|_| self.chance.pick(&self.world.links).clone()).collect();
                some.sort();
                some.dedup();
                json!(some)
            }
            (_, "list") if !place.starts_with("ErrorsFile") && shape.json["type"] == "array" => {
                if self.world.satellites.len() < 2 {
                    return None;
                }
                let mut pairs = std::collections::BTreeSet::new();
                for _ in 0..1 + self.chance.below(8) {
                    let (a, b) = (
                        self.chance.below(self.world.satellites.len()),
                        self.chance.below(self.world.satellites.len()),
                    );
                    if a != b {
                        pairs.insert([a.min(b), a.max(b)]);
                    }
                }
                let named = pairs.into_iter().map(|pair| pair.map(|i| self.world.satellites[i].clone()));
                json!(named.collect::<Vec<_>>())
            }
            _ => return None,
        })
    }

    fn list(&mut self, shape: Shape<'s>, place: &str) -> Json {
        let bound = |key: &str| shape.json[key].as_u64().map(|bound| bound as usize);
        let least = bound("minItems").unwrap_or(1);
        // Long lists show no more than short ones.
        let most = bound("maxItems").unwrap_or(least.max(1) + 3).min(least.max(1) + 5);
        let count = self.chance.whole(least as u64, most as u64) as usize;
        let inner = self.schema.shape(shape.name, &shape.json["items"]);
        let mut items: Vec<(f64, Json)> = (0..count)
            .map(|_| {
                let value = self.value(inner, place);
                (size_of(&value), value)
            })
            .collect();
        // Two values are a range, and more are quantiles.
        if least == 2 && bound("maxItems").is_some() {
            items.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        }
        items.into_iter().map(|(_, value)| value).collect()
    }

    fn integer(&mut self, shape: Shape<'s>, place: &str) -> Json {
        let bound = |key: &str| shape.json[key].as_f64();
        let highest = bound("maximum").unwrap_or(if shape.json["format"] == "uint8" { 255.0 } else { 4e9 }) as u64;
        let lowest = bound("minimum").unwrap_or(0.0) as u64;
        if let Some((_, least, most)) = find(WHOLE, place, |row| row.0) {
            return self.chance.whole(*least.max(&lowest), *most.min(&highest)).into();
        }
        if let Some(usual) = self.defaults.number(place, &mut self.chance) {
            let near = self.chance.magnitude(0.2, 5.0) * usual.max(1.0);
            return (near.round() as u64).clamp(lowest, highest).into();
        }
        let most = highest.min(lowest + 100);
        self.chance.whole(lowest, if highest <= 255 { highest } else { most }).into()
    }

    fn number(&mut self, shape: Shape<'s>, place: &str) -> Json {
        let bound = |key: &str| shape.json[key].as_f64();
        if let (Some(least), Some(most)) = (bound("minimum"), bound("maximum")) {
            // Probabilities: some of none and of all, most of them small.
            return round(match self.chance.below(20) {
                0 => least,
                1 if key_of(place) != "packet" => most,
                2..=5 => self.chance.real(least, most),
                _ => self.chance.magnitude(1e-7, 0.1).clamp(least, most),
            })
            .into();
        }
        let usual = match find(
            &[
                ("min", 1.0),
                ("max", 15.0),
                ("max_p", 0.1),
                ("mark_p", 0.1),
                ("weight", 0.01),
                ("bpl", 20.0),
                ("stretch", 3.0),
            ],
            place,
            |r| r.0,
        ) {
            Some((_, usual)) => Some(*usual),
            None => self.defaults.number(place, &mut self.chance),
        };
        round(match usual {
            Some(usual) if usual > 0.0 && usual <= 1.0 && self.chance.happens(0.5) => self.chance.real(0.0, 1.0),
            Some(usual) if usual != 0.0 => usual * self.chance.magnitude(0.3, 3.0),
            _ => match self.chance.below(3) {
                0 => self.chance.real(0.0, 1.0),
                1 => self.chance.magnitude(1.0, 100.0),
                _ => self.chance.below(5) as f64,
            },
        })
        .into()
    }

    fn text(&mut self, shape: Shape<'s>, place: &str) -> Json {
        let format = shape.json["format"].as_str().unwrap_or_default();
        match format {
            "duration" => {
                let seconds = self.duration_s(place);
                duration(&mut self.chance, seconds).into()
            }
            "rate" => {
                let bps = self.rate_bps(place);
                rate(&mut self.chance, bps).into()
            }
            "size" => {
                let bytes = self.size(place);
                size(&mut self.chance, bytes).into()
            }
            "angle" => {
                let (_, least, most) = *find(ANGLES, place, |row| row.0).unwrap_or(&("", -60.0, 60.0));
                angle(&mut self.chance, least, most).into()
            }
            "length" => {
                let (_, least, most) = *find(LENGTHS, place, |row| row.0).unwrap_or(&("", 0.0, 1000.0));
                let km = self.chance.real(least, most);
                if self.chance.happens(0.3) { format!("{:.0} m", km * 1e3) } else { format!("{km:.3} km") }.into()
            }
            "instant" => content::instant(&mut self.chance).into(),
            // A name.
            _ => format!("{}{}", self.chance.pick(&["x", "Y-", "z_", "q.", "7"]), self.chance.below(100)).into(),
        }
    }

    fn duration_s(&mut self, place: &str) -> f64 {
        let run = self.world.duration_s;
        if let Some(&(key, least, most)) = find(DURATIONS, place, |row| row.0) {
            let of_run = |bound: f64| if bound < 0.0 { -bound * run } else { bound };
            let (least, most) = (of_run(least), of_run(most));
            let may_be_zero =
                !["every", "grid", "positions", "interval", "think", "segment", "buffer", "on", "off", "stop"]
                    .contains(&key)
                    && !key.ends_with("_every");
            if may_be_zero && self.chance.happens(0.05) {
                return 0.0;
            }
            return if least > 0.0 && most > least {
                self.chance.magnitude(least, most)
            } else {
                self.chance.real(least.min(most), most.max(least))
            };
        }
        match self.defaults.seconds(place, &mut self.chance) {
            Some(usual) if usual > 0.0 => usual * self.chance.magnitude(0.2, 5.0),
            _ => self.chance.magnitude(1e-3, run),
        }
    }

    fn rate_bps(&mut self, place: &str) -> f64 {
        let usual = self.world.rate_bps;
        match place {
            "ConstantRateOptions.rate" | "PoissonOptions.rate" | "OnOffOptions.rate" | "CodecValues.rate" => {
                self.chance.magnitude(usual / 20.0, usual)
            }
            "AccessFile.rate" => self.chance.magnitude(usual, usual * 20.0),
            _ => self.chance.magnitude(usual / 5.0, usual * 1.5),
        }
    }

    fn size(&mut self, place: &str) -> f64 {
        // The ends of what a packet can be, where a run has no more packets for it.
        let is_packet = ["mss", "header", "syn_size", "ack_size", "framing", "answer", "option", "report", "probe"];
        if is_packet.contains(&key_of(place)) && self.chance.happens(0.04) {
            return *self.chance.pick(&[0.0, 1.0, 1500.0, 9000.0, 32_768.0, 65_495.0, 65_535.0]);
        }
        if let Some(&(_, least, most)) = find(SIZES, place, |row| row.0) {
            return self.chance.magnitude(least, most).round();
        }
        match self.defaults.bytes(place, &mut self.chance) {
            Some(usual) if usual > 0.0 => (usual * self.chance.magnitude(0.3, 3.0)).round(),
            _ => self.chance.magnitude(1.0, 200.0).round(),
        }
    }
}

/// The row of the key alone, or of the key in this definition, which comes first.
fn find<'t, R>(table: &'t [R], place: &str, name: impl Fn(&R) -> &'static str) -> Option<&'t R> {
    table.iter().find(|row| name(row) == place).or_else(|| table.iter().find(|row| name(row) == key_of(place)))
}

pub fn key_of(place: &str) -> &str {
    place.rsplit('.').next().unwrap_or(place)
}

/// To few digits, so that scenarios can be read.
pub fn round(value: f64) -> Number {
    let text = format!("{value:.3e}");
    Number::from_f64(text.parse().unwrap_or(value)).unwrap_or_else(|| 0.into())
}

/// The same length in one of its notations.
pub fn duration(chance: &mut Chance, seconds: f64) -> String {
    let ns = (seconds * 1e9).round();
    match chance.below(8) {
        0 => format!("{ns} ns"),
        1 | 2 => format!("{} ms", (ns / 1e3).round() / 1e3),
        3 => format!("{} us", (ns / 1e3).round()),
        4 if seconds >= 60.0 => format!("{} min", (seconds / 60.0 * 1e3).round() / 1e3),
        _ => format!("{} s", (ns / 1e6).round() / 1e3),
    }
}

pub fn rate(chance: &mut Chance, bps: f64) -> String {
    let bps = bps.round().max(1.0);
    match chance.below(4) {
        0 => format!("{bps} bit/s"),
        1 => format!("{} kbit/s", bps / 1e3),
        2 => format!("{} Mbit/s", bps / 1e6),
        _ => format!("{} kbit/s", (bps / 1e3).ceil()),
    }
}

pub fn size(chance: &mut Chance, bytes: f64) -> String {
    match chance.below(6) {
        0 => format!("{} kB", bytes / 1e3),
        1 if bytes >= 2048.0 => format!("{} KiB", (bytes / 1024.0).floor()),
        _ => format!("{bytes} B"),
    }
}

pub fn angle(chance: &mut Chance, least: f64, most: f64) -> String {
    let degrees = chance.real(least, most);
    match chance.below(8) {
        0 => format!("{:.4} rad", (degrees.abs() - 0.01).max(0.0).to_radians().copysign(degrees)),
        1 => format!("{degrees:.2} °"),
        _ => format!("{degrees:.2} deg"),
    }
}

/// By which two quantities of a range are put in order; units of one kind only.
fn size_of(value: &Json) -> f64 {
    let Some(text) = value.as_str() else { return value.as_f64().unwrap_or(0.0) };
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let factor = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "min" => 60.0,
        "kbit/s" | "kB" => 1e3,
        "Mbit/s" => 1e6,
        "KiB" => 1024.0,
        _ => 1.0,
    };
    number.parse().unwrap_or(0.0) * factor
}
