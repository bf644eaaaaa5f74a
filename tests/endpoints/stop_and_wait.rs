//! A transport that Skyhop does not have: one datagram at a time, repeated until it is acknowledged. It writes its own
//! header into real bytes, and the sink checks every byte.

use skyhop_base::{Duration, Stream, Time};
use skyhop_sim::endpoint::{Codepoint, Counters, Endpoint, Fact, Incoming, Outgoing, Payload, Report, Transport};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Bytes of its header: a number and a length.
const HEADER: usize = 8;
/// Bytes below it: UDP and IPv4.
const BELOW: usize = 28;
/// Bytes on the wire of an acknowledgement.
pub const ACK_SIZE: u16 = (HEADER + BELOW) as u16;

/// Stop and wait with datagrams of so many user bytes.
#[derive(Clone, Debug)]
pub struct StopAndWait {
    pub user_bytes: u16,
    /// Before anything was measured.
    pub first_timeout: Duration,
    /// Payloads that exist now, anywhere.
    pub alive: Arc<AtomicI64>,
}

impl StopAndWait {
    pub fn new(user_bytes: u16) -> StopAndWait {
        StopAndWait { user_bytes, first_timeout: Duration::from_secs(1), alive: Arc::default() }
    }

    /// Bytes on the wire of a full datagram.
    pub fn data_size(&self) -> u16 {
        self.user_bytes + ACK_SIZE
    }
}

impl Transport for StopAndWait {
    fn source(&self, _draws: Stream) -> Box<dyn Endpoint> {
        Box::new(Source {
            transport: self.clone(),
            written: Some(0),
            sent: 0,
            outstanding: None,
            due: Time::MAX,
            to_send: false,
            srtt_s: None,
            backoff: 0,
            facts: Vec::new(),
            counters: Counters::default(),
        })
    }

    fn sink(&self, _draws: Stream) -> Box<dyn Endpoint> {
        let alive = Arc::clone(&self.alive);
        Box::new(Sink { alive, next: 0, read: 0, answer: None, counters: Counters::default() })
    }
}

/// Bytes that count themselves: a payload that is forgotten anywhere is seen.
#[derive(Debug)]
pub struct Counted {
    pub bytes: Vec<u8>,
    alive: Arc<AtomicI64>,
}

impl Counted {
    pub fn new(bytes: Vec<u8>, alive: &Arc<AtomicI64>) -> Counted {
        alive.fetch_add(1, Ordering::Relaxed);
        Counted { bytes, alive: Arc::clone(alive) }
    }
}

