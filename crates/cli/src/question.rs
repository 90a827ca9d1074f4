//! The condition of a scenario's `[find]`, and checks that the condition can be evaluated.

use crate::failure::Failure;
use crate::output::note;
use crate::source::{ScenarioText, input};
use anabranch_report::Measure;
use anabranch_results::{ClaimValue, ResultSet};
use anabranch_sim::scenario::{Find, Overrides, find_in};
use std::ops::Range;

/// The name in `where` that stands for the scheme of the search.
pub const SCHEME: &str = "scheme";

/// Functions in `where`. The measure in the brackets is evaluated at the smallest or the largest value of the range,
/// with the same scheme and seed.
const AT_ENDS: [(&str, bool); 2] = [("at_smallest", false), ("at_largest", true)];

/// Comparison signs. Longer ones come first, so that `<` does not match the start of `<=`.
const COMPARISONS: [&str; 5] = ["<=", ">=", "==", "<", ">"];

/// The measure of `where`, and the measures within it that are evaluated at the ends of the range.
pub struct Condition {
    text: String,
    /// The measures at the ends, in their order in the text.
    references: Vec<Reference>,
    /// The comparison that reports show. None if the text is not a single comparison, or if no side can be the measured
    /// side.
    sides: Option<Sides>,
}

struct Sides {
    measured: String,
    measure: Measure,
    /// The byte range of the other side in the text.
    bound: Range<usize>,
}

/// A measure that is evaluated at one end of the range.
struct Reference {
    /// The position of the first byte of `at_smallest` or `at_largest` in the text.
    from: usize,
    /// The position after the closing bracket in the text.
    to: usize,
    pub at_largest: bool,
    measure: Measure,
}

impl Condition {
    /// The ends that must run before all other values: false for the smallest value, true for the largest.
    pub fn ends(&self) -> impl Iterator<Item = bool> {
        [false, true].into_iter().filter(|end| self.references.iter().any(|of| of.at_largest == *end))
    }

    /// The measures at one end, each with its index in the order of the text.
    pub fn at(&self, largest: bool) -> impl Iterator<Item = (usize, &Measure)> {
        let all = self.references.iter().enumerate().filter(move |(_, of)| of.at_largest == largest);
        all.map(|(place, of)| (place, &of.measure))
    }

    pub fn count(&self) -> usize {
        self.references.len()
    }

    /// The condition's measure, with `numbers` in place of the measures at the ends of the searched range.
    ///
    /// # Errors
    /// The errors of [`Measure::parse`], as text.
    pub fn with(&self, numbers: &[f64]) -> Result<Measure, String> {
        Measure::parse(&self.text_with(0..self.text.len(), numbers)).map_err(|error| error.to_string())
    }

    /// The part `part` of the condition's text, with `numbers` in place of the measures at the ends of the searched
    /// range. The boundaries of `part` must not divide such a measure.
    fn text_with(&self, part: Range<usize>, numbers: &[f64]) -> String {
        let mut text = self.text[part.clone()].to_owned();
        let within = |of: &Reference| part.contains(&of.from);
        for (of, number) in self.references.iter().zip(numbers).rev().filter(|(of, _)| within(of)) {
            text.replace_range(of.from - part.start..of.to - part.start, &format!("({number})"));
        }
        text
    }

    /// Both sides of the comparison as text, the measured one first. The result is `None` if the text has no comparison
    /// that reports show.
    pub fn words(&self) -> Option<[&str; 2]> {
        self.sides.as_ref().map(|sides| [&*sides.measured, self.text[sides.bound.clone()].trim()])
    }

    /// The value of the measured side in a run.
    pub fn measured(&self, set: &ResultSet) -> Option<f64> {
        value(&self.sides.as_ref()?.measure, set)
    }

    /// The other side of the comparison, with `numbers` in place of the measures at the ends of the searched range.
    pub fn bound(&self, numbers: &[f64]) -> Option<Measure> {
        Measure::parse(self.text_with(self.sides.as_ref()?.bound.clone(), numbers).trim()).ok()
    }

