//! Samples of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation, as the kernel takes them).

use crate::flow::Flow;
use crate::ledger::Record;
use crate::segment::Seq;

/// The delivery rate that one ACK shows. Counts in segments, times in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// The count of deliveries when the newest acknowledged segment was sent; zero: no such segment.
    pub prior_delivered: u64,
    /// When the delivery before that segment was known.
    prior_us: Option<u64>,
    /// Deliveries and time since then; `None` where the sample is not valid.
    pub delivered: Option<u64>,
    pub interval_us: Option<u64>,
    send_us: u64,
    last_end: Seq,
    pub app_limited: bool,
    pub retransmitted: bool,
    /// Newly acknowledged or SACKed, newly marked lost.
    pub acked: u32,
    pub losses: u32,
    pub rtt_us: Option<u64>,
    /// The receiver may have held this ACK back.
    pub ack_delayed: bool,
    /// In flight before the ACK.
    pub prior_in_flight: u32,
    /// When the newest acknowledged segment was sent: segments in flight with it, and segments lost before it.
    pub tx_in_flight: u32,
    prior_lost: u64,
    /// Segments lost since then.
    pub lost_since: u64,
    /// Segments newly delivered that were marked.
    pub marked: u32,
}

/// The part of the state that only samples need.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSampler {
    first_sent_us: u64,
}

impl RateSampler {
    /// Notes in the record of a packet what a later sample needs. `in_flight`: the segments in flight before the burst;
    /// `place`: the place in it, from 0. The burst is not yet counted in `flow`.
    #[inline]
    pub fn sent(&mut self, flow: &mut Flow, record: &mut Record, in_flight: u32, place: u32) {
        // Nothing was in flight: the sample begins with the sending.
        if flow.packets_out == 0 {
            self.first_sent_us = record.sent_us;
            flow.delivered_us = record.sent_us;
        }
        record.first_sent_us = self.first_sent_us;
        record.delivered_us = flow.delivered_us;
        record.delivered = flow.delivered;
        record.in_flight = in_flight + place + 1;
        record.lost = flow.lost;
        record.set_app_limited(flow.app_limited != 0);
    }

    /// A segment was acknowledged or SACKed: the sample follows the one sent last. One that was SACKed is
    /// taken (`Record::TAKEN`) after that.
    #[inline]
    pub fn delivered(&mut self, record: &Record, sample: &mut RateSample) {
        if record.delivered_us == Record::TAKEN {
            return;
        }
        if sample.prior_delivered == 0 || (record.sent_us, record.end()) > (self.first_sent_us, sample.last_end) {
            sample.prior_delivered = record.delivered;
            sample.prior_us = Some(record.delivered_us);
            sample.app_limited = record.is_app_limited();
            sample.retransmitted = record.is_retransmitted();
            sample.last_end = record.end();
            sample.tx_in_flight = record.in_flight;
            sample.prior_lost = record.lost;
            self.first_sent_us = record.sent_us;
            sample.send_us = self.first_sent_us.saturating_sub(record.first_sent_us);
        }
    }

    /// The same where nobody asks for the sample: the segment is the last of those that an ACK acknowledges.
    #[inline]
    pub fn delivered_last(&mut self, record: &Record) {
        self.first_sent_us = record.sent_us;
    }

    /// Completes the sample after the ACK.
    pub fn complete(&self, flow: &mut Flow, sample: &mut RateSample, delivered: u32, lost: u32) {
        flow.end_limit();
        if delivered != 0 {
            flow.delivered_us = flow.now_us;
        }
        sample.acked = delivered;
        sample.losses = lost;
        let Some(prior_us) = sample.prior_us else { return };
        sample.lost_since = flow.lost - sample.prior_lost;
        sample.delivered = Some(flow.delivered - sample.prior_delivered);
        // Sending and acknowledging are two phases; the longer one bounds the rate.
        // An instant of departure that pacing has set may lie ahead: such a phase counts as empty, as in the kernel.
        let interval = sample.send_us.max(flow.now_us.saturating_sub(prior_us));
        // Shorter than the smallest RTT: a retransmission was taken for what its original delivered.
        sample.interval_us = (interval >= flow.min_rtt_us || flow.min_rtt_us == u64::MAX).then_some(interval);
    }
}
