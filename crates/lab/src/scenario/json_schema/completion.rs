//! Completion: the keys and values that can be written at a place of a scenario, from its schema.

use super::{DEFINITIONS, SchemaOf, json_schema};
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// The completions at a place in a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completions {
    /// The number of characters directly before the place that are the beginning of a word. A completion replaces them.
    pub replaced: usize,
    /// The completions, which all contain the replaced word. The ones that begin with it come first.
    pub list: Vec<Completion>,
}

/// A key or a value that can be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// A value, or the name of a key.
    pub name: String,
    /// The text to write. For a key it is the whole line with an example of the value, or the header of its table.
    pub text: String,
    /// The description of the key; empty for a value.
    pub meaning: String,
}

static SCHEMA: LazyLock<Value> = LazyLock::new(|| json_schema(SchemaOf::Scenario));

/// The completions at a place in a scenario, between the texts `before` and `after`: the keys that are possible
/// there, or, after a key and `=`, the values of that key.
pub fn completions(before: &str, after: &str) -> Completions {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_-.*\"".contains(letter);
    let word: &str = &line[line.trim_end_matches(is_word).len()..];
    let table = Table::at(before, after);
    let found = match line[..line.len() - word.len()].split_once('=') {
        Some((key, rest)) if rest.trim().is_empty() => table.values(key.trim()),
        Some(_) => Vec::new(),
        None if line.trim_start() == word => table.keys(),
        None => Vec::new(),
    };
    let plain = word.trim_matches('"').to_lowercase();
    let (mut list, others): (Vec<Completion>, Vec<Completion>) = found
        .into_iter()
        .filter(|one| one.name.to_lowercase().contains(&plain))
        .partition(|one| one.name.to_lowercase().starts_with(&plain));
    list.extend(others);
    Completions { replaced: word.len(), list }
}

struct Table<'a> {
    /// The path of the table, such as `workload.incast`; empty above all tables.
    path: &'a str,
    /// The keys of the table and their values as written, except for those of the line that is completed.
    written: Vec<(&'a str, &'a str)>,
}

impl<'a> Table<'a> {
    fn at(before: &'a str, after: &'a str) -> Table<'a> {
        let above = before.rsplit_once('\n').map_or("", |(above, _)| above);
        let below = after.split_once('\n').map_or("", |(_, below)| below);
        let is_header = |line: &&str| line.trim_start().starts_with('[');
        let mut written: Vec<&str> = below.lines().take_while(|line| !is_header(line)).collect();
        let mut path = "";
        for line in above.lines().rev() {
            if is_header(&line) {
                path = line.split('#').next().unwrap_or_default().trim().trim_matches(['[', ']']);
                break;
            }
            written.push(line);
        }
        let pair = |line: &&'a str| line.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
        Table { path, written: written.iter().filter_map(pair).collect() }
    }

    fn properties(&self) -> Vec<(&'static str, &'static Value)> {
        let mut node = &*SCHEMA;
        for name in self.path.split('.').filter(|name| !name.is_empty()) {
            let Some((_, below)) = properties(node, None).into_iter().find(|(key, _)| *key == name.trim())
            else {
                return Vec::new();
            };
            node = below;
        }
        let kind = self.written.iter().find(|(key, _)| *key == "kind").map(|(_, kind)| *kind);
        properties(node, kind.and_then(|kind| kind.split('"').nth(1)))
    }

    fn keys(&self) -> Vec<Completion> {
        let is_free =
            |(name, _): &(&str, &Value)| !self.written.iter().any(|(key, _)| key.trim_matches('"') == *name);
        let completion = |(name, schema): (&str, &Value)| {
            let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
            let key = if name.contains(['.', '*']) { format!("{name:?}") } else { name.to_owned() };
            let is_table = |name: &&str| SCHEMA["$defs"][*name]["type"] == "object";
            let text = match (table_of(schema).filter(is_table), schema["items"]["$ref"].is_string()) {
                (Some(_), true) => format!("[[{path}]]\n"),
                (Some(_), false) if schema["anyOf"].is_null() => format!("[{path}]\n"),
                _ => format!("{key} = {}", example(schema)),
            };
            Completion { name: name.to_owned(), text, meaning: meaning(schema) }
        };
        let mut keys: Vec<Completion> = Vec::new();
        for one in self.properties().into_iter().filter(is_free).map(completion) {
            if !keys.iter().any(|known| known.name == one.name) {
                keys.push(one);
            }
        }
        keys
    }

    fn values(&self, key: &str) -> Vec<Completion> {
        let properties = self.properties();
        let schemas = properties.iter().filter(|(name, _)| *name == key.trim_matches('"'));
        let mut words: Vec<Value> = Vec::new();
        for (_, schema) in schemas {
            let alternatives = schema["anyOf"].as_array().into_iter().flatten();
            for one in std::iter::once(*schema).chain(alternatives) {
                let flags = [true.into(), false.into()].into_iter().filter(|_| one["type"] == "boolean");
                let found = one["enum"].as_array().into_iter().flatten().cloned().chain(flags);
                found.for_each(|word| {
                    if !words.contains(&word) {
                        words.push(word)
                    }
                });
            }
        }
        let completion = |word: Value| Completion {
            name: word.as_str().map_or_else(|| word.to_string(), str::to_owned),
            text: word.to_string(),
            meaning: String::new(),
        };
        words.into_iter().map(completion).collect()
    }
}

