//! Runs of long flows as the tables of a folder name them.

use super::{ReferenceError, Table};
use crate::path::{Drawn, Events, Listed, Losses, Outcomes, PathConfig};
use crate::receiver;
use crate::sender::ControlKind;
use flate2::read::GzDecoder;
use skyhop_base::{Duration, Rate};
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
/// Flows of one run: more are a slip of the pen.
const MOST_FLOWS: usize = 64;

/// One flow of a run.
#[derive(Clone, Debug)]
pub struct OneFlow {
    pub control: ControlKind,
    pub start: Duration,
    /// When the application writes, unless the connection stands later.
    pub writes: Duration,
    /// Least and largest value of each figure over the recorded runs, and how many they are.
    pub figures: BTreeMap<String, Range>,
}

/// Least and largest value over the recorded runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub least: f64,
    pub most: f64,
    pub runs: u32,
}

/// A run of a folder of long flows, each with an endless backlog.
#[derive(Clone, Debug)]
pub struct FlowCase {
    pub name: String,
    /// Configuration and controls, as the table of figures names them.
    pub group: String,
    pub flows: Vec<OneFlow>,
    pub(super) receiver: receiver::Config,
    pub(super) paced: bool,
    pub path: PathConfig,
    pub length: Duration,
    random_loss: f64,
    /// The losses that the recording names, if it does.
    listed: Option<Listed>,
    /// Whether ACKs are lost by chance, too.
    acks_lost: bool,
}

impl FlowCase {
    /// What the path loses by chance. The recording's own losses stand as they were; losses that it does not name are
    /// drawn.
    pub fn losses(&self, seed: u64) -> Losses {
        let draw = |directions| Drawn::new(self.random_loss, seed, directions);
        match &self.listed {
            _ if self.random_loss == 0.0 => Losses::None,
            Some(listed) => Losses::Listed(listed.clone().with_acks(self.acks_lost.then(|| draw([false, true])))),
            None => Losses::Drawn(draw([true, self.acks_lost])),
        }
    }

    /// Whether losses are drawn, so that the recording is one draw of many.
    pub fn draws_losses(&self) -> bool {
        self.random_loss > 0.0 && (self.listed.is_none() || self.acks_lost)
    }

    /// Whether losses of the recording hang on its segments, so that runs compare at equal places in the data rather
    /// than at equal times.
    pub(super) fn replays(&self) -> bool {
        self.random_loss > 0.0 && self.listed.is_some()
    }

    /// Whether a recording is one sample of many: its losses are not known, or flows compete. Which flow's packets a
    /// full queue drops depends on microseconds, and the kernel's own repetitions differ by more than the bounds.
    pub fn is_a_sample(&self) -> bool {
        self.draws_losses() || self.flows.len() > 1
    }

