//! When the flows of a count start.

use skyhop_scenario::Scenario;

fn text(flow: &str) -> String {
    format!(
        r#"
duration = "40 s"
profile = "rfc"
[[links]]
between = ["left", "right"]
rate = "2 Mbit/s"
delay = "50 ms"
[[flows]]
name = "user"
from = "left"
to = "right"
tcp = "reno"
{flow}
"#
    )
}

fn starts_s(flow: &str) -> Vec<f64> {
    let scenario = Scenario::from_toml(&text(flow), "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let spec = scenario.simulation_spec();
    spec.flows.iter().map(|flow| flow.start.as_secs_f64()).collect()
}

#[test]
fn a_count_starts_evenly_over_its_start_spread() {
    assert_eq!(starts_s("count = 4\nstart = \"1 s\"\nstart_spread = \"6 s\""), [1.0, 2.5, 4.0, 5.5]);
    // Names are ordered as numbers: user-10 follows user-9.
    let twelve = starts_s("count = 12\nstart_spread = \"12 s\"");
    assert_eq!(twelve, (0..12).map(f64::from).collect::<Vec<_>>());
}

#[test]
fn a_count_without_start_spread_starts_together() {
    assert_eq!(starts_s("count = 3\nstart = \"2 s\""), [2.0; 3]);
    assert_eq!(starts_s("count = 3\nstart = \"2 s\"\nstart_spread = \"0 s\""), [2.0; 3]);
}

#[test]
fn a_start_spread_without_effect_or_behind_the_end_is_refused() {
    for (flow, word) in [
        ("start_spread = \"5 s\"", "this flow has none"),
        ("count = 2\nstart = \"20 s\"\nstart_spread = \"21 s\"", "the end of the run"),
        ("count = 2\nstop = \"10 s\"\nstart_spread = \"11 s\"", "the end of the flows"),
    ] {
        let problems = Scenario::from_toml(&text(flow), "test", &[]).expect_err(flow).to_string();
        assert!(problems.contains(word), "{problems}");
    }
}

#[test]
fn the_canonical_form_keeps_the_start_spread() {
    let scenario = Scenario::from_toml(&text("count = 3\nstart_spread = \"6 s\""), "test", &[]).unwrap();
    let again = Scenario::from_json(&scenario.canonical(), "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(again.hash(), scenario.hash());
    let together = Scenario::from_toml(&text("count = 3"), "test", &[]).unwrap();
    assert_ne!(together.hash(), scenario.hash());
}
