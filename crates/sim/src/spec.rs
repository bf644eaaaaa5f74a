//! What a simulation is built from. Everything is resolved: names are ids, defaults are filled in, quantities
//! are types. The scenario crate makes this from a file; a Rust user may make it by hand.

use crate::call::CallConfig;
use crate::host::endpoint::Transport;
use crate::listed::ListedPackets;
pub use crate::slots::SlotConfig;
pub use crate::trace::{OPPORTUNITY_BYTES, Service, TraceConfig};
use crate::video::VideoConfig;
use crate::workload::{TransferStart, WorkloadConfig};
use skyhop_base::{Duration, Rate, Time};
pub use skyhop_queue::QueueSpec;
use skyhop_topology::{NodeId, SkyOptions, TopologySpec};
use skyhop_transport::TcpConfig;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One network with its traffic, to be run once per seed.
#[derive(Clone, Debug)]
pub struct SimulationSpec {
    /// Simulated time from zero to the end of the run.
    pub duration: Duration,
    pub clock: RunClock,
    pub topology: TopologySpec,
    /// What the network has beyond the rules of `topology`.
    pub sky: SkyOptions,
    pub links: LinkConfigs,
    /// What tables call a link in place of its name in the topology.
    pub labels: BTreeMap<String, String>,
    pub flows: Vec<FlowConfig>,
    pub workloads: Vec<WorkloadConfig>,
    pub agents: Vec<AgentConfig>,
    pub records: RecordConfig,
}

/// What orders the events of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunClock {
    /// Whole nanoseconds, and within one the time of scheduling.
    #[default]
    Nanoseconds,
    /// ns-2's clock, a double whose rounding orders what exact arithmetic finds simultaneous (`ns2_clock.rs`). For
    /// links of a steady rate.
    Ns2,
}

/// How each link of the topology transmits.
#[derive(Clone, Debug, Default)]
pub struct LinkConfigs {
    /// One per entry of [`TopologySpec::wired`], in its order.
    pub wired: Vec<LinkConfig>,
    /// Every inter-satellite link; needed when the topology has any.
    pub isl: Option<LinkConfig>,
    /// Every station's transmitter; needed when there are satellites and stations.
    pub uplink: Option<LinkConfig>,
    /// The transmitters of gateways, where they differ from `uplink`.
    pub feeder: Option<LinkConfig>,
    /// Every satellite's transmitter to the ground.
    pub downlink: Option<LinkConfig>,
}

/// Transmitter, queue and errors of one directed link.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    pub rate: Rate,
    pub queue: QueueConfig,
    /// Bytes added to each packet while it is serialised, and to nothing else: ns-2's satellite interfaces add 16.
    pub framing_bytes: u32,
    pub on_down: OnDown,
    /// Packets lost behind the queue, after they used the link.
    pub errors: Vec<ErrorConfig>,
    /// What happens to single packets, before errors take others.
    pub listed: Vec<ListedPackets>,
    pub pace: LinkVariation,
    /// What the link does about its errors.
    pub repair: RepairConfig,
}

/// What a link does about its errors: a code within each packet, then repetition or packets of parity. The models stand
/// in `code.rs` and `link/repair.rs`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RepairConfig {
    pub code: Option<BlockCode>,
    /// Needs a steady pace.
    pub frames: Option<FrameRepair>,
    /// Order of delivery of packets repaired by repetition or parity.
    pub order: DeliveryOrder,
}

/// A block of `n` bytes carries `k` of data; up to `t` wrong ones are corrected. `n` >= `k` >= 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCode {
    pub n: u32,
    pub k: u32,
    pub t: u32,
}

/// Repair of whole packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameRepair {
    /// Failed ones are sent again.
    Arq {
        /// Transmissions of a packet at most, at least one.
        tries: u32,
        repeats: Repeats,
        /// From the end of a transmission to when its failure is known; without it twice the propagation delay.
        round_trip: Option<Duration>,
        /// What the far end sends back for each transmission that it takes or finds wrong, in place of `round_trip`; 0
        /// takes nothing.
        answer_bytes: u32,
    },
    /// After `k` packets `n` - `k` of parity: any `k` of the `n` tell all (a maximum distance separable code).
    Erasure {
        n: u32,
        k: u32,
        /// A block is closed so long after its first packet, even if it has fewer.
        within: Duration,
    },
}

