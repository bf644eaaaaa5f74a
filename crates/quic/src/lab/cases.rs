//! Reads the reference: what ran, and what came out.

use super::LabError;
use super::path::{Direction, Outage, Step};
use crate::{Application, Config, Control, StackKind};
use flate2::read::GzDecoder;
use skyhop_base::{Duration, Time};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// One run of a case: all its flows.
#[derive(Clone, Debug)]
pub struct Run {
    pub number: u32,
    pub seed: u64,
    pub flows: Vec<Flow>,
}

/// One flow of a run: what it did and what was measured.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The stack by its name in the reference; one that this program does not know stays a name.
    pub stack: String,
    pub control: String,
    pub application: Application,
    pub start: Duration,
    pub cap: Duration,
    pub stream_window: u64,
    pub connection_window: u64,
    pub send_window: u64,
    /// Zero: the stack's own.
    pub initial_rtt: Duration,
    pub udp_payload: u16,
    pub offload: bool,
    pub measured: Measured,
}

/// What the reference measured for one flow. `None`: it had nothing to measure.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    pub first_packet_s: f64,
    pub connect_s: f64,
    pub handshake_s: Option<f64>,
    pub first_byte_s: Option<f64>,
    pub completion_s: Option<f64>,
    pub goodput_bps: Option<f64>,
    pub sent_packets: Option<f64>,
    pub wire_data_packets: Option<f64>,
    pub tail_drops: Option<f64>,
    pub mean_rtt_ms: Option<f64>,
    pub peak_cwnd: Option<f64>,
    pub app_bytes: Option<f64>,
    /// The text of the stack; empty: no error.
    pub error: String,
}

/// A case: one set of parameters, run once or more.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub mechanism: String,
    pub rate_down_bps: u64,
    pub rate_up_bps: u64,
    pub delay: Duration,
    pub queue_down: usize,
    pub queue_up: usize,
    pub loss: f64,
    pub handover: Option<Outage>,
    pub runs: Vec<Run>,
    /// Why one of its rows cannot be built. Such a case is not within its bounds.
    pub problem: Option<String>,
}

/// One packet of the file of the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StartPacket {
    pub t_in_s: f64,
    pub flow: usize,
    /// In the direction of the data.
    pub data: bool,
    pub length: u64,
}

impl Case {
    /// True when data goes from the client to the server.
    pub fn is_upload(&self) -> bool {
        self.runs.iter().flat_map(|run| &run.flows).any(|flow| matches!(flow.application, Application::Upload { .. }))
    }

    /// The two directions, down and up, of a run with `seed`.
    pub fn directions(&self, seed: u64) -> [Direction; 2] {
        let (down, up) = if self.is_upload() { (0.0, self.loss) } else { (self.loss, 0.0) };
        let mut directions = [
            Direction::new(self.rate_down_bps, self.delay, self.queue_down, down, (seed, 0)),
            Direction::new(self.rate_up_bps, self.delay, self.queue_up, up, (seed, 1)),
        ];
        if let Some(outage) = self.handover {
            for direction in &mut directions {
                direction.outage = outage;
                direction.steps = handover(self.delay);
            }
        }
        directions
    }
}

/// The reference's trace `handover`: 60 ms one way from 15 s on, the path's own delay from 30 s, 60 ms from 45 s; each
/// step begins with an outage of 150 ms.
fn handover(delay: Duration) -> Vec<Step> {
    let far = Duration::from_millis(60);
    let steps = [(15, far), (30, delay), (45, far)];
    let outage = Duration::from_millis(150);
    steps.map(|(second, delay)| Step { at: Time::from_nanos(second * 1_000_000_000), delay, outage }).to_vec()
}

impl Flow {
    /// The stack's set-up. `None` for a stack that this program does not know.
    pub fn config(&self) -> Option<Result<Config, crate::ConfigError>> {
        let stack: StackKind = self.stack.parse().ok()?;
        let optional = |value: u64| (value > 0).then_some(value);
        Some(self.control.parse::<Control>().map(|control| Config {
            stream_window: optional(self.stream_window),
            connection_window: optional(self.connection_window),
            send_window: optional(self.send_window),
            initial_rtt: Some(self.initial_rtt).filter(|rtt| !rtt.is_zero()),
            streams: Some(STREAMS),
            udp_payload: self.udp_payload,
            offload: self.offload,
            ..Config::new(stack, control)
        }))
    }
}

struct Row<'a> {
    path: &'a str,
    number: usize,
    columns: &'a HashMap<String, usize>,
    record: &'a csv::StringRecord,
}

