//! The event queue: one re-armable slot per component, so that nothing is ever cancelled, allocated or stale.
//!
//! Order: time, then the time at which the event was scheduled, then the slot. Slots are handed out by class and
//! within a class by the rank of the component's name, never in the order of construction, so simultaneous
//! arrivals are served in the order in which they were sent (as in ns-2) and the order of declaration changes
//! nothing.
//!
//! It is a tournament (D. E. Knuth, The Art of Computer Programming, vol. 3, §5.4.1) with matches of four: each armed
//! slot has a seat, the soonest of four neighbours meets three other winners, and so on up to the champion, the next
//! event. A link whose oldest packet has arrived names its next one, and only the matches on the way up from its seat
//! are played again: three for the links of ten flows. A heap needs more comparisons, and how deep an entry sinks and
//! past which of its children cannot be foretold, whereas here no branch hangs on a comparison. An event is one
//! 128-bit number, so that a comparison is two instructions, and a match is one cache line.

use skyhop_base::{Duration, Time};
use std::hint::select_unpredictable;
use std::ops::Range;

const TIME_BITS: u32 = 52;
const SLOT_BITS: u32 = 24;
const LATEST: u64 = (1 << TIME_BITS) - 1;
const NOWHERE: u32 = u32::MAX;
/// Three matches deep: no need to shrink.
const FEW_SEATS: usize = 64;

/// The longest run whose events can be told apart: 52 days.
pub const LONGEST_RUN: Duration = Duration::from_nanos(LATEST - 1);
/// Slots that a queue can have at most.
pub const MOST_SLOTS: usize = 1 << SLOT_BITS;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    pub time: Time,
    pub scheduled: Time,
    pub slot: u32,
}

impl Event {
    /// The event as a number: earlier ones have smaller numbers.
    #[inline]
    pub fn order(self) -> u128 {
        Key::new(self.time, self.scheduled, self.slot).0
    }
}

/// An event as a number of the same order: 52 bits of time, 52 of the scheduling time, 24 of the slot. Times beyond
/// the longest run are never reached, so they may all be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128);

impl Key {
    /// After every event.
    const NONE: Key = Key(u128::MAX);

    #[inline]
    fn new(time: Time, scheduled: Time, slot: u32) -> Key {
        let (mut time, mut scheduled) = (time.as_nanos(), scheduled.as_nanos());
        if time | scheduled > LATEST {
            (time, scheduled) = Key::clamped(time, scheduled);
        }
        Key(u128::from(time) << (TIME_BITS + SLOT_BITS) | u128::from(scheduled) << SLOT_BITS | u128::from(slot))
    }

    /// Both times are short of the longest run in nearly every event: one test for both is less than two minima.
    #[cold]
    fn clamped(time: u64, scheduled: u64) -> (u64, u64) {
        (time.min(LATEST), scheduled.min(LATEST))
    }

    #[inline]
    fn time(self) -> Time {
        Time::from_nanos((self.0 >> (TIME_BITS + SLOT_BITS)) as u64)
    }

    #[inline]
    fn event(self) -> Event {
        let scheduled = Time::from_nanos((self.0 >> SLOT_BITS) as u64 & LATEST);
        Event { time: self.time(), scheduled, slot: self.0 as u32 & ((1 << SLOT_BITS) - 1) }
    }
}

/// Four sides of a match: one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Match([Key; 4]);

impl Match {
    #[inline]
    fn winner(&self) -> Key {
        let [a, b, c, d] = self.0;
        sooner(sooner(a, b), sooner(c, d))
    }
}

/// Without a branch: which one it is cannot be foretold.
#[inline]
fn sooner(a: Key, b: Key) -> Key {
    select_unpredictable(b < a, b, a)
}

/// A tournament for the links, whose events are those of packets, and one for everything else: timers are many, two for
/// each flow, and fire rarely, and packets need not climb past them.
#[derive(Debug)]
pub struct EventQueue {
    tournaments: [Tournament; 2],
    /// The place where each slot sits, [`NOWHERE`] when it is not armed.
    seat: Vec<u32>,
    first_link: u32,
    links: u32,
    /// A seat that its slot has left while its key still stands in the matches, and in which tournament. Most handlers
    /// disarm the slot of their event and then arm another: that one takes the seat, and the matches are played once
    /// instead of twice.
    vacated: u32,
    vacated_in: usize,
}

impl EventQueue {
    /// `links` are the slots of links, of `slots` in all.
    pub fn new(slots: usize, links: Range<u32>) -> EventQueue {
        debug_assert!(slots <= MOST_SLOTS);
        EventQueue {
            tournaments: Default::default(),
            seat: vec![NOWHERE; slots],
            first_link: links.start,
            links: links.end - links.start,
            vacated: NOWHERE,
            vacated_in: 0,
        }
    }

