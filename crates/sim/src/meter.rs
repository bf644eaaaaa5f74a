//! What a link has used of what it can do, where the end of the last service does not say it.
//!
//! A transmitter of a steady rate is busy without a pause from the service in progress to the end of the last accepted
//! one. One that follows a recording, slots or ns-2's clock accepts packets whose service has pauses, or that wait for
//! an opportunity.

use skyhop_base::Time;
use std::collections::VecDeque;

/// A used piece of time or of an opportunity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    from: Time,
    until: Time,
    /// Nanoseconds, or bytes of an opportunity, which has no length.
    amount: u64,
}

/// Counts what is used, however far ahead of the present it was given away. No instant is counted twice.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    /// Sum of the pieces that are over.
    over: u64,
    /// In the order of time, disjoint.
    ahead: VecDeque<Piece>,
}

impl Meter {
    /// The transmitter sends from `from` to `until`; what lies before an earlier end has been counted.
    pub fn sends(&mut self, from: Time, until: Time) {
        let end = self.ahead.back().map_or(Time::ZERO, |last| last.until);
        let from = from.max(end);
        if from >= until {
            return;
        }
        match self.ahead.back_mut().filter(|last| last.until == from && last.from < last.until) {
            Some(last) => (last.until, last.amount) = (until, until.since(last.from).as_nanos()),
            None => self.ahead.push_back(Piece { from, until, amount: until.since(from).as_nanos() }),
        }
    }

    /// So many bytes of the opportunity at `at` are used.
    pub fn takes(&mut self, at: Time, bytes: u64) {
        match self.ahead.back_mut().filter(|last| last.from == at && last.until == at) {
            Some(last) => last.amount += bytes,
            None => self.ahead.push_back(Piece { from: at, until: at, amount: bytes }),
        }
    }

    /// Forgets what is over by `now`, but for its sum.
    pub fn advance(&mut self, now: Time) {
        while let Some(piece) = self.ahead.front().filter(|piece| piece.until <= now) {
            self.over += piece.amount;
            self.ahead.pop_front();
        }
    }

    /// Takes back what was given away from `from` on.
    pub fn cut(&mut self, from: Time) {
        while let Some(last) = self.ahead.back_mut().filter(|last| last.until > from) {
            if last.from < from {
                (last.until, last.amount) = (from, from.since(last.from).as_nanos());
                break;
            }
            self.ahead.pop_back();
        }
    }

    /// The amount used until `now`, which never goes back.
    pub fn used(&mut self, now: Time) -> u64 {
        self.advance(now);
        let begun = self.ahead.front().filter(|piece| piece.from < now);
        self.over + begun.map_or(0, |piece| now.since(piece.from).as_nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::Duration;

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_millis(n)
    }

    #[test]
    fn time_counts_as_it_passes_and_no_instant_twice() {
        let mut meter = Meter::default();
        [(0, 2), (2, 4), (3, 5), (10, 20)].into_iter().for_each(|(from, until)| meter.sends(ms(from), ms(until)));
        assert_eq!(meter.ahead.len(), 2, "what follows without a pause is one");
        assert_eq!([1, 5, 9, 15].map(|at| meter.used(ms(at)) / 1_000_000), [1, 5, 5, 10]);
        meter.cut(ms(16));
        assert_eq!(meter.used(ms(30)), 11_000_000);
    }

    #[test]
    fn opportunities_count_when_they_are_there() {
        let mut meter = Meter::default();
        [(2, 500), (2, 1004), (5, 7), (9, 8)].into_iter().for_each(|(at, bytes)| meter.takes(ms(at), bytes));
        assert_eq!([1, 2, 5].map(|at| meter.used(ms(at))), [0, 1504, 1511]);
        meter.cut(ms(6));
        assert_eq!(meter.used(ms(30)), 1511);
    }
}
