//! One row of `cases.csv`: everything that defines a run.

use super::{ReferenceError, Table};
use crate::path::{Events, Outcomes, PathConfig};
use crate::timer::Timers;
use skyhop_base::{Duration, Rate, Time};
use std::fs::File;
use std::path::Path;

/// Jiffy `jiffy0` begins this long before time zero.
const PHASE: Duration = Duration::from_millis(2);

/// One send() of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    pub at: Time,
    pub bytes: u64,
}

/// What one run was made of.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub mechanism: String,
    /// `reno`, `cubic` or `bbr`.
    pub control: String,
    pub path: PathConfig,
    pub duration: Duration,
    /// In order of time.
    pub writes: Vec<Write>,
    pub nodelay: bool,
    /// SO_RCVBUF of the receiver, `None` where the kernel chooses.
    pub receive_buffer: Option<u64>,
    /// `tcp_rmem`.
    pub receive_memory: [u64; 3],
    /// The receiving application reads nothing from the first time to the second.
    pub reader_pause: Option<(Time, Time)>,
    /// Settings of both hosts that differ from stock.
    pub settings: Vec<(String, String)>,
    pub mss: u32,
    pub timers: Timers,
    /// The largest error of a delivery in the recording.
    pub recording_error: Duration,
    /// The kernel's own repetitions of the case had the same sequence of windows.
    pub windows_repeat: bool,
}

impl Case {
    /// The value of a setting that is a switch or a number.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether a setting is on: its value is one of `on`, or it is absent and on otherwise. Another value is not
    /// modelled.
    pub fn switched(&self, name: &str, off: &[&str], on: &[&str], otherwise: bool) -> Result<bool, ReferenceError> {
        match self.setting(name) {
            None => Ok(otherwise),
            Some(value) if on.contains(&value) => Ok(true),
            Some(value) if off.contains(&value) => Ok(false),
            Some(value) => {
                Err(ReferenceError::Setting { case: self.name.clone(), name: name.to_owned(), value: value.to_owned() })
            }
        }
    }
}

/// The columns of `cases.csv`: those that define a run, and those that say how well its recording repeats and what
/// came of it. Another column could change the run, so a row that fills one cannot be built.
const DEFINING: [&str; 18] = [
    "case",
    "mechanism",
    "cc",
    "rate_bps",
    "delay_ms",
    "queue",
    "ack_queue",
    "dur_s",
    "app",
    "nodelay",
    "rcvbuf",
    "rmem",
    "reader_pause",
    "sysctls",
    "mss",
    "fates",
    "events",
    "jiffy0",
];
const TELLING: [&str; 12] = [
    "good_runs",
    "repeat_dev_ms",
    "repeat_acks_same",
    "repeat_cwnd_same",
    "emu_err_p99_us",
    "emu_err_max_us",
    "data_packets",
    "retransmissions",
    "data_lost",
    "acked_bytes",
    "counters",
    "receiver_counters",
];
/// The most writes, the most bytes of all writes together and the longest run that are taken for meant.
const MOST_WRITES: usize = 1_000_000;
const MOST_BYTES: u64 = 10_000_000_000;
const LONGEST_RUN: f64 = 3600.0;

/// One row of `cases.csv`, whether or not a run can be built from it.
#[derive(Debug)]
pub struct Row {
    /// The line of the file, from 1.
    pub line: usize,
    /// Empty where the row has no name.
    pub name: String,
    pub mechanism: String,
    pub case: Result<Case, ReferenceError>,
}

/// Reads `cases.csv` of a reference folder; a row that cannot be read stands as its error.
pub fn read_rows(folder: &Path) -> Result<Vec<Row>, ReferenceError> {
    let path = folder.join("cases.csv");
    let file = File::open(&path).map_err(|e| ReferenceError::Read { path: path.clone(), source: e.into() })?;
    let table = Table::read(path, file)?;
    // Without these columns the file is none of this kind.
    for column in ["case", "cc", "fates", "events"] {
        table.column(column)?;
    }
    let text = |row, column| table.text(row, column).unwrap_or_default().to_owned();
    let rows = (0..table.rows.len()).map(|row| Row {
        line: row + 2,
        name: text(row, "case"),
        mechanism: text(row, "mechanism"),
        case: read_case(&table, row),
    });
    Ok(rows.collect())
}

/// Reads `cases.csv` of a reference folder whose rows can all be built.
pub fn read_cases(folder: &Path) -> Result<Vec<Case>, ReferenceError> {
    read_rows(folder)?.into_iter().map(|row| row.case).collect()
}

