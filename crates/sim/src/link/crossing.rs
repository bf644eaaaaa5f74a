//! A link whose far end belongs to another part of the network ([`crate::parts`]).
//!
//! A packet whose service has begun stays as it is, so from then on its arrival can be told to the part of the far end.
//! The near end keeps a copy in its ring, which counts until the arrival and does nothing there.

use super::{Entry, Link};
use skyhop_base::Time;

impl Link {
    /// The packets whose service begins from `from` on and before `before`, oldest first.
    pub fn begun_between(&self, from: Time, before: Time) -> impl Iterator<Item = &Entry> {
        let first = self.ring.partition_point(|entry| entry.start < from);
        self.ring.range(first..).take_while(move |entry| entry.start < before)
    }

    /// When the first service from `from` on begins that is known.
    pub fn next_begin(&self, from: Time) -> Option<Time> {
        let first = self.ring.partition_point(|entry| entry.start < from);
        self.ring.get(first).map(|entry| entry.start)
    }

    /// Whether packets wait whose begin of service is not known.
    pub fn holds_deferred(&self) -> bool {
        self.deferred.as_ref().is_some_and(|deferred| deferred.packets() > 0)
    }

    /// At the far end: a packet is on the link. Gives its arrival and its begin if it is the only one.
    pub fn receive(&mut self, entry: Entry) -> Option<(Time, Time)> {
        debug_assert!(self.ring.back().is_none_or(|last| last.arrival <= entry.arrival), "overtaken: {entry:?}");
        if self.ring.len() == self.ring.capacity() {
            self.make_room();
        }
        self.ring.push_back(entry);
        self.begun = self.ring.len();
        (self.ring.len() == 1).then_some((entry.arrival, entry.start))
    }
}
