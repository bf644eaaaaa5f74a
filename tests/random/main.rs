//! Random scenarios over the whole format: half a minute here, hours with `hunt` (`docs/howto/hunt-for-faults.md`).
//!
//! SKYHOP_RANDOM_SECONDS sets how long the hunt goes on, SKYHOP_RANDOM_FROM its first seed.

use serde_json::{Value as Json, json};
use skyhop_tests::random::judge::{judge, judge_drawn};
use skyhop_tests::random::{
    Coverage, Defaults, Schema, bounds, finding::Findings, hashes, mend, network, parts, shrink, tables,
};
use std::time::{Duration, Instant};

/// So many scenarios are judged however slow the machine is.
const AT_LEAST: u64 = 60;

/// Among so many scenarios everything that the format has is used.
const FOR_COVERAGE: u64 = 12_000;
/// The share that is valid as it is drawn is counted among so many. A third is then known to within two percentage
/// points.
const FOR_VALIDITY: u64 = 550;

/// A run of more is ended and counted.
const LONG: Duration = Duration::from_secs(10);

/// Findings that are known and not mended yet, each with its reason. It is to become empty.
const KNOWN: &[(&str, &str)] = &[];

/// Points of the format that no scenario is drawn for, each with its reason.
const NOT_DRAWN: &[(&str, &str)] = &[
    ("Control = { plugin }", PLUGIN),
    ("Control = { python }", PYTHON),
    ("Control.plugin", PLUGIN),
    ("Control.python", PYTHON),
    ("FlowFile.quic", QUIC),
    ("PluginControl = object", PLUGIN),
    ("PluginControl = string", PLUGIN),
    ("PluginControl []", PLUGIN),
    ("PluginControl.file", PLUGIN),
    ("PluginControl.parameters", PLUGIN),
    ("PluginControl.sha256", PLUGIN),
    ("PythonControl = object", PYTHON),
    ("PythonControl = string", PYTHON),
    ("PythonControl.class", PYTHON),
    ("PythonControl.source", PYTHON),
    ("QuicControlFile = \"bbr\"", QUIC),
    ("QuicControlFile = \"bbr1\"", QUIC),
    ("QuicControlFile = \"bbr3\"", QUIC),
    ("QuicControlFile = \"c4\"", QUIC),
    ("QuicControlFile = \"cubic\"", QUIC),
    ("QuicControlFile = \"dcubic\"", QUIC),
    ("QuicControlFile = \"fast\"", QUIC),
    ("QuicControlFile = \"newreno\"", QUIC),
    ("QuicControlFile = \"prague\"", QUIC),
    ("QuicControlFile = { ours }", QUIC),
    ("QuicFile = \"noq\"", QUIC),
    ("QuicFile = \"picoquic\"", QUIC),
    ("QuicFile = \"quinn\"", QUIC),
    ("QuicFile = QuicOptions", QUIC),
    ("QuicOptions.ack_delay", QUIC),
    ("QuicOptions.ack_every", QUIC),
    ("QuicOptions.batch", QUIC),
    ("QuicOptions.connection_window", QUIC),
    ("QuicOptions.control", QUIC),
    ("QuicOptions.datagrams", QUIC),
    ("QuicOptions.idle_timeout", QUIC),
    ("QuicOptions.initial_rtt", QUIC),
    ("QuicOptions.initial_window", QUIC),
    ("QuicOptions.max_streams", QUIC),
    ("QuicOptions.packet_protection", QUIC),
    ("QuicOptions.payload", QUIC),
    ("QuicOptions.runtime", QUIC),
    ("QuicOptions.send_window", QUIC),
    ("QuicOptions.stack", QUIC),
    ("QuicOptions.stream_window", QUIC),
    ("QuicOptions.timers", QUIC),
    ("QuicOursFile.ours", QUIC),
    ("QuicRuntimeName = \"exact\"", QUIC),
    ("QuicRuntimeName = \"select\"", QUIC),
    ("QuicRuntimeName = \"tokio\"", QUIC),
    ("QuicTimersName = \"exact\"", QUIC),
    ("QuicTimersName = \"milliseconds\"", QUIC),
    ("WebProtocolFile = \"http/3\"", QUIC),
    ("WorkloadFile.quic", QUIC),
];

