//! Greedy flows over a wire with a queue discipline.

use super::run;
use skyhop_sim::Records;

/// How long a load lasts, s.
pub const SECONDS: f64 = 120.0;
/// Flows start at random within so many seconds.
pub const SPREAD: f64 = 5.0;

/// Flows of one kind over 10 Mbit/s.
pub struct Load<'a> {
    pub queue: &'a str,
    pub flows: u32,
    pub tcp: &'a str,
    pub rtt_ms: f64,
    pub profile: &'a str,
}

impl Load<'_> {
    pub fn run(&self) -> Records {
        let Load { queue, flows, tcp, rtt_ms, profile } = self;
        let delay_ms = rtt_ms / 2.0;
        let text = format!(
            r#"
            duration = "{SECONDS} s"
            profile = "{profile}"

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
            start_spread = "{SPREAD} s"
            "#
        );
        run(&text, 1)
    }
}
