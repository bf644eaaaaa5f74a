//! Hybla: Caini and Firrincieli, "TCP Hybla: a TCP Enhancement for Heterogeneous Networks", International Journal
//! of Satellite Communications and Networking 22(5), 2004.
//!
//! ρ = RTT / RTT0, at least 1, RTT0 = 25 ms, RTT the smallest of the connection, W the window in segments. Growth is
//! that of a Reno flow whose RTT is RTT0; each ACK:
//!
//! - slow start: W += 2^ρ − 1, not beyond ssthresh; congestion avoidance: W += ρ² / W; per acknowledged segment;
//! - loss: ssthresh = W = W/2; timeout: the same ssthresh, W = 1;
//! - initial ssthresh: the bandwidth at which the first ACKs come (paper §4, after Hoe 1996) times RTT; until three
//!   segments of one round have been acknowledged W grows as Reno. Without it a GEO path (ρ = 22) would get W += 4
//!   million with its first ACK.
//!
//! Deviation (`form = "ns-2"`, `tcp_hybla`): W is a whole number, increments are 128ths, 2^fraction comes from
//! 8 steps of ρ in 8ths; the first ACK sets W = ρ and the clamp 65535; ρ follows the smoothed RTT while that falls;
//! no bandwidth estimate; Reno after a timeout.
//!
//! Known limits: increments come in bursts unless the sender paces (the paper wants packet spacing); after a path
//! became longer (LEO) ρ is too small, never too large.

use crate::window::{Form, LARGEST_WINDOW, Window, jiffies_in, pass_to_window};
use crate::{AckSample, ConfigError, CongestionControl, CongestionEvent, Segments, Start};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Duration, Rate, Time};

/// Whether segments leave evenly spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    On,
    Off,
}

/// Where the first slow-start threshold comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FirstThreshold {
    /// From the spacing of the first ACKs (paper §4).
    AckSpacing,
    /// The transport's.
    Given,
}

crate::options! {
    /// Parameters of Hybla.
    pub struct HyblaConfig, HyblaSpec {
        /// RTT of the reference connection (paper §3.2: 25 ms).
        rtt0: Duration = Duration::from_millis(25),
        /// Largest rho; 0 sets no limit.
        rho_max: f64 = 0.0,
        /// Where the first slow-start threshold comes from.
        first_threshold: FirstThreshold = FirstThreshold::AckSpacing; ns2 = FirstThreshold::Given,
        /// Whether segments leave evenly spaced (paper §4, packet spacing).
        spacing: Spacing = Spacing::On; ns2 = Spacing::Off,
        /// Whose description is followed.
        form: Form = Form::Paper; linux = Form::Ns2,
    }
}

/// 2^(i/8) in 128ths, truncated as in `tcp_hybla`.
const FRACTIONS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// The clamp that `tcp_hybla` sets.
const NS2_CLAMP: Segments = 65_535.0;
/// Segments of one round whose ACKs give a rate: their two gaps.
const SPACED_SEGMENTS: u64 = 2;

impl HyblaConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.rtt0.is_zero() {
            return Err(ConfigError::out_of_range("rtt0", self.rtt0, "it must be above 0 s"));
        }
        ConfigError::within("rho_max", self.rho_max, 0.0..=1e6, "0 (no limit) to 1e6")
    }

    /// ρ for an RTT.
    pub fn rho(&self, rtt: Duration) -> f64 {
        let rho = (rtt.as_secs_f64() / self.rtt0.as_secs_f64()).max(1.0);
        if self.rho_max > 0.0 { rho.min(self.rho_max.max(1.0)) } else { rho }
    }
}

/// Segments added per acknowledged segment in slow start.
pub fn hybla_slow_start(rho: f64) -> Segments {
    (libm::exp2(rho) - 1.0).min(LARGEST_WINDOW)
}

/// Segments added per acknowledged segment in congestion avoidance.
pub fn hybla_avoidance(rho: f64, cwnd: Segments) -> Segments {
    rho * rho / cwnd
}

/// Linux's increment of slow start in 128ths for ρ in 8ths.
pub fn hybla_slow_start_128(rho_8: u64) -> u64 {
    let whole = (rho_8 >> 3).min(30);
    (FRACTIONS[(rho_8 & 7) as usize] << whole) - 128
}

/// The first ACK of a round: when it came and what had been delivered.
#[derive(Clone, Copy, Debug)]
struct FirstAck {
    at: Time,
    delivered: u64,
}

/// ρ in 8ths and the smoothed RTT (ms · 8) that it was computed for.
#[derive(Clone, Copy, Debug)]
struct WholeRho {
    rho_8: u64,
    lowest: u64,
}