    /// The next event.
    pub fn first(&mut self) -> Option<Event> {
        let champion = self.champion();
        (champion != Key::NONE).then(|| champion.event())
    }

    /// The next event, if it is before an instant. Two loops ask for it: without the attribute it is a call in both, 25
    /// instructions per packet-hop.
    #[inline(always)]
    pub fn first_before(&mut self, before: Time) -> Option<Event> {
        let champion = self.champion();
        // [`Key::NONE`] is before no instant.
        (champion.time() < before.min(Time::from_nanos(LATEST))).then(|| champion.event())
    }

    #[inline(always)]
    fn champion(&mut self) -> Key {
        if self.vacated != NOWHERE {
            self.settle();
        }
        let [links, others] = &self.tournaments;
        sooner(links.champion, others.champion)
    }

    /// The number of the slot's tournament.
    #[inline(always)]
    fn tournament(&self, slot: u32) -> usize {
        usize::from(slot.wrapping_sub(self.first_link) >= self.links)
    }

    #[cfg(test)]
    fn armed_at(&self, slot: u32) -> Option<Time> {
        let seat = self.seat[slot as usize] as usize;
        Some(self.tournaments[self.tournament(slot)].matches.get(seat / 4)?.0[seat % 4].time())
    }

    /// Arms the slot, or moves it if it is armed.
    #[inline]
    pub fn arm(&mut self, slot: u32, time: Time, scheduled: Time) {
        self.arm_in(self.tournament(slot), slot, time, scheduled);
    }

    /// [`EventQueue::arm`] of a link's slot.
    #[inline(always)]
    pub fn arm_link(&mut self, slot: u32, time: Time, scheduled: Time) {
        debug_assert!(self.tournament(slot) == 0);
        self.arm_in(0, slot, time, scheduled);
    }

    /// Without the call a packet-hop is spared a dozen instructions.
    #[inline(always)]
    fn arm_in(&mut self, which: usize, slot: u32, time: Time, scheduled: Time) {
        let mut seat = self.seat[slot as usize];
        if seat == NOWHERE {
            seat = self.take_seat(which);
            self.seat[slot as usize] = seat;
        }
        self.tournaments[which].play(seat, Key::new(time, scheduled, slot));
    }

    #[inline]
    fn take_seat(&mut self, which: usize) -> u32 {
        if self.vacated != NOWHERE && self.vacated_in == which {
            return std::mem::replace(&mut self.vacated, NOWHERE);
        }
        self.tournaments[which].take_seat(&mut self.seat)
    }

    #[inline]
    pub fn disarm(&mut self, slot: u32) {
        let seat = std::mem::replace(&mut self.seat[slot as usize], NOWHERE);
        if seat == NOWHERE {
            return;
        }
        let which = self.tournament(slot);
        if self.vacated == NOWHERE {
            (self.vacated, self.vacated_in) = (seat, which);
        } else {
            self.tournaments[which].leave(seat);
        }
    }

    /// Nobody has taken the seat.
    fn settle(&mut self) {
        let tournament = &mut self.tournaments[self.vacated_in];
        tournament.leave(std::mem::replace(&mut self.vacated, NOWHERE));
        if tournament.is_sparse() {
            tournament.shrink(&mut self.seat);
        }
    }
}

#[derive(Debug)]
struct Tournament {
    /// Side s of match m is place 4 m + s. The winner of match m > 0 stands in place m − 1, that of match 0 is the
    /// champion. The places of no winner, from `matches.len() - 1` on, are the seats of slots; an empty one holds
    /// [`Key::NONE`].
    matches: Vec<Match>,
    champion: Key,
    /// Empty seats.
    free: Vec<u32>,
}

impl Default for Tournament {
    fn default() -> Tournament {
        Tournament { matches: vec![Match([Key::NONE; 4])], champion: Key::NONE, free: vec![3, 2, 1, 0] }
    }
}

impl Tournament {
    fn leave(&mut self, seat: u32) {
        self.play(seat, Key::NONE);
        self.free.push(seat);
    }

    /// An empty seat. `seats` are those of the slots.
    #[inline]
    fn take_seat(&mut self, seats: &mut [u32]) -> u32 {
        self.free.pop().unwrap_or_else(|| self.grow(seats))
    }

    /// All seats are taken: another match takes the place of the first one, whose slot goes there. Gives a new seat.
    #[cold]
    fn grow(&mut self, seats: &mut [u32]) -> u32 {
        let new = self.matches.len() as u32;
        let place = new as usize - 1;
        let first = self.matches[place / 4].0[place % 4];
        self.matches.push(Match([first, Key::NONE, Key::NONE, Key::NONE]));
        seats[first.event().slot as usize] = 4 * new;
        self.free.extend([4 * new + 3, 4 * new + 2]);
        4 * new + 1
    }

