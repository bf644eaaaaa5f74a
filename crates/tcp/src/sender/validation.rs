//! Which windows are worth anything: the kernel's rule, or congestion window validation by RFC 7661.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use super::Sender;
use crate::flow::CaState;
use crate::segment::Seq;

/// How the TCP of Linux judges a window that the application does not fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LinuxValidation")]
pub enum Validation {
    /// It grows only where it was filled, and falls towards what was used (RFC 2861; tcp_cwnd_validate).
    #[default]
    #[serde(rename = "linux")]
    Linux,
    /// It stays for five minutes, and a loss cuts what was used (RFC 7661).
    #[serde(rename = "rfc-7661")]
    Rfc7661,
    /// It grows and stays whatever is used.
    #[serde(rename = "off")]
    Off,
}

/// How long a window stays that is not validated (RFC 7661 §4.4.3), in microseconds.
const PHASE_US: u64 = 300_000_000;
/// The least time over which samples count (RFC 7661 §4.2), in microseconds.
const PERIOD_US: u64 = 1_000_000;

/// The state of RFC 7661. Counts are in segments.
#[derive(Clone, Debug, Default)]
pub(super) struct PipeAck {
    /// The next number to be sent when the present sample began, and the count of deliveries then.
    sample: Option<(Seq, u64)>,
    /// When samples ended, in microseconds, and what they delivered; each above the ones behind it.
    samples: VecDeque<(u64, u32)>,
    /// A sample was taken: before, the window counts as validated.
    is_defined: bool,
    /// When the present phase without validation began, in microseconds.
    since_us: Option<u64>,
    /// The larger of pipeACK and the flight when the present reduction began, and the repetitions up to then.
    reduction: Option<(u32, u64)>,
}

impl PipeAck {
    /// Takes `delivered`, the count of deliveries, after an ACK up to `una`.
    fn take(&mut self, now_us: u64, una: Seq, nxt: Seq, delivered: u64, more: u32) {
        let (end, from) = *self.sample.get_or_insert((nxt, delivered - u64::from(more)));
        if una < end {
            return;
        }
        let volume = (delivered - from) as u32;
        // Smaller ones before it will never be the largest again.
        while self.samples.back().is_some_and(|&(_, one)| one <= volume) {
            self.samples.pop_back();
        }
        self.samples.push_back((now_us, volume));
        self.is_defined = true;
        // With nothing in flight the next sample begins with the next data.
        self.sample = (una < nxt).then_some((nxt, delivered));
    }

    /// The most that was acknowledged in a round trip lately; `None` before the first sample.
    fn most(&mut self, now_us: u64, srtt_us: u64) -> Option<u32> {
        let period = (3 * srtt_us).max(PERIOD_US);
        while self.samples.front().is_some_and(|&(at, _)| at + period < now_us) {
            self.samples.pop_front();
        }
        self.is_defined.then(|| self.samples.front().map_or(0, |&(_, volume)| volume))
    }
}

impl Sender {
    /// The state of RFC 7661, where it is asked for.
    pub(super) fn pipe_ack(validation: Validation) -> Option<Box<PipeAck>> {
        (validation == Validation::Rfc7661).then(Box::default)
    }

    /// An ACK has delivered `delivered` segments. Returns whether the window may grow.
    pub(super) fn validate_by_acks(&mut self, delivered: u32) -> bool {
        let flow = &self.flow;
        let Some(pipe) = &mut self.pipe_ack else { return true };
        // A recovery gives no samples (§4.2), and after it or a timeout the window counts as validated (§4.4.1).
        if matches!(flow.state, CaState::Recovery | CaState::Loss) {
            let reduction = pipe.reduction;
            **pipe = PipeAck { reduction, ..PipeAck::default() };
            return true;
        }
        pipe.take(flow.now_us, flow.una, flow.nxt, flow.delivered, delivered);
        self.is_validated()
    }

