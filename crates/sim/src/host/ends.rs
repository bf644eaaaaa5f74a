//! The kinds of endpoints: the one place that tells them apart.
//!
//! Skyhop's own TCP and datagrams are called directly, because every packet of most runs is theirs. Any other transport
//! is a pair of boxed [`Endpoint`](super::endpoint::Endpoint)s.

use super::boxed::Hosts;
use super::endpoint::{Counters, Failure, Report};
use super::tcp::TcpEnds;
use skyhop_base::{Duration, Time};
use skyhop_cc::PathHint;
use skyhop_transport::{ErrorReport, Supply};

/// The two hosts of a flow.
pub(crate) enum Ends {
    Tcp(Box<TcpEnds>),
    Datagrams(Datagrams),
    Hosts(Box<Hosts>),
}

/// Datagrams without acknowledgement: each write of the application is one.
pub(crate) struct Datagrams {
    next_seq: u32,
    header_bytes: u32,
    /// User bytes that the application has written just now.
    written: Option<u32>,
}

/// A datagram that is to be sent.
pub(crate) struct Datagram {
    pub seq: u32,
    pub size: u32,
    pub user_bytes: u32,
}

impl Datagrams {
    pub fn new(header_bytes: u32) -> Datagrams {
        Datagrams { next_seq: 0, header_bytes, written: None }
    }

    fn poll_transmit(&mut self) -> Option<Datagram> {
        let user_bytes = self.written.take()?;
        let seq = self.next_seq;
        self.next_seq += 1;
        Some(Datagram { seq, size: user_bytes + self.header_bytes, user_bytes })
    }
}

impl Ends {
    /// Skyhop's own TCP, for what only it takes part in.
    #[inline(always)]
    pub fn tcp(&self) -> Option<&TcpEnds> {
        match self {
            Ends::Tcp(tcp) => Some(tcp),
            Ends::Datagrams(_) | Ends::Hosts(_) => None,
        }
    }

    #[inline(always)]
    pub fn tcp_mut(&mut self) -> Option<&mut TcpEnds> {
        match self {
            Ends::Tcp(tcp) => Some(tcp),
            Ends::Datagrams(_) | Ends::Hosts(_) => None,
        }
    }

    #[inline(always)]
    pub fn hosts_mut(&mut self) -> Option<&mut Hosts> {
        match self {
            Ends::Hosts(hosts) => Some(hosts),
            Ends::Tcp(_) | Ends::Datagrams(_) => None,
        }
    }

    /// The datagram that the application has written, if it is not yet sent.
    pub fn poll_datagram(&mut self) -> Option<Datagram> {
        match self {
            Ends::Datagrams(datagrams) => datagrams.poll_transmit(),
            Ends::Tcp(_) | Ends::Hosts(_) => None,
        }
    }

    /// Whether nodes on the path can read segment numbers and ACKs in the packets.
    pub fn is_legible(&self) -> bool {
        self.tcp().is_some()
    }

    /// The connection opens.
    pub fn open(&mut self, now: Time) {
        match self {
            Ends::Tcp(tcp) => tcp.sender.open(now),
            Ends::Datagrams(_) | Ends::Hosts(_) => {}
        }
    }

    /// The application writes.
    pub fn supply(&mut self, now: Time, supply: Supply) {
        match self {
            Ends::Tcp(tcp) => tcp.sender.supply(now, supply),
            Ends::Datagrams(datagrams) => {
                if let Supply::Bytes(bytes) = supply {
                    datagrams.written = Some(bytes as u32);
                }
            }
            Ends::Hosts(hosts) => hosts.supply(now, supply),
        }
    }

    /// The application writes no more.
    pub fn close(&mut self, now: Time) {
        match self {
            Ends::Tcp(tcp) => tcp.sender.close(now),
            Ends::Datagrams(_) => {}
            Ends::Hosts(hosts) => hosts.source().close(now),
        }
    }

    /// Something on the path tells the source about an error.
    pub fn on_error_report(&mut self, now: Time, report: &ErrorReport) {
        match self {
            Ends::Tcp(tcp) => tcp.sender.on_error_report(now, report),
            Ends::Datagrams(_) | Ends::Hosts(_) => {}
        }
    }

