//! One scenario with one seed, from start to end.

use crate::long_tables::{LONG_ROWS, LongTables};
use crate::memory::memory_limit;
use crate::progress::{Progress, ProgressSteps};
use crate::table_files::Files;
use crate::tables::{RECORDS_FORMAT, records_hash, table};
use crate::{CsvTables, Error, TABLES, folder};
use arrow_array::RecordBatch;
use serde_json::{Value, json};
use skyhop_base::Time;
use skyhop_cc::outside;
use skyhop_scenario::Scenario;
use skyhop_sim::records::Records;
use skyhop_sim::{Division, Execution, Halt, Limits};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

/// What distinguishes runs of one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunOptions {
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// Memory in bytes that the run may take; `None`: [`crate::memory_limit`].
    pub memory_bytes: Option<u64>,
    /// Threads that share the run, at least one. The records are the same for any number. A network that cannot be cut
    /// runs on one; the manifest says why.
    pub threads: usize,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions::with_seed(1)
    }
}

impl RunOptions {
    pub fn with_seed(seed: u64) -> RunOptions {
        RunOptions { seed, memory_bytes: None, threads: 1 }
    }

    /// The same with a limit of memory in bytes.
    pub fn with_memory(self, memory_bytes: Option<u64>) -> RunOptions {
        RunOptions { memory_bytes, ..self }
    }

    /// The same on so many threads, at least one.
    pub fn with_threads(self, threads: usize) -> RunOptions {
        RunOptions { threads: threads.max(1), ..self }
    }
}

/// A finished run. The same scenario and seed give the same records on every machine.
#[derive(Clone, Debug)]
pub struct Run {
    pub records: Records,
    /// The manifest with a null for the hash of the records.
    manifest: Value,
    /// Worked out when it is asked for, or on the way when the tables are written.
    hash: OnceLock<String>,
}

/// Memory in bytes that a run of the scenario takes before its first packet, about: its network, its flows, and rows at
/// the steps of its recording.
pub fn least_memory(scenario: &Scenario) -> u64 {
    skyhop_sim::least_memory(&scenario.simulation_spec())
}

/// The same for [`run_into`], which keeps no long table in memory.
pub fn least_memory_in_folder(scenario: &Scenario) -> u64 {
    skyhop_sim::least_memory_with_rows(&scenario.simulation_spec(), LONG_ROWS as u64)
}

/// Simulates the whole of `scenario` and writes the files of [`Run::write`] into `folder`, which is there and holds
/// none of them. Long tables are written while the run goes on, so its memory does not grow with the rows that it
/// records, on any number of threads. Rows of transfers of workloads stay in memory until the end, and rows of pages
/// from the first one on that is not loaded. `shown` is the folder that errors name.
///
/// # Errors
/// As [`run`], and [`Error::Write`] if a file cannot be written; the others stay.
pub fn run_into(
    scenario: &Scenario,
    options: &RunOptions,
    progress: &Progress,
    folder: &Path,
    shown: &Path,
    csv: CsvTables,
) -> Result<Value, Error> {
    let files = Files { folder, shown };
    let csv = if scenario.records.csv { CsvTables::All } else { csv };
    let mut tables = LongTables::new(&files, Some(csv));
    let run = heard(progress, || {
        simulate(scenario, options, progress, LONG_ROWS as u64, &mut |simulation| {
            let mut written = Ok(());
            simulation.take_rows(LONG_ROWS, |records| written = tables.add(records));
            written
        })
    })?;
    folder::finish(&run, tables).map(|(_, manifest)| manifest)
}

/// Simulates the whole of `scenario`.
///
/// # Errors
/// [`Error::Simulation`] if it cannot be simulated, [`Error::Cancelled`] after [`Progress::cancel`],
/// [`Error::Control`] if a plug-in failed, [`Error::NeedsMemory`] and [`Error::OutOfMemory`] if it needs more memory
/// than it may take, [`Error::MemoryVariable`].
pub fn run(scenario: &Scenario, options: &RunOptions, progress: &Progress) -> Result<Run, Error> {
    heard(progress, || simulate(scenario, options, progress, u64::MAX, &mut |_| Ok(())))
}

