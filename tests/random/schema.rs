//! The JSON Schema of the format as the generator walks it, and which of its points a scenario uses.

use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};

/// The name of the schema itself, beside those of its definitions.
pub const ROOT: &str = "Scenario";

pub struct Schema {
    root: Json,
}

/// A schema without references, with the name of the definition that it belongs to.
#[derive(Clone, Copy)]
pub struct Shape<'s> {
    pub name: &'s str,
    pub json: &'s Json,
}

impl Default for Schema {
    fn default() -> Self {
        Schema { root: skyhop::json_schema() }
    }
}

impl Schema {
    pub fn root(&self) -> Shape<'_> {
        Shape { name: ROOT, json: &self.root }
    }

    pub fn definition(&self, name: &str) -> Shape<'_> {
        let (name, json) = self.root["$defs"]
            .as_object()
            .and_then(|all| all.get_key_value(name))
            .unwrap_or_else(|| panic!("the schema defines no {name:?}"));
        Shape { name, json }
    }

    /// What a reference means; `inside` is the definition that it stands in.
    pub fn shape<'s>(&'s self, inside: &'s str, json: &'s Json) -> Shape<'s> {
        match json["$ref"].as_str().and_then(|pointer| pointer.strip_prefix("#/$defs/")) {
            Some(name) => {
                let target = self.definition(name);
                self.shape(target.name, target.json)
            }
            None => Shape { name: inside, json },
        }
    }

    /// Every way to write a value: the leaves of nested alternatives, and each of several names by itself.
    pub fn ways<'s>(&'s self, shape: Shape<'s>) -> Vec<Shape<'s>> {
        let alternatives: Vec<&Json> = ["oneOf", "anyOf"].iter().flat_map(|key| list(shape.json, key)).collect();
        if alternatives.is_empty() {
            return vec![shape];
        }
        alternatives.into_iter().flat_map(|one| self.ways(self.shape(shape.name, one))).collect()
    }

    /// All points that a scenario can use: keys, alternatives, names.
    pub fn points(&self) -> BTreeSet<String> {
        let mut points = BTreeSet::new();
        let mut shapes = vec![self.root()];
        let mut seen = BTreeSet::from([ROOT]);
        while let Some(shape) = shapes.pop() {
            for (point, inner) in self.points_of(shape) {
                points.insert(point);
                for inner in inner {
                    if inner.name == shape.name || seen.insert(inner.name) {
                        shapes.push(inner);
                    }
                }
            }
        }
        points
    }

    /// The points of one shape, each with what stands behind it.
    fn points_of<'s>(&'s self, shape: Shape<'s>) -> Vec<(String, Vec<Shape<'s>>)> {
        let ways = self.ways(shape);
        if ways.len() > 1 {
            return ways.into_iter().map(|way| (point_of_way(shape.name, way), vec![way])).collect();
        }
        let name = shape.name;
        if let Some(properties) = shape.json["properties"].as_object() {
            let key = |(key, inner): (&String, &'s Json)| (format!("{name}.{key}"), vec![self.shape(name, inner)]);
            return properties.iter().map(key).collect();
        }
        let names: Vec<&str> = list(shape.json, "enum").filter_map(Json::as_str).collect();
        if !names.is_empty() {
            return names.iter().map(|one| (format!("{name} {one:?}"), Vec::new())).collect();
        }
        let inner = ["items", "additionalProperties"].iter().filter_map(|key| shape.json.get(*key));
        let inner: Vec<_> = inner.filter(|inner| inner.is_object()).map(|inner| self.shape(name, inner)).collect();
        if inner.is_empty() { Vec::new() } else { vec![(format!("{name} []"), inner)] }
    }

    /// Adds the points that `value` uses to `found`.
    pub fn used_by(&self, value: &Json, found: &mut BTreeSet<String>) {
        self.mark(self.root(), value, found);
    }

    fn mark(&self, shape: Shape<'_>, value: &Json, found: &mut BTreeSet<String>) {
        let ways = self.ways(shape);
        if ways.len() > 1 {
            // The alternative of this type with the most keys in common is the one that is meant.
            let fits = ways.iter().filter(|way| fits(way.json, value));
            if let Some(way) = fits.max_by_key(|way| common_keys(way.json, value)) {
                found.insert(point_of_way(shape.name, *way));
                self.mark(*way, value, found);
            }
            return;
        }
        let name = shape.name;
        match value {
            Json::Object(object) => {
                for (key, inner) in object {
                    if let Some(schema) = shape.json["properties"].get(key) {
                        found.insert(format!("{name}.{key}"));
                        self.mark(self.shape(name, schema), inner, found);
                    } else if let Some(schema) = shape.json.get("additionalProperties").filter(|s| s.is_object()) {
                        found.insert(format!("{name} []"));
                        self.mark(self.shape(name, schema), inner, found);
                    }
                }
            }
            Json::Array(items) => {
                for inner in items {
                    found.insert(format!("{name} []"));
                    self.mark(self.shape(name, &shape.json["items"]), inner, found);
                }
            }
            Json::String(text) if shape.json.get("enum").is_some() => {
                found.insert(format!("{name} {text:?}"));
            }
            _ => {}
        }
    }
}

