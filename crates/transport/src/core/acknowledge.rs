//! The part of an ACK that every recovery shares: sequence numbers, RTT, growth of the window.

use super::{Core, LastCut};
use crate::config::{ControlRtt, GrowthWhen, InitialWindowAt, RttTiming, Switch, WindowGrowth};
use crate::record::Phase;
use crate::segment::{Ack, Transmission};
use skyhop_base::{Duration, Time};
use skyhop_cc::{AckSample, CongestionControl, Growth, Round};

/// What an ACK acknowledged, and the state before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Advance {
    pub(crate) acked: u32,
    pub(crate) flight_before: u32,
    pub(crate) first_before: u32,
    /// When the last acknowledged segment was sent, and whether any of them was sent again; known with a ledger only.
    pub(crate) left: Option<(Time, Transmission)>,
}

/// What measuring the RTT takes from an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) next: u32,
    pub(crate) echo: Time,
    pub(crate) trigger: Transmission,
}

impl Acknowledged {
    fn of(ack: &Ack) -> Acknowledged {
        Acknowledged { next: ack.next, echo: ack.echo, trigger: ack.trigger }
    }
}

/// Whether an ACK may give the control an RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControlSample {
    /// Only if it acknowledges nothing that was sent again (Karn).
    Karn,
    /// The recovery knows whether the ACK answers a retransmission, and decides by that where Karn's rule would look at
    /// all acknowledged segments.
    Decided(bool),
    /// The recovery measures by itself.
    Own,
}

