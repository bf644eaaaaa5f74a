//! What holds of every discipline, whatever its parameters: each packet leaves once, what waits is counted, limits are
//! kept, a flow's packets stay in order, and nothing panics. Parameters, arrivals and outages are drawn.

use skyhop_base::{Duration, Rate, Stream, Time};
use skyhop_queue::blue::BlueConfig;
use skyhop_queue::cake::{CakeConfig, Isolation, Tins};
use skyhop_queue::codel::CodelConfig;
use skyhop_queue::drr::{DrrClass, DrrConfig};
use skyhop_queue::dualpi2::{DualPi2Config, Step};
use skyhop_queue::fifo::FifoConfig;
use skyhop_queue::fq::FqConfig;
use skyhop_queue::fq_codel::FqCodelConfig;
use skyhop_queue::fq_pie::FqPieConfig;
use skyhop_queue::pie::PieConfig;
use skyhop_queue::prio::PrioConfig;
use skyhop_queue::red::RedConfig;
use skyhop_queue::replay::{LinkStep, OfferedPacket, replay};
use skyhop_queue::sfq::SfqConfig;
use skyhop_queue::tbf::{Peak, TbfConfig};
use skyhop_queue::{
    Affected, Backlog, Cause, Context, Discipline, Dropped, Ecn, LinkChange, Packet, QueueSpec, Variant, Verdict, Wake,
};
use std::collections::BTreeMap;

const PACKETS: u32 = 1500;
const ROUNDS: u64 = 40;

/// Draws within bounds.
struct Dice(Stream);

impl Dice {
    fn new(seed: u64, purpose: &str) -> Dice {
        Dice(Stream::new(seed, "properties", purpose))
    }

    fn from(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.bits() % (high - low + 1)
    }

    /// Even over orders of magnitude.
    fn order(&mut self, low: u64, high: u64) -> u64 {
        let (low, high) = ((low as f64).ln(), (high as f64).ln());
        (low + self.0.uniform() * (high - low)).exp().round() as u64
    }

    fn small(&mut self, low: u32, high: u32) -> u32 {
        self.from(low.into(), high.into()) as u32
    }

    fn flag(&mut self) -> bool {
        self.0.bits() & 1 == 1
    }

    fn micros(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_micros(self.order(low, high))
    }

    fn rate(&mut self, low: u64, high: u64) -> Rate {
        Rate::from_bps(self.order(low, high)).unwrap()
    }

    fn some<T>(&mut self, make: impl FnOnce(&mut Dice) -> T) -> Option<T> {
        self.flag().then(|| make(self))
    }

    fn variant(&mut self) -> Variant {
        if self.flag() { Variant::Linux } else { Variant::Rfc }
    }
}

fn drop_tail(dice: &mut Dice) -> QueueSpec {
    let packets = FifoConfig::Packets(dice.small(1, 200));
    let bytes = FifoConfig::Bytes(dice.order(1, 200_000));
    QueueSpec::DropTail(if dice.flag() { packets } else { bytes })
}

fn blue(dice: &mut Dice) -> QueueSpec {
    QueueSpec::Blue(BlueConfig {
        limit: dice.small(1, 300),
        increase: 0.1,
        decrease: 0.01,
        freeze: dice.micros(1, 50_000),
        ecn: dice.flag(),
    })
}

fn codel(dice: &mut Dice) -> QueueSpec {
    QueueSpec::Codel(CodelConfig {
        variant: dice.variant(),
        limit: dice.small(1, 300),
        target: dice.micros(1, 50_000),
        interval: dice.micros(10, 500_000),
        ecn: dice.flag(),
        ce_threshold: dice.some(|dice| dice.micros(1, 50_000)),
        ce_threshold_mask: dice.small(0, 255) as u8,
        ce_threshold_selector: dice.small(0, 3) as u8,
        mtu: dice.small(100, 9000),
    })
}

fn fq_codel(dice: &mut Dice) -> QueueSpec {
    QueueSpec::FqCodel(FqCodelConfig {
        variant: dice.variant(),
        limit: dice.small(1, 300),
        memory_limit: dice.order(1, 1_000_000),
        flows: dice.small(1, 20),
        quantum: dice.small(256, 4000),
        drop_batch: dice.small(1, 100),
        target: dice.micros(1, 50_000),
        interval: dice.micros(10, 500_000),
        ecn: dice.flag(),
        ce_threshold: dice.some(|dice| dice.micros(1, 50_000)),
        ..FqCodelConfig::default()
    })
}

