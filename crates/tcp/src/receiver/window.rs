//! The receive window: how much of the buffer is offered, and how the buffer grows with the rate.

use super::config::Config;
use skyhop_base::{Duration, Time};

/// A ratio of window to buffer is a number of 256ths.
const RATIO_BITS: u32 = 8;
/// Before the first full segment half of the buffer counts as window.
const FIRST_RATIO: u64 = 128;
/// The largest scale (RFC 7323 §2.3), and the largest value of the header's field.
const MOST_SCALE: u32 = 14;
const FIELD: u64 = 65_535;
/// The least buffer of a socket, and the initial window in segments that the first round is taken to be.
const LEAST_BUFFER: u64 = 2304;
const INITIAL_SEGMENTS: u64 = 10;

/// Buffer, window and their growth. All in bytes.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// Host memory that may be used, segments' overhead included.
    pub(super) buffer: u64,
    /// The application fixed the buffer: it does not grow.
    locked: bool,
    /// 256ths of the buffer that are window: the rest pays for the overhead of segments as last seen.
    ratio: u64,
    pub(super) scale: u32,
    /// The most that is ever offered.
    pub(super) clamp: u64,
    /// What may be offered now: grows with the segments that come.
    pub(super) threshold: u64,
    /// Offered last, and the number from which it counts.
    pub(super) offered: u64,
    /// The largest segment less its options.
    pub(super) advertised_mss: u64,
    largest_buffer: u64,
    autotuning: bool,
    shrink: bool,
    space: Space,
    pub(super) rtt: RttEstimate,
}

/// How much the application read in the last round trip ("dynamic right-sizing").
#[derive(Clone, Copy, Debug, Default)]
struct Space {
    bytes: u64,
    /// The next byte to read, and the time, when this round began.
    from: u64,
    since: Time,
}

/// The receiver's own estimate of the round-trip time, in eighths of a microsecond. Zero: none yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RttEstimate {
    eighths: u64,
    /// Without timestamps: a window's worth of data takes a round trip. Its end, and when it began.
    window_end: u64,
    since: Option<Time>,
    /// The echo of the last sample; each counts once.
    last_echo: u32,
}

impl RttEstimate {
    pub(super) fn micros(&self) -> Option<u64> {
        (self.eighths > 0).then_some(self.eighths / 8)
    }

    pub(super) fn eighths(&self) -> u64 {
        self.eighths
    }

    fn sample(&mut self, micros: u64, of_window: bool, unread: bool) {
        let new = micros * 8;
        if self.eighths == 0 || new < self.eighths {
            self.eighths = new;
        } else if !of_window && !unread {
            // A window may last longer than a round trip, and a reader that lags makes samples long: those only lower
            // the estimate.
            self.eighths = self.eighths - self.eighths / 8 + micros;
        }
    }

    /// A segment in order has come; `next` is the next byte expected before it counts.
    pub(super) fn by_window(&mut self, now: Time, next: u64, offered: u64, unread: bool) {
        if let Some(since) = self.since {
            if next < self.window_end {
                return;
            }
            self.sample((now.since(since).as_nanos() / 1000).max(1), true, unread);
        }
        self.window_end = next + offered;
        self.since = Some(now);
    }

    /// Whether this echo is another one than that of the last sample.
    pub(super) fn is_news(&self, echo: u32) -> bool {
        echo != self.last_echo
    }

    /// A segment carries an echo of `age` milliseconds; `full`: it is as large as segments are.
    pub(super) fn by_timestamps(&mut self, echo: u32, age: u32, full: bool, unread: bool) {
        if echo == self.last_echo {
            return;
        }
        self.last_echo = echo;
        // An age beyond what microseconds in 31 bits hold is an echo of something else.
        if full && age > 0 && age < i32::MAX as u32 / 1000 {
            self.sample(u64::from(age) * 1000, false, unread);
        }
    }
}

