//! The sender: what every recovery shares.

mod ack;
mod ceten;
mod classic;
mod cuts;
mod departures;
mod fack;
mod forward;
mod held;
mod nak;
mod notice;
mod pacing;
mod peach;
mod record;
mod sack;
mod supply;
#[cfg(test)]
mod tests;
mod vegas;
mod yam;

pub use pacing::{EarlySlowStart, window_pacing_rate};
pub use peach::sudden_start_interval;
pub use record::{Phase, SenderCounters, SenderEvent, Snapshot};
pub use supply::Supply;

use crate::config::{
    ControlRtt, Handshake, IdleRestart, Recovery, RepeatedTimeout, SackAfterTimeout, SackRules, Switch, TickPhase,
};
use crate::{Ack, InitialWindowAt, Options, RttEstimator, RttSettings, RttTiming, Scoreboard, Segment, TcpConfig};
use crate::{Ecn, Notification, Priority, TickRounding, Transmission};
use ceten::Ceten;
use departures::Departures;
use fack::Forward;
use forward::Marks;
use nak::Naks;
use notice::Repairs;
use pacing::Pacer;
use peach::Probes;
use record::EventLog;
use skyhop_base::{Duration, Segments, Stream, Time};
use skyhop_cc::{
    CongestionControl, CongestionEvent, CongestionKind, Control, LossSample, Lost, PathHint, SentSample, Start,
};
use std::sync::Arc;
use supply::Data;
use vegas::FineTimer;

/// Why the window was cut last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastCut {
    None,
    FastRetransmit,
    Timeout,
}

/// What may leave before the next input.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    /// A segment that leaves whatever the window says.
    forced: Option<u32>,
    /// Limited transmit may add one new segment (RFC 3042).
    limited: bool,
    /// It is time for what the pacer held back.
    paced: bool,
    /// Segments that the window may release.
    burst: u32,
}

impl Plan {
    /// What an earlier input allowed and a sender that takes its time has not sent yet is still to leave: else a
    /// duplicate ACK that comes meanwhile would silence a sender with nothing outstanding for ever.
    fn join(&mut self, earlier: Plan) {
        self.forced = self.forced.or(earlier.forced);
        self.limited |= earlier.limited;
        self.burst = self.burst.max(earlier.burst);
    }
}

/// As many as the window holds.
const NO_LIMIT: u32 = u32::MAX;

/// A segment whose RTT is measured.
#[derive(Clone, Copy, Debug)]
struct Timed {
    seq: u32,
    sent: Time,
}

/// What the sender knows of ECN marks.
#[derive(Clone, Copy, Debug, Default)]
struct EcnEcho {
    /// The present ACK echoes a mark.
    echoed: bool,
    /// `high` at the last cut for one: until more is acknowledged no other mark cuts.
    until: u32,
    /// The window before that cut.
    before: Segments,
    /// CWR is to be sent.
    reduced: bool,
}

/// What few senders need, aside so that the others stay small.
#[derive(Debug, Default)]
struct Rare {
    naks: Naks,
    ceten: Option<Ceten>,
}

