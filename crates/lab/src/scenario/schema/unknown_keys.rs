//! Errors for keys that a table does not have, with the keys that the user probably meant.

use crate::scenario::keys;
use crate::scenario::read::document::{Item, Node};
use crate::scenario::read::key_path::{leaves, whole_value};
use crate::scenario::read::table::{Table, example, fault, name_alone, nearest};
use crate::scenario::read::value::as_list;
use crate::scenario::schema::{cluster_words, nccl_words, parameter_path};
use anabranch_base::{Bytes, Code, Diagnostic, Duration, Fix, Rate, is_misspelt};

/// The keys that belong above all tables.
const TOP_KEYS: [&str; 4] = ["title", "schemes", "seeds", "setup"];

/// Names that other tools use, each with the key that has this meaning here.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("bandwidth", "link"),
    ("rate", "link"),
    ("rate", "probability"),
    ("speed", "link"),
    ("link_rate", "link"),
    ("link_speed", "link"),
    ("latency", "link_latency"),
    ("delay", "link_latency"),
    ("nodes", "hosts"),
    ("servers", "hosts"),
    ("nodes", "servers"),
    ("server_count", "servers"),
    ("planes", "ports"),
    ("rails", "nics"),
    ("rail", "nics"),
    ("hcas", "nics"),
    ("nics_per_server", "nics"),
    ("hcas_per_server", "nics"),
    ("nics_per_node", "nics"),
    ("hcas_per_node", "nics"),
    ("gpus_per_server", "gpus"),
    ("gpus_per_node", "gpus"),
    ("spine_switches", "spines"),
    ("num_spines", "spines"),
    ("core_switches", "cores"),
    ("leaf_uplinks", "uplinks"),
    ("nic_speed", "link"),
    ("nic_rate", "link"),
    ("levels", "tiers"),
    ("layers", "tiers"),
    ("su", "segment"),
    ("su_size", "segment"),
    ("scalable_unit", "segment"),
    ("leaf_radix", "radix"),
    ("leaf_ports", "radix"),
    ("switch_ports", "radix"),
    ("switch_radix", "radix"),
    ("ports_per_switch", "radix"),
    ("nic_ports", "ports"),
    ("group_by", "by"),
    ("per", "by"),
    ("size", "bytes"),
    ("length", "bytes"),
    ("time", "at"),
    ("start", "at"),
    ("begin", "at"),
    ("from", "at"),
    ("end", "until"),
    ("stop", "until"),
    ("to", "until"),
    ("loss", "probability"),
    ("ber", "probability"),
    ("kind", "series"),
    ("interval", "every"),
    ("period", "every"),
    ("time", "max_time"),
    ("minimum", "smallest"),
    ("min", "smallest"),
    ("maximum", "largest"),
    ("max", "largest"),
    ("condition", "where"),
    ("begin", "min_bytes"),
    ("end", "max_bytes"),
    ("stepbytes", "step_bytes"),
    ("stepfactor", "factor"),
    ("gpus", "ranks"),
    ("ngpus", "ranks"),
];

/// The keys for which other tools use this name.
pub fn also_called(name: &str) -> impl Iterator<Item = &'static str> {
    OTHER_NAMES.iter().filter(move |(other, _)| *other == name).map(|(_, key)| *key)
}

