//! Packets whose departure is worked out when their service begins, not when they are accepted.
//!
//! A queue that drops from its front does not know which packets it will serve, and a recorded link whose queue is
//! taken away by a handover must not have spent its opportunities on it. Such links have a second event: the end of the
//! service of the packet before.

use crate::link::{Repairs, ServedQueue};
use crate::packet::{Flags, Packet};
use crate::spec::QueueLimit;
use skyhop_base::{Duration, Time};
use std::collections::VecDeque;

/// Which packet is dropped when there is no room for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The one that arrives.
    Tail,
    /// The one that has waited longest (Yin and Hluchyj, "Implication of dropping packets from the front of a queue",
    /// IEEE Transactions on Communications 41(6), 1993).
    Front,
}

#[derive(Debug)]
pub struct DeferredQueue {
    waiting: VecDeque<(Packet, Time)>,
    bytes: u64,
    /// Waiting packets of low priority. Without any, an overflow need not look for one.
    low: usize,
    overflow: Overflow,
    /// When the present end of service was foreseen.
    pub foreseen: Time,
    /// Dropped at the last arrival.
    displaced: Vec<Packet>,
    /// On a link that repairs its errors, packets that have left and may have to leave again.
    pub repairs: Option<Repairs>,
    /// Keeps the waiting packets in place of `waiting`, and decides which leaves when.
    pub discipline: Option<Box<ServedQueue>>,
}

/// What became of a packet that has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Yes,
    /// At the cost of older ones.
    Displacing,
    No,
}

impl DeferredQueue {
    pub fn new(overflow: Overflow) -> DeferredQueue {
        DeferredQueue {
            waiting: VecDeque::new(),
            bytes: 0,
            low: 0,
            overflow,
            foreseen: Time::ZERO,
            displaced: Vec::new(),
            repairs: None,
            discipline: None,
        }
    }

    /// Whether nothing waits that a free transmitter could send.
    pub fn is_empty(&self) -> bool {
        match &self.discipline {
            None => self.waiting.is_empty(),
            Some(discipline) => !discipline.may_send(),
        }
    }

    /// When the transmitter, which is free at `free_at`, has something to do, or the next arrival if that is sooner;
    /// and when it was foreseen.
    #[inline(never)]
    pub fn next_event(&self, free_at: Time, arrival: Option<(Time, Time)>) -> Option<(Time, Time)> {
        let service = match &self.repairs {
            None => (!self.is_empty()).then_some(free_at),
            Some(repairs) => repairs.next_event(free_at, !self.is_empty()),
        };
        let timer = self.discipline.as_ref().and_then(|discipline| discipline.next_timer());
        let first = service.map_or(timer, |service| Some(timer.map_or(service, |timer| timer.min(service))));
        let Some(begin) = first.map(|begin| (begin, self.foreseen)) else { return arrival };
        Some(arrival.map_or(begin, |arrival| arrival.min(begin)))
    }

    /// Whether a packet that arrives at `now` is served before all else, the transmitter being free.
    pub fn serves_at_once(&self, now: Time) -> bool {
        self.is_empty() && self.repairs.as_ref().is_none_or(|repairs| !repairs.is_due(now))
    }

    pub fn packets(&self) -> u32 {
        match &self.discipline {
            None => self.waiting.len() as u32,
            Some(discipline) => discipline.backlog().packets as u32,
        }
    }

    pub fn bytes(&self) -> u64 {
        match &self.discipline {
            None => self.bytes,
            Some(discipline) => discipline.backlog().bytes,
        }
    }

    /// Lets a packet wait, if there is room for it or room is made. Adds to `waited` the time that displaced ones have.
    pub fn keep(&mut self, packet: Packet, now: Time, limit: QueueLimit, waited: &mut Duration) -> Kept {
        let mut kept = if self.displaced.is_empty() { Kept::Yes } else { Kept::Displacing };
        let ever = limit.has_room(0, 0, packet.size);
        while !limit.has_room(self.packets(), self.bytes, packet.size) {
            let front = if ever && self.overflow == Overflow::Front { self.waiting.pop_front() } else { None };
            let Some((dropped, since)) = front else { return Kept::No };
            self.bytes -= u64::from(dropped.size);
            self.low -= usize::from(dropped.is_low());
            *waited += now.since(since);
            self.displaced.push(dropped);
            kept = Kept::Displacing;
        }
        self.bytes += u64::from(packet.size);
        self.low += usize::from(packet.is_low());
        self.waiting.push_back((packet, now));
        kept
    }

