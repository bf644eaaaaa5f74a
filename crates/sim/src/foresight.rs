//! Handovers told before they happen: a copy of the topology runs ahead of the simulation.
//!
//! Nothing but time decides what a topology does, so the copy makes the same choices, and every prediction comes true.

use skyhop_base::{Duration, Time};
use skyhop_topology::{Change, Handover, Topology};
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
    /// One for these leads, if there are any beyond zero. `topology` is that of the run at its beginning.
    pub fn of(leads: impl Iterator<Item = Duration>, topology: &Topology) -> Option<Box<Foresight>> {
        let mut leads: Vec<Duration> = leads.filter(|&lead| lead > Duration::ZERO).collect();
        leads.sort_unstable();
        leads.dedup();
        if leads.is_empty() || topology.next_change() == Time::MAX {
            return None;
        }
        Some(Box::new(Foresight { topology: topology.clone(), leads, waiting: BinaryHeap::new(), changes: Vec::new() }))
    }

    /// When it has something to do next.
    pub fn next(&self) -> Time {
        let look = match (self.topology.next_change(), self.leads.last()) {
            (Time::MAX, _) | (_, None) => Time::MAX,
            (change, Some(&longest)) => before(change, longest),
        };
        self.waiting.peek().map_or(look, |Reverse((at, ..))| look.min(*at))
    }

    /// Looks ahead as far as the longest lead.
    pub fn look(&mut self, now: Time) {
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
    pub fn pop_due(&mut self, now: Time) -> Option<(u32, Duration)> {
        if self.waiting.peek().is_none_or(|Reverse((at, ..))| *at > now) {
            return None;
        }
        self.waiting.pop().map(|Reverse((_, terminal, lead))| (terminal, lead))
    }
}

/// The terminals that leave a satellite or beam.
pub(crate) fn handed_over(changes: &[Change]) -> impl Iterator<Item = u32> + '_ {
    changes.iter().filter_map(|change| match change {
        Change::Handover(Handover { terminal, from: Some(_), .. }) => Some(terminal.as_u32()),
        _ => None,
    })
}
