//! The receiving host: the receiver, and an application that reads at once.

use super::{brief_packet, header, marked, packet, segment};
use skyhop_base::Time;
use skyhop_sim::endpoint::{Codepoint, Counters, Endpoint, Incoming, Outgoing, Payload, Words};
use skyhop_tcp::path::ip_bytes;
use skyhop_tcp::receiver::Receiver;
use skyhop_tcp::segment::Segment;

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

    fn on_segment(&mut self, now: Time, segment: &Segment) {
        if segment.len > 0 && self.receiver.holds(segment.seq..segment.end()) {
            self.duplicates += 1;
        }
        self.receiver.on_segment(now, segment);
    }

    /// Sends a segment that [`Receiver::transmit_brief`] does not give: a SYN-ACK, one with SACK blocks, or one that
    /// waited behind these.
    #[inline(never)]
    fn send_whole(&mut self, now: Time, payload: &mut Payload) -> Option<Outgoing> {
        let segment = self.receiver.transmit(now)?;
        payload.write(header, |place| *place = segment);
        payload.set_opening(segment.syn);
        let size = if segment.syn { self.syn_bytes } else { ip_bytes(&segment) };
        Some(packet(segment.seq, size, segment.len, false, segment.ecn))
    }
}

impl Endpoint for Sink {
    fn write(&mut self, _now: Time, _bytes: Option<u64>) {}

    fn on_packet(&mut self, now: Time, packet: Incoming<'_>) {
        if let Some(segment) = segment(packet) {
            self.on_segment(now, segment);
        }
    }

    #[inline(always)]
    fn on_words(&mut self, now: Time, words: &Words, ecn: Codepoint) {
        // The next segment of an undisturbed stream holds nothing that came already.
        if ecn == Codepoint::Ce || !self.receiver.take_expected(now, words) {
            self.on_segment(now, &marked(words, ecn));
        }
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
    fn poll_transmit(&mut self, now: Time, payload: &mut Payload) -> Option<Outgoing> {
        match self.receiver.transmit_brief() {
            Some(brief) => Some(brief_packet(&brief, self.syn_bytes, false, payload)),
            None => self.send_whole(now, payload),
        }
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
