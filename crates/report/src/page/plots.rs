//! The plots of a page: those that a figure specifies, or the default ones.

use super::axes::{self, axis, from_zero, layout};
use super::curves::{Curve, Picture, pictures, swept};
use super::plot::{MAX_POINTS, Plot};
use super::{links, search, series, sweep};
use crate::index::Index;
use crate::labels::{label, thousands};
use anabranch_results::{FlowRow, GOODPUT, PlotKind, PlotSpec, RunRow, Statistic};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// The approximate largest number of points in a scatter plot of messages, over all curves.
const MAX_CLOUD: usize = 20_000;

/// The plots of a page. If a search measured values, these values are plotted. Without measured values, the page has
/// the plots that the figure specifies. If the figure specifies none, it has the plots for which the results have data.
pub(super) fn of(index: &Index<'_>) -> Vec<Plot> {
    let compared = index.set.answer.as_ref().and_then(|answer| answer.measured.as_ref());
    let looked_for = swept(index.set).into_iter();
    let mut plots: Vec<Plot> =
        looked_for.filter_map(|name| search::plot(index.set, name, compared?)).collect();
    plots.iter_mut().for_each(|plot| axes::share(std::slice::from_mut(plot)));
    let usual_ones;
    let specs = match &index.set.figure {
        Some(figure) if !figure.plots.is_empty() => &figure.plots,
        _ => {
            usual_ones = usual(index);
            &usual_ones
        }
    };
    if plots.is_empty() {
        plots = specs.iter().flat_map(|spec| drawn(index, spec)).collect();
    }
    if let Some(problem) = index.problem() {
        let title = "Curves that are missing".to_owned();
        let (whole, part) = (title.clone(), String::new());
        plots.push(Plot { title, note: problem, whole, part, data: Vec::new(), layout: json!({}) });
    }
    plots
}

pub(super) fn drawn(index: &Index<'_>, spec: &PlotSpec) -> Vec<Plot> {
    let pictures = pictures(index.set, spec);
    if spec.kind == PlotKind::Series && links::are_many(index, spec) {
        let both = pictures.iter().filter_map(|picture| links::plots(index, spec, picture));
        let (mut together, mut each): (Vec<Plot>, Vec<Plot>) = both.unzip();
        axes::share(&mut together);
        axes::share(&mut each);
        together.extend(each);
        return together;
    }
    let draw = |picture: &Picture<'_>| match spec.kind {
        PlotKind::Series | PlotKind::Points => series::plot(index, spec, picture),
        PlotKind::Cdf => Some(cdf(index, spec, picture)),
        PlotKind::Flows => Some(flows(index, spec, picture)),
        PlotKind::Bar | PlotKind::Line => Some(sweep::plot(index.set, spec, picture)),
        PlotKind::SlowdownBySize => Some(slowdowns(index, spec, picture)),
    };
    let mut plots: Vec<Plot> = pictures.iter().filter_map(draw).collect();
    axes::share(&mut plots);
    plots
}

