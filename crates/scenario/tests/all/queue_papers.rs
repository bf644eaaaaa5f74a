//! Queue disciplines against what their authors published, and against closed formulas of the senders that they meet.

use crate::support::run;
use skyhop_sim::Records;
use std::fmt::Write;

/// Greedy flows over a wire.
struct Load<'a> {
    queue: &'a str,
    flows: u32,
    tcp: &'a str,
    rtt_ms: f64,
    seconds: u32,
}

/// 10 Mbit/s and packets of 1500 B: 1.2 ms each.
const PACKET_MS: f64 = 1.2;

impl Load<'_> {
    fn run(&self) -> Records {
        let Load { queue, flows, tcp, rtt_ms, seconds } = self;
        let delay_ms = rtt_ms / 2.0;
        let text = format!(
            r#"
            duration = "{seconds} s"

            [[links]]
            between = ["left", "right"]
            rate = "10 Mbit/s"
            delay = "{delay_ms} ms"
            queue = "unlimited"
            forward = {{ queue = {queue} }}

            [[flows]]
            name = "bulk"
            count = {flows}
            from = "left"
            to = "right"
            tcp = {tcp}
            start_spread = "5 s"
            "#
        );
        run(&text, 1)
    }
}

/// Median and 95 % of the waiting times on the link forward, ms.
fn waits_ms(records: &Records) -> (f64, f64) {
    let sojourn = records.links[0].sojourn.as_ref().expect("the queue is asked at each departure");
    (sojourn.median_s * 1e3, sojourn.p95_s * 1e3)
}

fn shows() -> bool {
    std::env::var("SHOW").is_ok()
}

/// The window of one Reno under CoDel, between half of its top and its top, one segment more every `b` round trips.
///
/// It passes what the path holds, then target; the first drop comes an interval later (RFC 8289 §4.1) and shows at the
/// sender a round trip after that. A round of w segments sends w packets, so that the share q of all packets leaves
/// with a window of at most top · sqrt(1/4 + 3q/4).
struct Sawtooth {
    rtt_ms: f64,
    b: f64,
}

impl Sawtooth {
    const TARGET_MS: f64 = 5.0;
    const INTERVAL_MS: f64 = 100.0;

    fn top(&self) -> f64 {
        let round_ms = self.rtt_ms + Self::TARGET_MS;
        let rounds = (Self::INTERVAL_MS + round_ms) / round_ms;
        (self.rtt_ms + Self::TARGET_MS) / PACKET_MS + rounds / self.b
    }

    /// What a share of the packets waits at most, ms.
    fn wait_ms(&self, share: f64) -> f64 {
        let window = self.top() * (0.25 + 0.75 * share).sqrt();
        (window * PACKET_MS - self.rtt_ms).max(0.0)
    }
}
