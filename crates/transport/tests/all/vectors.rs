//! The worked examples of `tests/vectors/algorithms_vectors.json` that belong to the endpoints.

use crate::support::pipe::Pipe;
use serde_json::{Value, json};
use skyhop_base::{Duration, Stream, Time};
use skyhop_transport::*;

struct Example(Value);

impl Example {
    fn named(name: &str) -> Example {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/algorithms_vectors.json");
        let text = std::fs::read_to_string(path).expect("the worked examples are part of the project");
        let all: Value = serde_json::from_str(&text).expect("the worked examples are JSON");
        let found = all["vectors"].as_array().expect("a list").iter().find(|v| v["name"] == name);
        Example(found.unwrap_or_else(|| panic!("no example {name}")).clone())
    }

    fn input(&self, key: &str) -> f64 {
        self.0["inputs"][key].as_f64().unwrap_or_else(|| panic!("no input {key}"))
    }

    fn inputs(&self, key: &str) -> Vec<f64> {
        numbers(&self.0["inputs"][key])
    }

    fn expected(&self, key: &str) -> f64 {
        self.0["expected"][key].as_f64().unwrap_or_else(|| panic!("no result {key}"))
    }

    fn rows(&self) -> &[Value] {
        self.0["expected"].as_array().expect("a list of results")
    }

