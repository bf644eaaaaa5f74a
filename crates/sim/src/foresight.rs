//! Handovers told before they happen: a copy of the topology runs ahead of the simulation.
//!
//! Nothing but time decides what a topology does, so the copy makes the same choices, and every prediction comes true.

use crate::dynamics::handed_over;
use crate::flow::Flow;
use crate::simulation::Simulation;
use skyhop_base::{Duration, Time};
use skyhop_topology::{Change, Topology};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A handover of a terminal of which sources with this lead are told at a time.
type Told = Reverse<(Time, u32, Duration)>;

/// The topology as it will be.
pub(crate) struct Foresight {
    topology: Topology,
    /// How long before a handover sources are told of it, each once, none zero, the longest last.
    leads: Vec<Duration>,
    waiting: BinaryHeap<Told>,
    changes: Vec<Change>,
}

/// A time less a duration; not before the beginning of the run.
fn before(time: Time, lead: Duration) -> Time {
    Time::from_nanos(time.as_nanos().saturating_sub(lead.as_nanos()))
}

impl Foresight {
    /// One for the leads of the flows, if there are any beyond zero. `topology` is that of the run at its beginning.
    pub fn of(flows: &[Flow], topology: &Topology) -> Option<Box<Foresight>> {
        let mut leads: Vec<Duration> = flows.iter().filter_map(|flow| flow.ends.handover_lead()).collect();
        leads.retain(|&lead| lead > Duration::ZERO);
        leads.sort_unstable();
        leads.dedup();
        if leads.is_empty() || topology.next_change() == Time::MAX {
            return None;
        }
        Some(Box::new(Foresight { topology: topology.clone(), leads, waiting: BinaryHeap::new(), changes: Vec::new() }))
    }

    /// When it has something to do next.
    fn next(&self) -> Time {
        let look = match (self.topology.next_change(), self.leads.last()) {
            (Time::MAX, _) | (_, None) => Time::MAX,
            (change, Some(&longest)) => before(change, longest),
        };
        self.waiting.peek().map_or(look, |Reverse((at, ..))| look.min(*at))
    }

    /// Looks ahead as far as the longest lead.
    fn look(&mut self, now: Time) {
        let Some(&longest) = self.leads.last() else { return };
        loop {
            let at = self.topology.next_change();
            if at == Time::MAX || at > now + longest {
                return;
            }
            self.changes.clear();
            self.topology.advance(at, &mut self.changes);
            for terminal in handed_over(&self.changes) {
                self.waiting.extend(self.leads.iter().map(|&lead| Reverse((before(at, lead), terminal, lead))));
            }
        }
    }

    /// The next handover of which sources are to be told by now.
    fn pop_due(&mut self, now: Time) -> Option<(u32, Duration)> {
        if self.waiting.peek().is_none_or(|Reverse((at, ..))| *at > now) {
            return None;
        }
        self.waiting.pop().map(|Reverse((_, terminal, lead))| (terminal, lead))
    }
}

impl Simulation {
    /// Looks ahead, and tells sources of handovers to come.
    #[cold]
    pub(crate) fn on_foresight(&mut self) {
        let Some(mut foresight) = self.foresight.take() else { return };
        foresight.look(self.now);
        while let Some((terminal, lead)) = foresight.pop_due(self.now) {
            self.tell_of_handover(terminal, lead);
        }
        self.foresight = Some(foresight);
        self.arm_foresight();
    }

    pub(crate) fn arm_foresight(&mut self) {
        let slot = self.slots.foresight();
        match self.foresight.as_ref().map_or(Time::MAX, |foresight| foresight.next()) {
            Time::MAX => self.events.disarm(slot),
            next => self.events.arm(slot, next.max(self.now), self.now),
        }
    }
}
