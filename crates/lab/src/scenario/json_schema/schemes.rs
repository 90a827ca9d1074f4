//! Schemas of schemes and setups, whose parts contain the parameters.

use super::tables::{by_kind, closed, define_kinds, is_kind, object};
use super::{reference, value};
use crate::scenario::keys::section;
use crate::scenario::resolve::scheme::catalog::{KindListing, Registry};
use crate::scenario::schema::parameter_path::PRESET;
use anabranch_base::Parameter;
use anabranch_proto::cc::{DcqcnConfig, NsccConfig};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The parts of a scheme that have kinds.
pub(super) const PARTS: [&str; 4] = ["transport", "cc", "lb", "fabric.program"];

/// The kinds of a part of schemes. The parameters of the fabric, and those of the scheme itself, belong to a single
/// kind without a name.
pub(super) fn kinds(part: &str) -> Vec<KindListing> {
    let parts = Registry::new().parts();
    parts.into_iter().find(|listing| listing.part == part).map(|listing| listing.kinds).unwrap_or_default()
}

/// The schema of a scheme, which is either complete or has a base.
pub(super) fn file() -> Value {
    let mut scheme = definition();
    scheme["required"] = json!(["name"]);
    scheme["if"] = json!({ "not": { "required": ["base"] } });
    scheme["then"] = json!({ "required": ["transport", "cc", "lb", "fabric"] });
    scheme
}

fn definition() -> Value {
    let mut scheme = object(section("scheme"), &[]);
    for parameter in own().iter().filter(|parameter| !parameter.name().contains('.')) {
        scheme["properties"][parameter.name()] = value::of_parameter(parameter);
    }
    scheme
}

/// The parameters of a scheme outside its parts.
fn own() -> Vec<Parameter> {
    kinds("").into_iter().flat_map(|kind| kind.parameters).collect()
}

pub(super) fn define(definitions: &mut Map<String, Value>) {
    definitions.insert("scheme".to_owned(), file());
    for part in PARTS {
        let kinds = kinds(part);
        define_part(part, &kinds, definitions);
        if part != "fabric.program" {
            definitions.insert(format!("setup.{part}"), of_setup(part, &kinds));
        }
    }
    let fabric: Vec<Parameter> = kinds("fabric").into_iter().flat_map(|kind| kind.parameters).collect();
    let mut properties = tree(&fabric);
    definitions
        .insert("setup.fabric".to_owned(), closed("What the setup says of switches.", properties.clone()));
    properties.insert("program".to_owned(), reference("fabric.program"));
    definitions.insert("fabric".to_owned(), closed("What the switches do for a scheme.", properties));
    let mixed = own().into_iter().filter(|parameter| parameter.name().starts_with("mix."));
    let mut mix = tree(&mixed.map(|parameter| parameter.without_table("mix")).collect::<Vec<_>>());
    mix.insert("lb".to_owned(), reference("lb"));
    let mut mix = closed("Hosts whose load balancer differs from that of the others.", mix);
    mix["required"] = json!(["every", "lb"]);
    definitions.insert("mix".to_owned(), mix);
}

/// Defines a part of schemes. It contains a kind with its parameters, or else parameters that change this part of the
/// base, whichever kind the base has there.
fn define_part(part: &str, kinds: &[KindListing], definitions: &mut Map<String, Value>) {
    let mut chain = Vec::new();
    let mut objects = Vec::new();
    let named = || kinds.iter().filter_map(|kind| Some((kind.name.as_deref()?, kind)));
    let names: Vec<&str> = named().map(|(name, _)| name).collect();
    for (name, kind) in named() {
        let mut properties =
            Map::from_iter([("kind".to_owned(), json!({ "enum": [name], "description": kind.meaning }))]);
        properties.append(&mut tree(&with_preset(part, kind)));
        chain.push((is_kind("kind", &[name]), reference(&format!("{part}:{name}"))));
        objects.push((name, closed(&kind.meaning, properties)));
    }
    let unknown = json!({ "properties": { "kind": { "enum": names } } });
    let settings = closed("Parameters of the base's part, whichever kind it is.", of_all(part, kinds));
    let otherwise = json!({ "if": { "required": ["kind"] }, "then": unknown, "else": settings });
    let meanings: Vec<(&str, &str)> = named().map(|(name, kind)| (name, kind.meaning.as_str())).collect();
    define_kinds(part, by_kind(chain, otherwise), &meanings, objects, definitions);
}

