//! Typed access to a table as written. The errors have the place and what to write instead.

use crate::scenario::keys;
pub(in crate::scenario) use crate::scenario::keys::example;
use crate::scenario::read::document::{Fields, Item, Node, Place};
use crate::scenario::read::value::{Read, describe};
pub(in crate::scenario) use anabranch_base::nearest;
use anabranch_base::{Bytes, Code, Diagnostic, Duration, Fix, Problem, Rate, Span, in_unit_of};

/// The units of times, in picoseconds.
const TIME_UNITS: [(&str, f64); 5] = [("ps", 1.0), ("ns", 1e3), ("us", 1e6), ("ms", 1e9), ("s", 1e12)];

/// A number without a unit, `1` or `"1"`, that is above 0 and below a million.
fn bare_number(node: &Node) -> Option<f64> {
    let number = match &node.item {
        Item::Leaf(toml::Value::String(text)) => text.trim().parse().ok()?,
        Item::Leaf(toml::Value::Integer(number)) => *number as f64,
        Item::Leaf(toml::Value::Float(number)) => *number,
        _ => return None,
    };
    (number > 0.0 && number < 1e6).then_some(number)
}

fn is_zero(node: &Node) -> bool {
    match &node.item {
        Item::Leaf(toml::Value::String(text)) => text.trim().parse() == Ok(0.0),
        Item::Leaf(toml::Value::Integer(number)) => *number == 0,
        Item::Leaf(toml::Value::Float(number)) => *number == 0.0,
        _ => false,
    }
}

/// The quantities that a malformed text may mean. The text may have thousands in groups, a decimal comma, a number
/// with an exponent, or bytes per second.
fn repaired(node: &Node) -> Vec<Node> {
    let Item::Leaf(toml::Value::String(text)) = &node.item else { return Vec::new() };
    let text = text.trim().replace('_', "");
    let dotted = if is_in_groups(&text) { text.replace(',', "") } else { text.replace(',', ".") };
    let end = dotted.find(|letter: char| !letter.is_ascii_digit() && !".+-eE".contains(letter));
    let (number, unit) = dotted.split_at(end.unwrap_or(dotted.len()));
    let Ok(number) = number.parse::<f64>() else { return Vec::new() };
    let of_bytes = unit.trim().strip_suffix("B/s").map(|prefix| format!("{}{prefix}bps", 8.0 * number));
    let texts = of_bytes.into_iter().chain([format!("{number}{}", unit.trim())]);
    let mut values: Vec<toml::Value> = texts.map(toml::Value::String).collect();
    if unit.is_empty() {
        values.extend([toml::Value::Float(number), toml::Value::String(format!("{number}B"))]);
    }
    values.into_iter().map(|value| Node { at: node.at, item: Item::Leaf(value) }).collect()
}

/// Whether commas separate the digits of a number into thousands, as in `1,000KB` but not in `1,5MB` or `0,125MB`.
fn is_in_groups(text: &str) -> bool {
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != ',').unwrap_or(text.len());
    let (first, others) = text[..digits].split_once(',').unwrap_or_default();
    (1..=3).contains(&first.len())
        && !first.starts_with('0')
        && others.split(',').all(|group| group.len() == 3)
}

/// A bare number as a time, for keys whose times are usually not in microseconds. The unit is the one that brings the
/// number nearest to the example of the key. Therefore `max_time = 1` is a second, and `link_latency = 500` is not
/// half a millisecond.
fn in_usual_unit(example: &str, number: f64) -> Option<String> {
    let usual: Duration = example.trim_matches('"').parse().ok()?;
    if usual.0 == 0 || example.ends_with("us\"") {
        return None;
    }
    let times_off = |unit: f64| (number * unit / usual.0 as f64).max(usual.0 as f64 / (number * unit));
    let (unit, _) = TIME_UNITS.iter().min_by(|a, b| times_off(a.1).total_cmp(&times_off(b.1)))?;
    let time = format!("{number}{unit}");
    time.parse::<Duration>().is_ok().then(|| format!("{time:?}"))
}

pub(in crate::scenario) struct Table<'a> {
    pub file: &'a str,
    /// The table's name in error texts: `[topology]`.
    pub name: String,
    pub fields: &'a Fields,
    pub at: Place,
}

