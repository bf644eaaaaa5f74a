//! DualPI2: K. De Schepper, B. Briscoe and G. White, "Dual-Queue Coupled Active Queue Management for L4S", RFC 9332,
//! 2023.
//!
//! Two queues: L for packets whose ECN field says L4S, C for all others. One base probability p' by a PI controller on
//! the greater of the two delays; C is dropped or marked with p'², L marked with k p' or by its own threshold.
//!
//! `variant = "linux"` (Linux 6.18):
//! - p' has 32 bits, the gains whole units, and both probabilities are rolled with random numbers;
//! - L's own threshold is a step on the sojourn or on the number of packets;
//! - nothing is dropped or marked by p' while fewer than two MTUs wait in both queues.
//!
//! `variant = "rfc"` (appendix A.1 and A.2, in real numbers and seconds):
//! - probabilities accumulate and hit when they pass 1 (`recur()`): no random numbers;
//! - L's own AQM is a ramp over the sojourn, unless nothing else waits in L;
//! - C drops what carries ECN once p'² reaches 1/k²; L then drops with p'², marking the rest.
//!
//! Both take turns by weighted credit (RFC 9332 §4.1.2 leaves the scheduler open): L goes first while its credit lasts.

use crate::error::within;
use crate::packet::MEMORY_OVERHEAD_BYTES;
use crate::store::{Queue, Store, Waiting};
use crate::{
    Affected, Backlog, Cause, ConfigError, Context, DEVICE_MTU_BYTES, Discipline, Ecn, Packet, Parameters, Random,
    Variant, Verdict, Wake,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Time};

/// From when on L marks packets by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Every packet whose sojourn is above this, at most 4.29 s (tc `step_thresh`: 1 ms).
    Sojourn(Duration),
    /// Every packet that leaves more than so many behind (tc `step_thresh`, in packets).
    Packets(u32),
    /// None up to a sojourn of `from`, all from `from + range` on, evenly between; `variant = "rfc"` only (RFC 9332
    /// appendix A.1: from 800 us over 400 us). A packet that leaves nothing behind is never marked.
    Ramp { from: Duration, range: Duration },
}

/// Parameters of DualPI2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DualPi2Config {
    pub variant: Variant,
    /// Packets that may wait in both queues, at least 1 (tc: 10000).
    pub limit: u32,
    /// Memory that waiting packets may take, bytes, 256 B more than its size each (tc: two MTUs per packet of `limit`).
    #[serde(with = "crate::sizes::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Bytes>")]
    pub memory_limit: Option<u64>,
    /// Delay to keep to in C, at most 10 s (RFC 9332 appendix A.1: 15 ms).
    pub target: Duration,
    /// Time between updates of p', 1 µs to 4.29 s (tc: 16 ms).
    pub update: Duration,
    /// Gain of the distance from target, in 256ths per second, 1 to 2³¹ − 1 (tc: 41, which is 0.16 Hz).
    pub alpha: u32,
    /// Gain of the trend, in 256ths per second, 1 to 2³¹ − 1 (tc: 819, which is 3.2 Hz).
    pub beta: u32,
    /// k, by which L's probability is above p', 1 to 255 (RFC 9332 §2.1: 2).
    pub coupling: u8,
    /// L's own threshold; without one the variant's: `linux` a step at 1 ms, `rfc` the ramp of appendix A.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// L's own threshold holds for packets that found at least so many in L (tc `min_qlen_step`: 0).
    pub min_qlen_step: u32,
    /// Weight of C when both wait, per cent, 0 to 100 (tc: 10).
    pub c_protection: u8,
    /// ECN codepoints, masked, that go to L: 1 takes ECT(1) and CE, 3 all but Not-ECT.
    pub ecn_mask: u8,
    /// When L's probability passes 1, drop from both queues as classic packets; otherwise mark until the queue is full.
    pub drop_overload: bool,
    /// Decide at enqueue instead of at dequeue; `variant = "linux"` only.
    pub drop_early: bool,
    /// Two of these must wait before p' hits anything: the device's MTU and link header.
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub mtu: u32,
}

