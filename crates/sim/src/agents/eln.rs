//! Explicit loss notification for senders in front of a lossy link (ELN; Balakrishnan and Katz 1998, after the
//! comparison of Balakrishnan, Padmanabhan, Seshan and Katz 1997; ns-2's Snoop): the far end of the link notes which
//! segments of a connection are missing, and ACKs that ask for one of them are marked on their way back. A sender that
//! listens sends it again without a cut.
//!
//! - A missing packet shows as a gap in the numbers, because a corrupted packet is silent. So packets that a queue
//!   dropped before the link are marked, too; the authors' link is the sender's own.
//! - A gap counts until it is acknowledged: while a repetition is in flight, duplicate ACKs of its hole still arrive.
//!   Losses behind the link are not marked, except those of repetitions.
//!
//! The marks are written where the agent stands, which is the far end of the link, or the node that the ACKs come to
//! from there. Deviation: where the far end moves, as satellites do, what the old one knew the new one knows. The mark
//! is a bit and takes no bytes.

use super::config::ElnOptions;
use super::{Agents, NOBODY, claim, report};
use crate::error::SimulationError;
use crate::packet::Packet;
use crate::simulation::Simulation;
use skyhop_topology::{NodeId, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// Segments that are known to be missing of a connection at most: more than any window that a loss is repaired in.
const MOST_MISSING: u32 = 4096;

/// What the far end of its links knows of a connection.
#[derive(Clone, Debug, Default)]
struct Connection {
    missing: BTreeSet<u32>,
    /// One past the highest segment that came over.
    high: u32,
}

impl Connection {
    fn on_data(&mut self, seq: u32) {
        if seq < self.high {
            return;
        }
        self.missing.extend(self.high.max(seq.saturating_sub(MOST_MISSING))..seq);
        while self.missing.len() > MOST_MISSING as usize {
            self.missing.pop_first();
        }
        self.high = seq + 1;
    }

    /// Whether an ACK that asks for `next` asks for what did not come over.
    fn on_ack(&mut self, next: u32) -> bool {
        self.missing = self.missing.split_off(&next);
        self.missing.first() == Some(&next)
    }
}

/// The helper at a node.
struct Marker {
    node: u32,
    connections: BTreeMap<u32, Connection>,
}

/// All of them.
#[derive(Default)]
pub(super) struct Markers {
    markers: Vec<Marker>,
    /// By link the place in `markers`, or [`NOBODY`].
    of_link: Vec<u32>,
}

impl Markers {
    pub(super) fn add(
        &mut self,
        node: NodeId,
        config: &ElnOptions,
        topology: &Topology,
    ) -> Result<(), SimulationError> {
        self.of_link.resize(topology.links().len(), NOBODY);
        for link in report::watched(config.links.as_deref(), topology)? {
            claim(&mut self.of_link, link, self.markers.len(), topology)
                .map_err(|name| SimulationError::MarkedTwice { name })?;
        }
        self.markers.push(Marker { node: node.as_u32(), connections: BTreeMap::new() });
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.markers.is_empty()
    }

    fn data(&mut self, link: u32, packet: &Packet) {
        let Some(marker) = self.of_link.get(link as usize).and_then(|&at| self.markers.get_mut(at as usize)) else {
            return;
        };
        marker.connections.entry(packet.flow).or_default().on_data(packet.seq);
    }

    fn ack(&mut self, packet: &Packet) -> bool {
        let mut here = self.markers.iter_mut().filter(|marker| marker.node == packet.to);
        here.any(|marker| marker.connections.get_mut(&packet.flow).is_some_and(|known| known.on_ack(packet.seq)))
    }
}

impl Simulation {
    /// A sound packet of a connection has come over a link.
    pub(super) fn mark_losses(&mut self, link: u32, packet: &mut Packet) {
        if !packet.is_ack() {
            self.agents.markers.data(link, packet);
        } else if self.agents.markers.ack(packet) {
            self.ack_details.mark_loss(packet);
        }
    }
}

impl Agents {
    pub(super) fn marks_losses(&self) -> bool {
        !self.markers.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_marked_until_they_are_acknowledged() {
        let mut connection = Connection::default();
        [0, 1, 2, 5].into_iter().for_each(|seq| connection.on_data(seq));
        assert!(!connection.on_ack(1), "1 has come over: it was lost behind the link");
        assert!(connection.on_ack(3));
        connection.on_data(3);
        assert!(connection.on_ack(3), "its repetition is in flight");
        assert!(connection.on_ack(4), "a new ACK, too");
        connection.on_data(4);
        assert!(!connection.on_ack(6) && connection.missing.is_empty());
    }

    #[test]
    fn a_gap_is_remembered_as_far_as_there_is_room() {
        let mut connection = Connection::default();
        connection.on_data(0);
        connection.on_data(1_000_000);
        assert_eq!(connection.missing.len(), MOST_MISSING as usize);
        connection.on_data(1_000_002);
        assert_eq!(connection.missing.len(), MOST_MISSING as usize);
        assert!(!connection.on_ack(1), "forgotten");
        assert!(connection.on_ack(1_000_001));
    }
}
