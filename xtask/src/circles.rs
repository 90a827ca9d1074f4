//! Checks that modules have no circular dependencies, so that each module can be read after the modules that it uses.
//!
//! The check covers every folder of a crate. A use of `crate::a::b::X` in `crate::a::c` is an edge from `c` to `b` in
//! the folder `a`, however deep in `b` and `c` the item and its use are. A module and its submodules count as one,
//! because a parent re-exports items of its children and children use items of their parent. A re-exported name
//! counts as a name of the module that defines it. Test code may use anything.

mod modules;

use crate::recorded::{Finding, Findings};
use crate::source::Source;
use modules::Graph;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The circles in the folders of modules, each with the steps of the shortest path from its first module back to
/// itself.
pub fn findings(sources: &[Source]) -> Findings {
    let mut packages: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in sources {
        packages.entry(&source.package).or_default().push(source);
    }
    let mut found = Findings::new();
    for (package, sources) in packages {
        for (folder, graph) in &modules::folders(&sources) {
            let room = [&[package.to_owned()], folder.as_slice()].concat().join("::");
            for circle in circles(graph) {
                let names: Vec<&str> = circle.iter().copied().collect();
                found.insert(
                    format!("{room}: {}", names.join(", ")),
                    Finding { count: names.len(), places: shortest(graph, names[0]) },
                );
            }
        }
    }
    found
}

/// Whether the circle `found` is the `recorded` one or a part of it.
pub fn covers(recorded: &str, found: &str) -> bool {
    let parts = |circle: &str| -> Option<(String, BTreeSet<String>)> {
        let (room, names) = circle.split_once(": ")?;
        Some((room.to_owned(), names.split(", ").map(str::to_owned).collect()))
    };
    match (parts(recorded), parts(found)) {
        (Some((room, all)), Some((same, left))) => room == same && left.is_subset(&all),
        _ => false,
    }
}

/// The largest sets of modules in which each module uses all the others, directly or indirectly.
fn circles(graph: &Graph) -> BTreeSet<BTreeSet<&str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|start| (start.as_str(), reach(graph, start))).collect();
    let mutual = |start: &&str| -> BTreeSet<&str> {
        let others = reached[*start].iter().copied();
        others.filter(|other| reached.get(other).is_some_and(|back| back.contains(start))).collect()
    };
    reached.keys().map(mutual).filter(|circle| !circle.is_empty()).collect()
}

/// The modules that `start` uses, directly or indirectly.
fn reach<'a>(graph: &'a Graph, start: &str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![start];
    while let Some(next) = open.pop() {
        for used in graph.get(next).into_iter().flat_map(BTreeMap::keys) {
            if seen.insert(used.as_str()) {
                open.push(used);
            }
        }
    }
    seen
}

