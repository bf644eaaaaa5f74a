//! CAKE: T. Høiland-Jørgensen, D. Täht and J. Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for
//! Home Gateways", LANMAN 2018. Linux 6.18 `sch_cake` without hosts, ACK filter and ingress mode.
//!
//! - Shaper: virtual time; a packet may go when the time of the last ones, at the rate and with overhead, is over.
//! - Tins by DSCP, each with a share of the rate up to which it has priority.
//! - In a tin, flows by deficit round robin; flows that were idle go first, and flows whose control has not come to
//!   rest before them, once per call.
//! - Per flow COBALT (`cobalt.rs`); marks go to what can carry them, always.
//! - When the memory is full, the longest queue loses its head.
//!
//! Where the kernel leaves the paper: rule 33 of the reference's README.

use crate::cobalt::{Cobalt, Control, Decision};
use crate::error::within;
use crate::heap::Longest;
use crate::list::{Links, List};
use crate::packet::MEMORY_OVERHEAD_BYTES;
use crate::store::{Queue, Store, Waiting};
use crate::watchdog::Watchdog;
use crate::{
    Affected, Backlog, Cause, ConfigError, Context, DEVICE_MTU_BYTES, Discipline, Packet, Parameters, Random, Verdict,
    Wake,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Rate, Time};

/// How packets are sorted by DSCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tins {
    /// One tin.
    BestEffort,
    /// Best effort, bulk, voice.
    #[default]
    DiffServ3,
    /// Best effort, bulk, video, voice.
    DiffServ4,
    /// Eight tins by the usual classes.
    DiffServ8,
    /// Eight tins by the DSCP's upper three bits.
    Precedence,
}

/// Whose packets share a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// Each flow has a queue (tc `flows`).
    #[default]
    Flows,
    /// All share one (tc `flowblind`).
    None,
}

/// Parameters of CAKE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CakeConfig {
    /// The shaper's rate, at least 512 bit/s; none by default: the link shapes. The kernel counts whole bytes a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Rate>,
    pub tins: Tins,
    pub isolation: Isolation,
    /// Time for which the sojourn may be above target: a usual RTT, 1 µs to 4 s (tc: 100 ms).
    pub rtt: Duration,
    /// Sojourn to keep to, at most `rtt`; a twentieth of `rtt` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Duration>,
    /// Bytes that the link adds to a packet, −64 to 256.
    pub overhead: i32,
    /// Least bytes that a packet counts, 0 to 256.
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub mpu: u32,
    /// Memory that waiting packets may take, bytes, 256 B more than its size each; by default four times the rate times
    /// `rtt`, at least 4 MiB, and without a shaper 10240 MTUs.
    #[serde(with = "crate::sizes::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Bytes>")]
    pub memory: Option<u64>,
    /// The device's MTU and link header.
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub mtu: u32,
}

impl Default for CakeConfig {
    fn default() -> CakeConfig {
        CakeConfig {
            bandwidth: None,
            tins: Tins::default(),
            isolation: Isolation::default(),
            rtt: Duration::from_millis(100),
            target: None,
            overhead: 0,
            mpu: 0,
            memory: None,
            mtu: DEVICE_MTU_BYTES,
        }
    }
}

/// The kernel multiplies intervals in 32 bits of nanoseconds.
const LONGEST_RTT_NS: u64 = 4_000_000_000;
/// The kernel's `sch->limit`, packets.
const DEVICE_PACKETS: u64 = 10_240;
const LEAST_MEMORY: u64 = 4 << 20;

impl CakeConfig {
    fn target(&self) -> Duration {
        self.target.unwrap_or(Duration::from_nanos(self.rtt.as_nanos() / 1000 / 20 * 1000))
    }

    fn bytes_per_second(&self) -> u64 {
        self.bandwidth.map_or(0, |rate| rate.bps() / 8)
    }

    fn memory_limit(&self) -> u64 {
        let shaped = self.bytes_per_second() * (self.rtt.as_nanos() / 1000) / 250_000;
        let default = if self.bandwidth.is_some() { shaped.max(LEAST_MEMORY) } else { u64::from(u32::MAX) };
        let device = DEVICE_PACKETS * u64::from(self.mtu);
        self.memory.unwrap_or(default).min(device.max(self.memory.unwrap_or(0)))
    }

