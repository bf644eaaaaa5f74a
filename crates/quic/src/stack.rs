//! The one interface behind which every stack stands: a datagram in, datagrams out, the next timeout.
//!
//! A [`Stack`] is one endpoint with at most one connection. It does nothing by itself: [`crate::Host`] calls it in the
//! order in which the stack's own runtime would, and hands the application's calls on.

use crate::config::{Config, ConfigError};
use crate::watch::{Plain, Totals};
use skyhop_base::{Duration, Time};

/// The congestion mark of an IP packet, as the stacks set it on what they send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    NotEct,
    Ect0,
    Ect1,
    Ce,
}

/// What one call of the stack wants sent: `size` bytes, all but the last datagram `segment` long.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    pub size: usize,
    pub segment: usize,
    pub ecn: Ecn,
}

/// What a datagram that came in is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// The connection has an event to process.
    ForConnection,
    /// A client asks for a connection; [`Stack::accept`] takes it.
    NewConnection,
    /// The endpoint answered by itself or dropped the datagram.
    Done,
}

/// One stream of a connection, in the stack's own numbering.
pub type StreamId = u64;

/// What the stack tells its application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Connected,
    /// A stream can be read or written, the peer opened one, or a DATAGRAM frame has come.
    Stream,
    /// The peer has acknowledged all that was written to the stream, its end included.
    Delivered(StreamId),
    /// The connection ended, for this reason in the stack's own words.
    Lost(String),
}

/// What a read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    pub bytes: usize,
    /// The peer finished the stream and all of it was read.
    pub finished: bool,
    /// The stack has something to send because of the read (more credit, for instance).
    pub transmit: bool,
}

/// What the stack says of its connection. A figure that the stack lacks is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measures {
    /// Congestion window in bytes.
    pub cwnd: u64,
    pub smoothed_rtt: Duration,
    pub min_rtt: Option<Duration>,
    /// The congestion control's estimate, in bits per second.
    pub bandwidth_bps: Option<u64>,
    /// The rate in bytes per second that the control sets for the stack's pacer. `None`: the pacer goes by the window.
    pub control_rate: Option<u64>,
    pub sent_packets: u64,
    pub lost_packets: u64,
    /// Loss detections with at least one lost packet, which is more than the reductions of the window.
    pub congestion_events: u64,
    /// Loss detections all of whose packets had arrived.
    pub spurious_congestion_events: Option<u64>,
    /// Packets declared lost that had arrived, by the stack's own count.
    pub spurious_packets: Option<u64>,
    /// The stack took bursts of losses for a path that swallows large packets.
    pub black_holes: u64,
    /// `DATA_BLOCKED` and `STREAM_DATA_BLOCKED` frames sent: the peer's credit was used up. `None`: none is ever sent.
    pub data_blocked: Option<u64>,
    /// `STREAMS_BLOCKED` frames sent: the peer allowed no more streams. `None`: it never sends them.
    pub streams_blocked: Option<u64>,
    pub acks_received: u64,
    pub datagrams_sent: u64,
    /// Sent, and neither acknowledged nor declared lost, in bytes of UDP payload.
    pub in_flight: Option<u64>,
    /// Slow-start threshold in bytes, once there is one.
    pub ssthresh: Option<u64>,
    pub totals: Totals,
}

impl Measures {
    /// The rate at which the pacer earns what it may send, in bits per second of UDP payload; `None` where it holds
    /// nothing back. The pacers of quinn-proto 0.11 and noq-proto 1.4 (`connection/pacing.rs`) take the control's rate,
    /// at least a byte per second, else 5/4 windows per smoothed RTT (RFC 9002, section 7.7), and nothing for windows
    /// above 2^32 - 1 bytes. picoquic's controls set a rate each.
    pub fn pacing_bps(&self) -> Option<f64> {
        if let Some(bytes) = self.control_rate {
            return Some(bytes.max(1) as f64 * 8.0);
        }
        let paces = self.cwnd <= u64::from(u32::MAX) && !self.smoothed_rtt.is_zero();
        paces.then(|| 1.25 * self.cwnd as f64 * 8.0 / self.smoothed_rtt.as_secs_f64())
    }
}

/// What happened at an endpoint since it was asked last. A stack that cannot tell leaves it empty.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Packets that it has put into datagrams, in order.
    pub sent: Vec<Plain>,
    /// Packets that it has read, in order.
    pub received: Vec<Plain>,
    /// Samples of the round-trip time, the delay of the acknowledgement included.
    pub rtts: Vec<Duration>,
    /// What happened to the congestion window, as events of the records.
    pub events: Vec<&'static str>,
    /// Numbers of packets that it declared lost, the lowest first at each detection.
    pub lost: Vec<u64>,
    /// The lowest number of a packet that is neither acknowledged nor declared lost.
    pub oldest_outstanding: Option<u64>,
}

