//! The simulation: components, their slots in the event queue, and the way of a packet between them.

use crate::ack_details::{AckDetail, AckDetails, Way};
use crate::agents::{Agents, Passage, is_copy};
use crate::application::AppStep;
use crate::build::{build_doubles, build_flows, build_links, seeded};
use crate::check::{check_flows, check_size};
use crate::doubles::{Doubles, Whose};
use crate::errors::ErrorModel;
use crate::events::{Event, EventQueue, MOST_SLOTS};
use crate::flow::{Endpoints, Flow, FlowState};
use crate::ground::{Ground, moving_delay};
use crate::jitter::sends_at;
use crate::limits::{BETWEEN_LOOKS, Halt, Limits};
use crate::link::{Entry, Fate, Link, Offered};
use crate::packet::{Flags, Packet};
use crate::recorder::{Recorder, event_name};
use crate::records::{DropCause, DropCounts, PacketEvent, Records};
use crate::spec::{OnDown, SimulationSpec};
use crate::wire;
use skyhop_base::{Duration, Index, Time};
use skyhop_topology::{Change, DelaySegment, Forwarding, NodeId, Topology, TopologyError};
use skyhop_transport::{Priority, Segment, Sender, Transmission};

/// Why no simulation can be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    #[error(transparent)]
    Topology(#[from] TopologyError),
    #[error("{count} wired links have {configs} configurations: one each is needed")]
    WiredConfigs { count: usize, configs: usize },
    #[error("the topology has {kind} links, but none is configured")]
    MissingConfig { kind: &'static str },
    #[error("flow {flow}: node {node} does not exist")]
    UnknownNode { flow: String, node: u32 },
    #[error("flow {flow} leads from a node to itself")]
    SelfFlow { flow: String },
    #[error("flow {flow}: its application needs a TCP, datagrams have no acknowledged stream")]
    TransferOverDatagrams { flow: String },
    #[error("no link is called {name:?}, so its errors cannot be reported")]
    UnknownWatchedLink { name: String },
    #[error("the errors of {name:?} are reported to two agents")]
    WatchedTwice { name: String },
    #[error("what survives {name:?}, or is lost on it, is marked by two agents")]
    MarkedTwice { name: String },
    #[error("an agent is at node {node}, which does not exist")]
    UnknownAgentNode { node: u32 },
    #[error("no link is called {name:?}, so its packets cannot be recorded")]
    UnknownRecordedLink { name: String },
    #[error("flow {flow}: {what} has {size} B on the wire, at most 65535 B are possible")]
    PacketTooLarge { flow: String, what: &'static str, size: u64 },
    #[error("a run of {days:.0} days is too long: 52 days are possible")]
    TooLong { days: f64 },
    #[error("the clock of ns-2 is for links of a steady rate, and {link} is none")]
    NotByDoubles { link: String },
    #[error("{components} links and endpoints are too many: {MOST_SLOTS} are possible")]
    TooLarge { components: usize },
}

impl SimulationError {
    /// The name of the flow that is meant, if one is.
    pub fn flow(&self) -> Option<&str> {
        match self {
            SimulationError::UnknownNode { flow, .. }
            | SimulationError::SelfFlow { flow }
            | SimulationError::TransferOverDatagrams { flow }
            | SimulationError::PacketTooLarge { flow, .. } => Some(flow),
            _ => None,
        }
    }
}

/// How far it is to the other end of a link.
#[derive(Debug)]
pub(crate) enum Delay {
    Fixed(Duration),
    /// Between two satellites: the peer and the piece of the delay curve to it that were used last.
    Moving(Box<Option<(u32, DelaySegment)>>),
    /// Between the ground and the serving satellite; the curve is kept with the station.
    Ground,
}

/// See [`Link`] for the order.
#[repr(C, align(64))]
pub(crate) struct LinkState {
    pub from: u32,
    /// No errors, no records of packets, no late departures: arrivals need not ask for them one by one.
    pub plain: bool,
    /// Whether each packet event is recorded.
    pub recorded: bool,
    /// Recorded, or by ns-2's clock.
    pub watched: bool,
    pub delay: Delay,
    pub link: Link,
    pub errors: Vec<ErrorModel>,
    pub drops: DropCounts,
    /// Packets that wait for a station's transmitter to find a satellite again ([`OnDown::Hold`]).
    pub held: Vec<Packet>,
}

impl LinkState {
    /// Whether a packet that arrives at `now` was on the link for its transmission and the propagation at least, as
    /// far as these are constant.
    fn took_its_time(&self, entry: &Entry, now: Time) -> bool {
        let propagation = match self.delay {
            Delay::Fixed(delay) => delay,
            Delay::Moving(_) | Delay::Ground => Duration::ZERO,
        };
        // The fraction of a nanosecond that the packet before left over may shorten this one by one.
        let least = self.link.least_service(entry.packet.size) + propagation;
        entry.arrival <= now && entry.arrival + Duration::from_nanos(1) >= entry.start + least
    }
}

/// Where packets of one direction of a flow go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Destination {
    pub node: u32,
    /// Index of the node among the destinations in use.
    pub index: u32,
}

/// The slots of the event queue, by class: topology, links, senders, receivers, applications, samplers, helpers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    pub links: u32,
    pub senders: u32,
    pub receivers: u32,
    pub applications: u32,
    grid: u32,
    positions: u32,
}

