//! Drives transports that the engine does not know: two boxed [`Endpoint`]s for each flow.

use super::endpoint::{
    Codepoint, Counters, Endpoint, Fact, Failure, Incoming, MessageCounts, Outgoing, Report, Transport,
};
use super::payloads::{Load, PacketKind};
use crate::limits::BETWEEN_LOOKS;
use crate::packet::{Flags, Packet};
use crate::records::PacketEvent;
use crate::simulation::Simulation;
use skyhop_base::{Duration, Stream, Time};
use skyhop_transport::Supply;

/// One of the two hosts of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Source,
    Sink,
}

/// Both hosts of a flow.
pub(crate) struct Hosts {
    pub(crate) ends: [Box<dyn Endpoint>; 2],
    /// For when the slot of each is armed, [`Time::MAX`] when it is not.
    armed: [Time; 2],
    /// Writes are messages, whose delays count in place of the packets'.
    pub(crate) has_messages: bool,
    /// The application waits for the connection.
    pub(crate) is_to_connect: bool,
}

impl Hosts {
    pub fn new(transport: &dyn Transport, flow: &str, seed: u64) -> Hosts {
        let source = transport.source(Stream::new(seed, flow, "source"));
        let sink = transport.sink(Stream::new(seed, flow, "sink"));
        let has_messages = transport.message_bytes().is_some();
        Hosts { ends: [source, sink], armed: [Time::MAX; 2], has_messages, is_to_connect: has_messages }
    }

    fn end(&mut self, side: Side) -> &mut dyn Endpoint {
        &mut *self.ends[side as usize]
    }

    pub fn source(&mut self) -> &mut dyn Endpoint {
        self.end(Side::Source)
    }

    pub fn supply(&mut self, now: Time, supply: Supply) {
        let bytes = match supply {
            Supply::Unlimited => None,
            Supply::Bytes(bytes) => Some(bytes),
            // No application counts in segments.
            Supply::Segments(_) => Some(0),
        };
        self.source().write(now, bytes);
    }

    pub fn delivered_of_write(&self, number: u64) -> Option<u64> {
        self.ends[Side::Sink as usize].delivered_of_write(number)
    }

    pub fn handover_lead(&self) -> Option<Duration> {
        self.ends[Side::Source as usize].handover_lead()
    }

    pub fn report(&self) -> Report {
        self.ends[Side::Source as usize].report()
    }

    pub fn cwnd(&self) -> Option<f64> {
        self.ends[Side::Source as usize].cwnd()
    }

    pub fn counters(&self) -> Counters {
        let [source, sink] = &self.ends;
        let (source, sink) = (source.counters(), sink.counters());
        let received = sink.messages.map_or(0, |messages| messages.received);
        let messages = source.messages.map(|messages| MessageCounts { received, ..messages });
        Counters { duplicates: sink.duplicates, messages, ..source }
    }

    pub fn backlog_bytes(&self) -> u64 {
        self.ends[Side::Source as usize].backlog_bytes()
    }

    /// The failure of the end that failed first.
    pub fn failure(&self) -> Option<Failure> {
        self.ends.iter().filter_map(|end| end.failure()).min_by_key(|failure| failure.at)
    }

    pub fn memory_bytes(&self) -> u64 {
        size_of::<Hosts>() as u64 + self.ends.iter().map(|end| end.memory_bytes()).sum::<u64>()
    }
}

/// The flags of a packet.
fn flags_of(side: Side, packet: &Outgoing) -> Flags {
    let direction = if side == Side::Sink { Flags::ACK } else { Flags::NONE };
    let again = if packet.repeats { Flags::RETRANSMISSION } else { Flags::NONE };
    let ecn = match packet.ecn {
        Codepoint::NotEct => Flags::NONE,
        Codepoint::Ect0 => Flags::ECT,
        Codepoint::Ect1 => Flags::ECT.with(Flags::ECT1),
        Codepoint::Ce => Flags::ECT.with(Flags::CE),
    };
    direction.with(again).with(ecn)
}

