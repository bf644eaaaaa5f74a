//! A user who types.

use super::poisson::ExponentialGaps;
use super::{ApplicationModel, FlowOfSource, Gaps, Source, check_packet_size, check_positive, packet_bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Faults, Stream};

/// Small portions at the pace of a user who types.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TelnetOptions {
    /// Size of each portion.
    pub payload: Bytes,
    /// Mean of exponential gaps. Without it the gaps are those of tcplib: Pareto, 1.1 s on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
}

impl ApplicationModel for TelnetOptions {
    fn check(&self, faults: &mut Faults) {
        check_packet_size(self.payload, faults.key("payload"));
        if let Some(interval) = self.interval {
            check_positive(interval, faults.key("interval"));
        }
    }

    /// A user who types does not begin at the stroke of the clock: the first portion comes after a first gap, as in
    /// ns-2, and opens the connection.
    fn source(&self, flow: &FlowOfSource<'_>) -> Source {
        let stream = flow.stream("arrivals");
        let mut gaps: Box<dyn Gaps> = match self.interval {
            Some(interval) => Box::new(ExponentialGaps { mean_s: interval.as_secs_f64(), stream }),
            None => Box::new(TcplibGaps(stream)),
        };
        Source::Clock { payload_bytes: packet_bytes(self.payload), first_gap: gaps.next_gap(), gaps }
    }

    fn payload_bytes(&self) -> Option<u32> {
        Some(packet_bytes(self.payload))
    }
}

struct TcplibGaps(Stream);

impl Gaps for TcplibGaps {
    fn next_gap(&mut self) -> Duration {
        Duration::from_secs_f64(tcplib_gap_s(self.0.uniform()))
    }
}

/// Gaps between the packets of a Telnet user as tcplib has them (P. Danzig and S. Jamin, "tcplib: a library of TCP
/// internetwork traffic characteristics", 1991), by the description of V. Paxson and S. Floyd, "Wide-area traffic: the
/// failure of Poisson modeling", ToN 3(3), 1995, §4: the body is Pareto of shape 0.9, more than 15 % of the gaps are
/// above 1 s, and the mean is 1.1 s.
///
/// Deviation: a formula in place of tcplib's table. P[X > 1 s] = 0.15 gives the least gap, the mean the largest one, at
/// which the distribution is cut. The table as ns-2 has it (tcplib-telnet.cc, 10,000 equally likely gaps from 0.6 ms to
/// 210 s) has 14 % of its gaps above 1 s; a quarter of them is below the least one here, 0.12 s.
fn tcplib_gap_s(u: f64) -> f64 {
    const SHAPE: f64 = 0.9;
    let least = libm::pow(0.15, 1.0 / SHAPE);
    let cut = 1.0 - libm::pow(least / LARGEST_S, SHAPE);
    least * libm::pow(1.0 - u * cut, -1.0 / SHAPE)
}

/// The largest gap, s, for which the mean of the cut distribution is 1.1 s.
const LARGEST_S: f64 = 126.972_162;

#[cfg(test)]
mod tests {
    use super::super::tests::{gaps, mean};
    use super::*;

    #[test]
    fn telnet_has_the_published_mean_and_tail() {
        let n = 400_000;
        let found = gaps(&TelnetOptions { payload: Bytes(64), interval: None }, n);
        let (least, largest) = found.iter().fold((f64::MAX, 0.0_f64), |(a, b), &gap| (a.min(gap), b.max(gap)));
        assert!(least > 0.121 && largest <= LARGEST_S + 1e-6, "{least} {largest}");
        // Paxson and Floyd 1995: mean 1.1 s, 15 % above 1 s. The standard deviation of the cut distribution is 4.7 s.
        assert!((mean(&found) - 1.1).abs() < 4.0 * 4.7 / (n as f64).sqrt(), "{}", mean(&found));
        let above = found.iter().filter(|&&gap| gap > 1.0).count() as f64 / n as f64;
        assert!((above - 0.15).abs() < 0.003, "{above}");
        let exponential = TelnetOptions { payload: Bytes(64), interval: Some(Duration::from_secs(1)) };
        assert!((mean(&gaps(&exponential, 40_000)) - 1.0).abs() < 4.0 / 200.0);
    }
}
