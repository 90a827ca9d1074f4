//! `[find]`: the smallest or the largest value of a parameter for which a condition still holds, found by bisection.

use crate::scenario::expand::resolved::Scenario;
use crate::scenario::expand::scenario;
use crate::scenario::input::{Files, Overrides};
use crate::scenario::keys;
use crate::scenario::read::document::{self, Fields, Item, Node, Place};
use crate::scenario::read::key_path::{ZIP, as_toml};
use crate::scenario::read::source_map::SearchRange;
use crate::scenario::read::table::{Table, fault};
use crate::scenario::resolve::scheme::catalog::Registry;
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Bytes, Diagnostic, Duration, Fix, Rate, Span, in_unit_of};

/// The default of `resolution`, the relative distance between values at which a bisection ends.
const RESOLUTION: f64 = 0.02;
/// The factors by which suggested ranges extend beyond an end of the searched range.
const WIDER: [f64; 3] = [10.0, 5.0, 2.0];
/// The number of halvings after which the condition is assumed to fail everywhere in a range. They try 7 values.
const RANGE_HALVINGS: usize = 3;
/// The number of halvings of a list. They reach every value of a list of up to 65 values.
const LIST_HALVINGS: usize = 6;
const RANGE: &str = "[\"16KB\", \"8MB\"]";

/// A scenario with a search for the value of one of its parameters.
#[derive(Debug)]
pub struct Find {
    /// The parameter, by its path as in `[set]` and `[sweep]`.
    pub parameter: String,
    /// The extremum that is searched among the values for which the condition holds.
    pub wanted: Extremum,
    /// The condition, as a measure that is 1 or 0.
    pub holds: String,
    /// The relative distance between values at which a bisection ends.
    pub resolution: f64,
    values: Values,
    at: Place,
    /// The place of each value in the file, in the written order.
    values_at: Vec<Place>,
    /// The place of [`holds`](Self::holds) in the file.
    where_at: Place,
    file: String,
    document: Fields,
    over: Overrides,
}

/// The extremum of the values for which a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extremum {
    /// The smallest value. A condition that holds for a value is expected to hold for every larger one.
    Smallest,
    /// The largest value. A condition that holds for a value is expected to hold for every smaller one.
    Largest,
}

#[derive(Debug)]
enum Values {
    List(Vec<toml::Value>),
    /// All values between two ends, written in the form of `spelling`.
    Range {
        ends: [toml::Value; 2],
        low: f64,
        high: f64,
        spelling: Spelling,
    },
}

/// The form in which a number between two ends is written.
#[derive(Debug)]
enum Spelling {
    Whole,
    Number,
    /// A number followed by a unit. If `whole` is true, the number is whole.
    Unit {
        unit: String,
        whole: bool,
    },
}

/// Reads a scenario that has `[find]`.
///
/// # Errors
/// The text is not TOML, it has no `[find]`, it has a sweep or points in addition to `[find]`, or `[find]` has an
/// error. The rest of the scenario is read only by [`Find::scenario`].
pub fn read_find(file: &str, text: &str, over: &Overrides) -> Result<Find, Diagnostic> {
    find_in(file, text, over)?.ok_or_else(|| {
        let help = format!(
            "[find] and below it parameter = \"*.fabric.queue\", smallest = {RANGE}, where = \"drops(scheme) == 0\""
        );
        fault(file, None, "the scenario has no [find]", Some(help.into()))
    })
}

/// The search of a scenario; `None` without `[find]`.
///
/// # Errors
/// See [`read_find`], except that a scenario without `[find]` is no error.
pub fn find_in(file: &str, text: &str, over: &Overrides) -> Result<Option<Find>, Diagnostic> {
    let mut document = document::parse(file, text)?;
    let Some(node) = document.remove("find") else { return Ok(None) };
    for key in ["sweep", "point"] {
        if let Some(node) = document.get(key) {
            let message =
                format!("[find] and {key} exclude each other: one question has one answer per scheme");
            return Err(fault(file, node.at, message, Some(format!("a scenario without {key}").into())));
        }
    }
    let question = Question::read(&Table::open(file, "[find]", &node)?)?;
    let Question { parameter, at, wanted, holds, where_at, resolution, values, values_at } = question;
    Ok(Some(Find {
        parameter,
        wanted,
        holds,
        resolution,
        values,
        at,
        values_at,
        where_at,
        file: file.to_owned(),
        document,
        over: over.clone(),
    }))
}