/// The packets that are sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// The failed packet.
    Selective,
    /// The failed packet and all that followed it.
    GoBackN,
}

/// When the far end passes a packet on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeliveryOrder {
    /// When all before it have come or are given up.
    #[default]
    Kept,
    /// At once.
    AsItComes,
}

/// What moves rate and delay of a link besides the sky.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum LinkVariation {
    /// Nothing.
    #[default]
    Steady,
    /// A recording.
    Trace(TraceConfig),
    /// A scheduler that works in slots.
    Slots(Box<SlotConfig>),
}

/// A queue. Limits count packets that wait; what the transmitter serves is not counted.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig {
    /// The room, besides what is dropped early.
    pub limit: QueueLimit,
    pub discipline: Discipline,
    pub full: FullQueue,
}

impl QueueConfig {
    /// First in, first out, low priorities dropped first.
    pub fn drop_tail(limit: QueueLimit) -> QueueConfig {
        QueueConfig { limit, discipline: Discipline::DropTail { mark_above: None }, full: FullQueue::LowFirst }
    }

    /// The same, but what has waited longest is dropped.
    pub fn drop_front(limit: QueueLimit) -> QueueConfig {
        QueueConfig { limit, discipline: Discipline::DropFront { mark_above: None }, full: FullQueue::LowFirst }
    }

    /// A discipline that the transmitter asks at each departure.
    pub fn served(spec: QueueSpec) -> QueueConfig {
        let discipline = Discipline::Served(Box::new(spec));
        QueueConfig { limit: QueueLimit::Unlimited, discipline, full: FullQueue::Arrival }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Discipline {
    DropTail {
        /// ECN-capable arrivals that find more than so many packets waiting are marked (the K of RFC 8257 §3.1).
        mark_above: Option<u32>,
    },
    /// Where there is no room the packet that has waited longest is dropped, and the new one waits.
    DropFront {
        /// As above.
        mark_above: Option<u32>,
    },
    Red(Box<RedConfig>),
    /// A discipline that the transmitter asks at each departure. It has its own limits, [`QueueConfig::limit`] is
    /// unlimited.
    Served(Box<QueueSpec>),
}

/// Who goes when a packet finds no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullQueue {
    /// A packet of normal priority takes the place of the low ones queued last (TCP Peach's routers, `algorithms.md`
    /// §2.8); if that is not enough, and if it is of low priority itself, it is dropped.
    LowFirst,
    /// The arriving packet, or what has waited longest: as the discipline says.
    Arrival,
}

/// Random early detection; the model and its sources stand in `aqm.rs`.
#[derive(Clone, Debug, PartialEq)]
pub struct RedConfig {
    /// Unit of the average and of both thresholds.
    pub unit: RedUnit,
    pub min_threshold: f64,
    pub max_threshold: f64,
    /// EWMA gain applied to each arrival.
    pub weight: f64,
    /// Probability of a drop at the upper threshold, before spacing.
    pub max_p: f64,
    /// Whether the probability grows to one between the upper threshold and its double, instead of at the threshold.
    pub gentle: bool,
    pub spacing: RedSpacing,
    pub counting: RedCounting,
    /// Typical packet: how fast the average sinks while the link is idle, and the unit of drops by size.
    pub mean_packet_bytes: u32,
    pub adaptive: Option<AdaptiveRed>,
    /// ECN-capable packets are marked where they would be dropped early, up to this probability before spacing.
    pub mark_up_to: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedUnit {
    Packets,
    /// Large packets are also dropped more often than small ones.
    Bytes,
}

/// How drops are spread over the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedSpacing {
    /// p_b / (1 - count p_b): gaps from 1 to 1/p_b packets (Floyd and Jacobson 1993, §7).
    Uniform,
    /// None before 1/p_b packets, then as above up to 2/p_b: `wait_` of ns-2.
    Wait,
}

/// Which packets count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedCounting {
    /// Those above the lower threshold (Floyd and Jacobson 1993, §4).
    Floyd,
    /// Every arrival; the first above the threshold passes, and so does one that finds at most one waiting
    /// (`algorithms.md` §4.2).
    Ns2,
}

