//! The packets on all links, in one place, and the line in which they stand on each.
//!
//! A packet that arrives gives its place back, and the next hop takes the same one: the place that was free last. So a
//! packet-hop writes to a cache line that it has just read, and the memory in use is that of the packets, not that of
//! the links. With a ring of places for each link, one of five cache misses of a run with many links came from writing
//! a packet into its ring, and a thousand idle links kept as much memory as the packets of the others.

use crate::link::Entry;
use crate::packet::Packet;
use skyhop_base::Time;
use skyhop_processor::prefetch;

/// No place.
const NOWHERE: u32 = u32::MAX;

/// A packet, and the times of the one behind it on the link: whoever takes the packet away knows them without reading
/// another place. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Place {
    packet: Packet,
    /// When the service of the packet begins.
    start: Time,
    /// The place behind this one on the link, or the next free one.
    next: u32,
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
    /// Memory of the places, also of free ones.
    pub fn memory_bytes(&self) -> u64 {
        (self.places.capacity() * size_of::<Place>()) as u64
    }

    /// Puts a packet into a free place.
    #[inline(always)]
    fn keep(&mut self, packet: &Packet, start: Time) -> u32 {
        let at = self.free;
        match self.places.get_mut(at as usize) {
            Some(place) => {
                self.free = place.next;
                (place.packet, place.start) = (*packet, start);
                at
            }
            None => self.keep_in_new(packet, start),
        }
    }

    /// The same where no place is free. A quarter more places at a time: doubling would leave half of them empty.
    #[cold]
    #[inline(never)]
    fn keep_in_new(&mut self, packet: &Packet, start: Time) -> u32 {
        let at = self.places.len();
        if at == self.places.capacity() {
            self.places.reserve_exact(at / 4 + 64);
        }
        let (next, next_arrival, next_start) = (NOWHERE, Time::ZERO, Time::ZERO);
        self.places.push(Place { packet: *packet, start, next, next_arrival, next_start });
        at as u32
    }

    #[inline(always)]
    fn give_back(&mut self, at: u32) {
        if let Some(place) = self.places.get_mut(at as usize) {
            place.next = self.free;
            self.free = at;
        }
    }
}

/// The packets on one link, oldest first: those whose service has begun, then those that wait. The cursor between them
/// is moved by [`Fifo::begin`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Fifo {
    /// Place of the oldest packet, [`NOWHERE`] without any; the other places then have no meaning.
    first: u32,
    last: u32,
    /// Place of the oldest packet that waits, where any does.
    first_waiting: u32,
    /// How many wait.
    pub waiting: u32,
    /// When the oldest packet arrives, and when its service began.
    arrival: Time,
    start: Time,
}

impl Default for Fifo {
    fn default() -> Fifo {
        let (arrival, start) = (Time::ZERO, Time::ZERO);
        Fifo { first: NOWHERE, last: NOWHERE, first_waiting: NOWHERE, waiting: 0, arrival, start }
    }
}