struct Question {
    parameter: String,
    at: Place,
    wanted: Extremum,
    holds: String,
    where_at: Place,
    resolution: f64,
    values: Values,
    values_at: Vec<Place>,
}

impl Question {
    fn read(table: &Table) -> Result<Question, Diagnostic> {
        only(table, &keys::of("find"))?;
        let parameter: String = table.need("parameter")?;
        let at = table.node("parameter").map_or(table.at, |node| node.at);
        if parameter == ZIP {
            return Err(table.wrong(
                "parameter",
                "one parameter is varied",
                Fix::set("parameter", "\"*.fabric.queue\""),
            ));
        }
        let holds: String = table.need("where")?;
        let where_at = table.node("where").and_then(|node| node.at);
        let resolution: f64 = table.get("resolution")?.unwrap_or(RESOLUTION);
        if !(1e-6..1.0).contains(&resolution) {
            let message = format!("resolution must be between 0.000001 and 1, not {resolution}");
            return Err(table.wrong("resolution", message, Fix::set("resolution", RESOLUTION)));
        }
        let (key, wanted) = match (table.node("smallest"), table.node("largest")) {
            (Some(_), None) => ("smallest", Extremum::Smallest),
            (None, Some(_)) => ("largest", Extremum::Largest),
            (Some(_), Some(_)) => {
                return Err(table.wrong("largest", "smallest and largest exclude each other", "one of them"));
            }
            (None, None) => {
                let message = "[find] has neither smallest nor largest";
                return Err(table.wrong(
                    "smallest",
                    message,
                    format!("smallest = {RANGE}, where it is looked for"),
                ));
            }
        };
        let (list, values_at): (Vec<toml::Value>, Vec<Place>) = match table.node(key).map(|node| &node.item) {
            Some(Item::Array(nodes)) if nodes.len() >= 2 => {
                nodes.iter().map(|node| (node.value(), node.at)).unzip()
            }
            _ => {
                let message = format!(
                    "{key} must be a list: both ends of a range, or three values or more in their order"
                );
                return Err(table.wrong(key, message, Fix::set(key, RANGE)));
            }
        };
        let values = values(list.clone()).map_err(|message| {
            let rising = rising(list).filter(|rising| values(rising.clone()).is_ok());
            let help = match rising {
                Some(rising) => Fix::set(key, toml::Value::Array(rising)),
                None => Fix::set(key, RANGE),
            };
            table.wrong(key, message, help)
        })?;
        Ok(Question { parameter, at, wanted, holds, where_at, resolution, values, values_at })
    }
}

fn values(list: Vec<toml::Value>) -> Result<Values, String> {
    let [first, last] = &list[..] else {
        let rise = list.windows(2).map(|pair| sizes(&pair[0], &pair[1]).map(|[one, next]| next > one));
        return match rise.collect::<Option<Vec<bool>>>() {
            Some(steps) if steps.windows(2).any(|pair| pair[0] != pair[1]) => {
                Err("the values neither rise nor fall all the way, so that nothing is between them"
                    .to_owned())
            }
            _ => Ok(Values::List(list)),
        };
    };
    let range = |low: f64, high: f64, spelling: Spelling| {
        if low < high && low.is_finite() && high.is_finite() {
            return Ok(Values::Range { ends: [first.clone(), last.clone()], low, high, spelling });
        }
        Err(format!("the ends of a range rise, but {last} is not above {first}"))
    };
    match (first, last) {
        (toml::Value::Integer(low), toml::Value::Integer(high)) => {
            range(*low as f64, *high as f64, Spelling::Whole)
        }
        (toml::Value::String(low), toml::Value::String(high)) => {
            let kinds = || format!("{first} and {last} are no two quantities of one kind");
            let (number, unit) = quantity(low).ok_or_else(kinds)?;
            let (other, other_unit) = quantity(high).ok_or_else(kinds)?;
            let (unit, high) = match unit == other_unit {
                true => (unit, other),
                false => match sizes(first, last).ok_or_else(kinds)? {
                    [0.0, _] => (other_unit, other),
                    [low, high] => (unit, number * (high / low)),
                },
            };
            // `B`, `bps` and `ps` are the smallest units, so that a number in them is whole.
            let whole = ["B", "bps", "ps"].contains(&unit.as_str());
            range(number, high, Spelling::Unit { unit, whole })
        }
        _ => match (number(first), number(last)) {
            (Some(low), Some(high)) => range(low, high, Spelling::Number),
            _ => Err(format!("{first} and {last} are no ends of a range; a list has three values or more")),
        },
    }
}

