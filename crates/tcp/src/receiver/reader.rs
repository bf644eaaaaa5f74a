//! The application: when it reads, and which ACKs its reads send.

use super::Receiver;
use super::config::Config;
use super::memory::Queue;
use crate::segment::Segment;
use skyhop_base::Time;
use std::collections::VecDeque;

/// An application that waits for data, wakes up, and reads for a while.
#[derive(Clone, Debug, Default)]
pub(super) struct Reader {
    /// When it has woken up.
    wakes: Option<Time>,
    /// When the read under way ends: the connection is in use until then.
    ends: Option<Time>,
    /// Segments that came during a read.
    backlog: VecDeque<Segment>,
    /// An ACK that the backlog sets off: it waits for the end of the backlog.
    ack: Deferral,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Deferral {
    #[default]
    Off,
    On,
    Due,
}

impl Reader {
    pub(super) fn timer(&self) -> Option<Time> {
        self.ends.or(self.wakes)
    }

    /// Whether the application wakes up and ends its read at the moment at which data come.
    pub(super) fn is_instant(&self, config: &Config) -> bool {
        self.timer().is_none() && self.ack == Deferral::Off && config.reads_at_once()
    }

    /// Whether it is not reading, and neither waits to read nor has segments that came during a read.
    pub(super) fn is_idle(&self) -> bool {
        self.timer().is_none() && self.ack == Deferral::Off && self.backlog.is_empty()
    }

    /// Whether an ACK that is due now has to wait; it is sent with the others.
    pub(super) fn defers(&mut self) -> bool {
        let defers = self.ack != Deferral::Off;
        if defers {
            self.ack = Deferral::Due;
        }
        defers
    }

    /// Keeps a segment if a read is under way.
    pub(super) fn holds(&mut self, now: Time, segment: &Segment) -> bool {
        let holds = self.ends.is_some_and(|ends| now < ends);
        if holds {
            self.backlog.push_back(*segment);
        }
        holds
    }
}

impl Receiver {
    /// The application starts or stops reading; while it reads, it reads at once what comes.
    pub fn set_reading(&mut self, now: Time, reading: bool) {
        self.reading = reading;
        self.undisturbed = false;
        self.reader.wakes = None;
        if reading {
            self.read(now);
        }
    }

    /// The application reads all there is. Returns the number of bytes.
    pub fn read(&mut self, now: Time) -> u64 {
        self.undisturbed = false;
        self.reader.wakes = None;
        self.reader.ends = None;
        let mut bytes = self.copy();
        while !self.reader.backlog.is_empty() {
            self.reader.ack = Deferral::On;
            for segment in std::mem::take(&mut self.reader.backlog) {
                self.process(now, &segment);
            }
            let due = std::mem::take(&mut self.reader.ack) == Deferral::Due;
            if due && self.acks.pending.scheduled {
                self.send_ack(now);
            }
            bytes += self.copy();
        }
        self.acknowledge_read(now, bytes);
        bytes
    }

    #[inline]
    fn copy(&mut self) -> u64 {
        let bytes = self.next - self.read;
        if bytes > 0 {
            // The buffer is measured with the first piece that is copied: what lies behind it is not read yet then.
            let first = self.first_unread_end.clamp(self.read, self.next);
            self.window.on_read(self.stamp, first, self.next - first, self.reorder.end(), self.next);
            self.read = self.next;
            self.queue = Queue::default();
            self.return_pages();
        }
        bytes
    }

    /// Data has come: an application that reads will wake up.
    #[inline]
    pub(super) fn wake_reader(&mut self, now: Time) {
        if self.reading && self.next > self.read && self.reader.timer().is_none() && self.reader.ack == Deferral::Off {
            if self.config.reads_at_once() {
                let bytes = self.copy();
                self.acknowledge_read(now, bytes);
                return;
            }
            self.reader.wakes = Some(now + self.config.read_latency);
        }
        self.run_reader(now);
    }

    /// Does what the application does at `now`.
    pub(super) fn run_reader(&mut self, now: Time) {
        if self.reader.wakes.is_some_and(|wakes| wakes <= now) {
            self.reader.wakes = None;
            self.reader.ends = Some(now + self.config.read_time);
        }
        if self.reader.ends.is_some_and(|ends| ends <= now) {
            self.read(now);
        }
    }

    /// A read may send an ACK: for two segments that wait, for one that ends a write, or for a window that has doubled.
    #[inline]
    pub(super) fn acknowledge_read(&mut self, now: Time, bytes: u64) {
        let pending = self.acks.pending;
        let waiting = self.next - self.acknowledged;
        let mut due = pending.scheduled
            && (waiting > self.acks.receive_mss || (bytes > 0 && pending.reader_acknowledges() && self.used() == 0));
        if bytes > 0 && !due {
            let offered = self.remaining();
            if 2 * offered <= self.window.clamp && (self.used() > 0 || self.window.may_be(2 * offered)) {
                let (selected, _) = self.select_window();
                due = selected > 0 && selected >= 2 * offered;
            }
        }
        if due {
            self.send_ack(now);
        }
    }
}
