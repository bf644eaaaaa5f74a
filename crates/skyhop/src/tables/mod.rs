//! Records as Arrow tables. The columns are the contract with everything that reads a run: Parquet and CSV
//! files, Python, the page. Units stand in the names; definitions in `docs/models/measures.md`.

mod builder;
mod column;
mod content;
mod people;
mod workloads;

pub(crate) use column::Column;
pub use content::{RECORDS_FORMAT, records_hash};
pub(crate) use content::{RecordsHasher, TableHasher};

use crate::Error;
use crate::measures::{self, Measure, column, statistics, without_least};
use arrow_array::RecordBatch;
pub(crate) use builder::Names;
use builder::TableBuilder;
use skyhop_base::Duration;
use skyhop_sim::headers::Protocol;
use skyhop_sim::records::{Distribution, DropCause, FlowSummary, LinkSummary, PacketRow, PathRow, Records};

/// Every table that a run can have, in the order in which they are written and hashed.
pub const TABLES: [&str; 18] = [
    "flows",
    "links",
    "drops",
    "flow_series",
    "link_series",
    "flow_events",
    "handovers",
    "link_changes",
    "paths",
    "positions",
    "packets",
    "transfers",
    "workloads",
    "workload_transfers",
    "pages",
    "calls",
    "messages",
    "videos",
];

/// The table of that name, one of [`TABLES`]; `None` for any other name. A table without rows has its columns.
pub fn table(records: &Records, name: &str) -> Option<RecordBatch> {
    let flows = || Names::new(&records.flow_names);
    let links = || Names::new(&records.link_names);
    let nodes = || Names::new(&records.node_names);
    Some(match name {
        "flows" => flow_table(&records.flows, &flows(), &nodes()),
        "links" => link_table(&records.links, &links(), &nodes()),
        "drops" => TableBuilder::over(&records.drops)
            .time("time_s", |r| r.time)
            .text("cause", |r| r.cause.name())
            .name("link", &links(), |r| r.link)
            .name("node", &nodes(), |r| r.node)
            .name("flow", &flows(), |r| r.flow)
            .count("seq", |r| u64::from(r.seq))
            .count("size_bytes", |r| u64::from(r.size_bytes))
            .flag("is_ack", |r| r.is_ack)
            .finish(),
        "flow_series" => flow_series_table(records, &flows()),
        "link_series" => TableBuilder::over(&records.link_series)
            .time("time_s", |r| r.time)
            .name("link", &links(), |r| r.link)
            .count("queue_packets", |r| u64::from(r.queue_packets))
            .real("utilisation", |r| r.utilisation)
            .finish(),
        "flow_events" => TableBuilder::over(&records.flow_events)
            .time("time_s", |r| r.time)
            .name("flow", &flows(), |r| r.flow)
            .text("event", |r| r.event)
            .real("cwnd", |r| r.cwnd)
            .real("ssthresh", |r| r.ssthresh)
            .finish(),
        "handovers" => TableBuilder::over(&records.handovers)
            .time("time_s", |r| r.time)
            .name("terminal", &nodes(), |r| r.terminal)
            .name("from", &nodes(), |r| r.from)
            .name("to", &nodes(), |r| r.to)
            .real("elevation_deg", |r| r.elevation_deg)
            .real("slant_range_km", |r| r.slant_range_km)
            .text("why", |r| r.why)
            .text("kind", |r| r.kind)
            .count("from_beam", |r| r.from_beam.map(u64::from))
            .count("to_beam", |r| r.to_beam.map(u64::from))
            .finish(),
        "link_changes" => TableBuilder::over(&records.link_changes)
            .time("time_s", |r| r.time)
            .name("link", &links(), |r| r.link)
            .flag("up", |r| r.up)
            .text("why", |r| r.why)
            .finish(),
        "paths" => path_table(records, &flows()),
        "positions" => TableBuilder::over(&records.positions)
            .time("time_s", |r| r.time)
            .name("node", &nodes(), |r| r.node)
            .real("latitude_deg", |r| r.latitude_deg)
            .real("longitude_deg", |r| r.longitude_deg)
            .real("altitude_km", |r| r.altitude_km)
            .finish(),
        "packets" => TableBuilder::over(&records.packets)
            .time("time_s", |r| r.time)
            .name("link", &links(), |r| r.link)
            .text("event", |r| r.event.name())
            .name("flow", &flows(), |r| r.flow)
            .count("seq", |r| r.seq.map(u64::from))
            .count("size_bytes", |r| u64::from(r.size_bytes))
            .count("packet", |r| u64::from(r.packet))
            .flag("is_ack", |r| r.is_ack)
            .flag("retransmission", |r| r.repeats)
            .text("protocol", |r| r.protocol.name())
            .count("payload_bytes", |r| u64::from(r.payload_bytes))
            .count("header_bytes", |r| u64::from(r.size_bytes.saturating_sub(r.payload_bytes)))
            .text("ecn", |r| r.ecn.name())
            .text("tcp_flags", |r| r.flags.words())
            .count("tcp_seq", |r| r.tcp_seq)
            .count("tcp_ack", |r| r.tcp_ack)
            .count("tcp_window_bytes", |r| r.window)
            .count("tcp_ts_value", |r| r.timestamps.map(|(value, _)| u64::from(value)))
            .count("tcp_ts_echo", |r| r.timestamps.map(|(_, echo)| u64::from(echo)))
            .text("tcp_sack", |r| range_words(records, r, Protocol::Tcp))
            .text("quic_type", |r| r.quic)
            .text("quic_ack", |r| range_words(records, r, Protocol::Udp))
            .text("quic_streams", |r| stream_words(records, r))
            .name("to", &nodes(), |r| r.to)
            .finish(),
        "transfers" => TableBuilder::over(&records.transfers)
            .time("time_s", |r| r.time)
            .name("flow", &flows(), |r| r.flow)
            .count("number", |r| u64::from(r.number))
            .count("bytes", |r| r.bytes)
            .time("begin_s", |r| r.begin)
            .real("completion_s", |r| r.arrived.then(|| r.time.since(r.begin).as_secs_f64()))
            .finish(),
        "workloads" => workloads::summary_table(records),
        "workload_transfers" => workloads::transfer_table(records),
        "pages" => workloads::page_table(records),
        "calls" => people::call_table(records),
        "messages" => people::message_table(records),
        "videos" => people::video_table(records),
        _ => return None,
    })
}

