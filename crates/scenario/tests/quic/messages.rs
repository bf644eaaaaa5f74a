//! Messages in DATAGRAM frames (RFC 9221): they are lost as packets are, each by itself, and arrive as fast as the path
//! lets them.

use super::{StackKind, built, has, path, run_json, tap, times};
use serde_json::{Value, json};
use skyhop_base::Stream;
use skyhop_hosts::quic::End;
use skyhop_quic::{Config, Control, Host, Runtime, StreamUse};
use skyhop_scenario::Scenario;
use skyhop_sim::Simulation;
use skyhop_sim::endpoint::{Endpoint, MessageCounts, Transport};
use skyhop_sim::records::Records;
use skyhop_sim::spec::TransportConfig;
use std::sync::Arc;

fn flow(quic: &Value, application: Value) -> Value {
    json!({ "name": "a", "from": "left", "to": "right", "quic": quic, "application": application })
}

fn over(stack: StackKind, datagrams: bool) -> Value {
    let mut quic = json!({ "stack": stack.name(), "runtime": "exact" });
    if datagrams {
        quic["datagrams"] = json!(true);
    }
    quic
}

fn with_loss(mut network: Value, share: f64) -> Value {
    network["links"][0]["forward"]["errors"] = json!([{ "packet": share }]);
    network
}

fn counts(run: &Records) -> MessageCounts {
    run.flows[0].messages.expect("it sends messages")
}

/// 20 messages a second for ten minutes, over a path of 25 ms that loses every tenth packet. At most three are in
/// flight before a loss is found, far below any window. So each message arrives with probability 0.9, none is sent
/// again, and none waits: its delay is that of the path, and of 248 to 290 B at 20 Mbit/s (200 B, the header of 20 to
/// 32 B with its tag and frame type, 28 B of UDP and IP, and at times an acknowledgement).
#[test]
fn a_lost_packet_costs_its_message_and_no_other() {
    for stack in built() {
        let steady = json!({ "constant_rate": { "rate": "32 kbit/s", "payload": "200 B" } });
        let mut network = with_loss(path("25 ms", &json!([flow(&over(stack, true), steady)])), 0.1);
        network["duration"] = json!("10 min");
        let run = run_json(&network, 1);
        let MessageCounts { written, dropped, received } = counts(&run);
        // It begins when the connection stands, which takes a round trip, or a second more where its packets are lost.
        assert!((11_900..12_000).contains(&written) && dropped == 0, "{stack}: {written}, {dropped}");
        let share = received as f64 / written as f64;
        // Four standard deviations.
        assert!((share - 0.9).abs() < 4.0 * (0.09_f64 / written as f64).sqrt(), "{stack}: {share}");
        assert_eq!(run.flows[0].retransmissions, 0, "{stack}");
        assert_eq!(run.flows[0].bytes_delivered, 200 * received, "{stack}");
        let delay = run.flows[0].delay;
        assert_eq!(delay.count, received, "{stack}: a delay for each message, not for each packet");
        let path_s = |bytes: f64| 0.025 + bytes * 8.0 / 20e6;
        let bounds = path_s(248.0)..path_s(290.0);
        assert!(bounds.contains(&delay.min_s) && bounds.contains(&delay.median_s), "{stack}: {delay:?}");
        // The first one may leave behind the end of the handshake, two datagrams of 1228 B at most. noq paces these
        // over a fraction of a round trip.
        let first_s = if stack == StackKind::Noq { 0.025 + 0.05 / 8.0 } else { path_s(290.0 + 2.0 * 1228.0) };
        assert!(delay.max_s < first_s && delay.p95_s < bounds.end, "{stack}: {delay:?}");
        assert!(run.warnings.is_empty(), "{stack}: {:?}", run.warnings);
    }
}

