//! The times of faults, drawn as shaded bands on time axes.

use super::curves::Picture;
use anabranch_results::ResultSet;
use serde_json::{Value as Json, json};

/// The largest number of bands of a plot.
const MOST: usize = 16;

/// The bands as `{name, from, to, every, lasts}` in microseconds, for each start time of each fault in the first run of
/// each curve. Equal bands are merged, and at most [`MOST`] are kept. `to` is null if the fault lasts to the end, or if
/// it consists of failures at random times. If the faults differ between points of the sweep, only the start is known,
/// and `to` equals `from`. Only a periodic fault has `every` and `lasts`.
pub(super) fn of(set: &ResultSet, picture: &Picture<'_>) -> Vec<Json> {
    let mut bands: Vec<Json> = Vec::new();
    let runs = picture.curves.iter().filter_map(|curve| set.runs.get(*curve.runs.first()?));
    for fault in runs.flat_map(|run| &run.faults) {
        let facts = set.facts.fault(fault.fault);
        // A fault has one band for each of its start times. All of them have the same name, so the note below the
        // plot names the fault once.
        for from in facts.map_or_else(|| vec![fault.at_us], |facts| facts.starts_us.clone()) {
            let to = facts.map_or(Some(from), |facts| facts.end_us(from));
            let name = format!("fault.{}: {} {}", fault.fault, fault.kind, fault.on);
            let mut band = json!({"name": name, "from": from, "to": to});
            if let Some((every, lasts)) = facts.and_then(|facts| facts.period_us.zip(facts.down_for_us)) {
                (band["every"], band["lasts"]) = (every.into(), lasts.into());
            }
            if !bands.contains(&band) && bands.len() < MOST {
                bands.push(band);
            }
        }
    }
    bands
}

#[cfg(test)]
mod tests {
    use super::super::curves::pictures;
    use super::*;
    use crate::samples::two_schemes;
    use crate::scenario_text::set_scenario;
    use anabranch_results::{FaultRow, PlotKind, PlotSpec};

    fn bands(scenario: &str) -> Vec<Json> {
        let mut set = two_schemes();
        set_scenario(&mut set, scenario.to_owned());
        let row = FaultRow {
            fault: 0,
            kind: "link-flap".into(),
            on: "tor:0".into(),
            at_us: 10.0,
            ..FaultRow::default()
        };
        set.runs.iter_mut().for_each(|run| run.faults = vec![row.clone()]);
        let picture = pictures(&set, &PlotSpec::new(PlotKind::Series, "T", "queue_depth_bytes")).remove(0);
        of(&set, &picture)
    }

    #[test]
    fn a_fault_is_shaded_from_its_start_to_its_end() {
        let name = "fault.0: link-flap tor:0";
        let at_once = bands("[[fault]]\nat = \"10us\"\nduration = \"5us\"\n");
        assert_eq!(at_once, [json!({"name": name, "from": 10.0, "to": 15.0})]);
        assert_eq!(bands("[[fault]]\nuntil = \"40us\"\n")[0]["to"], 40.0);
        let flap = bands("[[fault]]\nperiod = \"500us\"\ndown_for = \"100us\"\n");
        assert_eq!(flap, [json!({"name": name, "from": 10.0, "to": null, "every": 500.0, "lasts": 100.0})]);
        let twice = bands("[[fault]]\nat = [\"5us\", \"60us\"]\nduration = \"20us\"\n");
        let ends: Vec<_> = twice.iter().map(|band| (band["from"].as_f64(), band["to"].as_f64())).collect();
        assert_eq!(ends, [(Some(5.0), Some(25.0)), (Some(60.0), Some(80.0))]);
    }

    #[test]
    fn of_a_fault_that_the_sweep_changes_only_the_start_is_known() {
        assert_eq!(bands("title = \"T\"\n")[0]["to"], 10.0);
    }
}
