//! What a run leaves behind: rows, one struct per table. Ids index [`Records::flow_names`],
//! [`Records::link_names`] and [`Records::node_names`]. Definitions of the measures: `docs/models/measures.md`.

use crate::endpoint::MessageCounts;
use crate::headers::{Codepoint, Protocol, SackRange, StreamPiece, TcpFlags};
use skyhop_base::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Everything that one run recorded.
///
/// Large because it has one field for each table.
#[derive(Clone, Debug, Default)]
pub struct Records {
    pub flow_names: Vec<String>,
    pub link_names: Vec<String>,
    pub node_names: Vec<String>,
    pub flows: Vec<FlowSummary>,
    pub links: Vec<LinkSummary>,
    /// The first lost packets; the totals of flows and links count all.
    pub drops: Vec<DropRow>,
    /// Lost packets for which the table of drops had no room.
    pub drops_left_out: u64,
    pub flow_series: Vec<FlowSeriesRow>,
    pub link_series: Vec<LinkSeriesRow>,
    pub flow_events: Vec<FlowEventRow>,
    pub handovers: Vec<HandoverRow>,
    pub link_changes: Vec<LinkChangeRow>,
    pub paths: Vec<PathRow>,
    pub positions: Vec<PositionRow>,
    pub packets: Vec<PacketRow>,
    /// SACK blocks of those packets, and what packets of QUIC acknowledge.
    pub sack_ranges: Vec<SackRange>,
    /// Pieces of streams in those of QUIC.
    pub stream_pieces: Vec<StreamPiece>,
    pub transfers: Vec<TransferRow>,
    pub calls: Vec<CallSummary>,
    pub messages: Vec<MessageSummary>,
    pub videos: Vec<VideoSummary>,
    pub workload_names: Vec<String>,
    /// Workloads, by their index, that load pages: they have rows in `pages`, and none in the two tables of transfers.
    pub workloads_of_pages: BTreeSet<u32>,
    /// Every transfer of every workload, finished or not, in the order of the workloads and of their start.
    pub workload_transfers: Vec<WorkloadTransferRow>,
    /// Those transfers by size.
    pub workloads: Vec<WorkloadSummary>,
    /// Every page that a visit began to load, in the order of their start.
    pub pages: Vec<PageRow>,
    /// Jain's index over the goodputs of the flows, of a split connection that of its last leg; `None` without flows.
    pub jain: Option<f64>,
    pub conservation: Conservation,
    /// What the numbers do not say by themselves, a sentence each: what is unusual about the scenario, flows that
    /// delivered nothing and why, rows that were left out.
    pub warnings: Vec<String>,
    /// All flows together.
    pub total: Total,
    /// Packets delivered over one link, data and ACKs: the unit in which the engine's cost is counted.
    pub packet_hops: u64,
    pub events: u64,
    /// End of the run.
    pub end: Time,
}

/// What all flows delivered together. Each flow's rates are over its own time, so they do not add up; these are over
/// the whole run. Of a split connection the last leg counts, which delivers what the others hand on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// User bytes that arrived for the first time.
    pub bytes_delivered: u64,
    /// The same in bit/s of the run.
    pub goodput_bps: f64,
    /// Bits on the wire of all data packets that arrived, per second of the run.
    pub throughput_bps: f64,
}

/// Where every packet went: sent = delivered + dropped + queued + flying, checked at the end of every run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conservation {
    pub sent: u64,
    pub delivered: u64,
    pub dropped: BTreeMap<&'static str, u64>,
    pub queued: u64,
    pub flying: u64,
}

impl Conservation {
    /// Whether every packet is accounted for.
    pub fn holds(&self) -> bool {
        self.sent == self.delivered + self.dropped.values().sum::<u64>() + self.queued + self.flying
    }
}

/// Why a packet was lost. The names stand in every table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// The queue had no room.
    Queue,
    /// The error model of a link.
    Error,
    /// Queued for a link that went down, or for a peer that was left behind by a handover.
    LinkChange,
    /// No route to the destination at the moment.
    NoRoute,
    /// Too many hops.
    Ttl,
    /// Of low priority, at a full queue: on arrival, or to make room for another.
    Priority,
}

/// Packets dropped, by [`DropCause::ALL`].
pub type DropCounts = [u64; DropCause::ALL.len()];

impl DropCause {
    pub const ALL: [DropCause; 6] = [
        DropCause::Queue,
        DropCause::Error,
        DropCause::LinkChange,
        DropCause::NoRoute,
        DropCause::Ttl,
        DropCause::Priority,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            DropCause::Queue => "queue",
            DropCause::Error => "error",
            DropCause::LinkChange => "link-change",
            DropCause::NoRoute => "no-route",
            DropCause::Ttl => "ttl",
            DropCause::Priority => "priority",
        }
    }
}

