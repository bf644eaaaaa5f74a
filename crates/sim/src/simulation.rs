//! The simulation: components, their slots in the event queue, and the path of a packet between them.

use crate::ack_details::AckDetails;
use crate::agents::{Agents, SnoopOutcome};
use crate::build::{build_flows, build_links, build_ns2_clock, seeded};
use crate::check::{check_flows, check_size};
use crate::error::SimulationError;
use crate::errors::Arrival;
use crate::events::{Event, EventQueue};
use crate::flow::{Flow, FlowState};
use crate::foresight::Foresight;
use crate::ground::{Delay, Ground};
use crate::host::Payloads;
use crate::late::LatePackets;
use crate::limits::{BETWEEN_LOOKS, Halt, Limits};
use crate::link::{Offered, Reception};
use crate::link_state::LinkState;
use crate::ns2_clock::Ns2Clock;
use crate::packet::{Flags, Packet};
use crate::parts::Part;
use crate::pool::Pool;
use crate::recorder::Recorder;
use crate::records::{DropCause, PacketEvent, Records};
use crate::spec::{OnDown, SimulationSpec};
use crate::visit::Visit;
use crate::workload;
use skyhop_base::{Duration, Index, Time};
use skyhop_topology::{Change, Forwarding, NodeId, Topology};

/// Where packets of one direction of a flow go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Destination {
    pub node: u32,
    /// Index of the node among the destinations in use.
    pub index: u32,
}

/// The slots of the event queue, by class: topology, links, senders, receivers, applications, samplers, helpers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventSlots {
    pub links: u32,
    pub senders: u32,
    pub receivers: u32,
    pub applications: u32,
    pub grid: u32,
    pub positions: u32,
}

impl EventSlots {
    /// That of the helpers' timer.
    pub fn agents(&self) -> u32 {
        self.positions + 1
    }

    /// That of packets which lists make late.
    pub fn late(&self) -> u32 {
        self.positions + 2
    }

    /// That of handovers to come; the last one.
    pub fn foresight(&self) -> u32 {
        self.positions + 3
    }
}

pub(crate) const TOPOLOGY: u32 = 0;

/// One scenario with one seed, ready to run.
///
/// Large because one event touches links, flows, the topology, the event queue and the records at once, and Rust lends
/// out the fields of one structure side by side. Functions stand in the file of what they are about.
///
/// On cache lines of its own, because the parts of a run stand side by side, and each has a thread.
#[repr(align(128))]
pub struct Simulation {
    pub(crate) now: Time,
    pub(crate) end: Time,
    /// Scheduling time of the event that is being handled.
    pub(crate) scheduled: Time,
    pub(crate) events: EventQueue,
    /// ns-2's clock, in a run by it.
    pub(crate) ns2_clock: Option<Box<Ns2Clock>>,
    pub(crate) slots: EventSlots,
    pub(crate) topology: Topology,
    /// In a run with sources that are told of handovers ahead.
    pub(crate) foresight: Option<Box<Foresight>>,
    pub(crate) forwarding: Forwarding,
    pub(crate) destinations: Vec<NodeId>,
    /// By flow and direction (data, ACKs).
    pub(crate) to: Vec<[Destination; 2]>,
    pub(crate) links: Vec<LinkState>,
    pub(crate) ground: Ground,
    /// Those of the scenario, then the connections of its workloads.
    pub(crate) flows: Vec<Flow>,
    /// Flows of the scenario: each has rows of its own in the records, a connection of a workload has none.
    pub(crate) own_flows: usize,
    /// Users who load web pages.
    pub(crate) visits: Vec<Visit>,
    /// The packets on all links.
    pub(crate) pool: Pool,
    pub(crate) ack_details: AckDetails,
    pub(crate) payloads: Payloads,
    pub(crate) late: LatePackets,
    /// Copies with a payload that lists have made.
    pub(crate) late_copies: u64,
    pub(crate) agents: Agents,
    pub(crate) recorder: Recorder,
    pub(crate) changes: Vec<Change>,
    pub(crate) packet_hops: u64,
    pub(crate) event_count: u64,
    pub(crate) limits: Option<Box<Limits>>,
    pub(crate) halted: Option<Halt>,
    /// Set where this simulation handles only a part of the network.
    pub(crate) part: Option<Box<Part>>,
}

