//! What only shows inside: the window and its inflation at a cut, and invariants under any input.

use super::*;
use crate::config::{RecoveryExit, SackRules};
use crate::record::Phase;
use crate::{Priority, Profile, SackBlocks, TcpSpec, Transmission};
use serde_json::{Value, json};

fn example(name: &str) -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/algorithms_vectors.json");
    let text = std::fs::read_to_string(path).expect("the worked examples are part of the project");
    let all: Value = serde_json::from_str(&text).expect("the worked examples are JSON");
    all["vectors"].as_array().expect("a list").iter().find(|v| v["name"] == name).expect("the example").clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number")).collect()
}

pub(crate) fn sender(profile: Profile, table: Value) -> Sender {
    let spec: TcpSpec = serde_json::from_value(table).expect("a TCP");
    let config = spec.resolve(profile).expect("a valid TCP");
    let mut sender = Sender::new(&config, Stream::new(1, "test", "tick"));
    sender.supply(Time::ZERO, Supply::Unlimited);
    sender.open(Time::ZERO);
    sender
}

pub(crate) fn drain(sender: &mut Sender, now: Time) -> Vec<Segment> {
    std::iter::from_fn(|| sender.poll_transmit(now)).collect()
}

pub(crate) fn ack(next: u32) -> Ack {
    Ack {
        next,
        size: 40,
        echo: Time::ZERO,
        trigger: Transmission::First,
        answers: Priority::Normal,
        ecn_echo: false,
        blocks: SackBlocks::EMPTY,
    }
}

/// A sender that takes its time is asked for segments later: a duplicate ACK in between takes back nothing.
#[test]
fn what_one_ack_allowed_leaves_also_after_the_next() {
    for name in ["tahoe", "reno", "newreno", "sack", "fack", "vegas", "yam"] {
        let mut sender = sender(Profile::Ns2, json!({ "name": name }));
        drain(&mut sender, Time::ZERO);
        let now = Time::from_secs_f64(0.1);
        sender.on_ack(now, &ack(1));
        sender.on_ack(now, &ack(1));
        assert!(!drain(&mut sender, now).is_empty(), "{name} is silent with nothing outstanding");
    }
}

#[test]
fn ns2_reno_cut() {
    let example = example("ns2_reno_cut");
    let (inputs, expected) = (&example["inputs"], &example["expected"]);
    for (i, (cwnd, window)) in numbers(&inputs["cwnd"]).into_iter().zip(numbers(&inputs["window"])).enumerate() {
        let mut sender = sender(Profile::Ns2, json!({ "name": "reno", "window": window as u32 }));
        let now = Time::from_secs_f64(0.1);
        drain(&mut sender, Time::ZERO);
        sender.on_ack(now, &ack(1));
        sender.core.control.set_cwnd(cwnd);
        drain(&mut sender, now);
        for _ in 0..3 {
            sender.on_ack(now, &ack(1));
            drain(&mut sender, now);
        }
        let limit = (sender.core.control.cwnd() as u32 + sender.core.window.inflation).min(sender.core.options.window);
        assert_eq!(sender.core.control.cwnd(), numbers(&expected["cwnd_base"])[i], "base window of {cwnd}");
        assert_eq!(sender.core.control.state().ssthresh, numbers(&expected["ssthresh"])[i], "threshold of {cwnd}");
        assert_eq!(f64::from(sender.core.window.inflation), numbers(&expected["dupwnd"])[i], "inflation of {cwnd}");
        assert_eq!(f64::from(limit), numbers(&expected["send_limit"])[i], "send limit of {cwnd}");
    }
}

