//! Random paths, lists of outcomes and options: whatever happens, all data arrives and the sender's counts agree with
//! its ledger.

use skyhop_base::{Duration, Rate, Time};
use skyhop_tcp::path::{Endpoint, Events, Exchange, Outcomes, PathConfig};
use skyhop_tcp::receiver::{self, EcnEcho, Receiver};
use skyhop_tcp::segment::Segment;
use skyhop_tcp::sender::{self, Config, ControlKind, EcnMode, Estimator, Sender, Validation};
use skyhop_tcp::timer::Timers;
use std::fmt::Debug;

/// Splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A sending host whose counts are checked after each step.
struct Checked {
    host: sender::Host,
    seed: u64,
}

impl Checked {
    fn check(&self, now: Time) {
        let problem = self.host.sender.inconsistency();
        assert!(problem.is_none(), "seed {}, {now:?}: {}", self.seed, problem.unwrap_or_default());
    }
}

impl Endpoint for Checked {
    fn on_segment(&mut self, now: Time, segment: &Segment) {
        self.host.on_segment(now, segment);
        self.check(now);
    }

    fn on_timeout(&mut self, now: Time) {
        self.host.on_timeout(now);
        self.check(now);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.host.next_timeout()
    }

    fn transmit(&mut self, now: Time) -> Option<Segment> {
        self.host.transmit(now)
    }
}

fn outcomes(random: &mut Random) -> Outcomes {
    let mut list = Vec::new();
    let loss = random.below(15);
    for number in 1..400 {
        for class in ["D", "A"] {
            if !random.chance(loss) {
                continue;
            }
            list.push(match random.below(5) {
                0 => format!("{class}:{number}=delay:{}", 1 + random.below(300)),
                1 => format!("{class}:{number}=dup:{}", 1 + random.below(100)),
                2 if class == "D" => format!("{class}:{number}=ce"),
                _ => format!("{class}:{number}=drop"),
            });
        }
    }
    if random.chance(20) {
        list.push("S:1=drop".to_owned());
    }
    if random.chance(20) {
        list.push("Y:1=drop".to_owned());
    }
    Outcomes::parse(&list.join(";")).unwrap()
}

fn events(random: &mut Random) -> Events {
    let mut list = Vec::new();
    if random.chance(40) {
        let from = random.below(2000) as f64 / 1e3;
        let kind = if random.chance(50) { "hold" } else { "drop" };
        let direction = ["D", "A", "B"][random.below(3) as usize];
        list.push(format!("{kind}@{from}-{}:{direction}", from + random.below(1500) as f64 / 1e3 + 0.01));
    }
    if random.chance(30) {
        list.push(format!("delay@{}:B={}", random.below(2000) as f64 / 1e3, 1 + random.below(300)));
    }
    Events::parse(&list.join(";")).unwrap()
}

/// A connection over a path.
struct Case {
    seed: u64,
    sender: Config,
    receiver: receiver::Config,
    path: PathConfig,
    writes: Vec<(Time, u64)>,
    pause: Option<(Time, Time)>,
}

impl Case {
    fn bytes(&self) -> u64 {
        self.writes.iter().map(|&(_, bytes)| bytes).sum()
    }

    /// Runs to the end; returns the hosts, and when each segment entered the path.
    fn run(&self, sender: Sender, receiver: Receiver) -> (Sender, Receiver, Vec<(Time, Segment)>) {
        let host = sender::Host::new(sender, Time::ZERO, Duration::ZERO, self.writes.clone());
        let receiver = receiver::Host::new(receiver, self.pause);
        let mut exchange = Exchange::new(Checked { host, seed: self.seed }, receiver, self.path.clone());
        let mut segments = Vec::new();
        let end = Time::ZERO + Duration::from_secs(20_000);
        exchange.run(end, |crossing| segments.push((crossing.entered, crossing.segment)));
        let pair = exchange.pairs.remove(0);
        (pair.sender.host.sender, pair.receiver.receiver, segments)
    }
}

