//! Plots of a field of the runs against a swept parameter, or scheme by scheme.

use super::axes::{self, axis, from_zero, layout};
use super::curves::{Curve, Picture};
use super::plot::Plot;
use super::quantity::Quantity;
use crate::labels::label;
use anabranch_results::{PlotKind, PlotSpec, ResultSet, RunRow, Statistic, Value};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// A plot of a field of the runs. The x axis is a swept parameter or the scheme. Each point is the mean over the seeds,
/// with whiskers from the smallest to the largest value.
pub(super) fn plot(set: &ResultSet, spec: &PlotSpec, picture: &Picture<'_>) -> Plot {
    let label = label(&spec.y);
    // A search tries values within a range, so they form a numeric axis. A sweep has the values as its author wrote
    // them.
    let swept = spec.x.iter().filter(|_| set.answer.is_some());
    let swept = swept.flat_map(|name| set.actual().iter().filter_map(|run| run.sweep.get(name)));
    let quantity = Quantity::of(&swept.map(ToString::to_string).collect::<Vec<String>>());
    // There are no values between swept words, so a line would suggest a trend where none can exist.
    let is_bar = spec.kind == PlotKind::Bar || is_of_words(set, spec);
    let mut traces = Traces { data: Vec::new(), range: (f64::INFINITY, 0.0), has_seeds: false };
    let mut gaps = Gaps::default();
    for (index, curve) in picture.curves.iter().enumerate() {
        curve.runs.iter().for_each(|&run| gaps.note(&set.runs[run], spec, curve));
        let points = points(set, spec, curve, quantity.as_ref());
        if points.is_empty() {
            continue;
        }
        let name = match (&spec.x, curve.rest.as_str()) {
            (None, "") => label.name.clone(),
            (None, rest) => rest.to_owned(),
            (Some(_), _) => curve.name(),
        };
        let (kind, scheme) = (if is_bar { "bar" } else { "both" }, spec.x.as_ref().map(|_| curve.scheme));
        let line = picture.line(set, index);
        traces.add(json!({"kind": kind, "name": name, "scheme": scheme, "line": line}), &points);
    }
    let Traces { data, range, has_seeds } = traces;
    let numeric = data.iter().flat_map(|curve| curve["x"].as_array()).flatten().all(Json::is_number);
    let at = || data.iter().flat_map(|curve| curve["x"].as_array()).flatten().filter_map(Json::as_f64);
    let (least, most) =
        at().fold((f64::INFINITY, 0.0_f64), |(least, most), at| (least.min(at), most.max(at)));
    let name = spec.x.as_deref().unwrap_or("Scheme");
    let named = quantity.map_or_else(|| name.to_owned(), |quantity| quantity.axis(name));
    let mut x = axis(&named, spec.log_x || axes::is_wide(least, most));
    if !numeric || is_bar {
        x = json!({"title": name, "categories": true});
    }
    let log = spec.log_y || axes::wide_y(&data);
    let mut y = from_zero(&label.axis(), log);
    if log && is_bar && range.0 <= range.1 {
        // Bars on a logarithmic axis have no natural start. The axis starts at a power of ten that is low enough for
        // the shortest bar to be visible.
        let foot = libm::pow(10.0, (libm::log10(range.0) - 0.1).floor());
        y["range"] = json!([foot, range.1 * 1.25]);
    }
    let seeds = match has_seeds {
        true => {
            "Mean over the seeds; the whiskers are the least and the largest, not the 95 % interval of ±."
        }
        false => "",
    };
    let note = format!("{seeds}{}", gaps.text()).trim_start().to_owned();
    Plot::new(spec, picture, note, data, layout(x, y))
}

