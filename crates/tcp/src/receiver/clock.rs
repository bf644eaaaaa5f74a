//! The clocks of a host: jiffies for timers and gaps, milliseconds for timestamps.

use crate::timer::Timers;
use skyhop_base::{Duration, Time};

const JIFFY_NS: u64 = 4_000_000;

/// Counts time as the kernel's timers do: in jiffies, or in nanoseconds where timers are exact.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks(Timers);

impl Ticks {
    pub(super) fn new(timers: Timers) -> Ticks {
        Ticks(timers)
    }

    /// When a timer fires that is set at `now` for `after`.
    pub(super) fn due(self, now: Time, after: Duration) -> Time {
        self.0.due(now, after)
    }

    /// The tick under way at `time`.
    pub(super) fn at(self, time: Time) -> u64 {
        match self.0 {
            Timers::Exact => time.as_nanos(),
            Timers::Wheel { first, phase } => first + (time.as_nanos() + phase.as_nanos()) / JIFFY_NS,
        }
    }

    /// A span in ticks, rounded up as the kernel converts it.
    pub(super) fn of(self, span: Duration) -> u64 {
        match self.0 {
            Timers::Exact => span.as_nanos(),
            Timers::Wheel { .. } => span.as_nanos().div_ceil(JIFFY_NS),
        }
    }

    pub(super) fn span(self, ticks: u64) -> Duration {
        match self.0 {
            Timers::Exact => Duration::from_nanos(ticks),
            Timers::Wheel { .. } => Duration::from_nanos(ticks * JIFFY_NS),
        }
    }
}

/// The clock behind timestamps, in milliseconds (RFC 7323 §5.4); it wraps.
pub(super) fn milliseconds(now: Time, phase: Duration) -> u32 {
    // Numbers from 1: an echo of 0 means that there is nothing to echo.
    ((now + phase).as_nanos() / 1_000_000 + 1) as u32
}