impl<'a> Table<'a> {
    pub(in crate::scenario) fn open(
        file: &'a str,
        name: &str,
        node: &'a Node,
    ) -> Result<Table<'a>, Diagnostic> {
        match &node.item {
            Item::Table(fields) => Ok(Table { file, name: name.to_owned(), fields, at: node.at }),
            _ => Err(fault(file, node.at, format!("{name} must be a table, not {}", describe(node)), {
                let bare = name.trim_matches(['[', ']']);
                Some(match bare.ends_with(".server") {
                    // An empty table is valid, and most scenarios need no more.
                    true => Fix::set("server", "{}"),
                    false => Fix::text(format!("{name} and below it its keys, such as {}", sample(bare))),
                })
            })),
        }
    }

    /// The whole table without places.
    pub(in crate::scenario) fn value(&self) -> toml::Value {
        toml::Value::Table(self.fields.iter().map(|(key, node)| (key.clone(), node.value())).collect())
    }

    pub(in crate::scenario) fn example(&self, key: &str) -> &'static str {
        let kind = self.node("kind").map(Node::value);
        keys::example_in(&self.name, kind.as_ref().and_then(toml::Value::as_str), key)
    }

    fn is_above_zero(&self, key: &str) -> bool {
        let kind = self.node("kind").map(Node::value);
        keys::is_above_zero(&self.name, kind.as_ref().and_then(toml::Value::as_str), key)
    }

    pub(in crate::scenario) fn node(&self, key: &str) -> Option<&'a Node> {
        self.fields.get(key)
    }

    pub(in crate::scenario) fn get<T: Read>(&self, key: &str) -> Result<Option<T>, Diagnostic> {
        let Some(node) = self.node(key) else { return Ok(None) };
        T::read(node).map(Some).map_err(|problem| {
            let Problem { message, fix } = problem;
            if let Some(swept) = self.swept::<T>(key, node) {
                let message = format!("{message}, which is swept");
                return fault(self.file, node.at, format!("{key}: {message}"), Some(swept));
            }
            let timed = bare_number(node).and_then(|number| in_usual_unit(self.example(key), number));
            let timed = timed.map(|time| Fix::set(key, time));
            let in_unit =
                bare_number(node).and_then(|number| in_unit_of(self.example(key).trim_matches('"'), number));
            let in_unit =
                in_unit.map(|text| Node { at: node.at, item: Item::Leaf(toml::Value::String(text)) });
            let repaired = in_unit.into_iter().chain(repaired(node)).find(|node| T::read(node).is_ok());
            let repaired = repaired.map(|node| Fix::set(key, node.value()));
            let fix = timed.or(repaired).or(fix.map(|fix| fix.of_key(key)));
            // The fix for 0 without a unit is 0 with a unit, which not every key takes.
            let fix = fix.filter(|_| !(is_zero(node) && self.is_above_zero(key)));
            let fix = fix.unwrap_or_else(|| Fix::set(key, self.example(key)));
            fault(self.file, node.at, format!("{key}: {message}"), Some(fix))
        })
    }

    /// The line of a sweep for a list that was written in place of a single value. None if the key cannot be swept, or
    /// if the list has fewer than two elements or an element that is not a valid value.
    fn swept<T: Read>(&self, key: &str, node: &Node) -> Option<Fix> {
        let Item::Array(nodes) = &node.item else { return None };
        let table = self.name.strip_prefix('[')?.strip_suffix(']').filter(|name| !name.starts_with('['))?;
        let can_be_swept = ["topology", "workload"].contains(&table.split('.').next()?);
        let values = node.value();
        (can_be_swept && nodes.len() > 1 && nodes.iter().all(|node| T::read(node).is_ok())).then(|| {
            Fix::text(format!("\"{table}.{key}\" = {values} below [sweep], in the place of {key} here"))
        })
    }

    pub(in crate::scenario) fn need<T: Read>(&self, key: &str) -> Result<T, Diagnostic> {
        self.get(key)?.ok_or_else(|| self.missing(key))
    }

    pub(in crate::scenario) fn missing(&self, key: &str) -> Diagnostic {
        let place = if self.name.is_empty() { "the scenario" } else { &self.name };
        let fix = Fix::set(key, self.example(key));
        let error = fault(self.file, self.at, format!("{place} has no {key:?}"), Some(fix));
        Diagnostic { code: Code::MissingKey, ..error }
    }

    /// The error for the value of `key`, or for the table if the key is missing.
    pub(in crate::scenario) fn wrong(
        &self,
        key: &str,
        message: impl Into<String>,
        help: impl Into<Fix>,
    ) -> Diagnostic {
        let at = self.node(key).map_or(self.at, |node| node.at);
        fault(self.file, at, message.into(), Some(help.into()))
    }

    /// Checks that `name`, the value of the key `name`, consists of letters, digits, - and _. An empty name gets the hint
    /// `instead`.
    pub(in crate::scenario) fn check_name(
        &self,
        of: &str,
        name: &str,
        instead: &str,
    ) -> Result<(), Diagnostic> {
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !name.is_empty() && name.chars().all(fine) {
            return Ok(());
        }
        let message = format!("a {of}'s name is made of letters, digits, - and _, not {name:?}");
        let near: String = name.chars().map(|c| if fine(c) { c } else { '-' }).collect();
        let near = if near.is_empty() { instead } else { &near };
        Err(self.wrong("name", message, Fix::set("name", format!("{near:?}"))))
    }

    pub(in crate::scenario) fn within(
        &self,
        key: &str,
        value: u64,
        least: u64,
        most: u64,
    ) -> Result<(), Diagnostic> {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        let range = if most == u64::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
        Err(self.wrong(
            key,
            format!("{key} must be {range}, not {value}"),
            Fix::set(key, value.clamp(least, most)),
        ))
    }

    pub(in crate::scenario) fn above_zero<T: Into<Amount>>(
        &self,
        key: &str,
        value: T,
    ) -> Result<(), Diagnostic> {
        let Amount(number) = value.into();
        if number > 0 {
            return Ok(());
        }
        Err(self.wrong(key, format!("{key} must be above 0"), Fix::set(key, self.example(key))))
    }

    /// The tables of the array at `key`. Error texts call each of them `[[name]]`.
    pub(in crate::scenario) fn tables(&self, key: &str, name: &str) -> Result<Vec<Table<'a>>, Diagnostic> {
        let Some(node) = self.node(key) else { return Ok(Vec::new()) };
        let Item::Array(nodes) = &node.item else {
            let help = Fix::text(format!("[[{name}]] instead of [{name}]"));
            return Err(fault(self.file, node.at, format!("{key:?} must be a list of tables"), Some(help)));
        };
        nodes.iter().map(|node| Table::open(self.file, &format!("[[{name}]]"), node)).collect()
    }

    /// A word from a closed list.
    pub(in crate::scenario) fn word<T: Copy>(&self, key: &str, known: &[(&str, T)]) -> Result<T, Diagnostic> {
        self.word_or_alias(key, known, &[])
    }

    /// A word from a closed list, or an alias of such a word. Errors list only the words, not the aliases.
    pub(in crate::scenario) fn word_or_alias<T: Copy>(
        &self,
        key: &str,
        known: &[(&str, T)],
        aliases: &[(&str, &str)],
    ) -> Result<T, Diagnostic> {
        let written: String = match self.get(key)? {
            Some(written) => written,
            None => {
                let words = known.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>();
                let place = if self.name.is_empty() { "the scenario" } else { &self.name };
                let by_type = self.node("type").map(Node::value).filter(|_| key == "kind");
                let by_type =
                    by_type.filter(|value| known.iter().any(|(word, _)| value.as_str() == Some(word)));
                let help = match by_type {
                    Some(word) => Fix::text(format!("kind = {word} in place of type")),
                    None => Fix::text(format!("{key} = one of {}", words.join(", "))),
                };
                let error = fault(self.file, self.at, format!("{place} has no {key:?}"), Some(help));
                return Err(Diagnostic { code: Code::MissingKey, ..error });
            }
        };
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        let named = aliases.iter().find(|(alias, _)| *alias == written).map_or(&*written, |(_, name)| name);
        match known.iter().find(|(word, _)| *word == named) {
            Some((_, value)) => Ok(*value),
            None => {
                // The word may have another spelling, and may be a part of a known word: `utilization` means
                // `link-utilisation`.
                let plain = written.to_lowercase().replace("iz", "is").replace('_', "-");
                let within: Vec<&str> = words.iter().copied().filter(|word| word.contains(&plain)).collect();
                let only_one =
                    if let [one] = within[..] { Some(one).filter(|_| plain.len() > 3) } else { None };
                let help = match nearest(&written, &words).or(only_one) {
                    Some(near) => Fix::set(key, format!("{near:?}")),
                    None => Fix::text(format!("{key} = one of {}", list(&words))),
                };
                let error = self.wrong(key, format!("unknown {key} {written:?}"), help);
                Err(Diagnostic { code: Code::UnknownName, ..error })
            }
        }
    }
}

