//! Deficit round robin: M. Shreedhar and G. Varghese, "Efficient Fair Queueing Using Deficit Round Robin",
//! SIGCOMM 1995.
//!
//! Each class has a queue bounded in packets and a quantum of bytes per round, which is its weight. Linux 6.18
//! `sch_drr`: a class that becomes active joins the end of the round with one quantum; a head larger than the deficit
//! earns one quantum more and sends the class to the end; an emptied class leaves at once and forgets its deficit.

use crate::error::within;
use crate::list::{Links, List};
use crate::store::{Queue, Store};
use crate::{
    Affected, Backlog, Cause, ConfigError, Context, DEVICE_MTU_BYTES, Discipline, Packet, Parameters, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Time};

/// Parameters of deficit round robin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DrrConfig {
    /// The classes.
    pub classes: Vec<DrrClass>,
    /// The class of a packet by its own class (its DSCP) modulo the length. Without a map the class is the flow, and
    /// packets of flows beyond the last class are dropped, as what no filter classifies is in the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map: Option<Vec<u16>>,
}

/// One class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DrrClass {
    /// Bytes per round, at least 1 (tc: the device's MTU and link header).
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub quantum: u32,
    /// Packets that may wait, at least 1.
    pub limit: u32,
}

impl Default for DrrClass {
    fn default() -> DrrClass {
        DrrClass { quantum: DEVICE_MTU_BYTES, limit: 1000 }
    }
}

impl Default for DrrConfig {
    fn default() -> DrrConfig {
        DrrConfig { classes: vec![DrrClass::default(); 16], map: None }
    }
}

impl Parameters for DrrConfig {
    fn check(&self) -> Result<(), ConfigError> {
        let classes = self.classes.len();
        within("classes (entries)", classes, 1..=65536)?;
        for class in &self.classes {
            within("quantum", class.quantum, 1..=1 << 30)?;
            within("limit", class.limit, 1..=u32::MAX)?;
        }
        let Some(map) = &self.map else { return Ok(()) };
        within("map (entries)", map.len(), 1..=256)?;
        within("map", usize::from(map.iter().copied().max().unwrap_or(0)), 0..=classes - 1)
    }

    fn build(&self, _now: Time) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(Drr::new(self)))
    }

    fn sees_classes(&self) -> bool {
        self.map.is_some()
    }
}

#[derive(Debug)]
struct Class {
    queue: Queue,
    deficit: i64,
    quantum: i64,
    limit: u32,
}

/// The discipline `drr`.
#[derive(Debug)]
pub struct Drr {
    map: Option<Vec<u16>>,
    store: Store,
    classes: Vec<Class>,
    links: Links,
    active: List,
}

impl Drr {
    pub fn new(config: &DrrConfig) -> Drr {
        let class = |class: &DrrClass| Class {
            queue: Queue::default(),
            deficit: 0,
            quantum: i64::from(class.quantum),
            limit: class.limit,
        };
        Drr {
            map: config.map.clone(),
            store: Store::default(),
            classes: config.classes.iter().map(class).collect(),
            links: Links::new(config.classes.len() as u32),
            active: List::default(),
        }
    }

    fn class_of(&self, packet: Packet) -> u32 {
        match &self.map {
            Some(map) => u32::from(map[usize::from(packet.class) % map.len()]),
            None => packet.flow,
        }
    }
}

impl Discipline for Drr {
    fn enqueue(&mut self, packet: Packet, context: &mut Context<'_>) -> Verdict {
        let number = self.class_of(packet);
        let Some(class) = self.classes.get_mut(number as usize) else {
            context.drop(packet, Cause::NoClass);
            return Verdict::Dropped;
        };
        if class.queue.packets() >= class.limit {
            context.drop(packet, Cause::FlowLimit);
            return Verdict::Dropped;
        }
        if class.queue.is_empty() {
            self.links.push_back(&mut self.active, number);
            class.deficit = class.quantum;
        }
        self.store.push(&mut class.queue, packet, context.now);
        Verdict::Queued
    }

    fn dequeue(&mut self, _context: &mut Context<'_>) -> Option<Packet> {
        loop {
            let number = self.active.first()?;
            let class = &mut self.classes[number as usize];
            let bytes = i64::from(self.store.front(&class.queue)?.packet.bytes);
            if bytes > class.deficit {
                class.deficit += class.quantum;
                self.links.remove(&mut self.active, number);
                self.links.push_back(&mut self.active, number);
                continue;
            }
            class.deficit -= bytes;
            let waiting = self.store.pop_front(&mut class.queue)?;
            if class.queue.is_empty() {
                self.links.remove(&mut self.active, number);
            }
            return Some(waiting.packet);
        }
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }

    fn withdraw(&mut self, affected: Affected<'_>, out: &mut Vec<Packet>) {
        for (number, class) in (0..).zip(&mut self.classes).filter(|(_, class)| !class.queue.is_empty()) {
            self.store.withdraw(&mut class.queue, affected, out);
            if class.queue.is_empty() {
                self.links.remove(&mut self.active, number);
            }
        }
    }
}