impl Slots {
    /// That of the helpers' timer is the last one.
    pub fn agents(&self) -> u32 {
        self.positions + 1
    }
}

pub(crate) const TOPOLOGY: u32 = 0;

/// One scenario with one seed, ready to run.
pub struct Simulation {
    pub(crate) now: Time,
    pub(crate) end: Time,
    /// Scheduling time of the event that is being handled.
    scheduled: Time,
    pub(crate) events: EventQueue,
    /// ns-2's clock, in a run by it.
    pub(crate) doubles: Option<Box<Doubles>>,
    pub(crate) slots: Slots,
    pub(crate) topology: Topology,
    pub(crate) forwarding: Forwarding,
    pub(crate) destinations: Vec<NodeId>,
    /// By flow and direction (data, ACKs).
    to: Vec<[Destination; 2]>,
    pub(crate) links: Vec<LinkState>,
    pub(crate) ground: Ground,
    pub(crate) flows: Vec<Flow>,
    pub(crate) ack_details: AckDetails,
    pub(crate) agents: Agents,
    pub(crate) recorder: Recorder,
    pub(crate) changes: Vec<Change>,
    pub(crate) packet_hops: u64,
    pub(crate) event_count: u64,
    /// Events from here on are not handled for now.
    pub(crate) before: Time,
    pub(crate) limits: Option<Box<Limits>>,
    pub(crate) halted: Option<Halt>,
}

impl Simulation {
    /// Builds the components. The same `spec` and `seed` give the same run, bit for bit.
    pub fn new(spec: &SimulationSpec, seed: u64) -> Result<Simulation, SimulationError> {
        let (topology, links, agents) = Simulation::parts(spec, seed)?;
        let (link_count, flow_count) = (links.len() as u32, spec.flows.len() as u32);
        let slots = Slots {
            links: TOPOLOGY + 1,
            senders: TOPOLOGY + 1 + link_count,
            receivers: TOPOLOGY + 1 + link_count + flow_count,
            applications: TOPOLOGY + 1 + link_count + 2 * flow_count,
            grid: TOPOLOGY + 1 + link_count + 3 * flow_count,
            positions: TOPOLOGY + 2 + link_count + 3 * flow_count,
        };
        let ends = spec.flows.iter().flat_map(|flow| [flow.from, flow.to]);
        let mut destinations: Vec<NodeId> = ends.chain(agents.destinations()).collect();
        destinations.sort_unstable();
        destinations.dedup();
        let destination = |node: NodeId| Destination {
            node: node.as_u32(),
            index: destinations.partition_point(|&other| other < node) as u32,
        };
        let of_flows = spec.flows.iter().map(|flow| [destination(flow.to), destination(flow.from)]);
        let to = of_flows.chain(Simulation::channel_ends(&agents, destination)).collect();
        let mut recorder = Recorder::new(spec, &topology);
        recorder.records.flow_names.extend(agents.names(&topology));
        let mut simulation = Simulation {
            now: Time::ZERO,
            end: Time::ZERO + spec.duration,
            scheduled: Time::ZERO,
            events: EventQueue::new(slots.agents() as usize + 1, slots.links..slots.senders),
            doubles: build_doubles(spec),
            slots,
            ground: Ground::new(&topology),
            recorder,
            topology,
            forwarding: Forwarding::default(),
            destinations,
            to,
            links,
            flows: build_flows(spec, seed),
            ack_details: AckDetails::default(),
            agents,
            changes: Vec::new(),
            packet_hops: 0,
            event_count: 0,
            before: Time::ZERO,
            limits: None,
            halted: None,
        };
        simulation.arm_first_events();
        Ok(simulation)
    }

