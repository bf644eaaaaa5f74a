//! The one timer of the connection: when it is set, for what, and what happens when it fires.

use skyhop_base::{Duration, Time};

use super::output::{Amount, Nagle};
use super::{Phase, Sender, TimerKind};
use crate::flow::CaState;

/// The least time that TLP and RACK add to a round trip, in microseconds.
const LEAST_US: u64 = 2_000;

impl Sender {
    fn set_timer(&mut self, kind: TimerKind, after: Duration) {
        self.timer = Some((kind, self.timers.due(self.now, after)));
    }

    /// The time until pacing lets the next packet go; the timers of the sender start after it.
    fn pacing_delay(&self) -> Duration {
        let delay = Duration::from_nanos(self.flow.pace_ns.saturating_sub(self.flow.now_ns));
        // The kernel adds whole jiffies here, rounded down.
        match self.timers {
            crate::timer::Timers::Exact => delay,
            crate::timer::Timers::Wheel { .. } => {
                let jiffy = 1_000_000_000 / crate::timer::HZ;
                Duration::from_nanos(delay.as_nanos() / jiffy * jiffy)
            }
        }
    }

    pub(super) fn set_retransmission_timer(&mut self, after: Duration) {
        let after = self.timers.span(after) + self.pacing_delay();
        self.set_timer(TimerKind::Retransmission, after.min(self.config.max_rto));
    }

    pub(super) fn set_reordering_timer(&mut self, wait_us: u64) {
        let after = Duration::from_micros(wait_us + LEAST_US);
        self.set_timer(TimerKind::Reordering, after.min(self.rto));
    }

    /// The first segment had been SACKed: if it is not acknowledged within half an RTT, the receiver dropped it.
    pub(super) fn expect_reneging(&mut self) {
        let after = Duration::from_micros(self.flow.srtt8_us >> 4).max(Duration::from_millis(10));
        self.set_timer(TimerKind::Retransmission, self.timers.span(after));
    }

    /// How much of the timeout is left, counted from the transmission of the oldest segment.
    #[inline(always)]
    fn rto_left_us(&self) -> i64 {
        let rto_us = (self.rto.as_nanos() / 1000) as i64;
        match self.ledger.front() {
            Some(first) => first.sent_us as i64 + rto_us - self.flow.now_us as i64,
            None => rto_us,
        }
    }

    /// Restarts the retransmission timer; after a probe or a wait for reordering, with what is left of it.
    pub(super) fn rearm_rto(&mut self) {
        if self.flow.packets_out == 0 {
            self.timer = None;
            return;
        }
        let after = match self.timer {
            Some((TimerKind::Reordering | TimerKind::LossProbe, _)) => {
                Duration::from_micros(self.rto_left_us().max(1) as u64)
            }
            _ => self.rto,
        };
        self.set_retransmission_timer(after);
    }

    /// Whether loss probes are sent in the present state.
    pub(super) fn may_probe(&self) -> bool {
        self.config.tlp && self.config.sack && matches!(self.flow.state, CaState::Open | CaState::Cwr)
    }

    /// Sets the timer for a tail loss probe (RFC 8985 §7.2) where one is due. `advancing`: an ACK moves the timeout on.
    #[inline]
    pub(super) fn schedule_loss_probe(&mut self, advancing: bool) -> bool {
        let is_due = self.flow.packets_out > 0 && self.may_probe();
        if is_due {
            self.set_loss_probe(advancing);
        }
        is_due
    }

    /// The same where one is due.
    #[inline(always)]
    pub(super) fn set_loss_probe(&mut self, advancing: bool) {
        let mut after_us = if self.flow.srtt8_us > 0 {
            // The ACK of a single segment may be delayed.
            let more = if self.flow.packets_out == 1 { self.config.min_rto.as_nanos() / 1000 } else { LEAST_US };
            (self.flow.srtt8_us >> 2) + more
        } else {
            self.config.initial_rto.as_nanos() / 1000
        };
        let rto_us = if advancing { (self.rto.as_nanos() / 1000) as i64 } else { self.rto_left_us() };
        if rto_us > 0 {
            after_us = after_us.min(rto_us as u64);
        }
        let after = self.timers.span(Duration::from_micros(after_us)) + self.pacing_delay();
        self.set_timer(TimerKind::LossProbe, after.min(self.config.max_rto));
    }