    fn check(&self, what: &str, got: f64, expected: f64) {
        let tolerance = self.0["tolerance"].as_f64().unwrap_or(0.0).max(1e-12);
        assert!((got - expected).abs() <= tolerance, "{}: {what}: expected {expected}, got {got}", self.0["name"]);
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number")).collect()
}

fn tcp(profile: Profile, table: Value) -> TcpConfig {
    let spec: TcpSpec = serde_json::from_value(table).expect("a TCP");
    spec.resolve(profile).expect("a valid TCP")
}

fn settings(arithmetic: RttArithmetic, tick_s: f64, min_s: f64) -> RttSettings {
    RttSettings {
        arithmetic,
        tick: Duration::from_secs_f64(tick_s),
        rounding: TickRounding::Nearest,
        tick_phase: 0.0,
        initial: Duration::from_secs(3),
        min: Duration::from_secs_f64(min_s),
        max: Duration::from_secs(60),
        after_syn_timeout: None,
    }
}

fn sample(rtt: &mut RttEstimator, seconds: f64) {
    rtt.sample(Time::ZERO, Time::from_secs_f64(seconds));
}

#[test]
fn rto_of_rfc6298() {
    for name in ["rto_rfc6298_basic", "rto_rfc6298_floor"] {
        let example = Example::named(name);
        let min = example.input("min_rto_s");
        let mut rtt = RttEstimator::new(settings(RttArithmetic::Exact, example.input("clock_granularity_s"), min));
        for (r, row) in example.inputs("samples_s").into_iter().zip(example.rows()) {
            sample(&mut rtt, r);
            example.check("srtt", rtt.smoothed().unwrap().as_secs_f64(), row["srtt"].as_f64().unwrap());
            example.check("rttvar", rtt.variation().unwrap().as_secs_f64(), row["rttvar"].as_f64().unwrap());
            example.check("rto", rtt.timeout().as_secs_f64(), row["rto"].as_f64().unwrap());
        }
    }
}

#[test]
fn rto_of_linux() {
    for name in ["rto_linux_geo", "rto_linux_lan", "rto_linux_leo"] {
        let example = Example::named(name);
        let mut rtt = RttEstimator::new(settings(RttArithmetic::Linux, 0.001, example.input("rto_min_ms") / 1000.0));
        for (ms, row) in example.inputs("samples_ms").into_iter().zip(example.rows()) {
            sample(&mut rtt, ms / 1000.0);
            rtt.end_round(); // one sample per round
            let micros = |d: Duration| d.as_nanos() as f64 / 1000.0;
            example.check("srtt", micros(rtt.smoothed().unwrap()), row["srtt_us"].as_f64().unwrap());
            example.check("rttvar", micros(rtt.variation().unwrap()), row["rttvar_x4_us"].as_f64().unwrap());
            example.check("rto", micros(rtt.timeout()), row["rto_us"].as_f64().unwrap());
        }
    }
}

#[test]
fn rto_of_ns2() {
    for name in ["rto_ns2_tick", "rto_ns2_tick_500ms"] {
        let example = Example::named(name);
        let tick = example.input("tcpTick_s");
        let mut rtt = RttEstimator::new(settings(RttArithmetic::Ns2, tick, example.input("minrto_s")));
        for (r, row) in example.inputs("samples_s").into_iter().zip(example.rows()) {
            sample(&mut rtt, r);
            let scaled = |d: Option<Duration>, scale: f64| (d.unwrap().as_secs_f64() * scale / tick).round();
            example.check("t_srtt", scaled(rtt.smoothed(), 8.0), row["t_srtt"].as_f64().unwrap());
            example.check("t_rttvar", scaled(rtt.variation(), 4.0), row["t_rttvar"].as_f64().unwrap());
            example.check("rto", rtt.timeout().as_secs_f64(), row["rto_s"].as_f64().unwrap());
        }
    }
}

#[test]
fn rto_backs_off() {
    let example = Example::named("rto_backoff");
    for arithmetic in [RttArithmetic::Exact, RttArithmetic::Ns2] {
        let mut rtt = RttEstimator::new(settings(arithmetic, 0.1, 0.2));
        sample(&mut rtt, 0.5);
        example.check("start", rtt.timeout().as_secs_f64(), example.input("rto_s"));
        for expected in numbers(&example.0["expected"]["rto_sequence_s"]) {
            rtt.back_off();
            example.check("rto", rtt.timeout().as_secs_f64(), expected);
        }
    }
}

#[test]
fn initial_window() {
    let example = Example::named("initial_window");
    let expected = |key: &str| numbers(&example.0["expected"][key]);
    for (i, mss) in example.inputs("mss").into_iter().enumerate() {
        let mss = mss as u32;
        example.check("iw10", initial_window_rfc6928(mss).into(), expected("iw10")[i]);
        example.check("iw3390", initial_window_rfc3390(mss).into(), expected("iw3390")[i]);
        let config = tcp(Profile::Rfc, json!({ "name": "newreno", "mss": format!("{mss} B") }));
        let segments = expected("iw10")[i] as u32 / mss;
        assert_eq!(config.options.initial_window, segments, "the default of the rfc profile");
    }
}

/// Round trips until the window reaches `target`, not counting the handshake.
fn rounds_to(config: &TcpConfig, target: f64) -> u32 {
    const RTT_S: f64 = 10.0; // long, so that delayed ACKs end before the next round
    let mut pipe = Pipe::new(config, RTT_S, Supply::Unlimited, |_| false);
    (0..)
        .find(|&round| {
            pipe.run(RTT_S * f64::from(round + 1) + RTT_S / 2.0);
            pipe.sender.snapshot().cwnd >= target
        })
        .expect("the window grows")
}

#[test]
fn slow_start_rounds() {
    let example = Example::named("slow_start_rounds");
    let (iw, target) = (example.input("iw") as u32, example.input("target_segments"));
    let slow = |ack_every: u32| {
        tcp(
            Profile::Rfc,
            json!({ "name": "newreno", "initial_window": iw, "ack_every": ack_every, "ns2": { "growth": "per-ack" },
            "initial_rto": "50 s", "min_rto": "50 s" }),
        )
    };
    example.check("every packet", rounds_to(&slow(1), target).into(), example.expected("rounds_ack_every_packet"));
    let expected = example.expected("rounds_delayed_ack_packet_counting");
    example.check("delayed", rounds_to(&slow(2), target).into(), expected);
}

/// A sender with `count` segments in flight; everything before was acknowledged one by one.
struct Driven {
    sender: Sender,
    now: Time,
    sent: Vec<Segment>,
}

impl Driven {
    fn new(config: &TcpConfig) -> Driven {
        let mut sender = Sender::new(config, Stream::new(1, "driven", "tick"));
        sender.supply(Time::ZERO, Supply::Unlimited);
        sender.open(Time::ZERO);
        let mut driven = Driven { sender, now: Time::ZERO, sent: Vec::new() };
        driven.collect();
        driven
    }

    fn collect(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            self.sent.push(segment);
        }
    }

