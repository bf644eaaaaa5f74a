//! Keys without effect, found by trying and not by a list: a key has no effect if leaving it out, and setting
//! it to other values, changes nothing in the run. A new key of the format is tried like all others.

use crate::check::{Scope, check};
use crate::diagnostic::Problems;
use crate::files::Shelf;
use crate::resolve;
use crate::scenario::Scenario;
use crate::schema;
use crate::source::Source;
use crate::tree::{Node, Path, Step, Value};
use serde_json::Value as Json;
use skyhop_orbit::Utc;
use std::collections::BTreeMap;

/// What trying may cost, in values read: some tenths of a second. Each kind of key is tried about three times.
const MOST_WORK: usize = 150_000;
const TRIES: usize = 3;

/// Bytes of text in a scenario that take as long as one value.
const BYTES_PER_VALUE: usize = 40;

/// Tried in place of an instant of the calendar: with other seconds, minutes and hours.
const INSTANTS: [&str; 2] = ["2025-10-07T03:04:05Z", "2025-10-08T16:38:31Z"];

/// Said in place of a search that would take too long.
const TOO_LARGE: &str = "the scenario is large: keys without effect were not looked for";

/// So many places of one kind of key are named.
const NAMED: usize = 3;

/// A warning for each kind of key that is written in `tree` and has no effect on `scenario`, which was made of it.
pub(crate) fn keys_without_effect(tree: &Node, shelf: &Shelf<'_>, scenario: &Scenario) -> Vec<String> {
    let mut leaves = Vec::new();
    let bytes = collect(tree, &Path::root(), &mut leaves);
    let mut kinds: BTreeMap<String, Vec<Path>> = BTreeMap::new();
    // The version says how the file is read, whatever is in it.
    for path in leaves.iter().filter(|path| path.to_string() != "format") {
        kinds.entry(kind(path)).or_default().push(path.clone());
    }
    let values = leaves.len() + scenario.satellite_count() + bytes / BYTES_PER_VALUE;
    if values * kinds.len() * TRIES > MOST_WORK {
        return vec![TOO_LARGE.to_owned()];
    }
    let trials = Trials { tree, shelf, base: parts(scenario.effective()) };
    let idle = kinds.into_values().filter_map(|paths| {
        let idle = trials.idle(paths);
        let (first, rest) = idle.split_first()?;
        let others: Vec<String> = rest.iter().take(NAMED - 1).map(ToString::to_string).collect();
        let more = match rest.len().saturating_sub(NAMED - 1) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = std::iter::once(first.to_string()).chain(others).collect::<Vec<_>>().join(", ");
        Some(format!("{names}{more}: has no effect here: with any value, and without it, the same is run"))
    });
    idle.collect()
}

/// The paths of all values that are neither tables nor lists of tables, and the bytes of their texts.
fn collect(node: &Node, path: &Path, leaves: &mut Vec<Path>) -> usize {
    match &node.value {
        Value::Table(entries) => entries.iter().map(|(key, entry)| collect(&entry.node, &path.key(key), leaves)).sum(),
        Value::List(items) if items.iter().any(|item| item.table().is_some()) => {
            items.iter().enumerate().map(|(i, item)| collect(item, &path.index(i), leaves)).sum()
        }
        value => {
            leaves.push(path.clone());
            match value {
                Value::Text(text) => text.len(),
                Value::List(items) => BYTES_PER_VALUE * items.len(),
                _ => 0,
            }
        }
    }
}

/// The key without what tells its places apart: `flows[*].tcp.mss`, `stations.*.altitude`.
fn kind(path: &Path) -> String {
    let steps = path.steps();
    let is_station = |i: usize| i == 1 && steps[0] == Step::Key("stations".to_owned());
    let word = |(i, step): (usize, &Step)| match step {
        Step::Key(key) if !is_station(i) => key.clone(),
        _ => "*".to_owned(),
    };
    steps.iter().enumerate().map(word).collect::<Vec<_>>().join(".")
}

/// The parts of a canonical form: each flow, link and station, and what else stands at its top.
fn parts(canonical: Json) -> BTreeMap<String, Json> {
    let Json::Object(top) = canonical else { return BTreeMap::new() };
    let mut parts = BTreeMap::new();
    for (key, value) in top {
        match (key.as_str(), value) {
            ("flows" | "workloads" | "links", Json::Array(items)) => {
                parts.extend(items.into_iter().map(|item| (format!("{key}.{}", identity(&item)), item)));
            }
            ("stations", Json::Object(members)) => {
                parts.extend(members.into_iter().map(|(name, station)| (format!("{key}.{name}"), station)));
            }
            (_, value) => _ = parts.insert(key, value),
        }
    }
    parts
}

/// What tells one flow or link from another, however it is written.
fn identity(item: &Json) -> String {
    let mut ends: Vec<&str> = item["between"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    ends.sort_unstable();
    match item["name"].as_str() {
        Some(name) => name.to_owned(),
        None => ends.join("|"),
    }
}

/// Scenarios that differ in some keys from the one that is written.
struct Trials<'t> {
    tree: &'t Node,
    shelf: &'t Shelf<'t>,
    base: BTreeMap<String, Json>,
}

