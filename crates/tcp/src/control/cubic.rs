//! CUBIC (RFC 9438) with the kernel's arithmetic: times in 1/1024 s, integers throughout, growth bounded by half a
//! segment per ACK, and HyStart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_cc::ConfigError;

use super::hystart::{Hystart, HystartOptions};
use super::resume::{Resume, Saved};
use super::slow_start::{FirstSlowStart, SlowStart};
use super::{About, AckSample, Control, ControlOptions, Event};
use crate::flow::{CaState, Flow};
use crate::timer::HZ;

/// Unit of beta: the window falls to 717/1024 = 0.7 of itself.
const SCALE: u64 = 1024;
const BETA: u64 = 717;
/// 1024 times C = 0.4, rounded as `bic_scale` 41 times ten.
const C_TIMES_1024: u64 = 410;
/// The unit of time is 2^-10 s.
const TIME_BITS: u32 = 10;
/// Segments acknowledged per segment of growth at which AIMD with beta 0.7 is as fast as Reno, times 8.
const FRIENDLY_SCALE: u64 = 8 * (SCALE + BETA) / 3 / (SCALE - BETA);

/// The factor of the window after a mark with ABE, in percent (RFC 8511 §3.1).
const ABE_PERCENT: u32 = 85;

/// Options of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CubicOptions {
    /// How slow start ends before a loss: "off", or a table of HyStart's detectors.
    #[serde(with = "super::hystart::or_off")]
    #[schemars(with = "super::hystart::HystartOrOff")]
    pub hystart: Option<HystartOptions>,
    /// A flow whose maximum falls gives up more of it (RFC 9438 §4.7).
    #[serde(with = "crate::switch")]
    #[schemars(with = "crate::switch::Switch")]
    pub fast_convergence: bool,
    /// The window grows at least as fast as Reno's would (RFC 9438 §4.3).
    #[serde(with = "crate::switch")]
    #[schemars(with = "crate::switch::Switch")]
    pub tcp_friendliness: bool,
    /// How the first slow start may end before a loss; other than "standard" it takes the place of `hystart`.
    pub slow_start: SlowStart,
    /// A mark takes 15 % of the window instead of 30 % (ABE, RFC 8511 §3).
    #[serde(with = "crate::switch")]
    #[schemars(with = "crate::switch::Switch")]
    pub abe: bool,
    /// Careful Resume (RFC 9959): the capacity of a former connection over the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Saved>,
}

impl Default for CubicOptions {
    fn default() -> CubicOptions {
        CubicOptions {
            hystart: Some(HystartOptions::default()),
            fast_convergence: true,
            tcp_friendliness: true,
            slow_start: SlowStart::Standard,
            abe: false,
            resume: None,
        }
    }
}

impl ControlOptions for CubicOptions {
    const ABOUT: About = About {
        title: "CUBIC",
        source: "RFC 9438, Linux",
        year: 2023,
        kind: "loss",
        advice: "The default of today's hosts; over long paths with random loss it stays far below the link's rate.",
    };

    fn build(&self, _seed: u64) -> Box<dyn Control> {
        Box::new(Cubic::new(*self))
    }

    fn check(&self) -> Result<(), ConfigError> {
        if self.slow_start != SlowStart::Standard && self.hystart != Some(HystartOptions::default()) {
            let reason = "HyStart's options have no effect beside slow_start = \"hystart++\" or \"search\"; leave one \
                of them out";
            return Err(ConfigError::out_of_range("hystart", "not its default", reason));
        }
        self.resume.map_or(Ok(()), |saved| saved.check())
    }
}

#[derive(Clone, Debug)]
pub struct Cubic {
    options: CubicOptions,
    curve: Curve,
    hystart: Hystart,
    slow_start: FirstSlowStart,
    resume: Resume,
}

/// The state that a timeout resets.
#[derive(Clone, Copy, Debug, Default)]
struct Curve {
    /// ACKed segments per segment of growth.
    per: u32,
    last_max: u32,
    last_cwnd: u32,
    last_jiffy: u64,
    origin: u32,
    k: u64,
    /// The smallest delay in microseconds; zero: none yet.
    delay_min_us: u64,
    epoch: Option<u64>,
    acked: u32,
    reno_cwnd: u32,
    /// A factor of the next K, for a control that knows why the window fell.
    shrink: Option<f64>,
}

