//! The receiving host: the receiver, and an application that reads at once.

use super::{packet, segment};
use skyhop_base::Time;
use skyhop_sim::endpoint::{Counters, Endpoint, Incoming, Outgoing};
use skyhop_tcp::path::Endpoint as _;
use skyhop_tcp::receiver::Host;
use skyhop_tcp::segment::Segment;

#[derive(Debug)]
pub(super) struct Sink {
    host: Host,
    syn_bytes: u32,
    duplicates: u64,
    /// The box of the last segment that arrived.
    spare: Option<Box<Segment>>,
}

impl Sink {
    pub fn new(host: Host, syn_bytes: u32) -> Sink {
        Sink { host, syn_bytes, duplicates: 0, spare: None }
    }
}

impl Endpoint for Sink {
    fn write(&mut self, _now: Time, _bytes: Option<u64>) {}

    fn on_packet(&mut self, now: Time, packet: Incoming) {
        let Some(segment) = segment(packet) else { return };
        if segment.len > 0 && self.host.receiver.holds(segment.seq..segment.end()) {
            self.duplicates += 1;
        }
        self.host.on_segment(now, &segment);
        self.spare = Some(segment);
    }

    fn next_timeout(&self) -> Time {
        self.host.next_timeout().unwrap_or(Time::MAX)
    }

    fn on_timeout(&mut self, now: Time) {
        self.host.on_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Outgoing> {
        let segment = self.host.transmit(now)?;
        Some(packet(segment, self.spare.take(), self.syn_bytes, false))
    }

    fn delivered_bytes(&self) -> u64 {
        // The SYN has a number of its own.
        let receiver = &self.host.receiver;
        receiver.next_expected().saturating_sub(1) - receiver.unread()
    }

    fn counters(&self) -> Counters {
        Counters { duplicates: self.duplicates, ..Counters::default() }
    }

    fn memory_bytes(&self) -> u64 {
        let spare = self.spare.iter().map(|spare| size_of_val(&**spare)).sum::<usize>();
        (size_of::<Sink>() + spare) as u64 + self.host.receiver.memory_bytes()
    }
}
