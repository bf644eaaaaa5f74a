//! The structural check: a tree of values against the JSON Schema of the format. Finds every unknown and missing
//! key, wrong type, unit, name and range, each at its place.
//!
//! This interprets the part of JSON Schema that schemars writes for our types: `$ref`, `properties`, `required`,
//! `additionalProperties`, `items`, `enum`, `const`, `oneOf`, `anyOf`, `allOf`, `type`, bounds, and the formats of
//! quantities.

use crate::diagnostic::Problems;
use crate::format::{FORMAT, ProfileName, name_of_other_profile};
use crate::forms::{Format, Forms, constants_of, members, with_format};
use crate::names;
use crate::quantity;
use crate::tree::{Entry, Node, Step, Trail, Value};
use serde_json::Value as Json;
use skyhop_tcp::control::ControlKind;
use skyhop_transport::TcpSpec;
use std::collections::BTreeMap;

/// Checks the whole tree of a scenario and adds what is wrong with it to `problems`.
pub(crate) fn check(root: &Node, scope: Scope, problems: &mut Problems<'_>) {
    with_format(|format| {
        Checker { format, scope, problems, root, others: Vec::new() }.check(format.schema, root, &Trail::Root);
    });
}

/// The kind of value that is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Everything,
    /// The text has syntax errors: a key that is missing may stand in the part that could not be read.
    WhatIsThere,
}

struct Checker<'c, 'r, 'p, 's> {
    root: &'r Node,
    format: &'r Format<'c>,
    scope: Scope,
    problems: &'p mut Problems<'s>,
    /// Other forms of the table that is checked next: what says that one is meant, and its schema.
    others: Vec<(String, &'c Json)>,
}

/// Keys that people look for in another place, with what to say.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("constellation", "tle", "write elements = \"file.tle\""),
    ("", "seed", "the seed is not part of the scenario: give it to the run (--seed 3)"),
    ("", "name", "a scenario is called after its file"),
    ("flow", "bytes", "write application = { ftp = { bytes = \"10 MB\" } }"),
    (
        "flow",
        "rate",
        "a flow's rate belongs to its application: application = { constant_rate = { rate = \"1 Mbit/s\", payload = \
         \"1000 B\" } }",
    ),
];

/// Tables within a table that hold what one simulator alone has: a key that stands beside one is looked up in it.
const ROOMS: &[&str] = &["ns2"];

/// Values that have another name now.
const RENAMED: &[(&str, &str)] = &[("linux-2.6.22", "ns-2"), ("linux-ticks", "ns-2-linux"), ("ticks", "ns-2")];

/// Keys of one kind of TCP, and of none, that stand where another kind is described: what there is instead.
const INSTEAD: &[(&str, &str)] = &[
    ("window", "under \"linux\" the receive window follows from receive_memory or receive_buffer"),
    ("recovery", "Linux has RACK, PRR and F-RTO; sack = \"off\" makes it NewReno, and tlp, frto and undo are switches"),
    ("ack_every", "delayed_ack = \"off\" acknowledges each segment under \"linux\""),
    ("ack_delay", "the kernel chooses 40 to 200 ms under \"linux\"; delayed_ack = \"off\" acknowledges each segment"),
    ("tick", "timers = \"jiffies\" makes the timers of Linux coarse"),
    ("hystart", "HyStart belongs to cubic: control = { cubic = { hystart = \"off\" } } with profile = \"linux\""),
    ("rack", "RACK comes with sack under profile = \"linux\"; sack = \"off\" takes NewReno in its place"),
    ("prr", "proportional rate reduction (RFC 9937) is part of profile = \"linux\" and has no switch"),
    ("accurate_ecn", "Accurate ECN (RFC 9768) is not modelled; ecn = \"on\" is that of RFC 3168"),
    ("mptcp", "Multipath TCP is not modelled; flows over several paths stand for subflows that are not coupled"),
    ("quic", "QUIC is not a TCP: docs/models/quic.md says what there is of it"),
];

