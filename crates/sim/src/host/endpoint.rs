//! The contract between a host and the network: packets, application data and the present time go in; packets, the next
//! timeout and what records keep come out.
//!
//! A flow has two hosts, its source and its sink. They share nothing: whatever one knows of the other arrived in a
//! packet. `docs/decisions/endpoints.md` gives the reasons.

pub use super::payloads::Payloads;
pub use crate::headers::Codepoint;
use crate::headers::Header;
use crate::packet::{Flags, Packet};
use skyhop_base::{Duration, Stream, Time};
use std::any::Any;
use std::fmt::Debug;

/// Makes the two hosts of each flow that names it in [`TransportConfig::Hosts`](crate::spec::TransportConfig::Hosts).
pub trait Transport: Debug + Send + Sync {
    /// Whether every byte arrives once and in order. Applications that wait for the end of a transfer need this.
    fn is_reliable(&self) -> bool {
        true
    }

    /// The least and the most user bytes of a message, where each write of the application is one that arrives alone
    /// or is lost, and that the sink tells of ([`Fact::Message`]). The application then starts when the source says
    /// that its connection stands ([`Fact::Connected`]). `None`: all writes are one stream.
    fn message_bytes(&self) -> Option<[u32; 2]> {
        None
    }

    /// The host at the flow's source. `draws` is a random stream of its own.
    fn source(&self, draws: Stream) -> Box<dyn Endpoint>;

    /// The host at the flow's destination. `draws` is a random stream of its own.
    fn sink(&self, draws: Stream) -> Box<dyn Endpoint>;
}

/// One host of a flow, without input or output of its own.
///
/// After each input ([`write`](Endpoint::write), [`close`](Endpoint::close), [`on_packet`](Endpoint::on_packet),
/// [`on_handover`](Endpoint::on_handover), [`on_timeout`](Endpoint::on_timeout)) the engine takes packets until there
/// are none, then facts until there are none, then asks for the next timeout ([`serve`](Endpoint::serve)).
pub trait Endpoint: Debug + Send {
    /// Opens the connection before the application has written anything, where writes are messages.
    fn open(&mut self, _now: Time) {}

    /// The application writes `bytes` more user bytes; `None` is as much as the connection can carry. The first call
    /// opens the connection.
    fn write(&mut self, now: Time, bytes: Option<u64>);

    /// The application writes no more.
    fn close(&mut self, _now: Time) {}