fn pie(dice: &mut Dice) -> QueueSpec {
    QueueSpec::Pie(PieConfig {
        variant: dice.variant(),
        limit: dice.small(1, 300),
        target: dice.micros(1, 100_000),
        update: dice.micros(1000, 100_000),
        alpha: dice.small(0, 32),
        beta: dice.small(0, 32),
        ecn: dice.flag(),
        ecn_limit: dice.small(0, 100),
        bytes: dice.flag(),
        departure_rate: dice.flag(),
        mtu: dice.small(100, 9000),
    })
}

fn fq_pie(dice: &mut Dice) -> QueueSpec {
    QueueSpec::FqPie(FqPieConfig {
        variant: dice.variant(),
        limit: dice.small(1, 300),
        flows: dice.small(1, 20),
        quantum: dice.small(1, 4000),
        target: dice.micros(1, 100_000),
        update: dice.micros(1000, 100_000),
        alpha: dice.small(0, 32),
        beta: dice.small(0, 32),
        ecn: dice.flag(),
        ecn_limit: dice.small(0, 100),
        bytes: dice.flag(),
        departure_rate: dice.flag(),
        ..FqPieConfig::default()
    })
}

fn dualpi2(dice: &mut Dice) -> QueueSpec {
    let variant = dice.variant();
    let step = match (dice.from(0, 3), variant) {
        (0, _) => Some(Step::Sojourn(dice.micros(1, 50_000))),
        (1, _) => Some(Step::Packets(dice.small(0, 20))),
        (2, Variant::Rfc) => Some(Step::Ramp { from: dice.micros(1, 5000), range: dice.micros(1, 5000) }),
        _ => None,
    };
    QueueSpec::DualPi2(DualPi2Config {
        variant,
        limit: dice.small(1, 300),
        memory_limit: dice.some(|dice| dice.order(1, 1_000_000)),
        target: dice.micros(1, 100_000),
        update: dice.micros(100, 100_000),
        alpha: dice.order(1, (1 << 31) - 1) as u32,
        beta: dice.order(1, (1 << 31) - 1) as u32,
        coupling: dice.small(1, 255) as u8,
        step,
        min_qlen_step: dice.small(0, 5),
        c_protection: dice.small(0, 100) as u8,
        ecn_mask: dice.small(1, 3) as u8,
        drop_overload: dice.flag(),
        drop_early: variant == Variant::Linux && dice.flag(),
        ..DualPi2Config::default()
    })
}

fn red_of(dice: &mut Dice) -> RedConfig {
    let min = dice.small(1, 50_000);
    RedConfig {
        min,
        max: min + dice.small(1, 50_000),
        probability: dice.0.uniform().max(1e-9),
        weight_log: Some(dice.small(1, 31) as u8),
        packet: dice.small(1, 65535),
        ..RedConfig::default()
    }
}

fn red(dice: &mut Dice) -> QueueSpec {
    let ecn = dice.flag();
    QueueSpec::Red(RedConfig {
        variant: dice.variant(),
        limit: dice.order(1, 200_000),
        bandwidth: dice.rate(8, 1_000_000_000),
        ecn,
        harddrop: ecn && dice.flag(),
        nodrop: ecn && dice.flag(),
        adaptive: dice.flag(),
        ..red_of(dice)
    })
}

fn tbf(dice: &mut Dice) -> QueueSpec {
    let rate = dice.rate(80_000, 100_000_000);
    QueueSpec::Tbf(TbfConfig {
        rate,
        burst: dice.order(100, 100_000) as u32,
        limit: dice.order(1, 200_000),
        peak: dice.some(|dice| Peak { rate: dice.rate(rate.bps(), 1_000_000_000), burst: dice.small(100, 3000) }),
        overhead: dice.small(0, 50) as u16,
        mpu: dice.small(0, 300) as u16,
    })
}

fn sfq(dice: &mut Dice) -> QueueSpec {
    let ecn = dice.flag();
    QueueSpec::Sfq(SfqConfig {
        limit: dice.small(2, 300),
        depth: dice.small(1, 127),
        flows: dice.small(1, 20),
        divisor: 1 << dice.from(0, 6),
        quantum: dice.small(1, 4000),
        headdrop: dice.flag(),
        perturb: if dice.flag() { dice.micros(1000, 1_000_000) } else { Duration::ZERO },
        red: dice.some(|dice| RedConfig { ecn, harddrop: ecn && dice.flag(), ..red_of(dice) }),
    })
}

