//! FlowQueue-CoDel: T. Høiland-Jørgensen, P. McKenney, D. Täht, J. Gettys and E. Dumazet, RFC 8290, 2018.
//!
//! One queue per flow with CoDel in each, served by deficit round robin; a queue that was empty goes first, once.
//! Queues: flow modulo `flows`. Where RFC 8290 leaves a choice, this follows Linux 6.18 (README of the reference):
//!
//! - CoDel's "more than one MTU stays behind" looks at the bytes of all queues (rule 2);
//! - over the limit, the queue with most bytes loses packets from its head until half of its bytes or `drop_batch`
//!   packets are gone; each such drop adds one to that queue's CoDel count (rule 10; RFC 8290 §4.1 drops a batch, too,
//!   and says nothing of the count);
//! - a drop by CoDel costs no deficit (rule 11).

use crate::codel::{Codel, CodelConfig, Control, Source, unread_of_marks};
use crate::error::within;
use crate::packet::MEMORY_OVERHEAD_BYTES;
use crate::round::Round;
use crate::store::{Queue, Store, Waiting};
use crate::{
    Affected, Backlog, Cause, ConfigError, Context, DEVICE_MTU_BYTES, Discipline, Packet, Parameters, Variant, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Time};

/// Parameters of FQ-CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqCodelConfig {
    /// Whose control law the queues run.
    pub variant: Variant,
    /// Packets that may wait in all queues, at least 1 (RFC 8290 §5.2.1: 10240).
    pub limit: u32,
    /// Memory that waiting packets may take, bytes, 256 B more than its size each (tc: 32 MiB).
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub memory_limit: u64,
    /// Number of queues, 1 to 65536 (RFC 8290 §5.2.4: 1024).
    pub flows: u32,
    /// Bytes per turn, at least 256 as in the kernel (RFC 8290 §5.2.5: the MTU and link header).
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub quantum: u32,
    /// Packets that the longest queue may lose at once, at least 1 (RFC 8290 §4.1: 64).
    pub drop_batch: u32,
    /// Sojourn to keep to (RFC 8290 §5.2.2: 5 ms).
    pub target: Duration,
    /// Time for which the sojourn may be above target (RFC 8290 §5.2.3: 100 ms).
    pub interval: Duration,
    /// Mark packets that can carry a mark instead of dropping them (RFC 8290 §5.2.7: yes).
    pub ecn: bool,
    /// Sojourn above which every packet that leaves is marked (RFC 8290 §5.2.8: none).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Duration>,
    /// Restricts `ce_threshold` to packets whose former TOS byte, masked, equals the selector; 0 takes all.
    pub ce_threshold_mask: u8,
    pub ce_threshold_selector: u8,
    /// Bytes that may stay behind without counting as a queue: the device's MTU and link header.
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub mtu: u32,
}

impl Default for FqCodelConfig {
    fn default() -> FqCodelConfig {
        FqCodelConfig {
            variant: Variant::Linux,
            limit: 10240,
            memory_limit: 32 << 20,
            flows: 1024,
            quantum: DEVICE_MTU_BYTES,
            drop_batch: 64,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: true,
            ce_threshold: None,
            ce_threshold_mask: 0,
            ce_threshold_selector: 0,
            mtu: DEVICE_MTU_BYTES,
        }
    }
}

/// The kernel raises smaller quanta to this.
const LEAST_QUANTUM_BYTES: u32 = 256;

impl FqCodelConfig {
    fn codel(&self) -> CodelConfig {
        CodelConfig {
            variant: self.variant,
            limit: self.limit,
            target: self.target,
            interval: self.interval,
            ecn: self.ecn,
            ce_threshold: self.ce_threshold,
            ce_threshold_mask: self.ce_threshold_mask,
            ce_threshold_selector: self.ce_threshold_selector,
            mtu: self.mtu,
        }
    }
}

impl Parameters for FqCodelConfig {
    fn check(&self) -> Result<(), ConfigError> {
        within("flows", self.flows, 1..=65536)?;
        within("quantum", self.quantum, LEAST_QUANTUM_BYTES..=1 << 20)?;
        within("drop_batch", self.drop_batch, 1..=u32::MAX)?;
        within("memory_limit", self.memory_limit, 1..=1 << 31)?;
        self.codel().check()
    }

