//! Long flows of Linux: sender and receiver over a steady or moving bottleneck, and the figures that a folder names.

use super::{ReferenceError, Table};
use crate::path::{Endpoint, Events, Exchange, Outcomes, PathConfig, Verdict, Way};
use crate::receiver::{self, Receiver};
use crate::segment::Segment;
use crate::sender::{self, Config, ControlKind, Sender};
use crate::timer::Timers;
use flate2::read::GzDecoder;
use skyhop_base::{Duration, Rate, Time};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// A run of a folder of long flows: one flow with an endless backlog.
#[derive(Clone, Debug)]
pub struct FlowCase {
    pub name: String,
    /// Configuration and control, as the table of figures names them.
    pub group: String,
    pub control: ControlKind,
    pub path: PathConfig,
    pub length: Duration,
    /// Least and largest value of each figure over the recorded runs.
    pub figures: BTreeMap<String, (f64, f64)>,
}

/// What one run gave: figures under the names of the folder, and the window over time (seconds, segments).
#[derive(Clone, Debug, Default)]
pub struct FlowResult {
    pub figures: BTreeMap<&'static str, f64>,
    pub windows: Vec<(f64, u32)>,
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

/// Reads the runs with one flow and no random loss, each group's first.
pub fn read_flows(folder: &Path) -> Result<Vec<FlowCase>, ReferenceError> {
    let read = |name: &str| {
        let path = folder.join(name);
        let file = File::open(&path).map_err(|e| ReferenceError::Read { path: path.clone(), source: e.into() })?;
        Table::read(path, file)
    };
    let (cases, targets) = (read("cases.csv")?, read("targets.csv")?);
    let mut figures: BTreeMap<String, BTreeMap<String, (f64, f64)>> = BTreeMap::new();
    for row in 0..targets.rows.len() {
        let (Ok(least), Ok(most)) = (targets.number(row, "min"), targets.number(row, "max")) else { continue };
        let group = targets.text(row, "config")?.to_owned();
        figures.entry(group).or_default().insert(targets.text(row, "metric")?.to_owned(), (least, most));
    }
    let mut flows: Vec<FlowCase> = Vec::new();
    for row in 0..cases.rows.len() {
        // Rows of several flows name several controls.
        let Some(control) = ControlKind::named(cases.text(row, "flows")?) else { continue };
        let group = format!("{}_{}", cases.text(row, "config")?, cases.text(row, "flows")?);
        if !cases.text(row, "random_loss")?.is_empty() || flows.iter().any(|flow| flow.group == group) {
            continue;
        }
        let length = cases.seconds(row, "duration_s")?;
        let schedule = cases.text(row, "schedule")?;
        let events = if schedule.is_empty() { String::new() } else { read_schedule(&read(schedule)?, length)? };
        let queue = cases.number(row, "limit_packets")?;
        let list = |source| ReferenceError::List { path: cases.path.clone(), row: row + 2, source };
        let rate = Rate::from_bps(cases.number(row, "rate_bps")?);
        flows.push(FlowCase {
            name: cases.text(row, "run")?.to_owned(),
            figures: figures.get(&group).cloned().unwrap_or_default(),
            group,
            control,
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
        });
    }
    Ok(flows)
}

/// Steps of the delay and outages in which packets wait, in the words of a list of events.
fn read_schedule(table: &Table, length: f64) -> Result<String, ReferenceError> {
    let mut events = Vec::new();
    for row in 0..table.rows.len() {
        let (at, value) = (table.seconds(row, "time_s")?, table.seconds(row, "value")?);
        if at >= length {
            continue;
        }
        events.push(match table.text(row, "event")? {
            "outage_s" => format!("hold@{at}-{}:B", at + value),
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
}

impl Endpoint for Watched {
    fn on_segment(&mut self, now: Time, segment: &Segment) {
        self.host.on_segment(now, segment);
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
    let config = Config { control: case.control.clone(), timers, ..Config::default() };
    let length = case.length.as_secs_f64();
    // More than the path can carry.
    let bytes = (case.path.rate.bps_f64() * length / 8.0 * 1.1) as u64;
    let host = sender::Host::new(Sender::new(config), Time::ZERO, Duration::ZERO, [(Time::ZERO, bytes)]);
    let memory = [4096, 8_388_608, 33_554_432];
    let receiver = Receiver::new(receiver::Config { memory, timers, ..receiver::Config::default() });
    let watched = Watched { host, windows: Vec::new() };
    let mut exchange = Exchange::new(watched, receiver::Host::new(receiver, None), case.path.clone());
    let (mut highest, mut again, mut tail, mut sent) = (1, 0u32, 0u32, 0u32);
    exchange.run(Time::ZERO + case.length, |crossing| {
        if crossing.way != Way::Data || crossing.segment.len == 0 {
            return;
        }
        sent += 1;
        again += u32::from(crossing.segment.seq < highest);
        tail += u32::from(crossing.passage.verdict == Verdict::TailDrop);
        highest = highest.max(crossing.segment.end());
    });
    let Watched { host, windows } = exchange.sender;
    let ends = windows.iter().skip(1).map(|&(at, _)| at).chain([length]);
    let area: f64 = windows.iter().zip(ends).map(|(&(from, cwnd), to)| f64::from(cwnd) * (to - from)).sum();
    let begin = windows.first().map_or(0.0, |&(at, _)| at);
    let most = windows.iter().map(|&(_, cwnd)| cwnd).max().unwrap_or(0);
    let figures = BTreeMap::from([
        ("goodput_Mbps", (host.sender.flow().una - 1) as f64 * 8e-6 / length),
        ("retrans", f64::from(again)),
        ("segs_sent", f64::from(sent)),
        ("drop_tail", f64::from(tail)),
        ("rto_events", f64::from(host.sender.timeouts())),
        ("cwnd_mean", area / (length - begin)),
        ("cwnd_max", f64::from(most)),
    ]);
    FlowResult { figures, windows }
}
