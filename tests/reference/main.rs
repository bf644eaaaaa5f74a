//! Against what independent simulators did: `../shared/reference/`.

use skyhop::validate::{Cell, Selection, ns2};
use skyhop_tests::shared;

/// Every cell of the ns-2 reference is within its bound. The harness knows no case by name.
#[test]
fn ns2_reference() {
    let Some(folder) = shared("reference/ns2") else { return };
    let cells = ns2(&folder, &Selection::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(cells.len() > 1000, "only {} cells compared", cells.len());
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
