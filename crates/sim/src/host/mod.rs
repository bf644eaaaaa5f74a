//! Hosts: what the engine hands to the endpoints of a flow, and what it takes from them.
//!
//! `endpoint.rs` is the contract, `ends.rs` the kinds of endpoints, `tcp.rs` and `boxed.rs` drive them.

mod ack_details;
mod boxed;
pub mod endpoint;
mod ends;
mod jitter;
mod ns2_timers;
mod payloads;
mod plain;
mod tcp;

use crate::agents::is_copy;
use crate::application::AppStep;
use crate::packet::{Flags, Packet};
use crate::simulation::Simulation;
pub(crate) use boxed::{Hosts, Side};
use endpoint::{Codepoint, Payload};
pub(crate) use ends::{Datagrams, Ends};
pub(crate) use payloads::{Load, PacketKind, Payloads};
use skyhop_base::Time;
pub(crate) use tcp::{TcpEnds, UnackedSendTimes};

impl Simulation {
    /// A packet of a flow's data that carries no payload is where it is going.
    pub(crate) fn deliver_data(&mut self, packet: &Packet) {
        if self.takes_plain_data(packet) {
            return;
        }
        let now = self.now;
        let flow = &mut self.flows[packet.flow as usize];
        flow.totals.received += 1;
        if is_copy(packet) {
            flow.totals.copies += 1;
        }
        flow.totals.wire_bytes += u64::from(packet.size);
        match &mut flow.ends {
            Ends::Tcp(tcp) => {
                flow.meter.arrived(now, packet.stamp);
                flow.updates.segment_arrived(packet.seq, packet.detail);
                tcp.receiver.on_segment(now, &crate::wire::segment(packet), packet.stamp);
                self.after_segment(packet.flow);
            }
            Ends::Datagrams(_) => {
                flow.meter.arrived(now, packet.stamp);
                flow.totals.bytes_delivered += u64::from(packet.detail);
                if let Some(call) = &mut flow.call {
                    call.arrived(now, packet.stamp, packet.seq);
                }
                flow.updates.datagram_received(now, packet.stamp, packet.flow, &mut self.recorder.records.transfers);
                if flow.application.waits_for(flow.totals.bytes_delivered) {
                    self.deliver_to_application(packet.flow);
                }
            }
            Ends::Hosts(_) => debug_assert!(false, "a packet without its payload: {packet:?}"),
        }
    }

    /// The receiver's application waits for what has arrived.
    #[inline(never)]
    pub(crate) fn deliver_to_application(&mut self, flow_id: u32) {
        let now = self.now;
        if self.flows[flow_id as usize].application.schedule().is_some() {
            return self.deliver_to_workload(flow_id);
        }
        if let Some(visit) = self.flows[flow_id as usize].application.visit() {
            return self.deliver_to_visit(flow_id, visit);
        }
        let flow = &mut self.flows[flow_id as usize];
        let planned = flow.application.next_event();
        if let Some((transfer, is_last)) = flow.application.delivered(now, flow.totals.bytes_delivered) {
            self.recorder.transfer(now, flow_id, &transfer);
            if is_last {
                flow.completed = Some(now);
                self.source_event(flow_id, "complete");
            }
        }
        let flow = &mut self.flows[flow_id as usize];
        if flow.application.next_event() != planned {
            self.arm_application(flow_id);
        }
    }

    /// The source may know now that all it has written has arrived.
    #[cold]
    fn confirm(&mut self, flow_id: u32) {
        let now = self.now;
        let flow = &mut self.flows[flow_id as usize];
        // At the first of several legs the proxy acknowledges, which says nothing of the end: `deliver_whole`.
        if flow.leg.is_none() && flow.ends.backlog_bytes() == 0 {
            flow.application.confirmed(now);
            self.arm_application(flow_id);
        }
    }

