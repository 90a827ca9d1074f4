//! The style checks, whose violations `xtask/recorded.toml` counts.

use crate::recorded::{self, Check};
use crate::source::{self, Source};
use crate::{circles, glossary, lengths, openings};
use anyhow::Result;
use std::path::Path;

/// Fails if production code has a style violation that is not recorded, or if a recorded violation has been corrected.
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

/// Writes the record of style violations from the present code. Unless `force` is true, fails if a violation is not
/// recorded or is larger than recorded.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn workspace(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let always = [
            ("crates/a/Cargo.toml", ""),
            ("python/src/lib.rs", ""),
            ("xtask/src/main.rs", ""),
            (
                "xtask/glossary.toml",
                "term = [{ term = \"barrier\", of = \"a meeting\", names = [\"turnstile\"] }]",
            ),
        ];
        for (path, text) in always.iter().chain(files) {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn every_check_fires_on_a_workspace_that_breaks_its_rule() {
        let long = format!("fn long() {{\n{}}}\n", "    step();\n".repeat(600));
        let root = workspace(&[
            ("crates/a/src/lib.rs", "//! What it is.\nmod r;\nfn turnstile() {}\n"),
            ("crates/a/src/r/mod.rs", "mod s;\nmod t;\n"),
            ("crates/a/src/r/s.rs", "use super::t;\n"),
            ("crates/a/src/r/t.rs", &format!("use super::s;\n{long}")),
        ]);
        let fault = check(root.path()).unwrap_err().to_string();
        for named in [
            "in a circle: a::r: s, t: 2, recorded 0",
            "at most 70 lines: crates/a/src/r/t.rs: long: 602, recorded 0",
            "at most 600 lines: crates/a/src/r/t.rs: 603, recorded 0",
            "The same, Of or How: a: 1, recorded 0\n    crates/a/src/lib.rs:1: What it is.",
            "(xtask/glossary.toml): a: turnstile: 1, recorded 0\n    crates/a/src/lib.rs:3: turnstile; write barrier: a meeting",
        ] {
            assert!(fault.contains(named), "{named}\n{fault}");
        }
        record(root.path(), false).unwrap_err();
        record(root.path(), true).unwrap();
        check(root.path()).unwrap();
        fs::write(root.path().join("crates/a/src/r/s.rs"), "").unwrap();
        let stale = check(root.path()).unwrap_err().to_string();
        assert!(stale.contains("[circles]: \"a::r: s, t\" is 2 there and 0 here"), "{stale}");
        record(root.path(), false).unwrap();
        check(root.path()).unwrap();
    }

    #[test]
    fn a_workspace_that_keeps_the_rules_passes() {
        let root = workspace(&[("crates/a/src/lib.rs", "//! The crate.\nfn short() {}\n")]);
        check(root.path()).unwrap();
    }

    #[test]
    fn this_workspace_is_read() {
        let root = crate::root();
        let sources = source::production(&root).unwrap();
        let paths: Vec<&str> = sources.iter().map(|source| source.path.as_str()).collect();
        for path in ["crates/engine/src/lib.rs", "crates/lab/src/scenario/mod.rs", "xtask/src/source.rs"] {
            assert!(paths.contains(&path), "{path} is not read");
        }
        assert!(!paths.iter().any(|path| path.ends_with("tests.rs")), "{paths:?}");
        assert_eq!(checks(&root, &sources).unwrap().len(), 5);
    }
}
