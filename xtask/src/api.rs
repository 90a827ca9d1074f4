//! `cargo xtask api`: compares the public interface of the libraries with the one recorded in `xtask/api`.
//!
//! The lines of a record are sorted, so that its diff shows each change of the interface.

mod items;
mod paths;

use crate::shares::{crates, read};
use crate::source::{package, without_tests};
use anyhow::{Result, bail};
use paths::Libraries;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The Rust libraries whose interface is recorded, because programs outside this workspace depend on them.
const RECORDED: [&str; 2] = ["proto", "sim"];
const HEADER: &str = "crates/capi/include/anabranch.h";
const FOLDER: &str = "xtask/api";

/// Fails if an interface differs from the record.
pub fn check(root: &Path) -> Result<()> {
    let mut changed = Vec::new();
    for (name, lines) in interfaces(root)? {
        let recorded = fs::read_to_string(root.join(FOLDER).join(&name)).unwrap_or_default();
        changed.extend(differences(&name, &recorded, &lines));
    }
    if !changed.is_empty() {
        bail!(
            "the public interface changed. If that is meant, write: cargo xtask api --record, and name it in CHANGELOG.md\n  {}",
            changed.join("\n  ")
        );
    }
    Ok(())
}

/// Writes the records from the present interfaces.
pub fn record(root: &Path) -> Result<()> {
    fs::create_dir_all(root.join(FOLDER))?;
    for (name, lines) in interfaces(root)? {
        let text: String = lines.into_iter().map(|line| line + "\n").collect();
        fs::write(root.join(FOLDER).join(name), text)?;
    }
    Ok(())
}

/// The lines of each record, by the name of the record's file.
fn interfaces(root: &Path) -> Result<Vec<(String, BTreeSet<String>)>> {
    let mut libraries = Libraries::default();
    for folder in crates(root)? {
        libraries.add(without_tests(package(root, &folder)?))?;
    }
    let mut all: Vec<_> = RECORDED.map(|name| (format!("{name}.txt"), libraries.interface(name))).into();
    all.push(("c.txt".to_owned(), declarations(&read(&root.join(HEADER))?)));
    Ok(all)
}

fn differences(name: &str, recorded: &str, lines: &BTreeSet<String>) -> Vec<String> {
    let recorded: BTreeSet<String> = recorded.lines().map(str::to_owned).collect();
    let gone = recorded.difference(lines).map(|line| format!("{name}: - {line}"));
    let new = lines.difference(&recorded).map(|line| format!("{name}: + {line}"));
    gone.chain(new).collect()
}

/// The declarations and macros of a C header, without comments and line breaks.
fn declarations(header: &str) -> BTreeSet<String> {
    let mut code = String::new();
    let mut rest = header;
    while let Some((before, comment)) = rest.split_once("/*") {
        code += before;
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    code += rest;
    let mut lines = BTreeSet::new();
    let mut declaration = String::new();
    for line in code.lines() {
        if line.starts_with("#define") {
            // A macro without a value is left out, because it only guards the header against a second inclusion.
            lines.extend((line.split_whitespace().count() > 2).then(|| line.to_owned()));
        } else if !line.starts_with('#') && !line.starts_with("extern \"C\"") && line.trim() != "}" {
            declaration = format!("{declaration} {}", line.trim()).trim().to_owned();
            if declaration.ends_with(';') {
                lines.insert(std::mem::take(&mut declaration));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    fn interface(files: &[(&str, &[&str], &str)]) -> Vec<String> {
        let mut libraries = Libraries::default();
        for (package, module, text) in files {
            libraries.add(vec![Source::parse(package, "lib.rs", module, text).unwrap()]).unwrap();
        }
        libraries.interface("a").into_iter().collect()
    }

    #[test]
    fn public_items_are_listed_and_private_ones_are_not() {
        let text = "
            pub mod open; mod hidden; mod unused;
            pub use hidden::Kept as Shown;
            pub use other::Far;
            pub use other as whole;
            pub(crate) struct Own;
            /// A structure.
            #[derive(Debug, Clone)] pub struct Pair<T> { /** A field. */ pub left: Vec< T >, right: u8 }
            impl<T> Pair<T> { pub fn swap(&mut self) {} fn own(&self) {} }
            impl<T> Default for Pair<T> { fn default() -> Self { todo!() } }
            wrapped! { pub enum Kind or Registered { #[kind(\"x\")] One { size: u8 }, Two(u8) } }
        ";
        let found = interface(&[
            ("a", &[], text),
            (
                "a",
                &["open"],
                "pub const MOST: u8 = 3; pub trait Ends { fn end(&self); fn more(&self) -> u8 { 1 } }",
            ),
            ("a", &["hidden"], "pub struct Kept(pub u8, u8); pub struct NotReexported;"),
            ("a", &["unused"], "pub fn unused() {}"),
            ("other", &[], "mod deep; pub use deep::Far; pub fn near() {}"),
            ("other", &["deep"], "pub type Far = u64;"),
        ]);
        let expected = [
            "Far: type = u64",
            "Kind: enum",
            "Kind::One: variant { size: u8 }",
            "Kind::Two: variant (u8)",
            "Pair.left: Vec< T >",
            "Pair: derives Clone, Debug",
            "Pair: impl<T> Default for Pair<T>",
            "Pair: struct <T> { private fields }",
            "Pair::swap: fn swap(&mut self)",
            "Shown.0: u8",
            "Shown: struct { private fields }",
            "open::Ends: trait",
            "open::Ends::end: required fn end(&self)",
            "open::Ends::more: provided fn more(&self) -> u8",
            "open::MOST: const u8",
            "whole: crate other",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_change_is_named_by_its_line() {
        let now = BTreeSet::from(["b: fn b()".to_owned(), "c: fn c(u8)".to_owned()]);
        let found = differences("x.txt", "a: fn a()\nb: fn b()\nc: fn c()\n", &now);
        assert_eq!(found, ["x.txt: - a: fn a()", "x.txt: - c: fn c()", "x.txt: + c: fn c(u8)"]);
    }

    #[test]
    fn declarations_of_a_header_are_lines() {
        let header = "/* One. */\n#define X_H\n#define N 1\n#include <x.h>\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\
                      int f(int a, /* b */\n      int b);\ntypedef struct s s;\n}\n";
        let found: Vec<String> = declarations(header).into_iter().collect();
        assert_eq!(found, ["#define N 1", "int f(int a, int b);", "typedef struct s s;"]);
    }
}
