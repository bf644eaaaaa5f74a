//! The JSON Schema of the format, generated from [`crate::format`].

use crate::format::ScenarioFile;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use std::sync::LazyLock;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let generator = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    let mut schema = generator.into_root_schema_for::<ScenarioFile>().to_value();
    without_null(&mut schema);
    if let Some(root) = schema.as_object_mut() {
        root.insert("title".to_owned(), "Skyhop scenario".into());
    }
    schema
});

/// The JSON Schema of a scenario: what the checker goes by, and what editors, Python and the page know of it.
pub fn json_schema() -> Value {
    SCHEMA.clone()
}

/// [`json_schema`] as it stands in `schema/scenario.schema.json`.
pub fn json_schema_text() -> String {
    format!("{:#}\n", *SCHEMA)
}

/// The same without a copy.
pub(crate) fn shared() -> &'static Value {
    &SCHEMA
}

/// TOML has no null: an optional key is one that can be left out. What schemars writes for an `Option` is reduced
/// to the schema of its content.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(without_null),
        Value::Object(members) => {
            members.values_mut().for_each(without_null);
            drop_null_type(members);
            drop_null_alternative(members);
        }
        _ => {}
    }
}

fn drop_null_type(members: &mut Map<String, Value>) {
    let Some(types) = members.get_mut("type").and_then(Value::as_array_mut) else { return };
    types.retain(|name| name != "null");
    if let [only] = types.as_slice() {
        let only = only.clone();
        members.insert("type".to_owned(), only);
    }
}

fn drop_null_alternative(members: &mut Map<String, Value>) {
    let Some(alternatives) = members.get_mut("anyOf").and_then(Value::as_array_mut) else { return };
    alternatives.retain(|one| one.get("type").is_none_or(|name| name != "null"));
    if let [Value::Object(only)] = alternatives.as_slice() {
        let only = only.clone();
        members.shift_remove("anyOf");
        // The description of the key says more than that of its type.
        for (key, value) in only {
            members.entry(key).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_may_be_null() {
        assert!(!json_schema().to_string().contains("\"null\""));
        let profile = &json_schema()["properties"]["profile"];
        assert_eq!(profile["$ref"], "#/$defs/Profile");
        let said = profile["description"].as_str().unwrap_or_default();
        assert!(said.ends_with("Without it: \"linux\"; in files with `format = 1`: \"rfc\"."), "{said}");
    }
}
