//! Hunts for faults with random scenarios, for as long as it is told: `docs/howto/hunt-for-faults.md`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use skyhop_tests::random::finding::Finding;
use skyhop_tests::random::judge::{Judgement, judge, judge_drawn, records_hash};
use skyhop_tests::random::parts::{self, Outcome, Tally};
use skyhop_tests::random::{Coverage, Defaults, Schema, hashes, network, shrink, variants};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Seconds between lines of progress.
const PROGRESS_S: u64 = 30;

const USAGE: &str =
    "hunt [--from SEED] [--count N] [--seconds S] [--out FOLDER] [--long S] [--quic SHARE] [--threads N]
          [--show SEED]
     hunt --replay FILE.toml [--from SEED]
     hunt --hashes [FILE.toml …] [--from SEED] [--count N]
     hunt --renew-hashes same|new
     hunt --cut [FILE.toml …] [--from SEED] [--count N]

  --from SEED    the first seed (1); of a replay: the run's seed
  --count N      so many scenarios (1000)
  --seconds S    at most so long (no limit)
  --out FOLDER   where the shrunk scenarios of findings go (target/findings)
  --long S       a run of more seconds is ended and counted as long (20)
  --quic SHARE   share of the flows that have a QUIC stack (0); such scenarios take some ten times as long
  --threads N    so many scenarios at a time (one for each core)
  --show SEED    print the scenario of a seed as it was drawn
  --replay FILE  judge the scenario in a file
  --hashes       judge nothing; print the hash of the records of each file, else of each seed: a change of the engine
                 that means to change no result leaves them equal
  --renew-hashes same
                 write the hashes of the scenarios in tests/random/hashes.jsonl again; `new` also draws new scenarios";

struct Options {
    from: u64,
    count: u64,
    seconds: Option<u64>,
    out: PathBuf,
    long: Duration,
    quic: f64,
    threads: usize,
    show: bool,
    replay: Option<PathBuf>,
    hashes: bool,
    cut: bool,
    renew: Option<String>,
    files: Vec<PathBuf>,
}

impl Options {
    fn defaults(&self, schema: &Schema) -> Defaults {
        let mut defaults = Defaults::learn(schema);
        defaults.quic = self.quic;
        defaults
    }
}

fn main() {
    let options = read_options().unwrap_or_else(|problem| {
        println!("{problem}\n\n{USAGE}");
        std::process::exit(2);
    });
    let is_clean = match &options.replay {
        Some(file) => replay(file, &options),
        None if options.renew.is_some() => renew_hashes(options.renew.as_deref() == Some("new")),
        None if options.hashes => print_hashes(&options),
        None if options.cut => compare_cuts(&options),
        None if options.show => {
            let schema = Schema::default();
            let drawn = network::draw(&schema, &options.defaults(&schema), options.from);
            println!("{}", variants::to_toml(&drawn));
            true
        }
        None => hunt(&options),
    };
    std::process::exit(i32::from(!is_clean));
}

fn read_options() -> Result<Options, String> {
    let mut options = Options {
        from: 1,
        count: 1000,
        seconds: None,
        out: skyhop_tests::root().join("target/findings"),
        long: Duration::from_secs(20),
        quic: 0.0,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        show: false,
        replay: None,
        hashes: false,
        cut: false,
        renew: None,
        files: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--hashes" {
            options.hashes = true;
            continue;
        }
        if word == "--cut" {
            options.cut = true;
            continue;
        }
        if (options.hashes || options.cut) && !word.starts_with("--") {
            options.files.push(word.into());
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{word}: {value:?} is not a whole number"));
        match word.as_str() {
            "--from" => options.from = number()?,
            "--count" => options.count = number()?,
            "--seconds" => options.seconds = Some(number()?),
            "--long" => options.long = Duration::from_secs(number()?),
            "--quic" => {
                let share = value.parse().ok().filter(|share| (0.0..=1.0).contains(share));
                options.quic = share.ok_or_else(|| format!("--quic: {value:?} is not a number from 0 to 1"))?;
            }
            "--threads" => options.threads = number()?.clamp(1, 1024) as usize,
            "--out" => options.out = value.into(),
            "--replay" => options.replay = Some(value.into()),
            "--renew-hashes" if ["same", "new"].contains(&value.as_str()) => options.renew = Some(value),
            "--renew-hashes" => return Err(format!("--renew-hashes {value}: write \"same\" or \"new\"")),
            "--show" => (options.from, options.show) = (number()?, true),
            _ => return Err(format!("{word} is unknown")),
        }
    }
    Ok(options)
}

