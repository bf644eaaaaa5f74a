//! ns-2's Sack1: one counter for the pipe, and recovery only through three duplicate ACKs that report something. Every
//! hole below the highest report is sent once, without a loss test.

use crate::config::Switch;
use crate::core::{Core, LastCut};
use crate::record::Phase;
use crate::recovery::LossRecovery;
use crate::segment::{Ack, Segment};
use skyhop_base::Time;
use skyhop_cc::{CongestionControl, Lost};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sack1 {
    /// Estimate of the segments in flight during recovery.
    pipe: i32,
    /// Between a timeout and the next ACK of new data duplicate ACKs do not count.
    ignores_duplicates: bool,
}

impl Sack1 {
    fn duplicate(&mut self, core: &mut Core, now: Time) {
        core.episode.duplicates += 1;
        let threshold = core.options.duplicate_threshold;
        if core.episode.duplicates == threshold {
            if core.fast_retransmit_allowed() {
                core.tell_lost(now, 1);
                core.enter_recovery(now, Lost::First);
                core.episode.phase = Phase::Recovery;
                self.pipe = core.outstanding() as i32 - threshold as i32;
                core.scoreboard.mark_retransmitted(core.una);
                core.force(core.una);
            }
        } else if core.episode.duplicates < threshold && core.options.limited_transmit == Switch::On {
            core.window.allowed.limited = true;
        }
    }

    fn recovery(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        self.pipe -= 1;
        let mut acked = 0;
        if ack.next >= core.episode.recover {
            acked = core.advance(now, ack).acked;
            core.leave_recovery();
            core.control.on_recovered();
            core.episode.recover = 0;
            self.ignores_duplicates = false;
            core.scoreboard.clear();
        } else if ack.next > core.una {
            self.pipe -= 1;
            acked = core.advance_quietly(ack).acked;
            core.record_blocks(core.una, ack);
            core.rtt.clear_backoff();
            core.rearm_timer(now);
        } else if ack.next == core.una {
            core.counters.duplicate_acks += 1;
            core.record_blocks(core.una, ack);
        }
        core.tell(now, acked);
        core.release();
    }

    fn is_open(&self, core: &Core) -> bool {
        self.pipe < core.control.cwnd() as i32 && core.next < core.data.limit()
    }

    /// Holes first, lowest first, each once, then new data, as long as the counter is below the window.
    fn next_segment(&mut self, core: &mut Core, now: Time) -> Option<Segment> {
        debug_assert!(core.episode.last_cut == LastCut::FastRetransmit);
        if !self.is_open(core) {
            return None;
        }
        if let Some(seq) = core.scoreboard.next_hole(core.una) {
            self.pipe += 1;
            return Some(core.retransmit_hole(now, seq));
        }
        if core.has_room() {
            self.pipe += 1;
            return Some(core.transmit_next(now));
        }
        None
    }
}

impl LossRecovery for Sack1 {
    fn on_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        if core.phase() == Phase::Recovery {
            self.recovery(core, now, ack);
            return;
        }
        if ack.next > core.una {
            let advance = core.advance(now, ack);
            core.leave_loss();
            core.grow(now, advance);
            core.scoreboard.clear();
            core.open_initial_window(advance);
            self.ignores_duplicates = false;
        } else if ack.next == core.una && !self.ignores_duplicates {
            core.counters.duplicate_acks += 1;
            if core.record_blocks(core.una, ack) > 0 {
                self.duplicate(core, now);
                core.tell(now, 0);
            }
        }
        if core.episode.duplicates == 0 {
            core.release();
        }
    }

    fn on_timeout(&mut self, core: &mut Core, _now: Time) {
        self.ignores_duplicates = true;
        core.go_back();
    }

    #[inline]
    fn poll(&mut self, core: &mut Core, now: Time) -> Option<Segment> {
        match core.phase() {
            Phase::Recovery => self.next_segment(core, now),
            _ if core.scoreboard.is_empty() => core.send_in_order(now),
            _ => core.send_skipping_held(now),
        }
    }

    fn releases(&mut self, core: &mut Core) -> bool {
        match core.phase() {
            Phase::Recovery => self.is_open(core) && (core.has_room() || core.scoreboard.next_hole(core.una).is_some()),
            _ if core.scoreboard.is_empty() => core.is_open(),
            _ => core.is_open_skipping_held(),
        }
    }
}