fn case(seed: u64) -> Case {
    let mut random = Random(seed);
    let on = |random: &mut Random| random.chance(75);
    let timestamps = on(&mut random);
    let sack = on(&mut random);
    let config = Config {
        mss: 200 + random.below(1300) as u32,
        timestamps,
        sack,
        dsack: on(&mut random),
        tlp: on(&mut random),
        frto: on(&mut random),
        undo: on(&mut random),
        ecn: [EcnMode::Off, EcnMode::On, EcnMode::Accurate][random.below(3) as usize],
        idle_restart: on(&mut random),
        nagle: on(&mut random),
        pacing: !on(&mut random),
        // Paced so slowly, probes and repetitions leave before the instants that pacing has set for them.
        pacing_ratios: if on(&mut random) { (200, 120) } else { (5, 35) },
        join_small: on(&mut random),
        limited_transmit: on(&mut random),
        prr: on(&mut random),
        rack: on(&mut random),
        window_validation: [Validation::Linux, Validation::Rfc7661, Validation::Off][random.below(3) as usize],
        byte_counting: on(&mut random),
        app_limited_marks: on(&mut random),
        estimator: if on(&mut random) { Estimator::Linux } else { Estimator::Rfc6298 },
        rack_adapts: on(&mut random),
        rack_duplicate_threshold: on(&mut random),
        min_burst: 1 + random.below(3) as u32,
        control: ControlKind::named(["reno", "cubic", "bbr"][random.below(3) as usize]).expect("a control"),
        seed,
        timers: if on(&mut random) {
            Timers::Wheel { first: random.below(64), phase: Duration::from_millis(2) }
        } else {
            Timers::Exact
        },
        ..Config::default()
    };
    let (mss, ecn, timers) = (config.mss, config.ecn != EcnMode::Off, config.timers);
    let echo = EcnEcho::for_control(config.control.ecn(), config.ecn);
    let mut writes = Vec::new();
    let mut at = Time::ZERO;
    for _ in 0..1 + random.below(20) {
        let write = 1 + random.below(40_000);
        writes.push((at, write));
        at += Duration::from_millis(random.below(400));
    }
    let buffer = random.chance(30).then(|| 4_000 + random.below(60_000));
    let receiver = receiver::Config { mss, sack, timestamps, ecn, echo, timers, buffer, ..receiver::Config::default() };
    let path = PathConfig {
        rate: Rate::from_bps(500_000 + random.below(20_000_000)).unwrap(),
        delay: Duration::from_millis(1 + random.below(300)),
        queues: [5 + random.below(200) as usize, 5 + random.below(200) as usize],
        outcomes: outcomes(&mut random),
        events: events(&mut random),
        syn_bytes: 60,
        turnaround: [Duration::ZERO; 2],
    };
    let from = Time::ZERO + Duration::from_millis(random.below(2000));
    let pause = random.chance(20).then(|| (from, from + Duration::from_millis(random.below(3000))));
    Case { seed, sender: config, receiver, path, writes, pause }
}

#[test]
fn all_data_arrives_on_any_path_with_any_options() {
    for seed in 0..3000 {
        let case = case(seed);
        let (sender, receiver) = (Sender::new(case.sender.clone()), Receiver::new(case.receiver.clone()));
        let (sender, receiver, _) = case.run(sender, receiver);
        assert_eq!(receiver.next_expected(), case.bytes() + 1, "seed {seed}: received");
        assert_eq!((sender.backlog(), sender.flow().packets_out), (0, 0), "seed {seed}: left");
    }
}

/// The state of a host in words, without what says whether it takes shortcuts.
fn state(host: &impl Debug) -> String {
    let mut words = format!("{host:?}");
    for name in ["shortcuts", "is_plain", "undisturbed"] {
        words = words.replace(&format!("{name}: true"), &format!("{name}: false"));
    }
    words
}

#[test]
fn shortcuts_for_usual_segments_change_nothing() {
    for seed in 1000..1300 {
        let mut case = case(seed);
        if seed % 3 == 0 {
            // A transfer that is mostly undisturbed.
            case.writes = vec![(Time::ZERO, 3_000_000)];
            case.path.outcomes = Outcomes::default();
        }
        let hosts = || (Sender::new(case.sender.clone()), Receiver::new(case.receiver.clone()));
        let (sender, receiver) = hosts();
        let short = case.run(sender, receiver);
        let (sender, receiver) = hosts();
        let whole = case.run(sender.without_shortcuts(), receiver.without_shortcuts());
        assert!(short.2 == whole.2, "seed {seed}: other segments");
        assert_eq!(state(&short.0), state(&whole.0), "seed {seed}: the sender");
        assert_eq!(state(&short.1), state(&whole.1), "seed {seed}: the receiver");
    }
}
