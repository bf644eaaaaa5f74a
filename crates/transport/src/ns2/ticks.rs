//! ns-2's estimator of the RTT in whole clock ticks (tcp.cc rtt_update, rtt_backoff).

/// ns-2 rttvar_init_, in seconds: only matters when SRTT is cleared before the first sample.
const INITIAL_VARIANCE: f64 = 12.0;
/// Up to this factor ns-2 always doubles; above only below the ceiling (tcp.cc rtt_backoff).
const FREE_BACKOFF: u32 = 64;
/// From this factor on ns-2 no longer trusts SRTT (tcp.cc rtt_backoff).
const DISTRUST: u32 = 8;

/// Which agent's arithmetic is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TickRules {
    /// Agent/TCP.
    Tcp,
    /// TCP/Linux: an RTT that falls by more than the deviation moves that with 1/32 instead of 1/4, and the modules see
    /// the last SRTT even after the estimate was given up.
    Linux,
}

/// SRTT and RTTVAR in fractions of a tick, with shifts that truncate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TickEstimate {
    rules: TickRules,
    /// SRTT in eighths of a tick; 0 before the first sample.
    srtt_8: i64,
    /// RTTVAR in quarters of a tick.
    rttvar_4: i64,
    /// SRTT after the last sample.
    last_srtt_8: i64,
}

impl TickEstimate {
    /// `tick` in seconds.
    pub(crate) fn new(rules: TickRules, tick: f64) -> TickEstimate {
        let rttvar_4 = if tick > 0.0 { (INITIAL_VARIANCE / tick) as i64 * 4 } else { 0 };
        TickEstimate { rules, srtt_8: 0, rttvar_4, last_srtt_8: 0 }
    }

    /// An RTT of `r` ticks. Returns SRTT + 4 RTTVAR in ticks.
    pub(crate) fn sample(&mut self, r: i64) -> i64 {
        let r = r.max(1);
        if self.srtt_8 == 0 {
            (self.srtt_8, self.rttvar_4) = (r << 3, r << 1);
        } else {
            let error = r - (self.srtt_8 >> 3);
            self.srtt_8 = (self.srtt_8 + error).max(1);
            let change = error.abs() - (self.rttvar_4 >> 2);
            let falling = self.rules == TickRules::Linux && error < 0 && change > 0;
            self.rttvar_4 = (self.rttvar_4 + if falling { change >> 3 } else { change }).max(1);
        }
        self.last_srtt_8 = self.srtt_8;
        ((self.rttvar_4 << 3) + self.srtt_8) >> 3
    }

    /// The backoff factor after another timeout; `below_ceiling`: the timeout is still below its largest value.
    pub(crate) fn back_off(&mut self, factor: u32, below_ceiling: bool) -> u32 {
        let doubles = factor < FREE_BACKOFF || below_ceiling;
        let factor = if doubles { factor.saturating_mul(2) } else { factor };
        if factor > DISTRUST {
            (self.srtt_8, self.rttvar_4) = (0, self.rttvar_4 + (self.srtt_8 >> 3));
        }
        factor
    }

    /// SRTT in eighths of a tick; `None` before the first sample.
    pub(crate) fn smoothed(&self) -> Option<i64> {
        let srtt_8 = match self.rules {
            TickRules::Tcp => self.srtt_8,
            TickRules::Linux => self.last_srtt_8,
        };
        (srtt_8 != 0).then_some(srtt_8)
    }

    /// RTTVAR in quarters of a tick; `None` before the first sample.
    pub(crate) fn variation(&self) -> Option<i64> {
        (self.srtt_8 != 0).then_some(self.rttvar_4)
    }
}
