//! Long flows of Linux: sender and receiver over a steady or moving bottleneck, and the figures that a folder names.

use super::{ReferenceError, Table};
use crate::flow::CaState;
use crate::path::{Crossing, Endpoint, Events, Exchange, Outcomes, PathConfig, Verdict, Way};
use crate::receiver::{self, Receiver};
use crate::segment::Segment;
use crate::sender::{self, Config, ControlKind, Sender};
use crate::timer::Timers;
use flate2::read::GzDecoder;
use skyhop_base::{Duration, Rate, Time};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// The columns of a table of runs. Another one could change the run.
const FLOW_COLUMNS: [&str; 13] = [
    "run",
    "config",
    "rate_bps",
    "delay_s",
    "limit_packets",
    "duration_s",
    "flows",
    "random_loss",
    "seed",
    "schedule",
    "outage",
    "receive_buffer",
    "paced",
];
/// Seconds.
const LONGEST_FLOW: f64 = 3600.0;

/// A run of a folder of long flows: one flow with an endless backlog.
#[derive(Clone, Debug)]
pub struct FlowCase {
    pub name: String,
    /// Configuration and control, as the table of figures names them.
    pub group: String,
    pub control: ControlKind,
    memory: [u64; 3],
    paced: bool,
    pub path: PathConfig,
    pub length: Duration,
    /// Least and largest value of each figure over the recorded runs.
    pub figures: BTreeMap<String, (f64, f64)>,
}

impl FlowCase {
    /// The control's name.
    pub fn control_name(&self) -> &'static str {
        self.control.name()
    }
}

/// What one run gave: figures under the names of the folder, and the window over time (seconds, segments).
#[derive(Clone, Debug, Default)]
pub struct FlowResult {
    pub figures: BTreeMap<&'static str, f64>,
    pub windows: Vec<(f64, u32)>,
    /// When slow start, or the control's own start-up, ended, and the window then.
    pub exit: Option<(f64, u32)>,
    /// When each recovery began, in s.
    pub recoveries: Vec<f64>,
    /// The first packet that the path lost, in s.
    pub first_loss: Option<f64>,
    /// One RTT for each ACK of new data that was sent once, in s, in order of time.
    pub rtts: Vec<f64>,
    /// Packets with data in order of entry, and ACKs in order of delivery.
    pub data: Vec<FlowData>,
    pub acks: Vec<(f64, u64)>,
}

/// A packet with data: when it entered the path in s, its first byte (0 is the first of the flow), its bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowData {
    pub at: f64,
    pub seq: u64,
    pub len: u32,
}

impl FlowResult {
    /// The window at a time in seconds, or 0 before the first ACK.
    pub fn window_at(&self, seconds: f64) -> u32 {
        window_at(&self.windows, seconds)
    }
}

/// The value of a step function at `seconds`.
pub fn window_at(windows: &[(f64, u32)], seconds: f64) -> u32 {
    let place = windows.partition_point(|&(at, _)| at <= seconds);
    place.checked_sub(1).map_or(0, |place| windows[place].1)
}

/// A row of the table of runs, whether or not the run can be built.
#[derive(Debug)]
pub struct FlowRow {
    /// The line of the file, from 1.
    pub line: usize,
    pub name: String,
    pub group: String,
    pub case: Result<FlowCase, ReferenceError>,
}

/// Reads `cases.csv` and `targets.csv` of a folder of long flows; a row that cannot be built stands as its error.
pub fn read_flow_rows(folder: &Path) -> Result<Vec<FlowRow>, ReferenceError> {
    let (cases, targets) = (read_table(folder, "cases.csv")?, read_table(folder, "targets.csv")?);
    let mut figures: BTreeMap<String, BTreeMap<String, (f64, f64)>> = BTreeMap::new();
    for row in 0..targets.rows.len() {
        let (Ok(least), Ok(most)) = (targets.number(row, "min"), targets.number(row, "max")) else { continue };
        let group = targets.text(row, "config")?.to_owned();
        figures.entry(group).or_default().insert(targets.text(row, "metric")?.to_owned(), (least, most));
    }
    for column in ["run", "config", "flows"] {
        cases.column(column)?;
    }
    let text = |row, column| cases.text(row, column).unwrap_or_default();
    let rows = (0..cases.rows.len()).map(|row| {
        let group = format!("{}_{}", text(row, "config"), text(row, "flows"));
        let case = read_flow(folder, &cases, row, &group, figures.get(&group).cloned().unwrap_or_default());
        FlowRow { line: row + 2, name: text(row, "run").to_owned(), group, case }
    });
    Ok(rows.collect())
}

/// Reads the runs that can be built, each group's first.
pub fn read_flows(folder: &Path) -> Result<Vec<FlowCase>, ReferenceError> {
    let mut flows: Vec<FlowCase> = Vec::new();
    for row in read_flow_rows(folder)? {
        if let Ok(case) = row.case
            && flows.iter().all(|flow| flow.group != case.group)
        {
            flows.push(case);
        }
    }
    Ok(flows)
}

