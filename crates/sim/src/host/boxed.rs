//! Drives transports that the engine does not know: two boxed [`Endpoint`]s for each flow.

use super::endpoint::{
    Arrived, Codepoint, Counters, Endpoint, Fact, Failure, MessageCounts, Report, Settled, Transport,
};
use super::ends::Ends;
use super::payloads::Leaving;
use crate::agents::is_copy;
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
fn flags_of(side: Side, packet: &Leaving) -> Flags {
    let direction = if side == Side::Sink { Flags::ACK } else { Flags::NONE };
    let again = if packet.repeats { Flags::RETRANSMISSION } else { Flags::NONE };
    let ecn = match packet.ecn {
        Codepoint::NotEct => Flags::NONE,
        Codepoint::Ect1 => Flags::ECT.with(Flags::ECT1),
        Codepoint::Ect0 => Flags::ECT,
        Codepoint::Ce => Flags::ECT.with(Flags::CE),
    };
    direction.with(again).with(ecn)
}

impl Simulation {
    /// A packet of the source is at the sink. A call: inline, it takes registers from Skyhop's own TCP.
    #[inline(never)]
    pub(crate) fn deliver_to_sink(&mut self, packet: &Packet) {
        self.serve(packet.flow, Side::Sink, Some(packet), true);
    }

    /// A packet of the sink is at the source, or a request of the sink's side. A call, as the one above.
    #[inline(never)]
    pub(crate) fn deliver_to_source(&mut self, packet: &Packet) {
        if packet.flags.has(Flags::REQUEST) {
            return self.deliver_request(packet);
        }
        if let Some(link) = self.recorder.ack_link {
            self.record_packet(self.now, link, PacketEvent::Ack, packet);
        }
        self.serve(packet.flow, Side::Source, Some(packet), true);
    }

    /// Everything that a host wants after an input of its application: packets, records, its timer.
    pub(crate) fn after_host_input(&mut self, flow_id: u32, side: Side) {
        match side {
            Side::Source => self.serve(flow_id, Side::Source, None, false),
            Side::Sink => self.serve(flow_id, Side::Sink, None, false),
        }
    }

    /// Asks a host for up to `most` packets more.
    fn settle_host(&mut self, flow_id: u32, side: Side, most: u32) -> Settled {
        let Some(hosts) = self.flows[flow_id as usize].ends.hosts_mut() else { return Settled::NOTHING };
        hosts.end(side).serve(self.now, None, most, &mut self.payloads);
        self.payloads.settled
    }

    /// Gives a host its packet, if one has arrived, and does what the host wants after the input. `may_know_more`: the
    /// input was a packet or a timeout, in which the sink may have delivered data, and the source may have learned that
    /// its data arrived.
    #[inline(always)]
    fn serve(&mut self, flow_id: u32, side: Side, packet: Option<&Packet>, may_know_more: bool) {
        let now = self.now;
        // One look at the flow: each costs as much as a step of what follows.
        let flow = &mut self.flows[flow_id as usize];
        let Ends::Hosts(hosts) = &mut flow.ends else { return };
        let arrived = match packet {
            Some(packet) => {
                let Some(handle) = packet.payload() else { return };
                if side == Side::Source {
                    flow.totals.acks_received += 1;
                } else {
                    flow.totals.received += 1;
                    flow.totals.copies += u64::from(is_copy(packet));
                    flow.totals.wire_bytes += u64::from(packet.size);
                    if !hosts.has_messages {
                        flow.meter.arrived(now, packet.stamp);
                    }
                }
                Some(Arrived { handle, packet })
            }
            None => None,
        };
        if !hosts.end(side).serve(now, arrived, BETWEEN_LOOKS, &mut self.payloads) {
            debug_assert!(false, "a packet without its payload: {packet:?}");
            return;
        }
        let settled = &self.payloads.settled;
        let (timeout, has_more) = (settled.timeout, settled.has_more);
        let is_sooner = timeout.max(now) < hosts.armed[side as usize];
        if side == Side::Source {
            if let Some(average) = &mut flow.cwnd
                && let Some(cwnd) = hosts.end(Side::Source).cwnd()
            {
                average.set(now, cwnd);
            }
            if let Some(rtt) = settled.rtt {
                flow.rtt.add(rtt);
                self.recorder.rtt(flow_id, rtt);
            }
            if may_know_more && flow.application.awaits_confirmation() {
                self.confirm(flow_id);
            }
        } else if may_know_more {
            let delivered_bytes = settled.delivered_bytes;
            flow.totals.bytes_delivered = delivered_bytes;
            flow.totals.duplicate = settled.duplicates;
            if !hosts.has_messages {
                let rows = &mut self.recorder.records.transfers;
                flow.updates.received_bytes(now, delivered_bytes, flow_id, rows);
            }
            if flow.application.waits_for(delivered_bytes) {
                self.read_by_application(flow_id);
            }
        }
        self.send_of_host(flow_id, side);
        let is_remembered = side == Side::Source && self.is_remembered(flow_id);
        if has_more || !self.payloads.facts.is_empty() || is_remembered {
            return self.follow_further(flow_id, side, timeout, has_more);
        }
        if is_sooner {
            self.arm_host(flow_id, side, timeout);
        }
    }