impl Simulation {
    /// A packet of the source is at the sink.
    pub(super) fn deliver_to_sink(&mut self, packet: &Packet) {
        self.hand_over(packet, Side::Sink);
        self.read_sink(packet.flow);
        self.after_host_input(packet.flow, Side::Sink);
    }

    /// The sink's application reads what has arrived. A host that takes time to process a packet delivers at a timeout.
    #[inline(always)]
    fn read_sink(&mut self, flow_id: u32) {
        let now = self.now;
        let flow = &mut self.flows[flow_id as usize];
        let Some(hosts) = flow.ends.hosts_mut() else { return };
        let sink = hosts.end(Side::Sink);
        flow.totals.bytes_delivered = sink.delivered_bytes();
        flow.totals.duplicate = sink.duplicates();
        let delivered = flow.totals.bytes_delivered;
        if !hosts.has_messages {
            flow.updates.received_bytes(now, delivered, flow_id, &mut self.recorder.records.transfers);
        }
        if flow.application.waits_for(delivered) {
            self.deliver_to_application(flow_id);
        }
    }

    /// The source may have learned that what it wrote has arrived.
    fn look_for_confirmation(&mut self, flow_id: u32) {
        if self.flows[flow_id as usize].application.awaits_confirmation() {
            self.confirm(flow_id);
        }
    }

    /// A packet of the sink is at the source.
    pub(super) fn deliver_to_source(&mut self, packet: &Packet) {
        if let Some(link) = self.recorder.ack_link {
            self.record_packet(self.now, link, PacketEvent::Ack, packet);
        }
        self.flows[packet.flow as usize].totals.acks_received += 1;
        self.hand_over(packet, Side::Source);
        self.look_for_confirmation(packet.flow);
        self.after_host_input(packet.flow, Side::Source);
    }

    /// Gives a host its packet.
    #[inline(always)]
    fn hand_over(&mut self, packet: &Packet, side: Side) {
        let load = packet.payload().and_then(|handle| self.payloads.take(handle));
        debug_assert!(load.is_some(), "a packet without its payload: {packet:?}");
        let (Some(Load { payload, ecn, .. }), Some(hosts)) = (load, self.flows[packet.flow as usize].ends.hosts_mut())
        else {
            return;
        };
        let ecn = if packet.flags.has(Flags::CE) { Codepoint::Ce } else { ecn };
        let arrived = Incoming { seq: packet.seq, size: packet.size, ecn, payload };
        hosts.end(side).on_packet(self.now, arrived);
    }

    /// Everything that a host wants after an input: packets, records, its timer.
    pub(crate) fn after_host_input(&mut self, flow_id: u32, side: Side) {
        // A copy of the code for each side: for a sink nothing of the window is left.
        match side {
            Side::Source => self.after_input_of(flow_id, Side::Source),
            Side::Sink => self.after_input_of(flow_id, Side::Sink),
        }
    }

    #[inline(always)]
    fn after_input_of(&mut self, flow_id: u32, side: Side) {
        // A window can release a burst that takes longer than anybody waits: see `limits.rs`.
        while self.send_some_of_host(flow_id, side) && !self.is_to_end() {}
        loop {
            let flow = &mut self.flows[flow_id as usize];
            let Some(hosts) = flow.ends.hosts_mut() else { return };
            let Some(fact) = hosts.end(side).poll_fact() else { break };
            match fact {
                Fact::Rtt(rtt) if side == Side::Source => {
                    flow.rtt.add(rtt);
                    self.recorder.rtt(flow_id, rtt);
                }
                // Round trips are those of the data.
                Fact::Rtt(_) => {}
                fact => self.keep_fact(flow_id, side, fact),
            }
        }
        if side == Side::Source {
            let now = self.now;
            let flow = &mut self.flows[flow_id as usize];
            let Some(hosts) = flow.ends.hosts_mut() else { return };
            if let Some(average) = &mut flow.cwnd
                && let Some(cwnd) = hosts.cwnd()
            {
                average.set(now, cwnd);
            }
            if let Some(part) = &mut self.part
                && part.remembers(flow_id)
            {
                part.remember(flow_id, hosts.report());
            }
        }
        self.arm_host(flow_id, side);
    }

