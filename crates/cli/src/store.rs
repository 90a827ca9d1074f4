//! The folder of results: access to results that are stored already, and new results, which appear only when they are
//! complete.

use crate::failure::{Failure, reason};
use crate::made_by::{MADE_BY, MadeBy};
use crate::run_cache::RunCache;
use crate::spool::Spool;
use crate::whole_file::{UNFINISHED, hidden_folder};
use anabranch_results::ScenarioFacts;
use anabranch_results::{ResultSet, ResultsError};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// The number of digits of the digest in a folder's name.
const DIGITS: usize = 16;
/// The prefix of the temporary name of an old folder of results while a newer folder replaces it. After the prefix come
/// the end of the newer folder's temporary name, a hyphen, and the final name.
const REPLACED: &str = ".replaced-";
/// The prefix of the folders of finished runs of commands that were ended.
const KEPT: &str = ".kept-";
/// The name of the folder of curves within a folder that is not complete yet.
const SPOOL: &str = ".spool";
/// The largest number of attempts to rename a folder. Another attempt follows only if another program has just
/// renamed its folder to the same name.
const MOST_ATTEMPTS: u32 = 100;
/// The minimum age at which an abandoned folder is removed. A folder that seems to have no lock is not removed earlier,
/// because not every file system shows the locks of other machines.
const LEFT_ALONE: Duration = Duration::from_secs(24 * 3600);

/// The scenario or model to which results belong. It is identified by its digest.
#[derive(Clone)]
pub struct Item {
    /// The start of the folder's name, in plain characters only.
    pub name: String,
    /// The digest of everything that determines the results.
    pub digest: String,
    /// The resolved scenario (or model) as TOML.
    pub toml: String,
    /// The facts about the scenario that the rows of results do not contain. A model has none.
    pub facts: ScenarioFacts,
    /// The files to which the scenario refers, by their path within the folder.
    pub files: BTreeMap<String, String>,
    pub warnings: Vec<String>,
}

/// A folder that holds one folder for each result set.
pub struct Store {
    root: PathBuf,
}

/// Results that are being written. They are in a hidden folder, which gets its final name when it is complete. An
/// incomplete folder is removed.
pub struct Pending {
    temp: TempDir,
    target: PathBuf,
    /// A lock that this program holds until the folder is complete or removed. It shows other programs that the
    /// folder is in use: a folder without a lock was left by a program that was killed. `None` if the file system has
    /// no locks.
    _lock: Option<File>,
}

impl Store {
    pub fn at(root: &Path) -> Store {
        Store { root: root.to_owned() }
    }

    /// The complete results of the scenario, if this build generated them, and their folder.
    pub fn stored(&self, item: &Item) -> Option<(PathBuf, ResultSet)> {
        self.recover();
        let folder = self.target(item);
        if !MadeBy::read(&folder)?.is_this() {
            return None;
        }
        Some((folder.clone(), ResultSet::open(&folder).ok()?))
    }

    /// The runs of the scenario that finished before an earlier command was ended. With `fresh` there are none.
    pub fn run_cache(&self, item: &Item, fresh: bool) -> RunCache {
        RunCache::at(self.root.join(format!("{KEPT}{}-{}", item.name, &item.digest[..DIGITS])), fresh)
    }

    /// The run cache shared by all items with this name, even if the items' digests differ. Sharing is safe, because a
    /// run's name identifies everything that determines the run.
    pub fn named_run_cache(&self, item: &Item, fresh: bool, names: Vec<String>) -> RunCache {
        RunCache::by_name(self.root.join(format!("{KEPT}{}", item.name)), fresh, names)
    }

    /// Prepares a folder for results. A folder that cannot be created or written is thus refused before the
    /// simulation.
    ///
    /// # Errors
    /// [`Failure::Input`] if the folder cannot be created or is not writable, or if a file has the folder's final
    /// name.
    pub fn begin(&self, item: &Item) -> Result<Pending, Failure> {
        fs::create_dir_all(&self.root).map_err(|error| self.refused(&error))?;
        let target = self.target(item);
        if fs::symlink_metadata(&target).is_ok_and(|about| !about.is_dir()) {
            return Err(Failure::Input(format!(
                "{}: cannot hold results: it is a file, not a folder\n  help: move it away, or name another folder with --out",
                target.display()
            )));
        }
        self.recover();
        self.remove_abandoned();
        let temp = hidden_folder(&self.root).map_err(|error| self.refused(&error))?;
        let mut pending = Pending { temp, target, _lock: None };
        pending.write_early(item).map_err(|error| self.refused(&error))?;
        Ok(pending)
    }

