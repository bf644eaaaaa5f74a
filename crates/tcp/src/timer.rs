//! When a timer of the host fires: exactly when it is due, or when the kernel's timer wheel comes round.

use skyhop_base::{Duration, Time};

/// A jiffy of a kernel built with HZ = 250, in nanoseconds.
const JIFFY_NS: u64 = 4_000_000;
/// Jiffies in a second.
pub const HZ: u64 = 1_000_000_000 / JIFFY_NS;

/// How the host's timers fire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timers {
    /// At the instant for which they were set.
    #[default]
    Exact,
    /// At edges of jiffies of 4 ms, coarser further out (`../shared/reference/linux-reactions/README.md`, "Timers").
    Wheel {
        /// The number of the jiffy that begins at or before time zero; only its remainder modulo 64 matters.
        first: u64,
        /// How long before time zero that jiffy began.
        phase: Duration,
    },
}

impl Timers {
    /// The number of the jiffy in which `now` lies: the kernel's coarse clock, of which CUBIC and the idle rules read.
    pub fn jiffy(self, now: Time) -> u64 {
        match self {
            Timers::Exact => now.as_nanos() / JIFFY_NS,
            Timers::Wheel { first, phase } => first + (now.as_nanos() + phase.as_nanos()) / JIFFY_NS,
        }
    }

    /// Whether a jiffy of the wheel begins at `now`. Never with exact timers.
    pub fn is_edge(self, now: Time) -> bool {
        match self {
            Timers::Exact => false,
            Timers::Wheel { phase, .. } => (now.as_nanos() + phase.as_nanos()).is_multiple_of(JIFFY_NS),
        }
    }

    /// A span as a timer keeps it: in whole jiffies, rounded up, on the wheel; unchanged with exact timers.
    pub fn span(self, span: Duration) -> Duration {
        match self {
            Timers::Exact => span,
            Timers::Wheel { .. } => Duration::from_nanos(span.as_nanos().div_ceil(JIFFY_NS) * JIFFY_NS),
        }
    }

    /// When a timer fires that is set at `now` for `after`.
    pub fn due(self, now: Time, after: Duration) -> Time {
        let Timers::Wheel { first, phase } = self else { return now + after };
        let since_edge = now.as_nanos() + phase.as_nanos();
        let present = first + since_edge / JIFFY_NS;
        let expires = present + after.as_nanos().div_ceil(JIFFY_NS);
        let ahead = expires - present;
        let granularity = match ahead {
            0..63 => 1,
            63..504 => 8,
            504..4032 => 64,
            _ => 512,
        };
        let fires = (expires + granularity) / granularity * granularity;
        Time::from_nanos((fires - first) * JIFFY_NS - phase.as_nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_timer_fires_at_an_edge_of_the_wheel() {
        let wheel = Timers::Wheel { first: 0, phase: ms(2) };
        let at = |now_ms: u64, after| wheel.due(Time::ZERO + ms(now_ms), after).as_nanos() / 1_000_000;
        // 10 jiffies from jiffy 0, one more for the edge, which lies 2 ms before a multiple of 4 ms.
        assert_eq!(at(0, ms(40)), 42);
        // 50 jiffies from jiffy 0: still exact to a jiffy; 63 and more go by eights.
        assert_eq!(at(0, ms(200)), 51 * 4 - 2);
        assert_eq!(at(0, ms(252)), 64 * 4 - 2);
        assert_eq!(at(0, ms(256)), 72 * 4 - 2);
        assert_eq!(Timers::Exact.due(Time::ZERO, ms(7)), Time::ZERO + ms(7));
    }
}
