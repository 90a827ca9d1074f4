//! Quantities as text: a number and a unit.

use crate::{Fix, Problem};
use serde::Deserializer;
use std::fmt;
use std::str::FromStr;

/// Reads a decimal number and one of `units`. The quantity must be a whole number of the smallest unit. The error for
/// a number without a unit suggests the `usual` unit, or the smallest one if the number is large.
pub(crate) fn parse_scaled(
    text: &str,
    units: &[(&str, u64)],
    usual: &str,
    expected: &str,
) -> Result<u64, Problem> {
    let fail = |why: &str| Problem::from(format!("{text:?} is not {expected}{why}"));
    let reads = |text: &String| parse_scaled(text, units, usual, expected).is_ok();
    // A fix is offered only if it can be read as a quantity itself.
    let fail_with =
        |why: &str, fix: Option<String>| Problem { fix: fix.filter(reads).map(Fix::value), ..fail(why) };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim());
    let known = || units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let scale = match units.iter().find(|(name, _)| *name == unit) {
        Some((_, scale)) => *scale,
        None if trimmed.starts_with('-') => {
            let amount = trimmed.trim_start_matches(|c: char| c == '-' || c.is_whitespace());
            let is_above_zero = parse_scaled(amount, units, usual, expected).is_ok_and(|amount| amount > 0);
            let instead = is_above_zero.then(|| amount.to_owned());
            return Err(fail_with("; it must not be negative", instead));
        }
        None if unit.is_empty() => {
            let large = number.parse::<f64>().is_ok_and(|number| number >= 1e6);
            let instead = format!("{number}{}", if large { units[0].0 } else { usual });
            return Err(fail_with(&format!("; add a unit: {}", known()), Some(instead)));
        }
        None => match units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) {
            Some((name, _)) => return Err(fail_with("", Some(in_bits_or_bytes(number, unit, name)))),
            None => match units.iter().find(|(name, _)| is_short_for(unit, name)) {
                Some((name, _)) => return Err(fail_with("", Some(format!("{number}{name}")))),
                None => match in_words(number, unit, units) {
                    Some(instead) => return Err(fail_with("", Some(instead))),
                    None => return Err(fail(&format!("; the units are {}", known()))),
                },
            },
        },
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.len() > 18 {
        return Err(fail(""));
    }
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| fail(""))?;
    let scaled = digits.checked_mul(u128::from(scale)).ok_or_else(|| fail("; it is too large"))?;
    let divisor = 10u128.pow(fraction.len() as u32);
    if !scaled.is_multiple_of(divisor) {
        return Err(fail(&format!("; it is no whole number of {}", units[0].0)));
    }
    u64::try_from(scaled / divisor).map_err(|_| fail("; it is too large"))
}

/// The smallest size that is plausible in bytes, because no packet is shorter.
const LEAST_BYTES: f64 = 64.0;
/// A time or rate is plausible in the unit of its key's example if it differs from the example by less than this
/// factor.
const FARTHEST: f64 = 1e3;

/// A bare number with the unit of its key's example. None if the number is not plausible in that unit. A size of 64 or
/// more, for example, is probably in bytes, the unit of other simulators.
pub fn in_unit_of(example: &str, number: f64) -> Option<String> {
    let (usual, unit) = example.split_at(example.find(|c: char| !c.is_ascii_digit() && c != '.')?);
    let usual: f64 = usual.parse().ok().filter(|_| unit.chars().all(char::is_alphabetic))?;
    let is_time_or_rate = unit.ends_with('s') && unit != "packets";
    let is_meant = match is_time_or_rate {
        true => number > usual / FARTHEST && number < usual * FARTHEST,
        false => number > 0.0 && number < LEAST_BYTES,
    };
    is_meant.then(|| format!("{number}{unit}"))
}

/// The replacement for a quantity whose unit has the wrong case. Bits and bytes are converted: 1 `GBps` is 8 `Gbps`,
/// and 8 `Mb` are 1 `MB`. A size whose unit begins with a lower-case letter, such as 8 `mb`, is not converted, and
/// neither is a rate whose unit is all in capitals, such as 1 `GBPS`.
fn in_bits_or_bytes(number: &str, unit: &str, name: &str) -> String {
    let capital = |c: char| c.is_ascii_uppercase();
    let counts_bytes = unit.contains('B') && !unit.chars().all(capital);
    let number = match (counts_bytes, name.contains('B'), number.parse::<f64>()) {
        (true, false, Ok(bytes)) => (bytes * 8.0).to_string(),
        (false, true, Ok(bits)) if unit.starts_with(capital) => (bits / 8.0).to_string(),
        _ => number.to_owned(),
    };
    format!("{number}{name}")
}

/// Whether `unit` is another common form of the unit `name`, such as `G` or `Gb/s` for `Gbps`, and `msec` for `ms`. A
/// unit of bytes is no form of a unit of bits.
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