    /// Whether [`Simulation::new`] builds a simulation of `spec`: by building whatever of it can be refused.
    ///
    /// # Errors
    /// That of [`Simulation::new`].
    pub fn check(spec: &SimulationSpec) -> Result<(), SimulationError> {
        Simulation::parts(spec, 0).map(drop)
    }

    /// Everything that may not be buildable. What else a simulation has follows from it.
    fn parts(spec: &SimulationSpec, seed: u64) -> Result<(Topology, Vec<LinkState>, Agents), SimulationError> {
        let (network, sky) = seeded(spec.topology.clone(), spec.sky.clone(), seed);
        let topology = Topology::with_options(network, sky)?;
        check_flows(spec, &topology)?;
        check_size(spec, &topology)?;
        let links = build_links(spec, &topology, seed)?;
        let agents = Agents::new(spec, &topology)?;
        Ok((topology, links, agents))
    }

    fn arm_first_events(&mut self) {
        self.renew_routes();
        self.arm_topology();
        for flow in 0..self.flows.len() as u32 {
            self.arm_application(flow);
        }
        if let Some(step) = self.recorder.grid {
            self.events.arm(self.slots.grid, Time::ZERO + step, Time::MAX);
        }
        if self.recorder.positions.is_some() {
            self.events.arm(self.slots.positions, Time::ZERO, Time::MAX);
        }
    }

    /// The present of the simulation.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The end of the run.
    pub fn end(&self) -> Time {
        self.end
    }

    /// How a flow is doing now.
    ///
    /// # Panics
    /// If there is no flow of that rank.
    pub fn flow_state(&self, flow: usize) -> FlowState {
        let Flow { ends, totals, .. } = &self.flows[flow];
        let cwnd = match ends {
            Endpoints::Tcp(tcp) => Some(tcp.sender.cwnd()),
            Endpoints::Datagram { .. } => None,
        };
        FlowState { bytes_delivered: totals.bytes_delivered, cwnd }
    }

    /// Runs to the end and gives the records.
    pub fn run(mut self) -> Records {
        self.run_until(self.end);
        self.finish()
    }

    /// Handles every event up to `until` (or the end of the run, if that is sooner), that instant included; fewer if a
    /// limit ends the run: [`Simulation::halted`].
    pub fn run_until(&mut self, until: Time) {
        let until = until.min(self.end);
        if self.halted.is_some() {
            return;
        }
        self.before = until + Duration::from_nanos(1);
        while self.handle_some() {
            if self.is_to_end() {
                return;
            }
        }
        self.now = until;
    }

    /// Handles so many events that it is time to look at the limits; false when there is none left before
    /// [`Simulation::before`].
    #[inline(always)]
    fn handle_some(&mut self) -> bool {
        for handled in 0..BETWEEN_LOOKS {
            let Some(event) = self.events.first().filter(|event| event.time < self.before) else {
                self.event_count += u64::from(handled);
                return false;
            };
            // By ns-2's clock a timer sees its deadline, which its event may precede by the rounding of a double.
            debug_assert!(event.time >= self.now || self.doubles.is_some(), "an event before the present");
            self.now = event.time;
            self.scheduled = event.scheduled;
            self.handle(event);
        }
        self.event_count += u64::from(BETWEEN_LOOKS);
        true
    }

    #[inline(always)]
    fn handle(&mut self, Event { slot, .. }: Event) {
        let slots = self.slots;
        let link = slot.wrapping_sub(slots.links);
        if link < self.links.len() as u32 {
            return self.on_arrival(link);
        }
        if self.doubles.is_some() {
            self.set_doubles(slot);
        }
        if slot == TOPOLOGY {
            self.on_topology();
        } else if slot < slots.receivers {
            self.on_sender_timeout(slot - slots.senders);
        } else if slot < slots.applications {
            self.on_receiver_timeout(slot - slots.receivers);
        } else if slot < slots.grid {
            self.on_application(slot - slots.applications);
        } else if slot == slots.grid {
            self.on_grid();
        } else if slot == slots.positions {
            self.on_positions();
        } else {
            self.on_agents();
        }
    }