    fn parse(text: &str) -> Result<Condition, String> {
        let mut references = Vec::new();
        let mut rest = 0;
        while let Some((from, name, at_largest)) = AT_ENDS
            .iter()
            .filter_map(|(name, end)| Some((rest + text[rest..].find(name)?, *name, *end)))
            .min()
        {
            let open = from + name.len();
            let wrong = || format!("{name} measures at that value what stands behind it in brackets");
            if !text[open..].starts_with('(') {
                return Err(wrong());
            }
            let to = closing(text, open).ok_or_else(wrong)?;
            let measure =
                Measure::parse(&text[open + 1..to - 1]).map_err(|error| format!("{name}: {error}"))?;
            references.push(Reference { from, to, at_largest, measure });
            rest = to;
        }
        let condition = Condition { text: text.to_owned(), sides: sides_of(text), references };
        let whole = condition.with(&vec![1.0; condition.count()])?;
        let within = condition.references.iter().flat_map(|of| of.measure.schemes());
        let mut names: Vec<&str> = whole.schemes().into_iter().chain(within).collect();
        names.sort_unstable();
        names.dedup();
        match names[..] {
            [SCHEME] => {}
            [] => return Err(format!("{text:?} asks for nothing of a scheme")),
            ref names => {
                let others: Vec<&str> = names.iter().copied().filter(|name| *name != SCHEME).collect();
                return Err(format!(
                    "it is asked of each scheme, which is called `scheme` there, not {}",
                    others.join(", ")
                ));
            }
        }
        Ok(condition)
    }
}

fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, letter) in text[open..].char_indices() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(open + place + 1),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

pub fn value(measure: &Measure, set: &ResultSet) -> Option<f64> {
    match measure.evaluate(set).ok()? {
        ClaimValue::Number(number) => Some(number),
        _ => None,
    }
}

/// The sides of a text that consists of one comparison, with or without brackets around it. The measured side refers to
/// a scheme and has no measures at the ends. If this is true of both sides, the left one is measured.
fn sides_of(text: &str) -> Option<Sides> {
    let mut whole = within(text, 0..text.len());
    while text[whole.clone()].starts_with('(') && closing(text, whole.start) == Some(whole.end) {
        whole = within(text, whole.start + 1..whole.end - 1);
    }
    let mut signs = Vec::new();
    let mut place = whole.start;
    while place < whole.end {
        let sign = COMPARISONS.iter().find(|sign| text[place..whole.end].starts_with(**sign));
        signs.extend(sign.map(|sign| place..place + sign.len()));
        place +=
            sign.map_or_else(|| text[place..].chars().next().map_or(1, char::len_utf8), |sign| sign.len());
    }
    let [sign] = &signs[..] else { return None };
    let [left, right] = [within(text, whole.start..sign.start), within(text, sign.end..whole.end)];
    let of_scheme = |side: &Range<usize>| {
        let measure = Measure::parse(&text[side.clone()]).ok()?;
        (!measure.schemes().is_empty()).then_some(measure)
    };
    let (measured, measure, bound) = match of_scheme(&left) {
        Some(measure) => (left, measure, right),
        None => (right.clone(), of_scheme(&right)?, left),
    };
    Some(Sides { measured: text[measured].to_owned(), measure, bound })
}

fn within(text: &str, part: Range<usize>) -> Range<usize> {
    let from = part.end - text[part.clone()].trim_start().len();
    from..from + text[part].trim().len()
}

/// A corrected version of a `where` that cannot be parsed.
fn correction(text: &str) -> Option<String> {
    let is_one = |text: &String| Condition::parse(text).is_ok();
    let plain = with_known_names(without_units(&in_our_words(text)));
    // The text may be a field without its scheme.
    let field =
        plain.find(|letter: char| !(letter.is_alphanumeric() || letter == '_')).unwrap_or(plain.len());
    let (field, rest) = plain.split_at(field);
    let of_scheme = with_known_names(format!("{field}({SCHEME}) {}", rest.trim_start()));
    // The text may have the name of another scheme in the brackets.
    let named = Measure::parse(&plain).ok().and_then(|measure| {
        let names = measure.schemes();
        let [one] = names[..] else { return None };
        Some(plain.replace(&format!("({one}"), &format!("({SCHEME}")))
    });
    [Some(plain), Some(of_scheme), named].into_iter().flatten().find(is_one)
}

