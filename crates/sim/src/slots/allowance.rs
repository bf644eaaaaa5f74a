//! A limit on what a link carries beyond a rate: a token bucket before the transmitter, which delays and never drops.
//!
//! Tokens come at `rate`, at most `bytes` of them are kept, and each packet takes as many as it has bits. A packet
//! begins as soon as none are owed, so a packet larger than the bucket passes, too, and an empty bucket of any size
//! lets pass exactly its rate.

use skyhop_base::Time;

/// What a link may carry beyond a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowance {
    /// Tokens that come in a second, in bit; more than zero.
    pub rate: u64,
    /// Tokens that are kept at most, in bytes.
    pub bytes: u64,
    /// Share of `bytes` that is there at t = 0, from 0 to 1.
    pub filled: f64,
}

/// The tokens of one link. In 10⁻⁹ bit, so that a nanosecond of any whole rate is a whole number of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    rate: i128,
    most: i128,
    /// As of `at`, in ns; below zero where a packet took more than there were.
    tokens: i128,
    at: u64,
}

/// Tokens of a byte.
const OF_BYTE: i128 = 8_000_000_000;

impl Bucket {
    pub fn new(allowance: &Allowance) -> Bucket {
        let filled = (allowance.bytes as f64 * allowance.filled) as i128;
        let most = i128::from(allowance.bytes);
        Bucket { rate: allowance.rate.into(), most: most * OF_BYTE, tokens: filled.min(most) * OF_BYTE, at: 0 }
    }

    fn level(&self, ns: u64) -> i128 {
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
        Time::from_nanos(ready.as_nanos().saturating_add(u64::try_from(wait).unwrap_or(u64::MAX)))
    }

    /// A packet whose service begins at `start`.
    pub fn take(&mut self, start: Time, bytes: u32) {
        self.tokens = self.level(start.as_nanos()) - i128::from(bytes) * OF_BYTE;
        self.at = self.at.max(start.as_nanos());
    }
}