impl Simulation {
    /// Builds the components. The same `spec` and `seed` give the same run, bit for bit.
    pub fn new(spec: &SimulationSpec, seed: u64) -> Result<Simulation, SimulationError> {
        Simulation::with_threads(spec, seed, 1)
    }

    /// The same, which finds its routes on so many threads.
    pub(crate) fn with_threads(
        spec: &SimulationSpec,
        seed: u64,
        threads: usize,
    ) -> Result<Simulation, SimulationError> {
        if spec.workloads.is_empty() {
            return Simulation::of_flows(spec, spec.flows.len(), seed, threads);
        }
        let workload::Drawn { with, transfers, visits } = workload::with_connections(spec, seed)?;
        let mut simulation = Simulation::of_flows(&with, spec.flows.len(), seed, threads)?;
        simulation.visits = visits;
        let records = &mut simulation.recorder.records;
        records.workload_names = spec.workloads.iter().map(|workload| workload.name.clone()).collect();
        let workloads = spec.workloads.iter().enumerate();
        records.workloads_of_pages =
            workloads.filter(|(_, workload)| workload.pages.is_some()).map(|(i, _)| i as u32).collect();
        records.workload_transfers = transfers;
        Ok(simulation)
    }

    /// A simulation without workloads; the first `own_flows` are those of the scenario.
    fn of_flows(
        spec: &SimulationSpec,
        own_flows: usize,
        seed: u64,
        threads: usize,
    ) -> Result<Simulation, SimulationError> {
        let (mut topology, links, agents) = Simulation::parts(spec, seed)?;
        topology.use_threads(threads);
        let (link_count, flow_count) = (links.len() as u32, spec.flows.len() as u32);
        let slots = EventSlots {
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
        let mut recorder = Recorder::new(spec, own_flows, &topology);
        let flows = build_flows(spec, seed);
        recorder.expect_messages(flows.iter().map(|flow| flow.application.deadline()));
        recorder.records.flow_names.extend(agents.names(&topology));
        let mut simulation = Simulation {
            now: Time::ZERO,
            end: Time::ZERO + spec.duration,
            scheduled: Time::ZERO,
            events: EventQueue::new(slots.foresight() as usize + 1, slots.links..slots.senders),
            ns2_clock: build_ns2_clock(spec),
            slots,
            ground: Ground::new(&topology),
            recorder,
            forwarding: Forwarding::default(),
            destinations,
            to,
            links,
            foresight: Foresight::of(flows.iter().filter_map(|flow| flow.ends.handover_lead()), &topology),
            topology,
            flows,
            own_flows,
            visits: Vec::new(),
            pool: Pool::default(),
            ack_details: AckDetails::default(),
            payloads: Payloads::default(),
            late: LatePackets::default(),
            late_copies: 0,
            agents,
            changes: Vec::new(),
            packet_hops: 0,
            event_count: 0,
            limits: None,
            halted: None,
            part: None,
        };
        simulation.recorder.numbers = simulation.byte_numbers();
        simulation.arm_first_events();
        Ok(simulation)
    }

    /// Whether [`Simulation::new`] builds a simulation of `spec`: by building whatever of it can be refused.
    ///
    /// # Errors
    /// That of [`Simulation::new`].
    pub fn check(spec: &SimulationSpec) -> Result<(), SimulationError> {
        match spec.workloads.is_empty() {
            true => Simulation::parts(spec, 0).map(drop),
            false => Simulation::parts(&workload::with_samples(spec), 0).map(drop),
        }
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
        self.arm_foresight();
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

    /// Packets delivered over one link, so far.
    pub fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    /// The end of the run.
    pub fn end(&self) -> Time {
        self.end
    }

    /// How a flow is doing now.
    ///
    /// # Panics
    /// If the run has no flow of that rank.
    pub fn flow_state(&self, flow: usize) -> FlowState {
        let Flow { ends, totals, .. } = &self.flows[flow];
        FlowState { bytes_delivered: totals.bytes_delivered, cwnd: ends.cwnd() }
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
        self.events.set_end(until + Duration::from_nanos(1));
        // Two loops: whether arrivals fetch ahead is asked once in a while and costs the others nothing.
        while if self.events.is_full() { self.handle_some::<true>() } else { self.handle_some::<false>() } {
            if self.is_to_end() {
                return;
            }
        }
        self.now = until;
    }

    /// Handles so many events that it is time to look at the limits; false when there is none left before the end that
    /// the queue has been given.
    #[inline(never)]
    fn handle_some<const AHEAD: bool>(&mut self) -> bool {
        for handled in 0..BETWEEN_LOOKS {
            let Some(event) = self.events.next_event(&mut self.links) else {
                self.event_count += u64::from(handled);
                return false;
            };
            // By ns-2's clock a timer sees its deadline, which its event may precede by the rounding of a double.
            debug_assert!(event.time >= self.now || self.ns2_clock.is_some(), "an event before the present");
            self.now = event.time;
            self.scheduled = event.scheduled;
            self.handle::<AHEAD>(event);
        }
        self.event_count += u64::from(BETWEEN_LOOKS);
        true
    }

    /// Gives whether rows may have been written.
    #[inline(always)]
    pub(crate) fn handle<const AHEAD: bool>(&mut self, Event { slot, .. }: Event) -> bool {
        let slots = self.slots;
        let link = slot.wrapping_sub(slots.links);
        if (link as usize) < self.links.len() {
            return self.on_arrival::<AHEAD>(link);
        }
        self.events.leave(slot);
        if self.ns2_clock.is_some() {
            self.set_ns2_clock(slot);
        }
        if slot == TOPOLOGY {
            self.on_topology();
        } else if slot < slots.receivers {
            self.on_source_timeout(slot - slots.senders);
        } else if slot < slots.applications {
            self.on_sink_timeout(slot - slots.receivers);
        } else if slot < slots.grid {
            self.on_application(slot - slots.applications);
        } else if slot == slots.grid {
            self.on_grid();
        } else if slot == slots.positions {
            self.on_positions();
        } else if slot == slots.agents() {
            self.on_agents();
        } else if slot == slots.late() {
            self.on_late();
        } else {
            self.on_foresight();
        }
        true
    }

    /// The oldest packet of a link is at its other end. Gives whether rows may have been written.
    #[inline(always)]
    fn on_arrival<const AHEAD: bool>(&mut self, link: u32) -> bool {
        let after_next = if AHEAD { self.events.after_next_in_crowd() } else { 0 };
        if AHEAD {
            self.fetch_link(after_next);
        }
        let slot = self.slots.links + link;
        let state = &mut self.links[link as usize];
        if !state.link.plain {
            self.on_special_arrival(link);
            if AHEAD {
                self.fetch_packet(after_next);
            }
            return true;
        }
        if state.link.front().is_empty() {
            self.events.leave(slot);
            return false;
        }
        debug_assert!(state.took_its_time(&self.pool, self.now), "faster than the link: {:?}", state.link);
        let (_, service_start) = state.link.front().times();
        let at = state.link.detach_arrived(&self.pool);
        match state.link.first_arrival() {
            Some((arrival, start)) => {
                if !AHEAD {
                    state.link.front().fetch(&self.pool);
                }
                self.await_event(link, arrival, start);
            }
            None => self.events.leave(slot),
        }
        if AHEAD {
            self.fetch_route(self.next_link());
        }
        let may_write = self.pass_on_place(link, service_start, at);
        if AHEAD {
            self.fetch_packet(after_next);
        }
        may_write
    }

    /// The packet at a place has come over a plain link. If it goes on, it stays in its place. Gives whether rows may
    /// have been written.
    #[inline(always)]
    fn pass_on_place(&mut self, link: u32, start: Time, at: u32) -> bool {
        let (packet, destination) = self.pool.get(at);
        let to = self.destination_of(packet, destination);
        if packet.to != to.node
            && !packet.flags.has(Flags::UNREACHABLE)
            && self.agents.is_empty()
            && let Some(ttl) = packet.ttl.checked_sub(1)
            && let Some((next, node)) = self.next_hop(packet.to, to)
        {
            let size = packet.size;
            self.packet_hops += 1;
            self.pool.route(at, (node, ttl), to.index);
            return self.transmit_place(next, (at, size), node);
        }
        let mut packet = self.pool.take(at);
        if packet.flags.has(Flags::UNREACHABLE) {
            self.drop_packet(&packet, DropCause::LinkChange, Some(link));
        } else {
            self.pass_on(link, start, &mut packet, to);
        }
        true
    }

    /// [`Simulation::on_arrival`] at a link with errors, a record of its packets, a list, or late departures.
    #[inline(never)]
    fn on_special_arrival(&mut self, link: u32) {
        // A settled link has nothing but arrivals.
        if !self.links[link as usize].link.settled && self.serves_late(link) {
            return;
        }
        let slot = self.slots.links + link;
        let state = &mut self.links[link as usize];
        debug_assert!(state.took_its_time(&self.pool, self.now), "faster than the link: {:?}", state.link);
        let Some(mut entry) = state.link.take_arrived(&mut self.pool) else { return self.events.leave(slot) };
        match state.link.next_event(self.now) {
            Some((time, foreseen)) => self.await_event(link, time, foreseen),
            None => self.events.leave(slot),
        }
        if self.links[link as usize].recorded {
            self.record_packet(entry.start, link, PacketEvent::Dequeue, &entry.packet);
        }
        if let Some(part) = &mut self.part {
            let state = &mut self.links[link as usize];
            // The last one of those that could leave the part may have gone.
            state.link.plain = state.link.front().is_empty() && state.can_be_plain();
            if part.leaves(&entry) {
                return;
            }
        }
        if entry.packet.flags.has(Flags::UNREACHABLE) {
            self.links[link as usize].link.take_reception();
            return self.drop_packet(&entry.packet, DropCause::LinkChange, Some(link));
        }
        if self.links[link as usize].listed.is_some() && self.is_diverted(link, entry.start, &mut entry.packet) {
            return;
        }
        self.arrive(link, entry.start, &mut entry.packet);
    }

    /// A packet is at the other end of a special link, unless the link's errors take it.
    pub(crate) fn arrive(&mut self, link: u32, start: Time, packet: &mut Packet) {
        if self.is_corrupted(link, packet) {
            return self.drop_packet(packet, DropCause::Error, Some(link));
        }
        let to = self.destination_of(packet, Pool::UNKNOWN);
        self.pass_on(link, start, packet, to);
    }

    /// Where a packet goes, by the index that its place has if that is known: the table of flows is another cache line.
    #[inline(always)]
    pub(crate) fn destination_of(&self, packet: &Packet, index: u32) -> Destination {
        match self.destinations.get(index as usize) {
            Some(node) => Destination { node: node.as_u32(), index },
            None => self.to[packet.flow as usize][usize::from(packet.is_ack())],
        }
    }

    /// A packet has come over a link: it goes to its endpoint, or to the next hop.
    #[inline(always)]
    fn pass_on(&mut self, link: u32, start: Time, packet: &mut Packet, to: Destination) {
        self.packet_hops += 1;
        if !self.agents.is_empty() && self.pass_agents(link, start, packet) == SnoopOutcome::Ends {
            return;
        }
        if packet.to != to.node {
            let node = packet.to;
            self.forward(node, packet, to);
        } else if packet.payload().is_some() {
            // Straight to the function that knows such hosts: a call in between costs a sixth of what that does.
            if packet.is_ack() {
                self.deliver_to_source(packet);
            } else {
                self.deliver_to_sink(packet);
            }
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
            let lost = match state.link.take_reception() {
                Some(reception) => reception == Reception::Lost,
                None => match self.part.as_mut().and_then(|part| part.verdict(link)) {
                    Some(lost) => lost,
                    None => {
                        let arrival = Arrival { at: self.now, key, packet };
                        state.errors.iter_mut().any(|model| model.loses(&arrival))
                    }
                },
            };
            if self.agents.watches(link) {
                self.checked(link, packet, lost);
            }
            if lost {
                return true;
            }
        }
        if self.links[link as usize].recorded {
            self.record_packet(self.now, link, PacketEvent::Receive, packet);
        }
        false
    }

    /// Sends a packet that is at `node` to its next hop. Half of what a packet-hop costs, hence part of its two
    /// callers.
    #[inline(always)]
    pub(crate) fn forward(&mut self, node: u32, packet: &mut Packet, to: Destination) {
        let Some(ttl) = packet.ttl.checked_sub(1) else {
            return self.drop_at(packet, DropCause::Ttl, None, node);
        };
        packet.ttl = ttl;
        match self.next_hop(node, to) {
            Some((link, end)) => {
                packet.to = end;
                self.transmit(link, packet, to.index);
            }
            None => self.without_route(node, packet),
        }
    }

    /// The next link of a packet at `node`, and its far end; none without a route.
    #[inline(always)]
    pub(crate) fn next_hop(&self, node: u32, to: Destination) -> Option<(u32, u32)> {
        let (link, end) = self.forwarding.next_link(to.index as usize, NodeId::new(node))?;
        let end = end.map_or_else(|| self.links[link.index()].link.path.node, NodeId::as_u32);
        Some((link.as_u32(), end))
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
            state.from == node && matches!(state.link.path.get(), Delay::Ground) && state.link.on_down == OnDown::Hold
        };
        match self.topology.uplink(NodeId::new(node)).filter(|link| holds(&self.links[link.index()])) {
            Some(link) => self.links[link.index()].held.push(*packet),
            None => self.drop_at(packet, DropCause::NoRoute, None, node),
        }
    }

    /// Offers a packet to a link, and keeps record of it where that is wanted. `destination` is the index of its
    /// destination.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, link: u32, packet: &Packet, destination: u32) {
        let at = self.pool.keep(packet, destination);
        self.transmit_place(link, (at, packet.size), packet.to);
    }

