//! RED: S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM Transactions on
//! Networking 1(4), 1993; adaptive: S. Floyd, R. Gummadi and S. Shenker, "Adaptive RED", 2001.
//!
//! On each arrival the average queue moves by `weight` towards the queue; between `min` and `max` packets are dropped
//! or marked with a probability that rises to `probability`, evenly spread; above `max` all are (no gentle region).
//!
//! `variant = "linux"` (Linux 6.18 and its tc):
//! - the weight is a power of two, which tc derives from `min`, `burst` and `packet`;
//! - the average decays over idle time by tc's table, made for ticks of 64 ns, which the kernel reads in microseconds:
//!   15.6 times slower than the text has it, and in powers of 2 where the table counts powers of e;
//! - an idle queue's decay replaces the step towards the queue; idle time counts from creation;
//! - spreading: a packet is hit when (avg − min) × count reaches a random number that was drawn at the last hit.
//!
//! `variant = "rfc"`: the paper, with the same weight, in real numbers: idle time counts as arrivals of packets of
//! `packet` bytes at `bandwidth`; p_a = p_b / (1 − count p_b).

use crate::error::within;
use crate::fifo::{Fifo, FifoConfig};
use crate::{
    Affected, Backlog, Cause, ConfigError, Context, Discipline, Packet, Parameters, Random, Variant, Verdict, Wake,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Rate, Time};

/// Parameters of RED.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RedConfig {
    pub variant: Variant,
    /// Bytes that may wait, at least 1.
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub limit: u64,
    /// Average below which nothing is hit, bytes, 1 to 2²⁴.
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub min: u32,
    /// Average from which on all is hit, bytes, above `min`, at most 2²⁴.
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub max: u32,
    /// Probability at `max`, above 0 and at most 1 (tc: 0.02).
    pub probability: f64,
    /// Size of a usual packet, bytes, 1 to 65535 (tc `avpkt`: 1000).
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub packet: u32,
    /// Packets of a burst that passes, from which the weight follows, 1 to 2²⁰; by default (2 min + max) / (3 packet).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// The weight of a new sample as the exponent of 1/2, 1 to 31, in place of `burst`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_log: Option<u8>,
    /// The link's rate, by which the average decays over idle time (tc: 10 Mbit/s).
    pub bandwidth: Rate,
    /// The table by which the kernel's average decays over idle time, in place of `bandwidth`; `variant = "linux"`
    /// only.
    #[serde(skip)]
    pub idle: Option<IdleTable>,
    /// Mark packets that can carry a mark instead of dropping them.
    pub ecn: bool,
    /// Drop above `max` even what could be marked; needs `ecn`.
    pub harddrop: bool,
    /// Queue what cannot be marked instead of dropping it; needs `ecn`.
    pub nodrop: bool,
    /// Adapt `probability` every 500 ms so that the average stays in the middle of `min` and `max`.
    pub adaptive: bool,
}

impl Default for RedConfig {
    fn default() -> RedConfig {
        RedConfig {
            variant: Variant::Linux,
            limit: 400_000,
            min: 30_000,
            max: 90_000,
            probability: 0.02,
            packet: 1000,
            burst: None,
            weight_log: None,
            bandwidth: TEN_MEGABIT,
            idle: None,
            ecn: false,
            harddrop: false,
            nodrop: false,
            adaptive: false,
        }
    }
}

const TEN_MEGABIT: Rate = Rate::from_bps(10_000_000).unwrap();

/// How far an average is shifted right after an idle time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdleTable {
    /// Each entry covers 2 to the power of this microseconds, 0 to 31.
    pub cell_log: u8,
    /// 256 shifts of 0 to 31 bits.
    pub shifts: Vec<u8>,
}

impl RedConfig {
    fn burst(&self) -> u32 {
        self.burst.unwrap_or((2 * self.min + self.max) / (3 * self.packet)).max(1)
    }

