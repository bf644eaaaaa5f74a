//! A link whose far end belongs to another part of the network ([`crate::parts`]).
//!
//! A packet whose service has begun stays as it is, so from then on its arrival can be told to the part of the far end.
//! The near end keeps a copy in its ring until the arrival, so that it can tell what is on the link.

use super::{Entry, Link};
use skyhop_base::Time;

impl Link {
    /// The place of the first packet whose service does not begin before `from`.
    pub fn first_from(&self, from: Time) -> usize {
        match self.ring.back() {
            Some(last) if last.start >= from => self.ring.partition_point(|entry| entry.start < from),
            _ => self.ring.len(),
        }
    }

    /// The packets from that place on, oldest first.
    pub fn packets_from(&self, place: usize) -> impl Iterator<Item = &Entry> {
        self.ring.range_from(place)
    }

    /// When the first service from `from` on begins that is known.
    pub fn next_begin(&self, from: Time) -> Option<Time> {
        self.ring.get(self.first_from(from)).map(|entry| entry.start)
    }

    /// Takes the packets that arrive before `before` off the link. Gives how many they were.
    pub fn forget_arrived_before(&mut self, before: Time) -> usize {
        let packets = self.ring.len();
        while let Some(&Entry { packet, .. }) = self.ring.front().filter(|entry| entry.arrival < before) {
            self.forget_arrived(packet.size);
        }
        packets - self.ring.len()
    }

    /// Whether packets wait whose begin of service is not known.
    pub fn holds_deferred(&self) -> bool {
        self.deferred.as_ref().is_some_and(|deferred| deferred.packets() > 0)
    }

    /// At the far end: a packet is on the link. Gives its arrival and its begin if it is the only one.
    pub fn receive(&mut self, entry: Entry) -> Option<(Time, Time)> {
        debug_assert!(self.ring.back().is_none_or(|last| last.arrival <= entry.arrival), "overtaken: {entry:?}");
        if self.ring.is_full() {
            self.make_room(&entry.packet);
        }
        self.ring.put_back(entry);
        self.all_begun();
        (self.ring.len() == 1).then_some((entry.arrival, entry.start))
    }
}
