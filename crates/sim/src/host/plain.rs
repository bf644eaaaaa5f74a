//! The usual packets of Skyhop's own TCP: the next segment of a stream without gaps, and an ACK that only
//! acknowledges. Each is handled in one pass, with one look at what could make it special, where
//! [`Simulation::deliver_data`] and [`Simulation::deliver_ack`] ask for each thing in turn. The records are the same.

use super::Ends;
use crate::agents::is_copy;
use crate::packet::{Flags, Packet};
use crate::simulation::Simulation;
use crate::wire;
use skyhop_transport::{Burst, PlainAck, Undisturbed};

impl Simulation {
    /// Whether a packet is the next segment of an undisturbed stream; if so, it has been delivered.
    #[inline(always)]
    pub(super) fn takes_plain_data(&mut self, packet: &Packet) -> bool {
        let now = self.now;
        let flow = &mut self.flows[packet.flow as usize];
        let Ends::Tcp(tcp) = &mut flow.ends else { return false };
        if packet.flags != Flags::NONE || is_copy(packet) || flow.leg.is_some() || flow.acks_say_more {
            return false;
        }
        let arrived = tcp.receiver.on_plain_segment(now, packet.seq, packet.detail, packet.stamp);
        let Some(arrived) = arrived else { return false };
        let counters = tcp.receiver.counters();
        (flow.totals.duplicate, flow.totals.bytes_delivered) = (counters.duplicates, counters.payload_bytes);
        // As `arm_receiver`: mostly its slot is armed already, and moves itself when it fires.
        let deadline = tcp.receiver.next_timeout();
        let is_to_arm = deadline < tcp.ack_armed || self.ns2_clock.is_some();
        if !is_to_arm && deadline != tcp.ack_due {
            (tcp.ack_due, tcp.ack_due_since) = (deadline, now);
        }
        flow.totals.received += 1;
        flow.totals.wire_bytes += u64::from(packet.size);
        flow.meter.arrived(now, packet.stamp);
        if flow.updates.are_followed() {
            let rows = &mut self.recorder.records.transfers;
            flow.updates.segment_arrived(packet.seq, packet.detail);
            flow.updates.received_before(now, packet.seq + 1, packet.flow, rows);
        }
        if flow.application.waits_for(flow.totals.bytes_delivered) {
            self.deliver_to_application(packet.flow);
        }
        if let Undisturbed::Acks(ack) = arrived {
            self.send_plain_ack(packet.flow, &ack);
        }
        if is_to_arm {
            self.arm_receiver(packet.flow);
        }
        true
    }

    #[inline(always)]
    fn send_plain_ack(&mut self, flow_id: u32, ack: &PlainAck) {
        let flags = wire::plain_ack_flags(ack);
        self.send_here(flow_id, true, ack.next, ack.size, Packet::NO_DETAIL, ack.echo, flags);
    }

    /// Whether a packet is an ACK that does nothing but acknowledge; if so, it has been delivered.
    #[inline(always)]
    pub(super) fn takes_plain_ack(&mut self, packet: &Packet) -> bool {
        let now = self.now;
        if packet.flags != Flags::ACK || packet.detail != Packet::NO_DETAIL || self.recorder.ack_link.is_some() {
            return false;
        }
        let Some(flow) = self.flows.get_mut(packet.flow as usize) else { return false };
        let Ends::Tcp(tcp) = &mut flow.ends else { return false };
        if flow.jitter.is_some() || flow.leg.is_some() || flow.application.awaits_confirmation() {
            return false;
        }
        let Some(burst) = tcp.sender.on_plain_ack(now, packet.seq, packet.stamp) else { return false };
        flow.totals.acks_received += 1;
        if let Some(rtt) = flow.ages.acknowledged(now, packet.seq) {
            flow.rtt.add(rtt);
        }
        self.recorder.rtt(packet.flow, now.since(packet.stamp));
        if burst.count > 0 {
            self.send_burst(packet.flow, &burst);
        }
        if burst.more || self.ns2_clock.is_some() || self.is_remembered(packet.flow) {
            self.after_sender_input(packet.flow);
            return true;
        }
        let flow = &mut self.flows[packet.flow as usize];
        let Ends::Tcp(tcp) = &mut flow.ends else { return true };
        if let Some(average) = &mut flow.cwnd {
            average.set(now, burst.cwnd);
        }
        if burst.timeout < tcp.sender_armed {
            tcp.sender_armed = burst.timeout;
            self.events.arm(self.slots.senders + packet.flow, burst.timeout, now);
        }
        true
    }

    /// Puts the segments of a burst on the network. All take the same link, which is looked up once.
    #[inline(always)]
    fn send_burst(&mut self, flow_id: u32, burst: &Burst) {
        let [to, from] = self.to[flow_id as usize];
        let flow = &mut self.flows[flow_id as usize];
        flow.ages.sent_first(self.now, burst.first, burst.count);
        let count = u64::from(burst.count);
        flow.totals.sent += count;
        flow.totals.sent_bytes += count * u64::from(burst.size);
        flow.totals.sent_payload_bytes += count * u64::from(burst.payload);
        let number = flow.numbers[0];
        flow.numbers[0] += burst.count;
        let mut packet = Packet {
            stamp: self.now,
            flow: flow_id,
            seq: burst.first,
            number,
            detail: burst.payload,
            to: from.node,
            size: burst.size as u16,
            ttl: flow.ttl,
            flags: Flags::NONE,
        };
        let next = self.next_hop(from.node, to);
        if let (Some(ttl), Some((link, end))) = (packet.ttl.checked_sub(1), next) {
            (packet.ttl, packet.to) = (ttl, end);
            for _ in 0..burst.count {
                self.transmit(link, &packet, to.index);
                packet.seq += 1;
                packet.number += 1;
            }
            return;
        }
        for _ in 0..burst.count {
            self.forward(from.node, &mut packet.clone(), to);
            packet.seq += 1;
            packet.number += 1;
        }
    }
}
