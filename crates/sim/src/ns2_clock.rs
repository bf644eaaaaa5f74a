//! ns-2's clock: seconds in a double, each sum rounded.
//!
//! ns-2 sets an event for the present plus a delay, both doubles. Where two events are simultaneous in exact
//! arithmetic, the rounding of these sums puts one first, and where a packet comes to a full queue in the very moment
//! in which another leaves it, the last bit decides whether it is lost. A run by this clock keeps the double of each
//! event beside its nanosecond and orders events by it; events that are still equal keep the order in which they were
//! scheduled. The nanoseconds are those of the doubles, truncated, as ns-2's TCP/Linux reads its clock.
//!
//! Deviation: what the scenario sets a time for (starts, samples) stands at the double nearest to its nanosecond,
//! before other events of that nanosecond.

use skyhop_base::{Duration, Time};
use std::collections::VecDeque;

/// 52 bits order the events of a nanosecond. The upper ones are the fraction of the nanosecond; they tell neighbouring
/// doubles apart from 1/8 s on.
const PART_BITS: u32 = 26;
/// The lower ones are the time since the event was scheduled, in units of 2^−23 s; longer than 8 s counts as
/// 8 s.
const AGE_BITS: u32 = 26;
const AGES_PER_SECOND: f64 = 8_388_608.0;
const OLDEST: u64 = (1 << AGE_BITS) - 1;

/// When an event is due and when it was scheduled, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    pub due_s: f64,
    pub scheduled_s: f64,
}

impl Moment {
    /// The pair that replaces time and scheduling time in the event queue.
    pub fn key(self) -> (Time, Time) {
        let (nanosecond, part) = split(self.due_s);
        let age = ((self.due_s - self.scheduled_s) * AGES_PER_SECOND) as u64;
        (nanosecond, Time::from_nanos(part << AGE_BITS | (OLDEST - age.min(OLDEST))))
    }
}

/// The nanosecond in which a double stands, and in which part of it.
fn split(seconds: f64) -> (Time, u64) {
    let bits = seconds.to_bits();
    let exponent = (bits >> 52) & 0x7ff;
    // seconds = significand / 2^shift; a run is shorter than 2^53 s, and what is shorter than 2^-52 s is zero.
    let shift = 1075_u64.saturating_sub(exponent).clamp(PART_BITS.into(), 127);
    if exponent < 1075 - 104 {
        return (Time::ZERO, 0);
    }
    let significand = (bits & ((1 << 52) - 1)) | 1 << 52;
    let nanos = u128::from(significand) * 1_000_000_000;
    let part = (nanos & ((1 << shift) - 1)) >> (shift - u64::from(PART_BITS));
    (Time::from_nanos((nanos >> shift) as u64), part as u64)
}

/// The nanosecond in which a double stands.
pub fn nanosecond(seconds: f64) -> Time {
    split(seconds).0
}

/// A timer by ns-2's clock.
#[derive(Clone, Copy, Debug)]
struct Timer {
    /// By the endpoint, [`Time::MAX`] when it is off.
    deadline: Time,
    moment: Moment,
    /// Times are multiples of it.
    unit: Duration,
}

impl Timer {
    fn new(unit: Duration) -> Timer {
        Timer { deadline: Time::MAX, moment: Moment::default(), unit }
    }

    /// The endpoint's deadline is this one, at `now`.
    fn set(&mut self, deadline: Time, now: Time, now_s: f64) {
        if deadline == self.deadline {
            return;
        }
        let span = deadline.since(now);
        let (units, rest) = (span.as_nanos() / self.unit.as_nanos(), span.as_nanos() % self.unit.as_nanos());
        // ns-2 multiplies its tick.
        let span_s = if rest == 0 { units as f64 * self.unit.as_secs_f64() } else { span.as_secs_f64() };
        self.moment = Moment { due_s: now_s + span_s, scheduled_s: now_s };
        self.deadline = deadline;
    }
}

/// The two timers of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowTimer {
    Sender,
    Receiver,
}