impl Core {
    /// The cumulative acknowledgement advances: RTT sample, backoff, timer.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time, ack: &Ack) -> Advance {
        self.advance_sampling(now, ack, ControlSample::Karn)
    }

    /// The same, where the recovery says whether the control gets an RTT.
    #[inline]
    pub(crate) fn advance_sampling(&mut self, now: Time, ack: &Ack, sample: ControlSample) -> Advance {
        let advance = self.advance_quietly(ack);
        self.episode.duplicates = 0;
        self.window.limited_sent = 0;
        self.measure(now, &Acknowledged::of(ack), advance, sample);
        if advance.first_before == 0 && self.counters.timeouts > 0 {
            self.rtt.opened_late();
        }
        self.rearm_timer(now);
        advance
    }

    /// Moves the sequence numbers only.
    #[inline]
    pub(crate) fn advance_quietly(&mut self, ack: &Ack) -> Advance {
        let left = self.ledger.as_mut().and_then(|ledger| ledger.acknowledge(ack.next));
        let advance = Advance {
            acked: ack.next - self.una,
            flight_before: self.next.max(self.una) - self.una,
            first_before: self.una,
            left,
        };
        self.una = ack.next;
        self.next = self.next.max(ack.next);
        self.timeouts_in_row = 0;
        self.counters.acks += 1;
        if !self.scoreboard.is_empty() {
            self.scoreboard.advance(self.una);
        }
        if self.repairs.listens() {
            self.data.acknowledged(self.una);
            self.repairs.acknowledged(self.una);
        }
        advance
    }

    /// Records the blocks of an ACK at `una` and above. Returns how many segments they report for the first time.
    #[inline]
    pub(crate) fn record_blocks(&mut self, una: u32, ack: &Ack) -> u32 {
        if !ack.blocks.is_empty() {
            self.measured.newly_reported = self.scoreboard.record(una, &ack.blocks);
        }
        self.measured.newly_reported
    }

    /// Takes what this ACK says about the RTT. Inline: an undisturbed ACK says of most of it what it is.
    #[inline(always)]
    pub(crate) fn measure(&mut self, now: Time, ack: &Acknowledged, advance: Advance, sample: ControlSample) {
        let once = ack.trigger == Transmission::First;
        let sent = match (self.options.ns2.control_rtt, sample) {
            (_, ControlSample::Own) => None,
            (ControlRtt::Echo, _) => once.then_some(ack.echo),
            (ControlRtt::LastSegment, ControlSample::Karn) => {
                advance.left.filter(|left| left.1 == Transmission::First).map(|left| left.0)
            }
            (ControlRtt::LastSegment, ControlSample::Decided(usable)) => {
                advance.left.filter(|_| usable).map(|left| left.0)
            }
        };
        if let Some(sent) = sent {
            self.note_rtt(now.since(sent));
        }
        let timed = self.measured.timed.filter(|timed| ack.next > timed.seq);
        if timed.is_some() {
            self.measured.timed = None;
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
        if self.una > self.measured.rtt_round_mark {
            self.measured.rtt_round_mark = self.next;
            self.rtt.end_round();
        }
    }

    /// Ends the timing of a segment that `next` acknowledges, without a sample.
    pub(crate) fn end_timing(&mut self, next: u32) {
        if self.measured.timed.is_some_and(|timed| next > timed.seq) {
            self.measured.timed = None;
            self.rtt.clear_backoff();
        }
    }

    /// Records a sample for the control and for records.
    #[inline]
    pub(crate) fn note_rtt(&mut self, rtt: Duration) {
        self.measured.latest_rtt = Some(rtt);
        if self.measured.min_rtt.is_none_or(|min| rtt < min) {
            self.measured.min_rtt = Some(rtt);
        }
    }

    /// How much this ACK may grow the window.
    #[inline]
    fn growth(&self, advance: Advance) -> Growth {
        // Data that only the pacer holds back uses the window (RFC 7661 §1 means senders without data).
        let paced = self.window.pacer.holds_back() && self.next < self.data.limit();
        let unused = f64::from(advance.flight_before) + 1.0 <= self.control.cwnd() && !paced;
        let idle = unused && self.options.ns2.growth_when == GrowthWhen::WindowUsed;
        // RFC 3168 §6.1.2: an ACK that echoes a mark does not grow the window.
        if idle || self.ecn.echoed {
            return Growth { slow_start: 0.0, avoidance: 0.0 };
        }
        match self.options.ns2.growth {
            WindowGrowth::PerAck => Growth { slow_start: 1.0, avoidance: 1.0 },
            WindowGrowth::Bytes => {
                // RFC 3465 §2.3: L = 1 in the slow start that follows a timeout.
                let limit = if self.episode.last_cut == LastCut::Timeout { 1 } else { self.options.growth_limit };
                let slow_start = advance.acked.min(limit);
                // RFC 3465 §2.1: an ACK counts for one window at most. After a timeout the ACK that fills a hole covers
                // all that selective reports have named before.
                let avoidance = f64::from(advance.acked).min(self.control.cwnd().max(1.0));
                Growth { slow_start: slow_start.into(), avoidance }
            }
        }
    }

    /// Tells the control about an ACK that may grow the window; ends a round.
    #[inline]
    pub(crate) fn grow(&mut self, now: Time, advance: Advance) {
        let growth = self.growth(advance);
        let round = (self.una > self.measured.round_mark).then(|| {
            let round = Round { began: self.measured.round_began, sent: self.next - self.measured.round_mark };
            (self.measured.round_mark, self.measured.round_began) = (self.next, now);
            round
        });
        self.count_delivered();
        if !self.control.on_growth(advance.acked.into(), growth) {
            self.tell_growth(now, advance.acked, growth, round);
        }
    }

    /// A call: within [`Core::grow`] the sample, which Reno does not ask for, takes registers and room on the stack.
    #[inline(never)]
    fn tell_growth(&mut self, now: Time, acked: u32, growth: Growth, round: Option<Round>) {
        let sample = self.sample(now, acked, growth, round);
        self.control.on_ack(&sample);
    }

    /// Tells the control about an ACK that may not grow it: a duplicate, or one of `acked` segments during recovery.
    pub(crate) fn tell(&mut self, now: Time, acked: u32) {
        let growth = Growth { slow_start: 0.0, avoidance: 0.0 };
        self.count_delivered();
        let sample = self.sample(now, acked, growth, None);
        self.control.on_measured(&sample);
    }

    /// Without selective reports each duplicate ACK stands for one segment. A report that recovery has forgotten was
    /// counted before.
    #[inline]
    fn count_delivered(&mut self) {
        let selective = self.options.sack == Switch::On;
        let beyond = if selective { self.scoreboard.sacked() } else { self.episode.duplicates };
        let beyond = beyond.min(self.outstanding());
        self.measured.delivered = self.measured.delivered.max(u64::from(self.una) + u64::from(beyond));
    }

    #[inline]
    fn sample(&self, now: Time, acked: u32, growth: Growth, round: Option<Round>) -> AckSample {
        AckSample {
            now,
            newly_acked: acked.into(),
            newly_reported: self.measured.newly_reported.into(),
            growth,
            latest_rtt: self.measured.latest_rtt,
            smoothed_rtt: self.rtt.smoothed(),
            min_rtt: self.measured.min_rtt,
            in_flight: (self.next - self.una).into(),
            round,
            acknowledged: self.una.into(),
            delivered: self.measured.delivered,
            ecn_marked: if self.ecn.echoed { acked.into() } else { 0.0 },
            repairing: self.episode.phase == Phase::Loss,
            mss: self.options.mss.0 as u32,
        }
    }

    /// The initial window opens with the ACK of segment 0.
    #[inline]
    pub(crate) fn open_initial_window(&mut self, advance: Advance) {
        if advance.first_before == 0 && self.options.ns2.initial_window_at == InitialWindowAt::FirstAck {
            self.control.set_cwnd(self.window.initial.into());
        }
    }
}
