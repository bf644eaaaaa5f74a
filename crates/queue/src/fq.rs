//! Fair queueing with pacing: Linux 6.18 `sch_fq`.
//!
//! Flows take turns by deficit round robin in three bands of weighted credit; a flow may be held to a rate. Facts that
//! its name does not tell (README of the reference, rule 28):
//!
//! - what comes while nothing waits, or only flows held back by their rate, goes through a queue outside the flows, up
//!   to eight packets;
//! - a new flow starts with a large credit and goes first, as does a flow that comes back, in the band that it had
//!   before (a new flow: band 0), whatever the packet's; the packet's band counts from its next turn on;
//! - a flow that stayed away for more than `refill_delay` finds one quantum at least;
//! - with a rate, a packet is charged when the credit is used up, as the larger of packet and quantum; lateness up to
//!   half of an interval is made good.
//!
//! Known limits: the kernel may forget a flow that was idle for 3 s when another flow hashes to the same of its 1024
//! trees; here flows are never forgotten. Pacing by the sender's own timestamps is the sender's.

use crate::error::within;
use crate::list::{Links, List};
use crate::prio::DEFAULT_MAP;
use crate::store::{Queue, Store};
use crate::watchdog::Watchdog;
use crate::{
    Affected, Backlog, Cause, ConfigError, Context, DEVICE_MTU_BYTES, Discipline, Packet, Parameters, Verdict, Wake,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Rate, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Parameters of FQ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqConfig {
    /// Packets that may wait in each band, at least 1 (tc: 10000).
    pub limit: u32,
    /// Packets that may wait in one flow, at least 1 (tc: 100).
    pub flow_limit: u32,
    /// Bytes per turn, 1 to 2²⁰ (tc: two MTUs).
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub quantum: u32,
    /// Credit of a new flow, bytes, below 2³¹ (tc: ten MTUs).
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub initial_quantum: u32,
    /// Hold flows to `flow_max_rate` (tc `pacing`: yes).
    pub pacing: bool,
    /// Rate of each flow; none by default (tc `maxrate`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_max_rate: Option<Rate>,
    /// Rate up to which a flow has no credit: every packet waits for its own time (tc: 550 kbit/s).
    pub low_rate_threshold: Rate,
    /// After so long a flow that comes back has a quantum, rounded up to milliseconds (tc: 40 ms).
    pub refill_delay: Duration,
    /// Mark packets that leave later than this after the time at which they might have; none by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Duration>,
    /// Flows that are told apart, less 1: flow and mask is the queue, at most 65535 (tc: 1023).
    pub orphan_mask: u32,
    /// Credit of the bands per round, bytes, 2¹⁵ to 2³⁰ (tc: 9 : 3 : 1 in units of 65536).
    #[serde(with = "crate::sizes::three")]
    #[schemars(with = "[Bytes; 3]")]
    pub weights: [u32; 3],
    /// The band of each class, by the packet's class modulo the length: 16 entries for Linux's priorities, 64 for
    /// DSCPs.
    pub map: Vec<u8>,
}

impl Default for FqConfig {
    fn default() -> FqConfig {
        FqConfig {
            limit: 10_000,
            flow_limit: 100,
            quantum: 2 * DEVICE_MTU_BYTES,
            initial_quantum: 10 * DEVICE_MTU_BYTES,
            pacing: true,
            flow_max_rate: None,
            low_rate_threshold: LOW_RATE,
            refill_delay: Duration::from_millis(40),
            ce_threshold: None,
            orphan_mask: 1023,
            weights: [9 << 16, 3 << 16, 1 << 16],
            map: DEFAULT_MAP.to_vec(),
        }
    }
}

const LOW_RATE: Rate = Rate::from_bps(550_000).unwrap();

impl Parameters for FqConfig {
    fn check(&self) -> Result<(), ConfigError> {
        within("limit", self.limit, 1..=u32::MAX)?;
        within("flow_limit", self.flow_limit, 1..=u32::MAX)?;
        within("quantum", self.quantum, 1..=1 << 20)?;
        within("initial_quantum", self.initial_quantum, 0..=i32::MAX as u32)?;
        within("orphan_mask", self.orphan_mask, 0..=65535)?;
        for weight in self.weights {
            within("weights", weight, 1 << 15..=1 << 30)?;
        }
        within("map (entries)", self.map.len(), 1..=256)?;
        within("map", self.map.iter().copied().max().unwrap_or(0), 0..=2)
    }

    fn build(&self, _now: Time) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(Fq::new(self.clone())))
    }

    fn sees_classes(&self) -> bool {
        true
    }

    fn marks(&self) -> bool {
        self.ce_threshold.is_some()
    }

    fn unread(&self, can_mark: bool) -> Vec<&'static str> {
        let mut unread = Vec::new();
        if self.flow_max_rate.is_none() {
            unread.push("pacing");
        }
        if self.flow_max_rate.is_none() || !self.pacing {
            unread.push("low_rate_threshold");
        }
        if !can_mark {
            unread.push("ce_threshold");
        }
        unread
    }
}

