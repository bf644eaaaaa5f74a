//! The tables of workloads.

use super::builder::{Names, TableBuilder};
use arrow_array::RecordBatch;
use skyhop_base::Duration;
use skyhop_sim::records::Records;

/// A row for each workload and class of sizes.
pub(super) fn summary_table(records: &Records) -> RecordBatch {
    let table = TableBuilder::over(&records.workloads)
        .name("workload", &Names::new(&records.workload_names), |r| r.workload)
        .text("class", |r| r.class)
        .count("transfers", |r| r.transfers)
        .count("finished", |r| r.finished)
        .count("unfinished", |r| r.transfers - r.finished)
        .count("bytes", |r| r.bytes)
        .count("bytes_finished", |r| r.bytes_finished);
    let percentiles = ["p50", "p95", "p99"].into_iter().enumerate();
    let table = percentiles
        .clone()
        .fold(table, |table, (i, name)| table.real(&format!("completion_{name}_s"), |r| r.completion_s[i]));
    percentiles.fold(table, |table, (i, name)| table.real(&format!("slowdown_{name}"), |r| r.slowdown[i])).finish()
}

/// A row for each transfer, finished or not.
pub(super) fn transfer_table(records: &Records) -> RecordBatch {
    let nodes = Names::new(&records.node_names);
    TableBuilder::over(&records.workload_transfers)
        .time("time_s", |r| r.begin)
        .name("workload", &Names::new(&records.workload_names), |r| r.workload)
        .count("number", |r| u64::from(r.number))
        .name("from", &nodes, |r| r.from)
        .name("to", &nodes, |r| r.to)
        .count("bytes", |r| r.bytes)
        .real("first_byte_s", |r| r.first.map(|first| first.since(r.begin).as_secs_f64()))
        .real("completion_s", |r| r.completion().map(Duration::as_secs_f64))
        .real("ideal_s", |r| r.ideal.map(Duration::as_secs_f64))
        .real("slowdown", |r| r.slowdown())
        .finish()
}

/// A row for each page that a visit began to load.
pub(super) fn page_table(records: &Records) -> RecordBatch {
    let nodes = Names::new(&records.node_names);
    TableBuilder::over(&records.pages)
        .time("time_s", |r| r.begin)
        .name("workload", &Names::new(&records.workload_names), |r| r.workload)
        .count("visit", |r| u64::from(r.visit))
        .count("view", |r| u64::from(r.view))
        .name("from", &nodes, |r| r.from)
        .name("to", &nodes, |r| r.to)
        .count("objects", |r| u64::from(r.objects))
        .count("bytes", |r| r.bytes)
        .real("first_byte_s", |r| r.first.map(|first| first.since(r.begin).as_secs_f64()))
        .real("load_s", |r| r.loaded.map(|loaded| loaded.since(r.begin).as_secs_f64()))
        .flag("done", |r| r.loaded.is_some())
        .finish()
}
