//! LeoCC (Lai et al., "LeoCC: Making Internet Congestion Control Robust to LEO Satellite Dynamics", SIGCOMM 2025),
//! after the rules of the module that its authors released: BBR version 1 that measures the path anew when the
//! satellite network reconfigures, and that follows a smoothed bandwidth where the RTT says that a queue stands.
//!
//! The rules, with the module's values:
//!
//! - A reconfiguration is told by the network ([`PathHint::HandoverBegins`]), or by a clock as in the module: every
//!   15 s, 100 ms ahead. From the cruise (BBR's PROBE_BW) it leads to PROBE_RTT: half a BDP for 200 ms and a round. The
//!   RTT at its end replaces the smallest RTT, the filter of the bandwidth begins anew, and STARTUP follows.
//! - The filter then begins with the bandwidth of the last sample before the RTT fell by more than 45 ms below its
//!   estimate during PROBE_RTT, else with none.
//! - Kalman filters follow the bandwidth, once per round of the cruise, and the RTT, with every ACK. When the estimate
//!   of the RTT is above the smallest by the fluctuation or more, the cruise goes by the estimate of the bandwidth and
//!   probes with 21/20, else by the largest bandwidth and with 5/4.
//! - The smallest RTT is remembered for 20 s.
//!
//! Known limits: the estimates are floating-point numbers where the module counts in 1/256; it shares its first gain
//! among all connections of a host by mistake, here each has its own; it has no rule for policers, nor has this.

use super::bbr::{BW_UNIT, Bbr, MIN_CWND, Mode, PROBE_RTT_JIFFIES, UNIT};
use super::parameters::parameters;
use super::{About, Burst, Control, Event, PathHint};
use crate::flow::{CaState, Flow};
use crate::rate::RateSample;
use crate::switch::Switch;
use crate::timer::HZ;
use skyhop_base::Duration;

const NAME: &str = "leocc";

const ABOUT: About = About {
    title: "LeoCC",
    source: "Lai et al., SIGCOMM 2025",
    year: 2025,
    kind: "model, hints of handovers",
    advice: "Starlink-like paths whose RTT and rate jump at handovers: it measures both anew instead of keeping a \
             filter's memory of the old path.",
};

parameters! {
    /// Parameters of LeoCC.
    pub struct LeoccOptions, ABOUT, |options, seed| Leocc::new(options, seed) => {
        /// Whether reconfigurations follow a clock instead of the network's hints.
        clock: Switch = Switch::Off; "the released module knows a clock alone"
        /// Time between reconfigurations by the clock.
        period: f64 = 15.0, in 0.5..=3600.0, unit "s"; "15 s"
        /// When reconfigurations by the clock end, within a period that begins with the connection.
        offset: f64 = 12.0, in 0.0..=3600.0, unit "s"; "12 s"
        /// By how much the estimate of the RTT is above the smallest RTT when a queue stands.
        fluctuation: f64 = 10.0, in 0.0..=1000.0, unit "ms"; "10 ms, of 5 to 20"
        /// By how much the RTT falls below its estimate during PROBE_RTT when the last bandwidth is kept.
        fall: f64 = 45.0, in 0.0..=1000.0, unit "ms"; "45 ms"
    }
}

/// The smallest RTT is remembered for 20 s.
const MIN_RTT_WINDOW_JIFFIES: u64 = 20 * HZ;
/// How long before its end a reconfiguration by the clock may be noticed, s.
const NOTICED: f64 = 0.1;
/// Probing by the largest bandwidth, and by the estimate.
const BOLD_GAIN: u64 = UNIT * 5 / 4;
const CAREFUL_GAIN: u64 = UNIT * 21 / 20;
/// Share of the BDP that stays in flight while the RTT is probed.
const PROBE_RTT_GAIN: u64 = UNIT / 2;
/// Variances of the process and of a measurement, and of the first estimate.
const PROCESS_VARIANCE: f64 = 4.0;
const MEASUREMENT_VARIANCE: f64 = 4.0;
const FIRST_VARIANCE: f64 = 25.0;

/// A Kalman filter of one value that stays, with constant variances.
#[derive(Clone, Copy, Debug)]
pub struct Kalman {
    pub estimate: f64,
    /// Variance of the estimate.
    pub variance: f64,
}

impl Kalman {
    pub fn new(estimate: f64) -> Kalman {
        Kalman { estimate, variance: FIRST_VARIANCE }
    }

    /// Takes a measurement; returns the gain.
    pub fn update(&mut self, measured: f64) -> f64 {
        let variance = self.variance + PROCESS_VARIANCE;
        let gain = variance / (variance + MEASUREMENT_VARIANCE);
        self.estimate = (1.0 - gain) * self.estimate + gain * measured;
        self.variance = (1.0 - gain) * variance;
        gain
    }
}

