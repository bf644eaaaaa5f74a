//! The model of the path: bandwidth, RTT, aggregation, and bounds that losses set (§5.5).

use crate::control::LostPacket;
use crate::flow::Flow;
use crate::rate::RateSample;
use crate::segment::Seq;

/// Rounds for which aggregation is remembered (§5.5.9): in two halves.
const EXTRA_ACKED_HALF: u64 = 5;

/// The plateau of the delivery rate (§5.3.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    bw: f64,
    pub count: u32,
    pub now: bool,
    pub reached: bool,
}

impl FullPipe {
    pub fn restart(&mut self, bw: f64) {
        *self = FullPipe { bw, count: 0, now: false, reached: self.reached };
    }

    /// A round ended with a sample that the application did not limit.
    pub fn check(&mut self, rate: f64) {
        if self.now {
            return;
        }
        if rate >= self.bw * 1.25 {
            self.restart(rate);
            return;
        }
        self.count += 1;
        self.now = self.count >= 3;
        self.reached |= self.now;
    }
}

/// What BBRv3 believes of the path.
///
/// Large because it has the variables of the draft's section 2, each under its name there.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// The largest rate of the former and of the present cycle of probes (§5.5.6).
    cycles: [f64; 2],
    pub bw: f64,
    pub bw_short: f64,
    pub inflight_short: f64,
    pub inflight_long: f64,
    pub bw_latest: f64,
    pub inflight_latest: f64,
    pub min_rtt_us: u64,
    pub min_rtt_at: u64,

    /// §5.5.1.
    pub rounds: u64,
    pub round_start: bool,
    next_round: u64,

    pub loss_in_round: bool,
    pub loss_round_start: bool,
    loss_round: u64,
    /// Separate ranges lost in the round, and where the last ended.
    pub lost_ranges: u32,
    lost_end: Seq,

    /// §5.5.9.
    extra: [f64; 2],
    extra_round: u64,
    extra_since: u64,
    extra_delivered: f64,
}

impl Default for Model {
    fn default() -> Model {
        Model {
            cycles: [0.0; 2],
            bw: 0.0,
            bw_short: f64::INFINITY,
            inflight_short: f64::INFINITY,
            inflight_long: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            min_rtt_us: u64::MAX,
            min_rtt_at: 0,
            rounds: 0,
            round_start: false,
            next_round: 0,
            loss_in_round: false,
            loss_round_start: false,
            loss_round: 0,
            lost_ranges: 0,
            lost_end: 0,
            extra: [0.0; 2],
            extra_round: 0,
            extra_since: 0,
            extra_delivered: 0.0,
        }
    }
}

impl Model {
    pub fn begin(&mut self, flow: &Flow) {
        self.next_round = flow.delivered;
        self.min_rtt_us = flow.min_rtt_us;
        self.min_rtt_at = flow.now_us;
        self.extra_since = flow.now_us;
    }

    pub fn max_bw(&self) -> f64 {
        self.cycles[0].max(self.cycles[1])
    }

    pub fn extra_acked(&self) -> f64 {
        self.extra[0].max(self.extra[1])
    }

    pub fn bound_bw(&mut self) {
        self.bw = self.max_bw().min(self.bw_short);
    }

    pub fn start_round(&mut self, flow: &Flow) {
        self.next_round = flow.delivered;
    }

    /// Returns whether a round trip ended.
    pub fn update_round(&mut self, flow: &Flow, sample: &RateSample) -> bool {
        self.round_start = sample.prior_delivered >= self.next_round;
        if self.round_start {
            self.start_round(flow);
            self.rounds += 1;
        }
        self.round_start
    }

    /// §5.5.5.
    pub fn update_max_bw(&mut self, sample: &RateSample, rate: f64) {
        if rate > 0.0 && (rate >= self.max_bw() || !sample.app_limited) {
            self.cycles[1] = self.cycles[1].max(rate);
        }
    }

    /// A cycle of probes ended: the one before it is forgotten.
    pub fn advance_max_bw(&mut self) {
        if self.cycles[1] > 0.0 {
            self.cycles = [self.cycles[1], 0.0];
        }
    }

    /// §5.5.10.3.
    pub fn latest_signals(&mut self, flow: &Flow, sample: &RateSample, rate: f64) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered.unwrap_or(0) as f64);
        if sample.prior_delivered >= self.loss_round {
            self.loss_round = flow.delivered;
            self.loss_round_start = true;
        }
    }

    pub fn advance_signals(&mut self, sample: &RateSample, rate: f64) {
        if self.loss_round_start {
            self.bw_latest = rate;
            self.inflight_latest = sample.delivered.unwrap_or(0) as f64;
            if !self.loss_in_round {
                self.lost_ranges = 0;
            }
        }
    }

    pub fn reset_signals(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    pub fn reset_short_term(&mut self) {
        self.bw_short = f64::INFINITY;
        self.inflight_short = f64::INFINITY;
    }

    pub fn congestion_signals(&mut self, flow: &Flow, beta: f64, probing: bool) {
        if !self.loss_round_start {
            return;
        }
        if self.loss_in_round && !probing {
            self.lower_bounds(flow.cwnd, beta);
        }
        self.loss_in_round = false;
    }

    pub fn lower_bounds(&mut self, cwnd: u32, beta: f64) {
        if self.bw_short.is_infinite() {
            self.bw_short = self.max_bw();
        }
        if self.inflight_short.is_infinite() {
            self.inflight_short = cwnd.into();
        }
        self.bw_short = self.bw_latest.max(beta * self.bw_short);
        self.inflight_short = self.inflight_latest.max(beta * self.inflight_short);
    }

    /// Notes a loss. Returns whether it is the first of its round trip.
    pub fn note_loss(&mut self, flow: &Flow, packet: &LostPacket) -> bool {
        let first = !self.loss_in_round;
        if first {
            self.loss_round = flow.delivered;
            self.lost_ranges = 0;
        }
        self.loss_in_round = true;
        if self.lost_ranges == 0 || packet.start != self.lost_end {
            self.lost_ranges += 1;
        }
        self.lost_end = packet.end;
        first
    }

    pub fn restart_aggregation(&mut self, flow: &Flow) {
        self.extra_since = flow.now_us;
        self.extra_delivered = 0.0;
    }

    /// §5.5.9.
    pub fn aggregation(&mut self, flow: &Flow, sample: &RateSample, full: bool) {
        let expected = |model: &Model| model.bw * (flow.now_us - model.extra_since) as f64 / 1e6;
        if self.extra_delivered <= expected(self) {
            self.restart_aggregation(flow);
        }
        self.extra_delivered += f64::from(sample.acked);
        let extra = (self.extra_delivered - expected(self)).min(flow.cwnd.into());
        let half = if full { EXTRA_ACKED_HALF } else { 1 };
        if self.rounds >= self.extra_round + half {
            // In Startup one round is remembered.
            self.extra = [if full { self.extra[1] } else { 0.0 }, 0.0];
            self.extra_round = self.rounds;
        }
        self.extra[1] = self.extra[1].max(extra);
    }
}
