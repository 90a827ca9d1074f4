//! The league's plots of a scenario. The first shows the time of each scheme against the measure that the scenario's
//! file names. If there are faults, the second shows goodput over time. The plots show correlations and do not claim a
//! cause.

use super::plot::Plot;
use super::plots;
use crate::groups::groups;
use crate::index::Index;
use crate::labels::{Label, label, palette, significant};
use crate::ranking::Quantity;
use anabranch_results::{
    DATA_PACKETS_HIT, Estimate, Explanation, GOODPUT, Overflow, PathChoice, PlotKind, PlotSpec, ResultSet,
    RunRow,
};
use serde_json::{Value as Json, json};

/// If the ratio of the longest time to the shortest exceeds this number, the axis of times is logarithmic. On a linear
/// axis, many schemes near the ideal would be hard to distinguish.
const WIDE_TIMES: f64 = 3.0;
/// The largest number of schemes that the caption names as furthest from the common order.
const NAMED: usize = 3;
/// The smallest number of schemes with one path choice for which the caption gives their own rank correlation.
const ENOUGH: usize = 6;
/// The smallest absolute value of a correlation for which there is a common order from which a scheme can deviate.
const AN_ORDER: f64 = 0.6;

/// The time of a scheme that finished. If faults affected some schemes, the others are left out.
pub(super) struct SchemeTime<'a> {
    pub scheme: &'a str,
    pub over_ideal: Estimate,
}

pub(super) struct TimesPlot {
    pub plot: Plot,
    /// Spearman's rank correlation between the times and the measures of the schemes in the plot. None if all times or
    /// all measures are equal.
    pub correlation: Option<f64>,
}

/// The components that may choose a packet's path.
const PATHS: [&str; 3] = ["hash", "host", "switches"];

/// [`PATHS`] as text for sentences.
const CLAUSES: [&str; 3] = ["a queue pair has one path", "the host chooses paths", "switches choose paths"];

/// The possible reactions of a switch to a full queue, each with its marker in the plot.
const FULL: [(&str, &str); 3] = [("drops", "circle"), ("trims", "triangle"), ("pauses", "square")];

/// The index in [`PATHS`] of the component that chooses the scheme's paths, and the index in [`FULL`] of the action at
/// a full queue. Both are 0 for a scheme without facts.
fn kind_of(set: &ResultSet, scheme: &str) -> (usize, usize) {
    let facts = set.facts.points.iter().flat_map(|point| &point.schemes).find(|facts| facts.name == scheme);
    let Some(facts) = facts else { return (0, 0) };
    let path = match facts.path_choice {
        PathChoice::Hash => 0,
        PathChoice::Host => 1,
        PathChoice::Switches => 2,
    };
    let full = match facts.overflow {
        Overflow::Drops => 0,
        Overflow::Trims => 1,
        Overflow::Pauses => 2,
    };
    (path, full)
}

fn measured(run: &RunRow, measure: &str) -> Option<f64> {
    match measure {
        DATA_PACKETS_HIT => Some(run.faults.iter().map(|fault| fault.data_packets).sum::<u64>() as f64),
        _ => run.number(measure),
    }
}

/// The points of a plot of times against a measure, in the order of increasing time.
struct Points<'a> {
    /// Each scheme with the value of the measure.
    points: Vec<(&'a SchemeTime<'a>, f64)>,
    /// For each scheme, its indices in [`PATHS`] and [`FULL`].
    kinds: Vec<(usize, usize)>,
}

