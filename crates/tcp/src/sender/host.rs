//! A sending host on a path: the sender and an application that opens the connection and writes at given times.

use std::collections::VecDeque;

use skyhop_base::{Duration, Time};

use super::Sender;
use crate::path::Endpoint;
use crate::segment::Segment;

/// A sender whose application connects at one time and writes at others, but not before the connection stands.
#[derive(Debug)]
pub struct Host {
    pub sender: Sender,
    connects: Option<Time>,
    /// From the answer to the SYN to the first write that waited for it.
    wake: Duration,
    /// The application may write from here on.
    writes_from: Option<Time>,
    /// Times and bytes of the writes, in order of time.
    writes: VecDeque<(Time, u64)>,
}

impl Host {
    pub fn new(sender: Sender, connects: Time, wake: Duration, writes: impl IntoIterator<Item = (Time, u64)>) -> Host {
        let writes = writes.into_iter().collect();
        Host { sender, connects: Some(connects), wake, writes_from: None, writes }
    }

    fn next_write(&self) -> Option<Time> {
        let &(at, _) = self.writes.front()?;
        Some(at.max(self.writes_from?))
    }
}

impl Endpoint for Host {
    fn on_segment(&mut self, now: Time, segment: &Segment) {
        self.sender.on_segment(now, segment);
        if self.writes_from.is_none() && self.sender.is_established() {
            self.writes_from = Some(now + self.wake);
        }
    }

    fn on_timeout(&mut self, now: Time) {
        if self.connects.is_some_and(|at| at <= now) {
            self.connects = None;
            self.sender.open(now);
        }
        while self.next_write().is_some_and(|at| at <= now) {
            if let Some((_, bytes)) = self.writes.pop_front() {
                self.sender.write(now, bytes);
            }
        }
        if self.sender.next_timeout().is_some_and(|due| due <= now) {
            self.sender.on_timeout(now);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        [self.connects, self.next_write(), self.sender.next_timeout()].into_iter().flatten().min()
    }

    fn transmit(&mut self, _now: Time) -> Option<Segment> {
        self.sender.transmit()
    }
}
