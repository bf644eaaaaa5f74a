use crate::memory::{MEMORY_VARIABLE, size};
use std::io;
use std::path::{Path, PathBuf};

/// What sets the limit of memory.
const HOW: &str = "--memory, or the environment variable SKYHOP_MEMORY";

/// What can go wrong between a scenario and its run folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The scenario passed validation but cannot be simulated.
    #[error(transparent)]
    Simulation(#[from] skyhop_sim::SimulationError),
    /// Somebody called [`Progress::cancel`](crate::Progress::cancel).
    #[error("the run was cancelled")]
    Cancelled,
    /// A congestion control from a plug-in failed; the reason names the library, the flow and the simulated time.
    #[error("{reason}")]
    Control { reason: String },
    /// The limit of memory is [`memory_limit`](crate::memory_limit) or that of the options.
    #[error(
        "the run needs about {} of memory before its first packet, and may take {}: shorten it, record less \
         ([records]), or raise the limit ({})", size(*needed_bytes), size(*limit_bytes), HOW
    )]
    NeedsMemory { needed_bytes: u64, limit_bytes: u64 },
    #[error(
        "the run took more than the {} of memory that it may, at {at_s:.3} of {duration_s} s: shorten it, record less \
         ([records]), bound windows and queues, or raise the limit ({})", size(*limit_bytes), HOW
    )]
    OutOfMemory { limit_bytes: u64, at_s: f64, duration_s: f64 },
    #[error("{MEMORY_VARIABLE} is {text:?}: write a size such as \"4 GB\", or \"none\"")]
    MemoryVariable { text: String },
    #[error("{at_s} s is outside the run, which lasts from 0 to {duration_s} s")]
    OutsideRun { at_s: f64, duration_s: f64 },
    #[error("a step of {step_s} s makes too many positions: use {least_s} s or more")]
    Step { step_s: f64, least_s: f64 },
    #[error("no table is called `{name}`; there are {}", crate::TABLES.join(", "))]
    UnknownTable { name: String },
    /// The existing folder or file may not be replaced.
    #[error("{path} {why}: choose another name")]
    Exists { path: PathBuf, why: String },
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
}

impl Error {
    /// For `map_err`: an error of the file system while `path` was written.
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Write { path, source }
    }
}
