//! Named segments of a flow that are lost at their first transmission.

use super::{Arrival, ErrorModel, Losses, LossyLink};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Segments of one flow.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SegmentErrors {
    /// Name of the flow.
    pub flow: String,
    /// Numbers of the segments, counted as the sender numbers them: segment 0 opens the connection.
    pub segments: Vec<u32>,
}

impl ErrorModel for SegmentErrors {
    fn tidy(&mut self) {
        self.segments.sort_unstable();
        self.segments.dedup();
    }

    fn build(&self, link: &LossyLink<'_>) -> Option<Box<dyn Losses>> {
        let flow = link.flows.iter().position(|name| *name == self.flow)?;
        Some(Box::new(Segments { flow, left: self.segments.iter().copied().collect() }))
    }

    fn names_packets(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Segments {
    flow: usize,
    left: BTreeSet<u32>,
}

impl Losses for Segments {
    fn loses(&mut self, arrival: &Arrival<'_>) -> bool {
        let is_first = arrival.flow() == self.flow && !arrival.is_retransmission();
        is_first && arrival.segment().is_some_and(|segment| self.left.remove(&segment))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, again, link, loses, packet};
    use super::*;

    #[test]
    fn named_segments_are_lost_once_at_their_first_transmission() {
        let errors = SegmentErrors { flow: "b".into(), segments: vec![5] };
        assert!(errors.build(&link(1)).is_none(), "no flow is called so");
        let mut model = errors.build(&LossyLink { flows: &["b", "c"], ..link(1) }).unwrap();
        assert!(!loses(&mut *model, &packet(4, 4), 0));
        assert!(!loses(&mut *model, &ack(5, 5), 0));
        assert!(loses(&mut *model, &packet(5, 5), 0));
        assert!(!loses(&mut *model, &again(5, 9), 0));
        assert!(!loses(&mut *model, &packet(5, 10), 0));
    }
}