/// The text with percentiles, percentages and the ends of the range in the notation of the measure language.
fn in_our_words(text: &str) -> String {
    let ours = [
        ("p999", "p99.9"),
        ("at_maximum(", "at_largest("),
        ("at_max(", "at_largest("),
        ("at_minimum(", "at_smallest("),
        ("at_min(", "at_smallest("),
    ];
    let mut text = ours.iter().fold(text.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours));
    while let Some(sign) = text.find('%') {
        let number = text[..sign]
            .trim_end()
            .rfind(|letter: char| !(letter.is_ascii_digit() || letter == '.'))
            .map_or(0, |end| end + 1);
        let Ok(percent) = text[number..sign].trim().parse::<f64>() else { break };
        text.replace_range(number..=sign, &(percent / 100.0).to_string());
    }
    text
}

/// The text with each unknown name replaced by the most similar known one.
fn with_known_names(mut text: String) -> String {
    let without_ends = |text: &str| {
        AT_ENDS.iter().fold(text.to_owned(), |text, (name, _)| text.replace(name, &" ".repeat(name.len())))
    };
    // The replacement is a known name, so each iteration reduces the number of unknown names by one.
    while let Some((place, name)) = Measure::parse(&without_ends(&text)).err().and_then(|error| error.instead)
    {
        text.replace_range(place, &name);
    }
    text
}