    fn ack(&mut self, next: u32, blocks: &[(u32, u32)]) {
        let mut reported = SackBlocks::EMPTY;
        blocks.iter().for_each(|&(start, end)| reported.push(start, end));
        let echo = self.now;
        self.now += Duration::from_millis(1);
        let ack = Ack {
            next,
            size: 40,
            echo,
            trigger: Transmission::First,
            answers: Priority::Normal,
            ecn_echo: false,
            blocks: reported,
        };
        self.sender.on_ack(self.now, &ack);
        self.collect();
    }

    fn window(&self) -> f64 {
        let snapshot = self.sender.snapshot();
        snapshot.cwnd + f64::from(snapshot.inflation)
    }
}

/// In flight: segments 1 to `flight`, with a window of that size.
fn in_flight(recovery: &str, flight: u32) -> Driven {
    let mut driven =
        Driven::new(&tcp(Profile::Rfc, json!({ "recovery": recovery, "control": "reno", "initial_window": flight })));
    driven.ack(1, &[]);
    assert_eq!(driven.sender.snapshot().in_flight, flight);
    driven
}

#[test]
fn abc_increment() {
    let example = Example::named("abc_increment");
    let smss = example.input("smss");
    let segments = (example.input("bytes_acked") / smss) as u32;
    for (l, expected) in
        example.inputs("L").into_iter().zip(numbers(&example.0["expected"]["slow_start_increment_bytes"]))
    {
        let mut driven = Driven::new(&tcp(
            Profile::Rfc,
            json!({ "name": "newreno", "mss": format!("{smss} B"), "growth_limit": l as u32, "initial_window": 10 }),
        ));
        driven.ack(1, &[]);
        let before = driven.window();
        driven.ack(1 + segments, &[]);
        example.check("increment", (driven.window() - before) * smss, expected);
    }
}

#[test]
fn reno_fast_recovery() {
    let example = Example::named("reno_fast_recovery");
    let flight = example.input("flight_size_segments") as u32;
    let mut driven = in_flight("reno", flight);
    (0..3).for_each(|_| driven.ack(1, &[]));
    example.check("ssthresh", driven.sender.snapshot().ssthresh, example.expected("ssthresh"));
    example.check("entry", driven.window(), example.expected("cwnd_on_entry"));
    (0..example.input("extra_dupacks_after_third") as u32).for_each(|_| driven.ack(1, &[]));
    example.check("inflated", driven.window(), example.expected("cwnd_after_extra_dupacks"));
    driven.ack(flight + 1, &[]);
    example.check("exit", driven.window(), example.expected("cwnd_on_exit"));
}

#[test]
fn newreno_partial_ack() {
    let example = Example::named("newreno_partial_ack");
    let mut driven = in_flight("newreno", 20);
    (0..13).for_each(|_| driven.ack(1, &[]));
    example.check("before", driven.window(), example.input("cwnd"));
    driven.ack(1 + example.input("segments_acked_by_partial_ack") as u32, &[]);
    example.check("after", driven.window(), example.expected("cwnd"));
}

#[test]
fn newreno_full_ack_exit() {
    let example = Example::named("newreno_full_ack_exit");
    let flight = example.input("flight_size") as u32;
    for (exit, key) in [("flight", "cwnd_option1"), ("threshold", "cwnd_option2")] {
        let config = tcp(Profile::Rfc, json!({ "name": "newreno", "initial_window": 20, "recovery_exit": exit }));
        let mut driven = Driven::new(&config);
        driven.ack(1, &[]);
        // The threshold is half of 20; more than the flight leaves after the cut, and all but that is acknowledged.
        (0..16).for_each(|_| driven.ack(1, &[]));
        example.check("ssthresh", driven.sender.snapshot().ssthresh, example.input("ssthresh"));
        let high = driven.sent.iter().map(|segment| segment.seq).max().unwrap() + 1;
        driven.sender.close(driven.now);
        driven.ack(high - flight, &[]);
        example.check(exit, driven.window(), example.expected(key));
    }
}

#[test]
fn tahoe_loss() {
    let example = Example::named("tahoe_loss");
    let mut driven = in_flight("tahoe", example.input("cwnd") as u32);
    (0..3).for_each(|_| driven.ack(1, &[]));
    example.check("ssthresh", driven.sender.snapshot().ssthresh, example.expected("ssthresh"));
    example.check("cwnd", driven.window(), example.expected("cwnd"));
    assert_eq!(driven.sent.last().map(|segment| segment.seq), Some(1), "slow start from the lost segment on");
}

