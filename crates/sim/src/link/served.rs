//! A queue discipline before a transmitter that asks it for a packet at each departure.
//!
//! [`skyhop_queue`] decides; this keeps the engine's packets while they wait and carries the discipline's answers over.
//! At one instant the order is: the discipline's timers, the end of a transmission, the arrival. A discipline is made
//! when its first packet comes, and the timers of an empty one run when the next packet comes, with the times at which
//! they were due: a constellation has thousands of links without traffic.

use super::Link;
use crate::measure::Histogram;
use crate::packet::{Flags, Packet};
use crate::pool::Pool;
use crate::records::Distribution;
use skyhop_base::{Duration, Stream, Time};
use skyhop_queue::{Backlog, Cause, ConfigError, Context, Discipline, Dropped, Ecn, QueueSpec, Verdict, Wake};
use std::fmt;
use std::sync::Arc;

/// What a discipline did to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueEvent {
    Marked,
    Dropped(Cause),
}

/// A waiting packet.
#[derive(Clone, Copy, Debug)]
struct Slot {
    packet: Packet,
    since: Time,
    /// Counts arrivals, so that withdrawn packets leave in the order in which they came.
    number: u64,
    waits: bool,
}

/// Packets that the discipline could not handle at all, by what is wrong with the scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    pub too_large: u64,
    pub no_class: u64,
}

pub struct ServedQueue {
    spec: QueueSpec,
    /// [`None`] before the first packet.
    discipline: Option<Box<dyn Discipline>>,
    stream: Stream,
    /// The traffic class of each flow.
    classes: Arc<[u8]>,
    /// Bytes of link headers that the discipline counts with each packet.
    framing_bytes: u32,
    slots: Vec<Slot>,
    free: Vec<u32>,
    arrivals: u64,
    /// Filled by a call of the discipline, emptied after it.
    dropped: Vec<Dropped>,
    /// For the simulation to take.
    events: Vec<(QueueEvent, Packet)>,
    /// The discipline was asked and sends nothing before the next arrival or its own timer.
    holds_back: bool,
    /// The end of the last transmission, while the empty discipline has not been asked since.
    unasked_since: Option<Time>,
    pub early: u64,
    pub marked: u64,
    pub refused: Refused,
    /// Waiting times of packets that left without being served.
    pub waited: Duration,
    sojourns: Histogram,
}

impl fmt::Debug for ServedQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedQueue").field("spec", &self.spec).field("backlog", &self.backlog()).finish()
    }
}

impl ServedQueue {
    /// # Errors
    /// The first parameter that cannot be.
    pub fn new(
        spec: &QueueSpec,
        framing_bytes: u32,
        classes: Arc<[u8]>,
        stream: Stream,
    ) -> Result<ServedQueue, ConfigError> {
        spec.check()?;
        Ok(ServedQueue {
            spec: spec.clone(),
            discipline: None,
            stream,
            classes,
            framing_bytes,
            slots: Vec::new(),
            free: Vec::new(),
            arrivals: 0,
            dropped: Vec::new(),
            events: Vec::new(),
            holds_back: false,
            unasked_since: None,
            early: 0,
            marked: 0,
            refused: Refused::default(),
            waited: Duration::ZERO,
            sojourns: Histogram::default(),
        })
    }

    pub fn backlog(&self) -> Backlog {
        self.discipline.as_ref().map_or_else(Backlog::default, |discipline| discipline.backlog())
    }

    /// Whether the discipline may have a packet for a transmitter that is free.
    pub fn may_send(&self) -> bool {
        !self.holds_back && self.backlog().packets > 0
    }

    /// When the discipline wants to be called while packets wait.
    pub fn next_timer(&self) -> Option<Time> {
        self.discipline.as_ref().filter(|discipline| discipline.backlog().packets > 0)?.next_event()
    }

