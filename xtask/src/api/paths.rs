//! The items of the libraries by path, and the items that `pub use` names.

use super::items::{self, is_public};
use crate::source::{Source, for_tests};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use syn::{Item, ItemImpl, UseTree};

/// A module: the name of its crate, and its path within the crate.
pub type Module = (String, Vec<String>);

#[derive(Default)]
pub struct Libraries {
    modules: BTreeMap<Module, Vec<Item>>,
}

/// The target of a path.
enum Target<'a> {
    Module(Module),
    Items(Module, Vec<&'a Item>),
    /// An item of a library outside the workspace.
    Foreign,
}

/// An import by `use`: its path, and the name that it gives to the item. The name is `*` for a glob import.
struct Import {
    path: Vec<String>,
    name: String,
}

impl Libraries {
    pub fn add(&mut self, sources: Vec<Source>) -> Result<()> {
        for source in sources {
            self.add_items((source.package, source.module), source.file.items);
        }
        Ok(())
    }

    fn add_items(&mut self, module: Module, items: Vec<Item>) {
        let mut own = Vec::new();
        for item in items.into_iter().flat_map(items::expanded) {
            if for_tests(crate::source::attributes(&item)) {
                continue;
            }
            if let Item::Mod(mut item) = item {
                if let Some((_, content)) = item.content.take() {
                    let path = [module.1.as_slice(), &[item.ident.to_string()]].concat();
                    self.add_items((module.0.clone(), path), content);
                }
                own.push(Item::Mod(item));
            } else {
                own.push(item);
            }
        }
        self.modules.insert(module, own);
    }

    /// The lines of the public interface of a crate.
    pub fn interface(&self, name: &str) -> BTreeSet<String> {
        let mut lines = BTreeSet::new();
        self.list(&(name.to_owned(), Vec::new()), "", &mut lines);
        lines
    }

    /// Adds the public items of a module under the path `prefix`.
    fn list(&self, module: &Module, prefix: &str, lines: &mut BTreeSet<String>) {
        let Some(items) = self.modules.get(module) else { return };
        for item in items {
            match item {
                Item::Mod(item) if is_public(&item.vis) => {
                    self.list(&child(module, &item.ident), &format!("{prefix}{}::", item.ident), lines);
                }
                Item::Use(item) if is_public(&item.vis) => {
                    for import in imports(&item.tree) {
                        self.list_import(module, &import, prefix, lines);
                    }
                }
                _ => self.list_item(module, item, None, prefix, lines),
            }
        }
    }

    fn list_import(&self, module: &Module, import: &Import, prefix: &str, lines: &mut BTreeSet<String>) {
        let path = format!("{prefix}{}", import.name);
        match self.resolve(module, &import.path) {
            Target::Module(target) if import.name == "*" => self.list(&target, prefix, lines),
            // A whole library is either recorded separately or not at all, so its items are not listed here.
            Target::Module((library, parts)) if parts.is_empty() => {
                lines.insert(format!("{path}: crate {library}"));
            }
            Target::Module(target) => self.list(&target, &format!("{path}::"), lines),
            Target::Items(target, items) => {
                for item in items {
                    self.list_item(&target, item, Some(&import.name), prefix, lines);
                }
            }
            Target::Foreign => {
                lines.insert(format!("{path}: use {}", import.path.join("::")));
            }
        }
    }

    /// Adds an item and its implementations. The item is listed under `name`, or under its own name if `name` is none.
    fn list_item(
        &self,
        module: &Module,
        item: &Item,
        name: Option<&str>,
        prefix: &str,
        lines: &mut BTreeSet<String>,
    ) {
        let Some(ident) = items::public_name(item) else { return };
        let path = format!("{prefix}{}", name.unwrap_or(&ident));
        lines.extend(items::described(item, &path));
        if matches!(item, Item::Struct(_) | Item::Enum(_) | Item::Union(_)) {
            // The implementations for a type are in the same top-level module of the crate as the type.
            let near = |other: &Module| other.0 == module.0 && other.1.first() == module.1.first();
            for item in self.modules.iter().filter(|(other, _)| near(other)).flat_map(|(_, items)| items) {
                if let Item::Impl(item) = item
                    && type_name(item).as_deref() == Some(&ident)
                {
                    lines.extend(items::implemented(item, &path));
                }
            }
        }
    }

    /// The target of a path that is written in `module`.
    fn resolve(&self, module: &Module, path: &[String]) -> Target<'_> {
        let Some((first, rest)) = path.split_first() else { return Target::Module(module.clone()) };
        let root = |name: &str| (name.to_owned(), Vec::new());
        match first.as_str() {
            "self" => return self.resolve(module, rest),
            "crate" => return self.resolve(&root(&module.0), rest),
            "super" => {
                let above = module.1[..module.1.len().saturating_sub(1)].to_vec();
                return self.resolve(&(module.0.clone(), above), rest);
            }
            _ => {}
        }
        let below = child(module, first);
        if self.modules.contains_key(&below) {
            return self.resolve(&below, rest);
        }
        let items = self.modules.get(module).map_or(&[][..], Vec::as_slice);
        let named = items.iter().filter(|item| items::public_name(item).as_ref() == Some(first));
        let named: Vec<&Item> = named.collect();
        if !named.is_empty() {
            return Target::Items(module.clone(), named);
        }
        for import in
            items.iter().filter_map(|item| if let Item::Use(item) = item { Some(item) } else { None })
        {
            for Import { path, name } in imports(&import.tree) {
                // If an import's path begins with its own name, the name is that of another library.
                if name == *first && path.first() != Some(first) {
                    return self.resolve(module, &[path.as_slice(), rest].concat());
                }
                if name == "*"
                    && let Target::Module(target) = self.resolve(module, &path)
                    && let found @ (Target::Module(_) | Target::Items(..)) =
                        self.resolve(&target, &[std::slice::from_ref(first), rest].concat())
                {
                    return found;
                }
            }
        }
        let library = root(first.strip_prefix("anabranch_").unwrap_or(first));
        if self.modules.contains_key(&library) { self.resolve(&library, rest) } else { Target::Foreign }
    }
}

fn child(module: &Module, name: &impl ToString) -> Module {
    (module.0.clone(), [module.1.as_slice(), &[name.to_string()]].concat())
}

/// The last segment of the name of the type that has the implementation.
fn type_name(item: &ItemImpl) -> Option<String> {
    match &*item.self_ty {
        syn::Type::Path(path) => path.path.segments.last().map(|part| part.ident.to_string()),
        _ => None,
    }
}

fn imports(tree: &UseTree) -> Vec<Import> {
    let leaf = |path: Vec<String>, name: String| vec![Import { path, name }];
    match tree {
        UseTree::Name(name) => leaf(vec![name.ident.to_string()], name.ident.to_string()),
        UseTree::Rename(name) => leaf(vec![name.ident.to_string()], name.rename.to_string()),
        UseTree::Glob(_) => leaf(Vec::new(), "*".to_owned()),
        UseTree::Group(group) => group.items.iter().flat_map(imports).collect(),
        UseTree::Path(path) => {
            let below = imports(&path.tree).into_iter();
            let below = below.map(|mut import| {
                import.path.insert(0, path.ident.to_string());
                import
            });
            below.collect()
        }
    }
}
