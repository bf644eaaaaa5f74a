//! Controls against the closed formulas of their documents: every 1/p-th segment is lost.

use crate::support::Loop;
use skyhop_cc::{Bundle, HighspeedConfig};

fn within(got: f64, expected: f64, share: f64, what: &str) {
    let off = got / expected - 1.0;
    assert!(off.abs() <= share, "{what}: expected {expected:.1}, got {got:.1} ({:+.1} %)", 100.0 * off);
}

/// Mean window of a control when one in `period` segments is lost.
fn mean_window(name: &str, bundle: Bundle, rtt: f64, period: u64) -> f64 {
    Loop::new(name, bundle, rtt, 30.0).lose_every(period, 30, 20).mean_window
}

#[test]
fn reno_and_naive_reno_follow_the_square_root() {
    // W = sqrt(1.5 / p): Mathis et al. 1997.
    for name in ["reno", "naive_reno"] {
        for period in [100, 1_000, 10_000] {
            let expected = (1.5 * period as f64).sqrt();
            within(mean_window(name, Bundle::Rfc, 0.1, period), expected, 0.05, name);
        }
    }
}

#[test]
fn highspeed_follows_its_response_function() {
    // RFC 3649 §5: W = 0.12 / p^0.835.
    for period in [1_000_u64, 10_000, 100_000] {
        let expected = 0.12 * (period as f64).powf(0.835);
        within(mean_window("highspeed", Bundle::Rfc, 0.1, period), expected, 0.10, "rfc");
    }
    // The table that Linux uses rounds a up by less than 1, so W is higher by up to 1/a.
    let config = HighspeedConfig::of(Bundle::Rfc);
    for period in [10_000_u64, 100_000] {
        let expected = 0.12 * (period as f64).powf(0.835);
        let most = 1.0 / config.a(expected);
        within(
            mean_window("highspeed", Bundle::Ns2Linux, 0.1, period),
            expected * (1.0 + most / 2.0),
            most / 2.0,
            "linux",
        );
    }
}

/// Mean window of RFC 9438 §5.1 eq. 6 for C = 0.4.
fn cubic_mean(beta: f64, rtt: f64, period: f64) -> f64 {
    (0.4 * (3.0 + beta) / (4.0 * (1.0 - beta))).powf(0.25) * (rtt * period).powf(0.75)
}

#[test]
fn cubic_follows_its_mean_window() {
    // cubic_average_window: RTT 0.6 s, p = 1e-4.
    assert!((cubic_mean(0.7, 0.6, 1e4) - 718.4285044613399).abs() < 1e-6);
    for (rtt, period) in [(0.6, 10_000), (0.6, 1_000), (0.1, 100_000)] {
        let expected = cubic_mean(0.7, rtt, period as f64);
        within(mean_window("cubic", Bundle::Rfc, rtt, period), expected, 0.10, "cubic");
    }
}

#[test]
fn cubic_is_reno_where_reno_is_faster() {
    // RFC 9438 §5.2 table 2 compares at RTT 0.1 s and 0.01 s; §4.3: with α the mean window is Reno's, sqrt(1.5/p).
    for period in [100, 1_000] {
        let expected = (1.5 * period as f64).sqrt();
        let got = mean_window("cubic", Bundle::Rfc, 0.01, period);
        within(got, expected, 0.15, "friendly region");
    }
}

#[test]
fn scalable_follows_its_response_function() {
    // Kelly 2003 §3: W = (a / b) / p, a = 0.01, b = 1/8, so the time between losses does not depend on W.
    for period in [10_000_u64, 100_000] {
        let expected = 0.01 / 0.125 * period as f64;
        within(mean_window("scalable", Bundle::Rfc, 0.1, period), expected, 0.10, "scalable");
    }
}

#[test]
fn hybla_is_as_fast_as_the_reference_connection() {
    // Caini and Firrincieli §3: segments per second are those of Reno at 25 ms, so the mean window is ρ times as large.
    for period in [1_000_u64, 10_000] {
        for rtt in [0.025, 0.25] {
            let expected = rtt / 0.025 * (1.5 * period as f64).sqrt();
            within(mean_window("hybla", Bundle::Rfc, rtt, period), expected, 0.07, "hybla");
        }
    }
}
