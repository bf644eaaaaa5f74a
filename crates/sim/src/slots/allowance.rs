//! A limit on what a link carries beyond a rate: a token bucket before the transmitter, which delays and never drops.
//!
//! Tokens come at `rate`, at most `bytes` of them are kept, and each packet takes as many as it has bits. A packet
//! begins as soon as none are owed, so a packet larger than the bucket passes, too, and an empty bucket of any size
//! lets pass exactly its rate.
//!
//! A bucket may also be restored: from time to time all of its tokens are there at once, whatever was owed.

use crate::slots::draws::{Draw, length};
use skyhop_base::{Duration, Stream, Time};

/// What a link may carry beyond a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Allowance {
    /// Tokens that come in a second, in bit; more than zero.
    pub rate: u64,
    /// Tokens that are kept at most, in bytes.
    pub bytes: u64,
    /// Share of `bytes` that is there at t = 0, from 0 to 1.
    pub filled: f64,
    /// Quantiles of the time from one restoration to the next; each is more than zero. Empty: never.
    pub restored: Vec<Duration>,
    /// When the first restoration is. `None`: drawn, as it lies where nobody knows when the one before was.
    pub restored_at: Option<Duration>,
}

/// The tokens of one link. In 10⁻⁹ bit, so that a nanosecond of any whole rate is a whole number of them.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate: i128,
    most: i128,
    /// As of `at`, in ns; below zero where a packet took more than there were.
    tokens: i128,
    at: u64,
    /// The first restoration after `at`, in ns, and how many were before it; the greatest number is never.
    next: u64,
    count: u64,
    restored: Vec<Duration>,
    draws: Stream,
}

/// Tokens of a byte.
const OF_BYTE: i128 = 8_000_000_000;

impl Bucket {
    pub fn new(allowance: &Allowance, draws: &Stream) -> Bucket {
        let filled = (allowance.bytes as f64 * allowance.filled) as i128;
        let most = i128::from(allowance.bytes);
        let first = allowance.restored_at.map_or_else(|| first(&allowance.restored, draws), Duration::as_nanos);
        let mut bucket = Bucket {
            rate: allowance.rate.into(),
            most: most * OF_BYTE,
            tokens: filled.min(most) * OF_BYTE,
            at: 0,
            next: if allowance.restored.is_empty() { u64::MAX } else { first },
            count: 0,
            restored: allowance.restored.clone(),
            draws: draws.clone(),
        };
        if bucket.next == 0 {
            bucket.tokens = bucket.most;
            bucket.pass(0);
        }
        bucket
    }

    /// Puts the next restoration after an instant.
    fn pass(&mut self, ns: u64) {
        while self.next <= ns {
            self.count += 1;
            let apart = length(&self.restored, self.draws.uniform_of(Draw::Restored as u64, self.count));
            self.next = self.next.saturating_add(apart.as_nanos().max(1));
        }
    }

    fn level(&self, ns: u64) -> i128 {
        if ns >= self.next {
            // All tokens are there, and nothing was taken since.
            return self.most;
        }
        let came = i128::from(ns.saturating_sub(self.at)) * self.rate;
        (self.tokens + came).min(self.most)
    }

    /// The first instant from `ready` on at which no tokens are owed.
    pub fn clear(&self, ready: Time) -> Time {
        let owed = -self.level(ready.as_nanos());
        if owed <= 0 {
            return ready;
        }
        // Rounded up: a nanosecond before there would still be something owed.
        let wait = (owed + self.rate - 1) / self.rate;
        let paid = ready.as_nanos().saturating_add(u64::try_from(wait).unwrap_or(u64::MAX));
        Time::from_nanos(paid.min(self.next))
    }

    /// A packet whose service begins at `start`.
    pub fn take(&mut self, start: Time, bytes: u32) {
        self.tokens = self.level(start.as_nanos()) - i128::from(bytes) * OF_BYTE;
        self.at = self.at.max(start.as_nanos());
        self.pass(self.at);
    }
}

/// When the first restoration is, in ns, if t = 0 is any instant: it lies anywhere in the time between two of them, and
/// in a long one more probably than in a short one.
fn first(restored: &[Duration], draws: &Stream) -> u64 {
    let [of_gap, of_part, into] = [0, 1, 2].map(|n| draws.uniform_of(Draw::RestoredAt as u64, n));
    let gaps: Vec<[f64; 2]> = match restored {
        [one] => vec![[one.as_nanos() as f64; 2]],
        _ => restored.windows(2).map(|gap| [gap[0], gap[1]].map(|end| end.as_nanos() as f64)).collect(),
    };
    let mut left = of_gap * gaps.iter().map(|[least, most]| least + most).sum::<f64>();
    for [least, most] in gaps {
        if left < least + most {
            // Within the gap long times are more probable, too: their density rises with the time itself.
            let [a, b] = [least * least, most * most];
            let time = libm::sqrt(a + of_part * (b - a));
            return (((1.0 - into) * time) as u64).max(1);
        }
        left -= least + most;
    }
    u64::MAX
}
