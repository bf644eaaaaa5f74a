//! Processing of an ACK, in the kernel's order: window, SACK, ledger, RTT, state, control, retransmission.

use skyhop_base::Duration;

use super::recovery::Resend;
use super::{Phase, Received, Sender};
use crate::control::AckSample;
use crate::flow::CaState;
use crate::ledger::Record;
use crate::rate::RateSample;
use crate::rtt::Estimator;
use crate::segment::{Brief, Segment, Seq, Timestamps, flags};

/// Facts about the ACK being processed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ack {
    pub number: Seq,
    pub una_advanced: bool,
    pub data_acked: bool,
    pub syn_acked: bool,
    pub window_update: bool,
    pub data_sacked: bool,
    /// A number below the point where the state ends was delivered by its first transmission.
    pub original_delivered: bool,
    /// A repeated segment was acknowledged.
    pub repeated_acked: bool,
    pub dsack: bool,
    /// The DSACK is for the loss probe.
    pub dsack_for_probe: bool,
    /// The first segment not acknowledged had been SACKed: the receiver dropped it (RFC 2018 §8).
    pub reneged: bool,
    pub ece: bool,
    /// The count of Accurate ECN, modulo 8.
    pub ace: u32,
    pub set_timer: bool,
    /// A repetition was found lost.
    pub repetition_lost: bool,
    pub maybe_delayed: bool,
    /// The lowest number delivered out of order.
    pub lowest_late: Seq,
    /// When the first and last of the segments newly SACKed were sent.
    pub sacked_sent_us: Option<(u64, u64)>,
    pub sack_delivered: u32,
    pub sample: RateSample,
}

impl Ack {
    fn acked(&self) -> bool {
        self.data_acked || self.syn_acked
    }

    /// It cannot be a duplicate ACK.
    pub fn not_duplicate(&self) -> bool {
        self.window_update || self.acked()
    }

    fn alerts(&self) -> bool {
        self.data_sacked || self.ece || self.dsack
    }
}

impl Sender {
    /// Takes a segment of the receiver that may be a plain ACK.
    #[inline(always)]
    pub(super) fn receive_brief(&mut self, brief: &Brief) -> Received {
        let is_ack = brief.has(flags::ACK) && !brief.is_syn();
        if !is_ack {
            return self.receive_ack(&brief.segment());
        }
        if !self.note_stamps(brief.ack, brief.window.into(), brief.stamps()) {
            return Received::Refused;
        }
        if self.take_plain_ack(brief.ack, brief.window.into()) {
            return Received::Plain;
        }
        self.process_ack(&brief.segment());
        Received::Other
    }

    /// Takes a segment of the receiver.
    #[inline(never)]
    pub(super) fn receive_ack(&mut self, segment: &Segment) -> Received {
        let Some(number) = segment.ack else { return Received::Refused };
        if segment.syn {
            // Our ACK of the SYN-ACK was lost.
            self.emit_ack(self.flow.nxt);
            return Received::Refused;
        }
        if !self.note_stamps(number, segment.window, segment.timestamps) {
            return Received::Refused;
        }
        self.process_ack(segment);
        Received::Other
    }

    /// Takes the timestamps of an ACK. Returns whether the ACK counts.
    #[inline(always)]
    fn note_stamps(&mut self, number: Seq, window: u64, timestamps: Option<Timestamps>) -> bool {
        self.echo = None;
        if let (true, Some(stamps)) = (self.has_timestamps, timestamps) {
            // An ACK older than one already seen (RFC 7323 §5) counts only as a pure duplicate.
            if stamps.value < self.recent {
                let updates = window > self.window || window == 0;
                if number != self.flow.una || updates {
                    return false;
                }
            }
            self.recent = self.recent.max(stamps.value);
            self.echo = Some(stamps.echo);
        }
        true
    }

