//! The core of a sender: the state that every loss recovery shares, and what it may do with it.
//!
//! A recovery ([`crate::recovery`]) owns the rest. The core knows no recovery by name.

mod acknowledge;
mod notice;
mod sending;

pub(crate) use acknowledge::{Acknowledged, Advance, ControlSample};

use crate::config::{IdleRestart, Options, RepeatedTimeout, Retransmit, SackAfterTimeout, Switch, ThresholdBase};
use crate::ledger::Ledger;
use crate::notification::{Ceten, Repairs};
use crate::record::{EventLog, Phase, SenderCounters, SenderEvent};
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::segment::Ack;
use crate::supply::Data;
use crate::window::{Allowance, Window};
use skyhop_base::{Duration, Segments, Time};
use skyhop_cc::{CongestionControl, CongestionEvent, CongestionKind, Control, LossSample, Lost};
use std::sync::Arc;

/// Why the window was cut last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastCut {
    None,
    FastRetransmit,
    Timeout,
}

/// The present episode of loss recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Episode {
    pub(crate) phase: Phase,
    pub(crate) last_cut: LastCut,
    /// One past the highest segment sent when the window was cut last.
    pub(crate) recover: u32,
    /// Duplicate ACKs in a row.
    pub(crate) duplicates: u32,
}

/// A segment whose RTT is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timed {
    pub(crate) seq: u32,
    pub(crate) sent: Time,
}

/// Measurements of round trips and of delivery.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    /// The segment that is timed (RFC 6298 §3).
    pub(crate) timed: Option<Timed>,
    /// One past the highest segment ever timed: none is timed twice.
    pub(crate) timed_high: u32,
    /// The round ends with the ACK of this segment.
    pub(crate) round_mark: u32,
    pub(crate) round_began: Time,
    /// The same for the RTT estimator, which also counts rounds during recovery.
    pub(crate) rtt_round_mark: u32,
    pub(crate) min_rtt: Option<Duration>,
    /// The RTT that the present ACK measured.
    pub(crate) latest_rtt: Option<Duration>,
    /// Segments that the present ACK reports for the first time.
    pub(crate) newly_reported: u32,
    /// Segments delivered since the start.
    pub(crate) delivered: u64,
}

/// ECN marks (RFC 3168).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EcnEcho {
    /// The present ACK echoes a mark.
    pub(crate) echoed: bool,
    /// One past the highest segment sent at the last cut for a mark: no mark cuts again until it is acknowledged.
    pub(crate) until: u32,
    /// The window before that cut.
    pub(crate) before: Segments,
    /// CWR is to be sent.
    pub(crate) reduced: bool,
}

/// The state that every loss recovery shares.
///
/// Large because its methods are the vocabulary in which recoveries are written: one file each for episodes and timer
/// (here), ACKs, sending, and reports of corruption.
///
/// The fields that every ACK and every segment touch stand first: with many flows they have to be fetched from memory
/// each time.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Core {
    pub(crate) options: Arc<Options>,
    pub(crate) control: Control,
    /// The first segment not yet acknowledged.
    pub(crate) una: u32,
    /// The next segment to send; falls back after a timeout.
    pub(crate) next: u32,
    /// One past the highest segment ever sent.
    pub(crate) high: u32,
    /// Timeouts of the segment `una` in a row.
    pub(crate) timeouts_in_row: u32,
    pub(crate) episode: Episode,
    /// When the retransmission timer expires; [`Time::MAX`]: it does not run.
    pub(crate) timer: Time,
    pub(crate) last_sent: Time,
    pub(crate) window: Window,
    /// What the receiver holds beyond `una`.
    pub(crate) scoreboard: Scoreboard,
    pub(crate) ecn: EcnEcho,
    /// Segments that the network reported corrupted.
    pub(crate) repairs: Repairs,
    /// A record of every segment in flight, for those who need one.
    pub(crate) ledger: Option<Box<Ledger>>,
    pub(crate) ceten: Option<Box<Ceten>>,
    pub(crate) measured: Measured,
    pub(crate) events: EventLog,
    pub(crate) counters: SenderCounters,
    pub(crate) data: Data,
    pub(crate) rtt: RttEstimator,
}