    /// The oldest packet of a link is at its other end.
    fn on_arrival(&mut self, link: u32) {
        let slot = self.slots.links + link;
        let plain = self.links[link as usize].plain;
        if !plain && self.serves_late(link) {
            return;
        }
        let state = &mut self.links[link as usize];
        let Some(mut entry) = state.link.take_arrived() else {
            self.events.disarm(slot);
            return;
        };
        match state.link.next_event(self.now) {
            Some((arrival, start)) => self.events.arm(slot, arrival, start),
            None => self.events.disarm(slot),
        }
        debug_assert!(state.took_its_time(&entry, self.now), "faster than the link: {entry:?}");
        if !plain && state.recorded {
            self.recorder.packet(entry.start, link, PacketEvent::Dequeue, &entry.packet);
        }
        if entry.packet.flags.has(Flags::IN_VAIN) {
            self.links[link as usize].link.take_fate();
            return self.drop_packet(&entry.packet, DropCause::LinkChange, Some(link));
        }
        if !plain && self.is_corrupted(link, &entry.packet) {
            return self.drop_packet(&entry.packet, DropCause::Error, Some(link));
        }
        self.packet_hops += 1;
        if !self.agents.is_empty() && self.pass_agents(link, entry.start, &mut entry.packet) == Passage::Ends {
            return;
        }
        let packet = &mut entry.packet;
        let to = self.to[packet.flow as usize][usize::from(packet.is_ack())];
        if packet.to != to.node {
            let node = packet.to;
            self.forward(node, packet, to);
        } else if packet.is_ack() {
            self.deliver_ack(packet);
        } else {
            self.deliver_data(packet);
        }
    }

    /// Whether the link's errors take a packet; if not, its arrival is recorded where that is wanted.
    #[inline(never)]
    fn is_corrupted(&mut self, link: u32, packet: &Packet) -> bool {
        let state = &mut self.links[link as usize];
        if !state.errors.is_empty() {
            let flow = packet.flow as usize;
            let key = match self.flows.get(flow) {
                Some(flow) => flow.key,
                None => self.agents.key(flow - self.flows.len()),
            };
            let lost = match state.link.take_fate() {
                Some(fate) => fate == Fate::Lost,
                None => state.errors.iter_mut().any(|model| model.loses(self.now, packet, key)),
            };
            if self.agents.watches(link) {
                self.checked(link, packet, lost);
            }
            if lost {
                return true;
            }
        }
        if self.links[link as usize].recorded {
            self.recorder.packet(self.now, link, PacketEvent::Receive, packet);
        }
        false
    }

    /// Sends a packet that is at `node` on its way. Half of what a packet-hop costs, hence part of its two callers.
    #[inline(always)]
    fn forward(&mut self, node: u32, packet: &mut Packet, to: Destination) {
        let Some(ttl) = packet.ttl.checked_sub(1) else {
            return self.drop_at(packet, DropCause::Ttl, None, node);
        };
        packet.ttl = ttl;
        match self.forwarding.next_hop(to.index as usize, NodeId::new(node)) {
            Some(hop) => {
                packet.to = hop.to.as_u32();
                self.transmit(hop.link.as_u32(), packet);
            }
            None => self.without_route(node, packet),
        }
    }

    /// Sends on a packet that has waited at `node`.
    pub(crate) fn forward_from(&mut self, node: u32, mut packet: Packet) {
        let to = self.to[packet.flow as usize][usize::from(packet.is_ack())];
        self.forward(node, &mut packet, to);
    }

    /// The source of a flow's data and where they go.
    pub(crate) fn data_ends(&self, flow: usize) -> (u32, Destination) {
        let [data, acks] = self.to[flow];
        (acks.node, data)
    }