    /// A packet of the other host arrives.
    fn on_packet(&mut self, now: Time, packet: Incoming<'_>);

    /// A packet arrives that the other host has written with [`Payload::write_words`]. It does not go through
    /// [`on_packet`](Endpoint::on_packet). `ecn`: as sent, or marked by a queue on the path.
    fn on_words(&mut self, _now: Time, words: &Words, _ecn: Codepoint) {
        panic!("one host of the flow writes words, and the other one does not read them: {words:?}");
    }

    /// A terminal at one end of the flow moves on to another satellite or beam after the
    /// [lead](Endpoint::handover_lead) of this host, which has one.
    fn on_handover(&mut self, _now: Time) {}

    /// How long before a handover this host is told of it, the same during a run; `None` if it has no use for that.
    /// The run begins with those that are sooner.
    fn handover_lead(&self) -> Option<Duration> {
        None
    }

    /// The time of the earliest timer; [`Time::MAX`] when none runs. One that is not after the present fires at once: a
    /// host that leaves it so after [`on_timeout`](Endpoint::on_timeout) stops the clock.
    fn next_timeout(&self) -> Time;

    /// The earliest timer has expired.
    fn on_timeout(&mut self, now: Time);

    /// The next packet to send at this instant, whose payload the host writes. A host that always has one never lets
    /// time pass. Without a packet the payload stays as it is.
    fn poll_transmit(&mut self, now: Time, payload: &mut Payload) -> Option<Outgoing>;

    /// Whether [`poll_transmit`](Endpoint::poll_transmit) may have a packet. `false` spares the search for a payload.
    fn may_transmit(&self) -> bool {
        true
    }

    /// The sample of the round-trip time that the input gave before any fact. Told in this way it takes less than as a
    /// [`Fact::Rtt`].
    fn take_rtt(&mut self) -> Option<Duration> {
        None
    }

    /// The next fact for the records. Reading it changes nothing else.
    fn poll_fact(&mut self) -> Option<Fact> {
        None
    }

    /// User bytes that the application of this host has been able to read so far.
    fn delivered_bytes(&self) -> u64 {
        0
    }

    /// User bytes of the write with this number, from 0, that the application of this host has been able to read so
    /// far; `None` where all writes are one stream, whose bytes come in order.
    fn delivered_of_write(&self, _number: u64) -> Option<u64> {
        None
    }

    /// User bytes that were written here and are not known to have arrived. With `write(None)`, those that were sent.
    fn backlog_bytes(&self) -> u64 {
        0
    }

    /// The present state, for the records.
    fn report(&self) -> Report {
        Report::default()
    }

    /// The congestion window of the report, which the engine asks for after each input.
    fn cwnd(&self) -> Option<f64> {
        self.report().cwnd
    }

    /// Totals so far, for the records.
    fn counters(&self) -> Counters {
        Counters::default()
    }

    /// `duplicates` of the totals, which the engine asks of a sink after each packet.
    fn duplicates(&self) -> u64 {
        self.counters().duplicates
    }

    /// Why the connection ended before its application was done; `None` while it serves.
    fn failure(&self) -> Option<Failure> {
        None
    }

    /// Memory that this host takes, in bytes, as far as it grows with what happens. Packets on their way do not count.
    fn memory_bytes(&self) -> u64 {
        0
    }

    /// Hands the host a packet, if one has `arrived`, and asks for all that the engine needs after an input: the bytes
    /// delivered, the duplicates, up to `most` packets to send, and the next timeout. The answers are in `payloads`
    /// then, and so are the host's facts once it has no more packets. Returns `false` for a packet that has arrived
    /// without a payload. No host overrides this method. Its body stands in the trait so that it is compiled once for
    /// each host and calls the host's methods directly.
    fn serve(&mut self, now: Time, arrived: Option<Arrived<'_>>, most: u32, payloads: &mut Payloads) -> bool {
        if let Some(Arrived { handle, packet }) = arrived {
            let found = payloads.arrive(
                handle,
                self,
                |host, words| host.on_words(now, words, packet.flags.codepoint()),
                |host, payload, ecn| {
                    let ecn = if packet.flags.has(Flags::CE) { Codepoint::Ce } else { ecn };
                    host.on_packet(now, Incoming { seq: packet.seq, size: packet.size, ecn, payload });
                },
            );
            if !found {
                return false;
            }
        }
        let mut left = most;
        while left > 0 && self.may_transmit() && payloads.send(|payload| self.poll_transmit(now, payload)) {
            left -= 1;
        }
        let has_more = left == 0 && most > 0;
        let mut rtt = None;
        if !has_more {
            rtt = self.take_rtt();
            while let Some(fact) = self.poll_fact() {
                payloads.facts.push(fact);
            }
        }
        let (delivered_bytes, duplicates) = (self.delivered_bytes(), self.duplicates());
        payloads.settled = Settled { delivered_bytes, duplicates, has_more, rtt, timeout: self.next_timeout() };
        true
    }
}

/// The state of a host after an input.
#[derive(Clone, Copy, Debug)]
pub struct Settled {
    pub(super) delivered_bytes: u64,
    pub(super) duplicates: u64,
    /// There may be more packets; facts were not asked for.
    pub(super) has_more: bool,
    pub(super) rtt: Option<Duration>,
    pub(super) timeout: Time,
}

impl Settled {
    /// A host that has not been asked yet.
    pub(super) const NOTHING: Settled =
        Settled { delivered_bytes: 0, duplicates: 0, has_more: false, rtt: None, timeout: Time::MAX };
}

/// A packet that has arrived, whose payload the network still keeps.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'a> {
    pub(super) handle: u32,
    pub(super) packet: &'a Packet,
}

fn no_header(_content: &dyn Any) -> Header {
    Header::default()
}

/// What a host may write in the table of payloads itself, where it needs no memory of its own: a header without lists,
/// in the form that the host gives it.
pub type Words = [u32; 10];

