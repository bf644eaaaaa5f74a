//! What can be seen of a run, and done to it, from another thread while it goes on.

use crate::Error;
use skyhop_sim::FlowState;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// So many flows are watched: more than that nobody can tell apart in a figure.
const MOST_WATCHED: usize = 6;

/// A run is looked at, and cancelling noticed, at least this often in simulated time …
const STEPS: u64 = 1000;
/// … and about this often in real time. Where a run is divided changes nothing in it.
const LONGEST_STEP: Duration = Duration::from_millis(40);

/// How far a run is and how its first flows do, to be read, and a wish to end it, to be uttered, from another thread.
#[derive(Debug, Default)]
pub struct Progress {
    simulated_ns: AtomicU64,
    duration_ns: AtomicU64,
    cancelled: Arc<AtomicBool>,
    watched: Mutex<Glance>,
}

/// The first flows of a run at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Glance {
    /// Simulated time in seconds.
    pub time_s: f64,
    /// Name and state of at most six flows, in the order of the scenario.
    pub flows: Vec<(String, FlowState)>,
}

impl Progress {
    pub fn new() -> Progress {
        Progress::default()
    }

    /// Share of the simulated time that is done, from 0 to 1.
    pub fn fraction(&self) -> f64 {
        match self.duration_ns.load(Ordering::Relaxed) {
            0 => 0.0,
            duration => self.simulated_ns.load(Ordering::Relaxed) as f64 / duration as f64,
        }
    }

    /// What the run looks like at present.
    pub fn glance(&self) -> Glance {
        self.watched().clone()
    }

    /// Ends the run soon, with [`Error::Cancelled`].
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// What [`Progress::cancel`] sets.
    pub(crate) fn cancelled(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }

    pub(crate) fn begin(&self, duration_ns: u64, flows: impl Iterator<Item = String>) {
        self.duration_ns.store(duration_ns, Ordering::Relaxed);
        let unseen = FlowState { bytes_delivered: 0, cwnd: None };
        *self.watched() = Glance { time_s: 0.0, flows: flows.take(MOST_WATCHED).map(|name| (name, unseen)).collect() };
    }

    pub(crate) fn reach(&self, now_ns: u64, state_of: impl Fn(usize) -> FlowState) -> Result<(), Error> {
        self.simulated_ns.store(now_ns, Ordering::Relaxed);
        let mut watched = self.watched();
        watched.time_s = now_ns as f64 / 1e9;
        for (rank, (_, state)) in watched.flows.iter_mut().enumerate() {
            *state = state_of(rank);
        }
        if self.cancelled.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }

    fn watched(&self) -> MutexGuard<'_, Glance> {
        // What a panicking reader leaves behind is still a glance.
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How much is simulated between two looks.
pub(crate) struct ProgressSteps {
    step_ns: u64,
    longest_ns: u64,
}

impl ProgressSteps {
    pub(crate) fn new(duration_ns: u64) -> ProgressSteps {
        let longest_ns = (duration_ns / STEPS).max(1);
        // The first step shows how fast the run is.
        ProgressSteps { step_ns: longest_ns.min(1_000_000_000), longest_ns }
    }

    pub(crate) fn step_ns(&self) -> u64 {
        self.step_ns
    }

    pub(crate) fn took(&mut self, time: Duration) {
        if time > LONGEST_STEP {
            self.step_ns = (self.step_ns / 2).max(1);
        } else if time < LONGEST_STEP / 4 {
            self.step_ns = self.step_ns.saturating_mul(2).min(self.longest_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_shrink_when_they_take_long_and_grow_back_to_a_thousandth() {
        let mut pace = ProgressSteps::new(100_000_000_000_000);
        assert_eq!(pace.step_ns(), 1_000_000_000);
        (0..40).for_each(|_| pace.took(Duration::from_millis(1)));
        assert_eq!(pace.step_ns(), 100_000_000_000);
        (0..100).for_each(|_| pace.took(Duration::from_secs(1)));
        assert_eq!(pace.step_ns(), 1);
        pace.took(LONGEST_STEP / 2);
        assert_eq!(pace.step_ns(), 1);
    }
}