    pub(super) fn process_ack(&mut self, segment: &Segment) {
        let number = segment.ack.unwrap_or(0);
        let prior_una = self.flow.una;
        if number > self.flow.nxt {
            return;
        }
        let mut ack = Ack { number, lowest_late: self.flow.nxt, ..Ack::default() };
        let (prior_delivered, prior_lost) = (self.flow.delivered, self.flow.lost);
        let prior_ce = self.flow.delivered_ce;
        let mut resend = Resend::Nothing;
        let reneging = self.reneging;
        if number < prior_una {
            if !segment.sack.is_empty() && self.config.sack {
                self.take_sacks(segment, prior_una, &mut ack);
                self.react(prior_una, 0, &mut ack, &mut resend);
                self.resend(resend);
            }
            return;
        }
        if number > prior_una {
            ack.una_advanced = true;
            self.retransmits = 0;
        }
        let prior_highest = if self.config.sack { self.highest_sacked() } else { prior_una };
        let prior_packets = self.flow.packets_out;
        ack.sample.prior_in_flight = self.flow.in_flight();
        self.update_window(segment, &mut ack);
        if self.config.sack && !segment.sack.is_empty() {
            self.take_sacks(segment, prior_una, &mut ack);
        }
        ack.ece = self.ecn && segment.ece && !segment.syn && !self.flow.accurate_ecn;
        self.count_delivered(ack.sack_delivered, ack.ece);
        self.probes_out = 0;
        if prior_packets == 0 {
            if ack.dsack {
                self.react(prior_una, 0, &mut ack, &mut resend);
            }
            self.answer_to_probe();
            self.judge_loss_probe(&ack);
            return;
        }
        if self.flow.accurate_ecn {
            ack.ace = segment.ace();
        }
        self.clean(prior_highest, prior_una, prior_delivered, &mut ack);
        self.widen_reordering_window(ack.sample.prior_delivered);
        self.judge_loss_probe(&ack);
        if !ack.not_duplicate() || ack.alerts() || self.flow.state != CaState::Open {
            let duplicate = !ack.una_advanced && !ack.not_duplicate() && !ack.dsack;
            self.react(prior_una, u32::from(duplicate), &mut ack, &mut resend);
        }
        if ack.set_timer {
            self.move_timer();
        }
        let delivered = (self.flow.delivered - prior_delivered) as u32;
        let lost = (self.flow.lost - prior_lost) as u32;
        ack.sample.ack_delayed = ack.maybe_delayed;
        ack.sample.marked = (self.flow.delivered_ce - prior_ce) as u32;
        self.sampler.complete(&mut self.flow, &mut ack.sample, delivered, lost);
        if reneging {
            // Segments counted as delivered are delivered again.
            ack.sample.delivered = None;
            ack.sample.interval_us = None;
        }
        if self.phase == Phase::Established {
            self.steer(delivered, lost, &ack);
        } else if !self.owns_window {
            self.update_pacing_rate();
        }
        self.resend(resend);
    }

    fn update_window(&mut self, segment: &Segment, ack: &mut Ack) {
        let window = segment.window;
        if ack.una_advanced || window > self.window || window == 0 {
            ack.window_update = true;
            if self.window != window {
                self.window = window;
                if self.has_unsent() {
                    self.restart_after_idle();
                }
                self.max_window = self.max_window.max(window);
            }
        }
        self.flow.una = ack.number;
    }

