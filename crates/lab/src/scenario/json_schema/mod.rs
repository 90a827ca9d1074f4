//! JSON Schemas of the files that anabranch reads, made of the declarations of their keys and parameters. Editors complete
//! and check TOML by them.
//!
//! - A table whose keys follow from its `kind` has a chain of `if` and `then`, so that an error names the key; editors that
//!   do not follow it (taplo) find the keys of all kinds in `anyOf`, which permits everything.
//! - A fault is at its own key, not at the table: taplo marks all that the place of a fault contains.
//! - Keys that must be there are needed only where nothing is swept: a swept key may be missing.
//! - Rules between values, and names of links and schemes, are left to `anabranch check`.

mod completion;
mod paths;
mod schemes;
mod tables;
mod value;

pub use completion::{Completion, Completions, completions};

use crate::scenario::keys::section;
use serde_json::{Map, Value, json};

/// A file that has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaOf {
    /// A scenario.
    Scenario,
    /// A scheme in a file of its own.
    Scheme,
    /// A setup in a file of its own.
    Setup,
    /// A figure of a paper.
    Figure,
}

/// The JSON Schema of a file, in draft 2020-12.
pub fn json_schema(of: SchemaOf) -> Value {
    let (title, mut root) = match of {
        SchemaOf::Scenario => ("Anabranch scenario", scenario()),
        SchemaOf::Scheme => ("Anabranch scheme", schemes::file()),
        SchemaOf::Setup => ("Anabranch setup", tables::object(section("setup-file"), &["name", "title"])),
        SchemaOf::Figure => ("Anabranch figure", figure()),
    };
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".to_owned(), title.into());
    schema.append(root.as_object_mut().expect("a schema is an object"));
    let definitions = needed(definitions(), &Value::Object(schema.clone()));
    schema.insert("$defs".to_owned(), definitions);
    Value::Object(schema)
}

/// The condition that a value varies: tables may then lack it.
fn varies() -> Value {
    json!({ "anyOf": [{ "required": ["sweep"] }, { "required": ["find"] }, { "required": ["point"] }] })
}

fn scenario() -> Value {
    let mut root = tables::object(section("scenario"), &[]);
    root["if"] = json!({ "not": varies() });
    root["then"] = reference("complete");
    root
}

/// A figure has the keys of a scenario beside its own, and either scale may add what the other part lacks.
fn figure() -> Value {
    let mut root = tables::object(section("figure"), &["id", "title"]);
    let of_scenario = tables::object(section("scenario"), &[]);
    let own = root["properties"].as_object_mut().expect("an object has properties");
    for (name, schema) in of_scenario["properties"].as_object().into_iter().flatten() {
        own.entry(name.clone()).or_insert_with(|| schema.clone());
    }
    // In the league, the schemes are those that take part in a part of it.
    own["schemes"] = json!({ "anyOf": [of_scenario["properties"]["schemes"], reference("schemes")] });
    let is_a_part = json!({ "anyOf": [
        varies(),
        { "required": ["model"] },
        { "required": ["quick"], "properties": { "paper": { "type": "object" } } },
    ] });
    root["if"] = json!({ "not": is_a_part });
    root["then"] = reference("complete");
    root
}

/// All definitions, by their names.
fn definitions() -> Map<String, Value> {
    let mut all = Map::new();
    tables::define(&mut all);
    schemes::define(&mut all);
    paths::define(&mut all);
    all
}

/// The definitions that a schema uses, by itself and by others.
fn needed(all: Map<String, Value>, schema: &Value) -> Value {
    let mut names = Vec::new();
    references(schema, &mut names);
    let mut place = 0;
    while place < names.len() {
        let used = all.get(&names[place]).unwrap_or_else(|| panic!("{} is defined", names[place]));
        references(used, &mut names);
        place += 1;
    }
    Value::Object(all.into_iter().filter(|(name, _)| names.contains(name)).collect())
}

fn references(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value.as_str().and_then(|value| value.strip_prefix(DEFINITIONS)) {
                    Some(name) if key == "$ref" && !names.iter().any(|known| known == name) => {
                        names.push(name.to_owned());
                    }
                    _ => references(value, names),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, names)),
        _ => {}
    }
}

const DEFINITIONS: &str = "#/$defs/";

/// A reference to a definition.
fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{DEFINITIONS}{name}") })
}
