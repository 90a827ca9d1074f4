//! The values of a parameter in a search, converted to numbers of one unit.

use anabranch_base::{Bytes, Duration, Rate};

/// A kind of values that are given as text.
pub(super) enum Quantity {
    /// Sizes, in KB.
    Bytes,
    /// Times, in microseconds.
    Duration,
    /// Rates, in Gb/s.
    Rate,
    /// Numbers with this suffix, such as `bdp`, or without one.
    Unit(String),
}

impl Quantity {
    /// The kind of all values, or none if there are no values, or if they are words or have different kinds.
    pub(super) fn of(values: &[String]) -> Option<Quantity> {
        let behind = unit(values.first()?)?.to_owned();
        let all = [Quantity::Bytes, Quantity::Duration, Quantity::Rate, Quantity::Unit(behind)];
        all.into_iter().find(|quantity| values.iter().all(|value| quantity.number(value).is_some()))
    }

    /// The value as a number in the unit of this kind.
    pub(super) fn number(&self, text: &str) -> Option<f64> {
        match self {
            Quantity::Bytes => Some(text.parse::<Bytes>().ok()?.0 as f64 / 1e3),
            Quantity::Duration => Some(text.parse::<Duration>().ok()?.as_us()),
            Quantity::Rate => Some(text.parse::<Rate>().ok()?.0 as f64 / 1e9),
            Quantity::Unit(behind) => text.strip_suffix(behind.as_str())?.trim().parse().ok(),
        }
    }

    pub(super) fn axis(&self, name: &str) -> String {
        match self {
            Quantity::Bytes => format!("{name} (KB)"),
            Quantity::Duration => format!("{name} (µs)"),
            Quantity::Rate => format!("{name} (Gbps)"),
            Quantity::Unit(behind) if behind.is_empty() => name.to_owned(),
            Quantity::Unit(behind) => format!("{name} ({behind})"),
        }
    }
}

/// The text after the number with which a value begins, or none if the value does not begin with a number.
fn unit(text: &str) -> Option<&str> {
    let behind =
        text.trim_start_matches(|letter: char| letter.is_ascii_digit() || "+-.".contains(letter)).trim();
    text.strip_suffix(behind)?.trim().parse::<f64>().ok().map(|_| behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_one_kind_are_numbers_of_one_unit() {
        for (values, axis, numbers) in [
            (["10KB", "4MB"], "p (KB)", [10.0, 4000.0]),
            (["500ns", "1ms"], "p (µs)", [0.5, 1000.0]),
            (["100Gbps", "1Tbps"], "p (Gbps)", [100.0, 1000.0]),
            (["0.02queue", "1queue"], "p (queue)", [0.02, 1.0]),
            (["2", "0.5"], "p", [2.0, 0.5]),
        ] {
            let values = values.map(str::to_owned);
            let quantity = Quantity::of(&values).unwrap_or_else(|| panic!("{values:?}"));
            assert_eq!(quantity.axis("p"), axis);
            assert_eq!(values.map(|value| quantity.number(&value).unwrap()), numbers);
        }
        for words in [["reps", "ops"], ["1bdp", "2rtt"], ["true", "false"]] {
            assert!(Quantity::of(&words.map(str::to_owned)).is_none(), "{words:?}");
        }
    }
}
