//! A plot's numbers as a table, for readers who cannot see the plot.

use super::markup::escape;
use super::plot::Plot;
use crate::labels::significant;
use serde_json::Value as Json;

/// The largest number of points of a plot that the table lists individually.
const MOST: usize = 40;

/// The table, collapsed at first. It is empty if nothing is drawn.
pub(super) fn section(plot: &Plot) -> String {
    if plot.data.is_empty() {
        return String::new();
    }
    let length = |trace: &Json| trace["x"].as_array().map_or(0, Vec::len);
    let all = |key: &str| plot.data.iter().all(|trace| trace[key] == true);
    let are_named = plot.data.iter().all(|trace| trace["names"].is_array());
    let is_map = plot.data.iter().all(|trace| trace["kind"] == "heat");
    let (head, rows): (Vec<String>, Vec<Vec<String>>) = if is_map {
        (owned(["panel", "largest", "where"]), plot.data.iter().map(of_map).collect())
    } else if are_named {
        let [x, y] = [&plot.layout["x"], &plot.layout["panels"][0]["y"]].map(title);
        (
            vec![
                "scheme".to_owned(),
                y,
                "from".to_owned(),
                "to".to_owned(),
                x,
                "paths, full queue".to_owned(),
            ],
            of_names(plot),
        )
    } else if all("share") {
        let x = plot.layout["x"]["title"].as_str().unwrap_or_default();
        let head = owned(["curve", "P50", "P90", "P99", "largest"]);
        (first_cell(head, x), plot.data.iter().map(of_distribution).collect())
    } else if plot.data.iter().map(length).sum::<usize>() <= MOST {
        let [x, y] = [&plot.layout["x"], &plot.layout["panels"][0]["y"]].map(title);
        let whiskers = plot.data.iter().any(|trace| trace["low"].is_array());
        let mut head = vec!["curve".to_owned(), x, y];
        if whiskers {
            head.extend(owned(["least", "largest"]));
        }
        (head, plot.data.iter().flat_map(|trace| points(trace, whiskers)).collect())
    } else {
        let y = title(&plot.layout["panels"][0]["y"]);
        let head = owned(["curve", "points", "least", "median", "largest"]);
        (first_cell(head, &y), plot.data.iter().map(|trace| summary(trace, plot)).collect())
    };
    let head: String = head.iter().map(|cell| format!("<th scope=\"col\">{}</th>", escape(cell))).collect();
    let row = |cells: &Vec<String>| {
        let (name, rest) =
            cells.split_first().map_or((String::new(), &[][..]), |(name, rest)| (escape(name), rest));
        let rest: String = rest.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
        format!("<tr><th scope=\"row\">{name}</th>{rest}</tr>")
    };
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<details class=\"values\"><summary>The numbers</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"Numbers of {title}\"><table class=\"numbers\"><caption>{title}</caption><thead><tr>{head}</tr></thead>\
         <tbody>{rows}</tbody></table></div></details>",
        title = escape(&plot.title)
    )
}

fn owned<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

fn first_cell(mut head: Vec<String>, axis: &str) -> Vec<String> {
    head[0] = format!("curve; {axis}");
    head
}

fn title(axis: &Json) -> String {
    axis["title"].as_str().unwrap_or_default().to_owned()
}

fn name(trace: &Json, plot: &Plot) -> String {
    let name = trace["name"].as_str().unwrap_or_default();
    let panel = trace["panel"].as_u64().unwrap_or_default() as usize;
    match plot.layout["panels"][panel]["name"].as_str() {
        Some(panel) if !panel.is_empty() && panel != name => format!("{panel}: {name}"),
        _ => name.to_owned(),
    }
}

fn cell(value: &Json) -> String {
    match (value.as_f64(), value.as_str()) {
        (Some(number), _) => significant(number),
        (None, Some(text)) => text.to_owned(),
        (None, None) => "-".to_owned(),
    }
}

fn points(trace: &Json, whiskers: bool) -> Vec<Vec<String>> {
    let keys: &[&str] = if whiskers { &["x", "y", "low", "high"] } else { &["x", "y"] };
    let count = trace["x"].as_array().map_or(0, Vec::len);
    let row = |index: usize| {
        let name = trace["name"].as_str().unwrap_or_default().to_owned();
        let cells = keys.iter().map(|key| cell(&trace[*key][index]));
        [name].into_iter().chain(cells).collect()
    };
    (0..count).map(row).collect()
}

/// A row for each named point, in the order of their y values.
fn of_names(plot: &Plot) -> Vec<Vec<String>> {
    let count = |trace: &Json| trace["names"].as_array().map_or(0, Vec::len);
    let all = plot.data.iter().flat_map(|trace| (0..count(trace)).map(move |at| (trace, at)));
    let mut all: Vec<(&Json, usize)> = all.collect();
    let height = |(trace, at): &(&Json, usize)| trace["y"][*at].as_f64().unwrap_or(f64::INFINITY);
    all.sort_by(|one, other| height(one).total_cmp(&height(other)));
    let row = |(trace, at): (&Json, usize)| {
        let numbers = ["names", "y", "low", "high", "x"].map(|key| cell(&trace[key][at]));
        numbers.into_iter().chain([trace["name"].as_str().unwrap_or_default().to_owned()]).collect()
    };
    all.into_iter().map(row).collect()
}

/// The name of a distribution, its percentiles P50, P90 and P99, and its largest value.
fn of_distribution(trace: &Json) -> Vec<String> {
    let at = |percent: f64| {
        let shares = trace["y"].as_array().into_iter().flatten();
        let index = shares.filter_map(Json::as_f64).position(|share| share >= percent)?;
        Some(cell(&trace["x"][index]))
    };
    let largest = trace["x"].as_array().and_then(|x| x.last()).map(cell);
    let cells = [at(50.0), at(90.0), at(99.0), largest].map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
    [trace["name"].as_str().unwrap_or_default().to_owned()].into_iter().chain(cells).collect()
}

fn summary(trace: &Json, plot: &Plot) -> Vec<String> {
    let key = if trace["kind"] == "band" { "high" } else { "y" };
    let mut values: Vec<f64> = trace[key].as_array().into_iter().flatten().filter_map(Json::as_f64).collect();
    values.sort_by(f64::total_cmp);
    let shown = |value: Option<&f64>| value.map_or_else(|| "-".to_owned(), |value| significant(*value));
    let median = values.get(values.len().saturating_sub(1) / 2);
    let cells = [values.len().to_string(), shown(values.first()), shown(median), shown(values.last())];
    [name(trace, plot)].into_iter().chain(cells).collect()
}

fn of_map(trace: &Json) -> Vec<String> {
    let rows = trace["rows"].as_array().into_iter().flatten();
    let cells = trace["cells"].as_array().into_iter().flatten();
    let largest = |row: &Json| row.as_array()?.iter().filter_map(Json::as_f64).reduce(f64::max);
    let most = rows
        .zip(cells)
        .filter_map(|(row, cells)| Some((row, largest(cells)?)))
        .reduce(|most, next| if next.1 > most.1 { next } else { most });
    let (index, value) =
        most.map_or_else(|| ("-".to_owned(), "-".to_owned()), |(row, most)| (cell(row), significant(most)));
    vec![trace["name"].as_str().unwrap_or_default().to_owned(), value, index]
}
