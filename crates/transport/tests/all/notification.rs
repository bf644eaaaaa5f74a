//! Error reports: corrupted segments are sent again without a cut, losses that nobody reported are congestion, and
//! segments are cut at the size that suits the error rate.

use crate::support::sender::{ack_with, drain};
use serde_json::{Value, json};
use skyhop_base::{Duration, Stream, Time};
use skyhop_transport::{ErrorReport, Phase, Profile, Segment, Sender, Supply, TcpSpec, Transmission};

fn sender(table: Value, supply: Supply) -> Sender {
    let spec: TcpSpec = serde_json::from_value(table).expect("a TCP");
    let config = spec.resolve(Profile::Ns2).expect("a valid TCP");
    let mut sender = Sender::new(&config, Stream::new(1, "test", "tick"));
    sender.supply(Time::ZERO, supply);
    sender.open(Time::ZERO);
    sender
}

/// A sender with segments 1 to 20 acknowledged up to 11, a window of 10 and 11..21 outstanding.
fn under_way(table: Value) -> (Sender, Time) {
    let mut sender = sender(table, Supply::Unlimited);
    let mut now = Time::ZERO;
    let mut sent = drain(&mut sender, now).last().unwrap().seq;
    for next in 1..=11 {
        now += Duration::from_millis(100);
        sender.on_ack(now, &ack_with(next, &[]));
        sent = drain(&mut sender, now).last().map_or(sent, |segment| segment.seq);
    }
    assert!(sent > 16, "a window of several segments is outstanding");
    (sender, now)
}

#[test]
fn a_reported_segment_leaves_again_at_once_and_is_not_cut_for() {
    for table in [
        json!({ "name": "newreno", "notification": "eten", "window": 100 }),
        json!({ "name": "reno", "notification": "eten", "window": 100 }),
        json!({ "name": "sack", "sack_rules": "rfc-6675", "notification": "eten", "window": 100 }),
    ] {
        let selective = table["name"] == "sack";
        let (mut sender, now) = under_way(table);
        let before = sender.snapshot();
        sender.on_error_report(now, &ErrorReport { seq: 11, error_rate: None });
        let sent = drain(&mut sender, now);
        assert_eq!(sent.iter().map(|segment| segment.seq).collect::<Vec<_>>(), [11]);
        assert_eq!(sent[0].transmission, Transmission::Again);
        let mut new = 0;
        for duplicate in 1..=6 {
            let blocks = [(12, 12 + duplicate)];
            sender.on_ack(now, &ack_with(11, if selective { &blocks } else { &[] }));
            let sent = drain(&mut sender, now);
            assert!(sent.iter().all(|segment| segment.transmission == Transmission::First), "nothing is sent twice");
            new += sent.len() as u32;
        }
        assert!(new > 0, "the clock of ACKs goes on");
        let during = sender.snapshot();
        assert_eq!((during.cwnd, during.ssthresh), (before.cwnd, before.ssthresh));
        let next = 11 + before.in_flight + new;
        sender.on_ack(now, &ack_with(next, &[]));
        let after = sender.snapshot();
        assert_eq!(after.phase, Phase::Open);
        assert!(after.cwnd >= before.cwnd, "{} after {}", after.cwnd, before.cwnd);
        assert_eq!(sender.counters().window_cuts, 0);
    }
}

#[test]
fn a_hole_that_nobody_reported_is_congestion() {
    let (mut sender, now) = under_way(json!({ "name": "newreno", "notification": "eten", "window": 100 }));
    let before = sender.snapshot().cwnd;
    sender.on_error_report(now, &ErrorReport { seq: 11, error_rate: None });
    drain(&mut sender, now);
    for _ in 0..4 {
        sender.on_ack(now, &ack_with(11, &[]));
        drain(&mut sender, now);
    }
    assert_eq!(sender.counters().window_cuts, 0);
    // Segment 14 is missing, too, and was not reported.
    sender.on_ack(now, &ack_with(14, &[]));
    let sent = drain(&mut sender, now);
    assert_eq!(sent.first().map(|segment| segment.seq), Some(14));
    assert_eq!(sender.counters().window_cuts, 1);
    assert!(sender.snapshot().ssthresh <= before / 2.0 + 1.0);
}

/// The first marked duplicate sends the hole again, whatever the window says; the others and those of the repetition's
/// loss send nothing again, and none of them cuts or inflates.
#[test]
fn a_marked_duplicate_repeats_its_hole_once_and_cuts_nothing() {
    for name in ["newreno", "reno"] {
        let (mut sender, now) = under_way(json!({ "name": name, "notification": "eln", "window": 100 }));
        let before = sender.snapshot();
        let mut marked = |next| {
            sender.on_loss_mark();
            sender.on_ack(now, &ack_with(next, &[]));
            drain(&mut sender, now).iter().map(|segment| segment.seq).collect::<Vec<_>>()
        };
        assert_eq!(marked(11), [11], "{name}");
        for _ in 0..5 {
            assert_eq!(marked(11), [0; 0], "{name}");
        }
        // The next segment is missing, too: ns-2 would wait for the timer.
        let new = marked(12);
        assert!(!new.is_empty() && new.iter().all(|&seq| seq >= 11 + before.in_flight), "{name}: {new:?}");
        assert_eq!(marked(12), [12], "{name}");
        let after = sender.snapshot();
        assert_eq!((after.inflation, after.phase, sender.counters().window_cuts), (0, Phase::Open, 0), "{name}");
        assert!(after.cwnd > before.cwnd, "{name}");
    }
}

