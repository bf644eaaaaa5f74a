//! The emulated bottleneck of the reference: in each direction a queue that drops its tail, a server of fixed rate, and
//! a propagation delay; random losses from a generator that the reference names; delay steps with outages.

use skyhop_base::{Duration, Time};
use std::collections::VecDeque;

/// IP and UDP headers, in bytes.
pub const HEADERS: u64 = 28;

/// What an outage does to packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// The server stands still, the packets wait.
    Hold,
    /// Packets whose service overlaps the outage are lost.
    Drop,
}

/// From `at` on the one-way delay is `delay`, and the first `outage` of it nothing passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub at: Time,
    pub delay: Duration,
    pub outage: Duration,
}

/// One direction of the path.
#[derive(Clone, Debug)]
pub struct Direction {
    pub rate_bps: u64,
    pub delay: Duration,
    /// Packets that may wait; the one in service is not counted.
    pub limit: usize,
    pub loss: f64,
    pub steps: Vec<Step>,
    pub outage: Outage,
    random: SplitMix,
    free_at: Time,
    last_arrival: Time,
    /// Start of service of the packets that may still wait.
    starts: VecDeque<Time>,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOutcome {
    Arrives(Time),
    TailDrop,
    RandomLoss,
    OutageLoss,
}

impl Direction {
    /// `index`: 0 from server to client, 1 back, which keeps the two generators apart.
    pub fn new(rate_bps: u64, delay: Duration, limit: usize, loss: f64, (seed, index): (u64, u64)) -> Direction {
        let random = SplitMix(seed.wrapping_mul(1_000_003).wrapping_add(index));
        let starts = VecDeque::new();
        let (free_at, last_arrival) = (Time::ZERO, Time::ZERO);
        let (steps, outage) = (Vec::new(), Outage::Hold);
        Direction { rate_bps, delay, limit, loss, steps, outage, random, free_at, last_arrival, starts }
    }

    /// A packet of `payload` bytes above UDP enters at `now`. Also the number of packets that wait.
    pub fn enter(&mut self, now: Time, payload: usize) -> (PacketOutcome, usize) {
        while self.starts.front().is_some_and(|start| *start <= now) {
            self.starts.pop_front();
        }
        let waiting = self.starts.len();
        // An idle server takes the packet at once: a limit of zero still lets it through.
        if self.free_at > now && waiting >= self.limit {
            return (PacketOutcome::TailDrop, waiting);
        }
        let bits = u128::from(payload as u64 + HEADERS) * 8 * 1_000_000_000;
        let service = Duration::from_nanos((bits / u128::from(self.rate_bps)) as u64);
        let mut start = now.max(self.free_at);
        let mut done = start.saturating_add(service);
        let mut cut = false;
        for step in &self.steps {
            let end = step.at.saturating_add(step.outage);
            let overlaps = start < end && step.at < done;
            match self.outage {
                Outage::Hold if overlaps => {
                    let pause = end.since(start.max(step.at));
                    start = if start >= step.at { end } else { start };
                    done = done.saturating_add(pause);
                }
                Outage::Drop => cut |= overlaps,
                Outage::Hold => {}
            }
        }
        self.free_at = done;
        self.starts.push_back(start);
        let lost = self.loss > 0.0 && self.random.uniform() < self.loss;
        if cut {
            return (PacketOutcome::OutageLoss, waiting);
        }
        if lost {
            return (PacketOutcome::RandomLoss, waiting);
        }
        let delay = self.steps.iter().rfind(|step| step.at <= done).map_or(self.delay, |step| step.delay);
        let arrival = done.saturating_add(delay).max(self.last_arrival);
        self.last_arrival = arrival;
        (PacketOutcome::Arrives(arrival), waiting)
    }
}

/// The generator splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Clone, Debug)]
struct SplitMix(u64);

impl SplitMix {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        (z >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// 972 + 28 bytes at 1 Mbit/s take 8 ms.
    fn direction(limit: usize) -> Direction {
        Direction::new(1_000_000, Duration::from_millis(10), limit, 0.0, (1, 0))
    }

    #[test]
    fn the_packet_in_service_is_not_counted() {
        let mut direction = direction(1);
        assert_eq!(direction.enter(millis(0), 972), (PacketOutcome::Arrives(millis(18)), 0));
        assert_eq!(direction.enter(millis(0), 972), (PacketOutcome::Arrives(millis(26)), 0));
        assert_eq!(direction.enter(millis(0), 972), (PacketOutcome::TailDrop, 1));
        assert_eq!(direction.enter(millis(8), 972), (PacketOutcome::Arrives(millis(34)), 0));
    }

    #[test]
    fn an_outage_holds_or_loses_what_it_overlaps_and_nothing_overtakes() {
        let step = Step { at: millis(4), delay: Duration::from_millis(1), outage: Duration::from_millis(100) };
        let mut hold = Direction { steps: vec![step], ..direction(9) };
        assert_eq!(hold.enter(millis(0), 972).0, PacketOutcome::Arrives(millis(109)));
        assert_eq!(hold.enter(millis(50), 972).0, PacketOutcome::Arrives(millis(117)));
        let mut lose = Direction { steps: vec![step], outage: Outage::Drop, ..direction(9) };
        assert_eq!(lose.enter(millis(0), 972).0, PacketOutcome::OutageLoss);
        assert_eq!(lose.enter(millis(104), 972).0, PacketOutcome::Arrives(millis(113)));
    }
}
