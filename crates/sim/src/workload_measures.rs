//! Measures of workloads: when transfers begin and end, and their percentiles by size.

use crate::ground::Delay;
use crate::records::{Records, SIZE_CLASSES, WorkloadSummary, WorkloadTransferRow};
use crate::simulation::Simulation;
use crate::workload::{Step, TransferStart};
use skyhop_base::{Duration, Index, Time};
use skyhop_topology::NodeId;
use std::collections::BTreeMap;

/// The percentiles of a summary.
const SHARES: [f64; 3] = [0.5, 0.95, 0.99];

impl WorkloadTransferRow {
    /// A transfer between two nodes of which nothing has come yet: begin and bytes.
    pub(crate) fn begun(
        workload: u32,
        number: u32,
        (from, to): (NodeId, NodeId),
        (begin, bytes): (Time, u64),
    ) -> WorkloadTransferRow {
        let (from, to) = (from.as_u32(), to.as_u32());
        WorkloadTransferRow { begin, workload, number, from, to, bytes, first: None, end: None, ideal: None }
    }

    /// From the start to the last byte.
    pub fn completion(&self) -> Option<Duration> {
        self.end.map(|end| end.since(self.begin))
    }

    /// The completion time as a multiple of the ideal one.
    pub fn slowdown(&self) -> Option<f64> {
        Some(self.completion()?.as_secs_f64() / self.ideal.filter(|ideal| !ideal.is_zero())?.as_secs_f64())
    }
}

impl Simulation {
    /// A transfer is written.
    pub(crate) fn transfer_begins(&mut self, flow_id: u32, transfer: &TransferStart) {
        let ideal = self.ideal(flow_id as usize, transfer.bytes);
        if let Some(row) = self.recorder.records.workload_transfers.get_mut(transfer.row as usize) {
            row.ideal = ideal;
        }
    }

    /// The sink of a workload's connection has had something.
    pub(crate) fn deliver_to_workload(&mut self, flow_id: u32) {
        let now = self.now;
        let flow = &mut self.flows[flow_id as usize];
        let bytes = flow.ends.in_order_bytes(flow.totals.bytes_delivered);
        while let Some(step) = flow.application.scheduled(bytes) {
            let (Step::FirstByte { row } | Step::Done { row, .. }) = step;
            let Some(row) = self.recorder.records.workload_transfers.get_mut(row as usize) else { return };
            match step {
                Step::FirstByte { .. } => row.first = Some(now),
                Step::Done { is_last, .. } => {
                    row.end = Some(now);
                    if is_last {
                        flow.completed = Some(now);
                    }
                }
            }
        }
    }

    /// What a transfer of so many user bytes takes at least on the present path of a flow, if nothing else uses it.
    fn ideal(&self, flow: usize, bytes: u64) -> Option<Duration> {
        let (source, to) = self.data_ends(flow);
        let (mut node, mut propagation_s, mut slowest_bps) = (NodeId::new(source), 0.0, f64::INFINITY);
        for _ in 0..=self.topology.nodes().len() {
            if node.as_u32() == to.node {
                return Some(Duration::from_secs_f64(propagation_s + bytes as f64 * 8.0 / slowest_bps));
            }
            let hop = self.forwarding.next_hop(to.index as usize, node)?;
            let state = &self.links[hop.link.index()];
            let delay = match state.link.path.get() {
                Delay::Fixed(delay) => delay,
                Delay::Moving | Delay::Ground => self.topology.delay_segment(node, hop.to, self.now).at(self.now),
            };
            propagation_s += delay.as_secs_f64();
            slowest_bps = slowest_bps.min(state.link.rate().bps_f64());
            node = hop.to;
        }
        None
    }
}

impl Records {
    /// A row for each workload and class of sizes that has transfers, and one for all of its transfers.
    pub(crate) fn workload_summaries(&self) -> Vec<WorkloadSummary> {
        let mut summaries = Vec::new();
        for workload in 0..self.workload_names.len() as u32 {
            if self.workloads_of_pages.contains(&workload) {
                continue;
            }
            let rows: Vec<&WorkloadTransferRow> =
                self.workload_transfers.iter().filter(|row| row.workload == workload).collect();
            summaries.push(summary(workload, "all", &rows));
            let mut above = 0;
            for (class, up_to) in SIZE_CLASSES {
                let is_one = |row: &&&WorkloadTransferRow| (above + 1..=up_to).contains(&row.bytes);
                let of_class: Vec<&WorkloadTransferRow> = rows.iter().filter(is_one).copied().collect();
                if !of_class.is_empty() {
                    summaries.push(summary(workload, class, &of_class));
                }
                above = up_to;
            }
        }
        summaries
    }

