//! Spaced sending: the time before which nothing more leaves.

use super::Sender;
use crate::config::Pacing;
use skyhop_base::{Duration, Rate, Time};
use skyhop_cc::CongestionControl;

/// Windows per SRTT in slow start below half of the threshold, and later (Linux tcp_pacing_ss_ratio, tcp_pacing_ca_ratio).
const SLOW_START_RATIO: f64 = 2.0;
const AVOIDANCE_RATIO: f64 = 1.2;

/// When the next segment may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
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
    pub(super) fn blocks(&mut self, now: Time) -> bool {
        let blocks = now < self.release;
        if blocks {
            self.wake = self.release;
        }
        blocks
    }

    /// Whether something waits.
    #[inline]
    pub(super) fn holds_back(&self) -> bool {
        self.wake != Time::MAX
    }

    #[inline]
    pub(super) fn wake(&self) -> Time {
        self.wake
    }

    /// Whether it is time for what waits.
    #[inline]
    pub(super) fn on_time(&mut self, now: Time) -> bool {
        let due = self.wake <= now;
        if due {
            self.wake = Time::MAX;
        }
        due
    }

    pub(super) fn wait_until(&mut self, time: Time) {
        self.release = self.release.max(time);
    }
}

/// Linux tcp_update_pacing_rate: the window, or what is in flight if that is more, spread over the SRTT.
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

impl Sender {
    fn pacing_rate(&self) -> Option<Rate> {
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
    pub(super) fn space(&mut self, now: Time, size: u32) {
        if self.options.pacing == Pacing::Off {
            return;
        }
        if let Some(rate) = self.pacing_rate().filter(|rate| rate.bps_f64() > 0.0) {
            let gap = Duration::from_secs_f64(f64::from(size) * 8.0 / rate.bps_f64());
            self.pacer.wait_until(now.max(self.pacer.release).saturating_add(gap));
        }
    }
}