    /// The same with the packet at a place, of `size` bytes and to the node `to`, which is on no link. For an idle link
    /// all of it is here, because a call would be a fifth of the work. Gives whether rows may have been written.
    #[inline(always)]
    fn transmit_place(&mut self, link: u32, (at, size): (u32, u16), to: u32) -> bool {
        if !self.links[link as usize].link.is_idle(self.now) {
            self.transmit_in_turn(link, (at, size), to);
            return true;
        }
        self.transmit_at_once(link, (at, size), to);
        false
    }

    /// [`Simulation::transmit_place`] over an idle link, whose packets need no more than its rate and delay.
    #[inline(always)]
    fn transmit_at_once(&mut self, link: u32, (at, size): (u32, u16), to: u32) {
        let now = self.now;
        let state = &mut self.links[link as usize];
        let served = state.link.serve_at_once(size, now);
        let delay = state.delay(&self.topology, &mut self.ground, to, served.departure);
        let (arrival, is_alone) = state.link.put_served(&mut self.pool, (at, size), now, (&served, false), delay);
        if is_alone {
            self.await_event(link, arrival, now);
        }
    }

    /// [`Simulation::transmit_place`] where the packet may have to wait.
    #[inline(never)]
    fn transmit_in_turn(&mut self, link: u32, (at, size): (u32, u16), to: u32) {
        let (now, scheduled) = (self.now, self.scheduled);
        let state = &mut self.links[link as usize];
        if !state.link.is_steady() {
            match &self.part {
                Some(_) if state.link.hands_over() => return self.hand_over(link, (at, size), to),
                Some(part) if state.link.is_steady_within() && !part.crosses(link, to) => {
                    if state.link.is_idle_within(now) {
                        return self.transmit_at_once(link, (at, size), to);
                    }
                }
                _ => {
                    let packet = self.pool.take(at);
                    return self.transmit_specially(link, &packet);
                }
            }
        }
        let sky = (&self.topology, &mut self.ground);
        let Some((served, waits, delay)) = state.serve_in_turn(&self.pool, sky, size, (now, scheduled), to) else {
            return self.refuse(link, at);
        };
        let (arrival, is_alone) = state.link.put_served(&mut self.pool, (at, size), now, (&served, waits), delay);
        if is_alone {
            self.await_event(link, arrival, served.start);
        }
    }

