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
fn an_allowance_is_that_of_the_set_unless_one_is_written() {
    for values in ["published", "recorded", "fitted", "loaded", "seattle-2023", "lagos-2023"] {
        assert_eq!(allowance(&with(&json!({ "values": values }))), None, "{values}");
    }
    let seoul = Some(Allowance { rate: 24_600_000, bytes: 426_000_000, filled: 1.0 });
    assert_eq!(allowance(&with(&json!({ "values": "seoul-2026" }))), seoul);
    assert_eq!(allowance(&with(&json!({ "values": "seoul-2026", "direction": "down" }))), None);
    assert_eq!(allowance(&with(&json!({ "values": "seoul-2026", "allowance": "none" }))), None);
    let own = with(&json!({ "allowance": { "rate": "20 Mbit/s", "volume": "1 MB", "filled": 0.25 } }));
    assert_eq!(allowance(&own), Some(Allowance { rate: 20_000_000, bytes: 1_000_000, filled: 0.25 }));
    let full = with(&json!({ "values": "seoul-2026", "allowance": { "rate": "20 Mbit/s", "volume": "1 MB" } }));
    assert_eq!(allowance(&full), Some(Allowance { rate: 20_000_000, bytes: 1_000_000, filled: 1.0 }));
    let canonical = serde_json::to_value(scenario(&own)).unwrap().to_string();
    assert!(canonical.contains("\"allowance\""), "{canonical}");
}

#[test]
fn a_scenario_with_the_allowance_of_a_set_and_slower_slots_has_a_warning() {
    let warnings = |up: &Value| scenario(&with(up)).warnings.join("\n");
    let slow = json!({ "values": "seoul-2026", "rates": ["5 Mbit/s", "10 Mbit/s"] });
    let said = warnings(&slow);
    assert!(
        said.contains("has no effect: no slot is faster than its rate of 24.6 Mbit/s, so it is left out"),
        "{said}"
    );
    assert_eq!(allowance(&with(&slow)), None);
    assert!(!warnings(&json!({ "values": "seoul-2026" })).contains("allowance"));
    let off = json!({ "values": "seoul-2026", "rates": ["5 Mbit/s", "10 Mbit/s"], "allowance": "none" });
    assert!(!warnings(&off).contains("allowance"));
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
