//! Recovery of TCP Yam (Tsai, Wang and Wang 2014 §3.2): only missing segments are sent until everything outstanding has
//! arrived. The control hears of losses that are found meanwhile as of the first.
//!
//! A segment is missing when three segments above it were reported; without reports the first outstanding one is. When
//! the control leaves one segment, slow start begins again at the first outstanding one.

use super::contract::LossRecovery;
use crate::core::Core;
use crate::record::Phase;
use crate::segment::{Ack, Segment};
use skyhop_base::Time;
use skyhop_cc::{CongestionControl, Lost};

/// The control restarts slow start when its window is below two segments.
const RESTARTED: f64 = 2.0;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Yam {
    /// Every segment below this one that has not arrived is known to be missing.
    missing_below: u32,
}

impl Yam {
    fn loss(&mut self, core: &mut Core, now: Time, lost: Lost) {
        let below = core.scoreboard.lost_below(core.options.duplicate_threshold).max(core.una + 1);
        let held = core.scoreboard.sacked() - core.scoreboard.sacked_from(below);
        core.tell_lost(now, (below - core.una) - held);
        core.enter_recovery(now, lost);
        if lost == Lost::First {
            core.scoreboard.forget_retransmissions();
        }
        self.missing_below = below;
        self.repair(core);
    }

    /// Repairs, or starts anew if the control says so.
    fn repair(&self, core: &mut Core) {
        if core.control.cwnd() < RESTARTED {
            core.go_back();
            core.episode.duplicates = 0;
        } else {
            core.episode.phase = Phase::Recovery;
        }
    }

    fn missing(&self, core: &Core) -> Option<u32> {
        core.scoreboard.next_missing(core.una, self.missing_below.min(core.high))
    }
}

impl LossRecovery for Yam {
    fn on_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        let reported = core.record_blocks(ack.next.max(core.una), ack);
        if ack.next > core.una {
            let advance = core.advance(now, ack);
            if core.phase() == Phase::Recovery {
                if core.una >= core.episode.recover {
                    core.leave_recovery();
                    core.control.on_recovered();
                }
                core.tell(now, advance.acked);
            } else {
                core.leave_loss();
                core.grow(now, advance);
            }
            core.open_initial_window(advance);
        } else if ack.next == core.una && core.una < core.high && (reported > 0 || ack.blocks.is_empty()) {
            core.counters.duplicate_acks += 1;
            core.episode.duplicates += 1;
            core.tell(now, 0);
        }
        let threshold = core.options.duplicate_threshold;
        let lost_below = core.scoreboard.lost_below(threshold);
        let lost = core.episode.duplicates >= threshold || lost_below > core.una;
        match core.phase() {
            Phase::Open if core.una >= core.episode.recover && lost => self.loss(core, now, Lost::First),
            Phase::Recovery if core.scoreboard.first_missing(self.missing_below) < lost_below => {
                self.loss(core, now, Lost::Again);
            }
            _ => {}
        }
        core.release();
    }

    /// Every segment that was not reported is missing.
    fn on_timeout(&mut self, core: &mut Core, _now: Time) {
        self.missing_below = core.high;
        self.repair(core);
        core.next = core.una;
    }

    /// Missing segments, each once, and no new data; outside of recovery what the window allows.
    fn poll(&mut self, core: &mut Core, now: Time) -> Option<Segment> {
        if core.phase() != Phase::Recovery {
            return core.send_skipping_held(now);
        }
        core.next = core.next.max(core.high);
        let seq = self.missing(core)?;
        Some(core.retransmit_hole(now, seq))
    }

    fn releases(&mut self, core: &mut Core) -> bool {
        match core.phase() {
            Phase::Recovery => self.missing(core).is_some(),
            Phase::Open | Phase::Loss => core.is_open_skipping_held(),
        }
    }

    fn cuts_at_every_timeout(&self) -> bool {
        true
    }
}
