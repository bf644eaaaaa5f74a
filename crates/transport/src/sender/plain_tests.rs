//! Random connections, whose undisturbed packets one pair of machines handles in one pass and the other one step by
//! step: both send the same, and are in the same state.

use super::tests::{Numbers, drain};
use super::*;
use crate::receiver::Receiver;
use crate::segment::{Ecn, PlainAck, Priority, SackBlocks, Transmission, Undisturbed};
use crate::{Profile, TcpSpec};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// A sender and a receiver.
struct Pair {
    sender: Sender,
    receiver: Receiver,
}

impl Pair {
    fn new(profile: Profile, table: &Value) -> Pair {
        let spec: TcpSpec = serde_json::from_value(table.clone()).expect("a TCP");
        let config = spec.resolve(profile).expect("a valid TCP");
        let sender = Sender::new(&config, Stream::new(1, "test", "tick"));
        Pair { sender, receiver: Receiver::new(&config) }
    }

    fn state(&self) -> String {
        format!("{:?}\n{:?}", self.sender, self.receiver)
    }
}

/// A packet between the two.
#[derive(Clone, Debug, PartialEq)]
enum Travels {
    Data { segment: Segment, sent: Time },
    Ack(Ack),
}

fn is_plain(segment: &Segment) -> bool {
    let Segment { transmission, priority, ecn, window_reduced, .. } = *segment;
    (transmission, priority, ecn, window_reduced) == (Transmission::First, Priority::Normal, Ecn::NotCapable, false)
}

fn of_plain(ack: &PlainAck) -> Ack {
    Ack {
        next: ack.next,
        size: ack.size,
        echo: ack.echo,
        trigger: ack.trigger,
        answers: Priority::Normal,
        ecn_echo: false,
        blocks: SackBlocks::EMPTY,
    }
}

/// The segments that the sender lets out now.
fn sent(sender: &mut Sender, now: Time) -> Vec<Travels> {
    drain(sender, now).into_iter().map(|segment| Travels::Data { segment, sent: now }).collect()
}

/// How many packets were handled in one pass.
#[derive(Debug, Default)]
struct Taken {
    acks: usize,
    segments: usize,
}

/// What the machines send in answer, in one pass where they can.
fn in_one_pass(pair: &mut Pair, now: Time, what: &Travels, taken: &mut Taken) -> Vec<Travels> {
    match what {
        Travels::Data { segment, sent } if is_plain(segment) => {
            match pair.receiver.on_plain_segment(now, segment.seq, segment.payload, *sent) {
                None => step_by_step(pair, now, what),
                Some(arrived) => {
                    taken.segments += 1;
                    match arrived {
                        Undisturbed::Waits => Vec::new(),
                        Undisturbed::Acks(ack) => vec![Travels::Ack(of_plain(&ack))],
                    }
                }
            }
        }
        Travels::Ack(ack)
            if *ack
                == of_plain(&PlainAck {
                    next: ack.next,
                    size: ack.size,
                    echo: ack.echo,
                    trigger: Transmission::First,
                }) =>
        {
            match pair.sender.on_plain_ack(now, ack.next, ack.echo) {
                None => step_by_step(pair, now, what),
                Some(burst) => {
                    taken.acks += 1;
                    assert_eq!(pair.sender.poll_event(), None);
                    let segment = |seq| Segment {
                        seq,
                        size: burst.size,
                        payload: burst.payload,
                        transmission: Transmission::First,
                        priority: Priority::Normal,
                        ecn: Ecn::NotCapable,
                        window_reduced: false,
                    };
                    let in_burst = (burst.first..burst.first + burst.count).map(segment);
                    let mut sends: Vec<_> = in_burst.map(|segment| Travels::Data { segment, sent: now }).collect();
                    assert_eq!((burst.cwnd, burst.timeout), (pair.sender.cwnd(), pair.sender.next_timeout()));
                    if burst.more {
                        sends.extend(sent(&mut pair.sender, now));
                    }
                    sends
                }
            }
        }
        _ => step_by_step(pair, now, what),
    }
}

fn step_by_step(pair: &mut Pair, now: Time, what: &Travels) -> Vec<Travels> {
    match what {
        Travels::Data { segment, sent } => {
            pair.receiver.on_segment(now, segment, *sent);
            std::iter::from_fn(|| pair.receiver.poll_ack(now)).map(Travels::Ack).collect()
        }
        Travels::Ack(ack) => {
            pair.sender.on_ack(now, ack);
            sent(&mut pair.sender, now)
        }
    }
}

/// Timers that are due by `now`; what they send.
fn on_time(pair: &mut Pair, now: Time) -> Vec<Travels> {
    let mut sends = Vec::new();
    if pair.receiver.next_timeout() <= now {
        pair.receiver.on_timeout(now);
        sends.extend(std::iter::from_fn(|| pair.receiver.poll_ack(now)).map(Travels::Ack));
    }
    if pair.sender.next_timeout() <= now {
        pair.sender.on_timeout(now);
        sends.extend(sent(&mut pair.sender, now));
    }
    sends
}

