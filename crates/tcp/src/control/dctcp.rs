//! DCTCP (RFC 8257): the window falls by half the share of marked data, once per round trip.
//!
//! The receiver has to echo marks exactly (RFC 8257 §3.2: [`crate::receiver::EcnEcho::Precise`]) and the queue has
//! to mark at a low, fixed threshold. Growth and losses are those of Reno.

use super::parameters::parameters;
use super::{About, AckSample, Control, EcnUse, Event};
use crate::flow::{CaState, Flow};
use crate::segment::Seq;

const NAME: &str = "dctcp";

const ABOUT: About = About {
    title: "Data Center TCP",
    source: "RFC 8257",
    year: 2017,
    kind: "marks",
    advice: "Only where every queue on the path marks at a low threshold and no other traffic shares it; \
             starves or is starved beside Reno and CUBIC.",
};

parameters! {
    /// Parameters of DCTCP.
    pub struct DctcpOptions, ABOUT, |options, _| Dctcp::new(options) => {
        /// Weight of the latest round trip in the share of marked data.
        gain: f64 = 0.0625, in 0.001..=1.0; "RFC 8257 §4.2: g = 1/16"
        /// The share that holds before the first round trip.
        initial_alpha: f64 = 1.0, in 0.0..=1.0; "RFC 8257 §3.3"
    }
}

/// The estimate of the share of marked data.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkedShare {
    pub alpha: f64,
    round_end: Seq,
    delivered: u64,
    delivered_ce: u64,
}

impl MarkedShare {
    pub fn new(alpha: f64) -> MarkedShare {
        MarkedShare { alpha, round_end: 0, delivered: 0, delivered_ce: 0 }
    }

    pub fn begin_round(&mut self, flow: &Flow) {
        self.round_end = flow.nxt;
        self.delivered = flow.delivered;
        self.delivered_ce = flow.delivered_ce;
    }

    /// Averages once per round trip (RFC 8257 §3.3, steps 1 to 8). Returns the share of the round that ended.
    pub fn update(&mut self, flow: &Flow, gain: f64) -> Option<f64> {
        if flow.una < self.round_end {
            return None;
        }
        let delivered = flow.delivered - self.delivered;
        let marked = flow.delivered_ce - self.delivered_ce;
        let share = if delivered > 0 { marked as f64 / delivered as f64 } else { 0.0 };
        self.alpha = average(self.alpha, share, gain);
        self.begin_round(flow);
        Some(share)
    }
}

/// Alpha after a round trip with a share `marked` of marked data.
fn average(alpha: f64, marked: f64, gain: f64) -> f64 {
    (1.0 - gain) * alpha + gain * marked
}

/// The window after a round trip with marks (RFC 8257 §3.3, step 9).
fn reduced(cwnd: f64, alpha: f64) -> f64 {
    cwnd * (1.0 - alpha / 2.0)
}

#[derive(Clone, Debug)]
pub struct Dctcp {
    options: DctcpOptions,
    share: MarkedShare,
}

impl Dctcp {
    pub fn new(options: DctcpOptions) -> Dctcp {
        Dctcp { options, share: MarkedShare::new(options.initial_alpha) }
    }
}

impl Control for Dctcp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn ecn(&self) -> EcnUse {
        EcnUse::Precise
    }

    fn init(&mut self, flow: &mut Flow) {
        self.share.begin_round(flow);
    }

    fn acked(&mut self, flow: &mut Flow, _sample: AckSample) {
        self.share.update(flow, self.options.gain);
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        (reduced(f64::from(flow.cwnd), self.share.alpha) as u32).max(2)
    }

    fn grow(&mut self, flow: &mut Flow, acked: u32) {
        flow.grow_as_reno(acked);
    }

    fn event(&mut self, flow: &mut Flow, event: Event) {
        // A timeout is a loss: the threshold is half the window, whatever the share of marks (RFC 8257 §3.5).
        if event == Event::Loss {
            flow.ssthresh = (flow.prior_cwnd / 2).max(2);
        }
    }

    fn state_changes(&mut self, flow: &mut Flow, new: CaState) {
        if new == CaState::Recovery && flow.state != CaState::Recovery {
            flow.ssthresh = (flow.cwnd / 2).max(2);
        }
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        vec![("alpha", self.share.alpha)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example() {
        // algorithms_vectors.json, "dctcp": alpha 0.5, a fifth marked, 100 segments.
        let alpha = average(0.5, 0.2, 1.0 / 16.0);
        assert!((alpha - 0.48125).abs() < 1e-12);
        assert!((reduced(100.0, alpha) - 75.9375).abs() < 1e-9);
    }
}
