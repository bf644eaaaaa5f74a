//! Round-trip time estimation and the retransmission timeout.

mod linux;

use crate::ns2::{TickEstimate, TickRules};
use linux::LinuxEstimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Duration, Time};

/// In which numbers RTT is smoothed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RttArithmetic {
    /// Real seconds (RFC 6298 §2).
    Exact,
    /// Whole ticks with truncating shifts; samples are truncated after the phase of the tick clock is added (ns-2).
    #[serde(rename = "ns-2")]
    Ns2,
    /// As `ns-2`, but an RTT that falls by more than the deviation moves that with 1/32 instead of 1/4 (ns-2's
    /// TCP/Linux).
    #[serde(rename = "ns-2-linux")]
    Ns2Linux,
    /// Whole microseconds as in today's Linux: RTO = SRTT + variance, the variance follows the largest deviation of
    /// a round and has the smallest RTO as its floor (tcp_rtt_estimator, tcp_set_rto).
    Linux,
}

/// How an RTT becomes a whole number of ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickRounding {
    /// To the nearest one (ns-2 with timestamps).
    Nearest,
    /// Ticks that pass between sending and ACK on a clock with the phase of the settings (ns-2 without).
    Passed,
}

/// The constants of an estimator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RttSettings {
    pub arithmetic: RttArithmetic,
    /// Clock granularity (RFC 6298 G).
    pub tick: Duration,
    pub rounding: TickRounding,
    /// Where in a tick the clock starts: 0 to 1.
    pub tick_phase: f64,
    pub initial: Duration,
    pub min: Duration,
    pub max: Duration,
    /// RFC 6298 §5.7: the RTO for data after a SYN had to be sent again; `None`: no such rule.
    pub after_syn_timeout: Option<Duration>,
}

/// SRTT and RTTVAR in the numbers of an arithmetic.
#[derive(Clone, Copy, Debug)]
enum Estimate {
    /// Seconds; `None` before the first sample.
    Exact(Option<(f64, f64)>),
    Ticks(TickEstimate),
    Linux(LinuxEstimate),
}

/// SRTT, RTTVAR and RTO.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    settings: RttSettings,
    phase_nanos: u64,
    estimate: Estimate,
    /// RTO before floor, backoff and ceiling, in seconds.
    current: f64,
    backoff: u32,
    /// RTO and SRTT follow from these. They are kept, because every ACK asks for both and few change them.
    timeout: Duration,
    smoothed: Option<Duration>,
}

impl RttEstimator {
    pub fn new(settings: RttSettings) -> RttEstimator {
        let tick = settings.tick.as_secs_f64();
        let mut estimator = RttEstimator {
            settings,
            phase_nanos: (settings.tick_phase * settings.tick.as_nanos() as f64) as u64,
            estimate: match settings.arithmetic {
                RttArithmetic::Exact => Estimate::Exact(None),
                RttArithmetic::Ns2 => Estimate::Ticks(TickEstimate::new(TickRules::Tcp, tick)),
                RttArithmetic::Ns2Linux => Estimate::Ticks(TickEstimate::new(TickRules::Linux, tick)),
                RttArithmetic::Linux => Estimate::Linux(LinuxEstimate::default()),
            },
            current: settings.initial.as_secs_f64(),
            backoff: 1,
            timeout: Duration::ZERO,
            smoothed: None,
        };
        estimator.renew();
        estimator
    }

    /// After every change of estimate, RTO or backoff.
    fn renew(&mut self) {
        self.timeout = self.work_out_timeout();
        self.smoothed = self.work_out_smoothed();
    }

