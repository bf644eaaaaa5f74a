//! One queue, first in, first out, bounded in packets or bytes: tc's `pfifo` and `bfifo`.

use crate::error::within;
use crate::store::{Queue, Store};
use crate::{Affected, Backlog, Cause, ConfigError, Context, Discipline, Packet, Parameters, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Time};

/// The room of a first-in, first-out queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FifoConfig {
    /// At most this many packets wait (tc `pfifo limit`), at least 1.
    Packets(u32),
    /// At most this many bytes wait (tc `bfifo limit`), at least 1.
    Bytes(
        #[serde(with = "crate::sizes::one")]
        #[schemars(with = "Bytes")]
        u64,
    ),
}

impl Parameters for FifoConfig {
    fn check(&self) -> Result<(), ConfigError> {
        match *self {
            FifoConfig::Packets(packets) => within("packets", packets, 1..=u32::MAX),
            FifoConfig::Bytes(bytes) => within("bytes", bytes, 1..=u64::MAX / 2),
        }
    }

    fn build(&self, _now: Time) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(Fifo::new(*self)))
    }
}

/// The disciplines `pfifo` and `bfifo`.
#[derive(Debug)]
pub struct Fifo {
    config: FifoConfig,
    store: Store,
    queue: Queue,
}

impl Fifo {
    pub fn new(config: FifoConfig) -> Fifo {
        Fifo { config, store: Store::default(), queue: Queue::default() }
    }

    fn has_room(&self, packet: Packet) -> bool {
        match self.config {
            FifoConfig::Packets(limit) => self.queue.packets() < limit,
            FifoConfig::Bytes(limit) => self.queue.bytes() + u64::from(packet.bytes) <= limit,
        }
    }

    /// The packet that goes next.
    pub(crate) fn peek(&self) -> Option<Packet> {
        self.store.front(&self.queue).map(|waiting| waiting.packet)
    }
}

impl Discipline for Fifo {
    fn enqueue(&mut self, packet: Packet, context: &mut Context<'_>) -> Verdict {
        if !self.has_room(packet) {
            context.drop(packet, Cause::Limit);
            return Verdict::Dropped;
        }
        self.store.push(&mut self.queue, packet, context.now);
        Verdict::Queued
    }

    fn dequeue(&mut self, _context: &mut Context<'_>) -> Option<Packet> {
        self.store.pop_front(&mut self.queue).map(|waiting| waiting.packet)
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }

    fn withdraw(&mut self, affected: Affected<'_>, out: &mut Vec<Packet>) {
        self.store.withdraw(&mut self.queue, affected, out);
    }
}
