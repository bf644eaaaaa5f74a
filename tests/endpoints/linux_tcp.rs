//! The TCP of Linux as hosts whose segments are noted. Its crate has a path of its own to compare with: a queue, a link
//! and a delay in each direction, written without this engine.

use skyhop_base::{Duration, Rate, Stream, Time};
use skyhop_hosts::LinuxTcp;
use skyhop_sim::endpoint::{
    Codepoint, Counters, Endpoint, Fact, Incoming, Outgoing, Payload, Report, Transport, Words,
};
use skyhop_tcp::path::{Events, Exchange, Outcomes, PathConfig, PathDirection};
use skyhop_tcp::receiver::{self, Receiver};
use skyhop_tcp::segment::{Brief, Segment};
use skyhop_tcp::sender::{self, Sender};
use std::sync::{Arc, Mutex};

/// When a segment left its host, which host that was, and the segment.
pub type Left = (Time, PathDirection, Segment);

/// Hosts, and the segments that they send.
#[derive(Clone, Debug, Default)]
pub struct Logged {
    pub hosts: LinuxTcp,
    pub log: Arc<Mutex<Vec<Left>>>,
}

impl Logged {
    /// The segments of a transfer by stock hosts over the path of the other crate.
    pub fn elsewhere(bytes: u64, rate: Rate, delay: Duration, queue: usize, end: Time) -> Vec<Left> {
        let config = PathConfig {
            rate,
            delay,
            queues: [queue, usize::MAX],
            outcomes: Outcomes::default(),
            events: Events::default(),
            syn_bytes: 60,
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
            .run(end, |crossing| left.push((crossing.entered, crossing.direction, crossing.segment)));
        left
    }

    fn host(&self, endpoint: Box<dyn Endpoint>, way: PathDirection) -> Box<dyn Endpoint> {
        Box::new(Host { endpoint, way, log: Arc::clone(&self.log) })
    }
}

impl Transport for Logged {
    fn source(&self, draws: Stream) -> Box<dyn Endpoint> {
        self.host(self.hosts.source(draws), PathDirection::Data)
    }

    fn sink(&self, draws: Stream) -> Box<dyn Endpoint> {
        self.host(self.hosts.sink(draws), PathDirection::Ack)
    }
}

#[derive(Debug)]
struct Host {
    endpoint: Box<dyn Endpoint>,
    way: PathDirection,
    log: Arc<Mutex<Vec<Left>>>,
}

impl Endpoint for Host {
    fn write(&mut self, now: Time, bytes: Option<u64>) {
        self.endpoint.write(now, bytes);
    }

    fn close(&mut self, now: Time) {
        self.endpoint.close(now);
    }

    fn on_packet(&mut self, now: Time, packet: Incoming<'_>) {
        self.endpoint.on_packet(now, packet);
    }

    fn on_words(&mut self, now: Time, words: &Words, ecn: Codepoint) {
        self.endpoint.on_words(now, words, ecn);
    }

    fn next_timeout(&self) -> Time {
        self.endpoint.next_timeout()
    }

    fn on_timeout(&mut self, now: Time) {
        self.endpoint.on_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time, payload: &mut Payload) -> Option<Outgoing> {
        let packet = self.endpoint.poll_transmit(now, payload)?;
        let segment = match payload.words() {
            Some(words) => Brief::of_words(words).segment(),
            None => *payload.get::<Segment>().expect("a segment"),
        };
        self.log.lock().expect("one thread").push((now, self.way, segment));
        Some(packet)
    }

    fn poll_fact(&mut self) -> Option<Fact> {
        self.endpoint.poll_fact()
    }

    fn delivered_bytes(&self) -> u64 {
        self.endpoint.delivered_bytes()
    }

    fn backlog_bytes(&self) -> u64 {
        self.endpoint.backlog_bytes()
    }

    fn report(&self) -> Report {
        self.endpoint.report()
    }

    fn counters(&self) -> Counters {
        self.endpoint.counters()
    }

    fn memory_bytes(&self) -> u64 {
        self.endpoint.memory_bytes()
    }
}
