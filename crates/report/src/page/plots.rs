//! What to plot, as plotly traces and layouts.

use super::curves::{Curve, Picture, pictures, swept};
use super::series;
use crate::index::Index;
use crate::labels::{label, thousands};
use anabranch_base::{Bytes, Duration, Rate};
use anabranch_results::{FlowRow, GOODPUT, PlotKind, PlotSpec, ResultSet, RunRow, Statistic, Value};
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
const HEIGHT: usize = 440;
/// Points of a cloud of messages at most, of all curves.
const MAX_CLOUD: usize = 20_000;
/// The plots of a figure as it asks for them, otherwise those that the results have something to say in.
pub(super) fn of(set: &ResultSet) -> Vec<Plot> {
    let index = Index::new(set);
    let usual_ones;
    let specs = match &set.figure {
        Some(figure) if !figure.plots.is_empty() => &figure.plots,
        _ => {
            usual_ones = usual(&index);
            &usual_ones
        }
    };
    let mut plots: Vec<Plot> = specs.iter().flat_map(|spec| drawn(&index, spec)).collect();
    if let Some(problem) = index.problem() {
        let (title, note) = ("Curves that are missing".to_owned(), problem);
        plots.push(Plot { title, note, height: 0, data: Vec::new(), layout: json!({}) });
    }
    plots
}

fn drawn(index: &Index<'_>, spec: &PlotSpec) -> Vec<Plot> {
    let draw = |picture: Picture<'_>| match spec.kind {
        PlotKind::Series | PlotKind::Points => series::plot(index, spec, &picture),
        PlotKind::Cdf => Some(cdf(index, spec, &picture)),
        PlotKind::Flows => Some(flows(index, spec, &picture)),
        PlotKind::Bar | PlotKind::Line => Some(against_sweep(index.set, spec, &picture)),
        PlotKind::SlowdownBySize => Some(slowdowns(index, spec, &picture)),
    };
    pictures(index.set, spec).into_iter().filter_map(draw).collect()
}

fn usual(index: &Index<'_>) -> Vec<PlotSpec> {
    let set = index.set;
    let mut specs = Vec::new();
    // Of a job nobody asks for the messages: what counts is when it is done.
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
    // What a search tried are values that it chose, each with few messages.
    if set.answer.is_some() {
        return specs;
    }
    // One job has no distribution.
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
    if set.flows.iter().any(|flow| flow.bytes != set.flows[0].bytes) {
        let slowdown = |title, y| PlotSpec::new(PlotKind::SlowdownBySize, title, y);
        specs.push(slowdown("Slowdown by message size, 99th percentile", "p99"));
        specs.push(slowdown("Slowdown by message size, mean", "mean"));
    }
    let mut measured: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (series, entity) in index.curve_names() {
        measured.entry(series).or_default().insert(entity);
    }
    for (name, entities) in measured {
        // Too many curves for one picture are one cloud.
        let kind = if entities.len() > series::MAX_CURVES { PlotKind::Points } else { PlotKind::Series };
        let spec = PlotSpec::new(kind, format!("{} over time", label(name).name), name);
        // There is one place, all hosts: schemes are compared in one picture.
        let per = if name == GOODPUT { vec!["scheme".to_owned()] } else { Vec::new() };
        specs.push(PlotSpec { per, ..spec });
    }
    specs
}

/// The flows of a curve that the plot is about.
fn flows_of<'a>(
    index: &'a Index<'_>,
    spec: &'a PlotSpec,
    curve: &'a Curve<'_>,
) -> impl Iterator<Item = &'a FlowRow> {
    let lengths = spec.min_bytes.unwrap_or(0)..=spec.max_bytes.unwrap_or(u64::MAX);
    let wanted = move |flow: &&FlowRow| {
        lengths.contains(&flow.bytes) && spec.group.as_ref().is_none_or(|group| flow.in_group(group))
    };
    curve.runs.iter().flat_map(|&run| index.flows(run).iter().copied()).filter(wanted)
}

fn micros(ps: u64) -> f64 {
    ps as f64 / 1e6
}

