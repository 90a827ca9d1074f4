//! A TOML document in which every value keeps its place in the file, even after parts of the document were moved.

use anabranch_base::{Code, Diagnostic, Fix, Span};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A place in the file: line and column, both counted from 1. None for values that are in no file.
pub(in crate::scenario) type Place = Option<(usize, usize)>;

/// A value with the place of its key. An element of an array has its own place.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct Node {
    pub at: Place,
    pub item: Item,
}

#[derive(Clone, Debug)]
pub(in crate::scenario) enum Item {
    Table(Fields),
    Array(Vec<Node>),
    /// A value that is neither a table nor an array.
    Leaf(toml::Value),
}

pub(in crate::scenario) type Fields = BTreeMap<String, Node>;

impl Node {
    pub(in crate::scenario) fn value(&self) -> toml::Value {
        match &self.item {
            Item::Table(fields) => {
                toml::Value::Table(fields.iter().map(|(key, node)| (key.clone(), node.value())).collect())
            }
            Item::Array(nodes) => toml::Value::Array(nodes.iter().map(Node::value).collect()),
            Item::Leaf(value) => value.clone(),
        }
    }

    /// Removes all places, for values that are not in a file of the user.
    pub(in crate::scenario) fn forget(&mut self) {
        self.at = None;
        match &mut self.item {
            Item::Table(fields) => fields.values_mut().for_each(Node::forget),
            Item::Array(nodes) => nodes.iter_mut().for_each(Node::forget),
            Item::Leaf(_) => {}
        }
    }

    /// The place of the value at a dotted path, or else the place of the last step of the path that exists.
    pub(in crate::scenario) fn place(&self, path: &[&str]) -> Place {
        let Some((first, rest)) = path.split_first() else { return self.at };
        let below = match &self.item {
            Item::Table(fields) => fields.get(*first),
            Item::Array(nodes) => first.parse().ok().and_then(|i: usize| nodes.get(i)),
            Item::Leaf(_) => None,
        };
        below.map_or(self.at, |node| node.place(rest))
    }
}

/// Merges `over` into `fields`. Tables are merged; tables with a `kind`, and all other values, replace the old value.
pub(in crate::scenario) fn merge(fields: &mut Fields, over: &Fields) {
    for (key, node) in over {
        match (fields.get_mut(key).map(|old| &mut old.item), &node.item) {
            (Some(Item::Table(old)), Item::Table(new)) if !new.contains_key("kind") => merge(old, new),
            _ => {
                fields.insert(key.clone(), node.clone());
            }
        }
    }
}

pub(in crate::scenario) fn parse(file: &str, text: &str) -> Result<Fields, Diagnostic> {
    let lines = Lines::of(text);
    let fault = |at: Place, message: &str, fix: Option<Fix>| {
        let (line, column) = at.unzip();
        Diagnostic::error(Span { file: file.to_owned(), line, column }, Code::Syntax, message, fix)
    };
    let table = DeTable::parse(text).map_err(|e| {
        let at = e.span().map(|span| lines.place(span.start));
        let said = e.message().lines().next().unwrap_or("this is no TOML");
        let (message, fix) = misspelt(text, at, said);
        fault(at, &message, fix)
    })?;
    fields(table.into_inner(), &lines).map_err(|(at, message)| fault(at, &message, None))
}

/// The beginning of the parser's error text about a key or a table that occurs twice.
const DUPLICATE_KEY: &str = "duplicate key";

/// The error for text that is not TOML, and what to write instead, if that is clear.
fn misspelt(text: &str, at: Place, said: &str) -> (String, Option<Fix>) {
    let Some((number, _)) = at else { return (said.to_owned(), None) };
    let line = text.lines().nth(number - 1).unwrap_or_default();
    let code = line.split('#').next().unwrap_or_default().trim();
    // The parser's errors differ only in their text. A test checks that the parser uses this text.
    if said.starts_with(DUPLICATE_KEY)
        && let Some((key, _)) = code.split_once('=').or(Some((code, "")))
    {
        let key = key.trim();
        let is_it = |other: &str| other.split('=').next().unwrap_or_default().trim() == key;
        let before: Vec<&str> = text.lines().take(number - 1).collect();
        // A key is searched for in the same table, and the header of a table in the whole text before this line.
        let table = before.iter().rposition(|line| line.trim_start().starts_with('[')).unwrap_or(0);
        let from = if key.starts_with('[') { 0 } else { table };
        let first = before[from..].iter().position(|line| is_it(line)).map(|place| from + place + 1);
        let first = first.map(|first| format!(", first in line {first}")).unwrap_or_default();
        return (format!("duplicate key {key:?}{first}"), Some("it once".into()));
    }
    if let Some((opened, bracket)) = open_before(text, number) {
        let message = format!("{said}; the {bracket} of line {opened} is not closed");
        let end = text.lines().nth(opened - 1).unwrap_or_default().trim();
        let close = if bracket == '[' { ']' } else { '}' };
        let is_whole = opened + 1 == number && !end.ends_with([bracket, ',']);
        let help = if is_whole { format!("{end}{close}") } else { format!("a {close} at its end") };
        return (message, Some(help.into()));
    }
    if let Some((key, value)) = code.split_once(':')
        && !code.contains(['=', '"'])
    {
        return (said.to_owned(), Some(Fix::set(key.trim(), as_value(value.trim()))));
    }
    let help = code.split_once('=').and_then(|(key, value)| {
        let (key, value) = (key.trim(), value.trim());
        let bare = !value.is_empty() && !value.contains(['"', '\'', '[', '{', '=']);
        bare.then(|| Fix::set(key, as_value(value)))
    });
    (said.to_owned(), help)
}

