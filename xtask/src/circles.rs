//! Circles between the modules of a crate: none, so that each can be read after those it stands on.
//!
//! The modules are those right below the root of a crate, with all that is in them. The root itself and code for tests
//! may use whatever they like; a name that the root passes on counts as the module's that it comes from.

use crate::shares::{crates, name, read, sources};
use anyhow::{Context, Result, bail};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, Meta, UseTree};

/// By module: those that it uses, each with the path by which it does.
type Graph = BTreeMap<String, BTreeMap<String, String>>;

/// Fails when modules of a crate use each other in a circle.
pub fn check(root: &Path) -> Result<()> {
    let mut wrong = Vec::new();
    for folder in crates(root)? {
        let crate_name = name(&folder);
        let found = circles(&graph(&files(&folder.join("src"))?)?);
        wrong.extend(found.iter().map(|circle| format!("crates/{crate_name}: {circle}")));
    }
    if !wrong.is_empty() {
        bail!("circles between modules (xtask/src/circles.rs):\n  {}", wrong.join("\n  "));
    }
    Ok(())
}

/// A file of a crate: the path of its module below the root, and its text.
type File = (Vec<String>, String);

fn files(src: &Path) -> Result<Vec<File>> {
    let module = |file: &Path| -> Vec<String> {
        let below = file.strip_prefix(src).unwrap_or(file).with_extension("");
        let parts = below.iter().map(|part| part.to_string_lossy().into_owned());
        parts.filter(|part| !matches!(part.as_str(), "lib" | "main" | "mod")).collect()
    };
    sources(src)?.iter().map(|file| Ok((module(file), read(file)?))).collect()
}

fn graph(files: &[File]) -> Result<Graph> {
    let mut parsed = Vec::new();
    for (module, text) in files {
        let shown = if module.is_empty() { "the root".to_owned() } else { module.join("::") };
        parsed.push((module, syn::parse_file(text).with_context(|| format!("{shown} is no Rust"))?));
    }
    let children: BTreeSet<String> = files.iter().filter_map(|(module, _)| module.first().cloned()).collect();
    let mut passed_on = BTreeMap::new();
    let mut tests = BTreeSet::new();
    for (module, file) in &parsed {
        for item in &file.items {
            match item {
                Item::Mod(item) if item.content.is_none() && for_tests(&item.attrs) => {
                    tests.insert([module.as_slice(), &[item.ident.to_string()]].concat());
                }
                Item::Use(item) if module.is_empty() => {
                    for (path, called) in leaves(&item.tree) {
                        let from = path.iter().find(|part| !matches!(part.as_str(), "crate" | "self"));
                        if let Some(from) = from.filter(|from| children.contains(*from)) {
                            passed_on.insert(called, from.clone());
                        }
                    }
                }
                _ => {}
            }
        }
    }
    let mut graph = Graph::new();
    for (module, file) in &parsed {
        let Some(own) = module.first() else { continue };
        if (1..=module.len()).any(|length| tests.contains(&module[..length])) {
            continue;
        }
        let mut paths = Paths { module: module.to_vec(), found: Vec::new() };
        paths.visit_file(file);
        let uses = graph.entry(own.clone()).or_default();
        for (used, path) in paths.found {
            let used = if children.contains(&used) { Some(&used) } else { passed_on.get(&used) };
            if let Some(used) = used.filter(|used| *used != own) {
                uses.entry(used.clone()).or_insert(path);
            }
        }
    }
    Ok(graph)
}

/// What a file names of the root: the first name below it, and the whole path.
struct Paths {
    /// The module that is being read.
    module: Vec<String>,
    found: Vec<(String, String)>,
}

impl Paths {
    fn path(&mut self, parts: &[String]) {
        let mut depth = self.module.len();
        let mut rest = parts;
        while let [first, after @ ..] = rest {
            match first.as_str() {
                "crate" => depth = 0,
                "super" => depth = depth.saturating_sub(1),
                "self" => {}
                // A path that starts in this module.
                _ if rest.len() == parts.len() => return,
                _ if depth == 0 => return self.found.push((first.clone(), parts.join("::"))),
                _ => return,
            }
            rest = after;
        }
    }

