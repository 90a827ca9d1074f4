//! The declaration of a parameter, and its values as scenarios write them.

use crate::{Bytes, Duration, Rate};
use std::any::TypeId;
use std::cmp::Ordering;
use std::fmt;
use std::ops::{RangeFrom, RangeFull, RangeInclusive};
use std::str::FromStr;
use std::sync::Arc;

/// A parameter as it stands in a scenario. Quantities are text.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum ParameterValue {
    /// `true` or `false`.
    Truth(bool),
    /// `8`.
    Whole(i64),
    /// `0.25`.
    Number(f64),
    /// `"5us"`.
    Text(String),
}

impl ParameterValue {
    /// The quantity that it says in quotes.
    ///
    /// # Errors
    /// It is no text, or not `what`.
    pub fn quantity<T: FromStr<Err: fmt::Display>>(&self, what: &str) -> Result<T, String> {
        match self {
            ParameterValue::Text(text) => text.parse().map_err(|e: T::Err| e.to_string()),
            // Its parser knows what unit to propose for the number.
            number @ (ParameterValue::Whole(_) | ParameterValue::Number(_)) => {
                let problem = number.to_string().parse::<T>().err();
                Err(problem
                    .map_or_else(|| format!("must be {what} in quotes, not {number}"), |e| e.to_string()))
            }
            other => Err(format!("must be {what} in quotes, not {other}")),
        }
    }
}

impl ParameterValue {
    /// Of what type it is, in words.
    pub(crate) fn what(&self) -> &'static str {
        match self {
            ParameterValue::Truth(_) => "true or false",
            ParameterValue::Whole(_) => "a whole number",
            ParameterValue::Number(_) => "a number",
            ParameterValue::Text(_) => "text or a quantity",
        }
    }

    /// Without quotes, as it stands in a sentence.
    pub fn bare(&self) -> String {
        match self {
            ParameterValue::Text(text) => text.clone(),
            ParameterValue::Number(number)
                if *number > 0.0 && *number < 1e-3 && (1.0 / number).fract() == 0.0 =>
            {
                format!("1/{}", 1.0 / number)
            }
            ParameterValue::Number(number) => number.to_string(),
            other => other.to_string(),
        }
    }
}

impl From<bool> for ParameterValue {
    fn from(truth: bool) -> Self {
        ParameterValue::Truth(truth)
    }
}

impl From<i32> for ParameterValue {
    fn from(number: i32) -> Self {
        ParameterValue::Whole(number.into())
    }
}

impl From<f64> for ParameterValue {
    fn from(number: f64) -> Self {
        ParameterValue::Number(number)
    }
}

impl From<&str> for ParameterValue {
    fn from(text: &str) -> Self {
        ParameterValue::Text(text.to_owned())
    }
}

/// As TOML.
impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterValue::Truth(truth) => truth.fmt(f),
            ParameterValue::Whole(number) => number.fmt(f),
            ParameterValue::Number(number) => write!(f, "{number:?}"),
            ParameterValue::Text(text) => write!(f, "{text:?}"),
        }
    }
}

/// What a parameter may be.
pub trait ParameterType: Sized + 'static {
    /// In words: `a whole number`.
    const WHAT: &'static str;
    /// In what it is measured: `bytes`, `count`.
    const UNIT: &'static str;
    /// All that it may be, where that is one of a few words.
    const CHOICES: &'static [&'static str] = &[];
    /// Whether it stands in quotes.
    const IN_QUOTES: bool = false;

    /// Reads it.
    ///
    /// # Errors
    /// What is wrong, as `must be a whole number, not "8"`, perhaps with `; write 8` at its end.
    fn read(value: &ParameterValue) -> Result<Self, String>;

    /// Writes it, the same for all that say the same.
    fn write(&self) -> ParameterValue;
}

/// The error for a value of another type.
fn must_be<T: ParameterType>(value: &ParameterValue) -> String {
    let instead = match value {
        ParameterValue::Text(text) if text.trim().parse::<f64>().is_ok() && T::WHAT.ends_with("number") => {
            format!("; write {}", text.trim())
        }
        _ => String::new(),
    };
    format!("must be {}, not {value}{instead}", T::WHAT)
}

