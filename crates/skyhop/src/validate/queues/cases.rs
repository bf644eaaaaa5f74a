//! The tables of a queue reference folder.

use super::super::table::{Row, Table};
use super::{Outcome, ValidateError, WAITING};
use skyhop_base::{Duration, Rate, Time};
use skyhop_queue::replay::{LinkStep, OfferedPacket};
use skyhop_queue::{Ecn, Packet};
use std::path::Path;

/// One row of `cases.csv`.
pub struct Case {
    pub name: String,
    pub discipline: String,
    pub note: String,
    /// In tc's units, as text.
    pub parameters: String,
    pub kernel_units: String,
    pub schedule: Vec<LinkStep>,
    /// Whether the column `dscp` is a priority that the discipline looks at.
    has_classes: bool,
    /// When the discipline was made.
    pub created: Time,
    pub end: Time,
    pub random: bool,
    /// Numbers that the reference drew.
    pub draws: Option<u64>,
    arrivals_file: String,
    packets_file: String,
}

pub fn read(folder: &Path) -> Result<Vec<Case>, ValidateError> {
    Table::read(&folder.join("cases.csv"))?.rows().map(|row| Case::of(&row)).collect()
}

impl Case {
    fn of(row: &Row) -> Result<Case, ValidateError> {
        let file = |column: &str, kind: &str| match row.text(column) {
            "" => format!("{}.{kind}.csv.gz", row.text("case")),
            name => name.to_owned(),
        };
        Ok(Case {
            name: row.text("case").to_owned(),
            discipline: row.text("discipline").to_owned(),
            note: row.text("note").to_owned(),
            parameters: row.text("parameters").to_owned(),
            kernel_units: row.text("kernel_units").to_owned(),
            schedule: row
                .text("link_schedule")
                .split_whitespace()
                .map(|step| {
                    step_of(step).ok_or_else(|| row.error("link_schedule", format!("\"{step}\" is not t_ns:bit/s")))
                })
                .collect::<Result<_, _>>()?,
            has_classes: !row.text("parameters").split_whitespace().any(|pair| pair == "uses_priority=0"),
            created: Time::ZERO,
            end: Time::from_nanos(row.whole("end_ns")?),
            random: row.text("random") == "1",
            draws: row.optional("draws")?.map(|draws| draws as u64),
            arrivals_file: file("arrivals_file", "arrivals"),
            packets_file: file("packets_file", "packets"),
        })
    }
}

/// `t_ns:bit/s`; 0 bit/s is an outage.
fn step_of(text: &str) -> Option<LinkStep> {
    let (at, rate) = text.split_once(':')?;
    Some(LinkStep { at: Time::from_nanos(at.parse().ok()?), rate: Rate::from_bps(rate.parse().ok()?) })
}

pub fn arrivals(folder: &Path, case: &Case) -> Result<Vec<OfferedPacket>, ValidateError> {
    let table = Table::read(&folder.join(&case.arrivals_file))?;
    let mut at = Time::ZERO;
    let mut list = Vec::new();
    for (handle, row) in table.rows().enumerate() {
        at += Duration::from_nanos(row.whole("dt_ns")?);
        let ecn = row.small("ecn")?;
        let packet = Packet {
            handle: handle as u32,
            flow: row.small("flow")?,
            bytes: row.small("bytes")?,
            ecn: Ecn::from_codepoint(ecn).ok_or_else(|| row.error("ecn", format!("{ecn} is not 0 to 3")))?,
            class: if case.has_classes { row.small("dscp")? } else { 0 },
            marked: false,
        };
        list.push(OfferedPacket { at, packet });
    }
    Ok(list)
}

/// What became of the packets, as many as came.
pub fn outcomes(folder: &Path, case: &Case, packets: usize) -> Result<Vec<Outcome>, ValidateError> {
    let path = folder.join(&case.packets_file);
    let list = Table::read(&path)?
        .rows()
        .map(|row| {
            let verdict = row.small("verdict")?;
            let waits = verdict == WAITING;
            let after_ns = if waits { None } else { Some(row.whole("after_ns")?) };
            Ok(Outcome { verdict, ce: row.text("ce") == "1", after_ns })
        })
        .collect::<Result<Vec<_>, _>>()?;
    if list.len() != packets {
        let reason = format!("{} packets, but {packets} in {}", list.len(), case.arrivals_file);
        return Err(ValidateError::Read { path: path.display().to_string(), reason });
    }
    Ok(list)
}
