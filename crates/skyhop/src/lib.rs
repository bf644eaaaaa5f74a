//! Run scenarios, keep records: the crate that a Rust user depends on.
//!
//! ```no_run
//! use skyhop::{Progress, RunOptions, Scenario, run};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let scenario = Scenario::from_file("scenario.toml".as_ref(), &[])?;
//! let run = run(&scenario, &RunOptions::with_seed(3), &Progress::new())?;
//! println!("{}", run.summary()["flows"][0]["goodput_bps"]);
//! run.write("runs/first")?;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod error;
mod folder;
mod long_tables;
mod measures;
mod memory;
mod parquet_file;
mod paths;
mod planes;
mod progress;
mod run;
#[cfg(test)]
mod sample;
mod sky;
mod staging;
mod summary;
mod table_files;
mod tables;
pub mod validate;

pub use error::Error;
pub use memory::{MEMORY_VARIABLE, memory_limit};
pub use paths::{paths_at, paths_over};
pub use planes::planes_of;
pub use progress::{Glance, Progress};
pub use run::{Run, RunOptions, least_memory, least_memory_in_folder, run, run_into};
pub use sky::{ephemeris, passes_of, presets, sky_at};
pub use skyhop_base::{Duration, Rate, Time};
/// What a congestion control from outside is told, and who makes it.
pub use skyhop_cc as control;
pub use skyhop_scenario::{
    Diagnostic, Diagnostics, Files, Override, OverrideError, Place, Scenario, json_schema, places,
};
pub use skyhop_sim::records;
pub use staging::{FolderKind, LIST, Staging, is_whole, sweep, write_file};
pub use summary::summary;
pub use table_files::CsvTables;
pub use tables::{RECORDS_FORMAT, TABLES, empty_table, records_hash, table};