impl ParameterType for bool {
    const WHAT: &'static str = "true or false";
    const UNIT: &'static str = "flag";
    fn read(value: &ParameterValue) -> Result<Self, String> {
        match value {
            ParameterValue::Truth(truth) => Ok(*truth),
            other => Err(must_be::<Self>(other)),
        }
    }
    fn write(&self) -> ParameterValue {
        ParameterValue::Truth(*self)
    }
}

macro_rules! whole {
    ($($name:ty),*) => { $(
        impl ParameterType for $name {
            const WHAT: &'static str = "a whole number";
            const UNIT: &'static str = "count";
            fn read(value: &ParameterValue) -> Result<Self, String> {
                match value {
                    ParameterValue::Whole(number) => <$name>::try_from(*number)
                        .map_err(|_| format!("must be {} to {}, not {number}", <$name>::MIN, <$name>::MAX)),
                    other => Err(must_be::<Self>(other)),
                }
            }
            fn write(&self) -> ParameterValue {
                ParameterValue::Whole(i64::try_from(*self).expect("numbers of parameters are below 2^63"))
            }
        }
    )* };
}
whole!(u16, u32, u64, i64);

impl ParameterType for f64 {
    const WHAT: &'static str = "a number";
    const UNIT: &'static str = "number";
    fn read(value: &ParameterValue) -> Result<Self, String> {
        match value {
            ParameterValue::Number(number) if number.is_finite() => Ok(*number),
            ParameterValue::Whole(number) => Ok(*number as f64),
            other => Err(must_be::<Self>(other)),
        }
    }
    fn write(&self) -> ParameterValue {
        ParameterValue::Number(*self)
    }
}

impl ParameterType for String {
    const WHAT: &'static str = "text in quotes";
    const UNIT: &'static str = "text";
    const IN_QUOTES: bool = true;
    fn read(value: &ParameterValue) -> Result<Self, String> {
        match value {
            ParameterValue::Text(text) => Ok(text.clone()),
            other => Err(must_be::<Self>(other)),
        }
    }
    fn write(&self) -> ParameterValue {
        ParameterValue::Text(self.clone())
    }
}

/// Makes parameters of quantities, which read as text and print as text: by `{:#}` as scenarios are stored.
#[macro_export]
macro_rules! parameter_quantities {
    ($($name:ty: $what:literal, in $unit:literal),* $(,)?) => { $(
        impl $crate::ParameterType for $name {
            const WHAT: &'static str = $what;
            const UNIT: &'static str = $unit;
            const IN_QUOTES: bool = true;
            fn read(value: &$crate::ParameterValue) -> Result<Self, String> {
                value.quantity(Self::WHAT)
            }
            fn write(&self) -> $crate::ParameterValue {
                $crate::ParameterValue::Text(format!("{self:#}"))
            }
        }
    )* };
}
parameter_quantities!(Bytes: "a size", in "bytes", Duration: "a time", in "time", Rate: "a rate", in "rate");

/// Makes parameters of enums, each variant by the word that stands for it.
#[macro_export]
macro_rules! parameter_choices {
    ($name:ident: $($word:literal = $variant:ident),* $(,)?) => {
        impl $crate::ParameterType for $name {
            const WHAT: &'static str = "text in quotes";
            const UNIT: &'static str = "choice";
            const CHOICES: &'static [&'static str] = &[$($word),*];
            const IN_QUOTES: bool = true;
            fn read(value: &$crate::ParameterValue) -> Result<Self, String> {
                match value {
                    $($crate::ParameterValue::Text(text) if text == $word => Ok($name::$variant),)*
                    other => Err(format!("must be one of {}, not {other}", Self::CHOICES.join(", "))),
                }
            }
            fn write(&self) -> $crate::ParameterValue {
                let word = match self {
                    $($name::$variant => $word,)*
                };
                $crate::ParameterValue::Text(word.to_owned())
            }
        }
    };
}

/// Where the values of a parameter lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range<T> {
    /// Anywhere.
    Any,
    /// Above 0.
    AboveZero,
    /// Here or above.
    From(T),
    /// Between these, both included.
    FromTo(T, T),
}

/// The range of what is above 0.
#[derive(Clone, Copy, Debug)]
pub struct AboveZero;

impl<T> From<RangeFull> for Range<T> {
    fn from(_: RangeFull) -> Self {
        Range::Any
    }
}

