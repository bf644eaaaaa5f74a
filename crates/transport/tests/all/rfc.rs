//! Small scenarios whose course the RFCs fix: every test names the paragraph.

use crate::support::pipe::Pipe;
use crate::support::sender::{ack, ack_with, drain};
use serde_json::{Value, json};
use skyhop_base::{Duration, Stream, Time};
use skyhop_transport::*;

const RTT_S: f64 = 0.1;

fn tcp(table: Value) -> TcpConfig {
    let spec: TcpSpec = serde_json::from_value(table).expect("a TCP");
    spec.resolve(Profile::Rfc).expect("a valid TCP")
}

/// Loses the first transmission of the given segments.
fn lose_once(lost: &'static [u32]) -> impl FnMut(&Segment) -> bool {
    move |segment| segment.transmission == Transmission::First && lost.contains(&segment.seq)
}

/// A transfer of `segments` over a clean path with the given first transmissions lost; its time and counters.
fn transfer(table: Value, segments: u32, lost: &'static [u32]) -> (f64, SenderCounters, ReceiverCounters) {
    let mut pipe = Pipe::new(&tcp(table), RTT_S, Supply::Segments(segments), lose_once(lost));
    pipe.run(1000.0);
    assert!(pipe.sender.is_finished(), "the transfer ends");
    (pipe.now.as_secs_f64(), *pipe.sender.counters(), *pipe.receiver.counters())
}

#[test]
fn everything_arrives_whatever_is_lost() {
    for name in TcpSpec::names() {
        for lost in [&[0][..], &[1], &[2, 3, 4], &[10, 12, 14, 16, 18, 20], &[100], &[99, 100], &[0, 1, 50, 100]] {
            let mut pipe = Pipe::new(&tcp(json!({ "name": name })), RTT_S, Supply::Segments(100), lose_once(lost));
            pipe.run(1000.0);
            assert!(pipe.sender.is_finished(), "{name} without {lost:?}");
            assert_eq!(pipe.receiver.counters().payload_bytes, 146_000, "{name} without {lost:?}");
            let counters = pipe.sender.counters();
            // NIL segments of Peach+ repair too.
            assert!(counters.retransmissions + counters.probes >= lost.len() as u64, "{name} without {lost:?}");
        }
    }
}

#[test]
fn one_loss_costs_sack_no_timeout_and_one_retransmission() {
    // RFC 6675 §5: repaired by fast retransmit.
    for name in ["reno", "newreno", "sack"] {
        let (_, sender, _) = transfer(json!({ "name": name, "ack_every": 1 }), 400, &[40]);
        assert_eq!((sender.timeouts, sender.retransmissions, sender.fast_retransmits), (0, 1, 1), "{name}");
    }
}

#[test]
fn sack_repairs_many_holes_in_a_round_trip_and_newreno_one() {
    // RFC 6675 §5 step (C); RFC 6582 §3.2 step 3: a hole per partial ACK.
    const LOST: &[u32] = &[31, 33, 35, 37, 39, 41];
    let round_trips = |name: &str| {
        let config = tcp(json!({ "name": name, "ack_every": 1 }));
        let mut pipe = Pipe::new(&config, RTT_S, Supply::Segments(400), lose_once(LOST));
        pipe.run(100.0);
        let counters = pipe.sender.counters();
        assert_eq!((counters.timeouts, counters.retransmissions, counters.fast_retransmits), (0, 6, 1), "{name}");
        pipe.recovery_s / RTT_S
    };
    // SACK leaves as soon as the last hole, sent again when half of the window has drained, is filled.
    assert!((1.0..2.0).contains(&round_trips("sack")));
    assert!((5.9..6.1).contains(&round_trips("newreno")));
}

#[test]
fn the_tail_is_repaired_by_the_rescue_retransmission() {
    // RFC 6675 §4 NextSeg (4): 90 starts recovery, 100 is the last segment and nothing after it can report it.
    let (_, sender, _) = transfer(json!({ "name": "sack", "ack_every": 1 }), 100, &[90, 100]);
    assert_eq!((sender.timeouts, sender.retransmissions), (0, 2));
}

