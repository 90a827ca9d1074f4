//! Types whose fields are parameters. Each parameter is declared once, beside its field. The reader of scenarios, the
//! checks of values and the reference documentation all use this declaration.

use crate::{Fix, Parameter, ParameterType, ParameterValue, Problem, WrongValue};

/// A type whose fields are parameters. [`parameters!`](crate::parameters) implements it.
pub trait Declared {
    /// The declarations, in the order of the fields. The name of a parameter in a nested table begins with the
    /// table's name.
    fn declared() -> &'static [Parameter]
    where
        Self: Sized;

    /// The suffix of the table's name in the names of its parameters: `[]` for a list of tables, empty for one table.
    const NAME_SUFFIX: &'static str = "";

    /// The current value of each parameter, with the parameter's name. A parameter that is left out is not listed.
    fn values(&self) -> Vec<(String, ParameterValue)>;

    /// Checks each value against its declaration.
    ///
    /// # Errors
    /// The first value that its declaration does not permit.
    fn check(&self) -> Result<(), OutOfRange>
    where
        Self: Sized,
    {
        let declared = Self::declared();
        for (name, value) in self.values() {
            let Some(parameter) = declared.iter().find(|parameter| parameter.name() == name) else {
                continue;
            };
            if let Err(WrongValue { problem, instead, .. }) = parameter.validate(&value) {
                let problem = Problem { message: problem, fix: instead.map(Fix::value) };
                return Err(OutOfRange { parameter: name, problem });
            }
        }
        Ok(())
    }
}

/// The error of a typed configuration in which a parameter has a value that its declaration does not permit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{parameter} {problem}")]
pub struct OutOfRange {
    /// The parameter's name, such as `lb.buffer`.
    pub parameter: String,
    /// The problem in words that continue the name (`must be 1 to 32, not 77`), and a permitted value in TOML, if
    /// one is known.
    pub problem: Problem,
}

impl OutOfRange {
    /// Puts the name of a table or a component before the parameter's name.
    #[must_use]
    pub fn of(mut self, part: &str) -> Self {
        self.parameter = format!("{part}.{}", self.parameter);
        self
    }
}

/// One of the alternatives that a table selects by its `kind`.
#[derive(Clone, Debug)]
pub struct KindDeclaration {
    /// The name that scenarios write as `kind`.
    pub name: &'static str,
    /// The meaning, which lists of kinds print.
    pub meaning: String,
    /// The declarations of the kind's parameters.
    pub parameters: &'static [Parameter],
}

/// A field that is a parameter, or an `Option` of one.
pub trait Field {
    /// The type of the parameter.
    type Value: ParameterType;
    /// Whether the parameter may be left out even without a default.
    const OPTIONAL: bool;
    /// The value; none if the parameter is left out.
    fn value(&self) -> Option<ParameterValue>;
}

impl<T: ParameterType> Field for T {
    type Value = T;
    const OPTIONAL: bool = false;
    fn value(&self) -> Option<ParameterValue> {
        Some(self.write())
    }
}

impl<T: ParameterType> Field for Option<T> {
    type Value = T;
    const OPTIONAL: bool = true;
    fn value(&self) -> Option<ParameterValue> {
        self.as_ref().map(ParameterType::write)
    }
}

/// An optional table declares the same parameters as a required one.
impl<T: Declared> Declared for Option<T> {
    fn declared() -> &'static [Parameter] {
        T::declared()
    }
    fn values(&self) -> Vec<(String, ParameterValue)> {
        self.as_ref().map(Declared::values).unwrap_or_default()
    }
}

/// A list of tables declares the parameters of a single table once, because all its tables have the same parameters.
impl<T: Declared> Declared for Vec<T> {
    const NAME_SUFFIX: &'static str = "[]";
    fn declared() -> &'static [Parameter] {
        T::declared()
    }
    fn values(&self) -> Vec<(String, ParameterValue)> {
        self.iter().flat_map(Declared::values).collect()
    }
}

/// Makes the meaning of a parameter, kind or column from its doc comment, without the brackets of intra-doc links.
pub fn meaning(comment: &str) -> String {
    comment.trim().replace("[`", "`").replace("`]", "`")
}