    /// Whether a packet can be kept, if need be at the cost of others.
    pub fn takes(&self, size: u16, limit: QueueLimit) -> bool {
        let displaces = self.overflow == Overflow::Front && !self.is_empty();
        limit.has_room(self.packets(), self.bytes, size) || displaces && limit.has_room(0, 0, size)
    }

    /// Packets of low priority leave for a packet of normal one that found no room, the newest first, as many as are
    /// needed; none if that is not enough. Adds to `waited` the time that they have.
    pub fn evict_low(&mut self, packet: &Packet, now: Time, limit: QueueLimit, waited: &mut Duration) {
        if packet.is_low() || self.low == 0 {
            return;
        }
        let (mut packets, mut bytes) = (self.packets(), self.bytes);
        let from = (0..self.waiting.len()).rev().find(|&at| {
            let low = self.waiting[at].0;
            if low.is_low() {
                (packets, bytes) = (packets - 1, bytes - u64::from(low.size));
            }
            limit.has_room(packets, bytes, packet.size)
        });
        for at in (from.unwrap_or(self.waiting.len())..self.waiting.len()).rev() {
            if self.waiting[at].0.is_low()
                && let Some((low, since)) = self.waiting.remove(at)
            {
                self.bytes -= u64::from(low.size);
                self.low -= 1;
                *waited += now.since(since);
                self.displaced.push(low);
            }
        }
    }

    pub fn take_displaced(&mut self) -> Vec<Packet> {
        std::mem::take(&mut self.displaced)
    }

    /// The packet to be served at `now`, and since when it waits.
    pub fn pop(&mut self, now: Time) -> Option<(Packet, Time)> {
        if let Some(discipline) = &mut self.discipline {
            return discipline.dequeue(now);
        }
        let (packet, since) = self.waiting.pop_front()?;
        self.bytes -= u64::from(packet.size);
        self.low -= usize::from(packet.is_low());
        Some((packet, since))
    }

    /// Takes out those that `affected` names. Gives the time that they have waited.
    pub fn withdraw(
        &mut self,
        now: Time,
        mut affected: impl FnMut(&Packet) -> bool,
        out: &mut Vec<Packet>,
    ) -> Duration {
        let mut waited = Duration::ZERO;
        let (mut bytes, mut low) = (0, 0);
        if let Some(repairs) = &mut self.repairs {
            repairs.withdraw(&mut affected, out);
        }
        if let Some(discipline) = &mut self.discipline {
            discipline.withdraw(now, affected, out);
            return Duration::ZERO;
        }
        self.waiting.retain(|&(packet, since)| {
            let stays = !affected(&packet);
            if !stays {
                out.push(packet);
                bytes += u64::from(packet.size);
                low += usize::from(packet.is_low());
                waited += now.since(since);
            }
            stays
        });
        self.bytes -= bytes;
        self.low -= low;
        waited
    }

    pub fn mark_unreachable(&mut self, mut affected: impl FnMut(&Packet) -> bool) {
        if let Some(repairs) = &mut self.repairs {
            repairs.mark_unreachable(&mut affected);
        }
        if let Some(discipline) = &mut self.discipline {
            return discipline.mark_unreachable(affected);
        }
        for (packet, _) in self.waiting.iter_mut().filter(|(packet, _)| affected(packet)) {
            packet.flags = packet.flags.with(Flags::UNREACHABLE);
        }
    }