const PLUGIN: &str = "a plug-in needs a process that loads plug-ins; its tests are in Python";
const PYTHON: &str = "a control in Python needs a process that runs Python; its tests are in Python";

/// Which stacks there are depends on the features of the build, and real TLS in a debug build makes a scenario take
/// some ten times as long. `hunt --quic 0.2` draws them.
const QUIC: &str = "crates/scenario/tests/quic tries each option of the stacks that the build has";

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn random_scenarios_keep_every_invariant() {
    let (schema, seconds) = (Schema::default(), variable("SKYHOP_RANDOM_SECONDS").unwrap_or(20));
    let defaults = Defaults::learn(&schema);
    let from = variable("SKYHOP_RANDOM_FROM").unwrap_or(1);
    let begin = Instant::now();
    let (mut tried, mut valid, mut long, mut delivering) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut unknown = Vec::new();
    while tried < AT_LEAST || begin.elapsed() < Duration::from_secs(seconds) {
        let seed = from + tried;
        let verdict = judge_drawn(network::draw(&schema, &defaults, seed), seed, LONG);
        tried += 1;
        valid += u64::from(verdict.taken_out.is_some());
        long += u64::from(verdict.is_long);
        delivering += u64::from(verdict.delivered > 0);
        let is_known = |kind: &str| KNOWN.iter().any(|(known, _)| kind.starts_with(known));
        unknown.extend(verdict.findings.iter().filter(|f| !is_known(&f.kind)).map(|f| format!("seed {seed}: {f}")));
    }
    eprintln!("{tried} scenarios, {valid} valid, {delivering} of them delivered data, {long} took too long");
    assert!(
        unknown.is_empty(),
        "{}\nshrink and replay: cargo run -p skyhop-tests --bin hunt -- --count 1 --from SEED",
        unknown.join("\n")
    );
    // The generator draws networks that work.
    assert!(valid * 10 >= tried * 9, "{valid} of {tried} are valid");
    assert!(delivering * 2 >= valid, "{delivering} of {valid} deliver anything");
    assert!(long * 20 <= tried, "{long} of {tried} take too long");
}

#[test]
fn kept_scenarios_have_the_records_that_they_had() {
    let kept = hashes::read();
    assert_eq!(kept.len(), hashes::COUNT);
    let differences = hashes::differences(&kept);
    assert!(
        differences.is_empty(),
        "{} of {} scenarios have other records:\n{}\nIf the change means to change results, say so in CHANGELOG.md \
         and run: cargo run -p skyhop-tests --bin hunt -- --renew-hashes same",
        differences.len(),
        kept.len(),
        differences.join("\n")
    );
}

/// Step through the kept scenarios that are run in parts; `hunt --cut` runs as many as one likes.
const EVERY: usize = 8;

#[test]
fn runs_in_parts_have_the_records_of_one_thread() {
    let kept = hashes::read();
    let tried = || kept.iter().step_by(EVERY);
    let outcomes: Vec<(u64, parts::Outcome)> =
        tried().map(|one| (one.seed, parts::compare(one.scenario.clone(), one.seed))).collect();
    let differences: Vec<_> =
        outcomes.iter().filter(|(_, outcome)| matches!(outcome, parts::Outcome::Differs(_))).collect();
    assert!(differences.is_empty(), "{differences:#?}");
    let cut = outcomes.iter().filter(|(_, outcome)| matches!(outcome, parts::Outcome::Same { .. })).count();
    assert!(cut * 3 > outcomes.len(), "only {cut} of {} were cut", outcomes.len());
}

#[test]
fn every_key_and_name_of_the_format_is_drawn() {
    let schema = Schema::default();
    let defaults = Defaults::learn(&schema);
    let mut coverage = Coverage::default();
    let (mut as_drawn, mut valid) = (0_u64, 0_u64);
    for seed in 1..=FOR_COVERAGE {
        let drawn = network::draw(&schema, &defaults, seed);
        // To mend a scenario takes most of the time, and only takes things out of it.
        if seed > FOR_VALIDITY && !coverage.lacks(&schema, &drawn) {
            continue;
        }
        if let Ok(mended) = mend::mend(drawn) {
            as_drawn += u64::from(seed <= FOR_VALIDITY && mended.taken_out.is_empty());
            valid += u64::from(seed <= FOR_VALIDITY);
            coverage.add(&schema, &mended.value);
        }
        if seed >= FOR_VALIDITY && coverage.missing(&schema).len() <= NOT_DRAWN.len() {
            break;
        }
    }
    eprintln!("{FOR_VALIDITY} scenarios: {as_drawn} valid as drawn, {valid} when mended");
    let reasoned: Vec<&str> = NOT_DRAWN.iter().map(|(point, _)| *point).collect();
    assert_eq!(coverage.missing(&schema), reasoned, "of {} points", schema.points().len());
    // A mended scenario has lost a part of what was drawn for it.
    assert!(as_drawn * 3 > FOR_VALIDITY, "{as_drawn} of {FOR_VALIDITY} are valid as they are drawn");
}