fn read_case(table: &Table, row: usize) -> Result<Case, ReferenceError> {
    if table.rows[row].len() != table.header.len() {
        return Err(table.fields(row));
    }
    for (column, value) in table.header.iter().zip(&table.rows[row]) {
        if !value.is_empty() && !DEFINING.contains(&column) && !TELLING.contains(&column) {
            let (column, value) = (column.to_owned(), value.to_owned());
            return Err(ReferenceError::Unknown { path: table.path.clone(), row: row + 2, column, value });
        }
    }
    let name = table.text(row, "case")?;
    if name.is_empty() || name.contains(['/', '\\']) {
        return Err(table.wrong(row, "case", name, "not a name that files can begin with"));
    }
    let text = |column| table.text(row, column).map(str::to_owned);
    let list = |source| ReferenceError::List { path: table.path.clone(), row: row + 2, source };
    let rate = Rate::from_bps(table.number(row, "rate_bps")?);
    let settings = read_settings(table, row)?;
    let on = |name: &str| settings.iter().all(|(key, value)| key != name || value != "0");
    let syn_bytes = match (on("tcp_timestamps"), on("tcp_sack")) {
        (true, _) => 60,
        (false, true) => 52,
        (false, false) => 48,
    };
    Ok(Case {
        name: text("case")?,
        mechanism: text("mechanism")?,
        control: text("cc")?,
        path: PathConfig {
            rate: rate.ok_or_else(|| table.wrong(row, "rate_bps", "0", "not a rate above 0"))?,
            delay: Duration::from_secs_f64(table.seconds(row, "delay_ms")? / 1e3),
            queues: [table.number(row, "queue")?, table.number(row, "ack_queue")?],
            outcomes: Outcomes::parse(table.text(row, "fates")?).map_err(list)?,
            events: Events::parse(table.text(row, "events")?).map_err(list)?,
            syn_bytes,
            turnaround: [Duration::ZERO; 2],
        },
        duration: match table.seconds(row, "dur_s")? {
            seconds if seconds > 0.0 && seconds <= LONGEST_RUN => Duration::from_secs_f64(seconds),
            other => return Err(table.wrong(row, "dur_s", &other.to_string(), "not above 0 and up to 3600 s")),
        },
        writes: read_writes(table, row)?,
        nodelay: read_switch(table, row, "nodelay", false)?,
        receive_buffer: Some(table.number(row, "rcvbuf")?).filter(|&bytes| bytes > 0),
        receive_memory: match table.text(row, "rmem")? {
            "8m" => [4096, 8_388_608, 33_554_432],
            "stock" => [4096, 131_072, 33_554_432],
            other => {
                let bytes: Vec<u64> = other.split_whitespace().filter_map(|text| text.parse().ok()).collect();
                let wanted = "not \"8m\", \"stock\" or three sizes in bytes";
                bytes.try_into().map_err(|_| table.wrong(row, "rmem", other, wanted))?
            }
        },
        reader_pause: read_pause(table, row)?,
        settings,
        mss: match table.number(row, "mss")? {
            mss @ 88..=65_495 => mss,
            other => return Err(table.wrong(row, "mss", &other.to_string(), "not 88 to 65495 bytes")),
        },
        timers: Timers::Wheel { first: table.number::<u32>(row, "jiffy0")?.into(), phase: PHASE },
        recording_error: Duration::from_secs_f64(table.seconds(row, "emu_err_max_us")? / 1e6),
        windows_repeat: read_switch(table, row, "repeat_cwnd_same", true)?,
    })
}

/// A column that says 0 or 1; a table without it says `otherwise`.
fn read_switch(table: &Table, row: usize, column: &'static str, otherwise: bool) -> Result<bool, ReferenceError> {
    if table.column(column).is_err() {
        return Ok(otherwise);
    }
    match table.text(row, column)? {
        "" => Ok(otherwise),
        "0" => Ok(false),
        "1" => Ok(true),
        other => Err(table.wrong(row, column, other, "neither 0 nor 1")),
    }
}

fn read_settings(table: &Table, row: usize) -> Result<Vec<(String, String)>, ReferenceError> {
    let text = table.text(row, "sysctls")?;
    text.split(';')
        .filter(|entry| !entry.is_empty())
        .map(|entry| {
            let pair = entry.split_once('=').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
            pair.ok_or_else(|| table.wrong(row, "sysctls", entry, "not \"name=value\""))
        })
        .collect()
}

/// `t:bytes` or `t:bytes*count/interval`, joined by `;`.
fn read_writes(table: &Table, row: usize) -> Result<Vec<Write>, ReferenceError> {
    let text = table.text(row, "app")?;
    let mut writes = Vec::new();
    let mut total = 0u64;
    for entry in text.split(';').filter(|entry| !entry.is_empty()) {
        let wrong = || table.wrong(row, "app", entry, "not \"time:bytes\" or \"time:bytes*count/interval\"");
        let (at, what) = entry.split_once(':').ok_or_else(wrong)?;
        let (bytes, times) = what.split_once('*').unwrap_or((what, "1/0"));
        let (count, interval) = times.split_once('/').ok_or_else(wrong)?;
        let seconds = |text: &str| text.parse::<f64>().ok().filter(|s| (0.0..=1e6).contains(s)).ok_or_else(wrong);
        let (at, interval) = (seconds(at)?, seconds(interval)?);
        let bytes: u64 = bytes.parse().map_err(|_| wrong())?;
        let count = count.parse::<u32>().map_err(|_| wrong())?;
        total = total.saturating_add(bytes.saturating_mul(count.into()));
        if total > MOST_BYTES || writes.len() + count as usize > MOST_WRITES {
            return Err(table.wrong(row, "app", entry, "more than 10 GB or a million writes"));
        }
        for number in 0..count {
            writes.push(Write { at: Time::from_secs_f64(at + f64::from(number) * interval), bytes });
        }
    }
    writes.sort_by_key(|write| write.at);
    Ok(writes)
}

fn read_pause(table: &Table, row: usize) -> Result<Option<(Time, Time)>, ReferenceError> {
    let text = table.text(row, "reader_pause")?;
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = || table.wrong(row, "reader_pause", text, "not \"from-to\" in seconds");
    let (from, to) = text.split_once('-').ok_or_else(wrong)?;
    let time = |text: &str| {
        let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..=1e6).contains(seconds));
        seconds.map(Time::from_secs_f64).ok_or_else(wrong)
    };
    let (from, to) = (time(from)?, time(to)?);
    if to < from {
        return Err(wrong());
    }
    Ok(Some((from, to)))
}