    pub fn memory_bytes(&self) -> u64 {
        let waiting = (self.waiting.capacity() * size_of::<(Packet, Time)>()) as u64;
        let of_discipline = self.discipline.as_ref().map_or(0, |discipline| discipline.memory_bytes());
        waiting + of_discipline + self.repairs.as_ref().map_or(0, Repairs::memory_bytes)
    }

    /// The time that packets have waited which still do, and of those that a discipline has lost or given up.
    pub fn waited(&self, now: Time) -> Duration {
        if let Some(discipline) = &self.discipline {
            return discipline.waited + discipline.still_waited(now);
        }
        self.waiting.iter().fold(Duration::ZERO, |sum, (_, since)| sum + now.since(*since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Offered;
    use crate::link::tests::{ONE_MS, built, ms, offer, packet};
    use crate::spec::QueueConfig;

    #[test]
    fn the_front_is_dropped_where_there_is_no_room() {
        let mut link = built(&QueueConfig::drop_front(QueueLimit::Packets(2)));
        let offers: Vec<_> = (0..5).map(|seq| offer(&mut link, seq, ms(0))).collect();
        let first = Offered::AcceptedFirst { arrival: ms(11), start: ms(0) };
        assert_eq!(offers, [first, Offered::Waits, Offered::Accepted, Offered::Displaces, Offered::Displaces]);
        // 0 is being sent; 1 and 2 have gone for 3 and 4.
        assert_eq!(link.take_displaced().iter().map(|packet| packet.seq).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((link.next_event(ms(0)), link.queue_packets(ms(0))), (Some((ms(1), ms(0))), 2));
        let delay = |_: &Packet, _: Time| Duration::from_millis(10);
        link.begin_service(ms(0), delay);
        assert_eq!(link.queue_packets(ms(0)), 2, "too early");
        link.begin_service(ms(1), delay);
        link.begin_service(ms(2), delay);
        let found: Vec<_> = link.entries().map(|entry| (entry.packet.seq, entry.start, entry.arrival)).collect();
        assert_eq!(found, [(0, ms(0), ms(11)), (3, ms(1), ms(12)), (4, ms(2), ms(13))]);
        assert_eq!((link.totals.waiting, link.totals.queue_max), (ONE_MS * 3, 2));
        assert_eq!(link.next_event(ms(2)), Some((ms(11), ms(0))));
    }

    #[test]
    fn a_full_front_has_room_for_none_where_none_may_wait() {
        let mut link = built(&QueueConfig::drop_front(QueueLimit::Bytes(200)));
        let offers: Vec<_> = (0..3).map(|seq| offer(&mut link, seq, ms(0))).collect();
        assert_eq!(offers[2], Offered::Displaces);
        let large = Packet { size: 300, ..packet(3) };
        // It would find no room though it displaced all.
        assert_eq!(link.offer(&large, ms(0), ms(0), |_| ONE_MS), Offered::Full);
        assert_eq!(link.take_displaced().len(), 1);
        let mut none = built(&QueueConfig::drop_front(QueueLimit::Packets(0)));
        offer(&mut none, 0, ms(0));
        assert_eq!(offer(&mut none, 1, ms(0)), Offered::Full);
    }

    #[test]
    fn packets_without_a_departure_can_be_withdrawn_and_marked_unreachable() {
        let mut link = built(&QueueConfig::drop_tail(QueueLimit::Unlimited)).with_deferred_departures();
        (0..4).for_each(|seq| _ = offer(&mut link, seq, ms(0)));
        let mut out = Vec::new();
        link.withdraw(ms(1), |packet| packet.seq != 2, |_, _| ONE_MS, &mut out);
        assert_eq!(out.iter().map(|packet| packet.seq).collect::<Vec<_>>(), [1, 3]);
        link.mark_unreachable(ms(1), |_| true);
        link.begin_service(ms(1), |_, _| ONE_MS);
        let last = link.entries().last().unwrap();
        assert_eq!((last.packet.seq, last.packet.flags.has(Flags::UNREACHABLE), last.start), (2, true, ms(1)));
        // Withdrawn ones waited 1 ms each, so did the one that is sent.
        assert_eq!(link.totals.waiting, ONE_MS * 3);
    }
}
