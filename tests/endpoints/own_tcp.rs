//! Skyhop's own TCP behind the contract for endpoints: as boxed hosts it must send the same packets as when the engine
//! calls it directly.

use skyhop_base::{Stream, Time};
use skyhop_sim::endpoint::{Codepoint, Counters, Endpoint, Incoming, Outgoing, Payload, Report, Transport};
use skyhop_transport::{Ack, Ecn, Receiver, Segment, Sender, Supply, TcpConfig};

#[derive(Debug)]
pub struct OwnTcp(pub TcpConfig);

/// A segment and when it was sent, which its time stamp says.
#[derive(Clone)]
struct Stamped(Segment, Time);

impl Transport for OwnTcp {
    fn source(&self, draws: Stream) -> Box<dyn Endpoint> {
        Box::new(Source(Sender::new(&self.0, draws)))
    }

    fn sink(&self, _draws: Stream) -> Box<dyn Endpoint> {
        Box::new(Sink(Receiver::new(&self.0)))
    }
}

struct Source(Sender);

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Source")
    }
}

impl Endpoint for Source {
    fn write(&mut self, now: Time, bytes: Option<u64>) {
        self.0.open(now);
        self.0.supply(now, bytes.map_or(Supply::Unlimited, Supply::Bytes));
    }

    fn close(&mut self, now: Time) {
        self.0.close(now);
    }

    fn on_packet(&mut self, now: Time, packet: Incoming<'_>) {
        self.0.on_ack(now, &packet.payload.take::<Ack>().expect("an ACK"));
    }

    fn next_timeout(&self) -> Time {
        self.0.next_timeout()
    }

    fn on_timeout(&mut self, now: Time) {
        self.0.on_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time, payload: &mut Payload) -> Option<Outgoing> {
        let segment = self.0.poll_transmit(now)?;
        let packet = Outgoing {
            seq: segment.seq,
            size: segment.size as u16,
            user_bytes: segment.payload as u16,
            repeats: segment.transmission == skyhop_transport::Transmission::Again,
            ecn: if segment.ecn == Ecn::Capable { Codepoint::Ect0 } else { Codepoint::NotEct },
        };
        *payload = Payload::of(Stamped(segment, now));
        Some(packet)
    }

    fn backlog_bytes(&self) -> u64 {
        self.0.backlog_bytes()
    }

    fn report(&self) -> Report {
        Report { cwnd: Some(self.0.cwnd()), ..Report::default() }
    }

    fn counters(&self) -> Counters {
        let counters = self.0.counters();
        Counters {
            retransmissions: counters.retransmissions,
            timeouts: counters.timeouts,
            fast_retransmits: counters.fast_retransmits,
            cwnd_cuts: counters.window_cuts,
            ..Counters::default()
        }
    }
}

struct Sink(Receiver);

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sink")
    }
}

impl Endpoint for Sink {
    fn write(&mut self, _now: Time, _bytes: Option<u64>) {}

    fn on_packet(&mut self, now: Time, packet: Incoming<'_>) {
        let Stamped(mut segment, sent_at) = packet.payload.take::<Stamped>().expect("a segment");
        if packet.ecn == Codepoint::Ce {
            segment.ecn = Ecn::Experienced;
        }
        self.0.on_segment(now, &segment, sent_at);
    }

    fn next_timeout(&self) -> Time {
        self.0.next_timeout()
    }

    fn on_timeout(&mut self, now: Time) {
        self.0.on_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time, payload: &mut Payload) -> Option<Outgoing> {
        let ack = self.0.poll_ack(now)?;
        let (seq, size) = (ack.next, ack.size as u16);
        *payload = Payload::of(ack);
        Some(Outgoing { seq, size, user_bytes: 0, repeats: false, ecn: Codepoint::NotEct })
    }

    fn delivered_bytes(&self) -> u64 {
        self.0.counters().payload_bytes
    }

    fn counters(&self) -> Counters {
        Counters { duplicates: self.0.counters().duplicates, ..Counters::default() }
    }
}