impl Window {
    /// The window of a connection that a SYN opens; `mss` is the largest segment less options.
    pub(super) fn new(config: &Config, mss: u64, scaling: bool) -> Window {
        let locked = config.buffer.is_some();
        let buffer = match config.buffer {
            // The kernel doubles what the application asks for: half is for overhead.
            Some(bytes) => (bytes.min(config.buffer_limit) * 2).max(LEAST_BUFFER),
            None => config.memory[1],
        };
        let full = (buffer * FIRST_RATIO) >> RATIO_BITS;
        let clamp = if locked { full } else { FIELD << MOST_SCALE };
        let space = full.min(clamp);
        let offered = if space > mss { space / mss * mss } else { space };
        let mut scale = 0;
        if scaling {
            let largest = space.max(config.memory[2]).max(config.buffer_limit).min(clamp);
            scale = largest.max(1).ilog2().saturating_sub(15).min(MOST_SCALE);
        }
        Window {
            buffer,
            locked,
            ratio: FIRST_RATIO,
            scale,
            clamp: clamp.min(FIELD << scale),
            threshold: offered,
            offered,
            advertised_mss: mss,
            largest_buffer: config.memory[2],
            autotuning: config.autotuning,
            shrink: config.shrink_window,
            space: Space::default(),
            rtt: RttEstimate::default(),
        }
    }

    /// The connection stands: the window leaves room for one more segment, and the first round begins.
    pub(super) fn establish(&mut self, now: Time, next: u64) {
        let full = self.window_of(self.buffer);
        let mss = self.advertised_mss;
        self.clamp = self.clamp.min(full);
        if self.clamp > 2 * mss && self.clamp + mss > full {
            self.clamp = (2 * mss).max(full.saturating_sub(mss));
        }
        self.threshold = self.threshold.min(self.clamp);
        let bytes = self.threshold.min(self.offered).min(INITIAL_SEGMENTS * mss);
        self.space = Space { bytes, from: next, since: now };
    }

    /// The window that fits into `buffer` bytes of memory.
    pub(super) fn window_of(&self, buffer: u64) -> u64 {
        (buffer * self.ratio) >> RATIO_BITS
    }

    /// The memory that a window of `window` bytes needs.
    fn buffer_of(&self, window: u64) -> u64 {
        (window << RATIO_BITS) / self.ratio
    }

    /// What of the window is free while `used` bytes of the buffer are in use.
    fn free(&self, used: u64) -> u64 {
        self.window_of(self.buffer.saturating_sub(used))
    }

    /// A segment of another size than before has come: the overhead changes with it.
    pub(super) fn measure(&mut self, len: u64, memory: u64) {
        let ratio = ((len << RATIO_BITS) / memory.max(1)).clamp(1, 255);
        if ratio == self.ratio {
            return;
        }
        self.ratio = ratio;
        let clamp = self.window_of(self.buffer).max(LEAST_BUFFER / 2);
        if clamp < self.clamp {
            self.threshold = self.threshold.min(clamp);
        } else if clamp > self.clamp {
            self.threshold = self.threshold.max(self.offered.min(clamp));
        }
        self.clamp = clamp;
        self.space.bytes = self.space.bytes.min(clamp);
    }

    /// A segment came: more may be offered, by two segments at a time where its overhead allows. Whether it grew.
    pub(super) fn grow(&mut self, len: u64, memory: u64, used: u64, receive_mss: u64) -> bool {
        let room = self.clamp.min(self.free(used)).saturating_sub(self.threshold);
        if room == 0 {
            return false;
        }
        let by = if self.window_of(memory) <= len {
            2 * self.advertised_mss
        } else {
            self.grow_for_large_overhead(len, memory, receive_mss)
        };
        if by == 0 {
            return false;
        }
        self.threshold += room.min(by.max(2 * len));
        true
    }

    /// A segment with much overhead still opens a window that is small beside the largest.
    fn grow_for_large_overhead(&self, len: u64, memory: u64, receive_mss: u64) -> u64 {
        let mut overhead = self.window_of(memory) / 2;
        let mut window = self.window_of(self.largest_buffer) / 2;
        while self.threshold <= window {
            if overhead <= len {
                return 2 * receive_mss;
            }
            overhead /= 2;
            window /= 2;
        }
        0
    }

