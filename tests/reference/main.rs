//! Against what ns-2 did, the traces in `ns2/`, and Linux's queue disciplines, `linux-queues/`.

mod closed_loops;

use skyhop::validate::{Cell, Selection, Variant, ns2, queues};
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

/// An independent model of RFC 8289, which the reference's README tells of, drops 1238 of these packets where the
/// kernel drops 1239, the third of them 21.6 ms later.
#[test]
fn codel_by_its_rfc_drops_what_another_model_of_the_rfc_drops() {
    let Some(folder) = shared("reference/linux-queues") else { return };
    let found = queues(&folder, &["codel_cbr".to_owned()], Variant::Rfc).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(found[0].totals.map(|[kernel, text]| (kernel.drops, text.drops)), Some((1239, 1238)));
    let first = found[0].first.as_ref().unwrap();
    assert_eq!((first.reference.verdict, first.ours.verdict), (2, 0));
    let third_drop_ns = first.arrival_ns + first.reference.after_ns.unwrap();
    assert_eq!((third_drop_ns + 50_000) / 100_000, 2808);
}

fn every_packet_is_equal(folder: &Path, cases: usize) {
    let found = queues(folder, &[], Variant::Linux).unwrap_or_else(|error| panic!("{error}"));
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

/// By the text CoDel drops as many packets as the kernel within a few per cent, but others.
#[test]
fn codel_by_its_rfc_drops_as_many_but_others() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("reference/linux-queues");
    let found = queues(&folder, &["codel_reentry".to_owned()], Variant::Rfc).unwrap_or_else(|error| panic!("{error}"));
    let [kernel, text] = found[0].totals.unwrap();
    assert!(text.drops.abs_diff(kernel.drops) * 20 < kernel.drops, "{kernel:?} {text:?}");
    assert!(found[0].equal < found[0].packets * 9 / 10, "{} of {}", found[0].equal, found[0].packets);
}

/// A folder that is not there, and a case that is not in it, are said by name.
#[test]
fn a_missing_queue_reference_is_named() {
    let missing = queues(Path::new("no/such/folder"), &[], Variant::Linux).unwrap_err().to_string();
    assert!(missing.contains("no/such/folder/cases.csv"), "{missing}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("reference/linux-queues");
    let unknown = queues(&folder, &["codel_nothing".to_owned()], Variant::Linux).unwrap_err().to_string();
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