/// What a packet carries besides what the network reads: bytes of a real stack, a value of any type, or a few words.
/// The network only keeps it and drops it with its packet.
#[derive(Debug)]
#[repr(C)]
pub struct Payload {
    /// All that a packet with words needs stands in front, in one line of the cache or two.
    words: Words,
    /// Reads the transport's header, for records.
    header: fn(&dyn Any) -> Header,
    bytes: u32,
    /// The words are the payload. The content then is only room for a later packet, if there is any.
    has_words: bool,
    opens: bool,
    /// The content stays when the packet has arrived, for the next one.
    is_room: bool,
    content: Option<Box<dyn Any + Send>>,
    /// Makes another one of the same content, for a network that doubles packets.
    copy: fn(&(dyn Any + Send)) -> Option<Box<dyn Any + Send>>,
}

fn copy_of<T: Any + Send + Clone>(content: &(dyn Any + Send)) -> Option<Box<dyn Any + Send>> {
    let content: &dyn Any = content;
    content.downcast_ref::<T>().map(|value| Box::new(value.clone()) as Box<dyn Any + Send>)
}

impl Payload {
    pub(super) const NOTHING: Payload = Payload {
        words: [0; 10],
        header: no_header,
        bytes: 0,
        has_words: false,
        opens: false,
        is_room: false,
        content: None,
        copy: |_| None,
    };

    /// The bytes of a datagram.
    pub fn bytes(bytes: Vec<u8>) -> Payload {
        let held = bytes.capacity();
        Payload::of(bytes).holding(held as u64)
    }

    /// A value, such as the segment of a transport. Memory that it owns elsewhere is not accounted for.
    pub fn of<T: Any + Send + Clone>(value: T) -> Payload {
        let content: Option<Box<dyn Any + Send>> = Some(Box::new(value));
        Payload { content, bytes: size_of::<T>() as u32, copy: copy_of::<T>, ..Payload::NOTHING }
    }

    /// Writes a value in the place of an earlier packet's value of the same type, or else of the default. What a host
    /// sends in this way stays when it has arrived, so that the next packet needs no memory. `header` is as in
    /// [`Payload::described`].
    pub fn write<T: Any + Send + Clone + Default, R>(
        &mut self,
        header: fn(&dyn Any) -> Header,
        write: impl FnOnce(&mut T) -> R,
    ) -> R {
        (self.opens, self.has_words, self.header) = (false, false, header);
        if let Some(value) = self.content.as_deref_mut().and_then(|content| content.downcast_mut()) {
            return write(value);
        }
        let mut value = T::default();
        let result = write(&mut value);
        *self = Payload { is_room: true, header, ..Payload::of(value) };
        result
    }

    /// Writes words, which take less to write, to read and to keep than a value of another type. `header` is as in
    /// [`Payload::described`] and is given the [`Words`], `opens` is as in [`Payload::opening`].
    #[inline(always)]
    pub fn write_words(&mut self, words: Words, header: fn(&dyn Any) -> Header, opens: bool) {
        (self.words, self.has_words, self.opens, self.header) = (words, true, opens, header);
    }

    /// The words, if that is what the packet carries.
    #[inline(always)]
    pub fn words(&self) -> Option<&Words> {
        self.has_words.then_some(&self.words)
    }

    /// The same of a packet that asks for a connection, or of the answer to it.
    #[must_use]
    pub fn opening(self, opens: bool) -> Payload {
        Payload { opens, ..self }
    }

    /// Says whether the packet asks for a connection, or answers that.
    #[inline]
    pub fn set_opening(&mut self, opens: bool) {
        self.opens = opens;
    }

    /// The same with a way to read its transport's header. Records ask for it, and nothing else does.
    #[must_use]
    pub fn described(self, header: fn(&dyn Any) -> Header) -> Payload {
        Payload { header, ..self }
    }

    /// The same of a value that owns so many bytes elsewhere.
    #[must_use]
    pub fn holding(self, bytes: u64) -> Payload {
        let bytes = self.bytes.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        Payload { bytes, ..self }
    }

    pub(super) fn header(&self) -> Header {
        if self.has_words {
            return (self.header)(&self.words);
        }
        self.content.as_deref().map_or_else(Header::default, |content| (self.header)(content))
    }

    #[inline]
    pub(super) fn opens(&self) -> bool {
        self.opens
    }

    pub(super) fn copied(&self) -> Option<Payload> {
        if self.has_words {
            let Payload { words, header, has_words, opens, .. } = *self;
            return Some(Payload { words, header, has_words, opens, ..Payload::NOTHING });
        }
        let content = (self.copy)(self.content.as_deref()?)?;
        Some(Payload { content: Some(content), ..*self })
    }