    /// No route: the packet waits where the scenario says that a station's transmitter holds packets, else it is lost.
    #[cold]
    fn without_route(&mut self, node: u32, packet: &Packet) {
        let holds = |state: &LinkState| {
            state.from == node && matches!(state.delay, Delay::Ground) && state.link.on_down == OnDown::Hold
        };
        match self.topology.uplink(NodeId::new(node)).filter(|link| holds(&self.links[link.index()])) {
            Some(link) => self.links[link.index()].held.push(*packet),
            None => self.drop_at(packet, DropCause::NoRoute, None, node),
        }
    }

    /// Offers a packet to a link, and keeps record of it where that is wanted.
    #[inline(always)]
    fn transmit(&mut self, link: u32, packet: &Packet) {
        let offered =
            if self.links[link as usize].watched { self.offer_watched(link, packet) } else { self.offer(link, packet) };
        match offered {
            Offered::AcceptedFirst { arrival, start } => self.events.arm(self.slots.links + link, arrival, start),
            Offered::Accepted => {}
            seldom => self.settle(seldom, link, packet),
        }
    }

    #[inline(always)]
    fn offer(&mut self, link: u32, packet: &Packet) -> Offered {
        let (now, scheduled) = (self.now, self.scheduled);
        let Simulation { links, topology, ground, .. } = self;
        let state = &mut links[link as usize];
        let from = state.from;
        // Two copies of `Link::offer`: a fixed delay is no call.
        match &mut state.delay {
            Delay::Fixed(delay) => {
                let delay = *delay;
                state.link.offer(packet, now, scheduled, |_| delay)
            }
            moving => state.link.offer(packet, now, scheduled, |departure| {
                moving_delay(topology, ground, moving, from, packet.to, departure)
            }),
        }
    }

    #[inline(never)]
    fn offer_watched(&mut self, link: u32, packet: &Packet) -> Offered {
        if let Some(doubles) = &self.doubles {
            self.links[link as usize].link.set_moment(doubles.now);
        }
        if !self.links[link as usize].recorded {
            return self.offer(link, packet);
        }
        self.recorder.packet(self.now, link, PacketEvent::Enqueue, packet);
        let marked = self.links[link as usize].link.totals.marked;
        let offered = self.offer(link, packet);
        if self.links[link as usize].link.totals.marked > marked {
            self.recorder.packet(self.now, link, PacketEvent::Mark, packet);
        }
        offered
    }

    /// What follows when a packet was not simply accepted.
    #[cold]
    #[inline(never)]
    fn settle(&mut self, offered: Offered, link: u32, packet: &Packet) {
        match offered {
            Offered::AcceptedFirst { .. } | Offered::Accepted => {}
            Offered::Waits => self.arm_link(link),
            Offered::Displaces => self.drop_displaced(link),
            Offered::Early => self.drop_packet(packet, DropCause::Queue, Some(link)),
            Offered::Full => self.overflow(link, packet),
        }
    }

    fn deliver_data(&mut self, packet: &Packet) {
        let now = self.now;
        let flow = &mut self.flows[packet.flow as usize];
        flow.totals.received += 1;
        if is_copy(packet) {
            flow.totals.copies += 1;
        }
        flow.totals.wire_bytes += u64::from(packet.size);
        flow.meter.arrived(now, packet.stamp);
        match &mut flow.ends {
            Endpoints::Datagram { .. } => {
                flow.totals.bytes_delivered += u64::from(packet.detail);
                flow.updates.datagram_received(now, packet.stamp, packet.flow, &mut self.recorder.records.transfers);
            }
            Endpoints::Tcp(tcp) => {
                tcp.receiver.on_segment(now, &wire::segment(packet), packet.stamp);
                let (next, rows) = (tcp.receiver.next_expected(), &mut self.recorder.records.transfers);
                flow.updates.received_before(now, next, packet.flow, rows);
                let counters = tcp.receiver.counters();
                flow.totals.duplicate = counters.duplicates;
                flow.totals.bytes_delivered = counters.payload_bytes;
                if flow.leg.is_some() {
                    self.deliver_to_leg(packet.flow);
                    return self.send_acks(packet.flow);
                }
                if flow.application.waits_for(flow.totals.bytes_delivered) {
                    self.deliver_to_application(packet.flow);
                }
                self.send_acks(packet.flow);
            }
        }
    }

