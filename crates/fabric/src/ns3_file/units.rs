//! Rates, latencies and error rates in the syntax of the ns-3 simulators.

use anabranch_base::{Duration, Fix, Problem, Rate};

/// The smallest plain number that is read as a rate in bits per second. ns-3 also reads smaller numbers in this way,
/// but they probably lack a unit.
const LEAST_PLAIN_RATE: u64 = 1_000_000;

/// A rate with a unit of ns-3's `DataRate` (`100Gbps`, `100Gb/s`, `12.5GB/s`, `1Gib/s`); a plain number is in bits
/// per second.
pub(super) fn rate(word: &str) -> Result<Rate, Problem> {
    let split = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let (number, unit) = word.split_at(split);
    let read = scale(unit).and_then(|scale| decimal(number, scale));
    let plain = unit.is_empty();
    match read {
        Some(0) => Err(Problem::with_value(format!("a link with rate {word} carries nothing"), "100Gbps")),
        Some(bits) if !plain || bits >= LEAST_PLAIN_RATE => Ok(Rate(bits)),
        Some(_) => Err(Problem::with_value(
            format!("the rate {word} has no unit, and ns-3 reads it as bits a second"),
            format_args!("{word}Gbps"),
        )),
        None => Err(Problem {
            message: format!(
                "{word:?} is no rate such as 100Gbps, 100Gb/s or, in bits a second, 100000000000"
            ),
            fix: suggestion::<Rate>(word),
        }),
    }
}

/// The bits per second of a unit of ns-3's `DataRate`, and of Tbps, which ns-3 lacks.
fn scale(unit: &str) -> Option<u64> {
    if unit.is_empty() {
        return Some(1);
    }
    let unit = unit.strip_suffix("ps").or_else(|| unit.strip_suffix("/s"))?;
    let (prefix, bits) = match unit.strip_suffix('b') {
        Some(prefix) => (prefix, 1),
        None => (unit.strip_suffix('B')?, 8),
    };
    let times = match prefix {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        _ => return None,
    };
    Some(bits * times)
}

/// `number` times `scale`, rounded down.
fn decimal(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || fraction.len() > 18 {
        return None;
    }
    let scaled = digits.parse::<u128>().ok()?.checked_mul(u128::from(scale))?;
    u64::try_from(scaled / 10_u128.pow(fraction.len() as u32)).ok()
}

/// A latency with a unit, such as `1000ns` or `0.001ms`, or 0.
pub(super) fn latency(word: &str) -> Result<Duration, Problem> {
    let plain = word.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    match (word.parse::<Duration>(), plain) {
        (Ok(latency), _) => Ok(latency),
        (Err(_), Some(0.0)) => Ok(Duration::ZERO),
        // The proposed fix reads a number below 0.01 as seconds, as ns-3 does, a number of at least 50 as nanoseconds,
        // and a number between these as microseconds.
        (Err(_), Some(number)) => {
            let instead = match number {
                small if small < 0.01 => Duration((small * 1e12).round() as u64).to_string(),
                ns if ns >= 50.0 => format!("{word}ns"),
                us => format!("{us}us"),
            };
            Err(Problem::with_value(
                format!("the latency {word} has no unit, and ns-3 reads it as seconds"),
                instead,
            ))
        }
        (Err(_), None) => {
            let message = format!("{word:?} is no latency such as 1000ns or 0.001ms");
            Err(Problem { message, fix: suggestion::<Duration>(word) })
        }
    }
}

pub(super) fn loss(word: &str) -> Result<f64, Problem> {
    let number = word.parse::<f64>().ok();
    if let Some(loss) = number.filter(|loss| (0.0..=1.0).contains(loss)) {
        return Ok(loss);
    }
    let percent = number.or_else(|| word.strip_suffix('%')?.parse().ok());
    let instead = match percent {
        Some(percent) if percent > 0.0 && percent <= 100.0 => (percent / 100.0).to_string(),
        Some(negative) if (-1.0..0.0).contains(&negative) => (-negative).to_string(),
        _ => "0".to_owned(),
    };
    Err(Problem::with_value(
        format!("the error rate {word:?} is no probability, a number from 0 to 1"),
        instead,
    ))
}

/// The replacement that the parser of scenarios proposes for a malformed quantity.
fn suggestion<T: std::str::FromStr<Err = Problem>>(word: &str) -> Option<Fix> {
    word.parse::<T>().err()?.fix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_ns_3_does() {
        for word in [
            "100Gbps",
            "100Gb/s",
            "100000Mbps",
            "0.1Tbps",
            "12.5GB/s",
            "12500MBps",
            "100000000000",
            "100000000000.0",
        ] {
            assert_eq!(rate(word), Ok(Rate::from_gbps(100)), "{word}");
        }
        assert_eq!(rate("1Gib/s"), Ok(Rate(1 << 30)));
        assert_eq!(rate("1KiB/s"), Ok(Rate(8 << 10)));
        assert_eq!(rate("40kbps"), Ok(Rate(40_000)));
        for word in ["", ".", "Gbps", "1.2.3Gbps", "-1Gbps", "99999999999Tbps", "1e9"] {
            assert!(rate(word).is_err(), "{word}");
        }
    }
}