/// Adaptive RED: `max_p` follows the average. The constants of Floyd, Gummadi and Shenker 2001, §4.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveRed {
    /// Time between two steps; they are made when packets arrive.
    pub interval: Duration,
    /// A step up adds this, or a quarter of `max_p` if that is less.
    pub increase: f64,
    /// A step down multiplies by this.
    pub decrease: f64,
    /// No step up from here on.
    pub top: f64,
    /// No step down from here on.
    pub bottom: f64,
}

impl Default for AdaptiveRed {
    fn default() -> AdaptiveRed {
        AdaptiveRed { interval: Duration::from_millis(500), increase: 0.01, decrease: 0.9, top: 0.5, bottom: 0.01 }
    }
}

/// The room of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueLimit {
    Unlimited,
    /// At most this many packets wait.
    Packets(u32),
    /// At most this many bytes wait.
    Bytes(u64),
    /// No further packet comes while this many bytes wait: RED of ns-2.
    Backlog(u64),
}

impl QueueLimit {
    /// Whether a packet of `size` bytes may wait behind so many packets and bytes.
    #[inline]
    pub(crate) fn has_room(self, packets: u32, bytes: u64, size: u16) -> bool {
        match self {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(limit) => packets < limit,
            QueueLimit::Bytes(limit) => bytes + u64::from(size) <= limit,
            QueueLimit::Backlog(limit) => bytes < limit,
        }
    }
}

/// What happens to the packets of a link that goes down or whose peer changes. Packets
/// already in the air always arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDown {
    /// Queued packets are lost at once.
    Drop,
    /// Queued packets are sent to the old peer and lost there: they still take the transmitter's time. ns-2's
    /// behaviour (the new satellite discards frames that are addressed to the old one).
    SendInVain,
    /// Queued packets wait for the link, or go to the new peer.
    Hold,
    /// Queued packets are routed afresh from the node where they wait.
    Reroute,
    /// Queued packets still cross to the old peer: the link has only left the routes (ns-2's inter-satellite links).
    Drain,
}

/// Losses other than congestion.
#[derive(Clone, Debug, PartialEq)]
pub enum ErrorConfig {
    /// Each unit of the direction is lost with this probability, independently, and the packet with any of its units.
    Independent { unit: ErrorUnit, probability: f64 },
    /// The same where a code corrects some: needs a unit of bytes or bits.
    Coded { unit: ErrorUnit, probability: f64, code: BlockCode },
    /// Losses in bursts: the channel is good or bad, and may change with each packet.
    GilbertElliott(GilbertElliott),
    /// The packets of these numbers are lost, counted from 0 as they come over the link.
    PacketNumbers(Vec<u64>),
    /// Packets that arrive from the first instant of a pair to before the second are lost.
    Intervals(Vec<(Time, Time)>),
    /// Each packet is lost with the probability of the time at which it arrives, which holds until the next one of the
    /// list; the list begins anew after the period.
    Varying { steps: Vec<(Duration, f64)>, period: Duration },
    /// Each packet is lost with the probability that the slot gives to the instant at which it arrives.
    Slots(Box<SlotConfig>),
    /// Only packets of data meet these errors: ns-2's error model in front of a receiver.
    OfData(Box<ErrorConfig>),
    /// The named data segments of the named flow (an index) are lost once each, at their first transmission.
    Segments { flow: usize, segments: Vec<u32> },
}

/// Of what an error probability is; sizes are those on the wire, headers included, framing not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorUnit {
    Packet,
    Byte,
    Bit,
}