/// A run with what its controls from outside said.
fn heard(progress: &Progress, simulate: impl FnOnce() -> Result<Run, Error>) -> Result<Run, Error> {
    let (result, mut said) = outside::heard(progress.cancelled(), simulate);
    // A failure cancels the run, which is then no wish of the caller.
    if let Some(reason) = said.failure.take() {
        return Err(Error::Control { reason });
    }
    let mut run = result?;
    let notes = said.notes();
    if !notes.is_empty() {
        run.records.warnings.extend(notes);
        run.manifest["warnings"] = json!(run.records.warnings);
    }
    Ok(run)
}

/// `on_step` is called at least once in a thousandth of the run; a table has some `rows_in_memory` rows at most then.
fn simulate(
    scenario: &Scenario,
    options: &RunOptions,
    progress: &Progress,
    rows_in_memory: u64,
    on_step: &mut dyn FnMut(&mut Execution) -> Result<(), Error>,
) -> Result<Run, Error> {
    let (wall, cpu) = (Instant::now(), cpu_time_s(options.threads));
    let spec = scenario.simulation_spec();
    let duration_ns = spec.duration.as_nanos();
    progress.begin(duration_ns, spec.flows.iter().map(|flow| flow.name.clone()));
    let limit_bytes = options.memory_bytes.map_or_else(memory_limit, Ok)?;
    let needed_bytes = skyhop_sim::least_memory_with_rows(&spec, rows_in_memory);
    if needed_bytes > limit_bytes {
        return Err(Error::NeedsMemory { needed_bytes, limit_bytes });
    }
    let limits = Limits { cancelled: progress.cancelled(), memory_bytes: limit_bytes };
    let mut simulation = Execution::new(&spec, options.seed, options.threads)?.with_limits(limits);
    let mut pace = ProgressSteps::new(duration_ns);
    let mut reached = 0;
    while reached < duration_ns {
        let begin = Instant::now();
        reached = (reached + pace.step_ns()).min(duration_ns);
        simulation.run_until(Time::from_nanos(reached));
        simulation.look_at_limits();
        match simulation.halted() {
            None => {}
            Some(Halt::Cancelled) => return Err(Error::Cancelled),
            Some(Halt::Memory { .. }) => {
                let (at_s, duration_s) = (simulation.now().as_secs_f64(), spec.duration.as_secs_f64());
                return Err(Error::OutOfMemory { limit_bytes, at_s, duration_s });
            }
        }
        on_step(&mut simulation)?;
        progress.reach(reached, |flow| simulation.flow_state(flow))?;
        pace.took(begin.elapsed());
    }
    let (division, route_threads) = (simulation.division().clone(), simulation.route_threads());
    let mut records = simulation.finish();
    records.warnings.splice(0..0, scenario.all_warnings());
    let cost = Cost {
        wall_time_s: wall.elapsed().as_secs_f64(),
        cpu_time_s: cpu.zip(cpu_time_s(options.threads)).map(|(before, after)| after - before),
        division,
        route_threads,
    };
    let manifest = manifest(scenario, options, &records, &cost);
    Ok(Run { records, manifest, hash: OnceLock::new() })
}

impl Run {
    #[cfg(test)]
    pub(crate) fn by_hand(records: Records, manifest: Value) -> Run {
        Run { records, manifest, hash: OnceLock::new() }
    }

    /// Whether its scenario wants every table as CSV.
    pub(crate) fn asks_for_csv(&self) -> bool {
        self.manifest["scenario"]["records"]["csv"] == true
    }

    /// Identity of the run and outcomes of its packets; `manifest.json`.
    pub fn manifest(&self) -> Value {
        let mut manifest = self.manifest.clone();
        manifest["records_hash"] = self.records_hash().into();
        manifest
    }

    /// What a reader of the results should know, a sentence each: what is unusual about the scenario, flows that
    /// delivered nothing and why, rows that were left out. They stand in the manifest and in the summary, too.
    pub fn warnings(&self) -> &[String] {
        &self.records.warnings
    }

    /// The totals; `summary.json`.
    pub fn summary(&self) -> Value {
        crate::summary(&self.records)
    }

    /// SHA-256 over the content of all tables, in hexadecimal: two runs found the same if it is the same.
    pub fn records_hash(&self) -> &str {
        self.hash.get_or_init(|| records_hash(&self.records))
    }

    /// Takes the hash of the records from who has worked it out while writing them.
    pub(crate) fn hash_is(&self, hash: String) {
        self.hash.get_or_init(|| hash);
    }

