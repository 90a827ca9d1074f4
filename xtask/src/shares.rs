//! The sizes of the crates: no crate may be so large that it should be split.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Fails if a crate under `crates` has more than a third of all source lines there. Tests beside `src` are not
/// counted.
pub fn check(root: &Path) -> Result<()> {
    let mut lines = Vec::new();
    for folder in crates(root)? {
        let mut own = 0;
        for file in sources(&folder.join("src"))? {
            own += read(&file)?.lines().count();
        }
        lines.push((name(&folder), own));
    }
    let wrong = violations(&lines);
    if !wrong.is_empty() {
        bail!("shares of the crates:\n  {}", wrong.join("\n  "));
    }
    Ok(())
}

/// The folders of the crates, sorted by name.
pub fn crates(root: &Path) -> Result<Vec<PathBuf>> {
    let folders = entries(&root.join("crates"))?;
    Ok(folders.into_iter().filter(|folder| folder.join("Cargo.toml").exists()).collect())
}

/// Every source file below `folder`, sorted by name.
pub fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() {
            files.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

pub fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))
}

pub fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let listed = std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let listed = listed.with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut paths: Vec<PathBuf> = listed.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

fn violations(lines: &[(String, usize)]) -> Vec<String> {
    let all: usize = lines.iter().map(|(_, own)| own).sum();
    let large = lines.iter().filter(|(_, own)| 3 * own > all);
    let said = |(name, own): &(String, usize)| {
        format!("crates/{name} has {own} of {all} lines, more than a third; make it two crates")
    };
    large.map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_third_is_found() {
        let lines = |of: [usize; 4]| -> Vec<(String, usize)> {
            ["a", "b", "c", "d"].map(str::to_owned).into_iter().zip(of).collect()
        };
        assert_eq!(violations(&lines([100, 100, 50, 50])), Vec::<String>::new());
        let found = violations(&lines([101, 100, 50, 50]));
        assert_eq!(found, ["crates/a has 101 of 301 lines, more than a third; make it two crates"]);
    }

    #[test]
    fn this_workspace_is_read() {
        let folders = crates(&crate::root()).unwrap();
        let names: Vec<String> = folders.iter().map(|folder| name(folder)).collect();
        assert!(names.contains(&"base".to_owned()), "{names:?}");
        assert!(folders.iter().all(|folder| !sources(&folder.join("src")).unwrap().is_empty()));
    }
}