    /// Removes acknowledged segments from the ledger and takes the RTT from them.
    fn clean(&mut self, prior_highest: Seq, prior_una: Seq, prior_delivered: u64, ack: &mut Ack) {
        let prior_sacked = self.flow.sacked_out;
        let mut lowest = self.flow.nxt;
        let (mut acked, mut originals) = self.take_usual(&mut lowest, ack);
        while let Some((id, record)) = self.ledger.pop_acknowledged(self.flow.una) {
            if record.is_retransmitted() {
                self.flow.retrans_out -= u32::from(record.is_repeated());
                ack.repeated_acked = true;
            } else if !record.is_sacked() {
                originals = Some((originals.map_or(record.sent_us, |(first, _)| first), record.sent_us));
                lowest = lowest.min(record.start);
                ack.original_delivered |= record.end() <= self.high_seq;
            }
            if record.is_sacked() {
                self.flow.sacked_out -= 1;
            } else if self.config.sack {
                self.count_delivered(1, ack.ece);
                if !self.repetition_was_needless(&record) {
                    self.advance_rack(&record);
                }
            }
            self.flow.lost_out -= u32::from(record.is_lost());
            self.flow.packets_out -= 1;
            acked += 1;
            self.sampler.delivered(&record, &mut ack.sample);
            if record.start == 0 {
                ack.syn_acked = true;
                self.undo.retrans_stamp = None;
            } else {
                ack.data_acked = true;
            }
            if self.retransmit_hint == Some(id) {
                self.retransmit_hint = None;
            }
        }
        ack.reneged = self.ledger.front().is_some_and(Record::is_sacked);
        let now_us = self.flow.now_us;
        let (mut seq_rtt, mut ca_rtt) = (None, None);
        if let (Some((first, last)), false) = (originals, ack.repeated_acked) {
            seq_rtt = Some(now_us.saturating_sub(first));
            ca_rtt = Some(now_us.saturating_sub(last));
            // A small packet alone in a round trip, with nothing out of order: its ACK may have waited.
            ack.maybe_delayed = acked == 1
                && prior_sacked == 0
                && self.flow.una - prior_una < u64::from(self.flow.mss)
                && ack.sample.prior_delivered + 1 == self.flow.delivered
                && !(ack.alerts() || ack.syn_acked);
        }
        let mut sack_rtt = None;
        if let Some((first, last)) = ack.sacked_sent_us {
            sack_rtt = Some(now_us.saturating_sub(first));
            ca_rtt = Some(now_us.saturating_sub(last));
        }
        self.rtt_sample = ca_rtt.or(self.rtt_sample);
        let measured = self.measure(seq_rtt, sack_rtt, ca_rtt, ack);
        if ack.acked() {
            ack.set_timer = true;
            if !self.config.sack {
                self.remove_reno_sacks(acked, ack.ece);
                // Without SACK it is not known which of the segments arrived by their first transmission.
                ack.original_delivered &= !ack.repeated_acked;
            } else if lowest < prior_highest {
                self.note_reordering(lowest);
            }
        } else if let (true, Some(rtt), Some(first)) = (measured, sack_rtt, self.ledger.front()) {
            // SACKs of data sent after the last repetition of the first segment do not restart the timer.
            ack.set_timer |= rtt > now_us.saturating_sub(first.sent_us);
        }
        if self.phase == Phase::Established {
            self.count_marks(prior_delivered, ack);
            self.control.acked(&mut self.flow, AckSample { packets: acked, rtt_us: ack.sample.rtt_us });
        }
    }

    /// The same for the segments at the beginning that were sent once and not reported: all of most ACKs. They were
    /// sent in their order, so that the last one decides what RACK and the rate learn. Returns their
    /// number and when the first and the last were sent.
    #[inline]
    fn take_usual(&mut self, lowest: &mut Seq, ack: &mut Ack) -> (u32, Option<(u64, u64)>) {
        if !self.config.sack || self.retransmit_hint.is_some() || self.phase != Phase::Established {
            return (0, None);
        }
        let usual = self.ledger.usual_below(self.flow.una);
        let ([first, ..], [.., last]) = (usual, usual) else { return (0, None) };
        let count = usual.len() as u32;
        *lowest = (*lowest).min(first.start);
        let sent_us = (first.sent_us, last.sent_us);
        ack.original_delivered |= first.end() <= self.high_seq;
        ack.data_acked = true;
        self.rack.delivered(last, self.flow.now_us.saturating_sub(last.sent_us));
        self.sampler.delivered(last, &mut ack.sample);
        self.ledger.drop_usual(count);
        self.flow.packets_out -= count;
        self.count_delivered(count, ack.ece);
        (count, Some(sent_us))
    }

