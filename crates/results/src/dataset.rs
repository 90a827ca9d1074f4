//! The runs of a campaign: a folder with a subfolder for each run. The folder is on one disk, which several machines
//! may share.

use crate::{ResultSet, ResultsError};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file of the campaign's resolved scenario.
const PLAN: &str = "plan.toml";
/// The prefix of the name of a run's folder, before its number. It is written like the key of a partitioned dataset.
const TASK: &str = "task=";

/// A folder with a subfolder for each run, such as `task=000017`. A subfolder is either complete or absent.
#[derive(Clone, Debug)]
pub struct Dataset {
    folder: PathBuf,
}

/// The reasons why a folder cannot hold a campaign.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// The folder holds another campaign.
    #[error("{} holds another campaign ({}); name another folder", folder.display(), folder.join(PLAN).display())]
    OtherCampaign {
        /// The folder that was named for this campaign.
        folder: PathBuf,
    },
    /// The folder cannot be read or written.
    #[error("{}: {source}", folder.display())]
    Unwritable {
        /// The folder that was named for this campaign.
        folder: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
}

impl Dataset {
    /// Reserves `folder` for the runs of `plan`, a resolved scenario that refers to the files `inputs`. The folder is
    /// created if it does not exist. Several machines may reserve it for the same plan at the same time, because they
    /// write the same content.
    ///
    /// # Errors
    /// The folder holds the runs of another plan, or cannot be read or written.
    pub fn claim(
        folder: &Path,
        plan: &str,
        inputs: &BTreeMap<String, String>,
    ) -> Result<Dataset, DatasetError> {
        let dataset = Dataset { folder: folder.to_owned() };
        let unwritable = |source| DatasetError::Unwritable { folder: folder.to_owned(), source };
        if !dataset.has_plan(plan)? {
            write_missing(&folder.join(PLAN), plan).map_err(unwritable)?;
            // Another machine may have reserved the folder for another plan in the meantime.
            dataset.has_plan(plan)?;
        }
        // Another machine of this plan may have stopped before it wrote all inputs.
        inputs
            .iter()
            .try_for_each(|(name, text)| write_missing(&folder.join(name), text))
            .map_err(unwritable)?;
        Ok(dataset)
    }

    /// Whether the folder holds this plan. False if it holds no plan. Another plan is an error.
    fn has_plan(&self, plan: &str) -> Result<bool, DatasetError> {
        let folder = self.folder.clone();
        match fs::read_to_string(folder.join(PLAN)) {
            Ok(there) if there == plan => Ok(true),
            Ok(_) => Err(DatasetError::OtherCampaign { folder }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(DatasetError::Unwritable { folder, source }),
        }
    }

    /// The dataset in `folder`, without a check of its content.
    pub fn at(folder: &Path) -> Dataset {
        Dataset { folder: folder.to_owned() }
    }

    /// The folder of the run with this number.
    pub fn task(&self, number: usize) -> PathBuf {
        self.folder.join(format!("{TASK}{number:06}"))
    }

    /// The lowest number among the runs that are present.
    pub fn first(&self) -> Option<usize> {
        let all = fs::read_dir(&self.folder).ok()?.flatten();
        all.filter_map(|entry| entry.file_name().to_str()?.strip_prefix(TASK)?.parse().ok()).min()
    }

    /// Whether the run with this number is present.
    pub fn has(&self, number: usize) -> bool {
        self.task(number).exists()
    }

    /// Stores a run atomically, with its report `page`. If another machine has already stored the run, the stored files
    /// stay, because both machines have the same results.
    ///
    /// # Errors
    /// The files of the run cannot be written.
    pub fn put(
        &self,
        number: usize,
        results: &ResultSet,
        inputs: &BTreeMap<String, String>,
        page: &str,
    ) -> Result<(), ResultsError> {
        let write_error = |source| ResultsError::Write { path: self.task(number), source };
        let fresh =
            tempfile::Builder::new().prefix(".task-").tempdir_in(&self.folder).map_err(write_error)?;
        results.write_whole(fresh.path(), inputs, page)?;
        readable(fresh.path(), 0o755).map_err(write_error)?;
        // If the folder is not renamed, it is removed when `fresh` is dropped.
        match fs::rename(fresh.path(), self.task(number)) {
            Err(source) if !self.has(number) => Err(write_error(source)),
            _ => Ok(()),
        }
    }
}

impl ResultSet {
    /// Writes the results as [`ResultSet::write`] does. Also writes the files to which the scenario refers, under their
    /// names, and the report's page.
    ///
    /// # Errors
    /// A file cannot be written, or [`ResultSet::write`] refuses a row.
    pub fn write_whole(
        &self,
        dir: &Path,
        inputs: &BTreeMap<String, String>,
        page: &str,
    ) -> Result<(), ResultsError> {
        let write_error = |source| ResultsError::Write { path: dir.to_owned(), source };
        write_inputs(dir, inputs).map_err(write_error)?;
        fs::write(dir.join("report.html"), page).map_err(write_error)?;
        self.write(dir)
    }
}

fn write_inputs(dir: &Path, inputs: &BTreeMap<String, String>) -> io::Result<()> {
    for (name, text) in inputs {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap_or(dir))?;
        fs::write(path, text)?;
    }
    Ok(())
}

