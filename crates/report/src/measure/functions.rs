//! The functions of the measure language, by name.

use super::curve::Target;
use super::error::{ErrorAt, hint, nearest};
use super::tree::{CurveMeasure, Function, Points, Quantity, Word};
use anabranch_results::{RunRow, Statistic};

const CURVE_FUNCTIONS: [(&str, CurveMeasure); 2] =
    [("time_to_settle", CurveMeasure::Settles), ("time_near", CurveMeasure::Near)];

/// The named arguments of a function of a whole curve.
const CURVE_ARGUMENTS: [&str; 6] = ["value", "within", "smooth_us", "entity", "from_us", "to_us"];

const QUANTITIES: [(&str, Quantity); 6] = [
    ("fct", Quantity::Fct),
    ("slowdown", Quantity::Slowdown),
    ("cct", Quantity::Cct),
    ("retransmissions", Quantity::Retransmissions),
    ("retransmitted_share", Quantity::RetransmittedShare),
    ("timeouts", Quantity::Timeouts),
];

/// A description of the argument that follows the scheme in a function over messages.
const STATISTICS: &str = "mean, min, max, sum, share (of those above 0) or a percentile such as p99";

const SERIES_FUNCTIONS: [(&str, Statistic); 6] = [
    ("series_max", Statistic::Max),
    ("series_min", Statistic::Min),
    ("series_mean", Statistic::Mean),
    ("series_sum", Statistic::Sum),
    ("series_first", Statistic::First),
    ("series_last", Statistic::Last),
];

/// The arguments of a call after the scheme.
#[derive(Default)]
pub(super) struct Arguments {
    pub positional: Vec<Word>,
    pub named: Vec<(Word, Word)>,
}

impl Arguments {
    fn named(&mut self, name: &str) -> Option<Word> {
        let index = self.named.iter().position(|(key, _)| key.text == name)?;
        Some(self.named.remove(index).1)
    }

    /// Whether some argument is a filter or a statistic for messages.
    fn about_messages(&self) -> bool {
        let is_filter =
            |(key, _): &(Word, Word)| ["group", "min_bytes", "max_bytes"].contains(&key.text.as_str());
        !self.positional.is_empty() || self.named.iter().any(is_filter)
    }

    fn number(&mut self, name: &str, default: f64) -> Result<f64, ErrorAt> {
        match self.named(name) {
            None => Ok(default),
            Some(Word { number: Some(number), .. }) => Ok(number),
            Some(Word { at, text, .. }) => {
                ErrorAt::new(at, format!("expected a number without a unit for `{name}`, found `{text}`"))
            }
        }
    }

    fn points(&mut self, series: Word) -> Result<Points, ErrorAt> {
        Ok(Points {
            series,
            entity: self.named("entity").map(|word| word.text),
            from_us: self.number("from_us", f64::NEG_INFINITY)?,
            to_us: self.number("to_us", f64::INFINITY)?,
        })
    }

    fn next(&mut self, at: usize, expected: &str) -> Result<Word, ErrorAt> {
        if self.positional.is_empty() {
            return ErrorAt::new(at, format!("expected {expected} after the scheme"));
        }
        Ok(self.positional.remove(0))
    }
}

