//! Sending in two parts, for who holds back what the window releases (a random time over it, as `overhead_` of ns-2):
//! what leaves at once, and whether the window releases more.

use super::{NO_LIMIT, Phase, Sender};
use crate::config::{FackRules, SackRules};
use crate::{Recovery, Segment};
use skyhop_base::Time;

impl Sender {
    /// The next segment that does not leave by the window: a fast retransmission, one that a partial ACK asks for, a repair of
    /// what was reported corrupted, limited transmit. Call until `None` after every input.
    pub fn poll_urgent(&mut self, now: Time) -> Option<Segment> {
        if let Some(segment) = self.poll_forced(now) {
            return Some(segment);
        }
        if self.plan.limited && !self.pacer.blocks(now) {
            return self.poll_limited(now);
        }
        None
    }

    /// Whether [`poll_transmit`](Sender::poll_transmit) would give a segment now. What the input released is forgotten if not.
    pub fn has_released(&mut self, now: Time) -> bool {
        if self.plan.burst != 0 && !self.window_releases() {
            self.plan.burst = 0;
        }
        let waits = self.plan.burst != 0 || self.has_probe();
        waits && !self.pacer.blocks(now)
    }

    /// Whether the pacer has come to the time of a segment that it held back; asked once.
    pub fn is_paced_now(&mut self) -> bool {
        std::mem::take(&mut self.plan.paced)
    }

    /// All that the window allows may leave, however little the last input released (ns-2 send_much with `force`).
    pub fn release(&mut self) {
        self.plan.burst = NO_LIMIT;
        if self.halves_rate() {
            self.release_forward();
        }
    }

    /// Whether recovery or the window has a segment to send. The conditions are those of the functions that send it.
    fn window_releases(&mut self) -> bool {
        let recovering = self.phase == Phase::Recovery;
        match self.recovery {
            Recovery::Sack | Recovery::PeachPlus => match self.options.sack_rules {
                SackRules::Ns2Linux => self.forward_releases(),
                SackRules::Nak => self.naks_release(),
                _ if !recovering && self.scoreboard.is_empty() => self.window_allows(self.next),
                _ if !recovering => self.next_is_open(),
                SackRules::Ns2Sack1 => self.sack1_releases(),
                SackRules::Rfc6675 => self.pipe_is_open(),
            },
            Recovery::Fack if !recovering && self.options.fack_rules == FackRules::Ns2 => self.window_allows(self.next),
            Recovery::Fack => self.fack_releases(),
            Recovery::Yam if recovering => self.yam_missing().is_some(),
            Recovery::Yam => self.next_is_open(),
            _ => self.window_allows(self.next),
        }
    }
}
