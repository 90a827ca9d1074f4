//! Dotted paths to values, and settings of parameters by their paths.

use crate::scenario::read::document::{Fields, Item, Node, Place};
use crate::scenario::read::table::Table;
use anabranch_base::Diagnostic;

/// The key in `[sweep]` for parameters that change together.
pub(in crate::scenario) const ZIP: &str = "zip";

#[derive(Clone, Debug)]
pub(in crate::scenario) struct Setting {
    /// The name of a scheme, or `*` for every scheme that has the parameter.
    pub scheme: String,
    /// The path within the scheme: `lb.buffer`.
    pub path: String,
    pub value: toml::Value,
    pub at: Place,
    /// Whether the setting is in the scheme's own table, where paths do not begin with the scheme.
    pub own: bool,
}

impl Setting {
    /// `path` in quotes, as the table of this setting would have it: in a table other than the scheme's own, the scheme
    /// is in front of it.
    pub(in crate::scenario) fn written(&self, path: &str) -> String {
        if self.own { format!("{path:?}") } else { format!("\"{}.{path}\"", self.scheme) }
    }
}

/// Reads the lines of `set` in a `[[scheme]]` table, such as `"lb.buffer" = 16`.
pub(in crate::scenario) fn own_settings(table: &Table, scheme: &str) -> Result<Vec<Setting>, Diagnostic> {
    let mut found = Vec::new();
    leaves("", table.fields, &whole_value, &mut found);
    let own = |(path, node): (String, &Node)| Setting {
        scheme: scheme.to_owned(),
        path,
        value: node.value(),
        at: node.at,
        own: true,
    };
    Ok(found.into_iter().map(own).collect())
}

/// Whether a node is a whole value, as opposed to a table that only groups values. A table is a whole value if it has a
/// `kind`, all required keys of `fabric.pfc` or `mix`, a key of `fabric.wrr`, or no key at all (`fabric.wrr` with its
/// defaults, or `fabric.pfc` with the values of the setup).
pub(in crate::scenario) fn whole_value(node: &Node) -> bool {
    let Item::Table(fields) = &node.item else { return true };
    let has = |key: &str| fields.contains_key(key);
    has("kind")
        || fields.is_empty()
        || has("radix")
        || has("weight")
        || (has("every") && has("lb"))
        || (has("buffer") && has("resume") && (has("alpha") || has("threshold")))
}

/// The values below `fields` with their dotted paths. Quoted and bare keys give equal paths.
pub(in crate::scenario) fn leaves<'a>(
    prefix: &str,
    fields: &'a Fields,
    is_leaf: &dyn Fn(&Node) -> bool,
    found: &mut Vec<(String, &'a Node)>,
) {
    for (key, node) in fields {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match &node.item {
            Item::Table(below) if !is_leaf(node) => leaves(&path, below, is_leaf, found),
            _ => found.push((path, node)),
        }
    }
}

/// Inserts a value at a path and creates missing tables.
pub(in crate::scenario) fn put(fields: &mut Fields, path: &[&str], value: &Node) -> Result<(), String> {
    let Some((first, rest)) = path.split_first() else { return Err("the path is empty".to_owned()) };
    if rest.is_empty() {
        fields.insert((*first).to_owned(), value.clone());
        return Ok(());
    }
    let empty = || Node {
        at: value.at,
        item: match *first {
            "fault" | "class" => Item::Array(Vec::new()),
            _ => Item::Table(Fields::new()),
        },
    };
    match &mut fields.entry((*first).to_owned()).or_insert_with(empty).item {
        Item::Table(below) => put(below, rest, value),
        Item::Array(nodes) => {
            let count = nodes.len();
            let (number, rest) = (rest[0], &rest[1..]);
            let element = number.parse().ok().and_then(|i: usize| nodes.get_mut(i));
            match element.map(|node| &mut node.item) {
                Some(Item::Table(below)) if !rest.is_empty() => put(below, rest, value),
                Some(_) => Err(format!("{first}.{number} is no parameter")),
                None if count == 0 => Err(format!("there is no {first}.{number}, and no {first} at all")),
                None => {
                    Err(format!("there is no {first}.{number}; they are {first}.0 to {first}.{}", count - 1))
                }
            }
        }
        Item::Leaf(_) => Err(format!("{first} has no parameters")),
    }
}

pub(in crate::scenario) fn as_toml(text: &str) -> Option<toml::Value> {
    toml::from_str::<toml::Table>(&format!("value = {text}")).ok()?.remove("value")
}
