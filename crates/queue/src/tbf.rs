//! Token bucket filter: tokens flow in at `rate` up to `burst` bytes; a packet goes when the bucket holds its cost.
//! With a `peak`, a second bucket of one packet bounds the rate of a burst. Linux 6.18 `sch_tbf` and its arithmetic:
//! the time of a packet is (bytes × mult) >> shift nanoseconds.

use crate::error::within;
use crate::fifo::{Fifo, FifoConfig};
use crate::watchdog::Watchdog;
use crate::{Affected, Backlog, Cause, ConfigError, Context, Discipline, Packet, Parameters, Verdict, Wake};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Rate, Time};

/// Parameters of the token bucket filter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TbfConfig {
    /// Long-term rate, at least 8 bit/s; the kernel counts whole bytes per second.
    pub rate: Rate,
    /// Bytes of the bucket, at least 1; larger packets are dropped (tc `burst`).
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub burst: u32,
    /// Bytes that may wait, at least 1 (tc `limit`).
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub limit: u64,
    /// Rate within a burst; none by default (tc `peakrate`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<Peak>,
    /// Bytes that each packet counts more than its size, at most 65535 (tc `overhead`).
    #[serde(default, with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub overhead: u16,
    /// Least bytes that a packet counts, at most 65535 (tc `mpu`).
    #[serde(default, with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub mpu: u16,
}

/// The second bucket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    /// Not below `rate`.
    pub rate: Rate,
    /// Bytes of this bucket, usually the MTU with all headers; larger packets are dropped (tc `mtu`).
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub burst: u32,
}

impl Parameters for TbfConfig {
    fn check(&self) -> Result<(), ConfigError> {
        within("rate (bit/s)", self.rate.bps(), 8..=u64::MAX / 16)?;
        within("burst", self.burst, 1..=1 << 30)?;
        within("limit", self.limit, 1..=u64::MAX / 2)?;
        let Some(peak) = &self.peak else { return Ok(()) };
        within("peak.burst", peak.burst, 1..=1 << 30)?;
        within("peak.rate (bit/s)", peak.rate.bps(), self.rate.bps()..=u64::MAX / 16)
    }

    fn build(&self, now: Time) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(Tbf::new(self, now)))
    }
}

/// The time of packets at a rate, by a multiplication.
#[derive(Clone, Copy, Debug)]
struct Cost {
    mult: u64,
    shift: u32,
    overhead: u64,
    mpu: u64,
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;

impl Cost {
    fn new(rate: Rate, config: &TbfConfig) -> Cost {
        let bytes_per_second = rate.bps() / 8;
        let (mut factor, mut shift) = (NANOS_PER_SECOND, 0);
        // The largest multiplier of 32 bits.
        while factor / bytes_per_second < 1 << 31 && factor < 1 << 63 {
            factor <<= 1;
            shift += 1;
        }
        let mult = factor / bytes_per_second;
        Cost { mult, shift, overhead: u64::from(config.overhead), mpu: u64::from(config.mpu) }
    }

    /// Nanoseconds.
    fn of(&self, bytes: u32) -> i64 {
        let bytes = (u64::from(bytes) + self.overhead).max(self.mpu);
        ((bytes * self.mult) >> self.shift) as i64
    }
}

/// A bucket; tokens and size in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    cost: Cost,
    size: i64,
    tokens: i64,
}

impl Bucket {
    fn new(rate: Rate, burst: u32, config: &TbfConfig) -> Bucket {
        let cost = Cost::new(rate, config);
        let size = cost.of(burst);
        Bucket { cost, size, tokens: size }
    }

    /// Tokens that are left `passed` nanoseconds later when `bytes` are sent; below 0 when they may not be.
    fn after(&self, passed: i64, bytes: u32) -> i64 {
        self.tokens.saturating_add(passed).min(self.size) - self.cost.of(bytes)
    }
}

/// The discipline `tbf`, over one queue bounded in bytes.
#[derive(Debug)]
pub struct Tbf {
    bucket: Bucket,
    peak: Option<Bucket>,
    largest: u32,
    child: Fifo,
    /// When the tokens were last counted: at the last packet sent.
    counted: Time,
    watchdog: Watchdog,
}

impl Tbf {
    pub fn new(config: &TbfConfig, now: Time) -> Tbf {
        Tbf {
            bucket: Bucket::new(config.rate, config.burst, config),
            peak: config.peak.as_ref().map(|peak| Bucket::new(peak.rate, peak.burst, config)),
            largest: config.peak.as_ref().map_or(config.burst, |peak| config.burst.min(peak.burst)),
            child: Fifo::new(FifoConfig::Bytes(config.limit)),
            counted: now,
            watchdog: Watchdog::default(),
        }
    }
}

impl Discipline for Tbf {
    fn enqueue(&mut self, packet: Packet, context: &mut Context<'_>) -> Verdict {
        if packet.bytes > self.largest {
            context.drop(packet, Cause::TooLarge);
            return Verdict::Dropped;
        }
        self.child.enqueue(packet, context)
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Option<Packet> {
        self.watchdog.cancel();
        let bytes = self.child.peek()?.bytes;
        // The kernel counts the time that passed only up to the size of the first bucket.
        let passed = (context.now.since(self.counted).as_nanos() as i64).min(self.bucket.size);
        let tokens = self.bucket.after(passed, bytes);
        let peak_tokens = self.peak.map_or(0, |peak| peak.after(passed, bytes));
        if tokens < 0 || peak_tokens < 0 {
            let wait = (-tokens).max(-peak_tokens) as u64;
            self.watchdog.schedule(Some(Time::from_nanos(context.now.as_nanos() + wait)));
            return None;
        }
        self.counted = context.now;
        self.bucket.tokens = tokens;
        if let Some(peak) = &mut self.peak {
            peak.tokens = peak_tokens;
        }
        self.child.dequeue(context)
    }

    fn next_event(&self) -> Option<Time> {
        self.watchdog.next_event()
    }

    fn on_event(&mut self, context: &mut Context<'_>) -> Wake {
        self.watchdog.on_event(context.now)
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

    /// The reference's `kernel_units` of its two cases.
    #[test]
    fn rates_become_the_kernels_multipliers() {
        let config = |bytes_per_second: u64, burst, mpu, overhead| TbfConfig {
            rate: Rate::from_bps(8 * bytes_per_second).unwrap(),
            burst,
            limit: 1,
            peak: None,
            overhead,
            mpu,
        };
        let plain = config(1_000_000, 60_000, 0, 0);
        let bucket = Bucket::new(plain.rate, plain.burst, &plain);
        assert_eq!((bucket.cost.mult, bucket.cost.shift, bucket.size), (4_194_304_000, 22, 60_000_000));
        let slow = config(125_003, 1600, 84, 14);
        let bucket = Bucket::new(slow.rate, slow.burst, &slow);
        assert_eq!((bucket.cost.mult, bucket.cost.shift, bucket.size), (4_194_203_339, 19, 12_911_690));
        assert_eq!(bucket.cost.of(40), bucket.cost.of(70), "40 B and 14 B of overhead count as 84 B");
    }
}
