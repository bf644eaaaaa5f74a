//! Real QUIC stacks in scenarios: the same bytes in every process, transfers over bad paths, what they cannot bear, and
//! the stacks in real time over the same path.

mod messages;
mod tap;
mod told;
#[path = "../../../../docs/howto/windowed.rs"]
mod windowed;

use serde_json::{Value, json};
use skyhop_quic::StackKind;
use skyhop_scenario::Scenario;
use skyhop_sim::Simulation;
use skyhop_sim::records::{PacketEvent, Records};
use skyhop_sim::spec::TransportConfig;
use std::io::Write;
use std::process::Command;
use std::sync::Arc;

/// The stacks of this build.
fn built() -> Vec<StackKind> {
    StackKind::ALL.into_iter().filter(|stack| stack.is_built()).collect()
}

/// Those that take a control of Skyhop's.
fn with_ours() -> Vec<StackKind> {
    built().into_iter().filter(|stack| *stack != StackKind::Picoquic).collect()
}

/// Whether this build has the stack; says so where it has not, in the form that the count of skipped tests reads.
fn has(stack: StackKind) -> bool {
    if !stack.is_built() {
        // Not eprintln, which the test harness captures.
        let _ = writeln!(std::io::stderr(), "\nskipped: this build has no {stack}");
    }
    stack.is_built()
}

/// 20 Mbit/s there, 2 Mbit/s back, and a queue of 1221 waiting packets, one BDP of 600 ms: the path `g1` of the
/// reference, with its data from the left to the right.
fn path(delay: &str, flows: &Value) -> Value {
    let queue = json!({ "drop_tail": { "packets": 1221, "counts": "waiting" } });
    json!({
        "duration": "60 s", "profile": "rfc",
        "links": [{ "between": ["left", "right"], "delay": delay, "queue": queue,
                    "forward": { "rate": "20 Mbit/s" }, "backward": { "rate": "2 Mbit/s" } }],
        "flows": flows,
        "records": { "grid": "100 ms" },
    })
}

fn run_json(network: &Value, seed: u64) -> Records {
    let scenario = Scenario::from_json(network, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let spec = scenario.simulation_spec();
    let mut simulation = Simulation::new(&spec, seed).unwrap_or_else(|error| panic!("{error}"));
    simulation.run_until(simulation.end());
    let records = simulation.finish();
    assert!(records.conservation.holds(), "{:?}", records.conservation);
    records
}

fn file(name: &str, bytes: &str, quic: &Value) -> Value {
    json!({ "name": name, "from": "left", "to": "right", "quic": quic, "application": { "ftp": { "bytes": bytes } } })
}

/// Times of the events under this name of the flow with this number.
fn times(run: &Records, flow: u32, event: &str) -> Vec<f64> {
    let events = &run.flow_events;
    events.iter().filter(|row| row.flow == flow && row.event == event).map(|row| row.time.as_secs_f64()).collect()
}

fn completed(run: &Records, flow: usize) -> f64 {
    run.flows[flow].completed.expect("the transfer is complete").as_secs_f64()
}

/// Every stack with every control that it ships.
fn pairs() -> Vec<(StackKind, &'static str)> {
    let controls = |stack: StackKind| stack.controls().iter().map(move |control| (stack, control.name()));
    built().into_iter().flat_map(controls).collect()
}

/// A hash over the times, flows, directions, marks and bytes of all datagrams, for each stack and control.
fn hashes() -> String {
    let hash = |(stack, control): (StackKind, &str)| {
        let quic = json!({ "stack": stack.name(), "control": control });
        let mut network = path("25 ms", &json!([file("a", "1 MB", &quic), file("b", "1 MB", &quic)]));
        network["links"][0]["forward"]["errors"] = json!([{ "packet": 0.01 }]);
        let (hash, datagrams) = tap::hash(&network, 3, true);
        assert!(datagrams > 1500, "{stack}: only {datagrams} datagrams");
        format!("{stack} {control} {hash:016x}")
    };
    pairs().into_iter().map(hash).collect::<Vec<String>>().join("\n")
}

/// Hashes of one machine, by stack and control. After a change that means to change what the stacks send, this writes
/// them again: `SKYHOP_TESTS_PRINT_HASHES=$PWD/crates/scenario/tests/quic/hashes.txt cargo test -p skyhop-scenario
/// --features skyhop-quic/noq,skyhop-quic/picoquic --test quic -- --exact
/// a_scenario_sends_the_same_bytes_in_every_process`.
const KEPT: &str = include_str!("hashes.txt");

const ASK: &str = "SKYHOP_TESTS_PRINT_HASHES";

#[test]
fn a_scenario_sends_the_same_bytes_in_every_process() {
    let ours = hashes();
    if let Ok(file) = std::env::var(ASK) {
        return std::fs::write(file, ours + "\n").expect("the file can be written");
    }
    let file = std::env::temp_dir().join(format!("skyhop-scenario-hashes-{}", std::process::id()));
    let mut other = Command::new(std::env::current_exe().expect("this test is a file"));
    let name = "a_scenario_sends_the_same_bytes_in_every_process";
    let status = other.args(["--exact", name]).env(ASK, &file).output().expect("it runs once more").status;
    assert!(status.success());
    let theirs = std::fs::read_to_string(&file).expect("the other process wrote its hashes");
    std::fs::remove_file(&file).expect("the file can be removed");
    assert_eq!(theirs.trim_end(), ours);
    assert_eq!(hashes(), ours, "twice in one process");
    // Another machine has another processor, another entropy and other addresses. The stacks take powers and roots from
    // the system's mathematics, so another system may differ in their last digit.
    if cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")) {
        for line in ours.lines() {
            assert!(KEPT.lines().any(|kept| kept == line), "{line} is not among what another machine sent:\n{KEPT}");
        }
    } else {
        let _ = writeln!(std::io::stderr(), "\nskipped: the kept hashes are those of Linux on x86-64");
    }
}

