//! BBR version 3 against the test cases of the appendix of draft-ietf-ccwg-bbr (April 2026), one test each.

use crate::support::*;

/// Segments per second of a rate in Mbit/s.
fn segments(mbps: f64) -> f64 {
    mbps * 1e6 / 8.0 / PACKET
}

/// A flow that writes `bytes` every `every` seconds, from one time to another, and an endless transfer after it.
fn pulsed(from: f64, to: f64, every: f64, bytes: u64) -> Vec<(f64, u64)> {
    (0..).map(|i| (from + f64::from(i) * every, bytes)).take_while(|w| w.0 < to).collect()
}

fn bulk(path: &Bottleneck, seconds: f64) -> Run {
    run(path, vec![Flow::bulk("bbr3")], seconds)
}

/// The first time of a phase at or after `from`.
fn first(run: &Run, phase: &str, from: f64) -> f64 {
    let found = run.phases(0).into_iter().find(|&(at, name)| at >= from && name == phase);
    found.unwrap_or_else(|| panic!("no {phase} after {from}: {:?}", run.phases(0))).0
}

/// The phase after the one that begins at `at`.
fn next_phase(run: &Run, at: f64) -> (f64, &'static str) {
    let phases = run.phases(0);
    let place = phases.iter().position(|p| p.0 == at).expect("a phase begins");
    phases[place + 1]
}

fn at_time(run: &Run, at: f64) -> &Point {
    run.points.iter().rev().find(|p| p.at <= at).expect("a point")
}

#[test]
fn a_1_startup_ends_on_a_plateau() {
    let run = bulk(&Bottleneck::new(10.0, 60.0, 1000), 3.0);
    let drain = first(&run, "drain", 0.0);
    let point = at_time(&run, drain);
    assert_eq!(point.figure("full_bw_reached"), 1.0);
    assert!((point.figure("max_bw") / segments(10.0) - 1.0).abs() < 0.02, "{}", point.figure("max_bw"));
    // The count went 1, 2, 3 in rounds that follow each other.
    let rounds: Vec<f64> = (1..=3)
        .map(|count| {
            run.points.iter().find(|p| p.figure("full_bw_count") == f64::from(count)).unwrap().figure("rounds")
        })
        .collect();
    assert!(rounds[1] == rounds[0] + 1.0 && rounds[2] == rounds[1] + 1.0, "{rounds:?}");
    assert_eq!(run.drops_between(0.0, 3.0), 0);
}

#[test]
fn a_2_startup_ends_on_loss_even_if_the_application_limits_the_rate() {
    let mut path = Bottleneck::new(50.0, 60.0, 1000);
    path.loss = 0.2;
    path.loss_between = (1.0, 2.0);
    let mut flow = Flow::bulk("bbr3");
    // 16 Mbit/s in writes of 10 ms: never a full pipe.
    flow.writes = pulsed(0.0, 4.0, 0.01, 20_000);
    let run = run(&path, vec![flow], 4.0);
    // The flight fits the path, so that Drain may end with the ACK that begins it.
    let (end, _) = run.phases(0)[1];
    assert!((1.0..2.0).contains(&end), "{:?}", run.phases(0));
    assert!(run.points.iter().all(|p| p.at >= end || p.figure("full_bw_count") < 3.0));
    let point = at_time(&run, end);
    assert!(point.figure("full_bw_reached") == 1.0 && point.figure("inflight_longterm").is_finite());
}

#[test]
fn a_3_drain_ends_when_the_flight_fits_the_path() {
    let path = Bottleneck::new(10.0, 60.0, 1000);
    let run = bulk(&path, 3.0);
    let drain = first(&run, "drain", 0.0);
    assert_eq!(at_time(&run, drain).figure("pacing_gain"), 0.5);
    let (end, phase) = next_phase(&run, drain);
    // DOWN lasts no longer than the same ACK where the flight fits already.
    assert!(phase.starts_with("probe-bw-"), "{phase}");
    let point = at_time(&run, end);
    let bdp = point.figure("max_bw") * point.figure("min_rtt") / 1e6;
    assert!(f64::from(point.in_flight) <= bdp.max(6.0) + 1.0, "{} of {bdp}", point.in_flight);
    assert!(point.figure("rounds") <= at_time(&run, drain).figure("rounds") + 3.0);
}