/// One line per scenario: the hash of its records and its name.
fn print_hashes(options: &Options) -> bool {
    for file in &options.files {
        println!("{} {}", records_hash(read_file(file), options.from, options.long), file.display());
    }
    if options.files.is_empty() {
        let schema = Schema::default();
        let defaults = Defaults::learn(&schema);
        for seed in options.from..options.from + options.count {
            println!("{} {seed}", records_hash(network::draw(&schema, &defaults, seed), seed, options.long));
        }
    }
    true
}

/// Compares runs in parts with whole ones; a line for each scenario, and how many came to which end.
fn compare_cuts(options: &Options) -> bool {
    let schema = Schema::default();
    let defaults = options.defaults(&schema);
    let next = AtomicU64::new(0);
    let tally = Mutex::new(Tally::default());
    let count = if options.files.is_empty() { options.count } else { options.files.len() as u64 };
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return;
            }
            let (name, value, seed) = match options.files.get(at as usize) {
                Some(file) => (file.display().to_string(), read_file(file), options.from),
                None => {
                    let seed = options.from + at;
                    (format!("seed {seed}"), network::draw(&schema, &defaults, seed), seed)
                }
            };
            let outcome = parts::compare(value, seed);
            if matches!(outcome, Outcome::Differs(_)) || !options.files.is_empty() {
                println!("{name}: {outcome:?}");
            }
            tally.lock().unwrap_or_else(PoisonError::into_inner).add(&outcome);
        }
    };
    std::thread::scope(|scope| (0..options.threads).for_each(|_| _ = scope.spawn(work)));
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    tally.0.iter().for_each(|(what, count)| println!("{count:6} {what}"));
    !tally.0.contains_key("DIFFERENT")
}

/// Writes `tests/random/hashes.jsonl`.
fn renew_hashes(draws: bool) -> bool {
    let written = if draws { hashes::renew() } else { hashes::rehash() };
    if let Err(error) = &written {
        println!("{}: {error}", hashes::path().display());
    }
    written.is_ok()
}

fn read_file(file: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::to_value(table).expect("TOML has a form in JSON")
}

fn replay(file: &Path, options: &Options) -> bool {
    let value = read_file(file);
    if let Err(problems) = skyhop_scenario::Scenario::from_json(&value, "replay", &[]) {
        println!("{problems}");
    }
    let verdict = judge(&value, options.from, options.long);
    verdict.findings.iter().for_each(|finding| println!("{finding}"));
    println!("{} findings, {} packet hops", verdict.findings.len(), verdict.packet_hops);
    verdict.findings.is_empty()
}

/// What a hunt has seen.
#[derive(Default)]
struct Seen {
    coverage: Coverage,
    /// Findings by kind.
    kinds: BTreeMap<String, u64>,
    tried: u64,
    as_drawn: u64,
    mended: u64,
    long: u64,
    idle: u64,
    hops: u64,
    refused: BTreeMap<String, u64>,
    /// When the last line of progress was written, s since the start.
    told_s: u64,
}

fn hunt(options: &Options) -> bool {
    let schema = Schema::default();
    let defaults = options.defaults(&schema);
    let seen = Mutex::new(Seen::default());
    let next = AtomicU64::new(options.from);
    let begin = Instant::now();
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let is_late = options.seconds.is_some_and(|seconds| begin.elapsed().as_secs() >= seconds);
            if is_late || seed >= options.from + options.count {
                return;
            }
            let verdict = judge_drawn(network::draw(&schema, &defaults, seed), seed, options.long);
            let new =
                note(&mut seen.lock().expect("no thread panics with it"), options, &schema, seed, &verdict, begin);
            for finding in new {
                show(options, seed, &finding, verdict.value.as_ref());
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(work);
        }
    });
    let seen = seen.into_inner().expect("no thread panicked with it");
    tell(&seen, options, &schema, begin);
    seen.kinds.is_empty()
}