    /// A sentence for each workload of which the numbers do not say all. By workload, so many pages besides those in
    /// the table have loaded.
    pub(crate) fn workload_warnings(&self, loaded: &BTreeMap<u32, usize>) -> Vec<String> {
        let mut warnings = Vec::new();
        for (workload, name) in self.workload_names.iter().enumerate() {
            if self.workloads_of_pages.contains(&(workload as u32)) {
                let loaded = loaded.get(&(workload as u32)).copied().unwrap_or(0);
                warnings.extend(self.page_warning(workload as u32, name, loaded));
                continue;
            }
            let rows = || self.workload_transfers.iter().filter(|row| row.workload as usize == workload);
            let (count, unfinished) = (rows().count(), rows().filter(|row| row.end.is_none()).count());
            if count == 0 {
                warnings.push(format!("no transfer of workload {name:?} began in this run"));
            }
            if unfinished > 0 {
                warnings.push(format!(
                    "{unfinished} of {count} transfers of workload {name:?} had not finished at the end of the run: \
                     its percentiles \
                     count them as longer than all others; a \"stop\" before the end leaves them time"
                ));
            }
            let without = rows().filter(|row| row.ideal.is_none()).count();
            if without > 0 {
                warnings.push(format!(
                    "{without} of {count} transfers of workload {name:?} began while there was no \
                    path: they have no slowdown"
                ));
            }
        }
        warnings
    }
}

impl Records {
    fn page_warning(&self, workload: u32, name: &str, loaded: usize) -> Option<String> {
        let rows = || self.pages.iter().filter(|row| row.workload == workload);
        let (count, unfinished) = (loaded + rows().count(), rows().filter(|row| row.loaded.is_none()).count());
        if count == 0 {
            return Some(format!("no page of workload {name:?} began in this run"));
        }
        (unfinished > 0).then(|| {
            format!(
                "{unfinished} of {count} pages of workload {name:?} had not loaded at the end of the run: percentiles \
                 count them \
                 as longer than all others; a \"stop\" before the end leaves them time"
            )
        })
    }
}

fn summary(workload: u32, class: &'static str, rows: &[&WorkloadTransferRow]) -> WorkloadSummary {
    let finished = || rows.iter().filter(|row| row.end.is_some());
    let completions = rows.iter().map(|row| row.completion().map_or(f64::INFINITY, Duration::as_secs_f64)).collect();
    let slowdowns = rows.iter().map(|row| row.slowdown().unwrap_or(f64::INFINITY)).collect();
    WorkloadSummary {
        workload,
        class,
        transfers: rows.len() as u64,
        finished: finished().count() as u64,
        bytes: rows.iter().map(|row| row.bytes).sum(),
        bytes_finished: finished().map(|row| row.bytes).sum(),
        completion_s: percentiles(completions),
        slowdown: percentiles(slowdowns),
    }
}

/// The smallest value that at least the share does not exceed; `None` where that is infinite.
fn percentiles(mut values: Vec<f64>) -> [Option<f64>; 3] {
    values.sort_by(f64::total_cmp);
    SHARES.map(|share| {
        let rank = (share * values.len() as f64).ceil() as usize;
        values.get(rank.max(1) - 1).copied().filter(|value| value.is_finite())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(bytes: u64, completion_s: Option<f64>) -> WorkloadTransferRow {
        let begin = Time::from_secs_f64(1.0);
        WorkloadTransferRow {
            end: completion_s.map(|s| Time::from_secs_f64(1.0 + s)),
            ideal: Some(Duration::from_secs_f64(0.5)),
            ..WorkloadTransferRow::begun(0, 0, (NodeId::new(0), NodeId::new(1)), (begin, bytes))
        }
    }

    /// Of 100 transfers 2 do not finish: the 99th percentile is one of them, and is not known.
    #[test]
    fn who_does_not_finish_counts_as_longer_than_all_others() {
        let mut rows: Vec<WorkloadTransferRow> = (1..=98).map(|n| row(1000, Some(f64::from(n)))).collect();
        rows.extend([row(1000, None), row(20_000_000, None)]);
        let records = Records { workload_names: vec!["web".into()], workload_transfers: rows, ..Records::default() };
        let summaries = records.workload_summaries();
        assert_eq!(summaries.iter().map(|row| row.class).collect::<Vec<_>>(), ["all", "small", "large"]);
        let all = &summaries[0];
        assert_eq!((all.transfers, all.finished, all.bytes, all.bytes_finished), (100, 98, 20_099_000, 98_000));
        assert_eq!(all.completion_s, [Some(50.0), Some(95.0), None]);
        assert_eq!(all.slowdown, [Some(100.0), Some(190.0), None]);
        assert_eq!((summaries[1].transfers, summaries[1].completion_s[2]), (99, None), "rank 99 of 99 did not finish");
        assert_eq!(summaries[2].completion_s, [None; 3]);
        assert!(records.workload_warnings(&BTreeMap::new())[0].starts_with("2 of 100 transfers"));
    }
}