    /// The empty tins, from 0 up.
    fn tins(&self) -> Vec<Tin> {
        let rate = self.bytes_per_second();
        let eighths = |count: usize| {
            let mut share = (rate, 256);
            let mut list = Vec::new();
            for _ in 0..count {
                list.push(share);
                share = ((share.0 * 7) >> 3, (share.1 * 7) >> 3);
            }
            list
        };
        let shares = match self.tins {
            Tins::BestEffort => vec![(rate, 65535)],
            Tins::DiffServ3 => vec![(rate, 1024), (rate >> 4, 64), (rate >> 2, 256)],
            Tins::DiffServ4 => vec![(rate, 1024), (rate >> 4, 64), (rate >> 1, 512), (rate >> 2, 256)],
            Tins::DiffServ8 | Tins::Precedence => eighths(8),
        };
        shares.into_iter().map(|(rate, quantum)| Tin::new(self, rate, quantum)).collect()
    }
}

impl Parameters for CakeConfig {
    fn check(&self) -> Result<(), ConfigError> {
        if let Some(bandwidth) = self.bandwidth {
            within("bandwidth (bit/s)", bandwidth.bps(), 512..=1 << 45)?;
        }
        within("rtt (ns)", self.rtt.as_nanos(), 1000..=LONGEST_RTT_NS)?;
        within("target (ns)", self.target().as_nanos(), 50..=self.rtt.as_nanos())?;
        within("overhead", self.overhead, -64..=256)?;
        within("mpu", self.mpu, 0..=256)?;
        within("memory", self.memory_limit(), 1..=u64::from(u32::MAX))?;
        within("mtu", self.mtu, 1..=1 << 16)?;
        let longest = self.tins().iter().map(|tin| tin.control.interval).max().unwrap_or(0);
        if longest > u64::from(u32::MAX) {
            let reason = "a tin's full packet would take seconds: use fewer tins or more bandwidth";
            return Err(ConfigError::new("bandwidth", self.bytes_per_second() * 8, reason));
        }
        Ok(())
    }

    fn build(&self, _now: Time) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(Cake::new(self.clone())))
    }

    fn sees_classes(&self) -> bool {
        self.tins != Tins::BestEffort
    }

    fn marks(&self) -> bool {
        true
    }
}

/// Tins by DSCP; those not named are in the tin of best effort.
fn tin_of(tins: Tins, dscp: u8) -> usize {
    match tins {
        Tins::BestEffort => 0,
        Tins::Precedence => usize::from(dscp >> 3),
        Tins::DiffServ3 => match dscp {
            1 | 8 => 1,
            4 | 44 | 46 | 48 | 56 => 2,
            _ => 0,
        },
        Tins::DiffServ4 => match dscp {
            1 | 8 => 1,
            4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
            32 | 40 | 44 | 46 | 48 | 56 => 3,
            _ => 0,
        },
        // Background, high throughput, standard, video, low latency, shell, minimum latency, network control.
        Tins::DiffServ8 => match dscp {
            1 | 8 => 0,
            2 | 10 | 12 | 14 => 1,
            24 | 26 | 28 | 30 | 34 | 36 | 38 => 3,
            4 | 18 | 20 | 22 => 4,
            16 => 5,
            32 | 40 | 44 | 46 => 6,
            48 | 56 => 7,
            _ => 2,
        },
    }
}

/// Queues of a tin.
const QUEUES: u32 = 1024;
/// Room for tins in the tree of lengths.
const MOST_TINS: u32 = 8;
/// Times the kernel looks at the tree after an overflow before it is built anew.
const TREE_LASTS: u16 = u16::MAX;
/// A time that was never set.
const NEVER: i64 = i64::MIN / 4;

/// The kernel's time of a byte: nanoseconds times 2^shift, in 34 bits.
#[derive(Clone, Copy, Debug, Default)]
struct ByteTime {
    nanos: u64,
    shift: u32,
}

impl ByteTime {
    fn new(bytes_per_second: u64) -> ByteTime {
        const LEAST: u64 = 64;
        if bytes_per_second == 0 {
            return ByteTime::default();
        }
        let (mut nanos, mut shift) = ((1_000_000_000 << 34) / bytes_per_second.max(LEAST), 34);
        while nanos >> 34 > 0 {
            nanos >>= 1;
            shift -= 1;
        }
        ByteTime { nanos, shift }
    }

    fn of(&self, bytes: u64) -> i64 {
        ((bytes * self.nanos) >> self.shift) as i64
    }
}

