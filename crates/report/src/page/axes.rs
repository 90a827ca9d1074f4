//! Axes of plots, as `{title, log, zero, range, categories, si, foot}`. With `zero`, the axis starts at zero. `range`
//! gives the ends of the axis. With `categories`, the labels are the values themselves: in the order in which they
//! occur (`true`), or in the order of a list. With `si`, numbers are written as 20K. `foot` is the position of zero
//! on a logarithmic axis.

use super::plot::Plot;
use serde_json::{Value as Json, json};

/// An axis is logarithmic by default if the ratio of the largest value to the smallest exceeds this number.
const WIDE: f64 = 20.0;
/// An axis is in milliseconds if its longest time is at least this many microseconds.
const IN_MS: f64 = 10_000.0;
const MICROS: &str = "(µs)";

pub(super) fn axis(title: &str, log: bool) -> Json {
    json!({"title": title, "log": log})
}

pub(super) fn from_zero(title: &str, log: bool) -> Json {
    json!({"title": title, "log": log, "zero": !log})
}

pub(super) fn layout(x: Json, y: Json) -> Json {
    json!({"x": x, "panels": [{"y": y}]})
}

/// Whether an axis with values from `least` to `most` is logarithmic by default.
pub(super) fn is_wide(least: f64, most: f64) -> bool {
    least > 0.0 && most.is_finite() && most > WIDE * least
}

pub(super) fn wide_y(data: &[Json]) -> bool {
    let (least, most) = span(data.iter().flat_map(|trace| numbers(trace, &["y", "low", "high"])));
    is_wide(least, most)
}

fn numbers<'a>(trace: &'a Json, keys: &'a [&str]) -> impl Iterator<Item = f64> + 'a {
    keys.iter().filter_map(|key| trace[*key].as_array()).flatten().filter_map(Json::as_f64)
}

fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)))
}

/// Gives plots that are compared with each other the same axes. Long times are converted to milliseconds.
pub(super) fn share(plots: &mut [Plot]) {
    if plots.len() > 1 {
        share_x(plots);
        share_y(plots);
        share_colours(plots);
    }
    in_ms(plots);
}

fn share_x(plots: &mut [Plot]) {
    let has_indexes = |plot: &Plot| plot.layout["x"]["categories"] == true;
    let (least, most) =
        span(plots.iter().flat_map(|plot| &plot.data).flat_map(|trace| numbers(trace, &["x", "ends"])));
    if plots.iter().any(has_indexes) || least > most {
        return;
    }
    let log = least > 0.0 && plots.iter().any(|plot| plot.layout["x"]["log"] == true);
    for plot in plots {
        plot.layout["x"]["log"] = log.into();
        plot.layout["x"]["range"] = json!([least, most]);
    }
}

/// Lets the strongest colour stand for the same value in all heat maps.
fn share_colours(plots: &mut [Plot]) {
    let traces = plots.iter().flat_map(|plot| &plot.data);
    let rows = traces.filter_map(|trace| trace["cells"].as_array()).flatten();
    let cells = rows.filter_map(Json::as_array).flatten().filter_map(Json::as_f64);
    if let Some(top) = cells.reduce(f64::max) {
        plots.iter_mut().for_each(|plot| plot.layout["top"] = top.into());
    }
}

fn share_y(plots: &mut [Plot]) {
    let Some((log, least, most)) = common_y(plots) else { return };
    for panel in plots.iter_mut().filter_map(|plot| plot.layout["panels"].as_array_mut()).flatten() {
        panel["y"]["log"] = log.into();
        panel["y"]["zero"] = (!log).into();
        panel["y"]["range"] = json!([least, most]);
    }
}

/// The common y axis of all panels: whether it is logarithmic, and its two ends. It is logarithmic if the axis of any
/// panel is. The result is `None` if an axis has categories, if there are no values, or if a logarithmic axis would
/// begin at 0 or below.
fn common_y(plots: &[Plot]) -> Option<(bool, f64, f64)> {
    let panels = plots.iter().filter_map(|plot| plot.layout["panels"].as_array()).flatten();
    let axes: Vec<&Json> = panels.map(|panel| &panel["y"]).collect();
    let log = axes.iter().any(|y| y["log"] == true);
    let given = axes.iter().flat_map(|y| numbers(y, &["range"]));
    let data =
        plots.iter().flat_map(|plot| &plot.data).flat_map(|trace| numbers(trace, &["y", "low", "high"]));
    let all = axes.iter().all(|y| y["range"].is_array());
    let (mut least, most) = if all { span(given) } else { span(given.chain(data)) };
    if !log && axes.iter().any(|y| y["zero"] == true) {
        least = least.min(0.0);
    }
    if least > most || (log && least <= 0.0) || axes.iter().any(|y| y["categories"] == true) {
        return None;
    }
    // The axis leaves some room above the largest value. A `range` that is given already includes that room.
    let most = match (all, log) {
        (true, _) => most,
        (false, true) => most * 1.25,
        (false, false) => most * 1.05,
    };
    Some((log, least, most))
}

