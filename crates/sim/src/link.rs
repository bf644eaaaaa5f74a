//! A directed link: a queue, a transmitter and the air, in one line of packets ([`crate::pool`]).
//!
//! When a packet is accepted, its departure and its arrival are known at once, because the discipline is first in,
//! first out. So a link needs a single event, the arrival of its oldest packet, however many packets wait or fly.
//! One cursor splits the line into packets whose service has begun and packets that wait; occupancy is exact after
//! the cursor has been moved to the present.

mod crossing;
#[cfg(test)]
mod crossing_tests;
mod departures;
mod repair;
mod served;
#[cfg(test)]
pub(crate) mod tests;
mod unsteady;

pub use repair::{Answer, Reception, Repaired, Repairs};
pub use served::{QueueEvent, Refused, ServedQueue};

use crate::aqm::{Admission, QueueOnArrival, Red};
use crate::deferred::{DeferredQueue, Overflow};
use crate::ground::Path;
use crate::meter::Meter;
use crate::pace::Pacemaker;
use crate::packet::{Flags, Packet};
pub use crate::pool::Entry;
use crate::pool::{Back, Entries, Front, Line, Pool};
use crate::spec::{Discipline, FullQueue, OnDown, QueueConfig, QueueLimit};
use crate::trace::Served;
use skyhop_base::{Carry, Duration, Rate, Stream, Time};

/// What became of a packet that was offered to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// Accepted on an empty link: its arrival is the link's next event.
    AcceptedFirst {
        arrival: Time,
        start: Time,
    },
    Accepted,
    /// The first that waits for a departure ([`DeferredQueue`]): the link's next event may be the end of the service
    /// before it.
    Waits,
    /// Accepted at the cost of older packets: [`Link::take_displaced`].
    Displaces,
    /// A queue discipline is to take it: [`Link::enqueue`].
    ToDiscipline,
    /// Dropped early, though there would be room.
    Early,
    /// No room in the queue.
    Full,
}

/// What became of a packet that found no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// Others left for it, it is accepted.
    Done,
    /// Nothing of lower priority waits, or not enough.
    NoneWaits,
    /// This queue knows no priorities.
    Never,
}

/// Totals over the run.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct LinkTotals {
    pub packets: u64,
    pub bytes: u64,
    /// Time that the accepted packets take the transmitter, also beyond the end of the run. An opportunity stands for
    /// the time since the one before it.
    pub busy: Duration,
    /// Sum over accepted packets of their waiting time. By Little's law the time integral of the queue length.
    pub waiting: Duration,
    pub queue_max: u32,
    /// Packets that were marked.
    pub marked: u64,
}

/// What every packet touches stands in front, on three cache lines: with many flows each link is read anew. An arrival
/// touches the first one. An offer touches the two behind it, and the first one only if the link may be empty or makes
/// the packet wait.
///
/// Large because a packet's whole stay is its business: queue, transmitter, repair, propagation. Functions of one part
/// stand in a file of `link/`.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Link {
    /// While its next arrival is in a list of the calendar: the link behind it there.
    pub next: u32,
    /// No errors, no records of packets, no deferred departures: arrivals need not ask for them one by one.
    pub plain: bool,
    /// Packets keep their arrivals once they are accepted: [`EventQueue::add_to_crowd`].
    pub settled: bool,
    /// Each packet is recorded, or the clock is ns-2's, or the link may lead to another part of a run.
    pub watched: bool,
    pub on_down: OnDown,
    /// The cursor between packets whose service has begun and packets that wait is as of the last advance.
    front: Front,
    /// The schedule of service, if the rate alone does not determine it, …
    pace: Option<Box<Pacemaker>>,
    /// … and the part of it used so far.
    meter: Option<Box<Meter>>,
    red: Option<Box<Red>>,
    /// Packets whose departure is not yet known.
    deferred: Option<Box<DeferredQueue>>,

    back: Back,
    framing_bytes: u32,
    /// Nothing but a limit: no RED, no marks, no deferred departures.
    simple: bool,
    /// Simple, and the rate alone determines the service; not watched.
    steady: bool,
    /// Steady but for packets that leave the part of a run.
    steady_within: bool,
    /// [`Link::hands_over`].
    hands_over: bool,
    rate: Rate,
    /// The path to the other end, for whoever has the topology.
    pub path: Path,

    /// When the transmitter has sent everything that was accepted.
    free_at: Time,
    last_arrival: Time,
    carry: Carry,
    /// Half of them are on the line of the three fields before.
    pub totals: LinkTotals,

    /// Bytes that wait, as of the last advance: none where all packets have begun.
    waiting_bytes: u64,
    /// When the service of the packet before the first one that waits began, where one waits, as of the last advance.
    service_began: Time,
    limit: QueueLimit,
    /// Until then at most, packets of low priority wait in the line.
    low_until: Time,
    /// ECN-capable packets that find more than so many waiting are marked.
    mark_above: u32,
    full: FullQueue,
    /// When the last packet that was handed over arrives.
    handed_over_until: Time,
    /// Packets in flight at the end of the run that only the far end's part knows.
    flying_elsewhere: u64,
}