    /// The value, if it is of this type. [`Payload::bytes`] holds a `Vec<u8>`.
    #[inline]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.content.as_deref().filter(|_| !self.has_words)?.downcast_ref()
    }

    /// The same, to change it.
    #[inline]
    pub fn get_mut<T: Any>(&mut self) -> Option<&mut T> {
        self.content.as_deref_mut().filter(|_| !self.has_words)?.downcast_mut()
    }

    /// Takes the value out, if it is of this type.
    pub fn take<T: Any>(&mut self) -> Option<T> {
        let content = self.content.take_if(|content| !self.has_words && content.is::<T>())?;
        self.bytes = 0;
        content.downcast().ok().map(|value| *value)
    }

    /// Its packet has arrived.
    #[inline(always)]
    pub(super) fn leave_room(&mut self) {
        if !self.is_room {
            self.content = None;
            self.bytes = 0;
        }
    }

    #[inline(always)]
    pub(super) fn memory_bytes(&self) -> u64 {
        u64::from(self.bytes)
    }
}

/// A packet that a host sends, beside its payload.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// The number under which records name the packet.
    pub seq: u32,
    /// Bytes on the wire, all headers included.
    pub size: u16,
    /// User bytes in it.
    pub user_bytes: u16,
    /// Whether it repeats user bytes of an earlier packet. For records, and for errors that spare repetitions.
    pub repeats: bool,
    pub ecn: Codepoint,
}

/// A packet that has arrived.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// As sent.
    pub seq: u32,
    /// As sent.
    pub size: u16,
    /// As sent, or marked by a queue on the path.
    pub ecn: Codepoint,
    /// As sent. What the host leaves of it is dropped, or kept for the next packet
    /// ([`Payload::write`]).
    pub payload: &'a mut Payload,
}

/// The end of a connection that its application did not ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub at: Time,
    /// The reason, in the words of the host's own code.
    pub words: String,
}

/// Something that records keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fact {
    /// A sample of the round-trip time.
    Rtt(Duration),
    /// An event under this name, such as "recovery" or "timeout".
    Event(&'static str),
    /// The source's connection stands; told once, where writes are messages.
    Connected,
    /// The sink's application has read the message of this number, from 0, which the source's wrote at that time.
    Message { number: u32, written: Time },
    /// The source takes a packet for lost. `packet` counts the packets that it has sent before that one.
    Lost { seq: u32, packet: u32, size: u16 },
}

/// The state of a sending host. What a host does not have stays empty.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Congestion window without inflation, segments.
    pub cwnd: Option<f64>,
    /// Segments that duplicate ACKs add to the window for the moment.
    pub inflation: Option<u32>,
    /// Slow-start threshold, segments; `None` while it was never set.
    pub ssthresh: Option<f64>,
    /// Rate at which the sender paces, bit/s of what its pacer counts; `None` where it paces nothing.
    pub pacing_bps: Option<f64>,
    /// Segments sent and not acknowledged.
    pub in_flight: u32,
    /// "slow-start", "congestion-avoidance", "recovery", "loss", or a word of the transport; may be empty.
    pub phase: &'static str,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Retransmission timeout, with backoff.
    pub rto: Option<Duration>,
}

/// Running totals of a host. What it does not count stays empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets sent that repeat user bytes.
    pub retransmissions: u64,
    /// Packets sent to learn about the path.
    pub probes: u64,
    pub timeouts: u64,
    pub fast_retransmits: u64,
    /// Reductions of the congestion window.
    pub cwnd_cuts: u64,
    /// Packets that arrived and repeated user bytes; the sink counts them.
    pub duplicates: u64,
    /// Packets that the sender took for lost and that were acknowledged afterwards.
    pub spurious_losses: Option<u64>,
    /// Times that the sender said that the receiver's window stops it.
    pub data_blocked: Option<u64>,
    /// Times that the sender said that it wants more streams than the receiver allows.
    pub streams_blocked: Option<u64>,
    /// What this host knows of its messages; `None` where writes are a stream.
    pub messages: Option<MessageCounts>,
}

/// Messages of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageCounts {
    /// The source's application wrote so many.
    pub written: u64,
    /// So many of them never reached the network: the source's own queue dropped them.
    pub dropped: u64,
    /// The sink's application read so many.
    pub received: u64,
}
