//! Congestion controls: how far the window falls, how it grows, or which rate and window follow from a model.
//!
//! The trait has the shape of the kernel's: a control either names the threshold after a loss and lets the window grow
//! per ACK (reno, cubic), or sets window and pacing rate itself from samples of the delivery rate (bbr).

/// The list of controls: documentation, name in scenarios, and the options, which build it.
macro_rules! for_each_control {
    ($declare:ident) => {
        $declare! {
            /// Reno (RFC 5681).
            "reno": Reno(reno::RenoOptions);
            /// CUBIC (RFC 9438) with the kernel's arithmetic.
            "cubic": Cubic(cubic::CubicOptions);
            /// BBR version 1 (draft-cardwell-iccrg-bbr-00).
            "bbr": Bbr(bbr::BbrOptions);
            /// BBR version 3 (draft-ietf-ccwg-bbr).
            "bbr3": Bbr3(bbr3::Bbr3Options);
            /// DCTCP (RFC 8257); asks for ECN by itself and for an exact echo of marks.
            "dctcp": Dctcp(dctcp::DctcpOptions);
            /// Prague; asks for Accurate ECN (RFC 9768) by itself and sends ECT(1).
            "prague": Prague(prague::PragueOptions);
            /// Copa (NSDI 2018).
            "copa": Copa(copa::CopaOptions);
            /// LEDBAT (RFC 6817).
            "ledbat": Ledbat(ledbat::LedbatOptions);
            /// LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus).
            "ledbat++": LedbatPlusPlus(ledbat_plus_plus::LedbatPlusPlusOptions);
            /// CUBIC with hints of handovers (SaTCP, INFOCOM 2023).
            "satcp": Satcp(satcp::SatcpOptions);
            /// BBR that measures the path anew at handovers (LeoCC, SIGCOMM 2025).
            "leocc": Leocc(leocc::LeoccOptions);
            /// PCC Vivace (NSDI 2018).
            "vivace": Vivace(vivace::VivaceOptions);
        }
    };
}

pub mod bbr;
pub mod bbr3;
mod bbr_policer;
pub mod copa;
pub mod cubic;
pub mod dctcp;
mod hystart;
pub mod ledbat;
pub mod ledbat_plus_plus;
pub mod leocc;
pub mod list;
pub mod parameters;
pub mod prague;
mod random;
pub mod reno;
pub mod resume;
pub mod rtt_jumps;
pub mod satcp;
mod search;
pub mod slow_start;
pub mod vivace;

use std::fmt::Debug;

use skyhop_base::Duration;

use crate::flow::{CaState, Flow};
use crate::rate::RateSample;
use crate::segment::Seq;

pub use bbr::Bbr;
pub use cubic::Cubic;
pub use list::{ControlKind, ControlName, ControlOptions};
pub use parameters::{About, Parameter, Written};
pub use reno::Reno;

/// How a control uses ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnUse {
    /// As RFC 3168 says, where both ends are configured for it: ECT(0), one reaction per round trip.
    #[default]
    Classic,
    /// ECT(0) on all data; the receiver echoes each mark (RFC 8257). The control asks for ECN by itself.
    Precise,
    /// ECT(1) on all data, with marks counted by Accurate ECN (RFC 9768); without that, as `Classic`. The control asks
    /// for ECN by itself.
    Scalable,
}

/// A segment that was just marked lost. Counts in segments.
#[derive(Clone, Copy, Debug)]
pub struct LostPacket {
    pub start: Seq,
    pub end: Seq,
    /// As they stood when it was sent: in flight with it, lost before it, delivered before it.
    pub in_flight: u32,
    pub lost: u64,
    pub delivered: u64,
    pub app_limited: bool,
}

/// Knowledge about the path from elsewhere than ACKs, such as a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathHint {
    /// A handover begins, or was predicted; packets may be lost or late until it ends.
    HandoverBegins,
    HandoverEnds,
}

/// An event beside ACKs and changes of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The first packet leaves while none is in flight.
    TransmitStart,
    /// The window shrinks after an idle time.
    WindowRestart,
    /// A reduction of the window is complete.
    ReductionComplete,
    /// The retransmission timer fired and a new reduction begins.
    Loss,
}

