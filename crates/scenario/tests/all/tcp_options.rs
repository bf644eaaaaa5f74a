//! Every option of a TCP either changes a run or is called idle: each is tried, with other values, over small networks
//! that lose, delay, mark and stand still.

use crate::support::trials::{Network, Trials};
use serde_json::Value;
use skyhop_scenario::json_schema;

/// A name for every recovery, controls that read less than others, and ns-2's agents where they have recoveries of
/// their own.
const TCPS: [(&str, &str); 18] = [
    ("sack", "rfc"),
    ("reno", "rfc"),
    ("newreno", "rfc"),
    ("tahoe", "rfc"),
    ("fack", "rfc"),
    ("vegas", "rfc"),
    ("yam", "rfc"),
    ("peach", "rfc"),
    ("peach+", "rfc"),
    ("bic", "rfc"),
    ("cubic", "rfc"),
    ("westwood", "rfc"),
    ("naive_reno", "rfc"),
    ("sack", "ns-2"),
    ("fack", "ns-2"),
    ("vegas", "ns-2"),
    ("cubic", "ns-2"),
    ("peach", "ns-2"),
];

/// What changes a run under circumstances that these networks do not have.
const NOT_SEEN: [(&str, &str, &str); 15] = [
    // Its sudden start has acknowledged the first segments before a timeout finds them.
    ("peach", "rfc", "ns2.retransmit"),
    ("peach", "rfc", "ns2.opening_loss_window"),
    ("peach+", "rfc", "ns2.opening_loss_window"),
    ("peach", "ns-2", "ns2.retransmit"),
    ("peach", "ns-2", "ns2.opening_loss_window"),
    // The smallest RTT alone is read, which is the same by both.
    ("westwood", "rfc", "ns2.control_rtt"),
    // Windows are used here, duplicates do not outlast a timeout, and the first segment is lost once.
    ("sack", "ns-2", "ns2.duplicates_survive_timeout"),
    ("sack", "ns-2", "ns2.retransmit"),
    ("fack", "ns-2", "ns2.opening_loss_window"),
    ("fack", "ns-2", "ns2.threshold_base"),
    ("fack", "ns-2", "ns2.timer_restart"),
    ("cubic", "ns-2", "ns2.duplicates_survive_timeout"),
    ("cubic", "ns-2", "ns2.growth_when"),
    ("cubic", "ns-2", "ns2.opening_loss_window"),
    ("cubic", "ns-2", "sack_after_timeout"),
];

const TAIL: &str = "rate = \"3 Mbit/s\"\nqueue = { drop_tail = { packets = 12 } }\n";
const LOSSY: &str = "rate = \"3 Mbit/s\"\nqueue = { drop_tail = { packets = 12 } }\nerrors = [{ packet = 0.02 }]\n";
const VERY_LOSSY: &str =
    "rate = \"3 Mbit/s\"\nqueue = { drop_tail = { packets = 12 } }\nerrors = [{ packet = 0.15 }]\n";
const OFTEN_LOSSY: &str =
    "rate = \"3 Mbit/s\"\nqueue = { drop_tail = { packets = 12 } }\nerrors = [{ packet = 0.1 }]\n";
const MARKS: &str =
    "rate = \"3 Mbit/s\"\nqueue = { red = { packets = 60, min = 0.5, max = 2, weight = 0.5, ecn = true } }\n";
const LATE: &str = "rate = \"3 Mbit/s\"\nerrors = [{ list = { data = [{ packets = 1 }, { packets = 11 }], \
                    acks = [{ packets = [1, 9], outcome = { delay = \"1200 ms\" } }] } }]\n";
const LATE_IN_RECOVERY: &str = "rate = \"3 Mbit/s\"\nerrors = [{ list = { data = [{ packets = [40, 44] }], \
                                acks = [{ packets = [20, 26], outcome = { delay = \"1200 ms\" } }] } }]\n";
const OVERTAKEN: &str = "rate = \"3 Mbit/s\"\nerrors = [{ list = { data = [\
                         { packets = [40, 200], every = 37, outcome = { delay = \"30 ms\" } }] } }]\n";
const OPENING: &str = "rate = \"3 Mbit/s\"\nerrors = [{ list = { syns = [{ packets = 1 }], syn_acks = [{ packets = 1 \
    }], \
                       data = [{ packets = [1, 3] }, { packets = [5, 6] }, { packets = [30, 33] }] } }]\n";
const OUTAGE: &str = "rate = \"300 kbit/s\"\nerrors = [{ list = { lose = [[\"2 s\", \"40 s\"]] } }]\n";
const REQUESTS: &str = "application = { requests = { request = \"200 B\", response = \"100 kB\", think = \"4 s\" } }\n";

