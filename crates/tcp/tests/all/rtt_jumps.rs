//! The detectors of lasting jumps of the RTT. The cases are those that quiche's own tests describe
//! (cloudflare/quiche, `bbr2/rtt_jump_detector/global_min_tests.rs` and `hmm_tests.rs`, July 2026).

use crate::support::*;
use skyhop_tcp::control::rtt_jumps::{Detector, RttJumps};

/// The times in ms at which a detector confirms a jump, of samples (time in ms, RTT in ms).
fn confirmed(kind: RttJumps, samples: impl IntoIterator<Item = (u64, u64)>) -> Vec<u64> {
    let mut detector = Detector::new(kind);
    let confirms = |&(at, rtt): &(u64, u64)| detector.on_sample(rtt * 1000, at * 1000, true);
    samples.into_iter().filter(confirms).map(|(at, _)| at).collect()
}

/// No jump.
const NONE: [u64; 0] = [];

/// `count` samples of one RTT from a time on, `every` ms.
fn steady(from: u64, every: u64, count: u64, rtt: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..count).map(move |i| (from + i * every, rtt))
}

#[test]
fn the_threshold_is_strictly_above_three_times_the_smallest_rtt() {
    let step = |rtt| [(10, 50), (20, rtt), (30, rtt), (170, rtt)];
    assert_eq!(confirmed(RttJumps::GlobalMin, step(150)), NONE);
    assert_eq!(confirmed(RttJumps::GlobalMin, step(151)), [170]);
}

#[test]
fn a_jump_lasts_for_three_samples_and_three_of_the_smallest_rtts() {
    let kind = RttJumps::GlobalMin;
    assert_eq!(confirmed(kind, [(10, 50), (20, 151), (30, 151), (40, 151)]), NONE, "30 ms are not 150 ms");
    assert_eq!(confirmed(kind, [(10, 50), (20, 151), (170, 151)]), NONE, "two samples");
    assert_eq!(confirmed(kind, [(10, 500), (20, 1501), (100, 1501), (200, 1501), (1520, 1501)]), [1520]);
    assert_eq!(confirmed(kind, [(10, 10), (20, 31), (30, 31), (50, 31)]), [50]);
    // One at the threshold ends it; what follows is another jump.
    let twice = [(10, 50), (20, 151), (30, 151), (170, 151), (180, 150), (190, 151), (200, 151), (340, 151)];
    assert_eq!(confirmed(kind, twice), [170, 340]);
}

#[test]
fn the_smallest_rtt_follows_downward() {
    let samples = [(100, 100), (200, 299), (300, 50), (400, 151), (410, 151), (550, 151)];
    assert_eq!(confirmed(RttJumps::GlobalMin, samples), [550]);
}

#[test]
fn nothing_is_confirmed_before_the_full_bandwidth_is_found() {
    for kind in [RttJumps::GlobalMin, RttJumps::Hmm] {
        let mut detector = Detector::new(kind);
        let mut early = steady(0, 10, 8, 50).chain(steady(80, 10, 6, 200));
        assert!(!early.any(|(at, rtt)| detector.on_sample(rtt * 1000, at * 1000, false)), "{kind:?}");
        let mut late = steady(300, 100, 20, 200);
        assert!(late.any(|(at, rtt)| detector.on_sample(rtt * 1000, at * 1000, true)), "{kind:?}");
    }
}

#[test]
fn the_model_confirms_a_step_and_no_spike() {
    let calm = || steady(10, 10, 12, 50);
    assert_eq!(confirmed(RttJumps::Hmm, steady(10, 10, 100, 50)), NONE);
    assert_eq!(confirmed(RttJumps::Hmm, calm().chain([(130, 150)]).chain(steady(140, 10, 100, 50))), NONE);
    let found = confirmed(RttJumps::Hmm, calm().chain(steady(200, 100, 14, 150)));
    // Five RTTs of 150 ms after the model takes it for lasting.
    assert!(found.len() == 1 && (950..=1500).contains(&found[0]), "{found:?}");
    // It stays one jump for as long as it lasts.
    assert_eq!(confirmed(RttJumps::Hmm, calm().chain(steady(200, 100, 200, 150))).len(), 1);
}

#[test]
fn the_model_counts_a_second_jump_after_a_calm_time() {
    let samples = steady(10, 10, 12, 50)
        .chain(steady(200, 100, 30, 150))
        .chain(steady(3200, 100, 30, 50))
        .chain(steady(6200, 100, 40, 150));
    let found = confirmed(RttJumps::Hmm, samples);
    assert!(found.len() == 2 && found[0] < 3200 && found[1] > 6200, "{found:?}");
}

#[test]
fn the_model_measures_against_the_usual_elevation() {
    // The same step to twice the smallest RTT, on a path that is calm and on one that is often there.
    let step = || steady(90, 10, 100, 100);
    assert_eq!(confirmed(RttJumps::Hmm, steady(10, 10, 8, 50).chain(step())).len(), 1);
    let noisy = [(10, 50)].into_iter().chain(steady(20, 10, 7, 100));
    assert_eq!(confirmed(RttJumps::Hmm, noisy.chain(step())), NONE);
    // And whatever the smallest RTT is.
    for rtt in [50, 500] {
        let scaled = steady(10, 10, 8, rtt).chain(steady(9 * rtt, rtt, 22, 2 * rtt));
        assert_eq!(confirmed(RttJumps::Hmm, scaled).len(), 1, "{rtt} ms");
    }
}

#[test]
fn bbr3_counts_the_jump_of_a_path_and_sends_the_same() {
    let mut path = Bottleneck::new(10.0, 30.0, 400);
    path.rtts = vec![(0.0, 30.0), (12.0, 150.0)];
    let run = |kind: &str| {
        let control = with_option("bbr3", "rtt_jumps", kind.into());
        run_with(&path, vec![Flow::of(control)], 20.0, |_, _, _| {})
    };
    let counted = |run: &Run| run.hosts[0].sender.counts().rtt_jumps;
    let (off, global_min, hmm) = (run("off"), run("global-min"), run("hmm"));
    assert_eq!((counted(&off), counted(&global_min), counted(&hmm)), (0, 1, 1));
    assert_eq!(off.goodput(0, 0.0, 20.0), hmm.goodput(0, 0.0, 20.0));
}
