//! Recovery without SACK (RFC 6582): each duplicate ACK stands for one segment that left.

use super::super::Sender;
use crate::flow::CaState;

impl Sender {
    /// Bounds the count of duplicates by what is in flight; returns whether it was too high.
    fn limit_reno_sacks(&mut self) -> bool {
        let holes = self.flow.lost_out.max(1).min(self.flow.packets_out);
        if self.flow.sacked_out + holes > self.flow.packets_out {
            self.flow.sacked_out = self.flow.packets_out - holes;
            return true;
        }
        false
    }

    fn check_reno_reordering(&mut self, more: u32) {
        if self.limit_reno_sacks() {
            self.reordering = (self.flow.packets_out + more).min(self.config.max_reordering);
            self.reordering_seen = true;
        }
    }

    /// Counts duplicate ACKs.
    pub(super) fn add_reno_sacks(&mut self, duplicates: u32, ece: bool) {
        if duplicates == 0 {
            return;
        }
        let before = self.flow.sacked_out;
        self.flow.sacked_out += duplicates;
        self.check_reno_reordering(0);
        self.count_delivered(self.flow.sacked_out.saturating_sub(before), ece);
    }

    /// An ACK of `acked` segments fills one hole; the others had been counted as duplicates.
    pub(in super::super) fn remove_reno_sacks(&mut self, acked: u32, ece: bool) {
        if acked > 0 {
            let new = acked.saturating_sub(self.flow.sacked_out).max(1);
            self.count_delivered(new, ece);
            self.flow.sacked_out = self.flow.sacked_out.saturating_sub(acked - 1);
        }
        self.check_reno_reordering(acked);
    }

    /// The head is lost at the third duplicate, and in Recovery at each partial ACK.
    pub(super) fn mark_lost_by_duplicates(&mut self, una_advanced: bool) {
        let state = self.flow.state;
        let due = match state {
            CaState::Recovery => una_advanced,
            CaState::Loss => false,
            _ => self.flow.sacked_out >= self.reordering,
        };
        if let Some(first) = self.ledger.first()
            && due
            && !self.ledger.get(first).is_lost()
        {
            self.mark_lost(first);
        }
    }
}
