//! Findings at the points of a sweep.

use crate::groups::named;
use anabranch_results::PointFacts;

/// Each distinct finding with the names of the points at which it applies, in the order in which findings first occur.
pub(crate) fn by_finding<'a, T: PartialEq>(
    points: &'a [PointFacts],
    of: impl Fn(&'a PointFacts) -> T,
) -> Vec<(T, Vec<String>)> {
    let mut found: Vec<(T, Vec<String>)> = Vec::new();
    for point in points {
        let here = of(point);
        match found.iter_mut().find(|(known, _)| *known == here) {
            Some((_, names)) => names.push(named(&point.sweep)),
            None => found.push((here, vec![named(&point.sweep)])),
        }
    }
    found
}
