//! Sizes and rates, and their form as text.

use crate::Problem;
use crate::serde_as_text;
use crate::text::{about, parse_scaled, print_scaled};
use crate::time::Duration;
use std::fmt;
use std::str::FromStr;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

impl Rate {
    /// The time that `bytes` bytes take at this rate, rounded up to a picosecond, and at most [`u64::MAX`]
    /// picoseconds.
    ///
    /// # Panics
    /// The rate is 0.
    #[inline]
    pub const fn time_for(self, bytes: u64) -> Duration {
        assert!(self.0 > 0, "a link with rate 0");
        Duration(saturated((bytes as u128 * 8 * 1_000_000_000_000).div_ceil(self.0 as u128)))
    }

    /// A rate of `gbps` gigabits per second.
    pub const fn from_gbps(gbps: u64) -> Rate {
        Rate(gbps * 1_000_000_000)
    }

    /// This rate with about three digits, for display: `12.5 Gbps`.
    pub fn about(self) -> String {
        about(self.0, RATES)
    }

    /// The bytes that this rate carries in `span`, rounded down, and at most [`u64::MAX`].
    pub const fn bytes_in(self, span: Duration) -> u64 {
        saturated(self.0 as u128 * span.0 as u128 / 8_000_000_000_000)
    }
}

const fn saturated(number: u128) -> u64 {
    if number > u64::MAX as u128 { u64::MAX } else { number as u64 }
}

impl Bytes {
    /// This size with about three digits in decimal units, for display: `1.25 MB`.
    pub fn about(self) -> String {
        about(self.0, &SIZES[..5])
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
    type Err = Problem;
    /// Parses text such as `4096B`, `2MB` (decimal) or `8MiB` (binary).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_scaled(text, SIZES, "B", "a size such as \"4096B\", \"2MB\" or \"8MiB\"").map(Bytes)
    }
}

impl FromStr for Rate {
    type Err = Problem;
    /// Parses text such as `400Gbps` or `1.6Tbps`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_scaled(text, RATES, "Gbps", "a rate such as \"400Gbps\"").map(Rate)
    }
}

/// Prints like [`Duration`], but with whole numbers of up to five digits: `65535B`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_scaled(f, self.0, SIZES, &SIZES[..5], 5)
    }
}

/// Prints like [`Duration`].
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_scaled(f, self.0, RATES, RATES, 4)
    }
}

