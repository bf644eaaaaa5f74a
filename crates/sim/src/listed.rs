//! Outcomes of listed packets: single packets of a link, named by class and ordinal, are lost, marked, late or doubled.

use crate::errors::ListedClass;
use crate::host::PacketKind;
use crate::late::DelayedPacket;
use crate::packet::{Flags, Packet};
use crate::records::DropCause;
use crate::simulation::Simulation;
use skyhop_base::Time;
use std::cmp::Reverse;

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
        if self.late.waiting.peek().is_some_and(|Reverse(next)| next.at <= self.now)
            && let Some(Reverse(DelayedPacket { link, start, mut packet, .. })) = self.late.waiting.pop()
        {
            self.arrive(link, start, &mut packet);
        }
        self.arm_late();
    }
}