    #[inline(never)]
    fn deliver_to_application(&mut self, flow_id: u32) {
        let now = self.now;
        let flow = &mut self.flows[flow_id as usize];
        let Endpoints::Tcp(tcp) = &flow.ends else { return };
        let planned = flow.application.next_event();
        if let Some((transfer, is_last)) = flow.application.delivered(now, flow.totals.bytes_delivered) {
            self.recorder.transfer(now, flow_id, &transfer);
            if is_last {
                flow.completed = Some(now);
                self.recorder.flow_event(now, flow_id, "complete", tcp.sender.snapshot());
            }
        }
        if flow.application.next_event() != planned {
            self.arm_application(flow_id);
        }
    }

    fn deliver_ack(&mut self, packet: &Packet) {
        if packet.flow as usize >= self.flows.len() {
            return self.deliver_notice(packet);
        }
        let now = self.now;
        let details = match packet.detail {
            Packet::NO_DETAIL => AckDetail::default(),
            slot => self.ack_details.take(slot),
        };
        if !details.news {
            return self.deliver_window(packet, details.window);
        }
        let ack = wire::ack(packet, details.blocks);
        if !packet.flags.has(Flags::REQUEST) {
            self.recorder.ack_arrived(now, packet);
        }
        let flow = &mut self.flows[packet.flow as usize];
        flow.totals.acks_received += 1;
        let Endpoints::Tcp(tcp) = &mut flow.ends else { return };
        if packet.flags.has(Flags::REQUEST) {
            if let Some(answer) = flow.application.asked(packet.seq) {
                tcp.sender.supply(now, answer);
                self.after_sender_input(packet.flow);
            }
            return;
        }
        // Measured here for the records, whatever the sender itself takes as a sample.
        if let Some(rtt) = flow.ages.acknowledged(now, ack.next) {
            flow.rtt.add(rtt);
        }
        // Over time, the round trip of the moment: a segment that waited behind a hole is older than that.
        if ack.trigger == Transmission::First {
            self.recorder.rtt(packet.flow, now.since(ack.echo));
        }
        if details.loss_marked {
            tcp.sender.hear_loss_mark();
        }
        tcp.sender.on_ack(now, &ack);
        if let Some(window) = details.window {
            tcp.sender.on_window(now, ack.next.saturating_add(window));
        }
        if let Some(way) = details.way {
            hear_of_way(&mut tcp.sender, way);
        }
        let is_leg = flow.leg.is_some();
        self.after_sender_input(packet.flow);
        if is_leg {
            self.leg_acknowledged(packet.flow);
        }
    }

    /// Everything that the sender wants after an input: packets, records, its timer.
    pub(crate) fn after_sender_input(&mut self, flow_id: u32) {
        let now = self.now;
        if self.flows[flow_id as usize].jitter.is_none() || self.jitter_lets_send(flow_id) {
            self.send_segments(flow_id);
        }
        let flow = &mut self.flows[flow_id as usize];
        let Endpoints::Tcp(tcp) = &mut flow.ends else { return };
        if let Some(average) = &mut flow.cwnd {
            average.set(now, tcp.sender.cwnd());
        }
        while let Some(event) = tcp.sender.poll_event() {
            self.recorder.flow_event(now, flow_id, event_name(event), tcp.sender.snapshot());
        }
        // Most inputs only move the deadline away. Then the slot stays where it is, fires early and moves itself.
        let deadline = tcp.sender.next_timeout().min(sends_at(flow.jitter.as_deref()));
        if self.doubles.is_some() {
            return self.arm_by_doubles(flow_id, Whose::Sender, deadline);
        }
        if deadline < tcp.sender_armed {
            tcp.sender_armed = deadline;
            self.events.arm(self.slots.senders + flow_id, deadline, now);
        }
    }

    fn on_sender_timeout(&mut self, flow_id: u32) {
        let now = self.now;
        let slot = self.slots.senders + flow_id;
        self.events.disarm(slot);
        let flow = &mut self.flows[flow_id as usize];
        let Endpoints::Tcp(tcp) = &mut flow.ends else { return };
        tcp.sender_armed = Time::MAX;
        let (timeout, sends_at) = (tcp.sender.next_timeout(), sends_at(flow.jitter.as_deref()));
        let deadline = timeout.min(sends_at);
        if deadline > now {
            if deadline != Time::MAX {
                tcp.sender_armed = deadline;
                self.events.arm(slot, deadline, now);
            }
            return;
        }
        if timeout <= now {
            tcp.sender.on_timeout(now);
        }
        self.after_sender_input(flow_id);
    }

