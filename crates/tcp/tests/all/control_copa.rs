//! Copa (NSDI 2018): the queue in equilibrium, and its mode of competition.

use crate::support::*;

#[test]
fn one_flow_keeps_the_queue_of_its_equilibrium() {
    // §3: the rate is 1/(delta d_q), so a flow keeps about 1/delta = 2 to 5/(2 delta) segments in the queue on average.
    for (mbps, rtt) in [(10.0, 50.0), (5.0, 100.0), (10.0, 200.0)] {
        let run = run(&Bottleneck::new(mbps, rtt, 1000), vec![Flow::bulk("copa")], 40.0);
        let segments = run.mean_queue(20.0, 40.0) * 1e-3 * mbps * 1e6 / 8.0 / PACKET;
        assert!((0.5..12.0).contains(&segments), "{mbps} Mbit/s, {rtt} ms: {segments} segments of queue");
        let goodput = run.goodput(0, 20.0, 40.0);
        assert!(goodput > 0.9 * mbps * 1448.0 / 1500.0, "{mbps} Mbit/s, {rtt} ms: {goodput}");
        assert_eq!(run.drops_between(5.0, 40.0), 0);
    }
}

#[test]
fn flows_share_and_the_queue_grows_with_their_number_and_with_one_over_delta() {
    let path = Bottleneck::new(10.0, 50.0, 1000);
    let pair = run(&path, vec![Flow::bulk("copa"), Flow::bulk("copa").from(3.0)], 60.0);
    let shares = [pair.goodput(0, 20.0, 60.0), pair.goodput(1, 20.0, 60.0)];
    assert!(jain(&shares) > 0.9, "{shares:?}");
    let queue = |delta: f64| {
        let flow = Flow::of(with_option("copa", "delta", delta.into()));
        run(&path, vec![flow], 40.0).mean_queue(20.0, 40.0)
    };
    let (small, large) = (queue(0.5), queue(0.05));
    assert!(large > 3.0 * small, "{small} ms, {large} ms");
}

#[test]
fn a_path_that_changes_is_followed_from_above_and_below() {
    let mut path = Bottleneck::new(10.0, 50.0, 1000);
    path.rates.extend([(20.0, 4.0), (40.0, 12.0)]);
    // Without the competitive mode: a queue that takes more than five round trips to drain looks like a competitor.
    let run = run(&path, vec![Flow::of(with_option("copa", "competitive", "off".into()))], 60.0);
    for (from, to, mbps) in [(30.0, 40.0, 4.0), (50.0, 60.0, 12.0)] {
        assert!(run.goodput(0, from, to) > 0.9 * mbps * 1448.0 / 1500.0, "{} of {mbps}", run.goodput(0, from, to));
        assert!(run.mean_queue(from, to) < 60.0, "{}", run.mean_queue(from, to));
    }
}

#[test]
fn beside_cubic_it_competes() {
    let path = Bottleneck::new(10.0, 50.0, 83);
    let share = |mode: &str| {
        let flow = Flow::of(with_option("copa", "competitive", mode.into()));
        let run = run(&path, vec![flow, Flow::bulk("cubic")], 60.0);
        run.goodput(0, 20.0, 60.0)
    };
    let (on, off) = (share("on"), share("off"));
    assert!(on > 1.5 * off && on > 1.5, "{on} Mbit/s with, {off} without");
}

#[test]
fn random_loss_does_not_slow_it() {
    let mut path = Bottleneck::new(10.0, 50.0, 1000);
    path.loss = 0.01;
    let run = run(&path, vec![Flow::bulk("copa")], 40.0);
    assert!(run.goodput(0, 10.0, 40.0) > 0.8 * 10.0 * 1448.0 / 1500.0, "{}", run.goodput(0, 10.0, 40.0));
}
