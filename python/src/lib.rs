//! The simulator as a Python module, used by the public interface `anabranch/__init__.py`: scenarios, parallel runs
//! without the interpreter's lock, and tables that other libraries use without a copy.
#![warn(missing_docs)]

mod balancer;
mod job;
mod results;

use anabranch_sim::Session;
use anabranch_sim::scenario::{
    Diagnostic, Files, Overrides, Registry, read_with, schemes as built_in, setups as grounds,
};
use job::Job;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use results::{Columns, Results};
use std::path::{Path, PathBuf};

create_exception!(
    anabranch,
    ScenarioError,
    PyValueError,
    "What is wrong in a scenario, where, and what to write instead."
);

/// The Python exception for an error, with the place and the fix as attributes.
fn raised(py: Python<'_>, fault: &Diagnostic) -> PyErr {
    let error = ScenarioError::new_err(fault.to_string());
    let value = error.value(py);
    let set = || -> PyResult<()> {
        value.setattr("file", &fault.span.file)?;
        value.setattr("line", fault.span.line)?;
        value.setattr("column", fault.span.column)?;
        value.setattr("message", &fault.message)?;
        value.setattr("help", fault.help())
    };
    match set() {
        Ok(()) => error,
        Err(error) => error,
    }
}

/// The name that error texts use for a scenario given as a dict.
const OF_A_DICT: &str = "<dict>";

/// The files in a folder.
struct Folder(PathBuf);

impl Files for Folder {
    fn read(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(name)).map_err(|error| error.to_string())
    }

    fn read_bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        std::fs::read(self.0.join(name)).map_err(|error| error.to_string())
    }
}

/// Reads a scenario from its text, its name in error texts, and the folder of the files that it names.
#[pyfunction]
#[pyo3(signature = (text, shown, folder, schemes=Vec::new(), seeds=Vec::new(), balancers=None))]
fn read(
    py: Python<'_>,
    text: &str,
    shown: &str,
    folder: PathBuf,
    schemes: Vec<String>,
    seeds: Vec<u64>,
    balancers: Option<&Bound<'_, PyDict>>,
) -> PyResult<Job> {
    let mut registry = Registry::new();
    for (name, class) in balancers.into_iter().flatten() {
        registry = balancer::registered(registry, name.extract()?, &class)?;
    }
    let over = Overrides { schemes, seeds, usual_seeds: Overrides::USUAL_SEEDS.into() };
    let session = py.detach(|| {
        let mut scenario = read_with(&registry, shown, text, &Folder(folder), &over)?;
        if scenario.title == shown
            && let Some(name) = Path::new(shown).file_name()
        {
            // A scenario without a title has the name of its file as title, without the folder.
            scenario.title = name.to_string_lossy().into_owned();
        }
        // With a self-contained scenario, a folder of results contains everything that is needed to reproduce the
        // results. An error in a file that the scenario names cites the user's file, not its copy below `inputs/`.
        let alone = scenario.self_contained(&registry)?;
        Session::of(alone).map_err(|of_a_copy| scenario.examine().err().unwrap_or(of_a_copy))
    });
    session.map(Job::new).map_err(|mut fault| {
        // A dict has no lines, and the user has not seen the text that was made from it.
        if shown == OF_A_DICT && fault.span.file == OF_A_DICT {
            (fault.span.line, fault.span.column) = (None, None);
        }
        raised(py, &fault)
    })
}

/// Converts a scenario from JSON to TOML.
#[pyfunction]
fn to_toml(json: &str) -> PyResult<String> {
    let value: serde_json::Value =
        serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))?;
    toml::to_string(&value).map_err(|error| {
        PyValueError::new_err(format!(
            "the scenario cannot be written as TOML: {error}; leave out what is None"
        ))
    })
}

/// A random sample of `count` numbers below `runs`, drawn with this seed.
#[pyfunction]
fn sample(runs: usize, count: usize, seed: u64) -> Vec<usize> {
    anabranch_sim::sample(runs, count, seed)
}

/// The name and title of every scheme that comes with the package.
#[pyfunction]
fn schemes() -> Vec<(&'static str, String)> {
    built_in().into_iter().map(|scheme| (scheme.name, scheme.title)).collect()
}

/// The name and title of every setup that comes with the package.
#[pyfunction]
fn setups() -> Vec<(&'static str, String)> {
    grounds().into_iter().map(|setup| (setup.name, setup.title)).collect()
}

/// The contents of the module.
#[pymodule]
fn _anabranch(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read, module)?)?;
    module.add_function(wrap_pyfunction!(to_toml, module)?)?;
    module.add_function(wrap_pyfunction!(sample, module)?)?;
    module.add_function(wrap_pyfunction!(schemes, module)?)?;
    module.add_function(wrap_pyfunction!(setups, module)?)?;
    module.add_function(wrap_pyfunction!(results::load, module)?)?;
    module.add_class::<Job>()?;
    module.add_class::<Results>()?;
    module.add_class::<Columns>()?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("VERSION", env!("CARGO_PKG_VERSION"))
}
