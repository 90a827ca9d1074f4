//! Schemas of the tables of scenarios and figures, with their required keys.

use super::{reference, value};
use crate::scenario::keys::key_type::KeyType;
use crate::scenario::keys::section::{Key, KeyDefault, Section};
use crate::scenario::keys::series::{PointsOf, SeriesKind};
use crate::scenario::keys::{BY_FILE, all, section};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// A table that permits only the keys of a section.
pub(super) fn object(section: &Section, required: &[&str]) -> Value {
    let properties = section.keys.iter().map(|key| (key.name.to_owned(), value::of_key(key)));
    let mut object = closed(section.meaning, properties.collect());
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

/// A table that permits only the keys of `properties`.
pub(super) fn closed(meaning: &str, properties: Map<String, Value>) -> Value {
    json!({
        "type": "object",
        "description": meaning,
        "properties": properties,
        "additionalProperties": reference(UNKNOWN_KEY),
    })
}

/// The definition that rejects a key. With a plain `false` in its place, taplo would mark the whole table instead of
/// the key.
const UNKNOWN_KEY: &str = "unknown-key";

/// A schema that rejects every value. Because the schema contains `allOf`, taplo neither shows the schema at known
/// keys nor offers it as a completion.
fn unknown_key() -> Value {
    json!({ "allOf": [true], "not": { "title": "unknown key" } })
}

/// A schema that rejects every value except a table.
pub(super) fn tables_alone() -> Value {
    json!({ "allOf": [true], "if": { "not": { "type": "object" } }, "then": reference(UNKNOWN_KEY) })
}

/// A table whose keys follow from the first condition that is true, or else from `otherwise`.
pub(super) fn by_kind(kinds: Vec<(Value, Value)>, otherwise: Value) -> Value {
    kinds.into_iter().rev().fold(
        otherwise,
        |otherwise, (condition, then)| json!({ "if": condition, "then": then, "else": otherwise }),
    )
}

pub(super) fn is_kind(key: &str, kinds: &[&str]) -> Value {
    json!({ "required": [key], "properties": { key: { "enum": kinds } } })
}

pub(super) fn define(definitions: &mut Map<String, Value>) {
    let tables: BTreeSet<&str> =
        all().map(|section| section.table).filter(|table| !table.is_empty()).collect();
    for table in tables {
        let name = name_of(table);
        let sections = sections_of(table);
        match sections[..] {
            _ if table == "[[measure]]" => measures(definitions),
            [only] => drop(definitions.insert(name.to_owned(), object(only, &[]))),
            _ => alternatives(name, &sections, definitions),
        }
    }
    for name in ["quick", "paper"] {
        let mut keys = object(section("scenario"), &[]);
        keys["properties"]["model"] = value::of_key(figure_key("model"));
        keys["description"] = "What is different at this scale.".into();
        definitions.insert(name.to_owned(), keys);
    }
    definitions.insert(UNKNOWN_KEY.to_owned(), unknown_key());
    definitions.insert("observer".to_owned(), json!({ "type": "object", "required": ["kind"] }));
    definitions.insert("point.sweep".to_owned(), json!({ "type": "object" }));
    definitions.insert("complete".to_owned(), complete());
}

/// The sections of a table. Sections that are selected by a file come before those of the same kinds without a file.
fn sections_of(table: &str) -> Vec<&'static Section> {
    let mut sections: Vec<&Section> = all().filter(|section| section.table == table).collect();
    sections.sort_by_key(|section| section.kind.is_some());
    sections
}

fn figure_key(name: &str) -> &'static Key {
    section("figure").keys.iter().find(|key| key.name == name).expect("a figure has the key")
}

fn name_of(table: &str) -> &str {
    table.trim_matches(['[', ']'])
}

/// Defines a table whose `kind` or file selects a section. If neither does, as in `[quick.topology]`, the table may
/// have the keys of any one section.
fn alternatives(name: &str, sections: &[&Section], definitions: &mut Map<String, Value>) {
    let of = |section: &Section| format!("{name}:{}", section.name);
    let references: Vec<Value> = sections.iter().map(|section| reference(&of(section))).collect();
    let kinds: Vec<(&str, &str)> =
        sections.iter().filter_map(|section| Some((section.kind?, section.meaning))).collect();
    let names: Vec<&str> = kinds.iter().map(|(name, _)| *name).collect();
    let has_kind = json!({ "required": ["kind"] });
    let unknown = json!({ "properties": { "kind": { "enum": names } } });
    let part = json!({ "anyOf": references });
    let chain = sections.iter().map(|section| (condition(section), reference(&of(section)))).collect();
    let table = by_kind(chain, json!({ "if": has_kind, "then": unknown, "else": part }));
    let objects: Vec<(&str, Value)> =
        sections.iter().map(|section| (section.name, object(section, &[]))).collect();
    define_kinds(name, table, &kinds, objects, definitions);
}

