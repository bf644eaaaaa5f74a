//! Sending: whether the window has room, and what a segment that leaves changes.

use super::{Core, Timed};
use crate::config::{Pacing, Switch};
use crate::record::Phase;
use crate::segment::{Ecn, Priority, Segment, Transmission};
use crate::window::{EarlySlowStart, window_pacing_rate};
use skyhop_base::{Rate, Time};
use skyhop_cc::{CongestionControl, Control, SentSample};

impl Core {
    /// Whether data and receiver window have a next segment.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.next < self.data.limit() && self.next - self.una < self.options.send_window()
    }

    /// Whether the window lets the next segment in order leave: within the data, the receiver window and the inflated
    /// congestion window.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        let cwnd = self.control.cwnd() as u32;
        let window = cwnd.saturating_add(self.window.inflation).min(self.options.send_window());
        self.next < self.data.limit() && self.next - self.una < window
    }

    /// The next segment in order, if the window lets it leave.
    #[inline]
    pub(crate) fn send_in_order(&mut self, now: Time) -> Option<Segment> {
        self.is_open().then(|| self.transmit_next(now))
    }

    /// Whether the window lets the next segment leave that the receiver does not hold. What it holds is skipped and
    /// does not count in flight.
    pub(crate) fn is_open_skipping_held(&mut self) -> bool {
        self.next = self.scoreboard.first_missing(self.next);
        let held = self.scoreboard.sacked() - self.scoreboard.sacked_from(self.next);
        let flight = self.next - self.una - held;
        f64::from(flight) + 1.0 <= self.control.cwnd() && self.has_room()
    }

    /// The same where what the receiver holds still counts in flight: a sender without limited transmit (RFC 3042)
    /// answers duplicate ACKs with nothing until they prove a loss.
    pub(crate) fn is_open_counting_held(&mut self) -> bool {
        self.next = self.scoreboard.first_missing(self.next);
        f64::from(self.next - self.una) + 1.0 <= self.control.cwnd() && self.has_room()
    }

    /// The next segment that the receiver does not hold, if the window lets it leave.
    pub(crate) fn send_skipping_held(&mut self, now: Time) -> Option<Segment> {
        self.is_open_skipping_held().then(|| self.transmit_next(now))
    }

    /// The segment that limited transmit adds (RFC 3042); window and duplicates as in tcp.cc send_one.
    #[inline]
    pub(crate) fn send_limited(&mut self, now: Time) -> Option<Segment> {
        if !self.window.allowed.limited {
            return None;
        }
        self.window.allowed.limited = false;
        let flight = f64::from(self.next + 1 - self.una);
        let allowed = self.has_room() && flight <= self.control.cwnd() + f64::from(self.episode.duplicates);
        allowed.then(|| {
            self.window.limited_sent += 1;
            self.transmit_next(now)
        })
    }

    /// The next segment that leaves whatever the window says.
    #[inline]
    pub(crate) fn send_forced(&mut self, now: Time) -> Option<Segment> {
        if let Some(seq) = self.window.allowed.forced.take() {
            return Some(self.transmit(now, seq));
        }
        if self.repairs.is_due() { self.send_repair(now) } else { None }
    }

    /// Sends a hole again, and notes that this episode has done so.
    pub(crate) fn retransmit_hole(&mut self, now: Time, seq: u32) -> Segment {
        self.scoreboard.mark_retransmitted(seq);
        self.transmit(now, seq)
    }

    #[inline]
    pub(crate) fn transmit_next(&mut self, now: Time) -> Segment {
        let seq = self.next;
        self.next = seq + 1;
        self.transmit(now, seq)
    }

    /// Puts `seq` on the wire: timer, RTT measurement, counters.
    #[inline]
    pub(crate) fn transmit(&mut self, now: Time, seq: u32) -> Segment {
        let nothing_outstanding = self.una == self.high;
        let transmission = if seq < self.high {
            self.counters.retransmissions += 1;
            Transmission::Again
        } else {
            self.high = seq + 1;
            self.time_first(now, seq);
            Transmission::First
        };
        if let Some(ledger) = &mut self.ledger {
            ledger.record(now, seq);
        }
        if self.timer == Time::MAX || nothing_outstanding {
            self.restart_timer(now);
        }
        self.last_sent = now;
        self.counters.segments += 1;
        let payload = self.data.payload(seq);
        let empty = payload == 0;
        let size = self.size_on_wire(payload);
        self.counters.bytes += u64::from(size);
        self.control.on_sent(&SentSample { now, in_flight: self.outstanding().into() });
        self.space(now, size);
        // RFC 3168 §6.1.5: neither the opening segment nor a retransmission is ECN-capable.
        let informs = self.options.ecn == Switch::On && !empty;
        let capable = informs && transmission == Transmission::First;
        // Deviation: RFC 3168 §6.1.2 sends CWR with new data only. After a timeout everything that was outstanding is
        // sent again first, and as long as the echo lasts nothing may grow: a window of one would repair hundreds of
        // segments (ns-2: SetCWRonRetransmit_).
        let says_reduced = capable || informs && self.episode.phase == Phase::Loss;
        Segment {
            seq,
            size,
            payload,
            transmission,
            priority: Priority::Normal,
            ecn: if capable { Ecn::Capable } else { Ecn::NotCapable },
            window_reduced: says_reduced && std::mem::take(&mut self.ecn.reduced),
        }
    }

    /// Begins to measure the RTT with a segment that leaves for the first time, unless another one is timed.
    #[inline(always)]
    pub(crate) fn time_first(&mut self, now: Time, seq: u32) {
        if self.measured.timed.is_none() && seq >= self.measured.timed_high {
            self.measured.timed = Some(Timed { seq, sent: now });
            self.measured.timed_high = seq + 1;
        }
    }

    /// Bytes on the wire of a segment with so many user bytes.
    #[inline]
    pub(crate) fn size_on_wire(&self, payload: u32) -> u32 {
        let size = if payload == 0 { self.options.syn_size.0 } else { self.options.header.0 + u64::from(payload) };
        size as u32
    }

    /// The rate at which segments leave, where they are spaced. Asked with every burst, and mostly there is none: Reno
    /// names no rate, and to ask the table of all controls takes twenty instructions.
    #[inline(always)]
    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        match self.options.pacing {
            Pacing::Off => None,
            Pacing::Control if matches!(self.control, Control::Reno(_)) => None,
            _ => self.rate_of_pacing(),
        }
    }

    #[inline(never)]
    fn rate_of_pacing(&self) -> Option<Rate> {
        match self.options.pacing {
            Pacing::Off => None,
            Pacing::Control => self.control.pacing_rate(),
            Pacing::Always => self.control.pacing_rate().or_else(|| {
                let cwnd = self.control.cwnd();
                let early = cwnd < self.control.state().ssthresh / 2.0;
                let early = if early { EarlySlowStart::Yes } else { EarlySlowStart::No };
                let segments = cwnd.max((self.next - self.una).into());
                window_pacing_rate(segments, self.options.mss.0 as u32, self.rtt.smoothed()?, early)
            }),
        }
    }

    /// A segment of `size` bytes has left.
    #[inline]
    fn space(&mut self, now: Time, size: u32) {
        if self.options.pacing == Pacing::Off {
            return;
        }
        if let Some(rate) = self.pacing_rate() {
            self.window.pacer.space(now, size, rate);
        }
    }
}
