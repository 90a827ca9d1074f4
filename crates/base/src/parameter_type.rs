//! The types that a parameter can have, and its values as scenarios write them.

use crate::diagnostic::toml_text;
use crate::{Bytes, Duration, Fix, Problem, Rate, nearest};
use std::fmt;
use std::str::FromStr;

/// The value of a parameter as a scenario writes it. Quantities with units are text.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum ParameterValue {
    /// A truth value: `true` or `false`.
    Bool(bool),
    /// A whole number: `8`.
    Integer(i64),
    /// A floating-point number: `0.25`.
    Number(f64),
    /// Text in quotes: `"5us"`.
    Text(String),
}

impl ParameterValue {
    /// Parses a quantity that is written as text.
    ///
    /// # Errors
    /// The value is not text, or its text is not a quantity of type `T`.
    pub fn quantity<T: FromStr<Err: Into<ValueError>>>(&self, type_name: &str) -> Result<T, ValueError> {
        match self {
            ParameterValue::Text(text) => text.parse().map_err(T::Err::into),
            // The parser of the quantity knows the unit to propose for a bare number, so its error is used.
            number @ (ParameterValue::Integer(_) | ParameterValue::Number(_)) => {
                let problem = number.to_string().parse::<T>().err();
                Err(problem.map_or_else(
                    || format!("must be {type_name} in quotes, not {number}").into(),
                    T::Err::into,
                ))
            }
            other => Err(format!("must be {type_name} in quotes, not {other}").into()),
        }
    }

    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            ParameterValue::Bool(_) => "true or false",
            ParameterValue::Integer(_) => "a whole number",
            ParameterValue::Number(_) => "a number",
            ParameterValue::Text(_) => "text or a quantity",
        }
    }

    /// The value without quotes, for use in a sentence.
    pub fn unquoted(&self) -> String {
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
    fn from(flag: bool) -> Self {
        ParameterValue::Bool(flag)
    }
}

impl From<i32> for ParameterValue {
    fn from(number: i32) -> Self {
        ParameterValue::Integer(number.into())
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

/// Prints the value as TOML.
impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterValue::Bool(flag) => flag.fmt(f),
            ParameterValue::Integer(number) => number.fmt(f),
            ParameterValue::Number(number) if number.is_nan() => f.write_str("nan"),
            ParameterValue::Number(number) => write!(f, "{number:?}"),
            ParameterValue::Text(text) => f.write_str(&toml_text(text)),
        }
    }
}

/// The form of a type's values in scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueForm {
    /// A truth value: `true` or `false`.
    Flag,
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// Text in quotes.
    Text,
    /// Text in quotes that matches one of these regular expressions, in which `#` is a decimal number.
    Quantity(&'static [&'static str]),
}

impl ValueForm {
    /// Whether TOML writes the value in quotes.
    pub fn is_in_quotes(self) -> bool {
        matches!(self, ValueForm::Text | ValueForm::Quantity(_))
    }
}

/// The form of sizes, for [`ValueForm::Quantity`].
pub const SIZE_FORM: &str = "#(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)";
/// The form of times, for [`ValueForm::Quantity`].
pub const TIME_FORM: &str = "#(ps|ns|us|\u{b5}s|\u{3bc}s|ms|s)";
/// The form of rates, for [`ValueForm::Quantity`].
pub const RATE_FORM: &str = "#(bps|Kbps|Mbps|Gbps|Tbps)";

/// The kind of an error in a parameter's value. The kind decides how the error's text follows the parameter's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueFault {
    /// The value breaks a rule. The text continues the name, as in `lb.evs must be 1 to 65536, not 0`.
    Rule,
    /// The value is not a quantity of this type. The text follows a colon, as in `transport.rto: "4" is not a time`.
    Syntax,
}

impl ValueFault {
    /// The error about `parameter` as a sentence.
    pub fn sentence(self, parameter: &str, problem: &str) -> String {
        match self {
            ValueFault::Rule => format!("{parameter} {problem}"),
            ValueFault::Syntax => format!("{parameter}: {problem}"),
        }
    }
}

/// The error for a value that a parameter does not permit.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueError {
    /// The kind of the error.
    pub fault: ValueFault,
    /// The problem. If its fix is a replacement value, that value has no quotes around it.
    pub problem: Problem,
}

