//! Recovery of TCP Peach and Peach+: NewReno, respectively RFC 6675, and dummy segments of low priority.
//!
//! - Sudden start: in the round trip after the opening segment's, one dummy every RTT / W, W − 1 in all, W the
//!   receiver window.
//! - Rapid recovery: with every ACK after a loss one dummy, as many as the window before the cut had segments, also after
//!   recovery has ended; a timeout stops them.
//! - Peach's dummies repeat the segment sent last; those of Peach+ (NIL segments) repeat what is not known to have arrived, in turn,
//!   and the receiver takes it.
//!
//! What an acknowledged dummy is worth is the control's business. Dummies are no retransmissions, are not in flight and feed
//! neither RTT nor duplicate counting.

use super::{NO_LIMIT, Phase, Sender};
use crate::{Ack, Ecn, Priority, Recovery, Segment, Transmission};
use skyhop_base::{Duration, Time};
use skyhop_cc::CongestionControl;

/// Dummy segments that may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probes {
    /// Now.
    ready: u32,
    /// With later ACKs, one each (paper: adsn).
    allowed: u32,
    /// Sudden start: when the next one leaves, at which interval, how many are left.
    due: Time,
    interval: Duration,
    left: u32,
    /// Peach+: where the next one looks for data.
    cursor: u32,
}

impl Default for Probes {
    fn default() -> Probes {
        Probes { ready: 0, allowed: 0, due: Time::MAX, interval: Duration::ZERO, left: 0, cursor: 0 }
    }
}

impl Probes {
    #[inline]
    pub(super) fn due(&self) -> Time {
        self.due
    }

    #[inline]
    pub(super) fn on_time(&mut self, now: Time) {
        if self.due <= now {
            self.ready += 1;
            self.left -= 1;
            self.due = if self.left > 0 { self.due.saturating_add(self.interval) } else { Time::MAX };
        }
    }

    pub(super) fn stop(&mut self) {
        *self = Probes { cursor: self.cursor, ..Probes::default() };
    }

    /// τ = RTT / W, W − 1 times.
    fn start_suddenly(&mut self, now: Time, rtt: Duration, window: u32) {
        let interval = sudden_start_interval(rtt, window);
        if window > 1 && !interval.is_zero() {
            (self.interval, self.left) = (interval, window - 1);
            self.due = now.saturating_add(interval);
        }
    }
}

/// The interval of the dummy segments of sudden start (paper: τ = RTT / rwnd).
pub fn sudden_start_interval(rtt: Duration, window: u32) -> Duration {
    Duration::from_secs_f64(rtt.as_secs_f64() / f64::from(window.max(1)))
}

impl Sender {
    pub(super) fn peach_ack(&mut self, now: Time, ack: &Ack) {
        if ack.answers == Priority::Low {
            self.control.on_probe_acked();
            self.plan.burst = NO_LIMIT;
            if ack.next <= self.una {
                return;
            }
        }
        let opens = self.una == 0 && ack.next > 0;
        let (phase, window) = (self.phase, self.control.cwnd());
        match self.recovery {
            Recovery::PeachPlus => self.sack_ack(now, ack),
            _ => self.classic_ack(now, ack),
        }
        if opens {
            // The paper starts with one segment; the dummies open the window.
            self.set_window(1.0);
            let window = self.options.sudden_start_window.min(self.options.window);
            if let Some(rtt) = self.rtt.smoothed() {
                self.probes.start_suddenly(now, rtt, window);
            }
        }
        if phase != Phase::Recovery && self.phase == Phase::Recovery {
            self.probes.stop();
            self.probes.allowed = window as u32;
        }
        if self.probes.allowed > 0 {
            self.probes.allowed -= 1;
            self.probes.ready += 1;
        }
    }

    pub(super) fn has_probe(&self) -> bool {
        self.probes.ready > 0
    }

    /// A dummy segment, when one may leave.
    #[inline]
    pub(super) fn poll_probe(&mut self, _now: Time) -> Option<Segment> {
        if self.probes.ready == 0 {
            return None;
        }
        self.probes.ready -= 1;
        self.probe()
    }

    fn probe(&mut self) -> Option<Segment> {
        let last = self.high.checked_sub(1)?;
        let seq = match self.recovery {
            Recovery::PeachPlus => {
                let from = self.probes.cursor.max(self.una);
                let found = Some(self.scoreboard.first_missing(from)).filter(|&seq| seq < self.high);
                let seq = found.unwrap_or_else(|| self.scoreboard.first_missing(self.una)).min(last);
                self.probes.cursor = seq + 1;
                seq
            }
            _ => last,
        };
        let payload = self.data.payload(seq);
        let size = if payload == 0 { self.options.syn_size.0 as u32 } else { self.options.header.0 as u32 + payload };
        self.counters.probes += 1;
        self.counters.bytes += u64::from(size);
        Some(Segment {
            seq,
            size,
            payload,
            transmission: Transmission::Again,
            priority: Priority::Low,
            ecn: Ecn::NotCapable,
            window_reduced: false,
        })
    }
}
