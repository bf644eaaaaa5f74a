//! Long flows of Linux, sender and receiver together: goodput, retransmissions and the window over time.
//!
//! The test needs `../shared`; without it it says so and is skipped.

use skyhop_tcp::reference::{read_flow_windows, read_flows, run_flow, window_at};
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
        let result = run_flow(&case);
        let name = &case.group;
        for (figure, bound) in [("goodput_Mbps", 0.02), ("segs_sent", 0.02), ("cwnd_mean", 0.05), ("cwnd_max", 0.02)] {
            let (ours, range) = (result.figures[figure], case.figures[figure]);
            assert!(off(ours, range) <= bound, "{name}: {figure} {ours}, recorded {range:?}");
        }
        for figure in ["retrans", "drop_tail"] {
            let (ours, (least, most)) = (result.figures[figure], case.figures[figure]);
            let bound = (0.1 * most).max(5.0);
            let range = least - bound..=most + bound;
            assert!(range.contains(&ours), "{name}: {figure} {ours}, recorded {least} to {most}");
        }
        assert_eq!(result.figures["rto_events"], case.figures["rto_events"].0, "{name}: timeouts");
        // The window over time: its deviation stays below 5 % of its mean, for the controls that own no random cycle.
        if name.ends_with("bbr") {
            continue;
        }
        let recorded = read_flow_windows(&folder, &case.name).unwrap();
        let times = (1..).map(|i| f64::from(i) * 0.01).take_while(|&at| at < case.length.as_secs_f64());
        let pairs: Vec<(f64, f64)> =
            times.map(|at| (f64::from(result.window_at(at)), f64::from(window_at(&recorded, at)))).collect();
        let mean = pairs.iter().map(|&(_, theirs)| theirs).sum::<f64>() / pairs.len() as f64;
        let square = pairs.iter().map(|(ours, theirs)| (ours - theirs).powi(2)).sum::<f64>() / pairs.len() as f64;
        assert!(square.sqrt() < 0.05 * mean, "{name}: windows deviate by {:.3} of {mean:.1}", square.sqrt());
    }
}
