//! Corruption that the network reports: what the core does with a report, a mark or an error rate.

use super::Core;
use crate::notification::{ErrorReport, Notification};
use crate::record::{Phase, SenderEvent};
use crate::segment::Segment;
use crate::window::Allowance;
use skyhop_base::Time;
use skyhop_cc::Lost;

impl Core {
    /// A report of a corrupted segment arrives. A sender that does not listen to reports ignores it.
    pub(crate) fn on_error_report(&mut self, now: Time, report: &ErrorReport) {
        if self.repairs.notification().is_none_or(|notification| *notification == Notification::Eln) {
            return;
        }
        self.events.clear();
        self.window.allowed = Allowance::default();
        if let Some(rate) = report.error_rate {
            self.on_error_rate(rate);
        }
        let seq = report.seq;
        self.data.lost(seq);
        let arrived = seq < self.una || self.scoreboard.first_missing(seq) != seq;
        if arrived || seq >= self.high {
            return;
        }
        self.stop_timing(seq);
        self.repairs.add(seq, self.high);
        if seq == self.una {
            self.restart_timer(now);
        }
    }

    /// The network says how many errors it makes: the size of new segments follows (BEEN).
    pub(crate) fn on_error_rate(&mut self, error_rate: f64) {
        let Some(Notification::Been(sizing)) = self.repairs.notification() else { return };
        let header = self.options.header.0 as u32;
        let largest = header + self.options.mss.0 as u32;
        let packet = sizing.packet_bytes(error_rate, header, largest);
        self.data.set_size(packet - header);
    }

    /// A duplicate ACK is marked: corruption made its hole (ELN).
    pub(crate) fn marked_duplicate(&mut self) {
        self.counters.duplicate_acks += 1;
        self.episode.duplicates += 1;
        if self.repairs.repeats(self.una) {
            self.stop_timing(self.una);
            self.force(self.una);
        }
        self.release();
    }

    /// Duplicate ACKs of a hole that was reported: fast recovery without a cut, and nothing to send again.
    pub(crate) fn recover_uncut(&mut self) {
        self.repairs.begin_uncut(self.una);
        self.episode.phase = Phase::Recovery;
        self.window.inflation = self.options.duplicate_threshold;
        self.events.push(SenderEvent::RecoveryEntered { seq: self.una });
    }

    /// A hole that was not reported shows in a recovery without a cut: it was congestion after all.
    pub(crate) fn cut_after_all(&mut self, now: Time) {
        self.repairs.end_uncut();
        self.enter_recovery(now, Lost::First);
    }

    /// Sends a reported segment again, whatever the window says.
    #[cold]
    pub(crate) fn send_repair(&mut self, now: Time) -> Option<Segment> {
        let seq = self.repairs.next_due()?;
        Some(self.transmit(now, seq))
    }

    /// The factor of the amount that a loss is to halve (CETEN).
    #[cold]
    pub(crate) fn spared(&mut self) -> f64 {
        let counted = [self.counters.segments, self.counters.retransmissions];
        self.ceten.as_mut().map_or(1.0, |ceten| ceten.factor(counted))
    }
}