    #[inline]
    fn send_segments(&mut self, flow_id: u32) {
        // A window can release a burst that takes longer than anybody waits: see `limits.rs`.
        while self.send_some(flow_id) && !self.is_to_end() {}
    }

    /// Sends so many segments that it is time to look at the limits; false when there are no more.
    #[inline(always)]
    fn send_some(&mut self, flow_id: u32) -> bool {
        for _ in 0..BETWEEN_LOOKS {
            let Endpoints::Tcp(tcp) = &mut self.flows[flow_id as usize].ends else { return false };
            let Some(segment) = tcp.sender.poll_transmit(self.now) else { return false };
            self.send_segment(flow_id, &segment);
        }
        true
    }

    pub(crate) fn send_segment(&mut self, flow_id: u32, segment: &Segment) {
        let flow = &mut self.flows[flow_id as usize];
        // A probe repeats a segment, but is neither its repair nor its age.
        if segment.priority == Priority::Normal {
            flow.ages.sent(self.now, segment.seq);
            flow.updates.segment_sent(segment.seq, segment.payload);
            if segment.transmission == Transmission::Again {
                flow.totals.resent_bytes += u64::from(segment.size);
            }
        }
        let flags = wire::segment_flags(segment);
        self.send(flow_id, false, segment.seq, segment.size, segment.payload, self.now, flags);
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a packet, private to this file")]
    fn send(&mut self, flow_id: u32, is_ack: bool, seq: u32, size: u32, detail: u32, stamp: Time, flags: Flags) {
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
            flow.totals.sent_payload_bytes += u64::from(detail);
        }
        debug_assert!(size <= u32::from(u16::MAX));
        let mut packet =
            Packet { stamp, flow: flow_id, seq, number, detail, to: node, size: size as u16, ttl: flow.ttl, flags };
        self.forward(node, &mut packet, to);
    }

    fn send_acks(&mut self, flow_id: u32) {
        let now = self.now;
        loop {
            let Endpoints::Tcp(tcp) = &mut self.flows[flow_id as usize].ends else { return };
            let Some(ack) = tcp.receiver.poll_ack(now) else {
                return self.arm_receiver(flow_id);
            };
            let blocks = ack.blocks;
            let detail = if self.flows[flow_id as usize].acks_say_more {
                self.detail_of_more(flow_id, blocks)
            } else if blocks.is_empty() {
                Packet::NO_DETAIL
            } else {
                self.ack_details.keep(AckDetail { blocks, ..AckDetail::default() })
            };
            let flags = wire::ack_flags(&ack);
            self.send(flow_id, true, ack.next, ack.size, detail, ack.echo, flags);
        }
    }

    /// An ACK that only tells how much room there is.
    #[cold]
    fn deliver_window(&mut self, packet: &Packet, window: Option<u32>) {
        let now = self.now;
        let flow = &mut self.flows[packet.flow as usize];
        flow.totals.acks_received += 1;
        let Endpoints::Tcp(tcp) = &mut flow.ends else { return };
        if let Some(window) = window {
            tcp.sender.on_window(now, packet.seq.saturating_add(window));
        }
        self.after_sender_input(packet.flow);
    }

    pub(crate) fn send_ack_packet(&mut self, flow_id: u32, next: u32, size: u32, detail: u32) {
        self.send(flow_id, true, next, size, detail, self.now, Flags::ACK);
    }

    /// The delayed ACK is set and called off with every other segment. So its slot, once armed, stays where it is,
    /// fires early and moves itself, as that of the sender.
    #[inline]
    fn arm_receiver(&mut self, flow_id: u32) {
        let Endpoints::Tcp(tcp) = &mut self.flows[flow_id as usize].ends else { return };
        let deadline = tcp.receiver.next_timeout();
        if deadline == tcp.ack_due {
            return;
        }
        (tcp.ack_due, tcp.ack_due_since) = (deadline, self.now);
        if self.doubles.is_some() {
            return self.arm_by_doubles(flow_id, Whose::Receiver, deadline);
        }
        let slot = self.slots.receivers + flow_id;
        if deadline < tcp.ack_armed {
            tcp.ack_armed = deadline;
            self.events.arm(slot, deadline, self.now);
        }
    }

