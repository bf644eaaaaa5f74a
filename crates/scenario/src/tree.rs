//! A scenario as a tree of values, each knowing where it came from. Text, Python dicts and overrides meet here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Bytes of the text.
    Text(Range<usize>),
    /// The index of the override.
    Override(usize),
    /// It came from a program, or it is the whole document.
    Nowhere,
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub value: Value,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Boolean(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Table(BTreeMap<String, Entry>),
    /// JSON's null inside of a list, or a date: nothing in a scenario is one. What it is, for the message.
    Foreign(&'static str),
}

/// The value of a key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub key_origin: Origin,
    pub node: Node,
}

/// Tables and lists inside of each other; a scenario needs fewer than ten.
pub(crate) const DEEPEST: usize = 32;

/// Keys whose presence ends what a more general table says by others: they are alternatives.
const REPLACED: &[(&str, &[&str])] = &[
    ("bytes", &["packets", "counts"]),
    ("packets", &["bytes"]),
    ("arq", &["erasure"]),
    ("erasure", &["arq"]),
    ("round_trip", &["answer"]),
    ("answer", &["round_trip"]),
    ("opportunities", RECORDING),
    ("table", RECORDING),
    ("delays", RECORDING),
];

/// A queue is one of these: the keys of queues with values in the schema.
static QUEUES: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let definitions = &crate::schema::shared()["$defs"];
    let kinds = ["QueueOptions", "QueueSpec"].iter().filter_map(|name| definitions[name]["oneOf"].as_array()).flatten();
    kinds.filter_map(|kind| kind["properties"].as_object()).flat_map(|keys| keys.keys().map(String::as_str)).collect()
});

/// A recording is one, whatever it consists of.
const RECORDING: &[&str] = &["opportunities", "table", "delays", "delays_every", "period"];

/// One step from the root of a scenario to a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// The path from the root of a scenario to a value; shown as `flows[2].from`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path(Vec<Step>);

impl Path {
    pub(crate) fn root() -> Path {
        Path::default()
    }

    pub(crate) fn key(&self, key: &str) -> Path {
        self.step(Step::Key(key.to_owned()))
    }

    pub(crate) fn index(&self, index: usize) -> Path {
        self.step(Step::Index(index))
    }

    pub(crate) fn step(&self, step: Step) -> Path {
        Path(self.0.iter().cloned().chain([step]).collect())
    }

    /// The first `steps` steps.
    pub(crate) fn head(&self, steps: usize) -> Path {
        Path(self.0.iter().take(steps).cloned().collect())
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }
}

/// A path that is made of steps only when somebody asks for it: the check of a scenario visits every value and names
/// those that are wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trail<'t> {
    Root,
    Key(&'t Trail<'t>, &'t str),
    Index(&'t Trail<'t>, usize),
}

impl<'t> Trail<'t> {
    pub(crate) fn key(&'t self, key: &'t str) -> Trail<'t> {
        Trail::Key(self, key)
    }

    pub(crate) fn index(&'t self, index: usize) -> Trail<'t> {
        Trail::Index(self, index)
    }

    pub(crate) fn path(&self) -> Path {
        match self {
            Trail::Root => Path::root(),
            Trail::Key(before, key) => before.path().key(key),
            Trail::Index(before, index) => before.path().index(*index),
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => {
                    if i > 0 {
                        f.write_str(".")?;
                    }
                    let bare =
                        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
                    if bare { f.write_str(key)? } else { write!(f, "{:?}", crate::names::shorten(key))? }
                }
            }
        }
        Ok(())
    }
}

impl Node {
    pub(crate) fn nowhere(value: Value) -> Node {
        Node { value, origin: Origin::Nowhere }
    }

    /// `None` when it is nested more deeply than [`DEEPEST`].
    pub(crate) fn from_json(json: &serde_json::Value) -> Option<Node> {
        Node::from_json_at(json, 0)
    }

