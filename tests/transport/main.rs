//! Long runs of the whole engine: what every TCP makes of a bottleneck, against closed formulas. With `SHOW=1` every
//! test prints its numbers.

mod equilibria;

use serde_json::{Value, json};
use skyhop::Run;
use skyhop_tests::run_json;
use std::fmt::Write;

/// What a segment of 1500 B leaves its user.
const PAYLOAD: f64 = 1460.0 / 1500.0;

pub fn shows() -> bool {
    std::env::var("SHOW").is_ok()
}

/// 10 Mbit/s and 100 ms hold 83 packets.
const RATE_BPS: f64 = 10e6;
const HELD: f64 = 83.3;
const SECONDS: f64 = 200.0;

fn bottleneck(tcp: &str, flows: u32, queue: Value) -> Run {
    let flow = |i: u32| {
        json!({ "name": format!("f{i}"), "from": "left", "to": "right", "tcp": tcp,
                "start": format!("{} ms", 100 * i) })
    };
    let network = json!({
        "duration": format!("{SECONDS} s"), "profile": "rfc",
        "links": [{ "between": ["left", "right"], "rate": "10 Mbit/s", "delay": "50 ms", "queue": queue }],
        "flows": (0..flows).map(flow).collect::<Vec<_>>(),
    });
    run_json(&network, 1)
}

/// Sums over the flows of a run.
#[derive(Debug)]
struct Sums {
    /// Goodput as a share of the capacity that headers leave.
    share: f64,
    timeouts: u64,
    packets: f64,
    retransmissions: f64,
    drops: f64,
}

fn sums(run: &Run) -> Sums {
    let flows = &run.records.flows;
    let bytes: u64 = flows.iter().map(|flow| flow.bytes_delivered).sum();
    Sums {
        share: bytes as f64 * 8.0 / SECONDS / (RATE_BPS * PAYLOAD),
        timeouts: flows.iter().map(|flow| flow.timeouts).sum(),
        packets: flows.iter().map(|flow| flow.packets_sent).sum::<u64>() as f64,
        retransmissions: flows.iter().map(|flow| flow.retransmissions).sum::<u64>() as f64,
        drops: run.records.drops.iter().filter(|drop| !drop.is_ack).count() as f64,
    }
}

/// Share of the link that one halving sawtooth fills, from (held + queue)/2 to held + queue segments, one more per
/// round trip: below `held` segments a round trip takes as long as the path, above it the queue makes it longer.
fn sawtooth(queue: f64) -> f64 {
    let (low, top) = ((HELD + queue) / 2.0, HELD + queue);
    if low >= HELD {
        return 1.0;
    }
    let data = (top * top - low * low) / 2.0;
    let rounds_below = HELD - low;
    data / (rounds_below * HELD + (top * top - HELD * HELD) / 2.0)
}

/// What a TCP needs other bounds for than Reno's sawtooth gives, and why: the least share of the link, the most
/// timeouts of a flow, the most retransmissions of a hundred packets.
fn exception(name: &str) -> Option<(f64, f64, f64)> {
    Some(match name {
        // Slow start after every loss.
        "tahoe" => (0.65, 1.0, 1.5),
        // Two losses of one window end in a timeout.
        "reno" => (0.83, 25.0, 0.6),
        // Its text lets every ACK that took no shorter than the last one shrink the window.
        "yam" => (0.0, 2.0, 100.0),
        // The slow start of sudden start repeats for every timeout, dummies go with it.
        "peach" | "peach+" => (0.83, 2.0, 1.0),
        // It gives way to any queue.
        "lp" => (0.7, 1.0, 0.2),
        // ρ = 4 (100 ms over 25 ms): 16 segments more per round trip, so as many lost per cycle of W/32 round trips.
        "hybla" => (0.8, 20.0, 20.0),
        // They grow by 10 and more segments per round trip, and lose as many at the end of a cycle.
        "htcp" => (0.9, 1.0, 3.5),
        "bic" | "scalable" | "illinois" | "yeah" => (0.9, 4.0, 1.0),
        // Five times 20 segments are more than either queue holds.
        "fast" => (0.75, 3.0, 1.5),
        // The estimate of the first version is too high, so the cut is small (Mascolo et al. 2004).
        "westwood" => (0.9, 50.0, 4.0),
        _ => return None,
    })
}

