//! What a segment of an established connection sets off.

use super::config::EcnEcho;
use super::handshake::Handshake;
use super::memory::{Buffer, PAGE};
use super::reorder::extend;
use super::{BLOCKS_EXPECTED, Receiver, TIMESTAMP_BYTES, milliseconds};
use crate::segment::{Brief, Ecn, Segment, Seq};
use skyhop_base::Time;

/// A timestamp may be older than the last by so many milliseconds and still pass (RFC 7323 §5).
pub(super) const TIMESTAMP_TOLERANCE: i32 = 1;
/// ACKs at once after a mark: the sender's window may be small now.
const QUICK_AFTER_MARK: u64 = 2;
/// Marks that make an ACK leave at once (RFC 9768 §3.2.2.5.1: 2 is recommended, 6 the most).
const MARKS_TO_TELL: u32 = 2;
/// Smaller segments open no window.
pub(super) const LEAST_FOR_GROWTH: u32 = 128;

impl Receiver {
    /// Takes a segment that the peer sent.
    pub fn on_segment(&mut self, now: Time, segment: &Segment) {
        if self.undisturbed && Brief::of(segment).is_some_and(|brief| self.take_expected(now, &brief.words())) {
            return;
        }
        if !self.reader.holds(now, segment) {
            self.process(now, segment);
            self.wake_reader(now);
        }
        self.undisturbed = self.is_undisturbed();
    }

    pub(super) fn process(&mut self, now: Time, segment: &Segment) {
        self.stamp = now;
        self.acks.forget_stale_timer(now);
        let established = matches!(self.handshake, Handshake::Established { .. });
        match self.handshake {
            Handshake::Established { .. } => {}
            _ if segment.syn => return self.on_syn(now, segment),
            Handshake::Answered { .. } if segment.ack.is_some() => self.establish(now, segment),
            _ => return,
        }
        if !self.acceptable(now, segment) {
            return;
        }
        self.note_timestamps(now, segment, established);
        if segment.len > 0 {
            self.take_data(now, segment);
        }
        self.schedule_ack(now);
    }

    /// Whether the segment is to be processed (RFC 9293 §3.10.7.4, RFC 7323 §5). If not, it is answered here.
    fn acceptable(&mut self, now: Time, segment: &Segment) -> bool {
        let stale = self.options.timestamps
            && segment.timestamps.is_some_and(|timestamps| age(self.echo, timestamps.value) > TIMESTAMP_TOLERANCE);
        let (edge, end) = (self.next + self.remaining(), segment.end());
        let outside = end < self.acknowledged || segment.seq > edge || (end > edge && self.next > self.read);
        if segment.syn {
            // A SYN where the connection stands: an ACK tells the peer (RFC 5961 §4).
            if !self.limited(now) {
                self.send_ack(now);
            }
            return false;
        }
        if !stale && !outside {
            return true;
        }
        if segment.len > 0 || !self.limited(now) {
            self.answer_invalid(now, segment);
        }
        false
    }

    /// Whether the last answer to such a segment was too short ago; if not, this one counts.
    pub(super) fn limited(&mut self, now: Time) -> bool {
        let present = self.ticks.at(now);
        let limit = self.ticks.of(self.config.invalid_rate_limit);
        if self.last_invalid.is_some_and(|last| present - last < limit) {
            return true;
        }
        self.last_invalid = Some(present);
        false
    }

    fn answer_invalid(&mut self, now: Time, segment: &Segment) {
        if segment.len > 0 && segment.seq < self.next {
            self.acks.enter_quick_fully(self.ticks, self.window.offered);
            self.duplicate = None;
            self.report_duplicate(segment.seq..segment.end().min(self.next));
        }
        self.send_ack(now);
    }

    /// `samples`: whether the segment may tell the round-trip time. The one that ends the handshake does not.
    fn note_timestamps(&mut self, now: Time, segment: &Segment, samples: bool) {
        let Some(timestamps) = segment.timestamps.filter(|_| self.options.timestamps) else { return };
        // The echo is that of the earliest segment that is not acknowledged (RFC 7323 §4.3).
        if segment.seq <= self.acknowledged && age(self.echo, timestamps.value) <= 0 {
            self.echo = timestamps.value;
        }
        if !samples {
            return;
        }
        let since_echo = milliseconds(now, self.config.clock_phase).wrapping_sub(timestamps.echo);
        let full = u64::from(segment.len) >= self.acks.receive_mss;
        self.window.rtt.by_timestamps(timestamps.echo, since_echo, full, self.next != self.read);
    }

    fn report_duplicate(&mut self, block: std::ops::Range<Seq>) {
        if self.options.sack && self.config.dsack {
            self.duplicate = Some(block);
        }
    }

