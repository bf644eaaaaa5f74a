//! `<case>.packets.csv.gz`: every packet that entered the bottleneck, in order of entry.

use super::{ReferenceError, Table};
use crate::path::PathDirection;
use crate::segment::{Ecn, SackBlocks, Segment, Timestamps};
use flate2::read::GzDecoder;
use skyhop_base::Time;
use std::fs::File;
use std::path::Path;

/// One recorded packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub direction: PathDirection,
    /// In its class, from 1; zero where it does not count.
    pub ordinal: u64,
    pub entered: Time,
    /// With the crate's numbers: the SYN has 0, the first byte of data 1. Timestamps are relative to the first of
    /// each side.
    pub segment: Segment,
    /// Starts below the highest byte sent before.
    pub again: bool,
    /// Packets that waited when it entered.
    pub queue: usize,
    /// Lost, at the full queue, by the list of outcomes or in an outage: `tail`, `drop` or `outage`.
    pub lost: Option<Lost>,
    /// The list of outcomes marks it.
    pub marked: bool,
    pub out: Option<Time>,
    pub duplicate: Option<Time>,
}

/// Why a recorded packet did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    Tail,
    Listed,
    Outage,
}

/// Reads the packets of a case.
pub fn read_packets(folder: &Path, case: &str) -> Result<Vec<Packet>, ReferenceError> {
    let path = folder.join(format!("{case}.packets.csv.gz"));
    let file = File::open(&path).map_err(|e| ReferenceError::Read { path: path.clone(), source: e.into() })?;
    let table = Table::read(path, GzDecoder::new(file))?;
    (0..table.rows.len()).map(|row| read_packet(&table, row)).collect()
}

fn read_packet(table: &Table, row: usize) -> Result<Packet, ReferenceError> {
    let direction = match table.text(row, "dir")? {
        "D" => PathDirection::Data,
        "A" => PathDirection::Ack,
        other => return Err(table.wrong(row, "dir", other, "neither D nor A")),
    };
    let flags = table.text(row, "flags")?;
    let has = |flag| flags.contains(flag);
    let number = |column| {
        let relative: i64 = table.number(row, column)?;
        u64::try_from(relative + 1).map_err(|_| table.wrong(row, column, &relative.to_string(), "below -1"))
    };
    let outcome = table.text(row, "fate")?;
    let time = |column| -> Result<Option<Time>, ReferenceError> {
        if table.text(row, column)?.is_empty() {
            return Ok(None);
        }
        table.seconds(row, column).map(|seconds| Some(Time::from_secs_f64(seconds)))
    };
    let segment = Segment {
        syn: has('S'),
        fin: has('F'),
        ack: if has('A') { Some(number("ack")?) } else { None },
        psh: has('P'),
        ece: has('E'),
        cwr: has('W'),
        // The recordings do not have the flag; the recorded kernel did not ask for Accurate ECN.
        ae: false,
        seq: number("seq")?,
        len: table.number(row, "len")?,
        window: table.number(row, "win")?,
        sack: read_sack(table, row)?,
        timestamps: match table.text(row, "tsval")? {
            "" => None,
            _ => Some(Timestamps { value: table.number(row, "tsval")?, echo: table.number(row, "tsecr")? }),
        },
        ecn: match table.text(row, "ecn")? {
            "0" => Ecn::NotEct,
            "1" => Ecn::Ect1,
            "2" => Ecn::Ect0,
            "3" => Ecn::Ce,
            other => return Err(table.wrong(row, "ecn", other, "not 0 to 3")),
        },
    };
    Ok(Packet {
        direction,
        ordinal: table.number(row, "n")?,
        entered: Time::from_secs_f64(table.seconds(row, "t_in")?),
        segment,
        again: table.text(row, "rtx")? == "1",
        queue: table.number(row, "queue")?,
        lost: match outcome.split('+').next() {
            Some("ok") => None,
            Some("tail") => Some(Lost::Tail),
            Some("drop") => Some(Lost::Listed),
            Some("outage") => Some(Lost::Outage),
            _ => return Err(table.wrong(row, "fate", outcome, "not ok, tail, drop or outage")),
        },
        marked: outcome.contains("+ce"),
        out: time("t_out")?,
        duplicate: time("t_dup")?,
    })
}

fn read_sack(table: &Table, row: usize) -> Result<SackBlocks, ReferenceError> {
    let text = table.text(row, "sack")?;
    let mut blocks = SackBlocks::default();
    for block in text.split([' ', ';']).filter(|block| !block.is_empty()) {
        let wrong = || table.wrong(row, "sack", text, "not blocks \"from-to\"");
        let (from, to) = block.split_once('-').ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<u64>().map(|relative| relative + 1).map_err(|_| wrong());
        blocks.push(number(from)?..number(to)?);
    }
    Ok(blocks)
}
