//! Columns of results. Each column is declared once, at its field. The files, the digests and the reference follow from
//! the declaration.

use crate::encoder::Encoder;
use std::borrow::Cow;

/// The declaration of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The column's name in files.
    pub name: &'static str,
    /// The type of the values.
    pub kind: ColumnType,
    /// The unit of the values. It is empty for text and for numbers without a unit.
    pub unit: &'static str,
    /// The documentation of the column.
    pub meaning: &'static str,
    /// Whether a row may have no value.
    pub nullable: bool,
    /// Whether the column identifies the run, so that the rows of all tables have it.
    pub key: bool,
    /// Whether the column is part of the digest.
    pub digest: bool,
    /// Whether the column comes after all columns without this mark in its file.
    pub last: bool,
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Unsigned integers of 32 bits.
    U32,
    /// Unsigned integers of 64 bits.
    U64,
    /// Floating-point numbers of 64 bits.
    F64,
    /// Booleans.
    Bool,
    /// UTF-8 text.
    Text,
}

impl ColumnType {
    /// The name of the type in Arrow and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            ColumnType::U32 => "UInt32",
            ColumnType::U64 => "UInt64",
            ColumnType::F64 => "Float64",
            ColumnType::Bool => "Boolean",
            ColumnType::Text => "Utf8",
        }
    }
}

impl Column {
    /// A column with default settings. A declaration replaces the settings that differ.
    pub(crate) const PLAIN: Column = Column {
        name: "",
        kind: ColumnType::U64,
        unit: "",
        meaning: "",
        nullable: false,
        key: false,
        digest: false,
        last: false,
    };

    /// Whether the values are numbers and do not identify the run.
    pub const fn is_number(&self) -> bool {
        !self.key && matches!(self.kind, ColumnType::U32 | ColumnType::U64 | ColumnType::F64)
    }
}

/// A row whose fields are columns. `columns!` implements it.
pub trait Columns {
    /// The declarations in the order of the fields. A field that is not a column has an empty list.
    const DECLARED: &'static [&'static [Column]];

    /// The declarations in the order of the fields.
    fn columns() -> impl Iterator<Item = &'static Column> {
        Self::DECLARED.iter().copied().flatten()
    }

    /// Calls `visit` with every column and its value, in the order of the fields.
    fn visit(&self, visit: &mut dyn FnMut(&'static Column, &dyn Cell));
}

/// The names of the columns that hold numbers, in the order of the fields. `N` is the result of [`count_numbers`].
pub(crate) const fn numbers<const N: usize>(declared: &[&'static [Column]]) -> [&'static str; N] {
    let mut names = [""; N];
    let (mut field, mut count) = (0, 0);
    while field < declared.len() {
        if let [column] = declared[field]
            && column.is_number()
        {
            names[count] = column.name;
            count += 1;
        }
        field += 1;
    }
    names
}

pub(crate) const fn count_numbers(declared: &[&'static [Column]]) -> usize {
    let (mut field, mut count) = (0, 0);
    while field < declared.len() {
        if let [column] = declared[field]
            && column.is_number()
        {
            count += 1;
        }
        field += 1;
    }
    count
}

/// The value of a column in a row.
pub trait Cell {
    /// The value as a number, or `None` for text, a boolean or a missing value.
    fn number(&self) -> Option<f64>;

    /// Adds the value to a digest.
    fn add_to(&self, digest: &mut Encoder);
}

/// A type of field that can be a column.
pub(crate) trait CellType: Cell {
    const KIND: ColumnType;
    const NULLABLE: bool = false;
}

macro_rules! whole_numbers {
    ($($type:ty: $kind:ident),*) => { $(
        impl Cell for $type {
            fn number(&self) -> Option<f64> {
                Some(*self as f64)
            }
            fn add_to(&self, digest: &mut Encoder) {
                digest.number(u64::from(*self));
            }
        }

        impl CellType for $type {
            const KIND: ColumnType = ColumnType::$kind;
        }

        impl Cell for Option<$type> {
            fn number(&self) -> Option<f64> {
                self.as_ref().and_then(Cell::number)
            }
            fn add_to(&self, digest: &mut Encoder) {
                digest.option(self.map(u64::from));
            }
        }

        impl CellType for Option<$type> {
            const KIND: ColumnType = ColumnType::$kind;
            const NULLABLE: bool = true;
        }
    )* };
}

whole_numbers!(u32: U32, u64: U64);

impl Cell for f64 {
    fn number(&self) -> Option<f64> {
        Some(*self)
    }
    fn add_to(&self, digest: &mut Encoder) {
        digest.float(*self);
    }
}

impl CellType for f64 {
    const KIND: ColumnType = ColumnType::F64;
}

impl Cell for Option<f64> {
    fn number(&self) -> Option<f64> {
        *self
    }
    fn add_to(&self, digest: &mut Encoder) {
        digest.number(u64::from(self.is_some()));
        digest.float(self.unwrap_or(0.0));
    }
}

impl CellType for Option<f64> {
    const KIND: ColumnType = ColumnType::F64;
    const NULLABLE: bool = true;
}

impl Cell for bool {
    fn number(&self) -> Option<f64> {
        None
    }
    fn add_to(&self, digest: &mut Encoder) {
        digest.number(u64::from(*self));
    }
}

impl CellType for bool {
    const KIND: ColumnType = ColumnType::Bool;
}

macro_rules! texts {
    ($($type:ty),*) => { $(
        impl Cell for $type {
            fn number(&self) -> Option<f64> {
                None
            }
            fn add_to(&self, digest: &mut Encoder) {
                digest.text(self);
            }
        }

        impl CellType for $type {
            const KIND: ColumnType = ColumnType::Text;
        }
    )* };
}

texts!(String, Cow<'static, str>);

/// Frequent message groups of the built-in workloads.
const BUILT_IN_GROUPS: [&str; 12] = [
    "",
    "background",
    "incast",
    "intra",
    "inter",
    "background/intra",
    "background/inter",
    "incast/intra",
    "incast/inter",
    "pipeline/inter",
    "main",
    "mixed",
];

/// The group with this name. It needs no allocation if it is one of [`BUILT_IN_GROUPS`].
pub(crate) fn group_named(name: &str) -> Cow<'static, str> {
    match BUILT_IN_GROUPS.into_iter().find(|built_in| *built_in == name) {
        Some(built_in) => Cow::Borrowed(built_in),
        None => Cow::Owned(name.to_owned()),
    }
}
