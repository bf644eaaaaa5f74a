//! Values from the command line or a study's matrix that replace those of the file:
//! `constellation.gsl.rate="3 Mbit/s"`.

use crate::diagnostic::Problems;
use crate::names;
use crate::tree::{Entry, Node, Origin, Path, Step, Value};
use std::fmt;
use std::str::FromStr;

/// One value to set before the scenario is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The key as it was written.
    key: String,
    steps: Vec<Target>,
    value: String,
}

/// One step of an override's key.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    /// A key; in a list also the `name` of an item, or its index.
    Key(String),
    Index(usize),
    /// Every item of a list.
    All,
}

/// Why a text is not an override.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideError {
    #[error("\"{0}\" sets nothing: write KEY=VALUE, for example constellation.gsl.rate=\"3 Mbit/s\"")]
    NoValue(String),
    #[error("\"{0}\" is not a key: write names with dots between them, and [0], [*] for the items of a list")]
    BadKey(String),
}

/// The key of a TCP, which may be its name alone or a table with a name.
const TCP: &str = "tcp";

/// So many steps has the longest key of an override.
const LONGEST: usize = 16;

impl Override {
    /// `key` as in `flows[0].from`, `flows.ftp.count` or `flows[*].tcp`; `value` as TOML. A value that is no TOML
    /// is a text: `vegas`, `3 Mbit/s`.
    pub fn new(key: &str, value: &str) -> Result<Override, OverrideError> {
        let steps = parse_key(key.trim()).ok_or_else(|| OverrideError::BadKey(names::shorten(key)))?;
        Ok(Override { key: key.trim().to_owned(), steps, value: value.trim().to_owned() })
    }
}

impl FromStr for Override {
    type Err = OverrideError;

    fn from_str(text: &str) -> Result<Override, OverrideError> {
        let (key, value) = text.split_once('=').ok_or_else(|| OverrideError::NoValue(names::shorten(text)))?;
        Override::new(key, value)
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", names::shorten(&self.key), names::shorten(&self.value))
    }
}

/// `a."b.c"[3].d[*]`
fn parse_key(key: &str) -> Option<Vec<Target>> {
    let mut steps = Vec::new();
    let mut rest = key;
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (index, behind) = inside.split_once(']')?;
            steps.push(if index == "*" { Target::All } else { Target::Index(index.parse().ok()?) });
            rest = behind;
        } else {
            if !steps.is_empty() {
                rest = rest.strip_prefix('.')?;
            }
            let (name, behind) = match rest.strip_prefix('"') {
                Some(inside) => inside.split_once('"')?,
                None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
            };
            if name.is_empty() {
                return None;
            }
            steps.push(Target::Key(name.to_owned()));
            rest = behind;
        }
    }
    let starts_with_key = matches!(steps.first(), Some(Target::Key(_)));
    (starts_with_key && steps.len() <= LONGEST).then_some(steps)
}

/// Puts the values of `overrides` into the tree, in their order.
pub(crate) fn apply(root: &mut Node, overrides: &[Override], problems: &mut Problems<'_>) {
    for (index, change) in overrides.iter().enumerate() {
        let origin = Origin::Override(index);
        let value = crate::text::parse_value(&change.value, &origin)
            .unwrap_or_else(|| Node { value: Value::Text(change.value.clone()), origin: origin.clone() });
        set(root, &change.steps, &value, &Path::root(), problems);
    }
}

fn set(node: &mut Node, steps: &[Target], value: &Node, path: &Path, problems: &mut Problems<'_>) {
    let Some((first, rest)) = steps.split_first() else {
        *node = value.clone();
        return;
    };
    match (&mut node.value, first) {
        (Value::Table(entries), Target::Key(key)) => {
            let entry = entries.entry(key.clone()).or_insert_with(|| Entry {
                key_origin: value.origin.clone(),
                node: Node { value: Value::Table(Default::default()), origin: value.origin.clone() },
            });
            set(&mut entry.node, rest, value, &path.key(key), problems);
        }
        (Value::List(items), Target::All) => {
            // A sweep over TCPs leaves datagrams and QUIC beside them as they are.
            let of_tcp = matches!(rest.first(), Some(Target::Key(key)) if key == TCP);
            let is_other = |item: &Node| ["udp", "quic"].iter().any(|key| item.get(key).is_some());
            let passed_over = |item: &Node| of_tcp && is_other(item) && item.get(TCP).is_none();
            if !items.is_empty() && items.iter().all(passed_over) {
                problems.add(&value.origin, path, "no flow has TCP", Some("name a flow that has".to_owned()));
            }
            for (i, item) in items.iter_mut().enumerate().filter(|(_, item)| !passed_over(item)) {
                set(item, rest, value, &path.index(i), problems);
            }
        }
        (Value::List(items), target) => match position(items, target) {
            Some(i) => set(&mut items[i], rest, value, &path.index(i), problems),
            None => no_such_item(items, target, value, path, problems),
        },
        (Value::Table(_), Target::Index(_) | Target::All) => {
            problems.add(&value.origin, path, "is a table and has no numbered items", None);
        }
        // A plain value gives way to a table: queue = "red" and the override queue.red.min=2. The name of a TCP says
        // more than the key behind it, so it stays: tcp = "cubic" and the override tcp.control.cubic.beta=0.8. So does
        // the name of a QUIC stack.
        (plain, Target::Key(_)) => {
            let named = match (&plain, path.steps().last()) {
                (Value::Text(_), Some(Step::Key(key))) if key == TCP => Some("name"),
                (Value::Text(_), Some(Step::Key(key))) if key == "quic" => Some("stack"),
                _ => None,
            };
            let entry = |key: &str| {
                let name = node.clone();
                (key.to_owned(), Entry { key_origin: name.origin.clone(), node: name })
            };
            let entries = named.map(entry).into_iter().collect();
            *node = Node { value: Value::Table(entries), origin: value.origin.clone() };
            set(node, steps, value, path, problems);
        }
        _ => problems.add(&value.origin, path, format!("is {} and has no items", node.describe()), None),
    }
}

