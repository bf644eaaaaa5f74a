//! Files one after another.

use super::contract::NOTHING;
use super::{ApplicationModel, Carrier, FlowOfSource, Source, Transfers};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Faults, Time};

/// Files of given sizes; each has its completion time in the table of transfers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilesOptions {
    pub sizes: Vec<Bytes>,
    /// From the arrival of a file to the start of the next. Without it: 0 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Duration>,
}

impl ApplicationModel for FilesOptions {
    const CARRIER: Carrier = Carrier::Reliable;

    fn check(&self, faults: &mut Faults) {
        if self.sizes.is_empty() {
            faults.key("sizes").add(NOTHING);
        }
        for i in (0..self.sizes.len()).filter(|&i| self.sizes[i] == Bytes(0)) {
            faults.key("sizes").index(i).add(NOTHING);
        }
    }

    fn tidy(&mut self) {
        self.pause = self.pause.filter(|pause| !pause.is_zero());
    }

    fn source(&self, _flow: &FlowOfSource<'_>) -> Source {
        Source::InTurn(Box::new(Files {
            sizes: self.sizes.iter().map(|size| size.0).collect(),
            pause: self.pause.unwrap_or(Duration::ZERO),
        }))
    }

    fn has_end(&self) -> bool {
        true
    }
}

struct Files {
    sizes: Vec<u64>,
    pause: Duration,
}

impl Transfers for Files {
    fn count(&self) -> Option<u32> {
        Some(self.sizes.len() as u32)
    }

    fn begin(&mut self, number: u32, _now: Time) -> u64 {
        self.sizes.get(number as usize).copied().unwrap_or(0)
    }

    fn pause(&mut self, _bytes: u64, _now: Time) -> Duration {
        self.pause
    }
}