/// Defines a table that has the keys of its kind, and defines each of its kinds.
pub(super) fn define_kinds(
    name: &str,
    mut table: Value,
    kinds: &[(&str, &str)],
    objects: Vec<(&str, Value)>,
    definitions: &mut Map<String, Value>,
) {
    let any = format!("{name}:any");
    table["type"] = "object".into();
    table["anyOf"] = json!([{}, reference(&any)]);
    definitions.insert(name.to_owned(), table);
    definitions.insert(any, of_any_kind(kinds, &objects));
    definitions.extend(objects.into_iter().map(|(kind, object)| (format!("{name}:{kind}"), object)));
}

/// The keys of all kinds, without repetitions, for editors that do not evaluate conditions. If a key is not the same
/// for all kinds, its description names the kinds.
fn of_any_kind(kinds: &[(&str, &str)], objects: &[(&str, Value)]) -> Value {
    let mut properties = Map::new();
    for (name, schema) in objects.iter().flat_map(|(_, object)| object["properties"].as_object()).flatten() {
        if !properties.contains_key(name) {
            let mut merged = schema.clone();
            let having: Vec<(&str, &Value)> = objects
                .iter()
                .filter_map(|(kind, object)| Some((*kind, object["properties"].get(name)?)))
                .collect();
            if having.iter().any(|(_, other)| other.get("default") != schema.get("default")) {
                merged.as_object_mut().expect("a schema is an object").shift_remove("default");
            }
            let of_all = having.len() == objects.len() && having.iter().all(|(_, other)| *other == schema);
            if !of_all {
                merged["description"] = by_kinds(&having).into();
            }
            properties.insert(name.clone(), merged);
        }
    }
    let (names, meanings): (Vec<&str>, Vec<&str>) = kinds.iter().copied().unzip();
    let list: Vec<String> = kinds.iter().map(|(name, meaning)| format!("`{name}`: {meaning}")).collect();
    let description = list.join("\n\n");
    let docs = json!({ "docs": { "enumValues": meanings } });
    properties["kind"] =
        json!({ "type": "string", "enum": names, "description": description, "x-taplo": docs });
    json!({ "description": description, "properties": properties })
}

/// The descriptions of a key, each preceded by the kinds to which it applies.
fn by_kinds(having: &[(&str, &Value)]) -> String {
    let mut found: Vec<(String, &str)> = Vec::new();
    for (kind, schema) in having {
        let description = schema["description"].as_str().unwrap_or_default();
        match found.iter_mut().find(|(_, known)| *known == description) {
            Some((kinds, _)) => *kinds += &format!(", `{kind}`"),
            None => found.push((format!("`{kind}`"), description)),
        }
    }
    let lines = found.iter().map(|(kinds, description)| format!("{kinds}: {description}"));
    lines.collect::<Vec<_>>().join("\n\n")
}

/// The condition under which a table has the keys of a section. It is about the table's `kind`, its `file`, or both.
fn condition(section: &Section) -> Value {
    let mut conditions = Vec::new();
    match (section.kind, section.keys.iter().find(|key| key.name == "kind").map(|key| key.is)) {
        (Some(kind), _) => conditions.push(is_kind("kind", &[kind])),
        // Without a file, another section has the keys of these kinds.
        (None, Some(KeyType::Choice(kinds))) => {
            conditions.push(json!({ "allOf": [is_kind("kind", kinds), { "required": ["file"] }] }));
        }
        (None, _) => {}
    }
    if let Some((_, end)) = BY_FILE.iter().find(|(name, _)| *name == section.name) {
        let pattern = format!("{}$", end.replace('.', "\\."));
        conditions.push(json!({
            "not": { "required": ["kind"] },
            "required": ["file"],
            "properties": { "file": { "type": "string", "pattern": pattern } },
        }));
    }
    value::any_of(conditions)
}

