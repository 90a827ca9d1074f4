//! Measures that saw nothing in a run, which a page of curves does not say.

use crate::observer::QpSelector;
use crate::spec::{MeasureSpec, RunPoint, Series};
use anabranch_base::{Purpose, Stream, stream};
use anabranch_fabric::{Selector, SelectorError, Topology};
use anabranch_results::SeriesRow;
use std::collections::BTreeSet;

/// The stream by which a measure chooses what it watches: it must be one that a fault with the same selector would not
/// disturb.
pub(crate) fn choice(seed: u64, number: usize) -> Stream {
    stream(seed, u64::MAX - number as u64, Purpose::FaultSelection)
}

/// A sentence for each measure of `point` that has no point above 0 among `rows`, where 0 is no answer.
///
/// # Errors
/// A selector that names nothing.
pub(crate) fn blind_measures(
    point: &RunPoint,
    topology: &Topology,
    queue_pairs: usize,
    rows: &[SeriesRow],
) -> Result<Vec<String>, SelectorError> {
    let name = |row: &SeriesRow| (row.series.clone(), row.entity.clone());
    // The points of a curve stand together.
    let curves = rows.chunk_by(|a, b| a.entity == b.entity && a.series == b.series);
    let seen: BTreeSet<(String, String)> = curves
        .filter(|curve| curve.iter().any(|row| row.value != 0.0))
        .map(|curve| name(&curve[0]))
        .collect();
    let mut blind = Vec::new();
    for (number, measure) in point.measures.iter().enumerate() {
        let column = measure.series.column().to_owned();
        let watched = watched(number, measure, point, topology, queue_pairs)?;
        if watched.into_iter().any(|entity| seen.contains(&(column.clone(), entity))) {
            continue;
        }
        let on = [&measure.links, &measure.switches, &measure.qps].into_iter().flatten().next();
        let on = on.map_or(String::new(), |on| format!(" on {on:?}"));
        let why = match measure.series {
            // None is an answer.
            Series::Drops | Series::SenderEcn => continue,
            Series::Pauses | Series::PauseTime | Series::PauseVictims => match point.scheme.fabric.pfc {
                Some(_) => continue,
                None => "the scheme has no PFC",
            },
            Series::HeldOutside | Series::TableEntries if point.scheme.fabric.program.is_none() => {
                "the scheme has no program in switches"
            }
            _ => "it has no point above 0",
        };
        let word = ["_gbps", "_bytes", "_us"].iter().find_map(|unit| column.strip_suffix(unit));
        let word = word.unwrap_or(&column).replace('_', "-");
        blind.push(format!("measure.{number} ({word}{on}) saw nothing: {why}"));
    }
    Ok(blind)
}

/// What a measure watches, by the names that curves have.
fn watched(
    number: usize,
    measure: &MeasureSpec,
    point: &RunPoint,
    topology: &Topology,
    queue_pairs: usize,
) -> Result<Vec<String>, SelectorError> {
    let mut names = Vec::new();
    if let Some(links) = &measure.links {
        let links = links.parse::<Selector>()?.links(topology, &mut choice(point.seed, number))?;
        names.extend(links.into_iter().map(|link| topology.link_name(link)));
    }
    if let Some(switches) = &measure.switches {
        let nodes = switches.parse::<Selector>()?.switches(topology, &mut choice(point.seed, number))?;
        names.extend(nodes.into_iter().map(|node| topology.node_name(node)));
    }
    if let Some(qps) = &measure.qps {
        let qps = QpSelector::parse(qps)?.qps(queue_pairs)?;
        names.extend(qps.into_iter().map(|qp| format!("flow:{qp}")));
    }
    Ok(names)
}
