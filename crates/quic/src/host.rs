//! A host: one stack, the runtime that drives it, and its application.
//!
//! In real life three tasks share one thread: the endpoint reads the socket, the connection's driver processes, sends
//! and keeps the timer, and the application reads and writes. They wake each other and run in the order in which they
//! were woken. That order decides which frames share a packet, so the host keeps it.

use crate::application::{Application, Client, Progress, Side};
use crate::config::{Config, ConfigError};
use crate::feed::{Sink, Source, StreamUse};
use crate::messages::{self, Message, MessageTally};
use crate::runtime::{DATAGRAMS_PER_TURN, Runtime};
use crate::stack::{self, Ecn, Event, Incoming, Measures, Seen, Stack};
use crate::watch::{PacketKind, Piece, Plain, Ranges};
use skyhop_base::{Duration, Stream, Time};
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// More tasks than this at one instant and the stack would never let time pass.
const TASKS_PER_INSTANT: u32 = 1_000_000;

/// A UDP payload that one host sends to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    pub bytes: Vec<u8>,
    pub ecn: Ecn,
    /// Nothing but a timer of the stack made the sender act (pacing, a delayed acknowledgement, a probe).
    pub by_timer: bool,
    /// Its contents, as far as the sender says.
    pub contents: Contents,
}

/// What a sender has put into a datagram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The number of its last packet; numbers of the handshake's packets count for themselves.
    pub number: u64,
    /// Bytes of streams and of messages in DATAGRAM frames.
    pub user_bytes: u32,
    /// At least one of these bytes was sent before.
    pub repeats: bool,
    /// The type of its last packet, of a stack that says what it sends.
    pub kind: Option<PacketKind>,
    /// Where these bytes stand in their streams.
    pub pieces: Vec<Piece>,
    /// Numbers of packets with application data that it acknowledges: ranges that include both ends.
    pub acked: Vec<(u64, u64)>,
}

/// A packet with application data that the stack of its sender declared lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Its packet number.
    pub number: u64,
    /// How many datagrams the host had sent before that of the packet.
    pub datagram: u32,
    /// Bytes of this datagram.
    pub bytes: u16,
}

/// What a host did, for the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Datagrams sent with bytes of streams that were sent before.
    pub repetitions: u64,
    /// Packets received that carried bytes of streams, and no new one.
    pub duplicates: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Endpoint,
    Connection,
    Application,
}

/// One end of a connection. A network hands it datagrams ([`Host::receive`]), wakes it ([`Host::wake`]) at the time
/// that it asks for ([`Host::next_wake`]), and takes what it sends ([`Host::take_output`]).
///
/// Large because a connection, its runtime's habits, its application and its measures share one clock and one queue of
/// datagrams.
#[derive(Debug)]
pub struct Host {
    stack: Box<dyn Stack>,
    runtime: Runtime,
    side: Side,
    /// When the client connects, and when it closes if it is not done before.
    start: Option<Time>,
    stop: Option<Time>,
    tasks: VecDeque<Task>,
    inbox: Vec<Datagram>,
    /// When the process acts on what lies in the inbox.
    input: Option<Time>,
    outbox: Vec<Datagram>,
    buffer: Vec<u8>,
    /// The connection's timer.
    timer: Option<Time>,
    idle_since: Time,
    /// Drawn for the next event.
    latency: Duration,
    random: Stream,
    progress: Progress,
    last: Measures,
    calls: u64,
    sent: u64,
    over: bool,
    closed: bool,
    by_timer: bool,
    /// The application outside has written.
    asked: bool,
    rtts: Vec<Duration>,
    events: Vec<&'static str>,
    lost: Vec<Lost>,
    /// Datagrams so far, those of the endpoint included.
    datagrams: u32,
    /// Packets that the stack may still declare lost, in the order of their numbers, and some that it cannot any more.
    departed: VecDeque<Lost>,
    /// Bytes of streams that left and that came.
    out: Ranges,
    into: Ranges,
    tally: Tally,
}

