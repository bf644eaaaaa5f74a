//! Equal portions at a constant rate.

use super::{ApplicationModel, FlowOfSource, Gaps, Source, check_packet_size, packet_bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Faults, Rate, Serialiser, Stream};

/// Equal portions in equal times.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstantRateOptions {
    /// Rate of the payload, without headers.
    pub rate: Rate,
    /// Size of each portion.
    pub payload: Bytes,
    /// Without it: "regular".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing: Option<SpacingName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpacingName {
    Regular,
    /// Each gap is from half to one and a half of the regular one.
    Random,
}

impl ApplicationModel for ConstantRateOptions {
    fn check(&self, faults: &mut Faults) {
        check_packet_size(self.payload, faults.key("payload"));
    }

    fn tidy(&mut self) {
        self.spacing = self.spacing.filter(|&spacing| spacing != SpacingName::Regular);
    }

    fn source(&self, flow: &FlowOfSource<'_>) -> Source {
        let payload_bytes = packet_bytes(self.payload);
        let regular = Regular { serialiser: Serialiser::new(self.rate), payload_bytes };
        let gaps: Box<dyn Gaps> = match self.spacing.unwrap_or(SpacingName::Regular) {
            SpacingName::Regular => Box::new(regular),
            SpacingName::Random => Box::new(Scattered { regular, stream: flow.stream("arrivals") }),
        };
        Source::Clock { payload_bytes, first_gap: Duration::ZERO, gaps }
    }

    fn payload_bytes(&self) -> Option<u32> {
        Some(packet_bytes(self.payload))
    }
}

struct Regular {
    serialiser: Serialiser,
    payload_bytes: u32,
}

impl Gaps for Regular {
    fn next_gap(&mut self) -> Duration {
        self.serialiser.next(self.payload_bytes)
    }
}

/// Each gap from half to one and a half of the constant one: `random_` of ns-2's constant-rate source.
struct Scattered {
    regular: Regular,
    stream: Stream,
}

impl Gaps for Scattered {
    fn next_gap(&mut self) -> Duration {
        let share = 0.5 + self.stream.uniform();
        Duration::from_secs_f64(self.regular.next_gap().as_secs_f64() * share)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{gaps, mean};
    use super::*;

    #[test]
    fn random_spacing_keeps_the_rate_and_the_range() {
        let rate = Rate::from_bps(1_000_000).unwrap();
        let application = ConstantRateOptions { rate, payload: Bytes(125), spacing: Some(SpacingName::Random) };
        let gaps = gaps(&application, 40_000);
        assert!(gaps.iter().all(|gap| (0.5e-3..=1.5e-3).contains(gap)));
        // Uniform over 1 ms: four standard deviations of the mean.
        assert!((mean(&gaps) - 1e-3).abs() < 4.0 * 1e-3 / (12.0 * 40_000.0_f64).sqrt());
    }
}
