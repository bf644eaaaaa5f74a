//! SEARCH (draft-chung-ccwg-search): slow start ends when deliveries no longer double per round trip.
//!
//! Deliveries are counted in bins of a window of 3.5 first RTTs. Each bin's end compares the deliveries of the present
//! window with twice those of the window one RTT earlier.

use crate::flow::Flow;

/// Bins of a window, and further ones that an RTT may reach back (draft, §3.1: W and EXTRA_BINS).
const BINS: u64 = 10;
const EXTRA_BINS: u64 = 15;
/// A window in tenths of the first RTT (WINDOW_SIZE_FACTOR 3.5).
const WINDOW_TENTHS: u64 = 35;
/// Share by which deliveries may stay behind twice the former ones (THRESH).
const THRESHOLD: f64 = 0.35;
/// Bins without an ACK after which counting begins anew (the authors' module for Linux, MISSED_BIN_THRESH 2).
const MISSED: u64 = 2;

/// Deliveries at the ends of the last bins, in bytes since the beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Search {
    delivered: [u64; (BINS + EXTRA_BINS + 1) as usize],
    bin_us: u64,
    bin_end_us: u64,
    last: u64,
}

impl Search {
    /// Counting begins anew with the next sample, as after an idle time.
    pub fn reset(&mut self) {
        self.bin_us = 0;
    }

    /// Takes an RTT of `rtt_us`; sets the threshold to the window where slow start ends.
    pub fn sample(&mut self, flow: &mut Flow, rtt_us: u64) {
        if self.bin_us == 0 {
            self.start(flow, rtt_us);
            return;
        }
        if flow.now_us < self.bin_end_us {
            return;
        }
        let passed = (flow.now_us - self.bin_end_us) / self.bin_us + 1;
        if passed > MISSED {
            self.start(flow, rtt_us);
            return;
        }
        for _ in 1..passed {
            self.push(self.delivered[self.place(self.last)]);
        }
        self.push(flow.una);
        self.bin_end_us += passed * self.bin_us;
        if self.shortfall(rtt_us).is_some_and(|share| share >= THRESHOLD) {
            flow.ssthresh = flow.cwnd;
        }
    }

    fn start(&mut self, flow: &Flow, rtt_us: u64) {
        self.bin_us = (rtt_us * WINDOW_TENTHS / (10 * BINS)).max(1);
        self.bin_end_us = flow.now_us + self.bin_us;
        self.last = 0;
        self.delivered[0] = flow.una;
    }

    fn push(&mut self, delivered: u64) {
        self.last += 1;
        self.delivered[self.place(self.last)] = delivered;
    }

    fn place(&self, bin: u64) -> usize {
        (bin % self.delivered.len() as u64) as usize
    }

    /// By which share of twice the former deliveries the present ones stay behind; `None` while bins are missing.
    fn shortfall(&self, rtt_us: u64) -> Option<f64> {
        let back = rtt_us / self.bin_us;
        if self.last < back + BINS + 1 || back >= EXTRA_BINS - 1 {
            return None;
        }
        let now = self.delivered[self.place(self.last)] - self.delivered[self.place(self.last - BINS)];
        // An RTT is rarely a whole number of bins. Deliveries within a bin count as even.
        let rest = (rtt_us % self.bin_us) as f64 / self.bin_us as f64;
        let at = |bin: u64| {
            let [end, before] = [bin, bin - 1].map(|bin| self.delivered[self.place(bin)] as f64);
            end - (end - before) * rest
        };
        let former = at(self.last - back) - at(self.last - back - BINS);
        (former > 0.0).then(|| (2.0 * former - now as f64) / (2.0 * former))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share after `seconds` at an RTT of 0.1 s, if `delivered` bytes were acknowledged by a time in s.
    fn shortfall(seconds: f64, delivered: impl Fn(f64) -> f64) -> f64 {
        let mut flow = Flow::new(1448);
        let mut search = Search::default();
        for ms in 100..(seconds * 1e3) as u64 {
            flow.now_us = ms * 1000;
            flow.una = delivered(ms as f64 / 1e3) as u64;
            search.sample(&mut flow, 100_000);
        }
        search.shortfall(100_000).expect("enough bins")
    }

    #[test]
    fn doubling_has_no_shortfall_and_a_steady_rate_half() {
        // Bins of 0.35 RTTs count growth within them as even, which is 1 % off.
        assert!(shortfall(1.5, |at| 1e4 * libm::pow(2.0, at / 0.1)).abs() < 0.02);
        assert!((shortfall(1.5, |at| 1e6 * at) - 0.5).abs() < 1e-3);
    }

    #[test]
    fn bins_without_an_ack_begin_the_count_anew() {
        let mut flow = Flow::new(1448);
        let mut search = Search::default();
        for ms in (0..2000).filter(|ms| !(1000..1120).contains(ms)) {
            flow.now_us = ms * 1000;
            flow.una = ms * 1000;
            search.sample(&mut flow, 100_000);
            if ms == 1200 {
                assert!(search.last < 10 && search.shortfall(100_000).is_none());
            }
        }
    }
}
