//! Physics and arithmetic that no run may break.

use serde_json::json;
use skyhop::{Error, Progress, RunOptions};
use skyhop_scenario::Scenario;
use skyhop_sim::records::{FlowSummary, LinkSummary, Records, WorkloadTransferRow};
use skyhop_tests::{root, run, run_json};
use std::collections::BTreeSet;

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

/// Every name alone on a clean link with room for one bandwidth-delay product: at least 85 % of what headers leave, and
/// not more. The first threshold is what the path holds: what slow start loses otherwise is a matter of recovery.
#[test]
fn every_transport_fills_a_clean_link() {
    // 83 packets of 1500 B at 10 Mbit/s and 100 ms.
    let share = |name: &str| {
        let tcp = json!({ "name": name, "window": 10_000, "initial_ssthresh": 80 });
        let network = json!({
            "duration": "100 s", "profile": "rfc",
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

/// What a node can send, or take, in bit/s: its wires, and its one antenna.
fn capacity_bps(records: &Records, node: u32, sends: bool) -> f64 {
    let name = &records.node_names[node as usize];
    let wired =
        |link: &&LinkSummary| link.kind == "wired" && if sends { link.from == node } else { link.to == Some(node) };
    let wires: f64 = records.links.iter().filter(wired).map(|link| link.rate_bps).sum();
    let antenna = records.links.iter().filter(|link| match sends {
        true => link.kind == "uplink" && link.from == node,
        false => link.kind == "downlink" && records.links.iter().any(|up| up.kind == "uplink" && up.from == node),
    });
    let antenna = antenna.map(|link| link.rate_bps).fold(0.0, f64::max);
    assert!(wires + antenna > 0.0, "{name} has no link");
    wires + antenna
}

/// No sum of flows is more than the links at their ends can carry, in any example; and what a link carries is not more
/// than its rate.
#[test]
fn no_aggregate_exceeds_the_capacity_in_any_example() {
    let mut examples = 0;
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let Ok(scenario) = Scenario::from_file(&path, &[]) else { panic!("{}", path.display()) };
        let records = run(&scenario, 1).records;
        let seconds = records.end.as_secs_f64();
        examples += 1;
        let mut sum = 0.0;
        // Connections of workloads are not among the flows; each transfer says what it carried.
        let transfers = &records.workload_transfers;
        for sends in [false, true] {
            let end = |flow: &FlowSummary| if sends { flow.from } else { flow.to };
            let whole = |row: &&WorkloadTransferRow| row.end.is_some();
            let far = |row: &WorkloadTransferRow| if sends { row.from } else { row.to };
            let nodes: BTreeSet<u32> = records.flows.iter().map(end).chain(transfers.iter().map(far)).collect();
            for node in nodes {
                let flows = records.flows.iter().filter(|flow| end(flow) == node).map(|flow| flow.bytes_delivered);
                let carried = transfers.iter().filter(whole).filter(|row| far(row) == node).map(|row| row.bytes);
                let bps = flows.chain(carried).sum::<u64>() as f64 * 8.0 / seconds;
                let most = capacity_bps(&records, node, sends);
                assert!(
                    bps <= most,
                    "{}: {bps} of {most} bit/s at {}",
                    path.display(),
                    records.node_names[node as usize]
                );
                sum += bps / 2.0;
            }
        }
        let total = records.total;
        // Transfers that did not finish delivered a part of their bytes.
        let unfinished: u64 = transfers.iter().filter(|row| row.end.is_none()).map(|row| row.bytes).sum();
        let more = total.goodput_bps - sum;
        assert!(
            -1e-9 * sum <= more && more <= 1e-9 * sum + unfinished as f64 * 8.0 / seconds,
            "{}: {total:?} {sum}",
            path.display()
        );
        assert!(total.goodput_bps <= total.throughput_bps, "{}: {total:?}", path.display());
        for link in records.links.iter().filter(|link| link.packets > 0) {
            assert!(link.bytes as f64 * 8.0 <= link.rate_bps * seconds * 1.000_001 + 12_000.0, "{link:?}");
        }
    }
    assert!(examples >= 3);
}

/// Ten flows that share 10 Mbit/s one after another: the sum of their rates over their own times is several times that;
/// the total is not.
#[test]
fn flows_of_different_times_add_up_to_the_capacity_at_most() {
    let flow = |n: u32| {
        json!({ "name": format!("f{n}"), "from": "left", "to": "right", "tcp": "newreno",
        "start": format!("{n} s"), "stop": format!("{} s", n + 1) })
    };
    let network = json!({
        "duration": "10 s", "profile": "rfc",
        "links": [{ "between": ["left", "right"], "rate": "10 Mbit/s", "delay": "1 ms" }],
        "flows": (0..10).map(flow).collect::<Vec<_>>(),
    });
    let run = run_json(&network, 1);
    let own: f64 = run.records.flows.iter().map(|flow| flow.goodput_bps).sum();
    let total = run.summary()["total"]["goodput_bps"].as_f64().unwrap();
    assert!(own > 5.0 * 10e6, "{own}");
    assert!(total <= 10e6 && total > 0.8 * 10e6, "{total}");
}

/// A run that needs more memory than it may take does not start, one that comes to need it ends, each with an error.
#[test]
fn a_run_takes_no_more_memory_than_it_may() {
    let network = |grid: &str| {
        json!({
            "duration": "100 s", "profile": "rfc",
            "links": [{ "between": ["left", "right"], "rate": "1 kbit/s", "delay": "1 ms" }],
            "flows": [{ "name": "a", "from": "left", "to": "right", "udp": {},
                "application": { "constant_rate": { "rate": "8 Mbit/s", "payload": "100 B" } } }],
            "records": { "grid": grid },
        })
    };
    let run = |grid: &str| {
        let scenario = Scenario::from_json(&network(grid), "test", &[]).unwrap();
        let options = RunOptions::with_seed(1).with_memory(Some(20_000_000));
        skyhop::run(&scenario, &options, &Progress::new()).map(|_| ()).unwrap_err()
    };
    let Error::NeedsMemory { needed_bytes, limit_bytes } = run("0.1 ms") else { panic!("it started") };
    assert!(needed_bytes > 100_000_000 && limit_bytes == 20_000_000, "{needed_bytes}");
    // A million lost packets, of which 20 MB hold 400,000.
    let error = run("10 s");
    let Error::OutOfMemory { at_s, .. } = &error else { panic!("{error}") };
    assert!((1.0..99.0).contains(at_s), "{at_s}");
    assert!(error.to_string().contains("20 MB") && error.to_string().contains("--memory"), "{error}");
}
