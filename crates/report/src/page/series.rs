//! Measured curves over time: a panel a scheme, a curve an entity.

use super::plots::{MAX_POINTS, Plot, by_point, titled};
use crate::groups::Group;
use crate::labels::label;
use crate::measure::covers;
use anabranch_results::{PlotSpec, ResultSet};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Curves of a panel at most.
const MAX_ENTITIES: usize = 48;
const PANEL_HEIGHT: usize = 230;

/// Curves by entity, each as (microseconds, value).
type Curves<'a> = BTreeMap<Natural<'a>, Vec<(f64, f64)>>;

/// One plot a point of the sweep, of the first seed of each scheme. None where nothing was measured.
pub(super) fn plots(set: &ResultSet, spec: &PlotSpec) -> Vec<Plot> {
    by_point(set, spec).into_iter().filter_map(|(point, groups)| plot(set, spec, &point, &groups)).collect()
}

fn plot(set: &ResultSet, spec: &PlotSpec, point: &str, groups: &[Group<'_>]) -> Option<Plot> {
    let panels: Vec<(&str, Curves<'_>)> = groups
        .iter()
        .map(|group| (group.scheme, curves(set, spec, group.indices[0])))
        .filter(|(_, curves)| !curves.is_empty())
        .collect();
    let entities: BTreeSet<Natural<'_>> =
        panels.iter().flat_map(|(_, curves)| curves.keys().copied()).collect();
    if entities.is_empty() {
        return None;
    }
    let label = label(&spec.y);
    let drawn: Vec<Natural<'_>> = entities.iter().copied().take(MAX_ENTITIES).collect();
    let mut data = Vec::new();
    let mut layout = json!({
        "grid": {"rows": panels.len(), "columns": 1, "pattern": "coupled", "roworder": "top to bottom"},
        "showlegend": true, "hovermode": "closest",
        "legend": {"title": {"text": "Link"}, "tracegroupgap": 0},
        "margin": {"l": 72, "r": 16, "t": 24, "b": 56},
        "xaxis": {"title": {"text": "Simulated time (µs)"}, "separatethousands": true, "exponentformat": "none"},
    });
    let mut titles = Vec::new();
    let mut named: BTreeSet<Natural<'_>> = BTreeSet::new();
    let top = panels
        .iter()
        .flat_map(|(_, curves)| curves.values().flatten())
        .fold(0.0, |top: f64, (_, y)| top.max(*y));
    for (panel, (scheme, curves)) in panels.iter().enumerate() {
        let axis = if panel == 0 { "y".to_owned() } else { format!("y{}", panel + 1) };
        layout[axis.replace('y', "yaxis")] = json!({
            "title": {"text": label.axis()}, "separatethousands": true, "exponentformat": "none",
            "range": [0, top * label.factor * 1.05],
        });
        titles.push(json!({
            "text": format!("<b>{}</b>", super::escape(scheme)), "showarrow": false, "xref": "paper", "x": 0,
            "xanchor": "left", "yref": format!("{axis} domain"), "y": 1.0, "yanchor": "bottom",
        }));
        for (place, entity) in drawn.iter().enumerate() {
            let Some(points) = curves.get(entity) else { continue };
            let thin = thinned(points);
            let x: Vec<f64> = thin.iter().map(|(x, _)| *x).collect();
            let y: Vec<f64> = thin.iter().map(|(_, y)| y * label.factor).collect();
            data.push(json!({
                "type": "scatter", "mode": "lines", "name": entity.0, "legendgroup": entity.0,
                "showlegend": named.insert(*entity), "xaxis": "x", "yaxis": axis, "x": x, "y": y,
                "line": {"width": 1.4, "color": hue(place, drawn.len())},
                "hovertemplate": format!("{}: %{{y:,.1f}} {} at %{{x:,.1f}} µs", super::escape(scheme), label.unit),
            }));
        }
    }
    layout["annotations"] = Json::from(titles);
    let seeds: BTreeSet<u64> = groups.iter().map(|group| set.runs[group.indices[0]].seed).collect();
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let mut note = format!("Seed {}. A click in the legend hides a link in every panel.", seeds.join(", "));
    if entities.len() > drawn.len() {
        note.push_str(&format!(
            " {} of {} links are drawn; series.parquet holds all.",
            drawn.len(),
            entities.len()
        ));
    }
    let height = 90 + PANEL_HEIGHT * panels.len();
    Some(Plot { title: titled(spec, point), note, height, data, layout })
}

fn curves<'a>(set: &'a ResultSet, spec: &PlotSpec, run: usize) -> Curves<'a> {
    let mut curves = Curves::new();
    for row in set.series.iter().filter(|row| row.run as usize == run && row.series == spec.y) {
        if spec.entity.as_ref().is_none_or(|entity| covers(entity, &row.entity)) {
            curves.entry(Natural(&row.entity)).or_default().push((row.time_ps as f64 / 1e6, row.value));
        }
    }
    curves
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
#[derive(Clone, Copy, PartialEq, Eq)]
struct Natural<'a>(&'a str);

impl Ord for Natural<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |text: &str| -> Vec<(String, u64)> {
            text.split([':', '/'])
                .map(|part| match part.parse() {
                    Ok(number) => (String::new(), number),
                    Err(_) => (part.to_owned(), 0),
                })
                .collect()
        };
        key(self.0).cmp(&key(other.0)).then_with(|| self.0.cmp(other.0))
    }
}

impl PartialOrd for Natural<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
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
        let names: BTreeSet<Natural<'_>> = ["tor:0/up:10", "tor:0/up:2", "tor:0/down:3"].map(Natural).into();
        assert_eq!(
            names.iter().map(|name| name.0).collect::<Vec<_>>(),
            ["tor:0/down:3", "tor:0/up:2", "tor:0/up:10"]
        );
    }
}
