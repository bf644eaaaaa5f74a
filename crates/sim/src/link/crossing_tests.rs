//! A link that hands packets over beside one that keeps them until they arrive.

use super::tests::{Alone, built, ms, packet};
use super::{Eviction, Offered};
use crate::packet::{Flags, Packet};
use crate::spec::{QueueConfig, QueueLimit};
use skyhop_base::{Duration, Stream, Time};
use std::collections::BTreeMap;

/// The near end of a cut link, and what it has told of packets: start of service and arrival, by number.
struct Near {
    link: Alone,
    told: BTreeMap<u32, (Time, Time)>,
    /// Packets that were accepted and remain to be told.
    untold: Vec<u32>,
    /// Nothing but a full queue takes packets off the link before.
    safe_until: Time,
}

/// Delays fall from time to time, so packets catch up with those before them.
fn delay(departure: Time) -> Duration {
    Duration::from_millis(10 - 3 * (departure.as_nanos() / 8_000_000 % 3))
}

impl Near {
    fn offer(&mut self, packet: &Packet, now: Time, scheduled: Time) -> bool {
        let told = &self.told;
        let told_in_line = self.link.entries().take_while(|entry| told.contains_key(&entry.packet.seq)).count();
        let (link, pool) = self.link.both();
        let Some((served, waits)) = link.serve_in_turn(pool, packet.size, now, scheduled) else { return false };
        link.forget_begun(pool, told_in_line);
        let at = pool.keep(packet, 0);
        let remains = served.start >= self.safe_until || !self.untold.is_empty() || waits && packet.is_low();
        let earliest = served.departure + delay(served.departure);
        let (arrival, stays) = link.hand_over(pool, (at, packet.size), now, &served, (earliest, remains));
        if !stays {
            pool.take(at);
        }
        match remains {
            true => self.untold.push(packet.seq),
            false => _ = self.told.insert(packet.seq, (served.start, arrival)),
        }
        true
    }

    /// Tells what has begun before an instant.
    fn tell(&mut self, before: Time) {
        let begun = self.link.entries().filter(|entry| entry.start < before);
        let new: Vec<_> = begun.map(|entry| (entry.packet.seq, (entry.start, entry.arrival))).collect();
        for (seq, times) in new {
            if self.untold.contains(&seq) {
                self.untold.retain(|&untold| untold != seq);
                self.told.insert(seq, times);
            }
        }
    }

    /// Packets that wait and packets in flight.
    fn left_over(&mut self, now: Time) -> (u64, u64) {
        let in_line: Vec<u32> = self.link.entries().map(|entry| entry.packet.seq).collect();
        let flying = |(seq, (_, arrival)): (&u32, &(Time, Time))| *arrival > now && !in_line.contains(seq);
        let elsewhere = self.told.iter().filter(|&told| flying(told)).count();
        let arrived = self.told.iter().filter(|&(seq, times)| times.1 <= now && in_line.contains(seq)).count();
        let (waiting, in_flight) = self.link.left_over(now);
        (waiting, in_flight + elsewhere as u64 - arrived as u64)
    }
}

#[test]
fn handing_packets_over_changes_nothing_that_anybody_sees() {
    let mut stream = Stream::new(1, "link", "test");
    let (mut withdrawn, mut evicted, mut told_at_once) = (0, 0, 0);
    for run in 0..200 {
        let queue = QueueConfig::drop_tail(QueueLimit::Packets(2 + run % 7));
        let mut whole = built(&queue);
        let mut near = Near { link: built(&queue), told: BTreeMap::new(), untold: Vec::new(), safe_until: ms(20) };
        near.link.watch_leaving(true);
        assert!(near.link.hands_over());
        let mut arrivals = BTreeMap::new();
        let mut now = ms(0);
        for seq in 0..150 {
            // Halves of a millisecond, so that events often fall on the start of a service.
            let pause = if stream.uniform() < 0.05 { 30 } else { (3.2 * stream.uniform()) as u64 };
            now += Duration::from_micros(500 * pause);
            while near.safe_until <= now {
                let at = near.safe_until;
                let (mut ours, mut theirs) = (Vec::new(), Vec::new());
                let affected = |packet: &Packet| packet.seq.is_multiple_of(3);
                whole.withdraw(at, affected, |_, departure| delay(departure), &mut ours);
                near.tell(at);
                near.link.withdraw(at, affected, |_, departure| delay(departure), &mut theirs);
                assert_eq!(ours, theirs, "run {run} at {at:?}");
                near.untold.retain(|seq| !theirs.iter().any(|packet| packet.seq == *seq));
                withdrawn += theirs.len();
                near.safe_until = at + Duration::from_millis(20);
            }
            near.tell(now);
            while whole.next_arrival().is_some_and(|arrival| arrival < now) {
                let entry = whole.take_arrived().expect("a packet has arrived");
                arrivals.insert(entry.packet.seq, (entry.start, entry.arrival));
            }
            let size = if stream.uniform() < 0.7 { 125 } else { 250 };
            let flags = if stream.uniform() < 0.1 { Flags::LOW } else { Flags::NONE };
            let packet = Packet { size, flags, ..packet(seq) };
            let scheduled = ms(0) + Duration::from_nanos((stream.uniform() * now.as_nanos() as f64) as u64);
            let scheduled = if stream.uniform() < 0.5 { scheduled } else { now };
            let accepted = whole.offer(&packet, now, scheduled, delay) != Offered::Full;
            let untold = near.untold.len();
            assert_eq!(near.offer(&packet, now, scheduled), accepted, "run {run}, packet {seq}");
            told_at_once += usize::from(accepted && near.untold.len() == untold);
            if !accepted {
                let (mut ours, mut theirs) = (Vec::new(), Vec::new());
                let eviction = whole.evict_for(&packet, now, |_, departure| delay(departure), &mut ours);
                let of_near = near.link.evict_for(&packet, now, |_, departure| delay(departure), &mut theirs);
                assert_eq!((&eviction, &ours), (&of_near, &theirs), "run {run}, packet {seq}");
                near.untold.retain(|seq| !theirs.iter().any(|packet| packet.seq == *seq));
                if matches!(eviction, Eviction::Done) {
                    evicted += theirs.len();
                    near.untold.push(seq);
                }
            }
            assert_eq!(format!("{:?}", near.link.totals), format!("{:?}", whole.totals), "run {run}, packet {seq}");
        }
        while whole.next_arrival().is_some_and(|arrival| arrival <= now) {
            let entry = whole.take_arrived().expect("a packet has arrived");
            arrivals.insert(entry.packet.seq, (entry.start, entry.arrival));
        }
        near.tell(now + Duration::from_nanos(1));
        assert_eq!(near.left_over(now), whole.left_over(now), "run {run}");
        arrivals.extend(whole.entries().map(|entry| (entry.packet.seq, (entry.start, entry.arrival))));
        near.tell(Time::MAX);
        assert_eq!(near.told, arrivals, "run {run}");
    }
    assert!(withdrawn > 500 && evicted > 500 && told_at_once > 5000, "{withdrawn} {evicted} {told_at_once}");
}

#[test]
fn a_link_that_is_not_steady_hands_nothing_over() {
    let hands_over = |mut link: Alone, is_silent: bool| {
        link.watch_leaving(is_silent);
        link.hands_over()
    };
    let built = || built(&QueueConfig::drop_tail(QueueLimit::Unlimited));
    assert!(hands_over(built(), true) && !hands_over(built(), false));
    assert!(!hands_over(built().with_deferred_departures(), true));
    let mut recorded = built();
    recorded.watch();
    assert!(!hands_over(recorded, true));
}
