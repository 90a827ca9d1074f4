//! The parameters of schemes by their paths: the existing paths, and the one that a wrong path probably means.

use crate::scenario::read::table::{name_alone, nearest};
use crate::scenario::schema::declared_table::coerce;
use crate::scenario::schema::{parameter_path, parameters};
use anabranch_base::{Fix, Parameter, is_misspelt};
use anabranch_engine::Scheme;
use std::collections::BTreeSet;

const PARTS: [&str; 5] = ["fabric", "transport", "cc", "lb", "mix"];

/// The parameter that sets all parameters of DCQCN or of NSCC together. Its value is the name of a preset.
pub(in crate::scenario) const PRESET: &str = "cc.preset";

/// Parameters, each with another one of its table that it replaces. A new buffer is not scaled, unless `buffer_rate`
/// is set with it or after it.
pub(in crate::scenario) const INSTEAD_OF: [(&str, &str); 8] = [
    ("fabric.pfc", "queue"),
    ("fabric.pfc", "full_queue"),
    ("fabric.pfc.alpha", "threshold"),
    ("fabric.pfc.threshold", "alpha"),
    ("fabric.pfc.buffer", "buffer_rate"),
    ("fabric.queue", "pfc"),
    ("fabric.wrr.radix", "weight"),
    ("fabric.wrr.weight", "radix"),
];

pub(in crate::scenario) fn is_part(word: &str) -> bool {
    PARTS.contains(&word)
}

/// A parameter that the user may have meant. `takes_value` is true if the written value is meant for it and valid.
#[derive(Debug, PartialEq)]
pub(in crate::scenario) struct Meant {
    pub path: String,
    pub takes_value: bool,
}

impl Meant {
    /// The text to write for all schemes: the whole setting, or only the name.
    pub(in crate::scenario) fn of_all_schemes(&self, value: &toml::Value) -> Fix {
        let written = format!("\"*.{}\"", self.path);
        match self.takes_value {
            true => Fix::set(written, value),
            false => name_alone(written, last(&self.path)),
        }
    }
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or_default()
}

/// Whether the last word of `path` is a misspelling of the last word of `other`, or another tool's name for that
/// parameter. A word that is only similar may mean something else.
pub(in crate::scenario) fn is_another_name(path: &str, other: &str) -> bool {
    let (written, name) = (last(path), last(other));
    let is_buffer = BUFFERS.contains(&written) && ["queue", "buffer"].contains(&name);
    let is_other_name = |(other, known): &(&str, &str)| *known == name && written.eq_ignore_ascii_case(other);
    is_buffer || is_misspelt(written, name) || OTHER_NAMES.iter().any(is_other_name)
}

/// The parameter of some scheme with the name `key` or a similar name. If there are several, one that accepts these
/// values is preferred.
pub(in crate::scenario) fn path_of(key: &str, values: &[toml::Value]) -> Option<Meant> {
    let declared = parameters::of_all_kinds();
    let all: BTreeSet<&str> = declared.iter().map(Parameter::name).collect();
    let accepts = |path: &str| {
        let takes_all = |parameter: &Parameter| values.iter().all(|value| coerce(parameter, value).is_ok());
        declared.iter().any(|parameter| parameter.name() == path && takes_all(parameter))
    };
    let rank = |path: &&&str| {
        let part = PARTS.iter().position(|part| path.split('.').next() == Some(part));
        (!accepts(path), path.matches('.').count(), part.unwrap_or(PARTS.len()))
    };
    let called = |name: &str| all.iter().filter(|path| last(path) == name).min_by_key(rank);
    let known: Vec<&str> = all.iter().copied().collect();
    let path = called(key).or_else(|| called(last(nearest_path(key, &known)?)))?;
    Some(Meant { path: (*path).to_owned(), takes_value: is_another_name(key, path) && accepts(path) })
}

/// Whether a path leads to a parameter or to a whole part.
pub(in crate::scenario) fn has(scheme: &Scheme, path: &str) -> bool {
    matches!(
        path,
        "transport" | "cc" | "lb" | "mix" | "fabric" | "fabric.pfc" | "fabric.program" | "fabric.wrr"
    ) || parameters(scheme).iter().any(|known| known == path)
}

pub(in crate::scenario) fn takes_values(scheme: &Scheme, path: &str, values: &[toml::Value]) -> bool {
    has(scheme, path) && values.iter().all(|value| parameters::check(scheme, path, value).is_ok())
}

/// Names of a port's buffer in other tools. In this simulator a queue has a length, and switches that pause have a
/// shared buffer.
const BUFFERS: [&str; 5] = ["buffer", "buffers", "buffer_size", "queue_size", "queue_length"];

