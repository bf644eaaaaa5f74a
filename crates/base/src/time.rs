//! Engine time: unsigned nanoseconds since the start of the run.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// An instant, in nanoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A span of time, in nanoseconds. Never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Time {
    pub const ZERO: Time = Time(0);
    /// Later than every instant that a run can reach; stands for "never".
    pub const MAX: Time = Time(u64::MAX);

    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// Nearest nanosecond to `seconds`. Negative values and NaN become zero, too large ones [`Time::MAX`].
    pub fn from_secs_f64(seconds: f64) -> Time {
        Time(Duration::from_secs_f64(seconds).0)
    }

    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// Time passed since `earlier`; zero when `earlier` is later.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    pub const fn saturating_add(self, d: Duration) -> Time {
        Time(self.0.saturating_add(d.0))
    }
}

impl Duration {
    pub const ZERO: Duration = Duration(0);
    pub const MAX: Duration = Duration(u64::MAX);

    pub const fn from_nanos(nanos: u64) -> Duration {
        Duration(nanos)
    }

    pub const fn from_micros(micros: u64) -> Duration {
        Duration(micros * 1_000)
    }

    pub const fn from_millis(millis: u64) -> Duration {
        Duration(millis * 1_000_000)
    }

    pub const fn from_secs(seconds: u64) -> Duration {
        Duration(seconds * NANOS_PER_SECOND)
    }

    /// Nearest nanosecond to `seconds`. Negative values and NaN become zero, too large ones [`Duration::MAX`].
    pub fn from_secs_f64(seconds: f64) -> Duration {
        // `as` saturates and maps NaN to zero, which is the documented behaviour.
        Duration((seconds * NANOS_PER_SECOND as f64 + 0.5) as u64)
    }

    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }

    pub const fn saturating_mul(self, factor: u64) -> Duration {
        Duration(self.0.saturating_mul(factor))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, d: Duration) -> Time {
        Time(self.0 + d.0)
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, d: Duration) {
        self.0 += d.0;
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, d: Duration) -> Duration {
        Duration(self.0 + d.0)
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, d: Duration) {
        self.0 += d.0;
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, d: Duration) -> Duration {
        Duration(self.0 - d.0)
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, factor: u64) -> Duration {
        Duration(self.0 * factor)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.as_secs_f64())
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_round_to_the_nearest_nanosecond() {
        assert_eq!(Duration::from_secs_f64(0.1).as_nanos(), 100_000_000);
        assert_eq!(Duration::from_secs_f64(1e-9 * 1.6).as_nanos(), 2);
        assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(f64::NAN), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(1e300), Duration::MAX);
    }

    #[test]
    fn since_never_goes_below_zero() {
        let (a, b) = (Time::from_nanos(5), Time::from_nanos(7));
        assert_eq!(b.since(a).as_nanos(), 2);
        assert_eq!(a.since(b).as_nanos(), 0);
    }
}
