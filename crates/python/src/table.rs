//! A table on its way to whatever reads Arrow: polars, pyarrow, DuckDB.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Columns of a run, in memory that Python reads without a copy.
#[pyclass(frozen, module = "skyhop._core")]
pub struct Table {
    pub(crate) batch: RecordBatch,
}

impl Table {
    /// The table that was asked for by name.
    pub(crate) fn found(batch: Result<RecordBatch, skyhop::Error>) -> PyResult<Table> {
        batch.map(|batch| Table { batch }).map_err(|error| PyKeyError::new_err(error.to_string()))
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The Arrow PyCapsule interface. The schema that a consumer may ask for is a wish, which it may refuse.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("Table({} rows: {})", self.batch.num_rows(), self.column_names().join(", "))
    }
}

/// The names of all tables.
#[pyfunction]
pub fn table_names() -> Vec<&'static str> {
    skyhop::TABLES.to_vec()
}

/// The table of that name as it is without rows.
#[pyfunction]
pub fn empty_table(name: &str) -> PyResult<Table> {
    Table::found(skyhop::empty_table(name))
}
