//! `skyhop._core`: the engine for Python. Converts arguments, results and errors, and nothing else.
//! `python/skyhop/_core.pyi` lists the interface with its types.

#![forbid(unsafe_code)]

mod errors;
mod own;
mod run;
mod scenario;
mod staging;
mod table;
mod validate;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::errors::{Cancelled, ControlError, ScenarioError};
    #[pymodule_export]
    use super::run::{Progress, Run, memory_limit, run, run_into};
    #[pymodule_export]
    use super::scenario::{Scenario, json_schema, places, presets_json};
    #[pymodule_export]
    use super::staging::{Staging, is_whole, sweep, write_file};
    #[pymodule_export]
    use super::table::{Table, empty_table, table_names};
    #[pymodule_export]
    use super::validate::{
        quic_stacks_of_this_build, reaction_packets, reference_scenarios, validate_flows, validate_ns2,
        validate_queues, validate_quic, validate_reactions,
    };

    #[pymodule_export]
    use super::own::{AckView, CongestionView, LossView, SentView, StartView};

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::own::install();
        skyhop_plugin::install();
        Ok(())
    }

    /// The version of the engine.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