    fn take_data(&mut self, now: Time, segment: &Segment) {
        if self.ecn.accurate {
            self.count_mark(segment.ecn == Ecn::Ce);
        } else if self.ecn.agreed && self.config.echo == EcnEcho::Precise {
            self.follow_marks(now, segment.ecn == Ecn::Ce);
        } else if self.ecn.agreed && segment.cwr {
            // The sender has reduced its window, perhaps to one segment: it gets its ACK at once.
            self.ecn.echo = false;
            self.acks.pending.now = true;
        }
        self.duplicate = None;
        let end = segment.end();
        if segment.seq == self.next && end > self.next && self.remaining() > 0 {
            if self.is_read_at_once() {
                return self.take_and_read(now, segment, end);
            }
            return self.take_in_order(now, segment, end);
        }
        if end <= self.next {
            self.report_duplicate(segment.seq..end);
            return self.refuse();
        }
        if segment.seq > self.next {
            if segment.seq >= self.next + self.remaining() {
                return self.refuse();
            }
            return self.take_out_of_order(now, segment);
        }
        if segment.seq < self.next {
            self.report_duplicate(segment.seq..self.next);
        }
        if self.remaining() == 0 {
            return self.refuse();
        }
        self.take_in_order(now, segment, end);
    }

    /// The segment is not kept; its ACK leaves at once.
    fn refuse(&mut self) {
        self.acks.enter_quick_fully(self.ticks, self.window.offered);
        self.acks.pending.scheduled = true;
    }

    /// The buffer of a segment of so many bytes. Mostly it is the same as before.
    #[inline]
    pub(super) fn buffer_of(&mut self, len: u32) -> Buffer {
        if self.last_buffer.0 != len {
            self.last_buffer = (len, self.config.segment_memory.of(len));
        }
        self.last_buffer.1
    }

    /// Granted memory that is free.
    fn spare(&self) -> u64 {
        (self.pages * PAGE).saturating_sub(self.used())
    }

    /// Asks for as many pages as a segment needs.
    fn grant_pages(&mut self, memory: u64) {
        let spare = self.spare();
        if memory > spare {
            self.pages += (memory - spare).div_ceil(PAGE);
        }
    }

    /// Whole pages that are free go back.
    pub(super) fn return_pages(&mut self) {
        self.pages = self.pages.min(self.used().div_ceil(PAGE));
    }

    /// Makes room for a segment where the buffer is more than full. Whether there is room.
    fn make_room(&mut self, seq: Seq) -> bool {
        let full = |receiver: &Receiver| receiver.used() > receiver.window.buffer;
        if !full(self) {
            return true;
        }
        self.acks.quick = 0;
        self.window.overrun(self.used());
        if full(self) {
            self.queue.collapse();
        }
        if full(self) {
            // The data that lies highest is the least urgent, but not to make room for what lies higher still.
            let (memory, buffer) = (self.queue.memory, self.window.buffer);
            if self.reorder.prune(seq, |kept| memory + kept <= buffer) {
                self.sacks.clear();
            }
        }
        self.return_pages();
        !full(self)
    }

    /// Whether nothing waits in the buffer and the application reads at the moment at which data come.
    pub(super) fn is_read_at_once(&self) -> bool {
        self.read == self.next && self.reorder.is_empty() && self.reading && self.reader.is_instant(&self.config)
    }

    /// Takes data in order that [is read at once](Self::is_read_at_once). Room for them is granted and given back at
    /// the same moment, so that what is left of [`Receiver::take_in_order`] is the memory in use until the ACK is
    /// decided.
    #[inline]
    fn take_and_read(&mut self, now: Time, segment: &Segment, end: Seq) {
        let buffer = self.buffer_of(segment.len);
        self.queue.memory = buffer.memory;
        self.first_unread_end = end;
        self.next = end;
        self.note_data(now, segment, buffer.memory);
        self.sacks.clear();
    }

    fn take_in_order(&mut self, now: Time, segment: &Segment, end: Seq) {
        let buffer = self.buffer_of(segment.len);
        // While granted pages last, a segment in order is taken without a look at the buffer's size.
        let expected = self.reorder.is_empty() && segment.seq == self.next && buffer.memory <= self.spare();
        if !expected && !self.make_room(segment.seq) {
            self.acks.pending.no_memory = true;
            self.acks.pending.now = true;
            self.acks.pending.scheduled = true;
            if self.next > self.read {
                return;
            }
        }
        self.grant_pages(buffer.memory);
        if self.read == self.next {
            self.first_unread_end = end;
        }
        let len = u64::from(segment.len);
        self.queue.push(len, buffer, self.window.window_of(buffer.memory) > len);
        self.next = end;
        self.note_data(now, segment, buffer.memory);
        if !self.reorder.is_empty() {
            let mut duplicate = self.duplicate.take();
            let (next, moved) = self.reorder.take(self.next, &mut self.queue.tail, &mut duplicate);
            if self.options.sack && self.config.dsack {
                self.duplicate = duplicate;
            }
            let len = next - self.next;
            self.queue.add(len, moved, self.window.window_of(moved) > len);
            self.next = next;
            // The hole is filled (RFC 5681 §4.2).
            self.acks.pending.now |= self.reorder.is_empty();
            self.return_pages();
        }
        if self.reorder.is_empty() {
            self.sacks.clear();
        } else {
            self.sacks.acknowledge(self.next);
        }
    }