#[test]
fn a_4_drain_ends_after_three_rounds_whatever_is_in_flight() {
    // The path gets 4 times slower when Drain begins: the flight cannot fall in time.
    let mut path = Bottleneck::new(20.0, 60.0, 2000);
    let drain = first(&bulk(&path, 3.0), "drain", 0.0);
    path.rates.push((drain - 0.03, 5.0));
    let run = bulk(&path, 12.0);
    let drain = first(&run, "drain", 0.0);
    let (end, _) = next_phase(&run, drain);
    let rounds = at_time(&run, end).figure("rounds") - at_time(&run, drain).figure("rounds");
    assert_eq!(rounds, 4.0, "{drain} to {end}: {:?} {:?}", run.phases(0), at_time(&run, end));
}

#[test]
fn a_5_a_probe_ends_on_a_plateau() {
    let run = bulk(&Bottleneck::new(10.0, 60.0, 1000), 12.0);
    let up = first(&run, "probe-bw-up", 0.0);
    let (down, phase) = next_phase(&run, up);
    assert!(phase == "probe-bw-down" || phase == "probe-rtt", "{phase}");
    let rounds = at_time(&run, down).figure("rounds") - at_time(&run, up).figure("rounds");
    assert!((3.0..=4.0).contains(&rounds), "{rounds}");
    assert_eq!(run.drops_between(0.0, 12.0), 0);
}

#[test]
fn a_6_a_19_a_probe_ends_on_loss() {
    let mut path = Bottleneck::new(10.0, 60.0, 1000);
    let up = first(&bulk(&path, 12.0), "probe-bw-up", 0.0);
    path.loss = 0.3;
    path.loss_between = (up + 0.02, up + 0.08);
    // A.6: the application limits the rate; A.19: it does not, and the bound is set.
    let run = bulk(&path, up + 3.0);
    let (down, phase) = next_phase(&run, up);
    assert_eq!(phase, "probe-bw-down");
    let (before, after) = (at_time(&run, up), at_time(&run, down));
    assert!(down - up < 0.2, "{}", down - up);
    let target = (before.figure("bw") * before.figure("min_rtt") / 1e6).min(before.cwnd.into());
    let bound = after.figure("inflight_longterm");
    assert!(bound >= 0.7 * target - 1.0 && bound < 1.3 * target, "{bound} of {target}");
}

#[test]
fn a_7_the_rate_is_low_until_the_queue_is_gone() {
    let run = bulk(&Bottleneck::new(10.0, 60.0, 1000), 12.0);
    let up = first(&run, "probe-bw-up", 0.0);
    let (down, _) = next_phase(&run, up);
    assert_eq!(at_time(&run, down).figure("pacing_gain"), 0.9);
    let (cruise, phase) = next_phase(&run, down);
    assert_eq!(phase, "probe-bw-cruise");
    let point = at_time(&run, cruise);
    let bdp = point.figure("max_bw") * point.figure("min_rtt") / 1e6;
    assert!(f64::from(point.in_flight) <= bdp + 1.0);
}

#[test]
fn a_8_a_queue_that_stays_does_not_stop_the_cycle() {
    // A CUBIC flow keeps the queue full, so that the flight does not fall to the bound.
    let path = Bottleneck::new(20.0, 40.0, 200);
    let run = run(&path, vec![Flow::bulk("bbr3"), Flow::bulk("cubic")], 30.0);
    let phases = run.phases(0);
    let direct = phases.windows(2).filter(|w| w[0].1 == "probe-bw-down" && w[1].1 == "probe-bw-refill");
    let waits: Vec<f64> = direct.map(|w| w[1].0 - w[0].0).collect();
    assert!(!waits.is_empty(), "{phases:?}");
    assert!(waits.iter().all(|&wait| wait < 3.2), "{waits:?}");
}

#[test]
fn a_9_the_rtt_is_probed_every_five_seconds() {
    let run = bulk(&Bottleneck::new(10.0, 60.0, 1000), 40.0);
    let probes: Vec<f64> = run.phases(0).into_iter().filter(|p| p.1 == "probe-rtt").map(|p| p.0).collect();
    assert!(probes.len() >= 5, "{probes:?}");
    for pair in probes.windows(2) {
        assert!((5.0..6.5).contains(&(pair[1] - pair[0])), "{probes:?}");
    }
    let probe = probes[1];
    assert_eq!(at_time(&run, probe).figure("cwnd_gain"), 0.5);
    let (end, phase) = next_phase(&run, probe);
    assert!(phase.starts_with("probe-bw-"), "{phase}");
    assert!((0.2..0.6).contains(&(end - probe)), "{}", end - probe);
    // §5.3.4.2: the probes cost about 2 % of the rate; the margin of the pacing rate another 1 %.
    let goodput = run.goodput(0, probes[0], *probes.last().unwrap());
    assert!(goodput > 0.94 * 10.0 * 1448.0 / 1500.0, "{goodput}");
}

