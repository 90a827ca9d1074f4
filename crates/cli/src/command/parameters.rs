//! `anabranch list parameters`: the parameters of schemes with their units, ranges, defaults and sources.

use crate::failure::{Failure, did_you_mean};
use crate::output::{print, print_json};
use anabranch_sim::Parameter;
use anabranch_sim::scenario::{KindListing, PartListing, Registry, SchemeListing, schemes};
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Text,
    /// The reference page, as Markdown.
    Markdown,
    Json,
}

/// Prints the parameters of all kinds, or of one component or kind.
///
/// # Errors
/// A name that no component and no kind has, or a standard output that cannot be written.
pub fn list(wanted: Option<&str>, form: Form) -> Result<(), Failure> {
    let mut parts = Registry::new().parts();
    let mut beside = String::new();
    if let Some(wanted) = wanted {
        parts = chosen(parts, wanted)?;
        let kinds = kinds_of(wanted).unwrap_or_default();
        let of_scheme = kinds.iter().filter(|(_, kind)| kind != wanted);
        let commands: Vec<String> =
            of_scheme.map(|(_, kind)| command(kind)).chain([command("fabric")]).collect();
        if !kinds.is_empty() {
            beside = format!(
                "\n{wanted:?} is a scheme too, {}: its other parameters are those of {}.\n",
                kind_list(&kinds),
                listed(&commands)
            );
        }
    }
    match form {
        Form::Text => print(&(text(&parts) + &beside)),
        Form::Markdown => print(&markdown(&parts)),
        Form::Json => print_json(&json!({ "kinds": kind_rows(&parts), "parameters": rows(&parts) })),
    }
}

/// A parameter of a component of schemes, or of one kind of a component.
pub struct Entry {
    /// The parameter's path in `[set]`, without the scheme: `lb.buffer`.
    pub path: String,
    part: &'static str,
    kind: KindListing,
    place: usize,
}

pub fn entries() -> Vec<Entry> {
    let kinds = Registry::new().parts().into_iter().flat_map(|part| {
        let name = part.part;
        part.kinds.into_iter().map(move |kind| (name, kind))
    });
    let of_kind = |(part, kind): (&'static str, KindListing)| {
        let entry = |place: usize| Entry {
            path: path(part, &kind.parameters[place]),
            part,
            kind: kind.clone(),
            place,
        };
        (0..kind.parameters.len()).map(entry).collect::<Vec<Entry>>()
    };
    kinds.flat_map(of_kind).collect()
}

impl Entry {
    /// The parameter's name, which is its path within its component: `buffer`, `pfc.threshold`.
    pub fn name(&self) -> &str {
        self.parameter().name()
    }

    fn parameter(&self) -> &Parameter {
        &self.kind.parameters[self.place]
    }

    /// Whether `key` names the parameter. `key` may be the path, with or without a scheme before it, or the end of the
    /// path.
    pub fn is(&self, key: &str) -> bool {
        let whole = |key: &str| self.path == key || self.path.ends_with(&format!(".{key}"));
        whole(key) || key.split_once('.').is_some_and(|(_, path)| self.path == path)
    }

    /// Whether `key` names a table that contains the parameter, such as `fabric.pfc` or `pfc.at`. `key` may be the
    /// table's path, with or without a scheme before it, or the end of that path.
    pub fn is_within(&self, key: &str) -> bool {
        let path = self.path.replace("[]", "");
        let within = |key: &str| path.starts_with(&format!("{key}."));
        within(key)
            || path.contains(&format!(".{key}."))
            || key.split_once('.').is_some_and(|(_, key)| within(key))
    }

    /// The parameter as in `anabranch list parameters --json`.
    pub fn json(&self) -> Value {
        row(self.part, &self.kind, self.parameter())
    }

    pub fn text(&self) -> String {
        let [_, unit, range, default, example, source, meaning] = columns(self.parameter());
        let of = match (&self.kind.name, self.part) {
            (Some(_), _) => format!(" ({})", heading(self.part, &self.kind)),
            (None, _) => String::new(),
        };
        let rows = [
            ("unit", unit),
            ("range", range),
            ("default", default),
            ("example", example),
            ("source", source),
        ];
        let rows = rows.iter().filter(|(_, value)| !value.is_empty());
        let rows: String = rows.map(|(name, value)| format!("  {name:<8} {value}\n")).collect();
        format!("{}{of}: {meaning}\n{rows}", self.path)
    }
}