    /// Everything that a segment in order teaches.
    #[inline]
    fn note_data(&mut self, now: Time, segment: &Segment, memory: u64) {
        self.acks.pending.scheduled = true;
        self.note_size(segment.len, segment.psh, memory);
        self.window.rtt.by_window(now, self.next, self.window.offered, self.next != self.read);
        self.acks.measure_gap(self.ticks, now, self.window.offered, || self.handshake.timeout(self.config.rto_min));
        self.note_mark(segment);
        if segment.len >= LEAST_FOR_GROWTH {
            self.grow_window(segment.len, memory, self.used());
        }
    }

    #[inline]
    pub(super) fn note_size(&mut self, len: u32, psh: bool, memory: u64) {
        let options = if self.options.timestamps { TIMESTAMP_BYTES } else { 0 };
        let len = u64::from(len);
        if self.acks.measure_mss(len, psh, options, self.window.advertised_mss) {
            self.window.measure(len, memory);
        }
    }

    #[inline]
    pub(super) fn grow_window(&mut self, len: u32, memory: u64, used: u64) {
        let grew = self.window.grow(u64::from(len), memory, used, self.acks.receive_mss);
        if grew {
            // While the window grows every segment is acknowledged: the sender learns of it at once.
            self.acks.quick |= 1;
        }
    }

    /// Counts a marked packet. Two that no ACK has told are told at once (RFC 9768 §3.2.2.5.1).
    fn count_mark(&mut self, marked: bool) {
        if marked {
            self.ecn.count = self.ecn.count.wrapping_add(1);
            self.acks.pending.now |= self.ecn.count.wrapping_sub(self.ecn.told) >= MARKS_TO_TELL;
        }
    }

    /// Keeps the echo equal to the mark of the latest segment. Before it changes, an ACK leaves for the segments
    /// that came with the former one (RFC 8257 §3.2).
    fn follow_marks(&mut self, now: Time, marked: bool) {
        if marked == self.ecn.echo {
            return;
        }
        if self.acks.pending.scheduled {
            self.send_ack(now);
        }
        self.ecn.echo = marked;
        self.acks.pending.now = true;
    }

    #[inline]
    fn note_mark(&mut self, segment: &Segment) {
        if segment.ecn == Ecn::NotEct && !self.ecn.seen {
            return;
        }
        if self.ecn.accurate || self.config.echo == EcnEcho::Precise {
            return;
        }
        match segment.ecn {
            // A segment without ECT among others with it is a retransmission, perhaps.
            Ecn::NotEct if self.ecn.seen => {
                self.acks.enter_quick(self.ticks, self.window.offered, QUICK_AFTER_MARK);
            }
            Ecn::NotEct => {}
            Ecn::Ce if self.ecn.agreed => {
                if !self.ecn.echo {
                    self.acks.enter_quick(self.ticks, self.window.offered, QUICK_AFTER_MARK);
                    self.ecn.echo = true;
                }
                self.ecn.seen = true;
            }
            _ => self.ecn.seen |= self.ecn.agreed,
        }
    }

    fn take_out_of_order(&mut self, now: Time, segment: &Segment) {
        self.note_mark(segment);
        if !self.make_room(segment.seq) {
            return;
        }
        let buffer = self.buffer_of(segment.len);
        self.note_size(segment.len, segment.psh, buffer.memory);
        self.acks.pending.scheduled = true;
        let block = segment.seq..segment.end();
        let first = self.reorder.is_empty();
        self.grant_pages(buffer.memory);
        // The kernel books a segment out of order after it has looked at the room.
        let used = self.used();
        let inserted = self.reorder.insert(block.clone(), buffer);
        if let Some(duplicate) = inserted.duplicate
            && self.options.sack
            && self.config.dsack
        {
            extend(&mut self.duplicate, duplicate);
        }
        if self.options.sack {
            if first {
                self.sacks.clear();
            }
            let place = self.sacks.locate(&block);
            if place >= BLOCKS_EXPECTED {
                self.flush_compressed(now);
            }
            self.sacks.promote(place, &block);
            // Without SACK the window stays, so that the ACKs count as duplicates (RFC 5681 §2).
            if inserted.kept {
                self.grow_window(segment.len, buffer.memory, used);
            }
        }
        self.window.make_room(self.reorder.end(), self.next);
    }
}

/// How much older `value` is than `than`, in milliseconds; the clock wraps.
pub(super) fn age(than: u32, value: u32) -> i32 {
    than.wrapping_sub(value) as i32
}