fn usual(index: &Index<'_>) -> Vec<PlotSpec> {
    let set = index.set;
    let mut specs = Vec::new();
    // For runs with jobs, the time that counts is the completion time of the jobs and not that of their messages.
    let (of_jobs, of_messages): (Vec<&RunRow>, Vec<&RunRow>) =
        set.actual().iter().partition(|run| run.jobs > 0);
    for name in swept(set) {
        let mut against = |what: &str, y: &str| {
            let title = format!("{what} against {name}");
            let x = Some(name.to_owned());
            specs.push(PlotSpec { x, ..PlotSpec::new(PlotKind::Line, title, y) });
        };
        if !of_jobs.is_empty() {
            against("Largest CCT", "cct_max_us");
        }
        if !of_messages.is_empty() {
            against("Largest FCT", "fct_max_us");
        }
    }
    // A search chooses the parameter's values itself, so distributions and curves over time are left out.
    if set.answer.is_some() {
        return specs;
    }
    // A single job has no distribution.
    let is_one = of_jobs.iter().all(|run| run.jobs == 1);
    if !set.jobs.is_empty() && !is_one {
        specs.push(PlotSpec::new(PlotKind::Cdf, "Distribution of collective completion times", "cct_us"));
    } else if !set.jobs.is_empty() && swept(set).is_empty() {
        specs.push(PlotSpec::new(
            PlotKind::Bar,
            "Collective completion time of the slowest job",
            "cct_max_us",
        ));
    }
    if !set.flows.is_empty() {
        specs.push(PlotSpec::new(PlotKind::Cdf, "Distribution of flow completion times", "fct_us"));
    }
    let names: BTreeSet<&str> = set.flows.iter().flat_map(|flow| flow.group.split('/')).collect();
    for group in names.into_iter().filter(|name| !name.is_empty()) {
        let title = format!("Distribution of slowdowns, {group}");
        let group = Some(group.to_owned());
        specs.push(PlotSpec { group, ..PlotSpec::new(PlotKind::Cdf, title, "slowdown") });
    }
    // If lengths differ only between the points of a sweep, the plot would have a separate picture for each length.
    let mut of_runs = set.flows.chunk_by(|a, b| a.run == b.run);
    if of_runs.any(|flows| flows.iter().any(|flow| flow.bytes != flows[0].bytes)) {
        let slowdown = |title, y| PlotSpec::new(PlotKind::SlowdownBySize, title, y);
        specs.push(slowdown("Slowdown by message size, 99th percentile", "p99"));
        specs.push(slowdown("Slowdown by message size, mean", "mean"));
    }
    let measured: BTreeSet<&str> = index.curve_names().map(|(series, _)| series).collect();
    for name in measured {
        let spec = PlotSpec::new(PlotKind::Series, format!("{} over time", label(name).name), name);
        // Goodput is measured for a single entity, all hosts together, so all schemes are compared in one picture.
        let per = if name == GOODPUT { vec!["scheme".to_owned()] } else { Vec::new() };
        specs.push(PlotSpec { per, ..spec });
    }
    specs
}

fn flows_of<'a>(
    index: &'a Index<'_>,
    spec: &'a PlotSpec,
    curve: &'a Curve<'_>,
) -> impl Iterator<Item = &'a FlowRow> {
    let lengths = spec.min_bytes.unwrap_or(0)..=spec.max_bytes.unwrap_or(u64::MAX);
    let is_selected = move |flow: &&FlowRow| {
        lengths.contains(&flow.bytes) && spec.group.as_ref().is_none_or(|group| flow.in_group(group))
    };
    curve.runs.iter().flat_map(|&run| index.flows(run).iter().copied()).filter(is_selected)
}

fn micros(ps: u64) -> f64 {
    ps as f64 / 1e6
}

/// The messages or jobs that a distribution or a scatter plot shows.
struct Population {
    axis: &'static str,
    /// The noun for these messages or jobs in a sentence.
    things: &'static str,
    has_ideal: bool,
    /// Text for the messages or jobs that have a value.
    known: &'static str,
    /// Text for the messages or jobs that have no value.
    unknown: &'static str,
    value: fn(&FlowRow) -> Option<f64>,
}

impl Population {
    fn values(&self, index: &Index<'_>, spec: &PlotSpec, curve: &Curve<'_>) -> Vec<Option<f64>> {
        if self.things == "jobs" {
            let jobs = curve.runs.iter().flat_map(|&run| index.jobs(run));
            return jobs.map(|job| job.cct_ps.map(micros)).collect();
        }
        flows_of(index, spec, curve).map(self.value).collect()
    }
}

fn population(y: &str) -> Population {
    let fct = Population {
        axis: "Flow completion time (µs)",
        things: "flows",
        has_ideal: true,
        known: "finished",
        unknown: "did not finish",
        value: |flow| flow.fct_ps.map(micros),
    };
    match y {
        "slowdown" => Population {
            axis: "Slowdown (FCT / ideal FCT)",
            has_ideal: false,
            value: FlowRow::slowdown,
            ..fct
        },
        "cct_us" => {
            Population { axis: "Collective completion time (µs)", things: "jobs", has_ideal: false, ..fct }
        }
        "retransmitted_share" => Population {
            axis: "Packets sent again (% of the flow's packets)",
            has_ideal: false,
            known: "tells what it sent again",
            unknown: "do not tell what they sent again",
            value: |flow| flow.retransmitted_share().map(|share| 100.0 * share),
            ..fct
        },
        _ => fct,
    }
}

