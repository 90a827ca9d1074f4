//! `anabranch trace`: one run as a timeline.

use crate::args::TraceArgs;
use crate::execute::{describe, guarded, pass_on_interrupts};
use crate::failure::Failure;
use crate::output::print;
use crate::{interrupt, one_run, timeline};
use anabranch_sim::Control;
use std::path::PathBuf;

/// Simulates the first run of a scenario, with the scheme and the seed of `args` if they are given, and writes its
/// timeline.
///
/// # Errors
/// Bad input, a run that failed, output that cannot be written, Ctrl-C.
pub fn trace(args: &TraceArgs) -> Result<(), Failure> {
    interrupt::catch()?;
    let (written, prepared) = one_run::load(&args.scenario, args.scheme.as_ref(), args.seed)?;
    let point = one_run::first(&prepared, &args.scenario)?;
    let controls = [Control { spans: true, threads: args.threads, ..Control::default() }];
    let ran = pass_on_interrupts(&controls, || guarded(|| anabranch_sim::run(point, &controls[0])));
    let named = describe(&point.scheme.name, point.seed, &point.sweep);
    let failed = |what: &dyn std::fmt::Display| Failure::Run(format!("{named}: {what}"));
    let result = ran.map_err(|panic| failed(&panic))?.map_err(|error| failed(&error))?;
    let default =
        || PathBuf::from(format!("{}-{}-{}.perfetto-trace", written.name, point.scheme.name, point.seed));
    let file = args.file.clone().unwrap_or_else(default);
    one_run::write(&file, |out| out.write_all(&timeline::perfetto(point, &result)))?;
    print(&format!(
        "{named}: {:.1} us, digest {}\ntimeline: {} (open it at ui.perfetto.dev)\n",
        result.run.completion_us,
        result.run.digest,
        file.display()
    ))
}
