//! Against what ns-2 did, the traces in `ns2/`, and Linux's queue disciplines, `linux-queues/`.

use skyhop::validate::{Cell, Selection, ns2, queues};
use skyhop_tests::shared;
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

/// Every packet of every case of the kernel's queue disciplines, and the means over seeds of those that draw.
#[test]
fn linux_queues_reference() {
    let Some(folder) = shared("reference/linux-queues") else { return };
    every_packet_is_equal(&folder, 42);
}

/// The same for the sample that is part of the project (`linux-queues/README.md`).
#[test]
fn linux_queues_sample() {
    every_packet_is_equal(&Path::new(env!("CARGO_MANIFEST_DIR")).join("reference/linux-queues"), 30);
}

fn every_packet_is_equal(folder: &Path, cases: usize) {
    let found = queues(folder, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert!(found.len() >= cases, "only {} cases compared", found.len());
    for case in &found {
        assert!(case.packets > 1000, "{} has {} packets", case.case, case.packets);
        assert!(case.ignored.is_empty(), "{} has parameters that are not read: {:?}", case.case, case.ignored);
        assert!(case.ok, "{} of {} packets are equal: {case:#?}", case.equal, case.packets);
        if let Some((Some(theirs), ours)) = case.draws {
            assert_eq!(ours, theirs, "{} draws as many random numbers", case.case);
        }
    }
}

/// A folder that is not there, and a case that is not in it, are said by name.
#[test]
fn a_missing_queue_reference_is_named() {
    let missing = queues(Path::new("no/such/folder"), &[]).unwrap_err().to_string();
    assert!(missing.contains("no/such/folder/cases.csv"), "{missing}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("reference/linux-queues");
    let unknown = queues(&folder, &["codel_nothing".to_owned()]).unwrap_err().to_string();
    assert!(unknown.contains("no case \"codel_nothing\""), "{unknown}");
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
