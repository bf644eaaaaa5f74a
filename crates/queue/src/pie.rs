//! PIE: R. Pan, P. Natarajan, F. Baker and G. White, "Proportional Integral Controller Enhanced (PIE)", RFC 8033, 2017.
//!
//! Every `update`: p += α (delay − target) + β (delay − delay before), with smaller gains while p is small; packets are
//! dropped on arrival with probability p, spread by the accumulated probability (RFC 8033 §4.1, §4.2, appendix B).
//!
//! `variant = "linux"` (Linux 6.18):
//! - p has 56 bits and may exceed 1; times are ticks of 64 ns; the first update comes 500 ms after creation;
//! - the delay is the sojourn of the last packet that left (0 when it left an empty queue), so an outage is not seen;
//!   with `departure_rate` it is the backlog over the measured rate, as RFC 8033 §4.3 has it;
//! - decay by 1/64 while there is no delay, where the text has 1/50;
//! - the burst allowance is used up by the time between departures, not by updates;
//! - delay above 250 ms adds 2 % at each update (not in `rfc`).

use crate::error::within;
use crate::store::{Queue, Store, Waiting};
use crate::{
    Affected, Backlog, Cause, ConfigError, Context, DEVICE_MTU_BYTES, Discipline, Packet, Parameters, Random, Variant,
    Verdict, Wake,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Time};

/// Parameters of PIE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PieConfig {
    pub variant: Variant,
    /// Packets that may wait, at least 1 (tc: 1000).
    pub limit: u32,
    /// Delay to keep to, at most 100 s (RFC 8033 §5.1: 15 ms).
    pub target: Duration,
    /// Time between updates of the probability, 1 us to 100 s, rounded up to milliseconds by the kernel (RFC 8033 §4.2:
    /// 15 ms).
    pub update: Duration,
    /// Gain of the distance from target, in sixteenths per second, 0 to 32 (RFC 8033 §4.2: 2, which is 0.125 Hz).
    pub alpha: u32,
    /// Gain of the trend, in sixteenths per second, 0 to 32 (RFC 8033 §4.2: 20, which is 1.25 Hz).
    pub beta: u32,
    /// Mark packets that can carry a mark instead of dropping them, up to `ecn_limit` (tc: no).
    pub ecn: bool,
    /// Probability above which all are dropped, marks or not, in per cent, 0 to 100 (RFC 8033 §5.1: 10).
    pub ecn_limit: u32,
    /// Scale the probability by the packet's size over the MTU (RFC 8033 §7, optional).
    pub bytes: bool,
    /// Estimate the delay from the departure rate (RFC 8033 §4.3) instead of from sojourns.
    pub departure_rate: bool,
    /// The unit of "two packets wait" and of `bytes`: the device's MTU and link header.
    #[serde(with = "crate::sizes::one")]
    #[schemars(with = "Bytes")]
    pub mtu: u32,
}

impl Default for PieConfig {
    fn default() -> PieConfig {
        PieConfig {
            variant: Variant::Linux,
            limit: 1000,
            target: Duration::from_millis(15),
            update: Duration::from_millis(15),
            alpha: 2,
            beta: 20,
            ecn: false,
            ecn_limit: 10,
            bytes: false,
            departure_rate: false,
            mtu: DEVICE_MTU_BYTES,
        }
    }
}

impl PieConfig {
    pub(crate) fn control(&self) -> Control {
        let gain = |sixteenths: u32| (u64::from(sixteenths) * (MAX_PROB / TICKS_PER_SECOND)) >> 4;
        Control {
            variant: self.variant,
            target: (self.target.as_nanos() >> TICK_SHIFT) as i64,
            target_s: self.target.as_secs_f64(),
            update: self.update,
            alpha: gain(self.alpha),
            beta: gain(self.beta),
            alpha_hz: f64::from(self.alpha) / 16.0,
            beta_hz: f64::from(self.beta) / 16.0,
            ecn: self.ecn,
            ecn_limit: MAX_PROB / 100 * u64::from(self.ecn_limit),
            ecn_limit_share: f64::from(self.ecn_limit) / 100.0,
            bytes: self.bytes,
            departure_rate: self.departure_rate,
            mtu: u64::from(self.mtu),
        }
    }
}

