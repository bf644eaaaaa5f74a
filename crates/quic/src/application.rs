//! What the hosts do with their connection: the three applications of the reference, on both ends.
//!
//! A client asks on a bidirectional stream with nine bytes: what it wants, and how many bytes. The server answers every
//! stream by itself, so that it needs no configuration.

use crate::feed::{Sink, Source};
use crate::messages;
use crate::stack::{Stack, StreamId};
use skyhop_base::{Duration, Time};

/// One read or write of the applications, in bytes.
pub(crate) const BUFFER: usize = 64 * 1024;
/// The request: one byte for the kind, eight for the number of bytes.
const REQUEST: usize = 9;
/// What the server answers to an upload.
const RECEIPT: u64 = 8;
static ZEROS: [u8; BUFFER] = [0; BUFFER];

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Application {
    /// The server sends `bytes`.
    Download { bytes: u64 },
    /// The client sends `bytes`, the server answers with eight.
    Upload { bytes: u64 },
    /// `count` downloads of `bytes` one after another, a new stream each.
    Requests { count: u32, bytes: u64 },
}

/// How far an application came, on this host. Times are simulated time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The handshake is complete here.
    pub connected: Option<Time>,
    /// The first byte from the peer was read (a server does not count requests).
    pub first_byte: Option<Time>,
    /// All the data that this host is to receive was read.
    pub complete: Option<Time>,
    /// Bytes read, requests and receipts not counted.
    pub received: u64,
    /// From asking to the last byte, each request.
    pub latencies: Vec<Duration>,
    /// The end of the connection that this host did not ask for, in the stack's own words.
    pub ended: Option<(Time, String)>,
}

impl Progress {
    /// So many bytes were read so far.
    fn has_read(&mut self, now: Time, bytes: u64) {
        if bytes > self.received {
            self.first_byte.get_or_insert(now);
            self.received = bytes;
        }
    }
}

/// What the application did in its turn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turn {
    /// The connection has something to send.
    pub wake: bool,
    /// The client wants to close.
    pub close: bool,
    /// A new task waits behind those that were woken before it.
    pub again: bool,
}

#[derive(Debug)]
pub(crate) enum Side {
    Client(Client),
    Server(Vec<Served>),
    /// The application lives outside of the host.
    Source(Source),
    Sink(Sink),
    /// The same with messages in place of streams.
    Sender(messages::Sender),
    Receiver(messages::Receiver),
}

#[derive(Debug)]
pub(crate) struct Client {
    application: Application,
    state: State,
    /// Requests made so far.
    asked: u32,
}

#[derive(Debug)]
enum State {
    Idle,
    Sending { stream: StreamId, left: u64, since: Time },
    Receiving { stream: StreamId, since: Time },
    Done,
}

#[derive(Debug)]
pub(crate) struct Served {
    stream: StreamId,
    request: Vec<u8>,
    /// Data still to come, then to be answered with `to_send` bytes.
    to_receive: u64,
    to_send: u64,
    finished: bool,
    delivered: bool,
    /// The end of the request was read.
    ended: bool,
}

impl Client {
    pub(crate) fn new(application: Application) -> Client {
        Client { application, state: State::Idle, asked: 0 }
    }

    fn turn(&mut self, stack: &mut dyn Stack, now: Time, progress: &mut Progress) -> Result<Turn, String> {
        let mut turn = Turn::default();
        loop {
            match &mut self.state {
                State::Idle => {
                    let Some(stream) = stack.open() else { return Ok(turn) };
                    let (kind, bytes, upload) = match self.application {
                        Application::Download { bytes } | Application::Requests { bytes, .. } => (0, bytes, 0),
                        Application::Upload { bytes } => (1, bytes, bytes),
                    };
                    let mut request = [kind; REQUEST];
                    request[1..].copy_from_slice(&bytes.to_be_bytes());
                    // A new stream takes nine bytes at once: every window is larger.
                    if stack.write(stream, &request)? < REQUEST {
                        return Err("the stack does not take a request of nine bytes".into());
                    }
                    self.asked += 1;
                    turn.wake = true;
                    if upload == 0 {
                        stack.finish(stream)?;
                        self.state = State::Receiving { stream, since: now };
                    } else {
                        self.state = State::Sending { stream, left: upload, since: now };
                    }
                }
                State::Sending { stream, left, since } => {
                    turn.wake |= write(stack, *stream, left)?;
                    if *left > 0 {
                        return Ok(turn);
                    }
                    stack.finish(*stream)?;
                    turn.wake = true;
                    self.state = State::Receiving { stream: *stream, since: *since };
                }
                State::Receiving { stream, since } => {
                    let read = stack.read(*stream, BUFFER, None)?;
                    turn.wake |= read.transmit;
                    if read.bytes > 0 {
                        progress.first_byte.get_or_insert(now);
                        if !matches!(self.application, Application::Upload { .. }) {
                            progress.received += read.bytes as u64;
                        }
                    }
                    if read.finished {
                        progress.latencies.push(now.since(*since));
                        let again =
                            matches!(self.application, Application::Requests { count, .. } if self.asked < count);
                        self.state = if again { State::Idle } else { State::Done };
                        if !again {
                            progress.complete = Some(now);
                            turn.close = true;
                        }
                    } else if read.bytes < BUFFER {
                        return Ok(turn);
                    }
                }
                State::Done => return Ok(turn),
            }
        }
    }
}

