//! Writes the JSON Schema of scenarios to `schema/scenario.schema.json`:
//! `cargo run -p skyhop-scenario --example schema`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/scenario.schema.json");
    std::fs::write(file, skyhop_scenario::json_schema_text())
}
