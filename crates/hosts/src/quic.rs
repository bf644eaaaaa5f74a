//! Real QUIC stacks (`skyhop-quic`) as a pair of hosts: the source is the client, which connects at the first write and
//! sends; the sink is the server, which reads.
//!
//! Windows and flights are counted in full datagrams. A packet's number in the records is its QUIC packet number; the
//! stacks skip some numbers on purpose. The headers of IPv4 and UDP come on top of each datagram.

use skyhop_base::{Stream, Time};
use skyhop_quic::messages::{self, STAMP_BYTES};
use skyhop_quic::watch::PacketKind;
use skyhop_quic::{Config, ConfigError, Contents, Datagram, Ecn, Host, Message, Runtime, StreamUse, Timers};
use skyhop_sim::endpoint::{
    Codepoint, Counters, Endpoint, Fact, Failure, Incoming, MessageCounts, Outgoing, Payload, Report, Transport,
};
use skyhop_sim::headers::{Header, Protocol};
use std::any::Any;
use std::collections::VecDeque;

/// IPv4 and UDP without options (RFC 791, section 3.1; RFC 768).
const HEADERS: usize = 28;

/// The tick of [`Timers::Milliseconds`], in ns: a host's ticks lie anywhere within it.
const TICK_NS: u64 = 1_000_000;

/// What both hosts of a connection are told.
#[derive(Clone, Debug)]
pub struct Quic {
    config: Config,
    /// The runtime's habits. The phase of timers that go by the millisecond is drawn for each host.
    runtime: Runtime,
    streams: StreamUse,
}

impl Quic {
    /// # Errors
    /// What the stack does not take, and a stack that this build has not.
    pub fn new(config: Config, runtime: Runtime, streams: StreamUse) -> Result<Quic, ConfigError> {
        config.check()?;
        // Streams and messages go over connections of their own.
        let datagrams = streams == StreamUse::Datagrams;
        Ok(Quic { config: Config { datagrams, ..config }, runtime, streams })
    }

    /// A host's own runtime, and the seed of its stack.
    fn drawn(&self, mut draws: Stream) -> (Runtime, u64) {
        let mut runtime = self.runtime;
        if let Timers::Milliseconds { phase } = &mut runtime.timers {
            *phase = skyhop_base::Duration::from_nanos(draws.bits() % TICK_NS);
        }
        (runtime, draws.bits())
    }

    fn boxed(&self, host: Result<Host, ConfigError>, is_source: bool) -> Box<dyn Endpoint> {
        let full = u64::from(self.config.udp_payload);
        match host {
            Ok(host) => {
                let has_streams = matches!(self.streams, StreamUse::InTurn | StreamUse::AtOnce);
                Box::new(End { has_streams, ..End::new(host, full, is_source) })
            }
            // `Config::check` has passed, so this is the stack's own refusal.
            Err(error) => Box::new(Refused { error: error.to_string() }),
        }
    }
}

impl Transport for Quic {
    fn is_reliable(&self) -> bool {
        self.streams != StreamUse::Datagrams
    }

    fn message_bytes(&self) -> Option<[u32; 2]> {
        let most = messages::largest_message(self.config.udp_payload);
        (self.streams == StreamUse::Datagrams).then_some([STAMP_BYTES, most])
    }

    fn source(&self, draws: Stream) -> Box<dyn Endpoint> {
        let (runtime, seed) = self.drawn(draws);
        self.boxed(Host::source(&self.config, runtime, self.streams, (seed, "source")), true)
    }

    fn sink(&self, draws: Stream) -> Box<dyn Endpoint> {
        let (runtime, seed) = self.drawn(draws);
        self.boxed(Host::sink(&self.config, runtime, (seed, "sink")), false)
    }
}

