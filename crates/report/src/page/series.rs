//! Plots of measured values over time, as curves or scatter plots.

use super::axes;
use super::bands;
use super::curves::{Curve, Picture, line, per, scheme_look};
use super::plot::{MAX_POINTS, Plot};
use crate::index::Index;
use crate::labels::{label, thousands};
use crate::measure::covers;
use crate::ranking::baseline_of;
use anabranch_results::GOODPUT;
use anabranch_results::{CurvePoints, PlotKind, PlotSpec};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// The largest number of names of curves in a plot. A panel has at most one curve per name.
const MAX_CURVES: usize = 48;
/// The approximate largest number of points in all scatter plots of a panel.
const MAX_CLOUD: usize = 20_000;
/// The largest number of time bins of a scatter plot. Each bin keeps the same number of points, or all if it has fewer.
const STRETCHES: usize = 400;

/// Points as (microseconds, value).
type Points = Vec<(f64, f64)>;
/// Curves, sorted by name.
type Curves = BTreeMap<NaturalSortKey, Points>;

/// The points of a curve that are drawn.
struct Downsampled {
    points: Points,
    /// The number of points before downsampling.
    measured: usize,
}

/// Curves that share a panel. They are downsampled as early as possible, because all curves together may be larger than
/// memory.
struct Panel<'a> {
    scheme: &'a str,
    /// The points of scatter plots. They are downsampled once the number of scatter plots in the panel is known.
    whole: Curves,
    downsampled: BTreeMap<NaturalSortKey, Downsampled>,
}

impl Panel<'_> {
    fn add(&mut self, found: Curves, cloud: bool) {
        if cloud {
            return self.whole.extend(found);
        }
        let downsampled = |(name, points): (NaturalSortKey, Points)| {
            (name, Downsampled { points: downsampled_curve(&points), measured: points.len() })
        };
        self.downsampled.extend(found.into_iter().map(downsampled));
    }

    fn close(&mut self) {
        let whole = std::mem::take(&mut self.whole);
        let share = MAX_CLOUD / whole.len().max(1);
        let downsampled = |(name, points): (NaturalSortKey, Points)| {
            (name, Downsampled { points: downsampled_cloud(&points, share), measured: points.len() })
        };
        self.downsampled.extend(whole.into_iter().map(downsampled));
    }
}

struct Form<'a> {
    /// The dimensions whose values have separate curves.
    per: Vec<&'a str>,
    cloud: bool,
    by_entity: bool,
    panel_by_scheme: bool,
}

impl<'a> Form<'a> {
    fn of(index: &'a Index<'_>, spec: &'a PlotSpec) -> Form<'a> {
        let (per, cloud) = (per(index.set, spec), spec.kind == PlotKind::Points);
        let by_entity = per.contains(&"entity");
        let panel_by_scheme = per.contains(&"scheme") && (per.len() > 1 || cloud);
        Form { per, cloud, by_entity, panel_by_scheme }
    }

    /// The dimensions that the legend names, given the kinds of the entities. The scheme is not among them if each
    /// scheme has its own panel, because the panel's name states it.
    fn legend(&self, kinds: &BTreeSet<String>) -> String {
        let kind = match kinds.len() {
            1 => kinds.first().map_or("place", String::as_str),
            _ => "place",
        };
        let named = self.per.iter().filter(|name| **name != "scheme" || !self.panel_by_scheme);
        named.map(|name| if *name == "entity" { kind } else { *name }).collect::<Vec<_>>().join(", ")
    }
}

struct Measured<'a> {
    panels: Vec<Panel<'a>>,
    seeds: BTreeSet<u64>,
    kinds: BTreeSet<String>,
}