/// Mean, median, 95th percentile and extremes of a measured duration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Distribution {
    pub count: u64,
    pub mean_s: f64,
    pub median_s: f64,
    pub p95_s: f64,
    pub min_s: f64,
    pub max_s: f64,
}

/// A row of the table `flows`.
///
/// Large because it has one field for each column.
#[derive(Clone, Debug)]
pub struct FlowSummary {
    pub flow: u32,
    pub from: u32,
    pub to: u32,
    /// The flow's own time: from start to stop or the end of the run.
    pub start: Time,
    pub stop: Time,
    /// When the application's last byte had arrived; `None` when it did not, or the transfer has no end.
    pub completed: Option<Time>,
    pub goodput_bps: f64,
    pub throughput_bps: f64,
    /// Data packets put on the network, retransmissions included.
    pub packets_sent: u64,
    /// Data packets that arrived, repeated ones included.
    pub packets_received: u64,
    pub packets_duplicate: u64,
    pub retransmissions: u64,
    /// Segments of low priority sent (TCP Peach's dummies); no retransmissions.
    pub probes: u64,
    pub timeouts: u64,
    pub fast_retransmits: u64,
    pub cwnd_cuts: u64,
    /// Packets that the sender took for lost and that were acknowledged afterwards; `None` where it does not tell.
    pub spurious_losses: Option<u64>,
    /// Times that the sender said that the receiver's window stops it; `None` where it never says so.
    pub data_blocked: Option<u64>,
    /// Times that the sender said that it wants more streams than the receiver allows; `None` where it never says so.
    pub streams_blocked: Option<u64>,
    /// Messages of an application that sends them over a connection; else `None`.
    pub messages: Option<MessageCounts>,
    /// User bytes that arrived for the first time.
    pub bytes_delivered: u64,
    /// Data packets dropped.
    pub drops: DropCounts,
    /// ACKs dropped.
    pub ack_drops: DropCounts,
    pub delivery_fraction: f64,
    /// Share of the bytes sent that was not sent again; `None` when nothing was sent.
    pub tcp_efficiency: Option<f64>,
    /// Share of user data in the bytes sent, times the share of packets that arrived.
    pub information_efficiency: Option<f64>,
    pub rtt: Distribution,
    pub delay: Distribution,
    pub jitter: Distribution,
    pub interarrival: Distribution,
    /// Time average over the flow's own time, segments; `None` for datagram flows.
    pub cwnd_mean: Option<f64>,
}

/// A file, or the answer to a request, that has arrived whole; or an update, arrived or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferRow {
    /// When its last byte arrived; the end of the run when it did not.
    pub time: Time,
    pub flow: u32,
    /// Counted from 0 within the flow.
    pub number: u32,
    pub bytes: u64,
    /// When it was written, respectively asked for.
    pub begin: Time,
    pub arrived: bool,
}

/// One direction of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallSummary {
    pub flow: u32,
    /// Frames that were sent early enough to be played before the end of the run; of them …
    pub frames: u64,
    /// … those that never came, …
    pub lost: u64,
    /// … and those that came when it was too late to play them.
    pub late: u64,
    /// From mouth to ear: a frame, the coder's look-ahead, and the mean time from sending to playing. `None` when
    /// nothing was played.
    pub delay_s: Option<f64>,
    /// Mean length of a run of frames that were not played, over that of independent losses; `None` without losses.
    pub burst_ratio: Option<f64>,
    /// R of ITU-T G.107, 0 when nothing was played; `None` when no frame is judged.
    pub rating: Option<f64>,
    /// The mean opinion score of the rating.
    pub mos: Option<f64>,
}

/// The messages of a flow that were written at least a deadline before the end of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageSummary {
    pub flow: u32,
    pub deadline: Duration,
    pub messages: u64,
    /// Those that could be read after their deadline, …
    pub late: u64,
    /// … and those that could not be read by the end of the run.
    pub lost: u64,
}

/// An adaptive video up to the end of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoSummary {
    pub flow: u32,
    /// Segments that have arrived as a whole.
    pub segments: u64,
    /// From the first request to the start of playing; `None` when it did not begin.
    pub startup: Option<Duration>,
    pub played: Duration,
    /// How often playing stopped because nothing was held, …
    pub stalls: u64,
    /// … and how long it did, until the end of the run at most.
    pub stalled: Duration,
    /// Mean rate of the segments that have arrived, bit/s; `None` without segments.
    pub rate_bps: Option<f64>,
    /// Requests for another quality than that before.
    pub switches: u64,
    /// Whether the video was played to its end.
    pub done: bool,
}