    fn on_receiver_timeout(&mut self, flow_id: u32) {
        let slot = self.slots.receivers + flow_id;
        self.events.disarm(slot);
        let Endpoints::Tcp(tcp) = &mut self.flows[flow_id as usize].ends else { return };
        tcp.ack_armed = Time::MAX;
        if tcp.ack_due > self.now {
            if tcp.ack_due != Time::MAX {
                tcp.ack_armed = tcp.ack_due;
                // In the order of events it stands where it would if it had been armed then.
                self.events.arm(slot, tcp.ack_due, tcp.ack_due_since);
            }
            return;
        }
        tcp.receiver.on_timeout(self.now);
        self.send_acks(flow_id);
    }

    pub(crate) fn arm_application(&mut self, flow_id: u32) {
        let slot = self.slots.applications + flow_id;
        match self.flows[flow_id as usize].application.next_event() {
            Some(time) => self.events.arm(slot, time, self.now),
            None => self.events.disarm(slot),
        }
    }

    fn on_application(&mut self, flow_id: u32) {
        let now = self.now;
        let delivered = self.delivered_in_all(flow_id);
        let flow = &mut self.flows[flow_id as usize];
        let step = flow.application.step(delivered);
        if let (Some(AppStep::Start | AppStep::Produce), Some(bytes)) = (step, flow.application.portion_bytes()) {
            flow.updates.written(now, bytes);
        }
        let is_fed = flow.leg.as_deref().is_some_and(|leg| leg.before.is_some());
        match (&mut flow.ends, step) {
            (_, None) => {}
            // A leg opens with the first packet of the one before, and sends on what its buffer holds at the stop.
            (Endpoints::Tcp(_), Some(AppStep::Stop)) if is_fed => flow.at_stop = Some(Box::new(flow.totals)),
            (Endpoints::Tcp(_), Some(_)) if is_fed => {}
            (Endpoints::Tcp(tcp), Some(AppStep::Start)) => {
                tcp.sender.open(now);
                tcp.sender.supply(now, flow.application.supply());
                self.recorder.flow_event(now, flow_id, "start", tcp.sender.snapshot());
            }
            (Endpoints::Tcp(tcp), Some(AppStep::Produce)) => tcp.sender.supply(now, flow.application.supply()),
            (Endpoints::Tcp(tcp), Some(AppStep::Stop)) => {
                tcp.sender.close(now);
                flow.at_stop = Some(Box::new(flow.totals));
                self.recorder.flow_event(now, flow_id, "stop", tcp.sender.snapshot());
            }
            (_, Some(AppStep::Ask { size_bytes, number })) => {
                let flags = Flags::ACK.with(Flags::REQUEST);
                self.send(flow_id, true, number, size_bytes, Packet::NO_DETAIL, now, flags);
                return self.arm_application(flow_id);
            }
            (Endpoints::Datagram { .. }, Some(AppStep::Stop)) => flow.at_stop = Some(Box::new(flow.totals)),
            (Endpoints::Datagram { next_seq, header_bytes }, Some(_)) => {
                let (seq, header) = (*next_seq, *header_bytes);
                *next_seq += 1;
                let payload = flow.application.portion_bytes().unwrap_or(0);
                self.send(flow_id, false, seq, payload + header, payload, now, Flags::NONE);
            }
        }
        self.arm_application(flow_id);
        self.after_sender_input(flow_id);
    }

    fn on_grid(&mut self) {
        self.record_grid();
        if let Some(step) = self.recorder.grid {
            self.events.arm(self.slots.grid, self.now + step, Time::MAX);
        }
    }

    fn on_positions(&mut self) {
        self.record_positions();
        if let Some(step) = self.recorder.positions {
            self.events.arm(self.slots.positions, self.now + step, Time::MAX);
        }
    }
}

#[cold]
fn hear_of_way(sender: &mut Sender, way: Way) {
    match way {
        Way::ErrorRate(rate) => sender.on_error_rate(rate),
        Way::Survival(survival) => sender.on_survival(survival),
    }
}
