//! How far the parts of a run are, and what they send each other.

use super::part::Mail;
use crate::simulation::Simulation;
use skyhop_base::Time;
use std::mem::swap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a part publishes, on cache lines of its own. Processors fetch lines in pairs.
#[derive(Default)]
#[repr(align(128))]
struct Place {
    at: AtomicU64,
    horizon: AtomicU64,
}

/// By part: how far it is, and the time before which nothing arrives elsewhere that it has not posted.
pub(super) struct Horizons {
    places: Vec<Place>,
}

impl Horizons {
    pub fn new(parts: usize) -> Horizons {
        Horizons { places: (0..parts).map(|_| Place::default()).collect() }
    }

    /// A part has handled its events before `at` and posted all that arrives elsewhere before `horizon`.
    pub fn publish(&self, part: usize, at: Time, horizon: Time) {
        let place = &self.places[part];
        place.at.store(at.as_nanos(), Ordering::Release);
        place.horizon.store(horizon.as_nanos(), Ordering::Release);
    }

    /// The least of what the other parts have published, both at most `most`.
    pub fn of_others(&self, me: usize, most: Time) -> (Time, Time) {
        let others = self.places.iter().enumerate().filter(|&(part, _)| part != me);
        others.fold((most, most), |(at, horizon), (_, place)| {
            let of_place = Time::from_nanos(place.horizon.load(Ordering::Acquire));
            (at.min(Time::from_nanos(place.at.load(Ordering::Acquire))), horizon.min(of_place))
        })
    }
}

/// What one part has sent another.
#[derive(Default)]
#[repr(align(128))]
struct Mailbox {
    /// Whether there is any, so that nobody locks an empty box.
    has_mail: AtomicBool,
    mail: Mutex<Mail>,
}

/// The boxes of all parts: from the second index to the first, `to * parts + from`.
pub(super) struct Mailboxes {
    parts: usize,
    boxes: Vec<Mailbox>,
}

impl Mailboxes {
    pub fn new(parts: usize) -> Mailboxes {
        Mailboxes { parts, boxes: (0..parts * parts).map(|_| Mailbox::default()).collect() }
    }

    /// Takes in what the other parts have sent.
    pub fn take_in(&self, part: &mut Simulation) {
        let Some(state) = &mut part.part else { return };
        let (me, mut inbox) = (state.me as usize, std::mem::take(&mut state.inbox));
        for place in &self.boxes[me * self.parts..(me + 1) * self.parts] {
            if !place.has_mail.load(Ordering::Acquire) {
                continue;
            }
            {
                let mut mail = place.mail.lock().unwrap_or_else(PoisonError::into_inner);
                place.has_mail.store(false, Ordering::Relaxed);
                swap(&mut *mail, &mut inbox);
            }
            part.take_in(&mut inbox);
        }
        if let Some(state) = &mut part.part {
            state.inbox = inbox;
        }
    }

    /// Hands over what a part has for others.
    pub fn post(&self, part: &mut Simulation) {
        let Some(part) = &mut part.part else { return };
        let me = part.me as usize;
        for (to, mail) in part.mail.iter_mut().enumerate().filter(|(_, mail)| !mail.is_empty()) {
            let place = &self.boxes[to * self.parts + me];
            let mut waiting = place.mail.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting.is_empty() {
                swap(&mut *waiting, mail);
            } else {
                waiting.append(mail);
            }
            place.has_mail.store(true, Ordering::Release);
        }
    }
}

/// When each part would be where it is if every part had a core, in the time of an event.
pub(super) struct Schedule {
    parts: Vec<Course>,
}

#[derive(Default)]
struct Course {
    /// The events until now, and those for which the part has waited.
    now: u64,
    /// Horizons, and when each was published.
    published: Vec<(Time, u64)>,
}

impl Schedule {
    pub fn new(parts: usize) -> Schedule {
        Schedule { parts: (0..parts).map(|_| Course::default()).collect() }
    }

    /// A part publishes a horizon.
    pub fn publish(&mut self, part: usize, horizon: Time) {
        let course = &mut self.parts[part];
        course.published.push((horizon, course.now));
    }

    /// A part handles so many events until an instant: as soon as all others allow it.
    pub fn runs(&mut self, part: usize, until: Time, events: u64) {
        let ready = self.parts.iter().enumerate().filter(|&(other, _)| other != part).filter_map(|(_, course)| {
            let first = course.published.partition_point(|&(horizon, _)| horizon < until);
            course.published.get(first).map(|&(_, at)| at)
        });
        let ready = ready.max().unwrap_or(0);
        let course = &mut self.parts[part];
        course.now = course.now.max(ready) + events;
    }

    /// All parts meet. Gives the time that the window has taken.
    pub fn end_window(&mut self) -> u64 {
        let longest = self.parts.iter().map(|course| course.now).max().unwrap_or(0);
        self.parts.iter_mut().for_each(|course| {
            course.now = 0;
            course.published.clear();
        });
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_part_sees_the_least_of_what_the_others_publish() {
        let horizons = Horizons::new(3);
        horizons.publish(0, ms(1), ms(11));
        horizons.publish(1, ms(5), ms(8));
        horizons.publish(2, ms(3), ms(20));
        assert_eq!(horizons.of_others(0, ms(100)), (ms(3), ms(8)));
        assert_eq!(horizons.of_others(1, ms(100)), (ms(1), ms(11)));
        assert_eq!(horizons.of_others(2, ms(7)), (ms(1), ms(7)));
    }

    /// Two parts with a lookahead of 10 ms, by turns busy with a burst: each would wait for the other at the end of
    /// each lookahead, and need not.
    #[test]
    fn bursts_that_go_to_and_fro_keep_both_parts_busy() {
        let mut schedule = Schedule::new(2);
        for part in 0..2 {
            schedule.publish(part, ms(10));
        }
        for window in 0..10 {
            for half in 1..=2 {
                let until = ms(10 * window + 5 * half);
                for part in 0..2 {
                    let is_busy = window % 2 == part as u64;
                    schedule.runs(part, until, if is_busy { 45 } else { 5 });
                    schedule.publish(part, until + skyhop_base::Duration::from_millis(10));
                }
            }
        }
        // 500 events each. With a wait after each lookahead it would be ten times 90.
        let took = schedule.end_window();
        assert!((500..=590).contains(&took), "{took}");
        assert_eq!(schedule.end_window(), 0);
    }
}
