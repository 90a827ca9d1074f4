//! What other people bring: algorithms, fabrics and workloads with a name, parameters and a factory.

use crate::{Bytes, Duration, Rate};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;
use std::str::FromStr;
use std::sync::Arc;

/// Something of other people, chosen by its name, with its parameters. Two are equal when they are written alike.
pub struct Registered<F: ?Sized> {
    name: String,
    parameters: Parameters,
    factory: Arc<F>,
}

impl<F: ?Sized> Registered<F> {
    /// What is called `name`, with all its parameters and what makes it.
    pub fn new(name: impl Into<String>, parameters: Parameters, factory: Arc<F>) -> Self {
        Registered { name: name.into(), parameters, factory }
    }

    /// Its name in scenarios, the `kind`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Every parameter that it has.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// What makes it.
    pub fn factory(&self) -> &F {
        &self.factory
    }
}

impl<F: ?Sized> Clone for Registered<F> {
    fn clone(&self) -> Self {
        let Registered { name, parameters, factory } = self;
        Registered { name: name.clone(), parameters: parameters.clone(), factory: factory.clone() }
    }
}

impl<F: ?Sized> fmt::Debug for Registered<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered")
            .field("name", &self.name)
            .field("parameters", &self.parameters.0)
            .finish_non_exhaustive()
    }
}

impl<F: ?Sized> PartialEq for Registered<F> {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.parameters) == (&other.name, &other.parameters)
    }
}

/// As it stands in a scenario: its kind, and beside it its parameters.
impl<F: ?Sized> Serialize for Registered<F> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut map = s.serialize_map(Some(1 + self.parameters.0.len()))?;
        map.serialize_entry("kind", &self.name)?;
        for (name, value) in &self.parameters.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Writes and reads an enum whose variant `Registered` holds what other people bring.
///
/// The enum derives both under `remote = "Self"`, with that variant skipped. Only a registry can read the variant, as
/// it knows what makes it.
#[macro_export]
macro_rules! serde_but_registered {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                match self {
                    $name::Registered(registered) => serde::Serialize::serialize(registered, s),
                    ours => $name::serialize(ours, s),
                }
            }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                $name::deserialize(d)
            }
        }
    };
}

/// The parameters of something registered, all that it declares and no others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters(BTreeMap<String, ParameterValue>);

impl Parameters {
    /// The value of `name`.
    ///
    /// # Panics
    /// When no parameter of that name and type was declared, with the place that asks. In a factory this ends the run
    /// with an error that says so.
    #[track_caller]
    pub fn get<T: ParameterType>(&self, name: &str) -> T {
        let place = Location::caller();
        let Some(value) = self.0.get(name) else {
            let declared: Vec<&str> = self.0.keys().map(String::as_str).collect();
            panic!(
                "{place} asks for the parameter {name:?}, which is not declared; declared are {declared:?}"
            );
        };
        T::read(value).unwrap_or_else(|_| {
            let (asked, declared) = (T::WHAT, value.what());
            panic!("{place} asks for the parameter {name:?} as {asked}, but it is declared as {declared}: {value}")
        })
    }

    /// Sets the value of `name`, which its declaration has passed ([`Parameter::check`]).
    pub fn set(&mut self, name: &str, value: ParameterValue) {
        self.0.insert(name.to_owned(), value);
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ParameterValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

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
    /// Of what type it is, in words.
    fn what(&self) -> &'static str {
        match self {
            ParameterValue::Truth(_) => "true or false",
            ParameterValue::Whole(_) => "a whole number",
            ParameterValue::Number(_) => "a number",
            ParameterValue::Text(_) => "text or a quantity",
        }
    }

    /// The quantity that it says in quotes.
    ///
    /// # Errors
    /// It is no text, or not `what`.
    pub fn quantity<T: FromStr<Err: fmt::Display>>(&self, what: &str) -> Result<T, String> {
        match self {
            ParameterValue::Text(text) => text.parse().map_err(|e: T::Err| e.to_string()),
            other => Err(format!("must be {what} in quotes, not {other}")),
        }
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

/// Makes parameters of quantities, which read and print as text.
#[macro_export]
macro_rules! parameter_quantities {
    ($($name:ty: $what:literal),*) => { $(
        impl $crate::ParameterType for $name {
            const WHAT: &'static str = $what;
            const IN_QUOTES: bool = true;
            fn read(value: &$crate::ParameterValue) -> Result<Self, String> {
                value.quantity(Self::WHAT)
            }
            fn write(&self) -> $crate::ParameterValue {
                $crate::ParameterValue::Text(self.to_string())
            }
        }
    )* };
}
parameter_quantities!(Bytes: "a size", Duration: "a time", Rate: "a rate");

type Check = dyn Fn(&ParameterValue) -> Result<ParameterValue, String> + Send + Sync;

/// The declaration of a parameter: its name, its type, what it is unless said, and what it means.
#[derive(Clone)]
pub struct Parameter {
    name: String,
    meaning: String,
    default: Option<ParameterValue>,
    of_type: TypeId,
    what: &'static str,
    in_quotes: bool,
    check: Arc<Check>,
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
            default: None,
            of_type: TypeId::of::<T>(),
            what: T::WHAT,
            in_quotes: T::IN_QUOTES,
            check: Arc::new(|value| T::read(value).map(|value| value.write())),
        }
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
        self.check = Arc::new(move |value| {
            let value = before(value)?;
            match holds(&T::read(&value)?) {
                true => Ok(value),
                false => Err(format!("must {rule}, not {value}")),
            }
        });
        if let Some(Err(problem)) = self.default.as_ref().map(|default| (self.check)(default)) {
            panic!("the default of parameter {:?} {problem}", self.name);
        }
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it means.
    pub fn meaning(&self) -> &str {
        &self.meaning
    }

    /// What it may be, in words.
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// What it is unless said.
    pub fn default(&self) -> Option<&ParameterValue> {
        self.default.as_ref()
    }

    /// Whether it is written in quotes.
    pub fn is_text(&self) -> bool {
        self.in_quotes
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
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parameter { name, meaning, default, what, .. } = self;
        write!(f, "Parameter({name}: {what}, default {default:?}, {meaning:?})")
    }
}

/// Why parameters that are right one by one are wrong together, or on a fabric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{parameter}: {problem}")]
pub struct Refused {
    /// The parameter to change.
    pub parameter: String,
    /// What is wrong, perhaps with `; write ...` at its end.
    pub problem: String,
}

impl Refused {
    /// For a reason about a parameter.
    pub fn new(parameter: impl Into<String>, problem: impl Into<String>) -> Self {
        Refused { parameter: parameter.into(), problem: problem.into() }
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
        assert_eq!(error, "must be a size in quotes, not 8");
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

    #[test]
    fn only_name_and_parameters_tell_two_apart() {
        let with = |gap: i64, factory: Arc<dyn Fn() -> u32>| {
            let mut parameters = Parameters::default();
            parameters.set("gap", ParameterValue::Whole(gap));
            Registered::new("mine", parameters, factory)
        };
        assert_eq!(with(1, Arc::new(|| 1)), with(1, Arc::new(|| 2)));
        assert_ne!(with(1, Arc::new(|| 1)), with(2, Arc::new(|| 1)));
        assert_eq!(with(7, Arc::new(|| 1)).parameters().get::<u32>("gap"), 7);
    }
}
