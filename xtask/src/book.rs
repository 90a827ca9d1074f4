//! The book as a site.

use anyhow::{Context, Result, bail};
use mdbook_driver::MDBook;
use std::fs;
use std::path::{Path, PathBuf};

/// Builds `docs/` into `target/book`, with the playground if `target/playground.html` exists. Returns the path of the
/// first page. Fails if a page names a file that is not in the site.
pub fn build(root: &Path) -> Result<PathBuf> {
    MDBook::load(root.join("docs"))?.build()?;
    let site = root.join("target/book");
    let playground = root.join("target/playground.html");
    if playground.exists() {
        fs::copy(&playground, site.join("playground.html"))?;
    }
    let mut dead = Vec::new();
    let pages = pages(&site)?;
    for page in &pages {
        let text = fs::read_to_string(page)?;
        let beside = page.parent().unwrap_or(&site);
        for link in links(&text).filter(|link| !beside.join(link).exists()) {
            dead.push(format!("{}: {link}", page.strip_prefix(&site).unwrap_or(page).display()));
        }
    }
    if !dead.is_empty() {
        bail!("{} links of the site lead nowhere:\n  {}", dead.len(), dead.join("\n  "));
    }
    println!("{} pages, all links within the site lead somewhere", pages.len());
    Ok(site.join("index.html"))
}

fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        match path.is_dir() {
            true => found.extend(self::pages(&path)?),
            // The playground has no links within the site. Its script contains text that looks like links, so the
            // page is skipped.
            false if path.ends_with("playground.html") => {}
            false if path.extension().is_some_and(|end| end == "html") => found.push(path),
            false => {}
        }
    }
    Ok(found)
}

/// The files of the site that a page names, without anchors. Links to other sites are left out.
fn links(page: &str) -> impl Iterator<Item = &str> {
    ["href=\"", "src=\""]
        .into_iter()
        .flat_map(move |before| {
            page.split(before).skip(1).filter_map(|rest| rest.split(['"', '#', '?']).next())
        })
        .filter(|link| !link.is_empty() && !link.contains(':'))
}