    /// As tc does: the smallest weight with which `burst` packets into an empty queue do not lift the average to `min`.
    fn weight_log(&self) -> Result<u8, ConfigError> {
        if let Some(log) = self.weight_log {
            return Ok(log);
        }
        let burst = f64::from(self.burst());
        let room = burst + 1.0 - f64::from(self.min) / f64::from(self.packet);
        let fits = |log: &u8| {
            let weight = libm::pow(0.5, f64::from(*log));
            room <= (1.0 - libm::pow(1.0 - weight, burst)) / weight
        };
        let log = if room < 1.0 { None } else { (1..32).find(fits) };
        log.ok_or_else(|| ConfigError::new("burst", self.burst(), "it must be above min / packet"))
    }
}

impl Parameters for RedConfig {
    fn check(&self) -> Result<(), ConfigError> {
        within("limit", self.limit, 1..=u64::from(u32::MAX))?;
        within("max", self.max, 2..=1 << 24)?;
        within("min", self.min, 1..=self.max - 1)?;
        within("probability", self.probability, 1e-9..=1.0)?;
        within("packet", self.packet, 1..=65535)?;
        within("burst", self.burst(), 1..=1 << 20)?;
        within("weight_log", self.weight_log()?, 1..=31)?;
        if (self.harddrop || self.nodrop) && !self.ecn {
            return Err(ConfigError::new("harddrop and nodrop", true, "they say what is not marked: set ecn"));
        }
        let Some(idle) = &self.idle else { return Ok(()) };
        if self.variant == Variant::Rfc {
            return Err(ConfigError::new("idle", "a table", "the paper has none; use variant = \"linux\""));
        }
        within("idle.cell_log", idle.cell_log, 0..=31)?;
        within("idle.shifts", idle.shifts.len(), CELLS..=CELLS)?;
        within("idle.shifts", idle.shifts.iter().copied().max().unwrap_or(0), 0..=31)
    }

    fn build(&self, now: Time) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(Red::new(self, now)?))
    }

    fn marks(&self) -> bool {
        self.ecn
    }

    fn unread(&self, can_mark: bool) -> Vec<&'static str> {
        let mut unread = Vec::new();
        if self.weight_log.is_some() {
            unread.push("burst");
        }
        // `nodrop` is about what cannot be marked.
        if !(can_mark && self.ecn || self.nodrop) {
            unread.extend(["ecn", "harddrop"]);
        }
        unread
    }
}

/// Entries of the idle table.
const CELLS: usize = 256;
/// tc's clock: ticks of 64 ns in a microsecond.
const TICKS_PER_US: f64 = 15.625;
/// The largest shift.
const MOST_SHIFT: f64 = 31.0;

impl IdleTable {
    /// tc's table for a weight of 2^−`log` and packets of `packet` bytes at `bandwidth`.
    pub fn of(log: u8, packet: u32, bandwidth: Rate) -> IdleTable {
        // tc takes the rate in whole bytes per second and rounds the time up to ticks.
        let seconds = f64::from(packet) / (bandwidth.bps() / 8).max(1) as f64;
        let ticks = libm::ceil(seconds * 1e6 * TICKS_PER_US);
        let per_tick = -libm::log(1.0 - libm::pow(0.5, f64::from(log))) / ticks;
        let longest = MOST_SHIFT / per_tick;
        let cell_log = (0..31).find(|&log| longest / libm::pow(2.0, f64::from(log)) < 512.0).unwrap_or(31);
        let shift = |cell: usize| match cell {
            0 => 0,
            255 => MOST_SHIFT as u8,
            _ => (((cell as u64) << cell_log) as f64 * per_tick).min(MOST_SHIFT) as u8,
        };
        IdleTable { cell_log, shifts: (0..CELLS).map(shift).collect() }
    }
}

/// What RED's average says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Pass,
    /// Hit at random.
    Random,
    /// The average is at `max` or above.
    Forced,
}

