//! Physics and arithmetic that no run may break.

use serde_json::json;
use skyhop_scenario::Scenario;
use skyhop_tests::{root, run, run_json};

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

/// Every name alone on a clean link with room for one bandwidth-delay product: at least 85 % of what headers leave, and not more.
/// The first threshold is what the path holds: what slow start loses otherwise is a matter of recovery.
#[test]
fn every_transport_fills_a_clean_link() {
    // 83 packets of 1500 B at 10 Mbit/s and 100 ms.
    let share = |name: &str| {
        let tcp = json!({ "name": name, "window": 10_000, "initial_ssthresh": 80 });
        let network = json!({
            "duration": "100 s",
            "links": [{ "between": ["left", "right"], "rate": "10 Mbit/s", "delay": "50 ms",
                        "queue": { "drop_tail": { "packets": 83 } } }],
            "flows": [{ "name": "flow", "from": "left", "to": "right", "tcp": tcp }],
        });
        run_json(&network, 1).records.flows[0].goodput_bps / (10e6 * 1460.0 / 1500.0)
    };
    let least = |name: &str| match name {
        // Its text lets every ACK that took no shorter than the last one shrink the window.
        "yam" => 0.0,
        // It halves at 15 % of the queue, which is less than half of what the path holds.
        "lp" => 0.7,
        _ => 0.85,
    };
    let mut report = String::new();
    for name in skyhop_transport::TcpSpec::names() {
        let share = share(name);
        if !(least(name)..=1.0).contains(&share) {
            report += &format!("{name}: {share:.3}\n");
        }
    }
    assert!(report.is_empty(), "{report}");
}