/// The path of the parameter that `path` means, within one part of a scheme: the path itself, the path of a port's
/// buffer if `path` has another tool's name for it, or the nearest path.
pub(in crate::scenario) fn resolve_alias(path: &str, scheme: &Scheme) -> Option<String> {
    let (part, last) = path.split_once('.')?;
    let known = parameters(scheme);
    if known.iter().any(|known| known == path) {
        return Some(path.to_owned());
    }
    if part == "fabric" && BUFFERS.contains(&last) {
        let buffer = if scheme.fabric.pfc.is_some() { "fabric.pfc.buffer" } else { "fabric.queue" };
        return Some(buffer.to_owned());
    }
    let same_part = known.iter().map(String::as_str).filter(|known| known.split('.').next() == Some(part));
    nearest_path(path, &same_part.collect::<Vec<_>>()).map(str::to_owned)
}

/// Every parameter of a scheme, including those that its TOML leaves out.
pub(in crate::scenario) fn parameters(scheme: &Scheme) -> Vec<String> {
    let whole = toml::Value::try_from(scheme).expect("a scheme is made of what TOML can say");
    let of_lists = |name: &str| name.split("[]").next().unwrap_or_default().to_owned();
    let mut paths: Vec<String> =
        parameters::of(scheme).iter().map(|parameter| of_lists(parameter.name())).collect();
    if !scheme.cc.presets().is_empty() {
        paths.push(parameter_path::PRESET.to_owned());
    }
    for (part, value) in whole.as_table().into_iter().flatten() {
        collect(part, value, &mut paths);
    }
    paths.sort();
    paths.dedup();
    paths
}

fn collect(at: &str, value: &toml::Value, paths: &mut Vec<String>) {
    for (key, value) in value.as_table().into_iter().flatten() {
        let path = format!("{at}.{key}");
        match value {
            toml::Value::Table(_) => collect(&path, value, paths),
            _ => paths.push(path),
        }
    }
}

/// Names that other tools use for parameters.
const OTHER_NAMES: [(&str, &str); 10] = [
    ("mtu", "payload"),
    ("timeout", "rto"),
    ("buffer_size", "queue"),
    ("kmin", "ecn_kmin"),
    ("k_min", "ecn_kmin"),
    ("kmax", "ecn_kmax"),
    ("k_max", "ecn_kmax"),
    ("pmax", "ecn_pmax"),
    ("p_max", "ecn_pmax"),
    ("xoff", "threshold"),
];

/// The known path nearest to `path`. A known path that ends with `path` is the nearest one. Otherwise it is the
/// nearest of the known paths with the nearest last word.
pub(in crate::scenario) fn nearest_path<'a>(path: &str, known: &[&'a str]) -> Option<&'a str> {
    if let Some(whole) = known.iter().find(|known| known.ends_with(&format!(".{path}"))) {
        return Some(whole);
    }
    let other_name = OTHER_NAMES.iter().find(|(other, _)| last(path).eq_ignore_ascii_case(other));
    let written = other_name.map_or(last(path), |(_, name)| name);
    let lasts: Vec<&str> = known.iter().map(|known| last(known)).collect();
    let near = nearest(written, &lasts)?;
    let same_last: Vec<&str> = known.iter().copied().filter(|known| last(known) == near).collect();
    nearest(path, &same_last).or(same_last.first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::resolve::scheme::builtin::scheme;

    #[test]
    fn parameters_are_named_in_full() {
        let ops = parameters(&scheme("ops").unwrap());
        assert!(ops.contains(&"lb.evs".to_owned()) && ops.contains(&"fabric.routing_delay".to_owned()));
        assert!(!ops.contains(&"lb.buffer".to_owned()));
    }

    #[test]
    fn of_parameters_with_one_last_part_the_likeliest_path_is_named() {
        let known = parameters(&scheme("themis-longhaul").unwrap());
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let nearest = |path| nearest_path(path, &known);
        assert_eq!(nearest("fabric.program.trp.alfa"), Some("fabric.program.trp.alpha"));
        assert_eq!(nearest("fabric.pfc.alfa"), Some("fabric.pfc.alpha"));
        assert_eq!(nearest("trp.alpha"), Some("fabric.program.trp.alpha"));
    }

    #[test]
    fn a_parameter_is_found_by_its_last_word() {
        let found = |key: &str, value: &str| {
            path_of(key, &[toml::Value::from(value)]).map(|meant| (meant.path, meant.takes_value))
        };
        assert_eq!(found("queue", "1MB"), Some(("fabric.queue".to_owned(), true)));
        assert_eq!(found("queue", "1us"), Some(("fabric.queue".to_owned(), false)));
        assert_eq!(found("rto", "1us"), Some(("transport.rto".to_owned(), true)));
        assert_eq!(found("ecn_kmn", "1KB"), Some(("fabric.ecn_kmin".to_owned(), true)));
        assert_eq!(found("hosts", "1KB"), None);
        assert_eq!(
            found("buffer", "64MB"),
            Some(("fabric.pfc.buffer".to_owned(), true)),
            "and not lb.buffer"
        );
    }
}