    /// The sink's application reads. It may make hosts send, whose packets go before those that wait here.
    #[cold]
    fn read_by_application(&mut self, flow_id: u32) {
        let leaving = std::mem::take(&mut self.payloads.leaving);
        let facts = std::mem::take(&mut self.payloads.facts);
        self.deliver_to_application(flow_id);
        self.payloads.leaving = leaving;
        self.payloads.facts = facts;
    }

    /// The rest of [`Simulation::serve`], for inputs with much to do.
    #[inline(never)]
    fn follow_further(&mut self, flow_id: u32, side: Side, mut timeout: Time, mut has_more: bool) {
        // A window can release a burst that takes longer than anybody waits: see `limits.rs`.
        while has_more {
            let most = if self.is_to_end() { 0 } else { BETWEEN_LOOKS };
            let settled = self.settle_host(flow_id, side, most);
            (timeout, has_more) = (settled.timeout, settled.has_more);
            self.send_of_host(flow_id, side);
            if let (Some(rtt), Side::Source) = (settled.rtt, side) {
                self.keep_rtt(flow_id, rtt);
            }
        }
        let facts = std::mem::take(&mut self.payloads.facts);
        for &fact in &facts {
            match fact {
                Fact::Rtt(rtt) if side == Side::Source => self.keep_rtt(flow_id, rtt),
                // Round trips are those of the data.
                Fact::Rtt(_) => {}
                fact => self.keep_fact(flow_id, side, fact),
            }
        }
        self.payloads.facts = facts;
        self.payloads.facts.clear();
        if side == Side::Source {
            let now = self.now;
            let flow = &mut self.flows[flow_id as usize];
            if let Some(average) = &mut flow.cwnd
                && let Some(cwnd) = flow.ends.cwnd()
            {
                average.set(now, cwnd);
            }
            if let Some(part) = &mut self.part
                && part.remembers(flow_id)
                && let Some(report) = flow.ends.report()
            {
                part.remember(now, flow_id, report);
            }
        }
        self.arm_host(flow_id, side, timeout);
    }

    fn keep_rtt(&mut self, flow_id: u32, rtt: Duration) {
        self.flows[flow_id as usize].rtt.add(rtt);
        self.recorder.rtt(flow_id, rtt);
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

    /// Sends the packets that a host has handed over.
    #[inline(always)]
    fn send_of_host(&mut self, flow_id: u32, side: Side) {
        let mut at = 0;
        while let Some(&packet) = self.payloads.leaving.get(at) {
            at += 1;
            let (flags, detail) = (flags_of(side, &packet), Packet::PAYLOAD | packet.handle);
            if side == Side::Source {
                let totals = &mut self.flows[flow_id as usize].totals;
                totals.sent_payload_bytes += u64::from(packet.user_bytes);
                if packet.repeats {
                    totals.resent_bytes += u64::from(packet.size);
                }
            }
            self.send_here(flow_id, side == Side::Sink, packet.seq, packet.size.into(), detail, self.now, flags);
        }
        self.payloads.leaving.clear();
    }

    /// Most inputs only move the deadline away. Then the slot stays where it is, fires early and moves itself.
    #[inline(always)]
    fn arm_host(&mut self, flow_id: u32, side: Side, timeout: Time) {
        let now = self.now;
        let Some(hosts) = self.flows[flow_id as usize].ends.hosts_mut() else { return };
        // An event cannot be before the present.
        let deadline = timeout.max(now);
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
        let timeout = hosts.end(side).next_timeout();
        if timeout > now {
            return self.arm_host(flow_id, side, timeout);
        }
        hosts.end(side).on_timeout(now);
        match side {
            Side::Source => self.serve(flow_id, Side::Source, None, true),
            Side::Sink => self.serve(flow_id, Side::Sink, None, true),
        }
    }
}
