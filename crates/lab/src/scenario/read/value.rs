//! Types that can be read from a value.

use crate::scenario::read::document::{Item, Node};
use anabranch_base::{Bytes, Duration, Fix, Problem, Rate};
use anabranch_engine::Several;

pub(in crate::scenario) trait Read: Sized {
    fn read(node: &Node) -> Result<Self, Problem>;
}

impl Read for String {
    fn read(node: &Node) -> Result<Self, Problem> {
        match &node.item {
            Item::Leaf(toml::Value::String(text)) => Ok(text.clone()),
            _ => Err(format!("must be text in quotes, not {}", describe(node)).into()),
        }
    }
}

impl Read for bool {
    fn read(node: &Node) -> Result<Self, Problem> {
        match &node.item {
            Item::Leaf(toml::Value::Boolean(truth)) => Ok(*truth),
            _ => Err(Problem {
                message: format!("must be true or false, not {}", describe(node)),
                fix: truth_of(node).map(Fix::value),
            }),
        }
    }
}

/// The truth that a number or a word at `node` means: 0 and `off` are false, 1 and `on` are true.
fn truth_of(node: &Node) -> Option<bool> {
    match &node.item {
        Item::Leaf(toml::Value::Integer(number @ (0 | 1))) => Some(*number == 1),
        Item::Leaf(toml::Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "1" | "true" | "on" | "yes" => Some(true),
            "0" | "false" | "off" | "no" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

impl Read for f64 {
    fn read(node: &Node) -> Result<Self, Problem> {
        match &node.item {
            Item::Leaf(toml::Value::Float(number)) if number.is_finite() => Ok(*number),
            Item::Leaf(toml::Value::Integer(number)) => Ok(*number as f64),
            _ => Err(Problem {
                message: format!("must be a number, not {}", describe(node)),
                fix: unquoted(node).map(Fix::value),
            }),
        }
    }
}

/// The number that is written in quotes at `node`. With a percent sign, the number is divided by 100.
fn unquoted(node: &Node) -> Option<toml::Value> {
    let Item::Leaf(toml::Value::String(text)) = &node.item else { return None };
    let (number, divisor) = text.strip_suffix('%').map_or((text.as_str(), 1.0), |share| (share, 100.0));
    let number = number.trim().parse::<f64>().ok().map(|number| number / divisor);
    let number = number.filter(|number| (1e-9..1e9).contains(number))?;
    // The rounding removes digits that exist only because of the binary representation.
    Some(toml::Value::from((number * 1e12).round() / 1e12))
}

macro_rules! read_whole {
    ($($name:ty),*) => { $(
        impl Read for $name {
            fn read(node: &Node) -> Result<Self, Problem> {
                match &node.item {
                    Item::Leaf(toml::Value::Integer(number)) if *number < 0 => {
                        // A fix with the value 1 is not offered, because 1 is below the permitted range of some
                        // keys, such as `hosts`.
                        let amount = Some(number.unsigned_abs()).filter(|amount| *amount > 1);
                        let message = format!("must not be negative, not {number}");
                        Err(Problem { message, fix: amount.map(Fix::value) })
                    }
                    Item::Leaf(toml::Value::Integer(number)) => {
                        (*number).try_into().map_err(|_| format!("must be at most {}, not {number}", <$name>::MAX).into())
                    }
                    Item::Leaf(toml::Value::String(text)) => {
                        let number = text.trim().parse::<i64>().ok().filter(|number| *number >= 0);
                        let message = format!("must be a whole number, not {}", describe(node));
                        Err(Problem { message, fix: number.map(Fix::value) })
                    }
                    Item::Leaf(toml::Value::Float(number)) => {
                        // A number halfway between two whole numbers is rounded to the even one, which is more often
                        // valid.
                        let whole = Some(number.round_ties_even().max(1.0)).filter(|whole| *whole < 1e9);
                        let message = format!("must be a whole number, not {}", describe(node));
                        Err(Problem { message, fix: whole.map(Fix::value) })
                    }
                    _ => Err(format!("must be a whole number, not {}", describe(node)).into()),
                }
            }
        }
    )* };
}
read_whole!(u32, u64);

/// The fix for a bare number in place of a quantity: the number with a unit.
fn with_unit<T: std::str::FromStr<Err = Problem>>(node: &Node) -> Option<Fix> {
    let Item::Leaf(value @ (toml::Value::Integer(_) | toml::Value::Float(_))) = &node.item else {
        return None;
    };
    let number = match value {
        // The number is written without the `.0` that TOML requires.
        toml::Value::Float(number) => number.to_string(),
        whole => whole.to_string(),
    };
    number.parse::<T>().err()?.fix
}

macro_rules! read_quantity {
    ($($name:ty: $what:literal),*) => { $(
        impl Read for $name {
            fn read(node: &Node) -> Result<Self, Problem> {
                match &node.item {
                    Item::Leaf(toml::Value::String(text)) => text.parse(),
                    _ => {
                        let message = format!("must be {} in quotes, not {}", $what, describe(node));
                        Err(Problem { message, fix: with_unit::<$name>(node) })
                    }
                }
            }
        }
    )* };
}
read_quantity!(Bytes: "a size", Rate: "a rate", Duration: "a time");

impl<T: Read> Read for Several<T> {
    fn read(node: &Node) -> Result<Self, Problem> {
        match &node.item {
            Item::Array(_) => Vec::read(node).map(Several),
            _ => T::read(node).map(Several::from),
        }
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(node: &Node) -> Result<Self, Problem> {
        match &node.item {
            // The fix of an element would not be a fix of the list, so it is dropped.
            Item::Array(nodes) => nodes
                .iter()
                .map(T::read)
                .collect::<Result<_, _>>()
                .map_err(|problem: Problem| Problem { fix: None, ..problem }),
            Item::Leaf(value) => {
                let list = as_list(value);
                // Brackets are suggested only if the value is a valid element of the list.
                let reads = list
                    .iter()
                    .all(|value| T::read(&Node { at: None, item: Item::Leaf(value.clone()) }).is_ok());
                let fix = reads.then(|| Fix::value(toml::Value::Array(list)));
                Err(Problem { message: format!("must be a list, not {value}"), fix })
            }
            Item::Table(_) => Err("must be a list, not a table".into()),
        }
    }
}

/// The list that a single value probably means: `"1, 2"` means two numbers, `"reps, ops"` two names.
pub(in crate::scenario) fn as_list(value: &toml::Value) -> Vec<toml::Value> {
    let Some(text) = value.as_str() else { return vec![value.clone()] };
    if let Some(numbers) = range_of(text) {
        return numbers;
    }
    if !text.contains(',') {
        return vec![value.clone()];
    }
    let parts =
        text.trim_matches(['[', ']', ' ']).split(',').map(|part| part.trim().trim_matches(['"', '\'']));
    let read = |part: &str| match (part.parse::<i64>(), part.parse::<f64>()) {
        (Ok(whole), _) => toml::Value::Integer(whole),
        (_, Ok(number)) if number.is_finite() => toml::Value::Float(number),
        _ => toml::Value::String(part.to_owned()),
    };
    parts.filter(|part| !part.is_empty()).map(read).collect()
}

/// The numbers of `1-3` or `1..3`. For a long range, which may be meant in steps, only its two ends.
fn range_of(text: &str) -> Option<Vec<toml::Value>> {
    let (first, last) = text.split_once("..").or_else(|| text.split_once('-'))?;
    let (first, last): (i64, i64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let length = last.checked_sub(first).filter(|length| *length > 0)?;
    let numbers = if length < 20 { (first..=last).collect() } else { vec![first, last] };
    Some(numbers.into_iter().map(toml::Value::Integer).collect())
}

/// A value in words, for error texts.
pub(in crate::scenario) fn describe(node: &Node) -> String {
    match &node.item {
        Item::Table(_) => "a table".to_owned(),
        Item::Array(_) => "a list".to_owned(),
        Item::Leaf(value) => value.to_string(),
    }
}
