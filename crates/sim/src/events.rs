//! The event queue: one slot per component, so that a component has one next event at most.
//!
//! Order: time, then the time at which the event was scheduled, then the slot. Slots are handed out by class and
//! within a class by the rank of the component's name, never in the order of construction, so simultaneous
//! arrivals are served in the order in which they were sent (as in ns-2) and the order of declaration changes
//! nothing.
//!
//! An event is one 128-bit number, so that a comparison is two instructions.

mod key;
mod tournament;
mod wheel;

pub use key::{Event, Key};
use key::{LATEST, SLOT_BITS, sooner};
use skyhop_base::{Duration, Time};
use std::ops::Range;
use tournament::Tournament;
pub(crate) use wheel::Waiting;
use wheel::Wheel;

const NOWHERE: u32 = u32::MAX;
/// Matches of a tournament with 64 seats: three from any seat to the champion.
const FEW_MATCHES: usize = 1 + 4 + 16;

/// The longest run whose events can be told apart: 52 days.
pub const LONGEST_RUN: Duration = Duration::from_nanos(LATEST - 1);
/// Slots that a queue can have at most.
pub const MOST_SLOTS: usize = 1 << SLOT_BITS;

/// Two tournaments: one for links, whose events are those of packets, and one for timers, which are many, two for each
/// flow, and fire rarely, so that packets need not climb past them. Once many links wait for an arrival at the same
/// time, arrivals stand in a calendar of the near future instead, and the tournament of links keeps those that may move
/// or are far ahead. With few links three matches without a branch take less time than the calendar's branches, which
/// are hard to predict; with many the calendar costs the same however many there are.
#[derive(Debug)]
pub struct EventQueue {
    wheel: Wheel,
    /// Whether arrivals go to the wheel. It stays so once it is.
    is_crowded: bool,
    tournaments: [Tournament; 2],
    /// The place where each slot sits in its tournament, [`NOWHERE`] when it does not.
    seat: Vec<u32>,
    first_link: u32,
    links: u32,
    /// A seat that its slot has left while its key still stands in the matches, and in which tournament. Most handlers
    /// arm the slot of their event again or another: that one takes the seat, and the matches are played once instead
    /// of twice.
    vacated: u32,
    vacated_in: usize,
    /// The sooner one of the two champions, …
    champion: Key,
    /// … and the sooner one of `end` and, with a calendar, the champion, else that of the timers. Events of the
    /// calendar, or of links, before it are the next ones. Zero if the champions may have changed since it was found.
    bound: Key,
    /// Events before this one are asked for; [`Key::NONE`] is not before it.
    end: Key,
}

impl EventQueue {
    /// `links` are the slots of links, of `slots` in all.
    pub fn new(slots: usize, links: Range<u32>) -> EventQueue {
        debug_assert!(slots <= MOST_SLOTS);
        EventQueue {
            wheel: Wheel::new(links.start),
            is_crowded: false,
            tournaments: Default::default(),
            seat: vec![NOWHERE; slots],
            first_link: links.start,
            links: links.end - links.start,
            vacated: NOWHERE,
            vacated_in: 0,
            champion: Key::NONE,
            bound: Key::UNKNOWN,
            end: Key::UNKNOWN,
        }
    }

    /// The time of the next event.
    pub fn next_time(&mut self) -> Option<Time> {
        self.find_champion();
        let first = sooner(self.wheel.first, self.champion);
        (first != Key::NONE).then(|| first.time())
    }

    /// Events from `before` on are not taken.
    pub fn set_end(&mut self, before: Time) {
        self.end = Key::new(before.min(Time::from_nanos(LATEST)), Time::ZERO, 0);
        self.bound = Key::UNKNOWN;
    }

    /// The next event, if it is before the end that was set. Before anything else happens, its slot is to be
    /// [left](EventQueue::leave) or, by the event's own handler, armed or given an arrival again. Two loops ask for it:
    /// without the attribute it is a call in both, 25 instructions per packet-hop.
    #[inline(always)]
    pub fn next_event(&mut self, links: &mut impl Waiting) -> Option<Event> {
        let key = self.next_key(links);
        (key != Key::NONE).then(|| key.event())
    }

