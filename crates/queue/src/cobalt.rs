//! COBALT, cake's control of one queue: CoDel without its special cases, beside BLUE for queues that do not react.
//!
//! Linux 6.18 `sch_cake`. Above: sojourn > target and more than the time of four full packets at the tin's rate. Not
//! above: the count falls by one for each step of the law that has passed. 1/sqrt(count) is a table up to 15, then one
//! Newton step per count.

use crate::{Packet, Random};

/// 2³²/sqrt(count), the root as cake's table has it: counts 0 and 1 are as good as 1.
const ROOTS: [u32; 16] = [
    4294967295, 4294967295, 3037000500, 2479700525, 2147483647, 1920767767, 1753413056, 1623345051, 1518500250,
    1431655765, 1358187914, 1294981364, 1239850263, 1191209601, 1147878294, 1108955788,
];

/// BLUE's probability rises by 1/256 on a full queue, falls by 1/4096 on an empty one.
const BLUE_UP: u32 = 1 << 24;
const BLUE_DOWN: u32 = 1 << 20;
/// Packets at the tin's rate whose time the sojourn must exceed.
const LEAST_PACKETS: u64 = 4;
/// A time that was never set.
const NEVER: i64 = i64::MIN / 4;

/// What a tin asks of its queues, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Control {
    pub target: u64,
    pub interval: u64,
    /// Transmission time of a full packet at the tin's rate, ns.
    pub packet_time: u64,
}

/// The state of one queue. Times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cobalt {
    count: u32,
    inverse_root: u32,
    dropping: bool,
    drop_next: i64,
    blue_changed: i64,
    blue: u32,
}

impl Default for Cobalt {
    fn default() -> Cobalt {
        // The root is 0 until it is first computed: the first signal comes without an interval of grace.
        Cobalt { count: 0, inverse_root: 0, dropping: false, drop_next: NEVER, blue_changed: NEVER, blue: 0 }
    }
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Pass,
    Drop,
}

impl Cobalt {
    fn new_root(&mut self) {
        if let Some(&root) = ROOTS.get(self.count as usize) {
            self.inverse_root = root;
            return;
        }
        let root = u64::from(self.inverse_root);
        let squared = (root * root) >> 32;
        let value = (3u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(squared)) >> 2;
        self.inverse_root = (value.wrapping_mul(root) >> 31) as u32;
    }

    /// interval / sqrt(count) after `from`.
    fn law(&self, control: &Control, from: i64) -> i64 {
        from + ((u64::from(control.interval as u32) * u64::from(self.inverse_root)) >> 32) as i64
    }

    fn blue_is_due(&self, control: &Control, now: i64) -> bool {
        now - self.blue_changed > control.target as i64
    }

    /// The memory is full, and this queue loses a packet.
    pub fn on_full(&mut self, control: &Control, now: i64) {
        if self.blue_is_due(control, now) {
            self.blue = self.blue.saturating_add(BLUE_UP);
            self.blue_changed = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue was found empty.
    pub fn on_empty(&mut self, control: &Control, now: i64) {
        if self.blue > 0 && self.blue_is_due(control, now) {
            self.blue = self.blue.saturating_sub(BLUE_DOWN);
            self.blue_changed = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.step_down(control);
        }
    }

    fn step_down(&mut self, control: &Control) {
        self.count -= 1;
        self.new_root();
        self.drop_next = self.law(control, self.drop_next);
    }

    /// Whether nothing of the past is left: an empty queue may be forgotten.
    pub fn at_rest(&self, now: i64) -> bool {
        self.blue == 0 && self.count == 0 && now >= self.drop_next
    }

    /// Judges a packet that waited for `sojourn`, and marks it where a mark does.
    pub fn judge(
        &mut self,
        control: &Control,
        now: i64,
        sojourn: u64,
        packet: &mut Packet,
        random: &mut dyn Random,
    ) -> Decision {
        let above = sojourn > control.target && sojourn > LEAST_PACKETS * control.packet_time;
        let mut overdue = now - self.drop_next;
        let due = self.count > 0 && overdue >= 0;
        if above {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.law(control, now);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut decision = Decision::Pass;
        if due && self.dropping {
            if !packet.mark() {
                decision = Decision::Drop;
            }
            self.count = self.count.saturating_add(1);
            self.new_root();
            self.drop_next = self.law(control, self.drop_next);
            overdue = now - self.drop_next;
        } else if due {
            while self.count > 0 && overdue >= 0 {
                self.step_down(control);
                overdue = now - self.drop_next;
            }
        }
        if self.blue > 0 && decision == Decision::Pass && random.bits32() < self.blue {
            decision = Decision::Drop;
        }
        if self.count == 0 {
            self.drop_next = now + control.interval as i64;
        } else if overdue > 0 && decision == Decision::Pass {
            self.drop_next = now;
        }
        decision
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_holds_inverse_roots() {
        for (count, &root) in ROOTS.iter().enumerate().skip(1) {
            let exact = 4_294_967_296.0 / libm::sqrt(count as f64);
            assert!((f64::from(root) - exact).abs() <= 1.0, "count {count}: {root} against {exact}");
        }
    }
}
