//! Undo of needless reductions: by the echoed timestamp (Eifel, RFC 3522 and 4015) and by DSACK (RFC 3708).

use super::super::{Phase, Sender};
use super::rack::PERSISTENCE;
use crate::flow::CaState;
use crate::ledger::Record;
use crate::segment::Seq;

/// The state before a reduction, and the evidence collected against it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Undo {
    /// Where the repetitions began; `None`: there is nothing to take back.
    pub marker: Option<Seq>,
    /// Repetitions that no DSACK has shown to be needless; `None`: none was sent yet.
    pub repetitions: Option<u32>,
    /// The threshold before the reduction; `None`: the reduction was right.
    pub prior_ssthresh: Option<u32>,
    /// The timestamp of the first repetition, or of the first SYN.
    pub retrans_stamp: Option<u32>,
}

impl Sender {
    pub(super) fn begin_undo(&mut self) {
        self.undo.marker = Some(self.flow.una);
        let probe = u32::from(self.tlp_end.is_some() && self.tlp_repeated);
        let out = self.flow.retrans_out + probe;
        self.undo.repetitions = (out > 0).then_some(out);
    }

    fn echo_before(&self, stamp: u32) -> bool {
        self.has_timestamps && self.echo.is_some_and(|echo| echo < stamp)
    }

    /// The original of the first repetition arrived, only late.
    fn original_was_late(&self) -> bool {
        match self.undo.retrans_stamp {
            Some(stamp) => self.echo_before(stamp),
            // A SYN that is acknowledged took its stamp along.
            None if self.phase == Phase::SynSent => false,
            None => self.config.sack || self.flow.una < self.high_seq,
        }
    }

    fn all_repetitions_needless(&self) -> bool {
        self.undo.repetitions == Some(0)
    }

    fn may_undo(&self) -> bool {
        self.config.undo && self.undo.marker.is_some() && (self.all_repetitions_needless() || self.original_was_late())
    }

    /// Whether the echo shows that the original of a repeated segment arrived.
    pub(in super::super) fn repetition_was_needless(&self, record: &Record) -> bool {
        record.is_retransmitted() && self.echo_before(self.stamp(record.sent_us))
    }

    fn undo_reduction(&mut self, unmark: bool) {
        self.counts.undos += 1;
        if unmark {
            let ids: Vec<_> = self.ledger.ids().collect();
            for id in ids {
                self.ledger.get_mut(id).set_lost(false);
            }
            self.flow.lost_out = 0;
            self.retransmit_hint = None;
        }
        if let Some(prior) = self.undo.prior_ssthresh {
            self.flow.cwnd = self.control.undo(&mut self.flow);
            if prior > self.flow.ssthresh {
                self.flow.ssthresh = prior;
                self.queue_cwr = false;
            }
        }
        self.used_jiffy = self.flow.jiffy;
        self.undo.marker = None;
        self.rack.advanced = true;
    }

    /// Something repeated is still in flight.
    pub(super) fn any_repetition_out(&self) -> bool {
        self.flow.retrans_out > 0 || self.ledger.first().is_some_and(|first| self.ledger.get(first).was_repeated())
    }

    pub(super) fn forget_stamp_if_settled(&mut self) {
        if !self.any_repetition_out() {
            self.undo.retrans_stamp = None;
        }
    }

    /// Without SACK the state stays until more than its data is acknowledged, or duplicates of repeated data would
    /// start a false recovery (RFC 6582 §4).
    fn reno_stays(&mut self) -> bool {
        if self.flow.una == self.high_seq && !self.config.sack {
            self.forget_stamp_if_settled();
            return true;
        }
        false
    }

    /// All data of the recovery is acknowledged. Returns whether the state has to stay.
    pub(super) fn undo_recovery(&mut self) -> bool {
        if self.may_undo() {
            self.undo_reduction(false);
        } else {
            self.rack.persist = self.rack.persist.saturating_sub(1);
        }
        if self.reno_stays() {
            return true;
        }
        self.set_state(CaState::Open);
        self.reneging = false;
        false
    }

    /// A partial ACK in Recovery. Returns whether to wait with all that follows.
    pub(super) fn undo_partial(&mut self, prior_una: Seq) -> bool {
        if !self.config.undo || self.undo.marker.is_none() || !self.original_was_late() {
            return false;
        }
        self.note_reordering(prior_una);
        if self.flow.retrans_out > 0 {
            return true;
        }
        self.forget_stamp_if_settled();
        self.undo_reduction(true);
        self.keep_open();
        false
    }

    /// Every repetition came back as a DSACK.
    pub(super) fn undo_by_dsack(&mut self) -> bool {
        if !self.config.undo || self.undo.marker.is_none() || !self.all_repetitions_needless() {
            return false;
        }
        self.rack.persist = (self.rack.persist + 1).min(PERSISTENCE);
        self.undo_reduction(false);
        true
    }

    /// The timeout was spurious.
    pub(super) fn undo_loss(&mut self, by_frto: bool) -> bool {
        let spurious = (by_frto && self.config.undo) || self.may_undo();
        if !spurious {
            return false;
        }
        self.undo_reduction(true);
        self.retransmits = 0;
        if self.reno_stays() {
            return true;
        }
        if by_frto || self.config.sack {
            self.set_state(CaState::Open);
            self.reneging = false;
        }
        true
    }
}