/// One sending endpoint.
///
/// After every input (`open`, `supply`, `on_ack`, `on_timeout`) call [`Sender::poll_transmit`] until it returns
/// `None`.
///
/// What every ACK and every segment touch stands in front: with many flows it has to be fetched each time.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    options: Arc<Options>,
    control: Control,

    /// The first segment not yet acknowledged.
    una: u32,
    /// The next segment to send; falls back after a timeout.
    next: u32,
    /// One past the highest segment ever sent.
    high: u32,
    /// `high` at the last cut.
    recover: u32,
    duplicates: u32,
    /// Segments that duplicate ACKs add to the window (RFC 5681 §3.2 inflation).
    inflation: u32,
    /// Limited-transmit segments in flight.
    limited_sent: u32,
    /// Timeouts of the segment `una` in a row.
    timeouts_in_row: u32,
    recovery: Recovery,
    phase: Phase,
    last_cut: LastCut,
    /// A partial ACK was seen in this recovery episode.
    partial_seen: bool,
    /// ns-2 Sack1: duplicate ACKs count for nothing between a timeout and the next ACK of new data.
    ignores_duplicates: bool,
    events: EventLog,

    timer: Time,
    last_sent: Time,
    plan: Plan,
    scoreboard: Scoreboard,
    pacer: Pacer,
    marks_seen: EcnEcho,
    repairs: Repairs,
    fine: Option<Box<FineTimer>>,
    departures: Option<Box<Departures>>,
    probes: Probes,

    timed: Option<Timed>,
    /// The highest segment ever timed, one past it: none is timed twice.
    timed_high: u32,
    /// The round ends with the ACK of this segment.
    round_mark: u32,
    round_began: Time,
    /// The same for the estimator, which also counts rounds during recovery.
    rtt_round_mark: u32,
    initial_window: u32,
    min_rtt: Option<Duration>,
    latest_rtt: Option<Duration>,
    /// Segments that the present ACK reports for the first time.
    newly_reported: u32,
    /// Segments delivered since the start.
    delivered: u64,
    counters: SenderCounters,
    data: Data,
    rtt: RttEstimator,

    marks: Marks,
    rare: Option<Box<Rare>>,
    forward: Forward,
    /// ns-2 Sack1's estimate of what is in flight during recovery.
    pipe: i32,
    /// RFC 6675 RescueRxt: the rescue retransmission of this episode, one past it.
    rescued: u32,
    /// Yam: every segment below this one that has not arrived is known to be missing.
    missing_below: u32,
}

impl Sender {
    /// A sender that has not been opened. `stream` is its own source of random numbers.
    pub fn new(config: &TcpConfig, mut stream: Stream) -> Sender {
        let tick_phase = match config.options.tick_phase {
            TickPhase::Random => stream.uniform(),
            TickPhase::Ns2 => crate::ns2_tick_phases(1, &[config])[0],
            TickPhase::Share(share) => share,
        };
        Sender::at_tick_phase(config, tick_phase)
    }

    /// The same whose clock has this phase, a share of a tick, whatever the options say.
    pub fn at_tick_phase(config: &TcpConfig, tick_phase: f64) -> Sender {
        let options = Arc::clone(&config.options);
        let rto_after_syn = options.rto_after_syn_timeout;
        let rtt = RttEstimator::new(RttSettings {
            arithmetic: options.rtt_arithmetic,
            tick: options.tick,
            rounding: match options.rtt_timing {
                RttTiming::OneSegment => TickRounding::Passed,
                RttTiming::EveryAck => TickRounding::Nearest,
            },
            tick_phase,
            initial: options.initial_rto,
            min: options.min_rto,
            max: options.max_rto,
            after_syn_timeout: (!rto_after_syn.is_zero()).then_some(rto_after_syn),
        });
        let at_once = options.initial_window_at == InitialWindowAt::Open;
        let control = config.control.start(Start {
            cwnd: if at_once { options.initial_window.into() } else { 1.0 },
            ssthresh: options.starting_threshold(),
            clamp: options.window_clamp(),
            mss: options.mss.0 as u32,
        });
        let mut sender = Sender::with_control(config.recovery, options, control, rtt);
        match config.notification {
            None => {}
            Some(Notification::Ceten(cut)) => sender.rare.get_or_insert_default().ceten = Some(Ceten::new(cut)),
            Some(notification) => {
                sender.repairs = Repairs::listening(notification);
                if let Notification::Been(_) = notification {
                    sender.data = sender.data.with_cuts();
                }
            }
        }
        sender
    }

    fn with_control(recovery: Recovery, options: Arc<Options>, control: Control, rtt: RttEstimator) -> Sender {
        let opens_empty = options.handshake != Handshake::None;
        Sender {
            recovery,
            control,
            rtt,
            data: Data::new(options.mss.0 as u32, opens_empty),
            una: 0,
            next: 0,
            high: 0,
            recover: 0,
            phase: Phase::Open,
            last_cut: LastCut::None,
            duplicates: 0,
            inflation: 0,
            limited_sent: 0,
            partial_seen: false,
            timeouts_in_row: 0,
            scoreboard: Scoreboard::default(),
            marks: Marks::default(),
            rare: (options.sack_rules == SackRules::Nak).then(Box::default),
            forward: Forward::default(),
            pipe: 0,
            ignores_duplicates: false,
            rescued: 0,
            fine: (recovery == Recovery::Vegas).then(|| Box::new(FineTimer::new(options.send_times, options.window))),
            missing_below: 0,
            probes: Probes::default(),
            pacer: Pacer::default(),
            marks_seen: EcnEcho::default(),
            repairs: Repairs::default(),
            timed: None,
            timed_high: 0,
            departures: (options.control_rtt == ControlRtt::LastSegment).then(Box::default),
            min_rtt: None,
            latest_rtt: None,
            newly_reported: 0,
            delivered: 0,
            round_mark: 0,
            round_began: Time::ZERO,
            rtt_round_mark: 0,
            timer: Time::MAX,
            last_sent: Time::ZERO,
            initial_window: options.initial_window,
            plan: Plan::default(),
            counters: SenderCounters::default(),
            events: EventLog::default(),
            options,
        }
    }

