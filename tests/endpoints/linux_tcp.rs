//! The TCP of Linux 6.18 as boxed hosts. Its crate has a path of its own to compare with: a queue, a link and a delay
//! in each direction, written without this engine.

use skyhop_base::{Duration, Rate, Stream, Time};
use skyhop_sim::endpoint::{Codepoint, Counters, Endpoint, Incoming, Outgoing, Payload, Report, Transport};
use skyhop_tcp::path::{Endpoint as Host, Events, Exchange, Outcomes, PathConfig, Way, ip_bytes};
use skyhop_tcp::receiver::{self, Receiver};
use skyhop_tcp::segment::{Ecn, Segment, Seq};
use skyhop_tcp::sender::{self, Sender};
use std::sync::{Arc, Mutex};

/// IP bytes of a SYN and of a SYN-ACK with timestamps.
const SYN_BYTES: u32 = 60;

/// When a segment left its host, which host that was, and the segment.
pub type Left = (Time, Way, Segment);

/// The stock sender and receiver, and what they send.
#[derive(Clone, Debug, Default)]
pub struct LinuxTcp {
    pub log: Arc<Mutex<Vec<Left>>>,
}

impl LinuxTcp {
    /// The segments of a transfer over the path of the other crate.
    pub fn elsewhere(bytes: u64, rate: Rate, delay: Duration, queue: usize, end: Time) -> Vec<Left> {
        let config = PathConfig {
            rate,
            delay,
            queues: [queue, usize::MAX],
            outcomes: Outcomes::default(),
            events: Events::default(),
            syn_bytes: SYN_BYTES,
            turnaround: [Duration::ZERO; 2],
        };
        let sender = sender::Host::new(
            Sender::new(sender::Config::default()),
            Time::ZERO,
            Duration::ZERO,
            [(Time::ZERO, bytes)],
        );
        let receiver = receiver::Host::new(Receiver::new(receiver::Config::default()), None);
        let mut left = Vec::new();
        Exchange::new(sender, receiver, config)
            .run(end, |crossing| left.push((crossing.entered, crossing.way, crossing.segment)));
        left
    }
}

impl Transport for LinuxTcp {
    fn source(&self, _draws: Stream) -> Box<dyn Endpoint> {
        let sender = Sender::new(sender::Config::default());
        Box::new(Source { sender, opened: false, highest: 0, transport: self.clone() })
    }

    fn sink(&self, _draws: Stream) -> Box<dyn Endpoint> {
        let host = receiver::Host::new(Receiver::new(receiver::Config::default()), None);
        Box::new(Sink { host, transport: self.clone() })
    }
}

/// A packet with a segment in it.
fn packet(segment: Segment, highest: &mut Seq) -> Outgoing {
    let size = if segment.syn { SYN_BYTES } else { ip_bytes(&segment) };
    let repeats = segment.end() > segment.seq && segment.end() <= *highest;
    *highest = segment.end().max(*highest);
    Outgoing {
        seq: segment.seq as u32,
        size: size as u16,
        user_bytes: segment.len as u16,
        repeats,
        ecn: match segment.ecn {
            Ecn::NotEct => Codepoint::NotEct,
            Ecn::Ect0 => Codepoint::Ect0,
            Ecn::Ect1 => Codepoint::Ect1,
            Ecn::Ce => Codepoint::Ce,
        },
        payload: Payload::of(segment),
    }
}

fn segment(packet: Incoming) -> Segment {
    let marked = packet.ecn == Codepoint::Ce;
    let mut segment = packet.payload.take::<Segment>().expect("a segment");
    if marked {
        segment.ecn = Ecn::Ce;
    }
    segment
}

#[derive(Debug)]
struct Source {
    sender: Sender,
    opened: bool,
    highest: Seq,
    transport: LinuxTcp,
}

impl Endpoint for Source {
    fn write(&mut self, now: Time, bytes: Option<u64>) {
        if !std::mem::replace(&mut self.opened, true) {
            self.sender.open(now);
        }
        self.sender.write(now, bytes.unwrap_or(1 << 40));
    }

    fn on_packet(&mut self, now: Time, packet: Incoming) {
        self.sender.on_segment(now, &segment(packet));
    }

    fn next_timeout(&self) -> Time {
        self.sender.next_timeout().unwrap_or(Time::MAX)
    }

    fn on_timeout(&mut self, now: Time) {
        self.sender.on_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Outgoing> {
        let segment = self.sender.transmit()?;
        self.transport.log.lock().expect("one thread").push((now, Way::Data, segment));
        Some(packet(segment, &mut self.highest))
    }

    fn backlog_bytes(&self) -> u64 {
        self.sender.backlog()
    }

    fn report(&self) -> Report {
        Report {
            cwnd: Some(self.sender.cwnd().into()),
            ssthresh: self.sender.ssthresh().map(f64::from),
            srtt: self.sender.srtt(),
            rto: Some(self.sender.rto()),
            ..Report::default()
        }
    }

    fn counters(&self) -> Counters {
        let (retransmissions, timeouts) = (self.sender.retransmissions(), self.sender.timeouts().into());
        Counters { retransmissions, timeouts, ..Counters::default() }
    }
}

#[derive(Debug)]
struct Sink {
    host: receiver::Host,
    transport: LinuxTcp,
}

impl Endpoint for Sink {
    fn write(&mut self, _now: Time, _bytes: Option<u64>) {}

    fn on_packet(&mut self, now: Time, packet: Incoming) {
        self.host.on_segment(now, &segment(packet));
    }

    fn next_timeout(&self) -> Time {
        self.host.next_timeout().unwrap_or(Time::MAX)
    }

    fn on_timeout(&mut self, now: Time) {
        self.host.on_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Outgoing> {
        let segment = self.host.transmit(now)?;
        self.transport.log.lock().expect("one thread").push((now, Way::Ack, segment));
        Some(packet(segment, &mut Seq::MAX.clone()))
    }

    fn delivered_bytes(&self) -> u64 {
        // The SYN has a number of its own.
        let receiver = &self.host.receiver;
        receiver.next_expected().saturating_sub(1) - receiver.unread()
    }
}
