//! The sending half: what the application writes becomes segments, and ACKs and timers decide when.

mod ack;
mod buffers;
mod config;
mod host;
mod output;
mod plain;
mod ready;
mod recovery;
mod setup;
mod timeout;
mod validation;
#[cfg(test)]
mod vectors;

use std::collections::VecDeque;
use std::sync::Arc;

use skyhop_base::{Duration, Time};

pub use crate::control::ControlKind;
use crate::control::{Control, EcnUse, Event, PathHint};
use crate::flow::{CaState, Flow};
use crate::ledger::{Id, Ledger};
use crate::rate::RateSampler;
pub use crate::rtt::Estimator;
use crate::rtt::RttEstimator;
use crate::segment::{Brief, BriefWords, FIRST_COUNT, Segment, Seq};
use crate::timer::Timers;
use crate::waiting::Waiting;
use buffers::Buffers;
pub use config::{Config, EcnMode};
pub use host::Host;
use ready::Ready;
use recovery::{Prr, Rack, Undo};
use validation::PipeAck;
pub use validation::Validation;

/// For what the one timer of the connection is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerKind {
    Retransmission,
    /// RACK's wait for reordered segments.
    Reordering,
    LossProbe,
    WindowProbe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Closed,
    SynSent,
    Established,
}

/// What became of a segment of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Received {
    /// It is not an ACK that counts.
    Refused,
    /// It did nothing but acknowledge.
    Plain,
    Other,
}

/// What happened to a connection so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Expirations of the retransmission timer.
    pub timeouts: u32,
    /// Tail loss probes.
    pub loss_probes: u32,
    /// Recoveries begun by detected losses.
    pub recoveries: u32,
    /// Reductions of the window: for losses, marks and timeouts.
    pub reductions: u32,
    /// Reductions taken back.
    pub undos: u32,
    /// Lasting jumps of the RTT that the control's detector has found.
    pub rtt_jumps: u32,
}

/// Changes of the congestion state. Boxed, because few runs ask for them and an idle sender has to be small.
#[derive(Debug, Default)]
struct StateLog(Vec<(Time, CaState)>);

/// The sending half of a connection.
///
/// Large because the rules of the kernel's sender read one another's state: recovery, undo, probes, F-RTO and the timer
/// all decide on the same ACK. Each rule's functions stand in a file of `sender/` with the rule's name.
#[derive(Debug)]
pub struct Sender {
    config: Arc<Config>,
    timers: Timers,
    /// Asked for, and agreed on once the connection stands.
    has_timestamps: bool,
    control: Box<dyn Control>,
    /// What the control says once and for all: asked for with each segment.
    owns_window: bool,
    /// [`Sender::may_be_plain`], once the connection stands.
    is_plain: bool,
    shortcuts: bool,
    ecn_use: EcnUse,
    flow: Flow,
    phase: Phase,
    ledger: Ledger,
    rtt: RttEstimator,
    sampler: RateSampler,

    /// Bursts that wait to be fetched.
    ready: Waiting<Ready>,

    /// Data written and not yet sent.
    buffers: Buffers,
    /// Writes made before the connection stood.
    early_writes: VecDeque<u64>,
    /// The number up to which data was pushed, and the end of the last segment that was not full (Nagle's rule).
    pushed: Seq,
    small_end: Seq,

    /// The receiver's window in bytes, and the largest seen.
    window: u64,
    max_window: u64,

    timer: Option<(TimerKind, Time)>,
    /// The present ACK moves the timer on, unless data that it lets out set it.
    timer_is_due: bool,
    pacing_timer: Option<Time>,
    now: Time,

    rto: Duration,
    backoff: u32,
    retransmits: u32,
    counts: Counts,
    probes_out: u32,

    prr: Prr,
    rack: Rack,
    undo: Undo,
    /// Where the present state ends: the next number to be sent when it began.
    high_seq: Seq,
    /// F-RTO waits for its proof.
    frto: bool,
    /// The end of the probe's data while a loss probe is out, and whether the probe was a repetition.
    tlp_end: Option<Seq>,
    tlp_repeated: bool,
    /// The receiver dropped data that it had SACKed, in the present recovery.
    reneging: bool,
    reordering: u32,
    reordering_seen: bool,
    retransmit_hint: Option<Id>,
    /// The end of the highest segment SACKed.
    highest_sacked: Seq,
    sack_cache: crate::segment::SackBlocks,
    dsack_dups: u64,
    total_retrans: u64,
    data_segments: u64,

