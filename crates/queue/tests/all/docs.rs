//! The table of parameters in `docs/models/queues.md` is that of the code. `UPDATE_DOCS=1` writes it.

use serde_json::Value;
use skyhop_queue::{DisciplineName, QueueSpec};
use std::fmt::Write;
use std::path::Path;

/// What a reference means.
fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let pointer = schema["$ref"].as_str().and_then(|pointer| pointer.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

/// The first part of a description up to the blank line, in one line.
fn sentence(root: &Value, schema: &Value) -> String {
    let own = schema["description"].as_str().or_else(|| resolved(root, schema)["description"].as_str());
    own.unwrap_or_default().replace('\n', " ").replace('|', "\\|")
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => format!("`{text:?}`"),
        Value::Array(items) if items.len() > 8 => format!("{} entries", items.len()),
        Value::Array(items) if items.iter().any(Value::is_object) => format!("{} entries", items.len()),
        other => format!("`{other}`"),
    }
}

fn table() -> String {
    let schema = schemars::schema_for!(QueueSpec).to_value();
    let ways = schema["oneOf"].as_array().expect("one way for each discipline");
    let mut table = String::from("| discipline | parameter | what it says | default |\n|---|---|---|---|\n");
    for way in ways {
        let (name, config) = way["properties"].as_object().and_then(|keys| keys.iter().next()).expect("its name");
        let named = serde_json::from_value::<DisciplineName>(name.as_str().into()).ok();
        let defaults = named.map(|name| serde_json::to_value(QueueSpec::from(name)).expect("a queue is data"));
        let config = resolved(&schema, config);
        // Forms of which a file writes one say themselves what they are.
        let forms = config["oneOf"].as_array().into_iter().flatten();
        let forms = forms.filter_map(|form| Some((form["properties"].as_object()?.keys().next()?, form)));
        let keys = config["properties"].as_object().into_iter().flatten();
        for (key, inner) in keys.chain(forms) {
            let default = match &defaults {
                Some(defaults) => shown(&defaults[name][key]),
                None if config["required"].as_array().into_iter().flatten().any(|needed| needed == key) => {
                    "required".into()
                }
                None => shown(&inner["default"]),
            };
            let _ = writeln!(table, "| `{name}` | `{key}` | {} | {default} |", sentence(&schema, inner));
        }
    }
    table
}

#[test]
fn the_table_is_that_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models/queues.md");
    let page = std::fs::read_to_string(&path).expect("docs/models/queues.md");
    let start = page.find("<!-- parameters:").expect("the mark of the table");
    let start = start + page[start..].find("-->\n").expect("its end") + "-->\n".len();
    let end = page.find("<!-- /parameters -->").expect("the closing mark");
    let wanted = format!("{}\n{}\n{}", &page[..start], table(), &page[end..]);
    if page != wanted && std::env::var("UPDATE_DOCS").is_ok() {
        std::fs::write(&path, &wanted).expect("the page is writable");
        return;
    }
    assert!(page == wanted, "the table is stale: UPDATE_DOCS=1 cargo test -p skyhop-queue --test all docs::");
}
