//! Round-trip times: the kernel's estimator (RFC 6298 with a deviation that forgets slowly) and the running minimum.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::segment::Seq;

/// The window of the running minimum, in microseconds (`tcp_min_rtt_wlen`, 300 s).
const MIN_RTT_WINDOW_US: u64 = 300_000_000;

/// The least of four deviations, in microseconds (G of RFC 6298 §2): a constant RTT would else leave no margin. The
/// kernel's timestamps count milliseconds.
const GRANULARITY_US: u64 = 1_000;

/// How the TCP of Linux finds the retransmission timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LinuxEstimator")]
pub enum Estimator {
    /// The deviation forgets slowly, and `min_rto` adds to the smoothed RTT.
    #[default]
    #[serde(rename = "linux")]
    Linux,
    /// RFC 6298, with a sample for each ACK: `min_rto` bounds the timeout.
    #[serde(rename = "rfc-6298")]
    Rfc6298,
}

/// The smoothed RTT, its deviation and the timeout that follows. Microseconds; the deviations count four times over.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    /// Eight times the smoothed RTT; zero before the first sample.
    pub srtt8_us: u64,
    /// The mean deviation, and the largest of it in this round trip.
    pub mdev_us: u64,
    mdev_max_us: u64,
    /// The variance of the timeout.
    pub rttvar_us: u64,
    /// When this number is passed the round trip ends.
    round_end: Seq,
    min_rto_us: u64,
    minimum: WindowedMin,
}

impl RttEstimator {
    pub fn new(min_rto_us: u64, initial_rto_us: u64) -> RttEstimator {
        RttEstimator {
            srtt8_us: 0,
            mdev_us: initial_rto_us,
            mdev_max_us: 0,
            rttvar_us: 0,
            round_end: 0,
            min_rto_us,
            minimum: WindowedMin::default(),
        }
    }

    /// Takes a sample at a time when `una` is acknowledged and `nxt` is sent next.
    #[inline(always)]
    pub fn sample(&mut self, rtt_us: u64, una: Seq, nxt: Seq) {
        if self.srtt8_us == 0 {
            self.srtt8_us = (rtt_us << 3).max(1);
            self.mdev_us = rtt_us << 1;
            self.rttvar_us = self.mdev_us.max(self.min_rto_us);
            self.mdev_max_us = self.rttvar_us;
            self.round_end = nxt;
            return;
        }
        let error = rtt_us as i64 - (self.srtt8_us >> 3) as i64;
        self.srtt8_us = (self.srtt8_us as i64 + error).max(1) as u64;
        let mut change = error.abs() - (self.mdev_us >> 2) as i64;
        // A deviation that grows because the RTT falls is taken with an eighth of the weight.
        if error < 0 && change > 0 {
            change >>= 3;
        }
        self.mdev_us = (self.mdev_us as i64 + change).max(0) as u64;
        if self.mdev_us > self.mdev_max_us {
            self.mdev_max_us = self.mdev_us;
            self.rttvar_us = self.rttvar_us.max(self.mdev_max_us);
        }
        if una > self.round_end {
            if self.mdev_max_us < self.rttvar_us {
                self.rttvar_us -= (self.rttvar_us - self.mdev_max_us) >> 2;
            }
            self.round_end = nxt;
            self.mdev_max_us = self.min_rto_us;
        }
    }

    /// The same by RFC 6298 §2.2 and §2.3, with 1/8 and 1/4 as weights.
    pub fn sample_by_rfc(&mut self, rtt_us: u64) {
        if self.srtt8_us == 0 {
            self.srtt8_us = (rtt_us << 3).max(1);
            self.mdev_us = rtt_us << 1;
        } else {
            let error = rtt_us as i64 - (self.srtt8_us >> 3) as i64;
            self.srtt8_us = (self.srtt8_us as i64 + error).max(1) as u64;
            self.mdev_us = (self.mdev_us as i64 + error.abs() - (self.mdev_us >> 2) as i64).max(0) as u64;
        }
        // What makes the sum of both the timeout.
        self.rttvar_us = self.mdev_us.max(GRANULARITY_US).max(self.min_rto_us.saturating_sub(self.srtt8_us >> 3));
    }

    /// The timeout without back-off: smoothed RTT and four deviations, the deviations never below the minimum.
    pub fn rto_us(&self) -> u64 {
        (self.srtt8_us >> 3) + self.rttvar_us
    }

    /// Sets the deviation where the hand-shake gave no sample (RFC 6298 §5.7).
    pub fn fall_back(&mut self, rto_us: u64) {
        self.rttvar_us = rto_us;
        self.mdev_us = rto_us;
        self.mdev_max_us = rto_us;
    }

    #[inline(always)]
    pub fn update_min(&mut self, now_us: u64, rtt_us: u64) {
        self.minimum.update(now_us, rtt_us);
    }

    /// `u64::MAX` before the first sample.
    pub fn min_us(&self) -> u64 {
        self.minimum.best()
    }
}