    /// The end of the window in which `cwnd_limited` was noted; the largest flight since `used_jiffy`.
    usage_seq: Seq,
    cwnd_used: u32,
    /// What RFC 7661 knows of the window, where it is asked for.
    pipe_ack: Option<Box<PipeAck>>,
    used_jiffy: u64,

    /// The latest RTT of a segment sent once, in microseconds, until it is taken.
    rtt_sample: Option<u64>,
    /// The latest timestamp of the receiver, and the echo of the segment being processed.
    recent: u32,
    echo: Option<u32>,
    /// Changes of the congestion state, where they are recorded.
    states: Option<Box<StateLog>>,
    /// CWR has to go out with the next new data.
    queue_cwr: bool,
    ecn: bool,
    /// The receiver's count of marks as far as it is known (RFC 9768 §3.2.2).
    marks_told: u32,
}

impl Sender {
    pub fn new(config: Config) -> Sender {
        let (seed, timers) = (config.seed, config.timers);
        Sender::shared(Arc::new(config), seed, timers)
    }

    /// A sender whose configuration others have, too: connections of one kind differ in what they draw, so `seed` and
    /// `timers` stand in for those of `config`.
    pub fn shared(config: Arc<Config>, seed: u64, timers: Timers) -> Sender {
        let control = config.control.build(seed);
        let mut flow = Flow::new(config.mss);
        flow.cwnd = config.initial_window;
        flow.paced = control.paces() || config.pacing;
        let min_rto_us = config.min_rto.as_nanos() / 1000;
        let initial_rto_us = config.initial_rto.as_nanos() / 1000;
        Sender {
            rto: timers.span(config.initial_rto),
            reordering: config.reordering,
            has_timestamps: config.timestamps,
            owns_window: control.owns_window(),
            is_plain: false,
            shortcuts: true,
            ecn_use: control.ecn(),
            control,
            flow,
            phase: Phase::Closed,
            ledger: Ledger::default(),
            rtt: RttEstimator::new(min_rto_us, initial_rto_us),
            sampler: RateSampler::default(),
            ready: Waiting::default(),
            buffers: Buffers::default(),
            early_writes: VecDeque::new(),
            pushed: 0,
            small_end: 0,
            window: 0,
            max_window: 0,
            timer: None,
            timer_is_due: false,
            pacing_timer: None,
            now: Time::ZERO,
            backoff: 0,
            retransmits: 0,
            counts: Counts::default(),
            probes_out: 0,
            prr: Prr::default(),
            rack: Rack::default(),
            undo: Undo::default(),
            high_seq: 0,
            frto: false,
            tlp_end: None,
            tlp_repeated: false,
            reneging: false,
            reordering_seen: false,
            retransmit_hint: None,
            highest_sacked: 0,
            sack_cache: Default::default(),
            dsack_dups: 0,
            total_retrans: 0,
            data_segments: 0,
            usage_seq: 0,
            cwnd_used: 0,
            pipe_ack: Sender::pipe_ack(config.window_validation),
            used_jiffy: 0,
            rtt_sample: None,
            recent: 0,
            echo: None,
            states: None,
            queue_cwr: false,
            ecn: false,
            marks_told: FIRST_COUNT,
            config,
            timers,
        }
    }

    /// Takes no shortcut for usual ACKs from now on. For tests, which compare with it.
    pub fn without_shortcuts(mut self) -> Sender {
        self.shortcuts = false;
        self.is_plain = false;
        self
    }

    /// Sends the SYN.
    pub fn open(&mut self, now: Time) {
        self.refresh(now);
        self.connect();
    }

    /// The application hands over `bytes` in one call. Before the connection stands, calls are kept and made then.
    pub fn write(&mut self, now: Time, bytes: u64) {
        self.refresh(now);
        match self.phase {
            Phase::Established => self.send_call(bytes),
            _ => self.early_writes.push_back(bytes),
        }
    }