/// Packets that the queue outside the flows takes while flows are held back.
const FAST_PATH_PACKETS: u32 = 8;
const JIFFY_NS: u64 = 1_000_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Where a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In no list since this jiffy, forced odd as in the kernel.
    Detached(u64),
    Listed,
    Throttled,
}

#[derive(Clone, Debug)]
struct Flow {
    queue: Queue,
    credit: i64,
    band: usize,
    place: Place,
    /// When its rate lets the next packet go.
    next_packet: Option<Time>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Band {
    new: List,
    old: List,
    credit: i64,
    packets: u32,
}

/// The discipline `fq`.
#[derive(Debug)]
pub struct Fq {
    config: FqConfig,
    store: Store,
    fast: Queue,
    flows: Vec<Option<Flow>>,
    links: Links,
    bands: [Band; 3],
    band: usize,
    /// Flows held back, by time, then by the order in which they came.
    throttled: BinaryHeap<Reverse<(Time, u64, u32)>>,
    throttlings: u64,
    next_throttled: Option<Time>,
    /// Flows in a list of a band whose queue holds packets.
    eligible: u32,
    watchdog: Watchdog,
}

fn jiffies(time: Time) -> u64 {
    time.as_nanos() / JIFFY_NS
}

impl Fq {
    pub fn new(config: FqConfig) -> Fq {
        Fq {
            config,
            store: Store::default(),
            fast: Queue::default(),
            flows: Vec::new(),
            links: Links::new(0),
            bands: [Band::default(); 3],
            band: 0,
            throttled: BinaryHeap::new(),
            throttlings: 0,
            next_throttled: None,
            eligible: 0,
            watchdog: Watchdog::default(),
        }
    }

    fn band_of(&self, packet: Packet) -> usize {
        usize::from(self.config.map[usize::from(packet.class) % self.config.map.len()])
    }

    fn takes_fast_path(&self, now: Time) -> bool {
        let may = self.store.backlog().packets == 0
            || (self.eligible == 0
                && self.fast.packets() < FAST_PATH_PACKETS
                && self.next_throttled.is_none_or(|at| at > now));
        may && self.config.flow_max_rate.is_none()
    }

    /// The flow of a packet, made if it is new.
    fn flow_of(&mut self, packet: Packet, now: Time) -> u32 {
        let number = packet.flow & self.config.orphan_mask;
        if self.flows.len() <= number as usize {
            self.flows.resize(number as usize + 1, None);
            self.links.grow(number + 1);
        }
        self.flows[number as usize].get_or_insert_with(|| Flow {
            queue: Queue::default(),
            credit: i64::from(self.config.initial_quantum),
            band: 0,
            place: Place::Detached(jiffies(now) | 1),
            next_packet: None,
        });
        number
    }

    fn flow(&mut self, number: u32) -> &mut Flow {
        // A number in a list or of `flow_of` has a flow.
        self.flows[number as usize].as_mut().expect("a listed flow exists")
    }

    fn append(&mut self, number: u32, to_new: bool) {
        let flow = self.flow(number);
        flow.place = Place::Listed;
        let band = flow.band;
        let Band { new, old, .. } = &mut self.bands[band];
        self.links.push_back(if to_new { new } else { old }, number);
    }

    /// Puts the flows whose time has come at the end of their bands' old lists.
    fn release(&mut self, now: Time) {
        if self.next_throttled.is_none_or(|at| at > now) {
            return;
        }
        self.next_throttled = None;
        while let Some(&Reverse((at, _, number))) = self.throttled.peek() {
            if at > now {
                self.next_throttled = Some(at);
                break;
            }
            self.throttled.pop();
            self.append(number, false);
            // A queue that was drained meanwhile waits for its next packet.
            self.eligible += u32::from(!self.flow(number).queue.is_empty());
        }
    }

    fn throttle(&mut self, number: u32, at: Time) {
        let flow = self.flow(number);
        flow.place = Place::Throttled;
        flow.next_packet = Some(at);
        self.throttled.push(Reverse((at, self.throttlings, number)));
        self.throttlings += 1;
        self.eligible -= 1;
        self.next_throttled = Some(self.next_throttled.map_or(at, |before| before.min(at)));
    }

    /// The band to serve with credit and flows: the present one, else the next, each visited earning its weight.
    fn select(&mut self) -> Option<usize> {
        let mut empty = 0;
        loop {
            let band = &self.bands[self.band];
            if band.credit > 0 && !(band.new.is_empty() && band.old.is_empty()) {
                return Some(self.band);
            }
            loop {
                empty += 1;
                if empty > self.bands.len() {
                    return None;
                }
                self.band = (self.band + 1) % self.bands.len();
                let weight = i64::from(self.config.weights[self.band]);
                let band = &mut self.bands[self.band];
                band.credit = (band.credit + weight).min(weight);
                if band.credit > 0 {
                    break;
                }
                empty = 0;
            }
        }
    }

