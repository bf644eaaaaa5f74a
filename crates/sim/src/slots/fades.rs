//! Fades: short times in which a link loses a share of its packets, at any time of a slot.

use crate::slots::draws::{Draw, length, number};
use skyhop_base::{Duration, Stream, Time};

/// Fades begin independently of one another, as in a Poisson process, in each direction of a link by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Fades {
    /// Mean time from the start of a fade to the start of the next; more than zero.
    pub every: Duration,
    /// Quantiles of the length; none is longer than `every`.
    pub length: Vec<Duration>,
    /// Quantiles of the probability that a packet is lost that arrives during a fade.
    pub loss: Vec<f64>,
}

/// The fades of one link. When they are is a function of the seed and the link's name.
#[derive(Clone, Debug)]
pub(crate) struct FadeTimes {
    config: Fades,
    draws: Stream,
    /// Time is divided into cells of `every`. Those of this one and of the cell before it are at hand.
    cell: Option<u64>,
    /// Start and end in ns, and the probability of a loss.
    near: Vec<(u64, u64, f64)>,
}

/// Draws that a cell may need of one kind: 2⁻⁵³ is the least share above the last one, and no Poisson count of mean 1
/// is larger than 18 with that probability.
const OF_CELL: u64 = 32;

impl FadeTimes {
    pub fn new(config: &Fades, draws: Stream) -> FadeTimes {
        FadeTimes { config: config.clone(), draws, cell: None, near: Vec::new() }
    }

    /// The probability that a packet that arrives at `t` is lost in a fade.
    pub fn loss(&mut self, t: Time) -> f64 {
        let ns = t.as_nanos();
        let cell = ns / self.config.every.as_nanos();
        if self.cell != Some(cell) {
            self.cell = Some(cell);
            self.near.clear();
            // No fade is longer than a cell.
            for one in cell.saturating_sub(1)..=cell {
                self.draw(one);
            }
        }
        let survives = |survives: f64, &(start, end, loss): &(u64, u64, f64)| {
            if (start..end).contains(&ns) { survives * (1.0 - loss) } else { survives }
        };
        1.0 - self.near.iter().fold(1.0, survives)
    }

    fn draw(&mut self, cell: u64) {
        let count = poisson(self.draws.uniform_of(Draw::Fades as u64, cell));
        let every = self.config.every.as_nanos();
        for n in (0..count).map(|n| cell * OF_CELL + n) {
            let drawn = |what: Draw| self.draws.uniform_of(what as u64, n);
            let start = cell * every + (drawn(Draw::FadeStart) * every as f64) as u64;
            let end = start + length(&self.config.length, drawn(Draw::FadeLength)).as_nanos();
            self.near.push((start, end, number(&self.config.loss, drawn(Draw::FadeLoss))));
        }
    }
}

/// The Poisson count of mean 1 to which a share in [0, 1) belongs.
fn poisson(share: f64) -> u64 {
    let (mut count, mut probability) = (0, libm::exp(-1.0));
    let mut below = probability;
    while share >= below && count < OF_CELL - 1 {
        count += 1;
        probability /= count as f64;
        below += probability;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn fades(length: Vec<Duration>, loss: Vec<f64>, link: &str) -> FadeTimes {
        FadeTimes::new(&Fades { every: ms(1000), length, loss }, Stream::new(1, link, "fades"))
    }

    /// The probability in each millisecond of so many seconds.
    fn each(fades: &mut FadeTimes, seconds: u64) -> Vec<f64> {
        (0..1000 * seconds).map(|n| fades.loss(Time::ZERO + ms(n))).collect()
    }

    #[test]
    fn fades_begin_as_often_as_said_independently_and_last_as_long() {
        let found = each(&mut fades(vec![ms(5)], vec![0.5], "link"), 10_000);
        let share = found.iter().filter(|&&loss| loss > 0.0).count() as f64 / found.len() as f64;
        // Of 10,000 fades of 5 ms some overlap: 1 - exp(-0.005). Four standard deviations of the count are 4 %.
        assert!((share / (1.0 - (-0.005f64).exp()) - 1.0).abs() < 0.04, "{share}");
        assert!(found.contains(&0.75) && found.iter().all(|loss| [0.0, 0.5, 0.75, 0.875].contains(loss)));
        let starts: Vec<usize> = (1..found.len()).filter(|&n| found[n] > 0.0 && found[n - 1] == 0.0).collect();
        let gaps: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 1005.0 - 1.0).abs() < 0.04, "{mean}");
        // Exponential gaps: the standard deviation is the mean.
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.06, "{}", variance.sqrt() / mean);
        // Fades begin everywhere in a cell.
        let early = starts.iter().filter(|&&start| start % 1000 < 500).count() as f64 / starts.len() as f64;
        assert!((early - 0.5).abs() < 0.02, "{early}");
    }

    #[test]
    fn lengths_and_losses_are_drawn_and_a_fade_reaches_into_the_next_cell() {
        let found = each(&mut fades(vec![ms(0), ms(800)], vec![0.1, 0.3], "link"), 4000);
        let (mut lengths, mut crossed) = (Vec::new(), 0);
        let mut start = None;
        for (n, &loss) in found.iter().enumerate() {
            match start {
                None if loss > 0.0 => start = Some((n, loss)),
                // Another fade that begins within it changes the loss; such ones are left out.
                Some((begin, first)) if loss != first => {
                    if loss == 0.0 {
                        lengths.push((n - begin) as f64);
                        crossed += usize::from(begin / 1000 != (n - 1) / 1000);
                    }
                    start = None;
                }
                _ => {}
            }
        }
        assert!(lengths.len() > 1000 && crossed > 200, "{} {crossed}", lengths.len());
        assert!(lengths.iter().all(|&length| length <= 800.0));
        let alone: Vec<f64> = found.iter().copied().filter(|&loss| loss > 0.0 && loss < 0.3).collect();
        let mean = alone.iter().sum::<f64>() / alone.len() as f64;
        assert!((0.1..0.3).contains(&alone.iter().copied().fold(1.0, f64::min)) && (mean - 0.2).abs() < 0.03, "{mean}");
    }

    #[test]
    fn when_fades_are_depends_on_neither_the_packets_nor_their_order() {
        let config = (vec![ms(10), ms(300)], vec![0.2]);
        let (mut one, mut other) = (fades(config.0.clone(), config.1.clone(), "a"), fades(config.0, config.1, "a"));
        let forward = each(&mut one, 200);
        let backward: Vec<f64> = (0..200_000).rev().map(|n| other.loss(Time::ZERO + ms(n))).collect();
        assert!(forward.iter().eq(backward.iter().rev()));
        let elsewhere = each(&mut fades(vec![ms(10), ms(300)], vec![0.2], "b"), 200);
        assert_ne!(forward, elsewhere, "each direction of a link has its own");
    }

    #[test]
    fn counts_are_those_of_a_poisson_distribution_of_mean_one() {
        // e⁻¹ = 0.36788, twice that, and e⁻¹ (1 + 1 + 1/2) = 0.91970.
        for (share, count) in [(0.0, 0), (0.3678, 0), (0.3679, 1), (0.7357, 1), (0.7358, 2), (0.9196, 2), (0.9198, 3)] {
            assert_eq!(poisson(share), count, "{share}");
        }
        assert!(poisson(1.0 - f64::EPSILON / 2.0) < OF_CELL);
    }
}
