//! The values that options have without being given, learned from the canonical forms of small scenarios: draws stay
//! near them, also those of options that came later than the generator.

use super::chance::Chance;
use super::schema::{Schema, names_of};
use super::values::key_of;
use serde_json::{Value as Json, json};
use skyhop_scenario::Scenario;
use std::collections::BTreeMap;

#[derive(Default)]
pub struct Defaults {
    /// Values by key.
    values: BTreeMap<String, Vec<Json>>,
    /// Share of flows that have a QUIC stack. Without any, draws are the same as before there was QUIC.
    pub quic: f64,
}

impl Defaults {
    pub fn learn(schema: &Schema) -> Defaults {
        let mut defaults = Defaults::default();
        let tcps = schema.ways(schema.definition("TcpName"));
        let names = tcps.iter().flat_map(|way| names_of(way.json)).map(|name| json!({ "tcp": name }));
        for flow in names {
            for profile in ["rfc", "ns-2"] {
                let mut flow = flow.clone();
                flow["name"] = "a".into();
                flow["from"] = "left".into();
                flow["to"] = "right".into();
                let scenario = json!({
                    "duration": "1 s", "profile": profile, "flows": [flow],
                    "links": [{ "between": ["left", "right"], "rate": "1 Mbit/s", "delay": "10 ms" }],
                    "agents": [
                        { "at": "left", "error_report": {} }, { "at": "right", "snoop": {} },
                        { "at": "left", "pep": {} },
                    ],
                });
                if let Ok(scenario) = Scenario::from_json(&scenario, "defaults", &[]) {
                    let canonical = scenario.canonical();
                    defaults.gather("", &canonical["flows"]);
                    defaults.gather("", &canonical["agents"]);
                }
            }
        }
        // Queues that are asked at each departure.
        for name in schema.ways(schema.definition("DisciplineName")).iter().flat_map(|way| names_of(way.json)) {
            let scenario = json!({
                "duration": "1 s",
                "links": [{ "between": ["left", "right"], "rate": "1 Mbit/s", "delay": "10 ms", "queue": name }],
            });
            if let Ok(scenario) = Scenario::from_json(&scenario, "defaults", &[]) {
                defaults.gather("", &scenario.canonical()["links"][0]["forward"]["queue"]);
            }
        }
        defaults
    }

    fn gather(&mut self, key: &str, value: &Json) {
        match value {
            Json::Object(table) => table.iter().for_each(|(key, inner)| self.gather(key, inner)),
            Json::Array(items) => items.iter().for_each(|inner| self.gather(key, inner)),
            _ => {
                let known = self.values.entry(key.to_owned()).or_default();
                if !known.contains(value) {
                    known.push(value.clone());
                }
            }
        }
    }

    /// One of the defaults of a key that `read` understands.
    fn some<T>(&self, place: &str, chance: &mut Chance, read: impl Fn(&Json) -> Option<T>) -> Option<T> {
        let known: Vec<T> = self.values.get(key_of(place))?.iter().filter_map(read).collect();
        if known.is_empty() { None } else { known.into_iter().nth(chance.below(self.values[key_of(place)].len())) }
    }

    pub fn number(&self, place: &str, chance: &mut Chance) -> Option<f64> {
        self.some(place, chance, Json::as_f64)
    }

    pub fn seconds(&self, place: &str, chance: &mut Chance) -> Option<f64> {
        self.some(place, chance, |value| Some(value.as_str()?.parse::<skyhop_base::Duration>().ok()?.as_secs_f64()))
    }

    pub fn bytes(&self, place: &str, chance: &mut Chance) -> Option<f64> {
        self.some(place, chance, |value| Some(value.as_str()?.parse::<skyhop_base::Bytes>().ok()?.0 as f64))
    }
}
