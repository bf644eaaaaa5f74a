//! Prague (draft-briscoe-iccrg-prague-congestion-control): scalable, for queues that mark at once and by probability.
//! Data carry ECT(1), and marks are counted by Accurate ECN (RFC 9768), by its ACE field alone.
//!
//! Where the receiver does not speak Accurate ECN, it is Reno with the marks of RFC 3168.

use super::parameters::parameters;
use super::{About, AckSample, Burst, Control, EcnUse, Event};
use crate::flow::{CaState, Flow};
use crate::switch::Switch;

const NAME: &str = "prague";

const ABOUT: About = About {
    title: "TCP Prague",
    source: "draft-briscoe-iccrg-prague-congestion-control",
    year: 2024,
    kind: "marks",
    advice: "Gateways with an L4S queue of their own: almost no queue at full rate. Elsewhere it is Reno.",
};

parameters! {
    /// Parameters of Prague.
    pub struct PragueOptions, ABOUT, |options, _| Prague::new(options) => {
        /// Weight of the latest round trip in the share of marked data.
        gain: f64 = 0.0625, in 0.001..=1.0; "draft §2.4.2: 1/16"
        /// The share that holds when the first mark arrives.
        initial_alpha: f64 = 1.0, in 0.0..=1.0; "draft §2.4.2"
        /// RTT as which a shorter one counts, so that short paths take no more than their share.
        virtual_rtt: f64 = 0.025, in 0.0..=1.0, unit "s"; "draft §2.4.4: 25 ms"
        /// Round trips before a shorter RTT counts as that one.
        rounds_before: u32 = 500u32, in 0..=100000; "draft §2.4.4: 500"
        /// Whether a loss halves the window; else it takes 30 %, as CUBIC's.
        halve: Switch = Switch::On; "draft §2.4.3"
    }
}

const MIN_CWND: f64 = 2.0;

/// A burst takes at most 2^-12 s at the pacing rate, about 250 us (draft §2.5.1).
const BURST_SHIFT: u32 = 12;

/// Segments of growth per round trip of `rtt` seconds (draft §2.4.4): as much per second as at the virtual RTT.
fn growth(rtt: f64, virtual_rtt: f64) -> f64 {
    if rtt >= virtual_rtt { 1.0 } else { (rtt / virtual_rtt) * (rtt / virtual_rtt) }
}

#[derive(Clone, Debug)]
pub struct Prague {
    options: PragueOptions,
    /// The receiver counts marks.
    accurate: bool,
    alpha: f64,
    /// A mark has been seen.
    marked: bool,
    cwnd: f64,
    /// Counts of deliveries and marks at the last ACK and at the start of the virtual round, and when that began.
    counted: (u64, u64),
    round: (u64, u64),
    round_us: u64,
    rounds: u32,
    cut_us: u64,
}

impl Prague {
    pub fn new(options: PragueOptions) -> Prague {
        Prague {
            options,
            accurate: false,
            alpha: options.initial_alpha,
            marked: false,
            cwnd: 0.0,
            counted: (0, 0),
            round: (0, 0),
            round_us: 0,
            rounds: 0,
            cut_us: 0,
        }
    }

    fn rtt(&self, flow: &Flow) -> f64 {
        (flow.srtt8_us as f64 / 8e6).max(1e-6)
    }

    fn floor(&self) -> f64 {
        if self.rounds >= self.options.rounds_before { self.options.virtual_rtt } else { 0.0 }
    }

    /// The length of a round in microseconds: the RTT, or the virtual one if that is longer.
    fn round_length(&self, flow: &Flow) -> u64 {
        (self.rtt(flow).max(self.floor()) * 1e6) as u64
    }

