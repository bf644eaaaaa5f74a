//! Both ends of a connection whose application lives outside of the host: bytes are written from there, and counted
//! here.

use crate::application::{BUFFER, Turn, write};
use crate::stack::{Stack, StreamId};
use std::collections::{BTreeMap, VecDeque};

/// The end that sends.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// Each write is a stream of its own, which ends with it. Otherwise all writes share one stream.
    each: bool,
    /// Writes that have no stream yet, in bytes.
    waiting: VecDeque<u64>,
    /// The stream that is being written, and how many bytes still go into it.
    current: Option<(StreamId, u64)>,
    endless: bool,
    closing: bool,
    /// Finished streams that the peer has not confirmed, and their bytes.
    unconfirmed: BTreeMap<StreamId, u64>,
    written: u64,
    /// Of what was written, the stack has so many bytes.
    taken: u64,
    confirmed: u64,
    /// What went into the stream that is being written.
    in_stream: u64,
}

impl Source {
    pub fn new(each: bool) -> Source {
        Source { each, ..Source::default() }
    }

    /// The application writes so many bytes; `None`: as many as the connection takes.
    pub fn write(&mut self, bytes: Option<u64>) {
        match bytes {
            None => self.endless = true,
            Some(0) => {}
            Some(bytes) if self.each => self.waiting.push_back(bytes),
            // Endless data stay endless.
            Some(_) if self.endless => return,
            Some(bytes) => match (&mut self.current, self.waiting.front_mut()) {
                (Some((_, left)), _) => *left += bytes,
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

    pub fn taken_bytes(&self) -> u64 {
        self.taken
    }

    pub fn turn(&mut self, stack: &mut dyn Stack) -> Result<Turn, String> {
        let mut turn = Turn::default();
        loop {
            if self.current.is_none() {
                let first = if self.endless { Some(0) } else { self.waiting.front().copied() };
                let Some(bytes) = first else { break };
                // Without a stream's credit it waits: the stack tells when there is more.
                let Some(stream) = stack.open() else { break };
                self.waiting.pop_front();
                (self.current, self.in_stream) = (Some((stream, bytes)), 0);
            }
            let Some((stream, left)) = &mut self.current else { break };
            let stream = *stream;
            let before = if self.endless { *left + ENDLESS } else { *left };
            let mut now_left = before;
            turn.wake |= write(stack, stream, &mut now_left)?;
            let took = before - now_left;
            self.taken += took;
            self.in_stream += took;
            *left = left.saturating_sub(took);
            let is_over = !self.endless && *left == 0 && (self.each || self.closing);
            if !is_over {
                break;
            }
            stack.finish(stream)?;
            turn.wake = true;
            self.unconfirmed.insert(stream, self.in_stream);
            self.current = None;
        }
        // A source that stopped ends its connection when all has arrived.
        turn.close = self.closing && self.current.is_none() && self.waiting.is_empty() && self.unconfirmed.is_empty();
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
}

impl Sink {
    pub fn read_bytes(&self) -> u64 {
        self.read
    }

    pub fn turn(&mut self, stack: &mut dyn Stack) -> Result<Turn, String> {
        let mut turn = Turn::default();
        let mut failure = None;
        let read = &mut self.read;
        self.streams.retain(|&stream| match drain(stack, stream, read, &mut turn) {
            Ok(finished) => !finished,
            Err(error) => {
                failure = Some(error);
                false
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
