//! The glossary (`xtask/glossary.toml`): words that are not terms of the field, and the terms that replace them.

use crate::comments;
use crate::names::{self, Name};
use crate::recorded::{Finding, Findings};
use crate::source::Source;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

const FILE: &str = "xtask/glossary.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Glossary {
    term: Vec<Term>,
}

/// A term of the field, and the words that it replaces.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Term {
    /// The noun or verb to write.
    term: String,
    /// The thing that the term names.
    of: String,
    /// Identifiers that may not be declared.
    #[serde(default)]
    names: Vec<String>,
    /// Identifiers that may not be declared as modules, and so as files.
    #[serde(default)]
    modules: Vec<String>,
    /// Words and phrases that may not occur in comments. They are in lower case here, and comments are searched for
    /// them without regard to case.
    #[serde(default)]
    comments: Vec<String>,
    /// The crates in which the words have this meaning. Empty for all crates.
    #[serde(default)]
    crates: Vec<String>,
    /// The reason why the words mislead, if the term alone does not make it clear.
    reason: Option<String>,
}

impl Term {
    fn is_for(&self, package: &str) -> bool {
        self.crates.is_empty() || self.crates.iter().any(|name| name == package)
    }

    fn bans(&self, name: &Name) -> bool {
        self.names.contains(&name.text) || (name.is_module && self.modules.contains(&name.text))
    }

    fn place(&self, at: &str, line: usize, word: &str) -> String {
        let reason = self.reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
        format!("{at}:{line}: {word}; write {}: {}{reason}", self.term, self.of)
    }
}

/// The places of banned words, by crate and word.
pub fn findings(root: &Path, sources: &[Source]) -> Result<Findings> {
    let text = std::fs::read_to_string(root.join(FILE)).context(FILE)?;
    let glossary: Glossary = toml::from_str(&text).context(FILE)?;
    let packages: BTreeSet<&str> = sources.iter().map(|source| source.package.as_str()).collect();
    let mut crates = glossary.term.iter().flat_map(|term| &term.crates);
    if let Some(strange) = crates.find(|name| !packages.contains(name.as_str())) {
        bail!("{FILE}: there is no crate {strange:?}");
    }
    Ok(banned(&glossary, sources))
}

fn banned(glossary: &Glossary, sources: &[Source]) -> Findings {
    let mut found = Findings::new();
    for source in sources {
        let names = names::declared(source);
        let comments = comments::lines(&source.text);
        for term in glossary.term.iter().filter(|term| term.is_for(&source.package)) {
            let mut add = |word: &str, line| {
                let finding = found
                    .entry(format!("{}: {word}", source.package))
                    .or_insert(Finding { count: 0, places: Vec::new() });
                finding.count += 1;
                finding.places.push(term.place(&source.path, line, word));
            };
            for name in names.iter().filter(|name| term.bans(name)) {
                add(&name.text, name.line);
            }
            for line in &comments {
                let lower = line.text.to_lowercase();
                for word in &term.comments {
                    for _ in 0..whole_words(&lower, word) {
                        add(word, line.number);
                    }
                }
            }
        }
    }
    found
}

/// The number of times that `word` occurs in `text` as a whole word.
fn whole_words(text: &str, word: &str) -> usize {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let stands_alone =
        |at: usize| !text[..at].ends_with(is_letter) && !text[at + word.len()..].starts_with(is_letter);
    text.match_indices(word).filter(|(at, _)| stands_alone(*at)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sources: &[Source]) -> Vec<String> {
        let glossary = r#"
            [[term]]
            term = "RunState"
            of = "the state of a run"
            names = ["Course"]
            comments = ["course"]
            reason = "a course is of lectures"
            [[term]]
            term = "barrier"
            of = "the point at which threads meet"
            modules = ["turnstile"]
            crates = ["engine"]
        "#;
        let found = banned(&toml::from_str(glossary).unwrap(), sources);
        found
            .into_iter()
            .map(|(name, found)| format!("{name} = {}; {}", found.count, found.places.join("; ")))
            .collect()
    }

    fn source(package: &str, module: &str, text: &str) -> Source {
        Source::parse(package, &format!("{module}.rs"), &[module], text).unwrap()
    }

    #[test]
    fn banned_names_and_words_are_found_with_their_replacement() {
        let text = "/// Of course; the recourse of courses.\nstruct Course; // Course, course\nfn f() { let turnstile = 1; }";
        let write = "write RunState: the state of a run (a course is of lectures)";
        let expected = [
            format!("engine: Course = 1; run.rs:2: Course; {write}"),
            format!(
                "engine: course = 3; run.rs:1: course; {write}; run.rs:2: course; {write}; run.rs:2: course; {write}"
            ),
        ];
        assert_eq!(found(&[source("engine", "run", text)]), expected);
    }

    #[test]
    fn other_crates_may_use_the_word() {
        let write = "write barrier: the point at which threads meet";
        let expected = [format!("engine: turnstile = 1; engine.rs:1: turnstile; {write}")];
        assert_eq!(found(&[source("engine", "engine", "mod turnstile; fn turnstile() {}")]), expected);
        assert_eq!(found(&[source("cli", "gates", "mod turnstile {}")]), [""; 0]);
    }
}
