//! Random choices of the generator, from one stream per scenario.

use skyhop_base::Stream;

/// Everything that is random in one scenario. Equal seeds choose equally.
pub struct Chance(Stream);

impl Chance {
    pub fn new(seed: u64, purpose: &str) -> Chance {
        Chance(Stream::new(seed, "random scenario", purpose))
    }

    /// Uniform in [0, 1).
    pub fn share(&mut self) -> f64 {
        self.0.uniform()
    }

    /// True with this probability.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// A whole number below `count`; 0 when there is none.
    pub fn below(&mut self, count: usize) -> usize {
        ((self.share() * count as f64) as usize).min(count.saturating_sub(1))
    }

    /// A whole number from `least` to `most`.
    pub fn whole(&mut self, least: u64, most: u64) -> u64 {
        least + ((self.share() * (most - least + 1) as f64) as u64).min(most - least)
    }

    /// Uniform from `least` to `most`.
    pub fn real(&mut self, least: f64, most: f64) -> f64 {
        least + self.share() * (most - least)
    }

    /// From `least` to `most`, both above zero, each order of magnitude alike.
    pub fn magnitude(&mut self, least: f64, most: f64) -> f64 {
        (least.ln() + self.share() * (most.ln() - least.ln())).exp()
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}
