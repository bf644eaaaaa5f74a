//! Losses that the pace of a link brings with it: a recording's column of losses, the slots of a scheduler. A scenario
//! has them with the recording or the profile, and no key of their own.

use super::{Arrival, Losses, LossyLink};
use crate::slots::{FadeTimes, SlotConfig, SlotScheduler};
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

/// Each packet is lost with the probability that the slot and the fades give to the instant at which it arrives.
#[derive(Debug)]
pub(crate) struct SlotLosses {
    slots: SlotScheduler,
    fades: Option<FadeTimes>,
    stream: Stream,
}

impl SlotLosses {
    pub fn new(config: &SlotConfig, link: &LossyLink<'_>) -> SlotLosses {
        SlotLosses {
            slots: SlotScheduler::new(config, link.seed, link.name),
            fades: config.fades.as_ref().map(|fades| FadeTimes::new(fades, link.stream("fades"))),
            stream: link.stream("loss of slots"),
        }
    }
}

impl Losses for SlotLosses {
    fn loses(&mut self, arrival: &Arrival<'_>) -> bool {
        let of_slot = self.slots.loss(arrival.at);
        let of_fade = self.fades.as_mut().map_or(0.0, |fades| fades.loss(arrival.at));
        // One probability of both, so that a link without fades draws what it drew before they were added.
        arrival.draw(&self.stream) < of_slot + (1.0 - of_slot) * of_fade
    }
}
