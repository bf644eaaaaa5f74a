//! Each option of the sender, changed alone, changes what is sent on some path.

use skyhop_base::{Duration, Rate, Time};
use skyhop_tcp::control::cubic::CubicOptions;
use skyhop_tcp::path::{Events, Exchange, Outcomes, PathConfig, PathDirection};
use skyhop_tcp::receiver::{self, Receiver};
use skyhop_tcp::sender::{Config, ControlKind, Host, Sender};
use skyhop_tcp::timer::Timers;

type Change = fn(&mut Config);

fn nothing(_: &mut Config) {}

fn small_writes(config: &mut Config) {
    config.nagle = false;
}

/// With SACK the degree of reordering matters only up to the first reordering.
fn without_sack(config: &mut Config) {
    config.sack = false;
}

fn paced(config: &mut Config) {
    config.pacing = true;
}

/// The change under its name, and what both sides of the comparison have in common.
const OPTIONS: [(&str, Change, Change); 26] = [
    ("timestamps", nothing, |c| c.timestamps = false),
    ("sack", nothing, |c| c.sack = false),
    ("dsack", nothing, |c| c.dsack = false),
    ("tlp", nothing, |c| c.tlp = false),
    ("frto", nothing, |c| c.frto = false),
    ("undo", nothing, |c| c.undo = false),
    ("ecn", nothing, |c| c.ecn = true),
    ("idle_restart", nothing, |c| c.idle_restart = false),
    ("nagle", nothing, |c| c.nagle = false),
    ("pacing", nothing, |c| c.pacing = true),
    ("pacing_ratios", paced, |c| c.pacing_ratios = (150, 150)),
    ("min_burst", nothing, |c| c.min_burst = 4),
    ("burst_rtt_log", nothing, |c| c.burst_rtt_log = 12),
    ("join_small", small_writes, |c| c.join_small = false),
    ("rack_adapts", nothing, |c| c.rack_adapts = false),
    ("rack_duplicate_threshold", nothing, |c| c.rack_duplicate_threshold = false),
    ("burst_divisor", nothing, |c| c.burst_divisor = 0),
    ("control", nothing, |c| c.control = ControlKind::named("reno").unwrap()),
    ("timers", nothing, |c| c.timers = Timers::Wheel { first: 7, phase: Duration::from_millis(2) }),
    ("min_rto", nothing, |c| c.min_rto = Duration::from_millis(50)),
    ("max_rto", nothing, |c| c.max_rto = Duration::from_millis(700)),
    ("initial_rto", nothing, |c| c.initial_rto = Duration::from_millis(700)),
    ("initial_window", nothing, |c| c.initial_window = 4),
    ("reordering", nothing, |c| c.reordering = 10),
    ("max_reordering", without_sack, |c| c.max_reordering = 3),
    ("syn_linear_timeouts", nothing, |c| c.syn_linear_timeouts = 0),
];

/// A path that loses, delays and doubles, drawn from `seed`, and what is sent over it.
fn sent(config: &Config, seed: u64) -> Vec<(Time, u64, u32)> {
    let mut state = seed;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let mut list: Vec<String> = Vec::new();
    for number in 1..300 {
        match below(60) {
            0 => list.push(format!("D:{number}=drop")),
            1 => list.push(format!("D:{number}=delay:{}", 1 + below(120))),
            2 => list.push(format!("D:{number}=ce")),
            3 => list.push(format!("D:{number}-{}=drop", number + below(12))),
            4 => list.push(format!("A:{number}=drop")),
            _ => {}
        }
    }
    if below(3) == 0 {
        list.push("S:1-2=drop".to_owned());
    }
    let mut writes: Vec<(Time, u64)> = Vec::new();
    for number in 0..20 {
        let at = Time::ZERO + Duration::from_millis(number * (1 + below(200)));
        let most = 1 << (6 + below(12));
        writes.push((at, 1 + below(most)));
    }
    writes.sort_unstable();
    let hold = below(1500) as f64 / 1e3;
    let path = PathConfig {
        rate: Rate::from_bps(1_000_000 + below(50_000_000)).unwrap(),
        delay: Duration::from_millis(1 + below(100)),
        queues: [100, 100],
        outcomes: Outcomes::parse(&list.join(";")).unwrap(),
        events: Events::parse(&format!("hold@{hold}-{}:A", hold + 0.6)).unwrap(),
        syn_bytes: 60,
        turnaround: [Duration::ZERO; 2],
    };
    let receiver = receiver::Config {
        mss: config.mss,
        sack: config.sack,
        timestamps: config.timestamps,
        ecn: config.ecn,
        ..receiver::Config::default()
    };
    let host = Host::new(Sender::new(config.clone()), Time::ZERO, Duration::ZERO, writes);
    let mut exchange = Exchange::new(host, receiver::Host::new(Receiver::new(receiver), None), path);
    let mut sent = Vec::new();
    exchange.run(Time::ZERO + Duration::from_secs(60), |crossing| {
        if crossing.direction == PathDirection::Data {
            sent.push((crossing.entered, crossing.segment.seq, crossing.segment.len));
        }
    });
    sent
}

#[test]
fn each_option_changes_what_is_sent() {
    let base = Config { control: ControlKind::Cubic(CubicOptions::default()), ..Config::default() };
    let mut idle = Vec::new();
    for (name, common, change) in OPTIONS {
        let mut without = base.clone();
        common(&mut without);
        let mut with = without.clone();
        change(&mut with);
        if (0..200).all(|seed| sent(&without, seed) == sent(&with, seed)) {
            idle.push(name);
        }
    }
    assert!(idle.is_empty(), "without effect: {idle:?}");
}