/// An endpoint of a QUIC stack, client or server, with at most one connection.
pub trait Stack: std::fmt::Debug + Send {
    /// Starts the connection of a client.
    fn connect(&mut self, now: Time) -> Result<(), String>;
    /// Takes the connection that a client asks for. Whatever the endpoint answers by itself goes to `answers`. A stack
    /// that accepts by itself leaves this out.
    fn accept(&mut self, _now: Time, _answers: &mut Vec<Vec<u8>>) -> Result<(), String> {
        Ok(())
    }
    /// The endpoint reads a datagram; a connection's part of it waits for [`Stack::process`].
    fn receive(&mut self, now: Time, datagram: &[u8], ecn: Ecn, answers: &mut Vec<Vec<u8>>) -> Incoming;
    /// The connection processes what came in. A stack without an endpoint of its own does so in [`Stack::receive`], and
    /// leaves out this and the next two.
    fn process(&mut self) {}
    /// The connection's wishes to its endpoint (more connection ids, …). True if any is there.
    fn forward(&mut self) -> bool {
        false
    }
    /// The endpoint's answers to them. True if the connection has to process one.
    fn endpoint(&mut self) -> bool {
        false
    }
    /// The next batch of at most `segments` datagrams, into the emptied `buffer`.
    fn transmit(&mut self, now: Time, segments: usize, buffer: &mut Vec<u8>) -> Option<Batch>;
    fn timeout(&mut self) -> Option<Time>;
    fn on_timeout(&mut self, now: Time);
    fn event(&mut self) -> Option<Event>;
    fn is_drained(&self) -> bool;

    /// Opens a bidirectional stream; `None` while the peer allows no more.
    fn open(&mut self) -> Option<StreamId>;
    /// The next bidirectional stream that the peer opened.
    fn accept_stream(&mut self) -> Option<StreamId>;
    /// Writes as much of `data` as the stack takes now; zero when it is blocked.
    fn write(&mut self, stream: StreamId, data: &[u8]) -> Result<usize, String>;
    fn finish(&mut self, stream: StreamId) -> Result<(), String>;
    /// Reads at most `limit` bytes in order, into `keep` or into nowhere.
    fn read(&mut self, stream: StreamId, limit: usize, keep: Option<&mut Vec<u8>>) -> Result<Read, String>;
    /// Queues a message for a DATAGRAM frame of its own (RFC 9221). A stack with a full queue drops its oldest one.
    ///
    /// # Errors
    /// The stack's words, as for a message that is larger than a packet.
    fn send_datagram(&mut self, _data: &[u8]) -> Result<(), String> {
        Err("the stack sends no DATAGRAM frames".into())
    }
    /// The data of the next DATAGRAM frame that has come.
    fn receive_datagram(&mut self) -> Option<Vec<u8>> {
        None
    }
    fn close(&mut self, now: Time, reason: &str);
    fn measures(&mut self) -> Measures;
    /// Makes a check of the stack's own code fail at its next data, for tests of what follows. False: the stack has no
    /// such check.
    #[doc(hidden)]
    fn fail_check(&mut self) -> bool {
        false
    }
    /// What happened since the last call, for the records.
    fn seen(&mut self) -> Seen {
        Seen::default()
    }
}

/// An endpoint of the stack that `config` names. `server`: it accepts, and does not connect.
pub fn build(config: &Config, server: bool, seed: u64, name: &str) -> Result<Box<dyn Stack>, ConfigError> {
    config.check()?;
    // A build without any stack has refused every configuration by now.
    let _ = (server, seed, name);
    match config.stack {
        #[cfg(feature = "quinn")]
        crate::config::StackKind::Quinn => Ok(Box::new(crate::quinn::Endpoint::new(config, server, seed, name)?)),
        #[cfg(feature = "noq")]
        crate::config::StackKind::Noq => Ok(Box::new(crate::noq::Endpoint::new(config, server, seed, name)?)),
        #[cfg(feature = "picoquic")]
        crate::config::StackKind::Picoquic => Ok(Box::new(crate::picoquic::Endpoint::new(config, server, seed, name)?)),
        #[allow(unreachable_patterns)]
        other => Err(ConfigError::NotBuilt(other)),
    }
}
