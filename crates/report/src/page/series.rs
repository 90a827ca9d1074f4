//! Measured curves over time: a panel a scheme, a curve an entity.

use super::curves::{Curve, Picture, per};
use super::plots::{MAX_POINTS, Plot};
use crate::index::Index;
use crate::labels::label;
use crate::measure::covers;
use anabranch_results::PlotSpec;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Curves of a panel at most.
const MAX_CURVES: usize = 48;
const PANEL_HEIGHT: usize = 230;

/// Curves by name, each as (microseconds, value).
type Curves = BTreeMap<Natural, Vec<(f64, f64)>>;

/// One picture. None where nothing was measured.
///
/// Where curves differ in their scheme and in something else, each scheme has a panel.
pub(super) fn plot(index: &Index<'_>, spec: &PlotSpec, picture: &Picture<'_>) -> Option<Plot> {
    let per = per(index.set, spec);
    let by_entity = per.contains(&"entity");
    let panel_by_scheme = per.len() > 1 && per.contains(&"scheme");
    let mut panels: Vec<(&str, Curves)> = Vec::new();
    let mut seeds = BTreeSet::new();
    for curve in &picture.curves {
        let found = of_curve(index, spec, curve, by_entity, panel_by_scheme);
        if found.is_empty() {
            continue;
        }
        seeds.insert(index.set.runs[curve.runs[0]].seed);
        match panels.last_mut().filter(|(scheme, _)| !panel_by_scheme || *scheme == curve.scheme) {
            Some((_, curves)) => curves.extend(found),
            None => panels.push((curve.scheme, found)),
        }
    }
    let names: BTreeSet<&Natural> = panels.iter().flat_map(|(_, curves)| curves.keys()).collect();
    if names.is_empty() {
        return None;
    }
    let label = label(&spec.y);
    let drawn: Vec<&Natural> = names.iter().copied().take(MAX_CURVES).collect();
    let mut data = Vec::new();
    let legend: Vec<&str> = per.into_iter().filter(|name| *name != "scheme" || !panel_by_scheme).collect();
    let x_axis = json!({
        "title": {"text": "Simulated time (µs)"}, "separatethousands": true, "exponentformat": "none",
        "type": if spec.log_x { "log" } else { "linear" },
    });
    let mut layout = json!({
        "grid": {"rows": panels.len(), "columns": 1, "pattern": "coupled", "roworder": "top to bottom"},
        "showlegend": true, "hovermode": "closest",
        "legend": {"title": {"text": legend.join(", ")}, "tracegroupgap": 0},
        "margin": {"l": 72, "r": 16, "t": 24, "b": 56},
        "xaxis": x_axis,
    });
    let mut titles = Vec::new();
    let mut named: BTreeSet<&Natural> = BTreeSet::new();
    let values = panels.iter().flat_map(|(_, curves)| curves.values().flatten());
    let top = values.fold(0.0, |top: f64, (_, y)| top.max(*y));
    for (panel, (scheme, curves)) in panels.iter().enumerate() {
        let axis = if panel == 0 { "y".to_owned() } else { format!("y{}", panel + 1) };
        let mut y_axis = json!({
            "title": {"text": label.axis()}, "separatethousands": true, "exponentformat": "none",
        });
        if spec.log_y {
            y_axis["type"] = "log".into();
        } else {
            y_axis["range"] = json!([0, top * label.factor * 1.05]);
        }
        layout[axis.replace('y', "yaxis")] = y_axis;
        if panel_by_scheme {
            titles.push(json!({
                "text": format!("<b>{}</b>", super::escape(scheme)), "showarrow": false, "xref": "paper", "x": 0,
                "xanchor": "left", "yref": format!("{axis} domain"), "y": 1.0, "yanchor": "bottom",
            }));
        }
        for (place, name) in drawn.iter().enumerate() {
            let Some(points) = curves.get(*name) else { continue };
            let thin = thinned(points);
            let x: Vec<f64> = thin.iter().map(|(x, _)| *x).collect();
            let y: Vec<f64> = thin.iter().map(|(_, y)| y * label.factor).collect();
            let hover = if panel_by_scheme { *scheme } else { name.text.as_str() };
            data.push(json!({
                "type": "scatter", "mode": "lines", "name": name.text, "legendgroup": name.text,
                "showlegend": named.insert(name), "xaxis": "x", "yaxis": axis, "x": x, "y": y,
                "line": {"width": 1.4, "color": hue(place, drawn.len())},
                "hovertemplate": format!("{}: %{{y:,.1f}} {} at %{{x:,.1f}} µs", super::escape(hover), label.unit),
            }));
        }
    }
    layout["annotations"] = Json::from(titles);
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let mut note = format!("Seed {}. A click in the legend hides a curve in every panel.", seeds.join(", "));
    if !by_entity {
        note.push_str(" Where several places were measured, their mean.");
    }
    if names.len() > drawn.len() {
        let (drawn, all) = (drawn.len(), names.len());
        note.push_str(&format!(" {drawn} of {all} curves are drawn; series.parquet holds all."));
    }
    let height = 90 + PANEL_HEIGHT * panels.len();
    Some(Plot { title: picture.title(spec), note, height, data, layout })
}

