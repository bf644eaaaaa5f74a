//! `cargo run --release -p skyhop-benches [-- OPTIONS] [WORKLOAD.toml …]`: packet-hops per second of CPU.
//!
//! A packet-hop is one packet, data or ACK, delivered over one link. Without a file every workload of `benches/` is
//! measured, and that of QUIC with each stack of this build. Each runs five times, and the median counts. `--json` runs
//! each once and prints a line of JSON, which `peers/run.py` reads; `--describe` prints the scenario with every default
//! filled, from which `peers/run.py` tells the peers what to simulate. CPU time and packet-hops count from the
//! simulated instant `--mark` on; without it from the start, building included. The queue is averaged from
//! `--queue-from` on. With `--threads N` each run is on so many threads where its network can be cut, and CPU time
//! counts all of them (`--bin threads` compares wall times).

#![forbid(unsafe_code)]

use cpu_time::ProcessTime;
use skyhop_base::{Duration, Time};
use skyhop_quic::StackKind;
use skyhop_scenario::{Override, Scenario};
use skyhop_sim::{Execution, Records, Simulation, SimulationSpec};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const RUNS: usize = 5;
const USAGE: &str = "usage: skyhop-benches [--json | --describe] [--mark DURATION] [--queue-from DURATION] [--seed N] \
     [--threads N] [--set KEY=VALUE]... [WORKLOAD.toml]...";

/// The numbers printed for each workload.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    Table,
    Json,
    Description,
}

struct Arguments {
    output: Output,
    measurement: Measurement,
    overrides: Vec<Override>,
    workloads: Vec<PathBuf>,
    /// All workloads are measured, in every form.
    is_all: bool,
}

/// What of a run is measured.
#[derive(Clone, Copy)]
struct Measurement {
    mark: Option<Duration>,
    queue_from: Duration,
    seed: u64,
    threads: usize,
}

struct Measured {
    cpu_s: f64,
    packet_hops: u64,
    events: u64,
    goodput_bps: f64,
    /// Mean queue of the link with the longest queue, in packets.
    queue_mean_packets: f64,
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
    let measurement = Measurement { mark: None, queue_from: Duration::ZERO, seed: 1, threads: 1 };
    let mut found =
        Arguments { output: Output::Table, measurement, overrides: Vec::new(), workloads: Vec::new(), is_all: false };
    let mut rest = std::env::args().skip(1);
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--json" => found.output = Output::Json,
            "--describe" => found.output = Output::Description,
            "--mark" => {
                let text = rest.next().ok_or(USAGE)?;
                found.measurement.mark = Some(text.parse().map_err(|error| format!("--mark: {error}"))?);
            }
            "--queue-from" => {
                let text = rest.next().ok_or(USAGE)?;
                found.measurement.queue_from = text.parse().map_err(|error| format!("--queue-from: {error}"))?;
            }
            "--seed" => {
                let text = rest.next().ok_or(USAGE)?;
                found.measurement.seed = text.parse().map_err(|error| format!("--seed: {error}"))?;
            }
            "--threads" => {
                let text = rest.next().ok_or(USAGE)?;
                let threads = text.parse().ok().filter(|&threads| threads > 0);
                found.measurement.threads = threads.ok_or(format!("--threads: {text:?} is not a number above 0"))?;
            }
            "--set" => {
                let text = rest.next().ok_or(USAGE)?;
                found.overrides.push(text.parse().map_err(|error| format!("{error}"))?);
            }
            option if option.starts_with('-') => return Err(USAGE.to_owned()),
            path => found.workloads.push(path.into()),
        }
    }
    if found.workloads.is_empty() {
        found.is_all = true;
        found.workloads = all_workloads().map_err(|error| format!("workloads: {error}"))?;
    }
    Ok(found)
}

/// Those beside this program, by name.
fn all_workloads() -> std::io::Result<Vec<PathBuf>> {
    let files = std::fs::read_dir(env!("CARGO_MANIFEST_DIR"))?.map(|entry| entry.map(|entry| entry.path()));
    let mut files = files.collect::<Result<Vec<_>, _>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml") && !file.ends_with("Cargo.toml"));
    files.sort();
    Ok(files)
}

