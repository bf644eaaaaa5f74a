//! The sender: a core, a loss recovery, and the order in which they are asked.

mod plain;
#[cfg(test)]
mod plain_tests;
#[cfg(test)]
pub(crate) mod tests;
mod urgent;

use crate::config::{ControlRtt, Handshake, IdleRestart, InitialWindowAt, RttTiming, Switch, TcpConfig, TickPhase};
use crate::core::Core;
use crate::ledger::Ledger;
use crate::notification::{Ceten, ErrorReport, Notification, Repairs};
use crate::ns2::ns2_tick_phases;
use crate::record::{SenderCounters, SenderEvent, Snapshot};
use crate::recovery::{LossRecovery, Machine};
use crate::rtt::{RttEstimator, RttSettings, TickRounding};
use crate::segment::{Ack, Segment};
use crate::supply::{Data, Supply};
use crate::window::NO_LIMIT;
use skyhop_base::{Duration, Segments, Stream, Time};
use skyhop_cc::{CongestionControl, Control, PathHint, Start};
use std::sync::Arc;

/// One sending endpoint.
///
/// After every input (`open`, `supply`, `on_ack`, `on_timeout`) call [`Sender::poll_transmit`] until it returns
/// `None`.
#[derive(Debug)]
pub struct Sender {
    pub(crate) recovery: Machine,
    pub(crate) core: Core,
    /// Whether nothing but the present episode can make an ACK more than [`Sender::on_plain_ack`] handles.
    is_plain: bool,
}

impl Sender {
    /// A sender that has not been opened. `stream` is its own source of random numbers.
    pub fn new(config: &TcpConfig, mut stream: Stream) -> Sender {
        let tick_phase = match config.options.ns2.tick_phase {
            TickPhase::Random => stream.uniform(),
            TickPhase::Ns2 => ns2_tick_phases(1, &[config])[0],
            TickPhase::Share(share) => share,
        };
        Sender::at_tick_phase(config, tick_phase)
    }

    /// The same with this phase of its clock, a share of a tick, whatever the options say.
    pub fn at_tick_phase(config: &TcpConfig, tick_phase: f64) -> Sender {
        Sender::with_recovery(config, tick_phase, Machine::new(config.recovery, &config.options))
    }

    pub(crate) fn with_recovery(config: &TcpConfig, tick_phase: f64, recovery: Machine) -> Sender {
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
        let at_once = options.ns2.initial_window_at == InitialWindowAt::Open;
        let control = config.control.start(Start {
            cwnd: if at_once { options.initial_window.into() } else { 1.0 },
            ssthresh: options.starting_threshold(),
            clamp: options.window_clamp(),
            mss: options.mss.0 as u32,
        });
        let needs_ledger = recovery.needs_ledger() || options.ns2.control_rtt == ControlRtt::LastSegment;
        let opens_empty = options.handshake != Handshake::None;
        let data = Data::new(options.mss.0 as u32, opens_empty);
        let mut core = Core::new(options, control, rtt, data);
        core.ledger = needs_ledger.then(Box::<Ledger>::default);
        match config.notification {
            None => {}
            Some(Notification::Ceten(weighing)) => core.ceten = Some(Box::new(Ceten::new(weighing))),
            Some(notification) => {
                core.repairs = Repairs::listening(notification);
                if let Notification::Been(_) = notification {
                    core.data = core.data.with_cuts();
                }
            }
        }
        let is_plain = is_plain(&core, &recovery);
        Sender { recovery, core, is_plain }
    }

    /// Puts a control from outside in place of the configured one; before `open`.
    pub fn replace_control(&mut self, control: Box<dyn CongestionControl + Send>) {
        debug_assert!(self.core.high == 0, "a control is replaced before anything is sent");
        self.core.control = Control::Boxed(control);
    }

    /// The network reports on the path.
    pub fn on_path_hint(&mut self, hint: &PathHint) {
        self.core.control.on_path_hint(hint);
    }

    /// Whether the control has a use for [`PathHint::Handover`].
    pub fn hears_of_handovers(&self) -> bool {
        self.core.control.hears_of_handovers()
    }

    /// The receiver has room for the segments before `edge`.
    pub fn on_window(&mut self, now: Time, edge: u32) {
        let core = &mut self.core;
        core.data.set_edge(edge);
        if core.una == core.high && core.data.waits_for_room(core.high) && core.timer == Time::MAX {
            core.restart_timer(now);
        }
        core.release();
    }

    /// Whether segment 0 carries no data.
    pub fn opens_empty(&self) -> bool {
        self.core.options.handshake != Handshake::None
    }

    /// User bytes of the largest segment.
    pub fn largest_segment(&self) -> u32 {
        self.core.options.mss.0 as u32
    }

    /// User bytes of the next new segment, if there is enough data.
    pub fn segment_size(&self) -> u32 {
        self.core.data.size()
    }

    /// User bytes that were handed over and are not acknowledged.
    pub fn backlog_bytes(&self) -> u64 {
        self.core.data.backlog(self.core.una)
    }

    /// The connection opens.
    pub fn open(&mut self, now: Time) {
        self.core.data.open();
        self.core.measured.round_began = now;
        self.core.release();
    }

    /// The application hands over data.
    pub fn supply(&mut self, now: Time, supply: Supply) {
        self.core.restart_after_idle(now);
        self.core.data.supply(supply, self.core.high);
        self.core.release();
    }

    /// The application stops: nothing new is sent; outstanding segments are still repaired.
    pub fn close(&mut self, _now: Time) {
        self.core.data.close(self.core.high);
    }