    /// Calls the discipline, if there is one, and books what it drops.
    fn call<T>(&mut self, now: Time, call: impl FnOnce(&mut dyn Discipline, &mut Context<'_>) -> T) -> Option<T> {
        let discipline = self.discipline.as_deref_mut()?;
        let mut context = Context { now, random: &mut self.stream, dropped: &mut self.dropped };
        let answer = call(discipline, &mut context);
        if !self.dropped.is_empty() {
            self.book_drops(now);
        }
        Some(answer)
    }

    #[cold]
    fn book_drops(&mut self, now: Time) {
        let mut dropped = std::mem::take(&mut self.dropped);
        for Dropped { packet, cause } in dropped.drain(..) {
            let Slot { packet, since, .. } = self.leave(packet.handle);
            self.waited += now.since(since);
            match cause {
                Cause::Control => self.early += 1,
                Cause::TooLarge => self.refused.too_large += 1,
                Cause::NoClass => self.refused.no_class += 1,
                Cause::Limit | Cause::Memory | Cause::FlowLimit => {}
            }
            self.events.push((QueueEvent::Dropped(cause), packet));
        }
        self.dropped = dropped;
    }

    fn leave(&mut self, handle: u32) -> Slot {
        let slot = &mut self.slots[handle as usize];
        debug_assert!(slot.waits, "a packet leaves a queue once");
        slot.waits = false;
        self.free.push(handle);
        *slot
    }

    fn keep(&mut self, packet: Packet, since: Time) -> u32 {
        let slot = Slot { packet, since, number: self.arrivals, waits: true };
        self.arrivals += 1;
        match self.free.pop() {
            Some(handle) => {
                self.slots[handle as usize] = slot;
                handle
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        }
    }

    /// Runs the timers that are due at `now`, and asks an empty discipline at the end of the last transmission, each at
    /// its own time.
    pub fn catch_up(&mut self, now: Time) {
        loop {
            let timer = self.discipline.as_ref().and_then(|discipline| discipline.next_event());
            let timer = timer.filter(|&timer| timer <= now);
            let unasked = self.unasked_since.filter(|&since| since <= now && self.backlog().packets == 0);
            match (timer, unasked) {
                (None, None) => return,
                (None, Some(since)) => self.ask_empty(since),
                (Some(timer), Some(since)) if since < timer => self.ask_empty(since),
                (Some(timer), _) => {
                    let wake = self.call(timer, |discipline, context| discipline.on_event(context));
                    if wake == Some(Wake::Dequeue) {
                        self.holds_back = false;
                    }
                }
            }
        }
    }

    fn ask_empty(&mut self, at: Time) {
        self.unasked_since = None;
        let sent = self.call(at, |discipline, context| discipline.dequeue(context));
        debug_assert!(sent.flatten().is_none(), "an empty discipline has no packet");
    }

    /// The transmitter sends until `end`.
    pub fn transmits_until(&mut self, end: Time) {
        self.unasked_since = Some(end);
    }

    /// A packet arrives. [`ServedQueue::catch_up`] comes first.
    pub fn enqueue(&mut self, packet: Packet, now: Time) {
        if self.discipline.is_none() {
            // It was checked, and its timers count from the beginning of the run.
            self.discipline = self.spec.build(Time::ZERO).ok();
            self.catch_up(now);
        }
        let handle = self.keep(packet, now);
        let seen = skyhop_queue::Packet {
            handle,
            flow: packet.flow,
            bytes: u32::from(packet.size) + self.framing_bytes,
            ecn: ecn(&packet),
            class: self.classes.get(packet.flow as usize).copied().unwrap_or_default(),
            marked: false,
        };
        let verdict = self.call(now, |discipline, context| discipline.enqueue(seen, context));
        match verdict {
            Some(Verdict::Marked) => self.mark(handle),
            // An idle transmitter asks after every arrival, also after one that was dropped: RED's idle time begins
            // again, without which its average would stay above `max` for good. A busy one asks at its end anyway.
            Some(Verdict::Dropped) if self.backlog().packets == 0 => {
                self.unasked_since.get_or_insert(now);
            }
            _ => {}
        }
        self.holds_back = false;
    }

    fn mark(&mut self, handle: u32) {
        let packet = &mut self.slots[handle as usize].packet;
        packet.flags = packet.flags.with(Flags::CE);
        self.marked += 1;
        self.events.push((QueueEvent::Marked, *packet));
    }

    /// The packet to send at `now`, and since when it waited.
    pub fn dequeue(&mut self, now: Time) -> Option<(Packet, Time)> {
        self.unasked_since = None;
        let sent = self.call(now, |discipline, context| discipline.dequeue(context)).flatten();
        let Some(sent) = sent else {
            self.holds_back = true;
            return None;
        };
        if sent.marked && !self.slots[sent.handle as usize].packet.flags.has(Flags::CE) {
            self.mark(sent.handle);
        }
        let Slot { packet, since, .. } = self.leave(sent.handle);
        self.sojourns.add(now.since(since));
        Some((packet, since))
    }

    /// Takes out the packets that `affected` names, in the order in which they came.
    pub fn withdraw(&mut self, now: Time, mut affected: impl FnMut(&Packet) -> bool, out: &mut Vec<Packet>) {
        let Some(discipline) = self.discipline.as_deref_mut() else { return };
        let slots = &self.slots;
        let mut taken = Vec::new();
        discipline.withdraw(&mut |seen| affected(&slots[seen.handle as usize].packet), &mut taken);
        let mut left: Vec<Slot> = taken.iter().map(|seen| self.leave(seen.handle)).collect();
        left.sort_unstable_by_key(|slot| slot.number);
        self.waited += left.iter().fold(Duration::ZERO, |sum, slot| sum + now.since(slot.since));
        out.extend(left.iter().map(|slot| slot.packet));
    }

    /// Flags the packets that `affected` names: they will be sent to a peer that no longer listens.
    pub fn mark_unreachable(&mut self, mut affected: impl FnMut(&Packet) -> bool) {
        for slot in self.slots.iter_mut().filter(|slot| slot.waits && affected(&slot.packet)) {
            slot.packet.flags = slot.packet.flags.with(Flags::UNREACHABLE);
        }
    }

    /// The time that packets have waited which still do.
    pub fn still_waited(&self, now: Time) -> Duration {
        let waiting = self.slots.iter().filter(|slot| slot.waits);
        waiting.fold(Duration::ZERO, |sum, slot| sum + now.since(slot.since))
    }

    pub fn sojourns(&mut self) -> Distribution {
        self.sojourns.distribution()
    }

    pub fn take_events(&mut self) -> Vec<(QueueEvent, Packet)> {
        std::mem::take(&mut self.events)
    }

    pub fn memory_bytes(&self) -> u64 {
        let waiting = self.slots.capacity() * (size_of::<Slot>() + size_of::<skyhop_queue::Packet>());
        waiting as u64 + self.discipline.as_ref().map_or(0, |discipline| discipline.memory_bytes())
    }
}

/// The ECN field. Only packets with a payload can be ECT(1).
fn ecn(packet: &Packet) -> Ecn {
    let flags = packet.flags;
    match (flags.has(Flags::CE), flags.has(Flags::ECT)) {
        (true, _) => Ecn::Ce,
        (false, true) if flags.has(Flags::ECT1) && packet.payload().is_some() => Ecn::Ect1,
        (false, true) => Ecn::Ect0,
        (false, false) => Ecn::NotEct,
    }
}

impl Link {
    /// The same link with a queue discipline that it asks at each departure.
    pub fn with_discipline(mut self, queue: ServedQueue) -> Link {
        self = self.with_deferred_departures();
        if let Some(deferred) = &mut self.deferred {
            deferred.discipline = Some(Box::new(queue));
        }
        self
    }

    pub fn discipline(&self) -> Option<&ServedQueue> {
        self.deferred.as_ref()?.discipline.as_deref()
    }

    fn discipline_mut(&mut self) -> Option<&mut ServedQueue> {
        self.deferred.as_mut()?.discipline.as_deref_mut()
    }

    /// Gives a packet to the discipline. [`Link::take_queue_events`] then has its drops and marks. `delay` as in
    /// [`Link::withdraw`].
    pub fn enqueue(
        &mut self,
        pool: &mut Pool,
        packet: Packet,
        now: Time,
        mut delay: impl FnMut(&Packet, Time) -> Duration,
    ) {
        // Whatever is due at this instant comes before the arrival. An opportunity serves several packets in no time.
        loop {
            let sent = self.totals.packets;
            self.begin_service(pool, now, &mut delay);
            if self.pace.is_none() || self.totals.packets == sent {
                break;
            }
        }
        let Some(queue) = self.discipline_mut() else { return };
        queue.catch_up(now);
        queue.enqueue(packet, now);
        self.begin_service(pool, now, &mut delay);
        let waiting = self.waiting().0;
        self.totals.queue_max = self.totals.queue_max.max(waiting);
    }

    /// Waiting times of the packets that the discipline gave the transmitter, and how many it dropped early.
    pub fn of_discipline(&mut self) -> Option<(Distribution, u64)> {
        self.discipline_mut().map(|discipline| (discipline.sojourns(), discipline.early))
    }

    /// What the discipline has done since the last call.
    pub fn take_queue_events(&mut self) -> Vec<(QueueEvent, Packet)> {
        self.discipline_mut().map(ServedQueue::take_events).unwrap_or_default()
    }
}
