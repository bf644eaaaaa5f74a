//! The next segment of an undisturbed stream, which most segments are.

use super::handshake::Handshake;
use super::input::{LEAST_FOR_GROWTH, TIMESTAMP_TOLERANCE, age};
use super::{Receiver, milliseconds};
use crate::segment::{Ecn, Segment};
use skyhop_base::Time;

impl Receiver {
    /// Whether nothing but the next segment can make this receiver leave the plain course: no data are missing or
    /// unread, the application reads at once, and there are no marks to tell. It stays so until a segment takes
    /// [`Receiver::process`], a timer fires or the application stops reading.
    pub(super) fn is_undisturbed(&self) -> bool {
        self.shortcuts
            && matches!(self.handshake, Handshake::Established { .. })
            && self.is_read_at_once()
            && self.reader.is_idle()
            && self.duplicate.is_none()
            && !self.ecn.agreed
            && !self.ecn.seen
            && self.acks.compression_timer.is_none()
    }

    /// Takes a segment if it is the next one of an undisturbed stream. Returns whether it was.
    ///
    /// This is [`Receiver::on_segment`] without the branches that such a segment does not take. Memory for it is
    /// granted and given back at the same moment, so that all that is left of the buffer is what the segment occupies
    /// while its ACK is decided.
    #[inline]
    pub(super) fn take_expected(&mut self, now: Time, segment: &Segment) -> bool {
        let Segment { seq, len, syn, fin, ecn, timestamps, .. } = *segment;
        let is_plain = !(syn | fin) && len >= LEAST_FOR_GROWTH && ecn == Ecn::NotEct;
        if !self.undisturbed || seq != self.next || !is_plain || self.remaining() == 0 {
            return false;
        }
        let timestamps = if self.options.timestamps { timestamps } else { None };
        if let Some(timestamps) = timestamps {
            let age = age(self.echo, timestamps.value);
            if age > TIMESTAMP_TOLERANCE {
                return false;
            }
            if seq <= self.acknowledged && age <= 0 {
                self.echo = timestamps.value;
            }
            if self.window.rtt.is_news(timestamps.echo) {
                let since_echo = milliseconds(now, self.config.clock_phase).wrapping_sub(timestamps.echo);
                let full = u64::from(len) >= self.acks.receive_mss;
                self.window.rtt.by_timestamps(timestamps.echo, since_echo, full, false);
            }
        }
        self.stamp = now;
        self.acks.forget_stale_timer(now);
        let memory = self.buffer_of(len).memory;
        let end = seq + u64::from(len);
        self.queue.memory = memory;
        self.first_unread_end = end;
        self.next = end;
        self.acks.pending.scheduled = true;
        self.note_size(segment, memory);
        self.window.rtt.by_window(now, end, self.window.offered, true);
        self.acks.measure_gap(self.ticks, now, self.window.offered, || self.handshake.timeout(self.config.rto_min));
        self.grow_window(len, memory, memory);
        self.sacks.clear();
        self.schedule_ack(now);
        self.window.on_read(now, end, 0, None, end);
        self.read = end;
        self.queue.memory = 0;
        self.pages = 0;
        self.acknowledge_read(now, len.into());
        true
    }
}
