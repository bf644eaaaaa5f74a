//! The handshake: the SYN, its repetition, and the state that the answer sets.

use super::{EcnMode, Phase, Ready, Sender};
use crate::control::EcnUse;
use crate::flow::{CaState, SSTHRESH_UNSET};
use crate::ledger::Record;
use crate::segment::{Segment, flags};

/// The timeout after a hand-shake that gave no RTT (RFC 6298 §5.7).
const FALLBACK_RTO_US: u64 = 3_000_000;

impl Sender {
    pub(super) fn connect(&mut self) {
        if self.phase != Phase::Closed {
            return;
        }
        self.phase = Phase::SynSent;
        let mut record = Record::new(0, 1, self.flow.now_us);
        self.flow.packets_out = 1;
        self.flow.nxt = 1;
        let in_flight = self.flow.in_flight();
        self.sampler.sent(&mut self.flow, &mut record, in_flight, 0);
        self.ledger.push(record);
        self.flow.sent_jiffy = self.flow.jiffy;
        self.undo.retrans_stamp = Some(self.stamp(self.flow.now_us));
        self.emit_syn();
        self.set_retransmission_timer(self.rto);
    }

    /// The configuration or the control asks for ECN.
    fn wants_ecn(&self) -> bool {
        self.config.ecn != EcnMode::Off || self.ecn_use != EcnUse::Classic
    }

    /// They ask for Accurate ECN.
    fn wants_accurate_ecn(&self) -> bool {
        match self.ecn_use {
            EcnUse::Classic => self.config.ecn == EcnMode::Accurate,
            EcnUse::Precise => false,
            EcnUse::Scalable => true,
        }
    }

    pub(super) fn emit_syn(&mut self) {
        self.flow.pace_ns = self.flow.pace_ns.max(self.flow.now_ns);
        let mut set = 0;
        // A SYN after a lost one asks for nothing.
        if self.counts.timeouts == 0 {
            // ECE and CWR in a SYN ask for ECN (RFC 3168 §6.1.1).
            if self.wants_ecn() {
                set |= flags::ECE | flags::CWR;
            }
            // With AE they ask for Accurate ECN (RFC 9768 §3.1.1).
            if self.wants_accurate_ecn() {
                set |= flags::AE;
            }
        }
        let timestamps = self.timestamps(self.flow.now_us);
        self.ready.push_back(Ready::syn(set, timestamps));
    }

    pub(super) fn on_syn_ack(&mut self, segment: &Segment) {
        if !segment.syn || segment.ack != Some(1) {
            return;
        }
        let asked = self.wants_accurate_ecn();
        self.flow.accurate_ecn = asked && segment.cwr && !segment.ece;
        self.ecn = self.wants_ecn() && (segment.ece || self.flow.accurate_ecn);
        self.has_timestamps &= segment.timestamps.is_some();
        self.recent = segment.timestamps.map_or(0, |t| t.value);
        self.echo = segment.timestamps.map(|t| t.echo);
        // The echo of the first SYN: its repetition was not needed.
        if self.echo.is_some() && self.echo == self.undo.retrans_stamp {
            self.undo.marker = None;
        }
        self.process_ack(&Segment { ece: false, cwr: false, ..*segment });
        self.phase = Phase::Established;
        // Not before: the ACK of the SYN takes the general course.
        self.is_plain = self.may_be_plain();
        self.flow.sent_jiffy = self.flow.jiffy;
        self.flow.ssthresh = SSTHRESH_UNSET;
        if self.rtt.srtt8_us == 0 {
            self.rtt.fall_back(FALLBACK_RTO_US);
            self.rto = self.timers.span(skyhop_base::Duration::from_micros(FALLBACK_RTO_US));
        }
        // A SYN that was lost says that the network is loaded (RFC 5681 §3.1).
        let lost = self.total_retrans > 1 && self.undo.marker.is_some();
        self.flow.cwnd = if lost { 1 } else { self.config.initial_window };
        self.used_jiffy = self.flow.jiffy;
        self.flow.state = CaState::Open;
        self.control.init(&mut self.flow);
        self.emit_ack(self.flow.nxt);
        while let Some(bytes) = self.early_writes.pop_front() {
            self.send_call(bytes);
        }
    }

    /// A segment without data, with the number `seq`.
    pub(super) fn emit_ack(&mut self, seq: u64) {
        let timestamps = self.timestamps(self.flow.now_us);
        self.ready.push_back(Ready::new(seq, 0, 0, 0, timestamps));
    }
}
