//! The two clocks of the [`super::dumbbell::Dumbbell`].

use skyhop_base::{Duration, Time};
use std::ops::Add;

/// By which clock a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Whole nanoseconds; a link carries what a packet leaves of one over to the next.
    Exact,
    /// ns-2's: seconds in a double, each sum rounded. What endpoints are told is truncated to nanoseconds, as TCP/Linux
    /// does it.
    Double,
}

/// A point in time by both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Instant {
    pub exact: Time,
    pub double_s: f64,
}

/// The time between two of them.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub exact: Duration,
    pub double_s: f64,
}

impl Add<Span> for Instant {
    type Output = Instant;
    fn add(self, span: Span) -> Instant {
        Instant { exact: self.exact.saturating_add(span.exact), double_s: self.double_s + span.double_s }
    }
}

impl Instant {
    pub const ZERO: Instant = Instant { exact: Time::ZERO, double_s: 0.0 };

    pub fn from_secs(seconds: f64) -> Instant {
        Instant { exact: Time::from_secs_f64(seconds), double_s: seconds }
    }

    /// A number with the order of the clock.
    pub fn rank(self, clock: Clock) -> u64 {
        match clock {
            Clock::Exact => self.exact.as_nanos(),
            // Positive doubles have the order of their bits.
            Clock::Double => self.double_s.to_bits(),
        }
    }

    /// As the clock shows it: by ns-2's the nanoseconds are those of the double.
    pub fn shown(self, clock: Clock) -> Instant {
        match clock {
            Clock::Exact => self,
            Clock::Double => Instant { exact: Time::from_nanos((self.double_s * 1e9) as u64), ..self },
        }
    }

    pub fn seconds(self, clock: Clock) -> f64 {
        match clock {
            Clock::Exact => self.exact.as_secs_f64(),
            Clock::Double => self.double_s,
        }
    }
}

impl Span {
    pub fn from_secs(seconds: f64) -> Span {
        Span { exact: Duration::from_secs_f64(seconds), double_s: seconds }
    }

    /// A multiple of a tick of 1 or 10 ms, as ns-2 multiplies it; anything else as it is.
    pub fn of_ticks(exact: Duration, tick: Duration) -> Span {
        let (whole, tick_s) = (exact.as_nanos() / tick.as_nanos(), tick.as_secs_f64());
        let is_whole = exact.as_nanos().is_multiple_of(tick.as_nanos());
        Span { exact, double_s: if is_whole { whole as f64 * tick_s } else { exact.as_secs_f64() } }
    }
}
