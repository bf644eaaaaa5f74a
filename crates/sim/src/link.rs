//! A directed link: a queue, a transmitter and the air, in one ring.
//!
//! When a packet is accepted, its departure and its arrival are known at once, because the discipline is first in,
//! first out. So a link needs a single event, the arrival of its oldest packet, however many packets wait or fly.
//! One cursor splits the ring into packets whose service has begun and packets that wait; occupancy is exact after
//! the cursor has been moved to the present.

use crate::aqm::{Arrival, Red};
use crate::packet::{Flags, Packet};
use crate::spec::{OnDown, QueueConfig, QueueLimit};
use crate::trace::{Idle, Trace, TraceConfig};
use skyhop_base::{Duration, Rate, Serialiser, Stream, Time};
use std::collections::VecDeque;

/// A packet on the link.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub packet: Packet,
    /// When its service begins.
    pub start: Time,
    /// When it arrives at the other end.
    pub arrival: Time,
}

const _: () = assert!(size_of::<Entry>() == 48);

/// What became of a packet that was offered to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// Accepted on an empty link: its arrival is the link's next event.
    AcceptedFirst {
        arrival: Time,
        start: Time,
    },
    Accepted,
    /// No room in the queue.
    Full,
}

/// Totals over the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkTotals {
    pub packets: u64,
    pub bytes: u64,
    /// Time that the accepted packets take the transmitter, also beyond the end of the run.
    pub busy: Duration,
    /// Sum over accepted packets of their waiting time. By Little's law the time integral of the queue length.
    pub waiting: Duration,
    pub queue_max: u32,
}

#[derive(Debug)]
pub struct Link {
    ring: VecDeque<Entry>,
    /// Packets at the front of the ring whose service has begun, as of the last advance.
    begun: usize,
    /// Bytes that wait, as of the last advance.
    waiting_bytes: u64,
    serialiser: Serialiser,
    framing_bytes: u32,
    limit: QueueLimit,
    red: Option<Box<Red>>,
    /// A recording that says what is served when.
    trace: Option<Box<Trace>>,
    pub on_down: OnDown,
    /// When the transmitter has sent everything that was accepted.
    free_at: Time,
    last_arrival: Time,
    pub totals: LinkTotals,
}

impl Link {
    /// `stream` is for disciplines that draw lots.
    pub fn new(rate: Rate, framing_bytes: u32, queue: &QueueConfig, on_down: OnDown, stream: Stream) -> Link {
        let (limit, red) = match queue {
            QueueConfig::DropTail { limit } => (*limit, None),
            QueueConfig::Red(config) => (config.limit, Some(Box::new(Red::new(config, rate, stream)))),
        };
        Link {
            ring: VecDeque::new(),
            begun: 0,
            waiting_bytes: 0,
            serialiser: Serialiser::new(rate),
            framing_bytes,
            limit,
            red,
            trace: None,
            on_down,
            free_at: Time::ZERO,
            last_arrival: Time::ZERO,
            totals: LinkTotals::default(),
        }
    }

    /// The same link following a recording.
    pub fn with_trace(mut self, trace: Option<&TraceConfig>) -> Link {
        self.trace = trace.map(|config| Box::new(Trace::new(config.clone())));
        self
    }

    pub fn rate(&self) -> Rate {
        self.serialiser.rate()
    }

    /// Moves the cursor to `now`. `scheduled` is the scheduling time of the event that is being handled: a service
    /// that begins at this very instant has begun if it was foreseen before that event was, as in a simulator that
    /// has an event for each departure.
    #[inline]
    fn advance(&mut self, now: Time, scheduled: Time) {
        while let Some(entry) = self.ring.get(self.begun) {
            let begun = entry.start < now
                || entry.start == now
                    && self.begun.checked_sub(1).is_none_or(|before| self.ring[before].start <= scheduled);
            if !begun {
                break;
            }
            self.waiting_bytes -= u64::from(entry.packet.size);
            self.begun += 1;
        }
    }

    /// Packets that wait for the transmitter.
    pub fn queue_packets(&mut self, now: Time) -> u32 {
        self.advance(now, now);
        (self.ring.len() - self.begun) as u32
    }