fn drr(dice: &mut Dice) -> QueueSpec {
    let count = dice.from(1, 12);
    let classes = (0..count).map(|_| DrrClass { quantum: dice.small(1, 4000), limit: dice.small(1, 100) }).collect();
    QueueSpec::Drr(DrrConfig {
        classes,
        map: dice.some(|dice| (0..64).map(|_| dice.from(0, count - 1) as u16).collect()),
    })
}

fn prio(dice: &mut Dice) -> QueueSpec {
    let bands = dice.from(1, 16);
    let limits = (0..bands).map(|_| dice.small(1, 100)).collect();
    QueueSpec::Prio(PrioConfig { limits, map: (0..64).map(|_| dice.from(0, bands - 1) as u8).collect() })
}

fn fq(dice: &mut Dice) -> QueueSpec {
    QueueSpec::Fq(FqConfig {
        limit: dice.small(1, 200),
        flow_limit: dice.small(1, 100),
        quantum: dice.small(1, 4000),
        initial_quantum: dice.small(0, 20_000),
        pacing: dice.flag(),
        flow_max_rate: dice.some(|dice| dice.rate(8, 100_000_000)),
        low_rate_threshold: dice.rate(8, 10_000_000),
        refill_delay: dice.micros(1, 100_000),
        ce_threshold: dice.some(|dice| dice.micros(1, 50_000)),
        orphan_mask: dice.small(0, 1023),
        weights: [(); 3].map(|()| dice.order(1 << 15, 1 << 20) as u32),
        map: (0..16).map(|_| dice.from(0, 2) as u8).collect(),
    })
}

fn cake(dice: &mut Dice) -> QueueSpec {
    let tins = [Tins::BestEffort, Tins::DiffServ3, Tins::DiffServ4, Tins::DiffServ8, Tins::Precedence];
    let rtt = dice.micros(1000, 1_000_000);
    QueueSpec::Cake(CakeConfig {
        bandwidth: dice.some(|dice| dice.rate(500_000, 100_000_000)),
        tins: tins[dice.from(0, 4) as usize],
        isolation: if dice.flag() { Isolation::Flows } else { Isolation::None },
        rtt,
        target: dice.some(|dice| Duration::from_nanos(dice.from(50, rtt.as_nanos()))),
        overhead: dice.small(0, 320) as i32 - 64,
        mpu: dice.small(0, 256),
        memory: dice.some(|dice| dice.order(1, 300_000)),
        ..CakeConfig::default()
    })
}

/// Packets that may wait, where the discipline has one limit of packets.
fn most_packets(spec: &QueueSpec) -> Option<u64> {
    let limit = match spec {
        QueueSpec::DropTail(FifoConfig::Packets(limit)) => *limit,
        QueueSpec::Blue(config) => config.limit,
        QueueSpec::Codel(config) => config.limit,
        QueueSpec::FqCodel(config) => config.limit,
        QueueSpec::Pie(config) => config.limit,
        QueueSpec::FqPie(config) => config.limit,
        QueueSpec::DualPi2(config) => config.limit,
        QueueSpec::Sfq(config) => config.limit.min(config.depth * config.flows),
        QueueSpec::Prio(config) => config.limits.iter().sum(),
        QueueSpec::Drr(config) => config.classes.iter().map(|class| class.limit).sum(),
        _ => return None,
    };
    Some(limit.into())
}

fn most_bytes(spec: &QueueSpec) -> Option<u64> {
    match spec {
        QueueSpec::DropTail(FifoConfig::Bytes(limit)) => Some(*limit),
        QueueSpec::Red(config) => Some(config.limit),
        QueueSpec::Tbf(config) => Some(config.limit),
        QueueSpec::FqCodel(config) => Some(config.memory_limit),
        QueueSpec::Cake(config) => config.memory,
        _ => None,
    }
}

/// A discipline that is checked at every call.
struct Watched {
    inner: Box<dyn Discipline>,
    waiting: Backlog,
    most_packets: Option<u64>,
    most_bytes: Option<u64>,
    /// The last packet that left of each kind that shares a queue.
    last: BTreeMap<(u32, u8, u8), u32>,
    /// ECN as it was on arrival, by handle.
    arrived: Vec<Ecn>,
    /// Every so many arrivals a link that lost a peer takes packets out; never with 0.
    withdrawals: usize,
}