/// The kernel's parameters.
#[derive(Clone, Debug)]
pub(crate) struct LinuxControl {
    log: u8,
    min: u32,
    max: u32,
    idle: IdleTable,
    /// 2³² × probability.
    max_p: u32,
    /// What a random number is divided by: max_p over max − min.
    divisor: u32,
}

impl LinuxControl {
    pub fn new(config: &RedConfig) -> Result<LinuxControl, ConfigError> {
        let log = config.weight_log()?;
        let max_p = (config.probability * 4_294_967_296.0).min(f64::from(u32::MAX)) as u32;
        let table = || IdleTable::of(log, config.packet, config.bandwidth);
        Ok(LinuxControl {
            log,
            min: config.min,
            max: config.max,
            idle: config.idle.clone().unwrap_or_else(table),
            max_p,
            divisor: (max_p / (config.max - config.min)).max(1),
        })
    }

    /// Every 500 ms: an additive step up, a tenth down (kernel: 1 % at most, bounds 1 % and 50 %).
    fn adapt(&mut self, average: u64) {
        const PER_CENT: u32 = 42_949_673;
        let fifth = (self.max - self.min) / 5;
        let (low, high) = (self.min + 2 * fifth, self.min + 3 * fifth);
        let average = average >> self.log;
        if average > u64::from(high) && self.max_p <= 50 * PER_CENT {
            self.max_p += PER_CENT.min(self.max_p / 4);
        } else if average < u64::from(low) && self.max_p >= PER_CENT {
            self.max_p = self.max_p / 10 * 9;
        }
        let range = self.max - self.min;
        self.divisor = ((u64::from(self.max_p) + u64::from(range / 2)) / u64::from(range)).max(1) as u32;
    }

    fn decayed(&self, average: u64, idle: Duration) -> u64 {
        let micros = (idle.as_nanos() / 1000).min(255 << self.idle.cell_log);
        let shift = self.idle.shifts[(micros >> self.idle.cell_log) as usize & (CELLS - 1)];
        if shift > 0 {
            return average >> shift;
        }
        let less = ((u128::from(average) * u128::from(micros)) >> self.idle.cell_log) as u64;
        if less < average >> 1 { average - less } else { average >> 1 }
    }
}

/// The kernel's state: the average times 2^log.
#[derive(Clone, Debug)]
pub(crate) struct LinuxRed {
    average: u64,
    /// Packets since the last hit; −1: none between the thresholds yet.
    count: i64,
    /// The random number that the next hit waits for.
    drawn: u32,
}

impl Default for LinuxRed {
    fn default() -> LinuxRed {
        LinuxRed { average: 0, count: -1, drawn: 0 }
    }
}

impl LinuxRed {
    /// Moves the average towards `backlog` bytes.
    pub fn approach(&mut self, control: &LinuxControl, backlog: u64) {
        self.average = (self.average + backlog).wrapping_sub(self.average >> control.log);
    }

    pub fn act(&mut self, control: &LinuxControl, random: &mut dyn Random) -> Action {
        let (min, max) = (u64::from(control.min) << control.log, u64::from(control.max) << control.log);
        if self.average < min {
            self.count = -1;
            return Action::Pass;
        }
        if self.average >= max {
            self.count = -1;
            return Action::Forced;
        }
        let mut draw = || random.bits32() / control.divisor;
        self.count += 1;
        if self.count == 0 {
            self.drawn = draw();
            return Action::Pass;
        }
        let above = (self.average - min) >> control.log;
        if above * self.count as u64 >= u64::from(self.drawn) {
            self.count = 0;
            self.drawn = draw();
            return Action::Random;
        }
        Action::Pass
    }
}

/// The paper's figures 2 and 3.
#[derive(Clone, Debug)]
struct PaperRed {
    weight: f64,
    min: f64,
    max: f64,
    max_p: f64,
    packet_s: f64,
    average: f64,
    count: f64,
}