/// Where a flow is, which says how it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Set {
    #[default]
    Idle,
    /// In the list of new flows.
    Sparse,
    /// Empty, sent to the round for its deficit, and still counted as sparse.
    SparseWaiting,
    /// In the round.
    Bulk,
    /// Empty; its control has not come to rest.
    Decaying,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    queue: Queue,
    cobalt: Cobalt,
    deficit: i64,
    set: Set,
}

#[derive(Clone, Debug)]
struct Tin {
    flows: Vec<Flow>,
    links: Links,
    new: List,
    old: List,
    decaying: List,
    /// Flows that are sparse or bulk: with packets, or believed to have some.
    active: u32,
    byte_time: ByteTime,
    control: Control,
    /// Bytes of credit of a flow.
    flow_quantum: u64,
    quantum: i64,
    deficit: i64,
    time_next: i64,
    backlog: u64,
}

/// One of a tin's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    New,
    Old,
    Decaying,
}

impl Tin {
    fn new(config: &CakeConfig, bytes_per_second: u64, quantum: i64) -> Tin {
        let byte_time = ByteTime::new(bytes_per_second);
        let packet_time = byte_time.of(u64::from(config.mtu)) as u64;
        let (base, rtt) = (config.target().as_nanos(), config.rtt.as_nanos());
        let target = base.max(packet_time * 3 / 2);
        let interval = (rtt + target - base).max(2 * target);
        Tin {
            flows: vec![Flow::default(); QUEUES as usize],
            links: Links::new(QUEUES),
            new: List::default(),
            old: List::default(),
            decaying: List::default(),
            active: 0,
            byte_time,
            control: Control { target, interval, packet_time },
            flow_quantum: if bytes_per_second == 0 { 1514 } else { (bytes_per_second >> 12).clamp(300, 1514) },
            quantum: quantum.max(1),
            deficit: 0,
            time_next: NEVER,
            backlog: 0,
        }
    }

    /// The links of all flows and one of the lists.
    fn list(&mut self, which: Which) -> (&mut Links, &mut List) {
        let list = match which {
            Which::New => &mut self.new,
            Which::Old => &mut self.old,
            Which::Decaying => &mut self.decaying,
        };
        (&mut self.links, list)
    }

    fn remove(&mut self, from: Which, flow: u32) {
        let (links, list) = self.list(from);
        links.remove(list, flow);
    }

    fn append(&mut self, to: Which, flow: u32) {
        let (links, list) = self.list(to);
        links.push_back(list, flow);
    }

    /// The flow to look at next.
    fn next_flow(&mut self, first_look: bool) -> Option<(u32, Which)> {
        let order = if first_look {
            [Which::Decaying, Which::New, Which::Old]
        } else {
            [Which::New, Which::Old, Which::Decaying]
        };
        order.into_iter().find_map(|which| self.list(which).1.first().map(|flow| (flow, which)))
    }

    /// A flow's credit: its quantum less one 65536th, dithered.
    fn credit(&self, random: &mut dyn Random) -> i64 {
        ((self.flow_quantum * 65535 + u64::from(random.bits16())) >> 16) as i64
    }

