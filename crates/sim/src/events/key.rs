//! An event, and the number that orders it.

use skyhop_base::Time;
use std::hint::select_unpredictable;

pub(super) const TIME_BITS: u32 = 52;
pub(super) const SLOT_BITS: u32 = 24;
pub(super) const LATEST: u64 = (1 << TIME_BITS) - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    pub time: Time,
    pub scheduled: Time,
    pub slot: u32,
}

/// An event as a number of the same order: 52 bits of time, 52 of the scheduling time, 24 of the slot. Times beyond
/// the longest run are never reached, so they may all be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub u128);

impl Key {
    /// After every event.
    pub const NONE: Key = Key(u128::MAX);
    /// Before every event.
    pub const UNKNOWN: Key = Key(0);

    #[inline]
    pub fn new(time: Time, scheduled: Time, slot: u32) -> Key {
        let (mut time, mut scheduled) = (time.as_nanos(), scheduled.as_nanos());
        if time | scheduled > LATEST {
            (time, scheduled) = Key::clamped(time, scheduled);
        }
        Key::of(time, scheduled, slot)
    }

    /// The same where both times are at most [`LATEST`].
    #[inline(always)]
    pub fn of(time: u64, scheduled: u64, slot: u32) -> Key {
        Key(u128::from(time) << (TIME_BITS + SLOT_BITS) | u128::from(scheduled) << SLOT_BITS | u128::from(slot))
    }

    /// Both times are short of the longest run in nearly every event: one test for both is less than two minima.
    #[cold]
    fn clamped(time: u64, scheduled: u64) -> (u64, u64) {
        (time.min(LATEST), scheduled.min(LATEST))
    }

    #[inline]
    pub fn time(self) -> Time {
        Time::from_nanos((self.0 >> (TIME_BITS + SLOT_BITS)) as u64)
    }

    #[inline]
    pub fn slot(self) -> u32 {
        self.0 as u32 & ((1 << SLOT_BITS) - 1)
    }

    #[inline]
    pub fn event(self) -> Event {
        let scheduled = Time::from_nanos((self.0 >> SLOT_BITS) as u64 & LATEST);
        Event { time: self.time(), scheduled, slot: self.slot() }
    }
}

/// Without a branch: which one it is cannot be predicted.
#[inline]
pub(super) fn sooner(a: Key, b: Key) -> Key {
    select_unpredictable(b < a, b, a)
}