impl Fifo {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.first == NOWHERE
    }

    /// Whether there is exactly one packet.
    #[inline(always)]
    pub fn is_single(&self) -> bool {
        self.first == self.last && !self.is_empty()
    }

    /// Arrival and begin of service of the oldest packet. Of no meaning without packets.
    #[inline(always)]
    pub fn first_times(&self) -> (Time, Time) {
        (self.arrival, self.start)
    }

    /// The oldest packet.
    #[inline(always)]
    pub fn front<'a>(&self, pool: &'a Pool) -> Option<&'a Packet> {
        // NOWHERE lies outside of the places.
        pool.places.get(self.first as usize).map(|place| &place.packet)
    }

    /// Fetches the oldest packet.
    #[inline(always)]
    pub fn fetch(&self, pool: &Pool) {
        if let Some(place) = pool.places.get(self.first as usize) {
            prefetch(place);
        }
    }

    /// Adds a packet, whose service has begun if `waits` is false; that of all before it has then, too. Gives whether it
    /// is the only one.
    #[inline(always)]
    pub fn push_back(&mut self, pool: &mut Pool, packet: &Packet, [start, arrival]: [Time; 2], waits: bool) -> bool {
        let at = pool.keep(packet, start);
        let is_alone = self.is_empty();
        if is_alone {
            (self.first, self.arrival, self.start) = (at, arrival, start);
        } else if let Some(last) = pool.places.get_mut(self.last as usize) {
            (last.next, last.next_arrival, last.next_start) = (at, arrival, start);
        }
        self.last = at;
        if !waits {
            self.waiting = 0;
        } else {
            if self.waiting == 0 {
                self.first_waiting = at;
            }
            self.waiting += 1;
        }
        is_alone
    }

    /// Takes the oldest packet away. Gives whether it was one of those that wait: the cursor may not have been moved
    /// since its service began.
    #[inline(always)]
    pub fn forget_front(&mut self, pool: &mut Pool) -> bool {
        let at = self.first;
        let Some(place) = pool.places.get_mut(at as usize) else { return false };
        let next = place.next;
        let waited = self.waiting > 0 && at == self.first_waiting;
        if waited {
            (self.waiting, self.first_waiting) = (self.waiting - 1, next);
        }
        (self.arrival, self.start) = (place.next_arrival, place.next_start);
        self.first = if at == self.last { NOWHERE } else { next };
        place.next = pool.free;
        pool.free = at;
        waited
    }

    /// The oldest packet that waits, and when its service begins.
    #[inline(always)]
    pub fn front_waiting<'a>(&self, pool: &'a Pool) -> Option<(&'a Packet, Time)> {
        if self.waiting == 0 {
            return None;
        }
        pool.places.get(self.first_waiting as usize).map(|place| (&place.packet, place.start))
    }

    /// The service of the oldest packet that waits has begun.
    #[inline(always)]
    pub fn begin(&mut self, pool: &Pool) {
        if let Some(place) = pool.places.get(self.first_waiting as usize) {
            self.first_waiting = place.next;
            self.waiting -= 1;
        }
    }

    /// Whether a packet is there whose service has begun.
    pub fn has_begun_any(&self) -> bool {
        !self.is_empty() && (self.waiting == 0 || self.first != self.first_waiting)
    }

    /// When the service of the newest packet begins.
    #[inline]
    pub fn last_start(&self, pool: &Pool) -> Option<Time> {
        if self.is_empty() { None } else { pool.places.get(self.last as usize).map(|place| place.start) }
    }

    /// The same packets in another pool, for whoever takes the link there.
    #[must_use]
    pub fn moved(&self, pool: &Pool, to: &mut Pool) -> Fifo {
        let mut moved = Fifo::default();
        let begun = self.iter(pool).count() as u32 - self.waiting;
        for (place, entry) in (0..).zip(self.iter(pool)) {
            moved.push_back(to, &entry.packet, [entry.start, entry.arrival], place >= begun);
        }
        moved
    }

    /// The packets, oldest first.
    pub fn iter<'a>(&self, pool: &'a Pool) -> Entries<'a> {
        Entries { pool, at: self.first, last: self.last, times: (self.arrival, self.start) }
    }

    /// The packets, from the first one on whose service does not begin before `from`.
    pub fn iter_from<'a>(&self, pool: &'a Pool, from: Time) -> Entries<'a> {
        match pool.places.get(self.last as usize) {
            Some(last) if last.start >= from => self.iter(pool).from(from),
            _ => Entries { pool, at: NOWHERE, last: NOWHERE, times: (Time::ZERO, Time::ZERO) },
        }
    }

    /// The packets behind a place of theirs.
    pub fn iter_behind<'a>(&self, pool: &'a Pool, at: u32) -> Entries<'a> {
        let mut behind = Entries { pool, at, last: self.last, times: (Time::ZERO, Time::ZERO) };
        behind.next();
        behind
    }

    /// The packets that wait with the begin of their service, oldest first.
    pub fn iter_waiting<'a>(&self, pool: &'a Pool) -> impl Iterator<Item = (&'a Packet, Time)> + use<'a> {
        let mut at = if self.waiting > 0 { self.first_waiting } else { NOWHERE };
        let last = self.last;
        std::iter::from_fn(move || {
            let place = pool.places.get(at as usize)?;
            at = if at == last { NOWHERE } else { place.next };
            Some((&place.packet, place.start))
        })
    }

    /// Calls `change` with each packet that waits.
    pub fn change_waiting(&self, pool: &mut Pool, mut change: impl FnMut(&mut Packet)) {
        let mut at = if self.waiting > 0 { self.first_waiting } else { NOWHERE };
        while let Some(place) = pool.places.get_mut(at as usize) {
            change(&mut place.packet);
            at = if at == self.last { NOWHERE } else { place.next };
        }
    }

    /// Takes the packets that wait away but the `stay` oldest of them. Gives them with the begin of their service, and
    /// the arrival of the newest one that stays on the link.
    pub fn cut_waiting(&mut self, pool: &mut Pool, stay: u32) -> (Vec<(Packet, Time)>, Option<Time>) {
        let taken: Vec<_> =
            self.iter_waiting(pool).skip(stay as usize).map(|(packet, start)| (*packet, start)).collect();
        let mut entries = self.iter(pool);
        let mut newest = None;
        let all = self.iter(pool).count();
        for _ in taken.len()..all {
            let at = entries.at;
            newest = entries.next().map(|entry| (at, entry.arrival));
        }
        let mut at = entries.at;
        for _ in &taken {
            let next = pool.places.get(at as usize).map_or(NOWHERE, |place| place.next);
            pool.give_back(at);
            at = next;
        }
        self.waiting -= taken.len() as u32;
        match newest {
            Some((at, _)) => self.last = at,
            None => self.first = NOWHERE,
        }
        (taken, newest.map(|(_, arrival)| arrival))
    }
}