/// The name of the definition to which a schema refers.
fn table_of(schema: &Value) -> Option<&str> {
    let alternatives = schema["anyOf"].as_array().into_iter().flatten();
    let mut all = [schema, &schema["items"]].into_iter().chain(alternatives);
    all.find_map(|one| one["$ref"].as_str()?.strip_prefix(DEFINITIONS))
}

/// The schemas of a table's keys, by name: the keys of `kind`, or the keys of all kinds if `kind` is none or unknown.
fn properties(node: &'static Value, kind: Option<&str>) -> Vec<(&'static str, &'static Value)> {
    let definitions = &SCHEMA["$defs"];
    let (node, name) = match table_of(node).filter(|_| !node["properties"].is_object()) {
        Some(name) => (&definitions[name], name),
        None => (node, ""),
    };
    let of_kind = kind.and_then(|kind| definitions.get(format!("{name}:{kind}")));
    let alternatives =
        ["anyOf", "allOf"].into_iter().flat_map(|key| node[key].as_array().into_iter().flatten());
    let alternatives = alternatives.filter_map(|one| Some(&definitions[table_of(one)?]));
    let mut found: Vec<(&str, &Value)> = Vec::new();
    let all = std::iter::once(node).chain(alternatives).filter(|_| of_kind.is_none()).chain(of_kind);
    for (name, schema) in all.filter_map(|one| one["properties"].as_object()).flat_map(Map::iter) {
        if !found.iter().any(|(known, _)| known == name) {
            found.push((name, schema));
        }
    }
    found
}

fn meaning(schema: &Value) -> String {
    let own = schema["description"].as_str();
    own.or_else(|| SCHEMA["$defs"][table_of(schema)?]["description"].as_str()).unwrap_or_default().to_owned()
}

/// An example of a value, as TOML; empty if there is none.
fn example(schema: &Value) -> String {
    let of = table_of(schema).map_or(&Value::Null, |name| &SCHEMA["$defs"][name]);
    let known = [&schema["examples"][0], &schema["enum"][0], &of["examples"][0], &of["enum"][0]];
    match (known.into_iter().find(|value| !value.is_null()), schema["type"] == "array") {
        // The key is swept, so its value is a list.
        (Some(value), true) if !value.is_array() => format!("[{value}]"),
        (Some(value), _) => value.to_string().replace("\",\"", "\", \""),
        (None, _) => String::new(),
    }
}
