//! The value of a function in one run.

use super::curve::Curve;
use super::error::{ErrorAt, hint};
use super::tree::{Bins, CurveMeasure, Function, Points, Quantity, Word, covers};
use crate::index::Index;
use anabranch_results::{FlowRow, RunRow, Statistic};
use std::collections::{BTreeMap, BTreeSet};

pub(super) struct RunValues<'a> {
    pub index: &'a Index<'a>,
    /// The bins of an enclosing `over`, and the number of the bin to which functions over messages are restricted.
    pub bin: Option<&'a (Bins, usize)>,
}

impl RunValues<'_> {
    pub(super) fn value(&self, at: usize, function: &Function, index: usize) -> Result<f64, ErrorAt> {
        let run = self.run(index);
        match function {
            Function::Field(field) => self.field(at, field, index),
            Function::Extra(name) => run.extra.get(&name.text).copied().map_or_else(
                || {
                    let hint = hint(&name.text, run.extra.keys().map(String::as_str));
                    ErrorAt::new(
                        name.at,
                        format!("the runs of `{}` have no extra number `{}`{hint}", run.scheme, name.text),
                    )
                },
                Ok,
            ),
            Function::Series { statistic, points } => {
                let parts = self.index.series(index, &points.series.text);
                // The parts keep the order of the rows, because `series_first` and `series_last` depend on it.
                let parts = parts.iter().filter(|part| points.is_of(&part.entity));
                let values: Vec<f64> = parts
                    .flat_map(|part| &part.points)
                    .filter(|(time_ps, _)| points.is_at(*time_ps as f64 / 1e6))
                    .map(|(_, value)| *value)
                    .collect();
                statistic.of(&values).map_or_else(|| self.no_points(points, index), Ok)
            }
            Function::Curve { measure, points, target, within, smooth_us } => {
                let curves = self.curves(index, points);
                let mut values = Vec::with_capacity(curves.len());
                for (name, curve) in curves {
                    let curve = smooth_us.map_or(curve.clone(), |width_us| curve.smoothed(width_us));
                    let Some(target) = curve.target(*target) else { continue };
                    let band = within * target.abs();
                    values.push(match measure {
                        CurveMeasure::Near => curve.near_us(target, band),
                        CurveMeasure::Settles => match curve.settles_us(target, band) {
                            Some(time_us) => time_us,
                            None => {
                                return unsettled(at, run, &points.series.text, &name, target, *within);
                            }
                        },
                    });
                }
                // All curves have settled once the last of them has settled.
                let of_several = match measure {
                    CurveMeasure::Settles => Statistic::Max,
                    CurveMeasure::Near => Statistic::Mean,
                };
                of_several.of(&values).map_or_else(|| self.no_points(points, index), Ok)
            }
            Function::PerMessage { quantity, statistic, group, min_bytes, max_bytes } => {
                let mut found = self.each(index, *quantity, group.as_ref())?;
                if found.is_empty() {
                    return unrecorded(at, run, *quantity);
                }
                found.retain(|(bytes, _)| (*min_bytes..=*max_bytes).contains(&(*bytes as f64)));
                self.over_messages(at, run, *quantity, *statistic, found)
            }
        }
    }

    fn run(&self, index: usize) -> &RunRow {
        &self.index.set.runs[index]
    }

    fn field(&self, at: usize, field: &str, index: usize) -> Result<f64, ErrorAt> {
        let run = self.run(index);
        let of_slowdown = field.starts_with("slowdown_");
        let needs_flows = of_slowdown || field.starts_with("fct_") || field == "completion_us";
        if of_slowdown && self.index.flows(index).is_empty() {
            return unrecorded(at, run, Quantity::Slowdown);
        }
        if needs_flows && run.flows_finished < run.flows {
            return unfinished(at, run, run.flows - run.flows_finished, run.flows, "messages");
        }
        if field.starts_with("cct_") {
            let jobs = self.index.jobs(index);
            if jobs.is_empty() {
                return unrecorded(at, run, Quantity::Cct);
            }
            let missing = jobs.iter().filter(|job| job.cct_ps.is_none()).count();
            if missing > 0 {
                return unfinished(at, run, missing as u64, jobs.len() as u64, "jobs");
            }
        }
        run.number(field).map_or_else(
            || ErrorAt::new(at, format!("the runs of `{}` sent nothing for `{field}`", run.scheme)),
            Ok,
        )
    }

    /// A statistic over messages or jobs, which are given with their lengths. If there is a bin, items outside it are
    /// ignored. Each remaining item must have a value.
    fn over_messages(
        &self,
        at: usize,
        run: &RunRow,
        quantity: Quantity,
        statistic: Statistic,
        mut found: Vec<(u64, Option<f64>)>,
    ) -> Result<f64, ErrorAt> {
        if let Some((bins, number)) = self.bin {
            found = bins.in_bin(*number, found);
        }
        let values: Vec<f64> = found.iter().filter_map(|(_, value)| *value).collect();
        let (missing, all) = (found.len() - values.len(), found.len());
        if missing > 0 {
            return match quantity.is_count() {
                true => unattributed(at, run, missing, all),
                false => unfinished(at, run, missing as u64, all as u64, quantity.plural()),
            };
        }
        statistic.of(&values).map_or_else(
            || {
                let what = quantity.plural();
                let bin = self.bin.map_or(String::new(), |(bins, number)| {
                    format!(" in bin {} of {}", number + 1, bins.count())
                });
                ErrorAt::new(at, format!("`{}` has no {what} of these lengths{bin}", run.scheme))
            },
            Ok,
        )
    }

    /// The length and the value of each message or job of a run. A value that is not known is `None`.
    fn each(
        &self,
        run: usize,
        quantity: Quantity,
        group: Option<&Word>,
    ) -> Result<Vec<(u64, Option<f64>)>, ErrorAt> {
        let us = |ps: u64| ps as f64 / 1e6;
        if quantity == Quantity::Cct {
            return Ok(self.index.jobs(run).iter().map(|job| (job.bytes, job.cct_ps.map(us))).collect());
        }
        let flows = self.index.flows(run);
        let value = |flow: &FlowRow| match quantity {
            Quantity::Fct | Quantity::Cct => flow.fct_ps.map(us),
            Quantity::Slowdown => flow.slowdown(),
            Quantity::Retransmissions => flow.retransmissions.map(f64::from),
            Quantity::RetransmittedShare => flow.retransmitted_share(),
            Quantity::Timeouts => flow.timeouts.map(f64::from),
        };
        let is_in_group = |flow: &&&FlowRow| group.is_none_or(|group| flow.in_group(&group.text));
        let found: Vec<_> = flows.iter().filter(is_in_group).map(|flow| (flow.bytes, value(flow))).collect();
        match group.filter(|_| found.is_empty() && !flows.is_empty()) {
            None => Ok(found),
            Some(group) => {
                let names = flows.iter().flat_map(|flow| flow.group.split('/').chain([&*flow.group]));
                let known: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
                let hint = hint(&group.text, known);
                let scheme = &self.run(run).scheme;
                ErrorAt::new(
                    group.at,
                    format!("no messages of `{scheme}` are in a group `{}`{hint}", group.text),
                )
            }
        }
    }

    fn curves(&self, run: usize, points: &Points) -> BTreeMap<String, Curve> {
        let mut curves: BTreeMap<String, Curve> = BTreeMap::new();
        for part in self.index.series(run, &points.series.text).iter() {
            if !points.is_of(&part.entity) {
                continue;
            }
            let curve = curves
                .entry(part.entity.to_string())
                .or_insert_with(|| Curve { start_us: points.from_us.max(0.0), points: Vec::new() });
            let in_us = part.points.iter().map(|(time_ps, value)| (*time_ps as f64 / 1e6, *value));
            curve.points.extend(in_us.filter(|(time_us, _)| points.is_at(*time_us)));
        }
        curves
    }

    fn no_points(&self, points: &Points, run: usize) -> Result<f64, ErrorAt> {
        let (series, entity) = (&points.series, points.entity.as_deref());
        let scheme = &self.run(run).scheme;
        let curves = self.index.series(run, &series.text);
        if let Some(problem) = self.index.problem_of(run, &series.text) {
            return ErrorAt::new(series.at, problem);
        }
        if curves.is_empty() {
            let hint = hint(&series.text, self.index.series_names(run));
            return ErrorAt::new(
                series.at,
                format!("the runs of `{scheme}` have no series `{}`{hint}", series.text),
            );
        }
        let entities: BTreeSet<&str> = curves.iter().map(|curve| &*curve.entity).collect();
        match entity {
            Some(entity) if !entities.iter().any(|known| covers(entity, known)) => {
                let hint = hint(entity, entities.into_iter().take(20));
                ErrorAt::new(
                    series.at,
                    format!("`{}` of `{scheme}` has no entity `{entity}`{hint}", series.text),
                )
            }
            _ => ErrorAt::new(
                series.at,
                format!("`{}` of `{scheme}` has no points in this window", series.text),
            ),
        }
    }
}

