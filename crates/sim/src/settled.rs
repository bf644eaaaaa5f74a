//! Rows of tables that are known for good, so that a run may hand them over and forget them.

use crate::records::{
    DropRow, FlowEventRow, FlowSeriesRow, HandoverRow, LinkChangeRow, LinkSeriesRow, PageRow, PathRow, PositionRow,
    Records, TransferRow,
};
use skyhop_base::Time;
use std::mem::replace;

/// A row of a table whose rows are in the order of time as they are recorded.
trait Timed {
    fn time(&self) -> Time;

    /// Whether nothing of it changes any more.
    fn is_final(&self) -> bool {
        true
    }
}

macro_rules! timed {
    ($($row:ty),*) => {$(
        impl Timed for $row {
            fn time(&self) -> Time {
                self.time
            }
        }
    )*};
}
timed!(
    DropRow,
    FlowSeriesRow,
    LinkSeriesRow,
    FlowEventRow,
    HandoverRow,
    LinkChangeRow,
    PathRow,
    PositionRow,
    TransferRow
);

impl Timed for PageRow {
    fn time(&self) -> Time {
        self.begin
    }

    fn is_final(&self) -> bool {
        self.loaded.is_some()
    }
}

/// Takes the rows before the last instant, and before the first row that is not final, out of a table of at least
/// `least` rows. Rows of the last instant stay, as more of them may follow: whoever sorts the rows of an instant must
/// have them all.
fn settled<R: Timed>(rows: &mut Vec<R>, least: usize) -> Vec<R> {
    let open = rows.iter().find(|row| !row.is_final()).or(rows.last());
    let Some(open) = open.map(Timed::time).filter(|_| rows.len() >= least) else { return Vec::new() };
    debug_assert!(rows.is_sorted_by_key(Timed::time), "rows out of the order of time");
    // Instants are compared as tables have them, in seconds.
    let settled = rows.partition_point(|row| row.time().as_secs_f64() < open.as_secs_f64());
    let rest = rows.split_off(settled);
    replace(rows, rest)
}

/// The tables that are handed over as far as their rows are known, but for that of packets.
macro_rules! each_table {
    ($apply:ident) => {
        $apply!(
            drops,
            flow_series,
            link_series,
            flow_events,
            handovers,
            link_changes,
            paths,
            positions,
            transfers,
            pages
        )
    };
}
pub(crate) use each_table;

impl Records {
    /// The rows that are handed over, of each table that has at least `least`; none of packets.
    pub(crate) fn take_settled(&mut self, least: usize) -> Records {
        macro_rules! settled_rows {
            ($($table:ident),*) => {
                Records { $($table: settled(&mut self.$table, least),)* ..Records::default() }
            };
        }
        each_table!(settled_rows)
    }
}

/// How much a run has handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HandedOver {
    drops: usize,
    flow_series: usize,
    link_series: usize,
    flow_events: usize,
    handovers: usize,
    link_changes: usize,
    paths: usize,
    positions: usize,
    transfers: usize,
    pages: usize,
    /// Rows of packets before this instant.
    pub packets_before: Time,
}

impl HandedOver {
    /// Whether no rows are left, but perhaps of packets.
    pub fn is_empty(&self) -> bool {
        *self == HandedOver { packets_before: self.packets_before, ..HandedOver::default() }
    }

    pub fn add(&mut self, taken: &Records) {
        macro_rules! add {
            ($($table:ident),*) => { $(self.$table += taken.$table.len();)* };
        }
        each_table!(add);
    }

    /// Takes rows that are counted here out of the records of another run of the same specification and seed, as far as
    /// they are there and do not change any more. None of packets.
    pub fn forget_in(&mut self, records: &mut Records) -> Records {
        let mut gone = Records::default();
        macro_rules! forget {
            ($($table:ident),*) => {$({
                let rows = &mut records.$table;
                let known = rows.iter().position(|row| !row.is_final()).unwrap_or(rows.len());
                gone.$table = rows.drain(..known.min(self.$table)).collect();
                self.$table -= gone.$table.len();
            })*};
        }
        each_table!(forget);
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::WorkloadTransferRow;

    fn rows(times_ns: &[u64]) -> Vec<LinkSeriesRow> {
        let row = |&ns: &u64| LinkSeriesRow { time: Time::from_nanos(ns), link: 0, queue_packets: 0, utilisation: 0.0 };
        times_ns.iter().map(row).collect()
    }

    #[test]
    fn rows_of_the_last_instant_stay_because_more_may_follow() {
        let mut table = rows(&[1, 2, 2, 3, 3]);
        assert!(settled(&mut table, 6).is_empty(), "a short table stays whole");
        assert_eq!(settled(&mut table, 5).len(), 3);
        assert_eq!(table.iter().map(|row| row.time.as_nanos()).collect::<Vec<_>>(), [3, 3]);
        assert!(settled(&mut table, 1).is_empty(), "all of one instant");
        assert!(settled(&mut rows(&[]), 0).is_empty());
    }

    #[test]
    fn pages_wait_for_the_first_one_that_is_not_loaded() {
        let page = |begin: u64, is_loaded: bool| PageRow {
            begin: Time::from_nanos(begin),
            workload: 0,
            visit: 0,
            view: 0,
            from: 0,
            to: 1,
            objects: 1,
            bytes: 1,
            first: None,
            loaded: is_loaded.then_some(Time::from_nanos(100)),
        };
        let mut pages = [(1, true), (2, true), (2, false), (3, true)].map(|(at, loaded)| page(at, loaded)).to_vec();
        assert_eq!(settled(&mut pages, 4).len(), 1, "the instant of the open page stays whole");
        assert!(settled(&mut pages, 1).is_empty());
        pages[1].loaded = Some(Time::from_nanos(4));
        assert_eq!((settled(&mut pages, 1).len(), pages.len()), (2, 1));
        // `docs/decisions/memory.md` has these sizes.
        assert_eq!([size_of::<PageRow>(), size_of::<WorkloadTransferRow>()], [72, 80]);
    }
}
