//! A receiving host on a path: the receiver and an application that may pause.

use super::{Receiver, sooner};
use crate::path::Endpoint;
use crate::segment::Segment;
use skyhop_base::Time;

/// A receiver whose application reads at once, except from one time to another.
#[derive(Clone, Debug)]
pub struct Host {
    pub receiver: Receiver,
    /// When the application stops reading, and when it reads again; emptied as time goes on.
    pauses: [Option<Time>; 2],
}

impl Host {
    pub fn new(receiver: Receiver, pause: Option<(Time, Time)>) -> Host {
        Host { receiver, pauses: [pause.map(|(from, _)| from), pause.map(|(_, to)| to)] }
    }
}

impl Endpoint for Host {
    fn on_segment(&mut self, now: Time, segment: &Segment) {
        self.receiver.on_segment(now, segment);
    }

    fn on_timeout(&mut self, now: Time) {
        for (pause, reading) in self.pauses.iter_mut().zip([false, true]) {
            if pause.is_some_and(|at| at <= now) {
                *pause = None;
                self.receiver.set_reading(now, reading);
            }
        }
        self.receiver.on_timeout(now);
    }

    fn next_timeout(&self) -> Option<Time> {
        let [from, to] = self.pauses;
        sooner(sooner(from, to), self.receiver.next_timeout())
    }

    fn transmit(&mut self, now: Time) -> Option<Segment> {
        self.receiver.transmit(now)
    }
}