    fn build(&self, _now: Time) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(FqCodel::new(self.clone())))
    }

    fn sees_classes(&self) -> bool {
        self.ce_threshold.is_some() && self.ce_threshold_mask != 0
    }

    fn marks(&self) -> bool {
        self.ecn || self.ce_threshold.is_some()
    }

    fn unread(&self, can_mark: bool) -> Vec<&'static str> {
        let mask = self.ce_threshold.map(|_| self.ce_threshold_mask);
        let mut unread = unread_of_marks(can_mark && self.marks(), mask);
        if self.flows == 1 {
            // The only queue is always the next one.
            unread.push("quantum");
        }
        unread
    }
}

#[derive(Clone, Debug, Default)]
struct Flow {
    queue: Queue,
    codel: Codel,
}

/// The discipline `fq_codel`.
#[derive(Debug)]
pub struct FqCodel {
    config: FqCodelConfig,
    control: Control,
    store: Store,
    flows: Vec<Flow>,
    round: Round,
    memory: u64,
}

struct Head<'a, 'b> {
    store: &'a mut Store,
    queue: &'a mut Queue,
    memory: &'a mut u64,
    context: &'a mut Context<'b>,
}

impl Source for Head<'_, '_> {
    fn take(&mut self) -> Option<(Waiting, u64)> {
        let waiting = self.store.pop_front(self.queue)?;
        *self.memory -= memory_of(waiting.packet);
        Some((waiting, self.store.backlog().bytes))
    }

    fn discard(&mut self, packet: Packet) {
        self.context.drop(packet, Cause::Control);
    }
}

fn memory_of(packet: Packet) -> u64 {
    u64::from(packet.bytes) + MEMORY_OVERHEAD_BYTES
}

impl FqCodel {
    pub fn new(config: FqCodelConfig) -> FqCodel {
        FqCodel {
            control: config.codel().control(),
            store: Store::default(),
            flows: vec![Flow::default(); config.flows as usize],
            round: Round::new(config.flows, config.quantum),
            memory: 0,
            config,
        }
    }

    /// Takes packets from the head of the queue with most bytes, the first of equals.
    fn drop_batch(&mut self, context: &mut Context<'_>, cause: Cause) {
        let mut longest = 0;
        for (i, flow) in self.flows.iter().enumerate() {
            if flow.queue.bytes() > self.flows[longest].queue.bytes() {
                longest = i;
            }
        }
        let flow = &mut self.flows[longest];
        let half = flow.queue.bytes() / 2;
        let (mut packets, mut bytes) = (0, 0);
        while let Some(waiting) = self.store.pop_front(&mut flow.queue) {
            packets += 1;
            bytes += u64::from(waiting.packet.bytes);
            self.memory -= memory_of(waiting.packet);
            context.drop(waiting.packet, cause);
            if packets >= self.config.drop_batch || bytes >= half {
                break;
            }
        }
        flow.codel.count_drops(packets);
    }
}

impl Discipline for FqCodel {
    fn enqueue(&mut self, packet: Packet, context: &mut Context<'_>) -> Verdict {
        let number = packet.flow % self.config.flows;
        let flow = &mut self.flows[number as usize];
        self.store.push(&mut flow.queue, packet, context.now);
        self.memory += memory_of(packet);
        self.round.join(number);
        let over_memory = self.memory > self.config.memory_limit;
        if self.store.backlog().packets <= u64::from(self.config.limit) && !over_memory {
            return Verdict::Queued;
        }
        let before = context.dropped.len();
        self.drop_batch(context, if over_memory { Cause::Memory } else { Cause::Limit });
        let itself = context.dropped[before..].iter().any(|dropped| dropped.packet.handle == packet.handle);
        if itself { Verdict::Dropped } else { Verdict::Queued }
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Option<Packet> {
        let now = context.now;
        while let Some(number) = self.round.next() {
            let flow = &mut self.flows[number as usize];
            let mut head = Head {
                store: &mut self.store,
                queue: &mut flow.queue,
                memory: &mut self.memory,
                context: &mut *context,
            };
            if let Some(waiting) = flow.codel.dequeue(&self.control, now, &mut head) {
                self.round.charge(number, waiting.packet.bytes);
                return Some(waiting.packet);
            }
            self.round.emptied(number);
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }

    fn memory_bytes(&self) -> u64 {
        (self.flows.len() * size_of::<Flow>()) as u64 + self.round.memory_bytes()
    }

    fn withdraw(&mut self, affected: Affected<'_>, out: &mut Vec<Packet>) {
        let before = out.len();
        for flow in &mut self.flows {
            self.store.withdraw(&mut flow.queue, affected, out);
        }
        self.memory -= out[before..].iter().map(|&packet| memory_of(packet)).sum::<u64>();
    }
}
