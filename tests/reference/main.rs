//! Against what ns-2 did: the traces in `ns2/`.

use skyhop::validate::{Cell, Selection, ns2};
use std::path::{Path, PathBuf};

/// A folder below `tests/reference/ns2/`.
fn traces(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("reference/ns2").join(name)
}

/// Every cell of the ns-2 reference is within its bound. The harness knows no case by name.
#[test]
fn ns2_reference() {
    every_cell_is_within_its_bound(&traces("cases"), 1000);
}

/// The short runs that each need one rule of ns-2 (`ns2/README.md`), in the engine.
#[test]
fn ns2_rules() {
    every_cell_is_within_its_bound(&traces("traces"), 100);
}

fn every_cell_is_within_its_bound(folder: &Path, least: usize) {
    let cells = ns2(folder, &Selection::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(cells.len() > least, "only {} cells compared", cells.len());
    let wrong: Vec<String> = cells
        .iter()
        .filter(|cell| !cell.ok)
        .map(|cell| {
            let Cell { case, agent, measure, reference, ours, difference, bound, detail, .. } = cell;
            let detail = detail.as_deref().unwrap_or("");
            format!(
                "{case} {agent} {measure} is out of bounds: reference {reference:.4}, ours {ours:.4}, \
                 difference {difference:.4}, bound {bound:.4} {detail}"
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} cells:\n{}", wrong.len(), cells.len(), wrong.join("\n"));
}
