//! Whether threads are worth while on a machine with other work.
//!
//! The parts of a run wait for each other many times in a millisecond. If another process takes a core for its share of
//! time, some milliseconds, all others wait as long: on two cores with one more busy process two threads took ten times
//! as long as one. So after a turn in which the threads mostly waited one thread runs all parts, as long as a turn at
//! first, and twice as long each time that it was the same again. Records do not depend on it.

use std::time::Duration;

/// Threads are judged after so much time. The threads of a run pause after as long, and earlier where `run_until` ends,
/// so a turn may have several such pauses.
pub(super) const TURN: Duration = Duration::from_millis(50);
/// Threads that wait for a greater share of the time than this are slower than one, …
const MOST_WAITING: f64 = 0.45;
/// … which then goes on alone for so many turns at most.
const LONGEST_REST: u32 = 64;

/// How the threads of a run got on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Crowd {
    /// How long one thread runs alone from now on.
    rest: Duration,
    /// The last rest, in turns; none since the threads got on well.
    last_rest: u32,
    /// The time of all threads in this turn, and how much of it they waited.
    time: Duration,
    waited: Duration,
}

impl Crowd {
    /// Whether one thread is to run all parts.
    pub fn rests(&self) -> bool {
        self.rest > Duration::ZERO
    }

    /// So many threads have waited for so long together, of the `time` since the last note.
    pub fn note(&mut self, threads: usize, waited: Duration, time: Duration) {
        if self.rests() {
            self.rest = self.rest.saturating_sub(time);
            return;
        }
        let threads = threads as u32;
        self.time += time * threads;
        self.waited += waited;
        if self.time < TURN * threads {
            return;
        }
        let mostly_waited = self.waited > self.time.mul_f64(MOST_WAITING);
        self.last_rest = if mostly_waited { (2 * self.last_rest).clamp(1, LONGEST_REST) } else { 0 };
        self.rest = TURN * self.last_rest;
        (self.time, self.waited) = (Duration::ZERO, Duration::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets two threads wait for so long in a turn of so many equal pieces, and gives the turns that they rest then.
    fn turns_of_rest(crowd: &mut Crowd, waited_ms: u64, pieces: u32) -> u32 {
        for _ in 0..pieces {
            assert!(!crowd.rests());
            crowd.note(2, Duration::from_millis(waited_ms) / pieces, TURN / pieces);
        }
        let mut rests = 0;
        while crowd.rests() {
            crowd.note(1, Duration::ZERO, TURN);
            rests += 1;
        }
        rests
    }

    #[test]
    fn threads_that_mostly_wait_rest_longer_each_time() {
        let mut crowd = Crowd::default();
        assert_eq!([80, 80, 80].map(|waited| turns_of_rest(&mut crowd, waited, 1)), [1, 2, 4]);
        // The other work is done: half of each thread's time at most was lost.
        assert_eq!([40, 80].map(|waited| turns_of_rest(&mut crowd, waited, 1)), [0, 1]);
        assert_eq!([90; 10].map(|waited| turns_of_rest(&mut crowd, waited, 1))[9], LONGEST_REST);
    }

    /// A run that is looked at often ends its threads often, and each time they wait until all have begun.
    #[test]
    fn short_pieces_are_judged_together() {
        let mut crowd = Crowd::default();
        assert_eq!([80, 80, 40, 80].map(|waited| turns_of_rest(&mut crowd, waited, 25)), [1, 2, 0, 1]);
        let mut crowd = Crowd::default();
        crowd.note(2, Duration::from_millis(2), Duration::from_millis(1));
        assert!(!crowd.rests(), "one piece that waited says nothing");
    }
}
