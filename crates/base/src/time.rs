//! Time in integer picoseconds. A clock in nanoseconds would be too coarse: 64 B at 400 Gb/s take 1.28 ns.

use crate::Problem;
use crate::text::{about, from_text, parse_scaled, print_scaled};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

/// An instant: picoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

/// A span of time in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// The largest time, for an event that is not due.
    pub const NEVER: Time = Time(u64::MAX);

    /// The span since `earlier`, or zero if `earlier` is later than this instant.
    #[inline]
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// This instant in microseconds.
    pub fn as_us(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Duration {
    /// A span of no time.
    pub const ZERO: Duration = Duration(0);

    /// A span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Duration {
        Duration(ns * 1_000)
    }

    /// A span of `us` microseconds.
    pub const fn from_us(us: u64) -> Duration {
        Duration(us * 1_000_000)
    }

    /// This span in microseconds.
    pub fn as_us(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// This span with about three digits, for display: `61.2 us`.
    pub fn about(self) -> String {
        about(self.0, UNITS)
    }

    /// This span rounded up to `digits` significant digits.
    pub fn rounded_up(self, digits: u32) -> Duration {
        let unit = 10_u64.pow((self.0.max(1).ilog10() + 1).saturating_sub(digits));
        Duration(self.0.div_ceil(unit).saturating_mul(unit))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Time> for Time {
    type Output = Duration;
    #[inline]
    fn sub(self, earlier: Time) -> Duration {
        debug_assert!(earlier <= self, "time ran backwards");
        Duration(self.0 - earlier.0)
    }
}

impl Add for Duration {
    type Output = Duration;
    #[inline]
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn mul(self, times: u64) -> Duration {
        Duration(self.0.saturating_mul(times))
    }
}

const UNITS: &[(&str, u64)] =
    &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];

impl FromStr for Duration {
    type Err = Problem;
    /// Parses text such as `500ns`, `1.5us` (or `1.5µs`) or `10 ms`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // The micro sign and the Greek letter mu look alike, so both are accepted.
        parse_scaled(
            &text.replace(['\u{b5}', '\u{3bc}'], "u"),
            UNITS,
            "us",
            "a time such as \"500ns\", \"1.5us\" or \"10ms\"",
        )
        .map(Duration)
    }
}

impl fmt::Display for Duration {
    /// Prints a number and a unit, which read back as the same span. The number is whole if the span is a whole number
    /// of seconds, or a whole number of up to four digits in a smaller unit. Otherwise it is a decimal fraction. With
    /// `{:#}`, the form of stored scenarios, the number is always whole.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_scaled(f, self.0, UNITS, UNITS, 4)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

impl Serialize for Duration {
    /// Writes a whole number in every case, because the digests of resolved scenarios depend on this text.
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&format_args!("{self:#}"))
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        from_text(d)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_rounded_up() {
        for (exact, up) in [(0, 0), (1, 1), (99, 99), (101, 110), (123_456, 130_000), (9_901, 10_000)] {
            assert_eq!(Duration(exact).rounded_up(2), Duration(up));
        }
        assert_eq!(Duration(123_456).rounded_up(3), Duration(124_000));
        assert_eq!(Duration(u64::MAX).rounded_up(3), Duration(u64::MAX));
    }

    #[test]
    fn spans_read_back_as_printed() {
        for ps in [0, 1, 999, 1_000, 83_000, 1_500_000, 70_000_000, 1_000_000_000_000] {
            let span = Duration(ps);
            assert_eq!(span.to_string().parse(), Ok(span), "{span}");
        }
        let shown = |ps: u64| [Duration(ps).to_string(), format!("{:#}", Duration(ps))];
        assert_eq!(shown(106_339_040), ["106.33904us", "106339040ps"]);
        assert_eq!(shown(83_001), ["83.001ns", "83001ps"]);
        assert_eq!(shown(9_999), ["9999ps", "9999ps"]);
        assert_eq!(shown(1_000_000_000_001), ["1.000000000001s", "1000000000001ps"]);
        assert_eq!(shown(90_000_000_000_000_000), ["90000s", "90000s"]);
        assert_eq!("1.5us".parse(), Ok(Duration(1_500_000)));
    }

    #[test]
    fn a_span_finer_than_a_picosecond_is_refused() {
        assert!("0.5ps".parse::<Duration>().is_err());
        assert!("5".parse::<Duration>().is_err());
        assert!("-5us".parse::<Duration>().is_err());
        assert!("99999999999s".parse::<Duration>().is_err());
    }
}
