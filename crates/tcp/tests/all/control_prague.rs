//! Prague against the closed form of scalable controls, and the counts of Accurate ECN (RFC 9768).

use crate::support::*;

/// A free path that marks a share of the packets at random.
fn marking(rtt_ms: f64, share: f64) -> Bottleneck {
    let mut path = Bottleneck::new(200.0, rtt_ms, 4000);
    path.mark_share = share;
    path
}

#[test]
fn the_window_is_two_over_the_share_of_marks() {
    // A cut of alpha W / 2 comes a round trip and a mark after the last: every 1 + 1 / (p W) round trips, in which the
    // window grows by 1 - p each, and alpha is p. So x = p W solves x = 2 (1 - p) (1 + 1 / x). With many marks per
    // round trip x would be 2, as RFC 9332 has it.
    for (rtt, share) in [(30.0, 0.05), (30.0, 0.1), (60.0, 0.04)] {
        let run = run(&marking(rtt, share), vec![Flow::bulk("prague")], 30.0);
        let free = 1.0 - share;
        let right = (free + (free * free + 2.0 * free).sqrt()) / share;
        let window = run.mean_cwnd(0, 8.0, 30.0);
        assert!((window / right - 1.0).abs() < 0.1, "{rtt} ms, {share}: {window} for {right}");
        // Every mark is counted once, but for those in flight.
        let counted = run.hosts[0].sender.flow().delivered_ce;
        let marks = run.marked.len() as u64;
        assert!(counted <= marks && marks - counted < 20, "{counted} of {marks}");
    }
}

#[test]
fn a_short_path_takes_no_more_than_one_of_25_ms() {
    let rate = |rtt, rounds: u32| {
        let flow = Flow::of(with_option("prague", "rounds_before", rounds.into()));
        run(&marking(rtt, 0.1), vec![flow], 25.0).goodput(0, 15.0, 25.0)
    };
    let (short, long, greedy) = (rate(10.0, 500), rate(25.0, 500), rate(10.0, 100_000));
    assert!((short / long - 1.0).abs() < 0.25, "{short} and {long} Mbit/s");
    assert!(greedy > 1.5 * short, "{greedy} and {short} Mbit/s");
}

#[test]
fn a_queue_that_marks_early_stays_short_at_full_rate() {
    let mut path = Bottleneck::new(20.0, 50.0, 1000);
    path.mark_at = Some(8);
    let run = run(&path, vec![Flow::bulk("prague")], 30.0);
    assert!(run.goodput(0, 10.0, 30.0) > 0.9 * 20.0 * 1448.0 / 1500.0, "{}", run.goodput(0, 10.0, 30.0));
    assert!(run.queue_quantile(0.95, 10.0, 30.0) < 10.0, "{}", run.queue_quantile(0.95, 10.0, 30.0));
    let flow = run.hosts[0].sender.flow();
    assert!(flow.accurate_ecn);
}

/// A burst takes at most 2^-12 s at the pacing rate, which is one segment up to 47 Mbit/s (draft §2.5.1). On a faster
/// path no segment waits behind another then; the second of a pair would wait 60 us.
#[test]
fn bursts_are_short() {
    let run = run(&marking(60.0, 0.04), vec![Flow::bulk("prague")], 20.0);
    let rate = run.goodput(0, 8.0, 20.0);
    assert!((5.0..40.0).contains(&rate), "{rate} Mbit/s");
    let wait = run.queue_quantile(0.95, 8.0, 20.0);
    assert!(wait < 0.01, "{wait} ms");
}

#[test]
fn bunches_of_acks_do_not_confuse_the_count() {
    // ACKs come in bunches: the count goes on in each of them.
    let mut path = marking(40.0, 0.05);
    path.aggregation = Some(20.0);
    let run = run(&path, vec![Flow::bulk("prague")], 20.0);
    let (counted, marks) = (run.hosts[0].sender.flow().delivered_ce, run.marked.len() as u64);
    assert!(counted <= marks && marks - counted < 20, "{counted} of {marks}");
}
