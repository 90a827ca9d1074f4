//! Limits on the sizes of files, for the sake of readers and of clones. Stricter limits apply to the lengths of files
//! of production code (see `lengths`).

use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

const MAX_BYTES: u64 = 600_000;
const MAX_LINES: usize = 900;

/// Fails if a file that git tracks is too large, or if a source file under `crates` is too long.
pub fn check(root: &Path) -> Result<()> {
    let mut wrong = Vec::new();
    for path in tracked(root)? {
        let file = root.join(&path);
        // Git still lists a deleted file whose removal has not been staged.
        let Ok(about) = file.metadata() else { continue };
        let lines = if is_source(&path) {
            std::fs::read_to_string(&file).with_context(|| format!("{path} is not text"))?.lines().count()
        } else {
            0
        };
        wrong.extend(violation(&path, about.len(), lines));
    }
    if !wrong.is_empty() {
        bail!("sizes of files:\n  {}", wrong.join("\n  "));
    }
    Ok(())
}

fn tracked(root: &Path) -> Result<Vec<String>> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output();
    let listed = listed.context("git did not start: the sizes of files are checked on what it tracks")?;
    if !listed.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&listed.stderr).trim());
    }
    let names = String::from_utf8(listed.stdout).context("a file's name is not UTF-8")?;
    let names: Vec<String> = names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if names.is_empty() {
        bail!("git tracks no file here");
    }
    Ok(names)
}

fn is_source(path: &str) -> bool {
    path.starts_with("crates/") && path.ends_with(".rs")
}

fn violation(path: &str, bytes: u64, lines: usize) -> Option<String> {
    if bytes > MAX_BYTES {
        return Some(format!("{path} has {bytes} bytes; at most {MAX_BYTES} belong in the repository"));
    }
    (lines >= MAX_LINES).then(|| format!("{path} has {lines} lines; make it two files below {MAX_LINES}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_and_long_files_are_found() {
        assert_eq!(violation("crates/sim/src/run.rs", 30_000, 899), None);
        assert!(violation("crates/sim/src/run.rs", 30_000, 900).unwrap().contains("two files"));
        assert!(violation("examples/trace.csv", 600_001, 0).unwrap().contains("600001 bytes"));
    }

    #[test]
    fn this_repository_is_read() {
        let root = crate::root();
        if !root.join(".git").exists() {
            println!("skipped: this is no git checkout");
            return;
        }
        let names = tracked(&root).unwrap();
        assert!(names.iter().any(|name| is_source(name)), "{names:?}");
    }
}
