//! What Peach, ECN, pacing and rate halving add.

use crate::support::pipe::Pipe;
use crate::support::sender::{ack, drain};
use serde_json::{Value, json};
use skyhop_base::{Duration, Stream, Time};
use skyhop_transport::*;

fn example(name: &str) -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/algorithms_vectors.json");
    let text = std::fs::read_to_string(path).expect("the worked examples are part of the project");
    let all: Value = serde_json::from_str(&text).expect("the worked examples are JSON");
    all["vectors"].as_array().expect("a list").iter().find(|v| v["name"] == name).expect("the example").clone()
}

fn resolved(profile: Profile, table: Value) -> TcpConfig {
    let spec: TcpSpec = serde_json::from_value(table).expect("a TCP");
    spec.resolve(profile).expect("a valid TCP")
}

fn tcp(table: Value) -> TcpConfig {
    resolved(Profile::Rfc, table)
}

fn opened(config: &TcpConfig) -> Sender {
    let mut sender = Sender::new(config, Stream::new(1, "test", "tick"));
    sender.supply(Time::ZERO, Supply::Unlimited);
    sender.open(Time::ZERO);
    assert_eq!(drain(&mut sender, Time::ZERO).len(), 1);
    sender
}

#[test]
fn sudden_start_fills_the_first_round_trip() {
    let example = example("peach_sudden_start");
    let (rwnd, rtt) = (example["inputs"]["rwnd"].as_u64().unwrap(), example["inputs"]["rtt_s"].as_f64().unwrap());
    let expected = &example["expected"];
    let mut sender = opened(&tcp(json!({ "name": "peach", "window": rwnd, "ack_every": 1 })));
    let now = Time::from_secs_f64(rtt);
    sender.on_ack(now, &ack(1));
    assert_eq!(drain(&mut sender, now).len(), 1, "one segment, then dummies");
    let mut times = Vec::new();
    while sender.next_timeout() < Time::from_secs_f64(2.0 * rtt) {
        let at = sender.next_timeout();
        sender.on_timeout(at);
        for segment in drain(&mut sender, at) {
            assert_eq!((segment.priority, segment.seq), (Priority::Low, 1), "a copy of the last segment");
            times.push(at);
        }
    }
    assert_eq!(times.len() as u64, expected["dummies"].as_u64().unwrap());
    assert!((times[0].since(now).as_secs_f64() - expected["tau_s"].as_f64().unwrap()).abs() < 1e-8);
    let later = Time::from_secs_f64(2.0 * rtt + 0.01);
    for _ in &times {
        sender.on_ack(later, &Ack { answers: Priority::Low, ..ack(1) });
        drain(&mut sender, later);
    }
    assert_eq!(sender.snapshot().cwnd, expected["cwnd_if_all_acked"].as_f64().unwrap());
    assert_eq!(sender.counters().duplicate_acks, 0, "acknowledged dummies do not count as duplicate ACKs");
}

/// Mean window over a long clean stretch after one loss, for a path that drops nothing else.
fn goodput_after_a_loss(name: &str) -> u64 {
    let config = tcp(json!({ "name": name, "ack_every": 1, "window": 40 }));
    let lose = |segment: &Segment| segment.seq == 500 && segment.transmission == Transmission::First;
    let mut pipe = Pipe::new(&config, 0.5, Supply::Unlimited, lose);
    pipe.run(15.0);
    pipe.receiver.counters().payload_bytes / 1460
}

#[test]
fn peach_recovers_a_random_loss_in_a_round_trip() {
    // Akyildiz et al. §IV: after a loss that is not congestion the window is back after a round trip; Reno needs W/2.
    let (reno, peach) = (goodput_after_a_loss("newreno"), goodput_after_a_loss("peach"));
    assert!((reno + 60..reno + 200).contains(&peach), "{peach} segments against {reno}");
}

#[test]
fn a_mark_cuts_once_per_window_and_is_answered() {
    // RFC 3168 §6.1.2, §6.1.3.
    let config = tcp(json!({ "name": "newreno", "ecn": "on", "initial_window": 20, "ack_every": 1 }));
    let mut sender = opened(&config);
    let now = Time::from_secs_f64(0.1);
    sender.on_ack(now, &ack(1));
    let sent = drain(&mut sender, now);
    assert!(sent.iter().all(|segment| segment.ecn == Ecn::Capable && !segment.window_reduced));
    let marked = |next| Ack { ecn_echo: true, ..ack(next) };
    for next in 2..=21 {
        sender.on_ack(now, &marked(next));
        drain(&mut sender, now);
    }
    assert_eq!((sender.snapshot().cwnd, sender.counters().window_cuts), (10.0, 1));
    // 22 was sent after the cut: another mark on it is news.
    sender.on_ack(now, &marked(22));
    assert_eq!((sender.snapshot().cwnd, sender.counters().window_cuts), (5.0, 2));
}

#[test]
fn the_receiver_echoes_until_the_window_was_reduced() {
    let config = tcp(json!({ "name": "newreno", "ecn": "on", "ack_every": 1 }));
    let mut receiver = Receiver::new(&config);
    let mut echo = |seq: u32, ecn: Ecn, window_reduced: bool| {
        let transmission = Transmission::First;
        let segment =
            Segment { seq, size: 1500, payload: 1460, transmission, priority: Priority::Normal, ecn, window_reduced };
        receiver.on_segment(Time::ZERO, &segment, Time::ZERO);
        receiver.poll_ack(Time::ZERO).expect("an ACK").ecn_echo
    };
    assert!(!echo(0, Ecn::NotCapable, false));
    assert!(echo(1, Ecn::Experienced, false));
    assert!(echo(2, Ecn::Capable, false));
    assert!(!echo(3, Ecn::Capable, true));
    assert!(echo(4, Ecn::Experienced, true), "a mark on the segment with CWR is new");
}