fn report(arguments: &Arguments) -> Result<(), String> {
    if arguments.output == Output::Table {
        println!("CPU: {}", cpu_model());
        println!(
            "{:<24} {:>8} {:>12} {:>12} {:>14} {:>16} {:>12}",
            "workload", "CPU s", "packet-hops", "events", "million hops/s", "goodput Mbit/s", "mean queue"
        );
    }
    for (path, stack) in arguments.workloads.iter().flat_map(|path| stacks(path, arguments.is_all)) {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = stack.map_or_else(|| stem.to_string(), |stack| format!("{stem}, {stack}"));
        let mut overrides = arguments.overrides.clone();
        if let Some(stack) = stack {
            let assignment = format!("flows[*].quic.stack={stack}");
            overrides.push(assignment.parse().map_err(|error| format!("{error}"))?);
        }
        let read = Scenario::from_file(path, &overrides);
        let scenario = read.map_err(|problems| problems.to_string())?;
        match arguments.output {
            Output::Description => println!("{}", scenario.canonical_json()),
            Output::Json => println!("{}", measure(&scenario, arguments.measurement)?.json(&name)),
            Output::Table => {
                let mut runs =
                    (0..RUNS).map(|_| measure(&scenario, arguments.measurement)).collect::<Result<Vec<_>, _>>()?;
                runs.sort_by(|a, b| a.cpu_s.total_cmp(&b.cpu_s));
                println!("{}", table_row(&name, &runs));
            }
        }
    }
    Ok(())
}

/// The workload of QUIC has a row for each stack of this build; the others have one.
fn stacks(path: &Path, is_all: bool) -> Vec<(&Path, Option<StackKind>)> {
    if !is_all || path.file_stem().is_none_or(|stem| stem != "quic") {
        return vec![(path, None)];
    }
    let built = StackKind::ALL.into_iter().filter(|stack| stack.is_built());
    built.map(|stack| (path, Some(stack))).collect()
}

fn measure(scenario: &Scenario, measurement: Measurement) -> Result<Measured, String> {
    let Measurement { mark, queue_from, seed, threads } = measurement;
    let spec = scenario.simulation_spec();
    let build = |spec: &SimulationSpec| Simulation::new(spec, seed).map_err(|error| error.to_string());
    // A run that ends at an instant tells what went before.
    let before = |instant| build(&SimulationSpec { duration: instant, ..spec.clone() }).map(Simulation::run);
    let mut start = ProcessTime::now();
    let mut simulation = Execution::new(&spec, seed, threads).map_err(|error| error.to_string())?;
    if let Some(mark) = mark {
        simulation.run_until(Time::ZERO + mark);
        start = ProcessTime::now();
    }
    let records = simulation.run();
    let mut measured = Measured::new(start.elapsed(), &records);
    if let Some(mark) = mark {
        measured.packet_hops -= before(mark)?.packet_hops;
    }
    if !queue_from.is_zero() {
        measured.queue_mean_packets = queue_since(&records, &before(queue_from)?);
    }
    Ok(measured)
}

/// Mean queue from the end of `before` to that of `whole`, of the link where it is longest.
fn queue_since(whole: &Records, before: &Records) -> f64 {
    let (until_s, from_s) = (whole.end.as_secs_f64(), before.end.as_secs_f64());
    let pairs = whole.links.iter().zip(&before.links);
    let packet_seconds = pairs.map(|(w, b)| w.queue_mean_packets * until_s - b.queue_mean_packets * from_s);
    packet_seconds.fold(0.0, f64::max) / (until_s - from_s)
}

impl Measured {
    fn new(cpu: std::time::Duration, records: &Records) -> Measured {
        Measured {
            cpu_s: cpu.as_secs_f64(),
            packet_hops: records.packet_hops,
            events: records.events,
            goodput_bps: records.flows.iter().map(|flow| flow.goodput_bps).sum(),
            queue_mean_packets: records.links.iter().map(|link| link.queue_mean_packets).fold(0.0, f64::max),
        }
    }

    /// Million packet-hops per CPU second.
    fn rate(&self) -> f64 {
        self.packet_hops as f64 / self.cpu_s / 1e6
    }

    fn json(&self, workload: &str) -> String {
        let Measured { cpu_s, packet_hops, events, goodput_bps, queue_mean_packets } = self;
        format!(
            "{{\"workload\": {workload:?}, \"cpu_s\": {cpu_s}, \"peak_rss_kib\": {}, \"packet_hops\": {packet_hops}, \
             \"events\": {events}, \"goodput_bps\": {goodput_bps}, \"queue_mean_packets\": {queue_mean_packets}, \
             \"cpu\": {:?}}}",
            peak_rss_kib(),
            cpu_model()
        )
    }
}

/// `runs` from the fastest to the slowest.
fn table_row(name: &str, runs: &[Measured]) -> String {
    let median = &runs[runs.len() / 2];
    format!(
        "{:<24} {:>8.3} {:>12} {:>12} {:>14.2} {:>16.2} {:>12.1}   (slowest {:.2}, fastest {:.2})",
        name,
        median.cpu_s,
        median.packet_hops,
        median.events,
        median.rate(),
        median.goodput_bps / 1e6,
        median.queue_mean_packets,
        runs[runs.len() - 1].rate(),
        runs[0].rate(),
    )
}

/// Most memory that this process has had; 0 where the system does not say.
fn peak_rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()).and_then(|kib| kib.parse().ok()).unwrap_or(0)
}

/// What the figures were measured on; "unknown" where the system does not say.
fn cpu_model() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split(':').nth(1)).map_or("unknown".into(), |name| name.trim().to_owned())
}
