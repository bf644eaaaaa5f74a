//! Errors that only packets of data meet.

use super::{Arrival, BitErrors, ByteErrors, ErrorModel, ErrorUnit, Losses, LossyLink, PacketErrors};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Losses of data, as of ns-2's error model in front of a receiver.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DataErrors {
    /// Each packet is lost with this probability, independently of the others.
    Packet(PacketErrors),
    /// Each byte is lost with this probability, and with it its packet.
    Byte(ByteErrors),
    /// Each bit is lost with this probability, and with it its packet.
    Bit(BitErrors),
}

impl DataErrors {
    fn inner(&self) -> &dyn ErrorModel {
        match self {
            DataErrors::Packet(errors) => errors,
            DataErrors::Byte(errors) => errors,
            DataErrors::Bit(errors) => errors,
        }
    }
}

impl ErrorModel for DataErrors {
    fn build(&self, link: &LossyLink<'_>) -> Option<Box<dyn Losses>> {
        Some(Box::new(LossesOfData(self.inner().build(link)?)))
    }

    fn loses_all(&self) -> bool {
        self.inner().loses_all()
    }

    fn unit(&self) -> ErrorUnit {
        self.inner().unit()
    }
}

#[derive(Debug)]
struct LossesOfData(Box<dyn Losses>);

impl Losses for LossesOfData {
    fn loses(&mut self, arrival: &Arrival<'_>) -> bool {
        !arrival.is_ack() && self.0.loses(arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, link, loses, packet};
    use super::*;

    #[test]
    fn errors_of_data_leave_acks_alone() {
        let mut model = DataErrors::Packet(PacketErrors(1.0)).build(&link(1)).unwrap();
        assert!(loses(&mut *model, &packet(1, 1), 0));
        assert!(!loses(&mut *model, &ack(1, 1), 0));
    }
}
