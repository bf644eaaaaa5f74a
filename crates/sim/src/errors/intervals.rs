//! Times in which a link loses everything.

use super::Arrival;
use skyhop_base::{Duration, Faults, Time};

/// Pairs of moments since the start of the run, as files write them.
pub(super) type Pairs = [[Duration; 2]];

/// Says which pairs do not end after they begin; they stand under `key`.
pub(super) fn check(pairs: &Pairs, key: &'static str, faults: &mut Faults) {
    for (i, [from, until]) in pairs.iter().enumerate().filter(|(_, [from, until])| from >= until) {
        faults.key(key).index(i).add(format_args!("{until} is not after {from}"));
    }
}

/// Everything that arrives from the first to before the second moment of a pair is lost.
#[derive(Clone, Debug)]
pub(super) struct Intervals(Vec<(Time, Time)>);

impl Intervals {
    pub fn new(pairs: &Pairs) -> Intervals {
        Intervals(pairs.iter().map(|[from, until]| (Time::ZERO + *from, Time::ZERO + *until)).collect())
    }

    pub fn hold(&self, arrival: &Arrival<'_>) -> bool {
        self.0.iter().any(|&(from, until)| from <= arrival.at && arrival.at < until)
    }
}