impl Host {
    /// A client that connects at `start` and closes when it is done, at the latest at `stop`.
    pub fn client(
        config: &Config,
        runtime: Runtime,
        application: Application,
        start: Time,
        stop: Option<Time>,
        (seed, name): (u64, &str),
    ) -> Result<Host, ConfigError> {
        let stack = stack::build(config, false, seed, name)?;
        Ok(Host {
            start: Some(start),
            stop,
            ..Host::new(stack, runtime, Side::Client(Client::new(application)), (seed, name))
        })
    }

    /// A server that answers whatever a client asks for.
    pub fn server(config: &Config, runtime: Runtime, (seed, name): (u64, &str)) -> Result<Host, ConfigError> {
        Ok(Host::new(stack::build(config, true, seed, name)?, runtime, Side::Server(Vec::new()), (seed, name)))
    }

    /// A client whose application lives outside: it writes with [`Host::write`], and the first write connects.
    pub fn source(
        config: &Config,
        runtime: Runtime,
        streams: StreamUse,
        (seed, name): (u64, &str),
    ) -> Result<Host, ConfigError> {
        let stack = stack::build(config, false, seed, name)?;
        Ok(Host::of_source(stack, runtime, streams, (seed, name)))
    }

    /// A server that reads whatever a [`Host::source`] sends: messages if `config` takes DATAGRAM frames, else streams.
    pub fn sink(config: &Config, runtime: Runtime, (seed, name): (u64, &str)) -> Result<Host, ConfigError> {
        let stack = stack::build(config, true, seed, name)?;
        if config.datagrams {
            let receiver = messages::Receiver::default();
            return Ok(Host::new(stack, runtime, Side::Receiver(receiver), (seed, name)));
        }
        Ok(Host::of_sink(stack, runtime, (seed, name)))
    }

    /// [`Host::source`] with any stack.
    pub fn of_source(stack: Box<dyn Stack>, runtime: Runtime, streams: StreamUse, (seed, name): (u64, &str)) -> Host {
        let side = match streams {
            StreamUse::Datagrams => Side::Sender(messages::Sender::default()),
            StreamUse::Shared | StreamUse::InTurn | StreamUse::AtOnce => Side::Source(Source::new(streams)),
        };
        Host::new(stack, runtime, side, (seed, name))
    }

    /// [`Host::sink`] with any stack.
    pub fn of_sink(stack: Box<dyn Stack>, runtime: Runtime, (seed, name): (u64, &str)) -> Host {
        Host::new(stack, runtime, Side::Sink(Sink::default()), (seed, name))
    }

    fn new(stack: Box<dyn Stack>, runtime: Runtime, side: Side, (seed, name): (u64, &str)) -> Host {
        let mut stack = stack;
        Host {
            last: stack.measures(),
            stack,
            runtime,
            side,
            start: None,
            stop: None,
            tasks: VecDeque::new(),
            inbox: Vec::new(),
            input: None,
            outbox: Vec::new(),
            buffer: Vec::new(),
            timer: None,
            idle_since: Time::ZERO,
            latency: runtime.latency,
            random: Stream::new(seed, name, "latency"),
            progress: Progress::default(),
            calls: 0,
            sent: 0,
            over: false,
            closed: false,
            by_timer: false,
            asked: false,
            rtts: Vec::new(),
            events: Vec::new(),
            lost: Vec::new(),
            datagrams: 0,
            departed: VecDeque::new(),
            out: Ranges::default(),
            into: Ranges::default(),
            tally: Tally::default(),
        }
    }

    /// Connects before the application outside has written anything.
    pub fn open(&mut self, now: Time) {
        if !self.asked {
            (self.asked, self.start) = (true, Some(now));
        }
    }

    /// The application outside writes so many bytes, or as many as the connection carries. The first call connects.
    pub fn write(&mut self, now: Time, bytes: Option<u64>) {
        match &mut self.side {
            Side::Source(source) => source.write(bytes),
            // An application that always has something to send needs a stream.
            Side::Sender(sender) => sender.write(now, bytes.map_or(0, |bytes| bytes as u32)),
            _ => return,
        }
        if !self.asked {
            (self.asked, self.start) = (true, Some(now));
        } else if self.progress.connected.is_some() {
            self.queue(Task::Application);
            self.wake(now);
        }
    }

