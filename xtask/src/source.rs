//! The parsed Rust files of the workspace, each with its module.

use crate::shares::{crates, name, read, sources};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::Path;
use syn::{Attribute, Item, Meta};

/// A Rust file of a crate's folder `src`.
pub struct Source {
    /// The name of the crate's folder.
    pub package: String,
    /// The path relative to the root of the workspace.
    pub path: String,
    /// The path of the file's module relative to the root of the crate.
    pub module: Vec<String>,
    pub text: String,
    pub file: syn::File,
}

impl Source {
    pub fn parse(package: &str, path: &str, module: &[&str], text: &str) -> Result<Self> {
        Ok(Self {
            package: package.to_owned(),
            path: path.to_owned(),
            module: module.iter().map(|part| (*part).to_owned()).collect(),
            text: text.to_owned(),
            file: syn::parse_file(text).with_context(|| format!("{path} is no Rust"))?,
        })
    }
}

/// The production code of the crates, of the Python package and of xtask.
pub fn production(root: &Path) -> Result<Vec<Source>> {
    let mut folders = crates(root)?;
    folders.extend(["python", "xtask"].map(|folder| root.join(folder)));
    let mut all = Vec::new();
    for folder in folders {
        all.extend(without_tests(package(root, &folder)?));
    }
    Ok(all)
}

/// Every file of the crate in `folder`, including test files.
pub fn package(root: &Path, folder: &Path) -> Result<Vec<Source>> {
    let src = folder.join("src");
    let mut files = Vec::new();
    for file in sources(&src)? {
        let below = file.strip_prefix(&src)?.with_extension("");
        let parts: Vec<String> = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let module: Vec<&str> = parts.iter().map(String::as_str).collect();
        let module = match module.as_slice() {
            ["lib" | "main"] => &[],
            [above @ .., "mod"] => above,
            all => all,
        };
        let path = file.strip_prefix(root)?.to_string_lossy().into_owned();
        files.push(Source::parse(&name(folder), &path, module, &read(&file)?)?);
    }
    Ok(files)
}

/// The files of a crate, except files of modules under `#[cfg(test)]`.
pub fn without_tests(files: Vec<Source>) -> Vec<Source> {
    let mut tests = BTreeSet::new();
    for source in &files {
        for item in &source.file.items {
            if let Item::Mod(item) = item
                && item.content.is_none()
                && for_tests(&item.attrs)
            {
                let named = path_of(&item.attrs).unwrap_or_else(|| item.ident.to_string());
                let folder = if item.ident == named { source.module.as_slice() } else { above(source) };
                tests.insert([folder, &[named]].concat());
            }
        }
    }
    let is_test =
        |source: &Source| (1..=source.module.len()).any(|length| tests.contains(&source.module[..length]));
    files.into_iter().filter(|source| !is_test(source)).collect()
}

/// The module that corresponds to the file's folder. Paths in `#[path]` are relative to it.
fn above(source: &Source) -> &[String] {
    let own = source.module.as_slice();
    if source.path.ends_with("/mod.rs") { own } else { &own[..own.len().saturating_sub(1)] }
}

/// The file that `#[path]` names, without its extension.
fn path_of(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => {
                Some(text.value().trim_end_matches(".rs").to_owned())
            }
            _ => None,
        },
        _ => None,
    })
}

/// Whether an item is for tests only.
pub fn for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string() == "test",
        Meta::Path(path) => path.is_ident("test"),
        _ => false,
    })
}

/// The attributes of an item. Empty for kinds of items that are not examined for `#[cfg(test)]`.
pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(files: &[(&str, &[&str], &str)]) -> Vec<String> {
        let files = files.iter().map(|(path, module, text)| Source::parse("a", path, module, text).unwrap());
        without_tests(files.collect()).into_iter().map(|source| source.path).collect()
    }

    #[test]
    fn modules_for_tests_are_left_out_wherever_their_files_are() {
        let files = [
            ("src/lib.rs", &[][..], "mod a; #[cfg(test)] mod testing;"),
            ("src/testing/deep.rs", &["testing", "deep"], ""),
            ("src/a/mod.rs", &["a"], "mod b; #[cfg(test)] mod tests;"),
            ("src/a/tests.rs", &["a", "tests"], ""),
            ("src/a/b.rs", &["a", "b"], "#[cfg(test)] #[path = \"b_tests.rs\"] mod tests;"),
            ("src/a/b_tests.rs", &["a", "b_tests"], ""),
        ];
        assert_eq!(left(&files), ["src/lib.rs", "src/a/mod.rs", "src/a/b.rs"]);
    }
}
