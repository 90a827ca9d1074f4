//! The checks of style, whose faults `xtask/recorded.toml` counts.

use crate::recorded::{self, Check};
use crate::source::{self, Source};
use crate::{circles, glossary, lengths, openings};
use anyhow::Result;
use std::path::Path;

/// Fails when production code has a fault of style that is not recorded.
///
/// # Errors
/// Also when something recorded was mended and is still in the record.
pub fn check(root: &Path) -> Result<()> {
    let sources = source::production(root)?;
    print!("{}", openings::table(&sources));
    let checks = checks(root, &sources)?;
    recorded::check(root, &checks)?;
    for check in &checks {
        let all: usize = check.found.values().map(|finding| finding.count).sum();
        println!("style: {}: {} recorded, {all} in all", check.name, check.found.len());
    }
    Ok(())
}

/// Writes the record of faults anew.
///
/// # Errors
/// When something would be added to it, unless `force`.
pub fn record(root: &Path, force: bool) -> Result<()> {
    let sources = source::production(root)?;
    recorded::write(root, &checks(root, &sources)?, force)
}

fn checks(root: &Path, sources: &[Source]) -> Result<Vec<Check>> {
    let same = |recorded: &str, found: &str| recorded == found;
    Ok(vec![
        Check {
            name: "circles",
            rule: "Modules of a folder do not use each other in a circle",
            covers: circles::covers,
            found: circles::findings(sources),
        },
        Check {
            name: "functions",
            rule: "A function has at most 70 lines",
            covers: same,
            found: lengths::functions(sources),
        },
        Check {
            name: "files",
            rule: "A file has at most 600 lines",
            covers: same,
            found: lengths::files(sources),
        },
        Check {
            name: "openings",
            rule: "Doc lines do not begin with What, Those, The same, Of or How",
            covers: same,
            found: openings::findings(sources),
        },
        Check {
            name: "glossary",
            rule: "Names and comments keep to the field's terms (xtask/glossary.toml)",
            covers: same,
            found: glossary::findings(root, sources)?,
        },
    ])
}
