//! BBR version 3 (draft-ietf-ccwg-bbr, the working group's copy with Appendix A). Section numbers are the draft's.
//!
//! Bandwidths in segments per second, volumes in segments, times in microseconds. A segment is the draft's packet.

mod model;
mod probing;

use super::parameters::parameters;
use super::random::Random;
use super::rtt_jumps::{Detector, RttJumps};
use super::{About, Burst, Control, Event, LostPacket};
use crate::flow::{CaState, Flow};
use crate::rate::RateSample;
use model::{FullPipe, Model};

const NAME: &str = "bbr3";

const ABOUT: About = About {
    title: "BBR version 3",
    source: "draft-ietf-ccwg-bbr",
    year: 2026,
    kind: "model",
    advice: "The first choice on GEO and on long LEO paths: it bears loss of up to 2 % and keeps the queue short; \
             a longer path after a handover costs rate until the old smallest RTT has aged, after up to 10 s.",
};

parameters! {
    /// Parameters of BBR version 3.
    pub struct Bbr3Options, ABOUT, |options, seed| Bbr3::new(options, seed) => {
        /// Pacing gain in Startup.
        startup_gain: f64 = 2.77, in 1.0..=4.0; "§5.3.1.1"
        /// Pacing gain in Drain.
        drain_gain: f64 = 0.5, in 0.1..=1.0; "§5.3.2"
        /// Pacing gain while the rate is lowered after a probe.
        down_gain: f64 = 0.9, in 0.1..=1.0; "§5.3.3.1"
        /// Pacing gain of a probe.
        up_gain: f64 = 1.25, in 1.0..=4.0; "§5.3.3.4"
        /// Bandwidth-delay products in the window.
        cwnd_gain: f64 = 2.0, in 1.0..=4.0; "§5.6.1"
        /// Bandwidth-delay products in the window during a probe.
        up_cwnd_gain: f64 = 2.25, in 1.0..=4.0; "§5.3.3.4"
        /// Share of a flight whose loss says that the flight was too large.
        loss_threshold: f64 = 0.02, in 0.0..=1.0; "§5.3.1.3"
        /// Factor of the bounds after loss, at the least.
        beta: f64 = 0.7, in 0.1..=1.0; "§5.5.10.2"
        /// Share of the long-term bound that stays free outside of probes.
        headroom: f64 = 0.15, in 0.0..=0.9; "§5.3.3.1"
        /// Time without a lower RTT after which the flow drains the path to measure it.
        probe_rtt_interval: f64 = 5.0, in 0.1..=1000.0, unit "s"; "§5.3.4.1"
        /// How long the flow drains the path.
        probe_rtt_duration: f64 = 0.2, in 0.0..=10.0, unit "s"; "§5.3.4.1"
        /// Bandwidth-delay products in flight meanwhile.
        probe_rtt_gain: f64 = 0.5, in 0.0..=1.0; "§5.3.4.1"
        /// Time for which the smallest RTT holds.
        min_rtt_window: f64 = 10.0, in 0.1..=1000.0, unit "s"; "§5.5.7.2"
        /// Separate losses in a round trip that may end Startup.
        startup_losses: u32 = 6u32, in 1..=1000; "§5.3.1.3"
        /// The detector of lasting jumps of the RTT: `"off"`, `"global-min"` or `"hmm"`. It counts them.
        rtt_jumps: RttJumps = RttJumps::Off; "quiche's BBR2, July 2026"
    }
}

/// The least window (§5.6.4.3), in segments.
const MIN_WINDOW: f64 = 4.0;
/// Rates stay one percent below the estimate (§5.6.2).
const MARGIN: f64 = 0.99;
/// The send quantum: what the rate fills in 1 ms, two segments to 64 KB (§5.6.3).
const QUANTUM_S: f64 = 1e-3;
const LARGEST_QUANTUM: f64 = 65_536.0;
const INITIAL_WINDOW: f64 = 10.0;
/// Rounds after which Drain ends in any case (§5.3.2).
const DRAIN_ROUNDS: u64 = 3;

/// §5.1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Startup => "startup",
            State::Drain => "drain",
            State::Down => "probe-bw-down",
            State::Cruise => "probe-bw-cruise",
            State::Refill => "probe-bw-refill",
            State::Up => "probe-bw-up",
            State::ProbeRtt => "probe-rtt",
        }
    }

    fn probes_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }
}

/// What the bounds were before a loss that may prove not to be one (§5.5.11).
#[derive(Clone, Copy, Debug)]
struct Undo {
    state: State,
    bw_short: f64,
    inflight_short: f64,
    inflight_long: f64,
}