impl Default for DualPi2Config {
    fn default() -> DualPi2Config {
        DualPi2Config {
            variant: Variant::Linux,
            limit: 10_000,
            memory_limit: None,
            target: Duration::from_millis(15),
            update: Duration::from_millis(16),
            alpha: 41,
            beta: 819,
            coupling: 2,
            step: None,
            min_qlen_step: 0,
            c_protection: 10,
            ecn_mask: 1,
            drop_overload: true,
            drop_early: false,
            mtu: DEVICE_MTU_BYTES,
        }
    }
}

impl DualPi2Config {
    fn step(&self) -> Step {
        let default = match self.variant {
            Variant::Linux => Step::Sojourn(Duration::from_millis(1)),
            Variant::Rfc => Step::Ramp { from: Duration::from_micros(800), range: Duration::from_micros(400) },
        };
        self.step.unwrap_or(default)
    }

    fn memory_limit(&self) -> u64 {
        let default = (u64::from(self.limit) * 2 * u64::from(self.mtu)).min(u64::from(u32::MAX));
        self.memory_limit.unwrap_or(default)
    }
}

impl Parameters for DualPi2Config {
    fn check(&self) -> Result<(), ConfigError> {
        within("limit", self.limit, 1..=u32::MAX)?;
        within("memory_limit", self.memory_limit(), 1..=u64::from(u32::MAX))?;
        within("target (ns)", self.target.as_nanos(), 0..=10_000_000_000)?;
        within("update (ns)", self.update.as_nanos(), 1000..=u64::from(u32::MAX))?;
        within("alpha", self.alpha, 1..=(1 << 31) - 1)?;
        within("beta", self.beta, 1..=(1 << 31) - 1)?;
        within("coupling", self.coupling, 1..=u8::MAX)?;
        within("c_protection", self.c_protection, 0..=100)?;
        within("ecn_mask", self.ecn_mask, 1..=3)?;
        match self.step() {
            Step::Sojourn(step) => within("step (ns)", step.as_nanos(), 0..=u64::from(u32::MAX))?,
            Step::Packets(_) => {}
            Step::Ramp { from, range } => {
                if self.variant == Variant::Linux {
                    return Err(ConfigError::new("step", "ramp", "the kernel has a step only; use variant = \"rfc\""));
                }
                within("step.from (ns)", from.as_nanos(), 0..=u64::from(u32::MAX))?;
                within("step.range (ns)", range.as_nanos(), 1..=u64::from(u32::MAX))?;
            }
        }
        if self.variant == Variant::Rfc && self.drop_early {
            return Err(ConfigError::new("drop_early", true, "RFC 9332 decides at dequeue; use variant = \"linux\""));
        }
        within("mtu", self.mtu, 1..=1 << 16)
    }

    fn build(&self, now: Time) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(DualPi2::new(self.clone(), now)))
    }

    fn marks(&self) -> bool {
        true
    }

    fn unread(&self, can_mark: bool) -> Vec<&'static str> {
        // Nothing goes to L.
        if can_mark { Vec::new() } else { vec!["step", "min_qlen_step", "c_protection", "ecn_mask"] }
    }
}

/// The kernel's probability 1.
const MAX_PROB: u32 = u32::MAX;
/// The kernel's gains: 256ths per second become units of 64 ns, products are shifted back.
const GAIN_SHIFT: u32 = 2;
const DELTA_SHIFT: u32 = 6;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// p' times 2³² − 1, as the kernel computes it.
#[derive(Clone, Debug, Default)]
struct LinuxPi {
    prob: u32,
    /// Nanoseconds.
    delay_before: i64,
}

/// The kernel's scaled gain.
fn gain(of_256: u32) -> i64 {
    (((u64::from(of_256) * u64::from(MAX_PROB)) >> GAIN_SHIFT) / NANOS_PER_SECOND) as i64
}