/// Declares a struct whose fields are parameters. A parameter is declared by an attribute such as
/// `#[param(1..=32; example = 8; source = "...")]`, and the field's doc comment is its meaning. The range is `1..=32`,
/// `0.5..`, `AboveZero`, or `any` if only the type limits the value.
///
/// A parameter with a default also has `; default = 8`. A parameter whose field is an `Option` may be left out even
/// without a default. `#[param(table)]` marks a field that is a table of parameters or a list of such tables.
/// `#[param(part)]` marks a field that is no parameter of this struct, such as a table whose `kind` selects its
/// parameters.
#[macro_export]
macro_rules! parameters {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $(#[serde($($serde:tt)*)])?
                #[param($($param:tt)*)]
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
                static ALL: std::sync::LazyLock<Vec<$crate::Parameter>> = std::sync::LazyLock::new(|| {
                    #[allow(unused_mut, reason = "one without fields has none")]
                    let mut all = Vec::new();
                    $(
                        $crate::parameters!(@declare all, $field, concat!($($doc),+), $type, $($param)*);
                    )*
                    all
                });
                &ALL
            }

            fn values(&self) -> Vec<(String, $crate::ParameterValue)> {
                #[allow(unused_mut, reason = "one without fields has none")]
                let mut all = Vec::new();
                $(
                    $crate::parameters!(@state all, self.$field, stringify!($field), $type, $($param)*);
                )*
                all
            }
        }
    };

    (@declare $all:ident, $field:ident, $doc:expr, $type:ty, part) => {};
    (@declare $all:ident, $field:ident, $doc:expr, $type:ty, table) => {
        let of_table = <$type as $crate::Declared>::declared();
        let table = format!("{}{}", stringify!($field), <$type as $crate::Declared>::NAME_SUFFIX);
        $all.extend(of_table.iter().map(|parameter| parameter.clone().in_table(&table)));
    };
    (@declare $all:ident, $field:ident, $doc:expr, $type:ty, any; $($more:tt)*) => {
        let parameter = $crate::Parameter::required::<<$type as $crate::Field>::Value>(
            stringify!($field),
            $crate::meaning($doc),
        );
        $crate::parameters!(@finish $all, parameter, $type, $($more)*);
    };
    (@declare $all:ident, $field:ident, $doc:expr, $type:ty, $range:expr; $($more:tt)*) => {
        let parameter = $crate::Parameter::required::<<$type as $crate::Field>::Value>(
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
        let parameter = $parameter.with_example($example).with_source($source)$(.with_default($default))?;
        let optional = <$type as $crate::Field>::OPTIONAL;
        $all.push(if optional { parameter.optional() } else { parameter });
    };

    (@state $all:ident, $value:expr, $name:expr, $type:ty, part) => {};
    (@state $all:ident, $value:expr, $name:expr, $type:ty, table) => {
        let table = format!("{}{}", $name, <$type as $crate::Declared>::NAME_SUFFIX);
        let of_table = $crate::Declared::values(&$value);
        $all.extend(of_table.into_iter().map(|(name, value)| (format!("{table}.{name}"), value)));
    };
    (@state $all:ident, $value:expr, $name:expr, $type:ty, $($param:tt)*) => {
        $all.extend($crate::Field::value(&$value).map(|value| ($name.to_owned(), value)));
    };
}

/// Declares an enum with one variant for each kind. A table selects a variant by its `kind`. Each variant is listed
/// with the name of its kind and, if it has parameters, the type that declares them. A further variant, `Registered`,
/// holds a user-defined implementation.
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
            /// A user-defined implementation, from a registry.
            #[serde(skip)]
            Registered($registered),
        }

        $crate::serde_but_registered!($name);

        impl $name {
            /// The names of the built-in kinds, as scenarios write them.
            pub const KINDS: &'static [&'static str] = &[$($kind),*];

            /// The name that scenarios write as `kind`; none for a user-defined implementation.
            pub fn kind(&self) -> Option<&'static str> {
                match self {
                    $( $name::$variant { .. } => Some($kind), )*
                    $name::Registered(_) => None,
                }
            }

            /// The built-in kinds with the declarations of their parameters.
            pub fn kinds() -> Vec<$crate::KindDeclaration> {
                vec![$(
                    $crate::KindDeclaration {
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

            /// The declarations of the parameters. The list is empty for a user-defined kind, whose declarations are
            /// in the registry.
            pub fn declared(&self) -> &'static [$crate::Parameter] {
                $( $(
                    if let $name::$variant(_) = self {
                        return <$config as $crate::Declared>::declared();
                    }
                )? )*
                &[]
            }

            /// Checks each parameter against its declaration. The parameters of a user-defined kind are not checked
            /// here. They are checked when a scenario is read.
            ///
            /// # Errors
            /// The first value that its declaration does not permit.
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
