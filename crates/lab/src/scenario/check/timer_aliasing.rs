//! Warnings about timeouts that are a whole number of periods of a flapping link.

use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Duration, Fix};
use anabranch_engine::{FaultKind, FaultSpec, Scheme};
use anabranch_proto::PathFacts;
use std::collections::BTreeMap;

/// The share of a period by which a timeout may differ from a whole number of periods and still count as one.
const NEAR: f64 = 0.03;
/// The largest number of periods in a timeout that is examined.
const MOST_PERIODS: f64 = 20.0;

/// The findings so far. For each fault, the period and the schemes with their timeouts.
#[derive(Default)]
pub(in crate::scenario) struct InStep(BTreeMap<usize, (Duration, BTreeMap<String, Duration>)>);

impl InStep {
    pub(in crate::scenario) fn look(&mut self, scheme: &Scheme, faults: &[FaultSpec], facts: &PathFacts) {
        let rto = scheme.transport.rto().on(facts);
        for (number, fault) in faults.iter().enumerate() {
            let FaultKind::LinkFlap { period, .. } = fault.kind else { continue };
            let periods = rto.0 as f64 / period.0 as f64;
            let whole = periods.round();
            if (1.0..=MOST_PERIODS).contains(&whole) && (periods - whole).abs() <= NEAR {
                let (_, schemes) = self.0.entry(number).or_insert((period, BTreeMap::new()));
                schemes.insert(scheme.name.clone(), rto);
            }
        }
    }

    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        let warning = |(number, (period, schemes)): (usize, (Duration, BTreeMap<String, Duration>))| {
            let rto = schemes.values().next().copied()?;
            let told: Vec<String> = schemes.iter().map(|(name, rto)| format!("{name} ({rto})")).collect();
            let message = format!(
                "the period of fault.{number} ({period}) goes a whole number of times into the timeout of {}: what is sent \
                 again comes in the same part of each period, and may be lost each time",
                told.join(", ")
            );
            // Before the rounding of `other`, the timeout is a whole number of such periods plus half a period.
            let periods = (rto.0 as f64 / period.0 as f64).round();
            let other = Duration((rto.0 as f64 / (periods + 0.5)) as u64).rounded_up(2);
            let help = Some(format!("period = \"{other}\", or two periods in [sweep]"));
            Some(fault(
                &origin.file,
                origin.place(&format!("fault.{number}.period")),
                message,
                help.map(Fix::from),
            ))
        };
        self.0.into_iter().filter_map(warning).collect()
    }
}
