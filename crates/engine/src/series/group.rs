//! Curves that combine the curves of several links.

use crate::spec::Series;
use anabranch_results::SeriesRow;
use std::collections::BTreeMap;

/// A curve that combines the curves of several links. At each time, its value is the sum of the links' values. If the
/// values are delays, it is the largest of them.
#[derive(Clone)]
pub(crate) struct CurveGroup {
    pub series: Series,
    pub name: String,
    /// The numbers of the links, ascending.
    pub links: Vec<u32>,
}

/// The points of a [`CurveGroup`], to which the curves of its links are added one by one.
pub(super) struct GroupPoints<'a> {
    group: &'a CurveGroup,
    values: BTreeMap<u64, f64>,
}

impl<'a> GroupPoints<'a> {
    pub(super) fn of_series(series: Series, groups: &'a [CurveGroup]) -> Vec<GroupPoints<'a>> {
        let of_series = groups.iter().filter(|group| group.series == series);
        of_series.map(|group| GroupPoints { group, values: BTreeMap::new() }).collect()
    }

    pub(super) fn add(&mut self, link: u32, points: &[(u64, f64)]) {
        if self.group.links.binary_search(&link).is_err() {
            return;
        }
        for &(time_ps, value) in points {
            let combined = self.values.entry(time_ps).or_default();
            *combined = match self.group.series {
                Series::QueueDelay => combined.max(value),
                _ => *combined + value,
            };
        }
    }

    pub(super) fn into_rows(self) -> impl Iterator<Item = SeriesRow> {
        let (series, entity) = (self.group.series.column(), self.group.name.clone());
        self.values.into_iter().map(move |(time_ps, value)| row(series, &entity, (time_ps, value)))
    }
}

pub(super) fn row(series: &str, entity: &str, (time_ps, value): (u64, f64)) -> SeriesRow {
    SeriesRow { run: 0, series: series.to_owned(), entity: entity.to_owned(), time_ps, value }
}
