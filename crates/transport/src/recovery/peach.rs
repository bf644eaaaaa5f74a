//! Recovery of TCP Peach and Peach+: NewReno, respectively RFC 6675, and dummy segments of low priority.
//!
//! - Sudden start: in the round trip after the opening segment's, one dummy every RTT / W, W − 1 in all, W the receiver
//!   window.
//! - Rapid recovery: with every ACK after a loss one dummy, as many as the window before the cut had segments, also
//!   after recovery has ended; a timeout stops them.
//! - Peach's dummies repeat the segment sent last. Those of Peach+ (NIL segments) repeat segments that are not known to
//!   have arrived, in turn, and the receiver takes them.
//!
//! The control decides what an acknowledged dummy is worth. Dummies do not count as retransmissions or in flight, and
//! feed neither RTT nor duplicate counting.

use super::contract::LossRecovery;
use crate::core::Core;
use crate::record::Phase;
use crate::segment::{Ack, Ecn, Priority, Segment, Transmission};
use skyhop_base::{Duration, Time};
use skyhop_cc::CongestionControl;

/// What a dummy segment repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dummies {
    /// The segment sent last (Peach).
    Last,
    /// Segments not known to have arrived, in turn; the field is where the next one looks (Peach+).
    Missing(u32),
}

/// Dummy segments beside the recovery `R`.
#[derive(Clone, Debug)]
pub(crate) struct Peach<R> {
    recovery: R,
    dummies: Dummies,
    /// Dummies that may leave now.
    ready: u32,
    /// Dummies that may leave with later ACKs, one each (paper: adsn).
    allowed: u32,
    sudden_start: SuddenStart,
}

/// The dummies of the second round trip.
#[derive(Clone, Copy, Debug)]
struct SuddenStart {
    /// When the next one leaves.
    due: Time,
    interval: Duration,
    left: u32,
}

impl SuddenStart {
    const OVER: SuddenStart = SuddenStart { due: Time::MAX, interval: Duration::ZERO, left: 0 };

    /// τ = RTT / W, W − 1 times.
    fn new(now: Time, rtt: Duration, window: u32) -> Option<SuddenStart> {
        let interval = sudden_start_interval(rtt, window);
        let runs = window > 1 && !interval.is_zero();
        runs.then(|| SuddenStart { due: now.saturating_add(interval), interval, left: window - 1 })
    }

    /// Whether one is due.
    fn on_time(&mut self, now: Time) -> bool {
        if self.due > now {
            return false;
        }
        self.left -= 1;
        self.due = if self.left > 0 { self.due.saturating_add(self.interval) } else { Time::MAX };
        true
    }
}

/// The interval of the dummy segments of sudden start (paper: τ = RTT / rwnd).
pub fn sudden_start_interval(rtt: Duration, window: u32) -> Duration {
    Duration::from_secs_f64(rtt.as_secs_f64() / f64::from(window.max(1)))
}

impl<R: LossRecovery> Peach<R> {
    pub(crate) fn new(recovery: R, dummies: Dummies) -> Peach<R> {
        Peach { recovery, dummies, ready: 0, allowed: 0, sudden_start: SuddenStart::OVER }
    }

    fn stop(&mut self) {
        (self.ready, self.allowed, self.sudden_start) = (0, 0, SuddenStart::OVER);
    }
}

impl<R: LossRecovery> LossRecovery for Peach<R> {
    fn on_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        if ack.answers == Priority::Low {
            core.control.on_probe_acked();
            core.release();
            if ack.next <= core.una {
                return;
            }
        }
        let opens = core.una == 0 && ack.next > 0;
        let (phase, window) = (core.phase(), core.control.cwnd());
        self.recovery.on_ack(core, now, ack);
        if opens {
            // The paper starts with one segment; the dummies open the window.
            core.set_cwnd(1.0);
            let window = core.options.sudden_start_window.min(core.options.window);
            let started = core.rtt.smoothed().and_then(|rtt| SuddenStart::new(now, rtt, window));
            self.sudden_start = started.unwrap_or(self.sudden_start);
        }
        if phase != Phase::Recovery && core.phase() == Phase::Recovery {
            self.stop();
            self.allowed = window as u32;
        }
        if self.allowed > 0 {
            self.allowed -= 1;
            self.ready += 1;
        }
    }

    fn on_timeout(&mut self, core: &mut Core, now: Time) {
        self.stop();
        self.recovery.on_timeout(core, now);
    }

    fn poll(&mut self, core: &mut Core, now: Time) -> Option<Segment> {
        self.recovery.poll(core, now)
    }

    fn releases(&mut self, core: &mut Core) -> bool {
        self.recovery.releases(core)
    }

    fn next_timeout(&self) -> Time {
        self.sudden_start.due
    }

    fn on_time(&mut self, now: Time) {
        self.ready += u32::from(self.sudden_start.on_time(now));
    }

    fn has_probe(&self) -> bool {
        self.ready > 0
    }

    fn poll_probe(&mut self, core: &mut Core) -> Option<Segment> {
        if self.ready == 0 {
            return None;
        }
        self.ready -= 1;
        let last = core.high.checked_sub(1)?;
        let seq = match &mut self.dummies {
            Dummies::Last => last,
            Dummies::Missing(cursor) => {
                let from = core.una.max(*cursor);
                let found = Some(core.scoreboard.first_missing(from)).filter(|&seq| seq < core.high);
                let seq = found.unwrap_or_else(|| core.scoreboard.first_missing(core.una)).min(last);
                *cursor = seq + 1;
                seq
            }
        };
        let payload = core.data.payload(seq);
        let size = core.size_on_wire(payload);
        core.counters.probes += 1;
        core.counters.bytes += u64::from(size);
        Some(Segment {
            seq,
            size,
            payload,
            transmission: Transmission::Again,
            priority: Priority::Low,
            ecn: Ecn::NotCapable,
            window_reduced: false,
        })
    }
}
