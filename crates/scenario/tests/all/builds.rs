//! What building a simulation refuses is a problem of the scenario, found before anything runs.

use serde_json::{Value, json};
use skyhop_scenario::Scenario;
use skyhop_sim::Simulation;

fn scenario(flow: &Value, rest: &Value) -> Result<Scenario, String> {
    let mut whole = json!({
        "duration": "2 s", "profile": "rfc",
        "links": [{ "between": ["a", "b"], "rate": "1 Mbit/s", "delay": "1 ms" }],
        "flows": [{ "name": "f", "from": "a", "to": "b" }],
    });
    let add = |to: &mut Value, from: &Value| {
        for (key, value) in from.as_object().unwrap() {
            to[key] = value.clone();
        }
    };
    add(&mut whole, rest);
    add(&mut whole["flows"][0], flow);
    Scenario::from_json(&whole, "test", &[]).map_err(|problems| problems.to_string())
}

#[test]
fn a_packet_with_all_its_headers_fits_or_is_refused() {
    let udp = |payload: u32, header: u32| {
        json!({
            "udp": { "header": format!("{header} B") },
            "application": { "constant_rate": { "rate": "1 Mbit/s", "payload": format!("{payload} B") } },
        })
    };
    let tcp = |mss: u32, rest: Value| {
        let mut tcp = rest;
        tcp["mss"] = json!(format!("{mss} B"));
        json!({ "tcp": tcp })
    };
    let sack =
        json!({ "name": "sack", "ack_size": "65000 B", "max_sack_blocks": 4, "ns2": { "sack_block_size": "200 B" } });
    for (flow, what) in [
        (tcp(65_535, json!({ "name": "reno" })), "a segment (mss + header) has 65575 B"),
        (tcp(1000, sack.clone()), "an ACK (ack_size + sack_option_size + SACK blocks) has 65802 B"),
        (udp(65_508, 28), "a datagram (payload + header) has 65536 B"),
    ] {
        let message = scenario(&flow, &json!({})).unwrap_err();
        assert!(message.contains(what) && message.contains("flows[0]"), "{message}");
    }
    let plain =
        json!({ "name": "reno", "ack_size": "65000 B", "max_sack_blocks": 4, "ns2": { "sack_block_size": "200 B" } });
    for flow in [tcp(65_495, json!({ "name": "reno" })), tcp(1000, plain), udp(65_507, 28)] {
        let scenario = scenario(&flow, &json!({})).unwrap_or_else(|message| panic!("{message}"));
        let records = Simulation::new(&scenario.simulation_spec(), 1).unwrap().run();
        // A goodput above the link's rate would mean that packets shrank on the path.
        let bits = 8.0 * records.flows[0].bytes_delivered as f64;
        assert!(bits > 0.0 && bits <= 2e6, "{bits} bit in 2 s over 1 Mbit/s");
    }
}

#[test]
fn a_queue_that_a_clock_does_not_know_is_found_before_the_run() {
    let access = json!({ "rate": "1 Mbit/s", "delay": "1 ms", "queue": "drop_front" });
    let flow = json!({ "tcp": "reno", "access": access });
    let message = scenario(&flow, &json!({ "clock": "ns-2" })).unwrap_err();
    assert!(message.contains("clock") && message.contains("f.source"), "{message}");
    assert!(scenario(&flow, &json!({})).is_ok());
}
