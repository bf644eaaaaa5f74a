//! BBR version 1 (Cardwell et al., "BBR: Congestion-Based Congestion Control", 2016; draft-cardwell-iccrg-bbr-00) with
//! the kernel's fixed-point arithmetic: bandwidths in segments per microsecond times 2^24, gains times 256.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bbr_policer::Policer;
use super::random::Random;
use super::{About, Burst, Control, ControlOptions, Event};
use crate::flow::{CaState, Flow};
use crate::rate::RateSample;
use crate::timer::HZ;

pub(super) const BW_UNIT: u64 = 1 << 24;
pub(super) const UNIT: u64 = 256;
/// 2 / ln 2, and its inverse.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const CWND_GAIN: u64 = 2 * UNIT;
const CYCLE_GAINS: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// The filter of the bandwidth spans a cycle and two round trips more.
const BW_ROUNDS: u64 = CYCLE_GAINS.len() as u64 + 2;
const MIN_RTT_WINDOW_JIFFIES: u64 = 10 * HZ;
pub(super) const PROBE_RTT_JIFFIES: u64 = HZ / 5;
pub(super) const MIN_CWND: u32 = 4;
/// STARTUP ends when the bandwidth did not grow by a quarter in three rounds.
const FULL_BW_GROWTH: u64 = UNIT * 5 / 4;
const FULL_BW_ROUNDS: u32 = 3;
/// The pacing rate stays one percent below the estimate.
const MARGIN_PERCENT: u64 = 1;
/// Below this rate bursts are single segments (1.2 Mbit/s).
const LOW_RATE: u64 = 1_200_000 >> 3;
/// Bursts are as long as the rate fills in 2^-10 s, and no larger than the host's largest packet less its headers.
const BURST_SHIFT: u32 = 10;
const LARGEST_BURST: u64 = 65_536 - 1 - 320;
/// Aggregation is remembered for five to ten rounds, and counts for 100 ms at most.
const EXTRA_ACKED_ROUNDS: u32 = 5;
const EXTRA_ACKED_MOST_US: u64 = 100_000;
const INITIAL_WINDOW: u64 = 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Options of BBR: it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BbrOptions {}

impl ControlOptions for BbrOptions {
    const ABOUT: About = About {
        title: "BBR version 1",
        source: "draft-cardwell-iccrg-bbr-00, Linux",
        year: 2016,
        kind: "model",
        advice: "Fills long paths with random loss; keeps up to one bandwidth-delay product in the queue and takes \
                 much of a short queue from CUBIC.",
    };

    fn build(&self, seed: u64) -> Box<dyn Control> {
        Box::new(Bbr::new(seed))
    }
}

/// BBR version 1. LeoCC (`leocc.rs`) is made of its parts.
///
/// Large because it keeps the variables of the kernel's `struct bbr`, so that the two can be compared by name.
#[derive(Clone, Debug)]
pub struct Bbr {
    pub(super) mode: Mode,
    /// State of the generator that chooses the phase in which a cycle begins.
    random: Random,
    pub(super) bw: MaxFilter,
    pub(super) rounds: u64,
    pub(super) round_start: bool,
    pub(super) next_round_delivered: u64,
    pub(super) min_rtt_us: u64,
    pub(super) min_rtt_jiffy: u64,
    pub(super) probe_rtt_done: Option<u64>,
    pub(super) probe_rtt_round_done: bool,
    former_state: CaState,
    conserve: bool,
    pub(super) prior_cwnd: u32,
    pub(super) pacing_gain: u64,
    pub(super) cwnd_gain: u64,
    pub(super) cycle: usize,
    cycle_us: u64,
    pub(super) full_bw: u64,
    pub(super) full_rounds: u32,
    pub(super) full: bool,
    seen_rtt: bool,
    pub(super) idle_restart: bool,
    policer: Policer,
    /// Whether it looks for policers at all.
    pub(super) detects_policers: bool,
    aggregation: Aggregation,
}