fn cdf(index: &Index<'_>, spec: &PlotSpec, picture: &Picture<'_>) -> Plot {
    let population = population(&spec.y);
    let Population { axis: unit, things, has_ideal, known, unknown, .. } = population;
    let mut data = Vec::new();
    let mut range = (f64::INFINITY, f64::NEG_INFINITY);
    let mut unfinished = 0;
    let (mut without, mut none_finished) = (Vec::new(), Vec::new());
    for (position, curve) in picture.curves.iter().enumerate() {
        let each = population.values(index, spec, curve);
        let mut values: Vec<f64> = each.iter().copied().flatten().collect();
        match (each.is_empty(), values.is_empty()) {
            (true, _) => without.push(curve.name()),
            (false, true) => none_finished.push(curve.name()),
            (false, false) => {}
        }
        values.sort_by(f64::total_cmp);
        let Some((first, last)) = values.first().zip(values.last()) else { continue };
        unfinished += each.len() - values.len();
        range = (range.0.min(*first), range.1.max(*last));
        let line = picture.line(index.set, position);
        data.push(distribution(&curve.name(), Some(curve.scheme), &values, each.len(), line));
    }
    if let Some(curve) = picture.curves.first().filter(|_| has_ideal) {
        let mut ideal: Vec<f64> =
            flows_of(index, spec, curve).map(|flow| micros(flow.ideal_fct_ps)).collect();
        ideal.sort_by(f64::total_cmp);
        if let Some((first, last)) = ideal.first().zip(ideal.last()) {
            range = (range.0.min(*first), range.1.max(*last));
            let line = json!({"color": "#8a94a3", "width": 1.5, "dash": "dot"});
            data.push(distribution("ideal (alone in the network)", None, &ideal, ideal.len(), line));
        }
    }
    let log = spec.log_x || axes::is_wide(range.0, range.1);
    let mut note = match spec.y.as_str() {
        "fct_us" | "cct_us" => {
            format!("A curve's height is the share of {things} that took this long or less.")
        }
        _ => format!("A curve's height is the share of {things} that had this much or less."),
    };
    note.push_str(&selection(spec));
    if picture.curves.iter().any(|curve| curve.runs.len() > 1) {
        note.insert_str(0, "All seeds together. ");
    }
    if unfinished > 0 {
        note.push_str(&format!(" {unfinished} {things} {unknown}: their curves end below 100 %."));
    }
    if !none_finished.is_empty() {
        note.push_str(&format!(" Not drawn, as none of its {things} {known}: {}.", none_finished.join("; ")));
    }
    if !without.is_empty() {
        note.push_str(&format!(" Not drawn, as the results hold no {things} of it: {}.", without.join("; ")));
    }
    let y = json!({"title": format!("Share of {things} (%)"), "range": [0, 101]});
    Plot::new(spec, picture, note, data, layout(axis(unit, log), y))
}

/// A curve of sorted values, in percent of `all`. If there are too many values, they are downsampled evenly, except
/// that more of the largest ones are kept.
fn distribution(name: &str, scheme: Option<&str>, sorted: &[f64], all: usize, line: Json) -> Json {
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
    // The curve begins at zero, so that a single value appears as a step.
    let x: Vec<f64> = sorted.iter().take(1).chain(ranks.iter().map(|&rank| &sorted[rank])).copied().collect();
    let heights = ranks.iter().map(|&rank| 100.0 * (rank + 1) as f64 / all as f64);
    let y: Vec<f64> = [0.0].into_iter().chain(heights).collect();
    json!({"kind": "hv", "share": true, "name": name, "scheme": scheme, "x": x, "y": y, "line": line})
}