fn read_table(folder: &Path, name: &str) -> Result<Table, ReferenceError> {
    let path = folder.join(name);
    let file = File::open(&path).map_err(|e| ReferenceError::Read { path: path.clone(), source: e.into() })?;
    Table::read(path, file)
}

fn read_flow(
    folder: &Path,
    cases: &Table,
    row: usize,
    group: &str,
    figures: BTreeMap<String, (f64, f64)>,
) -> Result<FlowCase, ReferenceError> {
    if cases.rows[row].len() != cases.header.len() {
        return Err(cases.fields(row));
    }
    for (column, value) in cases.header.iter().zip(&cases.rows[row]) {
        if !value.is_empty() && !FLOW_COLUMNS.contains(&column) {
            let (column, value) = (column.to_owned(), value.to_owned());
            return Err(ReferenceError::Unknown { path: cases.path.clone(), row: row + 2, column, value });
        }
    }
    let wrong = |column, wanted| Err(cases.wrong(row, column, cases.text(row, column)?, wanted));
    let Some(control) = ControlKind::named(cases.text(row, "flows")?) else {
        return wrong("flows", "not one control that is modelled here; several flows cannot be built yet");
    };
    if !matches!(cases.text(row, "random_loss")?, "" | "0") {
        return wrong("random_loss", "and random losses cannot be built: the recording's draws are not known");
    }
    let memory = match cases.text(row, "receive_buffer")? {
        "stock" => [4096, 131_072, 33_554_432],
        text => {
            let size = text.strip_suffix(" MiB initial").and_then(|size| size.parse::<u64>().ok());
            let Some(size @ 1..=32) = size else {
                return wrong("receive_buffer", "not \"stock\" or \"8 MiB initial\" (1 to 32)");
            };
            [4096, size << 20, 33_554_432]
        }
    };
    let length = match cases.seconds(row, "duration_s")? {
        length if length > 0.0 && length <= LONGEST_FLOW => length,
        _ => return wrong("duration_s", "not above 0 and up to 3600 s"),
    };
    let schedule = cases.text(row, "schedule")?;
    let losing = match cases.text(row, "outage")? {
        "" | "hold" => false,
        "drop" => true,
        _ => return wrong("outage", "neither hold nor drop"),
    };
    let events = if schedule.is_empty() {
        String::new()
    } else {
        read_schedule(&read_table(folder, schedule)?, length, losing)?
    };
    let queue = cases.number(row, "limit_packets")?;
    let list = |source| ReferenceError::List { path: cases.path.clone(), row: row + 2, source };
    let rate = Rate::from_bps(cases.number(row, "rate_bps")?);
    Ok(FlowCase {
        name: cases.text(row, "run")?.to_owned(),
        figures,
        group: group.to_owned(),
        control,
        memory,
        paced: match cases.text(row, "paced")? {
            "" | "0" => false,
            "1" => true,
            _ => return wrong("paced", "neither 0 nor 1"),
        },
        path: PathConfig {
            rate: rate.ok_or_else(|| cases.wrong(row, "rate_bps", "0", "not a rate above 0"))?,
            delay: Duration::from_secs_f64(cases.seconds(row, "delay_s")?),
            queues: [queue, queue],
            outcomes: Outcomes::default(),
            events: Events::parse(&events).map_err(list)?,
            syn_bytes: 60,
            turnaround: [Duration::ZERO; 2],
        },
        length: Duration::from_secs_f64(length),
    })
}

/// Steps of the delay, and outages in which packets wait or are lost, in the words of a list of events.
fn read_schedule(table: &Table, length: f64, losing: bool) -> Result<String, ReferenceError> {
    let mut events = Vec::new();
    for row in 0..table.rows.len() {
        let (at, value) = (table.seconds(row, "time_s")?, table.seconds(row, "value")?);
        if at >= length {
            continue;
        }
        events.push(match table.text(row, "event")? {
            "outage_s" => format!("{}@{at}-{}:B", if losing { "drop" } else { "hold" }, at + value),
            "delay_ms" => format!("delay@{at}:B={value}"),
            other => return Err(table.wrong(row, "event", other, "neither outage_s nor delay_ms")),
        });
    }
    Ok(events.join(";"))
}

/// Reads the recorded windows of a run: seconds and segments.
pub fn read_flow_windows(folder: &Path, run: &str) -> Result<Vec<(f64, u32)>, ReferenceError> {
    let path = folder.join(format!("{run}.cwnd.csv.gz"));
    let file = File::open(&path).map_err(|e| ReferenceError::Read { path: path.clone(), source: e.into() })?;
    let table = Table::read(path, GzDecoder::new(file))?;
    (0..table.rows.len()).map(|row| Ok((table.seconds(row, "t")?, table.number(row, "cwnd")?))).collect()
}

/// The sending host, and its window over time.
#[derive(Debug)]
struct Watched {
    host: sender::Host,
    windows: Vec<(f64, u32)>,
    exit: Option<(f64, u32)>,
}

impl Watched {
    /// A control that owns its window says when its start-up ends; the others set the threshold then.
    fn has_left_slow_start(&self) -> bool {
        let sender = &self.host.sender;
        if sender.control().owns_window() {
            sender.control().phase().is_some_and(|phase| !phase.eq_ignore_ascii_case("startup"))
        } else {
            sender.ssthresh().is_some()
        }
    }
}

