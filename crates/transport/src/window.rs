//! What may be sent besides the congestion window itself: inflation, allowances of the last input, spacing.

use skyhop_base::{Duration, Rate, Time};

/// As many segments as the window holds.
pub(crate) const NO_LIMIT: u32 = u32::MAX;

/// Windows per SRTT in slow start below half of the threshold, and later (Linux tcp_pacing_ss_ratio,
/// tcp_pacing_ca_ratio).
const SLOW_START_RATIO: f64 = 2.0;
const AVOIDANCE_RATIO: f64 = 1.2;

/// What the window lets out beyond cwnd, and when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// What may leave before the next input.
    pub(crate) allowed: Allowance,
    /// Segments that duplicate ACKs add to the window (RFC 5681 §3.2 inflation).
    pub(crate) inflation: u32,
    /// Limited-transmit segments in flight.
    pub(crate) limited_sent: u32,
    /// Initial window, segments.
    pub(crate) initial: u32,
    pub(crate) pacer: Pacer,
}

impl Window {
    /// RFC 6582 §3.2 step 3: window and inflation together shrink by what left the network, less one for the
    /// retransmission. Returns how much of it the inflation cannot give, which the window loses (ns-2
    /// partial_window_deflation_); `None`: the inflation is enough.
    pub(crate) fn deflate(&mut self, acked: u32) -> Option<u32> {
        if self.inflation > acked {
            self.inflation -= acked - 1;
            return None;
        }
        let rest = acked - self.inflation;
        self.inflation = 1;
        Some(rest)
    }
}

/// What may leave before the next input.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowance {
    /// A segment that leaves whatever the window says.
    pub(crate) forced: Option<u32>,
    /// Limited transmit may add one new segment (RFC 3042).
    pub(crate) limited: bool,
    /// The time of a segment that the pacer held back has come.
    pub(crate) paced: bool,
    /// Segments that the window may release.
    pub(crate) burst: u32,
}

impl Allowance {
    /// All that the window holds.
    pub(crate) fn unlimited() -> Allowance {
        Allowance { burst: NO_LIMIT, ..Allowance::default() }
    }

    /// Adds what an earlier input allowed and a sender that takes its time has not sent yet. Otherwise a duplicate ACK
    /// in between would silence a sender with nothing outstanding for ever.
    pub(crate) fn join(&mut self, earlier: Allowance) {
        self.forced = self.forced.or(earlier.forced);
        self.limited |= earlier.limited;
        self.burst = self.burst.max(earlier.burst);
    }
}

/// When the next segment may leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    /// Nothing leaves before.
    release: Time,
    /// `release` when something waits for it, else [`Time::MAX`].
    wake: Time,
}

impl Default for Pacer {
    fn default() -> Pacer {
        Pacer { release: Time::ZERO, wake: Time::MAX }
    }
}

impl Pacer {
    /// Whether a segment has to wait; notes that one does.
    #[inline]
    pub(crate) fn blocks(&mut self, now: Time) -> bool {
        let blocks = now < self.release;
        if blocks {
            self.wake = self.release;
        }
        blocks
    }

    /// Whether a segment may leave at once.
    #[inline]
    pub(crate) fn is_open(&self, now: Time) -> bool {
        now >= self.release
    }

    /// Whether something waits.
    #[inline]
    pub(crate) fn holds_back(&self) -> bool {
        self.wake != Time::MAX
    }

    #[inline]
    pub(crate) fn wake(&self) -> Time {
        self.wake
    }

    /// Whether the time of the waiting segment has come.
    #[inline]
    pub(crate) fn on_time(&mut self, now: Time) -> bool {
        let due = self.wake <= now;
        if due {
            self.wake = Time::MAX;
        }
        due
    }

    pub(crate) fn wait_until(&mut self, time: Time) {
        self.release = self.release.max(time);
    }

    /// A segment of `size` bytes has left; the next one follows at `rate`, without a wait when that is zero.
    pub(crate) fn space(&mut self, now: Time, size: u32, rate: Rate) {
        if rate.bps_f64() <= 0.0 {
            return;
        }
        let gap = Duration::from_secs_f64(f64::from(size) * 8.0 / rate.bps_f64());
        self.wait_until(now.max(self.release).saturating_add(gap));
    }
}

/// Linux tcp_update_pacing_rate: the larger of window and flight, spread over the SRTT.
pub fn window_pacing_rate(segments: f64, mss: u32, srtt: Duration, early_slow_start: EarlySlowStart) -> Option<Rate> {
    let ratio = if early_slow_start == EarlySlowStart::Yes { SLOW_START_RATIO } else { AVOIDANCE_RATIO };
    let seconds = srtt.as_secs_f64();
    if seconds <= 0.0 {
        return None;
    }
    Rate::from_bps((ratio * segments * f64::from(mss) * 8.0 / seconds) as u64)
}

/// Whether the window is below half of the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlySlowStart {
    Yes,
    No,
}