impl ValueError {
    /// A broken rule, in words that follow the parameter's name.
    pub fn rule(problem: impl Into<Problem>) -> ValueError {
        ValueError { fault: ValueFault::Rule, problem: problem.into() }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

/// An error of a parser has the kind `Syntax`.
impl From<Problem> for ValueError {
    fn from(problem: Problem) -> ValueError {
        ValueError { fault: ValueFault::Syntax, problem }
    }
}

impl From<ValueError> for Problem {
    fn from(error: ValueError) -> Problem {
        error.problem
    }
}

impl From<String> for ValueError {
    fn from(message: String) -> ValueError {
        ValueError::rule(message)
    }
}

/// A type that a parameter can have.
pub trait ParameterType: Sized + 'static {
    /// The type in words: `a whole number`.
    const TYPE_NAME: &'static str;
    /// The unit: `bytes`, `count`.
    const UNIT: &'static str;
    /// All permitted words, for a type whose values are words of a fixed list.
    const CHOICES: &'static [&'static str] = &[];
    /// Pairs of a synonym, in lower-case letters and digits, and the permitted word to suggest for it.
    const SYNONYMS: &'static [(&'static str, &'static str)] = &[];
    /// The form of the values.
    const FORM: ValueForm;

    /// Reads a value.
    ///
    /// # Errors
    /// A broken rule, such as `must be a whole number, not "8"`, or text that is not a quantity of this type.
    fn read(value: &ParameterValue) -> Result<Self, ValueError>;

    /// Writes the value in its canonical form, so that equal values have equal text.
    fn write(&self) -> ParameterValue;
}

/// The error for a value of another type.
fn must_be<T: ParameterType>(value: &ParameterValue) -> Problem {
    let fix = match value {
        ParameterValue::Text(text)
            if text.trim().parse::<f64>().is_ok() && T::TYPE_NAME.ends_with("number") =>
        {
            Some(Fix::value(text.trim()))
        }
        _ => None,
    };
    Problem { message: format!("must be {}, not {value}", T::TYPE_NAME), fix }
}

impl ParameterType for bool {
    const TYPE_NAME: &'static str = "true or false";
    const UNIT: &'static str = "flag";
    const FORM: ValueForm = ValueForm::Flag;
    fn read(value: &ParameterValue) -> Result<Self, ValueError> {
        match value {
            ParameterValue::Bool(flag) => Ok(*flag),
            other => Err(ValueError::rule(must_be::<Self>(other))),
        }
    }
    fn write(&self) -> ParameterValue {
        ParameterValue::Bool(*self)
    }
}

/// 2^53. An `f64` represents every whole number below this one exactly.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

macro_rules! whole {
    ($($name:ty),*) => { $(
        impl ParameterType for $name {
            const TYPE_NAME: &'static str = "a whole number";
            const UNIT: &'static str = "count";
            const FORM: ValueForm = ValueForm::Whole;
            fn read(value: &ParameterValue) -> Result<Self, ValueError> {
                match value {
                    ParameterValue::Integer(number) => <$name>::try_from(*number)
                        .map_err(|_| format!("must be {} to {}, not {number}", <$name>::MIN, <$name>::MAX).into()),
                    ParameterValue::Number(number) if number.abs() < MOST_EXACT => {
                        Err(ValueError::rule(Problem { fix: Some(Fix::value(number.round())), ..must_be::<Self>(value) }))
                    }
                    other => Err(ValueError::rule(must_be::<Self>(other))),
                }
            }
            fn write(&self) -> ParameterValue {
                ParameterValue::Integer(i64::try_from(*self).expect("numbers of parameters are below 2^63"))
            }
        }
    )* };
}
whole!(u16, u32, u64, i64);

impl ParameterType for f64 {
    const TYPE_NAME: &'static str = "a number";
    const UNIT: &'static str = "number";
    const FORM: ValueForm = ValueForm::Number;
    fn read(value: &ParameterValue) -> Result<Self, ValueError> {
        match value {
            ParameterValue::Number(number) if number.is_finite() => Ok(*number),
            ParameterValue::Integer(number) => Ok(*number as f64),
            other => Err(ValueError::rule(must_be::<Self>(other))),
        }
    }
    fn write(&self) -> ParameterValue {
        ParameterValue::Number(*self)
    }
}

