//! Stochastic fairness queueing: P. McKenney, "Stochastic Fairness Queuing", INFOCOMM 1990.
//!
//! Flows are hashed into `divisor` buckets; each bucket in use has a queue, and queues are served in turn with a
//! quantum of bytes. Over the limit, the queue with most packets loses its tail, or its head. Linux 6.18 `sch_sfq`:
//! among queues of equal length the one that came to that length last; a queue in use holds at most `depth` packets.
//! With `red`, each queue runs RED (without decay over idle time) besides.
//!
//! Bucket: flow modulo `divisor`; with `perturb`, a hash that is drawn anew so often.

use crate::error::within;
use crate::list::{Links, List};
use crate::red::{Action, LinuxControl, LinuxRed, RedConfig};
use crate::store::{Queue, Store, Waiting};
use crate::{
    Affected, Backlog, Cause, ConfigError, Context, DEVICE_MTU_BYTES, Discipline, Packet, Parameters, Variant, Verdict,
    Wake,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Time};

/// Parameters of SFQ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SfqConfig {
    /// Packets that may wait in all queues, at least 2; not above depth × flows (tc: 127).
    pub limit: u32,
    /// Packets that may wait in one queue, 1 to 127 (tc: 127).
    pub depth: u32,
    /// Queues in use at once, 1 to 65408; not above `divisor` or `limit` (tc: 128).
    pub flows: u32,
    /// Buckets, a power of two, 1 to 65536 (tc: 1024).
    pub divisor: u32,
    /// Bytes per turn, at least 1 (tc: the device's MTU and link header).
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub quantum: u32,
    /// Over a limit, drop the head of a queue in place of its tail.
    pub headdrop: bool,
    /// Draw a new hash so often; never when 0 (tc: 0).
    pub perturb: Duration,
    /// RED on each queue. Of its parameters `limit`, `nodrop`, `adaptive`, `bandwidth`, `idle` and `variant` must be
    /// the defaults: they have no effect here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub red: Option<RedConfig>,
}

impl Default for SfqConfig {
    fn default() -> SfqConfig {
        SfqConfig {
            limit: 127,
            depth: 127,
            flows: 128,
            divisor: 1024,
            quantum: DEVICE_MTU_BYTES,
            headdrop: false,
            perturb: Duration::ZERO,
            red: None,
        }
    }
}

/// The kernel's bounds (SFQ_MAX_DEPTH, SFQ_MAX_FLOWS).
const MOST_DEPTH: u32 = 127;
const MOST_FLOWS: u32 = 65408;

impl Parameters for SfqConfig {
    fn check(&self) -> Result<(), ConfigError> {
        within("limit", self.limit, 2..=u32::MAX)?;
        within("depth", self.depth, 1..=MOST_DEPTH)?;
        within("flows", self.flows, 1..=MOST_FLOWS)?;
        within("divisor", self.divisor, 1..=65536)?;
        if !self.divisor.is_power_of_two() {
            return Err(ConfigError::new("divisor", self.divisor, "it must be a power of two"));
        }
        within("quantum", self.quantum, 1..=1 << 30)?;
        within("perturb (ns)", self.perturb.as_nanos(), 0..=1_000_000_000 * 86_400)?;
        let Some(red) = &self.red else { return Ok(()) };
        red.check()?;
        let default = RedConfig::default();
        let unused = [
            ("red.limit", red.limit == default.limit),
            ("red.nodrop", !red.nodrop),
            ("red.adaptive", !red.adaptive),
            ("red.bandwidth", red.bandwidth == default.bandwidth),
            ("red.idle", red.idle.is_none()),
            ("red.variant", red.variant == Variant::Linux),
        ];
        match unused.iter().find(|(_, is_default)| !is_default) {
            Some((name, _)) => Err(ConfigError::new(name, "given", "it has no effect inside sfq")),
            None => Ok(()),
        }
    }

    fn build(&self, now: Time) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(Sfq::new(self, now)?))
    }

    fn marks(&self) -> bool {
        self.red.as_ref().is_some_and(|red| red.ecn)
    }

    fn unread(&self, _can_mark: bool) -> Vec<&'static str> {
        // All packets are in one bucket, whatever the hash.
        if self.divisor == 1 { vec!["quantum", "perturb"] } else { Vec::new() }
    }
}

/// A queue in use, or free.
#[derive(Clone, Debug, Default)]
struct Slot {
    queue: Queue,
    bucket: u32,
    allot: i64,
    red: LinuxRed,
}

#[derive(Debug)]
struct Red {
    control: LinuxControl,
    ecn: bool,
    harddrop: bool,
}

