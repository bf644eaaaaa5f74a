//! Against what independent simulators did: `../shared/reference/`.

use skyhop::validate::{Selection, ns2};
use skyhop_tests::shared;

/// Every cell of the ns-2 reference is within its bound. The harness knows no case by name.
#[test]
fn ns2_reference() {
    let Some(folder) = shared("reference/ns2") else { return };
    let selection = Selection {
        agents: ["tahoe", "reno", "newreno", "sack1", "vegas"].map(str::to_owned).to_vec(),
        ..Selection::default()
    };
    let cells = ns2(&folder, &selection).unwrap_or_else(|error| panic!("{error}"));
    assert!(cells.len() > 100, "only {} cells compared", cells.len());
    let broken: Vec<String> = cells
        .iter()
        .filter(|cell| !cell.ok)
        .map(|cell| {
            format!(
                "{} {} {}: reference {:.4}, ours {:.4}, difference {:.4}, bound {:.4} {}",
                cell.case,
                cell.agent,
                cell.measure,
                cell.reference,
                cell.ours,
                cell.difference,
                cell.bound,
                cell.detail.as_deref().unwrap_or("")
            )
        })
        .collect();
    assert!(broken.is_empty(), "{} of {} cells are out of bounds:\n{}", broken.len(), cells.len(), broken.join("\n"));
}