    /// The packet at a place finds no room on a link.
    pub(crate) fn refuse(&mut self, link: u32, at: u32) {
        let packet = self.pool.take(at);
        self.settle(Offered::Full, link, &packet);
    }

    /// [`Simulation::transmit`] where packets are recorded, or more than rate and limit decides.
    #[inline(never)]
    fn transmit_specially(&mut self, link: u32, packet: &Packet) {
        let offered = if self.links[link as usize].link.watched {
            self.offer_watched(link, packet)
        } else {
            self.offer(link, packet)
        };
        match offered {
            Offered::AcceptedFirst { arrival, start } => self.await_event(link, arrival, start),
            Offered::Accepted => {}
            other => self.settle(other, link, packet),
        }
    }

    /// A link, for which no event stands in the wheel, has its next one at `time`, foreseen at `foreseen`.
    #[inline(always)]
    pub(crate) fn await_event(&mut self, link: u32, time: Time, foreseen: Time) {
        if self.events.is_crowded() {
            self.await_in_crowd(link, time, foreseen);
        } else {
            self.events.add_for_link(link, time, foreseen);
        }
    }

    #[inline(never)]
    fn await_in_crowd(&mut self, link: u32, time: Time, foreseen: Time) {
        // A panic here would be a call, for which the stack has to be aligned in the usual case, too.
        if self.links.get(link as usize).is_none_or(|state| !state.link.settled) {
            return self.arm_unsettled(link, time, foreseen);
        }
        self.events.add_to_crowd(link, time, foreseen, &mut self.links);
    }

