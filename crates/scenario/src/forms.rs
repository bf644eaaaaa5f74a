//! The JSON Schema of the format as the check uses it: references followed, and alternatives as one list. This is found
//! out once for each part of the schema, because a search for keys without effect checks a scenario a hundred times.

use crate::schema;
use serde_json::Value as Json;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

thread_local! {
    static FORMAT: Format<'static> = Format::new(schema::shared());
}

/// Calls a function with the schema of scenarios.
pub(crate) fn with_format<T>(use_it: impl FnOnce(&Format<'static>) -> T) -> T {
    FORMAT.with(use_it)
}

/// A schema, and the parts of it that were used.
pub(crate) struct Format<'c> {
    pub schema: &'c Json,
    /// By the place of the part in memory, which `schema` keeps where it is.
    known: RefCell<HashMap<*const Json, Rc<Known<'c>>>>,
}

/// A part of the schema, ready for values.
pub(crate) struct Known<'c> {
    /// The definition, if the part refers to one.
    pub schema: &'c Json,
    pub all_of: Vec<&'c Json>,
    pub forms: Option<Forms<'c>>,
    /// The type that a value must have, as JSON Schema calls it.
    pub kind: Option<&'c str>,
}

/// Forms that a value may have.
pub(crate) struct Forms<'c> {
    /// The leaves of nested `oneOf` and `anyOf`.
    pub all: Vec<&'c Json>,
    /// Tables with one key that names the form, and the schema of its value.
    pub tagged: Vec<(&'c str, &'c Json)>,
    /// Other tables.
    pub untagged: Vec<&'c Json>,
    /// A key of the other tables for which each allows texts that no other one does, and these texts.
    pub told_by: Option<(&'c str, Vec<Vec<&'c str>>)>,
}

impl<'c> Format<'c> {
    fn new(schema: &'c Json) -> Format<'c> {
        Format { schema, known: RefCell::default() }
    }

    pub(crate) fn known(&self, schema: &'c Json) -> Rc<Known<'c>> {
        let place: *const Json = schema;
        if let Some(known) = self.known.borrow().get(&place) {
            return Rc::clone(known);
        }
        let resolved = self.resolve(schema);
        let known = Rc::new(Known {
            schema: resolved,
            all_of: members(resolved, "allOf").collect(),
            forms: self.alternatives(resolved).map(|all| self.forms(all)),
            kind: resolved.get("type").and_then(Json::as_str),
        });
        self.known.borrow_mut().insert(place, Rc::clone(&known));
        known
    }

    /// Follows `$ref` to the definition.
    pub(crate) fn resolve(&self, schema: &'c Json) -> &'c Json {
        let mut schema = schema;
        // No definition of ours refers to itself; the bound keeps a mistake from going round for ever.
        for _ in 0..16 {
            let Some(pointer) = schema.get("$ref").and_then(Json::as_str).and_then(|r| r.strip_prefix('#')) else {
                break;
            };
            let Some(target) = self.schema.pointer(pointer) else { break };
            schema = target;
        }
        schema
    }

    /// The leaves of nested `oneOf` and `anyOf`; `None` when there is only one.
    pub(crate) fn alternatives(&self, schema: &'c Json) -> Option<Vec<&'c Json>> {
        let mut leaves = Vec::new();
        for one in members(schema, "oneOf").chain(members(schema, "anyOf")) {
            let one = self.resolve(one);
            match self.alternatives(one) {
                Some(inner) => leaves.extend(inner),
                None => leaves.push(one),
            }
        }
        (!leaves.is_empty()).then_some(leaves)
    }

    fn forms(&self, all: Vec<&'c Json>) -> Forms<'c> {
        let tagged: Vec<(&'c str, &'c Json)> = all.iter().filter_map(|one| tag(one)).collect();
        let is_untagged = |one: &&Json| tag(one).is_none() && one.get("properties").is_some();
        let untagged: Vec<&'c Json> = all.iter().copied().filter(is_untagged).collect();
        let told_by = self.told_by(&untagged);
        Forms { all, tagged, untagged, told_by }
    }

    fn told_by(&self, forms: &[&'c Json]) -> Option<(&'c str, Vec<Vec<&'c str>>)> {
        let [first, _, ..] = forms else { return None };
        first.get("properties")?.as_object()?.keys().find_map(|key| {
            let of_form = |form: &&'c Json| self.texts(form.get("properties")?.get(key)?);
            let values: Vec<Vec<&str>> = forms.iter().map(of_form).collect::<Option<_>>()?;
            let mut all: Vec<&str> = values.concat();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            (all.len() == count).then_some((key.as_str(), values))
        })
    }

    /// The texts that a schema allows; `None` where it allows others.
    fn texts(&self, schema: &'c Json) -> Option<Vec<&'c str>> {
        let schema = self.resolve(schema);
        let leaves = self.alternatives(schema).unwrap_or_else(|| vec![schema]);
        let texts: Vec<&str> = leaves.iter().flat_map(|leaf| constants_of(leaf)).collect();
        let only = !texts.is_empty() && leaves.iter().all(|leaf| !constants_of(leaf).is_empty());
        only.then_some(texts)
    }
}

/// The schemas in the list behind `key`.
pub(crate) fn members<'j>(schema: &'j Json, key: &str) -> impl Iterator<Item = &'j Json> {
    schema.get(key).and_then(Json::as_array).into_iter().flatten()
}

/// The texts that a schema allows, if it names them.
pub(crate) fn constants_of(schema: &Json) -> Vec<&str> {
    schema.get("const").into_iter().chain(members(schema, "enum")).filter_map(Json::as_str).collect()
}

/// An externally tagged variant, `{ drop_tail = { ... } }`: its name and its content.
fn tag(schema: &Json) -> Option<(&str, &Json)> {
    let properties = schema.get("properties")?.as_object()?;
    let (name, inner) = properties.iter().next()?;
    let required = members(schema, "required").any(|key| key == name);
    let closed = schema.get("additionalProperties") == Some(&Json::Bool(false));
    (properties.len() == 1 && required && closed).then_some((name.as_str(), inner))
}
