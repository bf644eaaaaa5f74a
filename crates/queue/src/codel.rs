//! CoDel: K. Nichols, V. Jacobson, A. McGregor and J. Iyengar, "Controlled Delay Active Queue Management", RFC 8289,
//! 2018.
//!
//! A packet's sojourn is the time from its arrival to its removal from the queue.
//!
//! - above: sojourn >= target while more than one MTU stays behind; "ok to drop" once that holds for an interval;
//! - on the first "ok to drop": drop the packet, then one more at each `drop_next` until a sojourn is below target;
//! - control law: drop_next += interval / sqrt(count), count = drops of this episode;
//! - an episode that begins within 16 intervals of the last starts with count = drops of the last one above its start.
//!
//! `variant = "linux"` (Linux 6.18):
//! - times are whole units of 1024 ns, rounded down;
//! - 1/sqrt(count) has 16 bits and comes from one Newton step per count, r' = r (3 − count r²) / 2: the steps after an
//!   entry are 0.5000, 0.5625, 0.4878, 0.4415 intervals, where the text has 0.7071, 0.5774, 0.5000, 0.4472;
//! - "ok to drop" needs the time to be past, not reached;
//! - an empty queue ends an episode but does not restart the interval of grace.
//!
//! With ECN a mark takes the place of a drop and ends the call: one mark per packet sent.

use crate::error::within;
use crate::store::{Queue, Store, Waiting};
use crate::{
    Affected, Backlog, Cause, ConfigError, Context, DEVICE_MTU_BYTES, Discipline, Packet, Parameters, Variant, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Time};

/// Parameters of CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CodelConfig {
    pub variant: Variant,
    /// Packets that may wait, at least 1 (tc: 1000).
    pub limit: u32,
    /// Sojourn to keep to, at most 1000 s (RFC 8289 §4.4: 5 ms).
    pub target: Duration,
    /// Time for which the sojourn may be above target, 1024 ns to 1000 s: a usual worst RTT (RFC 8289 §4.3: 100 ms).
    pub interval: Duration,
    /// Mark packets that can carry a mark instead of dropping them (tc: no for codel, yes for fq_codel).
    pub ecn: bool,
    /// Sojourn above which every packet that leaves is marked; none by default (tc `ce_threshold`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Duration>,
    /// Restricts `ce_threshold` to packets whose former TOS byte, masked, equals the selector; 0 takes all (tc
    /// `ce_threshold_selector VALUE/MASK`).
    pub ce_threshold_mask: u8,
    pub ce_threshold_selector: u8,
    /// Bytes that may stay behind without counting as a queue: the device's MTU and link header (RFC 8289 §5.3).
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub mtu: u32,
}

impl Default for CodelConfig {
    fn default() -> CodelConfig {
        CodelConfig {
            variant: Variant::Linux,
            limit: 1000,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: false,
            ce_threshold: None,
            ce_threshold_mask: 0,
            ce_threshold_selector: 0,
            mtu: DEVICE_MTU_BYTES,
        }
    }
}

/// Half of what the kernel's 32-bit clock of 1024 ns can tell from the past.
const LONGEST: Duration = Duration::from_secs(1000);

impl CodelConfig {
    /// The control law's parameters in the variant's units of time.
    pub(crate) fn control(&self) -> Control {
        let clock = |duration: Duration| clock(self.variant, duration.as_nanos());
        Control {
            variant: self.variant,
            target: clock(self.target),
            interval: clock(self.interval),
            ecn: self.ecn,
            ce_threshold: self.ce_threshold.map(clock),
            mask: self.ce_threshold_mask,
            selector: self.ce_threshold_selector,
            mtu: u64::from(self.mtu),
        }
    }
}

impl Parameters for CodelConfig {
    fn check(&self) -> Result<(), ConfigError> {
        let longest = LONGEST.as_nanos();
        within("limit", self.limit, 1..=u32::MAX)?;
        within("target (ns)", self.target.as_nanos(), 0..=longest)?;
        within("interval (ns)", self.interval.as_nanos(), 1024..=longest)?;
        within("ce_threshold (ns)", self.ce_threshold.unwrap_or(Duration::ZERO).as_nanos(), 0..=longest)
    }

    fn build(&self, _now: Time) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(CodelQueue::new(self)))
    }

    fn sees_classes(&self) -> bool {
        self.ce_threshold.is_some() && self.ce_threshold_mask != 0
    }

    fn marks(&self) -> bool {
        self.ecn || self.ce_threshold.is_some()
    }

    fn unread(&self, can_mark: bool) -> Vec<&'static str> {
        unread_of_marks(can_mark && self.marks(), self.ce_threshold.map(|_| self.ce_threshold_mask))
    }
}

