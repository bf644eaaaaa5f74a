//! Messages by the clock, each with a deadline.

use super::{ApplicationModel, FlowOfSource, Gaps, Source, check_packet_size, check_positive, packet_bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Faults};

/// Messages by the clock, each with the same deadline, as of a game or a control loop.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessagesOptions {
    /// Size of each message.
    pub payload: Bytes,
    /// From one message to the next.
    pub every: Duration,
    /// A message that the receiver cannot read so long after it was written has missed it.
    pub deadline: Duration,
}

impl ApplicationModel for MessagesOptions {
    fn check(&self, faults: &mut Faults) {
        check_packet_size(self.payload, faults.key("payload"));
        check_positive(self.every, faults.key("every"));
        check_positive(self.deadline, faults.key("deadline"));
    }

    fn source(&self, _flow: &FlowOfSource<'_>) -> Source {
        let gaps = Box::new(EqualGaps(self.every));
        Source::Clock { payload_bytes: packet_bytes(self.payload), first_gap: Duration::ZERO, gaps }
    }

    fn payload_bytes(&self) -> Option<u32> {
        Some(packet_bytes(self.payload))
    }

    fn deadline(&self) -> Option<Duration> {
        Some(self.deadline)
    }
}

pub(super) struct EqualGaps(pub Duration);

impl Gaps for EqualGaps {
    fn next_gap(&mut self) -> Duration {
        self.0
    }
}
