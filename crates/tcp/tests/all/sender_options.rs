//! Each option of the sender, changed alone, changes what is sent on some path.

use skyhop_base::{Duration, Rate, Time};
use skyhop_tcp::control::cubic::CubicOptions;
use skyhop_tcp::path::{Events, Exchange, Outcomes, PathConfig, PathDirection};
use skyhop_tcp::receiver::{self, EcnEcho, Receiver};
use skyhop_tcp::sender::{Config, ControlKind, EcnMode, Estimator, Host, Sender, Validation};
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

fn marked(config: &mut Config) {
    config.ecn = EcnMode::On;
}

/// Reno and CUBIC ask for no samples of the rate.
fn sampling(config: &mut Config) {
    config.control = ControlKind::named("bbr").unwrap();
}

fn paced(config: &mut Config) {
    config.pacing = true;
}

/// The change under its name, and what both sides of the comparison have in common.
const OPTIONS: [(&str, Change, Change); 35] = [
    ("timestamps", nothing, |c| c.timestamps = false),
    ("sack", nothing, |c| c.sack = false),
    ("dsack", nothing, |c| c.dsack = false),
    ("tlp", nothing, |c| c.tlp = false),
    ("frto", nothing, |c| c.frto = false),
    ("undo", nothing, |c| c.undo = false),
    ("ecn", nothing, |c| c.ecn = EcnMode::On),
    ("idle_restart", nothing, |c| c.idle_restart = false),
    ("nagle", nothing, |c| c.nagle = false),
    ("pacing", nothing, |c| c.pacing = true),
    ("pacing_ratios", paced, |c| c.pacing_ratios = (150, 150)),
    ("min_burst", nothing, |c| c.min_burst = 4),
    ("burst_rtt_log", nothing, |c| c.burst_rtt_log = 12),
    ("join_small", small_writes, |c| c.join_small = false),
    ("limited_transmit", nothing, |c| c.limited_transmit = false),
    ("prr", nothing, |c| c.prr = false),
    ("rack", nothing, |c| c.rack = false),
    ("accurate ECN", marked, |c| c.ecn = EcnMode::Accurate),
    ("window_validation", nothing, |c| c.window_validation = Validation::Off),
    ("window_validation by RFC 7661", nothing, |c| c.window_validation = Validation::Rfc7661),
    ("byte_counting", nothing, |c| c.byte_counting = false),
    ("app_limited_marks", sampling, |c| c.app_limited_marks = false),
    ("estimator", nothing, |c| c.estimator = Estimator::Rfc6298),
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

/// When each segment enters the path, its number and its length.
fn sent_over(
    path: PathConfig,
    config: &Config,
    receiver: receiver::Config,
    writes: Vec<(Time, u64)>,
    until: Duration,
) -> Vec<(Time, u64, u32)> {
    let host = Host::new(Sender::new(config.clone()), Time::ZERO, Duration::ZERO, writes);
    let mut exchange = Exchange::new(host, receiver::Host::new(Receiver::new(receiver), None), path);
    let mut sent = Vec::new();
    exchange.run(Time::ZERO + until, |crossing| {
        if crossing.direction == PathDirection::Data {
            sent.push((crossing.entered, crossing.segment.seq, crossing.segment.len));
        }
    });
    sent
}

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
        ecn: config.ecn != EcnMode::Off,
        echo: EcnEcho::for_control(config.control.ecn(), config.ecn),
        ..receiver::Config::default()
    };
    sent_over(path, config, receiver, writes, Duration::from_secs(60))
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

/// A fast path with an RTT of 100 ms that loses these transmissions of data.
fn fast_path(lost: &[u64]) -> PathConfig {
    PathConfig {
        rate: Rate::from_bps(1_000_000_000).unwrap(),
        delay: Duration::from_millis(50),
        queues: [1000, 1000],
        outcomes: Outcomes::parse(&lost.iter().map(|n| format!("D:{n}=drop")).collect::<Vec<_>>().join(";")).unwrap(),
        events: Events::parse("").unwrap(),
        syn_bytes: 60,
        turnaround: [Duration::ZERO; 2],
    }
}

/// What `config` sends of 40 segments over a fast path that loses these transmissions: milliseconds and number.
fn after_a_loss(config: &Config, lost: &[u64]) -> Vec<(u64, u64)> {
    let mss = u64::from(config.mss);
    // Each segment is acknowledged as it comes.
    let receiver = receiver::Config { mss: 1448, delayed_acks: false, ..receiver::Config::default() };
    let receiver = receiver::Config { compression: receiver::Compression::OFF, ..receiver };
    let writes = vec![(Time::ZERO, 40 * mss)];
    let sent = sent_over(fast_path(lost), config, receiver, writes, Duration::from_secs(10));
    let data = sent.into_iter().filter(|&(.., len)| len > 0);
    data.map(|(at, seq, _)| (at.as_nanos() / 1_000_000, seq / mss)).collect()
}

fn four_segments() -> Config {
    Config { initial_window: 4, burst_divisor: 0, ..Config::default() }
}

#[test]
fn limited_transmit_sends_for_the_first_duplicates() {
    // RFC 3042: the first of four is lost, so two duplicate ACKs come before a third proves it.
    for (limited_transmit, before) in [(true, vec![4, 5]), (false, vec![])] {
        let sent = after_a_loss(&Config { limited_transmit, ..four_segments() }, &[1]);
        let again = (1..sent.len()).find(|&i| sent[..i].iter().any(|one| one.1 == sent[i].1)).unwrap();
        assert_eq!(sent[again].1, 0);
        let new: Vec<u64> = sent[4..again].iter().map(|one| one.1).collect();
        assert_eq!(new, before, "{sent:?}");
    }
}

#[test]
fn without_rack_three_segments_above_prove_a_loss() {
    // The second of four segments is lost, so two are SACKed at 200 ms. RACK waits a quarter of the RTT longer (RFC
    // 8985 §6.2). By RFC 6675 §4 a third SACK is needed: data that the first ACK lets out brings it one RTT later.
    let times = |rack, lost: &[u64]| {
        let config = Config { rack, limited_transmit: false, tlp: false, ..four_segments() };
        let sent = after_a_loss(&config, lost);
        sent.iter().filter(|one| one.1 == 1).map(|one| one.0).collect::<Vec<_>>()
    };
    assert_eq!(times(true, &[2]), [100, 227]);
    assert_eq!(times(false, &[2]), [100, 300]);
    // A repetition that is lost, too: RACK sees that data of the next round trip arrived. Without it the timer ends.
    let [_, first, second] = times(true, &[2, 7])[..] else { panic!("three transmissions") };
    assert_eq!(second, 400, "{first}");
    let [_, first, second] = times(false, &[2, 7])[..] else { panic!("three transmissions") };
    assert_eq!(second - first, 100 + 200, "the RTT and the least of the deviations");
}

#[test]
fn byte_counting_doubles_the_window_whatever_the_acks() {
    // Every second segment is acknowledged: RFC 3465 doubles the window per round trip, RFC 5681 §3.1 adds half.
    let window = |byte_counting| {
        let config = Config { byte_counting, control: ControlKind::named("reno").unwrap(), ..Config::default() };
        let (receiver, writes) = (receiver::Config::default(), vec![(Time::ZERO, 1_000_000)]);
        let sent = sent_over(fast_path(&[]), &config, receiver, writes, Duration::from_millis(650));
        sent.iter().filter(|&&(.., len)| len > 0).count()
    };
    assert!(window(false) * 5 / 4 < window(true), "{} {}", window(false), window(true));
}