/// How often points were used.
#[derive(Default)]
pub struct Coverage(BTreeMap<String, u64>);

impl Coverage {
    pub fn add(&mut self, schema: &Schema, value: &Json) {
        let mut found = BTreeSet::new();
        schema.used_by(value, &mut found);
        found.into_iter().for_each(|point| *self.0.entry(point).or_default() += 1);
    }

    /// Whether a scenario has a point that no other one had.
    pub fn lacks(&self, schema: &Schema, value: &Json) -> bool {
        let mut found = BTreeSet::new();
        schema.used_by(value, &mut found);
        found.iter().any(|point| !self.0.contains_key(point))
    }

    pub fn missing(&self, schema: &Schema) -> Vec<String> {
        schema.points().into_iter().filter(|point| !self.0.contains_key(point)).collect()
    }

    pub fn rarest(&self, most: usize) -> Vec<(&str, u64)> {
        let mut all: Vec<(&str, u64)> = self.0.iter().map(|(point, count)| (point.as_str(), *count)).collect();
        all.sort_by_key(|&(point, count)| (count, point));
        all.truncate(most);
        all
    }
}

fn list<'j>(schema: &'j Json, key: &str) -> impl Iterator<Item = &'j Json> {
    schema.get(key).and_then(Json::as_array).into_iter().flatten()
}

pub fn names_of(schema: &Json) -> Vec<&str> {
    schema.get("const").into_iter().chain(list(schema, "enum")).filter_map(Json::as_str).collect()
}

pub fn properties(schema: &Json) -> Option<&Map<String, Json>> {
    schema["properties"].as_object()
}

pub fn required(schema: &Json) -> Vec<&str> {
    list(schema, "required").filter_map(Json::as_str).collect()
}

/// "QueueFile = QueueName \"red\"", "ControlTable {bic}", "Threshold = number".
fn point_of_way(of: &str, way: Shape<'_>) -> String {
    if let Some(name) = way.json["const"].as_str() {
        return format!("{of} = {name:?}");
    }
    let required = required(way.json);
    if let (Some(properties), [only]) = (properties(way.json), required.as_slice())
        && properties.len() == 1
    {
        return format!("{of} = {{ {only} }}");
    }
    let kind = way.json["type"].as_str().unwrap_or("?");
    if way.name == of { format!("{of} = {kind}") } else { format!("{of} = {}", way.name) }
}

fn fits(schema: &Json, value: &Json) -> bool {
    match value {
        Json::String(text) => {
            let names = names_of(schema);
            schema["type"] == "string" && (names.is_empty() || names.contains(&text.as_str()))
                || names.contains(&text.as_str())
        }
        Json::Object(object) => {
            schema["type"] == "object" && required(schema).iter().all(|key| object.contains_key(*key))
        }
        Json::Array(_) => schema["type"] == "array",
        Json::Number(_) => schema["type"] == "number" || schema["type"] == "integer",
        Json::Bool(_) => schema["type"] == "boolean",
        Json::Null => false,
    }
}

fn common_keys(schema: &Json, value: &Json) -> usize {
    let (Some(properties), Some(object)) = (properties(schema), value.as_object()) else { return 0 };
    object.keys().filter(|key| properties.contains_key(*key)).count()
}