impl Watched {
    /// Some packets leave from anywhere in the queues. For the replay they are dropped.
    fn withdraw_some(&mut self, verdict: Verdict, arrived: u32, context: &mut Context<'_>) -> Verdict {
        let (before, part) = (context.dropped.len(), self.arrived.len() as u32 / 7 % 3);
        let mut out = Vec::new();
        // Whole flows, every third packet, or all.
        self.inner.withdraw(
            &mut |packet| match part {
                0 => packet.flow % 2 == 0,
                1 => packet.handle % 3 == 0,
                _ => true,
            },
            &mut out,
        );
        let itself = out.iter().any(|packet| packet.handle == arrived);
        context.dropped.extend(out.into_iter().map(|packet| Dropped { packet, cause: Cause::NoClass }));
        self.check(context, before);
        if itself { Verdict::Dropped } else { verdict }
    }

    fn leave(&mut self, packet: Packet) {
        self.waiting.packets -= 1;
        self.waiting.bytes -= u64::from(packet.bytes);
    }

    fn check(&mut self, context: &Context<'_>, drops_before: usize) {
        for at in drops_before..context.dropped.len() {
            self.leave(context.dropped[at].packet);
        }
        assert_eq!(self.inner.backlog(), self.waiting, "what waits is counted");
        if let Some(next) = self.inner.next_event() {
            assert!(next > context.now, "it asks to be called at {next:?}, but it is {:?}", context.now);
        }
    }
}

impl Discipline for Watched {
    fn enqueue(&mut self, packet: Packet, context: &mut Context<'_>) -> Verdict {
        let before = context.dropped.len();
        assert_eq!(packet.handle as usize, self.arrived.len());
        self.arrived.push(packet.ecn);
        self.waiting.packets += 1;
        self.waiting.bytes += u64::from(packet.bytes);
        let verdict = self.inner.enqueue(packet, context);
        let dropped = context.dropped[before..].iter().any(|dropped| dropped.packet.handle == packet.handle);
        assert_eq!(verdict == Verdict::Dropped, dropped, "the verdict says whether it was dropped");
        assert!(verdict != Verdict::Marked || packet.ecn != Ecn::NotEct, "Not-ECT carries no mark");
        self.check(context, before);
        assert!(self.most_packets.is_none_or(|most| self.waiting.packets <= most), "more packets wait than may");
        assert!(self.most_bytes.is_none_or(|most| self.waiting.bytes <= most), "more bytes wait than may");
        if self.withdrawals > 0 && self.arrived.len().is_multiple_of(self.withdrawals) {
            return self.withdraw_some(verdict, packet.handle, context);
        }
        verdict
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Option<Packet> {
        let before = context.dropped.len();
        let packet = self.inner.dequeue(context);
        if let Some(packet) = packet {
            self.leave(packet);
            let ecn = self.arrived[packet.handle as usize];
            assert_eq!(packet.marked, packet.ecn != ecn, "marked is what the discipline changed");
            let last = self.last.insert((packet.flow, ecn as u8, packet.class), packet.handle);
            assert!(last.is_none_or(|last| last < packet.handle), "packets of a flow stay in order");
        }
        self.check(context, before);
        if packet.is_none() && self.waiting.packets > 0 {
            assert!(self.inner.next_event().is_some(), "what holds packets says when to ask again");
        }
        packet
    }

    fn next_event(&self) -> Option<Time> {
        self.inner.next_event()
    }

    fn on_event(&mut self, context: &mut Context<'_>) -> Wake {
        let before = context.dropped.len();
        let wake = self.inner.on_event(context);
        self.check(context, before);
        wake
    }

    fn on_link(&mut self, change: LinkChange, context: &mut Context<'_>) {
        self.inner.on_link(change, context);
    }

    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }

    fn withdraw(&mut self, affected: Affected<'_>, out: &mut Vec<Packet>) {
        self.inner.withdraw(affected, out);
        assert_eq!(self.inner.backlog(), Backlog::default(), "nothing waits after a drain");
    }
}

