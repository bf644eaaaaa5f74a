//! What happens when the network changes under the packets: routes, handovers, links that come and go.

use crate::foresight::handed_over;
use crate::ground::Delay;
use crate::link::{Answer, QueueEvent};
use crate::packet::Packet;
use crate::records::{DropCause, HandoverRow, LinkChangeRow, PacketEvent, PathRow};
use crate::simulation::Simulation;
use crate::spec::OnDown;
use skyhop_base::{Duration, Index, Time};
use skyhop_topology::{Change, Handover, HandoverKind, Hop, LinkId, LinkKind, NodeId, NodeKind, Why};
use std::time::Instant;

/// Places within a check of the sky: packets that waited for a link are released first, …
const AFTER_RELEASES: u64 = 1 << 40;
/// … then those that were displaced go on, and then sources hear of handovers.
const AFTER_DISPLACED: u64 = 1 << 41;

/// A packet that has left the queue in which it waited, the link of this queue, and the node where it is.
struct Displaced {
    /// The place of its queue among those that a check empties.
    place: u64,
    link: u32,
    node: u32,
    packet: Packet,
    policy: OnDown,
}

impl Simulation {
    /// The instant of a check: links may change, terminals may move on to another satellite.
    pub(crate) fn on_topology(&mut self) {
        let begin = self.part.is_some().then(Instant::now);
        self.handles_event_of_all();
        let mut changes = std::mem::take(&mut self.changes);
        changes.clear();
        self.topology.advance(self.now, &mut changes);
        let mut displaced = Vec::new();
        for (place, change) in changes.iter().enumerate() {
            // Two queues at most are emptied for a change.
            let place = 2 * place as u64;
            match change {
                Change::LinkUp { link, why } => self.record_link_change(*link, true, *why),
                Change::LinkDown { link, why } => {
                    self.record_link_change(*link, false, *why);
                    self.displace(place, *link, |_| true, &mut displaced);
                }
                Change::Handover(handover) => self.on_handover(place, handover, &mut displaced),
                Change::Routes => {}
            }
        }
        if !changes.is_empty() {
            self.renew_routes();
            self.release_held(&changes);
        }
        for Displaced { place, link, node, mut packet, policy } in displaced {
            self.at_place(AFTER_RELEASES + place);
            match policy {
                OnDown::Drop => self.drop_at(&packet, DropCause::LinkChange, Some(link), node),
                _ => {
                    // It has not used a hop since it was counted here.
                    packet.ttl += 1;
                    self.forward_from(node, packet);
                }
            }
        }
        // Sources may send at once, over the new routes.
        for (place, terminal) in handed_over(&changes).enumerate() {
            self.tell_of_handover(AFTER_DISPLACED, place, terminal, Duration::ZERO);
        }
        self.changes = changes;
        self.arm_topology();
        if let (Some(part), Some(begin)) = (&mut self.part, begin) {
            part.sky_has_changed(begin);
        }
    }

    fn record_link_change(&mut self, link: LinkId, up: bool, why: Why) {
        let row = LinkChangeRow { time: self.now, link: link.as_u32(), up, why: why.words() };
        self.recorder.records.link_changes.push(row);
    }

    fn on_handover(&mut self, place: u64, handover: &Handover, displaced: &mut Vec<Displaced>) {
        self.recorder.handover(handover);
        if handover.kind == HandoverKind::Beam {
            // The satellite stays; an outage is a link that goes down.
            return;
        }
        let station = handover.terminal;
        let Some(old) = handover.from else { return };
        if let Some(uplink) = self.topology.uplink(station) {
            self.displace(place, uplink, |packet| packet.to == old.as_u32(), displaced);
        }
        if let Some(downlink) = self.topology.downlink(old) {
            self.displace(place + 1, downlink, |packet| packet.to == station.as_u32(), displaced);
        }
    }