/// A transfer of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadTransferRow {
    /// When it was written, or waited for its connection.
    pub begin: Time,
    pub workload: u32,
    /// Counted from 0 within the workload.
    pub number: u32,
    pub from: u32,
    pub to: u32,
    pub bytes: u64,
    /// When the first byte could be read; `None` when none could.
    pub first: Option<Time>,
    /// When the last byte could be read; `None` when it could not.
    pub end: Option<Time>,
    /// What it would take at least on the path that it begins on, if nothing else used it: propagation and the user
    /// bytes at the rate of the slowest link. `None` without a path.
    pub ideal: Option<Duration>,
}

/// A page of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRow {
    /// When its document was asked for.
    pub begin: Time,
    pub workload: u32,
    /// The visit, counted from 0 within the workload.
    pub visit: u32,
    /// The page, counted from 0 within the visit.
    pub view: u32,
    /// The server and the user.
    pub from: u32,
    pub to: u32,
    /// Its objects, the document included, and their user bytes.
    pub objects: u32,
    pub bytes: u64,
    /// When the first byte of the document could be read; `None` when none could.
    pub first: Option<Time>,
    /// When the last of its objects could be read as a whole; `None` when not all could.
    pub loaded: Option<Time>,
}

/// The transfers of a workload of one class of sizes. A transfer that did not finish counts as longer than all that
/// did.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadSummary {
    pub workload: u32,
    /// "all", or one of the classes of [`SIZE_CLASSES`].
    pub class: &'static str,
    pub transfers: u64,
    pub finished: u64,
    /// Of all transfers, …
    pub bytes: u64,
    /// … and of those that finished.
    pub bytes_finished: u64,
    /// Median, 95th and 99th percentile of the completion time in seconds; `None` where a transfer has it that did not
    /// finish, and without transfers.
    pub completion_s: [Option<f64>; 3],
    /// The same of the slowdown, the completion time divided by the ideal one; a transfer without a path at its start
    /// counts as one that did not finish.
    pub slowdown: [Option<f64>; 3],
}

/// Classes of sizes and the bytes up to which each goes (M. Alizadeh et al., "pFabric", SIGCOMM 2013, §5.3).
pub const SIZE_CLASSES: [(&str, u64); 3] = [("small", 100_000), ("medium", 10_000_000), ("large", u64::MAX)];

#[derive(Clone, Debug)]
pub struct LinkSummary {
    pub link: u32,
    pub kind: &'static str,
    pub from: u32,
    /// `None` where the peer changes (up- and downlinks).
    pub to: Option<u32>,
    pub rate_bps: f64,
    /// Share of the run in which the transmitter was busy; with opportunities the share of their bytes that was used.
    pub utilisation: f64,
    pub packets: u64,
    pub bytes: u64,
    /// Waiting packets, average over time.
    pub queue_mean_packets: f64,
    pub queue_max_packets: u32,
    /// ECN-capable packets that the queue marked instead of dropping them, or above its threshold.
    pub marked: u64,
    /// Packets that a queue asked at each departure dropped though there was room; `drops` has them under
    /// [`DropCause::Queue`].
    pub early: Option<u64>,
    /// Waiting times of the packets that such a queue gave to the transmitter.
    pub sojourn: Option<Distribution>,
    pub drops: DropCounts,
}

#[derive(Clone, Copy, Debug)]
pub struct DropRow {
    pub time: Time,
    pub cause: DropCause,
    /// `None` where no link is involved (no route).
    pub link: Option<u32>,
    pub node: u32,
    pub flow: u32,
    pub seq: u32,
    pub size_bytes: u32,
    pub is_ack: bool,
}