/// Without packet protection the same packets leave at the same times, with other bytes in them.
#[test]
fn packets_without_protection_have_the_same_lengths_and_times() {
    for stack in built() {
        let hashed = |protection: bool, contents: bool| {
            let quic = json!({ "stack": stack.name(), "packet_protection": protection });
            let mut network = path("25 ms", &json!([file("a", "1 MB", &quic)]));
            network["links"][0]["forward"]["errors"] = json!([{ "packet": 0.01 }]);
            tap::hash(&network, 5, contents)
        };
        let (with, without) = (hashed(true, false), hashed(false, false));
        assert!(with.1 > 800, "{stack}: only {} datagrams", with.1);
        assert_eq!(with, without, "{stack}");
        assert_ne!(hashed(true, true).0, hashed(false, true).0, "{stack}: the option does nothing");
    }
}

/// The reference's download sends the same packets as an upload over the mirrored path, and arrives half a round trip
/// earlier: its client asks first.
#[test]
fn a_flow_does_what_the_stack_did_in_real_time() {
    if !has(StackKind::Quinn) {
        return;
    }
    // Case `quinn_newreno_g1_w8M` of the reference: 9.297 to 9.303 s, 1846 tail drops and 10430 to 10434 packets in
    // both runs. Bounds: 1 % for the completion, 2 % for drops, 0.5 % for packets.
    let quic = json!({ "stack": "quinn", "control": "newreno", "stream_window": "8 MB", "send_window": "16 MB" });
    let run = run_json(&path("300 ms", &json!([file("up", "10 MB", &quic)])), 1);
    let flow = &run.flows[0];
    let at = completed(&run, 0);
    assert!((at - 9.0).abs() < 0.09, "complete at {at} s");
    let drops: u64 = flow.drops.iter().sum();
    assert!(drops.abs_diff(1846) < 37, "{drops} drops");
    assert!(flow.packets_sent.abs_diff(10432) < 52, "{} packets", flow.packets_sent);
    assert_eq!(flow.bytes_delivered, 10_000_000);
    assert!(run.warnings.is_empty(), "{:?}", run.warnings);
    // QUIC sends the frames of lost packets again: as many packets repeat bytes as were lost, but for two frames in one
    // packet and for probes.
    assert!(flow.retransmissions.abs_diff(drops) < drops / 20, "{} repetitions", flow.retransmissions);
    // One overshoot, one reduction for each of its rounds.
    assert!((1..=4).contains(&flow.cwnd_cuts), "{} cuts", flow.cwnd_cuts);
    // NewReno halves its window (quinn's default), which the records show; the window counts full datagrams.
    let events = &run.flow_events;
    assert!(events.iter().any(|row| row.event == "loss" && row.cwnd.is_some() && row.ssthresh.is_some()), "{events:?}");
}

/// More than 1024 pieces of a stream are too many for quinn's receiver, and 12 MB are enough for as many in the
/// overshoot of slow start. Shorter downloads and smaller windows live, and the timers of the runtime do not matter.
#[test]
fn large_windows_end_long_downloads_of_quinn() {
    if !has(StackKind::Quinn) {
        return;
    }
    for runtime in ["tokio", "exact"] {
        let run = |bytes: &str, window: &str| {
            let quic = json!({ "stack": "quinn", "stream_window": window, "runtime": runtime });
            run_json(&path("300 ms", &json!([file("a", bytes, &quic)])), 1)
        };
        let dead = run("12 MB", "8 MB");
        let words = dead.warnings.first().expect("the run says it");
        assert!(words.contains("too many gaps in stream buffer"), "{runtime}: {words}");
        assert!(dead.flows[0].completed.is_none());
        for (bytes, window) in [("10 MB", "8 MB"), ("12 MB", "4 MB"), ("12 MB", "2 MB")] {
            let alive = run(bytes, window);
            assert!(alive.warnings.is_empty(), "{runtime}, {bytes}, {window}: {:?}", alive.warnings);
            assert!(alive.flows[0].completed.is_some(), "{runtime}, {bytes}, {window}");
        }
    }
}

