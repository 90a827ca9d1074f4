//! Baselines: runs without their faults, for comparison.

use anabranch_engine::RunPoint;
use anabranch_results::{GOODPUT, SeriesRow, time_to_recover};
use std::collections::BTreeMap;

/// A baseline for each run that has faults: its scheme on its fabric with its workload and seed, without the faults and
/// without curves. Runs that differ in nothing but faults share one, so none is simulated twice.
pub fn points(points: &[RunPoint]) -> Vec<RunPoint> {
    let mut found: BTreeMap<String, RunPoint> = BTreeMap::new();
    let mut order = Vec::new();
    for point in points.iter().filter(|point| !point.faults.is_empty()) {
        let key = key(point);
        if found.contains_key(&key) {
            continue;
        }
        let sweep = point.sweep.iter().filter(|(name, _)| !is_of_faults(name));
        let sweep = sweep.map(|(name, value)| (name.clone(), value.clone())).collect();
        found.insert(
            key.clone(),
            RunPoint {
                sweep,
                faults: Vec::new(),
                measures: Vec::new(),
                observers: Vec::new(),
                ..point.clone()
            },
        );
        order.push(key);
    }
    order.into_iter().filter_map(|key| found.remove(&key)).collect()
}

/// The key that only a run and its baseline share.
fn key(point: &RunPoint) -> String {
    let mut key = format!("{:?} {}", point.scheme.name, point.seed);
    for (name, value) in point.sweep.iter().filter(|(name, _)| !is_of_faults(name)) {
        key.push_str(&format!(" {name:?} {:?}", value.to_string()));
    }
    key
}

/// Whether a swept parameter is one of a fault.
fn is_of_faults(name: &str) -> bool {
    name.starts_with("fault.")
}

/// Goodput over time, in the form of [`time_to_recover`].
pub type Curve = Vec<(u64, f64)>;

/// The goodput among the curves of a run; none where it was not recorded.
pub fn goodput(series: &[SeriesRow]) -> Option<Curve> {
    let held = series.iter().filter(|row| row.series == GOODPUT).map(|row| (row.time_ps, row.value));
    let held: Curve = held.collect();
    (!held.is_empty()).then_some(held)
}

/// The time to recover of each of `points`, the first `actual` of which are runs and the others their baselines. None where a
/// run did not recover, or where that is not known.
pub fn recoveries(points: &[RunPoint], actual: usize, curves: &[Option<Curve>]) -> Vec<Option<f64>> {
    let (runs, baselines) = points.split_at(actual);
    let indexes: BTreeMap<String, usize> = baselines.iter().map(key).zip(actual..).collect();
    let mut recoveries = vec![None; points.len()];
    for (index, point) in runs.iter().enumerate() {
        let Some(fault) = point.faults.iter().flat_map(|fault| fault.at.0.iter()).map(|at| at.0).min() else {
            continue;
        };
        let Some(&baseline) = indexes.get(&key(point)) else { continue };
        if let (Some(with), Some(without)) = (&curves[index], &curves[baseline]) {
            recoveries[index] = time_to_recover(with, without, fault);
        }
    }
    recoveries
}
