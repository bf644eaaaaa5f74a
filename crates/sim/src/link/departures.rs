//! Links that work a departure out when service begins ([`crate::deferred`]), not when they accept the packet.

use super::{Link, Offered};
use crate::aqm::Admission;
use crate::deferred::Kept;
use crate::packet::Packet;
use crate::pool::Pool;
use crate::spec::{FullQueue, QueueLimit};
use skyhop_base::{Duration, Time};

impl Link {
    /// The first instant from `now` on at which the transmitter could begin to send: a recording or a scheduler may
    /// have nothing to send with. Before it, packets of a link with deferred departures wait in the queue, and its
    /// limit counts them.
    pub(super) fn opportunity(&self, now: Time) -> Time {
        self.pace.as_ref().map_or(now, |pace| pace.next_start(now))
    }

    pub(super) fn offer_deferred(
        &mut self,
        pool: &mut Pool,
        mut packet: Packet,
        now: Time,
        delay: impl FnOnce(Time) -> Duration,
    ) -> Offered {
        let admission = self.admission(&packet, now);
        if admission == Admission::Drop {
            return Offered::Early;
        }
        let full = !self.has_room(packet.size);
        let (limit, low_first) = (self.limit, self.full == FullQueue::LowFirst);
        let has_opportunity = self.opportunity(now) <= now;
        let Some(deferred) = &mut self.deferred else { return Offered::Full };
        // An idle link takes a packet whatever the limit is.
        let idle = self.free_at <= now && deferred.serves_at_once(now);
        let at_once = idle && has_opportunity;
        if full && low_first && !idle {
            deferred.evict_low(&packet, now, limit, &mut self.totals.waiting);
        }
        // A packet of low priority displaces nothing.
        if !idle && (full && low_first && packet.is_low() || !deferred.takes(packet.size, limit)) {
            self.overflowed();
            return Offered::Full;
        }
        if admission == Admission::Mark {
            self.mark(&mut packet);
        }
        let Some(deferred) = &mut self.deferred else { return Offered::Full };
        if at_once && deferred.repairs.is_some() {
            self.repairs_serve_at_once(pool, packet, now, delay);
            return Offered::Waits;
        }
        if at_once {
            deferred.foreseen = now;
            let (arrival, start) = self.accept(pool, &packet, now, delay);
            self.all_begun();
            return self.accepted(arrival, start);
        }
        let limit = if idle { QueueLimit::Unlimited } else { limit };
        let kept = deferred.keep(packet, now, limit, &mut self.totals.waiting);
        self.totals.queue_max = self.totals.queue_max.max(deferred.packets());
        match kept {
            Kept::No => Offered::Full,
            Kept::Displacing => Offered::Displaces,
            Kept::Yes if deferred.packets() == 1 => Offered::Waits,
            Kept::Yes => Offered::Accepted,
        }
    }

    /// With deferred departures, every packet in the line is served, though it may wait for an opportunity.
    pub(super) fn all_begun(&mut self) {
        self.line_mut().all_begun();
        self.waiting_bytes = 0;
    }

    /// Whether departures are worked out when service begins, so that an event of the link may be one of its
    /// transmitter.
    #[inline]
    pub fn defers_departures(&self) -> bool {
        self.deferred.is_some()
    }

    /// Begins the service of the packet that has waited longest, if it is time for it. `delay` as in [`Link::offer`].
    pub fn begin_service(&mut self, pool: &mut Pool, now: Time, delay: impl FnOnce(&Packet, Time) -> Duration) {
        let Some(deferred) = self.deferred.as_mut() else { return };
        if let Some(discipline) = &mut deferred.discipline {
            discipline.catch_up(now);
        }
        let idle = deferred.is_empty() && deferred.repairs.is_none();
        if self.free_at > now || idle || self.opportunity(now) > now {
            return;
        }
        let before = (self.free_at, self.totals.packets);
        let Some(deferred) = self.deferred.as_mut() else { return };
        if deferred.repairs.is_some() {
            self.serve_repairing(pool, now, delay);
        } else if let Some((packet, since)) = deferred.pop(now) {
            deferred.foreseen = now;
            self.totals.waiting += now.since(since);
            self.accept(pool, &packet, now, |departure| delay(&packet, departure));
            self.all_begun();
        }
        let (free_at, packets) = (self.free_at, self.totals.packets);
        if let Some(discipline) = self.deferred.as_mut().and_then(|deferred| deferred.discipline.as_mut())
            && (free_at, packets) != before
        {
            discipline.transmits_until(free_at);
        }
    }

    /// What the last offer has displaced.
    pub fn take_displaced(&mut self) -> Vec<Packet> {
        self.deferred.as_mut().map(|deferred| deferred.take_displaced()).unwrap_or_default()
    }
}
