//! Schemas of `[set]` and `[sweep]`, where keys and parameters are named by their paths.

use super::reference;
use super::schemes::{PARTS, kinds, preset, tree};
use super::tables::tables_alone;
use super::value::{any_of, of_key};
use crate::scenario::keys::sections;
use anabranch_proto::cc::{DcqcnConfig, NsccConfig};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The schema of the values of each scheme parameter. The keys are the paths of the parameters, such as `lb.buffer`.
fn parameters() -> BTreeMap<String, Value> {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut add = |path: String, schema: Value| {
        let known = found.entry(path).or_default();
        if !known.contains(&schema) {
            known.push(schema);
        }
    };
    for part in ["", "fabric"].into_iter().chain(PARTS) {
        for kind in kinds(part) {
            let mut leaves = Vec::new();
            flatten(part, &tree(&kind.parameters), &mut leaves);
            leaves.into_iter().for_each(|(path, schema)| add(path, schema));
        }
    }
    for names in [&DcqcnConfig::PRESETS[..], &NsccConfig::PRESETS[..]] {
        for (path, schema) in tree(&[preset(names)]) {
            add(format!("cc.{path}"), schema);
        }
    }
    found.into_iter().map(|(path, schemas)| (path, any_of(schemas))).collect()
}

fn flatten(at: &str, properties: &Map<String, Value>, leaves: &mut Vec<(String, Value)>) {
    for (name, schema) in properties {
        let path = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
        match schema["properties"].as_object() {
            Some(below) => flatten(&path, below, leaves),
            None => leaves.push((path, schema.clone())),
        }
    }
}

/// The schema of the values of each key of the topology, the workload, the classes and the faults. The path of the
/// key is a regular expression.
fn keys() -> BTreeMap<String, Value> {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for section in sections() {
        let table = section.table.trim_matches(['[', ']']);
        let part = table.split('.').next().unwrap_or_default();
        // The number of an element follows the name of its list.
        let path = match (part, section.table.starts_with("[[")) {
            ("topology" | "workload" | "class" | "fault", true) => {
                format!(r"{}\.\d+", table.replace('.', r"\."))
            }
            ("topology" | "workload" | "fault", false) => table.replace('.', r"\."),
            _ => continue,
        };
        // The workload of a class has these keys too.
        let path = if part == "workload" { format!(r"(class\.\d+\.)?{path}") } else { path };
        for key in section.keys.iter().filter(|key| !key.is_table()) {
            let known = found.entry(format!(r"{path}\.{}", key.name)).or_default();
            let schema = of_key(key);
            if !known.contains(&schema) {
                known.push(schema);
            }
        }
    }
    found.into_iter().map(|(path, schemas)| (path, any_of(schemas))).collect()
}

pub(super) fn define(definitions: &mut Map<String, Value>) {
    let parameters = parameters();
    let value_of = |path: &str| reference(&format!("parameter:{path}"));
    let list_of = |path: &str| json!({ "type": "array", "items": value_of(path), "minItems": 1 });
    // A table in place of a value groups paths, or is a whole part of a scheme.
    let table = tables_alone();
    let of_scheme = |of: &dyn Fn(&str) -> Value, before: &str| -> Map<String, Value> {
        parameters.keys().map(|path| (format!("{before}{path}"), of(path))).collect()
    };
    let of_schemes = |of: &dyn Fn(&str) -> Value| -> Map<String, Value> {
        parameters
            .keys()
            .map(|path| (format!(r"^[A-Za-z0-9_-]+\.{}$", path.replace('.', r"\.")), of(path)))
            .collect()
    };
    definitions.insert(
        "scheme.set".to_owned(),
        json!({
            "type": "object",
            "description": "Parameters by their paths: `\"lb.buffer\" = 16`.",
            "properties": of_scheme(&value_of, ""),
            "additionalProperties": table,
        }),
    );
    definitions.insert(
        "set".to_owned(),
        json!({
            "type": "object",
            "description": "Parameters of schemes by their paths: `\"reps.lb.buffer\" = 16`, `\"*.fabric.queue\" = \"2MB\"`.",
            "properties": of_scheme(&value_of, "*."),
            "patternProperties": of_schemes(&value_of),
            "additionalProperties": table,
        }),
    );
    let mut patterns = of_schemes(&list_of);
    let mut properties = of_scheme(&list_of, "*.");
    for (path, schema) in keys() {
        let list = json!({ "type": "array", "items": schema, "minItems": 1 });
        match path.contains(r"\d") {
            true => patterns.insert(format!("^{path}$"), list),
            false => properties.insert(path.replace('\\', ""), list),
        };
    }
    let lists = json!({ "type": ["object", "array"] });
    definitions.insert(
        "sweep.lists".to_owned(),
        json!({
            "type": "object",
            "properties": properties,
            "patternProperties": patterns,
            "additionalProperties": lists,
        }),
    );
    let zip = json!({ "type": "array", "items": reference("sweep.lists") });
    definitions.insert(
        "sweep".to_owned(),
        json!({
            "description": "Lists of values, by the paths of the parameters. Each combination of values has its runs. The parameters of a `[[sweep.zip]]` change together.",
            "type": "object",
            "allOf": [reference("sweep.lists")],
            "properties": { "zip": zip },
        }),
    );
    definitions.extend(parameters.into_iter().map(|(path, schema)| (format!("parameter:{path}"), schema)));
}
