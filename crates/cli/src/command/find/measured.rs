//! The values that the searches measured.

use super::search::{Lane, Measurement};
use super::words::{plain, significant};
use crate::question::Condition;
use anabranch_results::{SearchMeasure, Trial};
use anabranch_sim::scenario::Find;

/// The largest number of seeds for which a note lists the values at an end of the range.
const MOST_SEEDS_NAMED: usize = 5;

/// A text with the values measured at both ends of the range: `. At "10KB" fct_max(scheme) is 81.3 (seed 1), ...`.
pub(super) fn measured_at_ends(find: &Find, holds: &Condition, lanes: &[&Lane]) -> String {
    let mut text = String::new();
    let Some([words, _]) = holds.words() else { return text };
    for (place, value) in find.least_and_most() {
        let of = |lane: &&Lane| {
            let found = lane.measurements.iter().find(|found| found.place == place)?;
            let text = match (found.finished, found.cut_off) {
                (true, _) => format!("{words} is {}", significant(found.measured?)),
                (false, true) => "not all finished by max_time".to_owned(),
                (false, false) => "not all finished".to_owned(),
            };
            Some(if lanes.len() > 1 { format!("{text} (seed {})", lane.seed) } else { text })
        };
        let each: Vec<String> = lanes.iter().filter_map(of).take(MOST_SEEDS_NAMED).collect();
        if !each.is_empty() {
            text.push_str(&format!(". At {value} {}", each.join(", ")));
        }
    }
    text
}

pub(super) fn compared(holds: &Condition, lanes: &[Lane]) -> Option<SearchMeasure> {
    let [measured, bound] = holds.words()?.map(str::to_owned);
    let (mut places, mut tried): (Vec<&Measurement>, Vec<Trial>) = (Vec::new(), Vec::new());
    for lane in lanes {
        let mut measurements: Vec<&Measurement> = lane.measurements.iter().collect();
        measurements.sort_by(|a, b| a.place.total_cmp(&b.place));
        tried.extend(measurements.iter().map(|measurement| Trial {
            scheme: lane.scheme.clone(),
            seed: lane.seed,
            value: plain(&measurement.value),
            measured: measurement.measured,
            bound: measurement.bound,
        }));
        places.append(&mut measurements);
    }
    places.sort_by(|a, b| a.place.total_cmp(&b.place));
    let mut values: Vec<String> = places.into_iter().map(|measurement| plain(&measurement.value)).collect();
    values.dedup();
    Some(SearchMeasure { measured, bound, values, tried })
}
