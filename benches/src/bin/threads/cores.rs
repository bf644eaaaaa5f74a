//! Where two cores are, from the time that a cache line takes from one to the other and back.
//!
//! A hypervisor does not tell a guest where its processors run, and it may move them during a run: onto two hardware
//! threads of one core, onto two cores that share a cache, or onto two that do not. The gain of two threads depends on
//! this, so each piece of a run is noted with its place.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// Series of round trips of a measurement, of which the median counts, and round trips of a series. The partner's core
/// may have to wake up during the first ones.
const SERIES: u32 = 15;
const TRIPS: u32 = 60;

/// A word on a cache line of its own. Processors fetch lines in pairs.
#[derive(Default)]
#[repr(align(128))]
struct Ball(AtomicU32);

impl Ball {
    fn wait_for(&self, number: u32) {
        while self.0.load(Ordering::Acquire) != number {
            std::hint::spin_loop();
        }
    }
}

/// Where two cores are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Two hardware threads of one core.
    OneCore,
    /// Two cores that share a cache.
    SharedCache,
    /// Two cores that do not.
    Apart,
}

impl Place {
    pub const ALL: [Place; 3] = [Place::OneCore, Place::SharedCache, Place::Apart];

    /// From the round trip. A virtual AMD EPYC had 27 to 29, 56 to 80, or 320 to 400 ns, and rarely anything between.
    pub fn of(round_trip_ns: f64) -> Place {
        match round_trip_ns {
            ..45.0 => Place::OneCore,
            ..180.0 => Place::SharedCache,
            _ => Place::Apart,
        }
    }

    pub fn description(self) -> &'static str {
        match self {
            Place::OneCore => "two hardware threads of one core (round trip below 45 ns)",
            Place::SharedCache => "two cores that share a cache (45 to 180 ns)",
            Place::Apart => "two cores without a common cache (above 180 ns)",
        }
    }
}

/// A thread that answers, and sleeps while nobody measures.
pub struct Partner {
    requests: Sender<()>,
    ready: Receiver<()>,
    ball: Arc<Ball>,
}

impl Partner {
    pub fn new() -> Partner {
        let (requests, asked) = channel();
        let (says_ready, ready) = channel();
        let ball = Arc::new(Ball::default());
        let its_ball = Arc::clone(&ball);
        // It ends when the requests do.
        std::thread::spawn(move || {
            while asked.recv().is_ok() && says_ready.send(()).is_ok() {
                for trip in 0..SERIES * TRIPS {
                    its_ball.wait_for(2 * trip + 1);
                    its_ball.0.store(2 * trip + 2, Ordering::Release);
                }
            }
        });
        Partner { requests, ready, ball }
    }

    /// How long a cache line takes to another core and back now, in ns.
    ///
    /// # Panics
    /// If the partner has died.
    pub fn round_trip_ns(&self) -> f64 {
        self.requests.send(()).expect("the partner lives as long as this");
        self.ready.recv().expect("the partner answers");
        let mut series_ns = Vec::new();
        for first in (0..SERIES * TRIPS).step_by(TRIPS as usize) {
            let begin = Instant::now();
            for trip in first..first + TRIPS {
                self.ball.0.store(2 * trip + 1, Ordering::Release);
                self.ball.wait_for(2 * trip + 2);
            }
            series_ns.push(begin.elapsed().as_secs_f64() * 1e9 / f64::from(TRIPS));
        }
        self.ball.0.store(0, Ordering::Release);
        median(series_ns)
    }
}

/// # Panics
/// If there is none, or one is not a number.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
