//! Round-trip time estimation and the retransmission timeout.

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
    Ticks,
    /// As `ticks`, but an RTT that falls by more than the deviation moves that with 1/32 instead of 1/4 (ns-2's
    /// TCP/Linux).
    LinuxTicks,
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

/// SRTT, RTTVAR and RTO.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    settings: RttSettings,
    phase_nanos: u64,
    /// `Exact`: SRTT and RTTVAR in seconds.
    exact: Option<(f64, f64)>,
    /// Tick arithmetic: SRTT in eighths and RTTVAR in quarters of a tick; SRTT 0 before the first sample.
    ticks: (i64, i64),
    /// SRTT after the last sample: what TCP/Linux shows its modules also when the estimate was given up.
    shown: i64,
    linux: LinuxEstimate,
    /// RTO before floor, backoff and ceiling, in seconds.
    current: f64,
    backoff: u32,
}

/// ns-2 rttvar_init_, in seconds: only matters when SRTT is cleared before the first sample.
const NS2_INITIAL_VARIANCE: f64 = 12.0;
/// Up to this factor ns-2 always doubles; above only below the ceiling (tcp.cc rtt_backoff).
const NS2_FREE_BACKOFF: u32 = 64;
/// From this factor on ns-2 no longer trusts SRTT (tcp.cc rtt_backoff).
const NS2_DISTRUST: u32 = 8;

impl RttEstimator {
    pub fn new(settings: RttSettings) -> RttEstimator {
        let tick = settings.tick.as_secs_f64();
        let variance = if tick > 0.0 { (NS2_INITIAL_VARIANCE / tick) as i64 * 4 } else { 0 };
        RttEstimator {
            settings,
            phase_nanos: (settings.tick_phase * settings.tick.as_nanos() as f64) as u64,
            exact: None,
            ticks: (0, variance),
            shown: 0,
            linux: LinuxEstimate::default(),
            current: settings.initial.as_secs_f64(),
            backoff: 1,
        }
    }

    /// A segment sent at `sent` was acknowledged at `now`.
    pub fn sample(&mut self, sent: Time, now: Time) {
        let rtt = now.since(sent);
        match self.settings.arithmetic {
            RttArithmetic::Exact => self.sample_exact(rtt.as_secs_f64()),
            RttArithmetic::Ticks | RttArithmetic::LinuxTicks => {
                let tick = self.settings.tick.as_nanos().max(1);
                let offset = match self.settings.rounding {
                    TickRounding::Nearest => tick / 2,
                    TickRounding::Passed => (sent.as_nanos() + self.phase_nanos) % tick,
                };
                self.sample_ticks(((rtt.as_nanos() + offset) / tick) as i64);
            }
            RttArithmetic::Linux => {
                let floor = (self.settings.min.as_nanos() / 1000) as i64;
                self.linux.sample((rtt.as_nanos() / 1000) as i64, floor);
                self.current = self.linux.rto_us() as f64 * 1e-6;
            }
        }
    }

    /// RFC 6298 §2.2, §2.3 with α = 1/8, β = 1/4, K = 4.
    fn sample_exact(&mut self, r: f64) {
        let (srtt, rttvar) = match self.exact {
            None => (r, r / 2.0),
            Some((srtt, rttvar)) => (0.875 * srtt + 0.125 * r, 0.75 * rttvar + 0.25 * (srtt - r).abs()),
        };
        self.exact = Some((srtt, rttvar));
        self.current = srtt + (4.0 * rttvar).max(self.settings.tick.as_secs_f64());
    }

    /// tcp.cc rtt_update: SRTT scaled by 8, RTTVAR by 4, shifts that truncate.
    fn sample_ticks(&mut self, r: i64) {
        let r = r.max(1);
        let (srtt, rttvar) = &mut self.ticks;
        if *srtt == 0 {
            (*srtt, *rttvar) = (r << 3, r << 1);
        } else {
            let error = r - (*srtt >> 3);
            *srtt = (*srtt + error).max(1);
            let change = error.abs() - (*rttvar >> 2);
            let falling = self.settings.arithmetic == RttArithmetic::LinuxTicks && error < 0 && change > 0;
            *rttvar = (*rttvar + if falling { change >> 3 } else { change }).max(1);
        }
        self.shown = *srtt;
        self.current = (((*rttvar << 3) + *srtt) >> 3) as f64 * self.settings.tick.as_secs_f64();
    }

    /// A round trip ended with the last sample; only `Linux` asks.
    pub fn end_round(&mut self) {
        if self.settings.arithmetic == RttArithmetic::Linux {
            self.linux.end_round((self.settings.min.as_nanos() / 1000) as i64);
            self.current = self.linux.rto_us() as f64 * 1e-6;
        }
    }