    #[inline]
    fn has_room(&self, size: u16) -> bool {
        match self.limit {
            QueueLimit::Unlimited => true,
            QueueLimit::Backlog(limit) => self.waiting_bytes < limit,
            // A packet that would be served at once needs no room.
            QueueLimit::Packets(limit) => self.ring.len() - self.begun < limit as usize,
            QueueLimit::Bytes(limit) => self.waiting_bytes + u64::from(size) <= limit,
        }
    }

    /// Offers a packet at `now`. `delay` gives the propagation delay of a packet that departs at a given time.
    #[inline]
    pub fn offer(
        &mut self,
        packet: Packet,
        now: Time,
        scheduled: Time,
        delay: impl FnOnce(Time) -> Duration,
    ) -> Offered {
        if self.free_at < now && self.red.is_none() {
            // Most links, most of the time: whatever is on it has long left the transmitter, nothing need be looked at.
            self.accept(packet, now, delay);
            return self.accepted();
        }
        self.advance(now, scheduled);
        let waits = self.free_at > now || self.begun < self.ring.len();
        if self.red.is_some() && self.red_drops(&packet, now) || waits && !self.has_room(packet.size) {
            return Offered::Full;
        }
        self.accept(packet, now, delay);
        let waiting = (self.ring.len() - self.begun) as u32;
        if waits {
            self.totals.queue_max = self.totals.queue_max.max(waiting);
        }
        self.accepted()
    }

    #[inline]
    fn accepted(&self) -> Offered {
        match self.ring.len() {
            1 => Offered::AcceptedFirst { arrival: self.ring[0].arrival, start: self.ring[0].start },
            _ => Offered::Accepted,
        }
    }

    /// Random early detection: whether the packet is dropped, early or for want of room.
    fn red_drops(&mut self, packet: &Packet, now: Time) -> bool {
        let has_room = self.has_room(packet.size);
        let waiting_packets = (self.ring.len() - self.begun) as u32;
        let waiting_bytes = self.waiting_bytes;
        let idle = if waiting_packets == 0 { now.since(self.free_at) } else { Duration::ZERO };
        let Some(red) = &mut self.red else { return false };
        let size_bytes = u32::from(packet.size);
        if red.drops(&Arrival { now, size_bytes, waiting_packets, waiting_bytes, idle }) {
            return true;
        }
        let waits = waiting_packets > 0 || self.free_at > now;
        if waits && !has_room {
            red.overflowed();
        }
        waits && !has_room
    }

    /// A quarter more: a ring that doubles is half empty on a long link, and most of a run's memory is rings.
    #[cold]
    fn make_room(&mut self) {
        self.ring.reserve_exact(self.ring.len() / 4 + 4);
    }

    #[inline(always)]
    fn accept(&mut self, packet: Packet, now: Time, delay: impl FnOnce(Time) -> Duration) {
        let start = if self.free_at > now {
            self.free_at
        } else {
            if self.free_at < now {
                self.serialiser.reset();
            }
            now
        };
        let (start, departure, busy, extra) = self.serve(start, now, u32::from(packet.size) + self.framing_bytes);
        // Nothing overtakes on a link: a shrinking distance lets packets catch up, never pass.
        let arrival = (departure + delay(departure) + extra).max(self.last_arrival);
        self.totals.packets += 1;
        self.totals.bytes += u64::from(packet.size);
        self.totals.busy += busy;
        self.totals.waiting += start.since(now);
        self.free_at = departure;
        self.last_arrival = arrival;
        self.waiting_bytes += u64::from(packet.size);
        if self.ring.len() == self.ring.capacity() {
            self.make_room();
        }
        self.ring.push_back(Entry { packet, start, arrival });
        if start == now {
            // Served at once. What stood before it in the ring has long begun.
            self.begun = self.ring.len();
            self.waiting_bytes = 0;
        }
    }

    /// Beginning and end of the service of a packet that is ready at `ready`, the transmitter's time that it takes, and
    /// what a recording adds to its delay.
    #[inline]
    fn serve(&mut self, ready: Time, now: Time, bytes: u32) -> (Time, Time, Duration, Duration) {
        if let Some(trace) = &mut self.trace {
            let idle = if self.free_at < now { Idle::Yes } else { Idle::No };
            if let Some(served) = trace.serve(ready, bytes, idle) {
                return (served.start, served.departure, served.busy, trace.delay(served.departure));
            }
        }
        let busy = self.serialiser.next(bytes);
        let departure = ready + busy;
        let extra = self.trace.as_ref().map_or(Duration::ZERO, |trace| trace.delay(departure));
        (ready, departure, busy, extra)
    }