    /// All data was acknowledged and there will be no more.
    pub fn is_finished(&self) -> bool {
        self.core.data.is_closed() && self.core.una >= self.core.data.end()
    }

    /// An ACK arrives.
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        let core = &mut self.core;
        core.events.clear();
        let earlier = std::mem::take(&mut core.window.allowed);
        (core.measured.latest_rtt, core.measured.newly_reported) = (None, 0);
        if ack.next > core.high {
            debug_assert!(false, "an ACK of a segment that was never sent");
            return;
        }
        if core.options.ecn == Switch::On {
            core.take_echo(now, ack);
        }
        self.recovery.on_ack(core, now, ack);
        if core.window.pacer.holds_back() {
            // The segments that the pacer holds back are still to leave.
            core.release();
        }
        core.window.allowed.join(earlier);
    }

    /// When something is to happen without an ACK: the retransmission timer expires, or a spaced segment or probe
    /// leaves. [`Time::MAX`] when nothing is.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        self.core.timer.min(self.core.window.pacer.wake()).min(self.recovery.next_timeout())
    }

    /// The time of `next_timeout` has come.
    pub fn on_timeout(&mut self, now: Time) {
        let core = &mut self.core;
        core.window.allowed.paced = core.window.pacer.on_time(now);
        self.recovery.on_time(now);
        if now < core.timer {
            return;
        }
        core.events.clear();
        core.allow_all();
        if core.una == core.high && core.data.waits_for_room(core.high) {
            // RFC 9293 §3.8.6.1: a segment asks whether there is room again; the notice of it may be lost.
            core.data.set_edge(core.high + 1);
            return core.restart_timer(now);
        }
        if core.una == core.high && core.options.idle_restart != IdleRestart::AsTimeout {
            core.expire_idle(now);
            return;
        }
        core.expire(now, self.recovery.cuts_at_every_timeout());
        self.recovery.on_timeout(core, now);
    }

    /// The next segment to put on the wire. Call until `None` after every input.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if let Some(segment) = self.core.send_forced(now) {
            return Some(self.sent(segment));
        }
        if self.core.window.pacer.blocks(now) {
            return self.recovery.poll_probe(&mut self.core);
        }
        if let Some(segment) = self.core.send_limited(now) {
            return Some(self.sent(segment));
        }
        if self.core.window.allowed.burst == 0 {
            return self.recovery.poll_probe(&mut self.core);
        }
        let Some(segment) = self.recovery.poll(&mut self.core, now) else {
            self.core.window.allowed.burst = 0;
            return self.recovery.poll_probe(&mut self.core);
        };
        if self.core.window.allowed.burst != NO_LIMIT {
            self.core.window.allowed.burst -= 1;
        }
        Some(self.sent(segment))
    }

    #[inline]
    fn sent(&mut self, segment: Segment) -> Segment {
        self.recovery.on_sent(&mut self.core, &segment);
        segment
    }

    /// A report of a corrupted segment arrives. A sender that does not listen to reports ignores it.
    pub fn on_error_report(&mut self, now: Time, report: &ErrorReport) {
        self.core.on_error_report(now, report);
    }

    /// The network says, in a report or with an ACK, how many errors it makes.
    pub fn on_error_rate(&mut self, error_rate: f64) {
        self.core.on_error_rate(error_rate);
    }

    /// The ACK that arrives next says that the segment it asks for was corrupted. A sender that does not listen to
    /// marks ignores it.
    pub fn on_loss_mark(&mut self) {
        self.core.repairs.mark();
    }

    /// An ACK echoes the probability that nothing corrupts data on their path. A sender that does not weigh its cuts
    /// ignores it.
    pub fn on_survival(&mut self, survival: f64) {
        if let Some(ceten) = &mut self.core.ceten {
            ceten.set_survival(survival);
        }
    }

    /// The random numbers of a sender that cuts by chance.
    pub fn draw_from(&mut self, stream: Stream) {
        if let Some(ceten) = &mut self.core.ceten {
            ceten.draw_from(stream);
        }
    }

    /// The congestion window without inflation.
    #[inline]
    pub fn cwnd(&self) -> Segments {
        self.recovery.window(&self.core)
    }

    /// The state for records.
    pub fn snapshot(&self) -> Snapshot {
        let core = &self.core;
        Snapshot {
            cwnd: self.cwnd(),
            inflation: core.window.inflation,
            ssthresh: core.control.state().ssthresh,
            pacing: core.pacing_rate(),
            srtt: core.rtt.smoothed(),
            rto: core.rtt.timeout(),
            in_flight: core.next.max(core.una) - core.una,
            phase: core.phase(),
        }
    }

    pub fn counters(&self) -> &SenderCounters {
        &self.core.counters
    }

    /// What happened during the last input; call until `None`.
    pub fn poll_event(&mut self) -> Option<SenderEvent> {
        self.core.events.pop()
    }

    /// The RTT that the last ACK measured, when it measured one.
    pub fn latest_rtt(&self) -> Option<Duration> {
        self.core.measured.latest_rtt
    }

    /// The first segment not yet acknowledged.
    pub fn unacknowledged(&self) -> u32 {
        self.core.una
    }
}

/// Whether a sender with this core and recovery takes undisturbed ACKs as [`Sender::on_plain_ack`] does.
fn is_plain(core: &Core, recovery: &Machine) -> bool {
    let is_common = matches!(recovery, Machine::Classic(_) | Machine::Sack(_));
    let is_alone = core.ledger.is_none() && core.ceten.is_none() && !core.repairs.listens();
    is_common && is_alone && core.options.ecn == Switch::Off
}