/// BBR version 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    options: Bbr3Options,
    random: Random,
    state: State,
    model: Model,
    full_pipe: FullPipe,
    probing: probing::Probing,
    probe_rtt: probing::ProbeRtt,
    drain_round: u64,
    prior_cwnd: u32,
    idle_restart: bool,
    former_state: CaState,
    undo: Undo,
    seen_rtt: bool,
    /// The delivery rate of the present sample; zero: none.
    rate: f64,
    /// Recent bounds and volumes, for records.
    max_inflight: f64,
    rtt_jumps: Detector,
}

impl Bbr3 {
    pub fn new(options: Bbr3Options, seed: u64) -> Bbr3 {
        Bbr3 {
            options,
            random: Random::new(seed),
            state: State::Startup,
            model: Model::default(),
            full_pipe: FullPipe::default(),
            probing: probing::Probing::default(),
            probe_rtt: probing::ProbeRtt::default(),
            drain_round: 0,
            prior_cwnd: 0,
            idle_restart: false,
            former_state: CaState::Open,
            undo: Undo {
                state: State::Startup,
                bw_short: f64::INFINITY,
                inflight_short: f64::INFINITY,
                inflight_long: f64::INFINITY,
            },
            seen_rtt: false,
            rate: 0.0,
            max_inflight: 0.0,
            rtt_jumps: Detector::new(options.rtt_jumps),
        }
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.options.startup_gain,
            State::Drain => self.options.drain_gain,
            State::Down => self.options.down_gain,
            State::Up => self.options.up_gain,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => self.options.up_cwnd_gain,
            State::ProbeRtt => self.options.probe_rtt_gain,
            _ => self.options.cwnd_gain,
        }
    }

    /// §5.6.2.
    fn set_pacing_rate(&mut self, flow: &mut Flow, gain: f64) {
        if !self.seen_rtt && flow.srtt8_us != 0 {
            self.initial_pacing_rate(flow);
        }
        let rate = (gain * self.model.bw * f64::from(flow.mss) * MARGIN) as u64;
        if rate > 0 && (self.full_pipe.reached || rate > flow.pacing_rate) {
            flow.pacing_rate = rate;
        }
    }

    fn initial_pacing_rate(&mut self, flow: &mut Flow) {
        let rtt_us = if flow.srtt8_us != 0 {
            self.seen_rtt = true;
            (flow.srtt8_us as f64 / 8.0).max(1.0)
        } else {
            1_000.0
        };
        let bytes = f64::from(flow.cwnd) * f64::from(flow.mss);
        flow.pacing_rate = (self.options.startup_gain * bytes * 1e6 / rtt_us) as u64;
    }

    /// §5.6.3, in segments.
    fn quantum(&self, flow: &Flow) -> f64 {
        let mss = f64::from(flow.mss);
        (flow.pacing_rate as f64 * QUANTUM_S).min(LARGEST_QUANTUM).max(2.0 * mss) / mss
    }

    /// §5.6.4.2.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        if self.model.min_rtt_us == u64::MAX {
            return INITIAL_WINDOW;
        }
        gain * bw * self.model.min_rtt_us as f64 / 1e6
    }

    fn with_quanta(&self, flow: &Flow, volume: f64) -> f64 {
        let volume = volume.max(3.0 * self.quantum(flow)).max(MIN_WINDOW);
        if self.state == State::Up { volume + 2.0 } else { volume }
    }

    fn inflight(&self, flow: &Flow, bw: f64, gain: f64) -> f64 {
        self.with_quanta(flow, self.bdp(bw, gain))
    }

    fn in_flight(flow: &Flow) -> f64 {
        f64::from(flow.in_flight())
    }

    /// §5.6.4.4.
    fn save_cwnd(&mut self, flow: &Flow) {
        self.prior_cwnd = if flow.state < CaState::Recovery && self.state != State::ProbeRtt {
            flow.cwnd
        } else {
            self.prior_cwnd.max(flow.cwnd)
        };
    }

    fn restore_cwnd(&mut self, flow: &mut Flow) {
        flow.cwnd = flow.cwnd.max(self.prior_cwnd).min(flow.cwnd_clamp);
    }

    /// §5.5.11.1.
    fn save_state(&mut self) {
        self.undo = Undo {
            state: self.state,
            bw_short: self.model.bw_short,
            inflight_short: self.model.inflight_short,
            inflight_long: self.model.inflight_long,
        };
    }

    /// Whether losses since the newest acknowledged segment left say that the flight was too large (§5.5.10.2).
    fn too_high(&self, lost: u64, in_flight: u32) -> bool {
        lost as f64 > f64::from(in_flight) * self.options.loss_threshold
    }

    /// §5.3.1.
    fn check_startup(&mut self, flow: &mut Flow, sample: &RateSample) {
        if self.state != State::Startup || self.full_pipe.reached {
            self.enter_drain_when_full(flow);
            return;
        }
        let lossy = self.model.loss_round_start
            && flow.state == CaState::Recovery
            && self.model.lost_ranges >= self.options.startup_losses
            && self.too_high(sample.lost_since, sample.tx_in_flight);
        if lossy {
            self.full_pipe.reached = true;
            let bdp = self.bdp(self.model.max_bw(), 1.0);
            self.model.inflight_long = bdp.max(self.model.inflight_latest);
        }
        self.enter_drain_when_full(flow);
    }

    fn enter_drain_when_full(&mut self, flow: &mut Flow) {
        if self.state == State::Startup && self.full_pipe.reached {
            self.state = State::Drain;
            self.drain_round = self.model.rounds;
            flow.ssthresh = self.inflight(flow, self.model.max_bw(), 1.0) as u32;
        }
    }

    /// §5.3.2.
    fn check_drain(&mut self, flow: &Flow) {
        if self.state == State::Drain
            && (Self::in_flight(flow) <= self.inflight(flow, self.model.bw, 1.0)
                || self.model.rounds > self.drain_round + DRAIN_ROUNDS)
        {
            self.start_down(flow);
        }
    }

    /// §5.6.4.6.
    fn set_cwnd(&mut self, flow: &mut Flow, sample: &RateSample) {
        let volume = self.bdp(self.model.bw, self.cwnd_gain()) + self.model.extra_acked();
        self.max_inflight = self.with_quanta(flow, volume);
        let mut cwnd = f64::from(flow.cwnd);
        let acked = f64::from(sample.acked);
        if self.full_pipe.reached {
            cwnd = (cwnd + acked).min(self.max_inflight);
        } else if cwnd < self.max_inflight || (flow.delivered as f64) < INITIAL_WINDOW {
            cwnd += acked;
        }
        cwnd = cwnd.max(MIN_WINDOW);
        if self.state == State::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd());
        }
        flow.cwnd = (cwnd.min(self.cap()) as u32).min(flow.cwnd_clamp);
    }

    /// §5.6.4.7.
    fn cap(&self) -> f64 {
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.model.inflight_long,
            State::Cruise | State::ProbeRtt => self.with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        cap.min(self.model.inflight_short).max(MIN_WINDOW)
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(self.model.bw, self.options.probe_rtt_gain).max(MIN_WINDOW)
    }
}

