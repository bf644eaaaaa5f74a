//! The states of recovery: how an ACK that is a duplicate, carries SACK or ECE, or arrives outside of Open moves them.

use super::super::Sender;
use super::super::ack::Ack;
use super::Resend;
use crate::flow::CaState;
use crate::segment::Seq;

impl Sender {
    /// Moves the state; says what is to be sent once the window is set.
    pub(in super::super) fn react(&mut self, prior_una: Seq, duplicates: u32, ack: &mut Ack, resend: &mut Resend) {
        if self.flow.packets_out == 0 {
            self.flow.sacked_out = 0;
        }
        // A mark is congestion, whatever becomes of the losses.
        if ack.ece {
            self.undo.prior_ssthresh = None;
        }
        if ack.reneged && ack.una_advanced {
            self.expect_reneging();
            ack.set_timer = false;
            return;
        }
        if self.flow.state == CaState::Open {
            self.undo.retrans_stamp = None;
        } else if self.flow.una >= self.high_seq && self.leave_state() {
            return;
        }
        match self.flow.state {
            CaState::Recovery => {
                if !ack.una_advanced {
                    if !self.config.sack {
                        self.add_reno_sacks(duplicates, ack.ece);
                    }
                } else if self.undo_partial(prior_una) {
                    return;
                }
                if self.undo_by_dsack() {
                    self.keep_open();
                }
                self.find_losses(ack);
                if self.flow.state != CaState::Recovery {
                    if self.flow.lost_out == 0 {
                        return;
                    }
                    self.enter_recovery(ack.ece);
                }
            }
            CaState::Loss => {
                self.process_loss(ack, duplicates, resend);
                self.find_losses(ack);
                if self.flow.state != CaState::Open && !ack.repetition_lost {
                    return;
                }
                if !self.recover_or_open(duplicates, ack) {
                    return;
                }
            }
            _ => {
                if !self.recover_or_open(duplicates, ack) {
                    return;
                }
            }
        }
        *resend = Resend::Lost;
    }

    /// All data of the state is acknowledged. Returns whether nothing else is to be done.
    fn leave_state(&mut self) -> bool {
        match self.flow.state {
            // One more, so that CWR reaches the receiver.
            CaState::Cwr if self.flow.una != self.high_seq => {
                self.end_reduction();
                self.set_state(CaState::Open);
            }
            CaState::Recovery => {
                if !self.config.sack {
                    self.flow.sacked_out = 0;
                }
                if self.undo_recovery() {
                    return true;
                }
                self.end_reduction();
            }
            _ => {}
        }
        false
    }

    /// Enters Recovery when something is lost. Returns whether it did.
    fn recover_or_open(&mut self, duplicates: u32, ack: &mut Ack) -> bool {
        if !self.config.sack {
            if ack.una_advanced {
                self.flow.sacked_out = 0;
            }
            self.add_reno_sacks(duplicates, ack.ece);
        }
        if self.flow.state <= CaState::Disorder {
            self.undo_by_dsack();
        }
        self.find_losses(ack);
        if self.flow.lost_out == 0 {
            self.try_to_open(ack.ece);
            return false;
        }
        self.enter_recovery(ack.ece);
        true
    }

    fn find_losses(&mut self, ack: &mut Ack) {
        if self.ledger.is_empty() {
            return;
        }
        if !self.config.sack {
            self.mark_lost_by_duplicates(ack.una_advanced);
            return;
        }
        if !self.config.rack {
            self.mark_lost_by_sacks();
            return;
        }
        let before = self.flow.retrans_out;
        if self.mark_lost_by_time() {
            ack.set_timer = false;
        }
        ack.repetition_lost |= before > self.flow.retrans_out;
    }

    fn try_to_open(&mut self, ece: bool) {
        self.forget_stamp_if_settled();
        if ece {
            self.enter_cwr();
        }
        if self.flow.state != CaState::Cwr {
            self.keep_open();
        }
    }

    /// Open, or Disorder as long as something is out of order or repeated.
    pub(super) fn keep_open(&mut self) {
        let disorder = self.flow.left_out() > 0 || self.any_repetition_out();
        let state = if disorder { CaState::Disorder } else { CaState::Open };
        if self.flow.state != state {
            self.set_state(state);
            self.high_seq = self.flow.nxt;
        }
    }

    fn enter_cwr(&mut self) {
        self.undo.prior_ssthresh = None;
        if self.flow.state < CaState::Cwr {
            self.undo.marker = None;
            self.flow.reducing_for_mark = true;
            self.begin_reduction();
            self.flow.reducing_for_mark = false;
            self.set_state(CaState::Cwr);
        }
    }

    pub(super) fn enter_recovery(&mut self, ece: bool) {
        self.counts.recoveries += 1;
        self.forget_stamp_if_settled();
        self.undo.prior_ssthresh = None;
        self.begin_undo();
        if !self.flow.in_reduction() {
            if !ece {
                self.undo.prior_ssthresh = Some(self.flow.present_ssthresh());
            }
            self.begin_reduction();
        }
        self.set_state(CaState::Recovery);
    }
}
