//! Links that repair their own errors packet by packet: by repetition (ARQ) or by packets of parity (`algorithms.md`
//! §3.5).
//!
//! The transmitter decides when it is free what it sends next, so such a link works departures out deferred, and the
//! outcomes of transmissions are drawn in the order of time: bursts of errors hit transmissions that follow one another
//! on the air.
//!
//! - **Selective repeat.** A failed packet is sent again as soon as its failure is known, a round trip of the link
//!   after its end, before the waiting packets. The packet then in service is not interrupted.
//! - **Go-back-N.** The same, and all that was sent in this round trip is sent again with it.
//! - **Erasure code.** After k packets, or when the block is closed, n − k packets of parity follow, each as long as
//!   the longest of the block. The missing packets are known when as many have arrived as the block has packets of
//!   data.
//!
//! In order, the far end passes a packet on when all before it have come or are given up, for it knows of the last try
//! as of the first ones. Errors that hang on the time are those at the arrival of each try.
//!
//! With `answer_bytes` the far end answers each transmission that it takes or finds wrong when it arrives; the answers
//! take the time of the link back, behind what was accepted there, and a failure is known when its answer is there.
//! Behind a failure that goes back N the far end takes nothing and says nothing. Deviation: answers are neither lost
//! nor counted as packets of the link back, which gets free earlier than with them when packets are withdrawn from its
//! queue. Windows and sequence numbers are as large as needed. A transmitter has one sequence, whoever its peers are:
//! after a handover what is for the new satellite waits for what the old one does not have yet.

use super::Link;
use crate::deferred::DeferredQueue;
use crate::errors::{Arrival, Losses};
use crate::packet::{Flags, Packet};
use crate::pool::{Line, Pool};
use crate::spec::{DeliveryOrder, FrameRepair, RepairConfig, Repeats};
use skyhop_base::{Duration, Time};
use std::collections::VecDeque;

/// What the far end has of a packet at last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    Sound,
    Lost,
}

/// A packet that has been sent and is not yet passed on.
#[derive(Clone, Copy, Debug)]
struct Frame {
    packet: Packet,
    number: u64,
    /// Begin of its first transmission.
    start: Time,
    tries: u32,
    /// When it is there, or was there last and is given up.
    outcome: Option<(Time, Reception)>,
}

/// The packets of an erasure code's present block.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// Packets of data.
    packets: u32,
    /// Packets of data and parity that arrived.
    arrived: u32,
    /// To be sent.
    parity: u32,
    /// The longest packet of data.
    longest: u16,
    /// The node to which its last packet of data went.
    to: u32,
    /// When it is closed, as long as it is open and has packets.
    closes: Option<Time>,
}

#[derive(Debug)]
pub struct Repairs {
    config: RepairConfig,
    scheme: FrameRepair,
    errors: Vec<Box<dyn Losses>>,
    /// Sent and not passed on, in the order of their first transmissions.
    frames: VecDeque<Frame>,
    next_number: u64,
    /// Selective: when the failures of which packets are known.
    again: VecDeque<(Time, u64)>,
    /// Go-back-N: when the failure of the first of `frames` is known, [`Time::MAX`] until its answer has left; …
    back_at: Option<Time>,
    /// … and which of them is sent next.
    next: usize,
    block: Block,
    parity_sent: u32,
    /// Outcomes of the packets on the link.
    receptions: VecDeque<Reception>,
    /// Still to be given by the far end, in the order of time.
    answers: VecDeque<Answer>,
}

/// What the far end says when a transmission has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    at: Time,
    number: u64,
    /// It is to be sent again.
    again: bool,
    /// Bytes sent on the link back.
    pub bytes: u32,
    /// The far end.
    pub node: u32,
}

/// What the transmitter does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    /// The packet that has waited longest.
    New,
    /// One of `frames`, by its place.
    Resend(usize),
    Parity,
}

/// Errors of a link that repairs them: it knows itself what it could not repair ([`Link::take_reception`]).
#[derive(Debug)]
pub struct Repaired;

impl Losses for Repaired {
    fn loses(&mut self, _arrival: &Arrival<'_>) -> bool {
        false
    }
}