/// What a distribution or a cloud of messages is over.
struct Population {
    axis: &'static str,
    /// The things counted.
    things: &'static str,
    /// What is drawn beside the curves.
    has_ideal: bool,
    /// What those with a value did, and those without did not.
    known: &'static str,
    unknown: &'static str,
    /// Of a flow.
    value: fn(&FlowRow) -> Option<f64>,
}

impl Population {
    /// One value a thing, none where it has none.
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
    let Population { axis, things, has_ideal, known, unknown, .. } = population;
    let mut data = Vec::new();
    let mut range = (f64::INFINITY, f64::NEG_INFINITY);
    let mut unfinished = 0;
    let (mut without, mut none_finished) = (Vec::new(), Vec::new());
    for (place, curve) in picture.curves.iter().enumerate() {
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
        let mut line = picture.line(index.set, place);
        line["shape"] = "hv".into();
        data.push(distribution(&curve.name(), &values, each.len(), line));
    }
    if let Some(curve) = picture.curves.first().filter(|_| has_ideal) {
        let mut ideal: Vec<f64> =
            flows_of(index, spec, curve).map(|flow| micros(flow.ideal_fct_ps)).collect();
        ideal.sort_by(f64::total_cmp);
        if let Some((first, last)) = ideal.first().zip(ideal.last()) {
            range = (range.0.min(*first), range.1.max(*last));
            let line = json!({"color": "#8a94a3", "width": 1.5, "dash": "dot", "shape": "hv"});
            data.push(distribution("ideal (alone in the network)", &ideal, ideal.len(), line));
        }
    }
    let log = spec.log_x || (range.0 > 0.0 && range.1 > 20.0 * range.0);
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
    let y = json!({"title": {"text": format!("Share of {things} (%)")}, "range": [0, 101]});
    Plot { title: picture.title(spec), note, height: HEIGHT, data, layout: layout(number_axis(axis, log), y) }
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
    // From the ground up: a curve of one value is a step.
    let x: Vec<f64> = sorted.iter().take(1).chain(ranks.iter().map(|&rank| &sorted[rank])).copied().collect();
    let heights = ranks.iter().map(|&rank| 100.0 * (rank + 1) as f64 / all as f64);
    let y: Vec<f64> = [0.0].into_iter().chain(heights).collect();
    json!({"type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "line": line})
}

fn slowdowns(index: &Index<'_>, spec: &PlotSpec, picture: &Picture<'_>) -> Plot {
    const BINS: usize = 20;
    let statistic = Statistic::parse(&spec.y).unwrap_or(Statistic::Mean);
    let mut sizes: Vec<u64> =
        picture.curves.iter().flat_map(|curve| flows_of(index, spec, curve)).map(|flow| flow.bytes).collect();
    sizes.sort_unstable();
    // Bins of about as many messages each, by their largest size.
    let mut tops: Vec<u64> =
        (1..=BINS).filter_map(|bin| sizes.get((bin * sizes.len() / BINS).max(1) - 1)).copied().collect();
    tops.dedup();
    let mut data = Vec::new();
    for (place, curve) in picture.curves.iter().enumerate() {
        let mut bins: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for flow in flows_of(index, spec, curve) {
            let top = tops[tops.partition_point(|top| *top < flow.bytes).min(tops.len() - 1)];
            bins.entry(top).or_default().extend(flow.slowdown());
        }
        let (x, y): (Vec<u64>, Vec<Option<f64>>) =
            bins.into_iter().map(|(top, values)| (top, statistic.of(&values))).unzip();
        data.push(json!({
            "type": "scatter", "mode": "lines+markers", "name": curve.name(), "x": x, "y": y,
            "line": picture.line(index.set, place),
        }));
    }
    let x = json!({
        "title": {"text": "Message size, largest of its bin (bytes)"}, "type": "log", "tickformat": "~s",
    });
    let mut y = number_axis(&format!("Slowdown, {} (FCT / ideal FCT)", spec.y), spec.log_y);
    if !spec.log_y {
        y["rangemode"] = "tozero".into();
    }
    let mut note = "Bins hold about as many messages each. 1 is as fast as alone in the network.".to_owned();
    note.push_str(&selection(spec));
    if sizes.is_empty() {
        note.push_str(" Nothing is drawn, as the results hold no messages one by one.");
    }
    Plot { title: picture.title(spec), note, height: HEIGHT, data, layout: layout(x, y) }
}

/// A point a message, by its length; of many, evenly spread ones.
fn flows(index: &Index<'_>, spec: &PlotSpec, picture: &Picture<'_>) -> Plot {
    let Population { axis, unknown, value, .. } = population(&spec.y);
    let mut data = Vec::new();
    let (mut all, mut drawn, mut without) = (0, 0, 0);
    for (place, curve) in picture.curves.iter().enumerate() {
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
            "type": "scatter", "mode": "markers", "name": curve.name(), "x": x, "y": y,
            "marker": {"color": picture.colour(index.set, place), "size": 5, "opacity": 0.6},
        }));
    }
    let x = json!({"title": {"text": "Message size (bytes)"}, "type": "log", "tickformat": "~s"});
    let mut y = number_axis(axis, spec.log_y);
    if !spec.log_y {
        y["rangemode"] = "tozero".into();
    }
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
    let mut layout = layout(x, y);
    layout["legend"]["itemsizing"] = "constant".into();
    Plot { title: picture.title(spec), note, height: HEIGHT, data, layout }
}

