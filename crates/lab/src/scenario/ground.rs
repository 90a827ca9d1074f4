//! The ground on which the schemes of a scenario stand: in what it differs, and whether they need that.

use super::setups::GROUND;
use super::{Scenario, Scheme};
use anabranch_proto::{Pace, PathFacts, Size, Span, Threshold};
use serde::Serialize;
use std::collections::BTreeMap;

/// What the schemes of a scenario stand on, as far as it differs between them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ground {
    /// The scenario's setup.
    pub setup: String,
    /// The schemes, in the scenario's order.
    pub schemes: Vec<String>,
    /// What each scheme needs on anybody's ground, in words; empty: nothing.
    pub needs: Vec<String>,
    /// The parameters in which they differ.
    pub differences: Vec<GroundDifference>,
    /// One sentence where they differ by more than they need.
    pub not_the_same: Option<String>,
}

/// A parameter in which the ground of schemes differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroundDifference {
    /// As `[set]` names it: `transport.payload`.
    pub parameter: String,
    /// Of each scheme, in plain units on the fabric; none for one that has no such parameter.
    pub values: Vec<Option<String>>,
    /// Of each scheme, whether the value follows from what the scheme needs.
    pub needed: Vec<bool>,
    /// Values that no need explains differ.
    pub unexplained: bool,
}

/// Parameters that no setup gives, but that say how much a scheme sends as the ground's windows do.
const WINDOWS: [&str; 2] = ["transport.window", "transport.window_packets"];
/// What becomes of a packet that a full queue has no room for.
const FULL: &str = "a full queue";
/// Parameters named in the sentence; the matrix has them all.
const MOST_NAMED: usize = 4;

impl Scenario {
    /// In what the ground of the schemes differs, at the first point of the sweep. `facts` are those of
    /// [`Scenario::examine`], of that point.
    pub fn ground(&self, facts: &[PathFacts]) -> Ground {
        Ground::of(&self.setup, &self.schemes, facts)
    }
}

impl Ground {
    fn of(setup: &str, schemes: &[Scheme], facts: &[PathFacts]) -> Ground {
        let values: Vec<Values> =
            schemes.iter().zip(facts).map(|(scheme, facts)| Values::of(scheme, facts)).collect();
        let parameters = [FULL].into_iter().chain(WINDOWS).chain(GROUND.iter().map(String::as_str));
        let differences: Vec<GroundDifference> =
            parameters.filter_map(|parameter| difference(parameter, &values)).collect();
        let schemes: Vec<String> = schemes.iter().map(|scheme| scheme.name.clone()).collect();
        let not_the_same = sentence(&schemes, &differences);
        Ground {
            setup: setup.to_owned(),
            schemes,
            needs: values.into_iter().map(|of| of.needs).collect(),
            differences,
            not_the_same,
        }
    }

    /// The differences as a table: a row for each parameter, a column for each scheme. What a scheme needs has a star.
    pub fn matrix(&self) -> String {
        let cell = |difference: &GroundDifference, place: usize| match &difference.values[place] {
            Some(value) if difference.needed[place] => format!("{value} *"),
            Some(value) => value.clone(),
            None => "-".to_owned(),
        };
        let head = std::iter::once(String::new()).chain(self.schemes.iter().cloned()).collect();
        let rows = self.differences.iter().map(|difference| {
            let cells = (0..self.schemes.len()).map(|place| cell(difference, place));
            std::iter::once(difference.parameter.clone()).chain(cells).collect()
        });
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
        let width = |column: usize| {
            rows.iter().map(|row: &Vec<String>| row[column].chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..=self.schemes.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells: Vec<String> =
                row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            format!("{}\n", cells.join("  ").trim_end())
        };
        rows.iter().map(line).collect()
    }
}

/// A parameter's value: for people, and as it compares.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    shown: String,
    exact: String,
    written: String,
}

impl Known {
    fn plain(text: &str) -> Known {
        Known { shown: text.to_owned(), exact: text.to_owned(), written: text.to_owned() }
    }

    /// A rule that is the same ("1bdp") comes to something else where the fabric is crossed by other packets.
    fn is(&self, other: &Known) -> bool {
        self.exact == other.exact || self.written == other.written
    }
}

/// The parameters of a scheme on a fabric.
struct Values {
    by_path: BTreeMap<String, Known>,
    own: Vec<String>,
    needs: String,
    cc: String,
    pauses: bool,
}

impl Values {
    fn of(scheme: &Scheme, facts: &PathFacts) -> Values {
        let whole = toml::Table::try_from(scheme).expect("a scheme is made of what TOML can say");
        let cc = whole["cc"].get("kind").and_then(toml::Value::as_str).unwrap_or_default().to_owned();
        let mut by_path = BTreeMap::new();
        for part in ["transport", "cc", "fabric"] {
            flatten(part, &whole[part], &mut |path, text| {
                by_path.insert(path, known(&text, facts, scheme.fabric.queue));
            });
        }
        let pauses = scheme.fabric.pfc.is_some();
        let full = match (pauses, scheme.fabric.trim) {
            (true, _) => "pauses",
            (_, true) => "trims",
            _ => "drops",
        };
        by_path.insert(FULL.to_owned(), Known::plain(full));
        // What is left out where it says "no".
        by_path.entry("fabric.acks_with_data".to_owned()).or_insert_with(|| Known::plain("false"));
        Values { by_path, own: scheme.own.clone(), needs: scheme.needs.clone(), cc, pauses }
    }