/// Writes zeros until nothing is left or the stack is blocked. True if it took any.
pub(crate) fn write(stack: &mut dyn Stack, stream: StreamId, left: &mut u64) -> Result<bool, String> {
    let mut wrote = false;
    while *left > 0 {
        let size = usize::try_from(*left).unwrap_or(BUFFER).min(BUFFER);
        let taken = stack.write(stream, &ZEROS[..size])?;
        if taken == 0 {
            break;
        }
        *left -= taken as u64;
        wrote = true;
    }
    Ok(wrote)
}

impl Served {
    /// True once all is answered and has arrived.
    fn turn(
        &mut self,
        stack: &mut dyn Stack,
        now: Time,
        progress: &mut Progress,
        turn: &mut Turn,
    ) -> Result<bool, String> {
        if self.delivered {
            // The end of the request, which frees the stream for the next one.
            if !self.ended {
                turn.wake |= stack.read(self.stream, BUFFER, None)?.transmit;
            }
            return Ok(true);
        }
        if self.request.len() < REQUEST {
            let read = stack.read(self.stream, REQUEST - self.request.len(), Some(&mut self.request))?;
            turn.wake |= read.transmit;
            if self.request.len() < REQUEST {
                if read.finished {
                    return Err(format!("a request of {} bytes instead of nine", self.request.len()));
                }
                return Ok(false);
            }
            let bytes = u64::from_be_bytes(std::array::from_fn(|i| self.request[1 + i]));
            (self.to_receive, self.to_send) = if self.request[0] == 0 { (0, bytes) } else { (bytes, RECEIPT) };
        }
        while self.to_receive > 0 {
            let read = stack.read(self.stream, BUFFER, None)?;
            turn.wake |= read.transmit;
            self.ended |= read.finished;
            if read.bytes > 0 {
                progress.first_byte.get_or_insert(now);
                progress.received += read.bytes as u64;
                self.to_receive = self.to_receive.saturating_sub(read.bytes as u64);
                if self.to_receive == 0 {
                    progress.complete = Some(now);
                }
            }
            if self.to_receive > 0 && read.finished {
                return Err(format!("an upload ends {} bytes early", self.to_receive));
            }
            if self.to_receive > 0 && read.bytes < BUFFER {
                return Ok(false);
            }
        }
        turn.wake |= write(stack, self.stream, &mut self.to_send)?;
        if self.to_send == 0 && !self.finished {
            stack.finish(self.stream)?;
            (self.finished, turn.wake) = (true, true);
        }
        Ok(false)
    }
}

impl Side {
    /// The peer has everything that this host wrote to `stream`.
    pub(crate) fn delivered(&mut self, stream: StreamId) {
        match self {
            Side::Server(served) => {
                served.iter_mut().filter(|served| served.stream == stream).for_each(|served| served.delivered = true);
            }
            Side::Source(source) => source.delivered(stream),
            Side::Client(_) | Side::Sink(_) | Side::Sender(_) | Side::Receiver(_) => {}
        }
    }

    pub(crate) fn turn(&mut self, stack: &mut dyn Stack, now: Time, progress: &mut Progress) -> Result<Turn, String> {
        match self {
            Side::Client(client) => client.turn(stack, now, progress),
            Side::Source(source) => source.turn(stack),
            Side::Sender(sender) => sender.turn(stack),
            Side::Sink(sink) => {
                let turn = sink.turn(stack)?;
                progress.has_read(now, sink.read_bytes());
                Ok(turn)
            }
            Side::Receiver(receiver) => {
                receiver.turn(stack);
                progress.has_read(now, receiver.read_bytes());
                Ok(Turn::default())
            }
            Side::Server(served) => {
                let mut turn = Turn::default();
                let mut failure = None;
                served.retain_mut(|stream| match stream.turn(stack, now, progress, &mut turn) {
                    Ok(done) => !done,
                    Err(error) => {
                        failure = Some(error);
                        false
                    }
                });
                // Each stream gets a task of its own, which runs after whatever was woken before.
                while let Some(stream) = stack.accept_stream() {
                    let request = Vec::with_capacity(REQUEST);
                    let (to_receive, to_send) = (0, 0);
                    let (finished, delivered, ended) = (false, false, false);
                    served.push(Served { stream, request, to_receive, to_send, finished, delivered, ended });
                    turn.again = true;
                }
                failure.map_or(Ok(turn), Err)
            }
        }
    }
}