/// Which messages a plot is about, when not about all, as a sentence.
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

/// A field of the runs, mean over seeds with their spread, against a swept parameter or a scheme at a time.
fn against_sweep(set: &ResultSet, spec: &PlotSpec, picture: &Picture<'_>) -> Plot {
    let label = label(&spec.y);
    let mut data = Vec::new();
    let mut note = String::new();
    let mut range = (f64::INFINITY, 0.0_f64);
    let mut gaps = Gaps::default();
    // A search looks between the ends of a range; what is swept on purpose has the labels that its author wrote.
    let swept = spec.x.iter().filter(|_| set.answer.is_some());
    let swept = swept.flat_map(|name| set.actual().iter().filter_map(|run| run.sweep.get(name)));
    let quantity = Quantity::of(swept.collect());
    for (place, curve) in picture.curves.iter().enumerate() {
        let mut points: Vec<(Json, Vec<f64>)> = Vec::new();
        let runs = || curve.runs.iter().map(|&run| &set.runs[run]);
        for run in runs() {
            let at = match &spec.x {
                Some(name) => {
                    let number = |value: &Value| Some(quantity?.number(value)?.into());
                    run.sweep
                        .get(name)
                        .map_or(Json::Null, |value| number(value).unwrap_or_else(|| coordinate(value)))
                }
                None => run.scheme.as_str().into(),
            };
            // A point of which one seed has no number would be the mean of the lucky ones.
            let number = run.number(&spec.y).map_or(f64::NAN, |number| number * label.factor);
            match points.iter_mut().find(|(known, _)| *known == at) {
                Some((_, numbers)) => numbers.push(number),
                None => points.push((at, vec![number])),
            }
        }
        runs().for_each(|run| gaps.note(run, spec, curve));
        points.retain(|(_, numbers)| numbers.iter().all(|number| !number.is_nan()));
        if points.is_empty() {
            continue;
        }
        let column = |statistic: Statistic| -> Vec<f64> {
            points.iter().filter_map(|(_, numbers)| statistic.of(numbers)).collect()
        };
        let (mean, low, high) = (column(Statistic::Mean), column(Statistic::Min), column(Statistic::Max));
        let several = points.iter().any(|(_, numbers)| numbers.len() > 1);
        if several {
            note = "Mean over the seeds; the whiskers are the least and the largest.".to_owned();
        }
        range.0 = low.iter().copied().filter(|low| *low > 0.0).fold(range.0, f64::min);
        range.1 = high.iter().copied().fold(range.1, f64::max);
        let above =
            |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| (a - b).max(0.0)).collect() };
        let x: Vec<&Json> = points.iter().map(|(at, _)| at).collect();
        let kind = if spec.kind == PlotKind::Bar { "bar" } else { "scatter" };
        let name = match (&spec.x, curve.rest.as_str()) {
            (None, "") => label.name.clone(),
            (None, rest) => rest.to_owned(),
            (Some(_), _) => curve.name(),
        };
        data.push(json!({
            "type": kind, "mode": "lines+markers", "name": name, "x": x, "y": mean,
            "error_y": {
                "type": "data", "symmetric": false, "thickness": 1, "visible": several,
                "array": above(&high, &mean), "arrayminus": above(&mean, &low),
            },
            "line": picture.line(set, place), "marker": {"color": picture.colour(set, place)},
        }));
    }
    let numeric = data.iter().flat_map(|curve| curve["x"].as_array()).flatten().all(Json::is_number);
    let at = || data.iter().flat_map(|curve| curve["x"].as_array()).flatten().filter_map(Json::as_f64);
    let (least, most) =
        at().fold((f64::INFINITY, 0.0_f64), |(least, most), at| (least.min(at), most.max(at)));
    let name = spec.x.as_deref().unwrap_or("Scheme");
    let named = quantity.map_or_else(|| name.to_owned(), |quantity| format!("{name} ({})", quantity.unit()));
    let wide = set.answer.is_some() && least > 0.0 && most > 20.0 * least;
    let mut x = number_axis(&named, spec.log_x || wide);
    if !numeric || spec.kind == PlotKind::Bar {
        x = json!({"title": {"text": spec.x.as_deref().unwrap_or("Scheme")}, "type": "category"});
    }
    let mut y = number_axis(&label.axis(), spec.log_y);
    if !spec.log_y {
        y["rangemode"] = "tozero".into();
    } else if spec.kind == PlotKind::Bar && range.0 <= range.1 {
        // Bars have no natural foot on such an axis: a power of ten, low enough that the shortest one can be seen.
        y["range"] = json!([(libm::log10(range.0) - 0.1).floor(), libm::log10(range.1) + 0.1]);
    }
    note.push_str(&gaps.text());
    let note = note.trim_start().to_owned();
    let mut layout = layout(x, y);
    layout["barmode"] = "group".into();
    Plot { title: picture.title(spec), note, height: HEIGHT, data, layout }
}