fn path(part: &str, parameter: &Parameter) -> String {
    if part.is_empty() { parameter.name().to_owned() } else { format!("{part}.{}", parameter.name()) }
}

/// The components of a scheme that have kinds, each with its kind, or none if no scheme has this name.
fn kinds_of(scheme: &str) -> Option<Vec<(&'static str, String)>> {
    let is_one = |listing: &SchemeListing| listing.name == scheme;
    let whole = schemes().iter().any(is_one).then(|| anabranch_sim::scenario::scheme(scheme).ok())??;
    let whole = serde_json::to_value(whole).ok()?;
    let kind = |part: &'static str| {
        let path = format!("/{}/kind", part.replace('.', "/"));
        Some((part, whole.pointer(&path)?.as_str()?.to_owned()))
    };
    Some(["transport", "cc", "lb", "fabric.program"].into_iter().filter_map(kind).collect())
}

/// The kinds as text: `transport = "sack", cc = "dctcp" and lb = "reps"`.
fn kind_list(kinds: &[(&str, String)]) -> String {
    listed(&kinds.iter().map(|(part, kind)| format!("{part} = {kind:?}")).collect::<Vec<String>>())
}

fn command(kind: &str) -> String {
    format!("`anabranch list parameters {kind}`")
}

fn listed(words: &[String]) -> String {
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.join(""),
    }
}

pub fn is_kind_or_scheme(wanted: &str) -> bool {
    let is_called = |kind: &KindListing| kind.name.as_deref() == Some(wanted);
    kinds_of(wanted).is_some() || Registry::new().parts().iter().any(|part| part.kinds.iter().any(is_called))
}

fn chosen(parts: Vec<PartListing>, wanted: &str) -> Result<Vec<PartListing>, Failure> {
    let mut names: Vec<String> = parts.iter().map(|part| part.part.to_owned()).collect();
    names.extend(parts.iter().flat_map(|part| &part.kinds).filter_map(|kind| kind.name.clone()));
    let found: Vec<PartListing> = parts
        .into_iter()
        .filter_map(|part| {
            let all = part.part == wanted;
            let kinds = part.kinds.into_iter();
            let kinds: Vec<KindListing> =
                kinds.filter(|kind| all || kind.name.as_deref() == Some(wanted)).collect();
            (!kinds.is_empty()).then_some(PartListing { part: part.part, kinds })
        })
        .collect();
    if !found.is_empty() && !wanted.is_empty() {
        return Ok(found);
    }
    names.retain(|name| !name.is_empty());
    names.sort();
    names.dedup();
    if let Some(kinds) = kinds_of(wanted) {
        let commands: Vec<String> =
            kinds.iter().map(|(_, kind)| command(kind)).chain([command("fabric")]).collect();
        return Err(Failure::Input(format!(
            "{wanted:?} is a scheme, and parameters are listed by the parts of schemes and their kinds\n  help: it is {}: write \
             {}",
            kind_list(&kinds),
            listed(&commands)
        )));
    }
    let near = did_you_mean(wanted, names.iter().map(String::as_str));
    let names = names.join(", ");
    Err(Failure::Input(format!(
        "no part of a scheme and no kind is called {wanted:?}{near}\n  help: there are {names}"
    )))
}

fn heading(part: &str, kind: &KindListing) -> String {
    match (&kind.name, part) {
        (Some(name), part) => format!("{part} = {name:?}"),
        (None, "") => "scheme".to_owned(),
        (None, part) => part.to_owned(),
    }
}

fn default(parameter: &Parameter) -> String {
    match parameter.default() {
        Some(default) => default.to_string(),
        None if parameter.is_required() => "required".to_owned(),
        None => "none".to_owned(),
    }
}

fn example(parameter: &Parameter) -> String {
    parameter.example().map(ToString::to_string).unwrap_or_default()
}

fn columns(parameter: &Parameter) -> [String; 7] {
    [
        parameter.name().to_owned(),
        parameter.unit().to_owned(),
        parameter.range(),
        default(parameter),
        example(parameter),
        parameter.source().to_owned(),
        parameter.meaning().to_owned(),
    ]
}