/// 3,000 packets over a path of 20 ms that loses one in `loss` and delays one in thirty past others.
fn compare(profile: Profile, table: &Value, loss: u64, seed: u64) -> Taken {
    let mut numbers = Numbers(seed);
    let mut taken = Taken::default();
    let mut pairs = [Pair::new(profile, table), Pair::new(profile, table)];
    let mut now = Time::ZERO;
    let mut path: VecDeque<(Time, Travels)> = VecDeque::new();
    let supply = [Supply::Unlimited, Supply::Bytes(100_000 + numbers.below(900_000))][numbers.below(2) as usize];
    let mut sends = [(); 2].map(|()| Vec::new());
    for (pair, sends) in pairs.iter_mut().zip(&mut sends) {
        pair.sender.supply(now, supply);
        pair.sender.open(now);
        sends.extend(sent(&mut pair.sender, now));
    }
    // What both handle step by step leaves equal machines equal: they are compared after each seventh that one pass
    // handled, since writing both out takes most of the time, and at the end. What they send is compared at each step.
    let same = |pairs: &[Pair; 2], step: u32| {
        assert_eq!(pairs[0].state(), pairs[1].state(), "{table} of {profile:?}, seed {seed}, step {step}");
    };
    let mut compared = 0;
    for step in 0..3_000 {
        assert_eq!(sends[0], sends[1], "{table} of {profile:?}, seed {seed}, step {step}");
        if taken.acks + taken.segments >= compared + 7 {
            compared = taken.acks + taken.segments;
            same(&pairs, step);
        }
        for sent in std::mem::take(&mut sends[0]) {
            if numbers.below(loss) > 0 {
                let late = if numbers.below(30) == 0 { numbers.below(30_000) } else { 0 };
                path.push_back((now + Duration::from_micros(20_000 + late), sent));
            }
        }
        let next = path.iter().enumerate().min_by_key(|(i, (at, _))| (*at, *i)).map(|(i, (at, _))| (*at, i));
        let timer = pairs[0].sender.next_timeout().min(pairs[0].receiver.next_timeout());
        match next {
            Some((at, i)) if at <= timer => {
                now = at;
                let (_, arrived) = path.remove(i).expect("a packet that was found");
                sends =
                    [in_one_pass(&mut pairs[0], now, &arrived, &mut taken), step_by_step(&mut pairs[1], now, &arrived)];
            }
            _ if timer == Time::MAX => {
                let more = Supply::Bytes(numbers.below(100_000));
                now += Duration::from_micros(numbers.below(2_000_000));
                for (pair, sends) in pairs.iter_mut().zip(&mut sends) {
                    pair.sender.supply(now, more);
                    *sends = sent(&mut pair.sender, now);
                }
            }
            _ => {
                now = timer;
                let [first, second] = &mut pairs;
                sends = [on_time(first, now), on_time(second, now)];
            }
        }
    }
    assert_eq!(sends[0], sends[1], "{table} of {profile:?}, seed {seed}, at the end");
    same(&pairs, 3_000);
    taken
}

/// Three connections: without losses, with one in a hundred packets lost, and with one in twenty.
fn compare_losses(profile: Profile, table: &Value) -> Taken {
    let mut taken = Taken::default();
    for (seed, loss) in [(1, 1_000_000), (2, 100), (3, 20)] {
        let Taken { acks, segments } = compare(profile, table, loss, seed);
        (taken.acks, taken.segments) = (taken.acks + acks, taken.segments + segments);
    }
    taken
}

#[test]
fn one_pass_does_what_single_steps_do() {
    for profile in [Profile::Rfc, Profile::Ns2] {
        for name in TcpSpec::names() {
            let taken = compare_losses(profile, &json!({ "name": name, "window": 200 }));
            assert!(taken.segments > 300, "{name} of {profile:?}: {taken:?}");
            if ["reno", "newreno", "sack", "cubic"].contains(&&**name) && profile == Profile::Rfc {
                assert!(taken.acks > 1_000, "{name}: {taken:?}");
            }
        }
    }
}

/// Options that change what an ACK or a segment does, each alone.
#[test]
fn one_pass_knows_every_option() {
    let options = [
        json!({ "pacing": "always" }),
        json!({ "ecn": "on" }),
        json!({ "rtt_timing": "every-ack" }),
        json!({ "rtt_arithmetic": "linux" }),
        json!({ "rtt_arithmetic": "ns-2" }),
        json!({ "limited_transmit": "off" }),
        json!({ "ack_every": 1 }),
        json!({ "ack_every": 5 }),
        json!({ "idle_restart": "timer-to-one" }),
        json!({ "idle_restart": "as-timeout" }),
        json!({ "handshake": "none" }),
        json!({ "handshake": "with-data" }),
        json!({ "initial_window": 1 }),
        json!({ "initial_ssthresh": 10 }),
        json!({ "duplicate_threshold": 1 }),
        json!({ "sack": "on" }),
        json!({ "recovery_exit": "base-window" }),
        json!({ "ns2": { "growth": "per-ack" } }),
        json!({ "ns2": { "growth_when": "always" } }),
        json!({ "ns2": { "control_rtt": "last-segment" } }),
        json!({ "ns2": { "initial_window_at": "first-ack" } }),
        json!({ "ns2": { "window_limit": "growth" } }),
        json!({ "ns2": { "delayed_ack": "also-repeated-last" } }),
    ];
    for name in ["tahoe", "newreno", "sack", "cubic", "hybla"] {
        for option in &options {
            let mut table = json!({ "name": name, "window": 100 });
            for (key, value) in option.as_object().expect("a table") {
                table[key] = value.clone();
            }
            compare_losses(Profile::Rfc, &table);
        }
    }
}