impl Core {
    pub(crate) fn new(options: Arc<Options>, control: Control, rtt: RttEstimator, data: Data) -> Core {
        Core {
            control,
            una: 0,
            next: 0,
            high: 0,
            timeouts_in_row: 0,
            episode: Episode { phase: Phase::Open, last_cut: LastCut::None, recover: 0, duplicates: 0 },
            timer: Time::MAX,
            last_sent: Time::ZERO,
            window: Window { initial: options.initial_window, ..Window::default() },
            scoreboard: Scoreboard::default(),
            ecn: EcnEcho::default(),
            repairs: Repairs::default(),
            ledger: None,
            ceten: None,
            measured: Measured::default(),
            events: EventLog::default(),
            counters: SenderCounters::default(),
            data,
            rtt,
            options,
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.episode.phase
    }

    /// Segments between the first unacknowledged one and the highest one sent.
    pub(crate) fn outstanding(&self) -> u32 {
        self.high - self.una
    }

    /// The application hands over data after silence: RFC 5681 §4.1.
    pub(crate) fn restart_after_idle(&mut self, now: Time) {
        let idle = self.una == self.high && self.high > 0;
        let silent = now.since(self.last_sent) > self.rtt.timeout();
        if idle && silent && self.options.idle_restart == IdleRestart::RestartWindow {
            // RW = min(IW, cwnd)
            let restart = f64::from(self.window.initial).min(self.control.cwnd());
            self.control.set_cwnd(restart);
        }
    }

    #[inline]
    pub(crate) fn restart_timer(&mut self, now: Time) {
        self.timer = now.saturating_add(self.rtt.timeout());
    }

    /// Restarts the timer for what is outstanding (RFC 6298 §5.2, §5.3).
    #[inline]
    pub(crate) fn rearm_timer(&mut self, now: Time) {
        let runs_idle = !matches!(self.options.idle_restart, IdleRestart::Keep | IdleRestart::RestartWindow);
        if self.una < self.high || runs_idle {
            self.restart_timer(now);
        } else {
            self.timer = Time::MAX;
        }
    }

    /// Karn: a segment that is sent twice measures nothing.
    pub(crate) fn stop_timing(&mut self, seq: u32) {
        if self.measured.timed.is_some_and(|timed| timed.seq == seq) {
            self.measured.timed = None;
        }
    }

    /// The retransmission timer has expired with data outstanding: cut, backoff, timer. The recovery decides what
    /// leaves again.
    pub(crate) fn expire(&mut self, now: Time, cuts_again: bool) {
        self.counters.timeouts += 1;
        self.events.push(SenderEvent::Timeout { seq: self.una });
        self.window.inflation = 0;
        self.repairs.clear();
        let lost = if self.timeouts_in_row == 0 { Lost::First } else { Lost::Again };
        if self.una == 0 {
            self.window.initial = self.options.ns2.opening_loss_window;
        }
        self.episode.recover = self.high;
        let lost_segments = self.outstanding() - self.scoreboard.sacked().min(self.outstanding());
        self.tell_lost(now, lost_segments);
        if lost == Lost::Again && self.options.ns2.repeated_timeout == RepeatedTimeout::KeepThreshold && !cuts_again {
            // RFC 5681 §3.1: the threshold stays, the loss window is one segment.
            self.control.set_cwnd(1.0);
        } else {
            self.cut(now, CongestionKind::Timeout(lost));
        }
        self.timeouts_in_row += 1;
        if self.options.ns2.duplicates_survive_timeout == Switch::Off {
            self.episode.duplicates = 0;
        }
        self.window.limited_sent = 0;
        self.episode.last_cut = LastCut::Timeout;
        match self.options.sack_after_timeout {
            SackAfterTimeout::Forget => self.scoreboard.clear(),
            SackAfterTimeout::Keep => self.scoreboard.forget_retransmissions(),
        }
        self.rtt.back_off();
        self.restart_timer(now);
        self.measured.timed = None;
    }

    /// The timer has expired with nothing outstanding.
    pub(crate) fn expire_idle(&mut self, now: Time) {
        match self.options.idle_restart {
            IdleRestart::TimerToOne => self.control.set_cwnd(1.0),
            IdleRestart::TimerToInitialWindow => self.control.set_cwnd(self.window.initial.into()),
            IdleRestart::Keep | IdleRestart::RestartWindow | IdleRestart::AsTimeout => {
                self.timer = Time::MAX;
                return;
            }
        }
        self.episode.recover = self.high;
        self.episode.last_cut = LastCut::Timeout;
        self.measured.timed = None;
        self.restart_timer(now);
    }

    /// Go-back-N after a timeout: everything from the first unacknowledged segment on leaves again.
    pub(crate) fn go_back(&mut self) {
        self.episode.phase = Phase::Loss;
        self.next = self.una;
    }

    /// The amount that a cut is taken from: the data that this sender has in the network (docs/decisions/cut-base.md).
    ///
    /// RFC 5681 §2 counts FlightSize from the cumulative acknowledgement. In a long recovery that is several windows,
    /// most of which the receiver holds already, and half of it would raise the threshold. The window bounds what is in
    /// the network, FlightSize what the application has used of it.
    fn cut_base(&self) -> Segments {
        let cwnd = self.control.cwnd();
        match self.options.ns2.threshold_base {
            ThresholdBase::Flight => cwnd.min(self.outstanding().saturating_sub(self.window.limited_sent).into()),
            ThresholdBase::Window => (cwnd + f64::from(self.window.inflation)).min(self.options.window.into()),
        }
    }

    /// Tells the control that segments were found lost.
    pub(crate) fn tell_lost(&mut self, now: Time, lost: u32) {
        let in_flight = self.outstanding().into();
        self.control.on_lost(&LossSample { now, lost: lost.into(), in_flight });
    }

    /// Tells the control of congestion.
    fn cut(&mut self, now: Time, kind: CongestionKind) {
        let weighed = self.ceten.is_some() && kind != CongestionKind::Ecn;
        let window = if weighed { self.cut_base() * self.spared() } else { self.cut_base() };
        let event = CongestionEvent {
            now,
            kind,
            window,
            in_flight: self.outstanding().into(),
            smoothed_rtt: self.rtt.smoothed(),
            min_rtt: self.measured.min_rtt,
            mss: self.options.mss.0 as u32,
        };
        self.control.on_congestion(&event);
        self.counters.window_cuts += 1;
        // RFC 3168 §6.1.2: CWR says so whatever the reason.
        self.ecn.reduced = true;
    }

    /// An ACK that may echo a mark: one cut per window of data (RFC 3168 §6.1.2).
    pub(crate) fn take_echo(&mut self, now: Time, ack: &Ack) {
        self.ecn.echoed = ack.ecn_echo;
        let repairing = self.episode.phase == Phase::Recovery || ack.next <= self.episode.recover;
        if !ack.ecn_echo || repairing || ack.next <= self.ecn.until {
            return;
        }
        let before = self.control.cwnd();
        self.cut(now, CongestionKind::Ecn);
        self.ecn = EcnEcho { echoed: true, until: self.high, before, reduced: true };
        if before <= 1.0 {
            // RFC 3168 §6.1.2: a window of one cannot be halved, so the next segment waits for a timeout.
            self.window.pacer.wait_until(now.saturating_add(self.rtt.timeout()));
        }
    }

    /// An episode of fast recovery starts: cut, timer, timing. The recovery sets its phase.
    pub(crate) fn enter_recovery(&mut self, now: Time, lost: Lost) {
        self.episode.recover = self.high;
        self.episode.last_cut = LastCut::FastRetransmit;
        if self.una < self.ecn.until {
            // One reaction per window: the deeper cut of loss and mark (RFC 8511 §3).
            self.control.set_cwnd(self.ecn.before);
        }
        self.cut(now, CongestionKind::Loss(lost));
        self.counters.fast_retransmits += 1;
        self.events.push(SenderEvent::RecoveryEntered { seq: self.una });
        if self.options.ns2.fast_retransmit_restarts_timer == Switch::On {
            self.restart_timer(now);
        }
        if self.options.ns2.fast_retransmit_ends_timing == Switch::On {
            self.measured.timed = None;
        }
    }

    /// RFC 6582 §3.2 step 2: no fast retransmit for losses of a window that was cut already.
    pub(crate) fn fast_retransmit_allowed(&self) -> bool {
        let first = self.options.ns2.retransmit == Retransmit::PastRecoverOrFirst && self.una == 1;
        self.una > self.episode.recover || first
    }

    /// Takes the inflation back by what a partial ACK acknowledges, and from cwnd what the inflation cannot give.
    pub(crate) fn deflate(&mut self, acked: u32) {
        let rest = self.window.deflate(acked);
        if let Some(rest) = rest {
            self.set_cwnd(self.control.cwnd() - f64::from(rest));
        }
    }

    /// The episode ends.
    pub(crate) fn leave_recovery(&mut self) {
        self.episode.phase = Phase::Open;
        self.repairs.end_uncut();
        self.events.push(SenderEvent::RecoveryLeft);
    }

    /// After a timeout: leaves recovery once everything outstanding then has been acknowledged.
    #[inline]
    pub(crate) fn leave_loss(&mut self) {
        if self.episode.phase == Phase::Loss && self.una >= self.episode.recover {
            self.leave_recovery();
        }
    }

    /// Sets cwnd, which is at least one segment.
    pub(crate) fn set_cwnd(&mut self, cwnd: Segments) {
        self.control.set_cwnd(cwnd.max(1.0));
    }

    /// Sets what may leave before the next input to all that the window holds.
    pub(crate) fn release(&mut self) {
        self.window.allowed.burst = crate::window::NO_LIMIT;
    }

    /// `seq` leaves next, whatever the window says.
    pub(crate) fn force(&mut self, seq: u32) {
        self.window.allowed.forced = Some(seq);
    }

    /// The input allows everything that the window holds, and nothing of earlier inputs.
    pub(crate) fn allow_all(&mut self) {
        self.window.allowed = Allowance::unlimited();
    }
}
