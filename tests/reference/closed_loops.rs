//! Queue disciplines with TCP flows that answer them, against ns-3's (`ns3-queues/`): recorded arrivals judge what a
//! discipline does with packets, not what senders make of it.

use serde_json::{Value, json};
use skyhop_tests::run_json;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const RATE_BPS: f64 = 10e6;
const DELAY_S: f64 = 0.05;
const SECONDS: f64 = 100.0;
/// Drops count from here on: what slow start loses is more than all that follows where flows are few.
const START_S: f64 = 20.0;
/// A datagram of 100 B with 28 B of headers and 2 B of framing takes so long on the link.
const SPARSE_S: f64 = 130.0 * 8.0 / RATE_BPS;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("reference/ns3-queues")
}

/// The rows of a table, each by its columns' names.
fn table(name: &str) -> Vec<BTreeMap<String, String>> {
    let path = folder().join(name);
    let mut reader = csv::Reader::from_path(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    reader.deserialize().map(|row| row.unwrap_or_else(|error| panic!("{name}: {error}"))).collect()
}

/// What one run gave, whoever made it.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    median_ms: f64,
    p95_ms: f64,
    sparse_p95_ms: f64,
    dropped: f64,
    goodput_mbps: f64,
}

type Measure = (&'static str, fn(&Found) -> f64);

const MEASURES: [Measure; 5] = [
    ("median wait, ms", |found| found.median_ms),
    ("95 % wait, ms", |found| found.p95_ms),
    ("drops from 20 s on", |found| found.dropped),
    ("goodput, Mbit/s", |found| found.goodput_mbps),
    ("sparse 95 %, ms", |found| found.sparse_p95_ms),
];

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    let text = &row[column];
    if text.is_empty() { 0.0 } else { text.parse().unwrap_or_else(|_| panic!("{column}: {text:?} is not a number")) }
}

/// ns-3's sender as ours: SACK, an initial window of ten, each segment acknowledged, an RTO of 1 s at least.
fn sender(control: &str) -> Value {
    json!({ "recovery": "sack", "control": control, "mss": "1460 B", "window": 60000, "initial_window": 10,
            "ack_every": 1, "min_rto": "1 s" })
}

/// The same case with our engine.
fn ours(case: &BTreeMap<String, String>, spread_s: f64, seed: u64) -> Found {
    let queue: toml::Table = toml::from_str(&format!("queue = {}", case["ours"])).expect("a queue in TOML");
    let queue = serde_json::to_value(&queue["queue"]).expect("a queue is data");
    let count: u32 = case["flows"].parse().expect("a number of flows");
    let mut flows = vec![json!({
        "name": "bulk", "count": count, "from": "left", "to": "right", "tcp": sender(&case["our_tcp"]),
        "start_spread": format!("{spread_s} s"),
    })];
    if case["sparse"] == "1" {
        flows.push(json!({
            "name": "sparse", "from": "left", "to": "right", "udp": { "header": "28 B" },
            "application": { "constant_rate": { "rate": "40 kbit/s", "payload": "100 B" } },
        }));
    }
    let network = json!({
        "duration": format!("{SECONDS} s"), "profile": "rfc",
        "links": [{
            "between": ["left", "right"], "rate": format!("{RATE_BPS} bit/s"), "delay": format!("{DELAY_S} s"),
            // The frame of ns-3's PointToPointNetDevice.
            "framing": "2 B", "queue": "unlimited", "forward": { "queue": queue },
        }],
        "flows": flows,
    });
    let records = run_json(&network, seed).records;
    let link = &records.links[0];
    let sojourn = link.sojourn.as_ref().expect("the queue is asked at each departure");
    let greedy = records.flows.iter().zip(&records.flow_names).filter(|(_, name)| !name.contains("sparse"));
    let sparse = records.flow_names.iter().position(|name| name.contains("sparse"));
    Found {
        median_ms: sojourn.median_s * 1e3,
        p95_ms: sojourn.p95_s * 1e3,
        sparse_p95_ms: sparse.map_or(0.0, |at| (records.flows[at].delay.p95_s - DELAY_S - SPARSE_S) * 1e3),
        dropped: records.drops.iter().filter(|drop| drop.link == Some(0) && drop.time.as_secs_f64() >= START_S).count()
            as f64,
        goodput_mbps: greedy.map(|(flow, _)| flow.bytes_delivered as f64).sum::<f64>() * 8.0 / SECONDS / 1e6,
    }
}

