//! Running a scenario while Python goes on.

use crate::errors::to_python;
use crate::own;
use crate::scenario::Scenario;
use crate::table::Table;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use skyhop::{CsvTables, RunOptions};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How long Ctrl-C may take to be seen.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// How far a run is; may be read, and the run cancelled, from another thread.
#[pyclass(frozen, module = "skyhop._core")]
pub struct Progress(Arc<skyhop::Progress>);

#[pymethods]
impl Progress {
    #[new]
    fn new() -> Progress {
        Progress(Arc::default())
    }

    /// Share of the simulated time that is done, from 0 to 1.
    #[getter]
    fn fraction(&self) -> f64 {
        self.0.fraction()
    }

    /// The simulated time in seconds, and of each of the first flows its name, the bytes delivered and its window.
    fn glance(&self) -> (f64, Vec<(String, u64, Option<f64>)>) {
        let glance = self.0.glance();
        let flows = glance.flows.into_iter().map(|(name, state)| (name, state.bytes_delivered, state.cwnd));
        (glance.time_s, flows.collect())
    }

    /// Ends the run soon, with `Cancelled`.
    fn cancel(&self) {
        self.0.cancel();
    }
}

/// A finished run.
#[pyclass(frozen, module = "skyhop._core")]
pub struct Run(skyhop::Run);

#[pymethods]
impl Run {
    fn table_names(&self) -> Vec<&'static str> {
        self.0.tables().to_vec()
    }

    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        Table::found(py.detach(|| self.0.table(name)))
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings().to_vec()
    }

    fn summary_json(&self) -> String {
        self.0.summary().to_string()
    }

    fn manifest_json(&self) -> String {
        self.0.manifest().to_string()
    }

    #[pyo3(signature = (path, *, csv = false))]
    fn write(&self, py: Python<'_>, path: PathBuf, csv: bool) -> PyResult<Vec<&'static str>> {
        py.detach(|| self.0.write_with(&path, csv_tables(csv))).map_err(|error| to_python(py, error))
    }

    #[pyo3(signature = (path, *, csv = false))]
    fn write_into(&self, py: Python<'_>, path: PathBuf, csv: bool) -> PyResult<Vec<&'static str>> {
        py.detach(|| self.0.write_into(&path, csv_tables(csv))).map_err(|error| to_python(py, error))
    }

    fn keep(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.keep(&path)).map_err(|error| to_python(py, error))
    }
}

fn csv_tables(all: bool) -> CsvTables {
    if all { CsvTables::All } else { CsvTables::Short }
}

/// Runs the scenario in a thread of its own.
#[pyfunction]
#[pyo3(signature = (scenario, *, seed = 1, progress = None, memory_bytes = None, threads = 1))]
pub fn run(
    py: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    progress: Option<&Progress>,
    memory_bytes: Option<u64>,
    threads: usize,
) -> PyResult<Run> {
    let options = options(seed, memory_bytes, threads)?;
    waited(py, progress, |progress| skyhop::run(&scenario.0, &options, progress)).map(Run)
}

/// The same, with long tables written into a folder while the run goes on.
#[pyfunction]
#[pyo3(signature = (
    scenario, folder, *, shown, seed = 1, progress = None, memory_bytes = None, threads = 1, csv = false
))]
#[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn run_into(
    py: Python<'_>,
    scenario: &Scenario,
    folder: PathBuf,
    shown: PathBuf,
    seed: u64,
    progress: Option<&Progress>,
    memory_bytes: Option<u64>,
    threads: usize,
    csv: bool,
) -> PyResult<()> {
    let options = options(seed, memory_bytes, threads)?;
    let csv = csv_tables(csv);
    waited(py, progress, |progress| skyhop::run_into(&scenario.0, &options, progress, &folder, &shown, csv)).map(drop)
}

fn options(seed: u64, memory_bytes: Option<u64>, threads: usize) -> PyResult<RunOptions> {
    if threads == 0 {
        return Err(PyValueError::new_err("threads is 0: a run needs at least one"));
    }
    Ok(RunOptions::with_seed(seed).with_memory(memory_bytes).with_threads(threads))
}

/// Does `work` in a thread of its own. The calling thread only waits and, where it is Python's main thread, minds
/// Ctrl-C.
fn waited<R: Send>(
    py: Python<'_>,
    progress: Option<&Progress>,
    work: impl FnOnce(&skyhop::Progress) -> Result<R, skyhop::Error> + Send,
) -> PyResult<R> {
    let progress = progress.map_or_else(Arc::default, |progress| Arc::clone(&progress.0));
    let waited = py.detach(|| {
        thread::scope(|scope| {
            let (done, wait) = channel();
            let running = &progress;
            let spawned = thread::Builder::new().spawn_scoped(scope, move || {
                // After an interrupt nobody listens any more.
                let _ = done.send(own::guarded(running, || work(running)));
            });
            let thread = spawned.map_err(|error| {
                PyMemoryError::new_err(format!("the system gives the run no thread, which needs memory: {error}"))
            })?;
            let answer = loop {
                match wait.recv_timeout(SIGNAL_CHECK) {
                    Ok(result) => break Ok(result),
                    // The thread ended without a result: it panicked, and joining it passes that on.
                    Err(RecvTimeoutError::Disconnected) => break Ok(Ok(Err(skyhop::Error::Cancelled))),
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(interrupt) = Python::attach(|py| py.check_signals()) {
                            progress.cancel();
                            break Err(interrupt);
                        }
                    }
                }
            };
            // Leaving the scope waits for the closure only; joining waits for the thread itself, which must not be
            // taking itself down while the interpreter does the same.
            match thread.join() {
                Ok(()) => answer,
                Err(panic) => resume_unwind(panic),
            }
        })
    });
    waited??.map_err(|error| to_python(py, error))
}

/// Memory in bytes that a run may take unless it is told otherwise.
#[pyfunction]
pub fn memory_limit(py: Python<'_>) -> PyResult<u64> {
    skyhop::memory_limit().map_err(|error| to_python(py, error))
}
