//! A default that is written out is the default: no key changes what another one is without being told.

use crate::support::scenarios;
use serde_json::Value;
use skyhop_scenario::{Override, Scenario};
use std::collections::BTreeMap;

/// Every value of a canonical form that is not a table, with the key by which an override sets it.
fn leaves(value: &Value, key: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let bare = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
                let name = if bare { name.clone() } else { format!("{name:?}") };
                leaves(member, &if key.is_empty() { name } else { format!("{key}.{name}") }, found);
            }
        }
        Value::Array(items) if key == "flows" || key == "links" => {
            for (i, item) in items.iter().enumerate() {
                leaves(item, &format!("{key}[{i}]"), found);
            }
        }
        _ => found.push((key.to_owned(), as_toml(value))),
    }
}

fn as_toml(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(as_toml).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(name, member)| format!("{name:?} = {}", as_toml(member))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        other => other.to_string(),
    }
}

/// Flows and links in the order of the canonical form, ends of links too, so that indices mean the same in both.
fn in_order(text: &str) -> Option<Value> {
    let mut value: Value = toml::from_str(text).ok()?;
    let sort = |list: Option<&mut Value>, name: fn(&Value) -> String| {
        if let Some(list) = list.and_then(Value::as_array_mut) {
            list.sort_by(|a, b| skyhop_scenario::natural_order(&name(a), &name(b)));
        }
    };
    for link in value.get_mut("links").and_then(Value::as_array_mut).into_iter().flatten() {
        let ends = link["between"].as_array_mut()?;
        if skyhop_scenario::natural_order(ends[0].as_str()?, ends[1].as_str()?).is_gt() {
            ends.reverse();
            let table = link.as_object_mut()?;
            let directions = [table.remove("forward"), table.remove("backward")];
            for (key, direction) in ["backward", "forward"].into_iter().zip(directions) {
                direction.map(|direction| table.insert(key.to_owned(), direction));
            }
        }
    }
    sort(value.get_mut("flows"), |flow| flow["name"].as_str().unwrap_or_default().to_owned());
    sort(value.get_mut("links"), |link| {
        format!(
            "{} {}",
            link["between"][0].as_str().unwrap_or_default(),
            link["between"][1].as_str().unwrap_or_default()
        )
    });
    Some(value)
}

/// Times that a key is tried with one value.
const MOST_ALIKE: u32 = 2;

#[test]
fn writing_out_a_default_changes_nothing() {
    let (mut same, mut refused) = (0, Vec::new());
    let mut tried: BTreeMap<(&str, String), u32> = BTreeMap::new();
    let mut every = scenarios::shown();
    // A key is tried where reading is quick: satellites take time, and planes that are found among elements the most.
    every.sort_by_key(|shown| ["elements", "[constellation"].map(|part| shown.text.contains(part)));
    for shown in every {
        // Their seventy flows and ninety wires are alike.
        if shown.name.contains("argo-floats") || shown.name.contains("relays.toml") {
            continue;
        }
        let value = in_order(&shown.text).unwrap_or_else(|| panic!("{}", shown.name));
        let read = |changes: &[Override]| Scenario::from_json_in(&value, &shown.name, &shown.folder, changes);
        for name in ["rfc", "ns-2"] {
            let profile = Override::new("profile", name).unwrap();
            let Ok(base) = read(std::slice::from_ref(&profile)) else { continue };
            let base = base.canonical();
            let mut found = Vec::new();
            leaves(&base, "", &mut found);
            // The list of TCP's options is long, and the same everywhere.
            let few = |key: &str| !key.contains(".tcp.") || shown.name.ends_with("examples/iridium.toml");
            // A rate beside a profile is that of every slot: it is given for `rates`, and no default.
            let slots = |key: &str| key.ends_with(".rate") && shown.text.contains("profile = ");
            let wanted = |key: &str| few(key) && !slots(key);
            for (key, written) in found.into_iter().filter(|(key, _)| wanted(key)) {
                // The same key with the same value in scenario after scenario teaches nothing.
                let alike: String = key.chars().filter(|c| !c.is_ascii_digit()).collect();
                let count = tried.entry((name, format!("{alike} = {written}"))).or_default();
                *count += 1;
                if *count > MOST_ALIKE {
                    continue;
                }
                match read(&[profile.clone(), Override::new(&key, &written).unwrap()]) {
                    Ok(other) => {
                        let other = other.canonical();
                        assert!(
                            other == base,
                            "{}: {profile}, {key} = {written}: {}",
                            shown.name,
                            difference(&other, &base)
                        );
                        same += 1;
                    }
                    Err(problems) => refused.push(format!("{key}: {problems}")),
                }
            }
        }
    }
    // What excludes another key is refused aloud; that is the smaller part.
    assert!(same > 10 * refused.len(), "{same} are the same, {} refused: {:#?}", refused.len(), &refused[..20]);
}

/// The values in which two canonical forms differ.
fn difference(a: &Value, b: &Value) -> String {
    let list = |value| {
        let mut found = Vec::new();
        leaves(value, "", &mut found);
        found
    };
    let (a, b) = (list(a), list(b));
    let only = |these: &[(String, String)], those: &[(String, String)]| {
        these
            .iter()
            .filter(|one| !those.contains(one))
            .map(|(key, value)| format!("{key} = {value}"))
            .collect::<Vec<_>>()
    };
    format!("{:?} in place of {:?}", only(&a, &b), only(&b, &a))
}