const _: () = assert!(std::mem::offset_of!(Link, back) == 64);
const _: () = assert!(std::mem::offset_of!(Link, free_at) == 128);
const _: () = assert!(std::mem::offset_of!(Link, totals.waiting) == 192);

impl Link {
    /// `stream` is for disciplines that draw lots.
    pub fn new(rate: Rate, framing_bytes: u32, queue: &QueueConfig, on_down: OnDown, stream: Stream) -> Link {
        let (mark_above, red, deferred) = match &queue.discipline {
            Discipline::DropTail { mark_above } => (*mark_above, None, None),
            Discipline::DropFront { mark_above } => {
                (*mark_above, None, Some(Box::new(DeferredQueue::new(Overflow::Front))))
            }
            Discipline::Red(config) => (None, Some(Box::new(Red::new(config, rate, stream))), None),
            Discipline::Served(_) => (None, None, Some(Box::new(DeferredQueue::new(Overflow::Tail)))),
        };
        let simple = red.is_none() && deferred.is_none() && mark_above.is_none();
        Link {
            next: u32::MAX,
            front: Front::default(),
            back: Back::default(),
            path: Path::fixed(Duration::ZERO, u32::MAX),
            waiting_bytes: 0,
            service_began: Time::ZERO,
            carry: Carry::default(),
            rate,
            framing_bytes,
            limit: queue.limit,
            full: queue.full,
            mark_above: mark_above.unwrap_or(u32::MAX),
            simple,
            steady: simple,
            steady_within: false,
            hands_over: false,
            handed_over_until: Time::ZERO,
            flying_elsewhere: 0,
            plain: false,
            settled: false,
            watched: false,
            red,
            deferred,
            pace: None,
            meter: None,
            on_down,
            free_at: Time::ZERO,
            last_arrival: Time::ZERO,
            low_until: Time::ZERO,
            totals: LinkTotals::default(),
        }
    }

    /// The same link at another pace.
    pub fn with_pace(mut self, pace: Option<Pacemaker>) -> Link {
        self.meter = pace.is_some().then(Box::default);
        self.steady &= pace.is_none();
        self.pace = pace.map(Box::new);
        self
    }

    /// The same link working out departures only when service begins: where packets that wait may be withdrawn from a
    /// link that follows a recording.
    pub fn with_deferred_departures(mut self) -> Link {
        self.deferred.get_or_insert_with(|| Box::new(DeferredQueue::new(Overflow::Tail)));
        (self.simple, self.steady) = (false, false);
        self
    }

    /// From now on the link is watched.
    pub fn watch(&mut self) {
        (self.watched, self.steady) = (true, false);
    }

    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Moves the cursor to `now`. `scheduled` is the scheduling time of the event that is being handled: a service
    /// that begins at this very instant has begun if it was foreseen before that event was, as in a simulator that
    /// has an event for each departure.
    #[inline]
    fn advance(&mut self, pool: &Pool, now: Time, scheduled: Time) {
        while let Some((&Packet { size, .. }, start)) = self.front.waiting(pool) {
            if start >= now {
                if start == now {
                    self.advance_at(pool, now, scheduled);
                }
                break;
            }
            self.begin(pool, size, start);
        }
    }

    /// [`Link::advance`] from a service on that begins at `now`. Apart, because a call in the other loop makes it keep
    /// everything in memory.
    #[cold]
    #[inline(never)]
    fn advance_at(&mut self, pool: &Pool, now: Time, scheduled: Time) {
        while let Some((&Packet { size, .. }, start)) = self.front.waiting(pool) {
            if start > now || start == now && !self.begins_first(scheduled) {
                break;
            }
            self.begin(pool, size, start);
        }
    }