    fn average(&mut self, flow: &Flow) {
        if flow.now_us < self.round_us + self.round_length(flow) {
            return;
        }
        let delivered = flow.delivered - self.round.0;
        let marked = flow.delivered_ce - self.round.1;
        if self.marked && delivered > 0 {
            let share = (marked as f64 / delivered as f64).min(1.0);
            self.alpha += self.options.gain * (share - self.alpha);
        }
        self.round = (flow.delivered, flow.delivered_ce);
        self.round_us = flow.now_us;
        self.rounds = self.rounds.saturating_add(1);
    }

    fn cut(&mut self, flow: &mut Flow) {
        self.marked = true;
        if flow.state > CaState::Disorder || (self.cut_us > 0 && flow.now_us < self.cut_us + self.round_length(flow)) {
            return;
        }
        self.cut_us = flow.now_us;
        self.cwnd = (self.cwnd * (1.0 - self.alpha / 2.0)).max(MIN_CWND);
        flow.cwnd = self.cwnd as u32;
        flow.ssthresh = flow.cwnd;
        flow.cwnd_count = 0;
    }
}

impl Control for Prague {
    fn name(&self) -> &'static str {
        NAME
    }

    fn ecn(&self) -> EcnUse {
        EcnUse::Scalable
    }

    fn handles_marks(&self) -> bool {
        self.accurate
    }

    fn init(&mut self, flow: &mut Flow) {
        self.accurate = flow.accurate_ecn;
        self.cwnd = flow.cwnd.into();
        self.counted = (flow.delivered, flow.delivered_ce);
        self.round = self.counted;
        self.round_us = flow.now_us;
    }

    fn acked(&mut self, flow: &mut Flow, _sample: AckSample) {
        if !self.accurate {
            return;
        }
        if (self.cwnd as u32) != flow.cwnd {
            self.cwnd = flow.cwnd.into();
        }
        self.average(flow);
        if flow.delivered_ce > self.counted.1 {
            self.cut(flow);
        }
    }

    fn grow(&mut self, flow: &mut Flow, acked: u32) {
        let marks = (flow.delivered_ce - self.counted.1).min(acked.into()) as u32;
        self.counted = (flow.delivered, flow.delivered_ce);
        if !self.accurate || flow.in_slow_start() {
            flow.grow_as_reno(acked);
            self.cwnd = flow.cwnd.into();
            return;
        }
        if flow.is_cwnd_limited() {
            // Marked data earns no growth (draft §2.4.1).
            let share = growth(self.rtt(flow), self.floor());
            self.cwnd += f64::from(acked - marks) * share / self.cwnd;
            flow.cwnd = (self.cwnd as u32).min(flow.cwnd_clamp);
        }
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        let factor = if self.options.halve.is_on() { 0.5 } else { 0.7 };
        ((f64::from(flow.cwnd) * factor) as u32).max(2)
    }

    fn event(&mut self, flow: &mut Flow, event: Event) {
        if event == Event::ReductionComplete {
            self.cwnd = flow.cwnd.into();
        }
    }

    fn paces(&self) -> bool {
        true
    }

    fn burst(&self, flow: &Flow) -> Burst {
        let rate = flow.pacing_rate;
        if !self.accurate || rate == u64::MAX {
            return Burst::Usual;
        }
        Burst::Exactly(u32::try_from((rate >> BURST_SHIFT) / u64::from(flow.mss)).unwrap_or(u32::MAX).max(1))
    }

    fn pacing_percent(&self, flow: &Flow) -> Option<u64> {
        // Draft §2.5.1: at the rate itself, at twice the rate in slow start.
        Some(if flow.cwnd < flow.ssthresh / 2 { 200 } else { 100 })
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        vec![("alpha", self.alpha), ("accurate", f64::from(u8::from(self.accurate)))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example() {
        // algorithms_vectors.json, "prague_ai_scaling".
        for (rtt, right) in [(0.01, 0.16), (0.025, 1.0), (0.05, 1.0)] {
            assert!((growth(rtt, 0.025) - right).abs() < 1e-12, "{rtt}");
        }
    }
}