/// Transports and mechanisms that people ask for by name where a TCP is named.
const NO_NAMES: &[(&str, &str)] = &[
    ("mptcp", "Multipath TCP is not modelled; flows over several paths stand for subflows that are not coupled"),
    ("quic", "QUIC is not a TCP: docs/models/quic.md says what there is of it"),
    ("udp", "write udp = {} in place of tcp"),
    ("sctp", "SCTP is not modelled; flows side by side stand for its streams"),
    ("hystart", "HyStart belongs to cubic: tcp = { profile = \"linux\", control = { cubic = { hystart = {} } } }"),
    ("linux", "write tcp = { profile = \"linux\", name = \"cubic\" }"),
    ("rack", "RACK is part of profile = \"linux\": tcp = { profile = \"linux\", name = \"cubic\" }"),
];

impl<'c> Checker<'c, '_, '_, '_> {
    fn check(&mut self, schema: &'c Json, node: &Node, at: &Trail<'_>) {
        let known = self.format.known(schema);
        let schema = known.schema;
        for part in &known.all_of {
            self.check(part, node, at);
        }
        if let Some(forms) = &known.forms {
            self.check_forms(forms, node, at);
            return;
        }
        if let Some(wanted) = known.kind
            && !has_type(node, wanted)
        {
            self.wrong_type(&[schema], node, at);
            return;
        }
        match &node.value {
            Value::Table(entries) => self.check_table(schema, entries, node, at),
            Value::List(items) => self.check_list(schema, items, node, at),
            Value::Text(text) => self.check_text(schema, text, node, at),
            Value::Integer(integer) => self.check_integer(schema, *integer, node, at),
            Value::Float(float) => self.check_float(schema, *float, node, at),
            Value::Boolean(_) | Value::Foreign(_) => {}
        }
    }

    fn check_forms(&mut self, forms: &Forms<'c>, node: &Node, at: &Trail<'_>) {
        match &node.value {
            Value::Text(text) => self.check_text_forms(forms, text, node, at),
            Value::Table(entries) => self.check_table_forms(forms, entries, node, at),
            _ => {
                let of_type =
                    |one: &&&'c Json| one.get("type").and_then(Json::as_str).is_some_and(|t| has_type(node, t));
                match forms.all.iter().find(of_type) {
                    Some(one) => self.check(one, node, at),
                    None => self.wrong_type(&forms.all, node, at),
                }
            }
        }
    }

    fn check_text_forms(&mut self, forms: &Forms<'c>, text: &str, node: &Node, at: &Trail<'_>) {
        let constants: Vec<&str> = forms.all.iter().flat_map(|one| constants_of(one)).collect();
        if constants.contains(&text) {
            return;
        }
        let free = |one: &&&'c Json| one.get("type").is_some_and(|t| t == "string") && constants_of(one).is_empty();
        if let Some(one) = forms.all.iter().find(free) {
            self.check(one, node, at);
            return;
        }
        let tags: Vec<&str> = forms.tagged.iter().map(|(name, _)| *name).collect();
        if tags.contains(&text) {
            let message = format!("{text:?} needs values of its own");
            self.problems.add(&node.origin, &at.path(), message, Some(format!("write {{ {text} = {{ ... }} }}")));
            return;
        }
        if constants.is_empty() && tags.is_empty() {
            self.wrong_type(&forms.all, node, at);
            return;
        }
        // What may stand by its name alone and with values is one name.
        let own = tags.iter().filter(|tag| !constants.contains(tag));
        let mut names: Vec<&str> = Vec::new();
        constants.iter().chain(own).for_each(|name| {
            if !names.contains(name) {
                names.push(name)
            }
        });
        self.unknown_name(text, &names, node, at);
    }

    fn check_table_forms(&mut self, forms: &Forms<'c>, entries: &BTreeMap<String, Entry>, node: &Node, at: &Trail<'_>) {
        let Forms { all, tagged, untagged, .. } = forms;
        let known = |one: &&&'c Json| {
            let properties = one.get("properties").and_then(Json::as_object);
            entries.keys().filter(|key| properties.is_some_and(|p| p.contains_key(*key))).count()
        };
        let of_a_tag = entries.keys().any(|key| tagged.iter().any(|(name, _)| name == key));
        if !untagged.is_empty() && !of_a_tag {
            if let Some(place) = self.form_told_apart(forms, entries) {
                if !self.is_named_as_other_form(untagged[place], entries, at) {
                    self.check(untagged[place], node, at);
                }
                self.others.clear();
                return;
            }
            // The form with the most keys in common is the one that was meant.
            let best = untagged.iter().rev().max_by_key(known);
            if let Some(one) = best {
                self.check(one, node, at);
            }
            return;
        }
        if tagged.is_empty() {
            self.wrong_type(all, node, at);
            return;
        }
        let tags: Vec<&str> = tagged.iter().map(|(name, _)| *name).collect();
        for (key, entry) in entries {
            match tagged.iter().find(|(name, _)| name == key) {
                Some((_, inner)) => self.check(inner, &entry.node, &at.key(key)),
                None => {
                    self.unknown_key(key, &tags, entry, at);
                }
            }
        }
        let found: Vec<&str> = entries.keys().map(String::as_str).filter(|key| tags.contains(key)).collect();
        match found.len() {
            1 => {}
            0 if !entries.is_empty() => {}
            0 => {
                let help = Some(format!("use one of {}", names::list(tags, "or")));
                self.problems.add(&node.origin, &at.path(), "is empty", help);
            }
            _ => {
                let message = format!("{} exclude each other", names::list(found, "and"));
                self.problems.add(&node.origin, &at.path(), message, Some("keep one of them".to_owned()));
            }
        }
    }

    /// The form of a table that one key tells: each form allows values of it that no other one does, as `profile` of
    /// TCP. A table without this key has the value of the file. Keeps the others for messages.
    fn form_told_apart(&mut self, forms: &Forms<'c>, entries: &BTreeMap<String, Entry>) -> Option<usize> {
        let (key, values) = forms.told_by.as_ref()?;
        let key = *key;
        let text = |node: &'_ Node| node.text().map(str::to_owned);
        let given = entries.get(key).map(|entry| &entry.node).or(self.root.get(key)).and_then(text);
        let given = given.or_else(|| (key == "profile").then(|| ProfileName::of_file(self.root).name().to_owned()));
        let chosen = given.and_then(|given| values.iter().position(|of| of.contains(&given.as_str()))).unwrap_or(0);
        let others = forms.untagged.iter().zip(values).enumerate().filter(|&(place, _)| place != chosen);
        self.others = others.map(|(_, (form, values))| (format!("{key} = {:?}", values[0]), *form)).collect();
        Some(chosen)
    }

    /// Whether the name in a table is one of another form alone, which is said: the other keys are meant for that form.
    fn is_named_as_other_form(&mut self, form: &'c Json, entries: &BTreeMap<String, Entry>, at: &Trail<'_>) -> bool {
        let Some(entry) = entries.get("name") else { return false };
        let Some(name) = entry.node.text() else { return false };
        let has_name = form.get("properties").is_some_and(|properties| properties.get("name").is_some());
        if !has_name {
            return false;
        }
        let Some((message, help)) = name_of_other_profile(name, self.root, &at.path()) else {
            return false;
        };
        self.problems.add(&entry.node.origin, &at.key("name").path(), message, Some(help));
        true
    }

    fn check_table(&mut self, schema: &'c Json, entries: &BTreeMap<String, Entry>, node: &Node, at: &Trail<'_>) {
        let properties = schema.get("properties").and_then(Json::as_object);
        let further = schema.get("additionalProperties").or_else(|| schema.get("unevaluatedProperties"));
        let others = std::mem::take(&mut self.others);
        // Keys that were meant by unknown ones are not missing.
        let mut meant = Vec::new();
        for (key, entry) in entries {
            match (properties.and_then(|p| p.get(key)), further) {
                (Some(inner), _) => self.check(inner, &entry.node, &at.key(key)),
                (None, Some(Json::Bool(false))) if self.room_of(key, properties).is_some() => {
                    let help = self.room_of(key, properties).map(|room| format!("write {room} = {{ {key} = ... }}"));
                    self.problems.add(&entry.key_origin, &at.key(key).path(), "unknown key", help);
                }
                (None, Some(Json::Bool(false))) if elsewhere(key, &others).is_some() => {
                    let help = elsewhere(key, &others);
                    self.problems.add(&entry.key_origin, &at.key(key).path(), "is not an option of this TCP", help);
                }
                (None, Some(Json::Bool(false))) => {
                    let keys: Vec<&str> = properties.into_iter().flat_map(|p| p.keys().map(String::as_str)).collect();
                    meant.extend(self.unknown_key(key, &keys, entry, at));
                }
                (None, Some(inner)) => self.check(inner, &entry.node, &at.key(key)),
                (None, None) => {}
            }
        }
        if self.scope == Scope::WhatIsThere {
            return;
        }
        let absent = |key: &&str| !entries.contains_key(*key) && !meant.contains(key);
        for key in members(schema, "required").filter_map(Json::as_str).filter(absent) {
            let help = properties.and_then(|p| p.get(key)).map(|inner| {
                let about = inner.get("description").and_then(Json::as_str).map(as_clause).unwrap_or_default();
                format!("expected {}{about}", self.describe(&[self.format.resolve(inner)]))
            });
            self.problems.add(&node.origin, &at.key(key).path(), "is missing", help);
        }
    }

    /// The table among these properties in which the key has its place.
    fn room_of(&self, key: &str, properties: Option<&'c serde_json::Map<String, Json>>) -> Option<&'static str> {
        ROOMS.iter().copied().find(|room| {
            let Some(table) = properties.and_then(|properties| properties.get(*room)) else { return false };
            let known = self.format.known(table);
            let alone = [known.schema];
            let forms = known.forms.as_ref().map_or(&alone[..], |forms| &forms.all);
            forms.iter().any(|form| form.get("properties").is_some_and(|inner| inner.get(key).is_some()))
        })
    }

    fn check_list(&mut self, schema: &'c Json, items: &[Node], node: &Node, at: &Trail<'_>) {
        let bound = |key| schema.get(key).and_then(Json::as_u64);
        let (least, most) = (bound("minItems").unwrap_or(0), bound("maxItems").unwrap_or(u64::MAX));
        let count = items.len() as u64;
        if count < least || count > most {
            let wanted = if least == most { format!("{least}") } else { format!("{least} to {most}") };
            self.problems.add(&node.origin, &at.path(), format!("has {count} items, {wanted} are expected"), None);
        }
        let first: Vec<&'c Json> = members(schema, "prefixItems").collect();
        for (i, item) in items.iter().enumerate() {
            if let Some(inner) = first.get(i).copied().or_else(|| schema.get("items")) {
                self.check(inner, item, &at.index(i));
            }
        }
    }

    fn check_text(&mut self, schema: &'c Json, text: &str, node: &Node, at: &Trail<'_>) {
        let constants = constants_of(schema);
        if !constants.is_empty() && !constants.contains(&text) {
            self.unknown_name(text, &constants, node, at);
            return;
        }
        if let Some(format) = schema.get("format").and_then(Json::as_str)
            && let Err(problem) = quantity::check(format, text)
        {
            self.problems.add(&node.origin, &at.path(), problem.message, problem.help);
        }
    }

    fn check_integer(&mut self, schema: &'c Json, integer: i128, node: &Node, at: &Trail<'_>) {
        let (lowest, highest) = match schema.get("format").and_then(Json::as_str) {
            Some("uint8") => (0, i128::from(u8::MAX)),
            Some("uint16") => (0, i128::from(u16::MAX)),
            Some("uint32") => (0, i128::from(u32::MAX)),
            Some("uint64" | "uint") => (0, i128::from(u64::MAX)),
            Some("int32") => (i128::from(i32::MIN), i128::from(i32::MAX)),
            _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
        };
        let bound = |key| schema.get(key).and_then(Json::as_f64).map(|bound| bound as i128);
        let lowest = bound("minimum").map_or(lowest, |bound| bound.max(lowest));
        let highest = bound("maximum").map_or(highest, |bound| bound.min(highest));
        if integer < lowest || integer > highest {
            let of_format = at.path().to_string() == "format";
            let message = if of_format {
                format!("format {integer} is unknown: this version of Skyhop reads format 1 to {FORMAT}")
            } else {
                format!("{integer} is out of range")
            };
            let help = if of_format {
                format!(
                    "use the version of Skyhop that the file was written for, or write `format = {FORMAT}` and its keys"
                )
            } else {
                format!("use {lowest} to {highest}")
            };
            self.problems.add(&node.origin, &at.path(), message, Some(help));
        } else {
            self.check_bounds(schema, integer as f64, node, at);
        }
    }

    fn check_float(&mut self, schema: &'c Json, float: f64, node: &Node, at: &Trail<'_>) {
        if float.is_finite() {
            self.check_bounds(schema, float, node, at);
        } else {
            self.problems.add(&node.origin, &at.path(), format!("{float} is not a finite number"), None);
        }
    }

    /// `minimum` and its kin, of numbers.
    fn check_bounds(&mut self, schema: &'c Json, value: f64, node: &Node, at: &Trail<'_>) {
        let bound = |key| schema.get(key).and_then(Json::as_f64);
        let limits = [
            (bound("minimum"), "at least", value < bound("minimum").unwrap_or(value)),
            (bound("maximum"), "at most", value > bound("maximum").unwrap_or(value)),
            (bound("exclusiveMinimum"), "more than", value <= bound("exclusiveMinimum").unwrap_or(f64::NEG_INFINITY)),
            (bound("exclusiveMaximum"), "less than", value >= bound("exclusiveMaximum").unwrap_or(f64::INFINITY)),
        ];
        for (limit, words, exceeded) in limits {
            if let (Some(limit), true) = (limit, exceeded) {
                let message = format!("{value} is out of range");
                self.problems.add(&node.origin, &at.path(), message, Some(format!("it must be {words} {limit}")));
            }
        }
    }

    fn wrong_type(&mut self, alternatives: &[&'c Json], node: &Node, at: &Trail<'_>) {
        let message = format!("expected {}, found {}", self.describe(alternatives), node.describe());
        let expects = |wanted| alternatives.iter().any(|one| one.get("type").is_some_and(|t| t == wanted));
        let path = at.path();
        let help = match (&node.value, path.steps()) {
            (Value::Table(_), [Step::Key(name)]) if expects("array") => Some(format!("write [[{name}]]")),
            (Value::List(_), [Step::Key(name)]) if expects("object") => Some(format!("write [{name}]")),
            _ => None,
        };
        self.problems.add(&node.origin, &path, message, help);
    }

    fn unknown_name(&mut self, text: &str, names: &[&str], node: &Node, at: &Trail<'_>) {
        let message = format!("{:?} is unknown here", names::shorten(text));
        let place = at.path().to_string();
        let of_tcp = place.ends_with(".tcp") || place.ends_with(".tcp.name") || place.ends_with(".tcp.control");
        let instead = NO_NAMES.iter().find(|(asked, _)| of_tcp && *asked == text.to_lowercase());
        let instead =
            instead.map(|(_, instead)| (*instead).to_owned()).or_else(|| of_tcp.then(|| other_tcp(text)).flatten());
        let renamed = RENAMED.iter().find(|(old, new)| *old == text && names.contains(new));
        let help = match renamed {
            Some((_, new)) => Some(format!("write {new:?}, its new name")),
            None => instead.or_else(|| self.suggestion(text, names)),
        };
        self.problems.add(&node.origin, &at.path(), message, help);
    }

    /// The key that was probably meant.
    fn unknown_key<'k>(&mut self, key: &str, keys: &[&'k str], entry: &Entry, at: &Trail<'_>) -> Option<&'k str> {
        let path = at.path();
        let place = match path.to_string() {
            place if place.starts_with("flows[") && path.steps().len() == 2 => "flow".to_owned(),
            place => place,
        };
        let elsewhere = ELSEWHERE.iter().find(|(where_, what, _)| *where_ == place && *what == key);
        let help = match elsewhere {
            Some((_, _, instead)) => Some((*instead).to_owned()),
            None => self.suggestion(key, keys),
        };
        self.problems.add(&entry.key_origin, &at.key(key).path(), "unknown key", help);
        names::nearest(key, keys.iter().copied())
    }

    fn suggestion(&self, text: &str, names: &[&str]) -> Option<String> {
        if self.problems.is_full() || names.is_empty() {
            return None;
        }
        Some(match names::nearest(text, names.iter().copied()) {
            Some(near) => format!("did you mean {near:?}?"),
            None => format!("use {}", names::list(names.iter().copied(), "or")),
        })
    }

    /// "a rate such as \"1.5 Mbit/s\"", "\"delta\" or \"star\"", "a table".
    fn describe(&self, alternatives: &[&'c Json]) -> String {
        let mut leaves = Vec::new();
        for one in alternatives {
            match self.format.alternatives(one) {
                Some(inner) => leaves.extend(inner),
                None => leaves.push(*one),
            }
        }
        let names: Vec<&str> = leaves.iter().flat_map(|one| constants_of(one)).collect();
        let mut words = Vec::new();
        if !names.is_empty() {
            words.push(names::list(names, "or"));
        }
        for one in leaves.iter().filter(|one| constants_of(one).is_empty()) {
            let word = describe_type(one);
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words.join(" or ")
    }
}

/// "The node that sends." as the end of a sentence: ": the node that sends".
fn as_clause(description: &str) -> String {
    let first = description.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let mut letters = first.chars();
    letters.next().map(|letter| format!(": {}{}", letter.to_lowercase(), letters.as_str())).unwrap_or_default()
}

/// The TCP of the other profile that has this name.
fn other_tcp(name: &str) -> Option<String> {
    let profile = match (TcpSpec::named(name), ControlKind::named(name)) {
        (Ok(_), _) => "rfc",
        (Err(_), Some(_)) => "linux",
        (Err(_), None) => return None,
    };
    Some(format!("write tcp = {{ profile = {profile:?}, name = {name:?} }}"))
}

/// Where a key has its place that stands in another form of the table.
fn elsewhere(key: &str, others: &[(String, &Json)]) -> Option<String> {
    if others.is_empty() {
        return None;
    }
    let knows = |form: &Json| form.get("properties").is_some_and(|properties| properties.get(key).is_some());
    if let Some((_, instead)) = INSTEAD.iter().find(|(asked, _)| *asked == key) {
        let of_other = others.iter().find(|(_, form)| knows(form));
        let of_other = of_other.map(|(told, _)| format!("; {key} goes with {told}")).unwrap_or_default();
        return Some(format!("{instead}{of_other}"));
    }
    others.iter().find(|(_, form)| knows(form)).map(|(told, _)| format!("it goes with {told}"))
}

fn has_type(node: &Node, wanted: &str) -> bool {
    match &node.value {
        Value::Boolean(_) => wanted == "boolean",
        Value::Integer(_) => matches!(wanted, "integer" | "number"),
        Value::Float(_) => wanted == "number",
        Value::Text(_) => wanted == "string",
        Value::List(_) => wanted == "array",
        Value::Table(_) => wanted == "object",
        Value::Foreign(_) => false,
    }
}

fn describe_type(schema: &Json) -> String {
    let format = schema.get("format").and_then(Json::as_str).unwrap_or_default();
    let example = members(schema, "examples").find_map(Json::as_str);
    match (schema.get("type").and_then(Json::as_str), example) {
        (Some("string"), Some(example)) => format!("{} such as {example:?}", quantity::with_article(format)),
        (Some("string"), None) => "a text".to_owned(),
        (Some("integer"), _) => "a whole number".to_owned(),
        (Some("number"), _) => "a number".to_owned(),
        (Some("boolean"), _) => "true or false".to_owned(),
        (Some("array"), _) => "a list".to_owned(),
        _ => "a table".to_owned(),
    }
}
