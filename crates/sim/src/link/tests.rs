//! Tests of a link that nothing but its rate and its queue shape.

use super::*;
use std::ops::{Deref, DerefMut};

/// A link with a pool of its own.
#[derive(Debug)]
pub(crate) struct Alone {
    link: Link,
    pool: Pool,
}

impl From<Link> for Alone {
    fn from(link: Link) -> Alone {
        Alone { link, pool: Pool::default() }
    }
}

impl Deref for Alone {
    type Target = Link;

    fn deref(&self) -> &Link {
        &self.link
    }
}

impl DerefMut for Alone {
    fn deref_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}

impl Alone {
    /// Link and pool apart.
    pub fn both(&mut self) -> (&mut Link, &mut Pool) {
        (&mut self.link, &mut self.pool)
    }

    pub fn with_deferred_departures(self) -> Alone {
        Alone { link: self.link.with_deferred_departures(), ..self }
    }

    pub fn offer(
        &mut self,
        packet: &Packet,
        now: Time,
        scheduled: Time,
        delay: impl FnOnce(Time) -> Duration,
    ) -> Offered {
        self.link.offer(&mut self.pool, packet, now, scheduled, delay)
    }

    pub fn evict_for(
        &mut self,
        packet: &Packet,
        now: Time,
        delay: impl FnMut(&Packet, Time) -> Duration,
        out: &mut Vec<Packet>,
    ) -> Eviction {
        self.link.evict_for(&mut self.pool, packet, now, delay, out)
    }

    pub fn withdraw(
        &mut self,
        now: Time,
        affected: impl FnMut(&Packet) -> bool,
        delay: impl FnMut(&Packet, Time) -> Duration,
        out: &mut Vec<Packet>,
    ) {
        self.link.withdraw(&mut self.pool, now, affected, delay, out);
    }

    pub fn mark_unreachable(&mut self, now: Time, affected: impl FnMut(&Packet) -> bool) {
        self.link.mark_unreachable(&mut self.pool, now, affected);
    }

    pub fn begin_service(&mut self, now: Time, delay: impl FnOnce(&Packet, Time) -> Duration) {
        self.link.begin_service(&mut self.pool, now, delay);
    }

    pub fn queue_packets(&mut self, now: Time) -> u32 {
        self.link.queue_packets(&self.pool, now)
    }

    pub fn take_arrived(&mut self) -> Option<Entry> {
        self.link.take_arrived(&mut self.pool)
    }

    pub fn entries(&self) -> Entries<'_> {
        self.link.entries(&self.pool)
    }

    pub fn totals_at(&mut self, end: Time) -> LinkTotals {
        self.link.totals_at(&self.pool, end)
    }

    pub fn left_over(&mut self, end: Time) -> (u64, u64) {
        self.link.left_over(&self.pool, end)
    }
}

pub(crate) const ONE_MS: Duration = Duration::from_millis(1);

/// 1 Mbit/s: 125 B take 1 ms.
pub(crate) fn built(queue: &QueueConfig) -> Alone {
    let stream = Stream::new(1, "link", "queue");
    Link::new(Rate::from_bps(1_000_000).unwrap(), 0, queue, OnDown::Drop, stream).into()
}

fn link(limit: QueueLimit) -> Alone {
    built(&QueueConfig::drop_tail(limit))
}

pub(crate) fn packet(seq: u32) -> Packet {
    let flags = Flags::NONE;
    Packet { stamp: Time::ZERO, flow: 0, seq, number: seq, detail: 0, to: 0, size: 125, ttl: 64, flags }
}

pub(crate) fn ms(n: u64) -> Time {
    Time::ZERO + Duration::from_millis(n)
}

pub(crate) fn offer(link: &mut Alone, seq: u32, now: Time) -> Offered {
    link.offer(&packet(seq), now, now, |_| Duration::from_millis(10))
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
        link.offer(&packet(seq), ms(0), ms(0), |_| Duration::from_millis(delay));
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
    assert_eq!((cut.waiting, link.used(ms(2)), link.offered(ms(2))), (ONE_MS * 5, 2_000_000, 2_000_000));
    assert_eq!(link.left_over(ms(2)), (1, 3));
}

fn late_link(limit: QueueLimit) -> Alone {
    built(&QueueConfig::drop_front(limit))
}

fn low(seq: u32) -> Packet {
    Packet { flags: Flags::LOW, ..packet(seq) }
}

