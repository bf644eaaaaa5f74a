//! Whether threads are worth while on a machine with other work.
//!
//! The parts of a run wait for each other many times in a millisecond. If another process takes a core for its share of
//! time, some milliseconds, all others wait as long: on two cores with one more busy process two threads took ten times
//! as long as one. So threads run in turns, and after one in which they mostly waited one thread runs all parts, for
//! one turn at first, and for twice as many each time that it was the same again. Records do not depend on it.

use std::time::Duration;

/// How long a turn takes at least; it ends where the threads meet.
pub(super) const TURN: Duration = Duration::from_millis(50);
/// Threads that wait for a greater share of the time than this are slower than one, …
const MOST_WAITING: f64 = 0.45;
/// … which then goes on alone for so many turns at most.
const LONGEST_REST: u32 = 64;

/// How the threads of a run got on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Crowd {
    /// Turns that one thread runs alone from now on.
    rest: u32,
    last_rest: u32,
}

impl Crowd {
    /// Whether one thread runs all parts in the next turn.
    pub fn rests(&self) -> bool {
        self.rest > 0
    }

    /// So many threads have waited for so long together in a turn that took `time`.
    pub fn note(&mut self, threads: usize, waited: Duration, time: Duration) {
        if self.rests() {
            self.rest -= 1;
        } else if waited.as_secs_f64() > MOST_WAITING * threads as f64 * time.as_secs_f64() {
            self.last_rest = (2 * self.last_rest).clamp(1, LONGEST_REST);
            self.rest = self.last_rest;
        } else if time >= TURN {
            self.last_rest = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_mostly_wait_rest_longer_each_time() {
        let mut crowd = Crowd::default();
        let turns = |crowd: &mut Crowd, waited_ms| {
            crowd.note(2, Duration::from_millis(waited_ms), TURN);
            let mut rests = 0;
            while crowd.rests() {
                crowd.note(1, Duration::ZERO, TURN);
                rests += 1;
            }
            rests
        };
        assert_eq!([80, 80, 80].map(|waited| turns(&mut crowd, waited)), [1, 2, 4]);
        // The other work is done: half of each thread's time at most was lost.
        assert_eq!([40, 80].map(|waited| turns(&mut crowd, waited)), [0, 1]);
        assert_eq!([90; 10].map(|waited| turns(&mut crowd, waited))[9], LONGEST_REST);
    }
}