/// Which of `ecn`, `ce_threshold` and what restricts it decide nothing, for this discipline and its fair variant.
/// `mask` is that of a threshold.
pub(crate) fn unread_of_marks(marks: bool, mask: Option<u8>) -> Vec<&'static str> {
    match mask {
        _ if !marks => vec!["ecn", "ce_threshold", "ce_threshold_mask", "ce_threshold_selector"],
        None => vec!["ce_threshold_mask", "ce_threshold_selector"],
        Some(0) => vec!["ce_threshold_selector"],
        Some(_) => Vec::new(),
    }
}

/// What [`CodelConfig`] says of the control law, times in the variant's units.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    variant: Variant,
    target: i64,
    interval: i64,
    ecn: bool,
    ce_threshold: Option<i64>,
    mask: u8,
    selector: u8,
    mtu: u64,
}

/// Nanoseconds in the variant's units.
fn clock(variant: Variant, nanos: u64) -> i64 {
    match variant {
        Variant::Linux => (nanos >> LINUX_CLOCK_SHIFT) as i64,
        Variant::Rfc => nanos as i64,
    }
}

/// The kernel's CODEL_SHIFT: units of 2¹⁰ ns.
const LINUX_CLOCK_SHIFT: u32 = 10;
/// Within so many intervals an episode starts from the last one's count (RFC 8289 §5.5).
const REUSE_INTERVALS: i64 = 16;
/// A `drop_next` that was never set lies so far in the past.
const NEVER: i64 = i64::MIN / 4;

/// The state of the control law for one queue.
#[derive(Clone, Debug)]
pub(crate) struct Codel {
    count: u32,
    last_count: u32,
    dropping: bool,
    /// The kernel's 16 bits of 1/sqrt(count).
    inverse_root: u16,
    first_above: Option<i64>,
    drop_next: i64,
    /// The sojourn that was last judged.
    sojourn: i64,
}

/// The queue below a [`Codel`].
pub(crate) trait Source {
    /// Takes out the head; with it the bytes that stay behind.
    fn take(&mut self) -> Option<(Waiting, u64)>;
    fn discard(&mut self, packet: Packet);
}

impl Default for Codel {
    fn default() -> Codel {
        Codel {
            count: 0,
            last_count: 0,
            dropping: false,
            inverse_root: 0,
            first_above: None,
            drop_next: NEVER,
            sojourn: 0,
        }
    }
}

/// One step of the kernel's fixed-point r' = r (3 − count r²) / 2, of which 16 bits are kept.
fn newton(root: u16, count: u32) -> u16 {
    let root = u64::from(root) << 16;
    let squared = (root * root) >> 32;
    let value = (3u64 << 32).wrapping_sub(u64::from(count) * squared) >> 2;
    (value.wrapping_mul(root) >> 31 >> 16) as u16
}

impl Codel {
    /// Drops that the limit forced: the kernel counts them (README rule 10).
    pub fn count_drops(&mut self, drops: u32) {
        self.count = self.count.wrapping_add(drops);
    }

    /// interval / sqrt(count) after `from`.
    fn law(&self, control: &Control, from: i64) -> i64 {
        from + match control.variant {
            Variant::Linux => ((control.interval as u64 * (u64::from(self.inverse_root) << 16)) >> 32) as i64,
            Variant::Rfc => (control.interval as f64 / libm::sqrt(f64::from(self.count.max(1)))) as i64,
        }
    }

    fn step(&mut self) {
        self.inverse_root = newton(self.inverse_root, self.count);
    }

