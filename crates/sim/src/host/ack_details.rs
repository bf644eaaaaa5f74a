//! What receivers and gateways write on ACKs.

use crate::ack_details::{AckDetail, PathErrors};
use crate::packet::Packet;
use crate::simulation::Simulation;
use skyhop_transport::SackBlocks;

impl Simulation {
    /// The details of an ACK that says more than what has arrived.
    #[cold]
    pub(crate) fn detail_of_more(&mut self, flow_id: u32, blocks: SackBlocks) -> u32 {
        let path_errors = self.agents.survival_of(flow_id).map(PathErrors::Survival);
        let window = self.window_of(flow_id);
        self.ack_details.keep(AckDetail { blocks, path_errors, window, ..AckDetail::default() })
    }

    /// A gateway writes the error rate on an ACK that passes it. Deviation: the option takes no bytes.
    pub(crate) fn write_on_ack(&mut self, packet: &mut Packet, error_rate: f64) {
        self.ack_details.write_error_rate(packet, error_rate);
    }
}
