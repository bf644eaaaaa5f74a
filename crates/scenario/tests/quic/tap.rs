//! Hosts that are listened to: a hash over every datagram with its time.

use serde_json::Value;
use skyhop_base::{Stream, Time};
use skyhop_hosts::quic::Sealed;
use skyhop_scenario::Scenario;
use skyhop_sim::Simulation;
use skyhop_sim::endpoint::{
    Codepoint, Counters, Endpoint, Fact, Failure, Incoming, Outgoing, Payload, Report, Transport,
};
use skyhop_sim::records::FlowSummary;
use skyhop_sim::spec::TransportConfig;
use std::sync::{Arc, Mutex};

/// FNV-1a, 64 bits, and how many datagrams went in.
#[derive(Debug)]
struct Hash(u64, u64);

impl Hash {
    fn mix(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
}

#[derive(Debug)]
struct Tapped {
    inner: Arc<dyn Transport>,
    /// The bytes count, and not only how many.
    contents: bool,
    hash: Arc<Mutex<Hash>>,
}

impl Tapped {
    fn end(&self, inner: Box<dyn Endpoint>, mark: u8) -> Box<dyn Endpoint> {
        Box::new(End { inner, mark, contents: self.contents, hash: Arc::clone(&self.hash) })
    }
}

impl Transport for Tapped {
    fn message_bytes(&self) -> Option<[u32; 2]> {
        self.inner.message_bytes()
    }

    fn source(&self, draws: Stream) -> Box<dyn Endpoint> {
        self.end(self.inner.source(draws), 0)
    }

    fn sink(&self, draws: Stream) -> Box<dyn Endpoint> {
        self.end(self.inner.sink(draws), 1)
    }
}

#[derive(Debug)]
struct End {
    inner: Box<dyn Endpoint>,
    mark: u8,
    contents: bool,
    hash: Arc<Mutex<Hash>>,
}

impl Endpoint for End {
    fn open(&mut self, now: Time) {
        self.inner.open(now);
    }

    fn write(&mut self, now: Time, bytes: Option<u64>) {
        self.inner.write(now, bytes);
    }

    fn close(&mut self, now: Time) {
        self.inner.close(now);
    }

    fn on_packet(&mut self, now: Time, packet: Incoming<'_>) {
        self.inner.on_packet(now, packet);
    }

    fn next_timeout(&self) -> Time {
        self.inner.next_timeout()
    }

    fn on_timeout(&mut self, now: Time) {
        self.inner.on_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time, payload: &mut Payload) -> Option<Outgoing> {
        let packet = self.inner.poll_transmit(now, payload)?;
        let sealed = payload.get::<Sealed>().expect("a datagram");
        let mut hash = self.hash.lock().expect("nobody panicked");
        hash.1 += 1;
        hash.mix(&now.as_nanos().to_le_bytes());
        // Numbers of their own: the order of the codepoints in memory is nobody's result.
        let ecn = match packet.ecn {
            Codepoint::NotEct => 0,
            Codepoint::Ect0 => 1,
            Codepoint::Ect1 => 2,
            Codepoint::Ce => 3,
        };
        hash.mix(&[self.mark, ecn]);
        if self.contents {
            hash.mix(&sealed.bytes);
        } else {
            hash.mix(&sealed.bytes.len().to_le_bytes());
        }
        Some(packet)
    }

    fn poll_fact(&mut self) -> Option<Fact> {
        self.inner.poll_fact()
    }

    fn delivered_bytes(&self) -> u64 {
        self.inner.delivered_bytes()
    }

    fn backlog_bytes(&self) -> u64 {
        self.inner.backlog_bytes()
    }

    fn report(&self) -> Report {
        self.inner.report()
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn failure(&self) -> Option<Failure> {
        self.inner.failure()
    }
}

/// Runs a network and hashes time, direction, mark and bytes of each datagram, or with `contents` false its length
/// instead of its bytes; also says how many there were.
pub fn hash(network: &Value, seed: u64, contents: bool) -> (u64, u64) {
    let scenario = Scenario::from_json(network, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let mut spec = scenario.simulation_spec();
    let hash = Arc::new(Mutex::new(Hash(0xCBF2_9CE4_8422_2325, 0)));
    for flow in &mut spec.flows {
        let TransportConfig::Hosts(inner) = &flow.transport else { panic!("no hosts") };
        let tapped = Tapped { inner: Arc::clone(inner), contents, hash: Arc::clone(&hash) };
        flow.transport = TransportConfig::Hosts(Arc::new(tapped));
    }
    let mut simulation = Simulation::new(&spec, seed).unwrap_or_else(|error| panic!("{error}"));
    simulation.run_until(simulation.end());
    let records = simulation.finish();
    let is_done = |flow: &FlowSummary| flow.completed.is_some() || flow.messages.is_some();
    assert!(records.flows.iter().all(is_done), "{:?}", records.warnings);
    let hash = hash.lock().expect("nobody panicked");
    (hash.0, hash.1)
}