/// Over a stream a lost packet holds up everything behind it until its repetition is there, at least a round trip
/// later; DATAGRAM frames lose one message and keep the others in time.
#[test]
fn a_stream_holds_up_what_follows_a_loss_and_datagrams_do_not() {
    for stack in built() {
        let run = |datagrams| {
            let messages = json!({ "messages": { "payload": "200 B", "every": "20 ms", "deadline": "60 ms" } });
            let network = with_loss(path("25 ms", &json!([flow(&over(stack, datagrams), messages)])), 0.02);
            run_json(&network, 2).messages.remove(0)
        };
        let (datagrams, stream) = (run(true), run(false));
        // 3000 messages, of which 60 are lost, with a standard deviation of 8.
        assert!((30..=92).contains(&datagrams.lost) && datagrams.late == 0, "{stack}: {datagrams:?}");
        assert_eq!(stream.lost, 0, "{stack}: {stream:?}");
        // A repetition takes 50 ms and more; two or three messages follow meanwhile.
        assert!(stream.late > 2 * datagrams.lost, "{stack}: {stream:?} for {datagrams:?}");
    }
}

/// Twice as many messages as the path back carries, 4 of 2 Mbit/s. quinn and noq keep a megabyte and drop the oldest;
/// picoquic keeps all. Each message is written, and dropped, read, lost in the network, or still waits.
#[test]
fn what_the_senders_queue_drops_is_told_apart_from_losses() {
    for stack in built() {
        let steady = json!({ "constant_rate": { "rate": "4 Mbit/s", "payload": "1000 B" } });
        let mut flow = flow(&over(stack, true), steady);
        (flow["from"], flow["to"]) = (json!("right"), json!("left"));
        let run = run_json(&path("25 ms", &json!([flow])), 1);
        let MessageCounts { written, dropped, received } = counts(&run);
        assert!((29_900..=30_000).contains(&written), "{stack}: {written}");
        // 2 Mbit/s for 60 s in packets of 1055 to 1070 B, once the queue at the link is never empty.
        assert!((12_500..14_250).contains(&received), "{stack}: {received}");
        let lost: u64 = run.flows[0].drops.iter().sum();
        let elsewhere = written - dropped - received - lost;
        if stack == StackKind::Picoquic {
            assert!(dropped == 0 && elsewhere > 10_000, "{stack}: {dropped}, {elsewhere}");
            assert!(run.flows[0].delay.max_s > 20.0, "{stack}: {:?}", run.flows[0].delay);
        } else {
            // The overshoot of slow start loses some at the link. The others wait in the stack's queue of 1 MiB, with
            // 32 B of its own for each, and in the link's, at most 1221 packets.
            assert!(dropped > 8000 && lost > 100 && elsewhere < 1048 + 1300, "{stack}: {dropped}, {elsewhere}");
            // A megabyte at 2 Mbit/s is 4.2 s, the link's queue 5.1 s at most.
            assert!(run.flows[0].delay.max_s < 10.0, "{stack}: {:?}", run.flows[0].delay);
        }
    }
}

/// A call over DATAGRAM frames on an idle path is the call over UDP, but for 22 to 33 B of headers at 20 Mbit/s.
#[test]
fn a_call_over_datagrams_is_rated_as_over_udp() {
    let call = |transport: &str, value: Value| {
        let mut flow = flow(&Value::Null, json!({ "call": { "playout": { "fixed": "40 ms" } } }));
        flow.as_object_mut().expect("a table").remove("quic");
        flow[transport] = value;
        run_json(&path("100 ms", &json!([flow])), 1).calls.remove(0)
    };
    let udp = call("udp", json!({}));
    for stack in built() {
        let quic = call("quic", over(stack, true));
        assert_eq!((quic.lost, quic.late), (0, 0), "{stack}");
        // The handshake takes 0.2 s, ten frames.
        assert!((udp.frames - 15..udp.frames - 9).contains(&quic.frames), "{stack}: {} {}", quic.frames, udp.frames);
        let more_s = quic.delay_s.expect("it is heard") - udp.delay_s.expect("it is heard");
        // The playout goes by the first frame, which may leave behind the end of the handshake: two datagrams, which
        // noq paces over a fraction of the round trip of 0.2 s.
        let most_s = if stack == StackKind::Noq { 0.2 / 8.0 } else { (33.0 + 2.0 * 1228.0) * 8.0 / 20e6 };
        assert!((22.0 * 8.0 / 20e6..most_s).contains(&more_s), "{stack}: {more_s}");
        let worse = udp.rating.expect("rated") - quic.rating.expect("rated");
        assert!((0.0..30.0 * most_s).contains(&worse), "{stack}: {worse}");
    }
}