/// Units that are spelt out, each with its factor and the unit to which it is converted.
const WORDS: [(&str, u64, &str); 22] = [
    ("nanosecond", 1, "ns"),
    ("microsecond", 1, "us"),
    ("millisecond", 1, "ms"),
    ("second", 1, "s"),
    ("min", 60, "s"),
    ("minute", 60, "s"),
    ("byte", 1, "B"),
    ("kbyte", 1, "KB"),
    ("kilobyte", 1, "KB"),
    ("mbyte", 1, "MB"),
    ("megabyte", 1, "MB"),
    ("gbyte", 1, "GB"),
    ("gigabyte", 1, "GB"),
    ("terabyte", 1, "TB"),
    ("kibibyte", 1, "KiB"),
    ("mebibyte", 1, "MiB"),
    ("gibibyte", 1, "GiB"),
    ("kilobit", 1, "Kbps"),
    ("megabit", 1, "Mbps"),
    ("gbit", 1, "Gbps"),
    ("gigabit", 1, "Gbps"),
    ("terabit", 1, "Tbps"),
];

/// The replacement for a quantity whose unit is spelt out, such as `5 microseconds`, `1MBytes` or
/// `400 gigabits per second`.
fn in_words(number: &str, unit: &str, units: &[(&str, u64)]) -> Option<String> {
    let lower = unit.to_ascii_lowercase();
    let word = lower.trim_end_matches("per second").trim_end_matches("/s").trim().trim_end_matches('s');
    let is_rate = lower.ends_with("per second") || lower.ends_with("/s");
    let fits =
        |name: &str| units.iter().any(|(unit, _)| *unit == name) && (!is_rate || name.ends_with("bps"));
    let (_, times, name) = WORDS.iter().find(|(known, _, name)| *known == word && fits(name))?;
    match times {
        1 => Some(format!("{number}{name}")),
        _ => Some(format!("{}{name}", number.parse::<f64>().ok()? * *times as f64)),
    }
}

/// Prints a value in the largest of `units` in which the value is a whole number. A whole number of more than `digits`
/// digits is replaced by a decimal fraction of the largest `decimal` unit that the value reaches, if that unit is
/// larger: `106.33904us` instead of `106339040ps`. With `{:#}`, the form of stored scenarios, the number is always
/// whole. Both forms read back as the same value.
pub(crate) fn print_scaled(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    units: &[(&str, u64)],
    decimal: &[(&str, u64)],
    digits: u32,
) -> fmt::Result {
    let (unit, scale) = units
        .iter()
        .filter(|(_, scale)| value > 0 && value.is_multiple_of(*scale))
        .max_by_key(|(_, scale)| *scale)
        .unwrap_or(&units[0]);
    let whole = value / scale;
    let (larger, of_larger) = largest(value, decimal);
    if f.alternate() || whole < 10_u64.pow(digits) || of_larger <= *scale {
        return write!(f, "{whole}{unit}");
    }
    let places = of_larger.ilog10() as usize;
    let fraction = format!("{:0places$}", value % of_larger);
    write!(f, "{}.{}{larger}", value / of_larger, fraction.trim_end_matches('0'))
}

/// The largest unit that the value reaches. The units are listed by rising scale.
fn largest<'a>(value: u64, units: &[(&'a str, u64)]) -> (&'a str, u64) {
    *units.iter().rev().find(|(_, scale)| value >= *scale).unwrap_or(&units[0])
}

/// Prints about three digits in the largest unit that the value reaches.
pub(crate) fn about(value: u64, units: &[(&str, u64)]) -> String {
    let (unit, scale) = largest(value, units);
    let number = value as f64 / scale as f64;
    let decimals = match number {
        _ if value.is_multiple_of(scale) || number >= 100.0 => 0,
        _ if number >= 10.0 => 1,
        _ => 2,
    };
    format!("{number:.decimals$} {unit}")
}

/// Implements `Serialize` and `Deserialize` for quantities, which are read from text. They are written by `{:#}`, the
/// form of stored scenarios.
#[macro_export]
macro_rules! serde_as_text {
    ($($name:ident),* $(,)?) => { $(
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(&format_args!("{self:#}"))
            }
        }
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                $crate::from_text(d)
            }
        }
    )* };
}

/// Deserialises a quantity that is written as text. The error for a bare number suggests a unit.
///
/// # Errors
/// The value is not text, or the text is not a quantity.
pub fn from_text<'de, D: Deserializer<'de>, T>(d: D) -> Result<T, D::Error>
where
    T: FromStr<Err: fmt::Display>,
{
    struct Text<T>(std::marker::PhantomData<T>);
    impl<T: FromStr<Err: fmt::Display>> serde::de::Visitor<'_> for Text<T> {
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
