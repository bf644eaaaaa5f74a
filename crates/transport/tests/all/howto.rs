//! `docs/howto/add-a-congestion-control.md` is true: its example is compiled, run, and quoted word for word.

#[path = "../../../../docs/howto/binomial.rs"]
mod binomial;

use crate::support::pipe::Pipe;
use binomial::{Binomial, BinomialConfig, BinomialSpec};
use serde_json::json;
use skyhop_cc::{Bundle, Start};
use skyhop_transport::*;

#[test]
fn the_page_quotes_the_example() {
    let page = include_str!("../../../../docs/howto/add-a-congestion-control.md");
    let example = include_str!("../../../../docs/howto/binomial.rs");
    assert!(page.contains(&format!("```rust\n{example}```\n")), "the page and docs/howto/binomial.rs differ");
}

#[test]
fn the_configuration_is_read_like_any_other() {
    let spec: BinomialSpec = serde_json::from_value(json!({ "k": 1.0, "l": 0.0 })).unwrap();
    let config = spec.resolve(Bundle::Rfc);
    assert_eq!((config.alpha, config.k, config.l), (1.0, 1.0, 0.0));
    assert!(config.check().is_ok());
    let error = serde_json::from_value::<BinomialSpec>(json!({ "kappa": 1.0 })).unwrap_err().to_string();
    assert!(error.contains("kappa"), "{error}");
    assert_eq!(BinomialConfig::rows().len(), 4);
}

#[test]
fn the_example_runs_inside_a_sender() {
    // One segment in 8000 is lost. Between two losses the window w rises by α / w^k per round trip and a loss takes
    // β w^l; over a cycle the mean rate gives w̄ ≈ (α / (β p))^(1/(k+l+1)): paper §3, for k = l = 1/2.
    let config = BinomialConfig::of(Bundle::Rfc);
    let (alpha, beta, loss) = (config.alpha, config.beta, 1.0 / 8000.0);
    let spec: TcpSpec = serde_json::from_value(json!({ "name": "sack", "ack_every": 1 })).unwrap();
    let tcp = spec.resolve(Profile::Rfc).unwrap();
    let lose = |segment: &Segment| segment.transmission == Transmission::First && segment.seq % 8000 == 7999;
    let start = Start { cwnd: 1.0, ssthresh: 110.0, clamp: f64::INFINITY, mss: 1460 };
    let control = Box::new(Binomial::new(config, start));
    let mut pipe = Pipe::with_control(&tcp, control, 0.1, Supply::Unlimited, lose);
    pipe.run(600.0);
    let mean = pipe.window_seconds / pipe.now.as_secs_f64();
    let expected = (alpha / (beta * loss)).sqrt();
    assert!((0.9..1.1).contains(&(mean / expected)), "mean window {mean}, formula {expected}");
    assert_eq!(pipe.sender.counters().timeouts, 0);
}
