//! An ACK that does nothing but acknowledge data, while nothing is out of order: most of them.

use super::Sender;
use super::output::DEFERRAL_NS;
use crate::control::{AckSample, Burst};
use crate::flow::CaState;
use crate::ledger::Record;
use crate::rtt::Estimator;
use crate::segment::Seq;

impl Sender {
    /// Whether the connection is one whose ACKs may be plain: the general course alone counts marks, and samples the
    /// rate for a control that owns the window, and knows other counts and estimators than the kernel's.
    pub(super) fn may_be_plain(&self) -> bool {
        let is_stock =
            self.config.byte_counting && self.config.estimator == Estimator::Linux && self.pipe_ack.is_none();
        self.shortcuts && self.config.sack && !self.ecn && !self.owns_window && is_stock
    }

    /// Takes an ACK without SACK blocks if it acknowledges whole segments that were sent once, in the open state.
    /// Returns whether it was such a one.
    ///
    /// This is [`Sender::process_ack`] without what such an ACK does not lead to: recovery, undo, probes' answers and
    /// samples of the rate, of which only the count at the last segment's transmission is asked for here.
    #[inline(always)]
    pub(super) fn take_plain_ack(&mut self, number: Seq, window: u64) -> bool {
        let flow = &self.flow;
        let prior_una = flow.una;
        // As long as a segment is in the ledger that was reported or repeated, none counts as usual.
        let is_open =
            self.is_plain && flow.state == CaState::Open && self.tlp_end.is_none() && self.retransmit_hint.is_none();
        if !is_open || number <= prior_una {
            return false;
        }
        let acked = self.ledger.usual_below(number);
        let ([first, ..], [.., last]) = (acked, acked) else { return false };
        // Otherwise more segments are acknowledged than these, or a part of one.
        if first.start < prior_una || last.end() != number {
            return false;
        }
        debug_assert!(flow.sacked_out == 0 && last.delivered_us != Record::TAKEN && number <= flow.nxt);
        let count = acked.len() as u32;
        let now_us = flow.now_us;
        let seq_rtt = now_us.saturating_sub(first.sent_us);
        let last_rtt = now_us.saturating_sub(last.sent_us);
        let prior_delivered = last.delivered;
        self.rack.delivered(last, last_rtt);
        self.sampler.delivered_last(last);
        self.ledger.drop_usual(count);

        self.retransmits = 0;
        self.probes_out = 0;
        self.window = window;
        self.max_window = self.max_window.max(window);
        let flow = &mut self.flow;
        flow.una = number;
        flow.packets_out -= count;
        flow.delivered += u64::from(count);
        let maybe_delayed =
            count == 1 && number - prior_una < u64::from(flow.mss) && prior_delivered + 1 == flow.delivered;
        self.rtt_sample = Some(last_rtt);
        self.learn_rtt::<true>(seq_rtt, last_rtt, maybe_delayed);
        self.widen_reordering_window(prior_delivered);
        if self.flow.packets_out > 0 && self.has_unsent() && self.may_probe() {
            // A transmission that follows sets this timer anew.
            self.timer_is_due = true;
        } else {
            self.move_timer();
        }
        let own = self.control.plain_ack(&mut self.flow, AckSample { packets: count, rtt_us: Some(last_rtt) });
        self.used_jiffy = self.flow.jiffy;
        self.set_pacing_rate(own);
        true
    }

    /// Sends what a plain ACK mostly lets out: full segments that fill the congestion window, mostly in one burst.
    /// Returns whether that was so; otherwise nothing has happened.
    ///
    /// This is [`Sender::push_pending`] where the first burst is sent by the first round of the loop of
    /// [`Sender::write_out`], whose buffer holds more than one segment and all of the burst, and where the probe that
    /// the burst sets replaces the timer that the ACK moves. More rounds go through that loop.
    #[inline(always)]
    pub(super) fn send_plain_burst(&mut self) -> bool {
        let flow = &self.flow;
        let in_flight = flow.packets_out;
        debug_assert_eq!(in_flight, flow.in_flight(), "a plain ACK leaves nothing that is lost or out of order");
        let allowed = flow.cwnd.saturating_sub(in_flight);
        let mss = u64::from(flow.mss);
        let waiting = self.buffers.head_end().saturating_sub(flow.nxt);
        let may_be_usual = in_flight > 0
            && allowed > 0
            && allowed <= flow.cwnd >> 1
            && waiting > mss
            && !flow.paced
            && flow.pace_ns <= flow.now_ns
            && self.may_probe();
        if !may_be_usual {
            return false;
        }
        let may_defer = flow.now_ns - flow.pace_ns <= DEFERRAL_NS;
        // The least burst holds it, whatever the rate.
        let is_small = allowed <= self.config.min_burst && matches!(self.control.burst(flow), Burst::Usual);
        let burst = if may_defer || !is_small { self.burst() } else { allowed };
        let segments = allowed.min(burst);
        let bytes = u64::from(segments) * mss;
        let fits = waiting >= bytes && self.flow.nxt + bytes <= self.window_end();
        if !fits || (may_defer && self.defers(waiting, burst, in_flight, &mut false)) {
            return false;
        }
        self.timer_is_due = false;
        self.send_new(bytes, segments, in_flight, false);
        if segments < allowed {
            self.write_more(burst, segments);
        } else {
            self.validate_window(true);
            self.set_loss_probe(false);
        }
        true
    }

    /// An ACK moves the timer on: a loss probe, or else the retransmission.
    pub(super) fn move_timer(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.rearm_rto();
        }
    }
}
