//! The outcome of a command that simulates a scenario.

use crate::failure::Failure;
use crate::output::note;
use anabranch_results::ResultSet;
use std::path::PathBuf;

pub struct Simulated {
    /// The results. Runs that failed without results or were stopped have no rows.
    pub results: ResultSet,
    /// The folder of the results, or `None` if there was nothing to write.
    pub folder: Option<PathBuf>,
    /// Whether Ctrl-C ended the simulation early.
    pub interrupted: bool,
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
            // The rows are not counted, because a run that failed may have a row.
            let finished = asked.saturating_sub(self.results.missing.len());
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

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_results::{MissingRun, RunFailure, RunRow};

    #[test]
    fn a_run_that_failed_did_not_finish_before_the_interruption() {
        let missing = |seed: u64, cause: Option<RunFailure>| MissingRun {
            scheme: "reps".to_owned(),
            seed,
            sweep: Default::default(),
            baseline: false,
            cause,
        };
        let run = |seed: u64| RunRow { scheme: "reps".into(), seed, ..RunRow::default() };
        let failure = RunFailure::Other { message: "stalled".to_owned() };
        let simulated = Simulated {
            results: ResultSet {
                runs: vec![run(1), run(2)],
                missing: vec![missing(2, Some(failure)), missing(3, None)],
                ..ResultSet::default()
            },
            folder: None,
            interrupted: true,
            runs_asked: 3,
            stored: false,
        };
        let text = simulated.verdict().unwrap_err().to_string();
        assert!(text.starts_with("interrupted after 1 of 3 runs"), "{text}");
    }
}