impl Repairs {
    /// The repairs, by `scheme`, of a link with these errors, of which its own code corrects some.
    pub fn new(config: &RepairConfig, scheme: FrameRepair, errors: Vec<Box<dyn Losses>>) -> Repairs {
        Repairs {
            config: config.clone(),
            scheme,
            errors,
            frames: VecDeque::new(),
            next_number: 0,
            again: VecDeque::new(),
            back_at: None,
            next: 0,
            block: Block::default(),
            parity_sent: 0,
            receptions: VecDeque::new(),
            answers: VecDeque::new(),
        }
    }

    /// When the transmitter has something to do, not before `free_at`, or the far end something to say.
    pub fn next_event(&self, free_at: Time, waits: bool) -> Option<Time> {
        let answer = self.answers.front().map(|answer| answer.at);
        self.next_service(free_at, waits).map_or(answer, |service| Some(answer.map_or(service, |at| at.min(service))))
    }

    /// When the transmitter has something to do, not before `free_at`.
    fn next_service(&self, free_at: Time, waits: bool) -> Option<Time> {
        if waits || self.block.parity > 0 || self.back_at.is_some() && self.next < self.frames.len() {
            return Some(free_at);
        }
        let due = match self.scheme {
            FrameRepair::Arq { repeats: Repeats::Selective, .. } => self.again.front().map(|&(ready, _)| ready),
            FrameRepair::Arq { repeats: Repeats::GoBackN, .. } if self.frames.is_empty() => None,
            FrameRepair::Arq { repeats: Repeats::GoBackN, .. } => Some(self.back_at.unwrap_or(free_at)),
            FrameRepair::Erasure { .. } => self.block.closes,
        };
        due.filter(|&due| due < Time::MAX).map(|due| due.max(free_at))
    }

    /// Takes in the answers due at `now`.
    fn hear(&mut self, now: Time) {
        if self.back_at.is_some_and(|at| at <= now) {
            (self.back_at, self.next) = (None, 0);
        }
    }

    /// The next transmission at `now`, when the transmitter is free.
    fn job(&mut self, now: Time, waits: bool) -> Option<Job> {
        self.hear(now);
        if let Some(&(ready, number)) = self.again.front()
            && ready <= now
        {
            self.again.pop_front();
            return self.frames.binary_search_by_key(&number, |frame| frame.number).ok().map(Job::Resend);
        }
        if self.next < self.frames.len() && self.goes_back() {
            return Some(Job::Resend(self.next));
        }
        if let FrameRepair::Erasure { n, k, .. } = self.scheme
            && self.block.closes.is_some_and(|at| at <= now)
        {
            (self.block.closes, self.block.parity) = (None, n - k);
        }
        if self.block.parity > 0 {
            return Some(Job::Parity);
        }
        waits.then_some(Job::New)
    }

    fn goes_back(&self) -> bool {
        matches!(self.scheme, FrameRepair::Arq { repeats: Repeats::GoBackN, .. })
    }

    /// Whether a packet that arrives at `now` while the transmitter is free has to wait for something else.
    pub fn is_due(&self, now: Time) -> bool {
        self.next_service(Time::ZERO, false).is_some_and(|at| at <= now)
    }

    fn loses(&mut self, arrival: Time, packet: &Packet, tries: u32) -> Reception {
        // Each try of each packet has an outcome of its own, independent of all others.
        let key = u64::from(tries) << 32 | u64::from(packet.flow);
        let mut lost = false;
        for model in &mut self.errors {
            lost |= model.loses(&Arrival { at: arrival, key, packet });
        }
        if lost { Reception::Lost } else { Reception::Sound }
    }

    fn wire_bytes(&self, bytes: u32) -> u32 {
        self.config.code.as_ref().map_or(bytes, |code| code.wire_bytes(bytes))
    }

    /// Packets that are neither waiting for their first transmission nor passed on.
    pub fn outstanding(&self) -> u64 {
        self.frames.len() as u64
    }

    pub fn memory_bytes(&self) -> u64 {
        let frames = self.frames.capacity() * size_of::<Frame>() + self.receptions.capacity() * size_of::<Reception>();
        (frames + self.answers.capacity() * size_of::<Answer>() + self.again.capacity() * size_of::<(Time, u64)>())
            as u64
    }

