//! The receiving host: the receiver, and an application that reads at once.

use super::{header, packet, segment};
use skyhop_base::Time;
use skyhop_sim::endpoint::{Counters, Endpoint, Incoming, Outgoing, Payload};
use skyhop_tcp::receiver::Receiver;

#[derive(Debug)]
pub(super) struct Sink {
    receiver: Receiver,
    syn_bytes: u32,
    duplicates: u64,
}

impl Sink {
    pub fn new(receiver: Receiver, syn_bytes: u32) -> Sink {
        Sink { receiver, syn_bytes, duplicates: 0 }
    }
}

impl Endpoint for Sink {
    fn write(&mut self, _now: Time, _bytes: Option<u64>) {}

    #[inline(always)]
    fn on_packet(&mut self, now: Time, packet: Incoming<'_>) {
        let Some(segment) = segment(packet) else { return };
        if segment.len > 0 && self.receiver.holds(segment.seq..segment.end()) {
            self.duplicates += 1;
        }
        self.receiver.on_segment(now, segment);
    }

    fn next_timeout(&self) -> Time {
        self.receiver.next_timeout().unwrap_or(Time::MAX)
    }

    fn on_timeout(&mut self, now: Time) {
        self.receiver.on_timeout(now);
    }

    #[inline]
    fn may_transmit(&self) -> bool {
        self.receiver.is_ready()
    }

    #[inline(always)]
    fn poll_transmit(&mut self, _now: Time, payload: &mut Payload) -> Option<Outgoing> {
        if !self.receiver.is_ready() {
            return None;
        }
        let (packet, opens) = payload.write(header, |segment| {
            self.receiver.transmit_into(segment);
            (packet(segment, self.syn_bytes, false), segment.syn)
        });
        payload.set_opening(opens);
        Some(packet)
    }

    fn delivered_bytes(&self) -> u64 {
        // The SYN has a number of its own.
        let receiver = &self.receiver;
        receiver.next_expected().saturating_sub(1) - receiver.unread()
    }

    fn duplicates(&self) -> u64 {
        self.duplicates
    }

    fn counters(&self) -> Counters {
        Counters { duplicates: self.duplicates, ..Counters::default() }
    }

    fn memory_bytes(&self) -> u64 {
        size_of::<Sink>() as u64 + self.receiver.memory_bytes()
    }
}
