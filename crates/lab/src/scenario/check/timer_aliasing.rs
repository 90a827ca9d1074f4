//! Warnings about timeouts that are a whole number of periods of a flapping link.

use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Duration, Fix};
use anabranch_engine::{FaultKind, FaultSpec, Scheme};
use anabranch_proto::PathFacts;
use std::collections::{BTreeMap, BTreeSet};

/// The share of a period by which a timeout may differ from a whole number of periods and still count as one.
const NEAR: f64 = 0.03;
/// The largest number of periods in a timeout that is examined.
const MOST_PERIODS: f64 = 20.0;

#[derive(Default)]
pub(in crate::scenario) struct InStep {
    /// For each fault, the period and the schemes with their timeouts.
    found: BTreeMap<usize, (Duration, BTreeMap<String, Duration>)>,
    /// The timeouts of all schemes.
    all: BTreeSet<Duration>,
}

fn is_in_step(rto: Duration, period: Duration) -> bool {
    let periods = rto.0 as f64 / period.0 as f64;
    let whole = periods.round();
    (1.0..=MOST_PERIODS).contains(&whole) && (periods - whole).abs() <= NEAR
}

impl InStep {
    pub(in crate::scenario) fn look(&mut self, scheme: &Scheme, faults: &[FaultSpec], facts: &PathFacts) {
        let rto = scheme.transport.rto().on(facts);
        self.all.insert(rto);
        for (number, fault) in faults.iter().enumerate() {
            let FaultKind::LinkFlap { period, .. } = fault.kind else { continue };
            if is_in_step(rto, period) {
                let (_, schemes) = self.found.entry(number).or_insert((period, BTreeMap::new()));
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
            // Before the rounding, the timeout is a whole number of the proposed periods plus half of one.
            let periods = (rto.0 as f64 / period.0 as f64).round();
            let halves =
                (0..8).map(|more| Duration((rto.0 as f64 / (periods + 0.5 + f64::from(more))) as u64));
            let mut others = halves.flat_map(|other| [2, 3, 4].map(|digits| other.rounded_up(digits)));
            let other = others.find(|other| self.all.iter().all(|rto| !is_in_step(*rto, *other)));
            let help = Some(match other {
                Some(other) => format!("period = \"{other}\", or two periods in [sweep]"),
                None => "two periods in [sweep]".to_owned(),
            });
            Some(fault(
                &origin.file,
                origin.place(&format!("fault.{number}.period")),
                message,
                help.map(Fix::from),
            ))
        };
        self.found.into_iter().filter_map(warning).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::expand::scenario::read;
    use crate::scenario::input::{NoFiles, Overrides};

    fn fix(schemes: &str, set: &str, period: &str) -> Option<String> {
        let text = format!(
            "schemes = {schemes}\nseeds = [1]\n[topology]\nkind = \"fat-tree\"\nhosts = 16\nlink = \"100Gbps\"\n[workload]\n\
             kind = \"permutation\"\nbytes = \"100MB\"\n[set]\n{set}\n[[fault]]\nkind = \"link-flap\"\nlinks = \"tor:0/up:0\"\n\
             at = \"1us\"\n{period}\ndown_for = \"10us\"\n"
        );
        let scenario =
            read("s.toml", &text, &NoFiles, &Overrides::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let warnings = scenario.check().unwrap();
        let mut found = warnings.iter().filter(|warning| warning.message.contains("a whole number of times"));
        Some(found.next()?.fix.as_ref().unwrap().to_string())
    }

    #[test]
    fn the_other_period_is_not_in_step_again() {
        let both = "\"reps.transport.rto\" = \"1.1ms\"\n\"irn-ecmp.transport.rto_low\" = \"10us\"\n\"irn-ecmp.transport.rto\" = \"785us\"";
        for (schemes, set) in
            [("[\"reps\"]", "\"reps.transport.rto\" = \"1.1ms\""), ("[\"reps\", \"irn-ecmp\"]", both)]
        {
            let instead = fix(schemes, set, "period = \"110us\"").unwrap();
            let instead = instead.strip_suffix(", or two periods in [sweep]").unwrap();
            assert_eq!(fix(schemes, set, instead), None, "{instead}");
        }
    }
}
