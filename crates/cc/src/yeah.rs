//! YeAH: Baiocchi, Castellani and Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", PFLDnet 2007.
//!
//! Once per round with at least three RTTs, W the window in segments, R the smallest RTT of the round, B the
//! smallest of the connection:
//!
//! - Q = W (R − B) / R, segments in the queue; L = (R − B) / B;
//! - Q <= α and L <= 1/φ: fast mode, W grows as Scalable TCP (one per 100 ACKs, one per W below that);
//! - else slow mode, W grows as Reno; with Q > α and W > reno_count also W −= min(Q / γ, W / 2^ε), not below
//!   reno_count, and ssthresh = W (precautionary decongestion); reno_count, what Reno would have, starts at W/2
//!   and gains one per such round; more than ζ fast rounds since the last loss set it back to 2;
//! - loss: after fewer than ρ slow rounds W −= max(min(Q, W/2), W / 2^δ), else W/2; reno_count halves; timeout: the
//!   same ssthresh, W = 1.
//!
//! Deviation (`form = "ns-2"`, `tcp_yeah`): whole numbers and microseconds; the step of fast mode comes with
//! the (min(W, 100) + 1)-th segment; the round is the module's own, restarts when recovery ends, and only an ACK
//! that finds the window used can end it.
//!
//! Known limits: when the path becomes longer (LEO), B is too small for ever, and YeAH stays in slow mode. Slow start
//! over a deep queue ends far above what the path holds; reno_count is then half of that, decongestion stops there, and
//! the queue stays until a loss.

use crate::window::{Form, OwnRound, Rtts, WholeRtts, Window, ns2_rtt, pass_to_window};
use crate::{AckSample, ConfigError, CongestionControl, CongestionEvent, Segments, Start};

crate::options! {
    /// Parameters of YeAH.
    pub struct YeahConfig, YeahSpec {
        /// Most segments in the queue in fast mode (paper §3 α, `tcp_yeah`: 80).
        alpha: f64 = 80.0,
        /// Divisor of the queue that decongestion takes (paper §3 γ: 1).
        gamma: f64 = 1.0,
        /// Power of 2 by which the window bounds a decongestion (paper §3 ε: 1).
        epsilon: u32 = 1,
        /// Power of 2 of the smallest share that a loss takes (paper §3 δ: 3).
        delta: u32 = 3,
        /// Inverse of the largest relative queueing delay in fast mode (paper §3 φ: 8).
        phi: f64 = 8.0,
        /// Slow rounds after which others are taken to be greedy (paper §3 ρ: 16).
        rho: u32 = 16,
        /// Fast rounds after which reno_count starts again (paper §3 ζ: 50).
        zeta: u32 = 50,
        /// Segments per step of fast mode (Kelly 2003: 1/0.01).
        scalable_count: f64 = 100.0,
        /// Whose description is followed.
        form: Form = Form::Paper; linux = Form::Ns2,
    }
}

/// RTTs that the decision of a round needs (`tcp_yeah`).
const MIN_SAMPLES: u32 = 3;
/// reno_count before there is a queue.
const RENO_COUNT: Segments = 2.0;

impl YeahConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("alpha", self.alpha, 0.0..=1e6, "0 to 1e6 segments")?;
        ConfigError::within("gamma", self.gamma, 0.01..=1e6, "0.01 to 1e6")?;
        ConfigError::within("epsilon", self.epsilon.into(), 0.0..=30.0, "0 to 30")?;
        ConfigError::within("delta", self.delta.into(), 0.0..=30.0, "0 to 30")?;
        ConfigError::within("phi", self.phi, 0.01..=1e6, "0.01 to 1e6")?;
        ConfigError::within("scalable_count", self.scalable_count, 1.0..=1e6, "1 to 1e6 segments")
    }

    /// Whole segments that decongestion takes off a window with `queue` segments in the queue.
    pub fn precautionary_reduction(&self, window: Segments, queue: Segments) -> Segments {
        (queue.trunc() / self.gamma).trunc().min(shifted(window, self.epsilon))
    }

    /// Segments that a loss takes off a window, after `slow_rounds` rounds of slow mode.
    pub fn loss_reduction(&self, window: Segments, queue: Segments, slow_rounds: u32) -> Segments {
        let half = shifted(window, 1).max(2.0);
        if slow_rounds < self.rho { queue.min(half).max(shifted(window, self.delta)) } else { half }
    }
}

/// Q: segments in the queue. Times in seconds.
pub fn yeah_queue(window: Segments, base_rtt: f64, rtt: f64) -> Segments {
    window * (rtt - base_rtt) / rtt
}

/// Whole segments of window / 2^power.
fn shifted(window: Segments, power: u32) -> Segments {
    (window / f64::from(1u32 << power)).trunc()
}

/// The window of YeAH.
#[derive(Clone, Debug)]
pub struct Yeah {
    config: YeahConfig,
    window: Window,
    rtts: Rtts,
    whole_rtts: WholeRtts,
    round: OwnRound,
    /// Q of the last round, segments.
    queue: Segments,
    /// Rounds of slow mode in a row; 0 is fast mode.
    slow_rounds: u32,
    /// Rounds of fast mode since the last loss.
    fast_rounds: u32,
    /// What Reno's window would be, segments.
    reno_count: Segments,
    /// Linux: segments that the next ACK in fast mode counts.
    acked: Segments,
}