impl Cubic {
    pub fn new(options: CubicOptions) -> Cubic {
        Cubic {
            options,
            curve: Curve::default(),
            hystart: Hystart::default(),
            slow_start: FirstSlowStart::new(options.slow_start),
            resume: Resume::new(options.resume),
        }
    }

    /// The curve begins anew, and reaches its former maximum in `factor` of the time.
    pub(super) fn shrink_time(&mut self, factor: f64) {
        self.curve.epoch = None;
        self.curve.shrink = Some(factor);
    }

    fn reset(&mut self) {
        self.curve = Curve::default();
        self.hystart.found = false;
    }
}

impl Curve {
    fn update(&mut self, flow: &Flow, acked: u32, friendly: bool) {
        let cwnd = flow.cwnd;
        self.acked += acked;
        // At most once in 28 ms (HZ / 32 jiffies) while the window stays.
        if self.last_cwnd == cwnd && flow.jiffy - self.last_jiffy <= HZ / 32 {
            return;
        }
        // The curve is computed once per jiffy; the Reno bound each time.
        if self.epoch.is_none() || flow.jiffy != self.last_jiffy {
            self.follow(flow, acked);
        }
        if friendly {
            let per = ((u64::from(cwnd) * FRIENDLY_SCALE) >> 3) as u32;
            while self.acked > per {
                self.acked -= per;
                self.reno_cwnd += 1;
            }
            if self.reno_cwnd > cwnd {
                self.per = self.per.min(cwnd / (self.reno_cwnd - cwnd));
            }
        }
        // Never faster than 1.5 times per RTT.
        self.per = self.per.max(2);
    }

    fn follow(&mut self, flow: &Flow, acked: u32) {
        let cwnd = flow.cwnd;
        self.last_cwnd = cwnd;
        self.last_jiffy = flow.jiffy;
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.acked = acked;
            self.reno_cwnd = cwnd;
            if self.last_max <= cwnd {
                self.k = 0;
                self.origin = cwnd;
            } else {
                let cube = (1u64 << (10 + 3 * TIME_BITS)) / C_TIMES_1024 * u64::from(self.last_max - cwnd);
                self.k = kernel_cube_root(cube);
                self.origin = self.last_max;
            }
            if let Some(shrink) = self.shrink.take() {
                self.k = shrunk(self.k, shrink);
            }
            flow.jiffy
        });
        let jiffies = flow.jiffy - epoch + (self.delay_min_us * HZ).div_ceil(1_000_000);
        let t = (jiffies << TIME_BITS) / HZ;
        let off = t.abs_diff(self.k);
        let delta = ((u128::from(C_TIMES_1024) * u128::from(off).pow(3)) >> (10 + 3 * TIME_BITS)) as u32;
        let target = if t < self.k { self.origin.saturating_sub(delta) } else { self.origin.saturating_add(delta) };
        self.per = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        // Before the first loss at least 5 % per RTT.
        if self.last_max == 0 {
            self.per = self.per.min(20);
        }
    }
}

/// The time to the former maximum, shortened.
fn shrunk(k: u64, factor: f64) -> u64 {
    (k as f64 * factor) as u64
}

/// The cube root as the kernel finds it: a guess from the leading four to six bits, then one step of Newton's method
/// with 341/1024 for a third. The guess lies 3.7 % above the root of those bits on average, which makes up for the
/// third. The kernel's guesses are a table refined by hand; results differ from its own by about 0.05 %.
fn kernel_cube_root(a: u64) -> u64 {
    if a < 64 {
        return (libm::cbrt(a as f64) + 0.5) as u64;
    }
    let triples = (u64::BITS - a.leading_zeros() - 4) / 3;
    let leading = a >> (3 * triples);
    let guess = ((66.4 * libm::cbrt(leading as f64) + 0.5) as u64) << triples >> 6;
    ((2 * guess + a / (guess * (guess - 1))) * 341) >> 10
}