impl Row<'_> {
    fn text(&self, column: &'static str) -> Result<&str, LabError> {
        let value = self.columns.get(column).and_then(|index| self.record.get(*index));
        value.ok_or_else(|| LabError::File { path: self.path.into(), error: format!("no column \"{column}\"") })
    }

    fn wrong(&self, column: &'static str, value: &str, expected: &'static str) -> LabError {
        LabError::Value { path: self.path.into(), row: self.number, column, value: value.into(), expected }
    }

    fn float(&self, column: &'static str) -> Result<Option<f64>, LabError> {
        let text = self.text(column)?;
        if text.is_empty() {
            return Ok(None);
        }
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        number.map(Some).ok_or_else(|| self.wrong(column, text, "a number that is not negative"))
    }

    fn needed(&self, column: &'static str) -> Result<f64, LabError> {
        self.float(column)?.ok_or_else(|| self.wrong(column, "", "a number that is not negative"))
    }

    fn whole(&self, column: &'static str) -> Result<u64, LabError> {
        let number = self.needed(column)?;
        if number.fract() == 0.0 && number < 9e15 {
            return Ok(number as u64);
        }
        Err(self.wrong(column, self.text(column)?, "a whole number"))
    }
}

fn failed(path: &Path, error: impl std::fmt::Display) -> LabError {
    LabError::File { path: path.display().to_string(), error: error.to_string() }
}

/// The cases of the folder, in the order of its table.
pub fn read(folder: &Path) -> Result<Vec<Case>, LabError> {
    let path = folder.join("cases.csv");
    let name = path.display().to_string();
    let mut reader = csv::Reader::from_path(&path).map_err(|error| failed(&path, error))?;
    let header = reader.headers().map_err(|error| failed(&path, error))?.clone();
    let columns: HashMap<String, usize> = header.iter().enumerate().map(|(i, name)| (name.to_owned(), i)).collect();
    let mut cases: Vec<Case> = Vec::new();
    for (index, record) in reader.records().enumerate() {
        let record = record.map_err(|error| failed(&path, error))?;
        // The header is the file's first line.
        let row = Row { path: &name, number: index + 2, columns: &columns, record: &record };
        match add(&mut cases, &row) {
            // The other cases can still be compared.
            Err(error @ LabError::Value { .. }) => note(&mut cases, row.text("case")?, error.to_string()),
            other => other?,
        }
    }
    if cases.is_empty() {
        return Err(failed(&path, "no case in it"));
    }
    Ok(cases)
}

fn add(cases: &mut Vec<Case>, row: &Row) -> Result<(), LabError> {
    let name = row.text("case")?;
    let position = cases.iter().position(|case| case.name == name);
    let case = match position {
        Some(position) => &mut cases[position],
        None => {
            cases.push(case(name, row)?);
            cases.last_mut().expect("one was just added")
        }
    };
    let (number, seed) = (row.whole("run")? as u32, row.whole("seed")?);
    if case.runs.iter().all(|run| run.number != number) {
        case.runs.push(Run { number, seed, flows: Vec::new() });
    }
    let run = case.runs.iter_mut().find(|run| run.number == number).expect("it is there or was just added");
    run.flows.push(flow(row)?);
    Ok(())
}

/// The case cannot be built, for this reason; its first one stays.
fn note(cases: &mut Vec<Case>, name: &str, problem: String) {
    if cases.iter().all(|case| case.name != name) {
        cases.push(Case {
            name: name.into(),
            mechanism: String::new(),
            rate_down_bps: 0,
            rate_up_bps: 0,
            delay: Duration::ZERO,
            queue_down: 0,
            queue_up: 0,
            loss: 0.0,
            handover: None,
            runs: Vec::new(),
            problem: None,
        });
    }
    if let Some(case) = cases.iter_mut().find(|case| case.name == name) {
        case.problem.get_or_insert(problem);
    }
}

fn case(name: &str, row: &Row) -> Result<Case, LabError> {
    let handover = match (row.text("trace")?, row.text("outage")?) {
        ("", _) => None,
        ("handover", "hold") => Some(Outage::Hold),
        ("handover", "drop") => Some(Outage::Drop),
        ("handover", other) => return Err(row.wrong("outage", other, "\"hold\" or \"drop\"")),
        (other, _) => return Err(row.wrong("trace", other, "\"handover\" or empty")),
    };
    let loss = row.needed("loss")?;
    if loss >= 1.0 {
        return Err(row.wrong("loss", row.text("loss")?, "a probability below 1"));
    }
    let (rate_down_bps, rate_up_bps) = (row.whole("rate_down_bps")?, row.whole("rate_up_bps")?);
    if rate_down_bps == 0 || rate_up_bps == 0 {
        return Err(row.wrong("rate_down_bps", "0", "a rate above 0 (nor may rate_up_bps be 0)"));
    }
    Ok(Case {
        name: name.into(),
        mechanism: row.text("mechanism")?.into(),
        rate_down_bps,
        rate_up_bps,
        delay: Duration::from_secs_f64(row.needed("delay_ms")? / 1000.0),
        queue_down: row.whole("queue_down")? as usize,
        queue_up: row.whole("queue_up")? as usize,
        loss,
        handover,
        runs: Vec::new(),
        problem: None,
    })
}