#[test]
fn sack_pipe() {
    let example = Example::named("sack_pipe");
    let outstanding = example.inputs("outstanding_segments");
    let (una, high) = (outstanding[0] as u32, *outstanding.last().unwrap() as u32 + 1);
    let threshold = example.input("dupthresh") as u32;
    let mut scoreboard = Scoreboard::default();
    for seq in example.inputs("sacked") {
        let mut block = SackBlocks::EMPTY;
        block.push(seq as u32, seq as u32 + 1);
        assert_eq!(scoreboard.record(una, &block), 1);
    }
    let is_lost = |&seq: &u32| seq < scoreboard.lost_below(threshold) && scoreboard.first_missing(seq) == seq;
    let lost: Vec<f64> = (una..high).filter(is_lost).map(f64::from).collect();
    assert_eq!(lost, numbers(&example.0["expected"]["lost"]));
    let pipe = f64::from(scoreboard.pipe(una, high, threshold));
    example.check("before", pipe, example.expected("pipe_before_retransmit"));
    example.inputs("retransmitted_then").into_iter().for_each(|seq| scoreboard.mark_retransmitted(seq as u32));
    let pipe = f64::from(scoreboard.pipe(una, high, threshold));
    example.check("after", pipe, example.expected("pipe_after_retransmit_1"));
}

#[test]
fn delayed_ack() {
    let example = Example::named("delayed_ack");
    let config = tcp(
        Profile::Rfc,
        json!({ "name": "newreno", "handshake": "none", "ack_every": example.input("ack_every") as u32,
            "ack_delay": format!("{} s", example.input("timeout_s")) }),
    );
    let mut receiver = Receiver::new(&config);
    let mut got = Vec::new();
    let mut poll = |receiver: &mut Receiver, now: Time| {
        if receiver.poll_ack(now).is_some() {
            got.push(now.as_secs_f64());
        }
    };
    // Segment 0 is answered at once; the arrivals of the example come after it.
    let first = Segment {
        seq: 0,
        size: 1500,
        payload: 1460,
        transmission: Transmission::First,
        priority: Priority::Normal,
        ecn: Ecn::NotCapable,
        window_reduced: false,
    };
    receiver.on_segment(Time::ZERO, &first, Time::ZERO);
    assert!(receiver.poll_ack(Time::ZERO).is_some());
    for (i, arrival) in example.inputs("arrivals_s").into_iter().enumerate() {
        let now = Time::from_secs_f64(arrival);
        while receiver.next_timeout() < now {
            let due = receiver.next_timeout();
            receiver.on_timeout(due);
            poll(&mut receiver, due);
        }
        let segment = Segment { seq: i as u32 + 1, ..first };
        receiver.on_segment(now, &segment, now);
        poll(&mut receiver, now);
    }
    let expected = numbers(&example.0["expected"]["ack_times_s"]);
    assert_eq!(got.len(), expected.len());
    got.iter().zip(expected).for_each(|(&got, expected)| example.check("ack", got, expected));
}

#[test]
fn ns2_start() {
    let example = Example::named("ns2_start");
    let (window, size) = (example.input("window"), example.input("packetSize"));
    for (name, key) in [("reno", "Reno"), ("vegas", "Vegas")] {
        let expected = &example.0["expected"][key];
        let config = tcp(Profile::Ns2, json!({ "name": name, "window": window as u32, "mss": format!("{size} B") }));
        let mut driven = Driven::new(&config);
        let number = |key: &str| expected[key].as_f64().unwrap();
        example.check("ssthresh", driven.sender.snapshot().ssthresh, example.expected("initial_ssthresh"));
        example.check("before the first ACK", driven.sent.len() as f64, number("segments_sent_before_first_ack"));
        example.check("first packet", driven.sent[0].size.into(), number("first_packet_bytes"));
        driven.ack(1, &[]);
        example.check("cwnd after ACK of 0", driven.window(), number("cwnd_after_ack_of_0"));
        example.check("data packet", driven.sent[1].size.into(), number("data_packet_bytes"));
        if let Some(cwnd) = expected["cwnd_after_ack_of_1"].as_f64() {
            driven.ack(2, &[]);
            example.check("cwnd after ACK of 1", driven.window(), cwnd);
        }
    }
}