/// One picture, or none if nothing was measured.
///
/// If curves differ in their scheme and in something else, each scheme has its own panel. In a scatter plot, each
/// scheme has its own panel even if the curves differ only in their scheme.
pub(super) fn plot(index: &Index<'_>, spec: &PlotSpec, picture: &Picture<'_>) -> Option<Plot> {
    let form = Form::of(index, spec);
    let Measured { panels, seeds, kinds } = measured(index, spec, picture, &form);
    let names: BTreeSet<&NaturalSortKey> = panels.iter().flat_map(|panel| panel.downsampled.keys()).collect();
    if names.is_empty() {
        return None;
    }
    let drawn: Vec<&NaturalSortKey> = names.iter().copied().take(MAX_CURVES).collect();
    let baselines = baselines(index, spec, picture, &form.per);
    let y_axis = y_axis(spec, &panels, &baselines);
    let mut data: Vec<Json> = baselines.iter().map(|baseline| dashed(index, spec, baseline)).collect();
    data.extend(traces(index, spec, &form, &panels, &drawn));
    let panel_name =
        |panel: &Panel<'_>| if form.panel_by_scheme { panel.scheme.to_owned() } else { String::new() };
    let titled: Vec<Json> =
        panels.iter().map(|panel| json!({"name": panel_name(panel), "y": y_axis})).collect();
    let legend = form.legend(&kinds);
    let layout = json!({
        "x": axes::axis("Simulated time (µs)", spec.log_x), "panels": titled,
        "legend": if legend.is_empty() { Json::Null } else { legend.as_str().into() },
        "bands": bands::of(index.set, picture),
    });
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let mut note = format!("Seed {}.", seeds.join(", "));
    if !legend.is_empty() {
        note.push_str(" A click in the legend hides a curve.");
    }
    if !form.by_entity {
        note.push_str(match form.cloud {
            true => " Where several places were measured, the points of all.",
            false if spec.y == GOODPUT => " Of all hosts together.",
            false => " Where several places were measured, their mean.",
        });
    }
    if !baselines.is_empty() {
        note.push_str(" Dashed: the same run without the faults, against which it recovers.");
    }
    note.push_str(&left_out(&form, &panels, &names, &drawn));
    Some(Plot::new(spec, picture, note, data, layout))
}

fn measured<'a>(index: &Index<'_>, spec: &PlotSpec, picture: &Picture<'a>, form: &Form<'_>) -> Measured<'a> {
    let mut panels: Vec<Panel<'a>> = Vec::new();
    let (mut seeds, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    for curve in &picture.curves {
        let measured = index.series(curve.runs[0], &spec.y);
        let is_shown = |entity: &str| spec.entity.as_ref().is_none_or(|known| covers(known, entity));
        let chosen: Vec<&CurvePoints> = measured.iter().filter(|curve| is_shown(&curve.entity)).collect();
        let found = of_curve(spec, curve, &chosen, form.by_entity, form.panel_by_scheme);
        if found.is_empty() {
            continue;
        }
        kinds.extend(chosen.iter().map(|curve| entity_kind(&curve.entity).to_owned()));
        seeds.insert(index.set.runs[curve.runs[0]].seed);
        match panels.last_mut().filter(|panel| !form.panel_by_scheme || panel.scheme == curve.scheme) {
            Some(panel) => panel.add(found, form.cloud),
            None => {
                panels.iter_mut().for_each(Panel::close);
                let mut panel =
                    Panel { scheme: curve.scheme, whole: Curves::new(), downsampled: BTreeMap::new() };
                panel.add(found, form.cloud);
                panels.push(panel);
            }
        }
    }
    panels.iter_mut().for_each(Panel::close);
    Measured { panels, seeds, kinds }
}

fn y_axis(spec: &PlotSpec, panels: &[Panel<'_>], baselines: &[(&Curve<'_>, Points)]) -> Json {
    let label = label(&spec.y);
    let measured = panels.iter().flat_map(|panel| panel.downsampled.values()).flat_map(|curve| &curve.points);
    let heights = measured.chain(baselines.iter().flat_map(|(_, points)| points));
    let (least, most) =
        heights.fold((f64::INFINITY, 0.0_f64), |(least, most), (_, y)| (least.min(*y), most.max(*y)));
    match spec.log_y || axes::is_wide(least, most) {
        true => axes::axis(&label.axis(), true),
        false => json!({"title": label.axis(), "range": [0.0, most * label.factor * 1.05]}),
    }
}

/// The trace of a run without faults, as a dashed line.
fn dashed(index: &Index<'_>, spec: &PlotSpec, (curve, points): &(&Curve<'_>, Points)) -> Json {
    let factor = label(&spec.y).factor;
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().map(|(x, y)| (*x, y * factor)).unzip();
    let mut line = line(scheme_look(index.set, curve.scheme), 0.8);
    line["dash"] = "dash".into();
    json!({
        "kind": "vh", "name": format!("{} without faults", curve.name()), "scheme": curve.scheme, "panel": 0, "x": x,
        "y": y, "line": line, "baseline": true,
    })
}

