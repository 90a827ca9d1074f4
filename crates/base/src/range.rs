//! The range in which the values of a parameter lie.

use crate::{Bytes, Duration, ParameterType, Rate};
use std::cmp::Ordering;
use std::ops::{RangeFrom, RangeFull, RangeInclusive};

/// The permitted values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range<T> {
    /// Every value of the type is permitted.
    Any,
    /// All values above 0.
    AboveZero,
    /// This value and all larger ones.
    From(T),
    /// All values between these two, both included.
    FromTo(T, T),
}

/// The range of all values above 0.
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

/// A type whose values can have a [`Range`]. Two values in different units, such as `"1bdp"` and `"4KB"`, have no
/// order.
pub trait Ranged: ParameterType + PartialOrd + Send + Sync {
    /// Whether the value is above 0.
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
    pub(crate) fn contains(&self, value: &T) -> bool {
        let is = |value: &T, how, other: &T| value.partial_cmp(other) == Some(how);
        match self {
            Range::Any => true,
            Range::AboveZero => value.is_above_zero(),
            // A value whose unit differs from the unit of the range's end cannot be compared with that end, so it
            // passes.
            Range::From(least) => !is(value, Ordering::Less, least),
            Range::FromTo(least, most) => {
                !is(value, Ordering::Less, least) && !is(value, Ordering::Greater, most)
            }
        }
    }
}
