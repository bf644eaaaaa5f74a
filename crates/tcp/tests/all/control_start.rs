//! How reno and cubic start and how they answer marks: HyStart++, ABE, Careful Resume.

use crate::support::*;
use skyhop_tcp::control::ControlKind;
use skyhop_tcp::sender::EcnMode;

fn options(control: &str, options: serde_json::Value) -> ControlKind {
    let kind: ControlKind = serde_json::from_value(serde_json::json!({ control: options })).unwrap();
    kind.check().unwrap();
    kind
}

#[test]
fn hystart_plus_plus_ends_slow_start_before_the_queue_overflows() {
    // A queue of twelve bandwidth-delay products of 167. The first segments of a round were sent before the queue grew,
    // so that the smallest RTT of a round shows it two rounds late, at 640 segments; five conservative rounds of 1.25
    // make that at most 1953 of the 2167 that fit.
    let path = Bottleneck::new(20.0, 100.0, 2000);
    for control in ["reno", "cubic"] {
        let flow = |kind: &str| Flow::of(with_option(control, "slow_start", kind.into()));
        let plus = run(&path, vec![flow("hystart++")], 10.0);
        let conservative = |p: &&Point| p.phase == Some("conservative-slow-start");
        let end = plus.points.iter().rev().find(conservative).expect("a conservative slow start").at;
        // A round trip with the queue full takes 1.3 s. Later CUBIC's avoidance fills it.
        assert_eq!(plus.drops_between(0.0, end + 1.3), 0, "{control}");
        let ssthresh = plus.hosts[0].sender.ssthresh().expect("slow start ended");
        assert!((500..2100).contains(&ssthresh), "{control}: {ssthresh}");
    }
    let reno = run(&path, vec![Flow::bulk("reno")], 10.0);
    assert!(reno.drops_between(0.0, 10.0) > 50);
}

#[test]
fn search_ends_slow_start_after_the_path_is_full_and_before_the_queue_overflows() {
    // The draft's abstract: after the congestion point and before losses. The sending rate doubles per RTT up to the
    // point and stays twice the path's afterwards. An ACK s RTTs of that sending later, which arrives 1 + 2 s RTTs
    // after the point, compares 3.5 RTTs of full deliveries with twice (1 - 2^(s - 3.5)) / ln 2 + s: 35 % less at s =
    // 1.67. The window is 1 + 1 + 2 s = 5.3 bandwidth-delay products then. Two bins are 0.7 more or less, and packets
    // that come in bursts within an RTT instead of evenly may hide the point for one RTT.
    for (mbps, rtt_ms) in [(20.0, 600.0), (50.0, 50.0), (100.0, 20.0)] {
        let bdp = mbps * rtt_ms / 12.0;
        let path = Bottleneck::new(mbps, rtt_ms, (8.0 * bdp) as usize);
        for control in ["reno", "cubic"] {
            let flow = Flow::of(with_option(control, "slow_start", "search".into()));
            let run = run(&path, vec![flow], 20.0 * rtt_ms / 1e3);
            let ssthresh = f64::from(run.hosts[0].sender.ssthresh().expect("slow start ended"));
            assert!((4.9..7.0).contains(&(ssthresh / bdp)), "{control} {rtt_ms}: {ssthresh} of {bdp}");
            assert_eq!(run.dropped.len(), 0, "{control} {rtt_ms}");
        }
    }
    // Without it reno overflows the same queue.
    let path = Bottleneck::new(50.0, 50.0, 1667);
    assert!(!run(&path, vec![Flow::bulk("reno")], 2.0).dropped.is_empty());
}

#[test]
fn abe_keeps_more_of_the_window_after_a_mark() {
    // A queue that marks at 20 packets, a third of the bandwidth-delay product of 62: half the window empties it.
    let mut path = Bottleneck::new(15.0, 50.0, 500);
    path.mark_at = Some(20);
    for control in ["reno", "cubic"] {
        let flow = |abe: &str| Flow::of(with_option(control, "abe", abe.into())).with(|c| c.ecn = EcnMode::On);
        let (with, without) = (run(&path, vec![flow("on")], 40.0), run(&path, vec![flow("off")], 40.0));
        let goodput = [with.goodput(0, 10.0, 40.0), without.goodput(0, 10.0, 40.0)];
        assert!(goodput[0] > goodput[1], "{control}: {goodput:?}");
    }
}

#[test]
fn careful_resume_saves_most_of_the_slow_start_of_a_geostationary_path() {
    // 5 MB over 20 Mbit/s at 600 ms: 1000 segments fit in, saved was the window of a former connection.
    let path = Bottleneck::new(20.0, 600.0, 1000);
    for control in ["reno", "cubic"] {
        let time = |kind: ControlKind| {
            let mut flow = Flow::of(kind);
            flow.writes = vec![(0.0, 5_000_000)];
            let run = run(&path, vec![flow], 30.0);
            assert_eq!(run.dropped.len(), 0, "{control}");
            run.points.iter().find(|p| p.acked >= 5_000_000).expect("it ends").at
        };
        let resumed = time(options(control, serde_json::json!({ "resume": { "cwnd": 1400, "rtt": 0.6 } })));
        let plain = time(options(control, serde_json::json!({ "slow_start": "standard" })));
        // At the least: the handshake, one round trip for the initial window, the data at the link's rate, and a round
        // trip back; the jump is paced over a round trip at 700 of 1000 segments.
        let least = 0.6 + 0.6 + 5e6 * (1500.0 / 1448.0) * 8.0 / 20e6 + 0.6;
        assert!(resumed >= least && resumed < least + 1.3, "{control}: {resumed} s, at the least {least}");
        assert!(resumed + 1.0 < plain, "{control}: {resumed} s, without {plain}");
    }
}

#[test]
fn careful_resume_retreats_from_a_path_that_became_narrow() {
    // The saved window was that of a path ten times as fast.
    let path = Bottleneck::new(2.0, 600.0, 100);
    for control in ["reno", "cubic"] {
        let kind = options(control, serde_json::json!({ "resume": { "cwnd": 1000, "rtt": 0.6 } }));
        let run = run(&path, vec![Flow::of(kind)], 40.0);
        let retreat = run.points.iter().find(|p| p.phase == Some("safe-retreat")).expect("a retreat").at;
        assert!(retreat < 5.0, "{control}: {retreat}");
        // What the path had carried bounds the window afterwards, and the flow goes on.
        let after = run.points.iter().filter(|p| p.at > retreat + 5.0).map(|p| p.cwnd).max().unwrap();
        assert!(after < 300, "{control}: {after}");
        assert!(run.goodput(0, 15.0, 40.0) > 0.5 * 2.0, "{control}: {}", run.goodput(0, 15.0, 40.0));
    }
}

#[test]
fn careful_resume_heeds_the_rtt() {
    // A path of 50 ms is not the one of 600 ms.
    let path = Bottleneck::new(20.0, 50.0, 1000);
    let kind = options("cubic", serde_json::json!({ "resume": { "cwnd": 1400, "rtt": 0.6 } }));
    let series = |kind| run(&path, vec![Flow::of(kind)], 3.0).points.iter().map(|p| p.cwnd).collect::<Vec<_>>();
    assert_eq!(series(kind), series(ControlKind::named("cubic").unwrap()));
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let both = serde_json::json!({ "cubic": { "slow_start": "hystart++", "hystart": "off" } });
    let kind: ControlKind = serde_json::from_value(both).unwrap();
    let message = kind.check().unwrap_err().to_string();
    assert!(message.contains("no effect"), "{message}");
}