/// The parameters of a kind. DCQCN and NSCC have one more, the preset, which sets all their parameters together.
fn with_preset(part: &str, kind: &KindListing) -> Vec<Parameter> {
    let mut parameters = kind.parameters.clone();
    let of_cc = PRESET.split_once('.').is_some_and(|(of, _)| of == part);
    match kind.name.as_deref().filter(|_| of_cc) {
        Some("dcqcn") => parameters.push(preset(&DcqcnConfig::PRESETS)),
        Some("nscc") => parameters.push(preset(&NsccConfig::PRESETS)),
        _ => {}
    }
    parameters
}

/// The parameter that sets all parameters of a congestion control to those of a published source.
pub(super) fn preset(names: &'static [&'static str]) -> Parameter {
    let name = PRESET.rsplit('.').next().unwrap_or_default();
    let is_known = |preset: &String| names.contains(&preset.as_str());
    let rule = format!("be one of {}", names.join(", "));
    Parameter::required::<String>(name, "All parameters, as this source has them.").must(rule, is_known)
}

/// The parameters of all kinds of a part. If the permitted values of a parameter differ by kind, the values of all
/// kinds are permitted.
fn of_all(part: &str, kinds: &[KindListing]) -> Map<String, Value> {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for kind in kinds {
        for (name, schema) in tree(&with_preset(part, kind)) {
            let is_table = schema["properties"].is_object();
            let schema = if is_table { schema } else { reference(&format!("parameter:{part}.{name}")) };
            let known = found.entry(name).or_default();
            if !known.contains(&schema) {
                known.push(schema);
            }
        }
    }
    found.into_iter().map(|(name, schemas)| (name, value::any_of(schemas))).collect()
}

/// The schema of a part of a setup: parameters that apply to every kind with such a parameter, and tables for single
/// kinds.
fn of_setup(part: &str, kinds: &[KindListing]) -> Value {
    let mut properties = of_all(part, kinds);
    for kind in kinds {
        let Some(name) = &kind.name else { continue };
        let own = closed(&kind.meaning, tree(&with_preset(part, kind)));
        if kind.parameters.iter().any(|parameter| parameter.name().starts_with("credit.")) {
            properties.insert(format!("{name}-credit"), own.clone());
        }
        let schemas = properties.remove(name).into_iter().chain([own]).collect();
        properties.insert(name.clone(), value::any_of(schemas));
    }
    closed(&format!("What the setup says of each {part}."), properties)
}

/// The schema properties of parameters. A parameter with a dot in its name is in a table. A parameter with `[]` in its
/// name is in a list of tables.
pub(super) fn tree(parameters: &[Parameter]) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut tables: BTreeMap<&str, Vec<Parameter>> = BTreeMap::new();
    for parameter in parameters {
        match parameter.name().split_once('.') {
            None => drop(properties.insert(parameter.name().to_owned(), value::of_parameter(parameter))),
            Some((table, _)) => {
                tables.entry(table).or_default().push(parameter.clone().without_table(table));
            }
        }
    }
    for (table, parameters) in tables {
        let below = closed(&format!("`{table}` of this part."), tree(&parameters));
        let (name, below) = match table.strip_suffix("[]") {
            Some(name) => (name, json!({ "type": "array", "items": below })),
            None => (table, below),
        };
        properties.insert(name.to_owned(), below);
    }
    properties
}
