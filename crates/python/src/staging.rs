//! Folders and files that appear whole or not at all, for what Python writes.

use crate::errors::to_python;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use skyhop::FolderKind;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A folder on its way to its place.
#[pyclass(frozen, module = "skyhop._core")]
pub struct Staging(Mutex<Option<skyhop::Staging>>);

impl Staging {
    fn held(&self) -> MutexGuard<'_, Option<skyhop::Staging>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ended() -> PyErr {
    PyRuntimeError::new_err("the folder was published or discarded before")
}

#[pymethods]
impl Staging {
    #[new]
    fn new(py: Python<'_>, target: PathBuf, kind: &str) -> PyResult<Staging> {
        let kind = FolderKind::from_name(kind)
            .ok_or_else(|| PyValueError::new_err(format!("no folder is of the kind {kind:?}")))?;
        let begun = py.detach(|| skyhop::Staging::begin(target, kind)).map_err(|error| to_python(py, error))?;
        Ok(Staging(Mutex::new(Some(begun))))
    }

    /// Where to write.
    #[getter]
    fn folder(&self) -> PyResult<PathBuf> {
        self.held().as_ref().map(skyhop::Staging::folder).ok_or_else(ended)
    }

    fn publish(&self, py: Python<'_>) -> PyResult<()> {
        let staging = self.held().take().ok_or_else(ended)?;
        py.detach(|| staging.publish()).map_err(|error| to_python(py, error))
    }

    fn discard(&self, py: Python<'_>) {
        let staging = self.held().take();
        py.detach(|| drop(staging));
    }
}

/// Whether a folder holds every file that its list names, in its full size.
#[pyfunction]
pub fn is_whole(py: Python<'_>, folder: PathBuf) -> bool {
    py.detach(|| skyhop::is_whole(&folder))
}

#[pyfunction]
pub fn write_file(py: Python<'_>, path: PathBuf, content: &[u8]) -> PyResult<()> {
    py.detach(|| skyhop::write_file(&path, content)).map_err(|error| to_python(py, error))
}

/// Removes what dead processes left in a folder.
#[pyfunction]
pub fn sweep(py: Python<'_>, folder: PathBuf) {
    py.detach(|| skyhop::sweep(&folder));
}
