//! Scenarios from files, text and values of Python.

use crate::errors::{nowhere, scenario_error, to_python};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use skyhop::{Diagnostic, Diagnostics, Files, Override};
use std::path::PathBuf;

/// A validated scenario.
#[pyclass(frozen, module = "skyhop._core")]
pub struct Scenario(pub(crate) skyhop::Scenario);

#[pymethods]
impl Scenario {
    #[staticmethod]
    #[pyo3(
        signature = (path, overrides = Vec::new(), *, files = None),
        text_signature = "(path, overrides=(), *, files=None)"
    )]
    fn from_file(
        py: Python<'_>,
        path: PathBuf,
        overrides: Vec<String>,
        files: Option<Vec<PathBuf>>,
    ) -> PyResult<Scenario> {
        let (overrides, files) = (parse(py, &overrides)?, readable(files));
        checked(py, py.detach(|| skyhop::Scenario::from_file_with(&path, &overrides, &files)))
    }

    #[staticmethod]
    #[pyo3(
        signature = (text, *, origin = "<text>", overrides = Vec::new(), files = None),
        text_signature = "(text, *, origin='<text>', overrides=(), files=None)"
    )]
    fn from_toml(
        py: Python<'_>,
        text: &str,
        origin: &str,
        overrides: Vec<String>,
        files: Option<Vec<PathBuf>>,
    ) -> PyResult<Scenario> {
        let (overrides, files) = (parse(py, &overrides)?, readable(files));
        checked(py, py.detach(|| skyhop::Scenario::from_toml_with(text, origin, &overrides, &files)))
    }

    #[staticmethod]
    #[pyo3(
        signature = (text, *, overrides = Vec::new(), files = None, written = true),
        text_signature = "(text, *, overrides=(), files=None, written=True)"
    )]
    fn from_json(
        py: Python<'_>,
        text: &str,
        overrides: Vec<String>,
        files: Option<Vec<PathBuf>>,
        written: bool,
    ) -> PyResult<Scenario> {
        let (overrides, files) = (parse(py, &overrides)?, readable(files));
        let value = serde_json::from_str(text)
            .map_err(|error| PyValueError::new_err(format!("the text is not JSON: {error}")))?;
        let mut read = checked(py, py.detach(|| skyhop::Scenario::from_json_with(&value, ORIGIN, &overrides, &files)))?;
        if !written {
            read.0.forget_written();
        }
        Ok(read)
    }

    #[getter]
    fn hash(&self) -> String {
        self.0.hash()
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.0.duration.as_secs_f64()
    }

    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> u64 {
        py.detach(|| skyhop::least_memory(&self.0))
    }

    #[getter]
    fn memory_bytes_in_folder(&self, py: Python<'_>) -> u64 {
        py.detach(|| skyhop::least_memory_in_folder(&self.0))
    }

    fn canonical_json(&self) -> String {
        self.0.canonical_json()
    }

    #[pyo3(signature = (at_s, seed = 1))]
    fn path_json(&self, py: Python<'_>, at_s: f64, seed: u64) -> PyResult<String> {
        text(py, py.detach(|| skyhop::paths_at(&self.0, at_s, seed)))
    }

    fn paths_json(&self, py: Python<'_>, step_s: f64) -> PyResult<String> {
        text(py, py.detach(|| skyhop::paths_over(&self.0, step_s)))
    }

    #[getter]
    fn has_tcp_by_default(&self) -> bool {
        self.0.has_tcp_by_default()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.all_warnings()
    }

    #[pyo3(signature = (at_s, seed = 1))]
    fn sky_json(&self, py: Python<'_>, at_s: f64, seed: u64) -> PyResult<String> {
        text(py, py.detach(|| skyhop::sky_at(&self.0, at_s, seed)))
    }

    fn passes_json(&self, py: Python<'_>) -> PyResult<String> {
        text(py, py.detach(|| skyhop::passes_of(&self.0)))
    }

    fn planes_json(&self, py: Python<'_>) -> PyResult<String> {
        text(py, py.detach(|| skyhop::planes_of(&self.0)))
    }

    fn ephemeris_json(&self, py: Python<'_>, step_s: f64) -> PyResult<String> {
        text(py, py.detach(|| skyhop::ephemeris(&self.0, step_s)))
    }

    fn __repr__(&self) -> String {
        format!("Scenario({} s, {})", self.0.duration.as_secs_f64(), &self.0.hash()[..12])
    }
}

fn text(py: Python<'_>, result: Result<serde_json::Value, skyhop::Error>) -> PyResult<String> {
    result.map(|value| value.to_string()).map_err(|error| to_python(py, error))
}

/// What messages call values that came from no file.
const ORIGIN: &str = "scenario";

/// What a scenario may read: everything where nothing is said.
fn readable(files: Option<Vec<PathBuf>>) -> Files {
    files.map_or(Files::Any, Files::Only)
}

fn parse(py: Python<'_>, overrides: &[String]) -> PyResult<Vec<Override>> {
    let (mut parsed, mut problems) = (Vec::new(), Vec::new());
    for text in overrides {
        match text.parse::<Override>() {
            Ok(one) => parsed.push(one),
            Err(error) => problems.push(Diagnostic { message: error.to_string(), ..nowhere("override") }),
        }
    }
    if problems.is_empty() {
        return Ok(parsed);
    }
    let found = Diagnostics { problems, not_shown: 0 };
    Err(scenario_error(py, &found.to_string(), &found.problems)?)
}

fn checked(py: Python<'_>, result: Result<skyhop::Scenario, Diagnostics>) -> PyResult<Scenario> {
    match result {
        Ok(scenario) => Ok(Scenario(scenario)),
        Err(found) => Err(scenario_error(py, &found.to_string(), &found.problems)?),
    }
}

/// The JSON Schema of a scenario.
#[pyfunction]
pub fn json_schema() -> String {
    format!("{:#}", skyhop::json_schema())
}

/// The constellations that have a name, as JSON.
#[pyfunction]
pub fn presets_json() -> String {
    skyhop::presets().to_string()
}

/// Name, country, latitude and longitude of the places that scenarios know, larger ones first.
#[pyfunction]
pub fn places() -> Vec<(&'static str, &'static str, f64, f64)> {
    let row = |p: skyhop::Place| (p.name, p.country, p.latitude.degrees(), p.longitude.degrees());
    skyhop::places().map(row).collect()
}
