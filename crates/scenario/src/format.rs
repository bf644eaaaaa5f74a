//! The scenario file as it is written: the serde twin, from which the JSON Schema is generated. What may be left
//! out is an `Option`; its default is filled in by `resolve`. The comments here are the descriptions in the schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Rate};
use skyhop_queue::{DisciplineName, QueueSpec};
use skyhop_sim::agents::config::AgentFile;
use skyhop_sim::errors::ErrorConfig;
use std::collections::BTreeMap;

mod linux;
mod profile;
mod quic;
mod repair;
mod sky;
mod trace;
mod workloads;

pub use crate::flows::{AccessFile, ApplicationFile, ApplicationName, FlowFile, UdpFile};
pub use linux::*;
pub use profile::*;
pub use quic::*;
pub use repair::*;
pub use sky::*;
pub use trace::*;
pub use workloads::*;

/// Newest version of the scenario format. It rises when a file that was right before gets another meaning or is
/// refused. Version 2 differs from version 1 in the default of `profile` alone (`ProfileName::of_file`).
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
    pub errors: Option<Vec<ErrorConfig>>,
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
    pub errors: Option<Vec<ErrorConfig>>,
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
