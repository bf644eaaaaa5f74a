//! Queue disciplines against what their authors published, and against closed formulas of the senders that they meet.

use crate::support::load::{Load, SECONDS, SPREAD};
use crate::support::run;
use skyhop_sim::Records;

/// 10 Mbit/s and packets of 1500 B: 1.2 ms each.
const PACKET_MS: f64 = 1.2;

/// Median and 95 % of the waiting times on the link forward, ms.
fn waits_ms(records: &Records) -> (f64, f64) {
    let sojourn = records.links[0].sojourn.as_ref().expect("the queue is asked at each departure");
    (sojourn.median_s * 1e3, sojourn.p95_s * 1e3)
}

/// Prints what a test found; `--nocapture` shows it.
fn show(what: &str) {
    eprintln!("{what}");
}

const CODELS: [&str; 2] = [r#""codel""#, r#"{ codel = { variant = "rfc" } }"#];
/// Every segment is acknowledged, so that segments leave one by one.
const SINGLE: &str = r#"{ recovery = "newreno", mss = "1460 B", window = 10000, ack_every = 1 }"#;
const DELAYED: &str = r#"{ recovery = "newreno", mss = "1460 B", window = 10000 }"#;

/// The window of one Reno under CoDel, between half of its top and its top, one segment more every round trip.
///
/// It passes what the path holds, then target; the first drop comes an interval later (RFC 8289 §4.1) and shows at the
/// sender a round trip after that. A round of w segments sends w packets, so that the share q of all packets leaves
/// with a window of at most top · sqrt(1/4 + 3q/4).
fn sawtooth_wait_ms(rtt_ms: f64, share: f64) -> f64 {
    let (target_ms, interval_ms) = (5.0, 100.0);
    let round_ms = rtt_ms + target_ms;
    let top = round_ms / PACKET_MS + (interval_ms + round_ms) / round_ms;
    (top * (0.25 + 0.75 * share).sqrt() * PACKET_MS - rtt_ms).max(0.0)
}

/// The closed formula of the sawtooth, which no parameter fits.
#[test]
fn one_reno_waits_under_codel_as_its_sawtooth_says() {
    for queue in CODELS {
        for rtt_ms in [20.0, 30.0, 50.0, 100.0, 200.0] {
            let (median_ms, p95_ms) = waits_ms(&Load { queue, flows: 1, tcp: SINGLE, rtt_ms, profile: "rfc" }.run());
            let formula = [0.5, 0.95].map(|share| sawtooth_wait_ms(rtt_ms, share));
            let found = format!("{queue}, {rtt_ms} ms: {median_ms:.2} and {p95_ms:.2} ms, formula {formula:.2?}");
            show(&found);
            assert!((p95_ms / formula[1] - 1.0).abs() < 0.2, "{found}");
            // Waits are whole packets here.
            assert!((median_ms - formula[0]).abs() < 1.5 * PACKET_MS, "{found}");
        }
    }
}

/// Nichols and Jacobson, "Controlling Queue Delay", 2012, plot medians of 2 to 8 ms. One Reno has them where half of
/// its window still fills the path, at round trips far below the interval. At 100 ms its queue is empty for most of
/// the time, and the packet before it is all that a packet waits for: ns-3 finds the same 1.2 ms
/// (`tests/reference/ns3-queues`, `codel-1`).
#[test]
fn one_reno_keeps_a_median_near_target_only_at_short_round_trips() {
    for queue in CODELS {
        for (profile, tcp) in [("rfc", SINGLE), ("rfc", DELAYED), ("linux", r#"{ name = "reno" }"#)] {
            let median_ms = |rtt_ms| waits_ms(&Load { queue, flows: 1, tcp, rtt_ms, profile }.run()).0;
            for rtt_ms in [10.0, 20.0] {
                let found = median_ms(rtt_ms);
                show(&format!("{queue}, {profile}, {rtt_ms} ms: median {found:.2} ms"));
                assert!((2.0..=8.0).contains(&found), "{queue}, {profile}, {tcp}, {rtt_ms} ms: {found} ms");
            }
            let found = median_ms(100.0);
            assert!((found - PACKET_MS).abs() < 0.1, "{queue}, {profile}, {tcp}: {found} ms");
        }
    }
}

/// Padhye, Firoiu, Towsley and Kurose, IEEE/ACM ToN 8(2), 2000, equation 28 with b = 1: segments that a Reno sends per
/// second at a loss rate, a round trip and a timeout.
fn padhye(p: f64, rtt_s: f64, timeout_s: f64) -> f64 {
    let w = 1.0 + (8.0 * (1.0 - p) / (3.0 * p) + 1.0).sqrt();
    let (kept, three) = ((1.0 - p).powf(w), (1.0 - p).powi(3));
    let q = ((1.0 - three) * (1.0 + three * (1.0 - kept / three)) / (1.0 - kept)).min(1.0);
    let f = 1.0 + p + 2.0 * p.powi(2) + 4.0 * p.powi(3) + 8.0 * p.powi(4) + 16.0 * p.powi(5) + 32.0 * p.powi(6);
    ((1.0 - p) / p + w + q / (1.0 - p)) / (rtt_s * (w / 2.0 + 1.0) + q * timeout_s * f / (1.0 - p))
}

/// Segments that each of fifty flows sends per second.
fn rate(records: &Records) -> f64 {
    let sent = records.flows.iter().map(|flow| flow.packets_sent).sum::<u64>() as f64;
    sent / 50.0 / (SECONDS - SPREAD / 2.0)
}

/// The same for independent losses on a link without a queue.
fn rate_at_random_losses(tcp: &str, p: f64, rtt_s: f64) -> f64 {
    let delay_us = rtt_s * 5e5;
    let text = format!(
        r#"
        duration = "{SECONDS} s"
        profile = "rfc"

        [[links]]
        between = ["left", "right"]
        rate = "10 Gbit/s"
        delay = "{delay_us:.0} us"
        queue = "unlimited"
        forward = {{ errors = [{{ packet = {p} }}] }}

        [[flows]]
        name = "bulk"
        count = 50
        from = "left"
        to = "right"
        tcp = {tcp}
        start_spread = "{SPREAD} s"
        "#
    );
    rate(&run(&text, 1))
}

/// Fifty Renos have windows of two or three segments and time out most of the time. What each sends is what the model
/// says at the loss rate and the round trip that CoDel sets; the model is of Reno, and NewReno, which repairs several
/// losses of a window without a timeout, sends more, under independent losses, too. The round trip is that of the path
/// and the mean wait: the senders' own samples also hold the time in which an ACK waited for a repair.
#[test]
fn fifty_renos_under_codel_send_what_padhye_says() {
    for queue in CODELS {
        for (recovery, over_the_model) in [("reno", 0.9..=1.1), ("newreno", 1.2..=1.6)] {
            let tcp = format!(r#"{{ recovery = "{recovery}", mss = "1460 B", window = 10000, ack_every = 1 }}"#);
            let records = Load { queue, flows: 50, tcp: &tcp, rtt_ms: 100.0, profile: "rfc" }.run();
            let flows = &records.flows;
            let dropped = flows.iter().map(|flow| flow.drops.iter().sum::<u64>()).sum::<u64>() as f64;
            let p = dropped / flows.iter().map(|flow| flow.packets_sent).sum::<u64>() as f64;
            let rtt_s = 0.1 + PACKET_MS / 1e3 + records.links[0].sojourn.as_ref().unwrap().mean_s;
            let sampled_s = flows.iter().map(|flow| flow.rtt.mean_s).sum::<f64>() / 50.0;
            let (found, model) = (rate(&records), padhye(p, rtt_s, 1.0));
            let random = rate_at_random_losses(&tcp, p, rtt_s);
            let said = format!(
                "{queue}, {recovery}: {found:.1} segments/s at {p:.4} and {rtt_s:.3} s (samples {sampled_s:.3} s), \
                 model {model:.1}, independent losses {random:.1}"
            );
            show(&said);
            assert!(over_the_model.contains(&(found / model)), "{said}");
            assert!((0.9..=1.1).contains(&(found / random)), "{said}");
        }
    }
}

/// Pan et al., "PIE: a lightweight control scheme to address the bufferbloat problem", HPSR 2013: 10 Mbit/s and 100 ms,
/// a light load of 5 flows and a heavy one of 50, a reference of 20 ms, which the delay keeps to whatever the load.
#[test]
fn pie_keeps_to_its_reference_under_light_and_heavy_load() {
    for variant in ["linux", "rfc"] {
        for flows in [5, 50] {
            let queue = format!(r#"{{ pie = {{ variant = "{variant}", target = "20 ms" }} }}"#);
            let (median_ms, p95_ms) =
                waits_ms(&Load { queue: &queue, flows, tcp: DELAYED, rtt_ms: 100.0, profile: "rfc" }.run());
            let found = format!("{variant}, {flows} flows: {median_ms:.1} and {p95_ms:.1} ms");
            show(&found);
            assert!((14.0..=26.0).contains(&median_ms), "{found}");
        }
    }
}
