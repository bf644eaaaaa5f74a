//! A small sans-IO stack: one stream, a window of datagrams, and a timer that repeats what is missing.

use skyhop_base::{Duration, Stream, Time};
use skyhop_hosts::quic::End;
use skyhop_quic::stack::{Batch, Ecn, Event, Incoming, Read, Stack, StreamId};
use skyhop_quic::{Host, Measures, Runtime, StreamUse};
use skyhop_sim::endpoint::{Endpoint, Transport};
use std::collections::{BTreeMap, VecDeque};

/// User bytes of a full datagram, and datagrams in flight at most.
const FULL: usize = 1000;
const WINDOW: usize = 20;
/// A datagram that is not acknowledged after this time is sent again.
const PATIENCE: Duration = Duration::from_secs(1);

/// One end. A datagram is a byte for its kind, eight for its place in the stream, and user bytes.
#[derive(Debug, Default)]
pub struct Windowed {
    events: VecDeque<Event>,
    /// Datagrams to send now.
    ready: VecDeque<Vec<u8>>,
    /// The sender's: places that are sent and not acknowledged, each with the time to send it again.
    flying: BTreeMap<u64, (Time, usize)>,
    written: u64,
    end: Option<u64>,
    /// The receiver's: pieces behind a gap, the bytes in order, and those that were read.
    early: BTreeMap<u64, usize>,
    in_order: u64,
    read: u64,
    is_new: bool,
    is_accepted: bool,
}

/// The place that a datagram is for.
fn place_of(datagram: &[u8]) -> u64 {
    u64::from_be_bytes(std::array::from_fn(|i| datagram[1 + i]))
}

impl Windowed {
    fn datagram(kind: u8, place: u64, bytes: usize) -> Vec<u8> {
        let mut datagram = vec![kind];
        datagram.extend(place.to_be_bytes());
        datagram.resize(9 + bytes, 0);
        datagram
    }
}

impl Stack for Windowed {
    fn connect(&mut self, now: Time) -> Result<(), String> {
        self.ready.push_back(Windowed::datagram(b'C', 0, 0));
        self.flying.insert(0, (now + PATIENCE, 0));
        Ok(())
    }

    fn accept(&mut self, _now: Time, answers: &mut Vec<Vec<u8>>) -> Result<(), String> {
        answers.push(Windowed::datagram(b'A', 0, 0));
        (self.is_new, self.is_accepted) = (true, true);
        self.events.push_back(Event::Connected);
        Ok(())
    }

    fn receive(&mut self, _now: Time, datagram: &[u8], _ecn: Ecn, _answers: &mut Vec<Vec<u8>>) -> Incoming {
        let place = place_of(datagram);
        match datagram[0] {
            b'C' if !self.is_accepted => return Incoming::NewConnection,
            // Its answer was lost.
            b'C' => self.ready.push_back(Windowed::datagram(b'A', 0, 0)),
            b'A' => {
                let is_first = self.flying.remove(&place).is_some() && place == 0 && self.written == 0;
                let is_all = self.end == Some(self.written) && self.flying.is_empty();
                let event = if is_first { Event::Connected } else { Event::Stream };
                self.events.push_back(if is_all && !is_first { Event::Delivered(0) } else { event });
            }
            _ => {
                self.early.insert(place - 1, datagram.len() - 9);
                while let Some(bytes) = self.early.remove(&self.in_order) {
                    self.in_order += bytes as u64;
                }
                self.early.retain(|begin, _| *begin > self.in_order);
                self.ready.push_back(Windowed::datagram(b'A', place, 0));
                self.events.push_back(Event::Stream);
            }
        }
        Incoming::ForConnection
    }

    fn transmit(&mut self, now: Time, _segments: usize, buffer: &mut Vec<u8>) -> Option<Batch> {
        let late = self.flying.iter().find(|(_, (due, _))| *due <= now).map(|(place, (_, bytes))| (*place, *bytes));
        if let Some((place, bytes)) = late {
            self.flying.insert(place, (now + PATIENCE, bytes));
            self.ready.push_back(Windowed::datagram(if place == 0 { b'C' } else { b'D' }, place, bytes));
        }
        *buffer = self.ready.pop_front()?;
        if let Some((due, _)) = self.flying.get_mut(&place_of(buffer)).filter(|_| buffer[0] != b'A') {
            *due = now + PATIENCE;
        }
        Some(Batch { size: buffer.len(), segment: buffer.len(), ecn: Ecn::NotEct })
    }

    fn timeout(&mut self) -> Option<Time> {
        self.flying.values().map(|(due, _)| *due).min()
    }

    fn write(&mut self, _stream: StreamId, data: &[u8]) -> Result<usize, String> {
        let mut taken = 0;
        while taken < data.len() && self.flying.len() < WINDOW {
            let bytes = FULL.min(data.len() - taken);
            // A place counts from 1: 0 opens the connection.
            let place = self.written + 1;
            self.ready.push_back(Windowed::datagram(b'D', place, bytes));
            self.flying.insert(place, (Time::MAX, bytes));
            (self.written, taken) = (self.written + bytes as u64, taken + bytes);
        }
        Ok(taken)
    }

    fn finish(&mut self, _stream: StreamId) -> Result<(), String> {
        self.end = Some(self.written);
        Ok(())
    }

    fn read(&mut self, _: StreamId, limit: usize, _: Option<&mut Vec<u8>>) -> Result<Read, String> {
        let bytes = (self.in_order - self.read).min(limit as u64);
        self.read += bytes;
        Ok(Read { bytes: bytes as usize, finished: false, transmit: false })
    }

    fn measures(&mut self) -> Measures {
        let in_flight = self.flying.values().map(|(_, bytes)| *bytes as u64).sum();
        Measures { cwnd: (WINDOW * FULL) as u64, in_flight: Some(in_flight), ..Measures::default() }
    }

    fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn accept_stream(&mut self) -> Option<StreamId> {
        std::mem::take(&mut self.is_new).then_some(0)
    }

    fn open(&mut self) -> Option<StreamId> {
        Some(0)
    }

    fn process(&mut self) {}

    fn forward(&mut self) -> bool {
        false
    }

    fn endpoint(&mut self) -> bool {
        false
    }

    fn on_timeout(&mut self, _now: Time) {}

    fn is_drained(&self) -> bool {
        false
    }

    fn close(&mut self, _now: Time, _reason: &str) {}
}

/// The transport of a flow whose hosts run this stack, without habits of a runtime.
#[derive(Debug)]
pub struct WindowedHosts;

impl Transport for WindowedHosts {
    fn source(&self, mut draws: Stream) -> Box<dyn Endpoint> {
        let stack = Box::<Windowed>::default();
        let host = Host::of_source(stack, Runtime::exact(), StreamUse::Shared, (draws.bits(), "source"));
        Box::new(End::new(host, FULL as u64, true))
    }

    fn sink(&self, mut draws: Stream) -> Box<dyn Endpoint> {
        let stack = Box::<Windowed>::default();
        Box::new(End::new(Host::of_sink(stack, Runtime::exact(), (draws.bits(), "sink")), FULL as u64, false))
    }
}