impl LinuxPi {
    fn update(&mut self, config: &DualPi2Config, delay: i64) {
        let target = config.target.as_nanos() as i64;
        let delta = (delay - target)
            .wrapping_mul(gain(config.alpha))
            .wrapping_add((delay - self.delay_before).wrapping_mul(gain(config.beta)));
        self.delay_before = delay;
        // 32 bits, wrapping: the kernel takes a jump that wraps past the old value as it stands.
        let step = (delta.unsigned_abs() >> DELTA_SHIFT) as u32;
        let old = self.prob;
        self.prob = if delta > 0 {
            let new = old.wrapping_add(step);
            if new < old { MAX_PROB } else { new }
        } else {
            let new = old.wrapping_sub(step);
            if new > old { 0 } else { new }
        };
        if !config.drop_overload {
            self.prob = self.prob.min(MAX_PROB / u32::from(config.coupling));
        }
    }
}

/// p' as appendix A.2 has it.
#[derive(Clone, Debug, Default)]
struct RfcPi {
    prob: f64,
    delay_before: f64,
    /// What L and C accumulated in `recur()`.
    l_count: f64,
    c_count: f64,
}

/// RFC 9332 appendix A.1: true with the likelihood given, evenly spread.
fn recur(count: &mut f64, likelihood: f64) -> bool {
    *count += likelihood;
    let hit = *count > 1.0;
    if hit {
        *count -= 1.0;
    }
    hit
}

impl RfcPi {
    fn update(&mut self, config: &DualPi2Config, delay_s: f64) {
        let hz = |of_256: u32| f64::from(of_256) / 256.0;
        let away = delay_s - config.target.as_secs_f64();
        self.prob += hz(config.alpha) * away + hz(config.beta) * (delay_s - self.delay_before);
        self.delay_before = delay_s;
        let most = if config.drop_overload { 1.0 } else { 1.0 / f64::from(config.coupling) };
        self.prob = self.prob.clamp(0.0, most);
    }
}