/// The table of that name as it is without rows.
///
/// # Errors
/// [`Error::UnknownTable`] for a name that is not in [`TABLES`].
pub fn empty_table(name: &str) -> Result<RecordBatch, Error> {
    table(&Records::default(), name).ok_or_else(|| Error::UnknownTable { name: name.to_owned() })
}

fn flow_table(rows: &[FlowSummary], flows: &Names, nodes: &Names) -> RecordBatch {
    let table = TableBuilder::over(rows).name("flow", flows, |r| r.flow).name("from", nodes, |r| r.from).name(
        "to",
        nodes,
        |r| r.to,
    );
    columns(table, measures::OF_FLOWS).finish()
}

fn link_table(rows: &[LinkSummary], links: &Names, nodes: &Names) -> RecordBatch {
    let table = TableBuilder::over(rows)
        .name("link", links, |r| r.link)
        .text("kind", |r| r.kind)
        .name("from", nodes, |r| r.from)
        .name("to", nodes, |r| r.to);
    columns(table, measures::OF_LINKS).finish()
}

fn flow_series_table(records: &Records, flows: &Names) -> RecordBatch {
    let seconds = |d: Option<Duration>| d.map(Duration::as_secs_f64);
    TableBuilder::over(&records.flow_series)
        .time("time_s", |r| r.time)
        .name("flow", flows, |r| r.flow)
        .real("cwnd", |r| r.cwnd)
        .count("inflation", |r| r.inflation.map(u64::from))
        .real("ssthresh", |r| r.ssthresh)
        .count("in_flight", |r| u64::from(r.in_flight))
        .text("phase", |r| r.phase)
        .real("rtt_s", |r| seconds(r.rtt))
        .real("srtt_s", |r| seconds(r.srtt))
        .real("rto_s", |r| seconds(r.rto))
        .real("pacing_bps", |r| r.pacing_bps)
        .real("delay_mean_s", |r| r.delay_mean_s)
        .real("jitter_mean_s", |r| r.jitter_mean_s)
        .real("interarrival_mean_s", |r| r.interarrival_mean_s)
        .real("goodput_bps", |r| r.goodput_bps)
        .real("throughput_bps", |r| r.throughput_bps)
        .count("received", |r| r.received)
        .count("dropped", |r| r.dropped)
        .finish()
}