fn in_ms(plots: &mut [Plot]) {
    let longest = |keys: &[&str]| {
        span(plots.iter().flat_map(|plot| &plot.data).flat_map(|trace| numbers(trace, keys))).1
    };
    let (is_long_x, is_long_y) = (longest(&["x", "ends"]) >= IN_MS, longest(&["y", "high"]) >= IN_MS);
    for plot in plots {
        if is_long_x && is_micros(&plot.layout["x"]) {
            rename(&mut plot.layout["x"]);
            plot.data.iter_mut().for_each(|trace| scale(trace, &["x", "ends"]));
            let bands = plot.layout["bands"].as_array_mut().into_iter().flatten();
            bands.for_each(|band| scale(band, &["from", "to", "every", "lasts"]));
        }
        let panels = plot.layout["panels"].as_array_mut().into_iter().flatten();
        let axes: Vec<&mut Json> =
            panels.map(|panel| &mut panel["y"]).filter(|axis| is_micros(axis)).collect();
        if is_long_y && !axes.is_empty() {
            axes.into_iter().for_each(rename);
            plot.data.iter_mut().for_each(|trace| scale(trace, &["y", "low", "high"]));
        }
    }
}

fn is_micros(axis: &Json) -> bool {
    axis["title"].as_str().is_some_and(|title| title.ends_with(MICROS))
}

fn rename(axis: &mut Json) {
    axis["title"] = axis["title"].as_str().unwrap_or_default().replace(MICROS, "(ms)").into();
    scale(axis, &["range"]);
}

/// Converts the numbers under these keys from microseconds to milliseconds.
fn scale(of: &mut Json, keys: &[&str]) {
    let to_ms = |value: &mut Json| {
        if let Some(number) = value.as_f64() {
            *value = (number / 1e3).into();
        }
    };
    for key in keys {
        match of.get_mut(*key) {
            Some(Json::Array(values)) => values.iter_mut().for_each(to_ms),
            Some(value) => to_ms(value),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(x: &[f64], y: &[f64]) -> Plot {
        let mut layout = layout(axis("Simulated time (µs)", false), from_zero("FCT (µs)", false));
        layout["bands"] = json!([{"from": 5000.0, "to": null}]);
        Plot {
            title: "T".into(),
            note: String::new(),
            whole: "T".into(),
            part: String::new(),
            data: vec![json!({"x": x, "y": y})],
            layout,
        }
    }

    #[test]
    fn plots_that_are_compared_have_the_same_axes() {
        let mut plots = [plot(&[1.0, 2.0], &[10.0]), plot(&[3.0, 9.0], &[20.0])];
        share(&mut plots);
        for plot in plots {
            assert_eq!(plot.layout["x"]["range"], json!([1.0, 9.0]));
            assert_eq!(plot.layout["panels"][0]["y"]["range"], json!([0.0, 21.0]));
        }
    }

    #[test]
    fn long_times_are_in_milliseconds_everywhere() {
        let mut plots = [plot(&[1.0, 20_000.0], &[9_999.0])];
        share(&mut plots);
        assert_eq!(plots[0].data[0]["x"], json!([0.001, 20.0]));
        assert_eq!(plots[0].data[0]["y"], json!([9_999.0]));
        assert_eq!(plots[0].layout["x"]["title"], "Simulated time (ms)");
        assert_eq!(plots[0].layout["bands"], json!([{"from": 5.0, "to": null}]));
        let mut plots = [plot(&[1.0], &[10_000.0])];
        share(&mut plots);
        assert_eq!((&plots[0].data[0]["y"], &plots[0].data[0]["x"]), (&json!([10.0]), &json!([1.0])));
        assert_eq!(plots[0].layout["panels"][0]["y"]["title"], "FCT (ms)");
    }

    #[test]
    fn an_axis_is_logarithmic_above_a_range_of_20() {
        assert!(is_wide(1.0, 20.1) && !is_wide(1.0, 20.0) && !is_wide(0.0, 100.0));
        assert!(!is_wide(f64::INFINITY, f64::NEG_INFINITY));
        assert!(wide_y(&[json!({"y": [1.0, null]}), json!({"y": [30.0]})]));
        assert!(!wide_y(&[json!({"y": [0.0, 30.0]})]));
    }
}