/// The clock of a run, and the timers set by it.
#[derive(Debug)]
pub struct Ns2Clock {
    /// The present event.
    pub now: Moment,
    timers: Vec<[Timer; 2]>,
}

impl Ns2Clock {
    /// `units`: the tick of each flow's sender and the delay of its receiver's ACKs.
    pub fn new(units: impl Iterator<Item = [Duration; 2]>) -> Ns2Clock {
        let at_least = |unit: Duration| unit.max(Duration::from_nanos(1));
        let timers = units.map(|units| units.map(|unit| Timer::new(at_least(unit)))).collect();
        Ns2Clock { now: Moment::default(), timers }
    }

    fn timer(&mut self, flow: u32, whose: FlowTimer) -> &mut Timer {
        &mut self.timers[flow as usize][whose as usize]
    }

    /// An event that no sum of doubles has set.
    pub fn at(&mut self, now: Time) {
        let now_s = now.as_secs_f64();
        self.now = Moment { due_s: now_s, scheduled_s: now_s };
    }

    /// An input has left this deadline: its place in the event queue.
    pub fn set(&mut self, flow: u32, whose: FlowTimer, deadline: Time, now: Time) -> (Time, Time) {
        let now_s = self.now.due_s;
        let timer = self.timer(flow, whose);
        timer.set(deadline, now, now_s);
        if deadline == Time::MAX { (Time::MAX, Time::ZERO) } else { timer.moment.key() }
    }

    /// The event of a timer has come at `now`: the time that its endpoint is to see. It is at least the deadline,
    /// unless the event is one of an earlier deadline.
    pub fn at_timer(&mut self, flow: u32, whose: FlowTimer, now: Time) -> Time {
        let Timer { deadline, moment, .. } = *self.timer(flow, whose);
        if deadline == Time::MAX || moment.key().0 > now {
            self.at(now);
            return now;
        }
        self.now = moment;
        now.max(deadline)
    }
}

/// A link by ns-2's clock: each packet's begin of service and arrival.
#[derive(Debug)]
pub struct Ns2Transmitter {
    bps: f64,
    /// The event that offers a packet.
    pub now: Moment,
    free_s: f64,
    entries: VecDeque<Moment>,
}

/// What a link makes of a packet.
#[derive(Clone, Copy, Debug)]
pub struct HopTimes {
    pub start: Time,
    pub departure: Time,
    pub arrival: Time,
}

impl Ns2Transmitter {
    pub fn new(bps: f64) -> Ns2Transmitter {
        Ns2Transmitter { bps, now: Moment::default(), free_s: 0.0, entries: VecDeque::new() }
    }

    /// Accepts a packet at `now`, that of the event.
    pub fn accept(&mut self, now: Time, bytes: u32, delay: impl FnOnce(Time) -> Duration) -> HopTimes {
        let now_s = self.now.due_s;
        let start_s = now_s.max(self.free_s);
        let taken_s = 8.0 * f64::from(bytes) / self.bps;
        self.free_s = start_s + taken_s;
        let departure = nanosecond(self.free_s);
        // ns-2 adds what the packet takes and the delay first.
        let arrival_s = start_s + (taken_s + delay(departure).as_secs_f64());
        self.entries.push_back(Moment { due_s: arrival_s, scheduled_s: start_s });
        // What begins later than now begins so in whole nanoseconds, too.
        let start = if start_s > now_s { nanosecond(start_s).max(now + Duration::from_nanos(1)) } else { now };
        HopTimes { start, departure, arrival: nanosecond(arrival_s) }
    }

    /// Whether the service of the oldest of the `waiting` newest packets begins before the present event.
    pub fn has_begun(&self, waiting: usize) -> bool {
        let place = self.entries.len() - waiting;
        let start_s = self.entries[place].scheduled_s;
        let foreseen_s = place.checked_sub(1).map_or(0.0, |before| self.entries[before].scheduled_s);
        start_s < self.now.due_s || start_s == self.now.due_s && foreseen_s <= self.now.scheduled_s
    }

