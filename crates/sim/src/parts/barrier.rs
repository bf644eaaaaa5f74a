//! Where the threads of one run meet after each window.

use skyhop_base::{Duration, Time};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// Looks at the others before a waiting thread lets other processes have its core: some 100 us.
const SPINS: u32 = 5_000;
/// Waits with fewer looks, of a microsecond or two, are not worth a look at the clock.
const SHORT: u32 = 50;

/// A thread has panicked, so the others would wait for ever.
#[derive(Debug)]
pub(crate) struct Broken;

/// What a thread says at a meeting, and what all of them say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The earliest time at which one of its parts, or a packet that they have sent, does anything.
    pub next: Time,
    /// The least time from then until something of it arrives in another part.
    pub lookahead: Duration,
    /// The run is to end.
    pub halted: bool,
    /// The threads are to be joined, and perhaps to go on.
    pub pauses: bool,
}

/// How long a thread has waited for others.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    spins: u32,
    since: Option<Instant>,
    pub total: std::time::Duration,
}

impl Waiting {
    /// The thread goes on.
    #[inline]
    pub fn ends(&mut self) {
        self.spins = 0;
        if let Some(since) = self.since.take() {
            self.total += since.elapsed();
        }
    }
}

/// What one thread says, on a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Seat {
    next: AtomicU64,
    lookahead: AtomicU64,
    halted: AtomicBool,
    pauses: AtomicBool,
}

/// A barrier that spins, with what each thread says as it arrives.
///
/// On cache lines of its own: waiting threads look at it all the time.
#[repr(align(128))]
pub(crate) struct Meeting {
    threads: usize,
    arrived: AtomicUsize,
    generation: AtomicUsize,
    broken: AtomicBool,
    called_off: AtomicBool,
    /// By the parity of the generation, because a fast thread writes for the next meeting while a slow one still reads.
    seats: [Vec<Seat>; 2],
}

impl Meeting {
    pub fn new(threads: usize) -> Meeting {
        let seats = || (0..threads).map(|_| Seat::default()).collect();
        Meeting {
            threads,
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            called_off: AtomicBool::new(false),
            seats: [seats(), seats()],
        }
    }

    /// Waits for all threads. Gives the earliest time, the least lookahead, and whether any of them is halted or
    /// pauses.
    pub fn meet(&self, thread: usize, word: Word, waiting: &mut Waiting) -> Result<Word, Broken> {
        let generation = self.generation.load(Ordering::Acquire);
        let seats = &self.seats[generation % 2];
        let seat = &seats[thread];
        seat.next.store(word.next.as_nanos(), Ordering::Relaxed);
        seat.lookahead.store(word.lookahead.as_nanos(), Ordering::Relaxed);
        seat.halted.store(word.halted, Ordering::Relaxed);
        seat.pauses.store(word.pauses, Ordering::Relaxed);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.generation.store(generation + 1, Ordering::Release);
        } else {
            while self.generation.load(Ordering::Acquire) == generation {
                self.wait(waiting)?;
            }
            waiting.ends();
        }
        let least = |of: fn(&Seat) -> &AtomicU64| {
            seats.iter().map(|seat| of(seat).load(Ordering::Relaxed)).min().unwrap_or(u64::MAX)
        };
        Ok(Word {
            next: Time::from_nanos(least(|seat| &seat.next)),
            lookahead: Duration::from_nanos(least(|seat| &seat.lookahead)),
            halted: seats.iter().any(|seat| seat.halted.load(Ordering::Relaxed)),
            pauses: seats.iter().any(|seat| seat.pauses.load(Ordering::Relaxed)),
        })
    }

    /// A moment of waiting for another thread.
    pub fn wait(&self, waiting: &mut Waiting) -> Result<(), Broken> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(Broken);
        }
        waiting.spins += 1;
        if waiting.spins == SHORT {
            waiting.since = Some(Instant::now());
        }
        if waiting.spins < SPINS {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
        Ok(())
    }

    /// A limit has ended a part: the others need not go on to the end of the window.
    pub fn call_off(&self) {
        self.called_off.store(true, Ordering::Relaxed);
    }

    pub fn is_called_off(&self) -> bool {
        self.called_off.load(Ordering::Relaxed)
    }

    /// Lets every waiting thread go.
    pub fn break_off(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(next: u64) -> Word {
        Word { next: Time::from_nanos(next), lookahead: Duration::from_nanos(next / 2), halted: false, pauses: false }
    }

    #[test]
    fn all_threads_hear_the_earliest_time_of_each_meeting() {
        let meeting = Meeting::new(3);
        let heard: Vec<Vec<Word>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3_u64)
                .map(|thread| {
                    let meeting = &meeting;
                    let says = move |n: u64| word(1000 * n + 2 * ((thread + n) % 3));
                    scope.spawn(move || {
                        let mut waiting = Waiting::default();
                        (0..500)
                            .map(|n| meeting.meet(thread as usize, says(n), &mut waiting).expect("all meet"))
                            .collect()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let expected: Vec<Word> = (0..500).map(|n| word(1000 * n)).collect();
        assert!(heard.iter().all(|words| *words == expected));
    }

    #[test]
    fn a_halt_ends_the_meeting_in_which_it_is_said_and_a_panic_lets_all_go() {
        let meeting = &Meeting::new(2);
        let halted = |halted| Word { halted, ..word(4) };
        std::thread::scope(|scope| {
            let meet = |thread, word| meeting.meet(thread, word, &mut Waiting::default());
            let other = scope.spawn(move || [false, true].map(|said| meet(1, halted(said)).expect("both meet")));
            let mine = [false, false].map(|said| meet(0, halted(said)).expect("both meet"));
            assert_eq!(mine, [halted(false), halted(true)]);
            assert_eq!(other.join().expect("no panic"), mine);
            let waiting = scope.spawn(move || meet(0, word(1)).is_err());
            meeting.break_off();
            assert!(waiting.join().expect("no panic"));
        });
    }
}