/// Gilbert, "Capacity of a burst-noise channel", 1960; Elliott, "Estimates of error rates for codes on burst-noise
/// channels", 1963: two states, a step with every packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// Probability of a step from good to bad.
    pub to_bad: f64,
    /// Probability of a step from bad to good: bursts last 1 / `to_good` packets on average.
    pub to_good: f64,
    /// Probability of a loss in the good state.
    pub loss_good: f64,
    /// Probability of a loss in the bad state.
    pub loss_bad: f64,
}

/// Traffic from one node to another.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Unique; the name of the flow's records and of its random streams.
    pub name: String,
    pub from: NodeId,
    pub to: NodeId,
    pub transport: TransportConfig,
    pub application: ApplicationConfig,
    pub start: Time,
    /// When the application stops producing; `None` means at the end of the run.
    pub stop: Option<Time>,
    /// Hops after which a packet is dropped.
    pub ttl: u8,
    /// The traffic class of the flow's packets in both directions, 0 to 63: the DSCP or priority that queue disciplines
    /// see.
    pub class: u8,
    /// The longest time that a TCP sender takes before it sends what its window releases; each time is uniform between
    /// zero and this (`overhead_` of ns-2).
    pub jitter: Duration,
}

#[derive(Clone, Debug)]
pub enum TransportConfig {
    Tcp(Box<TcpConfig>),
    Udp {
        /// Bytes added to each datagram on the wire.
        header_bytes: u32,
    },
    /// Hosts of another kind.
    Hosts(Arc<dyn Transport>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum ApplicationConfig {
    /// Always has data to send, up to `bytes` if given.
    Ftp { bytes: Option<u64> },
    /// Datagrams or writes of `payload_bytes` at a constant rate of payload.
    ConstantRate { rate: Rate, payload_bytes: u32, spacing: Spacing },
    /// Datagrams or writes of `payload_bytes` at random, independent instants; `rate` is the mean rate of payload.
    Poisson { rate: Rate, payload_bytes: u32 },
    /// A user who types: writes of `payload_bytes` with exponential gaps of the mean `interval`, or without it with
    /// tcplib's gaps.
    Telnet { payload_bytes: u32, interval: Option<Duration> },
    /// A constant rate for a time, then nothing for a time; both are exponential with these means.
    OnOff { rate: Rate, payload_bytes: u32, on: Duration, off: Duration },
    /// Transfers of these sizes, each begun this long after the source knows that the one before has arrived.
    Files { sizes: Vec<u64>, pause: Duration },
    /// A leg of a split connection: what has arrived at the end of the flow `before`, from a buffer of so many bytes.
    Relay { before: String, buffer_bytes: u64, share: RelayShare },
    /// Frames of voice, with a playout buffer at the receiver. Needs datagrams.
    Call(Box<CallConfig>),
    /// A message at each tick, which the receiver should be able to read before its deadline.
    Messages { payload_bytes: u32, every: Duration, deadline: Duration },
    /// The transfers of one connection of a workload, each written at its instant.
    Transfers(Arc<[TransferStart]>),
    /// A transfer of a workload over UDP: datagrams of `payload_bytes`, the last one shorter, at a constant rate of
    /// payload.
    Burst { arrival: TransferStart, rate: Rate, payload_bytes: u32 },
    /// A connection of a visit of web pages; the receiver's side asks with packets of this size.
    Pages { visit: u32, place: u32, request_bytes: u32 },
    /// The receiver's side asks for one segment of a video after another, each in a quality that it chooses.
    Video(Box<VideoConfig>),
    /// The receiver's side asks with a packet, the sender's side answers with so many bytes; after the answer has
    /// arrived an exponential time of the mean `think` passes. Without `count` there is no end.
    Requests { request_bytes: u32, response_bytes: u64, think: Duration, count: Option<u32> },
}

impl ApplicationConfig {
    /// Whether it goes by what has arrived.
    pub fn needs_tcp(&self) -> bool {
        use ApplicationConfig::{Files, Ftp, Pages, Relay, Requests, Transfers, Video};
        matches!(
            self,
            Ftp { .. } | Files { .. } | Requests { .. } | Relay { .. } | Transfers(_) | Pages { .. } | Video(_)
        )
    }
}

/// How fast a leg of a split connection sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelayShare {
    /// As its TCP has it.
    OfTcp,
    /// At an equal share of the rate of the link that it leaves its proxy by.
    OfLink,
}

/// Gaps of a constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    Regular,
    /// Each from half to one and a half of the regular one: `random_` of ns-2.
    Random,
}

