//! What to plot, as plotly traces and layouts.

use super::series;
use crate::groups::{Group, groups, point, schemes};
use crate::labels::label;
use crate::measure::field_of;
use crate::stats::Statistic;
use anabranch_results::{FlowRow, PlotKind, PlotSpec, ResultSet, RunRow, Value};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// A plot on the page.
pub(super) struct Plot {
    pub title: String,
    /// How to read it.
    pub note: String,
    /// Pixels.
    pub height: usize,
    pub data: Vec<Json>,
    pub layout: Json,
}

/// Points of a curve at most, so that the page of a large run stays small.
pub(super) const MAX_POINTS: usize = 2000;
/// Points of the sweep that get a distribution of their own; lines show all.
const MAX_POINTS_OF_SWEEP: usize = 8;
const HEIGHT: usize = 440;
/// Distinct on light and dark ground, and to most eyes.
const COLOURS: [&str; 10] = [
    "#2f7ed8", "#e4572e", "#2a9d6f", "#a05bd6", "#e0a100", "#17a2b8", "#d6437f", "#7a8b99", "#8c6d46",
    "#6b8e23",
];

/// The plots of a figure as it asks for them, otherwise those that the results have something to say in.
pub(super) fn of(set: &ResultSet) -> Vec<Plot> {
    match &set.figure {
        Some(figure) if !figure.plots.is_empty() => {
            figure.plots.iter().flat_map(|spec| asked_for(set, spec)).collect()
        }
        _ => usual(set),
    }
}

fn asked_for(set: &ResultSet, spec: &PlotSpec) -> Vec<Plot> {
    match spec.kind {
        PlotKind::Series => series::plots(set, spec),
        PlotKind::Cdf => cdfs(set, spec),
        PlotKind::Bar | PlotKind::Line => vec![against_sweep(set, spec)],
        PlotKind::SlowdownBySize => slowdowns(set, spec),
    }
}

fn usual(set: &ResultSet) -> Vec<Plot> {
    let spec = |kind, title: &str, y: &str| PlotSpec {
        kind,
        title: title.to_owned(),
        y: y.to_owned(),
        x: None,
        entity: None,
        schemes: Vec::new(),
        log_x: false,
        log_y: false,
    };
    let mut specs = Vec::new();
    for name in swept(set) {
        let x = Some(name.to_owned());
        specs.push(PlotSpec {
            x,
            ..spec(PlotKind::Line, &format!("Largest FCT against {name}"), "fct_max_us")
        });
    }
    if !set.runs.is_empty() {
        specs.push(spec(PlotKind::Cdf, "Distribution of flow completion times", "fct_us"));
    }
    if set.flows.iter().map(|flow| flow.bytes).collect::<BTreeSet<_>>().len() > 1 {
        specs.push(spec(PlotKind::SlowdownBySize, "Slowdown by message size, 99th percentile", "p99"));
        specs.push(spec(PlotKind::SlowdownBySize, "Slowdown by message size, mean", "mean"));
    }
    for name in set.series.iter().map(|row| row.series.as_str()).collect::<BTreeSet<_>>() {
        specs.push(spec(PlotKind::Series, &format!("{} over time", label(name).name), name));
    }
    specs.iter().flat_map(|spec| asked_for(set, spec)).collect()
}

