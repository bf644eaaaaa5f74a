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
}

impl Case {
    /// The value of a setting that is a switch or a number.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn switched(&self, name: &str, otherwise: bool) -> bool {
        self.setting(name).map_or(otherwise, |value| value != "0")
    }
}

/// Reads `cases.csv` of a reference folder.
pub fn read_cases(folder: &Path) -> Result<Vec<Case>, ReferenceError> {
    let path = folder.join("cases.csv");
    let file = File::open(&path).map_err(|e| ReferenceError::Read { path: path.clone(), source: e.into() })?;
    let table = Table::read(path, file)?;
    (0..table.rows.len()).map(|row| read_case(&table, row)).collect()
}

fn read_case(table: &Table, row: usize) -> Result<Case, ReferenceError> {
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
        duration: Duration::from_secs_f64(table.seconds(row, "dur_s")?),
        writes: read_writes(table, row)?,
        nodelay: table.text(row, "nodelay")? == "1",
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
        mss: table.number(row, "mss")?,
        timers: Timers::Wheel { first: table.number(row, "jiffy0")?, phase: PHASE },
        recording_error: Duration::from_secs_f64(table.seconds(row, "emu_err_max_us")? / 1e6),
    })
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
    for entry in text.split(';').filter(|entry| !entry.is_empty()) {
        let wrong = || table.wrong(row, "app", entry, "not \"time:bytes\" or \"time:bytes*count/interval\"");
        let (at, what) = entry.split_once(':').ok_or_else(wrong)?;
        let (bytes, times) = what.split_once('*').unwrap_or((what, "1/0"));
        let (count, interval) = times.split_once('/').ok_or_else(wrong)?;
        let seconds = |text: &str| text.parse::<f64>().ok().filter(|s| s.is_finite() && *s >= 0.0).ok_or_else(wrong);
        let (at, interval) = (seconds(at)?, seconds(interval)?);
        let bytes = bytes.parse().map_err(|_| wrong())?;
        for number in 0..count.parse::<u32>().map_err(|_| wrong())? {
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
    let time = |text: &str| text.parse::<f64>().map(Time::from_secs_f64).map_err(|_| wrong());
    Ok(Some((time(from)?, time(to)?)))
}