    /// Puts a control from outside in place of the configured one; before `open`.
    pub fn replace_control(&mut self, control: Box<dyn CongestionControl + Send>) {
        debug_assert!(self.high == 0, "a control is replaced before anything is sent");
        self.control = Control::Boxed(control);
    }

    /// What the network says about itself.
    pub fn on_path_hint(&mut self, hint: &PathHint) {
        self.control.on_path_hint(hint);
    }

    /// The receiver has room for the segments before `edge`.
    pub fn on_window(&mut self, now: Time, edge: u32) {
        self.data.set_edge(edge);
        if self.una == self.high && self.data.waits_for_room(self.high) && self.timer == Time::MAX {
            self.restart_timer(now);
        }
        self.plan.burst = NO_LIMIT;
    }

    /// User bytes of the largest segment.
    pub fn largest_segment(&self) -> u32 {
        self.options.mss.0 as u32
    }

    /// User bytes that were handed over and are not acknowledged.
    pub fn backlog_bytes(&self) -> u64 {
        self.data.backlog(self.una)
    }

    /// The connection opens.
    pub fn open(&mut self, now: Time) {
        self.data.open();
        self.round_began = now;
        self.plan.burst = NO_LIMIT;
    }

    /// The application hands over data.
    pub fn supply(&mut self, now: Time, supply: Supply) {
        let idle = self.una == self.high && self.high > 0;
        let silent = now.since(self.last_sent) > self.rtt.timeout();
        if idle && silent && self.options.idle_restart == IdleRestart::RestartWindow {
            // RFC 5681 §4.1: RW = min(IW, cwnd).
            let restart = f64::from(self.initial_window).min(self.control.cwnd());
            self.control.set_cwnd(restart);
        }
        self.data.supply(supply, self.high);
        self.plan.burst = NO_LIMIT;
    }

    /// The application stops: nothing new is sent; what is outstanding is still repaired.
    pub fn close(&mut self, _now: Time) {
        self.data.close(self.high);
    }

    /// All data was acknowledged and there will be no more.
    pub fn is_finished(&self) -> bool {
        self.data.is_closed() && self.una >= self.data.end()
    }