fn slowdowns(index: &Index<'_>, spec: &PlotSpec, picture: &Picture<'_>) -> Plot {
    const BINS: usize = 20;
    let statistic = Statistic::parse(&spec.y).unwrap_or(Statistic::Mean);
    let mut sizes: Vec<u64> =
        picture.curves.iter().flat_map(|curve| flows_of(index, spec, curve)).map(|flow| flow.bytes).collect();
    sizes.sort_unstable();
    // The bins have about the same number of messages each, unless many messages have the same size. A bin is
    // identified by its largest size.
    let mut tops: Vec<u64> =
        (1..=BINS).filter_map(|bin| sizes.get((bin * sizes.len() / BINS).max(1) - 1)).copied().collect();
    tops.dedup();
    let mut data = Vec::new();
    for (position, curve) in picture.curves.iter().enumerate() {
        let mut bins: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for flow in flows_of(index, spec, curve) {
            let top = tops[tops.partition_point(|top| *top < flow.bytes).min(tops.len() - 1)];
            bins.entry(top).or_default().extend(flow.slowdown());
        }
        let (x, y): (Vec<u64>, Vec<Option<f64>>) =
            bins.into_iter().map(|(top, values)| (top, statistic.of(&values))).unzip();
        data.push(json!({
            "kind": "both", "name": curve.name(), "scheme": curve.scheme, "x": x, "y": y,
            "line": picture.line(index.set, position),
        }));
    }
    let x = json!({"title": "Message size, largest of its bin (bytes)", "log": true, "si": true});
    let y = from_zero(&format!("Slowdown, {} (FCT / ideal FCT)", spec.y), spec.log_y || axes::wide_y(&data));
    let mut note = "Bins hold about as many messages each. 1 is as fast as alone in the network.".to_owned();
    note.push_str(&selection(spec));
    if sizes.is_empty() {
        note.push_str(" Nothing is drawn, as the results hold no messages one by one.");
    }
    Plot::new(spec, picture, note, data, layout(x, y))
}

/// A point for each message, by its length. If there are many messages, only evenly spaced ones are drawn.
fn flows(index: &Index<'_>, spec: &PlotSpec, picture: &Picture<'_>) -> Plot {
    let Population { axis, unknown, value, .. } = population(&spec.y);
    let mut data = Vec::new();
    let (mut all, mut drawn, mut without) = (0, 0, 0);
    for (position, curve) in picture.curves.iter().enumerate() {
        let (mut points, mut flows) = (Vec::new(), 0);
        for flow in flows_of(index, spec, curve) {
            flows += 1;
            points.extend(value(flow).map(|value| (flow.bytes, value)));
        }
        without += flows - points.len();
        all += points.len();
        let step = (points.len() * picture.curves.len()).div_ceil(MAX_CLOUD).max(1);
        let (x, y): (Vec<u64>, Vec<f64>) = points.into_iter().step_by(step).unzip();
        drawn += x.len();
        data.push(json!({
            "kind": "points", "name": curve.name(), "scheme": curve.scheme, "x": x, "y": y, "size": 5,
            "line": picture.line(index.set, position),
        }));
    }
    let x = json!({"title": "Message size (bytes)", "log": true, "si": true});
    let y = from_zero(axis, spec.log_y || axes::wide_y(&data));
    let mut note = format!("A point is a message.{}", selection(spec));
    if drawn < all {
        note.push_str(&format!(
            " Of {} of them {} are drawn.",
            thousands(all as f64),
            thousands(drawn as f64)
        ));
    }
    if without > 0 {
        note.push_str(&format!(" Not drawn are {without} that {unknown}."));
    }
    if all + without == 0 {
        note.push_str(" The results hold no such messages.");
    }
    Plot::new(spec, picture, note, data, layout(x, y))
}

/// A sentence about the messages that a plot shows, if it does not show all.
fn selection(spec: &PlotSpec) -> String {
    let bytes = |bytes: u64| thousands(bytes as f64);
    let lengths = match (spec.min_bytes, spec.max_bytes) {
        (None, None) => None,
        (Some(least), None) => Some(format!("{} B or more", bytes(least))),
        (None, Some(most)) => Some(format!("{} B or less", bytes(most))),
        (Some(least), Some(most)) => Some(format!("{} to {} B", bytes(least), bytes(most))),
    };
    match (&spec.group, lengths) {
        (None, None) => String::new(),
        (Some(group), None) => format!(" Only messages of the group {group}."),
        (None, Some(lengths)) => format!(" Only messages of {lengths}."),
        (Some(group), Some(lengths)) => format!(" Only messages of the group {group}, of {lengths}."),
    }
}