    /// Takes out those of the packets still to be repeated that `affected` names.
    pub fn withdraw(&mut self, mut affected: impl FnMut(&Packet) -> bool, out: &mut Vec<Packet>) {
        if matches!(self.scheme, FrameRepair::Erasure { .. }) {
            return;
        }
        let (mut place, mut next) = (0, self.next);
        let first = self.next;
        self.frames.retain(|frame| {
            let stays = frame.outcome.is_some() || !affected(&frame.packet);
            if !stays {
                out.push(frame.packet);
                next -= usize::from(place < first);
            }
            place += 1;
            stays
        });
        self.next = next;
        let frames = &self.frames;
        self.again.retain(|(_, number)| frames.binary_search_by_key(number, |frame| frame.number).is_ok());
        if self.frames.is_empty() {
            self.back_at = None;
        }
    }

    /// Marks those of the packets still to be repeated that `affected` names as sent to a peer that has gone.
    pub fn mark_unreachable(&mut self, mut affected: impl FnMut(&Packet) -> bool) {
        for frame in self.frames.iter_mut().filter(|frame| frame.outcome.is_none() && affected(&frame.packet)) {
            frame.packet.flags = frame.packet.flags.with(Flags::UNREACHABLE);
        }
    }

    /// A try of the packet at a place of `frames` ends at `end` and arrives at `arrival`.
    fn tried(&mut self, place: usize, end: Time, arrival: Time) {
        let FrameRepair::Arq { tries, repeats, round_trip, answer_bytes } = self.scheme else { return };
        let wasted = self.back_at.is_some();
        let Frame { packet, number, tries: before, .. } = self.frames[place];
        let reception = self.loses(arrival, &packet, before);
        if repeats == Repeats::GoBackN {
            self.next = place + 1;
            if wasted {
                // Behind a failure the far end takes nothing.
                return;
            }
        }
        self.frames[place].tries += 1;
        let gives_up = reception == Reception::Lost && before + 1 >= tries;
        if reception == Reception::Sound || gives_up {
            self.frames[place].outcome = Some((arrival, reception));
        }
        // Go-back-N goes back from a packet that is given up, too: behind it the far end took nothing.
        let again = reception == Reception::Lost && (repeats == Repeats::GoBackN || !gives_up);
        if answer_bytes > 0 {
            let at = self.answers.back().map_or(arrival, |last| last.at.max(arrival));
            self.answers.push_back(Answer { at, number, again, bytes: answer_bytes, node: packet.to });
            if again && repeats == Repeats::GoBackN {
                self.back_at = Some(Time::MAX);
            }
        } else if again {
            self.failed(number, end + round_trip.unwrap_or_else(|| arrival.since(end) * 2));
        }
    }

    /// The failure of a packet is known at `known`.
    fn failed(&mut self, number: u64, known: Time) {
        if self.goes_back() {
            self.back_at = Some(known);
        } else {
            // Where the path gets shorter, answers do not overtake each other either.
            self.again.push_back((self.again.back().map_or(known, |&(last, _)| last.max(known)), number));
        }
    }

    /// An answer arrives at `known`. It is ignored if its packet was withdrawn meanwhile.
    fn heard(&mut self, answer: &Answer, known: Time) {
        let waits_for_it = match self.goes_back() {
            true => self.back_at == Some(Time::MAX),
            false => self.frames.binary_search_by_key(&answer.number, |frame| frame.number).is_ok(),
        };
        if answer.again && waits_for_it {
            self.failed(answer.number, known);
        }
    }

    /// A packet of the present block, of data or of parity, arrives at `arrival`, or does not.
    fn of_block(&mut self, arrival: Time, reception: Reception) {
        let block = &mut self.block;
        block.arrived += u32::from(reception == Reception::Sound);
        let closed = block.closes.is_none();
        let all_tried = closed && block.parity == 0;
        if closed && block.arrived >= block.packets || all_tried {
            // All outcomes are known, or no more will be.
            let complete = block.arrived >= block.packets;
            for frame in self.frames.iter_mut().filter(|frame| frame.outcome.is_none()) {
                frame.outcome = Some((arrival, if complete { Reception::Sound } else { Reception::Lost }));
            }
        }
        if all_tried {
            self.block = Block::default();
        }
    }
}

impl Link {
    /// The same link repairing its errors.
    pub fn with_repairs(mut self, repairs: Option<Repairs>) -> Link {
        if repairs.is_none() {
            return self;
        }
        self = self.with_deferred_departures();
        if let Some(deferred) = &mut self.deferred {
            deferred.repairs = repairs;
        }
        self
    }

    /// When the transmission of the oldest packet began that a link which repairs its errors has not passed on.
    pub fn first_unrepaired(&self) -> Option<Time> {
        self.deferred.as_ref()?.repairs.as_ref()?.frames.front().map(|frame| frame.start)
    }