    /// A segment sent at `sent` was acknowledged at `now`.
    pub fn sample(&mut self, sent: Time, now: Time) {
        let rtt = now.since(sent);
        match &mut self.estimate {
            Estimate::Exact(estimate) => {
                // RFC 6298 §2.2, §2.3 with α = 1/8, β = 1/4, K = 4.
                let r = rtt.as_secs_f64();
                let (srtt, rttvar) = match *estimate {
                    None => (r, r / 2.0),
                    Some((srtt, rttvar)) => (0.875 * srtt + 0.125 * r, 0.75 * rttvar + 0.25 * (srtt - r).abs()),
                };
                *estimate = Some((srtt, rttvar));
                self.current = srtt + (4.0 * rttvar).max(self.settings.tick.as_secs_f64());
            }
            Estimate::Ticks(estimate) => {
                let tick = self.settings.tick.as_nanos().max(1);
                let offset = match self.settings.rounding {
                    TickRounding::Nearest => tick / 2,
                    TickRounding::Passed => (sent.as_nanos() + self.phase_nanos) % tick,
                };
                let ticks = estimate.sample(((rtt.as_nanos() + offset) / tick) as i64);
                self.current = ticks as f64 * self.settings.tick.as_secs_f64();
            }
            Estimate::Linux(estimate) => {
                estimate.sample(micros(rtt), micros(self.settings.min));
                self.current = estimate.rto() as f64 * 1e-6;
            }
        }
        self.renew();
    }

    /// A round trip ended with the last sample; only Linux' estimator asks.
    #[inline]
    pub fn end_round(&mut self) {
        if let Estimate::Linux(estimate) = &mut self.estimate {
            estimate.end_round(micros(self.settings.min));
            self.current = estimate.rto() as f64 * 1e-6;
            self.renew();
        }
    }

    /// The retransmission timeout: floor, backoff, ceiling (RFC 6298 §2.4, §2.5, §5.5).
    #[inline]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    fn work_out_timeout(&self) -> Duration {
        let floored = self.current.max(self.settings.min.as_secs_f64());
        let seconds = (floored * f64::from(self.backoff)).min(self.settings.max.as_secs_f64());
        let least = match self.estimate {
            Estimate::Exact(_) | Estimate::Linux(_) => Duration::ZERO,
            Estimate::Ticks(_) => self.settings.tick.saturating_mul(2),
        };
        Duration::from_secs_f64(seconds).max(least)
    }

    /// RFC 6298 §5.5.
    pub fn back_off(&mut self) {
        let below_ceiling = self.current * f64::from(self.backoff) < self.settings.max.as_secs_f64();
        if let Estimate::Ticks(estimate) = &mut self.estimate {
            self.backoff = estimate.back_off(self.backoff, below_ceiling);
        } else if self.timeout() < self.settings.max {
            self.backoff = self.backoff.saturating_mul(2);
        }
        self.renew();
    }

    /// A segment sent after the timeout was acknowledged.
    #[inline]
    pub fn clear_backoff(&mut self) {
        if self.backoff != 1 {
            self.backoff = 1;
            self.renew();
        }
    }

    /// Data begins after a SYN that was sent again and gave no sample: RFC 6298 §5.7.
    pub fn opened_late(&mut self) {
        if let (Some(rto), None) = (self.settings.after_syn_timeout, self.smoothed()) {
            self.current = self.current.max(rto.as_secs_f64());
            self.backoff = 1;
            self.renew();
        }
    }

    /// SRTT; `None` before the first sample.
    #[inline]
    pub fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    fn work_out_smoothed(&self) -> Option<Duration> {
        match &self.estimate {
            Estimate::Exact(estimate) => estimate.map(|(srtt, _)| Duration::from_secs_f64(srtt)),
            Estimate::Linux(estimate) => estimate.smoothed().map(|us| Duration::from_micros(us as u64)),
            Estimate::Ticks(estimate) => estimate.smoothed().map(|eighths| self.of_ticks(eighths, 8)),
        }
    }

    /// RTTVAR, with Linux' arithmetic the variance that is added; `None` before the first sample.
    pub fn variation(&self) -> Option<Duration> {
        match &self.estimate {
            Estimate::Exact(estimate) => estimate.map(|(_, rttvar)| Duration::from_secs_f64(rttvar)),
            Estimate::Linux(estimate) => estimate.variation().map(|us| Duration::from_micros(us as u64)),
            Estimate::Ticks(estimate) => estimate.variation().map(|quarters| self.of_ticks(quarters, 4)),
        }
    }

    fn of_ticks(&self, scaled: i64, scale: u64) -> Duration {
        Duration::from_nanos(self.settings.tick.as_nanos() * scaled as u64 / scale)
    }
}

fn micros(duration: Duration) -> i64 {
    (duration.as_nanos() / 1000) as i64
}
