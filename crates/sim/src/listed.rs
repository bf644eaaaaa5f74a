//! Outcomes of listed packets: single packets of a link, named by class and ordinal, are lost, marked, late or doubled.

use crate::host::PacketKind;
use crate::packet::{Flags, Packet};
use crate::records::DropCause;
use crate::simulation::Simulation;
use skyhop_base::{Duration, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The classes in which packets count, each from 1, in the order in which they come over the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedClass {
    /// From a source, with user data.
    Data,
    /// From a sink: acknowledges and opens nothing.
    Ack,
    /// Asks for a connection.
    Syn,
    /// Answers such a packet.
    SynAck,
}

/// What happens to a packet that a list names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedOutcome {
    Drop,
    /// It gets the mark "congestion experienced" if its transport is capable of ECN; otherwise nothing happens.
    Mark,
    /// It arrives so much later; others overtake it.
    Delay(Duration),
    /// A copy arrives so much after it.
    Duplicate(Duration),
}

/// From the first to the last ordinal, with a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedPackets {
    pub class: ListedClass,
    pub first: u64,
    pub last: u64,
    pub step: u64,
    pub outcome: ListedOutcome,
}

impl ListedPackets {
    fn names(&self, class: ListedClass, ordinal: u64) -> bool {
        let in_range = (self.first..=self.last).contains(&ordinal);
        self.class == class && in_range && (ordinal - self.first).is_multiple_of(self.step.max(1))
    }
}

/// The lists of a link, and how many packets of each class have come.
#[derive(Debug)]
pub(crate) struct Listed {
    packets: Vec<ListedPackets>,
    counts: [u64; 4],
}

/// What becomes of one packet. Delays add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Outcome {
    lost: bool,
    marked: bool,
    later: Duration,
    copy: Option<Duration>,
}

impl Listed {
    /// `None` where nothing is listed.
    pub fn new(packets: Vec<ListedPackets>) -> Option<Box<Listed>> {
        (!packets.is_empty()).then(|| Box::new(Listed { packets, counts: [0; 4] }))
    }

    fn outcome(&mut self, class: ListedClass) -> Outcome {
        let count = &mut self.counts[class as usize];
        *count += 1;
        let (ordinal, mut outcome) = (*count, Outcome::default());
        for listed in self.packets.iter().filter(|listed| listed.names(class, ordinal)) {
            match listed.outcome {
                ListedOutcome::Drop => outcome.lost = true,
                ListedOutcome::Mark => outcome.marked = true,
                ListedOutcome::Delay(by) => outcome.later += by,
                ListedOutcome::Duplicate(after) => outcome.copy = Some(after),
            }
        }
        outcome
    }
}

/// A packet that arrives later than its link alone would have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DelayedPacket {
    at: Time,
    /// Packets of one instant keep their order.
    number: u64,
    link: u32,
    /// When its transmission began.
    start: Time,
    packet: Packet,
}

