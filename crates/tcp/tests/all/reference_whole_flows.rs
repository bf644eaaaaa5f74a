//! Long flows of Linux, sender and receiver together: goodput, retransmissions and the window over time.
//!
//! The test needs `../shared`; without it it says so and is skipped.

use skyhop_tcp::reference::{judge_flow, read_flow_rows, read_flows, run_flow};
use std::path::PathBuf;

/// How far `ours` lies outside the recorded range, in parts of its nearer end.
fn off(ours: f64, (least, most): (f64, f64)) -> f64 {
    if ours > most { ours / most - 1.0 } else { (1.0 - ours / least).max(0.0) }
}

#[test]
fn long_flows_go_as_the_reference_says() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/linux");
    if !folder.join("cases.csv").is_file() {
        eprintln!("skipped: {} is absent", folder.display());
        return;
    }
    let flows = read_flows(&folder).unwrap();
    assert!(!flows.is_empty());
    for case in flows {
        let result = run_flow(&case, case.losses(1), 1).remove(0);
        let figures = |name: &str| {
            let range = case.flows[0].figures[name];
            (range.least, range.most)
        };
        let name = &case.group;
        for (figure, bound) in [("goodput_Mbps", 0.02), ("segs_sent", 0.02), ("cwnd_mean", 0.05), ("cwnd_max", 0.02)] {
            let (ours, range) = (result.figures[figure], figures(figure));
            assert!(off(ours, range) <= bound, "{name}: {figure} {ours}, recorded {range:?}");
        }
        for figure in ["retrans", "drop_tail"] {
            let (ours, (least, most)) = (result.figures[figure], figures(figure));
            let bound = (0.1 * most).max(5.0);
            let range = least - bound..=most + bound;
            assert!(range.contains(&ours), "{name}: {figure} {ours}, recorded {least} to {most}");
        }
        assert_eq!(result.figures["rto_events"], figures("rto_events").0, "{name}: timeouts");
    }
    // Every measure of reno and cubic keeps its bound, but for the recording in which the machine stood still for 5 ms
    // among the first packets; of bbr, whose cycles follow from bandwidths in microseconds, four do not.
    let (mut all, mut missed) = (0, 0);
    for row in read_flow_rows(&folder).unwrap() {
        for one in judge_flow(&folder, &row).unwrap() {
            all += 1;
            if !one.ok() {
                missed += 1;
                let (name, ours, reference, bound) = (one.name, one.ours, one.reference, one.bound);
                let words = format!("{}: {name} {ours:.4}, recorded {reference:?}, bound {bound:.4}", row.name);
                eprintln!("{words}");
                assert!(row.group.ends_with("bbr") || name.starts_with("first packets"), "{words}");
            }
        }
    }
    assert!(all >= 140 && missed <= 5, "{missed} of {all} measures out of their bounds");
}
