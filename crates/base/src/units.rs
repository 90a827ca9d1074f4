//! Sizes and rates, and how people write them.

use crate::Duration;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

/// A quantity that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{written:?} is not {expected}{hint}")]
pub struct ParseUnitError {
    written: String,
    expected: &'static str,
    hint: String,
}

impl Rate {
    /// The time that `bytes` bytes take at this rate, rounded up to a picosecond.
    ///
    /// # Panics
    /// When the rate is 0: scenario checks refuse that.
    #[inline]
    pub const fn time_for(self, bytes: u64) -> Duration {
        assert!(self.0 > 0, "a link with rate 0");
        Duration((bytes as u128 * 8 * 1_000_000_000_000).div_ceil(self.0 as u128) as u64)
    }

    /// A rate of `gbps` gigabits per second.
    pub const fn from_gbps(gbps: u64) -> Rate {
        Rate(gbps * 1_000_000_000)
    }

    /// The bytes this rate carries in `span`, rounded down.
    pub const fn bytes_in(self, span: Duration) -> u64 {
        (self.0 as u128 * span.0 as u128 / 8_000_000_000_000) as u64
    }
}

const SIZES: &[(&str, u64)] = &[
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];
const RATES: &[(&str, u64)] =
    &[("bps", 1), ("Kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000), ("Tbps", 1_000_000_000_000)];

impl FromStr for Bytes {
    type Err = ParseUnitError;
    /// Reads `4096B`, `2MB` (decimal), `8MiB` (binary).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_scaled(text, SIZES, "a size such as \"4096B\", \"2MB\" or \"8MiB\"").map(Bytes)
    }
}

impl FromStr for Rate {
    type Err = ParseUnitError;
    /// Reads `400Gbps`, `1.6Tbps`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_scaled(text, RATES, "a rate such as \"400Gbps\"").map(Rate)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_scaled(f, self.0, SIZES)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_scaled(f, self.0, RATES)
    }
}

/// Reads a decimal number and one of `units`; the result must be a whole number of the smallest unit.
pub(crate) fn parse_scaled(
    text: &str,
    units: &[(&str, u64)],
    expected: &'static str,
) -> Result<u64, ParseUnitError> {
    let fail = |hint: String| ParseUnitError { written: text.to_owned(), expected, hint };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim());
    let known = || units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let scale = match units.iter().find(|(name, _)| *name == unit) {
        Some((_, scale)) => *scale,
        None if trimmed.starts_with('-') => return Err(fail("; it must not be negative".into())),
        None if unit.is_empty() => return Err(fail(format!("; add a unit: {}", known()))),
        None => match units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) {
            Some((name, _)) => return Err(fail(in_bits_or_bytes(number, unit, name))),
            None => match units.iter().find(|(name, _)| is_short_for(unit, name)) {
                Some((name, _)) => return Err(fail(format!("; write {number}{name}"))),
                None => return Err(fail(format!("; the units are {}", known()))),
            },
        },
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.len() > 18 {
        return Err(fail(String::new()));
    }
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| fail(String::new()))?;
    let scaled = digits.checked_mul(u128::from(scale)).ok_or_else(|| fail("; it is too large".into()))?;
    let divisor = 10u128.pow(fraction.len() as u32);
    if !scaled.is_multiple_of(divisor) {
        return Err(fail(format!("; it is no whole number of {}", units[0].0)));
    }
    u64::try_from(scaled / divisor).map_err(|_| fail("; it is too large".into()))
}

/// What to write for a unit in another case. `GBps` are eight `Gbps`, and of `Mb` eight make an `MB`.
fn in_bits_or_bytes(number: &str, unit: &str, name: &str) -> String {
    let capital = |c: char| c.is_ascii_uppercase();
    let number = match (unit.contains('B'), name.contains('B'), number.parse::<f64>()) {
        (true, false, Ok(bytes)) => (bytes * 8.0).to_string(),
        (false, true, Ok(bits)) if unit.starts_with(capital) => (bits / 8.0).to_string(),
        _ => number.to_owned(),
    };
    format!("; write {number}{name}")
}