impl Control for Cubic {
    fn name(&self) -> &'static str {
        "cubic"
    }

    fn init(&mut self, flow: &mut Flow) {
        self.reset();
        self.hystart.reset_round(flow);
        self.slow_start.begin(flow);
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        let cwnd = u64::from(flow.cwnd);
        self.curve.epoch = None;
        self.curve.last_max = if flow.cwnd < self.curve.last_max && self.options.fast_convergence {
            (cwnd * (SCALE + BETA) / (2 * SCALE)) as u32
        } else {
            flow.cwnd
        };
        self.slow_start.stop();
        if let Some(window) = self.resume.retreat(flow) {
            return window;
        }
        if self.options.abe && flow.reducing_for_mark {
            return (flow.cwnd * ABE_PERCENT / 100).max(2);
        }
        ((cwnd * BETA / SCALE) as u32).max(2)
    }

    #[inline(always)]
    fn grow(&mut self, flow: &mut Flow, acked: u32) {
        if self.resume.may_grow() {
            let counted = self.slow_start.counts(flow, acked);
            if let Some(left) = flow.left_for_avoidance(counted) {
                self.curve.update(flow, left, self.options.tcp_friendliness);
                flow.grow_additively(self.curve.per.max(1), left);
            }
        }
        self.resume.acked(flow, acked);
    }

    #[inline(always)]
    fn acked(&mut self, flow: &mut Flow, sample: AckSample) {
        let Some(rtt_us) = sample.rtt_us else { return };
        // Delays right after a recovery say little.
        if self.curve.epoch.is_some_and(|epoch| flow.jiffy - epoch < HZ) {
            return;
        }
        self.slow_start.sample(flow, rtt_us);
        let delay = rtt_us.max(1);
        let curve = &mut self.curve;
        if curve.delay_min_us == 0 || curve.delay_min_us > delay {
            curve.delay_min_us = delay;
        }
        if let Some(options) = self.options.hystart
            && self.options.slow_start == SlowStart::Standard
            && !self.hystart.found
            && flow.in_slow_start()
        {
            self.hystart.update(options, flow, delay, curve.delay_min_us);
        }
    }

    fn event(&mut self, flow: &mut Flow, event: Event) {
        match event {
            Event::ReductionComplete => self.resume.repaired(flow),
            Event::WindowRestart => self.slow_start.restart(),
            _ => {}
        }
        // An idle time does not count as time on the curve.
        if event == Event::TransmitStart {
            let idle = flow.jiffy - flow.sent_jiffy;
            if let Some(epoch) = self.curve.epoch.as_mut() {
                *epoch = (*epoch + idle).min(flow.jiffy);
            }
        }
    }

    fn state_changes(&mut self, flow: &mut Flow, new: CaState) {
        if new == CaState::Loss {
            self.reset();
            self.hystart.reset_round(flow);
            let _ = self.resume.retreat(flow);
            self.resume = Resume::new(None);
        }
    }

    fn pacing_percent(&self, _flow: &Flow) -> Option<u64> {
        self.resume.pacing_percent()
    }

    fn phase(&self) -> Option<&'static str> {
        let conservative = self.slow_start.is_conservative().then_some("conservative-slow-start");
        self.resume.phase().or(conservative)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cube_root_is_right_to_a_fifth_of_a_percent() {
        for root in (500u64..400_000).step_by(997) {
            let found = kernel_cube_root(root * root * root) as f64;
            assert!((found / root as f64 - 1.0).abs() < 0.002 + 1.0 / root as f64, "{found} for {root}");
        }
    }

    #[test]
    fn a_shrunk_time_is_a_ninth() {
        // algorithms_vectors.json, "satcp_epoch": 4.21716 s become 0.46857 s, in 1/1024 s.
        assert_eq!(shrunk(4318, 1.0 - 8.0 / 9.0), 479);
    }

    #[test]
    fn reno_friendliness_uses_the_constant_of_beta_seven_tenths() {
        // 8 (1 + 0.7) / (3 (1 - 0.7)) = 15.1.
        assert_eq!(FRIENDLY_SCALE, 15);
    }
}
