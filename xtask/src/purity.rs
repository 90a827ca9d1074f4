//! Checks that a crate is pure: when the crate is built for wasm, it uses nothing of its environment.

use crate::{cargo, step};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use wasmparser::{KnownCustom, Name, Operator, Parser, Payload, TypeRef};

const TARGET: &str = "wasm32-unknown-unknown";

/// Modules of the standard library that use the environment. On this target they are stubs that fail when they are
/// called, so they cause no import that a check of imports could find.
const OUTSIDE: &[&str] = &[
    "std::env::",
    "std::fs::",
    "std::hash::random::",
    "std::io::stdio::",
    "std::net::",
    "std::os::",
    "std::process::",
    "std::sys::",
    "std::thread::",
    "std::time::",
];

/// Builds `package` for wasm. Fails if the module has an import, or if a function that the package calls, directly or
/// through others, uses a part of the standard library that needs the environment. The build uses a separate folder
/// under `target`.
pub fn check(root: &Path, target: &Path, package: &str) -> Result<()> {
    // The library is built as a separate module, without optimisation and with dead code kept, so that the module
    // contains every function that is not generic. A program that calls the library would contain only the functions
    // that it calls.
    let folder = target.join("xtask");
    let mut build = cargo(root);
    build.args(["rustc", "--package", package, "--lib", "--crate-type", "cdylib", "--target", TARGET]);
    // `own_level` is needed because the workspace sets a level for this package, which would override the level of the
    // profile. With optimisation, functions that nothing in the module calls would be left out.
    let own_level = format!("profile.dev.package.{package}.opt-level=0");
    build.args(["--config", "profile.dev.opt-level=0", "--config", &own_level]);
    build.arg("--target-dir").arg(&folder);
    build.args(["--", "-C", "link-dead-code", "-C", "link-arg=--no-gc-sections"]);
    step(&mut build).with_context(|| {
        format!("{package} must build for {TARGET} (without the target: rustup target add {TARGET})")
    })?;
    let file = format!("{}.wasm", package.replace('-', "_"));
    let path = folder.join(TARGET).join("debug").join(file);
    let module = std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let wrong = violations(&module, &format!("{}::", package.replace('-', "_")))?;
    if !wrong.is_empty() {
        bail!("{package} is not pure:\n  {}", wrong.join("\n  "));
    }
    Ok(())
}

/// The violations in `module`, which must contain functions whose path contains `own`.
fn violations(module: &[u8], own: &str) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let mut imported_functions = 0;
    let mut calls = Vec::new();
    let mut names = BTreeMap::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import?;
                    wrong.push(format!("it imports {}.{}", import.module, import.name));
                    imported_functions += u32::from(matches!(import.ty, TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionEntry(body) => {
                let mut callees = Vec::new();
                for operator in body.get_operators_reader()? {
                    if let Operator::Call { function_index } = operator? {
                        callees.push(function_index);
                    }
                }
                calls.push(callees);
            }
            Payload::CustomSection(section) => {
                if let KnownCustom::Name(parts) = section.as_known() {
                    for part in parts {
                        if let Name::Function(map) = part? {
                            for naming in map {
                                let naming = naming?;
                                let path = format!("{:#}", rustc_demangle::demangle(naming.name));
                                names.insert(naming.index, path);
                            }
                        }
                    }
                }
            }
            _ => {}
        }
    }
    if !names.values().any(|name| name.contains(own)) {
        wrong.push(format!("no function of {own} is in the module: nothing was checked"));
    }
    let calls: BTreeMap<u32, Vec<u32>> = (imported_functions..).zip(calls).collect();
    for index in reached(&calls, &names, own) {
        let (Some(caller), Some(callees)) = (names.get(&index), calls.get(&index)) else { continue };
        for callee in callees.iter().filter_map(|callee| names.get(callee)).filter(|name| reaches_out(name)) {
            wrong.push(format!("{caller} calls {callee}"));
        }
    }
    Ok(wrong)
}

/// The functions of the package and all functions that they call, except the standard library. The module also
/// contains functions of dependencies that are never called.
fn reached(calls: &BTreeMap<u32, Vec<u32>>, names: &BTreeMap<u32, String>, own: &str) -> BTreeSet<u32> {
    let mut rest: Vec<u32> =
        names.iter().filter(|(_, name)| name.contains(own)).map(|(index, _)| *index).collect();
    let mut reached = BTreeSet::new();
    while let Some(index) = rest.pop() {
        let stays = names.get(&index).is_some_and(|name| !is_std(name));
        if stays && reached.insert(index) {
            rest.extend(calls.get(&index).into_iter().flatten());
        }
    }
    reached
}

