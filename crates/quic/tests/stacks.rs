//! The stacks in virtual time: the same run anywhere, whole transfers over bad paths, and the comparison with real
//! time.
#![cfg(feature = "tls")]

use skyhop_base::{Duration, Time};
use skyhop_quic::lab::cases::{Case, Flow, Measured, Run};
use skyhop_quic::lab::compare::{CaseResult, Seeds, compare};
use skyhop_quic::lab::run::{Habits, Outcome, run};
use skyhop_quic::lab::{cases, report};
use skyhop_quic::{Application, Config, ConfigError, Control, Host, Runtime, StackKind};
use std::path::Path;
use std::process::Command;

/// One flow over 20/2 Mbit/s and 50 ms, with random losses.
fn case(stack: StackKind, control: Control, application: Application, loss: f64) -> Case {
    let flow = Flow {
        stack: stack.name().into(),
        control: control.name().into(),
        application,
        start: Duration::ZERO,
        cap: Duration::from_secs(60),
        stream_window: 0,
        connection_window: 0,
        send_window: 0,
        initial_rtt: Duration::ZERO,
        udp_payload: 1200,
        offload: true,
        measured: Measured::default(),
    };
    Case {
        name: "own".into(),
        mechanism: "own".into(),
        rate_down_bps: 20_000_000,
        rate_up_bps: 2_000_000,
        delay: Duration::from_millis(25),
        queue_down: 60,
        queue_up: 60,
        loss,
        handover: None,
        runs: vec![Run { number: 1, seed: 7, flows: vec![flow] }],
        problem: None,
    }
}

fn outcome(case: &Case, habits: Habits, seed: u64) -> Outcome {
    run(case, &case.runs[0], habits, seed).expect("both stacks are built").expect("the configuration is right")
}

/// Every stack with every control that it ships.
fn all() -> Vec<(StackKind, Control)> {
    let pairs = |stack: StackKind| stack.controls().iter().map(move |control| (stack, *control));
    StackKind::ALL.into_iter().filter(|stack| stack.is_built()).flat_map(pairs).collect()
}

/// Hashes over time, flow, direction, length, mark and bytes of every datagram.
fn hashes() -> String {
    let hash = |(stack, control): (StackKind, Control)| {
        let case = case(stack, control, Application::Download { bytes: 2_000_000 }, 0.01);
        let outcome = outcome(&case, Habits::Tokio, 3);
        assert!(outcome.datagrams > 1500, "{stack}: only {} datagrams", outcome.datagrams);
        format!("{stack} {} {:016x} {:016x}", control.name(), outcome.shape_hash, outcome.bytes_hash)
    };
    all().into_iter().map(hash).collect::<Vec<String>>().join("\n")
}

const ASK: &str = "SKYHOP_QUIC_PRINT_HASHES";

/// quinn's BBR and noq's BBRv3 seed themselves from the operating system unless somebody stops them; so do TLS,
/// connection ids and hash tables. A second process has other entropy, another clock and other addresses.
#[test]
fn another_process_sends_the_same_bytes_at_the_same_times() {
    if let Ok(file) = std::env::var(ASK) {
        return std::fs::write(file, hashes()).expect("the file can be written");
    }
    let file = std::env::temp_dir().join(format!("skyhop-quic-hashes-{}", std::process::id()));
    let name = "another_process_sends_the_same_bytes_at_the_same_times";
    let mut other = Command::new(std::env::current_exe().expect("this test is a file"));
    let status = other.args(["--exact", name]).env(ASK, &file).output().expect("it runs once more").status;
    assert!(status.success());
    let theirs = std::fs::read_to_string(&file).expect("the other process wrote its hashes");
    std::fs::remove_file(&file).expect("the file can be removed");
    assert_eq!(theirs, hashes());
}

#[test]
fn another_seed_sends_other_bytes() {
    let case = case(StackKind::Quinn, Control::Bbr, Application::Download { bytes: 1_000_000 }, 0.0);
    let [first, second] = [1, 2].map(|seed| outcome(&case, Habits::Exact, seed));
    assert_ne!(first.bytes_hash, second.bytes_hash);
    // Exact timers take nothing from the seed: what differs is the stack's own randomness.
    assert_ne!(first.shape_hash, second.shape_hash);
}

#[test]
fn a_transfer_over_a_lossy_path_arrives_whole() {
    for (stack, control) in all() {
        for application in [Application::Download { bytes: 500_000 }, Application::Upload { bytes: 100_000 }] {
            let case = case(stack, control, application, 0.03);
            for habits in [Habits::Tokio, Habits::Exact] {
                let flow = &outcome(&case, habits, 1).flows[0];
                let wanted = match application {
                    Application::Download { bytes } | Application::Upload { bytes } => bytes as f64,
                    Application::Requests { .. } => unreachable!("not among them"),
                };
                assert_eq!(flow.app_bytes, wanted, "{stack} {}", control.name());
                assert!(flow.measures.lost_packets > 0, "{stack} {} lost nothing", control.name());
                // Rate and propagation bound the time from below: request and answer, then the data.
                let rate = if matches!(application, Application::Download { .. }) { 20e6 } else { 2e6 };
                let least = 0.1 + wanted * 8.0 / rate;
                assert!(flow.completion_s.unwrap() > least, "{stack} {} is faster than light", control.name());
                assert_eq!(flow.death, None);
            }
        }
    }
}

