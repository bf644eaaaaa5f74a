//! Losses other than congestion: a link loses packets after they have used it. One trait, one file for each error
//! model, one list.
//!
//! `docs/howto/add-an-error-model.md` shows how to add one.

mod contract;
mod data;
mod gilbert_elliott;
mod independent;
mod intervals;
mod list;
mod listed;
mod segments;
mod shadowing;
mod trace;
mod varying;

pub use contract::{Arrival, ErrorModel, LinkFacts, Losses, LossyLink};
pub use data::DataErrors;
pub use gilbert_elliott::GilbertElliott;
pub use independent::{BitErrors, ByteErrors, PacketErrors};
pub use list::{ListErrors, ListedEntry, Ordinals, Outcome};
pub(crate) use listed::Listed;
pub use listed::{ListedClass, ListedOutcome, ListedPackets};
pub use segments::SegmentErrors;
pub use shadowing::Shadowing;
pub use trace::TraceErrors;
pub(crate) use varying::{SlotLosses, VaryingLosses};

pub use crate::code::ErrorUnit;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Faults;

macro_rules! error_models {
    ($($(#[doc = $doc:literal])+ $key:literal: $variant:ident($parameters:ty);)+) => {
        /// Losses other than by congestion. The packet has used the link.
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        pub enum ErrorConfig {
            $($(#[doc = $doc])+ #[serde(rename = $key)] $variant($parameters),)+
        }

        impl ErrorConfig {
            /// The key under which a scenario has it.
            pub fn key(&self) -> &'static str {
                match self { $(ErrorConfig::$variant(_) => $key,)+ }
            }

            fn model(&self) -> &dyn ErrorModel {
                match self { $(ErrorConfig::$variant(parameters) => parameters,)+ }
            }

            fn model_mut(&mut self) -> &mut dyn ErrorModel {
                match self { $(ErrorConfig::$variant(parameters) => parameters,)+ }
            }
        }
    };
}

// One line registers a model: the key in scenario files, with its documentation in the schema, and its parameters.
error_models! {
    /// Each packet is lost with this probability, independently of the others.
    "packet": Packet(PacketErrors);
    /// Each byte is lost with this probability, and with it its packet; headers count, framing does not.
    "byte": Byte(ByteErrors);
    /// Each bit is lost with this probability, and with it its packet; headers count, framing does not.
    "bit": Bit(BitErrors);
    /// Only packets of data meet these losses, not ACKs.
    "data": Data(DataErrors);
    /// Losses in bursts: the link is good or bad, and may change after each packet.
    "gilbert_elliott": GilbertElliott(GilbertElliott);
    /// Losses in the shadow of buildings and trees: the link is good or bad for random times.
    "shadowing": Shadowing(Shadowing);
    /// The losses are given.
    "trace": Trace(TraceErrors);
    /// Single packets of the link are named and lost, marked, late or doubled; times in which it loses or holds all.
    "list": List(ListErrors);
    /// These data segments of a flow are lost, each at its first transmission.
    "segments": Segments(SegmentErrors);
}

impl ErrorModel for ErrorConfig {
    fn check(&self, link: &LinkFacts, faults: &mut Faults) {
        self.model().check(link, faults);
    }

    fn tidy(&mut self) {
        self.model_mut().tidy();
    }

    fn build(&self, link: &LossyLink<'_>) -> Option<Box<dyn Losses>> {
        self.model().build(link)
    }

    fn loses_all(&self) -> bool {
        self.model().loses_all()
    }

    fn unit(&self) -> ErrorUnit {
        self.model().unit()
    }

    fn names_packets(&self) -> bool {
        self.model().names_packets()
    }

    fn listed(&self) -> Vec<ListedPackets> {
        self.model().listed()
    }
}

#[cfg(test)]
mod tests;