fn arrivals(dice: &mut Dice) -> Vec<OfferedPacket> {
    let (flows, gap_us) = (dice.small(1, 40), dice.order(100, 3000));
    let mut at = Time::ZERO;
    let mut list = Vec::new();
    for handle in 0..PACKETS {
        // Bursts, and pauses long enough that every average decays.
        at += match dice.from(0, 99) {
            0 => Duration::from_millis(dice.from(0, 900)),
            1..50 => Duration::ZERO,
            _ => Duration::from_nanos(dice.from(0, 2000 * gap_us)),
        };
        let packet = Packet {
            handle,
            flow: dice.small(0, flows - 1),
            bytes: dice.small(40, 1514),
            ecn: Ecn::from_codepoint(dice.from(0, 3) as u8).unwrap(),
            class: dice.small(0, 63) as u8,
            marked: false,
        };
        list.push(OfferedPacket { at, packet });
    }
    list
}

fn schedule(dice: &mut Dice, end: Time) -> Vec<LinkStep> {
    let mut steps = vec![LinkStep { at: Time::ZERO, rate: Some(dice.rate(1_000_000, 100_000_000)) }];
    let mut at = Time::ZERO;
    while at < end {
        at += Duration::from_millis(dice.from(1, 900));
        steps.push(LinkStep { at, rate: dice.some(|dice| dice.rate(1_000_000, 100_000_000)) });
    }
    steps
}

/// Runs the discipline with drawn parameters.
fn holds(make: fn(&mut Dice) -> QueueSpec) {
    for seed in 0..ROUNDS {
        let mut dice = Dice::new(seed, "parameters");
        let spec = make(&mut dice);
        let arrivals = arrivals(&mut Dice::new(seed, "arrivals"));
        let last = arrivals.last().unwrap().at;
        let schedule = schedule(&mut Dice::new(seed, "link"), last);
        // Half of the runs end amid the arrivals, with packets waiting.
        let end = if seed % 2 == 0 { last + Duration::from_secs(5) } else { Time::from_nanos(last.as_nanos() / 2) };
        let inner = spec.build(Time::ZERO).unwrap_or_else(|error| panic!("{spec:?}: {error}"));
        let mut watched = Watched {
            inner,
            waiting: Backlog::default(),
            most_packets: most_packets(&spec),
            most_bytes: most_bytes(&spec),
            last: BTreeMap::new(),
            arrived: Vec::new(),
            withdrawals: [0, 7, 50][seed as usize % 3],
        };
        let outcomes = replay(&mut watched, &arrivals, &schedule, end, &mut Stream::new(seed, "properties", "draws"));
        assert_eq!(outcomes.len(), arrivals.len());
    }
}

macro_rules! every_discipline {
    ($($name:ident),+) => {$(
        mod $name {
            #[test]
            fn keeps_count_order_and_limits_whatever_its_parameters() {
                super::holds(super::$name);
            }
        }
    )+};
}

every_discipline!(drop_tail, codel, fq_codel, pie, fq_pie, dualpi2, red, tbf, sfq, drr, prio, fq, cake, blue);

/// A configuration as a scenario would write it, and back.
#[test]
fn specs_are_read_as_they_are_written() {
    let dice = &mut Dice::new(1, "files");
    for make in [drop_tail, codel, fq_codel, pie, fq_pie, dualpi2, red, tbf, sfq, drr, prio, fq, cake, blue] {
        let mut spec = make(dice);
        // Text holds real numbers to the last bit, rates and times in their own units.
        if let QueueSpec::Red(config) = &mut spec {
            config.probability = 0.1;
        }
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<QueueSpec>(&text).unwrap(), spec, "{text}");
    }
}

#[test]
fn what_cannot_be_is_named() {
    let problem = |spec: QueueSpec| spec.build(Time::ZERO).err().expect("it cannot be").to_string();
    assert_eq!(
        problem(QueueSpec::DropTail(FifoConfig::Packets(0))),
        "packets = 0 is out of range: it must be 1 to 4294967295"
    );
    let sfq = SfqConfig { divisor: 1000, ..SfqConfig::default() };
    assert_eq!(problem(QueueSpec::Sfq(sfq)), "divisor = 1000 is out of range: it must be a power of two");
    let dualpi2 = DualPi2Config { variant: Variant::Rfc, drop_early: true, ..DualPi2Config::default() };
    assert!(problem(QueueSpec::DualPi2(dualpi2)).contains("RFC 9332 decides at dequeue"));
}
