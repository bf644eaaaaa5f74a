//! The next segment of an undisturbed stream: [`Receiver::on_segment`] and [`Receiver::poll_ack`] in one pass.

use super::{Pending, Receiver, Stamp};
use crate::segment::{PlainAck, Priority, Transmission, Undisturbed};
use skyhop_base::Time;

impl Receiver {
    /// The segment `seq` arrives with `payload` user bytes. It was sent once, at `sent_at`, with normal priority,
    /// without ECN and without CWR. `None`: it is not the next one of a stream without gaps, nothing has changed, and
    /// it is one for [`Receiver::on_segment`].
    #[inline]
    pub fn on_plain_segment(&mut self, now: Time, seq: u32, payload: u32, sent_at: Time) -> Option<Undisturbed> {
        let is_next = seq == self.arrivals.next && self.arrivals.is_gapless();
        if !is_next || seq == 0 || self.ecn_echo || self.due.is_some() {
            return None;
        }
        let stamp = Stamp { sent: sent_at, transmission: Transmission::First };
        self.counters.received += 1;
        self.counters.payload_bytes += u64::from(payload);
        self.arrivals.next = seq + 1;
        if seq <= self.acked && self.recent_stamp.is_none_or(|recent| sent_at >= recent.sent) {
            self.recent_stamp = Some(stamp);
        }
        self.unacked += 1;
        if self.unacked < self.ack_every {
            if self.waiting.is_none() {
                self.waiting = Some(Pending { seq, answers: Priority::Normal, stamp });
                self.deadline = now.saturating_add(self.ack_delay);
            }
            return Some(Undisturbed::Waits);
        }
        self.waiting = None;
        self.unacked = 0;
        self.deadline = Time::MAX;
        self.counters.acks += 1;
        self.report.clear();
        self.acked = seq + 1;
        let echoed = self.recent_stamp.unwrap_or(stamp);
        let ack = PlainAck { next: seq + 1, size: self.ack_size, echo: echoed.sent, trigger: echoed.transmission };
        Some(Undisturbed::Acks(ack))
    }
}
