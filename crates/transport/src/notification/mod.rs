//! Reports that corruption, not congestion, took a segment: what a scenario says of them, and what a sender keeps.

mod ceten;
mod options;
mod repairs;

pub(crate) use ceten::Ceten;
pub use options::{
    BestSize, CetenCut, CetenSpec, ErrorReport, Notification, NotificationName, NotificationOptions, NotificationSpec,
    PacketSizing, SizeCounts, SizingTable, Weighing, WeighingTable,
};
pub(crate) use repairs::Repairs;