    /// The oldest packet, which has arrived.
    #[inline]
    pub fn take_arrived(&mut self) -> Option<Entry> {
        let entry = self.ring.pop_front()?;
        match self.begun.checked_sub(1) {
            Some(begun) => self.begun = begun,
            None => self.waiting_bytes -= u64::from(entry.packet.size),
        }
        Some(entry)
    }

    /// When the oldest packet on the link arrives.
    #[inline]
    pub fn next_arrival(&self) -> Option<(Time, Time)> {
        self.ring.front().map(|entry| (entry.arrival, entry.start))
    }

    /// Takes the waiting packets that `affected` names out of the queue; the others move up. `delay` as in
    /// [`Link::offer`]. Only the tail of the ring changes, so the link's event stays right unless the ring is empty.
    pub fn withdraw(
        &mut self,
        now: Time,
        mut affected: impl FnMut(&Packet) -> bool,
        mut delay: impl FnMut(&Packet, Time) -> Duration,
        out: &mut Vec<Packet>,
    ) {
        self.advance(now, now);
        if !self.ring.iter().skip(self.begun).any(|entry| affected(&entry.packet)) {
            return;
        }
        let waiting: Vec<Entry> = self.ring.drain(self.begun..).collect();
        self.waiting_bytes = 0;
        self.free_at = waiting.first().map_or(self.free_at, |entry| entry.start);
        self.last_arrival = self.ring.back().map_or(Time::ZERO, |entry| entry.arrival);
        for entry in waiting {
            let size = u32::from(entry.packet.size);
            self.totals.packets -= 1;
            self.totals.bytes -= u64::from(size);
            self.totals.busy = self.totals.busy.saturating_sub(self.rate().time_of(size + self.framing_bytes));
            self.totals.waiting = self.totals.waiting.saturating_sub(entry.start.since(now));
            if affected(&entry.packet) {
                out.push(entry.packet);
            } else {
                self.accept(entry.packet, now, |departure| delay(&entry.packet, departure));
            }
        }
    }

    /// Marks the waiting packets that `affected` names as sent in vain.
    pub fn condemn(&mut self, now: Time, mut affected: impl FnMut(&Packet) -> bool) {
        self.advance(now, now);
        for entry in self.ring.iter_mut().skip(self.begun).filter(|entry| affected(&entry.packet)) {
            entry.packet.flags = entry.packet.flags.with(Flags::IN_VAIN);
        }
    }

    /// Packets that wait and packets that are on the way, at the end of the run.
    pub fn left_over(&mut self, end: Time) -> (u64, u64) {
        self.advance(end, end);
        ((self.ring.len() - self.begun) as u64, self.begun as u64)
    }

    /// The totals cut at the end of the run: waiting and service beyond it do not count.
    pub fn totals_at(&mut self, end: Time) -> LinkTotals {
        self.advance(end, end);
        let mut totals = self.totals;
        for entry in self.ring.iter().skip(self.begun) {
            let size = u32::from(entry.packet.size);
            totals.packets -= 1;
            totals.bytes -= u64::from(size);
            totals.waiting = totals.waiting.saturating_sub(entry.start.since(end));
        }
        totals.busy = totals.busy.saturating_sub(self.free_at.since(end));
        totals
    }

    /// Time that the transmitter has been busy until `now`.
    pub fn busy_until(&self, now: Time) -> Duration {
        self.totals.busy.saturating_sub(self.free_at.since(now))
    }

    /// The packets of the ring, oldest first, for records.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.ring.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_MS: Duration = Duration::from_millis(1);

    /// 1 Mbit/s: 125 B take 1 ms.
    fn link(limit: QueueLimit) -> Link {
        let stream = Stream::new(1, "link", "queue");
        Link::new(Rate::from_bps(1_000_000).unwrap(), 0, &QueueConfig::DropTail { limit }, OnDown::Drop, stream)
    }