    /// The same as the number by which events are in order; [`Key::NONE`] where there is none.
    #[inline(always)]
    pub fn next_key(&mut self, links: &mut impl Waiting) -> Key {
        if self.is_crowded { self.next_with_calendar(links) } else { self.next_without_calendar() }
    }

    /// [`Key::NONE`] where there is none: a number comes back in registers, an `Option` of an event in memory.
    #[inline(always)]
    fn next_without_calendar(&mut self) -> Key {
        if self.vacated != NOWHERE {
            self.settle();
        }
        let first = self.tournaments[0].champion;
        if first < self.bound { first } else { self.next_at_bound() }
    }

    /// The same where the next event may be a timer's.
    #[inline(never)]
    fn next_at_bound(&mut self) -> Key {
        self.find_champion();
        self.bound = sooner(self.tournaments[1].champion, self.end);
        if self.champion < self.end { self.champion } else { Key::NONE }
    }

    #[inline(always)]
    fn next_with_calendar(&mut self, links: &mut impl Waiting) -> Key {
        match self.pop_from_wheel(links) {
            Key::NONE => self.pop_at_bound(links),
            key => key,
        }
    }

    /// The slot of the event that [`EventQueue::next_event`] gave has no other event for now.
    #[inline(always)]
    pub fn leave(&mut self, slot: u32) {
        if !self.is_crowded {
            self.disarm(slot);
        }
    }

    /// The next event, if it is one of the wheel and before the bound.
    #[inline(always)]
    fn pop_from_wheel(&mut self, links: &mut impl Waiting) -> Key {
        let first = self.wheel.first;
        if first >= self.bound {
            return Key::NONE;
        }
        self.wheel.pass(first);
        self.wheel.pop(links);
        first
    }

    /// Whether so many links wait for an arrival that a second-level cache does not hold their data.
    pub fn is_full(&self) -> bool {
        self.wheel.is_full()
    }

    /// The link whose event is likely to come after that of [`EventQueue::next_in_crowd`], no link at all where only a
    /// longer search would find it.
    #[inline(always)]
    pub fn after_next_in_crowd(&self) -> usize {
        self.wheel.after_next() as usize
    }

    /// The slot of the first event of the calendar, no slot at all without one. After [`EventQueue::next_event`] it is
    /// likely to be that of the next event.
    #[inline(always)]
    pub fn next_in_crowd(&self) -> u32 {
        self.wheel.first.slot()
    }

    /// With the calendar, where the next event may not be one of the wheel.
    #[inline(never)]
    fn pop_at_bound(&mut self, links: &mut impl Waiting) -> Key {
        self.find_champion();
        self.bound = sooner(self.champion, self.end);
        let key = self.pop_from_wheel(links);
        if key != Key::NONE || self.champion >= self.end {
            return key;
        }
        self.wheel.pass(self.champion);
        let champion = self.champion;
        self.disarm(champion.event().slot);
        champion
    }

    /// The next event that is not in the wheel.
    #[inline(always)]
    fn find_champion(&mut self) {
        if self.vacated != NOWHERE {
            self.settle();
        }
        let [links, others] = &self.tournaments;
        self.champion = sooner(links.champion, others.champion);
    }

    /// The number of the slot's tournament.
    #[inline(always)]
    fn tournament(&self, slot: u32) -> usize {
        usize::from(slot.wrapping_sub(self.first_link) >= self.links)
    }

    /// Whether events of links are [added to the crowd](EventQueue::add_to_crowd). The caller asks, so that the crowd's
    /// part is a call, which takes no registers from the loops with few links.
    #[inline(always)]
    pub fn is_crowded(&self) -> bool {
        self.is_crowded
    }

    /// Schedules the next event of a link that has none, where no crowd of links waits for arrivals.
    #[inline(always)]
    pub fn add_for_link(&mut self, link: u32, time: Time, scheduled: Time) {
        debug_assert!(!self.is_crowded);
        self.arm_in(0, self.first_link + link, time, scheduled);
    }

    /// The same in a crowd, for an arrival that neither moves nor is called off unless [`EventQueue::unsettle`] is
    /// called first. Other events of links are [armed](EventQueue::arm).
    #[inline(always)]
    pub fn add_to_crowd(&mut self, link: u32, time: Time, scheduled: Time, links: &mut impl Waiting) {
        debug_assert!(scheduled <= time);
        let times = [time, scheduled].map(Time::as_nanos);
        if times[0] > LATEST || !self.wheel.add(times, link, links) {
            self.arm_beside_calendar(link, time, scheduled, links);
        }
    }