impl Endpoint for Watched {
    fn on_segment(&mut self, now: Time, segment: &Segment) {
        let before = self.host.sender.cwnd();
        self.host.on_segment(now, segment);
        if self.exit.is_none() && self.has_left_slow_start() {
            // The loss or the signal that ends slow start found this window; a start-up of the control's own ends with the
            // window that the same ACK sets.
            let sender = &self.host.sender;
            let window = if sender.control().owns_window() { sender.cwnd() } else { before };
            self.exit = Some((now.as_secs_f64(), window));
        }
        let cwnd = self.host.sender.cwnd();
        if self.windows.last().is_none_or(|&(_, last)| last != cwnd) {
            self.windows.push((now.as_secs_f64(), cwnd));
        }
    }

    fn on_timeout(&mut self, now: Time) {
        self.host.on_timeout(now);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.host.next_timeout()
    }

    fn transmit(&mut self, now: Time) -> Option<Segment> {
        self.host.transmit(now)
    }
}

/// Runs a flow.
pub fn run_flow(case: &FlowCase) -> FlowResult {
    let timers = Timers::Wheel { first: 0, phase: Duration::from_millis(2) };
    let config = Config { control: case.control.clone(), timers, pacing: case.paced, ..Config::default() };
    let length = case.length.as_secs_f64();
    // More than the path can carry.
    let bytes = (case.path.rate.bps_f64() * length / 8.0 * 1.1) as u64;
    let mut sender = Sender::new(config);
    sender.record_states();
    let host = sender::Host::new(sender, Time::ZERO, Duration::ZERO, [(Time::ZERO, bytes)]);
    let receiver = Receiver::new(receiver::Config { memory: case.memory, timers, ..receiver::Config::default() });
    let watched = Watched { host, windows: Vec::new(), exit: None };
    let mut exchange = Exchange::new(watched, receiver::Host::new(receiver, None), case.path.clone());
    let (mut highest, mut again, mut tail) = (1, 0u32, 0u32);
    let (mut data, mut acks, mut first_loss) = (Vec::new(), Vec::new(), None);
    // Per end of a segment: when it was sent, unless it was sent again.
    let mut sent: BTreeMap<u64, Option<Time>> = BTreeMap::new();
    exchange.run(Time::ZERO + case.length, |crossing| {
        let Crossing { way, entered, segment, passage, .. } = crossing;
        if *way == Way::Ack {
            acks.extend(passage.out.zip(segment.ack));
            return;
        }
        if segment.len == 0 {
            return;
        }
        again += u32::from(segment.seq < highest);
        tail += u32::from(passage.verdict == Verdict::TailDrop);
        if passage.verdict != Verdict::Delivered && first_loss.is_none() {
            first_loss = Some(entered.as_secs_f64());
        }
        highest = highest.max(segment.end());
        sent.entry(segment.end()).and_modify(|at| *at = None).or_insert(Some(*entered));
        data.push(FlowData { at: entered.as_secs_f64(), seq: segment.seq - 1, len: segment.len });
    });
    let Watched { host, windows, exit } = exchange.sender;
    acks.sort_unstable();
    let rtts: Vec<f64> = round_trips(&acks, &sent);
    let ends = windows.iter().skip(1).map(|&(at, _)| at).chain([length]);
    let area: f64 = windows.iter().zip(ends).map(|(&(from, cwnd), to)| f64::from(cwnd) * (to - from)).sum();
    let begin = windows.first().map_or(0.0, |&(at, _)| at);
    let most = windows.iter().map(|&(_, cwnd)| cwnd).max().unwrap_or(0);
    let changes = host.sender.states();
    let recoveries: Vec<f64> =
        changes.iter().filter(|(_, state)| *state == CaState::Recovery).map(|(at, _)| at.as_secs_f64()).collect();
    let figures = BTreeMap::from([
        ("goodput_Mbps", (host.sender.flow().una - 1) as f64 * 8e-6 / length),
        ("retrans", f64::from(again)),
        ("segs_sent", data.len() as f64),
        ("drop_tail", f64::from(tail)),
        ("rto_events", f64::from(host.sender.timeouts())),
        ("cwnd_mean", area / (length - begin)),
        ("cwnd_max", f64::from(most)),
    ]);
    let acks = acks.into_iter().map(|(at, ack)| (at.as_secs_f64(), ack - 1)).collect();
    FlowResult { figures, windows, exit, recoveries, first_loss, rtts, data, acks }
}

/// One RTT for each ACK of new data: of the last segment that it covers, if that was sent once.
fn round_trips(acks: &[(Time, u64)], sent: &BTreeMap<u64, Option<Time>>) -> Vec<f64> {
    let mut una = 1;
    let mut rtts = Vec::new();
    for &(at, ack) in acks {
        if ack > una {
            let last = sent.range(una + 1..=ack).next_back();
            rtts.extend(last.and_then(|(_, &sent)| sent).map(|sent| at.since(sent).as_secs_f64()));
            una = ack;
        }
    }
    rtts
}