    pub fn repairs_errors(&self) -> bool {
        self.deferred.as_ref().is_some_and(|deferred| deferred.repairs.is_some())
    }

    /// Of the packet that has arrived: whether it is lost, on a link that repairs its errors.
    #[inline(never)]
    pub fn take_reception(&mut self) -> Option<Reception> {
        self.deferred.as_mut()?.repairs.as_mut()?.receptions.pop_front()
    }

    /// Takes the transmitter for something other than a packet, behind everything accepted. Returns when it has left.
    #[cold]
    pub fn occupy(&mut self, now: Time, bytes: u32) -> Time {
        let ready = self.free_at.max(now);
        if self.free_at < now {
            self.carry.reset();
        }
        let bytes = bytes + self.framing_bytes;
        let (departure, busy) = if self.pace.is_some() {
            let (served, _) = self.serve_at_pace(ready, now, bytes, |_| Duration::ZERO);
            (served.departure, served.busy)
        } else {
            let busy = self.carry.next(&self.rate, bytes);
            (ready + busy, busy)
        };
        self.totals.busy += busy;
        self.free_at = departure;
        departure
    }

    /// Bits of packets per second that the transmitter is busy, as far as it has been: its rate less what frames and
    /// repairs take.
    pub fn packet_rate_bps(&self) -> f64 {
        let busy = self.totals.busy.as_secs_f64();
        if busy > 0.0 { self.totals.bytes as f64 * 8.0 / busy } else { self.rate().bps_f64() }
    }

    /// What the far end says at `now`.
    pub fn take_answer(&mut self, now: Time) -> Option<Answer> {
        let answers = &mut self.repairs()?.answers;
        answers.front().filter(|answer| answer.at <= now)?;
        answers.pop_front()
    }

    /// An answer that was taken is there at `known`.
    pub fn hear_answer(&mut self, answer: &Answer, known: Time) {
        if let Some(repairs) = self.repairs() {
            repairs.heard(answer, known);
        }
    }

    /// Serves a packet that has just been offered, if this link repairs its errors: the transmitter has nothing else to
    /// do.
    pub(super) fn repairs_serve_at_once(
        &mut self,
        pool: &mut Pool,
        packet: Packet,
        now: Time,
        delay: impl FnOnce(Time) -> Duration,
    ) -> bool {
        let Some(DeferredQueue { repairs: Some(repairs), foreseen, .. }) = self.deferred.as_deref_mut() else {
            return false;
        };
        repairs.hear(now);
        *foreseen = now;
        self.send_new(pool, packet, now, |_, departure| delay(departure));
        true
    }

    /// The transmitter is free: it sends what is next.
    pub(super) fn serve_repairing(
        &mut self,
        pool: &mut Pool,
        now: Time,
        delay: impl FnOnce(&Packet, Time) -> Duration,
    ) {
        let Some(deferred) = self.deferred.as_deref_mut() else { return };
        let waits = !deferred.is_empty();
        let Some(repairs) = &mut deferred.repairs else { return };
        deferred.foreseen = now;
        match repairs.job(now, waits) {
            None => {}
            Some(Job::New) => {
                let Some((packet, since)) = deferred.pop(now) else { return };
                self.totals.waiting += now.since(since);
                self.send_new(pool, packet, now, delay);
            }
            Some(Job::Resend(place)) => {
                let packet = repairs.frames[place].packet;
                let (end, arrival) = self.transmit(&packet, now, delay);
                self.tried(pool, place, end, arrival);
            }
            Some(Job::Parity) => {
                // It goes where the data of its block went, which may have been passed on already.
                let Block { longest: size, to, .. } = repairs.block;
                repairs.block.parity -= 1;
                let number = repairs.parity_sent;
                repairs.parity_sent = number.wrapping_add(1);
                self.send_parity(pool, parity(number, size, to), now, delay);
            }
        }
    }

    fn repairs(&mut self) -> Option<&mut Repairs> {
        self.deferred.as_mut()?.repairs.as_mut()
    }

    /// Puts a packet on the air: when it has left, and when it arrives.
    fn transmit(&mut self, packet: &Packet, now: Time, delay: impl FnOnce(&Packet, Time) -> Duration) -> (Time, Time) {
        if self.free_at < now {
            self.carry.reset();
        }
        let bytes = u32::from(packet.size);
        let wire = self.repairs().map_or(bytes, |repairs| repairs.wire_bytes(bytes)) + self.framing_bytes;
        let busy = self.carry.next(&self.rate, wire);
        self.totals.busy += busy;
        debug_assert!(self.free_at <= now, "two transmissions at a time");
        self.free_at = now + busy;
        (self.free_at, self.free_at + delay(packet, self.free_at))
    }

