//! The scenario file as it is written: the serde twin, from which the JSON Schema is generated. What may be left
//! out is an `Option`; its default is filled in by `resolve`. The comments here are the descriptions in the schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Rate};
use skyhop_queue::{DisciplineName, QueueSpec};
use std::collections::BTreeMap;

mod agents;
mod calls;
mod linux;
mod list;
mod profile;
mod quic;
mod repair;
mod sky;
mod trace;
mod workloads;

pub use agents::*;
pub use calls::*;
pub use linux::*;
pub use list::*;
pub use profile::*;
pub use quic::*;
pub use repair::*;
pub use sky::*;
pub use trace::*;
pub use workloads::*;

/// Newest version of the scenario format. It rises when a file that was right before gets another meaning or is
/// refused. Version 2 differs from version 1 in the default of `profile` alone ([`ProfileName::of_file`]).
pub const FORMAT: u32 = 2;

/// The version in which canonical forms are written. They state every value, so a new default need not change their
/// text, and with it the hash of a scenario. In version 1 a TCP without `profile` is Skyhop's own.
pub const CANONICAL_FORMAT: u32 = 1;

/// A network with its traffic.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// Version of this format. In version 1 `profile` is "rfc" by default. Another number is refused. Without it: 2.
    #[schemars(range(min = 1, max = 2))]
    pub format: Option<u32>,
    /// Simulated time.
    pub duration: Duration,
    /// Defaults to start from, and whose TCP the flows have. Without it: "linux"; in files with `format = 1`: "rfc".
    pub profile: Option<ProfileName>,
    /// What orders the events of a run. Without it: "nanoseconds".
    pub clock: Option<ClockName>,
    /// Satellites and the links between them and to the ground.
    pub constellation: Option<ConstellationFile>,
    /// Ground stations by name.
    #[serde(default)]
    pub stations: BTreeMap<String, StationFile>,
    /// Further ground stations: a file of CSV with the columns name, latitude_deg, longitude_deg and, if wanted,
    /// altitude_km and antennas, or of GeoJSON with points that have a name.
    pub stations_file: Option<ContentFile>,
    /// Kinds of stations by name, such as gateways and terminals.
    #[serde(default)]
    pub station_classes: BTreeMap<String, ClassOfStationsFile>,
    /// Wired links, each for both directions. The nodes at their ends exist by being named here.
    #[serde(default)]
    pub links: Vec<LinkFile>,
    /// Traffic.
    #[serde(default)]
    pub flows: Vec<FlowFile>,
    /// Transfers that begin at random.
    #[serde(default)]
    pub workloads: Vec<WorkloadFile>,
    /// Helpers at nodes.
    #[serde(default)]
    pub agents: Vec<AgentFile>,
    /// How routes follow the network.
    pub routing: Option<RoutingFile>,
    /// Records that a run keeps besides its totals.
    pub records: Option<RecordsFile>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum ClockName {
    /// Whole nanoseconds, and within one when the event was scheduled.
    #[default]
    #[serde(rename = "nanoseconds")]
    Nanoseconds,
    /// ns-2's: a double, whose rounding orders what exact arithmetic finds simultaneous. For wires of a steady rate.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// A wired link. `forward` (from the first to the second node) and `backward` say where the directions differ.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkFile {
    /// Overrides (`links.NAME.rate`) and tables call the link so. Without it: by its ends.
    pub name: Option<String>,
    /// The nodes at the ends.
    pub between: [String; 2],
    pub rate: Option<Rate>,
    /// One-way propagation delay.
    pub delay: Option<Duration>,
    pub queue: Option<QueueFile>,
    /// Bytes added to each packet while it is sent.
    pub framing: Option<Bytes>,
    pub errors: Option<Vec<ErrorFile>>,
    /// What the link does about its errors.
    pub repair: Option<RepairFile>,
    /// A recording that both directions follow.
    pub trace: Option<TraceFile>,
    /// How links of an operator behave; `forward` is the way up, from the terminal. Not with a recording.
    pub profile: Option<LinkProfileFile>,
    pub forward: Option<DirectionFile>,
    pub backward: Option<DirectionFile>,
}