impl PaperRed {
    fn new(config: &RedConfig) -> Result<PaperRed, ConfigError> {
        Ok(PaperRed {
            weight: libm::pow(0.5, f64::from(config.weight_log()?)),
            min: f64::from(config.min),
            max: f64::from(config.max),
            max_p: config.probability,
            packet_s: f64::from(config.packet) * 8.0 / config.bandwidth.bps_f64(),
            average: 0.0,
            count: -1.0,
        })
    }

    fn approach(&mut self, backlog: f64, idle: Option<Duration>) {
        match idle {
            None => self.average += self.weight * (backlog - self.average),
            Some(idle) => self.average *= libm::pow(1.0 - self.weight, idle.as_secs_f64() / self.packet_s),
        }
    }

    fn act(&mut self, random: &mut dyn Random) -> Action {
        if self.average < self.min {
            self.count = -1.0;
            return Action::Pass;
        }
        if self.average >= self.max {
            self.count = 0.0;
            return Action::Forced;
        }
        self.count += 1.0;
        let base = self.max_p * (self.average - self.min) / (self.max - self.min);
        let spread = base / (1.0 - self.count * base);
        if !(0.0..1.0).contains(&spread) || random.uniform() < spread {
            self.count = 0.0;
            return Action::Random;
        }
        Action::Pass
    }

    /// Adaptive RED, section 3: add min(1 %, p/4), or take a tenth; p stays within 1 % and 50 %.
    fn adapt(&mut self) {
        let range = self.max - self.min;
        if self.average > self.min + 0.6 * range && self.max_p <= 0.5 {
            self.max_p += (self.max_p / 4.0).min(0.01);
        } else if self.average < self.min + 0.4 * range && self.max_p >= 0.01 {
            self.max_p *= 0.9;
        }
    }
}

#[derive(Clone, Debug)]
enum Controller {
    Linux(LinuxControl, LinuxRed),
    Paper(PaperRed),
}

/// Adaptive RED, section 3: every 0.5 s.
const ADAPT: Duration = Duration::from_millis(500);

/// The discipline `red`, over one queue bounded in bytes.
#[derive(Debug)]
pub struct Red {
    ecn: bool,
    harddrop: bool,
    nodrop: bool,
    controller: Controller,
    child: Fifo,
    /// Since when the queue is known to be empty.
    idle_since: Option<Time>,
    next_adapt: Option<Time>,
}

impl Red {
    pub fn new(config: &RedConfig, now: Time) -> Result<Red, ConfigError> {
        let controller = match config.variant {
            Variant::Linux => Controller::Linux(LinuxControl::new(config)?, LinuxRed::default()),
            Variant::Rfc => Controller::Paper(PaperRed::new(config)?),
        };
        Ok(Red {
            ecn: config.ecn,
            harddrop: config.harddrop,
            nodrop: config.nodrop,
            controller,
            child: Fifo::new(FifoConfig::Bytes(config.limit)),
            idle_since: Some(now),
            next_adapt: config.adaptive.then_some(now + ADAPT),
        })
    }

    fn act(&mut self, context: &mut Context<'_>) -> Action {
        let backlog = self.child.backlog().bytes;
        let idle = self.idle_since.take().map(|since| context.now.since(since));
        match &mut self.controller {
            Controller::Linux(control, red) => {
                match idle {
                    None => red.approach(control, backlog),
                    Some(idle) => red.average = control.decayed(red.average, idle),
                }
                red.act(control, context.random)
            }
            Controller::Paper(red) => {
                red.approach(backlog as f64, idle);
                red.act(context.random)
            }
        }
    }
}