impl<T> From<AboveZero> for Range<T> {
    fn from(_: AboveZero) -> Self {
        Range::AboveZero
    }
}

impl<T> From<RangeFrom<T>> for Range<T> {
    fn from(range: RangeFrom<T>) -> Self {
        Range::From(range.start)
    }
}

impl<T> From<RangeInclusive<T>> for Range<T> {
    fn from(range: RangeInclusive<T>) -> Self {
        let (least, most) = range.into_inner();
        Range::FromTo(least, most)
    }
}

/// What can lie in a [`Range`]. Values of different units, as `"1bdp"` and `"4KB"`, lie neither above nor below each
/// other.
pub trait Ranged: ParameterType + PartialOrd + Send + Sync {
    /// Whether it is more than nothing.
    fn is_above_zero(&self) -> bool;
}

macro_rules! ranged {
    ($($name:ty, $zero:expr);* $(;)?) => { $(
        impl Ranged for $name {
            fn is_above_zero(&self) -> bool {
                *self > $zero
            }
        }
    )* };
}
ranged!(u16, 0; u32, 0; u64, 0; i64, 0; f64, 0.0; Bytes, Bytes(0); Duration, Duration(0); Rate, Rate(0));

impl<T: Ranged> Range<T> {
    fn contains(&self, value: &T) -> bool {
        let is = |value: &T, how, other: &T| value.partial_cmp(other) == Some(how);
        match self {
            Range::Any => true,
            Range::AboveZero => value.is_above_zero(),
            // What is of another unit is neither less nor more.
            Range::From(least) => !is(value, Ordering::Less, least),
            Range::FromTo(least, most) => {
                !is(value, Ordering::Less, least) && !is(value, Ordering::Greater, most)
            }
        }
    }
}

type Check = dyn Fn(&ParameterValue) -> Result<ParameterValue, String> + Send + Sync;

/// The declaration of a parameter: its name, its type, its range, what it is unless said, what it means, and where that
/// comes from.
#[derive(Clone)]
pub struct Parameter {
    name: String,
    meaning: String,
    source: String,
    default: Option<ParameterValue>,
    example: Option<ParameterValue>,
    optional: bool,
    of_type: TypeId,
    what: &'static str,
    unit: &'static str,
    choices: &'static [&'static str],
    in_quotes: bool,
    range: Option<String>,
    least: Option<ParameterValue>,
    most: Option<ParameterValue>,
    check: Arc<Check>,
}

/// What is wrong with the value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongValue {
    /// In words that follow the parameter's name: `must be 1 to 32, not 77`.
    pub problem: String,
    /// Another value, which is right.
    pub instead: Option<ParameterValue>,
}

impl Parameter {
    /// One that is `default` unless said.
    pub fn new<T: ParameterType>(name: impl Into<String>, default: T, meaning: impl Into<String>) -> Self {
        Parameter { default: Some(default.write()), ..Parameter::needed::<T>(name, meaning) }
    }

    /// One that must be said.
    pub fn needed<T: ParameterType>(name: impl Into<String>, meaning: impl Into<String>) -> Self {
        Parameter {
            name: name.into(),
            meaning: meaning.into(),
            source: String::new(),
            default: None,
            example: None,
            optional: false,
            of_type: TypeId::of::<T>(),
            what: T::WHAT,
            unit: T::UNIT,
            choices: T::CHOICES,
            in_quotes: T::IN_QUOTES,
            range: None,
            least: None,
            most: None,
            check: Arc::new(|value| T::read(value).map(|value| value.write())),
        }
    }

    /// One that may be left out, and is not there then.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Within a range: `1..=32`, `0.5..`, `AboveZero`, or `..` for all that its type allows.
    ///
    /// # Panics
    /// When the range is of another type, or the default lies outside.
    #[must_use]
    pub fn within<T: Ranged>(mut self, range: impl Into<Range<T>>) -> Self {
        let range = range.into();
        let (words, least, most) = match &range {
            Range::Any => return self,
            Range::AboveZero => ("above 0".to_owned(), None, None),
            Range::From(least) => {
                let least = least.write();
                (format!("{} or more", least.bare()), Some(least), None)
            }
            Range::FromTo(least, most) => {
                let (least, most) = (least.write(), most.write());
                (format!("{} to {}", least.bare(), most.bare()), Some(least), Some(most))
            }
        };
        let rule = format!("be {words}");
        (self.range, self.least, self.most) = (Some(words), least, most);
        self.must(rule, move |value: &T| range.contains(value))
    }

