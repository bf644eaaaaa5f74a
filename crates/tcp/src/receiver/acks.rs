//! When an ACK leaves: at once, with the next segment, with the reader, or with a timer.

use super::clock::Ticks;
use skyhop_base::{Duration, Time};

/// ACKs at once after the start, a hole or a long pause, at most.
const MOST_QUICK: u64 = 16;
/// The least delay of an ACK and the least estimate of the time between segments, and the most (RFC 1122 §4.2.3.2
/// allows half a second).
const LEAST_DELAY: Duration = Duration::from_millis(40);
const MOST_DELAY: Duration = Duration::from_millis(200);

/// The sizes that a receiver takes for full before it has seen one (RFC 1122 §4.2.2.6), and the least.
pub(super) const DEFAULT_MSS: u64 = 536;
pub(super) const LEAST_MSS: u64 = 88;
const TCP_HEADER: u64 = 20;

/// The ACK that is scheduled, and the reasons for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pending {
    /// Something is to be acknowledged.
    pub(super) scheduled: bool,
    /// The delayed-ACK timer counts.
    pub(super) timer: bool,
    /// A segment came that ends a write; a second one.
    pub(super) pushed: bool,
    pushed_twice: bool,
    /// The ACK leaves at once whatever the counters say.
    pub(super) now: bool,
    /// There was no memory for data: the window is closed.
    pub(super) no_memory: bool,
}

impl Pending {
    /// Whether a reader that has emptied the buffer sends the ACK.
    pub(super) fn reader_acknowledges(&self) -> bool {
        self.pushed || self.pushed_twice
    }
}

/// The state behind the decision.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckState {
    pub(super) pending: Pending,
    /// ACKs that still leave at once.
    pub(super) quick: u64,
    /// The estimated time between segments, in ticks; zero before the first.
    pub(super) ato: u64,
    /// When the last segment with data came, in ticks.
    last_data: u64,
    /// The size of a full segment as seen, and that of the last smaller one.
    pub(super) receive_mss: u64,
    last_small: u64,
    /// The delayed-ACK timer: for when it is set, in ticks, and when it fires. An ACK in between leaves it running.
    pub(super) timer: Option<(u64, Time)>,
    /// ACKs that compression held back, and when its timer fires.
    pub(super) compressed: u32,
    pub(super) compression_timer: Option<Time>,
    /// Duplicates since the cumulative ACK moved last, and where it stood.
    pub(super) duplicates: u32,
    pub(super) duplicates_at: u64,
}

impl AckState {
    /// The timer has fired meanwhile, and nothing waited for it.
    pub(super) fn forget_stale_timer(&mut self, now: Time) {
        if !self.pending.timer && self.timer.is_some_and(|(_, fires)| fires < now) {
            self.timer = None;
        }
    }

    pub(super) fn quick_mode(&self) -> bool {
        self.quick > 0
    }

    pub(super) fn add_quick(&mut self, window: u64, most: u64) {
        let most = most.min(MOST_QUICK);
        let fit = match window / (2 * self.receive_mss.max(1)) {
            0 => 2,
            segments => segments,
        };
        self.quick = self.quick.max(fit.min(most));
    }

    /// ACKs leave at once for a while: a hole, a duplicate, a mark.
    pub(super) fn enter_quick(&mut self, ticks: Ticks, window: u64, most: u64) {
        self.add_quick(window, most);
        self.ato = ticks.of(LEAST_DELAY);
    }

    pub(super) fn enter_quick_fully(&mut self, ticks: Ticks, window: u64) {
        self.enter_quick(ticks, window, MOST_QUICK);
    }

    /// Learns the size of full segments, and whether this one ends a write. Returns whether the size changed.
    pub(super) fn measure_mss(&mut self, len: u64, pushed: bool, options: u64, advertised_mss: u64) -> bool {
        let last_small = std::mem::take(&mut self.last_small);
        if len >= self.receive_mss {
            let changed = len != self.receive_mss;
            self.receive_mss = len.min(advertised_mss);
            // A full segment that is pushed ends a write: more may not come soon, and the sender may wait for the ACK.
            self.pending.pushed |= pushed;
            return changed;
        }
        let with_header = len + TCP_HEADER + options;
        if with_header >= DEFAULT_MSS + TCP_HEADER || (with_header >= LEAST_MSS + TCP_HEADER && !pushed) {
            // Two smaller segments of one size: that is the full size now.
            self.last_small = len;
            if len == last_small {
                self.receive_mss = len;
                return false;
            }
        }
        self.pending.pushed_twice |= self.pending.pushed;
        self.pending.pushed = true;
        false
    }

    /// Learns the time between segments from one with data at `now`.
    /// `timeout`: the host's own.
    #[inline(always)]
    pub(super) fn measure_gap(&mut self, ticks: Ticks, now: Time, window: u64, timeout: impl Fn() -> Duration) {
        let present = ticks.at(now);
        let least = ticks.of(LEAST_DELAY);
        if self.ato == 0 {
            self.add_quick(window, MOST_QUICK);
            self.ato = least;
        } else {
            let gap = present - self.last_data;
            if gap <= least / 2 {
                self.ato = self.ato / 2 + least / 2;
            } else if gap < self.ato {
                self.ato = (self.ato / 2 + gap).min(ticks.of(timeout()));
            } else if gap > ticks.of(timeout()) {
                // The sender paused for so long that it starts again from a small window: it wants ACKs.
                self.add_quick(window, MOST_QUICK);
            }
        }
        self.last_data = present;
    }

    /// How long an ACK may be delayed, in ticks. `rtt`: the receiver's own estimate from the handshake.
    #[inline(always)]
    pub(super) fn delay(&self, ticks: Ticks, rtt: Option<Duration>, rto_min: Duration) -> u64 {
        let least = ticks.of(LEAST_DELAY);
        let delay = if self.ato > least { self.long_delay(ticks, rtt) } else { self.ato };
        // An ACK that is later than the sender's least timeout would make it fire.
        let before_timeout = ticks.of(rto_min).max(2).saturating_sub(1);
        delay.min(before_timeout)
    }

    /// The delay that follows from a time between segments above the least.
    #[cold]
    fn long_delay(&self, ticks: Ticks, rtt: Option<Duration>) -> u64 {
        let mut most = if self.pending.pushed { ticks.of(MOST_DELAY) } else { ticks.of(MOST_DELAY * 5) / 2 };
        if let Some(rtt) = rtt {
            most = most.min(ticks.of(rtt).max(ticks.of(LEAST_DELAY)));
        }
        self.ato.min(most).min(ticks.of(MOST_DELAY))
    }

    /// An ACK has left: everything that it answers is done.
    pub(super) fn sent(&mut self, ticks: Ticks) {
        self.compressed = 0;
        self.compression_timer = None;
        if self.quick > 0 {
            let acknowledged = u64::from(self.pending.scheduled);
            if acknowledged >= self.quick {
                self.quick = 0;
                self.ato = ticks.of(LEAST_DELAY);
            } else {
                self.quick -= acknowledged;
            }
        }
        self.pending = Pending::default();
    }
}
