//! What a simulation is built from. Everything is resolved: names are ids, defaults are filled in, quantities
//! are types. The scenario crate makes this from a file; a Rust user may make it by hand.

use crate::agents::config::AgentTask;
use crate::applications::{ApplicationConfig, Carrier};
pub use crate::code::{BlockCode, ErrorUnit};
use crate::distribution::Distribution;
pub use crate::errors::ErrorConfig;
use crate::host::endpoint::Transport;
use crate::pages::PagesConfig;
pub use crate::slots::{Allowance, Fades, Grants, ObstructedAt, SlotConfig};
pub use crate::trace::{OPPORTUNITY_BYTES, Service, TraceConfig};
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
    /// Packets lost behind the queue, after they used the link. Lists of single packets go before other errors.
    pub errors: Vec<ErrorConfig>,
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

/// Traffic from one node to another.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Unique; the name of the flow's records and of its random streams.
    pub name: String,
    pub from: NodeId,
    pub to: NodeId,
    pub transport: TransportConfig,
    pub application: SourceConfig,
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

/// Where the data of a flow comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceConfig {
    /// An application that a scenario names.
    Application(ApplicationConfig),
    /// A leg of a split connection: what has arrived at the end of the flow `before`, from a buffer of so many bytes.
    Relay { before: String, buffer_bytes: u64, share: RelayShare },
    /// The transfers of one connection of a workload, each written at its instant.
    Transfers(Arc<[TransferStart]>),
    /// A transfer of a workload over UDP: datagrams of `payload_bytes`, the last one shorter, at a constant rate of
    /// payload.
    Burst { arrival: TransferStart, rate: Rate, payload_bytes: u32 },
    /// A connection of a visit of web pages; the receiver's side asks with packets of this size.
    Pages { visit: u32, place: u32, request_bytes: u32 },
}

impl<A: Into<ApplicationConfig>> From<A> for SourceConfig {
    fn from(application: A) -> SourceConfig {
        SourceConfig::Application(application.into())
    }
}

impl SourceConfig {
    /// The name of the flow before a relay; `None` for any other source.
    pub(crate) fn fed_by(&self) -> Option<&str> {
        match self {
            SourceConfig::Relay { before, .. } => Some(before),
            _ => None,
        }
    }

    /// Whether it goes by what has arrived.
    pub fn needs_tcp(&self) -> bool {
        match self {
            SourceConfig::Application(application) => application.carrier() == Carrier::Reliable,
            SourceConfig::Relay { .. } | SourceConfig::Transfers(_) | SourceConfig::Pages { .. } => true,
            SourceConfig::Burst { .. } => false,
        }
    }

    /// The size of the packets by which the receiver's side asks.
    pub fn request_bytes(&self) -> Option<u32> {
        match self {
            SourceConfig::Application(application) => application.request_bytes(),
            SourceConfig::Pages { request_bytes, .. } => Some(*request_bytes),
            SourceConfig::Relay { .. } | SourceConfig::Transfers(_) | SourceConfig::Burst { .. } => None,
        }
    }

    /// User bytes of the largest datagram.
    pub fn payload_bytes(&self) -> Option<u32> {
        match self {
            SourceConfig::Application(application) => application.payload_bytes(),
            SourceConfig::Burst { payload_bytes, .. } => Some(*payload_bytes),
            SourceConfig::Relay { .. } | SourceConfig::Transfers(_) | SourceConfig::Pages { .. } => None,
        }
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

/// Transfers that a run can have at most: with a connection each they take some gigabytes.
pub const MOST_TRANSFERS: u64 = 1_000_000;

/// Transfers of one kind.
#[derive(Clone, Debug)]
pub struct WorkloadConfig {
    /// Unique among workloads and flows; the name of its random streams.
    pub name: String,
    /// Each transfer draws one of these nodes, which sends, …
    pub from: Vec<NodeId>,
    /// … and one of these that is not the same, which receives. Every node of `from` needs one.
    pub to: Vec<NodeId>,
    pub transport: TransportConfig,
    pub arrivals: ArrivalConfig,
    /// In bytes, rounded up; at least one byte. Pages have sizes of their own.
    pub sizes: Distribution,
    /// Those of pages are their own.
    pub connections: ConnectionUse,
    /// How a transfer over UDP is sent: rate of payload, and payload of a datagram. Needs new connections.
    pub burst: Option<(Rate, u32)>,
    /// Visits of web pages take the place of transfers.
    pub pages: Option<Arc<PagesConfig>>,
    pub start: Time,
    /// No transfer begins from here on; `None` means the end of the run.
    pub stop: Option<Time>,
    /// Transfers at most.
    pub count: Option<u64>,
    /// As of a flow.
    pub ttl: u8,
    /// As of a flow.
    pub class: u8,
    /// As of a flow.
    pub jitter: Duration,
}

/// When transfers begin.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrivalConfig {
    /// Independent gaps in seconds, the first one from the start on. Exponential ones make a Poisson process.
    Renewal(Distribution),
    /// At these instants after the start, in their order; a size in bytes takes the place of a drawn one.
    Given(Arc<[(Duration, Option<u64>)]>),
}

/// Which connection carries a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionUse {
    /// Each transfer has a connection of its own.
    New,
    /// Each pair of nodes has so many, which take the pair's transfers in turn; a transfer waits for those before it on
    /// its connection. A connection opens with its first transfer. At least one.
    Persistent(u32),
}

/// A transfer on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferStart {
    pub at: Time,
    pub bytes: u64,
    /// Its row among the records of workloads.
    pub row: u32,
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
