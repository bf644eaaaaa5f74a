//! A greedy source, or a single file.

use super::contract::NOTHING;
use super::{ApplicationModel, Carrier, FlowOfSource, Source, Transfers};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Faults, Time};

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FtpOptions {
    /// So many bytes. Without it: no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
}

impl ApplicationModel for FtpOptions {
    const CARRIER: Carrier = Carrier::Reliable;

    fn check(&self, faults: &mut Faults) {
        if self.bytes == Some(Bytes(0)) {
            faults.key("bytes").add(NOTHING);
        }
    }

    fn source(&self, _flow: &FlowOfSource<'_>) -> Source {
        match self.bytes {
            Some(Bytes(bytes)) => Source::InTurn(Box::new(File { bytes })),
            None => Source::Endless,
        }
    }

    fn has_end(&self) -> bool {
        self.bytes.is_some()
    }
}

struct File {
    bytes: u64,
}

impl Transfers for File {
    fn count(&self) -> Option<u32> {
        Some(1)
    }

    fn begin(&mut self, _number: u32, _now: Time) -> u64 {
        self.bytes
    }

    fn pause(&mut self, _bytes: u64, _now: Time) -> Duration {
        Duration::ZERO
    }
}