#[derive(Clone, Copy, Debug, Default)]
struct Aggregation {
    epoch_us: u64,
    epoch_acked: u64,
    most: [u32; 2],
    present: usize,
    rounds: u32,
}

impl Bbr {
    /// `seed` decides the phases in which cycles of PROBE_BW begin.
    pub fn new(seed: u64) -> Bbr {
        Bbr {
            mode: Mode::Startup,
            random: Random::new(seed),
            bw: MaxFilter::default(),
            rounds: 0,
            round_start: false,
            next_round_delivered: 0,
            min_rtt_us: u64::MAX,
            min_rtt_jiffy: 0,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            former_state: CaState::Open,
            conserve: false,
            prior_cwnd: 0,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            cycle: 0,
            cycle_us: 0,
            full_bw: 0,
            full_rounds: 0,
            full: false,
            seen_rtt: false,
            idle_restart: false,
            policer: Policer::default(),
            detects_policers: true,
            aggregation: Aggregation::default(),
        }
    }

    pub(super) fn max_bw(&self) -> u64 {
        self.bw.best()
    }

    fn bandwidth(&self) -> u64 {
        self.policer.rate().unwrap_or(self.max_bw())
    }

    pub(super) fn set_pacing_rate(&mut self, flow: &mut Flow, bw: u64, gain: u64) {
        if !self.seen_rtt && flow.srtt8_us != 0 {
            self.initial_pacing_rate(flow);
        }
        let rate = bytes_per_second(flow, bw, gain);
        if self.full || rate > flow.pacing_rate {
            flow.pacing_rate = rate;
        }
    }

    fn initial_pacing_rate(&mut self, flow: &mut Flow) {
        let rtt_us = if flow.srtt8_us != 0 {
            self.seen_rtt = true;
            (flow.srtt8_us >> 3).max(1)
        } else {
            1_000
        };
        flow.pacing_rate = bytes_per_second(flow, u64::from(flow.cwnd) * BW_UNIT / rtt_us, HIGH_GAIN);
    }

    fn burst_goal(&self, flow: &Flow) -> u32 {
        let bytes = (flow.pacing_rate >> BURST_SHIFT).min(LARGEST_BURST);
        ((bytes / u64::from(flow.mss)) as u32).max(min_burst(flow)).min(0x7f)
    }

    pub(super) fn bdp(&self, bw: u64, gain: u64) -> u64 {
        if self.min_rtt_us == u64::MAX {
            return INITIAL_WINDOW;
        }
        ((bw * self.min_rtt_us * gain) >> 8).div_ceil(BW_UNIT)
    }

    /// Room for the bursts of both ends, an even number, and two more while the bandwidth is probed.
    fn with_bursts(&self, flow: &Flow, segments: u64) -> u64 {
        let even = (segments + 3 * u64::from(self.burst_goal(flow)) + 1) & !1;
        if self.mode == Mode::ProbeBw && self.cycle == 0 { even + 2 } else { even }
    }

    fn inflight(&self, flow: &Flow, bw: u64, gain: u64) -> u64 {
        self.with_bursts(flow, self.bdp(bw, gain))
    }

    /// Segments in the network when the next packet may leave.
    fn in_network_at_departure(&self, flow: &Flow, now_in_flight: u32) -> u64 {
        let wait_us = flow.pace_ns.saturating_sub(flow.now_ns) / 1000;
        let leaves = (self.bandwidth() * wait_us) >> 24;
        let mut then = u64::from(now_in_flight);
        if self.pacing_gain > UNIT {
            then += u64::from(self.burst_goal(flow));
        }
        then.saturating_sub(leaves)
    }

    pub(super) fn save_cwnd(&mut self, flow: &Flow) {
        self.prior_cwnd = if self.former_state < CaState::Recovery && self.mode != Mode::ProbeRtt {
            flow.cwnd
        } else {
            self.prior_cwnd.max(flow.cwnd)
        };
    }