#[test]
fn a_lost_tail_waits_for_the_timer() {
    // RFC 6298 §2.4: at least 1 s after the last ACK.
    let (clean, ..) = transfer(json!({ "name": "sack", "ack_every": 1 }), 100, &[]);
    let (time, sender, _) = transfer(json!({ "name": "sack", "ack_every": 1 }), 100, &[100]);
    assert_eq!((sender.timeouts, sender.retransmissions), (1, 1));
    assert!((1.0..1.1 + 1e-6).contains(&(time - clean)), "{time} instead of {clean}");
}

fn segments(sender: &mut Sender, now: Time) -> Vec<u32> {
    drain(sender, now).iter().map(|segment| segment.seq).collect()
}

fn opened(table: Value) -> Sender {
    let mut sender = Sender::new(&tcp(table), Stream::new(1, "test", "tick"));
    sender.supply(Time::ZERO, Supply::Unlimited);
    sender.open(Time::ZERO);
    assert_eq!(segments(&mut sender, Time::ZERO), [0]);
    sender
}

#[test]
fn limited_transmit_creates_the_third_duplicate() {
    // RFC 3042: cwnd = flight = 4, one loss; two duplicate ACKs release two new segments.
    for (name, limited, sent) in [
        ("newreno", "on", [vec![5], vec![6], vec![1]]),
        ("newreno", "off", [vec![], vec![], vec![1, 5]]),
        ("sack", "on", [vec![5], vec![6], vec![1]]),
        // SACKed segments count in flight until a loss is proved, and not any more in the recovery.
        ("sack", "off", [vec![], vec![], vec![1, 5]]),
        ("cubic", "off", [vec![], vec![], vec![1, 5]]),
    ] {
        let mut sender = opened(json!({ "name": name, "initial_window": 4, "limited_transmit": limited }));
        let now = Time::from_secs_f64(RTT_S);
        sender.on_ack(now, &ack(1));
        assert_eq!(segments(&mut sender, now), [1, 2, 3, 4]);
        for (end, expected) in (3..).zip(sent) {
            let reports = [(2, end)];
            sender.on_ack(now, &ack_with(1, if name == "newreno" { &[] } else { &reports }));
            assert_eq!(segments(&mut sender, now), expected, "{name}, limited transmit {limited}");
        }
        // Without it the inflated window (RFC 5681 §3.2 step 3) releases 5 with the retransmission. The extra
        // segments do not count in the flight that is halved.
        assert_eq!(sender.snapshot().ssthresh, if name == "cubic" { 2.8 } else { 2.0 }, "{name}");
    }
}

#[test]
fn a_lost_syn_doubles_the_timer_then_starts_slowly() {
    // RFC 6298 §2.1, §5.5: 1 s, 2 s; §5.7: 3 s for data; RFC 5681 §3.1: initial window of one segment.
    let mut sender = opened(json!({ "name": "newreno" }));
    for expected in [1.0, 3.0] {
        let now = sender.next_timeout();
        assert_eq!(now, Time::from_secs_f64(expected));
        sender.on_timeout(now);
        assert_eq!(segments(&mut sender, now), [0]);
    }
    let now = Time::from_secs_f64(3.1);
    sender.on_ack(now, &ack(1));
    assert_eq!(segments(&mut sender, now), [1]);
    assert_eq!(sender.snapshot().rto, Duration::from_secs(3));
}

#[test]
fn a_second_timeout_keeps_the_threshold() {
    // RFC 5681 §3.1 eq. 4: only for the first timeout of a segment; §3.1: loss window of one segment.
    let mut sender = opened(json!({ "name": "newreno", "initial_window": 20 }));
    sender.on_ack(Time::from_secs_f64(RTT_S), &ack(1));
    assert_eq!(segments(&mut sender, Time::from_secs_f64(RTT_S)).len(), 20);
    for _ in 0..3 {
        let now = sender.next_timeout();
        sender.on_timeout(now);
        assert_eq!(segments(&mut sender, now), [1]);
        assert_eq!((sender.snapshot().ssthresh, sender.snapshot().cwnd), (10.0, 1.0));
    }
}

