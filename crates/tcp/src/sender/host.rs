//! A sending host on a path: the sender and an application that opens the connection and writes at given times.

use std::collections::VecDeque;

use skyhop_base::Time;

use super::Sender;
use crate::path::Endpoint;
use crate::segment::Segment;

/// A sender whose application connects at one time and writes at others.
#[derive(Debug)]
pub struct Host {
    pub sender: Sender,
    connects: Option<Time>,
    /// Times and bytes of the writes, in order of time.
    writes: VecDeque<(Time, u64)>,
}

impl Host {
    pub fn new(sender: Sender, connects: Time, writes: impl IntoIterator<Item = (Time, u64)>) -> Host {
        Host { sender, connects: Some(connects), writes: writes.into_iter().collect() }
    }
}

impl Endpoint for Host {
    fn on_segment(&mut self, now: Time, segment: &Segment) {
        self.sender.on_segment(now, segment);
    }

    fn on_timeout(&mut self, now: Time) {
        if self.connects.is_some_and(|at| at <= now) {
            self.connects = None;
            self.sender.open(now);
        }
        while self.writes.front().is_some_and(|&(at, _)| at <= now) {
            if let Some((_, bytes)) = self.writes.pop_front() {
                self.sender.write(now, bytes);
            }
        }
        if self.sender.next_timeout().is_some_and(|due| due <= now) {
            self.sender.on_timeout(now);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        let write = self.writes.front().map(|&(at, _)| at);
        [self.connects, write, self.sender.next_timeout()].into_iter().flatten().min()
    }

    fn transmit(&mut self, _now: Time) -> Option<Segment> {
        self.sender.transmit()
    }
}