impl Trials<'_> {
    /// Those of the places of one kind of key that have no effect.
    fn idle(&self, mut paths: Vec<Path>) -> Vec<Path> {
        let single = paths.len() == 1;
        if let Some(without) = self.with(&paths, None) {
            paths.retain(|path| self.is_same(&without, path, single));
        }
        let choices = self.alternatives(&paths);
        let mut tried = false;
        for value in choices {
            if paths.is_empty() {
                break;
            }
            let Some(with) = self.with(&paths, Some(&value)) else { continue };
            tried = true;
            paths.retain(|path| self.is_same(&with, path, single));
        }
        if tried { paths } else { Vec::new() }
    }

    /// Whether a trial runs the same as far as the part of `path` goes, or wholly where only one place was changed.
    fn is_same(&self, trial: &BTreeMap<String, Json>, path: &Path, single: bool) -> bool {
        match self.part(path).filter(|_| !single) {
            Some(part) => trial.get(&part) == self.base.get(&part),
            None => *trial == self.base,
        }
    }

    /// The part of the canonical form in which a key stands.
    fn part(&self, path: &Path) -> Option<String> {
        match path.steps() {
            [Step::Key(top), Step::Index(_), ..] if ["flows", "workloads", "links"].contains(&top.as_str()) => {
                Some(format!("{top}.{}", identity(&self.tree.find(&path.head(2))?.to_json())))
            }
            [Step::Key(top), Step::Key(name), ..] if top == "stations" => Some(format!("{top}.{name}")),
            _ => None,
        }
    }

    /// The parts of the scenario with these keys left out, or set to a value; `None` if the result is not a scenario.
    fn with(&self, paths: &[Path], value: Option<&Value>) -> Option<BTreeMap<String, Json>> {
        let mut tree = self.tree.clone();
        // The last first: taking an item out of a list moves those behind it.
        paths.iter().rev().for_each(|path| set(&mut tree, path.steps(), value));
        let source = Source::without_text("", &[]);
        let mut problems = Problems::new(&source);
        check(&tree, Scope::Everything, &mut problems);
        if !problems.is_empty() {
            return None;
        }
        let scenario = resolve::resolve(&tree, self.shelf, &mut problems)?;
        Some(parts(scenario.effective()))
    }

    /// Other values for the first of the places: the names that the format knows there, other numbers, the other truth.
    fn alternatives(&self, paths: &[Path]) -> Vec<Value> {
        let Some(path) = paths.first() else { return Vec::new() };
        let Some(node) = self.tree.find(path) else { return Vec::new() };
        match (&node.value, others(&node.value)) {
            (Value::Text(text), None) if text.parse::<Utc>().is_ok() => {
                INSTANTS.map(|at| Value::Text(at.into())).into()
            }
            (Value::Text(text), None) => {
                let mut names = Vec::new();
                constants(schema::shared(), path.steps(), &mut names);
                names.into_iter().filter(|name| name != text).map(Value::Text).collect()
            }
            (_, others) => others.unwrap_or_default(),
        }
    }
}

/// Other numbers, quantities, the other truth, or lists of these; `None` of names.
fn others(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Boolean(flag) => Some(vec![Value::Boolean(!flag)]),
        Value::Integer(number) => {
            let others = [number + 1, number * 2 + 3, number / 2].into_iter().filter(|other| other != number);
            Some(others.map(Value::Integer).collect())
        }
        Value::Float(number) => {
            Some([number * 0.5 + 0.01, number * 1.5 + 0.01, number * 0.9].map(Value::Float).to_vec())
        }
        Value::Text(text) => quantities(text),
        Value::List(items) => {
            let of_items: Option<Vec<Vec<Value>>> = items.iter().map(|item| others(&item.value)).collect();
            let of_items = of_items?;
            let most = of_items.iter().map(Vec::len).min().unwrap_or(0);
            let list = |n: usize| {
                let with = |(item, others): (&Node, &Vec<Value>)| Node { value: others[n].clone(), ..item.clone() };
                Value::List(items.iter().zip(&of_items).map(with).collect())
            };
            Some((0..most).map(list).collect())
        }
        Value::Table(_) | Value::Foreign(_) => None,
    }
}

/// The same quantity twice, half, and a tenth of it; `None` if the text is not a quantity.
fn quantities(text: &str) -> Option<Vec<Value>> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+')))?;
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().ok()?;
    let other = |number: f64| Value::Text(format!("{number} {}", unit.trim()));
    Some(if number == 0.0 {
        vec![other(1.0), other(10.0)]
    } else {
        [2.0, 0.5, 0.1].map(|f| other(number * f)).to_vec()
    })
}

/// Sets the value at a path, or takes its key away.
fn set(node: &mut Node, steps: &[Step], value: Option<&Value>) {
    let Some((first, rest)) = steps.split_first() else { return };
    let inner = match (&mut node.value, first) {
        (Value::Table(entries), Step::Key(key)) if rest.is_empty() && value.is_none() => {
            entries.remove(key);
            return;
        }
        (Value::Table(entries), Step::Key(key)) => entries.get_mut(key).map(|entry| &mut entry.node),
        (Value::List(items), Step::Index(index)) => items.get_mut(*index),
        _ => None,
    };
    let Some(inner) = inner else { return };
    match value {
        Some(value) if rest.is_empty() => inner.value = value.clone(),
        _ => set(inner, rest, value),
    }
}

/// The names that the format knows at a path.
fn constants(schema: &Json, steps: &[Step], found: &mut Vec<String>) {
    let schema = match schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
        Some(pointer) => schema::shared().pointer(pointer).unwrap_or(schema),
        None => schema,
    };
    for key in ["anyOf", "oneOf", "allOf"] {
        schema[key].as_array().into_iter().flatten().for_each(|one| constants(one, steps, found));
    }
    match steps.split_first() {
        None => {
            let names = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
            found.extend(names.filter_map(Json::as_str).map(str::to_owned));
        }
        Some((Step::Key(key), rest)) => {
            let inner = schema["properties"].get(key).or(schema.get("additionalProperties").filter(|s| s.is_object()));
            if let Some(inner) = inner {
                constants(inner, rest, found);
            }
        }
        Some((Step::Index(_), rest)) => {
            if let Some(inner) = schema.get("items").filter(|items| items.is_object()) {
                constants(inner, rest, found);
            }
        }
    }
}
