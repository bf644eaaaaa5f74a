//! Queues with every value worked out.

use crate::format::{CountsName, PriorityName, RedCountingName, RedSpacingName};
use serde::Serialize;
use skyhop_base::Bytes;
use skyhop_queue::QueueSpec;

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