/// "1449-2897 4345-5793": number of the first byte and of that after the last, block by block.
/// The ranges of a packet of this protocol: SACK blocks of TCP, or packet numbers that QUIC acknowledges.
fn range_words(records: &Records, row: &PacketRow, protocol: Protocol) -> String {
    if row.protocol != protocol {
        return String::new();
    }
    let blocks = records.sack_ranges.get(row.blocks.start as usize..row.blocks.end as usize).unwrap_or_default();
    blocks.iter().map(|(start, end)| format!("{start}-{end}")).collect::<Vec<_>>().join(" ")
}

/// Pieces of streams of QUIC: the stream, the first byte, and the byte after the last.
fn stream_words(records: &Records, row: &PacketRow) -> String {
    let pieces = records.stream_pieces.get(row.pieces.start as usize..row.pieces.end as usize).unwrap_or_default();
    let words = pieces.iter().map(|(stream, begin, bytes)| format!("{stream}:{begin}-{}", begin + bytes));
    words.collect::<Vec<_>>().join(" ")
}

fn path_table(records: &Records, flows: &Names) -> RecordBatch {
    let name = |&node: &u32| records.node_names.get(node as usize).map_or("?", String::as_str);
    let way = |row: &PathRow| row.nodes.iter().map(name).collect::<Vec<_>>().join(" > ");
    TableBuilder::over(&records.paths)
        .time("time_s", |r| r.time)
        .name("flow", flows, |r| r.flow)
        // Links from end to end; without a path there are none, and no delay.
        .count("hops", |r| r.nodes.len().checked_sub(1).map(|links| links as u64))
        .real("delay_s", |r| (!r.nodes.is_empty()).then_some(r.delay_s))
        .text("path", way)
        .finish()
}

/// The columns of measures.
fn columns<'a, R>(table: TableBuilder<'a, R>, measures: &[Measure<R>]) -> TableBuilder<'a, R> {
    measures.iter().fold(table, |table, measure| match measure {
        Measure::Real(name, value) => table.real(name, value),
        Measure::Count(name, value) | Measure::CountOfSome(name, value) => table.count(name, value),
        Measure::Times(name, value) => {
            let names = statistics(&Distribution::default()).into_iter().enumerate();
            names.fold(table, |table, (i, (statistic, _))| {
                table.real(&column(name, statistic), |r| statistics(&value(r))[i].1)
            })
        }
        Measure::TimesOfSome(name, value) => {
            let names = without_least(statistics(&Distribution::default()));
            names.fold(table, |table, (statistic, _)| {
                let of_statistic =
                    |times: Distribution| statistics(&times).into_iter().find(|(one, _)| *one == statistic);
                table.real(&column(name, statistic), |r| value(r).and_then(of_statistic).and_then(|(_, value)| value))
            })
        }
        Measure::Drops(drops) => {
            let total = table.count("dropped", |r| drops(r).iter().sum::<u64>());
            DropCause::ALL.iter().enumerate().fold(total, |table, (i, cause)| {
                table.count(&format!("dropped_{}", cause.name().replace('-', "_")), |r| drops(r)[i])
            })
        }
    })
}

#[cfg(test)]
mod tests;
