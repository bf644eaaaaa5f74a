//! The comparison with reference folders, for the command line.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use skyhop::validate::{
    Half, Selection, Variant, cases, flows, ns2, queues, quic, quic_stacks, reaction_points, reactions,
};
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

fn half_of(name: &str) -> PyResult<Half> {
    match name {
        "sender" => Ok(Half::Sender),
        "receiver" => Ok(Half::Receiver),
        "both" => Ok(Half::Both),
        other => Err(PyValueError::new_err(format!("a half is \"sender\", \"receiver\" or \"both\", not \"{other}\""))),
    }
}

/// Runs the cases of a folder of recorded reactions of Linux; what was found of each and each half as JSON, in the
/// folder's order.
#[pyfunction]
#[pyo3(signature = (folder, *, cases = Vec::new(), halves = Vec::new()))]
pub fn validate_reactions(
    py: Python<'_>,
    folder: PathBuf,
    cases: Vec<String>,
    halves: Vec<String>,
) -> PyResult<String> {
    let halves = halves.iter().map(|name| half_of(name)).collect::<PyResult<Vec<_>>>()?;
    let found =
        py.detach(|| reactions(&folder, &cases, &halves)).map_err(|error| PyValueError::new_err(error.to_string()))?;
    serde_json::to_string(&found).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Runs the whole flows of a folder of Linux; every measure of each as JSON, in the folder's order.
#[pyfunction]
#[pyo3(signature = (folder, *, runs = Vec::new()))]
pub fn validate_flows(py: Python<'_>, folder: PathBuf, runs: Vec<String>) -> PyResult<String> {
    let found = py.detach(|| flows(&folder, &runs)).map_err(|error| PyValueError::new_err(error.to_string()))?;
    serde_json::to_string(&found).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The packets of a case of recorded reactions, ours and the kernel's, as JSON.
#[pyfunction]
#[pyo3(signature = (folder, case, *, half = "both"))]
pub fn reaction_packets(py: Python<'_>, folder: PathBuf, case: String, half: &str) -> PyResult<String> {
    let half = half_of(half)?;
    let parts = py
        .detach(|| reaction_points(&folder, &case, half))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    serde_json::to_string(&parts).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Runs the cases of a folder of QUIC stacks; what was found of each as JSON, in the folder's order.
#[pyfunction]
#[pyo3(signature = (folder, *, cases = Vec::new(), seeds = None))]
pub fn validate_quic(py: Python<'_>, folder: PathBuf, cases: Vec<String>, seeds: Option<u32>) -> PyResult<String> {
    if seeds == Some(0) {
        return Err(PyValueError::new_err("at least one seed is needed"));
    }
    let found = py.detach(|| quic(&folder, &cases, seeds)).map_err(|error| PyValueError::new_err(error.to_string()))?;
    serde_json::to_string(&found).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The QUIC stacks of this build, by name.
#[pyfunction(name = "quic_stacks")]
pub fn quic_stacks_of_this_build() -> Vec<&'static str> {
    quic_stacks()
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