    /// An ACK arrives.
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.events.clear();
        let earlier = std::mem::take(&mut self.plan);
        (self.latest_rtt, self.newly_reported) = (None, 0);
        if ack.next > self.high {
            debug_assert!(false, "an ACK of what was never sent");
            return;
        }
        if self.options.ecn == Switch::On {
            self.take_echo(now, ack);
        }
        match self.recovery {
            Recovery::Tahoe | Recovery::Reno | Recovery::NewReno => self.classic_ack(now, ack),
            Recovery::Sack => self.sack_ack(now, ack),
            Recovery::Fack => self.fack_ack(now, ack),
            Recovery::Vegas => self.vegas_ack(now, ack),
            Recovery::Yam => self.yam_ack(now, ack),
            Recovery::Peach | Recovery::PeachPlus => self.peach_ack(now, ack),
        }
        if self.pacer.holds_back() {
            // What the pacer holds back is still to leave.
            self.plan.burst = NO_LIMIT;
        }
        self.plan.join(earlier);
    }

    /// An ACK that may echo a mark: one cut per window of data (RFC 3168 §6.1.2).
    fn take_echo(&mut self, now: Time, ack: &Ack) {
        self.marks_seen.echoed = ack.ecn_echo;
        let repairing = self.phase == Phase::Recovery || ack.next <= self.recover;
        if !ack.ecn_echo || repairing || ack.next <= self.marks_seen.until {
            return;
        }
        let before = self.control.cwnd();
        self.cut(now, CongestionKind::Ecn);
        self.marks_seen = EcnEcho { echoed: true, until: self.high, before, reduced: true };
        if before <= 1.0 {
            // RFC 3168 §6.1.2: a window of one cannot be halved, so the next segment waits for a timeout.
            self.pacer.wait_until(now.saturating_add(self.rtt.timeout()));
        }
    }

    /// When something is to happen without an ACK: the retransmission timer expires, or a spaced segment or probe
    /// leaves. [`Time::MAX`] when nothing is.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        self.timer.min(self.pacer.wake()).min(self.probes.due())
    }

    /// The time of `next_timeout` has come.
    pub fn on_timeout(&mut self, now: Time) {
        self.plan.paced = self.pacer.on_time(now);
        self.probes.on_time(now);
        if now < self.timer {
            return;
        }
        self.events.clear();
        self.plan = Plan { burst: NO_LIMIT, ..Plan::default() };
        if self.una == self.high && self.data.waits_for_room(self.high) {
            // RFC 9293 §3.8.6.1: a segment asks whether there is room again; the notice of it may be lost.
            self.data.set_edge(self.high + 1);
            return self.restart_timer(now);
        }
        if self.una == self.high && self.options.idle_restart != IdleRestart::AsTimeout {
            self.idle_timeout(now);
            return;
        }
        self.counters.timeouts += 1;
        self.events.push(SenderEvent::Timeout { seq: self.una });
        self.inflation = 0;
        self.repairs.clear();
        let lost = if self.timeouts_in_row == 0 { Lost::First } else { Lost::Again };
        if self.una == 0 {
            self.initial_window = self.options.opening_loss_window;
        }
        self.recover = self.high;
        let outstanding = (self.high - self.una) - self.scoreboard.sacked().min(self.high - self.una);
        self.tell_lost(now, outstanding);
        let keeps = self.options.repeated_timeout == RepeatedTimeout::KeepThreshold && self.recovery != Recovery::Yam;
        if lost == Lost::Again && keeps {
            // RFC 5681 §3.1: the threshold stays, the loss window is one segment.
            self.control.set_cwnd(1.0);
        } else {
            self.cut(now, CongestionKind::Timeout(lost));
        }
        self.timeouts_in_row += 1;
        if self.options.duplicates_survive_timeout == Switch::Off {
            self.duplicates = 0;
        }
        self.limited_sent = 0;
        match self.recovery {
            Recovery::Fack => self.fack_timeout(),
            Recovery::Yam => self.yam_timeout(),
            _ => self.phase = Phase::Loss,
        }
        self.probes.stop();
        self.ignores_duplicates = true;
        self.last_cut = LastCut::Timeout;
        match self.options.sack_after_timeout {
            SackAfterTimeout::Forget => self.scoreboard.clear(),
            SackAfterTimeout::Keep => self.scoreboard.forget_retransmissions(),
        }
        if let Some(fine) = &mut self.fine {
            fine.on_timeout(now);
        }
        self.rtt.back_off();
        self.restart_timer(now);
        self.timed = None;
        if self.halves_rate() {
            self.forward_timeout();
        } else if matches!(self.recovery, Recovery::Sack) && self.options.sack_rules == SackRules::Nak {
            self.nak_timeout();
        } else {
            self.next = self.una;
        }
    }

    /// The timer expires with nothing outstanding.
    fn idle_timeout(&mut self, now: Time) {
        match self.options.idle_restart {
            IdleRestart::TimerToOne => self.control.set_cwnd(1.0),
            IdleRestart::TimerToInitialWindow => self.control.set_cwnd(self.initial_window.into()),
            IdleRestart::Keep | IdleRestart::RestartWindow | IdleRestart::AsTimeout => {
                self.timer = Time::MAX;
                return;
            }
        }
        self.recover = self.high;
        self.last_cut = LastCut::Timeout;
        self.timed = None;
        self.restart_timer(now);
    }

    /// The next segment to put on the wire. Call until `None` after every input.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if let Some(segment) = self.poll_forced(now) {
            return Some(segment);
        }
        if self.pacer.blocks(now) {
            return self.poll_probe(now);
        }
        if let Some(segment) = self.poll_limited(now) {
            return Some(segment);
        }
        if self.plan.burst == 0 {
            return self.poll_probe(now);
        }
        let segment = match self.recovery {
            Recovery::Sack | Recovery::PeachPlus => self.poll_sack(now),
            Recovery::Fack => self.poll_fack(now),
            Recovery::Yam => self.poll_yam(now),
            _ => self.window_allows(self.next).then(|| self.transmit_next(now)),
        };
        if segment.is_none() {
            self.plan.burst = 0;
            return self.poll_probe(now);
        }
        if self.plan.burst != NO_LIMIT {
            self.plan.burst -= 1;
        }
        segment
    }

    /// The next segment that leaves whatever the window says.
    #[inline]
    fn poll_forced(&mut self, now: Time) -> Option<Segment> {
        if let Some(seq) = self.plan.forced.take() {
            return Some(self.transmit(now, seq));
        }
        if self.repairs.is_due() { self.poll_repair(now) } else { None }
    }

    /// The segment that limited transmit adds.
    #[inline]
    fn poll_limited(&mut self, now: Time) -> Option<Segment> {
        if !self.plan.limited {
            return None;
        }
        self.plan.limited = false;
        self.limited_transmit_allowed().then(|| {
            self.limited_sent += 1;
            self.transmit_next(now)
        })
    }

    /// RFC 3042; window and duplicates as in tcp.cc send_one.
    fn limited_transmit_allowed(&self) -> bool {
        let flight = f64::from(self.next + 1 - self.una);
        self.has_room() && flight <= self.control.cwnd() + f64::from(self.duplicates)
    }

    /// Whether data and receiver window have a next segment.
    #[inline]
    fn has_room(&self) -> bool {
        self.next < self.data.limit() && self.next - self.una < self.options.send_window()
    }

    /// Whether `seq` may be sent: within the data, the receiver window and the inflated congestion window.
    #[inline]
    fn window_allows(&self, seq: u32) -> bool {
        let window = (self.control.cwnd() as u32).saturating_add(self.inflation).min(self.options.send_window());
        seq < self.data.limit() && seq - self.una < window
    }

    #[inline]
    fn transmit_next(&mut self, now: Time) -> Segment {
        let seq = self.next;
        self.next = seq + 1;
        self.transmit(now, seq)
    }

    /// Puts `seq` on the wire: timer, RTT measurement, counters.
    #[inline]
    fn transmit(&mut self, now: Time, seq: u32) -> Segment {
        let nothing_outstanding = self.una == self.high;
        let transmission = if seq < self.high {
            self.counters.retransmissions += 1;
            Transmission::Again
        } else {
            self.high = seq + 1;
            if self.timed.is_none() && seq >= self.timed_high {
                self.timed = Some(Timed { seq, sent: now });
                self.timed_high = seq + 1;
            }
            Transmission::First
        };
        if let Some(fine) = &mut self.fine {
            fine.on_sent(now, seq, self.una);
        }
        if let Some(departures) = &mut self.departures {
            departures.record(now, seq, transmission);
        }
        if self.timer == Time::MAX || nothing_outstanding {
            self.restart_timer(now);
        }
        self.last_sent = now;
        self.counters.segments += 1;
        let payload = self.data.payload(seq);
        let empty = payload == 0;
        let size = if empty { self.options.syn_size.0 } else { self.options.header.0 + u64::from(payload) } as u32;
        self.counters.bytes += u64::from(size);
        self.control.on_sent(&SentSample { now, in_flight: (self.high - self.una).into() });
        self.space(now, size);
        // RFC 3168 §6.1.5: neither the opening segment nor a retransmission is ECN-capable.
        let informs = self.options.ecn == Switch::On && !empty;
        let marked = informs && transmission == Transmission::First;
        // Deviation: RFC 3168 §6.1.2 sends CWR with new data only. After a timeout all that was out is sent again first, and as long
        // as the echo lasts nothing may grow: a window of one would repair hundreds of segments (ns-2: SetCWRonRetransmit_).
        let says_reduced = marked || informs && self.phase == Phase::Loss;
        Segment {
            seq,
            size,
            payload,
            transmission,
            priority: Priority::Normal,
            ecn: if marked { Ecn::Capable } else { Ecn::NotCapable },
            window_reduced: says_reduced && std::mem::take(&mut self.marks_seen.reduced),
        }
    }

    fn restart_timer(&mut self, now: Time) {
        self.timer = now.saturating_add(self.rtt.timeout());
    }

    /// The amount that a cut is taken from: the data that this sender has in the network (docs/decisions/cut-base.md).
    ///
    /// RFC 5681 §2 counts FlightSize from the cumulative acknowledgement. In a long recovery that is several windows,
    /// most of which the receiver holds already, and half of it would raise the threshold. The window bounds what is in
    /// the network, FlightSize what the application has used of it.
    fn cut_base(&self) -> Segments {
        let window = self.control.cwnd();
        match self.options.threshold_base {
            crate::ThresholdBase::Flight => window.min((self.high - self.una).saturating_sub(self.limited_sent).into()),
            crate::ThresholdBase::Window => (window + f64::from(self.inflation)).min(self.options.window.into()),
        }
    }

    /// Tells the control that segments were found lost.
    fn tell_lost(&mut self, now: Time, lost: u32) {
        let in_flight = (self.high - self.una).into();
        self.control.on_lost(&LossSample { now, lost: lost.into(), in_flight });
    }

    fn cut(&mut self, now: Time, kind: CongestionKind) {
        let weighed = self.rare.is_some() && kind != CongestionKind::Ecn;
        let window = if weighed { self.cut_base() * self.spared() } else { self.cut_base() };
        let event = CongestionEvent {
            now,
            kind,
            window,
            in_flight: (self.high - self.una).into(),
            smoothed_rtt: self.rtt.smoothed(),
            min_rtt: self.min_rtt,
            mss: self.options.mss.0 as u32,
        };
        self.control.on_congestion(&event);
        self.counters.window_cuts += 1;
        // RFC 3168 §6.1.2: CWR says so whatever the reason.
        self.marks_seen.reduced = true;
    }

    /// TCP/Linux's rules are in use.
    fn halves_rate(&self) -> bool {
        matches!(self.recovery, Recovery::Sack) && self.options.sack_rules == SackRules::Ns2Linux
    }

    /// What fast retransmit shares: the episode starts.
    fn enter_recovery(&mut self, now: Time, lost: Lost) {
        self.recover = self.high;
        self.last_cut = LastCut::FastRetransmit;
        if self.una < self.marks_seen.until {
            // One reaction per window: the deeper cut of loss and mark (RFC 8511 §3).
            self.control.set_cwnd(self.marks_seen.before);
        }
        self.cut(now, CongestionKind::Loss(lost));
        self.counters.fast_retransmits += 1;
        self.events.push(SenderEvent::RecoveryEntered { seq: self.una });
        if self.options.fast_retransmit_restarts_timer == Switch::On {
            self.restart_timer(now);
        }
        if self.options.fast_retransmit_ends_timing == Switch::On {
            self.timed = None;
        }
    }

    /// The episode ends.
    fn leave_recovery(&mut self) {
        self.phase = Phase::Open;
        self.partial_seen = false;
        self.repairs.end_uncut();
        self.events.push(SenderEvent::RecoveryLeft);
    }

    /// The congestion window without inflation.
    #[inline]
    pub fn cwnd(&self) -> Segments {
        match self.recovery {
            Recovery::Fack => self.fack_window(),
            _ if self.halves_rate() => self.forward_window(),
            _ => self.control.cwnd(),
        }
    }

    /// The state for records.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            cwnd: self.cwnd(),
            inflation: self.inflation,
            ssthresh: self.control.state().ssthresh,
            srtt: self.rtt.smoothed(),
            rto: self.rtt.timeout(),
            in_flight: self.next.max(self.una) - self.una,
            phase: self.phase,
        }
    }

    pub fn counters(&self) -> &SenderCounters {
        &self.counters
    }

    /// What happened during the last input; call until `None`.
    pub fn poll_event(&mut self) -> Option<SenderEvent> {
        self.events.pop()
    }

    /// The RTT that the last ACK measured, when it measured one.
    pub fn latest_rtt(&self) -> Option<Duration> {
        self.latest_rtt
    }

    /// The first segment not yet acknowledged.
    pub fn unacknowledged(&self) -> u32 {
        self.una
    }
}
