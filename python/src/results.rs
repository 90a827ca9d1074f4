//! Results of runs: tables, sentences and the report page.

use anabranch_report::Provenance;
use anabranch_results::{Dataset, DatasetError, ResultSet, Table};
use anabranch_sim::scenario::INPUTS;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The results of runs.
#[pyclass(frozen)]
pub struct Results {
    set: ResultSet,
    /// The files that the resolved scenario names, by name.
    inputs: Arc<BTreeMap<String, String>>,
}

impl Results {
    pub fn new(set: ResultSet, inputs: Arc<BTreeMap<String, String>>) -> Results {
        Results { set, inputs }
    }

    fn page_html(&self, date: Option<String>) -> String {
        let program = format!("anabranch {} in Python", env!("CARGO_PKG_VERSION"));
        anabranch_report::html(&self.set, &Provenance { program, date, command: None })
    }
}

#[pymethods]
impl Results {
    /// The scenario's title.
    fn title(&self) -> String {
        self.set.title.clone()
    }

    /// One of the tables `runs`, `flows`, `jobs`, `parts`, `series` or `faults`.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Columns> {
        let table = match name {
            "runs" => Table::Runs,
            "flows" => Table::Flows,
            "jobs" => Table::Jobs,
            "parts" => Table::Parts,
            "series" => Table::Series,
            "faults" => Table::Faults,
            other => {
                return Err(PyValueError::new_err(format!(
                    "there is no table {other:?}; write runs, flows, jobs, parts, series or faults"
                )));
            }
        };
        let batch = py.detach(|| self.set.columns(table)).map_err(PyRuntimeError::new_err)?;
        Ok(Columns { batch })
    }

    /// The digest of each run, in the order of the runs.
    fn digests(&self) -> Vec<String> {
        self.set.runs.iter().map(|run| run.digest.clone()).collect()
    }

    /// The verdict, one sentence per element.
    fn verdict(&self) -> Vec<String> {
        anabranch_report::verdict(&self.set)
    }

    /// The verdict and the summary, as the command prints them.
    fn text(&self, width: usize) -> String {
        anabranch_report::table(&self.set, width)
    }

    /// Runs that failed or did not end, with the reason if there is one.
    fn missing(&self) -> Vec<(String, Option<String>)> {
        self.set
            .missing
            .iter()
            .map(|run| (run.describe(), run.cause.as_ref().map(ToString::to_string)))
            .collect()
    }

    /// The warnings about the scenario and the runs.
    fn warnings(&self) -> Vec<String> {
        self.set.all_warnings()
    }

    /// The resolved scenario.
    fn scenario(&self) -> String {
        self.set.scenario_toml.clone()
    }

    /// The report as an HTML page.
    #[pyo3(signature = (date=None))]
    fn page(&self, py: Python<'_>, date: Option<String>) -> String {
        py.detach(|| self.page_html(date))
    }

    /// Writes the result files, the files that the scenario names, and the report page into an existing folder.
    #[pyo3(signature = (folder, date=None))]
    fn write(&self, py: Python<'_>, folder: PathBuf, date: Option<String>) -> PyResult<()> {
        py.detach(|| {
            let written = self.set.write_whole(&folder, &self.inputs, &self.page_html(date));
            written.map_err(|error| PyOSError::new_err(error.to_string()))
        })
    }

    /// Writes the results as the run with this number into a campaign's folder. Either all files are written or none.
    #[pyo3(signature = (folder, number, plan, date=None))]
    fn put(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        number: usize,
        plan: &str,
        date: Option<String>,
    ) -> PyResult<()> {
        py.detach(|| {
            let dataset = claimed(&folder, plan, &self.inputs)?;
            let written = dataset.put(number, &self.set, &self.inputs, &self.page_html(date));
            written.map_err(|error| PyOSError::new_err(error.to_string()))
        })
    }
}

/// Marks a folder as the one that holds the runs of a plan.
pub fn claimed(folder: &Path, plan: &str, inputs: &BTreeMap<String, String>) -> PyResult<Dataset> {
    Dataset::claim(folder, plan, inputs).map_err(|error| match error {
        DatasetError::OtherCampaign { .. } => PyValueError::new_err(error.to_string()),
        DatasetError::Unwritable { .. } => PyOSError::new_err(error.to_string()),
    })
}

/// Reads the folder of a run, whether Python or the command wrote it.
#[pyfunction]
pub fn load(py: Python<'_>, folder: PathBuf) -> PyResult<Results> {
    py.detach(|| {
        let set = ResultSet::read(&folder).map_err(|error| PyOSError::new_err(error.to_string()))?;
        let mut inputs = BTreeMap::new();
        if let Ok(entries) = std::fs::read_dir(folder.join(INPUTS)) {
            for entry in entries {
                let entry = entry?;
                let name = format!("{INPUTS}/{}", entry.file_name().to_string_lossy());
                inputs.insert(name, std::fs::read_to_string(entry.path())?);
            }
        }
        Ok(Results::new(set, Arc::new(inputs)))
    })
}

/// A table for every library that supports the Arrow PyCapsule interface.
#[pyclass(frozen)]
pub struct Columns {
    batch: RecordBatch,
}

#[pymethods]
impl Columns {
    /// The columns' names.
    fn names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref())
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface permits a producer to ignore the requested schema and return its own.
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