    /// With its source: a paper and its section.
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = source.into();
        self
    }

    /// With a value as an example.
    ///
    /// # Panics
    /// When it is none that the parameter may have.
    #[must_use]
    pub fn example(mut self, example: impl Into<ParameterValue>) -> Self {
        let example = example.into();
        if let Err(problem) = (self.check)(&example) {
            panic!("the example of parameter {:?} {problem}", self.name);
        }
        self.example = Some(example);
        self
    }

    /// With what it is unless said.
    ///
    /// # Panics
    /// When it may not be that.
    #[must_use]
    pub fn unless_said(mut self, default: impl Into<ParameterValue>) -> Self {
        let default = (self.check)(&default.into())
            .unwrap_or_else(|problem| panic!("the default of parameter {:?} {problem}", self.name));
        self.default = Some(default);
        self
    }

    /// As one of a table, whose name stands before its own.
    #[must_use]
    pub fn of_table(mut self, table: &str) -> Self {
        self.name = format!("{table}.{}", self.name);
        self
    }

    /// As it is called within a table: without that before its name.
    #[must_use]
    pub fn within_table(mut self, table: &str) -> Self {
        if let Some(name) = self.name.strip_prefix(table).and_then(|rest| rest.strip_prefix('.')) {
            self.name = name.to_owned();
        }
        self
    }

    /// With a rule: `must("be at least 1", |gap: &u32| *gap >= 1)`.
    ///
    /// # Panics
    /// When the rule is about another type, or the default breaks it.
    #[must_use]
    pub fn must<T: ParameterType>(
        mut self,
        rule: impl Into<String>,
        holds: impl Fn(&T) -> bool + Send + Sync + 'static,
    ) -> Self {
        let name = &self.name;
        assert!(
            self.of_type == TypeId::of::<T>(),
            "parameter {name:?} is {}, the rule is not about that",
            self.what
        );
        let (before, rule) = (self.check.clone(), rule.into());
        self.range.get_or_insert_with(|| rule.strip_prefix("be ").unwrap_or(&rule).to_owned());
        self.check = Arc::new(move |value| {
            let value = before(value)?;
            match holds(&T::read(&value)?) {
                true => Ok(value),
                false if rule == "be above 0" => Err(format!("must {rule}")),
                false => Err(format!("must {rule}, not {}", value.bare())),
            }
        });
        if let Some(Err(problem)) = self.default.as_ref().map(|default| (self.check)(default)) {
            panic!("the default of parameter {:?} {problem}", self.name);
        }
        self
    }

    /// Its name; one of a table has that before it, as `trp.alpha`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it means.
    pub fn meaning(&self) -> &str {
        &self.meaning
    }

    /// Where it comes from, as far as that was said.
    pub fn its_source(&self) -> &str {
        &self.source
    }

    /// What it may be, in words.
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// In what it is measured.
    pub fn unit(&self) -> &'static str {
        self.unit
    }

    /// Its range in words: `1 to 32`; empty for all that its type allows.
    pub fn range(&self) -> String {
        match (&self.range, self.choices) {
            (Some(range), _) => range.clone(),
            (None, []) => String::new(),
            (None, choices) => choices.join(", "),
        }
    }

    /// The ends of its range, where it has them.
    pub fn ends(&self) -> (Option<&ParameterValue>, Option<&ParameterValue>) {
        (self.least.as_ref(), self.most.as_ref())
    }

    /// All that it may be, where that is one of a few words.
    pub fn choices(&self) -> &'static [&'static str] {
        self.choices
    }

    /// What it is unless said.
    pub fn default(&self) -> Option<&ParameterValue> {
        self.default.as_ref()
    }

    /// Whether it must be said.
    pub fn is_needed(&self) -> bool {
        self.default.is_none() && !self.optional
    }

    /// A value that it may have.
    pub fn its_example(&self) -> Option<&ParameterValue> {
        self.example.as_ref().or(self.default.as_ref())
    }

    /// Whether it is of the same type as another one.
    pub fn is_like(&self, other: &Parameter) -> bool {
        self.of_type == other.of_type
    }

    /// A value as it is kept.
    ///
    /// # Errors
    /// What is wrong with it, in words that follow its name.
    pub fn check(&self, value: &ParameterValue) -> Result<ParameterValue, String> {
        (self.check)(value)
    }

    /// A value as it is kept.
    ///
    /// # Errors
    /// What is wrong with it, and what to write instead: what its type advises, the nearest end of the range, or the
    /// example.
    pub fn judge(&self, value: &ParameterValue) -> Result<ParameterValue, WrongValue> {
        self.check(value).map_err(|problem| {
            // `write 30us`, perhaps with `; "3rtt" works too` behind it.
            let advice = problem.rsplit_once("; write ").map(|(problem, rest)| {
                let instead = rest.split("; ").next().unwrap_or(rest);
                (problem.to_owned(), instead.to_owned())
            });
            let (problem, advised) = match advice {
                Some((before, instead)) => match self.advised(&instead) {
                    Some(value) => (before, Some(value)),
                    // One value is to be written, and this one is refused.
                    None if !instead.contains(' ') => (before, None),
                    None => (problem, None),
                },
                None => (problem, None),
            };
            let instead = advised.or_else(|| self.nearest_end(value)).or_else(|| self.its_example().cloned());
            WrongValue { problem, instead }
        })
    }

    /// What a type advises in the place of a value, if it can be that.
    fn advised(&self, text: &str) -> Option<ParameterValue> {
        let value = match (self.in_quotes, text.parse::<i64>(), text.parse::<f64>()) {
            (true, ..) => ParameterValue::Text(text.to_owned()),
            (false, Ok(whole), _) => ParameterValue::Whole(whole),
            (false, _, Ok(number)) => ParameterValue::Number(number),
            _ => return None,
        };
        self.check(&value).ok()
    }

    /// The end of the range that is nearest to a whole number outside.
    fn nearest_end(&self, value: &ParameterValue) -> Option<ParameterValue> {
        let ParameterValue::Whole(value) = value else { return None };
        let end = |end: &Option<ParameterValue>| match end {
            Some(ParameterValue::Whole(end)) => Some(*end),
            _ => None,
        };
        let (least, most) = (end(&self.least)?, end(&self.most).unwrap_or(i64::MAX));
        Some(ParameterValue::Whole((*value).clamp(least, most)))
    }
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parameter { name, meaning, default, what, .. } = self;
        write!(f, "Parameter({name}: {what}, default {default:?}, {meaning:?})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_in_one_form() {
        let text = |text: &str| ParameterValue::Text(text.to_owned());
        let length = Parameter::new("length", Bytes(4_096), "how long");
        assert_eq!(length.check(&text("2000B")), length.check(&text("2KB")));
        let share = Parameter::new("share", 0.5, "how much");
        assert_eq!(share.check(&ParameterValue::Whole(1)), Ok(ParameterValue::Number(1.0)));
        assert_eq!(share.check(&text("1")).unwrap_err(), "must be a number, not \"1\"; write 1");
        let error = length.check(&ParameterValue::Whole(8)).unwrap_err();
        assert!(error.ends_with("; write 8B"), "{error}");
        let error = length.check(&ParameterValue::Truth(true)).unwrap_err();
        assert_eq!(error, "must be a size in quotes, not true");
        let ports = Parameter::needed::<u16>("ports", "how many");
        let error = ports.check(&ParameterValue::Whole(70_000)).unwrap_err();
        assert_eq!(error, "must be 0 to 65535, not 70000");
    }

    #[test]
    fn rules_hold_for_values_and_defaults() {
        let gap = Parameter::new("gap", 3u32, "packets").must("be at least 1", |gap: &u32| *gap >= 1);
        assert_eq!(gap.check(&ParameterValue::Whole(0)).unwrap_err(), "must be at least 1, not 0");
        assert_eq!(gap.check(&ParameterValue::Whole(7)), Ok(ParameterValue::Whole(7)));
        let broken = || Parameter::new("gap", 0u32, "packets").must("be at least 1", |gap: &u32| *gap >= 1);
        assert!(std::panic::catch_unwind(broken).is_err());
        let of_another_type =
            || Parameter::new("gap", 3u32, "packets").must("be long", |gap: &f64| *gap > 1.0);
        assert!(std::panic::catch_unwind(of_another_type).is_err());
    }
}