/// The values of the seeds at each position of the x axis. A position is left out if some seed has no value, because
/// the mean of the other seeds would look too good.
fn points(
    set: &ResultSet,
    spec: &PlotSpec,
    curve: &Curve<'_>,
    quantity: Option<&Quantity>,
) -> Vec<(Json, Vec<f64>)> {
    let factor = label(&spec.y).factor;
    let mut points: Vec<(Json, Vec<f64>)> = Vec::new();
    for run in curve.runs.iter().map(|&run| &set.runs[run]) {
        let at = match &spec.x {
            Some(name) => {
                let number = |value: &Value| Some(quantity?.number(&value.to_string())?.into());
                run.sweep
                    .get(name)
                    .map_or(Json::Null, |value| number(value).unwrap_or_else(|| coordinate(value)))
            }
            None => run.scheme.as_str().into(),
        };
        let number = run.number(&spec.y).map_or(f64::NAN, |number| number * factor);
        match points.iter_mut().find(|(known, _)| *known == at) {
            Some((_, numbers)) => numbers.push(number),
            None => points.push((at, vec![number])),
        }
    }
    points.retain(|(_, numbers)| numbers.iter().all(|number| !number.is_nan()));
    points
}

struct Traces {
    data: Vec<Json>,
    /// The smallest value above zero, and the largest value.
    range: (f64, f64),
    has_seeds: bool,
}

impl Traces {
    fn add(&mut self, mut trace: Json, points: &[(Json, Vec<f64>)]) {
        let column = |statistic: Statistic| -> Vec<f64> {
            points.iter().filter_map(|(_, numbers)| statistic.of(numbers)).collect()
        };
        let (mean, low, high) = (column(Statistic::Mean), column(Statistic::Min), column(Statistic::Max));
        self.range.0 = low.iter().copied().filter(|low| *low > 0.0).fold(self.range.0, f64::min);
        self.range.1 = high.iter().copied().fold(self.range.1, f64::max);
        trace["x"] = points.iter().map(|(at, _)| at.clone()).collect();
        trace["y"] = mean.into();
        if points.iter().any(|(_, numbers)| numbers.len() > 1) {
            self.has_seeds = true;
            (trace["low"], trace["high"]) = (low.into(), high.into());
        }
        self.data.push(trace);
    }
}

/// Whether a swept value is a word, such as the name of a collective. A quantity with a unit is not a word.
fn is_of_words(set: &ResultSet, spec: &PlotSpec) -> bool {
    let swept = spec.x.iter().flat_map(|name| set.actual().iter().filter_map(|run| run.sweep.get(name)));
    swept.map(ToString::to_string).any(|value| value.starts_with(char::is_alphabetic))
}

/// The gaps of a plot of fields: for each reason, the names of the points that are missing or incomplete.
#[derive(Default)]
struct Gaps(BTreeMap<&'static str, Vec<String>>);

impl Gaps {
    /// Records a gap if a run's number is missing or incomplete.
    fn note(&mut self, run: &RunRow, spec: &PlotSpec, curve: &Curve<'_>) {
        let y = spec.y.as_str();
        let of_messages = y.starts_with("fct_") || y.starts_with("slowdown_") || y == "completion_us";
        let lacks_messages = of_messages && run.flows_finished < run.flows;
        let reason = match run.number(y) {
            Some(_) if lacks_messages => "Only of the messages that finished",
            Some(_) => return,
            None if y.starts_with("cct_") && run.jobs_finished < run.jobs => {
                "Not drawn, as jobs did not finish"
            }
            None if lacks_messages => "Not drawn, as messages did not finish",
            None => "Not drawn, as there is no such number",
        };
        let mut name = match spec.x {
            Some(_) => curve.name(),
            None if curve.rest.is_empty() => run.scheme.clone(),
            None => format!("{}, {}", run.scheme, curve.rest),
        };
        if let Some(value) = spec.x.as_ref().and_then(|x| run.sweep.get(x)) {
            name.push_str(&format!(" at {value}"));
        }
        let names = self.0.entry(reason).or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }

    /// A sentence for each reason, each after a space.
    fn text(&self) -> String {
        self.0.iter().map(|(reason, names)| format!(" {reason}: {}.", names.join("; "))).collect()
    }
}

fn coordinate(value: &Value) -> Json {
    match value {
        Value::Bool(value) => value.to_string().into(),
        Value::Integer(value) => (*value).into(),
        Value::Number(value) => (*value).into(),
        Value::Text(value) => value.as_str().into(),
    }
}
