//! Losses that the pace of a link brings with it: a recording's column of losses, the slots of a scheduler. A scenario
//! has them with the recording or the profile, and no key of their own.

use super::{Arrival, Losses, LossyLink};
use crate::slots::SlotScheduler;
use skyhop_base::{Duration, Stream};

/// Each packet is lost with the probability of the time at which it arrives, which holds until the next one of the
/// list; the list begins anew after the period.
#[derive(Debug)]
pub(crate) struct VaryingLosses {
    steps: Vec<(Duration, f64)>,
    period: Duration,
    stream: Stream,
}

impl VaryingLosses {
    pub fn new(steps: &[(Duration, f64)], period: Duration, link: &LossyLink<'_>) -> VaryingLosses {
        VaryingLosses { steps: steps.to_vec(), period, stream: link.stream("varying loss") }
    }
}

impl Losses for VaryingLosses {
    fn loses(&mut self, arrival: &Arrival<'_>) -> bool {
        let into = Duration::from_nanos(arrival.at.as_nanos() % self.period.as_nanos().max(1));
        let next = self.steps.partition_point(|&(at, _)| at <= into);
        let probability = next.checked_sub(1).map_or(0.0, |last| self.steps[last].1);
        arrival.draw(&self.stream) < probability
    }
}

/// Each packet is lost with the probability that the slot gives to the instant at which it arrives.
#[derive(Debug)]
pub(crate) struct SlotLosses {
    slots: SlotScheduler,
    stream: Stream,
}

impl SlotLosses {
    pub fn new(slots: SlotScheduler, link: &LossyLink<'_>) -> SlotLosses {
        SlotLosses { slots, stream: link.stream("loss of slots") }
    }
}

impl Losses for SlotLosses {
    fn loses(&mut self, arrival: &Arrival<'_>) -> bool {
        arrival.draw(&self.stream) < self.slots.loss(arrival.at)
    }
}