    pub(super) fn fire(&mut self) {
        match self.timer {
            None => {}
            Some((TimerKind::Reordering, _)) => self.reordering_timeout(),
            Some((TimerKind::LossProbe, _)) => self.send_loss_probe(),
            Some((TimerKind::Retransmission, _)) => {
                self.timer = None;
                self.retransmission_timeout();
            }
            Some((TimerKind::WindowProbe, _)) => {
                self.timer = None;
                self.window_probe_timeout();
            }
        }
        // Whatever a branch leaves set lies in the future.
        if self.timer.is_some_and(|(_, due)| due <= self.now) {
            self.timer = None;
        }
    }

    fn retransmission_timeout(&mut self) {
        if self.flow.packets_out == 0 {
            return;
        }
        self.enter_loss();
        if self.window > 0 || self.phase == Phase::SynSent {
            self.retransmits += 1;
            self.counts.timeouts += 1;
        }
        if let Some(first) = self.ledger.first() {
            self.repeat_lost(first, 1);
        }
        let linear = self.phase == Phase::SynSent && self.counts.timeouts <= self.config.syn_linear_timeouts;
        if !linear {
            self.backoff += 1;
            self.rto = self.rto.saturating_mul(2).min(self.config.max_rto);
        }
        self.set_timer(TimerKind::Retransmission, self.rto);
    }

    fn send_loss_probe(&mut self) {
        if self.tlp_end.is_none() && self.probe_tail() {
            self.counts.loss_probes += 1;
            self.tlp_end = Some(self.flow.nxt);
            // The full timeout runs from the probe.
            self.timer = None;
        }
        self.rearm_rto();
    }

    /// Sends new data, or else the last segment again.
    fn probe_tail(&mut self) -> bool {
        self.tlp_repeated = false;
        let mss = u64::from(self.flow.mss);
        if self.has_unsent() {
            let len = (self.buffers.written - self.flow.nxt).min(mss);
            if self.flow.nxt + len <= self.window_end() {
                let before = self.flow.packets_out;
                self.write_out(Nagle::Off, Amount::Probe);
                return self.flow.packets_out > before;
            }
        }
        let Some(last) = self.ledger.last() else { return false };
        if self.repeat(last, 1) > 0 {
            self.tlp_repeated = true;
            return true;
        }
        false
    }

    fn probe_base(&self) -> Duration {
        self.rto.max(Duration::from_millis(200))
    }

    fn set_probe_timer(&mut self) {
        let after = self.probe_base().saturating_mul(1 << self.backoff.min(10)).min(self.config.max_rto);
        self.set_timer(TimerKind::WindowProbe, after + self.pacing_delay());
    }

    /// Data waits, nothing is in flight and no timer runs: the window has to be probed.
    pub(super) fn check_probe_timer(&mut self) {
        if self.flow.packets_out == 0 && self.timer.is_none() {
            self.set_timer(TimerKind::WindowProbe, self.probe_base() + self.pacing_delay());
        }
    }

    /// An ACK while nothing was in flight: either the window is open, or the next probe follows.
    pub(super) fn answer_to_probe(&mut self) {
        if !self.has_unsent() {
            return;
        }
        if self.head_fits() {
            self.backoff = 0;
            if matches!(self.timer, Some((TimerKind::WindowProbe, _))) {
                self.timer = None;
            }
        } else {
            self.set_probe_timer();
        }
    }

    fn window_probe_timeout(&mut self) {
        if self.flow.packets_out > 0 || !self.has_unsent() {
            self.probes_out = 0;
            return;
        }
        self.probe_window();
        if self.flow.packets_out > 0 || !self.has_unsent() {
            self.probes_out = 0;
            self.backoff = 0;
            return;
        }
        self.probes_out += 1;
        self.backoff = (self.backoff + 1).min(15);
        self.set_probe_timer();
    }

    /// The instant at which the timer fires, where it is set for `kind`.
    pub fn due(&self, kind: TimerKind) -> Option<Time> {
        self.timer.filter(|&(set, _)| set == kind).map(|(_, due)| due)
    }
}