    /// A packet that goes from sink to source, or belongs to no flow, and carries no payload is where it is going.
    pub(crate) fn deliver_ack(&mut self, packet: &Packet) {
        if self.takes_plain_ack(packet) {
            return;
        }
        if packet.flow as usize >= self.flows.len() {
            return self.deliver_notice(packet);
        }
        if packet.flags.has(Flags::REQUEST) {
            return self.deliver_request(packet);
        }
        self.deliver_tcp_ack(packet);
    }

    /// The receiver's side asks for data.
    #[cold]
    pub(super) fn deliver_request(&mut self, packet: &Packet) {
        let now = self.now;
        let flow = &mut self.flows[packet.flow as usize];
        flow.totals.acks_received += 1;
        if let Some(handle) = packet.payload() {
            self.payloads.take(handle);
        } else if packet.detail != Packet::NO_DETAIL {
            // A gateway wrote on it.
            self.ack_details.take(packet.detail);
        }
        if let Some(visit) = flow.application.visit() {
            return self.answer_visit(packet.flow, packet.seq, visit);
        }
        if let Some(answer) = flow.application.asked(packet.seq) {
            flow.ends.supply(now, answer);
            self.after_source_input(packet.flow);
        }
    }

    /// Everything that the source wants after an input: packets, records, its timer.
    pub(crate) fn after_source_input(&mut self, flow_id: u32) {
        match &mut self.flows[flow_id as usize].ends {
            Ends::Tcp(_) => self.after_sender_input(flow_id),
            Ends::Datagrams(_) => self.send_datagrams(flow_id),
            Ends::Hosts(_) => self.after_host_input(flow_id, Side::Source),
        }
    }

    pub(crate) fn on_source_timeout(&mut self, flow_id: u32) {
        match &self.flows[flow_id as usize].ends {
            Ends::Tcp(_) => self.on_sender_timeout(flow_id),
            Ends::Datagrams(_) => {}
            Ends::Hosts(_) => self.on_host_timeout(flow_id, Side::Source),
        }
    }

    pub(crate) fn on_sink_timeout(&mut self, flow_id: u32) {
        match &self.flows[flow_id as usize].ends {
            Ends::Tcp(_) => self.on_receiver_timeout(flow_id),
            Ends::Datagrams(_) => {}
            Ends::Hosts(_) => self.on_host_timeout(flow_id, Side::Sink),
        }
    }

    /// An event of a flow's source in the records, which the sink tells. The source may be in another part.
    #[cold]
    pub(crate) fn source_event(&mut self, flow_id: u32, event: &'static str) {
        match &mut self.part {
            Some(part) if part.is_elsewhere(self.to[flow_id as usize][1].node) => part.ask_for_report(flow_id, event),
            _ => {
                let report = self.flows[flow_id as usize].ends.report();
                self.recorder.flow_event(self.now, flow_id, event, report);
            }
        }
    }

    pub(crate) fn send_request(&mut self, flow_id: u32, number: u32, size_bytes: u32) {
        // Every packet of a flow carries a payload, or none does.
        let detail = if self.flows[flow_id as usize].ends.carries_payloads() {
            let load = Load { payload: Payload::of(()), ecn: Codepoint::NotEct, user_bytes: 0 };
            Packet::PAYLOAD | self.payloads.keep(load)
        } else {
            Packet::NO_DETAIL
        };
        let flags = Flags::ACK.with(Flags::REQUEST);
        self.send(flow_id, true, number, size_bytes, detail, self.now, flags);
    }