/// Rejects keys that are not in `known`.
pub(in crate::scenario) fn only(table: &Table, known: &[&str]) -> Result<(), Diagnostic> {
    let unknown = table.fields.iter().filter(|(key, _)| !known.contains(&key.as_str()));
    let Some((key, node)) = unknown.min_by_key(|(_, node)| node.at) else { return Ok(()) };
    let place = if table.name.is_empty() { String::new() } else { format!(" in {}", table.name) };
    let own = table.fields.get("kind").map(Node::value);
    let other_kinds = keys::kinds_with(&table.name, key, own.as_ref().and_then(toml::Value::as_str));
    let also_called = OTHER_NAMES.iter().find(|(other, name)| other == key && known.contains(name));
    let meant = also_called.map(|(_, name)| *name).or_else(|| near(table, key, known));
    let value = node.value();
    let of_nvidia = nccl_words::hint(table, key, &value).or_else(|| cluster_words::hint(table, key, &value));
    let help = match meant {
        _ if let Some(instead) = of_nvidia => instead,
        _ if table.name.is_empty()
            && key == "faults"
            && !matches!(node.item, Item::Array(_) | Item::Table(_)) =>
        {
            Fix::text("nothing: leave the line out; without a [[fault]] nothing fails")
        }
        _ if table.name.is_empty()
            && let Some(settings) = of_option(key, &value).or_else(|| of_scheme(table, key, node)) =>
        {
            settings
        }
        Some(near)
            if (also_called.is_some() || is_misspelt(key, near))
                && let Some(given) = table.fields.get(near)
                && is_beside(given, node) =>
        {
            let line = given.at.map_or_else(String::new, |(line, _)| format!(" (line {line})"));
            Fix::text(format!("nothing in place of {key}: it follows from {near}{line}"))
        }
        // A key that is written below a table's header belongs to that table.
        _ if !table.name.is_empty() && TOP_KEYS.contains(&key.as_str()) => {
            Fix::text(format!("{key} = {} above the first [table]", node.value()))
        }
        // This is a table of the workload, but it is written at the top.
        _ if table.name.is_empty()
            && matches!(node.item, Item::Table(_))
            && keys::has_table(&format!("[workload.{key}]")) =>
        {
            Fix::text(format!("[workload.{key}]"))
        }
        // If another kind has the key, a similar key of this kind probably means something else.
        _ if also_called.is_none() && !other_kinds.is_empty() => {
            let kinds = other_kinds.join(", ");
            Fix::text(format!("one of {} ({key:?} is a key of {kinds})", known.join(", ")))
        }
        Some(near)
            if matches!(node.item, Item::Leaf(_))
                && (also_called.is_some() || is_misspelt(key, near))
                && is_of_type(near, &node.value()) =>
        {
            let value = match example(near).starts_with('[') {
                true => toml::Value::Array(as_list(&node.value())),
                false => node.value(),
            };
            Fix::Rename { written: near.to_owned(), name: near.to_owned(), value: Some(value.to_string()) }
        }
        Some(near) => name_alone(header(table, near, node), near),
        None => not_here(table, key, &value, known),
    };
    let error = fault(table.file, node.at, format!("unknown key {key:?}{place}"), Some(help));
    Err(Diagnostic { code: Code::UnknownKey, ..error })
}

/// The known key that `key` is near to. One that the table has already, or one that is not misspelt where another table
/// has a key of exactly this name, is hardly meant.
fn near<'a>(table: &Table, key: &str, known: &[&'a str]) -> Option<&'a str> {
    let absent: Vec<&str> =
        known.iter().copied().filter(|known| !table.fields.contains_key(*known)).collect();
    let is_alone = keys::tables_with(key).is_empty();
    let near = nearest(key, &absent).filter(|near| is_alone || is_misspelt(key, near));
    near.or_else(|| nearest(key, known).filter(|near| is_misspelt(key, near)))
}

/// The hint for a key that is near to none of the table.
fn not_here(table: &Table, key: &str, value: &toml::Value, known: &[&str]) -> Fix {
    match &keys::tables_with(key)[..] {
        [place] if *place != table.name && keys::is_of_every(place, key) => {
            in_its_table(table, key, value, place)
        }
        [] => Fix::text(format!("one of {}{}", known.join(", "), of_schemes(key, value))),
        tables => {
            Fix::text(format!("one of {} ({key:?} is a key of {})", known.join(", "), tables.join(", ")))
        }
    }
}

