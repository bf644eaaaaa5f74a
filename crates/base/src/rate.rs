//! Data rates, and the exact time that packets take at one.

use crate::Duration;
use std::fmt;

/// A data rate in whole bits per second. Never zero: a link that carries nothing is a link that is down.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// `None` for zero.
    pub const fn from_bps(bits_per_second: u64) -> Option<Rate> {
        if bits_per_second == 0 { None } else { Some(Rate(bits_per_second)) }
    }

    pub const fn bps(self) -> u64 {
        self.0
    }

    pub fn bps_f64(self) -> f64 {
        self.0 as f64
    }

    /// Time that `bytes` take alone, rounded down to a nanosecond.
    pub fn time_of(self, bytes: u32) -> Duration {
        Duration::from_nanos(self.divide(bytes).0)
    }

    /// Whole nanoseconds that `bytes` take, and the rest in units of 1/rate nanoseconds. All but sizes above 2.3 GB are
    /// divided in 64 bits, which takes half the time; where data and ACKs share a link every other packet needs it.
    #[inline]
    fn divide(self, bytes: u32) -> (u64, u64) {
        match u64::from(bytes).checked_mul(8_000_000_000) {
            Some(scaled) => (scaled / self.0, scaled % self.0),
            None => {
                let (scaled, rate) = (u128::from(bytes) * 8_000_000_000, u128::from(self.0));
                ((scaled / rate) as u64, (scaled % rate) as u64)
            }
        }
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}

/// Serialises packets back to back and carries the part of a nanosecond that one packet leaves over to the
/// next, so that a busy link's rate is exact however long it runs.
#[derive(Clone, Copy, Debug)]
pub struct Serialiser {
    rate: Rate,
    carry: Carry,
}

impl Serialiser {
    pub fn new(rate: Rate) -> Serialiser {
        Serialiser { rate, carry: Carry::default() }
    }

    /// The transmitter was idle before the next packet: nothing is left over.
    #[inline]
    pub fn reset(&mut self) {
        self.carry.reset();
    }

    /// Time from the end of the previous packet to the end of this one, which has `bytes` on the wire.
    #[inline]
    pub fn next(&mut self, bytes: u32) -> Duration {
        self.carry.next(&self.rate, bytes)
    }
}

/// What a [`Serialiser`] keeps from one packet to the next, for whoever keeps the rate elsewhere: it is read only for
/// sizes that were not asked for last, and where something is left over. Every call is to give the same rate.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Carry {
    /// Left over from the packets before, in units of 1/rate nanoseconds; below the rate.
    remainder: u64,
    /// The remainder and the quotient of the last size asked for, if that takes less than 2³² ns, and the size: traffic
    /// has few sizes and divisions are slow.
    part: u64,
    nanos: u32,
    bytes: u32,
}

impl Carry {
    /// Time of a packet that has `bytes` on the wire, on a link that was idle before it: nothing is left over.
    #[inline]
    pub fn first(&mut self, rate: &Rate, bytes: u32) -> Duration {
        let (nanos, part) = self.quotient(rate, bytes);
        self.remainder = part;
        Duration::from_nanos(nanos)
    }

    #[inline]
    fn quotient(&mut self, rate: &Rate, bytes: u32) -> (u64, u64) {
        if self.bytes == bytes { (self.nanos.into(), self.part) } else { self.divide(*rate, bytes) }
    }

    #[inline]
    fn divide(&mut self, rate: Rate, bytes: u32) -> (u64, u64) {
        let (nanos, part) = rate.divide(bytes);
        if let Ok(nanos) = nanos.try_into() {
            (self.bytes, self.nanos, self.part) = (bytes, nanos, part);
        }
        (nanos, part)
    }

    /// See [`Serialiser::reset`].
    #[inline]
    pub fn reset(&mut self) {
        self.remainder = 0;
    }

    /// See [`Serialiser::next`].
    #[inline]
    pub fn next(&mut self, rate: &Rate, bytes: u32) -> Duration {
        let (mut nanos, part) = self.quotient(rate, bytes);
        self.remainder += part;
        if self.remainder >= rate.0 {
            self.remainder -= rate.0;
            nanos += 1;
        }
        Duration::from_nanos(nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_link_keeps_its_exact_rate() {
        // 1500 B at 7 Mbit/s take 12/7 ms: no whole number of nanoseconds.
        let mut serialiser = Serialiser::new(Rate::from_bps(7_000_000).unwrap());
        let total: u64 = (0..7_000).map(|_| serialiser.next(1500).as_nanos()).sum();
        assert_eq!(total, 12_000_000_000);
    }

    #[test]
    fn mixed_sizes_keep_the_exact_rate_too() {
        let mut serialiser = Serialiser::new(Rate::from_bps(3).unwrap());
        let total: u64 = [1, 2, 1, 5].iter().map(|&b| serialiser.next(b).as_nanos()).sum();
        assert_eq!(total, 9 * 8_000_000_000 / 3);
    }

    #[test]
    fn sizes_that_take_seconds_keep_it_too() {
        // 4 s are less than 2³² ns, 8 s are more.
        let mut serialiser = Serialiser::new(Rate::from_bps(6).unwrap());
        let total: u64 = [3, 6, 3, 6, 6, 3].iter().map(|&b| serialiser.next(b).as_nanos()).sum();
        assert_eq!(total, 27 * 8_000_000_000 / 6);
    }

    #[test]
    fn zero_is_no_rate() {
        assert_eq!(Rate::from_bps(0), None);
    }
}