/// The function with this name. The arguments that it uses are removed from `arguments`. The named arguments that
/// remain are filters.
pub(super) fn function(at: usize, name: &str, arguments: &mut Arguments) -> Result<Function, ErrorAt> {
    if let Some((_, statistic)) = SERIES_FUNCTIONS.iter().find(|(known, _)| *known == name) {
        return Ok(Function::Series {
            statistic: *statistic,
            points: {
                let series = arguments.next(at, "a series, such as queue_depth_bytes,")?;
                arguments.points(series)?
            },
        });
    }
    if let Some((_, measure)) = CURVE_FUNCTIONS.iter().find(|(known, _)| *known == name) {
        return curve(*measure, name, at, arguments);
    }
    // Some names belong to both a field of the runs and a quantity of messages. Such a name refers to the field, unless
    // some argument is about messages.
    let whole = RunRow::FIELDS.contains(&name) && !arguments.about_messages();
    let quantity = QUANTITIES.iter().find(|(known, _)| *known == name && !whole);
    if let Some((_, quantity)) = quantity {
        let word = arguments.next(at, STATISTICS)?;
        let Some(statistic) = Statistic::parse(&word.text) else {
            return ErrorAt::new(word.at, format!("expected {STATISTICS}, found `{}`", word.text));
        };
        let group = match quantity {
            Quantity::Cct => None,
            _ => arguments.named("group"),
        };
        return Ok(Function::PerMessage {
            quantity: *quantity,
            statistic,
            group,
            min_bytes: arguments.number("min_bytes", 0.0)?,
            max_bytes: arguments.number("max_bytes", f64::INFINITY)?,
        });
    }
    match name {
        "extra" => Ok(Function::Extra(arguments.next(at, "the number's name")?)),
        _ => match RunRow::FIELDS.into_iter().find(|field| *field == name || without_unit(field) == name) {
            Some(field) => Ok(Function::Field(field)),
            None => {
                let known = RunRow::FIELDS.iter().map(|field| without_unit(field));
                let known = known.chain(SERIES_FUNCTIONS.iter().map(|(name, _)| *name));
                let known = known.chain(QUANTITIES.iter().map(|(name, _)| *name));
                let known = known.chain(CURVE_FUNCTIONS.iter().map(|(name, _)| *name));
                let known = known.chain(["extra", "max", "min", "abs"]);
                let known: Vec<&str> = known.collect();
                let instead = nearest(name, &known).map(|near| (at..at + name.len(), near.to_owned()));
                let message = format!("unknown field or function `{name}`{}", hint(name, known));
                Err(ErrorAt { at, message, instead })
            }
        },
    }
}

/// A function of a whole curve. Named arguments that it does not use are filters, but a name similar to one of
/// [`CURVE_ARGUMENTS`] is treated as a misspelling.
fn curve(
    measure: CurveMeasure,
    name: &str,
    at: usize,
    arguments: &mut Arguments,
) -> Result<Function, ErrorAt> {
    let series = arguments.next(at, "a series, such as queue_depth_bytes,")?;
    let target = match (arguments.named("value"), measure) {
        (None, CurveMeasure::Settles) => Target::Last,
        (None, CurveMeasure::Near) => {
            return ErrorAt::new(at, format!("`{name}` needs `value=`: a number, `max` or `last`"));
        }
        (Some(Word { number: Some(number), .. }), _) => Target::Number(number),
        (Some(word), _) => match &*word.text {
            "max" => Target::Max,
            "last" => Target::Last,
            other => {
                let hint = hint(other, ["max", "last"]);
                return ErrorAt::new(
                    word.at,
                    format!("expected a number, `max` or `last` for `value`, found `{other}`{hint}"),
                );
            }
        },
    };
    let mut positive = |key: &str, default: f64| {
        let at = arguments.named.iter().find(|(name, _)| name.text == key).map_or(at, |(_, word)| word.at);
        match arguments.number(key, default)? {
            number if number > 0.0 => Ok(number),
            number => ErrorAt::new(at, format!("expected a number above 0 for `{key}`, found {number}")),
        }
    };
    let within = positive("within", NEAR)?;
    let smooth_us = Some(positive("smooth_us", f64::INFINITY)?).filter(|width| width.is_finite());
    let function = Function::Curve { measure, points: arguments.points(series)?, target, within, smooth_us };
    for (key, _) in &arguments.named {
        let near = CURVE_ARGUMENTS.iter().find(|known| strsim::damerau_levenshtein(&key.text, known) <= 2);
        if let Some(known) = near {
            return ErrorAt::new(
                key.at,
                format!("`{name}` has no argument `{}`; did you mean `{known}`?", key.text),
            );
        }
    }
    Ok(function)
}

/// The default of `within`, as a fraction of the value.
const NEAR: f64 = 0.1;

fn without_unit(field: &str) -> &str {
    field.strip_suffix("_us").or(field.strip_suffix("_s")).unwrap_or(field)
}
