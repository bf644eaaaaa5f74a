//! Westwood: Casetti, Gerla, Mascolo, Sanadidi and Wang, "TCP Westwood: Bandwidth Estimation for Enhanced Transport
//! over Wireless Links", MobiCom 2001; Mascolo et al., Wireless Networks 8, 2002.
//!
//! Each ACK, duplicates included, that delivers d bits Δ seconds after the last one:
//!
//! - sample b = d / Δ; filter (bilinear, Tustin) with α = (2τ − Δ) / (2τ + Δ): B = α B + (1 − α) (b + b_last) / 2;
//! - without an ACK for τ/2 a sample of 0 enters every τ/2;
//! - loss: ssthresh = B · RTTmin / segment, at least 2, W = min(W, ssthresh); timeout: the same ssthresh, W = 1;
//! - else Reno (RFC 5681).
//!
//! Options of the UCLA module for ns-2: `filter = "fixed"` (its type 1: Δ = τ/10, α = 19/21), `"fixed-slow"` (type 2:
//! Δ = τ/15, α = 29/31), `"ewma"` (type 0: B = 0.9 B + 0.1 b).
//!
//! Deviation: d is what the transport counts as delivered, so duplicate and delayed ACKs need no accounting.
//!
//! Deviation (`form = "ns-2"`, `tcp_westwood`, which is Westwood+): samples of at least max(RTT, 50 ms) in
//! whole bytes per ms pass two filters of gain 1/8; RTTs are the smoothed one in ms; a loss sets ssthresh = W/2 and
//! W = B · RTTmin, for ns-2's TCP/Linux never tells the module that the reduction is complete.
//!
//! Known limits: compressed ACKs give samples far above the bandwidth; RTTmin is wrong for ever when the path became
//! longer (LEO).

use crate::bandwidth::{DeliveryClock, cut_to_bandwidth};
use crate::window::{Form, Window, jiffies, jiffies_in, pass_to_window};
use crate::{AckSample, ConfigError, CongestionControl, CongestionEvent, Segments, Start};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Duration;

/// How samples of the bandwidth are smoothed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BandwidthFilter {
    /// By the time between ACKs, with samples of 0 when none comes.
    Tustin,
    /// As if ACKs came every τ/10.
    Fixed,
    /// As if ACKs came every τ/15.
    FixedSlow,
    /// 0.9 of the old value and 0.1 of the sample.
    Ewma,
}

crate::options! {
    /// Parameters of Westwood.
    pub struct WestwoodConfig, WestwoodSpec {
        /// How samples of the bandwidth are smoothed (paper §2.1).
        filter: BandwidthFilter = BandwidthFilter::Tustin,
        /// Time constant of the filter (paper §2.1: 0.5 s).
        tau: Duration = Duration::from_millis(500),
        /// Whose description is followed.
        form: Form = Form::Paper; linux = Form::Ns2,
    }
}

/// More samples of 0 than this leave nothing of an estimate.
const MOST_ZEROS: f64 = 200.0;
/// Gain of the filter of type 0.
const EWMA_OLD: f64 = 0.9;

impl WestwoodConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::within("tau", self.tau.as_secs_f64(), 1e-3..=1e3, "1 ms to 1000 s")
    }
}

/// α of the filter for a time constant and a time between samples, in seconds.
pub fn tustin_alpha(tau: f64, delta: f64) -> f64 {
    (2.0 * tau - delta) / (2.0 * tau + delta)
}

/// The bandwidth after a sample; all rates in one unit.
pub fn tustin(alpha: f64, bandwidth: f64, last_sample: f64, sample: f64) -> f64 {
    alpha * bandwidth + (1.0 - alpha) * (sample + last_sample) / 2.0
}

/// One of the two filters of Linux, in its whole numbers.
pub fn westwood_ns2_filter(old: u64, sample: u64) -> u64 {
    (7 * old + sample) >> 3
}

/// The paper's estimate, bit/s.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    bandwidth: f64,
    last_sample: f64,
}

/// `struct westwood` of Linux: bytes per ms, ms.
#[derive(Clone, Copy, Debug)]
struct Whole {
    /// The two filters.
    fast: u64,
    slow: u64,
    window_start: u64,
    /// An ACK has come.
    started: bool,
    bytes: u64,
    /// Bytes that duplicate ACKs have counted and no later ACK was charged for.
    counted: u64,
    rtt: u64,
    rtt_min: u64,
}

/// How Linux takes an ACK (`CA_EVENT_FAST_ACK`, `CA_EVENT_SLOW_ACK`): fast when nothing is being repaired and it
/// acknowledges new data and reports nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPath {
    Fast,
    Slow,
}

/// Shortest window of a sample in Linux, ms.
const SHORTEST_SAMPLE: u64 = 50;
/// RTT before there is one, ms (`TCP_WESTWOOD_INIT_RTT`: 20 HZ).
const INITIAL_RTT: u64 = 20_000;

/// The window of Westwood.
#[derive(Clone, Debug)]
pub struct Westwood {
    config: WestwoodConfig,
    window: Window,
    clock: DeliveryClock,
    estimate: Option<Estimate>,
    whole: Whole,
    mss: u32,
}

impl Westwood {
    pub fn new(config: WestwoodConfig, start: Start) -> Westwood {
        Westwood {
            window: Window::new(start, config.form),
            clock: DeliveryClock::default(),
            estimate: None,
            whole: Whole::new(),
            mss: start.mss,
            config,
        }
    }