#[test]
fn what_a_stack_does_not_bear_ends_its_flow_and_no_other() {
    if !has(StackKind::Noq) {
        return;
    }
    let quic = json!({ "stack": "noq", "stream_window": "4 MB" });
    let flows = json!([
        file("noq", "10 MB", &quic),
        { "name": "tcp", "from": "left", "to": "right", "tcp": "newreno", "start": "30 s" },
    ]);
    let run = run_json(&path("300 ms", &flows), 1);
    let warning = run.warnings.first().expect("the run says it");
    assert!(
        warning.contains("\"noq\" ended after 8.") && warning.contains("too many gaps in stream buffer"),
        "{warning}"
    );
    let death = times(&run, 0, "closed by receiver");
    assert_eq!(death.len(), 1);
    // In real time at 8.758 and 8.761 s, of which its request took 0.3 s.
    assert!((death[0] - 8.46).abs() < 0.42, "{death:?}");
    assert!(run.flows[0].completed.is_none());
    assert!(run.flows[1].bytes_delivered > 1_000_000, "the other flow goes on");
    // A smaller window does not overshoot so far.
    let quic = json!({ "stack": "noq", "stream_window": "2 MB" });
    let run = run_json(&path("300 ms", &json!([file("noq", "10 MB", &quic)])), 1);
    assert!(run.warnings.is_empty() && completed(&run, 0) < 12.0, "{:?}", run.warnings);
}

#[test]
fn applications_run_over_quic() {
    for stack in built() {
        let files = json!({ "files": { "sizes": ["30 kB", "2 MB", "1 B"], "pause": "1 s" } });
        let requests =
            json!({ "requests": { "request": "100 B", "response": "50 kB", "think": "500 ms", "count": 5 } });
        let steady = json!({ "constant_rate": { "rate": "400 kbit/s", "payload": "500 B" } });
        let flow = |name: &str, application: Value| {
            let mut flow = file(name, "1 B", &json!(stack.name()));
            flow["application"] = application;
            flow
        };
        let flows = json!([flow("files", files), flow("requests", requests), flow("steady", steady)]);
        let run = run_json(&path("25 ms", &flows), 1);
        let sizes: Vec<u64> =
            run.transfers.iter().filter(|row| row.flow == 0 && row.arrived).map(|row| row.bytes).collect();
        assert_eq!(sizes, [30_000, 2_000_000, 1], "{stack}");
        assert_eq!(run.transfers.iter().filter(|row| row.flow == 1 && row.arrived).count(), 5, "{stack}");
        // 400 kbit/s for 60 s, without the last bytes, which have not arrived.
        let delivered = run.flows[2].bytes_delivered as f64;
        assert!((delivered - 3e6).abs() < 0.01 * 3e6, "{stack}: {delivered}");
        assert!(run.warnings.is_empty(), "{stack}: {:?}", run.warnings);
    }
}

#[test]
fn marks_of_a_queue_reach_the_stack() {
    for stack in built() {
        let quic = json!({ "stack": stack.name(), "control": "newreno" });
        let mut network = path("25 ms", &json!([file("a", "20 MB", &quic)]));
        network["links"][0]["queue"] = json!({ "codel": { "ecn": true } });
        let run = run_json(&network, 1);
        let flow = &run.flows[0];
        assert_eq!(flow.drops.iter().sum::<u64>(), 0, "{stack}");
        let marks = times(&run, 0, "mark");
        assert!(!marks.is_empty() && flow.cwnd_cuts as usize == marks.len(), "{stack}: {marks:?}, {}", flow.cwnd_cuts);
        assert!(flow.goodput_bps > 12e6, "{stack}: {:?}", flow.goodput_bps);
    }
}

#[test]
fn a_connection_lives_through_handovers_losses_and_pauses() {
    for (stack, control) in pairs() {
        let network = json!({
            "duration": "10 min", "profile": "rfc",
            "constellation": { "preset": "iridium", "gsl": { "errors": [{ "packet": 0.005 }] } },
            "stations": {
                "berkeley": { "latitude": "37.9 deg", "longitude": "-122.3 deg" },
                "chennai": { "latitude": "13.04 deg", "longitude": "80.17 deg" },
            },
            "flows": [{ "name": "a", "count": 2, "from": "berkeley", "to": "chennai",
                        "quic": { "stack": stack.name(), "control": control },
                        "application": { "constant_rate": { "rate": "100 kbit/s", "payload": "1000 B" } } }],
        });
        let run = run_json(&network, 1);
        for flow in &run.flows {
            let least = 100e3 / 8.0 * 590.0;
            assert!(flow.bytes_delivered as f64 > least, "{stack} {control}: {} bytes", flow.bytes_delivered);
            assert!(flow.retransmissions > 0, "{stack} {control}");
        }
        assert!(run.handovers.len() > 2);
        assert!(run.warnings.is_empty(), "{stack} {control}: {:?}", run.warnings);
    }
}