/// Two numbers, or two quantities of one kind in its smallest unit. `None` for other values.
fn sizes(one: &toml::Value, next: &toml::Value) -> Option<[f64; 2]> {
    let (Some(one), Some(next)) = (one.as_str(), next.as_str()) else {
        return Some([number(one)?, number(next)?]);
    };
    let pair = |one: u64, next: u64| Some([one as f64, next as f64]);
    let bytes = || pair(one.parse::<Bytes>().ok()?.0, next.parse::<Bytes>().ok()?.0);
    let spans = || pair(one.parse::<Duration>().ok()?.0, next.parse::<Duration>().ok()?.0);
    let rates = || pair(one.parse::<Rate>().ok()?.0, next.parse::<Rate>().ok()?.0);
    bytes().or_else(spans).or_else(rates)
}

/// The values sorted, without repetitions. None if they cannot be sorted, or if too few remain for a range or a list.
fn rising(list: Vec<toml::Value>) -> Option<Vec<toml::Value>> {
    let first = list.first()?.clone();
    let size = |value: &toml::Value| sizes(&first, value).map(|[_, size]| size);
    let was_a_range = list.len() == 2;
    let sized = |value: toml::Value| Some((size(&value).filter(|size| size.is_finite())?, value));
    let mut list: Vec<(f64, toml::Value)> = list.into_iter().map(sized).collect::<Option<_>>()?;
    list.sort_by(|a, b| a.0.total_cmp(&b.0));
    list.dedup_by(|a, b| a.0 == b.0);
    let is_whole = if was_a_range { list.len() == 2 } else { list.len() > 2 };
    is_whole.then(|| list.into_iter().map(|(_, value)| value).collect())
}

fn number(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

/// Splits a quantity into number and unit: `16KB` into 16 and `KB`.
fn quantity(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    Some((text[..unit].parse().ok()?, text[unit..].trim().to_owned()))
}

/// The unit for all numbers of a list in which one number would get `unit`. The unit is bytes if a number is too large
/// for a size in `unit`.
fn common_unit<'a>(unit: &'a str, list: &[toml::Value]) -> &'a str {
    let one = format!("1{unit}");
    let is_size = one.parse::<Duration>().is_err() && one.parse::<Rate>().is_err();
    let is_too_large = |value: f64| in_unit_of(&one, value).is_none();
    if is_size && list.iter().filter_map(number).any(is_too_large) { "B" } else { unit }
}

impl Find {
    /// The scenario in which the parameter is swept over `values`.
    ///
    /// # Errors
    /// The first error, with its place and what to write instead.
    pub fn scenario(&self, values: &[toml::Value], files: &dyn Files) -> Result<Scenario, Diagnostic> {
        let own = self.own_values();
        let leaf = |value: &toml::Value| {
            let place = own.iter().position(|own| own == value).unwrap_or(0);
            Node { at: self.values_at[place], item: Item::Leaf(value.clone()) }
        };
        let values = Node { at: self.at, item: Item::Array(values.iter().map(leaf).collect()) };
        let sweep = Fields::from([(self.parameter.clone(), values)]);
        let mut document = self.document.clone();
        document.insert("sweep".to_owned(), Node { at: self.at, item: Item::Table(sweep) });
        let scenario = scenario::resolve(&Registry::new(), &self.file, document, files, &self.over);
        let scenario = scenario.map_err(|error| self.in_find(error))?;
        Ok(scenario.asking(SearchRange { key: self.key(), values: own, at: self.values_at[0] }))
    }

