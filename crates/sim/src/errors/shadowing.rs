//! Shadowing of a mobile terminal: E. Lutz, D. Cygan, M. Dippold, F. Dolainsky and W. Papke, "The land mobile satellite
//! communication channel: recording, statistics, and channel model", IEEE Transactions on Vehicular Technology 40(2),
//! 1991, §IV: a good state in view of the satellite and a bad one behind buildings and trees, each for a random time.
//!
//! Times are exponential, as the paper's Markov chain has them. Two probabilities of a loss stand for the fading within
//! a state. In contrast to `gilbert_elliott` the channel changes with time, whether packets come or not.

use super::{Arrival, ErrorModel, LinkFacts, Losses, LossyLink};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Duration, Faults, Stream, Time};

/// The shortest mean of a state: the channel steps through each of its states.
const SHORTEST: Duration = Duration::from_millis(1);

/// Two states of a link over time (Lutz et al. 1991). The link is shadowed bad / (good + bad) of the time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shadowing {
    /// Mean time in view of the satellite, at least 1 ms.
    pub good: Duration,
    /// Mean time in the shadow, at least 1 ms.
    pub bad: Duration,
    /// Probability that a packet is lost in view of the satellite. Without it: 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss_good: f64,
    /// Probability that a packet is lost in the shadow. Without it: 1.
    #[serde(default = "certain")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss_bad: f64,
}

fn certain() -> f64 {
    1.0
}

impl ErrorModel for Shadowing {
    fn check(&self, _link: &LinkFacts, faults: &mut Faults) {
        for (key, mean) in [("good", self.good), ("bad", self.bad)] {
            if mean < SHORTEST {
                faults.key(key).add(format_args!("{mean} is too short: use {SHORTEST} or more"));
            }
        }
    }

    fn build(&self, link: &LossyLink<'_>) -> Option<Box<dyn Losses>> {
        let mut states = link.stream("shadowing");
        let (good_s, bad_s) = (self.good.as_secs_f64(), self.bad.as_secs_f64());
        // The run begins somewhere in the life of the channel; an exponential time has no memory.
        let is_bad = states.uniform() < bad_s / (good_s + bad_s);
        let mut channel = Channel {
            means_s: [good_s, bad_s],
            losses: [self.loss_good, self.loss_bad],
            is_bad,
            until: Time::ZERO,
            states,
            draws: link.stream("losses of shadowing"),
        };
        channel.until = Time::ZERO + channel.stay();
        Some(Box::new(channel))
    }

    fn loses_all(&self) -> bool {
        self.loss_good >= 1.0 && self.loss_bad >= 1.0
    }
}

/// The state of one link.
#[derive(Debug)]
struct Channel {
    /// Good, bad.
    means_s: [f64; 2],
    losses: [f64; 2],
    is_bad: bool,
    /// When the present state ends.
    until: Time,
    states: Stream,
    draws: Stream,
}

impl Channel {
    /// The length of a stay in the present state.
    fn stay(&mut self) -> Duration {
        Duration::from_secs_f64(self.states.exponential(self.means_s[usize::from(self.is_bad)]))
    }
}

impl Losses for Channel {
    fn loses(&mut self, arrival: &Arrival<'_>) -> bool {
        while self.until <= arrival.at {
            self.is_bad = !self.is_bad;
            let stay = self.stay();
            self.until += stay;
        }
        arrival.draw(&self.draws) < self.losses[usize::from(self.is_bad)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{link, packet};
    use super::*;

    /// The outcomes of packets that arrive every 10 ms for so long: lost or not.
    fn outcomes(parameters: &Shadowing, seconds: u32) -> Vec<bool> {
        let mut channel = parameters.build(&link(7)).unwrap();
        let at = |n: u32| Time::ZERO + Duration::from_millis(10) * u64::from(n);
        (0..100 * seconds).map(|n| channel.loses(&Arrival { at: at(n), key: 0, packet: &packet(n, n) })).collect()
    }

    #[test]
    fn the_link_is_shadowed_for_its_share_of_the_time_and_for_its_mean_time() {
        let (good, bad) = (Duration::from_secs(3), Duration::from_secs(1));
        let lost = outcomes(&Shadowing { good, bad, loss_good: 0.0, loss_bad: 1.0 }, 40_000);
        let share = lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64;
        let shadows = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        // 10,000 shadows of 1 s, as variable as long: 1 % each; four times that. Shadows below 10 ms may be missed.
        assert!((share - 0.25).abs() < 4.0 * 0.25 * 0.75 * (2.0f64 / 10_000.0).sqrt(), "{share}");
        assert!((share * 40_000.0 / shadows - 1.01).abs() < 0.05, "{}", share * 40_000.0 / shadows);
    }

    #[test]
    fn packets_are_lost_with_the_probability_of_their_state() {
        let (good, bad) = (Duration::from_secs(1), Duration::from_secs(1));
        let lost = outcomes(&Shadowing { good, bad, loss_good: 0.1, loss_bad: 0.5 }, 20_000);
        let share = lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64;
        assert!((share - 0.3).abs() < 0.01, "{share}");
    }

    #[test]
    fn a_state_has_some_length() {
        let mut faults = Faults::default();
        let parameters = Shadowing { good: Duration::ZERO, bad: SHORTEST, loss_good: 0.0, loss_bad: 1.0 };
        parameters.check(&LinkFacts::default(), &mut faults);
        assert_eq!(faults.0.len(), 1);
        assert!(faults.0[0].message.contains("0 s is too short"), "{}", faults.0[0].message);
    }
}
