//! What a stack tells: losses that it takes back, windows that stop it, and a check of its own that fails.

use super::{built, file, has, pairs, path, run_json, times};
use serde_json::{Value, json};
use skyhop_base::Stream;
use skyhop_hosts::quic::{End, Quic};
use skyhop_quic::{Config, Control, Host, Runtime, StackKind, StreamUse};
use skyhop_scenario::Scenario;
use skyhop_sim::Simulation;
use skyhop_sim::endpoint::{Endpoint, Transport};
use skyhop_sim::spec::TransportConfig;
use std::sync::Arc;

/// Hosts of picoquic, of whose sources each fails an assertion of its C code at its first data.
#[derive(Debug)]
struct Failing;

impl Transport for Failing {
    fn source(&self, mut draws: Stream) -> Box<dyn Endpoint> {
        let config = Config::new(StackKind::Picoquic, Control::Cubic);
        let (seed, name) = (draws.bits(), "source");
        let mut stack = skyhop_quic::stack::build(&config, false, seed, name).expect("it is built");
        assert!(stack.fail_check());
        let host = Host::of_source(stack, Runtime::exact(), StreamUse::Shared, (seed, name));
        Box::new(End::new(host, config.udp_payload.into(), true))
    }

    fn sink(&self, mut draws: Stream) -> Box<dyn Endpoint> {
        let config = Config::new(StackKind::Picoquic, Control::Cubic);
        let host = Host::sink(&config, Runtime::exact(), (draws.bits(), "sink")).expect("it is built");
        Box::new(End::new(host, config.udp_payload.into(), false))
    }
}