impl PartialOrd for DelayedPacket {
    fn partial_cmp(&self, other: &DelayedPacket) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DelayedPacket {
    fn cmp(&self, other: &DelayedPacket) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// All packets that are late, of all links.
#[derive(Debug, Default)]
pub(crate) struct LatePackets {
    waiting: BinaryHeap<Reverse<DelayedPacket>>,
    number: u64,
}

impl LatePackets {
    /// Packets that are in the network.
    pub fn count(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Takes over those of another part of the run.
    pub fn absorb(&mut self, other: LatePackets) {
        self.waiting.extend(other.waiting);
    }

    pub fn memory_bytes(&self) -> u64 {
        (self.waiting.capacity() * size_of::<DelayedPacket>()) as u64
    }
}

impl Simulation {
    /// Does to a packet what the lists of its link say. True: it is lost, or arrives later.
    #[inline(never)]
    pub(crate) fn is_diverted(&mut self, link: u32, start: Time, packet: &mut Packet) -> bool {
        let class = self.listed_class(packet);
        let Some((listed, class)) = self.links[link as usize].listed.as_mut().zip(class) else { return false };
        let outcome = listed.outcome(class);
        if outcome.marked && packet.flags.has(Flags::ECT) {
            packet.flags = packet.flags.with(Flags::CE);
            self.links[link as usize].link.totals.marked += 1;
        }
        if outcome.lost {
            self.drop_packet(packet, DropCause::Error, Some(link));
            return true;
        }
        if let Some(after) = outcome.copy
            && let Some(copy) = self.copy_of(packet)
        {
            self.keep_late(link, start, copy, self.now + outcome.later + after);
        }
        if outcome.later.is_zero() {
            return false;
        }
        self.keep_late(link, start, *packet, self.now + outcome.later);
        true
    }

    /// The class of a packet; `None` for what no list can name, such as requests and a source's own ACKs.
    fn listed_class(&self, packet: &Packet) -> Option<ListedClass> {
        let flow = self.flows.get(packet.flow as usize)?;
        if packet.flags.has(Flags::REQUEST) {
            return None;
        }
        let kind = match packet.payload() {
            Some(handle) => self.payloads.kind(handle),
            None if packet.is_ack() => {
                // The ACK of segment 0: the first of all, or the answer to a repetition of it.
                let opens = flow.ends.opens_empty() && packet.seq == 1 && packet.detail == Packet::NO_DETAIL;
                let first = packet.number == 0 || packet.flags.has(Flags::RETRANSMISSION);
                if opens && first { PacketKind::Opens } else { PacketKind::Bare }
            }
            None if packet.detail == 0 && packet.seq == 0 && flow.ends.opens_empty() => PacketKind::Opens,
            None => PacketKind::Data,
        };
        match (packet.is_ack(), kind) {
            (false, PacketKind::Opens) => Some(ListedClass::Syn),
            (true, PacketKind::Opens) => Some(ListedClass::SynAck),
            (false, PacketKind::Data) => Some(ListedClass::Data),
            (true, PacketKind::Bare) => Some(ListedClass::Ack),
            (false, PacketKind::Bare) | (true, PacketKind::Data) => None,
        }
    }

    /// A second packet like this one. The network sends it, not its source: it counts as a copy.
    fn copy_of(&mut self, packet: &Packet) -> Option<Packet> {
        let mut copy = *packet;
        if let Some(handle) = packet.payload() {
            copy.detail = Packet::PAYLOAD | self.payloads.copy(handle)?;
        } else if packet.is_ack() && packet.detail != Packet::NO_DETAIL {
            copy.detail = self.ack_details.copy(packet.detail);
        }
        copy.number = self.late.number as u32 | crate::agents::COPIES;
        self.agents.totals.sent += 1;
        if packet.payload().is_some() {
            self.late_copies += 1;
        }
        Some(copy)
    }

    fn keep_late(&mut self, link: u32, start: Time, packet: Packet, at: Time) {
        let number = self.late.number;
        self.late.number += 1;
        self.late.waiting.push(Reverse(DelayedPacket { at, number, link, start, packet }));
        self.arm_late();
    }

    fn arm_late(&mut self) {
        let slot = self.slots.late();
        match self.late.waiting.peek() {
            Some(Reverse(next)) => self.events.arm(slot, next.at, self.now),
            None => self.events.disarm(slot),
        }
    }

    /// A packet that was late arrives.
    #[cold]
    pub(crate) fn on_late(&mut self) {
        self.events.disarm(self.slots.late());
        if self.late.waiting.peek().is_some_and(|Reverse(next)| next.at <= self.now)
            && let Some(Reverse(DelayedPacket { link, start, packet, .. })) = self.late.waiting.pop()
        {
            self.arrive(link, start, packet);
        }
        self.arm_late();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_packets_by_class_and_ordinal() {
        let listed = |class, first, last, step, outcome| ListedPackets { class, first, last, step, outcome };
        let ms = Duration::from_millis;
        let mut list = Listed::new(vec![
            listed(ListedClass::Data, 2, 2, 1, ListedOutcome::Drop),
            listed(ListedClass::Data, 3, 7, 2, ListedOutcome::Mark),
            listed(ListedClass::Data, 5, 5, 1, ListedOutcome::Delay(ms(4))),
            listed(ListedClass::Ack, 1, 1, 1, ListedOutcome::Duplicate(ms(2))),
        ])
        .unwrap();
        let of_data: Vec<Outcome> = (0..7).map(|_| list.outcome(ListedClass::Data)).collect();
        assert_eq!(
            of_data.iter().map(|outcome| outcome.lost).collect::<Vec<_>>(),
            [false, true, false, false, false, false, false]
        );
        assert_eq!(
            of_data.iter().map(|outcome| outcome.marked).collect::<Vec<_>>(),
            [false, false, true, false, true, false, true]
        );
        assert_eq!(of_data[4].later, ms(4));
        assert_eq!(list.outcome(ListedClass::Ack).copy, Some(ms(2)));
        assert_eq!(list.outcome(ListedClass::Syn), Outcome::default());
        assert!(Listed::new(Vec::new()).is_none());
    }
}
