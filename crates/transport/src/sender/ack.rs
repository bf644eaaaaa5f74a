//! What every ACK of new data does, whatever the recovery.

use super::{LastCut, Phase, Sender};
use crate::config::{ControlRtt, GrowthWhen, IdleRestart, RttTiming, Switch, WindowGrowth};
use crate::{Ack, InitialWindowAt, Recovery, Transmission};
use skyhop_base::{Duration, Segments, Time};
use skyhop_cc::{AckSample, CongestionControl, Growth, Round};

/// What an ACK acknowledged, and the state before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Advance {
    pub(super) acked: u32,
    pub(super) flight_before: u32,
    pub(super) first_before: u32,
    /// When the last of what was acknowledged left, where the sender remembers it.
    left: Option<Time>,
}

impl Sender {
    /// Whether the timer runs with nothing outstanding.
    fn timer_runs_idle(&self) -> bool {
        !matches!(self.options.idle_restart, IdleRestart::Keep | IdleRestart::RestartWindow)
    }

    /// The cumulative acknowledgement advances: RTT sample, backoff, timer.
    #[inline]
    pub(super) fn advance(&mut self, now: Time, ack: &Ack) -> Advance {
        let advance = self.advance_quietly(ack);
        self.duplicates = 0;
        self.limited_sent = 0;
        self.measure(now, ack, advance);
        if advance.first_before == 0 && self.counters.timeouts > 0 {
            self.rtt.opened_late();
        }
        self.rearm_timer(now);
        advance
    }

    /// Moves the sequence numbers only.
    #[inline]
    pub(super) fn advance_quietly(&mut self, ack: &Ack) -> Advance {
        let left = self.departures.as_mut().and_then(|departures| departures.acknowledge(ack.next));
        let advance = Advance {
            acked: ack.next - self.una,
            flight_before: self.next.max(self.una) - self.una,
            first_before: self.una,
            left: left.filter(|left| self.times_control(left.1)).map(|left| left.0),
        };
        self.una = ack.next;
        self.next = self.next.max(ack.next);
        self.timeouts_in_row = 0;
        self.counters.acks += 1;
        if !self.scoreboard.is_empty() {
            self.scoreboard.advance(self.una);
        }
        if self.repairs.listens() {
            self.notified_up_to_una();
        }
        advance
    }

    /// Takes down what the ACK reports selectively at `una` and above; how many segments are new.
    #[inline]
    pub(super) fn record_blocks(&mut self, una: u32, ack: &Ack) -> u32 {
        if !ack.blocks.is_empty() {
            self.newly_reported = self.scoreboard.record(una, &ack.blocks);
        }
        self.newly_reported
    }

    /// The timer starts anew for what is outstanding (RFC 6298 §5.2, §5.3).
    #[inline]
    pub(super) fn rearm_timer(&mut self, now: Time) {
        if self.una < self.high || self.timer_runs_idle() {
            self.restart_timer(now);
        } else {
            self.timer = Time::MAX;
        }
    }

    /// Takes what this ACK says about the RTT.
    fn measure(&mut self, now: Time, ack: &Ack, advance: Advance) {
        let once = ack.trigger == Transmission::First;
        let left = match self.options.control_rtt {
            ControlRtt::Echo => once.then_some(ack.echo),
            ControlRtt::LastSegment => advance.left,
        };
        if let Some(left) = left.filter(|_| self.recovery != Recovery::Vegas) {
            self.note_rtt(now.since(left));
        }
        let timed = self.timed.filter(|timed| ack.next > timed.seq);
        if timed.is_some() {
            self.timed = None;
        }
        match self.options.rtt_timing {
            RttTiming::OneSegment => {
                if let Some(timed) = timed {
                    self.rtt.clear_backoff();
                    self.rtt.sample(timed.sent, now);
                }
            }
            RttTiming::EveryAck => {
                // Karn: the backoff stays until something sent once is acknowledged.
                if once {
                    self.rtt.clear_backoff();
                }
                self.rtt.sample(ack.echo, now);
            }
        }
        if self.una > self.rtt_round_mark {
            self.rtt_round_mark = self.next;
            self.rtt.end_round();
        }
    }