    /// The first transmission of a packet.
    fn send_new(&mut self, pool: &mut Pool, packet: Packet, now: Time, delay: impl FnOnce(&Packet, Time) -> Duration) {
        self.totals.packets += 1;
        self.totals.bytes += u64::from(packet.size);
        let (end, arrival) = self.transmit(&packet, now, delay);
        let Some(repairs) = self.repairs() else { return };
        let number = repairs.next_number;
        repairs.next_number += 1;
        repairs.frames.push_back(Frame { packet, number, start: now, tries: 0, outcome: None });
        let place = repairs.frames.len() - 1;
        let FrameRepair::Erasure { n, k, within } = repairs.scheme else {
            return self.tried(pool, place, end, arrival);
        };
        let reception = repairs.loses(arrival, &packet, 0);
        if reception == Reception::Sound {
            repairs.frames[place].outcome = Some((arrival, reception));
        }
        let block = &mut repairs.block;
        if block.packets == 0 {
            block.closes = Some(now.saturating_add(within));
        }
        block.packets += 1;
        block.longest = block.longest.max(packet.size);
        block.to = packet.to;
        if block.packets == k {
            (block.closes, block.parity) = (None, n - k);
        }
        repairs.of_block(arrival, reception);
        self.pass_on(pool);
    }

    fn send_parity(
        &mut self,
        pool: &mut Pool,
        packet: Packet,
        now: Time,
        delay: impl FnOnce(&Packet, Time) -> Duration,
    ) {
        let (_, arrival) = self.transmit(&packet, now, delay);
        let Some(repairs) = self.repairs() else { return };
        let reception = repairs.loses(arrival, &packet, 0);
        repairs.of_block(arrival, reception);
        self.pass_on(pool);
    }

    fn tried(&mut self, pool: &mut Pool, place: usize, end: Time, arrival: Time) {
        if let Some(repairs) = self.repairs() {
            repairs.tried(place, end, arrival);
        }
        self.pass_on(pool);
    }

    /// Puts arrived packets that wait for no earlier one on the link.
    fn pass_on(&mut self, pool: &mut Pool) {
        let Some(DeferredQueue { repairs: Some(repairs), .. }) = self.deferred.as_deref_mut() else { return };
        let mut line = Line { front: &mut self.front, back: &mut self.back };
        if repairs.config.order == DeliveryOrder::AsItComes {
            let mut place = 0;
            while place < repairs.frames.len() {
                if repairs.frames[place].outcome.is_none() {
                    place += 1;
                    continue;
                }
                let Some(frame) = repairs.frames.remove(place) else { break };
                repairs.next = repairs.next.saturating_sub(usize::from(place < repairs.next));
                pass((&mut line, pool), &mut self.last_arrival, &mut repairs.receptions, &frame);
            }
        }
        while repairs.frames.front().is_some_and(|frame| frame.outcome.is_some()) {
            let Some(frame) = repairs.frames.pop_front() else { break };
            repairs.next = repairs.next.saturating_sub(1);
            pass((&mut line, pool), &mut self.last_arrival, &mut repairs.receptions, &frame);
        }
        self.all_begun();
    }

    /// After packets were taken out, those behind them may have nothing to wait for.
    pub(super) fn settle_repairs(&mut self, pool: &mut Pool, now: Time) {
        self.last_arrival = self.last_arrival.max(now);
        self.pass_on(pool);
    }
}

fn pass(
    (line, pool): (&mut Line<'_>, &mut Pool),
    last: &mut Time,
    receptions: &mut VecDeque<Reception>,
    frame: &Frame,
) {
    let Some((time, reception)) = frame.outcome else { return };
    *last = time.max(*last);
    line.push_back(pool, &frame.packet, [frame.start, *last]);
    receptions.push_back(reception);
}

/// What errors see of a packet of parity.
fn parity(number: u32, size: u16, to: u32) -> Packet {
    let (stamp, flags) = (Time::ZERO, Flags::NONE);
    Packet { stamp, flow: u32::MAX, seq: number, number, detail: Packet::NO_DETAIL, to, size, ttl: 0, flags }
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