    /// Whether the path has carried half of the window lately (RFC 7661 §4.2). Ends a phase of five minutes without.
    pub(super) fn is_validated(&mut self) -> bool {
        let flow = &mut self.flow;
        let Some(pipe) = &mut self.pipe_ack else { return true };
        let (now_us, srtt_us) = (flow.now_us, flow.srtt8_us >> 3);
        let is_validated = pipe.most(now_us, srtt_us).is_none_or(|most| most >= flow.cwnd.div_ceil(2));
        if is_validated {
            pipe.since_us = None;
            return true;
        }
        let mut since = *pipe.since_us.get_or_insert(now_us);
        // RFC 7661 §4.4.3.
        while now_us >= since + PHASE_US {
            since += PHASE_US;
            flow.ssthresh = flow.present_ssthresh();
            flow.cwnd = (flow.cwnd / 2).max(self.config.initial_window.min(flow.cwnd));
        }
        pipe.since_us = Some(since);
        false
    }

    /// A reduction begins, for a loss or a mark: the threshold is half of what was used, and not of a window that was
    /// not (RFC 7661 §4.4.1).
    pub(super) fn reduce_unvalidated(&mut self) {
        if self.is_validated() {
            return;
        }
        let srtt_us = self.flow.srtt8_us >> 3;
        let Some(pipe) = &mut self.pipe_ack else { return };
        let used = pipe.most(self.flow.now_us, srtt_us).unwrap_or(0).max(self.flow.packets_out);
        pipe.reduction = Some((used, self.total_retrans));
        self.flow.ssthresh = self.flow.ssthresh.min((used / 2).max(2));
    }

    /// A reduction ends: repeated segments do not count as used (RFC 7661 §4.4.2).
    pub(super) fn end_unvalidated_reduction(&mut self) {
        let Some(pipe) = &mut self.pipe_ack else { return };
        if let Some((used, repeated)) = pipe.reduction.take() {
            let again = (self.total_retrans - repeated).min(u64::from(used)) as u32;
            self.flow.ssthresh = self.flow.ssthresh.min(((used - again) / 2).max(2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Sender};
    use super::*;

    /// A sender whose last round trip delivered 30 segments of a window of 100.
    fn rate_limited() -> Sender {
        let mut sender = Sender::new(Config { window_validation: Validation::Rfc7661, ..Config::default() });
        let flow = &mut sender.flow;
        (flow.cwnd, flow.ssthresh, flow.srtt8_us, flow.now_us) = (100, 60, 8 * 100_000, 1_000_000);
        (flow.una, flow.nxt, flow.delivered, flow.packets_out) = (30 * 1448, 30 * 1448, 30, 40);
        assert!(sender.is_validated(), "no sample yet");
        assert!(!sender.validate_by_acks(30), "30 of 100");
        sender
    }

    #[test]
    fn a_loss_cuts_what_was_used() {
        // algorithms_vectors.json, "cwv".
        let mut sender = rate_limited();
        sender.begin_reduction();
        assert_eq!(sender.flow.ssthresh, 20);
        sender.total_retrans += 3;
        sender.end_unvalidated_reduction();
        assert_eq!(sender.flow.ssthresh, 18, "18.5 in whole segments");
    }

    #[test]
    fn a_window_stays_for_five_minutes() {
        let mut sender = rate_limited();
        sender.flow.now_us += PHASE_US - 1;
        assert!(!sender.is_validated());
        assert_eq!((sender.flow.ssthresh, sender.flow.cwnd), (60, 100));
        sender.flow.now_us += 1;
        assert!(!sender.is_validated());
        assert_eq!((sender.flow.ssthresh, sender.flow.cwnd), (75, 50));
    }

    #[test]
    fn the_largest_sample_of_three_round_trips_counts() {
        let mut sender = rate_limited();
        sender.flow.cwnd = 60;
        assert!(sender.is_validated());
        // A smaller one does not replace it until its second is over.
        sender.flow.now_us += 600_000;
        (sender.flow.una, sender.flow.nxt) = (40 * 1448, 40 * 1448);
        sender.flow.delivered += 10;
        assert!(sender.validate_by_acks(10));
        sender.flow.now_us += 600_000;
        assert!(!sender.is_validated());
        sender.flow.cwnd = 20;
        assert!(sender.is_validated());
    }
}