    fn from_json_at(json: &serde_json::Value, depth: usize) -> Option<Node> {
        if depth > DEEPEST {
            return None;
        }
        let value = match json {
            serde_json::Value::Null => Value::Foreign("nothing (null)"),
            serde_json::Value::Bool(flag) => Value::Boolean(*flag),
            serde_json::Value::Number(number) => match number.as_i128() {
                Some(integer) => Value::Integer(integer),
                None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => Value::Text(text.clone()),
            serde_json::Value::Array(items) => {
                let items = items.iter().map(|item| Node::from_json_at(item, depth + 1));
                Value::List(items.collect::<Option<_>>()?)
            }
            serde_json::Value::Object(members) => {
                // A key with null is a key that is not given: Python's None.
                let given = members.iter().filter(|(_, member)| !member.is_null());
                let entries = given.map(|(key, member)| {
                    let node = Node::from_json_at(member, depth + 1)?;
                    Some((key.clone(), Entry { key_origin: Origin::Nowhere, node }))
                });
                Value::Table(entries.collect::<Option<_>>()?)
            }
        };
        Some(Node::nowhere(value))
    }

    /// For serde. A number that JSON cannot hold becomes null, which no type of the format accepts.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Boolean(flag) => (*flag).into(),
            Value::Integer(integer) => match i64::try_from(*integer) {
                Ok(small) => small.into(),
                Err(_) => u64::try_from(*integer).map_or(serde_json::Value::Null, Into::into),
            },
            Value::Float(float) => (*float).into(),
            Value::Text(text) => text.as_str().into(),
            Value::List(items) => items.iter().map(Node::to_json).collect(),
            Value::Table(entries) => entries
                .iter()
                .map(|(key, entry)| (key.clone(), entry.node.to_json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Value::Foreign(_) => serde_json::Value::Null,
        }
    }

    pub(crate) fn table(&self) -> Option<&BTreeMap<String, Entry>> {
        match &self.value {
            Value::Table(entries) => Some(entries),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.table()?.get(key).map(|entry| &entry.node)
    }

    pub(crate) fn find(&self, path: &Path) -> Option<&Node> {
        path.steps().iter().try_fold(self, |node, step| match step {
            Step::Key(key) => node.get(key),
            Step::Index(index) => node.list()?.get(*index),
        })
    }

    /// This value over a more general one: tables are joined key by key, everything else replaces what it stands over.
    /// What two alternatives have in common stays out of it.
    pub(crate) fn over(&self, general: &Node) -> Node {
        let (Value::Table(own), Value::Table(common)) = (&self.value, &general.value) else { return self.clone() };
        let other_queue = own.keys().any(|key| QUEUES.contains(key.as_str()));
        let replaced = |key: &str| {
            REPLACED.iter().any(|(by, what)| what.contains(&key) && own.contains_key(*by))
                || other_queue && QUEUES.contains(key) && !own.contains_key(key)
        };
        let mut joined = own.clone();
        for (key, entry) in common.iter().filter(|(key, _)| !replaced(key)) {
            let node = match own.get(key) {
                Some(own) => own.node.over(&entry.node),
                None => entry.node.clone(),
            };
            joined.insert(key.clone(), Entry { key_origin: entry.key_origin.clone(), node });
        }
        Node { value: Value::Table(joined), origin: self.origin.clone() }
    }

    /// Where the value at `path` was written, or the innermost part of the path that was written at all.
    pub(crate) fn origin_of(&self, path: &Path) -> Origin {
        let (mut node, mut known) = (self, self.origin.clone());
        for step in path.steps() {
            let next = match step {
                Step::Key(key) => node.get(key),
                Step::Index(index) => node.list().and_then(|items| items.get(*index)),
            };
            let Some(next) = next else { break };
            node = next;
            if node.origin != Origin::Nowhere {
                known = node.origin.clone();
            }
        }
        known
    }

    /// What it is, for messages: "the number 5", "a table".
    pub(crate) fn describe(&self) -> String {
        match &self.value {
            Value::Boolean(flag) => flag.to_string(),
            Value::Integer(integer) => format!("the number {integer}"),
            Value::Float(float) => format!("the number {float}"),
            Value::Text(text) => format!("the text {:?}", crate::names::shorten(text)),
            Value::List(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
            Value::Foreign(what) => (*what).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_as_people_write_them() {
        let path = Path::root().key("flows").index(2).key("tcp").key("a b");
        assert_eq!(path.to_string(), "flows[2].tcp.\"a b\"");
        assert_eq!(path.head(2).to_string(), "flows[2]");
        assert_eq!(Path::root().to_string(), "");
    }

    #[test]
    fn a_place_that_is_missing_is_that_of_its_table() {
        let mut node = Node::from_json(&serde_json::json!({"flows": [{"name": "a"}]})).unwrap();
        node.origin = Origin::Text(0..1);
        assert_eq!(node.origin_of(&Path::root().key("flows").index(0).key("to")), Origin::Text(0..1));
    }

    #[test]
    fn one_queue_stands_in_place_of_another() {
        let node = |json: serde_json::Value| Node::from_json(&json).unwrap();
        let general = node(serde_json::json!({"drop_tail": {"packets": 9, "counts": "waiting"}}));
        for own in
            [serde_json::json!({"codel": {"limit": 5}}), serde_json::json!({"tbf": {}}), serde_json::json!({"red": {}})]
        {
            assert_eq!(node(own.clone()).over(&general).to_json(), own);
            assert_eq!(general.over(&node(own)).to_json(), general.to_json());
        }
        let own = node(serde_json::json!({"drop_tail": {"packets": 3}})).over(&general).to_json();
        assert_eq!(own, serde_json::json!({"drop_tail": {"packets": 3, "counts": "waiting"}}));
    }

    #[test]
    fn null_is_a_key_that_is_not_given() {
        let node = Node::from_json(&serde_json::json!({"a": null, "b": 1})).unwrap();
        assert!(node.get("a").is_none());
        assert_eq!(node.to_json(), serde_json::json!({"b": 1}));
    }

    #[test]
    fn what_is_too_deep_is_refused() {
        let deep = (0..=DEEPEST).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]));
        assert_eq!(Node::from_json(&deep), None);
        assert!(Node::from_json(&deep[0]).is_some());
    }
}