/// What the first run of a curve measured: a curve an entity, or their mean.
fn of_curve(
    index: &Index<'_>,
    spec: &PlotSpec,
    curve: &Curve<'_>,
    by_entity: bool,
    panel_by_scheme: bool,
) -> Curves {
    let name = if panel_by_scheme { curve.rest.clone() } else { curve.name() };
    let wanted = |entity: &str| spec.entity.as_ref().is_none_or(|entity_of| covers(entity_of, entity));
    let rows = index.series(curve.runs[0], &spec.y).iter().filter(|row| wanted(&row.entity));
    if !by_entity {
        let mut sums: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        for row in rows {
            let (sum, count) = sums.entry(row.time_ps).or_default();
            (*sum, *count) = (*sum + row.value, *count + 1.0);
        }
        let mean: Vec<_> =
            sums.into_iter().map(|(at, (sum, count))| (at as f64 / 1e6, sum / count)).collect();
        return if mean.is_empty() { Curves::new() } else { Curves::from([(Natural::new(name), mean)]) };
    }
    let mut curves: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for row in rows {
        curves.entry(&row.entity).or_default().push((row.time_ps as f64 / 1e6, row.value));
    }
    // A plot that is about entities alone does not repeat its scheme in each name.
    let alone = curve.rest.is_empty();
    let full = |entity: &str| if alone { entity.to_owned() } else { format!("{name}, {entity}") };
    curves.into_iter().map(|(entity, points)| (Natural::new(full(entity)), points)).collect()
}

/// At most [`MAX_POINTS`] points: of each stretch the lowest and the highest, so that no peak is lost.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MAX_POINTS {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil(MAX_POINTS / 2);
    let mut thin = Vec::with_capacity(MAX_POINTS);
    for chunk in points.chunks(stretch) {
        let places = 0..chunk.len();
        let low = places.clone().min_by(|a, b| chunk[*a].1.total_cmp(&chunk[*b].1)).unwrap_or(0);
        let high = places.max_by(|a, b| chunk[*a].1.total_cmp(&chunk[*b].1)).unwrap_or(0);
        thin.push(chunk[low.min(high)]);
        if low != high {
            thin.push(chunk[low.max(high)]);
        }
    }
    thin
}

/// Colours around the wheel, readable on light and dark ground.
fn hue(place: usize, count: usize) -> String {
    format!("hsl({}, 65%, 50%)", place * 330 / count.max(1))
}

/// A name in which numbers count as numbers: `up:2` before `up:10`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Natural {
    /// The name's parts, for its order.
    parts: Vec<(String, u64)>,
    text: String,
}

impl Natural {
    fn new(text: String) -> Natural {
        let part = |part: &str| match part.parse() {
            Ok(number) => (String::new(), number),
            Err(_) => (part.to_owned(), 0),
        };
        Natural { parts: text.split([':', '/', ' ', ',']).map(part).collect(), text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_peaks_and_bounds() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|step| (f64::from(step), 1.0)).collect();
        points[54_321].1 = 9.0;
        points[77_777].1 = 0.0;
        let thin = thinned(&points);
        assert!(thin.len() <= MAX_POINTS);
        assert!(thin.contains(&(54_321.0, 9.0)) && thin.contains(&(77_777.0, 0.0)));
        assert!(thin.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn ports_are_in_the_order_of_their_numbers() {
        let names = ["tor:0/up:10", "tor:0/up:2", "tor:0/down:3"].map(|name| Natural::new(name.to_owned()));
        let names = BTreeSet::from(names);
        assert_eq!(
            names.iter().map(|name| name.text.as_str()).collect::<Vec<_>>(),
            ["tor:0/down:3", "tor:0/up:2", "tor:0/up:10"]
        );
    }
}
