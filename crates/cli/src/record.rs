//! The folder that `anabranch testbed --record` writes: the resolved scenario with its files, and a folder for each
//! run.

use crate::failure::{Failure, reason};
use crate::source::{self, Prepared};
use crate::whole_file;
use anabranch_sim::scenario::{Overrides, RunPoint};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The version of the format of records. It changes when older records can no longer be replayed.
const FORMAT: u32 = 1;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct RunFile {
    format: u32,
    version: String,
    scheme: String,
    seed: u64,
    /// Whether the run did not finish, so that its files may be cut off. A new run is unfinished until it ends.
    #[serde(default)]
    unfinished: bool,
}

impl RunFile {
    fn of(point: &RunPoint, unfinished: bool) -> RunFile {
        let version = env!("ANABRANCH_VERSION").to_owned();
        RunFile { format: FORMAT, version, scheme: point.scheme.name.clone(), seed: point.seed, unfinished }
    }

    fn write(&self, folder: &Path) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        whole_file::put(&folder.join(RUN), text).map_err(|error| unwritable(folder, &error))
    }
}

fn unwritable(folder: &Path, error: &io::Error) -> Failure {
    Failure::Input(format!("{}: cannot be written: {}", folder.display(), reason(error)))
}

const SCENARIO: &str = "scenario.toml";
const RUN: &str = "run.json";

/// Creates the folder of a record, with the scenario. The folder must be empty, or must not exist yet.
///
/// # Errors
///
/// The folder cannot be written, or is not empty.
pub fn begin(folder: &Path, prepared: &Prepared) -> Result<(), Failure> {
    let unwritable = |error: io::Error| {
        Failure::Input(format!(
            "{}: cannot be written: {}\n  help: name another folder with --record DIR",
            folder.display(),
            reason(&error)
        ))
    };
    fs::create_dir_all(folder).map_err(unwritable)?;
    if fs::read_dir(folder).map_err(unwritable)?.next().is_some() {
        return Err(Failure::Input(format!(
            "{}: is not empty\n  help: name a new folder with --record DIR",
            folder.display()
        )));
    }
    whole_file::put(&folder.join(SCENARIO), &prepared.item.toml).map_err(unwritable)?;
    for (name, content) in &prepared.item.files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(unwritable)?;
        whole_file::put(&path, content).map_err(unwritable)?;
    }
    Ok(())
}

/// Creates the folder of run number `number`, in which the processes write their files.
///
/// # Errors
/// The folder cannot be written.
pub fn begin_run(folder: &Path, number: usize, point: &RunPoint) -> Result<PathBuf, Failure> {
    let path = run_folder(folder, number);
    fs::create_dir_all(&path).map_err(|error| unwritable(&path, &error))?;
    RunFile::of(point, true).write(&path)?;
    Ok(path)
}

/// Records in the folder of a run that the run has ended and that its files are complete.
///
/// # Errors
/// The folder cannot be written.
pub fn end_run(folder: &Path, point: &RunPoint) -> Result<(), Failure> {
    RunFile::of(point, false).write(folder)
}

fn run_folder(folder: &Path, number: usize) -> PathBuf {
    folder.join(run_name(number))
}

/// The name of the folder of a run in its record.
pub fn run_name(number: usize) -> String {
    format!("run-{number:04}")
}

pub struct RecordedRun {
    /// The index of the run's point.
    pub number: usize,
    pub folder: PathBuf,
    /// Whether the run did not finish, so that its files may be cut off.
    pub unfinished: bool,
}

/// Reads a record: its scenario, and the recorded runs.
///
/// # Errors
/// The folder is no record that this version of the program can read and replay.
pub fn open(folder: &Path) -> Result<(Prepared, Vec<RecordedRun>), Failure> {
    let scenario = folder.join(SCENARIO);
    if !scenario.is_file() {
        return Err(Failure::Input(format!(
            "{}: is no record: it has no {SCENARIO}\n  help: `anabranch testbed SCENARIO --record DIR` makes one",
            folder.display()
        )));
    }
    let prepared = source::load(&source::open(&scenario)?, &Overrides::default())?;
    let mut runs = Vec::new();
    for (number, point) in prepared.points.iter().enumerate() {
        let path = run_folder(folder, number);
        if !path.join(RUN).is_file() {
            continue;
        }
        let text = fs::read_to_string(path.join(RUN)).unwrap_or_default();
        let file: RunFile = serde_json::from_str(&text).map_err(|error| {
            Failure::Input(format!("{}: is no description of a run: {error}", path.join(RUN).display()))
        })?;
        let expected = RunFile::of(point, false);
        if file.format != FORMAT {
            return Err(Failure::Input(format!(
                "{}: the record has format {} (anabranch {}), and this is {FORMAT} (anabranch {})\n  help: replay it with \
                 the version that recorded it",
                path.display(),
                file.format,
                file.version,
                expected.version
            )));
        }
        if (&file.scheme, file.seed) != (&expected.scheme, expected.seed) {
            return Err(Failure::Input(format!(
                "{}: the run is {}, seed {}, but run {number} of {SCENARIO} is {}, seed {}",
                path.display(),
                file.scheme,
                file.seed,
                expected.scheme,
                expected.seed
            )));
        }
        runs.push(RecordedRun { number, folder: path, unfinished: file.unfinished });
    }
    match runs.is_empty() {
        true => Err(Failure::Input(format!("{}: the record has no run", folder.display()))),
        false => Ok((prepared, runs)),
    }
}
