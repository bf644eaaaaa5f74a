//! The packets on all links, in one place, and the line in which they stand on each.
//!
//! A packet that arrives gives its place back, and the next hop takes the same one: the place that was free last. So a
//! packet-hop writes to a cache line that it has just read, and the memory in use is that of the packets, not that of
//! the links. With a ring of places for each link, one of five cache misses of a run with many links came from writing
//! a packet into its ring, and a thousand idle links kept as much memory as the packets of the others.

use crate::packet::Packet;
use skyhop_base::Time;
use skyhop_processor::prefetch_at;

/// No place.
const NOWHERE: u32 = u32::MAX;

/// A packet on a link.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub packet: Packet,
    /// When its service begins.
    pub start: Time,
    /// When it arrives at the other end.
    pub arrival: Time,
}

/// A packet, and the times of the one behind it on the link: whoever takes the packet away knows them without reading
/// another place. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Place {
    packet: Packet,
    /// When the service of the packet begins.
    start: Time,
    /// The place behind this one on the link, or the next free one; [`NOWHERE`] without any.
    next: u32,
    /// As in [`Pool::keep`].
    destination: u32,
    next_arrival: Time,
    next_start: Time,
}

const _: () = assert!(size_of::<Place>() == 64);

/// The places of packets.
#[derive(Debug)]
pub(crate) struct Pool {
    places: Vec<Place>,
    /// The place that was given back last.
    free: u32,
}

impl Default for Pool {
    fn default() -> Pool {
        Pool { places: Vec::new(), free: NOWHERE }
    }
}

impl Pool {
    /// For the destination of a packet: whoever needs it finds it by the packet's flow.
    pub const UNKNOWN: u32 = u32::MAX;

    /// Memory of the places, also of free ones.
    pub fn memory_bytes(&self) -> u64 {
        (self.places.capacity() * size_of::<Place>()) as u64
    }

    /// Puts a packet into a free place. `destination` is the index of its destination among those in use, or
    /// [`Pool::UNKNOWN`].
    #[inline(always)]
    pub fn keep(&mut self, packet: &Packet, destination: u32) -> u32 {
        let at = self.free;
        match self.places.get_mut(at as usize) {
            Some(place) => {
                self.free = place.next;
                (place.packet, place.destination) = (*packet, destination);
                at
            }
            None => self.keep_in_new(packet, destination),
        }
    }

    /// The same where no place is free. A quarter more places at a time: doubling would leave half of them empty.
    #[cold]
    #[inline(never)]
    fn keep_in_new(&mut self, packet: &Packet, destination: u32) -> u32 {
        let at = self.places.len();
        if at == self.places.capacity() {
            self.places.reserve_exact(at / 4 + 64);
        }
        let never = Time::ZERO;
        let place =
            Place { packet: *packet, start: never, next: NOWHERE, destination, next_arrival: never, next_start: never };
        self.places.push(place);
        at as u32
    }

    /// The packet at a place that is in use, and its destination as in [`Pool::keep`].
    #[inline(always)]
    pub fn get(&self, at: u32) -> (&Packet, u32) {
        let place = &self.places[at as usize];
        (&place.packet, place.destination)
    }

    /// Says where a packet that is on no link goes next: its next node, the hops that are left, and its destination as
    /// in [`Pool::keep`].
    #[inline(always)]
    pub fn route(&mut self, at: u32, (to, ttl): (u32, u8), destination: u32) {
        let place = &mut self.places[at as usize];
        (place.packet.to, place.packet.ttl, place.destination) = (to, ttl, destination);
    }

    /// Takes a packet that is on no link out of its place.
    #[inline(always)]
    pub fn take(&mut self, at: u32) -> Packet {
        self.give_back(at);
        self.places[at as usize].packet
    }

    /// The packet at a place is on no link, and nobody needs it any more.
    #[inline(always)]
    pub fn give_back(&mut self, at: u32) {
        self.places[at as usize].next = self.free;
        self.free = at;
    }
}