#[derive(Clone, Debug)]
pub struct Leocc {
    options: LeoccOptions,
    bbr: Bbr,
    /// When the connection began, us.
    began_us: u64,
    /// A reconfiguration is to be dealt with, until the next STARTUP has filled the path.
    reconfigures: bool,
    bandwidth: Kalman,
    /// us.
    rtt: Kalman,
    /// The largest bandwidth of the present round, that of the last sample, and the one with which a new filter begins.
    round_bw: u64,
    last_bw: u64,
    kept_bw: u64,
    /// The gain of the probing phase; it counts from the next ACK on.
    probe_gain: u64,
}

impl Leocc {
    pub fn new(options: LeoccOptions, seed: u64) -> Leocc {
        let mut bbr = Bbr::new(seed);
        bbr.detects_policers = false;
        Leocc {
            options,
            bbr,
            began_us: 0,
            reconfigures: false,
            bandwidth: Kalman::new(0.0),
            rtt: Kalman::new(0.0),
            round_bw: 0,
            last_bw: 0,
            kept_bw: 0,
            probe_gain: BOLD_GAIN,
        }
    }

    /// The clock of the module.
    fn look_at_clock(&mut self, flow: &Flow) {
        if !self.options.clock.is_on() {
            return;
        }
        let within = (flow.now_us - self.began_us) as f64 * 1e-6 % self.options.period;
        self.reconfigures |= within >= self.options.offset - NOTICED && within <= self.options.offset;
    }

    fn note_bandwidth(&mut self, sample: &RateSample) {
        let (Some(delivered), Some(interval_us)) = (sample.delivered, sample.interval_us) else { return };
        if interval_us == 0 {
            return;
        }
        if sample.prior_delivered >= self.bbr.next_round_delivered {
            self.round_bw = 0;
        }
        let bw = delivered * BW_UNIT / interval_us;
        self.round_bw = self.round_bw.max(bw);
        let fell = sample.rtt_us.is_some_and(|rtt| self.rtt.estimate > rtt as f64 + self.options.fall * 1e3);
        if self.bbr.mode == Mode::ProbeRtt && fell {
            self.kept_bw = self.last_bw;
        }
        self.last_bw = bw;
    }

    /// The window while the RTT is probed.
    fn window_in_probe_rtt(&self) -> u32 {
        let bdp = self.bbr.bdp(self.bbr.max_bw(), PROBE_RTT_GAIN);
        u32::try_from(bdp).unwrap_or(u32::MAX).max(MIN_CWND)
    }

    fn begin_startup(&mut self) {
        (self.bbr.full, self.bbr.full_bw, self.bbr.full_rounds) = (false, 0, 0);
        self.bbr.mode = Mode::Startup;
    }

    fn end_probe_rtt_if_due(&mut self, flow: &mut Flow) {
        if self.bbr.probe_rtt_done.is_none_or(|done| flow.jiffy <= done) {
            return;
        }
        flow.cwnd = flow.cwnd.max(self.bbr.prior_cwnd);
        if !self.bbr.full || self.reconfigures {
            self.begin_startup();
        } else {
            self.bbr.begin_probe_bw(flow);
        }
        if self.reconfigures {
            self.bbr.bw.reset(self.bbr.rounds, self.kept_bw);
        }
    }