impl Step {
    /// The probability with which L marks by itself a packet that waited for `sojourn` and leaves `behind` packets.
    fn probability(self, sojourn: Duration, behind: u32) -> f64 {
        match self {
            Step::Sojourn(step) => f64::from(u8::from(sojourn > step)),
            Step::Packets(step) => f64::from(u8::from(behind > step)),
            Step::Ramp { .. } if behind == 0 => 0.0,
            Step::Ramp { from, range } => {
                (sojourn.saturating_sub(from).as_nanos() as f64 / range.as_nanos() as f64).min(1.0)
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Pi {
    Linux(LinuxPi),
    Rfc(RfcPi),
}

/// The decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Pass,
    Mark,
    Drop,
}

/// True with the probability `prob` / (2³² − 1).
fn roll(prob: u32, random: &mut dyn Random) -> bool {
    random.bits32() <= prob
}

impl Pi {
    fn decide(
        &mut self,
        config: &DualPi2Config,
        packet: Packet,
        is_l: bool,
        own: f64,
        random: &mut dyn Random,
    ) -> Decision {
        let not_ect = packet.ecn == Ecn::NotEct;
        match self {
            Pi::Linux(pi) => {
                let prob = pi.prob;
                let coupled = u64::from(prob) * u64::from(config.coupling);
                let overload = coupled > u64::from(MAX_PROB);
                let mut squared = || roll(prob, &mut *random) && roll(prob, &mut *random);
                match (is_l, overload) {
                    (false, _) if !squared() => Decision::Pass,
                    (false, _) if overload || not_ect => Decision::Drop,
                    (false, _) => Decision::Mark,
                    (true, true) if config.drop_overload && squared() => Decision::Drop,
                    (true, true) => Decision::Mark,
                    (true, false) if roll(coupled as u32, random) => Decision::Mark,
                    (true, false) => Decision::Pass,
                }
            }
            Pi::Rfc(pi) => {
                let (squared, coupled) = (pi.prob * pi.prob, pi.prob * f64::from(config.coupling));
                if !is_l {
                    let most = 1.0 / (f64::from(config.coupling) * f64::from(config.coupling));
                    return match recur(&mut pi.c_count, squared) {
                        false => Decision::Pass,
                        true if not_ect || squared >= most => Decision::Drop,
                        true => Decision::Mark,
                    };
                }
                if coupled < 1.0 {
                    let hit = recur(&mut pi.l_count, own.max(coupled));
                    return if hit { Decision::Mark } else { Decision::Pass };
                }
                let drop = config.drop_overload && recur(&mut pi.l_count, squared);
                if drop { Decision::Drop } else { Decision::Mark }
            }
        }
    }
}

/// The discipline `dualpi2`.
#[derive(Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    step: Step,
    memory_limit: u64,
    store: Store,
    l: Queue,
    c: Queue,
    memory: u64,
    pi: Pi,
    next_update: Time,
    /// Above 0: C's turn, when both wait.
    credit: i64,
}

impl DualPi2 {
    pub fn new(config: DualPi2Config, now: Time) -> DualPi2 {
        let pi = match config.variant {
            Variant::Linux => Pi::Linux(LinuxPi::default()),
            Variant::Rfc => Pi::Rfc(RfcPi::default()),
        };
        let mut made = DualPi2 {
            step: config.step(),
            memory_limit: config.memory_limit(),
            next_update: now + config.update,
            store: Store::default(),
            l: Queue::default(),
            c: Queue::default(),
            memory: 0,
            pi,
            credit: 0,
            config,
        };
        made.restore_credit();
        made
    }

    fn weights(&self) -> (i64, i64) {
        let c = i64::from(self.config.c_protection);
        (c, 100 - c)
    }

    fn restore_credit(&mut self) {
        let (c, l) = self.weights();
        self.credit = i64::from(self.config.mtu) * (c - l);
    }

    fn is_l(&self, packet: Packet) -> bool {
        packet.ecn as u8 & self.config.ecn_mask != 0
    }

    /// The next packet of either queue, whether it is L's, and what its turn does to the credit.
    fn take(&mut self) -> Option<(Waiting, bool, i64)> {
        let (c_weight, l_weight) = self.weights();
        if !self.l.is_empty() && (self.c.is_empty() || self.credit <= 0) {
            let waiting = self.store.pop_front(&mut self.l)?;
            let change = if self.c.is_empty() { 0 } else { c_weight };
            return Some((waiting, true, change * i64::from(waiting.packet.bytes)));
        }
        let waiting = self.store.pop_front(&mut self.c)?;
        let change = if self.l.is_empty() { 0 } else { -l_weight };
        Some((waiting, false, change * i64::from(waiting.packet.bytes)))
    }

    /// What p' says of a packet, in L with `own` from L's own AQM.
    fn decide(&mut self, packet: Packet, is_l: bool, own: f64, random: &mut dyn Random) -> Decision {
        // The text has no such floor for L; its ramp has one of its own.
        if self.store.backlog().bytes < 2 * u64::from(self.config.mtu) && self.config.variant == Variant::Linux {
            return Decision::Pass;
        }
        self.pi.decide(&self.config, packet, is_l, own, random)
    }

    /// What L's own AQM says of a packet of L that leaves now.
    fn own(&self, waiting: &Waiting, now: Time) -> f64 {
        if waiting.flag { self.step.probability(now.since(waiting.since), self.l.packets()) } else { 0.0 }
    }

    fn memory_of(packet: Packet) -> u64 {
        u64::from(packet.bytes) + MEMORY_OVERHEAD_BYTES
    }
}

impl Discipline for DualPi2 {
    fn enqueue(&mut self, mut packet: Packet, context: &mut Context<'_>) -> Verdict {
        let memory = Self::memory_of(packet);
        let full = self.store.backlog().packets >= u64::from(self.config.limit);
        if full || self.memory + memory > self.memory_limit {
            context.drop(packet, if full { Cause::Limit } else { Cause::Memory });
            return Verdict::Dropped;
        }
        let is_l = self.is_l(packet);
        let mut verdict = Verdict::Queued;
        if self.config.drop_early {
            match self.decide(packet, is_l, 0.0, context.random) {
                Decision::Drop => {
                    context.drop(packet, Cause::Control);
                    return Verdict::Dropped;
                }
                Decision::Mark if packet.mark() => verdict = Verdict::Marked,
                Decision::Mark | Decision::Pass => {}
            }
        }
        self.memory += memory;
        let queue = if is_l { &mut self.l } else { &mut self.c };
        let flag = is_l && queue.packets() >= self.config.min_qlen_step;
        self.store.push_flagged(queue, Waiting { packet, since: context.now, flag });
        verdict
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Option<Packet> {
        loop {
            let Some((mut waiting, is_l, credit)) = self.take() else {
                self.restore_credit();
                return None;
            };
            self.memory -= Self::memory_of(waiting.packet);
            let own = if is_l { self.own(&waiting, context.now) } else { 0.0 };
            if !self.config.drop_early {
                match self.decide(waiting.packet, is_l, own, context.random) {
                    Decision::Drop => {
                        context.drop(waiting.packet, Cause::Control);
                        continue;
                    }
                    Decision::Mark => {
                        waiting.packet.mark();
                    }
                    Decision::Pass => {}
                }
            }
            // The text combines both in one probability; the kernel's step marks besides.
            if self.config.variant == Variant::Linux && own > 0.0 {
                waiting.packet.mark();
            }
            self.credit += credit;
            return Some(waiting.packet);
        }
    }

    fn next_event(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_event(&mut self, context: &mut Context<'_>) -> Wake {
        if context.now >= self.next_update {
            self.next_update += self.config.update;
            let age = |queue| self.store.front(queue).map_or(Duration::ZERO, |head| context.now.since(head.since));
            let delay = age(&self.l).max(age(&self.c));
            match &mut self.pi {
                Pi::Linux(pi) => pi.update(&self.config, delay.as_nanos() as i64),
                Pi::Rfc(pi) => pi.update(&self.config, delay.as_secs_f64()),
            }
        }
        Wake::Nothing
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }

    fn withdraw(&mut self, affected: Affected<'_>, out: &mut Vec<Packet>) {
        let before = out.len();
        self.store.withdraw(&mut self.l, affected, out);
        self.store.withdraw(&mut self.c, affected, out);
        self.memory -= out[before..].iter().map(|&packet| Self::memory_of(packet)).sum::<u64>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference's `kernel_units`: alpha 41 -> 44, beta 819 -> 879, 60 -> 64, 1200 -> 1288.
    #[test]
    fn gains_are_scaled_as_the_kernel_does() {
        assert_eq!([41, 819, 60, 1200].map(gain), [44, 879, 64, 1288]);
    }

    /// RFC 9332 appendix A.1: p' rises by alpha (delay − target) + beta (delay − delay before), per update.
    #[test]
    fn an_update_follows_the_texts_equation() {
        let config = DualPi2Config { variant: Variant::Rfc, alpha: 64, beta: 512, ..DualPi2Config::default() };
        let mut pi = RfcPi { prob: 0.1, delay_before: 0.020, ..RfcPi::default() };
        pi.update(&config, 0.025);
        // 0.25 Hz x 10 ms + 2 Hz x 5 ms.
        assert!((pi.prob - 0.1125).abs() < 1e-12);
        // The kernel's p' after the same step differs by the rounding of its gains only.
        let start = (0.1 * f64::from(MAX_PROB)) as u32;
        let mut linux = LinuxPi { prob: start, delay_before: 20_000_000 };
        linux.update(&config, 25_000_000);
        assert!((f64::from(linux.prob) / f64::from(MAX_PROB) - 0.1125).abs() < 1e-4);
    }

    #[test]
    fn recur_hits_with_its_likelihood() {
        let mut count = 0.0;
        let hits = (0..1000).filter(|_| recur(&mut count, 0.3)).count();
        assert_eq!(hits, 299, "every 3.33rd, the first when the sum passes 1");
    }

    /// RFC 9332 appendix A.1: 0 up to 800 us, 1 from 1.2 ms on, half way at 1 ms.
    #[test]
    fn the_ramp_is_the_texts() {
        let step = DualPi2Config { variant: Variant::Rfc, ..DualPi2Config::default() }.step();
        let at = |micros, behind| step.probability(Duration::from_micros(micros), behind);
        assert_eq!(at(800, 1), 0.0);
        assert!((at(1000, 1) - 0.5).abs() < 1e-12);
        assert_eq!(at(1200, 1), 1.0);
        assert_eq!(at(5000, 0), 0.0, "one packet alone is never marked");
    }
}
