//! Warnings about lines in the files of a fabric or workload that are not simulated.

use crate::scenario::diagnostic::in_workload_file;
use anabranch_base::Diagnostic;
use anabranch_fabric::{TopologyError, TopologySpec};
use anabranch_workload as workload;
use anabranch_workload::WorkloadSpec;
use std::collections::BTreeMap;

#[derive(Default)]
pub(in crate::scenario) struct LeftOut(Vec<Diagnostic>);

impl LeftOut {
    pub(in crate::scenario) fn look_at_topology(
        &mut self,
        spec: &TopologySpec,
        files: &BTreeMap<String, String>,
    ) {
        let text = spec.file().and_then(|file| files.get(file));
        if let Some(TopologyError::File { file, line, problem }) =
            anabranch_fabric::warnings(spec, text.map(String::as_str))
        {
            self.add(Diagnostic::in_file(file, Some(line), problem));
        }
    }

    pub(in crate::scenario) fn look_at_workload(
        &mut self,
        spec: &WorkloadSpec,
        files: &BTreeMap<String, String>,
    ) {
        let found = workload::warnings(spec, &|name| files.get(name).map(String::as_str));
        found.into_iter().flat_map(in_workload_file).for_each(|warning| self.add(warning));
    }

    fn add(&mut self, warning: Diagnostic) {
        if !self.0.contains(&warning) {
            self.0.push(warning);
        }
    }

    pub(in crate::scenario) fn warnings(self) -> Vec<Diagnostic> {
        self.0
    }
}