#[test]
fn a_path_that_swallows_everything_ends_the_flow_in_the_stacks_words() {
    for stack in built() {
        let quic = json!({ "stack": stack.name(), "idle_timeout": "5 s" });
        // By then the stack has taken none of the endless data.
        let mut endless = file("b", "1 MB", &quic);
        endless["application"] = json!("ftp");
        let mut network = path("25 ms", &json!([file("a", "1 MB", &quic), endless]));
        network["links"][0]["forward"]["errors"] = json!([{ "packet": 1.0 }]);
        let run = run_json(&network, 1);
        for (flow, name) in [(0, "a"), (1, "b")] {
            let start = format!("the connection of flow \"{name}\" ended after 5");
            let warning = run.warnings.iter().find(|warning| warning.starts_with(&start));
            assert!(warning.is_some_and(|warning| warning.contains("TimedOut")), "{stack}: {:?}", run.warnings);
            assert_eq!(times(&run, flow, "connection lost").len(), 1, "{stack}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_in_a_sentence() {
    let problem = |quic: Value, more: &[(&str, Value)]| {
        let mut flow = file("a", "1 MB", &quic);
        for (key, value) in more {
            flow[*key] = value.clone();
        }
        match Scenario::from_json(&path("25 ms", &json!([flow])), "test", &[]) {
            Ok(_) => panic!("{quic} is right"),
            Err(problems) => problems.to_string(),
        }
    };
    let says = |quic: Value, more: &[(&str, Value)], words: &[&str]| {
        let said = problem(quic, more);
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    };
    says(json!("lsquic"), &[], &["lsquic", "quinn"]);
    says(json!({ "stack": "msquic" }), &[], &["msquic", "quinn"]);
    says(json!({ "stack": "quinn", "contrl": "bbr" }), &[], &["contrl"]);
    says(json!({ "stack": "quinn", "batch": 11 }), &[], &["batch", "10"]);
    says(json!({ "stack": "quinn", "payload": "1199 B" }), &[], &["1200 to 65507 B"]);
    for stack in StackKind::ALL {
        let name = stack.name();
        if !stack.is_built() {
            says(json!(name), &[], &[&format!("this build has no {name}"), "make build FEATURES="]);
            continue;
        }
        let other = if stack == StackKind::Noq { "bbr" } else { "bbr3" };
        says(json!({ "stack": name, "control": other }), &[], &["has no congestion control", other, "cubic"]);
        says(json!({ "stack": name, "control": "vegas" }), &[], &["vegas", "control"]);
        says(json!({ "stack": name, "control": { "ours": "vegan" } }), &[], &["vegan"]);
        says(json!({ "stack": name, "control": { "ours": { "cubic": { "beta": 2 } } } }), &[], &["beta"]);
        if stack == StackKind::Picoquic {
            says(json!({ "stack": name, "control": { "ours": "cubic" } }), &[], &["its own congestion controls"]);
            says(json!({ "stack": name, "ack_every": 2 }), &[], &["does not take ack_every"]);
            says(json!({ "stack": name, "initial_window": "1 MB" }), &[], &["initial_rtt", "both or neither"]);
            says(json!({ "stack": name, "initial_rtt": "1 s" }), &[], &["initial_window", "both or neither"]);
            says(json!({ "stack": name, "payload": "1509 B" }), &[], &["payload", "1508 bytes"]);
        } else {
            says(json!({ "stack": name, "control": { "ours": "peach" } }), &[], &["peach", "dummy segments"]);
        }
        says(json!({ "stack": name, "stream_window": "0 B" }), &[], &["stream_window is 0 bytes"]);
        says(json!({ "stack": name, "idle_timeout": "0 s" }), &[], &["idle timeout"]);
        says(json!({ "stack": name, "ack_delay": "10 ms" }), &[], &["needs \"ack_every\""]);
        says(json!(name), &[("tcp", json!("newreno"))], &["excludes \"tcp\""]);
        says(json!(name), &[("udp", json!({}))], &["excludes \"udp\""]);
        says(json!(name), &[("jitter", json!("1 ms"))], &["jitter", "QUIC"]);
        says(json!(name), &[("via", json!(["middle"]))], &["via", "QUIC"]);
    }
}

#[test]
fn a_control_that_asks_for_a_rate_is_refused_where_the_stack_takes_none() {
    let read = |stack: StackKind| {
        let quic = json!({ "stack": stack.name(), "control": { "ours": "hybla" } });
        Scenario::from_json(&path("25 ms", &json!([file("a", "1 MB", &quic)])), "test", &[])
    };
    if has(StackKind::Quinn) {
        let Err(problems) = read(StackKind::Quinn) else { panic!("quinn takes no rate") };
        assert!(problems.to_string().contains("spacing"), "{problems}");
    }
    if has(StackKind::Noq) {
        assert!(read(StackKind::Noq).is_ok());
    }
}

/// The stack of `docs/howto/bring-a-quic-stack.md`: twenty datagrams a round trip of 50 ms, which loses some and
/// repeats them a second later.
#[test]
fn another_stack_can_be_brought() {
    let mut network = path("25 ms", &json!([{ "name": "own", "from": "left", "to": "right", "tcp": "newreno" }]));
    let run = |network: &Value| {
        let scenario = Scenario::from_json(network, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let mut spec = scenario.simulation_spec();
        spec.flows[0].transport = TransportConfig::Hosts(Arc::new(windowed::WindowedHosts));
        let mut simulation = Simulation::new(&spec, 1).unwrap_or_else(|error| panic!("{error}"));
        simulation.run_until(simulation.end());
        simulation.finish()
    };
    let records = run(&network);
    assert!(records.conservation.holds() && records.warnings.is_empty(), "{:?}", records.warnings);
    // A window a round trip: 50 ms, the time of a datagram at 20 Mbit/s and of an acknowledgement at 2 Mbit/s.
    let (datagram, ack) = ((1009.0 + 28.0) * 8.0 / 20e6, (9.0 + 28.0) * 8.0 / 2e6);
    let expected = 20.0 * 1000.0 * 8.0 / (0.05 + datagram + ack);
    let rate = records.flows[0].goodput_bps;
    assert!((rate / expected - 1.0).abs() < 0.02, "{rate} for {expected}");
    network["links"][0]["forward"]["errors"] = json!([{ "packet": 0.05 }]);
    network["flows"][0]["application"] = json!({ "ftp": { "bytes": "500 kB" } });
    let records = run(&network);
    assert_eq!(records.flows[0].bytes_delivered, 500_000);
    assert!(records.flows[0].completed.is_some());
}

/// What each option is for. An option without effect would pass every other test.
#[test]
fn options_change_what_they_are_for() {
    for stack in built() {
        let run = |more: Value| {
            let mut quic = json!({ "stack": stack.name(), "runtime": "exact" });
            for (key, value) in more.as_object().expect("options") {
                quic[key] = value.clone();
            }
            run_json(&path("300 ms", &json!([file("a", "3 MB", &quic)])), 1)
        };
        let plain = run(json!({}));
        // picoquic takes a known window together with its RTT, and asks for acknowledgements by its own rule.
        let is_picoquic = stack == StackKind::Picoquic;
        let mut known = json!({ "initial_window": "120 kB" });
        if is_picoquic {
            // Its CUBIC leaves slow start at the known window: one of the path, 1.5 MB.
            known = json!({ "initial_window": "1500 kB", "initial_rtt": "600 ms" });
        } else {
            let acks = |run: &Records| (run.conservation.sent - run.flows[0].packets_sent) as f64;
            let fewer = acks(&run(json!({ "ack_every": 10 }))) / acks(&plain);
            assert!(fewer < 0.5, "{stack}: {fewer} of the acknowledgements");
        }
        // Credit enough, so that the congestion window decides.
        known["stream_window"] = json!("8 MB");
        let unknown = completed(&run(json!({ "stream_window": "8 MB" })), 0);
        let gain = unknown - completed(&run(known), 0);
        assert!(gain > if is_picoquic { 0.6 } else { 0.9 }, "{stack}: {gain}");
        // A window of 200 kB a round trip: 3 MB take 15 of them, 9 s, besides the handshake and slow start.
        let narrow = completed(&run(json!({ "stream_window": "200 kB" })), 0);
        assert!((9.0..15.0).contains(&narrow), "{stack}: {narrow}");
        let narrow = completed(&run(json!({ "connection_window": "200 kB" })), 0);
        assert!((9.0..15.0).contains(&narrow), "{stack}: {narrow}");
        let narrow = completed(&run(json!({ "send_window": "200 kB" })), 0);
        assert!((9.0..15.0).contains(&narrow), "{stack}: {narrow}");
        let packets = |run: &Records| run.flows[0].packets_sent as f64;
        let larger = packets(&run(json!({ "payload": "1452 B" }))) / packets(&plain);
        assert!((larger - 1200.0 / 1452.0).abs() < 0.02, "{stack}: {larger} of the packets");
        if is_picoquic {
            // A window of another path is not used.
            let wrong = run(json!({ "initial_window": "120 kB", "initial_rtt": "100 ms" }));
            assert_eq!(completed(&wrong, 0), completed(&plain, 0), "{stack}");
        } else {
            // The handshake's packets are sent again before their answer can be there.
            assert!(packets(&run(json!({ "initial_rtt": "50 ms" }))) > packets(&plain), "{stack}");
        }
        let late = |runtime: &str| completed(&run(json!({ "runtime": runtime })), 0) - completed(&plain, 0);
        let (tokio, select) = (late("tokio"), late("select"));
        assert!(tokio != 0.0 && select != 0.0 && tokio != select, "{stack}: {tokio}, {select}");
        // picoquic does without some acknowledgements where datagrams are read together.
        assert!(is_picoquic || tokio > 0.0 && select > 0.0, "{stack}: {tokio}, {select}");
    }
}

/// One file of a control under Skyhop's TCP and inside each stack, over the same path: the mean window and the goodput
/// agree within 5 %. Losses come at the same packets and one at a time, because the recovery of many at once is the
/// transport's: TCP loses retransmissions and waits for its timer, QUIC does not.
#[test]
fn a_control_of_ours_does_under_quic_what_it_does_under_tcp() {
    let lost = json!([{ "packets": 400 }, { "packets": [2000, 60_000], "every": 2000 }]);
    let figures = |key: &str, transport: Value| {
        let flow = json!({ "name": "a", "from": "left", "to": "right", key: transport });
        let mut network = path("50 ms", &json!([flow]));
        network["duration"] = json!("30 s");
        network["links"][0]["forward"]["errors"] = json!([{ "list": { "data": lost } }]);
        let run = run_json(&network, 1);
        assert!(run.warnings.is_empty(), "{:?}", run.warnings);
        (run.flows[0].cwnd_mean.expect("TCP and QUIC have a window"), run.flows[0].goodput_bps)
    };
    let mut windows = Vec::new();
    for control in ["reno", "cubic", "westwood+"] {
        // 1228 B on the wire, as QUIC's 1200 B of UDP payload, and RFC 9002's initial window.
        let tcp =
            json!({ "recovery": "sack", "control": control, "mss": "1188 B", "initial_window": 10, "window": 4000 });
        let (cwnd, goodput) = figures("tcp", tcp);
        windows.push(cwnd);
        for stack in with_ours() {
            let quic = json!({ "stack": stack.name(), "control": { "ours": control }, "stream_window": "8 MB",
                               "runtime": "exact" });
            let ours = figures("quic", quic);
            assert!((ours.0 / cwnd - 1.0).abs() < 0.05, "{control} in {stack}: cwnd {} for {cwnd}", ours.0);
            assert!((ours.1 / goodput - 1.0).abs() < 0.05, "{control} in {stack}: {} for {goodput} bit/s", ours.1);
        }
    }
    // Vegas reads delayed ACKs as a queue: TCP's wait for the next burst, QUIC's for at most 25 ms. It leaves slow
    // start when bursts queue up. Without either it has the same window under both.
    let tcp = |more: Value| {
        let mut tcp = json!({ "recovery": "sack", "control": "vegas", "mss": "1188 B", "initial_window": 10,
                              "window": 4000 });
        for (key, value) in more.as_object().into_iter().flatten() {
            tcp[key] = value.clone();
        }
        json!({ "name": "a", "from": "left", "to": "right", "tcp": tcp })
    };
    let mean = |flow: Value| {
        let network = path("50 ms", &json!([flow]));
        run_json(&network, 1).flows[0].cwnd_mean.expect("has a window")
    };
    let (usual, like_quic) = (mean(tcp(json!({}))), mean(tcp(json!({ "ack_every": 1, "pacing": "always" }))));
    assert!(usual < 0.25 * like_quic, "delayed ACKs and bursts hold the window of TCP: {usual} for {like_quic}");
    for stack in with_ours() {
        let quic = json!({ "stack": stack.name(), "control": { "ours": "vegas" }, "stream_window": "8 MB",
                           "runtime": "exact", "ack_every": 1 });
        let ours = mean(json!({ "name": "a", "from": "left", "to": "right", "quic": quic }));
        assert!((ours / like_quic - 1.0).abs() < 0.05, "vegas in {stack}: cwnd {ours} for {like_quic}");
    }
    // Neither stack's own control nor another of ours would pass for the one that was asked for.
    windows.sort_by(f64::total_cmp);
    assert!(windows.windows(2).all(|pair| pair[1] > 1.1 * pair[0]), "{windows:?}");
}

/// RFC 9002, section 7.7, with N = 1.25, as the pacers of quinn and noq have it: also under a control that knows a
/// rate, except that noq takes the rates of bbr3 and of hybla. picoquic's controls all set its rate. Packets leave no
/// faster.
#[test]
fn the_pacing_rate_is_that_of_the_stacks_pacer() {
    let ours = with_ours().into_iter().map(|stack| {
        let hybla = json!({ "hybla": if stack == StackKind::Quinn { json!({ "spacing": "off" }) } else { json!({}) } });
        (stack, json!({ "ours": hybla }))
    });
    let own = pairs().into_iter().map(|(stack, control)| (stack, json!(control)));
    for (stack, control) in own.chain(ours) {
        let what = format!("{stack} {control}");
        let of_control = stack == StackKind::Picoquic
            || stack == StackKind::Noq && (control == "bbr3" || control["ours"].is_object());
        let quic = json!({ "stack": stack.name(), "control": control, "payload": "1200 B", "stream_window": "8 MB",
                           "runtime": "exact" });
        let mut network = path("25 ms", &json!([{ "name": "a", "from": "left", "to": "right", "quic": quic }]));
        network["duration"] = json!("4 s");
        network["records"] = json!({ "grid": "1 ms", "packets": ["left->right"] });
        let run = run_json(&network, 1);
        let (mut next, mut owed, mut most_owed, mut paced) = (0, 0.0f64, 0.0f64, 0);
        let (mut used, mut allowed) = (0.0, 0.0);
        let sent: Vec<_> = (run.packets.iter())
            .filter(|row| row.event == PacketEvent::Enqueue && !row.is_ack)
            .map(|row| (row.time, f64::from(row.size_bytes - 28)))
            .collect();
        for pair in run.flow_series.windows(2) {
            let first = next;
            while sent.get(next).is_some_and(|&(time, _)| time <= pair[1].time) {
                next += 1;
            }
            let (Some(before), Some(after)) = (pair[0].pacing_bps, pair[1].pacing_bps) else { continue };
            paced += 1;
            let bytes: f64 = sent[first..next].iter().map(|(_, bytes)| bytes).sum();
            let fill = before.max(after) / 8.0 * 1e-3;
            owed = (owed + bytes - fill).max(0.0);
            (used, allowed) = (used + bytes, allowed + fill);
            // A burst of ten datagrams (16 of picoquic: `pacing.c`) or of 2 ms; and what the pacers earned since they
            // last looked counts at the rate of now, which has risen in slow start.
            let datagrams = if stack == StackKind::Picoquic { 16.0 } else { 10.0 };
            let burst = 2.0 * f64::max(1200.0 * datagrams, 2.0 * fill);
            most_owed = most_owed.max(owed / burst);
            if !of_control {
                let windows = after * pair[1].srtt.expect("has one").as_secs_f64() / (pair[1].cwnd.unwrap() * 9600.0);
                assert!((windows - 1.25).abs() < 1e-6, "{what}: {windows} windows per RTT in {:?}", pair[1]);
            }
        }
        assert!(paced > 3900, "{what}: {paced} steps");
        // The longest burst of picoquic's bucket at a rising rate is not derived: 1.11 times this one has been seen.
        assert!(most_owed <= 1.0 || stack == StackKind::Picoquic, "{what}: {most_owed} of the longest burst");
        // Four fifths of 5/4 windows per RTT, or all of the rate, except for the time in which losses held the sender.
        // Under bbr3 the first rate, before an RTT is known, is far above any path's.
        let share = used / allowed;
        assert!((0.7..=1.0).contains(&share) || control == "bbr3", "{what}: {share} of the rate");
        if control == "bbr3" && of_control {
            // From 0.9 to 1.25 of the bandwidth, less 1 %, once it is known: 1200 of 1228 B are UDP payload.
            let late =
                run.flow_series.iter().filter(|row| row.time.as_secs_f64() > 2.0).filter_map(|row| row.pacing_bps);
            let gains: Vec<f64> = late.map(|rate| rate / (0.99 * 20e6 * 1200.0 / 1228.0)).collect();
            let mean = gains.iter().sum::<f64>() / gains.len() as f64;
            assert!((0.9..1.1).contains(&mean), "{what}: {mean} of the bandwidth");
        }
    }
}

/// A workload over QUIC opens a connection for each transfer: a round trip for the handshake, and half of one for the
/// data. Over open connections the second transfer takes half of one. A page of one object takes its request besides.
#[test]
fn workloads_run_over_quic() {
    for stack in built() {
        let scenario = |more: &Value| {
            let mut workload = json!({
                "name": "web", "from": "left", "to": "right", "quic": stack.to_string(),
                "arrivals": { "at": { "text": "time_s\n1\n3\n" } },
            });
            for (key, value) in more.as_object().into_iter().flatten() {
                workload[key] = value.clone();
            }
            json!({ "duration": "10 s", "profile": "rfc", "workloads": [workload],
                    "links": [{ "between": ["left", "right"], "delay": "100 ms", "rate": "100 Mbit/s" }] })
        };
        let completions = |connections: Value| -> Vec<f64> {
            let sizes = json!({ "constant": "1 kB" });
            let records = run_json(&scenario(&json!({ "sizes": sizes, "connections": connections })), 1);
            records.workload_transfers.iter().map(|row| row.completion().expect("has finished").as_secs_f64()).collect()
        };
        for (connections, second_s) in [(json!("new"), 0.3), (json!({ "persistent": 1 }), 0.1)] {
            let found = completions(connections);
            // The runtime's timers add milliseconds.
            assert!(
                (0.3..0.32).contains(&found[0]) && (second_s..second_s + 0.02).contains(&found[1]),
                "{stack}: {found:?}"
            );
        }
        let content = json!({ "document": { "constant": "1 kB" }, "objects": 0, "sizes": { "constant": "1 kB" } });
        let records = run_json(&scenario(&json!({ "pages": { "content": content } })), 1);
        for page in &records.pages {
            let load_s = page.loaded.expect("has loaded").since(page.begin).as_secs_f64();
            assert!((0.4..0.42).contains(&load_s), "{stack}: {load_s}");
        }
        assert_eq!(records.pages.len(), 2);
    }
}

/// HTTP/3: one connection, a stream of its own for each object, and the server answers them side by side.
#[test]
fn each_object_of_a_page_over_quic_is_a_stream() {
    for stack in built() {
        let scenario = |objects: u32, bytes: &str, protocol: Value| {
            let content =
                json!({ "document": { "constant": "1 kB" }, "objects": objects, "sizes": { "constant": bytes } });
            let mut pages = json!({ "content": content });
            if !protocol.is_null() {
                pages["protocol"] = protocol;
            }
            let workload = json!({ "name": "web", "from": "left", "to": "right", "quic": stack.to_string(),
                                   "arrivals": { "at": { "text": "time_s\n1\n" } }, "pages": pages });
            json!({ "duration": "20 s", "profile": "rfc", "workloads": [workload],
                "records": { "packets": ["left->right"] },
                    "links": [{ "between": ["left", "right"], "delay": "100 ms", "rate": "100 Mbit/s" }] })
        };
        let run = run_json(&scenario(5, "1 kB", Value::Null), 1);
        let page = &run.pages[0];
        // Half a round trip for the request, one for the handshake, half for the document, one for its objects.
        let load_s = page.loaded.expect("has loaded").since(page.begin).as_secs_f64();
        // noq paces its first window: five packets take up to 0.1 s.
        assert!((0.6..0.75).contains(&load_s), "{stack}: {load_s}");
        let first_s = page.first.expect("has begun").since(page.begin).as_secs_f64();
        assert!((0.4..0.42).contains(&first_s), "{stack}: {first_s}");
        let mut bytes = std::collections::BTreeMap::<u64, u64>::new();
        for &(stream, begin, count) in &run.stream_pieces {
            let end = bytes.entry(stream).or_default();
            *end = (*end).max(begin + count);
        }
        // RFC 9000, section 2.1: the client's streams of both directions have every fourth number.
        assert_eq!(bytes, (0..6).map(|stream| (4 * stream, 1000)).collect(), "{stack}");

        // Two large objects at once: the streams take turns, so that neither waits for the end of the other.
        let run = run_json(&scenario(2, "500 kB", Value::Null), 1);
        let begins = |stream: u64| run.stream_pieces.iter().position(|&(of, ..)| of == stream).expect("is sent");
        let ends = |stream: u64| run.stream_pieces.iter().rposition(|&(of, ..)| of == stream).expect("is sent");
        assert!(begins(8) < ends(4) && begins(4) < ends(8), "{stack}");

        // Two connections share the objects. Versions of HTTP over TCP are refused, as HTTP/3 is without QUIC.
        let run = run_json(&scenario(5, "1 kB", json!({ "connections": 2, "multiplexed": true })), 1);
        assert!(run.pages[0].loaded.is_some(), "{stack}");
        let refused = |network: &Value| Scenario::from_json(network, "test", &[]).expect_err("is refused").to_string();
        for protocol in ["http/1.1", "http/2"] {
            assert!(
                refused(&scenario(5, "1 kB", json!(protocol))).contains("write protocol = \"http/3\""),
                "{protocol}"
            );
        }
        let mut of_tcp = scenario(5, "1 kB", json!("http/3"));
        let workload = of_tcp["workloads"][0].as_object_mut().expect("is a table");
        workload.remove("quic");
        workload.insert("tcp".to_owned(), json!("cubic"));
        assert!(refused(&of_tcp).contains("\"http/3\" needs QUIC"));
    }
}
