//! Links that repair their own errors serve nothing in the past: no packet is faster than transmission and propagation.

use crate::support::run;

/// 20 Mbit/s, 10 ms: 1500 B take 0.6 ms, so the shortest path takes 10.6 ms (a SYN of 40 B: 10.016 ms).
fn scenario(error: f64, repair: &str) -> String {
    format!(
        r#"
        duration = "3 s"
        profile = "rfc"

        [[links]]
        between = ["left", "right"]
        rate = "20 Mbit/s"
        delay = "10 ms"
        queue = {{ drop_tail = {{ packets = 10 }} }}
        errors = [{{ packet = {error} }}]
        repair = {repair}

        [[flows]]
        name = "flow"
        from = "left"
        to = "right"
        tcp = "newreno"
        application = "ftp"
        "#
    )
}

fn assert_not_faster_than_light(error: f64, repair: &str) {
    for seed in 1..=10 {
        let records = run(&scenario(error, repair), seed);
        let flow = &records.flows[0];
        assert!(flow.bytes_delivered > 0, "{repair}, seed {seed}");
        assert!(flow.delay.min_s >= 0.010_016 - 1e-9, "{repair}, seed {seed}: {} s", flow.delay.min_s);
        assert!(flow.rtt.min_s >= 0.020_032 - 1e-9, "{repair}, seed {seed}: {} s", flow.rtt.min_s);
        assert!(records.links.iter().all(|link| link.utilisation <= 1.0), "{repair}, seed {seed}");
    }
}

/// A packet that comes at the instant at which a block is closed waits for its parity.
#[test]
fn no_packet_is_served_before_it_comes_where_a_block_is_closed() {
    assert_not_faster_than_light(0.01, r#"{ erasure = { n = 20, k = 19, within = "5 ms" } }"#);
}

/// A packet that comes at the instant at which a repetition is due waits for it. Failures that are known at once fall
/// due while packets come, and without an order nothing else is late then.
#[test]
fn no_packet_is_served_before_it_comes_where_a_repetition_is_due() {
    for repeats in ["selective", "go-back-n"] {
        for when in ["", ", answer = \"500 B\"", ", round_trip = \"5 ms\""] {
            for order in ["kept", "as-it-comes"] {
                let arq = format!("arq = {{ tries = 4, repeats = \"{repeats}\"{when} }}");
                assert_not_faster_than_light(0.05, &format!("{{ {arq}, order = \"{order}\" }}"));
            }
        }
    }
}