#[test]
fn short_transfer_rounds() {
    let example = Example::named("short_transfer_rounds");
    let (mss, iw) = (example.input("mss"), example.input("iw") as u32);
    let config = tcp(
        Profile::Rfc,
        json!({ "name": "newreno", "mss": format!("{mss} B"), "initial_window": iw, "ack_every": 1 }),
    );
    let supply = Supply::Bytes(example.input("bytes") as u64);
    let mut pipe = Pipe::new(&config, example.input("rtt_s"), supply, |_| false);
    pipe.run(100.0);
    assert!(pipe.sender.is_finished());
    example.check("completion", pipe.now.as_secs_f64(), example.expected("completion_s"));
    let data_segments = pipe.sender.counters().segments - 1;
    example.check("segments", data_segments as f64, example.expected("segments"));
    assert_eq!(pipe.receiver.counters().payload_bytes, example.input("bytes") as u64, "the last segment is short");
}

#[test]
fn periodic_loss_follows_the_square_root() {
    // One loss in 1/p segments, an ACK for each: W = sqrt(1.5 / p). The model neglects the round of recovery.
    let model = Example::named("throughput_model");
    let average = Example::named("reno_average_window");
    let (rtt, loss) = (model.input("rtt_s"), model.input("loss"));
    let period = (1.0 / loss).round() as u32;
    let config = tcp(
        Profile::Rfc,
        json!({ "name": "sack", "mss": format!("{} B", model.input("mss")), "ack_every": 1, "initial_ssthresh": 60 }),
    );
    let lose = |segment: &Segment| segment.transmission == Transmission::First && segment.seq % period == period - 1;
    let mut pipe = Pipe::new(&config, rtt, Supply::Unlimited, lose);
    pipe.run(60.0 * 60.0);
    let seconds = pipe.now.as_secs_f64();
    let window = pipe.window_seconds / seconds / average.expected("W_avg");
    assert!((0.95..1.05).contains(&window), "mean window {window} of the formula");
    let bps = pipe.receiver.counters().payload_bytes as f64 * 8.0 / seconds / model.expected("bps");
    assert!((0.95..1.05).contains(&bps), "throughput {bps} of the formula");
}

#[test]
fn rate_halving() {
    // The first of 20 segments is lost. Recovery begins when three are reported, and counts from there.
    let example = Example::named("rate_halving");
    let (prior, acks) = (example.input("prior_cwnd"), example.input("acks") as u32);
    let windows = numbers(&example.0["expected"]["cwnd_after_each_ack"]);
    let table = json!({
        "name": "fack", "rate_halving": "on", "ack_every": 1, "initial_window": prior as u32, "initial_ssthresh": 1e6,
        // The example halves the window; by RFC 5681 eq. 4 the two segments sent on duplicate ACKs would count, too.
        "ns2": { "threshold_base": "window" },
    });
    let mut sender = Sender::new(&tcp(Profile::Rfc, table), Stream::new(1, "test", "tick"));
    let ack = |next, reported: u32| {
        let mut blocks = SackBlocks::EMPTY;
        if reported > 0 {
            blocks.push(2, 2 + reported);
        }
        let (trigger, answers) = (Transmission::First, Priority::Normal);
        Ack { next, size: 40, echo: Time::ZERO, trigger, answers, ecn_echo: false, blocks }
    };
    let now = Time::from_secs_f64(0.1);
    sender.supply(Time::ZERO, Supply::Unlimited);
    sender.open(Time::ZERO);
    let drain = |sender: &mut Sender| std::iter::from_fn(|| sender.poll_transmit(now)).count() as u32;
    assert_eq!(drain(&mut sender), 1);
    sender.on_ack(now, &ack(1, 0));
    assert_eq!(drain(&mut sender), prior as u32);
    for reported in 1..=3 {
        sender.on_ack(now, &ack(1, reported));
        drain(&mut sender);
    }
    assert_eq!(sender.cwnd(), prior);
    for covered in 1..=acks {
        sender.on_ack(now, &ack(1, 3 + covered));
        example.check(&format!("after {covered}"), sender.cwnd(), windows[covered as usize - 1]);
        drain(&mut sender);
    }
}