    /// The service of the first packet that waits, of `size` bytes, began at `start`.
    #[inline(always)]
    fn begin(&mut self, pool: &Pool, size: u16, start: Time) {
        self.waiting_bytes -= u64::from(size);
        self.service_began = start;
        self.line_mut().begin(pool);
    }

    /// Packets that wait for the transmitter.
    pub fn queue_packets(&mut self, pool: &Pool, now: Time) -> u32 {
        self.advance(pool, now, now);
        self.waiting().0
    }

    /// Counts the newest packet, which an idle link accepted and a recording does not serve yet, among those that wait.
    #[cold]
    fn note_held_back(&mut self) {
        self.totals.queue_max = self.totals.queue_max.max(self.waiting_in_line().0);
    }

    /// Packets and bytes that wait, as of the last advance.
    #[inline]
    fn waiting(&self) -> (u32, u64) {
        let (packets, bytes) = self.waiting_in_line();
        match &self.deferred {
            None => (packets, bytes),
            Some(deferred) => (packets + deferred.packets(), bytes + deferred.bytes()),
        }
    }

    #[inline]
    fn waiting_in_line(&self) -> (u32, u64) {
        (self.back.waiting, self.waiting_bytes)
    }

    /// Whether a packet that comes now is not served at once.
    #[inline]
    fn makes_wait(&self, now: Time) -> bool {
        self.free_at > now || self.back.waiting > 0
    }

    /// Whether a packet of this size would find no room if it had to wait.
    pub fn is_full(&mut self, pool: &Pool, now: Time, size: u16) -> bool {
        self.advance(pool, now, now);
        !self.has_room(size)
    }

    /// For a packet that would not be served at once.
    #[inline]
    fn has_room(&self, size: u16) -> bool {
        let (packets, bytes) = self.waiting();
        self.limit.has_room(packets, bytes, size)
    }

    /// Whether a packet that comes now is served at once, for a time that the rate alone determines. So it is on most
    /// links most of the time: packets on it have long left the transmitter, and none need be looked at.
    #[inline(always)]
    pub fn is_idle(&self, now: Time) -> bool {
        self.free_at < now && self.steady
    }

    /// The same for a packet that stays in the part of a run.
    #[inline(always)]
    pub fn is_idle_within(&self, now: Time) -> bool {
        self.free_at < now && self.steady_within
    }

    /// The service of a packet of `size` bytes on an idle link.
    #[inline(always)]
    pub fn serve_at_once(&mut self, size: u16, now: Time) -> Served {
        let busy = self.carry.first(&self.rate, u32::from(size) + self.framing_bytes);
        Served { start: now, departure: now + busy, busy }
    }

    /// Whether the rate alone determines the service, and nothing but a limit the queue.
    #[inline(always)]
    pub fn is_steady(&self) -> bool {
        self.steady
    }

    /// The service of a packet of `size` bytes on a steady link, and whether the packet has to wait for it. `None`: it
    /// would have to, and the queue has no room.
    #[inline(always)]
    pub fn serve_in_turn(&mut self, pool: &Pool, size: u16, now: Time, scheduled: Time) -> Option<(Served, bool)> {
        self.advance(pool, now, scheduled);
        let waits = self.makes_wait(now);
        let (packets, bytes) = self.waiting_in_line();
        if waits && !self.limit.has_room(packets, bytes, size) {
            return None;
        }
        let start = self.next_start(now);
        Some((self.serve_steadily(size, start), waits))
    }

    /// Puts the packet at a place, of `size` bytes, with that service on a steady link. Gives its arrival, and whether
    /// it is alone there.
    #[inline(always)]
    pub fn put_served(
        &mut self,
        pool: &mut Pool,
        (at, size): (u32, u16),
        now: Time,
        (served, waits): (&Served, bool),
        delay: Duration,
    ) -> (Time, bool) {
        // A packet that has yet to arrive is on the link. If the last one has arrived, the cache line of the oldest
        // packet says whether it has been taken.
        let may_be_empty = self.last_arrival <= now;
        let (arrival, is_alone) = self.put(pool, (at, size), now, served, (served.departure + delay, may_be_empty));
        if waits {
            self.note_waiting(pool.get(at).0, served.start);
        }
        (arrival, is_alone)
    }

