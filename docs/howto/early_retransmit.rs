//! Early retransmit: Allman, Avrachenkov, Ayesta, Blanton and Hurtig, RFC 5827 (2010), segment-based (§3.2), over the
//! fast recovery of RFC 5681 without inflation.
//!
//! - With fewer than four segments outstanding and no new data to send, `outstanding − 1` duplicate ACKs stand for a
//!   loss instead of three. Otherwise such a loss would wait for the retransmission timer.
//! - A partial ACK repairs the next hole (RFC 6582).
//!
//! Known limits: reordering of a short flight causes spurious retransmissions (RFC 5827 §4).

use super::contract::LossRecovery;
use crate::core::Core;
use crate::record::Phase;
use crate::segment::Ack;
use skyhop_base::Time;
use skyhop_cc::{CongestionControl, Lost};

/// RFC 5827 §3.2: with at least so many segments outstanding the usual threshold holds.
const ENOUGH_OUTSTANDING: u32 = 4;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EarlyRetransmit {
    /// Losses that the usual threshold would have left to the timer.
    pub(crate) early: u32,
}

impl EarlyRetransmit {
    /// Duplicate ACKs that stand for a loss.
    fn threshold(core: &Core) -> u32 {
        let usual = core.options.duplicate_threshold;
        let few = core.outstanding() < ENOUGH_OUTSTANDING && !core.has_room();
        if few { usual.min(core.outstanding().saturating_sub(1).max(1)) } else { usual }
    }

    fn new_ack(core: &mut Core, now: Time, ack: &Ack) {
        let advance = core.advance(now, ack);
        if core.phase() == Phase::Recovery && core.una < core.episode.recover {
            core.tell_lost(now, 1);
            core.tell(now, advance.acked);
            core.force(core.una);
            return;
        }
        if core.phase() == Phase::Recovery {
            core.leave_recovery();
            core.control.on_recovered();
        }
        core.leave_loss();
        core.grow(now, advance);
        core.open_initial_window(advance);
        core.release();
    }

    fn duplicate(&mut self, core: &mut Core, now: Time) {
        core.counters.duplicate_acks += 1;
        core.episode.duplicates += 1;
        let lost = core.episode.duplicates >= Self::threshold(core);
        if lost && core.phase() == Phase::Open && core.fast_retransmit_allowed() {
            self.early += u32::from(core.episode.duplicates < core.options.duplicate_threshold);
            core.tell_lost(now, 1);
            core.enter_recovery(now, Lost::First);
            core.episode.phase = Phase::Recovery;
            core.force(core.una);
        }
        core.tell(now, 0);
    }
}

impl LossRecovery for EarlyRetransmit {
    fn on_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        if ack.next > core.una {
            Self::new_ack(core, now, ack);
        } else if ack.next == core.una && core.outstanding() > 0 {
            self.duplicate(core, now);
        }
    }
}