impl Parameters for PieConfig {
    fn check(&self) -> Result<(), ConfigError> {
        let longest = Duration::from_secs(100).as_nanos();
        within("limit", self.limit, 1..=u32::MAX)?;
        within("target (ns)", self.target.as_nanos(), 1000..=longest)?;
        within("update (ns)", self.update.as_nanos(), 1000..=longest)?;
        within("alpha", self.alpha, 0..=32)?;
        within("beta", self.beta, 0..=32)?;
        within("ecn_limit", self.ecn_limit, 0..=100)?;
        within("mtu", self.mtu, 1..=1 << 16)
    }

    fn build(&self, now: Time) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(PieQueue::new(self, now)))
    }

    fn marks(&self) -> bool {
        self.ecn
    }

    fn unread(&self, can_mark: bool) -> Vec<&'static str> {
        if can_mark && self.ecn { Vec::new() } else { vec!["ecn", "ecn_limit"] }
    }
}

/// What [`PieConfig`] says of the controller, in both variants' units.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    pub variant: Variant,
    /// Ticks.
    target: i64,
    target_s: f64,
    update: Duration,
    alpha: u64,
    beta: u64,
    alpha_hz: f64,
    beta_hz: f64,
    ecn: bool,
    ecn_limit: u64,
    ecn_limit_share: f64,
    bytes: bool,
    departure_rate: bool,
    mtu: u64,
}

/// The kernel's psched clock: 2⁶ ns.
const TICK_SHIFT: u32 = 6;
const TICKS_PER_SECOND: u64 = 15_625_000;
/// The kernel's probability 1.
const MAX_PROB: u64 = u64::MAX >> 8;
/// RFC 8033 §4.4.
const BURST: Duration = Duration::from_millis(150);
/// Bytes over which the departure rate is measured, and the least backlog for that (RFC 8033 §4.3).
const MEASURED_BYTES: u64 = 16384;
/// The kernel's rates have eight bits of fraction.
const RATE_SHIFT: u32 = 8;
/// Delay above which the kernel adds 2 % at each update.
const LONG_DELAY_TICKS: i64 = 250_000_000 >> TICK_SHIFT;
/// The kernel starts its timer half a second after creation.
const FIRST_UPDATE: Duration = Duration::from_millis(500);

/// The controller of one queue.
#[derive(Clone, Debug)]
pub(crate) enum Pie {
    Linux(LinuxPie),
    Rfc(RfcPie),
}

impl Pie {
    pub fn new(control: &Control) -> Pie {
        match control.variant {
            Variant::Linux => Pie::Linux(LinuxPie::default()),
            Variant::Rfc => Pie::Rfc(RfcPie::default()),
        }
    }

    /// Whether a packet of `bytes` that finds `backlog` bytes is to be dropped or marked.
    pub fn hits(&mut self, control: &Control, backlog: u64, bytes: u32, random: &mut dyn Random) -> bool {
        match self {
            Pie::Linux(pie) => pie.hits(control, backlog, bytes, random),
            Pie::Rfc(pie) => pie.hits(control, backlog, bytes, random),
        }
    }

    /// Marks a packet that was hit, where that is allowed.
    pub fn mark(&self, control: &Control, packet: &mut Packet) -> bool {
        let low = match self {
            Pie::Linux(pie) => pie.prob <= control.ecn_limit,
            Pie::Rfc(pie) => pie.prob <= control.ecn_limit_share,
        };
        control.ecn && low && packet.mark()
    }