    /// Offers a packet at `now`. `delay` gives the propagation delay of a packet that departs at a given time.
    #[inline]
    pub fn offer(
        &mut self,
        pool: &mut Pool,
        packet: &Packet,
        now: Time,
        scheduled: Time,
        delay: impl FnOnce(Time) -> Duration,
    ) -> Offered {
        if !self.simple {
            return self.offer_managed(pool, *packet, now, scheduled, delay);
        }
        self.advance(pool, now, scheduled);
        let (packets, bytes) = self.waiting_in_line();
        if self.makes_wait(now) && !self.limit.has_room(packets, bytes, packet.size) {
            return Offered::Full;
        }
        self.admit(pool, packet, now, delay)
    }

    /// [`Link::offer`] for a queue that marks, drops early, or defers departures.
    #[inline(never)]
    fn offer_managed(
        &mut self,
        pool: &mut Pool,
        mut packet: Packet,
        now: Time,
        scheduled: Time,
        delay: impl FnOnce(Time) -> Duration,
    ) -> Offered {
        if self.discipline().is_some() {
            return Offered::ToDiscipline;
        }
        self.advance(pool, now, scheduled);
        if self.deferred.is_some() {
            return self.offer_deferred(pool, packet, now, delay);
        }
        let admission = self.admission(&packet, now);
        if admission == Admission::Drop {
            return Offered::Early;
        }
        if self.makes_wait(now) && !self.has_room(packet.size) {
            self.overflowed();
            return Offered::Full;
        }
        if admission == Admission::Mark {
            self.mark(&mut packet);
        }
        let offered = self.admit(pool, &packet, now, delay);
        self.in_order_of_ns2_clock(offered)
    }

    /// Accepts a packet for which there is room.
    #[inline(always)]
    fn admit(&mut self, pool: &mut Pool, packet: &Packet, now: Time, delay: impl FnOnce(Time) -> Duration) -> Offered {
        let waits = self.makes_wait(now);
        let (arrival, start) = self.accept(pool, packet, now, delay);
        if waits {
            self.note_waiting(packet, start);
        }
        self.accepted(arrival, start)
    }

    /// What the queue makes of a packet, whether there is room for it or not.
    #[inline]
    fn admission(&mut self, packet: &Packet, now: Time) -> Admission {
        if self.red.is_some() {
            return self.red_decides(packet, now);
        }
        let marks = packet.flags.has(Flags::ECT) && self.waiting().0 > self.mark_above;
        if marks { Admission::Mark } else { Admission::Pass }
    }

    fn mark(&mut self, packet: &mut Packet) {
        packet.flags = packet.flags.with(Flags::CE);
        self.totals.marked += 1;
    }

    fn overflowed(&mut self) {
        if let Some(red) = &mut self.red {
            red.overflowed();
        }
    }

    /// What the newest packet, which waits until `start`, means for the queue.
    #[inline(always)]
    fn note_waiting(&mut self, packet: &Packet, start: Time) {
        self.totals.queue_max = self.totals.queue_max.max(self.waiting_in_line().0);
        if packet.is_low() {
            self.low_until = start;
        }
    }

    /// For a packet that found no room: packets of low priority leave the queue, the newest first, as many as are
    /// needed, and it is accepted. Otherwise nothing is changed. `delay` as in [`Link::withdraw`]. The oldest packet
    /// stays, so the link's event does.
    #[cold]
    pub fn evict_for(
        &mut self,
        pool: &mut Pool,
        packet: &Packet,
        now: Time,
        mut delay: impl FnMut(&Packet, Time) -> Duration,
        out: &mut Vec<Packet>,
    ) -> Eviction {
        // What a recording or slots have served keeps its time; deferred departures have been looked through.
        let keeps_time = self.pace.is_some() && self.deferred.is_none() && !self.has_ns2_clock();
        if self.full == FullQueue::Arrival || keeps_time {
            return Eviction::Never;
        }
        if packet.is_low() || self.low_until <= now || self.deferred.is_some() {
            return Eviction::NoneWaits;
        }
        let (mut packets, mut bytes) = self.waiting();
        let goes = |packet: &Packet, start: Time| start > now && packet.is_low();
        let queue: Vec<_> =
            self.front.iter_waiting(pool).map(|(packet, start)| (packet.size, goes(packet, start))).collect();
        let from = (0..queue.len()).rev().find(|&at| {
            if let (size, true) = queue[at] {
                (packets, bytes) = (packets - 1, bytes - u64::from(size));
            }
            self.limit.has_room(packets, bytes, packet.size)
        });
        let Some(from) = from else { return Eviction::NoneWaits };
        self.lay_again(pool, from as u32, now, Packet::is_low, &mut delay, out);
        let (_, start) = self.accept(pool, packet, now, |departure| delay(packet, departure));
        self.note_waiting(packet, start);
        let newest = self.front.iter_waiting(pool).filter(|(packet, start)| goes(packet, *start)).last();
        self.low_until = newest.map_or(Time::ZERO, |(_, start)| start);
        Eviction::Done
    }

