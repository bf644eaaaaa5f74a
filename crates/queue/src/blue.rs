//! BLUE: W. Feng, K. Shin, D. Kandlur and D. Saha, "The BLUE active queue management algorithms", IEEE/ACM Transactions
//! on Networking 10(4), 2002.
//!
//! One probability drops or marks arrivals. It rises by `increase` when an arrival finds no room, falls by `decrease`
//! when the transmitter finds nothing to send, and stays for `freeze` after each change.
//!
//! Known limits: one queue for all flows; the probability needs as long as several `freeze` to follow a change of load.

use crate::{Affected, Backlog, Cause, ConfigError, Context, Discipline, Packet, Parameters, Verdict, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Duration, Time};
use std::collections::VecDeque;

/// Parameters of BLUE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BlueConfig {
    /// Packets that may wait, at least 1.
    pub limit: u32,
    /// What a full queue adds to the probability, 0 to 1 (paper: d1, table I).
    pub increase: f64,
    /// What an idle link takes from the probability, 0 to 1 (paper: d2, table I).
    pub decrease: f64,
    /// Least time between two changes (paper: freeze_time, 10 ms to 100 ms).
    pub freeze: Duration,
    /// Mark packets that can carry a mark instead of dropping them.
    pub ecn: bool,
}

impl Default for BlueConfig {
    fn default() -> BlueConfig {
        BlueConfig { limit: 1000, increase: 0.0025, decrease: 0.00025, freeze: Duration::from_millis(10), ecn: false }
    }
}

impl Parameters for BlueConfig {
    fn check(&self) -> Result<(), ConfigError> {
        within("limit", self.limit, 1..=u32::MAX)?;
        within("increase", self.increase, 0.0..=1.0)?;
        within("decrease", self.decrease, 0.0..=1.0)
    }

    fn build(&self, now: Time) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(Blue::new(self, now)))
    }

    fn marks(&self) -> bool {
        self.ecn
    }

    fn unread(&self, can_mark: bool) -> Vec<&'static str> {
        if can_mark && self.ecn { Vec::new() } else { vec!["ecn"] }
    }
}

/// The discipline `blue`.
#[derive(Debug)]
pub struct Blue {
    config: BlueConfig,
    queue: VecDeque<Packet>,
    bytes: u64,
    probability: f64,
    changed: Time,
}

impl Blue {
    pub fn new(config: &BlueConfig, now: Time) -> Blue {
        Blue { config: config.clone(), queue: VecDeque::new(), bytes: 0, probability: 0.0, changed: now }
    }

    /// The probability with which an arrival is hit.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    fn change(&mut self, by: f64, now: Time) {
        if now.since(self.changed) >= self.config.freeze {
            self.probability = (self.probability + by).clamp(0.0, 1.0);
            self.changed = now;
        }
    }
}

impl Discipline for Blue {
    fn enqueue(&mut self, mut packet: Packet, context: &mut Context<'_>) -> Verdict {
        if self.queue.len() >= self.config.limit as usize {
            self.change(self.config.increase, context.now);
            context.drop(packet, Cause::Limit);
            return Verdict::Dropped;
        }
        let hit = context.random.uniform() < self.probability;
        let marked = hit && self.config.ecn && packet.mark();
        if hit && !marked {
            context.drop(packet, Cause::Control);
            return Verdict::Dropped;
        }
        self.bytes += u64::from(packet.bytes);
        self.queue.push_back(packet);
        if marked { Verdict::Marked } else { Verdict::Queued }
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Option<Packet> {
        // A link asks at the end of each transmission, also when nothing waits.
        let Some(packet) = self.queue.pop_front() else {
            self.change(-self.config.decrease, context.now);
            return None;
        };
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.queue.len() as u64, bytes: self.bytes }
    }

    fn withdraw(&mut self, affected: Affected<'_>, out: &mut Vec<Packet>) {
        self.queue.retain(|packet| {
            let stays = !affected(packet);
            if !stays {
                out.push(*packet);
            }
            stays
        });
        self.bytes = self.queue.iter().map(|packet| u64::from(packet.bytes)).sum();
    }
}
