//! Doc lines that begin with a word such as `What` or `Of`. Such a line has no subject, so a reader has to read it
//! twice.

use crate::comments;
use crate::recorded::{Finding, Findings};
use crate::source::Source;
use std::collections::BTreeMap;

const OPENINGS: [&str; 5] = ["What", "Those", "The same", "Of", "How"];

/// The doc lines that begin with one of [`OPENINGS`], by crate.
pub fn findings(sources: &[Source]) -> Findings {
    let mut found = Findings::new();
    for source in sources {
        for line in comments::lines(&source.text) {
            if line.is_doc && opens_so(line.text) {
                let finding =
                    found.entry(source.package.clone()).or_insert(Finding { count: 0, places: Vec::new() });
                finding.count += 1;
                finding.places.push(format!("{}:{}: {}", source.path, line.number, line.text));
            }
        }
    }
    found
}

/// A table with the share of doc lines that begin with one of [`OPENINGS`], in each crate and in all crates together.
pub fn table(sources: &[Source]) -> String {
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for source in sources {
        let count = counts.entry(&source.package).or_default();
        for line in comments::lines(&source.text).iter().filter(|line| line.is_doc) {
            count[0] += 1;
            count[1] += usize::from(opens_so(line.text));
        }
    }
    let all = counts.values().fold([0, 0], |all, count| [all[0] + count[0], all[1] + count[1]]);
    let row = |name: &str, [lines, such]: [usize; 2]| {
        format!("{name:10} {lines:6} {such:6} {:6.2} %\n", 100.0 * such as f64 / lines.max(1) as f64)
    };
    let rows: String = counts.iter().map(|(name, count)| row(name, *count)).collect();
    format!("doc lines, and those that begin with {}:\n{rows}{}", OPENINGS.join(", "), row("all", all))
}

fn opens_so(text: &str) -> bool {
    let behind = |opening: &&str| text.strip_prefix(*opening);
    OPENINGS
        .iter()
        .filter_map(behind)
        .any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_a_subject_are_counted_by_crate() {
        let text = "//! What this is.\n/// Whatever.\n/// The same, later.\n// How.\n/// Offers.\n/// Of a port.\nfn f() {}";
        let source = |package, text| Source::parse(package, "a.rs", &[], text).unwrap();
        let sources = [source("a", text), source("b", "/// The queue.\nfn g() {}")];
        let found = findings(&sources);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["a"]);
        let places = ["a.rs:1: What this is.", "a.rs:3: The same, later.", "a.rs:6: Of a port."];
        assert_eq!((found["a"].count, &*found["a"].places), (3, &places.map(str::to_owned)[..]));
        assert!(table(&sources).contains("a               5      3  60.00 %"), "{}", table(&sources));
    }
}
