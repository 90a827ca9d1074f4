//! Columns of results, each declared once at its field: files, digests and the reference follow from that.

use crate::encoder::Encoder;
use std::borrow::Cow;

/// The declaration of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name in files, which carries the unit of a number.
    pub name: &'static str,
    /// The type of its values.
    pub kind: ColumnType,
    /// The unit of its values; empty for texts and numbers without one.
    pub unit: &'static str,
    /// Its documentation.
    pub meaning: &'static str,
    /// Whether a row may have no value.
    pub nullable: bool,
    /// Whether it identifies the run, so that the rows of all tables have it.
    pub key: bool,
    /// Whether it counts towards the digest.
    pub digest: bool,
    /// Whether it stands behind those without this mark in its file.
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
    /// Truth values.
    Bool,
    /// UTF-8.
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
    /// A column without marks, of which a declaration sets the rest.
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

    /// Whether its values are numbers that were measured.
    pub const fn is_number(&self) -> bool {
        !self.key && matches!(self.kind, ColumnType::U32 | ColumnType::U64 | ColumnType::F64)
    }
}

/// A row whose fields are columns. [`columns!`] implements it.
pub trait Columns {
    /// The declarations in the order of the fields: one for each that is a column, none for the others.
    const DECLARED: &'static [&'static [Column]];

    /// The declarations in the order of the fields.
    fn columns() -> impl Iterator<Item = &'static Column> {
        Self::DECLARED.iter().copied().flatten()
    }

    /// Calls `visit` with every column and its value, in the order of the fields.
    fn visit(&self, visit: &mut dyn FnMut(&'static Column, &dyn Cell));
}

/// The names of the columns that are numbers, in the order of the fields. `N` is [`count_numbers`].
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

/// The number of columns that are numbers.
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
    /// The value as a number; none for a text or a truth value, and where there is none.
    fn number(&self) -> Option<f64>;

    /// Adds the value to a digest.
    fn add_to(&self, digest: &mut Encoder);
}

/// The type of a field that is a column.
pub(crate) trait CellType: Cell {
    const KIND: ColumnType;
    const NULLABLE: bool = false;
}

/// Implements [`Cell`] and [`CellType`] for numbers that are whole, with or without a value in each row.
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

/// Implements [`Cell`] and [`CellType`] for texts.
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

/// Declares a row: `#[column("us", digest)]` marks a field that is a column, with its unit (`""`: none) and its marks:
/// `key`, `digest` and `last`, as in [`Column`]. The field's documentation is the column's. A field without the
/// attribute is no column; `Default` gives its value in rows that are read.
macro_rules! columns {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $(#[column($unit:literal $(, $mark:ident)*)])?
                pub $field:ident: $type:ty
            ),* $(,)?
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $(
                $(#[doc = $doc])+
                pub $field: $type,
            )*
        }

        impl $crate::declared::Columns for $name {
            const DECLARED: &'static [&'static [$crate::Column]] = &[
                $( $crate::declared::columns!(
                    @declare $field: $type, concat!($($doc),+) $(, $unit $(, $mark)*)?
                ) ),*
            ];

            fn visit(
                &self,
                visit: &mut dyn FnMut(&'static $crate::Column, &dyn $crate::declared::Cell),
            ) {
                let mut fields = Self::DECLARED.iter();
                $( $crate::declared::columns!(
                    @visit fields.next(), visit, self.$field $(, $unit)?
                ); )*
            }
        }

        #[cfg(feature = "files")]
        impl $crate::columns::Stored for $name {
            fn arrays(rows: &[&Self]) -> Vec<(&'static $crate::Column, arrow_array::ArrayRef)> {
                let mut arrays = Vec::with_capacity(Self::DECLARED.len());
                let mut fields = Self::DECLARED.iter();
                $( $crate::declared::columns!(
                    @array fields.next(), arrays, rows, $field: $type $(, $unit)?
                ); )*
                arrays
            }

            fn rows(batch: &$crate::columns::Batch<'_>) -> Result<Vec<Self>, $crate::ResultsError> {
                $( let $field = $crate::declared::columns!(@find batch, $field: $type $(, $unit)?); )*
                let row = |row: usize| $name {
                    $( $field: $crate::declared::columns!(@value $field, row, $type $(, $unit)?), )*
                };
                Ok((0..batch.batch.num_rows()).map(row).collect())
            }
        }
    };

    (@declare $field:ident: $type:ty, $meaning:expr) => {
        &[]
    };
    (@declare $field:ident: $type:ty, $meaning:expr, $unit:literal $(, $mark:ident)*) => {
        &[$crate::Column {
            name: stringify!($field),
            kind: <$type as $crate::declared::CellType>::KIND,
            unit: $unit,
            meaning: $meaning,
            nullable: <$type as $crate::declared::CellType>::NULLABLE,
            $($mark: true,)*
            ..$crate::Column::PLAIN
        }]
    };
    (@visit $next:expr, $visit:ident, $value:expr) => {
        $next;
    };
    (@visit $next:expr, $visit:ident, $value:expr, $unit:literal) => {
        if let Some([column]) = $next {
            $visit(column, &$value);
        }
    };
    (@array $next:expr, $arrays:ident, $rows:ident, $field:ident: $type:ty) => {
        $next;
    };
    (@array $next:expr, $arrays:ident, $rows:ident, $field:ident: $type:ty, $unit:literal) => {
        if let Some([column]) = $next {
            let cells = $rows.iter().map(|row| &row.$field);
            $arrays.push((column, <$type as $crate::columns::ArrowCell>::array(cells)));
        }
    };
    (@find $batch:ident, $field:ident: $type:ty) => {
        ()
    };
    (@find $batch:ident, $field:ident: $type:ty, $unit:literal) => {
        $batch.cells::<$type>(stringify!($field))?
    };
    (@value $cells:ident, $row:ident, $type:ty) => {
        {
            let () = $cells;
            Default::default()
        }
    };
    (@value $cells:ident, $row:ident, $type:ty, $unit:literal) => {
        <$type as $crate::columns::ArrowCell>::value($cells, $row)
    };
}
pub(crate) use columns;