/// The plot of times against a measure, or none if fewer than three schemes have both numbers.
pub(super) fn times_plot(
    set: &ResultSet,
    timed: &[SchemeTime<'_>],
    quantity: Quantity,
    explanation: &Explanation,
) -> Option<TimesPlot> {
    let groups = groups(set);
    let mean = |scheme: &str| {
        let group = groups.iter().find(|group| group.scheme == scheme)?;
        let numbers: Vec<f64> =
            group.runs().map(|run| measured(run, &explanation.measure)).collect::<Option<_>>()?;
        Some(Estimate::of(&numbers)?.mean)
    };
    let Label { name, unit, factor } = label(&explanation.measure);
    let called = explanation.called.clone().unwrap_or(name);
    let mut points: Vec<(&SchemeTime<'_>, f64)> =
        timed.iter().filter_map(|one| Some((one, mean(one.scheme)? * factor))).collect();
    points.sort_by(|one, other| one.0.over_ideal.mean.total_cmp(&other.0.over_ideal.mean));
    if points.len() < 3 {
        return None;
    }
    let kinds = points.iter().map(|(one, _)| kind_of(set, one.scheme)).collect();
    let points = Points { points, kinds };
    let (times, measures) = points.numbers();
    let correlation = rank_correlation(&measures, &times);
    let far = correlation.map_or_else(Vec::new, |correlation| outliers(&measures, &times, correlation));
    let ratio = match quantity.field {
        "cct_max_us" => "CCT / ideal CCT",
        _ => "FCT / ideal FCT",
    };
    let what = if quantity.is_time { "Time over the ideal" } else { quantity.short };
    let log = times[times.len() - 1] > WIDE_TIMES * times[0];
    let x = measure_axis(&format!("{called} ({unit})"), &measures);
    let note =
        caption(&points.points, explanation, correlation, &points.by_path(), &far, x["foot"].is_number());
    let layout = json!({"x": x, "panels": [{"y": {"title": format!("{what} ({ratio})"), "log": log}}],
        "legend": "paths chosen by, and what a full queue does:"});
    let (title, data) = (format!("{called} and time"), points.traces(&far));
    let plot = Plot { title: title.clone(), note, whole: title, part: String::new(), data, layout };
    Some(TimesPlot { plot, correlation })
}

impl Points<'_> {
    fn numbers(&self) -> (Vec<f64>, Vec<f64>) {
        self.points.iter().map(|(one, measure)| (one.over_ideal.mean, *measure)).unzip()
    }

    /// A trace for each kind of scheme. `far` has the indices of the points that are far from the common order.
    fn traces(&self, far: &[usize]) -> Vec<Json> {
        let points = &self.points;
        let first = order_of_labels(points.len(), far);
        let kinds = (0..PATHS.len()).flat_map(|path| (0..FULL.len()).map(move |full| (path, full)));
        let trace = |kind: (usize, usize)| {
            let here: Vec<usize> = (0..points.len()).filter(|at| self.kinds[*at] == kind).collect();
            let of = |number: &dyn Fn(usize) -> Json| here.iter().map(|&at| number(at)).collect::<Json>();
            let end = |at: usize, end: usize| {
                let estimate = points[at].0.over_ideal;
                estimate.interval().map_or(estimate.mean, |ends| ends[end])
            };
            let (does, shape) = FULL[kind.1];
            (!here.is_empty()).then(|| {
                json!({
                    "kind": "named", "name": format!("{}, {does}", PATHS[kind.0]), "shape": shape,
                    "names": of(&|at| points[at].0.scheme.into()), "first": of(&|at| first[at].into()),
                    "x": of(&|at| points[at].1.into()), "y": of(&|at| points[at].0.over_ideal.mean.into()),
                    "low": of(&|at| end(at, 0).max(1.0).into()), "high": of(&|at| end(at, 1).into()),
                    "line": {"color": palette(kind.0), "width": 1.5},
                })
            })
        };
        kinds.filter_map(trace).collect()
    }

    /// The index in [`PATHS`], the number of schemes and their rank correlation, for each path choice of at least
    /// [`ENOUGH`] schemes. A path choice of all schemes is left out.
    fn by_path(&self) -> Vec<(usize, usize, f64)> {
        let (times, measures) = self.numbers();
        let of_path = |path: usize| {
            let of = |values: &[f64]| -> Vec<f64> {
                let of_kinds = values.iter().zip(&self.kinds);
                of_kinds.filter(|(_, kind)| kind.0 == path).map(|(value, _)| *value).collect()
            };
            let (measures, times) = (of(&measures), of(&times));
            let has_enough = (ENOUGH..self.points.len()).contains(&times.len());
            Some((path, times.len(), rank_correlation(&measures, &times).filter(|_| has_enough)?))
        };
        (0..PATHS.len()).filter_map(of_path).collect()
    }
}

fn caption(
    points: &[(&SchemeTime<'_>, f64)],
    explanation: &Explanation,
    correlation: Option<f64>,
    within: &[(usize, usize, f64)],
    far: &[usize],
    has_foot: bool,
) -> String {
    let seeds = points.iter().map(|(one, _)| one.over_ideal.seeds).max().unwrap_or(1);
    let mut note = format!("{} A point is a scheme", explanation.says);
    if seeds > 1 {
        note.push_str(&format!(", the mean over {seeds} seeds with the 95 % interval of its time"));
    }
    note.push('.');
    if has_foot {
        note.push_str(" Zero stands at the left.");
    }
    match correlation {
        Some(correlation) => {
            note.push_str(&format!(
                " Rank correlation (Spearman) over the {} schemes: {correlation:.2}",
                points.len()
            ));
            for (path, count, correlation) in within {
                note.push_str(&format!("; over the {count} where {}: {correlation:.2}", CLAUSES[*path]));
            }
            note.push_str(". It says what goes together, not why.");
        }
        None => note.push_str(" It is the same for all schemes."),
    }
    if !far.is_empty() {
        let names: Vec<&str> = far.iter().map(|&at| points[at].0.scheme).collect();
        note.push_str(&format!(" Furthest from that order: {}.", names.join(", ")));
    }
    note
}

/// An axis for counts, some of which may be zero. On a logarithmic axis, zero is drawn at `foot`.
fn measure_axis(title: &str, values: &[f64]) -> Json {
    let positive = || values.iter().copied().filter(|value| *value > 0.0);
    let (Some(least), Some(most)) = (positive().reduce(f64::min), positive().reduce(f64::max)) else {
        return json!({"title": title, "log": false, "zero": true});
    };
    let has_none = values.iter().any(|value| *value <= 0.0);
    if !super::axes::is_wide(least, most) {
        let low = if has_none || least < 0.3 * most { 0.0 } else { least };
        let room = 0.05 * (most - low).max(0.02 * most);
        return json!({"title": title, "log": false, "si": true, "range": [low - room, most + room]});
    }
    let mut axis = json!({"title": title, "log": true, "si": true});
    if has_none {
        let mut foot = 1.0;
        while foot * 2.0 > least {
            foot /= 10.0;
        }
        while foot * 20.0 <= least {
            foot *= 10.0;
        }
        axis["foot"] = foot.into();
        axis["range"] = json!([foot * 0.75, most * 1.3]);
    }
    axis
}

/// The place of each point's label in the order of drawing, for points in the order of times. A label is drawn only if
/// there is room for it. The labels of the first three points, the last two and the points in `far` are drawn before
/// the others.
fn order_of_labels(count: usize, far: &[usize]) -> Vec<usize> {
    let ends = [0, count - 1, 1, count - 2, 2];
    let mut order: Vec<usize> = Vec::new();
    for at in ends.into_iter().chain(far.iter().copied()).chain(0..count) {
        if !order.contains(&at) {
            order.push(at);
        }
    }
    let place = |at: usize| order.iter().position(|other| *other == at).unwrap_or(count);
    (0..count).map(place).collect()
}

/// Ranks, counted from 0. Equal values have the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |value: f64| values.iter().filter(|other| **other < value).count() as f64;
    let level = |value: f64| values.iter().filter(|other| **other == value).count() as f64;
    values.iter().map(|&value| below(value) + (level(value) - 1.0) / 2.0).collect()
}

/// Spearman's rank correlation, or none if all values of one of the two are equal.
fn rank_correlation(one: &[f64], other: &[f64]) -> Option<f64> {
    let (one, other) = (ranks(one), ranks(other));
    let mean = (one.len() as f64 - 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    let spread = product(&one, &one) * product(&other, &other);
    (spread > 0.0).then(|| product(&one, &other) / spread.sqrt())
}

/// The points whose ranks by measure and by time differ most, at most [`NAMED`] of them. Only differences of more than
/// a third of the number of points count. If the correlation is negative, the ranks by measure are counted from the
/// largest value. The result is empty if the correlation is weaker than [`AN_ORDER`].
fn outliers(measures: &[f64], times: &[f64], correlation: f64) -> Vec<usize> {
    if correlation.abs() < AN_ORDER {
        return Vec::new();
    }
    let last = measures.len() as f64 - 1.0;
    let turned = |rank: f64| if correlation < 0.0 { last - rank } else { rank };
    let apart: Vec<f64> =
        ranks(measures).into_iter().zip(ranks(times)).map(|(a, b)| (turned(a) - b).abs()).collect();
    let mut far: Vec<usize> =
        (0..apart.len()).filter(|&at| 3.0 * apart[at] > measures.len() as f64).collect();
    far.sort_by(|&one, &other| apart[other].total_cmp(&apart[one]));
    far.truncate(NAMED);
    far
}

/// A plot of goodput over time for the fastest scheme, the median one and the slowest. The result is none if no run
/// has faults, if fewer than three schemes have times, or if goodput was not measured.
pub(super) fn goodput(set: &ResultSet, timed: &[SchemeTime<'_>]) -> Option<Plot> {
    if set.actual().iter().all(|run| run.faults.is_empty()) || timed.len() < 3 {
        return None;
    }
    let mut by_time: Vec<&SchemeTime<'_>> = timed.iter().collect();
    by_time.sort_by(|one, other| one.over_ideal.mean.total_cmp(&other.over_ideal.mean));
    let count = by_time.len();
    let chosen = [(0, "the first"), (count / 2, "in the middle"), (count - 1, "the last")]
        .map(|(at, what)| (by_time[at].scheme, what));
    let spec = PlotSpec {
        per: vec!["scheme".to_owned()],
        schemes: chosen.map(|(scheme, _)| scheme.to_owned()).to_vec(),
        ..PlotSpec::new(PlotKind::Series, "Goodput over time", GOODPUT)
    };
    let mut plot = plots::drawn(&Index::new(set), &spec).into_iter().next()?;
    let end = |trace: &Json| trace["x"].as_array().and_then(|x| x.last()).and_then(Json::as_f64);
    let mut ends = [None; 3];
    for trace in &mut plot.data {
        let Some(place) = chosen.iter().position(|(scheme, _)| trace["scheme"] == *scheme) else { continue };
        ends[place] = end(trace);
        trace["name"] = format!("{}, {}", chosen[place].0, chosen[place].1).into();
        trace["line"] = json!({"color": palette(place), "width": 1.6});
    }
    plot.data.sort_by_key(|trace| chosen.iter().position(|(scheme, _)| trace["scheme"] == *scheme));
    let [Some(first), Some(middle), Some(last)] = ends else { return Some(plot) };
    // The last scheme may take so long that the curves of the others would be too short to see.
    let shown = (2.0 * first).max(1.5 * middle);
    if last > 1.3 * shown {
        plot.layout["x"]["range"] = json!([0.0, shown]);
        let unit = if plot.layout["x"]["title"].as_str().is_some_and(|title| title.ends_with("(ms)")) {
            "ms"
        } else {
            "µs"
        };
        plot.note.push_str(&format!(" {} goes on until {} {unit}.", chosen[2].0, significant(last)));
    }
    Some(plot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_agree_correlate() {
        assert_eq!(rank_correlation(&[1.0, 2.0, 9.0], &[5.0, 6.0, 7.0]), Some(1.0));
        assert_eq!(rank_correlation(&[1.0, 2.0, 9.0], &[7.0, 6.0, 5.0]), Some(-1.0));
        assert_eq!(rank_correlation(&[4.0, 4.0, 4.0], &[5.0, 6.0, 7.0]), None);
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [2.5, 0.0, 2.5, 1.0]);
        let level = rank_correlation(&[1.0, 1.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((level - 4.5 / (4.5_f64 * 5.0).sqrt()).abs() < 1e-12, "{level}");
    }

    #[test]
    fn those_far_from_the_order_are_found_whichever_way_it_goes() {
        let times: Vec<f64> = (0..9).map(f64::from).collect();
        let mut measures = times.clone();
        measures.swap(0, 4);
        assert_eq!(outliers(&measures, &times, 0.7), [0, 4]);
        measures.reverse();
        assert_eq!(outliers(&measures, &times, -0.7), [4, 8]);
        assert!(outliers(&measures, &times, 0.3).is_empty());
    }

    #[test]
    fn none_has_a_place_on_a_logarithmic_axis() {
        let axis = measure_axis("Drops (count)", &[0.0, 34.0, 20_000.0]);
        assert_eq!((&axis["log"], &axis["foot"]), (&json!(true), &json!(10.0)));
        assert_eq!(measure_axis("D", &[0.0, 0.04, 3.0])["foot"], json!(0.01));
        let narrow = measure_axis("D", &[0.0, 34.0, 50.0]);
        assert!(narrow["log"] == false && narrow["range"][0].as_f64().unwrap() < 0.0, "{narrow}");
        assert!(measure_axis("D", &[90.0, 100.0])["range"][0].as_f64().unwrap() > 80.0);
        assert_eq!(measure_axis("D", &[0.0, 0.0])["zero"], true);
    }

    #[test]
    fn a_scheme_is_known_by_who_chooses_its_paths_and_what_a_full_queue_does() {
        let scheme = |name: &str, rest: &str| format!("[[scheme]]\nname = \"{name}\"\n{rest}");
        let text = [
            scheme(
                "hpcc",
                "lb = { kind = \"ecmp\" }\n[scheme.fabric]\nrouting = \"ecmp\"\npfc = { alpha = 1.0 }\n",
            ),
            scheme("reps", "lb = { kind = \"reps\" }\n[scheme.fabric]\nrouting = \"ecmp\"\ntrim = false\n"),
            scheme("dcp", "lb = { kind = \"ecmp\" }\n[scheme.fabric]\nrouting = \"adaptive\"\ntrim = true\n"),
            scheme("conweave", "lb = { kind = \"ecmp\" }\n[scheme.fabric.program]\nkind = \"conweave\"\n"),
        ];
        let mut set = ResultSet::default();
        crate::scenario_text::set_scenario(&mut set, text.concat());
        let kinds = ["hpcc", "reps", "dcp", "conweave"].map(|name| kind_of(&set, name));
        assert_eq!(kinds, [(0, 2), (1, 0), (2, 1), (2, 0)]);
    }

    #[test]
    fn labels_go_to_the_ends_first() {
        assert_eq!(order_of_labels(7, &[4]), [0, 2, 4, 6, 5, 3, 1]);
    }
}
