//! Links on which rate and packet sizes alone do not determine departures: recordings, slots, codes, ns-2's clock.

use super::{Link, Offered};
use crate::ns2_clock::{HopTimes, Moment, Ns2Transmitter};
use crate::pace::Pacemaker;
use crate::trace::{Idle, Served};
use skyhop_base::{Duration, Time};

impl Link {
    /// Whether a service that begins at the instant of the event that is being handled begins before it.
    #[inline(never)]
    pub(super) fn begins_first(&self, scheduled: Time) -> bool {
        match self.pace.as_deref() {
            Some(Pacemaker::Ns2Clock(pace)) => pace.has_begun(self.back.waiting as usize),
            _ => !(self.front.has_begun_any() || self.hands_over) || self.service_began <= scheduled,
        }
    }

    /// By ns-2's clock a link's event stands elsewhere in the queue.
    pub(super) fn in_order_of_ns2_clock(&self, offered: Offered) -> Offered {
        match (offered, self.pace.as_deref()) {
            (Offered::AcceptedFirst { arrival, start }, Some(Pacemaker::Ns2Clock(pace))) => {
                let (arrival, start) = pace.front().map_or((arrival, start), Moment::key);
                Offered::AcceptedFirst { arrival, start }
            }
            _ => offered,
        }
    }

    /// The service of a packet that is ready at `ready` on a link whose rate is not all, and its arrival.
    #[inline(never)]
    pub(super) fn serve_at_pace(
        &mut self,
        ready: Time,
        now: Time,
        bytes: u32,
        delay: impl FnOnce(Time) -> Duration,
    ) -> (Served, Time) {
        if let Some(Pacemaker::Ns2Clock(pace)) = self.pace.as_deref_mut() {
            let HopTimes { start, departure, arrival } = pace.accept(now, bytes, delay);
            if let Some(meter) = &mut self.meter {
                meter.advance(now);
                meter.sends(start, departure);
            }
            return (Served { start, departure, busy: self.rate.time_of(bytes) }, arrival);
        }
        let idle = if self.free_at < now { Idle::Yes } else { Idle::No };
        let meter = self.meter.get_or_insert_default();
        meter.advance(now);
        let served = self.pace.as_mut().and_then(|pace| pace.serve(ready, bytes, idle, meter)).unwrap_or_else(|| {
            let wire = self.pace.as_ref().map_or(bytes, |pace| pace.wire_bytes(bytes));
            let busy = self.carry.next(&self.rate, wire);
            meter.sends(ready, ready + busy);
            Served { start: ready, departure: ready + busy, busy }
        });
        let extra = self.pace.as_ref().map_or(Duration::ZERO, |pace| pace.delay(served.departure));
        (served, served.departure + delay(served.departure) + extra)
    }

    /// The same link by ns-2's clock; `None` if something else than its rate says when it serves what.
    pub fn with_ns2_clock(mut self) -> Option<Link> {
        if self.pace.is_some() || self.deferred.is_some() {
            return None;
        }
        let pace = Ns2Transmitter::new(self.rate.bps_f64());
        self.pace = Some(Box::new(Pacemaker::Ns2Clock(Box::new(pace))));
        self.meter = Some(Box::default());
        (self.simple, self.steady) = (false, false);
        Some(self)
    }

    pub(super) fn has_ns2_clock(&self) -> bool {
        matches!(self.pace.as_deref(), Some(Pacemaker::Ns2Clock(_)))
    }

    /// The shortest transmission of a packet of `size` bytes, where the rate alone says how long it takes.
    pub fn least_service(&self, size: u16) -> Duration {
        match self.pace {
            None => self.rate().time_of(u32::from(size) + self.framing_bytes),
            Some(_) => Duration::ZERO,
        }
    }

    /// By ns-2's clock: the event that is being handled.
    pub fn set_moment(&mut self, now: Moment) {
        if let Some(Pacemaker::Ns2Clock(pace)) = self.pace.as_deref_mut() {
            pace.now = now;
        }
    }

    /// By ns-2's clock: the arrival of the oldest packet, which is to be taken next.
    pub fn take_moment(&mut self) -> Option<Moment> {
        let Some(Pacemaker::Ns2Clock(pace)) = self.pace.as_deref_mut() else { return None };
        pace.pop()
    }

    /// [`Link::next_event`], where that is not the next arrival alone.
    #[inline(never)]
    pub(super) fn next_event_of_unsteady(&self, arrival: Option<(Time, Time)>, now: Time) -> Option<(Time, Time)> {
        if let Some(Pacemaker::Ns2Clock(pace)) = self.pace.as_deref() {
            return pace.front().map(Moment::key);
        }
        match &self.deferred {
            // The transmitter may have been free for long when a packet comes at the instant at which something else is
            // due.
            Some(deferred) => deferred.next_event(self.opportunity(self.free_at.max(now)), arrival),
            None => arrival,
        }
    }
}
