//! The receiving half of Linux's TCP: it acknowledges data that comes one way.
//!
//! [`Receiver`] is sans-IO: segments, timeouts and reads of the application go in, segments come out of
//! [`Receiver::transmit`]. One mechanism, one file: `handshake` (SYN-ACK), `acks` (quick and delayed ACKs),
//! `reorder` (holes, SACK, DSACK), `window` (the window and the growth of the buffer), `memory` (what a segment costs),
//! `input` (what a segment sets off), `expected` (the same for most segments), `reader` (the application). The model is
//! described in `docs/models/linux-tcp-receiver.md`.

mod acks;
mod clock;
mod config;
mod expected;
mod handshake;
mod host;
mod input;
mod memory;
mod reader;
mod reorder;
mod window;

pub use config::{Compression, Config, EcnEcho};
pub use host::Host;
pub use memory::SegmentMemory;

use crate::segment::{Brief, Segment, Seq, Timestamps, flags};
use crate::timer::Timers;
use crate::waiting::Waiting;
use acks::AckState;
use clock::{Ticks, milliseconds};
use handshake::Handshake;
use memory::{Buffer, Queue};
use reader::Reader;
use reorder::{Reorder, SackList};
use skyhop_base::{Duration, Time};
use std::ops::Range;
use std::sync::Arc;
use window::Window;

/// SACK blocks in an option: four, or three beside timestamps (RFC 2018 §3).
const BLOCKS: usize = 4;
/// Duplicates that are acknowledged at once before compression begins: the sender needs them for fast retransmit.
const DUPLICATES_AT_ONCE: u32 = 3;
/// From this place in the list on, a changed SACK block is news that a waiting ACK should not mix with its own.
const BLOCKS_EXPECTED: usize = 2;
/// Options beside the fixed header: timestamps with their padding.
const TIMESTAMP_BYTES: u64 = 12;

/// The receiver's state of ECN (RFC 3168 §6.1.3).
#[derive(Clone, Copy, Debug, Default)]
struct EcnState {
    /// Both ends agreed on it.
    agreed: bool,
    /// Data with an ECT codepoint came.
    seen: bool,
    /// A mark is echoed until the sender answers with CWR; with the precise echo: the latest segment was marked.
    echo: bool,
    /// Marked packets are counted (RFC 9768 §3.2.1): how many so far, and how many the last ACK told.
    accurate: bool,
    count: u32,
    told: u32,
}

/// Options that both ends agreed on in the handshake.
#[derive(Clone, Copy, Debug, Default)]
struct Options {
    timestamps: bool,
    sack: bool,
}

