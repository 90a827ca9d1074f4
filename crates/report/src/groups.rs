//! Groups of runs that differ only in their seed.

use anabranch_results::{Estimate, ResultSet, RunRow, Value};
use std::collections::BTreeMap;

/// One scheme at one point of the sweep.
pub(crate) struct Group<'a> {
    pub scheme: &'a str,
    pub sweep: &'a BTreeMap<String, Value>,
    /// Indices into [`ResultSet::runs`], one per seed.
    pub indices: Vec<usize>,
    set: &'a ResultSet,
}

/// The groups in the order of their first runs. Baselines are in no group.
pub(crate) fn groups(set: &ResultSet) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (index, run) in set.actual().iter().enumerate() {
        // The seeds of a point are mostly adjacent, so the search starts at the last group.
        match groups.iter_mut().rev().find(|group| group.scheme == run.scheme && *group.sweep == run.sweep) {
            Some(group) => group.indices.push(index),
            None => groups.push(Group { scheme: &run.scheme, sweep: &run.sweep, indices: vec![index], set }),
        }
    }
    groups
}

/// For each point of the sweep, the indices of its groups. The points are in the order of their first groups.
pub(crate) fn at_each_point(groups: &[Group<'_>]) -> Vec<Vec<usize>> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut found: Vec<Vec<usize>> = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let place = *places.entry(named(group.sweep)).or_insert(found.len());
        if place == found.len() {
            found.push(Vec::new());
        }
        found[place].push(number);
    }
    found
}

/// The points of the sweep, in the order of their first groups.
pub(crate) fn points<'a>(groups: &[Group<'a>]) -> Vec<&'a BTreeMap<String, Value>> {
    let mut points = Vec::new();
    for group in groups {
        if !points.contains(&group.sweep) {
            points.push(group.sweep);
        }
    }
    points
}

/// The name of a point of the sweep: `workload.bytes = 8MiB, topology.hosts = 32`.
pub(crate) fn named(point: &BTreeMap<String, Value>) -> String {
    let values: Vec<String> = point.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    values.join(", ")
}

/// A text for some points of a sweep that has `all` points: `at 5 of 6 sweep points (x = 1; x = 2; x = 3; ...)`.
pub(crate) fn at_points(names: &[String], all: usize) -> String {
    let shown = names.iter().take(3).cloned().collect::<Vec<_>>().join("; ");
    let more = if names.len() > 3 { "; ..." } else { "" };
    format!("at {} of {all} sweep points ({shown}{more})", names.len())
}

pub(crate) fn each_run(set: &ResultSet) -> Vec<Group<'_>> {
    let runs = set.actual().iter().enumerate();
    runs.map(|(index, run)| Group { scheme: &run.scheme, sweep: &run.sweep, indices: vec![index], set })
        .collect()
}

pub(crate) fn schemes(set: &ResultSet) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for run in set.actual() {
        if !names.contains(&run.scheme.as_str()) {
            names.push(&run.scheme);
        }
    }
    names
}

impl<'a> Group<'a> {
    pub(crate) fn runs(&self) -> impl Iterator<Item = &'a RunRow> {
        self.indices.iter().map(|&index| &self.set.runs[index])
    }

    /// The mean over the seeds of the number `name` ([`RunRow::number`]) with its confidence interval, or `None` if a
    /// run does not have that number.
    pub(crate) fn estimate(&self, name: &str) -> Option<Estimate> {
        let numbers = self.runs().map(|run| run.number(name)).collect::<Option<Vec<f64>>>()?;
        Estimate::of(&numbers)
    }

    pub(crate) fn mean(&self, field: impl Fn(&RunRow) -> f64) -> f64 {
        self.runs().map(field).sum::<f64>() / self.indices.len() as f64
    }

    pub(crate) fn total(&self, field: impl Fn(&RunRow) -> u64) -> u64 {
        self.runs().map(field).sum()
    }
}
