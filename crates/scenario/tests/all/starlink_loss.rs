//! The loss of the profile `starlink` between edges: one probability, or one for each slot.

use super::starlink::{scenario, slots};
use serde_json::{Value, json};
use skyhop_scenario::Scenario;

pub(super) fn with(keys: &Value) -> Value {
    json!({ "duration": "1 s", "links": [{ "between": ["a", "b"], "delay": "1 ms",
        "forward": { "profile": { "starlink": keys } }, "backward": { "rate": "1 Gbit/s" } }] })
}

fn loss(keys: &Value) -> Vec<f64> {
    slots(&scenario(&with(keys)).simulation_spec().links.wired[0]).loss.clone()
}

#[test]
fn a_loss_is_one_probability_or_a_distribution_over_slots() {
    assert_eq!(loss(&json!({})), [0.002]);
    assert_eq!(loss(&json!({ "loss": 0.01 })), [0.01]);
    assert_eq!(loss(&json!({ "loss": [0.001, 0.003] })), [0.001, 0.003]);
    assert_eq!(loss(&json!({ "values": "seoul-2026", "loss": [0, 0, 0.01, 1] })), [0.0, 0.0, 0.01, 1.0]);
    // What draws nothing is the same scenario as one probability.
    let hash = |keys: &Value| scenario(&with(keys)).hash();
    let usual = hash(&json!({}));
    assert_eq!(hash(&json!({ "loss": 0.002 })), usual);
    assert_eq!(hash(&json!({ "loss": [0.002, 0.002, 0.002] })), usual);
    assert_ne!(hash(&json!({ "loss": [0.002, 0.0021] })), usual);
}

#[test]
fn wrong_losses_are_refused() {
    for (value, said) in [
        (json!(1.5), "profile.starlink.loss: 1.5 is out of range; it must be at most 1"),
        (json!([0.1, 1.5]), "profile.starlink.loss[1]: 1.5 is out of range; it must be at most 1"),
        (json!([-0.1, 0.1, 0.2]), "profile.starlink.loss[0]: -0.1 is out of range; it must be at least 0"),
        (json!([0.002]), "profile.starlink.loss: has 1 items, 2 to 1001 are expected"),
        (json!([0.2, 0.1]), "profile.starlink.loss: the first must not be more than the second"),
        (json!([0.0, 0.2, 0.1]), "profile.starlink.loss: must not decrease"),
        (json!("0.1"), "profile.starlink.loss"),
        (json!(["0.1", 0.2]), "profile.starlink.loss[0]"),
    ] {
        let problems = Scenario::from_json(&with(&json!({ "loss": value })), "test", &[]).unwrap_err().to_string();
        assert!(problems.contains(said), "{value}: {problems}");
    }
}

#[test]
fn warnings_compare_the_losses_of_slots_with_those_at_edges() {
    for (keys, said) in [
        (json!({ "loss": [0.1, 0.2] }), None),
        (json!({ "loss": [0, 0.0001, 0.2] }), None),
        (
            json!({ "loss": [0, 0.001, 0.3] }),
            Some("% of the packets near an edge are lost, and 0 to 30 % of the others"),
        ),
        (json!({ "loss": [0, 0, 0] }), Some("27.907 % of the packets near an edge are lost, and 0 % of the others")),
        (json!({ "loss": [0, 0.001, 0.3], "edge_loss": [0, 0] }), None),
        (json!({ "values": "loaded", "loss": [0, 0.01] }), None),
        (
            json!({ "values": "loaded", "loss": [0.01, 0.02] }),
            Some("1.721 % of the packets near an edge are lost, and 1 to 2 %"),
        ),
        (json!({ "values": "seoul-2026", "loss": [0, 0.9] }), None),
        (
            json!({ "values": "lagos-2023", "loss": [0, 0] }),
            Some("loss: in_flight_loss stays that of the set of values"),
        ),
        (json!({ "values": "lagos-2023", "loss": [0, 0.1] }), None),
    ] {
        let warnings = scenario(&with(&keys)).warnings;
        let found: Vec<&String> =
            warnings.iter().filter(|one| one.contains("stays that of the set of values")).collect();
        match (said, &found[..]) {
            (None, []) => {}
            (Some(said), [one]) if one.contains(said) && one.contains("profile.starlink.loss") => {}
            _ => panic!("{keys}: {found:?}"),
        }
    }
}
