//! The receiving host: the receiver, and an application that reads at once.

use super::{Spare, packet, parcel};
use skyhop_base::Time;
use skyhop_sim::endpoint::{Counters, Endpoint, Incoming, Outgoing};
use skyhop_tcp::receiver::Receiver;

#[derive(Debug)]
pub(super) struct Sink {
    receiver: Receiver,
    syn_bytes: u32,
    duplicates: u64,
    spare: Spare,
}

impl Sink {
    pub fn new(receiver: Receiver, syn_bytes: u32) -> Sink {
        Sink { receiver, syn_bytes, duplicates: 0, spare: Spare::default() }
    }
}

impl Endpoint for Sink {
    fn write(&mut self, _now: Time, _bytes: Option<u64>) {}

    fn on_packet(&mut self, now: Time, packet: Incoming) {
        let Some(parcel) = parcel(packet) else { return };
        let segment = &parcel.segment;
        if segment.len > 0 && self.receiver.holds(segment.seq..segment.end()) {
            self.duplicates += 1;
        }
        self.receiver.on_segment(now, segment);
        self.spare.keep(parcel);
    }

    fn next_timeout(&self) -> Time {
        self.receiver.next_timeout().unwrap_or(Time::MAX)
    }

    fn on_timeout(&mut self, now: Time) {
        self.receiver.on_timeout(now);
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Outgoing> {
        let receiver = &mut self.receiver;
        if !receiver.is_ready() {
            return None;
        }
        // The sender needs two boxes for each ACK.
        let mut parcel = self.spare.take_both();
        receiver.transmit_into(&mut parcel.segment);
        Some(packet(parcel, self.syn_bytes, false))
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
        (size_of::<Sink>() + self.spare.memory_bytes()) as u64 + self.receiver.memory_bytes()
    }
}
