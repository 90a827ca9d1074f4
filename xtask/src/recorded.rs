//! Style violations that are still permitted. `xtask/recorded.toml` counts them, and the list may only become
//! shorter.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The violations that a check finds, by their names in the record.
pub type Findings = BTreeMap<String, Finding>;

#[derive(Debug)]
pub struct Finding {
    /// The size of the violation, or the number of times that it occurs.
    pub count: usize,
    /// The places of the violation, as the error text names them.
    pub places: Vec<String>,
}

/// A check whose violations are recorded.
pub struct Check {
    /// The name of the check's table in the record.
    pub name: &'static str,
    /// The rule that is checked, as the error text states it.
    pub rule: &'static str,
    /// Whether the record's entry with the first name permits a violation with the second name.
    pub covers: fn(&str, &str) -> bool,
    pub found: Findings,
}

/// A permitted violation.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Entry {
    /// The count of a violation that is still to be corrected.
    Count(usize),
    /// The count of a violation that may stay, with the reason.
    Reasoned { count: usize, reason: String },
}

impl Entry {
    fn count(&self) -> usize {
        let (Self::Count(count) | Self::Reasoned { count, .. }) = self;
        *count
    }
}

/// The recorded violations by check and name.
pub type Record = BTreeMap<String, BTreeMap<String, Entry>>;

const FILE: &str = "xtask/recorded.toml";
/// The largest number of places that an error text names.
const MOST_PLACES: usize = 40;
const HEAD: &str = "\
# Faults of style that `cargo xtask lint` still lets pass. The list only shrinks: `cargo xtask lint --record` writes it
# anew when something was mended. A fault that stays has a reason: `{ count = 90, reason = \"...\" }`.
";

/// Fails if a check finds a violation that is not recorded, or that is larger than recorded. Also fails if a recorded
/// violation no longer exists, or is smaller than recorded.
pub fn check(root: &Path, checks: &[Check]) -> Result<()> {
    let record = read(root)?;
    let mut wrong = Vec::new();
    for check in checks {
        let recorded = record.get(check.name).cloned().unwrap_or_default();
        wrong.extend(grown(check, &recorded).into_iter().map(|fault| format!("{}: {fault}", check.rule)));
        wrong.extend(mended(check, &recorded));
    }
    if !wrong.is_empty() {
        bail!("style:\n  {}", wrong.join("\n  "));
    }
    Ok(())
}

/// Writes the record from the present violations. If `force` is false, fails for a violation that is not recorded or
/// that is larger than recorded.
pub fn write(root: &Path, checks: &[Check], force: bool) -> Result<()> {
    let record = read(root)?;
    let empty = BTreeMap::new();
    let grown: Vec<String> =
        checks.iter().flat_map(|check| grown(check, record.get(check.name).unwrap_or(&empty))).collect();
    if !grown.is_empty() && !force {
        bail!("the record only shrinks (--force records these too):\n  {}", grown.join("\n  "));
    }
    let text = checks.iter().fold(HEAD.to_owned(), |mut text, check| {
        let _ = writeln!(text, "\n# {}.\n[{}]", check.rule, check.name);
        for (name, finding) in &check.found {
            let entry = match record.get(check.name).and_then(|entries| entries.get(name)) {
                Some(Entry::Reasoned { reason, .. }) => {
                    format!("{{ count = {}, reason = {reason:?} }}", finding.count)
                }
                _ => finding.count.to_string(),
            };
            let _ = writeln!(text, "{name:?} = {entry}");
        }
        text
    });
    std::fs::write(root.join(FILE), text).with_context(|| format!("{FILE} cannot be written"))
}

fn read(root: &Path) -> Result<Record> {
    let text = std::fs::read_to_string(root.join(FILE)).unwrap_or_default();
    toml::from_str(&text).with_context(|| FILE.to_owned())
}