#[test]
fn what_the_receiver_holds_is_not_cut_again() {
    // RFC 5681 eq. 4: the data in the network. Segment 1 and its retransmission are lost, and the receiver reports all
    // that comes for two windows: FlightSize is then several windows, most of which has arrived.
    for name in ["newreno", "sack", "fack"] {
        let mut sender = opened(json!({ "name": name, "initial_window": 40 }));
        let now = Time::from_secs_f64(RTT_S);
        sender.on_ack(now, &ack(1));
        assert_eq!(segments(&mut sender, now).len(), 40);
        for arrived in 2..120 {
            let reported = if name == "newreno" { ack(1) } else { ack_with(1, &[(2, arrived + 1)]) };
            sender.on_ack(now, &reported);
            drain(&mut sender, now);
        }
        let (before, sent) = (sender.snapshot(), sender.counters().segments);
        assert_eq!((before.ssthresh, before.cwnd), (20.0, 20.0), "{name}");
        assert!(sent > 100, "{name}: {sent} segments have left");
        sender.on_timeout(sender.next_timeout());
        assert_eq!((sender.snapshot().ssthresh, sender.snapshot().cwnd), (10.0, 1.0), "{name}");
    }
}

#[test]
fn a_sender_without_data_cuts_what_it_had_in_flight() {
    // RFC 5681 §3.1, implementation note: FlightSize and not cwnd, which may be larger than what was used.
    let mut sender = Sender::new(&tcp(json!({ "name": "sack", "initial_window": 40 })), Stream::new(1, "test", "tick"));
    sender.supply(Time::ZERO, Supply::Segments(12));
    sender.open(Time::ZERO);
    drain(&mut sender, Time::ZERO);
    let now = Time::from_secs_f64(RTT_S);
    sender.on_ack(now, &ack(1));
    assert_eq!(segments(&mut sender, now).len(), 12);
    sender.on_ack(now, &ack_with(1, &[(2, 6)]));
    assert_eq!(sender.snapshot().ssthresh, 6.0);
}

#[test]
fn idle_senders_restart() {
    // RFC 5681 §4.1: nothing sent for an RTO: min(IW, cwnd).
    let config = tcp(json!({ "name": "newreno", "ack_every": 1 }));
    let mut pipe = Pipe::new(&config, RTT_S, Supply::Segments(500), |_| false);
    pipe.run(100.0);
    assert!(pipe.sender.snapshot().cwnd > 100.0);
    assert_eq!(pipe.sender.next_timeout(), Time::MAX, "RFC 6298 §5.2: the timer stops");
    let later = pipe.now + Duration::from_secs(2);
    pipe.sender.supply(later, Supply::Segments(500));
    assert_eq!(segments(&mut pipe.sender, later).len(), 10);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    // RFC 7661 §4.1 and its predecessors: limited by the receiver, not by the network.
    let run = |growth_when: &str| {
        let table = json!({ "name": "newreno", "window": 20, "ns2": { "growth_when": growth_when } });
        let mut pipe = Pipe::new(&tcp(table), RTT_S, Supply::Unlimited, |_| false);
        pipe.run(10.0);
        pipe.sender.snapshot().cwnd
    };
    assert!((20.0..23.0).contains(&run("window-used")));
    assert!(run("always") > 100.0);
}

#[test]
fn an_ack_of_two_windows_grows_the_window_once() {
    // RFC 3465 §2.1: acknowledged bytes count until they fill one window, and the window grows by one segment.
    let mut sender = opened(json!({ "name": "reno", "initial_window": 100, "initial_ssthresh": 2, "ecn": "on" }));
    let now = Time::from_secs_f64(RTT_S);
    sender.on_ack(now, &ack(1));
    assert_eq!(segments(&mut sender, now).len(), 100);
    // A mark halves the window while a hundred segments are in flight.
    sender.on_ack(now, &Ack { ecn_echo: true, ..ack(2) });
    let halved = sender.snapshot().cwnd;
    sender.on_ack(now, &ack(101));
    let grown = sender.snapshot().cwnd - halved;
    assert!((45.0..55.0).contains(&halved) && (grown - 1.0).abs() < 1e-9, "{halved}, then {grown} more");
}