const NETWORKS: [Network; 14] = [
    Network { seconds: 6, delay: "20 ms", wire: LOSSY, flow: "", tcp: &[] },
    Network { seconds: 12, delay: "20 ms", wire: VERY_LOSSY, flow: "", tcp: &[] },
    Network { seconds: 6, delay: "20 ms", wire: TAIL, flow: "", tcp: &[] },
    Network { seconds: 10, delay: "20 ms", wire: MARKS, flow: "", tcp: &[] },
    Network { seconds: 14, delay: "20 ms", wire: LATE, flow: "", tcp: &[] },
    Network { seconds: 6, delay: "20 ms", wire: OVERTAKEN, flow: "", tcp: &[] },
    Network { seconds: 24, delay: "20 ms", wire: OPENING, flow: "", tcp: &[] },
    Network { seconds: 30, delay: "20 ms", wire: "rate = \"10 Mbit/s\"\n", flow: REQUESTS, tcp: &[] },
    Network { seconds: 100, delay: "20 ms", wire: OUTAGE, flow: "", tcp: &[] },
    Network { seconds: 20, delay: "1 ms", wire: OFTEN_LOSSY, flow: "", tcp: &[("min_rto", "5 ms")] },
    Network { seconds: 10, delay: "20 ms", wire: "rate = \"10 Mbit/s\"\n", flow: "", tcp: &[("window", "9")] },
    Network {
        seconds: 4,
        delay: "100 ms",
        wire: "rate = \"20 Mbit/s\"\nqueue = { drop_tail = { packets = 2000 } }\n",
        flow: "",
        tcp: &[],
    },
    Network {
        seconds: 20,
        delay: "20 ms",
        wire: "rate = \"10 Mbit/s\"\nerrors = [{ packet = 0.005 }]\n",
        flow: "",
        tcp: &[("window", "30")],
    },
    Network { seconds: 14, delay: "20 ms", wire: LATE_IN_RECOVERY, flow: "", tcp: &[] },
];

/// The names that the schema has for an option.
fn names(schema: &Value, option: &str) -> Vec<String> {
    fn collect(root: &Value, node: &Value, found: &mut Vec<String>) {
        if let Some(pointer) = node["$ref"].as_str() {
            collect(root, root.pointer(&pointer[1..]).unwrap(), found);
        }
        let here = node["enum"].as_array().into_iter().flatten().chain(node.get("const"));
        found.extend(here.filter_map(Value::as_str).map(str::to_owned));
        for key in ["anyOf", "oneOf"] {
            node[key].as_array().into_iter().flatten().for_each(|one| collect(root, one, found));
        }
    }
    let mut found = Vec::new();
    let (table, key) = option.split_once('.').map_or(("TcpTable", option), |(_, key)| ("Ns2Table", key));
    collect(schema, &schema["$defs"][table]["properties"][key], &mut found);
    found
}

/// Other values of an option, as they are set on the command line.
fn alternatives(schema: &Value, option: &str, value: &Value) -> Vec<String> {
    let mut all = names(schema, option);
    match value {
        Value::Number(number) => {
            let number = number.as_f64().unwrap();
            all.extend([number * 2.0 + 1.0, number + 1.0, (number / 2.0).floor(), 1.0].map(|other| other.to_string()));
        }
        Value::String(text) => {
            if let Some((number, unit)) = text.split_once(' ') {
                let number: f64 = number.parse().unwrap();
                let others = if unit == "B" {
                    [number + 10.0, number + 2.0, (number - 10.0).max(0.0), number * 2.0]
                } else {
                    [number * 2.0, number * 0.5, number * 0.1, number * 900.0]
                };
                all.extend(others.map(|other| format!("{other} {unit}")));
            }
        }
        _ => {}
    }
    let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    all.retain(|other| *other != written);
    all
}

#[test]
fn every_option_of_a_tcp_changes_a_run_or_is_called_idle() {
    let schema = json_schema();
    // Where nothing marks, `ecn` is idle.
    let mut trials = Trials::new("rfc", &NETWORKS, 3);
    for (name, profile) in TCPS {
        let base = [("name", name), ("profile", profile)];
        let scenario = |options: &[(&str, &str)]| NETWORKS[0].scenario("rfc", options);
        let canonical: Value = serde_json::from_str(&scenario(&base).unwrap().canonical_json()).unwrap();
        let plain = trials.plain(format!("{name} ({profile})"), &base);
        let tcp = canonical["flows"][0]["tcp"].as_object().unwrap();
        let beside = tcp.iter().map(|(option, value)| (option.clone(), value));
        let inside = tcp["ns2"].as_object().unwrap().iter().map(|(option, value)| (format!("ns2.{option}"), value));
        for (option, value) in &beside.chain(inside).collect::<Vec<_>>() {
            if ["recovery", "control", "ns2"].contains(&option.as_str()) {
                continue;
            }
            let mut values = alternatives(&schema, option, value);
            values.retain(|value| scenario(&[base[0], base[1], (option, value)]).is_ok());
            if !values.is_empty() {
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                trials.judge(&plain, option, &values, NOT_SEEN.contains(&(name, profile, option.as_str())));
            }
        }
    }
    let Trials { wrong, idle, live, .. } = trials;
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(idle > 100 && live > 300, "{idle} idle, {live} live");
}