    /// Completes the replacement of results that killed programs left unfinished. If no folder has the final name, the
    /// newer results get it, provided that they are complete. Otherwise the older results get the name. Remaining
    /// folders are removed. A failure is not reported, because the older results remain.
    pub fn recover(&self) {
        let folders = fs::read_dir(&self.root).into_iter().flatten().flatten();
        for folder in folders.map(|folder| folder.path()) {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let parts = name.strip_prefix(REPLACED).and_then(|rest| rest.split_once('-'));
            let Some((end, target)) = parts.filter(|(_, target)| !target.is_empty()) else { continue };
            let (newer, target) = (self.root.join(format!("{UNFINISHED}{end}")), self.root.join(target));
            if newer.exists() {
                if !is_left(&newer) {
                    continue;
                }
                if !target.exists() && ResultSet::open(&newer).is_ok() {
                    let _ = fs::rename(&newer, &target);
                }
            }
            if !target.exists() {
                let _ = fs::rename(&folder, &target);
            }
            if target.exists() {
                let _ = fs::remove_dir_all(&folder);
                let _ = fs::remove_dir_all(&newer);
            }
        }
    }

    /// Removes folders that were left by killed programs, also those of runs that are kept. A failure is not reported,
    /// because nothing depends on the removal.
    fn remove_abandoned(&self) {
        let folders_in = |root: &Path| -> Vec<fs::DirEntry> {
            fs::read_dir(root).into_iter().flatten().flatten().collect()
        };
        let has_prefix =
            |folder: &fs::DirEntry, prefix: &str| folder.file_name().to_string_lossy().starts_with(prefix);
        let mut folders = folders_in(&self.root);
        let kept: Vec<_> =
            folders.iter().filter(|folder| has_prefix(folder, KEPT)).map(fs::DirEntry::path).collect();
        folders.extend(kept.iter().flat_map(|kept| folders_in(kept)));
        for folder in folders.iter().filter(|folder| has_prefix(folder, UNFINISHED)) {
            let age = folder.metadata().and_then(|about| about.modified()).map(|at| at.elapsed());
            if matches!(age, Ok(Ok(age)) if age > LEFT_ALONE) && is_left(&folder.path()) {
                let _ = fs::remove_dir_all(folder.path());
            }
        }
    }

    fn target(&self, item: &Item) -> PathBuf {
        self.root.join(format!("{}-{}", item.name, &item.digest[..DIGITS]))
    }

    fn refused(&self, error: &io::Error) -> Failure {
        Failure::Input(format!(
            "{}: results cannot be written there: {}\n  help: name a folder that can be written with --out DIR",
            self.root.display(),
            reason(error)
        ))
    }
}