/// The path of a function, or of the type to which it belongs: `<std::fs::File as Read>::read` is in `std::fs`.
fn module_path(name: &str) -> &str {
    name.trim_start_matches(['<', '&'])
}

/// Whether a function belongs to the crate `std`, or is a shim by which the compiler calls `std`.
fn is_std(name: &str) -> bool {
    module_path(name).starts_with("std::") || module_path(name).starts_with("__rustc::")
}

fn reaches_out(name: &str) -> bool {
    OUTSIDE.iter().any(|part| module_path(name).starts_with(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(id: u8, content: &[u8]) -> Vec<u8> {
        [&[id, content.len() as u8], content].concat()
    }

    fn text(text: &str) -> Vec<u8> {
        [&[text.len() as u8], text.as_bytes()].concat()
    }

    /// A module with `imports` imported functions, followed by `functions` without arguments or results. Each element
    /// of `functions` has the function's name and the function that it calls.
    fn module(imports: &[(&str, &str)], functions: &[(&str, Option<u8>)]) -> Vec<u8> {
        let count = functions.len() as u8;
        let imported: Vec<u8> =
            imports.iter().flat_map(|(from, name)| [text(from), text(name), vec![0, 0]].concat()).collect();
        let bodies: Vec<u8> = functions
            .iter()
            .flat_map(|(_, callee)| match callee {
                Some(callee) => vec![4, 0, 0x10, *callee, 0x0b],
                None => vec![2, 0, 0x0b],
            })
            .collect();
        let names: Vec<u8> = functions
            .iter()
            .enumerate()
            .flat_map(|(i, (name, _))| [vec![(imports.len() + i) as u8], text(name)].concat())
            .collect();
        let names = section(1, &[vec![count], names].concat());
        [
            b"\0asm\x01\0\0\0".to_vec(),
            section(1, &[1, 0x60, 0, 0]),
            section(2, &[vec![imports.len() as u8], imported].concat()),
            section(3, &[vec![count], vec![0; functions.len()]].concat()),
            section(10, &[vec![count], bodies].concat()),
            section(0, &[text("name"), names].concat()),
        ]
        .concat()
    }

    fn wrong(imports: &[(&str, &str)], functions: &[(&str, Option<u8>)]) -> Vec<String> {
        violations(&module(imports, functions), "p::").unwrap()
    }

    #[test]
    fn a_module_that_keeps_to_itself_passes() {
        assert_eq!(wrong(&[], &[("p::step", Some(1)), ("core::fmt::write", None)]), Vec::<String>::new());
    }

    #[test]
    fn an_import_is_found() {
        assert_eq!(wrong(&[("env", "clock")], &[("p::step", None)]), ["it imports env.clock"]);
    }

    #[test]
    fn a_call_of_the_clock_is_found_behind_imports_too() {
        let functions = [("p::step", Some(2)), ("std::time::Instant::now", None)];
        let found = wrong(&[("env", "clock")], &functions);
        assert_eq!(found, ["it imports env.clock", "p::step calls std::time::Instant::now"]);
    }

    #[test]
    fn what_the_standard_library_does_for_itself_is_its_own_affair() {
        let functions = [("p::step", None), ("std::panicking::hook", Some(2)), ("std::env::var", None)];
        assert_eq!(wrong(&[], &functions), Vec::<String>::new());
    }

    #[test]
    fn a_call_through_a_dependency_is_found_and_what_nobody_calls_is_not() {
        let clock = "std::time::Instant::now";
        let functions =
            [("p::step", Some(1)), ("q::elapsed", Some(2)), (clock, None), ("q::unused", Some(2))];
        assert_eq!(wrong(&[], &functions), [format!("q::elapsed calls {clock}")]);
    }

    #[test]
    fn a_module_without_the_crate_in_it_proves_nothing() {
        assert!(wrong(&[], &[("q::step", None)])[0].contains("nothing was checked"));
    }

    #[test]
    fn broken_bytes_are_an_error() {
        assert!(violations(b"\0asm\x01\0\0\0\x02\x7f", "p::").is_err());
    }
}
