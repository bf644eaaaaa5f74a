//! Bursts of heavy-tailed length, whose sum over many sources is self-similar: W. Willinger, M. S. Taqqu, R. Sherman
//! and D. V. Wilson, "Self-similarity through high-variability", IEEE/ACM Transactions on Networking 5(1), 1997. ns-2
//! has the same as Application/Traffic/Pareto.

use super::{ApplicationModel, FlowOfSource, Source, check_packet_size, check_positive, on_off, packet_bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Faults, Rate};

/// The longest time that is drawn, s: no run is so long, and it fits a duration.
const LONGEST_S: f64 = 1e8;

/// On and off for times from Pareto distributions.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParetoOnOffOptions {
    /// Rate of the payload while the source is on.
    pub rate: Rate,
    /// Size of each portion.
    pub payload: Bytes,
    /// Mean time for which it is on.
    pub on: Duration,
    /// Mean time for which it is off.
    pub off: Duration,
    /// Shape of both distributions, more than 1: the variance is infinite up to 2. Without it: 1.5, as in ns-2.
    #[serde(default = "usual_shape")]
    #[schemars(range(min = 1.0))]
    pub shape: f64,
}

fn usual_shape() -> f64 {
    1.5
}

impl ApplicationModel for ParetoOnOffOptions {
    fn check(&self, faults: &mut Faults) {
        check_packet_size(self.payload, faults.key("payload"));
        check_positive(self.on, faults.key("on"));
        check_positive(self.off, faults.key("off"));
        if self.shape <= 1.0 {
            faults
                .key("shape")
                .add_with_help("must be more than 1: the mean is infinite up to there", "use 1.2 to 1.9");
        }
    }

    fn source(&self, flow: &FlowOfSource<'_>) -> Source {
        let (shape, mut stream) = (self.shape, flow.stream("arrivals"));
        // P[X > x] = (b / x)^a from b = mean (a − 1) / a on.
        on_off::source(self.rate, self.payload, [self.on, self.off], move |mean_s| {
            let least_s = mean_s * (shape - 1.0) / shape;
            (least_s * libm::pow(1.0 - stream.uniform(), -1.0 / shape)).min(LONGEST_S)
        })
    }

    fn payload_bytes(&self) -> Option<u32> {
        Some(packet_bytes(self.payload))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::gaps;
    use super::*;

    fn bursts(shape: f64) -> Vec<f64> {
        let (on, off) = (Duration::from_millis(500), Duration::from_millis(1500));
        let rate = Rate::from_bps(1_000_000).unwrap();
        let gaps = gaps(&ParetoOnOffOptions { rate, payload: Bytes(125), on, off, shape }, 2_000_000);
        let mut lengths = vec![0.0];
        for gap in gaps {
            if gap > 1.001e-3 { lengths.push(1e-3) } else { *lengths.last_mut().unwrap() += gap }
        }
        lengths
    }

    /// The share of bursts that are longer than ten times the least is that of the distribution.
    #[test]
    fn bursts_have_a_heavy_tail() {
        for shape in [1.5, 2.5] {
            let lengths = bursts(shape);
            let least = 0.5 * (shape - 1.0) / shape;
            assert!(lengths.iter().skip(1).rev().skip(1).all(|&length| length > least - 2e-3), "{shape}");
            let tail = lengths.iter().filter(|&&length| length > 10.0 * least).count() as f64 / lengths.len() as f64;
            let expected = 10f64.powf(-shape);
            // Some 4000 bursts: four standard deviations of a binomial count.
            let sd = (expected / lengths.len() as f64).sqrt();
            assert!(lengths.len() > 2000 && (tail - expected).abs() < 4.0 * sd, "{shape}: {tail} {expected}");
        }
    }

    #[test]
    fn a_shape_without_a_mean_is_refused() {
        let second = Duration::from_secs(1);
        let rate = Rate::from_bps(1_000_000).unwrap();
        let options = ParetoOnOffOptions { rate, payload: Bytes(125), on: second, off: second, shape: 1.0 };
        let mut faults = Faults::default();
        options.check(&mut faults);
        assert_eq!(faults.0.len(), 1);
        assert!(faults.0[0].message.contains("must be more than 1"), "{:?}", faults.0);
    }
}