impl Yeah {
    pub fn new(config: YeahConfig, start: Start) -> Yeah {
        Yeah {
            window: Window::new(start, config.form),
            rtts: Rtts::default(),
            whole_rtts: WholeRtts::new(),
            round: OwnRound::default(),
            queue: 0.0,
            slow_rounds: 0,
            fast_rounds: 0,
            reno_count: RENO_COUNT,
            acked: 0.0,
            config,
        }
    }

    fn measure(&mut self, sample: &AckSample) {
        self.round.observe(sample);
        self.rtts.sample(sample.latest_rtt);
        if let Some(rtt) = ns2_rtt(sample) {
            self.whole_rtts.sample(rtt + 1);
        }
    }

    fn grow(&mut self, sample: &AckSample) {
        let cwnd = self.window.cwnd;
        let increase = if self.slow_rounds > 0 { 1.0 } else { cwnd / cwnd.min(self.config.scalable_count) };
        self.window.additive(sample.growth, increase);
    }

    fn grow_whole(&mut self) {
        let window = &mut self.window;
        if window.whole_in_slow_start() {
            window.whole_slow_start();
        } else if self.slow_rounds == 0 {
            window.count += self.acked;
            if window.count > window.cwnd.min(self.config.scalable_count) {
                window.step();
                window.count = 0.0;
            }
            self.acked = 1.0;
        } else {
            window.count = (window.count + 1.0).min(window.cwnd);
            if window.count >= window.cwnd {
                window.cwnd += 1.0;
                window.count = 0.0;
            }
        }
    }

    /// The decision at the end of a round.
    fn decide(&mut self, queue: Segments, delayed: Delay) {
        let crowded = queue > self.config.alpha;
        if crowded || delayed == Delay::High {
            if crowded && self.window.cwnd > self.reno_count {
                let reduction = self.config.precautionary_reduction(self.window.cwnd, queue);
                self.window.cwnd = (self.window.cwnd - reduction).max(self.reno_count);
                self.window.ssthresh = self.window.cwnd;
            }
            self.reno_count = match self.reno_count {
                count if count <= RENO_COUNT => shifted(self.window.cwnd, 1).max(RENO_COUNT),
                count => count + 1.0,
            };
            self.slow_rounds = self.slow_rounds.saturating_add(1);
        } else {
            self.fast_rounds += 1;
            if self.fast_rounds > self.config.zeta {
                (self.reno_count, self.fast_rounds) = (RENO_COUNT, 0);
            }
            self.slow_rounds = 0;
        }
        self.queue = queue;
    }

    fn end_round(&mut self) {
        if self.rtts.count >= MIN_SAMPLES
            && let Some((base, rtt)) = self.rtts.base_and_min()
        {
            let delay = if (rtt - base) * self.config.phi > base { Delay::High } else { Delay::Low };
            self.decide(yeah_queue(self.window.cwnd, base, rtt), delay);
        }
        self.rtts.next_round();
    }

    fn end_round_whole(&mut self) {
        let rtts = &self.whole_rtts;
        if rtts.count >= MIN_SAMPLES.into() {
            let above = rtts.min - rtts.base;
            let queue = self.window.cwnd as u64 * above / rtts.min;
            // The module divides whole numbers; a fractional φ, or one below 1, divides the same way.
            let most = (rtts.base as f64 / self.config.phi).trunc();
            let delay = if above as f64 > most { Delay::High } else { Delay::Low };
            self.decide(queue as f64, delay);
        }
        self.round.restart();
        self.whole_rtts.next_round();
    }
}

/// Whether the relative queueing delay is above 1/φ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delay {
    Low,
    High,
}

impl CongestionControl for Yeah {
    fn on_ack(&mut self, sample: &AckSample) {
        self.measure(sample);
        let used = self.window.acknowledge(sample);
        if self.window.is_open() {
            self.acked = sample.newly_acked;
        }
        match self.config.form {
            Form::Paper => {
                self.grow(sample);
                if sample.round.is_some() {
                    self.end_round();
                }
            }
            Form::Ns2 if used => {
                self.grow_whole();
                if self.round.ended(sample) {
                    self.end_round_whole();
                }
            }
            Form::Ns2 => {}
        }
    }

    fn on_measured(&mut self, sample: &AckSample) {
        self.measure(sample);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let window = match self.config.form {
            Form::Paper => event.window,
            Form::Ns2 => self.window.cwnd,
        };
        let reduction = self.config.loss_reduction(window, self.queue, self.slow_rounds);
        self.fast_rounds = 0;
        self.reno_count = shifted(self.reno_count, 1).max(RENO_COUNT);
        self.window.congestion(event.kind, window - reduction);
        if self.config.form == Form::Ns2 {
            // The module knows no floor of 2.
            self.window.ssthresh = (window - reduction).max(1.0);
        }
    }

    fn on_recovered(&mut self) {
        self.window.recovered();
        self.whole_rtts.next_round();
        self.round.restart();
    }

    fn recovery_floor(&self) -> Segments {
        self.window.half_threshold().max(1.0)
    }

    pass_to_window!(but on_recovered);
}
