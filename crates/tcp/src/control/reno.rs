//! Reno: slow start and one segment per RTT (RFC 5681, with the byte counting of RFC 3465).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Control, ControlOptions};
use crate::flow::Flow;

/// Options of Reno: it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenoOptions {}

impl ControlOptions for RenoOptions {
    fn build(&self, _seed: u64) -> Box<dyn Control> {
        Box::new(Reno)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Reno;

impl Control for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        (flow.cwnd >> 1).max(2)
    }

    fn grow(&mut self, flow: &mut Flow, acked: u32) {
        if let Some(acked) = flow.left_for_avoidance(acked) {
            flow.grow_additively(flow.cwnd, acked);
        }
    }
}
