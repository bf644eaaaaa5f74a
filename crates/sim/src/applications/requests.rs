//! Requests and their answers.

use super::contract::NOTHING;
use super::{ApplicationModel, Carrier, FlowOfSource, Source, Transfers};
use super::{check_packet_size, check_positive, packet_bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Faults, Stream, Time};

/// Requests and their answers; each has its completion time in the table of transfers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestsOptions {
    /// Size of a request on the wire.
    pub request: Bytes,
    /// User data of an answer.
    pub response: Bytes,
    /// Mean of the exponential time from an answer to the next request.
    pub think: Duration,
    /// So many requests. Without it: no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
}

impl ApplicationModel for RequestsOptions {
    const CARRIER: Carrier = Carrier::Reliable;

    fn check(&self, faults: &mut Faults) {
        check_packet_size(self.request, faults.key("request"));
        if self.response == Bytes(0) {
            faults.key("response").add(NOTHING);
        }
        check_positive(self.think, faults.key("think"));
    }

    fn source(&self, flow: &FlowOfSource<'_>) -> Source {
        Source::InTurn(Box::new(Requests {
            request_bytes: packet_bytes(self.request),
            response_bytes: self.response.0,
            think_s: self.think.as_secs_f64(),
            count: self.count,
            stream: flow.stream("pauses"),
        }))
    }

    fn request_bytes(&self) -> Option<u32> {
        Some(packet_bytes(self.request))
    }

    fn has_end(&self) -> bool {
        true
    }
}

struct Requests {
    request_bytes: u32,
    response_bytes: u64,
    think_s: f64,
    count: Option<u32>,
    stream: Stream,
}

impl Transfers for Requests {
    fn count(&self) -> Option<u32> {
        self.count
    }

    fn request_bytes(&self) -> Option<u32> {
        Some(self.request_bytes)
    }

    fn begin(&mut self, _number: u32, _now: Time) -> u64 {
        self.response_bytes
    }

    fn pause(&mut self, _bytes: u64, _now: Time) -> Duration {
        Duration::from_secs_f64(self.stream.exponential(self.think_s))
    }
}
