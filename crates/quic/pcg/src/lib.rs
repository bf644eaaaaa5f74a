//! The generator PCG-XSH-RR 64/32 under the name of the crate `rand_pcg`, for the two QUIC stacks only.
//!
//! quinn's BBR and noq's BBRv3 draw the phase of their gain cycle from a `Pcg32` that they seed from the operating
//! system; neither lets its user give the seed. A run of Skyhop must be a function of its seed, so the workspace
//! replaces this one dependency of theirs (`[patch.crates-io]` in the workspace's manifest): the stacks' code stays as
//! published, and their generator is the same one, but [`SeedableRng::from_rng`] asks the simulation for the seed
//! first.
//!
//! The generator follows M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for
//! Random Number Generation", HMC-CS-2014-0905: a 64-bit congruential state, output by xorshift and a random rotation.

#![forbid(unsafe_code)]

use rand_core::{Rng, SeedableRng, TryRng};
use std::cell::Cell;
use std::convert::Infallible;

/// Knuth's multiplier for 64 bits, the one of the paper.
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

/// Where the seed of the next generator comes from. `None`: the simulation does not run on this thread just now.
pub type SeedSource = fn() -> Option<[u8; 16]>;

thread_local! {
    static SOURCE: Cell<Option<SeedSource>> = const { Cell::new(None) };
}

/// Lets `source` seed every generator that this thread makes from now on.
pub fn seed_from(source: SeedSource) {
    SOURCE.set(Some(source));
}

/// PCG-XSH-RR with 64 bits of state and 32 bits of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lcg64Xsh32 {
    state: u64,
    increment: u64,
}

/// The name by which the stacks know the generator.
pub type Pcg32 = Lcg64Xsh32;

impl Lcg64Xsh32 {
    /// The generator of `stream` at `state`.
    pub fn new(state: u64, stream: u64) -> Self {
        Self::at(state, (stream << 1) | 1)
    }

    fn at(state: u64, increment: u64) -> Self {
        let mut generator = Lcg64Xsh32 { state: state.wrapping_add(increment), increment };
        generator.step();
        generator
    }

    fn step(&mut self) {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
    }

    fn next(&mut self) -> u32 {
        let state = self.state;
        self.step();
        let mixed = (((state >> 18) ^ state) >> 27) as u32;
        mixed.rotate_right((state >> 59) as u32)
    }
}

impl SeedableRng for Lcg64Xsh32 {
    type Seed = [u8; 16];

    fn from_seed(seed: [u8; 16]) -> Self {
        let half = |from: usize| u64::from_le_bytes(std::array::from_fn(|i| seed[from + i]));
        // An even increment would leave the lowest bit of the state without change.
        Self::at(half(0), half(8) | 1)
    }

    fn from_rng<R: Rng + ?Sized>(rng: &mut R) -> Self {
        let seed = SOURCE.get().and_then(|source| source());
        Self::from_seed(seed.unwrap_or_else(|| {
            let mut seed = [0; 16];
            rng.fill_bytes(&mut seed);
            seed
        }))
    }
}

impl TryRng for Lcg64Xsh32 {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.next())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let low = u64::from(self.next());
        Ok(u64::from(self.next()) << 32 | low)
    }

    fn try_fill_bytes(&mut self, target: &mut [u8]) -> Result<(), Infallible> {
        for piece in target.chunks_mut(4) {
            piece.copy_from_slice(&self.next().to_le_bytes()[..piece.len()]);
        }
        Ok(())
    }
}