    /// What few inputs lead to.
    #[cold]
    fn keep_fact(&mut self, flow_id: u32, side: Side, fact: Fact) {
        match (fact, side) {
            // A run that records no packets writes no row for it.
            (Fact::Lost { seq, packet, size }, Side::Source) => self.record_lost_packet(flow_id, seq, packet, size),
            (Fact::Event(name), Side::Sink) => self.source_event(flow_id, name),
            (Fact::Event(name), Side::Source) => {
                let report = self.flows[flow_id as usize].ends.report();
                self.recorder.flow_event(self.now, flow_id, name, report);
            }
            (Fact::Connected, _) => self.start_when_connected(flow_id),
            (Fact::Message { number, written }, _) => {
                let now = self.now;
                let flow = &mut self.flows[flow_id as usize];
                flow.meter.arrived(now, written);
                if let Some(call) = &mut flow.call {
                    call.arrived(now, written, number);
                }
                flow.updates.datagram_received(now, written, flow_id, &mut self.recorder.records.transfers);
            }
            (Fact::Lost { .. }, Side::Sink) | (Fact::Rtt(_), _) => {}
        }
    }

    /// The connection stands: an application that waits for it begins.
    fn start_when_connected(&mut self, flow_id: u32) {
        let flow = &mut self.flows[flow_id as usize];
        let Some(hosts) = flow.ends.hosts_mut() else { return };
        if std::mem::take(&mut hosts.is_to_connect) {
            flow.application.connected(self.now);
            self.arm_application(flow_id);
        }
    }

    /// Sends so many packets that it is time to look at the limits; false when there are no more.
    #[inline(always)]
    fn send_some_of_host(&mut self, flow_id: u32, side: Side) -> bool {
        for _ in 0..BETWEEN_LOOKS {
            let flow = &mut self.flows[flow_id as usize];
            let Some(packet) = flow.ends.hosts_mut().and_then(|hosts| hosts.end(side).poll_transmit(self.now)) else {
                return false;
            };
            if side == Side::Source {
                flow.totals.sent_payload_bytes += u64::from(packet.user_bytes);
                if packet.repeats {
                    flow.totals.resent_bytes += u64::from(packet.size);
                }
            }
            let flags = flags_of(side, &packet);
            let Outgoing { seq, size, ecn, payload, user_bytes, .. } = packet;
            let kind = match payload.opens() {
                true => PacketKind::Opens,
                false if user_bytes > 0 => PacketKind::Data,
                false => PacketKind::Bare,
            };
            let detail = Packet::PAYLOAD | self.payloads.keep(Load { payload, ecn, kind, user_bytes });
            self.send(flow_id, side == Side::Sink, seq, size.into(), detail, self.now, flags);
        }
        true
    }

    /// Most inputs only move the deadline away. Then the slot stays where it is, fires early and moves itself.
    #[inline(always)]
    fn arm_host(&mut self, flow_id: u32, side: Side) {
        let now = self.now;
        let Some(hosts) = self.flows[flow_id as usize].ends.hosts_mut() else { return };
        // An event cannot be before the present.
        let deadline = hosts.end(side).next_timeout().max(now);
        let armed = &mut hosts.armed[side as usize];
        if deadline < *armed {
            *armed = deadline;
            self.events.arm(self.slot_of(flow_id, side), deadline, now);
        }
    }

    fn slot_of(&self, flow_id: u32, side: Side) -> u32 {
        flow_id
            + match side {
                Side::Source => self.slots.senders,
                Side::Sink => self.slots.receivers,
            }
    }

    pub(super) fn on_host_timeout(&mut self, flow_id: u32, side: Side) {
        let now = self.now;
        self.events.disarm(self.slot_of(flow_id, side));
        let Some(hosts) = self.flows[flow_id as usize].ends.hosts_mut() else { return };
        hosts.armed[side as usize] = Time::MAX;
        if hosts.end(side).next_timeout() > now {
            return self.arm_host(flow_id, side);
        }
        hosts.end(side).on_timeout(now);
        match side {
            Side::Source => self.look_for_confirmation(flow_id),
            Side::Sink => self.read_sink(flow_id),
        }
        self.after_host_input(flow_id, side);
    }
}