    /// Tells the sources of the flows that begin or end at this terminal and are told so long before. `handover` counts
    /// those of this instant.
    pub(crate) fn tell_of_handover(&mut self, from: u64, handover: usize, terminal: u32, lead: Duration) {
        for flow_id in 0..self.flows.len() {
            let ends = &self.to[flow_id];
            if ends.iter().all(|end| end.node != terminal) || self.is_elsewhere(ends[1].node) {
                continue;
            }
            self.at_place(from + (handover * self.flows.len() + flow_id) as u64);
            let ends = &mut self.flows[flow_id].ends;
            if ends.handover_lead() == Some(lead) {
                ends.on_handover(self.now);
                self.after_source_input(flow_id as u32);
            }
        }
    }

    /// Applies the link's policy to those of its waiting packets that `affected` names.
    fn displace(
        &mut self,
        place: u64,
        link: LinkId,
        affected: impl Fn(&Packet) -> bool,
        displaced: &mut Vec<Displaced>,
    ) {
        let Simulation { now, links, pool, topology, ground, events, slots, part, .. } = self;
        let state = &mut links[link.index()];
        let (from, policy) = (state.from, state.link.on_down);
        match policy {
            OnDown::Drain => {}
            OnDown::SendInVain => state.link.mark_unreachable(pool, *now, affected),
            OnDown::Drop | OnDown::Hold | OnDown::Reroute => {
                let mut out = Vec::new();
                let first = state.link.first_arrival();
                state.with_delays(topology, ground, |link, delays| {
                    link.withdraw(pool, *now, affected, |packet, at| delays.to(packet.to, at), &mut out);
                });
                let is_silent = part.as_ref().is_some_and(|part| part.is_silent(link.as_u32()));
                if let Some((arrival, start)) = first
                    && state.link.settled
                    && !is_silent
                    && state.link.first_arrival() != first
                {
                    // Its event stays, as an event of a link without packets, until a packet moves it.
                    (state.link.settled, state.link.plain) = (false, false);
                    events.unsettle(slots.links + link.as_u32(), arrival, start, links);
                }
                let state = &mut links[link.index()];
                let repairs = state.link.repairs_errors();
                if policy == OnDown::Hold && topology.links()[link].kind == LinkKind::Isl {
                    state.held.append(&mut out);
                } else {
                    let (link, node) = (link.as_u32(), from);
                    let of_queue = out.into_iter().map(|packet| Displaced { place, link, node, packet, policy });
                    displaced.extend(of_queue);
                }
                if repairs {
                    // What waited behind packets that are gone may go on.
                    self.arm_link(link.as_u32());
                }
            }
        }
    }

    /// Packets that waited for a link that is there again go to it, in the order in which they came.
    fn release_held(&mut self, changes: &[Change]) {
        for (place, change) in changes.iter().enumerate() {
            self.at_place(1 + place as u64);
            let link = match change {
                Change::LinkUp { link, .. } => Some(*link),
                Change::Handover(handover) if handover.to.is_some() => self.topology.uplink(handover.terminal),
                _ => None,
            };
            let Some(link) = link else { continue };
            let state = &mut self.links[link.index()];
            let node = state.from;
            for mut packet in std::mem::take(&mut state.held) {
                packet.ttl = packet.ttl.saturating_add(1);
                self.forward_from(node, packet);
            }
        }
    }

    /// Renews the forwarding tables and records the flows whose path has changed.
    pub(crate) fn renew_routes(&mut self) {
        self.topology.routes(&self.destinations, self.now, &mut self.forwarding);
        if self.part.as_ref().is_some_and(|part| part.me != 0) {
            // Paths are the same in all parts, and the first one records them.
            return;
        }
        let mut hops = Vec::new();
        for flow in 0..self.own_flows {
            self.trace_path(flow, &mut hops);
            let (source, _) = self.data_ends(flow);
            let nodes = hops.first().map(|_| source).into_iter().chain(hops.iter().map(|hop| hop.to.as_u32()));
            if nodes.clone().eq(self.flows[flow].path.iter().copied()) {
                continue;
            }
            let nodes: Vec<u32> = nodes.collect();
            self.record_gateways(flow, &nodes);
            self.flows[flow].path.clone_from(&nodes);
            let row = PathRow { time: self.now, flow: flow as u32, nodes, delay_s: self.delay_of(source, &hops) };
            let application = &self.flows[flow].application;
            self.recorder.path(row, (application.start, application.stop.unwrap_or(Time::MAX)));
        }
    }