    /// Whether chance decides anything of a run. Controls that own their window may draw phases.
    pub fn draws(&self) -> bool {
        self.is_a_sample() || self.flows.iter().any(|flow| flow.control.build(0).owns_window())
    }
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

/// The figures of a folder: by configuration and controls, then by flow.
type Figures = BTreeMap<String, BTreeMap<usize, BTreeMap<String, Range>>>;

/// Reads `cases.csv` and `targets.csv` of a folder of long flows; a row that cannot be built stands as its error.
pub fn read_flow_rows(folder: &Path) -> Result<Vec<FlowRow>, ReferenceError> {
    let (cases, targets) = (read_table(folder, "cases.csv")?, read_table(folder, "targets.csv")?);
    let mut figures = Figures::new();
    for row in 0..targets.rows.len() {
        if ["min", "max"].iter().any(|column| targets.text(row, column).is_ok_and(|text| text.trim().is_empty())) {
            continue;
        }
        let (least, most) = (targets.number(row, "min")?, targets.number::<f64>(row, "max")?);
        if least > most {
            return Err(targets.wrong(row, "min", targets.text(row, "min")?, "not above the max of its row"));
        }
        // Rows over all flows have no number of a flow.
        let Ok(flow) = targets.text(row, "flow")?.trim_start_matches('f').parse() else { continue };
        let range = Range { least, most, runs: targets.number(row, "n").unwrap_or(1) };
        let group = plain(targets.text(row, "config")?);
        let metric = targets.text(row, "metric")?.to_owned();
        figures.entry(group).or_default().entry(flow).or_default().insert(metric, range);
    }
    for column in ["run", "config", "flows"] {
        cases.column(column)?;
    }
    let text = |row, column| cases.text(row, column).unwrap_or_default();
    let rows = (0..cases.rows.len()).map(|row| {
        let name = text(row, "run").to_owned();
        let group = format!("{}_{}", text(row, "config"), text(row, "flows"));
        let without_number = name.rsplit_once("_r").map_or(name.as_str(), |(group, _)| group);
        let found = figures.get(&plain(&group)).or_else(|| figures.get(&plain(without_number)));
        let case = read_flow(folder, &cases, row, &group, found.unwrap_or(&BTreeMap::new()));
        FlowRow { line: row + 2, name, group, case }
    });
    Ok(rows.collect())
}

/// A name of a group without regard to how its parts are joined.
fn plain(name: &str) -> String {
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("_").to_ascii_lowercase()
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

pub(super) fn read_table(folder: &Path, name: &str) -> Result<Table, ReferenceError> {
    let path = folder.join(name);
    let file = File::open(&path).map_err(|e| ReferenceError::Read { path: path.clone(), source: e.into() })?;
    Table::read(path, file)
}

/// Reads a recording's file of one kind, such as `cwnd`.
pub(super) fn zipped(folder: &Path, run: &str, kind: &str) -> Result<Table, ReferenceError> {
    let path = folder.join(format!("{run}.{kind}.csv.gz"));
    let file = File::open(&path).map_err(|e| ReferenceError::Read { path: path.clone(), source: e.into() })?;
    Table::read(path, GzDecoder::new(file))
}

/// The value that was read, or `None` when the file is absent: its name is then added to `missing`.
pub(super) fn if_there<T>(
    read: Result<T, ReferenceError>,
    missing: &mut Vec<String>,
) -> Result<Option<T>, ReferenceError> {
    let is_absent = |source: &csv::Error| match source.kind() {
        csv::ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    };
    match read {
        Err(ReferenceError::Read { path, source }) if is_absent(&source) => {
            let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.display().to_string());
            if !missing.contains(&name) {
                missing.push(name);
            }
            Ok(None)
        }
        read => read.map(Some),
    }
}

/// Whether a row of a recording is of this flow. A file without the column has one flow.
pub(super) fn is_of(table: &Table, row: usize, flow: usize) -> Result<bool, ReferenceError> {
    if table.column("flow").is_err() {
        return Ok(flow == 0);
    }
    Ok(table.text(row, "flow")?.trim_start_matches('f').parse() == Ok(flow))
}

fn read_flow(
    folder: &Path,
    cases: &Table,
    row: usize,
    group: &str,
    figures: &BTreeMap<usize, BTreeMap<String, Range>>,
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
    let Some(parts) = parse_flows(cases.text(row, "flows")?) else {
        let known = "not controls that are modelled here, joined by \"+\", \",\", \";\", \"|\", \"&\", \"/\" or \
            spaces, \
                     each perhaps with a number before (\"2xcubic\") and its start in s behind (\"reno@5\")";
        return wrong("flows", known);
    };
    let random_loss = match cases.text(row, "random_loss")? {
        "" => 0.0,
        _ => cases.number(row, "random_loss")?,
    };
    if !(0.0..1.0).contains(&random_loss) {
        return wrong("random_loss", "not a probability from 0 and below 1");
    }
    let Some(receiver) = parse_buffer(cases.text(row, "receive_buffer")?) else {
        let known =
            "not \"stock\", \"8 MiB initial\", \"4 MiB max\", \"256 KiB fixed\" or tcp_rmem's three numbers of bytes";
        return wrong("receive_buffer", known);
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
    let name = cases.text(row, "run")?.to_owned();
    let starts = read_starts(folder, &name, parts.len());
    let flows: Vec<OneFlow> = parts
        .into_iter()
        .enumerate()
        .map(|(number, (control, start))| OneFlow {
            control,
            start: Duration::from_secs_f64(start.unwrap_or(starts[number].0)),
            writes: Duration::from_secs_f64(start.unwrap_or(starts[number].1)),
            figures: figures.get(&number).cloned().unwrap_or_default(),
        })
        .collect();
    if flows.iter().any(|flow| flow.start.as_secs_f64() >= length) {
        return wrong("flows", "and one starts at the end of the run or later");
    }
    let (listed, acks_lost) = if random_loss > 0.0 { read_losses(folder, &name)? } else { (None, false) };
    Ok(FlowCase {
        name,
        group: group.to_owned(),
        flows,
        receiver,
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
        random_loss,
        listed,
        acks_lost,
    })
}

/// The controls of a run with their starts in s where the text says them, such as `reno`, `cubic+reno`, `2xcubic` or
/// `cubic;bbr@5`.
fn parse_flows(text: &str) -> Option<Vec<(ControlKind, Option<f64>)>> {
    let mut flows = Vec::new();
    let mut count = 1;
    if let Some(control) = ControlKind::named(text.trim()) {
        return Some(vec![(control, None)]);
    }
    let joined = |c: char| c.is_whitespace() || "+,;|&/".contains(c);
    for part in text.split(joined).filter(|part| !matches!(*part, "" | "and" | "vs")) {
        if let Ok(number) = part.parse::<usize>() {
            count = number;
            continue;
        }
        let (part, start) = match part.split_once('@') {
            Some((part, start)) => (part, Some(start.trim_end_matches('s').parse::<f64>().ok()?)),
            None => (part, None),
        };
        if start.is_some_and(|start| !(0.0..LONGEST_FLOW).contains(&start)) {
            return None;
        }
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
        let (number, name) = part.split_at(digits);
        if !number.is_empty() {
            count = number.parse().ok()?;
        }
        let mut name = name;
        if !number.is_empty() {
            name = name.trim_start_matches(['x', '*', '×']);
        } else if let Some((before, behind)) = name.rsplit_once(['*', 'x', '×'])
            && let Ok(number) = behind.parse()
        {
            (name, count) = (before, number);
        }
        let control = ControlKind::named(name)?;
        if count == 0 || flows.len() + count > MOST_FLOWS {
            return None;
        }
        flows.extend(std::iter::repeat_n((control, start), count));
        count = 1;
    }
    // A number at the end counts nothing.
    (count == 1 && !flows.is_empty()).then_some(flows)
}

/// A stock host's receiver with the buffer that the table names.
fn parse_buffer(text: &str) -> Option<receiver::Config> {
    let stock = receiver::Config::default();
    let words: Vec<&str> = text.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let size = |number: &str, unit: &str| {
        let unit = match unit {
            "B" | "bytes" => 1.0,
            "kB" | "KB" => 1e3,
            "KiB" => 1024.0,
            "MB" => 1e6,
            "MiB" => 1_048_576.0,
            _ => return None,
        };
        let bytes = number.parse::<f64>().ok()? * unit;
        (2048.0..=1_073_741_824.0).contains(&bytes).then_some(bytes as u64)
    };
    if let [least, first, most] = words[..]
        && let (Ok(least), Ok(first), Ok(most)) = (least.parse(), first.parse(), most.parse::<u64>())
    {
        return (least <= first && first <= most).then_some(receiver::Config { memory: [least, first, most], ..stock });
    }
    let mut config = stock;
    match words[..] {
        [] | ["stock" | "default"] => return Some(config),
        _ if !words.len().is_multiple_of(3) => return None,
        _ => {}
    }
    for part in words.chunks(3) {
        let bytes = size(part[0], part[1])?;
        match part[2] {
            "initial" | "default" => config.memory[1] = bytes,
            "max" | "maximum" | "largest" => config.memory[2] = bytes,
            "fixed" | "SO_RCVBUF" => config.buffer = Some(bytes),
            _ => return None,
        }
    }
    let named_most = words.iter().any(|word| word.starts_with("max") || *word == "largest");
    if named_most && config.memory[1] > config.memory[2] {
        config.memory[1] = config.memory[2];
    }
    config.memory[2] = config.memory[2].max(config.memory[1]);
    Some(config)
}

/// When each flow of a recording opened its connection and when it wrote, in s after the first SYN: hosts start their
/// applications one after the other, and who comes first decides whose packets the full queue drops. Without packets
/// the first window stands in for both; zero where the recording does not tell.
fn read_starts(folder: &Path, run: &str, flows: usize) -> Vec<(f64, f64)> {
    let mut starts = vec![(0.0, 0.0); flows];
    if flows < 2 {
        return starts;
    }
    let first = |table: &Table, column, flow, wanted: &dyn Fn(usize) -> bool| {
        let is_first = |row: &usize| wanted(*row) && is_of(table, *row, flow).unwrap_or(false);
        (0..table.rows.len()).find(is_first).and_then(|row| table.seconds(row, column).ok())
    };
    if let Ok(packets) = zipped(folder, run, "pkts") {
        let data = |row| packets.text(row, "dir").is_ok_and(|dir| dir == "0");
        let number = |row, column| packets.number::<i64>(row, column).unwrap_or(0);
        let times = (0..flows).map(|flow| {
            let syn = first(&packets, "t_in", flow, &|row| data(row) && number(row, "seq") < 0)?;
            let write = first(&packets, "t_in", flow, &|row| data(row) && number(row, "len") > 0)?;
            Some((syn, write))
        });
        if let Some(times) = times.collect::<Option<Vec<_>>>() {
            let begin = times.iter().map(|(syn, _)| *syn).fold(f64::INFINITY, f64::min);
            return times.into_iter().map(|(syn, write)| (syn - begin, write - begin)).collect();
        }
    }
    if let Ok(windows) = zipped(folder, run, "cwnd") {
        let times: Vec<_> = (0..flows).map(|flow| first(&windows, "t", flow, &|_| true).unwrap_or(0.0)).collect();
        let begin = times.iter().copied().fold(f64::INFINITY, f64::min);
        starts = times.into_iter().map(|at| (at - begin, at - begin)).collect();
    }
    starts
}

/// The losses by chance that a recording names, and whether it lost ACKs by chance.
fn read_losses(folder: &Path, run: &str) -> Result<(Option<Listed>, bool), ReferenceError> {
    let by_chance = |what: &str| !matches!(what, "tail" | "outage" | "ok" | "");
    let mut acks_lost = false;
    let mut missing = Vec::new();
    if let Some(packets) = if_there(zipped(folder, run, "pkts"), &mut missing)? {
        for row in 0..packets.rows.len() {
            acks_lost |= packets.text(row, "dir")? == "1" && by_chance(packets.text(row, "fate")?);
        }
    }
    let Some(events) = if_there(zipped(folder, run, "events"), &mut missing)? else { return Ok((None, acks_lost)) };
    let mut listed = Listed::default();
    let mut found = false;
    // A lost ACK may stand as a drop at 0, its place in the other direction. The first segment was lost as often as it
    // was repeated.
    let mut at_zero = 0;
    for row in 0..events.rows.len() {
        at_zero += usize::from(events.text(row, "ev")? == "R" && events.text(row, "seq")? == "0");
    }
    for row in 0..events.rows.len() {
        if events.text(row, "ev")? == "D" {
            if events.text(row, "seq")? == "0" {
                if at_zero == 0 {
                    acks_lost = true;
                    continue;
                }
                at_zero -= 1;
            }
            let flow = if events.column("flow").is_ok() { events.text(row, "flow")? } else { "0" };
            let flow = flow.trim_start_matches('f').parse().unwrap_or(0);
            let seq: i64 = events.number(row, "seq")?;
            // The first byte is 0 in the recording and 1 here. A packet without data has no place in the data.
            if let Ok(seq) = u64::try_from(seq) {
                let chance = by_chance(events.text(row, "what")?);
                listed.add(flow, seq + 1, chance);
                found |= chance;
            }
        }
    }
    Ok((found.then_some(listed), acks_lost))
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

/// Reads the recorded windows of a flow of a run: seconds and segments.
pub fn read_flow_windows(folder: &Path, run: &str, flow: usize) -> Result<Vec<(f64, u32)>, ReferenceError> {
    windows_over(folder, run, flow, "t")
}

/// The same over another column, such as the bytes that were acknowledged.
pub(super) fn windows_over(
    folder: &Path,
    run: &str,
    flow: usize,
    column: &'static str,
) -> Result<Vec<(f64, u32)>, ReferenceError> {
    let table = zipped(folder, run, "cwnd")?;
    let mut windows = Vec::new();
    for row in 0..table.rows.len() {
        if is_of(&table, row, flow)? {
            windows.push((table.number(row, column)?, table.number(row, "cwnd")?));
        }
    }
    Ok(windows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_flows_are_read_however_they_are_joined() {
        let names = |text: &str| {
            parse_flows(text).map(|flows| flows.iter().map(|(control, _)| control.name()).collect::<Vec<_>>().join(" "))
        };
        for text in ["reno;cubic", "reno+cubic", "reno cubic", "reno,cubic", "reno | cubic", "reno vs cubic"] {
            assert_eq!(names(text).as_deref(), Some("reno cubic"), "{text}");
        }
        for text in ["2xcubic+bbr", "2*cubic;bbr", "cubicx2,bbr", "cubic*2 bbr", "2 cubic, bbr", "cubic+cubic+bbr"] {
            assert_eq!(names(text).as_deref(), Some("cubic cubic bbr"), "{text}");
        }
        assert_eq!(names("ledbat++").as_deref(), Some("ledbat++"));
        let starts: Vec<_> = parse_flows("cubic@0+bbr@2.5s").unwrap().into_iter().map(|(_, start)| start).collect();
        assert_eq!(starts, [Some(0.0), Some(2.5)]);
        for text in ["", "quic", "reno+quic", "0xcubic", "65xcubic", "cubic 2", "cubic@-1"] {
            assert_eq!(names(text), None, "{text}");
        }
    }

    #[test]
    fn buffers_are_read_as_the_kernel_counts_them() {
        let memory = |text: &str| parse_buffer(text).map(|config| (config.memory, config.buffer));
        let stock = [4096, 131_072, 33_554_432];
        assert_eq!(memory("stock"), Some((stock, None)));
        assert_eq!(memory("default"), memory("stock"));
        assert_eq!(memory("8 MiB initial"), Some(([4096, 8 << 20, 33_554_432], None)));
        assert_eq!(memory("4 MiB max"), Some(([4096, 131_072, 4 << 20], None)));
        assert_eq!(memory("64 KiB max"), Some(([4096, 65_536, 65_536], None)));
        assert_eq!(memory("1 MiB initial, 2 MiB max"), Some(([4096, 1 << 20, 2 << 20], None)));
        assert_eq!(memory("4096 131072 6291456"), Some(([4096, 131_072, 6_291_456], None)));
        assert_eq!(memory("256 KiB fixed"), Some((stock, Some(262_144))));
        for text in ["big", "8 MiB", "8 furlongs initial", "-1 MiB max", "3 2 1"] {
            assert_eq!(memory(text), None, "{text}");
        }
    }
}
