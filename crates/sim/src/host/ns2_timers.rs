//! Timers of a run by ns-2's clock.

use crate::ns2_clock::FlowTimer;
use crate::simulation::Simulation;
use skyhop_base::Time;

impl Simulation {
    /// Before an event that is none of a link: ns-2's clock shows its time.
    #[cold]
    pub(crate) fn set_ns2_clock(&mut self, slot: u32) {
        let Some(clock) = &mut self.ns2_clock else { return };
        let (senders, receivers, applications) = (self.slots.senders, self.slots.receivers, self.slots.applications);
        if (senders..receivers).contains(&slot) {
            self.now = clock.at_timer(slot - senders, FlowTimer::Sender, self.now);
        } else if (receivers..applications).contains(&slot) {
            self.now = clock.at_timer(slot - receivers, FlowTimer::Receiver, self.now);
        } else {
            clock.at(self.now);
        }
    }

    /// By ns-2's clock the slot of a timer stands where its deadline is, always.
    #[cold]
    pub(crate) fn arm_by_ns2_clock(&mut self, flow_id: u32, whose: FlowTimer, deadline: Time) {
        let Some(clock) = &mut self.ns2_clock else { return };
        let (time, scheduled) = clock.set(flow_id, whose, deadline, self.now);
        let slot = flow_id
            + match whose {
                FlowTimer::Sender => self.slots.senders,
                FlowTimer::Receiver => self.slots.receivers,
            };
        if deadline == Time::MAX {
            self.events.disarm(slot);
        } else {
            self.events.arm(slot, time, scheduled);
        }
    }
}
