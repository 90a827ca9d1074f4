//! `anabranch list keys`: the keys of a scenario outside its schemes.

use super::parameters::Form;
use crate::failure::{Failure, did_you_mean};
use crate::output::{print, print_json};
use anabranch_base::nearest;
use anabranch_sim::scenario::{Key, KeyDefault, KeyType, Section, also_called, sections};
use serde_json::{Value, json};

/// Prints the keys of all tables, or those of one table or kind.
///
/// # Errors
/// A name that no table and no kind has, or a standard output that cannot be written.
pub fn list(wanted: Option<&str>, form: Form) -> Result<(), Failure> {
    let all: Vec<&Section> = sections().iter().collect();
    let chosen = match wanted {
        None => all,
        Some(wanted) => {
            let found: Vec<&Section> = all.into_iter().filter(|section| is_called(section, wanted)).collect();
            if found.is_empty() {
                let names: Vec<&str> = sections().iter().map(|section| section.name).collect();
                let near = did_you_mean(wanted, names.iter().copied());
                return Err(Failure::Input(format!(
                    "no table of a scenario and no kind is called {wanted:?}{near}\n  help: there are {}",
                    names.join(", ")
                )));
            }
            found
        }
    };
    match form {
        Form::Text => print(&chosen.iter().map(|section| text(section)).collect::<Vec<_>>().join("\n")),
        Form::Markdown => print(&markdown(&chosen)),
        Form::Json => {
            let rows = chosen.iter().flat_map(|section| section.keys.iter().map(|key| row(section, key)));
            let tables = chosen.iter().map(|section| {
                json!({ "section": section.name, "table": section.table, "kind": section.kind, "meaning": section.meaning })
            });
            print_json(&json!({ "tables": tables.collect::<Vec<_>>(), "keys": rows.collect::<Vec<_>>() }))
        }
    }
}

/// The entries of a key. `wanted` is the key's name, with or without the table or the kind before it
/// (`workload.connections`, `collective.connections`).
pub fn entries(wanted: &str) -> Vec<(&'static Section, &'static Key)> {
    let (of, name) = match wanted.rsplit_once('.') {
        // A sweep names a fault or a measure with its number (`fault.0.at`). The number is removed.
        Some((of, name)) => {
            (Some(of.trim_end_matches(|letter: char| letter == '.' || letter.is_ascii_digit())), name)
        }
        None => (None, wanted),
    };
    let here = move |section: &&Section| of.is_none_or(|of| is_called(section, of));
    let all = sections().iter().filter(here);
    all.flat_map(|section| section.keys.iter().filter(|key| key.name == name).map(move |key| (section, key)))
        .collect()
}

pub fn names<'a>() -> impl Iterator<Item = &'a str> {
    sections().iter().flat_map(|section| section.keys.iter().map(|key| key.name))
}

/// The key that an unknown name probably means: a key for which another tool uses that name, or else the most similar
/// key of the same table.
pub fn meant(wanted: &str) -> Option<String> {
    let (table, name) = wanted.rsplit_once('.').map_or((None, wanted), |(table, name)| (Some(table), name));
    let whole = |key: &str| table.map_or_else(|| key.to_owned(), |table| format!("{table}.{key}"));
    let called = also_called(name).map(whole).find(|key| !entries(key).is_empty());
    called.or_else(|| {
        let beside = sections().iter().filter(|section| table.is_some_and(|table| is_called(section, table)));
        let known: Vec<&str> = beside.flat_map(|section| section.keys).map(|key| key.name).collect();
        nearest(name, &known).map(whole)
    })
}

/// The kinds of a table, with their meanings and the keys that they require.
pub fn kinds(table: &str) -> Vec<(String, String)> {
    let of_table = sections().iter().filter(|section| section.table == table);
    let row = |section: &Section| {
        let needed =
            section.keys.iter().filter(|key| key.default == KeyDefault::Required && key.name != "kind");
        let needed: Vec<&str> = needed.map(|key| key.name).collect();
        let meaning = section.meaning.trim_end_matches('.').replace('`', "");
        Some((section.kind?.to_owned(), format!("{meaning} ({})", needed.join(", "))))
    };
    of_table.filter_map(row).collect()
}

pub fn is_section(wanted: &str) -> bool {
    sections().iter().any(|section| is_called(section, wanted))
}

pub fn entry(section: &Section, key: &Key) -> String {
    let rows = [
        ("may be", key.is.to_string().replace('`', "")),
        ("default", default(key, "")),
        ("example", example(key).to_owned()),
        ("keys", keys_below(key)),
    ];
    let rows = rows.iter().filter(|(_, value)| !value.is_empty());
    let rows: String = rows.map(|(name, value)| format!("  {name:<8} {value}\n")).collect();
    format!("{} ({}): {}\n{rows}", key.name, heading(section), key.meaning.replace('`', ""))
}