/// The window of Hybla.
#[derive(Clone, Debug)]
pub struct Hybla {
    config: HyblaConfig,
    window: Window,
    rho: f64,
    /// Whether the first threshold is still to be found; the round in which its ACKs are timed.
    searching: bool,
    first_ack: Option<FirstAck>,
    whole_rho: Option<WholeRho>,
    /// Linux: 128ths of a segment not yet added.
    cents: u64,
    /// Smoothed RTT and user bytes per segment at the last ACK, for spacing.
    smoothed_rtt: Option<Duration>,
    mss: u32,
}

impl Hybla {
    pub fn new(config: HyblaConfig, start: Start) -> Hybla {
        Hybla {
            window: Window::new(start, config.form),
            rho: 1.0,
            searching: config.first_threshold == FirstThreshold::AckSpacing && start.ssthresh.is_infinite(),
            first_ack: None,
            whole_rho: None,
            cents: 0,
            smoothed_rtt: None,
            mss: start.mss,
            config,
        }
    }

    /// Looks for the first threshold in the spacing of ACKs.
    fn search(&mut self, sample: &AckSample) {
        let Some(first) = self.first_ack.filter(|_| sample.round.is_none()) else {
            self.first_ack = Some(FirstAck { at: sample.now, delivered: sample.delivered });
            return;
        };
        let segments = sample.delivered.saturating_sub(first.delivered);
        let span = sample.now.since(first.at).as_secs_f64();
        if let (Some(rtt), true) = (sample.min_rtt, segments >= SPACED_SEGMENTS && span > 0.0) {
            let pipe = segments as f64 / span * rtt.as_secs_f64();
            self.window.ssthresh = pipe.clamp(2.0, LARGEST_WINDOW);
            self.searching = false;
        }
    }

    fn grow(&mut self, sample: &AckSample) {
        if let Some(rtt) = sample.min_rtt {
            self.rho = self.config.rho(rtt);
        }
        if self.searching {
            self.search(sample);
        }
        if self.searching {
            self.window.reno(sample.growth);
        } else if self.window.in_slow_start() {
            let room = self.window.ssthresh - self.window.cwnd;
            self.window.grow((hybla_slow_start(self.rho) * sample.growth.slow_start).min(room));
        } else {
            self.window.additive(sample.growth, self.rho * self.rho);
        }
    }

    /// ρ in 8ths after an ACK; the first one also sets the window.
    fn update_whole_rho(&mut self, sample: &AckSample) -> u64 {
        let srtt = sample.smoothed_rtt.unwrap_or_default().saturating_mul(8);
        let srtt = jiffies_in(srtt);
        match self.whole_rho {
            Some(known) if srtt >= known.lowest => known.rho_8,
            known => {
                let rho_8 = (srtt / jiffies_in(self.config.rtt0).max(1)).max(8);
                self.whole_rho = Some(WholeRho { rho_8, lowest: srtt });
                if known.is_none() {
                    self.window.clamp = NS2_CLAMP;
                    self.window.set((rho_8 >> 3) as f64);
                }
                rho_8
            }
        }
    }

    fn grow_whole(&mut self, rho_8: u64) {
        let window = &mut self.window;
        let slow_start = window.in_slow_start();
        let increment =
            if slow_start { hybla_slow_start_128(rho_8) } else { ((rho_8 * rho_8) << 1) / (window.cwnd as u64).max(1) };
        self.cents += increment % 128;
        let mut cwnd = window.cwnd + (increment / 128) as f64;
        if self.cents >= 128 {
            self.cents -= 128;
            cwnd += 1.0;
        }
        if slow_start {
            cwnd = cwnd.min(window.ssthresh);
        }
        window.set(cwnd.min(window.clamp));
    }
}

impl CongestionControl for Hybla {
    fn on_ack(&mut self, sample: &AckSample) {
        let mut used = self.window.acknowledge(sample);
        (self.smoothed_rtt, self.mss) = (sample.smoothed_rtt, sample.mss);
        if self.config.form == Form::Paper {
            return self.grow(sample);
        }
        let first = self.whole_rho.is_none();
        let rho_8 = self.update_whole_rho(sample);
        if first {
            // The window has just been set: was it used?
            used = sample.in_flight + sample.newly_acked >= self.window.cwnd;
        }
        if used && self.window.is_open() {
            self.grow_whole(rho_8);
        } else if used {
            self.window.whole_reno();
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.searching = false;
        let ssthresh = match self.config.form {
            Form::Paper => event.window / 2.0,
            Form::Ns2 => self.window.whole_half(),
        };
        self.window.congestion(event.kind, ssthresh);
    }

    /// W per smoothed RTT.
    fn pacing_rate(&self) -> Option<Rate> {
        let rtt = self.smoothed_rtt.filter(|rtt| self.config.spacing == Spacing::On && !rtt.is_zero())?;
        Rate::from_bps((self.window.cwnd * 8.0 * f64::from(self.mss) / rtt.as_secs_f64()) as u64)
    }

    fn recovery_floor(&self) -> Segments {
        self.window.half_threshold()
    }

    pass_to_window!();
}
