//! The same scenario in other words, and recorded otherwise: neither may change what happens.

use super::chance::Chance;
use super::finding::Findings;
use serde_json::{Value as Json, json};
use skyhop::records::Records;
use skyhop_scenario::Scenario;
use std::fmt::Write;

/// The parts in another order, and each link from its other end.
pub fn reordered(value: &Json, chance: &mut Chance) -> Json {
    let mut value = value.clone();
    for place in ["/links", "/flows", "/agents", "/constellation/satellites", "/records/packets"] {
        if let Some(items) = value.pointer_mut(place).and_then(Json::as_array_mut) {
            chance.shuffle(items);
        }
    }
    // Shells without a name are called by their number.
    if let Some(shells) = value.pointer_mut("/constellation/shells").and_then(Json::as_array_mut)
        && shells.iter().all(|shell| shell.get("name").is_some())
    {
        chance.shuffle(shells);
    }
    for link in value.get_mut("links").and_then(Json::as_array_mut).into_iter().flatten() {
        // A profile knows its direction by the end from which it is written.
        if chance.happens(0.5) && !link.to_string().contains("profile") {
            if let Some(between) = link.get_mut("between").and_then(Json::as_array_mut) {
                between.reverse();
            }
            let Some(table) = link.as_object_mut() else { continue };
            let ways = [table.remove("forward"), table.remove("backward")];
            for (key, way) in ["backward", "forward"].into_iter().zip(ways) {
                if let Some(way) = way {
                    table.insert(key.to_owned(), way);
                }
            }
        }
    }
    value
}

/// Recorded if it was not, and the other way round.
pub fn recorded_otherwise(value: &Json, duration_s: f64) -> Json {
    let mut value = value.clone();
    let is_recorded = value["records"].as_object().is_some_and(|records| !records.is_empty());
    let every = |parts: f64| format!("{:.6} s", duration_s / parts);
    let links = value["links"].as_array().into_iter().flatten();
    let names: Vec<String> = links
        .filter_map(|link| Some(format!("{}->{}", link["between"][0].as_str()?, link["between"][1].as_str()?)))
        .collect();
    value["records"] = if is_recorded {
        json!({})
    } else {
        json!({ "grid": every(37.0), "positions": every(5.0), "packets": names, "updates": true })
    };
    value
}

/// What recording may not change.
pub fn totals(records: &Records) -> Vec<(&'static str, String)> {
    vec![
        ("conservation", format!("{:?}", records.conservation)),
        ("packet_hops", format!("{}", records.packet_hops)),
        ("flows", format!("{:#?}", records.flows)),
        ("links", format!("{:#?}", records.links)),
        ("drops", format!("{:#?}", records.drops)),
        ("flow_events", format!("{:#?}", records.flow_events)),
        ("workload_transfers", format!("{:#?}", records.workload_transfers)),
        ("pages", format!("{:#?}", records.pages)),
        ("videos", format!("{:#?}", records.videos)),
        ("handovers", format!("{:#?}", records.handovers)),
        ("link_changes", format!("{:#?}", records.link_changes)),
        ("paths", format!("{:#?}", records.paths)),
    ]
}

/// The first line in which two texts differ.
pub fn difference(a: &str, b: &str) -> String {
    let differs = a.lines().zip(b.lines()).enumerate().find(|(_, (a, b))| a != b);
    match differs {
        Some((line, (a, b))) => format!("line {line}: {} / {}", a.trim(), b.trim()),
        None => format!("{} and {} lines", a.lines().count(), b.lines().count()),
    }
}

/// The ways to write a scenario down that must mean the same: TOML, JSON text, the canonical form.
pub fn check_forms(value: &Json, scenario: &Scenario, findings: &mut Findings) {
    let canonical = scenario.canonical();
    let mut compare = |name: &str, other: Result<Scenario, skyhop_scenario::Diagnostics>| match other {
        Err(problems) => findings.add(&format!("{name} is refused"), || problems.to_string()),
        Ok(other) => findings.expect(other.hash() == scenario.hash(), &format!("{name} has another hash"), || {
            difference(&format!("{canonical:#}"), &format!("{:#}", other.canonical()))
        }),
    };
    compare("the canonical form", Scenario::from_json(&canonical, "canonical", &[]));
    compare("the scenario as TOML", Scenario::from_toml(&to_toml(value), "toml", &[]));
    let read = |text: String| serde_json::from_str::<Json>(&text);
    match (read(value.to_string()), read(scenario.canonical_json())) {
        (Ok(value), Ok(canonical)) => {
            compare("the scenario as JSON", Scenario::from_json(&value, "json", &[]));
            compare("the canonical form as JSON", Scenario::from_json(&canonical, "json", &[]));
        }
        _ => findings.add("JSON cannot be read again", || value.to_string()),
    }
}

/// A scenario as TOML, one line for each key of the top level.
pub fn to_toml(value: &Json) -> String {
    let mut text = String::new();
    for (key, inner) in value.as_object().into_iter().flatten() {
        let _ = match inner.as_array().filter(|items| !items.is_empty() && items.iter().all(Json::is_object)) {
            Some(items) => {
                let items: Vec<String> = items.iter().map(inline).collect();
                writeln!(text, "{key} = [\n    {},\n]", items.join(",\n    "))
            }
            None => writeln!(text, "{key} = {}", inline(inner)),
        };
    }
    text
}

fn inline(value: &Json) -> String {
    match value {
        Json::Object(table) => {
            let keys = table.iter().map(|(key, inner)| format!("{} = {}", bare(key), inline(inner)));
            format!("{{ {} }}", keys.collect::<Vec<_>>().join(", "))
        }
        Json::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        // TOML's basic strings have the escapes of JSON's.
        other => other.to_string(),
    }
}

fn bare(key: &str) -> String {
    let is_bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if is_bare { key.to_owned() } else { format!("{key:?}") }
}
