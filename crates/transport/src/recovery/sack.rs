//! Loss recovery with selective acknowledgements: RFC 6675.

use super::contract::LossRecovery;
use crate::config::Switch;
use crate::core::Core;
use crate::record::Phase;
use crate::segment::{Ack, Segment};
use skyhop_base::Time;
use skyhop_cc::{CongestionControl, Lost};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sack {
    /// RescueRxt: the rescue retransmission of this episode, one past it.
    rescued: u32,
}

impl LossRecovery for Sack {
    /// RFC 6675 §5.
    fn on_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        let reported = core.record_blocks(core.una, ack);
        if ack.next > core.una {
            let advance = core.advance(now, ack);
            match core.phase() {
                Phase::Recovery => {
                    if core.una >= core.episode.recover {
                        core.leave_recovery();
                        core.control.on_recovered();
                    }
                    core.tell(now, advance.acked);
                }
                Phase::Loss | Phase::Open => {
                    core.leave_loss();
                    core.grow(now, advance);
                }
            }
            core.open_initial_window(advance);
        } else if ack.next == core.una && reported > 0 {
            core.counters.duplicate_acks += 1;
            core.episode.duplicates += 1;
            core.tell(now, 0);
        }
        // An episode starts only when all segments outstanding at the last one were acknowledged.
        let may_start = core.phase() == Phase::Open && core.una >= core.episode.recover;
        let threshold = core.options.duplicate_threshold;
        let lost = core.episode.duplicates >= threshold || core.scoreboard.lost_below(threshold) > core.una;
        if may_start && lost && core.repairs.has(core.una) {
            // Reported corrupted and on its way again. Reported segments do not count in flight, so new data may leave.
        } else if may_start && lost {
            let below = core.scoreboard.lost_below(threshold).max(core.una + 1);
            let held = core.scoreboard.sacked() - core.scoreboard.sacked_from(below);
            core.tell_lost(now, (below - core.una) - held);
            core.enter_recovery(now, Lost::First);
            core.episode.phase = Phase::Recovery;
            core.scoreboard.forget_retransmissions();
            core.scoreboard.mark_retransmitted(core.una);
            self.rescued = core.una;
            core.force(core.una);
        } else if core.episode.duplicates > 0
            && core.phase() == Phase::Open
            && core.options.limited_transmit == Switch::On
        {
            core.window.allowed.limited = true;
        }
        core.release();
    }

    #[inline]
    fn poll(&mut self, core: &mut Core, now: Time) -> Option<Segment> {
        match core.phase() {
            Phase::Recovery => self.next_segment(core, now),
            _ if core.scoreboard.is_empty() => core.send_in_order(now),
            _ if waits_for_proof(core) => core.is_open_counting_held().then(|| core.transmit_next(now)),
            _ => core.send_skipping_held(now),
        }
    }

    fn releases(&mut self, core: &mut Core) -> bool {
        match core.phase() {
            Phase::Recovery => pipe_is_open(core),
            _ if core.scoreboard.is_empty() => core.is_open(),
            _ if waits_for_proof(core) => core.is_open_counting_held(),
            _ => core.is_open_skipping_held(),
        }
    }
}

/// Whether reports open the window for nothing, because limited transmit is off and no loss is proved yet. After a
/// timeout, and while a reported corruption is repaired, they do (RFC 6675 §5.1).
fn waits_for_proof(core: &Core) -> bool {
    core.options.limited_transmit == Switch::Off
        && core.phase() == Phase::Open
        && core.una >= core.episode.recover
        && !core.repairs.has(core.una)
}

/// RFC 6675 §4: cwnd − pipe >= 1.
fn pipe_is_open(core: &Core) -> bool {
    let pipe = core.scoreboard.pipe(core.una, core.high, core.options.duplicate_threshold);
    f64::from(pipe) + 1.0 <= core.control.cwnd()
}

impl Sack {
    /// RFC 6675 §4 NextSeg, as long as cwnd − pipe >= 1.
    fn next_segment(&mut self, core: &mut Core, now: Time) -> Option<Segment> {
        if !pipe_is_open(core) {
            return None;
        }
        let threshold = core.options.duplicate_threshold;
        while let Some(seq) = core.scoreboard.next_hole(core.una).filter(|&seq| core.repairs.has(seq)) {
            core.scoreboard.mark_retransmitted(seq);
        }
        let hole = core.scoreboard.next_hole(core.una);
        let lost_below = core.scoreboard.lost_below(threshold);
        // (1) the lowest hole that is lost, (2) new data, (3) any hole
        if let Some(seq) = hole.filter(|&seq| seq < lost_below) {
            return Some(core.retransmit_hole(now, seq));
        }
        core.next = core.next.max(core.high);
        if core.has_room() {
            return Some(core.transmit_next(now));
        }
        if let Some(seq) = hole {
            return Some(core.retransmit_hole(now, seq));
        }
        // (4) once per episode the last segment outstanding, so that a lost tail does not wait for the timer
        let last = core.high - 1;
        if self.rescued <= core.una && core.scoreboard.first_missing(last) == last && last >= core.una {
            self.rescued = core.high;
            return Some(core.transmit(now, last));
        }
        None
    }
}
