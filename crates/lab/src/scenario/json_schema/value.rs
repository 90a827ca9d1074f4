//! Schemas of the values of keys and of parameters.

use super::reference;
use crate::scenario::keys::key_type::{Ends, High, KeyType, Low};
use crate::scenario::keys::section::{Key, KeyDefault};
use crate::scenario::read::key_path::as_toml;
use anabranch_base::{Parameter, RATE_FORM, SIZE_FORM, TIME_FORM, ValueForm};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A decimal number before a unit.
const NUMBER: &str = r"(\d+\.?\d*|\.\d+)\s*";
/// A decimal number above 0.
const ABOVE_ZERO: &str = r"(\d*[1-9]\d*\.?\d*|\d*\.\d*[1-9]\d*)\s*";

pub(super) fn of_key(key: &Key) -> Value {
    let mut schema = of_type(&key.is);
    let default = match key.default {
        KeyDefault::Required => "Required.".to_owned(),
        KeyDefault::Value(value) => format!("Default: {value}."),
        KeyDefault::Described(words) => format!("Default: {words}."),
    };
    schema["description"] = format!("{} ({}) {default}", key.meaning, key.is).into();
    if let KeyDefault::Value(value) = key.default
        && let Some(value) = from_toml(value)
    {
        schema["default"] = value;
    }
    if let Some(example) = Some(key.example()).filter(|_| key.name != "kind").and_then(from_toml) {
        schema["examples"] = json!([example]);
    }
    schema
}

fn from_toml(text: &str) -> Option<Value> {
    serde_json::to_value(as_toml(text)?).ok()
}

fn of_type(is: &KeyType) -> Value {
    match is {
        KeyType::Bool => json!({ "type": "boolean" }),
        KeyType::Text(_) | KeyType::File(_) => json!({ "type": "string" }),
        KeyType::Name => json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]+$" }),
        KeyType::Selector(_) => json!({ "type": "string", "pattern": r"\S" }),
        KeyType::Set { of, .. } => {
            json!({ "type": "array", "items": of_type(of), "minItems": 1, "uniqueItems": true })
        }
        KeyType::Word(word) => json!({ "type": "string", "enum": [word] }),
        KeyType::Choice(words) => json!({ "type": "string", "enum": words }),
        KeyType::Whole(ends) => of_number("integer", ends),
        KeyType::Even(least) => json!({ "type": "integer", "minimum": least, "multipleOf": 2 }),
        KeyType::Host => json!({ "type": "integer", "minimum": 0 }),
        KeyType::Number(ends) => of_number("number", ends),
        KeyType::Size(ends) => of_quantity("", &[SIZE_FORM], is_above_zero(ends)),
        KeyType::Time(ends) => of_quantity("", &[TIME_FORM], is_above_zero(ends)),
        KeyType::Rate(ends) => of_quantity("", &[RATE_FORM], is_above_zero(ends)),
        KeyType::Ratio => {
            json!({ "type": "string", "pattern": format!(r"^\s*{ABOVE_ZERO}:\s*{ABOVE_ZERO}$") })
        }
        KeyType::List { of, least, most, .. } => {
            let mut list = json!({ "type": "array", "minItems": least });
            if let Some(of) = of {
                list["items"] = of_type(of);
            }
            if let Some(most) = most {
                list["maxItems"] = (*most).into();
            }
            list
        }
        KeyType::OneOrMore(of) => {
            let one = of_type(of);
            let several = json!({ "type": "array", "items": one, "minItems": 1 });
            of_types(vec![one, several])
        }
        KeyType::Either(types) => of_types(types.iter().map(of_type).collect()),
        KeyType::Table(name) => reference(name.trim_matches(['[', ']'])),
        KeyType::Tables(name) => {
            json!({ "type": "array", "items": reference(name.trim_matches(['[', ']'])) })
        }
    }
}

/// The schema of a value of one of several types. If possible, it is a single schema without `anyOf`, because an error
/// then names the types.
fn of_types(schemas: Vec<Value>) -> Value {
    let mut types = Vec::new();
    let mut together = Map::new();
    for schema in &schemas {
        for (condition, value) in schema.as_object().into_iter().flatten() {
            match (condition.as_str(), together.contains_key(condition)) {
                ("type", _) if value.is_string() && value != "boolean" && !types.contains(value) => {
                    types.push(value.clone());
                }
                ("pattern" | "minimum" | "items" | "minItems" | "maxItems", false) => {
                    together.insert(condition.clone(), value.clone());
                }
                _ => return json!({ "anyOf": schemas }),
            }
        }
    }
    together.insert("type".to_owned(), types.into());
    Value::Object(together)
}