impl ParameterType for String {
    const TYPE_NAME: &'static str = "text in quotes";
    const UNIT: &'static str = "text";
    const FORM: ValueForm = ValueForm::Text;
    fn read(value: &ParameterValue) -> Result<Self, ValueError> {
        match value {
            ParameterValue::Text(text) => Ok(text.clone()),
            other => Err(ValueError::rule(must_be::<Self>(other))),
        }
    }
    fn write(&self) -> ParameterValue {
        ParameterValue::Text(self.clone())
    }
}

/// Implements [`ParameterType`] for quantities, which are read from text. They are written by `{:#}`, the form of
/// stored scenarios.
#[macro_export]
macro_rules! parameter_quantities {
    ($($name:ty: $type_name:literal, in $unit:literal, as $forms:expr),* $(,)?) => { $(
        impl $crate::ParameterType for $name {
            const TYPE_NAME: &'static str = $type_name;
            const UNIT: &'static str = $unit;
            const FORM: $crate::ValueForm = $crate::ValueForm::Quantity($forms);
            fn read(value: &$crate::ParameterValue) -> Result<Self, $crate::ValueError> {
                value.quantity(Self::TYPE_NAME)
            }
            fn write(&self) -> $crate::ParameterValue {
                $crate::ParameterValue::Text(format!("{self:#}"))
            }
        }
    )* };
}
parameter_quantities!(
    Bytes: "a size", in "bytes", as &[SIZE_FORM],
    Duration: "a time", in "time", as &[TIME_FORM],
    Rate: "a rate", in "rate", as &[RATE_FORM],
);

/// The error for a value that is not one of the permitted words. Its fix is the word of which the value is a synonym,
/// or else the word that is spelt most similarly, if there is one.
pub fn unknown_choice<T: ParameterType>(value: &ParameterValue) -> Problem {
    let message = format!("must be one of {}, not {value}", T::CHOICES.join(", "));
    let ParameterValue::Text(text) = value else { return message.into() };
    let plain: String = text.to_lowercase().chars().filter(|letter| letter.is_alphanumeric()).collect();
    let synonym = T::SYNONYMS.iter().find(|(word, _)| *word == plain).map(|(_, choice)| *choice);
    Problem { message, fix: synonym.or_else(|| nearest(text, T::CHOICES)).map(Fix::value) }
}

/// Implements [`ParameterType`] for an enum, with a word for each variant. Synonyms follow the words:
/// `; or "droptail" = "arriving"`.
#[macro_export]
macro_rules! parameter_choices {
    ($name:ident: $($word:literal = $variant:ident),* $(,)? $(; or $($synonym:literal = $meant:literal),*)?) => {
        impl $crate::ParameterType for $name {
            const TYPE_NAME: &'static str = "text in quotes";
            const UNIT: &'static str = "choice";
            const CHOICES: &'static [&'static str] = &[$($word),*];
            const SYNONYMS: &'static [(&'static str, &'static str)] = &[$($(($synonym, $meant)),*)?];
            const FORM: $crate::ValueForm = $crate::ValueForm::Text;
            fn read(value: &$crate::ParameterValue) -> Result<Self, $crate::ValueError> {
                match value {
                    $($crate::ParameterValue::Text(text) if text == $word => Ok($name::$variant),)*
                    other => Err($crate::ValueError::rule($crate::unknown_choice::<Self>(other))),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_printed_as_toml() {
        let text = |text: &str| ParameterValue::from(text).to_string();
        assert_eq!(text("5us"), r#""5us""#);
        assert_eq!(text("a\"b\\c\td\n"), r#""a\"b\\c\td\n""#);
        assert_eq!(text("\u{1b}[0m \0 \u{7f} \u{200b} é"), "\"\\u001B[0m \\u0000 \\u007F \u{200b} é\"");
        let number = |number: f64| ParameterValue::from(number).to_string();
        assert_eq!([number(0.25), number(1.0), number(1e300)], ["0.25", "1.0", "1e300"]);
        assert_eq!([number(f64::NAN), number(f64::INFINITY), number(-f64::INFINITY)], ["nan", "inf", "-inf"]);
    }
}