    /// A call: inline, it takes registers from the usual case.
    #[inline(never)]
    fn arm_unsettled(&mut self, link: u32, time: Time, foreseen: Time) {
        self.events.arm(self.slots.links + link, time, foreseen);
    }

    #[inline(never)]
    fn offer(&mut self, link: u32, packet: &Packet) -> Offered {
        let (now, scheduled) = (self.now, self.scheduled);
        let Simulation { links, pool, topology, ground, .. } = self;
        links[link as usize].with_delays(topology, ground, |link, delays| {
            link.offer(pool, packet, now, scheduled, |departure| delays.to(packet.to, departure))
        })
    }

    #[inline(never)]
    fn offer_watched(&mut self, link: u32, packet: &Packet) -> Offered {
        if let Some(part) = &mut self.part
            && part.crosses(link, packet.to)
        {
            part.note_offer(link);
            if part.is_silent(link) {
                return match self.offer(link, packet) {
                    Offered::AcceptedFirst { .. } => Offered::Accepted,
                    other => other,
                };
            }
            self.links[link as usize].link.plain = false;
        }
        if let Some(clock) = &self.ns2_clock {
            self.links[link as usize].link.set_moment(clock.now);
        }
        if !self.links[link as usize].recorded {
            return self.offer(link, packet);
        }
        self.record_packet(self.now, link, PacketEvent::Enqueue, packet);
        let marked = self.links[link as usize].link.totals.marked;
        let offered = self.offer(link, packet);
        if self.links[link as usize].link.totals.marked > marked {
            self.record_packet(self.now, link, PacketEvent::Mark, packet);
        }
        offered
    }

    /// Handles a packet that was not simply accepted.
    #[cold]
    #[inline(never)]
    fn settle(&mut self, offered: Offered, link: u32, packet: &Packet) {
        match offered {
            Offered::AcceptedFirst { .. } | Offered::Accepted => {}
            Offered::Waits => self.arm_link(link),
            Offered::Displaces => self.drop_displaced(link),
            Offered::ToDiscipline => self.enqueue(link, packet),
            Offered::Early => self.drop_packet(packet, DropCause::Queue, Some(link)),
            Offered::Full => self.overflow(link, packet),
        }
    }

    fn on_grid(&mut self) {
        self.handles_event_of_all();
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