    fn send_datagrams(&mut self, flow_id: u32) {
        let flow = &mut self.flows[flow_id as usize];
        if let Some(datagram) = flow.ends.poll_datagram() {
            flow.totals.sent_payload_bytes += u64::from(datagram.user_bytes);
            self.send(flow_id, false, datagram.seq, datagram.size, datagram.user_bytes, self.now, Flags::NONE);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a packet, private to the hosts")]
    fn send(&mut self, flow_id: u32, is_ack: bool, seq: u32, size: u32, detail: u32, stamp: Time, flags: Flags) {
        self.send_here(flow_id, is_ack, seq, size, detail, stamp, flags);
    }

    /// The same without a call, whose arguments would go through memory.
    #[expect(clippy::too_many_arguments, reason = "the fields of a packet, private to the hosts")]
    #[inline(always)]
    fn send_here(&mut self, flow_id: u32, is_ack: bool, seq: u32, size: u32, detail: u32, stamp: Time, flags: Flags) {
        let direction = usize::from(is_ack);
        let ends = &self.to[flow_id as usize];
        let (to, node) = (ends[direction], ends[1 - direction].node);
        let flow = &mut self.flows[flow_id as usize];
        let number = flow.numbers[direction];
        flow.numbers[direction] += 1;
        if is_ack {
            flow.totals.acks_sent += 1;
        } else {
            flow.totals.sent += 1;
            flow.totals.sent_bytes += u64::from(size);
        }
        debug_assert!(size <= u32::from(u16::MAX));
        let mut packet =
            Packet { stamp, flow: flow_id, seq, number, detail, to: node, size: size as u16, ttl: flow.ttl, flags };
        self.forward(node, &mut packet, to);
    }

    pub(crate) fn arm_application(&mut self, flow_id: u32) {
        let slot = self.slots.applications + flow_id;
        match self.flows[flow_id as usize].application.next_event() {
            Some(time) => self.events.arm(slot, time, self.now),
            None => self.events.disarm(slot),
        }
    }

    pub(crate) fn on_application(&mut self, flow_id: u32) {
        let now = self.now;
        if self.is_elsewhere(self.data_ends(flow_id as usize).0) {
            return self.follow_application(flow_id);
        }
        let delivered = self.delivered_in_all(flow_id);
        let flow = &mut self.flows[flow_id as usize];
        if let Ends::Hosts(hosts) = &mut flow.ends
            && hosts.is_to_connect
            && flow.application.waits_for_connection()
        {
            hosts.source().open(now);
            self.recorder.flow_event(now, flow_id, "start", flow.ends.report());
            self.arm_application(flow_id);
            return self.after_source_input(flow_id);
        }
        let step = flow.application.step(delivered);
        if let (Some(AppStep::Browse), Some(visit)) = (step, flow.application.visit()) {
            return self.browse(flow_id, visit);
        }
        if let (Some(AppStep::Start | AppStep::Produce), Some(bytes)) = (step, flow.application.portion_bytes()) {
            flow.updates.written(now, bytes);
        }
        // A leg opens with the first packet of the one before, and sends on what its buffer holds at the stop.
        let is_fed = flow.leg.as_deref().is_some_and(|leg| leg.before.is_some());
        if let Some(transfer) = flow.application.begins(step) {
            self.transfer_begins(flow_id, &transfer);
        }
        let flow = &mut self.flows[flow_id as usize];
        match step {
            None | Some(AppStep::Browse) => {}
            Some(AppStep::Stop) if is_fed => flow.at_stop = Some(Box::new(flow.totals)),
            Some(_) if is_fed => {}
            Some(AppStep::Start) => {
                flow.ends.open(now);
                flow.ends.supply(now, flow.application.supply());
                if !flow.ends.has_messages() {
                    self.recorder.flow_event(now, flow_id, "start", flow.ends.report());
                }
            }
            Some(AppStep::Produce) => flow.ends.supply(now, flow.application.supply()),
            Some(AppStep::Stop) => {
                flow.ends.close(now);
                flow.at_stop = Some(Box::new(flow.totals));
                self.recorder.flow_event(now, flow_id, "stop", flow.ends.report());
            }
            Some(AppStep::Ask { size_bytes, number }) => {
                self.send_request(flow_id, number, size_bytes);
                return self.arm_application(flow_id);
            }
        }
        self.arm_application(flow_id);
        self.after_source_input(flow_id);
    }
}