/// The discipline `sfq`.
#[derive(Debug)]
pub struct Sfq {
    limit: u64,
    depth: u32,
    quantum: i64,
    headdrop: bool,
    red: Option<Red>,
    store: Store,
    /// The slot of each bucket in use.
    buckets: Vec<Option<u32>>,
    slots: Vec<Slot>,
    /// Slots by their number of packets, the last to come to that number first; 0: free ones.
    by_depth: Vec<List>,
    depth_links: Links,
    longest: u32,
    /// The round: who is served next is first.
    round: List,
    round_links: Links,
    perturbation: Option<u64>,
    period: Duration,
    next_perturb: Option<Time>,
    /// Room for a rehash.
    moved: Vec<Waiting>,
}

impl Sfq {
    pub fn new(config: &SfqConfig, now: Time) -> Result<Sfq, ConfigError> {
        let most = config.flows.min(config.divisor);
        let limit = config.limit.min(config.depth * most);
        let flows = most.min(limit);
        let mut by_depth = vec![List::default(); MOST_DEPTH as usize + 1];
        let mut depth_links = Links::new(flows);
        (0..flows).for_each(|slot| depth_links.push_front(&mut by_depth[0], slot));
        let red = match &config.red {
            None => None,
            Some(red) => Some(Red { control: LinuxControl::new(red)?, ecn: red.ecn, harddrop: red.harddrop }),
        };
        Ok(Sfq {
            limit: u64::from(limit),
            depth: config.depth,
            quantum: i64::from(config.quantum),
            headdrop: config.headdrop,
            red,
            store: Store::default(),
            buckets: vec![None; config.divisor as usize],
            slots: vec![Slot::default(); flows as usize],
            by_depth,
            depth_links,
            longest: 0,
            round: List::default(),
            round_links: Links::new(flows),
            perturbation: None,
            period: config.perturb,
            next_perturb: (!config.perturb.is_zero()).then_some(now + config.perturb),
            moved: Vec::new(),
        })
    }

    fn bucket(&self, packet: Packet) -> u32 {
        let mask = self.buckets.len() as u32 - 1;
        match self.perturbation {
            None => packet.flow & mask,
            // SplitMix64's finaliser: every bit of the flow reaches every bit of the bucket.
            Some(perturbation) => {
                let mut z = u64::from(packet.flow) ^ perturbation;
                z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                (z ^ (z >> 31)) as u32 & mask
            }
        }
    }

    /// Notes that a slot has one packet more or less than `before`.
    fn relist(&mut self, slot: u32, before: u32, now: u32) {
        self.depth_links.remove(&mut self.by_depth[before as usize], slot);
        self.depth_links.push_front(&mut self.by_depth[now as usize], slot);
        if now > before {
            self.longest = self.longest.max(now);
        } else if self.longest == before && self.by_depth[before as usize].is_empty() {
            self.longest = now;
        }
    }

    /// The slot of a bucket, taken from the free ones if it has none; with it whether it was taken now.
    fn slot_of(&mut self, bucket: u32) -> Option<(u32, bool)> {
        if let Some(slot) = self.buckets[bucket as usize] {
            return Some((slot, false));
        }
        let slot = self.by_depth[0].first()?;
        self.buckets[bucket as usize] = Some(slot);
        self.slots[slot as usize].bucket = bucket;
        self.slots[slot as usize].red = LinuxRed::default();
        Some((slot, true))
    }

    fn push(&mut self, slot: u32, waiting: Waiting) {
        let Slot { queue, allot, .. } = &mut self.slots[slot as usize];
        let before = queue.packets();
        self.store.push_flagged(queue, waiting);
        if before == 0 {
            *allot = self.quantum;
            self.round_links.push_back(&mut self.round, slot);
        }
        self.relist(slot, before, before + 1);
    }

    /// An emptied slot serves no bucket and leaves the round.
    fn free(&mut self, slot: u32) {
        self.buckets[self.slots[slot as usize].bucket as usize] = None;
        self.round_links.remove(&mut self.round, slot);
    }

    /// Takes one packet out; an emptied slot is free again.
    fn take(&mut self, slot: u32, head: bool) -> Option<Waiting> {
        let queue = &mut self.slots[slot as usize].queue;
        let before = queue.packets();
        let waiting = if head { self.store.pop_front(queue) } else { self.store.pop_back(queue) }?;
        if queue.is_empty() {
            self.free(slot);
        }
        self.relist(slot, before, before - 1);
        Some(waiting)
    }

    /// What RED says to a packet that comes to a slot in use: `None` passes it, perhaps marked.
    fn red_hits(&mut self, slot: u32, packet: &mut Packet, context: &mut Context<'_>) -> bool {
        let Some(Red { control, ecn, harddrop }) = &self.red else { return false };
        let slot = &mut self.slots[slot as usize];
        slot.red.approach(control, slot.queue.bytes());
        match slot.red.act(control, context.random) {
            Action::Pass => return false,
            Action::Random if !ecn => return true,
            Action::Forced if !ecn || *harddrop => return true,
            Action::Random | Action::Forced => {}
        }
        let head = self.store.front_mut(&slot.queue).filter(|_| self.headdrop);
        !(head.is_some_and(|head| head.packet.mark()) || packet.mark())
    }