    /// Records a sample for the control and for records.
    #[inline]
    pub(super) fn note_rtt(&mut self, rtt: Duration) {
        self.latest_rtt = Some(rtt);
        if self.min_rtt.is_none_or(|min| rtt < min) {
            self.min_rtt = Some(rtt);
        }
    }

    /// By how much this ACK may grow the window.
    #[inline]
    pub(super) fn growth(&self, advance: Advance) -> Growth {
        // What only the pacer holds back uses the window (RFC 7661 §1 means senders without data).
        let paced = self.pacer.holds_back() && self.next < self.data.limit();
        let unused = f64::from(advance.flight_before) + 1.0 <= self.control.cwnd() && !paced;
        let idle = unused && self.options.growth_when == GrowthWhen::WindowUsed;
        // RFC 3168 §6.1.2: an ACK that echoes a mark does not grow the window.
        if idle || self.marks_seen.echoed {
            return Growth { slow_start: 0.0, avoidance: 0.0 };
        }
        match self.options.growth {
            WindowGrowth::PerAck => Growth { slow_start: 1.0, avoidance: 1.0 },
            WindowGrowth::Bytes => {
                // RFC 3465 §2.3: L = 1 in the slow start that follows a timeout.
                let limit = if self.last_cut == LastCut::Timeout { 1 } else { self.options.growth_limit };
                let slow_start = advance.acked.min(limit);
                Growth { slow_start: slow_start.into(), avoidance: advance.acked.into() }
            }
        }
    }

    /// Tells the control about an ACK that may grow the window; ends a round.
    #[inline]
    pub(super) fn grow(&mut self, now: Time, advance: Advance) {
        let growth = self.growth(advance);
        let round = (self.una > self.round_mark).then(|| {
            let round = Round { began: self.round_began, sent: self.next - self.round_mark };
            (self.round_mark, self.round_began) = (self.next, now);
            round
        });
        let sample = self.sample(now, advance.acked, growth, round);
        self.control.on_ack(&sample);
    }

    /// Tells the control about an ACK that may not: a duplicate, or one of `acked` segments during recovery.
    pub(super) fn tell(&mut self, now: Time, acked: u32) {
        let growth = Growth { slow_start: 0.0, avoidance: 0.0 };
        let sample = self.sample(now, acked, growth, None);
        self.control.on_measured(&sample);
    }

    #[inline]
    fn sample(&mut self, now: Time, acked: u32, growth: Growth, round: Option<Round>) -> AckSample {
        // Without selective reports each duplicate ACK stands for one segment. A report that recovery has forgotten
        // was counted before.
        let beyond = if self.options.sack == Switch::On { self.scoreboard.sacked() } else { self.duplicates };
        let beyond = beyond.min(self.high - self.una);
        self.delivered = self.delivered.max(u64::from(self.una) + u64::from(beyond));
        AckSample {
            now,
            newly_acked: acked.into(),
            newly_reported: self.newly_reported.into(),
            growth,
            latest_rtt: self.latest_rtt,
            smoothed_rtt: self.rtt.smoothed(),
            min_rtt: self.min_rtt,
            in_flight: (self.next - self.una).into(),
            round,
            acknowledged: self.una.into(),
            delivered: self.delivered,
            ecn_marked: if self.marks_seen.echoed { acked.into() } else { 0.0 },
            repairing: self.phase == Phase::Loss,
            mss: self.options.mss.0 as u32,
        }
    }

    /// The initial window opens with the ACK of segment 0.
    #[inline]
    pub(super) fn open_initial_window(&mut self, advance: Advance) {
        if advance.first_before == 0 && self.options.initial_window_at == InitialWindowAt::FirstAck {
            self.control.set_cwnd(self.initial_window.into());
        }
    }

    /// After a timeout: everything outstanding then has been acknowledged.
    #[inline]
    pub(super) fn leave_loss(&mut self) {
        if self.phase == Phase::Loss && self.una >= self.recover {
            self.leave_recovery();
        }
    }

    /// The window that the control sees is `cwnd` from now on.
    pub(super) fn set_window(&mut self, cwnd: Segments) {
        self.control.set_cwnd(cwnd.max(1.0));
    }
}
