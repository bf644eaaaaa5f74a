//! The comparison with reference folders, for the command line.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use skyhop::validate::{Selection, Variant, cases, ns2, queues};
use std::path::PathBuf;

/// Runs the cases of an ns-2 reference folder; all cells as JSON, worst first.
#[pyfunction]
#[pyo3(signature = (folder, *, cases = Vec::new(), agents = Vec::new()))]
pub fn validate_ns2(py: Python<'_>, folder: PathBuf, cases: Vec<String>, agents: Vec<String>) -> PyResult<String> {
    let cells = py
        .detach(|| ns2(&folder, &Selection { cases, agents }))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    serde_json::to_string(&cells).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Runs the cases of a folder of kernel queue disciplines; what was found of each as JSON, in the folder's order.
#[pyfunction]
#[pyo3(signature = (folder, *, cases = Vec::new(), variant = "linux"))]
pub fn validate_queues(py: Python<'_>, folder: PathBuf, cases: Vec<String>, variant: &str) -> PyResult<String> {
    let variant = match variant {
        "linux" => Variant::Linux,
        "rfc" => Variant::Rfc,
        other => return Err(PyValueError::new_err(format!("the variant is \"linux\" or \"rfc\", not \"{other}\""))),
    };
    let found =
        py.detach(|| queues(&folder, &cases, variant)).map_err(|error| PyValueError::new_err(error.to_string()))?;
    serde_json::to_string(&found).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Every case of a reference folder with its agents and the scenario of each, as JSON.
#[pyfunction]
pub fn reference_scenarios(folder: PathBuf) -> PyResult<String> {
    let cases = cases(&folder).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let list: Vec<serde_json::Value> = cases
        .iter()
        .flat_map(|case| {
            case.agents.iter().map(move |agent| {
                serde_json::json!({
                    "case": case.name,
                    "agent": agent,
                    "has_windows": case.has_windows,
                    "scenario": case.scenario(agent, case.seeds.first().copied().unwrap_or(1)),
                })
            })
        })
        .collect();
    Ok(serde_json::Value::Array(list).to_string())
}
