//! Writing of files and folders so that they appear under their name only when they are complete.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use tempfile::TempDir;

/// The prefix of the names of folders that are not complete yet.
pub const UNFINISHED: &str = ".unfinished-";

/// Writes a file, which appears only when it is complete. Symbolic links and devices (`/dev/stdout`) are written
/// directly.
///
/// # Errors
/// The file cannot be written. An existing regular file then stays unchanged.
pub fn write(file: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let there = file.symlink_metadata().ok();
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        let mut out = BufWriter::new(File::create(file)?);
        return fill(&mut out).and_then(|()| out.flush());
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut fresh = tempfile::Builder::new().prefix(".fresh-").tempfile_in(folder)?;
    let mut out = BufWriter::new(&mut fresh);
    fill(&mut out).and_then(|()| out.flush())?;
    drop(out);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let as_before = there.map_or(PermissionsExt::from_mode(0o644), |there| there.permissions());
        std::fs::set_permissions(fresh.path(), as_before)?;
    }
    fresh.persist(file).map(drop).map_err(|error| error.error)
}

/// Writes `bytes` to a file, as [`write()`] does.
///
/// # Errors
/// The errors of [`write()`].
pub fn put(file: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    write(file, |out| out.write_all(bytes.as_ref()))
}

/// A temporary folder in `root`, with the permissions that new folders usually have. Dropping the returned value
/// removes the folder.
///
/// # Errors
/// The folder cannot be created.
pub fn hidden_folder(root: &Path) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    builder.tempdir_in(root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_that_cannot_be_completed_leaves_the_one_before() {
        let place = tempfile::tempdir().unwrap();
        let page = place.path().join("page.html");
        put(&page, "old").unwrap();
        let full = |out: &mut dyn Write| {
            out.write_all(b"ne")?;
            Err(io::ErrorKind::StorageFull.into())
        };
        assert!(write(&page, full).is_err());
        assert_eq!(fs::read_to_string(&page).unwrap(), "old");
        put(&page, "new").unwrap();
        assert_eq!(fs::read_to_string(&page).unwrap(), "new");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing else is left");
    }
}
