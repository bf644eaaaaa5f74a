//! Sending in two parts, for a host that holds back what the window releases (a random time over it, as `overhead_` of
//! ns-2): what leaves at once, and whether the window releases more.

use super::Sender;
use crate::recovery::LossRecovery;
use crate::segment::Segment;
use skyhop_base::Time;

impl Sender {
    /// The next segment that does not leave by the window: a fast retransmission, one that a partial ACK asks for, a
    /// repair of a segment reported corrupted, limited transmit. Call until `None` after every input.
    pub fn poll_urgent(&mut self, now: Time) -> Option<Segment> {
        if let Some(segment) = self.core.send_forced(now) {
            return Some(self.sent(segment));
        }
        if self.core.window.allowed.limited && !self.core.window.pacer.blocks(now) {
            return self.core.send_limited(now).map(|segment| self.sent(segment));
        }
        None
    }

    /// Whether [`poll_transmit`](Sender::poll_transmit) would give a segment now. If not, what the input released is
    /// forgotten.
    pub fn has_released(&mut self, now: Time) -> bool {
        if self.core.window.allowed.burst != 0 && !self.recovery.releases(&mut self.core) {
            self.core.window.allowed.burst = 0;
        }
        let waits = self.core.window.allowed.burst != 0 || self.recovery.has_probe();
        waits && !self.core.window.pacer.blocks(now)
    }

    /// Whether the time of a segment that the pacer held back has come; asked once.
    pub fn is_paced_now(&mut self) -> bool {
        std::mem::take(&mut self.core.window.allowed.paced)
    }

    /// All that the window allows may leave, however little the last input released (ns-2 send_much with `force`).
    pub fn release(&mut self) {
        self.core.release();
        self.recovery.on_release(&self.core);
    }
}
