//! A link whose far end belongs to another part of the network ([`crate::parts`]).
//!
//! A packet whose service has begun stays as it is, so from then on its arrival can be told to the part of the far end.
//! The near end keeps a copy on the link until the arrival, so that it can tell what is on the link. Most links hand
//! packets over earlier, as they are accepted, and keep only those that wait.

use super::Link;
use crate::packet::Packet;
use crate::pool::{Entries, Front, Pool};
use crate::trace::Served;
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
            let at = self.detach_arrived(pool);
            pool.give_back(at);
            forgotten += 1;
        }
        forgotten
    }

    /// From now on packets may leave the part of a run over the link, and those are watched. They are handed over as
    /// soon as they are accepted, and the link keeps only its queue, where all arrivals are in one other part
    /// (`is_silent`) and where nothing takes a packet off the link again but a change of the sky and, if it has low
    /// priority, a full queue.
    pub fn watch_leaving(&mut self, is_silent: bool) {
        self.steady_within = self.steady;
        self.hands_over = is_silent && self.steady;
        self.watch();
    }

    /// Whether packets are handed over to another part as they are accepted: [`Link::watch_leaving`].
    pub fn hands_over(&self) -> bool {
        self.hands_over
    }

    /// [`Link::is_steady`] for a packet that stays in the part of a run.
    pub fn is_steady_within(&self) -> bool {
        self.steady_within
    }

    /// Accepts the packet at a place, of `size` bytes, on a link that hands packets over. It stays in the line only if
    /// it waits, or if it `remains` to be told. Gives its arrival, and whether it keeps its place.
    #[inline(always)]
    pub fn hand_over(
        &mut self,
        pool: &mut Pool,
        (at, size): (u32, u16),
        now: Time,
        served: &Served,
        (arrival, remains): (Time, bool),
    ) -> (Time, bool) {
        let (arrival, waits) = self.count(pool, size, now, served, arrival);
        let stays = waits || remains;
        if stays {
            self.line_mut().attach(pool, at, [served.start, arrival], (waits, true));
            if waits {
                self.note_waiting(pool.get(at).0, served.start);
            }
        } else {
            // Nothing in the line says it of the packet that is in service.
            self.service_began = served.start;
            self.line_mut().all_begun();
        }
        if !remains {
            self.handed_over_until = arrival;
        }
        (arrival, stays)
    }

    /// Whether a packet of low priority waits whose service does not begin before `from`. A full queue may give it up,
    /// and those behind it move up.
    pub fn holds_low(&self, from: Time) -> bool {
        self.low_until > from
    }

    /// Takes the packets whose service has begun off the line, `most` at most. Gives how many they were.
    #[inline(always)]
    pub fn forget_begun(&mut self, pool: &mut Pool, most: usize) -> usize {
        let mut forgotten = 0;
        while forgotten < most && self.front.has_begun_any() {
            self.handed_over_until = self.handed_over_until.max(self.front.times().0);
            let at = self.detach_arrived(pool);
            pool.give_back(at);
            forgotten += 1;
        }
        forgotten
    }

    /// At the end of a run: so many packets in flight are not in the line.
    pub fn note_flying_elsewhere(&mut self, packets: u64) {
        self.flying_elsewhere = packets;
    }

    /// Whether packets wait whose start of service is not known.
    pub fn holds_deferred(&self) -> bool {
        self.deferred.as_ref().is_some_and(|deferred| deferred.packets() > 0)
    }

    /// At the far end: a packet, whose service begins and which arrives at these times, is on the link. Gives whether
    /// it is the only one.
    pub fn receive(&mut self, pool: &mut Pool, packet: &Packet, [start, arrival]: [Time; 2]) -> bool {
        debug_assert!(
            self.front.iter(pool).last().is_none_or(|last| last.arrival <= arrival),
            "{packet:?} overtakes with an arrival at {arrival:?}"
        );
        self.waiting_bytes = 0;
        self.line_mut().push_back(pool, packet, [start, arrival])
    }
}
