//! Checks of the measures and observers of a scenario on its fabrics.

use super::built::selector_stream;
use super::curve_budget;
use crate::scenario::expand::resolved::Scenario;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Duration, Fix};
use anabranch_engine::{AnyRecorder, MeasureSpec, QpSelector};
use anabranch_fabric::{Selector, Topology};
use anabranch_workload::Workload;

impl Scenario {
    /// `ends` is the earliest possible end of the runs with this workload.
    pub(super) fn examine_observers(
        &self,
        on: &Topology,
        workload: &Workload,
        ends: Duration,
    ) -> Result<(), Diagnostic> {
        let mut curves_of = Vec::with_capacity(self.measures.len());
        self.check_groups()?;
        for (i, measure) in self.measures.iter().enumerate() {
            curves_of.push(self.find_measure(i, measure, on, workload.qps.len(), self.first_seed())?);
        }
        if !self.measures.is_empty() {
            curve_budget::check(&self.measures, &curves_of, self.runs(), ends, &self.origin)?;
        }
        for (i, observer) in self.observers.iter().enumerate() {
            let made = AnyRecorder::build(observer, on, workload);
            made.map(drop).map_err(|refused| self.refused(&format!("observer.{i}"), refused))?;
        }
        Ok(())
    }

    /// Checks that the measures of a series have equal intervals and no threshold if one of them combines links,
    /// since the curve of a link is recorded only once.
    fn check_groups(&self) -> Result<(), Diagnostic> {
        for (i, measure) in self.measures.iter().enumerate().filter(|(_, measure)| measure.by.is_some()) {
            for (other, same) in self.measures.iter().enumerate() {
                let differs = (same.every, same.above) != (measure.every, measure.above);
                if same.series != measure.series || !differs {
                    continue;
                }
                let name = measure.series.name();
                let (key, message, help) = match same.above {
                    Some(_) => {
                        let message =
                            format!("measure.{i} combines curves of {name:?}, which leave out no points");
                        (
                            format!("measure.{other}.above"),
                            message,
                            Fix::text("by in one of them, above in none"),
                        )
                    }
                    None => {
                        let message = format!(
                            "measure.{i} combines curves of {name:?} that have a point every {}",
                            measure.every
                        );
                        let help = Fix::set("every", format!("\"{}\"", measure.every));
                        (format!("measure.{other}.every"), message, help)
                    }
                };
                return Err(fault(&self.origin.file, self.origin.place(&key), message, Some(help)));
            }
        }
        Ok(())
    }

    fn find_measure(
        &self,
        i: usize,
        measure: &MeasureSpec,
        on: &Topology,
        qps: usize,
        seed: u64,
    ) -> Result<usize, Diagnostic> {
        let mut curves = 0;
        if let Some(links) = &measure.links {
            let found = Selector::parse(links).and_then(|s| s.links(on, &mut selector_stream(seed)));
            curves += found.map_err(|e| self.not_found(&format!("measure.{i}.links"), e, on))?.len();
            let groups =
                |by| Selector::parse(links).and_then(|s| s.groups(on, by, &mut selector_stream(seed)));
            measure.by.map(groups).transpose().map_err(|mut error| {
                let without = || Fix::text(format!("links = {links:?} without by"));
                error.problem.fix.get_or_insert_with(without);
                self.not_found(&format!("measure.{i}.by"), error, on)
            })?;
        }
        if let Some(switches) = &measure.switches {
            let found = Selector::parse(switches).and_then(|s| s.switches(on, &mut selector_stream(seed)));
            curves += found.map_err(|e| self.not_found(&format!("measure.{i}.switches"), e, on))?.len();
        }
        if let Some(written) = &measure.qps {
            let found = QpSelector::parse(written).and_then(|s| s.qps(qps));
            curves += found.map_err(|e| self.not_found(&format!("measure.{i}.qps"), e, on))?.len();
        }
        Ok(curves)
    }
}