/// A value that was written without quotes, converted to TOML.
fn as_value(value: &str) -> String {
    let digits = value.replace(',', "");
    match (value.strip_suffix('%').and_then(|share| share.trim().parse::<f64>().ok()), digits.parse::<i64>())
    {
        // The rounding removes digits that exist only because of the binary representation.
        (Some(percent), _) => ((percent * 1e10).round() / 1e12).to_string(),
        (_, Ok(number)) => number.to_string(),
        _ if value.parse::<f64>().is_ok() || ["true", "false"].contains(&value) => value.to_owned(),
        _ => format!("{value:?}"),
    }
}

/// The first bracket that is still open before line `number`, and the number of the line that opens it.
fn open_before(text: &str, number: usize) -> Option<(usize, char)> {
    let mut open: Vec<(usize, char)> = Vec::new();
    for (place, line) in text.lines().take(number - 1).enumerate() {
        let line = line.trim();
        // This line is the header of a table.
        if open.is_empty() && line.starts_with('[') {
            continue;
        }
        let mut quote = None;
        for letter in line.chars() {
            match (quote, letter) {
                (Some(begun), _) if begun == letter => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => quote = Some(letter),
                (None, '#') => break,
                (None, '[' | '{') => open.push((place + 1, letter)),
                (None, ']' | '}') => drop(open.pop()),
                (None, _) => {}
            }
        }
    }
    open.first().copied()
}

type Fault = (Place, String);

fn fields(table: DeTable<'_>, lines: &Lines) -> Result<Fields, Fault> {
    table
        .into_iter()
        .map(|(key, value)| {
            let at = Some(lines.place(key.span().start));
            Ok((key.into_inner().into_owned(), node(value, at, lines)?))
        })
        .collect()
}

fn node(value: Spanned<DeValue<'_>>, at: Place, lines: &Lines) -> Result<Node, Fault> {
    let leaf = |value| Ok(Item::Leaf(value));
    let item = match value.into_inner() {
        DeValue::String(text) => leaf(toml::Value::String(text.into_owned())),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .map(|i| Item::Leaf(toml::Value::Integer(i)))
            .map_err(|_| (at, format!("the number {integer} is too large"))),
        DeValue::Float(float) => match float.as_str().parse() {
            Ok(number) => leaf(toml::Value::Float(number)),
            Err(_) => Err((at, format!("{float} is no number"))),
        },
        DeValue::Boolean(truth) => leaf(toml::Value::Boolean(truth)),
        DeValue::Datetime(date) => leaf(toml::Value::Datetime(date)),
        DeValue::Array(values) => values
            .into_iter()
            .map(|value| {
                let Range { start, .. } = value.span();
                node(value, Some(lines.place(start)), lines)
            })
            .collect::<Result<_, _>>()
            .map(Item::Array),
        DeValue::Table(table) => fields(table, lines).map(Item::Table),
    }?;
    Ok(Node { at, item })
}

struct Lines {
    starts: Vec<usize>,
    /// The positions of the bytes that do not begin a character. They are stored so that a column is found without a
    /// scan of its line, which may have a list of a million values.
    continued: Vec<usize>,
}

impl Lines {
    fn of(text: &str) -> Lines {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let continued = (0..text.len()).filter(|at| !text.is_char_boundary(*at)).collect();
        Lines { starts, continued }
    }

    fn place(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line - 1];
        let continued = |until: usize| self.continued.partition_point(|at| *at < until);
        (line, offset - start - (continued(offset) - continued(start)) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let fields = parse("s.toml", "a = 1\nb = [\"\u{b5}s \u{2014}\", 2]\n").unwrap();
        assert_eq!(fields["b"].at, Some((2, 1)));
        let Item::Array(nodes) = &fields["b"].item else { panic!("{fields:?}") };
        assert_eq!(nodes.iter().map(|node| node.at).collect::<Vec<_>>(), [Some((2, 6)), Some((2, 14))]);
    }

    /// With a scan of the line for the column of each value, this test would take minutes.
    #[test]
    fn a_long_line_is_read_at_once() {
        const VALUES: usize = 400_000;
        let text = format!("a = [{}]", "1, ".repeat(VALUES));
        let fields = parse("s.toml", &text).unwrap();
        let Item::Array(nodes) = &fields["a"].item else { panic!("no list") };
        assert_eq!(nodes[VALUES - 1].at, Some((1, 6 + 3 * (VALUES - 1))));
    }

    #[test]
    fn the_parser_names_duplicates_in_these_words() {
        for text in ["a = 1\na = 2\n", "[a]\n[a]\n", "a = { b = 1, b = 2 }\n", "a.b = 1\n[a]\nb = 2\n"] {
            let error = DeTable::parse(text).unwrap_err();
            assert!(error.message().starts_with(DUPLICATE_KEY), "{text:?}: {}", error.message());
        }
    }
}
