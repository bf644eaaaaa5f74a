//! The tables of `docs/models/transport.md` are those of the code. `UPDATE_DOCS=1` writes them.

use serde_json::Value;
use skyhop_cc::{ControlConfig, ControlSpec, OptionRow};
use skyhop_transport::{Bundle, Ns2Options, Options};
use std::fmt::Write;
use std::path::Path;

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{text}`"),
        Value::Number(number) => number_text(number.as_f64().unwrap_or(f64::NAN)),
        other => format!("`{other}`"),
    }
}

/// A number with four digits, however small it is, and whole numbers with all of theirs.
fn number_text(number: f64) -> String {
    if number.fract() == 0.0 {
        return number.to_string();
    }
    let rounded: f64 = format!("{number:.3e}").parse().expect("a number");
    if rounded.abs() < 1e-4 { format!("{rounded:e}") } else { rounded.to_string() }
}

/// A value where it differs from the one to its left, else nothing.
fn cells(values: &[&Value]) -> String {
    let cell = |i: usize| if i > 0 && values[i] == values[i - 1] { String::new() } else { text(values[i]) };
    (0..values.len()).map(cell).collect::<Vec<_>>().join(" | ")
}

fn options_table() -> String {
    let mut table = String::from("An empty cell repeats the one to its left.\n\n");
    table += &rows_of(&Options::rows(), |bundle| serde_json::to_value(Options::of(bundle)));
    table += "\nUnder `ns2`, as in `tcp = { name = \"sack\", ns2 = { growth = \"per-ack\" } }`:\n\n";
    table + &rows_of(&Ns2Options::rows(), |bundle| serde_json::to_value(Ns2Options::of(bundle)))
}

fn rows_of(rows: &[OptionRow], values: impl Fn(Bundle) -> serde_json::Result<Value>) -> String {
    let bundles = [Bundle::Rfc, Bundle::Ns2, Bundle::Ns2Vegas, Bundle::Ns2Linux];
    let values = bundles.map(|bundle| values(bundle).expect("options are data"));
    let mut table = String::from(
        "| option | what it says | `rfc` | `ns-2` | its Vegas | its TCP/Linux |\n|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let row_values: Vec<&Value> = values.iter().map(|bundle| &bundle[row.name]).collect();
        let _ = writeln!(table, "| `{}` | {} | {} |", row.name, row.sentence.trim(), cells(&row_values));
    }
    table
}

fn controls_table() -> String {
    let mut table =
        String::from("| control | parameter | what it says | `rfc` | TCP/Linux of `ns-2` |\n|---|---|---|---|---|\n");
    for (name, rows) in ControlConfig::rows() {
        let spec = ControlSpec::named(name).expect("a listed control");
        let values = [Bundle::Rfc, Bundle::Ns2Linux].map(|bundle| {
            let config = spec.resolve(bundle).expect("a bundle's values are valid");
            serde_json::to_value(config).expect("a configuration is data")
        });
        for row in rows {
            let row_values: Vec<&Value> = values.iter().map(|value| &value[name][row.name]).collect();
            let (option, sentence) = (row.name, row.sentence.trim());
            let _ = writeln!(table, "| `{name}` | `{option}` | {sentence} | {} |", cells(&row_values));
        }
    }
    table
}

/// The page with what stands between the marks of `section` replaced.
fn with_section(page: &str, section: &str, table: &str) -> String {
    let start = page.find(&format!("<!-- {section}:")).expect("the mark of the section");
    let start = start + page[start..].find("-->\n").expect("its end") + "-->\n".len();
    let end = page.find(&format!("<!-- /{section} -->")).expect("the closing mark");
    format!("{}\n{table}\n{}", &page[..start], &page[end..])
}

#[test]
fn the_tables_are_those_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models/transport.md");
    let page = std::fs::read_to_string(&path).expect("docs/models/transport.md");
    let wanted = with_section(&with_section(&page, "options", &options_table()), "controls", &controls_table());
    if page != wanted && std::env::var("UPDATE_DOCS").is_ok() {
        std::fs::write(&path, &wanted).expect("the page is writable");
        return;
    }
    assert!(page == wanted, "the tables are stale: UPDATE_DOCS=1 cargo test -p skyhop-transport --test all docs::");
}

#[test]
fn small_numbers_are_not_written_as_nothing() {
    for (number, wanted) in [(1e-7, "1e-7"), (0.00075, "0.00075"), (819.0 / 1024.0, "0.7998"), (83000.0, "83000")] {
        assert_eq!(number_text(number), wanted);
    }
}