impl Discipline for Red {
    fn enqueue(&mut self, mut packet: Packet, context: &mut Context<'_>) -> Verdict {
        let action = self.act(context);
        let may_mark = self.ecn && !(action == Action::Forced && self.harddrop);
        let drop = match action {
            Action::Pass => false,
            _ if !may_mark => true,
            _ => !packet.mark() && !self.nodrop,
        };
        if drop {
            context.drop(packet, Cause::Control);
            return Verdict::Dropped;
        }
        match self.child.enqueue(packet, context) {
            Verdict::Queued if packet.marked => Verdict::Marked,
            verdict => verdict,
        }
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Option<Packet> {
        let packet = self.child.dequeue(context);
        if packet.is_none() {
            self.idle_since.get_or_insert(context.now);
        }
        packet
    }

    fn next_event(&self) -> Option<Time> {
        self.next_adapt
    }

    fn on_event(&mut self, context: &mut Context<'_>) -> Wake {
        let Some(at) = self.next_adapt.filter(|&at| context.now >= at) else { return Wake::Nothing };
        self.next_adapt = Some(at + ADAPT);
        match &mut self.controller {
            Controller::Linux(control, red) => {
                let idle = self.idle_since.map(|since| context.now.since(since));
                let average = idle.map_or(red.average, |idle| control.decayed(red.average, idle));
                control.adapt(average);
            }
            Controller::Paper(red) => red.adapt(),
        }
        Wake::Nothing
    }

    fn backlog(&self) -> Backlog {
        self.child.backlog()
    }

    fn withdraw(&mut self, affected: Affected<'_>, out: &mut Vec<Packet>) {
        self.child.withdraw(affected, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference's `kernel_units` for min, max of its cases with tc's usual burst.
    #[test]
    fn the_weight_follows_from_the_burst_as_in_tc() {
        let log = |min, max| RedConfig { min, max, ..RedConfig::default() }.weight_log().unwrap();
        assert_eq!((log(15_000, 45_000), log(10_000, 30_000)), (4, 3));
        let few = RedConfig { min: 30_000, max: 60_000, burst: Some(10), ..RedConfig::default() };
        assert!(few.check().unwrap_err().to_string().contains("above min / packet"));
    }

    /// Floyd and Jacobson, section 4: with p_a = p_b / (1 − count p_b), gaps are uniform over 1 .. 1/p_b − 1.
    #[test]
    fn the_papers_hits_are_uniformly_spread() {
        let config = RedConfig { variant: Variant::Rfc, probability: 0.1, weight_log: Some(9), ..RedConfig::default() };
        let mut red = PaperRed::new(&config).unwrap();
        let mut stream = skyhop_base::Stream::new(1, "red", "test");
        // The middle of the thresholds: p_b = 0.05, so hits are 1 to 19 packets apart, 10 on average.
        red.average = 0.5 * (red.min + red.max);
        red.count = 0.0;
        let (mut gap, mut gaps) = (0u32, Vec::new());
        for _ in 0..100_000 {
            gap += 1;
            if red.act(&mut stream) == Action::Random {
                gaps.push(f64::from(gap));
                gap = 0;
            }
        }
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!(gaps.iter().all(|&gap| gap <= 19.0));
        assert!((mean - 10.0).abs() < 0.25, "mean gap {mean} of {}", gaps.len());
    }

    /// tc counts the natural logarithm of the decay per tick of 64 ns; the kernel shifts by that per microsecond.
    /// Within the table's first cell it takes off a straight line, half of the average at most.
    #[test]
    fn the_kernels_average_decays_slower_than_the_papers() {
        let config = RedConfig { weight_log: Some(4), ..RedConfig::default() };
        let control = LinuxControl::new(&config).unwrap();
        let left = |ms| control.decayed(1 << 20, Duration::from_millis(ms));
        // The paper's factor after 500 ms, which are 625 packets of 0.8 ms: e^−40.3. The kernel's: 2^−floor(40.3 /
        // 15.6).
        let exponent = -libm::log(1.0 - 1.0 / 16.0) * 500.0 / 0.8;
        assert_eq!((exponent / TICKS_PER_US) as u32, 2);
        assert_eq!(left(500), 1 << 18);
        assert_eq!(left(4), (1 << 20) - (1 << 20) * 4000 / 16384);
        assert_eq!((left(10), left(100)), (1 << 19, 1 << 19));
    }
}