serde_as_text!(Bytes, Rate);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_three_digits() {
        let about = |bytes: u64| Bytes(bytes).about();
        assert_eq!([about(0), about(999), about(1_000)], ["0 B", "999 B", "1 KB"]);
        assert_eq!([about(1_250_000), about(123_456), about(10_499)], ["1.25 MB", "123 KB", "10.5 KB"]);
        assert_eq!([about(1 << 20), about(7_000_000_000_000)], ["1.05 MB", "7 TB"]);
        assert_eq!(Rate(12_500_000_000).about(), "12.5 Gbps");
        assert_eq!([Duration(61_234_567).about(), Duration(83_000).about()], ["61.2 us", "83 ns"]);
    }

    #[test]
    fn long_numbers_are_decimal_fractions() {
        let size = |bytes: u64| [Bytes(bytes).to_string(), format!("{:#}", Bytes(bytes))];
        assert_eq!(size(28_444_444), ["28.444444MB", "28444444B"]);
        assert_eq!(size(65_535), ["65535B", "65535B"]);
        assert_eq!(size(3 << 20), ["3MiB", "3MiB"]);
        assert_eq!(Rate(12_345_678_000).to_string(), "12.345678Gbps");
        assert_eq!(Rate(1_600_000_000_000).to_string(), "1600Gbps");
    }

    use proptest::prelude::*;

    #[test]
    fn serialisation_times_are_exact() {
        assert_eq!(Rate::from_gbps(400).time_for(4150), Duration(83_000));
        assert_eq!(Rate::from_gbps(400).time_for(64), Duration(1_280));
        assert_eq!(Rate::from_gbps(100).time_for(4150), Duration(332_000));
    }

    #[test]
    fn what_does_not_fit_is_the_largest_number() {
        assert_eq!(Rate(100).time_for(17_000_000_000_000), Duration(u64::MAX), "17 TB at 100 bit/s");
        assert_eq!(Rate(1).time_for(u64::MAX), Duration(u64::MAX));
        assert_eq!(Rate(1).time_for(2_000_000), Duration(16_000_000_000_000_000_000));
        assert_eq!(Rate(u64::MAX).bytes_in(Duration(u64::MAX)), u64::MAX);
        assert_eq!(Rate(8_000_000_000_000).bytes_in(Duration(u64::MAX)), u64::MAX);
    }

    /// A recursive call for each sign would overflow the stack.
    #[test]
    fn many_signs_are_an_error() {
        let text = "- ".repeat(500_000) + "5us";
        let problem = text.parse::<Duration>().unwrap_err();
        assert_eq!(problem.fix, Some(crate::Fix::value("5us")));
    }

    #[test]
    fn a_unit_alone_has_no_fix() {
        for unit in ["gbps", "G", "GBps", "1.2.3G"] {
            let problem = unit.parse::<Rate>().unwrap_err();
            assert_eq!(problem.fix, None, "{problem}");
        }
        assert_eq!("seconds".parse::<Duration>().unwrap_err().fix, None);
        assert_eq!("megabyte".parse::<Bytes>().unwrap_err().fix, None);
    }

    #[test]
    fn errors_say_what_to_write() {
        let wrong = |t: &str| t.parse::<Rate>().unwrap_err().to_string();
        assert!(wrong("400gbps").contains("write: 400Gbps"), "{}", wrong("400gbps"));
        assert!(wrong("400").contains("add a unit"));
        for short in ["400G", "400Gb/s", "400 Gbit/s", "400GbE", "50GBps"] {
            assert!(wrong(short).ends_with("; write: 400Gbps"), "{}", wrong(short));
        }
        let size = |t: &str| t.parse::<Bytes>().unwrap_err().to_string();
        assert!(
            size("10Mb").ends_with("; write: 1.25MB") && size("10mb").ends_with("; write: 10MB"),
            "{}",
            size("10Mb")
        );
        assert!(size("8K").ends_with("; write: 8KB"), "{}", size("8K"));
        for bits_or_bytes in [wrong("50GB/s"), size("8Mbit")] {
            assert!(bits_or_bytes.contains("; the units are"), "{bits_or_bytes}");
        }
        for (spelt, instead) in [("1MBytes", "1MB"), ("1 megabyte", "1MB"), ("2 kibibytes", "2KiB")] {
            assert!(size(spelt).ends_with(&format!("; write: {instead}")), "{}", size(spelt));
        }
        for (capitals, instead) in [("100MBPS", "100Mbps"), ("400GBPS", "400Gbps"), ("100MBps", "800Mbps")] {
            assert!(wrong(capitals).ends_with(&format!("; write: {instead}")), "{}", wrong(capitals));
        }
        for rate in ["8 megabytes per second", "8 megabytes/s"] {
            assert!(size(rate).contains("; the units are"), "{}", size(rate));
        }
        assert!(wrong("400 gigabits per second").ends_with("; write: 400Gbps"));
        let time = |t: &str| t.parse::<Duration>().unwrap_err().to_string();
        for (spelt, instead) in [("5 microseconds", "5us"), ("1.5min", "90s"), ("2 seconds", "2s")] {
            assert!(time(spelt).ends_with(&format!("; write: {instead}")), "{}", time(spelt));
        }
        assert!(
            time("1msec").ends_with("; write: 1ms") && time("5m").contains("the units are"),
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
            prop_assert_eq!(Duration(n).to_string().parse(), Ok(Duration(n)));
            prop_assert_eq!(format!("{:#}", Bytes(n)).parse(), Ok(Bytes(n)));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Rate>();
            let _ = text.parse::<Duration>();
        }

        #[test]
        fn fixes_can_be_read(number in "-?[0-9.]{0,5}", unit in "(| )([kKMGTmu]?i?([Bb]|bps|s|sec|bit|Bytes|bits/s)?|minutes)") {
            let text = format!("{number}{unit}");
            let fix = |problem: Problem| match problem.fix {
                Some(crate::Fix::Value { value }) => Some(value),
                _ => None,
            };
            if let Some(fix) = text.parse::<Bytes>().err().and_then(fix) {
                prop_assert!(fix.parse::<Bytes>().is_ok(), "{text:?}: {fix:?}");
            }
            if let Some(fix) = text.parse::<Rate>().err().and_then(fix) {
                prop_assert!(fix.parse::<Rate>().is_ok(), "{text:?}: {fix:?}");
            }
            if let Some(fix) = text.parse::<Duration>().err().and_then(fix) {
                prop_assert!(fix.parse::<Duration>().is_ok(), "{text:?}: {fix:?}");
            }
        }
    }
}