/// The part of an ACK that a delay-based detector needs.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Segments acknowledged cumulatively.
    pub packets: u32,
    /// The RTT of the last segment acknowledged or SACKed, in microseconds.
    pub rtt_us: Option<u64>,
}

/// What a control says about the length of bursts, in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Burst {
    /// The sender's own rule holds.
    Usual,
    /// The rule holds with this least length in place of the configured one.
    AtLeast(u32),
    /// The control alone decides.
    Exactly(u32),
}

/// A congestion control.
pub trait Control: Debug + Send {
    fn name(&self) -> &'static str;

    /// The connection stands.
    fn init(&mut self, _flow: &mut Flow) {}

    /// The threshold to which the window falls after a loss or a mark.
    fn ssthresh(&mut self, flow: &mut Flow) -> u32;

    /// The window after a reduction that proved wrong.
    fn undo(&mut self, flow: &mut Flow) -> u32 {
        flow.cwnd.max(flow.prior_cwnd)
    }

    /// Growth of the window: `acked` segments were delivered in order, outside of reductions.
    fn grow(&mut self, _flow: &mut Flow, _acked: u32) {}

    /// Whether window and rate come from [`Control::control`] alone, the same during a connection. The sender then
    /// neither reduces nor grows the window, nor restarts it after an idle time.
    fn owns_window(&self) -> bool {
        false
    }

    /// Whether it asks if the application limited a sample of the rate, the same during a connection.
    fn reads_limits(&self) -> bool {
        self.owns_window()
    }

    /// Window and rate after an ACK, for a control that owns them.
    fn control(&mut self, _flow: &mut Flow, _sample: &RateSample) {}

    fn acked(&mut self, _flow: &mut Flow, _sample: AckSample) {}

    /// A plain ACK: [`Control::acked`], the time of the delivery, [`Control::grow`] and [`Control::pacing_percent`] in
    /// one call. No control overrides it. The body stands in the trait so that it is compiled once for each control and
    /// calls its methods directly.
    fn plain_ack(&mut self, flow: &mut Flow, sample: AckSample) -> Option<u64> {
        self.acked(flow, sample);
        flow.end_limit();
        flow.delivered_us = flow.now_us;
        self.grow(flow, sample.packets);
        self.pacing_percent(flow)
    }

    fn event(&mut self, _flow: &mut Flow, _event: Event) {}

    /// A segment was marked lost, before the sender reacts to the loss.
    fn lost(&mut self, _flow: &mut Flow, _packet: &LostPacket) {}

    /// A hint about the path.
    fn hint(&mut self, _flow: &mut Flow, _hint: PathHint) {}

    /// How long before a handover it is to be told; `None` if hints have no effect.
    fn handover_lead(&self) -> Option<Duration> {
        None
    }

    /// How it uses ECN, the same during a connection.
    fn ecn(&self) -> EcnUse {
        EcnUse::Classic
    }

    /// The state changes to `new`; `flow` still shows the former one.
    fn state_changes(&mut self, _flow: &mut Flow, _new: CaState) {}

    /// What it says about the length of bursts.
    fn burst(&self, _flow: &Flow) -> Burst {
        Burst::Usual
    }

    /// Whether it reacts to marks by itself, in [`Control::acked`]. The sender then lets them be.
    fn handles_marks(&self) -> bool {
        false
    }

    /// The pacing rate over cwnd / srtt in percent, where it is not the sender's.
    fn pacing_percent(&self, _flow: &Flow) -> Option<u64> {
        None
    }

    /// Whether packets have to be paced.
    fn paces(&self) -> bool {
        false
    }

    /// Where the control has phases of its own, the present one for the records, such as "probe-rtt". Outside of
    /// reductions; slow start and congestion avoidance follow from window and threshold.
    fn phase(&self) -> Option<&'static str> {
        None
    }

    /// Parts of its model under their names, for records: bandwidths in segments per second, times in microseconds,
    /// volumes in segments.
    fn figures(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
