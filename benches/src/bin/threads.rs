//! `cargo run --release -p skyhop-benches --bin threads [-- OPTIONS] WORKLOAD.toml …`: one run on several cores.
//!
//! Runs each workload on one thread and on several in turn, and prints the ratio of their wall times and whether their
//! records are the same. `--parts N` cuts the network into so many parts, whether that pays or not. With
//! `--project 2,16,64` one thread runs so many parts in turn and works out from the events of each step when so many
//! cores would be done, each with one part. All events over this time bound the gain.

#![forbid(unsafe_code)]

use skyhop_base::{Duration, Time};
use skyhop_scenario::{Override, Scenario};
use skyhop_sim::{Division, Execution, Records};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: threads [--threads N] [--parts N] [--pairs N] [--project N,N,...] [--set KEY=VALUE]... \
     WORKLOAD.toml...";

/// Simulated time between two looks at the run, as the command line has it.
const STEPS: u64 = 100;

struct Arguments {
    threads: usize,
    parts: Option<usize>,
    pairs: usize,
    project: Vec<usize>,
    overrides: Vec<Override>,
    workloads: Vec<PathBuf>,
}

fn main() -> ExitCode {
    match arguments().and_then(|arguments| report(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Result<Arguments, String> {
    let mut found = Arguments {
        threads: 2,
        parts: None,
        pairs: 3,
        project: Vec::new(),
        overrides: Vec::new(),
        workloads: Vec::new(),
    };
    let mut rest = std::env::args().skip(1);
    while let Some(argument) = rest.next() {
        let mut number = || -> Result<usize, String> {
            let text = rest.next().ok_or(USAGE)?;
            let number = text.parse().ok().filter(|&number| number > 0);
            number.ok_or(format!("{argument}: {text:?} is not a number above 0"))
        };
        match argument.as_str() {
            "--threads" => found.threads = number()?,
            "--parts" => found.parts = Some(number()?),
            "--pairs" => found.pairs = number()?,
            "--project" => {
                let list = rest.next().ok_or(USAGE)?;
                let read = list.split(',').map(str::parse).collect::<Result<Vec<usize>, _>>();
                found.project = read.map_err(|error| format!("--project {list:?}: {error}"))?;
            }
            "--set" => {
                let text = rest.next().ok_or(USAGE)?;
                found.overrides.push(text.parse().map_err(|error| format!("{error}"))?);
            }
            option if option.starts_with('-') => return Err(USAGE.to_owned()),
            path => found.workloads.push(path.into()),
        }
    }
    if found.workloads.is_empty() { Err(USAGE.to_owned()) } else { Ok(found) }
}

/// A run and how long it took, without what is built before its first event.
struct Timed {
    built_s: f64,
    run_s: f64,
    division: Division,
    records: Records,
}

fn timed(scenario: &Scenario, threads: usize, parts: Option<usize>) -> Result<Timed, String> {
    let spec = scenario.simulation_spec();
    let begin = Instant::now();
    let execution = match parts {
        Some(parts) => Execution::with_parts(&spec, 1, threads, parts),
        None => Execution::new(&spec, 1, threads),
    };
    let mut execution = execution.map_err(|error| error.to_string())?;
    let built_s = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    for step in 1..=STEPS {
        execution.run_until(Time::from_nanos(spec.duration.as_nanos() / STEPS * step));
    }
    execution.run_until(Time::ZERO + spec.duration);
    let run_s = begin.elapsed().as_secs_f64();
    let division = execution.division().clone();
    Ok(Timed { built_s, run_s, division, records: execution.finish() })
}

/// What of the records has to be the same, as text.
fn content(records: &Records) -> String {
    let counts = (records.events, records.packet_hops, &records.conservation);
    format!("{:?} {:?} {counts:?}", records.flows, records.links)
}

fn report(arguments: &Arguments) -> Result<(), String> {
    for path in &arguments.workloads {
        let read = Scenario::from_file(path, &arguments.overrides);
        let scenario = read.map_err(|problems| problems.to_string())?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        for &parts in &arguments.project {
            project(&scenario, &name, parts)?;
        }
        if arguments.project.is_empty() {
            compare(&scenario, &name, arguments)?;
        }
    }
    Ok(())
}

fn compare(scenario: &Scenario, name: &str, arguments: &Arguments) -> Result<(), String> {
    let (mut ratios, mut alone_s) = (Vec::new(), f64::INFINITY);
    for _ in 0..arguments.pairs {
        let alone = timed(scenario, 1, None)?;
        let several = timed(scenario, arguments.threads, arguments.parts)?;
        let Division { threads, parts, reason, windows, .. } = &several.division;
        if let Some(reason) = reason {
            println!("{name}: one thread, for {reason}");
            return Ok(());
        }
        let same = content(&alone.records) == content(&several.records);
        println!(
            "{name}: one thread {:.2} s (built in {:.2} s), {threads} threads and {parts} parts {:.2} s (built in \
             {:.2} s), {windows} windows, {:.0} events a window: {:.2} times as fast, records {}",
            alone.run_s,
            alone.built_s,
            several.run_s,
            several.built_s,
            several.records.events as f64 / *windows as f64,
            alone.run_s / several.run_s,
            if same { "the same" } else { "DIFFERENT" },
        );
        if !same {
            return Err("records differ".to_owned());
        }
        ratios.push(alone.run_s / several.run_s);
        alone_s = alone_s.min(alone.run_s);
    }
    ratios.sort_by(f64::total_cmp);
    println!("{name}: median {:.2}, best time of one thread {alone_s:.2} s", ratios[ratios.len() / 2]);
    Ok(())
}

fn project(scenario: &Scenario, name: &str, parts: usize) -> Result<(), String> {
    let run = timed(scenario, 1, Some(parts))?;
    let Division { parts, reason, windows, critical_events, .. } = &run.division;
    if *parts == 1 {
        println!("{name}: one part{}", reason.as_ref().map_or_else(String::new, |reason| format!(", for {reason}")));
        return Ok(());
    }
    let per_window = scenario.duration.as_secs_f64() / *windows as f64;
    println!(
        "{name}: {parts} parts, {windows} windows of {:.3} ms, {:.0} events a window in the time of {:.0}: at \
         most {:.1} times as fast ({:.2} s on one thread)",
        Duration::from_secs_f64(per_window).as_secs_f64() * 1e3,
        run.records.events as f64 / *windows as f64,
        *critical_events as f64 / *windows as f64,
        run.records.events as f64 / *critical_events as f64,
        run.run_s,
    );
    Ok(())
}
