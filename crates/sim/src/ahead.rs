//! Fetches what the next arrival reads while the one before it is handled.
//!
//! A packet-hop over a large constellation reads the link, its oldest packet, a route, and the next link: each tells
//! where the next one stands, and none is in the first-level cache. Waiting for them took a fifth of the time. The
//! calendar knows the next event while this one is handled, and has read its link and when its packet arrives, for that
//! is the event. So its route is fetched, and of the event after it the link and then the packet.
//! Nothing depends on it: an event that comes first after all finds its data where they were.

use crate::simulation::Simulation;
use skyhop_processor::prefetch;
use skyhop_topology::NodeId;

impl Simulation {
    /// The link whose arrival is likely to be the next event.
    #[inline(always)]
    pub(crate) fn next_link(&self) -> usize {
        self.events.next_in_crowd().wrapping_sub(self.slots.links) as usize
    }

    #[inline(always)]
    pub(crate) fn fetch_link(&self, link: usize) {
        if let Some(state) = self.links.get(link) {
            prefetch(state);
        }
    }

    /// Fetches the oldest packet of a link.
    #[inline(always)]
    pub(crate) fn fetch_packet(&self, link: usize) {
        if let Some(state) = self.links.get(link) {
            state.link.front().fetch(&self.pool);
        }
    }

    /// Fetches the route of the oldest packet of a link, or the flow if the packet is at its destination.
    #[inline(always)]
    pub(crate) fn fetch_route(&self, link: usize) {
        let Some((packet, destination)) = self.links.get(link).and_then(|state| state.link.front().packet(&self.pool))
        else {
            return;
        };
        let to = self.destination_of(packet, destination);
        if packet.to != to.node {
            self.forwarding.fetch(to.index as usize, NodeId::new(packet.to));
        } else if let Some(flow) = self.flows.get(packet.flow as usize) {
            prefetch(flow);
        }
    }
}