/// Whether no program writes into an unfinished folder: none holds its lock, or the folder has no file to lock.
fn is_left(folder: &Path) -> bool {
    match File::open(folder.join(MADE_BY)) {
        Ok(file) => file.try_lock().is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

impl Pending {
    pub fn folder(&self) -> &Path {
        self.temp.path()
    }

    /// A place for curves until the results are written.
    pub fn spool(&self) -> Spool {
        Spool::at(self.temp.path().join(SPOOL))
    }

    /// Writes everything that is known before the simulation, so that a full disk is detected early.
    fn write_early(&mut self, item: &Item) -> io::Result<()> {
        let folder = self.temp.path();
        MadeBy::this().write(folder)?;
        let made_by = File::open(folder.join(MADE_BY))?;
        self._lock = made_by.try_lock().is_ok().then_some(made_by);
        fs::write(folder.join("scenario.toml"), &item.toml)?;
        for (name, text) in &item.files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(path, text)?;
        }
        Ok(())
    }

    /// Writes the results and the page `html`, and renames the folder to its final name. The name of incomplete results
    /// ends with `-partial`.
    ///
    /// # Errors
    /// [`Failure::Input`] if they cannot be written, for example because the disk is full. Older results under the
    /// final name then stay.
    pub fn finish(self, results: &ResultSet, html: &str, whole: bool) -> Result<PathBuf, Failure> {
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        let partial = self.target.with_file_name(format!("{name}-partial"));
        let target = if whole { self.target.clone() } else { partial.clone() };
        results.write(self.folder()).map_err(|error| self.not_written(&error, &target))?;
        self.spool().clear();
        fs::write(self.folder().join("report.html"), html)
            .and_then(|()| self.replace(&target))
            .map_err(|error| lost(&target, &reason(&error)))?;
        if whole {
            // An error is ignored, because the folder may not exist.
            let _ = fs::remove_dir_all(partial);
        }
        Ok(target)
    }

    /// Renames the folder to its final name. A folder that has this name already is older and is removed.
    ///
    /// Several programs may rename folders to one name. The results of the program that does so last remain.
    fn replace(self, target: &Path) -> io::Result<()> {
        let own = self.temp.path().file_name().unwrap_or_default().to_string_lossy();
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let old = format!("{}-{name}", own.replacen(UNFINISHED, REPLACED, 1));
        let old = self.temp.path().with_file_name(old);
        for attempt in 1.. {
            let had_old = match fs::rename(target, &old) {
                Ok(()) => true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => false,
                Err(error) => return Err(error),
            };
            stop_here("between-renames");
            let Err(error) = fs::rename(self.temp.path(), target) else { break };
            let is_taken = target.exists();
            if had_old {
                // The older folder gets its name back, unless a newer folder of another program has the name now.
                match fs::rename(&old, target) {
                    Err(_) if is_taken => fs::remove_dir_all(&old)?,
                    moved => moved?,
                }
            }
            if !is_taken || attempt == MOST_ATTEMPTS {
                return Err(error);
            }
        }
        // The folder is no longer temporary.
        let _ = self.temp.keep();
        stop_here("after-renames");
        // The new results are in place. An error is ignored, because remaining files of the old results do no harm.
        let _ = fs::remove_dir_all(&old);
        Ok(())
    }

    fn not_written(&self, error: &ResultsError, target: &Path) -> Failure {
        match error {
            ResultsError::Write { source, .. } => lost(target, &reason(source)),
            other => lost(target, &other.to_string()),
        }
    }
}

/// Waits to be killed, if the environment variable `ANABRANCH_STOP_AT` names this place. Only builds with debug
/// assertions do so.
fn stop_here(place: &str) {
    if cfg!(debug_assertions) && std::env::var_os("ANABRANCH_STOP_AT").is_some_and(|name| name == place) {
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
}

fn lost(target: &Path, why: &str) -> Failure {
    Failure::Input(format!(
        "{}: the results cannot be written: {why}\n  help: make room, or name another folder with --out DIR; nothing was written",
        target.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_programs_store_the_same_results_at_once() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::at(place.path());
        let item = || Item {
            name: "x".to_owned(),
            digest: "0123456789abcdef".to_owned(),
            toml: String::new(),
            facts: ScenarioFacts::default(),
            files: BTreeMap::new(),
            warnings: Vec::new(),
        };
        let finish = || {
            for _ in 0..5 {
                let pending = store.begin(&item()).unwrap();
                let folder = pending.finish(&ResultSet::default(), "page", true).unwrap();
                assert!(folder.ends_with("x-0123456789abcdef"));
            }
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(finish)).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        ResultSet::read(&place.path().join("x-0123456789abcdef")).unwrap();
        let names = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let names: Vec<_> = names.collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn folders_that_killed_programs_left_are_removed_a_day_later() {
        let place = tempfile::tempdir().unwrap();
        let folder = |name: &str, hours: u64, is_locked: bool| {
            let path = place.path().join(name);
            fs::create_dir_all(&path).unwrap();
            let lock = is_locked.then(|| File::create(path.join(MADE_BY)).unwrap());
            lock.iter().for_each(|file| file.try_lock().unwrap());
            let then = fs::metadata(&path).unwrap().modified().unwrap() - Duration::from_secs(hours * 3600);
            File::open(&path).unwrap().set_modified(then).unwrap();
            lock
        };
        let _held = folder(".unfinished-held", 25, true);
        for (name, hours) in [
            (".unfinished-new", 1),
            (".unfinished-old", 25),
            (".kept-x/.unfinished-run", 25),
            (".kept-x/0", 25),
        ] {
            folder(name, hours, false);
        }
        Store::at(place.path()).remove_abandoned();
        let exists = |name: &str| place.path().join(name).exists();
        assert!([".unfinished-held", ".unfinished-new", ".kept-x/0"].into_iter().all(exists));
        assert!(![".unfinished-old", ".kept-x/.unfinished-run"].into_iter().any(exists));
    }
}
