//! The plot of a search: the measured number against the parameter.

use super::axes::{self, axis, from_zero, layout};
use super::curves::{Picture, line, pictures, scheme_look};
use super::plot::Plot;
use super::quantity::Quantity;
use crate::groups::schemes;
use crate::labels::{Label, label};
use anabranch_results::{PlotKind, PlotSpec, ResultSet, SearchMeasure, Trial};
use serde_json::{Value as Json, json};

/// The suffixes that may complete the measured name to the name of a field.
const UNITS: [&str; 4] = ["", "_us", "_bytes", "_gbps"];

/// The plot of both sides of the search's comparison against the parameter `name`. Each scheme has a line per seed, and
/// dotted lines for its bounds. If all bounds are equal, there is a single dotted line. The result is none if nothing
/// was measured.
pub(super) fn plot(set: &ResultSet, name: &str, compared: &SearchMeasure) -> Option<Plot> {
    let title = format!("{} against {name}", compared.measured);
    let spec =
        PlotSpec { x: Some(name.to_owned()), ..PlotSpec::new(PlotKind::Line, title, &compared.measured) };
    let picture: Picture<'_> = pictures(set, &spec).into_iter().next()?;
    let quantity = Quantity::of(&compared.values);
    let at = |value: &String| -> Json {
        let number = quantity.as_ref().and_then(|quantity| quantity.number(value));
        number.map_or_else(|| value.clone().into(), Json::from)
    };
    let label = label_of(set, &compared.measured);
    let (mut data, mut bounds) = (Vec::new(), Vec::new());
    for scheme in schemes(set) {
        let Some((measured, bound)) = traces(set, scheme, compared, label.factor, &at) else { continue };
        data.push(measured);
        bounds.extend(bound);
    }
    if data.is_empty() {
        return None;
    }
    if let Some(constant) = constant(&compared.tried) {
        let x: Vec<Json> = compared.values.iter().map(at).collect();
        let y = vec![constant * label.factor; x.len()];
        let line = dotted(schemes(set).len());
        bounds = vec![json!({ "kind": "line", "name": compared.bound, "x": x, "y": y, "line": line })];
    }
    data.append(&mut bounds);
    let x = match &quantity {
        Some(quantity) => {
            let at = || compared.values.iter().filter_map(|value| quantity.number(value));
            let (least, most) = (at().fold(f64::INFINITY, f64::min), at().fold(0.0, f64::max));
            axis(&quantity.axis(name), axes::is_wide(least, most))
        }
        None => json!({"title": name, "categories": compared.values}),
    };
    let y = from_zero(&label.axis(), axes::wide_y(&data));
    let note = format!(
        "Each seed tries its own values, and a scheme has a line per seed. Dotted: the bound.{}",
        not_drawn(set, &compared.tried)
    );
    Some(Plot::new(&spec, &picture, note, data, layout(x, y)))
}

/// The traces of a scheme's measured values and of its bound, or none if there are no values.
fn traces(
    set: &ResultSet,
    scheme: &str,
    compared: &SearchMeasure,
    factor: f64,
    at: &dyn Fn(&String) -> Json,
) -> Option<(Json, Option<Json>)> {
    let of_scheme = |trial: &&Trial| trial.scheme == scheme && trial.measured.is_some();
    let of_scheme: Vec<&Trial> = compared.tried.iter().filter(of_scheme).collect();
    let (mut x, mut measured, mut bound): (Vec<Json>, Vec<Json>, Vec<Json>) = Default::default();
    for of_seed in of_scheme.chunk_by(|one, next| one.seed == next.seed) {
        // The null makes a gap between the last point of one seed and the first point of the next.
        if let (Some(first), false) = (of_seed.first(), x.is_empty()) {
            x.push(at(&first.value));
            measured.push(Json::Null);
            bound.push(Json::Null);
        }
        for trial in of_seed {
            x.push(at(&trial.value));
            measured.push(trial.measured.map(|number| number * factor).into());
            bound.push(trial.bound.map(|number| number * factor).into());
        }
    }
    if x.is_empty() {
        return None;
    }
    let look = scheme_look(set, scheme);
    let has_bound = bound.iter().any(|bound| !bound.is_null());
    let bound = has_bound.then(|| {
        json!({
            "kind": "line", "name": format!("{scheme}: {}", compared.bound), "scheme": scheme, "x": x, "y": bound,
            "line": dotted(look),
        })
    });
    let measured = json!({
        "kind": "both", "name": scheme, "scheme": scheme, "x": x, "y": measured, "line": line(look, 2.0),
    });
    Some((measured, bound))
}

/// The bound, if all trials with a bound have the same one.
fn constant(tried: &[Trial]) -> Option<f64> {
    let mut all = tried.iter().filter_map(|tried| tried.bound);
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// The label of the measured value. If the measure is a field of the runs, it is the label of that field.
fn label_of(set: &ResultSet, measured: &str) -> Label {
    let named = Label { name: measured.to_owned(), unit: "", factor: 1.0 };
    let Some((field, "scheme)")) = measured.split_once('(') else { return named };
    let mut fields = UNITS.iter().map(|unit| format!("{field}{unit}"));
    let known = fields.find(|field| set.runs.iter().any(|run| run.number(field).is_some()));
    known.map_or(named, |field| label(&field))
}

/// A sentence that gives, for each scheme, the number of runs without a point.
fn not_drawn(set: &ResultSet, tried: &[Trial]) -> String {
    let of = |scheme: &str| {
        let count = tried.iter().filter(|tried| tried.scheme == scheme && tried.measured.is_none()).count();
        (count > 0).then(|| format!("{count} of {scheme}"))
    };
    let each: Vec<String> = schemes(set).into_iter().filter_map(of).collect();
    match each.is_empty() {
        true => String::new(),
        false => format!(" Runs without a point, as not all finished in them: {}.", each.join(", ")),
    }
}

fn dotted(look: usize) -> Json {
    let mut line = line(look, 1.5);
    line["dash"] = "dot".into();
    line
}
