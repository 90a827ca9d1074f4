//! What other people bring: algorithms, fabrics and workloads with a name, parameters and a factory.

use crate::{ParameterType, ParameterValue};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;
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

    /// Sets the value of `name`, which its declaration has passed ([`Parameter::check`](crate::Parameter::check)).
    pub fn set(&mut self, name: &str, value: ParameterValue) {
        self.0.insert(name.to_owned(), value);
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ParameterValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
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
