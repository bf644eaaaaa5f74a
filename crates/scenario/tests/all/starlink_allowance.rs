//! What the profile `starlink` lets a link carry beyond a rate.

use super::starlink::scenario;
use serde_json::{Value, json};
use skyhop_scenario::Scenario;
use skyhop_sim::spec::{Allowance, LinkVariation};

fn with(up: &Value) -> Value {
    json!({ "duration": "1 s", "links": [{ "between": ["a", "b"], "delay": "1 ms",
        "forward": { "profile": { "starlink": up } }, "backward": { "profile": "starlink" } }] })
}

/// The allowance of the uplink.
fn allowance(value: &Value) -> Option<Allowance> {
    let links = scenario(value).simulation_spec().links.wired.clone();
    let LinkVariation::Slots(up) = &links[0].pace else { panic!("{links:?}") };
    up.allowance
}

#[test]
fn an_allowance_is_off_where_it_is_not_written() {
    for values in ["published", "recorded", "fitted", "loaded", "seattle-2023", "lagos-2023", "seoul-2026"] {
        assert_eq!(allowance(&with(&json!({ "values": values }))), None, "{values}");
    }
    let own = with(&json!({ "allowance": { "rate": "20 Mbit/s", "volume": "1 MB", "filled": 0.25 } }));
    assert_eq!(allowance(&own), Some(Allowance { rate: 20_000_000, bytes: 1_000_000, filled: 0.25 }));
    let full = with(&json!({ "allowance": { "rate": "20 Mbit/s", "volume": "1 MB" } }));
    assert_eq!(allowance(&full), Some(Allowance { rate: 20_000_000, bytes: 1_000_000, filled: 1.0 }));
    let canonical = serde_json::to_value(scenario(&own)).unwrap().to_string();
    assert!(canonical.contains("\"allowance\""), "{canonical}");
}

#[test]
fn an_allowance_without_effect_and_wrong_ones_are_refused() {
    let bucket = |rate: &str| json!({ "allowance": { "rate": rate, "volume": "1 MB" } });
    for (keys, said) in [
        (bucket("70 Mbit/s"), "no slot is faster than its rate of 70 Mbit/s"),
        (bucket("0 bit/s"), "allowance"),
        (json!({ "allowance": { "rate": "1 Mbit/s" } }), "volume"),
        (json!({ "allowance": { "rate": "1 Mbit/s", "volume": "1 MB", "filled": 1.5 } }), "filled"),
        (json!({ "allowance": { "rate": "1 Mbit/s", "volume": "1 Mbit/s" } }), "volume"),
        (json!({ "allowance": { "rate": "1 Mbit/s", "volume": "1 MB", "burst": "1 MB" } }), "burst"),
        (json!({ "allowance": "some" }), "allowance"),
    ] {
        let problems = Scenario::from_json(&with(&keys), "test", &[]).unwrap_err().to_string();
        assert!(problems.contains(said), "{problems}");
    }
}
