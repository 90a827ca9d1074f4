//! The values that a key may have, as a type and in words.

use anabranch_base::{Bytes, Duration, Rate};
use serde::Serialize;
use std::fmt;

/// The values that a key may have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyType {
    /// `true` or `false`.
    Bool,
    /// Text in quotes. The string describes its content: `a comparison of measures`.
    Text(&'static str),
    /// A name that consists of letters, digits, - and _.
    Name,
    /// Text that names one or more links, switches, hosts or queue pairs. The string describes it: `names of links`.
    Selector(&'static str),
    /// The name of a file. The string describes it: `a file's name, from the scenario's folder`.
    File(&'static str),
    /// Exactly this word.
    Word(&'static str),
    /// One of several words.
    Choice(&'static [&'static str]),
    /// A whole number.
    Whole(Ends<u64>),
    /// An even number, at least this one.
    Even(u64),
    /// The number of a host.
    Host,
    /// A number, which need not be whole.
    Number(Ends<f64>),
    /// A size in quotes, with its unit.
    Size(Ends<Bytes>),
    /// A time in quotes, with its unit.
    Time(Ends<Duration>),
    /// A rate in quotes, with its unit.
    Rate(Ends<Rate>),
    /// A ratio of two numbers, in quotes: `2:1`.
    Ratio,
    /// A list.
    List {
        /// The description of the list in texts, such as `a list of numbers`.
        name: &'static str,
        /// The type of the values; none if any value is permitted.
        of: Option<&'static KeyType>,
        /// The least number of values.
        least: u64,
        /// The largest number of values; none if there is no limit.
        most: Option<u64>,
    },
    /// A list of one or more different values.
    Set {
        /// The description of the list in texts, such as `a list of numbers`.
        name: &'static str,
        /// The type of the values.
        of: &'static KeyType,
    },
    /// One value, or a list of them.
    OneOrMore(&'static KeyType),
    /// A value of any of these types.
    Either(&'static [KeyType]),
    /// A table that may have the keys of the sections with this header, such as `[workload.incast]`.
    Table(&'static str),
    /// A list of tables that may have the keys of the sections with this header, such as `[[fault]]`.
    Tables(&'static str),
}

/// The limits of the values that a key may have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ends<T> {
    /// The lower end.
    pub low: Low<T>,
    /// The upper end.
    pub high: High<T>,
}

/// The lower end of the values that a key may have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Low<T> {
    /// The lower end of the type itself.
    Any,
    /// Values above 0.
    AboveZero,
    /// This value and larger values.
    From(T),
    /// Values larger than that of another key.
    AfterKey(&'static str),
}

/// The upper end of the values that a key may have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum High<T> {
    /// The upper end of the type itself.
    Any,
    /// This value and smaller values.
    To(T),
    /// Values smaller than this one.
    Below(T),
    /// Values smaller than that of another key.
    BelowKey(&'static str),
    /// The number of hosts and smaller values.
    Hosts,
    /// Values smaller than the number of hosts.
    HostsButOne,
}

impl<T: Copy> Ends<T> {
    /// Every value of the type.
    pub const ANY: Ends<T> = Ends { low: Low::Any, high: High::Any };
    /// Values above 0.
    pub const ABOVE_ZERO: Ends<T> = Ends { low: Low::AboveZero, high: High::Any };

    pub(super) const fn from(least: T) -> Ends<T> {
        Ends { low: Low::From(least), high: High::Any }
    }

    pub(super) const fn with_high(self, high: High<T>) -> Ends<T> {
        Ends { low: self.low, high }
    }
}

pub(super) const fn words<const N: usize, T: Copy>(all: [(&'static str, T); N]) -> [&'static str; N] {
    let mut words = [""; N];
    let mut place = 0;
    while place < N {
        words[place] = all[place].0;
        place += 1;
    }
    words
}

/// The largest number of words of a [`KeyType::Choice`] that are all listed. A longer list is shortened to its first
/// two words, except within [`KeyType::Either`].
const MOST_NAMED: usize = 8;

/// The type in words, with its range: `a number, 2 or more`.
impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyType::Bool => f.write_str("`true` or `false`"),
            KeyType::Name => f.write_str("a name: letters, digits, - and _"),
            KeyType::Text(name)
            | KeyType::Selector(name)
            | KeyType::File(name)
            | KeyType::List { name, .. }
            | KeyType::Set { name, .. } => f.write_str(name),
            KeyType::Word(word) => write!(f, "`{word}`"),
            KeyType::Choice(choices) => match choices {
                [first, second, ..] if choices.len() > MOST_NAMED => {
                    write!(f, "`{first}`, `{second}` and others")
                }
                [rest @ .., last] if !rest.is_empty() => write!(f, "{} or `{last}`", quoted(rest)),
                _ => f.write_str(&quoted(choices)),
            },
            KeyType::Whole(Ends { low: Low::From(low), high: High::To(high) }) if high - low == 1 => {
                write!(f, "{low} or {high}")
            }
            KeyType::Whole(ends) => ends.write(f, "a number"),
            KeyType::Even(least) => write!(f, "an even number, {least} or more"),
            KeyType::Host => f.write_str("a host's number"),
            KeyType::Number(ends) => ends.write(f, "a number"),
            KeyType::Size(ends) => ends.write(f, "a size"),
            KeyType::Time(ends) => ends.write(f, "a time"),
            KeyType::Rate(ends) => ends.write(f, "a rate"),
            KeyType::Ratio => f.write_str("`\"2:1\"`"),
            KeyType::OneOrMore(of) => write!(f, "{of}, or a list of them"),
            KeyType::Either(types) => {
                let words = types.iter().map(|of| match of {
                    KeyType::Choice(choices) => quoted(choices),
                    other => other.to_string(),
                });
                f.write_str(&words.collect::<Vec<_>>().join(", or "))
            }
            KeyType::Table(_) => f.write_str("a table"),
            KeyType::Tables(_) => f.write_str("tables"),
        }
    }
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

impl<T: fmt::Display> Ends<T> {
    fn write(&self, f: &mut fmt::Formatter<'_>, noun: &str) -> fmt::Result {
        f.write_str(noun)?;
        match (&self.low, &self.high) {
            (Low::From(low), High::To(high)) => return write!(f, ", {low} to {high}"),
            (Low::From(low), High::Hosts) => return write!(f, ", {low} to all"),
            (Low::From(low), High::HostsButOne) => return write!(f, ", {low} to all but one"),
            (Low::Any, _) => {}
            (Low::AboveZero, _) => f.write_str(" above 0")?,
            (Low::From(low), _) => write!(f, ", {low} or more")?,
            (Low::AfterKey(key), _) => write!(f, " after `{key}`")?,
        }
        match &self.high {
            High::Any => Ok(()),
            High::To(high) => write!(f, ", at most {high}"),
            High::Below(high) => write!(f, ", below {high}"),
            High::BelowKey(key) => write!(f, ", below `{key}`"),
            High::Hosts => f.write_str(", at most all"),
            High::HostsButOne => f.write_str(", at most all but one"),
        }
    }
}