    /// The application outside writes no more. What the stack has taken is still sent, then the connection closes.
    pub fn finish(&mut self, now: Time) {
        match &mut self.side {
            Side::Source(source) => source.close(),
            Side::Sender(sender) => sender.close(),
            _ => return,
        }
        if self.progress.connected.is_some() {
            self.queue(Task::Application);
            self.wake(now);
        }
    }

    /// Bytes that the application outside has written and that are not known to have arrived.
    pub fn backlog_bytes(&self) -> u64 {
        match &self.side {
            Side::Source(source) => source.backlog_bytes(),
            Side::Sender(sender) => sender.backlog_bytes(),
            _ => 0,
        }
    }

    /// Messages that the receiver's application has read since the last call.
    pub fn take_messages(&mut self) -> Vec<Message> {
        if let Side::Receiver(receiver) = &mut self.side { receiver.take() } else { Vec::new() }
    }

    /// Messages so far, as far as this end knows; `None` where streams are in their place.
    pub fn messages(&self) -> Option<MessageTally> {
        match &self.side {
            Side::Sender(sender) => Some(sender.tally()),
            Side::Receiver(receiver) => Some(receiver.tally()),
            _ => None,
        }
    }

    /// Why the connection ended before its application did: the simulated time, and the stack's words.
    pub fn failure(&self) -> Option<&(Time, String)> {
        let ended = self.progress.ended.as_ref()?;
        let is_failure = match &self.side {
            Side::Source(source) => source.is_unfinished(),
            Side::Sender(sender) => !sender.is_closing() || sender.backlog_bytes() > 0,
            // The other end closed it, or went away; the source knows whether that was too early.
            _ => !["ApplicationClosed", "ConnectionClosed", "TimedOut", "Reset"]
                .iter()
                .any(|word| ended.1.contains(word)),
        };
        is_failure.then_some(ended)
    }

    /// Samples of the round-trip time since the last call.
    pub fn take_rtts(&mut self) -> Vec<Duration> {
        std::mem::take(&mut self.rtts)
    }

