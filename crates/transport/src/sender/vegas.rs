//! Vegas' own retransmission checks: a fine-grained timeout that is compared with the age of the first
//! outstanding segment on duplicate ACKs (Brakmo and Peterson 1995 §3.1), as ns-2's Agent/TCP/Vegas does it.

use super::{LastCut, NO_LIMIT, Phase, Sender};
use crate::Ack;
use crate::config::{InitialWindowAt, RecoveryExit, SendTimes};
use skyhop_base::{Duration, Time};
use skyhop_cc::{CongestionControl, Lost};
use std::collections::{BTreeMap, VecDeque};

/// When a segment was sent last, and how often.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    times: u32,
}

/// Send times of what is outstanding and the fine-grained timeout.
#[derive(Clone, Debug, Default)]
pub(super) struct FineTimer {
    /// Segments `first..` that were sent.
    sent: VecDeque<Sent>,
    first: u32,
    /// Length of ns-2's ring; 0: there is none.
    ring: u32,
    /// What stands in places of the ring that were not cleared, by place.
    left_over: BTreeMap<u32, Sent>,
    /// The first transmission of the connection.
    began: Option<Time>,
    /// SRTT in eighths and deviation in quarters, seconds; `None` before the first ACK.
    smoothed: Option<(f64, f64)>,
    /// Seconds.
    timeout: f64,
    /// The last cut.
    cut_at: Option<Time>,
    /// ACKs of new data that are still checked after a retransmission.
    worried: u32,
    /// Window after the last cut, without inflation.
    cut_to: f64,
}

impl FineTimer {
    /// `window`: the receiver window.
    pub(super) fn new(send_times: SendTimes, window: u32) -> FineTimer {
        let ring = if send_times == SendTimes::Ring { window } else { 0 };
        FineTimer { ring, ..FineTimer::default() }
    }

    pub(super) fn on_sent(&mut self, now: Time, seq: u32, una: u32) {
        if seq == 0 {
            self.began = Some(now);
        }
        if self.sent.is_empty() {
            self.first = una;
        }
        let index = (seq - self.first) as usize;
        while self.sent.len() <= index {
            let place = (self.first + self.sent.len() as u32).checked_rem(self.ring);
            let times = place.and_then(|place| self.left_over.remove(&place)).map_or(0, |sent| sent.times);
            self.sent.push_back(Sent { at: now, times });
        }
        let entry = &mut self.sent[index];
        *entry = Sent { at: now, times: if seq == 0 { 1 } else { entry.times + 1 } };
    }

    pub(super) fn on_timeout(&mut self, now: Time) {
        self.cut_at = Some(now);
        self.cut_to = 0.0;
    }

    /// The first outstanding segment. Of one that was never sent ns-2 finds what its place in the ring still holds.
    fn oldest(&self) -> Option<Sent> {
        let place = || self.first.checked_rem(self.ring);
        self.sent.front().copied().or_else(|| place().and_then(|place| self.left_over.get(&place).copied()))
    }

    /// Whether the first outstanding segment is older than the fine-grained timeout.
    fn expired(&self, now: Time) -> bool {
        self.oldest().is_none_or(|sent| now.since(sent.at).as_secs_f64() >= self.timeout)
    }

    /// Everything before `una` was acknowledged; the RTT of the last of it when that was sent once, and not at
    /// the very start, whose RTT the first ACK takes in [`FineTimer::start`].
    fn acknowledge(&mut self, now: Time, una: u32) -> Option<Duration> {
        let count = ((una - self.first) as usize).min(self.sent.len());
        if self.ring > 0 && count > 0 && self.first % self.ring > (una - 1) % self.ring {
            let places = (self.first..).map(|seq| seq % self.ring);
            self.left_over.extend(places.zip(self.sent.range(..count).copied()));
        }
        let last = self.sent.drain(..count).next_back();
        self.first = una;
        let began = self.began;
        last.filter(|sent| sent.times == 1 && Some(sent.at) != began).map(|sent| now.since(sent.at))
    }

    /// The first ACK: 1.5 R, R from the first transmission on.
    fn start(&mut self, now: Time) {
        if self.smoothed.is_none()
            && let Some(began) = self.began
        {
            let r = now.since(began).as_secs_f64();
            self.smoothed = Some((8.0 * r, r));
            self.timeout = ((8.0 * r) / 4.0 + r) / 2.0;
        }
    }

