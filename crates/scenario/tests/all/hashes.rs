//! A scenario has one hash, however it is written: as TOML, as JSON, as values of a program, in any order, and as its
//! own canonical form.

use proptest::prelude::*;
use serde_json::{Value, json};
use skyhop_scenario::Scenario;

/// The hash of values, found equal for each way to write them.
fn hash(value: &Value) -> Result<String, TestCaseError> {
    let read =
        |result: Result<Scenario, _>| result.map_err(|problems| TestCaseError::fail(format!("{value}: {problems}")));
    let values = read(Scenario::from_json(value, "values", &[]))?;
    let text = toml::to_string(value).unwrap();
    let of_toml = read(Scenario::from_toml(&text, "toml", &[]))?;
    let of_json = read(Scenario::from_json(&serde_json::from_str(&value.to_string()).unwrap(), "json", &[]))?;
    let canonical = serde_json::from_str(&values.canonical_json()).unwrap();
    let again = read(Scenario::from_json(&canonical, "canonical", &[]))?;
    prop_assert_eq!(again.canonical_json(), values.canonical_json());
    prop_assert_eq!(of_toml.canonical_json(), values.canonical_json());
    prop_assert_eq!(of_json.canonical_json(), values.canonical_json());
    prop_assert_eq!(again.hash(), values.hash());
    Ok(values.hash())
}

/// Of any size that a scenario may have, with all digits.
fn share() -> impl Strategy<Value = f64> {
    prop_oneof![1e-9..1.0, (1_u64..1 << 52).prop_map(|n| n as f64 / (1_u64 << 52) as f64)]
}

prop_compose! {
    fn link(a: &'static str, b: &'static str)(
        bps in 1_u64..1_000_000_000_000, delay_ns in 0_u64..3_000_000_000_000,
        min in 0.01..50.0_f64, times in 1.001..9.0_f64,
        weight in share(), max_p in share(), loss in share(), bad in share(),
        turned in any::<bool>(), unit in 0..4_usize,
    ) -> Value {
        let (divisor, unit) = [(1.0, "bit/s"), (1e3, "kbit/s"), (1e6, "Mbit/s"), (1e9, "Gbit/s")][unit];
        let mut ends = [a, b];
        if turned {
            ends.reverse();
        }
        let errors = json!([{ "packet": loss },
            { "gilbert_elliott": { "to_bad": bad, "to_good": 0.3, "loss_good": 0.0, "loss_bad": max_p } }]);
        let red = json!({ "min": min, "max": min * times, "weight": weight, "max_p": max_p });
        let direction = json!({ "queue": { "red": red } });
        json!({
            "between": ends,
            "rate": format!("{} {unit}", bps as f64 / divisor),
            "delay": format!("{} ms", delay_ns as f64 / 1e6),
            if turned { "backward" } else { "forward" }: direction,
            if turned { "forward" } else { "backward" }: { "errors": errors },
        })
    }
}

prop_compose! {
    fn scenario()(
        ab in link("a", "b"), bc in link("b", "c"), threshold in 1.0..1e6_f64, beta in 0.1..0.9_f64, weight in share(),
        phase in share(), repeats in proptest::collection::vec(0_u32..99, 3), ns2 in any::<bool>(),
        latitude in -89.0..89.0_f64, longitude in -180.0..180.0_f64, altitude_m in 0.0..9000.0_f64,
    ) -> Value {
        let snoop = |repeats: u32| json!({ "at": "b", "snoop": { "repeats": repeats } });
        let mut agents: Vec<Value> = repeats.iter().map(|&repeats| snoop(repeats)).collect();
        agents.push(json!({ "at": "b", "survival": { "weight": weight, "window": 7 } }));
        let flow = |name: &str, tcp: Value| json!({ "name": name, "from": "a", "to": "c", "tcp": tcp });
        let tcp = json!({ "name": "cubic", "control": { "cubic": { "beta": beta } },
            "initial_ssthresh": threshold, "ns2": { "tick_phase": phase } });
        json!({
            "duration": "5 s", "profile": "rfc",
            "profile": if ns2 { "ns-2" } else { "rfc" },
            "links": [ab, bc],
            "flows": [flow("x-10", tcp), flow("x-9", json!("sack")),
                flow("y", json!({ "name": "reno", "notification": "ceten" }))],
            "agents": agents,
            "stations": { "s": {
                "latitude": format!("{latitude} deg"), "longitude": format!("{} rad", longitude.to_radians()),
                "altitude": format!("{altitude_m} m"),
            } },
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_scenario_has_one_hash_however_it_is_written(value in scenario(), turns in 0_usize..24) {
        let first = hash(&value)?;
        let mut other = value;
        for key in ["links", "flows", "agents"] {
            let list = other[key].as_array_mut().unwrap();
            // Every order of four, some of fewer.
            let mut rest = std::mem::take(list);
            let mut number = turns;
            while !rest.is_empty() {
                list.push(rest.remove(number % rest.len()));
                number /= 2;
            }
        }
        let table = other.as_object_mut().unwrap();
        let reversed: serde_json::Map<String, Value> = std::mem::take(table).into_iter().rev().collect();
        *table = reversed;
        prop_assert_eq!(hash(&other)?, first);
    }
}

#[test]
fn agents_at_one_node_are_the_same_in_every_order() {
    let tasks = [
        json!({ "at": "b", "snoop": {} }),
        json!({ "at": "b", "snoop": { "packets": 7 } }),
        json!({ "at": "b", "survival": {} }),
        json!({ "at": "b", "error_report": {} }),
    ];
    let mut hashes = std::collections::BTreeSet::new();
    for order in 0..24 {
        let mut rest = tasks.to_vec();
        let agents: Vec<Value> = [order % 4, order / 4 % 3, order / 12, 0].map(|i| rest.remove(i)).to_vec();
        let link = |a, b| json!({ "between": [a, b], "rate": "1 Mbit/s", "delay": "1 ms" });
        let flow = json!({ "name": "f", "from": "a", "to": "c", "tcp": "reno" });
        let links = [link("a", "b"), link("b", "c")];
        let value = json!({ "duration": "1 s", "profile": "rfc", "links": links, "flows": [flow], "agents": agents });
        hashes.insert(hash(&value).unwrap());
    }
    assert_eq!(hashes.len(), 1);
}

#[test]
fn a_threshold_of_red_keeps_its_digits() {
    let hash = |min: f64| {
        let red = json!({ "red": { "min": min } });
        let link = json!({ "between": ["a", "b"], "rate": "1 Mbit/s", "delay": "1 ms", "queue": red });
        hash(&json!({ "duration": "1 s", "profile": "rfc", "links": [link] })).unwrap()
    };
    assert_ne!(hash(0.62), hash(0.620_000_000_000_000_1));
}