/// What a run keeps besides its totals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordConfig {
    /// Step of the time series; `None` keeps none.
    pub grid: Option<Duration>,
    /// Step of the satellites' positions; `None` keeps none.
    pub positions: Option<Duration>,
    /// Links (by name) whose every packet event is kept.
    pub packets: Vec<String>,
    /// Whether every portion that an application writes by the clock is followed, in the table of transfers.
    pub updates: bool,
}

/// A helper at a node of the network.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    pub node: NodeId,
    pub task: AgentTask,
}

#[derive(Clone, Debug)]
pub enum AgentTask {
    /// Tells senders which of their packets were corrupted.
    ErrorReport(ErrorReportConfig),
    /// Repairs losses behind its node.
    Snoop(SnoopConfig),
    /// Marks data with the probability that they survive.
    Survival(SurvivalConfig),
    /// Marks ACKs that ask for what was corrupted.
    Eln(ElnConfig),
}

/// Links of which the far ends note what is missing; the model and its sources stand in `agents/eln.rs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElnConfig {
    pub links: Vec<WatchedLinks>,
}

/// A node that keeps the data of TCP that it forwards; the model and its sources stand in `agents/snoop.rs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnoopConfig {
    /// Kept per connection at most.
    pub packets: u32,
    /// Largest number of repetitions of one packet.
    pub repeats: u32,
    pub least_timer: Duration,
}

impl Default for SnoopConfig {
    /// `algorithms.md` §3.2.
    fn default() -> SnoopConfig {
        SnoopConfig { packets: 100, repeats: 10, least_timer: Duration::from_millis(100) }
    }
}

/// Links whose far ends tell data how many errors they make; the model stands in `agents/survival.rs`.
#[derive(Clone, Debug)]
pub struct SurvivalConfig {
    pub links: Vec<WatchedLinks>,
    /// As of [`ErrorReportConfig`].
    pub window: u32,
    pub weight: f64,
    pub unit: CountUnit,
}

/// A gateway that is told of corruption on some links and passes it on; the model and its sources stand in
/// `agents/report.rs`.
#[derive(Clone, Debug)]
pub struct ErrorReportConfig {
    pub links: Vec<WatchedLinks>,
    /// Packets of one estimate.
    pub window: u32,
    /// EWMA gain applied to each new estimate.
    pub weight: f64,
    pub unit: CountUnit,
    /// Size on the wire of what a satellite sends the gateway for a packet when nothing waits for the way down, …
    pub probe_bytes: u32,
    /// … and of the same as an option of packets that wait.
    pub option_bytes: u32,
    /// Size on the wire of what the gateway sends a source.
    pub report_bytes: u32,
}

impl Default for ErrorReportConfig {
    /// Window and weight of the paper's section 4.1.2; packets without data are 40 B, an IP option of two words 8 B.
    fn default() -> ErrorReportConfig {
        ErrorReportConfig {
            links: Vec::new(),
            window: 10,
            weight: 0.2,
            unit: CountUnit::Bit,
            probe_bytes: 40,
            option_bytes: 8,
            report_bytes: 40,
        }
    }
}

/// Links whose far ends check what arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchedLinks {
    Named(String),
    /// All between satellites.
    Isls,
}

/// What an error rate is per.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountUnit {
    Byte,
    Bit,
}

impl CountUnit {
    pub const fn per_byte(self) -> u32 {
        match self {
            CountUnit::Byte => 1,
            CountUnit::Bit => 8,
        }
    }
}