    fn get(&self, parameter: &str) -> Option<Known> {
        let unsaid = || {
            let none = self.pauses && parameter.starts_with("fabric.pfc.");
            none.then(|| Known::plain("no"))
        };
        self.by_path.get(parameter).cloned().or_else(unsaid)
    }

    fn needs(&self, parameter: &str) -> bool {
        let own = |path: &str| self.own.iter().any(|own| own == path);
        match parameter {
            FULL => own("fabric.pfc") || own("fabric.trim"),
            _ => own(parameter),
        }
    }
}

fn flatten(at: &str, value: &toml::Value, found: &mut impl FnMut(String, String)) {
    match value {
        toml::Value::Table(fields) => {
            for (key, value) in fields {
                flatten(&format!("{at}.{key}"), value, found);
            }
        }
        toml::Value::String(text) => found(at.to_owned(), text.clone()),
        other => found(at.to_owned(), other.to_string()),
    }
}

/// A value in plain units on a fabric, whose port has `queue`.
fn known(text: &str, facts: &PathFacts, queue: Option<Size>) -> Known {
    let queue = queue.map(|queue| queue.on(facts));
    let size = || {
        text.parse::<Threshold>()
            .ok()
            .map(|size| size.on(facts, queue))
            .map(|size| (size.about(), size.to_string()))
    };
    let span =
        || text.parse::<Span>().ok().map(|span| span.on(facts)).map(|span| (span.about(), span.to_string()));
    let pace =
        || text.parse::<Pace>().ok().map(|pace| pace.on(facts)).map(|pace| (pace.about(), pace.to_string()));
    let found = size().or_else(span).or_else(pace);
    let (shown, exact) = found.unwrap_or_else(|| (text.to_owned(), text.to_owned()));
    Known { shown, exact, written: text.to_owned() }
}

/// A parameter, if it differs.
fn difference(parameter: &str, schemes: &[Values]) -> Option<GroundDifference> {
    let values: Vec<Option<Known>> = schemes.iter().map(|scheme| scheme.get(parameter)).collect();
    let needed: Vec<bool> = schemes.iter().map(|scheme| scheme.needs(parameter)).collect();
    // Numbers of different congestion controls mean different things; their windows at least compare.
    let windows = parameter.ends_with("window");
    let alike = |one: &Values, other: &Values| !parameter.starts_with("cc.") || one.cc == other.cc;
    let known: Vec<(&Values, &Known)> =
        schemes.iter().zip(&values).filter_map(|(scheme, value)| Some((scheme, value.as_ref()?))).collect();
    let differ = |(one, value): &(&Values, &Known), (other, its): &(&Values, &Known)| {
        (windows || alike(one, other)) && !value.is(its)
    };
    if !known.iter().any(|one| known.iter().any(|other| differ(one, other))) {
        return None;
    }
    let free: Vec<(&Values, &Known)> = schemes
        .iter()
        .zip(&values)
        .zip(&needed)
        .filter_map(|((scheme, value), needed)| Some((scheme, value.as_ref()?)).filter(|_| !needed))
        .collect();
    let unexplained = GROUND.contains(parameter) || parameter == FULL;
    let unexplained = unexplained
        && free
            .iter()
            .any(|(scheme, value)| free.iter().any(|(other, its)| alike(scheme, other) && !value.is(its)));
    let values = values.into_iter().map(|value| value.map(|value| value.shown)).collect();
    Some(GroundDifference { parameter: parameter.to_owned(), values, needed, unexplained })
}

/// `Not on the same ground: transport.payload is 4.1 KB (reps) and 1 KB (dcp).`
fn sentence(schemes: &[String], differences: &[GroundDifference]) -> Option<String> {
    let unexplained: Vec<&GroundDifference> =
        differences.iter().filter(|difference| difference.unexplained).collect();
    let named = unexplained.iter().take(MOST_NAMED).map(|difference| {
        let mut by_value: Vec<(&str, Vec<&str>)> = Vec::new();
        for ((scheme, value), needed) in schemes.iter().zip(&difference.values).zip(&difference.needed) {
            let Some(value) = value.as_deref().filter(|_| !needed) else { continue };
            match by_value.iter_mut().find(|(known, _)| *known == value) {
                Some((_, names)) => names.push(scheme),
                None => by_value.push((value, vec![scheme])),
            }
        }
        let values: Vec<String> =
            by_value.iter().map(|(value, names)| format!("{value} ({})", names.join(", "))).collect();
        format!("{} is {}", difference.parameter, values.join(" and "))
    });
    let named: Vec<String> = named.collect();
    let more = match unexplained.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!("; and {more} more, which anabranch check shows"),
    };
    (!named.is_empty()).then(|| format!("Not on the same ground: {}{more}.", named.join("; ")))
}