/// The oldest packets of a link: what an arrival touches.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Front {
    /// Place of the oldest packet, [`NOWHERE`] without any.
    first: u32,
    /// Place of the oldest packet that waits, [`NOWHERE`] if none does.
    first_waiting: u32,
    /// When the oldest packet arrives, and when its service begins. It means nothing without packets.
    arrival: Time,
    start: Time,
}

/// The newest packets of a link: what an offer touches.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Back {
    /// Place of the newest packet. It means nothing without packets.
    last: u32,
    /// How many packets wait.
    pub waiting: u32,
}

impl Default for Front {
    fn default() -> Front {
        Front { first: NOWHERE, first_waiting: NOWHERE, arrival: Time::ZERO, start: Time::ZERO }
    }
}

impl Default for Back {
    fn default() -> Back {
        Back { last: NOWHERE, waiting: 0 }
    }
}

impl Front {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.first == NOWHERE
    }

    /// Whether there is exactly one packet.
    #[inline(always)]
    pub fn is_single(&self, back: Back) -> bool {
        self.first == back.last && !self.is_empty()
    }

    /// Arrival and start of service of the oldest packet. It means nothing without packets.
    #[inline(always)]
    pub fn times(&self) -> (Time, Time) {
        (self.arrival, self.start)
    }

    /// The oldest packet, and its destination as in [`Pool::keep`].
    #[inline(always)]
    pub fn packet<'a>(&self, pool: &'a Pool) -> Option<(&'a Packet, u32)> {
        // NOWHERE lies outside of the places.
        pool.places.get(self.first as usize).map(|place| (&place.packet, place.destination))
    }

    /// Place of the oldest packet; outside of all places without any.
    #[inline(always)]
    pub fn place(&self) -> u32 {
        self.first
    }

    /// Fetches the oldest packet.
    #[inline(always)]
    pub fn fetch(&self, pool: &Pool) {
        prefetch_at(&pool.places, self.first as usize);
    }

    /// The oldest packet that waits, and when its service begins.
    #[inline(always)]
    pub fn waiting<'a>(&self, pool: &'a Pool) -> Option<(&'a Packet, Time)> {
        pool.places.get(self.first_waiting as usize).map(|place| (&place.packet, place.start))
    }

    /// Whether a packet is there whose service has begun.
    pub fn has_begun_any(&self) -> bool {
        self.first != self.first_waiting
    }

    /// The packets, oldest first.
    pub fn iter<'a>(&self, pool: &'a Pool) -> Entries<'a> {
        Entries { pool, at: self.first, times: (self.arrival, self.start) }
    }

    /// The packets behind a place of theirs.
    pub fn iter_behind(pool: &Pool, at: u32) -> Entries<'_> {
        let mut behind = Entries { pool, at, times: (Time::ZERO, Time::ZERO) };
        behind.next();
        behind
    }

    /// The packets that wait with the start of their service, oldest first.
    pub fn iter_waiting<'a>(&self, pool: &'a Pool) -> impl Iterator<Item = (&'a Packet, Time)> + use<'a> {
        let mut at = self.first_waiting;
        std::iter::from_fn(move || {
            let place = pool.places.get(at as usize)?;
            at = place.next;
            Some((&place.packet, place.start))
        })
    }

    /// Calls `change` with each packet that waits.
    pub fn change_waiting(&self, pool: &mut Pool, mut change: impl FnMut(&mut Packet)) {
        let mut at = self.first_waiting;
        while let Some(place) = pool.places.get_mut(at as usize) {
            change(&mut place.packet);
            at = place.next;
        }
    }
}

impl Back {
    /// When the service of the newest packet of a link that has packets begins.
    #[inline]
    pub fn start(&self, pool: &Pool) -> Time {
        pool.places.get(self.last as usize).map_or(Time::ZERO, |place| place.start)
    }
}

/// The packets on one link, oldest first: those whose service has begun, then those that wait. [`Line::begin`] moves
/// the cursor between them. Its ends stand on different cache lines.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub front: &'a mut Front,
    pub back: &'a mut Back,
}