    /// An arrival that is too far ahead for the calendar. A call: inline, it takes registers from the usual case.
    #[cold]
    #[inline(never)]
    fn arm_beside_calendar(&mut self, link: u32, time: Time, scheduled: Time, links: &mut impl Waiting) {
        self.wheel.note_refusal(links);
        self.arm(self.first_link + link, time, scheduled);
    }

    /// An arrival that was added may move from now on, by [`EventQueue::arm`] and [`EventQueue::disarm`].
    #[cold]
    pub fn unsettle(&mut self, slot: u32, time: Time, scheduled: Time, links: &mut impl Waiting) {
        if self.wheel.remove(slot, links) {
            self.arm(slot, time, scheduled);
        }
    }

    /// Arms the slot, or moves it if it is armed.
    #[inline]
    pub fn arm(&mut self, slot: u32, time: Time, scheduled: Time) {
        self.bound = Key::UNKNOWN;
        self.arm_in(self.tournament(slot), slot, time, scheduled);
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
        self.tournaments[which].free.pop().unwrap_or_else(|| self.grow(which))
    }

    /// Another match. A fourth one from a seat to the champion makes the calendar the better place.
    #[cold]
    fn grow(&mut self, which: usize) -> u32 {
        let tournament = &mut self.tournaments[which];
        if which == 0 && tournament.matches.len() >= FEW_MATCHES {
            (self.is_crowded, self.bound) = (true, Key::UNKNOWN);
        }
        tournament.grow(&mut self.seat)
    }

