//! A link whose far end belongs to another part of the network ([`crate::parts`]).
//!
//! A packet whose service has begun stays as it is, so from then on its arrival can be told to the part of the far end.
//! The near end keeps a copy on the link until the arrival, so that it can tell what is on the link.

use super::{Entry, Link};
use crate::pool::{Entries, Front, Pool};
use skyhop_base::Time;

impl Link {
    /// The packets whose service does not begin before `from`, oldest first.
    pub fn entries_from<'a>(&self, pool: &'a Pool, from: Time) -> Entries<'a> {
        // Mostly there is none, and the others need not be looked at.
        let any = !self.front.is_empty() && self.back.start(pool) >= from;
        if any { self.front.iter(pool).from(from) } else { Entries::none(pool) }
    }

    /// The packets behind one of the link's, by its place ([`Entries::place`]); all of them without one.
    pub fn entries_behind<'a>(&self, pool: &'a Pool, place: Option<u32>) -> Entries<'a> {
        place.map_or_else(|| self.front.iter(pool), |place| Front::iter_behind(pool, place))
    }

    /// Copies the packets into the pool of another simulation, which takes the link.
    pub fn move_packets(&mut self, pool: &Pool, to: &mut Pool) {
        self.line_mut().move_to(pool, to);
    }

    /// When the first service from `from` on begins that is known.
    pub fn next_begin(&self, pool: &Pool, from: Time) -> Option<Time> {
        self.entries_from(pool, from).next().map(|entry| entry.start)
    }

    /// Takes the packets that arrive before `before` off the link. Gives how many they were.
    pub fn forget_arrived_before(&mut self, pool: &mut Pool, before: Time) -> usize {
        let mut forgotten = 0;
        while self.first_arrival().is_some_and(|(arrival, _)| arrival < before) {
            self.take_arrived(pool);
            forgotten += 1;
        }
        forgotten
    }

    /// Whether packets wait whose start of service is not known.
    pub fn holds_deferred(&self) -> bool {
        self.deferred.as_ref().is_some_and(|deferred| deferred.packets() > 0)
    }

    /// At the far end: a packet is on the link. Gives its arrival and the start of its service if it is the only one.
    pub fn receive(&mut self, pool: &mut Pool, entry: &Entry) -> Option<(Time, Time)> {
        debug_assert!(
            self.front.iter(pool).last().is_none_or(|last| last.arrival <= entry.arrival),
            "overtaken: {entry:?}"
        );
        self.waiting_bytes = 0;
        let is_alone = self.line_mut().push_back(pool, &entry.packet, [entry.start, entry.arrival]);
        is_alone.then_some((entry.arrival, entry.start))
    }
}
