//! Types whose fields are parameters: what a reader, a check and a reference need to know of them stands beside them.

use crate::{Parameter, ParameterType, ParameterValue};

/// A type whose fields are parameters. [`parameters!`](crate::parameters) implements it.
pub trait Declared {
    /// The declarations, in the order of the fields. Those of a table within have its name before theirs.
    fn declared() -> &'static [Parameter]
    where
        Self: Sized;

    /// What follows the name of a field of this type in the names of its parameters: `[]` of a list of tables.
    const AFTER_NAME: &'static str = "";

    /// The values as they stand, by the names of their declarations. What is left out has none.
    fn stated(&self) -> Vec<(String, ParameterValue)>;

    /// Checks each value against its declaration.
    ///
    /// # Errors
    /// The first one that is out of its range.
    fn check(&self) -> Result<(), OutOfRange>
    where
        Self: Sized,
    {
        let declared = Self::declared();
        for (name, value) in self.stated() {
            let Some(parameter) = declared.iter().find(|parameter| parameter.name() == name) else {
                continue;
            };
            if let Err(wrong) = parameter.judge(&value) {
                return Err(OutOfRange { parameter: name, problem: wrong.problem, instead: wrong.instead });
            }
        }
        Ok(())
    }
}

/// A parameter of a typed configuration whose value is none that it may have.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{parameter} {problem}{}", .instead.as_ref().map(|value| format!("; write {value}")).unwrap_or_default())]
pub struct OutOfRange {
    /// Its name, as `lb.buffer`.
    pub parameter: String,
    /// In words that follow the name: `must be 1 to 32, not 77`.
    pub problem: String,
    /// A value that it may have.
    pub instead: Option<ParameterValue>,
}

impl OutOfRange {
    /// As one of a table or a part, whose name stands before its own.
    #[must_use]
    pub fn of(mut self, part: &str) -> Self {
        self.parameter = format!("{part}.{}", self.parameter);
        self
    }
}

/// One of several that a table chooses among by its `kind`.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Its name in scenarios.
    pub name: &'static str,
    /// What it is.
    pub meaning: String,
    /// The declarations of its parameters.
    pub parameters: &'static [Parameter],
}

/// A field of a declared type that is a parameter, or one that may be left out.
pub trait Field {
    /// What it may be.
    type Value: ParameterType;
    /// Whether it may be left out.
    const OPTIONAL: bool;
    /// Its value, if it is there.
    fn stated(&self) -> Option<ParameterValue>;
}

impl<T: ParameterType> Field for T {
    type Value = T;
    const OPTIONAL: bool = false;
    fn stated(&self) -> Option<ParameterValue> {
        Some(self.write())
    }
}

impl<T: ParameterType> Field for Option<T> {
    type Value = T;
    const OPTIONAL: bool = true;
    fn stated(&self) -> Option<ParameterValue> {
        self.as_ref().map(ParameterType::write)
    }
}

/// A table that may be left out.
impl<T: Declared> Declared for Option<T> {
    fn declared() -> &'static [Parameter] {
        T::declared()
    }
    fn stated(&self) -> Vec<(String, ParameterValue)> {
        self.as_ref().map(Declared::stated).unwrap_or_default()
    }
}

/// A list of tables.
impl<T: Declared> Declared for Vec<T> {
    const AFTER_NAME: &'static str = "[]";
    fn declared() -> &'static [Parameter] {
        T::declared()
    }
    fn stated(&self) -> Vec<(String, ParameterValue)> {
        self.iter().flat_map(Declared::stated).collect()
    }
}

/// A documentation comment as the meaning of a parameter.
pub fn meaning(comment: &str) -> String {
    comment.trim().replace("[`", "`").replace("`]", "`")
}