/// If the value of `key` is a table: the keys or the kinds of this table. Otherwise, the text is empty.
fn keys_below(key: &Key) -> String {
    let (KeyType::Table(table) | KeyType::Tables(table)) = key.is else { return String::new() };
    let below: Vec<&Section> = sections().iter().filter(|section| section.table == table).collect();
    let names = |names: Vec<&str>| names.join(", ");
    match below[..] {
        [] => String::new(),
        [only] => {
            let keys = names(only.keys.iter().map(|key| key.name).collect());
            format!("{keys}; `anabranch docs {}` explains them", only.name)
        }
        [first, ..] => {
            let kinds = names(below.iter().map(|section| section.name).collect());
            format!("by kind ({kinds}); `anabranch docs {}` explains those of one", first.name)
        }
    }
}

pub fn row(section: &Section, key: &Key) -> Value {
    let default = match key.default {
        KeyDefault::Value(value) => Some(value),
        KeyDefault::Required | KeyDefault::Described(_) => None,
    };
    json!({
        "table": section.table,
        "kind": section.kind,
        "section": section.name,
        "name": key.name,
        "may_be": key.is.to_string().replace('`', ""),
        "type": key.is,
        "marked": { "may_be": key.is.to_string(), "default": self::default(key, "`") },
        "needed": key.default == KeyDefault::Required,
        "default": default,
        "unless_said": self::default(key, ""),
        "example": example(key),
        "meaning": key.meaning,
    })
}

fn is_called(section: &Section, wanted: &str) -> bool {
    section.name == wanted || section.table.trim_matches(['[', ']']) == wanted
}

fn heading(section: &Section) -> String {
    match (section.table, section.kind) {
        ("", _) => "above all tables".to_owned(),
        (table, Some(kind)) => format!("{table}, kind = {kind:?}"),
        (table, None) => match section.name {
            "topo-file" => format!("{table}, file = \"x.topo\""),
            _ => table.to_owned(),
        },
    }
}

fn default(key: &Key, mark: &str) -> String {
    match key.default {
        KeyDefault::Required => "required".to_owned(),
        KeyDefault::Value(value) => format!("{mark}{value}{mark}"),
        KeyDefault::Described(words) if mark.is_empty() => words.replace('`', ""),
        KeyDefault::Described(words) => words.to_owned(),
    }
}

fn example(key: &Key) -> &'static str {
    if key.is_table() || key.name == "kind" { "" } else { key.example() }
}

fn text(section: &Section) -> String {
    let mut text = format!("{}: {}\n", heading(section), section.meaning.replace('`', ""));
    let width = section.keys.iter().map(|key| key.name.len()).max().unwrap_or(0);
    // Defaults of more than 30 bytes are not counted, because they would move all meanings far to the right.
    let defaults = section.keys.iter().map(|key| default(key, "").len());
    let wide = defaults.filter(|length| *length <= 30).max().unwrap_or(0);
    for key in section.keys {
        text.push_str(&format!(
            "  {:width$}  {:wide$}  {} ({})\n",
            key.name,
            default(key, ""),
            key.meaning.replace('`', ""),
            key.is.to_string().replace('`', "")
        ));
    }
    text
}

fn markdown(sections: &[&Section]) -> String {
    let mut text = "# Keys of a scenario\n\n\
        Every key outside the schemes, from its declaration in the code, by which scenarios are read: what is not here is an \
        error. Parameters of schemes, which `[set]` and `[sweep]` take, are [on a page of their own](parameters.md). Sizes, \
        times and rates are in quotes, with a unit. `anabranch list keys` prints the same, `anabranch docs workload.load` one \
        of them. Names of links and switches are in [Scenarios](../scenario.md).\n\n\
        This page is generated: `cargo xtask reference` renews it.\n"
        .to_owned();
    for section in sections {
        let head = match section.table {
            "" => "Above all tables".to_owned(),
            _ => format!("`{}`", heading(section)),
        };
        text.push_str(&format!(
            "\n## {head}\n\n{}\n\n| key | may be | default | example | meaning |\n|---|---|---|---|---|\n",
            section.meaning
        ));
        for key in section.keys {
            let code = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
            let cells = [
                code(key.name),
                key.is.to_string(),
                default(key, "`"),
                code(example(key)),
                key.meaning.to_owned(),
            ];
            text.push_str(&format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | ")));
        }
    }
    text
}
