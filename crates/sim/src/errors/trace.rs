//! Losses that are given one by one.

use super::intervals::{self, Intervals};
use super::{Arrival, ErrorModel, LinkFacts, Losses, LossyLink};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Duration, Faults};
use std::collections::BTreeSet;

/// Losses one by one: packets by number, times from and until, or both.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceErrors {
    /// Numbers of packets as they come over the link, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<Vec<u64>>,
    /// Everything that arrives from the first to before the second moment of a pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub during: Option<Vec<[Duration; 2]>>,
}

impl ErrorModel for TraceErrors {
    fn check(&self, _link: &LinkFacts, faults: &mut Faults) {
        if self.packets.is_none() && self.during.is_none() {
            let help = "write packets = [17, 18] or during = [[\"10 s\", \"12 s\"]]";
            faults.here().add_with_help("names no losses", help);
        }
        intervals::check(self.during.as_deref().unwrap_or_default(), "during", faults);
    }

    fn tidy(&mut self) {
        if let Some(numbers) = &mut self.packets {
            numbers.sort_unstable();
            numbers.dedup();
        }
        if let Some(during) = &mut self.during {
            during.sort_unstable();
        }
    }

    fn build(&self, _link: &LossyLink<'_>) -> Option<Box<dyn Losses>> {
        Some(Box::new(Trace {
            passed: 0,
            lost: self.packets.iter().flatten().copied().collect(),
            during: Intervals::new(self.during.as_deref().unwrap_or_default()),
        }))
    }

    fn names_packets(&self) -> bool {
        self.packets.is_some()
    }
}

#[derive(Debug)]
struct Trace {
    /// Packets that have come over the link and that no error model before this one has lost.
    passed: u64,
    lost: BTreeSet<u64>,
    during: Intervals,
}

impl Losses for Trace {
    fn loses(&mut self, arrival: &Arrival<'_>) -> bool {
        self.passed += 1;
        self.lost.remove(&(self.passed - 1)) || self.during.hold(arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{link, loses, packet};
    use super::*;
    use skyhop_base::Time;

    #[test]
    fn a_trace_names_packets_or_times() {
        let numbers = TraceErrors { packets: Some(vec![3, 1, 3]), during: None };
        let mut numbers = numbers.build(&link(1)).unwrap();
        let losses: Vec<bool> = (0..5).map(|i| loses(&mut *numbers, &packet(i, i), 0)).collect();
        assert_eq!(losses, [false, true, false, true, false]);
        let ns = Duration::from_nanos;
        let times = TraceErrors { packets: None, during: Some(vec![[ns(10), ns(20)]]) };
        let mut times = times.build(&link(1)).unwrap();
        let packet = packet(0, 0);
        let arrival = |at| Arrival { at: Time::from_nanos(at), key: 0, packet: &packet };
        assert_eq!([9, 10, 19, 20].map(|at| times.loses(&arrival(at))), [false, true, true, false]);
    }
}
