//! Packets that are lost: who loses them, and why.

use crate::link::Eviction;
use crate::packet::Packet;
use crate::records::{DropCause, PacketEvent};
use crate::simulation::Simulation;

impl Simulation {
    /// Packets gave up their places for the last one.
    #[cold]
    pub(crate) fn drop_displaced(&mut self, link: u32) {
        let state = &mut self.links[link as usize];
        let low_first = state.link.knows_priorities();
        for packet in state.link.take_displaced() {
            let cause = if low_first && packet.is_low() { DropCause::Priority } else { DropCause::Queue };
            self.drop_packet(&packet, cause, Some(link));
        }
    }

    /// A packet found no room: packets of low priority make some, or it is lost.
    #[cold]
    pub(crate) fn overflow(&mut self, link: u32, packet: &Packet) {
        let Simulation { now, links, pool, topology, ground, .. } = self;
        let mut out = Vec::new();
        let eviction = links[link as usize].with_delays(topology, ground, |link, delays| {
            link.evict_for(pool, packet, *now, |packet, at| delays.to(packet.to, at), &mut out)
        });
        for evicted in &out {
            self.drop_packet(evicted, DropCause::Priority, Some(link));
        }
        match eviction {
            Eviction::Done => {}
            Eviction::NoneWaits if packet.is_low() => self.drop_packet(packet, DropCause::Priority, Some(link)),
            Eviction::NoneWaits | Eviction::Never => self.drop_packet(packet, DropCause::Queue, Some(link)),
        }
    }

    #[cold]
    pub(crate) fn drop_packet(&mut self, packet: &Packet, cause: DropCause, link: Option<u32>) {
        let node = link.map_or(packet.to, |link| self.links[link as usize].from);
        self.drop_at(packet, cause, link, node);
    }

    #[cold]
    pub(crate) fn drop_at(&mut self, packet: &Packet, cause: DropCause, link: Option<u32>, node: u32) {
        // Before the packet's header goes with it.
        if let Some(link) = link.filter(|&link| self.links[link as usize].recorded) {
            let event = if cause == DropCause::Error { PacketEvent::Loss } else { PacketEvent::Drop };
            self.record_packet(self.now, link, event, packet);
        }
        match self.flows.get_mut(packet.flow as usize) {
            None => self.agents.drop_notice(packet, cause),
            Some(flow) if packet.is_ack() => {
                flow.totals.ack_drops[cause as usize] += 1;
                if packet.payload().is_none() && packet.detail != Packet::NO_DETAIL {
                    self.ack_details.take(packet.detail);
                }
            }
            Some(flow) => flow.totals.drops[cause as usize] += 1,
        }
        if let Some(handle) = packet.payload() {
            self.payloads.take(handle);
        }
        if !self.agents.is_empty() {
            self.agents.forget(packet);
        }
        if let Some(link) = link {
            self.links[link as usize].drops[cause as usize] += 1;
        }
        self.recorder.drop(self.now, cause, link, node, packet);
    }
}
