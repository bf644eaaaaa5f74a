//! Queues of transmitters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration};
use skyhop_queue::{DisciplineName, QueueSpec};

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
    /// RTT packets per second)), where the RTT is 0.1 s, or three times the time that a packet takes over the link
    /// if that is more.
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

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    Unlimited,
    DropTail(Fifo),
    DropFront(Fifo),
    Red(Red),
    /// Asked for a packet at each departure.
    #[serde(untagged)]
    Discipline(Box<QueueSpec>),
}

/// First in, first out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fifo {
    #[serde(flatten)]
    pub room: Room,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark_above: Option<u32>,
    /// Absent where no packet can give way: behind a recording or a profile, which have served packets already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<PriorityName>,
}

/// Random early detection with every value worked out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Red {
    #[serde(flatten)]
    pub room: RedRoom,
    pub min: f64,
    pub max: f64,
    pub max_p: f64,
    pub weight: f64,
    pub gentle: bool,
    pub adaptive: bool,
    pub mean_packet: Bytes,
    pub spacing: RedSpacingName,
    pub counting: RedCountingName,
    pub ecn: bool,
    /// With `ecn`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark_p: Option<f64>,
    /// Absent where no packet can give way: behind a recording or a profile, which have served packets already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<PriorityName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RedRoom {
    Packets(u32),
    Bytes(Bytes),
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Room {
    Packets { packets: u32, counts: CountsName },
    Bytes { bytes: Bytes },
}
