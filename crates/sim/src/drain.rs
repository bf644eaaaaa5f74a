//! Rows that are handed over while the run goes on, so that a long run takes no more memory than a short one.

use crate::records::Records;
use crate::settled::HandedOver;
use crate::simulation::Simulation;
use std::mem::swap;

impl Simulation {
    /// Gives `take` the rows recorded so far of each table that has at least `least` of them, and forgets them:
    /// [`Simulation::finish`] returns the others. It is not called where no table has so many. Every row taken is
    /// earlier than each row that its table gets later.
    ///
    /// Rows of pages are taken up to the first page that is not loaded. The table of the transfers of workloads stays
    /// whole: it has its rows from the start, at most [`MOST_TRANSFERS`](crate::workload::MOST_TRANSFERS) in the order
    /// of the workloads, and the percentiles need all of them.
    pub fn take_rows(&mut self, least: usize, take: impl FnOnce(&Records)) {
        let packets = match self.recorder.records.packets.len() < least {
            true => Records::default(),
            false => self.take_packets(self.packets_settled()),
        };
        let mut taken = self.recorder.records.take_settled(least);
        (taken.packets, taken.sack_ranges, taken.stream_pieces) =
            (packets.packets, packets.sack_ranges, packets.stream_pieces);
        self.recorder.drops_taken += taken.drops.len();
        self.recorder.pages_taken += taken.pages.len();
        self.hand_out(taken, take);
    }

    /// Gives `take` rows that nobody has any more.
    pub(crate) fn hand_out(&mut self, mut taken: Records, take: impl FnOnce(&Records)) {
        if taken.memory_bytes() == 0 {
            return;
        }
        self.count_handed_over(&taken);
        // Rows have ids; whoever makes tables of them needs the names.
        let names = |records: &mut Records, other: &mut Records| {
            swap(&mut records.flow_names, &mut other.flow_names);
            swap(&mut records.link_names, &mut other.link_names);
            swap(&mut records.node_names, &mut other.node_names);
            swap(&mut records.workload_names, &mut other.workload_names);
        };
        names(&mut self.recorder.records, &mut taken);
        take(&taken);
        names(&mut self.recorder.records, &mut taken);
    }

    /// Counts what the end of the run wants to know of rows that are handed over.
    fn count_handed_over(&mut self, taken: &Records) {
        self.recorder.judge_messages(&taken.transfers, self.end);
        for page in &taken.pages {
            *self.recorder.pages_loaded.entry(page.workload).or_default() += 1;
        }
    }

    /// Forgets rows that a run of the same specification and seed has handed over, as far as they are there by now.
    pub(crate) fn forget_handed_over(&mut self, left: &mut HandedOver) {
        self.take_packets(left.packets_before);
        let gone = left.forget_in(&mut self.recorder.records);
        self.recorder.drops_taken += gone.drops.len();
        self.recorder.pages_taken += gone.pages.len();
        self.count_handed_over(&gone);
    }
}
