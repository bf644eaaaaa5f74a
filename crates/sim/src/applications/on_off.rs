//! Portions at a constant rate for a random time, then silence for a random time.

use super::{ApplicationModel, FlowOfSource, Gaps, Source, check_packet_size, check_positive, packet_bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Faults, Rate, Serialiser};

/// On and off for exponential times.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOffOptions {
    /// Rate of the payload while the source is on.
    pub rate: Rate,
    /// Size of each portion.
    pub payload: Bytes,
    /// Mean time for which it is on.
    pub on: Duration,
    /// Mean time for which it is off.
    pub off: Duration,
}

impl ApplicationModel for OnOffOptions {
    fn check(&self, faults: &mut Faults) {
        check_packet_size(self.payload, faults.key("payload"));
        check_positive(self.on, faults.key("on"));
        check_positive(self.off, faults.key("off"));
    }

    fn source(&self, flow: &FlowOfSource<'_>) -> Source {
        let mut stream = flow.stream("arrivals");
        source(self.rate, self.payload, [self.on, self.off], move |mean_s| stream.exponential(mean_s))
    }

    fn payload_bytes(&self) -> Option<u32> {
        Some(packet_bytes(self.payload))
    }
}

/// Portions at this rate for a time, then silence for a time, and so on. `means` has the means of both times; `draw`
/// draws a time in seconds from its mean.
pub(super) fn source(
    rate: Rate,
    payload: Bytes,
    means: [Duration; 2],
    mut draw: impl FnMut(f64) -> f64 + Send + 'static,
) -> Source {
    let payload_bytes = packet_bytes(payload);
    let [on_s, off_s] = means.map(Duration::as_secs_f64);
    let left_s = draw(on_s);
    let gaps = Box::new(OnOff { serialiser: Serialiser::new(rate), payload_bytes, on_s, off_s, left_s, draw });
    Source::Clock { payload_bytes, first_gap: Duration::ZERO, gaps }
}

struct OnOff<D> {
    serialiser: Serialiser,
    payload_bytes: u32,
    on_s: f64,
    off_s: f64,
    /// Rest of the present on-period, seconds.
    left_s: f64,
    draw: D,
}

impl<D: FnMut(f64) -> f64 + Send> Gaps for OnOff<D> {
    fn next_gap(&mut self) -> Duration {
        let gap = self.serialiser.next(self.payload_bytes);
        self.left_s -= gap.as_secs_f64();
        if self.left_s > 0.0 {
            return gap;
        }
        // The silence begins when the time was up, not when the next portion would have been written.
        let silence_s = (self.draw)(self.off_s);
        let gap_s = gap.as_secs_f64() + self.left_s + silence_s;
        self.serialiser.reset();
        self.left_s = (self.draw)(self.on_s);
        Duration::from_secs_f64(gap_s)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{gaps, mean};
    use super::*;

    #[test]
    fn on_and_off_share_the_time_as_their_means() {
        let application = OnOffOptions {
            rate: Rate::from_bps(1_000_000).unwrap(),
            payload: Bytes(125),
            on: Duration::from_millis(500),
            off: Duration::from_millis(1500),
        };
        let gaps = gaps(&application, 400_000);
        // 1000 portions a second for a quarter of the time, and one more for each of the (500 ms) periods that begins.
        // 800 periods: the share has a standard deviation of some 3.7 %.
        let rate = 1.0 / mean(&gaps);
        assert!((rate / 250.5 - 1.0).abs() < 0.15, "{rate}");
        assert!(gaps.iter().filter(|&&gap| gap > 1.001e-3).count() > 500);
    }
}