#[test]
fn newreno_ns2_deflation() {
    let example = example("newreno_ns2_deflation");
    let (inputs, expected) = (&example["inputs"], &example["expected"]);
    for (i, acked) in numbers(&inputs["acked"]).into_iter().enumerate() {
        let mut sender = sender(Profile::Ns2, json!({ "name": "newreno" }));
        sender.core.control.set_cwnd(numbers(&inputs["cwnd"])[i]);
        sender.core.window.inflation = numbers(&inputs["dupwnd"])[i] as u32;
        sender.core.deflate(acked as u32);
        assert_eq!(sender.core.control.cwnd(), numbers(&expected["cwnd"])[i]);
        assert_eq!(f64::from(sender.core.window.inflation), numbers(&expected["dupwnd"])[i]);
    }
}

/// A small generator of numbers; the tests must not depend on a library's version.
pub(crate) struct Numbers(pub u64);

impl Numbers {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A receiver that lost, repeated and reordered anything: the ACK is any that a peer could send.
fn any_ack(sender: &Sender, numbers: &mut Numbers) -> Ack {
    let outstanding = u64::from(sender.core.high - sender.core.una);
    let next = match numbers.below(4) {
        0 => sender.core.una + numbers.below(outstanding + 1) as u32,
        1 => sender.core.una.saturating_sub(numbers.below(3) as u32),
        _ => sender.core.una,
    };
    let mut blocks = SackBlocks::EMPTY;
    for _ in 0..numbers.below(4) {
        let start = next + 1 + numbers.below(outstanding + 1) as u32;
        let end = start + 1 + numbers.below(4) as u32;
        if end <= sender.core.high {
            blocks.push(start, end);
        }
    }
    Ack { blocks, ..ack(next) }
}

/// Up to 20 ms pass, or the time to the timer; whether it expires.
fn time_passes(sender: &mut Sender, now: &mut Time, numbers: &mut Numbers) -> bool {
    *now += Duration::from_micros(numbers.below(20_000));
    let expires = numbers.below(30) == 0 && sender.next_timeout() != Time::MAX;
    if expires {
        *now = (*now).max(sender.next_timeout());
        sender.on_timeout(*now);
    }
    expires
}

fn check(sender: &Sender, what: &str) {
    let (cwnd, ssthresh) = (sender.core.control.cwnd(), sender.core.control.state().ssthresh);
    // ns-2's Vegas may be without a window until its timer expires.
    let ns2_vegas =
        matches!(sender.recovery, Machine::Vegas(_)) && sender.core.options.recovery_exit == RecoveryExit::BaseWindow;
    let least = if ns2_vegas { 0.0 } else { 1.0 };
    assert!(cwnd.is_finite() && cwnd >= least, "{what}: cwnd {cwnd}");
    assert!(ssthresh >= 1.0, "{what}: ssthresh {ssthresh}");
    assert!(
        sender.core.una <= sender.core.next && sender.core.una <= sender.core.high,
        "{what}: una passed what was sent"
    );
    let outstanding = sender.core.high > sender.core.una;
    assert!(!outstanding || sender.core.timer != Time::MAX, "{what}: outstanding without a timer");
    let forced = sender.core.options.send_window().max(1).saturating_add(1);
    assert!(sender.core.high - sender.core.una <= forced, "{what}: beyond the receiver window");
}

#[test]
fn any_reports_leave_a_sender_sound() {
    for notification in ["eten", "been"] {
        for table in [
            json!({ "name": "newreno", "window": 64, "notification": notification }),
            json!({ "name": "reno", "window": 64, "notification": notification }),
            json!({ "name": "sack", "sack_rules": "rfc-6675", "window": 64, "notification": notification }),
        ] {
            let mut numbers = Numbers(11);
            let mut sender = sender(Profile::Rfc, table.clone());
            let mut now = Time::ZERO;
            drain(&mut sender, now);
            for step in 0..3_000 {
                if time_passes(&mut sender, &mut now, &mut numbers) {
                    // The timer was the input.
                } else if numbers.below(3) == 0 {
                    let seq = sender.core.una.saturating_sub(2) + numbers.below(70) as u32;
                    let error_rate = Some(10f64.powi(-(numbers.below(8) as i32)));
                    sender.on_error_report(now, &crate::ErrorReport { seq, error_rate });
                } else {
                    let ack = any_ack(&sender, &mut numbers);
                    sender.on_ack(now, &ack);
                }
                for segment in drain(&mut sender, now) {
                    assert!(segment.size <= 1500 && segment.seq < sender.core.high);
                }
                check(&sender, &format!("{table} after {step} inputs"));
            }
        }
    }
}

#[test]
fn any_input_leaves_a_sender_sound() {
    for profile in [Profile::Rfc, Profile::Ns2] {
        for (i, name) in TcpSpec::names().iter().enumerate() {
            let mut numbers = Numbers(7 + i as u64);
            let mut sender = sender(profile, json!({ "name": name, "window": 64 }));
            let mut now = Time::ZERO;
            drain(&mut sender, now);
            let mut acknowledged = 0;
            for step in 0..3_000 {
                if !time_passes(&mut sender, &mut now, &mut numbers) {
                    let ack = any_ack(&sender, &mut numbers);
                    sender.on_ack(now, &ack);
                }
                drain(&mut sender, now);
                check(&sender, &format!("{name} after {step} inputs"));
                assert!(sender.core.una >= acknowledged, "{name}: una fell back");
                acknowledged = sender.core.una;
            }
        }
    }
}

#[test]
fn released_is_what_the_window_lets_go() {
    let mut held = 0;
    for profile in [Profile::Rfc, Profile::Ns2] {
        for (i, name) in TcpSpec::names().iter().enumerate() {
            let mut numbers = Numbers(7 + i as u64);
            let mut sender = sender(profile, json!({ "name": name, "window": 64 }));
            let mut now = Time::ZERO;
            for step in 0..3_000 {
                if !time_passes(&mut sender, &mut now, &mut numbers) {
                    let ack = any_ack(&sender, &mut numbers);
                    sender.on_ack(now, &ack);
                }
                while sender.poll_urgent(now).is_some() {}
                if numbers.below(3) == 0 {
                    // Held back over the next input.
                    held += u32::from(sender.has_released(now));
                    continue;
                }
                let released = sender.has_released(now);
                let leaves = drain(&mut sender, now).len();
                // RFC 6675 may have room in the pipe and nothing to send.
                let undecided =
                    sender.core.phase() == Phase::Recovery && sender.core.options.sack_rules == SackRules::Rfc6675;
                assert!(
                    released == (leaves > 0) || (released && undecided),
                    "{name}, input {step}: {released}, {leaves} left"
                );
                check(&sender, &format!("{name} after {step} inputs"));
            }
        }
    }
    assert!(held > 1_000, "{held}");
}

#[test]
fn a_fast_retransmission_is_urgent_and_new_data_is_not() {
    let mut sender = sender(Profile::Ns2, json!({ "name": "reno" }));
    let now = Time::from_secs_f64(0.1);
    assert!(sender.poll_urgent(Time::ZERO).is_none() && sender.has_released(Time::ZERO));
    drain(&mut sender, Time::ZERO);
    sender.on_ack(now, &ack(1));
    sender.core.control.set_cwnd(8.0);
    drain(&mut sender, now);
    let urgent: Vec<_> = (0..3)
        .map(|_| {
            sender.on_ack(now, &ack(1));
            sender.poll_urgent(now).map(|segment| segment.seq)
        })
        .collect();
    assert_eq!(urgent, [Some(9), Some(10), Some(1)], "limited transmit, and the fast retransmission");
    // Ten are outstanding, and the window is 4 and as many as there were duplicates.
    let released: Vec<_> = (0..4)
        .map(|_| {
            sender.on_ack(now, &ack(1));
            assert!(sender.poll_urgent(now).is_none());
            sender.has_released(now)
        })
        .collect();
    assert_eq!(released, [false, false, false, true]);
    sender.on_ack(now, &ack(1));
    sender.release();
    assert_eq!(drain(&mut sender, now).iter().map(|segment| segment.seq).collect::<Vec<_>>(), [11, 12]);
}
