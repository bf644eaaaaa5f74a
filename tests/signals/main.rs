//! What the network tells senders besides losses: marks, and which packets it drops first.

use serde_json::{Value, json};
use skyhop::Run;
use skyhop_sim::records::DropCause;
use skyhop_tests::run_json;

const BOTTLENECK: &str = "left->right";

/// Flows of the given transports through one bottleneck of 5 Mbit/s, RTT 102 ms and 43 packets of delay times rate.
fn network(queue: &Value, flows: &[Value], duration: &str) -> Value {
    let flow = |(i, tcp): (usize, &Value)| {
        json!({
            "name": format!("f{i}"), "from": "left", "to": "right", "tcp": tcp, "start": format!("{} ms", 137 * i),
            "access": { "rate": "100 Mbit/s", "delay": "0.5 ms" }, "jitter": "1 ms",
        })
    };
    json!({
        "duration": duration, "profile": "rfc",
        "links": [{
            "between": ["left", "right"], "rate": "5 Mbit/s", "delay": "50 ms",
            "forward": { "queue": queue }, "backward": { "queue": "unlimited" },
        }],
        "flows": flows.iter().enumerate().map(flow).collect::<Vec<_>>(),
        "records": { "grid": "10 ms" },
    })
}

fn bottleneck(run: &Run) -> &skyhop_sim::records::LinkSummary {
    let at = run.records.link_names.iter().position(|name| name == BOTTLENECK).expect("the bottleneck");
    &run.records.links[at]
}

/// (time, window before, window after) of every fall of the window between two points of the grid.
fn cuts(run: &Run) -> Vec<(f64, f64, f64)> {
    let rows: Vec<_> = run.records.flow_series.iter().filter(|row| row.flow == 0).collect();
    let pair = |pair: &[&skyhop_sim::records::FlowSeriesRow]| {
        let (before, after) = (pair[0].cwnd?, pair[1].cwnd?);
        (after < before).then(|| (pair[1].time.as_secs_f64(), before, after))
    };
    rows.windows(2).filter_map(pair).collect()
}

/// RFC 3168 §6.1.2: a mark is answered as a loss, at most once per window of data, and nothing is sent again.
#[test]
fn marks_cut_once_per_window_and_cost_nothing() {
    let queues = [
        json!({ "drop_tail": { "packets": 400, "mark_above": 40 } }),
        json!({ "red": { "packets": 400, "min": 20, "max": 60, "ecn": true } }),
    ];
    for queue in queues {
        for name in ["reno", "newreno", "sack"] {
            let tcp = json!({ "name": name, "ecn": "on", "initial_ssthresh": 60, "window": 10_000 });
            let run = run_json(&network(&queue, &[tcp], "120 s"), 1);
            let (flow, link) = (&run.records.flows[0], bottleneck(&run));
            let what = format!("{name} at {queue}");
            assert_eq!((flow.retransmissions, flow.timeouts), (0, 0), "{what}");
            assert_eq!((flow.drops, flow.ack_drops), (Default::default(), Default::default()), "{what}");
            // From 83 packets to half and up again in 42 round trips of 0.1 to 0.2 s: one in 6.5 s, 120 s have 18. RED
            // cuts sooner.
            assert!((12..=40).contains(&flow.cwnd_cuts), "{what}: {} cuts", flow.cwnd_cuts);
            assert!(link.marked >= flow.cwnd_cuts, "{what}: {} marks", link.marked);
            let cuts = cuts(&run);
            assert_eq!(cuts.len() as u64, flow.cwnd_cuts, "{what}");
            for &(time, before, after) in &cuts {
                assert!((after / before - 0.5).abs() < 0.03, "{what}: {before} to {after} at {time} s");
            }
            for pair in cuts.windows(2) {
                assert!(pair[1].0 - pair[0].0 > 0.1, "{what}: two cuts in a round trip, at {} s", pair[0].0);
            }
            // 1460 of 1500 B are user data.
            assert!((0.85..=0.9734).contains(&(flow.goodput_bps / 5e6)), "{what}: {}", flow.goodput_bps);
        }
    }
}

/// The queue drops what it may not mark: of a sender without ECN, and of any without the option.
#[test]
fn what_cannot_be_marked_is_dropped() {
    let red = |ecn: bool| json!({ "red": { "packets": 400, "min": 20, "max": 60, "ecn": ecn } });
    let run = |ecn: bool, tcp: Value| run_json(&network(&red(ecn), &[tcp], "60 s"), 1);
    let capable = || json!({ "name": "sack", "ecn": "on", "window": 10_000 });
    for other in [run(true, json!({ "name": "sack", "window": 10_000 })), run(false, capable())] {
        assert_eq!(bottleneck(&other).marked, 0);
        assert!(bottleneck(&other).drops[DropCause::Queue as usize] > 0);
        assert!(other.records.flows[0].retransmissions > 0);
    }
    // Slow start carries the average beyond `max`, where also capable packets are dropped (RFC 3168 §7).
    let marking = run(true, capable());
    assert!(bottleneck(&marking).marked > 0);
}

fn peach(name: &str) -> Value {
    json!({ "name": name, "window": 200, "sudden_start_window": 64 })
}

/// The dummies go first: as long as one waits, a full queue drops no data.
#[test]
fn dummies_are_dropped_first() {
    let reno = json!({ "name": "newreno", "window": 200 });
    for name in ["peach", "peach+"] {
        let lost = |priority: &str| {
            let queue = json!({ "drop_tail": { "packets": 40, "priority": priority } });
            let run = run_json(&network(&queue, &[peach(name), reno.clone()], "120 s"), 1);
            let flow = &run.records.flows[0];
            assert!(flow.probes > 100, "{name}: {} dummies", flow.probes);
            assert!(flow.retransmissions < flow.packets_sent / 50, "dummies do not count as retransmissions");
            let drops = bottleneck(&run).drops;
            (drops[DropCause::Priority as usize], drops[DropCause::Queue as usize])
        };
        let (low, normal) = lost("low-first");
        let (none, more) = lost("ignored");
        assert!(low > 50 && none == 0, "{name}: {low} dummies lost");
        assert!(10 * normal < 7 * more, "{name}: {normal} others lost, {more} where dummies count as much");
    }
}

/// Peach takes back with its dummies what both gave up at a loss, so beside it a Reno gets less than beside another
/// Reno, but no less than two thirds: the dummies themselves take nothing from it.
#[test]
fn a_reno_beside_a_peach_keeps_most_of_its_share() {
    let reno = json!({ "name": "newreno", "window": 200 });
    let of_reno = |other: &Value| {
        let queue = json!({ "drop_tail": { "packets": 40 } });
        let goodput = |seed| {
            let run = run_json(&network(&queue, &[other.clone(), reno.clone()], "300 s"), seed);
            run.records.flows[1].goodput_bps
        };
        (1..=3).map(goodput).sum::<f64>() / 3.0
    };
    let beside_itself = of_reno(&reno);
    for name in ["peach", "peach+"] {
        let share = of_reno(&peach(name)) / beside_itself;
        assert!((0.65..1.0).contains(&share), "{name}: {share}");
    }
}