/// A host of any stack behind the engine's contract.
#[derive(Debug)]
pub struct End {
    host: Host,
    /// Bytes of a full datagram without the headers of IPv4 and UDP.
    full: u64,
    is_source: bool,
    outgoing: VecDeque<Datagram>,
    facts: VecDeque<Fact>,
    /// The failure stands in the facts.
    told: bool,
    /// The source's writes are messages, and nobody knows yet that it is connected.
    is_to_connect: bool,
    /// Every write is a stream of its own.
    has_streams: bool,
}

/// The payload of a packet on the path: a datagram, and what records say of it.
#[derive(Clone, Debug)]
pub struct Sealed {
    pub bytes: Vec<u8>,
    pub contents: Contents,
}

fn header(content: &dyn Any) -> Header {
    let contents = content.downcast_ref::<Sealed>().map(|sealed| &sealed.contents);
    Header {
        protocol: Protocol::Udp,
        quic: contents.and_then(|contents| contents.kind).map_or("", PacketKind::name),
        blocks: contents.map(|contents| contents.acked.clone()).unwrap_or_default(),
        pieces: contents
            .into_iter()
            .flat_map(|contents| &contents.pieces)
            .map(|p| (p.stream, p.begin, p.bytes))
            .collect(),
        ..Header::default()
    }
}

impl End {
    /// `full_bytes`: UDP payload of a full datagram, the unit of windows in the records.
    pub fn new(host: Host, full_bytes: u64, is_source: bool) -> End {
        End {
            full: full_bytes,
            is_source,
            outgoing: VecDeque::new(),
            facts: VecDeque::new(),
            is_to_connect: is_source && host.messages().is_some(),
            host,
            told: false,
            has_streams: false,
        }
    }

    /// Takes what the host made of an input.
    fn collect(&mut self) {
        self.outgoing.extend(self.host.take_output());
        self.facts.extend(self.host.take_rtts().into_iter().map(Fact::Rtt));
        let lost = self.host.take_lost().into_iter();
        self.facts.extend(lost.map(|lost| Fact::Lost {
            seq: lost.number as u32,
            packet: lost.datagram,
            size: lost.bytes.saturating_add(HEADERS as u16),
        }));
        if self.is_to_connect && self.host.progress().connected.is_some() {
            self.is_to_connect = false;
            self.facts.push_back(Fact::Connected);
        }
        let read = self.host.take_messages().into_iter();
        self.facts.extend(read.map(|Message { number, written }| Fact::Message { number, written }));
        self.facts.extend(self.host.take_events().into_iter().map(Fact::Event));
        if !self.told && self.host.failure().is_some() {
            self.told = true;
            self.facts.push_back(Fact::Event(if self.is_source { "connection lost" } else { "closed by receiver" }));
        }
    }
}

impl Endpoint for End {
    fn write(&mut self, now: Time, bytes: Option<u64>) {
        self.host.write(now, bytes);
        self.collect();
    }

    fn open(&mut self, now: Time) {
        self.host.open(now);
    }

    fn close(&mut self, now: Time) {
        self.host.finish(now);
        self.collect();
    }

    fn on_packet(&mut self, now: Time, packet: Incoming<'_>) {
        let Some(Sealed { bytes, .. }) = packet.payload.take::<Sealed>() else { return };
        let ecn = match packet.ecn {
            Codepoint::NotEct => Ecn::NotEct,
            Codepoint::Ect0 => Ecn::Ect0,
            Codepoint::Ect1 => Ecn::Ect1,
            Codepoint::Ce => Ecn::Ce,
        };
        self.host.receive(now, Datagram { bytes, ecn, by_timer: false, contents: Default::default() });
        // Without latency the host acts at once.
        if self.host.next_wake().is_some_and(|at| at <= now) {
            self.on_timeout(now);
        }
    }

    fn next_timeout(&self) -> Time {
        self.host.next_wake().unwrap_or(Time::MAX)
    }

    fn on_timeout(&mut self, now: Time) {
        self.host.wake(now);
        self.collect();
    }

