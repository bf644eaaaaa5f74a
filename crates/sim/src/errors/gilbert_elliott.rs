//! The channel of Gilbert and Elliott: E. N. Gilbert, "Capacity of a burst-noise channel", Bell System Technical
//! Journal 39, 1960; E. O. Elliott, "Estimates of error rates for codes on burst-noise channels", same journal 42,
//! 1963.
//!
//! Its state belongs to the link, so a packet's outcome depends on the number of packets before it, of whichever flow.

use super::{Arrival, ErrorModel, Losses, LossyLink};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Stream;

/// Two states of a link (Gilbert 1960, Elliott 1963). The mean loss is loss_good to_good / (to_good + to_bad) +
/// loss_bad to_bad / (to_good + to_bad).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability of a step from good to bad, per packet.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub to_bad: f64,
    /// Probability of a step from bad to good, per packet: a bad time lasts 1 / `to_good` packets on average.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub to_good: f64,
    /// Probability of a loss in the good state.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss_good: f64,
    /// Probability of a loss in the bad state.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss_bad: f64,
}

impl ErrorModel for GilbertElliott {
    fn build(&self, link: &LossyLink<'_>) -> Option<Box<dyn Losses>> {
        Some(Box::new(Bursts::new(*self, link.stream("bursts"))))
    }

    fn loses_all(&self) -> bool {
        self.loss_good >= 1.0 && self.loss_bad >= 1.0
    }
}

/// The state of one link.
#[derive(Debug)]
struct Bursts {
    config: GilbertElliott,
    bad: bool,
    stream: Stream,
}

impl Bursts {
    /// Begins in the bad state with the share of time that the channel spends there.
    fn new(config: GilbertElliott, mut stream: Stream) -> Bursts {
        let bad = stream.uniform() < bad_share(&config);
        Bursts { config, bad, stream }
    }

    fn loses_next(&mut self) -> bool {
        let (loss, change) = match self.bad {
            false => (self.config.loss_good, self.config.to_bad),
            true => (self.config.loss_bad, self.config.to_good),
        };
        let lost = self.stream.uniform() < loss;
        self.bad ^= self.stream.uniform() < change;
        lost
    }
}

impl Losses for Bursts {
    fn loses(&mut self, _arrival: &Arrival<'_>) -> bool {
        self.loses_next()
    }
}

/// π_B = p_GB / (p_GB + p_BG), the share of packets that meet the bad state. A channel that never changes is good.
fn bad_share(config: &GilbertElliott) -> f64 {
    let steps = config.to_bad + config.to_good;
    if steps > 0.0 { config.to_bad / steps } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::tests::vector;
    use super::*;

    #[test]
    fn bursts_have_the_length_and_the_losses_of_the_worked_example() {
        let v = vector("gilbert_elliott");
        let number = |part: &str, key: &str| v[part][key].as_f64().unwrap();
        let config = GilbertElliott {
            to_bad: number("inputs", "p_gb"),
            to_good: number("inputs", "p_bg"),
            loss_good: number("inputs", "loss_good"),
            loss_bad: number("inputs", "loss_bad"),
        };
        assert!((bad_share(&config) - number("expected", "pi_bad")).abs() < 1e-12);
        let mut bursts = Bursts::new(config, Stream::new(5, "link", "bursts"));
        let n = 1_000_000;
        let (mut lost, mut bad, mut changes) = (0, 0, 0);
        for _ in 0..n {
            let before = bursts.bad;
            bad += u32::from(before);
            lost += u32::from(bursts.loses_next());
            changes += u32::from(before && !bursts.bad);
        }
        // Some 9000 bursts, each as long as its standard deviation: means within 1.1 %, four times that is allowed.
        let burst = f64::from(bad) / f64::from(changes);
        assert!((burst / number("expected", "mean_bad_burst") - 1.0).abs() < 0.045, "{burst}");
        let loss = f64::from(lost) / f64::from(n);
        assert!((loss / number("expected", "mean_loss") - 1.0).abs() < 0.08, "{loss}");
    }
}