    /// Paths in what is handed to a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut joined = true;
        for token in tokens {
            match token {
                TokenTree::Ident(part) => {
                    if !joined {
                        self.path(&path);
                        path.clear();
                    }
                    path.push(part.to_string());
                    joined = false;
                }
                TokenTree::Punct(sign) if sign.as_char() == ':' && !path.is_empty() => joined = true,
                other => {
                    self.path(&path);
                    path.clear();
                    joined = true;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.path(&path);
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
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
            _ => return visit::visit_item(self, item),
        };
        if !for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        match item {
            ImplItem::Fn(item) if for_tests(&item.attrs) => {}
            _ => visit::visit_impl_item(self, item),
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        for (path, _) in leaves(&item.tree) {
            self.path(&path);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.path(&path.segments.iter().map(|part| part.ident.to_string()).collect::<Vec<_>>());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.tokens(called.tokens.clone());
    }
}

/// Whether an item is for tests alone.
fn for_tests(attributes: &[Attribute]) -> bool {
    let is = |attribute: &Attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string() == "test",
        _ => false,
    };
    attributes.iter().any(is)
}

/// Every path of a `use`, with the name that it gives to what is there.
fn leaves(tree: &UseTree) -> Vec<(Vec<String>, String)> {
    match tree {
        UseTree::Name(leaf) => vec![(vec![leaf.ident.to_string()], leaf.ident.to_string())],
        UseTree::Rename(leaf) => vec![(vec![leaf.ident.to_string()], leaf.rename.to_string())],
        UseTree::Glob(_) => vec![(vec!["*".to_owned()], "*".to_owned())],
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
        UseTree::Path(path) => {
            let below = leaves(&path.tree).into_iter();
            below.map(|(rest, called)| ([vec![path.ident.to_string()], rest].concat(), called)).collect()
        }
    }
}

/// The circles of `graph`, each once and as short as it can be, with the paths that close it.
fn circles(graph: &Graph) -> Vec<String> {
    let mut told: BTreeSet<&str> = BTreeSet::new();
    let mut found = Vec::new();
    for start in graph.keys().map(String::as_str) {
        if told.contains(start) {
            continue;
        }
        let Some(circle) = shortest(graph, start) else { continue };
        told.extend(&circle);
        let step = |(from, to): (&str, &str)| format!("{from} uses {}", graph[from][to]);
        let steps = circle.iter().copied().zip(circle.iter().copied().cycle().skip(1));
        let names = [circle.as_slice(), &[start]].concat().join(" -> ");
        found.push(format!("{names} ({})", steps.map(step).collect::<Vec<_>>().join(", ")));
    }
    found
}

/// The shortest way from `start` back to it, or none.
fn shortest<'a>(graph: &'a Graph, start: &'a str) -> Option<Vec<&'a str>> {
    let mut open = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = open.pop_front() {
        let uses = graph.get(way[way.len() - 1]);
        for next in uses.into_iter().flat_map(BTreeMap::keys).map(String::as_str) {
            if next == start {
                return Some(way);
            }
            if seen.insert(next) {
                open.push_back([way.as_slice(), &[next]].concat());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let module =
            |path: &str| path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let files: Vec<File> = files.iter().map(|(path, text)| (module(path), (*text).to_owned())).collect();
        circles(&graph(&files).unwrap())
    }

    #[test]
    fn modules_that_build_on_each_other_in_order_pass() {
        let files = [
            ("", "mod a; mod b; use a::A; fn root() { b::go() }"),
            ("a", "use std::fmt; pub struct A;"),
            ("b", "use crate::a::A; fn go() { super::root() }"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn circles_are_named_with_what_closes_them() {
        let files = [
            ("a", "use crate::b::{B, self as c};"),
            ("b::inner", "fn f() -> super::super::c::C { todo!() }"),
            ("c", "fn f() { assert!(crate::a::good(1)) }"),
            ("d", "use crate::a;"),
        ];
        let named = "a -> b -> c -> a (a uses crate::b::B, b uses super::super::c::C, c uses crate::a::good)";
        assert_eq!(found(&files), [named]);
    }

    #[test]
    fn a_name_that_the_root_passes_on_is_its_modules() {
        let files = [
            ("", "mod a; mod b; pub use a::{A as First}; pub use b::B;"),
            ("a", "use super::B; pub struct A;"),
            ("b", "use crate::First; pub struct B;"),
        ];
        assert_eq!(found(&files), ["a -> b -> a (a uses super::B, b uses crate::First)"]);
    }

    #[test]
    fn tests_may_use_everything() {
        let files = [
            ("a", "use crate::b; #[cfg(test)] mod tests;"),
            ("a::tests", "use crate::c;"),
            ("b", "#[cfg(test)] mod tests { use crate::a; } #[cfg(test)] fn f() { crate::a::g() }"),
            ("c", "use crate::a;"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn this_workspace_is_read_and_kept() {
        let root = crate::root();
        let cli = graph(&files(&root.join("crates/cli/src")).unwrap()).unwrap();
        assert!(cli["source"].contains_key("store"), "uses are not seen");
        check(&root).unwrap();
    }
}
