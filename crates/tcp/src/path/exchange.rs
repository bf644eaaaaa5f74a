//! A loop over the events of pairs of hosts and the path that they share.

use super::{
    Class, DeliveryOutcome, Events, Lateness, Losses, Outcome, Outcomes, PathDirection, PathLink, PathTraversal,
};
use crate::segment::{Brief, Ecn, Segment};
use skyhop_base::{Duration, Rate, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// IP and TCP header without options.
const HEADERS: u32 = 40;
/// The timestamps option with its padding (RFC 7323 appendix A).
const TIMESTAMPS: u32 = 12;
/// A SACK option: two bytes of padding and two of its own head, and eight for each block (RFC 2018 §3).
const SACK: u32 = 4;
const SACK_BLOCK: u32 = 8;

/// One host: a sender or a receiver together with the application on it. What the application does at a time of its
/// own is a timeout like the others.
pub trait Endpoint {
    fn on_segment(&mut self, now: Time, segment: &Segment);
    fn on_timeout(&mut self, now: Time);
    fn next_timeout(&self) -> Option<Time>;
    /// The next segment that leaves at `now`; called until it has none.
    fn transmit(&mut self, now: Time) -> Option<Segment>;
}

/// A path and what happens on it.
#[derive(Clone, Debug)]
pub struct PathConfig {
    pub rate: Rate,
    /// One direction, the same in both directions.
    pub delay: Duration,
    /// Packets that may wait in the data direction, and in the direction of the ACKs.
    pub queues: [usize; 2],
    pub outcomes: Outcomes,
    pub events: Events,
    /// IP bytes of a SYN and of a SYN-ACK: 60 with timestamps, 52 with SACK only, 48 with neither.
    pub syn_bytes: u32,
    /// From a segment's delivery to its host's answer: the sender's host, the receiver's host. Zero for ideal hosts.
    pub turnaround: [Duration; 2],
}

/// What an idle time of `idle` adds to a host's turnaround.
pub fn wake_time(wake: &[(Duration, Duration)], idle: Duration) -> Duration {
    wake.iter().rev().find(|&&(least, _)| least <= idle).map_or(Duration::ZERO, |&(_, more)| more)
}

/// IP bytes of a segment that is no SYN.
#[inline]
pub fn ip_bytes(segment: &Segment) -> u32 {
    let timestamps = if segment.timestamps.is_some() { TIMESTAMPS } else { 0 };
    let blocks = segment.sack.len() as u32;
    let sack = if blocks > 0 { SACK + SACK_BLOCK * blocks } else { 0 };
    HEADERS + timestamps + sack + segment.len
}

impl Brief {
    /// [`ip_bytes`] of the segment.
    #[inline(always)]
    pub fn ip_bytes(&self) -> u32 {
        let timestamps = if self.stamps().is_some() { TIMESTAMPS } else { 0 };
        HEADERS + timestamps + self.len
    }
}

/// A packet that entered the path.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// The pair of hosts, from 0.
    pub flow: usize,
    pub direction: PathDirection,
    /// In its class, from 1, over all flows; zero for a packet that no list can name.
    pub ordinal: u64,
    pub entered: Time,
    /// As it entered: without the path's mark.
    pub segment: Segment,
    pub traversal: PathTraversal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Delivery {
    at: Time,
    /// Deliveries of one instant keep the order of entry.
    number: u64,
    flow: usize,
    direction: PathDirection,
    segment: Segment,
}

impl PartialOrd for Delivery {
    fn partial_cmp(&self, other: &Delivery) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Delivery {
    fn cmp(&self, other: &Delivery) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// Two hosts that exchange one flow.
#[derive(Debug)]
pub struct Pair<S, R> {
    pub sender: S,
    pub receiver: R,
    /// The last delivery to the receiver's and to the sender's host, and when the host turned to it.
    last: [(Time, Time); 2],
}

/// Pairs of hosts and the path that they share.
#[derive(Debug)]
pub struct Exchange<S, R> {
    pub pairs: Vec<Pair<S, R>>,
    config: PathConfig,
    losses: Losses,
    lateness: Option<Lateness>,
    links: [PathLink; 2],
    /// Packets so far per [`Class`].
    counts: [u64; 4],
    deliveries: BinaryHeap<Reverse<Delivery>>,
    number: u64,
    wake: [&'static [(Duration, Duration)]; 2],
}

impl<S: Endpoint, R: Endpoint> Exchange<S, R> {
    pub fn new(sender: S, receiver: R, config: PathConfig) -> Exchange<S, R> {
        Exchange::shared([(sender, receiver)], config)
    }

    /// Pairs of a sender and a receiver over one path.
    pub fn shared(pairs: impl IntoIterator<Item = (S, R)>, config: PathConfig) -> Exchange<S, R> {
        let link = |direction: PathDirection| {
            PathLink::new(
                direction,
                config.rate,
                config.delay,
                config.queues[direction as usize],
                config.events.clone(),
            )
        };
        let links = [link(PathDirection::Data), link(PathDirection::Ack)];
        let pair = |(sender, receiver)| Pair { sender, receiver, last: [(Time::ZERO, Time::ZERO); 2] };
        Exchange {
            pairs: pairs.into_iter().map(pair).collect(),
            config,
            losses: Losses::None,
            lateness: None,
            links,
            counts: [0; 4],
            deliveries: BinaryHeap::new(),
            number: 0,
            wake: [&[]; 2],
        }
    }

    /// Lets an idle time add to the turnaround of the sender's and the receiver's host: (idle for at least, more by),
    /// in order of the idle time.
    pub fn with_wake(mut self, wake: [&'static [(Duration, Duration)]; 2]) -> Exchange<S, R> {
        self.wake = wake;
        self
    }

    /// Lets the path lose packets by chance, beside those of the list of outcomes.
    pub fn with_losses(mut self, losses: Losses) -> Exchange<S, R> {
        self.losses = losses;
        self
    }

    /// Lets deliveries be late by chance; their order stays.
    pub fn with_lateness(mut self, lateness: Option<Lateness>) -> Exchange<S, R> {
        self.lateness = lateness;
        self
    }

    /// Runs from time zero until nothing happens before or at `end`. `observe` sees every packet that enters the path.
    pub fn run(&mut self, end: Time, mut observe: impl FnMut(&Crossing)) {
        for flow in 0..self.pairs.len() {
            self.drain(flow, Time::ZERO, &mut observe);
        }
        loop {
            let delivery = self.deliveries.peek().map_or(Time::MAX, |Reverse(next)| next.at);
            // The flow whose timeout comes first, and whether it is its receiver's.
            let mut timeout = (Time::MAX, 0, false);
            for (flow, pair) in self.pairs.iter().enumerate() {
                for (next, receives) in [(pair.receiver.next_timeout(), true), (pair.sender.next_timeout(), false)] {
                    if let Some(next) = next.filter(|&next| next < timeout.0) {
                        timeout = (next, flow, receives);
                    }
                }
            }
            let now = delivery.min(timeout.0);
            if now > end || now == Time::MAX {
                return;
            }
            let mut flow = timeout.1;
            if delivery == now {
                if let Some(Reverse(next)) = self.deliveries.pop() {
                    flow = next.flow;
                    match next.direction {
                        PathDirection::Data => self.pairs[flow].receiver.on_segment(now, &next.segment),
                        PathDirection::Ack => self.pairs[flow].sender.on_segment(now, &next.segment),
                    }
                }
            } else if timeout.2 {
                self.pairs[flow].receiver.on_timeout(now);
            } else {
                self.pairs[flow].sender.on_timeout(now);
            }
            self.drain(flow, now, &mut observe);
        }
    }

    fn drain(&mut self, flow: usize, now: Time, observe: &mut impl FnMut(&Crossing)) {
        while let Some(segment) = self.pairs[flow].sender.transmit(now) {
            self.enter(flow, now, PathDirection::Data, segment, observe);
        }
        while let Some(segment) = self.pairs[flow].receiver.transmit(now) {
            self.enter(flow, now, PathDirection::Ack, segment, observe);
        }
    }

    fn enter(
        &mut self,
        flow: usize,
        now: Time,
        direction: PathDirection,
        segment: Segment,
        observe: &mut impl FnMut(&Crossing),
    ) {
        let bytes = if segment.syn { self.config.syn_bytes } else { ip_bytes(&segment) };
        let class = Class::of(&segment, direction == PathDirection::Data);
        let ordinal = class.map_or(0, |class| {
            self.counts[class as usize] += 1;
            self.counts[class as usize]
        });
        let by_chance = self.losses.loses(flow, direction, &segment).then_some(Outcome::Drop);
        let outcomes = class.into_iter().flat_map(|class| self.config.outcomes.of(class, ordinal)).chain(by_chance);
        let traversal = self.links[direction as usize].enter(now, bytes, outcomes);
        if traversal.verdict != DeliveryOutcome::Delivered {
            self.losses.on_drop(flow, direction, &segment);
        }
        observe(&Crossing { flow, direction, ordinal, entered: now, segment, traversal });
        let mut arriving = segment;
        if traversal.marked {
            arriving.ecn = Ecn::Ce;
        }
        let host = match direction {
            PathDirection::Ack => 0,
            PathDirection::Data => 1,
        };
        for out in traversal.out.into_iter().chain(traversal.duplicate) {
            let late = self.lateness.as_mut().map_or(Duration::ZERO, Lateness::draw);
            let (last, turned) = &mut self.pairs[flow].last[direction as usize];
            let woken = wake_time(self.wake[host], out.since(*last));
            // A host takes packets one after the other, also when it wakes up for the first.
            let at = (out + late + self.config.turnaround[host] + woken).max(if out >= *last {
                *turned
            } else {
                Time::ZERO
            });
            (*last, *turned) = ((*last).max(out), (*turned).max(at));
            self.number += 1;
            let delivery = Delivery { at, number: self.number, flow, direction, segment: arriving };
            self.deliveries.push(Reverse(delivery));
        }
    }
}
