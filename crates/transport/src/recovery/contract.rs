//! What a sender asks of a loss recovery.

use crate::core::Core;
use crate::segment::{Ack, Segment};
use skyhop_base::{Segments, Time};
use skyhop_cc::CongestionControl;

/// How a sender finds losses and repairs them. An algorithm owns its state; what all share is in the [`Core`].
///
/// The sender calls `on_ack` for every ACK, then takes segments with `poll` until there are none. The core sends
/// forced segments and those of limited transmit by itself (`core.force`, `core.window.allowed.limited`).
pub(crate) trait LossRecovery: std::fmt::Debug {
    /// An ACK arrives, new, old or duplicate. Advances the core, tells the control (`core.grow` or `core.tell`) and
    /// sets what may leave now (`core.release`, `core.force`).
    fn on_ack(&mut self, core: &mut Core, now: Time, ack: &Ack);

    /// The retransmission timer has expired. The core has told the control and backed off; the recovery sets its phase
    /// and from where on segments leave again.
    fn on_timeout(&mut self, core: &mut Core, _now: Time) {
        core.go_back();
    }

    /// The next segment that the recovery or the window lets out. Called until `None`.
    fn poll(&mut self, core: &mut Core, now: Time) -> Option<Segment> {
        core.send_in_order(now)
    }

    /// Whether `poll` would give a segment. May say yes where only looking for it would show that there is none.
    fn releases(&mut self, core: &mut Core) -> bool {
        core.is_open()
    }

    /// A segment has left, for whatever reason.
    fn on_sent(&mut self, _core: &mut Core, _segment: &Segment) {}

    /// Segments that the host held back may leave now (ns-2 `overhead_`).
    fn on_release(&mut self, _core: &Core) {}

    /// The congestion window for records, in segments, without inflation.
    fn window(&self, core: &Core) -> Segments {
        core.control.cwnd()
    }

    /// Whether each timeout of the same segment cuts, whatever the options say.
    fn cuts_at_every_timeout(&self) -> bool {
        false
    }

    /// Whether it needs a record of every segment in flight (`core.ledger`).
    fn needs_ledger(&self) -> bool {
        false
    }

    /// When it wants to be called without an ACK; [`Time::MAX`]: never.
    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    /// Called with every timer of the sender.
    fn on_time(&mut self, _now: Time) {}

    /// Whether a probe of low priority waits.
    fn has_probe(&self) -> bool {
        false
    }

    /// The probe that waits.
    fn poll_probe(&mut self, _core: &mut Core) -> Option<Segment> {
        None
    }
}
