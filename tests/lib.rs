//! What the tests across crates share.

#![forbid(unsafe_code)]
pub mod random;
pub mod readers;

use serde_json::Value;
use skyhop::{Progress, Run, RunOptions};
use skyhop_scenario::Scenario;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The project's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder of reference material beside the project, if it is there. Otherwise says that the test is skipped, in the
/// form that `python/tools/run_tests.py` counts.
pub fn shared(part: &str) -> Option<PathBuf> {
    let folder = root().join("..").join("shared").join(part);
    if folder.is_dir() {
        return Some(folder);
    }
    // Not eprintln, which the test harness captures.
    let _ = writeln!(std::io::stderr(), "\nskipped: no ../shared/{part} beside the project");
    None
}

/// Runs a scenario given as TOML, or panics with what is wrong with it.
pub fn run_toml(text: &str, seed: u64) -> Run {
    run(&Scenario::from_toml(text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}")), seed)
}

/// Runs a scenario given as JSON, or panics with what is wrong with it.
pub fn run_json(value: &Value, seed: u64) -> Run {
    run(&Scenario::from_json(value, "test", &[]).unwrap_or_else(|problems| panic!("{problems}")), seed)
}

pub fn run(scenario: &Scenario, seed: u64) -> Run {
    let run =
        skyhop::run(scenario, &RunOptions::with_seed(seed), &Progress::new()).unwrap_or_else(|error| panic!("{error}"));
    assert!(run.records.conservation.holds(), "{:?}", run.records.conservation);
    run
}