fn mean_of(runs: &[Found], of: fn(&Found) -> f64) -> f64 {
    runs.iter().map(of).sum::<f64>() / runs.len() as f64
}

/// Every case: its name, ns-3's runs and ours with the same flows and starts.
fn compared() -> Vec<(String, Vec<Found>, Vec<Found>)> {
    let runs = table("runs.csv");
    let each = table("cases.csv").into_iter().map(|case| {
        let rows: Vec<_> = runs.iter().filter(|row| row["case"] == case["case"]).collect();
        assert!(rows.len() >= 3, "{}: {} runs", case["case"], rows.len());
        let theirs = rows.iter().map(|row| Found {
            median_ms: number(row, "median_ms"),
            p95_ms: number(row, "p95_ms"),
            sparse_p95_ms: number(row, "sparse_p95_ms"),
            dropped: number(row, "dropped_later"),
            goodput_mbps: number(row, "goodput_bps") / 1e6,
        });
        let own = rows.iter().map(|row| ours(&case, number(row, "spread_s"), number(row, "seed") as u64));
        (case["case"].clone(), theirs.collect(), own.collect())
    });
    each.collect()
}

/// How far ours may be from ns-3's: a share of ns-3's, or an amount where that is more. A packet takes 1.2 ms, and
/// medians of short queues are whole packets.
fn bound(measure: &str) -> (f64, f64) {
    match measure {
        "median wait, ms" => (0.2, 2.0),
        "95 % wait, ms" => (0.2, 1.0),
        "drops from 20 s on" => (0.2, 5.0),
        "goodput, Mbit/s" => (0.06, 0.0),
        "sparse 95 %, ms" => (0.3, 0.5),
        other => panic!("no bound for {other}"),
    }
}

/// The part of docs/models/queues.md between its marks.
fn written(rows: &[(String, Vec<Found>, Vec<Found>)]) -> String {
    let mut text = String::from("\n| case |");
    for (name, _) in MEASURES {
        let _ = write!(text, " {name}: ns-3 | ours |");
    }
    let _ = write!(text, "\n|---|{}\n", "---:|".repeat(2 * MEASURES.len()));
    for (case, theirs, own) in rows {
        let _ = write!(text, "| {case} |");
        for (name, of) in MEASURES {
            let digits = usize::from(!name.starts_with("drops"));
            let digits = if name.starts_with("goodput") || name.starts_with("sparse") { 2 } else { digits };
            let show = |value: f64| match name.starts_with("sparse") && mean_of(theirs, of) == 0.0 {
                true => "–".to_owned(),
                false => format!("{value:.digits$}"),
            };
            let _ = write!(text, " {} | {} |", show(mean_of(theirs, of)), show(mean_of(own, of)));
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

/// Means over the seeds of both, within the bound of each measure; `UPDATE_DOCS=1` writes the table of
/// docs/models/queues.md.
#[test]
fn disciplines_hold_flows_where_those_of_ns3_do() {
    let rows = compared();
    assert!(rows.len() >= 10, "only {} cases", rows.len());
    let mut wrong = String::new();
    for (name, theirs, own) in &rows {
        for (measure, of) in MEASURES {
            let (their, our) = (mean_of(theirs, of), mean_of(own, of));
            let (share, least) = bound(measure);
            if (our - their).abs() > (share * their).max(least) {
                let _ = writeln!(wrong, "{name}, {measure}: ns-3 {their:.3}, ours {our:.3}");
            }
        }
    }
    assert!(wrong.is_empty(), "beyond their bounds:\n{wrong}");
    is_in_the_document(&written(&rows));
}

fn is_in_the_document(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/models/queues.md");
    let page = std::fs::read_to_string(&path).expect("docs/models/queues.md");
    let start = page.find("<!-- closed loops:").expect("the mark of the table");
    let start = start + page[start..].find("-->\n").expect("its end") + "-->\n".len();
    let end = page.find("<!-- /closed loops -->").expect("the closing mark");
    let wanted = format!("{}{table}{}", &page[..start], &page[end..]);
    if page != wanted && std::env::var("UPDATE_DOCS").is_ok() {
        std::fs::write(&path, &wanted).expect("the page is writable");
        return;
    }
    assert!(page == wanted, "stale: UPDATE_DOCS=1 cargo test -p skyhop-tests --test reference closed_loops::");
}
