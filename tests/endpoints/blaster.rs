//! A transport that only sends: bursts at a fixed interval, whatever becomes of them. It fills queues.

use super::stop_and_wait::Counted;
use skyhop_base::{Duration, Stream, Time};
use skyhop_sim::endpoint::{Codepoint, Endpoint, Incoming, Outgoing, Payload, Transport};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

/// So many packets of `size` bytes at each interval, in both directions.
#[derive(Clone, Debug)]
pub struct Blaster {
    pub burst: u32,
    pub every: Duration,
    pub size: u16,
    pub alive: Arc<AtomicI64>,
}

impl Transport for Blaster {
    fn is_reliable(&self) -> bool {
        false
    }

    fn source(&self, _draws: Stream) -> Box<dyn Endpoint> {
        Box::new(Gun { blaster: self.clone(), left: 0, seq: 0, next: Time::MAX, read: 0 })
    }

    fn sink(&self, draws: Stream) -> Box<dyn Endpoint> {
        // It fires back from the first packet that it gets.
        self.source(draws)
    }
}

#[derive(Debug)]
struct Gun {
    blaster: Blaster,
    left: u32,
    seq: u32,
    next: Time,
    read: u64,
}

impl Endpoint for Gun {
    fn write(&mut self, now: Time, _bytes: Option<u64>) {
        if self.next == Time::MAX {
            self.on_timeout(now);
        }
    }

    fn on_packet(&mut self, now: Time, packet: Incoming<'_>) {
        let payload = packet.payload.take::<Counted>().expect("a payload");
        assert_eq!(payload.bytes, packet.seq.to_be_bytes());
        self.read += u64::from(packet.size);
        self.write(now, None);
    }

    fn next_timeout(&self) -> Time {
        self.next
    }

    fn on_timeout(&mut self, now: Time) {
        self.left = self.blaster.burst;
        self.next = now + self.blaster.every;
    }

    fn poll_transmit(&mut self, _now: Time, payload: &mut Payload) -> Option<Outgoing> {
        self.left = self.left.checked_sub(1)?;
        let seq = self.seq;
        self.seq += 1;
        *payload = Payload::of(Counted::new(seq.to_be_bytes().to_vec(), &self.blaster.alive));
        let size = self.blaster.size;
        Some(Outgoing { seq, size, user_bytes: size, repeats: false, ecn: Codepoint::Ect0 })
    }

    fn delivered_bytes(&self) -> u64 {
        self.read
    }
}