    /// Whether three of four seats are empty. When a thousand flows begin at once, all their first links are armed,
    /// later one in a hundred is: without the empty seats every event has fewer matches to play.
    #[inline]
    fn is_sparse(&self) -> bool {
        let seats = 3 * self.matches.len() + 1;
        seats > FEW_SEATS && 4 * self.free.len() > 3 * seats
    }

    /// Begins again with as many matches as the armed slots need.
    #[cold]
    fn shrink(&mut self, seats: &mut [u32]) {
        let old = std::mem::take(self);
        let places = old.matches.iter().flat_map(|played| played.0).skip(old.matches.len() - 1);
        for key in places.filter(|&key| key != Key::NONE) {
            let seat = self.take_seat(seats);
            seats[key.event().slot as usize] = seat;
            self.play(seat, key);
        }
    }

    /// Puts `key` on the seat and plays its matches again, up to the champion.
    #[inline]
    fn play(&mut self, seat: u32, mut key: Key) {
        let mut place = seat as usize;
        loop {
            let number = place / 4;
            let played = &mut self.matches[number];
            played.0[place % 4] = key;
            key = played.winner();
            if number == 0 {
                break;
            }
            place = number - 1;
        }
        self.champion = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::Stream;

    #[test]
    fn events_come_in_the_order_of_time_then_scheduling_then_slot() {
        let at = Time::from_nanos;
        let mut queue = EventQueue::new(4, 1..3);
        queue.arm(3, at(5), at(1));
        queue.arm(2, at(5), at(2));
        queue.arm(1, at(5), at(1));
        queue.arm(0, at(6), at(0));
        let mut order = Vec::new();
        while let Some(event) = queue.first() {
            order.push(event.slot);
            queue.disarm(event.slot);
        }
        assert_eq!(order, [1, 3, 2, 0]);
    }

    #[test]
    fn times_that_are_never_reached_are_after_all_others() {
        let mut queue = EventQueue::new(3, 0..1);
        let end = Time::ZERO + LONGEST_RUN;
        queue.arm(0, Time::MAX, Time::ZERO);
        queue.arm(1, end, Time::MAX);
        queue.arm(2, end, Time::ZERO);
        let mut next = || {
            let event = queue.first().unwrap();
            queue.disarm(event.slot);
            (event.slot, event.time)
        };
        assert_eq!((next(), next()), ((2, end), (1, end)));
        assert!(next().1 > end);
    }

    /// Against the plainest possible model: a list that is searched for its least entry. In turn most slots are armed
    /// and most are not, so that the tournaments grow and shrink.
    #[test]
    fn random_arming_and_disarming_keeps_the_order() {
        let slots = 400;
        let mut stream = Stream::new(1, "events", "test");
        let mut queue = EventQueue::new(slots, 50..300);
        let mut model: Vec<Option<Event>> = vec![None; slots];
        let mut sizes = Vec::new();
        for step in 0..20_000u64 {
            let slot = (stream.uniform() * slots as f64) as u32;
            let time = Time::from_nanos((stream.uniform() * 50.0) as u64);
            let armed = if step / 2_500 % 2 == 0 { 0.9 } else { 0.05 };
            if stream.uniform() < armed {
                let scheduled = Time::from_nanos(step % 7);
                queue.arm(slot, time, scheduled);
                model[slot as usize] = Some(Event { time, scheduled, slot });
            } else {
                queue.disarm(slot);
                model[slot as usize] = None;
            }
            assert_eq!(queue.first(), model.iter().flatten().min().copied());
            assert_eq!(queue.armed_at(slot), model[slot as usize].map(|event| event.time));
            if step % 2_500 == 2_499 {
                sizes.push(queue.tournaments.each_ref().map(|tournament| tournament.matches.len()));
            }
        }
        // Some 225 and 135 armed, then some 13 and 8: at most every fourth seat is armed, or there are few.
        for dense_sparse in sizes.chunks(2) {
            let [dense, sparse] = dense_sparse else { panic!("an even number of phases") };
            assert!(
                dense.iter().all(|&matches| matches > 40) && sparse.iter().all(|&matches| matches <= 22),
                "{sizes:?}"
            );
        }
    }

    /// A handler that disarms two slots leaves one seat to the next and one for good, whatever shrinks meanwhile.
    #[test]
    fn a_slot_that_left_does_not_come_back_when_the_tournament_shrinks() {
        let at = Time::from_nanos;
        let slots = 200;
        let mut queue = EventQueue::new(slots, 0..slots as u32);
        (0..slots as u32).for_each(|slot| queue.arm(slot, at(u64::from(slot)), at(0)));
        let mut order = Vec::new();
        while let Some(event) = queue.first() {
            order.push(event.slot);
            queue.disarm(event.slot);
            queue.disarm(event.slot + 1);
        }
        assert_eq!(order, (0..slots as u32).step_by(2).collect::<Vec<_>>());
        assert_eq!(queue.tournaments[0].free.len(), 3 * queue.tournaments[0].matches.len() + 1);
    }
}