/// What one direction of a link has of its own.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectionFile {
    pub rate: Option<Rate>,
    pub delay: Option<Duration>,
    pub queue: Option<QueueFile>,
    pub framing: Option<Bytes>,
    pub errors: Option<Vec<ErrorFile>>,
    /// What the link does about its errors.
    pub repair: Option<RepairFile>,
    /// A recording that the direction follows.
    pub trace: Option<TraceFile>,
    /// How links of an operator behave.
    pub profile: Option<LinkProfileFile>,
}

/// A queue discipline, by its name alone or with its options.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum QueueFile {
    Named(QueueName),
    /// Asked for a packet at each departure; all values are defaults.
    Discipline(DisciplineName),
    Options(QueueOptions),
    /// Asked for a packet at each departure.
    Spec(Box<QueueSpec>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueName {
    /// First in, first out; an arrival that finds no room is dropped.
    DropTail,
    /// First in, first out; an arrival that finds no room displaces the packet that has waited longest.
    DropFront,
    /// First in, first out, without limit.
    Unlimited,
    /// Random early detection: the longer the average queue, the more arrivals are dropped.
    Red,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueOptions {
    /// First in, first out; an arrival that finds no room is dropped.
    DropTail(DropTailFile),
    /// First in, first out; an arrival that finds no room displaces the packet that has waited longest.
    DropFront(DropTailFile),
    /// Random early detection: the longer the average queue, the more arrivals are dropped.
    Red(RedFile),
}

/// Random early detection (Floyd and Jacobson 1993). A limit in bytes makes thresholds and average count bytes, and
/// drops large packets more often.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedFile {
    /// At most so many packets wait. Without `packets` and `bytes`: 50, under "ns-2" 50 mean packets in bytes.
    pub packets: Option<u32>,
    /// At most so many bytes wait.
    pub bytes: Option<Bytes>,
    /// Average, in mean packets, from which on packets are dropped. Without it: 5; under "ns-2" and for an adaptive one
    /// half of what the link serves in `target_delay`, at least 5.
    pub min: Option<f64>,
    /// Average, in mean packets, at which the probability is `max_p`. Without it: three times `min`.
    pub max: Option<f64>,
    /// Probability at `max`. Without it: 0.1.
    pub max_p: Option<f64>,
    /// Weight of an arrival in the average. Without it: 0.002; under "ns-2" and for an adaptive one 1 - exp(-1 / (10
    /// RTT packets per second)), the RTT being 0.1 s or three times the way over the link, if that is more.
    pub weight: Option<f64>,
    /// Whether the probability grows to 1 between `max` and its double, instead of at `max`. Without it: by profile.
    pub gentle: Option<bool>,
    /// Whether `max_p` follows the average (Floyd, Gummadi and Shenker 2001). Without it: false.
    pub adaptive: Option<bool>,
    /// Delay in the queue that `min` aims at, where it is not given. Without it: 5 ms.
    pub target_delay: Option<Duration>,
    /// Typical packet. Without it: 1000 B, under "ns-2" 500 B.
    pub mean_packet: Option<Bytes>,
    /// How drops are spread. Without it: by profile.
    pub spacing: Option<RedSpacingName>,
    /// Which packets are counted between drops. Without it: by profile.
    pub counting: Option<RedCountingName>,
    /// Whether packets of an ECN-capable transport are marked where they would be dropped early (RFC 3168). Without it:
    /// false.
    pub ecn: Option<bool>,
    /// Up to this probability they are marked, from there on dropped; needs `ecn`. Without it: 0.1.
    pub mark_p: Option<f64>,
    /// Who goes when the queue is full. Without it: "low-first".
    pub priority: Option<PriorityName>,
}

/// Who goes at a full queue. Only TCP Peach sends segments of low priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PriorityName {
    /// An arriving packet of normal priority takes the place of the low ones queued last, an arriving low one is
    /// dropped.
    #[default]
    LowFirst,
    /// The arriving packet is dropped, whatever its priority.
    Ignored,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RedSpacingName {
    /// Evenly over the packets.
    Uniform,
    /// Not before 1 / p packets, then evenly.
    Wait,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum RedCountingName {
    /// Those above `min`.
    #[serde(rename = "floyd")]
    Floyd,
    /// Every arrival; the first above `min` passes, and so does one that finds an empty or almost empty queue.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// The room of a queue, in packets or in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DropTailFile {
    /// At most so many packets. Without `packets` and `bytes`: 50.
    pub packets: Option<u32>,
    /// At most so many bytes wait.
    pub bytes: Option<Bytes>,
    /// What the limit in packets counts.
    pub counts: Option<CountsName>,
    /// Packets of an ECN-capable transport are marked while more than so many packets wait (the K of RFC 8257). Without
    /// it: none are.
    pub mark_above: Option<u32>,
    /// Who goes when the queue is full. Without it: "low-first".
    pub priority: Option<PriorityName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CountsName {
    /// Packets that wait, as Linux counts.
    Waiting,
    /// Also the one that is being sent, as ns-2 counts.
    WithService,
}

/// Losses other than by congestion. The packet has used the link.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorFile {
    /// Each packet is lost with this probability, independently of the others.
    Packet(#[schemars(range(min = 0.0, max = 1.0))] f64),
    /// Each byte is lost with this probability, and with it its packet; headers count, framing does not.
    Byte(#[schemars(range(min = 0.0, max = 1.0))] f64),
    /// Each bit is lost with this probability, and with it its packet; headers count, framing does not.
    Bit(#[schemars(range(min = 0.0, max = 1.0))] f64),
    /// Only packets of data meet these losses, not ACKs.
    Data(DataErrors),
    /// Losses in bursts: the link is good or bad, and may change after each packet.
    GilbertElliott(GilbertElliottFile),
    /// The losses are given.
    Trace(TraceErrors),
    /// Single packets of the link are named and lost, marked, late or doubled; times in which it loses or holds all.
    List(ListFile),
    /// These data segments of a flow are lost, each at its first transmission.
    Segments(SegmentErrors),
}

/// Losses of data, as of ns-2's error model in front of a receiver.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DataErrors {
    /// Each packet is lost with this probability, independently of the others.
    Packet(#[schemars(range(min = 0.0, max = 1.0))] f64),
    /// Each byte is lost with this probability, and with it its packet.
    Byte(#[schemars(range(min = 0.0, max = 1.0))] f64),
    /// Each bit is lost with this probability, and with it its packet.
    Bit(#[schemars(range(min = 0.0, max = 1.0))] f64),
}

/// Two states of a link (Gilbert 1960, Elliott 1963). The mean loss is loss_good to_good / (to_good + to_bad) +
/// loss_bad to_bad / (to_good + to_bad).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliottFile {
    /// Probability of a step from good to bad, per packet.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub to_bad: f64,
    /// Probability of a step from bad to good, per packet: a bad time lasts 1 / `to_good` packets on average.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub to_good: f64,
    /// Probability of a loss in the good state.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss_good: f64,
    /// Probability of a loss in the bad state.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss_bad: f64,
}

/// Losses one by one: packets by number, times from and until, or both.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceErrors {
    /// Numbers of packets as they come over the link, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<Vec<u64>>,
    /// Everything that arrives from the first to before the second moment of a pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub during: Option<Vec<[Duration; 2]>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SegmentErrors {
    /// Name of the flow.
    pub flow: String,
    /// Numbers of the segments, counted as the sender numbers them: segment 0 opens the connection.
    pub segments: Vec<u32>,
}

/// Traffic from one node to another: `tcp` or `udp`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowFile {
    pub name: String,
    /// So many flows of this kind: a count of 3 makes ftp-0, ftp-1 and ftp-2 of "ftp".
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
    /// The node that sends.
    pub from: String,
    /// The node that receives.
    pub to: String,
    /// Nodes on the path, in order, that split the connection: each has an agent with `pep`. Needs TCP.
    pub via: Option<Vec<String>>,
    /// An own link to `from` and one from `to` for each flow, between which it runs.
    pub access: Option<AccessFile>,
    /// TCP: a name, or a table of its parts and options.
    pub tcp: Option<TcpFile>,
    /// UDP.
    pub udp: Option<UdpFile>,
    /// A real QUIC stack: a name, or a table of its options.
    pub quic: Option<QuicFile>,
    /// Where the data comes from. With TCP or QUIC and without this key: "ftp".
    pub application: Option<ApplicationFile>,
    /// Without it: 0 s.
    pub start: Option<Duration>,
    /// Time over which the flows of a count start, evenly: flow i of n (from 0) starts at `start` + i/n of this. Needs
    /// `count`. Without it: all start together.
    pub start_spread: Option<Duration>,
    /// When the application stops producing data. Without it: at the end.
    pub stop: Option<Duration>,
    /// Hops that a packet may take; behind them it is dropped. Without it: 255, under `ns-2` 32.
    #[schemars(range(min = 1))]
    pub ttl: Option<u8>,
    /// Traffic class of the flow's packets, data and ACKs: the DSCP (cake, codel) or priority (prio, fq) by which
    /// queues tell packets apart. Without it: 0.
    #[schemars(range(max = 63))]
    pub class: Option<u8>,
    /// Longest time that the sender takes before it sends what its window releases, each time a random one between zero
    /// and this; breaks the lock-step of flows. Needs TCP. Without it: 0 s.
    pub jitter: Option<Duration>,
}

/// Links of a flow's own: from its source to the node `from`, and from the node `to` to its sink.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessFile {
    pub rate: Rate,
    /// One-way propagation delay of each of the two.
    pub delay: Duration,
    /// Without it: "unlimited".
    pub queue: Option<QueueFile>,
}

/// UDP: datagrams without acknowledgement.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UdpFile {
    /// Bytes added to each datagram on the wire.
    pub header: Option<Bytes>,
}

/// Where data comes from, by its name alone or with its options.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ApplicationFile {
    Named(ApplicationName),
    Options(ApplicationOptions),
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApplicationName {
    /// Always has data to send.
    Ftp,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApplicationOptions {
    /// Always has data to send.
    Ftp(FtpFile),
    /// Equal portions in equal times.
    ConstantRate(ConstantRateFile),
    /// Equal portions at random, independent instants; the rate is the mean.
    Poisson(SourceFile),
    /// A user who types.
    Telnet(TelnetFile),
    /// A constant rate for a random time, then silence for a random time.
    OnOff(OnOffFile),
    /// One direction of a call: voice over RTP, rated by the E-model; needs UDP.
    Call(CallFile),
    /// Messages by the clock, each with a deadline.
    Messages(MessagesFile),
    /// Adaptive video; needs TCP or QUIC.
    Video(VideoFile),
    /// Files one after another; needs TCP.
    Files(FilesFile),
    /// The node `to` asks, the node `from` answers; needs TCP.
    Requests(RequestsFile),
}

/// Equal portions in equal times.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstantRateFile {
    /// Rate of the payload, without headers.
    pub rate: Rate,
    /// Size of each portion.
    pub payload: Bytes,
    /// Without it: "regular".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing: Option<SpacingName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpacingName {
    Regular,
    /// Each gap is from half to one and a half of the regular one.
    Random,
}

/// Small portions at the pace of a user who types.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TelnetFile {
    /// Size of each portion.
    pub payload: Bytes,
    /// Mean of exponential gaps. Without it the gaps are those of tcplib: Pareto, 1.1 s on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
}

/// On and off for exponential times.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOffFile {
    /// Rate of the payload while the source is on.
    pub rate: Rate,
    /// Size of each portion.
    pub payload: Bytes,
    /// Mean time for which it is on.
    pub on: Duration,
    /// Mean time for which it is off.
    pub off: Duration,
}

/// Files of given sizes; each has its completion time in the table of transfers.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilesFile {
    pub sizes: Vec<Bytes>,
    /// From the arrival of a file to the begin of the next. Without it: 0 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Duration>,
}

/// Requests and their answers; each has its completion time in the table of transfers.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestsFile {
    /// Size of a request on the wire.
    pub request: Bytes,
    /// User data of an answer.
    pub response: Bytes,
    /// Mean of the exponential time from an answer to the next request.
    pub think: Duration,
    /// So many requests. Without it: no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FtpFile {
    /// So many bytes. Without it: no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceFile {
    /// Rate of the payload, without headers.
    pub rate: Rate,
    /// Size of each portion.
    pub payload: Bytes,
}

/// Records that a run keeps besides its totals.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordsFile {
    /// Step of the time series. Without it there are none.
    pub grid: Option<Duration>,
    /// Step of the positions of satellites. Without it there are none.
    pub positions: Option<Duration>,
    /// Links, as in "left->right", of which every packet is kept.
    pub packets: Option<Vec<String>>,
    /// Whether each portion that an application writes by the clock is followed until it can be read, in the table of
    /// transfers. Without it: false.
    pub updates: Option<bool>,
}
