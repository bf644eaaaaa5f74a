//! What holds for every control of the list, in every bundle.

use crate::support::Loop;
use serde_json::{Map, Value, json};
use skyhop_base::{Duration, Time};
use skyhop_cc::*;

const BUNDLES: [Bundle; 4] = [Bundle::Rfc, Bundle::Ns2, Bundle::Ns2Vegas, Bundle::Ns2Linux];

/// A small generator of numbers; the tests must not depend on a library's version.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn sound(control: &Control, what: &str) {
    let (cwnd, floor, state) = (control.cwnd(), control.recovery_floor(), control.state());
    assert!(cwnd.is_finite() && cwnd >= 1.0, "{what}: cwnd {cwnd}");
    // Before a loss the floor may be that of an unlimited threshold.
    assert!(floor >= 1.0, "{what}: floor {floor}");
    assert!(state.ssthresh >= 1.0, "{what}: ssthresh {}", state.ssthresh);
}

/// Any ACK that a transport could hand over, and some that none would.
fn any_ack(numbers: &mut Numbers, now: Time, delivered: &mut u64) -> AckSample {
    let acked = numbers.below(5);
    *delivered += acked;
    let used = numbers.below(4) > 0;
    let rtt = |n: &mut Numbers| (n.below(5) > 0).then(|| Duration::from_micros(n.below(3) * n.below(400_000)));
    AckSample {
        now,
        newly_acked: acked as f64,
        newly_reported: 0.0,
        growth: Growth {
            slow_start: if used { acked.min(2) as f64 } else { 0.0 },
            avoidance: if used { acked as f64 } else { 0.0 },
        },
        latest_rtt: rtt(numbers),
        smoothed_rtt: rtt(numbers),
        min_rtt: rtt(numbers),
        in_flight: numbers.below(300) as f64,
        round: (numbers.below(20) == 0).then(|| Round { began: Time::ZERO, sent: numbers.below(300) as u32 }),
        acknowledged: *delivered,
        delivered: *delivered,
        ecn_marked: 0.0,
        repairing: numbers.below(10) == 0,
        mss: 1000,
    }
}

fn any_event(numbers: &mut Numbers, now: Time, cwnd: Segments) -> CongestionEvent {
    let lost = if numbers.below(2) == 0 { Lost::First } else { Lost::Again };
    let kind = match numbers.below(4) {
        0 => CongestionKind::Timeout(lost),
        1 => CongestionKind::Ecn,
        _ => CongestionKind::Loss(lost),
    };
    CongestionEvent {
        now,
        kind,
        window: numbers.below(cwnd as u64 + 1) as f64,
        in_flight: numbers.below(300) as f64,
        smoothed_rtt: None,
        min_rtt: (numbers.below(3) > 0).then(|| Duration::from_micros(numbers.below(700_000))),
        mss: 1000,
    }
}

/// Two thousand operations by chance; the window stays sound after each.
fn batter(config: &ControlConfig, seed: u64, steps: u32, what: &str) {
    let mut numbers = Numbers(seed);
    let clamp = if seed.is_multiple_of(2) { f64::INFINITY } else { 40.0 };
    let mut control = config.start(Start { cwnd: 1.0, ssthresh: clamp, clamp, mss: 1000 });
    let (mut now, mut delivered) = (Time::ZERO, 0);
    for step in 0..steps {
        now += Duration::from_micros(numbers.below(3) * numbers.below(100_000));
        match numbers.below(40) {
            0 => control.on_congestion(&any_event(&mut numbers, now, control.cwnd())),
            1 => control.on_recovered(),
            2 => control.set_cwnd(1.0 + numbers.below(100) as f64 / 7.0),
            3 => control.on_measured(&any_ack(&mut numbers, now, &mut delivered)),
            4 => control.on_sent(&SentSample { now, in_flight: numbers.below(30) as f64 }),
            5 => control.on_probe_acked(),
            6 => control.on_lost(&LossSample { now, lost: numbers.below(30) as f64, in_flight: 30.0 }),
            _ => control.on_ack(&any_ack(&mut numbers, now, &mut delivered)),
        }
        sound(&control, &format!("{what} seed {seed} step {step}"));
    }
}

#[test]
fn random_operations_never_break_a_window() {
    for &name in ControlSpec::NAMES {
        for bundle in BUNDLES {
            let config = ControlSpec::named(name).and_then(|spec| spec.resolve(bundle)).expect("defaults are valid");
            for seed in 0..20 {
                batter(&config, seed, 2000, &format!("{name} {bundle:?}"));
            }
        }
    }
}

fn resolved(name: &str, options: &Map<String, Value>, bundle: Bundle) -> Option<ControlConfig> {
    let spec: ControlSpec = serde_json::from_value(json!({ name: options })).ok()?;
    spec.resolve(bundle).ok()
}