fn is_above_zero<T>(ends: &Ends<T>) -> bool {
    // The lower ends of periods, and of times that must exceed another key, are above 0 too.
    !matches!(ends.low, Low::Any)
}

fn of_number<T: Serialize + Copy>(name: &str, ends: &Ends<T>) -> Value {
    let mut schema = json!({ "type": name });
    match ends.low {
        Low::AboveZero => schema["exclusiveMinimum"] = 0.into(),
        Low::From(low) => schema["minimum"] = json!(low),
        Low::Any | Low::AfterKey(_) => {}
    }
    match ends.high {
        High::To(high) => schema["maximum"] = json!(high),
        High::Below(high) => schema["exclusiveMaximum"] = json!(high),
        High::Any | High::BelowKey(_) | High::Hosts | High::HostsButOne => {}
    }
    schema
}

/// An optional `+`, with which a size of a scheme is added to the size of its setup.
const SIGN: &str = r"\+?\s*";

/// The schema of text in one of the forms, preceded by text that matches `before`.
fn of_quantity(before: &str, forms: &[&str], is_above_zero: bool) -> Value {
    let number = if is_above_zero { ABOVE_ZERO } else { NUMBER };
    let forms: Vec<String> = forms.iter().map(|form| form.replace('#', number)).collect();
    json!({ "type": "string", "pattern": format!(r"^\s*{before}({})\s*$", forms.join("|")) })
}

pub(super) fn of_parameter(parameter: &Parameter) -> Value {
    let mut schema = match (parameter.form(), parameter.choices()) {
        (ValueForm::Text, []) => json!({ "type": "string" }),
        (ValueForm::Text, words) => json!({ "type": "string", "enum": words }),
        (ValueForm::Flag, _) => json!({ "type": "boolean" }),
        (ValueForm::Whole, _) => json!({ "type": "integer" }),
        (ValueForm::Number, _) => json!({ "type": "number" }),
        (ValueForm::Quantity(forms), _) => of_quantity(SIGN, forms, parameter.is_above_zero()),
    };
    if matches!(parameter.form(), ValueForm::Whole | ValueForm::Number) {
        let (least, most) = parameter.ends();
        if parameter.is_above_zero() {
            schema["exclusiveMinimum"] = 0.into();
        }
        if let Some(least) = least {
            schema["minimum"] = json!(least);
        }
        if let Some(most) = most {
            schema["maximum"] = json!(most);
        }
    }
    let facts = [("Unit", parameter.unit().to_owned()), ("Range", parameter.range())];
    let facts = facts.into_iter().chain([("Source", parameter.source().to_owned())]);
    let facts = facts.filter(|(_, fact)| !fact.is_empty());
    let facts: String = facts.map(|(name, fact)| format!(" {name}: {fact}.")).collect();
    schema["description"] = format!("{}{facts}", parameter.meaning()).into();
    if let Some(default) = parameter.default() {
        schema["default"] = json!(default);
    }
    if let Some(example) = parameter.example() {
        schema["examples"] = json!([example]);
    }
    schema
}

/// A schema that permits the values of any of several schemas. Among schemas that permit equal values only the first
/// is kept. A default or an example in which they differ is removed.
pub(super) fn any_of(schemas: Vec<Value>) -> Value {
    let mut found: Vec<Value> = Vec::new();
    for schema in schemas {
        match found.iter_mut().find(|known| permitted(known) == permitted(&schema)) {
            Some(known) => forget_differences(known, &schema),
            None => found.push(schema),
        }
    }
    match found.len() {
        1 => found.remove(0),
        _ => json!({ "anyOf": found }),
    }
}

const ANNOTATIONS: [&str; 3] = ["description", "default", "examples"];

/// A schema without its annotations.
fn permitted(schema: &Value) -> Value {
    let mut plain = schema.clone();
    let fields = plain.as_object_mut().expect("a schema is an object");
    ANNOTATIONS.iter().for_each(|name| drop(fields.shift_remove(*name)));
    plain
}

fn forget_differences(known: &mut Value, other: &Value) {
    let fields = known.as_object_mut().expect("a schema is an object");
    for name in ["default", "examples"] {
        if fields.get(name) != other.get(name) {
            fields.shift_remove(name);
        }
    }
}
