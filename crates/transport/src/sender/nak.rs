//! Repair by negative acknowledgement, for ways that keep the order and lose to errors: the satellite leg of SaTPEP
//! (`algorithms.md` §3.1), SCPS-TP's SNACK (§3.5). The receiver's selective reports are its NAKs.
//!
//! - What lies below anything reported is missing, for nothing overtakes: it leaves again at once, whatever the window says.
//! - It is missing again when something is reported that left after its repetition: new data, or the repetition of another.
//! - Nothing is cut, for what is missing was corrupted. After a timeout, which cuts as ever, all that was not reported leaves
//!   again.

use super::{NO_LIMIT, Phase, Sender};
use crate::{Ack, Segment};
use skyhop_base::Time;
use skyhop_cc::CongestionControl;

/// A segment that was sent again.
#[derive(Clone, Copy, Debug)]
struct Again {
    seq: u32,
    /// One past the highest segment at that time.
    high: u32,
    /// Counts repetitions of the connection.
    order: u32,
}

/// What was sent again.
#[derive(Clone, Debug, Default)]
pub(super) struct Naks {
    /// Neither acknowledged nor reported since, ascending.
    again: Vec<Again>,
    order: u32,
    /// One past the order of the last repetition known to have arrived.
    arrived: u32,
    /// After a timeout everything below is missing.
    below: u32,
    /// From here on it is to be looked for holes: all below are filled or on their way.
    from: u32,
}

impl Naks {
    fn repeated(&self, seq: u32) -> Result<usize, usize> {
        self.again.binary_search_by_key(&seq, |again| again.seq)
    }

    /// A segment leaves again, one past the highest being `high`.
    fn repeats(&mut self, seq: u32, high: u32) {
        let again = Again { seq, high, order: self.order };
        self.order += 1;
        match self.repeated(seq) {
            Ok(at) => self.again[at] = again,
            Err(at) => self.again.insert(at, again),
        }
        self.from = seq + 1;
    }
}

impl Sender {
    #[inline(never)]
    pub(super) fn nak_ack(&mut self, now: Time, ack: &Ack) {
        let reported = self.record_blocks(self.una, ack);
        if ack.next > self.una {
            let advance = self.advance(now, ack);
            self.leave_loss();
            self.grow(now, advance);
            self.open_initial_window(advance);
        } else if ack.next == self.una && reported > 0 {
            self.counters.duplicate_acks += 1;
            self.tell(now, 0);
        }
        self.plan.burst = NO_LIMIT;
        let (una, scoreboard) = (self.una, &self.scoreboard);
        let Some(naks) = self.rare.as_deref_mut().map(|rare| &mut rare.naks) else { return };
        let mut arrived = naks.arrived;
        naks.again.retain(|again| {
            let missing = again.seq >= una && scoreboard.first_missing(again.seq) == again.seq;
            if !missing {
                arrived = arrived.max(again.order + 1);
            }
            missing
        });
        naks.arrived = arrived;
        naks.from = una;
    }

    /// The lowest segment that is missing and not on its way.
    fn next_missing(&mut self) -> Option<u32> {
        let naks = self.rare.as_deref_mut().map(|rare| &mut rare.naks)?;
        let top = self.scoreboard.end().unwrap_or(0).max(naks.below);
        let mut seq = self.scoreboard.first_missing(naks.from.max(self.una));
        while seq < top.min(self.high) {
            match naks.repeated(seq) {
                Err(_) => return Some(seq),
                Ok(at) => {
                    let again = naks.again[at];
                    let reported = self.scoreboard.end().unwrap_or(0);
                    if again.high < reported || again.order + 1 < naks.arrived {
                        return Some(seq);
                    }
                }
            }
            naks.from = seq + 1;
            seq = self.scoreboard.first_missing(seq + 1);
        }
        None
    }

    /// What is missing, then new data as far as the window lets them.
    #[inline(never)]
    pub(super) fn next_of_naks(&mut self, now: Time) -> Option<Segment> {
        if let Some(seq) = self.next_missing() {
            if let Some(naks) = self.rare.as_deref_mut().map(|rare| &mut rare.naks) {
                naks.repeats(seq, self.high);
            }
            if seq == self.una {
                // It is on its way, and all waits for it.
                self.restart_timer(now);
            }
            return Some(self.transmit(now, seq));
        }
        self.next = self.high;
        self.new_is_open().then(|| self.transmit_next(now))
    }

    /// Whether the window lets a new segment go.
    fn new_is_open(&self) -> bool {
        let flight = (self.high - self.una).saturating_sub(self.scoreboard.sacked());
        let open = f64::from(flight) + 1.0 <= self.control.cwnd() && self.high - self.una < self.options.send_window();
        open && self.high < self.data.limit()
    }

    #[cold]
    pub(super) fn naks_release(&mut self) -> bool {
        self.new_is_open() || self.next_missing().is_some()
    }

    #[cold]
    pub(super) fn nak_timeout(&mut self) {
        self.phase = Phase::Loss;
        if let Some(naks) = self.rare.as_deref_mut().map(|rare| &mut rare.naks) {
            naks.again.clear();
            (naks.below, naks.from) = (self.high, self.una);
        }
    }
}
