//! How late real hosts turn to a packet that reached them.

use skyhop_base::Duration;
use skyhop_base::random::Stream;

/// No packet is later than this; the distribution below has no end.
const MOST: Duration = Duration::from_millis(5);

/// Deliveries that are late by chance: log-logistic, so that median and 99th percentile say all of it.
#[derive(Clone, Debug)]
pub struct Lateness {
    median: Duration,
    shape: f64,
    stream: Stream,
}

impl Lateness {
    /// Half of all packets are at most `median` late, 99 of 100 at most `p99`.
    pub fn new(median: Duration, p99: Duration, seed: u64) -> Lateness {
        // The quantile of a share p is median * (p / (1 - p))^shape.
        let shape = libm::log(p99.as_secs_f64() / median.as_secs_f64()) / libm::log(99.0);
        Lateness { median, shape, stream: Stream::new(seed, "path", "lateness") }
    }

    pub(super) fn draw(&mut self) -> Duration {
        let share = self.stream.uniform();
        let late = self.median.as_secs_f64() * libm::pow(share / (1.0 - share), self.shape);
        Duration::from_secs_f64(late.min(MOST.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_99th_percentile_are_those_asked_for() {
        let mut lateness = Lateness::new(Duration::from_micros(35), Duration::from_micros(900), 1);
        let mut late: Vec<Duration> = (0..100_000).map(|_| lateness.draw()).collect();
        late.sort_unstable();
        let us = |place: usize| late[place].as_secs_f64() * 1e6;
        assert!((us(50_000) - 35.0).abs() < 1.0, "{}", us(50_000));
        assert!((us(99_000) - 900.0).abs() < 90.0, "{}", us(99_000));
        assert!(us(99_999) <= 5000.0);
    }
}