/// An idle connection lasts for its idle timeout, and its end has the stack's words.
#[test]
fn a_peer_that_never_answers_ends_the_flow_in_the_stacks_words() {
    for (stack, control) in all() {
        let config = Config { idle_timeout: Duration::from_secs(3), ..Config::new(stack, control) };
        let application = Application::Download { bytes: 1000 };
        let mut host =
            Host::client(&config, Runtime::exact(), application, Time::ZERO, None, (1, "client")).expect("it is built");
        let mut sent = 0;
        while let Some(at) = host.next_wake() {
            host.wake(at);
            sent += host.take_output().count();
        }
        let (at, words) = host.progress().ended.clone().expect("it ends");
        assert_eq!(at.as_secs_f64(), 3.0, "{stack}");
        assert!(words.starts_with("TimedOut"), "{stack}: {words}");
        assert!(sent > 1, "{stack} tries again");
    }
}

#[test]
fn wrong_configurations_are_refused_in_a_sentence() {
    let right = Config::new(StackKind::Quinn, Control::Cubic);
    assert_eq!(right.check(), Ok(()));
    let wrong = [
        (Config { control: Control::Bbr3.into(), ..right.clone() }, "quinn has no congestion control \"bbr3\""),
        (Config { udp_payload: 1199, ..right.clone() }, "a full datagram carries 1199 bytes"),
        (Config { stream_window: Some(0), ..right.clone() }, "stream_window is 0 bytes"),
        (Config { send_window: Some(1 << 62), ..right.clone() }, "send_window is 4611686018427387904 bytes"),
        (Config { idle_timeout: Duration::ZERO, ..right.clone() }, "the idle timeout is out of range"),
    ];
    for (config, words) in wrong {
        let error: ConfigError = config.check().unwrap_err();
        assert!(error.to_string().starts_with(words), "{error}");
        assert!(Host::server(&config, Runtime::exact(), (1, "server")).is_err());
    }
    assert!("msquic".parse::<StackKind>().unwrap_err().to_string().contains("\"noq\" and \"picoquic\""));
}

/// The sample that is part of the project: every case within all bounds, and every connection survives or dies as in
/// real time. The whole reference takes minutes in this build, so `python/tests/test_validate_quic.py` runs it in an
/// optimised one.
#[test]
fn the_sample_of_the_reference_is_within_its_bounds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference");
    let cases = cases::read(&folder).unwrap_or_else(|error| panic!("{error}"));
    let seeds = Seeds { random: 4, others: 3 };
    let judged = |case| compare(&folder, case, seeds).unwrap_or_else(|error| panic!("{error}"));
    let verdicts: Vec<CaseResult> = cases.iter().map(judged).collect();
    let lines: Vec<String> = verdicts.iter().map(report::line).collect();
    let sums = report::sums(&verdicts);
    let is_built = |case: &&Case| case.runs[0].flows[0].stack.parse().is_ok_and(StackKind::is_built);
    let built = cases.iter().filter(is_built).count();
    assert!(built >= 6, "the sample has more of each stack");
    let found = (sums.cases, sums.within, sums.survivals_right, sums.skipped);
    assert_eq!(found, (built, built, built, cases.len() - built), "{}", lines.join("\n"));
}

/// A row with a word that this program does not know is a miss of its own case, and the others are compared.
#[test]
fn a_row_that_cannot_be_built_is_a_miss_of_its_case_alone() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/cases.csv");
    let text = std::fs::read_to_string(sample).expect("the sample is part of the crate");
    let (header, rows) = text.split_once('\n').expect("a header and rows");
    let row = rows.lines().find(|row| row.contains(",down,")).expect("a download");
    let (name, rest) = row.split_once(',').expect("a case");
    let strange = format!("strange,{}", rest.replacen(",down,", ",sideways,", 1));
    let folder = std::env::temp_dir().join(format!("skyhop-quic-rows-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    std::fs::write(folder.join("cases.csv"), format!("{header}\n{strange}\n{row}\n")).expect("it can be written");
    let found = cases::read(&folder).expect("the other row is right");
    let seeds = Seeds { random: 1, others: 1 };
    let said = compare(&folder, &found[0], seeds).expect_err("nobody knows this word").to_string();
    std::fs::remove_dir_all(&folder).expect("the folder can be removed");
    assert!(said.contains("row 2") && said.contains("sideways") && said.contains("\"rr\""), "{said}");
    assert_eq!((found.len(), found[1].name.as_str(), found[1].problem.as_ref()), (2, name, None));
}