    pub(super) fn begin_probe_bw(&mut self, flow: &Flow) {
        self.mode = Mode::ProbeBw;
        // Any phase but the draining one.
        self.cycle = CYCLE_GAINS.len() - 1 - self.draw(7);
        self.next_phase(flow);
    }

    /// A number below `bound`.
    fn draw(&mut self, bound: u64) -> usize {
        (self.random.next() % bound) as usize
    }

    fn next_phase(&mut self, flow: &Flow) {
        self.cycle = (self.cycle + 1) % CYCLE_GAINS.len();
        self.cycle_us = flow.delivered_us;
    }

    fn restart_mode(&mut self, flow: &Flow) {
        if self.full { self.begin_probe_bw(flow) } else { self.mode = Mode::Startup }
    }

    pub(super) fn update_bandwidth(&mut self, flow: &mut Flow, sample: &RateSample) {
        self.round_start = false;
        let (Some(delivered), Some(interval_us)) = (sample.delivered, sample.interval_us) else { return };
        if interval_us == 0 {
            return;
        }
        if sample.prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = flow.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserve = false;
        }
        self.sample_policer(flow, sample.losses, sample.app_limited);
        let bw = delivered * BW_UNIT / interval_us;
        if !sample.app_limited || bw >= self.max_bw() {
            self.bw.update(BW_ROUNDS, self.rounds, bw);
        }
    }

    fn sample_policer(&mut self, flow: &Flow, losses: u32, app_limited: bool) {
        if !self.detects_policers {
            return;
        }
        let probing = self.mode == Mode::ProbeBw;
        let step = self.policer.sample(flow, losses, app_limited, self.round_start, probing);
        if step.restart {
            self.begin_probe_bw(flow);
        }
        if step.found {
            self.pacing_gain = UNIT;
        }
    }

    pub(super) fn update_aggregation(&mut self, flow: &Flow, sample: &RateSample) {
        if sample.acked == 0 || sample.delivered.is_none() || sample.interval_us.unwrap_or(0) == 0 {
            return;
        }
        let bw = self.bandwidth();
        let a = &mut self.aggregation;
        if self.round_start {
            a.rounds += 1;
            if a.rounds >= EXTRA_ACKED_ROUNDS {
                a.rounds = 0;
                a.present = 1 - a.present;
                a.most[a.present] = 0;
            }
        }
        let mut expected = bw * (flow.delivered_us - a.epoch_us) / BW_UNIT;
        if a.epoch_acked <= expected || a.epoch_acked + u64::from(sample.acked) >= 1 << 20 {
            a.epoch_acked = 0;
            a.epoch_us = flow.delivered_us;
            expected = 0;
        }
        a.epoch_acked = (a.epoch_acked + u64::from(sample.acked)).min(0xf_ffff);
        let extra = (a.epoch_acked - expected).min(u64::from(flow.cwnd)) as u32;
        a.most[a.present] = a.most[a.present].max(extra);
    }

    pub(super) fn update_cycle(&mut self, flow: &Flow, sample: &RateSample) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let full_length = flow.delivered_us.saturating_sub(self.cycle_us) > self.min_rtt_us;
        let next = if self.pacing_gain == UNIT {
            full_length
        } else {
            let inflight = self.in_network_at_departure(flow, sample.prior_in_flight);
            let bw = self.max_bw();
            if self.pacing_gain > UNIT {
                full_length && (sample.losses > 0 || inflight >= self.inflight(flow, bw, self.pacing_gain))
            } else {
                full_length || inflight <= self.inflight(flow, bw, UNIT)
            }
        };
        if next {
            self.next_phase(flow);
        }
    }

    pub(super) fn check_full(&mut self, sample: &RateSample) {
        if self.full || !self.round_start || sample.app_limited {
            return;
        }
        if self.max_bw() >= (self.full_bw * FULL_BW_GROWTH) >> 8 {
            self.full_bw = self.max_bw();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_BW_ROUNDS;
    }

    pub(super) fn check_drain(&mut self, flow: &mut Flow) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            flow.ssthresh = self.inflight(flow, self.max_bw(), UNIT) as u32;
        }
        if self.mode == Mode::Drain
            && self.in_network_at_departure(flow, flow.in_flight()) <= self.inflight(flow, self.max_bw(), UNIT)
        {
            self.begin_probe_bw(flow);
        }
    }

    fn check_probe_rtt_done(&mut self, flow: &mut Flow) {
        if self.probe_rtt_done.is_some_and(|done| flow.jiffy > done) {
            self.min_rtt_jiffy = flow.jiffy;
            flow.cwnd = flow.cwnd.max(self.prior_cwnd);
            self.restart_mode(flow);
        }
    }

    fn update_min_rtt(&mut self, flow: &mut Flow, sample: &RateSample) {
        let expired = flow.jiffy > self.min_rtt_jiffy + MIN_RTT_WINDOW_JIFFIES;
        if let Some(rtt_us) = sample.rtt_us
            && (rtt_us < self.min_rtt_us || (expired && !sample.ack_delayed))
        {
            self.min_rtt_us = rtt_us;
            self.min_rtt_jiffy = flow.jiffy;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(flow);
            self.probe_rtt_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            flow.app_limited = (flow.delivered + u64::from(flow.in_flight())).max(1);
            if self.probe_rtt_done.is_none() {
                if flow.in_flight() <= MIN_CWND {
                    self.probe_rtt_done = Some(flow.jiffy + PROBE_RTT_JIFFIES);
                    self.probe_rtt_round_done = false;
                    self.next_round_delivered = flow.delivered;
                }
            } else {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(flow);
                }
            }
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    /// Whether data leaves again after a time without any; the model then restarts the measurement of aggregation.
    pub(super) fn starts_after_idle(&mut self, flow: &mut Flow, event: Event) -> bool {
        if event != Event::TransmitStart || flow.app_limited == 0 {
            return false;
        }
        self.idle_restart = true;
        self.aggregation.epoch_us = flow.now_us;
        self.aggregation.epoch_acked = 0;
        if self.mode == Mode::ProbeBw {
            let bw = self.bandwidth();
            self.set_pacing_rate(flow, bw, UNIT);
        }
        true
    }

    pub(super) fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.rate().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE_GAINS[self.cycle], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    /// `in_probe_rtt`: the largest window while the RTT is probed.
    pub(super) fn set_cwnd(&mut self, flow: &mut Flow, sample: &RateSample, bw: u64, in_probe_rtt: u32) {
        if sample.acked != 0 {
            flow.cwnd = self.next_cwnd(flow, sample, bw).min(flow.cwnd_clamp);
        }
        if self.mode == Mode::ProbeRtt {
            flow.cwnd = flow.cwnd.min(in_probe_rtt);
        }
    }

    fn next_cwnd(&mut self, flow: &mut Flow, sample: &RateSample, bw: u64) -> u32 {
        let mut cwnd = flow.cwnd;
        if sample.losses > 0 {
            cwnd = cwnd.saturating_sub(sample.losses).max(1);
        }
        if flow.state == CaState::Recovery && self.former_state != CaState::Recovery {
            self.conserve = true;
            self.next_round_delivered = flow.delivered;
            cwnd = flow.in_flight() + sample.acked;
        } else if self.former_state >= CaState::Recovery && flow.state < CaState::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserve = false;
        }
        self.former_state = flow.state;
        if self.conserve {
            return cwnd.max(flow.in_flight() + sample.acked);
        }
        let mut target = self.bdp(bw, self.cwnd_gain);
        if self.full {
            let most = self.bandwidth() * EXTRA_ACKED_MOST_US / BW_UNIT;
            target += u64::from(self.aggregation.most[0].max(self.aggregation.most[1])).min(most);
        }
        let target = self.with_bursts(flow, target).min(u64::from(u32::MAX)) as u32;
        if self.full {
            cwnd = (cwnd + sample.acked).min(target);
        } else if cwnd < target || flow.delivered < INITIAL_WINDOW {
            cwnd += sample.acked;
        }
        cwnd.max(MIN_CWND)
    }
}