    /// Any drop begins a new accumulation.
    pub fn on_drop(&mut self) {
        match self {
            Pie::Linux(pie) => pie.accumulated = 0,
            Pie::Rfc(pie) => pie.accumulated = 0.0,
        }
    }

    /// A packet left; `backlog` bytes stay.
    pub fn on_departure(&mut self, control: &Control, now: Time, left: &Waiting, backlog: u64) {
        match self {
            Pie::Linux(pie) => pie.on_departure(control, now, left, backlog),
            Pie::Rfc(pie) => pie.on_departure(control, now, left, backlog),
        }
    }

    pub fn update(&mut self, control: &Control, backlog: u64) {
        match self {
            Pie::Linux(pie) => pie.update(control, backlog),
            Pie::Rfc(pie) => pie.update(control, backlog),
        }
    }

    /// As if new: an update with nothing waiting would change nothing.
    pub fn at_rest(&self) -> bool {
        match self {
            Pie::Linux(pie) => *pie == LinuxPie::default(),
            Pie::Rfc(pie) => *pie == RfcPie::default(),
        }
    }
}

/// The kernel's arithmetic. Times in ticks of 64 ns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinuxPie {
    prob: u64,
    accumulated: u64,
    delay: i64,
    delay_before: i64,
    burst: u64,
    /// The last departure, or the start of a measurement of the rate.
    departed: Option<u64>,
    measured: Option<u64>,
    /// Bytes per tick with [`RATE_SHIFT`] bits of fraction; 0 when not known.
    rate: u64,
}

impl Default for LinuxPie {
    fn default() -> LinuxPie {
        LinuxPie {
            prob: 0,
            accumulated: 0,
            delay: 0,
            delay_before: 0,
            burst: BURST.as_nanos() >> TICK_SHIFT,
            departed: None,
            measured: None,
            rate: 0,
        }
    }
}

impl LinuxPie {
    fn hits(&mut self, control: &Control, backlog: u64, bytes: u32, random: &mut dyn Random) -> bool {
        if self.burst > 0 || (self.delay < control.target / 2 && self.prob < MAX_PROB / 5) || backlog < 2 * control.mtu
        {
            return false;
        }
        let bytes = u64::from(bytes);
        let prob = if control.bytes && bytes <= control.mtu { bytes * (self.prob / control.mtu) } else { self.prob };
        if prob == 0 {
            self.accumulated = 0;
        } else {
            self.accumulated = self.accumulated.wrapping_add(prob);
        }
        if self.accumulated < MAX_PROB / 100 * 85 {
            return false;
        }
        if self.accumulated >= MAX_PROB / 2 * 17 {
            return true;
        }
        if random.bits() >> 8 < prob {
            self.accumulated = 0;
            return true;
        }
        false
    }

    fn on_departure(&mut self, control: &Control, now: Time, left: &Waiting, backlog: u64) {
        let now = now.as_nanos() >> TICK_SHIFT;
        let passed = if control.departure_rate {
            self.measure_rate(now, u64::from(left.packet.bytes), backlog)
        } else {
            self.delay = if backlog == 0 { 0 } else { (now - (left.since.as_nanos() >> TICK_SHIFT)) as i64 };
            self.departed.replace(now).map_or(0, |before| now - before)
        };
        self.burst = self.burst.saturating_sub(passed);
    }

    /// The time over which a measurement that ended now ran; else 0.
    fn measure_rate(&mut self, now: u64, bytes: u64, backlog: u64) -> u64 {
        if backlog >= MEASURED_BYTES && self.measured.is_none() {
            self.departed = Some(now);
            self.measured = Some(0);
        }
        let (Some(measured), Some(begin)) = (&mut self.measured, self.departed) else { return 0 };
        *measured += bytes;
        if *measured < MEASURED_BYTES || now == begin {
            return 0;
        }
        let passed = now - begin;
        // The kernel keeps this in 32 bits.
        let rate = u64::from((*measured << RATE_SHIFT) as u32) / passed;
        self.rate = if self.rate == 0 { rate } else { self.rate - (self.rate >> 3) + (rate >> 3) };
        if backlog < MEASURED_BYTES {
            self.measured = None;
        } else {
            self.measured = Some(0);
            self.departed = Some(now);
        }
        passed
    }