impl Line<'_> {
    /// Adds the packet at a place, with the start of its service and its arrival. If it does not wait, the service of
    /// all packets before it has begun, too. Gives whether it is the only one. Without `may_be_empty` others are known
    /// to be there, and the oldest one is not looked at.
    #[inline(always)]
    pub fn attach(
        &mut self,
        pool: &mut Pool,
        at: u32,
        [start, arrival]: [Time; 2],
        (waits, may_be_empty): (bool, bool),
    ) -> bool {
        let place = &mut pool.places[at as usize];
        (place.start, place.next) = (start, NOWHERE);
        let is_alone = may_be_empty && self.front.is_empty();
        if is_alone {
            (self.front.first, self.front.arrival, self.front.start) = (at, arrival, start);
        } else if let Some(last) = pool.places.get_mut(self.back.last as usize) {
            (last.next, last.next_arrival, last.next_start) = (at, arrival, start);
        }
        self.back.last = at;
        if waits {
            if self.back.waiting == 0 {
                self.front.first_waiting = at;
            }
            self.back.waiting += 1;
        } else {
            self.all_begun();
        }
        is_alone
    }

    /// The same with a packet that has no place yet.
    pub fn push_back(&mut self, pool: &mut Pool, packet: &Packet, times: [Time; 2]) -> bool {
        let at = pool.keep(packet, Pool::UNKNOWN);
        self.attach(pool, at, times, (false, true))
    }

    /// The service of all packets has begun.
    #[inline(always)]
    pub fn all_begun(&mut self) {
        if self.back.waiting > 0 {
            (self.back.waiting, self.front.first_waiting) = (0, NOWHERE);
        }
    }

    /// Takes the oldest packet off the link; it keeps its place. Gives whether it was one of those that wait: the
    /// cursor may not have been moved since its service began.
    #[inline(always)]
    pub fn detach_front(&mut self, pool: &Pool) -> bool {
        let at = self.front.first;
        let place = &pool.places[at as usize];
        let next = place.next;
        (self.front.first, self.front.arrival, self.front.start) = (next, place.next_arrival, place.next_start);
        let waited = at == self.front.first_waiting;
        if waited {
            self.front.first_waiting = next;
            self.back.waiting -= 1;
        }
        waited
    }

    /// The service of the oldest packet that waits has begun.
    #[inline(always)]
    pub fn begin(&mut self, pool: &Pool) {
        if let Some(place) = pool.places.get(self.front.first_waiting as usize) {
            self.front.first_waiting = place.next;
            self.back.waiting -= 1;
            // The next packet begins a service time later.
            prefetch_at(&pool.places, place.next as usize);
        }
    }

    /// Takes the packets that wait away but the `stay` oldest of them. Gives them with the start of their service, and
    /// the arrival of the newest one that stays on the link.
    pub fn cut_waiting(&mut self, pool: &mut Pool, stay: u32) -> (Vec<(Packet, Time)>, Option<Time>) {
        let taken = self.back.waiting.saturating_sub(stay);
        let stays = self.front.iter(pool).count() - taken as usize;
        let mut entries = self.front.iter(pool);
        let mut newest = None;
        for _ in 0..stays {
            let at = entries.at;
            newest = entries.next().map(|entry| (at, entry.arrival));
        }
        let mut at = entries.at;
        let mut out = Vec::new();
        while let Some(place) = pool.places.get_mut(at as usize) {
            out.push((place.packet, place.start));
            let next = std::mem::replace(&mut place.next, pool.free);
            (pool.free, at) = (at, next);
        }
        self.back.waiting -= taken;
        if self.back.waiting == 0 {
            self.front.first_waiting = NOWHERE;
        }
        match newest {
            Some((at, _)) => {
                self.back.last = at;
                if let Some(place) = pool.places.get_mut(at as usize) {
                    place.next = NOWHERE;
                }
            }
            None => self.front.first = NOWHERE,
        }
        (out, newest.map(|(_, arrival)| arrival))
    }

    /// Copies the packets into another pool, for a simulation that takes the link.
    pub fn move_to(&mut self, pool: &Pool, to: &mut Pool) {
        let (mut front, mut back) = (Front::default(), Back::default());
        let mut moved = Line { front: &mut front, back: &mut back };
        let begun = self.front.iter(pool).count() - self.back.waiting as usize;
        for (place, Entry { packet, start, arrival }) in self.front.iter(pool).enumerate() {
            let at = to.keep(&packet, Pool::UNKNOWN);
            moved.attach(to, at, [start, arrival], (place >= begun, true));
        }
        (*self.front, *self.back) = (front, back);
    }
}

