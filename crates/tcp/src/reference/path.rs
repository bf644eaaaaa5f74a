//! The path alone: recorded arrivals go in, times of delivery, queues and outcomes are compared.

use super::trace::Lost;
use super::{Case, Packet};
use crate::path::{Class, DeliveryOutcome, PathDirection, PathLink, PathTraversal, ip_bytes};
use skyhop_base::{Duration, Time};
use std::collections::VecDeque;

/// Times are recorded to a microsecond: a packet may find one more or one less packet waiting within that.
const RESOLUTION: Duration = Duration::from_micros(3);

/// How the path's model and a recording agree.
#[derive(Clone, Debug, Default)]
pub struct PathComparison {
    pub packets: usize,
    /// Packets whose outcome differs.
    pub outcomes: usize,
    /// Packets that found another number waiting.
    pub queues: usize,
    /// Differences of the times of delivery, in order of size.
    pub errors: Vec<Duration>,
    /// The first packet whose outcome or queue differs, in words.
    pub first: Option<String>,
}

impl PathComparison {
    /// The error that all but one in a hundred deliveries stay below.
    pub fn p99(&self) -> Duration {
        let place = (self.errors.len() * 99).div_ceil(100).max(1) - 1;
        self.errors.get(place).copied().unwrap_or_default()
    }

    pub fn largest(&self) -> Duration {
        self.errors.last().copied().unwrap_or_default()
    }
}

/// Feeds the recorded arrivals of both directions to the path.
pub fn compare_path(case: &Case, packets: &[Packet]) -> PathComparison {
    let path = &case.path;
    let link = |direction: PathDirection| {
        PathLink::new(direction, path.rate, path.delay, path.queues[direction as usize], path.events.clone())
    };
    let mut links = [link(PathDirection::Data), link(PathDirection::Ack)];
    let mut comparison = PathComparison { packets: packets.len(), ..PathComparison::default() };
    let mut counts = [0; 4];
    let mut begins: [VecDeque<Time>; 2] = Default::default();
    for packet in packets {
        let segment = &packet.segment;
        let bytes = if segment.syn { path.syn_bytes } else { ip_bytes(segment) };
        let class = Class::of(segment, packet.direction == PathDirection::Data);
        let ordinal = class.map_or(0, |class| {
            counts[class as usize] += 1;
            counts[class as usize]
        });
        let outcomes = class.into_iter().flat_map(|class| path.outcomes.of(class, ordinal));
        let traversal = links[packet.direction as usize].enter(packet.entered, bytes, outcomes);
        let begins = &mut begins[packet.direction as usize];
        let waiting = |at: Time| begins.iter().filter(|&&begin| begin > at).count();
        let fewest = waiting(packet.entered + RESOLUTION);
        while begins.front().is_some_and(|&begin| begin + RESOLUTION < packet.entered) {
            begins.pop_front();
        }
        let most = begins.len();
        begins.extend(traversal.begins);
        let outcome_differs = lost(&traversal) != packet.lost
            || traversal.marked != packet.marked
            || traversal.duplicate.is_some() != packet.duplicate.is_some();
        let queue_differs = !(fewest..=most).contains(&packet.queue);
        comparison.outcomes += usize::from(outcome_differs);
        comparison.queues += usize::from(queue_differs);
        if (outcome_differs || queue_differs) && comparison.first.is_none() {
            comparison.first = Some(format!("recorded {packet:?}, modelled {traversal:?}"));
        }
        let pairs = [(traversal.out, packet.out), (traversal.duplicate, packet.duplicate)];
        comparison.errors.extend(pairs.into_iter().filter_map(|(ours, theirs)| {
            let (ours, theirs) = (ours?, theirs?);
            Some(ours.since(theirs).max(theirs.since(ours)))
        }));
    }
    comparison.errors.sort_unstable();
    comparison
}

fn lost(traversal: &PathTraversal) -> Option<Lost> {
    match traversal.verdict {
        DeliveryOutcome::Delivered => None,
        DeliveryOutcome::TailDrop => Some(Lost::Tail),
        DeliveryOutcome::Drop => Some(Lost::Listed),
        DeliveryOutcome::Outage => Some(Lost::Outage),
    }
}
