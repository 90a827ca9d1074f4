//! What a scenario asks in `[find]`, and whether that can be asked.

use crate::failure::Failure;
use crate::output::note;
use crate::source::{Written, input};
use anabranch_report::Measure;
use anabranch_sim::scenario::{Find, Overrides, find_in};

/// What `where` calls the scheme that is asked for.
pub const SCHEME: &str = "scheme";

/// The measure of `where`.
///
/// # Errors
/// [`Failure::Input`] when it is no measure, or not of each scheme.
pub fn measure(shown: &str, find: &Find) -> Result<Measure, Failure> {
    let wrong = |why: String| {
        Failure::Input(format!("{shown}: [find] where: {why}\n  write: where = \"drops(scheme) == 0\""))
    };
    let measure = Measure::parse(&find.holds).map_err(|error| wrong(error.to_string()))?;
    match measure.schemes()[..] {
        [SCHEME] => Ok(measure),
        [] => Err(wrong(format!("{:?} asks for nothing of a scheme", find.holds))),
        ref names => {
            let others: Vec<&str> = names.iter().copied().filter(|name| *name != SCHEME).collect();
            Err(wrong(format!(
                "it is asked of each scheme, which is called `scheme` there, not {}",
                others.join(", ")
            )))
        }
    }
}

/// For commands that answer no question: checks the one that the scenario asks, at both ends of what it looks through,
/// and says which command answers it.
///
/// # Errors
/// [`Failure::Input`] when it cannot be asked.
pub fn check(written: &Written, over: &Overrides) -> Result<(), Failure> {
    let shown = &written.shown;
    let Some(find) = find_in(shown, &written.text, over).map_err(input)? else { return Ok(()) };
    measure(shown, &find)?;
    find.scenario(&find.ends(), &written.folder).and_then(|ends| ends.check()).map_err(input)?;
    note(&format!("{shown}: the search in [find] is run by `anabranch find {shown}`, not here"));
    Ok(())
}
