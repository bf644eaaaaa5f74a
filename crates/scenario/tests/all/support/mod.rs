//! Shared by the tests that run scenarios.

pub mod load;
pub mod scenarios;
pub mod trials;

use skyhop_scenario::Scenario;
use skyhop_sim::{Records, Simulation};

/// The records of a scenario given as TOML, in which no packet was lost sight of, and whose canonical form is the same
/// scenario.
pub fn run(text: &str, seed: u64) -> Records {
    let scenario = Scenario::from_toml(text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let again =
        Scenario::from_json(&scenario.canonical(), "again", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(scenario.hash(), again.hash(), "the canonical form says it all");
    let records = Simulation::new(&scenario.simulation_spec(), seed).unwrap_or_else(|error| panic!("{error}")).run();
    assert!(records.conservation.holds(), "{:?}", records.conservation);
    records
}
