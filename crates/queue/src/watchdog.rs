//! The timer of a discipline that holds packets back, as the kernel's `qdisc_watchdog`.

use crate::Wake;
use skyhop_base::Time;

/// When the discipline lets its next packet go; not set while it holds none back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watchdog(Option<Time>);

impl Watchdog {
    pub fn cancel(&mut self) {
        self.0 = None;
    }

    /// Sets the timer; `None` cancels it.
    pub fn schedule(&mut self, at: Option<Time>) {
        self.0 = at;
    }

    /// For [`Discipline::next_event`](crate::Discipline::next_event).
    pub fn next_event(self) -> Option<Time> {
        self.0
    }

    /// For [`Discipline::on_event`](crate::Discipline::on_event): the timer runs out once.
    pub fn on_event(&mut self, now: Time) -> Wake {
        match self.0.take_if(|at| now >= *at) {
            Some(_) => Wake::Dequeue,
            None => Wake::Nothing,
        }
    }
}