#[test]
fn a_10_idleness_takes_the_place_of_an_rtt_probe() {
    let mut flow = Flow::bulk("bbr3");
    flow.writes = vec![(0.0, 2_000_000), (8.0, 2_000_000)];
    let run = run(&Bottleneck::new(10.0, 60.0, 1000), vec![flow], 9.5);
    let resumed: Vec<&Point> = run.points.iter().filter(|p| p.at > 8.0).collect();
    assert!(resumed.len() > 100);
    assert!(resumed.iter().all(|p| p.phase != Some("probe-rtt")), "{:?}", run.phases(0));
}

#[test]
fn a_11_a_12_aggregated_acks_are_allowed_for() {
    let mut path = Bottleneck::new(20.0, 40.0, 1000);
    path.aggregation = Some(30.0);
    let run = bulk(&path, 20.0);
    let drain = first(&run, "drain", 0.0);
    let bw = at_time(&run, drain).figure("max_bw") / segments(20.0);
    // Segments sent after the first ACK of a bunch count the rest of it, and two more bunches over the time of two
    // (§4.1.3.1): up to 1.5 times the rate.
    assert!((0.95..1.5).contains(&bw), "{bw}");
    let point = at_time(&run, 10.0);
    // In 30 ms 50 segments arrive together.
    assert!((30.0..80.0).contains(&point.figure("extra_acked")), "{}", point.figure("extra_acked"));
    assert!(run.goodput(0, 5.0, 20.0) > 0.9 * 20.0 * 1448.0 / 1500.0, "{}", run.goodput(0, 5.0, 20.0));
}

#[test]
fn a_13_a_path_shorter_than_a_packet_keeps_four_in_flight() {
    // 0.4 packets fit in.
    let run = bulk(&Bottleneck::new(0.5, 10.0, 100), 60.0);
    let late: Vec<&Point> = run.points.iter().filter(|p| p.at > 10.0).collect();
    assert!(late.iter().all(|p| p.cwnd >= 4 && p.cwnd <= 12), "{:?}", late.iter().map(|p| p.cwnd).max());
    assert!(run.goodput(0, 10.0, 60.0) > 0.9 * 0.5 * 1448.0 / 1500.0);
}

#[test]
fn a_14_a_path_that_gets_ten_times_faster_is_filled() {
    let mut path = Bottleneck::new(4.0, 60.0, 1000);
    path.rates.push((10.0, 40.0));
    let run = bulk(&path, 26.0);
    assert!(run.goodput(0, 5.0, 10.0) > 0.9 * 4.0 * 1448.0 / 1500.0);
    let reached = run.points.iter().find(|p| p.at > 10.0 && p.figure("max_bw") > 0.9 * segments(40.0));
    let reached = reached.expect("the full rate is found").at;
    // One wait for a probe, then log2 of the growth over 1.25 per round trip, and the queue of each round.
    assert!(reached < 22.0, "{reached}");
}

#[test]
fn a_15_a_path_that_gets_ten_times_slower_is_believed() {
    let mut path = Bottleneck::new(40.0, 60.0, 250);
    path.rates.push((10.0, 4.0));
    let run = bulk(&path, 30.0);
    let short = run.points.iter().find(|p| p.at > 10.0 && p.figure("bw_shortterm").is_finite()).expect("a bound");
    assert!(short.at < 12.0, "{}", short.at);
    let believed = run.points.iter().find(|p| p.at > 10.0 && p.figure("max_bw") < 1.1 * segments(4.0));
    let believed = believed.unwrap_or_else(|| panic!("{:?} {:?}", run.phases(0), run.points.last()));
    assert!(believed.at < 25.0, "{}", believed.at);
    assert!(run.goodput(0, 20.0, 30.0) > 0.85 * 4.0 * 1448.0 / 1500.0);
}