/// What a plot of fields does not show, or shows in part: by the reason, the names of what it is about.
#[derive(Default)]
struct Gaps(BTreeMap<&'static str, Vec<String>>);

impl Gaps {
    /// Notes what a run's number says less than it seems to.
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

    /// A sentence a reason, each after a space.
    fn text(&self) -> String {
        self.0.iter().map(|(reason, names)| format!(" {reason}: {}.", names.join("; "))).collect()
    }
}

/// What swept values are that are written as text with a unit.
#[derive(Clone, Copy)]
enum Quantity {
    Bytes,
    Duration,
    Rate,
}

impl Quantity {
    /// What all of them are; none when they are not of one kind, or numbers already.
    fn of(values: Vec<&Value>) -> Option<Quantity> {
        let all = [Quantity::Bytes, Quantity::Duration, Quantity::Rate];
        let fits = |quantity: &Quantity| values.iter().all(|value| quantity.number(value).is_some());
        all.into_iter().find(fits).filter(|_| !values.is_empty())
    }

    /// A value in [`Self::unit`].
    fn number(self, value: &Value) -> Option<f64> {
        let Value::Text(text) = value else { return None };
        Some(match self {
            Quantity::Bytes => text.parse::<Bytes>().ok()?.0 as f64 / 1e3,
            Quantity::Duration => text.parse::<Duration>().ok()?.as_us(),
            Quantity::Rate => text.parse::<Rate>().ok()?.0 as f64 / 1e9,
        })
    }

    fn unit(self) -> &'static str {
        match self {
            Quantity::Bytes => "KB",
            Quantity::Duration => "µs",
            Quantity::Rate => "Gbps",
        }
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
