//! `cargo run --release -p skyhop-benches --bin threads [-- OPTIONS] WORKLOAD.toml …`: one run on several cores.
//!
//! Runs each workload on one thread and on several in turn, and prints the ratio of their wall times and whether their
//! records are the same. A run has a hundred pieces. For each place that the cores may have (`cores.rs`) the program
//! gives the ratio of the pieces during which they had it. `--parts N` divides the network into so many parts, even if
//! that does not pay. With `--project 2,16,64` one thread runs so many parts in turn, and the program computes from the
//! events of each step when so many cores would be done, each with one part. All events over this time bound the gain.
//! Each part renews the sky and the routes by itself, so a second bound has the time of renewals on each core.

#![forbid(unsafe_code)]

mod cores;

use cores::{Partner, Place, median};
use skyhop_base::Time;
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

/// One of [`STEPS`] pieces of a run.
#[derive(Clone, Copy)]
struct Piece {
    wall_s: f64,
    /// How long all threads together waited for each other.
    waited_s: f64,
    /// Where the cores were before and after it, if both times in the same place.
    place: Option<Place>,
}

/// A run and how long it took, without what is built before its first event.
struct Timed {
    built_s: f64,
    run_s: f64,
    pieces: Vec<Piece>,
    division: Division,
    records: Records,
}

/// Runs it. With a partner it looks before and after each piece where the cores are.
fn timed(
    scenario: &Scenario,
    threads: usize,
    parts: Option<usize>,
    partner: Option<&Partner>,
) -> Result<Timed, String> {
    let spec = scenario.simulation_spec();
    let begin = Instant::now();
    let execution = match parts {
        Some(parts) => Execution::with_parts(&spec, 1, threads, parts),
        None => Execution::new(&spec, 1, threads),
    };
    let mut execution = execution.map_err(|error| error.to_string())?;
    let built_s = begin.elapsed().as_secs_f64();
    let place = || partner.map(|partner| Place::of(partner.round_trip_ns()));
    let (mut pieces, mut before, mut waited_before) = (Vec::new(), place(), Default::default());
    for step in 1..=STEPS {
        let end = if step == STEPS { spec.duration.as_nanos() } else { spec.duration.as_nanos() / STEPS * step };
        let begin = Instant::now();
        execution.run_until(Time::from_nanos(end));
        let wall_s = begin.elapsed().as_secs_f64();
        let waited = execution.division().waited;
        let after = place();
        let place = after.filter(|_| before == after);
        pieces.push(Piece { wall_s, waited_s: (waited - waited_before).as_secs_f64(), place });
        (before, waited_before) = (after, waited);
    }
    let run_s = pieces.iter().map(|piece| piece.wall_s).sum();
    let division = execution.division().clone();
    Ok(Timed { built_s, run_s, pieces, division, records: execution.finish() })
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
        let whole_s = if arguments.project.is_empty() { 0.0 } else { timed(&scenario, 1, None, None)?.run_s };
        for &parts in &arguments.project {
            project(&scenario, &name, parts, whole_s)?;
        }
        if arguments.project.is_empty() {
            compare(&scenario, &name, arguments)?;
        }
    }
    Ok(())
}

fn compare(scenario: &Scenario, name: &str, arguments: &Arguments) -> Result<(), String> {
    let partner = Partner::new();
    let mut ratios = Vec::new();
    let (mut alone_pieces, mut several_pieces) = (Vec::new(), Vec::new());
    for _ in 0..arguments.pairs {
        let alone = timed(scenario, 1, None, None)?;
        let several = timed(scenario, arguments.threads, arguments.parts, Some(&partner))?;
        let Division { threads, parts, reason, windows, rests, .. } = &several.division;
        if let Some(reason) = reason {
            println!("{name}: one thread, for {reason}");
            return Ok(());
        }
        let same = content(&alone.records) == content(&several.records);
        println!(
            "{name}: one thread {:.2} s (built in {:.2} s), {threads} threads and {parts} parts {:.2} s (built in \
             {:.2} s), {windows} windows, {:.0} events a window, {rests} rests: {:.2} times as fast, records {}",
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
        alone_pieces.push(alone.pieces);
        several_pieces.push(several.pieces);
    }
    println!("{name}: median {:.2}", median(ratios));
    for place in Place::ALL {
        compare_on(place, name, arguments.threads, &alone_pieces, &several_pieces);
    }
    Ok(())
}

/// Compares the pieces of the runs on several threads during which the cores had one place with the same pieces of the
/// runs on one thread.
fn compare_on(place: Place, name: &str, threads: usize, alone: &[Vec<Piece>], several: &[Vec<Piece>]) {
    let (mut alone_s, mut several_s, mut waited_s, mut wall_s, mut count) = (0.0, 0.0, 0.0, 0.0, 0);
    for number in 0..STEPS as usize {
        let here: Vec<_> = several.iter().map(|run| run[number]).filter(|piece| piece.place == Some(place)).collect();
        if !here.is_empty() {
            count += here.len();
            several_s += median(here.iter().map(|piece| piece.wall_s).collect());
            alone_s += median(alone.iter().map(|run| run[number].wall_s).collect());
            wall_s += here.iter().map(|piece| piece.wall_s).sum::<f64>();
            waited_s += here.iter().map(|piece| piece.waited_s).sum::<f64>();
        }
    }
    if count > 0 {
        println!(
            "{name}: on {}, {count} of {} pieces: {:.2}; threads waited for {:.0} % of their time",
            place.description(),
            several.len() * STEPS as usize,
            alone_s / several_s,
            100.0 * waited_s / (wall_s * threads as f64),
        );
    }
}

/// Prints how many times as fast a run would be if each of its parts had a core: a bound from its events, and one with
/// the time of renewals of the sky, which no number of parts shortens.
fn project(scenario: &Scenario, name: &str, parts: usize, whole_s: f64) -> Result<(), String> {
    let run = timed(scenario, 1, Some(parts), None)?;
    let Division { parts, reason, windows, critical_events, renewed, .. } = &run.division;
    if *parts == 1 {
        println!("{name}: one part{}", reason.as_ref().map_or_else(String::new, |reason| format!(", for {reason}")));
        return Ok(());
    }
    let events = run.records.events as f64;
    let by_events = events / *critical_events as f64;
    let renewed_s = renewed.as_secs_f64();
    println!(
        "{name}: {parts} parts, {windows} windows of {:.3} ms, {:.0} events a window in the time of {:.0}: at most \
         {by_events:.1} times as fast. In each part renewals of the sky take {:.1} % of the {whole_s:.2} s of one \
         part: at most {:.1} times as fast ({:.2} s for all parts on one thread)",
        scenario.duration.as_secs_f64() * 1e3 / *windows as f64,
        events / *windows as f64,
        *critical_events as f64 / *windows as f64,
        100.0 * renewed_s / whole_s,
        whole_s / (renewed_s + (whole_s - renewed_s) / by_events),
        run.run_s,
    );
    Ok(())
}