#[test]
fn a_timeout_ends_the_echo_of_a_mark() {
    // RFC 3168 §6.1.2: an ACK that echoes grows nothing, so the receiver must learn of the cut before all is repaired.
    let mut sender = opened(&tcp(json!({ "name": "newreno", "ecn": "on", "initial_window": 20, "ack_every": 1 })));
    let now = Time::from_secs_f64(0.1);
    sender.on_ack(now, &ack(1));
    assert!(drain(&mut sender, now).iter().all(|segment| segment.ecn == Ecn::Capable && !segment.window_reduced));
    let expired = sender.next_timeout();
    sender.on_timeout(expired);
    let again = drain(&mut sender, expired);
    let seen: Vec<_> = again.iter().map(|segment| (segment.seq, segment.ecn, segment.window_reduced)).collect();
    assert_eq!(seen, [(1, Ecn::NotCapable, true)]);
    sender.on_ack(expired, &ack(2));
    assert!(drain(&mut sender, expired).iter().all(|segment| !segment.window_reduced), "once");
}

#[test]
fn a_loss_after_a_mark_takes_the_deeper_cut() {
    // RFC 8511 §3: with ABE a mark leaves 0.8; a loss in the same window has to leave 0.5 of the window before.
    let control = json!({ "reno": { "ecn_decrease": 0.8 } });
    let config = tcp(json!({
        "recovery": "newreno", "control": control, "ecn": "on",
        "initial_window": 20, "ns2": { "threshold_base": "window" },
    }));
    let mut sender = opened(&config);
    let now = Time::from_secs_f64(0.1);
    sender.on_ack(now, &ack(1));
    drain(&mut sender, now);
    sender.on_ack(now, &Ack { ecn_echo: true, ..ack(2) });
    assert_eq!(sender.snapshot().cwnd, 16.0);
    for _ in 0..3 {
        sender.on_ack(now, &ack(2));
        drain(&mut sender, now);
    }
    assert_eq!(sender.snapshot().ssthresh, 10.0);
}

#[test]
fn windows_are_spread_over_the_round_trip() {
    let example = example("pacing_linux");
    let inputs = &example["inputs"];
    let (cwnd, mss) = (inputs["cwnd"].as_f64().unwrap(), inputs["mss"].as_u64().unwrap() as u32);
    let srtt = Duration::from_secs_f64(inputs["srtt_s"].as_f64().unwrap());
    for (early, rate) in [(EarlySlowStart::Yes, "ss_rate_Bps"), (EarlySlowStart::No, "ca_rate_Bps")] {
        let got = window_pacing_rate(cwnd, mss, srtt, early).expect("a rate").bps_f64() / 8.0;
        assert!((got - example["expected"][rate].as_f64().unwrap()).abs() < 1.0, "{rate}: {got}");
    }
    // Ten segments of 1500 B at 2 · 10 · 1460 B per 100 ms leave 1500 / 1460 · 5 ms apart.
    let mut sender = opened(&tcp(json!({ "name": "newreno", "pacing": "always" })));
    let mut now = Time::from_secs_f64(0.1);
    sender.on_ack(now, &ack(1));
    let mut times = Vec::new();
    for _ in 0..10 {
        for _ in drain(&mut sender, now) {
            times.push(now.as_secs_f64());
        }
        now = sender.next_timeout();
        sender.on_timeout(now);
    }
    for (i, time) in times.iter().enumerate() {
        assert!((time - (0.1 + i as f64 * 0.005 * 1500.0 / 1460.0)).abs() < 1e-6, "{times:?}");
    }
    assert_eq!(times.len(), 10);
}

#[test]
fn a_window_that_is_spread_grows() {
    // Spread evenly, a window is never quite in flight; Hybla at 560 ms adds ρ² = 500 to it in a round trip (its §3.2).
    let config = tcp(json!({ "name": "hybla", "initial_ssthresh": 20.0, "window": 5_000 }));
    let mut pipe = Pipe::new(&config, 0.56, Supply::Unlimited, |_| false);
    pipe.run(8.0);
    assert!(pipe.sender.cwnd() > 2_000.0, "{}", pipe.sender.cwnd());
    // What the application does not fill does not grow, paced or not.
    let config = tcp(json!({ "name": "newreno", "pacing": "always" }));
    let mut pipe = Pipe::new(&config, 0.1, Supply::Segments(5), |_| false);
    for _ in 0..50 {
        pipe.run(1e3);
        pipe.sender.supply(pipe.now, Supply::Segments(5));
        pipe.send();
    }
    assert!(pipe.sender.cwnd() <= 12.0, "{}", pipe.sender.cwnd());
}

#[test]
fn fack_halves_its_rate_over_a_round_trip() {
    // Rate halving sends a segment per two covered; without it nothing leaves for half a round trip. Both end equal.
    let run = |halving: &str| {
        let config = tcp(json!({ "name": "fack", "rate_halving": halving, "ack_every": 1, "window": 40 }));
        let lose = |segment: &Segment| segment.seq == 200 && segment.transmission == Transmission::First;
        let mut pipe = Pipe::new(&config, 0.1, Supply::Segments(1000), lose);
        pipe.run(100.0);
        let counters = *pipe.sender.counters();
        assert_eq!((counters.retransmissions, counters.timeouts), (1, 0));
        pipe.now.as_secs_f64()
    };
    let (on, off) = (run("on"), run("off"));
    assert!((on - off).abs() < 0.35, "{on} against {off}");
}
