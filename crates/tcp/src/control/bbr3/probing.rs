//! The cycle of bandwidth probes (§5.3.3) and of RTT probes (§5.3.4).

use super::{Bbr3, MIN_WINDOW, State};
use crate::flow::Flow;
use crate::rate::RateSample;

/// Which ACKs tell about a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AckPhase {
    #[default]
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// The most round trips between probes (§5.3.3.5.2).
const MOST_ROUNDS: f64 = 63.0;
/// The growth of the long-term bound doubles at most so often.
const MOST_DOUBLINGS: u32 = 30;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probing {
    phase: AckPhase,
    /// Round trips since the last probe, and the longest wait for the next.
    pub rounds: u64,
    wait_us: u64,
    cycle_at: u64,
    /// ACKed segments per segment of growth of the long-term bound; the doublings so far; ACKs not yet counted.
    up_per: f64,
    up_rounds: u32,
    up_acked: f64,
    /// Losses tell about a probe that has not been answered yet.
    pub samples: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeRtt {
    min_us: u64,
    min_at: u64,
    expired: bool,
    done_at: Option<u64>,
    round_done: bool,
}

impl Default for ProbeRtt {
    fn default() -> ProbeRtt {
        ProbeRtt { min_us: u64::MAX, min_at: 0, expired: false, done_at: None, round_done: false }
    }
}

impl ProbeRtt {
    pub fn begin(&mut self, flow: &Flow) {
        self.min_us = flow.min_rtt_us;
        self.min_at = flow.now_us;
    }
}

fn micros(seconds: f64) -> u64 {
    (seconds * 1e6) as u64
}

impl Bbr3 {
    pub(super) fn start_down(&mut self, flow: &Flow) {
        self.model.reset_signals();
        self.probing.up_per = f64::INFINITY;
        self.probing.rounds = self.random.next() & 1;
        self.probing.wait_us = micros(2.0 + self.random.share());
        self.probing.cycle_at = flow.now_us;
        self.probing.phase = AckPhase::Stopping;
        self.model.start_round(flow);
        self.state = State::Down;
    }

    fn start_refill(&mut self, flow: &Flow) {
        self.model.reset_short_term();
        self.probing.up_rounds = 0;
        self.probing.up_acked = 0.0;
        self.probing.phase = AckPhase::Refilling;
        self.model.start_round(flow);
        self.state = State::Refill;
    }

    pub(super) fn start_up(&mut self, flow: &Flow) {
        self.probing.phase = AckPhase::Starting;
        self.model.start_round(flow);
        self.full_pipe.restart(self.rate);
        self.state = State::Up;
        self.raise_slope(flow);
    }

    /// §5.3.3.6, BBRUpdateProbeBWCyclePhase.
    pub(super) fn update_cycle(&mut self, flow: &Flow, sample: &RateSample) {
        if !self.full_pipe.reached {
            return;
        }
        self.adapt_long_term(flow, sample);
        match self.state {
            State::Down => {
                if !self.probe_if_due(flow) && self.may_cruise(flow) {
                    self.state = State::Cruise;
                }
            }
            State::Cruise => {
                self.probe_if_due(flow);
            }
            State::Refill => {
                if self.model.round_start {
                    self.probing.samples = true;
                    self.start_up(flow);
                }
            }
            State::Up => {
                if self.must_go_down(flow) {
                    self.start_down(flow);
                }
            }
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    fn probe_if_due(&mut self, flow: &Flow) -> bool {
        let elapsed = flow.now_us > self.probing.cycle_at + self.probing.wait_us;
        let rounds = self.target(flow).min(MOST_ROUNDS);
        let due = elapsed || self.probing.rounds as f64 >= rounds;
        if due {
            self.start_refill(flow);
        }
        due
    }

    fn target(&self, flow: &Flow) -> f64 {
        self.bdp(self.model.bw, 1.0).min(flow.cwnd.into())
    }

    fn may_cruise(&self, flow: &Flow) -> bool {
        let in_flight = Self::in_flight(flow);
        in_flight <= self.with_headroom() && in_flight <= self.inflight(flow, self.model.max_bw(), 1.0)
    }

    fn at_long_term_bound(&self, flow: &Flow) -> bool {
        flow.cwnd_limited && f64::from(flow.cwnd) >= self.model.inflight_long.floor()
    }

    fn must_go_down(&mut self, flow: &Flow) -> bool {
        if self.at_long_term_bound(flow) {
            self.full_pipe.restart(self.rate);
            return false;
        }
        self.full_pipe.now
    }

    pub(super) fn with_headroom(&self) -> f64 {
        let bound = self.model.inflight_long;
        if bound.is_infinite() {
            return bound;
        }
        (bound - (self.options.headroom * bound).max(1.0)).max(MIN_WINDOW)
    }

    fn raise_slope(&mut self, flow: &Flow) {
        let growth = f64::from(1u32 << self.probing.up_rounds);
        self.probing.up_rounds = (self.probing.up_rounds + 1).min(MOST_DOUBLINGS);
        self.probing.up_per = (f64::from(flow.cwnd) / growth).max(1.0);
    }

    fn raise_long_term(&mut self, flow: &Flow, sample: &RateSample) {
        if !self.at_long_term_bound(flow) {
            return;
        }
        self.probing.up_acked += f64::from(sample.acked);
        if self.probing.up_acked >= self.probing.up_per {
            let more = (self.probing.up_acked / self.probing.up_per).floor();
            self.probing.up_acked -= more * self.probing.up_per;
            self.model.inflight_long += more;
        }
        if self.model.round_start {
            self.raise_slope(flow);
        }
    }

    fn adapt_long_term(&mut self, flow: &Flow, sample: &RateSample) {
        if self.probing.phase == AckPhase::Starting && self.model.round_start {
            self.probing.phase = AckPhase::Feedback;
        }
        if self.probing.phase == AckPhase::Stopping && self.model.round_start {
            self.probing.samples = false;
            // The released module gives up here if the application or ProbeRTT limited the sample, and a bandwidth that
            // is gone may then hold for many cycles. The draft waits for a better one, but repeats this each round.
            if self.state.probes_bw() && !sample.app_limited {
                self.probing.phase = AckPhase::Init;
                self.model.advance_max_bw();
            }
        }
        if self.too_high(sample.lost_since, sample.tx_in_flight) || self.model.inflight_long.is_infinite() {
            return;
        }
        self.model.inflight_long = self.model.inflight_long.max(sample.tx_in_flight.into());
        if self.state == State::Up {
            self.raise_long_term(flow, sample);
        }
    }

    /// §5.5.10.2, BBRHandleInflightTooHigh.
    pub(super) fn handle_too_high(&mut self, flow: &Flow, volume: f64, app_limited: bool) {
        self.probing.samples = false;
        if !app_limited {
            self.model.inflight_long = volume.max(self.target(flow) * self.options.beta);
        }
        if self.state == State::Up {
            self.start_down(flow);
        }
    }

    /// §5.3.4.3.
    pub(super) fn update_min_rtt(&mut self, flow: &Flow, sample: &RateSample) {
        let now = flow.now_us;
        let probe = &mut self.probe_rtt;
        probe.expired = now > probe.min_at + micros(self.options.probe_rtt_interval);
        if let Some(rtt) = sample.rtt_us
            && (rtt < probe.min_us || (probe.expired && !sample.ack_delayed))
        {
            probe.min_us = rtt;
            probe.min_at = now;
        }
        let expired = now > self.model.min_rtt_at + micros(self.options.min_rtt_window);
        if probe.min_us < self.model.min_rtt_us || expired {
            self.model.min_rtt_us = probe.min_us;
            self.model.min_rtt_at = probe.min_at;
        }
    }

    pub(super) fn check_probe_rtt(&mut self, flow: &mut Flow, sample: &RateSample) {
        if self.state != State::ProbeRtt && self.probe_rtt.expired && !self.idle_restart {
            self.save_cwnd(flow);
            self.state = State::ProbeRtt;
            self.probe_rtt.done_at = None;
            self.probing.phase = AckPhase::Stopping;
            self.model.start_round(flow);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(flow);
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, flow: &mut Flow) {
        // Samples of this time are too low.
        flow.app_limited = (flow.delivered + u64::from(flow.in_flight())).max(1);
        if self.probe_rtt.done_at.is_none() {
            if Self::in_flight(flow) <= self.probe_rtt_cwnd() {
                self.probe_rtt.done_at = Some(flow.now_us + micros(self.options.probe_rtt_duration));
                self.probe_rtt.round_done = false;
                self.model.start_round(flow);
            }
        } else {
            self.probe_rtt.round_done |= self.model.round_start;
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done(flow);
            }
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, flow: &mut Flow) {
        if self.probe_rtt.done_at.is_none_or(|done| flow.now_us <= done) {
            return;
        }
        self.probe_rtt.min_at = flow.now_us;
        self.restore_cwnd(flow);
        self.model.reset_short_term();
        if self.full_pipe.reached {
            self.start_down(flow);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