    /// Handovers between gateways: the path of a flow enters the sky, or leaves it, at another station that forwards.
    fn record_gateways(&mut self, flow: usize, nodes: &[u32]) {
        let [before, after] = [&self.flows[flow].path[..], nodes].map(|way| self.gateways(way));
        for end in 0..2 {
            let (Some((_, from, _)), Some((terminal, to, satellite))) = (before[end], after[end]) else { continue };
            if from == to {
                continue;
            }
            let look = self.topology.look(NodeId::new(to), NodeId::new(satellite), self.now);
            self.recorder.records.handovers.push(HandoverRow {
                time: self.now,
                terminal,
                from: Some(from),
                to: Some(to),
                elevation_deg: look.map_or(0.0, |look| look.elevation.degrees()),
                slant_range_km: look.map_or(0.0, |look| look.slant_range.km()),
                why: "the shortest way leads through another gateway",
                kind: "gateway",
                from_beam: None,
                to_beam: None,
            });
        }
    }

    /// Where a path from a terminal comes down to a gateway behind which it goes on by wire, and where a path to a
    /// terminal goes up from one: terminal, gateway and its satellite.
    fn gateways(&self, way: &[u32]) -> [Option<(u32, u32, u32)>; 2] {
        let is_satellite =
            |node: u32| matches!(self.topology.nodes()[NodeId::new(node)].kind, NodeKind::Satellite { .. });
        let is_gateway = |node: u32| self.topology.is_gateway(NodeId::new(node));
        let pass = |first: &[u32]| {
            let user = first.iter().position(|&node| is_satellite(node))?;
            let rest = &first[user..];
            let down = user + rest.iter().position(|&node| !is_satellite(node))?;
            let terminal = *first.get(user.checked_sub(1)?)?;
            let behind = first.get(down + 1).is_some_and(|&node| !is_satellite(node));
            let leads = self.topology.is_station(NodeId::new(terminal)) && is_gateway(first[down]) && behind;
            leads.then(|| (terminal, first[down], first[down - 1]))
        };
        let back: Vec<u32> = way.iter().rev().copied().collect();
        [pass(way), pass(&back)]
    }

    /// The path of a flow's data at this instant, empty while there is none.
    fn trace_path(&self, flow: usize, hops: &mut Vec<Hop>) {
        hops.clear();
        let (source, to) = self.data_ends(flow);
        let mut node = NodeId::new(source);
        while node.as_u32() != to.node {
            match self.forwarding.next_hop(to.index as usize, node) {
                // A table without loops visits no node twice.
                Some(hop) if hops.len() < self.topology.nodes().len() => {
                    hops.push(hop);
                    node = hop.to;
                }
                _ => return hops.clear(),
            }
        }
    }

    /// The propagation delay of a path at this instant, s.
    fn delay_of(&self, source: u32, hops: &[Hop]) -> f64 {
        let mut node = NodeId::new(source);
        let delays = hops.iter().map(|hop| {
            let from = std::mem::replace(&mut node, hop.to);
            match self.links[hop.link.index()].link.path.get() {
                Delay::Fixed(delay) => delay.as_secs_f64(),
                Delay::Moving | Delay::Ground => {
                    self.topology.delay_segment(from, hop.to, self.now).at(self.now).as_secs_f64()
                }
            }
        });
        // Not `sum`, which begins with -0: a path without hops takes 0 s.
        delays.fold(0.0, |sum, delay| sum + delay)
    }

    /// An event of a link that works out departures late: whether it was one of its transmitter, not an arrival.
    #[inline(never)]
    pub(crate) fn serves_late(&mut self, link: u32) -> bool {
        let now = self.now;
        while let Some(answer) = self.links[link as usize].link.take_answer(now) {
            self.events.leave(self.slots.links + link);
            self.send_answer(link, &answer);
        }
        if let Some(clock) = &mut self.ns2_clock
            && let Some(moment) = self.links[link as usize].link.take_moment()
        {
            clock.now = moment;
        }
        let Simulation { links, pool, topology, ground, .. } = self;
        let state = &mut links[link as usize];
        if !state.link.defers_departures() || state.link.next_arrival().is_some_and(|arrival| arrival <= now) {
            return false;
        }
        state.with_delays(topology, ground, |link, delays| {
            link.begin_service(pool, now, |packet, at| delays.to(packet.to, at));
        });
        self.settle_discipline(link);
        self.arm_link(link);
        true
    }

