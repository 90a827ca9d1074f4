//! Warnings about pause storms of hosts on fabrics that ignore pauses.

use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Fix};
use anabranch_engine::{FaultKind, FaultSpec, Scheme};
use std::collections::{BTreeMap, BTreeSet};

/// For each pause storm, the schemes whose switches ignore it, and whether the switches of any scheme obey it.
#[derive(Default)]
pub(in crate::scenario) struct IgnoredPauses(BTreeMap<usize, (BTreeSet<String>, bool)>);

impl IgnoredPauses {
    pub(in crate::scenario) fn look(&mut self, scheme: &Scheme, faults: &[FaultSpec]) {
        let storms =
            faults.iter().enumerate().filter(|(_, it)| matches!(it.kind, FaultKind::PauseStorm { .. }));
        for (number, _) in storms {
            let (ignore, obeys) = self.0.entry(number).or_default();
            match scheme.fabric.pfc {
                Some(_) => *obeys = true,
                None => drop(ignore.insert(scheme.name.clone())),
            }
        }
    }

    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        let warning = |(number, (ignore, obeys)): (usize, (BTreeSet<String>, bool))| {
            let names: Vec<String> = ignore.into_iter().collect();
            let [first, rest @ ..] = &names[..] else { return None };
            let has = if rest.is_empty() { "has" } else { "have" };
            let message = format!(
                "fault.{number} is a pause storm, and {} {has} no lossless class (PFC): switches ignore it there",
                names.join(", ")
            );
            let help = match obeys {
                true => format!("schemes without {first:?}, unless that difference is what is compared"),
                false => {
                    "schemes = [\"rocev2\"], or kind = \"slow-receiver\", by which a lossy class loses data"
                        .to_owned()
                }
            };
            Some(fault(
                &origin.file,
                origin.place(&format!("fault.{number}")),
                message,
                Some(Fix::from(help)),
            ))
        };
        self.0.into_iter().filter_map(warning).collect()
    }
}