/// Writes a file unless it exists. The file is renamed into place, so that no machine reads an incomplete file.
fn write_missing(path: &Path, text: &str) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let fresh = tempfile::NamedTempFile::new_in(folder)?;
    fs::write(fresh.path(), text)?;
    readable(fresh.path(), 0o644)?;
    place(fresh, path)
}

/// Renames a temporary file to `path`. If a file with that name exists already, it stays where the file system can
/// refuse to overwrite it.
fn place(fresh: tempfile::NamedTempFile, path: &Path) -> io::Result<()> {
    match fresh.persist_noclobber(path) {
        Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // Not every file system can refuse to overwrite a file, so this rename replaces an existing one.
        Err(refused) => refused.file.persist(path).map(drop).map_err(|error| error.error),
        Ok(_) => Ok(()),
    }
}

/// Sets the mode of a temporary file or folder, because by default only the current user may read it.
fn readable(path: &Path, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    #[cfg(not(unix))]
    let _ = (path, mode);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_campaigns_that_claim_a_folder_at_once_one_gets_it() {
        let place = tempfile::tempdir().unwrap();
        let plans = ["seeds = [1]\n", "seeds = [2]\n"];
        for round in 0..50 {
            let folder = place.path().join(round.to_string());
            let barrier = std::sync::Barrier::new(plans.len());
            let claim = |plan: &str| {
                barrier.wait();
                Dataset::claim(&folder, plan, &BTreeMap::new()).is_ok()
            };
            let claimed = std::thread::scope(|scope| {
                let threads = plans.map(|plan| scope.spawn(move || claim(plan)));
                threads.map(|thread| thread.join().unwrap())
            });
            let there = fs::read_to_string(folder.join(PLAN)).unwrap();
            assert_eq!(claimed, plans.map(|plan| plan == there));
        }
    }

    #[test]
    fn the_inputs_are_those_of_the_plan() {
        let place = tempfile::tempdir().unwrap();
        let plans = ["seeds = [1]\n", "seeds = [2]\n"];
        for round in 0..200 {
            let folder = place.path().join(round.to_string());
            let barrier = std::sync::Barrier::new(plans.len());
            let claim = |plan: &str| {
                let inputs = BTreeMap::from([("x.txt".to_owned(), plan.to_owned())]);
                barrier.wait();
                drop(Dataset::claim(&folder, plan, &inputs));
            };
            std::thread::scope(|scope| plans.iter().for_each(|plan| drop(scope.spawn(move || claim(plan)))));
            let there = fs::read_to_string(folder.join(PLAN)).unwrap();
            assert_eq!(fs::read_to_string(folder.join("x.txt")).unwrap(), there);
        }
        // If a machine stopped after it wrote the plan, the next machine writes the missing inputs.
        let folder = place.path().join("0");
        fs::remove_file(folder.join("x.txt")).unwrap();
        let plan = fs::read_to_string(folder.join(PLAN)).unwrap();
        Dataset::claim(&folder, &plan, &BTreeMap::from([("x.txt".to_owned(), plan.clone())])).unwrap();
        assert_eq!(fs::read_to_string(folder.join("x.txt")).unwrap(), plan);
    }

    #[test]
    fn a_folder_is_one_campaigns_and_a_run_is_whole_or_not_there() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a/b");
        let inputs = BTreeMap::from([("inputs/x.txt".to_owned(), "1\n".to_owned())]);
        let dataset = Dataset::claim(&folder, "seeds = [1]\n", &inputs).unwrap();
        assert_eq!(fs::read_to_string(folder.join("inputs/x.txt")).unwrap(), "1\n");
        Dataset::claim(&folder, "seeds = [1]\n", &inputs).unwrap();
        let other = Dataset::claim(&folder, "seeds = [2]\n", &inputs).unwrap_err().to_string();
        assert!(other.contains("holds another campaign"), "{other}");

        let set = ResultSet { title: "x".into(), ..ResultSet::default() };
        assert!(!dataset.has(3));
        dataset.put(3, &set, &inputs, "page").unwrap();
        dataset.put(3, &set, &inputs, "another page, by a machine that came late").unwrap();
        assert!(dataset.has(3) && dataset.task(3).ends_with("task=000003"));
        assert_eq!(dataset.first(), Some(3));
        assert_eq!(fs::read_to_string(dataset.task(3).join("report.html")).unwrap(), "page");
        assert_eq!(ResultSet::read(&dataset.task(3)).unwrap().title, "x");

        // If a folder cannot be written to, a failed attempt leaves nothing behind.
        let gone = Dataset { folder: place.path().join("gone") };
        assert!(gone.put(1, &set, &inputs, "page").is_err() && !gone.folder.exists());
        let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 3, "plan, inputs and a run: {names:?}");
    }
}