    /// The names that [`table`](Run::table) takes.
    pub fn tables(&self) -> &'static [&'static str] {
        &TABLES
    }

    /// One table as Arrow columns.
    pub fn table(&self, name: &str) -> Result<RecordBatch, Error> {
        table(&self.records, name).ok_or_else(|| Error::UnknownTable { name: name.to_owned() })
    }

    /// Writes the run folder: `manifest.json`, `summary.json`, `scenario.json` (in canonical form) and each table
    /// that has rows, as Parquet and, up to [`CsvTables::SHORT_ROWS`] rows, as CSV. The folder appears whole or not at
    /// all; an older run folder at its place is replaced as a whole.
    ///
    /// # Errors
    /// [`Error::Exists`] if `folder` holds anything that is not part of a run folder, [`Error::Write`] if it cannot be
    /// written.
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<(), Error> {
        self.write_with(folder, CsvTables::Short).map(drop)
    }

    /// The same with a choice of what is written as CSV. Returns the tables that have rows but no CSV.
    ///
    /// # Errors
    /// As [`write`](Run::write).
    pub fn write_with(&self, folder: impl AsRef<Path>, csv: CsvTables) -> Result<Vec<&'static str>, Error> {
        folder::write(self, folder.as_ref(), csv)
    }

    /// Writes the files of a run folder into `folder`, which is there and holds none of them; for a folder that holds
    /// more than a run ([`crate::Staging`]). Returns the tables that have rows but no CSV.
    ///
    /// # Errors
    /// [`Error::Write`] if a file cannot be written; the others stay.
    pub fn write_into(&self, folder: impl AsRef<Path>, csv: CsvTables) -> Result<Vec<&'static str>, Error> {
        folder::write_into(self, folder.as_ref(), folder.as_ref(), csv)
    }

    /// Writes what is needed to take the run up again: `manifest.json`, `summary.json`, `scenario.json` and each table
    /// that has rows, as Parquet ([`crate::empty_table`] gives the others). The folder appears whole or not at all. A
    /// whole one ([`crate::is_whole`]) that is there by then stays as it is, a damaged one is replaced.
    ///
    /// # Errors
    /// [`Error::Exists`] if `folder` holds anything that is not part of a kept run, [`Error::Write`] if it cannot be
    /// written.
    pub fn keep(&self, folder: impl AsRef<Path>) -> Result<(), Error> {
        folder::keep(self, folder.as_ref())
    }
}

struct Cost {
    wall_time_s: f64,
    cpu_time_s: Option<f64>,
    division: Division,
    route_threads: usize,
}

fn manifest(scenario: &Scenario, options: &RunOptions, records: &Records, cost: &Cost) -> Value {
    let counts = &records.conservation;
    let mut manifest = json!({
        "version": env!("CARGO_PKG_VERSION"),
        // Which tables and columns `records_hash` covers.
        "records_format": RECORDS_FORMAT,
        "seed": options.seed,
        "scenario_hash": scenario.hash(),
        // Its place; see [`Run::manifest`].
        "records_hash": null,
        "simulated_s": records.end.as_secs_f64(),
        "wall_time_s": cost.wall_time_s,
        "cpu_time_s": cost.cpu_time_s,
        "events": records.events,
        "packet_hops": records.packet_hops,
        "packets": {
            "sent": counts.sent,
            "delivered": counts.delivered,
            "dropped": counts.dropped,
            "queued": counts.queued,
            "flying": counts.flying,
            "conserved": counts.holds(),
        },
        "drops_left_out": records.drops_left_out,
        "warnings": records.warnings,
        "scenario": scenario.canonical(),
    });
    if options.threads > 1 {
        // Nothing of it changes a record.
        manifest["threads"] = cost.division.threads.into();
        manifest["route_threads"] = cost.route_threads.into();
        manifest["parts"] = cost.division.parts.into();
        manifest["threads_asked"] = options.threads.into();
        manifest["one_thread_because"] = cost.division.reason.clone().into();
    }
    if let Some(planes) = crate::planes::element_planes(scenario) {
        manifest["planes"] = planes;
    }
    manifest
}

/// Processor time that the calling thread has used, or with several threads the process, where the system tells.
fn cpu_time_s(threads: usize) -> Option<f64> {
    #[cfg(unix)]
    {
        use rustix::time::{ClockId, clock_gettime};
        let clock = if threads > 1 { ClockId::ProcessCPUTime } else { ClockId::ThreadCPUTime };
        let time = clock_gettime(clock);
        Some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
    }
    #[cfg(not(unix))]
    {
        let _ = threads;
        None
    }
}
