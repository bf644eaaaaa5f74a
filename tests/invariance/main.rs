//! The same scenario and seed give the same run, whatever is recorded and in whatever order it is declared.

use serde_json::{Value, json};
use skyhop_tests::run_json;

/// Two paths through one bottleneck, with random losses: everything that could depend on an order or on chance.
fn network() -> Value {
    let flow = |name: &str, tcp: &str| {
        json!({
            "name": name, "from": "left", "to": "right", "tcp": tcp, "application": "ftp",
            "access": { "rate": "10 Mbit/s", "delay": "1 ms" },
        })
    };
    json!({
        "duration": "20 s", "profile": "rfc",
        "links": [
            { "between": ["left", "middle"], "rate": "2 Mbit/s", "delay": "20 ms",
              "queue": { "drop_tail": { "packets": 20 } }, "errors": [{ "packet": 0.002 }] },
            { "between": ["middle", "right"], "rate": "5 Mbit/s", "delay": "10 ms",
              "queue": { "drop_tail": { "packets": 20 } } },
        ],
        "flows": [flow("a", "newreno"), flow("b", "sack"), flow("c", "vegas")],
        "records": { "grid": "100 ms" },
    })
}

fn reversed(value: &Value, key: &str) -> Value {
    let mut value = value.clone();
    if let Some(list) = value[key].as_array_mut() {
        list.reverse();
    }
    value
}

#[test]
fn the_same_scenario_and_seed_give_the_same_records() {
    let (first, again) = (run_json(&network(), 7), run_json(&network(), 7));
    assert_eq!(first.records_hash(), again.records_hash());
}

#[test]
fn the_order_of_declaration_changes_nothing() {
    let first = run_json(&network(), 7);
    for key in ["links", "flows"] {
        let other = run_json(&reversed(&network(), key), 7);
        assert_eq!(first.records_hash(), other.records_hash(), "{key} reversed");
    }
}

#[test]
fn another_seed_differs_where_randomness_enters_and_only_there() {
    assert_ne!(run_json(&network(), 1).records_hash(), run_json(&network(), 2).records_hash());
    let mut without = network();
    without["links"][0].as_object_mut().unwrap().remove("errors");
    assert_eq!(run_json(&without, 1).records_hash(), run_json(&without, 2).records_hash());
}

#[test]
fn recording_changes_no_packet() {
    let counters = |grid: Option<&str>| {
        let mut network = network();
        network["records"] = grid.map_or(json!({}), |grid| json!({ "grid": grid, "packets": ["left->middle"] }));
        let run = run_json(&network, 3);
        let flows: Vec<_> = run
            .records
            .flows
            .iter()
            .map(|f| (f.packets_sent, f.packets_received, f.retransmissions, f.timeouts, f.drops, f.bytes_delivered))
            .collect();
        (flows, run.records.conservation.clone(), run.records.packet_hops)
    };
    let without = counters(None);
    assert_eq!(without, counters(Some("100 ms")));
    assert_eq!(without, counters(Some("7 ms")));
}

/// The n-th packet of a flow has the same outcome on a link whatever the congestion control: two runs that differ only
/// in another flow's control lose the same packets of a source that sends by the clock.
#[test]
fn random_losses_are_paired() {
    let lost = |tcp: &str| {
        let mut network = network();
        network["flows"] = json!([
            { "name": "clock", "from": "left", "to": "right", "udp": {},
              "application": { "constant_rate": { "rate": "100 kbit/s", "payload": "500 B" } } },
            { "name": "other", "from": "left", "to": "right", "tcp": tcp, "application": "ftp" },
        ]);
        let run = run_json(&network, 5);
        let rows = run.records.drops.iter().filter(|row| row.flow == 0 && row.cause.name() == "error");
        rows.map(|row| row.seq).collect::<Vec<_>>()
    };
    let first = lost("newreno");
    assert!(!first.is_empty());
    // What the queue dropped before it reached the error model may be missing on one side.
    let second = lost("vegas");
    let common = first.iter().filter(|seq| second.contains(seq)).count();
    assert!(common * 10 >= first.len() * 9, "{first:?} {second:?}");
}

/// Random check times of terminals hang on the seed.
#[test]
fn randomised_handover_checks_follow_the_seed() {
    let handovers = |seed| {
        let text = std::fs::read_to_string(skyhop_tests::root().join("examples/iridium.toml")).unwrap();
        let mut scenario: Value = toml_to_json(&text);
        scenario["duration"] = json!("1200 s");
        scenario["flows"][0]["application"] = json!({ "ftp": { "bytes": "10 kB" } });
        scenario["constellation"]["gsl"] = json!({ "handover": { "checks": "randomised" } });
        let run = run_json(&scenario, seed);
        run.records.handovers.iter().map(|row| row.time).collect::<Vec<_>>()
    };
    let first = handovers(1);
    assert!(first.len() > 3, "{first:?}");
    assert_eq!(first, handovers(1));
    assert_ne!(first, handovers(2));
}

fn toml_to_json(text: &str) -> Value {
    serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap()
}
