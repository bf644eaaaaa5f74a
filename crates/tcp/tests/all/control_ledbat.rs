//! LEDBAT (RFC 6817) and LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): the queue at its target, and yielding.

use crate::support::*;

fn named(name: &str, target_ms: f64) -> Flow {
    Flow::of(with_option(name, "target", (target_ms / 1e3).into()))
}

#[test]
fn ledbat_keeps_the_queue_at_its_target() {
    for (mbps, rtt, target) in [(10.0, 40.0, 60.0), (10.0, 200.0, 60.0), (4.0, 100.0, 30.0)] {
        let run = run(&Bottleneck::new(mbps, rtt, 3000), vec![named("ledbat", target)], 60.0);
        let queue = run.mean_queue(40.0, 60.0);
        assert!((queue / target - 1.0).abs() < 0.2, "{mbps} Mbit/s, {rtt} ms: {queue} ms of queue for {target}");
        let goodput = run.goodput(0, 40.0, 60.0);
        assert!(goodput > 0.97 * mbps * 1448.0 / 1500.0, "{goodput}");
        assert_eq!(run.drops_between(0.0, 60.0), 0);
    }
}

#[test]
fn ledbat_returns_to_its_target_from_above_and_below() {
    // At 20 s the path slows down, so that its queue grows; at 40 s it is faster than before.
    let mut path = Bottleneck::new(10.0, 50.0, 3000);
    path.rates.extend([(20.0, 5.0), (40.0, 12.0)]);
    let run = run(&path, vec![named("ledbat", 50.0)], 70.0);
    for (from, to) in [(15.0, 20.0), (34.0, 40.0), (60.0, 70.0)] {
        let queue = run.mean_queue(from, to);
        assert!((queue / 50.0 - 1.0).abs() < 0.2, "{queue} ms from {from} s");
    }
}

#[test]
fn ledbat_plus_plus_yields_to_cubic_and_ledbat_less() {
    // A queue of 150 ms, which CUBIC fills beyond the target.
    let path = Bottleneck::new(10.0, 40.0, 125);
    let share = |control: &str| {
        let run = run(&path, vec![Flow::bulk(control), Flow::bulk("cubic").from(5.0)], 60.0);
        run.goodput(0, 20.0, 60.0) / (run.goodput(0, 20.0, 60.0) + run.goodput(1, 20.0, 60.0))
    };
    let (ledbat, plus) = (share("ledbat"), share("ledbat++"));
    assert!(plus < 0.15, "LEDBAT++ keeps {plus}");
    assert!(plus <= ledbat + 0.02, "LEDBAT++ keeps {plus}, LEDBAT {ledbat}");
}

#[test]
fn ledbat_plus_plus_slows_down_in_a_tenth_of_the_time() {
    let path = Bottleneck::new(10.0, 60.0, 3000);
    let run = run(&path, vec![Flow::bulk("ledbat++")], 90.0);
    let phases = run.phases(0);
    let begins: Vec<f64> = phases.iter().filter(|p| p.1 == "slowdown").map(|p| p.0).collect();
    assert!(begins.len() >= 4, "{phases:?}");
    // Draft §4.4: nine times the duration of the slowdown lies between it and the next.
    for begin in &begins[1..begins.len() - 1] {
        let place = phases.iter().position(|p| p.0 == *begin).unwrap();
        let (end, next) = (phases[place + 2].0, phases[place + 3].0);
        let ratio = (next - end) / (end - begin);
        assert!((8.5..9.8).contains(&ratio), "{ratio}: {phases:?}");
    }
    let queue = run.queue_quantile(0.9, 30.0, 90.0);
    assert!(queue < 1.3 * 60.0, "{queue}");
    assert!(run.goodput(0, 30.0, 90.0) > 0.85 * 10.0 * 1448.0 / 1500.0, "{}", run.goodput(0, 30.0, 90.0));
}

#[test]
fn a_late_flow_of_ledbat_plus_plus_gets_its_share() {
    // The slowdowns let the late one see the base delay, where LEDBAT's sees the queue of the first.
    let path = Bottleneck::new(10.0, 60.0, 3000);
    let shares = |control: &str| {
        let run = run(&path, vec![Flow::bulk(control), Flow::bulk(control).from(10.0)], 120.0);
        [run.goodput(0, 60.0, 120.0), run.goodput(1, 60.0, 120.0)]
    };
    let (plus, ledbat) = (shares("ledbat++"), shares("ledbat"));
    assert!(jain(&plus) > 0.9, "{plus:?}");
    assert!(jain(&plus) >= jain(&ledbat) - 0.01, "{plus:?}, LEDBAT {ledbat:?}");
}