#[test]
fn data_in_parts_keeps_its_bytes() {
    let config = tcp(json!({ "name": "newreno", "mss": "1000 B" }));
    let mut pipe = Pipe::new(&config, RTT_S, Supply::Bytes(2500), lose_once(&[3]));
    pipe.run(100.0);
    let sent = |sender: &Sender| sender.counters().segments;
    assert_eq!((sent(&pipe.sender), pipe.receiver.counters().payload_bytes), (1 + 3 + 1, 2500));
    pipe.sender.supply(pipe.now, Supply::Bytes(1200));
    let now = pipe.now;
    let payload: Vec<u32> = std::iter::from_fn(|| pipe.sender.poll_transmit(now)).map(|s| s.payload).collect();
    assert_eq!(payload, [1000, 200]);
}

#[test]
fn names_and_tables_are_read_and_wrong_ones_are_named() {
    let read = |value: Value| serde_json::from_value::<TcpSpec>(value).map_err(|error| error.to_string());
    assert!(read(json!("vegas")).is_ok());
    assert!(read(json!({ "recovery": "sack", "control": { "bic": { "beta": 0.8 } }, "mss": "1448 B" })).is_ok());
    let message = read(json!("new-reno")).unwrap_err();
    assert!(message.contains("new-reno") && message.contains("`newreno`"), "{message}");
    let message = read(json!({ "recovery": "sack", "inital_window": 10 })).unwrap_err();
    assert!(message.contains("inital_window") && message.contains("initial_window"), "{message}");
    let message = read(json!({ "control": { "bic": { "gamma": 1 } } })).unwrap_err();
    assert!(message.contains("gamma") && message.contains("beta"), "{message}");
    for (table, option) in [
        (json!({ "name": "reno", "window": 0 }), "window"),
        (json!({ "name": "reno", "mss": "0 B" }), "mss"),
        (json!({ "name": "reno", "min_rto": "90 s" }), "min_rto"),
        (json!({ "name": "reno", "initial_window": 100_001 }), "initial_window"),
        (json!({ "name": "reno", "ns2": { "opening_loss_window": 300_000_000 } }), "opening_loss_window"),
        (json!({ "control": { "bic": { "beta": 1.5 } } }), "beta"),
        (json!({ "control": { "vegas": { "alpha": 5.0, "beta": 3.0 } } }), "beta"),
    ] {
        let error = read(table.clone()).unwrap().resolve(Profile::Rfc).unwrap_err().to_string();
        assert!(error.contains(option), "{table}: {error}");
    }
}

#[test]
fn the_profile_fills_what_is_left_out() {
    let resolve = |table: Value, profile| serde_json::from_value::<TcpSpec>(table).unwrap().resolve(profile).unwrap();
    let rfc = resolve(json!("reno"), Profile::Rfc).options;
    assert_eq!((rfc.initial_window, rfc.initial_rto, rfc.ack_every), (10, Duration::from_secs(1), 2));
    let ns2 = resolve(json!("reno"), Profile::Ns2).options;
    assert_eq!((ns2.initial_window, ns2.initial_rto, ns2.ack_every), (2, Duration::from_secs(3), 1));
    assert_eq!(ns2.window, 20);
    let vegas = resolve(json!("vegas"), Profile::Ns2).options;
    assert_eq!((vegas.header.0, vegas.handshake), (0, Handshake::None));
    // ns-2's TCP/Linux, by name and spelt out.
    let named = resolve(json!("bic"), Profile::Ns2);
    let table = json!({ "recovery": "sack", "control": "bic", "ns2": { "agent": "linux" } });
    assert_eq!(named, resolve(table, Profile::Ns2));
    assert_eq!(named.options.sack_rules, SackRules::Ns2Linux);
    // The canonical form names every option.
    let canonical = serde_json::to_value(&named).unwrap();
    assert_eq!(canonical["recovery"], "sack");
    assert!(canonical["control"]["bic"]["beta"].is_number());
    for row in Options::rows() {
        assert!(!canonical[row.name].is_null(), "{}", row.name);
    }
}