fn unrecorded(at: usize, run: &RunRow, quantity: Quantity) -> Result<f64, ErrorAt> {
    let scheme = &run.scheme;
    ErrorAt::new(
        at,
        match quantity {
            Quantity::Cct => format!("the runs of `{scheme}` have no jobs: only a collective workload has"),
            _ if run.flows > 0 => format!(
                "the runs of `{scheme}` do not record their {} messages one by one, as there are so many; \
                 use a number of the whole run, such as fct_max({scheme}), or cct({scheme}, max)",
                run.flows
            ),
            _ => format!("the runs of `{scheme}` have no messages"),
        },
    )
}

fn unfinished(at: usize, run: &RunRow, missing: u64, all: u64, what: &str) -> Result<f64, ErrorAt> {
    let (scheme, seed) = (&run.scheme, run.seed);
    ErrorAt::new(
        at,
        format!("{missing} of {all} {what} of `{scheme}`, seed {seed}, did not finish, so this is not known"),
    )
}

fn unsettled(
    at: usize,
    run: &RunRow,
    series: &str,
    entity: &str,
    target: f64,
    within: f64,
) -> Result<f64, ErrorAt> {
    let (scheme, seed, percent) = (&run.scheme, run.seed, within * 100.0);
    ErrorAt::new(
        at,
        format!(
            "`{series}` of `{scheme}`, seed {seed}, at {entity} has not settled: its last point is not within {percent} % \
             of {target}; `smooth_us=` takes means over stretches of time"
        ),
    )
}

fn unattributed(at: usize, run: &RunRow, missing: usize, all: usize) -> Result<f64, ErrorAt> {
    let (scheme, seed) = (&run.scheme, run.seed);
    ErrorAt::new(
        at,
        format!(
            "of {missing} of {all} messages of `{scheme}`, seed {seed}, this is not known, as they share their queue \
             pairs with others or an earlier build recorded them"
        ),
    )
}