    fn measure(&mut self, sample: &AckSample, path: AckPath) {
        match self.config.form {
            Form::Paper => self.estimate(sample),
            Form::Ns2 => self.whole.measure(sample, path),
        }
    }

    fn estimate(&mut self, sample: &AckSample) {
        let Some(delivery) = self.clock.observe(sample) else { return };
        let rate = delivery.bits / delivery.span;
        let Some(mut estimate) = self.estimate else {
            self.estimate = Some(Estimate { bandwidth: rate, last_sample: rate });
            return;
        };
        let tau = self.config.tau.as_secs_f64();
        let mut step = |alpha: f64, sample: f64| {
            estimate.bandwidth = tustin(alpha, estimate.bandwidth, estimate.last_sample, sample);
            estimate.last_sample = sample;
        };
        match self.config.filter {
            BandwidthFilter::Tustin => {
                let zeros = (delivery.span / (tau / 2.0)).ceil() - 1.0;
                for _ in 0..zeros.clamp(0.0, MOST_ZEROS) as u32 {
                    step(tustin_alpha(tau, tau / 2.0), 0.0);
                }
                let rest = delivery.span - zeros.max(0.0) * tau / 2.0;
                step(tustin_alpha(tau, rest), delivery.bits / rest);
            }
            BandwidthFilter::Fixed => step(tustin_alpha(1.0, 0.1), rate),
            BandwidthFilter::FixedSlow => step(tustin_alpha(15.0, 1.0), rate),
            BandwidthFilter::Ewma => {
                estimate.bandwidth = EWMA_OLD * estimate.bandwidth + (1.0 - EWMA_OLD) * rate;
            }
        }
        self.estimate = Some(estimate);
    }

    /// B · RTTmin in segments, at least 2 (`tcp_westwood_bw_rttmin`).
    fn whole_product(&self) -> Segments {
        let bytes = self.whole.slow * self.whole.rtt_min;
        ((bytes / u64::from(self.mss.max(1))) as f64).max(2.0)
    }
}

impl Whole {
    fn new() -> Whole {
        Whole {
            fast: 0,
            slow: 0,
            window_start: 0,
            started: false,
            bytes: 0,
            counted: 0,
            rtt: INITIAL_RTT,
            rtt_min: INITIAL_RTT,
        }
    }

    /// Bytes that an ACK off the fast path stands for: a duplicate for one segment, which is taken off a later ACK of
    /// several, or that one counts as one segment (`westwood_acked_count`).
    fn acknowledged(&mut self, bytes: u64, mss: u64) -> u64 {
        if bytes == 0 {
            self.counted += mss;
            mss
        } else if bytes <= mss {
            bytes
        } else if self.counted >= bytes {
            self.counted -= bytes;
            mss
        } else {
            bytes - std::mem::take(&mut self.counted)
        }
    }

    fn measure(&mut self, sample: &AckSample, path: AckPath) {
        let now = jiffies(sample.now);
        if !self.started {
            self.window_start = now;
        }
        if sample.newly_acked > 0.0 {
            // 0 when the opening segment was sent again and nothing has been timed yet.
            self.rtt = jiffies_in(sample.smoothed_rtt.unwrap_or_default());
        }
        let span = now.saturating_sub(self.window_start);
        if self.rtt > 0 && span > self.rtt.max(SHORTEST_SAMPLE) {
            let rate = self.bytes / span;
            if self.fast == 0 && self.slow == 0 {
                (self.fast, self.slow) = (rate, rate);
            } else {
                self.fast = westwood_ns2_filter(self.fast, rate);
                self.slow = westwood_ns2_filter(self.slow, self.fast);
            }
            (self.bytes, self.window_start) = (0, now);
        }
        let mss = u64::from(sample.mss);
        let bytes = sample.newly_acked as u64 * mss;
        if std::mem::replace(&mut self.started, true) {
            // Nothing is known of what was sent before the first ACK.
            self.bytes += match path {
                AckPath::Fast => bytes,
                AckPath::Slow => self.acknowledged(bytes, mss),
            };
        }
        self.rtt_min = self.rtt_min.min(self.rtt);
    }
}

impl CongestionControl for Westwood {
    fn on_ack(&mut self, sample: &AckSample) {
        let plain = !sample.repairing && sample.newly_reported == 0.0 && sample.ecn_marked == 0.0;
        self.measure(sample, if plain { AckPath::Fast } else { AckPath::Slow });
        let used = self.window.acknowledge(sample);
        match self.config.form {
            Form::Paper => self.window.reno(sample.growth),
            Form::Ns2 if used => self.window.whole_reno(),
            Form::Ns2 => {}
        }
    }

    fn on_measured(&mut self, sample: &AckSample) {
        self.measure(sample, AckPath::Slow);
        if self.config.form == Form::Ns2 {
            // What recovery acknowledges counts towards growth, which shows when the floor was above the threshold.
            self.window.credit(sample.newly_acked);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        match self.config.form {
            Form::Paper => {
                let bandwidth = self.estimate.map(|estimate| estimate.bandwidth);
                cut_to_bandwidth(&mut self.window, bandwidth, event);
            }
            Form::Ns2 => self.window.congestion(event.kind, self.window.whole_half()),
        }
    }

    fn recovery_floor(&self) -> Segments {
        match self.config.form {
            Form::Paper => self.window.ssthresh,
            Form::Ns2 => self.whole_product(),
        }
    }

    pass_to_window!();
}
