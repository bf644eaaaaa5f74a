//! The generator that stands in for `rand_pcg` (`crates/quic/pcg`), which does not belong to the workspace.

#![cfg(any(feature = "quinn", feature = "noq", feature = "picoquic"))]

use rand_core::{Rng, SeedableRng};
use rand_pcg::{Pcg32, seed_from};

/// The first numbers that the paper's own C library prints for state 42 and stream 54.
#[test]
fn the_generator_gives_the_known_numbers() {
    let mut generator = Pcg32::new(42, 54);
    let numbers: Vec<u32> = (0..6).map(|_| generator.next_u32()).collect();
    assert_eq!(numbers, [0xa15c_02b7, 0x7b47_f409, 0xba1d_3330, 0x83d2_f293, 0xbfa4_784b, 0xcbed_606e]);
}

#[test]
fn the_simulation_seeds_it_when_it_runs() {
    let mut other = Pcg32::new(1, 1);
    let unseeded = Pcg32::from_rng(&mut other);
    seed_from(|| Some([7; 16]));
    assert_eq!(Pcg32::from_rng(&mut other), Pcg32::from_seed([7; 16]));
    assert_ne!(Pcg32::from_rng(&mut other), unseeded);
    seed_from(|| None);
    assert_ne!(Pcg32::from_rng(&mut other), Pcg32::from_rng(&mut other));
}
