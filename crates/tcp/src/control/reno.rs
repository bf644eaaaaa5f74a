//! Reno: slow start and one segment per RTT (RFC 5681, with the byte counting of RFC 3465).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_cc::ConfigError;

use super::resume::{Resume, Saved};
use super::slow_start::{FirstSlowStart, SlowStart};
use super::{About, AckSample, Control, ControlOptions, Event};
use crate::flow::{CaState, Flow};

/// Options of Reno.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RenoOptions {
    /// How the first slow start may end before a loss.
    pub slow_start: SlowStart,
    /// A mark takes 20 % of the window instead of half (ABE, RFC 8511 §3).
    #[serde(with = "crate::switch")]
    #[schemars(with = "crate::switch::Switch")]
    pub abe: bool,
    /// Careful Resume (RFC 9959): the capacity of a former connection over the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Saved>,
}

impl ControlOptions for RenoOptions {
    const ABOUT: About = About {
        title: "Reno",
        source: "RFC 5681, with byte counting (RFC 3465)",
        year: 2009,
        kind: "loss",
        advice: "As a baseline; over a long path it needs hours without loss to fill a fast link.",
    };

    fn build(&self, _seed: u64) -> Box<dyn Control> {
        Box::new(Reno::new(*self))
    }

    fn check(&self) -> Result<(), ConfigError> {
        self.resume.map_or(Ok(()), |saved| saved.check())
    }
}

/// The factor of the window after a mark with ABE, in percent (RFC 8511 §3.1).
const ABE_PERCENT: u32 = 80;

#[derive(Clone, Debug)]
pub struct Reno {
    abe: bool,
    slow_start: FirstSlowStart,
    resume: Resume,
}

impl Reno {
    pub fn new(options: RenoOptions) -> Reno {
        Reno {
            abe: options.abe,
            slow_start: FirstSlowStart::new(options.slow_start),
            resume: Resume::new(options.resume),
        }
    }
}

impl Control for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn init(&mut self, flow: &mut Flow) {
        self.slow_start.begin(flow);
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        self.slow_start.stop();
        if let Some(window) = self.resume.retreat(flow) {
            return window;
        }
        let window = if self.abe && flow.reducing_for_mark { flow.cwnd * ABE_PERCENT / 100 } else { flow.cwnd >> 1 };
        window.max(2)
    }

    fn grow(&mut self, flow: &mut Flow, acked: u32) {
        if self.resume.may_grow() {
            flow.grow_as_reno(self.slow_start.counts(flow, acked));
        }
        self.resume.acked(flow, acked);
    }

    fn acked(&mut self, flow: &mut Flow, sample: AckSample) {
        if let Some(rtt_us) = sample.rtt_us {
            self.slow_start.sample(flow, rtt_us);
        }
    }

    fn event(&mut self, flow: &mut Flow, event: Event) {
        match event {
            Event::ReductionComplete => self.resume.repaired(flow),
            Event::WindowRestart => self.slow_start.restart(),
            _ => {}
        }
    }

    fn state_changes(&mut self, flow: &mut Flow, new: CaState) {
        // After a timeout slow start goes on to the threshold that the timeout set.
        if new == CaState::Loss {
            let _ = self.resume.retreat(flow);
            self.resume = Resume::new(None);
        }
    }

    fn pacing_percent(&self, _flow: &Flow) -> Option<u64> {
        self.resume.pacing_percent()
    }

    fn phase(&self) -> Option<&'static str> {
        let conservative = self.slow_start.is_conservative().then_some("conservative-slow-start");
        self.resume.phase().or(conservative)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_takes_a_fifth_with_abe_and_a_loss_half() {
        // algorithms_vectors.json, "ecn_abe".
        let mut flow = Flow::new(1448);
        flow.cwnd = 100;
        let mut after = |abe, mark| {
            flow.reducing_for_mark = mark;
            Reno::new(RenoOptions { abe, ..RenoOptions::default() }).ssthresh(&mut flow)
        };
        assert_eq!([after(false, false), after(false, true), after(true, true), after(true, false)], [50, 50, 80, 50]);
    }
}
