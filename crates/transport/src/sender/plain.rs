//! ACKs that do nothing but acknowledge, and the burst that each of them lets out, in one pass.
//!
//! [`Sender::on_ack`] and [`Sender::poll_transmit`] ask recovery, scoreboard, ECN, repairs, pacer and ledger, which
//! have nothing to say about most ACKs. Here one test of the sender's state takes their place. The result is the same,
//! number by number; `sender/plain_tests.rs` compares both on random connections.

use super::Sender;
use crate::core::{Acknowledged, Advance, ControlSample, Core};
use crate::record::Phase;
use crate::segment::{Burst, Transmission};
use crate::window::NO_LIMIT;
use skyhop_base::Time;
use skyhop_cc::{CongestionControl, Control, SentSample};

/// Most segments of a burst. A window that opens at once lets out many more, and their number bounds how long a host
/// works before it looks at its limits.
const MOST: u32 = 64;

impl Sender {
    /// An ACK arrives that says nothing but `next`, and echoes the time stamp `echo` of a segment that was sent once.
    /// Where it disturbs nothing, this is [`Sender::on_ack`] and the first calls of [`Sender::poll_transmit`] together,
    /// and no event follows. `None`: nothing has changed, and the ACK is one for [`Sender::on_ack`].
    #[inline(always)]
    pub fn on_plain_ack(&mut self, now: Time, next: u32, echo: Time) -> Option<Burst> {
        let core = &mut self.core;
        let is_new = next > core.una && core.una > 0 && next <= core.high && core.next == core.high;
        if !(self.is_plain && is_new && core.is_undisturbed()) {
            return None;
        }
        core.events.clear();
        (core.measured.latest_rtt, core.measured.newly_reported) = (None, 0);
        let advance =
            Advance { acked: next - core.una, flight_before: core.next - core.una, first_before: core.una, left: None };
        core.una = next;
        core.timeouts_in_row = 0;
        core.counters.acks += 1;
        core.window.limited_sent = 0;
        let ack = Acknowledged { next, echo, trigger: Transmission::First };
        core.measure(now, &ack, advance, ControlSample::Karn);
        core.rearm_timer(now);
        core.grow(now, advance);
        Some(core.burst(now))
    }
}

impl Core {
    /// Nothing is being repaired, and no earlier input has left anything to send.
    #[inline(always)]
    fn is_undisturbed(&self) -> bool {
        let (episode, window) = (&self.episode, &self.window);
        episode.phase == Phase::Open
            && (episode.duplicates | window.inflation | window.allowed.burst) == 0
            && !(window.allowed.limited || window.allowed.paced || window.allowed.forced.is_some())
            && self.scoreboard.is_empty()
            && !window.pacer.holds_back()
    }

    /// What the window lets out of full segments in order, where all that was sent before is in order, too.
    #[inline(always)]
    fn burst(&mut self, now: Time) -> Burst {
        let cwnd = self.control.cwnd();
        let window = (cwnd as u32).min(self.options.send_window());
        let open = self.data.limit().min(self.una.saturating_add(window)).saturating_sub(self.next);
        let first = self.next;
        let count =
            if open == 0 || self.is_paced(now) { 0 } else { open.min(MOST).min(self.data.full_before(first) - first) };
        self.window.allowed.burst = if count < open { NO_LIMIT } else { 0 };
        let payload = self.options.mss.0 as u32;
        let size = self.size_on_wire(payload);
        if count > 0 {
            self.sent_in_order(now, count, size);
        }
        Burst { first, count, size, payload, more: count < open, cwnd, timeout: self.timer }
    }

    /// Whether segments leave one by one. Asked each time: a control may name a rate from any ACK on.
    #[inline]
    fn is_paced(&self, now: Time) -> bool {
        !self.window.pacer.is_open(now) || self.pacing_rate().is_some()
    }

    /// [`Core::transmit`] for so many segments in order, each of `size` bytes.
    #[inline]
    fn sent_in_order(&mut self, now: Time, count: u32, size: u32) {
        let first = self.next;
        self.time_first(now, first);
        if self.timer == Time::MAX || self.una == self.high {
            self.restart_timer(now);
        }
        self.last_sent = now;
        self.next = first + count;
        self.high = self.next;
        self.counters.segments += u64::from(count);
        self.counters.bytes += u64::from(count) * u64::from(size);
        if !matches!(self.control, Control::Reno(_)) {
            self.tell_sent(now, first, count);
        }
    }

    #[inline(never)]
    fn tell_sent(&mut self, now: Time, first: u32, count: u32) {
        for seq in first..first + count {
            self.control.on_sent(&SentSample { now, in_flight: (seq + 1 - self.una).into() });
        }
    }
}
