//! What a search measured, against the parameter that it looked for.

use super::axes::{self, axis, from_zero, layout};
use super::curves::{Picture, line, pictures, scheme_look};
use super::plots::Plot;
use crate::groups::schemes;
use anabranch_base::{Bytes, Duration, Rate};
use anabranch_results::{Compared, PlotKind, PlotSpec, ResultSet, Tried};
use serde_json::{Value as Json, json};

/// Both sides of the question's comparison against the parameter `name`: of each scheme a line per seed, whose values are its
/// own, and dashed what it is held against.
pub(super) fn plot(set: &ResultSet, name: &str, compared: &Compared) -> Option<Plot> {
    let title = format!("{} against {name}", compared.left);
    let spec = PlotSpec { x: Some(name.to_owned()), ..PlotSpec::new(PlotKind::Line, title, &compared.left) };
    let picture: Picture<'_> = pictures(set, &spec).into_iter().next()?;
    let quantity = Quantity::of(&compared.tried);
    let at = |tried: &Tried| {
        quantity
            .and_then(|quantity| quantity.number(&tried.value))
            .map_or_else(|| tried.value.clone().into(), Json::from)
    };
    let mut data = Vec::new();
    let mut bounds = Vec::new();
    for scheme in schemes(set) {
        let (mut x, mut measured, mut bound): (Vec<Json>, Vec<Json>, Vec<Json>) = Default::default();
        let of_scheme = compared.tried.iter().filter(|tried| tried.scheme == scheme);
        let of_scheme: Vec<&Tried> = of_scheme.filter(|tried| tried.sides.is_some()).collect();
        for of_seed in of_scheme.chunk_by(|one, next| one.seed == next.seed) {
            // Seeds tried values of their own: nothing lies between the last of one and the first of the next.
            if let (Some(first), false) = (of_seed.first(), x.is_empty()) {
                x.push(at(first));
                measured.push(Json::Null);
                bound.push(Json::Null);
            }
            for (tried, [left, right]) in of_seed.iter().filter_map(|tried| Some((tried, tried.sides?))) {
                x.push(at(tried));
                measured.push(left.into());
                bound.push(right.into());
            }
        }
        if x.is_empty() {
            continue;
        }
        let look = scheme_look(set, scheme);
        data.push(json!({
            "kind": "both", "name": scheme, "scheme": scheme, "x": x, "y": measured, "line": line(look, 2.0),
        }));
        bounds.push(json!({
            "kind": "line", "name": format!("{scheme}: {}", compared.right), "scheme": scheme, "x": x, "y": bound, "line": dotted(look),
        }));
    }
    let at = || data.iter().flat_map(|curve| curve["x"].as_array()).flatten().filter_map(Json::as_f64);
    let (least, most) =
        at().fold((f64::INFINITY, 0.0_f64), |(least, most), at| (least.min(at), most.max(at)));
    let mut held_against = compared.tried.iter().filter_map(|tried| Some(tried.sides?[1]));
    let first = held_against.next()?;
    if quantity.is_some() && held_against.all(|other| other == first) {
        bounds = vec![json!({
            "kind": "line", "name": compared.right, "x": [least, most], "y": [first, first],
            "line": dotted(schemes(set).len()),
        })];
    }
    data.append(&mut bounds);
    let x = match quantity {
        Some(quantity) => axis(&quantity.named(name), axes::is_wide(least, most)),
        None => json!({"title": name, "categories": true}),
    };
    let lacks = compared.tried.iter().filter(|tried| tried.sides.is_none());
    let lacks: Vec<String> =
        lacks.map(|tried| format!("{} with seed {} at {}", tried.scheme, tried.seed, tried.value)).collect();
    let mut note =
        "Each seed has tried values of its own, and has a line; dotted is what it is held against."
            .to_owned();
    if !lacks.is_empty() {
        note.push_str(&format!(" Not drawn, as not all finished: {}.", lacks.join("; ")));
    }
    let y = from_zero(&compared.left, axes::wide_y(&data));
    Some(Plot::new(&spec, &picture, note, data, layout(x, y)))
}

fn dotted(look: usize) -> Json {
    let mut line = line(look, 1.5);
    line["dash"] = "dot".into();
    line
}

/// What the values of a parameter are.
#[derive(Clone, Copy)]
enum Quantity {
    Number,
    Bytes,
    Duration,
    Rate,
}

impl Quantity {
    /// What all of them are; none when they are words, or not of one kind.
    fn of(tried: &[Tried]) -> Option<Quantity> {
        let all = [Quantity::Number, Quantity::Bytes, Quantity::Duration, Quantity::Rate];
        all.into_iter().find(|quantity| tried.iter().all(|tried| quantity.number(&tried.value).is_some()))
    }

    /// A value in the axis' unit.
    fn number(self, text: &str) -> Option<f64> {
        Some(match self {
            Quantity::Number => text.parse().ok()?,
            Quantity::Bytes => text.parse::<Bytes>().ok()?.0 as f64 / 1e3,
            Quantity::Duration => text.parse::<Duration>().ok()?.as_us(),
            Quantity::Rate => text.parse::<Rate>().ok()?.0 as f64 / 1e9,
        })
    }

    fn named(self, name: &str) -> String {
        match self {
            Quantity::Number => name.to_owned(),
            Quantity::Bytes => format!("{name} (KB)"),
            Quantity::Duration => format!("{name} (µs)"),
            Quantity::Rate => format!("{name} (Gbps)"),
        }
    }
}