/// Packets of a link, oldest first.
#[derive(Clone, Debug)]
pub(crate) struct Entries<'a> {
    pool: &'a Pool,
    /// Place of the next one, [`NOWHERE`] at the end.
    at: u32,
    times: (Time, Time),
}

impl<'a> Entries<'a> {
    /// None.
    pub fn none(pool: &'a Pool) -> Entries<'a> {
        Entries { pool, at: NOWHERE, times: (Time::ZERO, Time::ZERO) }
    }

    /// Place of the next one.
    pub fn place(&self) -> u32 {
        self.at
    }

    /// The same from the first one on whose service does not begin before `from`.
    #[must_use]
    pub fn from(mut self, from: Time) -> Self {
        while self.at != NOWHERE && self.times.1 < from {
            self.next();
        }
        self
    }
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let place = self.pool.places.get(self.at as usize)?;
        let (arrival, start) = self.times;
        (self.at, self.times) = (place.next, (place.next_arrival, place.next_start));
        Some(Entry { packet: place.packet, start, arrival })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;
    use skyhop_base::{Duration, Stream};
    use std::collections::VecDeque;

    /// A line, and what it is to hold: the packets, and how many of the newest wait.
    #[derive(Default)]
    struct Model {
        front: Front,
        back: Back,
        packets: VecDeque<Entry>,
        waiting: usize,
    }

    impl Model {
        fn line(&mut self) -> Line<'_> {
            Line { front: &mut self.front, back: &mut self.back }
        }

        fn waiting(&self) -> impl Iterator<Item = (Packet, Time)> + '_ {
            let begun = self.packets.len() - self.waiting;
            self.packets.iter().skip(begun).map(|entry| (entry.packet, entry.start))
        }
    }

    fn packet(seq: u32) -> Packet {
        let (stamp, flags) = (Time::ZERO, Flags::NONE);
        Packet { stamp, flow: 0, seq, number: seq, detail: 0, to: 0, size: 125, ttl: 64, flags }
    }

    fn found(entries: impl Iterator<Item = Entry>) -> Vec<(u32, Time, Time)> {
        entries.map(|entry| (entry.packet.seq, entry.start, entry.arrival)).collect()
    }

    #[test]
    fn lines_of_one_pool_do_not_disturb_each_other() {
        let mut stream = Stream::new(1, "pool", "test");
        let mut below = |n: usize| (stream.uniform() * n as f64) as usize;
        let mut pool = Pool::default();
        let mut lines: [Model; 5] = Default::default();
        let mut most = 0;
        for step in 0..60_000_u32 {
            let at = below(5);
            let model = &mut lines[at];
            let now = Time::from_nanos(10 * u64::from(step));
            // Fills for a while, then empties.
            match below(10) + if step / 1_000 % 2 == 0 { 2 } else { 0 } {
                0..=3 => {
                    let front = model.front.packet(&pool).map(|(packet, destination)| (*packet, destination));
                    assert_eq!(front, model.packets.front().map(|entry| (entry.packet, entry.packet.seq % 7)));
                    if let Some(entry) = model.packets.pop_front() {
                        assert_eq!(model.front.times(), (entry.arrival, entry.start));
                        let waited = model.waiting > model.packets.len();
                        model.waiting -= usize::from(waited);
                        let at = model.front.place();
                        assert_eq!(model.line().detach_front(&pool), waited);
                        pool.route(at, (step, 3), 5);
                        assert_eq!(pool.get(at), (&Packet { to: step, ttl: 3, ..entry.packet }, 5));
                        assert_eq!(pool.take(at), Packet { to: step, ttl: 3, ..entry.packet });
                    }
                }
                4 => {
                    if let Some((_, start)) = model.front.waiting(&pool) {
                        assert_eq!(model.waiting().next().map(|(_, start)| start), Some(start));
                        model.line().begin(&pool);
                        model.waiting -= 1;
                    }
                }
                5 if below(20) == 0 => {
                    let stay = below(model.waiting + 2);
                    let taken = model.waiting.saturating_sub(stay);
                    let cut: Vec<_> = model.packets.split_off(model.packets.len() - taken).into();
                    let (out, newest) = model.line().cut_waiting(&mut pool, stay as u32);
                    assert_eq!(out, cut.iter().map(|entry| (entry.packet, entry.start)).collect::<Vec<_>>());
                    assert_eq!(newest, model.packets.back().map(|entry| entry.arrival));
                    model.waiting -= taken;
                }
                5 => {
                    model.front.change_waiting(&mut pool, |packet| packet.ttl ^= 1);
                    let begun = model.packets.len() - model.waiting;
                    model.packets.iter_mut().skip(begun).for_each(|entry| entry.packet.ttl ^= 1);
                }
                _ => {
                    let waits = below(3) > 0;
                    let entry = Entry {
                        packet: packet(step),
                        start: now + Duration::from_nanos(u64::from(waits)),
                        arrival: now + Duration::from_nanos(5 + below(5) as u64),
                    };
                    let times = [entry.start, entry.arrival];
                    let may_be_empty = model.packets.is_empty() || below(2) == 0;
                    let new = pool.keep(&entry.packet, step % 7);
                    let is_alone = model.line().attach(&mut pool, new, times, (waits, may_be_empty));
                    assert_eq!(is_alone, model.packets.is_empty());
                    model.packets.push_back(entry);
                    model.waiting = if waits { model.waiting + 1 } else { 0 };
                }
            }
            let model = &lines[at];
            let (front, back) = (model.front, model.back);
            assert_eq!(back.waiting as usize, model.waiting);
            assert_eq!((front.is_empty(), front.is_single(back)), (model.packets.is_empty(), model.packets.len() == 1));
            assert_eq!(front.has_begun_any(), model.packets.len() > model.waiting);
            assert!(model.packets.back().is_none_or(|entry| entry.start == back.start(&pool)));
            most = most.max(lines.iter().map(|model| model.packets.len()).sum::<usize>());
            if step % 20 != 0 {
                continue;
            }
            let all = found(model.packets.iter().copied());
            assert_eq!(found(front.iter(&pool)), all);
            assert!(front.iter_waiting(&pool).map(|(packet, start)| (*packet, start)).eq(model.waiting()));
            let from = Time::from_nanos(10 * u64::from(step.saturating_sub(below(400) as u32)));
            let later = model.packets.iter().copied().skip_while(|entry| entry.start < from);
            assert_eq!(found(front.iter(&pool).from(from)), found(later));
            let mut entries = front.iter(&pool);
            if let Some(behind) = below(all.len() + 1).checked_sub(1) {
                (0..behind).for_each(|_| _ = entries.next());
                assert_eq!(found(Front::iter_behind(&pool, entries.place())), all[behind + 1..]);
            }
            let (mut other, mut moved) = (Pool::default(), Model { front, back, ..Model::default() });
            moved.line().move_to(&pool, &mut other);
            assert_eq!((found(moved.front.iter(&other)), moved.back.waiting), (all, back.waiting));
            assert!(moved.front.iter_waiting(&other).map(|(packet, start)| (*packet, start)).eq(model.waiting()));
        }
        assert!(most > 100, "{most}");
        // Places that were given back are taken again.
        assert!(pool.places.len() <= most, "{} places for {most} packets", pool.places.len());
    }
}
