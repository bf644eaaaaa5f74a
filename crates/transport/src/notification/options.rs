//! Notification of corruption in scenario files, and the packet sizes that follow from an error rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Bytes;
use skyhop_cc::ConfigError;

/// What a router, or the gateway that speaks for it, tells the sender of a segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorReport {
    /// The segment that arrived corrupted and was dropped.
    pub seq: u32,
    /// The error rate of the path, as far as it is known.
    pub error_rate: Option<f64>,
}

/// What a sender does about error reports.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Notification {
    /// It sends the segment again and leaves the window as it is (Krishnan et al. 2004).
    Eten,
    /// It also cuts its data into segments of the size that suits the error rate (Govindarajan and Kousalya 2016).
    Been(PacketSizing),
    /// It cuts for congestion alone, as far as it can tell by what data say of the path (Eddy et al. 2004).
    Ceten(Weighing),
    /// It sends what marked duplicate ACKs ask for again, without a cut (Balakrishnan and Katz 1998).
    Eln,
}

/// How a sender weighs its cuts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Weighing {
    pub cut: CetenCut,
    /// Segments after which an observation weighs 1 / e in the rate of losses.
    pub memory: f64,
}

/// A loss rate of 1 % is known to about a fifth: of 2 · 1000 segments, which weigh alike, 20 are lost.
const MEMORY: f64 = 1000.0;

impl Default for Weighing {
    fn default() -> Weighing {
        Weighing { cut: CetenCut::Average, memory: MEMORY }
    }
}

/// How corruption spares a sender a cut. Of its losses a share r = min(1, e / p) is corruption, e being what the path
/// corrupts and p what the sender sends again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CetenCut {
    /// Each loss leaves (1 + r) / 2 of the window: CETEN_A.
    Average,
    /// A loss halves the window with the probability 1 - r, else leaves it: CETEN_C.
    Chance,
}

/// How a packet's size follows from the error rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PacketSizing {
    pub best: BestSize,
    /// Left out of canonical forms where it is the usual one, so that hashes stay what they were.
    #[serde(skip_serializing_if = "SizeCounts::is_packet")]
    pub counts: SizeCounts,
    /// Never below (paper: 80 B).
    pub smallest: Bytes,
    /// Errors come so many at a time: n of equation 1.
    pub density: f64,
}

/// Which bytes the best size counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SizeCounts {
    /// The whole packet, header included: section 5.3.2 of the paper says "70 bytes including header".
    #[default]
    Packet,
    /// The payload alone; the header comes on top. The efficiencies that the paper prints at 1e-3 come out this way.
    Payload,
}

impl SizeCounts {
    fn is_packet(&self) -> bool {
        *self == SizeCounts::Packet
    }
}

/// In which sense a size is the best one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BestSize {
    /// sqrt(header n / error rate): errors come at equal distances (equation 1; Carek 2005).
    Deterministic,
    /// Where (L - header) / L (1 - error rate)^(L / n) is largest: errors are independent.
    Probabilistic,
}

/// Smallest packet of the paper's section 5.1: 40 B of data, 40 B of header.
const SMALLEST: Bytes = Bytes(80);

impl PacketSizing {
    /// The best packet in whole bytes, header included, between the bounds. `error_rate` is per bit; `header` and
    /// `largest`, a full packet with its header, are in bytes.
    pub fn packet_bytes(&self, error_rate: f64, header: u32, largest: u32) -> u32 {
        let smallest = (self.smallest.0 as u32).max(header + 1).min(largest);
        let header_bits = 8.0 * f64::from(header);
        let bits = match self.best {
            BestSize::Deterministic => (header_bits * self.density / error_rate).sqrt(),
            // d/dL of the logarithm: h / (L (L - h)) = λ, λ = -ln(1 - p) / n.
            BestSize::Probabilistic => {
                let rate = -libm::log1p(-error_rate.min(1.0)) / self.density;
                0.5 * (header_bits + (header_bits * header_bits + 4.0 * header_bits / rate).sqrt())
            }
        };
        // Without errors infinite. Without a header 0 / 0: then the smallest.
        let bytes = (bits / 8.0).min(f64::from(u32::MAX));
        let on_top = if self.counts == SizeCounts::Payload { header } else { 0 };
        (bytes as u32).saturating_add(on_top).clamp(smallest, largest)
    }
}

/// A sender that listens to error reports, by its name alone or with its options.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum NotificationSpec {
    Named(NotificationName),
    Options(NotificationOptions),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotificationName {
    /// Segments that were reported corrupted are sent again without a cut.
    Eten,
    /// The same, and the packet size follows the error rate.
    Been,
    /// The window is cut by the share of losses that congestion caused.
    Ceten,
    /// Segments that marked duplicate ACKs ask for are sent again without a cut.
    Eln,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotificationOptions {
    /// Segments that were reported corrupted are sent again without a cut, and the packet size follows the error rate.
    Been(SizingTable),
    /// The window is cut by the share of losses that congestion caused, on "average" or by "chance".
    Ceten(CetenSpec),
}

/// How a sender weighs its cuts: the name of the cut, or all of it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CetenSpec {
    Cut(CetenCut),
    Table(WeighingTable),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WeighingTable {
    /// Without it: "average".
    pub cut: Option<CetenCut>,
    /// Segments after which an observation weighs 1 / e in the rate of losses. Without it: 1000.
    pub memory: Option<f64>,
}

impl CetenSpec {
    fn resolve(self) -> Result<Weighing, ConfigError> {
        let table = match self {
            CetenSpec::Cut(cut) => WeighingTable { cut: Some(cut), memory: None },
            CetenSpec::Table(table) => table,
        };
        let weighing = Weighing { cut: table.cut.unwrap_or(CetenCut::Average), memory: table.memory.unwrap_or(MEMORY) };
        ConfigError::within("memory", weighing.memory, 1.0..=1e9, "1 to 1e9 segments")?;
        Ok(weighing)
    }
}

/// How the packet size follows the error rate.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SizingTable {
    /// In which sense a size is the best one. Without it: "deterministic".
    pub best: Option<BestSize>,
    /// Which bytes the best size counts. Without it: "packet".
    pub counts: Option<SizeCounts>,
    /// Smallest packet, header included. Without it: 80 B, or a full packet where that is smaller.
    pub smallest: Option<Bytes>,
    /// Errors come so many at a time. Without it: 1.
    pub density: Option<f64>,
}