/// Packets of a link, oldest first.
#[derive(Clone, Debug)]
pub(crate) struct Entries<'a> {
    pool: &'a Pool,
    /// Place of the next one, [`NOWHERE`] at the end.
    at: u32,
    last: u32,
    times: (Time, Time),
}

impl Entries<'_> {
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
        self.at = if self.at == self.last { NOWHERE } else { place.next };
        self.times = (place.next_arrival, place.next_start);
        Some(Entry { packet: place.packet, start, arrival })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;
    use skyhop_base::{Duration, Stream};
    use std::collections::VecDeque;

    /// What a line is to hold: the packets, and how many of the newest wait.
    #[derive(Default)]
    struct Model {
        packets: VecDeque<Entry>,
        waiting: usize,
    }

    impl Model {
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
        let mut lines: [(Fifo, Model); 5] = Default::default();
        let mut most = 0;
        for step in 0..60_000_u32 {
            let at = below(5);
            let (line, model) = &mut lines[at];
            let now = Time::from_nanos(10 * u64::from(step));
            // Fills for a while, then empties.
            match below(10) + if step / 1_000 % 2 == 0 { 2 } else { 0 } {
                0..=3 => {
                    assert_eq!(line.front(&pool).copied(), model.packets.front().map(|entry| entry.packet));
                    if let Some(entry) = model.packets.pop_front() {
                        assert_eq!(line.first_times(), (entry.arrival, entry.start));
                        let waited = model.waiting > model.packets.len();
                        model.waiting -= usize::from(waited);
                        assert_eq!(line.forget_front(&mut pool), waited);
                    }
                }
                4 => {
                    if let Some((_, start)) = line.front_waiting(&pool) {
                        assert_eq!(model.waiting().next().map(|(_, start)| start), Some(start));
                        line.begin(&pool);
                        model.waiting -= 1;
                    }
                }
                5 if below(20) == 0 => {
                    let stay = below(model.waiting + 2);
                    let taken = model.waiting.saturating_sub(stay);
                    let cut: Vec<_> = model.packets.split_off(model.packets.len() - taken).into();
                    let (out, newest) = line.cut_waiting(&mut pool, stay as u32);
                    assert_eq!(out, cut.iter().map(|entry| (entry.packet, entry.start)).collect::<Vec<_>>());
                    assert_eq!(newest, model.packets.back().map(|entry| entry.arrival));
                    model.waiting -= taken;
                }
                5 => {
                    line.change_waiting(&mut pool, |packet| packet.ttl ^= 1);
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
                    let is_alone = line.push_back(&mut pool, &entry.packet, [entry.start, entry.arrival], waits);
                    assert_eq!(is_alone, model.packets.is_empty());
                    model.packets.push_back(entry);
                    model.waiting = if waits { model.waiting + 1 } else { 0 };
                }
            }
            let (line, model) = &lines[at];
            assert_eq!(line.waiting as usize, model.waiting);
            assert_eq!((line.is_empty(), line.is_single()), (model.packets.is_empty(), model.packets.len() == 1));
            assert_eq!(line.has_begun_any(), model.packets.len() > model.waiting);
            assert_eq!(line.last_start(&pool), model.packets.back().map(|entry| entry.start));
            most = most.max(lines.iter().map(|(_, model)| model.packets.len()).sum::<usize>());
            if step % 20 != 0 {
                continue;
            }
            let all = found(model.packets.iter().copied());
            assert_eq!(found(line.iter(&pool)), all);
            assert!(line.iter_waiting(&pool).map(|(packet, start)| (*packet, start)).eq(model.waiting()));
            let from = Time::from_nanos(10 * u64::from(step.saturating_sub(below(400) as u32)));
            let later = model.packets.iter().copied().skip_while(|entry| entry.start < from);
            assert_eq!(found(line.iter_from(&pool, from)), found(later));
            let mut entries = line.iter(&pool);
            if let Some(behind) = below(all.len() + 1).checked_sub(1) {
                (0..behind).for_each(|_| _ = entries.next());
                assert_eq!(found(line.iter_behind(&pool, entries.place())), all[behind + 1..]);
            }
            let mut other = Pool::default();
            let moved = line.moved(&pool, &mut other);
            assert_eq!((found(moved.iter(&other)), moved.waiting), (all, line.waiting));
        }
        assert!(most > 100, "{most}");
        // Places that were given back are taken again.
        assert!(pool.places.len() <= most, "{} places for {most} packets", pool.places.len());
    }
}
