//! When a link serves what, if it is not its rate alone that says so.

use crate::slots::Slots;
use crate::spec::Pace;
use crate::trace::{Idle, Served, Trace};
use skyhop_base::{Duration, Time};

/// Says when a packet is served and what is added to its delay.
#[derive(Debug)]
pub enum Pacemaker {
    Trace(Trace),
    Slots(Slots),
}

impl Pacemaker {
    pub fn new(pace: &Pace, seed: u64, link: &str) -> Option<Pacemaker> {
        match pace {
            Pace::Steady => None,
            Pace::Trace(trace) => Some(Pacemaker::Trace(Trace::new(trace.clone()))),
            Pace::Slots(slots) => Some(Pacemaker::Slots(Slots::new(slots, seed, link))),
        }
    }

    pub fn serve(&mut self, ready: Time, bytes: u32, idle: Idle) -> Option<Served> {
        match self {
            Pacemaker::Trace(trace) => trace.serve(ready, bytes, idle),
            Pacemaker::Slots(slots) => Some(slots.serve(ready, bytes, idle)),
        }
    }

    pub fn delay(&self, departure: Time) -> Duration {
        match self {
            Pacemaker::Trace(trace) => trace.delay(departure),
            Pacemaker::Slots(slots) => slots.delay(departure),
        }
    }
}