/// A queue of the path's length, one of a quarter, and five flows over the first.
#[test]
fn no_tcp_collapses_behind_drop_tail() {
    let mut report = String::new();
    for name in skyhop_transport::TcpSpec::names() {
        for (queue, flows) in [(84, 1), (21, 1), (84, 5)] {
            let got = sums(&bottleneck(name, flows, json!({ "drop_tail": { "packets": queue } })));
            // 5 % for the first slow start and the round trips of recovery.
            let bounds = exception(name).unwrap_or((0.95 * sawtooth(f64::from(queue)), 2.0, 0.6));
            let again = 100.0 * got.retransmissions / got.packets;
            let timeouts = got.timeouts as f64 / f64::from(flows);
            let broken = !(bounds.0..=1.0).contains(&got.share) || timeouts > bounds.1 || again > bounds.2;
            if broken || shows() {
                let _ = writeln!(
                    report,
                    "{name}, {flows} flows, queue {queue}: share {:.3}, {timeouts} timeouts per flow, {again:.2} % \
                     again{}",
                    got.share,
                    if broken { "  <- broken" } else { "" }
                );
            }
        }
    }
    eprint!("{report}");
    assert!(!report.contains("broken"), "{report}");
}

/// Mathis, Semke, Mahdavi and Ott 1997: a share p of losses goes with sqrt(1.5 / p) segments per round trip. RED loses
/// single segments, so five flows that fill a link lose no more than its formula says for their windows, but for what
/// bursts add.
#[test]
fn red_drops_what_the_windows_ask_for() {
    let mut report = String::new();
    for recovery in ["newreno", "sack", "fack"] {
        let run = bottleneck(recovery, 5, json!({ "red": { "packets": 168 } }));
        let got = sums(&run);
        let (lost, again) = (got.drops / got.packets, got.retransmissions / got.drops);
        let rtt_s = run.records.flows.iter().map(|flow| flow.rtt.mean_s).sum::<f64>() / 5.0;
        let window = got.packets / SECONDS * rtt_s / 5.0;
        let mathis = 1.5 / (window * window);
        let timeouts = got.timeouts as f64 / got.drops;
        let broken = !(0.7..=1.0).contains(&got.share)
            || !(1.0..=2.0).contains(&(lost / mathis))
            || !(0.99..=1.3).contains(&again)
            || timeouts > 0.05;
        if broken || shows() {
            let _ = writeln!(
                report,
                "{recovery}: share {:.3}, {} drops, {:.2} times Mathis for {window:.1} segments, {again:.3} \
                 retransmissions and {timeouts:.3} timeouts per drop{}",
                got.share,
                got.drops,
                lost / mathis,
                if broken { "  <- broken" } else { "" }
            );
        }
    }
    eprint!("{report}");
    assert!(!report.contains("broken"), "{report}");
}

/// Under RED, too, every TCP keeps half of the link busy and repeats little more than what was lost.
#[test]
fn no_tcp_collapses_behind_red() {
    let mut report = String::new();
    for name in skyhop_transport::TcpSpec::names() {
        for flows in [1, 5] {
            let got = sums(&bottleneck(name, flows, json!({ "red": { "packets": 168 } })));
            let least = if *name == "yam" { 0.0 } else { 0.5 };
            // Without selective reports a timeout sends again what the receiver has; Tahoe does it after every loss,
            // and five times FAST's 20 segments are more than RED lets wait.
            let most = if ["tahoe", "reno", "peach", "fast"].contains(name) { 2.5 } else { 1.5 };
            let again = got.retransmissions / got.drops.max(1.0);
            let broken = !(least..=1.0).contains(&got.share) || again > most;
            if broken || shows() {
                let _ = writeln!(
                    report,
                    "{name}, {flows} flows: share {:.3}, {} drops, {again:.3} retransmissions per drop, {} timeouts{}",
                    got.share,
                    got.drops,
                    got.timeouts,
                    if broken { "  <- broken" } else { "" }
                );
            }
        }
    }
    eprint!("{report}");
    assert!(!report.contains("broken"), "{report}");
}
