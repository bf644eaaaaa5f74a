//! Repair by negative acknowledgement, for paths that keep the order and lose to errors: the satellite leg of SaTPEP
//! (`algorithms.md` §3.1), SCPS-TP's SNACK (§3.5). The receiver's selective reports are its NAKs.
//!
//! - Every segment below a reported one is missing, because nothing overtakes. It leaves again at once, whatever the
//!   window says.
//! - It is missing again when a segment is reported that left after its retransmission: new data, or the retransmission
//!   of another one.
//! - No loss cuts the window, because the segment was corrupted. After a timeout, which cuts, every segment that was
//!   not reported leaves again.

use super::contract::LossRecovery;
use crate::core::Core;
use crate::ledger::Retransmissions;
use crate::record::Phase;
use crate::segment::{Ack, Segment};
use skyhop_base::Time;
use skyhop_cc::CongestionControl;

#[derive(Clone, Debug, Default)]
pub(crate) struct Nak {
    /// Neither acknowledged nor reported since.
    sent_again: Retransmissions,
    /// One past the order of the last retransmission known to have arrived.
    arrived: u32,
    /// After a timeout every segment below this one is missing.
    below: u32,
    /// Scan for holes from here: all below are filled or in flight again.
    from: u32,
}

impl Nak {
    /// The lowest segment that is missing and not in flight again.
    fn next_missing(&mut self, core: &Core) -> Option<u32> {
        let reported = core.scoreboard.end().unwrap_or(0);
        let top = reported.max(self.below);
        let mut seq = core.scoreboard.first_missing(self.from.max(core.una));
        while seq < top.min(core.high) {
            let in_flight = self.sent_again.get(seq);
            if in_flight.is_none_or(|again| again.edge < reported || again.order + 1 < self.arrived) {
                return Some(seq);
            }
            self.from = seq + 1;
            seq = core.scoreboard.first_missing(seq + 1);
        }
        None
    }
}

/// Whether the window lets a new segment leave.
fn new_is_open(core: &Core) -> bool {
    let flight = core.outstanding().saturating_sub(core.scoreboard.sacked());
    let open = f64::from(flight) + 1.0 <= core.control.cwnd() && core.outstanding() < core.options.send_window();
    open && core.high < core.data.limit()
}

impl LossRecovery for Nak {
    #[inline(never)]
    fn on_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        let reported = core.record_blocks(core.una, ack);
        if ack.next > core.una {
            let advance = core.advance(now, ack);
            core.leave_loss();
            core.grow(now, advance);
            core.open_initial_window(advance);
        } else if ack.next == core.una && reported > 0 {
            core.counters.duplicate_acks += 1;
            core.tell(now, 0);
        }
        core.release();
        let mut arrived = self.arrived;
        self.sent_again.retain(|seq, again| {
            let missing = seq >= core.una && core.scoreboard.first_missing(seq) == seq;
            if !missing {
                arrived = arrived.max(again.order + 1);
            }
            missing
        });
        self.arrived = arrived;
        self.from = core.una;
    }

    #[cold]
    fn on_timeout(&mut self, core: &mut Core, _now: Time) {
        core.episode.phase = Phase::Loss;
        self.sent_again.clear();
        (self.below, self.from) = (core.high, core.una);
    }

    /// Missing segments, then new data as far as the window lets them leave.
    #[inline(never)]
    fn poll(&mut self, core: &mut Core, now: Time) -> Option<Segment> {
        if let Some(seq) = self.next_missing(core) {
            self.sent_again.record(seq, core.high);
            self.from = seq + 1;
            if seq == core.una {
                // It is in flight again, and all others wait for it.
                core.restart_timer(now);
            }
            return Some(core.transmit(now, seq));
        }
        core.next = core.high;
        new_is_open(core).then(|| core.transmit_next(now))
    }

    #[cold]
    fn releases(&mut self, core: &mut Core) -> bool {
        new_is_open(core) || self.next_missing(core).is_some()
    }
}
