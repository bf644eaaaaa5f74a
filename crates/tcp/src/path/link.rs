//! One direction of the bottleneck: everything that happens to a packet follows from its arrival.

use super::{Events, Outcome, PathDirection};
use skyhop_base::{Duration, Rate, Time};
use std::collections::VecDeque;

/// Why a packet arrived or did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryOutcome {
    Delivered,
    /// The queue was full.
    TailDrop,
    /// Lost because the list of outcomes says so.
    Drop,
    /// Lost because an outage overlapped its service.
    Outage,
}

/// What became of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathTraversal {
    /// Packets that waited when it came.
    pub queue: usize,
    pub verdict: DeliveryOutcome,
    /// Whether the list of outcomes marks it; it leaves as "congestion experienced".
    pub marked: bool,
    /// Whether the list of outcomes delays it outside the FIFO.
    pub delayed: bool,
    /// When its service begins.
    pub begins: Option<Time>,
    /// When it reaches the other host.
    pub out: Option<Time>,
    /// When a second copy does.
    pub duplicate: Option<Time>,
}

/// A FIFO with drop tail, served at a rate, followed by a delay.
#[derive(Clone, Debug)]
pub struct PathLink {
    direction: PathDirection,
    rate: Rate,
    delay: Duration,
    limit: usize,
    events: Events,
    /// When service begins for each packet that waits.
    waiting: VecDeque<Time>,
    free_at: Time,
    /// The latest delivery in FIFO order: a step of the delay downwards does not reorder.
    last_out: Time,
}

impl PathLink {
    /// `limit` counts the packets that wait beside the one in service.
    pub fn new(direction: PathDirection, rate: Rate, delay: Duration, limit: usize, events: Events) -> PathLink {
        let waiting = VecDeque::new();
        PathLink { direction, rate, delay, limit, events, waiting, free_at: Time::ZERO, last_out: Time::ZERO }
    }

    /// Takes a packet of `bytes` bytes that enters at `now`; entries come in order of time.
    pub fn enter(&mut self, now: Time, bytes: u32, outcomes: impl Iterator<Item = Outcome>) -> PathTraversal {
        while self.waiting.front().is_some_and(|&begin| begin <= now) {
            self.waiting.pop_front();
        }
        let queue = self.waiting.len();
        let mut traversal = PathTraversal {
            queue,
            verdict: DeliveryOutcome::Delivered,
            marked: false,
            delayed: false,
            begins: None,
            out: None,
            duplicate: None,
        };
        let ready = now.max(self.free_at);
        let (begin, end) = self.events.service(self.direction, ready, self.rate.time_of(bytes));
        if begin > now {
            if queue >= self.limit {
                traversal.verdict = DeliveryOutcome::TailDrop;
                return traversal;
            }
            self.waiting.push_back(begin);
        }
        self.free_at = end;
        traversal.begins = Some(begin);
        let mut extra = Duration::ZERO;
        let mut duplicate = None;
        for outcome in outcomes {
            match outcome {
                Outcome::Drop => traversal.verdict = DeliveryOutcome::Drop,
                Outcome::Mark => traversal.marked = true,
                Outcome::Delay(by) => {
                    traversal.delayed = true;
                    extra += by;
                }
                Outcome::Duplicate(after) => duplicate = Some(after),
            }
        }
        if traversal.verdict == DeliveryOutcome::Delivered && self.events.loses(self.direction, begin, end) {
            traversal.verdict = DeliveryOutcome::Outage;
        }
        if traversal.verdict == DeliveryOutcome::Delivered {
            let out = (end + self.events.delay(self.direction, end, self.delay)).max(self.last_out);
            self.last_out = out;
            traversal.out = Some(out + extra);
            traversal.duplicate = duplicate.map(|after| out + extra + after);
        }
        traversal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(limit: usize, events: &str) -> PathLink {
        let rate = Rate::from_bps(10_000_000).unwrap();
        PathLink::new(PathDirection::Data, rate, Duration::from_millis(10), limit, Events::parse(events).unwrap())
    }

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn the_limit_counts_packets_that_wait() {
        let mut link = link(2, "");
        let out = |link: &mut PathLink| link.enter(us(0), 1500, std::iter::empty());
        let traversals = [out(&mut link), out(&mut link), out(&mut link), out(&mut link)];
        assert_eq!(traversals.map(|p| p.queue), [0, 0, 1, 2]);
        assert_eq!(traversals.map(|p| p.out), [Some(us(11_200)), Some(us(12_400)), Some(us(13_600)), None]);
        assert_eq!(traversals[3].verdict, DeliveryOutcome::TailDrop);
    }

    #[test]
    fn a_delayed_packet_is_overtaken_and_a_lost_one_uses_its_time() {
        let mut link = link(10, "");
        let first = link.enter(us(0), 1500, [Outcome::Delay(Duration::from_millis(5))].into_iter());
        let second = link.enter(us(0), 1500, [Outcome::Drop].into_iter());
        let third = link.enter(us(0), 1500, [Outcome::Duplicate(Duration::from_millis(1)), Outcome::Mark].into_iter());
        assert_eq!(first.out, Some(us(16_200)));
        assert_eq!((second.verdict, second.out), (DeliveryOutcome::Drop, None));
        assert_eq!((third.out, third.duplicate, third.marked), (Some(us(13_600)), Some(us(14_600)), true));
    }

    #[test]
    fn a_step_of_the_delay_downwards_keeps_the_order() {
        let mut link = link(10, "delay@0.002:D=1;hold@0.01-0.02:D");
        assert_eq!(link.enter(us(0), 1500, std::iter::empty()).out, Some(us(11_200)));
        assert_eq!(link.enter(us(1_000), 1500, std::iter::empty()).out, Some(us(11_200)));
        // It comes while the server stands still: it waits, and the next one counts it.
        assert_eq!(link.enter(us(10_500), 1500, std::iter::empty()).out, Some(us(22_200)));
        assert_eq!(link.enter(us(10_600), 1500, std::iter::empty()).queue, 1);
    }
}
