//! User-defined algorithms, fabrics and workloads: a name, parameters and a factory.

use crate::{ParameterType, ParameterValue, Problem};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A user-defined implementation, selected by its name, with its parameters. Two implementations are equal if their
/// names and parameters are equal.
pub struct Registered<F: ?Sized> {
    name: String,
    parameters: Parameters,
    factory: Arc<F>,
}

impl<F: ?Sized> Registered<F> {
    /// An implementation called `name`, with all its parameters and the factory that builds it.
    pub fn new(name: impl Into<String>, parameters: Parameters, factory: Arc<F>) -> Self {
        Registered { name: name.into(), parameters, factory }
    }

    /// The name that scenarios write as `kind`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The parameters and their values.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The function that builds the implementation.
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

/// Writes the value as a scenario does: the `kind` beside the parameters.
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

/// Implements serde's traits for an enum whose variant `Registered` holds a user-defined implementation.
///
/// The enum derives both traits under `remote = "Self"` and skips that variant. The variant can be read only with a
/// registry, because the registry has the factory.
#[macro_export]
macro_rules! serde_but_registered {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                match self {
                    $name::Registered(registered) => serde::Serialize::serialize(registered, s),
                    built_in => $name::serialize(built_in, s),
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

/// The parameters of a user-defined implementation. An optional parameter that is left out is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters(BTreeMap<String, ParameterValue>);

impl Parameters {
    /// The value of `name`.
    ///
    /// # Panics
    /// There is no parameter of that name, or its value is not of type `T`. The message contains the place of
    /// the call. If a factory makes the call, the panic ends the run with an error.
    #[track_caller]
    pub fn get<T: ParameterType>(&self, name: &str) -> T {
        let caller = Location::caller();
        let Some(value) = self.0.get(name) else {
            let declared: Vec<&str> = self.0.keys().map(String::as_str).collect();
            panic!(
                "{caller} asks for the parameter {name:?}, which is not declared; declared are {declared:?}"
            );
        };
        T::read(value).unwrap_or_else(|_| {
            let (asked, declared) = (T::TYPE_NAME, value.type_name());
            panic!("{caller} asks for the parameter {name:?} as {asked}, but it is declared as {declared}: {value}")
        })
    }

    /// Sets a parameter. The value is not checked ([`Parameter::check`](crate::Parameter::check) does this).
    pub fn set(&mut self, name: &str, value: ParameterValue) {
        self.0.insert(name.to_owned(), value);
    }

    /// The parameters, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ParameterValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

/// An error in parameters that are permitted one by one, but not together or not on this fabric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{parameter}: {problem}")]
pub struct Refused {
    /// The parameter to change.
    pub parameter: String,
    /// The problem and, where one is known, the fix.
    pub problem: Problem,
}

impl Refused {
    /// An error about a parameter.
    pub fn new(parameter: impl Into<String>, problem: impl Into<Problem>) -> Self {
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
            parameters.set("gap", ParameterValue::Integer(gap));
            Registered::new("mine", parameters, factory)
        };
        assert_eq!(with(1, Arc::new(|| 1)), with(1, Arc::new(|| 2)));
        assert_ne!(with(1, Arc::new(|| 1)), with(2, Arc::new(|| 1)));
        assert_eq!(with(7, Arc::new(|| 1)).parameters().get::<u32>("gap"), 7);
    }
}