fn traces(
    index: &Index<'_>,
    spec: &PlotSpec,
    form: &Form<'_>,
    panels: &[Panel<'_>],
    drawn: &[&NaturalSortKey],
) -> Vec<Json> {
    let factor = label(&spec.y).factor;
    let mut data = Vec::new();
    for (panel, Panel { scheme, downsampled: curves, .. }) in panels.iter().enumerate() {
        for (position, name) in drawn.iter().enumerate() {
            let Some(Downsampled { points, .. }) = curves.get(*name) else { continue };
            let (x, y): (Vec<f64>, Vec<f64>) = points.iter().map(|(x, y)| (*x, y * factor)).unzip();
            // The curve of a scheme has the same look as in the other plots.
            let is_scheme = form.per == ["scheme"];
            let look = if is_scheme { scheme_look(index.set, &name.text) } else { position };
            let of = match (form.panel_by_scheme, is_scheme) {
                (true, _) => Some(*scheme),
                (false, true) => Some(name.text.as_str()),
                (false, false) => None,
            };
            // A point of goodput is the mean of the interval that ends at its time. Intervals differ in length.
            let kind = match spec.y == GOODPUT {
                _ if form.cloud => "points",
                true => "vh",
                false => "line",
            };
            data.push(json!({
                "kind": kind, "name": name.text, "scheme": of, "panel": panel, "x": x, "y": y, "size": 3,
                "line": line(look, 1.4),
            }));
        }
    }
    data
}

/// Sentences about the curves and points that are not drawn.
fn left_out(
    form: &Form<'_>,
    panels: &[Panel<'_>],
    names: &BTreeSet<&NaturalSortKey>,
    drawn: &[&NaturalSortKey],
) -> String {
    let mut note = String::new();
    if names.len() > drawn.len() {
        let (drawn, all) = (drawn.len(), names.len());
        note.push_str(&format!(" {drawn} of {all} curves are drawn; series.parquet holds all."));
    }
    let shown = panels.iter().flat_map(|panel| drawn.iter().filter_map(|name| panel.downsampled.get(*name)));
    let (points_drawn, points_measured) = shown
        .fold((0, 0), |(drawn, measured), curve| (drawn + curve.points.len(), measured + curve.measured));
    if form.cloud && points_drawn < points_measured {
        note.push_str(&format!(
            " {} of {} points are drawn: where they are dense, of each short stretch of time the largest and some \
             below it, evenly chosen; series.parquet holds all.",
            thousands(points_drawn as f64),
            thousands(points_measured as f64),
        ));
    }
    note
}

/// The goodput of the runs without faults, for a picture with one curve per scheme.
fn baselines<'a>(
    index: &Index<'_>,
    spec: &PlotSpec,
    picture: &'a Picture<'_>,
    per: &[&str],
) -> Vec<(&'a Curve<'a>, Points)> {
    let runs = &index.set.runs;
    let curves = picture.curves.iter().filter(|_| spec.y == GOODPUT && per == ["scheme"]);
    let found = curves.filter_map(|curve| {
        let baseline = baseline_of(index.set, &runs[curve.runs[0]])?;
        let measured = index.series(runs.iter().position(|run| std::ptr::eq(run, baseline))?, &spec.y);
        let measured: Vec<&CurvePoints> = measured.iter().collect();
        let points = of_curve(spec, curve, &measured, false, false).into_values().next()?;
        Some((curve, downsampled_curve(&points)))
    });
    found.collect()
}

fn entity_kind(entity: &str) -> &str {
    match entity.split_once(':') {
        Some((group, _)) if entity.contains(" of ") => group,
        _ if entity.contains('/') => "link",
        Some(("qp", _)) => "queue pair",
        Some((kind, _)) => kind,
        None => "place",
    }
}

/// The measured points as a curve per entity, as the mean over entities, or all together for a scatter plot.
fn of_curve(
    spec: &PlotSpec,
    curve: &Curve<'_>,
    measured: &[&CurvePoints],
    by_entity: bool,
    panel_by_scheme: bool,
) -> Curves {
    let point = |&(time_ps, value): &(u64, f64)| (time_ps as f64 / 1e6, value);
    let name = if panel_by_scheme && !curve.rest.is_empty() { curve.rest.clone() } else { curve.name() };
    if measured.is_empty() {
        return Curves::new();
    }
    let points = || measured.iter().flat_map(|curve| &curve.points);
    if !by_entity && spec.kind == PlotKind::Points {
        let mut all: Points = points().map(point).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        return Curves::from([(NaturalSortKey::new(name), all)]);
    }
    if !by_entity {
        let mut sums: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        for (time_ps, value) in points() {
            let (sum, count) = sums.entry(*time_ps).or_default();
            (*sum, *count) = (*sum + value, *count + 1.0);
        }
        let mean: Points =
            sums.into_iter().map(|(at, (sum, count))| (at as f64 / 1e6, sum / count)).collect();
        return Curves::from([(NaturalSortKey::new(name), mean)]);
    }
    let mut curves: BTreeMap<&str, Points> = BTreeMap::new();
    for curve in measured {
        curves.entry(&curve.entity).or_default().extend(curve.points.iter().map(point));
    }
    // In a panel whose curves differ only in their entities, the names do not repeat the scheme.
    let alone = curve.rest.is_empty();
    let full = |entity: &str| if alone { entity.to_owned() } else { format!("{name}, {entity}") };
    curves.into_iter().map(|(entity, points)| (NaturalSortKey::new(full(entity)), points)).collect()
}

/// At most [`MAX_POINTS`] points: the lowest and the highest point of each chunk, so that no peak is lost.
fn downsampled_curve(points: &[(f64, f64)]) -> Points {
    if points.len() <= MAX_POINTS {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil(MAX_POINTS / 2);
    let mut downsampled = Vec::with_capacity(MAX_POINTS);
    for chunk in points.chunks(stretch) {
        let positions = 0..chunk.len();
        let low = positions.clone().min_by(|a, b| chunk[*a].1.total_cmp(&chunk[*b].1)).unwrap_or(0);
        let high = positions.max_by(|a, b| chunk[*a].1.total_cmp(&chunk[*b].1)).unwrap_or(0);
        downsampled.push(chunk[low.min(high)]);
        if low != high {
            downsampled.push(chunk[low.max(high)]);
        }
    }
    downsampled
}

/// A reduction of the time-sorted points to about `most` of them. Each time bin keeps its largest value and, below
/// that, values at even steps of rank.
fn downsampled_cloud(points: &[(f64, f64)], most: usize) -> Points {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Points::new() };
    if points.len() <= most {
        return points.to_vec();
    }
    let stretch = (last.0 - first.0) / STRETCHES as f64;
    let number = |time: f64| (((time - first.0) / stretch) as usize).min(STRETCHES - 1);
    let stretches: Vec<&[(f64, f64)]> = points.chunk_by(|a, b| number(a.0) == number(b.0)).collect();
    let share = (most / stretches.len()).max(1);
    let mut downsampled = Points::with_capacity(most);
    for together in stretches {
        let mut falling: Vec<&(f64, f64)> = together.iter().collect();
        falling.sort_by(|a, b| b.1.total_cmp(&a.1));
        let kept = falling.len().min(share);
        downsampled.extend((0..kept).map(|position| *falling[position * falling.len() / kept]));
    }
    downsampled
}

/// A sort key that compares numbers in names by value, so that `up:2` comes before `up:10`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NaturalSortKey {
    /// The parts of the name: a number as an empty text and the number, and a text as the text and 0.
    parts: Vec<(String, u64)>,
    pub(super) text: String,
}