/// The words in quotes, separated by commas: `"a", "b"`.
pub(in crate::scenario) fn list<T: std::fmt::Debug>(words: &[T]) -> String {
    words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ")
}

pub(in crate::scenario) fn fault(
    file: &str,
    at: Place,
    message: impl Into<String>,
    fix: Option<Fix>,
) -> Diagnostic {
    let (line, column) = at.unzip();
    let span = Span { file: file.to_owned(), line, column };
    Diagnostic::error(span, Code::InvalidValue, message, fix)
}

/// A fix that corrects only the name, since the written value may not suit the suggested parameter.
pub(in crate::scenario) fn name_alone(written: impl Into<String>, near: &str) -> Fix {
    Fix::Rename { written: written.into(), name: near.to_owned(), value: None }
}

/// The fix, or, if there is none, an example of the key's value.
pub(in crate::scenario) fn or_example(help: Option<Fix>, key: &str) -> Option<Fix> {
    help.or_else(|| keys::known_example(key).map(|example| Fix::set(key, example)))
}

/// A line of the table `name`. The hint shows it if a value other than a table is written under that name.
fn sample(name: &str) -> String {
    let key = match name {
        "topology" => "hosts",
        "workload" => "bytes",
        "workload.incast" => "degree",
        "workload.message" => "from",
        "workload.pipeline" => "bytes",
        "limits" => "max_time",
        "set" => return "\"reps.lb.buffer\" = 16".to_owned(),
        "sweep" => return "\"topology.oversubscription\" = [1, 4]".to_owned(),
        _ => "kind",
    };
    format!("{key} = {}", example(key))
}

/// A number that must not be zero.
pub(in crate::scenario) struct Amount(u64);

impl From<Bytes> for Amount {
    fn from(bytes: Bytes) -> Amount {
        Amount(bytes.0)
    }
}

impl From<Rate> for Amount {
    fn from(rate: Rate) -> Amount {
        Amount(rate.0)
    }
}

impl From<Duration> for Amount {
    fn from(span: Duration) -> Amount {
        Amount(span.0)
    }
}