    /// Gains 1/8 and 1/4, timeout (SRTT + 2 · deviation) · 17/16.
    fn sample(&mut self, rtt: Duration) {
        let Some((srtt, deviation)) = &mut self.smoothed else { return };
        let error = rtt.as_secs_f64() - *srtt / 8.0;
        *srtt += error;
        *deviation += error.abs() - *deviation / 4.0;
        self.timeout = (*srtt / 4.0 + *deviation) / 2.0;
        self.timeout += self.timeout / 16.0;
    }
}

impl Sender {
    fn fine(&mut self) -> &mut FineTimer {
        self.fine.get_or_insert_default()
    }

    pub(super) fn vegas_ack(&mut self, now: Time, ack: &Ack) {
        self.fine().start(now);
        if ack.next > self.una {
            self.vegas_new(now, ack);
        } else if ack.next == self.una {
            self.vegas_duplicate(now);
        }
        if self.duplicates == 0 || self.duplicates >= self.options.duplicate_threshold {
            self.plan.burst = NO_LIMIT;
        }
    }

    fn vegas_new(&mut self, now: Time, ack: &Ack) {
        if self.una == 1 && self.options.initial_window_at == InitialWindowAt::SecondAck {
            self.control.set_cwnd(self.initial_window.into());
        }
        self.settle_inflation();
        if self.phase == Phase::Recovery {
            self.leave_recovery();
        }
        let advance = self.advance(now, ack);
        self.leave_loss();
        let una = self.una;
        let rtt = self.fine().acknowledge(now, una);
        if let Some(rtt) = rtt {
            self.note_rtt(rtt);
        }
        self.grow(now, advance);
        self.open_initial_window(advance);
        if let Some(rtt) = rtt {
            self.fine().sample(rtt);
        }
        if self.fine().worried > 0 {
            self.fine().worried -= 1;
            if self.fine().expired(now) {
                self.duplicates = self.options.duplicate_threshold;
                self.plan.forced = Some(self.una);
            } else {
                self.fine().worried = 0;
            }
        }
    }

    /// What duplicate ACKs added to the window goes when there were more than the threshold, and stays else.
    fn settle_inflation(&mut self) {
        let inflated = self.control.cwnd() + f64::from(self.inflation);
        self.inflation = 0;
        let cut_to = self.fine().cut_to;
        if self.duplicates > self.options.duplicate_threshold && inflated > cut_to {
            // ns-2 has noted no window since a timeout, and so has none until the next one.
            let least = if self.options.recovery_exit == RecoveryExit::BaseWindow { 0.0 } else { 1.0 };
            self.control.set_cwnd(cut_to.max(least));
            self.control.on_recovered();
        } else if inflated > self.control.cwnd() {
            self.set_window(inflated);
        }
    }

    fn vegas_duplicate(&mut self, now: Time) {
        self.counters.duplicate_acks += 1;
        self.duplicates += 1;
        let threshold = self.options.duplicate_threshold;
        if self.fine().expired(now) || self.duplicates == threshold {
            if self.una > self.recover || self.last_cut != LastCut::Timeout {
                self.vegas_retransmit(now);
            }
        } else if self.duplicates > threshold {
            self.inflation += 1;
        }
        self.tell(now, 0);
    }

    fn vegas_retransmit(&mut self, now: Time) {
        let Some(oldest) = self.fine().oldest() else { return };
        let lost = if oldest.times > 1 { Lost::Again } else { Lost::First };
        let outstanding = self.next + 1 - self.una;
        let fine = self.fine();
        fine.worried = outstanding.min(2);
        fine.timeout *= if lost == Lost::Again { 2.0 } else { 9.0 / 8.0 };
        // Cut only for a segment that was sent after the last cut.
        let cut = fine.cut_at.is_none_or(|at| at < oldest.at);
        if cut {
            fine.cut_at = Some(now);
            self.enter_recovery(now, lost);
            self.phase = Phase::Recovery;
            let cwnd = self.control.cwnd();
            self.fine().cut_to = cwnd;
            self.inflation = self.duplicates;
        } else {
            self.recover = self.high;
            self.last_cut = LastCut::FastRetransmit;
            self.timed = None;
        }
        self.rtt.back_off();
        self.restart_timer(now);
        self.plan.forced = Some(self.una);
        if lost == Lost::First {
            self.duplicates = self.options.duplicate_threshold;
        }
    }
}