impl NaturalSortKey {
    pub(super) fn new(text: String) -> NaturalSortKey {
        let part = |part: &str| match part.parse() {
            Ok(number) => (String::new(), number),
            Err(_) => (part.to_owned(), 0),
        };
        NaturalSortKey { parts: text.split([':', '/', ' ', ',']).map(part).collect(), text }
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
        let downsampled = downsampled_curve(&points);
        assert!(downsampled.len() <= MAX_POINTS);
        assert!(downsampled.contains(&(54_321.0, 9.0)) && downsampled.contains(&(77_777.0, 0.0)));
        assert!(downsampled.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn a_thinned_cloud_keeps_the_largest_of_each_stretch_and_some_of_the_others() {
        // 1,000 links have a point at each of 800 times. At every time, one link has the longest delay.
        let points: Points = (0..800_000_u32)
            .map(|number| (f64::from(number / 1_000), f64::from(number % 1_000 * 7 % 1_000)))
            .collect();
        let downsampled = downsampled_cloud(&points, MAX_CLOUD);
        assert!(downsampled.len() <= MAX_CLOUD && downsampled.len() > MAX_CLOUD / 2, "{}", downsampled.len());
        let mean = downsampled.iter().map(|(_, y)| y).sum::<f64>() / downsampled.len() as f64;
        assert!((mean - 500.0).abs() < 20.0, "{mean}");
        let largest = downsampled.iter().filter(|(_, y)| *y == 999.0).count();
        assert!(largest >= STRETCHES, "{largest}");
        assert_eq!(downsampled_cloud(&points[..100], 100), points[..100]);
        let at_once: Points = (0..500).map(|value| (3.0, f64::from(value))).collect();
        assert!(downsampled_cloud(&at_once, 100).contains(&(3.0, 499.0)));
    }

    #[test]
    fn entities_are_called_what_they_are() {
        let kinds = ["tor:0/up:3", "qp:4", "bin:7", "bins", "rail:1 of tor:0/up"].map(entity_kind);
        assert_eq!(kinds, ["link", "queue pair", "bin", "place", "rail"]);
    }

    #[test]
    fn ports_are_in_the_order_of_their_numbers() {
        let names =
            ["tor:0/up:10", "tor:0/up:2", "tor:0/down:3"].map(|name| NaturalSortKey::new(name.to_owned()));
        let names = BTreeSet::from(names);
        assert_eq!(
            names.iter().map(|name| name.text.as_str()).collect::<Vec<_>>(),
            ["tor:0/down:3", "tor:0/up:2", "tor:0/up:10"]
        );
    }
}