/// The values at the edges of what a numeric option accepts while the others are as given, and some between.
fn edges(name: &str, options: &Map<String, Value>, option: &str, whole: bool, bundle: Bundle) -> Vec<Value> {
    let number = |value: f64| if whole { json!(value as u64) } else { json!(value) };
    let accepts = |value: f64| {
        let mut options = options.clone();
        options.insert(option.to_owned(), number(value));
        resolved(name, &options, bundle).is_some()
    };
    let steps = [
        0.0, 1e-6, 1e-3, 0.01, 0.02, 0.1, 0.3, 0.5, 0.999, 1.0, 1.5, 2.0, 3.0, 10.0, 30.0, 31.0, 100.0, 1e3, 1e4, 1e6,
        1e9,
    ];
    let far = [f64::from(u32::MAX), 1e15, 1e300];
    let mut found: Vec<f64> = steps.iter().chain(&far).copied().filter(|&value| accepts(value)).collect();
    // The edges themselves, by bisection between a value that is accepted and one that is not.
    for (inside, outside) in [(found.last().copied(), 1e301), (found.first().copied(), -1.0)] {
        let Some(mut inside) = inside else { continue };
        let mut outside = steps
            .iter()
            .chain(&far)
            .copied()
            .filter(|&value| !accepts(value) && (value > inside) == (outside > inside))
            .min_by(|a, b| (a - inside).abs().total_cmp(&(b - inside).abs()))
            .unwrap_or(outside);
        for _ in 0..60 {
            let middle = inside + (outside - inside) / 2.0;
            if accepts(middle) { inside = middle } else { outside = middle }
        }
        found.push(inside);
    }
    found.into_iter().map(number).collect()
}

/// Whatever value `check` accepts, alone and with others at their edges: no division by zero, no overflow, no window
/// that is not a number.
#[test]
fn no_accepted_option_breaks_a_window() {
    for &name in ControlSpec::NAMES {
        for bundle in BUNDLES {
            let config = ControlSpec::named(name).and_then(|spec| spec.resolve(bundle)).expect("defaults are valid");
            let written = serde_json::to_value(&config).expect("serialisable");
            let defaults = written[name].as_object().expect("a table").clone();
            let numeric: Vec<_> = defaults.iter().filter(|(_, value)| value.is_number()).collect();
            let mut values = Vec::new();
            for (option, value) in &numeric {
                let choices = edges(name, &defaults, option, value.is_u64(), bundle);
                for choice in &choices {
                    let mut options = defaults.clone();
                    options.insert((*option).clone(), choice.clone());
                    if let Some(config) = resolved(name, &options, bundle) {
                        for seed in 0..2 {
                            batter(&config, seed, 400, &format!("{name} {bundle:?} {option} = {choice}"));
                        }
                    }
                }
                values.push(((*option).clone(), choices));
            }
            let mut numbers = Numbers(7);
            for seed in 0..60 {
                let mut options = defaults.clone();
                for (option, choices) in values.iter().filter(|(_, choices)| !choices.is_empty()) {
                    let choice = &choices[numbers.below(choices.len() as u64) as usize];
                    options.insert(option.clone(), choice.clone());
                }
                if let Some(config) = resolved(name, &options, bundle) {
                    batter(&config, seed, 400, &format!("{name} {bundle:?} {options:?}"));
                }
            }
        }
    }
}

#[test]
fn a_loss_cuts_and_a_timeout_leaves_one_segment() {
    for &name in ControlSpec::NAMES {
        for bundle in BUNDLES {
            let what = format!("{name} {bundle:?}");
            let mut sender = Loop::new(name, bundle, 0.1, 30.0);
            for _ in 0..2000 {
                sender.ack();
            }
            let before = sender.control.cwnd();
            sender.congestion(CongestionKind::Loss(Lost::First));
            let after = sender.control.cwnd();
            assert!(after < before && after >= 2.0, "{what}: a loss took {before} to {after}");
            sender.congestion(CongestionKind::Timeout(Lost::First));
            let after = sender.control.cwnd();
            if name == "yam" {
                // Yam takes a timeout for a loss like any other.
                assert!(after < before, "{what}: a timeout left {after}");
                continue;
            }
            assert!(after <= 2.0, "{what}: a timeout left {after}");
        }
    }
}

#[test]
fn the_window_grows_without_loss_and_up_to_the_clamp_only() {
    for &name in ControlSpec::NAMES {
        for bundle in BUNDLES {
            let mut sender = Loop::new(name, bundle, 0.1, 30.0);
            for _ in 0..5000 {
                sender.ack();
            }
            // 10 at the start; the slowest grow by one per round trip, so by 5000 / W in all.
            let cwnd = sender.control.cwnd();
            assert!((50.0..=1e6).contains(&cwnd), "{name} {bundle:?}: {cwnd}");
        }
    }
}

#[test]
fn names_are_those_that_scenarios_write() {
    for &name in ControlSpec::NAMES {
        let spec: ControlSpec = serde_json::from_value(name.into()).expect("a name alone");
        let table: ControlSpec = serde_json::from_value(json!({ name: {} })).expect("a table");
        assert_eq!(spec, table);
        let config = spec.resolve(Bundle::Rfc).expect("valid");
        let written = serde_json::to_value(&config).expect("serialisable");
        assert_eq!(written.as_object().expect("a table").keys().next().map(String::as_str), Some(name));
    }
}