    fn update(&mut self, control: &Control, backlog: u64) {
        let (delay, before) = if control.departure_rate {
            self.delay_before = self.delay;
            let delay = (backlog << RATE_SHIFT).checked_div(self.rate).unwrap_or(0);
            (delay as i64, self.delay)
        } else {
            (self.delay, self.delay_before)
        };
        let mut may_decay = delay != 0 || backlog == 0;
        let (mut alpha, mut beta) = (control.alpha, control.beta);
        if self.prob < MAX_PROB / 10 {
            alpha >>= 1;
            beta >>= 1;
            let mut power = 100;
            while power <= 1_000_000 && self.prob < MAX_PROB / power {
                alpha >>= 2;
                beta >>= 2;
                power *= 10;
            }
        }
        let mut delta = (alpha as i64).wrapping_mul(delay - control.target);
        delta = delta.wrapping_add((beta as i64).wrapping_mul(delay - before));
        if delta > (MAX_PROB / 50) as i64 && self.prob >= MAX_PROB / 10 {
            delta = (MAX_PROB / 100 * 2) as i64;
        }
        if delay > LONG_DELAY_TICKS {
            delta = delta.wrapping_add((MAX_PROB / 50) as i64);
        }
        let old = self.prob;
        self.prob = old.wrapping_add_signed(delta);
        if delta > 0 && self.prob < old {
            self.prob = MAX_PROB;
            may_decay = false;
        } else if delta <= 0 && self.prob > old {
            self.prob = 0;
        }
        if delay == 0 && before == 0 && may_decay {
            self.prob -= self.prob / 64;
        }
        self.delay = delay;
        if delay < control.target / 2
            && self.delay_before < control.target / 2
            && self.prob == 0
            && (!control.departure_rate || self.rate > 0)
        {
            let calm = LinuxPie::default();
            (self.burst, self.accumulated) = (calm.burst, 0);
            (self.departed, self.measured, self.rate) = (None, None, 0);
        }
        if !control.departure_rate {
            self.delay_before = delay;
        }
    }
}

/// RFC 8033, sections 4 and 5 and the pseudocode of its appendices, in seconds and real numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RfcPie {
    prob: f64,
    accumulated: f64,
    delay: f64,
    delay_before: f64,
    burst: Duration,
    sojourn: f64,
    measured: Option<(u64, Time)>,
    /// Bytes per second; 0 when not known.
    rate: f64,
}

impl Default for RfcPie {
    fn default() -> RfcPie {
        RfcPie {
            prob: 0.0,
            accumulated: 0.0,
            delay: 0.0,
            delay_before: 0.0,
            burst: BURST,
            sojourn: 0.0,
            measured: None,
            rate: 0.0,
        }
    }
}

/// The share by which the gains shrink while the probability is small (RFC 8033 §4.2).
pub fn rfc_gain_scale(prob: f64) -> f64 {
    match prob {
        p if p < 0.000_001 => 1.0 / 2048.0,
        p if p < 0.000_01 => 1.0 / 512.0,
        p if p < 0.000_1 => 1.0 / 128.0,
        p if p < 0.001 => 1.0 / 32.0,
        p if p < 0.01 => 1.0 / 8.0,
        p if p < 0.1 => 1.0 / 2.0,
        _ => 1.0,
    }
}