impl NotificationSpec {
    /// Fills what was left out and checks every value. `largest` is a full packet.
    pub(crate) fn resolve(&self, largest: Bytes) -> Result<Notification, ConfigError> {
        let table = match self {
            NotificationSpec::Named(NotificationName::Eten) => return Ok(Notification::Eten),
            NotificationSpec::Named(NotificationName::Ceten) => return Ok(Notification::Ceten(Weighing::default())),
            NotificationSpec::Named(NotificationName::Eln) => return Ok(Notification::Eln),
            NotificationSpec::Options(NotificationOptions::Ceten(spec)) => {
                return Ok(Notification::Ceten(spec.resolve()?));
            }
            NotificationSpec::Named(NotificationName::Been) => SizingTable::default(),
            NotificationSpec::Options(NotificationOptions::Been(table)) => table.clone(),
        };
        let sizing = PacketSizing {
            best: table.best.unwrap_or(BestSize::Deterministic),
            counts: table.counts.unwrap_or_default(),
            smallest: table.smallest.unwrap_or(Bytes(SMALLEST.0.min(largest.0))),
            density: table.density.unwrap_or(1.0),
        };
        if table.smallest.is_some() {
            let range = 1.0..=largest.0 as f64;
            ConfigError::within(
                "smallest",
                sizing.smallest.0 as f64,
                range,
                "from 1 B to a full packet, mss + header",
            )?;
        }
        ConfigError::within("density", sizing.density, 1.0..=1e6, "1 to 1e6 errors at a time")?;
        Ok(Notification::Been(sizing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(name: &str) -> serde_json::Value {
        let text = include_str!("../../../../tests/vectors/algorithms_vectors.json");
        let all: serde_json::Value = serde_json::from_str(text).unwrap();
        all["vectors"].as_array().unwrap().iter().find(|v| v["name"] == name).unwrap().clone()
    }

    const PAPER: PacketSizing =
        PacketSizing { best: BestSize::Deterministic, counts: SizeCounts::Packet, smallest: Bytes(80), density: 1.0 };

    #[test]
    fn the_sizes_are_those_of_the_paper() {
        let example = example("been_packet_size");
        let (rates, expected) = (&example["inputs"]["ber"], &example["expected"]);
        for (i, rate) in rates.as_array().unwrap().iter().enumerate() {
            let rate = rate.as_f64().unwrap();
            let free = PacketSizing { smallest: Bytes(1), ..PAPER };
            // A header of 40 B is the least that a packet can have: below it the equation has no meaning.
            let want = expected["truncated_bytes"][i].as_u64().unwrap().max(41);
            assert_eq!(u64::from(free.packet_bytes(rate, 40, 60_000)), want, "{rate}");
            let want = expected["clamped_bytes"][i].as_u64().unwrap();
            assert_eq!(u64::from(PAPER.packet_bytes(rate, 40, 1540)), want, "{rate}");
        }
    }

    /// Equation 1 gives 70 B at 1e-3 per byte, which is 1.25e-4 per bit for a sender that counts bits; here the rate is
    /// taken as it stands, as the paper does.
    #[test]
    fn a_size_that_counts_the_payload_has_the_header_on_top() {
        let payload = PacketSizing { counts: SizeCounts::Payload, ..PAPER };
        let rate = 1e-3;
        let size = PacketSizing { smallest: Bytes(1), ..PAPER }.packet_bytes(rate, 40, 1540);
        assert_eq!(payload.packet_bytes(rate, 40, 1540), size + 40);
        assert_eq!(payload.packet_bytes(rate, 40, 90), 90, "a full packet is the largest");
        assert_eq!(payload.packet_bytes(1e-2, 40, 1540), 80, "22 B of payload and the header are below the smallest");
    }

    #[test]
    fn no_errors_and_nothing_but_errors_give_the_bounds() {
        for best in [BestSize::Deterministic, BestSize::Probabilistic] {
            let sizing = PacketSizing { best, ..PAPER };
            assert_eq!(sizing.packet_bytes(0.0, 40, 1540), 1540);
            assert_eq!(sizing.packet_bytes(1.0, 40, 1540), 80);
            assert_eq!(sizing.packet_bytes(1e-2, 40, 60), 60, "the largest wins");
        }
    }

    /// The size is where the information efficiency of independent errors has its maximum: no other size has more.
    #[test]
    fn the_probabilistic_size_has_the_best_information_efficiency() {
        let sizing = PacketSizing { best: BestSize::Probabilistic, smallest: Bytes(41), ..PAPER };
        for rate in [1e-3f64, 1e-4, 1e-5, 1e-6] {
            let efficiency = |bytes: u32| {
                f64::from(bytes - 40) / f64::from(bytes) * libm::exp(8.0 * f64::from(bytes) * libm::log1p(-rate))
            };
            let found = sizing.packet_bytes(rate, 40, 60_000);
            let best = (41..=20_000).max_by(|&a, &b| efficiency(a).total_cmp(&efficiency(b))).unwrap();
            assert!(found.abs_diff(best) <= 1, "{rate}: {found} B, the best has {best} B");
        }
    }
}
