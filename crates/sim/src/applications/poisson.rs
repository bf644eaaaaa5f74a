//! Equal portions at random, independent instants.

use super::{ApplicationModel, FlowOfSource, Gaps, Source, check_packet_size, packet_bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Faults, Rate, Stream};

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoissonOptions {
    /// Rate of the payload, without headers.
    pub rate: Rate,
    /// Size of each portion.
    pub payload: Bytes,
}

impl ApplicationModel for PoissonOptions {
    fn check(&self, faults: &mut Faults) {
        check_packet_size(self.payload, faults.key("payload"));
    }

    fn source(&self, flow: &FlowOfSource<'_>) -> Source {
        let payload_bytes = packet_bytes(self.payload);
        let mean_s = f64::from(payload_bytes) * 8.0 / self.rate.bps_f64();
        let gaps = Box::new(ExponentialGaps { mean_s, stream: flow.stream("arrivals") });
        Source::Clock { payload_bytes, first_gap: Duration::ZERO, gaps }
    }

    fn payload_bytes(&self) -> Option<u32> {
        Some(packet_bytes(self.payload))
    }
}

/// Exponential gaps of this mean, in seconds.
pub(super) struct ExponentialGaps {
    pub mean_s: f64,
    pub stream: Stream,
}

impl Gaps for ExponentialGaps {
    fn next_gap(&mut self) -> Duration {
        Duration::from_secs_f64(self.stream.exponential(self.mean_s))
    }
}
