//! Plots of more links (or other entities) than curves can show: the distribution over the links, and a map of every
//! link over time.

use super::axes::layout;
use super::bands;
use super::curves::{Picture, line, per};
use super::plot::Plot;
use super::series::NaturalSortKey;
use crate::index::Index;
use crate::labels::label;
use crate::measure::covers;
use anabranch_results::{CurvePoints, PlotSpec};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// The largest number of entities that are drawn as curves.
pub(super) const MAX_CURVES: usize = 16;
/// The largest number of columns of a map. Each column is an interval of time.
const STRETCHES: u64 = 160;
const ROWS: usize = 64;
/// The two percentiles of the links between which the band is drawn.
const BAND: [usize; 2] = [10, 90];

/// The mean and the largest value in each time column, or none if the column has no value.
type Cells = Vec<Option<(f64, f64)>>;

/// The values of the links of a run in each time column.
struct Grid {
    /// The start of the first column, in microseconds.
    start: f64,
    stretch: f64,
    links: BTreeMap<NaturalSortKey, Cells>,
}

/// Whether the plot has a curve for each entity, and more entities than curves can show.
pub(super) fn are_many(index: &Index<'_>, spec: &PlotSpec) -> bool {
    let is_shown = |entity: &str| spec.entity.as_ref().is_none_or(|entity_of| covers(entity_of, entity));
    let names = index.curve_names().filter(|(series, entity)| *series == spec.y && is_shown(entity));
    per(index.set, spec).contains(&"entity")
        && names.map(|(_, entity)| entity).collect::<BTreeSet<&str>>().len() > MAX_CURVES
}

/// The plot of median and band, and the map, or none if nothing was measured.
pub(super) fn plots(index: &Index<'_>, spec: &PlotSpec, picture: &Picture<'_>) -> Option<(Plot, Plot)> {
    let is_shown = |curve: &&CurvePoints| spec.entity.as_ref().is_none_or(|of| covers(of, &curve.entity));
    let mut grids: Vec<(String, &str, Grid)> = Vec::new();
    let mut seeds = BTreeSet::new();
    for curve in &picture.curves {
        let measured = index.series(curve.runs[0], &spec.y);
        let chosen: Vec<&CurvePoints> = measured.iter().filter(is_shown).collect();
        if let Some(grid) = grid(&chosen) {
            seeds.insert(index.set.runs[curve.runs[0]].seed.to_string());
            grids.push((curve.name(), curve.scheme, grid));
        }
    }
    let links = grids.iter().map(|(_, _, grid)| grid.links.len()).max()?;
    let seeds: Vec<String> = seeds.into_iter().collect();
    let seeds = format!("Seed {}. {links} places in each panel.", seeds.join(", "));
    let bands = bands::of(index.set, picture);
    let label = label(&spec.y);
    let x = || json!({"title": "Simulated time (µs)", "log": spec.log_x});

    let data: Vec<Json> = grids
        .iter()
        .enumerate()
        .flat_map(|(panel, (_, scheme, grid))| together(panel, scheme, grid, label.factor))
        .collect();
    let mut of_all = layout(x(), Json::Null);
    let axis = json!({"title": label.axis(), "log": spec.log_y, "zero": !spec.log_y});
    let panels = grids.iter().map(|(name, ..)| json!({"name": name, "y": axis}));
    (of_all["panels"], of_all["bands"]) = (panels.collect(), bands.clone().into());
    let note = format!(
        "{seeds} The line is their median in each stretch of time, the band holds all but the lowest and the highest \
         tenth, the dotted line is the highest."
    );
    let of_all = Plot::new(spec, picture, note, data, of_all);

    let data = grids.iter().enumerate().map(|(panel, (name, scheme, grid))| {
        let mut trace = map(grid, label.factor);
        (trace["name"], trace["scheme"], trace["panel"]) =
            (name.as_str().into(), (*scheme).into(), panel.into());
        trace
    });
    let data: Vec<Json> = data.collect();
    let mut of_each = layout(x(), Json::Null);
    let axis = json!({"title": "", "categories": true});
    let panels = grids.iter().map(|(name, ..)| json!({"name": name, "y": axis}));
    (of_each["panels"], of_each["bands"]) = (panels.collect(), bands.into());
    of_each["value"] = label.axis().into();
    let several = if links > ROWS { " A row stands for several that follow each other." } else { "" };
    let note = format!("{seeds} A row is a place, a cell the largest value of a stretch of time.{several}");
    let mut of_each = Plot::new(spec, picture, note, data, of_each);
    of_each.whole.push_str(", place by place");
    of_each.title.push_str(", place by place");
    Some((of_all, of_each))
}

/// The grid of these curves, with at most [`STRETCHES`] columns. If the points have at most that many distinct times,
/// at regular intervals, each column is one of these intervals.
fn grid(curves: &[&CurvePoints]) -> Option<Grid> {
    let times: BTreeSet<u64> = curves.iter().flat_map(|curve| &curve.points).map(|(time, _)| *time).collect();
    let (first, last) = (*times.first()?, *times.last()?);
    let many = times.len() as u64;
    // A value belongs to the interval that ends at the time of the value.
    let step = ((last - first) / (many - 1).max(1)).max(1);
    let count = many.min(STRETCHES);
    let whole = u128::from(last - first + step);
    let position = |time: u64| (u128::from(time - first) * u128::from(count) / whole) as usize;
    let mut links: BTreeMap<NaturalSortKey, Cells> = BTreeMap::new();
    for curve in curves {
        let mut sums: Vec<(f64, f64, f64)> = vec![(0.0, 0.0, f64::NEG_INFINITY); count as usize];
        for &(time, value) in &curve.points {
            let (sum, number, most) = &mut sums[position(time)];
            (*sum, *number, *most) = (*sum + value, *number + 1.0, most.max(value));
        }
        let cells = links
            .entry(NaturalSortKey::new(curve.entity.to_string()))
            .or_insert_with(|| vec![None; count as usize]);
        for (cell, (sum, number, most)) in cells.iter_mut().zip(sums) {
            if number > 0.0 {
                *cell = Some((sum / number, most));
            }
        }
    }
    let stretch = whole as f64 / count as f64 / 1e6;
    Some(Grid { start: (first as f64 - step as f64) / 1e6, stretch, links })
}