/// An application that stops closes its connection after the last message, and the run says nothing.
#[test]
fn the_last_message_arrives_before_the_connection_closes() {
    for stack in built() {
        let mut flow = flow(&over(stack, true), json!({ "constant_rate": { "rate": "1 Mbit/s", "payload": "500 B" } }));
        flow["stop"] = json!("10 s");
        let run = run_json(&path("300 ms", &json!([flow])), 1);
        let MessageCounts { written, dropped, received } = counts(&run);
        assert_eq!((dropped, received), (0, written), "{stack}");
        // From 0.6 s on, 250 a second.
        assert!((2330..=2351).contains(&written), "{stack}: {written}");
        assert!(run.warnings.is_empty(), "{stack}: {:?}", run.warnings);
        assert!(times(&run, 0, "connection lost").is_empty(), "{stack}");
    }
}

/// A path that swallows everything: the application never begins, and the flow ends in the stack's words.
#[test]
fn without_a_connection_no_message_is_written() {
    for stack in built() {
        let mut quic = over(stack, true);
        quic["idle_timeout"] = json!("5 s");
        let flow = flow(&quic, json!({ "poisson": { "rate": "1 Mbit/s", "payload": "500 B" } }));
        let run = run_json(&with_loss(path("25 ms", &json!([flow])), 1.0), 1);
        assert_eq!(counts(&run), MessageCounts::default(), "{stack}");
        let warnings = run.warnings.join("\n");
        assert!(warnings.contains("ended after 5") && warnings.contains("TimedOut"), "{stack}: {warnings}");
    }
}

#[test]
fn messages_leave_as_the_same_bytes_in_every_run() {
    for stack in built() {
        let steady = json!({ "constant_rate": { "rate": "400 kbit/s", "payload": "500 B", "spacing": "random" } });
        let network = with_loss(path("25 ms", &json!([flow(&over(stack, true), steady)])), 0.01);
        let first = tap::hash(&network, 3, true);
        assert!(first.1 > 6000, "{stack}: {} datagrams", first.1);
        assert_eq!(tap::hash(&network, 3, true), first, "{stack}");
        assert_ne!(tap::hash(&network, 4, true).0, first.0, "{stack}: the seed does nothing");
    }
}

/// Sources whose messages the engine has not measured, so that the stack itself must refuse one that is too large.
#[derive(Debug)]
struct Unmeasured(StackKind);

impl Transport for Unmeasured {
    fn source(&self, mut draws: Stream) -> Box<dyn Endpoint> {
        let config = Config { datagrams: true, ..Config::new(self.0, Control::Cubic) };
        let seed = (draws.bits(), "source");
        let host = Host::source(&config, Runtime::exact(), StreamUse::Datagrams, seed).expect("it is built");
        Box::new(End::new(host, config.udp_payload.into(), true))
    }

    fn sink(&self, mut draws: Stream) -> Box<dyn Endpoint> {
        let config = Config { datagrams: true, ..Config::new(self.0, Control::Cubic) };
        let host = Host::sink(&config, Runtime::exact(), (draws.bits(), "sink")).expect("it is built");
        Box::new(End::new(host, config.udp_payload.into(), false))
    }
}

