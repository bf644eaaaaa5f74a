//! The pages about scenarios are true: their scenarios are good ones, and every key of the format is on the reference
//! page.

use serde_json::Value;
use skyhop_scenario::Scenario;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)).unwrap()
}

/// The blocks of TOML in a page, however far they are indented.
fn toml_blocks(page: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "```toml" {
            blocks.push(lines.by_ref().take_while(|line| line.trim() != "```").collect::<Vec<_>>().join("\n"));
        }
    }
    blocks
}

#[test]
fn scenarios_on_pages_are_good() {
    for name in ["models/scenario.md", "howto/write-a-scenario.md", "howto/fit-your-dish.md"] {
        let blocks = toml_blocks(&page(name));
        assert!(!blocks.is_empty(), "{name}");
        for block in blocks {
            Scenario::from_toml(&block, name, &[]).unwrap_or_else(|problems| panic!("{problems}"));
        }
    }
}

/// Keys and texts of the format, those of TCP aside, which have a page of their own.
fn words_of(schema: &Value, words: &mut BTreeSet<String>) {
    for (key, value) in schema["properties"].as_object().into_iter().flatten() {
        words.insert(key.clone());
        if key != "tcp" {
            words_of(value, words);
        }
    }
    for list in ["oneOf", "anyOf"] {
        for one in schema[list].as_array().into_iter().flatten() {
            words.extend(one["const"].as_str().map(str::to_owned));
            words_of(one, words);
        }
    }
}

#[test]
fn every_key_is_on_the_page() {
    let schema = skyhop_scenario::json_schema();
    let mut words = BTreeSet::new();
    words_of(&schema, &mut words);
    // The controls of Linux have a page of their own, too.
    let of_controls = schema["$defs"]["LinuxControl"].to_string();
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        if name == "LinuxControlName" || of_controls.contains(&format!("/{name}\"")) {
            continue;
        }
        let ours = ["File", "Name", "Options", "Errors"].iter().any(|end| name.ends_with(end));
        if ours && !name.starts_with("Tcp") {
            words_of(definition, &mut words);
        }
    }
    assert!(words.len() > 60, "{words:?}");
    // The words between backticks.
    let page = page("models/scenario.md") + &page("models/linux-tcp.md");
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let code = page.split('`').skip(1).step_by(2);
    let named: BTreeSet<&str> = code.flat_map(|code| code.split(|c: char| !is_part(c))).collect();
    // "http/2" is two words there.
    let is_named = |word: &str| word.split(|c: char| !is_part(c)).all(|part| named.contains(part));
    let absent: Vec<&String> = words.iter().filter(|word| !is_named(word)).collect();
    assert!(absent.is_empty(), "neither on docs/models/scenario.md nor, for Linux, on linux-tcp.md: {absent:?}");
}
