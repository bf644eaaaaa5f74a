//! Fades of the profile `starlink`: short times in which a link loses a share of its packets.

use super::starlink::{scenario, slots};
use super::starlink_loss::with;
use serde_json::{Value, json};
use skyhop_base::Duration;
use skyhop_scenario::Scenario;
use skyhop_sim::spec::Fades;

fn fades(keys: &Value) -> Option<Fades> {
    slots(&scenario(&with(keys)).simulation_spec().links.wired[0]).fades.clone()
}

#[test]
fn fades_are_those_that_are_written_or_those_of_the_set() {
    assert_eq!(fades(&json!({})), None);
    assert_eq!(fades(&json!({ "values": "seoul-2026" })), None);
    let written = json!({ "fades": { "every": "2 s", "length": ["1 ms", "3 ms"], "loss": 0.5 } });
    let lengths = vec![Duration::from_millis(1), Duration::from_millis(3)];
    let own = Fades { every: Duration::from_secs(2), length: lengths, loss: vec![0.5] };
    assert_eq!(fades(&written), Some(own));

    let set = json!({ "values": "seoul-2026-fades" });
    let of_set = fades(&set).unwrap();
    // 0.08 % of all packets, as the dropouts of the stream behind the set.
    let mean = of_set.loss.windows(2).map(|gap| (gap[0] + gap[1]) / 2.0).sum::<f64>() / 4.0;
    let share = mean * of_set.length[0].as_secs_f64() / of_set.every.as_secs_f64();
    assert!((share - 0.00083).abs() < 0.00003, "{share}");
    assert_eq!(fades(&json!({ "values": "seoul-2026-fades", "direction": "down" })), None);
    assert_eq!(fades(&json!({ "values": "seoul-2026-fades", "fades": "none" })), None);
    // All else is that of "seoul-2026", but the losses between edges and the outages before them.
    let config = |keys: &Value| {
        let spec = scenario(&with(keys)).simulation_spec().links.wired[0].clone();
        (slots(&spec).clone(), format!("{:?}", spec.queue))
    };
    let (mut ours, queue) = config(&set);
    let (theirs, codel) = config(&json!({ "values": "seoul-2026" }));
    assert_eq!(queue, codel);
    assert_eq!((ours.loss[0], ours.outage.len()), (0.00028, 0));
    (ours.loss, ours.outage, ours.fades) = (theirs.loss.clone(), theirs.outage.clone(), None);
    assert_eq!(ours, theirs);
}

#[test]
fn a_scenario_without_fades_keeps_its_hash_and_equal_quantiles_are_one_value() {
    let hash = |keys: &Value| scenario(&with(keys)).hash();
    assert_eq!(hash(&json!({ "fades": "none" })), hash(&json!({})));
    let one = json!({ "fades": { "every": "2 s", "length": "3 ms", "loss": 0.5 } });
    let same = json!({ "fades": { "every": "2 s", "length": ["3 ms", "3 ms"], "loss": [0.5, 0.5, 0.5] } });
    assert_eq!(hash(&one), hash(&same));
    assert_ne!(hash(&one), hash(&json!({})));
}

#[test]
fn wrong_fades_are_refused() {
    let usual = json!({ "every": "2 s", "length": "3 ms", "loss": 0.5 });
    for (key, value, said) in [
        ("every", json!("0 s"), "fades.every"),
        ("length", json!("3 s"), "fades.length: a fade of 3 s is longer than 2 s, after which the next one begins"),
        ("length", json!("0 s"), "fades.length: a fade of no length loses nothing"),
        ("length", json!(["3 ms", "2 ms"]), "fades.length: the first must not be more than the second"),
        ("length", json!(["3 ms"]), "fades.length: has 1 items, 2 to 1001 are expected"),
        ("loss", json!(0), "fades.loss: a fade that loses nothing has no effect"),
        ("loss", json!([0.1, 0.3, 0.2]), "fades.loss: must not decrease"),
        ("loss", json!(1.5), "fades.loss: 1.5 is out of range; it must be at most 1"),
        ("rate", json!("1 Mbit/s"), "fades.rate"),
    ] {
        let mut keys = usual.clone();
        keys[key] = value;
        let problems = Scenario::from_json(&with(&json!({ "fades": keys })), "test", &[]).unwrap_err().to_string();
        assert!(problems.contains(said), "{keys}: {problems}");
    }
    let lacking = json!({ "fades": { "every": "2 s", "loss": 0.5 } });
    let problems = Scenario::from_json(&with(&lacking), "test", &[]).unwrap_err().to_string();
    assert!(problems.contains("fades") && problems.contains("length"), "{problems}");
}

#[test]
fn who_writes_a_loss_learns_that_the_fades_of_the_set_remain() {
    let warnings = |keys: &Value| scenario(&with(keys)).warnings.join("\n");
    let said = "fades stay those of the set of values";
    for loss in [json!(0), json!(0.001), json!([0, 0.01])] {
        assert!(warnings(&json!({ "values": "seoul-2026-fades", "loss": loss })).contains(said));
    }
    for keys in [
        json!({ "values": "seoul-2026-fades", "loss": 0, "fades": "none" }),
        json!({ "values": "seoul-2026-fades" }),
        json!({ "values": "seoul-2026-fades", "loss": 0.001, "direction": "down" }),
        json!({ "values": "seoul-2026", "loss": 0 }),
    ] {
        assert!(!warnings(&keys).contains(said), "{keys}");
    }
}

/// "sydney-2026" is "seoul-2026-fades" with shorter delays, a volume that is restored, other queues and lower rates
/// down. Its downlink has all else of that set.
#[test]
fn a_set_of_flows_that_compete() {
    let of = |values: &str| {
        [json!("up"), json!("down")].map(|direction| {
            let keys = json!({ "values": values, "direction": direction });
            let spec = scenario(&with(&keys)).simulation_spec().links.wired[0].clone();
            (slots(&spec).clone(), format!("{:?}", spec.queue))
        })
    };
    let [(mut up, fair), (mut down, short)] = of("sydney-2026");
    let [(before_up, _), (before_down, _)] = of("seoul-2026-fades");
    assert!(fair.contains("FqCodel(") && fair.contains("ecn: false"), "{fair}");
    assert!(short.contains("DropTail") && short.contains("500"), "{short}");
    let pairs = [(&up.step, &before_up.step), (&up.jitter, &before_up.jitter)];
    for (ours, theirs) in pairs.into_iter().flat_map(|(ours, theirs)| ours.iter().zip(theirs)) {
        assert!((ours.as_secs_f64() - 0.4 * theirs.as_secs_f64()).abs() < 1e-6);
    }
    for (ours, theirs) in down.rates.iter().zip(&before_down.rates) {
        assert!((*ours as f64 / *theirs as f64 - 0.83).abs() < 1e-6);
    }
    let bucket = format!("{:?}", up.allowance);
    assert!(["18100000", "443000000"].iter().all(|part| bucket.contains(part)), "{bucket}");
    (up.step, up.jitter, up.allowance) =
        (before_up.step.clone(), before_up.jitter.clone(), before_up.allowance.clone());
    down.rates.clone_from(&before_down.rates);
    assert_eq!((up, down), (before_up, before_down));
}
