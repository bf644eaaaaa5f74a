//! After a timeout: everything is lost, unless F-RTO (RFC 5682) or the undo shows that it is not.

use super::super::Sender;
use super::super::ack::Ack;
use super::super::output::Nagle;
use super::Resend;
use crate::control::Event;
use crate::flow::CaState;
use crate::ledger::Id;

impl Sender {
    pub(in super::super) fn enter_loss(&mut self) {
        let new = self.flow.state < CaState::Recovery;
        self.mark_all_lost();
        // The threshold falls once per window of data.
        if self.flow.state <= CaState::Disorder
            || self.high_seq <= self.flow.una
            || (self.flow.state == CaState::Loss && self.retransmits == 0)
        {
            self.counts.reductions += 1;
            self.undo.prior_ssthresh = Some(self.flow.present_ssthresh());
            self.flow.prior_cwnd = self.flow.cwnd;
            let ssthresh = self.control.ssthresh(&mut self.flow);
            self.flow.ssthresh = ssthresh;
            self.event(Event::Loss);
            self.begin_undo();
        }
        self.flow.cwnd = self.flow.in_flight() + 1;
        self.flow.cwnd_count = 0;
        self.used_jiffy = self.flow.jiffy;
        // Many duplicates and yet a timeout: the path does not reorder as much as was thought.
        if self.flow.state <= CaState::Disorder && self.flow.sacked_out >= self.config.reordering {
            self.reordering = self.reordering.min(self.config.reordering);
        }
        self.set_state(CaState::Loss);
        self.high_seq = self.flow.nxt;
        self.tlp_end = None;
        self.queue_cwr |= self.ecn;
        self.frto = self.config.frto && (new || self.retransmits > 0);
    }

    /// Marks all segments lost, with RACK but for those sent within the last round trip, and the first one in any case.
    fn mark_all_lost(&mut self) {
        let first = self.ledger.first();
        let reneged = first.is_some_and(|first| self.ledger.get(first).is_sacked());
        if reneged {
            self.reneging = true;
            self.sack_cache = Default::default();
        }
        if reneged || !self.config.sack {
            self.flow.sacked_out = 0;
        }
        let ids: Vec<Id> = self.ledger.ids().collect();
        for id in ids {
            if reneged {
                self.ledger.get_mut(id).set_sacked(false);
            } else if self.config.rack && Some(id) != first && self.time_left_us(self.ledger.get(id), 0) > 0 {
                continue;
            }
            self.mark_lost(id);
        }
        self.retransmit_hint = None;
    }

    /// An ACK in the state Loss.
    pub(super) fn process_loss(&mut self, ack: &Ack, duplicates: u32, resend: &mut Resend) {
        let recovered = self.flow.una >= self.high_seq;
        if ack.una_advanced && self.undo_loss(false) {
            return;
        }
        if self.frto {
            if ack.original_delivered && self.undo_loss(true) {
                return;
            }
            if self.flow.nxt > self.high_seq {
                if ack.data_sacked || duplicates > 0 {
                    self.frto = false;
                }
            } else if ack.una_advanced && !recovered {
                self.high_seq = self.flow.nxt;
                // New data decides, once the window is set.
                if self.has_unsent() && self.window_end() > self.flow.nxt {
                    *resend = Resend::New;
                    return;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.undo_recovery();
            return;
        }
        if !self.config.sack {
            if self.flow.nxt > self.high_seq && duplicates > 0 {
                self.add_reno_sacks(duplicates, ack.ece);
            } else if ack.una_advanced {
                self.flow.sacked_out = 0;
            }
        }
        *resend = Resend::Lost;
    }

    /// Sends the segments that the processing of an ACK asked for.
    pub(in super::super) fn resend(&mut self, what: Resend) {
        match what {
            Resend::Nothing => return,
            Resend::New => {
                self.push(Nagle::Off);
                if self.flow.nxt > self.high_seq {
                    return;
                }
                self.frto = false;
            }
            Resend::Lost => {}
        }
        self.retransmit_lost();
    }

    /// Repeats segments marked lost, as far as the window allows.
    pub(in super::super) fn retransmit_lost(&mut self) {
        let Some(first) = self.ledger.first() else { return };
        let burst = self.burst();
        let mut rearm = false;
        let mut hole = None;
        let mut next = Some(self.retransmit_hint.filter(|&hint| self.ledger.holds(hint)).unwrap_or(first));
        while let Some(id) = next {
            if self.must_wait_for_pace() {
                break;
            }
            if hole.is_none() {
                self.retransmit_hint = Some(id);
            }
            if self.flow.cwnd <= self.flow.in_flight() || self.flow.retrans_out >= self.flow.lost_out {
                break;
            }
            let record = *self.ledger.get(id);
            if !record.is_lost() {
                if hole.is_none() && !record.is_repeated() && !record.is_sacked() {
                    hole = Some(id);
                }
            } else if !record.is_sacked() && !record.is_repeated() {
                let sent = self.repeat_lost(id, burst.min(self.flow.cwnd - self.flow.in_flight()));
                if sent == 0 {
                    break;
                }
                if self.flow.in_reduction() {
                    self.prr.out += sent;
                }
                next = (1..sent).try_fold(id, |id, _| self.ledger.next(id));
                if id == first && !matches!(self.timer, Some((super::super::TimerKind::Reordering, _))) {
                    rearm = true;
                }
            }
            next = next.and_then(|next| self.ledger.next(next));
        }
        if rearm {
            self.set_retransmission_timer(self.rto);
        }
    }

    /// Repeats a segment, and up to `most` of its burst, and counts the repetitions as in flight. Returns how many
    /// left.
    pub(in super::super) fn repeat_lost(&mut self, id: Id, most: u32) -> u32 {
        let sent = self.repeat(id, most);
        let mut next = Some(id);
        for _ in 0..sent {
            let Some(id) = next else { break };
            let record = self.ledger.get_mut(id);
            // A repetition can be out already: an undo took the mark of the loss away, and a timeout brings it back.
            // The kernel counts it twice then, which its debug messages call a leak, until nothing is in flight.
            self.flow.retrans_out += u32::from(!record.is_repeated());
            record.set_repeated(true);
            next = self.ledger.next(id);
        }
        let stamp = self.stamp(self.ledger.get(id).sent_us);
        self.undo.retrans_stamp.get_or_insert(stamp);
        self.undo.repetitions = Some(self.undo.repetitions.unwrap_or(0) + sent.max(1));
        sent
    }

    /// Judges the loss probe by an ACK (RFC 8985 §7.4).
    pub(in super::super) fn judge_loss_probe(&mut self, ack: &Ack) {
        let Some(end) = self.tlp_end else { return };
        if ack.number < end {
            return;
        }
        if !self.tlp_repeated || ack.dsack_for_probe {
            self.tlp_end = None;
        } else if ack.number > end {
            // The probe filled a hole: its loss counts like any other.
            self.begin_reduction();
            self.set_state(CaState::Cwr);
            self.end_reduction();
            self.keep_open();
        } else if !ack.una_advanced && !ack.not_duplicate() && !ack.data_sacked {
            self.tlp_end = None;
        }
    }

    pub(in super::super) fn head_fits(&self) -> bool {
        self.buffers.head_end() <= self.window_end()
    }
}
