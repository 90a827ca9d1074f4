//! A place on disk for the curves of runs that have ended, until the results are written. The curves of all runs
//! together may be larger than memory.

use crate::output::note;
use anabranch_results::{FiledCurves, SeriesRow};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Curves stay in memory if a run has at most this number of points.
const WORTH_FILING: usize = 100;

/// A folder of curve files, at most one for each run.
pub struct Spool {
    folder: PathBuf,
    complained: AtomicBool,
}

impl Spool {
    /// A spool in `folder`, which is created when it is needed.
    pub fn at(folder: PathBuf) -> Spool {
        Spool { folder, complained: AtomicBool::new(false) }
    }

    /// Moves the curves of run `index` to a file, if they have many points. If they cannot be written, they stay in
    /// memory.
    pub fn file(&self, index: usize, rows: &mut Vec<SeriesRow>) -> Option<FiledCurves> {
        if rows.len() <= WORTH_FILING {
            return None;
        }
        let written = fs::create_dir_all(&self.folder)
            .map_err(|error| error.to_string())
            .and_then(|()| FiledCurves::write(&self.path(index), rows).map_err(|error| error.to_string()));
        match written {
            Ok(filed) => {
                *rows = Vec::new();
                Some(filed)
            }
            Err(error) => {
                let _ = fs::remove_file(self.path(index));
                if !self.complained.swap(true, Ordering::Relaxed) {
                    note(&format!("warning: {error}; curves stay in memory"));
                }
                None
            }
        }
    }

    /// The curves of run `index` from the file at `path`, which may be removed later. The result is `None` if the file
    /// can be neither linked nor copied, or if it cannot be read.
    pub fn adopt(&self, index: usize, path: &Path) -> Option<FiledCurves> {
        fs::create_dir_all(&self.folder).ok()?;
        let own = self.path(index);
        fs::hard_link(path, &own).or_else(|_| fs::copy(path, &own).map(drop)).ok()?;
        FiledCurves::open(&own).ok()
    }

    /// Removes all curve files.
    pub fn clear(&self) {
        // An error is ignored: the folder may not exist, and the folder around it is temporary.
        let _ = fs::remove_dir_all(&self.folder);
    }

    fn path(&self, index: usize) -> PathBuf {
        self.folder.join(format!("{index}.parquet"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: u64) -> Vec<SeriesRow> {
        let row = |time_ps| SeriesRow { run: 0, series: "s".into(), entity: "e".into(), time_ps, value: 0.5 };
        (0..count).map(row).collect()
    }

    #[test]
    fn many_points_go_to_a_file_and_few_stay() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::at(folder.path().join("spool"));
        let mut few = rows(3);
        assert!(spool.file(0, &mut few).is_none() && few.len() == 3);
        let mut many = rows(1000);
        let filed = spool.file(7, &mut many).unwrap();
        assert!(many.is_empty());
        assert_eq!(filed.points("s").unwrap()[0].points.len(), 1000);
        let adopted = spool.adopt(8, &folder.path().join("spool/7.parquet")).unwrap();
        assert_eq!(adopted.points("s").unwrap(), filed.points("s").unwrap());
        spool.clear();
        assert!(!folder.path().join("spool").exists());
    }

    #[test]
    fn curves_stay_where_they_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let mut many = rows(1000);
        assert!(Spool::at(file.join("spool")).file(0, &mut many).is_none());
        assert_eq!(many.len(), 1000);
    }
}