/// Minimum over a sliding window, kept as the three best values of ever later parts of it (Kathleen Nichols's method).
#[derive(Clone, Copy, Debug)]
struct WindowedMin {
    best: [(u64, u64); 3],
    /// Up to this time values above the third best change nothing.
    quiet_to: u64,
}

impl Default for WindowedMin {
    fn default() -> WindowedMin {
        WindowedMin { best: [(0, u64::MAX); 3], quiet_to: 0 }
    }
}

impl WindowedMin {
    fn best(&self) -> u64 {
        self.best[0].1
    }

    #[inline(always)]
    fn update(&mut self, now: u64, value: u64) {
        if value <= self.best[2].1 || now > self.quiet_to {
            self.change(now, value);
            self.quiet_to = self.end_of_quiet();
        }
    }

    /// The last time at which no age in [`WindowedMin::change`] is reached.
    fn end_of_quiet(&self) -> u64 {
        let [first, second, third] = self.best.map(|(at, _)| at);
        let mut age = MIN_RTT_WINDOW_US;
        if second == first {
            age = MIN_RTT_WINDOW_US / 4;
        } else if third == second {
            age = MIN_RTT_WINDOW_US / 2;
        }
        (first + age).min(third + MIN_RTT_WINDOW_US)
    }

    #[inline(never)]
    fn change(&mut self, now: u64, value: u64) {
        let new = (now, value);
        if value <= self.best[0].1 || now - self.best[2].0 > MIN_RTT_WINDOW_US {
            self.best = [new; 3];
            return;
        }
        if value <= self.best[1].1 {
            self.best[1] = new;
            self.best[2] = new;
        } else if value <= self.best[2].1 {
            self.best[2] = new;
        }
        let age = now - self.best[0].0;
        if age > MIN_RTT_WINDOW_US {
            self.best = [self.best[1], self.best[2], new];
            if now - self.best[0].0 > MIN_RTT_WINDOW_US {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].0 == self.best[0].0 && age > MIN_RTT_WINDOW_US / 4 {
            self.best[1] = new;
            self.best[2] = new;
        } else if self.best[2].0 == self.best[1].0 && age > MIN_RTT_WINDOW_US / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_samples_are_those_of_the_kernel() {
        // A 100 ms path of 10 Mbit/s: srtt and four times the deviation as the kernel's TCP_INFO gave them.
        let mut rtt = RttEstimator::new(200_000, 250_000);
        rtt.sample(100_249, 1, 1);
        assert_eq!((rtt.srtt8_us >> 3, rtt.mdev_us >> 2, rtt.rto_us()), (100_249, 50_124, 300_747));
        rtt.sample(101_345, 1_449, 14_481);
        assert_eq!((rtt.srtt8_us >> 3, rtt.mdev_us >> 2), (100_386, 37_867));
    }

    #[test]
    fn timeouts_by_the_rfc_are_those_of_the_worked_example() {
        // algorithms_vectors.json, "rto_rfc6298_basic" and "rto_rfc6298_floor", in whole microseconds.
        let timeouts = |samples: [u64; 3], min_us| {
            let mut rtt = RttEstimator::new(min_us, 1_000_000);
            samples.map(|sample| {
                rtt.sample_by_rfc(sample);
                (rtt.srtt8_us >> 3, rtt.mdev_us >> 2, rtt.rto_us())
            })
        };
        let basic = [(500_000, 250_000, 1_500_000), (512_500, 212_500, 1_362_500), (523_437, 181_250, 1_248_437)];
        assert_eq!(timeouts([500_000, 600_000, 600_000], 1_000_000), basic);
        let floor = [(100_000, 50_000, 1_000_000), (100_000, 37_500, 1_000_000), (100_000, 28_125, 1_000_000)];
        assert_eq!(timeouts([100_000; 3], 1_000_000), floor);
        // Without scatter the margin is the granularity.
        let mut rtt = RttEstimator::new(200_000, 1_000_000);
        (0..100).for_each(|_| rtt.sample_by_rfc(600_000));
        assert_eq!(rtt.rto_us(), 601_000);
    }

    #[test]
    fn the_minimum_expires() {
        let mut rtt = RttEstimator::new(200_000, 250_000);
        rtt.update_min(0, 50);
        rtt.update_min(MIN_RTT_WINDOW_US / 2, 80);
        assert_eq!(rtt.min_us(), 50);
        rtt.update_min(MIN_RTT_WINDOW_US + 1, 90);
        assert_eq!(rtt.min_us(), 80);
    }

    #[test]
    fn quiet_times_change_nothing() {
        let (mut asked, mut always) = (WindowedMin::default(), WindowedMin::default());
        // Values that fall and rise, at distances up to a whole window.
        let mut state = 7u64;
        let mut now = 0;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            now += (state >> 33) % [1_000, 1_000_000, MIN_RTT_WINDOW_US][(state >> 61) as usize % 3];
            let value = 50 + (state >> 20) % 100;
            asked.update(now, value);
            always.change(now, value);
            assert_eq!(asked.best, always.best);
        }
    }
}