    /// A segment of the receiver arrives. Returns whether it was a plain ACK, one that does nothing but acknowledge: it
    /// leaves the [state](Sender::ca_state) as it is, and of the [counts](Sender::counts) all but the jumps of the RTT.
    pub fn on_segment(&mut self, now: Time, segment: &Segment) -> bool {
        self.refresh(now);
        let received = match self.phase {
            Phase::Closed => Received::Refused,
            Phase::SynSent => {
                self.on_syn_ack(segment);
                Received::Refused
            }
            Phase::Established => match Brief::of(segment) {
                Some(brief) => self.receive_brief(&brief),
                None => self.receive_ack(segment),
            },
        };
        self.follow_ack(received)
    }

    /// The same of a [`Brief`] in words.
    pub fn on_words(&mut self, now: Time, words: &BriefWords) -> bool {
        let brief = Brief::of_words(words);
        if self.phase != Phase::Established {
            return self.on_segment(now, &brief.segment());
        }
        self.refresh(now);
        let received = self.receive_brief(&brief);
        self.follow_ack(received)
    }

    /// Sends what a segment of the receiver lets out. Returns whether it was a plain ACK.
    #[inline(always)]
    fn follow_ack(&mut self, received: Received) -> bool {
        let is_plain = received == Received::Plain;
        if received != Received::Refused && !(is_plain && self.send_plain_burst()) {
            let sent_to = self.flow.nxt;
            self.push_pending();
            if std::mem::take(&mut self.timer_is_due) && self.flow.nxt == sent_to {
                self.move_timer();
            }
        }
        is_plain
    }

    /// Does what was due until `now`. Without effect where nothing is.
    pub fn on_timeout(&mut self, now: Time) {
        self.refresh(now);
        if self.timer.is_some_and(|(_, due)| due <= now) {
            self.fire();
        }
        if self.pacing_timer.is_some_and(|due| due <= now) {
            self.pacing_timer = None;
            self.resume_paced();
        }
    }

    /// When [`Sender::on_timeout`] has to be called next.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        match (self.timer.map(|(_, due)| due), self.pacing_timer) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// How long before a handover the control is to be told of it; `None` if it has no use for that.
    pub fn handover_lead(&self) -> Option<Duration> {
        self.control.handover_lead()
    }

    /// The application or the network knows something about the path.
    pub fn on_path_hint(&mut self, now: Time, hint: PathHint) {
        self.refresh(now);
        if self.phase == Phase::Established {
            self.control.hint(&mut self.flow, hint);
            self.push_pending();
        }
    }

    /// The next segment that leaves now.
    pub fn transmit(&mut self) -> Option<Segment> {
        self.transmit_brief().map(|brief| brief.segment())
    }

    /// The same in short: a sender reports no SACK blocks.
    #[inline(always)]
    pub fn transmit_brief(&mut self) -> Option<Brief> {
        let (brief, is_last) = self.ready.front_mut()?.take();
        if is_last {
            self.ready.pop_front();
        }
        Some(brief)
    }

    /// Whether [`Sender::transmit`] has a segment.
    #[inline]
    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Windows, counts and times as they stand.
    #[inline]
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    pub fn control(&self) -> &dyn Control {
        &*self.control
    }

    pub fn is_established(&self) -> bool {
        self.phase == Phase::Established
    }

    #[inline]
    pub fn cwnd(&self) -> u32 {
        self.flow.cwnd
    }

    /// `None` where it was never set.
    pub fn ssthresh(&self) -> Option<u32> {
        (self.flow.ssthresh < crate::flow::SSTHRESH_UNSET).then_some(self.flow.ssthresh)
    }

    /// The rate at which packets leave, in bytes of user data per second; `None` where they leave as the window allows:
    /// without pacing, and before the first data that the host spaces out.
    pub fn pacing_rate(&self) -> Option<u64> {
        (self.spaces_out() && self.phase == Phase::Established).then_some(self.flow.pacing_rate)
    }

    #[inline]
    pub fn ca_state(&self) -> CaState {
        self.flow.state
    }

    /// The retransmission timeout with its back-off.
    pub fn rto(&self) -> Duration {
        self.rto
    }

    pub fn srtt(&self) -> Option<Duration> {
        (self.flow.srtt8_us > 0).then(|| Duration::from_micros(self.flow.srtt8_us >> 3))
    }

    /// The number of repetitions, probes with repeated data included.
    pub fn retransmissions(&self) -> u64 {
        self.total_retrans
    }

    pub fn timeouts(&self) -> u32 {
        self.counts.timeouts
    }

