//! The macro that declares a row type with its columns.

/// Declares a row type. `#[column("us", digest)]` marks a field that is a column, with its unit (`""` for none) and its
/// marks `key`, `digest` and `last`; see [`Column`](crate::Column). The column has the documentation of the field.
/// A field without the attribute is not a column, and `Stored::rows` gives it its `Default` value.
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
                $( $crate::row_macro::columns!(
                    @declare $field: $type, concat!($($doc),+) $(, $unit $(, $mark)*)?
                ) ),*
            ];

            fn visit(
                &self,
                visit: &mut dyn FnMut(&'static $crate::Column, &dyn $crate::declared::Cell),
            ) {
                let mut fields = Self::DECLARED.iter();
                $( $crate::row_macro::columns!(
                    @visit fields.next(), visit, self.$field $(, $unit)?
                ); )*
            }
        }

        #[cfg(feature = "files")]
        impl $crate::stored::Stored for $name {
            fn arrays(rows: &[&Self]) -> Vec<(&'static $crate::Column, arrow_array::ArrayRef)> {
                let mut arrays = Vec::with_capacity(Self::DECLARED.len());
                let mut fields = Self::DECLARED.iter();
                $( $crate::row_macro::columns!(
                    @array fields.next(), arrays, rows, $field: $type $(, $unit)?
                ); )*
                arrays
            }

            fn rows(batch: &$crate::stored::Batch<'_>) -> Result<Vec<Self>, $crate::ResultsError> {
                $( let $field = $crate::row_macro::columns!(@find batch, $field: $type $(, $unit)?); )*
                let row = |row: usize| $name {
                    $( $field: $crate::row_macro::columns!(@value $field, row, $type $(, $unit)?), )*
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
            $arrays.push((column, <$type as $crate::stored::ArrowCell>::array(cells)));
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
        <$type as $crate::stored::ArrowCell>::value($cells, $row)
    };
}
pub(crate) use columns;