/// The violations that are not recorded, or are larger than recorded.
fn grown(check: &Check, recorded: &BTreeMap<String, Entry>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, finding) in &check.found {
        let known = recorded.iter().filter(|(other, _)| (check.covers)(other, name));
        let most = known.map(|(_, entry)| entry.count()).max().unwrap_or(0);
        if finding.count > most {
            let shown = finding.places.iter().take(MOST_PLACES).map(|place| format!("\n    {place}"));
            let more = finding.places.len().saturating_sub(MOST_PLACES);
            let rest = if more == 0 { String::new() } else { format!("\n    and {more} more") };
            wrong.push(format!(
                "{name}: {}, recorded {most}{}{rest}",
                finding.count,
                shown.collect::<String>()
            ));
        }
    }
    wrong
}

/// The recorded violations that no longer exist, or are smaller than recorded.
fn mended(check: &Check, recorded: &BTreeMap<String, Entry>) -> Vec<String> {
    let mut stale = Vec::new();
    for (name, entry) in recorded {
        let left = check.found.get(name).map_or(0, |finding| finding.count);
        if left < entry.count() {
            stale.push(format!(
                "{FILE}, [{}]: {name:?} is {} there and {left} here; write: cargo xtask lint --record",
                check.name,
                entry.count()
            ));
        }
    }
    stale
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(found: &[(&str, usize)]) -> Check {
        let finding = |count| Finding { count, places: vec!["a.rs:1".to_owned()] };
        let found = found.iter().map(|(name, count)| ((*name).to_owned(), finding(*count))).collect();
        Check { name: "functions", rule: "at most 70 lines", covers: |a, b| a == b, found }
    }

    fn record(text: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("xtask")).unwrap();
        std::fs::write(root.path().join(FILE), text).unwrap();
        root
    }

    fn fault(text: &str, found: &[(&str, usize)]) -> String {
        super::check(record(text).path(), &[check(found)]).unwrap_err().to_string()
    }

    #[test]
    fn what_is_recorded_passes() {
        let root = record("[functions]\nf = 80\ng = { count = 90, reason = \"one table\" }\n");
        super::check(root.path(), &[check(&[("f", 80), ("g", 90)])]).unwrap();
    }

    #[test]
    fn what_is_new_or_larger_fails_with_its_places() {
        assert_eq!(fault("", &[("f", 80)]), "style:\n  at most 70 lines: f: 80, recorded 0\n    a.rs:1");
        let larger = fault("[functions]\nf = 80\n", &[("f", 81)]);
        assert_eq!(larger, "style:\n  at most 70 lines: f: 81, recorded 80\n    a.rs:1");
    }

    #[test]
    fn what_was_mended_is_to_be_removed_from_the_record() {
        let stale = "xtask/recorded.toml, [functions]: \"f\" is 80 there and 0 here; write: cargo xtask lint --record";
        assert_eq!(fault("[functions]\nf = 80\n", &[]), format!("style:\n  {stale}"));
        assert!(fault("[functions]\nf = 80\n", &[("f", 79)]).contains("is 80 there and 79 here"));
    }

    #[test]
    fn the_record_shrinks_and_keeps_reasons() {
        let root = record("[functions]\nf = 80\ng = { count = 90, reason = \"one table\" }\n");
        let checks = [check(&[("g", 85)])];
        write(root.path(), &checks, false).unwrap();
        super::check(root.path(), &checks).unwrap();
        let text = std::fs::read_to_string(root.path().join(FILE)).unwrap();
        assert!(text.ends_with("[functions]\n\"g\" = { count = 85, reason = \"one table\" }\n"), "{text}");
    }

    #[test]
    fn the_record_grows_by_force_alone() {
        let root = record("[functions]\nf = 80\n");
        let checks = [check(&[("f", 80), ("h", 71)])];
        let refused = write(root.path(), &checks, false).unwrap_err().to_string();
        assert!(refused.contains("h: 71, recorded 0") && !refused.contains("f: 80"), "{refused}");
        write(root.path(), &checks, true).unwrap();
        super::check(root.path(), &checks).unwrap();
    }
}
