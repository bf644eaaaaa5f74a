//! What the profile `starlink` lets a link carry beyond a rate.

use super::starlink::scenario;
use serde_json::{Value, json};
use skyhop_base::Duration;
use skyhop_scenario::Scenario;
use skyhop_sim::spec::{Allowance, LinkVariation};

fn with(up: &Value) -> Value {
    json!({ "duration": "1 s", "links": [{ "between": ["a", "b"], "delay": "1 ms",
        "forward": { "profile": { "starlink": up } }, "backward": { "profile": "starlink" } }] })
}

/// Full at the start, and never restored.
fn full(rate: u64, bytes: u64) -> Allowance {
    Allowance { rate, bytes, filled: 1.0, restored: Vec::new(), restored_at: None }
}

/// The allowance of the uplink.
fn allowance(value: &Value) -> Option<Allowance> {
    let links = scenario(value).simulation_spec().links.wired.clone();
    let LinkVariation::Slots(up) = &links[0].pace else { panic!("{links:?}") };
    up.allowance.clone()
}

#[test]
fn an_allowance_is_that_of_the_set_unless_one_is_written() {
    for values in ["published", "recorded", "fitted", "loaded", "seattle-2023", "lagos-2023"] {
        assert_eq!(allowance(&with(&json!({ "values": values }))), None, "{values}");
    }
    let seoul = Some(full(24_600_000, 426_000_000));
    assert_eq!(allowance(&with(&json!({ "values": "seoul-2026" }))), seoul);
    assert_eq!(allowance(&with(&json!({ "values": "seoul-2026", "direction": "down" }))), None);
    assert_eq!(allowance(&with(&json!({ "values": "seoul-2026", "allowance": "none" }))), None);
    let own = with(&json!({ "allowance": { "rate": "20 Mbit/s", "volume": "1 MB", "filled": 0.25 } }));
    assert_eq!(allowance(&own), Some(Allowance { filled: 0.25, ..full(20_000_000, 1_000_000) }));
    let filled = with(&json!({ "values": "seoul-2026", "allowance": { "rate": "20 Mbit/s", "volume": "1 MB" } }));
    assert_eq!(allowance(&filled), Some(full(20_000_000, 1_000_000)));
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
    let restored = |keys: Value| {
        let mut bucket = json!({ "rate": "20 Mbit/s", "volume": "1 MB" });
        bucket.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        json!({ "allowance": bucket })
    };
    let bucket = |rate: &str| json!({ "allowance": { "rate": rate, "volume": "1 MB" } });
    for (keys, said) in [
        (bucket("70 Mbit/s"), "no slot is faster than its rate of 70 Mbit/s"),
        (bucket("0 bit/s"), "allowance"),
        (json!({ "allowance": { "rate": "1 Mbit/s" } }), "volume"),
        (json!({ "allowance": { "rate": "1 Mbit/s", "volume": "1 MB", "filled": 1.5 } }), "filled"),
        (json!({ "allowance": { "rate": "1 Mbit/s", "volume": "1 Mbit/s" } }), "volume"),
        (json!({ "allowance": { "rate": "1 Mbit/s", "volume": "1 MB", "burst": "1 MB" } }), "burst"),
        (json!({ "allowance": "some" }), "allowance"),
        (restored(json!({ "restored": "0.5 s" })), "allowance.restored: 500 ms is less than 1 s"),
        (restored(json!({ "restored": ["0 s", "9 s"] })), "allowance.restored: 0 s is less than 1 s"),
        (restored(json!({ "restored": ["9 s", "8 s"] })), "the first must not be more than the second"),
        (restored(json!({ "restored": ["8 s", "9 s", "8 s"] })), "allowance.restored: must not decrease"),
        (restored(json!({ "restored": ["8 s"] })), "allowance.restored: has 1 items"),
        (restored(json!({ "restored": 900 })), "allowance.restored"),
        (restored(json!({ "restored_at": "8 s" })), "restored_at: has no effect where nothing is restored"),
        (restored(json!({ "restored": "9 s", "restored_at": "-1 s" })), "allowance.restored_at"),
    ] {
        let problems = Scenario::from_json(&with(&keys), "test", &[]).unwrap_err().to_string();
        assert!(problems.contains(said), "{problems}");
    }
}

#[test]
fn a_volume_is_restored_as_a_whole_and_a_time_behind_the_end_is_said() {
    let with_times = |keys: Value| {
        let mut bucket = json!({ "rate": "20 Mbit/s", "volume": "1 MB" });
        bucket.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        with(&json!({ "allowance": bucket }))
    };
    let s = Duration::from_secs;
    let times = |keys: Value| {
        let found = allowance(&with_times(keys)).unwrap();
        (found.restored, found.restored_at)
    };
    assert_eq!(times(json!({})), (Vec::new(), None));
    assert_eq!(times(json!({ "restored": "15 min" })), (vec![s(900)], None));
    assert_eq!(
        times(json!({ "restored": ["14 min", "17 min"], "restored_at": "0 s" })),
        (vec![s(840), s(1020)], Some(s(0)))
    );
    // What draws nothing is the same scenario as one time, and without the key the hash is what it was.
    let hash = |keys: Value| scenario(&with_times(keys)).hash();
    assert_eq!(hash(json!({ "restored": ["9 s", "9 s"] })), hash(json!({ "restored": "9 s" })));
    let canonical = |keys: Value| serde_json::to_value(scenario(&with_times(keys))).unwrap().to_string();
    assert!(!canonical(json!({})).contains("restored"));
    assert!(canonical(json!({ "restored": "9 s" })).contains("restored"));
    let said = |keys: Value| scenario(&with_times(keys)).warnings.join("\n").contains("nothing is restored");
    assert!(said(json!({ "restored": "9 s", "restored_at": "1 s" })), "the run of 1 s ends then");
    assert!(!said(json!({ "restored": "9 s", "restored_at": "0.5 s" })) && !said(json!({ "restored": "9 s" })));
}