    /// One packet less: of the longest queue, or of the next in the round when all have one.
    fn shorten(&mut self, context: &mut Context<'_>) {
        let slot = if self.longest > 1 { self.by_depth[self.longest as usize].first() } else { self.round.first() };
        if let Some(waiting) = slot.and_then(|slot| self.take(slot, self.headdrop)) {
            context.drop(waiting.packet, Cause::Limit);
        }
    }

    /// Another hash: all packets are sorted anew, slot by slot.
    fn rehash(&mut self, context: &mut Context<'_>) {
        self.perturbation = Some(context.random.bits());
        let mut moved = std::mem::take(&mut self.moved);
        for slot in 0..self.slots.len() as u32 {
            while let Some(waiting) = self.take(slot, true) {
                moved.push(waiting);
            }
        }
        for waiting in moved.drain(..) {
            let bucket = self.bucket(waiting.packet);
            match self.slot_of(bucket) {
                Some((slot, _)) if self.slots[slot as usize].queue.packets() < self.depth => {
                    let state = &mut self.slots[slot as usize];
                    if let Some(red) = &self.red {
                        state.red.approach(&red.control, state.queue.bytes());
                    }
                    self.push(slot, waiting);
                }
                Some(_) => context.drop(waiting.packet, Cause::FlowLimit),
                None => context.drop(waiting.packet, Cause::NoClass),
            }
        }
        self.moved = moved;
    }
}

impl Discipline for Sfq {
    fn enqueue(&mut self, mut packet: Packet, context: &mut Context<'_>) -> Verdict {
        let bucket = self.bucket(packet);
        let Some((slot, is_new)) = self.slot_of(bucket) else {
            context.drop(packet, Cause::NoClass);
            return Verdict::Dropped;
        };
        if !is_new {
            let hit = self.red_hits(slot, &mut packet, context);
            if hit || self.slots[slot as usize].queue.packets() >= self.depth {
                let cause = if hit { Cause::Control } else { Cause::FlowLimit };
                if !self.headdrop {
                    context.drop(packet, cause);
                    return Verdict::Dropped;
                }
                // The queue keeps its length and its place in all lists.
                let queue = &mut self.slots[slot as usize].queue;
                if let Some(head) = self.store.pop_front(queue) {
                    context.drop(head.packet, cause);
                }
                self.store.push(queue, packet, context.now);
                return if packet.marked { Verdict::Marked } else { Verdict::Queued };
            }
        }
        self.push(slot, Waiting { packet, since: context.now, flag: false });
        if self.store.backlog().packets > self.limit {
            self.shorten(context);
            if context.dropped.last().is_some_and(|dropped| dropped.packet.handle == packet.handle) {
                return Verdict::Dropped;
            }
        }
        if packet.marked { Verdict::Marked } else { Verdict::Queued }
    }

    fn dequeue(&mut self, _context: &mut Context<'_>) -> Option<Packet> {
        loop {
            let slot = self.round.first()?;
            let state = &mut self.slots[slot as usize];
            if state.allot <= 0 {
                state.allot += self.quantum;
                self.round_links.remove(&mut self.round, slot);
                self.round_links.push_back(&mut self.round, slot);
                continue;
            }
            let waiting = self.take(slot, true)?;
            self.slots[slot as usize].allot -= i64::from(waiting.packet.bytes);
            return Some(waiting.packet);
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.next_perturb
    }

    fn on_event(&mut self, context: &mut Context<'_>) -> Wake {
        if let Some(at) = self.next_perturb.filter(|&at| context.now >= at) {
            self.next_perturb = Some(at + self.period);
            self.rehash(context);
        }
        Wake::Nothing
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }

    fn memory_bytes(&self) -> u64 {
        (self.slots.len() * (size_of::<Slot>() + 4 * size_of::<u32>()) + self.buckets.len() * 8) as u64
    }

    fn withdraw(&mut self, affected: Affected<'_>, out: &mut Vec<Packet>) {
        for slot in 0..self.slots.len() as u32 {
            let queue = &mut self.slots[slot as usize].queue;
            let before = queue.packets();
            self.store.withdraw(queue, affected, out);
            let left = queue.packets();
            if left == before {
                continue;
            }
            if left == 0 {
                self.free(slot);
            }
            (left..before).rev().for_each(|packets| self.relist(slot, packets + 1, packets));
        }
    }
}