    /// The retransmission timeout: floor, backoff, ceiling (RFC 6298 §2.4, §2.5, §5.5).
    pub fn timeout(&self) -> Duration {
        let floored = self.current.max(self.settings.min.as_secs_f64());
        let seconds = (floored * f64::from(self.backoff)).min(self.settings.max.as_secs_f64());
        let least = match self.settings.arithmetic {
            RttArithmetic::Exact | RttArithmetic::Linux => Duration::ZERO,
            RttArithmetic::Ticks | RttArithmetic::LinuxTicks => self.settings.tick.saturating_mul(2),
        };
        Duration::from_secs_f64(seconds).max(least)
    }

    /// RFC 6298 §5.5.
    pub fn back_off(&mut self) {
        if matches!(self.settings.arithmetic, RttArithmetic::Exact | RttArithmetic::Linux) {
            if self.timeout() < self.settings.max {
                self.backoff = self.backoff.saturating_mul(2);
            }
            return;
        }
        let below_ceiling = self.current * f64::from(self.backoff) < self.settings.max.as_secs_f64();
        if self.backoff < NS2_FREE_BACKOFF || below_ceiling {
            self.backoff = self.backoff.saturating_mul(2);
        }
        if self.backoff > NS2_DISTRUST {
            self.ticks = (0, self.ticks.1 + (self.ticks.0 >> 3));
        }
    }

    /// A segment sent after the timeout was acknowledged.
    pub fn clear_backoff(&mut self) {
        self.backoff = 1;
    }

    /// Data begins after a SYN that was sent again and gave no sample: RFC 6298 §5.7.
    pub fn opened_late(&mut self) {
        if let (Some(rto), None) = (self.settings.after_syn_timeout, self.smoothed()) {
            self.current = self.current.max(rto.as_secs_f64());
            self.backoff = 1;
        }
    }

    /// SRTT; `None` before the first sample.
    pub fn smoothed(&self) -> Option<Duration> {
        match self.settings.arithmetic {
            RttArithmetic::Exact => self.exact.map(|(srtt, _)| Duration::from_secs_f64(srtt)),
            RttArithmetic::Linux => self.linux.started().map(|it| Duration::from_micros((it.srtt_8 >> 3) as u64)),
            RttArithmetic::Ticks => (self.ticks.0 != 0).then(|| self.of_ticks(self.ticks.0, 8)),
            RttArithmetic::LinuxTicks => (self.shown != 0).then(|| self.of_ticks(self.shown, 8)),
        }
    }

    /// RTTVAR, under `Linux` the variance that is added; `None` before the first sample.
    pub fn variation(&self) -> Option<Duration> {
        match self.settings.arithmetic {
            RttArithmetic::Exact => self.exact.map(|(_, rttvar)| Duration::from_secs_f64(rttvar)),
            RttArithmetic::Linux => self.linux.started().map(|it| Duration::from_micros(it.rttvar as u64)),
            RttArithmetic::Ticks | RttArithmetic::LinuxTicks => {
                (self.ticks.0 != 0).then(|| self.of_ticks(self.ticks.1, 4))
            }
        }
    }

    fn of_ticks(&self, scaled: i64, scale: u64) -> Duration {
        Duration::from_nanos(self.settings.tick.as_nanos() * scaled as u64 / scale)
    }
}

/// The estimator of Linux in microseconds: SRTT in eighths, deviations in quarters, which is also what is added
/// to SRTT for the RTO.
#[derive(Clone, Copy, Debug, Default)]
struct LinuxEstimate {
    srtt_8: i64,
    mdev: i64,
    mdev_max: i64,
    rttvar: i64,
    /// The first sample starts a round and ends none.
    first: bool,
}

impl LinuxEstimate {
    fn started(&self) -> Option<&LinuxEstimate> {
        (self.srtt_8 != 0).then_some(self)
    }

    fn rto_us(&self) -> i64 {
        (self.srtt_8 >> 3) + self.rttvar
    }

    /// tcp_rtt_estimator; `floor` is tcp_rto_min.
    fn sample(&mut self, rtt: i64, floor: i64) {
        let rtt = rtt.max(1);
        if self.srtt_8 == 0 {
            self.srtt_8 = rtt << 3;
            self.mdev = rtt << 1;
            self.rttvar = self.mdev.max(floor);
            self.mdev_max = self.rttvar;
            self.first = true;
            return;
        }
        let error = rtt - (self.srtt_8 >> 3);
        self.srtt_8 += error;
        let change = error.abs() - (self.mdev >> 2);
        // A falling RTT must not inflate the RTO.
        self.mdev += if error < 0 && change > 0 { change >> 3 } else { change };
        if self.mdev > self.mdev_max {
            self.mdev_max = self.mdev;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
    }

    fn end_round(&mut self, floor: i64) {
        if std::mem::take(&mut self.first) {
            return;
        }
        if self.mdev_max < self.rttvar {
            self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
        }
        self.mdev_max = floor;
    }
}
