//! The provenance of results, shown below the title.

use super::markup::escape;
use anabranch_results::ResultSet;
use anabranch_results::digest::text_digest;
use std::collections::BTreeSet;

/// The circumstances of a run that the results do not contain.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    /// The program with its version and commit: `anabranch 0.1.0 (0123456789ab)`.
    pub program: String,
    /// The command line.
    pub command: Option<String>,
    /// The date, as `2026-11-23`.
    pub date: Option<String>,
}

/// The program, date, seeds, digest and command. Items that are not known are left out.
pub(super) fn line(set: &ResultSet, provenance: &Provenance) -> String {
    let mut parts: Vec<String> =
        [Some(&provenance.program).filter(|name| !name.is_empty()), provenance.date.as_ref()]
            .into_iter()
            .flatten()
            .map(|part| escape(part))
            .collect();
    let seeds: BTreeSet<u64> = set.runs.iter().map(|run| run.seed).collect();
    if !seeds.is_empty() {
        let all: Vec<String> = seeds.iter().map(u64::to_string).collect();
        let many = if seeds.len() == 1 { "seed" } else { "seeds" };
        parts.push(format!("{many} {}", all.join(", ")));
        parts.push(format!("digest of the results <code>{}</code>", &digest(set)[..12]));
    }
    if let Some(command) = &provenance.command {
        parts.push(format!("<code>{}</code>", escape(command)));
    }
    match parts.is_empty() {
        true => String::new(),
        false => format!("<p class=\"sub provenance\">{}</p>", parts.join(" · ")),
    }
}

/// A digest of all runs, computed from the runs' own digests in the order of the runs. The name of the results folder
/// contains another digest, that of the scenario, which is the same for results of different builds.
fn digest(set: &ResultSet) -> String {
    let all: Vec<&str> = set.runs.iter().map(|run| run.digest.as_str()).collect();
    text_digest(&all.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::two_schemes;

    #[test]
    fn what_is_known_stands_there_and_nothing_else() {
        let set = two_schemes();
        let known = Provenance {
            program: "anabranch 0.1.0".into(),
            command: Some("anabranch run a<b.toml".into()),
            date: Some("2026-11-23".into()),
        };
        let shown = line(&set, &known);
        for part in [
            "anabranch 0.1.0 · 2026-11-23 · seeds 1, 2 · digest of the results <code>",
            "<code>anabranch run a&lt;b.toml</code>",
        ] {
            assert!(shown.contains(part), "{shown}");
        }
        let alone = line(&set, &Provenance::default());
        assert!(alone.starts_with("<p class=\"sub provenance\">seeds 1, 2 · digest of"), "{alone}");
        let mut other = set.clone();
        other.runs[0].digest = "another".into();
        assert_ne!(alone, line(&other, &Provenance::default()));
        assert_eq!(line(&ResultSet::default(), &Provenance::default()), "");
    }
}
