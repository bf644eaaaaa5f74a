//! Three hundred short random scenarios with the hashes of their records: a change that means to change no result
//! leaves them equal. `hunt --renew-hashes` writes them again after a change of results.
//!
//! The file holds the scenarios, not their seeds alone: a new key of the format changes everything that the generator
//! draws, and the results of the old scenarios must stay even then.

use super::judge::records_of;
use super::{Defaults, Schema, mend, network};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// So many scenarios are kept.
pub const COUNT: usize = 300;
/// Packet hops of a scenario that is kept: enough that something happens, few enough that all run in seconds.
const HOPS: std::ops::RangeInclusive<u64> = 50..=6_000;
/// A scenario that takes longer is not kept, and fails if it was.
const LIMIT: Duration = Duration::from_secs(120);
/// Hexadecimal digits of a hash that the file keeps.
const DIGITS: usize = 16;

/// Stands in the file for the folder of the project, in which scenarios name files.
const ROOT: &str = "{root}";

/// A scenario with the hash of its records.
#[derive(Clone, Debug)]
pub struct Kept {
    pub seed: u64,
    pub hash: String,
    pub scenario: Json,
}

pub fn path() -> PathBuf {
    crate::root().join("tests/random/hashes.jsonl")
}

/// The folder of the project as it stands inside a text of JSON.
fn folder() -> String {
    let quoted = json!(crate::root()).to_string();
    quoted.trim_matches('"').to_owned()
}

/// A line of the file.
fn line(seed: u64, hash: &str, scenario: &Json) -> String {
    let text = json!({ "seed": seed, "hash": hash, "scenario": scenario }).to_string();
    text.replace(&folder(), ROOT) + "\n"
}

/// # Panics
/// When the file is missing or is not what [`renew`] writes.
pub fn read() -> Vec<Kept> {
    let text = std::fs::read_to_string(path()).expect("tests/random/hashes.jsonl is part of the project");
    let text = text.replace(ROOT, &folder());
    let kept = text.lines().map(|line| {
        let value: Json = serde_json::from_str(line).expect("each line of hashes.jsonl is JSON");
        Kept {
            seed: value["seed"].as_u64().expect("a seed"),
            hash: value["hash"].as_str().expect("a hash").to_owned(),
            scenario: value["scenario"].clone(),
        }
    });
    kept.collect()
}

/// The hash of the records of a scenario, or in a word why there is none; and its packet hops.
fn hash(scenario: &Json, seed: u64) -> (String, u64) {
    match records_of(scenario, seed, LIMIT) {
        Ok(run) => (run.records_hash()[..DIGITS].to_owned(), run.records.packet_hops),
        Err(why) => (why, 0),
    }
}

/// Runs every scenario, on all cores; one line for each whose records differ.
pub fn differences(kept: &[Kept]) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut found: Vec<(u64, String)> = std::thread::scope(|scope| {
        let work = || {
            let mut found = Vec::new();
            while let Some(one) = kept.get(next.fetch_add(1, Ordering::Relaxed)) {
                let (now, _) = hash(&one.scenario, one.seed);
                if now != one.hash {
                    found.push((one.seed, format!("seed {}: {} was kept, {now} is found", one.seed, one.hash)));
                }
            }
            found
        };
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no run panics")).collect()
    });
    found.sort();
    found.into_iter().map(|(_, text)| text).collect()
}

/// Draws scenarios from seed 1 on and writes those that are short, with their hashes.
///
/// # Errors
/// When the file cannot be written.
pub fn renew() -> std::io::Result<()> {
    let schema = Schema::default();
    let defaults = Defaults::learn(&schema);
    let mut text = String::new();
    let mut count = 0;
    for seed in 1.. {
        let Ok(mended) = mend::mend(network::draw(&schema, &defaults, seed)) else { continue };
        let (hash, hops) = hash(&mended.value, seed);
        if HOPS.contains(&hops) {
            text += &line(seed, &hash, &mended.value);
            count += 1;
        }
        if count == COUNT {
            break;
        }
    }
    std::fs::write(path(), text)
}

/// Writes the hashes of the same scenarios again.
///
/// # Errors
/// When the file cannot be written.
pub fn rehash() -> std::io::Result<()> {
    let lines = read().into_iter().map(|one| {
        let (hash, _) = hash(&one.scenario, one.seed);
        line(one.seed, &hash, &one.scenario)
    });
    std::fs::write(path(), lines.collect::<String>())
}
