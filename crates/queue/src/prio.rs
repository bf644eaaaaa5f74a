//! Strict priorities: band 0 goes before band 1, and so on; each band is a queue bounded in packets. Linux 6.18
//! `sch_prio` with `pfifo` children.

use crate::error::within;
use crate::store::{Queue, Store};
use crate::{Affected, Backlog, Cause, ConfigError, Context, Discipline, Packet, Parameters, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Time;

/// Parameters of strict priorities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PrioConfig {
    /// Packets that may wait in each band, one entry a band, 1 to 16 bands (tc: three bands).
    pub limits: Vec<u32>,
    /// The band of each class, by the packet's class modulo the length: 16 entries for Linux's priorities, 64 for
    /// DSCPs.
    pub map: Vec<u8>,
}

/// Linux's bands by priority (`sch_default_prio2band`).
pub const DEFAULT_MAP: [u8; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];
/// tc's `pfifo` takes the device's queue length.
const DEFAULT_LIMIT: u32 = 1000;

impl Default for PrioConfig {
    fn default() -> PrioConfig {
        PrioConfig { limits: vec![DEFAULT_LIMIT; 3], map: DEFAULT_MAP.to_vec() }
    }
}

impl Parameters for PrioConfig {
    fn check(&self) -> Result<(), ConfigError> {
        let bands = self.limits.len();
        within("limits (entries)", bands, 1..=16)?;
        within("limits", self.limits.iter().copied().min().unwrap_or(0), 1..=u32::MAX)?;
        within("map (entries)", self.map.len(), 1..=256)?;
        within("map", self.map.iter().copied().max().unwrap_or(0), 0..=bands as u8 - 1)
    }

    fn build(&self, _now: Time) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(Prio::new(self)))
    }

    fn sees_classes(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Band {
    queue: Queue,
    limit: u32,
}

/// The discipline `prio`.
#[derive(Debug)]
pub struct Prio {
    map: Vec<u8>,
    store: Store,
    bands: Vec<Band>,
}

impl Prio {
    pub fn new(config: &PrioConfig) -> Prio {
        let band = |&limit: &u32| Band { queue: Queue::default(), limit };
        Prio { map: config.map.clone(), store: Store::default(), bands: config.limits.iter().map(band).collect() }
    }
}

impl Discipline for Prio {
    fn enqueue(&mut self, packet: Packet, context: &mut Context<'_>) -> Verdict {
        let number = self.map[usize::from(packet.class) % self.map.len()];
        let band = &mut self.bands[usize::from(number)];
        if band.queue.packets() >= band.limit {
            context.drop(packet, Cause::FlowLimit);
            return Verdict::Dropped;
        }
        self.store.push(&mut band.queue, packet, context.now);
        Verdict::Queued
    }

    fn dequeue(&mut self, _context: &mut Context<'_>) -> Option<Packet> {
        let band = self.bands.iter_mut().find(|band| !band.queue.is_empty())?;
        self.store.pop_front(&mut band.queue).map(|waiting| waiting.packet)
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }

    fn withdraw(&mut self, affected: Affected<'_>, out: &mut Vec<Packet>) {
        for band in &mut self.bands {
            self.store.withdraw(&mut band.queue, affected, out);
        }
    }
}