/// The hint for a key that belongs in the table `place` alone.
fn in_its_table(table: &Table, key: &str, value: &toml::Value, place: &str) -> Fix {
    match place {
        "[workload.server]" => nccl_words::of_server(table, key, Some(value.to_string())),
        _ => Fix::text(format!("{key} = {value} below {place}")),
    }
}

/// The option of a command that has the name of the key.
fn of_option(key: &str, value: &toml::Value) -> Option<Fix> {
    (key == "dilation").then(|| {
        Fix::text(format!(
            "nothing: leave the line out; it is an option: anabranch testbed SCENARIO --dilation {value}"
        ))
    })
}

/// The settings for a table with the name of a scheme.
fn of_scheme(table: &Table, key: &str, node: &Node) -> Option<Fix> {
    let Item::Table(fields) = &node.item else { return None };
    let schemes = table.node("schemes")?.value();
    schemes.as_array()?.iter().find(|scheme| scheme.as_str() == Some(key))?;
    let mut found = Vec::new();
    leaves(key, fields, &whole_value, &mut found);
    let settings = found.iter().map(|(path, node)| format!("\"{path}\" = {}", node.value()));
    let settings = settings.collect::<Vec<_>>().join(", ");
    Some(Fix::text(match settings.is_empty() {
        true => format!("[set] and below it parameters of {key}, such as \"{key}.qps\" = 4"),
        false => format!("{settings} below [set]"),
    }))
}

/// Whether two keys are probably in one table, because they have the same line or column. The place of a value that a
/// sweep adds is in the sweep.
fn is_beside(one: &Node, other: &Node) -> bool {
    let (Some((line, column)), Some((other_line, other_column))) = (one.at, other.at) else { return false };
    line == other_line || column == other_column
}

/// A hint that the key is a parameter of schemes; empty if it is not.
fn of_schemes(key: &str, value: &toml::Value) -> String {
    let meant = parameter_path::path_of(key, std::slice::from_ref(value)).map(|meant| meant.path);
    match meant.filter(|path| path.rsplit('.').next() == Some(key)) {
        Some(path) => format!(" ({key:?} is a parameter of schemes: \"*.{path}\" = {value} below [set])"),
        None => String::new(),
    }
}

/// The key `near` in the form in which `node` is written: a table or a list of tables has a header.
fn header(table: &Table, near: &str, node: &Node) -> String {
    let within = table.name.trim_matches(['[', ']']);
    let path = if within.is_empty() { near.to_owned() } else { format!("{within}.{near}") };
    match &node.item {
        Item::Table(_) if keys::has_table(&format!("[[{path}]]")) => format!("[[{path}]]"),
        Item::Table(_) => format!("[{path}]"),
        Item::Array(nodes)
            if !nodes.is_empty() && nodes.iter().all(|node| matches!(node.item, Item::Table(_))) =>
        {
            format!("[[{path}]]")
        }
        _ => near.to_owned(),
    }
}

/// Whether a value has the type of a key's example. Any value fits an example that is a list, because it can become an
/// element of the list.
fn is_of_type(key: &str, value: &toml::Value) -> bool {
    let example: Option<toml::Table> = toml::from_str(&format!("key = {}", example(key))).ok();
    match example.as_ref().and_then(|table| table.get("key")) {
        Some(toml::Value::Array(_)) | None => true,
        Some(example) => type_of(example) == type_of(value),
    }
}

/// A word for the type of a value. A text that can be read as a time, size or rate has that type.
fn type_of(value: &toml::Value) -> &'static str {
    match value {
        toml::Value::Integer(_) | toml::Value::Float(_) => "number",
        toml::Value::String(text) if text.parse::<Duration>().is_ok() => "time",
        toml::Value::String(text) if text.parse::<Bytes>().is_ok() => "size",
        toml::Value::String(text) if text.parse::<Rate>().is_ok() => "rate",
        other => other.type_str(),
    }
}
