//! Reads a reference folder: its cases, event lists and summaries.

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use skyhop_transport::{Profile, TcpConfig, TcpSpec};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Rows of a CSV file without quoting, by column name.
pub type Row = BTreeMap<String, String>;

pub fn parse_csv(text: &str) -> Vec<Row> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or("").split(',').collect();
    let row = |line: &str| header.iter().map(|h| h.to_string()).zip(line.split(',').map(str::to_owned)).collect();
    lines.filter(|line| !line.is_empty()).map(row).collect()
}

/// The folder of ns-2's traces: the project's own, or the one that `NS2_REFERENCE` names.
pub fn ns2_folder() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/ns2/cases");
    std::env::var_os("NS2_REFERENCE").map_or_else(own, PathBuf::from)
}

/// One scenario of the reference.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub agents: Vec<String>,
    pub bottleneck_bps: u64,
    pub bottleneck_delay_s: f64,
    pub limit_packets: usize,
    pub access_bps: u64,
    pub access_delay_s: f64,
    pub duration_s: f64,
    pub window: u32,
    pub packet_size: u32,
    pub starts_s: Vec<f64>,
    pub delayed_ack_s: Option<f64>,
    pub transfer_packets: Option<u32>,
    pub random_loss: Option<f64>,
    pub lost_packets: Vec<u32>,
    /// Numbers of ACKs that the bottleneck loses on their way back.
    pub lost_acks: Vec<u32>,
    pub events_agents: Vec<String>,
    pub events_until_s: f64,
    pub events_kinds: Vec<String>,
}

fn list(text: &str, separator: char) -> Vec<String> {
    text.split(separator).filter(|s| !s.is_empty()).map(str::to_owned).collect()
}

pub fn cases(folder: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(folder.join("cases.csv")).expect("cases.csv is readable");
    parse_csv(&text).iter().map(case).collect()
}

fn case(row: &Row) -> Case {
    let number = |key: &str| row[key].parse::<f64>().unwrap_or_else(|_| panic!("{key} is a number"));
    let optional = |key: &str| row.get(key).and_then(|text| text.parse::<f64>().ok());
    let numbers = |key: &str| {
        let entries = row.get(key).map_or(Vec::new(), |text| list(text, ';'));
        entries.iter().map(|s| s.parse().expect("a packet number")).collect()
    };
    Case {
        name: row["case"].clone(),
        agents: list(&row["agents"], '|'),
        bottleneck_bps: number("bottleneck_rate_bps") as u64,
        bottleneck_delay_s: number("bottleneck_delay_s"),
        limit_packets: number("limit_packets") as usize,
        access_bps: number("access_rate_bps") as u64,
        access_delay_s: number("access_delay_s"),
        duration_s: number("duration_s"),
        window: number("window_packets") as u32,
        packet_size: number("packet_size_bytes") as u32,
        starts_s: list(&row["start_s"], ';').iter().map(|s| s.parse().expect("a start time")).collect(),
        delayed_ack_s: optional("delayed_ack_s"),
        transfer_packets: optional("transfer_packets").map(|n| n as u32),
        random_loss: optional("random_loss"),
        lost_packets: numbers("lost_packets"),
        lost_acks: numbers("lost_acks"),
        events_agents: list(&row["events_agents"], '|'),
        events_until_s: optional("events_until_s").unwrap_or(0.0),
        events_kinds: list(&row["events_kinds"], '|'),
    }
}

/// The transports of a case's flows: all of one agent, or of those of a pair ("reno+vegas") in turn.
pub fn transports_of(agent: &str, case: &Case) -> Option<Vec<TcpConfig>> {
    let of_pair = agent.split('+').map(|agent| transport_of(agent, case)).collect::<Option<Vec<_>>>()?;
    Some((0..case.starts_s.len()).map(|i| of_pair[i % of_pair.len()].clone()).collect())
}

/// The transport that stands for an agent of ns-2; `None` where there is none yet.
fn transport_of(agent: &str, case: &Case) -> Option<TcpConfig> {
    let mut table = match agent.strip_prefix("linux-") {
        Some(control) => json!({ "recovery": "sack", "control": control, "ns2": { "agent": "linux" } }),
        None if agent == "sack1" => json!({ "name": "sack" }),
        None => json!({ "name": agent }),
    };
    let fields = table.as_object_mut().expect("a table");
    fields.insert("mss".into(), json!(format!("{} B", case.packet_size)));
    fields.insert("window".into(), json!(case.window));
    if let Some(delay) = case.delayed_ack_s {
        fields.insert("ack_every".into(), json!(2));
        fields.insert("ack_delay".into(), json!(format!("{delay} s")));
    }
    let spec: TcpSpec = serde_json::from_value(Value::Object(fields.clone())).ok()?;
    Some(spec.resolve(Profile::Ns2).expect("a valid transport"))
}

/// One line of an event list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    pub time_s: f64,
    pub flow: usize,
    /// −1: an ACK of nothing.
    pub seq: i64,
}

fn unzip(path: &Path) -> String {
    let mut text = String::new();
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    GzDecoder::new(file).read_to_string(&mut text).expect("gzip");
    text
}

/// The events of a case by kind, in the order of the file.
pub fn events(folder: &Path, case: &str, agent: &str) -> BTreeMap<String, Vec<Event>> {
    let text = unzip(&folder.join(format!("events_{case}_{agent}.csv.gz")));
    let mut by_kind: BTreeMap<String, Vec<Event>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let mut fields = line.split(',');
        let mut field = || fields.next().expect("four columns");
        let (time, kind, flow, seq) = (field(), field(), field(), field());
        let event = Event {
            time_s: time.parse().expect("a time"),
            flow: flow.parse().expect("a flow"),
            seq: seq.parse().expect("a number"),
        };
        by_kind.entry(kind.to_owned()).or_default().push(event);
    }
    by_kind
}

/// Rows of a summary: one per agent, seed and flow.
pub fn summary(folder: &Path, case: &str) -> Vec<Row> {
    let text = std::fs::read_to_string(folder.join(format!("summary_{case}.csv"))).expect("a summary");
    parse_csv(&text)
}

/// A cwnd series: (agent, flow, time, cwnd, ssthresh).
pub fn windows(folder: &Path, case: &str, agent: &str) -> Vec<(f64, f64, f64)> {
    let rows = parse_csv(&unzip(&folder.join(format!("cwnd_{case}.csv.gz"))));
    let number = |row: &Row, key: &str| row[key].parse::<f64>().expect("a number");
    let mine = rows.iter().filter(|row| row["agent"] == agent && row["flow"] == "0");
    mine.map(|row| (number(row, "time"), number(row, "cwnd"), number(row, "ssthresh"))).collect()
}