impl Clone for Counted {
    fn clone(&self) -> Counted {
        Counted::new(self.bytes.clone(), &self.alive)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What the user byte at a place of the stream is.
fn byte_at(place: u64) -> u8 {
    (place.wrapping_mul(31) ^ (place >> 8)) as u8
}

fn header(number: u32, length: u32) -> Vec<u8> {
    [number.to_be_bytes(), length.to_be_bytes()].concat()
}

fn read_header(bytes: &[u8]) -> (u32, u32) {
    let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    (word(0), word(4))
}

#[derive(Debug)]
struct Outstanding {
    number: u32,
    begin: u64,
    length: u16,
    sent_at: Time,
    again: bool,
}

#[derive(Debug)]
struct Source {
    transport: StopAndWait,
    /// User bytes written so far; `None` means without end.
    written: Option<u64>,
    /// User bytes that were acknowledged.
    sent: u64,
    outstanding: Option<Outstanding>,
    due: Time,
    to_send: bool,
    srtt_s: Option<f64>,
    backoff: u32,
    facts: Vec<Fact>,
    counters: Counters,
}

impl Source {
    /// The next datagram, if there is data for one and none is outstanding.
    fn begin(&mut self, number: u32) {
        let left = self.written.map_or(u64::MAX, |written| written - self.sent);
        let length = left.min(self.transport.user_bytes.into()) as u16;
        if length > 0 && self.outstanding.is_none() {
            let (begin, sent_at) = (self.sent, Time::ZERO);
            self.outstanding = Some(Outstanding { number, begin, length, sent_at, again: false });
            self.to_send = true;
        }
    }

    fn timeout(&self) -> Duration {
        // Four round trips: this protocol has no variance to speak of.
        let base = self.srtt_s.map_or(self.transport.first_timeout, |srtt| Duration::from_secs_f64(4.0 * srtt));
        base * (1 << self.backoff.min(6))
    }
}

impl Endpoint for Source {
    fn write(&mut self, _now: Time, bytes: Option<u64>) {
        self.written = self.written.zip(bytes).map(|(before, more)| before + more);
        let next = (self.sent / u64::from(self.transport.user_bytes)) as u32;
        self.begin(next);
    }

    fn close(&mut self, _now: Time) {
        let taken = self.sent + self.outstanding.as_ref().map_or(0, |datagram| datagram.length.into());
        self.written = Some(self.written.map_or(taken, |written| written.min(taken)));
    }

    fn on_packet(&mut self, now: Time, packet: Incoming<'_>) {
        let payload = packet.payload.take::<Counted>().expect("the sink's payload");
        let (number, _) = read_header(&payload.bytes);
        let Some(datagram) = self.outstanding.take_if(|datagram| datagram.number == number) else { return };
        if !datagram.again {
            let rtt = now.since(datagram.sent_at);
            let before = self.srtt_s.unwrap_or(rtt.as_secs_f64());
            self.srtt_s = Some(0.875 * before + 0.125 * rtt.as_secs_f64());
            self.facts.push(Fact::Rtt(rtt));
        }
        self.sent += u64::from(datagram.length);
        (self.due, self.backoff, self.to_send) = (Time::MAX, 0, false);
        self.begin(number + 1);
    }

    fn next_timeout(&self) -> Time {
        self.due
    }

    fn on_timeout(&mut self, _now: Time) {
        self.counters.timeouts += 1;
        self.facts.push(Fact::Event("timeout"));
        self.backoff += 1;
        self.to_send = true;
        if let Some(datagram) = &mut self.outstanding {
            datagram.again = true;
        }
    }

    fn poll_transmit(&mut self, now: Time, payload: &mut Payload) -> Option<Outgoing> {
        if !std::mem::take(&mut self.to_send) {
            return None;
        }
        self.due = now + self.timeout();
        let datagram = self.outstanding.as_mut()?;
        datagram.sent_at = now;
        self.counters.retransmissions += u64::from(datagram.again);
        let mut bytes = header(datagram.number, datagram.length.into());
        bytes.extend((0..u64::from(datagram.length)).map(|at| byte_at(datagram.begin + at)));
        let packet = Outgoing {
            seq: datagram.number,
            size: (bytes.len() + BELOW) as u16,
            user_bytes: datagram.length,
            repeats: datagram.again,
            ecn: Codepoint::Ect1,
        };
        *payload = Payload::of(Counted::new(bytes, &self.transport.alive));
        Some(packet)
    }

    fn poll_fact(&mut self) -> Option<Fact> {
        if self.facts.is_empty() { None } else { Some(self.facts.remove(0)) }
    }

    fn backlog_bytes(&self) -> u64 {
        let outstanding = self.outstanding.as_ref().map_or(0, |datagram| datagram.length.into());
        self.written.map_or(outstanding, |written| written - self.sent)
    }

    fn report(&self) -> Report {
        let in_flight = u32::from(self.outstanding.is_some());
        let srtt = self.srtt_s.map(Duration::from_secs_f64);
        Report { cwnd: Some(1.0), in_flight, phase: "stop-and-wait", srtt, ..Report::default() }
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[derive(Debug)]
struct Sink {
    alive: Arc<AtomicI64>,
    next: u32,
    read: u64,
    answer: Option<u32>,
    counters: Counters,
}

impl Endpoint for Sink {
    fn write(&mut self, _now: Time, _bytes: Option<u64>) {}

    fn on_packet(&mut self, _now: Time, packet: Incoming<'_>) {
        let payload = packet.payload.take::<Counted>().expect("the source's payload");
        let (number, length) = read_header(&payload.bytes);
        assert_eq!(payload.bytes.len(), HEADER + length as usize);
        assert!(matches!(packet.ecn, Codepoint::Ect1 | Codepoint::Ce), "{:?}", packet.ecn);
        if number == self.next {
            for &byte in &payload.bytes[HEADER..] {
                assert_eq!(byte, byte_at(self.read), "byte {} of the stream", self.read);
                self.read += 1;
            }
            self.next += 1;
        } else {
            assert!(number < self.next, "a datagram beyond the one that is waited for");
            self.counters.duplicates += 1;
        }
        self.answer = Some(number);
    }

    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    fn on_timeout(&mut self, _now: Time) {}

    fn poll_transmit(&mut self, _now: Time, payload: &mut Payload) -> Option<Outgoing> {
        let seq = self.answer.take()?;
        *payload = Payload::of(Counted::new(header(seq, 0), &self.alive));
        Some(Outgoing { seq, size: ACK_SIZE, user_bytes: 0, repeats: false, ecn: Codepoint::NotEct })
    }

    fn delivered_bytes(&self) -> u64 {
        self.read
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}