/// The numbers of the packets that left for `packet`, and of those that are on the link, with their arrivals in ms.
fn evict(link: &mut Alone, packet: &Packet) -> (Eviction, Vec<u32>, Vec<(u32, Time)>) {
    let mut out = Vec::new();
    let eviction = link.evict_for(packet, ms(0), |_, _| Duration::from_millis(10), &mut out);
    let left = link.entries().map(|entry| (entry.packet.seq, entry.arrival)).collect();
    (eviction, out.iter().map(|packet| packet.seq).collect(), left)
}

#[test]
fn a_normal_packet_takes_the_place_of_the_newest_low_one() {
    let mut link = link(QueueLimit::Packets(3));
    for packet in [packet(0), low(1), low(2), packet(3)] {
        link.offer(&packet, ms(0), ms(0), |_| Duration::from_millis(10));
    }
    assert_eq!(offer(&mut link, 4, ms(0)), Offered::Full);
    let (done, out, left) = evict(&mut link, &packet(4));
    assert_eq!((done, out), (Eviction::Done, vec![2]));
    // The packets behind it have moved up; the packet in service is untouched.
    assert_eq!(left, [(0, ms(11)), (1, ms(12)), (3, ms(13)), (4, ms(14))]);
    assert_eq!(evict(&mut link, &low(5)).0, Eviction::NoneWaits, "low for low");
    assert_eq!(evict(&mut link, &packet(5)).1, [1]);
    assert_eq!(evict(&mut link, &packet(6)).0, Eviction::NoneWaits, "no more of them");
    assert_eq!((link.totals.packets, link.totals.busy, link.totals.queue_max), (4, ONE_MS * 4, 3));
    assert_eq!(link.waiting_bytes, 375);
}

#[test]
fn low_packets_leave_only_if_that_makes_room() {
    let mut link = link(QueueLimit::Bytes(300));
    for packet in [packet(0), low(1), packet(2)] {
        link.offer(&packet, ms(0), ms(0), |_| Duration::from_millis(10));
    }
    let large = Packet { size: 176, ..packet(3) };
    assert_eq!(link.offer(&large, ms(0), ms(0), |_| ONE_MS), Offered::Full);
    assert_eq!(evict(&mut link, &large).0, Eviction::NoneWaits);
    assert_eq!(evict(&mut link, &Packet { size: 175, ..large }).1, [1]);
    assert_eq!(link.waiting_bytes, 300);
}

#[test]
fn a_queue_that_knows_no_priorities_keeps_what_it_has() {
    let queue = QueueConfig { full: FullQueue::Arrival, ..QueueConfig::drop_tail(QueueLimit::Packets(1)) };
    let mut link = built(&queue);
    for packet in [packet(0), low(1)] {
        link.offer(&packet, ms(0), ms(0), |_| ONE_MS);
    }
    assert_eq!(evict(&mut link, &packet(2)).0, Eviction::Never);
}

#[test]
fn capable_packets_are_marked_above_the_threshold() {
    let discipline = Discipline::DropTail { mark_above: Some(1) };
    let queue = QueueConfig { discipline, ..QueueConfig::drop_tail(QueueLimit::Packets(4)) };
    let mut link = built(&queue);
    let capable = |seq| Packet { flags: Flags::ECT, ..packet(seq) };
    for packet in [capable(0), capable(1), capable(2), capable(3), packet(4), capable(5)] {
        link.offer(&packet, ms(0), ms(0), |_| ONE_MS);
    }
    let marked = link.entries().filter(|entry| entry.packet.flags.has(Flags::CE)).map(|entry| entry.packet.seq);
    // 0 is in service; 1, 2, 3 and 4 find none to three waiting, 5 finds no room.
    assert_eq!(marked.collect::<Vec<_>>(), [3]);
    assert_eq!(link.totals.marked, 1);
}

#[test]
fn late_departures_give_up_low_packets_first() {
    for mut link in [late_link(QueueLimit::Packets(3)), link(QueueLimit::Packets(3)).with_deferred_departures()] {
        for packet in [packet(0), packet(1), low(2), low(3)] {
            link.offer(&packet, ms(0), ms(0), |_| ONE_MS);
        }
        assert_eq!(link.offer(&low(4), ms(0), ms(0), |_| ONE_MS), Offered::Full, "low for none");
        assert_eq!(offer(&mut link, 5, ms(0)), Offered::Displaces);
        assert_eq!(link.take_displaced().iter().map(|packet| packet.seq).collect::<Vec<_>>(), [3]);
        assert_eq!((link.queue_packets(ms(0)), link.waiting().1), (3, 375));
    }
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