    /// The arrival of the oldest packet.
    pub fn front(&self) -> Option<Moment> {
        self.entries.front().copied()
    }

    /// The oldest packet has arrived: its moment.
    pub fn pop(&mut self) -> Option<Moment> {
        self.entries.pop_front()
    }

    /// Takes the `newest` packets back; the transmitter is free when it would have been for the first of them.
    pub fn take_back(&mut self, newest: usize) {
        let place = self.entries.len() - newest;
        if let Some(first) = self.entries.get(place) {
            self.free_s = first.scheduled_s;
        }
        self.entries.truncate(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_doubles() {
        // 0.1 + 0.2 is the double after 0.3; both stand in the same nanosecond or in neighbours.
        let at = |due_s: f64| Moment { due_s, scheduled_s: 0.0 };
        assert!(at(0.3).key() < at(0.1 + 0.2).key());
        // Below an eighth of a second doubles stand closer than the bits can say.
        let mut seconds = 0.125;
        for _ in 0..2000 {
            let next = f64::from_bits(f64::to_bits(seconds) + 1);
            assert!(at(seconds).key() < at(next).key(), "{seconds:?}");
            seconds *= 1.01;
        }
    }

    #[test]
    fn nanoseconds_are_truncated_exactly() {
        assert_eq!(nanosecond(0.0), Time::ZERO);
        assert_eq!(nanosecond(1e-20), Time::ZERO);
        assert_eq!(nanosecond(1.5e-9).as_nanos(), 1);
        assert_eq!(nanosecond(4096.5).as_nanos(), 4_096_500_000_000);
        // The double of 0.3 is below 0.3, that of 0.1 above.
        assert_eq!((nanosecond(0.3).as_nanos(), nanosecond(0.1).as_nanos()), (299_999_999, 100_000_000));
    }

    #[test]
    fn what_is_equal_comes_in_the_order_of_scheduling() {
        let of = |scheduled_s: f64| Moment { due_s: 10.0, scheduled_s }.key();
        assert!(of(9.0) < of(9.5));
        assert_eq!(of(0.5), of(1.0), "more than 8 s are one");
    }

    #[test]
    fn a_timer_shows_its_deadline_though_its_double_is_short_of_it() {
        let mut clock = Ns2Clock::new([[Duration::from_millis(10), Duration::from_millis(100)]].into_iter());
        let at = Time::from_nanos;
        clock.at(at(1_000_000_000));
        let deadline = at(1_300_000_000);
        let (time, _) = clock.set(0, FlowTimer::Sender, deadline, at(1_000_000_000));
        // 30 · 0.01 is the double after 0.3.
        assert_eq!(clock.timer(0, FlowTimer::Sender).moment.due_s, 1.0 + 30.0 * 0.01);
        assert!(time <= deadline);
        assert_eq!(clock.at_timer(0, FlowTimer::Sender, time), deadline);
        assert_eq!(clock.at_timer(0, FlowTimer::Sender, at(1_100_000_000)), at(1_100_000_000), "an earlier deadline's");
    }

    #[test]
    fn a_link_adds_as_ns_2_does() {
        let mut link = Ns2Transmitter::new(2e6);
        link.now = Moment { due_s: 0.1, scheduled_s: 0.0 };
        let delay = |_| Duration::from_millis(50);
        let first = link.accept(nanosecond(0.1), 1040, delay);
        let second = link.accept(nanosecond(0.1), 1040, delay);
        assert_eq!(first.start, nanosecond(0.1));
        assert_eq!(link.front().map(|front| front.due_s), Some(0.1 + (0.00416 + 0.05)));
        assert_eq!(second.start, nanosecond(0.1 + 0.00416));
        assert!(!link.has_begun(1));
        link.now.due_s = 0.1 + 0.00416;
        assert!(!link.has_begun(1), "it was foreseen after the event");
        link.now.scheduled_s = 0.1;
        assert!(link.has_begun(1));
        link.take_back(1);
        assert_eq!(link.accept(second.start, 1040, delay).start, second.start);
    }
}