    /// Changes the fix of an error about `[sweep]` to a fix of `[find]`, if possible. A search is resolved as a sweep.
    fn in_find(&self, error: Diagnostic) -> Diagnostic {
        let Some(Fix::Set { key, value }) = &error.fix else { return error };
        let Some(path) = key.strip_prefix('"').and_then(|key| key.strip_suffix('"')) else { return error };
        let place = error.span.line.zip(error.span.column);
        let which = self.values_at.iter().position(|at| *at == place);
        if which.is_none() && place != self.at {
            return error;
        }
        if path != self.parameter {
            // If the fix is to sweep another parameter, the search should use that parameter too. For a PFC buffer of
            // schemes without PFC, that other parameter is the queue.
            let (line, column) = self.at.unzip();
            let path = match self.parameter.strip_suffix("fabric.pfc.buffer") {
                Some(scheme) if value.starts_with('{') => format!("{scheme}fabric.queue"),
                _ => path.to_owned(),
            };
            let span = Span { line, column, ..error.span.clone() };
            return Diagnostic { fix: Some(Fix::set("parameter", format!("{path:?}"))), span, ..error };
        }
        let mut mended = self.own_values();
        let value = as_toml(value).and_then(|value| match value {
            // In the corrected list for `[sweep]`, the new value is the one that `[find]` does not have.
            toml::Value::Array(list) => list.into_iter().find(|value| !mended.contains(value)),
            value => Some(value),
        });
        let (Some(which), Some(value)) = (which, value) else { return error };
        // If one number lacks a unit, the other numbers lack it too.
        let bare = mended[which].to_string();
        let unit = value.as_str().and_then(|text| text.strip_prefix(bare.as_str())).map(str::to_owned);
        mended[which] = match &unit {
            Some(unit) => {
                let unit = common_unit(unit, &mended);
                for other in mended.iter_mut().filter(|other| number(other).is_some()) {
                    *other = format!("{other}{unit}").into();
                }
                format!("{bare}{unit}").into()
            }
            None => value,
        };
        match values(mended.clone()) {
            Ok(_) => {
                let fix = Fix::set(self.key(), toml::Value::Array(mended));
                error.with_fix(fix)
            }
            Err(_) => error,
        }
    }