impl Control for Bbr3 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn init(&mut self, flow: &mut Flow) {
        flow.ssthresh = crate::flow::SSTHRESH_UNSET;
        self.model.begin(flow);
        self.probe_rtt.begin(flow);
        self.initial_pacing_rate(flow);
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        self.save_cwnd(flow);
        self.save_state();
        flow.ssthresh
    }

    /// §5.5.11.2. The model bounds the window at the next ACK.
    fn undo(&mut self, flow: &mut Flow) -> u32 {
        self.model.loss_in_round = false;
        self.full_pipe.restart(0.0);
        self.model.bw_short = self.model.bw_short.max(self.undo.bw_short);
        self.model.inflight_short = self.model.inflight_short.max(self.undo.inflight_short);
        self.model.inflight_long = self.model.inflight_long.max(self.undo.inflight_long);
        if self.state != State::ProbeRtt && self.state != self.undo.state {
            match self.undo.state {
                State::Startup => {
                    self.full_pipe.reached = false;
                    self.state = State::Startup;
                }
                State::Up => self.start_up(flow),
                _ => {}
            }
        }
        flow.cwnd.max(self.prior_cwnd)
    }

    fn owns_window(&self) -> bool {
        true
    }

    /// §5.2.3.
    fn control(&mut self, flow: &mut Flow, sample: &RateSample) {
        if self.former_state >= CaState::Recovery && flow.state < CaState::Recovery {
            self.restore_cwnd(flow);
        }
        self.former_state = flow.state;
        self.rate = match (sample.delivered, sample.interval_us) {
            (Some(delivered), Some(interval_us)) if interval_us > 0 => delivered as f64 * 1e6 / interval_us as f64,
            _ => 0.0,
        };
        if sample.delivered.is_some() {
            self.model.latest_signals(flow, sample, self.rate);
            if self.model.update_round(flow, sample) {
                self.probing.rounds += 1;
            }
            self.model.update_max_bw(sample, self.rate);
            let probing_bw = matches!(self.state, State::Startup | State::Refill | State::Up);
            self.model.congestion_signals(flow, self.options.beta, probing_bw);
            self.model.aggregation(flow, sample, self.full_pipe.reached);
            if self.model.round_start && !sample.app_limited && self.rate > 0.0 {
                self.full_pipe.check(self.rate);
            }
            self.check_startup(flow, sample);
            self.check_drain(flow);
            self.update_cycle(flow, sample);
        } else {
            self.model.round_start = false;
            self.model.loss_round_start = false;
        }
        if let Some(rtt_us) = sample.rtt_us {
            let is_jump = self.rtt_jumps.on_sample(rtt_us, flow.now_us, self.full_pipe.reached);
            flow.rtt_jumps += u32::from(is_jump);
        }
        self.update_min_rtt(flow, sample);
        self.check_probe_rtt(flow, sample);
        self.model.advance_signals(sample, self.rate);
        self.model.bound_bw();
        self.set_pacing_rate(flow, self.pacing_gain());
        self.set_cwnd(flow, sample);
    }

    /// §5.5.10.2.
    fn lost(&mut self, flow: &mut Flow, packet: &LostPacket) {
        if self.model.note_loss(flow, packet) {
            self.save_state();
        }
        if !self.probing.samples {
            return;
        }
        let lost = flow.lost - packet.lost;
        if self.too_high(lost, packet.in_flight) {
            let volume = inflight_at_loss(f64::from(packet.in_flight), 1.0, lost as f64, self.options.loss_threshold);
            self.handle_too_high(flow, volume, packet.app_limited);
        }
    }

    /// §5.4.1.
    fn event(&mut self, flow: &mut Flow, event: Event) {
        if event != Event::TransmitStart || flow.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.model.restart_aggregation(flow);
        if self.state.probes_bw() {
            self.set_pacing_rate(flow, 1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(flow);
        }
    }

    fn state_changes(&mut self, _flow: &mut Flow, new: CaState) {
        if new == CaState::Loss {
            self.former_state = CaState::Loss;
        }
    }

    fn burst(&self, flow: &Flow) -> Burst {
        // Below 1.2 Mbit/s bursts are single segments, as in the released module.
        Burst::AtLeast(if flow.pacing_rate < 150_000 { 1 } else { 2 })
    }

    fn paces(&self) -> bool {
        true
    }

    fn phase(&self) -> Option<&'static str> {
        Some(self.state.name())
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("bw", self.model.bw),
            ("max_bw", self.model.max_bw()),
            ("bw_shortterm", self.model.bw_short),
            ("inflight_shortterm", self.model.inflight_short),
            ("inflight_longterm", self.model.inflight_long),
            ("min_rtt", self.model.min_rtt_us as f64),
            ("extra_acked", self.model.extra_acked()),
            ("max_inflight", self.max_inflight),
            ("full_bw_count", self.full_pipe.count.into()),
            ("full_bw_reached", f64::from(u8::from(self.full_pipe.reached))),
            ("pacing_gain", self.pacing_gain()),
            ("cwnd_gain", self.cwnd_gain()),
            ("rounds", self.model.rounds as f64),
            ("idle_restart", f64::from(u8::from(self.idle_restart))),
        ]
    }
}

