//! FQ-PIE: one queue per flow with PIE (RFC 8033) in each, served by deficit round robin as in FQ-CoDel (RFC 8290 §4).
//! No RFC describes the combination; this is Linux 6.18's `fq_pie`.
//!
//! One timer renews the probabilities of all queues. The memory limit of the kernel's fq_pie drops nothing, it only
//! counts; it is not a parameter here. Queues: flow modulo `flows`.

use crate::error::within;
use crate::pie::{Control, Pie, PieConfig, UpdateTimer};
use crate::round::Round;
use crate::store::{Queue, Store};
use crate::{
    Affected, Backlog, Cause, ConfigError, Context, DEVICE_MTU_BYTES, Discipline, Packet, Parameters, Variant, Verdict,
    Wake,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Time};

/// Parameters of FQ-PIE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqPieConfig {
    pub variant: Variant,
    /// Packets that may wait in all queues, at least 1 (tc: 10240).
    pub limit: u32,
    /// Number of queues, 1 to 65536 (tc: 1024).
    pub flows: u32,
    /// Bytes per turn, at least 1 (tc: the device's MTU and link header).
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub quantum: u32,
    /// Delay to keep to in each queue (RFC 8033 §5.1: 15 ms).
    pub target: Duration,
    /// Time between updates of the probabilities (RFC 8033 §4.2: 15 ms).
    pub update: Duration,
    /// Gain of the distance from target, in sixteenths per second (RFC 8033 §4.2: 2).
    pub alpha: u32,
    /// Gain of the trend, in sixteenths per second (RFC 8033 §4.2: 20).
    pub beta: u32,
    /// Mark packets that can carry a mark instead of dropping them, up to `ecn_limit`.
    pub ecn: bool,
    /// Probability above which all are dropped, marks or not, in per cent (tc `ecn_prob`: 10).
    pub ecn_limit: u32,
    /// Scale the probability by the packet's size over the MTU.
    pub bytes: bool,
    /// Estimate the delay from the departure rate instead of from sojourns.
    pub departure_rate: bool,
    /// The unit of "two packets wait" and of `bytes`.
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub mtu: u32,
}

impl Default for FqPieConfig {
    fn default() -> FqPieConfig {
        let pie = PieConfig::default();
        FqPieConfig {
            variant: pie.variant,
            limit: 10240,
            flows: 1024,
            quantum: DEVICE_MTU_BYTES,
            target: pie.target,
            update: pie.update,
            alpha: pie.alpha,
            beta: pie.beta,
            ecn: pie.ecn,
            ecn_limit: pie.ecn_limit,
            bytes: pie.bytes,
            departure_rate: pie.departure_rate,
            mtu: pie.mtu,
        }
    }
}

impl FqPieConfig {
    fn pie(&self) -> PieConfig {
        PieConfig {
            variant: self.variant,
            limit: self.limit,
            target: self.target,
            update: self.update,
            alpha: self.alpha,
            beta: self.beta,
            ecn: self.ecn,
            ecn_limit: self.ecn_limit,
            bytes: self.bytes,
            departure_rate: self.departure_rate,
            mtu: self.mtu,
        }
    }
}

impl Parameters for FqPieConfig {
    fn check(&self) -> Result<(), ConfigError> {
        within("flows", self.flows, 1..=65536)?;
        within("quantum", self.quantum, 1..=1 << 20)?;
        self.pie().check()
    }

    fn build(&self, now: Time) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(FqPie::new(self, now)))
    }

    fn marks(&self) -> bool {
        self.ecn
    }

    fn unread(&self, can_mark: bool) -> Vec<&'static str> {
        let mut unread = self.pie().unread(can_mark);
        if self.flows == 1 {
            // The only queue is always the next one.
            unread.push("quantum");
        }
        unread
    }
}

#[derive(Clone, Debug)]
struct Flow {
    queue: Queue,
    pie: Pie,
    /// Among the flows whose probability is renewed.
    watched: bool,
}

/// The discipline `fq_pie`.
#[derive(Debug)]
pub struct FqPie {
    limit: u64,
    control: Control,
    store: Store,
    flows: Vec<Flow>,
    round: Round,
    /// Flows whose controller is not at rest. The others would not change at an update.
    watched: Vec<u32>,
    timer: UpdateTimer,
}

impl FqPie {
    pub fn new(config: &FqPieConfig, now: Time) -> FqPie {
        let control = config.pie().control();
        let pie = Pie::new(&control);
        let flow = Flow { queue: Queue::default(), pie, watched: false };
        FqPie {
            limit: u64::from(config.limit),
            control,
            store: Store::default(),
            flows: vec![flow; config.flows as usize],
            round: Round::new(config.flows, config.quantum),
            watched: Vec::with_capacity(config.flows as usize),
            timer: UpdateTimer::new(config.variant, config.update, now),
        }
    }

    fn update(&mut self) {
        let (flows, control) = (&mut self.flows, &self.control);
        self.watched.retain(|&number| {
            let flow = &mut flows[number as usize];
            flow.pie.update(control, flow.queue.bytes());
            flow.watched = !flow.queue.is_empty() || !flow.pie.at_rest();
            flow.watched
        });
    }
}

impl Discipline for FqPie {
    fn enqueue(&mut self, mut packet: Packet, context: &mut Context<'_>) -> Verdict {
        let number = packet.flow % self.flows.len() as u32;
        let flow = &mut self.flows[number as usize];
        let mut verdict = Verdict::Queued;
        if self.store.backlog().packets >= self.limit {
            flow.pie.on_drop();
            context.drop(packet, Cause::Limit);
            return Verdict::Dropped;
        }
        if flow.pie.hits(&self.control, flow.queue.bytes(), packet.bytes, context.random) {
            if !flow.pie.mark(&self.control, &mut packet) {
                flow.pie.on_drop();
                context.drop(packet, Cause::Control);
                return Verdict::Dropped;
            }
            verdict = Verdict::Marked;
        }
        self.store.push(&mut flow.queue, packet, context.now);
        self.round.join(number);
        if !flow.watched {
            flow.watched = true;
            self.watched.push(number);
        }
        verdict
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Option<Packet> {
        while let Some(number) = self.round.next() {
            let flow = &mut self.flows[number as usize];
            if let Some(waiting) = self.store.pop_front(&mut flow.queue) {
                self.round.charge(number, waiting.packet.bytes);
                flow.pie.on_departure(&self.control, context.now, &waiting, flow.queue.bytes());
                return Some(waiting.packet);
            }
            self.round.emptied(number);
        }
        None
    }

    fn next_event(&self) -> Option<Time> {
        Some(self.timer.next)
    }

    fn on_event(&mut self, context: &mut Context<'_>) -> Wake {
        if self.timer.due(context.now) {
            self.update();
        }
        Wake::Nothing
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }

    fn memory_bytes(&self) -> u64 {
        (self.flows.len() * size_of::<Flow>()) as u64 + self.round.memory_bytes()
    }

    fn withdraw(&mut self, affected: Affected<'_>, out: &mut Vec<Packet>) {
        for flow in &mut self.flows {
            self.store.withdraw(&mut flow.queue, affected, out);
        }
    }
}