    fn packet(seq: u32) -> Packet {
        let flags = Flags::NONE;
        Packet { stamp: Time::ZERO, flow: 0, seq, number: seq, detail: 0, to: 0, size: 125, ttl: 64, flags }
    }

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_millis(n)
    }

    fn offer(link: &mut Link, seq: u32, now: Time) -> Offered {
        link.offer(packet(seq), now, now, |_| Duration::from_millis(10))
    }

    #[test]
    fn the_packet_in_service_does_not_count_as_waiting() {
        let mut link = link(QueueLimit::Packets(2));
        assert_eq!(offer(&mut link, 0, ms(0)), Offered::AcceptedFirst { arrival: ms(11), start: ms(0) });
        assert_eq!(offer(&mut link, 1, ms(0)), Offered::Accepted);
        assert_eq!(offer(&mut link, 2, ms(0)), Offered::Accepted);
        assert_eq!(offer(&mut link, 3, ms(0)), Offered::Full);
        // After 1.5 ms packet 1 is in service and one waits.
        let later = ms(1) + Duration::from_micros(500);
        assert_eq!(link.queue_packets(later), 1);
        assert_eq!(offer(&mut link, 4, later), Offered::Accepted);
        assert_eq!(link.totals.queue_max, 2);
    }

    #[test]
    fn a_queue_without_room_still_serves_an_idle_link() {
        let mut link = link(QueueLimit::Packets(0));
        assert!(matches!(offer(&mut link, 0, ms(0)), Offered::AcceptedFirst { .. }));
        assert_eq!(offer(&mut link, 1, ms(0)), Offered::Full);
        assert_eq!(offer(&mut link, 2, ms(1)), Offered::Accepted);
    }

    #[test]
    fn bytes_are_counted_without_the_one_in_service() {
        let mut link = link(QueueLimit::Bytes(300));
        let outcomes: Vec<_> = (0..4).map(|seq| offer(&mut link, seq, ms(0)) != Offered::Full).collect();
        assert_eq!(outcomes, [true, true, true, false]);
    }

    #[test]
    fn departures_follow_one_another_and_arrivals_keep_the_order() {
        let mut link = link(QueueLimit::Unlimited);
        for (seq, delay) in [(0, 10), (1, 9), (2, 5), (3, 30)] {
            link.offer(packet(seq), ms(0), ms(0), |_| Duration::from_millis(delay));
        }
        let arrivals: Vec<_> = std::iter::from_fn(|| link.take_arrived()).map(|e| (e.packet.seq, e.arrival)).collect();
        assert_eq!(arrivals, [(0, ms(11)), (1, ms(11)), (2, ms(11)), (3, ms(34))]);
    }

    #[test]
    fn little_s_law_gives_the_queue_integral() {
        let mut link = link(QueueLimit::Unlimited);
        (0..4).for_each(|seq| _ = offer(&mut link, seq, ms(0)));
        // Packets wait 0, 1, 2 and 3 ms; cut at 2 ms the last two count 2 ms each.
        assert_eq!(link.totals.waiting, ONE_MS * 6);
        let cut = link.totals_at(ms(2));
        assert_eq!((cut.waiting, cut.busy), (ONE_MS * 5, ONE_MS * 2));
        assert_eq!(link.left_over(ms(2)), (1, 3));
    }

    #[test]
    fn withdrawn_packets_make_room_and_the_others_move_up() {
        let mut link = link(QueueLimit::Unlimited);
        (0..5).for_each(|seq| _ = offer(&mut link, seq, ms(0)));
        let mut out = Vec::new();
        link.withdraw(ms(1), |p| p.seq % 2 == 1, |_, _| Duration::from_millis(10), &mut out);
        // At 1 ms packet 1 has just begun, so it stays; 3 leaves; 4 moves from 4 ms to 3 ms.
        assert_eq!(out.iter().map(|p| p.seq).collect::<Vec<_>>(), [3]);
        let left: Vec<_> = link.entries().map(|e| (e.packet.seq, e.start, e.arrival)).collect();
        assert_eq!(left[3], (4, ms(3), ms(14)));
        // Packets 1 to 4 waited 1, 2, 1 (until it was withdrawn) and 3 ms.
        assert_eq!(link.totals.waiting, ONE_MS * (1 + 2 + 1 + 3));
    }
}