/// Declares a struct and, beside each field, what its parameter may be: `#[is(1..=32; example = 8; source = "...")]`,
/// with `; default = 8` where it may be left out. The field's documentation is the parameter's meaning. `#[is(table)]`
/// is a table of parameters, or a list of such tables; `#[is(part)]` something with parameters of its own kind.
///
/// A range is `..` for all that the type allows, `1..=32`, `0.5..`, or `AboveZero`.
#[macro_export]
macro_rules! parameters {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $(#[serde($($serde:tt)*)])?
                #[is($($is:tt)*)]
                pub $field:ident: $type:ty
            ),* $(,)?
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $(
                $(#[doc = $doc])+
                $(#[serde($($serde)*)])?
                pub $field: $type,
            )*
        }

        impl $crate::Declared for $name {
            fn declared() -> &'static [$crate::Parameter] {
                // Each look would make some hundred strings anew.
                static ALL: std::sync::LazyLock<Vec<$crate::Parameter>> = std::sync::LazyLock::new(|| {
                    #[allow(unused_mut, reason = "one without fields has none")]
                    let mut all = Vec::new();
                    $(
                        $crate::parameters!(@declare all, $field, concat!($($doc),+), $type, $($is)*);
                    )*
                    all
                });
                &ALL
            }

            fn stated(&self) -> Vec<(String, $crate::ParameterValue)> {
                #[allow(unused_mut, reason = "one without fields has none")]
                let mut all = Vec::new();
                $(
                    $crate::parameters!(@state all, self.$field, stringify!($field), $type, $($is)*);
                )*
                all
            }
        }
    };

    (@declare $all:ident, $field:ident, $doc:expr, $type:ty, part) => {};
    (@declare $all:ident, $field:ident, $doc:expr, $type:ty, table) => {
        let of_table = <$type as $crate::Declared>::declared();
        let table = format!("{}{}", stringify!($field), <$type as $crate::Declared>::AFTER_NAME);
        $all.extend(of_table.iter().map(|parameter| parameter.clone().of_table(&table)));
    };
    (@declare $all:ident, $field:ident, $doc:expr, $type:ty, any; $($more:tt)*) => {
        let parameter = $crate::Parameter::needed::<<$type as $crate::Field>::Value>(
            stringify!($field),
            $crate::meaning($doc),
        );
        $crate::parameters!(@finish $all, parameter, $type, $($more)*);
    };
    (@declare $all:ident, $field:ident, $doc:expr, $type:ty, $range:expr; $($more:tt)*) => {
        let parameter = $crate::Parameter::needed::<<$type as $crate::Field>::Value>(
            stringify!($field),
            $crate::meaning($doc),
        )
        .within::<<$type as $crate::Field>::Value>($range);
        $crate::parameters!(@finish $all, parameter, $type, $($more)*);
    };
    (
        @finish $all:ident, $parameter:ident, $type:ty,
        example = $example:expr; source = $source:expr $(; default = $default:expr)?
    ) => {
        let parameter = $parameter.example($example).source($source)$(.unless_said($default))?;
        let optional = <$type as $crate::Field>::OPTIONAL;
        $all.push(if optional { parameter.optional() } else { parameter });
    };

    (@state $all:ident, $value:expr, $name:expr, $type:ty, part) => {};
    (@state $all:ident, $value:expr, $name:expr, $type:ty, table) => {
        let table = format!("{}{}", $name, <$type as $crate::Declared>::AFTER_NAME);
        let of_table = $crate::Declared::stated(&$value);
        $all.extend(of_table.into_iter().map(|(name, value)| (format!("{table}.{name}"), value)));
    };
    (@state $all:ident, $value:expr, $name:expr, $type:ty, $($is:tt)*) => {
        $all.extend($crate::Field::stated(&$value).map(|value| ($name.to_owned(), value)));
    };
}

/// Declares an enum that a table chooses by its `kind`: each variant with its name, and with the type that declares its
/// parameters, if it has some. Another variant, `Registered`, holds what other people bring.
#[macro_export]
macro_rules! kinds {
    (
        $(#[$meta:meta])*
        pub enum $name:ident or $registered:ty {
            $(
                $(#[doc = $doc:literal])+
                #[kind($kind:literal)]
                $variant:ident $(($config:ty))? $({ $($nothing:tt)* })?
            ),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(remote = "Self", tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        pub enum $name {
            $(
                $(#[doc = $doc])+
                $variant $(($config))? $({ $($nothing)* })?,
            )*
            /// Somebody else's, from a registry.
            #[serde(skip)]
            Registered($registered),
        }

        $crate::serde_but_registered!($name);

        impl $name {
            /// Ours, by the names that scenarios use.
            pub const KINDS: &'static [&'static str] = &[$($kind),*];

            /// Ours, with the declarations of their parameters.
            pub fn kinds() -> Vec<$crate::Kind> {
                vec![$(
                    $crate::Kind {
                        name: $kind,
                        meaning: $crate::meaning(concat!($($doc),+)),
                        parameters: {
                            let declared: &[&'static [$crate::Parameter]] =
                                &[$( <$config as $crate::Declared>::declared() )?];
                            declared.first().copied().unwrap_or_default()
                        },
                    },
                )*]
            }

            /// The declarations of its parameters; of somebody else's the registry has them.
            pub fn declared(&self) -> &'static [$crate::Parameter] {
                $( $(
                    if let $name::$variant(_) = self {
                        return <$config as $crate::Declared>::declared();
                    }
                )? )*
                &[]
            }

            /// Checks each parameter against its declaration; those of somebody else's were checked as they were read.
            ///
            /// # Errors
            /// The first one that is out of its range.
            pub fn check(&self) -> Result<(), $crate::OutOfRange> {
                $( $(
                    if let $name::$variant(config) = self {
                        return <$config as $crate::Declared>::check(config);
                    }
                )? )*
                Ok(())
            }
        }
    };
}