/// The steps of the shortest path from `start` back to itself.
fn shortest(graph: &Graph, start: &str) -> Vec<String> {
    let mut open = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = open.pop_front() {
        let last = way[way.len() - 1];
        for (next, place) in graph.get(last).into_iter().flatten() {
            if next == start {
                let steps = way.iter().zip(way.iter().skip(1));
                let step = |(from, to): (&&str, &&str)| format!("{from} uses {to} ({})", graph[*from][*to]);
                return steps.map(step).chain([format!("{last} uses {next} ({place})")]).collect();
            }
            if seen.insert(next.as_str()) {
                open.push_back([way.as_slice(), &[next.as_str()]].concat());
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let source = |(path, text): &(&str, &str)| {
            let module: Vec<&str> = path.split("::").filter(|part| !part.is_empty()).collect();
            Source::parse("x", &format!("{}.rs", module.join("/")), &module, text).unwrap()
        };
        let sources = crate::source::without_tests(files.iter().map(source).collect());
        findings(&sources)
            .into_iter()
            .map(|(key, found)| format!("{key}; {}", found.places.join("; ")))
            .collect()
    }

    #[test]
    fn modules_that_build_on_each_other_in_order_pass() {
        let files = [
            ("", "mod a; mod b; use a::A; fn root() { b::go() }"),
            ("a", "use std::fmt; pub struct A;"),
            ("b", "use crate::a::A; fn go() { super::root() }"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }

    #[test]
    fn circles_are_named_with_what_closes_them() {
        let files = [
            ("a", "use crate::b::{B, self as c};"),
            ("b", "mod inner;"),
            ("b::inner", "fn f() -> super::super::c::C { todo!() }"),
            ("c", "fn f() { assert!(crate::a::good(1)) }"),
            ("d", "use crate::a;"),
        ];
        let named = "x: a, b, c; a uses b (a.rs: crate::b::B); b uses c (b/inner.rs: super::super::c::C); \
                     c uses a (c.rs: crate::a::good)";
        assert_eq!(found(&files), [named]);
    }

    #[test]
    fn circles_are_found_in_folders_at_any_depth() {
        let files = [
            ("", "mod a;"),
            ("a", "mod b;"),
            ("a::b", "mod c; mod d; mod e; pub use e::E;"),
            ("a::b::c", "use super::d::D; mod deep;"),
            ("a::b::c::deep", "use crate::a::b::E;"),
            ("a::b::d", "fn f() { crate::a::b::c::deep::g() }"),
            ("a::b::e", "use super::c; pub struct E;"),
        ];
        let named = "x::a::b: c, d, e; c uses d (a/b/c.rs: super::d::D); d uses c (a/b/d.rs: crate::a::b::c::deep::g)";
        assert_eq!(found(&files), [named]);
    }

    #[test]
    fn a_parent_and_its_children_are_one_room() {
        let files = [
            ("a", "pub mod b; pub use b::B; pub struct Own; fn f() { b::go() }"),
            ("a::b", "use super::Own; use crate::a::f;"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }

    #[test]
    fn a_name_that_a_module_passes_on_is_of_the_module_that_it_comes_from() {
        let root = [
            ("", "mod a; mod b; pub use a::{A as First}; pub use b::B;"),
            ("a", "use super::B; pub struct A;"),
            ("b", "use crate::First; pub struct B;"),
        ];
        assert_eq!(found(&root), ["x: a, b; a uses b (a.rs: super::B); b uses a (b.rs: crate::First)"]);
        let globs = [
            ("r", "mod a; mod b; pub use a::*; use b::B;"),
            ("r::a", "use super::B; pub use inner::Deep; mod inner;"),
            ("r::a::inner", "pub struct Deep;"),
            ("r::b", "use super::Deep;"),
        ];
        assert_eq!(
            found(&globs),
            ["x::r: a, b; a uses b (r/a.rs: super::B); b uses a (r/b.rs: super::Deep)"]
        );
    }

    #[test]
    fn tests_may_use_anything() {
        let files = [
            ("a", "use crate::b; #[cfg(test)] mod tests;"),
            ("a::tests", "use crate::c;"),
            ("b", "#[cfg(test)] mod tests { use crate::a; } #[cfg(test)] fn f() { crate::a::g() }"),
            ("c", "use crate::a;"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }

    #[test]
    fn what_is_left_of_a_recorded_circle_is_covered_and_more_is_not() {
        assert!(covers("lab::scenario: a, b, c", "lab::scenario: a, c"));
        assert!(!covers("lab::scenario: a, b", "lab::scenario: a, b, c"));
        assert!(!covers("lab::scenario: a, b", "lab::model: a, b"));
    }

    #[test]
    fn uses_in_this_workspace_are_seen() {
        let root = crate::root();
        let cli = crate::source::package(&root, &root.join("crates/cli")).unwrap();
        let folders = modules::folders(&cli.iter().collect::<Vec<_>>());
        assert!(folders[&Vec::new()]["command"].contains_key("source"), "uses are not seen");
        assert!(folders.keys().any(|folder| *folder == ["command"]), "{:?}", folders.keys());
    }
}