    fn update_min_rtt(&mut self, flow: &mut Flow, sample: &RateSample) {
        let expired = flow.jiffy > self.bbr.min_rtt_jiffy + MIN_RTT_WINDOW_JIFFIES;
        if let Some(rtt_us) = sample.rtt_us
            && (rtt_us < self.bbr.min_rtt_us || (expired && !sample.ack_delayed))
        {
            (self.bbr.min_rtt_us, self.bbr.min_rtt_jiffy) = (rtt_us, flow.jiffy);
        }
        if !self.bbr.idle_restart && self.bbr.mode == Mode::ProbeBw && (expired || self.reconfigures) {
            self.bbr.mode = Mode::ProbeRtt;
            self.bbr.probe_rtt_done = None;
            self.bbr.save_cwnd(flow);
        }
        if self.bbr.mode == Mode::ProbeRtt {
            self.probe_rtt(flow, sample);
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.bbr.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, flow: &mut Flow, sample: &RateSample) {
        flow.app_limited = (flow.delivered + u64::from(flow.in_flight())).max(1);
        let Some(done) = self.bbr.probe_rtt_done else {
            if flow.in_flight() <= self.window_in_probe_rtt() {
                self.bbr.probe_rtt_done = Some(flow.jiffy + PROBE_RTT_JIFFIES);
                self.bbr.probe_rtt_round_done = false;
                self.bbr.next_round_delivered = flow.delivered;
            }
            return;
        };
        self.bbr.probe_rtt_round_done |= self.bbr.round_start;
        if !self.bbr.probe_rtt_round_done {
            return;
        }
        if flow.jiffy > done
            && let Some(rtt_us) = sample.rtt_us
        {
            (self.bbr.min_rtt_us, self.bbr.min_rtt_jiffy) = (rtt_us, flow.jiffy);
        }
        self.end_probe_rtt_if_due(flow);
    }

    /// The bandwidth by which the flow goes.
    fn choose_bandwidth(&mut self) -> u64 {
        let queue_stands = self.rtt.estimate >= self.bbr.min_rtt_us as f64 + self.options.fluctuation * 1e3;
        if queue_stands && !self.reconfigures && self.bbr.mode == Mode::ProbeBw {
            self.probe_gain = CAREFUL_GAIN;
            return self.bandwidth.estimate as u64;
        }
        self.probe_gain = BOLD_GAIN;
        self.bbr.max_bw()
    }
}

impl Control for Leocc {
    fn name(&self) -> &'static str {
        NAME
    }

    fn init(&mut self, flow: &mut Flow) {
        self.began_us = flow.now_us;
        self.bbr.init(flow);
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        self.bbr.ssthresh(flow)
    }

    fn undo(&mut self, flow: &mut Flow) -> u32 {
        self.bbr.undo(flow)
    }

    fn owns_window(&self) -> bool {
        true
    }

    fn control(&mut self, flow: &mut Flow, sample: &RateSample) {
        self.look_at_clock(flow);
        if self.bbr.mode == Mode::ProbeBw && sample.prior_delivered >= self.bbr.next_round_delivered {
            self.bandwidth.update(self.round_bw as f64);
        }
        self.note_bandwidth(sample);
        self.bbr.update_bandwidth(flow, sample);
        self.bbr.update_aggregation(flow, sample);
        self.bbr.update_cycle(flow, sample);
        self.bbr.check_full(sample);
        if self.bbr.mode == Mode::Startup && self.bbr.full {
            (self.reconfigures, self.kept_bw) = (false, 0);
        }
        self.bbr.check_drain(flow);
        self.update_min_rtt(flow, sample);
        self.bbr.update_gains();
        if self.bbr.mode == Mode::ProbeBw && self.bbr.cycle == 0 {
            self.bbr.pacing_gain = self.probe_gain;
        }
        if let Some(rtt_us) = sample.rtt_us.filter(|rtt_us| *rtt_us > 0) {
            self.rtt.update(rtt_us as f64);
        }
        let bw = self.choose_bandwidth();
        self.bbr.set_pacing_rate(flow, bw, self.bbr.pacing_gain);
        self.bbr.set_cwnd(flow, sample, bw, self.window_in_probe_rtt());
    }

    fn event(&mut self, flow: &mut Flow, event: Event) {
        if self.bbr.starts_after_idle(flow, event) && self.bbr.mode == Mode::ProbeRtt {
            self.end_probe_rtt_if_due(flow);
        }
    }

    fn state_changes(&mut self, flow: &mut Flow, new: CaState) {
        self.bbr.state_changes(flow, new);
    }

    fn hint(&mut self, _flow: &mut Flow, hint: PathHint) {
        self.reconfigures |= hint == PathHint::HandoverBegins;
    }

    fn handover_lead(&self) -> Option<Duration> {
        (!self.options.clock.is_on()).then_some(Duration::ZERO)
    }

    fn burst(&self, flow: &Flow) -> Burst {
        self.bbr.burst(flow)
    }

    fn paces(&self) -> bool {
        true
    }

    fn phase(&self) -> Option<&'static str> {
        self.bbr.phase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// algorithms_vectors.json, "leocc_kalman".
    #[test]
    fn the_filter_gives_the_worked_example() {
        let mut filter = Kalman::new(80.0);
        for (measured, gain, estimate, variance) in [
            (100.0, 0.878_787_878_787_878_8, 97.575_757_575_757_58, 3.515_151_515_151_515),
            (100.0, 0.652_631_578_947_368_5, 99.157_894_736_842_11, 2.610_526_315_789_474),
            (60.0, 0.623_015_873_015_873, 74.761_904_761_904_76, 2.492_063_492_063_492),
        ] {
            assert!((filter.update(measured) - gain).abs() < 1e-9);
            assert!((filter.estimate - estimate).abs() < 1e-9 && (filter.variance - variance).abs() < 1e-9);
        }
    }
}