    fn poll_transmit(&mut self, _now: Time, payload: &mut Payload) -> Option<Outgoing> {
        let Datagram { bytes, ecn, contents, .. } = self.outgoing.pop_front()?;
        let memory_bytes = bytes.capacity() + contents.acked.capacity() * 16 + contents.pieces.capacity() * 24;
        let packet = Outgoing {
            seq: contents.number as u32,
            // A UDP payload has at most 65 507 bytes: `Config::check`.
            size: (bytes.len() + HEADERS) as u16,
            user_bytes: contents.user_bytes as u16,
            repeats: contents.repeats,
            ecn: match ecn {
                Ecn::NotEct => Codepoint::NotEct,
                Ecn::Ect0 => Codepoint::Ect0,
                Ecn::Ect1 => Codepoint::Ect1,
                Ecn::Ce => Codepoint::Ce,
            },
        };
        *payload = Payload::of(Sealed { bytes, contents }).holding(memory_bytes as u64).described(header);
        Some(packet)
    }

    fn poll_fact(&mut self) -> Option<Fact> {
        self.facts.pop_front()
    }

    fn delivered_bytes(&self) -> u64 {
        self.host.progress().received
    }

    fn delivered_of_write(&self, number: u64) -> Option<u64> {
        self.has_streams.then(|| self.host.read_of_stream(number))
    }

    fn backlog_bytes(&self) -> u64 {
        self.host.backlog_bytes()
    }

    fn report(&self) -> Report {
        let measures = self.host.last_measures();
        let segments = |bytes: u64| bytes as f64 / self.full as f64;
        let phase = match measures.ssthresh {
            Some(threshold) if measures.cwnd >= threshold => "congestion-avoidance",
            Some(_) => "slow-start",
            // Without a threshold (before the first reduction, and under BBR) the stack names no phase.
            None => "",
        };
        let connected = self.host.progress().connected.is_some();
        Report {
            cwnd: Some(segments(measures.cwnd)),
            inflation: None,
            ssthresh: measures.ssthresh.map(segments),
            pacing_bps: measures.pacing_bps().filter(|_| connected),
            in_flight: measures.in_flight.unwrap_or(0).div_ceil(self.full) as u32,
            phase,
            srtt: connected.then_some(measures.smoothed_rtt),
            rto: None,
        }
    }

    fn counters(&self) -> Counters {
        let measures = self.host.last_measures();
        let totals = measures.totals;
        let tally = self.host.tally();
        Counters {
            retransmissions: tally.repetitions,
            probes: 0,
            timeouts: totals.collapses,
            fast_retransmits: totals.losses,
            cwnd_cuts: totals.cuts,
            duplicates: tally.duplicates,
            spurious_losses: totals.spurious,
            data_blocked: measures.data_blocked,
            streams_blocked: measures.streams_blocked,
            messages: self.host.messages().map(|tally| MessageCounts {
                written: tally.written,
                dropped: tally.dropped,
                received: tally.received,
            }),
        }
    }

    fn memory_bytes(&self) -> u64 {
        self.host.memory_bytes()
    }

    fn failure(&self) -> Option<Failure> {
        self.host.failure().map(|(at, words)| Failure { at: *at, words: words.clone() })
    }
}

/// A host whose stack refused to start. It says so, and nothing else.
#[derive(Debug)]
struct Refused {
    error: String,
}

impl Endpoint for Refused {
    fn write(&mut self, _now: Time, _bytes: Option<u64>) {}

    fn on_packet(&mut self, _now: Time, _packet: Incoming<'_>) {}

    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    fn on_timeout(&mut self, _now: Time) {}

    fn poll_transmit(&mut self, _now: Time, _payload: &mut Payload) -> Option<Outgoing> {
        None
    }

    fn failure(&self) -> Option<Failure> {
        Some(Failure { at: Time::ZERO, words: self.error.clone() })
    }
}
