//! What counts as sent, as arrived and as waiting.

use serde_json::{Value as Json, json};
use skyhop_scenario::Scenario;
use skyhop_sim::Simulation;
use skyhop_sim::records::{LinkSummary, Records};

fn run(scenario: &Json) -> Records {
    let scenario = Scenario::from_json(scenario, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    Simulation::new(&scenario.simulation_spec(), 1).unwrap().run()
}

/// A node that keeps data sends copies of its own. They arrive, but the source has not sent them: no share is above
/// one.
#[test]
fn copies_of_a_helper_are_no_packets_of_the_source() {
    let records = run(&json!({
        "duration": "30 s", "profile": "rfc",
        "links": [
            { "between": ["left", "middle"], "rate": "625 kbit/s", "delay": "1 ms" },
            { "between": ["middle", "right"], "rate": "300 kbit/s", "delay": "20 ms", "errors": [{ "packet": 0.02 }] },
        ],
        "flows": [{ "name": "a", "from": "left", "to": "right", "count": 4, "tcp": "newreno" }],
        "agents": [{ "at": "middle", "snoop": {} }],
    }));
    for flow in &records.flows {
        assert!(flow.delivery_fraction <= 1.0, "{flow:?}");
        assert!(flow.information_efficiency.is_none_or(|share| share <= 1.0), "{flow:?}");
    }
    // Copies have arrived: not every arrival is a packet that the source sent, so losses and arrivals together exceed
    // it.
    let sum = |of: fn(&skyhop_sim::records::FlowSummary) -> u64| records.flows.iter().map(of).sum::<u64>();
    let (sent, received) = (sum(|flow| flow.packets_sent), sum(|flow| flow.packets_received));
    assert!(received + sum(|flow| flow.drops.iter().sum()) > sent, "{received} of {sent}");
}

/// A packet on an idle link that waits for its opportunity, or for the end of an outage, waits: its time is in the mean
/// of the queue, so it is in the maximum.
#[test]
fn what_an_idle_recording_holds_back_is_in_the_maximum() {
    let traces = [
        json!({ "opportunities": { "text": "500\n900\n" } }),
        json!({ "table": { "text": "time_s,rate_bps\n0,1000000\n0.2,0\n0.9,1000000\n" } }),
    ];
    for trace in traces {
        for queue in ["drop_tail", "drop_front"] {
            let records = run(&json!({
                "duration": "20 s", "profile": "rfc",
                "links": [{
                    "between": ["left", "right"], "delay": "1 ms", "rate": "1 Mbit/s",
                    "forward": { "trace": trace, "queue": queue },
                }],
                // One packet in more than a second: it never meets another one.
                "flows": [{
                    "name": "a", "from": "left", "to": "right", "udp": {}, "start": "300 ms",
                    "application": { "constant_rate": { "rate": "640 bit/s", "payload": "100 B" } },
                }],
                "records": { "grid": "1 ms" },
            }));
            let link: &LinkSummary = records.links.iter().find(|row| row.queue_mean_packets > 0.0).unwrap();
            let most = records.link_series.iter().map(|row| row.queue_packets).max();
            assert_eq!((link.queue_max_packets, most), (1, Some(1)), "{trace} {queue}: {link:?}");
        }
    }
}

/// The engine builds access links as wires. What it would refuse at the start of a run, the check refuses.
#[test]
fn access_links_at_a_satellite_are_refused_before_the_run() {
    let scenario = json!({
        "duration": "1 s", "profile": "rfc",
        "constellation": { "satellites": [{ "name": "g", "geostationary": "10 deg" }], "gsl": { "rate": "1 Mbit/s" } },
        "stations": { "palermo": { "city": "Palermo" } },
        "flows": [{
            "name": "a", "from": "palermo", "to": "g", "tcp": "newreno",
            "access": { "rate": "1 Mbit/s", "delay": "1 ms" },
        }],
    });
    let problems = Scenario::from_json(&scenario, "test", &[]).unwrap_err();
    assert_eq!(problems.problems[0].path, "flows[0].access", "{problems}");
}
