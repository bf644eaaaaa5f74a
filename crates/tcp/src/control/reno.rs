//! Reno: slow start and one segment per RTT (RFC 5681, with the byte counting of RFC 3465).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{About, Control, ControlOptions};
use crate::flow::Flow;

/// Options of Reno: it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenoOptions {}

impl ControlOptions for RenoOptions {
    const ABOUT: About = About {
        title: "Reno",
        source: "RFC 5681, with byte counting (RFC 3465)",
        year: 2009,
        kind: "loss",
        advice: "As a baseline; over a long path it needs hours without loss to fill a fast link.",
    };

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
        flow.grow_as_reno(acked);
    }
}
