//! When each outstanding segment left: what TCP/Linux takes the RTT of its controls from.

use crate::Transmission;
use skyhop_base::Time;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct Departure {
    at: Time,
    transmission: Transmission,
}

/// Departures of `first` and what follows it.
#[derive(Clone, Debug, Default)]
pub(super) struct Departures {
    sent: VecDeque<Departure>,
    first: u32,
}

impl Departures {
    pub(super) fn record(&mut self, at: Time, seq: u32, transmission: Transmission) {
        let departure = Departure { at, transmission };
        if self.sent.is_empty() {
            self.first = seq;
        }
        match seq.checked_sub(self.first).map(|index| self.sent.get_mut(index as usize)) {
            Some(Some(known)) => *known = departure,
            Some(None) => self.sent.push_back(departure),
            None => {}
        }
    }

    /// Everything below `una` was acknowledged; when the last of it left, and whether any of it was sent again.
    pub(super) fn acknowledge(&mut self, una: u32) -> Option<(Time, Transmission)> {
        let count = (una.saturating_sub(self.first) as usize).min(self.sent.len());
        self.first = una;
        let mut last = None;
        let mut transmission = Transmission::First;
        for departure in self.sent.drain(..count) {
            if departure.transmission == Transmission::Again {
                transmission = Transmission::Again;
            }
            last = Some(departure.at);
        }
        last.map(|at| (at, transmission))
    }
}
