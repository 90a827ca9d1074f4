//! `anabranch trace`: one run as a timeline.

use crate::args::TraceArgs;
use crate::execute::{describe, guarded, pass_on_interrupts};
use crate::failure::{Failure, reason};
use crate::output::print;
use crate::source;
use crate::{interrupt, timeline};
use anabranch_sim::Control;
use anabranch_sim::scenario::Overrides;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Simulates the first run of a scenario, or that of a scheme and a seed, and writes its timeline.
///
/// # Errors
/// Bad input, a run that failed, a file that cannot be written, Ctrl-C.
pub fn trace(args: &TraceArgs) -> Result<(), Failure> {
    interrupt::catch()?;
    let over = Overrides {
        schemes: args.scheme.iter().cloned().collect(),
        seeds: args.seed.iter().copied().collect(),
        ..Overrides::default()
    };
    let written = source::written(&args.scenario)?;
    let prepared = source::load(&written, &over)?;
    let Some(point) = prepared.points.first() else {
        return Err(Failure::Input(format!("{}: there is nothing to run", args.scenario.display())));
    };
    let controls = [Control { spans: true, threads: args.threads, ..Control::default() }];
    let ran = pass_on_interrupts(&controls, || guarded(|| anabranch_sim::run(point, &controls[0])));
    let named = describe(&point.scheme.name, point.seed, &point.sweep);
    let failed = |what: &dyn std::fmt::Display| Failure::Run(format!("{named}: {what}"));
    let result = ran.map_err(|panic| failed(&panic))?.map_err(|error| failed(&error))?;
    let default =
        || PathBuf::from(format!("{}-{}-{}.perfetto-trace", written.name, point.scheme.name, point.seed));
    let file = args.file.clone().unwrap_or_else(default);
    write(&file, &timeline::perfetto(point, &result))?;
    print(&format!(
        "{named}: {:.1} us, digest {}\ntimeline: {} (open it at ui.perfetto.dev)\n",
        result.run.completion_us,
        result.run.digest,
        file.display()
    ))
}

/// Writes a file, which appears when it is whole.
fn write(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let refused = |error: std::io::Error| {
        Failure::Input(format!("{}: cannot be written: {}", file.display(), reason(&error)))
    };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut fresh = tempfile::Builder::new().prefix(".trace-").tempfile_in(folder).map_err(refused)?;
    fresh.write_all(bytes).map_err(refused)?;
    #[cfg(unix)]
    std::fs::set_permissions(fresh.path(), std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .map_err(refused)?;
    fresh.persist(file).map_err(|error| refused(error.error)).map(drop)
}
