//! JSON Schemas of scenarios, schemes, setups and figures. They are generated from the declarations of keys and
//! parameters. Editors use the schemas to complete and check TOML.
//!
//! - A table whose keys depend on its `kind` has a chain of `if` and `then`, so that an error names the key. Editors
//!   that do not evaluate the chain (taplo) find the keys of all kinds in an `anyOf` that permits everything.
//! - An error is reported at its own key and not at the table, because taplo marks everything within the place of an
//!   error.
//! - The required keys of `[topology]`, `[workload]` and `[[fault]]` are required only in a file without `sweep`,
//!   `find` and `point`, because a key that varies may be missing in its table.
//! - Rules between values, and names of links and schemes, are left to `anabranch check`.

mod completion;
mod paths;
mod schemes;
mod tables;
mod value;

pub use completion::{Completion, Completions, completions};

use crate::scenario::keys::section;
use serde_json::{Map, Value, json};

/// A kind of file that has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaOf {
    /// A scenario in a file of its own.
    Scenario,
    /// A scheme in a file of its own.
    Scheme,
    /// A setup in a file of its own.
    Setup,
    /// A figure of a paper.
    Figure,
}

/// The JSON Schema of a kind of file, in draft 2020-12.
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

/// The schema condition that a file varies a value, by `sweep`, `find` or `point`. Such a file is not required to set
/// that value in its tables.
fn varies() -> Value {
    json!({ "anyOf": [{ "required": ["sweep"] }, { "required": ["find"] }, { "required": ["point"] }] })
}

fn scenario() -> Value {
    let mut root = tables::object(section("scenario"), &[]);
    root["if"] = json!({ "not": varies() });
    root["then"] = reference("complete");
    root
}

/// The schema of a figure, which has the keys of a scenario and further keys. The tables `[quick]` and `[paper]` may
/// add keys that the rest of the file lacks.
fn figure() -> Value {
    let mut root = tables::object(section("figure"), &["id", "title"]);
    let of_scenario = tables::object(section("scenario"), &[]);
    let own = root["properties"].as_object_mut().expect("an object has properties");
    for (name, schema) in of_scenario["properties"].as_object().into_iter().flatten() {
        own.entry(name.clone()).or_insert_with(|| schema.clone());
    }
    // In the league, `schemes` may also be a table that names a part of the league. The schemes of that part then run.
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

fn definitions() -> Map<String, Value> {
    let mut all = Map::new();
    tables::define(&mut all);
    schemes::define(&mut all);
    paths::define(&mut all);
    all
}

/// The definitions that a schema uses, directly or through other definitions.
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

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{DEFINITIONS}{name}") })
}
