//! CUBIC that knows of handovers, after SaTCP (Cao and Zhang, "SaTCP: Link-Layer Informed TCP Adaptation for Highly
//! Dynamic LEO Satellite Networks", INFOCOM 2023): a loss between the beginning and the end of a handover does not
//! shrink the window for good, and the window grows back sooner.
//!
//! The hints come from [`crate::sender::Sender::on_path_hint`]; without any it is CUBIC. The rule is `algorithms.md`
//! §2.25's.

use super::cubic::CubicOptions;
use super::parameters::parameters;
use super::{About, AckSample, Control, Cubic, Event, PathHint};
use crate::flow::{CaState, Flow};
use crate::segment::Seq;
use crate::switch::Switch;
use skyhop_base::Duration;

const NAME: &str = "satcp";

const ABOUT: About = About {
    title: "SaTCP",
    source: "Cao and Zhang, INFOCOM 2023",
    year: 2023,
    kind: "loss, hints of handovers",
    advice: "LEO paths whose handovers are predicted and lose packets; it is CUBIC otherwise.",
};

parameters! {
    /// Parameters of SaTCP.
    pub struct SatcpOptions, ABOUT, |options, _| Satcp::new(options) => {
        /// Share by which CUBIC's time to its former maximum shrinks after a handover.
        shrink: f64 = 0.888_888_888_888_888_8, in 0.0..=0.99; "K / 9 afterwards"
        /// How long before a handover the terminal predicts it.
        lead: f64 = 0.5, in 0.0..=60.0, unit "s"; "0.5 s"
        /// The longest time for which a handover counts after its beginning, if its end is not told.
        longest: f64 = 2.3, in 0.01..=60.0, unit "s"; "2.3 s from the prediction on"
        /// Whether the window before the handover comes back at its end.
        restore: Switch = Switch::On; "reductions meanwhile are undone"
    }
}

/// The window and threshold before a handover.
#[derive(Clone, Copy, Debug)]
struct Before {
    cwnd: u32,
    ssthresh: u32,
    since_us: u64,
    reduced: bool,
}

#[derive(Clone, Debug)]
pub struct Satcp {
    options: SatcpOptions,
    cubic: Cubic,
    before: Option<Before>,
    /// Losses of numbers below this one belong to the last handover.
    until: Seq,
}

impl Satcp {
    pub fn new(options: SatcpOptions) -> Satcp {
        Satcp { options, cubic: Cubic::new(CubicOptions::default()), before: None, until: 0 }
    }

    fn end(&mut self, flow: &mut Flow) {
        let Some(before) = self.before.take() else { return };
        self.until = flow.nxt;
        if !before.reduced {
            return;
        }
        if self.options.restore.is_on() {
            flow.cwnd = flow.cwnd.max(before.cwnd).min(flow.cwnd_clamp);
            flow.ssthresh = flow.ssthresh.max(before.ssthresh);
        }
        self.cubic.shrink_time(1.0 - self.options.shrink);
    }

    fn expire(&mut self, flow: &mut Flow) {
        let longest = (self.options.longest * 1e6) as u64;
        if self.before.is_some_and(|before| flow.now_us > before.since_us + longest) {
            self.end(flow);
        }
    }
}

impl Control for Satcp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn init(&mut self, flow: &mut Flow) {
        self.cubic.init(flow);
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        let during = self.before.as_mut().map(|before| {
            before.reduced = true;
            before.cwnd
        });
        // A loss that is found after the end may still be one of the handover.
        let kept = during.or((flow.una < self.until).then_some(flow.cwnd));
        let Some(kept) = kept else { return self.cubic.ssthresh(flow) };
        if during.is_none() {
            self.cubic.shrink_time(1.0 - self.options.shrink);
        }
        if self.options.restore.is_on() { kept.max(2) } else { self.cubic.ssthresh(flow) }
    }

    fn undo(&mut self, flow: &mut Flow) -> u32 {
        self.cubic.undo(flow)
    }

    fn grow(&mut self, flow: &mut Flow, acked: u32) {
        self.expire(flow);
        self.cubic.grow(flow, acked);
    }

    fn acked(&mut self, flow: &mut Flow, sample: AckSample) {
        self.expire(flow);
        self.cubic.acked(flow, sample);
    }

    fn event(&mut self, flow: &mut Flow, event: Event) {
        self.cubic.event(flow, event);
    }

    fn state_changes(&mut self, flow: &mut Flow, new: CaState) {
        // A timeout within a handover leaves CUBIC's curve.
        if self.before.is_none() && flow.una >= self.until {
            self.cubic.state_changes(flow, new);
        }
    }

    fn hint(&mut self, flow: &mut Flow, hint: PathHint) {
        match hint {
            PathHint::HandoverBegins => {
                let (cwnd, ssthresh) = (flow.cwnd, flow.ssthresh);
                // One that follows in the middle of another keeps the window of before both.
                self.before.get_or_insert(Before { cwnd, ssthresh, since_us: flow.now_us, reduced: false });
            }
            PathHint::HandoverEnds => self.end(flow),
        }
    }

    fn handover_lead(&self) -> Option<Duration> {
        Some(Duration::from_nanos((self.options.lead * 1e9) as u64))
    }

    fn phase(&self) -> Option<&'static str> {
        self.before.map(|_| "handover").or_else(|| self.cubic.phase())
    }
}