    /// Counts the marks that an ACK tells by Accurate ECN. Where it delivers so much that the count may have gone
    /// round, it is taken for the largest that fits (RFC 9768 appendix A.2.1).
    fn count_marks(&mut self, prior_delivered: u64, ack: &mut Ack) {
        if !self.flow.accurate_ecn || !(ack.una_advanced || ack.data_sacked) {
            return;
        }
        let delivered = (self.flow.delivered - prior_delivered) as u32;
        let told = self.marks_told;
        let mut marks = ack.ace.wrapping_sub(told) & 7;
        if delivered > 7 {
            marks = delivered - ((delivered - marks) & 7);
        }
        self.marks_told = told.wrapping_add(marks);
        self.flow.delivered_ce += u64::from(marks);
        ack.ece = marks > 0 && !self.control.handles_marks();
    }

    /// Updates estimator, minimum and timeout. Returns whether the ACK gave an RTT.
    fn measure(&mut self, seq: Option<u64>, sack: Option<u64>, ca: Option<u64>, ack: &mut Ack) -> bool {
        let (mut rtt, mut ca) = (seq.or(sack), ca);
        if rtt.is_none() && ack.acked() {
            // All that was acknowledged had been repeated: the echo tells which transmission arrived.
            rtt = self.echo.map(|echo| u64::from(self.stamp(self.flow.now_us).saturating_sub(echo)).max(1) * 1000);
            ca = rtt;
        }
        ack.sample.rtt_us = ca;
        let (Some(rtt), Some(ca)) = (rtt, ca) else { return false };
        self.learn_rtt::<false>(rtt, ca, ack.maybe_delayed);
        true
    }

    /// The same with a sample, and the one of the last segment for the minimum. Plain ACKs know their estimator.
    #[inline(always)]
    pub(super) fn learn_rtt<const IS_PLAIN: bool>(&mut self, rtt_us: u64, last_us: u64, maybe_delayed: bool) {
        if !maybe_delayed {
            self.rtt.update_min(self.flow.now_us, last_us.max(1));
        }
        if IS_PLAIN || self.config.estimator == Estimator::Linux {
            self.rtt.sample(rtt_us, self.flow.una, self.flow.nxt);
        } else {
            self.rtt.sample_by_rfc(rtt_us);
        }
        self.flow.srtt8_us = self.rtt.srtt8_us;
        self.flow.min_rtt_us = self.rtt.min_us();
        self.rto = self.estimated_rto();
        self.backoff = 0;
    }

    #[inline(always)]
    pub(super) fn estimated_rto(&self) -> Duration {
        let rto = self.timers.span(Duration::from_micros(self.rtt.rto_us()));
        rto.min(self.config.max_rto)
    }

    /// The window after the ACK, and the pacing rate that follows from it.
    fn steer(&mut self, delivered: u32, lost: u32, ack: &Ack) {
        if self.owns_window {
            self.control.control(&mut self.flow, &ack.sample);
            return;
        }
        let is_validated = self.validate_by_acks(delivered);
        if self.flow.in_reduction() {
            self.reduce(delivered, lost, ack.una_advanced);
        } else {
            // On a path that reorders much every delivery counts, else only those in order.
            let may_grow =
                if self.reordering > self.config.reordering { ack.acked() || ack.data_sacked } else { ack.data_acked };
            if may_grow && is_validated {
                let counted = if self.config.byte_counting { delivered } else { delivered.min(1) };
                self.control.grow(&mut self.flow, counted);
                self.used_jiffy = self.flow.jiffy;
            }
        }
        self.update_pacing_rate();
    }

    pub(super) fn update_pacing_rate(&mut self) {
        let own = self.control.pacing_percent(&self.flow);
        self.set_pacing_rate(own);
    }

    /// The same where the control's own share of cwnd / srtt is known, in percent.
    #[inline(always)]
    pub(super) fn set_pacing_rate(&mut self, own: Option<u64>) {
        let flow = &mut self.flow;
        let (slow_start, later) = self.config.pacing_ratios;
        let percent = if let Some(own) = own {
            own
        } else if flow.cwnd < flow.ssthresh / 2 {
            slow_start
        } else {
            later
        };
        let mut rate = u64::from(flow.mss) * 80_000 * percent * u64::from(flow.cwnd.max(flow.packets_out));
        rate = rate.checked_div(flow.srtt8_us).unwrap_or(rate);
        flow.pacing_rate = rate;
    }
}
