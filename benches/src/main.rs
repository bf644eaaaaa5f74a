//! `cargo run --release -p skyhop-benches [-- WORKLOAD.toml …]`: packet-hops per second of CPU.
//!
//! A packet-hop is one packet, data or ACK, delivered over one link. Each workload runs five times; the median counts.

use cpu_time::ProcessTime;
use skyhop_scenario::Scenario;
use skyhop_sim::Simulation;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const RUNS: usize = 5;

struct Measured {
    cpu_s: f64,
    packet_hops: u64,
    events: u64,
    goodput_bps: f64,
}

fn main() -> ExitCode {
    let mut workloads: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if workloads.is_empty() {
        workloads.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("dumbbell.toml"));
    }
    println!("CPU: {}", cpu_model());
    println!("{:<24} {:>8} {:>12} {:>12} {:>14} {:>16}", "workload", "CPU s", "packet-hops", "events", "million hops/s", "goodput Mbit/s");
    for path in &workloads {
        match measure(path) {
            Ok(mut runs) => {
                runs.sort_by(|a, b| a.cpu_s.total_cmp(&b.cpu_s));
                let median = &runs[runs.len() / 2];
                println!(
                    "{:<24} {:>8.3} {:>12} {:>12} {:>14.2} {:>16.2}   (slowest {:.2}, fastest {:.2})",
                    path.file_stem().unwrap_or_default().to_string_lossy(),
                    median.cpu_s,
                    median.packet_hops,
                    median.events,
                    median.rate(),
                    median.goodput_bps / 1e6,
                    runs[runs.len() - 1].rate(),
                    runs[0].rate(),
                );
            }
            Err(problem) => {
                eprintln!("{problem}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

impl Measured {
    fn rate(&self) -> f64 {
        self.packet_hops as f64 / self.cpu_s / 1e6
    }
}

fn measure(path: &Path) -> Result<Vec<Measured>, String> {
    let scenario = Scenario::from_file(path, &[]).map_err(|problems| problems.to_string())?;
    let spec = scenario.simulation_spec();
    (0..RUNS)
        .map(|_| {
            let start = ProcessTime::now();
            let records = Simulation::new(&spec, 1).map_err(|error| error.to_string())?.run();
            Ok(Measured {
                cpu_s: start.elapsed().as_secs_f64(),
                packet_hops: records.packet_hops,
                events: records.events,
                goodput_bps: records.flows.iter().map(|flow| flow.goodput_bps).sum(),
            })
        })
        .collect()
}

/// What the figures were measured on; "unknown" where the system does not say.
fn cpu_model() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split(':').nth(1)).map_or("unknown".into(), |name| name.trim().to_owned())
}
