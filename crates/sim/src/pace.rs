//! When a link serves what, if it is not its rate and the sizes alone that say so.

use crate::meter::Meter;
use crate::ns2_clock::Ns2Transmitter;
use crate::slots::SlotScheduler;
use crate::spec::{BlockCode, LinkConfig, LinkVariation};
use crate::trace::{Idle, Served, Trace};
use skyhop_base::{Duration, Time};

/// Says when a packet is served and what is added to its delay.
#[derive(Debug)]
pub enum Pacemaker {
    Trace(Trace),
    Slots(Box<SlotScheduler>),
    /// A code makes packets longer.
    Code(BlockCode),
    /// The link's rate, by ns-2's clock.
    Ns2Clock(Box<Ns2Transmitter>),
}

impl Pacemaker {
    pub fn new(config: &LinkConfig, seed: u64, link: &str) -> Option<Pacemaker> {
        match &config.pace {
            // What repairs packets knows of their code itself.
            LinkVariation::Steady => config.repair.code.filter(|_| config.repair.frames.is_none()).map(Pacemaker::Code),
            LinkVariation::Trace(trace) => Some(Pacemaker::Trace(Trace::new(trace.clone()))),
            LinkVariation::Slots(slots) => Some(Pacemaker::Slots(Box::new(SlotScheduler::new(slots, seed, link)))),
        }
    }

    pub fn serve(&mut self, ready: Time, bytes: u32, idle: Idle, meter: &mut Meter) -> Option<Served> {
        match self {
            Pacemaker::Trace(trace) => trace.serve(ready, bytes, idle, meter),
            Pacemaker::Slots(slots) => Some(slots.serve(ready, bytes, idle, meter)),
            Pacemaker::Code(_) | Pacemaker::Ns2Clock(_) => None,
        }
    }

    /// The first instant from `ready` on at which something can be sent.
    pub fn next_start(&self, ready: Time) -> Time {
        match self {
            Pacemaker::Trace(trace) => trace.next_start(ready),
            Pacemaker::Slots(slots) => slots.next_start(ready),
            Pacemaker::Code(_) | Pacemaker::Ns2Clock(_) => ready,
        }
    }

    pub fn delay(&self, departure: Time) -> Duration {
        match self {
            Pacemaker::Trace(trace) => trace.delay(departure),
            Pacemaker::Slots(slots) => slots.delay(departure),
            Pacemaker::Code(_) | Pacemaker::Ns2Clock(_) => Duration::ZERO,
        }
    }

    /// What could be sent up to `t`, in bytes, where opportunities bound it and not the time.
    pub fn offered(&self, t: Time) -> Option<u64> {
        match self {
            Pacemaker::Trace(trace) => trace.offered(t),
            Pacemaker::Slots(_) | Pacemaker::Code(_) | Pacemaker::Ns2Clock(_) => None,
        }
    }

    /// Bytes that a packet of so many has on the wire.
    pub fn wire_bytes(&self, bytes: u32) -> u32 {
        match self {
            Pacemaker::Code(code) => code.wire_bytes(bytes),
            Pacemaker::Trace(_) | Pacemaker::Slots(_) | Pacemaker::Ns2Clock(_) => bytes,
        }
    }
}