    /// A link's queue discipline takes a packet.
    pub(crate) fn enqueue(&mut self, link: u32, packet: &Packet) {
        let Simulation { now, links, pool, topology, ground, .. } = self;
        links[link as usize].with_delays(topology, ground, |link, delays| {
            link.enqueue(pool, *packet, *now, |packet, at| delays.to(packet.to, at));
        });
        self.settle_discipline(link);
        self.arm_link(link);
    }

    /// Records what a queue discipline has done.
    fn settle_discipline(&mut self, link: u32) {
        for (event, packet) in self.links[link as usize].link.take_queue_events() {
            match event {
                QueueEvent::Dropped(_) => self.drop_packet(&packet, DropCause::Queue, Some(link)),
                QueueEvent::Marked if self.links[link as usize].recorded => {
                    self.record_packet(self.now, link, PacketEvent::Mark, &packet);
                }
                QueueEvent::Marked => {}
            }
        }
    }

    /// The far end of a link that repeats answers a transmission: the answer takes the link back.
    fn send_answer(&mut self, link: u32, answer: &Answer) {
        let now = self.now;
        let (near, far) = (self.links[link as usize].from, answer.node);
        let Some(back) = self.link_back(link, far) else {
            // Nothing leads back any more: the transmitter tries again.
            return self.links[link as usize].link.hear_answer(answer, now);
        };
        let Simulation { links, topology, ground, .. } = self;
        let state = &mut links[back as usize];
        let left = state.link.occupy(now, answer.bytes);
        let known = left + state.link.path.delay(topology, ground, &far, near, left);
        links[link as usize].link.hear_answer(answer, known);
    }

    /// The link from the far end of a link to its near end.
    fn link_back(&self, link: u32, far: u32) -> Option<u32> {
        let (link, far) = (LinkId::new(link), NodeId::new(far));
        let (kind, near) = (self.topology.links()[link].kind, NodeId::new(self.links[link.index()].from));
        let back = match kind {
            LinkKind::Uplink => self.topology.downlink(far),
            LinkKind::Downlink => self.topology.uplink(far),
            LinkKind::Wired | LinkKind::Isl => {
                let leads_back = |other: &skyhop_topology::NetworkLink| {
                    other.kind == kind && other.from == far && other.to.is_none_or(|to| to == near)
                };
                self.topology.links().enumerated().find(|(_, other)| leads_back(other)).map(|(id, _)| id)
            }
        };
        back.map(LinkId::as_u32)
    }

    pub(crate) fn arm_link(&mut self, link: u32) {
        let slot = self.slots.links + link;
        match self.links[link as usize].link.next_event(self.now) {
            Some((time, foreseen)) => self.events.arm(slot, time, foreseen),
            None => self.events.disarm(slot),
        }
    }

    pub(crate) fn arm_topology(&mut self) {
        let next = self.topology.next_change();
        if next == Time::MAX {
            self.events.disarm(crate::simulation::TOPOLOGY);
        } else {
            self.events.arm(crate::simulation::TOPOLOGY, next, self.now);
        }
    }

    /// Looks ahead, and tells sources of handovers to come.
    #[cold]
    pub(crate) fn on_foresight(&mut self) {
        self.handles_event_of_all();
        let Some(mut foresight) = self.foresight.take() else { return };
        foresight.look(self.now);
        let mut place = 0;
        while let Some((terminal, lead)) = foresight.pop_due(self.now) {
            self.tell_of_handover(0, place, terminal, lead);
            place += 1;
        }
        self.foresight = Some(foresight);
        self.arm_foresight();
    }

    pub(crate) fn arm_foresight(&mut self) {
        let slot = self.slots.foresight();
        match self.foresight.as_ref().map_or(Time::MAX, |foresight| foresight.next()) {
            Time::MAX => self.events.disarm(slot),
            next => self.events.arm(slot, next.max(self.now), self.now),
        }
    }
}