/// The text with times in the notation of measures: in microseconds and without a unit.
fn without_units(text: &str) -> String {
    let units = [("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("ns", 1e-3), ("s", 1e6)];
    let mut plain = String::new();
    let mut rest = text;
    let mut after_word = false;
    while let Some(letter) = rest.chars().next() {
        if !letter.is_ascii_digit() || after_word {
            after_word = letter.is_alphanumeric() || letter == '_';
            plain.push(letter);
            rest = &rest[letter.len_utf8()..];
            continue;
        }
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(end);
        let word = behind.trim_start();
        let stop = word.find(|c: char| !c.is_alphabetic()).unwrap_or(word.len());
        let unit = units.iter().find(|(unit, _)| *unit == &word[..stop]);
        match (unit, number.parse::<f64>()) {
            (Some((unit, scale)), Ok(value)) => {
                plain.push_str(&(value * scale).to_string());
                rest = &word[unit.len()..];
            }
            _ => {
                plain.push_str(number);
                rest = behind;
            }
        }
    }
    plain
}

/// Parses the condition `where`.
///
/// # Errors
/// [`Failure::Input`] if it is not a measure, refers to no scheme, or names another scheme than `scheme`.
pub fn measure(find: &Find) -> Result<Condition, Failure> {
    Condition::parse(&find.holds).map_err(|why| {
        let instead = match correction(&find.holds) {
            Some(meant) => format!("where = {meant:?}"),
            None => "a comparison, such as where = \"drops(scheme) == 0\"".to_owned(),
        };
        let times = match without_units(&find.holds) == find.holds {
            true => "",
            false => " (times are in us, without a unit)",
        };
        input(find.wrong(format!("[find] where: {why}{times}"), instead))
    })
}

/// Checks the `[find]` of a scenario at both ends of its range, for commands that do not search, and prints a note that
/// `anabranch find` carries out the search.
///
/// # Errors
/// The `[find]` is wrong, or the search cannot be run at an end of its range.
pub fn check(written: &ScenarioText, over: &Overrides) -> Result<(), Failure> {
    let shown = &written.shown;
    let Some(find) = find_in(shown, &written.text, over)? else { return Ok(()) };
    measure(&find)?;
    find.scenario(&find.ends(), &written.folder).and_then(|ends| ends.check())?;
    note(&format!("{shown}: the search in [find] is run by `anabranch find {shown}`, not here"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_at_an_end_takes_its_place() {
        let text = "fct_max(scheme) <= 1.05 * at_largest(fct_max(scheme)) + at_smallest(drops(scheme))";
        let condition = Condition::parse(text).unwrap();
        assert_eq!(condition.ends().collect::<Vec<_>>(), [false, true]);
        assert_eq!(condition.at(true).map(|(place, _)| place).collect::<Vec<_>>(), [0]);
        let whole = condition.with(&[20.5, 3.0]).unwrap();
        assert_eq!(whole, Measure::parse("fct_max(scheme) <= 1.05 * (20.5) + (3)").unwrap());
        let right = "1.05 * at_largest(fct_max(scheme)) + at_smallest(drops(scheme))";
        assert_eq!(condition.words(), Some(["fct_max(scheme)", right]));
        for (text, expected) in [
            ("fct_max(scheme) <= at_largest", "what stands behind it in brackets"),
            ("fct_max(scheme) <= at_largest(fct_max(scheme)", "what stands behind it in brackets"),
            ("fct_max(scheme) <= at_largest(fct_mx(scheme))", "at_largest: measure `fct_mx(scheme)`"),
            ("fct_max(scheme) <= at_largest(fct_max(reps))", "which is called `scheme` there, not reps"),
        ] {
            let said = Condition::parse(text).err().unwrap();
            assert!(said.contains(expected), "{text}: {said}");
        }
    }

    #[test]
    fn what_is_measured_is_the_side_of_the_scheme() {
        for (text, words) in [
            ("drops(scheme) == 0", Some(["drops(scheme)", "0"])),
            (" ( (fct_max(scheme) * 2 <= 1e3 ) ) ", Some(["fct_max(scheme) * 2", "1e3"])),
            ("(fct_max(scheme)) < (3)", Some(["(fct_max(scheme))", "(3)"])),
            ("1 > drops(scheme)", Some(["drops(scheme)", "1"])),
            (
                "at_largest(drops(scheme)) >= drops(scheme)",
                Some(["drops(scheme)", "at_largest(drops(scheme))"]),
            ),
            (
                "slowdown(scheme, p99, max_bytes=100000) < 3",
                Some(["slowdown(scheme, p99, max_bytes=100000)", "3"]),
            ),
            ("0 <= drops(scheme) < 1", None),
            ("drops(scheme)", None),
        ] {
            assert_eq!(Condition::parse(text).unwrap().words(), words, "{text}");
        }
        let bound = Condition::parse("2 * at_largest(drops(scheme)) >= drops(scheme)").unwrap().bound(&[4.0]);
        assert_eq!(bound.unwrap(), Measure::parse("2 * (4)").unwrap());
    }

    #[test]
    fn what_is_meant_keeps_what_was_asked() {
        for (text, expected) in [
            ("fct_max(scheme) < 20us", Some("fct_max(scheme) < 20")),
            ("fct_max < 20us", Some("fct_max(scheme) < 20")),
            ("fct_max < 1.5 ms", Some("fct_max(scheme) < 1500")),
            ("drops(reps) == 0", Some("drops(scheme) == 0")),
            ("fct(scheme, p99) < 20", Some("fct(scheme, p99) < 20")),
            ("p99_slowdown(scheme) < 3", Some("slowdown_p99(scheme) < 3")),
            ("p99_slowdown < 3", Some("slowdown_p99(scheme) < 3")),
            (
                "fct_mx(scheme) < 2 * at_largest(fct_mx(scheme))",
                Some("fct_max(scheme) < 2 * at_largest(fct_max(scheme))"),
            ),
            ("slowdown(scheme, p999) < 3", Some("slowdown(scheme, p99.9) < 3")),
            (
                "fct_max(scheme) <= 105% * at_max(fct_max(scheme))",
                Some("fct_max(scheme) <= 1.05 * at_largest(fct_max(scheme))"),
            ),
            ("nonsense(scheme) < 3", None),
        ] {
            assert_eq!(correction(text).as_deref(), expected, "{text}");
        }
    }
}