    /// Judges the packet that was taken out last: may it be dropped?
    fn judge(&mut self, control: &Control, now: i64, taken: Option<&(Waiting, u64)>) -> bool {
        let Some((waiting, left)) = taken else {
            self.first_above = None;
            return false;
        };
        self.sojourn = now - clock(control.variant, waiting.since.as_nanos());
        if self.sojourn < control.target || *left <= control.mtu {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + control.interval);
                false
            }
            Some(at) => match control.variant {
                Variant::Linux => now > at,
                Variant::Rfc => now >= at,
            },
        }
    }

    /// The packet to send, after what the control law drops or marks.
    pub fn dequeue(&mut self, control: &Control, now: Time, source: &mut impl Source) -> Option<Waiting> {
        let now = clock(control.variant, now.as_nanos());
        let mut taken = source.take();
        if taken.is_none() {
            self.dropping = false;
            if control.variant == Variant::Rfc {
                self.first_above = None;
            }
            return None;
        }
        let above = self.judge(control, now, taken.as_ref());
        if self.dropping {
            if !above {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count = self.count.wrapping_add(1);
                self.step();
                let (mut waiting, left) = taken?;
                if control.ecn && waiting.packet.mark() {
                    self.drop_next = self.law(control, self.drop_next);
                    taken = Some((waiting, left));
                    break;
                }
                source.discard(waiting.packet);
                taken = source.take();
                if self.judge(control, now, taken.as_ref()) {
                    self.drop_next = self.law(control, self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if above {
            let (mut waiting, left) = taken?;
            if control.ecn && waiting.packet.mark() {
                taken = Some((waiting, left));
            } else {
                source.discard(waiting.packet);
                taken = source.take();
                self.judge(control, now, taken.as_ref());
            }
            self.enter(control, now);
        }
        let mut waiting = taken?.0;
        if self.above_threshold(control, waiting.packet) {
            waiting.packet.mark();
        }
        Some(waiting)
    }

    /// An episode begins.
    fn enter(&mut self, control: &Control, now: i64) {
        self.dropping = true;
        let delta = self.count.wrapping_sub(self.last_count);
        let recent = now - self.drop_next < REUSE_INTERVALS * control.interval;
        if delta > 1 && recent {
            self.count = delta;
            self.step();
        } else {
            self.count = 1;
            self.inverse_root = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.law(control, now);
    }

    fn above_threshold(&self, control: &Control, packet: Packet) -> bool {
        let Some(threshold) = control.ce_threshold else { return false };
        let tos = packet.class << 2 | packet.ecn as u8;
        self.sojourn > threshold && (control.mask == 0 || tos & control.mask == control.selector)
    }
}

/// The discipline `codel`.
#[derive(Debug)]
pub struct CodelQueue {
    limit: u32,
    control: Control,
    store: Store,
    queue: Queue,
    codel: Codel,
}

struct Head<'a, 'b> {
    store: &'a mut Store,
    queue: &'a mut Queue,
    context: &'a mut Context<'b>,
}

impl Source for Head<'_, '_> {
    fn take(&mut self) -> Option<(Waiting, u64)> {
        let waiting = self.store.pop_front(self.queue)?;
        Some((waiting, self.queue.bytes()))
    }

    fn discard(&mut self, packet: Packet) {
        self.context.drop(packet, Cause::Control);
    }
}

impl CodelQueue {
    pub fn new(config: &CodelConfig) -> CodelQueue {
        CodelQueue {
            limit: config.limit,
            control: config.control(),
            store: Store::default(),
            queue: Queue::default(),
            codel: Codel::default(),
        }
    }
}

impl Discipline for CodelQueue {
    fn enqueue(&mut self, packet: Packet, context: &mut Context<'_>) -> Verdict {
        if self.queue.packets() >= self.limit {
            context.drop(packet, Cause::Limit);
            return Verdict::Dropped;
        }
        self.store.push(&mut self.queue, packet, context.now);
        Verdict::Queued
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Option<Packet> {
        let now = context.now;
        let mut head = Head { store: &mut self.store, queue: &mut self.queue, context };
        self.codel.dequeue(&self.control, now, &mut head).map(|waiting| waiting.packet)
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }

    fn withdraw(&mut self, affected: Affected<'_>, out: &mut Vec<Packet>) {
        self.store.withdraw(&mut self.queue, affected, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// README rule 5: the roots after entering with count 1.
    #[test]
    fn the_kernels_inverse_root_lags_behind_the_square_root() {
        let mut root = u16::MAX;
        let mut seen = Vec::new();
        for count in 2..7 {
            root = newton(root, count);
            seen.push((f64::from(root) / 65536.0 * 1e4).round() / 1e4);
        }
        assert_eq!(seen, [0.5, 0.5625, 0.4878, 0.4415, 0.4041]);
    }

    /// RFC 8289 §4.5: the n-th drop of an episode follows its predecessor by interval / sqrt(n − 1).
    #[test]
    fn the_text_spaces_drops_by_the_square_root_of_their_number() {
        let control = CodelConfig { variant: Variant::Rfc, ..CodelConfig::default() }.control();
        for (count, interval_ms) in [(1, 100.0), (2, 70.710_678), (3, 57.735_027), (4, 50.0), (25, 20.0), (100, 10.0)] {
            let codel = Codel { count, ..Codel::default() };
            let nanos = codel.law(&control, 0) as f64;
            assert!((nanos - interval_ms * 1e6).abs() <= 1.0, "count {count}: {nanos} ns");
        }
    }
}