fn position(items: &[Node], target: &Target) -> Option<usize> {
    match target {
        Target::Index(index) => (*index < items.len()).then_some(*index),
        Target::Key(name) => items
            .iter()
            .position(|item| item.get("name").and_then(Node::text) == Some(name))
            .or_else(|| name.parse().ok().filter(|&index| index < items.len())),
        Target::All => None,
    }
}

fn no_such_item(items: &[Node], target: &Target, value: &Node, path: &Path, problems: &mut Problems<'_>) {
    let names = || items.iter().filter_map(|item| item.get("name").and_then(Node::text));
    let (message, help) = match target {
        Target::Key(name) => {
            let help = names::nearest(name, names()).map(|near| format!("did you mean {near:?}?"));
            (format!("no item is called {:?}", names::shorten(name)), help)
        }
        _ => (format!("has only {} items, counted from 0", items.len()), None),
    };
    problems.add(&value.origin, path, message, help);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use serde_json::json;

    fn applied(start: serde_json::Value, overrides: &[&str]) -> Result<serde_json::Value, String> {
        let mut node = Node::from_json(&start).unwrap();
        let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
        let source = Source::without_text("dict", &overrides);
        let mut problems = Problems::new(&source);
        apply(&mut node, &overrides, &mut problems);
        problems.into_result(Some(node.to_json())).map_err(|diagnostics| diagnostics.to_string())
    }

    #[test]
    fn values_are_toml_or_bare_words() {
        let start = || json!({"duration": "1 s", "flows": [{"name": "ftp", "tcp": "reno"}, {"name": "b"}]});
        let set = |text: &str| applied(start(), &[text]).unwrap();
        assert_eq!(set("duration=3 s")["duration"], "3 s");
        assert_eq!(set("duration=\"3 s\"")["duration"], "3 s");
        assert_eq!(set("flows.ftp.count=3")["flows"][0]["count"], 3);
        assert_eq!(set("flows[1].tcp=vegas")["flows"][1]["tcp"], "vegas");
        assert_eq!(set("flows.1.tcp=vegas")["flows"][1]["tcp"], "vegas");
        assert_eq!(set("flows[*].ttl=9")["flows"][1]["ttl"], 9);
        assert_eq!(
            set("flows.ftp.tcp.control={ vegas = { alpha = 2 } }")["flows"][0]["tcp"]["control"]["vegas"]["alpha"],
            2
        );
        assert_eq!(set("stations.\"a.b\".latitude=1 deg")["stations"]["a.b"]["latitude"], "1 deg");
        assert_eq!(set("records.grid=100 ms")["records"]["grid"], "100 ms");
    }

    #[test]
    fn what_cannot_be_set_is_said() {
        let start = || json!({"flows": [{"name": "ftp"}]});
        let message = |text: &str| applied(start(), &[text]).unwrap_err();
        assert_eq!(
            message("flows.fpt.count=3"),
            "--set flows.fpt.count=3: flows: no item is called \"fpt\"; did you mean \"ftp\"?"
        );
        assert_eq!(message("flows[7].count=3"), "--set flows[7].count=3: flows: has only 1 items, counted from 0");
        assert_eq!(
            message("flows[0].name[0]=3"),
            "--set flows[0].name[0]=3: flows[0].name: is the text \"ftp\" and has no items"
        );
    }

    #[test]
    fn texts_that_are_no_override() {
        for text in ["", "a", "=1", ".a=1", "a..b=1", "a[x]=1", "[0]=1", "a[0=1", "\"a=1", "a b.=1"] {
            assert!(text.parse::<Override>().is_err(), "{text}");
        }
    }
}