/// One flow at one grid point; means are over the step that ends there, empty when nothing was measured in it.
#[derive(Clone, Copy, Debug)]
pub struct FlowSeriesRow {
    pub time: Time,
    pub flow: u32,
    pub cwnd: Option<f64>,
    /// Segments that duplicate ACKs add to the window for the moment (RFC 5681 §3.2).
    pub inflation: Option<u32>,
    /// `None` while it was never set.
    pub ssthresh: Option<f64>,
    pub in_flight: u32,
    /// "slow-start", "congestion-avoidance", "recovery", "loss", …
    pub phase: &'static str,
    /// RTT sample of the newest ACK that answers a segment sent once.
    pub rtt: Option<Duration>,
    pub srtt: Option<Duration>,
    pub rto: Option<Duration>,
    /// Rate at which the sender paces at this instant, bit/s of what its pacer counts; `None` where it paces nothing.
    pub pacing_bps: Option<f64>,
    pub delay_mean_s: Option<f64>,
    pub jitter_mean_s: Option<f64>,
    pub interarrival_mean_s: Option<f64>,
    pub goodput_bps: f64,
    pub throughput_bps: f64,
    pub received: u64,
    pub dropped: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct LinkSeriesRow {
    pub time: Time,
    pub link: u32,
    /// Waiting at this instant.
    pub queue_packets: u32,
    /// Share of the step in which the transmitter was busy; with opportunities the share of their bytes that was used,
    /// 0 where the step had none.
    pub utilisation: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct FlowEventRow {
    pub time: Time,
    pub flow: u32,
    /// "start", "recovery", "recovered", "timeout", "stop", "complete", …
    pub event: &'static str,
    /// `None` without a window.
    pub cwnd: Option<f64>,
    pub ssthresh: Option<f64>,
}

#[derive(Clone, Debug)]
pub struct HandoverRow {
    pub time: Time,
    pub terminal: u32,
    pub from: Option<u32>,
    pub to: Option<u32>,
    /// Of the new satellite, or of the lost one when there is no new one.
    pub elevation_deg: f64,
    pub slant_range_km: f64,
    pub why: &'static str,
    /// "satellite", "beam", "gateway" or "terrestrial".
    pub kind: &'static str,
    /// Of the two satellites, if they have beams.
    pub from_beam: Option<u32>,
    pub to_beam: Option<u32>,
}

#[derive(Clone, Debug)]
pub struct LinkChangeRow {
    pub time: Time,
    pub link: u32,
    pub up: bool,
    pub why: &'static str,
}

/// The path from a flow's source to its destination, whenever it changes.
#[derive(Clone, Debug)]
pub struct PathRow {
    pub time: Time,
    pub flow: u32,
    /// The nodes of the path from source to destination, both included; empty while there is no path.
    pub nodes: Vec<u32>,
    /// Propagation alone.
    pub delay_s: f64,
}

/// A satellite above the rotating Earth.
#[derive(Clone, Copy, Debug)]
pub struct PositionRow {
    pub time: Time,
    pub node: u32,
    pub latitude_deg: f64,
    pub longitude_deg: f64,
    pub altitude_km: f64,
}

/// What happened to a packet at a link whose packets are recorded (ns-2's event names), or `Ack`: the arrival of
/// an ACK at its flow's source, or `TakenForLost`: the source takes a packet for lost. These two are kept under the
/// first of the recorded links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketEvent {
    Enqueue,
    Dequeue,
    Drop,
    Loss,
    Receive,
    Ack,
    Mark,
    TakenForLost,
}

impl PacketEvent {
    pub const fn name(self) -> &'static str {
        match self {
            PacketEvent::Enqueue => "enq",
            PacketEvent::Dequeue => "deq",
            PacketEvent::Drop => "drop",
            PacketEvent::Loss => "loss",
            PacketEvent::Receive => "rcv",
            PacketEvent::Ack => "ack",
            PacketEvent::Mark => "mark",
            PacketEvent::TakenForLost => "taken-for-lost",
        }
    }
}

/// Large because its table has a column for each of its values.
#[derive(Clone, Debug)]
pub struct PacketRow {
    pub time: Time,
    pub link: u32,
    /// The node to which the link takes the packet, where its name does not say that: at uplinks, downlinks and links
    /// across a seam.
    pub to: Option<u32>,
    pub event: PacketEvent,
    pub flow: u32,
    /// Segment number; of an ACK the highest segment that it acknowledges, `None` when none.
    pub seq: Option<u32>,
    pub size_bytes: u32,
    /// Counts the packets that an end of the flow has put on the network: with the flow and `is_ack` it names the
    /// packet.
    pub packet: u32,
    /// Whether it goes from the flow's destination to its source.
    pub is_ack: bool,
    /// Whether it repeats user data.
    pub repeats: bool,
    pub ecn: Codepoint,
    /// User bytes; the rest of the packet is headers.
    pub payload_bytes: u32,
    pub protocol: Protocol,
    pub flags: TcpFlags,
    /// Number of the first byte. The SYN, or without one the byte before the data, has the number 0.
    pub tcp_seq: Option<u64>,
    /// Number of the next byte that the sender of this packet expects.
    pub tcp_ack: Option<u64>,
    /// Receive window in bytes; `None` where the receiver does not say it.
    pub window: Option<u64>,
    /// Value and echo of the timestamps option.
    pub timestamps: Option<(u32, u32)>,
    /// Type of the packet of QUIC; empty for other protocols.
    pub quic: &'static str,
    /// Where its SACK blocks stand in [`Records::sack_ranges`], in the order of the option; of a packet of QUIC the
    /// packet numbers that it acknowledges.
    pub blocks: Range<u32>,
    /// Where its pieces of streams stand in [`Records::stream_pieces`].
    pub pieces: Range<u32>,
}

/// Appends the values of a range to another list, and gives their range there.
pub(crate) fn moved<T: Clone>(range: &Range<u32>, from: &[T], to: &mut Vec<T>) -> Range<u32> {
    let begin = to.len() as u32;
    to.extend_from_slice(&from[range.start as usize..range.end as usize]);
    begin..to.len() as u32
}
