//! Reading of lines and numbers, and suggestions, for the readers of workload files.

use anabranch_base::{Bytes, Duration, Problem, Time, nearest};
use std::fmt::Display;

/// The lines that are not empty, with their numbers from 1. Comments (`#` to the end of the line) and surrounding
/// blanks are removed.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index as u32 + 1, line.split('#').next().unwrap_or_default().trim()))
        .filter(|(_, line)| !line.is_empty())
}

/// A word of a file as an error quotes it: shortened and printable.
pub(super) fn quote(word: &str) -> String {
    const LONGEST: usize = 40;
    let mut short: String = word.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if word.chars().nth(LONGEST).is_some() {
        short.push_str("...");
    }
    format!("`{short}`")
}

/// Reads a whole number up to `most`. Errors call it `what`.
pub(super) fn whole(word: &str, what: impl Display, most: u64) -> Result<u64, String> {
    let digits = word.strip_prefix('-').unwrap_or(word);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("{what} must be a whole number, not {}", quote(word)));
    }
    if digits.len() != word.len() {
        return Err(format!("{what} must not be negative, but it is {}", quote(word)));
    }
    match digits.parse() {
        Ok(number) if number <= most => Ok(number),
        _ => Err(format!("{what} is too large: {}; the most is {most}", quote(word))),
    }
}

pub(super) fn whole_u32(word: &str, what: impl Display) -> Result<u32, String> {
    whole(word, what, u64::from(u32::MAX)).map(|number| number as u32)
}

/// Reads a number of bytes with [`whole`]. If a size has a unit, the error proposes the number of bytes.
pub(super) fn whole_bytes(word: &str, what: impl Display, most: u64) -> Result<u64, Problem> {
    whole(word, what, most).map_err(|error| match word.parse::<Bytes>() {
        Ok(bytes) if bytes.0 <= most => Problem::with_value(error, bytes.0),
        _ => error.into(),
    })
}

/// The error about a time where a number of `unit`s is expected. If `word` is a time with a unit, and a multiple of
/// `unit`, the error proposes the number.
pub(super) fn without_unit(message: String, word: &str, unit: Duration) -> Problem {
    match word.parse::<Duration>() {
        Ok(time) if unit > Duration::ZERO && time.0.is_multiple_of(unit.0) => {
            Problem::with_value(message, time.0 / unit.0)
        }
        _ => message.into(),
    }
}

/// Reads a decimal number of `unit`s (`12`, `2.000000009`, `1e-06`) as picoseconds. The result is exact, since no
/// floats are used. Digits below a picosecond are dropped.
pub(super) fn instant(word: &str, what: &str, unit: Duration) -> Result<Time, String> {
    let wrong = || format!("{what} must be a number such as 0 or 1.5, not {}", quote(word));
    let too_large = || format!("{what} is too large: {}", quote(word));
    if word.starts_with('-') && word.len() > 1 {
        return Err(format!("{what} must not be negative, but it is {}", quote(word)));
    }
    let (mantissa, exponent) = match word.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i16>().map_err(|_| wrong())?),
        None => (word, 0),
    };
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{before}{after}");
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong());
    }
    if digits.bytes().all(|b| b == b'0') {
        return Ok(Time::ZERO);
    }
    let (ones, parts) = split_at_point(&digits, before.len() as i64 + i64::from(exponent));
    let ones: u128 = if ones.is_empty() { 0 } else { ones.parse().map_err(|_| too_large())? };
    let numerator: u128 = if parts.is_empty() { 0 } else { parts.parse().map_err(|_| wrong())? };
    let scale = u128::from(unit.0);
    let fraction = numerator * scale / 10u128.pow(parts.len() as u32);
    let picoseconds = ones.checked_mul(scale).and_then(|p| p.checked_add(fraction));
    match picoseconds {
        Some(p) if p <= LATEST => Ok(Time(p as u64)),
        _ => Err(too_large()),
    }
}

/// The latest start time that a file may have (106 days), so that sums of times stay in range.
const LATEST: u128 = i64::MAX as u128;
/// The number of digits after the decimal point that are read, which is more than any unit needs. A whole number with
/// so many digits, times any unit in picoseconds, fits into 128 bits.
const FRACTION_DIGITS: usize = 19;

/// Splits `digits` before position `point`. If the position is outside of the digits, zeros are added up to it.
fn split_at_point(digits: &str, point: i64) -> (String, String) {
    let inside = point.clamp(0, digits.len() as i64) as usize;
    let mut ones = digits[..inside].trim_start_matches('0').to_owned();
    if !ones.is_empty() {
        ones.extend(std::iter::repeat_n('0', (point - digits.len() as i64).max(0) as usize));
    } else if point > inside as i64 {
        ones.clear();
    }
    let zeros = std::iter::repeat_n('0', (-point).max(0) as usize);
    (ones, zeros.chain(digits[inside..].chars()).take(FRACTION_DIGITS).collect())
}

/// The end of an error about an unknown word: the nearest known word, or all known words.
pub(super) fn suggest(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("expected one of: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_exact() {
        let second = Duration(1_000_000_000_000);
        let read = |word: &str| instant(word, "start", second);
        assert_eq!(read("2.000000009"), Ok(Time(2_000_000_009_000)));
        assert_eq!(read("2.000000000001"), Ok(Time(2_000_000_000_001)));
        assert_eq!(read("0.0000000000019"), Ok(Time(1)), "below a picosecond it rounds down");
        assert_eq!(read("1e-06"), Ok(Time(1_000_000)));
        assert_eq!(read("2.5E+2"), Ok(Time(250_000_000_000_000)));
        assert_eq!(read(".5"), Ok(Time(500_000_000_000)));
        assert_eq!(read("12.5e-1"), Ok(Time(1_250_000_000_000)));
        assert_eq!(read("0e9999"), Ok(Time::ZERO));
        assert_eq!(read("0.0000001e8"), Ok(Time(10_000_000_000_000)));
        assert_eq!(instant("007", "start", Duration(1)), Ok(Time(7)));
        assert_eq!(instant("9223372036854775807", "start", Duration(1)), Ok(Time(i64::MAX as u64)));
        assert!(instant("9223372036854775808", "start", Duration(1)).unwrap_err().contains("too large"));
        assert!(read("1e30000").unwrap_err().contains("too large"));
        assert_eq!(read("1e-30000"), Ok(Time::ZERO));
    }

    #[test]
    fn what_is_no_instant_is_refused() {
        for word in ["", ".", "-", "e5", "1e", "1.2.3", "0x10", "inf", "nan", "1,5", "+1", "１"] {
            assert!(instant(word, "start", Duration(1)).is_err(), "{word:?}");
        }
        assert!(instant("-1", "start", Duration(1)).unwrap_err().contains("negative"));
    }

    #[test]
    fn words_get_suggestions() {
        assert_eq!(suggest("onshot", &["oneshot", "multishot", "barrier"]), "did you mean `oneshot`?");
        assert_eq!(suggest("nodes", &["Nodes"]), "did you mean `Nodes`?");
        assert_eq!(suggest("zzzzzz", &["id", "size"]), "expected one of: id, size");
    }

    #[test]
    fn quoted_words_are_short_and_printable() {
        assert_eq!(quote("a\u{0}b"), "`a\\0b`");
        assert_eq!(quote(&"x".repeat(41)), format!("`{}...`", "x".repeat(40)));
    }
}