/// Defines `[[measure]]`, whose keys depend on the objects to which the points of its series belong.
fn measures(definitions: &mut Map<String, Value>) {
    let keys = section("measure").keys;
    let mut chain = Vec::new();
    for points in [PointsOf::Links, PointsOf::Switches, PointsOf::Qps, PointsOf::Acks] {
        for delays in [false, true] {
            let has = |kind: &&SeriesKind| kind.points == points && (kind.name == DELAY) == delays;
            let series: Vec<&str> = SeriesKind::ALL.iter().filter(has).map(|kind| kind.name).collect();
            if series.is_empty() {
                continue;
            }
            let of_these = |key: &&Key| match key.name {
                "above" => delays,
                "by" => points == PointsOf::Links,
                "series" | "every" => true,
                other => other == points.key(),
            };
            let properties =
                keys.iter().filter(of_these).map(|key| (key.name.to_owned(), value::of_key(key)));
            let mut table = closed(section("measure").meaning, properties.collect());
            if points == PointsOf::Acks {
                // The curve has no interval, and the resolved form has a zero in this place.
                table["properties"]["every"] = json!({ "type": "string" });
            }
            table["properties"]["series"] = with_aliases(&table["properties"]["series"]);
            table["required"] = json!([points.key()]);
            let aliases = SeriesKind::ALIASES.iter().filter(|(_, name)| series.contains(name));
            let series: Vec<&str> = series.iter().copied().chain(aliases.map(|(alias, _)| *alias)).collect();
            chain.push((is_kind("series", &series), table));
        }
    }
    let all = object(section("measure"), &["series"]);
    let mut table = by_kind(chain, json!({}));
    table["type"] = "object".into();
    table["description"] = all["description"].clone();
    table["properties"] = all["properties"].clone();
    table["properties"]["every"] = json!({ "type": "string" });
    table["properties"]["series"] = with_aliases(&table["properties"]["series"]);
    table["required"] = all["required"].clone();
    definitions.insert("measure".to_owned(), table);
}

/// The schema of `series` including former names, which editors mark as deprecated.
fn with_aliases(series: &Value) -> Value {
    let mut schema = series.clone();
    let names = json!({ "enum": schema["enum"].take() });
    let aliases = SeriesKind::ALIASES.map(|(alias, name)| {
        json!({ "const": alias, "deprecated": true, "description": format!("The former name of {name}.") })
    });
    schema["anyOf"] = std::iter::once(names).chain(aliases).collect();
    schema.as_object_mut().expect("a schema is an object").remove("enum");
    schema
}

/// The series that accepts the key `above`.
const DELAY: &str = "queue-delay";

/// The required keys of a scenario in which nothing varies.
fn complete() -> Value {
    let needs = |table: &str| {
        let sections = sections_of(table).into_iter();
        let chain = sections.map(|section| (condition(section), needed_keys(section))).collect();
        by_kind(chain, json!({ "required": ["kind"] }))
    };
    json!({
        "required": ["topology", "workload"],
        "if": { "not": { "required": ["scheme"] } },
        "then": { "required": ["schemes"] },
        "properties": {
            "topology": needs("[topology]"),
            "workload": needs("[workload]"),
            "fault": { "items": needs("[[fault]]") },
        },
    })
}

/// The required keys of a table. A key that may instead be in a list of tables below is not required if that list is
/// present.
fn needed_keys(section: &Section) -> Value {
    let is_below = |key: &Key| {
        section.keys.iter().find(|other| match other.is {
            KeyType::Tables(table) => {
                all().any(|below| below.table == table && below.keys.iter().any(|its| its.name == key.name))
            }
            _ => false,
        })
    };
    let required =
        section.keys.iter().filter(|key| key.default == KeyDefault::Required && key.name != "kind");
    let (beside, needed): (Vec<&Key>, Vec<&Key>) = required.partition(|key| is_below(key).is_some());
    let names: Vec<&str> = needed.iter().map(|key| key.name).collect();
    let mut schema = json!({ "required": names });
    if let Some((key, tables)) = beside.first().and_then(|key| Some((key, is_below(key)?))) {
        schema["if"] = json!({ "not": { "required": [tables.name] } });
        schema["then"] = json!({ "required": [key.name] });
    }
    schema
}