    /// The node of the source tells it about the path.
    pub fn on_path_hint(&mut self, hint: &PathHint) {
        match self {
            Ends::Tcp(tcp) => tcp.sender.on_path_hint(hint),
            Ends::Datagrams(_) | Ends::Hosts(_) => {}
        }
    }

    /// How long before a handover the source is told of it; `None` if it has no use for that.
    pub fn handover_lead(&self) -> Option<Duration> {
        match self {
            Ends::Tcp(tcp) => tcp.sender.hears_of_handovers().then_some(Duration::ZERO),
            Ends::Datagrams(_) => None,
            Ends::Hosts(hosts) => hosts.handover_lead(),
        }
    }

    /// A terminal at one end of the flow moves on after the lead of the source.
    pub fn on_handover(&mut self, now: Time) {
        match self {
            Ends::Tcp(tcp) => tcp.sender.on_path_hint(&PathHint::Handover { now }),
            Ends::Datagrams(_) => {}
            Ends::Hosts(hosts) => hosts.source().on_handover(now),
        }
    }

    /// The source's state; `None` where a source has none.
    pub fn report(&self) -> Option<Report> {
        match self {
            Ends::Tcp(tcp) => Some(tcp.report()),
            Ends::Datagrams(_) => None,
            Ends::Hosts(hosts) => Some(hosts.report()),
        }
    }

    /// The source's congestion window in segments; `None` without a window.
    pub fn cwnd(&self) -> Option<f64> {
        match self {
            Ends::Tcp(tcp) => Some(tcp.sender.cwnd()),
            Ends::Datagrams(_) => None,
            Ends::Hosts(hosts) => hosts.cwnd(),
        }
    }

    /// Totals of both hosts.
    pub fn counters(&self) -> Counters {
        match self {
            Ends::Tcp(tcp) => tcp.counters(),
            Ends::Datagrams(_) => Counters::default(),
            Ends::Hosts(hosts) => hosts.counters(),
        }
    }

    /// User bytes that the source has taken and that are not known to have arrived.
    pub fn backlog_bytes(&self) -> u64 {
        match self {
            Ends::Tcp(tcp) => tcp.sender.backlog_bytes(),
            Ends::Datagrams(_) => 0,
            Ends::Hosts(hosts) => hosts.backlog_bytes(),
        }
    }

    /// User bytes that the sink's application can read by now, of so many that have arrived.
    pub fn in_order_bytes(&self, arrived: u64) -> u64 {
        self.tcp().map_or(arrived, TcpEnds::in_order_bytes)
    }

    /// User bytes of the write with this number that the sink's application can read by now; `None` where all writes
    /// are one stream.
    pub fn delivered_of_write(&self, number: u64) -> Option<u64> {
        if let Ends::Hosts(hosts) = self { hosts.delivered_of_write(number) } else { None }
    }

    /// User bytes of a full segment; 0 without segments.
    pub fn full_segment(&self) -> u64 {
        self.tcp().map_or(0, |tcp| tcp.sender.largest_segment().into())
    }

    /// Why the connection ended before its application was done.
    pub fn failure(&self) -> Option<Failure> {
        match self {
            Ends::Hosts(hosts) => hosts.failure(),
            Ends::Tcp(_) | Ends::Datagrams(_) => None,
        }
    }

    /// Whether the first segment of Skyhop's own TCP carries no data.
    pub fn opens_empty(&self) -> bool {
        self.tcp().is_some_and(|tcp| tcp.sender.opens_empty())
    }

    /// Whether each write of the application is a message, which arrives alone or is lost.
    pub fn has_messages(&self) -> bool {
        matches!(self, Ends::Hosts(hosts) if hosts.has_messages)
    }

    /// Whether every packet carries a payload.
    pub fn carries_payloads(&self) -> bool {
        matches!(self, Ends::Hosts(_))
    }

    /// Memory that the hosts take, bytes.
    pub fn memory_bytes(&self) -> u64 {
        match self {
            Ends::Tcp(tcp) => tcp.memory_bytes(),
            Ends::Datagrams(_) => 0,
            Ends::Hosts(hosts) => hosts.memory_bytes(),
        }
    }
}
