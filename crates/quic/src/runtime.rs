//! The habits of the runtime that drives a stack in real life. They are properties of the host: the protocol code is
//! the same.

use skyhop_base::{Duration, Time};

/// Most datagrams that quinn and noq hand over in one send call (generic segmentation offload), and that picoquic's
/// packet loop sends before it reads again.
pub const SEGMENTS: usize = 10;
/// After this many datagrams quinn's and noq's drivers let other tasks run before they go on.
pub(crate) const DATAGRAMS_PER_TURN: usize = 20;
/// The granularity of tokio's timers.
const TICK: u64 = 1_000_000;

/// How a host's timers fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timers {
    /// At the instant that the stack asks for.
    Exact,
    /// As tokio's: a deadline is rounded up to a tick of 1 ms, counted from the start of the process, which lies
    /// `phase` after a whole millisecond of simulated time. The runtime sleeps for whole milliseconds from the instant
    /// at which it has nothing to do, so that it wakes as far after the tick as it fell asleep after one: up to 2 ms
    /// late in all.
    Milliseconds { phase: Duration },
}

/// How a host drives its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// Most datagrams per send call, which leave at one instant.
    pub segments: usize,
    pub timers: Timers,
    /// From an event (a datagram's arrival, the end of a sleep) to the moment at which the process acts on it, at
    /// least. Datagrams that arrive meanwhile are read in the same turn.
    pub latency: Duration,
    /// Mean of the exponentially distributed time that comes on top of it.
    pub jitter: Duration,
}

impl Runtime {
    /// Waking a process, reading its socket and computing. In the reference 9208 answers to a datagram left after 50 µs
    /// (5 %), 80 µs (median), 140 µs (90 %) and 170 µs (95 %): a least time and an exponential one on top have these
    /// quantiles.
    pub const LATENCY: Duration = Duration::from_micros(50);
    pub const JITTER: Duration = Duration::from_micros(40);

    /// tokio with segmentation offload, as the stacks run by default on Linux. `seed` and `name` place the ticks.
    pub fn tokio(seed: u64, name: &str) -> Runtime {
        let phase = skyhop_base::Stream::new(seed, name, "timer phase").bits() % TICK;
        let timers = Timers::Milliseconds { phase: Duration::from_nanos(phase) };
        Runtime { segments: SEGMENTS, timers, latency: Runtime::LATENCY, jitter: Runtime::JITTER }
    }

    /// picoquic's packet loop (`sockloop.c`): it waits in `select`, whose timers fire by the microsecond. The latency
    /// is that of tokio's process: nobody has measured another one.
    pub fn select() -> Runtime {
        Runtime { segments: SEGMENTS, timers: Timers::Exact, latency: Runtime::LATENCY, jitter: Runtime::JITTER }
    }

    /// Single datagrams, exact timers and no latency, as a harness without a runtime has them.
    pub fn exact() -> Runtime {
        Runtime { segments: 1, timers: Timers::Exact, latency: Duration::ZERO, jitter: Duration::ZERO }
    }

    /// Whether a timer for `deadline` has fired at `now`.
    pub(crate) fn is_due(&self, deadline: Time, now: Time) -> bool {
        match self.timers {
            Timers::Exact => deadline <= now,
            Timers::Milliseconds { phase } => last_tick(round_up(deadline), phase) <= last_tick(now, phase),
        }
    }

    /// When a runtime that has had nothing to do since `idle_since` wakes for `deadline`.
    pub(crate) fn wakes(&self, deadline: Time, idle_since: Time) -> Time {
        match self.timers {
            Timers::Exact => deadline.max(idle_since),
            Timers::Milliseconds { phase } => {
                let ticks = last_tick(round_up(deadline), phase).saturating_sub(last_tick(idle_since, phase));
                idle_since.saturating_add(Duration::from_nanos(ticks.saturating_mul(TICK)))
            }
        }
    }
}

/// Whole ticks until `time`; the first one is counted as if it lay before the start of the run.
fn last_tick(time: Time, phase: Duration) -> u64 {
    (time.as_nanos().saturating_add(TICK) - phase.as_nanos().min(TICK)) / TICK
}

fn round_up(deadline: Time) -> Time {
    deadline.saturating_add(Duration::from_nanos(TICK - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    #[test]
    fn a_timer_of_tokio_fires_on_the_sleepers_phase_after_the_next_tick() {
        let timers = Timers::Milliseconds { phase: Duration::from_micros(300) };
        let runtime = Runtime { timers, ..Runtime::exact() };
        // Ticks at …, 1.3, 2.3, 3.3 ms. Asleep at 1.7 ms (0.4 after a tick), deadline 2.5 ms: tick 3.3, wakes at 3.7.
        assert_eq!(runtime.wakes(micros(2_500), micros(1_700)), micros(3_700));
        assert!(runtime.is_due(micros(2_500), micros(3_700)));
        // Somebody else wakes it before: the timer fires as soon as its tick is over.
        assert!(runtime.is_due(micros(2_500), micros(3_300)));
        assert!(!runtime.is_due(micros(2_500), micros(3_299)));
        // A deadline on a tick waits for no further one.
        assert_eq!(runtime.wakes(micros(2_300), micros(1_300)), micros(2_300));
    }

    #[test]
    fn an_exact_timer_fires_at_its_deadline() {
        assert_eq!(Runtime::exact().wakes(micros(2_500), micros(1_700)), micros(2_500));
        assert!(!Runtime::exact().is_due(micros(2_500), micros(2_499)));
    }
}