impl RfcPie {
    fn hits(&mut self, control: &Control, backlog: u64, bytes: u32, random: &mut dyn Random) -> bool {
        if !self.burst.is_zero()
            || (self.delay_before < control.target_s / 2.0 && self.prob < 0.2)
            || backlog <= 2 * control.mtu
        {
            return false;
        }
        let size = if control.bytes { (f64::from(bytes) / control.mtu as f64).min(1.0) } else { 1.0 };
        let prob = self.prob * size;
        self.accumulated = if prob == 0.0 { 0.0 } else { self.accumulated + prob };
        if self.accumulated < 0.85 {
            return false;
        }
        let hit = self.accumulated >= 8.5 || random.uniform() < prob;
        if hit {
            self.accumulated = 0.0;
        }
        hit
    }

    fn on_departure(&mut self, control: &Control, now: Time, left: &Waiting, backlog: u64) {
        if !control.departure_rate {
            self.sojourn = if backlog == 0 { 0.0 } else { now.since(left.since).as_secs_f64() };
            return;
        }
        if backlog >= MEASURED_BYTES && self.measured.is_none() {
            self.measured = Some((0, now));
        }
        let Some((bytes, begin)) = &mut self.measured else { return };
        *bytes += u64::from(left.packet.bytes);
        let passed = now.since(*begin).as_secs_f64();
        if *bytes >= MEASURED_BYTES && passed > 0.0 {
            let rate = *bytes as f64 / passed;
            // RFC 8033 §5.2: weight 1/8 for the new measurement.
            self.rate = if self.rate == 0.0 { rate } else { 0.875 * self.rate + 0.125 * rate };
            self.measured = None;
        }
    }

    fn update(&mut self, control: &Control, backlog: u64) {
        let delay = match control.departure_rate {
            true if self.rate > 0.0 => backlog as f64 / self.rate,
            true => 0.0,
            false => self.sojourn,
        };
        let scale = rfc_gain_scale(self.prob);
        let mut delta = control.alpha_hz * (delay - control.target_s) + control.beta_hz * (delay - self.delay_before);
        delta *= scale;
        if self.prob >= 0.1 {
            delta = delta.min(0.02);
        }
        self.prob += delta;
        if delay == 0.0 && self.delay_before == 0.0 {
            self.prob *= 0.98;
        }
        self.prob = self.prob.clamp(0.0, 1.0);
        let calm = |delay: f64| delay < control.target_s / 2.0;
        if self.prob == 0.0 && calm(delay) && calm(self.delay_before) {
            self.burst = BURST;
        } else {
            self.burst = self.burst.saturating_sub(control.update);
        }
        self.delay_before = delay;
        self.delay = delay;
    }
}

/// When the probability is next renewed. The kernel's timers run on whole milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpdateTimer {
    pub next: Time,
    period: Duration,
}

const JIFFY_NS: u64 = 1_000_000;

impl UpdateTimer {
    pub fn new(variant: Variant, update: Duration, created: Time) -> UpdateTimer {
        match variant {
            Variant::Linux => {
                let jiffies = update.as_nanos().div_ceil(JIFFY_NS);
                let begin = created.as_nanos() / JIFFY_NS * JIFFY_NS;
                UpdateTimer { next: Time::from_nanos(begin) + FIRST_UPDATE, period: Duration::from_millis(jiffies) }
            }
            Variant::Rfc => UpdateTimer { next: created + update, period: update },
        }
    }

    /// Whether an update is due, which sets the next.
    pub fn due(&mut self, now: Time) -> bool {
        let due = now >= self.next;
        if due {
            self.next += self.period;
        }
        due
    }
}

/// The discipline `pie`.
#[derive(Debug)]
pub struct PieQueue {
    limit: u32,
    control: Control,
    store: Store,
    queue: Queue,
    pie: Pie,
    timer: UpdateTimer,
}

impl PieQueue {
    pub fn new(config: &PieConfig, now: Time) -> PieQueue {
        let control = config.control();
        PieQueue {
            limit: config.limit,
            pie: Pie::new(&control),
            control,
            store: Store::default(),
            queue: Queue::default(),
            timer: UpdateTimer::new(config.variant, config.update, now),
        }
    }
}