    #[inline]
    pub fn disarm(&mut self, slot: u32) {
        let seat = std::mem::replace(&mut self.seat[slot as usize], NOWHERE);
        if seat == NOWHERE {
            return;
        }
        self.bound = Key::UNKNOWN;
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

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::Stream;

    /// Links that know nothing but the times of their events.
    #[derive(Clone, Debug)]
    struct Links(Vec<(Time, Time, u32)>);

    impl Links {
        fn new(count: usize) -> Links {
            Links(vec![(Time::MAX, Time::MAX, 0); count])
        }
    }

    impl Waiting for Links {
        fn event(&self, link: u32) -> (Time, Time, u32) {
            self.0[link as usize]
        }

        fn set_next(&mut self, link: u32, next: u32) {
            self.0[link as usize].2 = next;
        }
    }

    impl EventQueue {
        fn take(&mut self) -> Option<Event> {
            self.next_event(&mut Links::new(0)).inspect(|event| self.leave(event.slot))
        }
    }

    #[test]
    fn events_come_in_the_order_of_time_then_scheduling_then_slot() {
        let at = Time::from_nanos;
        let mut queue = EventQueue::new(4, 1..3);
        queue.set_end(Time::MAX);
        queue.arm(3, at(5), at(1));
        queue.add_for_link(1, at(5), at(2));
        queue.arm(1, at(5), at(1));
        queue.arm(0, at(6), at(0));
        let order: Vec<_> = std::iter::from_fn(|| queue.take()).map(|event| event.slot).collect();
        assert_eq!(order, [1, 3, 2, 0]);
    }

    #[test]
    fn times_that_are_never_reached_are_after_all_others() {
        let mut queue = EventQueue::new(3, 0..1);
        queue.set_end(Time::MAX);
        let end = Time::ZERO + LONGEST_RUN;
        queue.arm(0, Time::MAX, Time::ZERO);
        queue.arm(1, end, Time::MAX);
        queue.arm(2, end, Time::ZERO);
        let mut next = || queue.take().map(|event| (event.slot, event.time));
        assert_eq!([next(), next(), next()], [Some((2, end)), Some((1, end)), None]);
        assert!(queue.next_time() > Some(end));
    }

    /// Against the plainest possible model: a list that is searched for its least entry. In turn most slots are armed
    /// and most are not, so that the tournaments grow and shrink.
    #[test]
    fn random_arming_and_disarming_keeps_the_order() {
        let slots = 400;
        let mut stream = Stream::new(1, "events", "test");
        let mut queue = EventQueue::new(slots, 50..300);
        queue.set_end(Time::MAX);
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
            let least = model.iter().flatten().min().copied();
            assert_eq!(queue.next_time(), least.map(|event| event.time));
            if step % 3 == 0 {
                assert_eq!(queue.take(), least);
                if let Some(event) = least {
                    model[event.slot as usize] = None;
                    // Most handlers arm their slot again.
                    queue.arm(event.slot, event.time, event.scheduled);
                    model[event.slot as usize] = Some(event);
                }
            }
            if step % 2_500 == 2_499 {
                queue.find_champion();
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
        queue.set_end(Time::MAX);
        (0..slots as u32).for_each(|slot| queue.arm(slot, at(u64::from(slot)), at(0)));
        let mut order = Vec::new();
        while let Some(event) = queue.take() {
            order.push(event.slot);
            queue.disarm(event.slot + 1);
        }
        assert_eq!(order, (0..slots as u32).step_by(2).collect::<Vec<_>>());
        queue.find_champion();
        assert_eq!(queue.tournaments[0].free.len(), 3 * queue.tournaments[0].matches.len() + 1);
    }

    /// Arrivals and timers beside each other, at densities from one event in milliseconds to hundreds in a microsecond,
    /// with pauses, events of one instant, and events beyond the last bucket.
    #[test]
    fn arrivals_and_timers_come_in_one_order_at_any_density() {
        let slots = 600_u32;
        let mut stream = Stream::new(2, "events", "test");
        let mut queue = EventQueue::new(slots as usize, 0..500);
        let mut links = Links::new(500);
        queue.set_end(Time::MAX);
        let mut model = std::collections::BTreeSet::new();
        let mut idle: Vec<u32> = (0..slots).collect();
        let mut now = Time::ZERO;
        let mut sizes = std::collections::BTreeSet::new();
        let mut was_crowded = std::collections::BTreeSet::new();
        for step in 0..1_000_000_u64 {
            // Nanoseconds that events are ahead of the present on the average.
            let ahead = [2e7, 4e3, 3e8, 1e6, 50.0][step as usize / 100_000 % 5];
            let armed = slots as usize - idle.len();
            let wanted = [40, 590, 300, 3][step as usize / 70_000 % 4];
            let slot = if armed < wanted || armed == 0 {
                idle.swap_remove((stream.uniform() * idle.len() as f64) as usize)
            } else {
                let event = queue.next_event(&mut links).unwrap();
                assert_eq!(Some(event), model.pop_first(), "step {step}");
                now = event.time;
                // Half of the handlers arm their slot again.
                if stream.uniform() < 0.5 {
                    queue.leave(event.slot);
                    idle.push(event.slot);
                    continue;
                }
                event.slot
            };
            let time = now + Duration::from_nanos((-stream.uniform().ln() * ahead) as u64 / 10 * 10);
            let event = Event { time, scheduled: Time::from_nanos(step % 3).min(time), slot };
            match slot < 500 {
                true => {
                    (links.0[slot as usize].0, links.0[slot as usize].1) = (event.time, event.scheduled);
                    if queue.is_crowded {
                        queue.add_to_crowd(slot, event.time, event.scheduled, &mut links);
                    } else {
                        queue.add_for_link(slot, event.time, event.scheduled);
                    }
                }
                false => queue.arm(slot, event.time, event.scheduled),
            }
            model.insert(event);
            was_crowded.insert((armed > 64, queue.is_crowded));
            sizes.insert(queue.wheel.size());
            if step % 997 == 0
                && let Some(&event) = model.iter().find(|event| event.slot < 500)
            {
                // The oldest packet has left its link already.
                links.0[event.slot as usize].0 = event.time + Duration::from_nanos(1 + step % 1_000_000);
                queue.unsettle(event.slot, event.time, event.scheduled, &mut links);
                queue.disarm(event.slot);
                model.remove(&event);
                idle.push(event.slot);
            }
        }
        let counts: std::collections::BTreeSet<_> = sizes.iter().map(|&(buckets, _)| buckets).collect();
        // Few links need no calendar; once there are many, it stays. Some of the 64 are timers.
        assert!(was_crowded.contains(&(false, false)) && was_crowded.contains(&(true, true)), "{was_crowded:?}");
        assert!(sizes.len() > 5 && counts.len() > 1, "as many and as wide buckets as the densities need: {sizes:?}");
    }
}