/// Swept parameters that take more than one value.
fn swept(set: &ResultSet) -> Vec<&str> {
    let names: BTreeSet<&str> =
        set.runs.iter().flat_map(|run| run.sweep.keys().map(String::as_str)).collect();
    let several = |name: &&str| {
        let mut values = set.runs.iter().filter_map(|run| run.sweep.get(*name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    names.into_iter().filter(several).collect()
}

/// Groups by point of the sweep, the first few points.
pub(super) fn by_point<'a>(set: &'a ResultSet, spec: &PlotSpec) -> Vec<(String, Vec<Group<'a>>)> {
    let mut points: Vec<(String, Vec<Group<'a>>)> = Vec::new();
    for group in groups(set) {
        if !spec.schemes.is_empty() && !spec.schemes.iter().any(|name| name == group.scheme) {
            continue;
        }
        let name = group.point();
        match points.iter_mut().find(|(point, _)| *point == name) {
            Some((_, groups)) => groups.push(group),
            None => points.push((name, vec![group])),
        }
    }
    points.truncate(MAX_POINTS_OF_SWEEP);
    points
}

/// The plot's title with the point of the sweep.
pub(super) fn titled(spec: &PlotSpec, point: &str) -> String {
    if point.is_empty() { spec.title.clone() } else { format!("{} ({point})", spec.title) }
}

/// The same scheme has the same colour in every plot.
fn colour(set: &ResultSet, scheme: &str) -> &'static str {
    let place = schemes(set).iter().position(|name| *name == scheme).unwrap_or(0);
    COLOURS[place % COLOURS.len()]
}

fn flows_of<'a>(set: &'a ResultSet, group: &Group<'_>) -> Vec<&'a FlowRow> {
    set.flows.iter().filter(|flow| group.indices.contains(&(flow.run as usize))).collect()
}

fn micros(ps: u64) -> f64 {
    ps as f64 / 1e6
}

fn slowdown(flow: &FlowRow) -> Option<f64> {
    flow.fct_ps.map(|fct| fct as f64 / flow.ideal_fct_ps.max(1) as f64)
}

fn cdfs(set: &ResultSet, spec: &PlotSpec) -> Vec<Plot> {
    let slow = spec.y == "slowdown";
    let draw = |(point, groups): (String, Vec<Group<'_>>)| {
        let mut data = Vec::new();
        let mut range = (f64::INFINITY, f64::NEG_INFINITY);
        let mut unfinished = 0;
        for group in &groups {
            let flows = flows_of(set, group);
            let value = |flow: &&FlowRow| if slow { slowdown(flow) } else { flow.fct_ps.map(micros) };
            let mut values: Vec<f64> = flows.iter().filter_map(value).collect();
            values.sort_by(f64::total_cmp);
            unfinished += flows.len() - values.len();
            let Some((first, last)) = values.first().zip(values.last()) else { continue };
            range = (range.0.min(*first), range.1.max(*last));
            let line = json!({"color": colour(set, group.scheme), "width": 2, "shape": "hv"});
            data.push(distribution(group.scheme, &values, flows.len(), line));
        }
        if let Some(group) = groups.first().filter(|_| !slow) {
            let mut ideal: Vec<f64> =
                flows_of(set, group).iter().map(|flow| micros(flow.ideal_fct_ps)).collect();
            ideal.sort_by(f64::total_cmp);
            if let Some((first, last)) = ideal.first().zip(ideal.last()) {
                range = (range.0.min(*first), range.1.max(*last));
                let line = json!({"color": "#8a94a3", "width": 1.5, "dash": "dot", "shape": "hv"});
                data.push(distribution("ideal (alone in the network)", &ideal, ideal.len(), line));
            }
        }
        let log = spec.log_x || (range.0 > 0.0 && range.1 > 20.0 * range.0);
        let axis = if slow { "Slowdown (FCT / ideal FCT)" } else { "Flow completion time (µs)" };
        let mut note =
            "All seeds together. A curve's height is the share of flows that took this long or less."
                .to_owned();
        if unfinished > 0 {
            note.push_str(&format!(" {unfinished} flows did not finish: their curves end below 100 %."));
        }
        let y = json!({"title": {"text": "Share of flows (%)"}, "range": [0, 101]});
        Plot {
            title: titled(spec, &point),
            note,
            height: HEIGHT,
            data,
            layout: layout(number_axis(axis, log), y),
        }
    };
    by_point(set, spec).into_iter().map(draw).collect()
}

/// Sorted values to a curve in percent of `all`, thinned evenly but dense in the last percent.
fn distribution(name: &str, sorted: &[f64], all: usize, line: Json) -> Json {
    let count = sorted.len();
    let mut ranks: Vec<usize> = if count <= MAX_POINTS {
        (0..count).collect()
    } else {
        let even = MAX_POINTS * 3 / 4;
        let tail = MAX_POINTS - even - 1;
        let tail_start = count - (count / 100).max(tail);
        let spread =
            |from: usize, points: usize| (0..points).map(move |step| from + step * (count - from) / points);
        spread(0, even).chain(spread(tail_start, tail)).chain([count - 1]).collect()
    };
    ranks.sort_unstable();
    ranks.dedup();
    let x: Vec<f64> = ranks.iter().map(|&rank| sorted[rank]).collect();
    let y: Vec<f64> = ranks.iter().map(|&rank| 100.0 * (rank + 1) as f64 / all as f64).collect();
    json!({"type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "line": line})
}

fn slowdowns(set: &ResultSet, spec: &PlotSpec) -> Vec<Plot> {
    const BINS: usize = 20;
    let statistic = Statistic::parse(&spec.y).unwrap_or(Statistic::Mean);
    let draw = |(point, groups): (String, Vec<Group<'_>>)| {
        let mut sizes: Vec<u64> =
            groups.iter().flat_map(|group| flows_of(set, group)).map(|flow| flow.bytes).collect();
        sizes.sort_unstable();
        // Bins of about as many messages each, by their largest size.
        let mut tops: Vec<u64> =
            (1..=BINS).filter_map(|bin| sizes.get((bin * sizes.len() / BINS).max(1) - 1)).copied().collect();
        tops.dedup();
        let mut data = Vec::new();
        for group in &groups {
            let mut bins: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
            for flow in flows_of(set, group) {
                let top = tops[tops.partition_point(|top| *top < flow.bytes).min(tops.len() - 1)];
                bins.entry(top).or_default().extend(slowdown(flow));
            }
            let (x, y): (Vec<u64>, Vec<Option<f64>>) =
                bins.into_iter().map(|(top, values)| (top, statistic.of(&values))).unzip();
            data.push(json!({
                "type": "scatter", "mode": "lines+markers", "name": group.scheme, "x": x, "y": y,
                "line": {"color": colour(set, group.scheme), "width": 2},
            }));
        }
        let x = json!({
            "title": {"text": "Message size, largest of its bin (bytes)"}, "type": "log", "tickformat": "~s",
        });
        let mut y = number_axis(&format!("Slowdown, {} (FCT / ideal FCT)", spec.y), spec.log_y);
        if !spec.log_y {
            y["rangemode"] = "tozero".into();
        }
        let note = "Bins hold about as many messages each. 1 is as fast as alone in the network.".to_owned();
        Plot { title: titled(spec, &point), note, height: HEIGHT, data, layout: layout(x, y) }
    };
    by_point(set, spec).into_iter().map(draw).collect()
}

/// A field of the runs, mean over seeds with their spread, against a swept parameter or a scheme at a time.
fn against_sweep(set: &ResultSet, spec: &PlotSpec) -> Plot {
    let label = label(&spec.y);
    let chosen =
        |group: &Group<'_>| spec.schemes.is_empty() || spec.schemes.iter().any(|name| name == group.scheme);
    let mut curves: BTreeMap<(usize, String), Vec<(Json, [f64; 3])>> = BTreeMap::new();
    let names = schemes(set);
    for group in groups(set).into_iter().filter(chosen) {
        let of = |run: &RunRow| field_of(run, &spec.y) * label.factor;
        let values: Vec<f64> = group.runs().map(of).collect();
        let mean = group.mean(of);
        let low = values.iter().copied().fold(mean, f64::min);
        let high = values.iter().copied().fold(mean, f64::max);
        let mut others = group.sweep.clone();
        let at = match &spec.x {
            Some(name) => others.remove(name).map_or(Json::Null, |value| coordinate(&value)),
            None => group.scheme.into(),
        };
        let place = names.iter().position(|name| *name == group.scheme).unwrap_or(0);
        curves.entry((place, point(&others))).or_default().push((at, [mean, mean - low, high - mean]));
    }
    let mut data = Vec::new();
    for ((place, others), points) in curves {
        let scheme = names[place];
        let name = if others.is_empty() { scheme.to_owned() } else { format!("{scheme}, {others}") };
        let column = |index: usize| points.iter().map(|(_, numbers)| numbers[index]).collect::<Vec<f64>>();
        let x: Vec<&Json> = points.iter().map(|(at, _)| at).collect();
        let kind = if spec.kind == PlotKind::Bar { "bar" } else { "scatter" };
        let colour = colour(set, scheme);
        data.push(json!({
            "type": kind, "mode": "lines+markers", "name": name, "x": x, "y": column(0),
            "error_y": {"type": "data", "symmetric": false, "array": column(2), "arrayminus": column(1), "thickness": 1},
            "line": {"color": colour, "width": 2}, "marker": {"color": colour},
        }));
    }
    let numeric = data.iter().flat_map(|curve| curve["x"].as_array()).flatten().all(Json::is_number);
    let mut x = number_axis(spec.x.as_deref().unwrap_or("Scheme"), spec.log_x);
    if !numeric || spec.kind == PlotKind::Bar {
        x = json!({"title": {"text": spec.x.as_deref().unwrap_or("Scheme")}, "type": "category"});
    }
    let mut y = number_axis(&label.axis(), spec.log_y);
    if !spec.log_y {
        y["rangemode"] = "tozero".into();
    }
    let note = "Mean over the seeds; the whiskers are the least and the largest.".to_owned();
    let mut layout = layout(x, y);
    layout["barmode"] = "group".into();
    Plot { title: spec.title.clone(), note, height: HEIGHT, data, layout }
}

fn coordinate(value: &Value) -> Json {
    match value {
        Value::Bool(value) => value.to_string().into(),
        Value::Integer(value) => (*value).into(),
        Value::Number(value) => (*value).into(),
        Value::Text(value) => value.as_str().into(),
    }
}

pub(super) fn number_axis(title: &str, log: bool) -> Json {
    let kind = if log { "log" } else { "linear" };
    json!({"title": {"text": title}, "type": kind, "separatethousands": true, "exponentformat": "none"})
}

fn layout(x: Json, y: Json) -> Json {
    json!({
        "xaxis": x, "yaxis": y, "showlegend": true, "hovermode": "closest",
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "margin": {"l": 64, "r": 16, "t": 36, "b": 56},
    })
}