/// Streams that the reference's programs grant. Its README does not say the number; its packets say that it is below
/// eight: both stacks announce new streams once an eighth of the number is used up, and there a MAX_STREAMS follows
/// each stream.
const STREAMS: u32 = 4;
/// The reference's requests: 20 of them in its application `rr`.
const REQUESTS: u32 = 20;

fn flow(row: &Row) -> Result<Flow, LabError> {
    let bytes = row.whole("bytes")?;
    let application = match row.text("app")? {
        "down" => Application::Download { bytes },
        "up" => Application::Upload { bytes },
        "rr" => Application::Requests { count: REQUESTS, bytes },
        other => return Err(row.wrong("app", other, "\"down\", \"up\" or \"rr\"")),
    };
    let payload = row.whole("udp_payload")?;
    Ok(Flow {
        stack: row.text("stack")?.into(),
        control: row.text("cc")?.into(),
        application,
        start: Duration::from_secs_f64(row.needed("start_s")?),
        cap: Duration::from_secs_f64(row.needed("cap_s")?),
        stream_window: row.whole("stream_window")?,
        connection_window: row.whole("connection_window")?,
        send_window: row.whole("send_window")?,
        initial_rtt: Duration::from_secs_f64(row.needed("initial_rtt_ms")? / 1000.0),
        udp_payload: u16::try_from(payload).map_err(|_| row.wrong("udp_payload", "too large", "at most 65507"))?,
        offload: row.whole("gso")? != 0,
        measured: Measured {
            first_packet_s: row.needed("first_packet_s")?,
            connect_s: row.needed("connect_s")?,
            handshake_s: row.float("handshake_s")?,
            first_byte_s: row.float("first_byte_s")?,
            completion_s: row.float("completion_s")?,
            goodput_bps: row.float("goodput_bps")?,
            sent_packets: row.float("sent_packets")?,
            wire_data_packets: row.float("wire_data_packets")?,
            tail_drops: row.float("tail_drops")?,
            mean_rtt_ms: row.float("srtt_mean_ms")?,
            peak_cwnd: row.float("peak_cwnd")?,
            app_bytes: row.float("app_bytes")?,
            error: row.text("error")?.into(),
        },
    })
}

/// The rows of a compressed table of the case's first run; `None` if the folder has no such file.
fn table(folder: &Path, case: &str, kind: &str) -> Result<Option<Vec<csv::StringRecord>>, LabError> {
    let path = folder.join(format!("{case}_r1.{kind}.csv.gz"));
    if !path.exists() {
        return Ok(None);
    }
    let mut text = String::new();
    let file = File::open(&path).map_err(|error| failed(&path, error))?;
    GzDecoder::new(file).read_to_string(&mut text).map_err(|error| failed(&path, error))?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Result<Vec<_>, _> = reader.records().collect();
    rows.map(Some).map_err(|error| failed(&path, error))
}

/// The first packets of the case's first run.
pub fn start(folder: &Path, case: &str) -> Result<Option<Vec<StartPacket>>, LabError> {
    let Some(rows) = table(folder, case, "start")? else { return Ok(None) };
    let packet = |row: &csv::StringRecord| {
        Some(StartPacket {
            t_in_s: row.get(0)?.parse().ok()?,
            // Stateless answers belong to nobody.
            flow: row.get(1)?.parse().unwrap_or(usize::MAX),
            data: row.get(2)? == "D",
            length: row.get(4)?.parse().ok()?,
        })
    };
    let packets: Option<Vec<StartPacket>> = rows.iter().map(packet).collect();
    let path = folder.join(format!("{case}_r1.start.csv.gz"));
    packets.map(Some).ok_or_else(|| failed(&path, "a row without t_in, flow, dir, n and len"))
}

/// Time and ordinal of the first tail drop in the data direction of the case's first run.
pub fn first_tail_drop(folder: &Path, case: &str) -> Result<Option<(f64, f64)>, LabError> {
    let Some(rows) = table(folder, case, "drops")? else { return Ok(None) };
    let drop = |row: &csv::StringRecord| {
        (row.get(7)? == "tail" && row.get(2)? == "D").then_some(())?;
        Some((row.get(0)?.parse().ok()?, row.get(3)?.parse().ok()?))
    };
    Ok(rows.iter().find_map(drop))
}