    /// Whether a full queue gives up packets of low priority first.
    pub fn knows_priorities(&self) -> bool {
        self.full == FullQueue::LowFirst
    }

    /// For a packet that has just been accepted.
    #[inline]
    fn accepted(&self, arrival: Time, start: Time) -> Offered {
        if self.front.is_single(self.back) { Offered::AcceptedFirst { arrival, start } } else { Offered::Accepted }
    }

    /// What random early detection makes of the packet, whether there is room or not.
    fn red_decides(&mut self, packet: &Packet, now: Time) -> Admission {
        let (waiting_packets, waiting_bytes) = self.waiting();
        let idle = if waiting_packets == 0 { now.since(self.free_at) } else { Duration::ZERO };
        let (size_bytes, ecn_capable) = (u32::from(packet.size), packet.flags.has(Flags::ECT));
        let arrival = QueueOnArrival { now, size_bytes, ecn_capable, waiting_packets, waiting_bytes, idle };
        self.red.as_mut().map_or(Admission::Pass, |red| red.decides(&arrival))
    }

    /// Accepts a packet. Gives its arrival, and when its service begins.
    #[inline(always)]
    fn accept(
        &mut self,
        pool: &mut Pool,
        packet: &Packet,
        now: Time,
        delay: impl FnOnce(Time) -> Duration,
    ) -> (Time, Time) {
        let start = self.next_start(now);
        let (served, arrival) = if self.pace.is_none() {
            let served = self.serve_steadily(packet.size, start);
            let departure = served.departure;
            (served, departure + delay(departure))
        } else {
            self.serve_at_pace(start, now, u32::from(packet.size) + self.framing_bytes, delay)
        };
        let at = pool.keep(packet, Pool::UNKNOWN);
        let may_be_empty = self.last_arrival <= now || self.hands_over;
        let (arrival, _) = self.put(pool, (at, packet.size), now, &served, (arrival, may_be_empty));
        if self.pace.is_some() && served.start > now {
            self.note_held_back();
        }
        (arrival, served.start)
    }

    /// When the service of a packet that is accepted now begins.
    #[inline(always)]
    fn next_start(&mut self, now: Time) -> Time {
        if self.free_at > now {
            return self.free_at;
        }
        if self.free_at < now {
            self.carry.reset();
        }
        now
    }

    /// The service of a packet of `size` bytes by the rate alone.
    #[inline(always)]
    fn serve_steadily(&mut self, size: u16, start: Time) -> Served {
        let busy = self.carry.next(&self.rate, u32::from(size) + self.framing_bytes);
        Served { start, departure: start + busy, busy }
    }

    /// Puts the packet at a place, of `size` bytes, on the link: in the totals and in the line. `may_be_empty` tells
    /// whether the line has to be looked at for that. Gives the arrival, and whether the packet is alone there.
    #[inline(always)]
    fn put(
        &mut self,
        pool: &mut Pool,
        (at, size): (u32, u16),
        now: Time,
        served: &Served,
        (arrival, may_be_empty): (Time, bool),
    ) -> (Time, bool) {
        let (arrival, waits) = self.count(pool, size, now, served, arrival);
        debug_assert!(may_be_empty || !self.front.is_empty(), "a packet has left before its arrival");
        let is_alone = self.line_mut().attach(pool, at, [served.start, arrival], (waits, may_be_empty));
        (arrival, is_alone)
    }