/// The band, the largest value and the median of the links.
fn together(panel: usize, scheme: &str, grid: &Grid, factor: f64) -> [Json; 3] {
    let count = grid.links.values().next().map_or(0, Vec::len);
    let (mut x, mut median, mut most) = (Vec::new(), Vec::new(), Vec::new());
    let mut ends = [Vec::new(), Vec::new()];
    for position in 0..count {
        let cells = || grid.links.values().filter_map(|cells| cells[position]);
        let mut means: Vec<f64> = cells().map(|(mean, _)| mean * factor).collect();
        means.sort_by(f64::total_cmp);
        let Some(last) = means.len().checked_sub(1) else { continue };
        x.push(grid.start + (position + 1) as f64 * grid.stretch);
        median.push((means[last / 2] + means[means.len() / 2]) / 2.0);
        for (end, share) in ends.iter_mut().zip(BAND) {
            end.push(means[last * share / 100]);
        }
        most.push(cells().map(|(_, most)| most * factor).fold(f64::NEG_INFINITY, f64::max));
    }
    let [low, high] = ends;
    let dotted = json!({"color": "#8a94a3", "dash": "dot", "width": 1.2});
    let own = line(0, 1.8);
    [
        json!({"kind": "band", "name": "10th to 90th percentile", "scheme": scheme, "panel": panel, "x": x, "y": [],
               "low": low, "high": high, "line": own}),
        json!({"kind": "line", "name": "highest", "scheme": scheme, "panel": panel, "x": x, "y": most, "line": dotted}),
        json!({"kind": "line", "name": "median", "scheme": scheme, "panel": panel, "x": x, "y": median, "line": own}),
    ]
}

/// The cells of the map in rows. If there are more links than rows, several links share a row.
fn map(grid: &Grid, factor: f64) -> Json {
    let links: Vec<(&NaturalSortKey, &Cells)> = grid.links.iter().collect();
    let count = links.first().map_or(0, |(_, cells)| cells.len());
    let (mut rows, mut cells) = (Vec::new(), Vec::new());
    for several in links.chunks(links.len().div_ceil(ROWS).max(1)) {
        rows.push(match several {
            [(first, _), .., (last, _)] => format!("{} to {}", first.text, last.text),
            _ => several[0].0.text.clone(),
        });
        let largest = |position: usize| -> Option<f64> {
            several.iter().filter_map(|(_, cells)| Some(cells[position]?.1 * factor)).reduce(f64::max)
        };
        cells.push((0..count).map(largest).collect::<Vec<Option<f64>>>());
    }
    let end = grid.start + count as f64 * grid.stretch;
    json!({"kind": "heat", "ends": [grid.start, end], "rows": rows, "cells": cells})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(entity: &str, points: &[(u64, f64)]) -> CurvePoints {
        CurvePoints { entity: entity.into(), points: points.to_vec() }
    }

    #[test]
    fn regular_points_have_a_stretch_each_that_ends_with_them() {
        let curves: Vec<CurvePoints> = (0..100)
            .map(|link| {
                let points: Vec<(u64, f64)> =
                    (1..=4).map(|step| (step * 2_000_000, f64::from(link) * step as f64)).collect();
                curve(&format!("tor:0/up:{link}"), &points)
            })
            .collect();
        let grid = grid(&curves.iter().collect::<Vec<_>>()).unwrap();
        let [band, most, median] = together(0, "reps", &grid, 1.0);
        assert_eq!(median["x"], json!([2.0, 4.0, 6.0, 8.0]));
        assert_eq!(median["y"], json!([49.5, 99.0, 148.5, 198.0]));
        assert_eq!(most["y"], json!([99.0, 198.0, 297.0, 396.0]));
        assert_eq!((&band["low"][0], &band["high"][0]), (&json!(9.0), &json!(89.0)));
        let map = map(&grid, 1.0);
        assert_eq!(map["ends"], json!([0.0, 8.0]));
        assert_eq!(map["rows"].as_array().unwrap().len(), 50);
        assert_eq!((&map["rows"][0], &map["cells"][0][3]), (&json!("tor:0/up:0 to tor:0/up:1"), &json!(4.0)));
    }

    #[test]
    fn a_peak_between_many_points_stays_in_the_map() {
        let mut points: Vec<(u64, f64)> = (0..100_000).map(|step| (step, 1.0)).collect();
        points[54_321].1 = 9.0;
        let grid = grid(&[&curve("tor:0/up:0", &points)]).unwrap();
        let cells = map(&grid, 2.0)["cells"][0].as_array().unwrap().clone();
        assert_eq!(cells.len(), STRETCHES as usize);
        assert_eq!(cells.iter().filter(|cell| **cell == json!(18.0)).count(), 1);
        assert!(super::grid(&[]).is_none());
    }
}
