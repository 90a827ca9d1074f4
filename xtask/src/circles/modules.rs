//! The modules of a crate, and the uses between them.

use crate::source::{Source, attributes, for_tests};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::slice;
use syn::visit::{self, Visit};
use syn::{ImplItem, Item, UseTree};

/// The siblings that each module of a folder uses. Each sibling has the file and the path of one use as evidence.
pub type Graph = BTreeMap<String, BTreeMap<String, String>>;

/// The uses between the modules of each folder. A folder is a module that has submodules.
pub type Folders = BTreeMap<Vec<String>, Graph>;

pub fn folders(sources: &[&Source]) -> Folders {
    let mut modules = Modules::default();
    for source in sources {
        modules.declare(&source.module, &source.file.items);
    }
    let mut folders = Folders::new();
    for source in sources {
        let mut paths = Paths { module: source.module.clone(), found: Vec::new() };
        paths.visit_file(&source.file);
        for (user, path) in paths.found {
            let Some(full) = absolute(&user, &path) else { continue };
            let used = modules.defining_module(full);
            let common = user.iter().zip(&used).take_while(|(own, other)| own == other).count();
            if let (Some(own), Some(other)) = (user.get(common), used.get(common)) {
                let graph = folders.entry(user[..common].to_vec()).or_default();
                let place = || format!("{}: {}", source.path, path.join("::"));
                graph.entry(own.clone()).or_default().entry(other.clone()).or_insert_with(place);
            }
        }
    }
    folders
}

/// The modules of a crate, with the names that each module imports from others.
#[derive(Default)]
struct Modules {
    all: BTreeSet<Vec<String>>,
    /// The full path of each imported name, by module and name.
    names: BTreeMap<(Vec<String>, String), Vec<String>>,
    /// The modules that each module imports by a glob.
    globs: BTreeMap<Vec<String>, Vec<Vec<String>>>,
}

impl Modules {
    fn declare(&mut self, module: &[String], items: &[Item]) {
        self.all.insert(module.to_vec());
        for item in items.iter().filter(|item| !for_tests(attributes(item))) {
            match item {
                Item::Mod(item) => {
                    let below = [module, &[item.ident.to_string()]].concat();
                    self.declare(&below, item.content.as_ref().map_or(&[], |(_, items)| items));
                }
                Item::Use(item) => {
                    for (mut path, name) in leaves(&item.tree) {
                        let is_glob = path.last().is_some_and(|last| last == "*");
                        path.truncate(path.len() - usize::from(is_glob));
                        // A path without `crate`, `self` or `super` begins in this module, or names another crate.
                        let path = absolute(module, &path).unwrap_or_else(|| [module, &path].concat());
                        if is_glob {
                            self.globs.entry(module.to_vec()).or_default().push(path);
                        } else if path != [module, slice::from_ref(&name)].concat() {
                            self.names.insert((module.to_vec(), name), path);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// The module that defines the item at `path`.
    fn defining_module(&self, path: Vec<String>) -> Vec<String> {
        let mut module = Vec::new();
        let mut rest = path;
        rest.reverse();
        // Re-exports in a circle are not valid Rust, but must not hang the check.
        for _ in 0..100 {
            let Some(name) = rest.pop() else { break };
            let below = [module.as_slice(), slice::from_ref(&name)].concat();
            if self.all.contains(&below) {
                module = below;
                continue;
            }
            let Some(mut full) = self.passed_on(&module, &name) else { break };
            full.reverse();
            rest.extend(full);
            module.clear();
        }
        module
    }

    /// The full path of `name`, if `module` imports this name.
    fn passed_on(&self, module: &[String], name: &str) -> Option<Vec<String>> {
        if let Some(path) = self.names.get(&(module.to_vec(), name.to_owned())) {
            return Some(path.clone());
        }
        let globs = self.globs.get(module).into_iter().flatten();
        globs.filter(|other| other.as_slice() != module).find_map(|other| {
            let below = [other.as_slice(), &[name.to_owned()]].concat();
            let is_there =
                self.all.contains(&below) || self.names.contains_key(&(other.clone(), name.to_owned()));
            is_there.then_some(below)
        })
    }
}

/// The path from the root for `path` as it is written in `module`. None if it does not begin with `crate`, `self` or
/// `super`.
fn absolute(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let mut depth = module.len();
    let mut rest = path;
    while let [first, after @ ..] = rest {
        match first.as_str() {
            "crate" => depth = 0,
            "super" => depth = depth.saturating_sub(1),
            "self" => {}
            _ => break,
        }
        rest = after;
    }
    (rest.len() < path.len()).then(|| [&module[..depth], rest].concat())
}

/// The paths in a file, each with the module in which it is written.
struct Paths {
    module: Vec<String>,
    found: Vec<(Vec<String>, Vec<String>)>,
}

impl Paths {
    fn path(&mut self, path: Vec<String>) {
        if matches!(path.first().map(String::as_str), Some("crate" | "super" | "self")) {
            self.found.push((self.module.clone(), path));
        }
    }

    /// Collects the paths in the argument tokens of a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut joined = true;
        for token in tokens {
            match token {
                TokenTree::Ident(part) => {
                    if !joined {
                        self.path(std::mem::take(&mut path));
                    }
                    path.push(part.to_string());
                    joined = false;
                }
                TokenTree::Punct(sign) if sign.as_char() == ':' && !path.is_empty() => joined = true,
                other => {
                    self.path(std::mem::take(&mut path));
                    joined = true;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.path(path);
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast Item) {
        if !for_tests(attributes(item)) {
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
            self.path(path);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.path(path.segments.iter().map(|part| part.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.tokens(called.tokens.clone());
    }
}

/// Every path of a `use` tree, with the name that the tree gives to the item.
fn leaves(tree: &UseTree) -> Vec<(Vec<String>, String)> {
    match tree {
        // `a::{self, b}` names `a` itself.
        UseTree::Name(leaf) => vec![(vec![leaf.ident.to_string()], leaf.ident.to_string())],
        UseTree::Rename(leaf) => vec![(vec![leaf.ident.to_string()], leaf.rename.to_string())],
        UseTree::Glob(_) => vec![(vec!["*".to_owned()], "*".to_owned())],
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
        UseTree::Path(path) => {
            let first = path.ident.to_string();
            let below = leaves(&path.tree).into_iter();
            below.map(|(rest, name)| of_self(&first, rest, name)).collect()
        }
    }
}

/// Puts `first` before `rest`. A final `self` refers to `first`.
fn of_self(first: &str, rest: Vec<String>, name: String) -> (Vec<String>, String) {
    match rest.as_slice() {
        [only] if only == "self" => {
            let name = if name == "self" { first.to_owned() } else { name };
            (vec![first.to_owned()], name)
        }
        _ => ([vec![first.to_owned()], rest].concat(), name),
    }
}
