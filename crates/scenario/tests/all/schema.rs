//! The committed schema is that of the code.

use std::path::Path;

#[test]
fn the_committed_schema_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/scenario.schema.json");
    let committed = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        committed == skyhop_scenario::json_schema_text(),
        "schema/scenario.schema.json is out of date; renew it: cargo run -p skyhop-scenario --example schema"
    );
}

/// Every description of a key is there: editors and messages show it.
#[test]
fn every_top_level_key_is_described() {
    let schema = skyhop_scenario::json_schema();
    let keys = schema["properties"].as_object().unwrap();
    assert_eq!(keys.len(), 14);
    for (key, value) in keys {
        assert!(value["description"].is_string(), "{key}");
    }
}