impl Discipline for PieQueue {
    fn enqueue(&mut self, mut packet: Packet, context: &mut Context<'_>) -> Verdict {
        let mut verdict = Verdict::Queued;
        if self.queue.packets() >= self.limit {
            self.pie.on_drop();
            context.drop(packet, Cause::Limit);
            return Verdict::Dropped;
        }
        if self.pie.hits(&self.control, self.queue.bytes(), packet.bytes, context.random) {
            if !self.pie.mark(&self.control, &mut packet) {
                self.pie.on_drop();
                context.drop(packet, Cause::Control);
                return Verdict::Dropped;
            }
            verdict = Verdict::Marked;
        }
        self.store.push(&mut self.queue, packet, context.now);
        verdict
    }

    fn dequeue(&mut self, context: &mut Context<'_>) -> Option<Packet> {
        let waiting = self.store.pop_front(&mut self.queue)?;
        self.pie.on_departure(&self.control, context.now, &waiting, self.queue.bytes());
        Some(waiting.packet)
    }

    fn next_event(&self) -> Option<Time> {
        Some(self.timer.next)
    }

    fn on_event(&mut self, context: &mut Context<'_>) -> Wake {
        if self.timer.due(context.now) {
            self.pie.update(&self.control, self.queue.bytes());
        }
        Wake::Nothing
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

    /// RFC 8033 §4.2: its table of gains by probability; the kernel's shifts are the same shares.
    #[test]
    fn the_kernels_gains_shrink_as_the_texts_table() {
        for exponent in 1..9 {
            let prob = 0.5 * 10f64.powi(-exponent);
            let control = PieConfig { beta: 0, alpha: 16, ..PieConfig::default() }.control();
            let mut pie =
                LinuxPie { prob: (prob * MAX_PROB as f64) as u64, delay: control.target, ..LinuxPie::default() };
            // One millisecond above target, in ticks.
            pie.delay += 15_625;
            pie.delay_before = pie.delay;
            let before = pie.prob;
            pie.update(&control, 1);
            let step = (pie.prob - before) as f64 / MAX_PROB as f64;
            let expected = 0.001 * rfc_gain_scale(prob);
            assert!((step / expected - 1.0).abs() < 1e-3, "p = {prob}: {step} against {expected}");
        }
    }

    #[test]
    fn an_update_follows_the_texts_equation() {
        let control = PieConfig { variant: Variant::Rfc, ..PieConfig::default() }.control();
        // p = 0.2, delay 25 ms after 20 ms: 0.125 Hz × 10 ms + 1.25 Hz × 5 ms = 0.0075.
        let mut pie = RfcPie { prob: 0.2, sojourn: 0.025, delay_before: 0.020, ..RfcPie::default() };
        pie.update(&control, 10_000);
        assert!((pie.prob - 0.2075).abs() < 1e-12);
        // At 10 % and above one step is 2 % at most (RFC 8033 §5.5).
        pie.sojourn = 10.0;
        pie.update(&control, 10_000);
        assert!((pie.prob - 0.2275).abs() < 1e-12);
        // Without delay it decays to 98 % (RFC 8033 §4.2), besides what the controller takes away.
        let mut pie = RfcPie { prob: 0.05, ..RfcPie::default() };
        pie.update(&control, 0);
        assert!((pie.prob - (0.05 - 0.5 * 0.125 * 0.015) * 0.98).abs() < 1e-12);
    }

    /// RFC 8033 §4.4: with a delay all the time, 150 ms pass before the first drop.
    #[test]
    fn a_burst_of_150_ms_passes() {
        let control = PieConfig { variant: Variant::Rfc, ..PieConfig::default() }.control();
        let mut pie = RfcPie { prob: 0.3, sojourn: 0.1, ..RfcPie::default() };
        let updates = (1..).find(|_| {
            pie.update(&control, 100_000);
            pie.burst.is_zero()
        });
        assert_eq!(updates, Some(10));
    }
}