#[test]
fn a_message_that_fits_no_packet_ends_its_flow_in_the_stacks_words() {
    for (stack, words) in [
        (StackKind::Quinn, "datagram too large"),
        (StackKind::Noq, "datagram too large"),
        (StackKind::Picoquic, "datagram too long"),
    ] {
        if !has(stack) {
            continue;
        }
        let steady = json!({ "constant_rate": { "rate": "400 kbit/s", "payload": "1201 B" } });
        let network = path("25 ms", &json!([flow(&over(stack, false), steady)]));
        let scenario = Scenario::from_json(&network, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let mut spec = scenario.simulation_spec();
        spec.flows[0].transport = TransportConfig::Hosts(Arc::new(Unmeasured(stack)));
        let mut simulation = Simulation::new(&spec, 1).unwrap_or_else(|error| panic!("{error}"));
        simulation.run_until(simulation.end());
        let warnings = simulation.finish().warnings.join("\n");
        let message = "a message of 1201 B in a DATAGRAM frame: ";
        assert!(warnings.contains(message) && warnings.contains(words), "{stack}: {warnings}");
    }
}

#[test]
fn what_messages_cannot_be_is_refused_in_a_sentence() {
    for stack in built() {
        let said = |quic: &Value, application: Value| {
            let network = path("25 ms", &json!([flow(quic, application)]));
            Scenario::from_json(&network, "test", &[]).map(drop).map_err(|problems| problems.to_string())
        };
        let says = |quic: &Value, application: Value, words: &[&str]| {
            let said = said(quic, application).expect_err("it is refused");
            assert!(words.iter().all(|word| said.contains(word)), "{stack}: {said}");
        };
        let steady = |bytes: u32| json!({ "constant_rate": { "rate": "1 Mbit/s", "payload": format!("{bytes} B") } });
        let quic = over(stack, true);
        says(&quic, steady(1163), &["1163 B does not fit", "1162 B of the 1200 B", "payload = \"1201 B\""]);
        says(&quic, steady(11), &["11 B has no room", "12 B"]);
        for bytes in [12, 1162] {
            assert_eq!(said(&quic, steady(bytes)), Ok(()), "{stack}");
        }
        let mut larger = quic.clone();
        larger["payload"] = json!("1201 B");
        assert_eq!(said(&larger, steady(1163)), Ok(()), "{stack}");
        says(&quic, json!({ "ftp": { "bytes": "1 MB" } }), &["needs streams", "constant_rate", "call"]);
        says(&quic, json!({ "video": {} }), &["needs streams"]);
        says(&over(stack, false), json!({ "call": {} }), &["a call needs UDP", "datagrams = true"]);
        let mut limited = quic.clone();
        limited["max_streams"] = json!(4);
        says(&limited, steady(500), &["max_streams", "never opened"]);
        let workload = json!({ "name": "web", "from": "left", "to": "right", "quic": quic,
                               "sizes": { "constant": "1 kB" }, "arrivals": { "at": { "text": "time_s\n1\n" } } });
        let network = json!({ "duration": "10 s", "workloads": [workload],
                              "links": [{ "between": ["left", "right"], "delay": "1 ms", "rate": "1 Mbit/s" }] });
        let problems = Scenario::from_json(&network, "test", &[]).expect_err("it is refused").to_string();
        assert!(problems.contains("transfers need streams"), "{stack}: {problems}");
    }
}

/// The largest message that passes the check leaves, with every length of its packet number.
#[test]
fn the_largest_message_fits_a_packet_of_every_stack() {
    for stack in built() {
        let steady = json!({ "constant_rate": { "rate": "8 Mbit/s", "payload": "1162 B" } });
        let run = run_json(&path("25 ms", &json!([flow(&over(stack, true), steady)])), 1);
        let MessageCounts { written, received, dropped } = counts(&run);
        assert!(written > 51_000 && dropped == 0, "{stack}: {written}, {dropped}");
        assert!(written - received < 40, "{stack}: {received} of {written}");
        assert!(run.warnings.is_empty(), "{stack}: {:?}", run.warnings);
    }
}