    #[inline]
    pub fn counts(&self) -> Counts {
        Counts { rtt_jumps: self.flow.rtt_jumps, ..self.counts }
    }

    /// The RTT of the last segment acknowledged since the last call, in microseconds, if it was sent once.
    #[inline]
    pub fn take_rtt(&mut self) -> Option<u64> {
        self.rtt_sample.take()
    }

    /// Memory beside the sender itself, in bytes; the control's state counts as one cache line.
    pub fn memory_bytes(&self) -> u64 {
        let waiting = self.early_writes.capacity() * size_of::<u64>();
        64 + waiting as u64 + self.ready.memory_bytes() + self.ledger.memory_bytes() + self.buffers.memory_bytes()
    }

    /// How far out of order a segment may be, in segments, before it counts as lost.
    pub fn reordering(&self) -> u32 {
        self.reordering
    }

    /// Bytes written and not acknowledged.
    #[inline]
    pub fn backlog(&self) -> u64 {
        let early = if self.early_writes.is_empty() { 0 } else { self.early_writes.iter().sum() };
        self.buffers.written - self.flow.una.max(1) + early
    }

    /// Bytes written and not yet sent.
    pub fn unsent(&self) -> u64 {
        self.buffers.written.saturating_sub(self.flow.nxt.max(1))
    }

    /// The purpose of the running timer and the time at which it fires.
    pub fn timer(&self) -> Option<(TimerKind, Time)> {
        self.timer
    }

    /// Compares the counts with the ledger and words a difference. Takes time in proportion to the window; for
    /// tests.
    pub fn inconsistency(&self) -> Option<String> {
        let flow = &self.flow;
        let (mut out, mut sacked, mut lost, mut repeated) = (0, 0, 0, 0);
        let mut next = None;
        for id in self.ledger.ids() {
            let record = self.ledger.get(id);
            if next.is_some_and(|next| next != record.start) {
                return Some(format!("a gap before {}", record.start));
            }
            next = Some(record.end());
            out += 1;
            sacked += u32::from(record.is_sacked());
            lost += u32::from(record.is_lost());
            repeated += u32::from(record.is_repeated());
        }
        if next.is_some_and(|next| next != flow.nxt) {
            return Some(format!("the ledger ends at {next:?}, not at {}", flow.nxt));
        }
        // Without SACK the receiver's holdings are a guess.
        let sacked = if self.config.sack { sacked } else { flow.sacked_out };
        let ours = (flow.packets_out, flow.sacked_out, flow.lost_out, flow.retrans_out);
        let theirs = (out, sacked, lost, repeated);
        (ours != theirs).then(|| format!("counts {ours:?}, ledger {theirs:?} (out, SACKed, lost, repeated)"))
    }

    #[inline(always)]
    fn refresh(&mut self, now: Time) {
        self.now = now;
        self.flow.now_ns = now.as_nanos();
        self.flow.now_us = now.as_nanos() / 1000;
        self.flow.jiffy = self.timers.jiffy(now);
    }

    /// The clock of the timestamps, in milliseconds.
    fn stamp(&self, us: u64) -> u32 {
        self.config.timestamp_base.wrapping_add((us / 1000) as u32)
    }

    fn set_state(&mut self, new: CaState) {
        self.control.state_changes(&mut self.flow, new);
        if let (Some(states), true) = (self.states.as_mut(), self.flow.state != new) {
            states.0.push((self.now, new));
        }
        self.flow.state = new;
    }

    /// Keeps a record of all changes of the congestion state from now on.
    pub fn record_states(&mut self) {
        self.states.get_or_insert_default();
    }

    /// The changes recorded.
    pub fn states(&self) -> &[(Time, CaState)] {
        self.states.as_ref().map_or(&[], |states| &states.0)
    }

    fn event(&mut self, event: Event) {
        self.control.event(&mut self.flow, event);
    }

    fn highest_sacked(&self) -> Seq {
        if self.flow.sacked_out == 0 { self.flow.una } else { self.highest_sacked.max(self.flow.una) }
    }

    fn window_end(&self) -> Seq {
        self.flow.una + self.window
    }

    fn count_delivered(&mut self, segments: u32, ece: bool) {
        self.flow.delivered += u64::from(segments);
        if ece {
            self.flow.delivered_ce += u64::from(segments);
        }
    }
}