    /// What happened to the congestion window since the last call, as events of the records.
    pub fn take_events(&mut self) -> Vec<&'static str> {
        std::mem::take(&mut self.events)
    }

    /// Packets that the stack declared lost since the last call.
    pub fn take_lost(&mut self) -> Vec<Lost> {
        std::mem::take(&mut self.lost)
    }

    /// Bytes that a [`Host::sink`] has read of the stream with this number, from 0 in the order of their opening.
    pub fn read_of_stream(&self, number: u64) -> u64 {
        if let Side::Sink(sink) = &self.side { sink.read_of(usize::try_from(number).unwrap_or(usize::MAX)) } else { 0 }
    }

    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// The stack's own figures when the host was awake last.
    pub fn last_measures(&self) -> &Measures {
        &self.last
    }

    /// Memory that grows with what happens, in bytes: data that the stack keeps until they are acknowledged or read,
    /// and the ranges of what was seen. The stacks' own tables are not counted.
    pub fn memory_bytes(&self) -> u64 {
        let kept = match &self.side {
            Side::Source(source) => {
                source.taken_bytes().saturating_sub(self.out.total()) + self.last.in_flight.unwrap_or(0)
            }
            Side::Sink(sink) => self.into.total().saturating_sub(sink.read_bytes()),
            Side::Sender(sender) => sender.backlog_bytes() + sender.memory_bytes(),
            Side::Client(_) | Side::Server(_) | Side::Receiver(_) => 0,
        };
        let departed = self.departed.capacity() * size_of::<Lost>();
        kept + self.out.memory_bytes() + self.into.memory_bytes() + departed as u64
    }

    /// A datagram arrives. The host acts on it when it is woken next.
    pub fn receive(&mut self, now: Time, datagram: Datagram) {
        if !self.over {
            self.inbox.push(datagram);
            self.input.get_or_insert(now.saturating_add(self.latency));
        }
    }

    /// Runs whatever is due.
    pub fn wake(&mut self, now: Time) {
        if self.over {
            return;
        }
        // A stack that panics ends its own flow and nothing else. It is not called again, so half-changed state harms
        // nobody.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.run(now)));
        let failure = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error),
            Err(panic) => Some(format!("the stack panicked: {}", words(&*panic))),
        };
        if let Some(failure) = failure {
            self.end(now, failure);
            self.over = true;
        }
        if !self.over && self.is_recorded() {
            // The records ask without changing anything.
            self.last = self.stack.measures();
            self.note();
        }
        self.idle_since = now;
        let jitter = self.runtime.jitter.as_secs_f64();
        let extra = if jitter > 0.0 { self.random.exponential(jitter) } else { 0.0 };
        self.latency = self.runtime.latency + Duration::from_secs_f64(extra);
    }

    /// Whether the application lives outside, whose records ask for what happens.
    fn is_recorded(&self) -> bool {
        !matches!(self.side, Side::Client(_) | Side::Server(_))
    }

    /// Takes what the stack says for the records; gives the packets that it has sent since.
    fn note(&mut self) -> Vec<Plain> {
        let Seen { sent, received, rtts, events, lost, oldest_outstanding } = self.stack.seen();
        if !self.is_recorded() {
            // Nobody takes them: the comparison with real time looks at the wire.
            return sent;
        }
        self.rtts.extend(rtts);
        self.events.extend(events);
        for number in lost {
            let place = self.departed.binary_search_by_key(&number, |packet| packet.number);
            self.lost.extend(place.ok().map(|place| self.departed[place]));
        }
        let is_decided = |packet: &Lost| oldest_outstanding.is_none_or(|oldest| packet.number < oldest);
        while self.departed.front().is_some_and(is_decided) {
            self.departed.pop_front();
        }
        for packet in received {
            let bytes: u64 = packet.pieces.iter().map(|piece| piece.bytes).sum();
            let fresh: u64 = packet.pieces.iter().map(|piece| self.into.add(piece)).sum();
            self.tally.duplicates += u64::from(fresh == 0 && bytes > 0);
        }
        sent
    }

    /// When the host wants to be woken next; `None`: only a datagram wakes it.
    pub fn next_wake(&self) -> Option<Time> {
        if self.over {
            return None;
        }
        let deadline = [self.timer, self.start, self.stop].into_iter().flatten().min();
        let timer = deadline.map(|deadline| self.runtime.wakes(deadline, self.idle_since));
        let timer = timer.map(|wakes| wakes.saturating_add(self.latency));
        [timer, self.input].into_iter().flatten().min()
    }

    /// The datagrams that the host has sent since the last call, in order.
    pub fn take_output(&mut self) -> std::vec::Drain<'_, Datagram> {
        self.outbox.drain(..)
    }

    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The stack's own figures, now or, after the end, the last ones.
    pub fn measures(&mut self) -> Measures {
        if !self.over {
            self.last = self.stack.measures();
        }
        self.last
    }

    /// Whether the connection is closed on this side, by whom ever.
    pub fn is_closed(&self) -> bool {
        self.closed || self.over || self.progress.ended.is_some()
    }

    /// Send calls and datagrams so far.
    pub fn send_calls(&self) -> (u64, u64) {
        (self.calls, self.sent)
    }

    fn queue(&mut self, task: Task) {
        if !self.tasks.contains(&task) {
            self.tasks.push_back(task);
        }
    }

    fn end(&mut self, now: Time, reason: String) {
        if self.progress.ended.is_none() && !self.closed {
            self.progress.ended = Some((now, reason));
        }
    }

    fn run(&mut self, now: Time) -> Result<(), String> {
        // Awake for whatever reason, it reads what is there.
        if !self.inbox.is_empty() {
            self.queue(Task::Endpoint);
        }
        self.input = None;
        self.by_timer = self.tasks.is_empty();
        if self.timer.is_some_and(|deadline| self.runtime.is_due(deadline, now)) {
            self.queue(Task::Connection);
        }
        if [self.start, self.stop].into_iter().flatten().any(|deadline| self.runtime.is_due(deadline, now)) {
            self.queue(Task::Application);
            self.by_timer = false;
        }
        let mut ran = 0;
        while let Some(task) = self.tasks.pop_front() {
            ran += 1;
            if ran > TASKS_PER_INSTANT {
                return Err("the stack stays busy at one instant and lets no time pass".into());
            }
            match task {
                Task::Endpoint => self.endpoint(now),
                Task::Connection => self.connection(now),
                Task::Application => self.application(now)?,
            }
        }
        Ok(())
    }

    fn endpoint(&mut self, now: Time) {
        let mut answers = Vec::new();
        for datagram in std::mem::take(&mut self.inbox) {
            match self.stack.receive(now, &datagram.bytes, datagram.ecn, &mut answers) {
                Incoming::ForConnection => self.queue(Task::Connection),
                Incoming::NewConnection => self.queue(Task::Application),
                Incoming::Done => {}
            }
        }
        self.answer(answers);
        if self.stack.endpoint() {
            self.queue(Task::Connection);
        }
    }

    /// What the endpoint sends by itself carries no congestion mark.
    fn answer(&mut self, answers: Vec<Vec<u8>>) {
        let contents = Contents::default();
        for bytes in answers {
            self.datagrams += 1;
            self.outbox.push(Datagram { bytes, ecn: Ecn::NotEct, by_timer: false, contents: contents.clone() });
        }
    }

    fn connection(&mut self, now: Time) {
        self.stack.process();
        let mut again = self.transmit(now);
        self.timer = self.stack.timeout();
        if self.timer.is_some_and(|deadline| deadline <= now) {
            // The driver looks at the clock, not at the runtime's timer.
            self.stack.on_timeout(now);
            self.timer = None;
            again = true;
        }
        if self.stack.forward() {
            self.queue(Task::Endpoint);
        }
        while let Some(event) = self.stack.event() {
            match event {
                Event::Connected => self.progress.connected = Some(now),
                Event::Stream => {}
                Event::Delivered(stream) => self.side.delivered(stream),
                Event::Lost(reason) => self.end(now, reason),
            }
            self.queue(Task::Application);
        }
        if matches!(&self.side, Side::Sender(sender) if sender.is_closing()) {
            // It closes when nothing is in flight, of which no event tells.
            self.queue(Task::Application);
        }
        if self.stack.is_drained() {
            self.last = self.stack.measures();
            self.over = true;
            self.timer = None;
            self.tasks.clear();
        } else if again {
            self.queue(Task::Connection);
        }
    }

    /// True if the driver stopped because it had sent enough for one turn.
    fn transmit(&mut self, now: Time) -> bool {
        let mut datagrams = 0;
        // What the endpoint sealed by itself went out already.
        self.note();
        while let Some(batch) = self.stack.transmit(now, self.runtime.segments, &mut self.buffer) {
            self.calls += 1;
            let mut packets = self.note().into_iter();
            let buffer = std::mem::take(&mut self.buffer);
            for bytes in buffer[..batch.size].chunks(batch.segment.max(1)) {
                let contents = self.contents(bytes.len(), &mut packets);
                self.outbox.push(Datagram { bytes: bytes.to_vec(), ecn: batch.ecn, by_timer: self.by_timer, contents });
                datagrams += 1;
                self.datagrams += 1;
                self.sent += 1;
            }
            self.buffer = buffer;
            if datagrams >= DATAGRAMS_PER_TURN {
                return true;
            }
        }
        false
    }

    /// What the packets of a datagram of `length` bytes carry.
    fn contents(&mut self, length: usize, packets: &mut impl Iterator<Item = Plain>) -> Contents {
        let (mut contents, mut filled) = (Contents::default(), 0);
        while filled < length {
            // A stack that does not say what it sends.
            let Some(packet) = packets.next() else { break };
            filled += packet.length;
            contents.number = packet.number;
            for piece in &packet.pieces {
                contents.user_bytes += piece.bytes as u32;
                contents.repeats |= self.out.add(piece) < piece.bytes;
            }
            contents.user_bytes += packet.message_bytes as u32;
            if let Side::Sender(sender) = &mut self.side {
                packet.messages.iter().for_each(|&number| sender.left(number));
            }
            contents.kind = Some(packet.kind);
            if packet.is_1rtt() {
                if packet.is_ack_eliciting() {
                    let bytes = length as u16;
                    self.departed.push_back(Lost { number: packet.number, datagram: self.datagrams, bytes });
                }
                contents.acked.extend(packet.acked);
            }
            contents.pieces.extend(packet.pieces);
        }
        self.tally.repetitions += u64::from(contents.repeats);
        contents
    }

    fn application(&mut self, now: Time) -> Result<(), String> {
        if self.start.is_some_and(|start| self.runtime.is_due(start, now)) {
            self.start = None;
            self.stack.connect(now)?;
            self.queue(Task::Connection);
        }
        let mut answers = Vec::new();
        if matches!(self.side, Side::Server(_) | Side::Sink(_) | Side::Receiver(_)) && self.progress.connected.is_none()
        {
            self.stack.accept(now, &mut answers)?;
            self.queue(Task::Connection);
        }
        self.answer(answers);
        let stop = self.stop.is_some_and(|stop| self.runtime.is_due(stop, now));
        if stop {
            self.stop = None;
        }
        if self.is_closed() {
            return Ok(());
        }
        let mut close = stop;
        if self.progress.connected.is_some() {
            let turn = self.side.turn(&mut *self.stack, now, &mut self.progress)?;
            if turn.wake {
                self.queue(Task::Connection);
            }
            if turn.again {
                self.queue(Task::Application);
            }
            close |= turn.close;
        }
        if close {
            self.stop = None;
            self.closed = true;
            self.stack.close(now, "done");
            self.queue(Task::Connection);
        }
        Ok(())
    }
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a word")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::{Batch, Read, StreamId};

    /// A stack that gives up in the way that `fault` says.
    #[derive(Debug)]
    struct Faulty {
        fault: fn() -> Option<Batch>,
    }

    impl Stack for Faulty {
        fn connect(&mut self, _now: Time) -> Result<(), String> {
            Ok(())
        }
        fn receive(&mut self, _: Time, _: &[u8], _: Ecn, _: &mut Vec<Vec<u8>>) -> Incoming {
            Incoming::ForConnection
        }
        fn transmit(&mut self, _now: Time, _segments: usize, _buffer: &mut Vec<u8>) -> Option<Batch> {
            (self.fault)()
        }
        fn timeout(&mut self) -> Option<Time> {
            Some(Time::ZERO)
        }
        fn on_timeout(&mut self, _now: Time) {}
        fn event(&mut self) -> Option<Event> {
            None
        }
        fn is_drained(&self) -> bool {
            false
        }
        fn open(&mut self) -> Option<StreamId> {
            None
        }
        fn accept_stream(&mut self) -> Option<StreamId> {
            None
        }
        fn write(&mut self, _stream: StreamId, _data: &[u8]) -> Result<usize, String> {
            Ok(0)
        }
        fn finish(&mut self, _stream: StreamId) -> Result<(), String> {
            Ok(())
        }
        fn read(&mut self, _: StreamId, _: usize, _: Option<&mut Vec<u8>>) -> Result<Read, String> {
            Ok(Read { bytes: 0, finished: false, transmit: false })
        }
        fn close(&mut self, _now: Time, _reason: &str) {}
        fn measures(&mut self) -> Measures {
            Measures::default()
        }
    }

    fn ended(fault: fn() -> Option<Batch>) -> Option<(Time, String)> {
        let client = Side::Client(Client::new(Application::Download { bytes: 1 }));
        let mut host = Host::new(Box::new(Faulty { fault }), Runtime::exact(), client, (1, "client"));
        host.start = Some(Time::from_nanos(5));
        while let Some(at) = host.next_wake() {
            host.wake(at);
        }
        host.progress().ended.clone()
    }

    #[test]
    fn a_stack_that_panics_ends_its_flow_with_its_words() {
        let (at, words) = ended(|| panic!("no way out")).expect("it ends");
        assert_eq!((at, words.as_str()), (Time::from_nanos(5), "the stack panicked: no way out"));
    }

    #[test]
    fn a_stack_that_stays_busy_ends_its_flow() {
        let (at, words) = ended(|| None).expect("it ends");
        assert_eq!(at, Time::from_nanos(5));
        assert!(words.contains("lets no time pass"), "{words}");
    }
}