#[test]
fn a_16_a_policer_is_conformed_to() {
    let mut path = Bottleneck::new(100.0, 60.0, 2000);
    path.policer = Some((10.0, 100.0));
    let run = bulk(&path, 40.0);
    assert!(run.points.iter().any(|p| p.figure("bw_shortterm").is_finite()));
    let goodput = run.goodput(0, 20.0, 40.0);
    assert!(goodput > 0.7 * 10.0, "{goodput}");
    let sent = run.queue.iter().filter(|q| q.0 > 20.0).count() + run.drops_between(20.0, 40.0);
    let lost = run.drops_between(20.0, 40.0) as f64 / sent as f64;
    assert!(lost < 0.05, "{lost}");
}

#[test]
fn a_17_a_recovery_that_was_needless_leaves_the_bounds() {
    let mut path = Bottleneck::new(10.0, 60.0, 1000);
    path.reorder = Some((400, 90.0));
    let run = bulk(&path, 20.0);
    let host = &run.hosts[0].sender;
    assert!(host.retransmissions() > 0, "nothing was repeated");
    assert!(run.goodput(0, 5.0, 20.0) > 0.9 * 10.0 * 1448.0 / 1500.0, "{}", run.goodput(0, 5.0, 20.0));
}

#[test]
fn a_18_an_rtt_probe_before_the_pipe_is_full_leads_back_to_startup() {
    let mut flow = Flow::bulk("bbr3");
    // 0.6 Mbit/s from the application for 7 s, never idle: Startup has not ended when the probe is due.
    flow.writes = pulsed(0.0, 7.0, 0.02, 1448);
    flow.writes.push((7.5, 1 << 30));
    let mut path = Bottleneck::new(20.0, 60.0, 1000);
    path.rtts.push((1.0, 80.0));
    let run = run(&path, vec![flow], 12.0);
    let probe = first(&run, "probe-rtt", 0.0);
    assert!((5.0..7.5).contains(&probe), "{:?}", run.phases(0));
    assert_eq!(next_phase(&run, probe).1, "startup");
    assert!(run.goodput(0, 9.0, 12.0) > 0.8 * 20.0 * 1448.0 / 1500.0);
}

#[test]
fn a_20_an_idle_application_does_not_lower_the_bandwidth() {
    let path = Bottleneck::new(10.0, 60.0, 1000);
    let refill = first(&bulk(&path, 12.0), "probe-bw-refill", 0.0);
    let mut flow = Flow::bulk("bbr3");
    // As much as leaves until REFILL begins, then a trickle for a round trip, then more.
    let until = bulk(&path, refill).points.last().unwrap().acked + 75_000;
    flow.writes = vec![(0.0, until)];
    flow.writes.extend(pulsed(refill + 0.02, refill + 0.2, 0.02, 3_000));
    flow.writes.push((refill + 0.2, 1 << 30));
    let run = run(&path, vec![flow], refill + 3.0);
    let low = run.points.iter().filter(|p| p.at > refill).map(|p| p.figure("max_bw")).fold(f64::MAX, f64::min);
    assert!(low > 0.95 * segments(10.0), "{low}");
    first(&run, "probe-bw-up", refill);
}

#[test]
fn loss_below_the_threshold_is_borne_over_a_geostationary_path() {
    let mut path = Bottleneck::new(20.0, 600.0, 1500);
    path.loss = 0.005;
    let run = bulk(&path, 60.0);
    let goodput = run.goodput(0, 20.0, 60.0);
    assert!(goodput > 0.75 * 20.0 * 1448.0 / 1500.0, "{goodput}");
    // Half a bandwidth-delay product of queue takes 300 ms.
    assert!(run.mean_queue(20.0, 60.0) < 300.0, "{}", run.mean_queue(20.0, 60.0));
}

#[test]
fn two_flows_share_a_queue_of_one_bandwidth_delay_product() {
    let path = Bottleneck::new(20.0, 50.0, 84);
    let run = run(&path, vec![Flow::bulk("bbr3"), Flow::bulk("bbr3").from(3.0)], 60.0);
    let shares = [run.goodput(0, 20.0, 60.0), run.goodput(1, 20.0, 60.0)];
    assert!(jain(&shares) > 0.9, "{shares:?}");
    assert!(shares[0] + shares[1] > 0.9 * 20.0 * 1448.0 / 1500.0, "{shares:?}");
}
