//! Errors as Python knows them.

use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use skyhop::{Diagnostic, Error};
use std::io;

pyo3::create_exception!(
    skyhop._core,
    ScenarioError,
    PyValueError,
    "A scenario has problems. The message shows all of them; `diagnostics` holds one dict for each, with `file`,\n\
     `line`, `column`, `path`, `message` and `help`."
);
pyo3::create_exception!(
    skyhop._core,
    ControlError,
    PyRuntimeError,
    "A congestion control in Python or from a plug-in ended the run: an exception in it, which is the cause, or a bad\n\
     window."
);
pyo3::create_exception!(skyhop._core, Cancelled, PyRuntimeError, "`Progress.cancel` ended the run.");

/// The exception for an error of the engine; those of the file system become `OSError` and its subclasses.
pub(crate) fn to_python(py: Python<'_>, error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Cancelled => Cancelled::new_err(message),
        Error::Exists { .. } => io::Error::new(io::ErrorKind::AlreadyExists, message).into(),
        Error::Write { source, .. } => io::Error::new(source.kind(), message).into(),
        Error::NeedsMemory { .. } | Error::OutOfMemory { .. } => PyMemoryError::new_err(message),
        Error::Control { .. } => ControlError::new_err(message),
        Error::Simulation(_) => {
            let problem = Diagnostic { message: message.clone(), ..nowhere("scenario") };
            scenario_error(py, &message, &[problem]).unwrap_or_else(|error| error)
        }
        _ => PyValueError::new_err(message),
    }
}

/// A problem without a place.
pub(crate) fn nowhere(file: &str) -> Diagnostic {
    Diagnostic { file: file.into(), line: None, column: None, path: String::new(), message: String::new(), help: None }
}

/// A `ScenarioError` with these diagnostics.
pub(crate) fn scenario_error(py: Python<'_>, message: &str, diagnostics: &[Diagnostic]) -> PyResult<PyErr> {
    let list = PyList::empty(py);
    for diagnostic in diagnostics {
        let dict = PyDict::new(py);
        dict.set_item("file", &diagnostic.file)?;
        dict.set_item("line", diagnostic.line)?;
        dict.set_item("column", diagnostic.column)?;
        dict.set_item("path", &diagnostic.path)?;
        dict.set_item("message", &diagnostic.message)?;
        dict.set_item("help", &diagnostic.help)?;
        list.append(dict)?;
    }
    let error = ScenarioError::new_err(message.to_owned());
    error.value(py).setattr("diagnostics", list)?;
    Ok(error)
}
