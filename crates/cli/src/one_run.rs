//! A single run of a scenario and the file that is made of it, for `trace`, `pcap` and `export`.

use crate::failure::{ANOTHER_FILE, Failure, unwritable};
use crate::source::{self, Prepared, ScenarioText};
use anabranch_sim::scenario::{Overrides, RunPoint};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

/// Reads a scenario, for one scheme and one seed where these are given.
///
/// # Errors
/// Bad input.
pub fn load(
    scenario: &Path,
    scheme: Option<&String>,
    seed: Option<u64>,
) -> Result<(ScenarioText, Prepared), Failure> {
    let over = Overrides {
        schemes: scheme.into_iter().cloned().collect(),
        seeds: seed.into_iter().collect(),
        ..Overrides::default()
    };
    let written = source::open(scenario)?;
    let prepared = source::load(&written, &over)?;
    Ok((written, prepared))
}

/// The first run of a scenario.
///
/// # Errors
/// When there is none.
pub fn first<'p>(prepared: &'p Prepared, scenario: &Path) -> Result<&'p RunPoint, Failure> {
    let none = || Failure::Input(format!("{}: there is nothing to run", scenario.display()));
    prepared.points.first().ok_or_else(none)
}

/// Writes a file, which appears when it is complete. Symbolic links and devices (`/dev/stdout`) are written in place.
///
/// # Errors
/// When it cannot be written.
pub fn write(file: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let refused = |error: io::Error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::NobodyReads,
        _ => unwritable(file, &error, ANOTHER_FILE),
    };
    let there = file.symlink_metadata().ok();
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        let mut out = BufWriter::new(File::create(file).map_err(refused)?);
        return fill(&mut out).and_then(|()| out.flush()).map_err(refused);
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut fresh = tempfile::Builder::new().prefix(".fresh-").tempfile_in(folder).map_err(refused)?;
    let mut out = BufWriter::new(&mut fresh);
    fill(&mut out).and_then(|()| out.flush()).map_err(refused)?;
    drop(out);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let as_before = there.map_or(PermissionsExt::from_mode(0o644), |there| there.permissions());
        std::fs::set_permissions(fresh.path(), as_before).map_err(refused)?;
    }
    fresh.persist(file).map_err(|error| refused(error.error)).map(drop)
}