/// The earlier one of two timers. Asked for after each segment, where chained iterators take several times as long.
fn sooner(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// The receiving half of a connection.
///
/// Large because every arriving segment passes through all of it: order, window, memory, ACKs and marks. State that
/// only one of them needs is a type of its own (`Window`, `Reorder`, `SackList`, `AckState`, `EcnState`, `Reader`).
#[derive(Clone, Debug)]
pub struct Receiver {
    config: Arc<Config>,
    ticks: Ticks,
    handshake: Handshake,
    options: Options,
    /// When the last segment or timer was processed: the kernel's cached time.
    stamp: Time,
    /// The next byte expected, and the one that the last ACK named.
    next: Seq,
    acknowledged: Seq,
    /// The next byte that the application reads, and where the first buffer in the queue ends.
    read: Seq,
    first_unread_end: Seq,
    /// The buffers of data in order that was not read.
    queue: Queue,
    /// The size of the last segment, and its buffer.
    last_buffer: (u32, Buffer),
    /// Pages of memory that the host has granted to the buffer.
    pages: u64,
    reading: bool,
    /// [`Receiver::is_undisturbed`], after each segment that does not take the shortcut for such receivers.
    undisturbed: bool,
    shortcuts: bool,
    reader: Reader,
    window: Window,
    reorder: Reorder,
    sacks: SackList,
    duplicate: Option<Range<Seq>>,
    acks: AckState,
    /// The timestamp to echo (RFC 7323 §4.3).
    echo: u32,
    ecn: EcnState,
    /// When a segment outside the window was answered last, in ticks.
    last_invalid: Option<u64>,
    /// The segment that leaves first, if it carries no SACK blocks. Without flags: there is none, for each segment of a
    /// receiver acknowledges something.
    brief: Brief,
    /// Other segments that leave.
    outbox: Waiting<Segment>,
}

impl Receiver {
    /// A host that listens. Its application reads at once unless [`Receiver::set_reading`] stops it.
    pub fn new(config: Config) -> Receiver {
        let timers = config.timers;
        Receiver::shared(Arc::new(config), timers)
    }

    /// A host whose configuration others have, too; `timers` stand in for those of `config`.
    pub fn shared(config: Arc<Config>, timers: Timers) -> Receiver {
        let window = Window::new(&config, u64::from(config.mss), config.window_scaling);
        Receiver {
            ticks: Ticks::new(timers),
            last_buffer: (0, config.segment_memory.of(0)),
            config,
            handshake: Handshake::Listening,
            options: Options::default(),
            stamp: Time::ZERO,
            next: 0,
            acknowledged: 0,
            read: 0,
            first_unread_end: 0,
            queue: Queue::default(),
            pages: 0,
            reading: true,
            undisturbed: false,
            shortcuts: true,
            reader: Reader::default(),
            window,
            reorder: Reorder::default(),
            sacks: SackList::default(),
            duplicate: None,
            acks: AckState::default(),
            echo: 0,
            ecn: EcnState::default(),
            last_invalid: None,
            brief: Brief::default(),
            outbox: Waiting::default(),
        }
    }

    /// Takes no shortcut for usual segments from now on. For tests, which compare with it.
    pub fn without_shortcuts(mut self) -> Receiver {
        self.shortcuts = false;
        self.undisturbed = false;
        self
    }

    /// The next segment that leaves; the caller sends all there are before time goes on.
    pub fn transmit(&mut self, _now: Time) -> Option<Segment> {
        if let Some(brief) = self.transmit_brief() {
            return Some(brief.segment());
        }
        let segment = *self.outbox.front_mut()?;
        self.outbox.pop_front();
        Some(segment)
    }

    /// Whether [`Receiver::transmit`] has a segment.
    #[inline(always)]
    pub fn is_ready(&self) -> bool {
        !self.brief.is_blank() || !self.outbox.is_empty()
    }

    /// The next segment that leaves, if it carries no SACK blocks.
    #[inline(always)]
    pub fn transmit_brief(&mut self) -> Option<Brief> {
        let brief = self.brief;
        self.brief.clear();
        (!brief.is_blank()).then_some(brief)
    }

    /// Puts a segment behind those that leave.
    #[inline(always)]
    fn emit(&mut self, brief: Brief) {
        if self.is_ready() {
            self.outbox.push_back(brief.segment());
        } else {
            self.brief = brief;
        }
    }

    /// When [`Receiver::on_timeout`] is due.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        let delayed = self.acks.timer.filter(|_| self.acks.pending.timer || self.acks.compressed > 0);
        let first = delayed.map(|(_, fires)| fires);
        // While nothing is out of order or read late, no other timer runs.
        if self.undisturbed {
            return first;
        }
        let others = (self.handshake.timer(), self.acks.compression_timer, self.reader.timer());
        sooner(sooner(first, others.0), sooner(others.1, others.2))
    }

    /// When the delayed-ACK timer sends an ACK.
    pub fn delayed_ack_due(&self) -> Option<Time> {
        self.acks.timer.filter(|_| self.acks.pending.timer).map(|(_, fires)| fires)
    }

    /// Does what is due at `now`.
    pub fn on_timeout(&mut self, now: Time) {
        self.undisturbed = false;
        if self.handshake.timer().is_some_and(|fires| fires <= now) {
            self.stamp = now;
            self.repeat_syn_ack(now);
        }
        if self.acks.compression_timer.is_some_and(|fires| fires <= now) {
            self.acks.compression_timer = None;
            if self.acks.compressed > 0 {
                self.send_ack(now);
            }
        }
        if let Some((due, fires)) = self.acks.timer
            && fires <= now
        {
            self.acks.timer = None;
            self.delayed_ack(now, due);
        }
        self.run_reader(now);
    }

    /// Host memory in use.
    fn used(&self) -> u64 {
        self.queue.memory + self.reorder.memory()
    }

    /// What of the window offered last is left.
    fn remaining(&self) -> u64 {
        (self.acknowledged + self.window.offered).saturating_sub(self.next)
    }

    /// The window that could be offered now. Quick ACKs end where the buffer is more than half full.
    fn select_window(&mut self) -> (u64, bool) {
        let (window, crowded) = self.window.select(self.used(), self.acks.receive_mss);
        if crowded {
            self.acks.quick = 0;
        }
        (window, crowded)
    }

    /// The window that an ACK offers: it never takes back what was offered. `selected`: what could be offered now,
    /// where that is known.
    fn offer_window(&mut self, selected: Option<u64>) -> u32 {
        if self.acks.pending.no_memory {
            self.window.offered = 0;
            self.acknowledged = self.next;
            return 0;
        }
        let offered = self.remaining();
        let selected = selected.unwrap_or_else(|| self.select_window().0);
        let scale = self.window.scale;
        let mut window = selected;
        if selected < offered && !(self.config.shrink_window && scale > 0) {
            window = self.window.whole_units(offered);
        }
        self.window.offered = window;
        self.acknowledged = self.next;
        // At most 2^30, for the scale is at most 14.
        (window.min(65_535 << scale) >> scale << scale) as u32
    }

    fn send_ack(&mut self, now: Time) {
        self.send_ack_with(now, None);
    }

    fn send_ack_with(&mut self, now: Time, selected: Option<u64>) {
        self.stamp = now;
        let room = if self.options.timestamps { BLOCKS - 1 } else { BLOCKS };
        let duplicate = self.duplicate.take();
        let window = self.offer_window(selected);
        let timestamps = self.timestamps(now);
        let mut set = flags::ACK;
        if self.ecn.accurate {
            set |= flags::of_ace(self.ecn.count);
            self.ecn.told = self.ecn.count;
        } else if self.ecn.agreed && self.ecn.echo {
            set |= flags::ECE;
        }
        let brief = Brief { seq: 1, ack: self.next, window, flags: set, ..Brief::default() }.stamped(timestamps);
        if self.options.sack && (duplicate.is_some() || !self.sacks.is_empty()) {
            let sack = self.sacks.option(duplicate.as_ref(), room);
            self.outbox.push_back(Segment { sack, ..brief.segment() });
        } else {
            self.emit(brief);
        }
        self.acks.sent(self.ticks);
    }

    fn timestamps(&self, now: Time) -> Option<Timestamps> {
        let value = milliseconds(now, self.config.clock_phase);
        self.options.timestamps.then_some(Timestamps { value, echo: self.echo })
    }

    /// The delayed-ACK timer, set for the tick `due`, fires.
    fn delayed_ack(&mut self, now: Time, due: u64) {
        if self.acks.compressed > 0 {
            self.send_ack(now);
            return;
        }
        if !self.acks.pending.timer {
            return;
        }
        debug_assert!(due <= self.ticks.at(now));
        self.acks.pending.timer = false;
        if self.acks.pending.scheduled {
            // It was missed: the next one may wait longer.
            self.acks.ato = (self.acks.ato * 2).min(self.timeout());
            self.send_ack(now);
        }
    }

    /// Quick ACKs are left, and the host sends such.
    #[inline(always)]
    fn acknowledges_quickly(&self) -> bool {
        self.acks.quick_mode() && self.config.quick_acks
    }

    /// Sends the ACK that is scheduled, or lets it wait.
    #[inline(always)]
    fn schedule_ack(&mut self, now: Time) {
        let pending = self.acks.pending;
        if !pending.scheduled {
            return;
        }
        let two_segments = self.next - self.acknowledged > self.acks.receive_mss;
        let selected = (two_segments && self.next != self.read).then(|| self.select_window().0);
        // An ACK for two segments waits for the reader where its window would be smaller than the last.
        if (two_segments && selected.is_none_or(|window| window >= self.window.offered))
            || self.acknowledges_quickly()
            || !self.config.delayed_acks
            || pending.now
        {
            if !self.reader.defers() {
                self.send_ack_with(now, selected);
            }
        } else if self.reorder.is_empty() {
            self.delay_ack(now);
        } else if !self.options.sack || self.acks.compressed >= self.config.compression.most {
            self.send_ack(now);
        } else {
            self.compress_ack(now);
        }
    }

    #[inline(always)]
    fn delay_ack(&mut self, now: Time) {
        let delay = self.acks.delay(self.ticks, self.handshake.rtt(), self.config.rto_min);
        let present = self.ticks.at(now);
        let mut due = present + delay;
        if let (true, Some((earlier, _))) = (self.acks.pending.timer, self.acks.timer) {
            if earlier <= present + delay / 4 {
                self.send_ack(now);
                return;
            }
            due = due.min(earlier);
        }
        self.acks.pending.timer = true;
        if self.acks.timer.is_none_or(|(set, _)| set != due) {
            let fires = self.ticks.due(now, self.ticks.span(due - present));
            self.acks.timer = Some((due, fires));
        }
    }

    /// A duplicate ACK behind a hole: the first three leave at once, later ones wait for each other.
    fn compress_ack(&mut self, now: Time) {
        if self.acks.duplicates_at != self.next {
            self.acks.duplicates_at = self.next;
            self.acks.duplicates = 0;
        }
        if self.acks.duplicates < DUPLICATES_AT_ONCE {
            self.acks.duplicates += 1;
            self.send_ack(now);
            return;
        }
        self.acks.compressed += 1;
        if self.acks.compression_timer.is_none() {
            let mut rtt = self.window.rtt.eighths();
            if let Some(handshake) = self.handshake.rtt() {
                rtt = rtt.min(handshake.as_nanos() / 125);
            }
            // A twentieth of the round-trip time, in nanoseconds from eighths of a microsecond.
            let share = Duration::from_nanos(rtt * 125 / 20);
            let compression = self.config.compression;
            self.acks.compression_timer = Some(now + compression.delay.min(share) + compression.slack);
        }
    }

    /// An ACK that compression holds back leaves before the next change is entered.
    fn flush_compressed(&mut self, now: Time) {
        if self.acks.compressed > 0 {
            self.send_ack(now);
        }
    }

    /// The host's own retransmission timeout, in ticks: it bounds delays and tells what a long pause is.
    fn timeout(&self) -> u64 {
        self.ticks.of(self.handshake.timeout(self.config.rto_min))
    }

    /// The next byte expected. The SYN counts as one.
    #[inline]
    pub fn next_expected(&self) -> Seq {
        self.next
    }

    /// Whether all of these bytes came already.
    #[inline]
    pub fn holds(&self, range: Range<Seq>) -> bool {
        range.end <= self.next || (!self.reorder.is_empty() && self.reorder.holds(&range))
    }

    /// Memory beside the receiver itself, in bytes. What a host would book for the data is not part of it.
    pub fn memory_bytes(&self) -> u64 {
        size_of::<Config>() as u64 + self.outbox.memory_bytes() + self.reorder.memory_bytes()
    }

    /// Bytes in order that the application has not read.
    #[inline]
    pub fn unread(&self) -> u64 {
        self.next - self.read
    }

    /// Host memory that the buffer may use, in bytes; autotuning lets it grow.
    pub fn buffer(&self) -> u64 {
        self.window.buffer
    }

    /// The window offered last, in bytes.
    pub fn window(&self) -> u64 {
        self.window.offered
    }

    /// ACKs that leave at once before delayed ACKs begin.
    pub fn quick_acks(&self) -> u64 {
        self.acks.quick
    }

    /// Stretches of data above a hole.
    pub fn holes(&self) -> usize {
        self.reorder.holes()
    }

    /// The receiver's own estimate of the round-trip time.
    pub fn rtt(&self) -> Option<Duration> {
        self.window.rtt.micros().map(Duration::from_micros)
    }
}