#[test]
fn duplicates_without_a_mark_are_congestion_and_reports_say_nothing_to_eln() {
    let (mut sender, now) = under_way(json!({ "name": "newreno", "notification": "eln", "window": 100 }));
    sender.on_error_report(now, &ErrorReport { seq: 11, error_rate: None });
    assert!(drain(&mut sender, now).is_empty());
    for _ in 0..3 {
        sender.on_ack(now, &ack_with(11, &[]));
        drain(&mut sender, now);
    }
    assert_eq!(sender.counters().window_cuts, 1);
    let (mut deaf, now) = under_way(json!({ "name": "newreno", "window": 100 }));
    for _ in 0..3 {
        deaf.on_loss_mark();
        deaf.on_ack(now, &ack_with(11, &[]));
        drain(&mut deaf, now);
    }
    assert_eq!(deaf.counters().window_cuts, 1, "who does not listen cuts");
}

#[test]
fn a_sender_that_does_not_listen_sends_nothing() {
    let (mut sender, now) = under_way(json!({ "name": "newreno", "window": 100 }));
    sender.on_error_report(now, &ErrorReport { seq: 11, error_rate: Some(1e-3) });
    assert!(drain(&mut sender, now).is_empty());
}

#[test]
fn segments_are_cut_at_the_size_that_suits_the_error_rate() {
    let table = json!({ "name": "newreno", "mss": "1500 B", "notification": "been", "window": 100 });
    let (mut sender, now) = under_way(table);
    assert_eq!(sender.segment_size(), 1500);
    // Equation 1: sqrt(320 bits / 1e-4) = 1788.9 bits = 223 B, of which 40 B are header.
    sender.on_error_report(now, &ErrorReport { seq: 11, error_rate: Some(1e-4) });
    let again = drain(&mut sender, now);
    assert_eq!((again[0].payload, again[0].size), (183, 223), "the only copy is lost: it is cut anew");
    sender.on_ack(now, &ack_with(12, &[]));
    let new = drain(&mut sender, now);
    assert!(!new.is_empty() && new.iter().all(|segment| segment.payload == 183));
    sender.on_error_rate(1e-2);
    assert_eq!(sender.segment_size(), 40, "80 B is the smallest packet");
    sender.on_error_rate(0.0);
    assert_eq!(sender.segment_size(), 1500, "and the first one the largest");
}

/// A finite transfer over a path that corrupts every third packet and says so arrives whole, whatever the sizes.
#[test]
fn what_is_handed_over_is_delivered_whole() {
    let table = json!({ "name": "newreno", "mss": "1000 B", "notification": "been" });
    let mut sender = sender(table, Supply::Bytes(50_000));
    let mut now = Time::ZERO;
    let mut queue: std::collections::VecDeque<Segment> = drain(&mut sender, now).into();
    let (mut arrived, mut next, mut bytes, mut count) = (std::collections::BTreeSet::new(), 0, 0, 0);
    while let Some(segment) = queue.pop_front() {
        now += Duration::from_millis(5);
        count += 1;
        if count % 3 == 0 {
            let rate = Some([1e-2, 1e-4, 1e-5][count / 3 % 3]);
            sender.on_error_report(now, &ErrorReport { seq: segment.seq, error_rate: rate });
        } else {
            if arrived.insert(segment.seq) {
                bytes += segment.payload;
            }
            while arrived.contains(&next) {
                next += 1;
            }
            sender.on_ack(now, &ack_with(next, &[]));
        }
        queue.extend(drain(&mut sender, now));
        assert!(count < 20_000, "the transfer ends");
    }
    assert_eq!(bytes, 50_000);
    assert!(sender.is_finished());
    assert_eq!(sender.counters().timeouts, 0);
}

#[test]
fn what_cannot_listen_is_refused() {
    for (table, wanted) in [
        (json!({ "name": "tahoe", "notification": "been" }), "newreno"),
        (json!({ "name": "sack", "notification": "eten" }), "rfc-6675"),
        (json!({ "name": "sack", "notification": "eln" }), "newreno"),
        (json!({ "notification": { "ceten": { "memory": 0.5 } } }), "memory"),
        (json!({ "notification": { "been": { "smallest": "2000 B" } } }), "mss + header"),
        (json!({ "notification": { "been": { "density": 0.5 } } }), "density"),
    ] {
        let spec: TcpSpec = serde_json::from_value(table.clone()).unwrap();
        let error = spec.resolve(Profile::Ns2).unwrap_err().to_string();
        assert!(error.contains(wanted), "{table}: {error}");
    }
}
