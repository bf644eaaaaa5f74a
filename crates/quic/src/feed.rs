//! Both ends of a connection whose application lives outside of the host: bytes are written from there, and counted
//! here.

use crate::application::{BUFFER, Turn, write};
use crate::stack::{Stack, StreamId};
use std::collections::{BTreeMap, VecDeque};

/// How the writes of an application become streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamUse {
    /// All writes share one stream.
    #[default]
    Shared,
    /// Each write is a stream of its own, which ends with it. The application writes one after another.
    InTurn,
    /// The same, and the application writes to all of them at once, as far as the stack takes data.
    AtOnce,
    /// No stream: each write is a message in a DATAGRAM frame (RFC 9221).
    Datagrams,
}

/// A stream that is being written.
#[derive(Clone, Copy, Debug)]
struct Writing {
    stream: StreamId,
    /// Bytes that still go into it.
    left: u64,
    /// Bytes that the stack has taken.
    taken: u64,
}

/// The end that sends.
#[derive(Debug, Default)]
pub(crate) struct Source {
    streams: StreamUse,
    /// Writes that have no stream yet, in bytes.
    waiting: VecDeque<u64>,
    /// One at most, except with [`StreamUse::AtOnce`].
    open: Vec<Writing>,
    endless: bool,
    closing: bool,
    /// Finished streams that the peer has not confirmed, and their bytes.
    unconfirmed: BTreeMap<StreamId, u64>,
    written: u64,
    /// Of what was written, the stack has so many bytes.
    taken: u64,
    confirmed: u64,
}

impl Source {
    pub fn new(streams: StreamUse) -> Source {
        Source { streams, ..Source::default() }
    }

    /// The application writes so many bytes; `None`: as many as the connection takes.
    pub fn write(&mut self, bytes: Option<u64>) {
        match bytes {
            None => self.endless = true,
            Some(0) => {}
            Some(bytes) if self.streams != StreamUse::Shared => self.waiting.push_back(bytes),
            // Endless data stay endless.
            Some(_) if self.endless => return,
            Some(bytes) => match (self.open.first_mut(), self.waiting.front_mut()) {
                (Some(writing), _) => writing.left += bytes,
                (None, Some(first)) => *first += bytes,
                (None, None) => self.waiting.push_back(bytes),
            },
        }
        self.written += bytes.unwrap_or(0);
    }

    /// The application writes no more. What it has written is still sent.
    pub fn close(&mut self) {
        (self.closing, self.endless) = (true, false);
    }

    pub fn delivered(&mut self, stream: StreamId) {
        self.confirmed += self.unconfirmed.remove(&stream).unwrap_or(0);
    }

    /// Written, and not known to have arrived.
    pub fn backlog_bytes(&self) -> u64 {
        self.written.max(self.taken) - self.confirmed
    }

    /// Whether there is more to bring across: an endless source has that before the stack has taken its first byte.
    pub fn is_unfinished(&self) -> bool {
        self.endless || self.backlog_bytes() > 0
    }

    pub fn taken_bytes(&self) -> u64 {
        self.taken
    }

    pub fn turn(&mut self, stack: &mut dyn Stack) -> Result<Turn, String> {
        let mut turn = Turn::default();
        let mut next = 0;
        loop {
            if next == self.open.len() {
                if next > 0 && self.streams != StreamUse::AtOnce {
                    break;
                }
                let first = if self.endless { Some(0) } else { self.waiting.front().copied() };
                let Some(left) = first else { break };
                // Without a stream's credit it waits: the stack tells when there is more.
                let Some(stream) = stack.open() else { break };
                self.waiting.pop_front();
                self.open.push(Writing { stream, left, taken: 0 });
            }
            let writing = &mut self.open[next];
            let before = if self.endless { writing.left + ENDLESS } else { writing.left };
            let mut now_left = before;
            turn.wake |= write(stack, writing.stream, &mut now_left)?;
            let took = before - now_left;
            self.taken += took;
            writing.taken += took;
            writing.left = writing.left.saturating_sub(took);
            let ends = self.streams != StreamUse::Shared || self.closing;
            if self.endless || writing.left > 0 || !ends {
                next += 1;
                continue;
            }
            let Writing { stream, taken, .. } = self.open.remove(next);
            stack.finish(stream)?;
            turn.wake = true;
            self.unconfirmed.insert(stream, taken);
        }
        // A source that stopped ends its connection when all has arrived.
        turn.close = self.closing && self.open.is_empty() && self.waiting.is_empty() && self.unconfirmed.is_empty();
        Ok(turn)
    }
}

/// More than any stack takes in one turn.
const ENDLESS: u64 = 1 << 40;

/// The end that reads.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    streams: Vec<StreamId>,
    read: u64,
    /// Bytes of each stream of the client, in the order in which it opened them.
    of_stream: Vec<u64>,
}

impl Sink {
    pub fn read_bytes(&self) -> u64 {
        self.read
    }

    /// Bytes of the client's stream of this number, from 0 in the order of their opening.
    pub fn read_of(&self, number: usize) -> u64 {
        self.of_stream.get(number).copied().unwrap_or(0)
    }

    pub fn turn(&mut self, stack: &mut dyn Stack) -> Result<Turn, String> {
        let mut turn = Turn::default();
        let mut failure = None;
        let Sink { streams, read, of_stream } = self;
        streams.retain(|&stream| {
            // RFC 9000, section 2.1: the two lowest bits are the stream's type, and those above count.
            let number = (stream >> 2) as usize;
            if of_stream.len() <= number {
                of_stream.resize(number + 1, 0);
            }
            let before = *read;
            let finished = drain(stack, stream, read, &mut turn);
            of_stream[number] += *read - before;
            match finished {
                Ok(finished) => !finished,
                Err(error) => {
                    failure = Some(error);
                    false
                }
            }
        });
        // Each stream gets a task of its own, which runs after whatever was woken before.
        while let Some(stream) = stack.accept_stream() {
            self.streams.push(stream);
            turn.again = true;
        }
        failure.map_or(Ok(turn), Err)
    }
}

/// Reads what is there. True at the end of the stream.
fn drain(stack: &mut dyn Stack, stream: StreamId, total: &mut u64, turn: &mut Turn) -> Result<bool, String> {
    loop {
        let read = stack.read(stream, BUFFER, None)?;
        turn.wake |= read.transmit;
        *total += read.bytes as u64;
        if read.finished {
            // The own half ends, too, which frees the stream.
            stack.finish(stream)?;
            turn.wake = true;
            return Ok(true);
        }
        if read.bytes < BUFFER {
            return Ok(false);
        }
    }
}
