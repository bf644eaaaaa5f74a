//! Physics and arithmetic that no run may break.

use skyhop_scenario::Scenario;
use skyhop_tests::{root, run};

fn iridium() -> Scenario {
    Scenario::from_file(&root().join("examples/iridium.toml"), &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Berkeley–Chennai over the Iridium preset: propagation lies in the range that an independent model of the same
/// rules found over 24 hours, `iridium_berkeley_chennai` in `tests/vectors/`: 54.2 to 110.2 ms.
#[test]
fn no_packet_is_faster_than_light() {
    let run = run(&iridium(), 1);
    let (shortest, longest) = (0.05425, 0.1102);
    assert!(!run.records.paths.is_empty());
    for path in run.records.paths.iter().filter(|path| !path.nodes.is_empty()) {
        assert!((shortest..=longest).contains(&path.delay_s), "{path:?}");
    }
    for flow in &run.records.flows {
        assert!(flow.delay.min_s > shortest, "{:?}", flow.delay);
        assert!(flow.rtt.min_s > 2.0 * shortest, "{:?}", flow.rtt);
    }
}

#[test]
fn no_goodput_is_above_the_bottleneck() {
    let run = run(&iridium(), 1);
    let goodput: f64 = run.records.flows.iter().map(|flow| flow.goodput_bps).sum();
    let throughput: f64 = run.records.flows.iter().map(|flow| flow.throughput_bps).sum();
    // The ground-satellite links carry 1.5 Mbit/s; three greedy flows fill more than four fifths of it.
    assert!(goodput <= throughput && throughput <= 1.5e6 && goodput > 1.2e6, "{goodput} {throughput}");
    assert!(run.records.links.iter().all(|link| link.utilisation <= 1.0 + 1e-12));
}
