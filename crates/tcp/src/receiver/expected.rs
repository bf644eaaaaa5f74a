//! The next segment of an undisturbed stream, which most segments are.

use super::handshake::Handshake;
use super::input::{LEAST_FOR_GROWTH, TIMESTAMP_TOLERANCE, age};
use super::{Receiver, milliseconds};
use crate::segment::{Brief, BriefWords, flags};
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

    /// Takes a [`Brief`] in words if it is the next one of an undisturbed stream. Returns whether it was; otherwise
    /// nothing has happened, and [`Receiver::on_segment`] has to take it.
    ///
    /// This is [`Receiver::on_segment`] without the branches that such a segment does not take. Memory for it is
    /// granted and given back at the same moment, so that all that is left of the buffer is what the segment occupies
    /// while its ACK is decided.
    pub fn take_expected(&mut self, now: Time, words: &BriefWords) -> bool {
        let brief = Brief::of_words(words);
        let Brief { seq, len, .. } = brief;
        let is_plain = !brief.has(flags::SYN | flags::FIN | flags::ECN) && len >= LEAST_FOR_GROWTH;
        if !self.undisturbed || seq != self.next || !is_plain || self.remaining() == 0 {
            return false;
        }
        if self.options.timestamps
            && let Some(timestamps) = brief.stamps()
        {
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
        self.note_size(len, brief.has(flags::PSH), memory);
        self.window.rtt.by_window(now, end, self.window.offered, true);
        self.acks.measure_gap(self.ticks, now, self.window.offered, || self.handshake.timeout(self.config.rto_min));
        self.grow_window(len, memory, memory);
        self.sacks.clear();
        self.schedule_expected(now, memory);
        self.window.on_read(now, end, 0, None, end);
        self.read = end;
        self.queue.memory = 0;
        self.pages = 0;
        self.acknowledge_expected(now, len.into());
        true
    }

    /// [`Receiver::schedule_ack`] while the segment occupies `memory`.
    #[inline(always)]
    fn schedule_expected(&mut self, now: Time, memory: u64) {
        debug_assert!(self.acks.pending.scheduled && self.reorder.is_empty() && memory == self.used());
        let mut selected = None;
        let mut at_once = self.acknowledges_quickly() || !self.config.delayed_acks || self.acks.pending.now;
        if self.next - self.acknowledged > self.acks.receive_mss {
            let (window, crowded) = self.window.select(memory, self.acks.receive_mss);
            if crowded {
                self.acks.quick = 0;
                at_once = !self.config.delayed_acks || self.acks.pending.now;
            }
            at_once |= window >= self.window.offered;
            selected = Some(window);
        }
        if at_once {
            self.send_ack_with(now, selected);
        } else {
            self.delay_ack(now);
        }
    }

    /// [`Receiver::acknowledge_read`] where nothing is left in the buffer.
    #[inline(always)]
    fn acknowledge_expected(&mut self, now: Time, bytes: u64) {
        debug_assert!(bytes > 0 && self.used() == 0);
        let (pending, offered) = (self.acks.pending, self.remaining());
        let is_due = pending.scheduled
            && (self.next - self.acknowledged > self.acks.receive_mss || pending.reader_acknowledges());
        // An empty buffer is never crowded.
        if is_due {
            let (selected, _) = self.window.select(0, self.acks.receive_mss);
            self.send_ack_with(now, Some(selected));
        } else if 2 * offered <= self.window.clamp && self.window.may_be(2 * offered) {
            self.acknowledge_read(now, bytes);
        }
    }
}