/// Whether people write `unit` for `name`: `400G`, `400Gb/s`, `1msec`. Not where bytes would be taken for bits.
fn is_short_for(unit: &str, name: &str) -> bool {
    let is_rate = name.ends_with("bps");
    let (lower, prefix) = (unit.to_ascii_lowercase(), name.to_ascii_lowercase());
    let prefix = prefix.trim_end_matches("bps").trim_end_matches('b');
    match lower.strip_suffix("ec") {
        Some(time) => time == name,
        None if prefix.is_empty() || name.ends_with('s') && !is_rate => false,
        None => lower.strip_prefix(prefix).is_some_and(|rest| {
            let of_bits =
                is_rate && !unit.contains('B') && ["b/s", "bit/s", "bits/s", "be", "bit"].contains(&rest);
            rest.is_empty() || of_bits
        }),
    }
}

/// Prints with the largest unit that keeps the number whole.
fn print_scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let (unit, scale) = units
        .iter()
        .filter(|(_, scale)| value > 0 && value.is_multiple_of(*scale))
        .max_by_key(|(_, scale)| *scale)
        .unwrap_or(&units[0]);
    write!(f, "{}{unit}", value / scale)
}

/// Deserialises a quantity that is written as text, and says what to write when a bare number stands there.
pub(crate) fn from_text<'de, D: Deserializer<'de>, T>(d: D) -> Result<T, D::Error>
where
    T: FromStr<Err = ParseUnitError>,
{
    struct Text<T>(std::marker::PhantomData<T>);
    impl<T: FromStr<Err = ParseUnitError>> serde::de::Visitor<'_> for Text<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a quantity with its unit, in quotes")
        }
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
        fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
            self.visit_str(&number.to_string())
        }
        fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
            self.visit_str(&number.to_string())
        }
        fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<T, E> {
            self.visit_str(&number.to_string())
        }
    }
    d.deserialize_any(Text(std::marker::PhantomData))
}

macro_rules! text_serde {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                from_text(d)
            }
        }
    };
}
text_serde!(Bytes);
text_serde!(Rate);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn serialisation_times_are_exact() {
        assert_eq!(Rate::from_gbps(400).time_for(4150), Duration(83_000));
        assert_eq!(Rate::from_gbps(400).time_for(64), Duration(1_280));
        assert_eq!(Rate::from_gbps(100).time_for(4150), Duration(332_000));
    }

    #[test]
    fn errors_say_what_to_write() {
        let wrong = |t: &str| t.parse::<Rate>().unwrap_err().to_string();
        assert!(wrong("400gbps").contains("write 400Gbps"), "{}", wrong("400gbps"));
        assert!(wrong("400").contains("add a unit"));
        for short in ["400G", "400Gb/s", "400 Gbit/s", "400GbE", "50GBps"] {
            assert!(wrong(short).ends_with("; write 400Gbps"), "{}", wrong(short));
        }
        let size = |t: &str| t.parse::<Bytes>().unwrap_err().to_string();
        assert!(
            size("10Mb").ends_with("; write 1.25MB") && size("10mb").ends_with("; write 10MB"),
            "{}",
            size("10Mb")
        );
        assert!(size("8K").ends_with("; write 8KB"), "{}", size("8K"));
        for bits_or_bytes in [wrong("50GB/s"), size("8Mbit")] {
            assert!(bits_or_bytes.contains("; the units are"), "{bits_or_bytes}");
        }
        let time = |t: &str| t.parse::<Duration>().unwrap_err().to_string();
        assert!(
            time("1msec").ends_with("; write 1ms") && time("5m").contains("the units are"),
            "{}",
            time("1msec")
        );
        assert_eq!("1.5µs".parse(), Ok(Duration::from_ns(1_500)));
        assert!(wrong("-1Gbps").contains("negative"));
        assert!("8 MiB".parse::<Bytes>() == Ok(Bytes(8 << 20)));
    }

    proptest! {
        #[test]
        fn quantities_read_back_as_printed(n in 0u64..u64::MAX) {
            prop_assert_eq!(Bytes(n).to_string().parse(), Ok(Bytes(n)));
            prop_assert_eq!(Rate(n).to_string().parse(), Ok(Rate(n)));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Rate>();
            let _ = text.parse::<Duration>();
        }
    }
}