#[test]
fn equal_seeds_draw_equal_scenarios() {
    let schema = Schema::default();
    let defaults = Defaults::learn(&schema);
    let draw = |seed| network::draw(&schema, &defaults, seed);
    assert!((1..50).all(|seed| draw(seed) == draw(seed)));
    assert!((1..50).all(|seed| draw(seed) != draw(seed + 1)));
}

#[test]
fn whole_numbers_that_overflow_stop_the_test_run() {
    let most = std::hint::black_box(u32::MAX);
    assert!(std::panic::catch_unwind(|| most + 1).is_err(), "tests are built without overflow checks");
    let asserts = std::panic::catch_unwind(|| debug_assert!(std::hint::black_box(false)));
    assert!(asserts.is_err(), "tests are built without debug assertions");
}

/// Two nodes and a flow.
fn pipe() -> Json {
    json!({
        "duration": "2 s", "profile": "rfc", "records": { "grid": "100 ms", "packets": ["left->right"] },
        "links": [{ "between": ["left", "right"], "rate": "1 Mbit/s", "delay": "10 ms" }],
        "flows": [{ "name": "a", "from": "left", "to": "right", "tcp": "newreno" }],
    })
}

#[test]
fn a_sound_run_has_no_findings_and_forged_ones_have() {
    assert_eq!(judge(&pipe(), 1, LONG).findings, []);
    let scenario = skyhop_scenario::Scenario::from_json(&pipe(), "pipe", &[]).unwrap();
    let run = skyhop_tests::run(&scenario, 1);
    type Forge = fn(&mut skyhop::records::Records);
    let forgeries: [(&str, Forge); 9] = [
        ("packets are not conserved", |r| r.conservation.sent += 1),
        ("goodput above the capacity of the path", |r| {
            r.flows[0].goodput_bps = 1.1e6;
            r.flows[0].throughput_bps = 1.2e6;
        }),
        ("a delay below that of signals", |r| r.flows[0].delay.min_s = 0.009),
        ("an RTT below that of signals", |r| r.flows[0].rtt.min_s = 0.019),
        ("utilisation of a link is not a share", |r| r.links[0].utilisation = 1.01),
        ("utilisation of a step is not a share", |r| r.link_series[0].utilisation = f64::NAN),
        ("times of packets are out of order", |r| r.packets.reverse()),
        ("a packet arrives before its bits can", |r| r.packets.iter_mut().for_each(|row| row.size_bytes += 1)),
        ("a link carries more than its capacity", |r| r.links.iter_mut().for_each(|link| link.bytes += 500_000)),
    ];
    for (kind, forge) in forgeries {
        let mut records = run.records.clone();
        forge(&mut records);
        let mut findings = Findings::default();
        tables::check(&records, &mut findings);
        bounds::check(&scenario, &records, &mut findings);
        assert!(findings.0.iter().any(|finding| finding.kind == kind), "{kind}: {:?}", findings.0);
    }
}

#[test]
fn what_is_refused_is_taken_out_at_its_place() {
    let mut wrong = pipe();
    wrong["flows"][0]["ttl"] = 0.into();
    wrong["links"][0]["queue"] = json!({ "drop_tail": { "packets": 5, "mark_above": 9 } });
    let mended = mend::mend(wrong).unwrap();
    assert_eq!(mended.taken_out.len(), 2);
    assert_eq!(mended.value["links"][0]["queue"]["drop_tail"], json!({ "packets": 5 }));
}

#[test]
fn a_scenario_without_its_finding_is_not_shrunk() {
    let (same, finding) = shrink::shrink(&pipe(), 1, "packets are not conserved", LONG);
    assert_eq!((same, finding), (pipe(), None));
}
