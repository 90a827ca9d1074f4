//! Warnings about measures whose curves have no point above 0.

use crate::observer::QpSelector;
use crate::spec::{MeasureSpec, RunPoint, Series};
use anabranch_base::{Purpose, Stream, stream};
use anabranch_fabric::{LinkGroup, Selector, SelectorError, Topology};
use anabranch_results::{EmptyReason, RunWarning, SeriesRow};
use std::collections::BTreeSet;

/// The random stream for the selector of a measure. It differs from the streams of faults.
pub(crate) fn selector_stream(seed: u64, number: usize) -> Stream {
    stream(seed, u64::MAX - number as u64, Purpose::FaultSelection)
}

/// The groups of the links of a measure. Empty if the measure has no links or does not group them.
///
/// # Errors
/// The selector names no links on this fabric, or links without a group.
pub(crate) fn link_groups(
    number: usize,
    measure: &MeasureSpec,
    seed: u64,
    topology: &Topology,
) -> Result<Vec<LinkGroup>, SelectorError> {
    let (Some(links), Some(by)) = (&measure.links, measure.by) else { return Ok(Vec::new()) };
    links.parse::<Selector>()?.groups(topology, by, &mut selector_stream(seed, number))
}

/// A warning for each measure of `point` that has no point above 0 among `rows`, unless 0 is a meaningful result.
///
/// # Errors
/// A selector has no known form, or names nothing on this fabric or in this workload.
pub(crate) fn empty_measures(
    point: &RunPoint,
    topology: &Topology,
    queue_pairs: usize,
    rows: &[SeriesRow],
) -> Result<Vec<RunWarning>, SelectorError> {
    let name = |row: &SeriesRow| (row.series.clone(), row.entity.clone());
    // The points of a curve are consecutive.
    let curves = rows.chunk_by(|a, b| a.entity == b.entity && a.series == b.series);
    let seen: BTreeSet<(String, String)> = curves
        .filter(|curve| curve.iter().any(|row| row.value != 0.0))
        .map(|curve| name(&curve[0]))
        .collect();
    let mut empty_measures = Vec::new();
    for (number, measure) in point.measures.iter().enumerate() {
        let column = measure.series.column().to_owned();
        let watched = watched(number, measure, point, topology, queue_pairs)?;
        if watched.into_iter().any(|entity| seen.contains(&(column.clone(), entity))) {
            continue;
        }
        let on = [&measure.links, &measure.switches, &measure.qps].into_iter().flatten().next();
        let reason = match measure.series {
            // Zero is a meaningful value of these series.
            Series::Drops | Series::SenderEcn => continue,
            Series::Pauses | Series::PauseTime | Series::PauseVictims => match point.scheme.fabric.pfc {
                Some(_) => continue,
                None => EmptyReason::NoPfc,
            },
            Series::ProgramBuffer | Series::TableEntries if point.scheme.fabric.program.is_none() => {
                EmptyReason::NoProgram
            }
            _ => EmptyReason::AllZero,
        };
        let (measure, series) = (number as u64, measure.series.name().to_owned());
        empty_measures.push(RunWarning::EmptyMeasure { measure, series, on: on.cloned(), reason });
    }
    Ok(empty_measures)
}

impl RunPoint {
    /// The names of the curves that a measure records on this fabric: links, groups of links, switches or queue pairs.
    /// `number` is that of the measure among the measures of the point, and `queue_pairs` that of the workload.
    ///
    /// # Errors
    /// A selector has no known form, or names nothing on this fabric or in this workload.
    ///
    /// # Panics
    /// The point has no measure of this number.
    pub fn curve_names(
        &self,
        number: usize,
        topology: &Topology,
        queue_pairs: usize,
    ) -> Result<Vec<String>, SelectorError> {
        watched(number, &self.measures[number], self, topology, queue_pairs)
    }
}

/// The entities that a measure watches, by their names in curves.
fn watched(
    number: usize,
    measure: &MeasureSpec,
    point: &RunPoint,
    topology: &Topology,
    queue_pairs: usize,
) -> Result<Vec<String>, SelectorError> {
    let mut names = Vec::new();
    if let Some(links) = &measure.links {
        let links = links.parse::<Selector>()?.links(topology, &mut selector_stream(point.seed, number))?;
        match measure.by {
            None => names.extend(links.into_iter().map(|link| topology.link_name(link))),
            Some(_) => {
                let groups = link_groups(number, measure, point.seed, topology)?;
                names.extend(groups.into_iter().map(|group| group.name));
            }
        }
    }
    if let Some(switches) = &measure.switches {
        let nodes =
            switches.parse::<Selector>()?.switches(topology, &mut selector_stream(point.seed, number))?;
        names.extend(nodes.into_iter().map(|node| topology.node_name(node)));
    }
    if let Some(qps) = &measure.qps {
        let qps = QpSelector::parse(qps)?.qps(queue_pairs)?;
        names.extend(qps.into_iter().map(|qp| format!("flow:{qp}")));
    }
    Ok(names)
}
