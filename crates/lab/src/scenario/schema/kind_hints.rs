//! Hints about the kinds of parts, for unknown kinds, and for kinds that are written in place of a part or a scheme.

use crate::scenario::diagnostic::{ParameterFault, ParameterFix};
use crate::scenario::read::table::nearest;
use crate::scenario::schema::parameters::kinds_of;
use crate::scenario::schema::plugins::Plugins;
use anabranch_base::KindDeclaration;
use anabranch_engine::Scheme;

/// The parts that have kinds, with their names in words.
const PARTS: [(&str, &str); 5] = [
    ("transport", "transport"),
    ("cc", "congestion control"),
    ("lb", "load balancer"),
    ("fabric.program", "program in switches"),
    ("mix.lb", "load balancer"),
];

/// The part whose kinds are permitted for `part`: `mix.lb` has the kinds of `lb`.
fn family(part: &str) -> &str {
    part.strip_prefix("mix.").unwrap_or(part)
}

/// A part of this kind as TOML. A built-in part has all parameters that are required or have a default, and a
/// registered part has none.
fn part_of_kind(plugins: &Plugins, part: &str, kind: &str) -> Option<String> {
    let part = family(part);
    if plugins.has_kind(part, kind) {
        return Some(format!("{{ kind = {kind:?} }}"));
    }
    let KindDeclaration { name, parameters, .. } =
        kinds_of(part).into_iter().find(|ours| ours.name == kind)?;
    let mut table = toml::Table::from_iter([("kind".to_owned(), name.into())]);
    for parameter in
        parameters.iter().filter(|parameter| parameter.is_required() || parameter.default().is_some())
    {
        let value = toml::Value::try_from(parameter.example()?).ok()?;
        let mut above = &mut table;
        let (tables, key) = parameter.name().rsplit_once('.').unwrap_or(("", parameter.name()));
        for name in tables.split('.').filter(|name| !name.is_empty()) {
            above = above.entry(name).or_insert_with(|| toml::Table::new().into()).as_table_mut()?;
        }
        above.insert(key.to_owned(), value);
    }
    Some(toml::Value::Table(table).to_string())
}

fn kinds(plugins: &Plugins, part: &str) -> Vec<String> {
    let part = family(part);
    let ours = kinds_of(part).into_iter().map(|ours| ours.name.to_owned());
    let mut kinds: Vec<String> = ours.chain(plugins.kinds(part).into_iter().map(str::to_owned)).collect();
    kinds.sort_unstable();
    kinds
}

/// The error for a scheme's name that is the kind of a part: the problem, and what to write instead.
pub(in crate::scenario) fn no_scheme(plugins: &Plugins, name: &str) -> Option<(String, String)> {
    let (part, what) =
        PARTS.into_iter().find(|(part, _)| kinds(plugins, part).iter().any(|kind| kind == name))?;
    let value = part_of_kind(plugins, part, name)?;
    let message = format!("{name:?} is a {what} and no scheme");
    let help =
        format!("[[scheme]] and below it base = \"reps\", name = {name:?}, set = {{ {part:?} = {value} }}");
    Some((message, help))
}

/// The error for a part that is a text or a table without a kind, and what to write instead: a value of the part, or
/// an instruction.
pub(in crate::scenario) fn malformed_part(
    plugins: &Plugins,
    part: &str,
    value: &toml::Value,
) -> Option<(String, Result<String, String>)> {
    let (_, what) = PARTS.into_iter().find(|(known, _)| *known == part)?;
    let known = kinds(plugins, part);
    let words =
        || format!("{part} = {{ kind = ..., and its parameters }}; the kinds are {}", known.join(", "));
    match value {
        toml::Value::String(kind) => {
            let message =
                format!("{part} is a table with the kind of {what} and its parameters, not {kind:?}");
            Some((message, near_part(plugins, part, kind).ok_or_else(words)))
        }
        toml::Value::Table(table) if !table.contains_key("kind") => {
            Some((format!("{part} does not say which kind of {what} it is"), Err(words())))
        }
        _ => None,
    }
}

pub(in crate::scenario) fn unknown_kind(plugins: &Plugins, part: &str, kind: &toml::Value) -> Option<String> {
    let (_, what) = PARTS.into_iter().find(|(known, _)| *known == part)?;
    let ours: Vec<&str> = kinds_of(family(part)).into_iter().map(|ours| ours.name).collect();
    let registered = plugins.kinds(family(part));
    if kind.as_str().is_some_and(|kind| ours.contains(&kind) || registered.contains(&kind)) {
        return None;
    }
    let registered = match registered.is_empty() {
        true => String::new(),
        false => format!(", and the registered {}", registered.join(", ")),
    };
    Some(format!("{part}.kind is {kind}, which is no {what}; there are {}{registered}", ours.join(", ")))
}

/// A part of the kind that is nearest to the unknown kind in the table `value`.
pub(in crate::scenario) fn nearest_part(
    plugins: &Plugins,
    part: &str,
    value: &toml::Value,
) -> Option<String> {
    let is_part = PARTS.into_iter().any(|(known, _)| known == part);
    near_part(plugins, part, value.get("kind")?.as_str()?).filter(|_| is_part)
}

fn near_part(plugins: &Plugins, part: &str, kind: &str) -> Option<String> {
    part_of_kind(plugins, part, kind).or_else(|| {
        let known = kinds(plugins, part);
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        part_of_kind(plugins, part, nearest(kind, &known)?)
    })
}

/// The error for a setting that leaves a part of a scheme incomplete, names an unknown kind, or sets a parameter of a
/// registered kind that the scheme does not have; none for other settings.
pub(in crate::scenario) fn incomplete_part(
    plugins: &Plugins,
    scheme: &Scheme,
    path: &str,
    value: &toml::Value,
) -> Option<ParameterFault> {
    if let Some((message, instead)) = malformed_part(plugins, path, value) {
        return Some(ParameterFault::new(
            path,
            message,
            instead.map_or_else(ParameterFix::Words, ParameterFix::Value),
        ));
    }
    let kind_of =
        path.strip_suffix(".kind").and_then(|part| PARTS.into_iter().find(|(known, _)| *known == part));
    let (Some((part, what)), Some(kind)) = (kind_of, value.as_str()) else {
        return of_registered(plugins, scheme, path, value);
    };
    let Some(whole) = part_of_kind(plugins, part, kind) else {
        let near = near_part(plugins, part, kind)?;
        let message = format!("{path}: {kind:?} is no {what}");
        return Some(ParameterFault::new(path, message, ParameterFix::Setting(part.to_owned(), near)));
    };
    let message = format!(
        "{path} alone cannot become {kind:?}: the parameters beside it are those of the {what} so far"
    );
    Some(ParameterFault::new(path, message, ParameterFix::Setting(part.to_owned(), whole)))
}

/// The error for a parameter that the scheme's part does not have, but that a registered kind has.
fn of_registered(
    plugins: &Plugins,
    scheme: &Scheme,
    path: &str,
    value: &toml::Value,
) -> Option<ParameterFault> {
    let (part, key) = path.rsplit_once('.')?;
    let kind =
        plugins.kinds(family(part)).into_iter().find(|kind| plugins.declares(family(part), kind, key))?;
    let message = format!("scheme {:?} has no parameter {path:?}, which is one of {kind:?}", scheme.name);
    let whole = format!("{{ kind = {kind:?}, {key} = {value} }}");
    Some(ParameterFault::new(path, message, ParameterFix::Setting(part.to_owned(), whole)))
}
