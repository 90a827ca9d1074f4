//! Numbers in arguments, with errors that propose what to write.

use anabranch_base::Problem;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Units of time in seconds.
const SECONDS: [(&str, f64); 5] = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("min", 60.0), ("h", 3600.0)];
/// Factors that are written behind a number.
const FACTORS: [(&str, f64); 4] = [("x", 1.0), ("k", 1e3), ("K", 1e3), ("M", 1e6)];

/// A parser of whole numbers in a range. The error for another text proposes the number that it means, or else `usual`.
pub fn whole<T>(
    range: RangeInclusive<T>,
    usual: T,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: Copy + Display + PartialOrd + FromStr + TryFrom<u64> + Send + Sync + 'static,
{
    move |text| read(text, &range, usual, &FACTORS)
}

/// A parser of times in whole seconds, like [`whole`].
pub fn seconds(
    range: RangeInclusive<u64>,
    usual: u64,
) -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync + 'static {
    move |text| read(text, &range, usual, &SECONDS)
}

fn read<T>(text: &str, range: &RangeInclusive<T>, usual: T, units: &[(&str, f64)]) -> Result<T, String>
where
    T: Copy + Display + PartialOrd + FromStr + TryFrom<u64>,
{
    if let Some(number) = text.parse().ok().filter(|number| range.contains(number)) {
        return Ok(number);
    }
    let meant = meant(text, units).map(|number| {
        // A number that the type does not hold is above the range.
        let number = T::try_from(number).unwrap_or(*range.end());
        if range.contains(&number) || number > *range.end() { number } else { *range.start() }
    });
    let instead =
        meant.map(|number| if number > *range.end() { *range.end() } else { number }).unwrap_or(usual);
    let of_time = if units == SECONDS { " of seconds" } else { "" };
    Err(format!("write a whole number{of_time} from {} to {}, such as {instead}", range.start(), range.end()))
}

/// The whole number of a text such as `1e5`, `100k` or `10s`.
fn meant(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let text = text.trim().replace('_', "");
    let number = text.parse::<f64>().ok().or_else(|| {
        let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.')?);
        let (_, scale) = units.iter().find(|(name, _)| *name == unit.trim())?;
        Some(number.parse::<f64>().ok()? * scale)
    });
    number.filter(|number| *number >= 0.0).map(|number| number.round() as u64)
}

const A_SEED: &str = "a seed is a whole number of 0 or more";

pub fn one_seed(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| A_SEED)
}

pub fn seed(text: &str) -> Result<u64, Problem> {
    let range = text.split_once("..").or_else(|| text.split_once('-'));
    let ends = range.and_then(|(first, last)| Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?)));
    text.parse().map_err(|_| match ends {
        Some((first, last)) if first < last && last - first < 20 => {
            let seeds: Vec<String> = (first..=last).map(|seed| seed.to_string()).collect();
            format!("write --seed {}", seeds.join(",")).into()
        }
        _ => Problem::with_text(A_SEED, "--seed 1,2,3 for several"),
    })
}

pub fn share(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
    parts
        .filter(|(number, of): &(usize, usize)| number < of)
        .ok_or_else(|| "write NUMBER/OF with a number from 0 to OF - 1, such as 3/8".to_owned())
}

pub fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| "write a whole number above 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_in_other_words_is_proposed_as_a_number() {
        let dilation = whole(1..=100_000_000_u32, 100_000);
        let limit = seconds(1..=86_400, 60);
        let proposed =
            |error: String| error.rsplit_once("such as ").map(|(_, number)| number.to_owned()).unwrap();
        assert_eq!((dilation("1000"), limit("10")), (Ok(1000), Ok(10)));
        for (text, number) in [
            ("1e5", "100000"),
            ("100k", "100000"),
            ("1_000", "1000"),
            ("0.5", "1"),
            ("0", "1"),
            ("99999999999", "100000000"),
            ("200000000", "100000000"),
            ("10us", "100000"),
            ("one", "100000"),
            ("", "100000"),
            ("-5", "100000"),
        ] {
            assert_eq!(proposed(dilation(text).unwrap_err()), number, "{text}");
            assert!(dilation(number).is_ok());
        }
        for (text, number) in [("10s", "10"), ("5 min", "300"), ("1500ms", "2"), ("0", "1"), ("long", "60")] {
            assert_eq!(proposed(limit(text).unwrap_err()), number, "{text}");
        }
    }
}