fn min_burst(flow: &Flow) -> u32 {
    if flow.pacing_rate < LOW_RATE { 1 } else { 2 }
}

pub(super) fn bytes_per_second(flow: &Flow, bw: u64, gain: u64) -> u64 {
    let scaled = (u128::from(bw) * u128::from(flow.mss) * u128::from(gain)) >> 8;
    let rate = (scaled * u128::from(1_000_000 / 100 * (100 - MARGIN_PERCENT))) >> 24;
    u64::try_from(rate).unwrap_or(u64::MAX)
}

impl Control for Bbr {
    fn name(&self) -> &'static str {
        "bbr"
    }

    fn init(&mut self, flow: &mut Flow) {
        flow.ssthresh = crate::flow::SSTHRESH_UNSET;
        self.next_round_delivered = flow.delivered;
        self.min_rtt_us = flow.min_rtt_us;
        self.min_rtt_jiffy = flow.jiffy;
        self.aggregation.epoch_us = flow.now_us;
        self.policer.reset(flow);
        self.initial_pacing_rate(flow);
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        self.save_cwnd(flow);
        flow.ssthresh
    }

    fn undo(&mut self, flow: &mut Flow) -> u32 {
        self.full_bw = 0;
        self.full_rounds = 0;
        self.policer.reset(flow);
        flow.cwnd
    }

    fn owns_window(&self) -> bool {
        true
    }

    fn control(&mut self, flow: &mut Flow, sample: &RateSample) {
        self.update_bandwidth(flow, sample);
        self.update_aggregation(flow, sample);
        self.update_cycle(flow, sample);
        self.check_full(sample);
        self.check_drain(flow);
        self.update_min_rtt(flow, sample);
        self.update_gains();
        let bw = self.bandwidth();
        self.set_pacing_rate(flow, bw, self.pacing_gain);
        self.set_cwnd(flow, sample, bw, MIN_CWND);
    }

    fn event(&mut self, flow: &mut Flow, event: Event) {
        if self.starts_after_idle(flow, event) && self.mode == Mode::ProbeRtt {
            self.check_probe_rtt_done(flow);
        }
    }

    fn state_changes(&mut self, flow: &mut Flow, new: CaState) {
        if new == CaState::Loss {
            self.former_state = CaState::Loss;
            self.full_bw = 0;
            self.round_start = true;
            self.sample_policer(flow, 1, false);
        }
    }

    fn burst(&self, flow: &Flow) -> Burst {
        Burst::AtLeast(min_burst(flow))
    }

    fn paces(&self) -> bool {
        true
    }

    fn phase(&self) -> Option<&'static str> {
        Some(match self.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw => "probe-bw",
            Mode::ProbeRtt => "probe-rtt",
        })
    }
}

/// Maximum over a sliding window of rounds, kept as the three best values of ever later parts of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxFilter {
    best: [(u64, u64); 3],
}

impl MaxFilter {
    fn best(&self) -> u64 {
        self.best[0].1
    }

    /// Forgets everything but one value.
    pub(super) fn reset(&mut self, now: u64, value: u64) {
        self.best = [(now, value); 3];
    }

    fn update(&mut self, window: u64, now: u64, value: u64) {
        let new = (now, value);
        if value >= self.best[0].1 || now - self.best[2].0 > window {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].1 {
            self.best[1] = new;
            self.best[2] = new;
        } else if value >= self.best[2].1 {
            self.best[2] = new;
        }
        let age = now - self.best[0].0;
        if age > window {
            self.best = [self.best[1], self.best[2], new];
            if now - self.best[0].0 > window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].0 == self.best[0].0 && age > window / 4 {
            self.best[1] = new;
            self.best[2] = new;
        } else if self.best[2].0 == self.best[1].0 && age > window / 2 {
            self.best[2] = new;
        }
    }
}