/// Counts what the scenario of a seed gave; returns findings of kinds that are new.
fn note(
    seen: &mut Seen,
    options: &Options,
    schema: &Schema,
    seed: u64,
    verdict: &Judgement,
    begin: Instant,
) -> Vec<Finding> {
    seen.tried += 1;
    seen.as_drawn += u64::from(verdict.taken_out.as_ref().is_some_and(Vec::is_empty));
    seen.mended += u64::from(verdict.taken_out.as_ref().is_some_and(|problems| !problems.is_empty()));
    for problem in verdict.taken_out.iter().flatten() {
        *seen.refused.entry(without_numbers(&problem.path)).or_default() += 1;
    }
    seen.long += u64::from(verdict.is_long);
    seen.idle += u64::from(verdict.taken_out.is_some() && verdict.delivered == 0);
    seen.hops += verdict.packet_hops;
    if let Some(value) = &verdict.value {
        seen.coverage.add(schema, value);
    }
    if verdict.is_long {
        println!("seed {seed}: takes more than {} s", options.long.as_secs());
    }
    let elapsed_s = begin.elapsed().as_secs();
    if elapsed_s >= seen.told_s + PROGRESS_S {
        seen.told_s = elapsed_s;
        eprintln!(
            "{} of {} scenarios in {elapsed_s} s, {} kinds of findings",
            seen.tried,
            options.count,
            seen.kinds.len()
        );
    }
    let mut new = Vec::new();
    for finding in &verdict.findings {
        let count = seen.kinds.entry(finding.kind.clone()).or_default();
        *count += 1;
        if *count == 1 {
            new.push(finding.clone());
        }
    }
    new
}

/// Prints a finding and writes the smallest scenario that still has it.
fn show(options: &Options, seed: u64, finding: &Finding, value: Option<&serde_json::Value>) {
    println!("seed {seed}: {finding}");
    let Some(value) = value else { return };
    let (small, found) = shrink::shrink(value, seed, &finding.kind, Duration::from_secs(60));
    let found = found.unwrap_or_else(|| finding.clone());
    let text = format!("# seed {seed}\n# {}\n{}", found.to_string().replace('\n', "\n# "), variants::to_toml(&small));
    let file = options.out.join(format!("{seed}-{}.toml", file_name(&finding.kind)));
    let written = std::fs::create_dir_all(&options.out).and_then(|()| std::fs::write(&file, &text));
    println!("{text}\n# replay: cargo run -p skyhop-tests --bin hunt -- --replay {} --from {seed}", file.display());
    if let Err(error) = written {
        println!("{}: {error}", file.display());
    }
}

/// Prints the totals.
fn tell(seen: &Seen, options: &Options, schema: &Schema, begin: Instant) {
    let Seen { coverage, kinds, tried, as_drawn, mended, long, idle, hops, refused, .. } = seen;
    println!(
        "{tried} scenarios from seed {} in {:.0} s: {as_drawn} valid as drawn, {mended} mended, {} invalid, {long} too \
         long, {idle} without a byte delivered, {hops} packet hops in the first of three runs each",
        options.from,
        begin.elapsed().as_secs_f64(),
        tried - as_drawn - mended,
    );
    let missing = coverage.missing(schema);
    println!("{} of {} points of the format unused: {missing:?}", missing.len(), schema.points().len());
    let mut refused: Vec<_> = refused.iter().collect();
    refused.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    refused.truncate(15);
    println!("most often taken out: {refused:?}");
    println!("rarest: {:?}", coverage.rarest(12));
    for (kind, count) in kinds {
        println!("{count} times: {kind}");
    }
}

/// `flows[2].tcp` as `flows[].tcp`.
fn without_numbers(path: &str) -> String {
    path.chars().filter(|c| !c.is_ascii_digit()).collect()
}

fn file_name(kind: &str) -> String {
    let name: String = kind.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    name.chars().take(60).collect()
}
