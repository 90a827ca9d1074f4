//! The outcome of a simulation.

use crate::failure::Failure;
use crate::output::note;
use anabranch_results::ResultSet;
use std::path::PathBuf;

/// Results, and the folder that contains them.
pub struct Simulated {
    /// The results. Runs that failed without results or were stopped have no rows.
    pub results: ResultSet,
    /// The folder of the results, or `None` if there was nothing to write.
    pub folder: Option<PathBuf>,
    /// Whether Ctrl-C ended the simulation early.
    pub interrupted: bool,
    /// The number of requested runs.
    pub runs_asked: usize,
    /// Whether the results were stored before, so that nothing was simulated.
    pub stored: bool,
}

impl Simulated {
    /// Prints every failed run, and returns the failure of the command as a whole.
    ///
    /// # Errors
    /// [`Failure::Interrupted`] after Ctrl-C, [`Failure::Run`] if a run failed.
    pub fn verdict(&self) -> Result<(), Failure> {
        let failed = || self.results.missing.iter().filter_map(|run| Some((run, run.cause.as_ref()?)));
        let mut causes = failed().peekable();
        while let Some((run, cause)) = causes.next() {
            let whole = cause.to_string();
            // Advice that is the same for several runs in a row is printed only after the last of them.
            let is_last = causes.peek().is_none_or(|(_, next)| next.help() != cause.help());
            let shown = match whole.split_once("\n  help: ") {
                Some((what, _)) if !is_last => what,
                _ => &whole,
            };
            note(&format!("error: run {}: {shown}", run.describe()));
        }
        let kept = match &self.folder {
            Some(folder) => format!("what there is was written to {}", folder.display()),
            None => "nothing was written".to_owned(),
        };
        let (asked, failed) = (self.runs_asked, failed().count());
        if self.interrupted {
            let finished = self.results.runs.len();
            return Err(Failure::Interrupted(format!(
                "interrupted after {finished} of {asked} runs; {kept}"
            )));
        }
        if failed > 0 {
            return Err(Failure::Run(format!("{failed} of {asked} runs failed; {kept}")));
        }
        Ok(())
    }
}