    /// Charges a flow for `bytes` that left now: when the next may go.
    fn pace(&mut self, number: u32, bytes: u32, now: Time) {
        if !self.config.pacing {
            return;
        }
        let Some(rate) = self.config.flow_max_rate else { return };
        let per_second = rate.bps() / 8;
        let low = per_second <= self.config.low_rate_threshold.bps() / 8;
        let quantum = self.config.quantum;
        let flow = self.flow(number);
        let charged = if low {
            flow.credit = 0;
            bytes
        } else {
            if flow.credit > 0 {
                return;
            }
            bytes.max(quantum)
        };
        let mut interval = u64::from(charged) * NANOS_PER_SECOND / per_second.max(1);
        interval = interval.min(NANOS_PER_SECOND);
        if let Some(before) = flow.next_packet {
            interval -= (interval / 2).min(now.since(before).as_nanos());
        }
        flow.next_packet = Some(now + Duration::from_nanos(interval));
    }
}

impl Discipline for Fq {
    fn enqueue(&mut self, packet: Packet, context: &mut Context<'_>) -> Verdict {
        let band = self.band_of(packet);
        if self.bands[band].packets >= self.config.limit {
            context.drop(packet, Cause::Limit);
            return Verdict::Dropped;
        }
        if self.takes_fast_path(context.now) {
            self.store.push(&mut self.fast, packet, context.now);
            return Verdict::Queued;
        }
        let number = self.flow_of(packet, context.now);
        let (flow_limit, quantum) = (self.config.flow_limit, i64::from(self.config.quantum));
        let refill = self.config.refill_delay.as_nanos().div_ceil(JIFFY_NS);
        let flow = self.flow(number);
        if flow.queue.packets() >= flow_limit {
            context.drop(packet, Cause::FlowLimit);
            return Verdict::Dropped;
        }
        if let Place::Detached(since) = flow.place {
            if jiffies(context.now) > since + refill {
                flow.credit = flow.credit.max(quantum);
            }
            self.append(number, true);
        }
        let flow = self.flow(number);
        flow.band = band;
        let (was_empty, throttled) = (flow.queue.is_empty(), flow.place == Place::Throttled);
        self.eligible += u32::from(was_empty && !throttled);
        self.bands[band].packets += 1;
        let flow = self.flows[number as usize].as_mut().expect("made above");
        self.store.push(&mut flow.queue, packet, context.now);
        Verdict::Queued
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Option<Packet> {
        self.watchdog.cancel();
        if let Some(waiting) = self.store.pop_front(&mut self.fast) {
            return Some(waiting.packet);
        }
        if self.store.backlog().packets == 0 {
            return None;
        }
        let now = context.now;
        self.release(now);
        loop {
            let Some(band) = self.select() else {
                self.watchdog.schedule(self.next_throttled);
                return None;
            };
            let Band { new, old, .. } = &mut self.bands[band];
            let (list, is_new) = if new.is_empty() { (old, false) } else { (new, true) };
            let number = list.first()?;
            let flow = self.flows[number as usize].as_mut().expect("a listed flow exists");
            if flow.credit <= 0 {
                flow.credit += i64::from(self.config.quantum);
                self.links.remove(list, number);
                self.append(number, false);
                continue;
            }
            let Some(head) = self.store.front(&flow.queue) else {
                self.links.remove(list, number);
                if is_new {
                    self.append(number, false);
                } else {
                    flow.place = Place::Detached(jiffies(now) | 1);
                }
                continue;
            };
            let may_go = flow.next_packet.map_or(head.since, |at| at.max(head.since));
            if now < may_go {
                self.links.remove(list, number);
                self.throttle(number, may_go);
                continue;
            }
            let mut packet = self.store.pop_front(&mut flow.queue)?.packet;
            if self.config.ce_threshold.is_some_and(|threshold| now.since(may_go) > threshold) {
                packet.mark();
            }
            self.eligible -= u32::from(flow.queue.is_empty());
            flow.credit -= i64::from(packet.bytes);
            self.bands[band].credit -= i64::from(packet.bytes);
            let own = self.band_of(packet);
            self.bands[own].packets -= 1;
            self.pace(number, packet.bytes, now);
            return Some(packet);
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.watchdog.next_event()
    }

    fn on_event(&mut self, context: &mut Context<'_>) -> Wake {
        self.watchdog.on_event(context.now)
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }

    fn withdraw(&mut self, affected: Affected<'_>, out: &mut Vec<Packet>) {
        self.store.withdraw(&mut self.fast, affected, out);
        let of_flows = out.len();
        for flow in self.flows.iter_mut().flatten().filter(|flow| !flow.queue.is_empty()) {
            self.store.withdraw(&mut flow.queue, affected, out);
            self.eligible -= u32::from(flow.queue.is_empty() && flow.place == Place::Listed);
        }
        for &packet in &out[of_flows..] {
            let band = self.band_of(packet);
            self.bands[band].packets -= 1;
        }
    }
}