    /// A packet came to a flow.
    fn on_arrival(&mut self, number: u32, random: &mut dyn Random) {
        match self.flows[number as usize].set {
            set @ (Set::Idle | Set::Decaying) => {
                if set == Set::Decaying {
                    self.remove(Which::Decaying, number);
                }
                self.append(Which::New, number);
                self.active += 1;
                let credit = self.credit(random);
                let flow = &mut self.flows[number as usize];
                flow.set = Set::Sparse;
                flow.deficit = credit;
            }
            Set::SparseWaiting => self.flows[number as usize].set = Set::Bulk,
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// A flow without credit goes to the end of the round with some.
    fn refill(&mut self, number: u32, from: Which, random: &mut dyn Random) {
        let credit = self.credit(random);
        let flow = &mut self.flows[number as usize];
        if flow.set == Set::Sparse {
            flow.set = if flow.queue.is_empty() { Set::SparseWaiting } else { Set::Bulk };
        }
        flow.deficit += credit;
        self.remove(from, number);
        self.append(Which::Old, number);
    }

    /// A flow was found empty.
    fn on_empty(&mut self, number: u32, from: Which, now: i64) {
        let flow = &mut self.flows[number as usize];
        flow.cobalt.on_empty(&self.control, now);
        let rests = flow.cobalt.at_rest(now);
        self.active -= u32::from(flow.set != Set::Decaying);
        flow.set = if rests { Set::Idle } else { Set::Decaying };
        self.remove(from, number);
        if !rests {
            self.append(Which::Decaying, number);
        }
    }
}

/// The discipline `cake`.
#[derive(Debug)]
pub struct Cake {
    config: CakeConfig,
    memory_limit: u64,
    store: Store,
    tins: Vec<Tin>,
    /// The tin whose turn it is, without a shaper.
    current: usize,
    /// When the shaper lets the next packet go, and when it does so at the latest after a burst.
    time_next: i64,
    failsafe: i64,
    memory: u64,
    /// Bytes of each queue by its number in the tree.
    lengths: Vec<u64>,
    longest: Longest,
    /// Packets sent until the tree is out of date; 0: it is.
    tree_lasts: u16,
    watchdog: Watchdog,
}

fn memory_of(packet: Packet) -> u64 {
    u64::from(packet.bytes) + MEMORY_OVERHEAD_BYTES
}

/// The number of a queue in the tree of lengths.
fn tree_number(tin: usize, flow: u32) -> u32 {
    flow * MOST_TINS + tin as u32
}

impl Cake {
    pub fn new(config: CakeConfig) -> Cake {
        Cake {
            memory_limit: config.memory_limit(),
            store: Store::default(),
            tins: config.tins(),
            current: 0,
            time_next: NEVER,
            failsafe: NEVER,
            memory: 0,
            lengths: vec![0; (MOST_TINS * QUEUES) as usize],
            longest: Longest::new(MOST_TINS * QUEUES),
            tree_lasts: 0,
            watchdog: Watchdog::default(),
            config,
        }
    }

    fn is_shaped(&self) -> bool {
        self.config.bandwidth.is_some()
    }

    /// Bytes that a packet counts on the link.
    fn cost(&self, packet: Packet) -> u64 {
        let bytes = i64::from(packet.bytes) + i64::from(self.config.overhead);
        bytes.max(i64::from(self.config.mpu)) as u64
    }

    /// Takes out the head of a queue.
    fn take(&mut self, tin: usize, flow: u32) -> Option<Waiting> {
        let state = &mut self.tins[tin];
        let waiting = self.store.pop_front(&mut state.flows[flow as usize].queue)?;
        let bytes = u64::from(waiting.packet.bytes);
        state.backlog -= bytes;
        self.memory -= memory_of(waiting.packet);
        self.lengths[tree_number(tin, flow) as usize] -= bytes;
        Some(waiting)
    }

    /// The memory is full: the longest queue loses its head.
    fn overflow(&mut self, context: &mut Context<'_>) {
        let lengths = &self.lengths;
        if self.tree_lasts == 0 {
            self.longest.build(|number| lengths[number as usize]);
        }
        self.tree_lasts = TREE_LASTS;
        let number = self.longest.top();
        let (tin, flow) = ((number % MOST_TINS) as usize, number / MOST_TINS);
        let Some(waiting) = (if tin < self.tins.len() { self.take(tin, flow) } else { None }) else {
            // Out of order: built anew at the next try.
            self.tree_lasts = 0;
            return;
        };
        let state = &mut self.tins[tin];
        state.flows[flow as usize].cobalt.on_full(&state.control, context.now.as_nanos() as i64);
        context.drop(waiting.packet, Cause::Memory);
        let lengths = &self.lengths;
        self.longest.sink(number, |number| lengths[number as usize]);
    }

    /// The tin to serve.
    fn select(&mut self, now: i64) -> Option<usize> {
        if self.is_shaped() {
            let mut best: Option<(i64, usize)> = None;
            for (number, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.active > 0) {
                let wait = tin.time_next - now;
                if wait <= 0 || best.is_none_or(|(least, _)| wait <= least) {
                    best = Some((wait, number));
                }
            }
            return best.map(|(_, number)| number);
        }
        let (mut wrapped, mut empty) = (false, true);
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit >= 0 && tin.active > 0 {
                return Some(self.current);
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.quantum;
            }
            empty &= tin.active == 0;
            self.current += 1;
            if self.current == self.tins.len() {
                self.current = 0;
                if wrapped && empty {
                    return None;
                }
                wrapped = true;
            }
        }
    }

    /// Charges the shaper and the tin for a packet that leaves.
    fn charge(&mut self, tin: usize, packet: Packet, now: i64) -> i64 {
        let bytes = self.cost(packet);
        if self.is_shaped() {
            let whole = self.tins[0].byte_time.of(bytes);
            let state = &mut self.tins[tin];
            let own = state.byte_time.of(bytes);
            state.time_next =
                if state.time_next < now { state.time_next + own } else { state.time_next.max(now + own) };
            self.time_next += whole;
            self.failsafe += whole + whole / 2;
        }
        bytes as i64
    }

    /// The next packet of a flow after what COBALT drops; `None` when the flow is empty.
    fn next_of(&mut self, tin: usize, flow: u32, context: &mut Context<'_>) -> Option<Packet> {
        let now = context.now.as_nanos() as i64;
        loop {
            let mut waiting = self.take(tin, flow)?;
            if self.tree_lasts > 0 {
                let lengths = &self.lengths;
                self.longest.sink(tree_number(tin, flow), |number| lengths[number as usize]);
            }
            let sojourn = context.now.since(waiting.since).as_nanos();
            let Tin { flows, control, .. } = &mut self.tins[tin];
            let Flow { cobalt, queue, .. } = &mut flows[flow as usize];
            let decision = cobalt.judge(control, now, sojourn, &mut waiting.packet, context.random);
            if decision == Decision::Pass || queue.is_empty() {
                return Some(waiting.packet);
            }
            context.drop(waiting.packet, Cause::Control);
        }
    }
}

impl Discipline for Cake {
    fn enqueue(&mut self, packet: Packet, context: &mut Context<'_>) -> Verdict {
        let now = context.now.as_nanos() as i64;
        let tin = tin_of(self.config.tins, packet.class & 63);
        let flow = if self.config.isolation == Isolation::Flows { packet.flow % QUEUES } else { 0 };
        if self.tins[tin].backlog == 0 {
            self.tins[tin].time_next = self.tins[tin].time_next.max(now);
            if self.store.backlog().packets == 0 && self.time_next < now {
                self.time_next = now;
                self.failsafe = now;
            }
        }
        let bytes = u64::from(packet.bytes);
        self.store.push(&mut self.tins[tin].flows[flow as usize].queue, packet, context.now);
        self.tins[tin].backlog += bytes;
        self.memory += memory_of(packet);
        self.lengths[tree_number(tin, flow) as usize] += bytes;
        if self.tree_lasts > 0 {
            let lengths = &self.lengths;
            self.longest.rise(tree_number(tin, flow), |number| lengths[number as usize]);
        }
        self.tins[tin].on_arrival(flow, context.random);
        let before = context.dropped.len();
        while self.memory > self.memory_limit {
            self.overflow(context);
        }
        let itself = context.dropped[before..].iter().any(|dropped| dropped.packet.handle == packet.handle);
        if itself { Verdict::Dropped } else { Verdict::Queued }
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Option<Packet> {
        self.watchdog.cancel();
        let now = context.now.as_nanos() as i64;
        let mut first_look = true;
        while self.store.backlog().packets > 0 {
            if self.time_next > now && self.failsafe > now {
                let at = Time::from_nanos(self.time_next.min(self.failsafe) as u64);
                self.watchdog.schedule(Some(at));
                return None;
            }
            let tin = self.select(now)?;
            while let Some((flow, which)) = self.tins[tin].next_flow(first_look) {
                first_look = false;
                if self.tins[tin].flows[flow as usize].deficit <= 0 {
                    self.tins[tin].refill(flow, which, context.random);
                    continue;
                }
                let Some(packet) = self.next_of(tin, flow, context) else {
                    self.tins[tin].on_empty(flow, which, now);
                    break;
                };
                let cost = self.charge(tin, packet, now);
                self.tins[tin].flows[flow as usize].deficit -= cost;
                self.tins[tin].deficit -= cost;
                self.tree_lasts = self.tree_lasts.saturating_sub(1);
                return Some(packet);
            }
        }
        None
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

    fn memory_bytes(&self) -> u64 {
        let tins = self.tins.len() * QUEUES as usize * (size_of::<Flow>() + 2 * size_of::<u32>());
        (tins + self.lengths.len() * 2 * size_of::<u64>()) as u64
    }

    fn withdraw(&mut self, affected: Affected<'_>, out: &mut Vec<Packet>) {
        let before = out.len();
        for (number, tin) in self.tins.iter_mut().enumerate() {
            tin.backlog = 0;
            for (flow, state) in (0..).zip(&mut tin.flows) {
                self.store.withdraw(&mut state.queue, affected, out);
                tin.backlog += state.queue.bytes();
                self.lengths[tree_number(number, flow) as usize] = state.queue.bytes();
            }
        }
        self.memory -= out[before..].iter().map(|&packet| memory_of(packet)).sum::<u64>();
        self.tree_lasts = 0;
    }
}