    /// The window that could be offered with `used` bytes of the buffer in use, and whether the buffer is more than
    /// half full (quick ACKs end then). Silly windows are avoided (RFC 1122 §4.2.3.3).
    #[inline(always)]
    pub(super) fn select(&self, used: u64, receive_mss: u64) -> (u64, bool) {
        let full = self.clamp.min(self.window_of(self.buffer));
        let free = self.free(used);
        let is_crowded = free < full / 2;
        if self.scale > 0 && !self.shrink && !is_crowded && full > 0 && receive_mss > 0 {
            return (self.whole_units(free.min(self.threshold)), false);
        }
        self.select_carefully(used, receive_mss)
    }

    /// The same in all cases.
    #[inline(never)]
    fn select_carefully(&self, used: u64, receive_mss: u64) -> (u64, bool) {
        let allowed = self.window_of(self.buffer);
        let full = self.clamp.min(allowed);
        let mss = receive_mss.min(full);
        if mss == 0 {
            return (0, false);
        }
        let mut free = self.free(used);
        let crowded = free < full / 2;
        if self.shrink && self.scale > 0 {
            return (self.select_shrinking(free, allowed, mss), crowded);
        }
        if crowded {
            free = free >> self.scale << self.scale;
            // Little is nothing: the sender had better wait than send in driblets.
            if free < allowed / 16 || free < mss {
                return (0, crowded);
            }
        }
        free = free.min(self.threshold);
        if self.scale > 0 {
            return (self.whole_units(free), crowded);
        }
        let kept = self.offered;
        let window = if kept + mss <= free || kept > free {
            free / mss * mss
        } else if mss == full && free > kept + full / 2 {
            free
        } else {
            kept
        };
        (window, crowded)
    }

    /// Whether the window that could be offered may be as large as `window`, which is larger than that offered last.
    pub(super) fn may_be(&self, window: u64) -> bool {
        self.threshold + (1 << self.scale) >= window
    }

    /// A window as the header's field can say it, rounded up.
    pub(super) fn whole_units(&self, window: u64) -> u64 {
        (window + (1 << self.scale) - 1) >> self.scale << self.scale
    }

    fn select_shrinking(&self, free: u64, allowed: u64, mss: u64) -> u64 {
        let unit = 1 << self.scale;
        let free = free >> self.scale << self.scale;
        if free < self.clamp.min(allowed) / 2 && (free < allowed / 16 || free < mss || free < unit) {
            return 0;
        }
        free.min((self.threshold).next_multiple_of(unit)) / unit * unit
    }

    /// The application reads; `read` is the next byte it reads then, `unread` what waits behind it.
    pub(super) fn on_read(&mut self, now: Time, read: u64, unread: u64, reorder_end: Option<u64>, next: u64) {
        if self.rtt.eighths == 0 || now.since(self.space.since) < Duration::from_micros(self.rtt.eighths / 8) {
            return;
        }
        let copied = (read - self.space.from).saturating_sub(unread);
        if copied > self.space.bytes {
            self.grow_buffer(copied, reorder_end, next);
        }
        self.space.from = read;
        self.space.since = now;
    }

    /// The buffer follows the rate: twice what a round trip brought, and twice its growth on top, for the next round
    /// trip of slow start is larger by as much again.
    fn grow_buffer(&mut self, bytes: u64, reorder_end: Option<u64>, next: u64) {
        let before = self.space.bytes.max(1);
        self.space.bytes = bytes;
        if !self.autotuning || self.locked {
            return;
        }
        let mut window = 2 * bytes;
        window += 2 * (u128::from(window) * u128::from(bytes.saturating_sub(before)) / u128::from(before)) as u64;
        window += reorder_end.map_or(0, |end| end.saturating_sub(next));
        let buffer = self.buffer_of(window).min(self.largest_buffer);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = self.window_of(buffer);
        }
    }

    /// Data out of order needs room beside the data to come.
    pub(super) fn make_room(&mut self, reorder_end: Option<u64>, next: u64) {
        self.grow_buffer(self.space.bytes, reorder_end, next);
    }

    /// More came than the buffer holds.
    pub(super) fn overrun(&mut self, used: u64) {
        if !self.locked && self.buffer < self.largest_buffer {
            self.buffer = self.buffer.max(used.min(self.largest_buffer));
        }
        if used > self.buffer {
            self.threshold = self.clamp.min(2 * self.advertised_mss);
        }
    }
}