    /// The key of `[find]` that the scenario uses: `smallest` or `largest`.
    pub fn key(&self) -> &'static str {
        match self.wanted {
            Extremum::Smallest => "smallest",
            Extremum::Largest => "largest",
        }
    }

    /// The values as they are written: both ends of a range, or all values of a list.
    fn own_values(&self) -> Vec<toml::Value> {
        match &self.values {
            Values::List(list) => list.clone(),
            Values::Range { ends, .. } => ends.to_vec(),
        }
    }

    /// Both ends of the searched values, in the written order.
    pub fn ends(&self) -> [toml::Value; 2] {
        let own = self.own_values();
        [own[0].clone(), own[own.len() - 1].clone()]
    }

    /// The smallest and the largest searched value, each with its position. For a list, they are the first and the last
    /// value.
    pub fn least_and_most(&self) -> [(f64, toml::Value); 2] {
        [false, true].map(|last| (self.end(last), self.value(self.end(last))))
    }

    /// An error about the condition (`where`), at its place.
    pub fn wrong(&self, message: impl Into<String>, help: impl Into<String>) -> Diagnostic {
        fault(&self.file, self.where_at, message, Some(help.into().into()))
    }

    /// Whether the search goes through a list instead of a range.
    pub fn is_list(&self) -> bool {
        matches!(self.values, Values::List(_))
    }

    /// The search as one line of text, which identifies it: different searches have different texts.
    pub fn text(&self) -> String {
        let values = match &self.values {
            Values::List(list) => format!("{list:?}"),
            Values::Range { ends, .. } => format!("{ends:?}"),
        };
        let Find { parameter, wanted, holds, resolution, .. } = self;
        format!("{wanted:?} {parameter} of {values} where {holds} to {resolution}")
    }

    /// Ranges to suggest if the answer lies outside this range: beyond its second end if `last` is true, otherwise
    /// beyond its first end. The widest range comes first. Empty if the values are a list. The parameter may not permit
    /// every value in these ranges.
    pub fn wider(&self, last: bool) -> Vec<[toml::Value; 2]> {
        let Values::Range { ends, low, high, .. } = &self.values else { return Vec::new() };
        let [first, second] = ends;
        // A value below 0 rises if it is divided.
        let beyond = |end: f64, times: f64| if (end > 0.0) == last { end * times } else { end / times };
        let ranges = WIDER.iter().map(|times| match last {
            true => [second.clone(), self.written(beyond(*high, *times))],
            false => [self.written(beyond(*low, *times)), first.clone()],
        });
        ranges.filter(|[low, high]| low != high).collect()
    }

    /// The positions to try if the condition holds at neither end: first the middle, then the middles of both halves,
    /// and so on.
    pub(in crate::scenario) fn inside(&self) -> Vec<f64> {
        let halvings = if self.is_list() { LIST_HALVINGS } else { RANGE_HALVINGS };
        let mut edges = vec![self.end(false), self.end(true)];
        let mut inside = Vec::new();
        for _ in 0..halvings {
            let between = edges.windows(2).filter_map(|pair| self.between(pair[0], pair[1]));
            let middles: Vec<f64> = between.collect();
            edges.extend(&middles);
            edges.sort_by(f64::total_cmp);
            inside.extend(middles);
        }
        inside
    }

    pub(in crate::scenario) fn end(&self, last: bool) -> f64 {
        match (&self.values, last) {
            (Values::List(list), true) => (list.len() - 1) as f64,
            (Values::Range { high, .. }, true) => *high,
            (Values::List(_), false) => 0.0,
            (Values::Range { low, .. }, false) => *low,
        }
    }

    /// The middle of two positions. `None` if they are adjacent in a list, if their distance in a range is at most the
    /// resolution, or if the middle is rounded to one of them.
    pub(in crate::scenario) fn between(&self, one: f64, other: f64) -> Option<f64> {
        let (low, high) = (one.min(other), one.max(other));
        let Values::Range { low: first, high: last, spelling, .. } = &self.values else {
            return (high - low > 1.5).then(|| ((low + high) / 2.0).floor());
        };
        // Near 0, no distance between values is small relative to the values. The scale therefore has a lower limit.
        let scale = if low > 0.0 { high } else { high.abs().max(low.abs()).max((last - first) / 100.0) };
        if high - low <= self.resolution * scale {
            return None;
        }
        let middle = if low > 0.0 { (low * high).sqrt() } else { (low + high) / 2.0 };
        let whole = matches!(spelling, Spelling::Whole | Spelling::Unit { whole: true, .. });
        let middle = if whole { middle.round() } else { self.rounded(middle) };
        (low < middle && middle < high).then_some(middle)
    }

    /// Rounds a number to one digit more than the resolution needs, because the values are displayed.
    fn rounded(&self, number: f64) -> f64 {
        let (mut digits, mut step) = (2, 0.1);
        while step > self.resolution {
            (digits, step) = (digits + 1, step / 10.0);
        }
        format!("{number:.digits$e}").parse().unwrap_or(number)
    }

    pub(in crate::scenario) fn value(&self, place: f64) -> toml::Value {
        match &self.values {
            Values::List(list) => list[place as usize].clone(),
            Values::Range { ends, low, .. } if place == *low => ends[0].clone(),
            Values::Range { ends, high, .. } if place == *high => ends[1].clone(),
            Values::Range { .. } => self.written(place),
        }
    }

    fn written(&self, number: f64) -> toml::Value {
        match &self.values {
            Values::List(_) => toml::Value::Float(number),
            Values::Range { spelling: Spelling::Whole, .. } => toml::Value::Integer(number.round() as i64),
            Values::Range { spelling: Spelling::Number, .. } => toml::Value::Float(self.rounded(number)),
            Values::Range { spelling: Spelling::Unit { unit, whole }, .. } => {
                let number = if *whole { number.round() } else { self.rounded(number) };
                toml::Value::String(format!("{number}{unit}"))
            }
        }
    }
}

#[cfg(test)]
mod tests;