const HEAD: [&str; 7] = ["name", "unit", "range", "default", "example", "source", "meaning"];

fn text(parts: &[PartListing]) -> String {
    let mut text = String::new();
    for (part, kind) in parts.iter().flat_map(|part| part.kinds.iter().map(move |kind| (part.part, kind))) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("{}: {}\n", heading(part, kind), kind.meaning));
        let rows: Vec<[String; 7]> = kind.parameters.iter().map(columns).collect();
        if rows.is_empty() {
            text.push_str("  no parameters\n");
            continue;
        }
        let head = HEAD.map(str::to_owned);
        let rows: Vec<&[String; 7]> = std::iter::once(&head).chain(&rows).collect();
        let widths: Vec<usize> = (0..HEAD.len() - 1)
            .map(|i| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0))
            .collect();
        for row in rows {
            let (meaning, others) = row.split_last().expect("a row has columns");
            text.push(' ');
            for (column, width) in others.iter().zip(&widths) {
                text.push_str(&format!(" {column:width$} "));
            }
            text.push_str(&format!(" {meaning}\n"));
        }
    }
    text
}

fn markdown(parts: &[PartListing]) -> String {
    let mut text = "# Parameters of schemes\n\n\
        Every parameter, from its declaration in the code. Set one by its path, with the scheme's name or `*` before \
        it: `\"reps.lb.buffer\" = 16` below `[set]`. A size in `bdp`, a time in `rtt` and a rate in `line` follow the \
        fabric's longest path. \"required\" is what a scheme must say; those that come with the program say it. \
        `anabranch list parameters` prints the same.\n\n\
        This page is generated: `cargo xtask reference` renews it.\n"
        .to_owned();
    for part in parts {
        match part.part {
            "" => text.push_str("\n## The scheme\n"),
            part => text.push_str(&format!("\n## `{part}`\n")),
        }
        for kind in &part.kinds {
            if let Some(name) = &kind.name {
                text.push_str(&format!("\n### `{} = {{ kind = {name:?} }}`\n", part.part));
            }
            text.push_str(&format!("\n{}\n", kind.meaning));
            if kind.parameters.is_empty() {
                text.push_str("\nIt has no parameters.\n");
                continue;
            }
            text.push_str(&format!("\n| {} |\n|{}\n", HEAD.join(" | "), "---|".repeat(HEAD.len())));
            for parameter in &kind.parameters {
                let [name, unit, range, default, example, source, meaning] = columns(parameter);
                let code = |text: String| if text.is_empty() { text } else { format!("`{text}`") };
                let default = if parameter.default().is_some() { code(default) } else { default };
                let row = [code(name), unit, range, default, code(example), source, meaning];
                text.push_str(&format!("| {} |\n", row.map(|cell| cell.replace('|', "\\|")).join(" | ")));
            }
        }
    }
    text
}

fn kind_rows(parts: &[PartListing]) -> Vec<Value> {
    let all = parts.iter().flat_map(|part| part.kinds.iter().map(move |kind| (part.part, kind)));
    all.map(|(part, kind)| json!({ "part": part, "kind": kind.name, "meaning": kind.meaning })).collect()
}

fn rows(parts: &[PartListing]) -> Vec<Value> {
    let all = parts.iter().flat_map(|part| part.kinds.iter().map(move |kind| (part.part, kind)));
    all.flat_map(|(part, kind)| kind.parameters.iter().map(move |parameter| row(part, kind, parameter)))
        .collect()
}

fn row(part: &str, kind: &KindListing, parameter: &Parameter) -> Value {
    let (least, most) = parameter.ends();
    json!({
        "part": part,
        "kind": kind.name,
        "name": parameter.name(),
        "path": path(part, parameter),
        "type": parameter.type_name(),
        "unit": parameter.unit(),
        "range": parameter.range(),
        "least": least,
        "most": most,
        "choices": parameter.choices(),
        "needed": parameter.is_required(),
        "default": parameter.default(),
        "example": parameter.example(),
        "source": parameter.source(),
        "meaning": parameter.meaning(),
    })
}
