//! Rows that are handed over while the run goes on, so that a long run takes no more memory than a short one.

use crate::records::{
    DropRow, FlowEventRow, FlowSeriesRow, HandoverRow, LinkChangeRow, LinkSeriesRow, PositionRow, Records, TransferRow,
};
use crate::simulation::Simulation;
use skyhop_base::Time;

/// A row of a table whose rows are in the order of time as they are recorded.
trait Timed {
    fn time(&self) -> Time;
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
timed!(DropRow, FlowSeriesRow, LinkSeriesRow, FlowEventRow, HandoverRow, LinkChangeRow, PositionRow, TransferRow);

/// Takes the rows before the last instant out of a table of at least `least` rows. Rows of the last instant stay, as
/// more of them may follow: whoever sorts the rows of an instant must have them all.
fn settled<R: Timed>(rows: &mut Vec<R>, least: usize) -> Vec<R> {
    let Some(last) = rows.last().map(Timed::time).filter(|_| rows.len() >= least) else { return Vec::new() };
    debug_assert!(rows.is_sorted_by_key(Timed::time), "rows out of the order of time");
    // Instants are compared as tables have them, in seconds.
    let settled = rows.partition_point(|row| row.time().as_secs_f64() < last.as_secs_f64());
    let rest = rows.split_off(settled);
    std::mem::replace(rows, rest)
}

impl Simulation {
    /// Gives `take` the rows recorded so far of each table that has at least `least` of them, and forgets them:
    /// [`Simulation::finish`] returns the others. It is not called where no table has so many. Every row taken is
    /// earlier than each row that its table gets later.
    ///
    /// The tables of paths, pages and transfers of workloads stay whole, because the end of the run completes or reads
    /// their rows.
    pub fn take_rows(&mut self, least: usize, take: impl FnOnce(&Records)) {
        let packets = match self.recorder.records.packets.len() < least {
            true => Records::default(),
            false => self.take_packets(self.packets_settled()),
        };
        let records = &mut self.recorder.records;
        let mut taken = Records {
            flow_series: settled(&mut records.flow_series, least),
            link_series: settled(&mut records.link_series, least),
            flow_events: settled(&mut records.flow_events, least),
            handovers: settled(&mut records.handovers, least),
            link_changes: settled(&mut records.link_changes, least),
            positions: settled(&mut records.positions, least),
            drops: settled(&mut records.drops, least),
            transfers: settled(&mut records.transfers, least),
            ..packets
        };
        if taken.memory_bytes() == 0 {
            return;
        }
        self.recorder.drops_taken += taken.drops.len();
        self.recorder.judge_messages(&taken.transfers, self.end);
        // Rows have ids; whoever makes tables of them needs the names.
        let names = |records: &mut Records, other: &mut Records| {
            std::mem::swap(&mut records.flow_names, &mut other.flow_names);
            std::mem::swap(&mut records.link_names, &mut other.link_names);
            std::mem::swap(&mut records.node_names, &mut other.node_names);
        };
        names(&mut self.recorder.records, &mut taken);
        take(&taken);
        names(&mut self.recorder.records, &mut taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