/// The volume in flight at which losses crossed the threshold: `in_flight` with the lost packet of `size`, `lost` with
/// it (§5.5.10.2, BBRInflightAtLoss).
fn inflight_at_loss(in_flight: f64, size: f64, lost: f64, threshold: f64) -> f64 {
    let before = in_flight - size;
    let lost_before = lost - size;
    let prefix = (threshold * before - lost_before) / (1.0 - threshold);
    before + prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_volume_at_which_losses_crossed_the_threshold() {
        // algorithms_vectors.json, "bbr3_inflight_at_loss".
        let volume = inflight_at_loss(150_000.0, 14_480.0, 14_480.0, 0.02);
        assert!((volume - 138_285.714_285_714_3).abs() < 1e-6);
    }

    #[test]
    fn short_term_bounds_fall_to_what_was_delivered_and_no_further_than_beta() {
        // algorithms_vectors.json, "bbr3_short_term_bounds".
        let mut model = Model::default();
        (model.bw_latest, model.inflight_latest) = (8e6, 400.0);
        (model.bw_short, model.inflight_short) = (12e6, 500.0);
        model.lower_bounds(100, 0.7);
        assert!((model.bw_short - 8.4e6).abs() < 1e-3);
        assert_eq!(model.inflight_short, 400.0);
    }
}
