//! The runs of a scenario without its faults, with which its runs are compared.

use anabranch_engine::{FaultSpec, RunPoint};
use anabranch_results::{GOODPUT, SeriesRow, time_to_recover};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the baselines of the runs that have faults. A baseline has the scheme, fabric, workload and seed of its
/// run, but no measures, no observers and no faults except some losses of a topology file. Runs that differ only in
/// their faults share one baseline.
///
/// The losses of a topology file belong to the fabric. If the runs have other faults as well, the baseline keeps these
/// losses, and the difference between a run and the baseline is the cost of the other faults. If the losses are the
/// only faults, the baseline has none, and the difference is the cost of the losses.
pub fn points(points: &[RunPoint]) -> Vec<RunPoint> {
    let mut compared: BTreeMap<String, Vec<&RunPoint>> = BTreeMap::new();
    let mut order = Vec::new();
    for point in points.iter().filter(|point| !point.faults.is_empty()) {
        let key = key(point);
        let sharing = compared.entry(key.clone()).or_default();
        if sharing.is_empty() {
            order.push(key);
        }
        sharing.push(point);
    }
    order.iter().filter_map(|key| of_all(&compared[key])).collect()
}

fn of_all(sharing: &[&RunPoint]) -> Option<RunPoint> {
    let &first = sharing.first()?;
    let sweep = first.sweep.iter().filter(|(name, _)| !is_of_faults(name));
    let has_others = sharing.iter().any(|point| point.faults.iter().any(|fault| !fault.is_of_error_rate()));
    let shared = sharing.iter().map(|point| error_rates(point)).reduce(|a, b| &a & &b).unwrap_or_default();
    let kept = first.faults.iter().filter(|fault| has_others && is_of(fault, &shared));
    Some(RunPoint {
        sweep: sweep.map(|(name, value)| (name.clone(), value.clone())).collect(),
        faults: kept.cloned().collect(),
        measures: Vec::new(),
        observers: Vec::new(),
        ..first.clone()
    })
}

/// The error rates of the topology file among the faults of a run, as the bits of the floating-point numbers.
fn error_rates(point: &RunPoint) -> BTreeSet<u64> {
    let of_file = point.faults.iter().filter(|fault| fault.is_of_error_rate());
    of_file.filter_map(|fault| Some(fault.kind.probability()?.to_bits())).collect()
}

/// Whether a fault is the packet loss that a topology file gives to links, at one of these error rates.
fn is_of(fault: &FaultSpec, error_rates: &BTreeSet<u64>) -> bool {
    let rate = fault.kind.probability().filter(|_| fault.is_of_error_rate());
    rate.is_some_and(|rate| error_rates.contains(&rate.to_bits()))
}

/// The key that a run shares with its baseline and with the runs that differ from it only in their faults.
fn key(point: &RunPoint) -> String {
    let mut key = format!("{:?} {}", point.scheme.name, point.seed);
    for (name, value) in point.sweep.iter().filter(|(name, _)| !is_of_faults(name)) {
        key.push_str(&format!(" {name:?} {:?}", value.to_string()));
    }
    key
}

fn is_of_faults(name: &str) -> bool {
    name.starts_with("fault.")
}

/// Goodput over time, in the form that [`time_to_recover`] expects.
pub type Curve = Vec<(u64, f64)>;

/// The goodput among the curves of a run, or `None` if it was not recorded.
pub fn goodput(series: &[SeriesRow]) -> Option<Curve> {
    let held = series.iter().filter(|row| row.series == GOODPUT).map(|row| (row.time_ps, row.value));
    let held: Curve = held.collect();
    (!held.is_empty()).then_some(held)
}

/// Returns the times to recover of `points` in microseconds. The first `actual` points are runs, and the others are
/// their baselines. The time is `None` for a baseline, for a run that did not recover, and for a run whose time cannot
/// be computed.
pub fn recoveries(points: &[RunPoint], actual: usize, curves: &[Option<Curve>]) -> Vec<Option<f64>> {
    let (runs, baselines) = points.split_at(actual);
    let indexes: BTreeMap<String, usize> = baselines.iter().map(key).zip(actual..).collect();
    let mut recoveries = vec![None; points.len()];
    for (index, point) in runs.iter().enumerate() {
        let Some(&baseline) = indexes.get(&key(point)) else { continue };
        let kept = error_rates(&points[baseline]);
        // Random failures (`per_hour`) have no common start from which a recovery could be counted.
        let own = point.faults.iter().filter(|fault| !is_of(fault, &kept) && fault.per_hour.is_none());
        let Some(fault) = own.flat_map(|fault| &fault.at.0).map(|at| at.0).min() else { continue };
        if let (Some(with), Some(without)) = (&curves[index], &curves[baseline]) {
            recoveries[index] = time_to_recover(with, without, fault);
        }
    }
    recoveries
}