/// The shim jumps out of picoquic's calls, over the frames of picoquic that ask for data. The flow ends with file, line
/// and simulated time; the other flow, of the same process and thread, sends what it sends beside any other flow.
#[test]
fn a_failed_assertion_of_picoquic_ends_its_flow_and_no_other() {
    if !has(StackKind::Picoquic) {
        return;
    }
    let run = || {
        let mut first = file("a", "1 MB", &json!("picoquic"));
        first["start"] = json!("1 s");
        let network = path("25 ms", &json!([first, file("b", "1 MB", &json!("picoquic"))]));
        let scenario = Scenario::from_json(&network, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let mut spec = scenario.simulation_spec();
        spec.flows[0].transport = TransportConfig::Hosts(Arc::new(Failing));
        let mut simulation = Simulation::new(&spec, 1).unwrap_or_else(|error| panic!("{error}"));
        simulation.run_until(simulation.end());
        simulation.finish()
    };
    let records = run();
    assert!(records.conservation.holds());
    let warnings = records.warnings.join("\n");
    let words = "picoquic: assertion failed in events.c:";
    assert!(warnings.contains(words) && warnings.contains("is_to_fail"), "{warnings}");
    // The handshake takes a round trip of 50 ms, and a little for its packets of 1200 bytes.
    let death = times(&records, 0, "connection lost");
    assert!(matches!(death[..], [at] if (1.05..1.07).contains(&at)), "{death:?}");
    assert!(warnings.contains("\"a\" ended after 1.05"), "{warnings}");
    assert_eq!((records.flows[0].bytes_delivered, records.flows[1].bytes_delivered), (0, 1_000_000));
    let again = run();
    assert_eq!(again.flows[1].completed, records.flows[1].completed, "the next run of this process");
}

/// Every 500th packet has 60 ms more delay than the others, so that more than three overtake it. Each stack takes it
/// for lost, and its acknowledgement comes after all. Lost packets do not count.
#[test]
fn losses_that_were_none_are_counted() {
    for (stack, control) in pairs() {
        let what = format!("{stack} {control}");
        let run = |outcome: Value| {
            let quic = json!({ "stack": stack.name(), "control": control });
            let mut network = path("25 ms", &json!([file("a", "3 MB", &quic)]));
            let fifth = json!([{ "packets": [500, 60_000], "every": 500, "outcome": outcome }]);
            network["links"][0]["forward"]["errors"] = json!([{ "list": { "data": fifth } }]);
            run_json(&network, 1)
        };
        let (late, lost) = (run(json!({ "delay": "60 ms" })), run(json!("drop")));
        assert!((2500..3000).contains(&late.flows[0].packets_sent), "{what}: {}", late.flows[0].packets_sent);
        assert_eq!(late.flows[0].drops.iter().sum::<u64>(), 0, "{what}");
        assert_eq!(late.flows[0].spurious_losses, Some(5), "{what}");
        assert_eq!(lost.flows[0].spurious_losses, Some(0), "{what}");
        assert_eq!(lost.flows[0].drops.iter().sum::<u64>(), 5, "{what}");
        if stack == StackKind::Picoquic {
            assert_eq!(times(&late, 0, "undo").len(), 5, "{what}: by its own count");
        }
    }
}

/// A window of the stream far below the path's stops the sender about once for each eighth of it. quinn and picoquic
/// say so, noq does not; noq alone would say that it lacks streams. What a stack never says is empty, not zero.
#[test]
fn a_small_window_shows_in_what_the_sender_says() {
    for stack in built() {
        let run = |window: &str| {
            let quic = json!({ "stack": stack.name(), "stream_window": window });
            run_json(&path("300 ms", &json!([file("a", "3 MB", &quic)])), 1).flows.remove(0)
        };
        let (narrow, wide) = (run("200 kB"), run("8 MB"));
        if stack == StackKind::Noq {
            assert_eq!((narrow.data_blocked, narrow.streams_blocked), (None, Some(0)));
            continue;
        }
        let [narrow_said, wide_said] = [&narrow, &wide].map(|flow| flow.data_blocked.expect("it says so"));
        assert!((60..=150).contains(&narrow_said), "{stack}: {narrow_said}");
        assert!(wide_said <= 1, "{stack}: {wide_said}");
        assert_eq!(narrow.streams_blocked, None, "{stack}");
    }
    let tcp = json!([{ "name": "a", "from": "left", "to": "right", "tcp": "newreno" }]);
    let tcp = &run_json(&path("300 ms", &tcp), 1).flows[0];
    assert_eq!((tcp.spurious_losses, tcp.data_blocked, tcp.streams_blocked), (None, None, None));
}

/// A page of 40 objects, all asked for at once, over a connection that allows 8 streams at a time: the sender opens the
/// next ones as the receiver frees some, a round trip later. And a source that writes 50 portions a second, each to a
/// stream of its own, over 200 ms and with two streams at a time: it always wants more than it has. noq says so, quinn
/// and picoquic never do.
#[test]
fn more_streams_than_the_receiver_allows_wait_for_it() {
    for stack in built() {
        let page = |most: Option<u32>| {
            let mut quic = json!({ "stack": stack.name() });
            if let Some(most) = most {
                quic["max_streams"] = json!(most);
            }
            let content = json!({ "document": { "constant": "1 kB" }, "objects": 40, "sizes": { "constant": "1 kB" } });
            let workload = json!({ "name": "web", "from": "left", "to": "right", "quic": quic,
                "arrivals": { "at": { "text": "time_s\n1\n" } }, "pages": { "content": content } });
            let network = json!({ "duration": "20 s", "profile": "rfc", "workloads": [workload],
                "links": [{ "between": ["left", "right"], "delay": "100 ms", "rate": "100 Mbit/s" }] });
            let run = run_json(&network, 1);
            assert!(run.warnings.is_empty(), "{stack}: {:?}", run.warnings);
            run.pages[0].loaded.expect("has loaded").since(run.pages[0].begin).as_secs_f64()
        };
        let more_s = page(Some(8)) - page(None);
        assert!((0.3..1.9).contains(&more_s), "{stack}: {more_s} s");
        let portions = |most: u32| {
            let steady = json!({ "constant_rate": { "rate": "400 kbit/s", "payload": "1000 B" } });
            let flow = json!([{ "name": "a", "from": "left", "to": "right", "tcp": "newreno", "application": steady }]);
            let scenario = Scenario::from_json(&path("100 ms", &flow), "test", &[]).expect("it is right");
            let mut spec = scenario.simulation_spec();
            let config = Config { streams: Some(most), ..Config::new(stack, Control::Cubic) };
            let hosts = Quic::new(config, Runtime::exact(), StreamUse::AtOnce).expect("it is built");
            spec.flows[0].transport = TransportConfig::Hosts(Arc::new(hosts));
            let mut simulation = Simulation::new(&spec, 1).unwrap_or_else(|error| panic!("{error}"));
            simulation.run_until(simulation.end());
            let flow = simulation.finish().flows.remove(0);
            (flow.bytes_delivered, flow.streams_blocked)
        };
        let ((free_bytes, free), (few_bytes, few)) = (portions(100), portions(2));
        // 3000 portions in 60 s. A stream is free again after one to two round trips of 0.2 s: two of them carry 300 to
        // 600 portions.
        assert!((2_950_000..=3_000_000).contains(&free_bytes), "{stack}: {free_bytes}");
        assert!((250_000..650_000).contains(&few_bytes), "{stack}: {few_bytes}");
        if stack == StackKind::Noq {
            assert!(free == Some(0) && few.is_some_and(|said| said > 100), "{free:?}, {few:?}");
        } else {
            assert_eq!((free, few), (None, None), "{stack}");
        }
    }
}