    /// Adds a packet of `size` bytes with that service to the totals. Gives its arrival, and whether it waits.
    #[inline(always)]
    fn count(&mut self, pool: &Pool, size: u16, now: Time, served: &Served, arrival: Time) -> (Time, bool) {
        let size = u64::from(size);
        let &Served { start, departure, busy } = served;
        // ns-2's clock rounds each of these instants.
        debug_assert!(now <= start && (start <= departure && departure <= arrival || self.has_ns2_clock()));
        // Nothing overtakes on a link: a shrinking distance lets packets catch up, never pass.
        let arrival = arrival.max(self.last_arrival);
        self.totals.packets += 1;
        self.totals.bytes += size;
        self.totals.busy += busy;
        self.free_at = departure;
        self.last_arrival = arrival;
        let waits = start != now;
        if waits {
            self.totals.waiting += start.since(now);
            if self.back.waiting == 0 && !self.front.is_empty() {
                self.service_began = self.back.start(pool);
            }
            self.waiting_bytes += size;
        } else if self.back.waiting > 0 {
            // Served at once: all packets before it have long begun.
            self.waiting_bytes = 0;
        }
        (arrival, waits)
    }

    #[inline(always)]
    fn line_mut(&mut self) -> Line<'_> {
        Line { front: &mut self.front, back: &mut self.back }
    }

    /// The oldest packets.
    #[inline(always)]
    pub fn front(&self) -> &Front {
        &self.front
    }

    /// Takes the oldest packet of a link that has any, which has arrived, off the link; it keeps its place, which is
    /// given. A packet that goes on to another link takes its place along: copying it would cost thirty cycles, half of
    /// them because a processor cannot read in one piece what it has just written in several (a failed store-to-load
    /// forwarding).
    #[inline(always)]
    pub fn detach_arrived(&mut self, pool: &Pool) -> u32 {
        let at = self.front.place();
        if self.line_mut().detach_front(pool) {
            self.waiting_bytes -= u64::from(pool.get(at).0.size);
        }
        at
    }

    /// Takes the oldest packet, which has arrived, off the link and out of its place.
    pub fn take_arrived(&mut self, pool: &mut Pool) -> Option<Entry> {
        let entry = self.front.iter(pool).next()?;
        let at = self.detach_arrived(pool);
        pool.take(at);
        Some(entry)
    }

    /// When the oldest packet on the link arrives.
    pub fn next_arrival(&self) -> Option<Time> {
        self.first_arrival().map(|(arrival, _)| arrival)
    }

    /// When the oldest packet on the link arrives, and when its service begins.
    #[inline]
    pub fn first_arrival(&self) -> Option<(Time, Time)> {
        if self.front.is_empty() { None } else { Some(self.front.times()) }
    }

    /// When the oldest packet on the link arrives, or a departure has to be worked out; and when that was foreseen.
    /// Neither lies before `now`.
    #[inline]
    pub fn next_event(&self, now: Time) -> Option<(Time, Time)> {
        let arrival = self.first_arrival();
        if self.simple {
            return arrival;
        }
        self.next_event_of_unsteady(arrival, now)
    }

    /// Takes the waiting packets that `affected` names out of the queue; the others move up. `delay` as in
    /// [`Link::offer`]. Only the tail of the line changes, so the link's event stays right unless the line is empty.
    pub fn withdraw(
        &mut self,
        pool: &mut Pool,
        now: Time,
        mut affected: impl FnMut(&Packet) -> bool,
        delay: impl FnMut(&Packet, Time) -> Duration,
        out: &mut Vec<Packet>,
    ) {
        self.advance(pool, now, now);
        if let Some(deferred) = &mut self.deferred {
            self.totals.waiting += deferred.withdraw(now, affected, out);
            return self.settle_repairs(pool, now);
        }
        if self.front.iter_waiting(pool).any(|(packet, _)| affected(packet)) {
            self.lay_again(pool, 0, now, affected, delay, out);
        }
    }

    /// Takes the packets that `affected` names out of the queue behind the `stay` oldest ones that wait; the others
    /// move up.
    fn lay_again(
        &mut self,
        pool: &mut Pool,
        stay: u32,
        now: Time,
        mut affected: impl FnMut(&Packet) -> bool,
        mut delay: impl FnMut(&Packet, Time) -> Duration,
        out: &mut Vec<Packet>,
    ) {
        let (waiting, last_arrival) = self.line_mut().cut_waiting(pool, stay);
        if let Some(Pacemaker::Ns2Clock(pace)) = self.pace.as_deref_mut() {
            pace.take_back(waiting.len());
        }
        self.waiting_bytes -= waiting.iter().map(|(packet, _)| u64::from(packet.size)).sum::<u64>();
        let taken_until = self.free_at;
        self.free_at = waiting.first().map_or(self.free_at, |(_, start)| *start);
        if self.pace.is_none() {
            // Everything behind the packet in service is taken back, answers of a link that repeats among it.
            self.totals.busy = self.totals.busy.saturating_sub(taken_until.since(self.free_at));
        }
        if let Some(meter) = &mut self.meter {
            meter.cut(self.free_at);
        }
        // The line does not have all packets that were handed over.
        self.last_arrival = last_arrival.unwrap_or(Time::ZERO).max(self.handed_over_until);
        for (packet, start) in waiting {
            let size = u32::from(packet.size);
            self.totals.packets -= 1;
            self.totals.bytes -= u64::from(size);
            if self.pace.is_some() {
                let busy = self.rate().time_of(size + self.framing_bytes);
                self.totals.busy = self.totals.busy.saturating_sub(busy);
            }
            self.totals.waiting = self.totals.waiting.saturating_sub(start.since(now));
            if affected(&packet) {
                out.push(packet);
            } else {
                self.accept(pool, &packet, now, |departure| delay(&packet, departure));
            }
        }
    }

    /// Marks the waiting packets that `affected` names as sent to a peer that has gone.
    pub fn mark_unreachable(&mut self, pool: &mut Pool, now: Time, mut affected: impl FnMut(&Packet) -> bool) {
        self.advance(pool, now, now);
        if let Some(deferred) = &mut self.deferred {
            return deferred.mark_unreachable(affected);
        }
        self.front.change_waiting(pool, |packet| {
            if affected(packet) {
                packet.flags = packet.flags.with(Flags::UNREACHABLE);
            }
        });
    }

    /// Packets that wait and packets in flight, at the end of the run.
    pub fn left_over(&mut self, pool: &Pool, end: Time) -> (u64, u64) {
        self.advance(pool, end, end);
        let repairs = self.deferred.as_ref().and_then(|deferred| deferred.repairs.as_ref());
        let begun = self.front.iter(pool).count() as u64 - u64::from(self.back.waiting);
        let flying = begun + self.flying_elsewhere;
        (u64::from(self.waiting().0), flying + repairs.map_or(0, Repairs::outstanding))
    }

    /// The totals cut at the end of the run: waiting and service beyond it do not count.
    pub fn totals_at(&mut self, pool: &Pool, end: Time) -> LinkTotals {
        self.advance(pool, end, end);
        let mut totals = self.totals;
        for (packet, start) in self.front.iter_waiting(pool) {
            totals.packets -= 1;
            totals.bytes -= u64::from(packet.size);
            totals.waiting = totals.waiting.saturating_sub(start.since(end));
        }
        if let Some(deferred) = &self.deferred {
            totals.waiting += deferred.waited(end);
        }
        if let Some(discipline) = self.discipline() {
            totals.marked = discipline.marked;
        }
        totals
    }

    /// The amount of the link used until `now`, in nanoseconds of its transmitter, or in bytes of its opportunities.
    pub fn used(&mut self, now: Time) -> u64 {
        match &mut self.meter {
            Some(meter) => meter.used(now),
            // Without a pause from now to the end of the last service.
            None => self.totals.busy.saturating_sub(self.free_at.since(now)).as_nanos(),
        }
    }

    /// All that there was to use until `now`, in the unit of [`Link::used`].
    pub fn offered(&self, now: Time) -> u64 {
        self.pace.as_ref().and_then(|pace| pace.offered(now)).unwrap_or(now.as_nanos())
    }

    /// Memory that packets before the link take. Those on it are in the [`Pool`].
    pub fn memory_bytes(&self) -> u64 {
        self.deferred.as_ref().map_or(0, |deferred| deferred.memory_bytes())
    }

    /// The packets on the link whose arrival is known, oldest first, for records.
    pub fn entries<'a>(&self, pool: &'a Pool) -> Entries<'a> {
        self.front.iter(pool)
    }
}
